/* PRINT: printf of host and device code, to stderr (stdout is for results). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "targets/cpu/exec.h"

typedef struct argument {
  plumb_dtype type;
  uint64_t bits;
} argument;

/* Prints one conversion `spec` ("%-5.2f", length modifiers taken out). */
static void print_one(const char *spec, char conversion, const argument *a) {
  bool is_float = plumb_dtype_is_float(a->type);
  unsigned bits = plumb_dtype_table[a->type].bits;
  char full[72];
  size_t stem = strlen(spec) - 1;
  switch (conversion) {
    case 'd':
    case 'i': {
      unsigned shift = bits < 64 ? 64 - bits : 0;
      snprintf(full, sizeof full, "%.*s" PRId64, (int)stem, spec);
      fprintf(stderr, full, (int64_t)(a->bits << shift) >> shift);
      break;
    }
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      snprintf(full, sizeof full, "%.*sl%c", (int)stem, spec, conversion);
      fprintf(stderr, full, (unsigned long)a->bits);
      break;
    case 'c':
      fputc((int)(a->bits & 0xff), stderr);
      break;
    case 'p':
      fprintf(stderr, "0x%" PRIx64, a->bits);
      break;
    case 's':
      fprintf(stderr, "<text at 0x%" PRIx64 ">", a->bits);
      break;
    default:
      fprintf(stderr, spec, is_float ? plumb_dtype_to_double(a->type, a->bits) : (double)a->bits);
  }
}

static void print_lane(const char *format, const argument *arguments, uint32_t count) {
  uint32_t next = 0;
  for (const char *c = format; *c; c++) {
    if (*c != '%') {
      fputc(*c, stderr);
      continue;
    }
    if (c[1] == '%') {
      fputc('%', stderr);
      c++;
      continue;
    }
    char spec[64] = "%";
    size_t n = 1;
    const char *e = c + 1;
    for (; *e && strchr("-+ #0123456789.lhzjtq", *e); e++)
      if (!strchr("lhzjtq", *e) && n < sizeof spec - 3) spec[n++] = *e;
    if (!*e || next >= count || !strchr("diuxXocpsfFeEgGaA", *e)) {
      fputc('%', stderr);
      continue;
    }
    spec[n++] = *e;
    spec[n] = 0;
    print_one(spec, *e, &arguments[next++]);
    c = e;
  }
}

bool plumb_exec_print(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on) {
  if (inst->imm < 0 || (size_t)inst->imm >= br->program->string_count)
    return plumb_unsupported_at(br, s->frame, s->pc, "a print without a format");
  const plumb_reg *operands = plumb_inst_operands(s->frame->fn, inst);
  argument *arguments = calloc(inst->operands + 1u, sizeof *arguments);
  if (!arguments) abort();
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    for (uint32_t i = 0; i < inst->operands; i++) {
      plumb_dtype type = plumb_reg_is_const(operands[i])
                             ? br->program->consts[plumb_reg_const_index(operands[i])].type
                             : s->frame->fn->reg_types[operands[i]];
      unsigned bytes = plumb_dtype_bytes(type);
      arguments[i].type = type;
      memcpy(&arguments[i].bits, plumb_operand(br, s->frame, operands[i]) + (size_t)l * bytes,
             bytes > 8 ? 8 : bytes);
    }
    print_lane(br->program->strings[inst->imm], arguments, inst->operands);
  }
  free(arguments);
  return true;
}

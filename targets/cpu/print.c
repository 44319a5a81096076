/* PRINT: printf of host and device code, to stderr unless the run says otherwise (stdout is
 * for results); ASSERT_FAIL, which ends the run with the texts of assert. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "targets/cpu/exec.h"

typedef struct argument {
  plumb_dtype type;
  uint64_t bits;
} argument;

/* Prints one conversion `spec` ("%-5.2f", length modifiers taken out). */
static void print_one(FILE *to, const char *spec, char conversion, const argument *a) {
  bool is_float = plumb_dtype_is_float(a->type);
  unsigned bits = plumb_dtype_table[a->type].bits;
  char full[72];
  size_t stem = strlen(spec) - 1;
  switch (conversion) {
    case 'd':
    case 'i': {
      unsigned shift = bits < 64 ? 64 - bits : 0;
      snprintf(full, sizeof full, "%.*s" PRId64, (int)stem, spec);
      fprintf(to, full, (int64_t)(a->bits << shift) >> shift);
      break;
    }
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      snprintf(full, sizeof full, "%.*sl%c", (int)stem, spec, conversion);
      fprintf(to, full, (unsigned long)a->bits);
      break;
    case 'c':
      fputc((int)(a->bits & 0xff), to);
      break;
    case 'p':
      fprintf(to, "0x%" PRIx64, a->bits);
      break;
    case 's':
      fprintf(to, "<text at 0x%" PRIx64 ">", a->bits);
      break;
    default:
      fprintf(to, spec, is_float ? plumb_dtype_to_double(a->type, a->bits) : (double)a->bits);
  }
}

static void print_lane(FILE *to, const char *format, const argument *arguments, uint32_t count) {
  uint32_t next = 0;
  for (const char *c = format; *c; c++) {
    if (*c != '%') {
      fputc(*c, to);
      continue;
    }
    if (c[1] == '%') {
      fputc('%', to);
      c++;
      continue;
    }
    char spec[64] = "%";
    size_t n = 1;
    const char *e = c + 1;
    for (; *e && strchr("-+ #0123456789.lhzjtq", *e); e++)
      if (!strchr("lhzjtq", *e) && n < sizeof spec - 3) spec[n++] = *e;
    if (!*e || next >= count || !strchr("diuxXocpsfFeEgGaA", *e)) {
      fputc('%', to);
      continue;
    }
    spec[n++] = *e;
    spec[n] = 0;
    print_one(to, spec, *e, &arguments[next++]);
    c = e;
  }
}

static FILE *stream_of(const plumb_block_run *br) {
  return br->run->options.print_to ? br->run->options.print_to : stderr;
}

/* --- vprintf: the format and the arguments lie in memory --- */

enum { MAX_TEXT = 65536 };

/* Reads a NUL-terminated text at a generic address; the caller frees it. NULL after a trap. */
static char *read_text(plumb_block_run *br, plumb_strand *s, uint32_t lane, uint64_t address) {
  char *text = malloc(MAX_TEXT + 1);
  if (!text) abort();
  for (size_t n = 0;; n++) {
    plumb_place place;
    uint8_t byte, state;
    if (!plumb_place_find(br, s, lane, address + n, 1, false, &place)) {
      free(text);
      return NULL;
    }
    plumb_place_read(br, &place, lane, 1, &byte, &state);
    text[n] = (char)byte;
    if (!byte) return text;
    if (n + 1 == MAX_TEXT) {
      text[n + 1] = 0;
      return text;
    }
  }
}

/* The next argument, aligned to its size (C's promotions: 4 or 8 bytes). */
static bool read_argument(plumb_block_run *br, plumb_strand *s, uint32_t lane, uint64_t *at,
                          unsigned bytes, uint64_t *out) {
  plumb_place place;
  uint8_t state[8];
  *at = (*at + bytes - 1) / bytes * bytes;
  *out = 0;
  if (!plumb_place_find(br, s, lane, *at, bytes, false, &place)) return false;
  plumb_place_read(br, &place, lane, bytes, (uint8_t *)out, state);
  *at += bytes;
  return true;
}

/* One conversion at *at (after the `%`); the bytes of its argument are consumed. */
static bool print_conversion(plumb_block_run *br, plumb_strand *s, uint32_t lane, const char **at,
                             uint64_t *buffer, int32_t *count) {
  char spec[64] = "%";
  size_t n = 1;
  bool wide = false;
  uint64_t bits;
  const char *c = *at;
  for (; *c && strchr("-+ #0123456789.*lhzjtqL", *c); c++) {
    if (*c == '*') {
      if (!read_argument(br, s, lane, buffer, 4, &bits)) return false;
      ++*count;
      if (n < 40) n += (size_t)snprintf(spec + n, 12, "%d", (int32_t)bits);
    } else if (strchr("lzjtqL", *c)) {
      wide = true;
    } else if (*c != 'h' && n < sizeof spec - 3) {
      spec[n++] = *c;
    }
  }
  if (!*c || !strchr("diuxXocpsfFeEgGaA", *c)) {
    fputc('%', stream_of(br));
    return true;
  }
  bool is_float = strchr("fFeEgGaA", *c) != NULL;
  unsigned bytes = is_float || wide || *c == 's' || *c == 'p' ? 8 : 4;
  if (!read_argument(br, s, lane, buffer, bytes, &bits)) return false;
  ++*count;
  spec[n++] = *c;
  spec[n] = 0;
  *at = c + 1;
  if (*c == 's') {
    char *text = read_text(br, s, lane, bits);
    if (!text) return false;
    fprintf(stream_of(br), spec, text);
    free(text);
    return true;
  }
  argument a = {is_float ? PLUMB_F64 : bytes == 8 ? PLUMB_I64 : PLUMB_I32, bits};
  print_one(stream_of(br), spec, *c, &a);
  return true;
}

static bool vprintf_lane(plumb_block_run *br, plumb_strand *s, uint32_t lane, uint64_t format,
                         uint64_t buffer, int32_t *count) {
  char *text = read_text(br, s, lane, format);
  if (!text) return false;
  bool ok = true;
  *count = 0;
  for (const char *c = text; ok && *c;) {
    if (*c != '%' || c[1] == '%') {
      fputc(*c, stream_of(br));
      c += *c == '%' ? 2 : 1;
      continue;
    }
    c++;
    ok = print_conversion(br, s, lane, &c, &buffer, count);
  }
  free(text);
  return ok;
}

static bool exec_vprintf(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                         const plumb_lanes *on) {
  const plumb_reg *operands = plumb_inst_operands(s->frame->fn, inst);
  if (br->undef && (!plumb_undef_check(br, s, operands[0], on, "an address") ||
                    !plumb_undef_check(br, s, operands[1], on, "an address")))
    return false;
  const uint64_t *format = (const uint64_t *)(const void *)plumb_operand(br, s->frame, operands[0]);
  const uint64_t *buffer = (const uint64_t *)(const void *)plumb_operand(br, s->frame, operands[1]);
  for (uint32_t l = on->lo; l < on->hi; l++) {
    int32_t count;
    if (!plumb_lanes_has(on, l)) continue;
    if (!vprintf_lane(br, s, l, format[l], buffer[l], &count)) return false;
    if (inst->results)
      memcpy(plumb_reg_lanes(br, s->frame, plumb_inst_results(s->frame->fn, inst)[0]) + 4u * l,
             &count, 4);
  }
  if (br->undef && inst->results)
    plumb_undef_clear(s->frame, plumb_inst_results(s->frame->fn, inst)[0], on);
  return true;
}

static bool assert_fail(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                        const plumb_lanes *on) {
  uint32_t lane = on->lo;
  const plumb_reg *operands = plumb_inst_operands(s->frame->fn, inst);
  uint64_t v[4];
  char *texts[4] = {NULL};
  bool ok = true;
  for (uint32_t i = 0; i < 4; i++)
    v[i] = plumb_lane_bits(plumb_operand(br, s->frame, operands[i]), 8, lane);
  for (uint32_t i = 0; ok && i < 4; i++)
    if (i != 2) ok = (texts[i] = read_text(br, s, lane, v[i])) != NULL;
  if (ok)
    plumb_trap_at(br, PLUMB_TRAP_ASSERT, s->frame, s->pc, (int32_t)lane,
                  "assertion `%.150s` failed: %.120s:%" PRIu64 ", %.120s", texts[0], texts[1], v[2],
                  texts[3]);
  for (uint32_t i = 0; i < 4; i++) free(texts[i]);
  return false;
}

bool plumb_exec_print(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on) {
  if (inst->op == PLUMB_OP_ASSERT_FAIL) return assert_fail(br, s, inst, on);
  if (inst->imm == -1) return exec_vprintf(br, s, inst, on);
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
    print_lane(stream_of(br), br->program->strings[inst->imm], arguments, inst->operands);
  }
  free(arguments);
  return true;
}

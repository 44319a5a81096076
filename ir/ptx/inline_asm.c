/* Inline assembly is PTX: each piece becomes a device function of its own and a call of
 * it. Its operands are the function's registers, by the constraint letters of the NVPTX
 * target (LLVM Language Reference 22, Inline Asm Constraint String). */
#include <ctype.h>
#include <string.h>

#include "ir/ptx/ptx.h"

enum { MAX_OPERANDS = 300 }; /* wgmma: 128 results, and as many inputs tied to them */

typedef struct asm_operand {
  char letter;
  bool output, immediate;
  int tied; /* the output that this input starts, or -1 */
} asm_operand;

typedef struct asm_piece {
  asm_operand operands[MAX_OPERANDS];
  size_t count, outputs;
} asm_piece;

static bool register_type(char letter, const char **out_ptx, plumb_dtype *out_type) {
  switch (letter) {
    case 'h':
      *out_ptx = ".b16";
      *out_type = PLUMB_I16;
      return true;
    case 'r':
      *out_ptx = ".b32";
      *out_type = PLUMB_I32;
      return true;
    case 'l':
      *out_ptx = ".b64";
      *out_type = PLUMB_I64;
      return true;
    case 'f':
      *out_ptx = ".f32";
      *out_type = PLUMB_F32;
      return true;
    case 'd':
      *out_ptx = ".f64";
      *out_type = PLUMB_F64;
      return true;
    default:
      return false;
  }
}

/* "=r,=&f,r,0,n,~{memory}": outputs, inputs, clobbers; false for any other form. */
static bool read_constraints(asm_piece *p, const char *text, size_t length) {
  for (size_t at = 0; at < length;) {
    size_t end = at;
    while (end < length && text[end] != ',') end++;
    const char *c = text + at, *stop = text + end;
    at = end + 1;
    if (c < stop && *c == '~') continue;
    if (p->count == MAX_OPERANDS) return false;
    asm_operand o = {.tied = -1};
    if (c < stop && *c == '=') {
      o.output = true;
      p->outputs++;
      for (c++; c < stop && *c == '&'; c++) continue;
    }
    if (c == stop) return false;
    o.letter = *c;
    if (isdigit((unsigned char)*c)) {
      o.tied = 0;
      for (; c < stop && isdigit((unsigned char)*c) && o.tied < MAX_OPERANDS; c++)
        o.tied = o.tied * 10 + (*c - '0');
      if (c < stop || (size_t)o.tied >= p->outputs) return false;
      o.letter = p->operands[o.tied].letter;
      c--;
    } else if (stop - c != 1) {
      return false;
    }
    o.immediate = *c == 'n' || *c == 'i';
    const char *ptx;
    plumb_dtype type;
    if (!o.immediate && !register_type(o.letter, &ptx, &type)) return false;
    p->operands[p->count++] = o;
  }
  return true;
}

static bool append_operand(const asm_piece *p, const plumb_ptx_asm *a, size_t number,
                           plumb_text *out) {
  if (number >= p->count) return false;
  const asm_operand *o = &p->operands[number];
  if (!o->immediate) {
    plumb_text_printf(out, "%%plumb_%zu", o->tied >= 0 ? (size_t)o->tied : number);
    return true;
  }
  plumb_reg value = a->inputs[number - p->outputs];
  if (!plumb_reg_is_const(value)) return false;
  const plumb_const *c = &a->b->function->program->consts[plumb_reg_const_index(value)];
  unsigned unused = 64 - 8 * plumb_dtype_bytes(c->type);
  if (plumb_dtype_is_float(c->type) || plumb_dtype_bytes(c->type) > 8) return false;
  plumb_text_printf(out, "%lld", (long long)((int64_t)(c->bits << unused) >> unused));
  return true;
}

/* The assembly with $N replaced; "$$" is a dollar, "${:uid}" a number of this piece. */
static bool substitute(const asm_piece *p, const plumb_ptx_asm *a, size_t uid, plumb_text *out) {
  const char *text = a->text;
  size_t length = a->text_length;
  for (size_t i = 0; i < length; i++) {
    if (text[i] != '$') {
      plumb_text_append(out, text + i, 1);
    } else if (i + 1 < length && text[i + 1] == '$') {
      plumb_text_append(out, "$", 1);
      i++;
    } else if (length - i >= 7 && strncmp(text + i, "${:uid}", 7) == 0) {
      plumb_text_printf(out, "%zu", uid);
      i += 6;
    } else {
      size_t number = 0, digits = 0;
      while (i + 1 < length && isdigit((unsigned char)text[i + 1]) && digits < 3) {
        number = number * 10 + (size_t)(text[++i] - '0');
        digits++;
      }
      if (!digits || !append_operand(p, a, number, out)) return false;
    }
  }
  return true;
}

static void append_registers(const asm_piece *p, bool outputs, plumb_text *out) {
  const char *separator = "", *ptx = NULL;
  plumb_dtype type;
  plumb_text_printf(out, "(");
  for (size_t i = 0; i < p->count; i++) {
    const asm_operand *o = &p->operands[i];
    if (o->output != outputs || o->immediate || !register_type(o->letter, &ptx, &type)) continue;
    plumb_text_printf(out, "%s.reg %s %%plumb_%zu", separator, ptx, i);
    separator = ", ";
  }
  plumb_text_printf(out, ") ");
}

/* A module of one function; a tied input is moved to its output first. */
static bool function_text(const asm_piece *p, const plumb_ptx_asm *a, const char *name,
                          plumb_text *out) {
  plumb_text_printf(out, ".version 9.0\n.target sm_100a\n.address_size 64\n.func ");
  if (p->outputs) append_registers(p, true, out);
  plumb_text_printf(out, "%s ", name);
  append_registers(p, false, out);
  plumb_text_printf(out, "{\n");
  for (size_t i = 0; i < p->count; i++)
    if (p->operands[i].tied >= 0) {
      const char *ptx = NULL;
      plumb_dtype type;
      register_type(p->operands[i].letter, &ptx, &type);
      plumb_text_printf(out, "mov%s %%plumb_%d, %%plumb_%zu;\n", ptx, p->operands[i].tied, i);
    }
  if (!substitute(p, a, a->b->function->program->function_count, out)) return false;
  plumb_text_printf(out, "\nret;\n}\n");
  return true;
}

static plumb_reg as_type(plumb_builder *b, plumb_dtype type, plumb_reg r) {
  if (plumb_reg_type(b->function, r) == type) return r;
  plumb_reg moved = plumb_reg_create(b->function, type);
  plumb_build_mov(b, moved, r);
  return moved;
}

/* Values and registers agree one to one, in storage size too. */
static bool operands_fit(const asm_piece *p, const plumb_ptx_asm *a) {
  if (a->result_count != p->outputs || p->count - p->outputs != a->input_count) return false;
  for (size_t i = 0; i < p->count; i++) {
    const asm_operand *o = &p->operands[i];
    const char *ptx;
    plumb_dtype type;
    if (o->immediate) continue;
    register_type(o->letter, &ptx, &type);
    plumb_dtype given =
        o->output ? a->result_types[i] : plumb_reg_type(a->b->function, a->inputs[i - p->outputs]);
    if (plumb_dtype_bytes(given) != plumb_dtype_bytes(type)) return false;
  }
  return true;
}

static void build_call(const asm_piece *p, const plumb_ptx_asm *a, const char *name,
                       plumb_reg *results) {
  plumb_reg args[MAX_OPERANDS], made[MAX_OPERANDS];
  size_t arg_count = 0;
  const char *ptx;
  plumb_dtype type = PLUMB_I32;
  for (size_t i = 0; i < p->count; i++) {
    if (p->operands[i].immediate) continue;
    register_type(p->operands[i].letter, &ptx, &type);
    if (p->operands[i].output)
      made[i] = plumb_reg_create(a->b->function, type);
    else
      args[arg_count++] = as_type(a->b, type, a->inputs[i - p->outputs]);
  }
  plumb_build_call(a->b, name, made, p->outputs, args, arg_count);
  for (size_t i = 0; i < p->outputs; i++) results[i] = as_type(a->b, a->result_types[i], made[i]);
}

/* The piece's instructions stand where the call stands: their own lines are of a text
 * that nobody sees. */
static void set_locations(plumb_program *program, size_t first, uint32_t loc) {
  for (size_t i = first; i < program->function_count; i++) {
    plumb_function *f = program->functions[i];
    for (size_t k = 0; k < f->block_count; k++)
      for (size_t j = 0; j < f->blocks[k].inst_count; j++) f->blocks[k].insts[j].loc = loc;
  }
}

plumb_status plumb_ptx_inline_asm(const plumb_ptx_asm *a, plumb_reg *results, plumb_diag *diag) {
  plumb_program *program = a->b->function->program;
  asm_piece p = {0};
  size_t before = program->function_count;
  const char *name = plumb_arena_printf(program->arena, "plumb_asm_%zu", before);
  plumb_text text = plumb_text_create(program->arena);
  if (!read_constraints(&p, a->constraints, a->constraints_length) || !operands_fit(&p, a) ||
      !function_text(&p, a, name, &text))
    return plumb_fail(diag, PLUMB_UNSUPPORTED, a->path, 0, 0,
                      "the operands do not fit the constraints '%.*s'", (int)a->constraints_length,
                      a->constraints);
  plumb_status status = plumb_ptx_decode(program, a->path, text.data, text.length, diag);
  if (status != PLUMB_OK) {
    program->function_count = before;
    return status;
  }
  set_locations(program, before, a->b->loc);
  build_call(&p, a, name, results);
  return PLUMB_OK;
}

/* Inline assembly is PTX: each piece becomes a device function of its own, decoded by
 * ir/ptx, and a call of it. Operands are its registers, by the constraint letters of
 * the NVPTX target (LLVM Language Reference, Inline Asm Constraint String). */
#include <ctype.h>
#include <string.h>

#include "ir/llvm/decoder.h"
#include "ir/ptx/ptx.h"

enum { MAX_OPERANDS = 40 };

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
    if (stop - c != 1) return false;
    o.letter = *c;
    if (isdigit((unsigned char)*c)) {
      o.tied = *c - '0';
      if ((size_t)o.tied >= p->outputs) return false;
      o.letter = p->operands[o.tied].letter;
    }
    o.immediate = *c == 'n' || *c == 'i';
    const char *ptx;
    plumb_dtype type;
    if (!o.immediate && !register_type(o.letter, &ptx, &type)) return false;
    p->operands[p->count++] = o;
  }
  return true;
}

static bool append_operand(const asm_piece *p, LLVMValueRef inst, size_t number, plumb_text *out) {
  if (number >= p->count) return false;
  const asm_operand *o = &p->operands[number];
  if (!o->immediate) {
    plumb_text_printf(out, "%%plumb_%zu", o->tied >= 0 ? (size_t)o->tied : number);
    return true;
  }
  LLVMValueRef value = LLVMGetOperand(inst, (unsigned)(number - p->outputs));
  if (!LLVMIsAConstantInt(value)) return false;
  plumb_text_printf(out, "%lld", LLVMConstIntGetSExtValue(value));
  return true;
}

/* The assembly with $N replaced; "$$" is a dollar, "${:uid}" a number of this piece. */
static bool substitute(const asm_piece *p, LLVMValueRef inst, const char *text, size_t length,
                       size_t uid, plumb_text *out) {
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
      if (!digits || !append_operand(p, inst, number, out)) return false;
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
static bool function_text(plumb_llvm_decoder *d, const asm_piece *p, LLVMValueRef inst,
                          const char *name, plumb_text *out) {
  size_t length;
  const char *text = LLVMGetInlineAsmAsmString(LLVMGetCalledValue(inst), &length);
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
  if (!substitute(p, inst, text, length, d->program->function_count, out)) return false;
  plumb_text_printf(out, "\nret;\n}\n");
  return true;
}

static plumb_reg as_type(plumb_llvm_decoder *d, plumb_dtype type, plumb_reg r) {
  if (plumb_reg_type(d->f, r) == type) return r;
  plumb_reg moved = plumb_reg_create(d->f, type);
  plumb_build_mov(&d->b, moved, r);
  return moved;
}

/* Values and registers agree one to one, in storage size too. */
static bool operands_fit(plumb_llvm_decoder *d, const asm_piece *p, LLVMValueRef inst) {
  plumb_llvm_leaves results = plumb_llvm_value_leaves(d, inst);
  if (results.count != p->outputs || p->count - p->outputs != LLVMGetNumArgOperands(inst))
    return false;
  for (size_t i = 0; i < p->count; i++) {
    const asm_operand *o = &p->operands[i];
    const char *ptx;
    plumb_dtype type;
    if (o->immediate) continue;
    register_type(o->letter, &ptx, &type);
    plumb_llvm_leaf leaf;
    if (o->output) {
      leaf = results.items[i];
    } else {
      plumb_llvm_leaves v =
          plumb_llvm_value_leaves(d, LLVMGetOperand(inst, (unsigned)(i - p->outputs)));
      if (v.count != 1) return false;
      leaf = v.items[0];
    }
    if (plumb_dtype_bytes(leaf.type) != plumb_dtype_bytes(type)) return false;
  }
  return true;
}

static void build_call(plumb_llvm_decoder *d, const asm_piece *p, LLVMValueRef inst,
                       const char *name) {
  plumb_llvm_leaves results = plumb_llvm_value_leaves(d, inst);
  plumb_reg args[MAX_OPERANDS], made[MAX_OPERANDS];
  size_t arg_count = 0;
  const char *ptx;
  plumb_dtype type = PLUMB_I32;
  for (size_t i = 0; i < p->count; i++) {
    if (p->operands[i].immediate) continue;
    register_type(p->operands[i].letter, &ptx, &type);
    if (p->operands[i].output)
      made[i] = plumb_reg_create(d->f, type);
    else
      args[arg_count++] = as_type(d, type, plumb_llvm_operand(d, inst, (unsigned)(i - p->outputs)));
  }
  plumb_build_call(&d->b, name, made, p->outputs, args, arg_count);
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, p->outputs + 1), p->outputs};
  for (size_t i = 0; i < p->outputs; i++) {
    run.regs[i] = as_type(d, results.items[i].type, made[i]);
    run.regs[i] = plumb_llvm_mask(d, run.regs[i], results.items[i]);
  }
  plumb_llvm_define(d, inst, run);
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

bool plumb_llvm_inline_asm(plumb_llvm_decoder *d, LLVMValueRef inst) {
  LLVMValueRef callee = LLVMGetCalledValue(inst);
  size_t length;
  const char *constraints = LLVMGetInlineAsmConstraintString(callee, &length);
  asm_piece p = {0};
  size_t before = d->program->function_count;
  const char *name = plumb_arena_printf(d->arena, "plumb_asm_%zu", before);
  plumb_text text = plumb_text_create(d->arena);
  if (!read_constraints(&p, constraints, length) || !operands_fit(d, &p, inst) ||
      !function_text(d, &p, inst, name, &text))
    return false;
  plumb_diag ignored;
  if (plumb_ptx_decode(d->program, d->path, text.data, text.length, &ignored) != PLUMB_OK) {
    d->program->function_count = before;
    return false;
  }
  set_locations(d->program, before, d->b.loc);
  build_call(d, &p, inst, name);
  return true;
}

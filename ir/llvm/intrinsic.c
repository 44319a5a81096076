/* Target-independent intrinsics on floats, and those without effect. */
#include <string.h>

#include "ir/llvm/call.h"

/* Operations whose f32 form follows the function's denormal mode. */
static bool flushes(plumb_op op) {
  switch (op) {
    case PLUMB_OP_ADD:
    case PLUMB_OP_SUB:
    case PLUMB_OP_MUL:
    case PLUMB_OP_DIV:
    case PLUMB_OP_FMA:
    case PLUMB_OP_MIN:
    case PLUMB_OP_MAX:
    case PLUMB_OP_SQRT:
    case PLUMB_OP_ROUND_INT:
    case PLUMB_OP_CVT:
      return true;
    default:
      return false;
  }
}

static bool reads_signed(plumb_op op) {
  return op == PLUMB_OP_MIN_S || op == PLUMB_OP_MAX_S || op == PLUMB_OP_ABS ||
         op == PLUMB_OP_MULHI_S;
}

void plumb_llvm_elementwise(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_op op, int sub,
                            uint32_t flags, plumb_round round) {
  plumb_llvm_run args[4];
  unsigned n = c->args < 4 ? c->args : 4;
  for (unsigned i = 0; i < n; i++) args[i] = plumb_llvm_arg(d, c, i);
  plumb_llvm_run run = plumb_llvm_run_of(d, c->result.count);
  flags |= plumb_llvm_fast_flags(c->inst);
  for (size_t k = 0; k < run.count; k++) {
    plumb_llvm_leaf leaf = c->result.items[k];
    plumb_reg operands[4];
    for (unsigned i = 0; i < n; i++) {
      operands[i] = args[i].regs[args[i].count > 1 ? k : 0];
      if (reads_signed(op) && !plumb_dtype_is_float(leaf.type))
        operands[i] = plumb_llvm_sign(d, operands[i], leaf);
    }
    plumb_reg r = plumb_reg_create(d->f, leaf.type);
    plumb_inst *inst = plumb_build(&d->b, op, leaf.type, &r, 1, operands, n);
    inst->sub = (uint8_t)sub;
    inst->round = (uint8_t)round;
    inst->flags |= flags;
    /* An NVVM intrinsic says .ftz itself; the others follow the function. */
    if (flushes(op) && strncmp(c->name, "llvm.nvvm.", 10) != 0)
      inst->flags |= plumb_llvm_denormal_flags(d, leaf.type);
    run.regs[k] = plumb_llvm_mask(d, r, leaf);
  }
  plumb_llvm_define(d, c->inst, run);
}

static bool elementwise(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  for (size_t k = 0; k < c->result.count; k++)
    if (c->result.items[k].type == PLUMB_I1) return false;
  plumb_llvm_elementwise(d, c, (plumb_op)c->row->op, c->row->sub, c->row->flags,
                         (plumb_round)c->row->round);
  return true;
}

/* The strict reading: two roundings. CONTRACT says that one is allowed. */
static void fmuladd(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_run a = plumb_llvm_arg(d, c, 0), b = plumb_llvm_arg(d, c, 1);
  plumb_llvm_run e = plumb_llvm_arg(d, c, 2), run = plumb_llvm_run_of(d, c->result.count);
  uint32_t flags = plumb_llvm_fast_flags(c->inst) | PLUMB_FLAG_CONTRACT;
  for (size_t k = 0; k < run.count; k++) {
    plumb_llvm_leaf leaf = c->result.items[k];
    plumb_reg product = plumb_llvm_binary(d, LLVMFMul, leaf, a.regs[k], b.regs[k], flags);
    run.regs[k] = plumb_llvm_binary(d, LLVMFAdd, leaf, product, e.regs[k], flags);
  }
  plumb_llvm_define(d, c->inst, run);
}

static void math(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_elementwise(d, c, PLUMB_OP_MATH, c->row->sub, 0, PLUMB_RN);
}

/* x * 1: quiets a NaN and follows the denormal mode. */
static void canonicalize(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_run a = plumb_llvm_arg(d, c, 0), run = plumb_llvm_run_of(d, c->result.count);
  for (size_t k = 0; k < run.count; k++) {
    plumb_llvm_leaf leaf = c->result.items[k];
    plumb_reg one = plumb_constant(d->program, leaf.type, plumb_dtype_from_double(leaf.type, 1.0));
    run.regs[k] = plumb_llvm_binary(d, LLVMFMul, leaf, a.regs[k], one, 0);
  }
  plumb_llvm_define(d, c->inst, run);
}

static void fpclass(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_leaves from = plumb_llvm_value_leaves(d, LLVMGetOperand(c->inst, 0));
  plumb_llvm_run a = plumb_llvm_arg(d, c, 0), run = plumb_llvm_run_of(d, from.count);
  for (size_t k = 0; k < run.count; k++) {
    run.regs[k] = plumb_reg_create(d->f, PLUMB_I1);
    plumb_inst *inst =
        plumb_build(&d->b, PLUMB_OP_CLASSIFY, PLUMB_I1, &run.regs[k], 1, &a.regs[k], 1);
    inst->type2 = (uint8_t)from.items[k].type;
    inst->imm = (int64_t)LLVMConstIntGetZExtValue(LLVMGetOperand(c->inst, 1));
  }
  plumb_llvm_define(d, c->inst, run);
}

static void round_to_int(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_leaves from = plumb_llvm_value_leaves(d, LLVMGetOperand(c->inst, 0));
  plumb_llvm_run a = plumb_llvm_arg(d, c, 0), run = plumb_llvm_run_of(d, c->result.count);
  for (size_t k = 0; k < run.count; k++) {
    plumb_reg whole = plumb_build1(&d->b, PLUMB_OP_ROUND_INT, from.items[k].type, a.regs[k]);
    plumb_block *block = &d->f->blocks[d->b.block];
    block->insts[block->inst_count - 1].round = c->row->round;
    run.regs[k] = plumb_build_cvt(&d->b, c->result.items[k].type, from.items[k].type, whole,
                                  PLUMB_FLAG_DST_SIGNED, PLUMB_RZ);
  }
  plumb_llvm_define(d, c->inst, run);
}

/* Clamps, and NaN gives 0: PTX's clamp has another rule for NaN. */
static bool fp_to_int_sat(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_leaves from = plumb_llvm_value_leaves(d, LLVMGetOperand(c->inst, 0));
  plumb_llvm_run a = plumb_llvm_arg(d, c, 0), run = plumb_llvm_run_of(d, c->result.count);
  for (size_t k = 0; k < run.count; k++) {
    plumb_llvm_leaf to = c->result.items[k];
    plumb_dtype type = from.items[k].type;
    if (to.width != plumb_dtype_table[to.type].bits || to.width < 8 || to.width > 64) return false;
    plumb_reg r = plumb_build_cvt(
        &d->b, to.type, type, a.regs[k],
        PLUMB_FLAG_CLAMP | (c->row->sub ? (uint32_t)PLUMB_FLAG_DST_SIGNED : 0u), PLUMB_RZ);
    plumb_reg nan = plumb_build_cmp(&d->b, PLUMB_CMP_NAN, type, a.regs[k], a.regs[k]);
    run.regs[k] = plumb_build3(&d->b, PLUMB_OP_SELECT, to.type, nan,
                               plumb_constant(d->program, to.type, 0), r);
  }
  plumb_llvm_define(d, c->inst, run);
  return true;
}

/* In element order; fadd and fmul begin with their start value. */
static bool reduce(plumb_llvm_decoder *d, const plumb_llvm_call *c, bool start) {
  plumb_llvm_leaf leaf = c->result.items[0];
  plumb_llvm_run v = plumb_llvm_arg(d, c, start ? 1 : 0);
  plumb_op op = (plumb_op)c->row->op;
  bool bitwise = op == PLUMB_OP_AND || op == PLUMB_OP_OR || op == PLUMB_OP_XOR;
  if (leaf.type == PLUMB_I1 && !bitwise) return false;
  plumb_reg acc = start ? plumb_llvm_arg1(d, c, 0) : v.regs[0];
  for (size_t k = start ? 0 : 1; k < v.count; k++) {
    plumb_reg e = v.regs[k];
    if (reads_signed(op)) {
      acc = plumb_llvm_sign(d, acc, leaf);
      e = plumb_llvm_sign(d, e, leaf);
    }
    plumb_reg r = plumb_llvm_emit(d, c, op, leaf.type, (plumb_reg[]){acc, e}, 2);
    plumb_block *block = &d->f->blocks[d->b.block];
    block->insts[block->inst_count - 1].flags |=
        plumb_llvm_fast_flags(c->inst) | plumb_llvm_denormal_flags(d, leaf.type);
    acc = plumb_llvm_mask(d, r, leaf);
  }
  plumb_llvm_define1(d, c->inst, acc);
  return true;
}

static void zero(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_run run = plumb_llvm_run_of(d, c->result.count);
  for (size_t k = 0; k < run.count; k++)
    run.regs[k] = plumb_constant(d->program, c->result.items[k].type, 0);
  plumb_llvm_define(d, c->inst, run);
}

/* Unknown size: 0 when the second argument asks for the minimum, else all ones. */
static void object_size(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  bool minimum = LLVMConstIntGetZExtValue(LLVMGetOperand(c->inst, 1)) != 0;
  plumb_llvm_define1(d, c->inst,
                     plumb_constant(d->program, c->result.items[0].type, minimum ? 0 : UINT64_MAX));
}

static bool pass(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_define(d, c->inst, plumb_llvm_arg(d, c, 0));
  return true;
}

bool plumb_llvm_call_generic(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  switch ((plumb_llvm_kind)c->row->kind) {
    case PLUMB_LLVM_KIND_NOTHING:
    case PLUMB_LLVM_KIND_ZERO:
      zero(d, c);
      return true;
    case PLUMB_LLVM_KIND_PASS:
      return pass(d, c);
    case PLUMB_LLVM_KIND_OBJECTSIZE:
      object_size(d, c);
      return true;
    case PLUMB_LLVM_KIND_ELEMENTWISE:
      return elementwise(d, c);
    case PLUMB_LLVM_KIND_FMULADD:
      fmuladd(d, c);
      return true;
    case PLUMB_LLVM_KIND_MATH:
      math(d, c);
      return true;
    case PLUMB_LLVM_KIND_CANONICALIZE:
      canonicalize(d, c);
      return true;
    case PLUMB_LLVM_KIND_FPCLASS:
      fpclass(d, c);
      return true;
    case PLUMB_LLVM_KIND_ROUND_TO_INT:
      round_to_int(d, c);
      return true;
    case PLUMB_LLVM_KIND_FP_TO_INT_SAT:
      return fp_to_int_sat(d, c);
    case PLUMB_LLVM_KIND_REDUCE:
      return reduce(d, c, false);
    case PLUMB_LLVM_KIND_REDUCE_START:
      return reduce(d, c, true);
    default:
      return false;
  }
}

/* NVVM intrinsics of lanes together: special registers, barriers, shuffles, votes. */
#include <string.h>

#include "ir/llvm/call.h"

/* NVVM's names of special registers are PTX's with dots: "cluster.ctaid.x". */
static bool find_sreg(const char *name, plumb_sreg *out) {
  if (strcmp(name, "warpsize") == 0) return *out = PLUMB_SREG_WARP_LANES, true;
  for (int i = 0; i < PLUMB_SREG_COUNT; i++) {
    const char *a = name, *b = plumb_sreg_texts[i];
    while (*a && (*a == *b || (*b == '_' && *a == '.'))) a++, b++;
    if (!*a && !*b) return *out = (plumb_sreg)i, true;
  }
  return false;
}

static bool special_register(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_sreg which = (plumb_sreg)c->row->sub;
  if (c->row->kind == PLUMB_LLVM_KIND_SREG && (!*c->rest || !find_sreg(c->rest + 1, &which)))
    return plumb_llvm_call_ptx(d, c);
  if (c->result.count != 1) return false;
  plumb_reg r = plumb_build_sreg(&d->b, which);
  plumb_llvm_leaf from = {.type = plumb_reg_type(d->f, r)};
  from.width = plumb_dtype_table[from.type].bits;
  plumb_llvm_define1(d, c->inst, plumb_llvm_resize(d, r, from, c->result.items[0], false));
  return true;
}

static plumb_reg i32(plumb_llvm_decoder *d, uint32_t value) {
  return plumb_constant(d->program, PLUMB_I32, value);
}

static plumb_reg bit_of(plumb_llvm_decoder *d, const plumb_llvm_call *c, unsigned i) {
  plumb_llvm_leaf leaf = plumb_llvm_value_leaves(d, LLVMGetOperand(c->inst, i)).items[0];
  if (leaf.type == PLUMB_I1) return plumb_llvm_arg1(d, c, i);
  return plumb_build_cmp(&d->b, PLUMB_CMP_NE, leaf.type, plumb_llvm_arg1(d, c, i),
                         plumb_constant(d->program, leaf.type, 0));
}

/* Arguments: none, (id), or (id, lanes). */
static bool barrier(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_reg operands[2] = {c->args > 0 ? plumb_llvm_arg1(d, c, 0) : i32(d, 0),
                           c->args > 1 ? plumb_llvm_arg1(d, c, 1) : i32(d, 0)};
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_BARRIER, PLUMB_I32, NULL, 0, operands, 2);
  inst->sub = (uint8_t)c->row->sub;
  inst->flags |= c->row->flags;
  return true;
}

/* barrier0.*(i32 predicate) gives i32; barrier.cta.red.*(id[, lanes], i1) gives i32 or i1. */
static bool barrier_reduction(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  if (c->args < 1 || c->result.count != 1) return false;
  plumb_reg operands[3] = {c->args > 1 ? plumb_llvm_arg1(d, c, 0) : i32(d, 0),
                           c->args > 2 ? plumb_llvm_arg1(d, c, 1) : i32(d, 0),
                           bit_of(d, c, c->args - 1)};
  bool count = c->row->sub == PLUMB_BARRIER_RED_POPC;
  plumb_llvm_leaf made = {.type = count ? PLUMB_I32 : PLUMB_I1, .width = count ? 32 : 1};
  plumb_reg r = plumb_reg_create(d->f, made.type);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_BARRIER, made.type, &r, 1, operands, 3);
  inst->sub = (uint8_t)c->row->sub;
  inst->flags |= c->row->flags;
  plumb_llvm_define1(d, c->inst, plumb_llvm_resize(d, r, made, c->result.items[0], false));
  return true;
}

/* What an operation without .sync acts on: the lanes that are there. */
static plumb_reg active_mask(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  return plumb_llvm_emit(d, c, PLUMB_OP_ACTIVEMASK, PLUMB_I32, NULL, 0);
}

/* ([mask,] value, lane, c); the "p" forms also return whether the lane is in range. */
static bool shuffle(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  unsigned at = c->args == 4;
  if (c->args != 3 + at || !c->result.count || c->result.count > 2) return false;
  plumb_dtype type = c->result.items[0].type;
  plumb_reg operands[4] = {plumb_llvm_arg1(d, c, at), plumb_llvm_arg1(d, c, at + 1),
                           plumb_llvm_arg1(d, c, at + 2),
                           at ? plumb_llvm_arg1(d, c, 0) : active_mask(d, c)};
  plumb_llvm_run run = plumb_llvm_run_of(d, 2);
  run.regs[0] = plumb_reg_create(d->f, type);
  run.regs[1] = plumb_reg_create(d->f, PLUMB_I1);
  plumb_build(&d->b, PLUMB_OP_SHFL, type, run.regs, 2, operands, 4)->sub = (uint8_t)c->row->sub;
  run.count = c->result.count;
  plumb_llvm_define(d, c->inst, run);
  return true;
}

static bool vote(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  unsigned at = c->args == 2;
  if (c->args != 1 + at || c->result.count != 1) return false;
  plumb_reg operands[2] = {bit_of(d, c, at), at ? plumb_llvm_arg1(d, c, 0) : active_mask(d, c)};
  plumb_dtype type = c->row->sub == PLUMB_VOTE_BALLOT ? PLUMB_I32 : PLUMB_I1;
  plumb_llvm_define1(d, c->inst, plumb_llvm_emit(d, c, PLUMB_OP_VOTE, type, operands, 2));
  return true;
}

static bool match(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  if (c->args != 2 || !c->result.count || c->result.count > 2) return false;
  plumb_reg operands[2] = {plumb_llvm_arg1(d, c, 1), plumb_llvm_arg1(d, c, 0)};
  plumb_dtype type = plumb_llvm_value_leaves(d, LLVMGetOperand(c->inst, 1)).items[0].type;
  plumb_llvm_run run = plumb_llvm_run_of(d, 2);
  run.regs[0] = plumb_reg_create(d->f, PLUMB_I32);
  run.regs[1] = plumb_reg_create(d->f, PLUMB_I1);
  plumb_build(&d->b, PLUMB_OP_MATCH, type, run.regs, 2, operands, 2)->sub = (uint8_t)c->row->sub;
  run.count = c->result.count;
  plumb_llvm_define(d, c->inst, run);
  return true;
}

static bool redux(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  if (c->args != 2 || c->result.count != 1) return false;
  plumb_reg operands[2] = {plumb_llvm_arg1(d, c, 0), plumb_llvm_arg1(d, c, 1)};
  plumb_llvm_define1(d, c->inst,
                     plumb_llvm_emit(d, c, PLUMB_OP_REDUX, c->result.items[0].type, operands, 2));
  return true;
}

static bool elect(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  if (c->args != 1 || c->result.count != 2) return false;
  plumb_reg mask = plumb_llvm_arg1(d, c, 0);
  plumb_llvm_run run = plumb_llvm_run_of(d, 2);
  run.regs[0] = plumb_reg_create(d->f, PLUMB_I32);
  run.regs[1] = plumb_reg_create(d->f, PLUMB_I1);
  plumb_build(&d->b, PLUMB_OP_ELECT, PLUMB_I32, run.regs, 2, &mask, 1);
  plumb_llvm_define(d, c->inst, run);
  return true;
}

/* membar is a sequentially consistent fence of its scope (PTX ISA 9.7.13.4). */
static bool fence(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_build(&d->b, PLUMB_OP_FENCE, PLUMB_I1, NULL, 0, NULL, 0)->flags |=
      c->row->flags | PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE | PLUMB_FLAG_SEQ_CST;
  return true;
}

static bool one_operand(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  if (c->args != 1) return false;
  plumb_reg a = plumb_llvm_arg1(d, c, 0);
  plumb_build(&d->b, (plumb_op)c->row->op, PLUMB_I32, NULL, 0, &a, 1);
  return true;
}

bool plumb_llvm_call_sync(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  switch ((plumb_llvm_kind)c->row->kind) {
    case PLUMB_LLVM_KIND_SREG:
    case PLUMB_LLVM_KIND_SREG_NUMBER:
      return special_register(d, c);
    case PLUMB_LLVM_KIND_BARRIER:
      return barrier(d, c);
    case PLUMB_LLVM_KIND_BARRIER_RED:
      return barrier_reduction(d, c);
    case PLUMB_LLVM_KIND_SHFL:
      return shuffle(d, c);
    case PLUMB_LLVM_KIND_VOTE:
      return vote(d, c);
    case PLUMB_LLVM_KIND_MATCH:
      return match(d, c);
    case PLUMB_LLVM_KIND_REDUX:
      return redux(d, c);
    case PLUMB_LLVM_KIND_ELECT:
      return elect(d, c);
    case PLUMB_LLVM_KIND_FENCE:
      return fence(d, c);
    case PLUMB_LLVM_KIND_WARP_SYNC:
    case PLUMB_LLVM_KIND_NANOSLEEP:
      return one_operand(d, c);
    case PLUMB_LLVM_KIND_ACTIVEMASK:
      if (c->result.count != 1) return false;
      plumb_llvm_define1(d, c->inst,
                         plumb_llvm_emit(d, c, PLUMB_OP_ACTIVEMASK, PLUMB_I32, NULL, 0));
      return true;
    case PLUMB_LLVM_KIND_EXIT:
      plumb_build(&d->b, PLUMB_OP_EXIT, PLUMB_I1, NULL, 0, NULL, 0);
      d->b.block = plumb_block_create(d->f);
      return true;
    default:
      return false;
  }
}

/* Terminators: branches with their phi moves, switches, returns. */
#include "ir/llvm/decoder.h"

uint32_t plumb_llvm_block(plumb_llvm_decoder *d, LLVMBasicBlockRef block) {
  plumb_llvm_slot *slot = plumb_llvm_map_at(d->arena, &d->blocks, block);
  if (!slot->number) slot->number = (uint64_t)plumb_block_create(d->f) + 1;
  return (uint32_t)(slot->number - 1);
}

static bool has_phis(LLVMBasicBlockRef block) {
  LLVMValueRef first = LLVMGetFirstInstruction(block);
  return first && LLVMIsAPHINode(first);
}

static LLVMValueRef incoming(LLVMValueRef phi, LLVMBasicBlockRef from) {
  unsigned n = LLVMCountIncoming(phi);
  for (unsigned i = 0; i < n; i++)
    if (LLVMGetIncomingBlock(phi, i) == from) return LLVMGetIncomingValue(phi, i);
  return NULL;
}

/* The moves of one edge, all phis at once; the builder stands where they belong. */
static void edge_moves(plumb_llvm_decoder *d, LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
  plumb_reg *results = NULL, *values = NULL;
  size_t count = 0, capacity = 0, capacity2 = 0;
  for (LLVMValueRef phi = LLVMGetFirstInstruction(to); phi && LLVMIsAPHINode(phi);
       phi = LLVMGetNextInstruction(phi)) {
    LLVMValueRef in = incoming(phi, from);
    if (!in) continue;
    plumb_llvm_run target = plumb_llvm_value(d, phi), source = plumb_llvm_value(d, in);
    size_t n = target.count < source.count ? target.count : source.count;
    results = plumb_arena_grow(d->arena, results, &capacity, count + n + 1, sizeof *results);
    values = plumb_arena_grow(d->arena, values, &capacity2, count + n + 1, sizeof *values);
    for (size_t i = 0; i < n; i++, count++) {
      results[count] = target.regs[i];
      values[count] = source.regs[i];
    }
  }
  if (count) plumb_build_parallel_moves(&d->b, results, values, count);
}

/* Where an edge leads: the block itself, or a block of its own that moves and goes on. */
static uint32_t edge_target(plumb_llvm_decoder *d, LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
  uint32_t target = plumb_llvm_block(d, to);
  if (!has_phis(to)) return target;
  uint32_t edge = plumb_block_create(d->f), here = d->b.block;
  d->b.block = edge;
  edge_moves(d, from, to);
  plumb_build_bra(&d->b, target);
  d->b.block = here;
  return edge;
}

static void decode_branch(plumb_llvm_decoder *d, LLVMValueRef inst) {
  LLVMBasicBlockRef here = LLVMGetInstructionParent(inst);
  if (!LLVMIsConditional(inst)) {
    LLVMBasicBlockRef to = LLVMGetSuccessor(inst, 0);
    edge_moves(d, here, to);
    plumb_build_bra(&d->b, plumb_llvm_block(d, to));
    return;
  }
  plumb_reg condition = plumb_llvm_scalar(d, LLVMGetCondition(inst));
  uint32_t yes = edge_target(d, here, LLVMGetSuccessor(inst, 0));
  uint32_t no = edge_target(d, here, LLVMGetSuccessor(inst, 1));
  plumb_build_condbr(&d->b, condition, yes, no);
}

/* A chain of comparisons: the case values need not be dense. */
static void decode_switch(plumb_llvm_decoder *d, LLVMValueRef inst) {
  LLVMBasicBlockRef here = LLVMGetInstructionParent(inst);
  LLVMValueRef value = LLVMGetOperand(inst, 0);
  plumb_reg r = plumb_llvm_scalar(d, value);
  plumb_dtype type = plumb_llvm_value_leaves(d, value).items[0].type;
  unsigned successors = LLVMGetNumSuccessors(inst);
  uint32_t otherwise = edge_target(d, here, LLVMGetSwitchDefaultDest(inst));
  for (unsigned i = 1; i < successors; i++) {
    uint32_t target = edge_target(d, here, LLVMGetSuccessor(inst, i));
    uint64_t lo, hi;
    plumb_llvm_constant_bits(LLVMGetSwitchCaseValue(inst, i), &lo, &hi);
    plumb_reg c = type == PLUMB_I128 ? plumb_constant128(d->program, lo, hi)
                                     : plumb_constant(d->program, type, lo);
    plumb_reg equal;
    if (type == PLUMB_I1) /* equality of bits */
      equal = lo ? r : plumb_build1(&d->b, PLUMB_OP_NOT, PLUMB_I1, r);
    else
      equal = plumb_build_cmp(&d->b, PLUMB_CMP_EQ, type, r, c);
    uint32_t next = i + 1 < successors ? plumb_block_create(d->f) : otherwise;
    plumb_build_condbr(&d->b, equal, target, next);
    if (i + 1 < successors) d->b.block = next;
  }
  if (successors == 1) plumb_build_bra(&d->b, otherwise);
}

void plumb_llvm_decode_terminator(plumb_llvm_decoder *d, LLVMValueRef inst) {
  switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMBr:
      decode_branch(d, inst);
      break;
    case LLVMSwitch:
      decode_switch(d, inst);
      break;
    case LLVMRet: {
      plumb_llvm_run run = {0};
      if (LLVMGetNumOperands(inst) && d->f->kind != PLUMB_KERNEL)
        run = plumb_llvm_value(d, LLVMGetOperand(inst, 0));
      plumb_build_ret(&d->b, run.regs, run.count);
      break;
    }
    default:
      plumb_build(&d->b, PLUMB_OP_UNREACHABLE, PLUMB_I1, NULL, 0, NULL, 0);
  }
}

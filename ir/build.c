/* The builder: appending instructions to a function (see program.h). */
#include <assert.h>
#include <string.h>

#include "ir/program.h"

plumb_builder plumb_builder_at(plumb_function *f, uint32_t block) {
  return (plumb_builder){.function = f, .block = block, .guard = PLUMB_NO_REG};
}

bool plumb_builder_terminated(const plumb_builder *b) {
  const plumb_block *block = &b->function->blocks[b->block];
  if (!block->inst_count) return false;
  const plumb_inst *last = &block->insts[block->inst_count - 1];
  if (last->guard != PLUMB_NO_REG) return false;
  switch (last->op) {
    case PLUMB_OP_BRA:
    case PLUMB_OP_CONDBR:
    case PLUMB_OP_SWITCH:
    case PLUMB_OP_RET:
    case PLUMB_OP_EXIT:
    case PLUMB_OP_TRAP:
    case PLUMB_OP_UNREACHABLE:
      return true;
    default:
      return false;
  }
}

plumb_inst *plumb_build(plumb_builder *b, plumb_op op, plumb_dtype type, const plumb_reg *results,
                        size_t result_count, const plumb_reg *operands, size_t operand_count) {
  plumb_function *f = b->function;
  plumb_arena *arena = f->program->arena;
  assert(result_count <= UINT16_MAX && operand_count <= UINT16_MAX);
  size_t first = f->used_count;
  f->regs_used = plumb_arena_grow(arena, f->regs_used, &f->used_capacity,
                                  first + result_count + operand_count, sizeof(plumb_reg));
  if (result_count) memcpy(f->regs_used + first, results, result_count * sizeof(plumb_reg));
  if (operand_count)
    memcpy(f->regs_used + first + result_count, operands, operand_count * sizeof(plumb_reg));
  f->used_count += result_count + operand_count;

  plumb_block *block = &f->blocks[b->block];
  block->insts = plumb_arena_grow(arena, block->insts, &block->inst_capacity, block->inst_count + 1,
                                  sizeof(plumb_inst));
  plumb_inst *inst = &block->insts[block->inst_count++];
  *inst = (plumb_inst){.op = (uint16_t)op,
                       .type = (uint8_t)type,
                       .type2 = (uint8_t)type,
                       .guard = b->guard,
                       .flags = b->guard_not ? (uint32_t)PLUMB_FLAG_GUARD_NOT : 0u,
                       .first = (uint32_t)first,
                       .results = (uint16_t)result_count,
                       .operands = (uint16_t)operand_count,
                       .target = UINT32_MAX,
                       .target2 = UINT32_MAX,
                       .loc = b->loc};
  return inst;
}

plumb_reg plumb_build1(plumb_builder *b, plumb_op op, plumb_dtype type, plumb_reg a) {
  plumb_reg r = plumb_reg_create(b->function, type);
  plumb_build(b, op, type, &r, 1, &a, 1);
  return r;
}

plumb_reg plumb_build2(plumb_builder *b, plumb_op op, plumb_dtype type, plumb_reg a, plumb_reg c) {
  plumb_reg r = plumb_reg_create(b->function, type);
  plumb_build(b, op, type, &r, 1, (plumb_reg[]){a, c}, 2);
  return r;
}

plumb_reg plumb_build3(plumb_builder *b, plumb_op op, plumb_dtype type, plumb_reg a, plumb_reg c,
                       plumb_reg d) {
  plumb_reg r = plumb_reg_create(b->function, type);
  plumb_build(b, op, type, &r, 1, (plumb_reg[]){a, c, d}, 3);
  return r;
}

void plumb_build_mov(plumb_builder *b, plumb_reg result, plumb_reg value) {
  plumb_build(b, PLUMB_OP_MOV, plumb_reg_type(b->function, result), &result, 1, &value, 1);
}

plumb_reg plumb_build_sreg(plumb_builder *b, plumb_sreg which) {
  bool wide =
      which == PLUMB_SREG_CLOCK64 || which == PLUMB_SREG_GLOBALTIMER || which == PLUMB_SREG_GRIDID;
  plumb_reg r = plumb_reg_create(b->function, wide ? PLUMB_I64 : PLUMB_I32);
  plumb_build(b, PLUMB_OP_SREG, wide ? PLUMB_I64 : PLUMB_I32, &r, 1, NULL, 0)->sub = (uint8_t)which;
  return r;
}

plumb_reg plumb_build_cmp(plumb_builder *b, plumb_cmp predicate, plumb_dtype operand_type,
                          plumb_reg a, plumb_reg c) {
  plumb_reg r = plumb_reg_create(b->function, PLUMB_I1);
  plumb_inst *inst = plumb_build(b, PLUMB_OP_CMP, PLUMB_I1, &r, 1, (plumb_reg[]){a, c}, 2);
  inst->sub = (uint8_t)predicate;
  inst->type2 = (uint8_t)operand_type;
  return r;
}

plumb_reg plumb_build_cvt(plumb_builder *b, plumb_dtype to, plumb_dtype from, plumb_reg value,
                          uint32_t flags, plumb_round round) {
  plumb_reg r = plumb_reg_create(b->function, to);
  plumb_inst *inst = plumb_build(b, PLUMB_OP_CVT, to, &r, 1, &value, 1);
  inst->type2 = (uint8_t)from;
  inst->flags |= flags;
  inst->round = (uint8_t)round;
  return r;
}

plumb_reg plumb_build_load(plumb_builder *b, plumb_dtype type, plumb_space space, plumb_reg address,
                           int64_t offset) {
  plumb_reg r = plumb_reg_create(b->function, type);
  plumb_inst *inst = plumb_build(b, PLUMB_OP_LOAD, type, &r, 1, &address, 1);
  inst->space = (uint8_t)space;
  inst->imm = offset;
  return r;
}

void plumb_build_store(plumb_builder *b, plumb_dtype type, plumb_space space, plumb_reg address,
                       int64_t offset, plumb_reg value) {
  plumb_inst *inst =
      plumb_build(b, PLUMB_OP_STORE, type, NULL, 0, (plumb_reg[]){address, value}, 2);
  inst->space = (uint8_t)space;
  inst->imm = offset;
}

void plumb_build_bra(plumb_builder *b, uint32_t target) {
  plumb_build(b, PLUMB_OP_BRA, PLUMB_I1, NULL, 0, NULL, 0)->target = target;
}

void plumb_build_condbr(plumb_builder *b, plumb_reg condition, uint32_t target, uint32_t target2) {
  plumb_inst *inst = plumb_build(b, PLUMB_OP_CONDBR, PLUMB_I1, NULL, 0, &condition, 1);
  inst->target = target;
  inst->target2 = target2;
}

void plumb_build_ret(plumb_builder *b, const plumb_reg *values, size_t count) {
  plumb_build(b, PLUMB_OP_RET, PLUMB_I1, NULL, 0, values, count);
}

void plumb_build_parallel_moves(plumb_builder *b, const plumb_reg *results, const plumb_reg *values,
                                size_t count) {
  /* A value that an earlier move overwrites is saved first. */
  plumb_function *f = b->function;
  plumb_reg *saved = PLUMB_NEW_ARRAY(f->program->arena, plumb_reg, count + 1);
  for (size_t i = 0; i < count; i++) {
    saved[i] = values[i];
    for (size_t j = 0; j < i; j++)
      if (results[j] == values[i] && values[j] != results[j]) {
        saved[i] = plumb_reg_create(f, plumb_reg_type(f, values[i]));
        plumb_build_mov(b, saved[i], values[i]);
        break;
      }
  }
  for (size_t i = 0; i < count; i++)
    if (saved[i] != results[i]) plumb_build_mov(b, results[i], saved[i]);
}

plumb_inst *plumb_build_call(plumb_builder *b, const char *callee, const plumb_reg *results,
                             size_t result_count, const plumb_reg *args, size_t arg_count) {
  plumb_inst *inst =
      plumb_build(b, PLUMB_OP_CALL, PLUMB_I1, results, result_count, args, arg_count);
  inst->imm = plumb_string_add(b->function->program, callee);
  return inst;
}

plumb_inst *plumb_build_launch(plumb_builder *b, const char *kernel, const plumb_reg grid[3],
                               const plumb_reg block[3], plumb_reg shared_bytes,
                               const plumb_reg *args, size_t arg_count) {
  plumb_arena *arena = b->function->program->arena;
  plumb_reg *operands = PLUMB_NEW_ARRAY(arena, plumb_reg, arg_count + 7);
  memcpy(operands, grid, 3 * sizeof(plumb_reg));
  memcpy(operands + 3, block, 3 * sizeof(plumb_reg));
  operands[6] = shared_bytes;
  if (arg_count) memcpy(operands + 7, args, arg_count * sizeof(plumb_reg));
  plumb_inst *inst = plumb_build(b, PLUMB_OP_LAUNCH, PLUMB_I1, NULL, 0, operands, arg_count + 7);
  inst->imm = plumb_string_add(b->function->program, kernel);
  return inst;
}

void plumb_build_unsupported(plumb_builder *b, const char *what, const plumb_reg *results,
                             size_t result_count) {
  int64_t text = plumb_string_add(b->function->program, what);
  plumb_build(b, PLUMB_OP_UNSUPPORTED, PLUMB_I1, results, result_count, NULL, 0)->imm = text;
}

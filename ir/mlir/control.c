/* Loops, branches and regions. */
#include "ir/mlir/decode_internal.h"
#include "ir/mlir/tables.h"

plumb_reg plumb_mlir_loop_begin_typed(plumb_mlir_decoder *d, plumb_mlir_loop *loop,
                                      plumb_dtype type, bool is_unsigned, plumb_reg lower,
                                      plumb_reg upper, plumb_reg step) {
  plumb_function *f = d->b.function;
  *loop = (plumb_mlir_loop){
      .iv = plumb_reg_create(f, type), .step = step, .type = type, .head = plumb_block_create(f)};
  uint32_t body = plumb_block_create(f);
  loop->exit = plumb_block_create(f);
  plumb_build_mov(&d->b, loop->iv, lower);
  plumb_build_bra(&d->b, loop->head);
  d->b.block = loop->head;
  plumb_reg more =
      plumb_build_cmp(&d->b, is_unsigned ? PLUMB_CMP_LT_U : PLUMB_CMP_LT_S, type, loop->iv, upper);
  plumb_build_condbr(&d->b, more, body, loop->exit);
  d->b.block = body;
  return loop->iv;
}

plumb_reg plumb_mlir_loop_begin(plumb_mlir_decoder *d, plumb_mlir_loop *loop, plumb_reg lower,
                                plumb_reg upper, plumb_reg step) {
  return plumb_mlir_loop_begin_typed(d, loop, PLUMB_I64, false, lower, upper, step);
}

void plumb_mlir_loop_end(plumb_mlir_decoder *d, plumb_mlir_loop *loop) {
  if (!plumb_builder_terminated(&d->b)) {
    plumb_build(&d->b, PLUMB_OP_ADD, loop->type, &loop->iv, 1, (plumb_reg[]){loop->iv, loop->step},
                2);
    plumb_build_bra(&d->b, loop->head);
  }
  d->b.block = loop->exit;
}

void plumb_mlir_if_begin(plumb_mlir_decoder *d, plumb_mlir_if *branch, plumb_reg condition) {
  plumb_function *f = d->b.function;
  uint32_t then = plumb_block_create(f);
  *branch = (plumb_mlir_if){.otherwise = plumb_block_create(f), .exit = plumb_block_create(f)};
  plumb_build_condbr(&d->b, condition, then, branch->otherwise);
  d->b.block = then;
}

static void go(plumb_mlir_decoder *d, uint32_t block) {
  if (!plumb_builder_terminated(&d->b)) plumb_build_bra(&d->b, block);
}

void plumb_mlir_if_else(plumb_mlir_decoder *d, plumb_mlir_if *branch) {
  go(d, branch->exit);
  branch->has_else = true;
  d->b.block = branch->otherwise;
}

void plumb_mlir_if_end(plumb_mlir_decoder *d, plumb_mlir_if *branch) {
  go(d, branch->exit);
  if (!branch->has_else) {
    d->b.block = branch->otherwise;
    plumb_build_bra(&d->b, branch->exit);
  }
  d->b.block = branch->exit;
}

plumb_mlir_run plumb_mlir_variables(plumb_mlir_decoder *d, plumb_mlir_run values) {
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, values.count + 1);
  for (size_t i = 0; i < values.count; i++) {
    regs[i] = plumb_reg_create(d->b.function, plumb_reg_type(d->b.function, values.regs[i]));
    plumb_build_mov(&d->b, regs[i], values.regs[i]);
  }
  return (plumb_mlir_run){regs, values.count};
}

void plumb_mlir_assign(plumb_mlir_decoder *d, plumb_mlir_run variables, plumb_mlir_run values) {
  size_t count = variables.count < values.count ? variables.count : values.count;
  plumb_build_parallel_moves(&d->b, variables.regs, values.regs, count);
}

/* --- regions --- */

void plumb_mlir_bind_argument(plumb_mlir_decoder *d, MlirBlock block, intptr_t index,
                              const plumb_reg *regs, size_t count) {
  plumb_mlir_define(d, mlirBlockGetArgument(block, index), regs, count);
}

MlirOperation plumb_mlir_terminator(MlirBlock block) {
  return mlirBlockGetTerminator(block);
}

MlirBlock plumb_mlir_body(MlirOperation op, intptr_t index) {
  if (index >= mlirOperationGetNumRegions(op)) return (MlirBlock){NULL};
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, index));
}

void plumb_mlir_inline_block(plumb_mlir_decoder *d, MlirBlock block) {
  if (mlirBlockIsNull(block)) return;
  MlirOperation last = mlirBlockGetTerminator(block);
  uint32_t loc = d->b.loc;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!mlirOperationIsNull(last) && mlirOperationEqual(op, last)) break;
    plumb_mlir_decode_operation(d, op);
  }
  d->b.loc = loc;
}

plumb_mlir_run plumb_mlir_operands(plumb_mlir_decoder *d, MlirOperation op, intptr_t first,
                                   intptr_t count) {
  plumb_reg *regs = NULL;
  size_t used = 0, capacity = 0;
  for (intptr_t i = 0; i < count; i++) {
    plumb_mlir_run run = plumb_mlir_operand(d, op, first + i);
    regs = plumb_arena_grow(d->arena, regs, &capacity, used + run.count + 1, sizeof *regs);
    for (size_t j = 0; j < run.count; j++) regs[used++] = run.regs[j];
  }
  return (plumb_mlir_run){regs, used};
}

void plumb_mlir_split_results(plumb_mlir_decoder *d, MlirOperation op, plumb_mlir_run run) {
  size_t at = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    plumb_mlir_flat flat;
    if (!plumb_mlir_flatten(d, plumb_mlir_result_type(op, i), &flat)) flat.count = 0;
    if (at + flat.count > run.count) return;
    plumb_mlir_define_result(d, op, i, run.regs + at, flat.count);
    at += flat.count;
  }
}

/* The reachable blocks, each after the blocks that dominate it: depth first from the entry. */
typedef struct block_list {
  plumb_mlir_decoder *d;
  MlirBlock *blocks;
  size_t count, capacity;
} block_list;

static bool listed(const block_list *list, MlirBlock block) {
  for (size_t i = 0; i < list->count; i++)
    if (mlirBlockEqual(list->blocks[i], block)) return true;
  return false;
}

static void collect(block_list *list, MlirBlock first) {
  MlirBlock *stack = NULL;
  size_t depth = 0, capacity = 0;
  stack = plumb_arena_grow(list->d->arena, stack, &capacity, 1, sizeof *stack);
  stack[depth++] = first;
  while (depth) {
    MlirBlock block = stack[--depth];
    if (listed(list, block)) continue;
    list->blocks = plumb_arena_grow(list->d->arena, list->blocks, &list->capacity, list->count + 1,
                                    sizeof *list->blocks);
    list->blocks[list->count++] = block;
    intptr_t successors = mlirBlockGetNumSuccessors(block);
    for (intptr_t i = successors; i-- > 0;) {
      stack = plumb_arena_grow(list->d->arena, stack, &capacity, depth + 1, sizeof *stack);
      stack[depth++] = mlirBlockGetSuccessor(block, i);
    }
  }
}

/* A program block for each further block, its arguments in fresh registers. */
static void create_blocks(plumb_mlir_decoder *d, const block_list *list) {
  for (size_t i = 1; i < list->count; i++) {
    MlirBlock block = list->blocks[i];
    plumb_mlir_map_block(d, block, plumb_block_create(d->b.function));
    for (intptr_t j = 0; j < mlirBlockGetNumArguments(block); j++) {
      MlirValue argument = mlirBlockGetArgument(block, j);
      plumb_mlir_run run = plumb_mlir_fresh(d, mlirValueGetType(argument));
      plumb_mlir_define(d, argument, run.regs, run.count);
    }
  }
}

void plumb_mlir_decode_region(plumb_mlir_decoder *d, MlirRegion region, plumb_mlir_exit *exit) {
  MlirBlock first = mlirRegionGetFirstBlock(region);
  exit->outer = d->exit;
  d->exit = exit;
  uint32_t loc = d->b.loc;
  block_list list = {.d = d};
  if (!mlirBlockIsNull(first)) collect(&list, first);
  create_blocks(d, &list);
  for (size_t i = 0; i < list.count; i++) {
    if (i) d->b.block = plumb_mlir_block_of(d, list.blocks[i]);
    for (MlirOperation op = mlirBlockGetFirstOperation(list.blocks[i]); !mlirOperationIsNull(op);
         op = mlirOperationGetNextInBlock(op))
      plumb_mlir_decode_operation(d, op);
    if (!plumb_builder_terminated(&d->b))
      plumb_build(&d->b, PLUMB_OP_UNREACHABLE, PLUMB_I1, NULL, 0, NULL, 0);
  }
  d->b.loc = loc;
  d->exit = exit->outer;
  if (!exit->is_return) d->b.block = exit->block;
}

void plumb_mlir_branch(plumb_mlir_decoder *d, MlirBlock successor, plumb_mlir_run arguments) {
  plumb_reg *targets = PLUMB_NEW_ARRAY(d->arena, plumb_reg, arguments.count + 1);
  size_t count = 0;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(successor); i++) {
    plumb_mlir_run run = plumb_mlir_get(d, mlirBlockGetArgument(successor, i));
    for (size_t j = 0; j < run.count && count < arguments.count; j++)
      targets[count++] = run.regs[j];
  }
  plumb_build_parallel_moves(&d->b, targets, arguments.regs, count);
  plumb_build_bra(&d->b, plumb_mlir_block_of(d, successor));
}

uint32_t plumb_mlir_edge(plumb_mlir_decoder *d, MlirBlock successor, plumb_mlir_run arguments) {
  if (!arguments.count) return plumb_mlir_block_of(d, successor);
  uint32_t saved = d->b.block;
  uint32_t edge = plumb_block_create(d->b.function);
  d->b.block = edge;
  plumb_mlir_branch(d, successor, arguments);
  d->b.block = saved;
  return edge;
}

void plumb_mlir_leave(plumb_mlir_decoder *d, plumb_mlir_run values) {
  if (!d->exit || d->exit->is_return) {
    /* In a kernel the end of the body ends the lane. */
    plumb_build_ret(&d->b, values.regs, values.count);
    return;
  }
  plumb_mlir_assign(d, d->exit->results, values);
  plumb_build_bra(&d->b, d->exit->block);
}

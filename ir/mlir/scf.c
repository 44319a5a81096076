/* scf: structured loops and branches. Registers carry what the regions yield. */
#include "ir/mlir/decode_internal.h"

/* Runs of consecutive block arguments, from `first` on, out of one long run. */
static void bind_arguments(plumb_mlir_decoder *d, MlirBlock block, intptr_t first,
                           plumb_mlir_run run) {
  size_t at = 0;
  for (intptr_t i = first; i < mlirBlockGetNumArguments(block); i++) {
    plumb_mlir_flat flat;
    MlirValue argument = mlirBlockGetArgument(block, i);
    if (!plumb_mlir_flatten(d, mlirValueGetType(argument), &flat)) flat.count = 0;
    if (at + flat.count > run.count) return;
    plumb_mlir_define(d, argument, run.regs + at, flat.count);
    at += flat.count;
  }
}

static plumb_mlir_run terminator_values(plumb_mlir_decoder *d, MlirBlock block, intptr_t first) {
  MlirOperation last = plumb_mlir_terminator(block);
  if (mlirOperationIsNull(last)) return (plumb_mlir_run){NULL, 0};
  return plumb_mlir_operands(d, last, first, mlirOperationGetNumOperands(last) - first);
}

static plumb_mlir_run fresh_results(plumb_mlir_decoder *d, MlirOperation op) {
  plumb_reg *regs = NULL;
  size_t count = 0, capacity = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    plumb_mlir_run run = plumb_mlir_fresh(d, plumb_mlir_result_type(op, i));
    regs = plumb_arena_grow(d->arena, regs, &capacity, count + run.count + 1, sizeof *regs);
    for (size_t j = 0; j < run.count; j++) regs[count++] = run.regs[j];
  }
  return (plumb_mlir_run){regs, count};
}

static bool decode_for(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirBlock body = plumb_mlir_body(op, 0);
  plumb_dtype type;
  int bits;
  if (!plumb_mlir_scalar_type(plumb_mlir_operand_type(op, 0), &type, &bits) ||
      plumb_dtype_table[type].bits != bits || type == PLUMB_I1)
    return plumb_mlir_reject(d, "a counter of type %s",
                             plumb_mlir_print_type(d, plumb_mlir_operand_type(op, 0)));
  plumb_reg lower = plumb_mlir_operand1(d, op, 0), upper = plumb_mlir_operand1(d, op, 1);
  plumb_reg step = plumb_mlir_operand1(d, op, 2);
  plumb_mlir_run carried =
      plumb_mlir_variables(d, plumb_mlir_operands(d, op, 3, mlirOperationGetNumOperands(op) - 3));
  plumb_mlir_loop loop;
  plumb_reg iv = plumb_mlir_loop_begin_typed(
      d, &loop, type, plumb_mlir_attribute_flag(op, "unsignedCmp"), lower, upper, step);
  plumb_mlir_bind_argument(d, body, 0, &iv, 1);
  bind_arguments(d, body, 1, carried);
  plumb_mlir_inline_block(d, body);
  plumb_mlir_assign(d, carried, terminator_values(d, body, 0));
  plumb_mlir_loop_end(d, &loop);
  plumb_mlir_split_results(d, op, carried);
  return true;
}

static bool decode_if(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run results = fresh_results(d, op);
  plumb_mlir_if branch;
  plumb_mlir_if_begin(d, &branch, plumb_mlir_operand1(d, op, 0));
  for (intptr_t i = 0; i < 2; i++) {
    MlirBlock block = plumb_mlir_body(op, i);
    if (mlirBlockIsNull(block)) continue;
    if (i) plumb_mlir_if_else(d, &branch);
    plumb_mlir_inline_block(d, block);
    plumb_mlir_assign(d, results, terminator_values(d, block, 0));
  }
  plumb_mlir_if_end(d, &branch);
  plumb_mlir_split_results(d, op, results);
  return true;
}

static bool decode_while(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_function *f = d->b.function;
  MlirBlock before = plumb_mlir_body(op, 0), after = plumb_mlir_body(op, 1);
  plumb_mlir_run carried =
      plumb_mlir_variables(d, plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op)));
  plumb_mlir_run results = fresh_results(d, op);
  uint32_t head = plumb_block_create(f), body = plumb_block_create(f);
  uint32_t exit = plumb_block_create(f);
  plumb_build_bra(&d->b, head);
  d->b.block = head;
  bind_arguments(d, before, 0, carried);
  plumb_mlir_inline_block(d, before);
  MlirOperation condition = plumb_mlir_terminator(before);
  plumb_reg more = plumb_mlir_operand1(d, condition, 0);
  plumb_mlir_assign(d, results, terminator_values(d, before, 1));
  plumb_build_condbr(&d->b, more, body, exit);
  d->b.block = body;
  bind_arguments(d, after, 0, results);
  plumb_mlir_inline_block(d, after);
  plumb_mlir_assign(d, carried, terminator_values(d, after, 0));
  plumb_build_bra(&d->b, head);
  d->b.block = exit;
  plumb_mlir_split_results(d, op, results);
  return true;
}

/* --- parallel loops --- */

typedef struct space {
  size_t rank;
  const plumb_reg *lower, *step;
  plumb_reg *counts; /* iterations, not negative */
  plumb_reg ivs[PLUMB_MLIR_LANE_DIMS];
} space;

static bool open_space(plumb_mlir_decoder *d, space *s, size_t rank, const plumb_reg *lower,
                       const plumb_reg *upper, const plumb_reg *step) {
  if (rank > PLUMB_MLIR_LANE_DIMS) return plumb_mlir_reject(d, "more than 32 dimensions");
  *s = (space){.rank = rank,
               .lower = lower,
               .step = step,
               .counts = PLUMB_NEW_ARRAY(d->arena, plumb_reg, rank + 1)};
  for (size_t i = 0; i < rank; i++) {
    plumb_reg count = plumb_mlir_ceildiv(d, plumb_mlir_sub(d, upper[i], lower[i]), step[i]);
    int64_t known;
    if (!plumb_mlir_reg_value(d, count, &known))
      count = plumb_build2(&d->b, PLUMB_OP_MAX_S, PLUMB_I64, count, plumb_mlir_i64(d, 0));
    else if (known < 0)
      count = plumb_mlir_i64(d, 0);
    s->counts[i] = count;
  }
  return true;
}

static void bind_ivs(plumb_mlir_decoder *d, space *s, MlirBlock body, const plumb_reg *ids) {
  for (size_t i = 0; i < s->rank; i++) {
    plumb_reg step = plumb_mlir_capture(d, s->step[i]);
    plumb_reg iv =
        plumb_mlir_add(d, plumb_mlir_capture(d, s->lower[i]), plumb_mlir_mul(d, ids[i], step));
    plumb_mlir_bind_argument(d, body, (intptr_t)i, &iv, 1);
  }
}

/* scf.reduce: each region combines the value so far with the iteration's. */
static void reduce(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_run *so_far) {
  for (intptr_t i = 0; i < mlirOperationGetNumRegions(op); i++) {
    MlirBlock block = plumb_mlir_body(op, i);
    plumb_mlir_run value = plumb_mlir_operand(d, op, i);
    plumb_mlir_bind_argument(d, block, 0, so_far[i].regs, so_far[i].count);
    plumb_mlir_bind_argument(d, block, 1, value.regs, value.count);
    plumb_mlir_inline_block(d, block);
    plumb_mlir_assign(d, so_far[i], terminator_values(d, block, 0));
  }
}

/* With reductions, one iteration after the other, as the order is free. */
static bool parallel_reduce(plumb_mlir_decoder *d, MlirOperation op, space *s, intptr_t first) {
  MlirBlock body = plumb_mlir_body(op, 0);
  intptr_t count = mlirOperationGetNumResults(op);
  plumb_mlir_run *so_far = PLUMB_NEW_ARRAY(d->arena, plumb_mlir_run, (size_t)count);
  for (intptr_t i = 0; i < count; i++)
    so_far[i] = plumb_mlir_variables(d, plumb_mlir_operand(d, op, first + i));
  plumb_mlir_loop loops[PLUMB_MLIR_LANE_DIMS];
  plumb_reg zero = plumb_mlir_i64(d, 0), one = plumb_mlir_i64(d, 1);
  bool capturing = d->capturing;
  d->capturing = false;
  for (size_t i = 0; i < s->rank; i++)
    s->ivs[i] = plumb_mlir_loop_begin(d, &loops[i], zero, s->counts[i], one);
  bind_ivs(d, s, body, s->ivs);
  plumb_mlir_inline_block(d, body);
  reduce(d, plumb_mlir_terminator(body), so_far);
  for (size_t i = s->rank; i-- > 0;) plumb_mlir_loop_end(d, &loops[i]);
  d->capturing = capturing;
  for (intptr_t i = 0; i < count; i++)
    plumb_mlir_define_result(d, op, i, so_far[i].regs, so_far[i].count);
  return true;
}

static bool decode_parallel(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *sizes;
  size_t count;
  if (!plumb_mlir_segments(d, op, &sizes, &count) || count != 4)
    return plumb_mlir_reject(d, "operand segments");
  intptr_t rank = (intptr_t)sizes[0];
  plumb_mlir_run bounds = plumb_mlir_operands(d, op, 0, 3 * rank);
  space s;
  if (!open_space(d, &s, (size_t)rank, bounds.regs, bounds.regs + rank, bounds.regs + 2 * rank))
    return false;
  if (mlirOperationGetNumResults(op)) return parallel_reduce(d, op, &s, 3 * rank);
  MlirBlock body = plumb_mlir_body(op, 0);
  plumb_mlir_lanes lanes;
  plumb_mlir_lanes_begin(d, &lanes, "parallel", s.rank, s.counts, s.ivs);
  bind_ivs(d, &s, body, s.ivs);
  plumb_mlir_inline_block(d, body);
  plumb_mlir_lanes_end(d, &lanes);
  return true;
}

/* scf.forall writes its shared outputs only in its terminator: the body reads the values
 * from before, the terminator's operations write to copies, which become the results. */
static bool forall_outputs(plumb_mlir_decoder *d, MlirOperation op, intptr_t first,
                           plumb_mlir_run *out_copies) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    if (!plumb_mlir_tensor_copy(d, plumb_mlir_operand(d, op, first + i),
                                plumb_mlir_operand_type(op, first + i), &out_copies[i]))
      return false;
  return true;
}

static bool decode_forall(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  intptr_t next = 0;
  const plumb_reg *lower, *upper, *step;
  size_t rank, upper_count, step_count;
  if (!plumb_mlir_mixed(d, op, "staticLowerBound", &next, &lower, &rank) ||
      !plumb_mlir_mixed(d, op, "staticUpperBound", &next, &upper, &upper_count) ||
      !plumb_mlir_mixed(d, op, "staticStep", &next, &step, &step_count))
    return false;
  if (upper_count != rank || step_count != rank) return plumb_mlir_reject(d, "its bounds");
  space s;
  intptr_t outputs = mlirOperationGetNumResults(op);
  plumb_mlir_run *copies = PLUMB_NEW_ARRAY(d->arena, plumb_mlir_run, (size_t)outputs + 1);
  if (!open_space(d, &s, rank, lower, upper, step) || !forall_outputs(d, op, next, copies))
    return false;
  MlirBlock body = plumb_mlir_body(op, 0);
  plumb_mlir_lanes lanes;
  plumb_mlir_lanes_begin(d, &lanes, "forall", rank, s.counts, s.ivs);
  bind_ivs(d, &s, body, s.ivs);
  for (intptr_t i = 0; i < outputs; i++) {
    plumb_mlir_run before = plumb_mlir_operand(d, op, next + i);
    plumb_mlir_bind_argument(d, body, (intptr_t)rank + i, before.regs, before.count);
  }
  plumb_mlir_inline_block(d, body);
  for (intptr_t i = 0; i < outputs; i++) {
    plumb_mlir_run copy = plumb_mlir_capture_run(d, copies[i]);
    plumb_mlir_bind_argument(d, body, (intptr_t)rank + i, copy.regs, copy.count);
  }
  MlirOperation last = plumb_mlir_terminator(body);
  MlirBlock writes = plumb_mlir_body(last, 0);
  if (!mlirBlockIsNull(writes))
    for (MlirOperation w = mlirBlockGetFirstOperation(writes); !mlirOperationIsNull(w);
         w = mlirOperationGetNextInBlock(w))
      plumb_mlir_decode_operation(d, w);
  plumb_mlir_lanes_end(d, &lanes);
  for (intptr_t i = 0; i < outputs; i++)
    plumb_mlir_define_result(d, op, i, copies[i].regs, copies[i].count);
  return true;
}

/* --- regions with blocks, switches --- */

static bool decode_execute_region(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run results = fresh_results(d, op);
  plumb_mlir_exit exit = {.block = plumb_block_create(d->b.function), .results = results};
  plumb_mlir_decode_region(d, mlirOperationGetRegion(op, 0), &exit);
  plumb_mlir_split_results(d, op, results);
  return true;
}

static bool decode_index_switch(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *cases;
  size_t count;
  if (!plumb_mlir_attribute_ints(d, op, "cases", &cases, &count))
    return plumb_mlir_reject(d, "no cases");
  plumb_reg value = plumb_mlir_operand1(d, op, 0);
  plumb_mlir_run results = fresh_results(d, op);
  uint32_t exit = plumb_block_create(d->b.function);
  for (size_t i = 0; i <= count; i++) {
    /* Region 0 is the default, reached when no case holds. */
    MlirBlock block = plumb_mlir_body(op, i == count ? 0 : (intptr_t)i + 1);
    uint32_t otherwise = exit;
    if (i < count) {
      plumb_reg same =
          plumb_build_cmp(&d->b, PLUMB_CMP_EQ, PLUMB_I64, value, plumb_mlir_i64(d, cases[i]));
      uint32_t chosen = plumb_block_create(d->b.function);
      otherwise = plumb_block_create(d->b.function);
      plumb_build_condbr(&d->b, same, chosen, otherwise);
      d->b.block = chosen;
    }
    plumb_mlir_inline_block(d, block);
    plumb_mlir_assign(d, results, terminator_values(d, block, 0));
    if (!plumb_builder_terminated(&d->b)) plumb_build_bra(&d->b, exit);
    d->b.block = otherwise;
  }
  plumb_mlir_split_results(d, op, results);
  return true;
}

/* A yield met by itself ends a region with blocks. */
static bool decode_yield(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_leave(d, plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op)));
  return true;
}

/* Terminators that their parent reads. */
static bool decode_inner(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)op;
  (void)row;
  return plumb_mlir_reject(d, "outside the operation that it belongs to");
}

const plumb_mlir_op plumb_mlir_ops_scf[] = {
    {"scf.for", decode_for, 0},
    {"scf.if", decode_if, 0},
    {"scf.while", decode_while, 0},
    {"scf.condition", decode_inner, 0},
    {"scf.parallel", decode_parallel, 0},
    {"scf.reduce", decode_inner, 0},
    {"scf.reduce.return", decode_inner, 0},
    {"scf.forall", decode_forall, 0},
    {"scf.forall.in_parallel", decode_inner, 0},
    {"scf.execute_region", decode_execute_region, 0},
    {"scf.index_switch", decode_index_switch, 0},
    {"scf.yield", decode_yield, 0},
    {0},
};

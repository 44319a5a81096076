/* affine: expressions, maps and sets over index values, loops and accesses by them. mod is
 * the floor remainder, floordiv and ceildiv round toward minus and plus infinity. */
#include "ir/mlir/decode_internal.h"

plumb_reg plumb_mlir_affine_expr(plumb_mlir_decoder *d, MlirAffineExpr expr, const plumb_reg *dims,
                                 const plumb_reg *symbols) {
  if (mlirAffineExprIsAConstant(expr))
    return plumb_mlir_i64(d, mlirAffineConstantExprGetValue(expr));
  if (mlirAffineExprIsADim(expr)) return dims[mlirAffineDimExprGetPosition(expr)];
  if (mlirAffineExprIsASymbol(expr)) return symbols[mlirAffineSymbolExprGetPosition(expr)];
  plumb_reg a = plumb_mlir_affine_expr(d, mlirAffineBinaryOpExprGetLHS(expr), dims, symbols);
  plumb_reg b = plumb_mlir_affine_expr(d, mlirAffineBinaryOpExprGetRHS(expr), dims, symbols);
  if (mlirAffineExprIsAAdd(expr)) return plumb_mlir_add(d, a, b);
  if (mlirAffineExprIsAMul(expr)) return plumb_mlir_mul(d, a, b);
  if (mlirAffineExprIsAMod(expr)) return plumb_mlir_mod(d, a, b);
  if (mlirAffineExprIsAFloorDiv(expr)) return plumb_mlir_floordiv(d, a, b);
  return plumb_mlir_ceildiv(d, a, b);
}

void plumb_mlir_affine_map(plumb_mlir_decoder *d, MlirAffineMap map, const plumb_reg *dims,
                           const plumb_reg *symbols, plumb_reg *out_results) {
  for (intptr_t i = 0; i < mlirAffineMapGetNumResults(map); i++)
    out_results[i] = plumb_mlir_affine_expr(d, mlirAffineMapGetResult(map, i), dims, symbols);
}

static bool map_attribute(plumb_mlir_decoder *d, MlirOperation op, const char *name,
                          MlirAffineMap *out) {
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, name, &attribute) || !mlirAttributeIsAAffineMap(attribute))
    return plumb_mlir_reject(d, "no %s", name);
  *out = mlirAffineMapAttrGetValue(attribute);
  return true;
}

/* All results of the map over operands [first, ...). */
static plumb_reg *apply(plumb_mlir_decoder *d, MlirOperation op, MlirAffineMap map,
                        intptr_t first) {
  plumb_mlir_run in = plumb_mlir_operands(d, op, first, mlirAffineMapGetNumInputs(map));
  size_t count = (size_t)mlirAffineMapGetNumResults(map);
  plumb_reg *results = PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1);
  plumb_mlir_affine_map(d, map, in.regs, in.regs + mlirAffineMapGetNumDims(map), results);
  return results;
}

static plumb_reg extreme(plumb_mlir_decoder *d, plumb_op op, const plumb_reg *values,
                         size_t count) {
  plumb_reg r = values[0];
  for (size_t i = 1; i < count; i++) r = plumb_build2(&d->b, op, PLUMB_I64, r, values[i]);
  return r;
}

static bool decode_apply(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  MlirAffineMap map;
  if (!map_attribute(d, op, "map", &map)) return false;
  plumb_reg *values = apply(d, op, map, 0);
  size_t count = (size_t)mlirAffineMapGetNumResults(map);
  plumb_mlir_define_result1(d, op, 0,
                            row->code ? extreme(d, (plumb_op)row->code, values, count) : *values);
  return true;
}

/* --- loops --- */

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

static plumb_mlir_run yielded(plumb_mlir_decoder *d, MlirBlock block) {
  MlirOperation last = plumb_mlir_terminator(block);
  return plumb_mlir_operands(d, last, 0, mlirOperationGetNumOperands(last));
}

/* The lower bound is the largest of its map's results, the upper bound the smallest. */
static bool decode_for(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAffineMap lower_map, upper_map;
  const int64_t *sizes;
  size_t count;
  int64_t step;
  if (!map_attribute(d, op, "lowerBoundMap", &lower_map) ||
      !map_attribute(d, op, "upperBoundMap", &upper_map))
    return false;
  if (!plumb_mlir_attribute_int(op, "step", &step) || !plumb_mlir_segments(d, op, &sizes, &count) ||
      count != 3)
    return plumb_mlir_reject(d, "its bounds");
  intptr_t inits = (intptr_t)(sizes[0] + sizes[1]);
  plumb_reg lower = extreme(d, PLUMB_OP_MAX_S, apply(d, op, lower_map, 0),
                            (size_t)mlirAffineMapGetNumResults(lower_map));
  plumb_reg upper = extreme(d, PLUMB_OP_MIN_S, apply(d, op, upper_map, (intptr_t)sizes[0]),
                            (size_t)mlirAffineMapGetNumResults(upper_map));
  plumb_mlir_run carried =
      plumb_mlir_variables(d, plumb_mlir_operands(d, op, inits, (intptr_t)sizes[2]));
  MlirBlock body = plumb_mlir_body(op, 0);
  plumb_mlir_loop loop;
  plumb_reg iv = plumb_mlir_loop_begin(d, &loop, lower, upper, plumb_mlir_i64(d, step));
  plumb_mlir_bind_argument(d, body, 0, &iv, 1);
  bind_arguments(d, body, 1, carried);
  plumb_mlir_inline_block(d, body);
  plumb_mlir_assign(d, carried, yielded(d, body));
  plumb_mlir_loop_end(d, &loop);
  plumb_mlir_split_results(d, op, carried);
  return true;
}

/* Groups of a bounds map: of each dimension the extreme of its group of results. */
static bool bounds(plumb_mlir_decoder *d, MlirOperation op, const char *map_name,
                   const char *groups_name, plumb_op which, intptr_t *operand, size_t rank,
                   plumb_reg *out) {
  MlirAffineMap map;
  const int64_t *groups;
  size_t count;
  if (!map_attribute(d, op, map_name, &map) ||
      !plumb_mlir_attribute_ints(d, op, groups_name, &groups, &count) || count != rank)
    return plumb_mlir_reject(d, "its bounds");
  plumb_reg *values = apply(d, op, map, *operand);
  *operand += mlirAffineMapGetNumInputs(map);
  size_t at = 0;
  for (size_t i = 0; i < rank; i++) {
    out[i] = extreme(d, which, values + at, (size_t)groups[i]);
    at += (size_t)groups[i];
  }
  return true;
}

bool plumb_mlir_combine_of_atomic(int64_t kind, plumb_mlir_combine *out) {
  static const int kinds[] = {
      PLUMB_MLIR_ADD,      PLUMB_MLIR_ADD,     PLUMB_MLIR_AND,   -1,
      PLUMB_MLIR_MAXIMUMF, PLUMB_MLIR_MAXNUMF, PLUMB_MLIR_MAX_S, PLUMB_MLIR_MAX_U,
      PLUMB_MLIR_MINIMUMF, PLUMB_MLIR_MINNUMF, PLUMB_MLIR_MIN_S, PLUMB_MLIR_MIN_U,
      PLUMB_MLIR_MUL,      PLUMB_MLIR_MUL,     PLUMB_MLIR_OR,    PLUMB_MLIR_XOR};
  if (kind < 0 || kind > 15 || kinds[kind] < 0) return false;
  *out = (plumb_mlir_combine)kinds[kind];
  return true;
}

static double identity_of(plumb_mlir_combine kind) {
  switch (kind) {
    case PLUMB_MLIR_MUL:
      return 1.0;
    case PLUMB_MLIR_MINNUMF:
    case PLUMB_MLIR_MINIMUMF:
      return __builtin_inf();
    case PLUMB_MLIR_MAXNUMF:
    case PLUMB_MLIR_MAXIMUMF:
      return -__builtin_inf();
    default:
      return 0.0;
  }
}

static plumb_reg identity(plumb_mlir_decoder *d, plumb_mlir_combine kind, plumb_dtype dtype,
                          int bits) {
  if (plumb_dtype_is_float(dtype)) return plumb_mlir_constant_double(d, dtype, identity_of(kind));
  uint64_t ones = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  uint64_t value = 0;
  if (kind == PLUMB_MLIR_MUL) value = 1;
  if (kind == PLUMB_MLIR_AND || kind == PLUMB_MLIR_MIN_U) value = ones;
  if (kind == PLUMB_MLIR_MIN_S) value = ones >> 1;
  if (kind == PLUMB_MLIR_MAX_S) value = (ones >> 1) + 1;
  return plumb_constant(d->program, dtype, value);
}

typedef struct reduction {
  plumb_mlir_combine kind;
  plumb_mlir_run value;
  plumb_dtype dtype;
  int bits;
} reduction;

static bool open_reductions(plumb_mlir_decoder *d, MlirOperation op, reduction *out) {
  const int64_t *kinds;
  size_t count = 0;
  intptr_t results = mlirOperationGetNumResults(op);
  if (results && (!plumb_mlir_attribute_ints(d, op, "reductions", &kinds, &count) ||
                  (intptr_t)count != results))
    return plumb_mlir_reject(d, "its reductions");
  for (intptr_t i = 0; i < results; i++) {
    if (!plumb_mlir_combine_of_atomic(kinds[i], &out[i].kind) ||
        !plumb_mlir_scalar_type(plumb_mlir_result_type(op, i), &out[i].dtype, &out[i].bits) ||
        out[i].dtype == PLUMB_I128)
      return plumb_mlir_reject(d, "its reductions");
    plumb_reg start = identity(d, out[i].kind, out[i].dtype, out[i].bits);
    out[i].value = plumb_mlir_variables(d, (plumb_mlir_run){&start, 1});
  }
  return true;
}

/* Number of iterations of each dimension, and the counters from an iteration's number. */
static void iterations(plumb_mlir_decoder *d, size_t rank, const plumb_reg *lower,
                       const plumb_reg *upper, const int64_t *steps, plumb_reg *out_counts) {
  for (size_t i = 0; i < rank; i++) {
    plumb_reg span = plumb_mlir_sub(d, upper[i], lower[i]);
    plumb_reg count = plumb_mlir_ceildiv(d, span, plumb_mlir_i64(d, steps[i]));
    int64_t known;
    out_counts[i] =
        plumb_mlir_reg_value(d, count, &known)
            ? plumb_mlir_i64(d, known > 0 ? known : 0)
            : plumb_build2(&d->b, PLUMB_OP_MAX_S, PLUMB_I64, count, plumb_mlir_i64(d, 0));
  }
}

static void bind_counters(plumb_mlir_decoder *d, MlirBlock body, size_t rank,
                          const plumb_reg *lower, const int64_t *steps, const plumb_reg *ids) {
  for (size_t i = 0; i < rank; i++) {
    plumb_reg offset = plumb_mlir_mul(d, ids[i], plumb_mlir_i64(d, steps[i]));
    plumb_reg iv = plumb_mlir_add(d, plumb_mlir_capture(d, lower[i]), offset);
    plumb_mlir_bind_argument(d, body, (intptr_t)i, &iv, 1);
  }
}

static void reduce_sequentially(plumb_mlir_decoder *d, MlirOperation op, reduction *reductions,
                                size_t rank, const plumb_reg *counts, const plumb_reg *lower,
                                const int64_t *steps) {
  MlirBlock body = plumb_mlir_body(op, 0);
  plumb_mlir_loop loops[PLUMB_MLIR_LANE_DIMS];
  plumb_reg ids[PLUMB_MLIR_LANE_DIMS] = {0};
  bool capturing = d->capturing;
  d->capturing = false;
  for (size_t i = 0; i < rank; i++)
    ids[i] =
        plumb_mlir_loop_begin(d, &loops[i], plumb_mlir_i64(d, 0), counts[i], plumb_mlir_i64(d, 1));
  bind_counters(d, body, rank, lower, steps, ids);
  plumb_mlir_inline_block(d, body);
  plumb_mlir_run values = yielded(d, body);
  for (size_t i = 0; i < values.count; i++) {
    reduction *r = &reductions[i];
    plumb_reg next = plumb_mlir_build_combine(d, r->kind, r->dtype, r->bits, 0, r->value.regs[0],
                                              values.regs[i]);
    plumb_build_mov(&d->b, r->value.regs[0], next);
  }
  for (size_t i = rank; i-- > 0;) plumb_mlir_loop_end(d, &loops[i]);
  d->capturing = capturing;
  for (size_t i = 0; i < values.count; i++)
    plumb_mlir_define_result(d, op, (intptr_t)i, reductions[i].value.regs, 1);
}

static bool decode_parallel(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *steps;
  size_t rank;
  if (!plumb_mlir_attribute_ints(d, op, "steps", &steps, &rank) || rank > PLUMB_MLIR_LANE_DIMS)
    return plumb_mlir_reject(d, "its steps");
  plumb_reg lower[PLUMB_MLIR_LANE_DIMS], upper[PLUMB_MLIR_LANE_DIMS];
  plumb_reg counts[PLUMB_MLIR_LANE_DIMS], ids[PLUMB_MLIR_LANE_DIMS];
  intptr_t operand = 0;
  if (!bounds(d, op, "lowerBoundsMap", "lowerBoundsGroups", PLUMB_OP_MAX_S, &operand, rank,
              lower) ||
      !bounds(d, op, "upperBoundsMap", "upperBoundsGroups", PLUMB_OP_MIN_S, &operand, rank, upper))
    return false;
  iterations(d, rank, lower, upper, steps, counts);
  intptr_t results = mlirOperationGetNumResults(op);
  reduction *reductions = PLUMB_NEW_ARRAY(d->arena, reduction, (size_t)results + 1);
  if (!open_reductions(d, op, reductions)) return false;
  if (results) {
    reduce_sequentially(d, op, reductions, rank, counts, lower, steps);
    return true;
  }
  MlirBlock body = plumb_mlir_body(op, 0);
  plumb_mlir_lanes lanes;
  plumb_mlir_lanes_begin(d, &lanes, "parallel", rank, counts, ids);
  bind_counters(d, body, rank, lower, steps, ids);
  plumb_mlir_inline_block(d, body);
  plumb_mlir_lanes_end(d, &lanes);
  return true;
}

/* --- if --- */

/* All constraints of the set: expression == 0 or expression >= 0. */
static plumb_reg in_set(plumb_mlir_decoder *d, MlirIntegerSet set, const plumb_reg *inputs) {
  plumb_reg zero = plumb_mlir_i64(d, 0), all = plumb_constant(d->program, PLUMB_I1, 1);
  for (intptr_t i = 0; i < mlirIntegerSetGetNumConstraints(set); i++) {
    plumb_reg value = plumb_mlir_affine_expr(d, mlirIntegerSetGetConstraint(set, i), inputs,
                                             inputs + mlirIntegerSetGetNumDims(set));
    plumb_cmp cmp = mlirIntegerSetIsConstraintEq(set, i) ? PLUMB_CMP_EQ : PLUMB_CMP_GE_S;
    plumb_reg holds = plumb_build_cmp(&d->b, cmp, PLUMB_I64, value, zero);
    all = plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1, all, holds);
  }
  return all;
}

static bool decode_if(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, "condition", &attribute) || !mlirAttributeIsAIntegerSet(attribute))
    return plumb_mlir_reject(d, "no condition");
  plumb_mlir_run in = plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op));
  plumb_reg holds = in_set(d, mlirIntegerSetAttrGetValue(attribute), in.regs);
  intptr_t count = mlirOperationGetNumResults(op);
  for (intptr_t i = 0; i < count; i++) plumb_mlir_fresh_result(d, op, i);
  plumb_mlir_if branch;
  plumb_mlir_if_begin(d, &branch, holds);
  for (intptr_t side = 0; side < 2; side++) {
    MlirBlock block = plumb_mlir_body(op, side);
    if (mlirBlockIsNull(block)) continue;
    if (side) plumb_mlir_if_else(d, &branch);
    plumb_mlir_inline_block(d, block);
    for (intptr_t i = 0; i < count; i++)
      plumb_mlir_assign(d, plumb_mlir_get(d, mlirOperationGetResult(op, i)),
                        plumb_mlir_operand(d, plumb_mlir_terminator(block), i));
  }
  plumb_mlir_if_end(d, &branch);
  return true;
}

/* --- accesses --- */

/* The buffer (operand `memref`) and the indices, by the map over what follows it. */
static bool access(plumb_mlir_decoder *d, MlirOperation op, intptr_t memref,
                   plumb_mlir_buffer *out_buffer, plumb_reg **out_indices) {
  MlirAffineMap map;
  if (!map_attribute(d, op, "map", &map) ||
      !plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, memref),
                              plumb_mlir_operand_type(op, memref), out_buffer))
    return false;
  if (mlirAffineMapGetNumResults(map) != (intptr_t)out_buffer->rank)
    return plumb_mlir_reject(d, "indices of another rank");
  *out_indices = apply(d, op, map, memref + 1);
  return true;
}

/* code: 1 loads or stores a vector of consecutive elements in the last dimension */
static bool decode_load(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_buffer buffer;
  plumb_reg *indices;
  if (!access(d, op, 0, &buffer, &indices)) return false;
  plumb_mlir_run r = plumb_mlir_fresh(d, plumb_mlir_result_type(op, 0));
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, r.count + buffer.element.count);
  size_t times = row->code ? r.count / buffer.element.count : 1;
  for (size_t i = 0; i < times; i++) {
    plumb_mlir_load(d, &buffer, indices, regs + i * buffer.element.count);
    if (buffer.rank)
      indices[buffer.rank - 1] = plumb_mlir_add(d, indices[buffer.rank - 1], plumb_mlir_i64(d, 1));
  }
  plumb_mlir_define_result(d, op, 0, regs, r.count);
  return true;
}

static bool decode_store(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_buffer buffer;
  plumb_reg *indices;
  if (!access(d, op, 1, &buffer, &indices)) return false;
  plumb_mlir_run value = plumb_mlir_operand(d, op, 0);
  size_t times = row->code ? value.count / buffer.element.count : 1;
  for (size_t i = 0; i < times; i++) {
    plumb_mlir_store(d, &buffer, indices, value.regs + i * buffer.element.count);
    if (buffer.rank)
      indices[buffer.rank - 1] = plumb_mlir_add(d, indices[buffer.rank - 1], plumb_mlir_i64(d, 1));
  }
  return true;
}

/* --- index arithmetic --- */

static bool basis_of(plumb_mlir_decoder *d, MlirOperation op, intptr_t first, const plumb_reg **out,
                     size_t *out_count) {
  return plumb_mlir_mixed(d, op, "static_basis", &first, out, out_count);
}

/* Digits of a number in a mixed radix; without an outer bound the first digit is the rest. */
static bool decode_delinearize(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const plumb_reg *basis;
  size_t count, results = (size_t)mlirOperationGetNumResults(op);
  if (!basis_of(d, op, 1, &basis, &count)) return false;
  if (count != results && count + 1 != results) return plumb_mlir_reject(d, "its basis");
  plumb_reg rest = plumb_mlir_operand1(d, op, 0);
  const plumb_reg *radix = basis + (count == results ? 1 : 0); /* of digits 1, 2, ... */
  for (size_t i = results; i-- > 0;) {
    plumb_mlir_define_result1(d, op, (intptr_t)i,
                              i == 0 ? rest : plumb_mlir_mod(d, rest, radix[i - 1]));
    if (i) rest = plumb_mlir_floordiv(d, rest, radix[i - 1]);
  }
  return true;
}

static bool decode_linearize(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *sizes;
  const plumb_reg *basis;
  size_t segments, count;
  if (!plumb_mlir_segments(d, op, &sizes, &segments) || segments != 2)
    return plumb_mlir_reject(d, "operand segments");
  size_t digits = (size_t)sizes[0];
  if (!basis_of(d, op, (intptr_t)digits, &basis, &count)) return false;
  if (count != digits && count + 1 != digits) return plumb_mlir_reject(d, "its basis");
  const plumb_reg *radix = basis + (count == digits ? 1 : 0);
  plumb_reg value = plumb_mlir_i64(d, 0);
  for (size_t i = 0; i < digits; i++) {
    if (i) value = plumb_mlir_mul(d, value, radix[i - 1]);
    value = plumb_mlir_add(d, value, plumb_mlir_operand1(d, op, (intptr_t)i));
  }
  plumb_mlir_define_result1(d, op, 0, value);
  return true;
}

static bool decode_nothing(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)d;
  (void)op;
  (void)row;
  return true;
}

static bool decode_inner(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)op;
  (void)row;
  return plumb_mlir_reject(d, "outside the operation that it belongs to");
}

const plumb_mlir_op plumb_mlir_ops_affine[] = {
    {"affine.apply", decode_apply, 0},
    {"affine.min", decode_apply, PLUMB_OP_MIN_S},
    {"affine.max", decode_apply, PLUMB_OP_MAX_S},
    {"affine.for", decode_for, 0},
    {"affine.parallel", decode_parallel, 0},
    {"affine.if", decode_if, 0},
    {"affine.yield", decode_inner, 0},
    {"affine.load", decode_load, 0},
    {"affine.store", decode_store, 0},
    {"affine.vector_load", decode_load, 1},
    {"affine.vector_store", decode_store, 1},
    {"affine.prefetch", decode_nothing, 0},
    {"affine.delinearize_index", decode_delinearize, 0},
    {"affine.linearize_index", decode_linearize, 0},
    {0},
};

/* Vectors from and to memory (VectorOps.td). Every element is an access of its own, guarded
 * where a mask or a bound may leave it out. */
#include "ir/mlir/vector_internal.h"

#include <string.h>

enum { MAX_RANK = PLUMB_MLIR_LANE_DIMS };

static bool open_base(plumb_mlir_decoder *d, MlirOperation op, intptr_t index,
                      plumb_mlir_buffer *out_buffer) {
  if (!plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, index),
                              plumb_mlir_operand_type(op, index), out_buffer))
    return false;
  return out_buffer->rank <= MAX_RANK || plumb_mlir_reject(d, "more than %d dimensions", MAX_RANK);
}

static void set_guard(plumb_mlir_decoder *d, plumb_reg guard) {
  d->b.guard = guard;
  d->b.guard_not = false;
}

/* A guard that is a constant is none: true becomes PLUMB_NO_REG, false sets *out_never. */
static plumb_reg known_guard(plumb_mlir_decoder *d, plumb_reg guard, bool *out_never) {
  *out_never = false;
  if (!plumb_reg_is_const(guard)) return guard;
  *out_never = d->program->consts[plumb_reg_const_index(guard)].bits == 0;
  return PLUMB_NO_REG;
}

static plumb_reg both(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b) {
  if (a == PLUMB_NO_REG) return b;
  return b == PLUMB_NO_REG ? a : plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1, a, b);
}

/* Loads element `at` into out_regs where `guard` holds (PLUMB_NO_REG: always), else the
 * values of `otherwise`. */
static void load_guarded(plumb_mlir_decoder *d, const plumb_mlir_buffer *base, const plumb_reg *at,
                         plumb_reg guard, const plumb_reg *otherwise, plumb_reg *out_regs) {
  bool never;
  guard = known_guard(d, guard, &never);
  if (never) {
    memcpy(out_regs, otherwise, base->element.count * sizeof *out_regs);
    return;
  }
  if (guard == PLUMB_NO_REG) {
    plumb_mlir_load(d, base, at, out_regs);
    return;
  }
  size_t count = base->element.count;
  plumb_mlir_run merged = plumb_mlir_variables(d, (plumb_mlir_run){otherwise, count});
  plumb_reg address = plumb_mlir_address(d, base, at);
  set_guard(d, guard);
  for (size_t i = 0; i < count; i++) {
    plumb_inst *inst =
        plumb_build(&d->b, PLUMB_OP_LOAD, base->element.dtype, &merged.regs[i], 1, &address, 1);
    inst->space = (uint8_t)base->space;
    inst->imm = plumb_mlir_element_offset(&base->element, i);
  }
  set_guard(d, PLUMB_NO_REG);
  memcpy(out_regs, merged.regs, count * sizeof *out_regs);
}

static void store_guarded(plumb_mlir_decoder *d, const plumb_mlir_buffer *base, const plumb_reg *at,
                          plumb_reg guard, const plumb_reg *regs) {
  bool never;
  guard = known_guard(d, guard, &never);
  if (never) return;
  plumb_reg address = plumb_mlir_address(d, base, at);
  set_guard(d, guard);
  for (size_t i = 0; i < base->element.count; i++)
    plumb_build_store(&d->b, base->element.dtype, base->space, address,
                      plumb_mlir_element_offset(&base->element, i), regs[i]);
  set_guard(d, PLUMB_NO_REG);
}

/* --- load and store --- */

/* Base indices of the vector's element `coords`: added to the last dimensions. */
static void offset_indices(plumb_mlir_decoder *d, const plumb_mlir_buffer *base,
                           const plumb_reg *first, const plumb_vector_shape *shape, size_t element,
                           plumb_reg *out_at) {
  int64_t coords[PLUMB_VECTOR_DIMS];
  plumb_vector_split(shape, element, coords);
  for (size_t i = 0; i < base->rank; i++) {
    size_t from_end = base->rank - i;
    out_at[i] = from_end <= shape->rank
                    ? plumb_mlir_add(d, first[i], plumb_mlir_i64(d, coords[shape->rank - from_end]))
                    : first[i];
  }
}

static void read_indices(plumb_mlir_decoder *d, MlirOperation op, intptr_t first, size_t count,
                         plumb_reg *out_indices) {
  for (size_t i = 0; i < count; i++)
    out_indices[i] = plumb_mlir_operand1(d, op, first + (intptr_t)i);
}

/* A base of vectors is accessed by whole elements: one, of the same shape. */
static bool access_shape(plumb_mlir_decoder *d, const plumb_mlir_buffer *base, MlirType vector,
                         plumb_vector_shape *out_shape) {
  if (!plumb_vector_shape_of(d, vector, out_shape)) return false;
  if (base->element.count == 1) return true;
  if (out_shape->count != base->element.count)
    return plumb_mlir_reject(d, "a vector over a buffer of other vectors");
  *out_shape = (plumb_vector_shape){.count = 1};
  return true;
}

bool plumb_vector_decode_load(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer base;
  plumb_vector_shape shape;
  plumb_reg first[MAX_RANK], at[MAX_RANK];
  if (!open_base(d, op, 0, &base) || !access_shape(d, &base, plumb_mlir_result_type(op, 0), &shape))
    return false;
  read_indices(d, op, 1, base.rank, first);
  size_t width = base.element.count;
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, shape.count * width + 1);
  for (size_t i = 0; i < shape.count; i++) {
    offset_indices(d, &base, first, &shape, i, at);
    plumb_mlir_load(d, &base, at, regs + i * width);
  }
  plumb_mlir_define_result(d, op, 0, regs, shape.count * width);
  return true;
}

bool plumb_vector_decode_store(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer base;
  plumb_vector_shape shape;
  plumb_reg first[MAX_RANK], at[MAX_RANK];
  if (!open_base(d, op, 1, &base) ||
      !access_shape(d, &base, plumb_mlir_operand_type(op, 0), &shape))
    return false;
  read_indices(d, op, 2, base.rank, first);
  plumb_mlir_run value = plumb_mlir_operand(d, op, 0);
  for (size_t i = 0; i < shape.count; i++) {
    offset_indices(d, &base, first, &shape, i, at);
    plumb_mlir_store(d, &base, at, value.regs + i * base.element.count);
  }
  return true;
}

/* (base, indices..., mask, passthru or value); code 1: a store. */
bool plumb_vector_decode_masked(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_buffer base;
  plumb_vector_shape shape;
  plumb_reg first[MAX_RANK], at[MAX_RANK];
  if (!open_base(d, op, 0, &base)) return false;
  intptr_t next = 1 + (intptr_t)base.rank;
  if (base.element.count != 1) return plumb_mlir_reject(d, "a buffer of vectors");
  read_indices(d, op, 1, base.rank, first);
  if (!plumb_vector_shape_of(d, plumb_mlir_operand_type(op, next + 1), &shape)) return false;
  plumb_mlir_run mask = plumb_mlir_operand(d, op, next),
                 value = plumb_mlir_operand(d, op, next + 1);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, shape.count + 1);
  for (size_t i = 0; i < shape.count; i++) {
    offset_indices(d, &base, first, &shape, i, at);
    if (row->code)
      store_guarded(d, &base, at, mask.regs[i], &value.regs[i]);
    else
      load_guarded(d, &base, at, mask.regs[i], &value.regs[i], &regs[i]);
  }
  if (!row->code) plumb_mlir_define_result(d, op, 0, regs, shape.count);
  return true;
}

/* expandload, compressstore: active elements lie side by side in memory. */
bool plumb_vector_decode_packed(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_buffer base;
  plumb_reg at[MAX_RANK];
  if (!open_base(d, op, 0, &base)) return false;
  intptr_t next = 1 + (intptr_t)base.rank;
  if (base.element.count != 1 || !base.rank) return plumb_mlir_reject(d, "a buffer of vectors");
  read_indices(d, op, 1, base.rank, at);
  plumb_mlir_run mask = plumb_mlir_operand(d, op, next),
                 value = plumb_mlir_operand(d, op, next + 1);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, value.count + 1);
  for (size_t i = 0; i < value.count; i++) {
    if (row->code)
      store_guarded(d, &base, at, mask.regs[i], &value.regs[i]);
    else
      load_guarded(d, &base, at, mask.regs[i], &value.regs[i], &regs[i]);
    plumb_reg step = plumb_build_cvt(&d->b, PLUMB_I64, PLUMB_I1, mask.regs[i], 0, PLUMB_RN);
    at[base.rank - 1] = plumb_mlir_add(d, at[base.rank - 1], step);
  }
  if (!row->code) plumb_mlir_define_result(d, op, 0, regs, value.count);
  return true;
}

/* --- gather and scatter --- */

/* Element i is base[offsets..., last offset + indices[i]]. Operands from `first` on:
 * offsets, indices, mask, passthru or value. */
typedef struct gathering {
  plumb_mlir_buffer base;
  plumb_reg offsets[MAX_RANK];
  plumb_mlir_run indices, mask, value;
  plumb_mlir_flat index_flat;
} gathering;

static bool read_gathering(plumb_mlir_decoder *d, MlirOperation op, gathering *g) {
  if (!open_base(d, op, 0, &g->base)) return false;
  if (g->base.element.count != 1 || !g->base.rank)
    return plumb_mlir_reject(d, "a buffer of vectors");
  intptr_t next = 1 + (intptr_t)g->base.rank;
  read_indices(d, op, 1, g->base.rank, g->offsets);
  g->indices = plumb_mlir_operand(d, op, next);
  g->mask = plumb_mlir_operand(d, op, next + 1);
  g->value = plumb_mlir_operand(d, op, next + 2);
  return plumb_mlir_flatten(d, plumb_mlir_operand_type(op, next), &g->index_flat);
}

static void gather_indices(plumb_mlir_decoder *d, const gathering *g, size_t i, plumb_reg *out_at) {
  plumb_dtype type = g->index_flat.types[i];
  plumb_reg index = g->indices.regs[i];
  if (type != PLUMB_I64) {
    index = plumb_mlir_extend(d, type, g->index_flat.bits, index);
    index =
        plumb_build_cvt(&d->b, PLUMB_I64, type, index, (uint32_t)PLUMB_FLAG_SRC_SIGNED, PLUMB_RN);
  }
  memcpy(out_at, g->offsets, g->base.rank * sizeof *out_at);
  out_at[g->base.rank - 1] = plumb_mlir_add(d, out_at[g->base.rank - 1], index);
}

bool plumb_vector_gather(plumb_mlir_decoder *d, MlirOperation op, const plumb_reg *mask,
                         size_t mask_count, const plumb_reg *passthru) {
  gathering g;
  plumb_reg at[MAX_RANK];
  if (!read_gathering(d, op, &g)) return false;
  if (mask && mask_count != g.value.count) return plumb_mlir_reject(d, "a mask that does not fit");
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, g.value.count + 1);
  for (size_t i = 0; i < g.value.count; i++) {
    gather_indices(d, &g, i, at);
    load_guarded(d, &g.base, at, both(d, mask ? mask[i] : PLUMB_NO_REG, g.mask.regs[i]),
                 passthru ? &passthru[i] : &g.value.regs[i], &regs[i]);
  }
  plumb_mlir_define_result(d, op, 0, regs, g.value.count);
  return true;
}

bool plumb_vector_scatter(plumb_mlir_decoder *d, MlirOperation op, const plumb_reg *mask,
                          size_t mask_count, const plumb_reg *passthru) {
  gathering g;
  plumb_reg at[MAX_RANK];
  (void)passthru;
  if (!read_gathering(d, op, &g)) return false;
  if (mlirOperationGetNumResults(op)) return plumb_mlir_reject(d, "a scatter into a tensor");
  if (mask && mask_count != g.value.count) return plumb_mlir_reject(d, "a mask that does not fit");
  for (size_t i = 0; i < g.value.count; i++) {
    gather_indices(d, &g, i, at);
    store_guarded(d, &g.base, at, both(d, mask ? mask[i] : PLUMB_NO_REG, g.mask.regs[i]),
                  &g.value.regs[i]);
  }
  return true;
}

/* --- transfers --- */

/* A transfer between a vector and a slice of the base. Vector dimension k runs along base
 * dimension dims[k], or is a broadcast (-1). */
typedef struct transfer {
  plumb_mlir_buffer base;
  plumb_reg first[MAX_RANK];
  plumb_vector_shape shape; /* of the dimensions that the map has */
  int dims[PLUMB_VECTOR_DIMS];
  const int64_t *in_bounds;
  plumb_vector_shape mask_shape;       /* the base dimensions that are used, in their order */
  size_t mask_dims[PLUMB_VECTOR_DIMS]; /* vector dimension of each */
} transfer;

static bool read_map(plumb_mlir_decoder *d, MlirOperation op, transfer *t) {
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, "permutation_map", &attribute))
    return plumb_mlir_reject(d, "no permutation map");
  MlirAffineMap map = mlirAffineMapAttrGetValue(attribute);
  size_t count = (size_t)mlirAffineMapGetNumResults(map);
  size_t bounds;
  /* A base of vectors: the vector's last dimensions are the element's. */
  if (count > t->shape.rank) return plumb_mlir_reject(d, "a map of a wrong rank");
  t->shape.rank = count;
  t->shape.count = 1;
  for (size_t k = 0; k < count; k++) {
    MlirAffineExpr expr = mlirAffineMapGetResult(map, (intptr_t)k);
    t->dims[k] = mlirAffineExprIsADim(expr) ? (int)mlirAffineDimExprGetPosition(expr) : -1;
    t->shape.count *= (size_t)t->shape.dims[k];
    if (t->dims[k] < 0 &&
        !(mlirAffineExprIsAConstant(expr) && mlirAffineConstantExprGetValue(expr) == 0))
      return plumb_mlir_reject(d, "a permutation map that is none");
  }
  if (!plumb_mlir_attribute_ints(d, op, "in_bounds", &t->in_bounds, &bounds) || bounds != count)
    return plumb_mlir_reject(d, "no in_bounds for each dimension");
  t->mask_shape = (plumb_vector_shape){.count = 1};
  for (size_t dim = 0; dim < t->base.rank; dim++)
    for (size_t k = 0; k < count; k++)
      if (t->dims[k] == (int)dim) {
        t->mask_dims[t->mask_shape.rank] = k;
        t->mask_shape.dims[t->mask_shape.rank++] = t->shape.dims[k];
        t->mask_shape.count *= (size_t)t->shape.dims[k];
      }
  return true;
}

static bool open_transfer(plumb_mlir_decoder *d, MlirOperation op, MlirType vector,
                          intptr_t first_index, transfer *t) {
  if (!plumb_vector_shape_of(d, vector, &t->shape) || t->base.rank > MAX_RANK) return false;
  read_indices(d, op, first_index, t->base.rank, t->first);
  return read_map(d, op, t);
}

/* Base indices of vector element i, and the i1 under which it is accessed. */
static plumb_reg transfer_point(plumb_mlir_decoder *d, const transfer *t, size_t i,
                                const plumb_reg *mask, const plumb_reg *outer_mask,
                                plumb_reg *out_at) {
  int64_t coords[PLUMB_VECTOR_DIMS], at_mask[PLUMB_VECTOR_DIMS];
  plumb_reg guard = PLUMB_NO_REG;
  plumb_vector_split(&t->shape, i, coords);
  memcpy(out_at, t->first, t->base.rank * sizeof *out_at);
  for (size_t k = 0; k < t->shape.rank; k++) {
    if (t->dims[k] < 0) continue;
    plumb_reg *at = &out_at[t->dims[k]];
    *at = plumb_mlir_add(d, *at, plumb_mlir_i64(d, coords[k]));
    /* Unsigned: an index below zero is out of bounds too. */
    if (!t->in_bounds[k])
      guard =
          both(d, guard,
               plumb_build_cmp(&d->b, PLUMB_CMP_LT_U, PLUMB_I64, *at, t->base.sizes[t->dims[k]]));
  }
  for (size_t k = 0; k < t->mask_shape.rank; k++) at_mask[k] = coords[t->mask_dims[k]];
  size_t bit = plumb_vector_join(&t->mask_shape, at_mask);
  if (mask) guard = both(d, guard, mask[bit]);
  if (outer_mask) guard = both(d, guard, outer_mask[bit]);
  return guard;
}

/* Operands: base, indices..., padding[, mask]. */
bool plumb_vector_transfer_read(plumb_mlir_decoder *d, MlirOperation op, const plumb_reg *mask,
                                size_t mask_count, const plumb_reg *passthru) {
  transfer t;
  plumb_reg at[MAX_RANK];
  if (!open_base(d, op, 0, &t.base) || !open_transfer(d, op, plumb_mlir_result_type(op, 0), 1, &t))
    return false;
  intptr_t next = 1 + (intptr_t)t.base.rank;
  plumb_mlir_run padding = plumb_mlir_operand(d, op, next), own = {NULL, 0};
  if (mlirOperationGetNumOperands(op) > next + 1) own = plumb_mlir_operand(d, op, next + 1);
  if ((mask && mask_count != t.mask_shape.count) || (own.regs && own.count != t.mask_shape.count))
    return plumb_mlir_reject(d, "a mask that does not fit");
  size_t width = t.base.element.count;
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, t.shape.count * width + 1);
  for (size_t i = 0; i < t.shape.count; i++) {
    plumb_reg guard = transfer_point(d, &t, i, own.regs, mask, at);
    load_guarded(d, &t.base, at, guard, padding.regs, regs + i * width);
  }
  if (passthru && mask) { /* masked-off lanes take vector.mask's passthru, not the padding */
    for (size_t i = 0; i < t.shape.count && width == 1; i++) {
      int64_t coords[PLUMB_VECTOR_DIMS], at_mask[PLUMB_VECTOR_DIMS];
      plumb_vector_split(&t.shape, i, coords);
      for (size_t k = 0; k < t.mask_shape.rank; k++) at_mask[k] = coords[t.mask_dims[k]];
      regs[i] = plumb_build3(&d->b, PLUMB_OP_SELECT, t.base.element.dtype,
                             mask[plumb_vector_join(&t.mask_shape, at_mask)], regs[i], passthru[i]);
    }
  }
  plumb_mlir_define_result(d, op, 0, regs, t.shape.count * width);
  return true;
}

/* Operands: vector, base, indices...[, mask]. A tensor base gives a fresh tensor. */
bool plumb_vector_transfer_write(plumb_mlir_decoder *d, MlirOperation op, const plumb_reg *mask,
                                 size_t mask_count, const plumb_reg *passthru) {
  (void)passthru;
  transfer t;
  plumb_reg at[MAX_RANK];
  if (mlirOperationGetNumResults(op)) {
    plumb_mlir_run copy;
    MlirType type = plumb_mlir_operand_type(op, 1);
    if (!plumb_mlir_tensor_copy(d, plumb_mlir_operand(d, op, 1), type, &copy) ||
        !plumb_mlir_buffer_open(d, copy, type, &t.base))
      return false;
    plumb_mlir_define_result(d, op, 0, copy.regs, copy.count);
  } else if (!open_base(d, op, 1, &t.base)) {
    return false;
  }
  if (!open_transfer(d, op, plumb_mlir_operand_type(op, 0), 2, &t)) return false;
  intptr_t next = 2 + (intptr_t)t.base.rank;
  plumb_mlir_run value = plumb_mlir_operand(d, op, 0), own = {NULL, 0};
  if (mlirOperationGetNumOperands(op) > next) own = plumb_mlir_operand(d, op, next);
  if ((mask && mask_count != t.mask_shape.count) || (own.regs && own.count != t.mask_shape.count))
    return plumb_mlir_reject(d, "a mask that does not fit");
  for (size_t i = 0; i < t.shape.count; i++) {
    plumb_reg guard = transfer_point(d, &t, i, own.regs, mask, at);
    store_guarded(d, &t.base, at, guard, value.regs + i * t.base.element.count);
  }
  return true;
}

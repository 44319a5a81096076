/* The vector dialect: making and rearranging vectors (VectorOps.td). A vector is a run of
 * registers, row-major, so that most of it only names registers. */
#include "ir/mlir/vector_internal.h"

#include <string.h>

bool plumb_vector_shape_of(plumb_mlir_decoder *d, MlirType type, plumb_vector_shape *out_shape) {
  *out_shape = (plumb_vector_shape){.count = 1};
  if (!mlirTypeIsAVector(type)) return true;
  out_shape->rank = (size_t)mlirShapedTypeGetRank(type);
  if (out_shape->rank > PLUMB_VECTOR_DIMS)
    return plumb_mlir_reject(d, "more than %d dimensions", PLUMB_VECTOR_DIMS);
  for (size_t i = 0; i < out_shape->rank; i++) {
    out_shape->dims[i] = mlirShapedTypeGetDimSize(type, (intptr_t)i);
    out_shape->count *= (size_t)out_shape->dims[i];
  }
  return true;
}

void plumb_vector_split(const plumb_vector_shape *shape, size_t index, int64_t *out_coords) {
  for (size_t i = shape->rank; i-- > 0;) {
    out_coords[i] = (int64_t)(index % (size_t)shape->dims[i]);
    index /= (size_t)shape->dims[i];
  }
}

size_t plumb_vector_join(const plumb_vector_shape *shape, const int64_t *coords) {
  size_t index = 0;
  for (size_t i = 0; i < shape->rank; i++)
    index = index * (size_t)shape->dims[i] + (size_t)coords[i];
  return index;
}

static bool operand_shape(plumb_mlir_decoder *d, MlirOperation op, intptr_t index,
                          plumb_vector_shape *out_shape) {
  return plumb_vector_shape_of(d, plumb_mlir_operand_type(op, index), out_shape);
}

static bool result_shape(plumb_mlir_decoder *d, MlirOperation op, plumb_vector_shape *out_shape) {
  return plumb_vector_shape_of(d, plumb_mlir_result_type(op, 0), out_shape);
}

/* --- the same registers --- */

static bool decode_same(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run run = plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op));
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

static bool decode_to_elements(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  for (size_t i = 0; i < run.count; i++) plumb_mlir_define_result1(d, op, (intptr_t)i, run.regs[i]);
  return true;
}

/* Trailing dimensions correspond; leading ones repeat, and so do unit ones. */
static bool decode_broadcast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_vector_shape from, to;
  if (!operand_shape(d, op, 0, &from) || !result_shape(d, op, &to)) return false;
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = plumb_vector_regs(d, to.count);
  for (size_t i = 0; i < to.count; i++) {
    int64_t coords[PLUMB_VECTOR_DIMS], source[PLUMB_VECTOR_DIMS];
    plumb_vector_split(&to, i, coords);
    for (size_t k = 0; k < from.rank; k++)
      source[k] = from.dims[k] == 1 ? 0 : coords[to.rank - from.rank + k];
    regs[i] = run.regs[plumb_vector_join(&from, source)];
  }
  plumb_mlir_define_result(d, op, 0, regs, to.count);
  return true;
}

static bool decode_transpose(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *permutation;
  size_t count;
  plumb_vector_shape from, to;
  if (!operand_shape(d, op, 0, &from) || !result_shape(d, op, &to)) return false;
  if (!plumb_mlir_attribute_ints(d, op, "permutation", &permutation, &count) || count != to.rank)
    return plumb_mlir_reject(d, "no permutation");
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = plumb_vector_regs(d, to.count);
  for (size_t i = 0; i < to.count; i++) {
    int64_t coords[PLUMB_VECTOR_DIMS], source[PLUMB_VECTOR_DIMS] = {0};
    plumb_vector_split(&to, i, coords);
    for (size_t k = 0; k < count; k++) source[permutation[k]] = coords[k];
    regs[i] = run.regs[plumb_vector_join(&from, source)];
  }
  plumb_mlir_define_result(d, op, 0, regs, to.count);
  return true;
}

/* Slices of dimension 0 of both operands, one after the other; -1 is poison: pinned to 0. */
static bool decode_shuffle(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *mask;
  size_t count;
  plumb_vector_shape shape;
  if (!operand_shape(d, op, 0, &shape)) return false;
  if (!plumb_mlir_attribute_ints(d, op, "mask", &mask, &count))
    return plumb_mlir_reject(d, "no mask");
  plumb_mlir_run run = plumb_mlir_operands(d, op, 0, 2);
  size_t width = shape.rank ? shape.count / (size_t)shape.dims[0] : 1;
  plumb_reg *regs = plumb_vector_regs(d, count * width);
  for (size_t i = 0; i < count; i++) {
    size_t from = mask[i] < 0 ? 0 : (size_t)mask[i];
    if ((from + 1) * width > run.count) return plumb_mlir_reject(d, "a mask out of range");
    memcpy(regs + i * width, run.regs + from * width, width * sizeof *regs);
  }
  plumb_mlir_define_result(d, op, 0, regs, count * width);
  return true;
}

static bool decode_interleave(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1);
  plumb_reg *regs = plumb_vector_regs(d, 2 * a.count);
  for (size_t i = 0; i < a.count; i++) {
    regs[2 * i] = a.regs[i];
    regs[2 * i + 1] = b.regs[i];
  }
  plumb_mlir_define_result(d, op, 0, regs, 2 * a.count);
  return true;
}

static bool decode_deinterleave(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0);
  for (size_t odd = 0; odd < 2; odd++) {
    plumb_reg *regs = plumb_vector_regs(d, a.count / 2);
    for (size_t i = 0; i < a.count / 2; i++) regs[i] = a.regs[2 * i + odd];
    plumb_mlir_define_result(d, op, (intptr_t)odd, regs, a.count / 2);
  }
  return true;
}

/* --- positions --- */

/* A position in the leading dimensions; dynamic elements are registers. */
typedef struct position {
  plumb_vector_shape prefix; /* the dimensions that it indexes */
  int64_t values[PLUMB_VECTOR_DIMS];
  plumb_reg regs[PLUMB_VECTOR_DIMS]; /* PLUMB_NO_REG: static */
  size_t width;                      /* elements of what it names */
  bool is_static;
} position;

static bool read_position(plumb_mlir_decoder *d, MlirOperation op, MlirType type, intptr_t next,
                          position *out) {
  const plumb_reg *regs;
  plumb_vector_shape whole;
  *out = (position){.is_static = true};
  if (!plumb_vector_shape_of(d, type, &whole) ||
      !plumb_mlir_mixed(d, op, "static_position", &next, &regs, &out->prefix.rank))
    return false;
  if (out->prefix.rank > whole.rank) return plumb_mlir_reject(d, "a position of a wrong rank");
  out->prefix.count = 1;
  for (size_t i = 0; i < out->prefix.rank; i++) {
    out->prefix.dims[i] = whole.dims[i];
    out->prefix.count *= (size_t)whole.dims[i];
    out->regs[i] = PLUMB_NO_REG;
    if (!plumb_mlir_reg_value(d, regs[i], &out->values[i])) {
      out->regs[i] = regs[i];
      out->is_static = false;
    } else if (out->values[i] < 0 || out->values[i] >= whole.dims[i]) {
      /* -1 is poison (VectorOps.td, extract): pinned to 0; beyond it is undefined. */
      out->values[i] = 0;
    }
  }
  out->width = out->prefix.count ? whole.count / out->prefix.count : 0;
  return true;
}

/* i1: the position is `index`; PLUMB_NO_REG: it never is. */
static plumb_reg position_is(plumb_mlir_decoder *d, const position *p, size_t index) {
  int64_t coords[PLUMB_VECTOR_DIMS];
  plumb_reg all = PLUMB_NO_REG;
  plumb_vector_split(&p->prefix, index, coords);
  for (size_t i = 0; i < p->prefix.rank; i++) {
    if (p->regs[i] == PLUMB_NO_REG) {
      if (p->values[i] != coords[i]) return PLUMB_NO_REG;
      continue;
    }
    plumb_reg same =
        plumb_build_cmp(&d->b, PLUMB_CMP_EQ, PLUMB_I64, p->regs[i], plumb_mlir_i64(d, coords[i]));
    all = all == PLUMB_NO_REG ? same : plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1, all, same);
  }
  return all;
}

static bool decode_extract(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  position p;
  plumb_mlir_flat flat;
  if (!read_position(d, op, plumb_mlir_operand_type(op, 0), 1, &p) ||
      !plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &flat))
    return false;
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  if (p.is_static) {
    plumb_mlir_define_result(d, op, 0, run.regs + plumb_vector_join(&p.prefix, p.values) * p.width,
                             p.width);
    return true;
  }
  plumb_reg *regs = plumb_vector_regs(d, p.width);
  memcpy(regs, run.regs, p.width * sizeof *regs); /* out of range is poison: pinned */
  for (size_t c = 0; c < p.prefix.count; c++) {
    plumb_reg here = position_is(d, &p, c);
    if (here == PLUMB_NO_REG) continue;
    for (size_t j = 0; j < p.width; j++)
      regs[j] = plumb_build3(&d->b, PLUMB_OP_SELECT, flat.types[j], here, run.regs[c * p.width + j],
                             regs[j]);
  }
  plumb_mlir_define_result(d, op, 0, regs, p.width);
  return true;
}

static bool decode_insert(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  position p;
  plumb_mlir_flat flat;
  if (!read_position(d, op, plumb_mlir_operand_type(op, 1), 2, &p) ||
      !plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &flat))
    return false;
  plumb_mlir_run part = plumb_mlir_operand(d, op, 0), whole = plumb_mlir_operand(d, op, 1);
  plumb_reg *regs = plumb_vector_regs(d, whole.count);
  memcpy(regs, whole.regs, whole.count * sizeof *regs);
  if (part.count != p.width) return plumb_mlir_reject(d, "a value that does not fit");
  size_t at = p.is_static ? plumb_vector_join(&p.prefix, p.values) : 0;
  for (size_t c = 0; c < p.prefix.count; c++) {
    if (p.is_static && c != at) continue;
    plumb_reg here = p.is_static ? PLUMB_NO_REG : position_is(d, &p, c);
    if (!p.is_static && here == PLUMB_NO_REG) continue;
    for (size_t j = 0; j < p.width; j++) {
      plumb_reg *to = &regs[c * p.width + j];
      *to = p.is_static
                ? part.regs[j]
                : plumb_build3(&d->b, PLUMB_OP_SELECT, flat.types[0], here, part.regs[j], *to);
    }
  }
  plumb_mlir_define_result(d, op, 0, regs, whole.count);
  return true;
}

/* Offsets and strides apply to the leading dimensions; the rest is taken whole. */
static bool strided(plumb_mlir_decoder *d, MlirOperation op, const plumb_vector_shape *part,
                    const plumb_vector_shape *whole, size_t skip, size_t index, size_t *out_at) {
  const int64_t *offsets, *strides;
  size_t offset_count, stride_count;
  int64_t coords[PLUMB_VECTOR_DIMS], at[PLUMB_VECTOR_DIMS] = {0};
  if (!plumb_mlir_attribute_ints(d, op, "offsets", &offsets, &offset_count) ||
      !plumb_mlir_attribute_ints(d, op, "strides", &strides, &stride_count))
    return plumb_mlir_reject(d, "no offsets or strides");
  plumb_vector_split(part, index, coords);
  for (size_t i = 0; i < whole->rank; i++) {
    int64_t c = i >= skip ? coords[i - skip] : 0;
    int64_t stride = i >= skip && i - skip < stride_count ? strides[i - skip] : 1;
    at[i] = (i < offset_count ? offsets[i] : 0) + c * stride;
    if (at[i] < 0 || at[i] >= whole->dims[i]) return plumb_mlir_reject(d, "a slice out of range");
  }
  *out_at = plumb_vector_join(whole, at);
  return true;
}

static bool decode_extract_strided(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  (void)row;
  plumb_vector_shape whole, part;
  if (!operand_shape(d, op, 0, &whole) || !result_shape(d, op, &part)) return false;
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = plumb_vector_regs(d, part.count);
  for (size_t i = 0; i < part.count; i++) {
    size_t at;
    if (!strided(d, op, &part, &whole, 0, i, &at)) return false;
    regs[i] = run.regs[at];
  }
  plumb_mlir_define_result(d, op, 0, regs, part.count);
  return true;
}

static bool decode_insert_strided(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)row;
  plumb_vector_shape whole, part;
  if (!operand_shape(d, op, 0, &part) || !operand_shape(d, op, 1, &whole)) return false;
  plumb_mlir_run value = plumb_mlir_operand(d, op, 0), run = plumb_mlir_operand(d, op, 1);
  plumb_reg *regs = plumb_vector_regs(d, whole.count);
  memcpy(regs, run.regs, whole.count * sizeof *regs);
  for (size_t i = 0; i < part.count; i++) {
    size_t at;
    if (!strided(d, op, &part, &whole, whole.rank - part.rank, i, &at)) return false;
    regs[at] = value.regs[i];
  }
  plumb_mlir_define_result(d, op, 0, regs, whole.count);
  return true;
}

/* --- masks and numbers --- */

static bool decode_step(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_vector_shape shape;
  if (!result_shape(d, op, &shape)) return false;
  plumb_reg *regs = plumb_vector_regs(d, shape.count);
  for (size_t i = 0; i < shape.count; i++) regs[i] = plumb_mlir_i64(d, (int64_t)i);
  plumb_mlir_define_result(d, op, 0, regs, shape.count);
  return true;
}

static bool decode_constant_mask(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  const int64_t *sizes;
  size_t count;
  plumb_vector_shape shape;
  if (!result_shape(d, op, &shape)) return false;
  if (!plumb_mlir_attribute_ints(d, op, "mask_dim_sizes", &sizes, &count))
    return plumb_mlir_reject(d, "no sizes");
  plumb_reg *regs = plumb_vector_regs(d, shape.count);
  for (size_t i = 0; i < shape.count; i++) {
    int64_t coords[PLUMB_VECTOR_DIMS];
    plumb_vector_split(&shape, i, coords);
    /* Of rank 0 the one size is 0 or 1. */
    bool set = shape.rank || (count == 1 && sizes[0] == 1);
    for (size_t k = 0; k < shape.rank && k < count; k++) set &= coords[k] < sizes[k];
    regs[i] = plumb_constant(d->program, PLUMB_I1, set);
  }
  plumb_mlir_define_result(d, op, 0, regs, shape.count);
  return true;
}

static bool decode_create_mask(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_vector_shape shape;
  if (!result_shape(d, op, &shape)) return false;
  plumb_reg *regs = plumb_vector_regs(d, shape.count);
  for (size_t i = 0; i < shape.count; i++) {
    int64_t coords[PLUMB_VECTOR_DIMS] = {0};
    plumb_vector_split(&shape, i, coords);
    regs[i] = plumb_constant(d->program, PLUMB_I1, 1);
    for (intptr_t k = 0; k < mlirOperationGetNumOperands(op); k++) {
      plumb_reg below =
          plumb_build_cmp(&d->b, PLUMB_CMP_LT_S, PLUMB_I64, plumb_mlir_i64(d, coords[k]),
                          plumb_mlir_operand1(d, op, k));
      regs[i] = k ? plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1, regs[i], below) : below;
    }
  }
  plumb_mlir_define_result(d, op, 0, regs, shape.count);
  return true;
}

static bool decode_fma(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_flat flat;
  if (!plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &flat)) return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1),
                 c = plumb_mlir_operand(d, op, 2);
  plumb_reg *regs = plumb_vector_regs(d, flat.count);
  for (size_t i = 0; i < flat.count; i++)
    regs[i] = plumb_build3(&d->b, PLUMB_OP_FMA, flat.types[i], a.regs[i], b.regs[i], c.regs[i]);
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

/* --- the operations that a mask may change --- */

typedef struct maskable_row {
  const char *name;
  plumb_vector_maskable *decode;
} maskable_row;

static const maskable_row maskables[] = {
    {"vector.reduction", plumb_vector_reduction},
    {"vector.multi_reduction", plumb_vector_multi_reduction},
    {"vector.contract", plumb_vector_contract},
    {"vector.outerproduct", plumb_vector_outerproduct},
    {"vector.transfer_read", plumb_vector_transfer_read},
    {"vector.transfer_write", plumb_vector_transfer_write},
    {"vector.gather", plumb_vector_gather},
    {"vector.scatter", plumb_vector_scatter},
};
enum { MASKABLES = sizeof maskables / sizeof *maskables };

static plumb_vector_maskable *find_maskable(MlirOperation op) {
  for (size_t i = 0; i < MASKABLES; i++)
    if (plumb_mlir_name_is(op, maskables[i].name)) return maskables[i].decode;
  return NULL;
}

static bool decode_maskable(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  return find_maskable(op)(d, op, NULL, 0, NULL);
}

/* vector.mask: the one operation inside works on the lanes that are set; what the others
 * hold is the passthru, or the operation's neutral element (VectorOps.td, mask). */
bool plumb_vector_decode_mask(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirBlock body = plumb_mlir_body(op, 0);
  if (mlirBlockIsNull(body)) return plumb_mlir_reject(d, "no operation inside");
  MlirOperation inner = mlirBlockGetFirstOperation(body), last = plumb_mlir_terminator(body);
  if (!mlirOperationEqual(inner, last)) {
    plumb_vector_maskable *decode = find_maskable(inner);
    if (!decode || !mlirOperationEqual(mlirOperationGetNextInBlock(inner), last))
      return plumb_mlir_reject(d, "%s under a mask", plumb_mlir_name(d, inner));
    plumb_mlir_run mask = plumb_mlir_operand(d, op, 0);
    plumb_mlir_run passthru = {NULL, 0};
    if (mlirOperationGetNumOperands(op) > 1) passthru = plumb_mlir_operand(d, op, 1);
    if (!decode(d, inner, mask.regs, mask.count, passthru.regs)) return false;
  }
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    plumb_mlir_run run = plumb_mlir_operand(d, last, i);
    plumb_mlir_define_result(d, op, i, run.regs, run.count);
  }
  return true;
}

const plumb_mlir_op plumb_mlir_ops_vector[] = {
    {"vector.from_elements", decode_same, 0},
    {"vector.shape_cast", decode_same, 0},
    {"vector.to_elements", decode_to_elements, 0},
    {"vector.broadcast", decode_broadcast, 0},
    {"vector.transpose", decode_transpose, 0},
    {"vector.shuffle", decode_shuffle, 0},
    {"vector.interleave", decode_interleave, 0},
    {"vector.deinterleave", decode_deinterleave, 0},
    {"vector.bitcast", plumb_vector_decode_bitcast, 0},
    {"vector.type_cast", plumb_vector_decode_type_cast, 0},
    {"vector.extract", decode_extract, 0},
    {"vector.insert", decode_insert, 0},
    {"vector.extract_strided_slice", decode_extract_strided, 0},
    {"vector.insert_strided_slice", decode_insert_strided, 0},
    {"vector.step", decode_step, 0},
    {"vector.constant_mask", decode_constant_mask, 0},
    {"vector.create_mask", decode_create_mask, 0},
    {"vector.fma", decode_fma, 0},
    {"vector.print", plumb_vector_decode_print, 0},
    {"vector.load", plumb_vector_decode_load, 0},
    {"vector.store", plumb_vector_decode_store, 0},
    {"vector.maskedload", plumb_vector_decode_masked, 0},
    {"vector.maskedstore", plumb_vector_decode_masked, 1},
    {"vector.expandload", plumb_vector_decode_packed, 0},
    {"vector.compressstore", plumb_vector_decode_packed, 1},
    {"vector.mask", plumb_vector_decode_mask, 0},
    {"vector.reduction", decode_maskable, 0},
    {"vector.multi_reduction", decode_maskable, 0},
    {"vector.contract", decode_maskable, 0},
    {"vector.outerproduct", decode_maskable, 0},
    {"vector.transfer_read", decode_maskable, 0},
    {"vector.transfer_write", decode_maskable, 0},
    {"vector.gather", decode_maskable, 0},
    {"vector.scatter", decode_maskable, 0},
    {0}};

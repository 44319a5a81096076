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

static plumb_reg *new_regs(plumb_mlir_decoder *d, size_t count) {
  return PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1);
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
  plumb_reg *regs = new_regs(d, to.count);
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
  plumb_reg *regs = new_regs(d, to.count);
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
  plumb_reg *regs = new_regs(d, count * width);
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
  plumb_reg *regs = new_regs(d, 2 * a.count);
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
    plumb_reg *regs = new_regs(d, a.count / 2);
    for (size_t i = 0; i < a.count / 2; i++) regs[i] = a.regs[2 * i + odd];
    plumb_mlir_define_result(d, op, (intptr_t)odd, regs, a.count / 2);
  }
  return true;
}

/* A register's bits as i64. */
static plumb_reg bits_of(plumb_mlir_decoder *d, plumb_dtype type, plumb_reg r) {
  static const plumb_dtype words[] = {
      [1] = PLUMB_I8, [2] = PLUMB_I16, [4] = PLUMB_I32, [8] = PLUMB_I64};
  if (type == PLUMB_I1) {
    plumb_reg word = plumb_reg_create(d->b.function, PLUMB_I64);
    plumb_build(&d->b, PLUMB_OP_SELECT, PLUMB_I64, &word, 1,
                (plumb_reg[]){r, plumb_mlir_i64(d, 1), plumb_mlir_i64(d, 0)}, 3);
    return word;
  }
  plumb_dtype word = words[plumb_dtype_bytes(type)];
  if (word != type) r = plumb_build1(&d->b, PLUMB_OP_MOV, word, r);
  return word == PLUMB_I64 ? r : plumb_build_cvt(&d->b, PLUMB_I64, word, r, 0, PLUMB_RN);
}

/* The other way round: the low bits of an i64. */
static plumb_reg of_bits(plumb_mlir_decoder *d, plumb_dtype type, plumb_reg bits) {
  static const plumb_dtype words[] = {
      [1] = PLUMB_I8, [2] = PLUMB_I16, [4] = PLUMB_I32, [8] = PLUMB_I64};
  if (type == PLUMB_I1)
    return plumb_build_cmp(&d->b, PLUMB_CMP_NE, PLUMB_I64, bits, plumb_mlir_i64(d, 0));
  plumb_dtype word = words[plumb_dtype_bytes(type)];
  if (word != PLUMB_I64) bits = plumb_build_cvt(&d->b, word, PLUMB_I64, bits, 0, PLUMB_RN);
  return word == type ? bits : plumb_build1(&d->b, PLUMB_OP_MOV, type, bits);
}

/* Elements that do not fill what holds them: the bits of all in order, the first in the lowest (as
 * LLVM's bitcast of vectors has it on a little-endian machine). */
static bool cast_bits(plumb_mlir_decoder *d, const plumb_mlir_flat *from, const plumb_reg *in,
                      const plumb_mlir_flat *to, plumb_reg *out) {
  size_t old = (size_t)from->bits, fresh = (size_t)to->bits;
  if (old > 64 || fresh > 64 || old * from->count != fresh * to->count)
    return plumb_mlir_reject(d, "elements of more than 64 bits");
  for (size_t k = 0; k < to->count; k++) {
    plumb_reg all = PLUMB_NO_REG;
    for (size_t at = k * fresh; at < (k + 1) * fresh;) {
      size_t i = at / old, end = (i + 1) * old < (k + 1) * fresh ? (i + 1) * old : (k + 1) * fresh;
      uint64_t mask = end - at == 64 ? UINT64_MAX : (1ull << (end - at)) - 1;
      plumb_reg part =
          plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I64, bits_of(d, from->types[i], in[i]),
                       plumb_mlir_i64(d, (int64_t)(at - i * old)));
      part = plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I64, part, plumb_mlir_i64(d, (int64_t)mask));
      part = plumb_build2(&d->b, PLUMB_OP_SHL, PLUMB_I64, part,
                          plumb_mlir_i64(d, (int64_t)(at - k * fresh)));
      all = all == PLUMB_NO_REG ? part : plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I64, all, part);
      at = end;
    }
    out[k] = of_bits(d, to->types[k], all);
  }
  return true;
}

/* The elements' bytes in order, read as elements of another size: through the frame. */
static bool decode_bitcast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_flat from, to;
  if (!plumb_mlir_flatten(d, plumb_mlir_operand_type(op, 0), &from) ||
      !plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &to))
    return false;
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = new_regs(d, to.count);
  bool whole = from.bits == 8 * (int)plumb_dtype_bytes(from.types[0]) &&
               to.bits == 8 * (int)plumb_dtype_bytes(to.types[0]);
  if (!whole) {
    if (!cast_bits(d, &from, run.regs, &to, regs)) return false;
  } else if (from.count == to.count) {
    for (size_t i = 0; i < to.count; i++)
      regs[i] = plumb_build1(&d->b, PLUMB_OP_MOV, to.types[i], run.regs[i]);
  } else {
    unsigned in = plumb_dtype_bytes(from.types[0]), out = plumb_dtype_bytes(to.types[0]);
    plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
    plumb_build(&d->b, PLUMB_OP_FRAME, PLUMB_I64, &address, 1, NULL, 0)->imm =
        plumb_frame_reserve(d->b.function, from.count * in, 16);
    for (size_t i = 0; i < from.count; i++)
      plumb_build_store(&d->b, from.types[i], PLUMB_SPACE_LOCAL, address, (int64_t)(i * in),
                        run.regs[i]);
    for (size_t i = 0; i < to.count; i++)
      regs[i] =
          plumb_build_load(&d->b, to.types[i], PLUMB_SPACE_LOCAL, address, (int64_t)(i * out));
  }
  plumb_mlir_define_result(d, op, 0, regs, to.count);
  return true;
}

/* vector.type_cast: the trailing dimensions of a contiguous memref as a vector, or the leading
 * ones of its vectors as dimensions. The bytes stay: both types must agree on where each
 * element lies. */
static bool decode_type_cast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType type = plumb_mlir_result_type(op, 0);
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_mlir_buffer from;
  plumb_mlir_element to;
  if (!plumb_mlir_buffer_open(d, run, plumb_mlir_operand_type(op, 0), &from) ||
      !plumb_mlir_element_layout(d, type, &to))
    return false;
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  bool rows_agree = from.element.row == to.row && from.element.row_bytes == to.row_bytes;
  bool packed =
      to.row_bytes == (int64_t)(to.row * plumb_dtype_bytes(to.dtype)) &&
      from.element.row_bytes == (int64_t)(from.element.row * plumb_dtype_bytes(from.element.dtype));
  if (from.element.dtype != to.dtype || (!rows_agree && !packed))
    return plumb_mlir_reject(d, "elements that would lie elsewhere");
  plumb_reg *zeros = new_regs(d, from.rank), *sizes = new_regs(d, rank);
  for (size_t i = 0; i < from.rank; i++) zeros[i] = plumb_mlir_i64(d, 0);
  for (size_t i = 0; i < rank; i++) {
    if (mlirShapedTypeIsDynamicDim(type, (intptr_t)i))
      return plumb_mlir_reject(d, "a dynamic dimension");
    sizes[i] = plumb_mlir_i64(d, mlirShapedTypeGetDimSize(type, (intptr_t)i));
  }
  plumb_mlir_run out = plumb_mlir_contiguous(d, plumb_mlir_address(d, &from, zeros), sizes, rank);
  plumb_reg *regs = new_regs(d, out.count);
  memcpy(regs, out.regs, out.count * sizeof *regs);
  regs[0] = run.regs[0]; /* what is freed */
  plumb_mlir_define_result(d, op, 0, regs, out.count);
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
  plumb_reg *regs = new_regs(d, p.width);
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
  plumb_reg *regs = new_regs(d, whole.count);
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
  plumb_reg *regs = new_regs(d, part.count);
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
  plumb_reg *regs = new_regs(d, whole.count);
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
  plumb_reg *regs = new_regs(d, shape.count);
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
  plumb_reg *regs = new_regs(d, shape.count);
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
  plumb_reg *regs = new_regs(d, shape.count);
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
  plumb_reg *regs = new_regs(d, flat.count);
  for (size_t i = 0; i < flat.count; i++)
    regs[i] = plumb_build3(&d->b, PLUMB_OP_FMA, flat.types[i], a.regs[i], b.regs[i], c.regs[i]);
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

/* The conversion of one element, as MLIR's runner library prints it. */
static const char *conversion_of(MlirType element) {
  if (mlirTypeIsAFloat(element)) return "%g";
  bool is_bit = mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) == 1;
  bool is_unsigned = mlirTypeIsAIndex(element) || is_bit ||
                     (mlirTypeIsAInteger(element) && mlirIntegerTypeIsUnsigned(element));
  return is_unsigned ? "%u" : "%d";
}

static void append_nested(plumb_text *text, const plumb_vector_shape *shape, size_t dimension,
                          const char *conversion) {
  if (dimension == shape->rank) {
    plumb_text_printf(text, "%s", conversion);
    return;
  }
  for (int64_t i = 0; i < shape->dims[dimension]; i++) {
    plumb_text_printf(text, "%s", i ? ", " : "( ");
    append_nested(text, shape, dimension + 1, conversion);
  }
  plumb_text_printf(text, " )");
}

/* vector.print: a value or a text, then what `punctuation` names (a new line, unless it says
 * otherwise). */
static bool decode_print(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_text format = plumb_text_create(d->arena);
  plumb_mlir_run values = plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op));
  MlirAttribute attribute;
  if (plumb_mlir_attribute(op, "stringLiteral", &attribute)) {
    for (const char *c = plumb_mlir_symbol_text(d, attribute); *c; c++)
      plumb_text_printf(&format, *c == '%' ? "%%%%" : "%c", *c);
  } else if (values.count) {
    MlirType type = plumb_mlir_operand_type(op, 0), element = plumb_mlir_element_type(type);
    plumb_vector_shape shape;
    if (!plumb_vector_shape_of(d, type, &shape)) return false;
    if (mlirTypeIsAVector(type) && !shape.rank)
      plumb_text_printf(&format, "( %s )", conversion_of(element));
    else
      append_nested(&format, &shape, 0, conversion_of(element));
    plumb_dtype stored;
    int bits;
    if (strcmp(conversion_of(element), "%d") == 0 &&
        plumb_mlir_scalar_type(element, &stored, &bits)) {
      plumb_reg *extended = new_regs(d, values.count);
      for (size_t i = 0; i < values.count; i++)
        extended[i] = plumb_mlir_extend(d, stored, bits, values.regs[i]);
      values.regs = extended;
    }
  }
  const char *mark = plumb_mlir_attribute_text(d, op, "punctuation");
  plumb_text_printf(&format, "%s",
                    strstr(mark, "newline") ? "\n"
                    : strstr(mark, "comma") ? ", "
                    : strstr(mark, "open")  ? "( "
                    : strstr(mark, "close") ? " )"
                                            : "");
  plumb_build(&d->b, PLUMB_OP_PRINT, PLUMB_I1, NULL, 0, values.regs, values.count)->imm =
      plumb_string_add(d->program, format.data ? format.data : "");
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
    {"vector.bitcast", decode_bitcast, 0},
    {"vector.type_cast", decode_type_cast, 0},
    {"vector.extract", decode_extract, 0},
    {"vector.insert", decode_insert, 0},
    {"vector.extract_strided_slice", decode_extract_strided, 0},
    {"vector.insert_strided_slice", decode_insert_strided, 0},
    {"vector.step", decode_step, 0},
    {"vector.constant_mask", decode_constant_mask, 0},
    {"vector.create_mask", decode_create_mask, 0},
    {"vector.fma", decode_fma, 0},
    {"vector.print", decode_print, 0},
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

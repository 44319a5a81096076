/* The tensor dialect (TensorOps.td). A tensor is a contiguous row-major buffer that nobody
 * else writes: whatever changes a tensor writes a fresh one. */
#include <string.h>

#include "ir/mlir/decode_internal.h"

enum { MAX_RANK = PLUMB_MLIR_LANE_DIMS };

static bool open_operand(plumb_mlir_decoder *d, MlirOperation op, intptr_t index,
                         plumb_mlir_buffer *out_buffer) {
  if (!plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, index),
                              plumb_mlir_operand_type(op, index), out_buffer))
    return false;
  return out_buffer->rank <= MAX_RANK || plumb_mlir_reject(d, "more than %d dimensions", MAX_RANK);
}

/* A fresh tensor of result 0 with these sizes (NULL: all static), bound and opened. */
static bool open_result(plumb_mlir_decoder *d, MlirOperation op, const plumb_reg *sizes,
                        plumb_mlir_buffer *out_buffer) {
  plumb_mlir_run run;
  MlirType type = plumb_mlir_result_type(op, 0);
  plumb_reg unknown[MAX_RANK];
  for (size_t i = 0; i < MAX_RANK; i++) unknown[i] = PLUMB_NO_REG;
  if (!plumb_mlir_allocate(d, type, sizes ? sizes : unknown, &run)) return false;
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return plumb_mlir_buffer_open(d, run, type, out_buffer);
}

/* Sizes of result 0: the static ones, and one operand for each dynamic one from `next` on. */
static bool result_sizes(plumb_mlir_decoder *d, MlirOperation op, intptr_t next,
                         plumb_reg *out_sizes) {
  MlirType type = plumb_mlir_result_type(op, 0);
  int64_t rank = mlirShapedTypeGetRank(type);
  if (rank > MAX_RANK) return plumb_mlir_reject(d, "more than %d dimensions", MAX_RANK);
  for (intptr_t i = 0; i < rank; i++) {
    if (!mlirShapedTypeIsDynamicDim(type, i)) {
      out_sizes[i] = plumb_mlir_i64(d, mlirShapedTypeGetDimSize(type, i));
    } else {
      if (next >= mlirOperationGetNumOperands(op))
        return plumb_mlir_reject(d, "no operand for a dynamic size");
      out_sizes[i] = plumb_mlir_operand1(d, op, next++);
    }
  }
  return true;
}

/* --- one element, sizes --- */

static bool decode_empty(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_reg sizes[MAX_RANK];
  plumb_mlir_buffer out;
  return result_sizes(d, op, 0, sizes) && open_result(d, op, sizes, &out);
}

static size_t read_indices(plumb_mlir_decoder *d, MlirOperation op, intptr_t first,
                           plumb_reg *out_indices) {
  size_t count = 0;
  for (intptr_t i = first; i < mlirOperationGetNumOperands(op) && count < MAX_RANK; i++)
    out_indices[count++] = plumb_mlir_operand1(d, op, i);
  return count;
}

static bool decode_extract(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer in;
  plumb_reg indices[MAX_RANK];
  if (!open_operand(d, op, 0, &in)) return false;
  if (read_indices(d, op, 1, indices) != in.rank) return plumb_mlir_reject(d, "too few indices");
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, in.element.count);
  plumb_mlir_load(d, &in, indices, regs);
  plumb_mlir_define_result(d, op, 0, regs, in.element.count);
  return true;
}

static bool decode_insert(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run copy;
  plumb_mlir_buffer out;
  plumb_reg indices[MAX_RANK];
  MlirType type = plumb_mlir_result_type(op, 0);
  if (!plumb_mlir_tensor_copy(d, plumb_mlir_operand(d, op, 1), type, &copy) ||
      !plumb_mlir_buffer_open(d, copy, type, &out))
    return false;
  if (read_indices(d, op, 2, indices) != out.rank) return plumb_mlir_reject(d, "too few indices");
  plumb_mlir_store(d, &out, indices, plumb_mlir_operand(d, op, 0).regs);
  plumb_mlir_define_result(d, op, 0, copy.regs, copy.count);
  return true;
}

static bool decode_dim(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer in;
  int64_t constant;
  if (!open_operand(d, op, 0, &in)) return false;
  plumb_reg index = plumb_mlir_operand1(d, op, 1);
  if (plumb_mlir_reg_value(d, index, &constant)) {
    if (constant < 0 || (size_t)constant >= in.rank)
      return plumb_mlir_reject(d, "dimension %lld of a tensor of rank %zu", (long long)constant,
                               in.rank);
    plumb_mlir_define_result1(d, op, 0, in.sizes[constant]);
    return true;
  }
  /* Out of range is undefined (TensorOps.td, dim): pinned to 0. */
  plumb_reg size = plumb_mlir_i64(d, 0);
  for (size_t i = 0; i < in.rank; i++)
    size = plumb_build3(
        &d->b, PLUMB_OP_SELECT, PLUMB_I64,
        plumb_build_cmp(&d->b, PLUMB_CMP_EQ, PLUMB_I64, index, plumb_mlir_i64(d, (int64_t)i)),
        in.sizes[i], size);
  plumb_mlir_define_result1(d, op, 0, size);
  return true;
}

static bool decode_rank(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType type = plumb_mlir_operand_type(op, 0);
  if (!mlirShapedTypeHasRank(type)) return plumb_mlir_reject(d, "an unranked tensor");
  plumb_mlir_define_result1(d, op, 0, plumb_mlir_i64(d, mlirShapedTypeGetRank(type)));
  return true;
}

/* The same buffer seen with another type; tensors are never written, so no copy. */
static bool decode_cast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  if (!mlirTypeIsARankedTensor(plumb_mlir_operand_type(op, 0)) ||
      !mlirTypeIsARankedTensor(plumb_mlir_result_type(op, 0)))
    return plumb_mlir_reject(d, "an unranked tensor");
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

static bool decode_bitcast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_element from, to;
  if (!plumb_mlir_element_layout(d, plumb_mlir_operand_type(op, 0), &from) ||
      !plumb_mlir_element_layout(d, plumb_mlir_result_type(op, 0), &to))
    return false;
  if (from.bytes != to.bytes) return plumb_mlir_reject(d, "elements of different sizes");
  return decode_cast(d, op, row);
}

/* --- whole tensors --- */

static bool decode_from_elements(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer out;
  if (!open_result(d, op, NULL, &out)) return false;
  MlirType type = plumb_mlir_result_type(op, 0);
  for (intptr_t n = 0; n < mlirOperationGetNumOperands(op); n++) {
    plumb_reg indices[MAX_RANK];
    intptr_t rest = n;
    for (size_t i = out.rank; i-- > 0;) {
      int64_t size = mlirShapedTypeGetDimSize(type, (intptr_t)i);
      indices[i] = plumb_mlir_i64(d, rest % size);
      rest /= size;
    }
    plumb_mlir_store(d, &out, indices, plumb_mlir_operand(d, op, n).regs);
  }
  return true;
}

static bool decode_splat(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_reg sizes[MAX_RANK], ids[MAX_RANK];
  plumb_mlir_buffer out;
  if (!result_sizes(d, op, 1, sizes) || !open_result(d, op, sizes, &out)) return false;
  plumb_mlir_lanes lanes;
  plumb_mlir_lanes_begin(d, &lanes, "splat", out.rank, out.sizes, ids);
  plumb_mlir_buffer inner = plumb_mlir_capture_buffer(d, &out);
  plumb_mlir_store(d, &inner, ids, plumb_mlir_operand(d, op, 0).regs);
  plumb_mlir_lanes_end(d, &lanes);
  return true;
}

/* Runs the region, whose arguments are `indices`; the yielded element. */
static plumb_mlir_run yield_at(plumb_mlir_decoder *d, MlirBlock body, const plumb_reg *indices) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); i++)
    plumb_mlir_bind_argument(d, body, i, &indices[i], 1);
  plumb_mlir_inline_block(d, body);
  return plumb_mlir_operand(d, plumb_mlir_terminator(body), 0);
}

static bool decode_generate(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_reg sizes[MAX_RANK], ids[MAX_RANK];
  plumb_mlir_buffer out;
  MlirBlock body = plumb_mlir_body(op, 0);
  if (!result_sizes(d, op, 0, sizes) || !open_result(d, op, sizes, &out)) return false;
  plumb_mlir_lanes lanes;
  plumb_mlir_lanes_begin(d, &lanes, "generate", out.rank, out.sizes, ids);
  plumb_mlir_buffer inner = plumb_mlir_capture_buffer(d, &out);
  plumb_mlir_store(d, &inner, ids, yield_at(d, body, ids).regs);
  plumb_mlir_lanes_end(d, &lanes);
  return true;
}

/* --- slices --- */

/* A part of a buffer: its own sizes, offsets and strides in elements of the whole. */
typedef struct slice {
  const plumb_reg *offsets, *sizes, *strides;
  size_t rank;
} slice;

static bool read_slice(plumb_mlir_decoder *d, MlirOperation op, intptr_t next, size_t rank,
                       slice *out) {
  size_t a, b, c;
  if (!plumb_mlir_mixed(d, op, "static_offsets", &next, &out->offsets, &a) ||
      !plumb_mlir_mixed(d, op, "static_sizes", &next, &out->sizes, &b) ||
      !plumb_mlir_mixed(d, op, "static_strides", &next, &out->strides, &c))
    return false;
  out->rank = a;
  if (a != b || a != c || a != rank)
    return plumb_mlir_reject(d, "offsets, sizes and strides that do not fit the tensor");
  return true;
}

/* The slice as a buffer over the whole's memory. */
static plumb_mlir_buffer view_of(plumb_mlir_decoder *d, const plumb_mlir_buffer *whole,
                                 const slice *part) {
  plumb_mlir_buffer view = *whole;
  plumb_reg *strides = PLUMB_NEW_ARRAY(d->arena, plumb_reg, part->rank + 1);
  for (size_t i = 0; i < part->rank; i++) {
    strides[i] = plumb_mlir_mul(d, whole->strides[i], part->strides[i]);
    view.offset =
        plumb_mlir_add(d, view.offset, plumb_mlir_mul(d, whole->strides[i], part->offsets[i]));
  }
  view.contiguous = false;
  view.sizes = part->sizes;
  view.strides = strides;
  return view;
}

/* Which dimensions of a slice a rank-reduced type keeps: leaves out unit sizes, as many as
 * needed, so that the kept ones match the type (rankReducing, TensorOps.td). */
static bool kept_dims(plumb_mlir_decoder *d, MlirType type, const slice *part, bool *out_kept) {
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(type), at = 0;
  for (size_t i = 0; i < part->rank; i++) {
    int64_t size;
    bool is_static = plumb_mlir_reg_value(d, part->sizes[i], &size);
    size_t left = part->rank - i, needed = (size_t)(rank - at);
    bool matches = at < rank && (mlirShapedTypeIsDynamicDim(type, at)
                                     ? true
                                     : is_static && mlirShapedTypeGetDimSize(type, at) == size);
    bool drop = is_static && size == 1 && left > needed &&
                !(matches && at < rank && !mlirShapedTypeIsDynamicDim(type, at) &&
                  mlirShapedTypeGetDimSize(type, at) == 1);
    out_kept[i] = !drop;
    if (!drop) {
      if (!matches && !mlirShapedTypeIsDynamicDim(type, at < rank ? at : 0))
        return plumb_mlir_reject(d, "a rank-reduced type whose dimensions are unclear");
      at++;
    }
  }
  return at == rank || plumb_mlir_reject(d, "a rank-reduced type whose dimensions are unclear");
}

/* The buffer without its dropped (unit) dimensions. */
static plumb_mlir_buffer reduce_rank(plumb_mlir_decoder *d, const plumb_mlir_buffer *from,
                                     const bool *kept) {
  plumb_mlir_buffer out = *from;
  plumb_reg *sizes = PLUMB_NEW_ARRAY(d->arena, plumb_reg, from->rank + 1);
  plumb_reg *strides = PLUMB_NEW_ARRAY(d->arena, plumb_reg, from->rank + 1);
  out.rank = 0;
  for (size_t i = 0; i < from->rank; i++) {
    if (!kept[i]) continue;
    sizes[out.rank] = from->sizes[i];
    strides[out.rank++] = from->strides[i];
  }
  out.sizes = sizes;
  out.strides = strides;
  return out;
}

static bool decode_extract_slice(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer in, out;
  slice part;
  bool kept[MAX_RANK];
  if (!open_operand(d, op, 0, &in) || !read_slice(d, op, 1, in.rank, &part) ||
      !kept_dims(d, plumb_mlir_result_type(op, 0), &part, kept))
    return false;
  plumb_mlir_buffer view = view_of(d, &in, &part);
  plumb_mlir_buffer reduced = reduce_rank(d, &view, kept);
  if (!open_result(d, op, reduced.sizes, &out)) return false;
  plumb_mlir_buffer_copy(d, &reduced, &out);
  return true;
}

/* Writes operand 0 into the slice of `whole`. */
static bool write_slice(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_buffer *whole) {
  plumb_mlir_buffer in;
  slice part;
  bool kept[MAX_RANK];
  if (!open_operand(d, op, 0, &in) || !read_slice(d, op, 2, whole->rank, &part) ||
      !kept_dims(d, plumb_mlir_operand_type(op, 0), &part, kept))
    return false;
  plumb_mlir_buffer view = view_of(d, whole, &part);
  plumb_mlir_buffer reduced = reduce_rank(d, &view, kept);
  plumb_mlir_buffer_copy(d, &in, &reduced);
  return true;
}

static bool decode_insert_slice(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run copy;
  plumb_mlir_buffer out;
  MlirType type = plumb_mlir_operand_type(op, 1);
  if (!plumb_mlir_tensor_copy(d, plumb_mlir_operand(d, op, 1), type, &copy) ||
      !plumb_mlir_buffer_open(d, copy, type, &out) || !write_slice(d, op, &out))
    return false;
  plumb_mlir_define_result(d, op, 0, copy.regs, copy.count);
  return true;
}

/* Inside scf.forall: the destination is the shared output, which the loop made its own. */
static bool decode_parallel_insert_slice(plumb_mlir_decoder *d, MlirOperation op,
                                         const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer out;
  return open_operand(d, op, 1, &out) && write_slice(d, op, &out);
}

static bool decode_pad(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer in, out;
  intptr_t next = 1;
  const plumb_reg *low, *high;
  size_t low_count, high_count;
  plumb_reg sizes[MAX_RANK], ids[MAX_RANK], source[MAX_RANK];
  if (!open_operand(d, op, 0, &in) ||
      !plumb_mlir_mixed(d, op, "static_low", &next, &low, &low_count) ||
      !plumb_mlir_mixed(d, op, "static_high", &next, &high, &high_count))
    return false;
  if (low_count != in.rank || high_count != in.rank)
    return plumb_mlir_reject(d, "a padding that does not fit the tensor");
  for (size_t i = 0; i < in.rank; i++)
    sizes[i] = plumb_mlir_add(d, plumb_mlir_add(d, in.sizes[i], low[i]), high[i]);
  if (!open_result(d, op, sizes, &out)) return false;

  plumb_mlir_lanes lanes;
  plumb_mlir_lanes_begin(d, &lanes, "pad", out.rank, out.sizes, ids);
  plumb_mlir_buffer from = plumb_mlir_capture_buffer(d, &in);
  plumb_mlir_buffer to = plumb_mlir_capture_buffer(d, &out);
  plumb_reg inside = plumb_constant(d->program, PLUMB_I1, 1);
  for (size_t i = 0; i < in.rank; i++) {
    source[i] = plumb_mlir_sub(d, ids[i], plumb_mlir_capture(d, low[i]));
    /* One unsigned comparison: below zero is above every size. */
    inside =
        plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1, inside,
                     plumb_build_cmp(&d->b, PLUMB_CMP_LT_U, PLUMB_I64, source[i], from.sizes[i]));
  }
  plumb_mlir_if branch;
  plumb_mlir_if_begin(d, &branch, inside);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, from.element.count);
  plumb_mlir_load(d, &from, source, regs);
  plumb_mlir_store(d, &to, ids, regs);
  plumb_mlir_if_else(d, &branch);
  plumb_mlir_store(d, &to, ids, yield_at(d, plumb_mlir_body(op, 0), ids).regs);
  plumb_mlir_if_end(d, &branch);
  plumb_mlir_lanes_end(d, &lanes);
  return true;
}

/* --- shapes: the same contiguous elements under other sizes --- */

static void define_reshaped(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_buffer *in,
                            const plumb_reg *sizes, size_t rank) {
  plumb_mlir_run run = plumb_mlir_contiguous(
      d,
      plumb_mlir_add(d, in->aligned,
                     plumb_mlir_mul(d, in->offset, plumb_mlir_i64(d, in->element.bytes))),
      sizes, rank);
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
}

static bool decode_collapse_shape(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer in;
  MlirAttribute groups;
  plumb_reg sizes[MAX_RANK];
  if (!open_operand(d, op, 0, &in)) return false;
  if (!plumb_mlir_attribute(op, "reassociation", &groups) || !mlirAttributeIsAArray(groups))
    return plumb_mlir_reject(d, "no reassociation");
  size_t rank = (size_t)mlirArrayAttrGetNumElements(groups);
  if (rank > MAX_RANK) return plumb_mlir_reject(d, "more than %d dimensions", MAX_RANK);
  for (size_t g = 0; g < rank; g++) {
    MlirAttribute group = mlirArrayAttrGetElement(groups, (intptr_t)g);
    sizes[g] = plumb_mlir_i64(d, 1);
    for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(group); k++) {
      int64_t dim = mlirIntegerAttrGetValueInt(mlirArrayAttrGetElement(group, k));
      sizes[g] = plumb_mlir_mul(d, sizes[g], in.sizes[dim]);
    }
  }
  define_reshaped(d, op, &in, sizes, rank);
  return true;
}

static bool decode_expand_shape(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer in;
  intptr_t next = 1;
  const plumb_reg *sizes;
  size_t rank;
  if (!open_operand(d, op, 0, &in) ||
      !plumb_mlir_mixed(d, op, "static_output_shape", &next, &sizes, &rank))
    return false;
  define_reshaped(d, op, &in, sizes, rank);
  return true;
}

static bool decode_reshape(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer in, shape;
  plumb_reg sizes[MAX_RANK];
  MlirType type = plumb_mlir_result_type(op, 0);
  if (!open_operand(d, op, 0, &in) || !open_operand(d, op, 1, &shape)) return false;
  if (!mlirTypeIsARankedTensor(type)) return plumb_mlir_reject(d, "an unranked tensor");
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  if (rank > MAX_RANK) return plumb_mlir_reject(d, "more than %d dimensions", MAX_RANK);
  for (size_t i = 0; i < rank; i++) {
    if (!mlirShapedTypeIsDynamicDim(type, (intptr_t)i)) {
      sizes[i] = plumb_mlir_i64(d, mlirShapedTypeGetDimSize(type, (intptr_t)i));
      continue;
    }
    plumb_reg index = plumb_mlir_i64(d, (int64_t)i), size;
    plumb_mlir_load(d, &shape, &index, &size);
    sizes[i] = shape.element.dtype == PLUMB_I64
                   ? size
                   : plumb_build_cvt(&d->b, PLUMB_I64, shape.element.dtype, size,
                                     PLUMB_FLAG_SRC_SIGNED | PLUMB_FLAG_DST_SIGNED, PLUMB_RN);
  }
  define_reshaped(d, op, &in, sizes, rank);
  return true;
}

static bool decode_concat(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  int64_t dim;
  intptr_t count = mlirOperationGetNumOperands(op);
  plumb_mlir_buffer first, out, in;
  plumb_reg sizes[MAX_RANK], offsets[MAX_RANK], ones[MAX_RANK];
  if (!plumb_mlir_attribute_int(op, "dim", &dim) || !count || !open_operand(d, op, 0, &first))
    return plumb_mlir_reject(d, "no dimension or no input");
  if (dim < 0 || (size_t)dim >= first.rank) return plumb_mlir_reject(d, "a dimension out of range");
  memcpy(sizes, first.sizes, first.rank * sizeof *sizes);
  for (intptr_t i = 1; i < count; i++) {
    if (!open_operand(d, op, i, &in)) return false;
    sizes[dim] = plumb_mlir_add(d, sizes[dim], in.sizes[dim]);
  }
  if (!open_result(d, op, sizes, &out)) return false;
  for (size_t i = 0; i < first.rank; i++) {
    offsets[i] = plumb_mlir_i64(d, 0);
    ones[i] = plumb_mlir_i64(d, 1);
  }
  for (intptr_t i = 0; i < count; i++) {
    if (!open_operand(d, op, i, &in)) return false;
    slice part = {offsets, in.sizes, ones, in.rank};
    plumb_mlir_buffer view = view_of(d, &out, &part);
    plumb_mlir_buffer_copy(d, &in, &view);
    offsets[dim] = plumb_mlir_add(d, offsets[dim], in.sizes[dim]);
  }
  return true;
}

/* An scf.forall's terminator holds parallel_insert_slice operations; elsewhere a yield is
 * read by the operation around it. */
const plumb_mlir_op plumb_mlir_ops_tensor[] = {
    {"tensor.empty", decode_empty, 0},
    {"tensor.extract", decode_extract, 0},
    {"tensor.insert", decode_insert, 0},
    {"tensor.dim", decode_dim, 0},
    {"tensor.rank", decode_rank, 0},
    {"tensor.cast", decode_cast, 0},
    {"tensor.bitcast", decode_bitcast, 0},
    {"tensor.from_elements", decode_from_elements, 0},
    {"tensor.splat", decode_splat, 0},
    {"tensor.generate", decode_generate, 0},
    {"tensor.extract_slice", decode_extract_slice, 0},
    {"tensor.insert_slice", decode_insert_slice, 0},
    {"tensor.parallel_insert_slice", decode_parallel_insert_slice, 0},
    {"tensor.pad", decode_pad, 0},
    {"tensor.collapse_shape", decode_collapse_shape, 0},
    {"tensor.expand_shape", decode_expand_shape, 0},
    {"tensor.reshape", decode_reshape, 0},
    {"tensor.concat", decode_concat, 0},
    {0}};

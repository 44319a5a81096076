/* memref: operations that make a descriptor of another, and read descriptors. */
#include <string.h>

#include "ir/mlir/decode_internal.h"

enum { MOST_RANK = 32 };

static bool open_operand(plumb_mlir_decoder *d, MlirOperation op, intptr_t index,
                         plumb_mlir_buffer *out) {
  return plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, index),
                                plumb_mlir_operand_type(op, index), out);
}

static void define_view(plumb_mlir_decoder *d, MlirOperation op, plumb_reg base, plumb_reg aligned,
                        plumb_reg offset, size_t rank, const plumb_reg *sizes,
                        const plumb_reg *strides) {
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, 3 + 2 * rank);
  regs[0] = base;
  regs[1] = aligned;
  regs[2] = offset;
  for (size_t i = 0; i < rank; i++) {
    regs[3 + i] = sizes[i];
    regs[3 + rank + i] = strides[i];
  }
  plumb_mlir_define_result(d, op, 0, regs, 3 + 2 * rank);
}

static bool fits(plumb_mlir_decoder *d, plumb_reg size, MlirType type, intptr_t dim) {
  int64_t known;
  bool is_static = plumb_mlir_reg_value(d, size, &known);
  if (mlirShapedTypeIsDynamicDim(type, dim)) return !is_static;
  return is_static && known == mlirShapedTypeGetDimSize(type, dim);
}

/* Which dimensions a rank-reducing result keeps: in order, those of size 1 may go. */
static bool kept_dimensions(plumb_mlir_decoder *d, const plumb_reg *sizes, size_t rank,
                            MlirType result, size_t *out_kept) {
  size_t want = (size_t)mlirShapedTypeGetRank(result), at = 0;
  for (size_t i = 0; i < rank; i++) {
    int64_t known;
    bool one = plumb_mlir_reg_value(d, sizes[i], &known) && known == 1;
    bool must_keep = rank - i == want - at;
    if (at < want && (must_keep || !one || fits(d, sizes[i], result, (intptr_t)at)))
      out_kept[at++] = i;
    else if (!one)
      return plumb_mlir_reject(d, "a result that drops a dimension not of size 1");
  }
  return at == want || plumb_mlir_reject(d, "the rank of its result");
}

static bool decode_subview(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer b;
  if (!open_operand(d, op, 0, &b)) return false;
  intptr_t next = 1;
  const plumb_reg *offsets, *sizes, *strides;
  size_t counts[3];
  if (!plumb_mlir_mixed(d, op, "static_offsets", &next, &offsets, &counts[0]) ||
      !plumb_mlir_mixed(d, op, "static_sizes", &next, &sizes, &counts[1]) ||
      !plumb_mlir_mixed(d, op, "static_strides", &next, &strides, &counts[2]))
    return false;
  if (counts[0] != b.rank || counts[1] != b.rank || counts[2] != b.rank || b.rank > MOST_RANK)
    return plumb_mlir_reject(d, "its rank");
  size_t kept[MOST_RANK] = {0};
  MlirType result = plumb_mlir_result_type(op, 0);
  if (!kept_dimensions(d, sizes, b.rank, result, kept)) return false;
  plumb_reg offset = b.offset;
  for (size_t i = 0; i < b.rank; i++)
    offset = plumb_mlir_add(d, offset, plumb_mlir_mul(d, offsets[i], b.strides[i]));
  plumb_reg new_sizes[MOST_RANK], new_strides[MOST_RANK];
  size_t rank = (size_t)mlirShapedTypeGetRank(result);
  for (size_t i = 0; i < rank; i++) {
    new_sizes[i] = sizes[kept[i]];
    new_strides[i] = plumb_mlir_mul(d, strides[kept[i]], b.strides[kept[i]]);
  }
  define_view(d, op, b.base, b.aligned, offset, rank, new_sizes, new_strides);
  return true;
}

static bool decode_reinterpret(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  if (!mlirTypeIsAMemRef(plumb_mlir_operand_type(op, 0)))
    return plumb_mlir_reject(d, "of an unranked memref");
  plumb_mlir_run source = plumb_mlir_operand(d, op, 0);
  intptr_t next = 1;
  const plumb_reg *offsets, *sizes, *strides;
  size_t offset_count, rank, stride_count;
  if (!plumb_mlir_mixed(d, op, "static_offsets", &next, &offsets, &offset_count) ||
      !plumb_mlir_mixed(d, op, "static_sizes", &next, &sizes, &rank) ||
      !plumb_mlir_mixed(d, op, "static_strides", &next, &strides, &stride_count))
    return false;
  if (offset_count != 1 || stride_count != rank) return plumb_mlir_reject(d, "its rank");
  define_view(d, op, source.regs[0], source.regs[1], offsets[0], rank, sizes, strides);
  return true;
}

/* --- casts --- */

/* Unranked: the descriptor lies in memory, behind (rank, address). */
static bool to_unranked(plumb_mlir_decoder *d, MlirOperation op) {
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_reg bytes = plumb_mlir_i64(d, (int64_t)run.count * 8);
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_ALLOC, PLUMB_I64, &address, 1, &bytes, 1)->imm = 16;
  for (size_t i = 0; i < run.count; i++)
    plumb_build_store(&d->b, PLUMB_I64, PLUMB_SPACE_GENERIC, address, (int64_t)i * 8, run.regs[i]);
  plumb_reg rank = plumb_mlir_i64(d, mlirShapedTypeGetRank(plumb_mlir_operand_type(op, 0)));
  plumb_mlir_define_result(d, op, 0, (plumb_reg[]){rank, address}, 2);
  return true;
}

static bool decode_cast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType from = plumb_mlir_operand_type(op, 0), to = plumb_mlir_result_type(op, 0);
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  if (mlirTypeIsAMemRef(from) == mlirTypeIsAMemRef(to)) {
    plumb_mlir_define_result(d, op, 0, run.regs, run.count);
    return true;
  }
  if (mlirTypeIsAMemRef(from)) return to_unranked(d, op);
  plumb_mlir_run result = plumb_mlir_fresh_result(d, op, 0);
  for (size_t i = 0; i < result.count; i++)
    plumb_build_mov(
        &d->b, result.regs[i],
        plumb_build_load(&d->b, PLUMB_I64, PLUMB_SPACE_GENERIC, run.regs[1], (int64_t)i * 8));
  return true;
}

static plumb_reg change_space(plumb_mlir_decoder *d, plumb_space from, plumb_space to,
                              plumb_reg address) {
  address = plumb_mlir_generic(d, from, address);
  if (to == PLUMB_SPACE_GENERIC || to == PLUMB_SPACE_GLOBAL) return address;
  plumb_reg r = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_FROM_GENERIC, PLUMB_I64, &r, 1, &address, 1)->space = (uint8_t)to;
  return r;
}

static bool decode_space_cast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType from = plumb_mlir_operand_type(op, 0), to = plumb_mlir_result_type(op, 0);
  if (!mlirTypeIsAMemRef(from)) return plumb_mlir_reject(d, "of an unranked memref");
  plumb_space source = plumb_mlir_memory_space(from), target = plumb_mlir_memory_space(to);
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, run.count);
  memcpy(regs, run.regs, run.count * sizeof *regs);
  for (size_t i = 0; i < 2 && source != target; i++)
    regs[i] = change_space(d, source, target, run.regs[i]);
  plumb_mlir_define_result(d, op, 0, regs, run.count);
  return true;
}

static bool decode_view(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType type = plumb_mlir_result_type(op, 0);
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  plumb_reg *sizes = PLUMB_NEW_ARRAY(d->arena, plumb_reg, rank + 1);
  intptr_t next = 2;
  for (size_t i = 0; i < rank; i++)
    sizes[i] = mlirShapedTypeIsDynamicDim(type, (intptr_t)i)
                   ? plumb_mlir_operand1(d, op, next++)
                   : plumb_mlir_i64(d, mlirShapedTypeGetDimSize(type, (intptr_t)i));
  plumb_mlir_run source = plumb_mlir_operand(d, op, 0);
  plumb_reg address = plumb_mlir_add(d, source.regs[1], plumb_mlir_operand1(d, op, 1));
  plumb_mlir_run run = plumb_mlir_contiguous(d, address, sizes, rank);
  define_view(d, op, source.regs[0], address, plumb_mlir_i64(d, 0), rank, run.regs + 3,
              run.regs + 3 + rank);
  return true;
}

static bool decode_transpose(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer b;
  MlirAttribute attribute;
  if (!open_operand(d, op, 0, &b)) return false;
  if (!plumb_mlir_attribute(op, "permutation", &attribute) ||
      !mlirAttributeIsAAffineMap(attribute) || b.rank > MOST_RANK)
    return plumb_mlir_reject(d, "no permutation");
  MlirAffineMap map = mlirAffineMapAttrGetValue(attribute);
  plumb_reg sizes[MOST_RANK], strides[MOST_RANK];
  for (size_t i = 0; i < b.rank; i++) {
    intptr_t from = mlirAffineDimExprGetPosition(mlirAffineMapGetResult(map, (intptr_t)i));
    sizes[i] = b.sizes[from];
    strides[i] = b.strides[from];
  }
  define_view(d, op, b.base, b.aligned, b.offset, b.rank, sizes, strides);
  return true;
}

/* --- reshapes --- */

typedef struct groups {
  size_t count;
  size_t first[MOST_RANK], length[MOST_RANK];
} groups;

static bool reassociation(plumb_mlir_decoder *d, MlirOperation op, groups *out) {
  MlirAttribute attribute;
  *out = (groups){0};
  if (!plumb_mlir_attribute(op, "reassociation", &attribute) || !mlirAttributeIsAArray(attribute) ||
      mlirArrayAttrGetNumElements(attribute) > MOST_RANK)
    return plumb_mlir_reject(d, "its reassociation");
  size_t next = 0;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(attribute); i++) {
    MlirAttribute group = mlirArrayAttrGetElement(attribute, i);
    if (!mlirAttributeIsAArray(group)) return plumb_mlir_reject(d, "its reassociation");
    out->first[out->count] = next;
    out->length[out->count] = (size_t)mlirArrayAttrGetNumElements(group);
    next += out->length[out->count++];
  }
  return true;
}

/* The last dimension of a group has the source's stride; the others span those inside. */
static bool decode_expand(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer b;
  groups g;
  intptr_t next = 1;
  const plumb_reg *sizes;
  size_t rank;
  if (!open_operand(d, op, 0, &b) || !reassociation(d, op, &g) ||
      !plumb_mlir_mixed(d, op, "static_output_shape", &next, &sizes, &rank))
    return false;
  if (rank > MOST_RANK || (g.count && g.count != b.rank)) return plumb_mlir_reject(d, "its rank");
  plumb_reg strides[MOST_RANK];
  for (size_t i = 0; i < rank; i++) strides[i] = plumb_mlir_i64(d, 1);
  for (size_t k = 0; k < g.count; k++) {
    plumb_reg stride = b.strides[k];
    for (size_t i = g.length[k]; i-- > 0;) {
      strides[g.first[k] + i] = stride;
      if (i) stride = plumb_mlir_mul(d, stride, sizes[g.first[k] + i]);
    }
  }
  define_view(d, op, b.base, b.aligned, b.offset, rank, sizes, strides);
  return true;
}

/* A group collapses to the product of its sizes, with the stride of its innermost dimension
 * that is not known to be of size 1 (a unit dimension's stride means nothing). */
static bool decode_collapse(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer b;
  groups g;
  if (!open_operand(d, op, 0, &b) || !reassociation(d, op, &g)) return false;
  plumb_reg sizes[MOST_RANK], strides[MOST_RANK];
  for (size_t k = 0; k < g.count; k++) {
    size_t last = g.first[k] + g.length[k];
    if (!g.length[k] || last > b.rank) return plumb_mlir_reject(d, "its reassociation");
    sizes[k] = plumb_mlir_i64(d, 1);
    size_t inner = last - 1;
    int64_t known;
    while (inner > g.first[k] && plumb_mlir_reg_value(d, b.sizes[inner], &known) && known == 1)
      inner--;
    strides[k] = b.strides[inner];
    for (size_t i = g.first[k]; i < last; i++) sizes[k] = plumb_mlir_mul(d, sizes[k], b.sizes[i]);
  }
  define_view(d, op, b.base, b.aligned, b.offset, g.count, sizes, strides);
  return true;
}

static bool decode_reshape(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer b, shape;
  MlirType type = plumb_mlir_result_type(op, 0);
  if (!mlirTypeIsAMemRef(type)) return plumb_mlir_reject(d, "to an unranked memref");
  if (!open_operand(d, op, 0, &b) || !open_operand(d, op, 1, &shape)) return false;
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  plumb_reg *sizes = PLUMB_NEW_ARRAY(d->arena, plumb_reg, rank + 1);
  for (size_t i = 0; i < rank; i++) {
    plumb_reg index = plumb_mlir_i64(d, (int64_t)i), value;
    plumb_mlir_load(d, &shape, &index, &value);
    sizes[i] = plumb_mlir_convert_int(d, PLUMB_I64, 64, shape.element.dtype, shape.element.bits,
                                      true, value);
  }
  plumb_mlir_run run = plumb_mlir_contiguous(d, b.aligned, sizes, rank);
  define_view(d, op, b.base, b.aligned, b.offset, rank, run.regs + 3, run.regs + 3 + rank);
  return true;
}

/* --- reading descriptors --- */

/* The size of a dimension known at run time: a chain of selections. */
plumb_reg plumb_mlir_pick(plumb_mlir_decoder *d, const plumb_reg *values, size_t count,
                          plumb_reg index) {
  int64_t known;
  if (plumb_mlir_reg_value(d, index, &known))
    return known >= 0 && (size_t)known < count ? values[known] : plumb_mlir_i64(d, 0);
  plumb_reg r = count ? values[0] : plumb_mlir_i64(d, 0);
  for (size_t i = 1; i < count; i++) {
    plumb_reg here =
        plumb_build_cmp(&d->b, PLUMB_CMP_EQ, PLUMB_I64, index, plumb_mlir_i64(d, (int64_t)i));
    r = plumb_build3(&d->b, PLUMB_OP_SELECT, PLUMB_I64, here, values[i], r);
  }
  return r;
}

static bool decode_dim(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer b;
  plumb_reg index = plumb_mlir_operand1(d, op, 1);
  if (!mlirTypeIsAMemRef(plumb_mlir_operand_type(op, 0))) {
    plumb_reg at = plumb_mlir_add(d, plumb_mlir_operand(d, op, 0).regs[1],
                                  plumb_mlir_mul(d, index, plumb_mlir_i64(d, 8)));
    plumb_mlir_define_result1(d, op, 0,
                              plumb_build_load(&d->b, PLUMB_I64, PLUMB_SPACE_GENERIC, at, 24));
    return true;
  }
  if (!open_operand(d, op, 0, &b)) return false;
  plumb_mlir_define_result1(d, op, 0, plumb_mlir_pick(d, b.sizes, b.rank, index));
  return true;
}

static bool decode_rank(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType type = plumb_mlir_operand_type(op, 0);
  plumb_mlir_define_result1(d, op, 0,
                            mlirTypeIsAMemRef(type) ? plumb_mlir_i64(d, mlirShapedTypeGetRank(type))
                                                    : plumb_mlir_operand(d, op, 0).regs[0]);
  return true;
}

static bool decode_metadata(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer b;
  if (!open_operand(d, op, 0, &b)) return false;
  plumb_mlir_define_result(d, op, 0, (plumb_reg[]){b.base, b.aligned, plumb_mlir_i64(d, 0)}, 3);
  plumb_mlir_define_result1(d, op, 1, b.offset);
  for (size_t i = 0; i < b.rank; i++) {
    plumb_mlir_define_result1(d, op, 2 + (intptr_t)i, b.sizes[i]);
    plumb_mlir_define_result1(d, op, 2 + (intptr_t)(b.rank + i), b.strides[i]);
  }
  return true;
}

static bool decode_pointer(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  if (!mlirTypeIsAMemRef(plumb_mlir_operand_type(op, 0)))
    return plumb_mlir_reject(d, "of an unranked memref");
  plumb_mlir_define_result1(d, op, 0, plumb_mlir_operand(d, op, 0).regs[1]);
  return true;
}

const plumb_mlir_op plumb_mlir_ops_memref_view[] = {
    {"memref.subview", decode_subview, 0},
    {"memref.reinterpret_cast", decode_reinterpret, 0},
    {"memref.cast", decode_cast, 0},
    {"memref.memory_space_cast", decode_space_cast, 0},
    {"memref.view", decode_view, 0},
    {"memref.transpose", decode_transpose, 0},
    {"memref.expand_shape", decode_expand, 0},
    {"memref.collapse_shape", decode_collapse, 0},
    {"memref.reshape", decode_reshape, 0},
    {"memref.dim", decode_dim, 0},
    {"memref.rank", decode_rank, 0},
    {"memref.extract_strided_metadata", decode_metadata, 0},
    {"memref.extract_aligned_pointer_as_index", decode_pointer, 0},
    {0},
};

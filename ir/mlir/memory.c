/* Memrefs and tensors as descriptors over checked memory (program.h, conventions). */
#include "ir/mlir/decode_internal.h"

static const plumb_reg *with_static(plumb_mlir_decoder *d, const plumb_reg *regs,
                                    const int64_t *values, size_t rank) {
  plumb_reg *out = PLUMB_NEW_ARRAY(d->arena, plumb_reg, rank + 1);
  for (size_t i = 0; i < rank; i++)
    out[i] = values[i] == INT64_MIN ? regs[i] : plumb_mlir_i64(d, values[i]);
  return out;
}

/* Row-major strides as far as sizes are static; the rest dynamic. */
static void tensor_strides(MlirType type, size_t rank, int64_t *out_strides) {
  int64_t product = 1;
  for (size_t i = rank; i-- > 0;) {
    out_strides[i] = product;
    if (product == INT64_MIN) continue;
    if (mlirShapedTypeIsDynamicDim(type, (intptr_t)i) ||
        __builtin_mul_overflow(product, mlirShapedTypeGetDimSize(type, (intptr_t)i), &product))
      product = INT64_MIN;
  }
}

bool plumb_mlir_buffer_open(plumb_mlir_decoder *d, plumb_mlir_run run, MlirType type,
                            plumb_mlir_buffer *out_buffer) {
  bool tensor = mlirTypeIsARankedTensor(type);
  if (!tensor && !mlirTypeIsAMemRef(type))
    return plumb_mlir_reject(d, "%s as a buffer", plumb_mlir_print_type(d, type));
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  if (run.count != 3 + 2 * rank) return plumb_mlir_reject(d, "a descriptor of a wrong size");
  plumb_mlir_buffer *b = out_buffer;
  *b = (plumb_mlir_buffer){.base = run.regs[0],
                           .aligned = run.regs[1],
                           .offset = run.regs[2],
                           .rank = rank,
                           .space = plumb_mlir_memory_space(type)};
  if (!plumb_mlir_element_layout(d, type, &b->element)) return false;
  int64_t *sizes = PLUMB_NEW_ARRAY(d->arena, int64_t, 2 * rank + 2), *strides = sizes + rank + 1;
  for (size_t i = 0; i < rank; i++)
    sizes[i] = mlirShapedTypeIsDynamicDim(type, (intptr_t)i)
                   ? INT64_MIN
                   : mlirShapedTypeGetDimSize(type, (intptr_t)i);
  if (tensor) {
    tensor_strides(type, rank, strides);
    b->contiguous = true;
  } else {
    int64_t offset;
    if (!plumb_mlir_static_layout(type, strides, &offset))
      return plumb_mlir_reject(d, "memref layout of %s", plumb_mlir_print_type(d, type));
    if (offset != INT64_MIN) b->offset = plumb_mlir_i64(d, offset);
    MlirAttribute layout = mlirMemRefTypeGetLayout(type);
    b->contiguous = mlirAttributeIsAAffineMap(layout) &&
                    mlirAffineMapIsIdentity(mlirAffineMapAttrGetValue(layout));
  }
  b->sizes = with_static(d, run.regs + 3, sizes, rank);
  b->strides = with_static(d, run.regs + 3 + rank, strides, rank);
  return true;
}

plumb_reg plumb_mlir_address(plumb_mlir_decoder *d, const plumb_mlir_buffer *buffer,
                             const plumb_reg *indices) {
  plumb_reg index = buffer->offset;
  for (size_t i = 0; i < buffer->rank; i++)
    index = plumb_mlir_add(d, index, plumb_mlir_mul(d, indices[i], buffer->strides[i]));
  plumb_reg bytes = plumb_mlir_mul(d, index, plumb_mlir_i64(d, buffer->element.bytes));
  return plumb_mlir_add(d, buffer->aligned, bytes);
}

void plumb_mlir_load(plumb_mlir_decoder *d, const plumb_mlir_buffer *buffer,
                     const plumb_reg *indices, plumb_reg *out_regs) {
  plumb_reg address = plumb_mlir_address(d, buffer, indices);
  for (size_t i = 0; i < buffer->element.count; i++)
    out_regs[i] = plumb_build_load(&d->b, buffer->element.dtype, buffer->space, address,
                                   plumb_mlir_element_offset(&buffer->element, i));
}

void plumb_mlir_store(plumb_mlir_decoder *d, const plumb_mlir_buffer *buffer,
                      const plumb_reg *indices, const plumb_reg *regs) {
  plumb_reg address = plumb_mlir_address(d, buffer, indices);
  for (size_t i = 0; i < buffer->element.count; i++)
    plumb_build_store(&d->b, buffer->element.dtype, buffer->space, address,
                      plumb_mlir_element_offset(&buffer->element, i), regs[i]);
}

plumb_mlir_run plumb_mlir_contiguous(plumb_mlir_decoder *d, plumb_reg address,
                                     const plumb_reg *sizes, size_t rank) {
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, 3 + 2 * rank);
  regs[0] = regs[1] = address;
  regs[2] = plumb_mlir_i64(d, 0);
  plumb_reg stride = plumb_mlir_i64(d, 1);
  for (size_t i = rank; i-- > 0;) {
    regs[3 + i] = sizes[i];
    regs[3 + rank + i] = stride;
    if (i) stride = plumb_mlir_mul(d, stride, sizes[i]);
  }
  return (plumb_mlir_run){regs, 3 + 2 * rank};
}

bool plumb_mlir_allocate(plumb_mlir_decoder *d, MlirType type, const plumb_reg *sizes,
                         plumb_mlir_run *out_run) {
  plumb_mlir_element element;
  if (!plumb_mlir_element_layout(d, type, &element)) return false;
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  plumb_reg *all = PLUMB_NEW_ARRAY(d->arena, plumb_reg, rank + 1);
  plumb_reg bytes = plumb_mlir_i64(d, element.bytes);
  for (size_t i = 0; i < rank; i++) {
    bool given = sizes && sizes[i] != PLUMB_NO_REG;
    if (!given && mlirShapedTypeIsDynamicDim(type, (intptr_t)i))
      return plumb_mlir_reject(d, "an allocation without its dynamic size");
    all[i] = mlirShapedTypeIsDynamicDim(type, (intptr_t)i)
                 ? sizes[i]
                 : plumb_mlir_i64(d, mlirShapedTypeGetDimSize(type, (intptr_t)i));
    bytes = plumb_mlir_mul(d, bytes, all[i]);
  }
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_ALLOC, PLUMB_I64, &address, 1, &bytes, 1)->imm = 64;
  *out_run = plumb_mlir_contiguous(d, address, all, rank);
  return true;
}

static plumb_reg local_address(plumb_mlir_decoder *d, uint64_t bytes) {
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  uint32_t offset = plumb_frame_reserve(d->b.function, bytes, 16);
  plumb_build(&d->b, PLUMB_OP_FRAME, PLUMB_I64, &address, 1, NULL, 0)->imm = offset;
  return address;
}

static plumb_reg shared_address(plumb_mlir_decoder *d, uint64_t bytes, const char *stem) {
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  size_t global = plumb_global_create(d->program, plumb_mlir_unique_name(d, stem),
                                      PLUMB_SPACE_SHARED, bytes, 16);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_ADDRESS, PLUMB_I64, &address, 1, NULL, 0);
  inst->imm = (int64_t)global;
  inst->space = PLUMB_SPACE_SHARED;
  return address;
}

bool plumb_mlir_static_buffer(plumb_mlir_decoder *d, MlirType type, const char *stem,
                              plumb_mlir_run *out_run) {
  plumb_mlir_element element;
  if (!mlirTypeIsAMemRef(type)) return plumb_mlir_reject(d, "%s", plumb_mlir_print_type(d, type));
  if (!plumb_mlir_element_layout(d, type, &element)) return false;
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  plumb_reg *sizes = PLUMB_NEW_ARRAY(d->arena, plumb_reg, rank + 1);
  int64_t bytes = element.bytes;
  for (size_t i = 0; i < rank; i++) {
    int64_t size = mlirShapedTypeGetDimSize(type, (intptr_t)i);
    if (mlirShapedTypeIsDynamicDim(type, (intptr_t)i) ||
        __builtin_mul_overflow(bytes, size, &bytes) || bytes > INT32_MAX)
      return plumb_mlir_reject(d, "the size of %s", plumb_mlir_print_type(d, type));
    sizes[i] = plumb_mlir_i64(d, size);
  }
  plumb_reg address;
  plumb_space space = plumb_mlir_memory_space(type);
  if (space == PLUMB_SPACE_SHARED) {
    address = shared_address(d, (uint64_t)bytes, stem);
  } else {
    address = local_address(d, (uint64_t)bytes);
    if (space != PLUMB_SPACE_LOCAL) address = plumb_mlir_generic(d, PLUMB_SPACE_LOCAL, address);
  }
  *out_run = plumb_mlir_contiguous(d, address, sizes, rank);
  return true;
}

plumb_reg plumb_mlir_count(plumb_mlir_decoder *d, const plumb_mlir_buffer *buffer) {
  plumb_reg count = plumb_mlir_i64(d, 1);
  for (size_t i = 0; i < buffer->rank; i++) count = plumb_mlir_mul(d, count, buffer->sizes[i]);
  return count;
}

plumb_reg plumb_mlir_generic(plumb_mlir_decoder *d, plumb_space space, plumb_reg address) {
  if (space == PLUMB_SPACE_GENERIC || space == PLUMB_SPACE_GLOBAL) return address;
  plumb_reg generic = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_TO_GENERIC, PLUMB_I64, &generic, 1, &address, 1)->space =
      (uint8_t)space;
  return generic;
}

static void copy_bytes(plumb_mlir_decoder *d, const plumb_mlir_buffer *from,
                       const plumb_mlir_buffer *to, const plumb_reg *indices, plumb_reg bytes) {
  plumb_reg source = plumb_mlir_generic(d, from->space, plumb_mlir_address(d, from, indices));
  plumb_reg target = plumb_mlir_generic(d, to->space, plumb_mlir_address(d, to, indices));
  plumb_build(&d->b, PLUMB_OP_MEMCPY, PLUMB_I8, NULL, 0, (plumb_reg[]){target, source, bytes}, 3);
}

static bool unit_stride(plumb_mlir_decoder *d, const plumb_mlir_buffer *b) {
  int64_t stride;
  return b->rank && plumb_mlir_reg_value(d, b->strides[b->rank - 1], &stride) && stride == 1;
}

/* By bytes, so that what was never written stays so in the copy. */
void plumb_mlir_buffer_copy(plumb_mlir_decoder *d, const plumb_mlir_buffer *from,
                            const plumb_mlir_buffer *to) {
  plumb_reg bytes = plumb_mlir_i64(d, from->element.bytes);
  plumb_reg *indices = PLUMB_NEW_ARRAY(d->arena, plumb_reg, from->rank + 1);
  for (size_t i = 0; i < from->rank; i++) indices[i] = plumb_mlir_i64(d, 0);
  if (from->contiguous && to->contiguous) {
    copy_bytes(d, from, to, indices, plumb_mlir_mul(d, plumb_mlir_count(d, from), bytes));
    return;
  }
  size_t outer = from->rank;
  if (unit_stride(d, from) && unit_stride(d, to)) {
    outer--;
    bytes = plumb_mlir_mul(d, bytes, from->sizes[outer]);
  }
  plumb_mlir_lanes lanes;
  plumb_mlir_lanes_begin(d, &lanes, "copy", outer, from->sizes, indices);
  plumb_mlir_buffer source = plumb_mlir_capture_buffer(d, from);
  plumb_mlir_buffer target = plumb_mlir_capture_buffer(d, to);
  copy_bytes(d, &source, &target, indices, plumb_mlir_capture(d, bytes));
  plumb_mlir_lanes_end(d, &lanes);
}

bool plumb_mlir_tensor_copy(plumb_mlir_decoder *d, plumb_mlir_run tensor, MlirType type,
                            plumb_mlir_run *out_copy) {
  plumb_mlir_buffer from, to;
  if (!plumb_mlir_buffer_open(d, tensor, type, &from)) return false;
  if (!plumb_mlir_allocate(d, type, from.sizes, out_copy)) return false;
  if (!plumb_mlir_buffer_open(d, *out_copy, type, &to)) return false;
  plumb_mlir_buffer_copy(d, &from, &to);
  return true;
}

/* The llvm dialect's memory: how types lie in it, and what reads and writes it
 * (LLVM Language Reference 22, Data Layout, Memory Access and Addressing Operations). */
#include <stdlib.h>
#include <string.h>

#include "ir/mlir/llvm_internal.h"

plumb_space plumb_mlir_llvm_space(MlirType pointer) {
  if (!mlirTypeIsALLVMPointerType(pointer)) return PLUMB_SPACE_GENERIC;
  return plumb_mlir_space_of_number((int64_t)mlirLLVMPointerTypeGetAddressSpace(pointer));
}

/* --- layout --- */

int64_t plumb_mlir_llvm_array_length(plumb_mlir_decoder *d, MlirType type) {
  static const char prefix[] = "!llvm.array<";
  if (mlirTypeIsAVector(type) || mlirTypeIsALLVMStructType(type) ||
      mlirTypeIsALLVMPointerType(type) || mlirTypeIsAInteger(type) || mlirTypeIsAFloat(type))
    return -1;
  const char *text = plumb_mlir_print_type(d, type);
  if (strncmp(text, prefix, sizeof prefix - 1)) return -1;
  return strtoll(text + sizeof prefix - 1, NULL, 10);
}

static int64_t round_up(int64_t value, int64_t align) {
  return (value + align - 1) / align * align;
}

static bool size_and_align(plumb_mlir_decoder *d, MlirType type, int64_t *out_size,
                           int64_t *out_align) {
  plumb_dtype dtype;
  int bits;
  if (plumb_mlir_scalar_type(type, &dtype, &bits)) {
    *out_size = *out_align = plumb_dtype_bytes(dtype);
    return true;
  }
  if (mlirTypeIsAVector(type)) {
    MlirType element = mlirShapedTypeGetElementType(type);
    if (mlirShapedTypeGetRank(type) != 1 || mlirVectorTypeIsScalable(type) ||
        !plumb_mlir_scalar_type(element, &dtype, &bits) || bits < 8)
      return plumb_mlir_reject(d, "memory layout of %s", plumb_mlir_print_type(d, type));
    int64_t bytes = mlirShapedTypeGetDimSize(type, 0) * plumb_dtype_bytes(dtype);
    *out_align = 1;
    while (*out_align < bytes) *out_align *= 2;
    *out_size = *out_align;
    return true;
  }
  int64_t length = plumb_mlir_llvm_array_length(d, type);
  if (length >= 0) {
    if (!size_and_align(d, mlirLLVMArrayTypeGetElementType(type), out_size, out_align))
      return false;
    return !__builtin_mul_overflow(*out_size, length, out_size) ||
           plumb_mlir_reject(d, "an array that overflows");
  }
  if (!mlirTypeIsALLVMStructType(type) || mlirLLVMStructTypeIsOpaque(type))
    return plumb_mlir_reject(d, "memory layout of %s", plumb_mlir_print_type(d, type));
  bool packed = mlirLLVMStructTypeIsPacked(type);
  *out_size = 0;
  *out_align = 1;
  for (intptr_t i = 0; i < mlirLLVMStructTypeGetNumElementTypes(type); i++) {
    int64_t size, align;
    if (!size_and_align(d, mlirLLVMStructTypeGetElementType(type, i), &size, &align)) return false;
    if (packed) align = 1;
    *out_size = round_up(*out_size, align) + size;
    if (align > *out_align) *out_align = align;
  }
  *out_size = round_up(*out_size, *out_align);
  return true;
}

bool plumb_mlir_llvm_member(plumb_mlir_decoder *d, MlirType type, int64_t index, MlirType *out_type,
                            int64_t *out_offset, size_t *out_first) {
  int64_t size, align, length = plumb_mlir_llvm_array_length(d, type);
  plumb_mlir_flat flat;
  if (length >= 0 || mlirTypeIsAVector(type)) {
    *out_type =
        length >= 0 ? mlirLLVMArrayTypeGetElementType(type) : mlirShapedTypeGetElementType(type);
    if (!size_and_align(d, *out_type, &size, &align) || !plumb_mlir_flatten(d, *out_type, &flat))
      return false;
    *out_offset = index * size;
    *out_first = (size_t)index * flat.count;
    return true;
  }
  if (!mlirTypeIsALLVMStructType(type) || index < 0 ||
      index >= mlirLLVMStructTypeGetNumElementTypes(type))
    return plumb_mlir_reject(d, "member %lld of %s", (long long)index,
                             plumb_mlir_print_type(d, type));
  bool packed = mlirLLVMStructTypeIsPacked(type);
  *out_offset = 0;
  *out_first = 0;
  for (intptr_t i = 0; i <= index; i++) {
    *out_type = mlirLLVMStructTypeGetElementType(type, i);
    if (!size_and_align(d, *out_type, &size, &align) || !plumb_mlir_flatten(d, *out_type, &flat))
      return false;
    *out_offset = round_up(*out_offset, packed ? 1 : align);
    if (i == index) return true;
    *out_offset += size;
    *out_first += flat.count;
  }
  return true;
}

static bool fill_offsets(plumb_mlir_decoder *d, MlirType type, int64_t base, int64_t *offsets,
                         size_t *at) {
  plumb_dtype dtype;
  int bits;
  if (plumb_mlir_scalar_type(type, &dtype, &bits)) {
    offsets[(*at)++] = base;
    return true;
  }
  int64_t members = plumb_mlir_llvm_array_length(d, type);
  if (members < 0)
    members = mlirTypeIsAVector(type) ? mlirShapedTypeGetDimSize(type, 0)
                                      : mlirLLVMStructTypeGetNumElementTypes(type);
  for (int64_t i = 0; i < members; i++) {
    MlirType member;
    int64_t offset;
    size_t first;
    if (!plumb_mlir_llvm_member(d, type, i, &member, &offset, &first) ||
        !fill_offsets(d, member, base + offset, offsets, at))
      return false;
  }
  return true;
}

bool plumb_mlir_llvm_layout_of(plumb_mlir_decoder *d, MlirType type,
                               plumb_mlir_llvm_layout *out_layout) {
  plumb_mlir_flat flat;
  if (!size_and_align(d, type, &out_layout->size_bytes, &out_layout->align) ||
      !plumb_mlir_flatten(d, type, &flat))
    return false;
  int64_t *offsets = PLUMB_NEW_ARRAY(d->arena, int64_t, flat.count + 1);
  size_t at = 0;
  if (!fill_offsets(d, type, 0, offsets, &at)) return false;
  out_layout->types = flat.types;
  out_layout->offsets = offsets;
  out_layout->count = flat.count;
  return true;
}

/* --- access --- */

/* Members [first, first + n) that one access may cover: of one type, adjacent, at most 16
 * bytes (the widest access of a thread), and aligned by promise or by nature. */
static size_t group_at(const plumb_mlir_llvm_layout *layout, size_t first, int64_t align) {
  plumb_dtype type = layout->types[first];
  int64_t bytes = plumb_dtype_bytes(type);
  for (size_t n = 4; n > 1; n /= 2) {
    int64_t wide = (int64_t)n * bytes;
    if (first + n > layout->count || wide > 16 || align < wide || layout->offsets[first] % wide)
      continue;
    bool adjacent = true;
    for (size_t i = 1; i < n && adjacent; i++)
      adjacent = layout->types[first + i] == type &&
                 layout->offsets[first + i] == layout->offsets[first] + (int64_t)i * bytes;
    if (adjacent) return n;
  }
  return 1;
}

/* `align`: promised of the whole value's address. A lane's widest access is of 16 bytes. */
uint8_t plumb_mlir_llvm_promised_log2(int64_t align, int64_t offset) {
  uint8_t log2 = 0;
  while (align > 0 && log2 < 4 && !((align | offset) >> log2 & 1)) log2++;
  return log2;
}

static void set_access(plumb_inst *inst, plumb_space space, int64_t offset, int64_t align,
                       uint32_t flags) {
  inst->space = (uint8_t)space;
  inst->imm = offset;
  inst->flags |= flags;
  inst->align_log2 = plumb_mlir_llvm_promised_log2(align, offset);
}

void plumb_mlir_llvm_load(plumb_mlir_decoder *d, const plumb_mlir_llvm_layout *layout,
                          plumb_space space, plumb_reg address, int64_t align, uint32_t flags,
                          plumb_reg *out_regs) {
  for (size_t i = 0; i < layout->count;) {
    size_t n = group_at(layout, i, align ? align : layout->align);
    plumb_reg first = plumb_reg_create_run(d->b.function, layout->types[i], n);
    for (size_t k = 0; k < n; k++) out_regs[i + k] = first + (plumb_reg)k;
    set_access(plumb_build(&d->b, PLUMB_OP_LOAD, layout->types[i], out_regs + i, n, &address, 1),
               space, layout->offsets[i], align, flags);
    i += n;
  }
}

void plumb_mlir_llvm_store(plumb_mlir_decoder *d, const plumb_mlir_llvm_layout *layout,
                           plumb_space space, plumb_reg address, int64_t align, uint32_t flags,
                           const plumb_reg *regs) {
  for (size_t i = 0; i < layout->count;) {
    size_t n = group_at(layout, i, align ? align : layout->align);
    plumb_reg operands[5] = {address};
    memcpy(operands + 1, regs + i, n * sizeof *regs);
    set_access(plumb_build(&d->b, PLUMB_OP_STORE, layout->types[i], NULL, 0, operands, n + 1),
               space, layout->offsets[i], align, flags);
    i += n;
  }
}

uint32_t plumb_mlir_llvm_order(plumb_mlir_decoder *d, MlirOperation op, const char *attribute) {
  uint32_t flags = 0;
  int64_t order = 0; /* AtomicOrdering: LLVMEnums.td */
  plumb_mlir_attribute_int(op, attribute, &order);
  switch (order) {
    case 0:
      break;
    case 4:
      flags |= PLUMB_FLAG_ACQUIRE;
      break;
    case 5:
      flags |= PLUMB_FLAG_RELEASE;
      break;
    case 6:
      flags |= PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE;
      break;
    case 7:
      flags |= PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE | PLUMB_FLAG_SEQ_CST;
      break;
    default:
      flags |= PLUMB_FLAG_RELAXED;
      break;
  }
  const char *scope = plumb_mlir_attribute_text(d, op, "syncscope");
  if (plumb_mlir_text_has(scope, "block"))
    flags |= PLUMB_FLAG_SCOPE_CTA;
  else if (plumb_mlir_text_has(scope, "cluster"))
    flags |= PLUMB_FLAG_SCOPE_CLUSTER;
  else if (plumb_mlir_text_has(scope, "device"))
    flags |= PLUMB_FLAG_SCOPE_GPU;
  if (plumb_mlir_attribute_flag(op, "volatile_")) flags |= PLUMB_FLAG_VOLATILE;
  return flags;
}

bool plumb_mlir_llvm_decode_load(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_llvm_layout layout;
  int64_t align = 0;
  if (!plumb_mlir_llvm_layout_of(d, plumb_mlir_result_type(op, 0), &layout)) return false;
  plumb_mlir_attribute_int(op, "alignment", &align);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, layout.count + 1);
  uint32_t flags = plumb_mlir_llvm_order(d, op, "ordering");
  if (plumb_mlir_attribute_flag(op, "invariant")) flags |= PLUMB_FLAG_NONTEMPORAL;
  plumb_mlir_llvm_load(d, &layout, plumb_mlir_llvm_space(plumb_mlir_operand_type(op, 0)),
                       plumb_mlir_operand1(d, op, 0), align, flags, regs);
  plumb_mlir_define_result(d, op, 0, regs, layout.count);
  return true;
}

bool plumb_mlir_llvm_decode_store(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_llvm_layout layout;
  int64_t align = 0;
  if (!plumb_mlir_llvm_layout_of(d, plumb_mlir_operand_type(op, 0), &layout)) return false;
  plumb_mlir_attribute_int(op, "alignment", &align);
  plumb_mlir_llvm_store(d, &layout, plumb_mlir_llvm_space(plumb_mlir_operand_type(op, 1)),
                        plumb_mlir_operand1(d, op, 1), align,
                        plumb_mlir_llvm_order(d, op, "ordering"),
                        plumb_mlir_operand(d, op, 0).regs);
  return true;
}

plumb_reg plumb_mlir_llvm_generic(plumb_mlir_decoder *d, plumb_reg address, plumb_space space) {
  if (space == PLUMB_SPACE_GENERIC || space == PLUMB_SPACE_GLOBAL) return address;
  plumb_reg r = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_TO_GENERIC, PLUMB_I64, &r, 1, &address, 1)->space = (uint8_t)space;
  return r;
}

bool plumb_mlir_llvm_decode_alloca(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute type;
  plumb_mlir_llvm_layout layout;
  int64_t align = 0, count;
  if (!plumb_mlir_attribute(op, "elem_type", &type) || !mlirAttributeIsAType(type))
    return plumb_mlir_reject(d, "no element type");
  if (!plumb_mlir_llvm_layout_of(d, mlirTypeAttrGetValue(type), &layout)) return false;
  plumb_mlir_attribute_int(op, "alignment", &align);
  if (align < layout.align) align = layout.align;
  plumb_reg number = plumb_mlir_llvm_to_i64(d, plumb_mlir_operand1(d, op, 0), false);
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  /* A fixed size in the entry block is one object for the whole call: in the frame. */
  bool entry =
      mlirOperationIsNull(mlirOperationGetParentOperation(op)) ||
      mlirBlockEqual(mlirOperationGetBlock(op), mlirRegionGetFirstBlock(mlirOperationGetRegion(
                                                    mlirOperationGetParentOperation(op), 0)));
  if (entry && plumb_mlir_reg_value(d, number, &count) && count > 0 && count < (1 << 20) &&
      layout.size_bytes < (1 << 20) && count * layout.size_bytes < (1 << 26)) {
    uint32_t offset =
        plumb_frame_reserve(d->b.function, (uint64_t)(count * layout.size_bytes), (uint32_t)align);
    plumb_build(&d->b, PLUMB_OP_FRAME, PLUMB_I64, &address, 1, NULL, 0)->imm = offset;
  } else {
    plumb_reg bytes = plumb_mlir_mul(d, number, plumb_mlir_i64(d, layout.size_bytes));
    plumb_build(&d->b, PLUMB_OP_ALLOCA, PLUMB_I64, &address, 1, &bytes, 1)->imm = align;
  }
  if (plumb_mlir_llvm_space(plumb_mlir_result_type(op, 0)) != PLUMB_SPACE_LOCAL)
    address = plumb_mlir_llvm_generic(d, address, PLUMB_SPACE_LOCAL);
  plumb_mlir_define_result1(d, op, 0, address);
  return true;
}

/* --- getelementptr --- */

/* The register of element e of a scalar or vector operand. */
static plumb_reg lane_of(plumb_mlir_run run, size_t e) {
  return run.regs[run.count == 1 ? 0 : e];
}

static plumb_reg build_flagged(plumb_mlir_decoder *d, plumb_op op, plumb_reg a, plumb_reg b,
                               uint32_t flags) {
  plumb_reg r = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, op, PLUMB_I64, &r, 1, (plumb_reg[]){a, b}, 2)->flags |= flags;
  return r;
}

/* GEPNoWrapFlags of LLVMEnums.td: in bounds 1, nusw 2, nuw 4. Sums stay in the allocation
 * (EXACT, ops.def) and do not wrap; nor do the scaled indices. */
static void gep_flags(plumb_mlir_decoder *d, MlirOperation op, uint32_t *out_sum,
                      uint32_t *out_scale) {
  static const char key[] = "noWrapFlags = ";
  const char *at = strstr(plumb_mlir_llvm_generic_text(d, op), key);
  long bits = at ? strtol(at + sizeof key - 1, NULL, 10) : 0;
  uint32_t nuw = bits & 4 ? (uint32_t)PLUMB_FLAG_NUW : 0u;
  *out_sum = (bits & 1 ? (uint32_t)PLUMB_FLAG_EXACT : 0u) | nuw;
  *out_scale = (bits & 2 ? (uint32_t)PLUMB_FLAG_NSW : 0u) | nuw;
}

static plumb_reg gep_sum(plumb_mlir_decoder *d, plumb_reg address, plumb_reg offset,
                         uint32_t flags) {
  int64_t known;
  if (!flags || (plumb_mlir_reg_value(d, offset, &known) && known == 0))
    return plumb_mlir_add(d, address, offset);
  return build_flagged(d, PLUMB_OP_ADD, address, offset, flags);
}

/* The address of one pointer: base plus what each index adds (LangRef, getelementptr). */
static bool gep_element(plumb_mlir_decoder *d, MlirOperation op, MlirType type, const int64_t *raw,
                        size_t count, size_t e, plumb_reg *out_address) {
  plumb_reg address = lane_of(plumb_mlir_operand(d, op, 0), e);
  intptr_t next = 1;
  uint32_t sum, scale;
  gep_flags(d, op, &sum, &scale);
  for (size_t i = 0; i < count; i++) {
    plumb_reg index;
    int64_t constant = raw[i], size, align;
    bool is_constant = raw[i] != INT32_MIN;
    if (is_constant)
      index = plumb_mlir_i64(d, constant);
    else {
      index = plumb_mlir_llvm_to_i64(d, lane_of(plumb_mlir_operand(d, op, next++), e), true);
      is_constant = plumb_mlir_reg_value(d, index, &constant);
    }
    if (i > 0 && mlirTypeIsALLVMStructType(type)) {
      int64_t offset;
      size_t first;
      if (!is_constant) return plumb_mlir_reject(d, "a struct member that is not constant");
      if (!plumb_mlir_llvm_member(d, type, constant, &type, &offset, &first)) return false;
      address = gep_sum(d, address, plumb_mlir_i64(d, offset), sum);
      continue;
    }
    if (i > 0) {
      int64_t offset;
      size_t first;
      if (!plumb_mlir_llvm_member(d, type, 0, &type, &offset, &first)) return false;
    }
    if (!size_and_align(d, type, &size, &align)) return false;
    plumb_reg scaled = scale && !is_constant && size != 1
                           ? build_flagged(d, PLUMB_OP_MUL, index, plumb_mlir_i64(d, size), scale)
                           : plumb_mlir_mul(d, index, plumb_mlir_i64(d, size));
    address = gep_sum(d, address, scaled, sum);
  }
  *out_address = address;
  return true;
}

bool plumb_mlir_llvm_decode_gep(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute type;
  const int64_t *raw;
  size_t count;
  plumb_mlir_flat flat;
  if (!plumb_mlir_attribute(op, "elem_type", &type) ||
      !plumb_mlir_attribute_ints(d, op, "rawConstantIndices", &raw, &count))
    return plumb_mlir_reject(d, "no element type or indices");
  if (!plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &flat)) return false;
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  for (size_t e = 0; e < flat.count; e++)
    if (!gep_element(d, op, mlirTypeAttrGetValue(type), raw, count, e, &regs[e])) return false;
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

/* --- atomics --- */

/* AtomicBinOp of LLVMEnums.td, in its order. */
static const int atomic_kinds[] = {PLUMB_ATOMIC_EXCH,
                                   PLUMB_ATOMIC_ADD,
                                   PLUMB_ATOMIC_SUB,
                                   PLUMB_ATOMIC_AND,
                                   PLUMB_ATOMIC_NAND,
                                   PLUMB_ATOMIC_OR,
                                   PLUMB_ATOMIC_XOR,
                                   PLUMB_ATOMIC_MAX_S,
                                   PLUMB_ATOMIC_MIN_S,
                                   PLUMB_ATOMIC_MAX_U,
                                   PLUMB_ATOMIC_MIN_U,
                                   PLUMB_ATOMIC_ADD,
                                   PLUMB_ATOMIC_SUB,
                                   PLUMB_ATOMIC_FMAX,
                                   PLUMB_ATOMIC_FMIN,
                                   PLUMB_ATOMIC_INC,
                                   PLUMB_ATOMIC_DEC,
                                   -1,
                                   -1,
                                   PLUMB_ATOMIC_FMAXIMUM,
                                   PLUMB_ATOMIC_FMINIMUM};

bool plumb_mlir_llvm_decode_atomicrmw(plumb_mlir_decoder *d, MlirOperation op,
                                      const plumb_mlir_op *row) {
  (void)row;
  int64_t kind = -1;
  plumb_mlir_attribute_int(op, "bin_op", &kind);
  if (kind < 0 || (size_t)kind >= sizeof atomic_kinds / sizeof *atomic_kinds ||
      atomic_kinds[kind] < 0)
    return plumb_mlir_reject(d, "atomic operation %lld", (long long)kind);
  plumb_mlir_run value = plumb_mlir_operand(d, op, 1);
  if (value.count != 1) return plumb_mlir_reject(d, "a vector");
  plumb_mlir_run result = plumb_mlir_fresh_result(d, op, 0);
  if (result.count != 1) return false;
  plumb_dtype type = plumb_reg_type(d->b.function, result.regs[0]);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_ATOMIC, type, result.regs, 1,
                                 (plumb_reg[]){plumb_mlir_operand1(d, op, 0), value.regs[0]}, 2);
  inst->sub = (uint8_t)atomic_kinds[kind];
  set_access(inst, plumb_mlir_llvm_space(plumb_mlir_operand_type(op, 0)), 0, 0,
             plumb_mlir_llvm_order(d, op, "ordering"));
  return true;
}

bool plumb_mlir_llvm_decode_cmpxchg(plumb_mlir_decoder *d, MlirOperation op,
                                    const plumb_mlir_op *row) {
  (void)row;
  plumb_reg expected = plumb_mlir_operand1(d, op, 1);
  plumb_dtype type;
  int bits;
  if (!plumb_mlir_scalar_type(plumb_mlir_operand_type(op, 1), &type, &bits))
    return plumb_mlir_reject(d, "a value that is not a scalar");
  plumb_reg old = plumb_reg_create(d->b.function, type);
  plumb_inst *inst = plumb_build(
      &d->b, PLUMB_OP_ATOMIC, type, &old, 1,
      (plumb_reg[]){plumb_mlir_operand1(d, op, 0), expected, plumb_mlir_operand1(d, op, 2)}, 3);
  inst->sub = PLUMB_ATOMIC_CAS;
  set_access(inst, plumb_mlir_llvm_space(plumb_mlir_operand_type(op, 0)), 0, 0,
             plumb_mlir_llvm_order(d, op, "success_ordering"));
  plumb_reg same = plumb_build_cmp(&d->b, PLUMB_CMP_EQ, type, old, expected);
  plumb_mlir_define_result(d, op, 0, (plumb_reg[]){old, same}, 2);
  return true;
}

bool plumb_mlir_llvm_decode_fence(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)row;
  plumb_build(&d->b, PLUMB_OP_FENCE, PLUMB_I1, NULL, 0, NULL, 0)->flags |=
      plumb_mlir_llvm_order(d, op, "ordering");
  return true;
}

/* MLIR types as flat lists of element types. Sizes and alignments of LLVM types follow the
 * NVPTX data layout (natural alignment). */
#include <stdlib.h>
#include <string.h>

#include "ir/mlir/decode_internal.h"
#include "ir/mlir/tables.h"
#include "mlir-c/Dialect/LLVM.h"

/* Results and operands of an instruction are counted in 16 bits. */
enum { MOST_REGISTERS = 32768 };

typedef struct float_row {
  bool (*is)(MlirType);
  plumb_dtype dtype;
} float_row;

static const float_row float_rows[] = {
    {mlirTypeIsAF32, PLUMB_F32},
    {mlirTypeIsAF64, PLUMB_F64},
    {mlirTypeIsAF16, PLUMB_F16},
    {mlirTypeIsABF16, PLUMB_BF16},
    {mlirTypeIsATF32, PLUMB_TF32},
    {mlirTypeIsAFloat8E4M3FN, PLUMB_E4M3},
    {mlirTypeIsAFloat8E5M2, PLUMB_E5M2},
    {mlirTypeIsAFloat4E2M1FN, PLUMB_E2M1},
    {mlirTypeIsAFloat6E2M3FN, PLUMB_E2M3},
    {mlirTypeIsAFloat6E3M2FN, PLUMB_E3M2},
    {mlirTypeIsAFloat8E8M0FNU, PLUMB_UE8M0},
};

static bool integer_container(unsigned width, plumb_dtype *out_dtype) {
  if (width == 0 || width > 128) return false;
  *out_dtype = width == 1    ? PLUMB_I1
               : width <= 8  ? PLUMB_I8
               : width <= 16 ? PLUMB_I16
               : width <= 32 ? PLUMB_I32
               : width <= 64 ? PLUMB_I64
                             : PLUMB_I128;
  return true;
}

bool plumb_mlir_scalar_type(MlirType type, plumb_dtype *out_dtype, int *out_bits) {
  if (mlirTypeIsAInteger(type)) {
    unsigned width = mlirIntegerTypeGetWidth(type);
    *out_bits = (int)width;
    return integer_container(width, out_dtype);
  }
  *out_bits = 64;
  *out_dtype = PLUMB_I64;
  if (mlirTypeIsAIndex(type) || mlirTypeIsALLVMPointerType(type)) return true;
  for (size_t i = 0; i < sizeof float_rows / sizeof *float_rows; i++)
    if (float_rows[i].is(type)) {
      *out_dtype = float_rows[i].dtype;
      *out_bits = plumb_dtype_table[*out_dtype].bits;
      return true;
    }
  return false;
}

MlirType plumb_mlir_element_type(MlirType type) {
  if (mlirTypeIsAShaped(type)) return mlirShapedTypeGetElementType(type);
  return type;
}

typedef struct flat_list {
  plumb_mlir_decoder *d;
  plumb_dtype *types;
  size_t count, capacity;
  int bits; /* -1 before the first */
} flat_list;

static bool push(flat_list *list, plumb_dtype dtype, int bits, size_t times) {
  if (times > MOST_REGISTERS || list->count + times > MOST_REGISTERS)
    return plumb_mlir_reject(list->d, "a value of more than %d elements", MOST_REGISTERS);
  list->types = plumb_arena_grow(list->d->arena, list->types, &list->capacity, list->count + times,
                                 sizeof *list->types);
  for (size_t i = 0; i < times; i++) list->types[list->count++] = dtype;
  if (times) list->bits = list->bits < 0 || list->bits == bits ? bits : 0;
  return true;
}

static bool flatten(flat_list *list, MlirType type);

/* `times` copies of what `element` flattens to. */
static bool push_array(flat_list *list, MlirType element, int64_t times) {
  if (times < 0 || times > MOST_REGISTERS)
    return plumb_mlir_reject(list->d, "a value of more than %d elements", MOST_REGISTERS);
  for (int64_t i = 0; i < times; i++)
    if (!flatten(list, element)) return false;
  return true;
}

static bool flatten_vector(flat_list *list, MlirType type) {
  if (mlirVectorTypeIsScalable(type)) return plumb_mlir_reject(list->d, "a scalable vector");
  int64_t times = 1;
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); i++) {
    times *= mlirShapedTypeGetDimSize(type, i);
    if (times > MOST_REGISTERS) break;
  }
  return push_array(list, mlirShapedTypeGetElementType(type), times);
}

/* Types of the LLVM dialect that the C API cannot ask for: by their text. */
static bool flatten_text(flat_list *list, MlirType type) {
  const char *text = plumb_mlir_print_type(list->d, type);
  static const char array[] = "!llvm.array<";
  if (strncmp(text, array, sizeof array - 1) == 0)
    return push_array(list, mlirLLVMArrayTypeGetElementType(type),
                      strtoll(text + sizeof array - 1, NULL, 10));
  if (strncmp(text, "!llvm.void", 10) == 0 || strncmp(text, "!gpu.async.token", 16) == 0 ||
      strncmp(text, "!llvm.token", 11) == 0 || strncmp(text, "!llvm.metadata", 14) == 0)
    return true;
  plumb_dtype dtype;
  size_t count;
  if (plumb_mlir_mma_matrix(text, &dtype, &count))
    return push(list, dtype, plumb_dtype_table[dtype].bits, count);
  return plumb_mlir_reject(list->d, "type %s", text);
}

static bool flatten(flat_list *list, MlirType type) {
  plumb_dtype dtype;
  int bits;
  if (plumb_mlir_scalar_type(type, &dtype, &bits)) return push(list, dtype, bits, 1);
  if (mlirTypeIsAVector(type)) return flatten_vector(list, type);
  if (mlirTypeIsAMemRef(type) || mlirTypeIsARankedTensor(type))
    return push(list, PLUMB_I64, 64, 3 + 2 * (size_t)mlirShapedTypeGetRank(type));
  /* Unranked: rank and generic address of a descriptor in memory, as LLVM's lowering. */
  if (mlirTypeIsAUnrankedMemRef(type)) return push(list, PLUMB_I64, 64, 2);
  if (mlirTypeIsAComplex(type)) return push_array(list, mlirComplexTypeGetElementType(type), 2);
  if (mlirTypeIsANone(type)) return true;
  if (mlirTypeIsAFunction(type)) return push(list, PLUMB_I64, 64, 1);
  if (mlirTypeIsATuple(type)) {
    for (intptr_t i = 0; i < mlirTupleTypeGetNumTypes(type); i++)
      if (!flatten(list, mlirTupleTypeGetType(type, i))) return false;
    return true;
  }
  if (mlirTypeIsALLVMStructType(type)) {
    if (mlirLLVMStructTypeIsOpaque(type)) return flatten_text(list, type);
    for (intptr_t i = 0; i < mlirLLVMStructTypeGetNumElementTypes(type); i++)
      if (!flatten(list, mlirLLVMStructTypeGetElementType(type, i))) return false;
    return true;
  }
  return flatten_text(list, type);
}

bool plumb_mlir_flatten(plumb_mlir_decoder *d, MlirType type, plumb_mlir_flat *out_flat) {
  plumb_mlir_tables *t = d->tables;
  void *table = t->types;
  plumb_mlir_type_row *row = plumb_mlir_row(d->arena, t->types, &t->type_count, &t->type_capacity,
                                            sizeof *row, type.ptr, &table);
  t->types = table;
  if (row->known) {
    *out_flat = row->flat;
    return true;
  }
  flat_list list = {.d = d, .bits = -1};
  bool known = flatten(&list, type);
  *out_flat = (plumb_mlir_flat){list.types, known ? list.count : 0, list.bits < 0 ? 0 : list.bits};
  row->known = known;
  row->flat = *out_flat;
  return known;
}

bool plumb_mlir_element_layout(plumb_mlir_decoder *d, MlirType shaped,
                               plumb_mlir_element *out_element) {
  MlirType element = plumb_mlir_element_type(shaped);
  *out_element = (plumb_mlir_element){.count = 1, .row = 1};
  if (plumb_mlir_scalar_type(element, &out_element->dtype, &out_element->bits)) {
    out_element->bytes = out_element->row_bytes = plumb_dtype_bytes(out_element->dtype);
    return true;
  }
  plumb_mlir_flat flat;
  if (!plumb_mlir_flatten(d, element, &flat)) return false;
  for (size_t i = 1; i < flat.count; i++)
    if (flat.types[i] != flat.types[0])
      return plumb_mlir_reject(d, "buffer of %s", plumb_mlir_print_type(d, element));
  if (!flat.count) return plumb_mlir_reject(d, "buffer of %s", plumb_mlir_print_type(d, element));
  out_element->dtype = flat.types[0];
  out_element->bits = flat.bits;
  out_element->count = out_element->row = flat.count;
  /* Only the innermost dimension is an LLVM vector; outer ones are arrays of it. */
  bool vector = mlirTypeIsAVector(element) && mlirShapedTypeGetRank(element) > 0;
  if (vector)
    out_element->row =
        (size_t)mlirShapedTypeGetDimSize(element, mlirShapedTypeGetRank(element) - 1);
  int64_t packed = (int64_t)out_element->row * plumb_dtype_bytes(flat.types[0]);
  out_element->row_bytes = vector ? 1 : packed;
  while (out_element->row_bytes < packed) out_element->row_bytes *= 2;
  out_element->bytes = (int64_t)(flat.count / out_element->row) * out_element->row_bytes;
  return true;
}

plumb_space plumb_mlir_space_of_number(int64_t address_space) {
  switch (address_space) {
    case 1:
      return PLUMB_SPACE_GLOBAL;
    case 3:
    case 7: /* shared::cluster */
      return PLUMB_SPACE_SHARED;
    case 4:
      return PLUMB_SPACE_CONST;
    case 5:
      return PLUMB_SPACE_LOCAL;
    case 101:
      return PLUMB_SPACE_PARAM;
    default:
      return PLUMB_SPACE_GENERIC;
  }
}

static void copy_text(MlirStringRef part, void *data) {
  char *text = data;
  size_t used = strlen(text);
  size_t room = 127 - used;
  size_t length = part.length < room ? part.length : room;
  memcpy(text + used, part.data, length);
  text[used + length] = 0;
}

plumb_space plumb_mlir_memory_space(MlirType memref) {
  if (mlirTypeIsATensor(memref)) return PLUMB_SPACE_GENERIC;
  MlirAttribute space = mlirTypeIsAUnrankedMemRef(memref) ? mlirUnrankedMemrefGetMemorySpace(memref)
                                                          : mlirMemRefTypeGetMemorySpace(memref);
  if (mlirAttributeIsNull(space)) return PLUMB_SPACE_GENERIC;
  if (mlirAttributeIsAInteger(space))
    return plumb_mlir_space_of_number(mlirIntegerAttrGetValueInt(space));
  char text[128] = "";
  mlirAttributePrint(space, copy_text, text);
  if (plumb_mlir_text_has(text, "workgroup") || plumb_mlir_text_has(text, "shared"))
    return PLUMB_SPACE_SHARED;
  if (plumb_mlir_text_has(text, "private")) return PLUMB_SPACE_LOCAL;
  if (plumb_mlir_text_has(text, "global")) return PLUMB_SPACE_GLOBAL;
  if (plumb_mlir_text_has(text, "constant")) return PLUMB_SPACE_CONST;
  return PLUMB_SPACE_GENERIC;
}

bool plumb_mlir_static_layout(MlirType memref, int64_t *out_strides, int64_t *out_offset) {
  int64_t offset = 0;
  if (mlirLogicalResultIsFailure(mlirMemRefTypeGetStridesAndOffset(memref, out_strides, &offset)))
    return false;
  *out_offset = offset; /* dynamic is INT64_MIN in MLIR too */
  return true;
}

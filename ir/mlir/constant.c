/* Constants, and integer arithmetic that folds where all operands are constants. */
#include <string.h>

#include "ir/mlir/decode_internal.h"

plumb_reg plumb_mlir_i64(plumb_mlir_decoder *d, int64_t value) {
  return plumb_constant_i64(d->program, value);
}

plumb_reg plumb_mlir_constant_double(plumb_mlir_decoder *d, plumb_dtype dtype, double value) {
  return plumb_constant(d->program, dtype, plumb_dtype_from_double(dtype, value));
}

const char *plumb_mlir_unique_name(plumb_mlir_decoder *d, const char *stem) {
  size_t n = d->program->function_count + d->program->global_count;
  for (;; n++) {
    const char *name = plumb_arena_printf(d->arena, "%s.%zu", stem, n);
    if (!plumb_program_find(d->program, name) &&
        plumb_program_find_global(d->program, name) == SIZE_MAX)
      return name;
  }
}

/* --- attributes --- */

typedef struct word128 {
  uint64_t lo, hi;
} word128;

/* A scalar attribute as a dense one, whose raw data has the exact bits (NaN payloads and
 * integers of any width too). */
static MlirAttribute as_dense(MlirAttribute value) {
  MlirType type = mlirAttributeGetType(value);
  int64_t one = 1;
  MlirType shaped = mlirRankedTensorTypeGet(1, &one, type, mlirAttributeGetNull());
  return mlirDenseElementsAttrSplatGet(shaped, value);
}

static size_t stored_bytes(MlirType element) {
  if (mlirTypeIsAInteger(element)) return (mlirIntegerTypeGetWidth(element) + 7) / 8;
  if (mlirTypeIsAIndex(element)) return 8;
  return (mlirFloatTypeGetWidth(element) + 7) / 8;
}

/* tf32 is held in memory and registers as an f32; MLIR stores its 19 bits. */
static word128 from_stored(MlirType element, word128 w) {
  if (mlirTypeIsATF32(element)) w.lo <<= 13;
  return w;
}

/* Stored element `index`. */
static word128 dense_element(MlirAttribute dense, MlirType element, intptr_t index) {
  word128 w = {0, 0};
  if (mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) == 1) {
    w.lo = mlirDenseElementsAttrGetBoolValue(dense, index);
    return w;
  }
  size_t bytes = stored_bytes(element);
  const uint8_t *raw = mlirDenseElementsAttrGetRawData(dense);
  memcpy(&w, raw + (size_t)index * bytes, bytes);
  if (mlirTypeIsAInteger(element)) {
    unsigned width = mlirIntegerTypeGetWidth(element);
    if (width < 64) w.lo &= (UINT64_C(1) << width) - 1;
    if (width > 64 && width < 128) w.hi &= (UINT64_C(1) << (width - 64)) - 1;
  }
  return from_stored(element, w);
}

static bool resource_element(MlirAttribute a, MlirType element, intptr_t i, word128 *out) {
  *out = (word128){0, 0};
  if (mlirTypeIsAF32(element)) {
    float value = mlirDenseFloatResourceElementsAttrGetValue(a, i);
    memcpy(&out->lo, &value, sizeof value);
    return true;
  }
  if (mlirTypeIsAF64(element)) {
    double value = mlirDenseDoubleResourceElementsAttrGetValue(a, i);
    memcpy(&out->lo, &value, sizeof value);
    return true;
  }
  if (!mlirTypeIsAInteger(element) || !mlirIntegerTypeIsSignless(element)) return false;
  switch (mlirIntegerTypeGetWidth(element)) {
    case 8:
      return out->lo = (uint8_t)mlirDenseInt8ResourceElementsAttrGetValue(a, i), true;
    case 16:
      return out->lo = (uint16_t)mlirDenseInt16ResourceElementsAttrGetValue(a, i), true;
    case 32:
      return out->lo = (uint32_t)mlirDenseInt32ResourceElementsAttrGetValue(a, i), true;
    case 64:
      return out->lo = (uint64_t)mlirDenseInt64ResourceElementsAttrGetValue(a, i), true;
    default:
      return false;
  }
}

/* Number of scalars in the attribute, and each of them by index. */
typedef struct source {
  MlirAttribute attribute;
  MlirType element;
  intptr_t count;
  intptr_t parts; /* scalars an element: 2 when complex */
  bool resource;
  bool splat;
} source;

static bool open_source(plumb_mlir_decoder *d, MlirAttribute value, source *out) {
  *out = (source){.attribute = value, .parts = 1};
  if (mlirAttributeIsABool(value) || mlirAttributeIsAInteger(value) || mlirAttributeIsAFloat(value))
    out->attribute = value = as_dense(value);
  if (mlirAttributeIsNull(value)) return plumb_mlir_reject(d, "a constant without a value");
  if (mlirAttributeIsADenseElements(value)) {
    out->count = mlirElementsAttrGetNumElements(value);
    out->splat = mlirDenseElementsAttrIsSplat(value);
  } else if (mlirAttributeIsADenseResourceElements(value)) {
    out->resource = true;
    out->count = mlirElementsAttrGetNumElements(value);
  } else {
    return plumb_mlir_reject(d, "constant %.80s", plumb_mlir_print_attribute(d, value));
  }
  out->element = mlirShapedTypeGetElementType(mlirAttributeGetType(value));
  if (mlirTypeIsAComplex(out->element)) {
    out->element = mlirComplexTypeGetElementType(out->element);
    out->parts = 2;
    out->count *= 2;
  }
  plumb_dtype dtype;
  int bits;
  if (!plumb_mlir_scalar_type(out->element, &dtype, &bits))
    return plumb_mlir_reject(d, "constant of %s", plumb_mlir_print_type(d, out->element));
  return true;
}

static bool source_get(plumb_mlir_decoder *d, const source *s, intptr_t index, word128 *out) {
  if (s->resource && !resource_element(s->attribute, s->element, index, out))
    return plumb_mlir_reject(d, "resource of %s", plumb_mlir_print_type(d, s->element));
  if (!s->resource)
    *out = dense_element(s->attribute, s->element, s->splat ? index % s->parts : index);
  return true;
}

static plumb_reg constant_of(plumb_mlir_decoder *d, plumb_dtype dtype, word128 w) {
  if (dtype == PLUMB_I128) return plumb_constant128(d->program, w.lo, w.hi);
  return plumb_constant(d->program, dtype, w.lo);
}

/* Complex and struct constants are written as arrays of their members. */
static bool constant_array(plumb_mlir_decoder *d, MlirAttribute value, const plumb_mlir_flat *flat,
                           plumb_reg *regs) {
  size_t filled = 0;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(value); i++) {
    source s;
    if (!open_source(d, mlirArrayAttrGetElement(value, i), &s)) return false;
    for (intptr_t j = 0; j < s.count; j++) {
      word128 w;
      if (filled == flat->count || !source_get(d, &s, j, &w))
        return plumb_mlir_reject(d, "constant %.80s", plumb_mlir_print_attribute(d, value));
      regs[filled] = constant_of(d, flat->types[filled], w);
      filled++;
    }
  }
  return filled == flat->count || plumb_mlir_reject(d, "a constant with too few members");
}

bool plumb_mlir_constant_run(plumb_mlir_decoder *d, MlirAttribute value, MlirType type,
                             plumb_mlir_run *out_run) {
  plumb_mlir_flat flat;
  if (!plumb_mlir_flatten(d, type, &flat)) return false;
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  *out_run = (plumb_mlir_run){regs, flat.count};
  if (mlirAttributeIsAArray(value)) return constant_array(d, value, &flat, regs);
  source s;
  if (!open_source(d, value, &s)) return false;
  if (!s.splat && (size_t)s.count != flat.count)
    return plumb_mlir_reject(d, "a constant of %zd elements for %zu", s.count, flat.count);
  for (size_t i = 0; i < flat.count; i++) {
    word128 w;
    if (!source_get(d, &s, (intptr_t)i, &w)) return false;
    regs[i] = constant_of(d, flat.types[i], w);
  }
  return true;
}

bool plumb_mlir_constant_bytes(plumb_mlir_decoder *d, MlirAttribute value, MlirType shaped,
                               const uint8_t **out_bytes, uint64_t *out_size_bytes) {
  plumb_mlir_element element;
  source s;
  if (!plumb_mlir_element_layout(d, shaped, &element) || !open_source(d, value, &s)) return false;
  int64_t elements = 1;
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(shaped); i++) {
    if (mlirShapedTypeIsDynamicDim(shaped, i))
      return plumb_mlir_reject(d, "a constant of dynamic shape");
    if (__builtin_mul_overflow(elements, mlirShapedTypeGetDimSize(shaped, i), &elements))
      return plumb_mlir_reject(d, "a constant too large");
  }
  if (elements > INT32_MAX / element.bytes) return plumb_mlir_reject(d, "a constant too large");
  uint64_t size = (uint64_t)(elements * element.bytes);
  uint8_t *bytes = plumb_arena_alloc(d->arena, size);
  size_t width = plumb_dtype_bytes(element.dtype);
  for (int64_t i = 0; i < elements; i++)
    for (size_t j = 0; j < element.count; j++) {
      word128 w;
      if (!source_get(d, &s, (intptr_t)i * (intptr_t)element.count + (intptr_t)j, &w)) return false;
      memcpy(bytes + i * element.bytes + plumb_mlir_element_offset(&element, j), &w, width);
    }
  *out_bytes = bytes;
  *out_size_bytes = size;
  return true;
}

/* --- arithmetic --- */

bool plumb_mlir_reg_value(plumb_mlir_decoder *d, plumb_reg r, int64_t *out_value) {
  if (!plumb_reg_is_const(r)) return false;
  const plumb_const *c = &d->program->consts[plumb_reg_const_index(r)];
  if (c->type != PLUMB_I64) return false;
  *out_value = (int64_t)c->bits;
  return true;
}

static int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

typedef struct two {
  bool has_a, has_b;
  int64_t a, b;
} two;

static two values_of(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b) {
  two v = {0};
  v.has_a = plumb_mlir_reg_value(d, a, &v.a);
  v.has_b = plumb_mlir_reg_value(d, b, &v.b);
  return v;
}

plumb_reg plumb_mlir_add(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b) {
  two v = values_of(d, a, b);
  if (v.has_a && v.has_b) return plumb_mlir_i64(d, (int64_t)((uint64_t)v.a + (uint64_t)v.b));
  if (v.has_a && v.a == 0) return b;
  if (v.has_b && v.b == 0) return a;
  return plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I64, a, b);
}

plumb_reg plumb_mlir_sub(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b) {
  two v = values_of(d, a, b);
  if (v.has_a && v.has_b) return plumb_mlir_i64(d, (int64_t)((uint64_t)v.a - (uint64_t)v.b));
  if (v.has_b && v.b == 0) return a;
  return plumb_build2(&d->b, PLUMB_OP_SUB, PLUMB_I64, a, b);
}

plumb_reg plumb_mlir_mul(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b) {
  two v = values_of(d, a, b);
  if (v.has_a && v.has_b) return plumb_mlir_i64(d, (int64_t)((uint64_t)v.a * (uint64_t)v.b));
  if (v.has_a && v.a == 1) return b;
  if (v.has_b && v.b == 1) return a;
  return plumb_build2(&d->b, PLUMB_OP_MUL, PLUMB_I64, a, b);
}

plumb_reg plumb_mlir_floordiv(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b) {
  two v = values_of(d, a, b);
  if (v.has_a && v.has_b && v.b > 0) return plumb_mlir_i64(d, floor_div(v.a, v.b));
  if (v.has_b && v.b == 1) return a;
  return plumb_build2(&d->b, PLUMB_OP_FLOORDIV_S, PLUMB_I64, a, b);
}

plumb_reg plumb_mlir_ceildiv(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b) {
  two v = values_of(d, a, b);
  if (v.has_a && v.has_b && v.b > 0)
    return plumb_mlir_i64(d, floor_div(v.a, v.b) + (v.a % v.b != 0));
  if (v.has_b && v.b == 1) return a;
  return plumb_build2(&d->b, PLUMB_OP_CEILDIV_S, PLUMB_I64, a, b);
}

plumb_reg plumb_mlir_mod(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b) {
  two v = values_of(d, a, b);
  if (v.has_a && v.has_b && v.b > 0) return plumb_mlir_i64(d, v.a - floor_div(v.a, v.b) * v.b);
  plumb_reg quotient = plumb_mlir_floordiv(d, a, b);
  return plumb_mlir_sub(d, a, plumb_mlir_mul(d, quotient, b));
}

plumb_reg plumb_mlir_extend(plumb_mlir_decoder *d, plumb_dtype dtype, int bits, plumb_reg r) {
  int container = plumb_dtype_table[dtype].bits;
  if (dtype == PLUMB_I1 || bits <= 0 || bits >= container) return r;
  plumb_reg shift = plumb_constant(d->program, dtype, (uint64_t)(container - bits));
  plumb_reg high = plumb_build2(&d->b, PLUMB_OP_SHL, dtype, r, shift);
  return plumb_build2(&d->b, PLUMB_OP_SHR_S, dtype, high, shift);
}

plumb_reg plumb_mlir_mask(plumb_mlir_decoder *d, plumb_dtype dtype, int bits, plumb_reg r) {
  int container = plumb_dtype_table[dtype].bits;
  if (dtype == PLUMB_I1 || plumb_dtype_is_float(dtype) || bits <= 0 || bits >= container) return r;
  plumb_reg ones = dtype == PLUMB_I128
                       ? plumb_constant128(d->program, UINT64_MAX, (UINT64_C(1) << (bits - 64)) - 1)
                       : plumb_constant(d->program, dtype, (UINT64_C(1) << bits) - 1);
  return plumb_build2(&d->b, PLUMB_OP_AND, dtype, r, ones);
}

/* Conversions (op CVT): vector loops for what kernels do often, and one exact path for
 * every pair of types, rounding mode and flag (float_convert.h). */
#include <math.h>

#include "targets/cpu/alu_lanes.h"
#include "targets/cpu/float_convert.h"

typedef unsigned __int128 wide;

enum {
  FLUSH_IN = PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN,
  FLUSH_OUT = PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_OUT,
  MODIFIERS = FLUSH_IN | FLUSH_OUT | PLUMB_FLAG_SAT | PLUMB_FLAG_RELU | PLUMB_FLAG_SATFINITE |
              PLUMB_FLAG_ABS_OP
};

/* --- integer to integer --- */

#define INT_LOOP(TO, FROM)                    \
  do {                                        \
    TO *r = x->results[0];                    \
    const FROM *a = x->operands[0];           \
    LANES { r[l] = (TO)a[l]; }                \
    return true;                              \
  } while (0)

#define INT_TARGETS(FROM)                     \
  switch (to) {                               \
  case PLUMB_I8: INT_LOOP(uint8_t, FROM);     \
  case PLUMB_I16: INT_LOOP(uint16_t, FROM);   \
  case PLUMB_I32: INT_LOOP(uint32_t, FROM);   \
  case PLUMB_I64: INT_LOOP(uint64_t, FROM);   \
  default: return false;                      \
  }

VECTOR_CLONES
static bool int_to_int(const lanes *x, plumb_dtype to, plumb_dtype from, bool is_signed) {
  size_t lo = x->lo, hi = x->hi;
  switch (from) {
  case PLUMB_I8:
    if (is_signed) INT_TARGETS(int8_t)
    INT_TARGETS(uint8_t)
  case PLUMB_I16:
    if (is_signed) INT_TARGETS(int16_t)
    INT_TARGETS(uint16_t)
  case PLUMB_I32:
    if (is_signed) INT_TARGETS(int32_t)
    INT_TARGETS(uint32_t)
  case PLUMB_I64:
    if (is_signed) INT_TARGETS(int64_t)
    INT_TARGETS(uint64_t)
  case PLUMB_I1:
    if (!is_signed) INT_TARGETS(uint8_t)
    return false;
  default: return false;
  }
}

/* --- integer to float, to nearest --- */

#define FLOAT_TARGETS(FROM)                   \
  if (to == PLUMB_F32) INT_LOOP(float, FROM); \
  INT_LOOP(double, FROM)

VECTOR_CLONES
static bool int_to_float(const lanes *x, plumb_dtype to, plumb_dtype from, bool is_signed) {
  size_t lo = x->lo, hi = x->hi;
  switch (from) {
  case PLUMB_I8:
    if (is_signed) { FLOAT_TARGETS(int8_t); }
    FLOAT_TARGETS(uint8_t);
  case PLUMB_I16:
    if (is_signed) { FLOAT_TARGETS(int16_t); }
    FLOAT_TARGETS(uint16_t);
  case PLUMB_I32:
    if (is_signed) { FLOAT_TARGETS(int32_t); }
    FLOAT_TARGETS(uint32_t);
  case PLUMB_I64:
    if (is_signed) { FLOAT_TARGETS(int64_t); }
    FLOAT_TARGETS(uint64_t);
  default: return false;
  }
}

/* --- float to integer, toward zero --- */

/* Values outside (LOW, HIGH) clamp; both bounds are floats exactly, and what is cast is
 * always in range. NaN as the PTX rule says (ptx.md 1). */
#define TRUNCATE_LOOP(TO, FROM, LOW, HIGH, LEAST, MOST, NAN_VALUE)        \
  do {                                                                    \
    TO *r = x->results[0];                                                \
    const FROM *a = x->operands[0];                                       \
    LANES {                                                               \
      FROM v = a[l];                                                      \
      bool inside = v > (FROM)(LOW) && v < (FROM)(HIGH);                  \
      TO cast = (TO)(inside ? v : 0);                                     \
      TO clamped = v >= (FROM)(HIGH) ? (MOST) : (LEAST);                  \
      clamped = v != v ? (TO)(NAN_VALUE) : clamped;                       \
      r[l] = inside ? cast : clamped;                                     \
    }                                                                     \
    return true;                                                          \
  } while (0)

VECTOR_CLONES
static bool f32_to_int(const lanes *x, plumb_dtype to, bool is_signed) {
  size_t lo = x->lo, hi = x->hi;
  if (to == PLUMB_I32 && is_signed)
    TRUNCATE_LOOP(int32_t, float, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX, 0);
  if (to == PLUMB_I32) TRUNCATE_LOOP(uint32_t, float, -1, 0x1p32, 0, UINT32_MAX, 0);
  if (to == PLUMB_I64 && is_signed)
    TRUNCATE_LOOP(int64_t, float, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX, INT64_MIN);
  if (to == PLUMB_I64) TRUNCATE_LOOP(uint64_t, float, -1, 0x1p64, 0, UINT64_MAX, 1ull << 63);
  return false;
}

VECTOR_CLONES
static bool f64_to_int(const lanes *x, plumb_dtype to, bool is_signed) {
  size_t lo = x->lo, hi = x->hi;
  if (to == PLUMB_I32 && is_signed)
    TRUNCATE_LOOP(int32_t, double, -0x1p31 - 1, 0x1p31, INT32_MIN, INT32_MAX, INT32_MIN);
  if (to == PLUMB_I32) TRUNCATE_LOOP(uint32_t, double, -1, 0x1p32, 0, UINT32_MAX, 1u << 31);
  if (to == PLUMB_I64 && is_signed)
    TRUNCATE_LOOP(int64_t, double, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX, INT64_MIN);
  if (to == PLUMB_I64) TRUNCATE_LOOP(uint64_t, double, -1, 0x1p64, 0, UINT64_MAX, 1ull << 63);
  return false;
}

/* --- float to float, to nearest --- */

static inline float f32_of_f16(uint16_t half) {
  /* Shifted into place the exponent is too small by 112: a multiplication mends it, exactly,
   * for subnormals too. Infinity and NaN then lie at 2^16 and above. */
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  uint32_t shifted = (uint32_t)(half & 0x7fffu) << 13;
  float magnitude = f32_of(shifted) * 0x1p112f;
  uint32_t bits = bits_of_f32(magnitude);
  bits = (half & 0x7fffu) >= 0x7c00u ? bits | 0x7f800000u : bits;
  return (half & 0x7fffu) > 0x7c00u ? f32_of(PLUMB_F32_NAN) : f32_of(bits | sign);
}

static inline float f32_of_bf16(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  return f32_of((half & 0x7fffu) > 0x7f80u ? PLUMB_F32_NAN : bits);
}

/* Normal results: add half an ulp of f16 less one, plus the lowest kept bit, to the f32
 * pattern. Below 2^-14 the addition of 0.5 aligns the value at f16's fixed quantum 2^-24
 * and rounds in hardware. */
static inline uint16_t f16_of_f32(float value) {
  uint32_t bits = bits_of_f32(value), magnitude = bits & 0x7fffffffu;
  uint32_t sign = bits >> 16 & 0x8000u;
  uint32_t rebased = magnitude - (112u << 23);
  uint32_t normal = (rebased + 0xfffu + (rebased >> 13 & 1)) >> 13;
  uint32_t subnormal = bits_of_f32(f32_of(magnitude < 0x38800000u ? magnitude : 0) + 0.5f) -
                       0x3f000000u;
  uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  finite = magnitude >= 0x477ff000u ? 0x7c00u : finite;
  return (uint16_t)(magnitude > 0x7f800000u ? PLUMB_HALF_NAN : sign | finite);
}

static inline uint16_t bf16_of_f32(float value) {
  uint32_t bits = bits_of_f32(value);
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? PLUMB_HALF_NAN : rounded);
}

#define FLOAT_LOOP(TO, FROM, EXPRESSION)      \
  do {                                        \
    TO *r = x->results[0];                    \
    const FROM *a = x->operands[0];           \
    LANES {                                   \
      FROM v = a[l];                          \
      r[l] = (EXPRESSION);                    \
    }                                         \
    return true;                              \
  } while (0)

VECTOR_CLONES
static bool float_to_float(const lanes *x, plumb_dtype to, plumb_dtype from) {
  size_t lo = x->lo, hi = x->hi;
  if (to == PLUMB_F64 && from == PLUMB_F32) FLOAT_LOOP(double, float, (double)v);
  if (to == PLUMB_F32 && from == PLUMB_F64)
    FLOAT_LOOP(float, double, v == v ? (float)v : f32_of(PLUMB_F32_NAN));
  if (to == PLUMB_F32 && from == PLUMB_F16) FLOAT_LOOP(float, uint16_t, f32_of_f16(v));
  if (to == PLUMB_F32 && from == PLUMB_BF16) FLOAT_LOOP(float, uint16_t, f32_of_bf16(v));
  if (to == PLUMB_F64 && from == PLUMB_F16) FLOAT_LOOP(double, uint16_t, (double)f32_of_f16(v));
  if (to == PLUMB_F64 && from == PLUMB_BF16) FLOAT_LOOP(double, uint16_t, (double)f32_of_bf16(v));
  if (to == PLUMB_F16 && from == PLUMB_F32) FLOAT_LOOP(uint16_t, float, f16_of_f32(v));
  if (to == PLUMB_BF16 && from == PLUMB_F32) FLOAT_LOOP(uint16_t, float, bf16_of_f32(v));
  return false;
}

static bool execute_fast(const lanes *x, plumb_dtype to, plumb_dtype from) {
  const plumb_inst *inst = x->inst;
  bool source_signed = (inst->flags & PLUMB_FLAG_SRC_SIGNED) != 0;
  bool result_signed = (inst->flags & PLUMB_FLAG_DST_SIGNED) != 0;
  if (inst->flags & (uint32_t)MODIFIERS) return false;
  if (!plumb_dtype_is_float(to)) {
    if (!plumb_dtype_is_float(from)) return int_to_int(x, to, from, source_signed);
    if (inst->round != PLUMB_RZ) return false;
    return from == PLUMB_F32   ? f32_to_int(x, to, result_signed)
           : from == PLUMB_F64 ? f64_to_int(x, to, result_signed)
                               : false;
  }
  if (inst->round != PLUMB_RN) return false;
  if (plumb_dtype_is_float(from)) return float_to_float(x, to, from);
  return (to == PLUMB_F32 || to == PLUMB_F64) && int_to_float(x, to, from, source_signed);
}

/* --- every pair --- */

static wide low_mask(unsigned width) { return width == 128 ? ~(wide)0 : ((wide)1 << width) - 1; }

/* The source integer extended to 128 bits. */
static wide extended(wide bits, unsigned width, bool is_signed) {
  bits &= low_mask(width);
  if (is_signed && bits >> (width - 1) & 1) bits |= ~low_mask(width);
  return bits;
}

static wide saturated(wide value, bool source_signed, unsigned width, bool result_signed) {
  wide most = result_signed ? low_mask(width) >> 1 : low_mask(width);
  wide least = result_signed ? ~most : 0;
  bool negative = source_signed && value >> 127;
  if (negative) return !result_signed ? 0 : (__int128)value < (__int128)least ? least : value;
  return value > most ? most : value;
}

static wide convert_to_int(const plumb_inst *inst, wide bits, plumb_dtype to, plumb_dtype from) {
  unsigned width = plumb_dtype_table[to].bits;
  bool source_signed = (inst->flags & PLUMB_FLAG_SRC_SIGNED) != 0;
  bool result_signed = (inst->flags & PLUMB_FLAG_DST_SIGNED) != 0;
  if (!plumb_dtype_is_float(from)) {
    wide value = extended(bits, plumb_dtype_table[from].bits, source_signed);
    if (inst->flags & PLUMB_FLAG_SAT) value = saturated(value, source_signed, width, result_signed);
    return value & low_mask(width);
  }
  wide nan_bits = from == PLUMB_F64 || width >= 64 ? (wide)1 << (width - 1) : 0;
  plumb_unpacked u = plumb_unpack(from, (uint64_t)bits);
  return plumb_pack_int(&u, (plumb_round)inst->round, width, result_signed, nan_bits);
}

static uint64_t convert_to_float(const plumb_inst *inst, wide bits, plumb_dtype to,
                                 plumb_dtype from) {
  plumb_unpacked u;
  uint32_t flags = inst->flags;
  if (plumb_dtype_is_float(from)) {
    u = plumb_unpack(from, (uint64_t)bits);
    if (from == PLUMB_F64 && to == PLUMB_F64 && u.kind == PLUMB_IS_NAN &&
        !(flags & (PLUMB_FLAG_SAT | PLUMB_FLAG_RELU)))
      return (uint64_t)bits | PLUMB_F64_QUIET;
  } else {
    bool is_signed = (flags & PLUMB_FLAG_SRC_SIGNED) != 0;
    wide value = extended(bits, plumb_dtype_table[from].bits, is_signed);
    bool negative = is_signed && value >> 127;
    u = plumb_unpack_int(negative, negative ? 0 - value : value);
  }
  if (flags & PLUMB_FLAG_ABS_OP) u.negative = false;
  if (flags & (PLUMB_FLAG_SAT | PLUMB_FLAG_RELU)) {
    bool nan_to_zero = u.kind == PLUMB_IS_NAN && (flags & PLUMB_FLAG_SAT);
    if (nan_to_zero || (u.negative && u.kind != PLUMB_IS_NAN)) u = plumb_unpack_int(false, 0);
    bool above_one = u.kind == PLUMB_INFINITE || (u.kind == PLUMB_FINITE && u.exponent >= 0);
    if ((flags & PLUMB_FLAG_SAT) && above_one) u = plumb_unpack_int(false, 1);
  }
  uint64_t r = plumb_pack(to, &u, (plumb_round)inst->round, (flags & PLUMB_FLAG_SATFINITE) != 0);
  if ((flags & (uint32_t)FLUSH_OUT) && plumb_float_is_subnormal(to, r)) r &= plumb_float_sign_bit(to);
  return r;
}

bool plumb_alu_convert(const lanes *x) {
  const plumb_inst *inst = x->inst;
  plumb_dtype to = (plumb_dtype)inst->type, from = (plumb_dtype)inst->type2;
  if (inst->round >= PLUMB_RS) return false;
  if (execute_fast(x, to, from)) return true;
  unsigned to_bytes = plumb_dtype_bytes(to), from_bytes = plumb_dtype_bytes(from);
  for (size_t l = x->lo; l < x->hi; l++) {
    wide bits = 0, result;
    memcpy(&bits, (const char *)x->operands[0] + l * from_bytes, from_bytes);
    if (plumb_dtype_is_float(from) && (inst->flags & (uint32_t)FLUSH_IN) &&
        plumb_float_is_subnormal(from, (uint64_t)bits))
      bits &= plumb_float_sign_bit(from);
    result = plumb_dtype_is_float(to) ? convert_to_float(inst, bits, to, from)
                                      : convert_to_int(inst, bits, to, from);
    memcpy((char *)x->results[0] + l * to_bytes, &result, to_bytes);
  }
  return true;
}

/* Conversions (op CVT): vector loops for what kernels do often, and one exact path for
 * every pair of types, rounding mode and flag (float_convert.h). */
#include <math.h>

#include "targets/cpu/alu_lanes.h"
#include "targets/cpu/float_convert.h"
#include "targets/cpu/float_half.h"

typedef unsigned __int128 wide;

enum {
  FLUSH_IN = PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN,
  FLUSH_OUT = PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_OUT,
  MODIFIERS = FLUSH_IN | FLUSH_OUT | PLUMB_FLAG_SAT | PLUMB_FLAG_RELU | PLUMB_FLAG_SATFINITE |
              PLUMB_FLAG_ABS_OP
};

/* --- integer to integer --- */

#define INT_LOOP(TO, FROM) \
  do { \
    TO *r = x->results[0]; \
    const FROM *a = x->operands[0]; \
    LANES { \
      r[l] = (TO)a[l]; \
    } \
    return true; \
  } while (0)

#define INT_TARGETS(FROM) \
  switch (to) { \
    case PLUMB_I8: \
      INT_LOOP(uint8_t, FROM); \
    case PLUMB_I16: \
      INT_LOOP(uint16_t, FROM); \
    case PLUMB_I32: \
      INT_LOOP(uint32_t, FROM); \
    case PLUMB_I64: \
      INT_LOOP(uint64_t, FROM); \
    default: \
      return false; \
  }

PLUMB_CLONES
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
    default:
      return false;
  }
}

/* --- integer to float, to nearest --- */

#define FLOAT_TARGETS(FROM) \
  if (to == PLUMB_F32) INT_LOOP(float, FROM); \
  INT_LOOP(double, FROM)

PLUMB_CLONES
static bool int_to_float(const lanes *x, plumb_dtype to, plumb_dtype from, bool is_signed) {
  size_t lo = x->lo, hi = x->hi;
  switch (from) {
    case PLUMB_I8:
      if (is_signed) {
        FLOAT_TARGETS(int8_t);
      }
      FLOAT_TARGETS(uint8_t);
    case PLUMB_I16:
      if (is_signed) {
        FLOAT_TARGETS(int16_t);
      }
      FLOAT_TARGETS(uint16_t);
    case PLUMB_I32:
      if (is_signed) {
        FLOAT_TARGETS(int32_t);
      }
      FLOAT_TARGETS(uint32_t);
    case PLUMB_I64:
      if (is_signed) {
        FLOAT_TARGETS(int64_t);
      }
      FLOAT_TARGETS(uint64_t);
    default:
      return false;
  }
}

/* --- float to integer, toward zero --- */

/* Magnitudes of HIGH (the pattern of a power of two) and more clamp, below zero unsigned
 * results too; NaN as the PTX rule says (ptx.md 1). What is cast is always in range. The
 * choices are made on patterns: a float compare may trap, which keeps gcc from a vector. */
#define TRUNCATE_LOOP(TO, FROM, BITS, FROM_BITS, HIGH, INFINITE, IS_SIGNED, LEAST, MOST, \
                      NAN_VALUE) \
  do { \
    TO *r = x->results[0]; \
    const BITS *a = x->operands[0]; \
    LANES { \
      BITS bits = a[l], magnitude = bits & ~((BITS)1 << (8 * sizeof(BITS) - 1)); \
      bool negative = bits != magnitude; \
      bool inside = (magnitude < (HIGH)) & ((IS_SIGNED) | !negative); \
      FROM safe = FROM_BITS(bits & (0 - (BITS)inside)); \
      TO clamped = negative ? (LEAST) : (MOST); \
      clamped = magnitude > (INFINITE) ? (TO)(NAN_VALUE) : clamped; \
      r[l] = inside ? (TO)safe : clamped; \
    } \
    return true; \
  } while (0)
#define TRUNCATE_F32(TO, HIGH, ...) \
  TRUNCATE_LOOP(TO, float, uint32_t, f32_of, HIGH, 0x7f800000u, __VA_ARGS__)
#define TRUNCATE_F64(TO, HIGH, ...) \
  TRUNCATE_LOOP(TO, double, uint64_t, f64_of, HIGH, 0x7ff0000000000000ull, __VA_ARGS__)

PLUMB_CLONES
static bool f32_to_int(const lanes *x, plumb_dtype to, bool is_signed) {
  size_t lo = x->lo, hi = x->hi;
  if (to == PLUMB_I32 && is_signed)
    TRUNCATE_F32(int32_t, 0x4f000000u, true, INT32_MIN, INT32_MAX, 0);
  if (to == PLUMB_I32) TRUNCATE_F32(uint32_t, 0x4f800000u, false, 0, UINT32_MAX, 0);
  if (to == PLUMB_I64 && is_signed)
    TRUNCATE_F32(int64_t, 0x5f000000u, true, INT64_MIN, INT64_MAX, INT64_MIN);
  if (to == PLUMB_I64) TRUNCATE_F32(uint64_t, 0x5f800000u, false, 0, UINT64_MAX, 1ull << 63);
  return false;
}

PLUMB_CLONES
static bool f64_to_int(const lanes *x, plumb_dtype to, bool is_signed) {
  const uint64_t two_31 = 0x41e0000000000000ull, two_32 = 0x41f0000000000000ull;
  const uint64_t two_63 = 0x43e0000000000000ull, two_64 = 0x43f0000000000000ull;
  size_t lo = x->lo, hi = x->hi;
  if (to == PLUMB_I32 && is_signed)
    TRUNCATE_F64(int32_t, two_31, true, INT32_MIN, INT32_MAX, INT32_MIN);
  if (to == PLUMB_I32) TRUNCATE_F64(uint32_t, two_32, false, 0, UINT32_MAX, 1u << 31);
  if (to == PLUMB_I64 && is_signed)
    TRUNCATE_F64(int64_t, two_63, true, INT64_MIN, INT64_MAX, INT64_MIN);
  if (to == PLUMB_I64) TRUNCATE_F64(uint64_t, two_64, false, 0, UINT64_MAX, 1ull << 63);
  return false;
}

/* --- float to float, to nearest --- */

static inline float quiet_f32(float v) {
  return v == v ? v : f32_of(PLUMB_F32_NAN);
}

#define FLOAT_LOOP(TO, FROM, EXPRESSION) \
  do { \
    TO *r = x->results[0]; \
    const FROM *a = x->operands[0]; \
    LANES { \
      FROM v = a[l]; \
      r[l] = (EXPRESSION); \
    } \
    return true; \
  } while (0)

/* f32 to f32, which changes a value only by its modifiers: a subnormal is flushed, what is
 * outside [0, 1] saturates, and a NaN then is +0 (PTX ISA 9.0, 9.7.9.21). The choices are
 * made on patterns, as above. */
PLUMB_CLONES
static void modify_f32(const lanes *x, bool flush, bool saturate) {
  size_t lo = x->lo, hi = x->hi;
  uint32_t *r = x->results[0];
  const uint32_t *a = x->operands[0];
  const uint32_t one = 0x3f800000u, infinite = 0x7f800000u, sign = 0x80000000u;
  LANES {
    uint32_t bits = a[l], magnitude = bits & ~sign;
    uint32_t kept = magnitude > infinite ? PLUMB_F32_NAN : bits;
    kept = (flush & (magnitude < 0x00800000u)) ? bits & sign : kept;
    uint32_t inside = ((kept & sign) | (magnitude > infinite)) ? 0 : kept > one ? one : kept;
    r[l] = saturate ? inside : kept;
  }
}

PLUMB_CLONES
static bool float_to_float(const lanes *x, plumb_dtype to, plumb_dtype from) {
  size_t lo = x->lo, hi = x->hi;
  if (to == PLUMB_F64 && from == PLUMB_F32) FLOAT_LOOP(double, float, (double)v);
  if (to == PLUMB_F32 && from == PLUMB_F64) FLOAT_LOOP(float, double, quiet_f32((float)v));
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
  bool same_f32 = to == PLUMB_F32 && from == PLUMB_F32 && inst->round == PLUMB_RN;
  uint32_t others = (uint32_t)MODIFIERS & ~(uint32_t)(PLUMB_FLAG_FTZ | PLUMB_FLAG_SAT);
  if (same_f32 && !(inst->flags & others)) {
    modify_f32(x, inst->flags & PLUMB_FLAG_FTZ, inst->flags & PLUMB_FLAG_SAT);
    return true;
  }
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

static wide low_mask(unsigned width) {
  return width == 128 ? ~(wide)0 : ((wide)1 << width) - 1;
}

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
  if ((flags & (uint32_t)FLUSH_OUT) && plumb_float_is_subnormal(to, r))
    r &= plumb_float_sign_bit(to);
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

/* Stochastic rounding (PTX ISA 9.0, 9.7.9.21): `bits` random bits are added below the
 * unit in the last place, and the sum is cut off. A result below the least normal number
 * has the unit of the subnormals. */
static uint64_t round_random(plumb_dtype to, plumb_unpacked u, uint32_t random, unsigned bits,
                             bool satfinite) {
  const plumb_dtype_info *info = &plumb_dtype_table[to];
  if (u.kind != PLUMB_FINITE) return plumb_pack(to, &u, PLUMB_RZ, satfinite);
  int bias = (1 << (info->exponent_bits - 1)) - 1;
  int32_t exponent = u.exponent < 1 - bias ? 1 - bias : u.exponent;
  /* weight of the unit: 2^(exponent - fraction_bits); of the value's bit 0: exponent - 63 */
  int64_t shift = 63 - ((int64_t)u.exponent - exponent) - info->fraction_bits - (int64_t)bits;
  wide add = (wide)(random & ((1ull << bits) - 1));
  wide value = u.significand;
  if (shift > 0 && shift < 64)
    value = (value >> shift) + add;
  else if (shift >= 64)
    value = add;
  else
    return plumb_pack(to, &u, PLUMB_RZ, satfinite); /* exact: never from f32 */
  value >>= bits;
  plumb_unpacked sum = plumb_unpack_int(u.negative, value);
  sum.negative = u.negative;
  sum.exponent += exponent - info->fraction_bits;
  return plumb_pack(to, &sum, PLUMB_RZ, satfinite);
}

bool plumb_alu_convert_random(const lanes *x) {
  const plumb_inst *inst = x->inst;
  plumb_dtype to = (plumb_dtype)inst->type, from = (plumb_dtype)inst->type2;
  if (!plumb_dtype_is_float(to) || from != PLUMB_F32 || to == PLUMB_UE8M0 || to == PLUMB_F64 ||
      inst->imm < 1 || inst->imm > 16)
    return false;
  const uint32_t *a = x->operands[0], *random = x->operands[1];
  unsigned bytes = plumb_dtype_bytes(to);
  bool satfinite = (inst->flags & PLUMB_FLAG_SATFINITE) != 0;
  for (size_t l = x->lo; l < x->hi; l++) {
    plumb_unpacked u = plumb_unpack(from, a[l]);
    if ((inst->flags & PLUMB_FLAG_RELU) && u.negative && u.kind != PLUMB_IS_NAN)
      u = plumb_unpack_int(false, 0);
    uint64_t r = round_random(to, u, random[l], (unsigned)inst->imm, satfinite);
    memcpy((char *)x->results[0] + l * bytes, &r, bytes);
  }
  return true;
}

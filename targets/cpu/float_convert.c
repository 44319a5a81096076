#include "targets/cpu/float_convert.h"

#include <math.h>
#include <string.h>

bool plumb_float_has_infinity(plumb_dtype type) {
  switch (type) {
    case PLUMB_F16:
    case PLUMB_BF16:
    case PLUMB_F32:
    case PLUMB_F64:
    case PLUMB_TF32:
    case PLUMB_E5M2:
      return true;
    default:
      return false;
  }
}

/* tf32 sits in the high bits of an f32 word. */
static unsigned low_bits(plumb_dtype type) {
  return type == PLUMB_TF32 ? 13 : 0;
}

uint64_t plumb_float_largest(plumb_dtype type) {
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  if (type == PLUMB_E4M3) return 0x7e;
  if (type == PLUMB_UE8M0) return 0xfe;
  uint64_t top = ((1ull << info->exponent_bits) - 1) << info->fraction_bits;
  uint64_t largest =
      plumb_float_has_infinity(type) ? top - 1 : top | ((1ull << info->fraction_bits) - 1);
  return largest << low_bits(type);
}

uint64_t plumb_float_sign_bit(plumb_dtype type) {
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  if (type == PLUMB_UE8M0) return 0;
  return 1ull << (info->exponent_bits + info->fraction_bits + low_bits(type));
}

uint64_t plumb_float_nan(plumb_dtype type) {
  switch (type) {
    case PLUMB_F64:
      return 0x7ff8000000000000ull;
    case PLUMB_F32:
    case PLUMB_TF32:
      return 0x7fffffffu;
    case PLUMB_F16:
    case PLUMB_BF16:
      return 0x7fff;
    case PLUMB_E4M3:
    case PLUMB_E5M2:
      return 0x7f;
    case PLUMB_UE8M0:
      return 0xff;
    default:
      return plumb_float_largest(type);
  }
}

bool plumb_float_is_subnormal(plumb_dtype type, uint64_t bits) {
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  if (type == PLUMB_UE8M0) return false;
  uint64_t magnitude = (bits & (plumb_float_sign_bit(type) - 1)) >> low_bits(type);
  return magnitude != 0 && magnitude >> info->fraction_bits == 0;
}

static plumb_unpacked normalised(bool negative, uint64_t significand, int32_t exponent) {
  plumb_unpacked u = {0, 0, PLUMB_ZERO, negative, false};
  if (significand == 0) return u;
  int shift = __builtin_clzll(significand);
  u.kind = PLUMB_FINITE;
  u.significand = significand << shift;
  u.exponent = exponent + 63 - shift;
  return u;
}

plumb_unpacked plumb_unpack(plumb_dtype type, uint64_t bits) {
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  int fraction_bits = info->fraction_bits, exponent_bits = info->exponent_bits;
  if (type == PLUMB_UE8M0) {
    if ((bits & 0xff) == 0xff) return (plumb_unpacked){0, 0, PLUMB_IS_NAN, false, false};
    return normalised(false, 1, (int32_t)(bits & 0xff) - 127);
  }
  bool negative = (bits & plumb_float_sign_bit(type)) != 0;
  bits >>= low_bits(type);
  uint64_t fraction = bits & ((1ull << fraction_bits) - 1);
  int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  int top = (1 << exponent_bits) - 1, bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == top && plumb_float_has_infinity(type))
    return (plumb_unpacked){0, 0, fraction ? PLUMB_IS_NAN : PLUMB_INFINITE, negative, false};
  if (type == PLUMB_E4M3 && exponent == top && fraction == 7)
    return (plumb_unpacked){0, 0, PLUMB_IS_NAN, negative, false};
  if (exponent == 0) return normalised(negative, fraction, 1 - bias - fraction_bits);
  return normalised(negative, fraction | (1ull << fraction_bits), exponent - bias - fraction_bits);
}

plumb_unpacked plumb_unpack_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return plumb_unpack(PLUMB_F64, bits);
}

plumb_unpacked plumb_unpack_int(bool negative, unsigned __int128 magnitude) {
  uint64_t high = (uint64_t)(magnitude >> 64);
  if (high == 0) return normalised(negative && magnitude != 0, (uint64_t)magnitude, 0);
  unsigned shift = (unsigned)(64 - __builtin_clzll(high));
  plumb_unpacked u = normalised(negative, (uint64_t)(magnitude >> shift), (int32_t)shift);
  u.sticky = (magnitude & (((unsigned __int128)1 << shift) - 1)) != 0;
  return u;
}

/* Whether a magnitude with this lowest kept bit goes up (IEEE 754-2019, 4.3). */
static bool goes_up(plumb_round round, bool negative, bool odd, bool half, bool rest) {
  switch (round) {
    case PLUMB_RN:
      return half && (rest || odd);
    case PLUMB_RNA:
      return half;
    case PLUMB_RM:
      return negative && (half || rest);
    case PLUMB_RP:
      return !negative && (half || rest);
    default:
      return false;
  }
}

/* significand >> shift for any shift > 0, rounded. */
static uint64_t rounded(const plumb_unpacked *v, int64_t shift, plumb_round round) {
  uint64_t kept = shift < 64 ? v->significand >> shift : 0;
  bool half = shift <= 64 && (v->significand >> (shift - 1) & 1);
  bool rest = v->sticky;
  if (shift > 64)
    rest = true;
  else if (shift > 1)
    rest |= (v->significand << (65 - shift)) != 0;
  return kept + goes_up(round, v->negative, kept & 1, half, rest);
}

static uint64_t overflowed(plumb_dtype type, bool negative, plumb_round round, bool satfinite) {
  uint64_t largest = plumb_float_largest(type);
  if (satfinite) return largest;
  if (type == PLUMB_E4M3 || type == PLUMB_UE8M0) return plumb_float_nan(type);
  if (!plumb_float_has_infinity(type)) return largest;
  bool away = round == PLUMB_RN || round == PLUMB_RNA || (round == PLUMB_RP && !negative) ||
              (round == PLUMB_RM && negative);
  return away ? largest + (1ull << low_bits(type)) : largest;
}

static uint64_t pack_ue8m0(const plumb_unpacked *v, plumb_round round, bool satfinite) {
  if (v->kind == PLUMB_IS_NAN) return 0xff;
  if (v->kind == PLUMB_ZERO) return 0;
  if (v->kind == PLUMB_INFINITE) return satfinite ? 0xfe : 0xff;
  bool half = v->significand >> 62 & 1, rest = v->sticky || (v->significand << 2) != 0;
  int32_t code = v->exponent + 127;
  if (code < 0) return 0; /* the least value is 2^-127 */
  code += goes_up(round, false, code & 1, half, rest);
  return code > 254 ? overflowed(PLUMB_UE8M0, false, round, satfinite) : (uint64_t)code;
}

uint64_t plumb_pack(plumb_dtype type, const plumb_unpacked *v, plumb_round round, bool satfinite) {
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  if (type == PLUMB_UE8M0) return pack_ue8m0(v, round, satfinite);
  uint64_t sign = v->negative ? plumb_float_sign_bit(type) : 0;
  if (v->kind == PLUMB_IS_NAN) return plumb_float_nan(type);
  if (v->kind == PLUMB_ZERO) return sign;
  uint64_t largest = plumb_float_largest(type);
  if (v->kind == PLUMB_INFINITE) {
    if (plumb_float_has_infinity(type) && !satfinite)
      return sign | (largest + (1ull << low_bits(type)));
    uint64_t result = overflowed(type, v->negative, round, satfinite);
    return result == plumb_float_nan(type) && result != largest ? result : sign | result;
  }
  int bias = (1 << (info->exponent_bits - 1)) - 1;
  int32_t exponent = v->exponent < 1 - bias ? 1 - bias : v->exponent;
  int64_t shift = 63 - ((int64_t)v->exponent - exponent) - info->fraction_bits;
  uint64_t result = rounded(v, shift, round);
  /* Far above the range the sum below would not fit; the comparison needs only its order. */
  if (exponent > bias + 2) exponent = bias + 2;
  result += (uint64_t)(exponent + bias - 1) << info->fraction_bits;
  result <<= low_bits(type);
  if (result > largest) {
    result = overflowed(type, v->negative, round, satfinite);
    if (type == PLUMB_E4M3 && result != largest) return result;
  }
  return sign | result;
}

unsigned __int128 plumb_pack_int(const plumb_unpacked *v, plumb_round round, unsigned width,
                                 bool is_signed, unsigned __int128 nan_bits) {
  typedef unsigned __int128 wide;
  wide mask = width == 128 ? ~(wide)0 : ((wide)1 << width) - 1;
  wide most = is_signed ? mask >> 1 : mask;
  wide least = is_signed ? (mask >> 1) + 1 : 0; /* as a magnitude */
  if (v->kind == PLUMB_IS_NAN) return nan_bits & mask;
  if (v->kind == PLUMB_ZERO) return 0;
  wide magnitude;
  if (v->kind == PLUMB_INFINITE || v->exponent >= 128)
    magnitude = ~(wide)0;
  else if (v->exponent >= 63)
    magnitude = (wide)v->significand << (v->exponent - 63);
  else
    magnitude = rounded(v, 63 - (int64_t)v->exponent, round);
  bool infinite = v->kind == PLUMB_INFINITE || v->exponent >= 128;
  if (v->negative)
    return infinite || magnitude > least ? (0 - least) & mask : (0 - magnitude) & mask;
  return infinite || magnitude > most ? most : magnitude;
}

uint64_t plumb_pack_double(plumb_dtype type, double value, plumb_round round) {
  plumb_unpacked u = plumb_unpack_double(value);
  return plumb_pack(type, &u, round, false);
}

/* Moves an inexact result toward `error` onto the odd neighbour. */
static double to_odd(double result, double error) {
  uint64_t bits;
  memcpy(&bits, &result, sizeof bits);
  if (error == 0 || isnan(error) || isinf(result) || (bits & 1)) return result;
  bits = (error > 0) == (result > 0) ? bits + 1 : bits - 1;
  memcpy(&result, &bits, sizeof bits);
  return result;
}

/* TwoSum (Knuth): the error is exact. */
double plumb_odd_add(double a, double b) {
  double s = a + b, virtual_b = s - a, virtual_a = s - virtual_b;
  return to_odd(s, (a - virtual_a) + (b - virtual_b));
}

double plumb_odd_fma(double a, double b, double c) {
  return plumb_odd_add(a * b, c);
}

double plumb_odd_div(double a, double b) {
  double quotient = a / b;
  if (quotient == 0 || !isfinite(quotient) || !isfinite(b)) return quotient;
  double residual = fma(-quotient, b, a); /* exact; the true quotient lies toward it */
  return to_odd(quotient, b > 0 ? residual : -residual);
}

double plumb_odd_sqrt(double a) {
  double root = sqrt(a);
  if (!(root > 0) || isinf(root)) return root;
  return to_odd(root, fma(-root, root, a));
}

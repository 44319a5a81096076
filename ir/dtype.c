#include "ir/dtype.h"

#include <math.h>
#include <string.h>

enum { INT = 0, FLOAT = 1 };

const plumb_dtype_info plumb_dtype_table[PLUMB_DTYPE_COUNT] = {
#define X(name, text, bits, bytes, class, exponent, fraction) \
  {text, bits, bytes, class, exponent, fraction},
#include "ir/dtype.def"
#undef X
};

bool plumb_dtype_from_text(const char *text, size_t length, plumb_dtype *out_type) {
  for (int i = 0; i < PLUMB_DTYPE_COUNT; i++)
    if (strlen(plumb_dtype_table[i].text) == length &&
        memcmp(plumb_dtype_table[i].text, text, length) == 0) {
      *out_type = (plumb_dtype)i;
      return true;
    }
  return false;
}

/* Which float types reserve the all-ones exponent for infinity and NaN (IEEE 754).
 * e4m3 (OCP 8-bit floating point 1.0, 5.1) has one NaN a sign and no infinity; the
 * types of fp6 and fp4 (OCP MX 1.0, 5.3) have neither. */
static bool has_infinity(plumb_dtype type) {
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

static double float_to_double(plumb_dtype type, uint64_t bits) {
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  int fraction_bits = info->fraction_bits, exponent_bits = info->exponent_bits;
  if (type == PLUMB_TF32) { /* tf32 sits in an f32: its low 13 bits do not count */
    bits >>= 13;
  }
  if (type == PLUMB_UE8M0) return bits == 255 ? (double)NAN : ldexp(1.0, (int)bits - 127);
  uint64_t fraction = bits & ((1ull << fraction_bits) - 1);
  int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  bool negative = (bits >> (fraction_bits + exponent_bits)) & 1;
  int top = (1 << exponent_bits) - 1, bias = (1 << (exponent_bits - 1)) - 1;
  double magnitude;
  if (has_infinity(type) && exponent == top)
    magnitude = fraction ? (double)NAN : (double)INFINITY;
  else if (type == PLUMB_E4M3 && exponent == top && fraction == 7)
    magnitude = (double)NAN;
  else if (exponent == 0)
    magnitude = ldexp((double)fraction, 1 - bias - fraction_bits);
  else
    magnitude =
        ldexp((double)(fraction | (1ull << fraction_bits)), exponent - bias - fraction_bits);
  return negative ? -magnitude : magnitude;
}

double plumb_dtype_to_double(plumb_dtype type, uint64_t bits) {
  switch (type) {
    case PLUMB_I1:
      return (double)(bits & 1);
    case PLUMB_I8:
      return (double)(int8_t)bits;
    case PLUMB_I16:
      return (double)(int16_t)bits;
    case PLUMB_I32:
      return (double)(int32_t)bits;
    case PLUMB_I64:
    case PLUMB_I128:
      return (double)(int64_t)bits;
    case PLUMB_F64: {
      double value;
      memcpy(&value, &bits, sizeof value);
      return value;
    }
    case PLUMB_F32: {
      float value;
      uint32_t low = (uint32_t)bits;
      memcpy(&value, &low, sizeof value);
      return (double)value;
    }
    default:
      return float_to_double(type, bits);
  }
}

static uint64_t int_from_double(plumb_dtype type, double value) {
  if (isnan(value)) return 0;
  if (type == PLUMB_I1) return value != 0;
  unsigned width = plumb_dtype_table[type].bits > 64 ? 64 : plumb_dtype_table[type].bits;
  double limit = ldexp(1.0, (int)width - 1);
  uint64_t mask = width == 64 ? UINT64_MAX : (1ull << width) - 1;
  if (value >= limit) return mask >> 1;
  if (value < -limit) return (mask >> 1) + 1;
  return (uint64_t)(int64_t)value & mask;
}

uint64_t plumb_dtype_from_double(plumb_dtype type, double value) {
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  if (!info->is_float) return int_from_double(type, value);
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (type == PLUMB_F64) return bits;
  int fraction_bits = info->fraction_bits, exponent_bits = info->exponent_bits;
  int top = (1 << exponent_bits) - 1, bias = (1 << (exponent_bits - 1)) - 1;
  unsigned shift_out = type == PLUMB_TF32 ? 13 : 0;
  if (type == PLUMB_UE8M0) {
    if (isnan(value)) return 255;
    int exponent = value > 0 ? (int)nearbyint(log2(value)) : -127;
    return (uint64_t)(exponent < -127 ? 0 : exponent > 127 ? 254 : exponent + 127);
  }
  uint64_t sign = (bits >> 63) << (fraction_bits + exponent_bits);
  uint64_t infinity = (uint64_t)top << fraction_bits;
  uint64_t largest = has_infinity(type)   ? infinity - 1
                     : type == PLUMB_E4M3 ? 0x7e
                                          : (infinity | ((1ull << fraction_bits) - 1));
  uint64_t result;
  if (isnan(value)) {
    if (has_infinity(type))
      result = infinity | (1ull << (fraction_bits - 1));
    else
      result = type == PLUMB_E4M3 ? 0x7f : largest;
  } else if (isinf(value)) {
    result = has_infinity(type) ? infinity : largest;
  } else {
    double magnitude = fabs(value);
    int exponent;
    frexp(magnitude, &exponent); /* magnitude in [0.5, 1) * 2^exponent */
    exponent--;
    if (exponent < 1 - bias || magnitude == 0) exponent = 1 - bias;
    /* The scaled value is exact in a double; nearbyint rounds once, ties to even. */
    double scaled = nearbyint(ldexp(magnitude, fraction_bits - exponent));
    uint64_t significand = (uint64_t)scaled;
    result = significand + ((uint64_t)(exponent + bias - 1) << fraction_bits);
    if (result > largest) result = has_infinity(type) ? infinity : largest;
  }
  return (sign | result) << shift_out;
}

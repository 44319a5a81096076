/* Elements to exact parts, and exact sums back to a type: one rounding. */
#include "targets/models/round.h"

plumb_element plumb_element_of(plumb_mma_type type, uint64_t bits) {
  const plumb_mma_type_info *info = &plumb_mma_type_table[type];
  unsigned fraction_bits = info->fraction_bits, exponent_bits = info->exponent_bits;
  if (type == PLUMB_MMA_TF32) bits >>= 13;
  uint64_t fraction = bits & ((1ull << fraction_bits) - 1);
  int top = (1 << exponent_bits) - 1, bias = top >> 1;
  int exponent = (int)(bits >> fraction_bits) & top;
  bool negative = bits >> (fraction_bits + exponent_bits) & 1;
  plumb_element e = {.flags = negative ? PLUMB_ELEMENT_NEGATIVE : 0};
  bool e4m3 = type == PLUMB_MMA_E4M3; /* no infinities, one NaN (OCP OFP8 1.0, 5.2) */
  if (exponent == top && (!e4m3 || fraction == 7)) {
    e.flags |= fraction ? PLUMB_ELEMENT_NAN : PLUMB_ELEMENT_INFINITE;
    e.exponent = PLUMB_ZERO_EXPONENT;
    return e;
  }
  e.significand = (int64_t)(exponent ? fraction | 1ull << fraction_bits : fraction);
  e.exponent = e.significand ? (exponent ? exponent : 1) - bias : PLUMB_ZERO_EXPONENT;
  if (negative) e.significand = -e.significand;
  return e;
}

uint64_t plumb_result_nan(plumb_mma_type d) {
  return d == PLUMB_MMA_F16 ? 0x7fff : d == PLUMB_MMA_F32 ? 0x7fffffff : 0x7ff8000000000000u;
}

static int top_bit(plumb_u128 v) {
  uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
  return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(low);
}

static bool rounds_up(plumb_round round, bool negative, bool odd, int half, bool inexact) {
  switch (round) {
    case PLUMB_RZ:
      return false;
    case PLUMB_RM:
      return negative && inexact;
    case PLUMB_RP:
      return !negative && inexact;
    default:
      return half > 0 || (half == 0 && odd);
  }
}

uint64_t plumb_round_sum(plumb_mma_type type, unsigned kept_bits, plumb_round round, bool negative,
                         plumb_u128 magnitude, int exponent, bool sticky, bool to_infinity) {
  const plumb_mma_type_info *info = &plumb_mma_type_table[type];
  unsigned cut = info->fraction_bits - kept_bits;
  int bias = (1 << (info->exponent_bits - 1)) - 1;
  uint64_t sign = (uint64_t)negative << (info->fraction_bits + info->exponent_bits);
  uint64_t infinity = ((1ull << info->exponent_bits) - 1) << info->fraction_bits;
  if (!magnitude) return sign;
  int top = top_bit(magnitude) + exponent, least = 1 - bias;
  int scale = top > least ? top : least;
  int shift = scale - (int)kept_bits - exponent; /* bits of the magnitude below the result's */
  uint64_t kept;
  int half = -1; /* the rest compared with one half */
  bool inexact = sticky;
  if (shift > 128) {
    kept = 0;
    inexact = true;
  } else if (shift > 0) {
    plumb_u128 middle = (plumb_u128)1 << (shift - 1);
    plumb_u128 rest = magnitude & (middle | (middle - 1));
    kept = shift < 128 ? (uint64_t)(magnitude >> shift) : 0;
    inexact = inexact || rest;
    half = rest > middle || (rest == middle && sticky) ? 1 : rest == middle ? 0 : -1;
  } else {
    kept = (uint64_t)magnitude << -shift;
  }
  kept += rounds_up(round, negative, kept & 1, half, inexact);
  /* A significand that reaches the next power of two carries into the exponent. */
  uint64_t bits = (((uint64_t)(scale + bias - 1) << kept_bits) + kept) << cut;
  if (scale > bias || bits >= infinity) {
    bool away = to_infinity || round == PLUMB_RN || (round == PLUMB_RM && negative) ||
                (round == PLUMB_RP && !negative);
    return sign | (away ? infinity : infinity - 1);
  }
  return sign | bits;
}

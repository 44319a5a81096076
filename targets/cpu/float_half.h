/* Private to alu*.c: f16 and bf16 from and to f32, branch free, so that loops vectorise. */
#ifndef PLUMB_TARGETS_CPU_FLOAT_HALF_H
#define PLUMB_TARGETS_CPU_FLOAT_HALF_H

#include "targets/cpu/alu_lanes.h"

/* Choices by masks: the vectoriser does not turn a branch around float operations into
 * one, since they may trap. */
static inline uint32_t all_ones(bool condition) {
  return 0 - (uint32_t)condition;
}
static inline uint32_t chosen(uint32_t mask, uint32_t yes, uint32_t no) {
  return (yes & mask) | (no & ~mask);
}

static inline float f32_of_f16(uint16_t half) {
  /* Shifted into place the exponent is too small by 112: a multiplication mends it, exactly,
   * for subnormals too. Infinity and NaN then lie at 2^16 and above. */
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  uint32_t shifted = (uint32_t)(half & 0x7fffu) << 13;
  float magnitude = f32_of(shifted) * 0x1p112f;
  uint32_t bits = bits_of_f32(magnitude);
  bits |= 0x7f800000u & all_ones((half & 0x7fffu) >= 0x7c00u);
  return f32_of(chosen(all_ones((half & 0x7fffu) > 0x7c00u), PLUMB_F32_NAN, bits | sign));
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
  uint32_t below = all_ones(magnitude < 0x38800000u);
  uint32_t subnormal = bits_of_f32(f32_of(magnitude & below) + 0.5f) - 0x3f000000u;
  uint32_t finite = chosen(below, subnormal, normal);
  finite = chosen(all_ones(magnitude >= 0x477ff000u), 0x7c00u, finite);
  return (uint16_t)chosen(all_ones(magnitude > 0x7f800000u), PLUMB_HALF_NAN, sign | finite);
}

static inline uint16_t bf16_of_f32(float value) {
  uint32_t bits = bits_of_f32(value);
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  uint32_t is_nan = all_ones((bits & 0x7fffffffu) > 0x7f800000u);
  return (uint16_t)chosen(is_nan, PLUMB_HALF_NAN, rounded);
}

/* Rounded to odd twice, double and then f32, a value may still be rounded to a half as if
 * it were exact (float_convert.h). `error` is what `value` lacks. */
static inline float f32_odd(double value, double error) {
  uint64_t bits = bits_of_f64(value);
  uint64_t up = (bits_of_f64(error) ^ bits) >> 63 ? UINT64_MAX : 1; /* signs say which way */
  bits += up & (0 - (uint64_t)((error != 0) & ((bits & 1) == 0)));
  float f = (float)f64_of(bits);
  uint32_t word = bits_of_f32(f);
  /* By magnitude: f may be a zero or an infinity that the rounding made. */
  uint64_t exact = bits & INT64_MAX, rounded = bits_of_f64((double)f) & INT64_MAX;
  bool cut = (exact != rounded) & ((word & 1) == 0) & (exact <= 0x7ff0000000000000ull);
  return f32_of(word + ((exact > rounded ? 1 : UINT32_MAX) & all_ones(cut)));
}

/* a + b of doubles that hold halves or exact products of halves. Infinities and NaN have
 * no error term. */
static inline float f32_odd_sum(double a, double b) {
  double s = a + b, virtual_b = s - a, virtual_a = s - virtual_b;
  double error = (a - virtual_a) + (b - virtual_b);
  uint64_t finite = 0 - (uint64_t)((bits_of_f64(error) & INT64_MAX) <= 0x7ff0000000000000ull);
  return f32_odd(s, f64_of(bits_of_f64(error) & finite));
}

#endif

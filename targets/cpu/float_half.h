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

/* A double that was rounded to odd, rounded to odd again as f32: rounded to a half it gives
 * what the exact value gives (float_convert.h). `nearest` is the double to nearest; the step
 * to take where its last bit is even, in two functions for loops of one width each. By
 * magnitude: `nearest` may be a zero or an infinity that the rounding made. */
static inline int64_t f32_odd_step(double value, float nearest) {
  int64_t exact = (int64_t)bits_of_f64(value) & INT64_MAX;
  int64_t rest = exact - ((int64_t)bits_of_f64((double)nearest) & INT64_MAX);
  int64_t cut = (rest != 0) & (exact <= 0x7ff0000000000000);
  return cut - 2 * (cut & (rest < 0));
}
static inline float f32_stepped(float nearest, int64_t step) {
  uint32_t word = bits_of_f32(nearest), even = ~word & 1;
  return f32_of(word + ((uint32_t)step & (0 - even)));
}

/* a + b rounded to odd, of doubles that hold halves or exact products of halves. Infinities
 * and NaN have no error term. */
static inline double f64_odd_sum(double a, double b) {
  double s = a + b, virtual_b = s - a, virtual_a = s - virtual_b;
  double error = (a - virtual_a) + (b - virtual_b);
  int64_t bits = (int64_t)bits_of_f64(s), lack = (int64_t)bits_of_f64(error);
  int64_t finite = (lack & INT64_MAX) <= 0x7ff0000000000000;
  int64_t cut = ((lack & INT64_MAX) != 0) & finite & (~bits & 1);
  int64_t away = (lack ^ bits) < 0; /* signs say which way */
  return f64_of((uint64_t)(bits + cut - 2 * (cut & away)));
}

#endif

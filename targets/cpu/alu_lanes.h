/* Private to alu*.c: how a loop over lanes is written, and the parts of the ALU.
 *
 *     LANES { r[l] = (uint32_t)(a[l] + b[l]); }
 */
#ifndef PLUMB_TARGETS_CPU_ALU_LANES_H
#define PLUMB_TARGETS_CPU_ALU_LANES_H

/* Nobody reads exception flags or errno: without this gcc keeps float operations under
 * branches, and sqrt a call, so that such loops stay scalar. Values are not affected. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math,no-math-errno")
#endif

#include <string.h>

#include "ir/base/clones.h"
#include "targets/cpu/alu.h"

/* A result array may be an operand array: every dependence has distance 0, which the
 * vectoriser has to be told, or it takes its scalar path for `x = x + y`. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* loops that stay scalar may */
#define LANES _Pragma("clang loop vectorize(assume_safety)") for (size_t l = lo; l < hi; l++)
#else
#define LANES _Pragma("GCC ivdep") for (size_t l = lo; l < hi; l++)
#endif

/* One instruction's lanes. */
typedef struct lanes {
  const plumb_inst *inst;
  void *const *results;
  const void *const *operands;
  size_t lo, hi;
} lanes;

/* Each returns false for an operation or type that is not its own. */
bool plumb_alu_int(const lanes *x);
bool plumb_alu_i128(const lanes *x);
bool plumb_alu_bits(const lanes *x);
bool plumb_alu_float(const lanes *x);
bool plumb_alu_half(const lanes *x);
bool plumb_alu_compare_int(const lanes *x);
bool plumb_alu_compare_i128(const lanes *x);
bool plumb_alu_compare_float(const lanes *x);
bool plumb_alu_compare_half(const lanes *x, bool flush);
bool plumb_alu_classify(const lanes *x);
bool plumb_alu_convert(const lanes *x);
bool plumb_alu_math(const lanes *x);
bool plumb_alu_approx(const lanes *x);

/* The error that the page of an approximate instruction documents for operands in [lo, hi], a
 * sum of three parts: ulps of the real value, a share of it, and an absolute one. */
typedef struct plumb_approx_error {
  double ulps, relative, absolute;
} plumb_approx_error;
plumb_approx_error plumb_approx_error_of(plumb_approx which, plumb_dtype type, double lo,
                                         double hi);

/* The result's bits at an end of what the page allows: `value` is the real one, `nearest` its
 * bits, operands[1] 0 for a function of one. `nearest` where a table gives the result, where
 * it is subnormal or overflows, and where no other value of the type is allowed. */
uint64_t plumb_approx_edge(plumb_approx which, plumb_dtype type, const uint64_t operands[2],
                           double value, uint64_t nearest);
bool plumb_alu_video(const lanes *x);
bool plumb_alu_convert_random(const lanes *x);

/* f16 or bf16 as f32, which is exact; `flush`: subnormals as zeros of their signs. */
void plumb_alu_widen_halves(plumb_dtype type, bool flush, size_t count, float *r,
                            const uint16_t *a);

/* The function in double or in x87 extended precision; n is the exponent of POWI and
 * LDEXP. */
double plumb_math_double(plumb_math which, double a, double b, int64_t n);
long double plumb_math_long(plumb_math which, long double a, long double b, int64_t n);

/* Rounding direction of the thread for RN, RZ, RM, RP; RNA and RS are not the
 * hardware's. Loops run in another function than this call, so that no operation moves
 * across it. */
void plumb_round_enter(plumb_round round);
void plumb_round_leave(plumb_round round);

#define PLUMB_F32_NAN 0x7fffffffu
#define PLUMB_HALF_NAN 0x7fffu
#define PLUMB_F64_QUIET 0x0008000000000000ull

static inline float f32_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint32_t bits_of_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline double f64_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint64_t bits_of_f64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

#endif

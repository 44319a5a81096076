/* What the pages of approximate PTX instructions document of their error (numerics.md 6), and
 * their values at an end of it: another value that the page allows beside the nearest one. */
#include <math.h>

#include "targets/cpu/alu_lanes.h"
#include "targets/cpu/float_convert.h"

#define TWO_PI 0x1.921fb54442d18p+2
#define HUNDRED_PI 0x1.3a28c59d5433bp+8

plumb_approx_error plumb_approx_error_of(plumb_approx which, plumb_dtype type, double lo,
                                         double hi) {
  bool half = type != PLUMB_F32;
  double magnitude = fmax(fabs(lo), fabs(hi));
  switch (which) {
    case PLUMB_APPROX_RCP:
      return (plumb_approx_error){1, 0, 0};
    case PLUMB_APPROX_DIV:
    case PLUMB_APPROX_DIV_FULL:
      return (plumb_approx_error){2, 0, 0};
    case PLUMB_APPROX_SQRT:
      return (plumb_approx_error){0, 0x1p-23, 0};
    case PLUMB_APPROX_RSQRT: /* 2^-22.9 */
      return (plumb_approx_error){0, half ? 0x1p-9 : 0x1.125fbee250669p-23, 0};
    case PLUMB_APPROX_EX2: /* f16: 2^-9.9; bf16: 2^-7 */
      if (!half) return (plumb_approx_error){2, 0, 0};
      return (plumb_approx_error){0, type == PLUMB_F16 ? 0x1.125fbee250663p-10 : 0x1p-7, 0};
    case PLUMB_APPROX_LG2:
      return lo < 2 && hi > 0.5 ? (plumb_approx_error){0, lo > 0.5 && hi < 2 ? 0 : 0x1p-22, 0x1p-22}
                                : (plumb_approx_error){0, 0x1p-22, 0};
    case PLUMB_APPROX_SIN:
    case PLUMB_APPROX_COS: /* 2^-20.5 and 2^-14.7; beyond, nothing is said */
      return (plumb_approx_error){0, 0,
                                  magnitude <= TWO_PI       ? 0x1.6a09e667f3bcdp-21
                                  : magnitude <= HUNDRED_PI ? 0x1.3b2c47bff832cp-15
                                                            : 2};
    case PLUMB_APPROX_TANH:
      if (!half) return (plumb_approx_error){0, 0x1p-11, 0};
      /* f16: 2^-10.987 */
      return (plumb_approx_error){0, 0, type == PLUMB_F16 ? 0x1.0251353756991p-11 : 0x1p-8};
    default:
      return (plumb_approx_error){0, 0, 0};
  }
}

/* Above or below, by the operands' bits: one instruction gives one value for one operand, and
 * no common factor goes through all of them. */
static bool is_above(uint64_t a, uint64_t b) {
  return ((a ^ b * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u) >> 63 != 0;
}

static bool is_normal(plumb_dtype type, uint64_t bits) {
  return isfinite(plumb_dtype_to_double(type, bits)) && !plumb_float_is_subnormal(type, bits) &&
         (bits & ~plumb_float_sign_bit(type)) != 0;
}

/* No function leaves its own range. */
static double kept_in_range(plumb_approx which, double v) {
  bool unit = which == PLUMB_APPROX_SIN || which == PLUMB_APPROX_COS || which == PLUMB_APPROX_TANH;
  return unit ? fmin(fmax(v, -1), 1) : v;
}

uint64_t plumb_approx_edge(plumb_approx which, plumb_dtype type, const uint64_t operands[2],
                           double value, uint64_t nearest) {
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  bool above = is_above(operands[0], operands[1]);
  for (int i = 0; i < plumb_approx_table[which].arity; i++)
    if (!is_normal(type, operands[i])) return nearest; /* tabled, or passed through */
  bool zero = which == PLUMB_APPROX_LG2 && value == 0;
  if (!zero && !is_normal(type, nearest)) return nearest;
  if (type == PLUMB_F64) { /* no error is documented: a neighbour in what the form holds */
    uint64_t step = which == PLUMB_APPROX_RSQRT ? 1 : 1ull << 32;
    uint64_t moved = above ? nearest + step : nearest - step;
    return is_normal(type, moved) ? moved : nearest;
  }
  if (which == PLUMB_APPROX_DIV && value == 0) return nearest;
  double x = plumb_dtype_to_double(type, operands[0]);
  plumb_approx_error e = plumb_approx_error_of(which, type, x, x);
  double error = e.relative * fabs(value) + e.absolute;
  if (e.ulps > 0) error += ldexp(e.ulps, ilogb(value) - (int)info->fraction_bits);
  error *= 1 - 0x1p-20; /* `value` is itself rounded to double */
  double end = kept_in_range(which, above ? value + error : value - error);
  uint64_t bits = plumb_pack_double(type, end, above ? PLUMB_RM : PLUMB_RP);
  double result = plumb_dtype_to_double(type, bits);
  return is_normal(type, bits) && (above ? result > value : result < value) ? bits : nearest;
}

/* Private to bound*.c: interval arithmetic on companions, rounded outward. Ends are
 * doubles; an operation that is exact in double stays exact, so that integer-valued
 * inputs keep point intervals.
 *
 * A function that returns a companion leaves the shadow to its caller unless it says
 * otherwise. NaN in `lo` marks unknown or nan (bound.h). */
#ifndef PLUMB_TARGETS_CPU_BOUND_INTERVAL_H
#define PLUMB_TARGETS_CPU_BOUND_INTERVAL_H

#include "targets/cpu/bound.h"

static inline plumb_companion interval(double lo, double hi) {
  return (plumb_companion){lo, lo, hi};
}
static inline plumb_companion everything(void) {
  return interval(-(double)INFINITY, (double)INFINITY);
}
static inline bool contains(const plumb_companion *c, double value) {
  return c->lo <= value && value <= c->hi;
}
static inline double magnitude(const plumb_companion *c) {
  return fabs(c->lo) > fabs(c->hi) ? fabs(c->lo) : fabs(c->hi);
}

/* Sets the shadow and keeps the three kinds apart: a nan stays nan, and nothing else gets
 * a NaN shadow. */
static inline plumb_companion plumb_with_shadow(plumb_companion c, double shadow) {
  if (plumb_companion_is_nan(&c)) return c;
  bool known = plumb_companion_is_known(&c);
  if (isnan(shadow)) shadow = !known ? 0 : isfinite(c.lo) ? c.lo : isfinite(c.hi) ? c.hi : 0;
  c.shadow = shadow;
  return c;
}

/* Unknown, or nan where every operand is certain: what an invalid operation gives. */
plumb_companion plumb_invalid(bool certain);

/* Where an operand is unknown or nan: nan if any is nan, else unknown. */
plumb_companion plumb_spread(const plumb_companion *const *operands, int count);

/* Real sum, product, quotient, square root of known operands. */
plumb_companion plumb_interval_add(const plumb_companion *a, const plumb_companion *b);
plumb_companion plumb_interval_mul(const plumb_companion *a, const plumb_companion *b);
plumb_companion plumb_interval_div(const plumb_companion *a, const plumb_companion *b);
plumb_companion plumb_interval_sqrt(const plumb_companion *a);
plumb_companion plumb_interval_neg(const plumb_companion *a);
plumb_companion plumb_interval_abs(const plumb_companion *a);

/* The hull of a real interval and of its image under rounding to `type`: what both a
 * rounding and a fused evaluation can give. f64 needs none: its ends are rounded outward. */
plumb_companion plumb_interval_round(plumb_dtype type, plumb_round round,
                                     const plumb_companion *real);
/* Ends beyond the largest finite value become infinities. */
plumb_companion plumb_interval_limit(plumb_dtype type, const plumb_companion *c);
/* Both ends moved outward by `ulps` units in the last place of `type` at that end, and by
 * `absolute`. */
plumb_companion plumb_interval_widen(plumb_dtype type, const plumb_companion *c, double ulps,
                                     double absolute);

double plumb_round_value(plumb_dtype type, plumb_round round, double value);
double plumb_to_integral(plumb_round mode, double value);
double plumb_largest(plumb_dtype type);
double plumb_ulp(plumb_dtype type, double value);
/* u, half the distance from 1 to the next value. */
double plumb_unit(plumb_dtype type);

/* Elementary and approximate functions; `n` is the exponent of POWI and LDEXP and
 * n_known whether it is certain. The result carries its shadow. */
plumb_companion plumb_bound_math(const plumb_inst *inst, const plumb_companion *a,
                                 const plumb_companion *b, int64_t n, bool n_known);
plumb_companion plumb_bound_approx(const plumb_inst *inst, const plumb_companion *a,
                                   const plumb_companion *b);

/* One operation each; operands may be unknown or nan, results carry their shadow. */
plumb_companion plumb_bound_two(const plumb_inst *inst, const plumb_companion *a,
                                const plumb_companion *b);
plumb_companion plumb_bound_fma(const plumb_inst *inst, const plumb_companion *a,
                                const plumb_companion *b, const plumb_companion *c);
plumb_companion plumb_bound_sqrt(const plumb_inst *inst, const plumb_companion *a);
plumb_companion plumb_bound_extreme(const plumb_inst *inst, plumb_companion a, plumb_companion b);
/* NEG, ABS, COPYSIGN; b_exact: the sign of b is b_negative, zeros too. */
plumb_companion plumb_bound_sign(const plumb_inst *inst, const plumb_companion *a,
                                 const plumb_companion *b, bool b_exact, bool b_negative);
plumb_companion plumb_bound_integral(const plumb_inst *inst, const plumb_companion *a);
plumb_companion plumb_bound_convert(const plumb_inst *inst, const plumb_companion *a);
plumb_companion plumb_bound_compare_float(plumb_cmp predicate, const plumb_companion *a,
                                          const plumb_companion *b);
plumb_companion plumb_bound_compare_int(plumb_cmp predicate, const plumb_companion *a,
                                        const plumb_companion *b);
plumb_companion plumb_bound_select(const plumb_companion *condition, const plumb_companion *a,
                                   const plumb_companion *b);
plumb_companion plumb_bound_classify(const plumb_inst *inst, const plumb_companion *a, bool value);
plumb_companion plumb_bound_int(const plumb_inst *inst, const plumb_companion *a,
                                const plumb_companion *b);

/* The last steps: the type's rounding, then FTZ, SAT and RELU. */
plumb_companion plumb_bound_finish(const plumb_inst *inst, plumb_companion real, double shadow);
plumb_companion plumb_bound_flush(plumb_dtype type, plumb_companion c);
plumb_companion plumb_bound_clamp(const plumb_inst *inst, plumb_companion c);

#endif

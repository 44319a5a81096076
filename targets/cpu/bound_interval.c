#include "targets/cpu/bound_interval.h"

#include <float.h>
#include <string.h>

#include "targets/cpu/float_convert.h"

plumb_companion plumb_invalid(bool certain) {
  return certain ? plumb_companion_nan() : plumb_companion_unknown();
}

plumb_companion plumb_spread(const plumb_companion *const *operands, int count) {
  for (int i = 0; i < count; i++)
    if (plumb_companion_is_nan(operands[i])) return plumb_companion_nan();
  return plumb_companion_unknown();
}

/* --- directed rounding of one operation: the error term says which way --- */

static double down(double value) {
  return nextafter(value, -(double)INFINITY);
}
static double up(double value) {
  return nextafter(value, (double)INFINITY);
}

/* Below this an error term may itself underflow. */
#define ERROR_FLOOR 0x1p-960

typedef struct directed {
  double value, error; /* error < 0: the exact result lies below value */
} directed;

static double floor_of(directed d) {
  if (isnan(d.error)) return isinf(d.value) ? d.value : down(d.value);
  return d.error < 0 ? down(d.value) : d.value;
}
static double ceiling_of(directed d) {
  if (isnan(d.error)) return isinf(d.value) ? d.value : up(d.value);
  return d.error > 0 ? up(d.value) : d.value;
}

/* An infinite result of finite operands lies beyond the largest double. */
static directed overflowed(double value, bool finite_operands) {
  double error = !finite_operands ? 0 : value > 0 ? -1 : 1;
  return (directed){value, error};
}

static directed add(double a, double b) {
  double s = a + b;
  if (isinf(s)) return overflowed(s, isfinite(a) && isfinite(b));
  double virtual_b = s - a, virtual_a = s - virtual_b;
  return (directed){s, (a - virtual_a) + (b - virtual_b)};
}

static directed mul(double a, double b) {
  double p = a * b;
  if (isinf(p)) return overflowed(p, isfinite(a) && isfinite(b));
  if (a == 0 || b == 0) return (directed){p, 0};
  if (fabs(p) < ERROR_FLOOR) return (directed){p, (double)NAN};
  return (directed){p, fma(a, b, -p)};
}

static directed divide(double a, double b) {
  double q = a / b;
  if (isinf(q)) return overflowed(q, isfinite(a) && b != 0);
  if (a == 0 || isinf(b)) return (directed){q, 0};
  if (fabs(q) < ERROR_FLOOR || fabs(a) < ERROR_FLOOR || fabs(a) > 0x1p960)
    return (directed){q, (double)NAN};
  double residual = fma(-q, b, a);
  return (directed){q, b > 0 ? residual : -residual};
}

static directed root(double a) {
  double r = sqrt(a);
  if (a == 0 || isinf(r)) return (directed){r, 0};
  if (a < ERROR_FLOOR) return (directed){r, (double)NAN};
  return (directed){r, fma(-r, r, a)};
}

/* --- intervals --- */

static bool certain(const plumb_companion *a, const plumb_companion *b) {
  return plumb_companion_is_certain(a) && plumb_companion_is_certain(b);
}
static bool reaches_infinity(const plumb_companion *c) {
  return isinf(c->lo) || isinf(c->hi);
}

plumb_companion plumb_interval_add(const plumb_companion *a, const plumb_companion *b) {
  bool opposite = (a->hi == (double)INFINITY && b->lo == -(double)INFINITY) ||
                  (a->lo == -(double)INFINITY && b->hi == (double)INFINITY);
  if (opposite) return plumb_invalid(certain(a, b));
  return interval(floor_of(add(a->lo, b->lo)), ceiling_of(add(a->hi, b->hi)));
}

static plumb_companion corners(const plumb_companion *a, const plumb_companion *b,
                               directed (*operation)(double, double)) {
  double x[4] = {a->lo, a->lo, a->hi, a->hi}, y[4] = {b->lo, b->hi, b->lo, b->hi};
  int count = certain(a, b) ? 1 : 4;
  double lo = (double)INFINITY, hi = -(double)INFINITY;
  for (int i = 0; i < count; i++) {
    directed d = operation(x[i], y[i]);
    lo = fmin(lo, floor_of(d));
    hi = fmax(hi, ceiling_of(d));
  }
  return interval(lo, hi);
}

plumb_companion plumb_interval_mul(const plumb_companion *a, const plumb_companion *b) {
  if ((contains(a, 0) && reaches_infinity(b)) || (contains(b, 0) && reaches_infinity(a)))
    return plumb_invalid(certain(a, b));
  return corners(a, b, mul);
}

plumb_companion plumb_interval_div(const plumb_companion *a, const plumb_companion *b) {
  if ((contains(a, 0) && contains(b, 0)) || (reaches_infinity(a) && reaches_infinity(b)))
    return plumb_invalid(certain(a, b));
  if (contains(b, 0)) return everything(); /* the sign of a zero is not tracked */
  return corners(a, b, divide);
}

plumb_companion plumb_interval_sqrt(const plumb_companion *a) {
  if (a->hi < 0) return plumb_companion_nan();
  if (a->lo < 0) return plumb_companion_unknown();
  return interval(floor_of(root(a->lo)), ceiling_of(root(a->hi)));
}

plumb_companion plumb_interval_neg(const plumb_companion *a) {
  return interval(-a->hi, -a->lo);
}

plumb_companion plumb_interval_abs(const plumb_companion *a) {
  if (a->lo >= 0) return interval(fabs(a->lo), fabs(a->hi));
  if (a->hi <= 0) return interval(fabs(a->hi), fabs(a->lo));
  return interval(0, magnitude(a));
}

/* --- the type's own rounding --- */

double plumb_largest(plumb_dtype type) {
  switch (type) {
    case PLUMB_F64:
      return DBL_MAX;
    case PLUMB_F32:
      return (double)FLT_MAX;
    case PLUMB_F16:
      return 65504;
    default:
      return plumb_dtype_to_double(type, plumb_float_largest(type));
  }
}

double plumb_unit(plumb_dtype type) {
  return ldexp(0.5, -(int)plumb_dtype_table[type].fraction_bits);
}

double plumb_ulp(plumb_dtype type, double value) {
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  int least = 2 - (1 << (info->exponent_bits - 1));
  int exponent = value == 0 || !isfinite(value) ? least : ilogb(value);
  if (isinf(value)) exponent = ilogb(plumb_largest(type));
  if (exponent < least) exponent = least;
  return ldexp(1.0, exponent - (int)info->fraction_bits);
}

/* To nearest by adding and taking away 1.5 * 2^52 quanta: one rounding in double. */
static double nearest(plumb_dtype type, double value) {
  if (!(fabs(value) <= plumb_largest(type) * 1.001)) return copysign((double)INFINITY, value);
  double shifter = plumb_ulp(type, value) * 0x1.8p52;
  double rounded = (value + shifter) - shifter;
  return fabs(rounded) > plumb_largest(type) ? copysign((double)INFINITY, value) : rounded;
}

double plumb_round_value(plumb_dtype type, plumb_round round, double value) {
  if (type == PLUMB_F64 || value == 0 || isinf(value)) return value;
  if (round == PLUMB_RN && type == PLUMB_F32) return (double)(float)value;
  if (round == PLUMB_RN && (type == PLUMB_F16 || type == PLUMB_BF16)) return nearest(type, value);
  double r = plumb_dtype_to_double(type, plumb_pack_double(type, value, round));
  return isnan(r) ? copysign((double)INFINITY, value) : r;
}

plumb_companion plumb_interval_limit(plumb_dtype type, const plumb_companion *c) {
  plumb_companion r = *c;
  double largest = plumb_largest(type);
  if (r.hi > largest) r.hi = (double)INFINITY;
  if (r.lo < -largest) r.lo = -(double)INFINITY;
  return r;
}

plumb_companion plumb_interval_round(plumb_dtype type, plumb_round round,
                                     const plumb_companion *real) {
  if (!plumb_companion_is_known(real) || !plumb_dtype_is_float(type)) return *real;
  plumb_companion r = *real;
  r.lo = fmin(r.lo, plumb_round_value(type, round, r.lo));
  r.hi = fmax(r.hi, plumb_round_value(type, round, r.hi));
  return plumb_interval_limit(type, &r);
}

/* Next to a power of two an ulp may be counted on either side: take the larger. */
static double outer_ulp(plumb_dtype type, double value, double ulps) {
  return plumb_ulp(type, fabs(value) + ulps * plumb_ulp(type, value));
}

plumb_companion plumb_interval_widen(plumb_dtype type, const plumb_companion *c, double ulps,
                                     double absolute) {
  if (!plumb_companion_is_known(c)) return *c;
  plumb_companion r = *c;
  double largest = plumb_largest(type);
  double lo = r.lo > largest ? largest : r.lo, hi = r.hi < -largest ? -largest : r.hi;
  if (isfinite(lo)) r.lo = down(lo - up(ulps * outer_ulp(type, lo, ulps) + absolute));
  if (isfinite(hi)) r.hi = up(hi + up(ulps * outer_ulp(type, hi, ulps) + absolute));
  return plumb_interval_limit(type, &r);
}

/* Interval images of elementary and approximate functions, piece by monotone piece, then
 * widened by the error that is documented for the function (math.def; numerics.md 6). */
#include <string.h>

#include "targets/cpu/alu_lanes.h"
#include "targets/cpu/bound_interval.h"

#define TWO_PI 6.28318530717958647692528676655900576839L
#define PI 3.14159265358979323846264338327950288420L

typedef enum shape {
  INCREASING,
  DECREASING,
  EVEN, /* falls to 0, then rises */
  SINE,
  COSINE,
  TANGENT,
  GAMMA,    /* one minimum on the positive axis */
  TWO_SIDED /* its own function below */
} shape;

typedef struct function_shape {
  shape kind;
  double from, to; /* the domain, ends included */
} function_shape;

#define ALL -(double)INFINITY, (double)INFINITY
static const function_shape shapes[PLUMB_MATH_COUNT] = {
    [PLUMB_MATH_EXP] = {INCREASING, ALL},
    [PLUMB_MATH_EXP2] = {INCREASING, ALL},
    [PLUMB_MATH_EXP10] = {INCREASING, ALL},
    [PLUMB_MATH_EXPM1] = {INCREASING, ALL},
    [PLUMB_MATH_LOG] = {INCREASING, 0, (double)INFINITY},
    [PLUMB_MATH_LOG2] = {INCREASING, 0, (double)INFINITY},
    [PLUMB_MATH_LOG10] = {INCREASING, 0, (double)INFINITY},
    [PLUMB_MATH_LOG1P] = {INCREASING, -1, (double)INFINITY},
    [PLUMB_MATH_SIN] = {SINE, ALL},
    [PLUMB_MATH_COS] = {COSINE, ALL},
    [PLUMB_MATH_TAN] = {TANGENT, ALL},
    [PLUMB_MATH_ASIN] = {INCREASING, -1, 1},
    [PLUMB_MATH_ACOS] = {DECREASING, -1, 1},
    [PLUMB_MATH_ATAN] = {INCREASING, ALL},
    [PLUMB_MATH_ATAN2] = {TWO_SIDED, ALL},
    [PLUMB_MATH_SINH] = {INCREASING, ALL},
    [PLUMB_MATH_COSH] = {EVEN, ALL},
    [PLUMB_MATH_TANH] = {INCREASING, ALL},
    [PLUMB_MATH_ASINH] = {INCREASING, ALL},
    [PLUMB_MATH_ACOSH] = {INCREASING, 1, (double)INFINITY},
    [PLUMB_MATH_ATANH] = {INCREASING, -1, 1},
    [PLUMB_MATH_ERF] = {INCREASING, ALL},
    [PLUMB_MATH_ERFC] = {DECREASING, ALL},
    [PLUMB_MATH_POW] = {TWO_SIDED, ALL},
    [PLUMB_MATH_POWI] = {TWO_SIDED, ALL},
    [PLUMB_MATH_CBRT] = {INCREASING, ALL},
    [PLUMB_MATH_RSQRT] = {DECREASING, 0, (double)INFINITY},
    [PLUMB_MATH_HYPOT] = {TWO_SIDED, ALL},
    [PLUMB_MATH_TGAMMA] = {GAMMA, 0, (double)INFINITY},
    [PLUMB_MATH_LGAMMA] = {GAMMA, 0, (double)INFINITY},
    [PLUMB_MATH_FMOD] = {TWO_SIDED, ALL},
    [PLUMB_MATH_REMAINDER] = {TWO_SIDED, ALL},
    [PLUMB_MATH_LDEXP] = {TWO_SIDED, ALL},
};

/* The x87 value is within a unit of its own last place of the truth, far less than a
 * double step: one step outward encloses it. */
static double below(long double v) {
  double d = (double)v;
  return isinf(d) && !isinf(v) ? nextafter(d, 0) : nextafter(d, -(double)INFINITY);
}
static double above(long double v) {
  double d = (double)v;
  if (d == -(double)INFINITY && !isinf(v)) return nextafter(d, 0);
  return nextafter(d, (double)INFINITY);
}

static plumb_companion ordered(long double x, long double y) {
  if (isnan(x) || isnan(y)) return plumb_companion_unknown();
  return x <= y ? interval(below(x), above(y)) : interval(below(y), above(x));
}

static long double value_of(plumb_math which, double x) {
  return plumb_math_long(which, x, 0, 0);
}

/* Whether x = offset + k * period lies in the interval for an integer k; yes in doubt. */
static bool meets(const plumb_companion *a, long double offset, long double period) {
  long double from = ((long double)a->lo - offset) / period;
  long double to = ((long double)a->hi - offset) / period;
  long double slack = 1e-15L + 1e-17L * (fabsl(from) + fabsl(to));
  return floorl(to + slack) >= ceill(from - slack);
}

/* Beyond this the multiple of the period is not certain in x87 precision. */
#define PERIODIC_LIMIT 0x1p30

static plumb_companion periodic(plumb_math which, const plumb_companion *a) {
  if (isinf(a->lo) || isinf(a->hi))
    return plumb_companion_is_certain(a) ? plumb_companion_nan() : plumb_companion_unknown();
  plumb_companion r;
  if (plumb_companion_is_certain(a)) {
    r = ordered(value_of(which, a->lo), value_of(which, a->lo));
  } else if (magnitude(a) > PERIODIC_LIMIT) {
    return which == PLUMB_MATH_TAN ? everything() : interval(-1, 1);
  } else if (which == PLUMB_MATH_TAN) {
    if (meets(a, PI / 2, PI)) return everything();
    r = ordered(value_of(which, a->lo), value_of(which, a->hi));
  } else {
    long double top = which == PLUMB_MATH_SIN ? PI / 2 : 0;
    r = ordered(value_of(which, a->lo), value_of(which, a->hi));
    if (meets(a, top, TWO_PI)) r.hi = 1;
    if (meets(a, top + PI, TWO_PI)) r.lo = -1;
  }
  return r;
}

/* The gamma functions have their minimum at 1.46163...; below zero only a certain
 * argument is understood, and lgamma not where its documented error does not hold. */
static plumb_companion gamma_image(plumb_math which, const plumb_companion *a) {
  const double bottom = 1.4616321449683623;
  bool log_gamma = which == PLUMB_MATH_LGAMMA;
  if (a->lo <= 0) {
    bool understood = plumb_companion_is_certain(a) && a->lo != 0 && !(log_gamma && a->lo < -2);
    if (!understood) return plumb_companion_unknown();
    return ordered(value_of(which, a->lo), value_of(which, a->lo));
  }
  plumb_companion r = ordered(value_of(which, a->lo), value_of(which, a->hi));
  if (a->lo < bottom + 1e-9 && a->hi > bottom - 1e-9)
    r.lo = log_gamma ? -0.12148629053584962 : 0.8856031944108886;
  return r;
}

static plumb_companion image(plumb_math which, const plumb_companion *a) {
  const function_shape *f = &shapes[which];
  if (a->hi < f->from || a->lo > f->to)
    return f->kind == GAMMA ? gamma_image(which, a) : plumb_companion_nan();
  if (f->kind == GAMMA) return gamma_image(which, a);
  if (a->lo < f->from || a->hi > f->to) return plumb_companion_unknown();
  switch (f->kind) {
    case INCREASING:
      return ordered(value_of(which, a->lo), value_of(which, a->hi));
    case DECREASING: {
      plumb_companion r = ordered(value_of(which, a->hi), value_of(which, a->lo));
      /* rsqrt(-0) is -inf, and the sign of a zero is not tracked. */
      if (which == PLUMB_MATH_RSQRT && a->lo <= 0) return everything();
      return r;
    }
    case EVEN: {
      plumb_companion m = plumb_interval_abs(a);
      return ordered(value_of(which, m.lo), value_of(which, m.hi));
    }
    default:
      return periodic(which, a);
  }
}

/* --- two operands --- */

static plumb_companion corner_hull(plumb_math which, const plumb_companion *a,
                                   const plumb_companion *b, int64_t n) {
  plumb_companion r = interval((double)INFINITY, -(double)INFINITY);
  for (int i = 0; i < 4; i++) {
    double x = i & 1 ? a->hi : a->lo, y = i & 2 ? b->hi : b->lo;
    long double v = plumb_math_long(which, x, y, n);
    if (isnan(v)) return plumb_companion_unknown();
    r.lo = fmin(r.lo, below(v));
    r.hi = fmax(r.hi, above(v));
  }
  return r;
}

/* On x > 0, x^y = exp(y ln x) takes its extremes at the corners. A negative base needs a
 * certain integral exponent. */
static plumb_companion power(const plumb_companion *a, const plumb_companion *b) {
  if (a->lo > 0) return corner_hull(PLUMB_MATH_POW, a, b, 0);
  if (a->lo == 0 && b->lo > 0) {
    plumb_companion positive = interval(0, a->hi);
    return corner_hull(PLUMB_MATH_POW, &positive, b, 0);
  }
  if (!plumb_companion_is_certain(b) || b->lo != rint(b->lo)) return plumb_companion_unknown();
  bool odd = fabs(fmod(b->lo, 2)) == 1;
  if (b->lo < 0 && contains(a, 0)) return everything();
  if (odd) return corner_hull(PLUMB_MATH_POW, a, b, 0);
  plumb_companion m = plumb_interval_abs(a);
  return corner_hull(PLUMB_MATH_POW, &m, b, 0);
}

static plumb_companion remainder_image(plumb_math which, const plumb_companion *a,
                                       const plumb_companion *b) {
  if (contains(b, 0) || isinf(a->lo) || isinf(a->hi)) return plumb_companion_unknown();
  if (plumb_companion_is_certain(a) && plumb_companion_is_certain(b)) {
    double v = plumb_math_double(which, a->lo, b->lo, 0); /* exact */
    return interval(v, v);
  }
  plumb_companion m = plumb_interval_abs(b);
  if (which == PLUMB_MATH_REMAINDER) return interval(-m.hi / 2, m.hi / 2);
  bool same_step = plumb_companion_is_certain(b) && trunc(a->lo / b->lo) == trunc(a->hi / b->lo) &&
                   magnitude(a) < 0x1p50 * m.lo;
  double lo = fmod(a->lo, m.hi), hi = fmod(a->hi, m.hi);
  if (same_step && lo <= hi && (hi - lo) <= (a->hi - a->lo) * (1 + 0x1p-50))
    return interval(lo, hi);
  double most = fmin(m.hi, magnitude(a));
  return interval(a->lo < 0 ? -most : 0, a->hi > 0 ? most : 0);
}

static plumb_companion angle(const plumb_companion *y, const plumb_companion *x) {
  bool cut = contains(y, 0) && x->lo <= 0;
  if (cut) return interval(below(-PI), above(PI));
  return corner_hull(PLUMB_MATH_ATAN2, y, x, 0);
}

static plumb_companion image2(plumb_math which, const plumb_companion *a, const plumb_companion *b,
                              int64_t n, bool n_known) {
  plumb_companion exponent = interval((double)n, (double)n);
  switch (which) {
    case PLUMB_MATH_ATAN2:
      return angle(a, b);
    case PLUMB_MATH_POW:
      return power(a, b);
    case PLUMB_MATH_POWI:
      return n_known ? power(a, &exponent) : plumb_companion_unknown();
    case PLUMB_MATH_FMOD:
    case PLUMB_MATH_REMAINDER:
      return remainder_image(which, a, b);
    case PLUMB_MATH_HYPOT: {
      plumb_companion x = plumb_interval_abs(a), y = plumb_interval_abs(b);
      return corner_hull(which, &x, &y, 0);
    }
    case PLUMB_MATH_LDEXP: {
      if (!n_known) return plumb_companion_unknown();
      plumb_companion zero = interval(0, 0);
      return corner_hull(which, a, &zero, n);
    }
    default:
      return plumb_companion_unknown();
  }
}

/* Types below f32 are computed in f32 and rounded: less than one of their own ulps. */
static double documented_ulp(plumb_math which, plumb_dtype type) {
  if (type == PLUMB_F64) return plumb_math_table[which].ulp_f64;
  return type == PLUMB_F32 ? plumb_math_table[which].ulp_f32 : 1;
}

static bool is_exponential(plumb_math which) {
  return which == PLUMB_MATH_EXP || which == PLUMB_MATH_EXP2 || which == PLUMB_MATH_EXP10;
}

/* An error in ulps does not make these negative. */
static bool never_negative(plumb_math which, const plumb_companion *a, const plumb_companion *b) {
  switch (which) {
    case PLUMB_MATH_EXP:
    case PLUMB_MATH_EXP2:
    case PLUMB_MATH_EXP10:
    case PLUMB_MATH_ERFC:
    case PLUMB_MATH_COSH:
    case PLUMB_MATH_ACOSH:
    case PLUMB_MATH_HYPOT:
      return true;
    case PLUMB_MATH_RSQRT:
      return a->lo > 0;
    case PLUMB_MATH_POW:
      return a->lo > 0 || (a->lo == 0 && b->lo > 0);
    case PLUMB_MATH_POWI:
      return a->lo > 0;
    default:
      return false;
  }
}

static double shadow_of(plumb_math which, plumb_dtype type, double a, double b, int64_t n) {
  if (type == PLUMB_F64) return (double)plumb_math_long(which, a, b, n);
  return plumb_math_double(which, a, b, n);
}

plumb_companion plumb_bound_math(const plumb_inst *inst, const plumb_companion *a,
                                 const plumb_companion *b, int64_t n, bool n_known) {
  plumb_math which = (plumb_math)inst->sub;
  plumb_dtype type = (plumb_dtype)inst->type;
  const plumb_companion *operands[2] = {a, b};
  bool uses_b =
      shapes[which].kind == TWO_SIDED && which != PLUMB_MATH_POWI && which != PLUMB_MATH_LDEXP;
  plumb_companion r;
  if (!plumb_companion_is_known(a) || (uses_b && !plumb_companion_is_known(b))) {
    /* pow and hypot have values that do not depend on a NaN operand. */
    bool absorbs = which == PLUMB_MATH_POW || which == PLUMB_MATH_POWI || which == PLUMB_MATH_HYPOT;
    r = absorbs ? plumb_companion_unknown() : plumb_spread(operands, uses_b ? 2 : 1);
  } else {
    r = shapes[which].kind == TWO_SIDED ? image2(which, a, b, n, n_known) : image(which, a);
    bool exact = which == PLUMB_MATH_FMOD || which == PLUMB_MATH_REMAINDER;
    if (!exact) r = plumb_interval_widen(type, &r, documented_ulp(which, type), 0);
    if (never_negative(which, a, b) && plumb_companion_is_known(&r)) r.lo = fmax(r.lo, 0);
    if (is_exponential(which) && a->hi == -(double)INFINITY) r = interval(0, 0);
  }
  return plumb_with_shadow(r, shadow_of(which, type, a->shadow, b->shadow, n));
}

/* --- approximate instructions --- */

static plumb_companion approx_image(plumb_approx which, plumb_dtype type, const plumb_companion *a,
                                    const plumb_companion *b) {
  plumb_companion one = interval(1, 1);
  switch (which) {
    case PLUMB_APPROX_RCP:
      return plumb_interval_div(&one, a);
    case PLUMB_APPROX_DIV:
      /* Between 2^126 and 2^128 the divisor's reciprocal is flushed (9.7.3.8). */
      if (type == PLUMB_F32 && magnitude(b) > 0x1p126) return plumb_companion_unknown();
      return plumb_interval_div(a, b);
    case PLUMB_APPROX_DIV_FULL:
      return plumb_interval_div(a, b);
    case PLUMB_APPROX_SQRT:
      return plumb_interval_sqrt(a);
    case PLUMB_APPROX_RSQRT:
      /* No error is documented for f64 (9.7.3.17). */
      if (type == PLUMB_F64) return plumb_companion_unknown();
      return image(PLUMB_MATH_RSQRT, a);
    case PLUMB_APPROX_LG2:
      return image(PLUMB_MATH_LOG2, a);
    case PLUMB_APPROX_EX2:
      return image(PLUMB_MATH_EXP2, a);
    case PLUMB_APPROX_TANH:
      return image(PLUMB_MATH_TANH, a);
    case PLUMB_APPROX_SIN:
    case PLUMB_APPROX_COS: /* no error is documented beyond 100 pi */
      if (magnitude(a) > 314.15) return plumb_companion_unknown();
      return image(which == PLUMB_APPROX_SIN ? PLUMB_MATH_SIN : PLUMB_MATH_COS, a);
    default:
      return plumb_companion_unknown(); /* the f64 forms document no bound */
  }
}

static double approx_shadow(plumb_approx which, double a, double b) {
  switch (which) {
    case PLUMB_APPROX_RCP:
    case PLUMB_APPROX_RCP_FTZ_F64:
      return 1 / a;
    case PLUMB_APPROX_DIV:
    case PLUMB_APPROX_DIV_FULL:
      return a / b;
    case PLUMB_APPROX_SQRT:
      return sqrt(a);
    case PLUMB_APPROX_RSQRT:
    case PLUMB_APPROX_RSQRT_FTZ_F64:
      return 1 / sqrt(a);
    case PLUMB_APPROX_SIN:
      return sin(a);
    case PLUMB_APPROX_COS:
      return cos(a);
    case PLUMB_APPROX_LG2:
      return log2(a);
    case PLUMB_APPROX_EX2:
      return exp2(a);
    default:
      return tanh(a);
  }
}

plumb_companion plumb_bound_approx(const plumb_inst *inst, const plumb_companion *a,
                                   const plumb_companion *b) {
  plumb_approx which = (plumb_approx)inst->sub;
  plumb_dtype type = (plumb_dtype)inst->type;
  int count = plumb_approx_table[which].arity;
  const plumb_companion *operands[2] = {a, b};
  plumb_companion r;
  if (!plumb_companion_is_known(a) || (count > 1 && !plumb_companion_is_known(b))) {
    r = plumb_spread(operands, count);
  } else {
    r = approx_image(which, type, a, b);
    plumb_approx_error e = plumb_approx_error_of(which, type, a->lo, a->hi);
    double absolute = e.absolute;
    if (e.relative != 0 && isfinite(magnitude(&r))) absolute += e.relative * magnitude(&r);
    /* the result is a value of the type: half an ulp beside a relative error */
    double ulps = type == PLUMB_F32 ? 0.5 : 1;
    r = plumb_interval_widen(type, &r, e.ulps > 0 ? e.ulps : ulps, absolute);
  }
  return plumb_with_shadow(r, approx_shadow(which, a->shadow, b->shadow));
}

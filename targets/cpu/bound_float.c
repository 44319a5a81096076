/* Companions of float arithmetic and of reductions. */
#include "targets/cpu/bound_interval.h"

/* Flushing is part of the instruction where it says so: a subnormal may become zero. */
plumb_companion plumb_bound_flush(plumb_dtype type, plumb_companion c) {
  if (!plumb_companion_is_known(&c)) return c;
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  double least = ldexp(1.0, 2 - (1 << (info->exponent_bits - 1)));
  if (c.lo > 0 && c.lo < least) c.lo = 0;
  if (c.hi < 0 && c.hi > -least) c.hi = 0;
  return c;
}

plumb_companion plumb_bound_clamp(const plumb_inst *inst, plumb_companion c) {
  if (inst->flags & PLUMB_FLAG_SAT) {
    bool known = plumb_companion_is_known(&c), is_nan = plumb_companion_is_nan(&c);
    double shadow = c.shadow > 0 ? fmin(c.shadow, 1) : 0;
    if (is_nan) return interval(0, 0);
    c = known ? interval(fmin(fmax(c.lo, 0), 1), fmin(fmax(c.hi, 0), 1)) : interval(0, 1);
    c.shadow = shadow;
  }
  if ((inst->flags & PLUMB_FLAG_RELU) && plumb_companion_is_known(&c)) {
    c.lo = fmax(c.lo, 0);
    c.hi = fmax(c.hi, 0);
    c.shadow = fmax(c.shadow, 0);
  }
  return c;
}

/* Rounding, flags, and a shadow that keeps the three kinds apart. */
plumb_companion plumb_bound_finish(const plumb_inst *inst, plumb_companion real, double shadow) {
  plumb_dtype type = (plumb_dtype)inst->type;
  plumb_companion c = plumb_interval_round(type, (plumb_round)inst->round, &real);
  c = plumb_with_shadow(c, shadow);
  if (inst->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_OUT)) c = plumb_bound_flush(type, c);
  return plumb_bound_clamp(inst, c);
}

static double shadow_two(const plumb_inst *inst, double a, double b) {
  bool is_f64 = inst->type == PLUMB_F64;
  long double x = a, y = b;
  switch ((plumb_op)inst->op) {
    case PLUMB_OP_ADD:
      return is_f64 ? (double)(x + y) : a + b;
    case PLUMB_OP_SUB:
      return is_f64 ? (double)(x - y) : a - b;
    case PLUMB_OP_MUL:
      return is_f64 ? (double)(x * y) : a * b;
    case PLUMB_OP_DIV:
      return is_f64 ? (double)(x / y) : a / b;
    default:
      return fmod(a, b);
  }
}

static plumb_companion real_two(const plumb_inst *inst, const plumb_companion *a,
                                const plumb_companion *b) {
  switch ((plumb_op)inst->op) {
    case PLUMB_OP_ADD:
      return plumb_interval_add(a, b);
    case PLUMB_OP_SUB: {
      plumb_companion minus = plumb_interval_neg(b);
      return plumb_interval_add(a, &minus);
    }
    case PLUMB_OP_MUL:
      return plumb_interval_mul(a, b);
    case PLUMB_OP_DIV:
      return plumb_interval_div(a, b);
    default: { /* REM_F is the function fmod */
      plumb_inst math = *inst;
      math.sub = PLUMB_MATH_FMOD;
      return plumb_bound_math(&math, a, b, 0, true);
    }
  }
}

plumb_companion plumb_bound_two(const plumb_inst *inst, const plumb_companion *a,
                                const plumb_companion *b) {
  const plumb_companion *operands[2] = {a, b};
  bool known = plumb_companion_is_known(a) && plumb_companion_is_known(b);
  plumb_companion real = known ? real_two(inst, a, b) : plumb_spread(operands, 2);
  return plumb_bound_finish(inst, real, shadow_two(inst, a->shadow, b->shadow));
}

/* Fused, or a rounded product and a rounded sum: the product's interval holds both. */
plumb_companion plumb_bound_fma(const plumb_inst *inst, const plumb_companion *a,
                                const plumb_companion *b, const plumb_companion *c) {
  const plumb_companion *operands[3] = {a, b, c};
  plumb_companion real;
  if (!plumb_companion_is_known(a) || !plumb_companion_is_known(b) ||
      !plumb_companion_is_known(c)) {
    real = plumb_spread(operands, 3);
  } else {
    plumb_companion product = plumb_interval_mul(a, b);
    product = plumb_interval_round((plumb_dtype)inst->type, (plumb_round)inst->round, &product);
    real = plumb_companion_is_known(&product) ? plumb_interval_add(&product, c) : product;
  }
  double shadow = inst->type == PLUMB_F64
                      ? (double)((long double)a->shadow * b->shadow + (long double)c->shadow)
                      : fma(a->shadow, b->shadow, c->shadow);
  return plumb_bound_finish(inst, real, shadow);
}

plumb_companion plumb_bound_sqrt(const plumb_inst *inst, const plumb_companion *a) {
  plumb_companion real = plumb_companion_is_known(a) ? plumb_interval_sqrt(a) : *a;
  return plumb_bound_finish(inst, real, sqrt(a->shadow));
}

/* A NaN operand is dropped or decides (plumb_nan_rule); an unknown one may be either. */
plumb_companion plumb_bound_extreme(const plumb_inst *inst, plumb_companion a, plumb_companion b) {
  bool maximum = inst->op == PLUMB_OP_MAX, drop = inst->sub == PLUMB_NAN_DROP;
  if (inst->flags & PLUMB_FLAG_ABS_OP) {
    double x = fabs(a.shadow), y = fabs(b.shadow);
    if (plumb_companion_is_known(&a)) a = plumb_interval_abs(&a);
    if (plumb_companion_is_known(&b)) b = plumb_interval_abs(&b);
    a.shadow = x;
    b.shadow = y;
  }
  const plumb_companion *operands[2] = {&a, &b};
  double shadow = maximum ? fmax(a.shadow, b.shadow) : fmin(a.shadow, b.shadow);
  plumb_companion r;
  bool a_known = plumb_companion_is_known(&a), b_known = plumb_companion_is_known(&b);
  if (a_known && b_known)
    r = maximum ? interval(fmax(a.lo, b.lo), fmax(a.hi, b.hi))
                : interval(fmin(a.lo, b.lo), fmin(a.hi, b.hi));
  else if (!drop)
    r = plumb_spread(operands, 2);
  else if (plumb_companion_is_nan(&a))
    r = b;
  else if (plumb_companion_is_nan(&b))
    r = a;
  else if (!a_known && !b_known)
    r = plumb_companion_unknown();
  else
    r = maximum ? interval(a_known ? a.lo : b.lo, (double)INFINITY)
                : interval(-(double)INFINITY, a_known ? a.hi : b.hi);
  if ((inst->flags & PLUMB_FLAG_XORSIGN) && plumb_companion_is_known(&r))
    r = interval(-magnitude(&r), magnitude(&r));
  return plumb_bound_clamp(inst, plumb_with_shadow(r, shadow));
}

plumb_companion plumb_bound_sign(const plumb_inst *inst, const plumb_companion *a,
                                 const plumb_companion *b, bool b_exact, bool b_negative) {
  plumb_companion r = *a;
  if (inst->op == PLUMB_OP_NEG) {
    if (plumb_companion_is_known(a)) r = plumb_interval_neg(a);
    r.shadow = -a->shadow;
    return r;
  }
  double size = fabs(a->shadow);
  if (plumb_companion_is_known(a)) r = plumb_interval_abs(a);
  r.shadow = size;
  if (inst->op == PLUMB_OP_ABS || !plumb_companion_is_known(a)) return r;
  bool negative = b_exact ? b_negative : b->hi < 0;
  bool positive = b_exact ? !b_negative : b->lo > 0;
  if (negative)
    r = plumb_interval_neg(&r);
  else if (!positive)
    r = interval(-magnitude(&r), magnitude(&r));
  bool shadow_negative = b_exact ? b_negative : signbit(b->shadow) != 0;
  r.shadow = shadow_negative ? -size : size;
  return r;
}

double plumb_to_integral(plumb_round mode, double v) {
  switch (mode) {
    case PLUMB_RZ:
      return trunc(v);
    case PLUMB_RM:
      return floor(v);
    case PLUMB_RP:
      return ceil(v);
    case PLUMB_RNA:
      return round(v);
    default:
      return rint(v);
  }
}

plumb_companion plumb_bound_integral(const plumb_inst *inst, const plumb_companion *a) {
  plumb_round mode = (plumb_round)inst->round;
  plumb_companion r = *a;
  if (plumb_companion_is_known(a)) {
    r.lo = plumb_to_integral(mode, a->lo);
    r.hi = plumb_to_integral(mode, a->hi);
  }
  r.shadow = plumb_to_integral(mode, a->shadow);
  return plumb_bound_clamp(inst, r);
}

/* The half width of a sum's interval is at least `share` times the sum of magnitudes. Where
 * that sum exceeds the largest value another order may overflow on its way, to infinity
 * or, with infinities of both signs, to NaN. */
static plumb_companion without_overflow(plumb_dtype type, double share, const plumb_companion *c) {
  double half_width = c->hi / 2 - c->lo / 2;
  if (half_width / share > plumb_largest(type)) return plumb_companion_unknown();
  return plumb_interval_limit(type, c);
}

plumb_companion plumb_bound_reduce(plumb_dtype type, bool multiply, const plumb_companion *acc,
                                   const plumb_companion *term, int64_t terms) {
  const plumb_companion *operands[2] = {acc, term};
  plumb_companion r;
  double u = plumb_unit(type), n = terms > 1 ? (double)terms : 1;
  if (!plumb_companion_is_known(acc) || !plumb_companion_is_known(term)) {
    r = plumb_spread(operands, 2);
  } else if (multiply) {
    r = plumb_interval_mul(acc, term);
    if (plumb_companion_is_known(&r)) r = plumb_interval_widen(type, &r, 1, 0);
  } else {
    /* n * u * sum |terms| bounds every order and tree of additions to nearest, for any n
     * (Jeannerod and Rump, Improved error bounds for inner products, 2013). The first
     * accumulator is a leaf too: it pays once, when its interval is still narrower than
     * that. Later accumulators are wider by construction. */
    double share = n * u * (1 + 0x1p-40), size = magnitude(term);
    double middle = fabs(acc->lo / 2 + acc->hi / 2), half_width = acc->hi / 2 - acc->lo / 2;
    double error = isfinite(size) ? share * size : 0;
    if (isfinite(magnitude(acc)) && half_width < share * middle * (1 - 0x1p-30))
      error += share * magnitude(acc);
    if (size == 0 && acc->lo == acc->hi) error = 0; /* adding nothing to a leaf */
    r = plumb_interval_add(acc, term);
    if (plumb_companion_is_known(&r) && error > 0) {
      plumb_companion slack = interval(-error, error);
      r = plumb_interval_add(&r, &slack);
    }
    if (plumb_companion_is_known(&r)) r = without_overflow(type, share, &r);
  }
  long double x = acc->shadow, y = term->shadow;
  return plumb_with_shadow(r, multiply ? (double)(x * y) : (double)(x + y));
}

/* Companions of conversions, comparisons, choices, and of integers that depend on
 * uncertain floats. */
#include "targets/cpu/bound_interval.h"
#include "targets/cpu/float_convert.h"

/* --- conversions --- */

static double int_least(plumb_dtype type, bool is_signed) {
  return is_signed ? -ldexp(1.0, (int)plumb_dtype_table[type].bits - 1) : 0;
}
static double int_most(plumb_dtype type, bool is_signed) {
  int bits = (int)plumb_dtype_table[type].bits - (is_signed ? 1 : 0);
  return bits > 53 ? ldexp(1.0, bits) : ldexp(1.0, bits) - 1;
}

/* Integers are read as signed: an interval that leaves the signed range wraps. */
static plumb_companion int_limited(plumb_dtype type, plumb_companion c) {
  plumb_companion r = c;
  if (type == PLUMB_I1) {
    if (c.lo == c.hi && isfinite(c.lo))
      r = interval(fmod(fabs(c.lo), 2), fmod(fabs(c.lo), 2));
    else if (c.lo < 0 || c.hi > 1)
      r = interval(0, 1);
  } else if (c.lo < int_least(type, true) || c.hi > int_most(type, true)) {
    r = everything();
  }
  r.shadow = type == PLUMB_I1 ? (double)(c.shadow != 0) : c.shadow;
  return r;
}

/* A certain integer beyond 2^53 is a rounded point: here it needs its true width. */
static plumb_companion wide_int(const plumb_companion *c) {
  plumb_companion r = *c;
  if (fabs(r.lo) >= 0x1p53 && isfinite(r.lo)) r.lo = nextafter(r.lo, -(double)INFINITY);
  if (fabs(r.hi) >= 0x1p53 && isfinite(r.hi)) r.hi = nextafter(r.hi, (double)INFINITY);
  return r;
}

static plumb_companion float_to_int(const plumb_inst *inst, const plumb_companion *a) {
  plumb_dtype type = (plumb_dtype)inst->type;
  bool is_signed = (inst->flags & PLUMB_FLAG_DST_SIGNED) != 0;
  plumb_companion r = everything();
  if (plumb_companion_is_known(a)) {
    double least = int_least(type, is_signed), most = int_most(type, is_signed);
    plumb_round mode = (plumb_round)inst->round;
    r = interval(fmin(fmax(plumb_to_integral(mode, a->lo), least), most),
                 fmin(fmax(plumb_to_integral(mode, a->hi), least), most));
    r.shadow = fmin(fmax(plumb_to_integral(mode, a->shadow), least), most);
    return int_limited(type, r);
  }
  r.shadow = 0;
  return r;
}

/* The source as the conversion reads it: unsigned, or i1 as 0 and -1. */
static plumb_companion int_source(const plumb_inst *inst, const plumb_companion *a) {
  plumb_dtype from = (plumb_dtype)inst->type2;
  bool is_signed = (inst->flags & PLUMB_FLAG_SRC_SIGNED) != 0;
  plumb_companion r = wide_int(a);
  if (from == PLUMB_I1 && is_signed) {
    r = plumb_interval_neg(a);
    r.shadow = -a->shadow;
  } else if (!is_signed && a->lo < 0) {
    double wrapped = a->shadow < 0 ? a->shadow + ldexp(1, plumb_dtype_table[from].bits) : a->shadow;
    bool all = a->hi < 0;
    double turn = ldexp(1, plumb_dtype_table[from].bits);
    r = all && isfinite(a->lo) ? interval(a->lo + turn, a->hi + turn)
                               : interval(0, int_most(from, false));
    r = wide_int(&r);
    r.shadow = wrapped;
  }
  return r;
}

plumb_companion plumb_bound_convert(const plumb_inst *inst, const plumb_companion *a) {
  plumb_dtype to = (plumb_dtype)inst->type, from = (plumb_dtype)inst->type2;
  bool from_float = plumb_dtype_is_float(from);
  if (!plumb_dtype_is_float(to) && from_float) return float_to_int(inst, a);
  plumb_companion source = from_float ? *a : int_source(inst, a);
  if (!plumb_dtype_is_float(to)) return int_limited(to, source);
  if ((inst->flags & PLUMB_FLAG_ABS_OP) && plumb_companion_is_known(&source)) {
    double shadow = fabs(source.shadow);
    source = plumb_interval_abs(&source);
    source.shadow = shadow;
  }
  if (plumb_companion_is_nan(&source) && plumb_float_nan(to) == plumb_float_largest(to))
    source = interval(plumb_largest(to), plumb_largest(to)); /* a type without NaN */
  plumb_companion r = plumb_bound_finish(inst, source, source.shadow);
  bool no_infinity = (inst->flags & PLUMB_FLAG_SATFINITE) || !plumb_float_has_infinity(to);
  if (no_infinity && plumb_companion_is_known(&r)) {
    double most = plumb_largest(to);
    if (!(inst->flags & PLUMB_FLAG_SATFINITE) && (to == PLUMB_E4M3 || to == PLUMB_UE8M0) &&
        magnitude(&r) > most)
      return plumb_companion_unknown();
    r.lo = fmin(fmax(r.lo, -most), most);
    r.hi = fmin(fmax(r.hi, -most), most);
  }
  return r;
}

/* --- comparison and choice --- */

static plumb_companion truth(bool possible_false, bool possible_true, bool shadow) {
  plumb_companion r = interval(possible_false ? 0 : 1, possible_true ? 1 : 0);
  r.shadow = shadow ? 1 : 0;
  return r;
}

typedef enum relation { EQUAL, DIFFERENT, LESS, LESS_EQUAL } relation;

static bool holds(relation which, double a, double b) {
  switch (which) {
    case EQUAL:
      return a == b;
    case DIFFERENT:
      return a < b || a > b;
    case LESS:
      return a < b;
    default:
      return a <= b;
  }
}

static plumb_companion related(relation which, const plumb_companion *a, const plumb_companion *b) {
  bool always, never;
  switch (which) {
    case EQUAL:
    case DIFFERENT: {
      bool same = a->lo == a->hi && b->lo == b->hi && a->lo == b->lo;
      bool apart = a->hi < b->lo || b->hi < a->lo;
      always = which == EQUAL ? same : apart;
      never = which == EQUAL ? apart : same;
      break;
    }
    case LESS:
      always = a->hi < b->lo;
      never = a->lo >= b->hi;
      break;
    default:
      always = a->hi <= b->lo;
      never = a->lo > b->hi;
  }
  return truth(!always, !never, holds(which, a->shadow, b->shadow));
}

/* What each float predicate is: a relation, operands swapped or not, and its value on NaN. */
plumb_companion plumb_bound_compare_float(plumb_cmp predicate, const plumb_companion *a,
                                          const plumb_companion *b) {
  static const struct {
    uint8_t which, swapped, on_nan;
  } rows[PLUMB_CMP_COUNT] = {
      [PLUMB_CMP_OEQ] = {EQUAL, 0, 0}, [PLUMB_CMP_ONE] = {DIFFERENT, 0, 0},
      [PLUMB_CMP_OLT] = {LESS, 0, 0},  [PLUMB_CMP_OLE] = {LESS_EQUAL, 0, 0},
      [PLUMB_CMP_OGT] = {LESS, 1, 0},  [PLUMB_CMP_OGE] = {LESS_EQUAL, 1, 0},
      [PLUMB_CMP_UEQ] = {EQUAL, 0, 1}, [PLUMB_CMP_UNE] = {DIFFERENT, 0, 1},
      [PLUMB_CMP_ULT] = {LESS, 0, 1},  [PLUMB_CMP_ULE] = {LESS_EQUAL, 0, 1},
      [PLUMB_CMP_UGT] = {LESS, 1, 1},  [PLUMB_CMP_UGE] = {LESS_EQUAL, 1, 1},
  };
  if (predicate == PLUMB_CMP_FALSE) return truth(true, false, false);
  if (predicate == PLUMB_CMP_TRUE) return truth(false, true, true);
  bool known = plumb_companion_is_known(a) && plumb_companion_is_known(b);
  bool any_nan = plumb_companion_is_nan(a) || plumb_companion_is_nan(b);
  bool nan_result = predicate == PLUMB_CMP_NAN || rows[predicate].on_nan;
  if (any_nan) return truth(!nan_result, nan_result, nan_result);
  if (predicate == PLUMB_CMP_NUM || predicate == PLUMB_CMP_NAN) {
    bool if_number = predicate == PLUMB_CMP_NUM;
    return known ? truth(!if_number, if_number, if_number) : truth(true, true, if_number);
  }
  const plumb_companion *x = rows[predicate].swapped ? b : a, *y = rows[predicate].swapped ? a : b;
  relation which = (relation)rows[predicate].which;
  return known ? related(which, x, y) : truth(true, true, holds(which, x->shadow, y->shadow));
}

plumb_companion plumb_bound_compare_int(plumb_cmp predicate, const plumb_companion *left,
                                        const plumb_companion *right) {
  plumb_companion x = wide_int(left), y = wide_int(right), *a = &x, *b = &y;
  bool is_unsigned = predicate >= PLUMB_CMP_LT_U && predicate <= PLUMB_CMP_GE_U;
  if (is_unsigned && (a->lo < 0 || b->lo < 0)) return truth(true, true, false);
  switch (predicate) {
    case PLUMB_CMP_EQ:
      return related(EQUAL, a, b);
    case PLUMB_CMP_NE:
      return related(DIFFERENT, a, b);
    case PLUMB_CMP_LT_S:
    case PLUMB_CMP_LT_U:
      return related(LESS, a, b);
    case PLUMB_CMP_LE_S:
    case PLUMB_CMP_LE_U:
      return related(LESS_EQUAL, a, b);
    case PLUMB_CMP_GT_S:
    case PLUMB_CMP_GT_U:
      return related(LESS, b, a);
    case PLUMB_CMP_GE_S:
    case PLUMB_CMP_GE_U:
      return related(LESS_EQUAL, b, a);
    default:
      return truth(true, true, false);
  }
}

plumb_companion plumb_bound_select(const plumb_companion *condition, const plumb_companion *a,
                                   const plumb_companion *b) {
  if (plumb_companion_is_certain(condition)) return condition->lo != 0 ? *a : *b;
  double shadow = condition->shadow != 0 ? a->shadow : b->shadow;
  plumb_companion r;
  if (plumb_companion_is_nan(a) && plumb_companion_is_nan(b)) return *a;
  if (plumb_companion_is_known(a) && plumb_companion_is_known(b))
    r = interval(fmin(a->lo, b->lo), fmax(a->hi, b->hi));
  else
    r = plumb_companion_unknown();
  return plumb_with_shadow(r, shadow);
}

plumb_companion plumb_bound_classify(const plumb_inst *inst, const plumb_companion *a, bool value) {
  uint64_t mask = (uint64_t)inst->imm & 0x3ff;
  bool known = plumb_companion_is_known(a), only_special = (mask & ~0x207ull) == 0;
  if (mask == 0 || mask == 0x3ff) return truth(mask == 0, mask != 0, mask != 0);
  if (plumb_companion_is_nan(a) && ((mask & 3) == 3 || (mask & 3) == 0))
    return truth((mask & 3) == 0, (mask & 3) == 3, (mask & 3) == 3);
  bool finite = known && isfinite(a->lo) && isfinite(a->hi);
  if (finite && only_special) return truth(true, false, false);
  if (finite && (mask & 0x1f8) == 0x1f8) return truth(false, true, true);
  if (known && (mask & ~3ull) == 0) return truth(true, false, false);
  if (known && plumb_companion_is_certain(a) && a->lo != 0) return truth(!value, value, value);
  return truth(true, true, value);
}

/* --- integers that are not certain --- */

plumb_companion plumb_bound_int(const plumb_inst *inst, const plumb_companion *left,
                                const plumb_companion *right) {
  plumb_companion wide_a = wide_int(left), wide_b = wide_int(right), *a = &wide_a, *b = &wide_b;
  plumb_dtype type = (plumb_dtype)inst->type;
  bool bit = type == PLUMB_I1;
  plumb_companion r = bit ? interval(0, 1) : everything();
  double shadow = 0, x = a->shadow, y = b->shadow;
  bool finite = isfinite(magnitude(a)) && isfinite(magnitude(b));
  switch ((plumb_op)inst->op) {
    case PLUMB_OP_AND:
      if (bit) r = interval(fmin(a->lo, b->lo), fmin(a->hi, b->hi));
      shadow = bit ? fmin(x, y) : 0;
      break;
    case PLUMB_OP_OR:
      if (bit) r = interval(fmax(a->lo, b->lo), fmax(a->hi, b->hi));
      shadow = bit ? fmax(x, y) : 0;
      break;
    case PLUMB_OP_XOR:
      shadow = bit ? (double)((x != 0) != (y != 0)) : 0;
      break;
    case PLUMB_OP_NOT:
      r = bit ? interval(1 - a->hi, 1 - a->lo) : interval(-1 - a->hi, -1 - a->lo);
      shadow = bit ? 1 - x : -1 - x;
      break;
    case PLUMB_OP_ADD:
    case PLUMB_OP_REDUCE_ADD:
      if (finite && !bit) r = plumb_interval_add(a, b);
      shadow = x + y;
      break;
    case PLUMB_OP_SUB: {
      plumb_companion minus = plumb_interval_neg(b);
      if (finite && !bit) r = plumb_interval_add(a, &minus);
      shadow = x - y;
      break;
    }
    case PLUMB_OP_MUL:
    case PLUMB_OP_REDUCE_MUL:
      if (finite && !bit) r = plumb_interval_mul(a, b);
      shadow = x * y;
      break;
    case PLUMB_OP_NEG:
      if (!bit) r = plumb_interval_neg(a);
      shadow = -x;
      break;
    case PLUMB_OP_MIN_S:
      if (!bit) r = interval(fmin(a->lo, b->lo), fmin(a->hi, b->hi));
      shadow = fmin(x, y);
      break;
    case PLUMB_OP_MAX_S:
      if (!bit) r = interval(fmax(a->lo, b->lo), fmax(a->hi, b->hi));
      shadow = fmax(x, y);
      break;
    default:
      break;
  }
  if (!bit) r = int_limited(type, r);
  r.shadow = isnan(shadow) ? 0 : shadow;
  return r;
}

/* Companions of matrix products. */
#include "targets/cpu/bound_interval.h"

plumb_dtype plumb_bound_element_type(plumb_mma_type type) {
  static const uint8_t types[PLUMB_MMA_TYPE_COUNT] = {
      [PLUMB_MMA_F16] = PLUMB_F16,   [PLUMB_MMA_BF16] = PLUMB_BF16, [PLUMB_MMA_TF32] = PLUMB_TF32,
      [PLUMB_MMA_F32] = PLUMB_F32,   [PLUMB_MMA_F64] = PLUMB_F64,   [PLUMB_MMA_E4M3] = PLUMB_E4M3,
      [PLUMB_MMA_E5M2] = PLUMB_E5M2, [PLUMB_MMA_S32] = PLUMB_I32};
  return (plumb_dtype)types[type];
}

/* What one addition may lose of the terms' size. The order, the rounding and the handling of
 * subnormals are unspecified (numerics.md 1): units truncate at 2^-23 of the largest term or
 * finer into f32, those of Ada and Hopper at 2^-13 for fp8. */
static double step_of(const plumb_product *p) {
  bool fp8 = plumb_mma_type_table[p->a].bits == 8;
  if (p->d == PLUMB_MMA_F64) return p->round == PLUMB_RN ? 0x1p-53 : 0x1p-52;
  if (p->d == PLUMB_MMA_F16) return 0x1p-10;
  return fp8 ? 0x1p-13 : 0x1p-23;
}

/* The exponent of the lowest bit that is set; far above all others where none is. */
static int lowest_bit(double v) {
  if (v == 0 || !isfinite(v)) return 1 << 20;
  int exponent;
  double m = ldexp(frexp(v, &exponent), 53);
  return exponent - 53 + __builtin_ctzll((uint64_t)fabs(m));
}

/* tf32 operands lose their low 13 bits (numerics.md 1). */
static plumb_companion operand(plumb_mma_type type, const plumb_companion *c) {
  plumb_companion r = *c;
  if (type == PLUMB_MMA_TF32 && plumb_companion_is_known(c)) {
    r.lo = fmin(c->lo, plumb_round_value(PLUMB_TF32, PLUMB_RZ, c->lo));
    r.hi = fmax(c->hi, plumb_round_value(PLUMB_TF32, PLUMB_RZ, c->hi));
  }
  return r;
}

typedef struct sum {
  plumb_companion real;
  long double shadow;
  double size; /* of the terms, as magnitudes */
  int lowest;  /* bit of a term, while all are certain */
  bool certain;
} sum;

static void add_product(sum *s, const plumb_companion *a, const plumb_companion *b) {
  plumb_companion term = plumb_interval_mul(a, b);
  s->shadow += (long double)a->shadow * b->shadow;
  s->size += magnitude(a) * magnitude(b);
  if (s->certain && plumb_companion_is_certain(a) && plumb_companion_is_certain(b)) {
    int bit = lowest_bit(a->lo) + lowest_bit(b->lo);
    if (bit < s->lowest) s->lowest = bit;
  } else {
    s->certain = false;
  }
  if (!plumb_companion_is_known(&term))
    s->real = term;
  else if (plumb_companion_is_known(&s->real))
    s->real = plumb_interval_add(&s->real, &term);
}

static plumb_companion saturate(plumb_dtype type, plumb_companion c) {
  double most = plumb_largest(type);
  if (!plumb_companion_is_known(&c)) return interval(-most, most);
  return interval(fmin(fmax(c.lo, -most), most), fmin(fmax(c.hi, -most), most));
}

plumb_companion plumb_bound_dot(const plumb_product *p, unsigned k, const plumb_companion *a,
                                const plumb_companion *b, const plumb_companion *c) {
  plumb_dtype type = plumb_bound_element_type(p->d);
  double step = step_of(p), n = k + 1;
  sum s = {.real = *c,
           .shadow = c->shadow,
           .size = magnitude(c),
           .lowest = lowest_bit(c->lo),
           .certain = plumb_companion_is_certain(c)};
  for (unsigned i = 0; i < k; i++) {
    plumb_companion x = operand(p->a, &a[i]), y = operand(p->b, &b[i]);
    const plumb_companion *operands[3] = {&x, &y, c};
    if (!plumb_companion_is_known(&x) || !plumb_companion_is_known(&y) ||
        !plumb_companion_is_known(c))
      return plumb_with_shadow(plumb_spread(operands, 3), (double)s.shadow);
    add_product(&s, &x, &y);
  }
  plumb_companion r = s.real;
  /* Where the sum of magnitudes is within the significand of the lowest bit, no order and no
   * truncation loses anything. */
  bool exact = s.certain && s.size <= ldexp(1 / step, s.lowest < 2000 ? s.lowest : 0);
  if (!exact && plumb_companion_is_known(&r)) {
    /* k additions of a step each and the products' own roundings, together one; and
     * subnormals that a unit may flush. */
    double least = ldexp(1.0, 2 - (1 << (plumb_dtype_table[type].exponent_bits - 1)));
    double share = n * step / (1 - n * step);
    double error = (share * s.size + n * least) * (1 + 0x1p-40);
    plumb_companion slack = interval(-error, error);
    r = plumb_interval_add(&r, &slack);
    if (!isfinite(error) || s.size * (1 + share) > plumb_largest(type))
      r = plumb_companion_unknown();
  }
  if (plumb_companion_is_known(&r)) r = plumb_interval_limit(type, &r);
  if (p->satfinite) r = saturate(type, r);
  return plumb_with_shadow(r, (double)s.shadow);
}

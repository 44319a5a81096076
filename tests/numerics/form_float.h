/* Float instructions and conversions by the PTX ISA 9.0 (9.7.3 to 9.7.6, 9.7.9.21): MPFR at
 * the type's own precision and exponent range. */
#ifndef PLUMB_TESTS_NUMERICS_FORM_FLOAT_H
#define PLUMB_TESTS_NUMERICS_FORM_FLOAT_H

#include <math.h>

#include "tests/numerics/form_integer.h"
#include "tests/numerics/oracle.h"

typedef struct form_format {
  int exponent_bits, fraction_bits;
} form_format;

static inline form_format form_format_of(const form_type *t) {
  if (t->kind == 'g') return (form_format){8, 7};
  return t->bits == 16   ? (form_format){5, 10}
         : t->bits == 32 ? (form_format){8, 23}
                         : (form_format){11, 52};
}
static inline bool form_is_float(const form_type *t) {
  return t->kind == 'f' || t->kind == 'g';
}

static inline double form_decode(form_format h, uint64_t bits) {
  int top = (1 << h.exponent_bits) - 1, bias = top / 2;
  int exponent = (int)(bits >> h.fraction_bits) & top;
  uint64_t fraction = bits & ((1ull << h.fraction_bits) - 1);
  double v = exponent == top ? (fraction ? (double)NAN : (double)INFINITY)
             : exponent      ? ldexp((double)(fraction | 1ull << h.fraction_bits),
                                     exponent - bias - h.fraction_bits)
                             : ldexp((double)fraction, 1 - bias - h.fraction_bits);
  return bits >> (h.fraction_bits + h.exponent_bits) & 1 ? -v : v;
}

/* v is a value of the format. */
static inline uint64_t form_encode(form_format h, double v) {
  uint64_t top = (1ull << h.exponent_bits) - 1, sign = signbit(v) ? 1 : 0;
  int bias = (int)(top / 2), e;
  sign <<= h.fraction_bits + h.exponent_bits;
  v = fabs(v);
  if (isinf(v)) return sign | top << h.fraction_bits;
  if (v == 0) return sign;
  frexp(v, &e);
  int exponent = e - 1 < 1 - bias ? 1 - bias : e - 1;
  uint64_t significand = (uint64_t)ldexp(v, h.fraction_bits - exponent);
  return sign | (significand + ((uint64_t)(exponent + bias - 1) << h.fraction_bits));
}

static inline mpfr_rnd_t form_round(form *f) {
  return form_has(f, "rz")   ? MPFR_RNDZ
         : form_has(f, "rm") ? MPFR_RNDD
         : form_has(f, "rp") ? MPFR_RNDU
                             : MPFR_RNDN;
}

/* Sets the exponent range of the format; `end` rounds a subnormal again and restores it. */
static inline void form_begin(form_format h, mpfr_t r) {
  int bias = (1 << (h.exponent_bits - 1)) - 1;
  mpfr_set_prec(r, h.fraction_bits + 1);
  mpfr_set_emin(2 - bias - h.fraction_bits);
  mpfr_set_emax(bias + 1);
}
static inline double form_end(mpfr_t r, int ternary, mpfr_rnd_t round) {
  mpfr_subnormalize(r, mpfr_check_range(r, ternary, round), round);
  double v = mpfr_get_d(r, MPFR_RNDN);
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  return v;
}

static inline double form_flush(form *f, form_format h, double v) {
  if (!form_has(f, "ftz") || h.exponent_bits == 11) return v;
  double least = ldexp(1, 2 - (1 << (h.exponent_bits - 1)));
  return fabs(v) < least ? copysign(0, v) : v;
}

/* -0 < +0; NaN is dropped or decides. */
static inline double form_extreme(form *f, double a, double b) {
  bool maximum = f->op[1] == 'a', sign = signbit(a) != signbit(b);
  if (form_has(f, "abs")) a = fabs(a), b = fabs(b);
  double r;
  if (isnan(a) || isnan(b))
    r = form_has(f, "NaN") || (isnan(a) && isnan(b)) ? (double)NAN : isnan(a) ? b : a;
  else if (a == b)
    r = (signbit(a) != 0) == maximum ? b : a;
  else
    r = (a < b) == maximum ? b : a;
  return form_has(f, "xorsign") && !isnan(r) ? copysign(r, sign ? -1 : 1) : r;
}

static inline bool form_compare_float(form *f, double a, double b) {
  bool unordered = isnan(a) || isnan(b);
  if (form_has(f, "num")) return !unordered;
  if (form_has(f, "nan")) return unordered;
  if (form_has(f, "eq")) return !unordered && a == b;
  if (form_has(f, "ne")) return !unordered && a != b;
  if (form_has(f, "lt")) return !unordered && a < b;
  if (form_has(f, "le")) return !unordered && a <= b;
  if (form_has(f, "gt")) return !unordered && a > b;
  if (form_has(f, "ge")) return !unordered && a >= b;
  if (unordered) return true;
  return form_has(f, "equ")   ? a == b
         : form_has(f, "neu") ? a != b
         : form_has(f, "ltu") ? a < b
         : form_has(f, "leu") ? a <= b
         : form_has(f, "gtu") ? a > b
                              : a >= b;
}

static inline bool form_testp(form *f, form_format h, uint64_t bits) {
  double v = form_decode(h, bits), least = ldexp(1, 2 - (1 << (h.exponent_bits - 1)));
  if (form_has(f, "finite")) return isfinite(v);
  if (form_has(f, "infinite")) return isinf(v);
  if (form_has(f, "number")) return !isnan(v);
  if (form_has(f, "notanumber")) return isnan(v);
  if (form_has(f, "normal")) return isfinite(v) && (v == 0 || fabs(v) >= least);
  return v != 0 && fabs(v) < least; /* subnormal */
}

/* The last steps of a result; NaN is told apart by the caller. */
static inline double form_finish(form *f, form_format h, double v) {
  v = form_flush(f, h, v);
  if (form_has(f, "sat")) v = isnan(v) || v < 0 ? 0 : v > 1 ? 1 : v;
  if (form_has(f, "relu") && v < 0) v = 0;
  return v;
}

/* One element of arithmetic. */
static inline form_answer form_float_lane(form *f, form_format h, const double *given,
                                          double *out) {
  static mpfr_t r, x, y, z;
  if (!r->_mpfr_d) mpfr_inits2(53, r, x, y, z, (mpfr_ptr)0);
  double v[4];
  for (unsigned i = 0; i < 4; i++) v[i] = form_flush(f, h, given[i]);
  mpfr_rnd_t round = form_round(f);
#define IS(name) (form_is(f, name))
  if (form_has(f, "approx") || form_has(f, "full")) return FORM_UNKNOWN;
  if (IS("neg") || IS("abs")) {
    *out = isnan(v[0]) ? (double)NAN : IS("abs") ? fabs(v[0]) : -v[0];
  } else if (IS("min") || IS("max")) {
    *out = form_extreme(f, v[0], v[1]);
    if (f->source_count == 3) *out = form_extreme(f, *out, v[2]);
  } else if (IS("copysign")) {
    *out = copysign(v[1], v[0]);
    return FORM_VALUE;
  } else {
    mpfr_set_d(x, v[0], MPFR_RNDN);
    mpfr_set_d(y, v[1], MPFR_RNDN);
    mpfr_set_d(z, v[2], MPFR_RNDN);
    form_begin(h, r);
    int t = IS("add")                ? mpfr_add(r, x, y, round)
            : IS("sub")              ? mpfr_sub(r, x, y, round)
            : IS("mul")              ? mpfr_mul(r, x, y, round)
            : IS("fma") || IS("mad") ? mpfr_fma(r, x, y, z, round)
            : IS("div")              ? mpfr_div(r, x, y, round)
            : IS("rcp")              ? mpfr_ui_div(r, 1, x, round)
            : IS("sqrt")             ? mpfr_sqrt(r, x, round)
                                     : INT32_MAX;
    *out = form_end(r, t == INT32_MAX ? 0 : t, round);
    if (t == INT32_MAX) return FORM_UNKNOWN;
  }
#undef IS
  *out = form_finish(f, h, *out);
  return FORM_VALUE;
}

/* --- conversions --- */

static inline int form_to_integral(form *f, double v, double *out) {
  *out = form_has(f, "rmi")   ? floor(v)
         : form_has(f, "rpi") ? ceil(v)
         : form_has(f, "rzi") ? trunc(v)
                              : nearbyint(v);
  return form_has(f, "rmi") || form_has(f, "rpi") || form_has(f, "rzi") || form_has(f, "rni");
}

static inline plumb_dtype form_narrow(const char *text) {
  for (int t = 0; t < PLUMB_DTYPE_COUNT; t++) {
    const char *name = plumb_dtype_table[t].text;
    if (strncmp(text, name, strlen(name)) == 0) return (plumb_dtype)t;
  }
  return PLUMB_I1;
}

/* To fp8, fp6, fp4, ue8m0 or tf32. */
static inline uint64_t form_to_narrow(form *f, const form_type *to, double v) {
  static mpfr_t x;
  if (!x->_mpfr_d) mpfr_init2(x, 53);
  if (form_has(f, "relu") && v <= 0) v = 0;
  mpfr_set_d(x, v, MPFR_RNDN);
  plumb_round round = form_has(f, "rna")  ? PLUMB_RNA
                      : form_has(f, "rz") ? PLUMB_RZ
                      : form_has(f, "rp") ? PLUMB_RP
                                          : PLUMB_RN;
  return oracle_pack(form_narrow(to->text), x, round, form_has(f, "satfinite"));
}

/* out_nan: the result is a NaN of the type. */
static inline uint64_t form_to_float(form *f, form_format h, double v, bool *out_nan) {
  static mpfr_t r;
  if (!r->_mpfr_d) mpfr_init2(r, 53);
  mpfr_rnd_t round = form_round(f);
  double integral;
  if (form_to_integral(f, v, &integral)) v = integral;
  form_begin(h, r);
  int t = mpfr_set_d(r, v, round);
  v = form_finish(f, h, form_end(r, t, round));
  if (form_has(f, "satfinite") && !isnan(v)) {
    double most = ldexp(2 - ldexp(1, -h.fraction_bits), (1 << (h.exponent_bits - 1)) - 1);
    v = v > most ? most : v < -most ? -most : v;
  }
  *out_nan = isnan(v);
  return *out_nan ? 0 : form_encode(h, v);
}

static inline uint64_t form_from_integer(form *f, form_format h, form_wide v) {
  static mpfr_t r;
  if (!r->_mpfr_d) mpfr_init2(r, 53);
  mpfr_rnd_t round = form_round(f);
  form_begin(h, r);
  int t = v < 0 ? mpfr_set_sj(r, (intmax_t)v, round) : mpfr_set_uj(r, (uintmax_t)v, round);
  return form_encode(h, form_finish(f, h, form_end(r, t, round)));
}

/* 9.7.9.21: NaN gives 0, but the least number from f64 and into 64 bits. */
static inline form_wide form_to_integer(form *f, const form_type *to, const form_type *from,
                                        double v) {
  bool is_signed = to->kind == 's';
  if (isnan(v)) return from->bits == 64 || to->bits == 64 ? (form_wide)1 << (to->bits - 1) : 0;
  form_to_integral(f, v, &v);
  if (fabs(v) >= 0x1p65) v = copysign(0x1p65, v);
  return form_clamp((form_wide)v, to->bits, is_signed);
}

static inline form_answer form_cvt_pack(form *f, const uint64_t *s, uint64_t *out) {
  const form_type *to = &f->types[0];
  unsigned w = to->bits;
  uint64_t a = form_low((uint64_t)form_clamp(form_extend(s[0], 32, true), w, to->kind == 's'), w);
  uint64_t b = form_low((uint64_t)form_clamp(form_extend(s[1], 32, true), w, to->kind == 's'), w);
  *out = a << w | b;
  if (f->source_count == 3) *out |= s[2] << 2 * w;
  return FORM_VALUE;
}

/* nan[l]: element l of the result is any NaN. */
static inline form_answer form_cvt(form *f, const uint64_t *s, uint64_t *out, bool *nan) {
  if (form_has(f, "pack")) return form_cvt_pack(f, s, out);
  if (f->type_count != 2 || form_has(f, "rs")) return FORM_UNKNOWN;
  const form_type *to = &f->types[0], *from = &f->types[1];
  bool narrow_from = from->kind == 'n', narrow_to = to->kind == 'n' || to->kind == 't';
  unsigned step = to->kind == 'n' && strncmp(to->text, "e2m1", 4) == 0 ? 4 : to->bits;
  *out = 0;
  for (unsigned l = 0; l < to->lanes; l++) {
    /* two sources: the first is the upper half */
    uint64_t bits = f->source_count == 2 ? s[1 - l] : s[0];
    unsigned source_step = narrow_from && strncmp(from->text, "e2m1", 4) == 0 ? 4 : from->bits;
    if (from->lanes > 1) bits >>= source_step * l;
    bits = form_low(bits, source_step);
    uint64_t r;
    if (!form_is_float(from) && !narrow_from) {
      form_wide v = form_extend(bits, from->bits, from->kind == 's');
      if (form_is_float(to))
        r = form_from_integer(f, form_format_of(to), v);
      else
        r = (uint64_t)(form_has(f, "sat") ? form_clamp(v, to->bits, to->kind == 's') : v);
    } else {
      double v = narrow_from ? plumb_dtype_to_double(form_narrow(from->text), bits)
                             : form_decode(form_format_of(from), bits);
      if (!narrow_from) v = form_flush(f, form_format_of(from), v);
      if (narrow_to)
        r = form_to_narrow(f, to, v);
      else if (form_is_float(to))
        r = form_to_float(f, form_format_of(to), v, &nan[l]);
      else
        r = (uint64_t)form_to_integer(f, to, from, v);
    }
    *out |= (to->lanes == 1 ? r : form_low(r, step)) << step * l;
  }
  return FORM_VALUE;
}

/* sources: bits of the operands. nan[l]: element l of the result is any NaN. */
static inline form_answer form_float(form *f, const uint64_t *s, uint64_t *out, bool *nan) {
  const form_type *to = &f->types[0], *from = form_last_type(f);
  form_format h = form_format_of(to);
  *out = 0;
  for (unsigned l = 0; l < to->lanes; l++) {
    double v[4] = {0}, r;
    for (unsigned i = 0; i < f->source_count && i < 4; i++) {
      /* add.f32.f16: the last operand is of the first type */
      const form_type *t = i + 1 == f->source_count ? to : from;
      v[i] = form_decode(form_format_of(t), form_low(s[i] >> t->bits * l, t->bits));
    }
    if (form_is(f, "copysign")) {
      uint64_t sign = 1ull << (to->bits - 1);
      *out = (s[0] & sign) | (s[1] & (sign - 1));
      return FORM_VALUE;
    }
    form_answer answer = form_float_lane(f, h, v, &r);
    if (answer != FORM_VALUE) return answer;
    nan[l] = isnan(r);
    if (!nan[l]) *out |= form_encode(h, r) << to->bits * l;
  }
  return FORM_VALUE;
}

#endif

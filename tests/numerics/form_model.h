/* The model of one instruction of a lane, and when a result agrees with it. */
#ifndef PLUMB_TESTS_NUMERICS_FORM_MODEL_H
#define PLUMB_TESTS_NUMERICS_FORM_MODEL_H

#include "tests/numerics/form_float.h"

static inline form_answer form_evaluate(form *f, const uint64_t *s, bool *carry, uint64_t out[2],
                                        bool nan[4]) {
  const form_type *last = form_last_type(f);
  if (!f->type_count) return FORM_UNKNOWN;
  if (form_is(f, "set") || form_is(f, "setp")) {
    const form_type *to = f->op[3] ? NULL : &f->types[0];
    out[0] = out[1] = 0;
    if (last->lanes > 1 && !to && f->dest_count != 2) return FORM_UNKNOWN;
    for (unsigned l = 0; l < last->lanes; l++) {
      uint64_t a = form_low(s[0] >> last->bits * l, last->bits);
      uint64_t b = form_low(s[1] >> last->bits * l, last->bits);
      form_format h = form_format_of(last);
      bool sign = last->kind == 's';
      bool t = form_is_float(last) ? form_compare_float(f, form_flush(f, h, form_decode(h, a)),
                                                        form_flush(f, h, form_decode(h, b)))
                                   : form_compare(f, form_extend(a, last->bits, sign),
                                                  form_extend(b, last->bits, sign));
      bool c = f->source_count > 2 && ((s[2] & 1) != 0);
      bool r = form_combine(f, t, c);
      if (!to && last->lanes > 1)
        out[l] = r;
      else if (!to)
        out[0] = r, out[1] = form_combine(f, !t, c);
      else if (form_is_float(to))
        out[0] |= (r ? form_encode(form_format_of(to), 1) : 0)
                  << to->bits * (to->lanes > 1 ? l : 0);
      else if (last->lanes > 1)
        out[0] |= (r ? 0xffffull : 0) << 16 * l; /* set.u32.f16x2: a half each */
      else
        out[0] = r ? UINT64_MAX : 0;
    }
    return FORM_VALUE;
  }
  if (form_is(f, "slct")) {
    double c = form_decode((form_format){8, 23}, form_low(s[2], 32));
    bool first =
        f->types[1].kind == 's' ? (int32_t)s[2] >= 0 : form_flush(f, (form_format){8, 23}, c) >= 0;
    out[0] = first ? s[0] : s[1];
    return FORM_VALUE;
  }
  if (form_is(f, "testp")) {
    out[0] = form_testp(f, form_format_of(last), form_low(s[0], last->bits));
    return FORM_VALUE;
  }
  if (form_is(f, "cvt")) return form_cvt(f, s, out, nan);
  if (form_is(f, "lop3") && f->dest_count == 2) {
    form_answer answer = form_integer(f, s, carry, out);
    out[1] = form_combine(f, form_low(out[0], 32) != 0, s[4] & 1);
    return answer;
  }
  if (form_is_float(last) && strcmp(f->op, "selp") != 0) return form_float(f, s, out, nan);
  if (last->kind == 'n' || last->kind == 't') return FORM_UNKNOWN;
  return form_integer(f, s, carry, out);
}

static inline unsigned form_result_bits(form *f) {
  const form_type *t = &f->types[0];
  if (form_has(f, "wide")) return 2 * t->bits;
  if (f->op[0] == 'v' || form_has(f, "pack")) return 32;
  bool counts = form_is(f, "popc") || form_is(f, "clz") || form_is(f, "bfind");
  return counts ? 32 : t->bits * t->lanes;
}

/* Writes to a register that may be wider than the type (9.4.1). */
static inline uint64_t form_widen(form *f, uint64_t v, unsigned bits) {
  unsigned own = form_result_bits(f);
  if (own >= bits || own == 1) return form_low(v, bits);
  return form_low((uint64_t)form_extend(v, own, f->types[0].kind == 's'), bits);
}

/* One instruction of a lane: reads and writes `slots` and CC.CF. */
static inline form_answer form_step(form *f, uint64_t *slots, bool *carry, bool nan[4]) {
  uint64_t s[FORM_MAX] = {0}, out[2] = {0};
  for (unsigned k = 0; k < f->source_count; k++) {
    const form_operand *o = &f->source[k];
    s[k] = o->is_register ? slots[o->slot] : o->value;
    if (o->negated && o->bits == 1) s[k] = !(s[k] & 1);
  }
  memset(nan, 0, 4 * sizeof *nan);
  form_answer answer = form_evaluate(f, s, carry, out, nan);
  if (answer != FORM_VALUE) return answer;
  for (unsigned k = 0; k < f->dest_count; k++)
    slots[f->dest[k].slot] = form_widen(f, out[k], f->dest[k].bits);
  return FORM_VALUE;
}

static inline bool form_same(form *f, uint64_t actual, uint64_t wanted, const bool *nan) {
  const form_type *t = &f->types[0];
  bool any = nan[0] || nan[1];
  if (!any && actual == wanted) return true;
  if (!form_is_float(t)) return false;
  for (unsigned l = 0; l < t->lanes; l++) {
    uint64_t a = form_low(actual >> t->bits * l, t->bits),
             w = form_low(wanted >> t->bits * l, t->bits);
    double v = form_decode(form_format_of(t), a);
    bool clamped = form_has(f, "sat") || form_has(f, "relu"); /* to a zero of either sign */
    if (nan[l] ? !isnan(v) : a != w && !(clamped && v == 0 && form_low(w << 1, t->bits) == 0))
      return false;
  }
  return true;
}

#endif

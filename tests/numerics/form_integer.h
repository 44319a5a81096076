/* Integer instructions by the PTX ISA 9.0 (9.7.1, 9.7.2, 9.7.6 to 9.7.8), in 128 bits. */
#ifndef PLUMB_TESTS_NUMERICS_FORM_INTEGER_H
#define PLUMB_TESTS_NUMERICS_FORM_INTEGER_H

#include "tests/numerics/form.h"

static inline form_wide form_clamp(form_wide v, unsigned bits, bool is_signed) {
  form_wide low = is_signed ? -((form_wide)1 << (bits - 1)) : 0;
  form_wide high = ((form_wide)1 << (bits - is_signed)) - 1;
  return v < low ? low : v > high ? high : v;
}

/* lt for s and, as PTX also writes it for u, lo; `b` types know eq and ne. */
static inline bool form_compare(form *f, form_wide a, form_wide b) {
  if (form_has(f, "eq")) return a == b;
  if (form_has(f, "ne")) return a != b;
  if (form_has(f, "lt") || form_has(f, "lo")) return a < b;
  if (form_has(f, "le") || form_has(f, "ls")) return a <= b;
  if (form_has(f, "gt") || form_has(f, "hi")) return a > b;
  return a >= b;
}

static inline bool form_combine(form *f, bool t, bool c) {
  if (form_has(f, "and")) return t && c;
  if (form_has(f, "or")) return t || c;
  if (form_has(f, "xor")) return t != c;
  return t;
}

static inline form_wide form_fns(uint32_t mask, uint64_t base, int32_t offset) {
  if (offset == 0) return mask >> base & 1 ? (form_wide)base : -1;
  int count = (offset > 0 ? offset : -offset) - 1, step = offset > 0 ? 1 : -1;
  for (int pos = (int)base; pos >= 0 && pos < 32; pos += step)
    if (mask >> pos & 1 && count-- == 0) return pos;
  return -1;
}

static inline form_wide form_prmt(form *f, uint64_t a, uint64_t b, uint64_t c) {
  static const struct {
    const char *mode, *bytes[4]; /* highest byte first */
  } modes[] = {
      {"f4e", {"3210", "4321", "5432", "6543"}}, {"b4e", {"5670", "6701", "7012", "0123"}},
      {"rc8", {"0000", "1111", "2222", "3333"}}, {"ecl", {"3210", "3211", "3222", "3333"}},
      {"ecr", {"0000", "1110", "2210", "3210"}}, {"rc16", {"1010", "3232", "1010", "3232"}}};
  uint64_t bytes = form_low(a, 32) | b << 32, r = 0;
  for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
    if (form_has(f, modes[m].mode)) {
      for (int i = 0; i < 4; i++)
        r |= (bytes >> 8 * (modes[m].bytes[c & 3][3 - i] - '0') & 0xff) << 8 * i;
      return (form_wide)r;
    }
  for (int i = 0; i < 4; i++) {
    uint64_t select = c >> 4 * i & 15, byte = bytes >> 8 * (select & 7) & 0xff;
    if (select & 8) byte = byte & 0x80 ? 0xff : 0;
    r |= byte << 8 * i;
  }
  return (form_wide)r;
}

static inline form_wide form_bfe(uint64_t a, uint64_t pos, uint64_t len, unsigned bits, bool s) {
  uint64_t top = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1, r = 0;
  bool sign = s && len && (a >> top & 1);
  for (uint64_t i = 0; i < bits; i++)
    r |= (uint64_t)(i < len && pos + i < bits ? a >> (pos + i) & 1 : sign) << i;
  return (form_wide)r;
}

static inline form_wide form_bfi(uint64_t a, uint64_t b, uint64_t pos, uint64_t len,
                                 unsigned bits) {
  for (uint64_t i = 0; i < len && pos + i < bits; i++)
    b = (b & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
  return (form_wide)b;
}

static inline form_wide form_bmsk(uint64_t a, uint64_t b, bool wrap) {
  if (wrap) a &= 31, b &= 31;
  uint32_t from = a >= 32 ? 0 : ~0u << a;
  return a + b >= 32 ? from : (form_wide)(from & ~(~0u << (a + b)));
}

/* One element. s: the sources, extended by the type; raw: their bits. */
static inline form_answer form_integer_lane(form *f, const form_type *t, const form_wide *s,
                                            const uint64_t *raw, bool carry_in, form_wide *out,
                                            bool *out_carry) {
  unsigned w = t->bits;
  bool is_signed = t->kind == 's', hi = form_has(f, "hi"), clamp = form_has(f, "clamp");
  form_wide a = s[0], b = s[1], c = s[2];
  form_wide ua = (form_wide)form_low(raw[0], w), ub = (form_wide)form_low(raw[1], w);
  form_wide uc = (form_wide)form_low(raw[2], w), one = 1;
  uint64_t bits_b = form_low(raw[1], 32), bits_c = form_low(raw[2], 32);
#define IS(name) (form_is(f, name))
  if (IS("add") || IS("addc")) {
    *out = a + b + (IS("addc") && carry_in);
    *out_carry = (ua + ub + (IS("addc") && carry_in)) >> w & 1;
  } else if (IS("sub") || IS("subc")) {
    *out = a - b - (IS("subc") && carry_in);
    *out_carry = ua < ub + (IS("subc") && carry_in);
  } else if (IS("mul") || IS("mad") || IS("madc")) {
    unsigned __int128 product = (unsigned __int128)a * (unsigned __int128)b;
    bool wide = form_has(f, "wide");
    form_wide p = hi ? (form_wide)(product >> w) : (form_wide)product;
    if (is_signed && hi && w < 64) p = (form_wide)product >> w;
    if (!wide && w <= 64) p = (form_wide)form_low((uint64_t)p, w);
    if (IS("mul")) {
      *out = p;
    } else {
      if (wide) uc = (form_wide)form_low(raw[2], 2 * w);
      if (form_has(f, "sat"))
        p = form_extend((uint64_t)p, w, true) + c;
      else
        p += uc + (IS("madc") && carry_in);
      *out_carry = p >> w & 1;
      *out = p;
    }
  } else if (IS("mul24") || IS("mad24")) {
    form_wide x = form_extend(raw[0], 24, is_signed), y = form_extend(raw[1], 24, is_signed);
    form_wide p = hi ? (x * y) >> 16 : x * y;
    p = form_extend((uint64_t)p, 32, is_signed);
    *out = IS("mul24") ? p : p + c;
  } else if (IS("sad")) {
    *out = c + (a > b ? a - b : b - a);
  } else if (IS("div") || IS("rem")) {
    form_wide least = -(one << (w - 1));
    if (b == 0 || (is_signed && a == least && b == -1)) return FORM_ANY;
    *out = IS("div") ? a / b : a % b;
  } else if (IS("min") || IS("max")) {
    *out = (a < b) == form_is(f, "min") ? a : b;
    if (form_has(f, "relu") && *out < 0) *out = 0;
  } else if (IS("abs")) {
    *out = a < 0 ? -a : a;
  } else if (IS("neg")) {
    *out = -a;
  } else if (IS("not")) {
    *out = ~a;
  } else if (IS("cnot")) {
    *out = a == 0;
  } else if (IS("and")) {
    *out = a & b;
  } else if (IS("or")) {
    *out = a | b;
  } else if (IS("xor")) {
    *out = a ^ b;
  } else if (IS("popc")) {
    *out = 0;
    for (unsigned i = 0; i < w; i++) *out += ua >> i & 1;
  } else if (IS("clz")) {
    for (*out = 0; *out < w && !(ua >> (w - 1 - (unsigned)*out) & 1);) ++*out;
  } else if (IS("bfind")) {
    form_wide x = a < 0 ? ~a : a;
    int i = (int)w - 1;
    while (i >= 0 && !(x >> i & 1)) i--;
    *out = i < 0 ? -1 : form_has(f, "shiftamt") ? (int)w - 1 - i : i;
  } else if (IS("brev")) {
    *out = 0;
    for (unsigned i = 0; i < w; i++) *out |= (ua >> i & 1) << (w - 1 - i);
  } else if (IS("bfe")) {
    *out = form_bfe((uint64_t)ua, raw[1] & 0xff, raw[2] & 0xff, w, is_signed);
  } else if (IS("bfi")) {
    *out = form_bfi((uint64_t)ua, (uint64_t)ub, raw[2] & 0xff, raw[3] & 0xff, w);
  } else if (IS("szext")) {
    uint64_t n = clamp ? (bits_b < 32 ? bits_b : 32) : bits_b & 31;
    *out = n ? form_extend(raw[0], (unsigned)n, is_signed) : 0;
  } else if (IS("bmsk")) {
    *out = form_bmsk((uint64_t)ua, bits_b, !clamp);
  } else if (IS("fns")) {
    if (bits_b > 31 || (int32_t)raw[2] == INT32_MIN) return FORM_ANY;
    *out = form_fns((uint32_t)raw[0], bits_b, (int32_t)raw[2]);
  } else if (IS("shl")) {
    *out = bits_b >= w ? 0 : ua << bits_b;
  } else if (IS("shr")) {
    *out = a >> (bits_b >= w ? w : bits_b);
  } else if (IS("shf")) {
    uint64_t n = clamp ? (bits_c < 32 ? bits_c : 32) : bits_c & 31;
    *out = form_has(f, "l") ? (form_wide)(ub << n | ua >> (32 - n)) : (ub << (32 - n) | ua >> n);
  } else if (IS("prmt")) {
    *out = form_prmt(f, raw[0], raw[1], raw[2]);
  } else if (IS("selp")) {
    *out = (raw[2] & 1) ? a : b;
  } else {
    return FORM_UNKNOWN;
  }
  if (form_has(f, "sat")) *out = form_clamp(*out, w, is_signed);
#undef IS
  return FORM_VALUE;
}

static inline form_wide form_dot(form *f, uint64_t a, uint64_t b, uint64_t c) {
  bool sa = f->types[0].kind == 's', sb = f->types[1].kind == 's';
  form_wide sum = form_extend(c, 32, sa || sb);
  bool four = f->op[2] == '4';
  for (int i = 0; i < (four ? 4 : 2); i++) {
    unsigned of_b = (unsigned)(four ? i : form_has(f, "hi") ? 2 + i : i);
    sum += form_extend(a >> i * (four ? 8 : 16), four ? 8 : 16, sa) *
           form_extend(b >> 8 * of_b, 8, sb);
  }
  return sum;
}

/* d = ta op tb, part by part; scalar (9.7.18) and SIMD (9.7.19). */
static inline uint64_t form_part(const char *part, uint64_t value, bool is_signed, form_wide *out) {
  unsigned bits = *part == 'b' ? 8 : *part == 'h' ? 16 : 32;
  unsigned index = *part ? (unsigned)(part[1] - '0') : 0;
  *out = form_extend(value >> bits * index, bits, is_signed);
  return 0;
}

static inline bool form_video_two(form *f, const char *name, form_wide a, form_wide b,
                                  form_wide *out) {
  if (strcmp(name, "add") == 0)
    *out = a + b;
  else if (strcmp(name, "sub") == 0)
    *out = a - b;
  else if (strcmp(name, "absdiff") == 0)
    *out = a > b ? a - b : b - a;
  else if (strcmp(name, "min") == 0)
    *out = a < b ? a : b;
  else if (strcmp(name, "max") == 0)
    *out = a > b ? a : b;
  else if (strcmp(name, "avrg") == 0)
    *out = a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
  else if (strcmp(name, "set") == 0)
    *out = form_compare(f, a, b);
  else
    return false;
  return true;
}

static inline form_answer form_video(form *f, const uint64_t *s, uint64_t *out) {
  char name[12];
  snprintf(name, sizeof name, "%s", f->op + 1);
  size_t n = strlen(name);
  unsigned lanes = name[n - 1] == '2' || name[n - 1] == '4' ? (unsigned)(name[n - 1] - '0') : 1;
  if (lanes > 1) name[n - 1] = 0;
  bool set = strcmp(name, "set") == 0, mad = strcmp(name, "mad") == 0;
  bool sd = !set && f->types[0].kind == 's', sa = f->types[set ? 0 : 1].kind == 's';
  bool sb = f->types[set ? 1 : 2].kind == 's', sat = form_has(f, "sat");
  if (mad) {
    form_wide a, b;
    bool negate = f->source[0].negated != f->source[1].negated, minus = f->source[2].negated;
    bool final_signed = sa || sb || negate || minus;
    form_part(f->source[0].part, s[0], sa, &a);
    form_part(f->source[1].part, s[1], sb, &b);
    form_wide c = form_extend(s[2], 32, final_signed);
    form_wide t = (negate ? -(a * b) : a * b) + (minus ? -c : c) + form_has(f, "po");
    t >>= form_has(f, "shr7") ? 7 : form_has(f, "shr15") ? 15 : 0;
    *out = (uint64_t)(sat ? form_clamp(t, 32, final_signed) : t);
    return FORM_VALUE;
  }
  if (lanes == 1) {
    form_wide a, b, t, c = form_extend(s[2], 32, sd);
    form_part(f->source[0].part, s[0], sa, &a);
    form_part(f->source[1].part, s[1], sb, &b);
    if (strcmp(name, "shl") == 0 || strcmp(name, "shr") == 0) {
      b = form_has(f, "wrap") ? b & 31 : b > 32 ? 32 : b;
      t = name[2] == 'l' ? a * ((form_wide)1 << b) : a >> b;
    } else if (!form_video_two(f, name, a, b, &t)) {
      return FORM_UNKNOWN;
    }
    const char *part = f->dest[0].part;
    if (sat) t = form_clamp(t, *part == 'b' ? 8 : *part == 'h' ? 16 : 32, sd);
    const char *last = f->parts[f->part_count - 1];
    if (strcmp(last, "add") == 0) {
      t += c;
    } else if (strcmp(last, "min") == 0 || strcmp(last, "max") == 0) {
      t = form_extend((uint64_t)t, 32, sd); /* the primary result has 32 bits */
      t = (t < c) == (last[1] == 'i') ? t : c;
    } else if (*part) {
      unsigned bits = *part == 'b' ? 8 : 16, at = bits * (unsigned)(part[1] - '0');
      uint64_t mask = ((1ull << bits) - 1) << at;
      *out = (s[2] & ~mask) | ((uint64_t)t << at & mask);
      return FORM_VALUE;
    }
    *out = (uint64_t)t;
    return FORM_VALUE;
  }
  unsigned bits = 32 / lanes;
  uint64_t both = form_low(s[0], 32) | s[1] << 32, merged = 0;
  form_wide sum = form_extend(s[2], 32, false);
  for (unsigned i = 0; i < lanes; i++) {
    const char *pa = f->source[0].part, *pb = f->source[1].part, *mask = f->dest[0].part;
    unsigned ia = *pa ? (unsigned)(pa[lanes - i] - '0') : i;
    unsigned ib = *pb ? (unsigned)(pb[lanes - i] - '0') : lanes + i;
    bool on = !*mask || strchr(mask + 1, (char)('0' + i));
    form_wide t;
    if (!form_video_two(f, name, form_extend(both >> bits * ia, bits, sa),
                        form_extend(both >> bits * ib, bits, sb), &t))
      return FORM_UNKNOWN;
    if (sat) t = form_clamp(t, bits, sd);
    if (on) sum += t;
    merged |= form_low(on ? (uint64_t)t : s[2] >> bits * i, bits) << bits * i;
  }
  *out = form_has(f, "add") ? (uint64_t)sum : merged;
  return FORM_VALUE;
}

/* sources: values of the operands; `carry` is CC.CF, read and written. */
static inline form_answer form_integer(form *f, const uint64_t *s, bool *carry, uint64_t *out) {
  const form_type *t = form_last_type(f);
  if (f->op[0] == 'v') return form_video(f, s, out);
  if (strncmp(f->op, "dp", 2) == 0) {
    *out = (uint64_t)form_dot(f, s[0], s[1], s[2]);
    return FORM_VALUE;
  }
  if (form_is(f, "lop3")) {
    *out = 0;
    for (int i = 0; i < 32; i++)
      *out |= (s[3] >> ((s[0] >> i & 1) << 2 | (s[1] >> i & 1) << 1 | (s[2] >> i & 1)) & 1) << i;
    return FORM_VALUE;
  }
  unsigned lanes = t->lanes, w = t->bits;
  uint64_t result = 0;
  for (unsigned l = 0; l < lanes; l++) {
    uint64_t raw[FORM_MAX] = {0};
    form_wide extended[FORM_MAX] = {0}, r;
    for (unsigned i = 0; i < f->source_count; i++) {
      raw[i] = s[i] >> w * l;
      extended[i] = form_extend(raw[i], w, t->kind == 's');
    }
    bool carry_out = false;
    form_answer answer = form_integer_lane(f, t, extended, raw, *carry, &r, &carry_out);
    if (answer != FORM_VALUE) return answer;
    if (form_has(f, "cc")) *carry = carry_out;
    result |= lanes == 1 ? (uint64_t)r : form_low((uint64_t)r, w) << w * l;
  }
  *out = result;
  return FORM_VALUE;
}

#endif

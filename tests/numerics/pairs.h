/* Models of the instructions of two operands of 16 bits, fast enough for every pair of them:
 * loops over lanes that a compiler vectorises. Integers in 32 bits. Halves as doubles: a
 * product of two is exact; a sum has 53 bits, and as 53 >= 2 * 11 + 2 rounding it once more
 * gives what one rounding of the exact sum gives (Figueroa, When is double rounding
 * innocuous?, 1995); the sum of a product and a third number is first rounded to odd. The one
 * rounding to a half is done in integers on the double's bits.
 *
 * They share no code with the ALU, and little with form_model.h, against which `exhaustive`
 * compares them too. */
#ifndef PLUMB_TESTS_NUMERICS_PAIRS_H
#define PLUMB_TESTS_NUMERICS_PAIRS_H

#include "ir/base/clones.h"
#include "tests/numerics/form_model.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math,no-math-errno")
#endif

typedef enum pair_op {
  PAIR_NONE,
  PAIR_ADD,
  PAIR_SUB,
  PAIR_MUL,
  PAIR_MUL_HIGH,
  PAIR_MAD,
  PAIR_MAD_HIGH,
  PAIR_SAD,
  PAIR_DIV,
  PAIR_REM,
  PAIR_MIN,
  PAIR_MAX,
  PAIR_AND,
  PAIR_OR,
  PAIR_XOR,
  PAIR_SHL,
  PAIR_SHR,
  PAIR_SELECT,      /* by the predicate */
  PAIR_SELECT_SIGN, /* by the sign of an integer */
  PAIR_SELECT_FLOAT,
  PAIR_COMPARE,
  PAIR_FLOAT_ADD,
  PAIR_FLOAT_SUB,
  PAIR_FLOAT_MUL,
  PAIR_FLOAT_FMA,
  PAIR_FLOAT_MIN,
  PAIR_FLOAT_MAX
} pair_op;

typedef struct pair_plan {
  pair_op op;
  bool is_float, is_bf16, is_signed; /* the operands */
  bool propagate, exclusive_sign, relu, to_f32;
  bool flush, saturate;                     /* f16 */
  uint32_t less, equal, greater, unordered; /* PAIR_COMPARE: the result where operands are so */
  uint32_t mask;                            /* the bits of an element's result */
  unsigned lanes, third_bits;               /* third_bits: 0, 1, 16, 32 */
} pair_plan;

/* Elements of a tile: operands, their values, and results. */
enum { PAIR_LANES = 4096 };
typedef struct pair_operand {
  uint16_t bits[PAIR_LANES];
  float value[PAIR_LANES]; /* exact */
} pair_operand;

/* --- what an instruction is --- */

/* The result of a comparison, combined with the predicate, as the instruction writes it. */
static inline uint32_t pair_outcome(form *f, double a, double b, bool p) {
  const form_type *to = &f->types[0];
  bool is_float = form_is_float(form_last_type(f));
  bool t = is_float ? form_compare_float(f, a, b) : form_compare(f, (form_wide)a, (form_wide)b);
  t = form_combine(f, t, p);
  if (form_is(f, "setp")) return t;
  if (!t) return 0;
  if (form_is_float(to)) return to->kind == 'g' ? 0x3f80 : to->bits == 16 ? 0x3c00 : 0x3f800000;
  return f->types[1].lanes > 1 || to->bits == 16 ? 0xffff : UINT32_MAX;
}

static inline pair_op pair_op_of(form *f, bool is_float) {
  static const struct {
    const char *name;
    pair_op integer, floating;
  } ops[] = {{"add", PAIR_ADD, PAIR_FLOAT_ADD},   {"sub", PAIR_SUB, PAIR_FLOAT_SUB},
             {"mul", PAIR_MUL, PAIR_FLOAT_MUL},   {"mad", PAIR_MAD, PAIR_NONE},
             {"fma", PAIR_NONE, PAIR_FLOAT_FMA},  {"sad", PAIR_SAD, PAIR_NONE},
             {"div", PAIR_DIV, PAIR_NONE},        {"rem", PAIR_REM, PAIR_NONE},
             {"min", PAIR_MIN, PAIR_FLOAT_MIN},   {"max", PAIR_MAX, PAIR_FLOAT_MAX},
             {"and", PAIR_AND, PAIR_NONE},        {"or", PAIR_OR, PAIR_NONE},
             {"xor", PAIR_XOR, PAIR_NONE},        {"shl", PAIR_SHL, PAIR_NONE},
             {"shr", PAIR_SHR, PAIR_NONE},        {"selp", PAIR_SELECT, PAIR_SELECT},
             {"set", PAIR_COMPARE, PAIR_COMPARE}, {"setp", PAIR_COMPARE, PAIR_COMPARE}};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    if (strcmp(f->op, ops[i].name) != 0) continue;
    pair_op op = is_float ? ops[i].floating : ops[i].integer;
    if (form_has(f, "hi") && !is_float && op == PAIR_MUL) return PAIR_MUL_HIGH;
    return form_has(f, "hi") && op == PAIR_MAD ? PAIR_MAD_HIGH : op;
  }
  return PAIR_NONE;
}

/* Whether the instruction has two operands of 16 bits, or of two halves. */
static inline bool pair_is(form *f) {
  const form_type *last = form_last_type(f);
  if (!f->type_count || f->source_count < 2 || form_is(f, "cvt")) return false;
  if (form_is(f, "slct")) return f->types[0].bits == 16;
  bool mixed = (form_is(f, "add") || form_is(f, "sub")) && f->types[0].bits == 32;
  return last->bits == 16 && last->lanes <= 2 && f->op[0] != 'v' && !mixed && !form_is(f, "prmt");
}

/* op is PAIR_NONE where no model knows it. */
static inline pair_plan pair_plan_of(form *f, bool p) {
  const form_type *to = &f->types[0], *last = form_last_type(f);
  const form_type *of = form_is(f, "slct") ? to : last;
  pair_plan plan = {.is_float = form_is_float(of),
                    .is_bf16 = of->kind == 'g',
                    .is_signed = of->kind == 's',
                    .propagate = form_has(f, "NaN"),
                    .exclusive_sign = form_has(f, "xorsign"),
                    .relu = form_has(f, "relu"),
                    .flush = form_has(f, "ftz"),
                    .saturate = form_has(f, "sat"),
                    .to_f32 = form_is_float(to) && to->bits == 32,
                    .lanes = of->lanes};
  plan.op = pair_op_of(f, plan.is_float);
  if (form_is(f, "slct")) plan.op = last->kind == 's' ? PAIR_SELECT_SIGN : PAIR_SELECT_FLOAT;
  bool bits_16 = f->dest[0].bits == 16 || of->lanes > 1;
  plan.mask = f->dest[0].bits == 1 ? 1 : bits_16 ? 0xffff : UINT32_MAX;
  if (f->source_count > 2) plan.third_bits = f->source[2].bits;
  if (of->lanes > 1 && plan.third_bits == 32) plan.third_bits = 16; /* one an element */
  if (plan.op == PAIR_COMPARE) {
    plan.less = pair_outcome(f, 1, 2, p), plan.equal = pair_outcome(f, 2, 2, p);
    plan.greater = pair_outcome(f, 2, 1, p), plan.unordered = pair_outcome(f, (double)NAN, 1, p);
    if (!plan.is_float) plan.unordered = 0;
  }
  /* Modulo 2^16, and of equality, the sign is no matter. */
  bool of_ring =
      plan.op == PAIR_ADD || plan.op == PAIR_SUB || plan.op == PAIR_MUL || plan.op == PAIR_MAD;
  bool of_bits = plan.op == PAIR_SELECT || plan.op == PAIR_SELECT_SIGN ||
                 plan.op == PAIR_SELECT_FLOAT ||
                 (plan.op == PAIR_COMPARE && plan.less == plan.greater);
  if ((of_ring && plan.mask == 0xffff) || of_bits) plan.is_signed = false;
  bool known = of->bits == 16 && f->type_count <= 2;
  if ((plan.flush || plan.saturate) && (!plan.is_float || plan.is_bf16)) known = false;
  if (form_has(f, "rz") || form_has(f, "rm") || form_has(f, "rp")) known = false;
  if (!known) plan.op = PAIR_NONE;
  return plan;
}

/* --- values --- */

static inline double pair_value(const pair_plan *plan, uint16_t bits) {
  if (!plan->is_float) return plan->is_signed ? (int16_t)bits : bits;
  return form_decode(plan->is_bf16 ? (form_format){8, 7} : (form_format){5, 10}, bits);
}

static inline uint64_t pair_bits_of(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}
static inline double pair_double_of(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* To nearest, ties to even. Normal results: half a unit less one and the lowest kept bit are
 * added to the double's bits. Subnormal ones: the addition of 2^52 units rounds. */
static inline uint32_t pair_encode(double v, int bias, int fraction) {
  /* Unsigned shifts: vectors of 64 bits have no other. */
  uint64_t bits = pair_bits_of(v), magnitude = bits & INT64_MAX;
  int cut = 52 - fraction;
  uint64_t unit = (uint64_t)(1023 + 52 + 1 - bias - fraction) << 52;
  uint64_t normal = (magnitude + ((1ull << (cut - 1)) - 1) + (magnitude >> cut & 1)) >> cut;
  uint64_t small = pair_bits_of(pair_double_of(magnitude) + pair_double_of(unit)) - unit;
  int32_t top = (2 * bias + 1) << fraction, least = 1 << fraction;
  /* In 32 bits: without the double's exponents below the half's, and none above is 2^31. */
  int32_t r = (int32_t)normal - ((1023 - bias) << fraction);
  r = r < least ? (int32_t)small : r > top ? top : r;
  r |= (int32_t)(bits >> 48 & 0x8000);
  return v != v ? 0x7fff : (uint32_t)r;
}

static inline uint32_t pair_half(double v, bool is_bf16) {
  return is_bf16 ? pair_encode(v, 127, 7) : pair_encode(v, 15, 10);
}

/* The value of any half: those of exponent 0 are multiples of the smallest subnormal. */
static inline float pair_decode(uint32_t half, bool is_bf16) {
  uint32_t magnitude = half & 0x7fff, bits = is_bf16 ? magnitude << 16 : magnitude << 13;
  float v, small = (float)(int32_t)magnitude * 0x1p-24f;
  if (!is_bf16) {
    uint32_t of_small;
    memcpy(&of_small, &small, sizeof small);
    bits = magnitude < 0x0400   ? of_small
           : magnitude < 0x7c00 ? bits + ((127 - 15) << 23)
                                : bits | 0x7f800000;
  }
  bits |= (half & 0x8000) << 16;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* p + c, rounded to odd: the error of the sum is exact (Knuth). */
static inline double pair_odd_sum(double p, double c) {
  double s = p + c, back = s - p, error = (p - (s - back)) + (c - back);
  int64_t bits = (int64_t)pair_bits_of(s), lack = (int64_t)pair_bits_of(error);
  int64_t finite = (bits & INT64_MAX) < 0x7ff0000000000000ll, inexact = (lack & INT64_MAX) != 0;
  int64_t step = ~bits & 1 & finite & inexact, back_step = step & ((lack ^ bits) < 0);
  return pair_double_of((uint64_t)(bits + step - 2 * back_step));
}

/* --- loops --- */

/* b is not 0. The quotient of two numbers of 16 bits, if no integer, is further from the next
 * one than the rounding of a double. */
static inline int32_t pair_quotient(int32_t a, int32_t b) {
  return (int32_t)((double)a / (double)b);
}

#define EACH(expression) \
  for (unsigned i = 0; i < PAIR_LANES; i++) { \
    int32_t a = is_signed ? (int16_t)ua[i] : ua[i], b = is_signed ? (int16_t)ub[i] : ub[i]; \
    (void)a, (void)b; \
    r[i] = (uint32_t)(expression); \
  } \
  return true

PLUMB_CLONES
static bool pair_integer(const pair_plan *plan, bool is_signed, const uint16_t *ua,
                         const uint16_t *ub, const uint32_t *c, bool p, uint32_t *r) {
  int32_t least = plan->relu ? 0 : INT32_MIN;
  switch (plan->op) {
    case PAIR_ADD:
      EACH(a + b);
    case PAIR_SUB:
      EACH(a - b);
    case PAIR_MUL:
      EACH((uint32_t)a * (uint32_t)b);
    case PAIR_MUL_HIGH:
      EACH((is_signed ? (uint32_t)(a * b >> 16) : (uint32_t)a * (uint32_t)b >> 16));
    case PAIR_MAD:
      EACH((uint32_t)a * (uint32_t)b + c[i]);
    case PAIR_MAD_HIGH:
      EACH((is_signed ? (uint32_t)(a * b >> 16) : (uint32_t)a * (uint32_t)b >> 16) + c[i]);
    case PAIR_SAD:
      EACH(c[i] + (uint32_t)(a > b ? a - b : b - a));
    case PAIR_DIV:
      EACH(pair_quotient(a, b));
    case PAIR_REM:
      EACH(a - pair_quotient(a, b) * b);
    case PAIR_MIN:
      EACH(a < b ? (a < least ? least : a) : (b < least ? least : b));
    case PAIR_MAX:
      EACH(a > b ? (a < least ? least : a) : (b < least ? least : b));
    case PAIR_AND:
      EACH(a & b);
    case PAIR_OR:
      EACH(a | b);
    case PAIR_XOR:
      EACH(a ^ b);
    case PAIR_SHL: /* the amount is unsigned */
      EACH(ub[i] > 15 ? 0 : (uint32_t)ua[i] << (ub[i] & 15));
    case PAIR_SHR:
      EACH(a >> (ub[i] > 15 ? 16 : ub[i]));
    case PAIR_SELECT:
      EACH(p ? ua[i] : ub[i]);
    case PAIR_SELECT_SIGN:
      EACH((int32_t)c[i] >= 0 ? ua[i] : ub[i]);
    case PAIR_SELECT_FLOAT: /* NaN is not >= 0, -0 is */
      EACH(c[i] <= 0x7f800000 || c[i] == 0x80000000 ? ua[i] : ub[i]);
    default:
      return false;
  }
}
#undef EACH

#define EACH(expression) \
  for (unsigned i = 0; i < PAIR_LANES; i++) { \
    VALUE x = a[i], y = b[i]; \
    r[i] = (uint32_t)(expression); \
  }

#define VALUE float
PLUMB_CLONES
static bool pair_compare(const pair_plan *plan, const float *a, const float *b, uint32_t *r) {
  uint32_t less = plan->less, equal = plan->equal, greater = plan->greater;
  uint32_t unordered = plan->unordered;
  EACH((x < y ? less : 0) | (x == y ? equal : 0) | (x > y ? greater : 0) |
       (((x != x) | (y != y)) ? unordered : 0))
  return true;
}

#undef VALUE
#define VALUE double
PLUMB_CLONES
static bool pair_sums(const pair_plan *plan, const float *a, const float *b, uint32_t *r) {
  bool is_bf16 = plan->is_bf16;
  switch (plan->op) {
    case PAIR_FLOAT_ADD:
      if (is_bf16)
        EACH(pair_half(x + y, true))
      else
        EACH(pair_half(x + y, false))
      return true;
    case PAIR_FLOAT_SUB:
      if (is_bf16)
        EACH(pair_half(x - y, true))
      else
        EACH(pair_half(x - y, false))
      return true;
    default:
      if (is_bf16)
        EACH(pair_half(x * y, true))
      else
        EACH(pair_half(x * y, false))
      return true;
  }
}
#undef EACH
#undef VALUE

/* -0 < +0; a NaN is dropped or decides. */
#define EACH(MAXIMUM) \
  for (unsigned i = 0; i < PAIR_LANES; i++) { \
    float x = a->value[i], y = b->value[i]; \
    uint32_t p = a->bits[i], q = b->bits[i], sign = (p ^ q) & 0x8000; \
    x = magnitude ? fabsf(x) : x, y = magnitude ? fabsf(y) : y; \
    p = magnitude ? p & 0x7fff : p, q = magnitude ? q & 0x7fff : q; \
    uint32_t same = (MAXIMUM) ? p & q : p | q; \
    uint32_t v = x == y ? same : (x < y) == (MAXIMUM) ? q : p; \
    v = x != x ? q : y != y ? p : v; \
    uint32_t invalid = \
        propagate ? (uint32_t)((x != x) | (y != y)) : (uint32_t)((x != x) & (y != y)); \
    v = magnitude ? v | sign : v; \
    v = relu && v >= 0x8000 ? 0 : v; \
    r[i] = invalid ? 0x7fff : v; \
  }

PLUMB_CLONES
static bool pair_extremes(const pair_plan *plan, const pair_operand *a, const pair_operand *b,
                          uint32_t *r) {
  bool magnitude = plan->exclusive_sign, propagate = plan->propagate, relu = plan->relu;
  if (plan->op == PAIR_FLOAT_MAX)
    EACH(true)
  else
    EACH(false)
  return true;
}
#undef EACH

/* In passes, each of which is a loop that the vectoriser takes. */
PLUMB_CLONES
static bool pair_fmas(const pair_plan *plan, const float *a, const float *b, const uint32_t *c,
                      uint32_t *r) {
  static float thirds[PAIR_LANES];
  static double sums[PAIR_LANES];
  bool is_bf16 = plan->is_bf16;
  if (plan->to_f32)
    memcpy(thirds, c, sizeof thirds);
  else if (is_bf16)
    for (unsigned i = 0; i < PAIR_LANES; i++) thirds[i] = pair_decode(c[i], true);
  else
    for (unsigned i = 0; i < PAIR_LANES; i++) thirds[i] = pair_decode(c[i], false);
  for (unsigned i = 0; i < PAIR_LANES; i++)
    sums[i] = pair_odd_sum((double)a[i] * (double)b[i], (double)thirds[i]);
  if (plan->to_f32)
    for (unsigned i = 0; i < PAIR_LANES; i++) thirds[i] = (float)sums[i];
  else if (is_bf16)
    for (unsigned i = 0; i < PAIR_LANES; i++) r[i] = pair_half(sums[i], true);
  else
    for (unsigned i = 0; i < PAIR_LANES; i++) r[i] = pair_half(sums[i], false);
  if (plan->to_f32) memcpy(r, thirds, sizeof thirds);
  if (plan->to_f32)
    for (unsigned i = 0; i < PAIR_LANES; i++)
      r[i] = (r[i] & INT32_MAX) > 0x7f800000 ? 0x7fffffff : r[i];
  if (plan->relu) /* NaN is 0x7fff */
    for (unsigned i = 0; i < PAIR_LANES; i++) r[i] = r[i] >= 0x8000 ? 0 : r[i];
  return true;
}

/* f16: subnormal numbers become zeros of their sign. */
static inline uint32_t pair_flushed(uint32_t half) {
  return half & 0x7c00 ? half : half & 0x8000;
}

PLUMB_CLONES
static void pair_flush(pair_operand *out, const pair_operand *of) {
  for (unsigned i = 0; i < PAIR_LANES; i++) out->bits[i] = (uint16_t)pair_flushed(of->bits[i]);
  for (unsigned i = 0; i < PAIR_LANES; i++) {
    float v = of->value[i];
    out->value[i] = fabsf(v) < 0x1p-14f ? v * 0 : v;
  }
}

PLUMB_CLONES
static void pair_flush_bits(uint32_t *out, const uint32_t *of) {
  for (unsigned i = 0; i < PAIR_LANES; i++) out[i] = pair_flushed(of[i]);
}

/* To [0, 1], a NaN (0x7fff) and -0 to 0. */
PLUMB_CLONES
static void pair_saturate(uint32_t *r) {
  for (unsigned i = 0; i < PAIR_LANES; i++)
    r[i] = r[i] >= 0x7fff ? 0 : r[i] > 0x3c00 ? 0x3c00 : r[i];
}

/* The results of elements without flushing and saturation; c: the third operands, p: the
 * predicate. */
static inline bool pair_run_plain(const pair_plan *plan, const pair_operand *a,
                                  const pair_operand *b, const uint32_t *c, bool p, uint32_t *r) {
  switch (plan->op) {
    case PAIR_NONE:
      return false;
    case PAIR_COMPARE:
      return pair_compare(plan, a->value, b->value, r);
    case PAIR_FLOAT_ADD:
    case PAIR_FLOAT_SUB:
    case PAIR_FLOAT_MUL:
      return pair_sums(plan, a->value, b->value, r);
    case PAIR_FLOAT_FMA:
      return pair_fmas(plan, a->value, b->value, c, r);
    case PAIR_FLOAT_MIN:
    case PAIR_FLOAT_MAX:
      return pair_extremes(plan, a, b, r);
    default:
      return pair_integer(plan, plan->is_signed, a->bits, b->bits, c, p, r);
  }
}

static inline bool pair_run(const pair_plan *plan, const pair_operand *a, const pair_operand *b,
                            const uint32_t *c, bool p, uint32_t *r) {
  static pair_operand flushed[2];
  static uint32_t flushed_third[PAIR_LANES];
  if (plan->flush) {
    pair_flush(&flushed[0], a), pair_flush(&flushed[1], b);
    a = &flushed[0], b = &flushed[1];
    if (plan->third_bits == 16) pair_flush_bits(flushed_third, c), c = flushed_third;
  }
  bool known = pair_run_plain(plan, a, b, c, p, r);
  if (plan->flush && plan->op != PAIR_COMPARE) pair_flush_bits(r, r);
  if (plan->saturate) pair_saturate(r);
  return known;
}

#endif

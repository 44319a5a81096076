/* Arithmetic in float types below f32 (f16, bf16, tf32, fp8 and less): computed in
 * double rounded to odd, then rounded once (float_convert.h). */
#include <math.h>

#include "targets/cpu/alu_lanes.h"
#include "targets/cpu/float_convert.h"
#include "targets/cpu/float_half.h"

typedef struct narrow {
  plumb_dtype type;
  unsigned bytes;
  plumb_round round;
  uint32_t flags;
} narrow;

static uint64_t load_bits(const narrow *n, const void *array, size_t lane) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)array + lane * n->bytes, n->bytes);
  if ((n->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN)) && plumb_float_is_subnormal(n->type, bits))
    bits &= plumb_float_sign_bit(n->type);
  if (n->flags & PLUMB_FLAG_ABS_OP) bits &= ~plumb_float_sign_bit(n->type);
  return bits;
}

static double load(const narrow *n, const void *array, size_t lane) {
  return plumb_dtype_to_double(n->type, load_bits(n, array, lane));
}

static void store(const narrow *n, void *array, size_t lane, double value) {
  if (n->flags & PLUMB_FLAG_SAT) value = value > 0 ? (value < 1 ? value : 1) : 0;
  if (n->flags & PLUMB_FLAG_RELU) value = value <= 0 ? 0 : value;
  plumb_unpacked u = plumb_unpack_double(value);
  uint64_t bits = plumb_pack(n->type, &u, n->round, (n->flags & PLUMB_FLAG_SATFINITE) != 0);
  if ((n->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_OUT)) && plumb_float_is_subnormal(n->type, bits))
    bits &= plumb_float_sign_bit(n->type);
  memcpy((char *)array + lane * n->bytes, &bits, n->bytes);
}

static double round_int(double v, plumb_round mode) {
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

/* An exact zero sum of nonzero or opposite operands is -0 toward minus infinity (IEEE
 * 754-2019, 6.3); the double sum was rounded to nearest. */
static double add(const narrow *n, double a, double b) {
  double sum = plumb_odd_add(a, b);
  bool same_zeros = a == 0 && b == 0 && signbit(a) == signbit(b);
  return sum == 0 && n->round == PLUMB_RM && !same_zeros ? -0.0 : sum;
}

static bool compute(const narrow *n, plumb_op op, double a, double b, double c, double *out) {
  switch (op) {
    case PLUMB_OP_ADD:
    case PLUMB_OP_REDUCE_ADD:
      *out = add(n, a, b);
      return true;
    case PLUMB_OP_SUB:
      *out = add(n, a, -b);
      return true;
    case PLUMB_OP_MUL:
    case PLUMB_OP_REDUCE_MUL:
      *out = a * b;
      return true;
    case PLUMB_OP_FMA:
      *out = add(n, a * b, c);
      return true;
    case PLUMB_OP_DIV:
      *out = plumb_odd_div(a, b);
      return true;
    case PLUMB_OP_SQRT:
      *out = plumb_odd_sqrt(a);
      return true;
    case PLUMB_OP_REM_F:
      *out = fmod(a, b);
      return true;
    case PLUMB_OP_ROUND_INT:
      *out = round_int(a, n->round);
      return true;
    default:
      return false;
  }
}

static double extreme(double a, double b, bool maximum, bool drop) {
  if (isnan(a) || isnan(b)) return !drop || (isnan(a) && isnan(b)) ? NAN : isnan(a) ? b : a;
  if (a == b) return signbit(a) == maximum ? b : a;
  return (a < b) != maximum ? a : b;
}

static bool execute_extreme(const narrow *n, const lanes *x) {
  const plumb_inst *inst = x->inst;
  uint64_t sign = plumb_float_sign_bit(n->type);
  for (size_t l = x->lo; l < x->hi; l++) {
    double v = extreme(load(n, x->operands[0], l), load(n, x->operands[1], l),
                       inst->op == PLUMB_OP_MAX, inst->sub == PLUMB_NAN_DROP);
    if ((inst->flags & PLUMB_FLAG_XORSIGN) && !isnan(v)) {
      uint64_t a = 0, b = 0;
      memcpy(&a, (const char *)x->operands[0] + l * n->bytes, n->bytes);
      memcpy(&b, (const char *)x->operands[1] + l * n->bytes, n->bytes);
      v = copysign(v, (a ^ b) & sign ? -1.0 : 1.0);
    }
    store(n, x->results[0], l, v);
  }
  return true;
}

/* --- f16 and bf16 to nearest, in vector loops --- */

/* Chunks, so that each loop is one that the vectoriser takes. */
enum { CHUNK = 256 };

/* Sums and products in f32 are rounded once more without harm: 24 bits are at least twice
 * the 11 of f16 and two more (Figueroa, When is double rounding innocuous?, 1995). */
#define HALF_LOOP(OF, TO, EXPRESSION) \
  LANES { \
    float p = OF(a[l]), q = OF(b[l]); \
    r[l] = TO(EXPRESSION); \
  } \
  return true

#define HALF_OPERATIONS(OF, TO) \
  switch ((plumb_op)x->inst->op) { \
    case PLUMB_OP_REDUCE_ADD: \
    case PLUMB_OP_ADD: \
      HALF_LOOP(OF, TO, p + q); \
    case PLUMB_OP_SUB: \
      HALF_LOOP(OF, TO, p - q); \
    default: \
      HALF_LOOP(OF, TO, p * q); \
  }

PLUMB_CLONES
static bool sums_and_products(const lanes *x, uint16_t *r, const uint16_t *a, const uint16_t *b) {
  size_t lo = x->lo, hi = x->hi;
  if (x->inst->type == PLUMB_F16) HALF_OPERATIONS(f32_of_f16, f16_of_f32)
  HALF_OPERATIONS(f32_of_bf16, bf16_of_f32)
}

PLUMB_CLONES
static void widen_f16(size_t hi, uint16_t least, float *r, const uint16_t *a) {
  const size_t lo = 0;
  LANES {
    r[l] = f32_of_f16((a[l] & 0x7fff) < least ? a[l] & 0x8000 : a[l]);
  }
}

PLUMB_CLONES
static void widen_bf16(size_t hi, uint16_t least, float *r, const uint16_t *a) {
  const size_t lo = 0;
  LANES {
    r[l] = f32_of_bf16((a[l] & 0x7fff) < least ? a[l] & 0x8000 : a[l]);
  }
}

void plumb_alu_widen_halves(plumb_dtype type, bool flush, size_t count, float *r,
                            const uint16_t *a) {
  if (type == PLUMB_F16)
    widen_f16(count, flush ? 0x0400 : 0, r, a);
  else
    widen_bf16(count, flush ? 0x0080 : 0, r, a);
}

/* The sum of an exact product and a third number, as double rounded to odd and as f32 rounded
 * to odd: then the rounding to a half is as if of the exact sum (float_convert.h). */
PLUMB_CLONES
static void fma_chunk(plumb_dtype type, size_t hi, uint16_t *r, const uint16_t *const halves[3]) {
  float v[3][CHUNK], *p = v[0], *q = v[1], *s = v[2];
  double sum[CHUNK];
  int64_t step[CHUNK];
  const size_t lo = 0;
  for (int i = 0; i < 3; i++) plumb_alu_widen_halves(type, false, hi, v[i], halves[i]);
  LANES {
    sum[l] = f64_odd_sum((double)p[l] * (double)q[l], (double)s[l]);
  }
  LANES {
    p[l] = (float)sum[l];
  }
  LANES {
    step[l] = f32_odd_step(sum[l], p[l]);
  }
  LANES {
    p[l] = f32_stepped(p[l], step[l]);
  }
  if (type == PLUMB_BF16) {
    LANES {
      r[l] = bf16_of_f32(p[l]);
    }
    return;
  }
  LANES {
    r[l] = f16_of_f32(p[l]);
  }
}

static bool fmas(const lanes *x, uint16_t *r) {
  const uint16_t *const *of = (const uint16_t *const *)x->operands;
  for (size_t l = x->lo; l < x->hi; l += CHUNK) {
    const uint16_t *halves[3] = {of[0] + l, of[1] + l, of[2] + l};
    fma_chunk((plumb_dtype)x->inst->type, x->hi - l < CHUNK ? x->hi - l : CHUNK, r + l, halves);
  }
  return true;
}

/* Minimum and maximum by integers of the same order; -0 < +0. */
#define EXTREME_LOOP(FIRST) \
  LANES { \
    uint16_t p = a[l] & kept, q = b[l] & kept; \
    int16_t i = half_order(p), j = half_order(q); \
    uint16_t v = (FIRST) ? p : q; \
    v |= (uint16_t)((a[l] ^ b[l]) & sign); \
    uint16_t of_p = drop ? (uint16_t)(q | ((a[l] ^ b[l]) & sign)) : PLUMB_HALF_NAN; \
    uint16_t of_q = drop ? (uint16_t)(p | ((a[l] ^ b[l]) & sign)) : PLUMB_HALF_NAN; \
    bool p_nan = (p & 0x7fff) > infinity, q_nan = (q & 0x7fff) > infinity; \
    v = p_nan ? of_p : q_nan ? of_q : v; \
    r[l] = (p_nan & q_nan) ? PLUMB_HALF_NAN : v; \
  }

static inline int16_t half_order(uint16_t half) {
  return (int16_t)(half ^ ((int16_t)half >> 15 & 0x7fff));
}

/* kept: the bits of an operand that count; sign: those that are the operands' exclusive or. */
PLUMB_CLONES
static bool extremes(const lanes *x, uint16_t *r, const uint16_t *a, const uint16_t *b) {
  size_t lo = x->lo, hi = x->hi;
  uint16_t kept = (x->inst->flags & PLUMB_FLAG_ABS_OP) ? 0x7fffu : 0xffffu;
  uint16_t sign = (x->inst->flags & PLUMB_FLAG_XORSIGN) ? 0x8000u : 0u;
  uint16_t infinity = x->inst->type == PLUMB_F16 ? 0x7c00 : 0x7f80;
  bool drop = x->inst->sub == PLUMB_NAN_DROP;
  if (x->inst->op == PLUMB_OP_MAX)
    EXTREME_LOOP(i > j)
  else
    EXTREME_LOOP(i < j)
  return true;
}

#define MODIFIERS \
  (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN | PLUMB_FLAG_FTZ_OUT | PLUMB_FLAG_SAT | PLUMB_FLAG_RELU)

static bool execute_fast(const lanes *x) {
  const plumb_inst *inst = x->inst;
  uint32_t magnitude = PLUMB_FLAG_ABS_OP | PLUMB_FLAG_XORSIGN;
  if (inst->operands < 2) return false;
  uint16_t *r = x->results[0];
  const uint16_t *a = x->operands[0], *b = x->operands[1];
  switch ((plumb_op)inst->op) {
    case PLUMB_OP_MIN:
    case PLUMB_OP_MAX: {
      uint32_t given = inst->flags & magnitude;
      return (given == 0 || given == magnitude) && extremes(x, r, a, b);
    }
    case PLUMB_OP_FMA:
      return !(inst->flags & magnitude) && fmas(x, r);
    case PLUMB_OP_ADD:
    case PLUMB_OP_SUB:
    case PLUMB_OP_MUL:
    case PLUMB_OP_REDUCE_ADD:
    case PLUMB_OP_REDUCE_MUL:
      return !(inst->flags & magnitude) && sums_and_products(x, r, a, b);
    default:
      return false;
  }
}

PLUMB_CLONES
static void flush_halves(uint16_t *r, const uint16_t *a, size_t count, uint16_t least) {
  for (size_t i = 0; i < count; i++) r[i] = (a[i] & 0x7fff) < least ? a[i] & 0x8000 : a[i];
}

/* Of results that are already rounded: a NaN has no sign, and what rounds to 1 is not above it. */
PLUMB_CLONES
static void modify_halves(uint16_t *r, size_t count, uint16_t least, uint16_t one, bool positive) {
  for (size_t i = 0; i < count; i++) {
    uint16_t v = r[i];
    v = v >= 0x8000 && positive ? 0 : v;
    v = (v & 0x7fff) < least ? v & 0x8000 : v;
    v = v > one ? (v == PLUMB_HALF_NAN ? 0 : one) : v;
    r[i] = v;
  }
}

/* The same with flushing, saturation and relu, before and behind it. */
static bool execute_fast_modified(const lanes *x) {
  const uint32_t flags = x->inst->flags;
  bool is_f16 = x->inst->type == PLUMB_F16;
  uint16_t least = is_f16 ? 0x0400 : 0x0080, one = is_f16 ? 0x3c00 : 0x3f80;
  bool flush_in = flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN), sat = flags & PLUMB_FLAG_SAT;
  bool flush_out = flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_OUT);
  bool positive = sat || (flags & PLUMB_FLAG_RELU);
  plumb_inst inst = *x->inst;
  inst.flags &= ~(uint32_t)MODIFIERS;
  uint16_t flushed[3][CHUNK];
  for (size_t l = x->lo; l < x->hi; l += CHUNK) {
    size_t count = x->hi - l < CHUNK ? x->hi - l : CHUNK;
    uint16_t *r = (uint16_t *)x->results[0] + l;
    const void *operands[3] = {0};
    for (int i = 0; i < inst.operands && i < 3; i++) {
      const uint16_t *from = (const uint16_t *)x->operands[i] + l;
      if (flush_in) flush_halves(flushed[i], from, count, least);
      operands[i] = flush_in ? flushed[i] : from;
    }
    lanes part = *x;
    part.inst = &inst, part.results = (void *[]){r}, part.operands = operands;
    part.lo = 0, part.hi = count;
    if (!execute_fast(&part)) return false;
    modify_halves(r, count, flush_out ? least : 0, sat ? one : UINT16_MAX, positive);
  }
  return true;
}

bool plumb_alu_half(const lanes *x) {
  const plumb_inst *inst = x->inst;
  plumb_dtype type = (plumb_dtype)inst->type;
  if (!plumb_dtype_is_float(type) || inst->round >= PLUMB_RS) return false;
  bool is_half = type == PLUMB_F16 || type == PLUMB_BF16;
  if (is_half && inst->round == PLUMB_RN && !(inst->flags & PLUMB_FLAG_SATFINITE) &&
      (inst->flags & MODIFIERS ? execute_fast_modified(x) : execute_fast(x)))
    return true;
  narrow n = {type, plumb_dtype_bytes(type), (plumb_round)inst->round, inst->flags};
  if (inst->op == PLUMB_OP_MIN || inst->op == PLUMB_OP_MAX) return execute_extreme(&n, x);
  bool reduce = inst->op == PLUMB_OP_REDUCE_ADD || inst->op == PLUMB_OP_REDUCE_MUL;
  int count = reduce ? 2 : inst->operands;
  for (size_t l = x->lo; l < x->hi; l++) {
    double a = load(&n, x->operands[0], l), v;
    double b = count > 1 ? load(&n, x->operands[1], l) : 0;
    double c = count > 2 ? load(&n, x->operands[2], l) : 0;
    if (!compute(&n, (plumb_op)inst->op, a, b, c, &v)) return false;
    store(&n, x->results[0], l, v);
  }
  return true;
}

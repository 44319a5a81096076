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

/* f16 and bf16 to nearest without flags, in vector loops: the same double rounded to odd. */
#define HALF_LOOP(OF, TO, SUM) \
  LANES { \
    double p = (double)OF(a[l]), q = (double)OF(b[l]), s = (double)OF(c[l]); \
    (void)s; \
    r[l] = TO(SUM); \
  } \
  return true

#define HALF_OPERATIONS(OF, TO) \
  switch ((plumb_op)x->inst->op) { \
    case PLUMB_OP_REDUCE_ADD: \
    case PLUMB_OP_ADD: \
      HALF_LOOP(OF, TO, f32_odd_sum(p, q)); \
    case PLUMB_OP_SUB: \
      HALF_LOOP(OF, TO, f32_odd_sum(p, -q)); \
    case PLUMB_OP_REDUCE_MUL: \
    case PLUMB_OP_MUL: \
      HALF_LOOP(OF, TO, f32_odd(p * q, 0)); \
    case PLUMB_OP_FMA: \
      HALF_LOOP(OF, TO, f32_odd_sum(p * q, s)); \
    default: \
      return false; \
  }

PLUMB_CLONES
static bool execute_fast(const lanes *x) {
  size_t lo = x->lo, hi = x->hi;
  if (x->inst->operands < 2) return false;
  uint16_t *r = x->results[0];
  const uint16_t *a = x->operands[0], *b = x->operands[1];
  const uint16_t *c = x->inst->op == PLUMB_OP_FMA ? x->operands[2] : a;
  if (x->inst->type == PLUMB_F16) HALF_OPERATIONS(f32_of_f16, f16_of_f32)
  HALF_OPERATIONS(f32_of_bf16, bf16_of_f32)
}

bool plumb_alu_half(const lanes *x) {
  const plumb_inst *inst = x->inst;
  plumb_dtype type = (plumb_dtype)inst->type;
  if (!plumb_dtype_is_float(type) || inst->round >= PLUMB_RS) return false;
  bool is_half = type == PLUMB_F16 || type == PLUMB_BF16;
  uint32_t modifiers = PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN | PLUMB_FLAG_FTZ_OUT | PLUMB_FLAG_SAT |
                       PLUMB_FLAG_RELU | PLUMB_FLAG_SATFINITE | PLUMB_FLAG_ABS_OP;
  if (is_half && inst->round == PLUMB_RN && !(inst->flags & modifiers) && execute_fast(x))
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

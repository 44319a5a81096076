/* Approximate PTX instructions (op APPROX): the real value rounded to nearest, which is
 * inside every documented error, with the special values of each instruction's page; with imm
 * 1 a value at an end of that error. */
#include <math.h>

#include "targets/cpu/alu_approx.h"
#include "targets/cpu/float_convert.h"

/* div.approx.f32 (9.7.3.8): for 2^126 < |b| < 2^128 the reciprocal is flushed, so the
 * quotient is 0, or NaN where a is infinite. */
static double div_approx(plumb_dtype type, double a, double b) {
  if (type == PLUMB_F32 && fabs(b) > 0x1p126 && !isinf(b)) return a * copysign(0.0, b);
  return a / b;
}

/* IEEE gives what the pages table: zeros, infinities and NaN of each of these. */
static double approximate(plumb_approx which, plumb_dtype type, double a, double b) {
  switch (which) {
    case PLUMB_APPROX_RCP:
      return 1 / a;
    case PLUMB_APPROX_DIV:
      return div_approx(type, a, b);
    case PLUMB_APPROX_DIV_FULL:
      return a / b;
    case PLUMB_APPROX_SQRT:
      return sqrt(a);
    case PLUMB_APPROX_RSQRT:
      return 1 / sqrt(a);
    case PLUMB_APPROX_SIN:
      return sin(a);
    case PLUMB_APPROX_COS:
      return cos(a);
    case PLUMB_APPROX_LG2:
      return log2(a);
    case PLUMB_APPROX_EX2:
      return exp2(a);
    case PLUMB_APPROX_TANH:
      return tanh(a);
    default:
      return (double)NAN;
  }
}

/* 9.7.3.15 and 9.7.3.18: only the high words of operand and result count, subnormals are
 * flushed, NaN is 0x7fffffff00000000. */
static uint64_t high_word_f64(plumb_approx which, uint64_t bits) {
  const uint64_t high = 0xffffffff00000000ull;
  bits &= high;
  if ((bits & 0x7ff0000000000000ull) == 0) bits &= 1ull << 63;
  double a = f64_of(bits);
  bool square_root = which == PLUMB_APPROX_RSQRT_FTZ_F64;
  double v = square_root ? 1 / sqrt(a) : 1 / a;
  if (isnan(v)) return 0x7fffffff00000000ull;
  bits = bits_of_f64(v) & high;
  if ((bits & 0x7ff0000000000000ull) == 0) bits &= 1ull << 63;
  return bits;
}

static bool execute_f64(const lanes *x, plumb_approx which) {
  const uint64_t *a = x->operands[0];
  uint64_t *r = x->results[0];
  for (size_t l = x->lo; l < x->hi; l++) {
    uint64_t operand = a[l];
    /* rsqrt.approx.f64 keeps subnormals */
    r[l] = which == PLUMB_APPROX_RSQRT ? bits_of_f64(1 / sqrt(f64_of(operand)))
                                       : high_word_f64(which, operand);
    if (x->inst->imm)
      r[l] = plumb_approx_edge(which, PLUMB_F64, (uint64_t[]){operand, 0}, f64_of(r[l]), r[l]);
  }
  return true;
}

static uint64_t load(const plumb_inst *inst, const void *array, size_t lane) {
  plumb_dtype type = (plumb_dtype)inst->type;
  unsigned bytes = plumb_dtype_bytes(type);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)array + lane * bytes, bytes);
  if ((inst->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN)) && plumb_float_is_subnormal(type, bits))
    bits &= plumb_float_sign_bit(type);
  return bits;
}

static inline uint32_t flushed_f32(uint32_t bits, bool flush) {
  return flush && (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}

/* As `approximate`, of a chunk. */
PLUMB_CLONES
static void approximate_lanes(plumb_approx which, const double *a, const double *b, double *r) {
  enum { N = PLUMB_APPROX_CHUNK };
  if (plumb_approx_lanes(which, a, r)) return;
  if (which == PLUMB_APPROX_RCP)
    for (int i = 0; i < N; i++) r[i] = 1 / a[i];
  else if (which == PLUMB_APPROX_DIV_FULL)
    for (int i = 0; i < N; i++) r[i] = a[i] / b[i];
  else if (which == PLUMB_APPROX_SQRT)
    for (int i = 0; i < N; i++) r[i] = sqrt(a[i]);
  else if (which == PLUMB_APPROX_RSQRT)
    for (int i = 0; i < N; i++) r[i] = 1 / sqrt(a[i]);
  else
    for (int i = 0; i < N; i++) r[i] = approximate(which, PLUMB_F32, a[i], b[i]);
}

PLUMB_CLONES
static void widen(double *out, const uint32_t *a, size_t count, bool flush) {
  for (size_t i = 0; i < count; i++) out[i] = f32_of(flushed_f32(a[i], flush));
}

PLUMB_CLONES
static void narrow(uint32_t *out, const double *v, size_t count, bool flush, bool saturate) {
  for (size_t i = 0; i < count; i++) {
    double x = saturate ? (v[i] > 0 ? (v[i] < 1 ? v[i] : 1) : 0) : v[i];
    out[i] = isnan(x) ? PLUMB_F32_NAN : flushed_f32(bits_of_f32((float)x), flush);
  }
}

/* What the general loop below does for imm 0, with the hardware's conversions. */
static bool execute_f32(const lanes *x, plumb_approx which) {
  enum { N = PLUMB_APPROX_CHUNK };
  uint32_t flags = x->inst->flags;
  bool flush_in = (flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN)) != 0;
  bool flush_out = (flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_OUT)) != 0;
  bool saturate = (flags & PLUMB_FLAG_SAT) != 0;
  const uint32_t *a = x->operands[0], *b = x->inst->operands > 1 ? x->operands[1] : NULL;
  uint32_t *r = x->results[0];
  double values[2][N], results[N];
  for (size_t i = 0; i < N; i++)
    values[0][i] = values[1][i] = 0.75; /* nothing special behind the last */
  for (size_t l = x->lo; l < x->hi; l += N) {
    size_t count = x->hi - l < N ? x->hi - l : N;
    widen(values[0], a + l, count, flush_in);
    if (b) widen(values[1], b + l, count, flush_in);
    approximate_lanes(which, values[0], values[1], results);
    narrow(r + l, results, count, flush_out, saturate);
  }
  return true;
}

bool plumb_alu_approx(const lanes *x) {
  const plumb_inst *inst = x->inst;
  plumb_dtype type = (plumb_dtype)inst->type;
  if (inst->sub >= PLUMB_APPROX_COUNT || inst->operands != plumb_approx_table[inst->sub].arity ||
      !plumb_dtype_is_float(type))
    return false;
  plumb_approx which = (plumb_approx)inst->sub;
  bool is_f64 = which == PLUMB_APPROX_RCP_FTZ_F64 || which == PLUMB_APPROX_RSQRT_FTZ_F64 ||
                (which == PLUMB_APPROX_RSQRT && type == PLUMB_F64);
  if (is_f64 || type == PLUMB_F64) return is_f64 && type == PLUMB_F64 && execute_f64(x, which);
  if (type == PLUMB_F32 && !inst->imm) return execute_f32(x, which);
  unsigned bytes = plumb_dtype_bytes(type);
  bool flush = (inst->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_OUT)) != 0;
  for (size_t l = x->lo; l < x->hi; l++) {
    uint64_t ab[2] = {load(inst, x->operands[0], l),
                      inst->operands > 1 ? load(inst, x->operands[1], l) : 0};
    double v = approximate(which, type, plumb_dtype_to_double(type, ab[0]),
                           plumb_dtype_to_double(type, ab[1]));
    uint64_t bits = plumb_pack_double(type, v, PLUMB_RN);
    if (inst->imm) {
      bits = plumb_approx_edge(which, type, ab, v, bits);
      v = plumb_dtype_to_double(type, bits);
    }
    if (flush && plumb_float_is_subnormal(type, bits)) bits &= plumb_float_sign_bit(type);
    if (inst->flags & PLUMB_FLAG_SAT)
      bits = plumb_pack_double(type, v > 0 ? (v < 1 ? v : 1) : 0, PLUMB_RN);
    memcpy((char *)x->results[0] + l * bytes, &bits, bytes);
  }
  return true;
}

/* Elementary functions (op MATH): the C library one precision higher (double for types
 * up to f32, x87 extended for f64), then one rounding to the type. So the error is half
 * an ulp and a few thousandths, inside what math.def documents for any device. */
#define _GNU_SOURCE /* exp10, lgammal_r */
#include <math.h>

#include "targets/cpu/alu_lanes.h"
#include "targets/cpu/float_convert.h"

typedef double (*double_function)(double);
typedef long double (*long_function)(long double);

static double rsqrt_double(double v) {
  return 1 / sqrt(v);
}
static long double rsqrt_long(long double v) {
  return 1 / sqrtl(v);
}

/* lgamma without the global sign. */
static double lgamma_double(double v) {
  int sign;
  return lgamma_r(v, &sign);
}
static long double lgamma_long(long double v) {
  int sign;
  return lgammal_r(v, &sign);
}

typedef struct function_row {
  double_function narrow;
  long_function wide;
} function_row;

static const function_row functions[PLUMB_MATH_COUNT] = {
    [PLUMB_MATH_EXP] = {exp, expl},          [PLUMB_MATH_EXP2] = {exp2, exp2l},
    [PLUMB_MATH_EXP10] = {exp10, exp10l},    [PLUMB_MATH_EXPM1] = {expm1, expm1l},
    [PLUMB_MATH_LOG] = {log, logl},          [PLUMB_MATH_LOG2] = {log2, log2l},
    [PLUMB_MATH_LOG10] = {log10, log10l},    [PLUMB_MATH_LOG1P] = {log1p, log1pl},
    [PLUMB_MATH_SIN] = {sin, sinl},          [PLUMB_MATH_COS] = {cos, cosl},
    [PLUMB_MATH_TAN] = {tan, tanl},          [PLUMB_MATH_ASIN] = {asin, asinl},
    [PLUMB_MATH_ACOS] = {acos, acosl},       [PLUMB_MATH_ATAN] = {atan, atanl},
    [PLUMB_MATH_SINH] = {sinh, sinhl},       [PLUMB_MATH_COSH] = {cosh, coshl},
    [PLUMB_MATH_TANH] = {tanh, tanhl},       [PLUMB_MATH_ASINH] = {asinh, asinhl},
    [PLUMB_MATH_ACOSH] = {acosh, acoshl},    [PLUMB_MATH_ATANH] = {atanh, atanhl},
    [PLUMB_MATH_ERF] = {erf, erfl},          [PLUMB_MATH_ERFC] = {erfc, erfcl},
    [PLUMB_MATH_CBRT] = {cbrt, cbrtl},       [PLUMB_MATH_RSQRT] = {rsqrt_double, rsqrt_long},
    [PLUMB_MATH_TGAMMA] = {tgamma, tgammal}, [PLUMB_MATH_LGAMMA] = {lgamma_double, lgamma_long},
};

/* The exponent of POWI and LDEXP. */
static int64_t exponent_at(const plumb_inst *inst, const void *array, size_t lane) {
  switch ((plumb_dtype)inst->type2) {
    case PLUMB_I16:
      return ((const int16_t *)array)[lane];
    case PLUMB_I64:
      return ((const int64_t *)array)[lane];
    default:
      return ((const int32_t *)array)[lane];
  }
}

static int clamped(int64_t n) {
  return n > 100000 ? 100000 : n < -100000 ? -100000 : (int)n;
}

static bool has_exponent(plumb_math which) {
  return which == PLUMB_MATH_POWI || which == PLUMB_MATH_LDEXP;
}

double plumb_math_double(plumb_math which, double a, double b, int64_t n) {
  switch (which) {
    case PLUMB_MATH_ATAN2:
      return atan2(a, b);
    case PLUMB_MATH_POW:
      return pow(a, b);
    case PLUMB_MATH_HYPOT:
      return hypot(a, b);
    case PLUMB_MATH_FMOD:
      return fmod(a, b);
    case PLUMB_MATH_REMAINDER:
      return remainder(a, b);
    case PLUMB_MATH_POWI:
      return pow(a, (double)n);
    case PLUMB_MATH_LDEXP:
      return ldexp(a, clamped(n));
    default:
      return functions[which].narrow(a);
  }
}

long double plumb_math_long(plumb_math which, long double a, long double b, int64_t n) {
  switch (which) {
    case PLUMB_MATH_ATAN2:
      return atan2l(a, b);
    case PLUMB_MATH_POW:
      return powl(a, b);
    case PLUMB_MATH_HYPOT:
      return hypotl(a, b);
    case PLUMB_MATH_FMOD:
      return fmodl(a, b);
    case PLUMB_MATH_REMAINDER:
      return remainderl(a, b);
    case PLUMB_MATH_POWI:
      return powl(a, (long double)n);
    case PLUMB_MATH_LDEXP:
      return ldexpl(a, clamped(n));
    default:
      return functions[which].wide(a);
  }
}

typedef struct math_lanes {
  const lanes *x;
  plumb_dtype type;
  unsigned bytes;
  bool flush_in, flush_out;
} math_lanes;

static double load(const math_lanes *m, int operand, size_t lane) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)m->x->operands[operand] + lane * m->bytes, m->bytes);
  if (m->flush_in && plumb_float_is_subnormal(m->type, bits)) bits &= plumb_float_sign_bit(m->type);
  return plumb_dtype_to_double(m->type, bits);
}

static void store(const math_lanes *m, size_t lane, uint64_t bits) {
  uint32_t flags = m->x->inst->flags;
  if (m->flush_out && plumb_float_is_subnormal(m->type, bits))
    bits &= plumb_float_sign_bit(m->type);
  if (flags & (PLUMB_FLAG_SAT | PLUMB_FLAG_RELU)) {
    double v = plumb_dtype_to_double(m->type, bits);
    if (flags & PLUMB_FLAG_SAT) v = v > 0 ? (v < 1 ? v : 1) : 0;
    if (flags & PLUMB_FLAG_RELU) v = v <= 0 ? 0 : v;
    bits = plumb_pack_double(m->type, v, PLUMB_RN);
  }
  memcpy((char *)m->x->results[0] + lane * m->bytes, &bits, m->bytes);
}

static uint64_t rounded(plumb_dtype type, double v) {
  if (type != PLUMB_F32) return plumb_pack_double(type, v, PLUMB_RN);
  return isnan(v) ? PLUMB_F32_NAN : bits_of_f32((float)v);
}

/* f64 NaNs pass their payload, as arithmetic does. */
static uint64_t rounded_long(long double v, double a, double b) {
  if (isnan(a)) return bits_of_f64(a) | PLUMB_F64_QUIET;
  if (isnan(v) && isnan(b)) return bits_of_f64(b) | PLUMB_F64_QUIET;
  return isnan(v) ? 0xfff8000000000000ull : bits_of_f64((double)v);
}

bool plumb_alu_math(const lanes *x) {
  const plumb_inst *inst = x->inst;
  plumb_dtype type = (plumb_dtype)inst->type;
  if (!plumb_dtype_is_float(type) || inst->sub >= PLUMB_MATH_COUNT ||
      inst->operands != plumb_math_table[inst->sub].arity)
    return false;
  plumb_math which = (plumb_math)inst->sub;
  math_lanes m = {x, type, plumb_dtype_bytes(type),
                  (inst->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN)) != 0,
                  (inst->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_OUT)) != 0};
  for (size_t l = x->lo; l < x->hi; l++) {
    double a = load(&m, 0, l), b = 0;
    int64_t n = 0;
    if (has_exponent(which))
      n = exponent_at(inst, x->operands[1], l);
    else if (inst->operands > 1)
      b = load(&m, 1, l);
    if (type != PLUMB_F64)
      store(&m, l, rounded(type, plumb_math_double(which, a, b, n)));
    else if (which == PLUMB_MATH_LDEXP) /* long double first would round a subnormal twice */
      store(&m, l, isnan(a) ? rounded_long(0, a, 0) : bits_of_f64(ldexp(a, clamped(n))));
    else
      store(&m, l, rounded_long(plumb_math_long(which, a, b, n), a, b));
  }
  return true;
}

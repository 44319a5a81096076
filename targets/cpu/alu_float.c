/* f32 and f64 arithmetic in hardware, in the hardware's rounding modes. */
#include <fenv.h>
#include <float.h>
#include <math.h>

#include "targets/cpu/alu_lanes.h"
#include "targets/cpu/float_convert.h"

/* The loops lie between the two calls below, in functions that are not inlined and load
 * and store through their arguments, so no operation can leave the chosen mode. */
static const int fenv_modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

void plumb_round_enter(plumb_round round) {
  if (round != PLUMB_RN && round < PLUMB_RNA) fesetround(fenv_modes[round]);
}

void plumb_round_leave(plumb_round round) {
  if (round != PLUMB_RN && round < PLUMB_RNA) fesetround(FE_TONEAREST);
}

/* The payload of the first NaN operand, made quiet; for an invalid operation the default
 * NaN of NVIDIA's f64 and of x86. */
static inline double f64_nan(double a, double b, double c) {
  uint64_t bits = 0xfff8000000000000ull;
  bits = c != c ? bits_of_f64(c) : bits;
  bits = b != b ? bits_of_f64(b) : bits;
  bits = a != a ? bits_of_f64(a) : bits;
  return f64_of(bits | PLUMB_F64_QUIET);
}

#define T float
#define BITS uint32_t
#define NAME(x) x##_f32
#define MATH(x) __builtin_##x##f
#define SIGN 0x80000000u
#define SMALLEST FLT_MIN
#define nan_of(a, b, c) ((void)(c), f32_of(PLUMB_F32_NAN))
#include "targets/cpu/alu_float_width.inc"

#define T double
#define BITS uint64_t
#define NAME(x) x##_f64
#define MATH(x) __builtin_##x
#define SIGN 0x8000000000000000ull
#define SMALLEST DBL_MIN
#define nan_of(a, b, c) f64_nan((a), (b), (c))
#include "targets/cpu/alu_float_width.inc"

bool plumb_alu_float(const lanes *x) {
  switch ((plumb_dtype)x->inst->type) {
    case PLUMB_F32:
      return execute_f32(x);
    case PLUMB_F64:
      return execute_f64(x);
    default:
      return plumb_alu_half(x);
  }
}

bool plumb_alu_compare_float(const lanes *x) {
  const void *a = x->operands[0], *b = x->operands[1];
  bool flush = (x->inst->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN)) != 0;
  plumb_dtype type = (plumb_dtype)x->inst->type2;
  if (type == PLUMB_F32) return compare_f32(x, x->results[0], a, b, flush);
  if (type == PLUMB_F64) return compare_f64(x, x->results[0], a, b, flush);
  return plumb_alu_compare_half(x, flush);
}

/* Chunks of f32 or of doubles hold narrow operands: every narrow float is a double exactly,
 * every half an f32. */
enum { COMPARE_CHUNK = 128 };

static bool compare_halves(const lanes *x, bool flush) {
  plumb_dtype type = (plumb_dtype)x->inst->type2;
  float wide[2][COMPARE_CHUNK];
  for (size_t base = x->lo; base < x->hi; base += COMPARE_CHUNK) {
    size_t length = x->hi - base < COMPARE_CHUNK ? x->hi - base : COMPARE_CHUNK;
    for (int i = 0; i < 2; i++)
      plumb_alu_widen_halves(type, flush, length, wide[i], (const uint16_t *)x->operands[i] + base);
    lanes chunk = {x->inst, NULL, NULL, 0, length};
    if (!compare_f32(&chunk, (uint8_t *)x->results[0] + base, wide[0], wide[1], false))
      return false;
  }
  return true;
}

bool plumb_alu_compare_half(const lanes *x, bool flush) {
  plumb_dtype type = (plumb_dtype)x->inst->type2;
  if (type == PLUMB_F16 || type == PLUMB_BF16) return compare_halves(x, flush);
  unsigned bytes = plumb_dtype_bytes(type);
  double wide[2][COMPARE_CHUNK];
  for (size_t base = x->lo; base < x->hi; base += COMPARE_CHUNK) {
    size_t length = x->hi - base < COMPARE_CHUNK ? x->hi - base : COMPARE_CHUNK;
    for (int i = 0; i < 2; i++)
      for (size_t l = 0; l < length; l++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)x->operands[i] + (base + l) * bytes, bytes);
        wide[i][l] =
            flush && plumb_float_is_subnormal(type, bits) ? 0 : plumb_dtype_to_double(type, bits);
      }
    lanes chunk = {x->inst, NULL, NULL, 0, length};
    if (!compare_f64(&chunk, (uint8_t *)x->results[0] + base, wide[0], wide[1], false))
      return false;
  }
  return true;
}

/* LLVM's is.fpclass bits. */
static unsigned class_of(plumb_dtype type, uint64_t bits) {
  plumb_unpacked u = plumb_unpack(type, bits);
  if (u.kind == PLUMB_IS_NAN) {
    unsigned fraction_bits = plumb_dtype_table[type].fraction_bits;
    unsigned low = type == PLUMB_TF32 ? 13 : 0;
    bool quiet =
        type == PLUMB_E4M3 || type == PLUMB_UE8M0 || (bits >> (fraction_bits - 1 + low) & 1);
    return quiet ? 1 : 0;
  }
  if (u.kind == PLUMB_INFINITE) return u.negative ? 2 : 9;
  if (u.kind == PLUMB_ZERO) return u.negative ? 5 : 6;
  bool subnormal = plumb_float_is_subnormal(type, bits);
  return u.negative ? (subnormal ? 4 : 3) : (subnormal ? 7 : 8);
}

bool plumb_alu_classify(const lanes *x) {
  plumb_dtype type = (plumb_dtype)x->inst->type2;
  if (!plumb_dtype_is_float(type)) return false;
  unsigned bytes = plumb_dtype_bytes(type);
  uint8_t *r = x->results[0];
  bool flush = (x->inst->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN)) != 0;
  for (size_t l = x->lo; l < x->hi; l++) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)x->operands[0] + l * bytes, bytes);
    if (flush && plumb_float_is_subnormal(type, bits)) bits &= plumb_float_sign_bit(type);
    r[l] = (uint64_t)x->inst->imm >> class_of(type, bits) & 1;
  }
  return true;
}

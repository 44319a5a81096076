/* The slow second implementation: values as MPFR numbers, rounded by scaling to the
 * type's quantum and taking MPFR's integer rounding. Shares nothing with the ALU. */
#ifndef PLUMB_TESTS_NUMERICS_ORACLE_H
#define PLUMB_TESTS_NUMERICS_ORACLE_H

#define MPFR_USE_INTMAX_T
#include <stdint.h>

#include <mpfr.h>
#include <string.h>

#include "targets/cpu/alu.h"
#include "tests/unit/check.h"

static inline int oracle_integer(mpfr_t r, const mpfr_t x, plumb_round round) {
  switch (round) {
    case PLUMB_RN:
      return mpfr_rint(r, x, MPFR_RNDN);
    case PLUMB_RZ:
      return mpfr_trunc(r, x);
    case PLUMB_RM:
      return mpfr_floor(r, x);
    case PLUMB_RP:
      return mpfr_ceil(r, x);
    default:
      return mpfr_round(r, x);
  }
}

/* A number that is kept between calls: making one costs more than using it. */
#define oracle_scratch(name, precision) \
  static mpfr_t name; \
  if (!name->_mpfr_d) mpfr_init2(name, 64); \
  mpfr_set_prec(name, precision)

static inline bool oracle_has_infinity(plumb_dtype t) {
  return t == PLUMB_F16 || t == PLUMB_BF16 || t == PLUMB_F32 || t == PLUMB_F64 || t == PLUMB_TF32 ||
         t == PLUMB_E5M2;
}

/* Canonical NaNs, and what fp4 and fp6 give for NaN (PTX ISA 9.0, 9.7.9.21). */
static inline uint64_t oracle_nan(plumb_dtype t) {
  switch (t) {
    case PLUMB_F64:
      return 0x7ff8000000000000ull;
    case PLUMB_F32:
    case PLUMB_TF32:
      return 0x7fffffff;
    case PLUMB_F16:
    case PLUMB_BF16:
      return 0x7fff;
    case PLUMB_UE8M0:
      return 0xff;
    case PLUMB_E2M1:
      return 0x7;
    case PLUMB_E2M3:
    case PLUMB_E3M2:
      return 0x1f;
    default:
      return 0x7f;
  }
}

static inline uint64_t oracle_ue8m0(const mpfr_t x, plumb_round round, bool satfinite) {
  if (mpfr_nan_p(x)) return 0xff;
  if (mpfr_zero_p(x)) return 0;
  if (mpfr_inf_p(x)) return satfinite ? 0xfe : 0xff;
  long e = mpfr_get_exp(x) - 1;
  oracle_scratch(m, mpfr_get_prec(x));
  mpfr_abs(m, x, MPFR_RNDN);
  mpfr_mul_2si(m, m, -e, MPFR_RNDN); /* in [1, 2) */
  long code = e + 127;
  int half = mpfr_cmp_d(m, 1.5);
  bool up = (round == PLUMB_RP && mpfr_cmp_ui(m, 1) > 0) ||
            (round == PLUMB_RN && (half > 0 || (half == 0 && (code & 1)))) ||
            (round == PLUMB_RNA && half >= 0);
  if (code < 0) return 0;
  code += up;
  return code <= 254 ? (uint64_t)code : satfinite ? 0xfe : 0xff;
}

static inline uint64_t oracle_overflow(plumb_dtype t, bool negative, plumb_round round,
                                       bool satfinite, uint64_t largest) {
  if (satfinite || (!oracle_has_infinity(t) && t != PLUMB_E4M3)) return largest;
  if (t == PLUMB_E4M3) return 0x7f;
  bool away = round == PLUMB_RN || round == PLUMB_RNA || round == (negative ? PLUMB_RM : PLUMB_RP);
  return away ? largest + 1 : largest;
}

/* The bits of x (exact, or with a sticky last bit) rounded once to type t. */
static inline uint64_t oracle_pack(plumb_dtype t, const mpfr_t x, plumb_round round,
                                   bool satfinite) {
  const plumb_dtype_info *info = &plumb_dtype_table[t];
  long f = info->fraction_bits, bias = (1l << (info->exponent_bits - 1)) - 1;
  unsigned low = t == PLUMB_TF32 ? 13 : 0;
  if (t == PLUMB_UE8M0) return oracle_ue8m0(x, round, satfinite);
  if (mpfr_nan_p(x)) return oracle_nan(t);
  bool negative = mpfr_signbit(x) != 0;
  uint64_t sign = negative ? 1ull << (f + info->exponent_bits) : 0;
  uint64_t top = (1ull << info->exponent_bits) - 1, largest = (top << f) | ((1ull << f) - 1);
  if (oracle_has_infinity(t)) largest = (top << f) - 1;
  if (t == PLUMB_E4M3) largest = 0x7e;
  uint64_t r;
  if (mpfr_zero_p(x)) {
    r = 0;
  } else if (mpfr_inf_p(x)) {
    r = oracle_overflow(t, negative, negative ? PLUMB_RM : PLUMB_RP, satfinite, largest);
  } else {
    long e = mpfr_get_exp(x) - 1;
    if (e < 1 - bias) e = 1 - bias;
    oracle_scratch(k, mpfr_get_prec(x) + 2);
    mpfr_mul_2si(k, x, f - e, MPFR_RNDN);
    oracle_integer(k, k, round);
    mpfr_abs(k, k, MPFR_RNDN);
    bool beyond = e > bias + 1;
    r = beyond ? largest + 1 : mpfr_get_uj(k, MPFR_RNDN) + ((uint64_t)(e + bias - 1) << f);
    if (r > largest) r = oracle_overflow(t, negative, round, satfinite, largest);
  }
  if (t == PLUMB_E4M3 && r == 0x7f) return r;
  return (sign | r) << low;
}

/* Clamped integer, NaN as PTX says (ptx.md 1). */
static inline uint64_t oracle_to_int(plumb_dtype to, plumb_dtype from, const mpfr_t x,
                                     plumb_round round, bool is_signed) {
  unsigned width = plumb_dtype_table[to].bits;
  uint64_t mask = width == 64 ? UINT64_MAX : (1ull << width) - 1;
  if (mpfr_nan_p(x)) return from == PLUMB_F64 || width == 64 ? 1ull << (width - 1) : 0;
  oracle_scratch(k, 128);
  oracle_scratch(low, 128);
  oracle_scratch(high, 128);
  oracle_integer(k, x, round);
  mpfr_set_si_2exp(low, is_signed ? -1 : 0, width - 1, MPFR_RNDN);
  mpfr_set_ui_2exp(high, 1, is_signed ? width - 1 : width, MPFR_RNDN);
  mpfr_sub_ui(high, high, 1, MPFR_RNDN);
  if (mpfr_cmp(k, low) < 0) mpfr_set(k, low, MPFR_RNDN);
  if (mpfr_cmp(k, high) > 0) mpfr_set(k, high, MPFR_RNDN);
  uint64_t r = mpfr_sgn(k) < 0 ? (uint64_t)mpfr_get_sj(k, MPFR_RNDN) : mpfr_get_uj(k, MPFR_RNDN);
  return r & mask;
}

/* The value of an element; integers as is_signed says. */
static inline void oracle_unpack(mpfr_t x, plumb_dtype t, uint64_t bits, bool is_signed) {
  const plumb_dtype_info *info = &plumb_dtype_table[t];
  if (!info->is_float) {
    unsigned width = info->bits;
    bits = width == 64 ? bits : bits & ((1ull << width) - 1);
    if (is_signed && bits >> (width - 1) & 1)
      mpfr_set_sj(x, (int64_t)(width == 64 ? bits : bits | ~((1ull << width) - 1)), MPFR_RNDN);
    else
      mpfr_set_uj(x, bits, MPFR_RNDN);
    return;
  }
  mpfr_set_d(x, plumb_dtype_to_double(t, bits), MPFR_RNDN);
}

static inline void oracle_inst(plumb_inst *inst, plumb_op op, plumb_dtype type, int operands) {
  memset(inst, 0, sizeof *inst);
  inst->op = (uint16_t)op;
  inst->type = (uint8_t)type;
  inst->results = 1;
  inst->operands = (uint16_t)operands;
  inst->guard = PLUMB_NO_REG;
}

static inline uint64_t oracle_random(void) {
  static uint64_t state = 0x9e3779b97f4a7c15ull;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1dull;
}

static inline bool oracle_is_nan(plumb_dtype t, uint64_t bits) {
  double v = plumb_dtype_to_double(t, bits);
  return v != v;
}

#endif

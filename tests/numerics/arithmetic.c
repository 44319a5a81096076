/* add, sub, mul, fma, div, sqrt of every type in every rounding mode against MPFR:
 * edges crossed with edges, then random operands.
 * PLUMB_NUMERICS_LONG=1: a million of them for each. */
#include <stdlib.h>

#include "tests/numerics/oracle.h"

enum { MANY = 24 * 24 * 24 };
static uint8_t operand[3][MANY * 8], result[MANY * 8];

static void put(uint8_t *array, plumb_dtype t, size_t i, uint64_t bits) {
  memcpy(array + i * plumb_dtype_bytes(t), &bits, plumb_dtype_bytes(t));
}
static uint64_t get(const uint8_t *array, plumb_dtype t, size_t i) {
  uint64_t bits = 0;
  memcpy(&bits, array + i * plumb_dtype_bytes(t), plumb_dtype_bytes(t));
  return bits;
}

/* An inexact quotient or root of 300 bits gets a last bit that breaks false ties. */
static void sticky(mpfr_t x, int ternary) {
  if (ternary != 0 && mpfr_regular_p(x)) {
    mpfr_prec_round(x, mpfr_get_prec(x) + 8, MPFR_RNDN);
    if (mpfr_sgn(x) > 0)
      mpfr_nextabove(x);
    else
      mpfr_nextbelow(x);
  }
}

static bool exact_result(plumb_op op, plumb_round round, mpfr_t r, mpfr_t v[3]) {
  mpfr_rnd_t zero_sign = round == PLUMB_RM ? MPFR_RNDD : MPFR_RNDN;
  mpfr_set_prec(r, 6600);
  switch (op) {
    case PLUMB_OP_ADD:
      return mpfr_add(r, v[0], v[1], zero_sign) == 0;
    case PLUMB_OP_SUB:
      return mpfr_sub(r, v[0], v[1], zero_sign) == 0;
    case PLUMB_OP_MUL:
      return mpfr_mul(r, v[0], v[1], MPFR_RNDN) == 0;
    case PLUMB_OP_FMA:
      return mpfr_fma(r, v[0], v[1], v[2], zero_sign) == 0;
    case PLUMB_OP_DIV:
      mpfr_set_prec(r, 300);
      sticky(r, mpfr_div(r, v[0], v[1], MPFR_RNDZ));
      return true;
    default:
      mpfr_set_prec(r, 300);
      sticky(r, mpfr_sqrt(r, v[0], MPFR_RNDZ));
      return true;
  }
}

static int arity(plumb_op op) {
  return op == PLUMB_OP_SQRT ? 1 : op == PLUMB_OP_FMA ? 3 : 2;
}

static void compare(plumb_op op, plumb_dtype t, plumb_round round, size_t count) {
  plumb_inst inst;
  oracle_inst(&inst, op, t, arity(op));
  inst.round = (uint8_t)round;
  plumb_alu_execute(NULL, &inst, (void *[]){result},
                    (const void *[]){operand[0], operand[1], operand[2]}, 0, (uint32_t)count);
  mpfr_t v[3], r;
  mpfr_inits2(64, v[0], v[1], v[2], r, (mpfr_ptr)0);
  for (size_t i = 0; i < count; i++) {
    for (int k = 0; k < arity(op); k++) oracle_unpack(v[k], t, get(operand[k], t, i), false);
    bool exact = exact_result(op, round, r, v);
    uint64_t actual = get(result, t, i), wanted = oracle_pack(t, r, round, false);
    if (t == PLUMB_F64 && mpfr_nan_p(r)) wanted = actual = oracle_is_nan(t, actual);
    if (actual != wanted || !exact || i == 0)
      CHECK(exact && actual == wanted, "%s.%s.%s %llx %llx %llx gives %llx, not %llx",
            plumb_op_table[op].mnemonic, plumb_round_texts[round], plumb_dtype_table[t].text,
            (unsigned long long)get(operand[0], t, i), (unsigned long long)get(operand[1], t, i),
            (unsigned long long)get(operand[2], t, i), (unsigned long long)actual,
            (unsigned long long)wanted);
  }
  mpfr_clears(v[0], v[1], v[2], r, (mpfr_ptr)0);
}

/* Zeros, subnormal and normal ends, ones and their neighbours, infinities, NaN. */
static size_t edges(plumb_dtype t, uint64_t out[24]) {
  const plumb_dtype_info *info = &plumb_dtype_table[t];
  unsigned f = info->fraction_bits, low = t == PLUMB_TF32 ? 13 : 0;
  uint64_t one = ((1ull << (info->exponent_bits - 1)) - 1) << f;
  uint64_t top = ((1ull << info->exponent_bits) - 1) << f;
  uint64_t half_up = one + (1ull << (f / 2)) + 1;
  uint64_t values[] = {0,       1,       (1ull << f) - 1, 1ull << f, (1ull << f) + 1, one - 1, one,
                       one + 1, half_up, top - 1,         top,       top + 1};
  uint64_t sign = 1ull << (f + info->exponent_bits);
  size_t count = 0;
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    out[count++] = values[i] << low;
    out[count++] = (values[i] | sign) << low;
  }
  return count;
}

static void cross(plumb_op op, plumb_dtype t, plumb_round round, size_t step) {
  uint64_t values[24];
  size_t n = edges(t, values), count = 0, third = op == PLUMB_OP_FMA ? n : 1;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < (op == PLUMB_OP_SQRT ? 1 : n); j++)
      for (size_t k = (i * 7 + j) % step; k < third; k += step) {
        put(operand[0], t, count, values[i]);
        put(operand[1], t, count, values[j]);
        put(operand[2], t, count++, values[k]);
      }
  compare(op, t, round, count);
}

/* Exponents close together, so that sums and fmas round and cancel. */
static uint64_t near_one(plumb_dtype t, unsigned spread) {
  const plumb_dtype_info *info = &plumb_dtype_table[t];
  unsigned f = info->fraction_bits, low = t == PLUMB_TF32 ? 13 : 0;
  uint64_t bias = (1ull << (info->exponent_bits - 1)) - 1, r = oracle_random();
  uint64_t exponent = bias - spread / 2 + (oracle_random() >> 20) % (spread + 1);
  return ((r & ((1ull << f) - 1)) | exponent << f | (r >> 63) << (f + info->exponent_bits)) << low;
}

static void random_operands(plumb_op op, plumb_dtype t, plumb_round round, size_t count) {
  const plumb_dtype_info *info = &plumb_dtype_table[t];
  unsigned bits = 1u + info->exponent_bits + info->fraction_bits, low = t == PLUMB_TF32 ? 13 : 0;
  unsigned spread = info->exponent_bits <= 5 ? 6 : 2u * info->fraction_bits + 6;
  for (size_t i = 0; i < count; i++)
    for (int k = 0; k < 3; k++) {
      uint64_t word = (bits == 64 ? oracle_random() : oracle_random() & ((1ull << bits) - 1))
                      << low;
      if (i & 1) word = near_one(t, spread);
      if (k == 2 && i & 2) { /* c close to -a*b: cancellation */
        double a = plumb_dtype_to_double(t, get(operand[0], t, i));
        double b = plumb_dtype_to_double(t, get(operand[1], t, i));
        word = plumb_dtype_from_double(t, -a * b);
      }
      put(operand[k], t, i, word);
    }
  compare(op, t, round, count);
}

int main(void) {
  static const plumb_dtype types[] = {PLUMB_F16, PLUMB_BF16, PLUMB_F32, PLUMB_F64, PLUMB_TF32};
  static const plumb_op ops[] = {PLUMB_OP_ADD, PLUMB_OP_SUB, PLUMB_OP_MUL,
                                 PLUMB_OP_DIV, PLUMB_OP_FMA, PLUMB_OP_SQRT};
  size_t least = getenv("PLUMB_NUMERICS_LONG") ? 1000000 : 0;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
      for (int round = PLUMB_RN; round <= PLUMB_RP; round++) {
        cross(ops[o], types[t], (plumb_round)round, types[t] == PLUMB_F64 ? 11 : 5);
        size_t count = types[t] == PLUMB_F64 ? 1200 : 3000;
        for (size_t done = 0; done == 0 || done < least; done += count)
          random_operands(ops[o], types[t], (plumb_round)round, count);
      }
  return check_finish();
}

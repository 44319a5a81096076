/* The reference reading of matrix products against MPFR: sums of products in 5000 bits,
 * rounded once by the oracle. Edges and random operands, every type and rounding. */
#include "tests/numerics/oracle.h"

#include "targets/models/model.h"

enum { K = 8, ROUNDS = 1500 };

static uint64_t state = 1;
static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1dull;
}

static plumb_dtype dtype_of(plumb_mma_type t) {
  switch (t) {
    case PLUMB_MMA_F16:
      return PLUMB_F16;
    case PLUMB_MMA_BF16:
      return PLUMB_BF16;
    case PLUMB_MMA_TF32:
      return PLUMB_TF32;
    case PLUMB_MMA_E4M3:
      return PLUMB_E4M3;
    case PLUMB_MMA_E5M2:
      return PLUMB_E5M2;
    case PLUMB_MMA_F64:
      return PLUMB_F64;
    default:
      return PLUMB_F32;
  }
}

/* Random bits; exponents spread over everything, or close together; sometimes edges. */
static uint64_t element(plumb_mma_type t, unsigned style) {
  const plumb_mma_type_info *info = &plumb_mma_type_table[t];
  unsigned f = info->fraction_bits, e = info->exponent_bits;
  uint64_t sign = (next() & 1) << (f + e), fraction = next() & ((1ull << f) - 1);
  uint64_t top = (1ull << e) - 1, exponent = next() % (top + 1);
  if (style == 1) exponent = top / 2 + next() % 4;
  if (style == 2) exponent = next() % 3 ? 0 : 1; /* subnormals */
  if (style != 3 && exponent == top) exponent--;
  if (style == 4) exponent = top - 1 - next() % 2; /* overflow */
  if (style >= 3 && next() % 4 == 0) exponent = fraction = 0;
  if (style == 5) exponent = fraction = 0; /* zeros of both signs */
  uint64_t bits = sign | exponent << f | fraction;
  return t == PLUMB_MMA_TF32 ? bits << 13 : bits;
}

static void one(const plumb_product *p, unsigned style) {
  uint64_t a[K], b[K], c, d;
  static mpfr_t sum, x, y;
  if (!sum->_mpfr_d) mpfr_inits2(6600, sum, x, y, (mpfr_ptr)0);
  for (int i = 0; i < K; i++) {
    a[i] = element(p->a, style);
    b[i] = element(p->b, style);
    if (i % 2 && next() % 3 == 0) { /* cancels the one before */
      a[i] = a[i - 1] ^ 1ull << (plumb_mma_type_table[p->a].bits - 1);
      b[i] = b[i - 1];
    }
  }
  c = element(p->c, style);
  plumb_product_tile(p, 1, 1, K, a, b, &c, &d);
  mpfr_rnd_t zero = p->round == PLUMB_RM ? MPFR_RNDD : MPFR_RNDN;
  oracle_unpack(sum, dtype_of(p->c), c, false);
  for (int i = 0; i < K; i++) {
    oracle_unpack(x, dtype_of(p->a), a[i], false);
    oracle_unpack(y, dtype_of(p->b), b[i], false);
    mpfr_mul(x, x, y, MPFR_RNDN);
    mpfr_add(sum, sum, x, zero);
  }
  uint64_t expected = oracle_pack(dtype_of(p->d), sum, p->round, false);
  CHECK(d == expected, "%s.%s.%s.%s round %d style %u: 0x%llx, expected 0x%llx",
        plumb_mma_type_table[p->d].text, plumb_mma_type_table[p->a].text,
        plumb_mma_type_table[p->b].text, plumb_mma_type_table[p->c].text, (int)p->round, style,
        (unsigned long long)d, (unsigned long long)expected);
}

int main(void) {
  static const plumb_mma_type rows[][4] = {
      /* a, b, c, d */
      {PLUMB_MMA_F16, PLUMB_MMA_F16, PLUMB_MMA_F32, PLUMB_MMA_F32},
      {PLUMB_MMA_F16, PLUMB_MMA_F16, PLUMB_MMA_F16, PLUMB_MMA_F16},
      {PLUMB_MMA_F16, PLUMB_MMA_F16, PLUMB_MMA_F16, PLUMB_MMA_F32},
      {PLUMB_MMA_F16, PLUMB_MMA_F16, PLUMB_MMA_F32, PLUMB_MMA_F16},
      {PLUMB_MMA_BF16, PLUMB_MMA_BF16, PLUMB_MMA_F32, PLUMB_MMA_F32},
      {PLUMB_MMA_TF32, PLUMB_MMA_TF32, PLUMB_MMA_F32, PLUMB_MMA_F32},
      {PLUMB_MMA_E4M3, PLUMB_MMA_E4M3, PLUMB_MMA_F32, PLUMB_MMA_F32},
      {PLUMB_MMA_E4M3, PLUMB_MMA_E5M2, PLUMB_MMA_F16, PLUMB_MMA_F16},
      {PLUMB_MMA_E5M2, PLUMB_MMA_E5M2, PLUMB_MMA_F32, PLUMB_MMA_F32},
      {PLUMB_MMA_F64, PLUMB_MMA_F64, PLUMB_MMA_F64, PLUMB_MMA_F64},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    for (int round = PLUMB_RN; round <= (rows[r][0] == PLUMB_MMA_F64 ? PLUMB_RP : PLUMB_RN);
         round++) {
      plumb_product p = {.a = rows[r][0],
                         .b = rows[r][1],
                         .c = rows[r][2],
                         .d = rows[r][3],
                         .round = (plumb_round)round};
      for (unsigned style = 0; style < 6; style++)
        for (int i = 0; i < ROUNDS; i++) one(&p, style);
    }
  return check_finish();
}

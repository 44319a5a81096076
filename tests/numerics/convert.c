/* Every conversion against MPFR: 8- and 16-bit sources exhaustively to nearest, other
 * modes in steps; wider sources at edges and at random.
 * PLUMB_NUMERICS_LONG=1: every narrow source in every mode, a million wide ones. */
#include <stdlib.h>

#include "tests/numerics/oracle.h"

enum { MANY = 65536 };
static uint8_t source[MANY * 8], result[MANY * 8];

static const plumb_dtype float_types[] = {PLUMB_F16,  PLUMB_BF16, PLUMB_F32,  PLUMB_F64,
                                          PLUMB_TF32, PLUMB_E4M3, PLUMB_E5M2, PLUMB_E2M1,
                                          PLUMB_E2M3, PLUMB_E3M2, PLUMB_UE8M0};
static const plumb_dtype int_types[] = {PLUMB_I8, PLUMB_I16, PLUMB_I32, PLUMB_I64};

static uint64_t get(const uint8_t *array, plumb_dtype t, size_t i) {
  uint64_t bits = 0;
  memcpy(&bits, array + i * plumb_dtype_bytes(t), plumb_dtype_bytes(t));
  return bits;
}

static void put(plumb_dtype t, size_t i, uint64_t bits) {
  memcpy(source + i * plumb_dtype_bytes(t), &bits, plumb_dtype_bytes(t));
}

static void compare(plumb_dtype to, plumb_dtype from, plumb_round round, uint32_t flags,
                    size_t count) {
  plumb_inst inst;
  oracle_inst(&inst, PLUMB_OP_CVT, to, 1);
  inst.type2 = (uint8_t)from;
  inst.round = (uint8_t)round;
  inst.flags = flags;
  plumb_alu_execute(NULL, &inst, (void *[]){result}, (const void *[]){source}, 0, (uint32_t)count);
  mpfr_t x;
  mpfr_init2(x, 64);
  for (size_t i = 0; i < count; i++) {
    uint64_t bits = get(source, from, i), actual = get(result, to, i), wanted;
    oracle_unpack(x, from, bits, (flags & PLUMB_FLAG_SRC_SIGNED) != 0);
    if (plumb_dtype_is_float(to))
      wanted = oracle_pack(to, x, round, (flags & PLUMB_FLAG_SATFINITE) != 0);
    else
      wanted = oracle_to_int(to, from, x, round, (flags & PLUMB_FLAG_DST_SIGNED) != 0);
    if (to == PLUMB_F64 && mpfr_nan_p(x)) wanted = actual = oracle_is_nan(to, actual);
    if (actual != wanted || i == 0)
      CHECK(actual == wanted, "%s to %s round %s flags %x: %llx gives %llx, not %llx",
            plumb_dtype_table[from].text, plumb_dtype_table[to].text, plumb_round_texts[round],
            flags, (unsigned long long)bits, (unsigned long long)actual,
            (unsigned long long)wanted);
  }
  mpfr_clear(x);
}

/* All encodings of a narrow type, each `step`-th of them. */
static size_t fill_all(plumb_dtype t, size_t step) {
  size_t count = 0;
  for (uint64_t bits = 0; bits < 1ull << plumb_dtype_table[t].bits; bits += step)
    put(t, count++, bits);
  return count;
}

/* Edges of every target: the exact boundaries, their neighbours, ties; then random. */
static size_t fill_wide(plumb_dtype t, size_t random) {
  size_t count = 0;
  for (int e = -160; e <= 140; e++)
    for (int k = 0; k < 12; k++) {
      double steps[12] = {1,           1.5,         1.25,        1.75,
                          1.0625,      1.9375,      1 + 0x1p-10, 1 + 0x1p-11,
                          2 - 0x1p-11, 2 - 0x1p-24, 1 + 0x1p-23, 1 + 0x1p-24};
      double v = __builtin_ldexp(steps[k], e);
      put(t, count++, plumb_dtype_from_double(t, k & 1 ? -v : v));
    }
  for (size_t i = 0; i < random; i++) {
    uint64_t bits = oracle_random();
    if (t == PLUMB_TF32) bits &= 0xffffe000u;
    put(t, count++, bits);
  }
  uint64_t special[] = {0, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x80000001, 0x7f7fffff};
  for (size_t i = 0; t == PLUMB_F32 && i < 7; i++) put(t, count++, special[i]);
  return count;
}

static size_t fill_int(plumb_dtype t, size_t random) {
  size_t count = 0;
  for (unsigned b = 0; b < plumb_dtype_table[t].bits; b++)
    for (int d = -3; d <= 3; d++) put(t, count++, (1ull << b) + (unsigned long long)(long long)d);
  for (size_t i = 0; i < random; i++) put(t, count++, oracle_random() >> (oracle_random() & 63));
  return count;
}

static void to_every_type(plumb_dtype from, size_t count, plumb_round round, uint32_t flags) {
  for (size_t i = 0; i < sizeof float_types / sizeof *float_types; i++) {
    if (float_types[i] == from) continue;
    compare(float_types[i], from, round, flags, count);
    if (plumb_dtype_table[float_types[i]].bits <= 16)
      compare(float_types[i], from, round, flags | PLUMB_FLAG_SATFINITE, count);
  }
  for (size_t i = 0; plumb_dtype_is_float(from) && i < 4; i++) {
    compare(int_types[i], from, round, flags | PLUMB_FLAG_CLAMP, count);
    compare(int_types[i], from, round, flags | PLUMB_FLAG_CLAMP | PLUMB_FLAG_DST_SIGNED, count);
  }
}

int main(void) {
  bool all_modes = getenv("PLUMB_NUMERICS_LONG") != NULL;
  size_t repeats = all_modes ? 1000000 / 1500 : 1;
  for (size_t i = 0; i < sizeof float_types / sizeof *float_types; i++) {
    plumb_dtype from = float_types[i];
    bool small = plumb_dtype_table[from].bits <= 16;
    for (int round = PLUMB_RN; round <= PLUMB_RNA; round++) {
      size_t step = plumb_dtype_table[from].bits <= 8 ? 1 : round == PLUMB_RN ? 3 : 61;
      if (all_modes) step = 1;
      for (size_t k = 0; k < (small ? 1 : repeats); k++) {
        size_t count = small ? fill_all(from, step) : fill_wide(from, 1500);
        to_every_type(from, count, (plumb_round)round, 0);
      }
    }
  }
  /* The pairs with vector loops, all of them. */
  size_t all = fill_all(PLUMB_F16, 1);
  compare(PLUMB_F32, PLUMB_F16, PLUMB_RN, 0, all);
  compare(PLUMB_F64, PLUMB_F16, PLUMB_RN, 0, all);
  compare(PLUMB_E4M3, PLUMB_F16, PLUMB_RN, PLUMB_FLAG_SATFINITE, all);
  compare(PLUMB_E5M2, PLUMB_F16, PLUMB_RN, PLUMB_FLAG_SATFINITE, all);
  all = fill_all(PLUMB_BF16, 1);
  compare(PLUMB_F32, PLUMB_BF16, PLUMB_RN, 0, all);
  compare(PLUMB_F16, PLUMB_BF16, PLUMB_RN, 0, all);
  for (size_t i = 0; i < MANY; i++) /* both sides of every f16 and bf16 tie */
    put(PLUMB_F32, i, (uint32_t)(i * 65537u + (oracle_random() & 3)) ^ (i & 1 ? 0x1000u : 0x8000u));
  compare(PLUMB_F16, PLUMB_F32, PLUMB_RN, 0, MANY);
  compare(PLUMB_BF16, PLUMB_F32, PLUMB_RN, 0, MANY);
  for (size_t i = 0; i < 4; i++)
    for (int round = PLUMB_RN; round <= PLUMB_RNA; round++) {
      for (size_t k = 0; k < repeats; k++) {
        size_t count = fill_int(int_types[i], 800);
        to_every_type(int_types[i], count, (plumb_round)round, 0);
        to_every_type(int_types[i], count, (plumb_round)round, PLUMB_FLAG_SRC_SIGNED);
      }
    }
  return check_finish();
}

/* One dot product of floats: as a matrix unit truncates it, and exact. */
#include "targets/models/dot.h"

#include <math.h>
#include <string.h>

#include "targets/models/round.h"

uint64_t plumb_dot_special(plumb_mma_type d, plumb_elements a, plumb_elements b, unsigned k,
                           const plumb_element *c) {
  bool nan = c->flags & PLUMB_ELEMENT_NAN, sign[2] = {false, false};
  if (c->flags & PLUMB_ELEMENT_INFINITE) sign[(c->flags & PLUMB_ELEMENT_NEGATIVE) != 0] = true;
  for (unsigned i = 0; i < k; i++) {
    unsigned either = a.flags[i] | b.flags[i];
    if (either & PLUMB_ELEMENT_NAN) nan = true;
    if (!(either & PLUMB_ELEMENT_INFINITE)) continue;
    bool zero = (!(a.flags[i] & PLUMB_ELEMENT_INFINITE) && !a.significand[i]) ||
                (!(b.flags[i] & PLUMB_ELEMENT_INFINITE) && !b.significand[i]);
    if (zero) nan = true;
    sign[((a.flags[i] ^ b.flags[i]) & PLUMB_ELEMENT_NEGATIVE) != 0] = true;
  }
  if (nan || (sign[0] && sign[1])) return plumb_result_nan(d);
  const plumb_mma_type_info *info = &plumb_mma_type_table[d];
  uint64_t infinity = ((1ull << info->exponent_bits) - 1) << info->fraction_bits;
  return infinity | (uint64_t)sign[1] << (info->fraction_bits + info->exponent_bits);
}

/* --- a matrix unit --- */

/* Toward zero at weight 2^0 of value * 2^shift. */
static int64_t truncate_at(int64_t value, int shift) {
  if (shift >= 0) return (int64_t)((uint64_t)value << shift);
  int64_t sign = value >> 63;
  int right = shift < -63 ? 63 : -shift;
  return ((((value ^ sign) - sign) >> right) ^ sign) - sign;
}

/* One block: numerics, section 1, steps 1 to 5. */
static uint64_t block(const plumb_unit *unit, const int32_t *sa, const int32_t *ea,
                      const int32_t *sb, const int32_t *eb, unsigned count, int fraction,
                      const plumb_element *c, int c_fraction) {
  int top = c->exponent > unit->floor ? c->exponent : unit->floor;
  for (unsigned i = 0; i < count; i++) {
    int e = ea[i] + eb[i];
    top = e > top ? e : top;
  }
  if (top <= PLUMB_ZERO_EXPONENT / 2) return 0; /* no floor, and all terms are zero */
  int64_t sum = truncate_at(c->significand, c->exponent - top + unit->fraction_bits - c_fraction);
  int base = unit->fraction_bits - fraction - top;
  for (unsigned i = 0; i < count; i++)
    sum += truncate_at((int64_t)sa[i] * sb[i], ea[i] + eb[i] + base);
  bool half = unit->rounding == PLUMB_UNIT_RNE_F16;
  uint64_t magnitude = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
  return plumb_round_sum(half ? PLUMB_MMA_F16 : PLUMB_MMA_F32,
                         half                                    ? 10
                         : unit->rounding == PLUMB_UNIT_RZ_E8M13 ? 13
                                                                 : 23,
                         half ? PLUMB_RN : PLUMB_RZ, sum < 0, magnitude, top - unit->fraction_bits,
                         false, true);
}

static float f32_of(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return value;
}

/* x + y to nearest even: f32 by the host, f16 through the exact sum in double. */
static uint64_t add(plumb_mma_type type, uint64_t x, uint64_t y) {
  if (type == PLUMB_MMA_F16) {
    double sum = plumb_dtype_to_double(PLUMB_F16, x) + plumb_dtype_to_double(PLUMB_F16, y);
    return isnan(sum) ? plumb_result_nan(type) : plumb_dtype_from_double(PLUMB_F16, sum);
  }
  float sum = f32_of(x) + f32_of(y);
  uint32_t bits;
  memcpy(&bits, &sum, sizeof bits);
  return isnan(sum) ? plumb_result_nan(type) : bits;
}

/* A block on an accumulator that may have overflowed in the block before. */
static uint64_t step(const plumb_unit *unit, plumb_mma_type d, const int32_t *sa, const int32_t *ea,
                     const int32_t *sb, const int32_t *eb, unsigned count, int fraction,
                     plumb_mma_type acc_type, uint64_t acc) {
  plumb_element c = plumb_element_of(acc_type, acc);
  if (c.flags & (PLUMB_ELEMENT_INFINITE | PLUMB_ELEMENT_NAN)) {
    plumb_elements none = {NULL, NULL, NULL, false};
    return plumb_dot_special(d, none, none, 0, &c);
  }
  return block(unit, sa, ea, sb, eb, count, fraction, &c,
               plumb_mma_type_table[acc_type].fraction_bits);
}

static uint64_t chain(const plumb_unit *unit, plumb_mma_type d, plumb_elements a, plumb_elements b,
                      unsigned k, int fraction, plumb_mma_type c_type, uint64_t c) {
  plumb_mma_type type = c_type;
  for (unsigned i = 0; i < k; i += unit->terms, type = d)
    c = step(unit, d, a.significand + i, a.exponent + i, b.significand + i, b.exponent + i,
             k - i < unit->terms ? k - i : unit->terms, fraction, type, c);
  return c;
}

/* fp8 by f16: a register of four becomes two of two, so k mod 4 in {0, 1} comes first. */
static uint64_t apart(const plumb_unit *unit, plumb_mma_type d, plumb_elements a, plumb_elements b,
                      unsigned k, int fraction, uint64_t c) {
  int32_t sa[256], ea[256], sb[256], eb[256];
  unsigned count = 0;
  for (unsigned pass = 0; pass < 2; pass++)
    for (unsigned i = 0; i < k; i++) {
      if ((i >> 1 & 1) != pass) continue;
      sa[count] = a.significand[i], ea[count] = a.exponent[i];
      sb[count] = b.significand[i], eb[count++] = b.exponent[i];
    }
  uint64_t sum = 0;
  for (unsigned i = 0; i < k; i += unit->terms)
    sum = step(unit, d, sa + i, ea + i, sb + i, eb + i, k - i < unit->terms ? k - i : unit->terms,
               fraction, d, sum);
  return add(d, sum, c);
}

uint64_t plumb_dot_unit(const plumb_unit *unit, plumb_mma_type d, plumb_elements a,
                        plumb_elements b, unsigned k, int fraction, plumb_mma_type c_type,
                        uint64_t c) {
  return unit->scheme == PLUMB_UNIT_APART ? apart(unit, d, a, b, k, fraction, c)
                                          : chain(unit, d, a, b, k, fraction, c_type, c);
}

/* --- exact --- */

/* An accumulator of every product of doubles: bit 0 weighs 2^-2176. */
enum { WIDE_WORDS = 68, WIDE_BASE = 2176 };
typedef struct wide {
  uint64_t sums[2][WIDE_WORDS]; /* positive and negative terms apart */
} wide;

static void wide_add(wide *w, bool negative, plumb_u128 magnitude, int exponent) {
  if (!magnitude) return;
  unsigned at = (unsigned)(exponent + WIDE_BASE), word = at / 64, shift = at % 64;
  uint64_t parts[3] = {(uint64_t)(magnitude << shift), (uint64_t)((magnitude << shift) >> 64),
                       shift ? (uint64_t)(magnitude >> (128 - shift)) : 0};
  uint64_t *sum = w->sums[negative];
  unsigned carry = 0;
  for (unsigned i = 0; word < WIDE_WORDS && (i < 3 || carry); i++, word++) {
    plumb_u128 s = (plumb_u128)sum[word] + (i < 3 ? parts[i] : 0) + carry;
    sum[word] = (uint64_t)s;
    carry = (unsigned)(s >> 64);
  }
}

/* Rounds the difference of the two sums. */
static uint64_t wide_round(wide *w, plumb_mma_type d, plumb_round round, bool *out_zero) {
  int word = WIDE_WORDS - 1;
  while (word >= 0 && w->sums[0][word] == w->sums[1][word]) word--;
  *out_zero = word < 0;
  if (word < 0) return 0;
  bool negative = w->sums[1][word] > w->sums[0][word];
  uint64_t *more = w->sums[negative], *less = w->sums[!negative];
  unsigned borrow = 0;
  for (int i = 0; i <= word; i++) {
    plumb_u128 difference = (plumb_u128)more[i] - less[i] - borrow;
    more[i] = (uint64_t)difference;
    borrow = (unsigned)(difference >> 64) & 1;
  }
  while (!more[word]) word--;
  /* The three highest words hold at least 129 bits; the head takes the first 128. */
  int lead = __builtin_clzll(more[word]);
  uint64_t high = more[word], middle = word > 0 ? more[word - 1] : 0,
           low = word > 1 ? more[word - 2] : 0;
  plumb_u128 head = (plumb_u128)high << 64 | middle;
  if (lead) head = head << lead | low >> (64 - lead);
  bool sticky = lead ? low << lead != 0 : low != 0;
  for (int i = word - 3; i >= 0 && !sticky; i--) sticky = more[i] != 0;
  return plumb_round_sum(d, plumb_mma_type_table[d].fraction_bits, round, negative, head,
                         (word - 1) * 64 - lead - WIDE_BASE, sticky, false);
}

static plumb_u128 magnitude_of(int64_t v) {
  return v < 0 ? (plumb_u128)(uint64_t)-v : (plumb_u128)v;
}

/* A zero sum: -0 if every term is -0, or if it rounds toward minus infinity and is not a sum
 * of +0 alone (IEEE 754-2019, 6.3). */
static uint64_t zero_sum(plumb_mma_type d, plumb_round round, bool some_plus, bool some_minus) {
  const plumb_mma_type_info *info = &plumb_mma_type_table[d];
  bool negative = some_minus && (!some_plus || round == PLUMB_RM);
  return (uint64_t)negative << (info->fraction_bits + info->exponent_bits);
}

static int top_of(int64_t significand) {
  return 63 - __builtin_clzll((uint64_t)(significand < 0 ? -significand : significand) | 1);
}

uint64_t plumb_dot_exact(plumb_mma_type d, plumb_round round, plumb_elements a, plumb_elements b,
                         unsigned k, int fraction, plumb_mma_type c_type, const plumb_element *c) {
  int c_fraction = plumb_mma_type_table[c_type].fraction_bits;
  unsigned kept = plumb_mma_type_table[d].fraction_bits;
  /* The span of bits that all terms together take. */
  int low = INT32_MAX, high = PLUMB_ZERO_EXPONENT;
  for (unsigned i = 0; i < k; i++) {
    int e = a.exponent[i] + b.exponent[i];
    if (e <= PLUMB_ZERO_EXPONENT / 2) continue;
    low = e - fraction < low ? e - fraction : low;
    high = e + 2 > high ? e + 2 : high;
  }
  if (c->significand) {
    int e = c->exponent - c_fraction;
    low = e < low ? e : low;
    high = e + top_of(c->significand) + 1 > high ? e + top_of(c->significand) + 1 : high;
  }
  bool zero = high == PLUMB_ZERO_EXPONENT;
  int span = zero ? 0 : high - low + 9; /* up to 257 terms */
  uint64_t result = 0;
  if (zero) {
    /* every term is a zero */
  } else if (span <= 62) {
    int64_t sum = c->significand ? c->significand * (1ll << (c->exponent - c_fraction - low)) : 0;
    for (unsigned i = 0; i < k; i++) {
      int shift = a.exponent[i] + b.exponent[i] - fraction - low;
      int64_t product = (int64_t)a.significand[i] * b.significand[i];
      sum += (int64_t)((uint64_t)product << (shift & 63)); /* a zero's shift is of no account */
    }
    zero = sum == 0;
    result = plumb_round_sum(d, kept, round, sum < 0, magnitude_of(sum), low, false, false);
  } else if (span <= 126) {
    __int128 sum = c->significand
                       ? (__int128)((plumb_u128)c->significand << (c->exponent - c_fraction - low))
                       : 0;
    for (unsigned i = 0; i < k; i++) {
      int shift = a.exponent[i] + b.exponent[i] - fraction - low;
      __int128 product = (__int128)a.significand[i] * b.significand[i];
      sum += (__int128)((plumb_u128)product << (shift & 127));
    }
    zero = sum == 0;
    result = plumb_round_sum(d, kept, round, sum < 0, sum < 0 ? -(plumb_u128)sum : (plumb_u128)sum,
                             low, false, false);
  } else {
    wide w;
    memset(&w, 0, sizeof w);
    wide_add(&w, c->significand < 0, magnitude_of(c->significand), c->exponent - c_fraction);
    for (unsigned i = 0; i < k; i++) {
      int64_t product = (int64_t)a.significand[i] * b.significand[i];
      wide_add(&w, product < 0, magnitude_of(product), a.exponent[i] + b.exponent[i] - fraction);
    }
    result = wide_round(&w, d, round, &zero);
  }
  if (!zero) return result;
  bool some[2] = {false, false};
  some[(c->flags & PLUMB_ELEMENT_NEGATIVE) != 0] = true;
  for (unsigned i = 0; i < k; i++)
    some[((a.flags[i] ^ b.flags[i]) & PLUMB_ELEMENT_NEGATIVE) != 0] = true;
  return zero_sum(d, round, some[0], some[1]);
}

uint64_t plumb_dot_exact_f64(plumb_round round, const uint64_t *a, const uint64_t *b, unsigned k,
                             uint64_t c) {
  wide w;
  memset(&w, 0, sizeof w);
  plumb_element e = plumb_element_of(PLUMB_MMA_F64, c);
  bool nan = e.flags & PLUMB_ELEMENT_NAN, infinite[2] = {false, false}, some[2] = {false, false};
  bool minus = e.flags & PLUMB_ELEMENT_NEGATIVE;
  some[minus] = true;
  if (e.flags & PLUMB_ELEMENT_INFINITE) infinite[minus] = true;
  wide_add(&w, minus, magnitude_of(e.significand), e.exponent - 52);
  for (unsigned i = 0; i < k; i++) {
    plumb_element x = plumb_element_of(PLUMB_MMA_F64, a[i]);
    plumb_element y = plumb_element_of(PLUMB_MMA_F64, b[i]);
    unsigned either = x.flags | y.flags;
    minus = (x.flags ^ y.flags) & PLUMB_ELEMENT_NEGATIVE;
    some[minus] = true;
    if (either & PLUMB_ELEMENT_NAN) nan = true;
    if (either & PLUMB_ELEMENT_INFINITE) {
      infinite[minus] = true;
      if ((!(x.flags & PLUMB_ELEMENT_INFINITE) && !x.significand) ||
          (!(y.flags & PLUMB_ELEMENT_INFINITE) && !y.significand))
        nan = true;
    }
    if (!x.significand || !y.significand) continue;
    wide_add(&w, minus, magnitude_of(x.significand) * magnitude_of(y.significand),
             x.exponent + y.exponent - 104);
  }
  if (nan || (infinite[0] && infinite[1])) return plumb_result_nan(PLUMB_MMA_F64);
  if (infinite[0] || infinite[1]) return infinite[1] ? 0xfff0000000000000u : 0x7ff0000000000000u;
  bool zero;
  uint64_t result = wide_round(&w, PLUMB_MMA_F64, round, &zero);
  return zero ? zero_sum(PLUMB_MMA_F64, round, some[0], some[1]) : result;
}

/* Exact products of whole tiles in double arithmetic, where it is exact: if every term is a
 * multiple of 2^low and no sum of terms reaches 2^high, and high - low is at most 53, then
 * no partial sum is rounded, in any order. */
#include <stdlib.h>
#include <string.h>

#include "ir/base/clones.h"
#include "targets/models/dot.h"

/* Magnitudes are multiples of 2^low and below 2^high; high is PLUMB_ZERO_EXPONENT where all
 * are zero. */
typedef struct range {
  int low, high;
} range;

/* What a type's bits mean. */
typedef struct layout {
  unsigned fraction_bits, unused_bits; /* unused: low bits that are ignored */
  uint32_t mask, most;                 /* of the magnitude; the largest finite one */
  unsigned sign_bit;
  int bias;
  float scale; /* of a magnitude's bits read as those of an f32 */
} layout;

static layout layout_of(plumb_mma_type type) {
  const plumb_mma_type_info *t = &plumb_mma_type_table[type];
  unsigned magnitude_bits = t->exponent_bits + (unsigned)t->fraction_bits;
  uint32_t mask = (1u << magnitude_bits) - 1;
  uint32_t infinity = mask >> t->fraction_bits << t->fraction_bits;
  int bias = (1 << (t->exponent_bits - 1)) - 1;
  uint32_t scale_bits = (uint32_t)(2 * 127 - bias) << 23; /* 2^(127 - bias) */
  layout l = {.fraction_bits = t->fraction_bits,
              .unused_bits = t->bits - 1 - magnitude_bits,
              .mask = mask,
              .most = type == PLUMB_MMA_E4M3 ? mask - 1 : infinity - 1,
              .sign_bit = t->bits - 1u,
              .bias = bias};
  memcpy(&l.scale, &scale_bits, sizeof l.scale);
  return l;
}

/* Words of the type as doubles. Every type is a part of f32: the exponent field takes f32's
 * place and a power of two makes up for the other bias, subnormals included. False if one is
 * infinite or NaN. */
PLUMB_CLONES
static bool to_doubles(const layout *l, const uint64_t *words, size_t count, double *out,
                       range *out_range) {
  const unsigned fraction = l->fraction_bits, unused = l->unused_bits, sign_bit = l->sign_bit;
  const uint32_t mask = l->mask;
  const float scale = l->scale;
  uint32_t least = UINT32_MAX, most = 0; /* least: of what is not zero, less 1 */
  for (size_t i = 0; i < count; i++) {
    uint32_t word = (uint32_t)words[i], magnitude = word >> unused & mask;
    uint32_t bits = magnitude << (23 - fraction) | (word >> sign_bit) << 31;
    least = magnitude - 1 < least ? magnitude - 1 : least;
    most = magnitude > most ? magnitude : most;
    float value;
    memcpy(&value, &bits, sizeof value);
    out[i] = (double)(value * scale);
  }
  *out_range = (range){0, PLUMB_ZERO_EXPONENT};
  if (!most) return true;
  uint32_t low = (least + 1) >> fraction, high = most >> fraction;
  if (!low) low = 1; /* subnormals have the least exponent */
  if (!high) high = 1;
  *out_range = (range){(int)low - l->bias - (int)fraction, (int)high - l->bias + 1};
  return most <= l->most;
}

static unsigned ceil_log2(unsigned n) {
  return n > 1 ? 32u - (unsigned)__builtin_clz(n - 1) : 0;
}

/* Whether every sum of k products and one of c is exact. */
static bool is_exact(range a, range b, range c, unsigned k) {
  range all = {INT32_MAX, PLUMB_ZERO_EXPONENT};
  if (a.high > PLUMB_ZERO_EXPONENT && b.high > PLUMB_ZERO_EXPONENT)
    all = (range){a.low + b.low, a.high + b.high + (int)ceil_log2(k)};
  if (c.high > PLUMB_ZERO_EXPONENT) {
    all.low = c.low < all.low ? c.low : all.low;
    all.high = c.high > all.high ? c.high : all.high;
  }
  return all.high == PLUMB_ZERO_EXPONENT || all.high + 1 - all.low <= 53;
}

/* sums[i, j] += a[i, q] * b[q, j] */
PLUMB_CLONES
static void multiply(const double *a, const double *b, double *sums, size_t m, size_t n, size_t k) {
  for (size_t i = 0; i < m; i++)
    for (size_t q = 0; q < k; q++) {
      const double x = a[i * k + q], *row = b + q * n;
      double *to = sums + i * n;
      for (size_t j = 0; j < n; j++) to[j] += x * row[j];
    }
}

/* The same, for m and n of whole parts, whose sums stay in registers. */
enum { PART_ROWS = 4, PART_COLUMNS = 8, WIDTH = 4 };
typedef double wide
    __attribute__((vector_size(WIDTH * sizeof(double)), aligned(sizeof(double)), may_alias));

PLUMB_CLONES
static void multiply_parts(const double *a, const double *b, double *sums, size_t m, size_t n,
                           size_t k) {
  for (size_t i = 0; i < m; i += PART_ROWS)
    for (size_t j = 0; j < n; j += PART_COLUMNS) {
      const double *x = a + i * k;
      wide *rows[PART_ROWS], left[PART_ROWS], right[PART_ROWS];
      for (size_t r = 0; r < PART_ROWS; r++) {
        rows[r] = (wide *)(sums + (i + r) * n + j);
        left[r] = rows[r][0];
        right[r] = rows[r][1];
      }
      for (size_t q = 0; q < k; q++) {
        const wide *row = (const wide *)(b + q * n + j);
        const wide first = row[0], second = row[1];
        for (size_t r = 0; r < PART_ROWS; r++) {
          left[r] += x[r * k + q] * first;
          right[r] += x[r * k + q] * second;
        }
      }
      for (size_t r = 0; r < PART_ROWS; r++) {
        rows[r][0] = left[r];
        rows[r][1] = right[r];
      }
    }
}

PLUMB_CLONES
static void to_f32(const double *sums, size_t count, uint64_t *d) {
  for (size_t i = 0; i < count; i++) {
    float rounded = (float)sums[i];
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    d[i] = bits;
  }
}

bool plumb_tile_quick(const plumb_product *p, unsigned m, unsigned n, unsigned k, const uint64_t *a,
                      const uint64_t *b, const uint64_t *c, uint64_t *d) {
  bool known = (p->c == PLUMB_MMA_F32 || p->c == PLUMB_MMA_F16) &&
               (p->d == PLUMB_MMA_F32 || p->d == PLUMB_MMA_F16);
  if (!known) return false;
  size_t a_count = (size_t)m * k, b_count = (size_t)n * k, c_count = (size_t)m * n;
  double *room = malloc((a_count + 2 * b_count + c_count) * sizeof *room);
  if (!room) abort();
  double *x = room, *y = x + a_count, *columns = y + b_count, *sums = columns + b_count;
  layout of_a = layout_of(p->a), of_b = layout_of(p->b), of_c = layout_of(p->c);
  range range_a, range_b, range_c;
  bool quick = to_doubles(&of_a, a, a_count, x, &range_a) &&
               to_doubles(&of_b, b, b_count, columns, &range_b) &&
               to_doubles(&of_c, c, c_count, sums, &range_c) &&
               is_exact(range_a, range_b, range_c, k);
  if (quick) {
    for (size_t j = 0; j < n; j++)
      for (size_t q = 0; q < k; q++) y[q * n + j] = columns[j * k + q];
    (m % PART_ROWS || n % PART_COLUMNS ? multiply : multiply_parts)(x, y, sums, m, n, k);
    if (p->d == PLUMB_MMA_F32)
      to_f32(sums, c_count, d);
    else
      for (size_t i = 0; i < c_count; i++) d[i] = plumb_dtype_from_double(PLUMB_F16, sums[i]);
  }
  free(room);
  return quick;
}

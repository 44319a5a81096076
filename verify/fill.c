#include "verify/fill.h"

#include <math.h>
#include <string.h>

static const char *const texts[] = {
#define X(name, text) text,
#include "verify/fill.def"
#undef X
};

plumb_fill plumb_fill_of(plumb_fill_kind kind) {
  return (plumb_fill){.kind = kind, .std = 1, .high = 1};
}

bool plumb_fill_from_text(const char *text, plumb_fill *out_fill) {
  for (int i = 0; i < PLUMB_FILL_FILE; i++)
    if (strcmp(texts[i], text) == 0) {
      *out_fill = plumb_fill_of((plumb_fill_kind)i);
      return true;
    }
  return false;
}

const char *plumb_fill_text(plumb_fill_kind kind) {
  return texts[kind];
}

/* SplitMix64 (Steele, Lea, Flood 2014) of a counter: element i is independent of the
 * others, so that a shape change does not change what comes before. */
static uint64_t random_bits(uint64_t seed, uint64_t counter) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + (counter + 1) * 0xd1b54a32d192ed03u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static double random_unit(uint64_t bits) {
  return (double)(bits >> 11) * 0x1p-53;
}

/* Box-Muller. */
static double random_normal(uint64_t seed, uint64_t counter) {
  double u = 1.0 - random_unit(random_bits(seed, 2 * counter));
  double v = random_unit(random_bits(seed, 2 * counter + 1));
  return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static uint64_t special_float(plumb_dtype type, uint64_t seed, uint64_t i) {
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  int emin = 2 - (1 << (info->exponent_bits - 1));
  double largest = plumb_dtype_to_double(type, plumb_dtype_from_double(type, 1e308));
  if (isinf(largest)) largest = ldexp(2.0 - ldexp(1.0, -info->fraction_bits), 1 - emin);
  double tiny = ldexp(1.0, emin), smallest = ldexp(1.0, emin - info->fraction_bits);
  const double values[] = {0.0,         -0.0,      smallest,
                           -smallest,   tiny,      -tiny,
                           tiny / 2,    -tiny / 2, (double)INFINITY,
                           largest,     -largest,  -(double)INFINITY,
                           (double)NAN, 1.0,       -1.0};
  uint64_t pick = random_bits(seed, i);
  /* Seven of eight elements are ordinary: otherwise every reduction is NaN and shows
   * nothing about the rest. */
  if (pick & 7) return plumb_dtype_from_double(type, random_normal(seed ^ 0x5bd1e995u, i));
  return plumb_dtype_from_double(type, values[(pick >> 3) % (sizeof values / sizeof *values)]);
}

static uint64_t int_element(const plumb_fill *fill, plumb_dtype type, uint64_t seed, uint64_t i) {
  unsigned bits = plumb_dtype_table[type].bits > 64 ? 64 : plumb_dtype_table[type].bits;
  uint64_t r = random_bits(seed, i);
  if (fill->kind == PLUMB_FILL_SPECIAL) {
    const uint64_t values[] = {0, 1, UINT64_MAX, 1ull << (bits - 1), (1ull << (bits - 1)) - 1, r};
    return values[(r >> 8) % 6];
  }
  if (fill->kind == PLUMB_FILL_UNIFORM)
    return (uint64_t)(int64_t)floor(fill->low + (fill->high - fill->low) * random_unit(r));
  if (type == PLUMB_I1) return r & 1;
  return (uint64_t)((int64_t)(r % 8) * 2 - 7);
}

static uint64_t element(const plumb_fill *fill, plumb_dtype type, uint64_t seed, uint64_t i) {
  switch (fill->kind) {
    case PLUMB_FILL_ZEROS:
      return 0;
    case PLUMB_FILL_ONES:
      return plumb_dtype_from_double(type, 1);
    case PLUMB_FILL_IOTA:
      return plumb_dtype_is_float(type) ? plumb_dtype_from_double(type, (double)i) : i;
    default:
      break;
  }
  if (!plumb_dtype_is_float(type)) return int_element(fill, type, seed, i);
  switch (fill->kind) {
    case PLUMB_FILL_EXACT:
      return plumb_dtype_from_double(type, (double)(int64_t)(random_bits(seed, i) % 4) * 2 - 3);
    case PLUMB_FILL_UNIFORM:
      return plumb_dtype_from_double(
          type, fill->low + (fill->high - fill->low) * random_unit(random_bits(seed, i)));
    case PLUMB_FILL_SPECIAL:
      return special_float(type, seed, i);
    default:
      return plumb_dtype_from_double(type, fill->mean + fill->std * random_normal(seed, i));
  }
}

void plumb_fill_write(const plumb_fill *fill, plumb_dtype type, uint64_t seed, size_t count,
                      void *out) {
  unsigned bytes = plumb_dtype_bytes(type);
  for (size_t i = 0; i < count; i++) {
    uint64_t bits = element(fill, type, seed, i);
    unsigned char *at = (unsigned char *)out + i * bytes;
    memset(at, 0, bytes);
    memcpy(at, &bits, bytes < 8 ? bytes : 8);
  }
}

/* One dot product of floats, private to targets/models. */
#ifndef PLUMB_TARGETS_MODELS_DOT_H
#define PLUMB_TARGETS_MODELS_DOT_H

#include "targets/models/model.h"

#define PLUMB_NO_FLOOR INT16_MIN
#define PLUMB_ZERO_EXPONENT (-8192) /* of a zero: below every floor and every sum */

typedef enum plumb_unit_scheme { PLUMB_UNIT_CHAIN, PLUMB_UNIT_APART } plumb_unit_scheme;
typedef enum plumb_unit_rounding {
  PLUMB_UNIT_RZ_F32,
  PLUMB_UNIT_RNE_F16,
  PLUMB_UNIT_RZ_E8M13
} plumb_unit_rounding;

/* A row of models.def. */
typedef struct plumb_unit {
  plumb_unit_scheme scheme;
  unsigned terms;    /* L */
  int fraction_bits; /* F */
  int floor;
  plumb_unit_rounding rounding;
} plumb_unit;

/* What an element is beside its number. */
enum { PLUMB_ELEMENT_INFINITE = 1, PLUMB_ELEMENT_NAN = 2, PLUMB_ELEMENT_NEGATIVE = 4 };

/* `count` elements of one type: the value is significand * 2^(exponent - fraction bits),
 * exponent that of IEEE 754 (the least one for subnormals), PLUMB_ZERO_EXPONENT for zeros. */
typedef struct plumb_elements {
  const int32_t *significand;
  const int32_t *exponent;
  const uint8_t *flags;
  bool special; /* some element is infinite or NaN */
} plumb_elements;

/* One element; the significand carries the sign. */
typedef struct plumb_element {
  int64_t significand;
  int32_t exponent;
  uint8_t flags;
} plumb_element;
plumb_element plumb_element_of(plumb_mma_type type, uint64_t bits);

/* The bits of an infinity (or NaN) that a sum with infinite or NaN terms gives; `fraction`
 * as in plumb_dot_exact. Only if a.special, b.special or c's flags say so. */
uint64_t plumb_dot_special(plumb_mma_type d, plumb_elements a, plumb_elements b, unsigned k,
                           const plumb_element *c);

/* c + sum of a * b as the unit computes it; f32 or f16 bits as `d` says. No special terms.
 * fraction: fraction bits of a's plus b's type. */
uint64_t plumb_dot_unit(const plumb_unit *unit, plumb_mma_type d, plumb_elements a,
                        plumb_elements b, unsigned k, int fraction, plumb_mma_type c_type,
                        uint64_t c);

/* The exact sum, rounded once. */
uint64_t plumb_dot_exact(plumb_mma_type d, plumb_round round, plumb_elements a, plumb_elements b,
                         unsigned k, int fraction, plumb_mma_type c_type, const plumb_element *c);
/* The same of doubles. */
uint64_t plumb_dot_exact_f64(plumb_round round, const uint64_t *a, const uint64_t *b, unsigned k,
                             uint64_t c);

/* D = A * B + C by the reference reading, as plumb_product_tile has it, but for satfinite.
 * False, and nothing written, where doubles cannot show it to be exact (quick.c). */
bool plumb_tile_quick(const plumb_product *p, unsigned m, unsigned n, unsigned k, const uint64_t *a,
                      const uint64_t *b, const uint64_t *c, uint64_t *d);

/* The canonical NaN of a result type. */
uint64_t plumb_result_nan(plumb_mma_type d);

#endif

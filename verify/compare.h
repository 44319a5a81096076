/* Comparison of two arrays, in three pieces: describe (the level), match (one element),
 * and the first and worst mismatch. NaN and infinity are classes of their own: NaN is
 * equal to NaN whatever its payload, an infinity only to the same infinity.
 *
 *     plumb_comparison c = plumb_compare(PLUMB_F32, n, expected, actual, NULL, &level);
 *     if (c.verdict > level.accepted) ...
 */
#ifndef PLUMB_VERIFY_COMPARE_H
#define PLUMB_VERIFY_COMPARE_H

#include "ir/base/status.h"
#include "ir/dtype.h"

/* From the best to the worst (DESIGN, Verdicts). */
typedef enum plumb_verdict {
#define X(name, text) PLUMB_VERDICT_##name,
#include "verify/verdict.def"
#undef X
  PLUMB_VERDICT_COUNT
} plumb_verdict;

const char *plumb_verdict_text(plumb_verdict verdict);
bool plumb_verdict_from_text(const char *text, plumb_verdict *out_verdict);

/* What is accepted. With `tolerance`, an element matches when
 * |actual - expected| <= abs + rel * |expected|, or when it is within `ulp` units in the
 * last place of the type; it then counts as `bounded`. */
typedef struct plumb_accept {
  plumb_verdict level;
  bool tolerance;
  double abs, rel, ulp;
} plumb_accept;

/* The interval that holds every legal evaluation of an element of the reference, and
 * its truth. lo NaN: nothing is known of the element, unless shadow is NaN too, which
 * says that every legal evaluation is NaN. */
typedef struct plumb_budget {
  double shadow, lo, hi;
} plumb_budget;

typedef struct plumb_comparison {
  plumb_verdict verdict;
  size_t count;
  size_t different; /* elements whose bits (or NaN class) differ */
  size_t undefined; /* elements never written, or written with an undefined value */
  size_t open;      /* elements that are so in `expected`: anything refines them, and nothing
                       is compared */
  size_t nan_mismatches, infinity_mismatches;
  double max_ulp, max_abs, max_rel; /* over elements finite on both sides */
  size_t worst; /* index of the worst element by verdict, then by ulp; SIZE_MAX none */
  double worst_expected, worst_actual;
} plumb_comparison;

/* Distance in units in the last place: how many values of the type lie between, counted
 * on the ordered bit patterns. Both must be finite floats of `type`; integers: |a - b|. */
double plumb_ulp_distance(plumb_dtype type, uint64_t a, uint64_t b);

/* `initialised` has a 0/1 byte for each byte of `data`; NULL: all of it is. */
typedef struct plumb_values {
  const void *data;
  const unsigned char *initialised;
} plumb_values;

/* expected, actual: `count` elements each. An element that only `actual` leaves undefined
 * is `diverged`; one that `expected` does is not compared (LLVM Language Reference 22,
 * Undefined Values: any value refines it). budgets (may be NULL): `count`. */
plumb_comparison plumb_compare(plumb_dtype type, size_t count, plumb_values expected,
                               plumb_values actual, const plumb_budget *budgets,
                               const plumb_accept *accept);

#endif

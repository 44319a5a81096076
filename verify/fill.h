/* Fills: the input values of a run, reproducible from a kind and a seed.
 *
 *   exact    small odd integers of both signs: products and partial sums stay exact
 *            (numerics reference, section 3), so every order gives identical bits
 *   normal   mean + std * normal deviate, rounded to the type
 *   uniform  uniform on [low, high)
 *   special  zeros of both signs, subnormals, infinities, NaN, extremes, between normals
 *   zeros, ones, iota
 */
#ifndef PLUMB_VERIFY_FILL_H
#define PLUMB_VERIFY_FILL_H

#include "ir/base/status.h"
#include "ir/dtype.h"

typedef enum plumb_fill_kind {
#define X(name, text) PLUMB_FILL_##name,
#include "verify/fill.def"
#undef X
  PLUMB_FILL_KIND_COUNT
} plumb_fill_kind;

typedef struct plumb_fill {
  plumb_fill_kind kind;
  double mean, std; /* normal */
  double low, high; /* uniform */
  const char *file; /* FILE: path of an .npy */
} plumb_fill;

/* kind, mean 0, std 1, low 0, high 1. */
plumb_fill plumb_fill_of(plumb_fill_kind kind);
bool plumb_fill_from_text(const char *text, plumb_fill *out_fill);
const char *plumb_fill_text(plumb_fill_kind kind);

/* Writes `count` elements of `type` to `out` (count * storage bytes). Element i depends
 * only on (kind, seed, i). FILE is not filled here (npy.h). */
void plumb_fill_write(const plumb_fill *fill, plumb_dtype type, uint64_t seed, size_t count,
                      void *out);

#endif

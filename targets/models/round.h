/* Exact parts of an element, and the one rounding back; private to targets/models. */
#ifndef PLUMB_TARGETS_MODELS_ROUND_H
#define PLUMB_TARGETS_MODELS_ROUND_H

#include "targets/models/dot.h"

typedef unsigned __int128 plumb_u128;

/* Rounds (-1)^negative * magnitude * 2^exponent, or a little more in magnitude if `sticky`
 * (then with more bits than the type keeps), once to `type`, f16, f32 or f64, of whose
 * fraction only the highest `kept_bits` are used. A zero magnitude gives a zero of that
 * sign. Overflow: as IEEE 754-2019, 7.4 says, or always infinity. */
uint64_t plumb_round_sum(plumb_mma_type type, unsigned kept_bits, plumb_round round, bool negative,
                         plumb_u128 magnitude, int exponent, bool sticky, bool to_infinity);

#endif

/* The bound domain: beside a value the truth in higher precision (shadow) and an
 * interval [lo, hi] that holds every legal evaluation of the same expression at the
 * operator's own types: any order inside a reduction, multiply and add fused or not,
 * elementary functions at their documented error (numerics.md 3 and 5). Flushing of
 * subnormals is not legal here. It judges nothing.
 *
 * Three kinds of companion:
 *   known    lo <= hi, neither NaN: every legal value lies inside, and is not NaN
 *   unknown  lo is NaN, shadow is not: nothing is known
 *   nan      lo and shadow are NaN: every legal value is NaN
 * An interval end beyond the type's largest finite value is an infinity.
 *
 * Integers and i1 carry companions too: an exact integer has lo == hi; a truth that
 * depends on an uncertain comparison has lo = 0, hi = 1. Integers derived from uncertain
 * floats have an interval, or (-inf, inf). Integers are read as signed (i1: 0 or 1); a
 * certain i64 or i128 beyond 2^53 is the nearest double, lo == hi still says certain.
 *
 * A companion belongs to its register's own type. Where an instruction reads a register
 * at another class of type (bitcast between float and integer), the caller passes NULL if
 * the companion is certain, else a companion that says nothing: (-inf, inf) to an
 * integer, unknown to a float.
 *
 * The shadow is computed in double from shadows; for operations of type f64 in x87
 * extended precision (64 bits of significand) and stored as double, so that one
 * operation's own rounding is not doubled but the stored truth is a double.
 */
#ifndef PLUMB_TARGETS_CPU_BOUND_H
#define PLUMB_TARGETS_CPU_BOUND_H

#include <math.h>

#include "targets/cpu/cpu.h"
#include "targets/models/model.h"

/* The companion of a value that is exactly its bits (an input, a constant): shadow, lo
 * and hi are the value; a float NaN gives the nan companion. `bits` points at one
 * element of the type's storage size. */
plumb_companion plumb_companion_exact(plumb_dtype type, const void *bits);

static inline plumb_companion plumb_companion_unknown(void) {
  return (plumb_companion){0, (double)NAN, (double)NAN};
}
static inline plumb_companion plumb_companion_nan(void) {
  return (plumb_companion){(double)NAN, (double)NAN, (double)NAN};
}
static inline bool plumb_companion_is_known(const plumb_companion *c) {
  return !isnan(c->lo) && !isnan(c->hi);
}
static inline bool plumb_companion_is_unknown(const plumb_companion *c) {
  return isnan(c->lo) && !isnan(c->shadow);
}
static inline bool plumb_companion_is_nan(const plumb_companion *c) {
  return isnan(c->lo) && isnan(c->shadow);
}
/* The value does not depend on which legal evaluation is taken. */
static inline bool plumb_companion_is_certain(const plumb_companion *c) {
  return c->lo == c->hi;
}

/* Companions of the results of one ALU instruction for lanes [lo, hi).
 * result_values, operand_values: the arrays that plumb_alu_execute wrote and read.
 * operand_companions[i] == NULL: operand i is exact, its companion comes from its value.
 * result_companions[i] == NULL: nobody wants it. A result array may be an operand's. */
void plumb_bound_execute(const plumb_program *p, const plumb_inst *inst,
                         const void *const *result_values, const void *const *operand_values,
                         plumb_companion *const *result_companions,
                         const plumb_companion *const *operand_companions, uint32_t lo,
                         uint32_t hi);

/* Companion of one step acc + term (or acc * factor) of a reduction of `terms` terms in
 * any order, as REDUCE_ADD and REDUCE_MUL (atomics of the reference use it too). The
 * initial acc of a sum is one of its leaves: as long as the interval of acc is narrower
 * than the budget for acc itself, that budget is added; an initial value that is more
 * uncertain than that is taken to have paid. A product's budget does not enclose an
 * underflow that only another order meets. */
plumb_companion plumb_bound_reduce(plumb_dtype type, bool multiply, const plumb_companion *acc,
                                   const plumb_companion *term, int64_t terms);

/* The type whose values the elements of a matrix are; PLUMB_I1 for those of no companion. */
plumb_dtype plumb_bound_element_type(plumb_mma_type type);

/* Companion of one element of a matrix product of floats: c + sum of a[i] * b[i], i < k, in
 * any order, fused or not, each step rounded or truncated as units do (numerics.md 1). Exact
 * where the terms leave no room for an error. */
plumb_companion plumb_bound_dot(const plumb_product *p, unsigned k, const plumb_companion *a,
                                const plumb_companion *b, const plumb_companion *c);

#endif

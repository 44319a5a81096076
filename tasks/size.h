/* Size expressions: `+ - * / %`, ceildiv(a, b), min(a, b), max(a, b), pow2(a), integers
 * and the names of other sizes, in 64-bit integers with overflow checks. */
#ifndef PLUMB_TASKS_SIZE_H
#define PLUMB_TASKS_SIZE_H

#include "ir/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks a name up; false when it is unknown. */
typedef bool (*plumb_size_lookup)(void *user, const char *name, size_t length, int64_t *out_value);

/* PLUMB_BAD_INPUT  syntax, unknown name, overflow, division by zero; the message names
 * the expression and the offending part (no path: the caller knows the line). */
plumb_status plumb_size_evaluate(const char *expression, plumb_size_lookup lookup, void *user,
                                 int64_t *out_value, plumb_diag *diag);

#endif

/* Values given on the command line (`--arg`, `--expect`):
 * a scalar, `[1,2.5,nan,0x7fc00000]`, `2x3:[...]`, `f16:[...]`, `i64:2x3:[...]`,
 * `@file.npy`, `fill:KIND,seed` (with a type and shape before it where none is known).
 * A hexadecimal number is a bit pattern. */
#ifndef PLUMB_TASKS_VALUE_H
#define PLUMB_TASKS_VALUE_H

#include "ir/base/arena.h"
#include "tasks/array.h"

typedef struct plumb_value {
  bool is_scalar;
  bool typed;        /* the text named the element type */
  plumb_array array; /* a scalar: count 1, rank 0 */
} plumb_value;

/* `type`: the element type where a signature gives it, else PLUMB_DTYPE_COUNT (then f32
 * if a number has a point, else i32). dims (rank of them, -1 unknown; NULL none known)
 * give the shape where the text names none.
 * PLUMB_BAD_INPUT  the text is no value, or does not fit type or shape */
plumb_status plumb_value_parse(plumb_arena *arena, const char *text, plumb_dtype type,
                               const int64_t *dims, size_t rank, plumb_value *out_value,
                               plumb_diag *diag);

/* "[1, 2.5, nan]" with as many digits as tell the values apart. */
void plumb_value_print(const plumb_array *array, plumb_text *out);

#endif

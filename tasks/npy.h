/* NumPy's .npy files, format 1.0 to 3.0 (NEP 1): C order, little endian, the element
 * types that numpy and ml_dtypes name. */
#ifndef PLUMB_TASKS_NPY_H
#define PLUMB_TASKS_NPY_H

#include "ir/base/arena.h"
#include "tasks/array.h"

/* out_array: dims and data live in `arena`.
 * PLUMB_BAD_INPUT    not an .npy file, or truncated
 * PLUMB_UNSUPPORTED  big endian, Fortran order, an element type outside dtype.def */
plumb_status plumb_npy_read(plumb_arena *arena, const char *path, plumb_array *out_array,
                            plumb_diag *diag);

/* bf16 and the 8-bit floats, which numpy alone does not know, are written as their bits. */
plumb_status plumb_npy_write(const char *path, const plumb_array *array, plumb_diag *diag);

#endif

/* A task without a task file: `plumb check REFERENCE.mlir CANDIDATE`. Tensors, types and
 * static shapes are those of the reference's signature; flags say the rest.
 *
 *     plumb_pair pair = {.reference = "softmax.mlir", .candidate = "softmax.cu", ...};
 *     PLUMB_TRY(plumb_task_derive(arena, &pair, &task, diag));
 *
 * Inputs are called arg0, arg1, ... and results result0, result1, ..., as in `plumb run`.
 * A tensor argument is an input, a memref argument is `inout`, a result is an output.
 * A scalar argument is the size of its name. Dynamic dimension D of any of them is the
 * size dD, unless `shapes` names it otherwise. */
#ifndef PLUMB_TASKS_DERIVE_H
#define PLUMB_TASKS_DERIVE_H

#include "tasks/task.h"

/* Texts of the command line, NULL where a flag was not given. */
typedef struct plumb_pair {
  const char *reference, *candidate;
  const char *reference_entry, *entry;
  const char *arch;
  const char *grid, *block, *shared; /* expressions over sizes, separated by commas */
  const char *arguments;             /* of the candidate: names and expressions */
  const char *fills;                 /* tried in turn; NULL: exact,normal,special */
  const char *accept;                /* a level, or abs=...,rel=...,ulp=... */
  const char *const *shapes;         /* "arg0=M,N" */
  size_t shape_count;
  const char *const *sizes; /* "M=1,7,64" */
  size_t size_count;
} plumb_pair;

/* PLUMB_BAD_USAGE  a flag that cannot be read, a launch or a scalar that nothing says
 * PLUMB_BAD_INPUT  a file that cannot be read, no such function */
plumb_status plumb_task_derive(plumb_arena *arena, const plumb_pair *pair, plumb_task **out_task,
                               plumb_diag *diag);

#endif

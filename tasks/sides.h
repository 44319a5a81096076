/* The sides of a task as ladders: the reference's, and one or two of the candidate (with
 * clang, and with nvcc where there is one). Foreign compilers run while the reference is
 * lowered.
 *
 *     PLUMB_TRY(plumb_sides_make(arena, task, &sides, diag));
 */
#ifndef PLUMB_TASKS_SIDES_H
#define PLUMB_TASKS_SIDES_H

#include "tasks/execute.h"

/* One ladder of a side. */
typedef struct plumb_side {
  const char *name; /* "reference", "candidate", "candidate (nvcc)" */
  plumb_ladder *ladder;
  bool is_reference;
  const plumb_call_plan *plan; /* of a host function; NULL: a kernel is launched */
  const char *note;            /* what the reader of the report should know of it, or NULL */
} plumb_side;

typedef struct plumb_sides {
  plumb_side items[3]; /* the reference first */
  size_t count;
  const char *note; /* why there is no ladder from nvcc, or NULL */
} plumb_sides;

/* Everything lives in `arena`.
 * PLUMB_BAD_INPUT, PLUMB_UNSUPPORTED  a source that does not compile, or is of no known
 *                                     kind; diag says why */
plumb_status plumb_sides_make(plumb_arena *arena, const plumb_task *task, plumb_sides *out_sides,
                              plumb_diag *diag);

#endif

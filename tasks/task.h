/* The task file: what to check against what, on which inputs, and what is accepted
 * (DESIGN, The task file). Reading it touches no other file.
 *
 *     plumb_task *task;
 *     PLUMB_TRY(plumb_task_read(arena, "softmax/task.yaml", text, length, &task, diag));
 */
#ifndef PLUMB_TASKS_TASK_H
#define PLUMB_TASKS_TASK_H

#include "ir/base/arena.h"
#include "verify/compare.h"
#include "verify/fill.h"

/* A size expression with the line it stands in. */
typedef struct plumb_task_expression {
  const char *text;
  int line;
} plumb_task_expression;

typedef struct plumb_task_size {
  const char *name;
  plumb_task_expression *values; /* each is tried */
  size_t value_count;
} plumb_task_size;

typedef enum plumb_role { PLUMB_ROLE_INPUT, PLUMB_ROLE_OUTPUT, PLUMB_ROLE_INOUT } plumb_role;

typedef struct plumb_task_tensor {
  const char *name;
  int line;
  plumb_dtype type;
  plumb_task_expression *dims;
  size_t rank;
  plumb_role role;
  plumb_fill *fills; /* run i uses fill min(i, count - 1) */
  size_t fill_count;
} plumb_task_tensor;

typedef struct plumb_task_side {
  const char *source; /* path, relative paths resolved against the task file's folder */
  int source_line;
  const char *entry;         /* NULL: the only one there is */
  const char *pipeline;      /* NULL: the stock one */
  const char *llvm_pipeline; /* NULL: default<O2> */
  const char *compile_with;  /* "clang" or "nvcc"; NULL: clang */
  const char *arch;          /* NULL: sm_90 */
  const char **flags;
  size_t flag_count;
  plumb_task_expression grid[3], block[3], shared_bytes; /* text NULL: 1, 1, 0 */
  plumb_task_expression *arguments;                      /* tensor names, sizes or expressions */
  size_t argument_count;
  bool has_arguments;
} plumb_task_side;

typedef struct plumb_task {
  const char *path;
  bool derived; /* from flags: path is the candidate's, and there are no lines */
  const char *name;
  const char *category;
  plumb_task_side reference, candidate;
  plumb_task_size *sizes;
  size_t size_count;
  plumb_task_tensor *tensors;
  size_t tensor_count;
  plumb_accept accept;
} plumb_task;

/* PLUMB_BAD_INPUT  no YAML, an unknown key (the nearest known one is named), a missing
 * or wrong value; always with the line */
plumb_status plumb_task_read(plumb_arena *arena, const char *path, const char *text, size_t length,
                             plumb_task **out_task, plumb_diag *diag);

/* One choice of values for all sizes. */
typedef struct plumb_task_shape {
  int64_t *values; /* one a size */
} plumb_task_shape;

/* All shapes: the product of the listed values, derived sizes evaluated.
 * PLUMB_BAD_INPUT  a value below 0, a cycle, more than 10,000 shapes */
plumb_status plumb_task_shapes(plumb_arena *arena, const plumb_task *task,
                               plumb_task_shape **out_shapes, size_t *out_count, plumb_diag *diag);

/* Evaluates an expression under a shape; the diag gets path and line. */
plumb_status plumb_task_evaluate(const plumb_task *task, const plumb_task_shape *shape,
                                 plumb_task_expression expression, int64_t *out_value,
                                 plumb_diag *diag);

/* "M=7 N=31", in `arena`. */
const char *plumb_task_shape_text(plumb_arena *arena, const plumb_task *task,
                                  const plumb_task_shape *shape);

#endif

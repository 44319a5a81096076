/* Runs one stage on one case: a shape and the values of all tensors. What comes back
 * is outputs, a trap, or the reason why it could not run. Nothing is judged here. */
#ifndef PLUMB_TASKS_EXECUTE_H
#define PLUMB_TASKS_EXECUTE_H

#include "ir/stage.h"
#include "tasks/call.h"
#include "tasks/task.h"

typedef struct plumb_case {
  const plumb_task *task;
  plumb_task_shape shape;
  size_t fill_index;
  uint64_t seed;
  plumb_array *tensors; /* one a task tensor; outputs hold no meaning */
} plumb_case;

/* Fills the tensors of a case.
 * PLUMB_BAD_INPUT  a shape that overflows, a file that does not fit */
plumb_status plumb_case_create(plumb_arena *arena, const plumb_task *task, plumb_task_shape shape,
                               size_t fill_index, uint64_t seed, plumb_case **out_case,
                               plumb_diag *diag);

typedef struct plumb_outcome {
  plumb_status status; /* not OK: could not run, see problem */
  plumb_diag problem;
  plumb_trap trap;
  plumb_counters counters;
  plumb_array *outputs;        /* one a task tensor; data NULL for inputs */
  unsigned char **initialised; /* a 0/1 byte a byte of the outputs */
  plumb_budget **budgets;      /* with companions, else NULL */
  bool open;                   /* the reference's: some of its output is undefined */
  const char *changed_input;   /* an input that is no longer what it was, or NULL */
} plumb_outcome;

/* How a side's host function takes the tensors; see plumb_call_plan_create. */
typedef struct plumb_call_plan {
  const plumb_task_side *side;
  const char *entry;
  const int *input_tensors; /* task tensor of each input; -1: a scalar expression */
  const plumb_task_expression *input_scalars;
  const plumb_dtype *input_types;
  const bool *input_values; /* a tensor: what its buffer holds afterwards is nobody's */
  size_t input_count;
  const int *result_tensors;
  size_t result_count;
} plumb_call_plan;

/* Reads the signature of the side's entry from MLIR text and maps it to tensors: by
 * `arguments` where given, else inputs in the order of the file (outputs too when the
 * function returns nothing). Types and ranks are checked.
 * PLUMB_BAD_INPUT  they do not fit */
plumb_status plumb_call_plan_create(plumb_arena *arena, const plumb_task *task,
                                    const plumb_task_side *side, const char *text,
                                    plumb_call_plan *out_plan, plumb_diag *diag);

/* Calls the host function of the plan. */
void plumb_execute_host(plumb_arena *arena, const plumb_stage *stage, const plumb_case *c,
                        const plumb_call_plan *plan, const plumb_run_options *options,
                        plumb_outcome *out);

/* Launches the candidate's kernel as the task says. */
void plumb_execute_kernel(plumb_arena *arena, const plumb_stage *stage, const plumb_case *c,
                          const plumb_run_options *options, plumb_outcome *out);

#endif

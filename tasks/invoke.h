/* One stage called with values from the command line: the common part of `plumb run`
 * and `plumb lower`. */
#ifndef PLUMB_TASKS_INVOKE_H
#define PLUMB_TASKS_INVOKE_H

#include "ir/stage.h"
#include "tasks/call.h"
#include "tasks/value.h"

typedef struct plumb_invocation {
  const char *path;       /* for messages */
  const char *entry;      /* NULL: the only function there is */
  plumb_launch launch;    /* kernels */
  const char **arg_texts; /* as given by --arg */
  size_t arg_count;
  plumb_value *args;          /* parsed by plumb_invocation_bind */
  bool *arg_values;           /* a tensor: what its buffer holds afterwards is nobody's */
  plumb_call_result *results; /* of a host function of stage 0 */
  size_t result_count;
} plumb_invocation;

/* Finds the entry in stage 0 and reads the argument texts by its signature. A kernel
 * has no element types: those come from the texts.
 * PLUMB_BAD_INPUT  no such entry, too few or too many values, or one that does not fit */
plumb_status plumb_invocation_bind(plumb_arena *arena, const plumb_stage *stage0,
                                   plumb_invocation *invocation, plumb_diag *diag);

typedef struct plumb_invoked {
  plumb_status status;
  plumb_diag problem;
  plumb_trap trap;
  plumb_counters counters;
  plumb_readback *args; /* after the run; scalars as given */
  plumb_readback *results;
} plumb_invoked;

void plumb_invoke(plumb_arena *arena, const plumb_stage *stage, const plumb_invocation *invocation,
                  const plumb_run_options *options, plumb_invoked *out);

#endif

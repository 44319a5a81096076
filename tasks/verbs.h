/* The verbs of the command. Each writes its result to `out` and sets the
 * process's exit code (0 accepted, 1 diverged or trapped, 3 undecided); a status other
 * than OK means that there is no result, and diag says why. */
#ifndef PLUMB_TASKS_VERBS_H
#define PLUMB_TASKS_VERBS_H

#include "tasks/check.h"
#include "tasks/derive.h"
#include "tasks/invoke.h"

typedef struct plumb_verb_options {
  const char **files;
  size_t file_count;
  plumb_invocation invocation; /* entry, launch and argument texts */
  plumb_pair pair;             /* check of two files: the flags of its own */
  const char **expect;         /* "K=V" texts */
  size_t expect_count;
  const char *pipeline, *llvm_pipeline, *arch;
  bool to_ptx;
  int stage; /* show: -1 all */
  plumb_format format;
  bool quiet;
  const char *save;
  uint64_t seed;
  uint64_t steps; /* lane-instructions of one execution; 0: the executor's limit */
  int jobs;
  plumb_model model; /* what matrix instructions compute */
  const char *model_name;
  unsigned freedom; /* readings other than the default: plumb_freedom_parse */
  const char *command;
  char **program;    /* run --: the program and its arguments, NULL-terminated; else NULL */
  const char *allow; /* faults that are none: "uninitialised,races" */
} plumb_verb_options;

plumb_status plumb_verb_check(plumb_arena *arena, plumb_verb_options *options, plumb_text *out,
                              int *out_exit, plumb_diag *diag);
plumb_status plumb_verb_run(plumb_arena *arena, plumb_verb_options *options, plumb_text *out,
                            int *out_exit, plumb_diag *diag);
/* Runs a program in the place of this process, CUDA's libraries replaced (driver/): returns
 * only where that fails. PLUMB_BAD_INPUT  the program cannot be run */
plumb_status plumb_verb_run_program(plumb_arena *arena, const plumb_verb_options *options,
                                    plumb_diag *diag);
plumb_status plumb_verb_lower(plumb_arena *arena, plumb_verb_options *options, plumb_text *out,
                              int *out_exit, plumb_diag *diag);
plumb_status plumb_verb_show(plumb_arena *arena, plumb_verb_options *options, plumb_text *out,
                             int *out_exit, plumb_diag *diag);
/* `what`: "ptx", "mlir", "llvm", or NULL for the program's own operations. */
plumb_status plumb_verb_ops(plumb_arena *arena, const char *what, plumb_text *out, int *out_exit,
                            plumb_diag *diag);

#endif

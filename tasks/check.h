/* The main job: both sides of a task, every stage, every case; a report.
 *
 *     PLUMB_TRY(plumb_check_task(arena, "task.yaml", &options, &report, diag));
 */
#ifndef PLUMB_TASKS_CHECK_H
#define PLUMB_TASKS_CHECK_H

#include "targets/models/model.h"
#include "tasks/report.h"
#include "tasks/task.h"

typedef struct plumb_check_options {
  uint64_t seed;
  uint64_t steps; /* lane-instructions of one execution; 0: the executor's limit */
  int jobs;
  plumb_model model;      /* what matrix instructions compute */
  const char *model_name; /* NULL: the reference reading */
  unsigned freedom;       /* readings other than the default: plumb_freedom_parse */
  const char *save;       /* folder for the stages, or NULL */
  const char *command;
  /* Called before a stage runs (may be NULL). */
  void (*progress)(void *user, const char *side, size_t done, size_t total, const char *step);
  void *progress_user;
} plumb_check_options;

/* PLUMB_BAD_INPUT, PLUMB_UNSUPPORTED ...: no report could be made, diag says why. */
plumb_status plumb_check_task(plumb_arena *arena, const char *path,
                              const plumb_check_options *options, plumb_report **out_report,
                              plumb_diag *diag);
plumb_status plumb_check_run(plumb_arena *arena, const plumb_task *task,
                             const plumb_check_options *options, plumb_report **out_report,
                             plumb_diag *diag);

#endif

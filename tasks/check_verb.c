/* `plumb check`: task files, or a reference and a candidate. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ir/stage.h"
#include "tasks/verbs.h"

static void show_progress(void *user, const char *task, size_t done, size_t total,
                          const char *shape) {
  (void)user;
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r\033[K%s: case %zu of %zu (%s)%s", task, done + 1, total, shape,
            done + 1 == total ? "\n" : "");
  else if (done == 0)
    fprintf(stderr, "%s: %zu cases\n", task, total);
}

static plumb_check_options check_options(const plumb_verb_options *o) {
  return (plumb_check_options){.seed = o->seed,
                               .steps = o->steps,
                               .jobs = o->jobs,
                               .model = o->model,
                               .model_name = o->model_name,
                               .freedom = o->freedom,
                               .save = o->save,
                               .command = o->command,
                               .progress = o->quiet ? NULL : show_progress};
}

/* True where the first file is a source and not a task file. */
static bool is_pair(const plumb_verb_options *o) {
  plumb_stage_kind kind;
  const char *path = o->files[0];
  size_t n = strlen(path);
  return plumb_stage_kind_from_path(path, &kind) || (n > 3 && strcmp(path + n - 3, ".cu") == 0);
}

static plumb_status check_pair(plumb_arena *arena, const plumb_verb_options *o,
                               plumb_report **out_report, plumb_diag *diag) {
  plumb_check_options options = check_options(o);
  plumb_pair pair = o->pair;
  plumb_stage_kind kind;
  plumb_task *task;
  if (o->file_count != 2)
    return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                      "check takes task files, or one REFERENCE.mlir and one CANDIDATE; %zu "
                      "files are given",
                      o->file_count);
  pair.reference = o->files[0];
  pair.candidate = o->files[1];
  pair.entry = o->invocation.entry;
  pair.arch = o->arch;
  if (!plumb_stage_kind_from_path(pair.reference, &kind) || kind != PLUMB_STAGE_MLIR)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, pair.reference, 0, 0,
                      "references are read from .mlir; the reference stands first");
  PLUMB_TRY(plumb_task_derive(arena, &pair, &task, diag));
  return plumb_check_run(arena, task, &options, out_report, diag);
}

/* Several tasks: the worst exit code counts, and a task that fails stops no other. */
plumb_status plumb_verb_check(plumb_arena *arena, plumb_verb_options *o, plumb_text *out,
                              int *out_exit, plumb_diag *diag) {
  if (!o->file_count)
    return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                      "check needs a task file, or a reference and a candidate; see plumb check "
                      "--help");
  size_t count = is_pair(o) ? 1 : o->file_count;
  plumb_checked *tasks = PLUMB_NEW_ARRAY(arena, plumb_checked, count);
  plumb_check_options options = check_options(o);
  for (size_t i = 0; i < count; i++) {
    plumb_report *report = NULL;
    tasks[i].path = o->files[i];
    plumb_status status =
        is_pair(o) ? check_pair(arena, o, &report, &tasks[i].problem)
                   : plumb_check_task(arena, o->files[i], &options, &report, &tasks[i].problem);
    int code = status == PLUMB_OK ? plumb_report_exit_code(report) : plumb_status_exit_code(status);
    if (status == PLUMB_OK) {
      tasks[i].report = report;
    } else {
      char sentence[1400];
      plumb_diag_format(&tasks[i].problem, sentence, sizeof sentence);
      fprintf(stderr, "plumb: %s\n", sentence);
    }
    if (code > *out_exit) *out_exit = code;
  }
  plumb_reports_write(o->format, tasks, count, out);
  return PLUMB_OK;
}

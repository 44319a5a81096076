#include "tasks/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "frontends/cuda.h"
#include "lower/lower.h"
#include "tasks/execute.h"

/* One ladder of a side, and where its stages stand in the report. */
typedef struct side {
  const char *name;
  plumb_ladder *ladder;
  bool is_reference;
  size_t first; /* index of its stage 0 in the report */
} side;

typedef struct check {
  plumb_arena *arena;
  const plumb_task *task;
  const plumb_check_options *options;
  plumb_report *report;
  plumb_diag *diag;
  plumb_call_plan plan;
  side sides[4];
  size_t side_count;
} check;

static bool ends_with(const char *text, const char *ending) {
  size_t n = strlen(text), m = strlen(ending);
  return n >= m && strcmp(text + n - m, ending) == 0;
}

static void add_note(check *k, const char *note) {
  plumb_report *r = k->report;
  r->notes =
      plumb_arena_grow(k->arena, r->notes, &r->note_capacity, r->note_count + 1, sizeof *r->notes);
  r->notes[r->note_count++] = note;
}

/* --- making the ladders --- */

static plumb_lower_options lower_options(check *k, const plumb_task_side *s) {
  plumb_lower_options o = {.arch = s->arch ? s->arch : "sm_90",
                           .pipeline = s->pipeline,
                           .llvm_pipeline = s->llvm_pipeline,
                           .to_ptx = true};
  o.libdevice = plumb_cuda_libdevice(k->arena);
  return o;
}

static void add_side(check *k, const char *name, plumb_ladder *ladder, bool is_reference) {
  k->sides[k->side_count++] = (side){name, ladder, is_reference, 0};
}

static plumb_status make_reference(check *k) {
  const plumb_task_side *s = &k->task->reference;
  char *text;
  size_t length;
  plumb_stage_kind kind;
  if (!plumb_stage_kind_from_path(s->source, &kind) || kind != PLUMB_STAGE_MLIR)
    return plumb_fail(k->diag, PLUMB_UNSUPPORTED, k->task->path, s->source_line, 0,
                      "reference '%s': references are read from .mlir", s->source);
  PLUMB_TRY(plumb_file_read(k->arena, s->source, &text, &length, k->diag));
  PLUMB_TRY(plumb_call_plan_create(k->arena, k->task, s, text, &k->plan, k->diag));
  plumb_ladder *ladder = plumb_ladder_create(k->arena, "reference");
  plumb_lower_options options = lower_options(k, s);
  PLUMB_TRY(plumb_lower_mlir(ladder, s->source, text, length, &options, k->diag));
  add_side(k, "reference", ladder, true);
  return PLUMB_OK;
}

static plumb_status make_nvcc(check *k, const plumb_cuda_options *cuda) {
  const plumb_task_side *s = &k->task->candidate;
  char *text;
  size_t length;
  plumb_diag problem;
  plumb_status status = plumb_cuda_to_ptx(k->arena, cuda, s->source, &text, &length, &problem);
  bool wanted = s->compile_with && strcmp(s->compile_with, "nvcc") == 0;
  if (status == PLUMB_UNSUPPORTED && !wanted) {
    add_note(k, plumb_arena_printf(k->arena, "no ladder from nvcc: %s", problem.message));
    return PLUMB_OK;
  }
  plumb_ladder *ladder = plumb_ladder_create(k->arena, "candidate (nvcc)");
  if (status == PLUMB_OK) {
    status = plumb_lower_single(ladder, PLUMB_STAGE_PTX, s->source, text, length, &problem);
    if (status == PLUMB_BAD_INPUT && ladder->stage_count == 0) {
      plumb_ladder_append(ladder, PLUMB_STAGE_PTX, "nvcc", text, length, NULL, &problem);
      status = PLUMB_OK;
    }
    if (ladder->stage_count) ladder->stages[0].step = "nvcc";
  }
  if (status != PLUMB_OK) {
    if (k->diag) *k->diag = problem;
    return status;
  }
  add_side(k, "candidate (nvcc)", ladder, false);
  return PLUMB_OK;
}

static plumb_status make_cuda(check *k) {
  const plumb_task_side *s = &k->task->candidate;
  plumb_cuda_options cuda = {.arch = s->arch, .flags = s->flags, .flag_count = s->flag_count};
  bool only_nvcc = s->compile_with && strcmp(s->compile_with, "nvcc") == 0;
  char *text;
  size_t length;
  if (!only_nvcc) {
    PLUMB_TRY(plumb_cuda_to_llvm(k->arena, &cuda, s->source, &text, &length, k->diag));
    plumb_ladder *ladder = plumb_ladder_create(k->arena, "candidate");
    plumb_lower_options options = lower_options(k, s);
    PLUMB_TRY(plumb_lower_llvm(ladder, s->source, text, length, &options, k->diag));
    add_side(k, "candidate", ladder, false);
  }
  return make_nvcc(k, &cuda);
}

static plumb_status make_candidate(check *k) {
  const plumb_task_side *s = &k->task->candidate;
  if (ends_with(s->source, ".cu")) return make_cuda(k);
  char *text;
  size_t length;
  plumb_stage_kind kind;
  if (!plumb_stage_kind_from_path(s->source, &kind))
    return plumb_fail(k->diag, PLUMB_BAD_INPUT, k->task->path, s->source_line, 0,
                      "candidate '%s': the ending is none of .cu .ptx .ll .mlir .plumb", s->source);
  PLUMB_TRY(plumb_file_read(k->arena, s->source, &text, &length, k->diag));
  plumb_ladder *ladder = plumb_ladder_create(k->arena, "candidate");
  plumb_lower_options options = lower_options(k, s);
  if (kind == PLUMB_STAGE_LLVM)
    PLUMB_TRY(plumb_lower_llvm(ladder, s->source, text, length, &options, k->diag));
  else
    PLUMB_TRY(plumb_lower_single(ladder, kind, s->source, text, length, k->diag));
  add_side(k, "candidate", ladder, false);
  return PLUMB_OK;
}

/* --- judging --- */

static const char *index_text(plumb_arena *arena, const plumb_array *a, size_t index) {
  size_t *parts = PLUMB_NEW_ARRAY(arena, size_t, a->rank);
  for (size_t d = a->rank; d-- > 0;) {
    parts[d] = index % (size_t)a->dims[d];
    index /= (size_t)a->dims[d];
  }
  plumb_text text = plumb_text_create(arena);
  plumb_text_printf(&text, "[");
  for (size_t d = 0; d < a->rank; d++) plumb_text_printf(&text, "%s%zu", d ? ", " : "", parts[d]);
  plumb_text_printf(&text, "]");
  return text.data;
}

static const char *fill_text(check *k, size_t fill_index) {
  plumb_text text = plumb_text_create(k->arena);
  for (size_t i = 0; i < k->task->tensor_count; i++) {
    const plumb_task_tensor *t = &k->task->tensors[i];
    if (t->role == PLUMB_ROLE_OUTPUT) continue;
    size_t at = fill_index < t->fill_count ? fill_index : t->fill_count - 1;
    const plumb_fill *f = &t->fills[at];
    plumb_text_printf(&text, "%s%s=%s", text.length ? " " : "", t->name, plumb_fill_text(f->kind));
    if (f->kind == PLUMB_FILL_NORMAL && (f->mean != 0 || f->std != 1))
      plumb_text_printf(&text, "(%g, %g)", f->mean, f->std);
  }
  return text.data;
}

static const char *copy_or_null(plumb_arena *arena, const char *text) {
  return text ? plumb_arena_copy_string(arena, text) : NULL;
}

/* The trap outlives the arena of its run. */
static plumb_trap keep_trap(plumb_arena *arena, const plumb_trap *trap) {
  plumb_trap kept = *trap;
  kept.function = copy_or_null(arena, trap->function);
  kept.allocation = copy_or_null(arena, trap->allocation);
  kept.message = copy_or_null(arena, trap->message);
  return kept;
}

static void lower_verdict(plumb_stage_report *s, plumb_verdict verdict) {
  if (verdict > s->verdict) s->verdict = verdict;
}

static void judge_output(check *k, plumb_stage_report *s, const plumb_case *c, size_t tensor,
                         const plumb_outcome *expected, const plumb_outcome *actual) {
  const plumb_array *e = &expected->outputs[tensor], *a = &actual->outputs[tensor];
  if (k->task->tensors[tensor].role == PLUMB_ROLE_INPUT) return;
  if (!e->data || !a->data) {
    lower_verdict(s, PLUMB_VERDICT_UNDECIDED);
    s->why_undecided =
        plumb_arena_printf(k->arena, "output %s was not produced", k->task->tensors[tensor].name);
    return;
  }
  const plumb_budget *budgets = expected->budgets[tensor];
  plumb_comparison r = plumb_compare(e->type, e->count, e->data, a->data,
                                     actual->initialised[tensor], budgets, &k->report->accept);
  if (plumb_stage_report_add(s, &r, k->task->tensors[tensor].name, budgets)) {
    s->worst_index_text = index_text(k->arena, e, r.worst);
    s->worst_shape = plumb_task_shape_text(k->arena, k->task, &c->shape);
    s->worst_fill = fill_text(k, c->fill_index);
  }
}

/* What one run of one stage says, beside the reference's stage 0. */
static void judge(check *k, plumb_stage_report *s, const plumb_case *c,
                  const plumb_outcome *expected, const plumb_outcome *actual) {
  s->cases++;
  s->counters = actual->counters;
  if (actual->status != PLUMB_OK) {
    lower_verdict(s, PLUMB_VERDICT_UNDECIDED);
    if (!s->why_undecided) {
      char sentence[1400];
      plumb_diag_format(&actual->problem, sentence, sizeof sentence);
      s->why_undecided = plumb_arena_copy_string(k->arena, sentence);
    }
    return;
  }
  if (actual->trap.kind != PLUMB_TRAP_NONE) {
    if (s->trap.kind == PLUMB_TRAP_NONE) {
      s->trap = keep_trap(k->arena, &actual->trap);
      s->trap_case = plumb_arena_printf(k->arena, "%s, fill %s",
                                        plumb_task_shape_text(k->arena, k->task, &c->shape),
                                        fill_text(k, c->fill_index));
    }
    lower_verdict(s, PLUMB_VERDICT_TRAPPED);
    return;
  }
  if (actual->changed_input) {
    lower_verdict(s, PLUMB_VERDICT_DIVERGED);
    s->note = plumb_arena_printf(k->arena, "input %s was changed; declare it 'role: inout'",
                                 actual->changed_input);
  }
  for (size_t i = 0; i < k->task->tensor_count; i++) judge_output(k, s, c, i, expected, actual);
}

static void execute(check *k, plumb_arena *scratch, const side *sd, const plumb_stage *stage,
                    const plumb_case *c, bool companions, plumb_outcome *out) {
  plumb_run_options options = plumb_run_options_default();
  options.seed = k->options->seed;
  options.jobs = k->options->jobs;
  options.companions = companions;
  if (sd->is_reference)
    plumb_execute_host(scratch, stage, c, &k->plan, &options, out);
  else
    plumb_execute_kernel(scratch, stage, c, &options, out);
}

/* True when the stage before, in the same ladder, executes the very same program. */
static bool same_as_before(const side *sd, size_t i) {
  const plumb_stage *stages = sd->ladder->stages;
  return i > 0 && stages[i].program && stages[i - 1].program &&
         stages[i].digest.lo == stages[i - 1].digest.lo &&
         stages[i].digest.hi == stages[i - 1].digest.hi;
}

/* An argument or a launch that does not fit is the task's fault, not a verdict: the
 * status of such a run is returned, and ends the check. */
static plumb_status run_side(check *k, const side *sd, const plumb_case *c,
                             const plumb_outcome *expected) {
  plumb_outcome last = {0};
  plumb_status status = PLUMB_OK;
  plumb_arena *last_arena = NULL;
  for (size_t i = 0; i < sd->ladder->stage_count && status == PLUMB_OK; i++) {
    const plumb_stage *stage = &sd->ladder->stages[i];
    plumb_stage_report *s = &k->report->stages[sd->first + i];
    /* A stage that is already known to trap says nothing more in another case. */
    if (!stage->program || s->verdict == PLUMB_VERDICT_TRAPPED) continue;
    if (sd->is_reference && i == 0) {
      judge(k, s, c, expected, expected);
      continue;
    }
    if (!last_arena || !same_as_before(sd, i)) {
      if (last_arena) plumb_arena_destroy(last_arena);
      last_arena = plumb_arena_create();
      execute(k, last_arena, sd, stage, c, false, &last);
    }
    if (last.status == PLUMB_BAD_INPUT) {
      status = last.status;
      if (k->diag) *k->diag = last.problem;
    } else {
      judge(k, s, c, expected, &last);
    }
  }
  if (last_arena) plumb_arena_destroy(last_arena);
  return status;
}

static plumb_status run_case(check *k, plumb_task_shape shape, size_t fill_index) {
  plumb_arena *scratch = plumb_arena_create();
  plumb_case *c;
  plumb_status status = plumb_case_create(scratch, k->task, shape, fill_index,
                                          k->options->seed + fill_index, &c, k->diag);
  const plumb_stage *first = &k->sides[0].ladder->stages[0];
  if (status == PLUMB_OK && first->program) {
    plumb_outcome expected;
    bool companions =
        !k->report->accept.tolerance && k->report->accept.level != PLUMB_VERDICT_IDENTICAL;
    execute(k, scratch, &k->sides[0], first, c, companions, &expected);
    bool usable = expected.status == PLUMB_OK && expected.trap.kind == PLUMB_TRAP_NONE;
    if (expected.status == PLUMB_BAD_INPUT) {
      status = expected.status;
      if (k->diag) *k->diag = expected.problem;
    } else if (!usable) {
      judge(k, &k->report->stages[0], c, &expected, &expected);
    }
    for (size_t i = 0; i < k->side_count && usable && status == PLUMB_OK; i++)
      status = run_side(k, &k->sides[i], c, &expected);
    if (usable) k->report->cases++;
  }
  plumb_arena_destroy(scratch);
  return status;
}

static size_t fill_runs(const plumb_task *task) {
  size_t runs = 1;
  for (size_t i = 0; i < task->tensor_count; i++)
    if (task->tensors[i].role != PLUMB_ROLE_OUTPUT && task->tensors[i].fill_count > runs)
      runs = task->tensors[i].fill_count;
  return runs;
}

/* --- the report --- */

static plumb_status save_stage(check *k, plumb_stage_report *s) {
  static const char *const endings[] = {"mlir", "ll", "ptx", "plumb"};
  if (!k->options->save || !s->stage->text_length) return PLUMB_OK;
  if (mkdir(k->options->save, 0777) != 0 && errno != EEXIST)
    return plumb_fail(k->diag, PLUMB_BAD_INPUT, k->options->save, 0, 0,
                      "--save: cannot create the folder: %s", strerror(errno));
  char step[48];
  size_t n = 0;
  for (const char *c = s->stage->step; *c && n + 1 < sizeof step; c++)
    step[n++] =
        (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ? *c : '-';
  step[n] = 0;
  const char *side_name = strcmp(s->side, "candidate (nvcc)") == 0 ? "candidate-nvcc" : s->side;
  s->file = plumb_arena_printf(k->arena, "%s/%s-%03d-%s.%s", k->options->save, side_name,
                               s->stage->index, step, endings[s->stage->kind]);
  FILE *file = fopen(s->file, "wb");
  if (!file || fwrite(s->stage->text, 1, s->stage->text_length, file) != s->stage->text_length ||
      fclose(file) != 0)
    return plumb_fail(k->diag, PLUMB_BAD_INPUT, s->file, 0, 0, "cannot write: %s", strerror(errno));
  return PLUMB_OK;
}

static plumb_status list_stages(check *k) {
  plumb_report *r = k->report;
  for (size_t i = 0; i < k->side_count; i++) {
    side *sd = &k->sides[i];
    sd->first = r->stage_count;
    for (size_t j = 0; j < sd->ladder->stage_count; j++) {
      r->stages = plumb_arena_grow(k->arena, r->stages, &r->stage_capacity, r->stage_count + 1,
                                   sizeof *r->stages);
      plumb_stage_report *s = &r->stages[r->stage_count++];
      *s = (plumb_stage_report){.side = sd->name, .stage = &sd->ladder->stages[j]};
      if (!s->stage->program) {
        s->verdict = PLUMB_VERDICT_UNDECIDED;
        char sentence[1400];
        plumb_diag_format(&s->stage->problem, sentence, sizeof sentence);
        s->why_undecided = plumb_arena_copy_string(k->arena, sentence);
      }
      PLUMB_TRY(save_stage(k, s));
    }
  }
  return PLUMB_OK;
}

static bool stage_accepted(const plumb_report *r, const plumb_stage_report *s) {
  return s->verdict <= (r->accept.tolerance ? PLUMB_VERDICT_BOUNDED : r->accept.level);
}

/* What no run has shown is undecided: a stage that never ran, and the levels between
 * identical and bounded, which need tags beside the values. */
static void settle_stage(const plumb_report *r, plumb_stage_report *s) {
  bool symbolic =
      r->accept.level == PLUMB_VERDICT_REASSOCIATED || r->accept.level == PLUMB_VERDICT_ALGEBRAIC;
  const char *why = NULL;
  if (s->verdict < PLUMB_VERDICT_UNDECIDED && !s->cases)
    why = "it was never executed: stage 0 of the reference gave no values to compare with";
  else if (s->verdict == PLUMB_VERDICT_BOUNDED && symbolic && !r->accept.tolerance)
    why =
        "values differ inside the derived budget; whether only the order of operations "
        "differs is not examined";
  if (!why) return;
  s->verdict = PLUMB_VERDICT_UNDECIDED;
  s->why_undecided = why;
}

/* The verdict of the whole is that of its worst stage. Blame: the first stage of a
 * ladder that traps or diverges, the candidate's side first, since the question is the
 * translation; where there is none, the first that is undecided. */
static void conclude(check *k) {
  plumb_report *r = k->report;
  r->blamed = -1;
  for (size_t i = 0; i < r->stage_count; i++) settle_stage(r, &r->stages[i]);
  for (size_t i = 0; i < r->stage_count; i++)
    if (r->stages[i].verdict > r->verdict) r->verdict = r->stages[i].verdict;
  if (!r->cases && r->verdict < PLUMB_VERDICT_UNDECIDED) r->verdict = PLUMB_VERDICT_UNDECIDED;
  r->accepted = r->cases > 0;
  for (size_t i = 0; i < r->stage_count; i++)
    if (!stage_accepted(r, &r->stages[i])) r->accepted = false;
  for (int undecided = 0; undecided < 2 && r->blamed < 0; undecided++)
    for (int reference = 0; reference < 2 && r->blamed < 0; reference++)
      for (size_t i = 0; i < r->stage_count && r->blamed < 0; i++) {
        const plumb_stage_report *s = &r->stages[i];
        bool is_reference = strcmp(s->side, "reference") == 0;
        bool is_undecided = s->verdict == PLUMB_VERDICT_UNDECIDED;
        if (!stage_accepted(r, s) && is_reference == (reference == 1) &&
            is_undecided == (undecided == 1))
          r->blamed = (int)i;
      }
}

static const char *versions(check *k) {
  const char *clang = plumb_cuda_clang_version(k->arena);
  const char *toolkit = plumb_cuda_toolkit(k->arena);
  const char *nvcc = toolkit ? plumb_cuda_nvcc_version(k->arena, toolkit) : NULL;
  return plumb_arena_printf(k->arena, "plumb 0.1.0; LLVM and MLIR 22; clang %s; nvcc %s",
                            clang ? clang : "absent", nvcc ? nvcc : "absent");
}

plumb_status plumb_check_run(plumb_arena *arena, const plumb_task *task,
                             const plumb_check_options *options, plumb_report **out_report,
                             plumb_diag *diag) {
  check k = {.arena = arena, .task = task, .options = options, .diag = diag};
  k.report = PLUMB_NEW(arena, plumb_report);
  *k.report = (plumb_report){.name = task->name,
                             .path = task->path,
                             .category = task->category,
                             .accept = task->accept,
                             .command = options->command,
                             .seed = options->seed};
  plumb_task_shape *shapes;
  size_t shape_count;
  PLUMB_TRY(plumb_task_shapes(arena, task, &shapes, &shape_count, diag));
  PLUMB_TRY(make_reference(&k));
  PLUMB_TRY(make_candidate(&k));
  PLUMB_TRY(list_stages(&k));
  size_t runs = fill_runs(task);
  for (size_t i = 0; i < shape_count * runs; i++) {
    if (options->progress)
      options->progress(options->progress_user, task->name, i, shape_count * runs,
                        plumb_task_shape_text(arena, task, &shapes[i / runs]));
    PLUMB_TRY(run_case(&k, shapes[i / runs], i % runs));
  }
  conclude(&k);
  k.report->versions = versions(&k);
  *out_report = k.report;
  return PLUMB_OK;
}

plumb_status plumb_check_task(plumb_arena *arena, const char *path,
                              const plumb_check_options *options, plumb_report **out_report,
                              plumb_diag *diag) {
  char *text;
  size_t length;
  plumb_task *task;
  PLUMB_TRY(plumb_file_read(arena, path, &text, &length, diag));
  PLUMB_TRY(plumb_task_read(arena, path, text, length, &task, diag));
  return plumb_check_run(arena, task, options, out_report, diag);
}

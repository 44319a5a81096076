/* `plumb lower`: one side's ladder, every stage executed on the given values, compared
 * with stage 0 (or with the values of --expect); the first stage that differs is named. */
#include <string.h>

#include "frontends/cuda.h"
#include "lower/lower.h"
#include "tasks/freedom.h"
#include "tasks/save.h"
#include "tasks/source.h"
#include "tasks/verbs.h"

typedef struct lowering {
  plumb_arena *arena;
  plumb_verb_options *o;
  plumb_ladder *ladder;
  plumb_report *report;
  plumb_diag *diag;
  bool open; /* some of stage 0's output is undefined, and --expect does not give it */
  /* right values given by --expect; type PLUMB_DTYPE_COUNT: none */
  plumb_array *expected_args, *expected_results;
} lowering;

/* --to ptx asks for PTX: a ladder that ends above it is no answer. */
static void demand_device(lowering *l) {
  if (!l->o->to_ptx || !l->ladder->no_device) return;
  plumb_diag problem;
  plumb_fail(&problem, PLUMB_UNSUPPORTED, l->o->files[0], 0, 0, "%s", l->ladder->no_device);
  plumb_ladder_append(l->ladder, PLUMB_STAGE_LLVM, "translate to LLVM IR", "", 0, NULL, &problem);
}

static plumb_status make_ladder(lowering *l) {
  plumb_verb_options *o = l->o;
  plumb_lower_options options = {.arch = o->arch ? o->arch : "sm_90",
                                 .pipeline = o->pipeline,
                                 .llvm_pipeline = o->llvm_pipeline,
                                 .to_ptx = o->to_ptx};
  options.libdevice = plumb_cuda_libdevice(l->arena);
  l->ladder = plumb_ladder_create(l->arena, o->files[0]);
  for (size_t i = 0; i < o->file_count; i++) {
    const char *path = o->files[i];
    plumb_stage_kind kind;
    char *text;
    size_t length;
    PLUMB_TRY(plumb_source_read(l->arena, path, &kind, &text, &length, l->diag));
    if (o->file_count > 1) {
      PLUMB_TRY(plumb_lower_single(l->ladder, kind, path, text, length, l->diag));
      l->ladder->stages[l->ladder->stage_count - 1].step = path;
    } else if (kind == PLUMB_STAGE_MLIR) {
      PLUMB_TRY(plumb_lower_mlir(l->ladder, path, text, length, &options, l->diag));
      demand_device(l);
    } else if (kind == PLUMB_STAGE_LLVM) {
      PLUMB_TRY(plumb_lower_llvm(l->ladder, path, text, length, &options, l->diag));
    } else {
      return plumb_fail(l->diag, PLUMB_UNSUPPORTED, path, 0, 0,
                        "lower takes one .mlir or .ll, or several files that are a ladder");
    }
  }
  return PLUMB_OK;
}

static plumb_status parse_expectation(lowering *l, const char *text) {
  const plumb_invocation *v = &l->o->invocation;
  const char *equals = strchr(text, '=');
  bool result = strncmp(text, "result", 6) == 0;
  const char *digits = result ? text + 6 : strncmp(text, "arg", 3) == 0 ? text + 3 : text;
  size_t k = 0;
  if (!equals || equals == digits)
    return plumb_fail(l->diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                      "--expect '%.60s': write K=V or resultK=V", text);
  for (; digits < equals; digits++) {
    if (*digits < '0' || *digits > '9' || k > 1000)
      return plumb_fail(l->diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                        "--expect '%.60s': write K=V or resultK=V", text);
    k = k * 10 + (size_t)(*digits - '0');
  }
  if (k >= (result ? v->result_count : v->arg_count))
    return plumb_fail(l->diag, PLUMB_BAD_INPUT, NULL, 0, 0, "--expect '%.60s': there is no such %s",
                      text, result ? "result" : "argument");
  plumb_dtype type = result ? v->results[k].type : v->args[k].array.type;
  plumb_value value;
  const int64_t *dims = result ? NULL : v->args[k].array.dims;
  PLUMB_TRY(plumb_value_parse(l->arena, equals + 1, type, dims, result ? 0 : v->args[k].array.rank,
                              &value, l->diag));
  (result ? l->expected_results : l->expected_args)[k] = value.array;
  return PLUMB_OK;
}

static void judge_array(lowering *l, plumb_stage_report *s, const char *name,
                        const plumb_readback *right, const plumb_readback *readback) {
  const plumb_array *expected = &right->array, *actual = &readback->array;
  const plumb_budget *budgets = right->budgets;
  if (expected->count != actual->count || expected->type != actual->type) {
    s->verdict = PLUMB_VERDICT_DIVERGED;
    s->note = plumb_arena_printf(l->arena, "%s has another size or type", name);
    return;
  }
  plumb_comparison r = plumb_compare(
      expected->type, expected->count, (plumb_values){expected->data, right->initialised},
      (plumb_values){actual->data, readback->initialised}, budgets, &l->report->accept);
  l->open |= r.open > 0;
  if (plumb_stage_report_add(s, &r, name, budgets)) {
    s->worst_index_text = plumb_arena_printf(l->arena, "[%zu]", r.worst);
    s->worst_shape = s->worst_fill = "as given";
  }
}

static void judge(lowering *l, plumb_stage_report *s, const plumb_invoked *first,
                  const plumb_invoked *r) {
  const plumb_invocation *v = &l->o->invocation;
  s->cases = 1;
  s->counters = r->counters;
  if (r->status != PLUMB_OK) {
    char sentence[1400];
    plumb_diag_format(&r->problem, sentence, sizeof sentence);
    s->why_undecided = plumb_arena_copy_string(l->arena, sentence);
    s->verdict = PLUMB_VERDICT_UNDECIDED;
    return;
  }
  if (plumb_stage_report_excuses(s, &r->trap, l->open)) return;
  if (r->trap.kind != PLUMB_TRAP_NONE) {
    s->trap = r->trap;
    s->verdict = PLUMB_VERDICT_TRAPPED;
    return;
  }
  size_t compared = 0;
  bool first_ran = first->status == PLUMB_OK && first->trap.kind == PLUMB_TRAP_NONE;
  for (size_t i = 0; i < v->arg_count; i++) {
    if (v->args[i].is_scalar) continue;
    bool given = l->expected_args[i].type != PLUMB_DTYPE_COUNT;
    if (v->arg_values[i] && !given) continue;
    compared += given || first_ran;
    if (given || first_ran)
      judge_array(l, s, plumb_arena_printf(l->arena, "arg%zu", i),
                  given ? &(plumb_readback){.array = l->expected_args[i]} : &first->args[i],
                  &r->args[i]);
  }
  for (size_t i = 0; i < v->result_count; i++) {
    bool given = l->expected_results[i].type != PLUMB_DTYPE_COUNT;
    compared += given || first_ran;
    if (given || first_ran)
      judge_array(l, s, plumb_arena_printf(l->arena, "result%zu", i),
                  given ? &(plumb_readback){.array = l->expected_results[i]} : &first->results[i],
                  &r->results[i]);
  }
  if (!compared && s->verdict < PLUMB_VERDICT_UNDECIDED) {
    s->verdict = PLUMB_VERDICT_UNDECIDED;
    s->why_undecided = first_ran ? "it has no array argument and no result to compare"
                                 : "stage 0 gave no values to compare with";
  }
}

/* The other readings of a stage that gave `r`: a note for each that gives something else. */
static void read_otherwise(lowering *l, const plumb_freedom_readings *readings,
                           const plumb_stage_report *s, const plumb_run_options *options,
                           const plumb_invoked *first, const plumb_invoked *r) {
  unsigned bits = l->o->freedom;
  plumb_report *report = l->report;
  if (r->status != PLUMB_OK || r->trap.kind != PLUMB_TRAP_NONE) return;
  for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++) {
    if (!readings->others[i]) continue;
    plumb_run_options other = *options;
    plumb_stage_report t = {.side = s->side, .stage = s->stage};
    plumb_freedom_seen seen = {0};
    plumb_invoked o;
    other.seed = l->o->seed + plumb_freedom_seed(bits, (plumb_freedom)i);
    plumb_invoke(l->arena, readings->others[i], &l->o->invocation, &other, &o);
    if (plumb_freedom_is_illegal((plumb_freedom)i, &o.trap) ||
        plumb_freedom_same_call(&l->o->invocation, r, &o))
      continue;
    judge(l, &t, first, &o);
    bool here = plumb_stage_accepted(report, s), there = plumb_stage_accepted(report, &t);
    if (here && !there) seen.alone = 1u << i;
    if (there && !here) seen.rescued = 1u << i;
    report->notes = plumb_arena_grow(l->arena, report->notes, &report->note_capacity,
                                     report->note_count + 1, sizeof *report->notes);
    report->notes[report->note_count++] =
        plumb_arena_printf(l->arena, "stage %d depends on %s", s->stage->index,
                           plumb_freedom_note(l->arena, bits, (plumb_freedom)i, &seen));
  }
}

static void run_stages(lowering *l) {
  plumb_invoked first = {.status = PLUMB_UNSUPPORTED}, r;
  plumb_report *report = l->report;
  for (size_t i = 0; i < report->stage_count; i++) {
    plumb_stage_report *s = &report->stages[i];
    plumb_freedom_readings readings;
    plumb_freedom_readings_create(l->arena, s->stage, l->o->freedom, &readings);
    s->stage = readings.stage;
    plumb_run_options options = plumb_run_options_default();
    options.seed = l->o->seed;
    options.step_limit = l->o->steps;
    if (s->stage->kind == PLUMB_STAGE_PTX)
      options.seed += plumb_freedom_seed(l->o->freedom, PLUMB_FREEDOM_COUNT);
    options.jobs = l->o->jobs;
    options.model = l->o->model;
    options.companions = i == 0 && s->stage->kind == PLUMB_STAGE_MLIR;
    plumb_invoke(l->arena, s->stage, &l->o->invocation, &options, &r);
    if (i == 0) first = r;
    judge(l, s, &first, &r);
    read_otherwise(l, &readings, s, &options, &first, &r);
    if (s->verdict > report->verdict) report->verdict = s->verdict;
    bool bad = s->verdict > PLUMB_VERDICT_BOUNDED;
    bool undecided = s->verdict == PLUMB_VERDICT_UNDECIDED;
    /* An undecided stage is blamed only where no later one is worse. */
    if (bad && (report->blamed < 0 ||
                (!undecided && report->stages[report->blamed].verdict == PLUMB_VERDICT_UNDECIDED)))
      report->blamed = (int)i;
  }
  report->cases = 1;
  report->accepted = report->blamed < 0;
}

static plumb_status list_stages(lowering *l) {
  plumb_report *r = l->report;
  r->stages = PLUMB_NEW_ARRAY(l->arena, plumb_stage_report, l->ladder->stage_count);
  r->stage_count = l->ladder->stage_count;
  for (size_t i = 0; i < r->stage_count; i++) {
    plumb_stage_report *s = &r->stages[i];
    *s = (plumb_stage_report){.side = "reference", .stage = &l->ladder->stages[i]};
    if (l->o->save)
      PLUMB_TRY(plumb_stage_save(l->arena, l->o->save, s->side, s->stage, &s->file, l->diag));
  }
  return PLUMB_OK;
}

plumb_status plumb_verb_lower(plumb_arena *arena, plumb_verb_options *o, plumb_text *out,
                              int *out_exit, plumb_diag *diag) {
  if (!o->file_count)
    return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                      "lower needs a file: plumb lower FILE --pipeline P");
  lowering l = {.arena = arena, .o = o, .diag = diag};
  PLUMB_TRY(make_ladder(&l));
  o->invocation.path = o->files[0];
  PLUMB_TRY(plumb_invocation_bind(arena, &l.ladder->stages[0], &o->invocation, diag));
  l.expected_args = PLUMB_NEW_ARRAY(arena, plumb_array, o->invocation.arg_count);
  l.expected_results = PLUMB_NEW_ARRAY(arena, plumb_array, o->invocation.result_count);
  for (size_t i = 0; i < o->invocation.arg_count; i++) l.expected_args[i].type = PLUMB_DTYPE_COUNT;
  for (size_t i = 0; i < o->invocation.result_count; i++)
    l.expected_results[i].type = PLUMB_DTYPE_COUNT;
  for (size_t i = 0; i < o->expect_count; i++) PLUMB_TRY(parse_expectation(&l, o->expect[i]));
  l.report = PLUMB_NEW(arena, plumb_report);
  *l.report = (plumb_report){.name = o->files[0],
                             .path = o->files[0],
                             .accept = {.level = PLUMB_VERDICT_BOUNDED},
                             .blamed = -1,
                             .command = o->command,
                             .seed = o->seed,
                             .model = o->model_name,
                             .versions = "plumb 0.1.0; LLVM and MLIR 22"};
  PLUMB_TRY(list_stages(&l));
  run_stages(&l);
  *out_exit = plumb_report_exit_code(l.report);
  plumb_checked checked = {.path = o->files[0], .report = l.report};
  plumb_reports_write(o->format, &checked, 1, out);
  return PLUMB_OK;
}

#include "tasks/check.h"

#include <pthread.h>
#include <string.h>

#include "frontends/cuda.h"
#include "ir/base/parallel.h"
#include "tasks/freedom.h"
#include "tasks/save.h"
#include "tasks/sides.h"

/* Beside each stage of the report. */
typedef struct stage_row {
  const plumb_side *side;
  size_t same_as; /* the first row, but the reference's stage 0, that executes this program
                     in the same way; its own index where there is none before */
  plumb_freedom_readings readings;
  plumb_freedom_seen seen;
} stage_row;

typedef struct check {
  plumb_arena *arena;
  const plumb_task *task;
  const plumb_check_options *options;
  plumb_report *report;
  plumb_diag *diag;
  plumb_sides sides;
  stage_row *rows; /* one a stage of the report */
  plumb_task_shape *shapes;
  size_t fills, case_count; /* a case is a shape with a fill */
} check;

static void add_note(check *k, const char *note) {
  plumb_report *r = k->report;
  r->notes =
      plumb_arena_grow(k->arena, r->notes, &r->note_capacity, r->note_count + 1, sizeof *r->notes);
  r->notes[r->note_count++] = note;
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

/* Takes the comparison of output `tensor` into the stage. */
static void judge_output(check *k, plumb_stage_report *s, const plumb_case *c, size_t tensor,
                         const plumb_outcome *expected, const plumb_comparison *r) {
  const plumb_task_tensor *t = &k->task->tensors[tensor];
  const plumb_budget *budgets = expected->budgets[tensor];
  if (r->verdict == PLUMB_VERDICT_UNDECIDED && !r->count) {
    lower_verdict(s, PLUMB_VERDICT_UNDECIDED);
    s->why_undecided = plumb_arena_printf(k->arena, "output %s was not produced", t->name);
  } else if (plumb_stage_report_add(s, r, t->name, budgets)) {
    s->worst_index_text = index_text(k->arena, &expected->outputs[tensor], r->worst);
    s->worst_shape = plumb_task_shape_text(k->arena, k->task, &c->shape);
    s->worst_fill = fill_text(k, c->fill_index);
  }
}

/* One comparison a tensor, beside the reference's stage 0: count 0 and undecided for an
 * output that one of the two did not give. Inputs have none. */
static plumb_comparison *compare_outputs(plumb_arena *arena, const check *k,
                                         const plumb_outcome *expected,
                                         const plumb_outcome *actual) {
  plumb_comparison *all = PLUMB_NEW_ARRAY(arena, plumb_comparison, k->task->tensor_count);
  for (size_t i = 0; i < k->task->tensor_count; i++) {
    const plumb_array *e = &expected->outputs[i], *a = &actual->outputs[i];
    if (k->task->tensors[i].role == PLUMB_ROLE_INPUT) continue;
    if (e->data && a->data)
      all[i] = plumb_compare(e->type, e->count, (plumb_values){e->data, expected->initialised[i]},
                             (plumb_values){a->data, actual->initialised[i]}, expected->budgets[i],
                             &k->report->accept);
    else
      all[i] = (plumb_comparison){.verdict = PLUMB_VERDICT_UNDECIDED};
  }
  return all;
}

/* What one run of one stage says. `comparisons` is NULL where it gave no outputs. */
static void judge(check *k, plumb_stage_report *s, const plumb_case *c,
                  const plumb_outcome *expected, const plumb_outcome *actual,
                  const plumb_comparison *comparisons) {
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
  if (plumb_stage_report_excuses(s, &actual->trap, expected->open)) return;
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
  for (size_t i = 0; i < k->task->tensor_count; i++)
    if (k->task->tensors[i].role != PLUMB_ROLE_INPUT)
      judge_output(k, s, c, i, expected, &comparisons[i]);
}

static bool gave_outputs(const plumb_outcome *o) {
  return o->status == PLUMB_OK && o->trap.kind == PLUMB_TRAP_NONE;
}

/* Companions are carried by the reference's stage 0 alone, which nothing recalls. */
static void execute(const check *k, plumb_arena *scratch, const plumb_side *sd,
                    const plumb_stage *stage, const plumb_case *c, size_t jobs,
                    plumb_recall *recall, bool companions, plumb_freedom reading,
                    plumb_outcome *out) {
  plumb_run_options options = plumb_run_options_default();
  options.recall = recall;
  options.seed = k->options->seed;
  options.step_limit = k->options->steps;
  if (stage->kind == PLUMB_STAGE_PTX)
    options.seed += plumb_freedom_seed(k->options->freedom, reading);
  options.jobs = (int)jobs;
  options.model = k->options->model;
  options.companions = companions;
  if (sd->plan)
    plumb_execute_host(scratch, stage, c, sd->plan, &options, out);
  else
    plumb_execute_kernel(scratch, stage, c, &options, out);
}

/* --- one case: stages are independent of each other, so each core takes the next --- */

/* A case with what the reference's stage 0 gives. */
typedef struct prepared {
  plumb_arena *scratch; /* NULL: not yet */
  plumb_status status;  /* not OK: the task's fault, `problem` says what */
  plumb_diag problem;
  bool ran; /* false: stage 0 could not be decoded */
  plumb_case *c;
  plumb_outcome expected;
  const plumb_comparison *same; /* with itself: what it leaves undefined */
} prepared;

static void prepare(const check *k, size_t index, size_t jobs, prepared *p) {
  if (index >= k->case_count) return;
  size_t fill = index % k->fills;
  p->scratch = plumb_arena_create();
  p->status = plumb_case_create(p->scratch, k->task, k->shapes[index / k->fills], fill,
                                k->options->seed + fill, &p->c, &p->problem);
  const plumb_stage *first = &k->sides.items[0].ladder->stages[0];
  if (p->status != PLUMB_OK || !first->program) return;
  bool companions =
      !k->report->accept.tolerance && k->report->accept.level != PLUMB_VERDICT_IDENTICAL;
  execute(k, p->scratch, &k->sides.items[0], first, p->c, jobs, NULL, companions,
          PLUMB_FREEDOM_COUNT, &p->expected);
  p->ran = true;
  if (p->expected.status == PLUMB_BAD_INPUT) {
    p->status = p->expected.status;
    p->problem = p->expected.problem;
    return;
  }
  plumb_comparison *same = compare_outputs(p->scratch, k, &p->expected, &p->expected);
  for (size_t i = 0; i < k->task->tensor_count; i++) p->expected.open |= same[i].open > 0;
  p->same = same;
}

static size_t job_count(const check *k) {
  return k->options->jobs > 0 ? (size_t)k->options->jobs : plumb_core_count();
}

typedef struct case_run {
  check *k;
  size_t index;
  const plumb_case *c;
  const plumb_outcome *expected;
  prepared *ahead;
  plumb_recall *recall; /* launches of this case */
  size_t next;          /* the next row of k->rows, drawn atomically */
  pthread_mutex_t lock; /* the report, its arena, and `status` */
  plumb_status status;  /* an argument or a launch that does not fit: ends the check */
} case_run;

/* A stage that is already known to trap says nothing more in another case. */
static bool has_more_to_say(const plumb_stage_report *s) {
  return s->stage->program && s->verdict != PLUMB_VERDICT_TRAPPED;
}

static void run_row(case_run *r, size_t index);

static void judge_row(case_run *r, size_t index, const plumb_outcome *out,
                      const plumb_comparison *comparisons) {
  check *k = r->k;
  pthread_mutex_lock(&r->lock);
  if (out->status == PLUMB_BAD_INPUT && r->status == PLUMB_OK) {
    r->status = out->status;
    if (k->diag) *k->diag = out->problem;
  }
  if (r->status == PLUMB_OK)
    judge(k, &k->report->stages[index], r->c, r->expected, out, comparisons);
  pthread_mutex_unlock(&r->lock);
}

/* The stages that execute the very same program as row `index`: what it gave is theirs,
 * but for a trap, whose place each stage names for itself. */
static void judge_same(case_run *r, size_t index, const plumb_outcome *out,
                       const plumb_comparison *comparisons) {
  const check *k = r->k;
  for (size_t i = index + 1; i < k->report->stage_count; i++) {
    if (k->rows[i].same_as != index) continue;
    if (comparisons)
      judge_row(r, i, out, comparisons);
    else
      run_row(r, i);
  }
}

/* Whether a run of the other reading is worth its time. Payloads matter where NaNs are. */
static bool is_worth(const case_run *r, const plumb_outcome *out, plumb_freedom which) {
  enum { CHEAP = 20000000, CHEAP_NAN = 2000000 };
  const check *k = r->k;
  if (which != PLUMB_FREEDOM_NAN) return out->counters.lane_instructions <= CHEAP;
  if (out->counters.lane_instructions > CHEAP_NAN) return false;
  for (size_t t = 0; t < k->task->tensor_count; t++) {
    bool given = k->task->tensors[t].role != PLUMB_ROLE_OUTPUT;
    if (given && plumb_freedom_nonfinite(&r->c->tensors[t])) return true;
    if (plumb_freedom_nonfinite(&out->outputs[t])) return true;
  }
  return false;
}

/* Whether this case alone would have the stage accepted. */
static bool is_accepted(case_run *r, size_t index, const plumb_outcome *out,
                        const plumb_comparison *comparisons) {
  check *k = r->k;
  const plumb_stage_report *stage = &k->report->stages[index];
  plumb_stage_report s = {.side = stage->side, .stage = stage->stage};
  pthread_mutex_lock(&r->lock);
  judge(k, &s, r->c, r->expected, out, comparisons);
  pthread_mutex_unlock(&r->lock);
  return plumb_stage_accepted(k->report, &s);
}

/* Executes the stage in its other readings too: which of them give other outputs, and whether
 * those are accepted. Once that is known of one, no further case is asked. */
static void read_otherwise(case_run *r, size_t index, const plumb_outcome *out,
                           const plumb_comparison *comparisons) {
  check *k = r->k;
  stage_row *row = &k->rows[index];
  for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++) {
    const plumb_stage *other = row->readings.others[i];
    bool settled = ((row->seen.alone | row->seen.rescued) >> i & 1) != 0;
    if (!other || settled || !is_worth(r, out, (plumb_freedom)i)) continue;
    plumb_arena *scratch = plumb_arena_create();
    plumb_outcome o;
    execute(k, scratch, row->side, other, r->c, 1, NULL, false, (plumb_freedom)i, &o);
    bool same = gave_outputs(&o);
    for (size_t t = 0; same && t < k->task->tensor_count; t++)
      if (k->task->tensors[t].role != PLUMB_ROLE_INPUT)
        same = plumb_freedom_same(&out->outputs[t], &o.outputs[t]);
    if (!same && !plumb_freedom_is_illegal((plumb_freedom)i, &o.trap)) {
      row->seen.depends |= 1u << i;
      bool here = is_accepted(r, index, out, comparisons);
      bool there = is_accepted(
          r, index, &o, gave_outputs(&o) ? compare_outputs(scratch, k, r->expected, &o) : NULL);
      if (here && !there) row->seen.alone |= 1u << i;
      if (there && !here) row->seen.rescued |= 1u << i;
    }
    plumb_arena_destroy(scratch);
  }
}

static void run_row(case_run *r, size_t index) {
  check *k = r->k;
  const stage_row *row = &k->rows[index];
  const plumb_stage *stage = k->report->stages[index].stage;
  plumb_arena *scratch = plumb_arena_create();
  plumb_outcome out;
  execute(k, scratch, row->side, stage, r->c, 1, r->recall, false, PLUMB_FREEDOM_COUNT, &out);
  const plumb_comparison *comparisons =
      gave_outputs(&out) ? compare_outputs(scratch, k, r->expected, &out) : NULL;
  judge_row(r, index, &out, comparisons);
  if (row->same_as == index && comparisons) read_otherwise(r, index, &out, comparisons);
  if (row->same_as == index) judge_same(r, index, &out, comparisons);
  plumb_arena_destroy(scratch);
}

/* Row 0 is the reference's stage 0, which the others are judged by: it was executed before,
 * and in its turn the next case's is. */
static void run_rows(void *user) {
  case_run *r = user;
  const check *k = r->k;
  for (;;) {
    size_t i = __atomic_fetch_add(&r->next, 1, __ATOMIC_RELAXED);
    if (i >= k->report->stage_count) break;
    if (i == 0)
      prepare(k, r->index + 1, 1, r->ahead);
    else if (k->rows[i].same_as == i && has_more_to_say(&k->report->stages[i]))
      run_row(r, i);
  }
}

/* Judges what a case was prepared to. `ahead` is prepared for the case after it. */
static plumb_status run_case(check *k, size_t index, prepared *p, prepared *ahead) {
  if (p->status != PLUMB_OK) {
    if (k->diag) *k->diag = p->problem;
    return p->status;
  }
  if (!p->ran) return PLUMB_OK;
  judge(k, &k->report->stages[0], p->c, &p->expected, &p->expected, p->same);
  if (!gave_outputs(&p->expected)) return PLUMB_OK;
  case_run r = {.k = k,
                .index = index,
                .c = p->c,
                .expected = &p->expected,
                .ahead = ahead,
                .recall = plumb_recall_create()};
  pthread_mutex_init(&r.lock, NULL);
  plumb_parallel(job_count(k), run_rows, &r);
  pthread_mutex_destroy(&r.lock);
  plumb_recall_destroy(r.recall);
  k->report->cases++;
  return r.status;
}

static plumb_status run_cases(check *k) {
  prepared slots[2] = {{0}};
  plumb_status status = PLUMB_OK;
  for (size_t i = 0; i < k->case_count && status == PLUMB_OK; i++) {
    prepared *p = &slots[i % 2], *ahead = &slots[(i + 1) % 2];
    if (k->options->progress)
      k->options->progress(k->options->progress_user, k->task->name, i, k->case_count,
                           plumb_task_shape_text(k->arena, k->task, &k->shapes[i / k->fills]));
    if (!p->scratch) prepare(k, i, job_count(k), p);
    status = run_case(k, i, p, ahead);
    plumb_arena_destroy(p->scratch);
    *p = (prepared){0};
  }
  for (int i = 0; i < 2; i++)
    if (slots[i].scratch) plumb_arena_destroy(slots[i].scratch);
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

static size_t first_same(const check *k, size_t row) {
  const plumb_stage *stage = k->report->stages[row].stage;
  for (size_t i = 1; i < row; i++) {
    const plumb_stage *other = k->report->stages[i].stage;
    if (stage->program && other->program && k->rows[i].same_as == i &&
        strcmp(k->report->stages[i].side, k->report->stages[row].side) == 0 &&
        stage->digest.lo == other->digest.lo && stage->digest.hi == other->digest.hi)
      return i;
  }
  return row;
}

/* The stage of the report becomes the one that is executed. */
static stage_row stage_row_of(check *k, const plumb_side *side, size_t row) {
  stage_row r = {.side = side};
  plumb_stage_report *s = &k->report->stages[row];
  if (k->options->freedom) {
    plumb_freedom_readings_create(k->arena, s->stage, k->options->freedom, &r.readings);
    s->stage = r.readings.stage;
  }
  r.same_as = first_same(k, row);
  if (!k->options->freedom && r.same_as == row)
    plumb_freedom_readings_create(k->arena, s->stage, 0, &r.readings);
  return r;
}

static plumb_status list_stages(check *k) {
  plumb_report *r = k->report;
  for (size_t i = 0; i < k->sides.count; i++) {
    const plumb_side *sd = &k->sides.items[i];
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
      } else if (s->stage->program->note) {
        add_note(k, s->stage->program->note);
      }
      if (k->options->save)
        PLUMB_TRY(
            plumb_stage_save(k->arena, k->options->save, s->side, s->stage, &s->file, k->diag));
    }
  }
  k->rows = PLUMB_NEW_ARRAY(k->arena, stage_row, r->stage_count);
  for (size_t i = 0, n = 0; i < k->sides.count; i++)
    for (size_t j = 0; j < k->sides.items[i].ladder->stage_count; j++, n++)
      k->rows[n] = stage_row_of(k, &k->sides.items[i], n);
  return PLUMB_OK;
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

static void note_dependences(check *k, size_t index) {
  const plumb_stage_report *s = &k->report->stages[index];
  for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++)
    if (k->rows[index].seen.depends >> i & 1)
      add_note(
          k, plumb_arena_printf(k->arena, "%s, stage %d depends on %s", s->side, s->stage->index,
                                plumb_freedom_note(k->arena, k->options->freedom, (plumb_freedom)i,
                                                   &k->rows[index].seen)));
}

/* The verdict of the whole is that of its worst stage. Blame: the first stage of a
 * ladder that traps or diverges, the candidate's side first, since the question is the
 * translation; where there is none, the first that is undecided. */
static void conclude(check *k) {
  plumb_report *r = k->report;
  r->blamed = -1;
  for (size_t i = 0; i < r->stage_count; i++) settle_stage(r, &r->stages[i]);
  for (size_t i = 0; i < r->stage_count; i++) note_dependences(k, i);
  for (size_t i = 0; i < r->stage_count; i++)
    if (r->stages[i].verdict > r->verdict) r->verdict = r->stages[i].verdict;
  if (!r->cases && r->verdict < PLUMB_VERDICT_UNDECIDED) r->verdict = PLUMB_VERDICT_UNDECIDED;
  r->accepted = r->cases > 0;
  for (size_t i = 0; i < r->stage_count; i++)
    if (!plumb_stage_accepted(r, &r->stages[i])) r->accepted = false;
  for (int undecided = 0; undecided < 2 && r->blamed < 0; undecided++)
    for (int reference = 0; reference < 2 && r->blamed < 0; reference++)
      for (size_t i = 0; i < r->stage_count && r->blamed < 0; i++) {
        const plumb_stage_report *s = &r->stages[i];
        bool is_reference = strcmp(s->side, "reference") == 0;
        bool is_undecided = s->verdict == PLUMB_VERDICT_UNDECIDED;
        if (!plumb_stage_accepted(r, s) && is_reference == (reference == 1) &&
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
                             .seed = options->seed,
                             .model = options->model_name};
  size_t shape_count;
  PLUMB_TRY(plumb_task_shapes(arena, task, &k.shapes, &shape_count, diag));
  k.fills = fill_runs(task);
  k.case_count = shape_count * k.fills;
  PLUMB_TRY(plumb_sides_make(arena, task, &k.sides, diag));
  for (size_t i = 0; i < k.sides.count; i++)
    if (k.sides.items[i].note) add_note(&k, k.sides.items[i].note);
  if (k.sides.note) add_note(&k, k.sides.note);
  PLUMB_TRY(list_stages(&k));
  PLUMB_TRY(run_cases(&k));
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

#include "tasks/sides.h"

#include <pthread.h>
#include <string.h>

#include "frontends/cuda.h"
#include "ir/signature.h"
#include "lower/lower.h"
#include "tasks/source.h"

/* What a compiler made of the candidate's CUDA source, on a thread of its own. */
typedef plumb_status compiler(plumb_arena *arena, const plumb_cuda_options *options,
                              const char *source, char **out_text, size_t *out_length,
                              plumb_diag *diag);
typedef struct compiled {
  compiler *compile; /* NULL: it is not wanted */
  const plumb_task_side *side;
  pthread_t thread;
  bool apart;         /* the thread runs */
  plumb_arena *arena; /* of the thread */
  plumb_status status;
  plumb_diag problem;
  char *text;
  size_t length;
} compiled;

typedef struct making {
  plumb_arena *arena;
  const plumb_task *task;
  plumb_sides *sides;
  plumb_diag *diag;
  compiled clang, nvcc;
} making;

static bool ends_with(const char *text, const char *ending) {
  size_t n = strlen(text), m = strlen(ending);
  return n >= m && strcmp(text + n - m, ending) == 0;
}

static bool is_cuda(const plumb_task_side *s) {
  return ends_with(s->source, ".cu");
}

static bool only_nvcc(const plumb_task_side *s) {
  return s->compile_with && strcmp(s->compile_with, "nvcc") == 0;
}

static plumb_lower_options lower_options(making *m, const plumb_task_side *s) {
  plumb_lower_options o = {.arch = s->arch ? s->arch : "sm_90",
                           .pipeline = s->pipeline,
                           .llvm_pipeline = s->llvm_pipeline,
                           .to_ptx = true};
  o.libdevice = plumb_cuda_libdevice(m->arena);
  return o;
}

static plumb_side *add_side(making *m, const char *name, plumb_ladder *ladder) {
  plumb_side *s = &m->sides->items[m->sides->count++];
  *s = (plumb_side){.name = name, .ladder = ladder};
  if (ladder->no_device)
    s->note = plumb_arena_printf(m->arena, "the %s's ladder ends at stage %zu: %s", name,
                                 ladder->stage_count - 1, ladder->no_device);
  return s;
}

/* --- compilers --- */

static void *run(void *argument) {
  compiled *c = argument;
  const plumb_task_side *s = c->side;
  plumb_cuda_options cuda = {.arch = s->arch, .flags = s->flags, .flag_count = s->flag_count};
  c->status = c->compile(c->arena, &cuda, s->source, &c->text, &c->length, &c->problem);
  return NULL;
}

static void compile_begin(compiled *c, const plumb_task_side *side, compiler *compile) {
  *c = (compiled){.compile = compile, .side = side, .arena = plumb_arena_create()};
  c->apart = pthread_create(&c->thread, NULL, run, c) == 0;
}

/* Waits; where there was no thread to be had, compiles now. */
static void compile_end(compiled *c) {
  if (!c->compile) return;
  if (c->apart)
    pthread_join(c->thread, NULL);
  else
    run(c);
}

static void compile_forget(compiled *c) {
  if (c->compile) plumb_arena_destroy(c->arena);
}

/* --- ladders --- */

static plumb_status make_reference(making *m) {
  const plumb_task_side *s = &m->task->reference;
  char *text;
  size_t length;
  plumb_stage_kind kind;
  if (!plumb_stage_kind_from_path(s->source, &kind) || kind != PLUMB_STAGE_MLIR)
    return plumb_fail(m->diag, PLUMB_UNSUPPORTED, m->task->path, s->source_line, 0,
                      "reference '%s': references are read from .mlir", s->source);
  PLUMB_TRY(plumb_file_read(m->arena, s->source, &text, &length, m->diag));
  plumb_call_plan *plan = PLUMB_NEW(m->arena, plumb_call_plan);
  PLUMB_TRY(plumb_call_plan_create(m->arena, m->task, s, text, plan, m->diag));
  plumb_ladder *ladder = plumb_ladder_create(m->arena, "reference");
  plumb_lower_options options = lower_options(m, s);
  PLUMB_TRY(plumb_lower_mlir(ladder, s->source, text, length, &options, m->diag));
  plumb_side *side = add_side(m, "reference", ladder);
  side->is_reference = true;
  side->plan = plan;
  return PLUMB_OK;
}

static plumb_status fail_with(making *m, plumb_status status, const plumb_diag *problem) {
  if (m->diag) *m->diag = *problem;
  return status;
}

static plumb_status make_clang(making *m) {
  const plumb_task_side *s = &m->task->candidate;
  compiled *c = &m->clang;
  if (c->status != PLUMB_OK) return fail_with(m, c->status, &c->problem);
  plumb_ladder *ladder = plumb_ladder_create(m->arena, "candidate");
  plumb_lower_options options = lower_options(m, s);
  PLUMB_TRY(plumb_lower_llvm(ladder, s->source, c->text, c->length, &options, m->diag));
  add_side(m, "candidate", ladder);
  return PLUMB_OK;
}

static plumb_status make_nvcc(making *m) {
  const plumb_task_side *s = &m->task->candidate;
  compiled *n = &m->nvcc;
  if (n->status == PLUMB_UNSUPPORTED && !only_nvcc(s)) {
    m->sides->note = plumb_arena_printf(m->arena, "no ladder from nvcc: %s", n->problem.message);
    return PLUMB_OK;
  }
  plumb_ladder *ladder = plumb_ladder_create(m->arena, "candidate (nvcc)");
  if (n->status == PLUMB_OK) {
    n->status =
        plumb_lower_single(ladder, PLUMB_STAGE_PTX, s->source, n->text, n->length, &n->problem);
    if (n->status == PLUMB_BAD_INPUT && ladder->stage_count == 0) {
      plumb_ladder_append(ladder, PLUMB_STAGE_PTX, "nvcc", n->text, n->length, NULL, &n->problem);
      n->status = PLUMB_OK;
    }
    if (ladder->stage_count) ladder->stages[0].step = "nvcc";
  }
  if (n->status != PLUMB_OK) return fail_with(m, n->status, &n->problem);
  add_side(m, "candidate (nvcc)", ladder);
  return PLUMB_OK;
}

static plumb_status make_candidate(making *m) {
  const plumb_task_side *s = &m->task->candidate;
  char *text;
  size_t length;
  plumb_stage_kind kind;
  PLUMB_TRY(plumb_source_read(m->arena, s->source, &kind, &text, &length, m->diag));
  plumb_ladder *ladder = plumb_ladder_create(m->arena, "candidate");
  plumb_lower_options options = lower_options(m, s);
  plumb_call_plan *plan = NULL;
  bool is_host = false; /* a launch without an entry means the kernel */
  if (kind == PLUMB_STAGE_MLIR && (s->entry || !s->grid[0].text))
    PLUMB_TRY(plumb_signature_find(s->source, text, s->entry, &is_host, m->diag));
  if (is_host) {
    plan = PLUMB_NEW(m->arena, plumb_call_plan);
    PLUMB_TRY(plumb_call_plan_create(m->arena, m->task, s, text, plan, m->diag));
    PLUMB_TRY(plumb_lower_mlir(ladder, s->source, text, length, &options, m->diag));
  } else if (kind == PLUMB_STAGE_LLVM) {
    PLUMB_TRY(plumb_lower_llvm(ladder, s->source, text, length, &options, m->diag));
  } else {
    PLUMB_TRY(plumb_lower_single(ladder, kind, s->source, text, length, m->diag));
  }
  add_side(m, "candidate", ladder)->plan = plan;
  return PLUMB_OK;
}

static plumb_status make_with_compilers(making *m) {
  const plumb_task_side *s = &m->task->candidate;
  if (!only_nvcc(s)) compile_begin(&m->clang, s, plumb_cuda_to_llvm);
  compile_begin(&m->nvcc, s, plumb_cuda_to_ptx);
  plumb_status status = make_reference(m);
  compile_end(&m->clang);
  if (status == PLUMB_OK && m->clang.compile) status = make_clang(m);
  compile_end(&m->nvcc);
  if (status == PLUMB_OK) status = make_nvcc(m);
  compile_forget(&m->clang);
  compile_forget(&m->nvcc);
  return status;
}

plumb_status plumb_sides_make(plumb_arena *arena, const plumb_task *task, plumb_sides *out_sides,
                              plumb_diag *diag) {
  making m = {.arena = arena, .task = task, .sides = out_sides, .diag = diag};
  *out_sides = (plumb_sides){0};
  if (is_cuda(&task->candidate)) return make_with_compilers(&m);
  PLUMB_TRY(make_reference(&m));
  return make_candidate(&m);
}

#include "tasks/invoke.h"

#include <stdio.h>
#include <string.h>

#include "ir/mlir/mlir.h"

/* --- binding --- */

static plumb_status find_entry(const plumb_stage *stage, plumb_invocation *v,
                               const plumb_function **out, plumb_diag *diag) {
  /* Without a name: the only host function, else the only kernel. */
  const plumb_function *host = NULL, *kernel = NULL, *named = NULL;
  size_t hosts = 0, kernels = 0;
  for (size_t i = 0; i < stage->program->function_count; i++) {
    const plumb_function *f = stage->program->functions[i];
    if (f->external || f->kind == PLUMB_DEVICE) continue;
    if (v->entry && strcmp(f->name, v->entry) == 0 && (!named || f->kind == PLUMB_HOST)) named = f;
    if (f->kind == PLUMB_HOST) {
      host = f;
      hosts++;
    } else {
      kernel = f;
      kernels++;
    }
  }
  if (v->entry && !named)
    return plumb_fail(diag, PLUMB_BAD_INPUT, v->path, 0, 0, "has no function '%s' to run",
                      v->entry);
  *out = named ? named : hosts == 1 ? host : hosts == 0 && kernels == 1 ? kernel : NULL;
  if (!*out)
    return plumb_fail(diag, PLUMB_BAD_INPUT, v->path, 0, 0,
                      "has %zu host functions and %zu kernels; name one with --entry", hosts,
                      kernels);
  return PLUMB_OK;
}

static plumb_status bind_host(plumb_arena *arena, const plumb_stage *stage, plumb_invocation *v,
                              plumb_diag *diag) {
  MlirContext context = plumb_mlir_context_create();
  MlirModule module = {NULL};
  plumb_mlir_signature_info info = {0};
  plumb_status status = plumb_mlir_parse(context, v->path, stage->text, &module, diag);
  if (status == PLUMB_OK) {
    status = plumb_mlir_signature(arena, module, v->entry, &info, diag);
    mlirModuleDestroy(module);
  }
  mlirContextDestroy(context);
  PLUMB_TRY(status);
  if (v->arg_count != info.input_count)
    return plumb_fail(diag, PLUMB_BAD_INPUT, v->path, 0, 0,
                      "%s takes %zu arguments, %zu are given (--arg, one each)", v->entry,
                      info.input_count, v->arg_count);
  for (size_t i = 0; i < v->arg_count; i++) {
    const plumb_mlir_value *in = &info.inputs[i];
    PLUMB_TRY(plumb_value_parse(arena, v->arg_texts[i], in->dtype,
                                in->kind == PLUMB_MLIR_SCALAR ? NULL : in->dims, in->rank,
                                &v->args[i], diag));
    if (v->args[i].is_scalar != (in->kind == PLUMB_MLIR_SCALAR))
      return plumb_fail(diag, PLUMB_BAD_INPUT, v->path, 0, 0,
                        "argument %zu of %s is %s; got '%.40s'", i, v->entry, in->text,
                        v->arg_texts[i]);
    for (size_t d = 0; d < in->rank; d++)
      if (v->args[i].array.rank != in->rank ||
          (in->dims[d] >= 0 && in->dims[d] != v->args[i].array.dims[d]))
        return plumb_fail(diag, PLUMB_BAD_INPUT, v->path, 0, 0,
                          "argument %zu of %s is %s; the shape of '%.40s' does not fit", i,
                          v->entry, in->text, v->arg_texts[i]);
  }
  v->result_count = info.result_count;
  v->result_types = PLUMB_NEW_ARRAY(arena, plumb_dtype, info.result_count);
  v->result_ranks = PLUMB_NEW_ARRAY(arena, int, info.result_count);
  for (size_t i = 0; i < info.result_count; i++) {
    v->result_types[i] = info.results[i].dtype;
    v->result_ranks[i] = info.results[i].kind == PLUMB_MLIR_SCALAR ? -1 : (int)info.results[i].rank;
  }
  return PLUMB_OK;
}

plumb_status plumb_invocation_bind(plumb_arena *arena, const plumb_stage *stage0,
                                   plumb_invocation *v, plumb_diag *diag) {
  const plumb_function *entry;
  if (!stage0->program) {
    if (diag) *diag = stage0->problem;
    return PLUMB_UNSUPPORTED;
  }
  PLUMB_TRY(find_entry(stage0, v, &entry, diag));
  v->entry = entry->name;
  v->is_host = entry->kind == PLUMB_HOST;
  v->args = PLUMB_NEW_ARRAY(arena, plumb_value, v->arg_count);
  if (v->is_host && stage0->kind == PLUMB_STAGE_MLIR) return bind_host(arena, stage0, v, diag);
  for (size_t i = 0; i < v->arg_count; i++) {
    /* A lone number is the parameter's own value: its type is the parameter's. */
    plumb_dtype type = PLUMB_DTYPE_COUNT;
    const char *text = v->arg_texts[i];
    if (i < entry->param_count && v->arg_count == entry->param_count && !strpbrk(text, "[@:") &&
        entry->params[i].size_bytes == plumb_dtype_bytes(entry->params[i].type)) {
      type = entry->params[i].type;
      /* PTX has `.b32` parameters: a number with a point is a float of that width. */
      if (!plumb_dtype_is_float(type) && strpbrk(text, ".") && strncmp(text, "0x", 2) != 0)
        type = plumb_dtype_bytes(type) == 8   ? PLUMB_F64
               : plumb_dtype_bytes(type) == 4 ? PLUMB_F32
                                              : type;
    }
    PLUMB_TRY(plumb_value_parse(arena, text, type, NULL, 0, &v->args[i], diag));
  }
  return PLUMB_OK;
}

/* --- running --- */

typedef struct session {
  plumb_arena *arena;
  const plumb_invocation *v;
  plumb_machine *machine;
  uint64_t *addresses;
  plumb_invoked *out;
  bool companions;
} session;

static size_t bytes_of(const plumb_array *a) {
  return a->count * plumb_dtype_bytes(a->type);
}

static plumb_status place(session *s, const plumb_stage *stage) {
  plumb_diag *diag = &s->out->problem;
  s->machine = plumb_machine_create(s->arena);
  s->addresses = PLUMB_NEW_ARRAY(s->arena, uint64_t, s->v->arg_count);
  PLUMB_TRY(plumb_machine_load(s->machine, stage->program, diag));
  for (size_t i = 0; i < s->v->arg_count; i++) {
    const plumb_value *value = &s->v->args[i];
    if (value->is_scalar) continue;
    char name[32];
    snprintf(name, sizeof name, "arg%zu", i);
    s->addresses[i] = plumb_machine_alloc(s->machine, bytes_of(&value->array), 256, name);
    if (!s->addresses[i])
      return plumb_fail(diag, PLUMB_LIMIT, s->v->path, 0, 0, "argument %zu is too large", i);
    PLUMB_TRY(plumb_machine_write(s->machine, s->addresses[i], value->array.data,
                                  bytes_of(&value->array), diag));
  }
  return PLUMB_OK;
}

/* Flat words: a scalar is one, an array its address or its descriptor. */
static size_t flatten(session *s, bool descriptors, uint64_t *words) {
  size_t n = 0;
  for (size_t i = 0; i < s->v->arg_count; i++) {
    const plumb_array *a = &s->v->args[i].array;
    if (s->v->args[i].is_scalar) {
      unsigned bytes = plumb_dtype_bytes(a->type);
      memcpy(&words[n++], a->data, bytes < 8 ? bytes : 8);
      continue;
    }
    words[n++] = s->addresses[i];
    if (!descriptors) continue;
    words[n++] = s->addresses[i];
    words[n++] = 0;
    for (size_t d = 0; d < a->rank; d++) words[n++] = (uint64_t)a->dims[d];
    uint64_t stride = 1;
    for (size_t d = a->rank; d-- > 0; stride *= (uint64_t)a->dims[d]) words[n + d] = stride;
    n += a->rank;
  }
  return n;
}

static plumb_status read_back(session *s, uint64_t address, plumb_array *a,
                              unsigned char **out_initialised, plumb_budget **out_budgets) {
  a->data = plumb_arena_alloc(s->arena, bytes_of(a));
  *out_initialised = plumb_arena_alloc(s->arena, bytes_of(a));
  if (!a->count) return PLUMB_OK;
  PLUMB_TRY(plumb_machine_read(s->machine, address, a->data, *out_initialised, bytes_of(a),
                               &s->out->problem));
  if (!s->companions) return PLUMB_OK;
  plumb_companion *c = PLUMB_NEW_ARRAY(s->arena, plumb_companion, a->count);
  *out_budgets = PLUMB_NEW_ARRAY(s->arena, plumb_budget, a->count);
  PLUMB_TRY(
      plumb_machine_read_companions(s->machine, address, a->type, a->count, c, &s->out->problem));
  for (size_t i = 0; i < a->count; i++)
    (*out_budgets)[i] = (plumb_budget){c[i].shadow, c[i].lo, c[i].hi};
  return PLUMB_OK;
}

static plumb_status read_results(session *s, const plumb_run_result *r) {
  size_t at = 0;
  for (size_t i = 0; i < s->v->result_count; i++) {
    plumb_array *a = &s->out->results[i];
    int rank = s->v->result_ranks[i];
    size_t needed = rank < 0 ? 1 : 3 + 2 * (size_t)rank;
    *a = (plumb_array){.type = s->v->result_types[i], .count = 1};
    if (at + needed > r->result_count)
      return plumb_fail(&s->out->problem, PLUMB_INTERNAL, s->v->path, 0, 0,
                        "the stage returns %zu words; result %zu needs more", r->result_count, i);
    const uint64_t *words = r->results + at;
    at += needed;
    if (rank < 0) {
      a->data = plumb_arena_alloc(s->arena, 16);
      memcpy(a->data, words, 8);
      continue;
    }
    a->rank = (size_t)rank;
    a->dims = PLUMB_NEW_ARRAY(s->arena, int64_t, a->rank);
    for (size_t d = 0; d < a->rank; d++) {
      a->dims[d] = (int64_t)words[3 + d];
      if (a->dims[d] < 0 || __builtin_mul_overflow(a->count, (size_t)a->dims[d], &a->count) ||
          a->count > (1u << 30))
        return plumb_fail(&s->out->problem, PLUMB_LIMIT, s->v->path, 0, 0,
                          "result %zu is too large", i);
    }
    uint64_t stride = 1;
    for (size_t d = a->rank; d-- > 0; stride *= (uint64_t)a->dims[d])
      if (a->dims[d] > 1 && words[3 + a->rank + d] != stride)
        return plumb_fail(&s->out->problem, PLUMB_UNSUPPORTED, s->v->path, 0, 0,
                          "result %zu is strided", i);
    PLUMB_TRY(read_back(s, words[1] + words[2] * plumb_dtype_bytes(a->type), a,
                        &s->out->results_initialised[i], &s->out->results_budgets[i]));
  }
  return PLUMB_OK;
}

static plumb_status pack(session *s, const plumb_function *kernel, const uint64_t *words,
                         size_t count, uint8_t *params) {
  if (count != kernel->param_count)
    return plumb_fail(&s->out->problem, PLUMB_BAD_INPUT, s->v->path, 0, 0,
                      "kernel %s takes %zu parameters, the arguments give %zu (--arg, one each)",
                      kernel->name, kernel->param_count, count);
  for (size_t i = 0; i < count; i++) {
    const plumb_param *p = &kernel->params[i];
    if (p->size_bytes > 8)
      return plumb_fail(&s->out->problem, PLUMB_UNSUPPORTED, s->v->path, 0, 0,
                        "parameter %zu of kernel %s is an aggregate of %u bytes", i, kernel->name,
                        p->size_bytes);
    memcpy(params + p->offset, &words[i], p->size_bytes);
  }
  return PLUMB_OK;
}

static plumb_status invoke(session *s, const plumb_stage *stage, const plumb_run_options *options) {
  const plumb_invocation *v = s->v;
  const plumb_function *f = plumb_program_find(stage->program, v->entry);
  if (!f || f->external)
    return plumb_fail(&s->out->problem, PLUMB_UNSUPPORTED, v->path, 0, 0,
                      "the stage has no function '%s'", v->entry);
  PLUMB_TRY(place(s, stage));
  size_t capacity = 1;
  for (size_t i = 0; i < v->arg_count; i++) capacity += 3 + 2 * v->args[i].array.rank;
  uint64_t *words = PLUMB_NEW_ARRAY(s->arena, uint64_t, capacity);
  size_t count = flatten(s, stage->kind == PLUMB_STAGE_MLIR || f->kind == PLUMB_HOST, words);
  plumb_run_result r = {0};
  if (f->kind == PLUMB_KERNEL) {
    uint8_t *params = plumb_arena_alloc(s->arena, f->param_bytes + 8);
    PLUMB_TRY(pack(s, f, words, count, params));
    PLUMB_TRY(plumb_machine_launch(s->machine, f->name, &v->launch, params, f->param_bytes, options,
                                   &r, &s->out->problem));
  } else {
    PLUMB_TRY(plumb_machine_call(s->machine, f->name, words, count, options, &r, &s->out->problem));
  }
  s->out->trap = r.trap;
  s->out->counters = r.counters;
  if (r.trap.kind != PLUMB_TRAP_NONE) return PLUMB_OK;
  for (size_t i = 0; i < v->arg_count; i++) {
    s->out->args[i] = v->args[i].array;
    if (!v->args[i].is_scalar)
      PLUMB_TRY(read_back(s, s->addresses[i], &s->out->args[i], &s->out->args_initialised[i],
                          &s->out->args_budgets[i]));
  }
  return read_results(s, &r);
}

void plumb_invoke(plumb_arena *arena, const plumb_stage *stage, const plumb_invocation *v,
                  const plumb_run_options *options, plumb_invoked *out) {
  *out = (plumb_invoked){0};
  out->args = PLUMB_NEW_ARRAY(arena, plumb_array, v->arg_count);
  out->args_initialised = PLUMB_NEW_ARRAY(arena, unsigned char *, v->arg_count);
  out->args_budgets = PLUMB_NEW_ARRAY(arena, plumb_budget *, v->arg_count);
  out->results = PLUMB_NEW_ARRAY(arena, plumb_array, v->result_count);
  out->results_initialised = PLUMB_NEW_ARRAY(arena, unsigned char *, v->result_count);
  out->results_budgets = PLUMB_NEW_ARRAY(arena, plumb_budget *, v->result_count);
  session s = {.arena = arena, .v = v, .out = out, .companions = options->companions};
  if (!stage->program) {
    out->status = PLUMB_UNSUPPORTED;
    out->problem = stage->problem;
    return;
  }
  out->status = invoke(&s, stage, options);
  if (s.machine) plumb_machine_destroy(s.machine);
}

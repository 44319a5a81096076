#include "tasks/execute.h"

#include <math.h>
#include <string.h>

#include "ir/mlir/mlir.h"
#include "tasks/npy.h"

/* --- cases --- */

static plumb_status array_create(plumb_arena *arena, const plumb_case *c,
                                 const plumb_task_tensor *tensor, plumb_array *out,
                                 plumb_diag *diag) {
  size_t bytes = plumb_dtype_bytes(tensor->type);
  *out = (plumb_array){.type = tensor->type, .rank = tensor->rank, .count = 1};
  out->dims = PLUMB_NEW_ARRAY(arena, int64_t, tensor->rank);
  for (size_t d = 0; d < tensor->rank; d++) {
    PLUMB_TRY(plumb_task_evaluate(c->task, &c->shape, tensor->dims[d], &out->dims[d], diag));
    if (out->dims[d] < 0)
      return plumb_fail(diag, PLUMB_BAD_INPUT, c->task->path, tensor->dims[d].line, 0,
                        "tensor %s: dimension '%s' is %lld", tensor->name, tensor->dims[d].text,
                        (long long)out->dims[d]);
    if (__builtin_mul_overflow(out->count, (size_t)out->dims[d], &out->count))
      out->count = SIZE_MAX;
  }
  if (out->count > ((size_t)1 << 32) / bytes)
    return plumb_fail(diag, PLUMB_BAD_INPUT, c->task->path, tensor->line, 0,
                      "tensor %s is larger than 4 GiB in shape %s", tensor->name,
                      plumb_task_shape_text(arena, c->task, &c->shape));
  out->data = plumb_arena_alloc(arena, out->count * bytes);
  return PLUMB_OK;
}

static plumb_status read_file_fill(plumb_arena *arena, const plumb_case *c,
                                   const plumb_task_tensor *tensor, const char *path,
                                   plumb_array *a, plumb_diag *diag) {
  plumb_array file;
  PLUMB_TRY(plumb_npy_read(arena, path, &file, diag));
  bool fits = file.type == a->type && file.rank == a->rank;
  for (size_t d = 0; fits && d < a->rank; d++) fits = file.dims[d] == a->dims[d];
  if (!fits)
    return plumb_fail(diag, PLUMB_BAD_INPUT, c->task->path, tensor->line, 0,
                      "tensor %s: type or shape of %s is not that of shape %s", tensor->name, path,
                      plumb_task_shape_text(arena, c->task, &c->shape));
  a->data = file.data;
  return PLUMB_OK;
}

plumb_status plumb_case_create(plumb_arena *arena, const plumb_task *task, plumb_task_shape shape,
                               size_t fill_index, uint64_t seed, plumb_case **out_case,
                               plumb_diag *diag) {
  plumb_case *c = PLUMB_NEW(arena, plumb_case);
  *c = (plumb_case){.task = task, .shape = shape, .fill_index = fill_index, .seed = seed};
  c->tensors = PLUMB_NEW_ARRAY(arena, plumb_array, task->tensor_count);
  for (size_t i = 0; i < task->tensor_count; i++) {
    const plumb_task_tensor *tensor = &task->tensors[i];
    PLUMB_TRY(array_create(arena, c, tensor, &c->tensors[i], diag));
    if (tensor->role == PLUMB_ROLE_OUTPUT) continue;
    size_t k = fill_index < tensor->fill_count ? fill_index : tensor->fill_count - 1;
    if (tensor->fills[k].kind == PLUMB_FILL_FILE) {
      PLUMB_TRY(read_file_fill(arena, c, tensor, tensor->fills[k].file, &c->tensors[i], diag));
      continue;
    }
    plumb_fill_write(&tensor->fills[k], tensor->type, seed * 1000003u + i, c->tensors[i].count,
                     c->tensors[i].data);
  }
  *out_case = c;
  return PLUMB_OK;
}

/* --- what both ways of running share --- */

typedef struct session {
  plumb_arena *arena;
  const plumb_case *c;
  plumb_machine *machine;
  uint64_t *addresses; /* one a tensor */
  plumb_outcome *out;
} session;

static size_t array_bytes(const plumb_array *a) {
  return a->count * plumb_dtype_bytes(a->type);
}

/* Places every tensor; outputs are poisoned, so that a result never written shows. */
static plumb_status place_tensors(session *s, const plumb_stage *stage) {
  const plumb_task *task = s->c->task;
  plumb_diag *diag = &s->out->problem;
  s->machine = plumb_machine_create(s->arena);
  s->addresses = PLUMB_NEW_ARRAY(s->arena, uint64_t, task->tensor_count);
  PLUMB_TRY(plumb_machine_load(s->machine, stage->program, diag));
  for (size_t i = 0; i < task->tensor_count; i++) {
    const plumb_array *a = &s->c->tensors[i];
    size_t bytes = array_bytes(a);
    s->addresses[i] = plumb_machine_alloc(s->machine, bytes, 256, task->tensors[i].name);
    if (!s->addresses[i])
      return plumb_fail(diag, PLUMB_LIMIT, task->path, task->tensors[i].line, 0,
                        "tensor %s does not fit the executor's memory", task->tensors[i].name);
    if (task->tensors[i].role == PLUMB_ROLE_OUTPUT)
      PLUMB_TRY(plumb_machine_poison(s->machine, s->addresses[i], bytes, diag));
    else
      PLUMB_TRY(plumb_machine_write(s->machine, s->addresses[i], a->data, bytes, diag));
  }
  return PLUMB_OK;
}

static plumb_status read_budgets(session *s, uint64_t address, const plumb_array *a,
                                 plumb_budget *out) {
  plumb_companion *companions = PLUMB_NEW_ARRAY(s->arena, plumb_companion, a->count);
  PLUMB_TRY(plumb_machine_read_companions(s->machine, address, a->type, a->count, companions,
                                          &s->out->problem));
  for (size_t i = 0; i < a->count; i++)
    out[i] = (plumb_budget){companions[i].shadow, companions[i].lo, companions[i].hi};
  return PLUMB_OK;
}

/* Reads tensor `index` back from contiguous memory at `address`. */
static plumb_status read_output(session *s, size_t index, uint64_t address, bool companions) {
  plumb_array *a = &s->out->outputs[index];
  *a = s->c->tensors[index];
  size_t bytes = array_bytes(a);
  a->data = plumb_arena_alloc(s->arena, bytes);
  s->out->initialised[index] = plumb_arena_alloc(s->arena, bytes);
  PLUMB_TRY(plumb_machine_read(s->machine, address, a->data, s->out->initialised[index], bytes,
                               &s->out->problem));
  if (!companions) return PLUMB_OK;
  s->out->budgets[index] = PLUMB_NEW_ARRAY(s->arena, plumb_budget, a->count);
  return read_budgets(s, address, a, s->out->budgets[index]);
}

static plumb_status check_inputs(session *s) {
  const plumb_task *task = s->c->task;
  for (size_t i = 0; i < task->tensor_count; i++) {
    if (task->tensors[i].role != PLUMB_ROLE_INPUT) continue;
    size_t bytes = array_bytes(&s->c->tensors[i]);
    void *now = plumb_arena_alloc(s->arena, bytes);
    PLUMB_TRY(plumb_machine_read(s->machine, s->addresses[i], now, NULL, bytes, &s->out->problem));
    if (memcmp(now, s->c->tensors[i].data, bytes) != 0)
      s->out->changed_input = task->tensors[i].name;
  }
  return PLUMB_OK;
}

static session session_begin(plumb_arena *arena, const plumb_case *c, plumb_outcome *out) {
  *out = (plumb_outcome){0};
  out->outputs = PLUMB_NEW_ARRAY(arena, plumb_array, c->task->tensor_count);
  out->initialised = PLUMB_NEW_ARRAY(arena, unsigned char *, c->task->tensor_count);
  out->budgets = PLUMB_NEW_ARRAY(arena, plumb_budget *, c->task->tensor_count);
  return (session){.arena = arena, .c = c, .out = out};
}

/* --- host functions --- */

static int find_tensor(const plumb_task *task, const char *name) {
  for (size_t i = 0; i < task->tensor_count; i++)
    if (strcmp(task->tensors[i].name, name) == 0) return (int)i;
  return -1;
}

static plumb_status fit(const plumb_task *task, const char *what, size_t position,
                        const plumb_mlir_value *value, int tensor, plumb_diag *diag) {
  const plumb_task_tensor *t = &task->tensors[tensor];
  if (value->kind == PLUMB_MLIR_SCALAR || value->dtype != t->type || value->rank != t->rank)
    return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, t->line, 0,
                      "tensor %s (%s, rank %zu) does not fit %s %zu of the reference, which is %s",
                      t->name, plumb_dtype_table[t->type].text, t->rank, what, position,
                      value->text);
  return PLUMB_OK;
}

static plumb_status plan_inputs(plumb_arena *arena, const plumb_task *task,
                                const plumb_mlir_signature_info *signature, plumb_call_plan *plan,
                                plumb_diag *diag) {
  size_t n = signature->input_count;
  int *tensors = PLUMB_NEW_ARRAY(arena, int, n);
  plumb_task_expression *scalars = PLUMB_NEW_ARRAY(arena, plumb_task_expression, n);
  plumb_dtype *types = PLUMB_NEW_ARRAY(arena, plumb_dtype, n);
  size_t next = 0;
  const plumb_task_side *side = &task->reference;
  if (side->has_arguments && side->argument_count != n)
    return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, side->source_line, 0,
                      "reference: %zu arguments are given, %s takes %zu", side->argument_count,
                      plan->entry, n);
  for (size_t i = 0; i < n; i++) {
    types[i] = signature->inputs[i].dtype;
    tensors[i] = -1;
    if (side->has_arguments) {
      tensors[i] = find_tensor(task, side->arguments[i].text);
      scalars[i] = side->arguments[i];
    } else if (signature->inputs[i].kind != PLUMB_MLIR_SCALAR) {
      while (next < task->tensor_count && signature->result_count &&
             task->tensors[next].role == PLUMB_ROLE_OUTPUT)
        next++;
      if (next < task->tensor_count) tensors[i] = (int)next++;
    }
    bool scalar = signature->inputs[i].kind == PLUMB_MLIR_SCALAR;
    if (tensors[i] >= 0)
      PLUMB_TRY(fit(task, "input", i, &signature->inputs[i], tensors[i], diag));
    else if (!scalar || !scalars[i].text)
      return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, side->source_line, 0,
                        "reference: nothing is given for input %zu of %s (%s); list 'arguments'", i,
                        plan->entry, signature->inputs[i].text);
  }
  plan->input_tensors = tensors;
  plan->input_scalars = scalars;
  plan->input_types = types;
  plan->input_count = n;
  return PLUMB_OK;
}

static plumb_status plan_results(plumb_arena *arena, const plumb_task *task,
                                 const plumb_mlir_signature_info *signature, plumb_call_plan *plan,
                                 plumb_diag *diag) {
  int *tensors = PLUMB_NEW_ARRAY(arena, int, signature->result_count);
  size_t next = 0;
  for (size_t i = 0; i < signature->result_count; i++) {
    while (next < task->tensor_count && task->tensors[next].role == PLUMB_ROLE_INPUT) next++;
    if (next == task->tensor_count)
      return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, task->reference.source_line, 0,
                        "the reference returns %zu results; the task has fewer outputs",
                        signature->result_count);
    tensors[i] = (int)next++;
    PLUMB_TRY(fit(task, "result", i, &signature->results[i], tensors[i], diag));
  }
  plan->result_tensors = tensors;
  plan->result_count = signature->result_count;
  return PLUMB_OK;
}

static bool names(const int *tensors, size_t count, size_t tensor) {
  for (size_t i = 0; i < count; i++)
    if (tensors[i] == (int)tensor) return true;
  return false;
}

/* An output that the reference does not give would be compared with nothing. */
static plumb_status check_covered(const plumb_task *task, const plumb_call_plan *plan,
                                  plumb_diag *diag) {
  size_t outputs = 0;
  for (size_t i = 0; i < task->tensor_count; i++) {
    if (task->tensors[i].role == PLUMB_ROLE_INPUT) continue;
    outputs++;
    if (!names(plan->result_tensors, plan->result_count, i) &&
        !names(plan->input_tensors, plan->input_count, i))
      return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, task->tensors[i].line, 0,
                        "output %s: the reference neither returns nor takes it",
                        task->tensors[i].name);
  }
  if (!outputs)
    return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, 0, 0,
                      "no tensor has 'role: output' or 'role: inout': there is nothing to compare");
  return PLUMB_OK;
}

plumb_status plumb_call_plan_create(plumb_arena *arena, const plumb_task *task, const char *text,
                                    plumb_call_plan *out_plan, plumb_diag *diag) {
  *out_plan = (plumb_call_plan){.entry = task->reference.entry};
  MlirContext context = plumb_mlir_context_create();
  MlirModule module = {NULL};
  plumb_status status = plumb_mlir_parse(context, task->reference.source, text, &module, diag);
  plumb_mlir_signature_info signature = {0};
  if (status == PLUMB_OK) {
    status = plumb_mlir_signature(arena, module, out_plan->entry, &signature, diag);
    mlirModuleDestroy(module);
  }
  mlirContextDestroy(context);
  PLUMB_TRY(status);
  PLUMB_TRY(plan_inputs(arena, task, &signature, out_plan, diag));
  PLUMB_TRY(plan_results(arena, task, &signature, out_plan, diag));
  return check_covered(task, out_plan, diag);
}

static plumb_status scalar_bits(session *s, plumb_task_expression e, plumb_dtype type,
                                uint64_t *out_bits) {
  int64_t value;
  PLUMB_TRY(plumb_task_evaluate(s->c->task, &s->c->shape, e, &value, &s->out->problem));
  *out_bits =
      plumb_dtype_is_float(type) ? plumb_dtype_from_double(type, (double)value) : (uint64_t)value;
  return PLUMB_OK;
}

/* The flat words (base, aligned, offset, sizes, strides) of a row-major array. */
static size_t append_descriptor(uint64_t *words, size_t count, uint64_t address,
                                const plumb_array *a) {
  words[count++] = address;
  words[count++] = address;
  words[count++] = 0;
  for (size_t d = 0; d < a->rank; d++) words[count + d] = (uint64_t)a->dims[d];
  uint64_t stride = 1;
  for (size_t d = a->rank; d-- > 0;) {
    words[count + a->rank + d] = stride;
    stride *= (uint64_t)a->dims[d];
  }
  return count + 2 * a->rank;
}

static plumb_status flatten_arguments(session *s, const plumb_call_plan *plan, uint64_t **out_words,
                                      size_t *out_count) {
  size_t capacity = 0, count = 0;
  for (size_t i = 0; i < plan->input_count; i++)
    capacity += plan->input_tensors[i] < 0 ? 1 : 3 + 2 * s->c->tensors[plan->input_tensors[i]].rank;
  uint64_t *words = PLUMB_NEW_ARRAY(s->arena, uint64_t, capacity);
  for (size_t i = 0; i < plan->input_count; i++) {
    int tensor = plan->input_tensors[i];
    if (tensor < 0)
      PLUMB_TRY(scalar_bits(s, plan->input_scalars[i], plan->input_types[i], &words[count++]));
    else
      count = append_descriptor(words, count, s->addresses[tensor], &s->c->tensors[tensor]);
  }
  *out_words = words;
  *out_count = count;
  return PLUMB_OK;
}

/* One result: checks its sizes and gathers a strided descriptor if need be. */
static plumb_status read_result(session *s, size_t tensor, const uint64_t *words, bool companions) {
  const plumb_array *a = &s->c->tensors[tensor];
  const uint64_t *sizes = words + 3, *strides = words + 3 + a->rank;
  uint64_t expected = 1;
  for (size_t d = a->rank; d-- > 0;) {
    if (sizes[d] != (uint64_t)a->dims[d])
      return plumb_fail(
          &s->out->problem, PLUMB_BAD_INPUT, s->c->task->path, s->c->task->tensors[tensor].line, 0,
          "the reference returns size %lld in dimension %zu of %s; the task says %lld",
          (long long)sizes[d], d, s->c->task->tensors[tensor].name, (long long)a->dims[d]);
    if (a->dims[d] > 1 && strides[d] != expected)
      return plumb_fail(&s->out->problem, PLUMB_UNSUPPORTED, s->c->task->path,
                        s->c->task->tensors[tensor].line, 0, "the reference returns %s strided",
                        s->c->task->tensors[tensor].name);
    expected *= (uint64_t)a->dims[d];
  }
  if (!a->count) {
    s->out->outputs[tensor] = *a;
    return PLUMB_OK;
  }
  return read_output(s, tensor, words[1] + words[2] * plumb_dtype_bytes(a->type), companions);
}

static plumb_status host_run(session *s, const plumb_stage *stage, const plumb_call_plan *plan,
                             const plumb_run_options *options) {
  uint64_t *words;
  size_t count, at = 0;
  PLUMB_TRY(place_tensors(s, stage));
  PLUMB_TRY(flatten_arguments(s, plan, &words, &count));
  plumb_run_result result = {0};
  PLUMB_TRY(plumb_machine_call(s->machine, plan->entry, words, count, options, &result,
                               &s->out->problem));
  s->out->trap = result.trap;
  s->out->counters = result.counters;
  if (result.trap.kind != PLUMB_TRAP_NONE) return PLUMB_OK;
  for (size_t i = 0; i < plan->result_count; i++) {
    size_t tensor = (size_t)plan->result_tensors[i],
           words_needed = 3 + 2 * s->c->tensors[tensor].rank;
    if (at + words_needed > result.result_count)
      return plumb_fail(&s->out->problem, PLUMB_INTERNAL, stage->step, 0, 0,
                        "stage %d returns %zu words, %zu are needed", stage->index,
                        result.result_count, at + words_needed);
    PLUMB_TRY(read_result(s, tensor, result.results + at, options->companions));
    at += words_needed;
  }
  for (size_t i = 0; i < plan->input_count; i++) {
    int tensor = plan->input_tensors[i];
    if (tensor < 0 || s->c->task->tensors[tensor].role == PLUMB_ROLE_INPUT) continue;
    if (!s->out->outputs[tensor].data)
      PLUMB_TRY(read_output(s, (size_t)tensor, s->addresses[tensor], options->companions));
  }
  return check_inputs(s);
}

void plumb_execute_host(plumb_arena *arena, const plumb_stage *stage, const plumb_case *c,
                        const plumb_call_plan *plan, const plumb_run_options *options,
                        plumb_outcome *out) {
  session s = session_begin(arena, c, out);
  out->status = host_run(&s, stage, plan, options);
  if (s.machine) plumb_machine_destroy(s.machine);
}

/* --- kernels --- */

static const plumb_function *find_kernel(const plumb_program *program, const char *entry) {
  const plumb_function *only = NULL;
  for (size_t i = 0; i < program->function_count; i++) {
    const plumb_function *f = program->functions[i];
    if (f->kind != PLUMB_KERNEL || f->external) continue;
    if (entry && strcmp(f->name, entry) == 0) return f;
    if (!entry && only) return NULL;
    only = f;
  }
  return entry ? NULL : only;
}

static plumb_status pack_params(session *s, const plumb_function *kernel, uint8_t *params) {
  const plumb_task *task = s->c->task;
  const plumb_task_side *side = &task->candidate;
  if (side->argument_count != kernel->param_count)
    return plumb_fail(&s->out->problem, PLUMB_BAD_INPUT, task->path, side->source_line, 0,
                      "candidate: %zu arguments are given, kernel %s takes %zu",
                      side->argument_count, kernel->name, kernel->param_count);
  for (size_t i = 0; i < kernel->param_count; i++) {
    const plumb_param *p = &kernel->params[i];
    int tensor = find_tensor(task, side->arguments[i].text);
    uint64_t bits;
    if (tensor >= 0) {
      bits = s->addresses[tensor];
      if (p->size_bytes != 8)
        return plumb_fail(&s->out->problem, PLUMB_BAD_INPUT, task->path, side->arguments[i].line, 0,
                          "argument %zu of kernel %s takes %u bytes; tensor %s is a pointer of 8",
                          i, kernel->name, p->size_bytes, task->tensors[tensor].name);
    } else {
      PLUMB_TRY(scalar_bits(s, side->arguments[i], p->type, &bits));
    }
    if (p->size_bytes > 8)
      return plumb_fail(&s->out->problem, PLUMB_BAD_INPUT, task->path, side->arguments[i].line, 0,
                        "argument %zu of kernel %s is an aggregate of %u bytes", i, kernel->name,
                        p->size_bytes);
    memcpy(params + p->offset, &bits, p->size_bytes);
  }
  return PLUMB_OK;
}

static plumb_status launch_size(session *s, plumb_task_expression e, int64_t fallback,
                                const char *what, uint32_t *out) {
  int64_t value = fallback;
  if (e.text) PLUMB_TRY(plumb_task_evaluate(s->c->task, &s->c->shape, e, &value, &s->out->problem));
  if (value < 0 || value > INT32_MAX)
    return plumb_fail(&s->out->problem, PLUMB_BAD_INPUT, s->c->task->path, e.line, 0,
                      "%s '%s' is %lld; it must be between 1 and 2147483647", what, e.text,
                      (long long)value);
  *out = (uint32_t)value;
  return PLUMB_OK;
}

static plumb_status kernel_run(session *s, const plumb_stage *stage,
                               const plumb_run_options *options) {
  const plumb_task *task = s->c->task;
  const plumb_task_side *side = &task->candidate;
  const plumb_function *kernel = find_kernel(stage->program, side->entry);
  if (!kernel)
    return plumb_fail(&s->out->problem, PLUMB_BAD_INPUT, task->path, side->source_line, 0,
                      "candidate: %s has no kernel '%s'", side->source,
                      side->entry ? side->entry : "(the only one)");
  PLUMB_TRY(place_tensors(s, stage));
  uint8_t *params = plumb_arena_alloc(s->arena, kernel->param_bytes + 8);
  PLUMB_TRY(pack_params(s, kernel, params));
  plumb_launch launch = {{1, 1, 1}, {1, 1, 1}, 0};
  uint32_t shared;
  for (int d = 0; d < 3; d++) {
    PLUMB_TRY(launch_size(s, side->grid[d], 1, "grid", &launch.grid[d]));
    PLUMB_TRY(launch_size(s, side->block[d], 1, "block", &launch.block[d]));
  }
  PLUMB_TRY(launch_size(s, side->shared_bytes, 0, "shared_bytes", &shared));
  launch.shared_bytes = shared;
  plumb_run_result result = {0};
  PLUMB_TRY(plumb_machine_launch(s->machine, kernel->name, &launch, params, kernel->param_bytes,
                                 options, &result, &s->out->problem));
  s->out->trap = result.trap;
  s->out->counters = result.counters;
  if (result.trap.kind != PLUMB_TRAP_NONE) return PLUMB_OK;
  for (size_t i = 0; i < task->tensor_count; i++)
    if (task->tensors[i].role != PLUMB_ROLE_INPUT)
      PLUMB_TRY(read_output(s, i, s->addresses[i], options->companions));
  return check_inputs(s);
}

void plumb_execute_kernel(plumb_arena *arena, const plumb_stage *stage, const plumb_case *c,
                          const plumb_run_options *options, plumb_outcome *out) {
  session s = session_begin(arena, c, out);
  out->status = kernel_run(&s, stage, options);
  if (s.machine) plumb_machine_destroy(s.machine);
}

#include "tasks/execute.h"

#include <math.h>
#include <string.h>

#include "ir/signature.h"
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
  plumb_call call;
  plumb_outcome *out;
} session;

/* Every tensor is a buffer; outputs are poisoned, so that a result never written shows. */
static session session_begin(plumb_arena *arena, const plumb_stage *stage, const plumb_case *c,
                             const plumb_task_side *side, plumb_outcome *out) {
  const plumb_task *task = c->task;
  *out = (plumb_outcome){0};
  out->outputs = PLUMB_NEW_ARRAY(arena, plumb_array, task->tensor_count);
  out->initialised = PLUMB_NEW_ARRAY(arena, unsigned char *, task->tensor_count);
  out->budgets = PLUMB_NEW_ARRAY(arena, plumb_budget *, task->tensor_count);
  plumb_buffer *buffers = PLUMB_NEW_ARRAY(arena, plumb_buffer, task->tensor_count);
  for (size_t i = 0; i < task->tensor_count; i++) {
    plumb_role role = task->tensors[i].role;
    buffers[i] = (plumb_buffer){task->tensors[i].name, &c->tensors[i], role == PLUMB_ROLE_OUTPUT,
                                role != PLUMB_ROLE_INPUT};
  }
  return (session){.arena = arena,
                   .c = c,
                   .call = {.program = stage->program,
                            .launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}},
                            .buffers = buffers,
                            .buffer_count = task->tensor_count,
                            .path = task->path,
                            .line = side->source_line},
                   .out = out};
}

static void keep_output(session *s, size_t tensor, const plumb_readback *r) {
  s->out->outputs[tensor] = r->array;
  s->out->initialised[tensor] = r->initialised;
  s->out->budgets[tensor] = r->budgets;
}

/* A function of tensors takes values: bufferization may reuse their buffers, and the
 * caller has to copy what it still needs (MLIR, Bufferization, "Destination-Passing
 * Style": function arguments are writable). `plan` is NULL for a kernel. */
static bool is_value(const plumb_call_plan *plan, size_t tensor) {
  for (size_t i = 0; plan && i < plan->input_count; i++)
    if (plan->input_tensors[i] == (int)tensor && plan->input_values[i]) return true;
  return false;
}

static void check_inputs(session *s, const plumb_call_plan *plan, const plumb_called *called) {
  const plumb_task *task = s->c->task;
  for (size_t i = 0; i < task->tensor_count; i++)
    if (task->tensors[i].role == PLUMB_ROLE_INPUT && !is_value(plan, i) &&
        memcmp(called->buffers[i].array.data, s->c->tensors[i].data,
               plumb_array_bytes(&s->c->tensors[i])) != 0)
      s->out->changed_input = task->tensors[i].name;
}

static plumb_status call_run(session *s, const plumb_run_options *options, plumb_called *called) {
  PLUMB_TRY(plumb_call_run(s->arena, &s->call, options, called, &s->out->problem));
  s->out->trap = called->trap;
  s->out->counters = called->counters;
  return PLUMB_OK;
}

static plumb_status scalar_bits(session *s, plumb_task_expression e, plumb_dtype type,
                                uint64_t *out_bits) {
  int64_t value;
  PLUMB_TRY(plumb_task_evaluate(s->c->task, &s->c->shape, e, &value, &s->out->problem));
  *out_bits =
      plumb_dtype_is_float(type) ? plumb_dtype_from_double(type, (double)value) : (uint64_t)value;
  return PLUMB_OK;
}

/* --- host functions --- */

static const char *side_name(const plumb_task *task, const plumb_task_side *side) {
  return side == &task->reference ? "reference" : "candidate";
}

static int find_tensor(const plumb_task *task, const char *name) {
  for (size_t i = 0; i < task->tensor_count; i++)
    if (strcmp(task->tensors[i].name, name) == 0) return (int)i;
  return -1;
}

static plumb_status fit(const plumb_task *task, const plumb_call_plan *plan, const char *what,
                        size_t position, const plumb_signature_value *value, int tensor,
                        plumb_diag *diag) {
  const plumb_task_tensor *t = &task->tensors[tensor];
  if (value->kind == PLUMB_SIGNATURE_SCALAR || value->dtype != t->type || value->rank != t->rank)
    return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, t->line, 0,
                      "tensor %s (%s, rank %zu) does not fit %s %zu of the %s, which is %s",
                      t->name, plumb_dtype_table[t->type].text, t->rank, what, position,
                      side_name(task, plan->side), value->text);
  return PLUMB_OK;
}

static plumb_status plan_inputs(plumb_arena *arena, const plumb_task *task,
                                const plumb_signature *signature, plumb_call_plan *plan,
                                plumb_diag *diag) {
  size_t n = signature->input_count;
  int *tensors = PLUMB_NEW_ARRAY(arena, int, n);
  plumb_task_expression *scalars = PLUMB_NEW_ARRAY(arena, plumb_task_expression, n);
  plumb_dtype *types = PLUMB_NEW_ARRAY(arena, plumb_dtype, n);
  bool *values = PLUMB_NEW_ARRAY(arena, bool, n);
  size_t next = 0;
  const plumb_task_side *side = plan->side;
  if (side->has_arguments && side->argument_count != n)
    return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, side->source_line, 0,
                      "%s: %zu arguments are given, %s takes %zu", side_name(task, side),
                      side->argument_count, plan->entry, n);
  for (size_t i = 0; i < n; i++) {
    types[i] = signature->inputs[i].dtype;
    values[i] = signature->inputs[i].kind == PLUMB_SIGNATURE_TENSOR;
    tensors[i] = -1;
    if (side->has_arguments) {
      tensors[i] = find_tensor(task, side->arguments[i].text);
      scalars[i] = side->arguments[i];
    } else if (signature->inputs[i].kind != PLUMB_SIGNATURE_SCALAR) {
      while (next < task->tensor_count && signature->result_count &&
             task->tensors[next].role == PLUMB_ROLE_OUTPUT)
        next++;
      if (next < task->tensor_count) tensors[i] = (int)next++;
    }
    bool scalar = signature->inputs[i].kind == PLUMB_SIGNATURE_SCALAR;
    if (tensors[i] >= 0)
      PLUMB_TRY(fit(task, plan, "input", i, &signature->inputs[i], tensors[i], diag));
    else if (!scalar || !scalars[i].text)
      return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, side->source_line, 0,
                        "%s: nothing is given for input %zu of %s (%s); list 'arguments'",
                        side_name(task, side), i, plan->entry, signature->inputs[i].text);
  }
  plan->input_tensors = tensors;
  plan->input_scalars = scalars;
  plan->input_types = types;
  plan->input_values = values;
  plan->input_count = n;
  return PLUMB_OK;
}

static bool names(const int *tensors, size_t count, size_t tensor) {
  for (size_t i = 0; i < count; i++)
    if (tensors[i] == (int)tensor) return true;
  return false;
}

/* A tensor that a result can be: an inout one whose memref is written in place is not. */
static bool takes_result(const plumb_task *task, const plumb_signature *signature,
                         const plumb_call_plan *plan, size_t tensor) {
  if (task->tensors[tensor].role == PLUMB_ROLE_INPUT) return false;
  for (size_t i = 0; i < plan->input_count; i++)
    if (plan->input_tensors[i] == (int)tensor &&
        signature->inputs[i].kind == PLUMB_SIGNATURE_MEMREF)
      return false;
  return true;
}

static plumb_status plan_results(plumb_arena *arena, const plumb_task *task,
                                 const plumb_signature *signature, plumb_call_plan *plan,
                                 plumb_diag *diag) {
  int *tensors = PLUMB_NEW_ARRAY(arena, int, signature->result_count);
  size_t next = 0;
  for (size_t i = 0; i < signature->result_count; i++) {
    while (next < task->tensor_count && !takes_result(task, signature, plan, next)) next++;
    if (next == task->tensor_count)
      return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, plan->side->source_line, 0,
                        "the %s returns %zu results; the task has fewer outputs",
                        side_name(task, plan->side), signature->result_count);
    tensors[i] = (int)next++;
    PLUMB_TRY(fit(task, plan, "result", i, &signature->results[i], tensors[i], diag));
  }
  plan->result_tensors = tensors;
  plan->result_count = signature->result_count;
  return PLUMB_OK;
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
                        "output %s: the %s neither returns nor takes it", task->tensors[i].name,
                        side_name(task, plan->side));
  }
  if (!outputs)
    return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, 0, 0,
                      "no tensor has 'role: output' or 'role: inout': there is nothing to compare");
  return PLUMB_OK;
}

plumb_status plumb_call_plan_create(plumb_arena *arena, const plumb_task *task,
                                    const plumb_task_side *side, const char *text,
                                    plumb_call_plan *out_plan, plumb_diag *diag) {
  plumb_signature signature;
  PLUMB_TRY(plumb_signature_read(arena, side->source, text, side->entry, &signature, diag));
  *out_plan = (plumb_call_plan){.side = side, .entry = signature.name};
  PLUMB_TRY(plan_inputs(arena, task, &signature, out_plan, diag));
  PLUMB_TRY(plan_results(arena, task, &signature, out_plan, diag));
  return check_covered(task, out_plan, diag);
}

/* A result must have the tensor's shape: elements are compared by position. */
static plumb_status take_result(session *s, const plumb_call_plan *plan, size_t tensor,
                                const plumb_readback *r) {
  const plumb_array *a = &s->c->tensors[tensor];
  for (size_t d = 0; d < a->rank; d++)
    if (r->array.dims[d] != a->dims[d])
      return plumb_fail(
          &s->out->problem, PLUMB_BAD_INPUT, s->c->task->path, s->c->task->tensors[tensor].line, 0,
          "the %s returns size %lld in dimension %zu of %s; %s says %lld",
          side_name(s->c->task, plan->side), (long long)r->array.dims[d], d,
          s->c->task->tensors[tensor].name,
          s->c->task->derived ? "its shape (--shape names the dimensions)" : "the task",
          (long long)a->dims[d]);
  keep_output(s, tensor, r);
  return PLUMB_OK;
}

static plumb_status host_operands(session *s, const plumb_call_plan *plan) {
  plumb_operand *operands = PLUMB_NEW_ARRAY(s->arena, plumb_operand, plan->input_count);
  plumb_call_result *results = PLUMB_NEW_ARRAY(s->arena, plumb_call_result, plan->result_count);
  for (size_t i = 0; i < plan->input_count; i++) {
    operands[i].buffer = plan->input_tensors[i];
    if (operands[i].buffer < 0)
      PLUMB_TRY(scalar_bits(s, plan->input_scalars[i], plan->input_types[i], &operands[i].bits));
  }
  for (size_t i = 0; i < plan->result_count; i++) {
    const plumb_array *a = &s->c->tensors[plan->result_tensors[i]];
    results[i] = (plumb_call_result){a->type, (int)a->rank};
  }
  s->call.operands = operands;
  s->call.operand_count = plan->input_count;
  s->call.results = results;
  s->call.result_count = plan->result_count;
  return PLUMB_OK;
}

static plumb_status host_run(session *s, const plumb_stage *stage, const plumb_call_plan *plan,
                             const plumb_run_options *options) {
  const plumb_task *task = s->c->task;
  s->call.function = plumb_program_find(stage->program, plan->entry);
  if (!s->call.function || s->call.function->external)
    return plumb_fail(&s->out->problem, PLUMB_UNSUPPORTED, task->path, plan->side->source_line, 0,
                      "stage %d has no function '%s'", stage->index, plan->entry);
  PLUMB_TRY(host_operands(s, plan));
  plumb_called called;
  PLUMB_TRY(call_run(s, options, &called));
  if (called.trap.kind != PLUMB_TRAP_NONE) return PLUMB_OK;
  for (size_t i = 0; i < plan->result_count; i++)
    PLUMB_TRY(take_result(s, plan, (size_t)plan->result_tensors[i], &called.results[i]));
  for (size_t i = 0; i < plan->input_count; i++) {
    int tensor = plan->input_tensors[i];
    if (tensor < 0 || task->tensors[tensor].role == PLUMB_ROLE_INPUT) continue;
    if (!s->out->outputs[tensor].data) keep_output(s, (size_t)tensor, &called.buffers[tensor]);
  }
  check_inputs(s, plan, &called);
  return PLUMB_OK;
}

void plumb_execute_host(plumb_arena *arena, const plumb_stage *stage, const plumb_case *c,
                        const plumb_call_plan *plan, const plumb_run_options *options,
                        plumb_outcome *out) {
  session s = session_begin(arena, stage, c, plan->side, out);
  out->status = host_run(&s, stage, plan, options);
}

/* --- kernels --- */

/* A scalar's type is that of the parameter it goes to. */
static plumb_status kernel_operands(session *s, const plumb_task_side *side) {
  plumb_operand *operands = PLUMB_NEW_ARRAY(s->arena, plumb_operand, side->argument_count);
  for (size_t i = 0; i < side->argument_count; i++)
    operands[i].buffer = find_tensor(s->c->task, side->arguments[i].text);
  s->call.operands = operands;
  s->call.operand_count = side->argument_count;
  for (size_t i = 0; i < side->argument_count; i++) {
    if (operands[i].buffer >= 0) continue;
    const plumb_param *p = plumb_call_param(&s->call, i);
    PLUMB_TRY(scalar_bits(s, side->arguments[i], p ? p->type : PLUMB_I64, &operands[i].bits));
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

static plumb_status kernel_run(session *s, const plumb_stage *stage, const plumb_task_side *side,
                               const plumb_run_options *options) {
  const plumb_task *task = s->c->task;
  plumb_launch *launch = &s->call.launch;
  s->call.function = plumb_call_find_kernel(stage->program, side->entry);
  if (!s->call.function)
    return plumb_fail(&s->out->problem, PLUMB_BAD_INPUT, task->path, side->source_line, 0,
                      "%s: %s has no kernel '%s'", side_name(task, side), side->source,
                      side->entry ? side->entry : "(the only one)");
  PLUMB_TRY(kernel_operands(s, side));
  uint32_t shared;
  for (int d = 0; d < 3; d++) {
    PLUMB_TRY(launch_size(s, side->grid[d], 1, "grid", &launch->grid[d]));
    PLUMB_TRY(launch_size(s, side->block[d], 1, "block", &launch->block[d]));
  }
  PLUMB_TRY(launch_size(s, side->shared_bytes, 0, "shared_bytes", &shared));
  launch->shared_bytes = shared;
  plumb_called called;
  PLUMB_TRY(call_run(s, options, &called));
  if (called.trap.kind != PLUMB_TRAP_NONE) return PLUMB_OK;
  for (size_t i = 0; i < task->tensor_count; i++)
    if (task->tensors[i].role != PLUMB_ROLE_INPUT) keep_output(s, i, &called.buffers[i]);
  check_inputs(s, NULL, &called);
  return PLUMB_OK;
}

void plumb_execute_kernel(plumb_arena *arena, const plumb_stage *stage, const plumb_case *c,
                          const plumb_run_options *options, plumb_outcome *out) {
  const plumb_task_side *side = &c->task->candidate;
  session s = session_begin(arena, stage, c, side, out);
  out->status = kernel_run(&s, stage, side, options);
}

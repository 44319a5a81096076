#include "tasks/call.h"

#include <string.h>

enum { ELEMENT_LIMIT = 1 << 30 }; /* of a result whose sizes the stage itself says */

typedef struct session {
  plumb_arena *arena;
  const plumb_call *call;
  const plumb_run_options *options;
  plumb_machine *machine;
  uint64_t *addresses; /* one a buffer */
  plumb_called *out;
  plumb_diag *diag;
} session;

const plumb_function *plumb_call_find_kernel(const plumb_program *program, const char *entry) {
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

/* --- arguments in --- */

static plumb_status place(session *s) {
  const plumb_call *call = s->call;
  s->machine = plumb_machine_create(s->arena);
  s->addresses = PLUMB_NEW_ARRAY(s->arena, uint64_t, call->buffer_count);
  PLUMB_TRY(plumb_machine_load(s->machine, call->program, s->diag));
  for (size_t i = 0; i < call->buffer_count; i++) {
    const plumb_buffer *b = &call->buffers[i];
    size_t bytes = plumb_array_bytes(b->array);
    s->addresses[i] = plumb_machine_alloc(s->machine, bytes, 256, b->name);
    if (!s->addresses[i])
      return plumb_fail(s->diag, PLUMB_LIMIT, call->path, call->line, 0,
                        "%s does not fit the executor's memory", b->name);
    PLUMB_TRY(b->poisoned ? plumb_machine_poison(s->machine, s->addresses[i], bytes, s->diag)
                          : plumb_machine_write(s->machine, s->addresses[i], b->array->data, bytes,
                                                s->diag));
  }
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
  for (size_t d = a->rank; d-- > 0; stride *= (uint64_t)a->dims[d])
    words[count + a->rank + d] = stride;
  return count + 2 * a->rank;
}

static size_t words_of(const plumb_call *call, size_t operand) {
  int buffer = call->operands[operand].buffer;
  return buffer < 0 ? 1 : 3 + 2 * call->buffers[buffer].array->rank;
}

/* True when the kernel has as many parameters as descriptors need. */
static bool takes_descriptors(const plumb_call *call) {
  size_t words = 0;
  for (size_t i = 0; i < call->operand_count; i++) words += words_of(call, i);
  return call->function->param_count == words;
}

const plumb_param *plumb_call_param(const plumb_call *call, size_t operand) {
  bool descriptors = takes_descriptors(call);
  size_t at = 0;
  if (!descriptors && call->function->param_count != call->operand_count) return NULL;
  for (size_t i = 0; i < operand; i++) at += descriptors ? words_of(call, i) : 1;
  return &call->function->params[at];
}

static uint64_t *flatten(session *s, bool descriptors, size_t *out_count) {
  const plumb_call *call = s->call;
  size_t capacity = 0, count = 0;
  for (size_t i = 0; i < call->operand_count; i++) capacity += words_of(call, i);
  uint64_t *words = PLUMB_NEW_ARRAY(s->arena, uint64_t, capacity);
  for (size_t i = 0; i < call->operand_count; i++) {
    int buffer = call->operands[i].buffer;
    if (buffer < 0)
      words[count++] = call->operands[i].bits;
    else if (descriptors)
      count = append_descriptor(words, count, s->addresses[buffer], call->buffers[buffer].array);
    else
      words[count++] = s->addresses[buffer];
  }
  *out_count = count;
  return words;
}

/* Every word of a pointer or a descriptor needs a parameter of 8 bytes. */
static plumb_status check_addresses(session *s, bool descriptors) {
  const plumb_call *call = s->call;
  for (size_t i = 0; i < call->operand_count; i++) {
    const plumb_param *first = plumb_call_param(call, i);
    size_t words = descriptors ? words_of(call, i) : 1;
    for (size_t k = 0; k < words && call->operands[i].buffer >= 0; k++)
      if (first[k].size_bytes != 8)
        return plumb_fail(s->diag, PLUMB_BAD_INPUT, call->path, call->line, 0,
                          "argument %zu of kernel %s takes %u bytes; %s is passed by an address "
                          "of 8",
                          i, call->function->name, first[k].size_bytes,
                          call->buffers[call->operands[i].buffer].name);
  }
  return PLUMB_OK;
}

static plumb_status pack(session *s, uint8_t **out_params) {
  const plumb_call *call = s->call;
  const plumb_function *kernel = call->function;
  size_t count;
  bool descriptors = takes_descriptors(call);
  if (!descriptors && kernel->param_count != call->operand_count)
    return plumb_fail(s->diag, PLUMB_BAD_INPUT, call->path, call->line, 0,
                      "%zu arguments are given, kernel %s takes %zu parameters",
                      call->operand_count, kernel->name, kernel->param_count);
  PLUMB_TRY(check_addresses(s, descriptors));
  uint64_t *words = flatten(s, descriptors, &count);
  uint8_t *params = plumb_arena_alloc(s->arena, kernel->param_bytes + 8);
  for (size_t i = 0; i < count; i++) {
    const plumb_param *p = &kernel->params[i];
    if (p->size_bytes > 8)
      return plumb_fail(s->diag, PLUMB_UNSUPPORTED, call->path, call->line, 0,
                        "parameter %zu of kernel %s is an aggregate of %u bytes", i, kernel->name,
                        p->size_bytes);
    memcpy(params + p->offset, &words[i], p->size_bytes);
  }
  *out_params = params;
  return PLUMB_OK;
}

/* --- values out --- */

static plumb_status read_budgets(session *s, uint64_t address, plumb_readback *r) {
  const plumb_array *a = &r->array;
  plumb_companion *c = PLUMB_NEW_ARRAY(s->arena, plumb_companion, a->count);
  r->budgets = PLUMB_NEW_ARRAY(s->arena, plumb_budget, a->count);
  PLUMB_TRY(plumb_machine_read_companions(s->machine, address, a->type, a->count, c, s->diag));
  for (size_t i = 0; i < a->count; i++)
    r->budgets[i] = (plumb_budget){c[i].shadow, c[i].lo, c[i].hi};
  return PLUMB_OK;
}

/* Reads contiguous memory into `r`, whose array has type and shape. */
static plumb_status read_back(session *s, uint64_t address, bool companions, plumb_readback *r) {
  size_t bytes = plumb_array_bytes(&r->array);
  r->array.data = plumb_arena_alloc(s->arena, bytes);
  r->initialised = plumb_arena_alloc(s->arena, bytes);
  if (!bytes) return PLUMB_OK;
  PLUMB_TRY(plumb_machine_read(s->machine, address, r->array.data, r->initialised, bytes, s->diag));
  return companions ? read_budgets(s, address, r) : PLUMB_OK;
}

/* The sizes and strides of a returned descriptor: the result's shape, if contiguous. */
static plumb_status read_shape(session *s, size_t index, const uint64_t *words, plumb_array *a) {
  for (size_t d = 0; d < a->rank; d++) {
    a->dims[d] = (int64_t)words[3 + d];
    if (a->dims[d] < 0 || __builtin_mul_overflow(a->count, (size_t)a->dims[d], &a->count) ||
        a->count > ELEMENT_LIMIT)
      return plumb_fail(s->diag, PLUMB_LIMIT, s->call->path, s->call->line, 0,
                        "result %zu of %s is too large", index, s->call->function->name);
  }
  uint64_t stride = 1;
  for (size_t d = a->rank; d-- > 0; stride *= (uint64_t)a->dims[d])
    if (a->count && a->dims[d] > 1 && words[3 + a->rank + d] != stride)
      return plumb_fail(s->diag, PLUMB_UNSUPPORTED, s->call->path, s->call->line, 0,
                        "result %zu of %s is strided", index, s->call->function->name);
  return PLUMB_OK;
}

static void read_scalar(session *s, const plumb_run_result *run, size_t word, plumb_readback *r) {
  enum { ROOM = 16 };
  r->array.data = plumb_arena_alloc(s->arena, ROOM);
  memcpy(r->array.data, &run->results[word], sizeof run->results[word]);
  r->initialised = plumb_arena_alloc(s->arena, ROOM);
  memset(r->initialised, !run->result_undefined[word], ROOM);
  if (!run->result_companions) return;
  const plumb_companion *c = &run->result_companions[word];
  r->budgets = PLUMB_NEW(s->arena, plumb_budget);
  *r->budgets = (plumb_budget){c->shadow, c->lo, c->hi};
}

static plumb_status read_results(session *s, const plumb_run_result *run) {
  const plumb_call *call = s->call;
  size_t at = 0;
  for (size_t i = 0; i < call->result_count; i++) {
    const plumb_call_result *type = &call->results[i];
    plumb_readback *r = &s->out->results[i];
    size_t needed = type->rank < 0 ? 1 : 3 + 2 * (size_t)type->rank;
    if (at + needed > run->result_count)
      return plumb_fail(s->diag, PLUMB_INTERNAL, call->path, call->line, 0,
                        "%s returns %zu words; result %zu needs more", call->function->name,
                        run->result_count, i);
    const uint64_t *words = run->results + at;
    at += needed;
    r->array = (plumb_array){.type = type->type, .count = 1};
    if (type->rank < 0) {
      read_scalar(s, run, at - 1, r);
      continue;
    }
    for (size_t w = at - needed; w < at; w++)
      if (run->result_undefined[w])
        return plumb_fail(s->diag, PLUMB_UNSUPPORTED, call->path, call->line, 0,
                          "the address, a size or a stride of result %zu of %s is undefined", i,
                          call->function->name);
    r->array.rank = (size_t)type->rank;
    r->array.dims = PLUMB_NEW_ARRAY(s->arena, int64_t, r->array.rank);
    PLUMB_TRY(read_shape(s, i, words, &r->array));
    PLUMB_TRY(read_back(s, words[1] + words[2] * plumb_dtype_bytes(type->type),
                        s->options->companions, r));
  }
  return PLUMB_OK;
}

static plumb_status run(session *s) {
  const plumb_call *call = s->call;
  PLUMB_TRY(place(s));
  plumb_run_result r = {0};
  if (call->function->kind == PLUMB_KERNEL) {
    uint8_t *params;
    PLUMB_TRY(pack(s, &params));
    PLUMB_TRY(plumb_machine_launch(s->machine, call->function->name, &call->launch, params,
                                   call->function->param_bytes, s->options, &r, s->diag));
  } else {
    size_t count;
    uint64_t *words = flatten(s, true, &count);
    PLUMB_TRY(plumb_machine_call(s->machine, call->function->name, words, count, s->options, &r,
                                 s->diag));
  }
  s->out->trap = r.trap;
  s->out->counters = r.counters;
  if (r.trap.kind != PLUMB_TRAP_NONE) return PLUMB_OK;
  for (size_t i = 0; i < call->buffer_count; i++) {
    s->out->buffers[i].array = *call->buffers[i].array;
    PLUMB_TRY(read_back(s, s->addresses[i], s->options->companions && call->buffers[i].companions,
                        &s->out->buffers[i]));
  }
  return read_results(s, &r);
}

plumb_status plumb_call_run(plumb_arena *arena, const plumb_call *call,
                            const plumb_run_options *options, plumb_called *out_called,
                            plumb_diag *diag) {
  *out_called = (plumb_called){0};
  out_called->buffers = PLUMB_NEW_ARRAY(arena, plumb_readback, call->buffer_count);
  out_called->results = PLUMB_NEW_ARRAY(arena, plumb_readback, call->result_count);
  session s = {.arena = arena, .call = call, .options = options, .out = out_called, .diag = diag};
  plumb_status status = run(&s);
  if (s.machine) plumb_machine_destroy(s.machine);
  return status;
}

#include "tasks/derive.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/signature.h"
#include "ir/stage.h"

/* Sizes that nothing says: one, an odd one below a warp, an odd one above. */
static const char default_sizes[] = "1,7,33";
static const char default_fills[] = "exact,normal,special";

typedef struct derivation {
  plumb_arena *arena;
  const plumb_pair *pair;
  plumb_task *task;
  plumb_diag *diag;
  size_t size_capacity;
} derivation;

/* Splits at commas outside parentheses: "ceildiv(M, 16),1" is two expressions. */
static plumb_status split(derivation *d, const char *flag, const char *text,
                          plumb_task_expression **out, size_t *out_count) {
  size_t count = 0, capacity = 0;
  int depth = 0;
  const char *start = text;
  *out = NULL;
  for (const char *at = text;; at++) {
    depth += (*at == '(') - (*at == ')');
    if (*at && (*at != ',' || depth > 0)) continue;
    while (isspace((unsigned char)*start)) start++;
    if (start >= at)
      return plumb_fail(d->diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                        "%s '%.80s': nothing stands before a comma or the end", flag, text);
    *out = plumb_arena_grow(d->arena, *out, &capacity, count + 1, sizeof **out);
    (*out)[count++].text = plumb_arena_copy_text(d->arena, start, (size_t)(at - start));
    if (!*at) break;
    start = at + 1;
  }
  *out_count = count;
  return PLUMB_OK;
}

/* --- sizes --- */

static plumb_status add_size(derivation *d, const char *name, const char *values) {
  plumb_task *task = d->task;
  task->sizes = plumb_arena_grow(d->arena, task->sizes, &d->size_capacity, task->size_count + 1,
                                 sizeof *task->sizes);
  plumb_task_size *size = &task->sizes[task->size_count++];
  size->name = name;
  return split(d, "--size", values, &size->values, &size->value_count);
}

static bool has_size(const derivation *d, const char *name) {
  for (size_t i = 0; i < d->task->size_count; i++)
    if (strcmp(d->task->sizes[i].name, name) == 0) return true;
  return false;
}

static bool is_name(const char *text, size_t length) {
  if (!length || !(isalpha((unsigned char)*text) || *text == '_')) return false;
  for (size_t i = 0; i < length; i++)
    if (!isalnum((unsigned char)text[i]) && text[i] != '_') return false;
  return true;
}

static plumb_status read_sizes(derivation *d) {
  for (size_t i = 0; i < d->pair->size_count; i++) {
    const char *text = d->pair->sizes[i], *equals = strchr(text, '=');
    if (!equals || !is_name(text, (size_t)(equals - text)))
      return plumb_fail(d->diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                        "--size '%.80s': write NAME=1,7,64, each value is tried", text);
    const char *name = plumb_arena_copy_text(d->arena, text, (size_t)(equals - text));
    if (has_size(d, name))
      return plumb_fail(d->diag, PLUMB_BAD_USAGE, NULL, 0, 0, "--size %s is given twice", name);
    PLUMB_TRY(add_size(d, name, equals + 1));
  }
  return PLUMB_OK;
}

/* --- tensors --- */

static const char *find_shape(const derivation *d, const char *name) {
  size_t length = strlen(name);
  for (size_t i = 0; i < d->pair->shape_count; i++)
    if (strncmp(d->pair->shapes[i], name, length) == 0 && d->pair->shapes[i][length] == '=')
      return d->pair->shapes[i] + length + 1;
  return NULL;
}

static plumb_status given_dims(derivation *d, plumb_task_tensor *t, const char *shape,
                               const plumb_signature_value *value) {
  size_t count = 0;
  if (*shape || value->rank) PLUMB_TRY(split(d, "--shape", shape, &t->dims, &count));
  if (count != value->rank)
    return plumb_fail(d->diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                      "--shape %s=%.80s: %zu sizes are given, %s has %zu", t->name, shape, count,
                      value->text, value->rank);
  for (size_t i = 0; i < count; i++) {
    if (value->dims[i] < 0) continue;
    char *end;
    long long given = strtoll(t->dims[i].text, &end, 10);
    if (*end || given != value->dims[i])
      return plumb_fail(d->diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                        "--shape %s=%.80s: dimension %zu of %s is %lld", t->name, shape, i,
                        value->text, (long long)value->dims[i]);
  }
  return PLUMB_OK;
}

static plumb_status read_dims(derivation *d, plumb_task_tensor *t,
                              const plumb_signature_value *value) {
  const char *shape = find_shape(d, t->name);
  t->rank = value->rank;
  t->dims = PLUMB_NEW_ARRAY(d->arena, plumb_task_expression, value->rank);
  for (size_t i = 0; i < value->rank && !shape; i++)
    t->dims[i].text = value->dims[i] < 0
                          ? plumb_arena_printf(d->arena, "d%zu", i)
                          : plumb_arena_printf(d->arena, "%lld", (long long)value->dims[i]);
  if (shape) PLUMB_TRY(given_dims(d, t, shape, value));
  for (size_t i = 0; i < value->rank; i++)
    if (is_name(t->dims[i].text, strlen(t->dims[i].text)) && !has_size(d, t->dims[i].text))
      PLUMB_TRY(add_size(d, t->dims[i].text, default_sizes));
  return PLUMB_OK;
}

static plumb_status read_fills(derivation *d, plumb_fill **out_fills, size_t *out_count) {
  const char *text = d->pair->fills ? d->pair->fills : default_fills;
  plumb_task_expression *names;
  PLUMB_TRY(split(d, "--fill", text, &names, out_count));
  *out_fills = PLUMB_NEW_ARRAY(d->arena, plumb_fill, *out_count);
  for (size_t i = 0; i < *out_count; i++)
    if (!plumb_fill_from_text(names[i].text, &(*out_fills)[i]))
      return plumb_fail(d->diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                        "--fill '%.60s' is not known (known: exact, normal, uniform, special, "
                        "zeros, ones, iota)",
                        names[i].text);
  return PLUMB_OK;
}

static plumb_status add_tensor(derivation *d, const char *name, const plumb_signature_value *value,
                               plumb_role role, plumb_fill *fills, size_t fill_count) {
  plumb_task_tensor *t = &d->task->tensors[d->task->tensor_count++];
  *t = (plumb_task_tensor){
      .name = name, .type = value->dtype, .role = role, .fills = fills, .fill_count = fill_count};
  return read_dims(d, t, value);
}

static plumb_status read_inputs(derivation *d, const plumb_signature *s, plumb_fill *fills,
                                size_t fill_count) {
  plumb_task_side *side = &d->task->reference;
  side->has_arguments = true;
  side->argument_count = s->input_count;
  side->arguments = PLUMB_NEW_ARRAY(d->arena, plumb_task_expression, s->input_count);
  for (size_t i = 0; i < s->input_count; i++) {
    const char *name = plumb_arena_printf(d->arena, "arg%zu", i);
    side->arguments[i].text = name;
    if (s->inputs[i].kind != PLUMB_SIGNATURE_SCALAR) {
      plumb_role role =
          s->inputs[i].kind == PLUMB_SIGNATURE_MEMREF ? PLUMB_ROLE_INOUT : PLUMB_ROLE_INPUT;
      PLUMB_TRY(add_tensor(d, name, &s->inputs[i], role, fills, fill_count));
    } else if (!has_size(d, name)) {
      return plumb_fail(d->diag, PLUMB_BAD_USAGE, d->pair->reference, 0, 0,
                        "argument %zu of @%s is a scalar (%s): give its values with --size %s=...",
                        i, s->name, s->inputs[i].text, name);
    }
  }
  return PLUMB_OK;
}

static plumb_status read_tensors(derivation *d, const plumb_signature *s) {
  plumb_fill *fills;
  size_t fill_count;
  PLUMB_TRY(read_fills(d, &fills, &fill_count));
  d->task->tensors = PLUMB_NEW_ARRAY(d->arena, plumb_task_tensor, s->input_count + s->result_count);
  PLUMB_TRY(read_inputs(d, s, fills, fill_count));
  for (size_t i = 0; i < s->result_count; i++) {
    if (s->results[i].kind == PLUMB_SIGNATURE_SCALAR)
      return plumb_fail(d->diag, PLUMB_UNSUPPORTED, d->pair->reference, 0, 0,
                        "result %zu of @%s is a scalar (%s): return a tensor of rank 0", i, s->name,
                        s->results[i].text);
    PLUMB_TRY(add_tensor(d, plumb_arena_printf(d->arena, "result%zu", i), &s->results[i],
                         PLUMB_ROLE_OUTPUT, fills, fill_count));
  }
  for (size_t i = 0; i < d->pair->shape_count; i++) {
    const char *equals = strchr(d->pair->shapes[i], '=');
    bool known = false;
    for (size_t t = 0; t < d->task->tensor_count && equals; t++)
      known = known || find_shape(d, d->task->tensors[t].name) == equals + 1;
    if (!known)
      return plumb_fail(d->diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                        "--shape '%.80s': write argK=M,N or resultK=M,N, once for each tensor",
                        d->pair->shapes[i]);
  }
  return PLUMB_OK;
}

/* --- the candidate --- */

static plumb_status three(derivation *d, const char *flag, const char *text,
                          plumb_task_expression out[3]) {
  plumb_task_expression *items;
  size_t count;
  PLUMB_TRY(split(d, flag, text, &items, &count));
  if (count > 3)
    return plumb_fail(d->diag, PLUMB_BAD_USAGE, NULL, 0, 0, "%s takes at most three sizes", flag);
  memcpy(out, items, count * sizeof *items);
  return PLUMB_OK;
}

static plumb_status read_launch(derivation *d) {
  const plumb_pair *pair = d->pair;
  plumb_task_side *side = &d->task->candidate;
  if (!pair->grid || !pair->block)
    return plumb_fail(d->diag, PLUMB_BAD_USAGE, pair->candidate, 0, 0,
                      "how its kernel is launched is not known: give --grid X,Y,Z and --block "
                      "X,Y,Z, in numbers or in the names of sizes");
  PLUMB_TRY(three(d, "--grid", pair->grid, side->grid));
  PLUMB_TRY(three(d, "--block", pair->block, side->block));
  side->shared_bytes.text = pair->shared;
  return PLUMB_OK;
}

/* An MLIR function of the same signature needs no launch; anything else is a kernel. */
static plumb_status is_host_function(derivation *d, bool *out_host) {
  plumb_stage_kind kind;
  char *text;
  size_t length;
  *out_host = false;
  if (!plumb_stage_kind_from_path(d->pair->candidate, &kind) || kind != PLUMB_STAGE_MLIR ||
      (d->pair->grid && !d->pair->entry))
    return PLUMB_OK;
  PLUMB_TRY(plumb_file_read(d->arena, d->pair->candidate, &text, &length, d->diag));
  return plumb_signature_find(d->pair->candidate, text, d->pair->entry, out_host, d->diag);
}

static plumb_status read_candidate(derivation *d) {
  const plumb_pair *pair = d->pair;
  plumb_task_side *side = &d->task->candidate;
  bool host;
  side->source = pair->candidate;
  side->entry = pair->entry;
  side->arch = pair->arch;
  PLUMB_TRY(is_host_function(d, &host));
  side->has_arguments = true;
  if (pair->arguments) {
    PLUMB_TRY(split(d, "--arguments", pair->arguments, &side->arguments, &side->argument_count));
  } else {
    /* The reference's arguments, and for a kernel, which returns nothing, its results. */
    const plumb_task_side *reference = &d->task->reference;
    size_t count = reference->argument_count;
    side->arguments =
        PLUMB_NEW_ARRAY(d->arena, plumb_task_expression, count + d->task->tensor_count);
    memcpy(side->arguments, reference->arguments, count * sizeof *side->arguments);
    for (size_t i = 0; i < d->task->tensor_count && !host; i++)
      if (d->task->tensors[i].role == PLUMB_ROLE_OUTPUT)
        side->arguments[count++].text = d->task->tensors[i].name;
    side->argument_count = count;
  }
  return host ? PLUMB_OK : read_launch(d);
}

static plumb_status read_accept(derivation *d) {
  plumb_accept *accept = &d->task->accept;
  plumb_task_expression *items;
  size_t count;
  accept->level = PLUMB_VERDICT_BOUNDED;
  if (!d->pair->accept) return PLUMB_OK;
  PLUMB_TRY(split(d, "--accept", d->pair->accept, &items, &count));
  for (size_t i = 0; i < count; i++) {
    const char *text = items[i].text;
    double *limit = strncmp(text, "abs=", 4) == 0   ? &accept->abs
                    : strncmp(text, "rel=", 4) == 0 ? &accept->rel
                    : strncmp(text, "ulp=", 4) == 0 ? &accept->ulp
                                                    : NULL;
    char *end = NULL;
    if (limit) {
      accept->tolerance = true;
      *limit = strtod(text + 4, &end);
    }
    bool good = limit ? end != text + 4 && !*end && *limit >= 0
                      : plumb_verdict_from_text(text, &accept->level) &&
                            accept->level <= PLUMB_VERDICT_BOUNDED;
    if (!good)
      return plumb_fail(d->diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                        "--accept '%.60s': write identical, reassociated, algebraic, bounded, or "
                        "abs=1e-6,rel=1e-5,ulp=4",
                        text);
  }
  return PLUMB_OK;
}

plumb_status plumb_task_derive(plumb_arena *arena, const plumb_pair *pair, plumb_task **out_task,
                               plumb_diag *diag) {
  plumb_task *task = PLUMB_NEW(arena, plumb_task);
  derivation d = {.arena = arena, .pair = pair, .task = task, .diag = diag};
  char *text;
  size_t length;
  plumb_signature signature;
  PLUMB_TRY(plumb_file_read(arena, pair->reference, &text, &length, diag));
  PLUMB_TRY(
      plumb_signature_read(arena, pair->reference, text, pair->reference_entry, &signature, diag));
  task->path = pair->candidate;
  task->name = plumb_arena_printf(arena, "%s against %s", pair->candidate, pair->reference);
  task->category = "translation";
  task->derived = true;
  task->reference.source = pair->reference;
  task->reference.entry = signature.name;
  task->reference.arch = pair->arch;
  PLUMB_TRY(read_sizes(&d));
  PLUMB_TRY(read_tensors(&d, &signature));
  PLUMB_TRY(read_candidate(&d));
  PLUMB_TRY(read_accept(&d));
  *out_task = task;
  return PLUMB_OK;
}

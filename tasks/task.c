#include "tasks/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "tasks/size.h"

typedef struct reader {
  plumb_arena *arena;
  const char *path;
  yaml_document_t *document;
  plumb_diag *diag;
} reader;

static plumb_status fail_at(reader *r, const yaml_node_t *node, const char *format, const char *a,
                            const char *b) {
  char *message = plumb_arena_printf(r->arena, format, a, b);
  return plumb_fail(r->diag, PLUMB_BAD_INPUT, r->path, (int)node->start_mark.line + 1,
                    (int)node->start_mark.column + 1, "%s", message);
}

static int line_of(const yaml_node_t *node) {
  return (int)node->start_mark.line + 1;
}

/* Levenshtein distance, for texts of ordinary keys' length. */
static size_t distance(const char *a, const char *b) {
  size_t row[64], n = strlen(b);
  if (n >= 63 || strlen(a) >= 63) return 99;
  for (size_t j = 0; j <= n; j++) row[j] = j;
  for (size_t i = 0; a[i]; i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < n; j++) {
      size_t cost = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      if (row[j] + 1 < cost) cost = row[j] + 1;
      if (row[j + 1] + 1 < cost) cost = row[j + 1] + 1;
      row[j + 1] = cost;
    }
  }
  return row[n];
}

static plumb_status scalar(reader *r, const yaml_node_t *node, const char *what,
                           const char **out_text) {
  if (node->type != YAML_SCALAR_NODE)
    return fail_at(r, node, "%s must be a single value", what, "");
  if (memchr(node->data.scalar.value, 0, node->data.scalar.length))
    return fail_at(r, node, "%s holds a NUL byte", what, "");
  *out_text = plumb_arena_copy_text(r->arena, (const char *)node->data.scalar.value,
                                    node->data.scalar.length);
  return PLUMB_OK;
}

typedef plumb_status (*key_handler)(reader *r, const yaml_node_t *value, const char *key,
                                    void *user);
typedef struct key_row {
  const char *key;
  key_handler handler;
} key_row;

static plumb_status unknown_key(reader *r, const yaml_node_t *node, const char *key,
                                const key_row *rows, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; i++)
    if (distance(key, rows[i].key) < distance(key, rows[best].key)) best = i;
  return fail_at(r, node, "unknown key '%s'; did you mean '%s'?", key, rows[best].key);
}

/* Calls the handler of each key. A row with key NULL takes every key. */
static plumb_status mapping(reader *r, const yaml_node_t *node, const char *what,
                            const key_row *rows, size_t count, void *user) {
  if (node->type != YAML_MAPPING_NODE) return fail_at(r, node, "%s must be a mapping", what, "");
  const yaml_node_pair_t *first = node->data.mapping.pairs.start;
  for (const yaml_node_pair_t *pair = first; pair < node->data.mapping.pairs.top; pair++) {
    const yaml_node_t *key_node = yaml_document_get_node(r->document, pair->key);
    const yaml_node_t *value = yaml_document_get_node(r->document, pair->value);
    const char *key;
    PLUMB_TRY(scalar(r, key_node, "a key", &key));
    for (const yaml_node_pair_t *other = first; other < pair; other++) {
      const yaml_node_t *earlier = yaml_document_get_node(r->document, other->key);
      if (strcmp((const char *)earlier->data.scalar.value, key) == 0)
        return fail_at(r, key_node, "key '%s' stands twice in %s", key, what);
    }
    const key_row *row = NULL;
    for (size_t i = 0; i < count && !row; i++)
      if (!rows[i].key || strcmp(rows[i].key, key) == 0) row = &rows[i];
    if (!row) return unknown_key(r, key_node, key, rows, count);
    PLUMB_TRY(row->handler(r, value, key, user));
  }
  return PLUMB_OK;
}
#define MAPPING(r, node, what, rows, user) \
  mapping(r, node, what, rows, sizeof(rows) / sizeof *(rows), user)

static plumb_status expressions(reader *r, const yaml_node_t *node, const char *what,
                                plumb_task_expression **out, size_t *out_count) {
  size_t count = 1;
  if (node->type == YAML_SEQUENCE_NODE)
    count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
  *out = PLUMB_NEW_ARRAY(r->arena, plumb_task_expression, count);
  *out_count = count;
  for (size_t i = 0; i < count; i++) {
    const yaml_node_t *item = node;
    if (node->type == YAML_SEQUENCE_NODE)
      item = yaml_document_get_node(r->document, node->data.sequence.items.start[i]);
    (*out)[i].line = line_of(item);
    PLUMB_TRY(scalar(r, item, what, &(*out)[i].text));
  }
  return PLUMB_OK;
}

static plumb_status number(reader *r, const yaml_node_t *node, const char *what, double *out) {
  const char *text;
  PLUMB_TRY(scalar(r, node, what, &text));
  char *end;
  errno = 0;
  *out = strtod(text, &end);
  if (end == text || *end || errno) return fail_at(r, node, "%s: '%s' is no number", what, text);
  return PLUMB_OK;
}

/* --- sides --- */

static plumb_status side_source(reader *r, const yaml_node_t *v, const char *key, void *user) {
  (void)key;
  plumb_task_side *side = user;
  const char *text;
  PLUMB_TRY(scalar(r, v, "source", &text));
  const char *slash = strrchr(r->path, '/');
  side->source_line = line_of(v);
  side->source =
      text[0] == '/' || !slash
          ? text
          : plumb_arena_printf(r->arena, "%.*s/%s", (int)(slash - r->path), r->path, text);
  return PLUMB_OK;
}
static plumb_status side_entry(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return scalar(r, v, key, &((plumb_task_side *)user)->entry);
}
static plumb_status side_pipeline(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return scalar(r, v, key, &((plumb_task_side *)user)->pipeline);
}
static plumb_status side_llvm(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return scalar(r, v, key, &((plumb_task_side *)user)->llvm_pipeline);
}
static plumb_status compile_with(reader *r, const yaml_node_t *v, const char *key, void *user) {
  plumb_task_side *side = user;
  PLUMB_TRY(scalar(r, v, key, &side->compile_with));
  if (strcmp(side->compile_with, "clang") != 0 && strcmp(side->compile_with, "nvcc") != 0)
    return fail_at(r, v, "compiler '%s' is not known (known: clang, nvcc)%s", side->compile_with,
                   "");
  return PLUMB_OK;
}
static plumb_status compile_arch(reader *r, const yaml_node_t *v, const char *key, void *user) {
  plumb_task_side *side = user;
  PLUMB_TRY(scalar(r, v, key, &side->arch));
  if (strncmp(side->arch, "sm_", 3) != 0)
    return fail_at(r, v, "arch '%s' must be like sm_90%s", side->arch, "");
  return PLUMB_OK;
}
static plumb_status compile_flags(reader *r, const yaml_node_t *v, const char *key, void *user) {
  plumb_task_side *side = user;
  plumb_task_expression *items;
  PLUMB_TRY(expressions(r, v, key, &items, &side->flag_count));
  side->flags = PLUMB_NEW_ARRAY(r->arena, const char *, side->flag_count);
  for (size_t i = 0; i < side->flag_count; i++) side->flags[i] = items[i].text;
  return PLUMB_OK;
}
static plumb_status side_compile(reader *r, const yaml_node_t *v, const char *key, void *user) {
  static const key_row rows[] = {
      {"with", compile_with}, {"arch", compile_arch}, {"flags", compile_flags}};
  return MAPPING(r, v, key, rows, user);
}
static plumb_status three(reader *r, const yaml_node_t *v, const char *key,
                          plumb_task_expression out[3]) {
  plumb_task_expression *items;
  size_t count;
  PLUMB_TRY(expressions(r, v, key, &items, &count));
  if (count < 1 || count > 3) return fail_at(r, v, "%s takes one to three sizes", key, "");
  for (size_t i = 0; i < count; i++) out[i] = items[i];
  return PLUMB_OK;
}
static plumb_status launch_grid(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return three(r, v, key, ((plumb_task_side *)user)->grid);
}
static plumb_status launch_block(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return three(r, v, key, ((plumb_task_side *)user)->block);
}
static plumb_status launch_shared(reader *r, const yaml_node_t *v, const char *key, void *user) {
  plumb_task_side *side = user;
  side->shared_bytes.line = line_of(v);
  return scalar(r, v, key, &side->shared_bytes.text);
}
static plumb_status side_launch(reader *r, const yaml_node_t *v, const char *key, void *user) {
  static const key_row rows[] = {
      {"grid", launch_grid}, {"block", launch_block}, {"shared_bytes", launch_shared}};
  return MAPPING(r, v, key, rows, user);
}
static plumb_status side_arguments(reader *r, const yaml_node_t *v, const char *key, void *user) {
  plumb_task_side *side = user;
  side->has_arguments = true;
  if (v->type != YAML_SEQUENCE_NODE) return fail_at(r, v, "%s must be a list", key, "");
  return expressions(r, v, key, &side->arguments, &side->argument_count);
}
static plumb_status read_side(reader *r, const yaml_node_t *v, const char *key, void *user) {
  static const key_row rows[] = {{"source", side_source},     {"entry", side_entry},
                                 {"pipeline", side_pipeline}, {"compile", side_compile},
                                 {"launch", side_launch},     {"arguments", side_arguments},
                                 {"llvm_pipeline", side_llvm}};
  plumb_task *task = user;
  plumb_task_side *side = strcmp(key, "reference") == 0 ? &task->reference : &task->candidate;
  PLUMB_TRY(MAPPING(r, v, key, rows, side));
  return side->source ? PLUMB_OK : fail_at(r, v, "%s needs a 'source'", key, "");
}

/* --- sizes and tensors --- */

static plumb_status one_size(reader *r, const yaml_node_t *v, const char *key, void *user) {
  plumb_task *task = user;
  plumb_task_size *size = &task->sizes[task->size_count++];
  size->name = key;
  PLUMB_TRY(expressions(r, v, "a size", &size->values, &size->value_count));
  return size->value_count ? PLUMB_OK : fail_at(r, v, "size '%s' has no value", key, "");
}
static size_t pair_count(const yaml_node_t *v) {
  return v->type == YAML_MAPPING_NODE
             ? (size_t)(v->data.mapping.pairs.top - v->data.mapping.pairs.start)
             : 0;
}
static plumb_status read_sizes(reader *r, const yaml_node_t *v, const char *key, void *user) {
  static const key_row rows[] = {{NULL, one_size}};
  plumb_task *task = user;
  task->sizes = PLUMB_NEW_ARRAY(r->arena, plumb_task_size, pair_count(v));
  return MAPPING(r, v, key, rows, user);
}

static plumb_status fill_kind(reader *r, const yaml_node_t *v, const char *key, void *user) {
  const char *text;
  PLUMB_TRY(scalar(r, v, key, &text));
  plumb_fill *fill = user;
  if (text[0] == '@') {
    const char *slash = strrchr(r->path, '/');
    fill->kind = PLUMB_FILL_FILE;
    fill->file =
        text[1] == '/' || !slash
            ? text + 1
            : plumb_arena_printf(r->arena, "%.*s/%s", (int)(slash - r->path), r->path, text + 1);
    return PLUMB_OK;
  }
  plumb_fill named;
  if (!plumb_fill_from_text(text, &named))
    return fail_at(r, v,
                   "fill '%s' is not known (known: exact, normal, uniform, special, zeros, ones, "
                   "iota, @file.npy)%s",
                   text, "");
  fill->kind = named.kind;
  return PLUMB_OK;
}
static plumb_status fill_mean(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return number(r, v, key, &((plumb_fill *)user)->mean);
}
static plumb_status fill_std(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return number(r, v, key, &((plumb_fill *)user)->std);
}
static plumb_status fill_low(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return number(r, v, key, &((plumb_fill *)user)->low);
}
static plumb_status fill_high(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return number(r, v, key, &((plumb_fill *)user)->high);
}
static plumb_status one_fill(reader *r, const yaml_node_t *v, plumb_fill *fill) {
  static const key_row rows[] = {{"kind", fill_kind},
                                 {"mean", fill_mean},
                                 {"std", fill_std},
                                 {"low", fill_low},
                                 {"high", fill_high}};
  *fill = plumb_fill_of(PLUMB_FILL_NORMAL);
  if (v->type == YAML_MAPPING_NODE) return MAPPING(r, v, "fill", rows, fill);
  return fill_kind(r, v, "fill", fill);
}

static plumb_status tensor_type(reader *r, const yaml_node_t *v, const char *key, void *user) {
  const char *text;
  PLUMB_TRY(scalar(r, v, key, &text));
  if (plumb_dtype_from_text(text, strlen(text), &((plumb_task_tensor *)user)->type))
    return PLUMB_OK;
  return fail_at(
      r, v,
      "element type '%s' is not known (known: i1 i8 i16 i32 i64 f16 bf16 f32 f64 e4m3 e5m2 ...)%s",
      text, "");
}
static plumb_status tensor_shape(reader *r, const yaml_node_t *v, const char *key, void *user) {
  plumb_task_tensor *tensor = user;
  return expressions(r, v, key, &tensor->dims, &tensor->rank);
}
static plumb_status tensor_role(reader *r, const yaml_node_t *v, const char *key, void *user) {
  static const char *const roles[] = {"input", "output", "inout"};
  const char *text;
  PLUMB_TRY(scalar(r, v, key, &text));
  for (int i = 0; i < 3; i++)
    if (strcmp(text, roles[i]) == 0) {
      ((plumb_task_tensor *)user)->role = (plumb_role)i;
      return PLUMB_OK;
    }
  return fail_at(r, v, "role '%s' is not known (known: input, output, inout)%s", text, "");
}
static plumb_status tensor_fill(reader *r, const yaml_node_t *v, const char *key, void *user) {
  (void)key;
  plumb_task_tensor *tensor = user;
  bool list = v->type == YAML_SEQUENCE_NODE;
  tensor->fill_count =
      list ? (size_t)(v->data.sequence.items.top - v->data.sequence.items.start) : 1;
  if (!tensor->fill_count) return fail_at(r, v, "fill is an empty list%s%s", "", "");
  tensor->fills = PLUMB_NEW_ARRAY(r->arena, plumb_fill, tensor->fill_count);
  for (size_t i = 0; i < tensor->fill_count; i++) {
    const yaml_node_t *item =
        list ? yaml_document_get_node(r->document, v->data.sequence.items.start[i]) : v;
    PLUMB_TRY(one_fill(r, item, &tensor->fills[i]));
  }
  return PLUMB_OK;
}
static plumb_status one_tensor(reader *r, const yaml_node_t *v, const char *key, void *user) {
  static const key_row rows[] = {
      {"type", tensor_type}, {"shape", tensor_shape}, {"role", tensor_role}, {"fill", tensor_fill}};
  plumb_task *task = user;
  plumb_task_tensor *tensor = &task->tensors[task->tensor_count++];
  *tensor = (plumb_task_tensor){.name = key, .line = line_of(v), .type = PLUMB_DTYPE_COUNT};
  PLUMB_TRY(MAPPING(r, v, "a tensor", rows, tensor));
  if (tensor->type == PLUMB_DTYPE_COUNT)
    return fail_at(r, v, "tensor '%s' needs a 'type'", key, "");
  if (!tensor->fills) {
    static plumb_fill normal = {.kind = PLUMB_FILL_NORMAL, .std = 1, .high = 1};
    tensor->fills = &normal;
    tensor->fill_count = 1;
  }
  return PLUMB_OK;
}
static plumb_status read_tensors(reader *r, const yaml_node_t *v, const char *key, void *user) {
  static const key_row rows[] = {{NULL, one_tensor}};
  plumb_task *task = user;
  task->tensors = PLUMB_NEW_ARRAY(r->arena, plumb_task_tensor, pair_count(v));
  return MAPPING(r, v, key, rows, user);
}

/* --- the rest --- */

static plumb_status accept_level(reader *r, const yaml_node_t *v, const char *key, void *user) {
  const char *text;
  PLUMB_TRY(scalar(r, v, key, &text));
  plumb_accept *accept = user;
  if (!plumb_verdict_from_text(text, &accept->level) || accept->level > PLUMB_VERDICT_BOUNDED)
    return fail_at(r, v,
                   "level '%s' is not known (known: identical, reassociated, algebraic, bounded)%s",
                   text, "");
  return PLUMB_OK;
}
static plumb_status tolerance(reader *r, const yaml_node_t *v, const char *key, double *out,
                              plumb_accept *accept) {
  accept->tolerance = true;
  PLUMB_TRY(number(r, v, key, out));
  return *out >= 0 ? PLUMB_OK : fail_at(r, v, "%s must not be negative", key, "");
}
static plumb_status accept_abs(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return tolerance(r, v, key, &((plumb_accept *)user)->abs, user);
}
static plumb_status accept_rel(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return tolerance(r, v, key, &((plumb_accept *)user)->rel, user);
}
static plumb_status accept_ulp(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return tolerance(r, v, key, &((plumb_accept *)user)->ulp, user);
}
static plumb_status read_accept(reader *r, const yaml_node_t *v, const char *key, void *user) {
  static const key_row rows[] = {
      {"level", accept_level}, {"abs", accept_abs}, {"rel", accept_rel}, {"ulp", accept_ulp}};
  return MAPPING(r, v, key, rows, &((plumb_task *)user)->accept);
}
static plumb_status read_version(reader *r, const yaml_node_t *v, const char *key, void *user) {
  (void)user;
  const char *text;
  PLUMB_TRY(scalar(r, v, key, &text));
  return strcmp(text, "1") == 0
             ? PLUMB_OK
             : fail_at(r, v, "format version '%s' is not known; this program reads version 1%s",
                       text, "");
}
static plumb_status read_name(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return scalar(r, v, key, &((plumb_task *)user)->name);
}
static plumb_status read_category(reader *r, const yaml_node_t *v, const char *key, void *user) {
  return scalar(r, v, key, &((plumb_task *)user)->category);
}

static plumb_status read_root(reader *r, plumb_task *task) {
  static const key_row rows[] = {{"plumb", read_version},     {"name", read_name},
                                 {"category", read_category}, {"reference", read_side},
                                 {"candidate", read_side},    {"sizes", read_sizes},
                                 {"tensors", read_tensors},   {"accept", read_accept}};
  const yaml_node_t *root = yaml_document_get_root_node(r->document);
  if (!root)
    return plumb_fail(r->diag, PLUMB_BAD_INPUT, r->path, 1, 1,
                      "is empty; a task file starts with 'plumb: 1'");
  PLUMB_TRY(MAPPING(r, root, "the task file", rows, task));
  if (!task->reference.source) return fail_at(r, root, "key '%s' is missing%s", "reference", "");
  if (!task->candidate.source) return fail_at(r, root, "key '%s' is missing%s", "candidate", "");
  if (!task->name) task->name = task->path;
  return PLUMB_OK;
}

plumb_status plumb_task_read(plumb_arena *arena, const char *path, const char *text, size_t length,
                             plumb_task **out_task, plumb_diag *diag) {
  plumb_task *task = PLUMB_NEW(arena, plumb_task);
  task->path = plumb_arena_copy_string(arena, path);
  task->accept.level = PLUMB_VERDICT_BOUNDED;
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser))
    return plumb_fail(diag, PLUMB_INTERNAL, path, 0, 0, "out of memory");
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
  yaml_document_t document;
  plumb_status status;
  if (!yaml_parser_load(&parser, &document)) {
    status = plumb_fail(diag, PLUMB_BAD_INPUT, path, (int)parser.problem_mark.line + 1,
                        (int)parser.problem_mark.column + 1, "is no valid YAML: %s",
                        parser.problem ? parser.problem : "unknown problem");
  } else {
    reader r = {arena, task->path, &document, diag};
    status = read_root(&r, task);
    yaml_document_delete(&document);
  }
  yaml_parser_delete(&parser);
  if (status == PLUMB_OK) *out_task = task;
  return status;
}

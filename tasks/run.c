/* `plumb run`: one stage, its outputs. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lower/lower.h"
#include "tasks/freedom.h"
#include "tasks/npy.h"
#include "tasks/source.h"
#include "tasks/verbs.h"

static void write_trap(const plumb_trap *t, plumb_text *out) {
  plumb_text_printf(out, "trapped: %s", plumb_trap_text(t->kind));
  if (t->location.file) plumb_text_printf(out, " at %s:%d", t->location.file, t->location.line);
  if (t->location.stage_line)
    plumb_text_printf(out, " (line %d of the stage)", t->location.stage_line);
  plumb_text_printf(out, " in %s", t->function ? t->function : "?");
  if (t->block[0] >= 0)
    plumb_text_printf(out, ", block (%lld, %lld, %lld), lane %d", (long long)t->block[0],
                      (long long)t->block[1], (long long)t->block[2], t->lane);
  plumb_text_printf(out, "\n");
  if (t->message) plumb_text_printf(out, "  %s\n", t->message);
}

/* True where a byte of the element was never written, or the value is undefined. */
static bool is_undefined(const plumb_readback *r, size_t element) {
  unsigned bytes = plumb_dtype_bytes(r->array.type);
  for (unsigned b = 0; r->initialised && b < bytes; b++)
    if (!r->initialised[element * bytes + b]) return true;
  return false;
}

static void write_value(const char *name, size_t index, const plumb_readback *r, plumb_text *out) {
  size_t undefined = 0;
  plumb_text_printf(out, "%s%zu = ", name, index);
  plumb_value_print(&r->array, out);
  for (size_t i = 0; i < r->array.count; i++)
    if (is_undefined(r, i) && undefined++ < 8)
      plumb_text_printf(out, "%s%zu", undefined == 1 ? "  (undefined: element " : ", ", i);
  if (undefined > 8) plumb_text_printf(out, " ... %zu in all", undefined);
  if (undefined) plumb_text_printf(out, ")");
  plumb_text_printf(out, "\n");
}

static cJSON *array_json(const plumb_readback *r) {
  const plumb_array *a = &r->array;
  cJSON *object = cJSON_CreateObject(), *values = cJSON_CreateArray(), *dims = cJSON_CreateArray();
  unsigned bytes = plumb_dtype_bytes(a->type);
  cJSON *patterns = cJSON_CreateArray(), *undefined = cJSON_CreateArray();
  for (size_t d = 0; d < a->rank; d++)
    cJSON_AddItemToArray(dims, cJSON_CreateNumber((double)a->dims[d]));
  for (size_t i = 0; i < a->count; i++) {
    uint64_t bits = 0;
    char pattern[24];
    memcpy(&bits, (const char *)a->data + i * bytes, bytes < 8 ? bytes : 8);
    double value = plumb_dtype_to_double(a->type, bits);
    cJSON_AddItemToArray(values, isfinite(value) ? cJSON_CreateNumber(value)
                                                 : cJSON_CreateString(isnan(value) ? "nan"
                                                                      : value > 0  ? "inf"
                                                                                   : "-inf"));
    snprintf(pattern, sizeof pattern, "0x%0*llx", (int)(2 * bytes), (unsigned long long)bits);
    cJSON_AddItemToArray(patterns, cJSON_CreateString(pattern));
    if (is_undefined(r, i)) cJSON_AddItemToArray(undefined, cJSON_CreateNumber((double)i));
  }
  cJSON_AddStringToObject(object, "type", plumb_dtype_table[a->type].text);
  cJSON_AddItemToObject(object, "shape", dims);
  cJSON_AddItemToObject(object, "values", values);
  cJSON_AddItemToObject(object, "bits", patterns);
  if (cJSON_GetArraySize(undefined))
    cJSON_AddItemToObject(object, "undefined", undefined);
  else
    cJSON_Delete(undefined);
  return object;
}

/* What the outputs depend on: sentences, their number in *out_count. */
static const char **dependences(plumb_arena *arena, const plumb_verb_options *o,
                                const plumb_freedom_readings *readings,
                                const plumb_run_options *options, const plumb_invoked *r,
                                size_t *out_count) {
  const char **found = PLUMB_NEW_ARRAY(arena, const char *, PLUMB_FREEDOM_COUNT);
  const plumb_invocation *v = &o->invocation;
  *out_count = 0;
  for (int i = 0; i < PLUMB_FREEDOM_COUNT && r->trap.kind == PLUMB_TRAP_NONE; i++) {
    if (!readings->others[i]) continue;
    plumb_run_options other = *options;
    other.seed = o->seed + plumb_freedom_seed(o->freedom, (plumb_freedom)i);
    plumb_invoked s;
    plumb_invoke(arena, readings->others[i], v, &other, &s);
    if (plumb_freedom_is_illegal((plumb_freedom)i, &s.trap)) continue;
    if (!plumb_freedom_same_call(v, r, &s))
      found[(*out_count)++] = plumb_freedom_sentence(arena, o->freedom, (plumb_freedom)i, "");
  }
  return found;
}

static void write_json(const plumb_invocation *v, const plumb_invoked *r, const char **depends,
                       size_t depends_count, plumb_text *out) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "schema", "plumb-run-1");
  cJSON_AddStringToObject(root, "entry", v->entry);
  if (r->trap.kind != PLUMB_TRAP_NONE) {
    cJSON *trap = cJSON_AddObjectToObject(root, "trap");
    cJSON_AddStringToObject(trap, "kind", plumb_trap_text(r->trap.kind));
    if (r->trap.location.file) cJSON_AddStringToObject(trap, "file", r->trap.location.file);
    cJSON_AddNumberToObject(trap, "line", r->trap.location.line);
    cJSON_AddNumberToObject(trap, "stage_line", r->trap.location.stage_line);
    cJSON_AddNumberToObject(trap, "lane", r->trap.lane);
    if (r->trap.message) cJSON_AddStringToObject(trap, "message", r->trap.message);
  } else {
    cJSON_AddNullToObject(root, "trap");
    cJSON *args = cJSON_AddArrayToObject(root, "arguments");
    for (size_t i = 0; i < v->arg_count; i++) cJSON_AddItemToArray(args, array_json(&r->args[i]));
    cJSON *results = cJSON_AddArrayToObject(root, "results");
    for (size_t i = 0; i < v->result_count; i++)
      cJSON_AddItemToArray(results, array_json(&r->results[i]));
  }
  if (depends_count) {
    cJSON *list = cJSON_AddArrayToObject(root, "depends_on");
    for (size_t i = 0; i < depends_count; i++)
      cJSON_AddItemToArray(list, cJSON_CreateString(depends[i]));
  }
  char *text = cJSON_PrintUnformatted(root);
  plumb_text_printf(out, "%s\n", text);
  free(text);
  cJSON_Delete(root);
}

static plumb_status save(const plumb_verb_options *o, const plumb_invoked *r, plumb_arena *arena,
                         plumb_diag *diag) {
  if (mkdir(o->save, 0777) != 0 && errno != EEXIST)
    return plumb_fail(diag, PLUMB_BAD_INPUT, o->save, 0, 0, "--save: cannot create the folder: %s",
                      strerror(errno));
  for (size_t i = 0; i < o->invocation.arg_count; i++)
    PLUMB_TRY(plumb_npy_write(plumb_arena_printf(arena, "%s/arg%zu.npy", o->save, i),
                              &r->args[i].array, diag));
  for (size_t i = 0; i < o->invocation.result_count; i++)
    PLUMB_TRY(plumb_npy_write(plumb_arena_printf(arena, "%s/result%zu.npy", o->save, i),
                              &r->results[i].array, diag));
  return PLUMB_OK;
}

plumb_status plumb_verb_run(plumb_arena *arena, plumb_verb_options *o, plumb_text *out,
                            int *out_exit, plumb_diag *diag) {
  if (o->file_count != 1)
    return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0, "run takes one file, %zu are given",
                      o->file_count);
  if (o->format != PLUMB_FORMAT_TEXT && o->format != PLUMB_FORMAT_JSON)
    return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0, "run prints --format text or json");
  const char *path = o->files[0];
  plumb_stage_kind kind;
  char *text;
  size_t length;
  PLUMB_TRY(plumb_source_read(arena, path, &kind, &text, &length, diag));
  plumb_ladder *ladder = plumb_ladder_create(arena, path);
  PLUMB_TRY(plumb_lower_single(ladder, kind, path, text, length, diag));
  o->invocation.path = path;
  PLUMB_TRY(plumb_invocation_bind(arena, &ladder->stages[0], &o->invocation, diag));
  plumb_run_options options = plumb_run_options_default();
  options.seed = o->seed + plumb_freedom_seed(o->freedom, PLUMB_FREEDOM_COUNT);
  options.jobs = o->jobs;
  options.step_limit = o->steps;
  options.model = o->model;
  plumb_freedom_readings readings;
  plumb_freedom_readings_create(arena, &ladder->stages[0], o->freedom, &readings);
  plumb_invoked r;
  plumb_invoke(arena, readings.stage, &o->invocation, &options, &r);
  if (r.status != PLUMB_OK) {
    *diag = r.problem;
    return r.status;
  }
  *out_exit = r.trap.kind == PLUMB_TRAP_NONE ? 0 : 1;
  size_t depends_count;
  const char **depends = dependences(arena, o, &readings, &options, &r, &depends_count);
  if (o->format == PLUMB_FORMAT_JSON) {
    write_json(&o->invocation, &r, depends, depends_count, out);
  } else if (*out_exit) {
    write_trap(&r.trap, out);
  } else {
    for (size_t i = 0; i < o->invocation.arg_count; i++) write_value("arg", i, &r.args[i], out);
    for (size_t i = 0; i < o->invocation.result_count; i++)
      write_value("result", i, &r.results[i], out);
    for (size_t i = 0; i < depends_count; i++)
      plumb_text_printf(out, "note: depends on %s\n", depends[i]);
  }
  return o->save && !*out_exit ? save(o, &r, arena, diag) : PLUMB_OK;
}

/* The report as one JSON object (DESIGN, The report). */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/markup.h"
#include "tasks/report.h"

/* JSON has no NaN or infinity: those become their names. */
static void add_number(cJSON *object, const char *key, double value) {
  if (isfinite(value))
    cJSON_AddNumberToObject(object, key, value);
  else
    cJSON_AddStringToObject(object, key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static void add_text(cJSON *object, const char *key, const char *text) {
  if (text)
    cJSON_AddStringToObject(object, key, text);
  else
    cJSON_AddNullToObject(object, key);
}

static cJSON *location_json(const plumb_loc *loc) {
  if (!loc->file && !loc->stage_line) return cJSON_CreateNull();
  cJSON *object = cJSON_CreateObject();
  add_text(object, "file", loc->file);
  cJSON_AddNumberToObject(object, "line", loc->line);
  cJSON_AddNumberToObject(object, "column", loc->column);
  cJSON_AddNumberToObject(object, "stage_line", loc->stage_line);
  return object;
}

static cJSON *trap_json(const plumb_stage_report *s) {
  const plumb_trap *t = &s->trap;
  char address[32];
  snprintf(address, sizeof address, "0x%llx", (unsigned long long)t->address);
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "kind", plumb_trap_text(t->kind));
  add_text(object, "side", s->side);
  cJSON_AddNumberToObject(object, "stage", s->stage->index);
  add_text(object, "function", t->function);
  cJSON *block = cJSON_AddArrayToObject(object, "block");
  for (int d = 0; d < 3; d++) cJSON_AddItemToArray(block, cJSON_CreateNumber((double)t->block[d]));
  cJSON_AddNumberToObject(object, "lane", t->lane);
  cJSON_AddStringToObject(object, "address", address);
  add_text(object, "allocation", t->allocation);
  add_text(object, "instruction",
           (unsigned)t->op < PLUMB_OP_COUNT ? plumb_op_table[t->op].mnemonic : NULL);
  cJSON_AddItemToObject(object, "location", location_json(&t->location));
  cJSON_AddItemToObject(object, "location2", location_json(&t->location2));
  add_text(object, "message", t->message);
  add_text(object, "case", s->trap_case);
  return object;
}

static cJSON *worst_json(const plumb_stage_report *s) {
  if (!s->worst_output) return cJSON_CreateNull();
  cJSON *object = cJSON_CreateObject();
  add_text(object, "output", s->worst_output);
  add_text(object, "index", s->worst_index_text);
  add_number(object, "expected", s->worst_expected);
  add_number(object, "actual", s->worst_actual);
  add_text(object, "case", s->worst_shape);
  add_text(object, "fill", s->worst_fill);
  if (s->has_budget) {
    add_number(object, "truth", s->worst_budget.shadow);
    add_number(object, "lo", s->worst_budget.lo);
    add_number(object, "hi", s->worst_budget.hi);
  }
  return object;
}

static cJSON *stage_json(const plumb_stage_report *s) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddNumberToObject(object, "index", s->stage->index);
  add_text(object, "name", s->stage->step);
  add_text(object, "side", s->side);
  add_text(object, "kind", plumb_stage_kind_text(s->stage->kind));
  add_text(object, "file", s->file);
  add_text(object, "verdict", plumb_verdict_text(s->verdict));
  cJSON_AddNumberToObject(object, "cases", (double)s->cases);
  add_number(object, "max_ulp", s->max_ulp);
  add_number(object, "max_abs", s->max_abs);
  add_number(object, "max_rel", s->max_rel);
  cJSON_AddItemToObject(object, "worst", worst_json(s));
  return object;
}

static cJSON *blame_json(const plumb_report *report) {
  if (report->blamed < 0) return cJSON_CreateNull();
  const plumb_stage_report *s = &report->stages[report->blamed];
  cJSON *object = cJSON_CreateObject();
  add_text(object, "side", s->side);
  if (s->stage->index)
    cJSON_AddNumberToObject(object, "stage_before", s->stage->index - 1);
  else
    cJSON_AddNullToObject(object, "stage_before");
  cJSON_AddNumberToObject(object, "stage_after", s->stage->index);
  add_text(object, "step", s->stage->step);
  cJSON_AddNullToObject(object, "decision");
  /* Only the step is named here; which decision inside it was not tested. */
  cJSON_AddBoolToObject(object, "necessary", false);
  cJSON_AddBoolToObject(object, "sufficient", false);
  add_text(object, "cause", s->trap.kind != PLUMB_TRAP_NONE ? plumb_trap_text(s->trap.kind) : NULL);
  cJSON *evidence = cJSON_AddArrayToObject(object, "evidence");
  if (s->worst_output) cJSON_AddItemToArray(evidence, worst_json(s));
  if (s->trap.kind != PLUMB_TRAP_NONE) cJSON_AddItemToArray(evidence, trap_json(s));
  if (s->note) cJSON_AddItemToArray(evidence, cJSON_CreateString(s->note));
  return object;
}

static void add_counters(cJSON *list, const plumb_stage_report *s) {
  const plumb_counters *c = &s->counters;
  cJSON *object = cJSON_CreateObject();
  add_text(object, "side", s->side);
  cJSON_AddNumberToObject(object, "stage", s->stage->index);
  /* Nsight Compute's names where it has one for the quantity. */
  cJSON_AddNumberToObject(object, "smsp__thread_inst_executed.sum", (double)c->lane_instructions);
  cJSON_AddNumberToObject(object, "dispatches", (double)c->instructions);
  cJSON_AddNumberToObject(object, "global_load_bytes", (double)c->global_load_bytes);
  cJSON_AddNumberToObject(object, "global_store_bytes", (double)c->global_store_bytes);
  cJSON_AddNumberToObject(object, "shared_load_bytes", (double)c->shared_load_bytes);
  cJSON_AddNumberToObject(object, "shared_store_bytes", (double)c->shared_store_bytes);
  cJSON_AddNumberToObject(object, "barriers", (double)c->barriers);
  cJSON_AddNumberToObject(object, "atomics", (double)c->atomics);
  cJSON_AddItemToArray(list, object);
}

void plumb_report_write_json(const plumb_report *report, plumb_text *out) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "schema", "plumb-report-1");
  add_text(root, "name", report->name);
  add_text(root, "task", report->path);
  add_text(root, "category", report->category);
  add_text(root, "verdict", plumb_verdict_text(report->verdict));
  cJSON_AddBoolToObject(root, "accepted", report->accepted);
  add_text(root, "level", plumb_verdict_text(report->accept.level));
  cJSON_AddStringToObject(root, "shown_by", "inputs");
  cJSON_AddNumberToObject(root, "shown_by_number", (double)report->cases);
  cJSON *stages = cJSON_AddArrayToObject(root, "stages");
  cJSON *traps = cJSON_CreateArray(), *undecided = cJSON_CreateArray();
  cJSON *counters = cJSON_CreateArray();
  for (size_t i = 0; i < report->stage_count; i++) {
    const plumb_stage_report *s = &report->stages[i];
    cJSON_AddItemToArray(stages, stage_json(s));
    if (s->trap.kind != PLUMB_TRAP_NONE) cJSON_AddItemToArray(traps, trap_json(s));
    if (s->why_undecided) {
      cJSON *item = cJSON_CreateObject();
      cJSON_AddItemToObject(item, "what", cJSON_CreateString(s->stage->step));
      add_text(item, "side", s->side);
      cJSON_AddNumberToObject(item, "stage", s->stage->index);
      add_text(item, "why", s->why_undecided);
      cJSON_AddItemToArray(undecided, item);
    }
    add_counters(counters, s);
  }
  cJSON_AddItemToObject(root, "blame", blame_json(report));
  cJSON_AddItemToObject(root, "explanation", cJSON_CreateArray());
  cJSON_AddItemToObject(root, "traps", traps);
  cJSON_AddItemToObject(root, "undecided", undecided);
  cJSON_AddItemToObject(root, "counters", counters);
  cJSON *notes = cJSON_AddArrayToObject(root, "notes");
  for (size_t i = 0; i < report->note_count; i++)
    cJSON_AddItemToArray(notes, cJSON_CreateString(report->notes[i]));
  cJSON *environment = cJSON_AddObjectToObject(root, "environment");
  add_text(environment, "versions", report->versions);
  cJSON_AddNumberToObject(environment, "seed", (double)report->seed);
  add_text(environment, "matrix_model", report->model ? report->model : "reference");
  add_text(environment, "command", report->command);
  char *text = cJSON_PrintUnformatted(root);
  plumb_text_printf(out, "%s\n", plumb_utf8_clean(out->arena, text));
  free(text);
  cJSON_Delete(root);
}

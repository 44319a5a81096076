/* The report as SARIF 2.1.0 (OASIS), for code scanning: one result for each trap,
 * divergence and undecided stage, with the place that is known of it. Stages after the
 * first that show the same thing at the same place are not repeated. */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/markup.h"
#include "tasks/report.h"

static const char schema[] =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/* A path as a URI reference (RFC 3986): all but unreserved characters and '/' encoded,
 * file: before an absolute one. */
static const char *uri(plumb_arena *arena, const char *path) {
  plumb_text text = plumb_text_create(arena);
  if (*path == '/') plumb_text_printf(&text, "file://");
  for (const char *c = path; *c; c++) {
    if (isalnum((unsigned char)*c) || strchr("/-._~", *c))
      plumb_text_append(&text, c, 1);
    else
      plumb_text_printf(&text, "%%%02X", (unsigned char)*c);
  }
  return text.data;
}

static cJSON *message(const char *text) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "text", text);
  return object;
}

/* line, column: 0 is unknown; a region without a line would not be valid. */
static cJSON *physical(plumb_arena *arena, const char *path, int line, int column) {
  cJSON *location = cJSON_CreateObject();
  cJSON *place = cJSON_AddObjectToObject(location, "physicalLocation");
  cJSON *artifact = cJSON_AddObjectToObject(place, "artifactLocation");
  cJSON_AddStringToObject(artifact, "uri", uri(arena, path));
  if (line > 0) {
    cJSON *region = cJSON_AddObjectToObject(place, "region");
    cJSON_AddNumberToObject(region, "startLine", line);
    if (column > 0) cJSON_AddNumberToObject(region, "startColumn", column);
  }
  return location;
}

static void add_logical(cJSON *location, const char *name, const char *kind) {
  cJSON *list = cJSON_AddArrayToObject(location, "logicalLocations");
  cJSON *logical = cJSON_CreateObject();
  cJSON_AddStringToObject(logical, "fullyQualifiedName", name);
  cJSON_AddStringToObject(logical, "kind", kind);
  cJSON_AddItemToArray(list, logical);
}

/* Where source is not known: the saved stage with its own line, else the task. */
static cJSON *place_of(plumb_arena *arena, const plumb_report *report, const plumb_stage_report *s,
                       const plumb_loc *loc) {
  if (loc && loc->file) return physical(arena, loc->file, loc->line, loc->column);
  if (s->file) return physical(arena, s->file, loc ? loc->stage_line : 0, 0);
  return physical(arena, report->path, 0, 0);
}

static const char *rule_of(plumb_arena *arena, const plumb_stage_report *s) {
  if (s->verdict == PLUMB_VERDICT_TRAPPED)
    return plumb_arena_printf(arena, "trapped/%s", plumb_trap_text(s->trap.kind));
  /* A verdict that the task does not accept, though nothing is wrong by itself. */
  if (s->verdict < PLUMB_VERDICT_UNDECIDED) return "below-accepted-level";
  return plumb_verdict_text(s->verdict);
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

/* True when an earlier stage of the same side already shows this. */
static bool is_repeated(plumb_arena *arena, const plumb_report *report, size_t index) {
  const plumb_stage_report *s = &report->stages[index];
  for (size_t i = 0; i < index; i++) {
    const plumb_stage_report *t = &report->stages[i];
    if (plumb_stage_accepted(report, t) || strcmp(s->side, t->side) != 0 ||
        strcmp(rule_of(arena, s), rule_of(arena, t)) != 0)
      continue;
    if (s->verdict == PLUMB_VERDICT_TRAPPED
            ? s->trap.location.file && same_text(s->trap.location.file, t->trap.location.file) &&
                  s->trap.location.line == t->trap.location.line
            : same_text(s->worst_output, t->worst_output) &&
                  same_text(s->why_undecided, t->why_undecided))
      return true;
  }
  return false;
}

static cJSON *result_json(plumb_arena *arena, const plumb_report *report,
                          const plumb_stage_report *s) {
  bool trapped = s->trap.kind != PLUMB_TRAP_NONE;
  plumb_text text = plumb_text_create(arena);
  plumb_text_printf(&text, "%s: %s, stage %d, made by '%s': %s\n", report->name, s->side,
                    s->stage->index, s->stage->step, plumb_verdict_text(s->verdict));
  plumb_stage_report_write_text(s, &text);
  cJSON *result = cJSON_CreateObject();
  cJSON_AddStringToObject(result, "ruleId", rule_of(arena, s));
  cJSON_AddStringToObject(result, "level",
                          s->verdict == PLUMB_VERDICT_UNDECIDED ? "warning" : "error");
  cJSON_AddItemToObject(result, "message", message(text.data));
  cJSON *location = place_of(arena, report, s, trapped ? &s->trap.location : NULL);
  if (trapped && s->trap.function)
    add_logical(location, s->trap.function, "function");
  else if (s->worst_output)
    add_logical(location, plumb_arena_printf(arena, "%s%s", s->worst_output, s->worst_index_text),
                "variable");
  cJSON *locations = cJSON_AddArrayToObject(result, "locations");
  cJSON_AddItemToArray(locations, location);
  if (trapped && s->trap.location2.file) {
    cJSON *related = cJSON_AddArrayToObject(result, "relatedLocations");
    cJSON *other = place_of(arena, report, s, &s->trap.location2);
    cJSON_AddItemToObject(other, "message", message("the other place"));
    cJSON_AddItemToArray(related, other);
  }
  cJSON *properties = cJSON_AddObjectToObject(result, "properties");
  cJSON_AddStringToObject(properties, "side", s->side);
  cJSON_AddNumberToObject(properties, "stage", s->stage->index);
  cJSON_AddStringToObject(properties, "step", s->stage->step);
  return result;
}

static void add_rule(cJSON *rules, const char *id) {
  const cJSON *rule;
  cJSON_ArrayForEach(rule, rules) {
    if (strcmp(cJSON_GetObjectItem(rule, "id")->valuestring, id) == 0) return;
  }
  cJSON *fresh = cJSON_CreateObject();
  cJSON_AddStringToObject(fresh, "id", id);
  cJSON_AddItemToArray(rules, fresh);
}

static cJSON *notification(plumb_arena *arena, const plumb_checked *task) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "level", "error");
  cJSON_AddItemToObject(object, "message", message(task->problem.message));
  cJSON *locations = cJSON_AddArrayToObject(object, "locations");
  const char *path = *task->problem.path ? task->problem.path : task->path;
  cJSON_AddItemToArray(locations, physical(arena, path, task->problem.line, task->problem.column));
  return object;
}

void plumb_reports_write_sarif(const plumb_checked *tasks, size_t count, plumb_text *out) {
  plumb_arena *arena = out->arena;
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "$schema", schema);
  cJSON_AddStringToObject(root, "version", "2.1.0");
  cJSON *runs = cJSON_AddArrayToObject(root, "runs"), *run = cJSON_CreateObject();
  cJSON_AddItemToArray(runs, run);
  cJSON *driver = cJSON_AddObjectToObject(cJSON_AddObjectToObject(run, "tool"), "driver");
  cJSON_AddStringToObject(driver, "name", "plumb");
  cJSON_AddStringToObject(driver, "version", "0.1.0");
  cJSON *rules = cJSON_AddArrayToObject(driver, "rules");
  cJSON *invocation = cJSON_CreateObject(), *problems = cJSON_CreateArray();
  cJSON *results = cJSON_CreateArray();
  for (size_t i = 0; i < count; i++) {
    const plumb_report *report = tasks[i].report;
    if (!report) cJSON_AddItemToArray(problems, notification(arena, &tasks[i]));
    for (size_t k = 0; report && k < report->stage_count; k++) {
      const plumb_stage_report *s = &report->stages[k];
      if (plumb_stage_accepted(report, s) || is_repeated(arena, report, k)) continue;
      add_rule(rules, rule_of(arena, s));
      cJSON_AddItemToArray(results, result_json(arena, report, s));
    }
  }
  cJSON_AddBoolToObject(invocation, "executionSuccessful", cJSON_GetArraySize(problems) == 0);
  cJSON_AddItemToObject(invocation, "toolExecutionNotifications", problems);
  cJSON_AddItemToArray(cJSON_AddArrayToObject(run, "invocations"), invocation);
  cJSON_AddItemToObject(run, "results", results);
  char *text = cJSON_Print(root);
  plumb_text_printf(out, "%s\n", plumb_utf8_clean(arena, text));
  free(text);
  cJSON_Delete(root);
}

/* The report as JUnit XML, for CI systems: a suite a task, a case a stage. */
#include <string.h>

#include "tasks/markup.h"
#include "tasks/report.h"

static void attribute(plumb_text *out, const char *name, const char *value) {
  plumb_text_printf(out, " %s=\"", name);
  plumb_markup_append(out, value);
  plumb_text_printf(out, "\"");
}

/* What the text view says of one stage, as the body of its failure. */
static void write_body(const plumb_stage_report *s, plumb_text *out) {
  plumb_text body = plumb_text_create(out->arena);
  plumb_stage_report_write_text(s, &body);
  plumb_markup_append(out, body.data);
}

static void write_case(const plumb_report *report, const plumb_stage_report *s, plumb_text *out) {
  bool undecided = s->verdict == PLUMB_VERDICT_UNDECIDED;
  plumb_text name = plumb_text_create(out->arena);
  plumb_text_printf(&name, "%s stage %d (%s): %s", s->side, s->stage->index,
                    plumb_stage_kind_text(s->stage->kind), s->stage->step);
  plumb_text_printf(out, "    <testcase");
  attribute(out, "classname", report->name);
  attribute(out, "name", name.data);
  if (plumb_stage_accepted(report, s)) {
    plumb_text_printf(out, "/>\n");
    return;
  }
  plumb_text_printf(out, ">\n      <%s", undecided ? "error" : "failure");
  attribute(out, "type", plumb_verdict_text(s->verdict));
  plumb_text message = plumb_text_create(out->arena);
  plumb_text_printf(&message, "%s", plumb_verdict_text(s->verdict));
  if (s->trap.kind != PLUMB_TRAP_NONE)
    plumb_text_printf(&message, ": %s", plumb_trap_text(s->trap.kind));
  else if (s->why_undecided)
    plumb_text_printf(&message, ": %s", s->why_undecided);
  else if (s->worst_output)
    plumb_text_printf(&message, ": %s%s: expected %.9g, got %.9g", s->worst_output,
                      s->worst_index_text, s->worst_expected, s->worst_actual);
  attribute(out, "message", message.data);
  plumb_text_printf(out, ">");
  write_body(s, out);
  plumb_text_printf(out, "</%s>\n    </testcase>\n", undecided ? "error" : "failure");
}

static void write_suite(const plumb_report *report, plumb_text *out) {
  size_t failures = 0, errors = 0;
  for (size_t i = 0; i < report->stage_count; i++) {
    if (plumb_stage_accepted(report, &report->stages[i])) continue;
    if (report->stages[i].verdict == PLUMB_VERDICT_UNDECIDED)
      errors++;
    else
      failures++;
  }
  plumb_text_printf(out, "  <testsuite");
  attribute(out, "name", report->name);
  plumb_text_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\">\n",
                    report->stage_count, failures, errors);
  plumb_text_printf(out, "    <properties>\n      <property name=\"verdict\"");
  attribute(out, "value", plumb_verdict_text(report->verdict));
  plumb_text_printf(out, "/>\n      <property name=\"cases\" value=\"%zu\"/>\n", report->cases);
  plumb_text_printf(out, "      <property name=\"command\"");
  attribute(out, "value", report->command);
  plumb_text_printf(out, "/>\n    </properties>\n");
  for (size_t i = 0; i < report->stage_count; i++) write_case(report, &report->stages[i], out);
  plumb_text_printf(out, "  </testsuite>\n");
}

/* A task that could not be checked: a suite of one error. */
static void write_problem(const plumb_checked *task, plumb_text *out) {
  char sentence[1400];
  plumb_diag_format(&task->problem, sentence, sizeof sentence);
  plumb_text_printf(out, "  <testsuite");
  attribute(out, "name", task->path);
  plumb_text_printf(out, " tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    <testcase");
  attribute(out, "classname", task->path);
  plumb_text_printf(out, " name=\"no report\">\n      <error type=\"no report\"");
  attribute(out, "message", sentence);
  plumb_text_printf(out, "/>\n    </testcase>\n  </testsuite>\n");
}

void plumb_reports_write_junit(const plumb_checked *tasks, size_t count, plumb_text *out) {
  plumb_text_printf(out,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"plumb\">\n");
  for (size_t i = 0; i < count; i++) {
    if (tasks[i].report)
      write_suite(tasks[i].report, out);
    else
      write_problem(&tasks[i], out);
  }
  plumb_text_printf(out, "</testsuites>\n");
}

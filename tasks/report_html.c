/* The report as one HTML page that needs no other file: the ladder of each side, the
 * worst elements, what is blamed, and the stages around it. */
#include <math.h>
#include <string.h>

#include "tasks/diff.h"
#include "tasks/markup.h"
#include "tasks/report.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<title>plumb report</title>\n<style>\n"
    "body { font-family: sans-serif; margin: 2em; color: #222; }\n"
    "table { border-collapse: collapse; margin: 1em 0; }\n"
    "th, td { border: 1px solid #ccc; padding: 0.2em 0.6em; text-align: left; }\n"
    "td.number { text-align: right; font-variant-numeric: tabular-nums; }\n"
    "pre { background: #f6f6f6; border: 1px solid #ddd; padding: 0.6em; overflow: auto; }\n"
    ".identical, .reassociated, .algebraic, .bounded { background: #e2f4e2; }\n"
    ".undecided { background: #fdf3d0; }\n"
    ".diverged, .trapped, del { background: #fbdcdc; }\n"
    "ins { background: #e2f4e2; }\n"
    "ins, del { text-decoration: none; }\n"
    "</style>\n</head>\n<body>\n";

static void element(plumb_text *out, const char *tag, const char *text) {
  plumb_text_printf(out, "<%s>", tag);
  plumb_markup_append(out, text);
  plumb_text_printf(out, "</%s>", tag);
}

static void number(plumb_text *out, double value) {
  plumb_text_printf(out, "<td class=\"number\">%.4g</td>", value);
}

static void write_worst(const plumb_stage_report *s, plumb_text *out) {
  plumb_text cell = plumb_text_create(out->arena);
  if (s->trap.kind != PLUMB_TRAP_NONE) {
    plumb_text_printf(&cell, "%s", plumb_trap_text(s->trap.kind));
    if (s->trap.location.file)
      plumb_text_printf(&cell, " at %s:%d", s->trap.location.file, s->trap.location.line);
  } else if (s->why_undecided) {
    plumb_text_printf(&cell, "%s", s->why_undecided);
  } else if (s->worst_output) {
    plumb_text_printf(&cell, "%s%s: expected %.9g, got %.9g (case %s, fill %s)", s->worst_output,
                      s->worst_index_text, s->worst_expected, s->worst_actual, s->worst_shape,
                      s->worst_fill);
    if (s->has_budget && !isnan(s->worst_budget.lo))
      plumb_text_printf(&cell, "; legal: [%.9g, %.9g]", s->worst_budget.lo, s->worst_budget.hi);
  }
  element(out, "td", cell.data);
}

static void write_ladder(const plumb_report *report, plumb_text *out) {
  plumb_text_printf(out,
                    "<table>\n<tr><th>side</th><th>stage</th><th>kind</th><th>step</th>"
                    "<th>verdict</th><th>cases</th><th>max ulp</th><th>max abs</th>"
                    "<th>max rel</th><th>worst</th></tr>\n");
  for (size_t i = 0; i < report->stage_count; i++) {
    const plumb_stage_report *s = &report->stages[i];
    plumb_text_printf(out, "<tr class=\"%s\">", plumb_verdict_text(s->verdict));
    element(out, "td", s->side);
    plumb_text_printf(out, "<td class=\"number\">%d</td>", s->stage->index);
    element(out, "td", plumb_stage_kind_text(s->stage->kind));
    element(out, "td", s->stage->step);
    element(out, "td", plumb_verdict_text(s->verdict));
    plumb_text_printf(out, "<td class=\"number\">%zu</td>", s->cases);
    number(out, s->max_ulp);
    number(out, s->max_abs);
    number(out, s->max_rel);
    write_worst(s, out);
    plumb_text_printf(out, "</tr>\n");
  }
  plumb_text_printf(out, "</table>\n");
}

static void write_stage_text(const plumb_stage_report *s, plumb_text *out) {
  plumb_text_printf(out, "<details><summary>");
  plumb_markup_append(out, s->side);
  plumb_text_printf(out, ", stage %d, made by '", s->stage->index);
  plumb_markup_append(out, s->stage->step);
  plumb_text_printf(out, "'</summary>");
  element(out, "pre", s->stage->text);
  plumb_text_printf(out, "</details>\n");
}

/* What the step changed, where both stages are of one kind. */
static void write_difference(const plumb_stage_report *before, const plumb_stage_report *after,
                             plumb_text *out) {
  plumb_diff_line *lines;
  size_t count;
  if (before->stage->kind != after->stage->kind || !before->stage->text || !after->stage->text ||
      !plumb_diff_create(out->arena, before->stage->text, after->stage->text, 3, &lines, &count))
    return;
  element(out, "h3", "What this step changed");
  plumb_text_printf(out, "\n<pre>");
  for (size_t i = 0; i < count; i++) {
    const char *tag = lines[i].mark == '-' ? "del" : lines[i].mark == '+' ? "ins" : "span";
    char *line = plumb_arena_printf(out->arena, "%c %.*s", lines[i].mark, (int)lines[i].length,
                                    lines[i].text);
    element(out, tag, lines[i].mark == '@' ? "..." : line);
    plumb_text_printf(out, "\n");
  }
  plumb_text_printf(out, "</pre>\n");
}

/* The blamed stage, and the one that it was made from. */
static void write_blame(const plumb_report *report, plumb_text *out) {
  const plumb_stage_report *s = &report->stages[report->blamed];
  plumb_text body = plumb_text_create(out->arena);
  element(out, "h2", "First to fall below what is accepted");
  plumb_stage_report_write_text(s, &body);
  plumb_text_printf(out, "<p>");
  plumb_markup_append(out, s->side);
  plumb_text_printf(out, ", stage %d, made by '", s->stage->index);
  plumb_markup_append(out, s->stage->step);
  plumb_text_printf(out, "': %s</p>\n", plumb_verdict_text(s->verdict));
  element(out, "pre", body.data);
  plumb_text_printf(out, "\n");
  if (s->stage->index > 0) {
    write_difference(s - 1, s, out);
    write_stage_text(s - 1, out);
  }
  write_stage_text(s, out);
}

static void write_report(const plumb_report *report, plumb_text *out) {
  element(out, "h1", report->name);
  plumb_text_printf(
      out,
      "\n<p class=\"%s\"><strong>%s</strong> (%saccepted; level asked for: %s), "
      "shown by %zu cases</p>\n",
      plumb_verdict_text(report->verdict), plumb_verdict_text(report->verdict),
      report->accepted ? "" : "not ",
      report->accept.tolerance ? "the given tolerance" : plumb_verdict_text(report->accept.level),
      report->cases);
  write_ladder(report, out);
  if (report->blamed >= 0) write_blame(report, out);
  for (size_t i = 0; i < report->note_count; i++) element(out, "p", report->notes[i]);
  plumb_text_printf(out, "<p>");
  plumb_markup_append(out, report->versions);
  plumb_text_printf(out, "; seed %llu; matrix instructions: ", (unsigned long long)report->seed);
  plumb_markup_append(out, report->model ? report->model : "reference");
  plumb_text_printf(out, "; <code>");
  plumb_markup_append(out, report->command);
  plumb_text_printf(out, "</code></p>\n");
}

void plumb_reports_write_html(const plumb_checked *tasks, size_t count, plumb_text *out) {
  plumb_text_append(out, head, sizeof head - 1);
  for (size_t i = 0; i < count; i++) {
    if (tasks[i].report) {
      write_report(tasks[i].report, out);
      continue;
    }
    char sentence[1400];
    plumb_diag_format(&tasks[i].problem, sentence, sizeof sentence);
    element(out, "h1", tasks[i].path);
    plumb_text_printf(out, "<p class=\"undecided\">no report: ");
    plumb_markup_append(out, sentence);
    plumb_text_printf(out, "</p>\n");
  }
  plumb_text_printf(out, "</body>\n</html>\n");
}

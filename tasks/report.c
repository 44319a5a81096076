#include "tasks/report.h"

#include <math.h>
#include <string.h>

bool plumb_stage_report_add(plumb_stage_report *s, const plumb_comparison *r, const char *name,
                            const plumb_budget *budgets) {
  if (r->max_ulp > s->max_ulp) s->max_ulp = r->max_ulp;
  if (r->max_abs > s->max_abs) s->max_abs = r->max_abs;
  if (r->max_rel > s->max_rel) s->max_rel = r->max_rel;
  bool worst = r->worst != SIZE_MAX && (r->verdict > s->verdict || !s->worst_output);
  if (worst) {
    s->worst_output = name;
    s->worst_expected = r->worst_expected;
    s->worst_actual = r->worst_actual;
    s->has_budget = budgets != NULL;
    if (budgets) s->worst_budget = budgets[r->worst];
  }
  if (r->open) {
    s->note = "elements that the reference leaves undefined are not compared";
    if (s->stage->index == 0 && strcmp(s->side, "reference") == 0) {
      s->why_undecided =
          "its output holds elements that were never written, or an undefined value: nothing "
          "can be compared with those";
      if (s->verdict < PLUMB_VERDICT_UNDECIDED) s->verdict = PLUMB_VERDICT_UNDECIDED;
    }
  }
  if (r->undefined && !s->note)
    s->note = "an output holds elements that were never written, or an undefined value";
  if (r->verdict == PLUMB_VERDICT_UNDECIDED && !s->why_undecided)
    s->why_undecided = "an element differs, and no finite budget could be derived for it";
  if (r->verdict > s->verdict) s->verdict = r->verdict;
  return worst;
}

bool plumb_stage_accepted(const plumb_report *report, const plumb_stage_report *s) {
  return s->verdict <= (report->accept.tolerance ? PLUMB_VERDICT_BOUNDED : report->accept.level);
}

bool plumb_stage_report_excuses(plumb_stage_report *s, const plumb_trap *trap, bool open) {
  if (!open || (trap->kind != PLUMB_TRAP_POISON && trap->kind != PLUMB_TRAP_UNINITIALISED))
    return false;
  s->why_undecided = "an undefined value is used, and the reference leaves values undefined too";
  if (s->verdict < PLUMB_VERDICT_UNDECIDED) s->verdict = PLUMB_VERDICT_UNDECIDED;
  return true;
}

int plumb_report_exit_code(const plumb_report *report) {
  if (report->accepted) return 0;
  return report->verdict == PLUMB_VERDICT_UNDECIDED ? 3 : 1;
}

static const char *location_text(plumb_text *scratch, const plumb_loc *loc) {
  scratch->length = 0;
  if (loc->file)
    plumb_text_printf(scratch, "%s:%d", loc->file, loc->line);
  else if (loc->stage_line)
    plumb_text_printf(scratch, "line %d of the stage", loc->stage_line);
  else
    plumb_text_printf(scratch, "unknown place");
  return scratch->data;
}

static void write_trap(const plumb_stage_report *s, plumb_text *out) {
  const plumb_trap *t = &s->trap;
  plumb_text place = plumb_text_create(out->arena);
  plumb_text_printf(out, "  trap       %s at %s\n", plumb_trap_text(t->kind),
                    location_text(&place, &t->location));
  if (t->message) plumb_text_printf(out, "             %s\n", t->message);
  plumb_text_printf(out, "             in %s", t->function ? t->function : "?");
  if (t->block[0] >= 0)
    plumb_text_printf(out, ", block (%lld, %lld, %lld), lane %d", (long long)t->block[0],
                      (long long)t->block[1], (long long)t->block[2], t->lane);
  if (s->trap_case) plumb_text_printf(out, ", case %s", s->trap_case);
  plumb_text_printf(out, "\n");
  if (t->location2.file || t->location2.stage_line)
    plumb_text_printf(out, "             the other place: %s\n",
                      location_text(&place, &t->location2));
}

static void write_worst(const plumb_stage_report *s, plumb_text *out) {
  plumb_text_printf(out, "  worst      %s%s: expected %.9g, got %.9g (case %s, fill %s)\n",
                    s->worst_output, s->worst_index_text, s->worst_expected, s->worst_actual,
                    s->worst_shape, s->worst_fill);
  if (s->has_budget && !isnan(s->worst_budget.lo))
    plumb_text_printf(
        out, "             legal evaluations of the reference: [%.9g, %.9g], truth %.12g\n",
        s->worst_budget.lo, s->worst_budget.hi, s->worst_budget.shadow);
}

static void write_blame(const plumb_report *report, plumb_text *out) {
  const plumb_stage_report *s = &report->stages[report->blamed];
  plumb_text_printf(out, "\nfirst to fall below '%s': %s, stage %d, made by '%s': %s\n",
                    plumb_verdict_text(report->accept.level), s->side, s->stage->index,
                    s->stage->step, plumb_verdict_text(s->verdict));
  plumb_stage_report_write_text(s, out);
}

void plumb_stage_report_write_text(const plumb_stage_report *s, plumb_text *out) {
  if (s->why_undecided) plumb_text_printf(out, "  why        %s\n", s->why_undecided);
  if (s->trap.kind != PLUMB_TRAP_NONE) write_trap(s, out);
  if (s->worst_output) write_worst(s, out);
  if (s->note) plumb_text_printf(out, "  note       %s\n", s->note);
}

void plumb_report_write_text(const plumb_report *report, plumb_text *out) {
  plumb_text_printf(
      out, "%s: %s (%s; accepted level: %s)\n", report->name, plumb_verdict_text(report->verdict),
      report->accepted ? "accepted" : "not accepted",
      report->accept.tolerance ? "the given tolerance" : plumb_verdict_text(report->accept.level));
  plumb_text_printf(out, "shown by inputs: %zu cases, every stage executed on each\n\n",
                    report->cases);
  plumb_text_printf(out, "%-18s %5s  %-7s %-11s %9s  %s\n", "side", "stage", "kind", "verdict",
                    "max ulp", "step");
  for (size_t i = 0; i < report->stage_count; i++) {
    const plumb_stage_report *s = &report->stages[i];
    plumb_text_printf(out, "%-18s %5d  %-7s %-11s %9.4g  %s\n", s->side, s->stage->index,
                      plumb_stage_kind_text(s->stage->kind), plumb_verdict_text(s->verdict),
                      s->max_ulp, s->stage->step);
  }
  if (report->blamed >= 0) write_blame(report, out);
  for (size_t i = 0; i < report->note_count; i++)
    plumb_text_printf(out, "%snote: %s\n", i ? "" : "\n", report->notes[i]);
}

static const char *const format_texts[PLUMB_FORMAT_COUNT] = {"text", "json", "junit", "sarif",
                                                             "html"};

bool plumb_format_from_text(const char *text, plumb_format *out_format) {
  for (int i = 0; i < PLUMB_FORMAT_COUNT; i++)
    if (strcmp(text, format_texts[i]) == 0) {
      *out_format = (plumb_format)i;
      return true;
    }
  return false;
}

void plumb_reports_write(plumb_format format, const plumb_checked *tasks, size_t count,
                         plumb_text *out) {
  if (format == PLUMB_FORMAT_JUNIT) return plumb_reports_write_junit(tasks, count, out);
  if (format == PLUMB_FORMAT_SARIF) return plumb_reports_write_sarif(tasks, count, out);
  if (format == PLUMB_FORMAT_HTML) return plumb_reports_write_html(tasks, count, out);
  for (size_t i = 0; i < count; i++) {
    if (!tasks[i].report) continue;
    if (format == PLUMB_FORMAT_JSON) {
      plumb_report_write_json(tasks[i].report, out);
      continue;
    }
    if (out->length) plumb_text_printf(out, "\n");
    plumb_report_write_text(tasks[i].report, out);
  }
}

/* The report of one task (DESIGN, The report): what was found, and its views. JSON holds
 * all of it; the others are for a reader or a tool that wants one part. Everything in it
 * lives in the task's arena. */
#ifndef PLUMB_TASKS_REPORT_H
#define PLUMB_TASKS_REPORT_H

#include "ir/stage.h"
#include "targets/cpu/cpu.h"
#include "verify/compare.h"

typedef struct plumb_stage_report {
  const char *side; /* "reference", "candidate", "candidate (nvcc)" */
  const plumb_stage *stage;
  const char *file; /* where --save put it, or NULL */
  plumb_verdict verdict;
  size_t cases; /* executed cases */
  double max_ulp, max_abs, max_rel;
  /* of the case with the worst verdict */
  const char *worst_output; /* NULL: none differs */
  const char *worst_shape, *worst_fill;
  const char *worst_index_text; /* "[3, 17]" */
  double worst_expected, worst_actual;
  plumb_budget worst_budget;
  bool has_budget;
  plumb_trap trap; /* kind NONE: none */
  const char *trap_case;
  const char *why_undecided; /* NULL: decided */
  const char *note;          /* an input that was changed and the like */
  plumb_counters counters;   /* of the last case */
} plumb_stage_report;

typedef struct plumb_report {
  const char *name;
  const char *path;
  const char *category;
  plumb_verdict verdict;
  plumb_accept accept;
  bool accepted;
  size_t cases;
  plumb_stage_report *stages;
  size_t stage_count, stage_capacity;
  int blamed; /* index into stages; -1: nothing to blame */
  const char **notes;
  size_t note_count, note_capacity;
  const char *command;
  uint64_t seed;
  const char *model;    /* of matrix instructions; NULL: the reference reading */
  const char *versions; /* one line */
} plumb_report;

/* Takes one comparison of output `name` into the stage's verdict. True when its worst
 * element is now the stage's: the caller then fills index text, shape and fill. `budgets`
 * (may be NULL) are those of the comparison. */
bool plumb_stage_report_add(plumb_stage_report *stage, const plumb_comparison *comparison,
                            const char *name, const plumb_budget *budgets);

/* True when the stage's verdict is within what the task accepts. */
bool plumb_stage_accepted(const plumb_report *report, const plumb_stage_report *stage);

/* True where `trap` says only that a value is undefined which the reference leaves undefined
 * too (`open`: some of its output is): the stage is undecided then, not trapped. */
bool plumb_stage_report_excuses(plumb_stage_report *stage, const plumb_trap *trap, bool open);

/* What it takes: 0 accepted, 1 diverged or trapped, 3 undecided. */
int plumb_report_exit_code(const plumb_report *report);

/* One task of a command: its report, or why there is none. */
typedef struct plumb_checked {
  const char *path;
  const plumb_report *report; /* NULL: see problem */
  plumb_diag problem;
} plumb_checked;

typedef enum plumb_format {
  PLUMB_FORMAT_TEXT,
  PLUMB_FORMAT_JSON,
  PLUMB_FORMAT_JUNIT,
  PLUMB_FORMAT_SARIF,
  PLUMB_FORMAT_HTML,
  PLUMB_FORMAT_COUNT
} plumb_format;

/* "text", "json", ...; false for others. */
bool plumb_format_from_text(const char *text, plumb_format *out_format);

/* Text and JSON hold the reports alone, JSON one object a line; the others are one
 * document, in which a task without a report is an error with its message. */
void plumb_reports_write(plumb_format format, const plumb_checked *tasks, size_t count,
                         plumb_text *out);

/* Why one stage is not accepted, a line each: reason, trap, worst element, note. */
void plumb_stage_report_write_text(const plumb_stage_report *stage, plumb_text *out);
void plumb_report_write_text(const plumb_report *report, plumb_text *out);
/* One line of JSON. */
void plumb_report_write_json(const plumb_report *report, plumb_text *out);
/* JUnit XML: a suite a task, a case a stage. */
void plumb_reports_write_junit(const plumb_checked *tasks, size_t count, plumb_text *out);
/* SARIF 2.1.0: a result for each trap, divergence and undecided stage, with its place. */
void plumb_reports_write_sarif(const plumb_checked *tasks, size_t count, plumb_text *out);
/* One page that needs no other file. */
void plumb_reports_write_html(const plumb_checked *tasks, size_t count, plumb_text *out);

#endif

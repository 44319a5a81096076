/* The table of instructions, for the decoder and for `plumb ops ptx`. */
#include "ir/ptx/decode.h"
#include "ir/ptx/ptx.h"

typedef struct row {
  const char *mnemonic;
  ptx_handler handler;
  const char *forms;
} row;

bool ptx_emit_none(ptx_decoder *d) {
  (void)d;
  return false;
}

static const row rows[] = {
#define X(mnemonic, handler, section, forms) {mnemonic, ptx_emit_##handler, forms},
#include "ir/ptx/instructions.def"
#undef X
};

enum { ROWS = sizeof rows / sizeof *rows };

static const row *find(const char *mnemonic) {
  size_t low = 0, high = ROWS;
  while (low < high) { /* the table is sorted; tests/unit/ptx.c checks it */
    size_t middle = (low + high) / 2;
    int order = strcmp(mnemonic, rows[middle].mnemonic);
    if (order == 0) return &rows[middle];
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

ptx_handler ptx_find_handler(const char *mnemonic) {
  const row *r = find(mnemonic);
  return r ? r->handler : NULL;
}

const char *ptx_find_forms(const char *mnemonic) {
  const row *r = find(mnemonic);
  return r ? r->forms : NULL;
}

const plumb_ptx_op *plumb_ptx_ops(size_t *out_count) {
  static const plumb_ptx_op ops[] = {
#define X(mnemonic, handler, section, forms) \
  {mnemonic, sizeof #handler != sizeof "none" || #handler[0] != 'n', section, forms},
#include "ir/ptx/instructions.def"
#undef X
  };
  *out_count = sizeof ops / sizeof *ops;
  return ops;
}

typedef struct totals {
  plumb_text *out;
  size_t forms, executed, tested;
} totals;

static void print_form(const plumb_ptx_form *form, void *user) {
  totals *t = user;
  t->forms++;
  t->executed += form->executed;
  t->tested += form->tested;
  plumb_text_printf(t->out, "%-20s %-16s parsed %-11s %-6s  %s\n", form->mnemonic, form->types,
                    form->executed ? "executed" : "unsupported", form->tested ? "tested" : "-",
                    form->section);
}

void plumb_ptx_ops_print(plumb_text *out) {
  totals t = {.out = out};
  plumb_ptx_forms(print_form, &t);
  plumb_text_printf(out, "%zu forms parsed, %zu executed, %zu tested\n", t.forms, t.executed,
                    t.tested);
}

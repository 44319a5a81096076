/* The table of instructions, for the decoder and for `plumb ops ptx`. */
#include "ir/ptx/decode.h"
#include "ir/ptx/ptx.h"

typedef struct row {
  const char *mnemonic;
  ptx_handler handler;
} row;

bool ptx_emit_none(ptx_decoder *d) {
  (void)d;
  return false;
}

static const row rows[] = {
#define X(mnemonic, handler, section, forms) {mnemonic, ptx_emit_##handler},
#include "ir/ptx/instructions.def"
#undef X
};

enum { ROWS = sizeof rows / sizeof *rows };

ptx_handler ptx_find_handler(const char *mnemonic) {
  size_t low = 0, high = ROWS;
  while (low < high) { /* the table is sorted; tests/unit/ptx.c checks it */
    size_t middle = (low + high) / 2;
    int order = strcmp(mnemonic, rows[middle].mnemonic);
    if (order == 0) return rows[middle].handler;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

const plumb_ptx_op *plumb_ptx_ops(size_t *out_count) {
  static const plumb_ptx_op ops[] = {
#define X(mnemonic, handler, section, forms) {mnemonic, sizeof(forms) > 1, section, forms},
#include "ir/ptx/instructions.def"
#undef X
  };
  *out_count = sizeof ops / sizeof *ops;
  return ops;
}

void plumb_ptx_ops_print(plumb_text *out) {
  size_t count;
  const plumb_ptx_op *ops = plumb_ptx_ops(&count);
  for (size_t i = 0; i < count; i++)
    plumb_text_printf(out, "%-22s %-11s %-10s %s\n", ops[i].mnemonic,
                      ops[i].decoded ? "decoded" : "unsupported", ops[i].section, ops[i].forms);
}

/* wgmma (9.7.15). */
#include "ir/ptx/decode.h"

#include <stdlib.h>

#include "ir/wgmma.h"

/* m64n128k16 */
static bool shape(const char *text, plumb_wgmma *w) {
  char *end;
  if (strncmp(text, "m64n", 4) != 0) return false;
  unsigned long n = strtoul(text + 4, &end, 10), k;
  if (*end != 'k' || n > 256) return false;
  k = strtoul(end + 1, &end, 10);
  if (*end || k > 512) return false;
  w->n = (uint16_t)n;
  w->k = (uint16_t)k;
  return true;
}

/* mma_async{.sp}.sync.aligned.shape{.satfinite}.d.a.b{.and.popc} */
static bool suffixes(const ptx_decoder *d, plumb_wgmma *w) {
  size_t types = 0;
  plumb_mma_type t[3];
  bool shaped = false, pop = false;
  for (size_t i = 1; i < d->s->part_count; i++) {
    const char *text = d->s->parts[i];
    if (strcmp(text, "sync") == 0 || strcmp(text, "aligned") == 0 || strcmp(text, "and") == 0)
      continue;
    if (strcmp(text, "sp") == 0)
      w->sparse = true;
    else if (strcmp(text, "satfinite") == 0)
      w->satfinite = true;
    else if (strcmp(text, "popc") == 0)
      pop = true;
    else if (shape(text, w))
      shaped = true;
    else if (types < 3 && plumb_mma_type_find(text, &t[types]))
      types++;
    else
      return false;
  }
  if (!shaped || types != 3) return false;
  w->d = (uint8_t)t[0];
  w->a = (uint8_t)t[1];
  w->b = (uint8_t)t[2];
  return pop == (w->a == PLUMB_MMA_B1);
}

static bool immediate(const ptx_operand *o, int64_t low, int64_t high, int64_t *out) {
  if (!o || o->kind != PTX_OPERAND_INT) return false;
  *out = (int64_t)o->value;
  return *out >= low && *out <= high;
}

/* scale-d{, scale-a, scale-b{, trans-a}{, trans-b}}: from operand `at` on. */
static bool modifiers(const ptx_decoder *d, size_t at, plumb_wgmma *w) {
  bool is_float = plumb_mma_type_table[w->a].type_class == PLUMB_MMA_FLOAT;
  bool turns = w->a == PLUMB_MMA_F16 || w->a == PLUMB_MMA_BF16;
  int64_t a, b;
  size_t n = d->s->operand_count;
  if (!is_float) return n == at + 1;
  if (!immediate(ptx_op(d, at + 1), -1, 1, &a) || !immediate(ptx_op(d, at + 2), -1, 1, &b) ||
      a == 0 || b == 0)
    return false;
  w->negate_a = a < 0;
  w->negate_b = b < 0;
  at += 3;
  if (turns && !w->a_regs) {
    if (!immediate(ptx_op(d, at++), 0, 1, &a)) return false;
    w->a_column = a != 0;
  }
  if (turns) {
    if (!immediate(ptx_op(d, at++), 0, 1, &b)) return false;
    w->b_row = b != 0;
  }
  return n == at;
}

static bool product(ptx_decoder *d) {
  plumb_wgmma w = {0};
  const ptx_operand *to = ptx_op(d, 0), *a = ptx_op(d, 1);
  if (!suffixes(d, &w) || !to || to->kind != PTX_OPERAND_VECTOR || !a) return false;
  w.a_regs = a->kind == PTX_OPERAND_VECTOR;
  size_t at = 3;
  int64_t selector = 0;
  if (w.sparse) {
    if (!immediate(ptx_op(d, 4), 0, 3, &selector)) return false;
    w.selector = (uint8_t)selector;
    at = 5;
  }
  if (!modifiers(d, at, &w) || !plumb_wgmma_valid(&w)) return false;
  unsigned regs = plumb_wgmma_regs(&w);
  if (to->count != regs || (w.a_regs && a->count != 4)) return false;
  plumb_dtype type = w.d == PLUMB_MMA_F32 ? PLUMB_F32 : PLUMB_I32;
  plumb_reg v[140], r[128];
  size_t count = 0;
  v[count++] = ptx_src(d, at, PLUMB_I1);
  for (size_t i = 0; w.a_regs && i < 4; i++) v[count++] = ptx_value(d, &a->items[i], PLUMB_I32);
  if (!w.a_regs) v[count++] = ptx_src(d, 1, PLUMB_I64);
  v[count++] = ptx_src(d, 2, PLUMB_I64);
  if (w.sparse) v[count++] = ptx_src(d, 3, PLUMB_I32);
  for (size_t i = 0; i < regs; i++) {
    r[i] = ptx_dest(d, &to->items[i], type);
    v[count] = ptx_value(d, &to->items[i], type);
    if (r[i] != v[count++]) return false; /* D is in place */
  }
  if (d->unknown) return false;
  plumb_build(&d->b, PLUMB_OP_WGMMA, type, r, regs, v, count)->imm = plumb_wgmma_pack(&w);
  return true;
}

bool ptx_emit_wgmma(ptx_decoder *d) {
  const char *what = d->s->part_count ? d->s->parts[0] : "";
  if (strcmp(what, "mma_async") == 0) return product(d);
  int64_t left = 0;
  plumb_group sub = strcmp(what, "fence") == 0          ? PLUMB_GROUP_WGMMA_FENCE
                    : strcmp(what, "commit_group") == 0 ? PLUMB_GROUP_WGMMA_COMMIT
                                                        : PLUMB_GROUP_WGMMA_WAIT;
  if (sub == PLUMB_GROUP_WGMMA_WAIT &&
      (strcmp(what, "wait_group") != 0 || !immediate(ptx_op(d, 0), 0, 7, &left)))
    return false;
  plumb_inst *i = plumb_build(&d->b, PLUMB_OP_WGMMA_GROUP, PLUMB_I1, NULL, 0, NULL, 0);
  i->sub = (uint8_t)sub;
  i->imm = left;
  return true;
}

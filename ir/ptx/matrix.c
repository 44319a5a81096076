/* Matrix instructions (9.7.14): mma. */
#include "ir/mma.h"

#include <stdlib.h>

#include "ir/ptx/decode.h"

enum { MAX_FRAGMENTS = 40 };

static plumb_dtype reg_type(const plumb_mma *mma, plumb_mma_matrix which) {
  unsigned type = which == PLUMB_MMA_C ? mma->c : which == PLUMB_MMA_D ? mma->d : mma->a;
  return type == PLUMB_MMA_F64 ? PLUMB_F64 : type == PLUMB_MMA_F32 ? PLUMB_F32 : PLUMB_I32;
}

/* "m16n8k16" */
static bool shape_of(const char *text, plumb_mma *out) {
  unsigned v[3] = {0, 0, 0};
  for (int i = 0; i < 3; i++) {
    if (*text++ != "mnk"[i]) return false;
    char *end;
    v[i] = (unsigned)strtoul(text, &end, 10);
    if (end == text || v[i] > 1000) return false;
    text = end;
  }
  out->m = (uint16_t)v[0];
  out->n = (uint16_t)v[1];
  out->k = (uint16_t)v[2];
  return *text == 0;
}

/* Reads the suffixes: shape, two layouts, types of d, a, b and c in this order. */
static bool read_parts(const ptx_decoder *d, plumb_mma *mma, plumb_round *round) {
  plumb_mma_type types[4];
  unsigned type_count = 0, layouts = 0;
  bool shape = false, bit_op = false, popc = false;
  for (size_t i = 0; i < d->s->part_count; i++) {
    const char *part = d->s->parts[i];
    plumb_mma_type t;
    if (!shape && shape_of(part, mma)) {
      shape = true;
    } else if (strcmp(part, "row") == 0 || strcmp(part, "col") == 0) {
      bool column = *part == 'c';
      if (layouts == 0) mma->a_column = column;
      if (layouts == 1) mma->b_row = !column;
      layouts++;
    } else if (plumb_mma_type_find(part, &t)) {
      if (type_count == 4) return false;
      types[type_count++] = t;
    } else if (strcmp(part, "satfinite") == 0) {
      mma->satfinite = true;
    } else if (strcmp(part, "xor") == 0 || strcmp(part, "and") == 0) {
      mma->combine = *part == 'x' ? PLUMB_MMA_XOR_POPC : PLUMB_MMA_AND_POPC;
      bit_op = true;
    } else if (strcmp(part, "popc") == 0) {
      popc = true;
    } else if (strcmp(part, "rn") == 0 || strcmp(part, "rz") == 0 || strcmp(part, "rm") == 0 ||
               strcmp(part, "rp") == 0) {
      *round = part[1] == 'n'   ? PLUMB_RN
               : part[1] == 'z' ? PLUMB_RZ
               : part[1] == 'm' ? PLUMB_RM
                                : PLUMB_RP;
    } else if (strcmp(part, "sync") != 0 && strcmp(part, "aligned") != 0) {
      return false; /* .kind, .block_scale and others: not decoded */
    }
  }
  if (!shape || layouts != 2 || type_count != 4 || bit_op != popc) return false;
  mma->d = types[0];
  mma->a = types[1];
  mma->b = types[2];
  mma->c = types[3];
  return true;
}

static const ptx_operand *item(const ptx_operand *o, size_t i, size_t count) {
  if (!o) return NULL;
  if (o->kind == PTX_OPERAND_VECTOR) return o->count == count ? &o->items[i] : NULL;
  return count == 1 ? o : NULL;
}

static bool read_fragment(ptx_decoder *d, const plumb_mma *mma, plumb_mma_matrix which,
                          const ptx_operand *o, plumb_reg *regs, size_t *at) {
  size_t count = plumb_mma_regs(mma, which);
  for (size_t i = 0; i < count; i++) {
    const ptx_operand *e = item(o, i, count);
    if (!e) return false;
    regs[(*at)++] = ptx_value(d, e, reg_type(mma, which));
  }
  return true;
}

bool ptx_emit_mma(ptx_decoder *d) {
  plumb_mma mma = {.kind = PLUMB_MMA_SYNC};
  plumb_round round = PLUMB_RN;
  if (!ptx_has(d, "sync") || !ptx_has(d, "aligned") || d->s->operand_count != 4 ||
      !read_parts(d, &mma, &round) || !plumb_mma_valid(&mma))
    return false;
  plumb_reg v[MAX_FRAGMENTS], r[MAX_FRAGMENTS];
  size_t at = 0, results = plumb_mma_regs(&mma, PLUMB_MMA_D);
  if (!read_fragment(d, &mma, PLUMB_MMA_A, ptx_op(d, 1), v, &at) ||
      !read_fragment(d, &mma, PLUMB_MMA_B, ptx_op(d, 2), v, &at) ||
      !read_fragment(d, &mma, PLUMB_MMA_C, ptx_op(d, 3), v, &at))
    return false;
  plumb_dtype type = reg_type(&mma, PLUMB_MMA_D);
  for (size_t i = 0; i < results; i++) {
    const ptx_operand *e = item(ptx_op(d, 0), i, results);
    if (!e) return false;
    r[i] = ptx_dest(d, e, type);
  }
  if (d->unknown) return false;
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_MMA, type, r, results, v, at);
  inst->imm = plumb_mma_pack(&mma);
  inst->round = (uint8_t)round;
  inst->flags |= PLUMB_FLAG_ALIGNED;
  for (size_t i = 0; i < results; i++)
    if (!ptx_done_to(d, item(ptx_op(d, 0), i, results), type, false, r[i])) return false;
  return true;
}

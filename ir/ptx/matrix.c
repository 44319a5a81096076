/* Matrix instructions on registers: mma, mma.sp, wmma.mma, ldmatrix, stmatrix, movmatrix
 * (9.7.14). */
#include "ir/ptx/matrix.h"

#include <stdlib.h>

enum { MAX_FRAGMENTS = 40 };

plumb_dtype ptx_mma_reg_type(const plumb_mma *mma, plumb_mma_matrix which) {
  unsigned type = which == PLUMB_MMA_C ? mma->c : which == PLUMB_MMA_D ? mma->d : mma->a;
  return type == PLUMB_MMA_F64 ? PLUMB_F64 : type == PLUMB_MMA_F32 ? PLUMB_F32 : PLUMB_I32;
}

bool ptx_mma_shape(const char *text, plumb_mma *out) {
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
    if (!shape && ptx_mma_shape(part, mma)) {
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
    } else if (strcmp(part, "sp") == 0 || strcmp(part, "sp::ordered_metadata") == 0) {
      mma->kind = PLUMB_MMA_SPARSE;
      mma->ordered = part[2] != 0;
    } else if (mma->kind == PLUMB_MMA_WMMA && i == 0) {
      /* .mma */
    } else if (strcmp(part, "sync") != 0 && strcmp(part, "aligned") != 0) {
      return false; /* .kind, .block_scale and others: not decoded */
    }
  }
  if (!shape || layouts != 2 || bit_op != popc) return false;
  if (mma->kind == PLUMB_MMA_WMMA && type_count == 2) { /* of f16, d and c alone are named */
    types[3] = types[1];
    types[1] = types[2] = PLUMB_MMA_F16;
  } else if (type_count != 4) {
    return false;
  }
  mma->d = (uint8_t)types[0];
  mma->a = (uint8_t)types[1];
  mma->b = (uint8_t)types[2];
  mma->c = (uint8_t)types[3];
  return true;
}

const ptx_operand *ptx_item(const ptx_operand *o, size_t i, size_t count) {
  if (!o) return NULL;
  if (o->kind == PTX_OPERAND_VECTOR) return o->count == count ? &o->items[i] : NULL;
  return count == 1 ? o : NULL;
}

static bool read_fragment(ptx_decoder *d, const plumb_mma *mma, plumb_mma_matrix which,
                          const ptx_operand *o, plumb_reg *regs, size_t *at) {
  size_t count = plumb_mma_regs(mma, which);
  for (size_t i = 0; i < count; i++) {
    const ptx_operand *e = ptx_item(o, i, count);
    if (!e) return false;
    regs[(*at)++] = ptx_value(d, e, ptx_mma_reg_type(mma, which));
  }
  return true;
}

bool ptx_build_mma(ptx_decoder *d, plumb_mma *mma, plumb_round round) {
  bool sparse = mma->kind == PLUMB_MMA_SPARSE;
  if (d->s->operand_count != (sparse ? 6 : 4)) return false;
  if (sparse) {
    const ptx_operand *selector = ptx_op(d, 5);
    if (selector->kind != PTX_OPERAND_INT || selector->value > 3) return false;
    mma->selector = (uint8_t)selector->value;
  }
  if (!plumb_mma_valid(mma)) return false;
  plumb_reg v[MAX_FRAGMENTS], r[MAX_FRAGMENTS];
  size_t at = 0, results = plumb_mma_regs(mma, PLUMB_MMA_D);
  if (!read_fragment(d, mma, PLUMB_MMA_A, ptx_op(d, 1), v, &at) ||
      !read_fragment(d, mma, PLUMB_MMA_B, ptx_op(d, 2), v, &at) ||
      !read_fragment(d, mma, PLUMB_MMA_C, ptx_op(d, 3), v, &at))
    return false;
  if (sparse) v[at++] = ptx_src(d, 4, PLUMB_I32);
  plumb_dtype type = ptx_mma_reg_type(mma, PLUMB_MMA_D);
  for (size_t i = 0; i < results; i++) {
    const ptx_operand *e = ptx_item(ptx_op(d, 0), i, results);
    if (!e) return false;
    r[i] = ptx_dest(d, e, type);
  }
  if (d->unknown) return false;
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_MMA, type, r, results, v, at);
  inst->imm = plumb_mma_pack(mma);
  inst->round = (uint8_t)round;
  inst->flags |= PLUMB_FLAG_ALIGNED;
  for (size_t i = 0; i < results; i++)
    if (!ptx_done_to(d, ptx_item(ptx_op(d, 0), i, results), type, false, r[i])) return false;
  return true;
}

bool ptx_emit_mma(ptx_decoder *d) {
  plumb_mma mma = {.kind = PLUMB_MMA_SYNC};
  plumb_round round = PLUMB_RN;
  if (!ptx_has(d, "sync") || !ptx_has(d, "aligned") || !read_parts(d, &mma, &round)) return false;
  return ptx_build_mma(d, &mma, round);
}

/* --- ldmatrix, stmatrix, movmatrix (9.7.14.5.15 to .17) --- */

static unsigned matrices_of(const ptx_decoder *d) {
  return ptx_has(d, "x1") ? 1 : ptx_has(d, "x2") ? 2 : ptx_has(d, "x4") ? 4 : 0;
}

/* The address of one instruction of a warp in shared memory, generic or not. */
static bool shared_address(ptx_decoder *d, const ptx_operand *o, plumb_space *space,
                           ptx_address *a) {
  *space =
      ptx_has(d, "shared") || ptx_has(d, "shared::cta") ? PLUMB_SPACE_SHARED : PLUMB_SPACE_GENERIC;
  if (!ptx_address_of(d, o, a) || a->param_reg != PLUMB_NO_REG) return false;
  if (*space == PLUMB_SPACE_GENERIC && a->space_known) *space = a->space;
  return true;
}

static plumb_matrix matrix_sub(const ptx_decoder *d) {
  return ptx_has(d, "trans") ? PLUMB_MATRIX_COLUMNS : PLUMB_MATRIX_ROWS;
}

/* The forms of .b16; those of .b8 need an architecture beyond sm_90. */
static bool is_8x8(const ptx_decoder *d) {
  return ptx_has(d, "sync") && ptx_has(d, "aligned") && ptx_has(d, "m8n8") && ptx_has(d, "b16");
}

bool ptx_emit_ldmatrix(ptx_decoder *d) {
  unsigned count = matrices_of(d);
  plumb_space space;
  ptx_address a;
  if (!count || !is_8x8(d) || !shared_address(d, ptx_op(d, 1), &space, &a)) return false;
  plumb_reg r[4];
  for (unsigned i = 0; i < count; i++) {
    const ptx_operand *e = ptx_item(ptx_op(d, 0), i, count);
    if (!e) return false;
    r[i] = ptx_dest(d, e, PLUMB_I32);
  }
  if (d->unknown) return false;
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_MATRIX_LOAD, PLUMB_I32, r, count, &a.base, 1);
  inst->space = (uint8_t)space;
  inst->imm = a.offset;
  inst->sub = (uint8_t)matrix_sub(d);
  inst->flags |= PLUMB_FLAG_ALIGNED;
  for (unsigned i = 0; i < count; i++)
    if (!ptx_done_to(d, ptx_item(ptx_op(d, 0), i, count), PLUMB_I32, false, r[i])) return false;
  return true;
}

bool ptx_emit_stmatrix(ptx_decoder *d) {
  unsigned count = matrices_of(d);
  plumb_space space;
  ptx_address a;
  if (!count || !is_8x8(d) || !shared_address(d, ptx_op(d, 0), &space, &a)) return false;
  plumb_reg v[5] = {a.base};
  for (unsigned i = 0; i < count; i++) {
    const ptx_operand *e = ptx_item(ptx_op(d, 1), i, count);
    if (!e) return false;
    v[i + 1] = ptx_value(d, e, PLUMB_I32);
  }
  if (d->unknown) return false;
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_MATRIX_STORE, PLUMB_I32, NULL, 0, v, count + 1);
  inst->space = (uint8_t)space;
  inst->imm = a.offset;
  inst->sub = (uint8_t)matrix_sub(d);
  inst->flags |= PLUMB_FLAG_ALIGNED;
  return true;
}

bool ptx_emit_movmatrix(ptx_decoder *d) {
  if (!is_8x8(d) || !ptx_has(d, "trans")) return false;
  plumb_reg v = ptx_src(d, 1, PLUMB_I32), r = ptx_dst(d, 0, PLUMB_I32);
  if (d->unknown) return false;
  plumb_build(&d->b, PLUMB_OP_MATRIX_MOVE, PLUMB_I32, &r, 1, &v, 1)->flags |= PLUMB_FLAG_ALIGNED;
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

/* --- wmma.mma (9.7.14.4.5); the other two are in wmma.c --- */

bool ptx_emit_wmma(ptx_decoder *d) {
  if (!d->s->part_count || !ptx_has(d, "sync") || !ptx_has(d, "aligned")) return false;
  if (strcmp(d->s->parts[0], "load") == 0) return ptx_wmma_load(d);
  if (strcmp(d->s->parts[0], "store") == 0) return ptx_wmma_store(d);
  plumb_mma mma = {.kind = PLUMB_MMA_WMMA};
  plumb_round round = PLUMB_RN;
  if (strcmp(d->s->parts[0], "mma") != 0 || !read_parts(d, &mma, &round)) return false;
  return ptx_build_mma(d, &mma, round);
}

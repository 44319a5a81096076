/* Instructions that need other lanes (9.7.9.5, 9.7.9.6, 9.7.13). */
#include "ir/ptx/decode.h"

static const ptx_operand *first_of(const ptx_operand *o) {
  return o && o->kind == PTX_OPERAND_PAIR ? &o->items[0] : o;
}
static const ptx_operand *second_of(const ptx_operand *o) {
  return o && o->kind == PTX_OPERAND_PAIR ? &o->items[1] : NULL;
}

static plumb_reg active_mask(ptx_decoder *d) {
  plumb_reg r = plumb_reg_create(d->f, PLUMB_I32);
  plumb_build(&d->b, PLUMB_OP_ACTIVEMASK, PLUMB_I32, &r, 1, NULL, 0);
  return r;
}

/* Two results, of which the second may be left out. */
static bool two_results(ptx_decoder *d, plumb_op op, plumb_dtype type, plumb_dtype first,
                        const plumb_reg *v, size_t count, uint8_t sub) {
  const ptx_operand *o = ptx_op(d, 0), *to = first_of(o), *flag = second_of(o);
  plumb_reg r[2] = {ptx_dest(d, to, first),
                    flag ? ptx_dest(d, flag, PLUMB_I1) : plumb_reg_create(d->f, PLUMB_I1)};
  if (d->unknown) return false;
  plumb_build(&d->b, op, type, r, 2, v, count)->sub = sub;
  if (flag && !ptx_done_to(d, flag, PLUMB_I1, false, r[1])) return false;
  return ptx_done_to(d, to, first, false, r[0]);
}

bool ptx_emit_shfl(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  for (uint8_t mode = 0; mode < PLUMB_SHFL_COUNT; mode++) {
    if (!ptx_has(d, plumb_shfl_texts[mode])) continue;
    plumb_reg v[4];
    for (size_t i = 0; i < 3; i++) v[i] = ptx_src(d, i + 1, PLUMB_I32);
    v[3] = ptx_has(d, "sync") ? ptx_src(d, 4, PLUMB_I32) : active_mask(d);
    return two_results(d, PLUMB_OP_SHFL, PLUMB_I32, PLUMB_I32, v, 4, mode);
  }
  return false;
}

bool ptx_emit_vote(ptx_decoder *d) {
  for (uint8_t mode = 0; mode < PLUMB_VOTE_COUNT; mode++) {
    if (!ptx_has(d, plumb_vote_texts[mode])) continue;
    plumb_dtype t = mode == PLUMB_VOTE_BALLOT ? PLUMB_I32 : PLUMB_I1;
    plumb_reg v[2] = {ptx_src(d, 1, PLUMB_I1),
                      ptx_has(d, "sync") ? ptx_src(d, 2, PLUMB_I32) : active_mask(d)};
    plumb_reg r = ptx_dst(d, 0, t);
    if (d->unknown) return false;
    ptx_build(d, PLUMB_OP_VOTE, t, r, v, 2)->sub = mode;
    return ptx_done(d, 0, t, false, r);
  }
  return false;
}

bool ptx_emit_match(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  plumb_dtype t = d->types[0].dtype;
  plumb_reg v[2] = {ptx_src(d, 1, t), ptx_src(d, 2, PLUMB_I32)};
  return two_results(d, PLUMB_OP_MATCH, t, PLUMB_I32, v, 2, ptx_has(d, "all"));
}

bool ptx_emit_redux(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  ptx_type t = d->types[0];
  bool is_float = plumb_dtype_is_float(t.dtype);
  bool low = ptx_has(d, "min"), high = ptx_has(d, "max");
  plumb_atomic op = ptx_has(d, "add")   ? PLUMB_ATOMIC_ADD
                    : ptx_has(d, "and") ? PLUMB_ATOMIC_AND
                    : ptx_has(d, "or")  ? PLUMB_ATOMIC_OR
                    : ptx_has(d, "xor") ? PLUMB_ATOMIC_XOR
                                        : PLUMB_ATOMIC_CAS;
  if (low)
    op = is_float ? PLUMB_ATOMIC_FMIN : t.is_signed ? PLUMB_ATOMIC_MIN_S : PLUMB_ATOMIC_MIN_U;
  if (high)
    op = is_float ? PLUMB_ATOMIC_FMAX : t.is_signed ? PLUMB_ATOMIC_MAX_S : PLUMB_ATOMIC_MAX_U;
  if (is_float && ptx_has(d, "NaN")) op = low ? PLUMB_ATOMIC_FMINIMUM : PLUMB_ATOMIC_FMAXIMUM;
  if (op == PLUMB_ATOMIC_CAS || (is_float && !low && !high)) return false;
  plumb_reg v[2] = {ptx_src(d, 1, t.dtype), ptx_src(d, 2, PLUMB_I32)}, r = ptx_dst(d, 0, t.dtype);
  if (d->unknown) return false;
  plumb_inst *i = ptx_build(d, PLUMB_OP_REDUX, t.dtype, r, v, 2);
  i->sub = (uint8_t)op;
  if (ptx_has(d, "abs")) i->flags |= PLUMB_FLAG_ABS_OP;
  return ptx_done(d, 0, t.dtype, false, r);
}

bool ptx_emit_activemask(ptx_decoder *d) {
  plumb_reg r = ptx_dst(d, 0, PLUMB_I32);
  if (d->unknown) return false;
  plumb_build(&d->b, PLUMB_OP_ACTIVEMASK, PLUMB_I32, &r, 1, NULL, 0);
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

bool ptx_emit_elect(ptx_decoder *d) {
  plumb_reg mask = ptx_src(d, 1, PLUMB_I32);
  return two_results(d, PLUMB_OP_ELECT, PLUMB_I32, PLUMB_I32, &mask, 1, 0);
}

bool ptx_emit_nanosleep(ptx_decoder *d) {
  plumb_reg v = ptx_src(d, 0, PLUMB_I32);
  if (d->unknown) return false;
  plumb_build(&d->b, PLUMB_OP_NANOSLEEP, PLUMB_I32, NULL, 0, &v, 1);
  return true;
}

/* bar is barrier.aligned. red: d, a{, b}, {!}c; else a{, b}. */
static bool barrier(ptx_decoder *d, uint8_t sub, bool is_red) {
  size_t at = is_red ? 1 : 0, n = d->s->operand_count;
  if (n < at + 1 + is_red || n > at + 2 + is_red) return false;
  plumb_dtype t = sub == PLUMB_BARRIER_RED_POPC ? PLUMB_I32 : PLUMB_I1;
  bool counted = n == at + 2 + is_red;
  plumb_reg v[3] = {ptx_src(d, at, PLUMB_I32),
                    counted ? ptx_src(d, at + 1, PLUMB_I32) : ptx_const(d, PLUMB_I32, 0)};
  if (is_red) v[2] = ptx_src(d, n - 1, PLUMB_I1);
  plumb_reg r = is_red ? ptx_dst(d, 0, t) : PLUMB_NO_REG;
  if (d->unknown) return false;
  plumb_inst *i = plumb_build(&d->b, PLUMB_OP_BARRIER, t, &r, is_red, v, is_red ? 3 : 2);
  i->sub = sub;
  if (strcmp(d->s->name, "bar") == 0 || ptx_has(d, "aligned")) i->flags |= PLUMB_FLAG_ALIGNED;
  return !is_red || ptx_done(d, 0, t, false, r);
}

bool ptx_emit_bar(ptx_decoder *d) {
  if (ptx_has(d, "cluster")) return ptx_emit_cluster_barrier(d);
  if (ptx_has(d, "warp")) {
    plumb_reg mask = ptx_src(d, 0, PLUMB_I32);
    if (d->unknown) return false;
    plumb_build(&d->b, PLUMB_OP_WARP_SYNC, PLUMB_I32, NULL, 0, &mask, 1);
    return true;
  }
  if (ptx_has(d, "sync")) return barrier(d, PLUMB_BARRIER_SYNC, false);
  if (ptx_has(d, "arrive")) return barrier(d, PLUMB_BARRIER_ARRIVE, false);
  if (!ptx_has(d, "red")) return false;
  return barrier(d,
                 ptx_has(d, "popc")  ? PLUMB_BARRIER_RED_POPC
                 : ptx_has(d, "and") ? PLUMB_BARRIER_RED_AND
                                     : PLUMB_BARRIER_RED_OR,
                 true);
}

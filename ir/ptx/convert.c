/* cvt (9.7.9.21), mov (9.7.9.1 to 9.7.9.4), cvta and isspacep. */
#include "ir/ptx/decode.h"

static bool space_named(const char *text, plumb_space *out) {
  static const struct {
    const char *text;
    plumb_space space;
  } rows[] = {{"global", PLUMB_SPACE_GLOBAL},      {"shared", PLUMB_SPACE_SHARED},
              {"shared::cta", PLUMB_SPACE_SHARED}, {"local", PLUMB_SPACE_LOCAL},
              {"const", PLUMB_SPACE_CONST},        {"param", PLUMB_SPACE_PARAM},
              {"param::entry", PLUMB_SPACE_PARAM}, {"shared::cluster", PLUMB_SPACE_SHARED}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].text, text) == 0) {
      *out = rows[i].space;
      return true;
    }
  return false;
}

static plumb_space space_of(const ptx_decoder *d, bool *out_found) {
  plumb_space space = PLUMB_SPACE_GENERIC;
  *out_found = false;
  for (size_t i = 0; i < d->s->part_count && !*out_found; i++)
    *out_found = space_named(d->s->parts[i], &space);
  return space;
}

bool ptx_emit_cvta(ptx_decoder *d) {
  bool found;
  plumb_space space = space_of(d, &found);
  if (!found || d->type_count != 1 || d->types[0].dtype != PLUMB_I64) return false;
  plumb_reg v = ptx_src(d, 1, PLUMB_I64), r = ptx_dst(d, 0, PLUMB_I64);
  plumb_op op = ptx_has(d, "to") ? PLUMB_OP_FROM_GENERIC : PLUMB_OP_TO_GENERIC;
  ptx_build(d, op, PLUMB_I64, r, &v, 1)->space = (uint8_t)space;
  return ptx_done(d, 0, PLUMB_I64, false, r);
}

bool ptx_emit_isspacep(ptx_decoder *d) {
  bool found;
  plumb_space space = space_of(d, &found);
  if (!found) return false;
  plumb_reg v = ptx_src(d, 1, PLUMB_I64), r = ptx_dst(d, 0, PLUMB_I1);
  plumb_inst *inst = ptx_build(d, PLUMB_OP_IS_SPACE, PLUMB_I1, r, &v, 1);
  inst->space = (uint8_t)space;
  if (ptx_has(d, "shared::cluster")) inst->flags |= PLUMB_FLAG_SCOPE_CLUSTER;
  return ptx_done(d, 0, PLUMB_I1, false, r);
}

static bool mov_pack(ptx_decoder *d, plumb_dtype t) {
  const ptx_operand *o = ptx_op(d, 1);
  unsigned bytes = plumb_dtype_bytes(t);
  if (o->count < 2 || o->count > 8 || bytes % o->count) return false;
  plumb_dtype piece = ptx_int_type(bytes / (unsigned)o->count);
  plumb_reg parts[8];
  for (size_t i = 0; i < o->count; i++) parts[i] = ptx_value(d, &o->items[i], piece);
  plumb_reg r = ptx_dst(d, 0, t);
  ptx_pack(d, r, t, parts, piece, (unsigned)o->count);
  return ptx_done(d, 0, t, false, r);
}

static bool mov_unpack(ptx_decoder *d, plumb_dtype t) {
  const ptx_operand *o = ptx_op(d, 0);
  unsigned bytes = plumb_dtype_bytes(t);
  if (o->count < 2 || o->count > 8 || bytes % o->count) return false;
  plumb_dtype piece = ptx_int_type(bytes / (unsigned)o->count);
  plumb_reg v = ptx_src(d, 1, t), parts[8];
  for (unsigned i = 0; i < o->count; i++) parts[i] = ptx_extract(d, v, t, piece, i);
  for (size_t i = 0; i < o->count; i++)
    if (!ptx_done_to(d, &o->items[i], piece, false, parts[i])) return false;
  return true;
}

bool ptx_emit_mov(ptx_decoder *d) {
  const ptx_operand *to = ptx_op(d, 0), *from = ptx_op(d, 1);
  if (d->type_count != 1 || !to || !from || d->s->operand_count != 2) return false;
  plumb_dtype t = d->types[0].container;
  plumb_dtype bits = t == PLUMB_I1 ? t : ptx_int_type(plumb_dtype_bytes(t));
  if (from->kind == PTX_OPERAND_VECTOR) return to->kind != PTX_OPERAND_VECTOR && mov_pack(d, bits);
  if (to->kind == PTX_OPERAND_VECTOR) return mov_unpack(d, bits);
  plumb_reg v = ptx_src(d, 1, t), r = ptx_dst(d, 0, t);
  if (!d->unknown) plumb_build(&d->b, PLUMB_OP_MOV, t, &r, 1, &v, 1);
  return ptx_done(d, 0, t, d->types[0].is_signed, r);
}

/* out_integral: rounds to an integral value. */
static bool rounding(const ptx_decoder *d, plumb_round *out, bool *out_integral) {
  static const struct {
    const char *text;
    plumb_round round;
    bool integral;
  } rows[] = {{"rn", PLUMB_RN, false}, {"rz", PLUMB_RZ, false},   {"rm", PLUMB_RM, false},
              {"rp", PLUMB_RP, false}, {"rna", PLUMB_RNA, false}, {"rni", PLUMB_RN, true},
              {"rzi", PLUMB_RZ, true}, {"rmi", PLUMB_RM, true},   {"rpi", PLUMB_RP, true}};
  *out = PLUMB_RN;
  *out_integral = false;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (ptx_has(d, rows[i].text)) {
      *out = rows[i].round;
      *out_integral = rows[i].integral;
      return true;
    }
  return false;
}

static uint32_t cvt_flags(const ptx_decoder *d, ptx_type to, ptx_type from) {
  uint32_t flags = 0;
  /* .ftz concerns f32 only: an f16 operand keeps its subnormals. */
  if (ptx_has(d, "ftz") && from.dtype == PLUMB_F32) flags |= PLUMB_FLAG_FTZ_IN;
  if (ptx_has(d, "ftz") && to.dtype == PLUMB_F32) flags |= PLUMB_FLAG_FTZ_OUT;
  if (ptx_has(d, "sat")) flags |= PLUMB_FLAG_SAT;
  if (ptx_has(d, "relu")) flags |= PLUMB_FLAG_RELU;
  if (ptx_has(d, "satfinite")) flags |= PLUMB_FLAG_SATFINITE;
  if (to.is_signed) flags |= PLUMB_FLAG_DST_SIGNED;
  if (from.is_signed) flags |= PLUMB_FLAG_SRC_SIGNED;
  if (plumb_dtype_is_float(from.dtype) && !plumb_dtype_is_float(to.dtype))
    flags |= PLUMB_FLAG_CLAMP;
  return flags;
}

static void cvt_element(ptx_decoder *d, plumb_dtype to, plumb_dtype from, plumb_reg result,
                        plumb_reg value, uint32_t flags, plumb_round round) {
  plumb_inst *i = ptx_build(d, PLUMB_OP_CVT, to, result, &value, 1);
  i->type2 = (uint8_t)from;
  i->flags |= flags;
  i->round = (uint8_t)round;
}

/* d, a, b: a goes to the upper half. d, a: from a packed type element by element. */
static bool cvt_packed(ptx_decoder *d, ptx_type to, ptx_type from, plumb_round round) {
  if (ptx_has(d, "rs") || ptx_has(d, "scaled::n2::ue8m0") || to.packed != 2) return false;
  uint32_t flags = cvt_flags(d, to, from);
  plumb_reg parts[2], v[2];
  if (from.packed == 2) {
    if (d->s->operand_count != 2) return false;
    plumb_reg all = ptx_src(d, 1, from.container);
    for (unsigned i = 0; i < 2; i++) v[i] = ptx_extract(d, all, from.container, from.dtype, i);
  } else {
    if (d->s->operand_count != 3) return false;
    v[1] = ptx_src(d, 1, from.dtype);
    v[0] = ptx_src(d, 2, from.dtype);
  }
  for (int i = 0; i < 2; i++) {
    parts[i] = plumb_reg_create(d->f, to.dtype);
    cvt_element(d, to.dtype, from.dtype, parts[i], v[i], flags, round);
  }
  plumb_reg r = ptx_dst(d, 0, to.container);
  ptx_pack(d, r, to.container, parts, to.dtype, 2);
  return ptx_done(d, 0, to.container, false, r);
}

bool ptx_emit_cvt(ptx_decoder *d) {
  if (d->type_count != 2 || ptx_has(d, "pack")) return false;
  ptx_type to = d->types[0], from = d->types[1];
  plumb_round round;
  bool integral;
  rounding(d, &round, &integral);
  if (to.packed > 1 || from.packed > 1) return cvt_packed(d, to, from, round);
  if (d->s->operand_count != 2) return false;
  plumb_reg v = ptx_src(d, 1, from.dtype), r = ptx_dst(d, 0, to.dtype);
  uint32_t flags = cvt_flags(d, to, from);
  if (integral && plumb_dtype_is_float(to.dtype)) {
    if (to.dtype != from.dtype) return false;
    plumb_inst *i = ptx_build(d, PLUMB_OP_ROUND_INT, to.dtype, r, &v, 1);
    i->round = (uint8_t)round;
    i->flags |= flags;
  } else if (to.dtype == from.dtype && !plumb_dtype_is_float(to.dtype) &&
             !(flags & PLUMB_FLAG_SAT)) {
    if (!d->unknown) plumb_build(&d->b, PLUMB_OP_MOV, to.dtype, &r, 1, &v, 1);
  } else {
    cvt_element(d, to.dtype, from.dtype, r, v, flags, round);
  }
  return ptx_done(d, 0, to.dtype, to.is_signed, r);
}

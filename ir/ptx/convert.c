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

static bool mov_pack(ptx_decoder *d, plumb_dtype t, const ptx_operand *items, size_t count) {
  unsigned bytes = plumb_dtype_bytes(t);
  if (count > 8 || bytes % count) return false;
  plumb_dtype piece = ptx_int_type(bytes / (unsigned)count);
  plumb_reg parts[8];
  for (size_t i = 0; i < count; i++) parts[i] = ptx_value(d, &items[i], piece);
  plumb_reg r = ptx_dst(d, 0, t);
  ptx_pack(d, r, t, parts, piece, (unsigned)count);
  return ptx_done(d, 0, t, false, r);
}

static bool mov_unpack(ptx_decoder *d, plumb_dtype t, const ptx_operand *items, size_t count) {
  unsigned bytes = plumb_dtype_bytes(t);
  if (count > 8 || bytes % count) return false;
  plumb_dtype piece = ptx_int_type(bytes / (unsigned)count);
  plumb_reg v = ptx_src(d, 1, t), parts[8];
  for (unsigned i = 0; i < count; i++) parts[i] = ptx_extract(d, v, t, piece, i);
  for (size_t i = 0; i < count; i++)
    if (!ptx_done_to(d, &items[i], piece, false, parts[i])) return false;
  return true;
}

/* mov.v4.u16 a, {b, c, d, e}: all elements are read before one is written. */
static bool mov_vector(ptx_decoder *d, plumb_dtype t) {
  const ptx_operand *to, *from;
  size_t n = ptx_elements(d, ptx_op(d, 0), &to);
  if (ptx_elements(d, ptx_op(d, 1), &from) != n || n != ptx_vector_width(d) || n > 8) return false;
  plumb_reg v[8];
  for (size_t i = 0; i < n; i++) {
    v[i] = plumb_reg_create(d->f, t);
    plumb_build_mov(&d->b, v[i], ptx_value(d, &from[i], t));
  }
  for (size_t i = 0; i < n; i++)
    if (!ptx_done_to(d, &to[i], t, false, v[i])) return false;
  return true;
}

bool ptx_emit_mov(ptx_decoder *d) {
  const ptx_operand *to = ptx_op(d, 0), *from = ptx_op(d, 1);
  if (d->type_count != 1 || !to || !from || d->s->operand_count != 2) return false;
  plumb_dtype t = d->types[0].container;
  plumb_dtype bits = t == PLUMB_I1 ? t : ptx_int_type(plumb_dtype_bytes(t));
  if (ptx_vector_width(d) > 1) return mov_vector(d, t);
  const ptx_operand *items;
  size_t written = ptx_elements(d, to, &items);
  if (written > 1) return mov_unpack(d, bits, items, written);
  size_t read = ptx_elements(d, from, &items);
  if (read > 1) return mov_pack(d, bits, items, read);
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

/* The values of a conversion to or from a packed type, element 0 (the low one) first:
 * `d, a, b` and `d, {a, b, e, f}` name the highest first, `d, a` takes them from a. */
static bool cvt_sources(ptx_decoder *d, ptx_type to, ptx_type from, plumb_reg v[PTX_MAX_PACKED]) {
  const ptx_operand *o = ptx_op(d, 1);
  unsigned n = to.packed;
  if (from.packed > 1) {
    if (from.packed != n) return false;
    plumb_reg all = ptx_src(d, 1, from.container);
    for (unsigned i = 0; i < n; i++) v[i] = ptx_extract(d, all, from.container, from.dtype, i);
    return true;
  }
  if (o && o->kind == PTX_OPERAND_VECTOR) {
    if (o->count != n) return false;
    for (unsigned i = 0; i < n; i++) v[i] = ptx_value(d, &o->items[n - 1 - i], from.dtype);
    return true;
  }
  if (n != 2) return false;
  v[1] = ptx_src(d, 1, from.dtype);
  v[0] = ptx_src(d, 2, from.dtype);
  return true;
}

/* The random bits of one element (9.7.9.21): f16x2 13 and bf16x2 16 of each half; fp8 and
 * fp6 the half of their pair; fp4 a byte each, the upper bytes of both halves for the
 * first pair. *out_bits: how many. */
static plumb_reg random_bits(ptx_decoder *d, plumb_reg bits, ptx_type to, unsigned i,
                             unsigned *out_bits) {
  static const unsigned fp4_shift[] = {0, 16, 8, 24};
  *out_bits = to.dtype == PLUMB_F16 ? 13 : to.dtype == PLUMB_E2M1 ? 8 : 16;
  unsigned shift = to.packed == 2 ? 16 * i : to.dtype == PLUMB_E2M1 ? fp4_shift[i] : 16 * (i / 2);
  return shift
             ? plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I32, bits, ptx_const(d, PLUMB_I32, shift))
             : bits;
}

static bool cvt_packed(ptx_decoder *d, ptx_type to, ptx_type from, plumb_round round) {
  const ptx_operand *o = ptx_op(d, 1);
  bool random = ptx_has(d, "rs");
  size_t sources = from.packed > 1 || (o && o->kind == PTX_OPERAND_VECTOR) ? 1 : 2;
  if (to.packed < 2 || d->s->operand_count != 1 + sources + random) return false;
  if (random != (to.packed == 4) && !(random && from.dtype == PLUMB_F32)) return false;
  uint32_t flags = cvt_flags(d, to, from);
  plumb_reg parts[PTX_MAX_PACKED], v[PTX_MAX_PACKED];
  plumb_reg bits = random ? ptx_src(d, 1 + sources, PLUMB_I32) : PLUMB_NO_REG;
  if (!cvt_sources(d, to, from, v)) return false;
  for (unsigned i = 0; i < to.packed; i++) {
    parts[i] = plumb_reg_create(d->f, to.dtype);
    if (!random) {
      cvt_element(d, to.dtype, from.dtype, parts[i], v[i], flags, round);
      continue;
    }
    unsigned count;
    plumb_reg pair[2] = {v[i], random_bits(d, bits, to, i, &count)};
    plumb_inst *inst = ptx_build(d, PLUMB_OP_CVT_RS, to.dtype, parts[i], pair, 2);
    inst->type2 = (uint8_t)from.dtype;
    inst->flags |= flags;
    inst->imm = count;
  }
  plumb_reg r = ptx_dst(d, 0, to.container);
  ptx_pack(d, r, to.container, parts, to.dtype, to.packed);
  return ptx_done(d, 0, to.container, false, r);
}

/* cvt.pack.sat.type.s32{.b32} d, a, b{, c}: b clamped in the low bits, a above it, then
 * what fits of c (9.7.9.22). */
static bool cvt_pack(ptx_decoder *d) {
  const char *text = d->s->parts[2];
  bool shifts = d->s->operand_count == 4, is_signed = text[0] == 's';
  unsigned bits =
      (unsigned)(text[1] - '0') * (text[2] ? 10 : 1) + (text[2] ? (unsigned)(text[2] - '0') : 0);
  if (!strchr("us", text[0]) || (bits != 2 && bits != 4 && bits != 8 && bits != 16)) return false;
  if (shifts == (bits == 16) || d->s->operand_count < 3) return false;
  uint32_t mask = (1u << bits) - 1;
  uint32_t most = is_signed ? mask >> 1 : mask, least = is_signed ? ~most : 0;
  plumb_reg part[2];
  for (size_t i = 0; i < 2; i++) {
    plumb_reg v = ptx_src(d, i + 1, PLUMB_I32);
    v = plumb_build2(&d->b, PLUMB_OP_MIN_S, PLUMB_I32, v, ptx_const(d, PLUMB_I32, most));
    v = plumb_build2(&d->b, PLUMB_OP_MAX_S, PLUMB_I32, v, ptx_const(d, PLUMB_I32, least));
    part[i] = plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I32, v, ptx_const(d, PLUMB_I32, mask));
  }
  plumb_reg high =
      plumb_build2(&d->b, PLUMB_OP_SHL, PLUMB_I32, part[0], ptx_const(d, PLUMB_I32, bits));
  plumb_reg all = plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I32, high, part[1]);
  if (shifts) {
    plumb_reg c = plumb_build2(&d->b, PLUMB_OP_SHL, PLUMB_I32, ptx_src(d, 3, PLUMB_I32),
                               ptx_const(d, PLUMB_I32, 2 * bits));
    all = plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I32, all, c);
  }
  plumb_reg r = ptx_dst(d, 0, PLUMB_I32);
  if (!d->unknown) plumb_build(&d->b, PLUMB_OP_MOV, PLUMB_I32, &r, 1, &all, 1);
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

bool ptx_emit_cvt(ptx_decoder *d) {
  if (ptx_has(d, "pack")) return d->s->part_count >= 4 && cvt_pack(d);
  if (d->type_count != 2) return false;
  ptx_type to = d->types[0], from = d->types[1];
  plumb_round round;
  bool integral;
  bool named = rounding(d, &round, &integral);
  if (to.packed > 1 || from.packed > 1) return cvt_packed(d, to, from, round);
  if (d->s->operand_count != 2 || ptx_has(d, "rs")) return false;
  bool from_float = plumb_dtype_is_float(from.dtype), to_float = plumb_dtype_is_float(to.dtype);
  /* A float becomes an integer toward zero only where that is written (9.7.9.21). */
  if (from_float && !to_float && !named) return false;
  plumb_reg v = ptx_src(d, 1, from.dtype), r = ptx_dst(d, 0, to.dtype);
  uint32_t flags = cvt_flags(d, to, from);
  if (integral && to_float) {
    if (to.dtype != from.dtype) return false;
    plumb_inst *i = ptx_build(d, PLUMB_OP_ROUND_INT, to.dtype, r, &v, 1);
    i->round = (uint8_t)round;
    i->flags |= flags;
  } else if (to.dtype == from.dtype && !to_float && !(flags & PLUMB_FLAG_SAT)) {
    if (!d->unknown) plumb_build(&d->b, PLUMB_OP_MOV, to.dtype, &r, 1, &v, 1);
  } else {
    cvt_element(d, to.dtype, from.dtype, r, v, flags, round);
  }
  return ptx_done(d, 0, to.dtype, to.is_signed, r);
}

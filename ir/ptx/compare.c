/* set, setp, selp, slct, testp (9.7.6, 9.7.7, 9.7.3.1). */
#include "ir/ptx/decode.h"

/* ne and the other plain float comparisons are ordered: false on NaN; ...u are not. */
static bool predicate(const char *text, ptx_type t, plumb_cmp *out) {
  static const struct {
    const char *text;
    int is_float, is_signed, is_unsigned; /* plumb_cmp, -1 if there is none */
  } rows[] = {
      {"eq", PLUMB_CMP_OEQ, PLUMB_CMP_EQ, PLUMB_CMP_EQ},
      {"ne", PLUMB_CMP_ONE, PLUMB_CMP_NE, PLUMB_CMP_NE},
      {"lt", PLUMB_CMP_OLT, PLUMB_CMP_LT_S, PLUMB_CMP_LT_U},
      {"le", PLUMB_CMP_OLE, PLUMB_CMP_LE_S, PLUMB_CMP_LE_U},
      {"gt", PLUMB_CMP_OGT, PLUMB_CMP_GT_S, PLUMB_CMP_GT_U},
      {"ge", PLUMB_CMP_OGE, PLUMB_CMP_GE_S, PLUMB_CMP_GE_U},
      {"lo", -1, -1, PLUMB_CMP_LT_U},
      {"ls", -1, -1, PLUMB_CMP_LE_U},
      {"hi", -1, -1, PLUMB_CMP_GT_U},
      {"hs", -1, -1, PLUMB_CMP_GE_U},
      {"equ", PLUMB_CMP_UEQ, -1, -1},
      {"neu", PLUMB_CMP_UNE, -1, -1},
      {"ltu", PLUMB_CMP_ULT, -1, -1},
      {"leu", PLUMB_CMP_ULE, -1, -1},
      {"gtu", PLUMB_CMP_UGT, -1, -1},
      {"geu", PLUMB_CMP_UGE, -1, -1},
      {"num", PLUMB_CMP_NUM, -1, -1},
      {"nan", PLUMB_CMP_NAN, -1, -1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].text, text) != 0) continue;
    int cmp = plumb_dtype_is_float(t.dtype) ? rows[i].is_float
              : t.is_signed                 ? rows[i].is_signed
                                            : rows[i].is_unsigned;
    *out = (plumb_cmp)cmp;
    return cmp >= 0;
  }
  return false;
}

static bool bool_op(const ptx_decoder *d, plumb_op *out) {
  if (d->s->part_count < 2) return false;
  const char *text = d->s->parts[1];
  *out = strcmp(text, "and") == 0   ? PLUMB_OP_AND
         : strcmp(text, "or") == 0  ? PLUMB_OP_OR
         : strcmp(text, "xor") == 0 ? PLUMB_OP_XOR
                                    : PLUMB_OP_COUNT;
  return *out != PLUMB_OP_COUNT;
}

static plumb_reg compare(ptx_decoder *d, plumb_cmp cmp, plumb_dtype type, plumb_reg a, plumb_reg b,
                         plumb_reg result) {
  plumb_inst *i = ptx_build(d, PLUMB_OP_CMP, PLUMB_I1, result, (plumb_reg[]){a, b}, 2);
  i->sub = (uint8_t)cmp;
  i->type2 = (uint8_t)type;
  if (ptx_has(d, "ftz")) i->flags |= PLUMB_FLAG_FTZ;
  return result;
}

/* p = t op c, q = !t op c; of packed types p is the low half's, q the high half's. */
static bool setp_pair(ptx_decoder *d, ptx_type t, plumb_cmp cmp) {
  const ptx_operand *o = ptx_op(d, 0);
  bool pair = o && o->kind == PTX_OPERAND_PAIR;
  const ptx_operand *to[2] = {pair ? &o->items[0] : o, pair ? &o->items[1] : NULL};
  plumb_op op = PLUMB_OP_COUNT;
  bool combined = bool_op(d, &op);
  plumb_reg a = ptx_src(d, 1, t.container), b = ptx_src(d, 2, t.container);
  plumb_reg c = combined ? ptx_src(d, 3, PLUMB_I1) : PLUMB_NO_REG;
  if (!pair && t.packed == 1 && !combined) {
    plumb_reg r = ptx_dest(d, o, PLUMB_I1);
    compare(d, cmp, t.dtype, a, b, r);
    return ptx_done_to(d, o, PLUMB_I1, false, r);
  }
  plumb_reg value[2];
  for (unsigned i = 0; i < 2; i++) {
    value[i] = plumb_reg_create(d->f, PLUMB_I1);
    if (t.packed > 1) {
      plumb_reg x = ptx_extract(d, a, t.container, t.dtype, i);
      compare(d, cmp, t.dtype, x, ptx_extract(d, b, t.container, t.dtype, i), value[i]);
    } else if (i == 0) {
      compare(d, cmp, t.dtype, a, b, value[0]);
    } else {
      ptx_build(d, PLUMB_OP_NOT, PLUMB_I1, value[1], &value[0], 1);
    }
  }
  for (int i = 0; combined && i < 2; i++) value[i] = plumb_build2(&d->b, op, PLUMB_I1, value[i], c);
  for (int i = 0; i < (pair ? 2 : 1); i++)
    if (!ptx_done_to(d, to[i], PLUMB_I1, false, value[i])) return false;
  return true;
}

bool ptx_emit_setp(ptx_decoder *d) {
  plumb_cmp cmp;
  if (d->type_count != 1 || !predicate(d->s->parts[0], d->types[0], &cmp)) return false;
  return setp_pair(d, d->types[0], cmp);
}

/* True is all ones in an integer destination and 1.0 in a float one (9.7.6.1). */
static uint64_t true_bits(plumb_dtype t) {
  return t == PLUMB_F32    ? 0x3f800000u
         : t == PLUMB_F16  ? 0x3c00u
         : t == PLUMB_BF16 ? 0x3f80u
                           : UINT64_MAX;
}

bool ptx_emit_set(ptx_decoder *d) {
  plumb_cmp cmp;
  bool same = d->type_count == 1;
  if (d->type_count < 1 || d->type_count > 2) return false;
  ptx_type to = d->types[0], from = d->types[same ? 0 : 1];
  if (!predicate(d->s->parts[0], from, &cmp)) return false;
  plumb_op op;
  bool combined = bool_op(d, &op);
  plumb_reg a = ptx_src(d, 1, from.container), b = ptx_src(d, 2, from.container);
  plumb_reg c = combined ? ptx_src(d, 3, PLUMB_I1) : PLUMB_NO_REG;
  plumb_dtype element = to.packed > 1 ? to.dtype : from.packed > 1 ? PLUMB_I16 : to.dtype;
  plumb_reg parts[2];
  for (unsigned i = 0; i < from.packed; i++) {
    plumb_reg x = a, y = b, t = plumb_reg_create(d->f, PLUMB_I1);
    if (from.packed > 1) {
      x = ptx_extract(d, a, from.container, from.dtype, i);
      y = ptx_extract(d, b, from.container, from.dtype, i);
    }
    compare(d, cmp, from.dtype, x, y, t);
    if (combined) t = plumb_build2(&d->b, op, PLUMB_I1, t, c);
    parts[i] = plumb_build3(&d->b, PLUMB_OP_SELECT, element, t,
                            ptx_const(d, element, true_bits(element)), ptx_const(d, element, 0));
  }
  plumb_reg r = ptx_dst(d, 0, to.container);
  if (from.packed > 1)
    ptx_pack(d, r, to.container, parts, element, 2);
  else if (!d->unknown)
    plumb_build(&d->b, PLUMB_OP_MOV, to.container, &r, 1, parts, 1);
  return ptx_done(d, 0, to.container, to.is_signed, r);
}

bool ptx_emit_selp(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  plumb_dtype t = d->types[0].container;
  plumb_reg a = ptx_src(d, 1, t), b = ptx_src(d, 2, t), p = ptx_src(d, 3, PLUMB_I1);
  plumb_reg r = ptx_dst(d, 0, t);
  ptx_build(d, PLUMB_OP_SELECT, t, r, (plumb_reg[]){p, a, b}, 3);
  return ptx_done(d, 0, t, d->types[0].is_signed, r);
}

/* d = c >= 0 ? a : b; NaN selects b (9.7.6.4). */
bool ptx_emit_slct(ptx_decoder *d) {
  if (d->type_count != 2) return false;
  plumb_dtype t = d->types[0].container, ct = d->types[1].dtype;
  plumb_reg a = ptx_src(d, 1, t), b = ptx_src(d, 2, t), c = ptx_src(d, 3, ct);
  plumb_reg p = plumb_reg_create(d->f, PLUMB_I1);
  compare(d, plumb_dtype_is_float(ct) ? PLUMB_CMP_OGE : PLUMB_CMP_GE_S, ct, c, ptx_const(d, ct, 0),
          p);
  plumb_reg r = ptx_dst(d, 0, t);
  ptx_build(d, PLUMB_OP_SELECT, t, r, (plumb_reg[]){p, a, b}, 3);
  return ptx_done(d, 0, t, d->types[0].is_signed, r);
}

/* Zeros count as normal (9.7.3.1). */
bool ptx_emit_testp(ptx_decoder *d) {
  static const struct {
    const char *text;
    int64_t mask; /* LLVM's is.fpclass bits */
  } rows[] = {{"finite", 0x1f8},   {"infinite", 0x204}, {"number", 0x3fc},
              {"notanumber", 0x3}, {"normal", 0x168},   {"subnormal", 0x90}};
  if (d->type_count != 1) return false;
  plumb_dtype t = d->types[0].dtype;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!ptx_has(d, rows[i].text)) continue;
    plumb_reg v = ptx_src(d, 1, t), r = ptx_dst(d, 0, PLUMB_I1);
    plumb_inst *inst = ptx_build(d, PLUMB_OP_CLASSIFY, PLUMB_I1, r, &v, 1);
    inst->type2 = (uint8_t)t;
    inst->imm = rows[i].mask;
    return ptx_done(d, 0, PLUMB_I1, false, r);
  }
  return false;
}

/* Integer, bit, logic, compare and select instructions (9.7.1, 9.7.2, 9.7.6, 9.7.8). */
#include "ir/ptx/decode.h"

static plumb_reg carry(ptx_decoder *d) {
  if (d->carry == PLUMB_NO_REG) d->carry = plumb_reg_create(d->f, PLUMB_I1);
  return d->carry;
}

/* d = a + b + in; the carry out goes to CC.CF only with .cc. */
static bool carry_op(ptx_decoder *d, plumb_op op, plumb_dtype type, plumb_reg a, plumb_reg b,
                     bool uses_carry) {
  plumb_reg in = uses_carry ? carry(d) : ptx_const(d, PLUMB_I1, 0);
  plumb_reg out = ptx_has(d, "cc") ? carry(d) : plumb_reg_create(d->f, PLUMB_I1);
  plumb_reg r = ptx_dst(d, 0, type);
  plumb_build(&d->b, op, type, (plumb_reg[]){r, out}, 2, (plumb_reg[]){a, b, in}, 3);
  return ptx_done(d, 0, type, false, r);
}

static bool add_carry(ptx_decoder *d, bool uses_carry) {
  plumb_dtype t = d->types[0].dtype;
  plumb_op op = d->s->name[0] == 's' ? PLUMB_OP_SUB_BORROW : PLUMB_OP_ADD_CARRY;
  plumb_reg a = ptx_src(d, 1, t);
  return carry_op(d, op, t, a, ptx_src(d, 2, t), uses_carry);
}

bool ptx_emit_addc(ptx_decoder *d) {
  return d->type_count == 1 && !plumb_dtype_is_float(d->types[0].dtype) && add_carry(d, true);
}

bool ptx_integer_add(ptx_decoder *d) {
  if (ptx_has(d, "cc")) return add_carry(d, false);
  plumb_dtype t = d->types[0].dtype;
  plumb_reg a = ptx_src(d, 1, t), b = ptx_src(d, 2, t), r = ptx_dst(d, 0, t);
  plumb_inst *i = ptx_build(d, d->s->name[0] == 's' ? PLUMB_OP_SUB : PLUMB_OP_ADD, t, r,
                            (plumb_reg[]){a, b}, 2);
  if (ptx_has(d, "sat")) i->flags |= PLUMB_FLAG_SAT;
  return ptx_done(d, 0, t, d->types[0].is_signed, r);
}

/* The product that .lo, .hi or .wide asks for, in a fresh register; its type in *out. */
static plumb_reg product(ptx_decoder *d, plumb_dtype *out) {
  ptx_type t = d->types[0];
  plumb_reg a = ptx_src(d, 1, t.dtype), b = ptx_src(d, 2, t.dtype);
  *out = t.dtype;
  if (ptx_has(d, "wide")) {
    *out = ptx_int_type(2 * plumb_dtype_bytes(t.dtype));
    a = ptx_resize(d, a, t.dtype, *out, t.is_signed);
    b = ptx_resize(d, b, t.dtype, *out, t.is_signed);
    return plumb_build2(&d->b, PLUMB_OP_MUL, *out, a, b);
  }
  if (!ptx_has(d, "hi")) return plumb_build2(&d->b, PLUMB_OP_MUL, t.dtype, a, b);
  return plumb_build2(&d->b, t.is_signed ? PLUMB_OP_MULHI_S : PLUMB_OP_MULHI_U, t.dtype, a, b);
}

bool ptx_integer_mul(ptx_decoder *d) {
  ptx_type t = d->types[0];
  if (ptx_has(d, "lo")) {
    plumb_reg a = ptx_src(d, 1, t.dtype), b = ptx_src(d, 2, t.dtype), r = ptx_dst(d, 0, t.dtype);
    ptx_build(d, PLUMB_OP_MUL, t.dtype, r, (plumb_reg[]){a, b}, 2);
    return ptx_done(d, 0, t.dtype, t.is_signed, r);
  }
  plumb_dtype type;
  plumb_reg value = product(d, &type), r = ptx_dst(d, 0, type);
  if (!d->unknown) plumb_build(&d->b, PLUMB_OP_MOV, type, &r, 1, &value, 1);
  return ptx_done(d, 0, type, t.is_signed, r);
}

bool ptx_integer_mad(ptx_decoder *d) {
  plumb_dtype type;
  plumb_reg value = product(d, &type), c = ptx_src(d, 3, type);
  if (ptx_has(d, "cc")) return carry_op(d, PLUMB_OP_ADD_CARRY, type, value, c, false);
  plumb_reg r = ptx_dst(d, 0, type);
  plumb_inst *i = ptx_build(d, PLUMB_OP_ADD, type, r, (plumb_reg[]){value, c}, 2);
  if (ptx_has(d, "sat")) i->flags |= PLUMB_FLAG_SAT;
  return ptx_done(d, 0, type, d->types[0].is_signed, r);
}

bool ptx_emit_madc(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  plumb_dtype type;
  plumb_reg value = product(d, &type);
  return carry_op(d, PLUMB_OP_ADD_CARRY, type, value, ptx_src(d, 3, type), true);
}

/* 48-bit product of the low 24 bits: lo is bits 31..0, hi bits 47..16. */
static plumb_reg product24(ptx_decoder *d) {
  bool is_signed = d->types[0].is_signed;
  plumb_reg shift = ptx_const(d, PLUMB_I64, 40), wide[2];
  for (size_t i = 0; i < 2; i++) {
    plumb_reg a = ptx_resize(d, ptx_src(d, i + 1, PLUMB_I32), PLUMB_I32, PLUMB_I64, false);
    a = plumb_build2(&d->b, PLUMB_OP_SHL, PLUMB_I64, a, shift);
    wide[i] = plumb_build2(&d->b, is_signed ? PLUMB_OP_SHR_S : PLUMB_OP_SHR_U, PLUMB_I64, a, shift);
  }
  plumb_reg p = plumb_build2(&d->b, PLUMB_OP_MUL, PLUMB_I64, wide[0], wide[1]);
  if (ptx_has(d, "hi"))
    p = plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I64, p, ptx_const(d, PLUMB_I64, 16));
  return ptx_resize(d, p, PLUMB_I64, PLUMB_I32, false);
}

bool ptx_emit_mul24(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  plumb_reg p = product24(d), r = ptx_dst(d, 0, PLUMB_I32);
  if (!d->unknown) plumb_build(&d->b, PLUMB_OP_MOV, PLUMB_I32, &r, 1, &p, 1);
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

bool ptx_emit_mad24(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  plumb_reg p = product24(d), c = ptx_src(d, 3, PLUMB_I32), r = ptx_dst(d, 0, PLUMB_I32);
  plumb_inst *i = ptx_build(d, PLUMB_OP_ADD, PLUMB_I32, r, (plumb_reg[]){p, c}, 2);
  if (ptx_has(d, "sat")) i->flags |= PLUMB_FLAG_SAT;
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

static bool simple(ptx_decoder *d, plumb_op op, size_t operands, uint32_t flags) {
  if (d->type_count != 1 || d->types[0].packed > 1) return false;
  plumb_dtype t = d->types[0].dtype;
  plumb_reg v[3];
  for (size_t i = 0; i < operands; i++) v[i] = ptx_src(d, i + 1, t);
  plumb_reg r = ptx_dst(d, 0, t);
  ptx_build(d, op, t, r, v, operands)->flags |= flags;
  return ptx_done(d, 0, t, d->types[0].is_signed, r);
}

static uint32_t sign_flag(const ptx_decoder *d) {
  return d->types[0].is_signed ? PLUMB_FLAG_SRC_SIGNED : 0u;
}

bool ptx_integer_div(ptx_decoder *d) {
  return simple(d, d->types[0].is_signed ? PLUMB_OP_DIV_S : PLUMB_OP_DIV_U, 2, 0);
}

bool ptx_emit_rem(ptx_decoder *d) {
  return simple(d, d->type_count && d->types[0].is_signed ? PLUMB_OP_REM_S : PLUMB_OP_REM_U, 2, 0);
}

bool ptx_emit_sad(ptx_decoder *d) {
  return simple(d, PLUMB_OP_SAD, 3, sign_flag(d));
}

bool ptx_emit_logic(ptx_decoder *d) {
  switch (d->s->name[0]) {
    case 'a':
      return simple(d, PLUMB_OP_AND, 2, 0);
    case 'o':
      return simple(d, PLUMB_OP_OR, 2, 0);
    case 'x':
      return simple(d, PLUMB_OP_XOR, 2, 0);
    default:
      return simple(d, PLUMB_OP_NOT, 1, 0);
  }
}

bool ptx_emit_cnot(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  plumb_dtype t = d->types[0].dtype;
  plumb_reg is_zero = plumb_build_cmp(&d->b, PLUMB_CMP_EQ, t, ptx_src(d, 1, t), ptx_const(d, t, 0));
  plumb_reg r = ptx_dst(d, 0, t);
  ptx_build(d, PLUMB_OP_SELECT, t, r,
            (plumb_reg[]){is_zero, ptx_const(d, t, 1), ptx_const(d, t, 0)}, 3);
  return ptx_done(d, 0, t, false, r);
}

/* lop3.b32 d, a, b, c, table; lop3.or.b32 d|p, a, b, c, table, q: p = (d != 0) or q. */
bool ptx_emit_lop3(ptx_decoder *d) {
  const ptx_operand *o = ptx_op(d, 0), *table = ptx_op(d, 4);
  bool with_and = ptx_has(d, "and"), combined = with_and || ptx_has(d, "or");
  if (d->type_count != 1 || !table || table->kind != PTX_OPERAND_INT) return false;
  if (combined != (o->kind == PTX_OPERAND_PAIR) || d->s->operand_count != (combined ? 6 : 5))
    return false;
  const ptx_operand *to = combined ? &o->items[0] : o;
  plumb_reg v[3], q = combined ? ptx_src(d, 5, PLUMB_I1) : PLUMB_NO_REG;
  for (size_t i = 0; i < 3; i++) v[i] = ptx_src(d, i + 1, PLUMB_I32);
  plumb_reg r = ptx_dest(d, to, PLUMB_I32);
  ptx_build(d, PLUMB_OP_LOP3, PLUMB_I32, r, v, 3)->imm = (int64_t)(table->value & 0xff);
  if (combined) {
    plumb_reg some = plumb_build_cmp(&d->b, PLUMB_CMP_NE, PLUMB_I32, r, ptx_const(d, PLUMB_I32, 0));
    plumb_reg p = ptx_dest(d, &o->items[1], PLUMB_I1);
    ptx_build(d, with_and ? PLUMB_OP_AND : PLUMB_OP_OR, PLUMB_I1, p, (plumb_reg[]){some, q}, 2);
    if (!ptx_done_to(d, &o->items[1], PLUMB_I1, false, p)) return false;
  }
  return ptx_done_to(d, to, PLUMB_I32, false, r);
}

bool ptx_emit_fns(ptx_decoder *d) {
  return simple(d, PLUMB_OP_FNS, 3, 0);
}

/* The amount is 32 bits wide whatever the type, and clamps at the width (9.7.8.8). */
bool ptx_emit_shift(ptx_decoder *d) {
  if (d->type_count != 1 || d->types[0].packed > 1) return false;
  ptx_type t = d->types[0];
  plumb_reg a = ptx_src(d, 1, t.dtype), amount = ptx_src(d, 2, PLUMB_I32);
  if (t.dtype == PLUMB_I16 || t.dtype == PLUMB_I8)
    amount = plumb_build2(&d->b, PLUMB_OP_MIN_U, PLUMB_I32, amount, ptx_const(d, PLUMB_I32, 64));
  amount = ptx_resize(d, amount, PLUMB_I32, t.dtype, false);
  plumb_op op = d->s->name[2] == 'l' ? PLUMB_OP_SHL : t.is_signed ? PLUMB_OP_SHR_S : PLUMB_OP_SHR_U;
  plumb_reg r = ptx_dst(d, 0, t.dtype);
  ptx_build(d, op, t.dtype, r, (plumb_reg[]){a, amount}, 2)->flags |= PLUMB_FLAG_CLAMP;
  return ptx_done(d, 0, t.dtype, t.is_signed, r);
}

bool ptx_emit_shf(ptx_decoder *d) {
  plumb_op op = ptx_has(d, "l") ? PLUMB_OP_FUNNEL_L : PLUMB_OP_FUNNEL_R;
  return simple(d, op, 3, ptx_has(d, "clamp") ? PLUMB_FLAG_CLAMP : 0u);
}

/* popc, clz, brev: popc and clz of 64 bits have a 32-bit result. */
bool ptx_emit_bits(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  if (d->s->name[0] == 'b') return simple(d, PLUMB_OP_BREV, 1, 0);
  plumb_op op = d->s->name[0] == 'p' ? PLUMB_OP_POPC : PLUMB_OP_CLZ;
  plumb_dtype t = d->types[0].dtype;
  plumb_reg v = ptx_src(d, 1, t);
  if (t == PLUMB_I64) v = ptx_resize(d, plumb_build1(&d->b, op, t, v), t, PLUMB_I32, false);
  plumb_reg r = ptx_dst(d, 0, PLUMB_I32);
  ptx_build(d, t == PLUMB_I64 ? PLUMB_OP_MOV : op, PLUMB_I32, r, &v, 1);
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

bool ptx_emit_bfind(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  plumb_dtype t = d->types[0].dtype;
  plumb_reg v = ptx_src(d, 1, t), found = plumb_reg_create(d->f, t);
  plumb_inst *i = ptx_build(d, PLUMB_OP_BFIND, t, found, &v, 1);
  i->sub = ptx_has(d, "shiftamt");
  i->flags |= sign_flag(d);
  found = ptx_resize(d, found, t, PLUMB_I32, false);
  plumb_reg r = ptx_dst(d, 0, PLUMB_I32);
  if (!d->unknown) plumb_build(&d->b, PLUMB_OP_MOV, PLUMB_I32, &r, 1, &found, 1);
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

bool ptx_emit_bfe(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  plumb_dtype t = d->types[0].dtype;
  plumb_reg v[3] = {ptx_src(d, 1, t), ptx_src(d, 2, PLUMB_I32), ptx_src(d, 3, PLUMB_I32)};
  plumb_reg r = ptx_dst(d, 0, t);
  ptx_build(d, PLUMB_OP_BFE, t, r, v, 3)->flags |= sign_flag(d);
  return ptx_done(d, 0, t, d->types[0].is_signed, r);
}

bool ptx_emit_bfi(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  plumb_dtype t = d->types[0].dtype;
  plumb_reg v[4] = {ptx_src(d, 1, t), ptx_src(d, 2, t), ptx_src(d, 3, PLUMB_I32),
                    ptx_src(d, 4, PLUMB_I32)};
  plumb_reg r = ptx_dst(d, 0, t);
  ptx_build(d, PLUMB_OP_BFI, t, r, v, 4);
  return ptx_done(d, 0, t, false, r);
}

bool ptx_emit_bmsk(ptx_decoder *d) {
  return simple(d, PLUMB_OP_BMSK, 2, ptx_has(d, "clamp") ? PLUMB_FLAG_CLAMP : 0u);
}

bool ptx_emit_szext(ptx_decoder *d) {
  return simple(d, PLUMB_OP_SZEXT, 2, sign_flag(d) | (ptx_has(d, "clamp") ? PLUMB_FLAG_CLAMP : 0u));
}

bool ptx_emit_prmt(ptx_decoder *d) {
  if (d->type_count != 1) return false;
  uint8_t mode = PLUMB_PRMT_INDEX;
  for (size_t i = 0; i < d->s->part_count; i++)
    for (uint8_t m = 0; m < PLUMB_PRMT_COUNT; m++)
      if (strcmp(d->s->parts[i], plumb_prmt_texts[m]) == 0) mode = m;
  plumb_reg v[3];
  for (size_t i = 0; i < 3; i++) v[i] = ptx_src(d, i + 1, PLUMB_I32);
  plumb_reg r = ptx_dst(d, 0, PLUMB_I32);
  ptx_build(d, PLUMB_OP_PRMT, PLUMB_I32, r, v, 3)->sub = mode;
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

bool ptx_emit_dp(ptx_decoder *d) {
  if (d->type_count != 2) return false;
  bool four = d->s->name[2] == '4';
  plumb_reg v[3];
  for (size_t i = 0; i < 3; i++) v[i] = ptx_src(d, i + 1, PLUMB_I32);
  plumb_reg r = ptx_dst(d, 0, PLUMB_I32);
  plumb_inst *i = ptx_build(d, four ? PLUMB_OP_DP4A : PLUMB_OP_DP2A, PLUMB_I32, r, v, 3);
  i->sub = !four && ptx_has(d, "hi");
  i->flags |= sign_flag(d) | (d->types[1].is_signed ? PLUMB_FLAG_SRC2_SIGNED : 0u);
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

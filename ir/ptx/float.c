/* Floating-point arithmetic (9.7.3, 9.7.4), and the dispatch of the mnemonics that
 * integers share. */
#include "ir/ptx/decode.h"

bool ptx_integer_add(ptx_decoder *d);
bool ptx_integer_mul(ptx_decoder *d);
bool ptx_integer_mad(ptx_decoder *d);
bool ptx_integer_div(ptx_decoder *d);

static bool rounding(const ptx_decoder *d, plumb_round *out) {
  static const char *const texts[] = {"rn", "rz", "rm", "rp"};
  static const plumb_round modes[] = {PLUMB_RN, PLUMB_RZ, PLUMB_RM, PLUMB_RP};
  *out = PLUMB_RN;
  for (int i = 0; i < 4; i++)
    if (ptx_has(d, texts[i])) {
      *out = modes[i];
      return true;
    }
  return false;
}

static uint32_t float_flags(const ptx_decoder *d) {
  uint32_t flags = 0;
  if (ptx_has(d, "ftz")) flags |= PLUMB_FLAG_FTZ;
  if (ptx_has(d, "sat")) flags |= PLUMB_FLAG_SAT;
  if (ptx_has(d, "relu")) flags |= PLUMB_FLAG_RELU;
  if (ptx_has(d, "abs")) flags |= PLUMB_FLAG_ABS_OP;
  if (ptx_has(d, "xorsign")) flags |= PLUMB_FLAG_XORSIGN;
  return flags;
}

/* One operation on the scalars or on each element of a packed type. */
static bool map(ptx_decoder *d, plumb_op op, const plumb_reg *v, size_t count, uint32_t flags,
                plumb_round round, uint8_t sub) {
  ptx_type t = d->types[0];
  plumb_reg r = ptx_dst(d, 0, t.container), parts[PTX_MAX_PACKED];
  for (unsigned e = 0; e < t.packed; e++) {
    plumb_reg one[3];
    for (size_t i = 0; i < count; i++)
      one[i] = t.packed > 1 ? ptx_extract(d, v[i], t.container, t.dtype, e) : v[i];
    parts[e] = t.packed > 1 ? plumb_reg_create(d->f, t.dtype) : r;
    plumb_inst *inst = ptx_build(d, op, t.dtype, parts[e], one, count);
    inst->flags |= flags;
    inst->round = (uint8_t)round;
    inst->sub = sub;
  }
  if (t.packed > 1) ptx_pack(d, r, t.container, parts, t.dtype, t.packed);
  return ptx_done(d, 0, t.container, t.is_signed, r);
}

static bool map_operands(ptx_decoder *d, plumb_op op, size_t count, uint32_t flags,
                         plumb_round round, uint8_t sub) {
  plumb_reg v[3];
  for (size_t i = 0; i < count; i++) v[i] = ptx_src(d, i + 1, d->types[0].container);
  return map(d, op, v, count, flags, round, sub);
}

/* add, sub and fma.f32.atype: f16 or bf16 operands are widened, which is exact, and the
 * operation is f32's (9.7.5). Of add and sub only the first operand is narrow. */
static bool is_mixed(const ptx_decoder *d) {
  return d->type_count == 2 && d->types[0].dtype == PLUMB_F32 &&
         (d->types[1].dtype == PLUMB_F16 || d->types[1].dtype == PLUMB_BF16) &&
         d->types[1].packed == 1;
}

static bool mixed(ptx_decoder *d, plumb_op op, size_t narrow, size_t count) {
  plumb_round round;
  uint32_t flags = float_flags(d);
  plumb_reg v[3];
  if (!rounding(d, &round) && op != PLUMB_OP_FMA) flags |= PLUMB_FLAG_CONTRACT;
  for (size_t i = 0; i < count; i++) {
    plumb_dtype t = d->types[i < narrow ? 1 : 0].dtype;
    v[i] = ptx_src(d, i + 1, t);
    if (i < narrow) v[i] = plumb_build_cvt(&d->b, PLUMB_F32, t, v[i], 0, PLUMB_RN);
  }
  return map(d, op, v, count, flags, round, 0);
}

static bool one_type(const ptx_decoder *d) {
  return d->type_count == 1;
}
static bool is_integer(const ptx_decoder *d) {
  return !plumb_dtype_is_float(d->types[0].dtype) && d->types[0].packed == 1;
}

/* Without a rounding suffix the assembler may fuse; with one it may not (9.7.3.3). */
bool ptx_emit_add(ptx_decoder *d) {
  plumb_op op = d->s->name[0] == 's' ? PLUMB_OP_SUB : PLUMB_OP_ADD;
  if (is_mixed(d)) return mixed(d, op, 1, 2);
  if (!one_type(d)) return false;
  if (is_integer(d)) return ptx_integer_add(d);
  plumb_round round;
  uint32_t flags = float_flags(d);
  bool is_float = plumb_dtype_is_float(d->types[0].dtype);
  if ((flags & PLUMB_FLAG_SAT) && !is_float && !d->types[0].is_signed) return false;
  if (!rounding(d, &round) && is_float) flags |= PLUMB_FLAG_CONTRACT;
  return map_operands(d, op, 2, flags, round, 0);
}

bool ptx_emit_mul(ptx_decoder *d) {
  if (!one_type(d)) return false;
  if (is_integer(d)) return ptx_integer_mul(d);
  plumb_round round;
  uint32_t flags = float_flags(d);
  if (!rounding(d, &round)) flags |= PLUMB_FLAG_CONTRACT;
  return map_operands(d, PLUMB_OP_MUL, 2, flags, round, 0);
}

bool ptx_emit_fma(ptx_decoder *d) {
  plumb_round round;
  if (ptx_has(d, "oob")) return false;
  if (is_mixed(d)) return mixed(d, PLUMB_OP_FMA, 2, 3);
  if (!one_type(d)) return false;
  rounding(d, &round);
  return map_operands(d, PLUMB_OP_FMA, 3, float_flags(d), round, 0);
}

bool ptx_emit_mad(ptx_decoder *d) {
  if (!one_type(d)) return false;
  return is_integer(d) ? ptx_integer_mad(d) : ptx_emit_fma(d);
}

bool ptx_emit_sign(ptx_decoder *d) {
  if (!one_type(d)) return false;
  return map_operands(d, d->s->name[0] == 'n' ? PLUMB_OP_NEG : PLUMB_OP_ABS, 1,
                      float_flags(d) & PLUMB_FLAG_FTZ, PLUMB_RN, 0);
}

/* min and max of integers; .relu clamps at 0 from below (9.7.1.12). */
static bool integer_minmax(ptx_decoder *d, bool is_min) {
  ptx_type t = d->types[0];
  plumb_op low = t.is_signed ? PLUMB_OP_MIN_S : PLUMB_OP_MIN_U;
  plumb_op high = t.is_signed ? PLUMB_OP_MAX_S : PLUMB_OP_MAX_U;
  plumb_op op = is_min ? low : high;
  if (!ptx_has(d, "relu")) return map_operands(d, op, 2, 0, PLUMB_RN, 0);
  if (!t.is_signed) return false;
  plumb_reg v[2] = {ptx_src(d, 1, t.container), ptx_src(d, 2, t.container)};
  plumb_reg r = ptx_dst(d, 0, t.container), parts[PTX_MAX_PACKED];
  plumb_reg zero = ptx_const(d, t.dtype, 0);
  for (unsigned e = 0; e < t.packed; e++) {
    plumb_reg a = v[0], b = v[1];
    if (t.packed > 1) {
      a = ptx_extract(d, a, t.container, t.dtype, e);
      b = ptx_extract(d, b, t.container, t.dtype, e);
    }
    parts[e] = t.packed > 1 ? plumb_reg_create(d->f, t.dtype) : r;
    plumb_reg one = plumb_build2(&d->b, op, t.dtype, a, b);
    ptx_build(d, PLUMB_OP_MAX_S, t.dtype, parts[e], (plumb_reg[]){one, zero}, 2);
  }
  if (t.packed > 1) ptx_pack(d, r, t.container, parts, t.dtype, t.packed);
  return ptx_done(d, 0, t.container, t.is_signed, r);
}

/* .abs stands before the sign of .xorsign (9.7.3.11): the flags need both words. */
bool ptx_emit_minmax(ptx_decoder *d) {
  if (!one_type(d) || d->s->operand_count < 3) return false;
  ptx_type t = d->types[0];
  bool is_min = d->s->name[1] == 'i';
  if (!plumb_dtype_is_float(t.dtype)) return integer_minmax(d, is_min);
  uint8_t sub = ptx_has(d, "NaN") ? PLUMB_NAN_PROPAGATE : PLUMB_NAN_DROP;
  plumb_op op = is_min ? PLUMB_OP_MIN : PLUMB_OP_MAX;
  plumb_reg v[2] = {ptx_src(d, 1, t.container), ptx_src(d, 2, t.container)};
  if (d->s->operand_count == 4) { /* min(min(a, b), c) */
    if (t.packed > 1 || ptx_has(d, "xorsign")) return false;
    plumb_reg first = plumb_reg_create(d->f, t.dtype);
    plumb_inst *i = ptx_build(d, op, t.dtype, first, v, 2);
    i->flags |= float_flags(d);
    i->sub = sub;
    v[0] = first;
    v[1] = ptx_src(d, 3, t.container);
  }
  return map(d, op, v, 2, float_flags(d), PLUMB_RN, sub);
}

/* The sign is the first operand's, the magnitude the second's: C's, swapped. */
bool ptx_emit_copysign(ptx_decoder *d) {
  if (!one_type(d)) return false;
  plumb_dtype t = d->types[0].dtype;
  plumb_reg sign = ptx_src(d, 1, t), magnitude = ptx_src(d, 2, t);
  return map(d, PLUMB_OP_COPYSIGN, (plumb_reg[]){magnitude, sign}, 2, 0, PLUMB_RN, 0);
}

static bool approximate(ptx_decoder *d, plumb_approx which, size_t operands) {
  return map_operands(d, PLUMB_OP_APPROX, operands, float_flags(d), PLUMB_RN, (uint8_t)which);
}

/* sin cos lg2 ex2 tanh */
bool ptx_emit_approx(ptx_decoder *d) {
  if (!one_type(d)) return false;
  for (int i = 0; i < PLUMB_APPROX_COUNT; i++)
    if (strcmp(plumb_approx_table[i].text, d->s->name) == 0)
      return approximate(d, (plumb_approx)i, 1);
  return false;
}

bool ptx_emit_div(ptx_decoder *d) {
  if (!one_type(d)) return false;
  if (is_integer(d)) return ptx_integer_div(d);
  if (ptx_has(d, "approx")) return approximate(d, PLUMB_APPROX_DIV, 2);
  if (ptx_has(d, "full")) return approximate(d, PLUMB_APPROX_DIV_FULL, 2);
  plumb_round round;
  if (!rounding(d, &round)) return false;
  return map_operands(d, PLUMB_OP_DIV, 2, float_flags(d), round, 0);
}

bool ptx_emit_rcp(ptx_decoder *d) {
  if (!one_type(d)) return false;
  plumb_dtype t = d->types[0].dtype;
  if (ptx_has(d, "approx"))
    return approximate(d, t == PLUMB_F64 ? PLUMB_APPROX_RCP_FTZ_F64 : PLUMB_APPROX_RCP, 1);
  plumb_round round;
  if (!rounding(d, &round)) return false;
  plumb_reg one = ptx_const(d, t, t == PLUMB_F64 ? 0x3ff0000000000000u : 0x3f800000u);
  return map(d, PLUMB_OP_DIV, (plumb_reg[]){one, ptx_src(d, 1, t)}, 2, float_flags(d), round, 0);
}

bool ptx_emit_sqrt(ptx_decoder *d) {
  if (!one_type(d)) return false;
  if (ptx_has(d, "approx")) return approximate(d, PLUMB_APPROX_SQRT, 1);
  plumb_round round;
  if (!rounding(d, &round)) return false;
  return map_operands(d, PLUMB_OP_SQRT, 1, float_flags(d), round, 0);
}

bool ptx_emit_rsqrt(ptx_decoder *d) {
  if (!one_type(d)) return false;
  bool coarse = d->types[0].dtype == PLUMB_F64 && ptx_has(d, "ftz");
  if (!ptx_has(d, "approx")) return false;
  return approximate(d, coarse ? PLUMB_APPROX_RSQRT_FTZ_F64 : PLUMB_APPROX_RSQRT, 1);
}

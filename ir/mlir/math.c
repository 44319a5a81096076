/* math: elementary functions are the real value rounded to nearest (op MATH); the rest is
 * exact (MathOps.td, MLIR 22). */
#include "ir/mlir/decode_internal.h"

static bool element_math(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                         plumb_reg *out) {
  plumb_reg r = plumb_reg_create(d->b.function, s->in);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_MATH, s->in, &r, 1, in, s->operands);
  inst->sub = (uint8_t)s->row->code;
  inst->flags |= s->flags;
  *out = r;
  return true;
}

static bool decode_math(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_math);
}

static plumb_reg build_math(plumb_mlir_decoder *d, plumb_math which, plumb_dtype dtype,
                            uint32_t flags, plumb_reg a) {
  plumb_reg r = plumb_reg_create(d->b.function, dtype);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_MATH, dtype, &r, 1, &a, 1);
  inst->sub = (uint8_t)which;
  inst->flags |= flags;
  return r;
}

static bool element_sincos(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                           plumb_reg *out) {
  out[0] = build_math(d, PLUMB_MATH_SIN, s->in, s->flags, in[0]);
  out[1] = build_math(d, PLUMB_MATH_COS, s->in, s->flags, in[0]);
  return true;
}

static bool decode_sincos(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_sincos);
}

/* Float to the power of an integer: the exponent is an i32 or an i64. */
static bool element_fpowi(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                          plumb_reg *out) {
  int bits = plumb_dtype_table[s->operand_types[1]].bits;
  if (bits > 64) return plumb_mlir_reject(d, "an exponent of %d bits", bits);
  plumb_dtype wide = bits > 32 ? PLUMB_I64 : PLUMB_I32;
  MlirType type = plumb_mlir_element_type(plumb_mlir_operand_type(s->op, 1));
  int width = (int)mlirIntegerTypeGetWidth(type);
  plumb_reg exponent =
      plumb_mlir_convert_int(d, wide, bits > 32 ? 64 : 32, s->operand_types[1], width, true, in[1]);
  plumb_reg r = plumb_reg_create(d->b.function, s->in);
  plumb_inst *inst =
      plumb_build(&d->b, PLUMB_OP_MATH, s->in, &r, 1, (plumb_reg[]){in[0], exponent}, 2);
  inst->sub = PLUMB_MATH_POWI;
  inst->type2 = (uint8_t)wide;
  inst->flags |= s->flags;
  *out = r;
  return true;
}

static bool decode_fpowi(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_fpowi);
}

static plumb_reg power_of_negative(plumb_mlir_decoder *d, plumb_dtype t, plumb_reg base,
                                   plumb_reg exponent) {
  plumb_reg zero = plumb_constant(d->program, t, 0), one = plumb_constant(d->program, t, 1);
  plumb_reg minus = plumb_build2(&d->b, PLUMB_OP_SUB, t, zero, one);
  plumb_reg odd = plumb_build_cmp(&d->b, PLUMB_CMP_NE, t,
                                  plumb_build2(&d->b, PLUMB_OP_AND, t, exponent, one), zero);
  plumb_reg is_one = plumb_build_cmp(&d->b, PLUMB_CMP_EQ, t, base, one);
  plumb_reg is_minus = plumb_build_cmp(&d->b, PLUMB_CMP_EQ, t, base, minus);
  plumb_reg sign = plumb_build3(&d->b, PLUMB_OP_SELECT, t, odd, minus, one);
  plumb_reg other = plumb_build3(&d->b, PLUMB_OP_SELECT, t, is_minus, sign, zero);
  return plumb_build3(&d->b, PLUMB_OP_SELECT, t, is_one, one, other);
}

/* Signed; a negative exponent is 1 over the power, rounded toward zero. */
static bool element_ipowi(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                          plumb_reg *out) {
  plumb_dtype t = s->in;
  if (t == PLUMB_I1 || s->in_bits != plumb_dtype_table[t].bits || t == PLUMB_I128)
    return plumb_mlir_reject(d, "width %d", s->in_bits);
  plumb_function *f = d->b.function;
  plumb_reg zero = plumb_constant(d->program, t, 0), one = plumb_constant(d->program, t, 1);
  plumb_reg result = plumb_reg_create(f, t), base = plumb_reg_create(f, t);
  plumb_reg left = plumb_reg_create(f, t);
  plumb_build_mov(&d->b, result, one);
  plumb_build_mov(&d->b, base, in[0]);
  plumb_build_mov(&d->b, left, in[1]);
  uint32_t head = plumb_block_create(f), body = plumb_block_create(f), end = plumb_block_create(f);
  plumb_build_bra(&d->b, head);
  d->b.block = head;
  plumb_build_condbr(&d->b, plumb_build_cmp(&d->b, PLUMB_CMP_GT_S, t, left, zero), body, end);
  d->b.block = body;
  plumb_reg odd = plumb_build_cmp(&d->b, PLUMB_CMP_NE, t,
                                  plumb_build2(&d->b, PLUMB_OP_AND, t, left, one), zero);
  plumb_reg factor = plumb_build3(&d->b, PLUMB_OP_SELECT, t, odd, base, one);
  plumb_build_mov(&d->b, result, plumb_build2(&d->b, PLUMB_OP_MUL, t, result, factor));
  plumb_build_mov(&d->b, base, plumb_build2(&d->b, PLUMB_OP_MUL, t, base, base));
  plumb_build_mov(&d->b, left, plumb_build2(&d->b, PLUMB_OP_SHR_U, t, left, one));
  plumb_build_bra(&d->b, head);
  d->b.block = end;
  plumb_reg negative = plumb_build_cmp(&d->b, PLUMB_CMP_LT_S, t, in[1], zero);
  *out = plumb_build3(&d->b, PLUMB_OP_SELECT, t, negative, power_of_negative(d, t, in[0], in[1]),
                      result);
  return true;
}

static bool decode_ipowi(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_ipowi);
}

static bool element_float(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                          plumb_reg *out) {
  plumb_reg r = plumb_reg_create(d->b.function, s->in);
  plumb_build(&d->b, (plumb_op)s->row->code, s->in, &r, 1, in, s->operands)->flags |= s->flags;
  *out = r;
  return true;
}

static bool decode_float(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_float);
}

static bool element_round(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                          plumb_reg *out) {
  plumb_reg r = plumb_reg_create(d->b.function, s->in);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_ROUND_INT, s->in, &r, 1, in, 1);
  inst->round = (uint8_t)s->row->code;
  inst->flags |= s->flags;
  *out = r;
  return true;
}

static bool decode_round(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_round);
}

/* minimumf(maximumf(value, min), max): NaN goes through. */
static bool element_clamp(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                          plumb_reg *out) {
  plumb_reg low =
      plumb_mlir_build_combine(d, PLUMB_MLIR_MAXIMUMF, s->in, 0, s->flags, in[0], in[1]);
  *out = plumb_mlir_build_combine(d, PLUMB_MLIR_MINIMUMF, s->in, 0, s->flags, low, in[2]);
  return true;
}

static bool decode_clamp(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_clamp);
}

/* Classes as the bits of LLVM's is.fpclass (Language Reference, llvm.is.fpclass). */
enum {
  CLASS_NAN = 0x003,
  CLASS_INFINITE = 0x204,
  CLASS_NORMAL = 0x108,
  CLASS_FINITE = 0x1F8,
};

static bool element_classify(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                             const plumb_reg *in, plumb_reg *out) {
  plumb_reg r = plumb_reg_create(d->b.function, PLUMB_I1);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_CLASSIFY, PLUMB_I1, &r, 1, in, 1);
  inst->type2 = (uint8_t)s->in;
  inst->imm = s->row->code;
  *out = r;
  return true;
}

static bool decode_classify(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_classify);
}

/* --- integers --- */

static bool element_absi(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                         plumb_reg *out) {
  if (s->in == PLUMB_I1) return *out = in[0], true; /* |-1| wraps to -1 */
  plumb_reg value = plumb_mlir_extend(d, s->in, s->in_bits, in[0]);
  *out = plumb_mlir_mask(d, s->in, s->in_bits, plumb_build1(&d->b, PLUMB_OP_ABS, s->in, value));
  return true;
}

static bool decode_absi(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_absi);
}

static bool element_count(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                          plumb_reg *out) {
  plumb_op op = (plumb_op)s->row->code;
  plumb_dtype t = s->in;
  if (t == PLUMB_I1) {
    *out = op == PLUMB_OP_POPC ? in[0] : plumb_build1(&d->b, PLUMB_OP_NOT, t, in[0]);
    return true;
  }
  plumb_reg r = plumb_build1(&d->b, op, t, in[0]);
  int more = plumb_dtype_table[t].bits - s->in_bits;
  if (more && op == PLUMB_OP_CLZ)
    r = plumb_build2(&d->b, PLUMB_OP_SUB, t, r, plumb_constant(d->program, t, (uint64_t)more));
  if (more && op == PLUMB_OP_CTZ)
    r = plumb_build2(&d->b, PLUMB_OP_MIN_U, t, r,
                     plumb_constant(d->program, t, (uint64_t)s->in_bits));
  *out = plumb_mlir_mask(d, t, s->in_bits, r);
  return true;
}

static bool decode_count(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_count);
}

const plumb_mlir_op plumb_mlir_ops_math[] = {
    {"math.acos", decode_math, PLUMB_MATH_ACOS},
    {"math.acosh", decode_math, PLUMB_MATH_ACOSH},
    {"math.asin", decode_math, PLUMB_MATH_ASIN},
    {"math.asinh", decode_math, PLUMB_MATH_ASINH},
    {"math.atan", decode_math, PLUMB_MATH_ATAN},
    {"math.atan2", decode_math, PLUMB_MATH_ATAN2},
    {"math.atanh", decode_math, PLUMB_MATH_ATANH},
    {"math.cbrt", decode_math, PLUMB_MATH_CBRT},
    {"math.cos", decode_math, PLUMB_MATH_COS},
    {"math.cosh", decode_math, PLUMB_MATH_COSH},
    {"math.erf", decode_math, PLUMB_MATH_ERF},
    {"math.erfc", decode_math, PLUMB_MATH_ERFC},
    {"math.exp", decode_math, PLUMB_MATH_EXP},
    {"math.exp2", decode_math, PLUMB_MATH_EXP2},
    {"math.expm1", decode_math, PLUMB_MATH_EXPM1},
    {"math.log", decode_math, PLUMB_MATH_LOG},
    {"math.log10", decode_math, PLUMB_MATH_LOG10},
    {"math.log1p", decode_math, PLUMB_MATH_LOG1P},
    {"math.log2", decode_math, PLUMB_MATH_LOG2},
    {"math.powf", decode_math, PLUMB_MATH_POW},
    {"math.rsqrt", decode_math, PLUMB_MATH_RSQRT},
    {"math.sin", decode_math, PLUMB_MATH_SIN},
    {"math.sinh", decode_math, PLUMB_MATH_SINH},
    {"math.tan", decode_math, PLUMB_MATH_TAN},
    {"math.tanh", decode_math, PLUMB_MATH_TANH},
    {"math.sincos", decode_sincos, 0},
    {"math.fpowi", decode_fpowi, 0},
    {"math.ipowi", decode_ipowi, 0},
    {"math.absf", decode_float, PLUMB_OP_ABS},
    {"math.copysign", decode_float, PLUMB_OP_COPYSIGN},
    {"math.fma", decode_float, PLUMB_OP_FMA},
    {"math.sqrt", decode_float, PLUMB_OP_SQRT},
    {"math.ceil", decode_round, PLUMB_RP},
    {"math.floor", decode_round, PLUMB_RM},
    {"math.round", decode_round, PLUMB_RNA},
    {"math.roundeven", decode_round, PLUMB_RN},
    {"math.trunc", decode_round, PLUMB_RZ},
    {"math.clampf", decode_clamp, 0},
    {"math.isfinite", decode_classify, CLASS_FINITE},
    {"math.isinf", decode_classify, CLASS_INFINITE},
    {"math.isnan", decode_classify, CLASS_NAN},
    {"math.isnormal", decode_classify, CLASS_NORMAL},
    {"math.absi", decode_absi, 0},
    {"math.ctlz", decode_count, PLUMB_OP_CLZ},
    {"math.cttz", decode_count, PLUMB_OP_CTZ},
    {"math.ctpop", decode_count, PLUMB_OP_POPC},
    {0},
};

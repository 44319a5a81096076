/* arith: integer and float arithmetic by its definition (ArithOps.td, MLIR 22). */
#include "ir/mlir/decode_internal.h"

static plumb_reg constant(plumb_mlir_decoder *d, plumb_dtype dtype, uint64_t bits) {
  return plumb_constant(d->program, dtype, bits);
}

static plumb_reg select(plumb_mlir_decoder *d, plumb_dtype dtype, plumb_reg condition, plumb_reg a,
                        plumb_reg b) {
  return plumb_build3(&d->b, PLUMB_OP_SELECT, dtype, condition, a, b);
}

static plumb_reg build_flagged(plumb_mlir_decoder *d, plumb_op op, plumb_dtype dtype, plumb_reg a,
                               plumb_reg b, uint32_t flags) {
  plumb_reg r = plumb_reg_create(d->b.function, dtype);
  plumb_build(&d->b, op, dtype, &r, 1, (plumb_reg[]){a, b}, 2)->flags |= flags;
  return r;
}

/* --- integers --- */

static bool is_signed_op(plumb_op op) {
  switch (op) {
    case PLUMB_OP_DIV_S:
    case PLUMB_OP_REM_S:
    case PLUMB_OP_FLOORDIV_S:
    case PLUMB_OP_CEILDIV_S:
    case PLUMB_OP_MIN_S:
    case PLUMB_OP_MAX_S:
      return true;
    default:
      return false;
  }
}

static bool is_division(plumb_op op) {
  return op == PLUMB_OP_DIV_S || op == PLUMB_OP_REM_S || op == PLUMB_OP_FLOORDIV_S ||
         op == PLUMB_OP_CEILDIV_S;
}

static plumb_reg to_i1(plumb_mlir_decoder *d, plumb_dtype dtype, plumb_reg r) {
  plumb_reg low = plumb_build2(&d->b, PLUMB_OP_AND, dtype, r, constant(d, dtype, 1));
  return plumb_build_cmp(&d->b, PLUMB_CMP_NE, dtype, low, constant(d, dtype, 0));
}

/* i1 is a one-bit two's complement integer: its arithmetic runs in a byte. */
static plumb_reg i1_to_i8(plumb_mlir_decoder *d, plumb_reg r) {
  return select(d, PLUMB_I8, r, constant(d, PLUMB_I8, 1), constant(d, PLUMB_I8, 0));
}

static plumb_reg int_binary(plumb_mlir_decoder *d, plumb_op op, plumb_dtype dtype, int bits,
                            uint32_t flags, plumb_reg a, plumb_reg b) {
  if (op == PLUMB_OP_AND || op == PLUMB_OP_OR || op == PLUMB_OP_XOR)
    return plumb_build2(&d->b, op, dtype, a, b);
  if (dtype == PLUMB_I1) {
    plumb_reg wide = int_binary(d, op, PLUMB_I8, 1, 0, i1_to_i8(d, a), i1_to_i8(d, b));
    return to_i1(d, PLUMB_I8, wide);
  }
  bool odd = bits != plumb_dtype_table[dtype].bits;
  if (odd) {
    flags = 0; /* overflow of the container says nothing about that of the type */
    if (is_signed_op(op) || op == PLUMB_OP_SHR_S) a = plumb_mlir_extend(d, dtype, bits, a);
    if (is_signed_op(op)) b = plumb_mlir_extend(d, dtype, bits, b);
  }
  plumb_reg r = build_flagged(d, op, dtype, a, b, flags);
  return odd ? plumb_mlir_mask(d, dtype, bits, r) : r;
}

static bool element_int(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                        plumb_reg *out) {
  uint32_t flags = plumb_mlir_overflow(d, s->op);
  if (plumb_mlir_attribute_flag(s->op, "isExact")) flags |= PLUMB_FLAG_EXACT;
  if (is_division((plumb_op)s->row->code)) flags |= PLUMB_FLAG_NSW; /* INT_MIN / -1 is undefined */
  *out = int_binary(d, (plumb_op)s->row->code, s->in, s->in_bits, flags, in[0], in[1]);
  return true;
}

static bool decode_int(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_int);
}

static bool element_ceildivui(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                              const plumb_reg *in, plumb_reg *out) {
  plumb_dtype t = s->in;
  if (t == PLUMB_I1) return *out = in[0], true; /* the divisor can only be 1 */
  plumb_reg quotient = plumb_build2(&d->b, PLUMB_OP_DIV_U, t, in[0], in[1]);
  plumb_reg rest = plumb_build2(&d->b, PLUMB_OP_REM_U, t, in[0], in[1]);
  plumb_reg more = plumb_build_cmp(&d->b, PLUMB_CMP_NE, t, rest, constant(d, t, 0));
  plumb_reg carry = select(d, t, more, constant(d, t, 1), constant(d, t, 0));
  *out = plumb_build2(&d->b, PLUMB_OP_ADD, t, quotient, carry);
  return true;
}

static bool decode_ceildivui(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_ceildivui);
}

static bool element_addui_extended(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                                   const plumb_reg *in, plumb_reg *out) {
  out[0] = int_binary(d, PLUMB_OP_ADD, s->in, s->in_bits, 0, in[0], in[1]);
  out[1] = s->in == PLUMB_I1 ? plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1, in[0], in[1])
                             : plumb_build_cmp(&d->b, PLUMB_CMP_LT_U, s->in, out[0], in[0]);
  return true;
}

static bool decode_addui_extended(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_addui_extended);
}

static bool element_mul_extended(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                                 const plumb_reg *in, plumb_reg *out) {
  if (s->in == PLUMB_I1 || s->in_bits != plumb_dtype_table[s->in].bits)
    return plumb_mlir_reject(d, "width %d", s->in_bits);
  out[0] = plumb_build2(&d->b, PLUMB_OP_MUL, s->in, in[0], in[1]);
  out[1] = plumb_build2(&d->b, (plumb_op)s->row->code, s->in, in[0], in[1]);
  return true;
}

static bool decode_mul_extended(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_mul_extended);
}

static const plumb_cmp int_predicates[] = {
    PLUMB_CMP_EQ,   PLUMB_CMP_NE,   PLUMB_CMP_LT_S, PLUMB_CMP_LE_S, PLUMB_CMP_GT_S,
    PLUMB_CMP_GE_S, PLUMB_CMP_LT_U, PLUMB_CMP_LE_U, PLUMB_CMP_GT_U, PLUMB_CMP_GE_U};

static bool element_cmpi(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                         plumb_reg *out) {
  int64_t predicate;
  if (!plumb_mlir_attribute_int(s->op, "predicate", &predicate) || predicate < 0 || predicate > 9)
    return plumb_mlir_reject(d, "predicate");
  plumb_cmp cmp = int_predicates[predicate];
  plumb_reg a = in[0], b = in[1];
  bool is_signed = cmp >= PLUMB_CMP_LT_S && cmp <= PLUMB_CMP_GE_S;
  if (is_signed && s->in == PLUMB_I1) {
    /* Of one signed bit, 1 is -1: the order is the unsigned one, turned around. */
    cmp = cmp - PLUMB_CMP_LT_S + PLUMB_CMP_LT_U;
    a = in[1];
    b = in[0];
  } else if (is_signed) {
    a = plumb_mlir_extend(d, s->in, s->in_bits, a);
    b = plumb_mlir_extend(d, s->in, s->in_bits, b);
  }
  *out = plumb_build_cmp(&d->b, cmp, s->in, a, b);
  return true;
}

static bool decode_cmpi(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_cmpi);
}

/* --- floats --- */

static bool element_float(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                          plumb_reg *out) {
  plumb_reg r = plumb_reg_create(d->b.function, s->in);
  plumb_inst *inst = plumb_build(&d->b, (plumb_op)s->row->code, s->in, &r, 1, in, s->operands);
  inst->flags |= s->flags;
  *out = r;
  return true;
}

static bool decode_float(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_float);
}

static plumb_reg build_minmax(plumb_mlir_decoder *d, plumb_op op, plumb_nan_rule rule,
                              plumb_dtype dtype, uint32_t flags, plumb_reg a, plumb_reg b) {
  plumb_reg r = plumb_reg_create(d->b.function, dtype);
  plumb_inst *inst = plumb_build(&d->b, op, dtype, &r, 1, (plumb_reg[]){a, b}, 2);
  inst->sub = (uint8_t)rule;
  inst->flags |= flags;
  return r;
}

/* code: 2 * (is maximum) + (NaN propagates) */
static bool element_minmax(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                           plumb_reg *out) {
  *out = build_minmax(d, s->row->code & 2 ? PLUMB_OP_MAX : PLUMB_OP_MIN,
                      s->row->code & 1 ? PLUMB_NAN_PROPAGATE : PLUMB_NAN_DROP, s->in, s->flags,
                      in[0], in[1]);
  return true;
}

static bool decode_minmax(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_minmax);
}

static const plumb_cmp float_predicates[] = {
    PLUMB_CMP_FALSE, PLUMB_CMP_OEQ, PLUMB_CMP_OGT, PLUMB_CMP_OGE, PLUMB_CMP_OLT, PLUMB_CMP_OLE,
    PLUMB_CMP_ONE,   PLUMB_CMP_NUM, PLUMB_CMP_UEQ, PLUMB_CMP_UGT, PLUMB_CMP_UGE, PLUMB_CMP_ULT,
    PLUMB_CMP_ULE,   PLUMB_CMP_UNE, PLUMB_CMP_NAN, PLUMB_CMP_TRUE};

static bool element_cmpf(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                         plumb_reg *out) {
  int64_t predicate;
  if (!plumb_mlir_attribute_int(s->op, "predicate", &predicate) || predicate < 0 || predicate > 15)
    return plumb_mlir_reject(d, "predicate");
  *out = plumb_build_cmp(&d->b, float_predicates[predicate], s->in, in[0], in[1]);
  d->b.function->blocks[d->b.block].insts[d->b.function->blocks[d->b.block].inst_count - 1].flags |=
      s->flags;
  return true;
}

static bool decode_cmpf(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_cmpf);
}

/* --- conversions --- */

plumb_reg plumb_mlir_convert_int(plumb_mlir_decoder *d, plumb_dtype to, int to_bits,
                                 plumb_dtype from, int from_bits, bool is_signed, plumb_reg value) {
  if (from == PLUMB_I1 && to == PLUMB_I1) return value;
  if (from == PLUMB_I1) {
    uint64_t ones = is_signed ? UINT64_MAX : 1;
    plumb_reg yes =
        to == PLUMB_I128
            ? plumb_constant128(d->program, ones, is_signed ? ones : 0)
            : constant(d, to, to_bits < 64 && is_signed ? (UINT64_C(1) << to_bits) - 1 : ones);
    return select(d, to, value, yes,
                  to == PLUMB_I128 ? plumb_constant128(d->program, 0, 0) : constant(d, to, 0));
  }
  if (to == PLUMB_I1) return to_i1(d, from, value);
  if (is_signed) value = plumb_mlir_extend(d, from, from_bits, value);
  if (from != to)
    value =
        plumb_build_cvt(&d->b, to, from, value,
                        is_signed ? PLUMB_FLAG_SRC_SIGNED | PLUMB_FLAG_DST_SIGNED : 0, PLUMB_RZ);
  return plumb_mlir_mask(d, to, to_bits, value);
}

/* `overflowFlags` of trunci, `nonNeg` (NSW; ops.def, CVT), on what was built last, if that is
 * a conversion of whole registers. */
static void flag_conversion(plumb_mlir_decoder *d, const plumb_mlir_scalars *s) {
  uint32_t flags = plumb_mlir_overflow(d, s->op);
  if (plumb_mlir_attribute_flag(s->op, "nonNeg")) flags |= PLUMB_FLAG_NSW;
  plumb_block *block = &d->b.function->blocks[d->b.block];
  plumb_inst *last = block->inst_count ? &block->insts[block->inst_count - 1] : NULL;
  bool whole_in = s->in_bits == plumb_dtype_table[s->in].bits;
  bool whole_out = plumb_dtype_is_float(s->out) || s->out_bits == plumb_dtype_table[s->out].bits;
  if (last && last->op == PLUMB_OP_CVT && whole_in && whole_out) last->flags |= flags;
}

/* code: 1 when the source is read as signed */
static bool element_int_to_int(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                               const plumb_reg *in, plumb_reg *out) {
  *out =
      plumb_mlir_convert_int(d, s->out, s->out_bits, s->in, s->in_bits, s->row->code != 0, in[0]);
  if (s->in != s->out) flag_conversion(d, s);
  return true;
}

static bool decode_int_to_int(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  MlirType type = plumb_mlir_operand_type(op, 0);
  if (!mlirTypeIsAMemRef(type)) return plumb_mlir_elementwise(d, op, row, element_int_to_int);
  /* memref<index> seen as memref<i64>: the same buffer. */
  plumb_mlir_element from, to;
  if (!plumb_mlir_element_layout(d, type, &from) ||
      !plumb_mlir_element_layout(d, plumb_mlir_result_type(op, 0), &to))
    return false;
  if (from.bits != to.bits) return plumb_mlir_reject(d, "a buffer of another element width");
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

static bool element_int_to_float(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                                 const plumb_reg *in, plumb_reg *out) {
  bool is_signed = s->row->code != 0;
  if (s->in == PLUMB_I1) {
    *out = select(d, s->out, in[0], plumb_mlir_constant_double(d, s->out, is_signed ? -1.0 : 1.0),
                  plumb_mlir_constant_double(d, s->out, 0.0));
    return true;
  }
  plumb_reg value = is_signed ? plumb_mlir_extend(d, s->in, s->in_bits, in[0]) : in[0];
  *out =
      plumb_build_cvt(&d->b, s->out, s->in, value, is_signed ? PLUMB_FLAG_SRC_SIGNED : 0, PLUMB_RN);
  flag_conversion(d, s);
  return true;
}

static bool decode_int_to_float(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_int_to_float);
}

/* Rounds toward zero; what does not fit is poison (no CLAMP). */
static bool element_float_to_int(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                                 const plumb_reg *in, plumb_reg *out) {
  plumb_dtype container = s->out == PLUMB_I1 ? PLUMB_I8 : s->out;
  plumb_reg r = plumb_build_cvt(&d->b, container, s->in, in[0],
                                s->row->code ? PLUMB_FLAG_DST_SIGNED : 0, PLUMB_RZ);
  *out = s->out == PLUMB_I1 ? to_i1(d, PLUMB_I8, r) : plumb_mlir_mask(d, s->out, s->out_bits, r);
  return true;
}

static bool decode_float_to_int(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_float_to_int);
}

/* arith.roundingmode: to_nearest_even, downward, upward, toward_zero, to_nearest_away. */
static plumb_round rounding(plumb_mlir_decoder *d, MlirOperation op) {
  static const plumb_round by_number[] = {PLUMB_RN, PLUMB_RM, PLUMB_RP, PLUMB_RZ, PLUMB_RNA};
  int64_t number;
  if (plumb_mlir_attribute_int(op, "roundingmode", &number) && number >= 0 && number < 5)
    return by_number[number];
  const char *text = plumb_mlir_attribute_text(d, op, "roundingmode");
  if (plumb_mlir_text_has(text, "downward")) return PLUMB_RM;
  if (plumb_mlir_text_has(text, "upward")) return PLUMB_RP;
  if (plumb_mlir_text_has(text, "toward_zero")) return PLUMB_RZ;
  if (plumb_mlir_text_has(text, "to_nearest_away")) return PLUMB_RNA;
  return PLUMB_RN;
}

static bool element_float_to_float(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                                   const plumb_reg *in, plumb_reg *out) {
  *out = plumb_build_cvt(&d->b, s->out, s->in, in[0], s->flags, rounding(d, s->op));
  return true;
}

static bool decode_float_to_float(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_float_to_float);
}

/* Block scaling (OCP MX): the scale is a power of two held as f8E8M0FNU. code: 1 truncates. */
static bool element_scaling(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                            plumb_reg *out) {
  plumb_dtype scale_type = s->operand_types[1];
  plumb_reg scale = in[1];
  if (scale_type != PLUMB_UE8M0 && plumb_dtype_table[scale_type].bits <= 8)
    return plumb_mlir_reject(d, "a scale of type %s", plumb_dtype_table[scale_type].text);
  if (scale_type != PLUMB_UE8M0)
    scale = plumb_build_cvt(&d->b, PLUMB_UE8M0, scale_type, scale, 0, rounding(d, s->op));
  plumb_dtype wide = s->row->code ? s->in : s->out;
  scale = plumb_build_cvt(&d->b, wide, PLUMB_UE8M0, scale, 0, PLUMB_RN);
  if (s->row->code) {
    plumb_reg quotient = build_flagged(d, PLUMB_OP_DIV, wide, in[0], scale, s->flags);
    *out = plumb_build_cvt(&d->b, s->out, wide, quotient, 0, rounding(d, s->op));
    return true;
  }
  plumb_reg value = plumb_build_cvt(&d->b, wide, s->in, in[0], 0, PLUMB_RN);
  *out = build_flagged(d, PLUMB_OP_MUL, wide, value, scale, s->flags);
  return true;
}

static bool decode_scaling(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_scaling);
}

static bool element_bitcast(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                            plumb_reg *out) {
  if (plumb_dtype_bytes(s->in) != plumb_dtype_bytes(s->out))
    return plumb_mlir_reject(d, "between containers of different size");
  *out = s->in == s->out ? in[0] : plumb_build1(&d->b, PLUMB_OP_MOV, s->out, in[0]);
  return true;
}

static bool decode_bitcast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return plumb_mlir_elementwise(d, op, row, element_bitcast);
}

/* --- select and constant --- */

static bool element_select(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, const plumb_reg *in,
                           plumb_reg *out) {
  *out = select(d, s->out, in[0], in[1], in[2]);
  return true;
}

static bool decode_select(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  MlirType condition = plumb_mlir_operand_type(op, 0);
  if (mlirTypeIsAShaped(condition)) return plumb_mlir_elementwise(d, op, row, element_select);
  /* One condition chooses a whole value, descriptors included. */
  plumb_reg c = plumb_mlir_operand1(d, op, 0);
  plumb_mlir_run a = plumb_mlir_operand(d, op, 1), b = plumb_mlir_operand(d, op, 2);
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  for (size_t i = 0; i < r.count; i++)
    plumb_build(&d->b, PLUMB_OP_SELECT, plumb_reg_type(d->b.function, r.regs[i]), &r.regs[i], 1,
                (plumb_reg[]){c, a.regs[i], b.regs[i]}, 3);
  return true;
}

/* A tensor constant is a fresh buffer, filled from a global. */
static bool tensor_constant(plumb_mlir_decoder *d, MlirOperation op, MlirAttribute value,
                            MlirType type) {
  const uint8_t *bytes;
  uint64_t size_bytes;
  if (!plumb_mlir_constant_bytes(d, value, type, &bytes, &size_bytes)) return false;
  size_t global = plumb_global_create(d->program, plumb_mlir_unique_name(d, "constant"),
                                      PLUMB_SPACE_GLOBAL, size_bytes, 64);
  d->program->globals[global].init = bytes;
  plumb_mlir_run run;
  if (!plumb_mlir_allocate(d, type, NULL, &run)) return false;
  plumb_reg source = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_ADDRESS, PLUMB_I64, &source, 1, NULL, 0);
  inst->imm = (int64_t)global;
  inst->space = PLUMB_SPACE_GLOBAL;
  plumb_reg count = plumb_mlir_i64(d, (int64_t)size_bytes);
  plumb_build(&d->b, PLUMB_OP_MEMCPY, PLUMB_I8, NULL, 0, (plumb_reg[]){run.regs[1], source, count},
              3);
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

static bool decode_constant(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute value;
  MlirType type = plumb_mlir_result_type(op, 0);
  if (!plumb_mlir_attribute(op, "value", &value)) return plumb_mlir_reject(d, "no value");
  if (mlirTypeIsARankedTensor(type)) return tensor_constant(d, op, value, type);
  plumb_mlir_run run;
  if (!plumb_mlir_constant_run(d, value, type, &run)) return false;
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

plumb_reg plumb_mlir_build_combine(plumb_mlir_decoder *d, plumb_mlir_combine kind,
                                   plumb_dtype dtype, int bits, uint32_t flags, plumb_reg a,
                                   plumb_reg b) {
  bool is_float = plumb_dtype_is_float(dtype);
  plumb_op op = PLUMB_OP_ADD;
  switch (kind) {
    case PLUMB_MLIR_MINNUMF:
      return build_minmax(d, PLUMB_OP_MIN, PLUMB_NAN_DROP, dtype, flags, a, b);
    case PLUMB_MLIR_MAXNUMF:
      return build_minmax(d, PLUMB_OP_MAX, PLUMB_NAN_DROP, dtype, flags, a, b);
    case PLUMB_MLIR_MINIMUMF:
      return build_minmax(d, PLUMB_OP_MIN, PLUMB_NAN_PROPAGATE, dtype, flags, a, b);
    case PLUMB_MLIR_MAXIMUMF:
      return build_minmax(d, PLUMB_OP_MAX, PLUMB_NAN_PROPAGATE, dtype, flags, a, b);
    case PLUMB_MLIR_ADD:
      op = PLUMB_OP_ADD;
      break;
    case PLUMB_MLIR_MUL:
      op = PLUMB_OP_MUL;
      break;
    case PLUMB_MLIR_MIN_U:
      op = PLUMB_OP_MIN_U;
      break;
    case PLUMB_MLIR_MIN_S:
      op = PLUMB_OP_MIN_S;
      break;
    case PLUMB_MLIR_MAX_U:
      op = PLUMB_OP_MAX_U;
      break;
    case PLUMB_MLIR_MAX_S:
      op = PLUMB_OP_MAX_S;
      break;
    case PLUMB_MLIR_AND:
      op = PLUMB_OP_AND;
      break;
    case PLUMB_MLIR_OR:
      op = PLUMB_OP_OR;
      break;
    case PLUMB_MLIR_XOR:
      op = PLUMB_OP_XOR;
      break;
  }
  if (is_float) return build_flagged(d, op, dtype, a, b, flags);
  return int_binary(d, op, dtype, bits, flags, a, b);
}

const plumb_mlir_op plumb_mlir_ops_arith[] = {
    {"arith.constant", decode_constant, 0},
    {"arith.addi", decode_int, PLUMB_OP_ADD},
    {"arith.subi", decode_int, PLUMB_OP_SUB},
    {"arith.muli", decode_int, PLUMB_OP_MUL},
    {"arith.divsi", decode_int, PLUMB_OP_DIV_S},
    {"arith.divui", decode_int, PLUMB_OP_DIV_U},
    {"arith.remsi", decode_int, PLUMB_OP_REM_S},
    {"arith.remui", decode_int, PLUMB_OP_REM_U},
    {"arith.floordivsi", decode_int, PLUMB_OP_FLOORDIV_S},
    {"arith.ceildivsi", decode_int, PLUMB_OP_CEILDIV_S},
    {"arith.ceildivui", decode_ceildivui, 0},
    {"arith.andi", decode_int, PLUMB_OP_AND},
    {"arith.ori", decode_int, PLUMB_OP_OR},
    {"arith.xori", decode_int, PLUMB_OP_XOR},
    {"arith.shli", decode_int, PLUMB_OP_SHL},
    {"arith.shrsi", decode_int, PLUMB_OP_SHR_S},
    {"arith.shrui", decode_int, PLUMB_OP_SHR_U},
    {"arith.minsi", decode_int, PLUMB_OP_MIN_S},
    {"arith.maxsi", decode_int, PLUMB_OP_MAX_S},
    {"arith.minui", decode_int, PLUMB_OP_MIN_U},
    {"arith.maxui", decode_int, PLUMB_OP_MAX_U},
    {"arith.addui_extended", decode_addui_extended, 0},
    {"arith.mulsi_extended", decode_mul_extended, PLUMB_OP_MULHI_S},
    {"arith.mului_extended", decode_mul_extended, PLUMB_OP_MULHI_U},
    {"arith.cmpi", decode_cmpi, 0},
    {"arith.addf", decode_float, PLUMB_OP_ADD},
    {"arith.subf", decode_float, PLUMB_OP_SUB},
    {"arith.mulf", decode_float, PLUMB_OP_MUL},
    {"arith.divf", decode_float, PLUMB_OP_DIV},
    {"arith.remf", decode_float, PLUMB_OP_REM_F},
    {"arith.negf", decode_float, PLUMB_OP_NEG},
    {"arith.minnumf", decode_minmax, 0},
    {"arith.minimumf", decode_minmax, 1},
    {"arith.maxnumf", decode_minmax, 2},
    {"arith.maximumf", decode_minmax, 3},
    {"arith.cmpf", decode_cmpf, 0},
    {"arith.extui", decode_int_to_int, 0},
    {"arith.extsi", decode_int_to_int, 1},
    {"arith.trunci", decode_int_to_int, 0},
    {"arith.index_cast", decode_int_to_int, 1},
    {"arith.index_castui", decode_int_to_int, 0},
    {"arith.sitofp", decode_int_to_float, 1},
    {"arith.uitofp", decode_int_to_float, 0},
    {"arith.fptosi", decode_float_to_int, 1},
    {"arith.fptoui", decode_float_to_int, 0},
    {"arith.extf", decode_float_to_float, 0},
    {"arith.truncf", decode_float_to_float, 0},
    {"arith.scaling_extf", decode_scaling, 0},
    {"arith.scaling_truncf", decode_scaling, 1},
    {"arith.bitcast", decode_bitcast, 0},
    {"arith.select", decode_select, 0},
    {0},
};

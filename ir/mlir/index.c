/* index: arithmetic on index values, which have 64 bits. */
#include "ir/mlir/decode_internal.h"

static bool decode_binary(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_define_result1(
      d, op, 0,
      plumb_build2(&d->b, (plumb_op)row->code, PLUMB_I64, plumb_mlir_operand1(d, op, 0),
                   plumb_mlir_operand1(d, op, 1)));
  return true;
}

static bool decode_ceildivu(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_reg a = plumb_mlir_operand1(d, op, 0), b = plumb_mlir_operand1(d, op, 1);
  plumb_reg zero = plumb_mlir_i64(d, 0), one = plumb_mlir_i64(d, 1);
  plumb_reg quotient = plumb_build2(&d->b, PLUMB_OP_DIV_U, PLUMB_I64, a, b);
  plumb_reg rest = plumb_build2(&d->b, PLUMB_OP_REM_U, PLUMB_I64, a, b);
  plumb_reg exact = plumb_build_cmp(&d->b, PLUMB_CMP_EQ, PLUMB_I64, rest, zero);
  plumb_reg carry = plumb_build3(&d->b, PLUMB_OP_SELECT, PLUMB_I64, exact, zero, one);
  plumb_mlir_define_result1(d, op, 0, plumb_mlir_add(d, quotient, carry));
  return true;
}

static bool decode_cmp(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  static const struct {
    const char *word;
    plumb_cmp cmp;
  } rows[] = {{"eq", PLUMB_CMP_EQ},    {"ne", PLUMB_CMP_NE},    {"slt", PLUMB_CMP_LT_S},
              {"sle", PLUMB_CMP_LE_S}, {"sgt", PLUMB_CMP_GT_S}, {"sge", PLUMB_CMP_GE_S},
              {"ult", PLUMB_CMP_LT_U}, {"ule", PLUMB_CMP_LE_U}, {"ugt", PLUMB_CMP_GT_U},
              {"uge", PLUMB_CMP_GE_U}};
  const char *text = plumb_mlir_attribute_text(d, op, "pred");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (plumb_mlir_text_has(text, rows[i].word)) {
      plumb_mlir_define_result1(
          d, op, 0,
          plumb_build_cmp(&d->b, rows[i].cmp, PLUMB_I64, plumb_mlir_operand1(d, op, 0),
                          plumb_mlir_operand1(d, op, 1)));
      return true;
    }
  return plumb_mlir_reject(d, "predicate %s", text);
}

/* code: 1 when extended by its sign */
static bool decode_cast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_dtype from, to;
  int from_bits, to_bits;
  if (!plumb_mlir_scalar_type(plumb_mlir_operand_type(op, 0), &from, &from_bits) ||
      !plumb_mlir_scalar_type(plumb_mlir_result_type(op, 0), &to, &to_bits))
    return plumb_mlir_reject(d, "its types");
  plumb_mlir_define_result1(d, op, 0,
                            plumb_mlir_convert_int(d, to, to_bits, from, from_bits, row->code != 0,
                                                   plumb_mlir_operand1(d, op, 0)));
  return true;
}

static bool decode_constant(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute value;
  plumb_mlir_run run;
  if (!plumb_mlir_attribute(op, "value", &value) ||
      !plumb_mlir_constant_run(d, value, plumb_mlir_result_type(op, 0), &run))
    return plumb_mlir_reject(d, "its value");
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

static bool decode_sizeof(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_define_result1(d, op, 0, plumb_mlir_i64(d, 64));
  return true;
}

const plumb_mlir_op plumb_mlir_ops_index[] = {
    {"index.add", decode_binary, PLUMB_OP_ADD},
    {"index.sub", decode_binary, PLUMB_OP_SUB},
    {"index.mul", decode_binary, PLUMB_OP_MUL},
    {"index.divs", decode_binary, PLUMB_OP_DIV_S},
    {"index.divu", decode_binary, PLUMB_OP_DIV_U},
    {"index.ceildivs", decode_binary, PLUMB_OP_CEILDIV_S},
    {"index.ceildivu", decode_ceildivu, 0},
    {"index.floordivs", decode_binary, PLUMB_OP_FLOORDIV_S},
    {"index.rems", decode_binary, PLUMB_OP_REM_S},
    {"index.remu", decode_binary, PLUMB_OP_REM_U},
    {"index.maxs", decode_binary, PLUMB_OP_MAX_S},
    {"index.maxu", decode_binary, PLUMB_OP_MAX_U},
    {"index.mins", decode_binary, PLUMB_OP_MIN_S},
    {"index.minu", decode_binary, PLUMB_OP_MIN_U},
    {"index.shl", decode_binary, PLUMB_OP_SHL},
    {"index.shrs", decode_binary, PLUMB_OP_SHR_S},
    {"index.shru", decode_binary, PLUMB_OP_SHR_U},
    {"index.and", decode_binary, PLUMB_OP_AND},
    {"index.or", decode_binary, PLUMB_OP_OR},
    {"index.xor", decode_binary, PLUMB_OP_XOR},
    {"index.casts", decode_cast, 1},
    {"index.castu", decode_cast, 0},
    {"index.cmp", decode_cmp, 0},
    {"index.constant", decode_constant, 0},
    {"index.bool.constant", decode_constant, 0},
    {"index.sizeof", decode_sizeof, 0},
    {0},
};

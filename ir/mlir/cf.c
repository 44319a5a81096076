/* cf: branches between blocks. */
#include "ir/mlir/decode_internal.h"

static bool decode_br(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_branch(d, mlirOperationGetSuccessor(op, 0),
                    plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op)));
  return true;
}

static bool decode_cond_br(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *sizes;
  size_t count;
  if (!plumb_mlir_segments(d, op, &sizes, &count) || count != 3)
    return plumb_mlir_reject(d, "operand segments");
  plumb_reg condition = plumb_mlir_operand1(d, op, 0);
  plumb_mlir_run yes = plumb_mlir_operands(d, op, 1, (intptr_t)sizes[1]);
  plumb_mlir_run no = plumb_mlir_operands(d, op, 1 + (intptr_t)sizes[1], (intptr_t)sizes[2]);
  uint32_t then = plumb_mlir_edge(d, mlirOperationGetSuccessor(op, 0), yes);
  uint32_t otherwise = plumb_mlir_edge(d, mlirOperationGetSuccessor(op, 1), no);
  plumb_build_condbr(&d->b, condition, then, otherwise);
  return true;
}

/* The case values as constants of the flag's type. */
static bool case_values(plumb_mlir_decoder *d, MlirOperation op, plumb_mlir_run *out_values) {
  MlirAttribute values;
  *out_values = (plumb_mlir_run){NULL, 0};
  if (!plumb_mlir_attribute(op, "case_values", &values)) return true;
  int64_t count = mlirElementsAttrGetNumElements(values);
  if (!count) return true;
  MlirType vector = mlirVectorTypeGet(1, &count, plumb_mlir_operand_type(op, 0));
  return plumb_mlir_constant_run(d, values, vector, out_values);
}

static bool decode_switch(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *sizes, *parts = NULL;
  size_t count, part_count = 0;
  plumb_mlir_run values;
  if (!plumb_mlir_segments(d, op, &sizes, &count) || count != 3)
    return plumb_mlir_reject(d, "operand segments");
  if (!case_values(d, op, &values)) return false;
  plumb_mlir_attribute_ints(d, op, "case_operand_segments", &parts, &part_count);
  if (values.count && part_count != values.count) return plumb_mlir_reject(d, "case segments");
  plumb_reg flag = plumb_mlir_operand1(d, op, 0);
  plumb_dtype type = plumb_reg_type(d->b.function, flag);
  plumb_mlir_run other = plumb_mlir_operands(d, op, 1, (intptr_t)sizes[1]);
  intptr_t next = 1 + (intptr_t)sizes[1];
  for (size_t i = 0; i < values.count; i++) {
    plumb_mlir_run arguments = plumb_mlir_operands(d, op, next, (intptr_t)parts[i]);
    next += (intptr_t)parts[i];
    uint32_t edge = plumb_mlir_edge(d, mlirOperationGetSuccessor(op, (intptr_t)i + 1), arguments);
    uint32_t otherwise = plumb_block_create(d->b.function);
    plumb_build_condbr(&d->b, plumb_build_cmp(&d->b, PLUMB_CMP_EQ, type, flag, values.regs[i]),
                       edge, otherwise);
    d->b.block = otherwise;
  }
  plumb_mlir_branch(d, mlirOperationGetSuccessor(op, 0), other);
  return true;
}

static bool decode_assert(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_function *f = d->b.function;
  uint32_t holds = plumb_block_create(f), fails = plumb_block_create(f);
  plumb_build_condbr(&d->b, plumb_mlir_operand1(d, op, 0), holds, fails);
  d->b.block = fails;
  MlirAttribute message;
  int64_t text = -1;
  if (plumb_mlir_attribute(op, "msg", &message))
    text = plumb_string_add(d->program, plumb_mlir_symbol_text(d, message));
  plumb_build(&d->b, PLUMB_OP_TRAP, PLUMB_I1, NULL, 0, NULL, 0)->imm = text;
  d->b.block = holds;
  return true;
}

const plumb_mlir_op plumb_mlir_ops_cf[] = {
    {"cf.br", decode_br, 0},
    {"cf.cond_br", decode_cond_br, 0},
    {"cf.switch", decode_switch, 0},
    {"cf.assert", decode_assert, 0},
    {0},
};

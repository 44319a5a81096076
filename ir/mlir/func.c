/* func: functions, calls and returns. */
#include "ir/mlir/decode_internal.h"

static bool function_type(MlirOperation op, MlirType *out) {
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, "function_type", &attribute) || !mlirAttributeIsAType(attribute))
    return false;
  *out = mlirTypeAttrGetValue(attribute);
  return mlirTypeIsAFunction(*out);
}

bool plumb_mlir_builtin_function(plumb_mlir_decoder *d, MlirOperation op,
                                 plumb_function_kind kind) {
  MlirType type;
  if (!function_type(op, &type)) return plumb_mlir_reject(d, "no function type");
  size_t inputs = (size_t)mlirFunctionTypeGetNumInputs(type);
  size_t results = (size_t)mlirFunctionTypeGetNumResults(type);
  MlirType *types = PLUMB_NEW_ARRAY(d->arena, MlirType, inputs + results + 1);
  for (size_t i = 0; i < inputs; i++) types[i] = mlirFunctionTypeGetInput(type, (intptr_t)i);
  for (size_t i = 0; i < results; i++)
    types[inputs + i] = mlirFunctionTypeGetResult(type, (intptr_t)i);
  plumb_mlir_function(d, op, plumb_mlir_defined_name(d, op), kind, types, inputs, types + inputs,
                      results, mlirOperationGetRegion(op, 0));
  return true;
}

static bool decode_func(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  bool device = plumb_mlir_name_is(d->symbol_scope, "gpu.module");
  return plumb_mlir_builtin_function(d, op, device ? PLUMB_DEVICE : PLUMB_HOST);
}

static bool decode_return(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_leave(d, plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op)));
  return true;
}

static plumb_mlir_run fresh_results(plumb_mlir_decoder *d, MlirOperation op) {
  plumb_reg *regs = NULL;
  size_t count = 0, capacity = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    plumb_mlir_run run = plumb_mlir_fresh_result(d, op, i);
    regs = plumb_arena_grow(d->arena, regs, &capacity, count + run.count + 1, sizeof *regs);
    for (size_t j = 0; j < run.count; j++) regs[count++] = run.regs[j];
  }
  return (plumb_mlir_run){regs, count};
}

static bool decode_call(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute callee;
  if (!plumb_mlir_attribute(op, "callee", &callee)) return plumb_mlir_reject(d, "no callee");
  const char *symbol = plumb_mlir_symbol_text(d, callee);
  MlirOperation function = plumb_mlir_find_symbol(d, symbol);
  if (!mlirOperationIsNull(function) && !plumb_mlir_has_body(function))
    return plumb_mlir_decode_known_call(d, op, symbol, (size_t)mlirOperationGetNumOperands(op));
  plumb_mlir_run args = plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op));
  plumb_mlir_run results = fresh_results(d, op);
  plumb_build_call(&d->b, plumb_mlir_symbol_name(d, callee), results.regs, results.count, args.regs,
                   args.count);
  return true;
}

/* A callee that is a func.constant in sight is called by name; any other is not known. */
static bool decode_call_indirect(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  MlirValue callee = mlirOperationGetOperand(op, 0);
  if (!mlirValueIsAOpResult(callee)) return plumb_mlir_reject(d, "a callee not known here");
  MlirOperation source = mlirOpResultGetOwner(callee);
  MlirAttribute symbol;
  if (!plumb_mlir_name_is(source, "func.constant") ||
      !plumb_mlir_attribute(source, "value", &symbol))
    return plumb_mlir_reject(d, "a callee not known here");
  plumb_mlir_run args = plumb_mlir_operands(d, op, 1, mlirOperationGetNumOperands(op) - 1);
  plumb_mlir_run results = fresh_results(d, op);
  plumb_build_call(&d->b, plumb_mlir_symbol_name(d, symbol), results.regs, results.count, args.regs,
                   args.count);
  return true;
}

/* Only calls look at it, by its symbol. */
static bool decode_constant(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_define_result1(d, op, 0, plumb_mlir_i64(d, 0));
  return true;
}

const plumb_mlir_op plumb_mlir_ops_func[] = {
    {"func.func", decode_func, 0},         {"func.return", decode_return, 0},
    {"func.call", decode_call, 0},         {"func.call_indirect", decode_call_indirect, 0},
    {"func.constant", decode_constant, 0}, {0},
};

/* builtin: modules and casts between type systems that keep the flat value. */
#include "ir/mlir/decode_internal.h"
#include "ir/mlir/tables.h"

static bool decode_module(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_decode_module(d, op);
  return true;
}

/* A cast is the identity where both sides flatten to the same types: descriptors and the
 * structs that they are lowered to, index and i64, vectors and arrays. */
static bool decode_cast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run in = plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op));
  size_t at = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    plumb_mlir_flat flat;
    if (!plumb_mlir_flatten(d, plumb_mlir_result_type(op, i), &flat)) return false;
    if (at + flat.count > in.count) return plumb_mlir_reject(d, "between different flat values");
    for (size_t j = 0; j < flat.count; j++)
      if (plumb_dtype_bytes(plumb_reg_type(d->b.function, in.regs[at + j])) !=
          plumb_dtype_bytes(flat.types[j]))
        return plumb_mlir_reject(d, "between different flat values");
    at += flat.count;
  }
  if (at != in.count) return plumb_mlir_reject(d, "between different flat values");
  plumb_mlir_split_results(d, op, in);
  return true;
}

const plumb_mlir_op plumb_mlir_ops_builtin[] = {
    {"builtin.module", decode_module, 0},
    {"builtin.unrealized_conversion_cast", decode_cast, 0},
    {0},
};

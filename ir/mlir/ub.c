/* ub: undefined behaviour by name. */
#include "ir/mlir/decode_internal.h"

/* Poison that nothing depends on may be any value: it is pinned to zero. A tensor of poison
 * is a buffer that was never written, so that reading it is found. */
static bool decode_poison(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType type = plumb_mlir_result_type(op, 0);
  if (mlirTypeIsARankedTensor(type)) {
    plumb_mlir_run run;
    if (!plumb_mlir_allocate(d, type, NULL, &run)) return false;
    plumb_mlir_define_result(d, op, 0, run.regs, run.count);
    return true;
  }
  plumb_mlir_flat flat;
  if (!plumb_mlir_flatten(d, type, &flat)) return false;
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  for (size_t i = 0; i < flat.count; i++)
    regs[i] = flat.types[i] == PLUMB_I128 ? plumb_constant128(d->program, 0, 0)
                                          : plumb_constant(d->program, flat.types[i], 0);
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

static bool decode_unreachable(plumb_mlir_decoder *d, MlirOperation op,
                               const plumb_mlir_op *row) {
  (void)op;
  (void)row;
  plumb_build(&d->b, PLUMB_OP_UNREACHABLE, PLUMB_I1, NULL, 0, NULL, 0);
  return true;
}

const plumb_mlir_op plumb_mlir_ops_ub[] = {
    {"ub.poison", decode_poison, 0},
    {"ub.unreachable", decode_unreachable, 0},
    {0},
};

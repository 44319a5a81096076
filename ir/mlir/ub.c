/* ub: undefined behaviour by name. */
#include "ir/mlir/decode_internal.h"

/* A poison value of any type: a shift by its whole width, whose result is poison. */
plumb_reg plumb_mlir_poison(plumb_mlir_decoder *d, plumb_dtype type) {
  static const plumb_dtype by_bytes[] = {
      [1] = PLUMB_I8, [2] = PLUMB_I16, [4] = PLUMB_I32, [8] = PLUMB_I64};
  unsigned bytes = plumb_dtype_bytes(type);
  if (type == PLUMB_I128) {
    plumb_reg one = plumb_constant128(d->program, 1, 0);
    return plumb_build2(&d->b, PLUMB_OP_SHL, type, one, plumb_constant128(d->program, 128, 0));
  }
  plumb_dtype word = by_bytes[bytes];
  plumb_reg width = plumb_constant(d->program, word, 8 * bytes);
  plumb_reg r = plumb_build2(&d->b, PLUMB_OP_SHL, word, plumb_constant(d->program, word, 1), width);
  if (type == PLUMB_I1)
    return plumb_build_cmp(&d->b, PLUMB_CMP_NE, word, r, plumb_constant(d->program, word, 0));
  return type == word ? r : plumb_build1(&d->b, PLUMB_OP_MOV, type, r);
}

/* A tensor of poison is a buffer that was never written. */
static bool decode_poison(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType type = plumb_mlir_result_type(op, 0);
  plumb_mlir_run run;
  if (mlirTypeIsARankedTensor(type)) {
    if (!plumb_mlir_allocate(d, type, NULL, &run)) return false;
    plumb_mlir_define_result(d, op, 0, run.regs, run.count);
    return true;
  }
  plumb_mlir_flat flat;
  if (!plumb_mlir_flatten(d, type, &flat)) return false;
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  for (size_t i = 0; i < flat.count; i++)
    regs[i] =
        i && flat.types[i] == flat.types[i - 1] ? regs[i - 1] : plumb_mlir_poison(d, flat.types[i]);
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

static bool decode_unreachable(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
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

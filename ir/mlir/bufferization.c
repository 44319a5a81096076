/* The bufferization dialect (BufferizationOps.td): between tensors and the buffers that
 * hold them. A tensor's run is that of its buffer, so most of it is naming; what may be
 * written afterwards is copied. */
#include "ir/mlir/decode_internal.h"

enum { MAX_RANK = PLUMB_MLIR_LANE_DIMS };

/* A fresh contiguous copy of memref or tensor operand 0 under `type`. */
static bool copy_operand(plumb_mlir_decoder *d, MlirOperation op, intptr_t index, MlirType type,
                         plumb_mlir_run *out_run) {
  plumb_mlir_buffer in, out;
  if (!plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, index),
                              plumb_mlir_operand_type(op, index), &in) ||
      !plumb_mlir_allocate(d, type, in.sizes, out_run) ||
      !plumb_mlir_buffer_open(d, *out_run, type, &out))
    return false;
  plumb_mlir_buffer_copy(d, &in, &out);
  return true;
}

/* The tensor holds the buffer's content at this point. Without `restrict` and `writable`
 * later writes to the buffer would be seen through an alias; a copy is the definition. */
static bool decode_to_tensor(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run run;
  if (!copy_operand(d, op, 0, plumb_mlir_result_type(op, 0), &run)) return false;
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

/* The future buffer of the tensor. Writing through it without `read_only` would change a
 * value, so it is a copy then. */
static bool decode_to_buffer(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  if (!plumb_mlir_attribute_flag(op, "read_only")) {
    MlirType type = plumb_mlir_operand_type(op, 0);
    if (!plumb_mlir_tensor_copy(d, run, type, &run)) return false;
  }
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

static bool decode_alloc_tensor(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *segments;
  size_t count;
  plumb_mlir_run run;
  MlirType type = plumb_mlir_result_type(op, 0);
  if (!plumb_mlir_segments(d, op, &segments, &count) || count != 3)
    return plumb_mlir_reject(d, "operand groups that cannot be read");
  if (segments[1]) {
    if (!copy_operand(d, op, (intptr_t)segments[0], type, &run)) return false;
  } else {
    plumb_reg sizes[MAX_RANK];
    intptr_t rank = (intptr_t)mlirShapedTypeGetRank(type), next = 0;
    if (rank > MAX_RANK) return plumb_mlir_reject(d, "more than %d dimensions", MAX_RANK);
    for (intptr_t i = 0; i < rank; i++)
      sizes[i] =
          mlirShapedTypeIsDynamicDim(type, i) ? plumb_mlir_operand1(d, op, next++) : PLUMB_NO_REG;
    if (!plumb_mlir_allocate(d, type, sizes, &run)) return false;
  }
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

/* Writes the source into the destination: a memref is written in place; of a tensor the
 * result is the source's value. */
static bool decode_materialize(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType destination = plumb_mlir_operand_type(op, 1);
  if (mlirTypeIsAMemRef(destination)) {
    plumb_mlir_buffer from, to;
    if (!plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, 0), plumb_mlir_operand_type(op, 0),
                                &from) ||
        !plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, 1), destination, &to))
      return false;
    plumb_mlir_buffer_copy(d, &from, &to);
  }
  if (mlirOperationGetNumResults(op)) {
    plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
    plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  }
  return true;
}

static bool decode_clone(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run run;
  if (!mlirTypeIsAMemRef(plumb_mlir_result_type(op, 0)))
    return plumb_mlir_reject(d, "an unranked memref");
  if (!copy_operand(d, op, 0, plumb_mlir_result_type(op, 0), &run)) return false;
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

/* The value's last use; its buffer ends with the run. */
static bool decode_dealloc_tensor(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)d, (void)op, (void)row;
  return true;
}

/* i1: the two descriptors have one base pointer. */
static plumb_reg same_base(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b) {
  return plumb_build_cmp(&d->b, PLUMB_CMP_EQ, PLUMB_I64, a, b);
}

/* Frees each memref whose condition holds and that no retained memref shares its base with;
 * of memrefs with one base only the first is freed. A retained memref's result is the or of
 * the conditions of those that it aliases (BufferizationOps.td, dealloc). */
static bool decode_dealloc(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *segments;
  size_t count;
  if (!plumb_mlir_segments(d, op, &segments, &count) || count != 3 || segments[0] != segments[1])
    return plumb_mlir_reject(d, "operand groups that cannot be read");
  size_t frees = (size_t)segments[0], retained = (size_t)segments[2];
  plumb_reg *bases = PLUMB_NEW_ARRAY(d->arena, plumb_reg, frees + retained + 1);
  for (size_t i = 0; i < frees + retained; i++) {
    intptr_t index = (intptr_t)(i < frees ? i : i + frees);
    if (!mlirTypeIsAMemRef(plumb_mlir_operand_type(op, index)))
      return plumb_mlir_reject(d, "an unranked memref");
    bases[i] = plumb_mlir_operand(d, op, index).regs[0];
  }
  plumb_reg no = plumb_constant(d->program, PLUMB_I1, 0);
  for (size_t k = 0; k < retained; k++) {
    plumb_reg owned = no;
    for (size_t i = 0; i < frees; i++)
      owned = plumb_build2(
          &d->b, PLUMB_OP_OR, PLUMB_I1, owned,
          plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1, same_base(d, bases[i], bases[frees + k]),
                       plumb_mlir_operand1(d, op, (intptr_t)(frees + i))));
    plumb_mlir_define_result1(d, op, (intptr_t)k, owned);
  }
  for (size_t i = 0; i < frees; i++) {
    plumb_reg keep = no;
    for (size_t j = 0; j < i; j++) /* freed already, if its own condition held */
      keep =
          plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I1, keep,
                       plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1, same_base(d, bases[i], bases[j]),
                                    plumb_mlir_operand1(d, op, (intptr_t)(frees + j))));
    for (size_t k = 0; k < retained; k++)
      keep = plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I1, keep,
                          same_base(d, bases[i], bases[frees + k]));
    plumb_reg go = plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1,
                                plumb_mlir_operand1(d, op, (intptr_t)(frees + i)),
                                plumb_build1(&d->b, PLUMB_OP_NOT, PLUMB_I1, keep));
    plumb_mlir_if branch;
    plumb_mlir_if_begin(d, &branch, go);
    plumb_build(&d->b, PLUMB_OP_FREE, PLUMB_I64, NULL, 0, &bases[i], 1);
    plumb_mlir_if_end(d, &branch);
  }
  return true;
}

const plumb_mlir_op plumb_mlir_ops_bufferization[] = {
    {"bufferization.to_tensor", decode_to_tensor, 0},
    {"bufferization.to_buffer", decode_to_buffer, 0},
    {"bufferization.alloc_tensor", decode_alloc_tensor, 0},
    {"bufferization.materialize_in_destination", decode_materialize, 0},
    {"bufferization.clone", decode_clone, 0},
    {"bufferization.dealloc_tensor", decode_dealloc_tensor, 0},
    {"bufferization.dealloc", decode_dealloc, 0},
    {0}};

/* Elementwise operations: from one element's meaning to scalars, vectors and tensors. */
#include "ir/mlir/decode_internal.h"

enum { MOST_OPERANDS = 8 };

static bool describe(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row,
                     plumb_dtype *types, plumb_mlir_scalars *out) {
  *out = (plumb_mlir_scalars){.op = op,
                              .row = row,
                              .flags = plumb_mlir_fastmath(d, op),
                              .operands = (size_t)mlirOperationGetNumOperands(op),
                              .results = (size_t)mlirOperationGetNumResults(op),
                              .operand_types = types};
  if (out->operands > MOST_OPERANDS || !out->operands || !out->results || out->results > 2)
    return plumb_mlir_reject(d, "its number of operands");
  for (size_t i = out->operands; i-- > 0;) {
    MlirType type = plumb_mlir_element_type(plumb_mlir_operand_type(op, (intptr_t)i));
    if (!plumb_mlir_scalar_type(type, &types[i], &out->in_bits))
      return plumb_mlir_reject(d, "operand of type %s", plumb_mlir_print_type(d, type));
  }
  out->in = types[0];
  MlirType type = plumb_mlir_element_type(plumb_mlir_result_type(op, 0));
  if (!plumb_mlir_scalar_type(type, &out->out, &out->out_bits))
    return plumb_mlir_reject(d, "result of type %s", plumb_mlir_print_type(d, type));
  return true;
}

static bool on_runs(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                    plumb_mlir_scalar_handler *handler) {
  plumb_mlir_flat flat;
  if (!plumb_mlir_flatten(d, plumb_mlir_result_type(s->op, 0), &flat)) return false;
  plumb_mlir_run runs[MOST_OPERANDS];
  for (size_t i = 0; i < s->operands; i++) {
    runs[i] = plumb_mlir_operand(d, s->op, (intptr_t)i);
    if (runs[i].count != flat.count && runs[i].count != 1)
      return plumb_mlir_reject(d, "operands of different shapes");
  }
  plumb_reg *results[2];
  for (size_t r = 0; r < s->results; r++)
    results[r] = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  for (size_t e = 0; e < flat.count; e++) {
    plumb_reg in[MOST_OPERANDS], out[2];
    for (size_t i = 0; i < s->operands; i++) in[i] = runs[i].regs[runs[i].count == 1 ? 0 : e];
    if (!handler(d, s, in, out)) return false;
    for (size_t r = 0; r < s->results; r++) results[r][e] = out[r];
  }
  for (size_t r = 0; r < s->results; r++)
    plumb_mlir_define_result(d, s->op, (intptr_t)r, results[r], flat.count);
  return true;
}

typedef struct tensors {
  plumb_mlir_buffer in[MOST_OPERANDS], out[2];
  plumb_reg scalar[MOST_OPERANDS];
  bool is_tensor[MOST_OPERANDS];
  plumb_mlir_run results[2];
} tensors;

static bool open_tensors(plumb_mlir_decoder *d, const plumb_mlir_scalars *s, tensors *t) {
  const plumb_reg *sizes = NULL;
  for (size_t i = 0; i < s->operands; i++) {
    MlirType type = plumb_mlir_operand_type(s->op, (intptr_t)i);
    t->is_tensor[i] = mlirTypeIsATensor(type);
    if (!t->is_tensor[i]) {
      t->scalar[i] = plumb_mlir_operand1(d, s->op, (intptr_t)i);
      continue;
    }
    plumb_mlir_run run = plumb_mlir_operand(d, s->op, (intptr_t)i);
    if (!plumb_mlir_buffer_open(d, run, type, &t->in[i])) return false;
    sizes = t->in[i].sizes;
  }
  for (size_t r = 0; r < s->results; r++) {
    MlirType type = plumb_mlir_result_type(s->op, (intptr_t)r);
    if (!plumb_mlir_allocate(d, type, sizes, &t->results[r]) ||
        !plumb_mlir_buffer_open(d, t->results[r], type, &t->out[r]))
      return false;
  }
  return true;
}

static bool on_tensors(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                       plumb_mlir_scalar_handler *handler) {
  tensors t;
  if (!open_tensors(d, s, &t)) return false;
  plumb_mlir_lanes lanes;
  plumb_reg ids[PLUMB_MLIR_LANE_DIMS];
  plumb_mlir_lanes_begin(d, &lanes, "elementwise", t.out[0].rank, t.out[0].sizes, ids);
  plumb_reg in[MOST_OPERANDS], out[2];
  for (size_t i = 0; i < s->operands; i++) {
    if (!t.is_tensor[i]) {
      in[i] = plumb_mlir_capture(d, t.scalar[i]);
      continue;
    }
    plumb_mlir_buffer buffer = plumb_mlir_capture_buffer(d, &t.in[i]);
    plumb_mlir_load(d, &buffer, ids, &in[i]);
  }
  bool known = handler(d, s, in, out);
  for (size_t r = 0; known && r < s->results; r++) {
    plumb_mlir_buffer buffer = plumb_mlir_capture_buffer(d, &t.out[r]);
    plumb_mlir_store(d, &buffer, ids, &out[r]);
  }
  plumb_mlir_lanes_end(d, &lanes);
  for (size_t r = 0; known && r < s->results; r++)
    plumb_mlir_define_result(d, s->op, (intptr_t)r, t.results[r].regs, t.results[r].count);
  return known;
}

bool plumb_mlir_elementwise(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row,
                            plumb_mlir_scalar_handler *handler) {
  plumb_mlir_scalars s;
  plumb_dtype types[MOST_OPERANDS];
  if (!describe(d, op, row, types, &s)) return false;
  MlirType result = plumb_mlir_result_type(op, 0);
  if (mlirTypeIsATensor(result)) return on_tensors(d, &s, handler);
  if (mlirTypeIsAMemRef(result))
    return plumb_mlir_reject(d, "result of type %s", plumb_mlir_print_type(d, result));
  return on_runs(d, &s, handler);
}

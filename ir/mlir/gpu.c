/* gpu: modules, kernels, launches and device memory. What lanes do is in gpu_lane.c. */
#include "ir/mlir/decode_internal.h"
#include "ir/mlir/tables.h"

static bool decode_module(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  if (!d->options.host_only) plumb_mlir_decode_module(d, op);
  return true;
}

static bool decode_nothing(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  /* Asynchronous tokens have no registers: operations run in program order. */
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) plumb_mlir_fresh_result(d, op, i);
  return true;
}

static bool decode_func(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  bool kernel =
      plumb_mlir_attribute_flag(op, "gpu.kernel") || plumb_mlir_attribute_flag(op, "kernel");
  if (!plumb_mlir_builtin_function(d, op, kernel ? PLUMB_KERNEL : PLUMB_DEVICE)) return false;
  const int64_t *block;
  size_t count;
  plumb_function *f = plumb_program_find(d->program, plumb_mlir_defined_name(d, op));
  if (f && plumb_mlir_attribute_ints(d, op, "known_block_size", &block, &count) && count == 3)
    for (size_t i = 0; i < 3; i++) f->required_threads[i] = (uint32_t)block[i];
  return true;
}

static bool decode_return(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_leave(d, plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op)));
  return true;
}

/* --- launches --- */

static plumb_reg as_i64(plumb_mlir_decoder *d, plumb_reg r) {
  plumb_dtype type = plumb_reg_type(d->b.function, r);
  return type == PLUMB_I64 ? r : plumb_build_cvt(&d->b, PLUMB_I64, type, r, 0, PLUMB_RZ);
}

typedef struct shape {
  plumb_reg grid[3], block[3], shared;
  intptr_t next; /* operand after those of the shape */
} shape;

/* Operand groups: tokens, grid 3, block 3, cluster 3 (optional), dynamic shared bytes. */
static bool open_shape(plumb_mlir_decoder *d, MlirOperation op, shape *s, const int64_t **out_sizes,
                       size_t *out_count) {
  if (!plumb_mlir_segments(d, op, out_sizes, out_count) || *out_count < 11)
    return plumb_mlir_reject(d, "operand segments");
  const int64_t *sizes = *out_sizes;
  if (d->device) return plumb_mlir_reject(d, "inside device code");
  if (sizes[7] || sizes[8] || sizes[9]) return plumb_mlir_reject(d, "with clusters");
  intptr_t at = (intptr_t)sizes[0];
  for (int i = 0; i < 3; i++) s->grid[i] = as_i64(d, plumb_mlir_operand1(d, op, at + i));
  for (int i = 0; i < 3; i++) s->block[i] = as_i64(d, plumb_mlir_operand1(d, op, at + 3 + i));
  s->next = at + 6;
  s->shared = sizes[10] ? as_i64(d, plumb_mlir_operand1(d, op, s->next++)) : plumb_mlir_i64(d, 0);
  return true;
}

static bool decode_launch_func(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  shape s;
  const int64_t *sizes;
  size_t count;
  MlirAttribute kernel;
  if (!open_shape(d, op, &s, &sizes, &count)) return false;
  if (count < 12 || !plumb_mlir_attribute(op, "kernel", &kernel))
    return plumb_mlir_reject(d, "no kernel");
  plumb_mlir_run args = plumb_mlir_operands(d, op, s.next, (intptr_t)sizes[11]);
  plumb_build_launch(&d->b, plumb_mlir_symbol_name(d, kernel), s.grid, s.block, s.shared, args.regs,
                     args.count);
  return decode_nothing(d, op, row);
}

static void bind_ids(plumb_mlir_decoder *d, MlirBlock body, const shape *s) {
  static const plumb_sreg ids[] = {PLUMB_SREG_CTAID_X, PLUMB_SREG_CTAID_Y, PLUMB_SREG_CTAID_Z,
                                   PLUMB_SREG_TID_X,   PLUMB_SREG_TID_Y,   PLUMB_SREG_TID_Z};
  for (intptr_t i = 0; i < 6; i++) {
    plumb_reg id = as_i64(d, plumb_build_sreg(&d->b, ids[i]));
    plumb_mlir_bind_argument(d, body, i, &id, 1);
  }
  for (intptr_t i = 0; i < 3; i++) {
    plumb_reg grid = plumb_mlir_capture(d, s->grid[i]);
    plumb_reg block = plumb_mlir_capture(d, s->block[i]);
    plumb_mlir_bind_argument(d, body, 6 + i, &grid, 1);
    plumb_mlir_bind_argument(d, body, 9 + i, &block, 1);
  }
}

/* The region becomes a kernel; what it reads from outside becomes its parameters. */
static bool decode_launch(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  shape s;
  const int64_t *sizes;
  size_t count;
  if (!open_shape(d, op, &s, &sizes, &count)) return false;
  MlirBlock body = plumb_mlir_body(op, 0);
  plumb_mlir_outline *outline = plumb_mlir_outline_begin(d, "launch");
  bind_ids(d, body, &s);
  bool known = true;
  for (intptr_t i = 12; known && i < mlirBlockGetNumArguments(body); i++) {
    plumb_mlir_run run;
    known = plumb_mlir_static_buffer(d, mlirValueGetType(mlirBlockGetArgument(body, i)),
                                     "attribution", &run);
    if (known) plumb_mlir_bind_argument(d, body, i, run.regs, run.count);
  }
  plumb_mlir_exit exit = {.is_return = true};
  if (known) plumb_mlir_decode_region(d, mlirOperationGetRegion(op, 0), &exit);
  plumb_mlir_outline_end(d, outline, s.grid, s.block, s.shared);
  return known && decode_nothing(d, op, row);
}

/* --- memory --- */

static bool decode_alloc(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *sizes;
  size_t count;
  if (!plumb_mlir_segments(d, op, &sizes, &count) || count != 3)
    return plumb_mlir_reject(d, "operand segments");
  MlirType type = plumb_mlir_result_type(op, 0);
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  plumb_reg *dims = PLUMB_NEW_ARRAY(d->arena, plumb_reg, rank + 1);
  intptr_t next = (intptr_t)sizes[0];
  for (size_t i = 0; i < rank; i++)
    dims[i] = mlirShapedTypeIsDynamicDim(type, (intptr_t)i) ? plumb_mlir_operand1(d, op, next++)
                                                            : PLUMB_NO_REG;
  plumb_mlir_run run;
  if (!plumb_mlir_allocate(d, type, dims, &run)) return false;
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  if (mlirOperationGetNumResults(op) > 1) plumb_mlir_fresh_result(d, op, 1);
  return true;
}

/* The first operand that is not a token. */
static intptr_t first_operand(plumb_mlir_decoder *d, MlirOperation op) {
  intptr_t i = 0;
  while (i < mlirOperationGetNumOperands(op) && !plumb_mlir_operand(d, op, i).count) i++;
  return i;
}

static bool decode_dealloc(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_reg base = plumb_mlir_operand(d, op, first_operand(d, op)).regs[0];
  plumb_build(&d->b, PLUMB_OP_FREE, PLUMB_I64, NULL, 0, &base, 1);
  return decode_nothing(d, op, row);
}

static bool open_operand(plumb_mlir_decoder *d, MlirOperation op, intptr_t index,
                         plumb_mlir_buffer *out) {
  return plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, index),
                                plumb_mlir_operand_type(op, index), out);
}

static bool decode_memcpy(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  intptr_t first = first_operand(d, op);
  plumb_mlir_buffer to, from;
  if (!open_operand(d, op, first, &to) || !open_operand(d, op, first + 1, &from)) return false;
  plumb_mlir_buffer_copy(d, &from, &to);
  return decode_nothing(d, op, row);
}

static bool decode_memset(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  intptr_t first = first_operand(d, op);
  plumb_mlir_buffer to;
  if (!open_operand(d, op, first, &to)) return false;
  plumb_mlir_run value = plumb_mlir_operand(d, op, first + 1);
  plumb_mlir_lanes lanes;
  plumb_reg ids[PLUMB_MLIR_LANE_DIMS];
  plumb_mlir_lanes_begin(d, &lanes, "memset", to.rank, to.sizes, ids);
  plumb_mlir_buffer inside = plumb_mlir_capture_buffer(d, &to);
  plumb_mlir_store(d, &inside, ids, plumb_mlir_capture_run(d, value).regs);
  plumb_mlir_lanes_end(d, &lanes);
  return decode_nothing(d, op, row);
}

static bool decode_dynamic_shared(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)row;
  static const char name[] = "dynamic_shared_memory";
  size_t global = plumb_program_find_global(d->program, name);
  if (global == SIZE_MAX) {
    global = plumb_global_create(d->program, name, PLUMB_SPACE_SHARED, 0, 16);
    d->program->globals[global].dynamic = true;
  }
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_ADDRESS, PLUMB_I64, &address, 1, NULL, 0);
  inst->imm = (int64_t)global;
  inst->space = PLUMB_SPACE_SHARED;
  plumb_reg bytes = as_i64(d, plumb_build_sreg(&d->b, PLUMB_SREG_DYNAMIC_SMEM_BYTES));
  plumb_mlir_run run = plumb_mlir_contiguous(d, address, &bytes, 1);
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

const plumb_mlir_op plumb_mlir_ops_gpu[] = {
    {"gpu.module", decode_module, 0},
    {"gpu.binary", decode_nothing, 0},
    {"gpu.func", decode_func, 0},
    {"gpu.return", decode_return, 0},
    {"gpu.launch_func", decode_launch_func, 0},
    {"gpu.launch", decode_launch, 0},
    {"gpu.terminator", decode_return, 0},
    {"gpu.wait", decode_nothing, 0},
    {"gpu.alloc", decode_alloc, 0},
    {"gpu.dealloc", decode_dealloc, 0},
    {"gpu.memcpy", decode_memcpy, 0},
    {"gpu.memset", decode_memset, 0},
    {"gpu.host_register", decode_nothing, 0},
    {"gpu.host_unregister", decode_nothing, 0},
    {"gpu.set_default_device", decode_nothing, 0},
    {"gpu.dynamic_shared_memory", decode_dynamic_shared, 0},
    {0},
};

/* memref: allocation, access, copies, globals, atomics. Views are in memref_view.c. */
#include <string.h>

#include "ir/mlir/decode_internal.h"

static bool has_layout(MlirType type) {
  MlirAttribute layout = mlirMemRefTypeGetLayout(type);
  return !(mlirAttributeIsAAffineMap(layout) &&
           mlirAffineMapIsIdentity(mlirAffineMapAttrGetValue(layout)));
}

/* Dynamic sizes of an allocation from its first operands. */
static plumb_reg *dynamic_sizes(plumb_mlir_decoder *d, MlirOperation op, MlirType type,
                                intptr_t first) {
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  plumb_reg *sizes = PLUMB_NEW_ARRAY(d->arena, plumb_reg, rank + 1);
  for (size_t i = 0; i < rank; i++)
    sizes[i] = mlirShapedTypeIsDynamicDim(type, (intptr_t)i) ? plumb_mlir_operand1(d, op, first++)
                                                             : PLUMB_NO_REG;
  return sizes;
}

/* A strided layout keeps its own strides; the buffer spans all that they reach. */
static bool allocate_strided(plumb_mlir_decoder *d, MlirType type, const plumb_reg *sizes,
                             plumb_mlir_run *out_run) {
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  int64_t strides[32], offset;
  plumb_mlir_element element;
  if (rank > 32 || !plumb_mlir_static_layout(type, strides, &offset) || offset != 0)
    return plumb_mlir_reject(d, "layout of %s", plumb_mlir_print_type(d, type));
  if (!plumb_mlir_element_layout(d, type, &element)) return false;
  plumb_reg last = plumb_mlir_i64(d, 0);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, 3 + 2 * rank);
  for (size_t i = 0; i < rank; i++) {
    if (strides[i] == INT64_MIN || strides[i] < 0)
      return plumb_mlir_reject(d, "layout of %s", plumb_mlir_print_type(d, type));
    regs[3 + i] = sizes[i] != PLUMB_NO_REG
                      ? sizes[i]
                      : plumb_mlir_i64(d, mlirShapedTypeGetDimSize(type, (intptr_t)i));
    regs[3 + rank + i] = plumb_mlir_i64(d, strides[i]);
    plumb_reg steps = plumb_mlir_sub(d, regs[3 + i], plumb_mlir_i64(d, 1));
    last = plumb_mlir_add(d, last, plumb_mlir_mul(d, steps, regs[3 + rank + i]));
  }
  plumb_reg bytes = plumb_mlir_mul(d, plumb_mlir_add(d, last, plumb_mlir_i64(d, 1)),
                                   plumb_mlir_i64(d, element.bytes));
  regs[0] = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_ALLOC, PLUMB_I64, &regs[0], 1, &bytes, 1)->imm = 64;
  regs[1] = regs[0];
  regs[2] = plumb_mlir_i64(d, 0);
  *out_run = (plumb_mlir_run){regs, 3 + 2 * rank};
  return true;
}

/* Device memory of the lane itself: one place an operation when its shape is static. */
static bool allocate_on_device(plumb_mlir_decoder *d, MlirType type, const plumb_reg *sizes,
                               plumb_mlir_run *out_run) {
  plumb_space space = plumb_mlir_memory_space(type);
  if (mlirShapedTypeHasStaticShape(type) && !has_layout(type))
    return plumb_mlir_static_buffer(d, type, "alloca", out_run);
  if (space == PLUMB_SPACE_SHARED || has_layout(type))
    return plumb_mlir_reject(d, "an allocation of %s", plumb_mlir_print_type(d, type));
  plumb_mlir_element element;
  if (!plumb_mlir_element_layout(d, type, &element)) return false;
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  plumb_reg *all = PLUMB_NEW_ARRAY(d->arena, plumb_reg, rank + 1);
  plumb_reg bytes = plumb_mlir_i64(d, element.bytes);
  for (size_t i = 0; i < rank; i++) {
    all[i] = sizes[i] != PLUMB_NO_REG
                 ? sizes[i]
                 : plumb_mlir_i64(d, mlirShapedTypeGetDimSize(type, (intptr_t)i));
    bytes = plumb_mlir_mul(d, bytes, all[i]);
  }
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_ALLOCA, PLUMB_I64, &address, 1, &bytes, 1)->imm = 16;
  if (space != PLUMB_SPACE_LOCAL) address = plumb_mlir_generic(d, PLUMB_SPACE_LOCAL, address);
  *out_run = plumb_mlir_contiguous(d, address, all, rank);
  return true;
}

/* code: 1 alloca. On the host both are global memory, as launched lanes may read it. */
static bool decode_alloc(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  MlirType type = plumb_mlir_result_type(op, 0);
  plumb_reg *sizes = dynamic_sizes(d, op, type, 0);
  plumb_space space = plumb_mlir_memory_space(type);
  plumb_mlir_run run;
  bool known;
  if (d->device && (row->code || space == PLUMB_SPACE_SHARED || space == PLUMB_SPACE_LOCAL))
    known = allocate_on_device(d, type, sizes, &run);
  else if (space == PLUMB_SPACE_SHARED || space == PLUMB_SPACE_LOCAL)
    return plumb_mlir_reject(d, "%s on the host", plumb_mlir_print_type(d, type));
  else
    known = has_layout(type) ? allocate_strided(d, type, sizes, &run)
                             : plumb_mlir_allocate(d, type, sizes, &run);
  if (!known) return false;
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

static bool decode_dealloc(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType type = plumb_mlir_operand_type(op, 0);
  if (!mlirTypeIsAMemRef(type)) return plumb_mlir_reject(d, "of an unranked memref");
  plumb_space space = plumb_mlir_memory_space(type);
  if (space == PLUMB_SPACE_SHARED || space == PLUMB_SPACE_LOCAL) return true;
  plumb_reg base = plumb_mlir_operand(d, op, 0).regs[0];
  plumb_build(&d->b, PLUMB_OP_FREE, PLUMB_I64, NULL, 0, &base, 1);
  return true;
}

/* The larger buffer takes over what both have room for. */
static bool decode_realloc(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirType type = plumb_mlir_result_type(op, 0);
  plumb_mlir_buffer from;
  plumb_mlir_run run;
  if (!plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, 0), plumb_mlir_operand_type(op, 0),
                              &from) ||
      !plumb_mlir_allocate(d, type, dynamic_sizes(d, op, type, 1), &run))
    return false;
  plumb_reg count = plumb_build2(&d->b, PLUMB_OP_MIN_S, PLUMB_I64, from.sizes[0], run.regs[3]);
  plumb_reg bytes = plumb_mlir_mul(d, count, plumb_mlir_i64(d, from.element.bytes));
  plumb_build(&d->b, PLUMB_OP_MEMCPY, PLUMB_I8, NULL, 0,
              (plumb_reg[]){run.regs[1], from.aligned, bytes}, 3);
  plumb_build(&d->b, PLUMB_OP_FREE, PLUMB_I64, NULL, 0, &from.base, 1);
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

static bool open_operand(plumb_mlir_decoder *d, MlirOperation op, intptr_t index,
                         plumb_mlir_buffer *out) {
  return plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, index),
                                plumb_mlir_operand_type(op, index), out);
}

static bool decode_load(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer buffer;
  if (!open_operand(d, op, 0, &buffer)) return false;
  plumb_mlir_run indices = plumb_mlir_operands(d, op, 1, (intptr_t)buffer.rank);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, buffer.element.count);
  plumb_mlir_load(d, &buffer, indices.regs, regs);
  plumb_mlir_define_result(d, op, 0, regs, buffer.element.count);
  return true;
}

static bool decode_store(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer buffer;
  if (!open_operand(d, op, 1, &buffer)) return false;
  plumb_mlir_run indices = plumb_mlir_operands(d, op, 2, (intptr_t)buffer.rank);
  plumb_mlir_store(d, &buffer, indices.regs, plumb_mlir_operand(d, op, 0).regs);
  return true;
}

static bool decode_copy(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer from, to;
  if (!open_operand(d, op, 0, &from) || !open_operand(d, op, 1, &to)) return false;
  if (from.rank != to.rank) return plumb_mlir_reject(d, "between ranks");
  plumb_mlir_buffer_copy(d, &from, &to);
  return true;
}

/* --- globals --- */

static bool decode_global(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, "type", &attribute) || !mlirAttributeIsAType(attribute))
    return plumb_mlir_reject(d, "no type");
  MlirType type = mlirTypeAttrGetValue(attribute);
  plumb_mlir_element element;
  if (!mlirTypeIsAMemRef(type) || !plumb_mlir_element_layout(d, type, &element)) return false;
  int64_t bytes = element.bytes;
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); i++)
    if (mlirShapedTypeIsDynamicDim(type, i) ||
        __builtin_mul_overflow(bytes, mlirShapedTypeGetDimSize(type, i), &bytes))
      return plumb_mlir_reject(d, "the size of %s", plumb_mlir_print_type(d, type));
  plumb_space space = plumb_mlir_memory_space(type);
  if (space == PLUMB_SPACE_GENERIC) space = PLUMB_SPACE_GLOBAL;
  int64_t align = 16;
  plumb_mlir_attribute_int(op, "alignment", &align);
  size_t global = plumb_global_create(d->program, plumb_mlir_defined_name(d, op), space,
                                      (uint64_t)bytes, (uint32_t)(align < 16 ? 16 : align));
  const uint8_t *init = NULL;
  uint64_t size_bytes;
  if (!plumb_mlir_attribute(op, "initial_value", &attribute))
    d->program->globals[global].external = true;
  else if (!mlirAttributeIsAUnit(attribute) &&
           !plumb_mlir_constant_bytes(d, attribute, type, &init, &size_bytes))
    return false;
  d->program->globals[global].init = init;
  return true;
}

static bool decode_get_global(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute symbol;
  if (!plumb_mlir_attribute(op, "name", &symbol)) return plumb_mlir_reject(d, "no name");
  const char *name = plumb_mlir_symbol_name(d, symbol);
  size_t global = plumb_program_find_global(d->program, name);
  if (global == SIZE_MAX) return plumb_mlir_reject(d, "unknown global @%s", name);
  MlirType type = plumb_mlir_result_type(op, 0);
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  plumb_reg *sizes = PLUMB_NEW_ARRAY(d->arena, plumb_reg, rank + 1);
  for (size_t i = 0; i < rank; i++)
    sizes[i] = plumb_mlir_i64(d, mlirShapedTypeGetDimSize(type, (intptr_t)i));
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_ADDRESS, PLUMB_I64, &address, 1, NULL, 0);
  inst->imm = (int64_t)global;
  inst->space = (uint8_t)d->program->globals[global].space;
  plumb_mlir_run run = plumb_mlir_contiguous(d, address, sizes, rank);
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

/* --- atomics --- */

static bool atomic_of(int64_t kind, plumb_atomic *out) {
  /* By arith's AtomicRMWKind. */
  static const plumb_atomic atomics[] = {
      PLUMB_ATOMIC_ADD,      PLUMB_ATOMIC_ADD,  PLUMB_ATOMIC_AND,   PLUMB_ATOMIC_EXCH,
      PLUMB_ATOMIC_FMAXIMUM, PLUMB_ATOMIC_FMAX, PLUMB_ATOMIC_MAX_S, PLUMB_ATOMIC_MAX_U,
      PLUMB_ATOMIC_FMINIMUM, PLUMB_ATOMIC_FMIN, PLUMB_ATOMIC_MIN_S, PLUMB_ATOMIC_MIN_U,
      PLUMB_ATOMIC_MUL,      PLUMB_ATOMIC_MUL,  PLUMB_ATOMIC_OR,    PLUMB_ATOMIC_XOR};
  if (kind < 0 || kind > 15) return false;
  *out = atomics[kind];
  return true;
}

static bool decode_atomic_rmw(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer buffer;
  int64_t kind;
  plumb_atomic atomic;
  if (!open_operand(d, op, 1, &buffer)) return false;
  if (!plumb_mlir_attribute_int(op, "kind", &kind) || !atomic_of(kind, &atomic) ||
      buffer.element.count != 1)
    return plumb_mlir_reject(d, "its kind");
  plumb_mlir_run indices = plumb_mlir_operands(d, op, 2, (intptr_t)buffer.rank);
  plumb_reg address = plumb_mlir_address(d, &buffer, indices.regs);
  plumb_reg old = plumb_reg_create(d->b.function, buffer.element.dtype);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_ATOMIC, buffer.element.dtype, &old, 1,
                                 (plumb_reg[]){address, plumb_mlir_operand1(d, op, 0)}, 2);
  inst->sub = (uint8_t)atomic;
  inst->space = (uint8_t)buffer.space;
  plumb_mlir_define_result1(d, op, 0, old);
  return true;
}

static plumb_dtype int_of_bytes(unsigned bytes) {
  return bytes == 1 ? PLUMB_I8 : bytes == 2 ? PLUMB_I16 : bytes == 4 ? PLUMB_I32 : PLUMB_I64;
}

/* The region computes the new value from the current one, until no other lane came between:
 * compared by bits, so that a NaN ends the loop too. */
static bool decode_generic_atomic(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer buffer;
  /* Its definition says "the latest value that was stored", its lowering returns the value
   * before: a program that depends on which is not decided. */
  if (!mlirOpOperandIsNull(mlirValueGetFirstUse(mlirOperationGetResult(op, 0))))
    return plumb_mlir_reject(d, "its result is used, and defined in two ways");
  if (!open_operand(d, op, 0, &buffer)) return false;
  unsigned bytes = plumb_dtype_bytes(buffer.element.dtype);
  if (buffer.element.count != 1 || bytes > 8) return plumb_mlir_reject(d, "its element type");
  plumb_function *f = d->b.function;
  plumb_dtype type = buffer.element.dtype, word = int_of_bytes(bytes);
  plumb_mlir_run indices = plumb_mlir_operands(d, op, 1, (intptr_t)buffer.rank);
  plumb_reg address = plumb_mlir_address(d, &buffer, indices.regs);
  plumb_reg current = plumb_reg_create(f, word);
  plumb_inst *load = plumb_build(&d->b, PLUMB_OP_LOAD, word, &current, 1, &address, 1);
  load->space = (uint8_t)buffer.space;
  load->flags |= PLUMB_FLAG_RELAXED; /* it may race: the exchange finds out */
  uint32_t head = plumb_block_create(f), again = plumb_block_create(f);
  uint32_t exit = plumb_block_create(f);
  plumb_build_bra(&d->b, head);
  d->b.block = head;
  MlirBlock body = plumb_mlir_body(op, 0);
  plumb_reg value = plumb_build1(&d->b, PLUMB_OP_MOV, type, current);
  plumb_mlir_bind_argument(d, body, 0, &value, 1);
  plumb_mlir_inline_block(d, body);
  plumb_reg next = plumb_mlir_operand1(d, plumb_mlir_terminator(body), 0);
  plumb_reg seen = plumb_reg_create(f, word);
  plumb_inst *inst = plumb_build(
      &d->b, PLUMB_OP_ATOMIC, word, &seen, 1,
      (plumb_reg[]){address, current, plumb_build1(&d->b, PLUMB_OP_MOV, word, next)}, 3);
  inst->sub = PLUMB_ATOMIC_CAS;
  inst->space = (uint8_t)buffer.space;
  plumb_build_condbr(&d->b, plumb_build_cmp(&d->b, PLUMB_CMP_EQ, word, seen, current), exit, again);
  d->b.block = again;
  plumb_build_mov(&d->b, current, seen);
  plumb_build_bra(&d->b, head);
  d->b.block = exit;
  plumb_mlir_define_result1(d, op, 0, value);
  return true;
}

/* --- scopes and hints --- */

static bool decode_alloca_scope(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_exit exit = {.block = plumb_block_create(d->b.function)};
  plumb_reg *regs = NULL;
  size_t count = 0, capacity = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    plumb_mlir_run run = plumb_mlir_fresh(d, plumb_mlir_result_type(op, i));
    regs = plumb_arena_grow(d->arena, regs, &capacity, count + run.count + 1, sizeof *regs);
    for (size_t j = 0; j < run.count; j++) regs[count++] = run.regs[j];
  }
  exit.results = (plumb_mlir_run){regs, count};
  plumb_mlir_decode_region(d, mlirOperationGetRegion(op, 0), &exit);
  plumb_mlir_split_results(d, op, exit.results);
  return true;
}

static bool decode_leave(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_leave(d, plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op)));
  return true;
}

/* Promises to the optimiser: the values themselves go through. */
static bool decode_hint(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    plumb_mlir_run run = plumb_mlir_operand(d, op, i);
    plumb_mlir_define_result(d, op, i, run.regs, run.count);
  }
  return true;
}

static bool decode_inner(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)op;
  (void)row;
  return plumb_mlir_reject(d, "outside the operation that it belongs to");
}

const plumb_mlir_op plumb_mlir_ops_memref[] = {
    {"memref.alloc", decode_alloc, 0},
    {"memref.alloca", decode_alloc, 1},
    {"memref.dealloc", decode_dealloc, 0},
    {"memref.realloc", decode_realloc, 0},
    {"memref.load", decode_load, 0},
    {"memref.store", decode_store, 0},
    {"memref.copy", decode_copy, 0},
    {"memref.global", decode_global, 0},
    {"memref.get_global", decode_get_global, 0},
    {"memref.atomic_rmw", decode_atomic_rmw, 0},
    {"memref.generic_atomic_rmw", decode_generic_atomic, 0},
    {"memref.atomic_yield", decode_inner, 0},
    {"memref.alloca_scope", decode_alloca_scope, 0},
    {"memref.alloca_scope.return", decode_leave, 0},
    {"memref.assume_alignment", decode_hint, 0},
    {"memref.distinct_objects", decode_hint, 0},
    {"memref.prefetch", decode_hint, 0},
    {0},
};

/* gpu.subgroup_mma_*: matrices that a subgroup of 32 lanes holds (GPUOps.td of LLVM 22). Which
 * lane holds which element is open there; here it is as in PTX's wmma, whose fragments do not
 * depend on the layout in memory. A lane's elements are registers of their own, but those of
 * si8 and ui8: four to a 32-bit word. */
#include <stdio.h>
#include <string.h>

#include "ir/mlir/decode_internal.h"
#include "ir/ptx/ptx.h"

typedef struct matrix {
  long rows, columns;
  char use; /* 'a', 'b' or 'c' */
  char type[8];
  long m, n, k;
} matrix;

/* "!gpu.mma_matrix<16x16xf16, "AOp">", and the smallest wmma that has such an operand. */
static bool matrix_of(const char *text, matrix *out) {
  static const struct {
    long m, n, k;
  } shapes[] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}, {16, 16, 8}, {8, 8, 4}};
  if (sscanf(text, "!gpu.mma_matrix<%ldx%ldx%7[a-z0-9], \"%cOp\">", &out->rows, &out->columns,
             out->type, &out->use) != 4 ||
      out->use < 'A' || out->use > 'C')
    return false;
  out->use = (char)(out->use - 'A' + 'a');
  bool f64 = strcmp(out->type, "f64") == 0, tf32 = out->use != 'c' && strcmp(out->type, "f32") == 0;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    long m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;
    if (k != (f64 ? 4 : tf32 ? 8 : 16)) continue;
    if (out->rows != (out->use == 'b' ? k : m) || out->columns != (out->use == 'a' ? k : n))
      continue;
    out->m = m, out->n = n, out->k = k;
    return true;
  }
  return false;
}

static bool is(const char *a, const char *b) {
  return strcmp(a, b) == 0;
}

bool plumb_mlir_mma_matrix(const char *text, plumb_dtype *out_type, size_t *out_count) {
  matrix m;
  if (!matrix_of(text, &m)) return false;
  size_t elements = (size_t)(m.rows * m.columns) / 32;
  *out_count = elements;
  if (is(m.type, "f16")) {
    *out_type = PLUMB_F16;
    if (m.use != 'c') *out_count = 16; /* wmma's registers of A and B, whatever the shape */
  } else if (is(m.type, "f32")) {
    *out_type = PLUMB_F32;
  } else if (is(m.type, "f64")) {
    *out_type = PLUMB_F64;
  } else if (is(m.type, "i32") && m.use == 'c') {
    *out_type = PLUMB_I32;
  } else if (is(m.type, "si8") || is(m.type, "ui8")) {
    *out_type = PLUMB_I32;
    *out_count = elements / 4;
  } else {
    return false;
  }
  return true;
}

static bool open_matrix(plumb_mlir_decoder *d, MlirType type, matrix *out) {
  const char *text = plumb_mlir_print_type(d, type);
  return matrix_of(text, out) || plumb_mlir_reject(d, "type %s", text);
}

/* The element type as PTX has it. */
static const char *ptx_type(const matrix *m) {
  if (m->use != 'c' && is(m->type, "f32")) return "tf32";
  return is(m->type, "si8")   ? "s8"
         : is(m->type, "ui8") ? "u8"
         : is(m->type, "i32") ? "s32"
                              : m->type;
}

static bool packed(const matrix *m) {
  return is(m->type, "si8") || is(m->type, "ui8");
}

/* Calls the intrinsic with runs; its value is result 0 of `op`, where that has one. */
static bool call(plumb_mlir_decoder *d, MlirOperation op, const char *name,
                 const plumb_ptx_run *args, size_t count) {
  plumb_mlir_flat flat = {0};
  bool has_result = mlirOperationGetNumResults(op) > 0;
  if (has_result && !plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &flat)) return false;
  plumb_reg *made = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  if (!plumb_ptx_build_intrinsic(&d->b, d->program->name, name, args, count, flat.types, flat.count,
                                 made))
    return plumb_mlir_reject(d, "%s", name);
  if (has_result) plumb_mlir_define_result(d, op, 0, made, flat.count);
  return true;
}

/* Pairs of halves are one argument. */
static size_t arguments(plumb_mlir_decoder *d, plumb_mlir_run run, plumb_ptx_run *out) {
  size_t count = 0;
  for (size_t i = 0; i < run.count; i++) {
    bool pair = plumb_reg_type(d->b.function, run.regs[i]) == PLUMB_F16;
    out[count++] = (plumb_ptx_run){run.regs + i, pair ? 2 : 1};
    i += pair;
  }
  return count;
}

enum { LOAD, STORE };

/* Operands: {matrix,} memref, indices. */
static bool decode_move(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  bool store = row->code == STORE;
  intptr_t memref = store ? 1 : 0;
  matrix m;
  plumb_mlir_buffer buffer;
  int64_t stride;
  if (!open_matrix(d, store ? plumb_mlir_operand_type(op, 0) : plumb_mlir_result_type(op, 0), &m) ||
      !plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, memref),
                              plumb_mlir_operand_type(op, memref), &buffer) ||
      !plumb_mlir_attribute_int(op, "leadDimension", &stride))
    return false;
  if (buffer.element.count != 1) return plumb_mlir_reject(d, "a memref of vectors");
  if (store && m.use != 'c') return plumb_mlir_reject(d, "a store of %cOp", m.use - 'a' + 'A');
  if (buffer.space == PLUMB_SPACE_LOCAL || buffer.space == PLUMB_SPACE_CONST)
    return plumb_mlir_reject(d, "memory that is neither global nor shared");
  plumb_reg *indices = PLUMB_NEW_ARRAY(d->arena, plumb_reg, buffer.rank + 1);
  for (size_t i = 0; i < buffer.rank; i++)
    indices[i] = plumb_mlir_operand1(d, op, memref + 1 + (intptr_t)i);
  plumb_reg address = plumb_mlir_address(d, &buffer, indices);
  plumb_reg leading = plumb_constant(d->program, PLUMB_I32, (uint64_t)stride);
  plumb_ptx_run args[20] = {{&address, 1}};
  size_t count = 1;
  if (store) count += arguments(d, plumb_mlir_operand(d, op, 0), args + 1);
  args[count++] = (plumb_ptx_run){&leading, 1};
  const char *layout = plumb_mlir_attribute_flag(op, "transpose") ? "col" : "row";
  char *name =
      plumb_arena_printf(d->arena, "llvm.nvvm.wmma.m%ldn%ldk%ld.%s.%c.%s.stride.%s.p%d", m.m, m.n,
                         m.k, store ? "store" : "load", store ? 'd' : m.use, layout, ptx_type(&m),
                         buffer.space == PLUMB_SPACE_SHARED   ? 3
                         : buffer.space == PLUMB_SPACE_GLOBAL ? 1
                                                              : 0);
  return call(d, op, name, args, count);
}

/* a_transpose and b_transpose only say how the operands were loaded. */
static bool decode_compute(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  matrix a, b, c;
  if (!open_matrix(d, plumb_mlir_operand_type(op, 0), &a) ||
      !open_matrix(d, plumb_mlir_operand_type(op, 1), &b) ||
      !open_matrix(d, plumb_mlir_operand_type(op, 2), &c))
    return false;
  if (!is(a.type, b.type)) return plumb_mlir_reject(d, "%s times %s", a.type, b.type);
  if (is(a.type, "f32"))
    return plumb_mlir_reject(d, "f32 times f32: whether it is rounded to tf32 is not said");
  plumb_ptx_run args[48];
  size_t count = 0;
  for (intptr_t i = 0; i < 3; i++)
    count += arguments(d, plumb_mlir_operand(d, op, i), args + count);
  char *name = is(a.type, "f16")
                   ? plumb_arena_printf(d->arena, "llvm.nvvm.wmma.m%ldn%ldk%ld.mma.row.row.%s.%s",
                                        a.rows, b.columns, a.columns, c.type, c.type)
                   : plumb_arena_printf(d->arena, "llvm.nvvm.wmma.m%ldn%ldk%ld.mma.row.row.%s",
                                        a.rows, b.columns, a.columns, ptx_type(&a));
  return call(d, op, name, args, count);
}

static bool decode_constant(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  matrix m;
  if (!open_matrix(d, plumb_mlir_result_type(op, 0), &m)) return false;
  plumb_reg value = plumb_mlir_operand1(d, op, 0);
  if (packed(&m)) {
    value = plumb_build_cvt(&d->b, PLUMB_I32, PLUMB_I8, value, 0, PLUMB_RZ);
    value = plumb_build2(&d->b, PLUMB_OP_MUL, PLUMB_I32, value,
                         plumb_constant(d->program, PLUMB_I32, 0x01010101));
  }
  plumb_mlir_run run = plumb_mlir_fresh_result(d, op, 0);
  for (size_t i = 0; i < run.count; i++) plumb_build_mov(&d->b, run.regs[i], value);
  return run.count > 0;
}

/* maxf and minf are arith.maximumf and minimumf: vector-to-gpu makes them of those. */
static const struct {
  const char *name;
  uint16_t op;
  uint8_t operands;
  bool is_float;
} elementwise[] = {{"addf", PLUMB_OP_ADD, 2, true},    {"subf", PLUMB_OP_SUB, 2, true},
                   {"mulf", PLUMB_OP_MUL, 2, true},    {"divf", PLUMB_OP_DIV, 2, true},
                   {"maxf", PLUMB_OP_MAX, 2, true},    {"minf", PLUMB_OP_MIN, 2, true},
                   {"negatef", PLUMB_OP_NEG, 1, true}, {"extf", PLUMB_OP_CVT, 1, true},
                   {"addi", PLUMB_OP_ADD, 2, false},   {"subi", PLUMB_OP_SUB, 2, false},
                   {"muli", PLUMB_OP_MUL, 2, false}};

static bool decode_elementwise(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const char *what = plumb_mlir_attribute_text(d, op, "opType");
  size_t i = 0, rows = sizeof elementwise / sizeof *elementwise;
  while (i < rows && !plumb_mlir_text_has(what, elementwise[i].name)) i++;
  matrix m, to;
  if (i == rows) return plumb_mlir_reject(d, "operation %s", what);
  if (!open_matrix(d, plumb_mlir_operand_type(op, 0), &m) ||
      !open_matrix(d, plumb_mlir_result_type(op, 0), &to))
    return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = a;
  if (elementwise[i].operands == 2) b = plumb_mlir_operand(d, op, 1);
  plumb_mlir_run run = plumb_mlir_fresh_result(d, op, 0);
  if (packed(&m) || run.count != a.count || b.count != a.count)
    return plumb_mlir_reject(d, "%s of %s", elementwise[i].name, m.type);
  for (size_t k = 0; k < run.count; k++) {
    plumb_dtype type = plumb_reg_type(d->b.function, run.regs[k]);
    plumb_inst *inst = plumb_build(&d->b, (plumb_op)elementwise[i].op, type, &run.regs[k], 1,
                                   (plumb_reg[]){a.regs[k], b.regs[k]}, elementwise[i].operands);
    if (inst->op == PLUMB_OP_CVT) inst->type2 = (uint8_t)plumb_reg_type(d->b.function, a.regs[k]);
    if (inst->op == PLUMB_OP_MAX || inst->op == PLUMB_OP_MIN) inst->sub = PLUMB_NAN_PROPAGATE;
    if (plumb_dtype_is_float(type) != elementwise[i].is_float) return false;
  }
  return true;
}

enum { EXTRACT, INSERT };

/* Operands: {value,} matrix, index. Index i is the lane's i-th element. */
static bool decode_element(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  intptr_t first = row->code == INSERT ? 1 : 0;
  matrix m;
  int64_t index;
  if (!open_matrix(d, plumb_mlir_operand_type(op, first), &m)) return false;
  plumb_mlir_run run = plumb_mlir_operand(d, op, first);
  if (packed(&m) || mlirOperationGetNumOperands(op) != first + 2)
    return plumb_mlir_reject(d, "an element of %s", m.type);
  plumb_reg at = plumb_mlir_operand1(d, op, first + 1);
  size_t held = (size_t)(m.rows * m.columns) / 32;
  if (!plumb_mlir_reg_value(d, at, &index) || index < 0 || (size_t)index >= held)
    return plumb_mlir_reject(d, "an index that is no constant of the lane's elements");
  if (row->code == EXTRACT) {
    plumb_mlir_define_result1(d, op, 0, run.regs[index]);
    return true;
  }
  plumb_mlir_run result = plumb_mlir_fresh_result(d, op, 0);
  for (size_t k = 0; k < result.count; k++)
    plumb_build_mov(&d->b, result.regs[k],
                    k % held == (size_t)index ? plumb_mlir_operand1(d, op, 0) : run.regs[k]);
  return true;
}

const plumb_mlir_op plumb_mlir_ops_gpu_matrix[] = {
    {"gpu.subgroup_mma_load_matrix", decode_move, LOAD},
    {"gpu.subgroup_mma_store_matrix", decode_move, STORE},
    {"gpu.subgroup_mma_compute", decode_compute, 0},
    {"gpu.subgroup_mma_constant_matrix", decode_constant, 0},
    {"gpu.subgroup_mma_elementwise", decode_elementwise, 0},
    {"gpu.subgroup_mma_extract_thread_local", decode_element, EXTRACT},
    {"gpu.subgroup_mma_insert_thread_local", decode_element, INSERT},
    {0}};

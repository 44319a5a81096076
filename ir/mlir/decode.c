/* The decoder's frame: values, locations, and the dispatch by operation name. */
#include "ir/mlir/decode_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/mlir/tables.h"
#include "ir/operations.h"

static const plumb_mlir_op *const dialects[] = {
    plumb_mlir_ops_builtin,     plumb_mlir_ops_func,
    plumb_mlir_ops_arith,       plumb_mlir_ops_math,
    plumb_mlir_ops_scf,         plumb_mlir_ops_cf,
    plumb_mlir_ops_affine,      plumb_mlir_ops_memref,
    plumb_mlir_ops_memref_view, plumb_mlir_ops_gpu,
    plumb_mlir_ops_gpu_lane,    plumb_mlir_ops_index,
    plumb_mlir_ops_ub,          plumb_mlir_ops_linalg,
    plumb_mlir_ops_tensor,      plumb_mlir_ops_bufferization,
    plumb_mlir_ops_vector,      plumb_mlir_ops_llvm,
    plumb_mlir_ops_nvvm,        plumb_mlir_ops_nvvm_async,
    plumb_mlir_ops_nvvm_bulk,   plumb_mlir_ops_nvvm_convert,
    plumb_mlir_ops_nvvm_matrix, plumb_mlir_ops_gpu_matrix,
};
enum { DIALECTS = sizeof dialects / sizeof *dialects };

const char *plumb_mlir_operation_name(size_t index) {
  for (size_t i = 0; i < DIALECTS; i++)
    for (const plumb_mlir_op *row = dialects[i]; row->name; row++)
      if (index-- == 0) return row->name;
  return NULL;
}

/* --- hash tables by pointer --- */

static size_t hash_pointer(const void *p) {
  uint64_t x = (uint64_t)(uintptr_t)p * UINT64_C(0x9E3779B97F4A7C15);
  return (size_t)(x >> 20);
}

static void *row_at(void *table, size_t row_bytes, size_t i) {
  return (char *)table + i * row_bytes;
}

static const void *key_of(const void *row) {
  const void *key;
  memcpy(&key, row, sizeof key);
  return key;
}

static size_t find_slot(void *table, size_t capacity, size_t row_bytes, const void *key) {
  size_t i = hash_pointer(key) & (capacity - 1);
  while (key_of(row_at(table, row_bytes, i)) && key_of(row_at(table, row_bytes, i)) != key)
    i = (i + 1) & (capacity - 1);
  return i;
}

static void *find_row(void *table, size_t capacity, size_t row_bytes, const void *key) {
  if (!capacity) return NULL;
  void *row = row_at(table, row_bytes, find_slot(table, capacity, row_bytes, key));
  return key_of(row) ? row : NULL;
}

void *plumb_mlir_row(plumb_arena *arena, void *table, size_t *count, size_t *capacity,
                     size_t row_bytes, const void *key, void **out_table) {
  if (2 * (*count + 1) > *capacity) {
    size_t grown = *capacity ? 2 * *capacity : 64;
    void *bigger = plumb_arena_alloc_array(arena, grown, row_bytes);
    for (size_t i = 0; i < *capacity; i++) {
      const void *row = row_at(table, row_bytes, i);
      if (!key_of(row)) continue;
      memcpy(row_at(bigger, row_bytes, find_slot(bigger, grown, row_bytes, key_of(row))), row,
             row_bytes);
    }
    table = bigger;
    *capacity = grown;
  }
  *out_table = table;
  void *row = row_at(table, row_bytes, find_slot(table, *capacity, row_bytes, key));
  if (!key_of(row)) {
    memcpy(row, &key, sizeof key);
    (*count)++;
  }
  return row;
}

/* --- values --- */

static plumb_mlir_run fresh_of(plumb_mlir_decoder *d, const plumb_mlir_flat *flat) {
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat->count + 1);
  for (size_t i = 0; i < flat->count; i++)
    regs[i] = plumb_reg_create(d->b.function, flat->types[i]);
  return (plumb_mlir_run){regs, flat->count};
}

plumb_mlir_run plumb_mlir_fresh(plumb_mlir_decoder *d, MlirType type) {
  plumb_mlir_flat flat;
  if (!plumb_mlir_flatten(d, type, &flat)) return (plumb_mlir_run){NULL, 0};
  return fresh_of(d, &flat);
}

void plumb_mlir_define(plumb_mlir_decoder *d, MlirValue value, const plumb_reg *regs,
                       size_t count) {
  plumb_mlir_tables *t = d->tables;
  void *table;
  plumb_mlir_binding *row = plumb_mlir_row(d->arena, t->values, &t->value_count, &t->value_capacity,
                                           sizeof *row, value.ptr, &table);
  t->values = table;
  plumb_reg *copy = PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1);
  if (count) memcpy(copy, regs, count * sizeof *copy);
  row->run = (plumb_mlir_run){copy, count};
  row->scope = d->scope;
}

static bool is_inside(const plumb_mlir_scope *scope, const plumb_mlir_scope *owner) {
  while (scope && scope != owner) scope = scope->outer;
  return scope != NULL;
}

plumb_mlir_run plumb_mlir_get(plumb_mlir_decoder *d, MlirValue value) {
  plumb_mlir_binding *row =
      find_row(d->tables->values, d->tables->value_capacity, sizeof(plumb_mlir_binding), value.ptr);
  if (!row || !is_inside(d->scope, row->scope)) {
    plumb_mlir_run unknown = plumb_mlir_fresh(d, mlirValueGetType(value));
    plumb_build_unsupported(&d->b, "a value from outside what was decoded", unknown.regs,
                            unknown.count);
    return unknown;
  }
  if (row->scope == d->scope) return row->run;
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, row->run.count + 1);
  for (size_t i = 0; i < row->run.count; i++)
    regs[i] = plumb_mlir_capture_from(d, d->scope, row->scope, row->run.regs[i]);
  return (plumb_mlir_run){regs, row->run.count};
}

plumb_mlir_run plumb_mlir_operand(plumb_mlir_decoder *d, MlirOperation op, intptr_t index) {
  return plumb_mlir_get(d, mlirOperationGetOperand(op, index));
}

plumb_reg plumb_mlir_operand1(plumb_mlir_decoder *d, MlirOperation op, intptr_t index) {
  if (index < mlirOperationGetNumOperands(op)) {
    plumb_mlir_run run = plumb_mlir_operand(d, op, index);
    if (run.count == 1) return run.regs[0];
  }
  plumb_reg unknown = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build_unsupported(
      &d->b,
      plumb_arena_printf(d->arena, "%s: operand %zd", plumb_mlir_name(d, op), (ssize_t)index),
      &unknown, 1);
  return unknown;
}

void plumb_mlir_define_result(plumb_mlir_decoder *d, MlirOperation op, intptr_t index,
                              const plumb_reg *regs, size_t count) {
  plumb_mlir_define(d, mlirOperationGetResult(op, index), regs, count);
}

void plumb_mlir_define_result1(plumb_mlir_decoder *d, MlirOperation op, intptr_t index,
                               plumb_reg reg) {
  plumb_mlir_define_result(d, op, index, &reg, 1);
}

plumb_mlir_run plumb_mlir_fresh_result(plumb_mlir_decoder *d, MlirOperation op, intptr_t index) {
  plumb_mlir_run run = plumb_mlir_fresh(d, plumb_mlir_result_type(op, index));
  plumb_mlir_define_result(d, op, index, run.regs, run.count);
  return run;
}

bool plumb_mlir_reject(plumb_mlir_decoder *d, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  d->why = plumb_arena_copy_string(d->arena, text);
  return false;
}

/* --- blocks --- */

void plumb_mlir_map_block(plumb_mlir_decoder *d, MlirBlock block, uint32_t index) {
  plumb_mlir_tables *t = d->tables;
  void *table;
  plumb_mlir_block_row *row = plumb_mlir_row(d->arena, t->blocks, &t->block_count,
                                             &t->block_capacity, sizeof *row, block.ptr, &table);
  t->blocks = table;
  row->block = index;
}

uint32_t plumb_mlir_block_of(plumb_mlir_decoder *d, MlirBlock block) {
  const plumb_mlir_block_row *row = find_row(d->tables->blocks, d->tables->block_capacity,
                                             sizeof(plumb_mlir_block_row), block.ptr);
  return row ? row->block : 0;
}

/* --- locations --- */

/* The innermost file position: of a call site its callee, of a fused location the first. */
static uint32_t location(plumb_mlir_decoder *d, MlirLocation at, int depth) {
  if (depth > 16) return 0;
  if (mlirLocationIsAFileLineColRange(at)) {
    MlirStringRef file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(at));
    const char *name = plumb_arena_copy_text(d->arena, file.data, file.length);
    return plumb_loc_add(d->program, name, mlirLocationFileLineColRangeGetStartLine(at),
                         mlirLocationFileLineColRangeGetStartColumn(at), 0);
  }
  if (mlirLocationIsACallSite(at)) return location(d, mlirLocationCallSiteGetCallee(at), depth + 1);
  if (mlirLocationIsAName(at)) return location(d, mlirLocationNameGetChildLoc(at), depth + 1);
  if (!mlirLocationIsAFused(at)) return 0;
  unsigned count = mlirLocationFusedGetNumLocations(at);
  MlirLocation *parts = PLUMB_NEW_ARRAY(d->arena, MlirLocation, count + 1);
  mlirLocationFusedGetLocations(at, parts);
  for (unsigned i = 0; i < count; i++) {
    uint32_t loc = location(d, parts[i], depth + 1);
    if (loc) return loc;
  }
  return 0;
}

void plumb_mlir_set_location(plumb_mlir_decoder *d, MlirOperation op) {
  uint32_t loc = location(d, mlirOperationGetLocation(op), 0);
  if (loc) d->b.loc = loc;
}

/* --- dispatch --- */

static size_t hash_name(const char *text, size_t length) {
  uint64_t h = UINT64_C(1469598103934665603);
  for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
  return (size_t)h;
}

static bool same(const plumb_mlir_op *row, const char *text, size_t length) {
  return strncmp(row->name, text, length) == 0 && row->name[length] == 0;
}

static void index_rows(plumb_mlir_decoder *d) {
  plumb_mlir_tables *t = d->tables;
  size_t count = 0;
  while (plumb_mlir_operation_name(count)) count++;
  for (t->row_capacity = 64; t->row_capacity < 2 * count;) t->row_capacity *= 2;
  t->rows = PLUMB_NEW_ARRAY(d->arena, const plumb_mlir_op *, t->row_capacity);
  for (size_t i = 0; i < DIALECTS; i++)
    for (const plumb_mlir_op *row = dialects[i]; row->name; row++) {
      size_t at = hash_name(row->name, strlen(row->name)) & (t->row_capacity - 1);
      while (t->rows[at]) at = (at + 1) & (t->row_capacity - 1);
      t->rows[at] = row;
    }
}

static const plumb_mlir_op *find_op(const plumb_mlir_decoder *d, MlirOperation op) {
  const plumb_mlir_tables *t = d->tables;
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  size_t at = hash_name(name.data, name.length) & (t->row_capacity - 1);
  while (t->rows[at] && !same(t->rows[at], name.data, name.length))
    at = (at + 1) & (t->row_capacity - 1);
  return t->rows[at];
}

/* Handlers may rely on it: every operand and result has registers. */
static bool has_registers(plumb_mlir_decoder *d, MlirOperation op) {
  plumb_mlir_flat flat;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
    if (!plumb_mlir_flatten(d, plumb_mlir_operand_type(op, i), &flat)) return false;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    if (!plumb_mlir_flatten(d, plumb_mlir_result_type(op, i), &flat)) return false;
  return true;
}

static void build_unknown(plumb_mlir_decoder *d, MlirOperation op) {
  plumb_reg *regs = NULL;
  size_t count = 0, capacity = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    plumb_mlir_run run = plumb_mlir_fresh_result(d, op, i);
    regs = plumb_arena_grow(d->arena, regs, &capacity, count + run.count + 1, sizeof *regs);
    for (size_t j = 0; j < run.count; j++) regs[count++] = run.regs[j];
  }
  const char *name = plumb_mlir_name(d, op);
  const char *what = d->why ? plumb_arena_printf(d->arena, "%s: %s", name, d->why) : name;
  /* A value of very many elements is left undefined rather than named in one list. */
  if (count > 60000) count = 0;
  plumb_build_unsupported(&d->b, what, regs, count);
}

void plumb_mlir_decode_operation(plumb_mlir_decoder *d, MlirOperation op) {
  uint32_t outer = d->b.loc;
  if (d->b.function) {
    if (plumb_builder_terminated(&d->b)) d->b.block = plumb_block_create(d->b.function);
    plumb_mlir_set_location(d, op);
  }
  d->why = NULL;
  const plumb_mlir_op *row = find_op(d, op);
  plumb_function *f = d->b.function;
  uint32_t block = d->b.block;
  size_t blocks = f ? f->block_count : 0, count = blocks ? f->blocks[block].inst_count : 0;
  bool known = row && has_registers(d, op) && row->decode(d, op, row);
  if (d->denormal_flags && f && f == d->b.function)
    plumb_mlir_llvm_follow_denormal_mode(d, op, block, count, blocks);
  /* Outside functions what is not known has no code, only symbols that stay undefined. */
  if (!known && d->b.function) build_unknown(d, op);
  d->b.loc = outer;
}

void plumb_mlir_decode_module(plumb_mlir_decoder *d, MlirOperation module) {
  MlirOperation outer = d->symbol_scope;
  d->symbol_scope = module;
  MlirBlock body = plumb_mlir_body(module, 0);
  /* Globals first: functions refer to them by number. */
  for (int pass = 0; pass < 2 && !mlirBlockIsNull(body); pass++)
    for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
         op = mlirOperationGetNextInBlock(op)) {
      bool global =
          plumb_mlir_name_is(op, "memref.global") || plumb_mlir_name_is(op, "llvm.mlir.global");
      if (global == (pass == 0)) plumb_mlir_decode_operation(d, op);
    }
  d->symbol_scope = outer;
}

plumb_status plumb_mlir_decode(plumb_program *p, MlirModule module,
                               const plumb_mlir_options *options, plumb_diag *diag) {
  plumb_mlir_tables tables = {0};
  plumb_mlir_decoder d = {.program = p,
                          .arena = p->arena,
                          .context = mlirModuleGetContext(module),
                          .diag = diag,
                          .tables = &tables};
  d.b.guard = PLUMB_NO_REG;
  if (options) d.options = *options;
  index_rows(&d);
  MlirOperation op = mlirModuleGetOperation(module);
  plumb_mlir_collect_symbols(&d, op);
  plumb_mlir_decode_module(&d, op);
  return d.status;
}

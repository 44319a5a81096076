/* Symbols, functions, and the signature of a function. */
#include <stdio.h>
#include <string.h>

#include "ir/mlir/decode_internal.h"
#include "ir/mlir/tables.h"

static const char *string_attribute(plumb_mlir_decoder *d, MlirOperation op, const char *name) {
  MlirAttribute a;
  if (!plumb_mlir_attribute(op, name, &a) || !mlirAttributeIsAString(a)) return "";
  MlirStringRef text = mlirStringAttrGetValue(a);
  return plumb_arena_copy_text(d->arena, text.data, text.length);
}

static bool is_scope(MlirOperation op) {
  return plumb_mlir_name_is(op, "builtin.module") || plumb_mlir_name_is(op, "gpu.module");
}

static bool taken(const plumb_mlir_decoder *d, const char *name) {
  for (size_t i = 0; i < d->tables->symbol_count; i++)
    if (strcmp(d->tables->symbols[i].name, name) == 0) return true;
  return false;
}

/* Kernels go by their plain name, as in device code from LLVM IR and PTX; a second symbol
 * of the same name is told apart by its module's. */
static void add_symbol(plumb_mlir_decoder *d, MlirOperation scope, MlirOperation op) {
  plumb_mlir_tables *t = d->tables;
  const char *symbol = string_attribute(d, op, "sym_name");
  if (!*symbol) return;
  const char *name = symbol;
  if (taken(d, name)) {
    name = plumb_arena_printf(d->arena, "%s::%s", string_attribute(d, scope, "sym_name"), symbol);
    for (int n = 2; taken(d, name); n++)
      name = plumb_arena_printf(d->arena, "%s::%s.%d", string_attribute(d, scope, "sym_name"),
                                symbol, n);
  }
  t->symbols = plumb_arena_grow(d->arena, t->symbols, &t->symbol_capacity, t->symbol_count + 1,
                                sizeof *t->symbols);
  t->symbols[t->symbol_count++] = (plumb_mlir_symbol_row){scope, op, symbol, name};
}

/* A scope's own symbols come before those of the scopes in it. */
static void collect_scope(plumb_mlir_decoder *d, MlirOperation scope) {
  MlirBlock body = plumb_mlir_body(scope, 0);
  if (mlirBlockIsNull(body)) return;
  MlirOperation first = mlirBlockGetFirstOperation(body);
  for (MlirOperation op = first; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    if (!is_scope(op)) add_symbol(d, scope, op);
  for (MlirOperation op = first; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    if (is_scope(op)) collect_scope(d, op);
}

void plumb_mlir_collect_symbols(plumb_mlir_decoder *d, MlirOperation module) {
  collect_scope(d, module);
}

static const char *find_in(const plumb_mlir_decoder *d, MlirOperation scope, const char *symbol) {
  for (size_t i = 0; i < d->tables->symbol_count; i++) {
    const plumb_mlir_symbol_row *row = &d->tables->symbols[i];
    if (mlirOperationEqual(row->scope, scope) && strcmp(row->symbol, symbol) == 0) return row->name;
  }
  return NULL;
}

const char *plumb_mlir_symbol(plumb_mlir_decoder *d, const char *symbol) {
  for (MlirOperation scope = d->symbol_scope; !mlirOperationIsNull(scope);
       scope = mlirOperationGetParentOperation(scope)) {
    const char *name = find_in(d, scope, symbol);
    if (name) return name;
  }
  return symbol;
}

const char *plumb_mlir_symbol_text(plumb_mlir_decoder *d, MlirAttribute reference) {
  MlirStringRef text = {0};
  if (mlirAttributeIsAFlatSymbolRef(reference))
    text = mlirFlatSymbolRefAttrGetValue(reference);
  else if (mlirAttributeIsASymbolRef(reference))
    text = mlirSymbolRefAttrGetLeafReference(reference);
  else if (mlirAttributeIsAString(reference))
    text = mlirStringAttrGetValue(reference);
  return plumb_arena_copy_text(d->arena, text.data ? text.data : "", text.length);
}

const char *plumb_mlir_symbol_name(plumb_mlir_decoder *d, MlirAttribute reference) {
  const char *leaf = plumb_mlir_symbol_text(d, reference);
  if (!mlirAttributeIsASymbolRef(reference) || mlirAttributeIsAFlatSymbolRef(reference))
    return plumb_mlir_symbol(d, leaf);
  MlirStringRef root = mlirSymbolRefAttrGetRootReference(reference);
  for (size_t i = 0; i < d->tables->symbol_count; i++) {
    const plumb_mlir_symbol_row *row = &d->tables->symbols[i];
    const char *scope = string_attribute(d, row->scope, "sym_name");
    if (strlen(scope) == root.length && memcmp(scope, root.data, root.length) == 0 &&
        strcmp(row->symbol, leaf) == 0)
      return row->name;
  }
  return leaf;
}

const char *plumb_mlir_defined_name(plumb_mlir_decoder *d, MlirOperation op) {
  for (size_t i = 0; i < d->tables->symbol_count; i++)
    if (mlirOperationEqual(d->tables->symbols[i].op, op)) return d->tables->symbols[i].name;
  return "";
}

/* --- functions --- */

static plumb_mlir_run parameter(plumb_mlir_decoder *d, plumb_function *f,
                                const plumb_mlir_flat *flat) {
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat->count + 1);
  for (size_t i = 0; i < flat->count; i++) {
    if (f->kind != PLUMB_KERNEL) {
      regs[i] = plumb_function_add_param(f, NULL, flat->types[i]);
      continue;
    }
    uint32_t bytes = plumb_dtype_bytes(flat->types[i]);
    uint32_t offset = plumb_function_add_kernel_param(f, NULL, flat->types[i], bytes, bytes);
    if (f->external) continue;
    regs[i] = plumb_build_load(&d->b, flat->types[i], PLUMB_SPACE_PARAM,
                               plumb_mlir_i64(d, (int64_t)offset), 0);
  }
  return (plumb_mlir_run){regs, flat->count};
}

/* Workgroup and private attributions of gpu.func follow the inputs: static memrefs. */
static bool attribution(plumb_mlir_decoder *d, MlirBlock entry, intptr_t index) {
  MlirType type = mlirValueGetType(mlirBlockGetArgument(entry, index));
  plumb_mlir_run run;
  if (!plumb_mlir_static_buffer(d, type, "attribution", &run)) return false;
  plumb_mlir_bind_argument(d, entry, index, run.regs, run.count);
  return true;
}

static bool parameters(plumb_mlir_decoder *d, MlirOperation op, plumb_function *f,
                       const MlirType *inputs, size_t input_count, MlirBlock entry) {
  for (size_t i = 0; i < input_count; i++) {
    plumb_mlir_flat flat;
    plumb_mlir_run run;
    plumb_reg address;
    if (!plumb_mlir_flatten(d, inputs[i], &flat)) return false;
    if (f->kind == PLUMB_KERNEL && !f->external &&
        plumb_mlir_llvm_byval_param(d, op, (intptr_t)i, &address))
      run = (plumb_mlir_run){&address, 1};
    else
      run = parameter(d, f, &flat);
    if (!mlirBlockIsNull(entry))
      plumb_mlir_bind_argument(d, entry, (intptr_t)i, run.regs, run.count);
  }
  if (mlirBlockIsNull(entry)) return true;
  for (intptr_t i = (intptr_t)input_count; i < mlirBlockGetNumArguments(entry); i++)
    if (!attribution(d, entry, i)) return false;
  return true;
}

static bool set_results(plumb_mlir_decoder *d, plumb_function *f, const MlirType *results,
                        size_t result_count) {
  size_t capacity = 0;
  for (size_t i = 0; i < result_count; i++) {
    plumb_mlir_flat flat;
    if (!plumb_mlir_flatten(d, results[i], &flat)) return false;
    f->result_types = plumb_arena_grow(d->arena, f->result_types, &capacity,
                                       f->result_count + flat.count + 1, sizeof(plumb_dtype));
    for (size_t j = 0; j < flat.count; j++) f->result_types[f->result_count++] = flat.types[j];
  }
  return true;
}

void plumb_mlir_function(plumb_mlir_decoder *d, MlirOperation op, const char *name,
                         plumb_function_kind kind, const MlirType *inputs, size_t input_count,
                         const MlirType *results, size_t result_count, MlirRegion body) {
  plumb_mlir_decoder saved = *d;
  MlirBlock entry = {NULL};
  if (!mlirRegionIsNull(body)) entry = mlirRegionGetFirstBlock(body);
  plumb_function *f = plumb_function_create(d->program, name, kind);
  f->external = mlirBlockIsNull(entry);
  plumb_mlir_scope *scope = PLUMB_NEW(d->arena, plumb_mlir_scope);
  *scope = (plumb_mlir_scope){.function = f};
  d->scope = scope;
  d->exit = NULL;
  d->device = kind != PLUMB_HOST;
  d->capturing = false;
  d->b = plumb_builder_at(f, f->external ? 0 : plumb_block_create(f));
  d->why = NULL;
  bool known =
      set_results(d, f, results, result_count) && parameters(d, op, f, inputs, input_count, entry);
  if (!f->external && known) {
    plumb_mlir_exit leave = {.is_return = true};
    plumb_mlir_decode_region(d, body, &leave);
  } else if (!f->external) {
    const char *what = plumb_arena_printf(d->arena, "%s @%s: %s", plumb_mlir_name(d, op), name,
                                          d->why ? d->why : "signature");
    plumb_build_unsupported(&d->b, what, NULL, 0);
    plumb_build(&d->b, PLUMB_OP_UNREACHABLE, PLUMB_I1, NULL, 0, NULL, 0);
  }
  plumb_status status = d->status;
  *d = saved;
  d->status = status;
}

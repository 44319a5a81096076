/* The tables of one decoding: values, blocks, symbols. Private to decode.c, control.c and
 * symbol.c; dialect files use decode_internal.h. */
#ifndef PLUMB_IR_MLIR_TABLES_H
#define PLUMB_IR_MLIR_TABLES_H

#include "ir/mlir/decode_internal.h"

typedef struct plumb_mlir_binding {
  const void *key; /* MlirValue.ptr */
  plumb_mlir_run run;
  plumb_mlir_scope *scope;
} plumb_mlir_binding;

typedef struct plumb_mlir_block_row {
  const void *key; /* MlirBlock.ptr */
  uint32_t block;
} plumb_mlir_block_row;

typedef struct plumb_mlir_type_row {
  const void *key; /* MlirType.ptr */
  plumb_mlir_flat flat;
  bool known; /* it has registers */
} plumb_mlir_type_row;

typedef struct plumb_mlir_symbol_row {
  MlirOperation scope; /* builtin.module or gpu.module */
  MlirOperation op;
  const char *symbol;
  const char *name; /* in the program */
} plumb_mlir_symbol_row;

typedef struct plumb_mlir_tables {
  plumb_mlir_binding *values; /* open addressing; a power of two */
  size_t value_count, value_capacity;
  plumb_mlir_block_row *blocks; /* as values */
  size_t block_count, block_capacity;
  plumb_mlir_type_row *types; /* as values */
  size_t type_count, type_capacity;
  plumb_mlir_symbol_row *symbols;
  size_t symbol_count, symbol_capacity;
  const plumb_mlir_op **rows; /* by hash of the name */
  size_t row_capacity;
} plumb_mlir_tables;

/* Row of `key` in a table whose rows begin with their key: the one that has it, or a free
 * one with the key set (and the table grown). */
void *plumb_mlir_row(plumb_arena *arena, void *table, size_t *count, size_t *capacity,
                     size_t row_bytes, const void *key, void **out_table);
void plumb_mlir_map_block(plumb_mlir_decoder *d, MlirBlock block, uint32_t index);
/* Gives each symbol of the module and its gpu.modules its name in the program. */
void plumb_mlir_collect_symbols(plumb_mlir_decoder *d, MlirOperation module);
/* Decodes the operations of a module or gpu.module. */
void plumb_mlir_decode_module(plumb_mlir_decoder *d, MlirOperation module);
/* Register of `scope` that holds what `reg` of `owner` (an outer scope) holds. */
plumb_reg plumb_mlir_capture_from(plumb_mlir_decoder *d, plumb_mlir_scope *scope,
                                  const plumb_mlir_scope *owner, plumb_reg reg);

#endif

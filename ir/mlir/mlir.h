/* MLIR modules to programs: what each operation of each upstream dialect means, from its
 * definition. It runs no pass and lowers through none.
 *
 *     MlirContext context = plumb_mlir_context_create();
 *     PLUMB_TRY(plumb_mlir_parse(context, "softmax.mlir", text, &module, diag));
 *     PLUMB_TRY(plumb_mlir_decode(program, module, &options, diag));
 *     PLUMB_TRY(plumb_program_finish(program, diag));
 */
#ifndef PLUMB_IR_MLIR_MLIR_H
#define PLUMB_IR_MLIR_MLIR_H

#include "ir/program.h"
#include "mlir-c/IR.h"

typedef struct plumb_mlir_options {
  bool host_only; /* skip the bodies of gpu.module: device code comes from another form */
} plumb_mlir_options;

/* A context with all upstream dialects loaded and unregistered operations allowed.
 * The caller destroys it (mlirContextDestroy). */
MlirContext plumb_mlir_context_create(void);

/* Parses and verifies `text` (terminated). The caller destroys *out_module.
 * PLUMB_BAD_INPUT  does not parse or verify; diag holds MLIR's own first message */
plumb_status plumb_mlir_parse(MlirContext context, const char *path, const char *text,
                              MlirModule *out_module, plumb_diag *diag);

/* Appends the module's functions and globals to `p` (see program.h for the conventions).
 * `options` may be NULL. What is not understood becomes an `unsupported` instruction
 * that names the operation and its location.
 * PLUMB_BAD_INPUT  a symbol that two bodies define */
plumb_status plumb_mlir_decode(plumb_program *p, MlirModule module,
                               const plumb_mlir_options *options, plumb_diag *diag);

typedef enum plumb_mlir_kind {
  PLUMB_MLIR_SCALAR,
  PLUMB_MLIR_MEMREF,
  PLUMB_MLIR_TENSOR
} plumb_mlir_kind;

/* One input or result of a function. `dims` lives in the arena; -1 is a dynamic size. */
typedef struct plumb_mlir_value {
  plumb_mlir_kind kind;
  plumb_dtype dtype; /* of the scalar or the element */
  int bits;          /* width of the MLIR type: below the dtype's for odd integers */
  size_t rank;
  const int64_t *dims;
  const char *text; /* the type as MLIR prints it */
} plumb_mlir_value;

typedef struct plumb_mlir_signature_info {
  const plumb_mlir_value *inputs;
  size_t input_count;
  const plumb_mlir_value *results;
  size_t result_count;
} plumb_mlir_signature_info;

/* Reads the signature of func.func `name`; what it points to lives in `arena`.
 * PLUMB_BAD_INPUT    no such function (diag lists those there are)
 * PLUMB_UNSUPPORTED  an input or result type that no tensor file can hold */
plumb_status plumb_mlir_signature(plumb_arena *arena, MlirModule module, const char *name,
                                  plumb_mlir_signature_info *out_signature, plumb_diag *diag);

/* The index-th operation that is decoded ("arith.addf"), or NULL after the last. */
const char *plumb_mlir_operation_name(size_t index);

#endif

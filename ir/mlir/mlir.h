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

#endif

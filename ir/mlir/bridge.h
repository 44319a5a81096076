/* LLVM IR to MLIR, the one way that MLIR's C API does not offer, behind a C header.
 * What the import loses and can be told again is told again: externally_initialized
 * on globals (a __constant__ array must not fold to zeros), and, after export,
 * `convergent nounwind` on inline assembly.
 *
 *     plumb_bridge_register(context);
 *     PLUMB_TRY(plumb_bridge_import_llvm(context, module, &mlir, diag));
 */
#ifndef PLUMB_IR_MLIR_BRIDGE_H
#define PLUMB_IR_MLIR_BRIDGE_H

#include <llvm-c/Types.h>
#include <mlir-c/IR.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "ir/base/status.h"

/* Registers the LLVM and NVVM dialects' translations in both directions. */
void plumb_bridge_register(MlirContext context);

/* Imports a copy of `module`, which stays the caller's. *out_module: the caller owns it.
 * PLUMB_UNSUPPORTED  the importer refuses something: its own message */
plumb_status plumb_bridge_import_llvm(MlirContext context, LLVMModuleRef module,
                                      MlirModule *out_module, plumb_diag *diag);

/* The same from LLVM IR text; `path` names it in messages.
 * PLUMB_BAD_INPUT  the text does not parse or verify */
plumb_status plumb_bridge_import_llvm_text(MlirContext context, const char *path, const char *text,
                                           size_t length, MlirModule *out_module, plumb_diag *diag);

/* After mlirTranslateModuleToLLVMIR of an imported module: sets `convergent nounwind`
 * on every inline-assembly call, as clang does for CUDA; llvm.inline_asm has no place
 * for them, and without them a pass may move a barrier or a shuffle. */
void plumb_bridge_mark_inline_asm(LLVMModuleRef module);

#ifdef __cplusplus
}
#endif

#endif

/* Inside lower: the way of device code from an LLVM module to PTX, shared by the MLIR
 * ladder (a gpu.module translated to LLVM IR) and the CUDA ladder. */
#ifndef PLUMB_LOWER_DEVICE_H
#define PLUMB_LOWER_DEVICE_H

#include <llvm-c/Core.h>

#include "lower/lower.h"
#include "mlir-c/IR.h"

typedef struct plumb_device_lowering {
  plumb_ladder *ladder;
  const plumb_lower_options *options;
  const char *path;
  MlirModule host; /* null module: there is no host code */
} plumb_device_lowering;

/* Appends the stages of `module` (consumed): as it is, after libdevice is linked in,
 * after each LLVM pass, and the PTX. `first_step` names what made the module. */
plumb_status plumb_device_lower(plumb_device_lowering *lowering, LLVMModuleRef module,
                                const char *first_step, plumb_diag *diag);

/* Appends one LLVM stage (text, decoded together with the host code). */
void plumb_device_append_llvm(plumb_device_lowering *lowering, LLVMModuleRef module,
                              const char *step);

#endif

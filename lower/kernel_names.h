/* Inside lower: gpu-kernel-outlining gives the kernels of one function one name, each in
 * a gpu.module of its own. They end up in one PTX module, so they get distinct names. */
#ifndef PLUMB_LOWER_KERNEL_NAMES_H
#define PLUMB_LOWER_KERNEL_NAMES_H

#include "mlir-c/IR.h"

/* True for gpu.module. */
bool plumb_is_gpu_module(MlirOperation op);

/* Renames a function of a gpu.module that has the name of one in an earlier gpu.module
 * to its own module's name, in its definition and in every launch. */
void plumb_make_kernel_names_unique(MlirModule module);

#endif

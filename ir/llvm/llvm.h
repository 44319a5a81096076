/* LLVM IR to programs: what each instruction and intrinsic of the Language Reference
 * (LLVM 22) and of the NVPTX usage guide means. It decodes modules for nvptx64, before
 * and after optimisation; it neither parses nor changes LLVM IR, except for
 * plumb_llvm_resolve_reflect.
 *
 *     LLVMModuleRef m = ...;
 *     PLUMB_TRY(plumb_llvm_decode(program, m, "k.ll", diag));
 *     PLUMB_TRY(plumb_program_finish(program, diag));
 *
 * Readings where the language leaves a choice:
 * - undef and poison constants are poison; freeze makes an ordinary value of them.
 * - llvm.fmuladd is a multiplication and an addition, each rounded.
 * - fast-math flags travel as program flags; the value is the strict one.
 * - An alloca whose address space is 0 has a generic address.
 */
#ifndef PLUMB_IR_LLVM_LLVM_H
#define PLUMB_IR_LLVM_LLVM_H

#include <llvm-c/Core.h>

#include "ir/program.h"

/* Appends the module's functions and globals. Kernels are functions of calling
 * convention ptx_kernel (71), of !nvvm.annotations "kernel" or of attribute
 * nvvm.kernel; every other one is PLUMB_DEVICE. Inside functions what is not
 * understood becomes UNSUPPORTED, named with its location. `path` names the stage in
 * messages. Nothing in `program` refers to `module` afterwards.
 * PLUMB_UNSUPPORTED  a global's type or a function's signature cannot be laid out */
plumb_status plumb_llvm_decode(plumb_program *program, LLVMModuleRef module, const char *path,
                               plumb_diag *diag);

/* What __nvvm_reflect answers for a key in this module, as NVVMReflect does
 * (llvm/lib/Target/NVPTX/NVVMReflect.cpp) with nvcc's defaults: __CUDA_FTZ is module
 * flag "nvvm-reflect-ftz"; __CUDA_ARCH ten times the kernels' sm; __CUDA_PREC_SQRT 1
 * unless module flag "nvvm-reflect-prec-sqrt" is 0; any other key 0. */
int plumb_llvm_reflect(LLVMModuleRef module, const char *key);

/* Replaces every __nvvm_reflect call of a constant key by its answer, so that LLVM's
 * own pass cannot answer differently from the decoder. Returns the number replaced. */
unsigned plumb_llvm_resolve_reflect(LLVMModuleRef module);

#endif

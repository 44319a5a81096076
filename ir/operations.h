/* What the decoders of MLIR's dialects and of LLVM IR understand, by name, without the
 * headers of either. The rows of PTX are in ir/ptx/ptx.h. */
#ifndef PLUMB_IR_OPERATIONS_H
#define PLUMB_IR_OPERATIONS_H

#include <stddef.h>

/* The index-th operation that is decoded ("arith.addf"), or NULL after the last. */
const char *plumb_mlir_operation_name(size_t index);

/* The same for LLVM IR: instructions first, then intrinsics and known functions. */
const char *plumb_llvm_operation_name(size_t index);

#endif

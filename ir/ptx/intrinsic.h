/* What the files share that write an NVVM intrinsic as PTX. Private. */
#ifndef PLUMB_IR_PTX_INTRINSIC_H
#define PLUMB_IR_PTX_INTRINSIC_H

#include "ir/ptx/ptx.h"

/* One call, and the piece of inline assembly in the making. Results come before inputs. */
typedef struct ptx_intrinsic {
  const char *name;         /* without "llvm.nvvm." */
  const int64_t *constants; /* of the arguments; PLUMB_PTX_NO_CONSTANT */
  size_t count;             /* arguments */
  plumb_text text, constraints;
  size_t operands;
  plumb_ptx_intrinsic *out;
} ptx_intrinsic;

/* Each writes what it knows; false: another family, or a form that does not exist. */
bool ptx_intrinsic_matrix(ptx_intrinsic *t);
bool ptx_intrinsic_async(ptx_intrinsic *t);

/* Adds a result, or argument `arg` as an input, under a constraint letter; its number N of
 * $N in the text. */
size_t ptx_intrinsic_result(ptx_intrinsic *t, char letter);
size_t ptx_intrinsic_use(ptx_intrinsic *t, unsigned arg, char letter);

/* Argument i; false if it is no constant, or does not exist. */
bool ptx_intrinsic_constant(const ptx_intrinsic *t, size_t i, int64_t *out);

#endif

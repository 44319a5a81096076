/* What the decoders of matrix instructions share; private to ir/ptx. */
#ifndef PLUMB_IR_PTX_MATRIX_H
#define PLUMB_IR_PTX_MATRIX_H

#include "ir/mma.h"
#include "ir/ptx/decode.h"

/* "m16n8k16"; false for other text. */
bool ptx_mma_shape(const char *text, plumb_mma *out);
/* The type of a register of a fragment. */
plumb_dtype ptx_mma_reg_type(const plumb_mma *mma, plumb_mma_matrix which);
/* Element i of a vector operand of `count`, or the operand itself if that is 1; NULL if the
 * number differs. */
const ptx_operand *ptx_item(const ptx_operand *o, size_t i, size_t count);
/* Completes and builds an MMA of fragments d, a, b, c (operands 0 to 3) and, SPARSE, metadata and
 * selector. */
bool ptx_build_mma(ptx_decoder *d, plumb_mma *mma, plumb_round round);
/* wmma.load and wmma.store (wmma.c). */
bool ptx_wmma_load(ptx_decoder *d);
bool ptx_wmma_store(ptx_decoder *d);

#endif

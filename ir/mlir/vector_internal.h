/* What the files of the vector dialect share; private to this folder. */
#ifndef PLUMB_IR_MLIR_VECTOR_INTERNAL_H
#define PLUMB_IR_MLIR_VECTOR_INTERNAL_H

#include "ir/mlir/decode_internal.h"

enum { PLUMB_VECTOR_DIMS = 16 };

/* The shape of a vector type; of any other type rank 0. */
typedef struct plumb_vector_shape {
  size_t rank;
  int64_t dims[PLUMB_VECTOR_DIMS];
  size_t count; /* product of the dims */
} plumb_vector_shape;

/* Room for `count` registers, which may be none. */
static inline plumb_reg *plumb_vector_regs(plumb_mlir_decoder *d, size_t count) {
  return PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1);
}

bool plumb_vector_shape_of(plumb_mlir_decoder *d, MlirType type, plumb_vector_shape *out_shape);
/* Coordinates of the row-major element `index`, and back. */
void plumb_vector_split(const plumb_vector_shape *shape, size_t index, int64_t *out_coords);
size_t plumb_vector_join(const plumb_vector_shape *shape, const int64_t *coords);
/* `kind` of the operation (#vector.kind<add>); add when it has none. */
bool plumb_vector_kind(plumb_mlir_decoder *d, MlirOperation op, plumb_mlir_combine *out_kind);

/* Operations that vector.mask may hold: `mask` has one i1 register an element, in the order
 * of the operation's mask type, or is NULL. `passthru`: of vector.mask, or NULL. */
typedef bool plumb_vector_maskable(plumb_mlir_decoder *d, MlirOperation op, const plumb_reg *mask,
                                   size_t mask_count, const plumb_reg *passthru);
plumb_vector_maskable plumb_vector_reduction, plumb_vector_multi_reduction, plumb_vector_contract,
    plumb_vector_outerproduct, plumb_vector_transfer_read, plumb_vector_transfer_write,
    plumb_vector_gather, plumb_vector_scatter;

/* The operations of vector_memory.c, vector_reduce.c and vector_cast.c. */
plumb_mlir_handler plumb_vector_decode_load, plumb_vector_decode_store, plumb_vector_decode_masked,
    plumb_vector_decode_packed, plumb_vector_decode_mask, plumb_vector_decode_bitcast,
    plumb_vector_decode_type_cast, plumb_vector_decode_print;

#endif

/* What linalg.c and linalg_named.c share; private to this folder. */
#ifndef PLUMB_IR_MLIR_LINALG_INTERNAL_H
#define PLUMB_IR_MLIR_LINALG_INTERNAL_H

#include "ir/mlir/decode_internal.h"

/* True when exactly one operand of one operation reads the value. */
bool plumb_linalg_has_one_use(MlirValue value);

/* Operations without a region, from their descriptions (LinalgOps.td, LinalgRelayoutOps.td). */
plumb_mlir_handler plumb_linalg_softmax, plumb_linalg_pack, plumb_linalg_unpack;

#endif

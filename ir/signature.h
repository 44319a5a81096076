/* The signature of a host function of an MLIR module, without MLIR's own headers: what
 * the tensors of a task and the values of the command line are matched against. It is
 * read from text by ir/mlir/signature.c.
 *
 *     PLUMB_TRY(plumb_signature_read(arena, "softmax.mlir", text, "softmax", &s, diag));
 */
#ifndef PLUMB_IR_SIGNATURE_H
#define PLUMB_IR_SIGNATURE_H

#include "ir/base/arena.h"
#include "ir/base/status.h"
#include "ir/dtype.h"

typedef enum plumb_signature_kind {
  PLUMB_SIGNATURE_SCALAR,
  PLUMB_SIGNATURE_MEMREF,
  PLUMB_SIGNATURE_TENSOR
} plumb_signature_kind;

/* One input or result. `dims` (rank of them) lives in the arena; -1 is a dynamic size. */
typedef struct plumb_signature_value {
  plumb_signature_kind kind;
  plumb_dtype dtype; /* of the scalar or the element */
  int bits;          /* width of the MLIR type: below the dtype's for odd integers */
  size_t rank;
  const int64_t *dims;
  const char *text; /* the type as MLIR prints it */
} plumb_signature_value;

typedef struct plumb_signature {
  const char *name; /* of the function */
  const plumb_signature_value *inputs;
  size_t input_count;
  const plumb_signature_value *results;
  size_t result_count;
} plumb_signature;

/* Parses and verifies `text` (terminated) and reads the signature of func.func `name`;
 * NULL: the only one with a body. What it points to lives in `arena`. `path` names the
 * text in messages.
 * PLUMB_BAD_INPUT    it does not parse, or has no such function (diag lists those there are)
 * PLUMB_UNSUPPORTED  an input or result type that no tensor file can hold */
plumb_status plumb_signature_read(plumb_arena *arena, const char *path, const char *text,
                                  const char *name, plumb_signature *out_signature,
                                  plumb_diag *diag);

/* Whether `text` has a func.func `name` (NULL: any) with a body.
 * PLUMB_BAD_INPUT  it does not parse */
plumb_status plumb_signature_find(const char *path, const char *text, const char *name,
                                  bool *out_found, plumb_diag *diag);

#endif

/* Lowering: takes one side down, one step at a time, and decodes every stage on the
 * way. A step is one MLIR pass, one LLVM pass that changed the module, an import, or
 * instruction selection. It runs compilers; it executes and judges nothing.
 *
 *     plumb_ladder *ladder = plumb_ladder_create(arena, "reference");
 *     PLUMB_TRY(plumb_lower_mlir(ladder, "softmax.mlir", text, length, &options, diag));
 */
#ifndef PLUMB_LOWER_LOWER_H
#define PLUMB_LOWER_LOWER_H

#include "ir/stage.h"

typedef struct plumb_lower_options {
  const char *arch;          /* "sm_90" */
  const char *pipeline;      /* MLIR passes; NULL: the stock pipeline down to NVVM */
  const char *llvm_pipeline; /* LLVM passes; NULL: default<O2> */
  const char *libdevice;     /* path of libdevice.10.bc, or NULL */
  bool to_ptx;               /* after the MLIR passes: LLVM IR, its passes, PTX */
} plumb_lower_options;

/* The stock pipeline: linalg on tensors to NVVM inside gpu.module. Static. */
const char *plumb_lower_default_pipeline(void);

/* Splits a textual pass pipeline into its single passes, each wrapped in the
 * operations it is nested in ("func.func(cse)").
 * PLUMB_BAD_INPUT  brackets that do not match, with the offending text */
plumb_status plumb_lower_split_pipeline(plumb_arena *arena, const char *pipeline,
                                        const char ***out_steps, size_t *out_count,
                                        plumb_diag *diag);

/* MLIR text to a ladder. Stage 0 is the text as parsed. A step that fails ends the
 * ladder with an undecided stage that carries the compiler's message. With to_ptx and no
 * gpu.module left, it ends at the last MLIR stage and `no_device` says so.
 * PLUMB_BAD_INPUT  the text does not parse or verify, or an unknown pass */
plumb_status plumb_lower_mlir(plumb_ladder *ladder, const char *path, const char *text,
                              size_t length, const plumb_lower_options *options, plumb_diag *diag);

/* LLVM IR text (device code) to a ladder: the text itself, its import into MLIR, then
 * LLVM's passes one by one, then PTX. */
plumb_status plumb_lower_llvm(plumb_ladder *ladder, const char *path, const char *text,
                              size_t length, const plumb_lower_options *options, plumb_diag *diag);

/* One stage that is not lowered further (a ready-made file of any kind). */
plumb_status plumb_lower_single(plumb_ladder *ladder, plumb_stage_kind kind, const char *path,
                                const char *text, size_t length, plumb_diag *diag);

#endif

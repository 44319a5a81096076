/* Stages and ladders: the forms that one side takes on its way down, in order.
 * A stage keeps its text and the program it decodes to, never a module of MLIR or
 * LLVM: all of it lives in the ladder's arena. */
#ifndef PLUMB_IR_STAGE_H
#define PLUMB_IR_STAGE_H

#include "ir/program.h"

typedef enum plumb_stage_kind {
  PLUMB_STAGE_MLIR,
  PLUMB_STAGE_LLVM,
  PLUMB_STAGE_PTX,
  PLUMB_STAGE_PROGRAM
} plumb_stage_kind;

/* "mlir", "llvm", "ptx", "program". */
const char *plumb_stage_kind_text(plumb_stage_kind kind);
/* By the file's ending: .mlir .ll .ptx .plumb; false for others. */
bool plumb_stage_kind_from_path(const char *path, plumb_stage_kind *out_kind);

typedef struct plumb_stage {
  int index;
  const char *step; /* what made it; "source" for stage 0 */
  plumb_stage_kind kind;
  const char *text; /* MLIR: the whole module; LLVM, PTX: the device code */
  size_t text_length;
  plumb_program *program; /* finished; NULL when it could not be decoded */
  plumb_diag problem;     /* why not */
  plumb_digest digest;
} plumb_stage;

typedef struct plumb_ladder {
  plumb_arena *arena;
  const char *name; /* "reference", "candidate (clang)", ... */
  plumb_stage *stages;
  size_t stage_count, stage_capacity;
  size_t unchanged_steps; /* steps that left the text as it was: no stage of their own */
  const char *no_device;  /* why it ends above device code: a function without parallel
                             loops leaves nothing to launch. NULL: it does not */
} plumb_ladder;

plumb_ladder *plumb_ladder_create(plumb_arena *arena, const char *name);

/* Appends a stage. `program` (may be NULL) is finished here; where that fails, or
 * `problem` is given, the stage is undecided and says why. Strings are copied. */
plumb_stage *plumb_ladder_append(plumb_ladder *ladder, plumb_stage_kind kind, const char *step,
                                 const char *text, size_t length, plumb_program *program,
                                 const plumb_diag *problem);

#endif

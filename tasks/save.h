/* Stages as files: what --save DIR writes. */
#ifndef PLUMB_TASKS_SAVE_H
#define PLUMB_TASKS_SAVE_H

#include "ir/stage.h"

/* Writes the stage's text to FOLDER/SIDE-NNN-STEP.mlir (.ll, .ptx, .plumb); the folder is
 * created. *out_path, in `arena`, is NULL for a stage without a text.
 * PLUMB_BAD_INPUT  it cannot be written; diag says why */
plumb_status plumb_stage_save(plumb_arena *arena, const char *folder, const char *side,
                              const plumb_stage *stage, const char **out_path, plumb_diag *diag);

#endif

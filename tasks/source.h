/* A stage from a file, whatever form it is in. */
#ifndef PLUMB_TASKS_SOURCE_H
#define PLUMB_TASKS_SOURCE_H

#include "ir/stage.h"

/* Reads a stage's text. The kind is told by the file's ending; a fat binary, or an ELF
 * file that holds one (recognised by their first bytes, whatever the ending), gives its
 * PTX of the highest architecture.
 * *out_text lives in `arena` and is terminated.
 * PLUMB_BAD_INPUT    cannot be read, unknown ending, or damaged
 * PLUMB_UNSUPPORTED  a fat binary without PTX, or with several modules */
plumb_status plumb_source_read(plumb_arena *arena, const char *path, plumb_stage_kind *out_kind,
                               char **out_text, size_t *out_length, plumb_diag *diag);

#endif

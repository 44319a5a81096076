#include "tasks/source.h"

#include "ir/ptx/fatbin.h"

plumb_status plumb_source_read(plumb_arena *arena, const char *path, plumb_stage_kind *out_kind,
                               char **out_text, size_t *out_length, plumb_diag *diag) {
  bool known = plumb_stage_kind_from_path(path, out_kind);
  plumb_diag problem;
  plumb_status status = plumb_file_read(arena, path, out_text, out_length, &problem);
  if (status == PLUMB_OK && plumb_fatbin_is(*out_text, *out_length)) {
    *out_kind = PLUMB_STAGE_PTX;
    return plumb_fatbin_ptx(arena, path, *out_text, *out_length, 0, out_text, out_length, diag);
  }
  if (!known)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0,
                      "the ending is none of .mlir .ll .ptx .plumb");
  if (status != PLUMB_OK && diag) *diag = problem;
  return status;
}

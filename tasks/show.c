/* `plumb show` and `plumb ops`: looking at stages, programs and tables. */
#include <string.h>

#include "frontends/cuda.h"
#include "ir/operations.h"
#include "ir/ptx/ptx.h"
#include "lower/lower.h"
#include "tasks/source.h"
#include "tasks/verbs.h"

plumb_status plumb_verb_show(plumb_arena *arena, plumb_verb_options *o, plumb_text *out,
                             int *out_exit, plumb_diag *diag) {
  if (o->file_count != 1)
    return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0, "show takes one file, %zu are given",
                      o->file_count);
  const char *path = o->files[0];
  plumb_stage_kind kind;
  char *text;
  size_t length;
  PLUMB_TRY(plumb_source_read(arena, path, &kind, &text, &length, diag));
  plumb_ladder *ladder = plumb_ladder_create(arena, path);
  plumb_lower_options options = {.arch = o->arch ? o->arch : "sm_90",
                                 .pipeline = o->pipeline,
                                 .llvm_pipeline = o->llvm_pipeline,
                                 .to_ptx = o->to_ptx};
  options.libdevice = plumb_cuda_libdevice(arena);
  bool lowered = o->pipeline || o->to_ptx;
  if (kind == PLUMB_STAGE_MLIR && lowered)
    PLUMB_TRY(plumb_lower_mlir(ladder, path, text, length, &options, diag));
  else if (kind == PLUMB_STAGE_LLVM && lowered)
    PLUMB_TRY(plumb_lower_llvm(ladder, path, text, length, &options, diag));
  else
    PLUMB_TRY(plumb_lower_single(ladder, kind, path, text, length, diag));
  if (o->stage >= (int)ladder->stage_count)
    return plumb_fail(diag, PLUMB_BAD_USAGE, path, 0, 0, "--stage %d: there are stages 0 to %zu",
                      o->stage, ladder->stage_count - 1);
  for (size_t i = 0; i < ladder->stage_count; i++) {
    const plumb_stage *s = &ladder->stages[i];
    if (o->stage >= 0 && s->index != o->stage) continue;
    plumb_text_printf(out, "// stage %d (%s), made by '%s'\n", s->index,
                      plumb_stage_kind_text(s->kind), s->step);
    plumb_text_append(out, s->text, s->text_length);
    plumb_text_printf(out, "\n");
    if (!s->program) {
      plumb_text_printf(out, "// undecided: %s\n", s->problem.message);
      continue;
    }
    if (s->program->note) plumb_text_printf(out, "// note: %s\n", s->program->note);
    plumb_text_printf(out, "// program of stage %d\n", s->index);
    plumb_program_print(s->program, out);
  }
  *out_exit = 0;
  return PLUMB_OK;
}

plumb_status plumb_verb_ops(plumb_arena *arena, const char *what, plumb_text *out, int *out_exit,
                            plumb_diag *diag) {
  (void)arena;
  *out_exit = 0;
  if (!what) {
    static const char *const classes[] = {"alu", "mem", "ctl", "sync", "host"};
    for (int i = 0; i < PLUMB_OP_COUNT; i++)
      plumb_text_printf(out, "%-16s %-5s %s\n", plumb_op_table[i].mnemonic,
                        classes[plumb_op_table[i].op_class], plumb_op_table[i].description);
    return PLUMB_OK;
  }
  if (strcmp(what, "mlir") == 0) {
    const char *name;
    for (size_t i = 0; (name = plumb_mlir_operation_name(i)) != NULL; i++)
      plumb_text_printf(out, "%-40s decoded\n", name);
    return PLUMB_OK;
  }
  if (strcmp(what, "llvm") == 0) {
    const char *name;
    for (size_t i = 0; (name = plumb_llvm_operation_name(i)) != NULL; i++)
      plumb_text_printf(out, "%-40s decoded\n", name);
    return PLUMB_OK;
  }
  if (strcmp(what, "ptx") == 0) {
    plumb_ptx_ops_print(out);
    return PLUMB_OK;
  }
  return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                    "ops: '%s' is not known (known: ptx, mlir, llvm)", what);
}

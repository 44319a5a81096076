#include "ir/stage.h"

#include <string.h>

static const struct {
  plumb_stage_kind kind;
  const char *text;
  const char *ending;
} kinds[] = {
    {PLUMB_STAGE_MLIR, "mlir", ".mlir"},
    {PLUMB_STAGE_LLVM, "llvm", ".ll"},
    {PLUMB_STAGE_PTX, "ptx", ".ptx"},
    {PLUMB_STAGE_PROGRAM, "program", ".plumb"},
};

const char *plumb_stage_kind_text(plumb_stage_kind kind) {
  return kinds[kind].text;
}

bool plumb_stage_kind_from_path(const char *path, plumb_stage_kind *out_kind) {
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(dot, kinds[i].ending) == 0) {
      *out_kind = kinds[i].kind;
      return true;
    }
  return false;
}

plumb_ladder *plumb_ladder_create(plumb_arena *arena, const char *name) {
  plumb_ladder *ladder = PLUMB_NEW(arena, plumb_ladder);
  ladder->arena = arena;
  ladder->name = plumb_arena_copy_string(arena, name);
  return ladder;
}

plumb_stage *plumb_ladder_append(plumb_ladder *ladder, plumb_stage_kind kind, const char *step,
                                 const char *text, size_t length, plumb_program *program,
                                 const plumb_diag *problem) {
  ladder->stages = plumb_arena_grow(ladder->arena, ladder->stages, &ladder->stage_capacity,
                                    ladder->stage_count + 1, sizeof *ladder->stages);
  plumb_stage *stage = &ladder->stages[ladder->stage_count];
  *stage = (plumb_stage){.index = (int)ladder->stage_count,
                         .step = plumb_arena_copy_string(ladder->arena, step),
                         .kind = kind,
                         .text = plumb_arena_copy_text(ladder->arena, text, length),
                         .text_length = length};
  ladder->stage_count++;
  if (problem) {
    stage->problem = *problem;
  } else if (program && plumb_program_finish(program, &stage->problem) == PLUMB_OK) {
    stage->program = program;
    stage->digest = plumb_program_digest(program);
  }
  return stage;
}

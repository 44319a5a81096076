/* Recording traps: what happened, where, to whom. */
#include <stdio.h>

#include "targets/cpu/exec.h"

const char *plumb_trap_text(plumb_trap_kind kind) {
  static const char *const texts[PLUMB_TRAP_KIND_COUNT] = {
      "none",
#define X(name, text, sentence) text,
#include "targets/cpu/traps.def"
#undef X
  };
  return kind < PLUMB_TRAP_KIND_COUNT ? texts[kind] : "none";
}

bool plumb_trap_at(plumb_block_run *br, plumb_trap_kind kind, const plumb_frame *f, uint32_t pc,
                   int32_t lane, const char *format, ...) {
  if (br->trapped) return false;
  br->trapped = true;
  plumb_trap *t = &br->trap;
  *t = (plumb_trap){.kind = kind, .lane = lane, .lane2 = -1, .block2 = {-1, -1, -1}};
  for (int i = 0; i < 3; i++) t->block[i] = br->grid->host ? -1 : (int64_t)br->block[i];
  if (f) {
    const plumb_inst *inst = &f->fn->insts[pc];
    t->function = f->fn->name;
    t->op = (plumb_op)inst->op;
    t->location = br->program->locs[inst->loc];
  } else {
    t->function = br->grid->fn->name;
  }
  va_list list;
  va_start(list, format);
  vsnprintf(br->trap_message, sizeof br->trap_message, format, list);
  va_end(list);
  return false;
}

bool plumb_unsupported_at(plumb_block_run *br, const plumb_frame *f, uint32_t pc,
                          const char *what) {
  if (br->trapped || br->unsupported) return false;
  br->unsupported = true;
  br->unsupported_status = PLUMB_UNSUPPORTED;
  br->unsupported_loc = br->program->locs[f->fn->insts[pc].loc];
  snprintf(br->unsupported_what, sizeof br->unsupported_what, "%s in function %s", what,
           f->fn->name);
  return false;
}

const plumb_inst *plumb_inst_at(const plumb_run *run, uint32_t program_pc,
                                const plumb_function **out_fn) {
  for (size_t i = 0; i < run->program->function_count; i++) {
    const plumb_function *fn = run->program->functions[i];
    if (program_pc - run->pc_bases[i] < fn->inst_count) {
      if (out_fn) *out_fn = fn;
      return &fn->insts[program_pc - run->pc_bases[i]];
    }
  }
  return NULL;
}

/* Linking: names to functions and globals, blocks to one flat array of instructions. */
#include <string.h>

#include "ir/program.h"

static plumb_status check_unique(const plumb_program *p, plumb_diag *diag) {
  for (size_t i = 0; i < p->function_count; i++)
    for (size_t j = 0; j < i; j++)
      if (!p->functions[i]->external && !p->functions[j]->external && !p->functions[i]->weak &&
          !p->functions[j]->weak && strcmp(p->functions[i]->name, p->functions[j]->name) == 0)
        return plumb_fail(diag, PLUMB_BAD_INPUT, p->name, 0, 0, "function '%s' is defined twice",
                          p->functions[i]->name);
  return PLUMB_OK;
}

/* A call whose callee has no body stays, but reaching it ends the run as unsupported. */
static void link_inst(plumb_program *p, plumb_inst *inst) {
  if (inst->op != PLUMB_OP_CALL && inst->op != PLUMB_OP_LAUNCH) return;
  const char *name = p->strings[inst->imm];
  const plumb_function *callee = plumb_program_find(p, name);
  if (callee && !callee->external) {
    inst->target = callee->index;
    return;
  }
  inst->op = PLUMB_OP_UNSUPPORTED;
  inst->imm =
      plumb_string_add(p, plumb_arena_printf(p->arena, "call of undefined function %s", name));
}

static void link_global_address(plumb_program *p, plumb_inst *inst) {
  if (inst->op != PLUMB_OP_ADDRESS || inst->imm < 0 || (size_t)inst->imm >= p->global_count) return;
  if (!p->globals[inst->imm].external && !p->globals[inst->imm].weak) return;
  size_t found = plumb_program_find_global(p, p->globals[inst->imm].name);
  if (found != SIZE_MAX) inst->imm = (int64_t)found;
}

/* An address in an initialiser is known before the program runs: that of a function, or of
 * a global with a place of its own (shared memory has one a block). */
static plumb_status check_relocs(const plumb_program *p, const plumb_global *g, plumb_diag *diag) {
  for (size_t i = 0; i < g->reloc_count; i++) {
    const char *symbol = g->relocs[i].symbol;
    size_t found = plumb_program_find_global(p, symbol);
    bool function = found == SIZE_MAX && plumb_program_find(p, symbol);
    const char *what = NULL;
    if (found == SIZE_MAX && !function)
      what = "not defined";
    else if (!function && p->globals[found].external)
      what = "defined in another module";
    else if (!function && p->globals[found].space == PLUMB_SPACE_SHARED)
      what = "shared memory";
    if (what)
      return plumb_fail(diag, PLUMB_UNSUPPORTED, p->name, 0, 0,
                        "the initialiser of '%s' holds the address of '%s', which is %s", g->name,
                        symbol, what);
  }
  return PLUMB_OK;
}

static void flatten(plumb_function *f) {
  size_t count = 0;
  for (size_t b = 0; b < f->block_count; b++) count += f->blocks[b].inst_count;
  f->insts = PLUMB_NEW_ARRAY(f->program->arena, plumb_inst, count);
  f->inst_count = 0;
  for (size_t b = 0; b < f->block_count; b++) {
    plumb_block *block = &f->blocks[b];
    block->first = (uint32_t)f->inst_count;
    block->count = (uint32_t)block->inst_count;
    if (block->inst_count)
      memcpy(f->insts + f->inst_count, block->insts, block->inst_count * sizeof(plumb_inst));
    f->inst_count += block->inst_count;
  }
}

plumb_status plumb_program_link(plumb_program *p, plumb_diag *diag) {
  PLUMB_TRY(check_unique(p, diag));
  for (size_t i = 0; i < p->global_count; i++) PLUMB_TRY(check_relocs(p, &p->globals[i], diag));
  for (size_t i = 0; i < p->function_count; i++) {
    plumb_function *f = p->functions[i];
    for (size_t b = 0; b < f->block_count; b++)
      for (size_t k = 0; k < f->blocks[b].inst_count; k++) {
        plumb_inst *inst = &f->blocks[b].insts[k];
        if ((inst->op == PLUMB_OP_CALL || inst->op == PLUMB_OP_LAUNCH) &&
            (inst->imm < 0 || (size_t)inst->imm >= p->string_count))
          return plumb_fail(diag, PLUMB_INTERNAL, p->name, 0, 0,
                            "function '%s': a call without a name", f->name);
        link_inst(p, inst);
        link_global_address(p, inst);
      }
    flatten(f);
  }
  return PLUMB_OK;
}

plumb_status plumb_program_finish(plumb_program *p, plumb_diag *diag) {
  PLUMB_TRY(plumb_program_link(p, diag));
  PLUMB_TRY(plumb_program_verify(p, diag));
  plumb_program_analyse(p);
  return PLUMB_OK;
}

/* Programs in a machine: their globals get memory and their initial values. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "targets/cpu/exec.h"

static void free_globals(plumb_machine *m, const plumb_program *p, const uint64_t *addresses) {
  for (size_t i = 0; p && i < p->global_count; i++) {
    if (!addresses[i]) continue;
    plumb_allocation_of(m, addresses[i])->owned_by_program = false;
    plumb_memory_free(m, addresses[i]);
  }
}

static void unload(plumb_machine *m) {
  free_globals(m, m->program, m->global_addresses);
  m->program = NULL;
}

/* The linker found the symbol and its place (ir/link.c, ir/verify.c). */
static uint64_t symbol_value(const plumb_machine *m, const plumb_program *p, const char *symbol) {
  size_t g = plumb_program_find_global(p, symbol);
  if (g != SIZE_MAX) return m->global_addresses[g];
  return plumb_window_base(PLUMB_WINDOW_FUNCTION) | plumb_program_find(p, symbol)->index;
}

static void relocate(plumb_machine *m, const plumb_program *p, size_t index) {
  const plumb_global *g = &p->globals[index];
  plumb_allocation *a = plumb_allocation_of(m, m->global_addresses[index]);
  for (size_t i = 0; i < g->reloc_count; i++) {
    uint64_t value = symbol_value(m, p, g->relocs[i].symbol) + (uint64_t)g->relocs[i].addend;
    memcpy(a->data + g->relocs[i].offset, &value, 8);
    memset(a->state + g->relocs[i].offset, PLUMB_BYTE_INITIALISED, 8);
  }
}

static bool is_among(const char *name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

static plumb_status place_global(plumb_machine *m, const plumb_program *p, size_t index, bool twin,
                                 plumb_diag *diag) {
  const plumb_global *g = &p->globals[index];
  if (g->external || g->space == PLUMB_SPACE_SHARED) return PLUMB_OK;
  uint64_t address = twin ? plumb_memory_alloc_twin(m, g->size_bytes, g->name)
                          : plumb_memory_alloc(m, g->size_bytes, g->name);
  if (!address)
    return plumb_fail(diag, PLUMB_LIMIT, p->name, 0, 0,
                      "global '%s' of %llu bytes exceeds the memory limit", g->name,
                      (unsigned long long)g->size_bytes);
  m->global_addresses[index] = address;
  plumb_allocation *a = plumb_allocation_of(m, address);
  a->owned_by_program = true;
  a->read_only = g->space == PLUMB_SPACE_CONST;
  if (g->init) memcpy(a->data, g->init, g->size_bytes);
  a->all_initialised |= g->init || g->zeroed;
  if (a->all_initialised) memset(a->state, PLUMB_BYTE_INITIALISED, g->size_bytes);
  return PLUMB_OK;
}

/* The registers of `f` that are an operand or a guard somewhere; to be freed. */
static bool *used_registers(const plumb_function *f) {
  bool *used = calloc(f->reg_count + 1, sizeof *used);
  if (!used) abort();
  for (size_t k = 0; k < f->inst_count; k++) {
    const plumb_inst *inst = &f->insts[k];
    const plumb_reg *operands = plumb_inst_operands(f, inst);
    for (uint32_t i = 0; i < inst->operands; i++)
      if (operands[i] < f->reg_count) used[operands[i]] = true;
    if (inst->guard < f->reg_count) used[inst->guard] = true;
  }
  return used;
}

static bool has_used_result(const plumb_function *f, const plumb_inst *inst, const bool *used) {
  const plumb_reg *results = plumb_inst_results(f, inst);
  for (uint32_t i = 0; i < inst->results; i++)
    if (results[i] < f->reg_count && used[results[i]]) return true;
  return false;
}

static void find_facts(plumb_machine *m, const plumb_program *p) {
  size_t count = 0, at = 0;
  for (size_t i = 0; i < p->function_count; i++) count += p->functions[i]->inst_count;
  m->inst_facts = PLUMB_NEW_ARRAY(m->arena, uint8_t, count + 1);
  for (size_t i = 0; i < p->function_count; i++) {
    const plumb_function *f = p->functions[i];
    bool *used = used_registers(f);
    uint8_t *facts = m->inst_facts + at;
    for (size_t k = 0; k < f->inst_count; k++)
      m->inst_facts[at++] =
          (uint8_t)(plumb_inst_facts_of(&f->insts[k], has_used_result(f, &f->insts[k], used)) |
                    (plumb_awaits_time(f, (uint32_t)k) ? PLUMB_INST_AWAITS_TIME : 0));
    free(used);
    plumb_find_guesses(f, facts);
  }
}

/* Makes `program` the machine's with fresh globals; those of the one before are left alone. */
static plumb_status place(plumb_machine *m, const plumb_program *program, const char *const *twins,
                          size_t twin_count, plumb_diag *diag) {
  m->global_addresses = PLUMB_NEW_ARRAY(m->arena, uint64_t, program->global_count + 1);
  m->program = program;
  find_facts(m, program);
  plumb_status status = PLUMB_OK;
  for (size_t i = 0; status == PLUMB_OK && i < program->global_count; i++)
    status =
        place_global(m, program, i, is_among(program->globals[i].name, twins, twin_count), diag);
  for (size_t i = 0; status == PLUMB_OK && i < program->global_count; i++)
    if (m->global_addresses[i]) relocate(m, program, i);
  if (status != PLUMB_OK) unload(m);
  return status;
}

plumb_status plumb_machine_load(plumb_machine *m, const plumb_program *program, plumb_diag *diag) {
  unload(m);
  return place(m, program, NULL, 0, diag);
}

plumb_status plumb_machine_add(plumb_machine *m, const plumb_program *program,
                               const char *const *twins, size_t twin_count,
                               plumb_module **out_module, plumb_diag *diag) {
  plumb_module before = {m->program, m->global_addresses, m->inst_facts};
  plumb_status status = place(m, program, twins, twin_count, diag);
  if (status == PLUMB_OK) {
    plumb_module *module = PLUMB_NEW(m->arena, plumb_module);
    *module = (plumb_module){m->program, m->global_addresses, m->inst_facts};
    *out_module = module;
  }
  plumb_machine_select(m, &before);
  return status;
}

plumb_module *plumb_machine_add_reading(plumb_machine *m, const plumb_program *program,
                                        const plumb_module *of) {
  assert(program->global_count == of->program->global_count);
  plumb_module before = {m->program, m->global_addresses, m->inst_facts};
  plumb_module *module = PLUMB_NEW(m->arena, plumb_module);
  find_facts(m, program);
  *module = (plumb_module){program, of->global_addresses, m->inst_facts};
  plumb_machine_select(m, &before);
  return module;
}

void plumb_machine_select(plumb_machine *m, plumb_module *module) {
  m->program = module ? module->program : NULL;
  m->global_addresses = module ? module->global_addresses : NULL;
  m->inst_facts = module ? module->inst_facts : NULL;
}

void plumb_machine_remove(plumb_machine *m, plumb_module *module) {
  if (m->program == module->program) plumb_machine_select(m, NULL);
  free_globals(m, module->program, module->global_addresses);
  *module = (plumb_module){0};
}

uint64_t plumb_machine_symbol(const plumb_machine *m, const char *name) {
  if (!m->program) return 0;
  size_t g = plumb_program_find_global(m->program, name);
  return g == SIZE_MAX ? 0 : m->global_addresses[g];
}

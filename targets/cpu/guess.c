/* Loads whose value is only a guess that an atomic compares with memory afterwards:
 *
 *     old = *p; do { expected = old; old = atomicCAS(p, expected, f(expected)); } while (...);
 *
 * CUDA's programming guide writes atomics that it lacks in this way ("Atomic Functions"). The
 * plain load runs beside the atomics of other lanes, at the same place and of the same size,
 * where PTX says what it may give (PTX ISA 9.0, 8.7.1: the axioms hold where races are of one
 * size), and no update is made unless the guess was right. It counts as a strong read where
 * races are looked for, so that it conflicts with plain writes alone. */
#include <stdlib.h>

#include "targets/cpu/exec.h"

enum { NOBODY = UINT32_MAX, SEVERAL = UINT32_MAX - 1 };

/* The instruction that defines each register, where it is one. */
static uint32_t *definitions(const plumb_function *f) {
  uint32_t *defs = malloc((f->reg_count + 1) * sizeof *defs);
  if (!defs) abort();
  for (uint32_t r = 0; r < f->reg_count; r++) defs[r] = NOBODY;
  for (uint32_t k = 0; k < f->inst_count; k++)
    for (uint32_t i = 0; i < f->insts[k].results; i++) {
      plumb_reg r = plumb_inst_results(f, &f->insts[k])[i];
      if (r < f->reg_count) defs[r] = defs[r] == NOBODY ? k : SEVERAL;
    }
  return defs;
}

/* An address as a register that is neither a copy nor a sum with a constant, and the rest. */
typedef struct base {
  plumb_reg reg;
  uint64_t offset;
} base;

static base base_of(const plumb_program *p, const plumb_function *f, const uint32_t *defs,
                    const plumb_inst *access) {
  base b = {plumb_inst_operands(f, access)[0], (uint64_t)access->imm};
  for (uint32_t steps = 0; steps < 64 && b.reg < f->reg_count && defs[b.reg] < SEVERAL; steps++) {
    const plumb_inst *inst = &f->insts[defs[b.reg]];
    const plumb_reg *o = plumb_inst_operands(f, inst);
    if (inst->guard != PLUMB_NO_REG) break;
    if (inst->op == PLUMB_OP_ADD && inst->type == PLUMB_I64 && plumb_reg_is_const(o[1]))
      b.offset += p->consts[plumb_reg_const_index(o[1])].bits;
    else if (inst->op != PLUMB_OP_MOV)
      break;
    b.reg = o[0];
  }
  return b;
}

static unsigned bytes_of(const plumb_function *f, plumb_reg r) {
  return r < f->reg_count ? plumb_dtype_bytes(f->reg_types[r]) : 0;
}

/* Marks the registers whose value is copied into `r`, itself included. */
static void mark_sources(const plumb_function *f, plumb_reg r, bool *marks) {
  if (r < f->reg_count) marks[r] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t k = 0; k < f->inst_count; k++) {
      const plumb_inst *inst = &f->insts[k];
      if (inst->op != PLUMB_OP_MOV) continue;
      plumb_reg to = plumb_inst_results(f, inst)[0], from = plumb_inst_operands(f, inst)[0];
      if (to >= f->reg_count || from >= f->reg_count || !marks[to] || marks[from]) continue;
      marks[from] = changed = true;
    }
  }
}

static bool is_plain_load(const plumb_function *f, const plumb_inst *inst, const bool *marks) {
  const uint32_t strong = PLUMB_FLAG_VOLATILE | PLUMB_FLAG_RELAXED | PLUMB_FLAG_ACQUIRE |
                          PLUMB_FLAG_RELEASE | PLUMB_FLAG_SEQ_CST;
  if (inst->op != PLUMB_OP_LOAD || inst->results != 1 || inst->flags & strong) return false;
  plumb_reg r = plumb_inst_results(f, inst)[0];
  return r < f->reg_count && marks[r];
}

void plumb_find_guesses(const plumb_program *p, const plumb_function *f, uint8_t *facts) {
  uint32_t *defs = NULL;
  bool *marks = NULL;
  for (uint32_t k = 0; k < f->inst_count; k++) {
    const plumb_inst *cas = &f->insts[k];
    if (cas->op != PLUMB_OP_ATOMIC || cas->sub != PLUMB_ATOMIC_CAS) continue;
    if (!defs) {
      defs = definitions(f);
      marks = malloc(f->reg_count + 1);
      if (!marks) abort();
    }
    memset(marks, 0, f->reg_count);
    mark_sources(f, plumb_inst_operands(f, cas)[1], marks);
    base at = base_of(p, f, defs, cas);
    for (uint32_t i = 0; i < f->inst_count; i++) {
      const plumb_inst *load = &f->insts[i];
      if (!is_plain_load(f, load, marks)) continue;
      base from = base_of(p, f, defs, load);
      if (from.reg == at.reg && from.offset == at.offset &&
          plumb_dtype_bytes((plumb_dtype)load->type) == plumb_dtype_bytes((plumb_dtype)cas->type) &&
          bytes_of(f, plumb_inst_results(f, load)[0]) == bytes_of(f, plumb_inst_results(f, cas)[0]))
        facts[i] |= PLUMB_INST_GUESSES;
    }
  }
  free(defs);
  free(marks);
}

/* Loads that only guess what a compare-and-swap will find, as the usual atomic operation on a
 * type without one does:
 *
 *     old = *p;
 *     do { assumed = old; old = atomicCAS(p, assumed, f(assumed)); } while (old != assumed);
 *
 * The load is not atomic, and races with the swaps of others; but whatever it gives, the
 * loop ends only where the swap found what f was computed from. Its value cannot show, so the
 * load counts as a relaxed one (PTX ISA 9.0, 8.7.1: races of one size have a defined outcome,
 * one of the values). */
#include "targets/cpu/exec.h"

static bool uses(const plumb_function *f, const plumb_inst *inst, plumb_reg r) {
  const plumb_reg *operands = plumb_inst_operands(f, inst);
  bool used = inst->guard == r;
  for (uint32_t i = 0; i < inst->operands; i++) used |= operands[i] == r;
  return used;
}

static bool defines(const plumb_function *f, const plumb_inst *inst, plumb_reg r) {
  const plumb_reg *results = plumb_inst_results(f, inst);
  for (uint32_t i = 0; i < inst->results; i++)
    if (results[i] == r) return true;
  return false;
}

static plumb_reg operand(const plumb_function *f, const plumb_inst *inst, uint32_t i) {
  return plumb_inst_operands(f, inst)[i];
}

static plumb_reg result(const plumb_function *f, const plumb_inst *inst) {
  return plumb_inst_results(f, inst)[0];
}

static bool is_move(const plumb_inst *inst) {
  return inst->op == PLUMB_OP_MOV && inst->operands == 1 && inst->guard == PLUMB_NO_REG;
}

static bool is_swap(const plumb_inst *inst) {
  return inst->op == PLUMB_OP_ATOMIC && inst->sub == PLUMB_ATOMIC_CAS && inst->results == 1 &&
         inst->guard == PLUMB_NO_REG;
}

const plumb_inst *plumb_single_definition(const plumb_function *f, plumb_reg r) {
  const plumb_inst *found = NULL;
  for (size_t i = 0; i < f->inst_count; i++) {
    if (!defines(f, &f->insts[i], r)) continue;
    if (found) return NULL;
    found = &f->insts[i];
  }
  return found;
}

static uint32_t block_of(const plumb_function *f, const plumb_inst *inst) {
  uint32_t at = (uint32_t)(inst - f->insts), block = 0;
  while (at >= f->blocks[block].first + f->blocks[block].count) block++;
  return block;
}

const plumb_inst *plumb_definition_before(const plumb_function *f, const plumb_inst *inst,
                                          plumb_reg r) {
  const plumb_inst *first = &f->insts[f->blocks[block_of(f, inst)].first];
  while (inst-- > first)
    if (defines(f, inst, r)) return inst;
  return plumb_single_definition(f, r);
}

/* An address as a register that is no copy of another one and no sum with a constant, and what
 * is added to it. */
typedef struct place {
  plumb_reg base;
  uint64_t offset;
} place;

static place place_of(const plumb_function *f, const plumb_inst *access) {
  enum { STEPS = 16 };
  place p = {operand(f, access, 0), (uint64_t)access->imm};
  for (int i = 0; i < STEPS && !plumb_reg_is_const(p.base); i++) {
    const plumb_inst *d = plumb_single_definition(f, p.base);
    if (!d || d->guard != PLUMB_NO_REG) break;
    plumb_reg last = d->operands ? operand(f, d, d->operands - 1u) : PLUMB_NO_REG;
    if (d->op == PLUMB_OP_ADD && d->type == PLUMB_I64 && plumb_reg_is_const(last))
      p.offset += f->program->consts[plumb_reg_const_index(last)].bits;
    else if (!is_move(d) && d->op != PLUMB_OP_TO_GENERIC && d->op != PLUMB_OP_FROM_GENERIC)
      break;
    p.base = operand(f, d, 0);
  }
  return p;
}

/* Whether the register holds one value for as long as the function runs. */
static bool is_fixed(const plumb_function *f, plumb_reg r) {
  if (plumb_reg_is_const(r) || plumb_single_definition(f, r)) return true;
  for (size_t i = 0; i < f->inst_count; i++)
    if (defines(f, &f->insts[i], r)) return false;
  return true; /* a parameter */
}

static bool is_same_place(const plumb_function *f, const plumb_inst *load, const plumb_inst *swap) {
  place a = place_of(f, load), b = place_of(f, swap);
  return a.base == b.base && a.offset == b.offset && is_fixed(f, a.base) &&
         plumb_dtype_bytes((plumb_dtype)load->type) == plumb_dtype_bytes((plumb_dtype)swap->type);
}

/* Where an edge leads, behind blocks that only move registers; UINT32_MAX where it goes round. */
static uint32_t behind_moves(const plumb_function *f, uint32_t block) {
  for (size_t steps = 0; steps < f->block_count; steps++) {
    const plumb_block *b = &f->blocks[block];
    for (uint32_t i = 0; i + 1 < b->count; i++)
      if (!is_move(&f->insts[b->first + i])) return block;
    const plumb_inst *last = &f->insts[b->first + b->count - 1];
    if (last->op != PLUMB_OP_BRA) return block;
    block = last->target;
  }
  return UINT32_MAX;
}

/* The loop that a guess is made for: `guess` is what the load gave and what each swap found,
 * `compared` that register or its copy in the loop. */
typedef struct loop {
  const plumb_function *f;
  const plumb_inst *first, *swap; /* first: gives the guess to the loop */
  plumb_reg guess, compared;
  uint32_t block;
} loop;

/* The block computes and swaps, and is left only where the swap found what it was compared
 * with. */
static bool repeats_until_found(const loop *l) {
  const plumb_function *f = l->f;
  const plumb_block *b = &f->blocks[l->block];
  const plumb_inst *last = &f->insts[b->first + b->count - 1], *decides = NULL;
  plumb_reg found = result(f, l->swap);
  bool stale = false; /* one of the two registers holds something else by now */
  if (last->op != PLUMB_OP_CONDBR) return false;
  for (const plumb_inst *inst = &f->insts[b->first]; inst < last; inst++) {
    if (inst != l->swap && plumb_op_table[inst->op].op_class != PLUMB_CLASS_ALU) return false;
    if (inst < l->swap && defines(f, inst, l->guess)) return false;
    if (defines(f, inst, operand(f, last, 0))) decides = (stale || inst < l->swap) ? NULL : inst;
    stale |= inst > l->swap && (defines(f, inst, l->compared) || defines(f, inst, found));
  }
  if (!decides || decides->op != PLUMB_OP_CMP || decides->guard != PLUMB_NO_REG ||
      plumb_dtype_is_float((plumb_dtype)decides->type2) || found == l->compared)
    return false;
  plumb_reg x = operand(f, decides, 0), y = operand(f, decides, 1);
  bool pair = (x == l->compared && y == found) || (x == found && y == l->compared);
  bool differs = decides->sub == PLUMB_CMP_NE;
  if (!pair || (!differs && decides->sub != PLUMB_CMP_EQ)) return false;
  return behind_moves(f, differs ? last->target : last->target2) == l->block;
}

/* The guess is given by `first` and by the swap alone, and read by the swap's block alone. */
static bool is_of_swap(const loop *l) {
  const plumb_function *f = l->f;
  for (size_t i = 0; i < f->inst_count; i++) {
    const plumb_inst *inst = &f->insts[i];
    if (uses(f, inst, l->guess) && block_of(f, inst) != l->block) return false;
    if (!defines(f, inst, l->guess) || inst == l->first || inst == l->swap) continue;
    if (!is_move(inst) || operand(f, inst, 0) != result(f, l->swap)) return false;
  }
  return true;
}

/* Whether the swap compares with the guess, or with a copy that its own block makes. */
static bool find_compared(loop *l) {
  l->compared = operand(l->f, l->swap, 1);
  l->block = block_of(l->f, l->swap);
  if (l->compared == l->guess) return true;
  const plumb_inst *copy = plumb_single_definition(l->f, l->compared);
  return copy && is_move(copy) && operand(l->f, copy, 0) == l->guess && copy < l->swap &&
         block_of(l->f, copy) == l->block;
}

static bool is_guess(const plumb_function *f, const plumb_inst *load) {
  enum { MOVES = 4 };
  if (load->op != PLUMB_OP_LOAD || load->results != 1 || load->guard != PLUMB_NO_REG) return false;
  loop l = {.f = f, .first = load, .guess = result(f, load)};
  for (int moves = 0; moves < MOVES; moves++) {
    const plumb_inst *user = NULL;
    size_t users = 0;
    for (size_t i = 0; i < f->inst_count; i++) {
      l.swap = &f->insts[i];
      if (is_swap(l.swap) && find_compared(&l))
        return is_same_place(f, load, l.swap) && is_of_swap(&l) && repeats_until_found(&l);
      if (!uses(f, &f->insts[i], l.guess)) continue;
      users++;
      user = &f->insts[i];
    }
    /* A value on its way to the loop: moved, and nothing else. */
    if (users != 1 || !is_move(user) || plumb_single_definition(f, l.guess) != l.first)
      return false;
    l.first = user;
    l.guess = result(f, user);
  }
  return false;
}

void plumb_find_guesses(const plumb_function *f, uint8_t *facts) {
  bool swaps = false;
  for (size_t i = 0; i < f->inst_count; i++) swaps |= is_swap(&f->insts[i]);
  for (size_t i = 0; swaps && i < f->inst_count; i++)
    if (is_guess(f, &f->insts[i])) facts[i] |= PLUMB_INST_GUESSES;
}

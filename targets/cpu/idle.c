/* Whether blocks wait for ever. The criterion, which proves it:
 *
 *   since an earlier look no byte of memory has changed, every strand that can run has run,
 *   and each stands where it stood with the same values in every register that can decide
 *   what it does next. Then it does the same again, for ever.
 *
 * A register decides if a branch, guard, address, atomic, store or warp operation of the loop
 * the strand is in depends on it: a counter of attempts does not. What a clock, an active
 * mask or an allocation gives is no function of this state, so a loop that it decides is
 * never said to wait for ever; nor is one that reads global memory while blocks that have not
 * started may still write it. Such a loop ends at the step limit, which names it. */
#include <stdlib.h>

#include "targets/cpu/exec.h"

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

/* --- the loop that a strand is in --- */

static void *take(size_t count, size_t bytes) {
  void *p = calloc(count ? count : 1, bytes);
  if (!p) abort();
  return p;
}

static uint32_t block_at(const plumb_function *fn, uint32_t pc) {
  uint32_t b = 0;
  while (b + 1 < fn->block_count &&
         !(fn->blocks[b].first <= pc && pc < fn->blocks[b].first + fn->blocks[b].count))
    b++;
  return b;
}

static uint32_t successors(const plumb_function *fn, uint32_t block, uint32_t *out) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < fn->blocks[block].count; i++) {
    const plumb_inst *inst = &fn->insts[fn->blocks[block].first + i];
    if (inst->op == PLUMB_OP_BRA || inst->op == PLUMB_OP_CONDBR || inst->op == PLUMB_OP_SWITCH)
      out[n++] = inst->target;
    if (inst->op == PLUMB_OP_CONDBR) out[n++] = inst->target2;
    if (inst->op == PLUMB_OP_SWITCH) {
      const uint32_t *table = fn->tables[inst->imm];
      for (uint32_t k = 0; k < table[0]; k++) out[n++] = table[k + 1];
    }
  }
  return n;
}

/* An upper bound for what successors() writes. */
static size_t edge_count(const plumb_function *fn) {
  size_t n = 0;
  for (size_t i = 0; i < fn->inst_count; i++)
    n += fn->insts[i].op == PLUMB_OP_SWITCH ? fn->tables[fn->insts[i].imm][0] + 1u : 2;
  return n;
}

/* Marks bit `mark` of the blocks that can be reached from `start`, itself included, over blocks
 * that bit SHUT is not set of. Backward: from which it can be reached, by going over all edges
 * until nothing changes. */
enum { AFTER = 1, BEFORE = 2, SHUT = 4 };
static void reach(const plumb_function *fn, uint32_t start, bool backward, uint8_t mark,
                  uint8_t *marks, uint32_t *edges) {
  marks[start] |= mark;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < fn->block_count; b++) {
      uint32_t n = successors(fn, b, edges);
      for (uint32_t k = 0; k < n; k++) {
        uint32_t from = backward ? edges[k] : b, to = backward ? b : edges[k];
        if (!(marks[from] & mark) || (marks[to] & (mark | SHUT))) continue;
        marks[to] |= mark;
        changed = true;
      }
    }
  }
}

/* --- registers that decide --- */

static bool decides_by_itself(const plumb_inst *inst) {
  switch (plumb_op_table[inst->op].op_class) {
    case PLUMB_CLASS_ALU:
      return false;
    case PLUMB_CLASS_HOST:
      return inst->op != PLUMB_OP_PRINT;
    default:
      return true;
  }
}

/* Its result is no function of registers and memory. */
static bool is_opaque(const plumb_inst *inst) {
  switch (inst->op) {
    case PLUMB_OP_SREG:
      return plumb_sreg_is_clock((plumb_sreg)inst->sub);
    case PLUMB_OP_ACTIVEMASK:
    case PLUMB_OP_ALLOC:
    case PLUMB_OP_ALLOCA:
    case PLUMB_OP_CALL:
    case PLUMB_OP_CALL_INDIRECT:
    case PLUMB_OP_LAUNCH:
      return true;
    default:
      return false;
  }
}

static bool mark_reg(uint8_t *decides, plumb_reg r) {
  if (r == PLUMB_NO_REG || plumb_reg_is_const(r) || decides[r]) return false;
  decides[r] = 1;
  return true;
}

/* One pass over an instruction; true if more registers decide now. */
static bool spread(const plumb_function *fn, const plumb_inst *inst, uint8_t *decides) {
  bool relevant = decides_by_itself(inst), changed = false;
  for (uint32_t k = 0; k < inst->results; k++) relevant |= decides[plumb_inst_results(fn, inst)[k]];
  if (!relevant) return false;
  changed |= mark_reg(decides, inst->guard);
  for (uint32_t k = 0; k < inst->operands; k++)
    changed |= mark_reg(decides, plumb_inst_operands(fn, inst)[k]);
  return changed;
}

/* Fills `decides`, a byte a register, with those that decide in the blocks that both AFTER and
 * BEFORE are set of; true if what decides there is not all in registers and memory. */
static bool find_deciding(const plumb_function *fn, const uint8_t *marks, uint8_t *decides) {
  bool opaque = false;
  for (bool changed = true; changed;) {
    changed = opaque = false;
    for (uint32_t b = 0; b < fn->block_count; b++) {
      if (marks[b] != (AFTER | BEFORE)) continue;
      for (uint32_t i = 0; i < fn->blocks[b].count; i++) {
        const plumb_inst *inst = &fn->insts[fn->blocks[b].first + i];
        changed |= spread(fn, inst, decides);
        bool used = inst->op == PLUMB_OP_CALL || inst->op == PLUMB_OP_CALL_INDIRECT ||
                    inst->op == PLUMB_OP_LAUNCH;
        for (uint32_t k = 0; k < inst->results; k++)
          used |= decides[plumb_inst_results(fn, inst)[k]];
        opaque |= used && is_opaque(inst);
      }
    }
  }
  return opaque;
}

/* The registers that decide in the loop around `pc`: one byte each. NULL: what decides there
 * is not all in registers and memory. */
static uint8_t *deciding_registers(const plumb_function *fn, uint32_t pc) {
  uint8_t *marks = take(fn->block_count, 1), *decides = take(fn->reg_count, 1);
  uint32_t *edges = take(edge_count(fn), sizeof *edges), start = block_at(fn, pc);
  reach(fn, start, false, AFTER, marks, edges);
  reach(fn, start, true, BEFORE, marks, edges);
  bool opaque = find_deciding(fn, marks, decides);
  free(marks);
  free(edges);
  if (!opaque) return decides;
  free(decides);
  return NULL;
}

/* Whether all that the block does is compute and branch. */
static bool only_computes(const plumb_function *fn, uint32_t block) {
  for (uint32_t i = 0; i < fn->blocks[block].count; i++) {
    const plumb_inst *inst = &fn->insts[fn->blocks[block].first + i];
    bool branch = inst->op == PLUMB_OP_BRA || inst->op == PLUMB_OP_CONDBR ||
                  inst->op == PLUMB_OP_SWITCH || inst->op == PLUMB_OP_NANOSLEEP;
    if (!branch && plumb_op_table[inst->op].op_class != PLUMB_CLASS_ALU) return false;
  }
  return true;
}

bool plumb_awaits_time(const plumb_function *fn, uint32_t pc) {
  const plumb_inst *inst = &fn->insts[pc];
  if (inst->op != PLUMB_OP_SREG || !plumb_sreg_is_clock((plumb_sreg)inst->sub)) return false;
  uint32_t start = block_at(fn, pc);
  if (!only_computes(fn, start)) return false;
  uint8_t *marks = take(fn->block_count, 1), *decides = take(fn->reg_count, 1);
  uint32_t *edges = take(edge_count(fn), sizeof *edges);
  for (uint32_t b = 0; b < fn->block_count; b++)
    if (!only_computes(fn, b)) marks[b] = SHUT;
  reach(fn, start, false, AFTER, marks, edges);
  reach(fn, start, true, BEFORE, marks, edges);
  bool loop = false;
  uint32_t n = successors(fn, start, edges);
  for (uint32_t k = 0; k < n; k++) loop |= marks[edges[k]] == (AFTER | BEFORE);
  find_deciding(fn, marks, decides);
  bool awaits = loop && decides[plumb_inst_results(fn, inst)[0]];
  free(edges);
  free(decides);
  free(marks);
  return awaits;
}

/* --- states --- */

/* The state of a strand that can run; false if it may depend on more. Only the outermost
 * frame's loop is looked into: a strand inside a call has come through code that the loop
 * around its pc does not show. */
static bool hash_strand(const plumb_block_run *br, const plumb_strand *s, uint64_t *out) {
  uint64_t h = mix(s->pc, (uint64_t)s->state);
  for (uint32_t w = 0; w < PLUMB_MAX_LANES / 64; w++) h = mix(h, s->lanes.words[w]);
  *out = h;
  if (s->state != PLUMB_STRAND_READY) return true;
  const plumb_frame *f = s->frame;
  if (f->caller) return false;
  uint8_t *decides = deciding_registers(f->fn, s->pc);
  if (!decides) return false;
  for (plumb_reg r = 0; r < f->fn->reg_count; r++) {
    if (!decides[r]) continue;
    unsigned bytes = plumb_dtype_bytes(f->fn->reg_types[r]);
    const uint8_t *values = plumb_reg_lanes(br, f, r);
    for (uint32_t l = s->lanes.lo; l < s->lanes.hi; l++) {
      uint64_t parts[2] = {0, 0};
      if (!plumb_lanes_has(&s->lanes, l)) continue;
      memcpy(parts, values + (size_t)l * bytes, bytes);
      h = mix(mix(h, parts[0]), parts[1]);
    }
  }
  free(decides);
  *out = h;
  return true;
}

/* Strands lie in any order: their hashes are added. */
static bool hash_block(const plumb_block_run *br, uint64_t *out) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < br->strand_count; i++) {
    uint64_t one;
    if (!hash_strand(br, br->strands[i], &one)) return false;
    sum += one;
  }
  *out = mix(br->index, sum);
  return true;
}

static plumb_strand *waiting_strand(const plumb_block_run *blocks, uint32_t count,
                                    plumb_block_run **out_block) {
  plumb_strand *best = NULL;
  for (uint32_t b = 0; b < count; b++) {
    const plumb_block_run *br = &blocks[b];
    for (uint32_t i = 0; i < br->strand_count; i++) {
      plumb_strand *s = br->strands[i];
      if (s->state != PLUMB_STRAND_READY) continue;
      if (!best || br->index < (*out_block)->index ||
          (br == *out_block && s->lanes.lo < best->lanes.lo)) {
        best = s;
        *out_block = (plumb_block_run *)(uintptr_t)br;
      }
    }
  }
  return best;
}

static bool trap_waiting(plumb_block_run *blocks, uint32_t count, uint64_t unstarted) {
  plumb_block_run *br = NULL;
  plumb_strand *s = waiting_strand(blocks, count, &br);
  if (!s) return false;
  if (unstarted) {
    plumb_unsupported_at(br, s->frame, s->pc,
                         "blocks wait for blocks that have not started: more of them have to be "
                         "resident than the executor holds");
    br->unsupported_status = PLUMB_LIMIT;
    return true;
  }
  const plumb_inst *poll = s->poll_pc ? plumb_inst_at(br->run, s->poll_pc - 1, NULL) : NULL;
  plumb_trap_at(br, PLUMB_TRAP_DEADLOCK, s->frame, s->pc, (int32_t)s->lanes.lo,
                poll ? "the loop waits for a value that nobody writes"
                     : "the loop repeats without any change");
  if (poll) {
    br->trap.location = br->program->locs[poll->loc];
    br->trap.op = (plumb_op)poll->op;
  }
  return true;
}

static void forget(plumb_block_run *blocks, uint32_t count) {
  for (uint32_t b = 0; b < count; b++)
    for (uint32_t i = 0; i < blocks[b].strand_count; i++)
      blocks[b].strands[i]->ran = blocks[b].strands[i]->polled = false;
}

bool plumb_idle_look(plumb_idle *idle, plumb_block_run *blocks, uint32_t count, bool resident,
                     uint64_t unstarted) {
  uint64_t changes = 0, loaded = 0, hash = 0;
  bool all_ran = true;
  for (uint32_t b = 0; b < count; b++) {
    blocks[b].watch = true;
    changes += blocks[b].changes;
    loaded += blocks[b].counters.global_load_bytes;
    for (uint32_t i = 0; i < blocks[b].strand_count; i++) {
      const plumb_strand *s = blocks[b].strands[i];
      all_ran &= s->state != PLUMB_STRAND_READY || s->ran;
    }
  }
  if (changes != idle->changes || (!resident && loaded != idle->loaded)) {
    *idle = (plumb_idle){.changes = changes, .loaded = loaded};
    forget(blocks, count);
    return false;
  }
  if (!all_ran) return false;
  for (uint32_t b = 0; b < count; b++) {
    uint64_t one;
    if (!hash_block(&blocks[b], &one)) {
      forget(blocks, count);
      return false;
    }
    hash = mix(hash, one);
  }
  bool repeats = idle->looks && hash == idle->hash;
  idle->looks++;
  /* Brent: compare with a state kept at powers of two, so that any period is found. */
  if (idle->looks >= idle->next_keep) {
    idle->hash = hash;
    idle->next_keep = idle->looks * 2;
  }
  if (repeats && trap_waiting(blocks, count, unstarted)) return true;
  forget(blocks, count);
  return false;
}

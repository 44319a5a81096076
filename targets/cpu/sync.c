/* What needs other lanes: barriers, and the collectives of a warp.
 *
 * A barrier counts lanes; lanes that have ended do not count (PTX ISA 9.7.13.1: the
 * barrier waits for non-exited threads). A collective waits until every live lane that
 * the member mask names stands at the same instruction. */
#include <stdio.h>

#include "targets/cpu/async.h"

/* --- who is where --- */

static bool aligned(const plumb_strand *s) {
  return s->frame->fn->insts[s->pc].flags & PLUMB_FLAG_ALIGNED;
}

static plumb_strand *parked_mate(plumb_block_run *br, const plumb_strand *s, uint32_t *out_warp) {
  for (uint32_t i = 0; i < br->strand_count; i++) {
    plumb_strand *o = br->strands[i];
    if (o == s || o->state != PLUMB_STRAND_AT_BARRIER || !aligned(o)) continue;
    for (uint32_t w = s->lanes.lo / PLUMB_WARP_LANES; w * PLUMB_WARP_LANES < s->lanes.hi; w++)
      if (plumb_lanes_warp(&s->lanes, w) && plumb_lanes_warp(&o->lanes, w)) {
        *out_warp = w;
        return o;
      }
  }
  return NULL;
}

void plumb_effect_note(plumb_block_run *br, const plumb_strand *s) {
  uint32_t warp;
  if (!parked_mate(br, s, &warp)) return;
  br->used_barriers = true;
  for (uint32_t l = s->lanes.lo; l < s->lanes.hi; l++)
    if (plumb_lanes_has(&s->lanes, l)) br->effects[l] = s->frame->pc_base + s->pc + 1;
}

/* Whether block `to` can be reached after leaving block `from`. */
static bool reaches(const plumb_function *fn, uint32_t from, uint32_t to, uint8_t *seen) {
  const plumb_block *b = &fn->blocks[from];
  for (uint32_t i = 0; i < b->count; i++) {
    const plumb_inst *inst = &fn->insts[b->first + i];
    uint32_t next[2] = {UINT32_MAX, UINT32_MAX};
    if (inst->op == PLUMB_OP_BRA) next[0] = inst->target;
    if (inst->op == PLUMB_OP_CONDBR) next[0] = inst->target, next[1] = inst->target2;
    if (inst->op == PLUMB_OP_SWITCH) {
      next[0] = inst->target;
      const uint32_t *table = fn->tables[inst->imm];
      for (uint32_t k = 1; k <= table[0]; k++) {
        if (table[k] == to) return true;
        if (!seen[table[k]]++ && reaches(fn, table[k], to, seen)) return true;
      }
    }
    for (int k = 0; k < 2; k++) {
      if (next[k] == UINT32_MAX) continue;
      if (next[k] == to) return true;
      if (!seen[next[k]]++ && reaches(fn, next[k], to, seen)) return true;
    }
  }
  return false;
}

static uint32_t block_of(const plumb_function *fn, uint32_t pc) {
  uint32_t found = 0;
  for (uint32_t b = 0; b < fn->block_count; b++)
    if (fn->blocks[b].first <= pc && pc < fn->blocks[b].first + fn->blocks[b].count) found = b;
  return found;
}

/* Lanes that end while warp-mates wait at an aligned barrier have left early, which is
 * allowed, unless they did on the way what their mates will do after the barrier: then
 * they went round it. */
bool plumb_exit_check(plumb_block_run *br, const plumb_strand *s, const plumb_lanes *part) {
  uint32_t warp;
  plumb_strand *mate = parked_mate(br, s, &warp);
  if (!mate) return true;
  for (uint32_t l = part->lo; l < part->hi; l++) {
    if (!plumb_lanes_has(part, l) || !br->effects[l]) continue;
    const plumb_function *fn = NULL;
    const plumb_inst *effect = plumb_inst_at(br->run, br->effects[l] - 1, &fn);
    if (!effect || fn != mate->frame->fn) continue;
    uint32_t pc = (uint32_t)(effect - fn->insts), from = block_of(fn, mate->pc);
    uint8_t seen[4096] = {0};
    if (fn->block_count > sizeof seen) continue;
    bool after =
        (block_of(fn, pc) == from && pc > mate->pc) || reaches(fn, from, block_of(fn, pc), seen);
    if (!after || (l / PLUMB_WARP_LANES) != warp) continue;
    plumb_trap_at(br, PLUMB_TRAP_DIVERGENT_BARRIER, mate->frame, mate->pc, (int32_t)mate->lanes.lo,
                  "lane %u of the warp went round the barrier and ended", l);
    br->trap.location2 = br->program->locs[effect->loc];
    br->trap.lane2 = (int32_t)l;
    return false;
  }
  return true;
}

/* --- barriers --- */

static bool two_barriers(plumb_block_run *br, const plumb_strand *s, const plumb_strand *mate) {
  const plumb_inst *other = &s->frame->fn->insts[s->pc];
  plumb_trap_at(br, PLUMB_TRAP_DIVERGENT_BARRIER, mate->frame, mate->pc, (int32_t)mate->lanes.lo,
                "lanes of one warp wait at different barriers");
  br->trap.location2 = br->program->locs[other->loc];
  br->trap.lane2 = (int32_t)s->lanes.lo;
  return false;
}

static void finish_barrier(plumb_block_run *br, uint32_t id) {
  plumb_barrier_state *b = &br->barriers[id];
  bool whole = b->who.count >= br->live.count;
  if (br->race) plumb_race_meet(br, &b->who, whole);
  for (uint32_t i = 0; i < br->strand_count; i++) {
    plumb_strand *s = br->strands[i];
    if (s->state != PLUMB_STRAND_AT_BARRIER || s->barrier != id) continue;
    const plumb_inst *inst = &s->frame->fn->insts[s->pc];
    if (inst->results) {
      plumb_reg r = plumb_inst_results(s->frame->fn, inst)[0];
      unsigned bytes = plumb_dtype_bytes(s->frame->fn->reg_types[r]);
      uint64_t v = inst->sub == PLUMB_BARRIER_RED_POPC  ? b->popc
                   : inst->sub == PLUMB_BARRIER_RED_AND ? b->popc == b->anded
                                                        : b->popc != 0;
      for (uint32_t l = s->lanes.lo; l < s->lanes.hi; l++)
        if (plumb_lanes_has(&s->lanes, l))
          memcpy(plumb_reg_lanes(br, s->frame, r) + (size_t)l * bytes, &v, bytes);
      if (br->undef) plumb_undef_clear(s->frame, r, &s->lanes);
    }
    if (inst->flags & PLUMB_FLAG_ALIGNED) br->parked_aligned -= s->lanes.count;
    for (uint32_t l = s->lanes.lo; l < s->lanes.hi; l++) br->effects[l] = 0;
    s->state = PLUMB_STRAND_READY;
    s->penalty = s->backs = 0;
    s->pc++;
  }
  *b = (plumb_barrier_state){0};
  br->changes++;
}

/* The barrier is complete when as many lanes have come as it asks for, or all that live. */
static bool complete(const plumb_block_run *br, const plumb_barrier_state *b) {
  if (!b->arrived) return false;
  if (b->expected && b->expected < br->lanes) return b->arrived >= b->expected;
  plumb_lanes missing = br->live;
  plumb_lanes_remove(&missing, &b->who);
  return missing.count == 0;
}

bool plumb_barriers_check(plumb_block_run *br) {
  for (uint32_t id = 0; id < PLUMB_BARRIERS; id++)
    if (complete(br, &br->barriers[id])) finish_barrier(br, id);
  return true;
}

static bool uniform_value(plumb_block_run *br, const plumb_strand *s, plumb_reg r,
                          uint32_t *out_value) {
  const uint8_t *values = plumb_operand(br, s->frame, r);
  *out_value = (uint32_t)plumb_lane_bits(values, 4, s->lanes.lo);
  for (uint32_t l = s->lanes.lo; l < s->lanes.hi; l++)
    if (plumb_lanes_has(&s->lanes, l) && (uint32_t)plumb_lane_bits(values, 4, l) != *out_value)
      return false;
  return true;
}

static bool exec_barrier(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  const plumb_reg *operands = plumb_inst_operands(s->frame->fn, inst);
  uint32_t id = 0, expected = 0, warp;
  for (uint32_t i = 0; br->undef && i < inst->operands; i++)
    if (!plumb_undef_check(br, s, operands[i], &s->lanes, "the operand of a barrier")) return false;
  if (!uniform_value(br, s, operands[0], &id) ||
      (inst->operands > 1 && !uniform_value(br, s, operands[1], &expected)))
    return plumb_trap_at(br, PLUMB_TRAP_DIVERGENT_BARRIER, s->frame, s->pc, (int32_t)s->lanes.lo,
                         "lanes give one barrier different operands");
  if (id >= PLUMB_BARRIERS || expected > PLUMB_MAX_LANES)
    return plumb_trap_at(br, PLUMB_TRAP_DIVERGENT_BARRIER, s->frame, s->pc, (int32_t)s->lanes.lo,
                         "barrier %u of %u lanes: there are 16 barriers and 1024 lanes", id,
                         expected);
  br->counters.barriers++;
  br->used_barriers = true;
  if (br->parked_aligned && (inst->flags & PLUMB_FLAG_ALIGNED)) {
    plumb_strand *mate = parked_mate(br, s, &warp);
    if (mate && (mate->pc != s->pc || mate->frame != s->frame)) return two_barriers(br, s, mate);
  }
  plumb_barrier_state *b = &br->barriers[id];
  if (b->expected && expected && b->expected != expected)
    return plumb_trap_at(br, PLUMB_TRAP_DIVERGENT_BARRIER, s->frame, s->pc, (int32_t)s->lanes.lo,
                         "barrier %u is waited for with %u and with %u lanes", id, b->expected,
                         expected);
  if (expected) b->expected = expected;
  b->arrived += s->lanes.count;
  plumb_lanes_add(&b->who, &s->lanes);
  if (inst->operands > 2) {
    plumb_lanes_settle(&b->who);
    const uint8_t *truth = plumb_operand(br, s->frame, operands[2]);
    for (uint32_t l = s->lanes.lo; l < s->lanes.hi; l++)
      if (plumb_lanes_has(&s->lanes, l)) b->popc += truth[l] & 1;
    b->anded += s->lanes.count;
  }
  br->changes++;
  if (inst->sub == PLUMB_BARRIER_ARRIVE) {
    s->pc++;
  } else {
    s->state = PLUMB_STRAND_AT_BARRIER;
    s->barrier = id;
    if (inst->flags & PLUMB_FLAG_ALIGNED) br->parked_aligned += s->lanes.count;
    plumb_strand_merge(br, s);
  }
  if (complete(br, b)) finish_barrier(br, id);
  return true;
}

/* --- collectives of a warp --- */

typedef struct warp {
  uint32_t first;  /* lane */
  uint32_t active; /* lanes that execute the instruction now */
  uint32_t live;
} warp;

static uint32_t mask_operand(const plumb_inst *inst) {
  switch (inst->op) {
    case PLUMB_OP_WARP_SYNC:
    case PLUMB_OP_ELECT:
      return 0;
    case PLUMB_OP_SHFL:
      return 3;
    default:
      return 1;
  }
}

/* Puts bits [0, 32) of a lane's register. */
static void put(plumb_block_run *br, const plumb_strand *s, plumb_reg r, uint32_t lane,
                uint64_t v) {
  unsigned bytes = plumb_dtype_bytes(s->frame->fn->reg_types[r]);
  memcpy(plumb_reg_lanes(br, s->frame, r) + (size_t)lane * bytes, &v, bytes);
}

/* PTX ISA 9.0, 9.7.9.6, shfl.sync: the lane that lane `i` reads. c holds the clamp (bits 0-4)
 * and the segment mask (8-12). False, and the lane itself, where it is out of range. */
static bool shuffle_source(plumb_shfl mode, uint32_t i, uint32_t b, uint32_t c, uint32_t *out) {
  uint32_t segment = c >> 8 & 31, clamp = c & 31;
  uint32_t max = (i & segment) | (clamp & ~segment & 31);
  b &= 31;
  int32_t j = mode == PLUMB_SHFL_UP     ? (int32_t)i - (int32_t)b
              : mode == PLUMB_SHFL_DOWN ? (int32_t)(i + b)
              : mode == PLUMB_SHFL_BFLY ? (int32_t)(i ^ b)
                                        : (int32_t)((i & segment) | (b & ~segment & 31));
  bool in = mode == PLUMB_SHFL_UP ? j >= (int32_t)max : j <= (int32_t)max;
  *out = in ? (uint32_t)j : i;
  return in;
}

/* A whole warp of words without origins and companions, as nearly all are. */
static bool shuffle_words(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                          const warp *w) {
  if (w->active != UINT32_MAX || br->undef || br->run->options.companions ||
      plumb_dtype_bytes((plumb_dtype)inst->type) != 4 || w->first + PLUMB_WARP_LANES > br->lanes)
    return false;
  const plumb_reg *o = plumb_inst_operands(s->frame->fn, inst);
  const plumb_reg *r = plumb_inst_results(s->frame->fn, inst);
  const uint32_t *words[3];
  uint32_t out[PLUMB_WARP_LANES];
  for (int k = 0; k < 3; k++)
    words[k] = (const uint32_t *)(const void *)plumb_operand(br, s->frame, o[k]) + w->first;
  uint8_t *ok = plumb_reg_lanes(br, s->frame, r[1]) + w->first;
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++) {
    uint32_t j;
    ok[i] = shuffle_source((plumb_shfl)inst->sub, i, words[1][i], words[2][i], &j);
    out[i] = words[0][j & 31];
  }
  memcpy(plumb_reg_lanes(br, s->frame, r[0]) + (size_t)w->first * 4, out, sizeof out);
  return true;
}

static void shuffle(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                    const warp *w) {
  const plumb_reg *o = plumb_inst_operands(s->frame->fn, inst);
  const plumb_reg *r = plumb_inst_results(s->frame->fn, inst);
  unsigned bytes = plumb_dtype_bytes((plumb_dtype)inst->type);
  const uint8_t *values = plumb_operand(br, s->frame, o[0]);
  const uint8_t *bs = plumb_operand(br, s->frame, o[1]), *cs = plumb_operand(br, s->frame, o[2]);
  uint64_t out[PLUMB_WARP_LANES];
  uint32_t origins[PLUMB_WARP_LANES];
  bool ok[PLUMB_WARP_LANES];
  plumb_companion companions[PLUMB_WARP_LANES];
  bool has_companion[PLUMB_WARP_LANES];
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++) {
    if (!(w->active >> i & 1)) continue;
    uint32_t b = (uint32_t)plumb_lane_bits(bs, 4, w->first + i), j;
    uint32_t c = (uint32_t)plumb_lane_bits(cs, 4, w->first + i);
    bool in = shuffle_source((plumb_shfl)inst->sub, i, b, c, &j);
    uint32_t source = w->first + j;
    ok[i] = in;
    out[i] = 0;
    origins[i] = 0;
    has_companion[i] = false;
    if (source < br->lanes) {
      out[i] = plumb_lane_bits(values, bytes, source);
      if (br->undef) origins[i] = plumb_undef_get(s->frame, o[0], source);
      const plumb_companion *kept = plumb_companion_get(s->frame, o[0], source);
      has_companion[i] = kept != NULL;
      if (kept) companions[i] = *kept;
    }
    /* Reading a lane that does not take part gives an undefined value. */
    if (in && !(w->active >> j & 1)) {
      br->undef = true;
      origins[i] = s->frame->pc_base + s->pc + 1;
    }
  }
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++) {
    if (!(w->active >> i & 1)) continue;
    put(br, s, r[0], w->first + i, out[i]);
    put(br, s, r[1], w->first + i, ok[i]);
    if (br->undef) plumb_undef_set(br, s->frame, r[0], w->first + i, origins[i]);
    if (br->run->options.companions)
      plumb_companion_set(br, s->frame, r[0], w->first + i,
                          has_companion[i] ? &companions[i] : NULL);
  }
}

static void vote(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                 const warp *w) {
  const uint8_t *truth = plumb_operand(br, s->frame, plumb_inst_operands(s->frame->fn, inst)[0]);
  uint32_t ballot = 0;
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++)
    if (w->active >> i & 1) ballot |= (uint32_t)(truth[w->first + i] & 1) << i;
  uint64_t v = ballot;
  if (inst->sub == PLUMB_VOTE_ALL) v = ballot == w->active;
  if (inst->sub == PLUMB_VOTE_ANY) v = ballot != 0;
  if (inst->sub == PLUMB_VOTE_UNI) v = ballot == w->active || ballot == 0;
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++)
    if (w->active >> i & 1) put(br, s, plumb_inst_results(s->frame->fn, inst)[0], w->first + i, v);
}

static void match(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                  const warp *w) {
  const plumb_reg *r = plumb_inst_results(s->frame->fn, inst);
  unsigned bytes = plumb_dtype_bytes((plumb_dtype)inst->type);
  const uint8_t *values = plumb_operand(br, s->frame, plumb_inst_operands(s->frame->fn, inst)[0]);
  uint32_t same[PLUMB_WARP_LANES] = {0};
  uint64_t bits[PLUMB_WARP_LANES] = {0};
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++)
    if (w->active >> i & 1) bits[i] = plumb_lane_bits(values, bytes, w->first + i);
  for (uint32_t left = w->active; left;) { /* one value after another */
    uint64_t value = bits[__builtin_ctz(left)];
    uint32_t equal = 0;
    for (uint32_t k = 0; k < PLUMB_WARP_LANES; k++) equal |= (uint32_t)(bits[k] == value) << k;
    equal &= w->active;
    for (uint32_t k = 0; k < PLUMB_WARP_LANES; k++) same[k] |= equal >> k & 1 ? equal : 0;
    left &= ~equal;
  }
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++) {
    if (!(w->active >> i & 1)) continue;
    bool all = same[i] == w->active;
    put(br, s, r[0], w->first + i, inst->sub == 0 ? same[i] : all ? w->active : 0);
    if (inst->results > 1) put(br, s, r[1], w->first + i, all);
  }
}

static void reduce(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                   const warp *w) {
  plumb_dtype type = (plumb_dtype)inst->type;
  unsigned bytes = plumb_dtype_bytes(type);
  const uint8_t *values = plumb_operand(br, s->frame, plumb_inst_operands(s->frame->fn, inst)[0]);
  uint64_t acc = 0;
  bool first = true;
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++) {
    if (!(w->active >> i & 1)) continue;
    uint64_t v = plumb_lane_bits(values, bytes, w->first + i);
    if (inst->flags & PLUMB_FLAG_ABS_OP) v &= ~(1ull << (plumb_dtype_table[type].bits - 1));
    /* A single step with itself makes a lone NaN canonical and changes nothing else. */
    bool self = first && plumb_dtype_is_float(type);
    acc = first && !self ? v
                         : plumb_atomic_apply((plumb_atomic)inst->sub, type, first ? v : acc, v, 0);
    first = false;
  }
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++)
    if (w->active >> i & 1)
      put(br, s, plumb_inst_results(s->frame->fn, inst)[0], w->first + i, acc);
}

static void elect(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                  const warp *w) {
  uint32_t leader = (uint32_t)__builtin_ctz(w->active);
  const plumb_reg *r = plumb_inst_results(s->frame->fn, inst);
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++) {
    if (!(w->active >> i & 1)) continue;
    put(br, s, r[0], w->first + i, leader);
    put(br, s, r[1], w->first + i, i == leader);
  }
}

/* Whole warps execute it together: .aligned, and without a member mask of its own. */
static bool is_whole(const plumb_inst *inst) {
  switch (inst->op) {
    case PLUMB_OP_MMA:
    case PLUMB_OP_MATRIX_LOAD:
    case PLUMB_OP_MATRIX_STORE:
    case PLUMB_OP_MATRIX_MOVE:
    case PLUMB_OP_WGMMA:
    case PLUMB_OP_WGMMA_GROUP:
      return true;
    case PLUMB_OP_VOTE: /* what a decoder puts where lanes must be together */
      return inst->flags & PLUMB_FLAG_ALIGNED;
    default:
      return false;
  }
}

static bool run_warp(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, const warp *w) {
  switch (inst->op) {
    case PLUMB_OP_MMA:
      return plumb_exec_mma(br, s, inst, w->first);
    case PLUMB_OP_WGMMA:
      return plumb_exec_wgmma(br, s, inst, w->first);
    case PLUMB_OP_WGMMA_GROUP:
      return plumb_exec_wgmma_group(br, s, inst, w->first);
    case PLUMB_OP_MATRIX_LOAD:
    case PLUMB_OP_MATRIX_STORE:
    case PLUMB_OP_MATRIX_MOVE:
      return plumb_exec_matrix(br, s, inst, w->first);
    case PLUMB_OP_SHFL:
      if (!shuffle_words(br, s, inst, w)) shuffle(br, s, inst, w);
      break;
    case PLUMB_OP_VOTE:
      vote(br, s, inst, w);
      break;
    case PLUMB_OP_MATCH:
      match(br, s, inst, w);
      break;
    case PLUMB_OP_REDUX:
      reduce(br, s, inst, w);
      break;
    case PLUMB_OP_ELECT:
      elect(br, s, inst, w);
      break;
    default:
      break;
  }
  if (inst->op == PLUMB_OP_SHFL) return true;
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++)
    for (uint32_t k = 0; (w->active >> i & 1) && k < inst->results; k++) {
      plumb_reg r = plumb_inst_results(s->frame->fn, inst)[k];
      if (br->undef) plumb_undef_set(br, s->frame, r, w->first + i, 0);
      if (br->run->options.companions) plumb_companion_set(br, s->frame, r, w->first + i, NULL);
    }
  return true;
}

/* Which lanes of one warp can go on: those whose mask's live members are all here. */
static bool ready_lanes(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, const warp *w,
                        const uint8_t *masks, uint32_t *out_ready) {
  *out_ready = 0;
  if (is_whole(inst) && w->live != UINT32_MAX)
    return plumb_trap_at(br, PLUMB_TRAP_DIVERGENT_BARRIER, s->frame, s->pc,
                         (int32_t)(w->first + (uint32_t)__builtin_ctz(w->active)),
                         "%s needs all 32 lanes of the warp: %u have ended or do not exist",
                         plumb_op_table[inst->op].mnemonic,
                         32u - (uint32_t)__builtin_popcount(w->live));
  for (uint32_t i = 0; i < PLUMB_WARP_LANES; i++) {
    if (!(w->active >> i & 1)) continue;
    uint32_t mask = (uint32_t)plumb_lane_bits(masks, 4, w->first + i);
    if (!(mask >> i & 1))
      return plumb_trap_at(br, PLUMB_TRAP_DIVERGENT_BARRIER, s->frame, s->pc,
                           (int32_t)(w->first + i), "the lane is not in its own member mask 0x%08x",
                           mask);
    if ((mask & w->live & ~w->active) == 0) *out_ready |= 1u << i;
  }
  return true;
}

/* Runs the ready lanes of a warp, group by group of equal masks. */
static bool run_ready(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, const warp *w,
                      const uint8_t *masks, uint32_t ready) {
  while (ready) {
    uint32_t i = (uint32_t)__builtin_ctz(ready);
    uint32_t mask = (uint32_t)plumb_lane_bits(masks, 4, w->first + i);
    warp group = *w;
    group.active = mask & ready;
    if (!run_warp(br, s, inst, &group)) return false;
    /* Only the barrier orders memory (PTX ISA 9.7.13.2): a shuffle or a vote does not. */
    if (br->race && inst->op == PLUMB_OP_WARP_SYNC) {
      plumb_lanes who = {0};
      who.words[w->first / 64] = (uint64_t)group.active << (w->first % 64);
      plumb_lanes_settle(&who);
      plumb_race_meet(br, &who, false);
    }
    ready &= ~group.active;
  }
  return true;
}

static bool exec_warp(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  const plumb_reg *operands = plumb_inst_operands(s->frame->fn, inst);
  bool whole = is_whole(inst);
  if (br->undef && !whole &&
      !plumb_undef_check(br, s, operands[mask_operand(inst)], &s->lanes, "a member mask"))
    return false;
  if (br->undef && inst->op == PLUMB_OP_SHFL &&
      (!plumb_undef_check(br, s, operands[1], &s->lanes, "the lane of a shuffle") ||
       !plumb_undef_check(br, s, operands[2], &s->lanes, "the lane of a shuffle")))
    return false;
  if (br->undef && inst->op != PLUMB_OP_SHFL && inst->op != PLUMB_OP_WARP_SYNC &&
      inst->op != PLUMB_OP_ELECT && !whole &&
      !plumb_undef_check(br, s, operands[0], &s->lanes, "the operand of a warp operation"))
    return false;
  /* Lanes that already wait here come along. */
  s->state = PLUMB_STRAND_AT_WARP;
  plumb_strand_merge(br, s);
  s->state = PLUMB_STRAND_READY;
  plumb_strand_merge(br, s);
  uint8_t *copy = br->scratch[3]; /* results may take the masks' place */
  if (whole)                      /* .aligned: every lane is a member */
    memset(copy, 0xff, (size_t)br->lanes * 4);
  else
    memcpy(copy, plumb_operand(br, s->frame, operands[mask_operand(inst)]), (size_t)br->lanes * 4);
  plumb_lanes waiting = {0};
  for (uint32_t n = s->lanes.lo / PLUMB_WARP_LANES; n * PLUMB_WARP_LANES < s->lanes.hi; n++) {
    warp w = {n * PLUMB_WARP_LANES, plumb_lanes_warp(&s->lanes, n), plumb_lanes_warp(&br->live, n)};
    uint32_t ready;
    if (!w.active) continue;
    if (!ready_lanes(br, s, inst, &w, copy, &ready)) return false;
    if (!run_ready(br, s, inst, &w, copy, ready)) return false;
    waiting.words[n / 2] |= (uint64_t)(w.active & ~ready) << (n % 2 * 32);
  }
  plumb_lanes_settle(&waiting);
  if (waiting.count == s->lanes.count) {
    s->state = PLUMB_STRAND_AT_WARP;
    return true;
  }
  if (waiting.count) plumb_strand_split(br, s, &waiting, s->pc)->state = PLUMB_STRAND_AT_WARP;
  s->pc++;
  return true;
}

static void exec_activemask(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  plumb_reg r = plumb_inst_results(s->frame->fn, inst)[0];
  for (uint32_t l = s->lanes.lo; l < s->lanes.hi; l++)
    if (plumb_lanes_has(&s->lanes, l))
      put(br, s, r, l, plumb_lanes_warp(&s->lanes, l / PLUMB_WARP_LANES));
  if (br->undef) plumb_undef_clear(s->frame, r, &s->lanes);
  s->pc++;
}

bool plumb_exec_sync(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  switch (inst->op) {
    case PLUMB_OP_BARRIER:
      return exec_barrier(br, s, inst);
    case PLUMB_OP_ACTIVEMASK:
      exec_activemask(br, s, inst);
      return true;
    case PLUMB_OP_CLUSTER_BARRIER:
      return plumb_exec_cluster_barrier(br, s, inst);
    case PLUMB_OP_NANOSLEEP:
      s->pc++;
      if (br->strand_count > 1) s->penalty++;
      return true;
    default:
      return exec_warp(br, s, inst);
  }
}

/* --- nothing can move --- */

bool plumb_trap_stuck(plumb_block_run *br) {
  plumb_strand *at_barrier = NULL, *at_warp = NULL;
  for (uint32_t i = 0; i < br->strand_count; i++) {
    plumb_strand *s = br->strands[i];
    plumb_strand **kept = s->state == PLUMB_STRAND_AT_BARRIER ? &at_barrier : &at_warp;
    if (!*kept || s->lanes.lo < (*kept)->lanes.lo) *kept = s;
  }
  plumb_strand *s = at_warp ? at_warp : at_barrier;
  const char *op = plumb_op_table[s->frame->fn->insts[s->pc].op].mnemonic;
  uint32_t warp_index;
  plumb_strand *mate = at_warp ? parked_mate(br, at_warp, &warp_index) : NULL;
  if (mate) { /* lanes of one warp: some at an aligned barrier, some at a collective */
    plumb_trap_at(br, PLUMB_TRAP_DIVERGENT_BARRIER, mate->frame, mate->pc, (int32_t)mate->lanes.lo,
                  "some lanes of the warp wait at the barrier, others at %s for them", op);
    br->trap.location2 = br->program->locs[s->frame->fn->insts[s->pc].loc];
    br->trap.lane2 = (int32_t)s->lanes.lo;
    return false;
  }
  if (at_warp && is_whole(&at_warp->frame->fn->insts[at_warp->pc]))
    return plumb_trap_at(br, PLUMB_TRAP_DIVERGENT_BARRIER, s->frame, s->pc, (int32_t)s->lanes.lo,
                         "%s needs all lanes of the warp together, and some wait elsewhere", op);
  if (at_warp && !at_barrier)
    return plumb_trap_at(br, PLUMB_TRAP_DEADLOCK, s->frame, s->pc, (int32_t)s->lanes.lo,
                         "%s waits for lanes of its mask that never come", op);
  plumb_barrier_state *b = at_barrier ? &br->barriers[at_barrier->barrier] : NULL;
  return plumb_trap_at(br, PLUMB_TRAP_DEADLOCK, s->frame, s->pc, (int32_t)s->lanes.lo,
                       "%s waits, and no lane can go on (%u lanes have come to the barrier)", op,
                       b ? b->arrived : 0);
}

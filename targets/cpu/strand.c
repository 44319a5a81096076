/* Sets of lanes, strands and frames: who runs next, who merges, who ends. */
#include <stdlib.h>

#include "targets/cpu/async.h"

/* A strand that has taken this many backward branches while others are ready lets
 * them go first; each further budget is twice as long, up to 64 times. */
#define BUDGET_BACKS 64u
#define POLLING_BACKS 16u

static const uint16_t *iota(void) {
  static uint16_t numbers[PLUMB_MAX_LANES];
  static bool ready; /* filled before any thread starts: see plumb_lanes_fill */
  if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) {
    for (uint32_t i = 0; i < PLUMB_MAX_LANES; i++)
      __atomic_store_n(&numbers[i], (uint16_t)i, __ATOMIC_RELAXED);
    __atomic_store_n(&ready, true, __ATOMIC_RELEASE);
  }
  return numbers;
}

void plumb_lanes_settle(plumb_lanes *s) {
  s->count = s->lo = s->hi = 0;
  bool first = true;
  for (uint32_t w = 0; w < PLUMB_MAX_LANES / 64; w++) {
    uint64_t bits = s->words[w];
    if (!bits) continue;
    s->count += (uint32_t)__builtin_popcountll(bits);
    if (first) s->lo = w * 64 + (uint32_t)__builtin_ctzll(bits);
    first = false;
    s->hi = w * 64 + 64 - (uint32_t)__builtin_clzll(bits);
  }
  s->dense = s->count == s->hi - s->lo;
}

void plumb_lanes_fill(plumb_lanes *s, uint32_t count) {
  memset(s->words, 0, sizeof s->words);
  for (uint32_t w = 0; w < count / 64; w++) s->words[w] = ~0ull;
  if (count % 64) s->words[count / 64] = (1ull << (count % 64)) - 1;
  plumb_lanes_settle(s);
}

void plumb_lanes_add(plumb_lanes *s, const plumb_lanes *other) {
  for (uint32_t w = 0; w < PLUMB_MAX_LANES / 64; w++) s->words[w] |= other->words[w];
  plumb_lanes_settle(s);
}

void plumb_lanes_remove(plumb_lanes *s, const plumb_lanes *other) {
  for (uint32_t w = 0; w < PLUMB_MAX_LANES / 64; w++) s->words[w] &= ~other->words[w];
  plumb_lanes_settle(s);
}

const uint16_t *plumb_lanes_list(const plumb_lanes *s, uint16_t *room) {
  if (s->dense) return iota() + s->lo;
  uint32_t n = 0;
  for (uint32_t w = s->lo / 64; w * 64 < s->hi; w++)
    for (uint64_t bits = s->words[w]; bits; bits &= bits - 1)
      room[n++] = (uint16_t)(w * 64 + (uint32_t)__builtin_ctzll(bits));
  return room;
}

/* --- strands --- */

static uint64_t next_random(plumb_block_run *br) {
  uint64_t z = (br->random += 0x9e3779b97f4a7c15ull); /* splitmix64 */
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

plumb_strand *plumb_strand_create(plumb_block_run *br, uint32_t pc, plumb_frame *frame,
                                  const plumb_lanes *lanes) {
  if (br->strand_count == br->strand_capacity) {
    uint32_t capacity = br->strand_capacity ? br->strand_capacity * 2 : 8;
    plumb_strand **grown = realloc(br->strands, capacity * sizeof *grown);
    if (!grown) abort();
    memset(grown + br->strand_capacity, 0, (capacity - br->strand_capacity) * sizeof *grown);
    br->strands = grown;
    br->strand_capacity = capacity;
  }
  plumb_strand *s = br->strands[br->strand_count];
  if (!s) {
    s = calloc(1, sizeof *s);
    if (!s) abort();
    br->strands[br->strand_count] = s;
  }
  br->strand_count++;
  *s = (plumb_strand){.pc = pc, .frame = frame, .lanes = *lanes, .tie = next_random(br)};
  return s;
}

void plumb_strand_destroy(plumb_block_run *br, plumb_strand *s) {
  for (uint32_t i = 0; i < br->strand_count; i++)
    if (br->strands[i] == s) {
      br->strand_count--;
      br->strands[i] = br->strands[br->strand_count];
      br->strands[br->strand_count] = s; /* kept for the next create */
      break;
    }
  if (br->current == s) br->current = NULL;
}

plumb_strand *plumb_strand_split(plumb_block_run *br, plumb_strand *s, const plumb_lanes *part,
                                 uint32_t pc) {
  plumb_strand *other = plumb_strand_create(br, pc, s->frame, part);
  other->penalty = s->penalty;
  other->backs = s->backs;
  other->polled = s->polled;
  other->poll_pc = s->poll_pc;
  other->wait_pc = s->wait_pc;
  other->wait_from = s->wait_from;
  plumb_lanes_remove(&s->lanes, part);
  return other;
}

void plumb_strand_merge(plumb_block_run *br, plumb_strand *s) {
  for (uint32_t i = 0; i < br->strand_count;) {
    plumb_strand *o = br->strands[i];
    if (o == s || o->pc != s->pc || o->frame != s->frame || o->state != s->state) {
      i++;
      continue;
    }
    plumb_lanes_add(&s->lanes, &o->lanes);
    if (o->penalty < s->penalty) s->penalty = o->penalty;
    s->polled |= o->polled;
    if (o->poll_pc) s->poll_pc = o->poll_pc;
    plumb_strand_destroy(br, o);
  }
}

static uint32_t order_at(const plumb_function *fn, uint32_t pc) {
  /* Blocks lie in ascending order of their first instruction; empty ones hold no pc. */
  size_t lo = 0, hi = fn->block_count;
  while (hi - lo > 1) {
    size_t mid = (lo + hi) / 2;
    if (fn->blocks[mid].first <= pc)
      lo = mid;
    else
      hi = mid;
  }
  return fn->blocks[lo].order;
}

/* Which of two strands is behind, so that it should catch up first: compared where their
 * call chains part. Negative: a is behind. */
static int compare_place(const plumb_strand *a, const plumb_strand *b) {
  const plumb_frame *fa = a->frame, *fb = b->frame;
  uint32_t pa = a->pc, pb = b->pc;
  while (fa != fb) {
    if (fa && (!fb || fa->depth >= fb->depth)) {
      pa = fa->call_pc;
      fa = fa->caller;
    } else {
      pb = fb->call_pc;
      fb = fb->caller;
    }
  }
  uint32_t oa = order_at(fa->fn, pa), ob = order_at(fa->fn, pb);
  if (oa != ob) return oa < ob ? -1 : 1;
  if (pa != pb) return pa < pb ? -1 : 1;
  /* One stands before the call that the other is in: it joins there. */
  if (a->frame->depth != b->frame->depth) return a->frame->depth < b->frame->depth ? -1 : 1;
  return 0;
}

static bool goes_before(const plumb_strand *a, const plumb_strand *b) {
  if (a->penalty != b->penalty) return a->penalty < b->penalty;
  int place = compare_place(a, b);
  return place ? place < 0 : a->tie < b->tie;
}

/* A loop that polls memory most likely waits for one of the others. */
static uint32_t budget_of(const plumb_strand *s) {
  if (s->polled) return POLLING_BACKS;
  return BUDGET_BACKS << (s->penalty < 6 ? s->penalty : 6);
}

bool plumb_strand_pick(plumb_block_run *br) {
  plumb_strand *s = br->current;
  if (br->strand_count == 1 && br->strands[0]->state == PLUMB_STRAND_READY) {
    br->current = br->strands[0];
    br->current->ran = true;
    return true;
  }
  if (s && s->state == PLUMB_STRAND_READY) plumb_strand_merge(br, s);
  plumb_strand *best = NULL;
  uint32_t ready = 0;
  for (uint32_t i = 0; i < br->strand_count; i++) {
    plumb_strand *o = br->strands[i];
    if (o->state != PLUMB_STRAND_READY) continue;
    ready++;
    if (!best || goes_before(o, best)) best = o;
  }
  if (ready > 1 && best->backs >= budget_of(best)) {
    best->backs = 0;
    best->penalty++;
    return plumb_strand_pick(br);
  }
  if (best && best != s) plumb_strand_merge(br, best);
  if (best) best->ran = true;
  br->current = best;
  return best != NULL;
}

void plumb_strand_wake(plumb_block_run *br) {
  for (uint32_t i = 0; i < br->strand_count; i++)
    if (br->strands[i]->state == PLUMB_STRAND_AT_WARP) br->strands[i]->state = PLUMB_STRAND_READY;
}

bool plumb_lanes_exit(plumb_block_run *br, plumb_strand *s, const plumb_lanes *part) {
  if (br->parked_aligned && !plumb_exit_check(br, s, part)) return false;
  plumb_lanes ending = *part;
  plumb_frame *f = s->frame;
  while (f) {
    plumb_frame *caller = f->caller;
    plumb_frame_leave(br, f, ending.count);
    f = caller;
  }
  plumb_lanes_remove(&br->live, &ending);
  if (ending.count == s->lanes.count)
    plumb_strand_destroy(br, s);
  else
    plumb_lanes_remove(&s->lanes, &ending);
  if (!br->live.count) return true;
  plumb_strand_wake(br);
  return plumb_barriers_check(br);
}

/* --- frames --- */

static void clear_registers(plumb_block_run *br, plumb_frame *f) {
  /* What a register holds before it is written must not depend on the block before. */
  if (f->serial != br->serial && (f->serial == 0 || f->fn->reads_unwritten))
    memset(f->regs, 0, f->regs_bytes);
  f->serial = br->serial;
  plumb_flight_destroy(f);
  if (f->origins)
    for (size_t r = 0; r < f->fn->reg_count; r++)
      if (f->origins[r]) memset(f->origins[r], 0, br->lanes * sizeof **f->origins);
  if (f->companions)
    for (size_t r = 0; r < f->fn->reg_count; r++) {
      free(f->companions[r]);
      f->companions[r] = NULL;
    }
}

plumb_frame *plumb_frame_create(plumb_block_run *br, const plumb_function *fn, plumb_frame *caller,
                                uint32_t call_pc, uint64_t local_base) {
  plumb_frame *f = br->free_frames[fn->index];
  if (f) {
    br->free_frames[fn->index] = f->sibling;
  } else {
    f = calloc(1, sizeof *f);
    if (!f) abort();
    f->fn = fn;
    f->regs_bytes = ((size_t)fn->slot_bytes * br->lanes + 127) / 64 * 64;
    f->regs = aligned_alloc(64, f->regs_bytes);
    f->saved_top = calloc(br->lanes, sizeof *f->saved_top);
    if (!f->regs || !f->saved_top) abort();
    f->pc_base = br->run->pc_bases[fn->index];
  }
  clear_registers(br, f);
  f->caller = caller;
  f->call_pc = call_pc;
  f->depth = caller ? caller->depth + 1 : 0;
  f->lane_count = 0;
  f->local_base = local_base;
  f->children = f->sibling = NULL;
  if (caller) {
    f->sibling = caller->children;
    caller->children = f;
  }
  br->frame_bytes += f->regs_bytes;
  return f;
}

void plumb_frame_leave(plumb_block_run *br, plumb_frame *f, uint32_t lanes) {
  f->lane_count -= lanes;
  if (f->lane_count) return;
  if (f->caller) {
    plumb_frame **link = &f->caller->children;
    while (*link != f) link = &(*link)->sibling;
    *link = f->sibling;
  }
  br->frame_bytes -= f->regs_bytes;
  f->sibling = br->free_frames[f->fn->index];
  br->free_frames[f->fn->index] = f;
}

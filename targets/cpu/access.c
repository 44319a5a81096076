/* Loads and stores: every lane's address is checked for bounds and alignment, every
 * byte for having been written. Lanes of one instruction nearly always stay in one
 * view (an allocation, or the block's shared memory), so that is the fast path. */
#include "targets/cpu/exec.h"

#include <stdio.h>
#include <stdlib.h>

#define STATE_ONES 0x0101010101010101ull

/* --- addresses --- */

PLUMB_CLONES
static void add_plain(uint64_t *to, const uint64_t *from, uint64_t add, uint32_t lo, uint32_t hi) {
  for (uint32_t l = lo; l < hi; l++) to[l] = from[l] + add;
}

PLUMB_CLONES
static void add_window(uint64_t *to, const uint64_t *from, uint64_t add, uint64_t base, uint32_t lo,
                       uint32_t hi) {
  const uint64_t wild = 0xff00000000000000ull;
  for (uint32_t l = lo; l < hi; l++) {
    uint64_t off = from[l] + add;
    to[l] = off & wild ? off | wild : off | base;
  }
}

bool plumb_addresses(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on) {
  plumb_reg r = plumb_inst_operands(s->frame->fn, inst)[0];
  if (br->undef && !plumb_undef_check(br, s, r, on, "an address")) return false;
  const uint64_t *from = (const uint64_t *)(const void *)plumb_operand(br, s->frame, r);
  uint64_t add = (uint64_t)inst->imm;
  uint64_t *to = br->addresses;
  static const uint8_t windows[PLUMB_SPACE_COUNT] = {[PLUMB_SPACE_SHARED] = PLUMB_WINDOW_SHARED,
                                                     [PLUMB_SPACE_LOCAL] = PLUMB_WINDOW_LOCAL,
                                                     [PLUMB_SPACE_PARAM] = PLUMB_WINDOW_PARAM};
  /* An offset beyond the window must not wrap into another window's addresses. */
  uint64_t base = plumb_window_base(windows[inst->space]);
  if (base == 0)
    add_plain(to, from, add, on->lo, on->hi);
  else
    add_window(to, from, add, base, on->lo, on->hi);
  return true;
}

/* --- one access of all lanes --- */

typedef struct access {
  plumb_strand *s;
  const plumb_inst *inst;
  const plumb_lanes *on;
  const uint16_t *list;
  const plumb_reg *regs; /* values: results of a load, operands of a store */
  uint32_t elements;
  unsigned element_bytes;
  uint64_t size_bytes;
  plumb_view view;
  bool unit_stride; /* lanes dense, and each right after the one before */
  bool uniform;     /* all lanes at one place */
} access;

/* Offsets of dense lanes, and whether any is out of bounds or misaligned. `expected` is
 * the distance between neighbours; *out_differs is zero if it holds for all. */
PLUMB_CLONES
static uint64_t dense_offsets(uint64_t *restrict off, const uint64_t *restrict from, uint64_t base,
                              uint64_t limit, uint64_t align, uint64_t expected, uint32_t n,
                              uint64_t *out_differs) {
  uint64_t bad = 0, crooked = 0, differs = 0, off0 = from[0] - base;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t o = from[i] - base;
    off[i] = o;
    /* Both are below 2^63 in bounds: the sign bit tells. */
    bad |= o | (limit - o);
    crooked |= o;
    differs |= o ^ (off0 + i * expected);
  }
  *out_differs = differs;
  return bad >> 63 | (crooked & align);
}

/* Fills br->offsets; false if the lanes do not lie in one view, aligned and in bounds. */
/* Low bits of an address that must be zero: the whole access's own alignment (the
 * element's, where the size is no power of two), or what the source promised. */
static uint64_t align_mask(const access *a) {
  uint64_t natural = a->size_bytes & (a->size_bytes - 1) ? a->element_bytes : a->size_bytes;
  return (natural - 1) | ((1ull << a->inst->align_log2) - 1);
}

static bool resolve(plumb_block_run *br, access *a) {
  uint64_t first = br->addresses[a->list[0]];
  if (!plumb_view_find(br, first, &a->view) || a->view.size_bytes < a->size_bytes) return false;
  uint64_t base = a->view.base, limit = a->view.size_bytes - a->size_bytes;
  uint64_t align = align_mask(a);
  uint32_t n = a->on->count;
  if (a->on->dense) {
    uint64_t step = n > 1 ? br->addresses[a->on->lo + 1] - first : 0, differs;
    uint64_t bad = dense_offsets(br->offsets, br->addresses + a->on->lo, base, limit, align, step,
                                 n, &differs);
    a->unit_stride = differs == 0 && (step == a->size_bytes || n == 1);
    a->uniform = differs == 0 && step == 0;
    return bad == 0;
  }
  uint64_t bad = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t o = br->addresses[a->list[i]] - base;
    br->offsets[i] = o;
    bad |= (uint64_t)(o > limit) | (o & align);
  }
  return bad == 0;
}

PLUMB_CLONES
static bool all_initialised_long(const uint8_t *state, uint64_t words) {
  uint64_t differs = 0;
  for (uint64_t i = 0; i < words; i++) {
    uint64_t word;
    memcpy(&word, state + i * 8, 8);
    differs |= word ^ STATE_ONES;
  }
  return differs == 0;
}

static bool all_initialised(const uint8_t *state, uint64_t size_bytes) {
  uint64_t i = 0, differs = 0;
  if (size_bytes >= 64) {
    if (!all_initialised_long(state, size_bytes / 8)) return false;
    i = size_bytes / 8 * 8;
  }
  for (; i + 8 <= size_bytes; i += 8) {
    uint64_t word;
    memcpy(&word, state + i, 8);
    differs |= word ^ STATE_ONES;
  }
  for (; i < size_bytes; i++) differs |= state[i] ^ PLUMB_BYTE_INITIALISED;
  return differs == 0;
}

/* True if every byte of every lane was written. */
static bool all_lanes_initialised(const plumb_block_run *br, const access *a) {
  const uint8_t *state = a->view.state;
  const uint64_t *off = br->offsets;
  uint32_t n = a->on->count;
  if (a->unit_stride) return all_initialised(state + off[0], a->size_bytes * n);
  if (a->uniform) return all_initialised(state + off[0], a->size_bytes);
  if (a->size_bytes == 4) {
    uint32_t differs = 0;
    for (uint32_t i = 0; i < n; i++) {
      uint32_t word;
      memcpy(&word, state + off[i], 4);
      differs |= word ^ (uint32_t)STATE_ONES;
    }
    return differs == 0;
  }
  bool all = true;
  for (uint32_t i = 0; i < n; i++) all &= all_initialised(state + off[i], a->size_bytes);
  return all;
}

#define FILL(type) \
  do { \
    type v_, *to_ = (type *)(void *)to + a->on->lo; \
    memcpy(&v_, from + off[0], sizeof(type)); \
    for (uint32_t i = 0; i < n; i++) to_[i] = v_; \
  } while (0)

#define GATHER(type) \
  do { \
    type *to_ = (type *)(void *)to; \
    for (uint32_t i = 0; i < n; i++) memcpy(&to_[list[i]], from + off[i], sizeof(type)); \
  } while (0)

static void gather(const plumb_block_run *br, const access *a, uint8_t *to, const uint8_t *from) {
  const uint64_t *off = br->offsets;
  const uint16_t *list = a->list;
  uint32_t n = a->on->count;
  unsigned bytes = a->element_bytes;
  if (a->unit_stride && a->elements == 1) {
    memcpy(to + (size_t)a->on->lo * bytes, from + off[0], (size_t)n * bytes);
    return;
  }
  switch (bytes) {
    case 1:
      GATHER(uint8_t);
      break;
    case 2:
      GATHER(uint16_t);
      break;
    case 4:
      GATHER(uint32_t);
      break;
    case 8:
      GATHER(uint64_t);
      break;
    default:
      for (uint32_t i = 0; i < n; i++) memcpy(to + (size_t)list[i] * bytes, from + off[i], bytes);
  }
}

#define SCATTER(type) \
  do { \
    const type *from_ = (const type *)(const void *)from; \
    for (uint32_t i = 0; i < n; i++) { \
      type old_, new_ = from_[list[i]]; \
      memcpy(&old_, to + off[i], sizeof(type)); \
      changed |= old_ != new_; \
      memcpy(to + off[i], &new_, sizeof(type)); \
    } \
  } while (0)

static bool scatter(const plumb_block_run *br, const access *a, uint8_t *to, const uint8_t *from) {
  const uint64_t *off = br->offsets;
  const uint16_t *list = a->list;
  uint32_t n = a->on->count;
  unsigned bytes = a->element_bytes;
  bool changed = false;
  if (a->unit_stride && a->elements == 1) {
    from += (size_t)a->on->lo * bytes;
    changed = !br->watch || memcmp(to + off[0], from, (size_t)n * bytes) != 0;
    memcpy(to + off[0], from, (size_t)n * bytes);
    return changed;
  }
  switch (bytes) {
    case 1:
      SCATTER(uint8_t);
      break;
    case 2:
      SCATTER(uint16_t);
      break;
    case 4:
      SCATTER(uint32_t);
      break;
    case 8:
      SCATTER(uint64_t);
      break;
    default:
      for (uint32_t i = 0; i < n; i++) {
        changed |= memcmp(to + off[i], from + (size_t)list[i] * bytes, bytes) != 0;
        memcpy(to + off[i], from + (size_t)list[i] * bytes, bytes);
      }
  }
  return changed;
}

/* Lanes that read a byte that was never written: their results are undefined from here. */
static bool mark_uninitialised(plumb_block_run *br, const access *a) {
  plumb_frame *f = a->s->frame;
  for (uint32_t i = 0; i < a->on->count; i++) {
    const uint8_t *state = a->view.state + br->offsets[i];
    if (all_initialised(state, a->size_bytes)) continue;
    if (plumb_has_gap(state, a->size_bytes))
      return plumb_trap_bounds(br, a->s, a->list[i], a->view.base + br->offsets[i], a->size_bytes);
    br->undef = true;
    for (uint32_t e = 0; e < a->elements; e++)
      if (!all_initialised(state + e * a->element_bytes, a->element_bytes))
        plumb_undef_set(
            br, f, a->regs[e], a->list[i],
            plumb_undef_loaded(br, a->list[i], a->view.base + br->offsets[i] + e * a->element_bytes,
                               f->pc_base + a->s->pc + 1));
  }
  return true;
}

static unsigned how(const plumb_inst *inst, bool write) {
  uint32_t strong = PLUMB_FLAG_VOLATILE | PLUMB_FLAG_RELAXED | PLUMB_FLAG_ACQUIRE |
                    PLUMB_FLAG_RELEASE | PLUMB_FLAG_SEQ_CST;
  return (write ? PLUMB_TOUCH_WRITE : PLUMB_TOUCH_READ) |
         (inst->flags & strong ? (unsigned)PLUMB_TOUCH_STRONG : 0u);
}

static void publish(plumb_block_run *br, const access *a, bool write) {
  for (uint32_t i = 0; i < a->on->count; i++)
    plumb_race_strong(br, a->list[i], a->view.window, a->view.base + br->offsets[i], a->inst->flags,
                      !write, write);
}

static void note_poll(const access *a) {
  if (!(how(a->inst, false) & PLUMB_TOUCH_STRONG)) return;
  a->s->polled = true;
  a->s->poll_pc = a->s->frame->pc_base + a->s->pc + 1;
}

static bool check_races(plumb_block_run *br, const access *a, bool write) {
  unsigned touch = how(a->inst, write);
  note_poll(a);
  if (!br->race || a->view.read_only) return true;
  bool strong = (touch & PLUMB_TOUCH_STRONG) && br->grid->fences;
  if (strong && !write) publish(br, a, false);
  if (!plumb_race_touch(br, a->s, a->list, a->on->count, a->view.window, a->view.base, br->offsets,
                        a->size_bytes, touch))
    return false;
  if (strong && write) publish(br, a, true);
  return true;
}

static void count_bytes(plumb_block_run *br, const access *a, bool write) {
  uint64_t bytes = a->size_bytes * a->on->count;
  if (a->view.window == PLUMB_WINDOW_SHARED)
    *(write ? &br->counters.shared_store_bytes : &br->counters.shared_load_bytes) += bytes;
  else if (a->view.window == PLUMB_WINDOW_GLOBAL)
    *(write ? &br->counters.global_store_bytes : &br->counters.global_load_bytes) += bytes;
}

/* --- lane by lane: local memory, several views, and everything that traps --- */

static bool lane_access(plumb_block_run *br, access *a, uint32_t lane, bool write) {
  plumb_frame *f = a->s->frame;
  uint64_t address = br->addresses[lane];
  plumb_place place;
  if (!plumb_place_find(br, a->s, lane, address, a->size_bytes, write, &place)) return false;
  if (address & align_mask(a))
    return plumb_trap_misaligned(br, a->s, lane, address, align_mask(a) + 1);
  a->view.window = place.window;
  if (place.window == PLUMB_WINDOW_SHARED || place.window == PLUMB_WINDOW_GLOBAL) {
    uint64_t zero = 0;
    uint16_t one = (uint16_t)lane;
    if (br->race && !(place.allocation && place.allocation->read_only) &&
        !plumb_race_touch(br, a->s, &one, 1, place.window, address, &zero, a->size_bytes,
                          how(a->inst, write)))
      return false;
    if (br->race && br->grid->fences && (how(a->inst, write) & PLUMB_TOUCH_STRONG))
      plumb_race_strong(br, lane, place.window, address, a->inst->flags, !write, write);
  }
  for (uint32_t e = 0; e < a->elements; e++) {
    unsigned bytes = a->element_bytes;
    uint8_t data[16], state[16];
    if (write) {
      uint32_t origin = br->undef ? plumb_undef_get(f, a->regs[e], lane) : 0;
      bool undefined = origin != 0;
      if (undefined) plumb_undef_stored(br, lane, place.address, origin);
      if (undefined && place.allocation)
        plumb_undef_leak(br, a->s, lane, place.address, bytes, origin);
      memcpy(data, plumb_operand(br, f, a->regs[e]) + (size_t)lane * bytes, bytes);
      memset(state, undefined ? PLUMB_BYTE_UNINITIALISED : PLUMB_BYTE_INITIALISED, bytes);
      plumb_place_write(br, &place, lane, bytes, data, state);
      if (br->run->options.companions)
        plumb_companion_store(br, f, a->regs[e], lane, &place, bytes);
    } else {
      plumb_place_read(br, &place, lane, bytes, data, state);
      memcpy(plumb_reg_lanes(br, f, a->regs[e]) + (size_t)lane * bytes, data, bytes);
      if (!all_initialised(state, bytes)) {
        br->undef = true;
        plumb_undef_set(br, f, a->regs[e], lane,
                        plumb_undef_loaded(br, lane, place.address, f->pc_base + a->s->pc + 1));
      }
      if (br->run->options.companions) plumb_companion_load(br, f, a->regs[e], lane, &place, bytes);
    }
    place.address += bytes;
    if (place.data) place.data += bytes, place.state += bytes;
  }
  return true;
}

/* Local memory, all lanes at one offset (a scalar variable): granules lie side by side. */
static bool local_uniform(plumb_block_run *br, access *a, bool write) {
  uint64_t first = br->addresses[a->list[0]];
  if (plumb_window_of(first) != PLUMB_WINDOW_LOCAL || a->elements != 1 || a->element_bytes > 8 ||
      !a->on->dense || (first & align_mask(a)) || br->undef || br->run->options.companions)
    return false;
  uint64_t off = first - plumb_window_base(PLUMB_WINDOW_LOCAL), bad = 0;
  if (off < PLUMB_LOCAL_BASE) return false;
  for (uint32_t l = a->on->lo; l < a->on->hi; l++)
    bad |= (br->addresses[l] ^ first) | (uint64_t)(off + a->element_bytes > br->local_top[l]);
  if (bad) return false;
  unsigned bytes = a->element_bytes;
  uint8_t *data = plumb_local_granule(br, br->local, a->on->lo, off);
  uint8_t *state = plumb_local_granule(br, br->local_state, a->on->lo, off);
  const uint8_t *from = plumb_operand(br, a->s->frame, a->regs[0]) + (size_t)a->on->lo * bytes;
  uint8_t *to =
      write ? NULL : plumb_reg_lanes(br, a->s->frame, a->regs[0]) + (size_t)a->on->lo * bytes;
  uint32_t n = a->on->count;
  if (!write) {
    bool all = true;
    for (uint32_t i = 0; i < n; i++) all &= all_initialised(state + (size_t)i * 8, bytes);
    if (!all) return false;
  }
#define MOVE(type) \
  for (uint32_t i = 0; i < n; i++) { \
    if (write) { \
      changed |= memcmp(data + (size_t)i * 8, from + i * sizeof(type), sizeof(type)) != 0; \
      memcpy(data + (size_t)i * 8, from + i * sizeof(type), sizeof(type)); \
      memset(state + (size_t)i * 8, PLUMB_BYTE_INITIALISED, sizeof(type)); \
    } else { \
      memcpy(to + i * sizeof(type), data + (size_t)i * 8, sizeof(type)); \
    } \
  }
  bool changed = false;
  switch (bytes) {
    case 1:
      MOVE(uint8_t) break;
    case 2:
      MOVE(uint16_t) break;
    case 4:
      MOVE(uint32_t) break;
    default:
      MOVE(uint64_t) break;
  }
#undef MOVE
  if (changed) br->changes++;
  return true;
}

static bool each_lane(plumb_block_run *br, access *a, bool write) {
  if (local_uniform(br, a, write)) return true;
  /* The list may be in shared scratch that a trap message or another list reuses. */
  uint16_t own[PLUMB_MAX_LANES];
  memcpy(own, a->list, a->on->count * sizeof *own);
  note_poll(a);
  for (uint32_t i = 0; i < a->on->count; i++)
    if (!lane_access(br, a, own[i], write)) return false;
  count_bytes(br, a, write);
  return true;
}

static access describe(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       const plumb_lanes *on, bool write) {
  access a = {.s = s, .inst = inst, .on = on};
  a.regs =
      write ? plumb_inst_operands(s->frame->fn, inst) + 1 : plumb_inst_results(s->frame->fn, inst);
  a.elements = write ? inst->operands - 1u : inst->results;
  a.element_bytes = plumb_dtype_bytes((plumb_dtype)inst->type);
  a.size_bytes = (uint64_t)a.elements * a.element_bytes;
  a.list = plumb_lanes_list(on, br->list_room);
  return a;
}

bool plumb_exec_load(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on) {
  if (!plumb_addresses(br, s, inst, on)) return false;
  access a = describe(br, s, inst, on, false);
  if (!a.elements) return true;
  if (br->undef)
    for (uint32_t e = 0; e < a.elements; e++) plumb_undef_clear(s->frame, a.regs[e], on);
  if (br->run->options.companions || !resolve(br, &a)) return each_lane(br, &a, false);
  if (a.view.check_state && !all_lanes_initialised(br, &a) && !mark_uninitialised(br, &a))
    return false;
  if (!check_races(br, &a, false)) return false;
  for (uint32_t e = 0; e < a.elements; e++)
    gather(br, &a, plumb_reg_lanes(br, s->frame, a.regs[e]), a.view.data + e * a.element_bytes);
  count_bytes(br, &a, false);
  return true;
}

/* Sets the states of what was stored; undefined values leave their bytes uninitialised. */
static void store_states(plumb_block_run *br, const access *a) {
  plumb_frame *f = a->s->frame;
  if (a->view.allocation && !plumb_allocation_tracks(a->view.allocation)) return;
  if (br->undef) {
    for (uint32_t e = 0; e < a->elements; e++)
      for (uint32_t i = 0; i < a->on->count; i++) {
        uint32_t origin = plumb_undef_get(f, a->regs[e], a->list[i]);
        bool undefined = origin != 0;
        if (undefined)
          plumb_undef_stored(br, a->list[i], a->view.base + br->offsets[i] + e * a->element_bytes,
                             origin);
        if (undefined && a->view.allocation) {
          a->view.allocation->all_initialised = false;
          plumb_undef_leak(br, a->s, a->list[i],
                           a->view.base + br->offsets[i] + e * a->element_bytes, a->element_bytes,
                           origin);
        }
        memset(a->view.state + br->offsets[i] + e * a->element_bytes,
               undefined ? PLUMB_BYTE_UNINITIALISED : PLUMB_BYTE_INITIALISED, a->element_bytes);
      }
    return;
  }
  if (!a->view.check_state) return;
  if (a->unit_stride) {
    memset(a->view.state + br->offsets[0], PLUMB_BYTE_INITIALISED, a->size_bytes * a->on->count);
  } else if (a->size_bytes == 4) {
    const uint32_t ones = (uint32_t)STATE_ONES;
    for (uint32_t i = 0; i < a->on->count; i++) memcpy(a->view.state + br->offsets[i], &ones, 4);
  } else {
    for (uint32_t i = 0; i < a->on->count; i++)
      memset(a->view.state + br->offsets[i], PLUMB_BYTE_INITIALISED, a->size_bytes);
  }
}

static bool avoids_gaps(plumb_block_run *br, const access *a) {
  if (a->size_bytes == 4) {
    uint32_t all = 0;
    for (uint32_t i = 0; i < a->on->count; i++) {
      uint32_t word;
      memcpy(&word, a->view.state + br->offsets[i], 4);
      all |= word;
    }
    if (!(all & (uint32_t)STATE_ONES * PLUMB_BYTE_GAP)) return true;
  }
  for (uint32_t i = 0; i < a->on->count; i++)
    if (plumb_has_gap(a->view.state + br->offsets[i], a->size_bytes))
      return plumb_trap_bounds(br, a->s, a->list[i], a->view.base + br->offsets[i], a->size_bytes);
  return true;
}

bool plumb_exec_store(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on) {
  if (!plumb_addresses(br, s, inst, on)) return false;
  access a = describe(br, s, inst, on, true);
  if (!a.elements) return true;
  if (br->run->options.companions || !resolve(br, &a) || a.view.read_only)
    return each_lane(br, &a, true);
  if (a.view.window == PLUMB_WINDOW_SHARED && !avoids_gaps(br, &a)) return false;
  if (!check_races(br, &a, true)) return false;
  bool changed = false;
  for (uint32_t e = 0; e < a.elements; e++)
    changed |=
        scatter(br, &a, a.view.data + e * a.element_bytes, plumb_operand(br, s->frame, a.regs[e]));
  if (changed) br->changes++;
  store_states(br, &a);
  count_bytes(br, &a, true);
  return true;
}

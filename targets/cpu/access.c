/* Loads and stores: every lane's address is checked for bounds and alignment, every
 * byte for having been written. Lanes of one instruction nearly always lie in rows of one
 * view (an allocation, or the block's shared memory), so that is the fast path; then lists
 * of lanes in one view; then lane by lane, which also makes every message. */
#include "targets/cpu/access.h"

/* --- addresses --- */

/* An offset beyond the window must not wrap into another window's addresses. */
static uint64_t in_window(uint64_t offset, uint64_t base) {
  const uint64_t wild = 0xff00000000000000ull;
  return offset & wild ? offset | wild : offset | base;
}

static uint64_t window_base(const plumb_inst *inst) {
  static const uint8_t windows[PLUMB_SPACE_COUNT] = {[PLUMB_SPACE_SHARED] = PLUMB_WINDOW_SHARED,
                                                     [PLUMB_SPACE_LOCAL] = PLUMB_WINDOW_LOCAL,
                                                     [PLUMB_SPACE_PARAM] = PLUMB_WINDOW_PARAM};
  return plumb_window_base(windows[inst->space]);
}

static uint64_t generic_address(const plumb_inst *inst, uint64_t value) {
  uint64_t base = window_base(inst), address = value + (uint64_t)inst->imm;
  return base ? in_window(address, base) : address;
}

PLUMB_CLONES
static void add_plain(uint64_t *to, const uint64_t *from, uint64_t add, uint32_t lo, uint32_t hi) {
  for (uint32_t l = lo; l < hi; l++) to[l] = from[l] + add;
}

PLUMB_CLONES
static void add_window(uint64_t *to, const uint64_t *from, uint64_t add, uint64_t base, uint32_t lo,
                       uint32_t hi) {
  for (uint32_t l = lo; l < hi; l++) to[l] = in_window(from[l] + add, base);
}

static const uint64_t *address_lanes(plumb_block_run *br, const plumb_strand *s,
                                     const plumb_inst *inst) {
  plumb_reg r = plumb_inst_operands(s->frame->fn, inst)[0];
  return (const uint64_t *)(const void *)plumb_operand(br, s->frame, r);
}

/* True where a lane's address is poison because it left its allocation (getelementptr
 * inbounds), and still lies outside: then the access itself is what to report. */
static bool leaves_memory(const plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                          const plumb_lanes *on) {
  plumb_reg r = plumb_inst_operands(s->frame->fn, inst)[0];
  unsigned bytes = plumb_dtype_bytes((plumb_dtype)inst->type);
  for (uint32_t l = on->lo; l < on->hi; l++) {
    uint32_t origin = plumb_lanes_has(on, l) ? plumb_undef_get(s->frame, r, l) : 0;
    const plumb_inst *by = origin ? plumb_inst_at(br->run, origin - 1, NULL) : NULL;
    if (!by || by->op != PLUMB_OP_ADD || !(by->flags & PLUMB_FLAG_EXACT)) continue;
    uint64_t address =
        plumb_lane_bits(plumb_reg_lanes(br, s->frame, r), 8, l) + (uint64_t)inst->imm;
    const plumb_allocation *a = plumb_window_of(address) == PLUMB_WINDOW_GLOBAL
                                    ? plumb_allocation_of(br->machine, address)
                                    : NULL;
    if (!a || (address & UINT32_MAX) + bytes > a->size_bytes) return true;
  }
  return false;
}

static bool check_address(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                          const plumb_lanes *on) {
  plumb_reg r = plumb_inst_operands(s->frame->fn, inst)[0];
  return !br->undef || leaves_memory(br, s, inst, on) ||
         plumb_undef_check(br, s, r, on, "an address");
}

bool plumb_addresses(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on) {
  if (!check_address(br, s, inst, on)) return false;
  const uint64_t *from = address_lanes(br, s, inst);
  uint64_t base = window_base(inst);
  if (base == 0)
    add_plain(br->addresses, from, (uint64_t)inst->imm, on->lo, on->hi);
  else
    add_window(br->addresses, from, (uint64_t)inst->imm, base, on->lo, on->hi);
  return true;
}

/* --- one access of all lanes --- */

/* Low bits of an address that must be zero: the whole access's own alignment (the
 * element's, where the size is no power of two), or what the source promised. */
static uint64_t align_mask(const plumb_access *a) {
  uint64_t natural = a->size_bytes & (a->size_bytes - 1) ? a->element_bytes : a->size_bytes;
  return (natural - 1) | ((1ull << a->inst->align_log2) - 1);
}

/* Rows without holes, all of them in one view, aligned and in bounds. */
static bool resolve_rows(plumb_block_run *br, plumb_access *a, const plumb_footprint *fp) {
  uint64_t first = generic_address(a->inst, fp->first);
  int64_t low, high;
  if (!plumb_view_find(br, first, &a->view) || a->view.size_bytes < a->size_bytes) return false;
  a->rows = *fp;
  a->rows.first = first - a->view.base;
  int64_t limit = (int64_t)(a->view.size_bytes - a->size_bytes), at = (int64_t)a->rows.first;
  if (at < 0 || at > limit || !plumb_footprint_span(fp, &low, &high)) return false;
  return at + low >= 0 && at + high <= limit &&
         ((a->rows.first | fp->step | fp->pitch) & align_mask(a)) == 0 &&
         plumb_footprint_stretch(&a->rows, a->size_bytes);
}

static bool resolve_list(plumb_block_run *br, plumb_access *a) {
  plumb_addresses(br, a->s, a->inst, a->on);
  if (!plumb_view_find(br, br->addresses[a->list[0]], &a->view) ||
      a->view.size_bytes < a->size_bytes)
    return false;
  uint64_t base = a->view.base, limit = a->view.size_bytes - a->size_bytes;
  uint64_t align = align_mask(a), bad = 0;
  for (uint32_t i = 0; i < a->on->count; i++) {
    uint64_t o = br->addresses[a->list[i]] - base;
    br->offsets[i] = o;
    bad |= (uint64_t)(o > limit) | (o & align);
  }
  return bad == 0;
}

/* --- values --- */

typedef struct wide {
  uint8_t bytes[16];
} wide;

/* Each runs BODY for every lane with `l`, the lane, and `at`, its place in the view. */
#define EACH_IN_ROWS(BODY) \
  for (uint32_t r_ = 0, l = a->on->lo; r_ < fp->rows; r_++) { \
    uint64_t at = fp->first + r_ * fp->pitch; \
    for (uint32_t c_ = 0; c_ < fp->width; c_++, l++, at += fp->step) BODY \
  }
#define EACH_IN_LIST(BODY) \
  for (uint32_t i_ = 0; i_ < a->on->count; i_++) { \
    uint32_t l = a->list[i_]; \
    uint64_t at = br->offsets[i_]; \
    BODY \
  }
#define EACH_LANE(BODY) \
  if (a->by_rows) \
    EACH_IN_ROWS(BODY) \
  else \
    EACH_IN_LIST(BODY)

#define GATHER(TYPE) EACH_LANE({ memcpy(to + (size_t)l * sizeof(TYPE), from + at, sizeof(TYPE)); })

/* One element a lane, and each row one stretch: whole rows are copied. */
static void gather_rows(const plumb_access *a, uint8_t *to, const uint8_t *from) {
  const plumb_footprint *fp = &a->rows;
  size_t row = (size_t)fp->width * a->element_bytes, all = row * fp->rows;
  to += (size_t)a->on->lo * a->element_bytes;
  from += fp->first;
  for (uint32_t r = 0; r < fp->stretches; r++) memcpy(to + r * row, from + r * fp->pitch, row);
  for (size_t done = row; fp->stretches == 1 && done < all; done *= 2) /* all rows are one */
    memcpy(to + done, to, done < all - done ? done : all - done);
}

/* Sizes are copied: stores might alias the footprint, and then nothing would vectorise. */
#define FILL(TYPE) \
  for (uint32_t r = 0, rows = fp->rows, width = fp->width; r < rows; r++) { \
    TYPE v, *row = (TYPE *)(void *)to + a->on->lo + r * width; \
    memcpy(&v, from + fp->first + r * fp->pitch, sizeof v); \
    for (uint32_t c = 0; c < width; c++) row[c] = v; \
  }

/* One element a lane, and all lanes of a row read the same. */
PLUMB_CLONES
static void fill_rows(const plumb_access *a, uint8_t *to, const uint8_t *from) {
  const plumb_footprint *fp = &a->rows;
  switch (a->element_bytes) {
    case 1:
      FILL(uint8_t)
      break;
    case 2:
      FILL(uint16_t)
      break;
    case 4:
      FILL(uint32_t)
      break;
    default:
      FILL(uint64_t)
  }
}

static void gather(const plumb_block_run *br, const plumb_access *a, uint8_t *to,
                   const uint8_t *from) {
  const plumb_footprint *fp = &a->rows;
  if (a->by_rows && a->elements == 1 && fp->step == a->element_bytes) {
    gather_rows(a, to, from);
    return;
  }
  if (a->by_rows && fp->step == 0 && fp->width > 1 && a->element_bytes <= 8) {
    fill_rows(a, to, from);
    return;
  }
  switch (a->element_bytes) {
    case 1:
      GATHER(uint8_t) break;
    case 2:
      GATHER(uint16_t) break;
    case 4:
      GATHER(uint32_t) break;
    case 8:
      GATHER(uint64_t) break;
    default:
      GATHER(wide)
  }
}

#define SCATTER(TYPE) \
  EACH_LANE({ \
    changed |= memcmp(to + at, from + (size_t)l * sizeof(TYPE), sizeof(TYPE)) != 0; \
    memcpy(to + at, from + (size_t)l * sizeof(TYPE), sizeof(TYPE)); \
  })

/* True if memory may have changed. */
static bool scatter(const plumb_block_run *br, const plumb_access *a, uint8_t *to,
                    const uint8_t *from) {
  const plumb_footprint *fp = &a->rows;
  bool changed = false;
  if (a->by_rows && a->elements == 1 && fp->step == a->element_bytes &&
      (fp->pitch || fp->rows == 1)) {
    size_t row = (size_t)fp->width * a->element_bytes;
    from += (size_t)a->on->lo * a->element_bytes;
    to += fp->first;
    for (uint32_t r = 0; r < fp->rows; r++) {
      changed |= !br->watch || memcmp(to + r * fp->pitch, from + r * row, row) != 0;
      memcpy(to + r * fp->pitch, from + r * row, row);
    }
    return changed;
  }
  switch (a->element_bytes) {
    case 1:
      SCATTER(uint8_t)
      break;
    case 2:
      SCATTER(uint16_t)
      break;
    case 4:
      SCATTER(uint32_t)
      break;
    case 8:
      SCATTER(uint64_t)
      break;
    default:
      SCATTER(wide)
  }
  return changed;
}

/* --- races and counters --- */

static unsigned how(const plumb_inst *inst, bool write) {
  uint32_t strong = PLUMB_FLAG_VOLATILE | PLUMB_FLAG_RELAXED | PLUMB_FLAG_ACQUIRE |
                    PLUMB_FLAG_RELEASE | PLUMB_FLAG_SEQ_CST;
  return (write ? PLUMB_TOUCH_WRITE : PLUMB_TOUCH_READ) |
         (inst->flags & strong ? (unsigned)PLUMB_TOUCH_STRONG : 0u);
}

/* The same for races, where a guess counts as strong. */
static unsigned how_for_races(const plumb_block_run *br, const plumb_access *a, bool write) {
  const uint8_t facts = br->machine->inst_facts[a->s->frame->pc_base + a->s->pc];
  return how(a->inst, write) | (facts & PLUMB_INST_GUESSES ? (unsigned)PLUMB_TOUCH_STRONG : 0u);
}

static void publish(plumb_block_run *br, const plumb_access *a, bool write) {
  for (uint32_t i = 0; i < a->on->count; i++)
    plumb_race_strong(br, a->list[i], a->view.window, a->view.base + br->offsets[i], a->inst->flags,
                      !write, write);
}

static void note_poll(const plumb_access *a) {
  if (!(how(a->inst, false) & PLUMB_TOUCH_STRONG)) return;
  a->s->polled = true;
  a->s->poll_pc = a->s->frame->pc_base + a->s->pc + 1;
}

/* Byte `offset` of what `lane` stores and byte `other_offset` of what `other` does. */
static plumb_overlap overlap_of(plumb_block_run *br, const plumb_access *a, uint32_t lane,
                                uint64_t offset, uint32_t other, uint64_t other_offset) {
  const plumb_frame *f = a->s->frame;
  const unsigned bytes = a->element_bytes;
  plumb_reg r = a->regs[offset / bytes], o = a->regs[other_offset / bytes];
  if (br->undef && (plumb_undef_get(f, r, lane) || plumb_undef_get(f, o, other)))
    return PLUMB_OVERLAP_UNDEFINED;
  return plumb_operand(br, f, r)[(size_t)lane * bytes + offset % bytes] ==
                 plumb_operand(br, f, o)[(size_t)other * bytes + other_offset % bytes]
             ? PLUMB_OVERLAP_SAME
             : PLUMB_OVERLAP_DIFFERS;
}

plumb_overlap plumb_access_overlap(plumb_block_run *br, uint32_t lane, uint64_t offset,
                                   unsigned size_bytes) {
  const plumb_access *a = br->storing;
  if (!a) return PLUMB_OVERLAP_NONE;
  const uint64_t *addresses = address_lanes(br, a->s, a->inst);
  for (uint32_t k = lane; k > a->on->lo && k % PLUMB_WARP_LANES; k--) {
    uint64_t other = addresses[lane] + offset - addresses[k - 1];
    if (!plumb_lanes_has(a->on, k - 1) || other >= a->size_bytes) continue;
    plumb_overlap found = PLUMB_OVERLAP_SAME;
    for (unsigned b = 0; found == PLUMB_OVERLAP_SAME && b < size_bytes; b++)
      found = overlap_of(br, a, lane, offset + b, k - 1, other + b);
    return found;
  }
  return PLUMB_OVERLAP_NONE;
}

static bool check_races(plumb_block_run *br, const plumb_access *a, bool write) {
  unsigned touch = how(a->inst, write);
  note_poll(a);
  if (!br->race || a->view.read_only) return true;
  bool ordering = touch & PLUMB_TOUCH_STRONG && br->grid->fences;
  touch = how_for_races(br, a, write);
  bool strong = touch & PLUMB_TOUCH_STRONG;
  if (a->by_rows && !strong &&
      plumb_race_touch_rows(br, a->s, a->on->lo, a->view.window, a->view.base, &a->rows,
                            a->size_bytes, write))
    return true;
  plumb_access_want_offsets(br, a);
  if (ordering && !write) publish(br, a, false);
  if (!plumb_race_touch(br, a->s, a->list, a->on->count, a->view.window, a->view.base, br->offsets,
                        a->size_bytes, touch))
    return false;
  if (ordering && write) publish(br, a, true);
  return true;
}

static void count_bytes(plumb_block_run *br, const plumb_access *a, bool write) {
  uint64_t bytes = a->size_bytes * a->on->count;
  if (a->view.window == PLUMB_WINDOW_SHARED)
    *(write ? &br->counters.shared_store_bytes : &br->counters.shared_load_bytes) += bytes;
  else if (a->view.window == PLUMB_WINDOW_GLOBAL)
    *(write ? &br->counters.global_store_bytes : &br->counters.global_load_bytes) += bytes;
}

/* --- lane by lane: local memory, several views, and everything that traps --- */

static bool lane_access(plumb_block_run *br, plumb_access *a, uint32_t lane, bool write) {
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
                          how_for_races(br, a, write)))
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
      if (!br->run->options.ignore_uninitialised && !plumb_state_is_initialised(state, bytes)) {
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

static bool each_lane(plumb_block_run *br, plumb_access *a, bool write) {
  if (!plumb_addresses(br, a->s, a->inst, a->on)) return false;
  /* The list may be in shared scratch that a trap message or another list reuses. */
  uint16_t own[PLUMB_MAX_LANES];
  memcpy(own, a->list, a->on->count * sizeof *own);
  note_poll(a);
  for (uint32_t i = 0; i < a->on->count; i++)
    if (!lane_access(br, a, own[i], write)) return false;
  count_bytes(br, a, write);
  return true;
}

/* Where an access goes on after it was resolved. */
typedef enum route { ROUTE_VIEW, ROUTE_LANES, ROUTE_DONE } route;

/* All lanes at one offset of their local memory: a scalar variable. */
static bool is_local_scalar(const plumb_block_run *br, const plumb_access *a,
                            const plumb_footprint *fp) {
  uint64_t first = generic_address(a->inst, fp->first);
  return plumb_window_of(first) == PLUMB_WINDOW_LOCAL && fp->step == 0 && fp->rows == 1 &&
         a->element_bytes <= 8 && (first & align_mask(a)) == 0 && !br->undef;
}

static bool find_rows(plumb_block_run *br, const plumb_access *a, plumb_footprint *out) {
  const uint64_t *addresses = address_lanes(br, a->s, a->inst) + a->on->lo;
  if (!a->on->dense) return false;
  if (!plumb_reg_is_const(plumb_inst_operands(a->s->frame->fn, a->inst)[0]))
    return plumb_footprint_find(addresses, a->on->count, out);
  *out = (plumb_footprint){.first = addresses[0], .rows = 1, .width = a->on->count};
  return true;
}

static route resolve(plumb_block_run *br, plumb_access *a, bool write) {
  plumb_footprint fp;
  if (br->run->options.companions) return ROUTE_LANES;
  if (find_rows(br, a, &fp)) {
    if (is_local_scalar(br, a, &fp)) {
      uint64_t offset = generic_address(a->inst, fp.first) - plumb_window_base(PLUMB_WINDOW_LOCAL);
      return plumb_local_move(br, a->s->frame, a->on, a->regs, a->elements, a->element_bytes,
                              offset, write)
                 ? ROUTE_DONE
                 : ROUTE_LANES;
    }
    a->by_rows = resolve_rows(br, a, &fp);
    if (a->by_rows) return ROUTE_VIEW;
  }
  return resolve_list(br, a) ? ROUTE_VIEW : ROUTE_LANES;
}

/* Sets what does not depend on addresses; the rest is set where it is found out. */
static void describe(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on, bool write, plumb_access *a) {
  const plumb_reg *regs = plumb_inst_results(s->frame->fn, inst);
  a->s = s;
  a->inst = inst;
  a->on = on;
  a->regs = write ? regs + inst->results + 1 : regs;
  a->elements = write ? inst->operands - 1u : inst->results;
  a->element_bytes = plumb_dtype_bytes((plumb_dtype)inst->type);
  a->size_bytes = (uint64_t)a->elements * a->element_bytes;
  a->list = plumb_lanes_list(on, br->list_room);
  a->by_rows = false;
}

bool plumb_exec_load(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on) {
  if (!check_address(br, s, inst, on)) return false;
  plumb_access a;
  describe(br, s, inst, on, false, &a);
  if (!a.elements) return true;
  if (br->undef)
    for (uint32_t e = 0; e < a.elements; e++) plumb_undef_clear(s->frame, a.regs[e], on);
  route to = resolve(br, &a, false);
  if (to != ROUTE_VIEW) return to == ROUTE_DONE || each_lane(br, &a, false);
  if (a.view.check_state && !plumb_access_is_initialised(br, &a) &&
      !plumb_access_mark_undefined(br, &a))
    return false;
  if (!check_races(br, &a, false)) return false;
  for (uint32_t e = 0; e < a.elements; e++)
    gather(br, &a, plumb_reg_lanes(br, s->frame, a.regs[e]), a.view.data + e * a.element_bytes);
  count_bytes(br, &a, false);
  return true;
}

static bool store(plumb_block_run *br, plumb_access *a) {
  route to = resolve(br, a, true);
  if (to == ROUTE_DONE) return true;
  if (to == ROUTE_LANES || a->view.read_only) return each_lane(br, a, true);
  if (a->view.window == PLUMB_WINDOW_SHARED && !plumb_access_avoids_gaps(br, a)) return false;
  if (!check_races(br, a, true)) return false;
  bool changed = false;
  for (uint32_t e = 0; e < a->elements; e++)
    changed |= scatter(br, a, a->view.data + e * a->element_bytes,
                       plumb_operand(br, a->s->frame, a->regs[e]));
  if (changed) br->changes++;
  plumb_access_store_states(br, a);
  count_bytes(br, a, true);
  return true;
}

bool plumb_exec_store(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on) {
  if (!check_address(br, s, inst, on)) return false;
  plumb_access a;
  describe(br, s, inst, on, true, &a);
  br->storing = &a;
  bool ok = !a.elements || store(br, &a);
  br->storing = NULL;
  return ok;
}

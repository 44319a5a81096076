/* Tags: the last write and the last reads of every word (see race.h). */
#include "targets/cpu/access.h"
#include "targets/cpu/async.h"

#include <stdio.h>
#include <stdlib.h>

static void *take(size_t count, size_t bytes) {
  void *p = calloc(count, bytes);
  if (!p) abort();
  return p;
}

/* --- reporting --- */

void plumb_race_split_block(const plumb_grid *g, uint64_t block, int64_t out[3]) {
  out[0] = (int64_t)(block % g->launch.grid[0]);
  out[1] = (int64_t)(block / g->launch.grid[0] % g->launch.grid[1]);
  out[2] = (int64_t)(block / g->launch.grid[0] / g->launch.grid[1]);
}

const char *plumb_race_party(uint32_t who, uint32_t lanes, char out[64]) {
  if (who < PLUMB_WHO_WARP) {
    snprintf(out, 64, "lane %u", who);
  } else if (who < PLUMB_WHO_MANY) {
    uint32_t first = (who - PLUMB_WHO_WARP) * PLUMB_WARP_LANES, last = first + PLUMB_WARP_LANES;
    snprintf(out, 64, "several of lanes %u to %u", first, (last < lanes ? last : lanes) - 1);
  } else if (who == PLUMB_WHO_MANY) {
    snprintf(out, 64, "lanes of several warps");
  } else {
    snprintf(out, 64, "an asynchronous copy");
  }
  return out;
}

static bool report(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                   bool write, uint64_t other, uint64_t other_block, const char *what) {
  const plumb_function *fn = NULL;
  const plumb_inst *inst = plumb_inst_at(br->run, (uint32_t)(other >> 32), &fn);
  uint32_t who = who_of(low(other));
  int32_t lane2 = who < PLUMB_WHO_WARP ? (int32_t)who : -1;
  char party[64];
  const char *of = other_block == br->index ? "the same block" : "another block";
  if (br->trapped) return false;
  if (who >= PLUMB_WHO_AGENT)
    plumb_trap_at(br, PLUMB_TRAP_RACE, s->frame, s->pc, (int32_t)lane,
                  "%s by lane %u and %s by an asynchronous copy of %s are not ordered: nothing "
                  "that the lane waited for implies its end",
                  write ? "write" : "read", lane, what, of);
  else
    plumb_trap_at(br, PLUMB_TRAP_RACE, s->frame, s->pc, (int32_t)lane,
                  "%s by lane %u and %s by %s of %s are not ordered", write ? "write" : "read",
                  lane, what, plumb_race_party(who, br->lanes, party), of);
  br->trap.lane2 = lane2;
  br->trap.address = address;
  br->trap.size_bytes = 4;
  plumb_race_split_block(br->grid, other_block, br->trap.block2);
  if (inst) br->trap.location2 = br->program->locs[inst->loc];
  plumb_allocation *a = plumb_window_of(address) == PLUMB_WINDOW_GLOBAL
                            ? plumb_allocation_of(br->machine, address)
                            : NULL;
  if (a) {
    br->trap.allocation = a->name;
    br->trap.allocation_offset = address & UINT32_MAX;
  }
  return false;
}

/* --- touching --- */

/* Shared memory has more groups than bits and nobody asks for them. */
static uint32_t group_of(size_t word) {
  return 1u << (word / PLUMB_RACE_GROUP_WORDS % (PLUMB_RACE_PAGE_WORDS / PLUMB_RACE_GROUP_WORDS));
}

/* Whoever touched last, together with `lane`. */
static uint32_t together(uint32_t who, uint32_t lane) {
  uint32_t warp = lane / PLUMB_WARP_LANES;
  if (who == lane) return lane;
  if (who < PLUMB_WHO_WARP && who / PLUMB_WARP_LANES == warp) return PLUMB_WHO_WARP + warp;
  return who == PLUMB_WHO_WARP + warp ? who : PLUMB_WHO_MANY;
}

static bool conflicts(const plumb_touch *t, uint32_t lane, uint64_t tag, uint64_t block,
                      const plumb_party *party) {
  uint32_t other = low(tag);
  if (t->strong && (other & PLUMB_TAG_ATOMIC)) return false;
  if (block == t->br->index && who_of(other) == lane) return false;
  return !plumb_clock_ordered(t->br, lane, block, other, party);
}

/* One unit (word or byte) whose tags may be of this block's time, `offset` bytes into what
 * the lane touches. False: a race. */
static bool touch_unit(const plumb_touch *t, plumb_race_page *p, size_t i, uint32_t lane,
                       uint64_t address, uint64_t offset) {
  uint64_t w = p->write[i], r = p->read[i];
  uint64_t block = t->br->index;
  uint64_t wb = p->write_block ? p->write_block[i] - 1ull : block;
  uint64_t rb = p->read_block ? p->read_block[i] - 1ull : block;
  bool w_live = p->write_block ? p->write_block[i] != 0 : time_of(low(w)) >= t->floor;
  bool r_live = p->read_block ? p->read_block[i] != 0 : time_of(low(r)) >= t->floor;
  const plumb_party *readers = plumb_party_of(p, false, i, r);
  bool again = false; /* the last write is the same, by this instruction or of its constant */
  if (w_live && conflicts(t, lane, w, wb, plumb_party_of(p, true, i, w))) {
    plumb_overlap overlap = t->write && !t->strong
                                ? plumb_access_overlap(t->br, lane, offset, p->by_byte ? 1 : 4)
                                : PLUMB_OVERLAP_NONE;
    again = overlap == PLUMB_OVERLAP_SAME ||
            (t->write && !t->strong && wb == block &&
             plumb_stores_one_constant(t->br->run, (uint32_t)(t->pc >> 32), (uint32_t)(w >> 32)));
    static const char *const writes[] = {
        [PLUMB_OVERLAP_NONE] = "write",
        [PLUMB_OVERLAP_SAME] = "write",
        [PLUMB_OVERLAP_DIFFERS] = "write of another value",
        [PLUMB_OVERLAP_UNDEFINED] = "write of an undefined value",
    };
    if (!again) return report(t->br, t->s, lane, address, t->write, w, wb, writes[overlap]);
  }
  if (t->write && r_live && conflicts(t, lane, r, rb, readers))
    return report(t->br, t->s, lane, address, true, r, rb, "read");
  p->groups |= group_of(p->by_byte ? i / 4 : i);
  uint64_t *to = t->write ? &p->write[i] : &p->read[i];
  /* A plain read that comes after the last one replaces it: what is ordered after this one
   * is ordered after both. */
  bool merge = t->write
                   ? again || (w_live && wb == block && t->strong && (low(w) & PLUMB_TAG_ATOMIC))
                   : r_live && rb == block &&
                         (t->strong || !plumb_clock_ordered(t->br, lane, rb, low(r), readers));
  uint32_t who = lane, strong = t->strong;
  /* What all lanes of the block have met since is ordered before this access. */
  if (merge && time_of(low(*to)) >= t->floor) {
    who = together(who_of(low(*to)), lane);
    if (t->br->grid->parts && who != lane)
      plumb_party_join(p, plumb_race_units(p), t->write, i, *to, lane, t->now, t->floor);
    strong &= low(*to);
  }
  *to = t->pc | strong | who << PLUMB_TAG_TIME_BITS | t->now;
  if (t->write && p->write_block) p->write_block[i] = (uint32_t)block + 1;
  if (!t->write && p->read_block) p->read_block[i] = (uint32_t)block + 1;
  return true;
}

/* Lanes list[i ..) as long as they stay in the page and the answer is quick: nobody has
 * touched the word since the floor, or the access changes nothing. Returns the first i
 * that needs touch_unit. `start` is the address of the page's word 0. */
static uint32_t quick_reads(const plumb_touch *t, plumb_race_page *p, uint64_t start, size_t words,
                            uint64_t base, const uint64_t *offsets, const uint16_t *list,
                            uint32_t i, uint32_t count) {
  const uint64_t *w = p->write;
  uint64_t *r = p->read;
  const bool parties = t->br->grid->parts;
  const uint32_t floor = t->floor, now = t->now;
  const uint32_t many = PLUMB_WHO_MANY << PLUMB_TAG_TIME_BITS | now;
  const uint64_t mine = t->pc | t->strong | now, shift = base - start;
  uint32_t groups = 0;
  for (; i < count; i++) {
    uint64_t at = (offsets[i] + shift) / 4;
    if (at >= words || time_of(low(w[at])) >= floor) break;
    uint32_t tag = low(r[at]) & ~t->strong; /* a strong read adds nothing to a plain one */
    uint32_t lane = list[i];
    uint32_t warp = (PLUMB_WHO_WARP + lane / PLUMB_WARP_LANES) << PLUMB_TAG_TIME_BITS | now;
    if ((tag == many || tag == warp) &&
        (!parties || plumb_party_join_mates(p, false, at, lane, now)))
      continue;
    if (time_of(tag) < floor) {
      r[at] = mine | (uint64_t)lane << PLUMB_TAG_TIME_BITS;
      groups |= group_of(at);
    } else if (time_of(tag) == now && who_of(tag) < PLUMB_WHO_AGENT) {
      /* What is done now is known to nobody else yet: the reads merge. */
      uint32_t who = together(who_of(tag), lane), strong = low(r[at]) & t->strong;
      if (parties && who != lane)
        plumb_party_join(p, plumb_race_units(p), false, at, r[at], lane, now, floor);
      if (who != who_of(tag)) r[at] = t->pc | strong | (uint64_t)who << PLUMB_TAG_TIME_BITS | now;
    } else {
      break;
    }
  }
  p->groups |= groups;
  return i;
}

static uint32_t quick_writes(const plumb_touch *t, plumb_race_page *p, uint64_t start, size_t words,
                             uint64_t base, const uint64_t *offsets, const uint16_t *list,
                             uint32_t i, uint32_t count) {
  uint64_t *w = p->write;
  const uint64_t *r = p->read;
  const uint32_t floor = t->floor, who = ~(PLUMB_TAG_TIME | PLUMB_TAG_ATOMIC);
  const uint64_t shift = base - start;
  uint32_t groups = 0;
  if (t->strong) return i;
  for (; i < count; i++) {
    uint64_t at = (offsets[i] + shift) / 4;
    if (at >= words) break;
    uint32_t mine = (uint32_t)list[i] << PLUMB_TAG_TIME_BITS, wt = low(w[at]), rt = low(r[at]);
    if (time_of(wt) >= floor && ((wt ^ mine) & who)) break;
    if (time_of(rt) >= floor && ((rt ^ mine) & who)) break;
    w[at] = t->pc | mine | t->now;
    groups |= group_of(at);
  }
  p->groups |= groups;
  return i;
}

PLUMB_CLONES
uint64_t plumb_race_busy(const uint64_t *w, const uint64_t *r, uint32_t n, uint32_t floor) {
  uint64_t busy = 0;
  for (uint32_t i = 0; i < n; i++) {
    /* floor - 1 - time is negative for a time at or over the floor. */
    busy |= (uint64_t)(floor - 1) - (w[i] & PLUMB_TAG_TIME);
    busy |= (uint64_t)(floor - 1) - (r[i] & PLUMB_TAG_TIME);
  }
  return busy >> 63;
}

/* `size_bytes` from `address` on, by one lane. */
static bool touch_span(const plumb_touch *t, uint32_t lane, unsigned window, uint64_t address,
                       uint64_t size_bytes, uint64_t offset_in_access) {
  plumb_race *race = t->br->race;
  bool shared = window == PLUMB_WINDOW_SHARED;
  bool narrow = (address | size_bytes) & 3;
  for (uint64_t done = 0; done < size_bytes;) {
    uint64_t at = address + done;
    plumb_race_page *p = shared ? &race->shared : plumb_race_page_find(t->br, at);
    size_t offset = shared ? (size_t)(at & UINT32_MAX) : (size_t)(at % PLUMB_RACE_PAGE_BYTES);
    if (narrow) plumb_race_page_by_byte(p);
    bool ok = touch_unit(t, p, p->by_byte ? offset : offset / 4, lane, at, offset_in_access + done);
    if (!ok) return false;
    done += p->by_byte ? 1 : 4;
  }
  return true;
}

bool plumb_race_touch_span(const plumb_touch *t, uint32_t lane, uint64_t address,
                           uint64_t size_bytes) {
  return touch_span(t, lane, PLUMB_WINDOW_GLOBAL, address, size_bytes, 0);
}

/* The page of an address, the address of its word 0, and how many words it has. */
static inline plumb_race_page *page_of(const plumb_touch *t, bool shared, uint64_t address,
                                       uint64_t *out_start, size_t *out_words) {
  plumb_race_page *p = shared ? &t->br->race->shared : plumb_race_page_find(t->br, address);
  *out_start = shared ? plumb_window_base(PLUMB_WINDOW_SHARED)
                      : address / PLUMB_RACE_PAGE_BYTES * PLUMB_RACE_PAGE_BYTES;
  *out_words = p->words;
  return p;
}

/* Aligned words, `parts` of them (a power of two) a lane, one after another. */
static bool touch_words(const plumb_touch *t, const uint16_t *list, uint32_t count, bool shared,
                        uint64_t base, const uint64_t *offsets, uint32_t parts) {
  for (uint32_t i = 0; i < count;) {
    uint64_t at = base + offsets[i];
    uint64_t start;
    size_t words;
    plumb_race_page *p = page_of(t, shared, at, &start, &words);
    size_t word = (size_t)(at - start) / 4;
    bool plain = !p->by_byte && !p->write_block;
    uint32_t next = !plain     ? i
                    : t->write ? quick_writes(t, p, start, words, base, offsets, list, i, count)
                               : quick_reads(t, p, start, words, base, offsets, list, i, count);
    if (next == i) {
      uint64_t in_access = 4ull * (i & (parts - 1));
      unsigned window = shared ? PLUMB_WINDOW_SHARED : PLUMB_WINDOW_GLOBAL;
      bool ok = p->by_byte ? touch_span(t, list[i], window, at, 4, in_access)
                           : touch_unit(t, p, word, list[i], at, in_access);
      if (!ok) return false;
      next++;
    }
    i = next;
  }
  return true;
}

/* Words [0, parts) of one lane: whether all were last touched before the floor. */
static inline bool are_old(const uint64_t *tags, uint32_t parts, uint32_t floor) {
  uint32_t young = 0;
  for (uint32_t k = 0; k < parts; k++) young |= (floor - 1) - time_of(low(tags[k]));
  return !(young >> 31);
}
static inline bool are_same(const uint64_t *tags, uint32_t parts) {
  uint64_t differ = 0;
  for (uint32_t k = 1; k < parts; k++) differ |= tags[k] ^ tags[0];
  return !differ;
}
static inline void stamp_row(uint64_t *tags, uint32_t parts, uint64_t tag) {
  for (uint32_t k = 0; k < parts; k++) tags[k] = tag;
}

/* As quick_reads and quick_writes, of lanes that touch `parts` words each: rows that have one
 * tag, or only old ones, are decided as a whole. */
static inline uint32_t quick_rows(const plumb_touch *t, plumb_race_page *p, uint64_t start,
                                  size_t words, uint64_t base, const uint64_t *offsets,
                                  const uint16_t *list, uint32_t i, uint32_t count,
                                  uint32_t parts) {
  const uint32_t floor = t->floor, now = t->now;
  const uint64_t mine = t->pc | now, shift = base - start;
  uint32_t groups = 0;
  for (; i < count; i++) {
    uint64_t at = (offsets[i] + shift) / 4;
    if (at + parts > words || !are_old(p->write + at, parts, floor)) break;
    uint64_t *r = p->read + at, own = mine | (uint64_t)list[i] << PLUMB_TAG_TIME_BITS;
    groups |= group_of(at) | group_of(at + parts - 1);
    if (are_old(r, parts, floor)) {
      stamp_row(t->write ? p->write + at : r, parts, own);
      continue;
    }
    /* Another read at this time: they merge. */
    uint32_t tag = low(r[0]), who = who_of(tag);
    if (t->write || !are_same(r, parts) || time_of(tag) != now || who >= PLUMB_WHO_AGENT ||
        (tag & PLUMB_TAG_ATOMIC))
      break;
    uint32_t both = together(who, list[i]);
    if (both == who) continue;
    stamp_row(r, parts, mine | (uint64_t)both << PLUMB_TAG_TIME_BITS);
  }
  p->groups |= groups;
  return i;
}

/* Aligned words, several a lane. */
static bool touch_wide(const plumb_touch *t, const uint16_t *list, uint32_t count, bool shared,
                       uint64_t base, const uint64_t *offsets, uint64_t size_bytes) {
  enum { MOST = 8 };
  uint32_t parts = (uint32_t)size_bytes / 4;
  bool quick = !t->strong && !t->br->grid->parts;
  for (uint32_t i = 0; i < count;) {
    uint64_t at = base + offsets[i];
    uint64_t start;
    size_t words;
    plumb_race_page *p = page_of(t, shared, at, &start, &words);
    uint32_t next = i;
    if (quick && !p->by_byte && !p->write_block)
      next = parts == 4 ? quick_rows(t, p, start, words, base, offsets, list, i, count, 4)
                        : quick_rows(t, p, start, words, base, offsets, list, i, count, parts);
    if (next == i) {
      uint64_t parts_at[MOST];
      uint16_t who[MOST];
      for (uint32_t k = 0; k < parts; k++) {
        parts_at[k] = offsets[i] + 4ull * k;
        who[k] = list[i];
      }
      if (!touch_words(t, who, parts, shared, base, parts_at, parts)) return false;
      next++;
    }
    i = next;
  }
  return true;
}

plumb_touch plumb_race_touch_of(plumb_block_run *br, const plumb_strand *s, unsigned how) {
  return (plumb_touch){.br = br,
                       .s = s,
                       .floor = br->race->floor,
                       .now = br->race->time,
                       .pc = (uint64_t)(s->frame->pc_base + s->pc) << 32,
                       .strong = how & PLUMB_TOUCH_STRONG ? PLUMB_TAG_ATOMIC : 0,
                       .write = how & PLUMB_TOUCH_WRITE};
}

bool plumb_race_touch(plumb_block_run *br, const plumb_strand *s, const uint16_t *list,
                      uint32_t count, unsigned window, uint64_t base, const uint64_t *offsets,
                      uint64_t size_bytes, unsigned how) {
  if (br->async && !plumb_async_allows(br, s, list, count, window, base, offsets, size_bytes, how))
    return false;
  if (window == PLUMB_WINDOW_SHARED) base = plumb_race_shared(br, base, &window);
  plumb_touch t = plumb_race_touch_of(br, s, how);
  if (window == PLUMB_WINDOW_GLOBAL) {
    if (how == PLUMB_TOUCH_READ &&
        plumb_reads_add(br->race, list, count, base, offsets, size_bytes, (uint32_t)(t.pc >> 32)))
      return true;
    plumb_trail_to_tags(br);
  }
  bool shared = window == PLUMB_WINDOW_SHARED;
  bool words = size_bytes % 4 == 0 && size_bytes <= 32 && (size_bytes & (size_bytes - 1)) == 0;
  for (uint32_t i = 0; words && i < count; i++) words = ((base + offsets[i]) & 3) == 0;
  if (words && size_bytes == 4) return touch_words(&t, list, count, shared, base, offsets, 1);
  if (words) return touch_wide(&t, list, count, shared, base, offsets, size_bytes);
  for (uint32_t i = 0; i < count; i++)
    if (!touch_span(&t, list[i], window, base + offsets[i], size_bytes, 0)) return false;
  return true;
}

/* --- a block's life --- */

bool plumb_race_create(plumb_block_run *br) {
  if (!br->grid->races || br->grid->host) return true;
  plumb_race *r = take(1, sizeof *r);
  br->race = r;
  r->shared.words = ((size_t)br->grid->shared_bytes + 3) / 4 + 1;
  r->shared.write = take(r->shared.words, sizeof *r->shared.write);
  r->shared.read = take(r->shared.words, sizeof *r->shared.read);
  return true;
}

static void forget_clocks(plumb_block_run *br) {
  plumb_race *r = br->race;
  for (uint32_t l = 0; r->clocks && l < br->lanes; l++) {
    plumb_clock_clear(&r->clocks[l].known);
    plumb_clock_clear(&r->clocks[l].pending);
    plumb_clock_clear(&r->clocks[l].released);
  }
  free(r->clocks);
  r->clocks = NULL;
  plumb_clock_clear(&r->block_clock);
  plumb_clock_map_destroy(&r->published);
}

void plumb_race_destroy(plumb_block_run *br) {
  plumb_race *r = br->race;
  if (!r) return;
  forget_clocks(br);
  plumb_page_table_destroy(&r->pages);
  free(r->own.items);
  free(r->reads.items);
  plumb_race_page_empty(&r->shared);
  free(r);
  br->race = NULL;
}

void plumb_race_begin(plumb_block_run *br) {
  plumb_race *r = br->race;
  if (!r) return;
  forget_clocks(br);
  memset(r->cache, 0, sizeof r->cache);
  if (r->time > PLUMB_TAG_TIME / 2) { /* the time would run out: start it again */
    size_t units = plumb_race_units(&r->shared);
    memset(r->shared.write, 0, units * sizeof *r->shared.write);
    memset(r->shared.read, 0, units * sizeof *r->shared.read);
    plumb_page_table_destroy(&r->pages);
    r->time = 0;
  }
  r->time++;
  r->start = r->floor = r->time;
  memset(r->warp_floor, 0, sizeof r->warp_floor);
  plumb_trail_begin(br);
}

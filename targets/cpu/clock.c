/* What lanes know of other lanes' accesses, beyond block barriers and whole-warp
 * barriers: through fences with strong accesses, acquire and release (PTX ISA 8,
 * memory consistency model), and barriers of a part of the block. */
#include <stdlib.h>

#include "targets/cpu/race.h"

static void *grow(void *old, uint32_t *capacity, size_t element_bytes) {
  uint32_t fresh = *capacity ? *capacity * 2 : 4;
  void *grown = realloc(old, fresh * element_bytes);
  if (!grown) abort();
  *capacity = fresh;
  return grown;
}

static plumb_clock_entry *entry_of(plumb_clock *c, uint64_t block) {
  uint32_t i = c->count;
  while (i > 0 && c->entries[i - 1].block > block) i--;
  if (i > 0 && c->entries[i - 1].block == block) return &c->entries[i - 1];
  if (c->count == c->capacity) c->entries = grow(c->entries, &c->capacity, sizeof *c->entries);
  memmove(c->entries + i + 1, c->entries + i, (c->count - i) * sizeof *c->entries);
  c->count++;
  c->entries[i] = (plumb_clock_entry){.block = block};
  return &c->entries[i];
}

void plumb_clock_know(plumb_clock *c, uint64_t block, uint32_t floor) {
  plumb_clock_entry *e = entry_of(c, block);
  if (e->floor < floor) e->floor = floor;
}

static void entry_know_lane(plumb_clock_entry *e, uint32_t lane, uint32_t time) {
  if (time <= e->floor) return;
  uint32_t i = e->lane_count;
  while (i > 0 && e->lanes[i - 1].lane > lane) i--;
  if (i > 0 && e->lanes[i - 1].lane == lane) {
    if (e->lanes[i - 1].time < time) e->lanes[i - 1].time = time;
    return;
  }
  if (e->lane_count == e->lane_capacity)
    e->lanes = grow(e->lanes, &e->lane_capacity, sizeof *e->lanes);
  memmove(e->lanes + i + 1, e->lanes + i, (e->lane_count - i) * sizeof *e->lanes);
  e->lane_count++;
  e->lanes[i] = (struct plumb_clock_lane){lane, time};
}

void plumb_clock_know_lane(plumb_clock *c, uint64_t block, uint32_t lane, uint32_t time) {
  entry_know_lane(entry_of(c, block), lane, time);
}

/* Both lists are ascending: one pass. */
static void entry_join(plumb_clock_entry *to, const plumb_clock_entry *from) {
  if (to->floor < from->floor) to->floor = from->floor;
  uint32_t fresh = 0;
  for (uint32_t i = 0, k = 0; k < from->lane_count; k++) {
    while (i < to->lane_count && to->lanes[i].lane < from->lanes[k].lane) i++;
    if (i < to->lane_count && to->lanes[i].lane == from->lanes[k].lane) {
      if (to->lanes[i].time < from->lanes[k].time) to->lanes[i].time = from->lanes[k].time;
    } else if (from->lanes[k].time > to->floor) {
      fresh++;
    }
  }
  if (!fresh) return;
  uint32_t room = to->lane_count + fresh, n = 0, i = 0, k = 0;
  struct plumb_clock_lane *merged = malloc(room * sizeof *merged);
  if (!merged) abort();
  while (i < to->lane_count || k < from->lane_count) {
    if (k == from->lane_count || (i < to->lane_count && to->lanes[i].lane <= from->lanes[k].lane)) {
      if (k < from->lane_count && to->lanes[i].lane == from->lanes[k].lane) k++;
      merged[n++] = to->lanes[i++];
    } else {
      if (from->lanes[k].time > to->floor) merged[n++] = from->lanes[k];
      k++;
    }
  }
  free(to->lanes);
  to->lanes = merged;
  to->lane_count = n;
  to->lane_capacity = room;
}

void plumb_clock_join(plumb_clock *to, const plumb_clock *from) {
  if (to == from) return;
  for (uint32_t i = 0; i < from->count; i++)
    entry_join(entry_of(to, from->entries[i].block), &from->entries[i]);
  if (from->count) to->version++;
}

uint32_t plumb_clock_get(const plumb_clock *c, uint64_t block, uint32_t lane) {
  uint32_t lo = 0, hi = c->count;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    if (c->entries[mid].block < block)
      lo = mid + 1;
    else
      hi = mid;
  }
  if (lo == c->count || c->entries[lo].block != block) return 0;
  const plumb_clock_entry *e = &c->entries[lo];
  lo = 0, hi = e->lane_count;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    if (e->lanes[mid].lane < lane)
      lo = mid + 1;
    else
      hi = mid;
  }
  bool found = lo < e->lane_count && e->lanes[lo].lane == lane && e->lanes[lo].time > e->floor;
  return found ? e->lanes[lo].time : e->floor;
}

/* All of a block's accesses before `floor` are known; what was known of single lanes before
 * it (many, where agents come and go) is no longer kept. */
static void raise_floor(plumb_clock *c, uint64_t block, uint32_t floor) {
  for (uint32_t i = 0; i < c->count; i++) {
    plumb_clock_entry *e = &c->entries[i];
    if (e->block != block) continue;
    if (e->floor < floor) e->floor = floor;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < e->lane_count; k++)
      if (e->lanes[k].time > e->floor) e->lanes[kept++] = e->lanes[k];
    e->lane_count = kept;
  }
}

void plumb_clock_clear(plumb_clock *c) {
  for (uint32_t i = 0; i < c->count; i++) free(c->entries[i].lanes);
  free(c->entries);
  *c = (plumb_clock){0};
}

plumb_clock *plumb_clock_at(plumb_clock_map *map, uint64_t address, bool create) {
  if (!create && !map->count) return NULL;
  if (create && (map->count + 1) * 2 > map->capacity) {
    plumb_clock_map grown = {.capacity = map->capacity ? map->capacity * 2 : 64,
                             .count = map->count};
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots) abort();
    for (size_t i = 0; i < map->capacity; i++) {
      if (!map->slots[i].address) continue;
      size_t k =
          (size_t)(map->slots[i].address * 0x9e3779b97f4a7c15ull >> 32) & (grown.capacity - 1);
      while (grown.slots[k].address) k = (k + 1) & (grown.capacity - 1);
      grown.slots[k] = map->slots[i];
    }
    free(map->slots);
    *map = grown;
  }
  size_t k = (size_t)(address * 0x9e3779b97f4a7c15ull >> 32) & (map->capacity - 1);
  while (map->slots[k].address && map->slots[k].address != address)
    k = (k + 1) & (map->capacity - 1);
  if (!map->slots[k].address) {
    if (!create) return NULL;
    map->slots[k].address = address;
    map->count++;
  }
  return &map->slots[k].clock;
}

void plumb_clock_map_destroy(plumb_clock_map *map) {
  for (size_t i = 0; i < map->capacity; i++) plumb_clock_clear(&map->slots[i].clock);
  free(map->slots);
  *map = (plumb_clock_map){0};
}

/* --- lanes of a running block --- */

static void tick(plumb_race *r) {
  if (r->time < PLUMB_TAG_TIME) r->time++;
}

static void want_clocks(plumb_block_run *br) {
  if (br->race->clocks) return;
  br->race->clocks = calloc(br->lanes, sizeof *br->race->clocks);
  if (!br->race->clocks) abort();
}

static uint32_t known_of_lane(const plumb_block_run *br, uint32_t lane, uint64_t block,
                              uint32_t other) {
  const plumb_race *r = br->race;
  uint32_t time = plumb_clock_get(&r->block_clock, block, other);
  if (r->clocks) {
    uint32_t own = plumb_clock_get(&r->clocks[lane].known, block, other);
    if (own > time) time = own;
  }
  if (block == br->index) {
    if (r->floor > time) time = r->floor;
    uint32_t warp = lane / PLUMB_WARP_LANES;
    if (other / PLUMB_WARP_LANES == warp && r->warp_floor[warp] > time) time = r->warp_floor[warp];
  }
  return time;
}

typedef struct seen_by {
  const plumb_block_run *br;
  uint32_t lane;
  uint64_t block;
} seen_by;

static bool is_unseen(const void *context, uint32_t who, uint32_t time) {
  const seen_by *c = context;
  if (c->block == c->br->index && who == c->lane) return false;
  return time >= known_of_lane(c->br, c->lane, c->block, who);
}

bool plumb_clock_ordered(const plumb_block_run *br, uint32_t lane, uint64_t block, uint32_t tag,
                         const plumb_party *party) {
  seen_by context = {br, lane, block};
  if (block == br->index && time_of(tag) < br->race->floor) return true;
  return !plumb_party_any(br, tag, party, is_unseen, &context);
}

/* All that a lane knows, its own past included, into `out`. */
static void snapshot(plumb_block_run *br, uint32_t lane, plumb_clock *out) {
  plumb_race *r = br->race;
  plumb_clock_join(out, &r->block_clock);
  plumb_clock_know(out, br->index, r->floor);
  uint32_t warp = lane / PLUMB_WARP_LANES;
  if (r->warp_floor[warp] > r->floor)
    for (uint32_t k = 0; k < PLUMB_WARP_LANES; k++)
      plumb_clock_know_lane(out, br->index, warp * PLUMB_WARP_LANES + k, r->warp_floor[warp]);
  if (r->clocks) plumb_clock_join(out, &r->clocks[lane].known);
  plumb_clock_know_lane(out, br->index, lane, r->time);
}

void plumb_clock_tick(plumb_block_run *br) {
  plumb_trail_to_tags(br);
  tick(br->race);
}

void plumb_clock_publish(plumb_block_run *br, uint32_t lane, plumb_clock *out) {
  snapshot(br, lane, out);
  out->version++;
}

void plumb_clock_publish_fenced(plumb_block_run *br, uint32_t lane, plumb_clock *out) {
  if (!br->race->clocks || !br->race->clocks[lane].has_fenced) return;
  plumb_clock_join(out, &br->race->clocks[lane].released);
}

void plumb_clock_acquire(plumb_block_run *br, uint32_t lane, const plumb_clock *from) {
  want_clocks(br);
  plumb_clock_join(&br->race->clocks[lane].known, from);
}

static void meet_part(plumb_block_run *br, const plumb_lanes *who) {
  want_clocks(br);
  plumb_clock all = {0};
  for (uint32_t l = who->lo; l < who->hi; l++)
    if (plumb_lanes_has(who, l)) snapshot(br, l, &all);
  for (uint32_t l = who->lo; l < who->hi; l++)
    if (plumb_lanes_has(who, l)) plumb_clock_join(&br->race->clocks[l].known, &all);
  plumb_clock_clear(&all);
}

void plumb_race_meet(plumb_block_run *br, const plumb_lanes *who, bool whole_block) {
  plumb_race *r = br->race;
  if (!whole_block) plumb_trail_to_tags(br);
  tick(r);
  if (whole_block) {
    r->floor = r->time;
    if (!r->clocks) return;
    for (uint32_t l = 0; l < br->lanes; l++) {
      plumb_clock_join(&r->block_clock, &r->clocks[l].known);
      plumb_clock_clear(&r->clocks[l].known);
    }
    raise_floor(&r->block_clock, br->index, r->floor);
    return;
  }
  uint32_t warp = who->lo / PLUMB_WARP_LANES;
  bool one_warp = (who->hi - 1) / PLUMB_WARP_LANES == warp;
  uint32_t live = plumb_lanes_warp(&br->live, warp);
  if (one_warp && (live & ~plumb_lanes_warp(who, warp)) == 0) {
    if (r->clocks) meet_part(br, who);
    r->warp_floor[warp] = r->time;
    return;
  }
  meet_part(br, who);
}

void plumb_race_fence(plumb_block_run *br, const plumb_lanes *on) {
  plumb_race *r = br->race;
  if (!br->grid->fences) return;
  want_clocks(br);
  plumb_trail_to_tags(br);
  tick(r);
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    plumb_lane_clocks *c = &r->clocks[l];
    plumb_clock_join(&c->known, &c->pending);
    plumb_clock_clear(&c->pending);
    plumb_clock_clear(&c->released);
    snapshot(br, l, &c->released);
    c->has_fenced = true;
  }
}

void plumb_race_strong(plumb_block_run *br, uint32_t lane, unsigned window, uint64_t address,
                       uint32_t flags, bool reads, bool writes) {
  plumb_race *r = br->race;
  plumb_clock_map *map = window == PLUMB_WINDOW_GLOBAL && br->grid->online
                             ? &br->grid->online->published
                             : &r->published;
  uint32_t both = PLUMB_FLAG_SEQ_CST;
  if (reads) {
    const plumb_clock *c = plumb_clock_at(map, address, false);
    if (!c || !c->count) return;
    want_clocks(br);
    plumb_lane_clocks *mine = &r->clocks[lane];
    bool acquires = flags & (PLUMB_FLAG_ACQUIRE | both);
    /* A loop that polls reads the same clock again and again. */
    if (mine->seen == address && mine->seen_version == c->version &&
        mine->seen_acquired >= acquires)
      return;
    plumb_clock_join(acquires ? &mine->known : &mine->pending, c);
    mine->seen = address;
    mine->seen_version = c->version;
    mine->seen_acquired = acquires;
  }
  if (writes) {
    if (flags & (PLUMB_FLAG_RELEASE | both)) {
      plumb_clock_tick(br);
      plumb_clock *c = plumb_clock_at(map, address, true);
      snapshot(br, lane, c);
      c->version++;
    }
    if (r->clocks && r->clocks[lane].has_fenced)
      plumb_clock_join(plumb_clock_at(map, address, true), &r->clocks[lane].released);
  }
}

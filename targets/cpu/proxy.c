/* Accesses of the asynchronous proxy, and the fences between it and the generic one (PTX
 * ISA 9.0, 8.6 and 8.10.4: an operation precedes another in proxy-preserved causality if
 * both are of one proxy, or a proxy fence lies on the path between them).
 *
 * A clock's entry for a block's number | PROXY_... says which of that block's accesses
 * are known to the asynchronous proxy, and travels with the clock. So does one for what a
 * release of fence.proxy.async::generic let go: its acquire makes that known to the proxy. */
#include "targets/cpu/async.h"

#define PROXY_SHARED (1ull << 62)
#define PROXY_GLOBAL (1ull << 61)
#define PROXY_RELEASED (1ull << 60) /* of shared memory */
#define PROXY_ANY (PROXY_SHARED | PROXY_GLOBAL | PROXY_RELEASED)

/* Entries of `from` that are marked with `of` (0: the accesses themselves), marked with `proxy`. */
static void tell(plumb_clock *to, const plumb_clock *from, uint64_t of, uint64_t proxy) {
  for (uint32_t i = 0; i < from->count; i++) {
    const plumb_clock_entry *e = &from->entries[i];
    uint64_t block = (e->block & ~PROXY_ANY) | proxy;
    if ((e->block & PROXY_ANY) != of) continue;
    plumb_clock_know(to, block, e->floor);
    for (uint32_t k = 0; k < e->lane_count; k++)
      plumb_clock_know_lane(to, block, e->lanes[k].lane, e->lanes[k].time);
  }
}

void plumb_proxy_fence(plumb_block_run *br, const plumb_lanes *on, const plumb_inst *inst) {
  bool releases = inst->flags & PLUMB_FLAG_RELEASE, acquires = inst->flags & PLUMB_FLAG_ACQUIRE;
  plumb_clock_tick(br);
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    plumb_clock seen = {0}, told = {0};
    plumb_clock_publish(br, l, &seen);
    if (releases)
      tell(&told, &seen, 0, PROXY_RELEASED);
    else if (acquires)
      tell(&told, &seen, PROXY_RELEASED, PROXY_SHARED);
    else if (inst->space != PLUMB_SPACE_GLOBAL)
      tell(&told, &seen, 0, PROXY_SHARED);
    if (!releases && !acquires && inst->space != PLUMB_SPACE_SHARED)
      tell(&told, &seen, 0, PROXY_GLOBAL);
    plumb_clock_acquire(br, l, &told);
    plumb_clock_clear(&seen);
    plumb_clock_clear(&told);
  }
}

typedef struct told_to {
  const plumb_block_run *br;
  uint32_t lane;
  uint64_t block, proxy;
} told_to;

static bool is_untold(const void *context, uint32_t who, uint32_t time) {
  const told_to *c = context;
  const plumb_race *r = c->br->race;
  uint32_t known = plumb_clock_get(&r->block_clock, c->block | c->proxy, who);
  if (r->clocks) {
    uint32_t own = plumb_clock_get(&r->clocks[c->lane].known, c->block | c->proxy, who);
    if (own > known) known = own;
  }
  return time >= known;
}

/* Whether the asynchronous proxy sees, on behalf of `lane`, a generic access. */
static bool is_told(const plumb_block_run *br, uint32_t lane, uint64_t block, uint32_t tag,
                    const plumb_party *party, uint64_t proxy) {
  told_to context = {br, lane, block, proxy};
  return who_of(tag) >= PLUMB_WHO_ASYNC || !plumb_party_any(br, tag, party, is_untold, &context);
}

static bool conflict(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                     uint64_t block, uint64_t tag, bool other_write, bool write, bool fence) {
  const plumb_inst *inst = plumb_inst_at(br->run, (uint32_t)(tag >> 32), NULL);
  uint32_t who = who_of(low(tag));
  const char *did = other_write ? "write" : "read", *does = write ? "write" : "read";
  char by[64];
  if (br->trapped) return false;
  plumb_race_party(who, br->lanes, by);
  if (fence)
    plumb_trap_at(br, PLUMB_TRAP_RACE, s->frame, s->pc, (int32_t)lane,
                  "the copy's %s through the asynchronous proxy does not see the %s by %s: no "
                  "fence.proxy.async lies between them",
                  does, did, by);
  else
    plumb_trap_at(br, PLUMB_TRAP_RACE, s->frame, s->pc, (int32_t)lane,
                  "the copy's %s and the %s by %s of %s are not ordered", does, did, by,
                  block == br->index ? "the same block" : "another block");
  br->trap.lane2 = who < PLUMB_WHO_WARP ? (int32_t)who : -1;
  br->trap.address = address;
  br->trap.size_bytes = 4;
  plumb_race_split_block(br->grid, block, br->trap.block2);
  if (inst) br->trap.location2 = br->program->locs[inst->loc];
  return false;
}

/* The tags of one unit, unless they are those that were just found in order. */
typedef struct unit {
  uint64_t write, read;
  uint64_t write_block, read_block; /* UINT64_MAX: never touched in this run of the block */
} unit;

static unit unit_of(const plumb_block_run *br, const plumb_race_page *p, size_t i) {
  unit u = {p->write[i], p->read[i], br->index, br->index};
  if (p->write_block) {
    u.write_block = p->write_block[i] - 1ull;
    u.read_block = p->read_block[i] - 1ull;
    return u;
  }
  if (time_of(low(u.write)) < br->race->start) u.write_block = UINT64_MAX;
  if (time_of(low(u.read)) < br->race->start) u.read_block = UINT64_MAX;
  return u;
}

/* Whether all that touched these units was before the last meeting of the block's lanes: what
 * most rows of a tile are. */
static bool all_before_floor(const plumb_block_run *br, const plumb_race_page *p, size_t first,
                             size_t count, bool write) {
  const uint32_t floor = br->race->floor;
  bool before = !p->write_block;
  for (size_t i = first; i < first + count && before; i++)
    before = time_of(low(p->write[i])) < floor && (!write || time_of(low(p->read[i])) < floor);
  return before;
}

bool plumb_proxy_is_quiet(plumb_block_run *br, uint64_t address, uint64_t size_bytes, bool write) {
  size_t offset, bytes;
  const plumb_race_page *p = plumb_race_page_at(br, address, &offset, &bytes);
  unsigned step = p->by_byte ? 1 : 4;
  size_t first = offset / step, end = (offset + (size_t)size_bytes + step - 1) / step;
  return all_before_floor(br, p, first, end - first, write);
}

bool plumb_proxy_follows(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                         uint64_t address, uint64_t size_bytes, unsigned how, bool generic) {
  bool write = how & PLUMB_TOUCH_WRITE, strong = how & PLUMB_TOUCH_STRONG;
  uint64_t proxy = plumb_window_of(address) == PLUMB_WINDOW_SHARED ? PROXY_SHARED : PROXY_GLOBAL;
  uint64_t seen_write = 0, seen_read = 0;
  for (uint64_t done = 0; done < size_bytes;) {
    size_t offset, bytes;
    plumb_race_page *p = plumb_race_page_at(br, address + done, &offset, &bytes);
    unsigned step = p->by_byte ? 1 : 4;
    uint64_t part = size_bytes - done < bytes - offset ? size_bytes - done : bytes - offset;
    if (generic &&
        all_before_floor(br, p, offset / step, (size_t)(part + step - 1) / step, write)) {
      done += (part + step - 1) / step * step;
      continue;
    }
    for (; done < size_bytes && offset < bytes; done += step, offset += step) {
      size_t i = offset / step;
      unit u = unit_of(br, p, i);
      const plumb_party *writers = plumb_party_of(p, true, i, u.write);
      const plumb_party *readers = plumb_party_of(p, false, i, u.read);
      bool both = strong && (low(u.write) & PLUMB_TAG_ATOMIC);
      if (u.write_block != UINT64_MAX && u.write != seen_write && !both) {
        bool own = u.write_block == br->index && who_of(low(u.write)) == lane;
        if (!own && !plumb_clock_ordered(br, lane, u.write_block, low(u.write), writers))
          return conflict(br, s, lane, address + done, u.write_block, u.write, true, write, false);
        if (!generic && !is_told(br, lane, u.write_block, low(u.write), writers, proxy))
          return conflict(br, s, lane, address + done, u.write_block, u.write, true, write, true);
        if (!writers) seen_write = u.write;
      }
      if (write && u.read_block != UINT64_MAX && u.read != seen_read) {
        bool own = u.read_block == br->index && who_of(low(u.read)) == lane;
        if (!own && !plumb_clock_ordered(br, lane, u.read_block, low(u.read), readers))
          return conflict(br, s, lane, address + done, u.read_block, u.read, false, write, false);
        if (!readers) seen_read = u.read;
      }
    }
  }
  return true;
}

void plumb_proxy_stamp(plumb_block_run *br, uint32_t agent, uint32_t pc, uint64_t address,
                       uint64_t size_bytes, unsigned how) {
  bool write = how & PLUMB_TOUCH_WRITE;
  uint64_t tag = (uint64_t)pc << 32 | (how & PLUMB_TOUCH_STRONG ? PLUMB_TAG_ATOMIC : 0u) |
                 agent << PLUMB_TAG_TIME_BITS | br->race->time;
  for (uint64_t done = 0; done < size_bytes;) {
    size_t offset, bytes;
    plumb_race_page *p = plumb_race_page_at(br, address + done, &offset, &bytes);
    if ((address | size_bytes) & 3) plumb_race_page_by_byte(p);
    unsigned step = p->by_byte ? 1 : 4;
    for (; done < size_bytes && offset < bytes; done += step, offset += step) {
      size_t i = offset / step;
      /* One read is kept: that of lanes, which nothing else watches. */
      if (!write && time_of(low(p->read[i])) >= br->race->floor) continue;
      p->groups |= 1u << (offset / 4 / PLUMB_RACE_GROUP_WORDS % 16);
      (write ? p->write : p->read)[i] = tag;
      if (p->write_block) (write ? p->write_block : p->read_block)[i] = (uint32_t)br->index + 1;
    }
  }
}

/* Tags of a regular access, stretch by stretch: the answers and the tags are those of
 * touching its lanes one by one (race.c), and where that is not plain to see it says so
 * and leaves it to race.c. Strong accesses, ordered grids, clusters and kernels with
 * asynchronous copies are left to race.c too. */
#include "targets/cpu/race.h"

/* Tags of consecutive units (words or bytes). Unit i is touched by lane + (i >> shift)
 * and, where reach is not 0, by other lanes of which the highest is `reach` more. */
typedef struct units {
  uint64_t *write, *read;
  uint32_t first, count; /* i runs from first; the tags are those of i = first on */
  uint32_t lane, shift, reach;
} units;

#define VECTOR_UNITS 8u /* below it a call of a clone costs more than it saves */

/* Nonzero if any tag is not before the floor and of another lane than the unit's. The
 * sign bits tell: floor - 1 - time is negative for a time that is not before it. */
PLUMB_CLONES
static uint64_t foreign(const uint64_t *tags, const units *u, uint32_t floor) {
  uint64_t bad = 0, last = floor - 1ull, first = u->first, lane = u->lane;
  uint32_t shift = u->shift, n = u->count;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t other = (tags[i] >> PLUMB_TAG_TIME_BITS & 0x7ff) ^ (lane + ((first + i) >> shift));
    bad |= (last - (tags[i] & PLUMB_TAG_TIME)) & (0 - other);
  }
  return bad >> 63;
}

PLUMB_CLONES
static void stamp(uint64_t *tags, const units *u, uint64_t tag) {
  uint64_t first = u->first, lane = u->lane;
  uint32_t shift = u->shift, n = u->count;
  for (uint64_t i = 0; i < n; i++)
    tags[i] = tag | (lane + ((first + i) >> shift)) << PLUMB_TAG_TIME_BITS;
}

static uint32_t warp_of(uint32_t who) {
  return who < PLUMB_WHO_WARP ? who / PLUMB_WARP_LANES : who - PLUMB_WHO_WARP;
}

uint32_t plumb_who_between(uint32_t first, uint32_t last) {
  if (first == last) return first;
  uint32_t warp = first / PLUMB_WARP_LANES;
  return warp == last / PLUMB_WARP_LANES ? PLUMB_WHO_WARP + warp : PLUMB_WHO_MANY;
}

static uint32_t both(uint32_t a, uint32_t b) {
  if (a == b) return a;
  return warp_of(a) == warp_of(b) ? PLUMB_WHO_WARP + warp_of(a) : PLUMB_WHO_MANY;
}

/* Whether lanes `first` to `last` come after the access with this tag. */
static inline bool is_before(const plumb_touch *t, uint32_t tag, uint32_t first, uint32_t last) {
  uint32_t time = time_of(tag), warp = first / PLUMB_WARP_LANES;
  if (time < t->floor) return true;
  return warp_of(who_of(tag)) == warp && last / PLUMB_WARP_LANES == warp &&
         time < t->br->race->warp_floor[warp];
}

/* One unit, touched by `first` to `last`. Reads that are not ordered do not conflict: they
 * merge. */
static inline bool touch_one(const plumb_touch *t, uint64_t *write, uint64_t *read, uint32_t first,
                             uint32_t last) {
  uint32_t w = low(*write), r = low(*read);
  bool one = first == last;
  if (!is_before(t, w, first, last) && !(one && who_of(w) == first)) return false;
  bool ordered = is_before(t, r, first, last);
  if (t->write) {
    if (!ordered && who_of(r) != first) return false;
    *write = t->pc | (uint64_t)first << PLUMB_TAG_TIME_BITS | t->now;
    return true;
  }
  uint32_t who = plumb_who_between(first, last);
  if (!ordered) who = both(who_of(r), who);
  if (who != first && t->br->grid->parts) return false; /* whoever it is has to be kept */
  *read = t->pc | (uint64_t)who << PLUMB_TAG_TIME_BITS | t->now;
  return true;
}

/* One lane a unit, and no other lane has touched any of them. */
static bool touch_own(const plumb_touch *t, const units *u) {
  if (foreign(u->write, u, t->floor) || foreign(u->read, u, t->floor)) return false;
  stamp(t->write ? u->write : u->read, u, t->pc | t->now);
  return true;
}

/* Read by several lanes a unit, the same ones for all units as far as a tag can tell. */
static bool read_fresh(const plumb_touch *t, const units *u) {
  uint32_t last = (u->first + u->count - 1) >> u->shift;
  uint32_t who = plumb_who_between(u->lane + (u->first >> u->shift), u->lane + last + u->reach);
  bool all = who != PLUMB_WHO_MANY || u->reach >= PLUMB_WARP_LANES || u->shift == PLUMB_NO_SHIFT;
  if (!all || plumb_race_busy(u->write, u->read, u->count, t->floor)) return false;
  uint64_t tag = t->pc | (uint64_t)who << PLUMB_TAG_TIME_BITS | t->now;
  for (uint32_t i = 0; i < u->count; i++) u->read[i] = tag;
  return true;
}

static bool touch_units(const plumb_touch *t, const units *u) {
  if (u->count >= VECTOR_UNITS && (u->reach ? read_fresh(t, u) : touch_own(t, u))) return true;
  for (uint32_t i = 0; i < u->count; i++) {
    uint32_t lane = u->lane + ((u->first + i) >> u->shift);
    if (!touch_one(t, u->write + i, u->read + i, lane, lane + u->reach)) return false;
  }
  return true;
}

static uint32_t log2_of(uint64_t power) {
  return (uint32_t)__builtin_ctzll(power);
}

/* One stretch; size_log2 is of a lane's part, PLUMB_NO_SHIFT if each lane touches all. */
static bool touch_stretch(const plumb_touch *t, bool shared, uint64_t address, uint64_t bytes,
                          bool narrow, uint32_t size_log2, uint32_t lane, uint32_t reach) {
  plumb_race *race = t->br->race;
  for (uint64_t done = 0; done < bytes;) {
    uint64_t at = address + done;
    plumb_race_page *p = shared ? &race->shared : plumb_race_page_find(t->br, at);
    uint64_t offset = shared ? at & UINT32_MAX : at % PLUMB_RACE_PAGE_BYTES, part = bytes - done;
    if (!shared && part > PLUMB_RACE_PAGE_BYTES - offset) part = PLUMB_RACE_PAGE_BYTES - offset;
    if (narrow) plumb_race_page_by_byte(p);
    uint32_t unit_log2 = p->by_byte ? 0 : 2;
    size_t unit = (size_t)offset >> unit_log2;
    units u = {.write = p->write + unit,
               .read = p->read + unit,
               .first = (uint32_t)done >> unit_log2,
               .count = (uint32_t)part >> unit_log2,
               .lane = lane,
               .shift = size_log2 == PLUMB_NO_SHIFT ? size_log2 : size_log2 - unit_log2,
               .reach = reach};
    if (!touch_units(t, &u)) return false;
    const uint64_t group_bytes = PLUMB_RACE_GROUP_WORDS * 4;
    if (!shared) /* those of shared memory are not asked for */
      for (uint64_t g = offset / group_bytes; g <= (offset + part - 1) / group_bytes; g++)
        p->groups |= 1u << g;
    done += part;
  }
  return true;
}

bool plumb_race_tag_rows(const plumb_touch *t, const plumb_track *a, bool shared) {
  bool narrow = a->rows.first & 3 || a->size_bytes & 3;
  uint32_t size_log2 = a->rows.step == 0 ? PLUMB_NO_SHIFT : log2_of(a->size_bytes);
  for (uint32_t k = 0; k < a->repeats; k++)
    for (uint32_t i = 0; i < a->rows.stretches; i++)
      if (!touch_stretch(t, shared, a->rows.first + k * a->stride + i * a->rows.pitch,
                         a->rows.stretch_bytes, narrow, size_log2, a->lane + i * a->rows.width,
                         a->reach))
        return false;
  return true;
}

bool plumb_race_touch_rows(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                           unsigned window, uint64_t base, const plumb_footprint *fp,
                           uint64_t size_bytes, bool write) {
  bool shared = window == PLUMB_WINDOW_SHARED;
  plumb_touch t = plumb_race_touch_of(br, s, write ? PLUMB_TOUCH_WRITE : PLUMB_TOUCH_READ);
  int64_t low, high;
  if (shared && !br->cluster) base = plumb_race_shared(br, base, &window);
  plumb_track a = {.rows = *fp,
                   .size_bytes = size_bytes,
                   .repeats = 1,
                   .lane = lane,
                   .time = t.now,
                   .pc = (uint32_t)(t.pc >> 32),
                   .write = write};
  a.rows.first += base;
  a.reach = fp->step == 0 ? fp->width - 1 : 0;
  if (fp->pitch == 0) a.reach += (fp->rows - 1) * fp->width;
  if (br->async || br->cluster || (!shared && br->grid->online) ||
      (a.reach && (write || br->grid->parts)) || (size_bytes & (size_bytes - 1)) ||
      !plumb_footprint_span(fp, &low, &high))
    return false;
  if (shared) return plumb_race_tag_rows(&t, &a, true);
  a.low = a.rows.first + (uint64_t)low;
  a.high = a.rows.first + (uint64_t)high + size_bytes;
  if (plumb_trail_add(br->race, &a)) return true;
  plumb_trail_to_tags(br);
  return plumb_race_tag_rows(&t, &a, false);
}

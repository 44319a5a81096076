/* Conflicts between the accesses of finished blocks: those of a launch are ordered by nothing (see
 * race.h). */
#include <stdio.h>
#include <stdlib.h>

#include "targets/cpu/race.h"

static int by_address(const void *a, const void *b) {
  const plumb_interval *x = a, *y = b;
  if (x->address != y->address) return x->address < y->address ? -1 : 1;
  if (x->block != y->block) return x->block < y->block ? -1 : 1;
  return (int)x->how - (int)y->how;
}

/* The two intervals that reach furthest, of different blocks. */
typedef struct reach {
  const plumb_interval *first, *second;
} reach;

static uint64_t end_of(const plumb_interval *i) {
  return i ? i->address + i->size_bytes : 0;
}

static void extend(reach *r, const plumb_interval *i) {
  if (!r->first || r->first->block == i->block) {
    if (end_of(i) > end_of(r->first)) r->first = i;
  } else if (end_of(i) > end_of(r->first)) {
    r->second = r->first;
    r->first = i;
  } else if (end_of(i) > end_of(r->second)) {
    r->second = i;
  }
}

static void fill_party(const plumb_grid *g, const plumb_interval *i, uint64_t address,
                       int64_t block[3], int32_t *lane, plumb_loc *loc, const plumb_inst **inst,
                       const plumb_function **fn) {
  plumb_race_split_block(g, i->block, block);
  *lane =
      i->who < PLUMB_WHO_WARP ? (int32_t)(i->who + (i->step ? (address - i->address) / 4 : 0)) : -1;
  *inst = plumb_inst_at(g->run, i->pc, fn);
  if (*inst) *loc = g->run->program->locs[(*inst)->loc];
}

static void report_blocks(plumb_grid *g, const plumb_interval *a, const plumb_interval *b,
                          uint64_t address) {
  plumb_run *run = g->run;
  if (!(a->how & PLUMB_TOUCH_WRITE)) { /* the write is what a report blames */
    const plumb_interval *swap = a;
    a = b;
    b = swap;
  }
  plumb_trap *t = &run->trap;
  *t = (plumb_trap){.kind = PLUMB_TRAP_RACE, .address = address, .size_bytes = 4};
  const plumb_inst *inst = NULL, *other = NULL;
  const plumb_function *fn = NULL, *other_fn = NULL;
  fill_party(g, a, address, t->block, &t->lane, &t->location, &inst, &fn);
  fill_party(g, b, address, t->block2, &t->lane2, &t->location2, &other, &other_fn);
  t->function = fn ? fn->name : g->fn->name;
  t->op = inst ? (plumb_op)inst->op : PLUMB_OP_STORE;
  plumb_allocation *allocation = plumb_allocation_of(run->machine, address);
  if (allocation) t->allocation = allocation->name;
  t->allocation_offset = address & UINT32_MAX;
  snprintf(run->trap_message, sizeof run->trap_message,
           "write by block (%lld, %lld, %lld) and %s by block (%lld, %lld, %lld) are not ordered",
           (long long)t->block[0], (long long)t->block[1], (long long)t->block[2],
           b->how & PLUMB_TOUCH_WRITE ? "write" : "read", (long long)t->block2[0],
           (long long)t->block2[1], (long long)t->block2[2]);
}

/* A set of allocations, by the upper halves of their addresses. */
typedef struct allocations {
  uint64_t items[64];
  size_t count;
  bool any; /* there were more */
} allocations;

static bool has(const allocations *set, uint64_t address) {
  for (size_t i = 0; i < set->count; i++)
    if (set->items[i] == address >> 32) return true;
  return set->any;
}

static void include(allocations *set, uint64_t address) {
  if (has(set, address)) return;
  set->any = set->count == sizeof set->items / sizeof *set->items;
  if (!set->any) set->items[set->count++] = address >> 32;
}

static allocations find_written(const plumb_finished *all) {
  allocations set = {.count = 0};
  for (size_t i = 0; i < all->intervals.count; i++)
    if (all->intervals.items[i].how & PLUMB_TOUCH_WRITE)
      include(&set, all->intervals.items[i].address);
  for (size_t i = 0; i < all->track_count; i++)
    if (all->tracks[i].track.write) include(&set, all->tracks[i].track.low);
  return set;
}

/* Reads of allocations that no block writes conflict with nothing, and are most of all. */
static void drop_unwritten(plumb_finished *all, const allocations *written) {
  plumb_intervals *list = &all->intervals;
  size_t kept = 0, kept_tracks = 0;
  if (written->any) return;
  for (size_t i = 0; i < list->count; i++)
    if (has(written, list->items[i].address)) list->items[kept++] = list->items[i];
  for (size_t i = 0; i < all->track_count; i++)
    if (has(written, all->tracks[i].track.low)) all->tracks[kept_tracks++] = all->tracks[i];
  list->count = kept;
  all->track_count = kept_tracks;
}

/* --- tracks --- */

/* All that an interval or a track touches lies in [low, high). */
typedef struct hull {
  uint64_t low, high, block;
  const struct plumb_block_track *of; /* NULL: an interval */
  bool write;
} hull;

static int by_low(const void *a, const void *b) {
  const hull *x = a, *y = b;
  return x->low < y->low ? -1 : x->low > y->low;
}

static hull *find_hulls(const plumb_finished *all, size_t *out_count) {
  size_t n = 0;
  hull *hulls = malloc((all->intervals.count + all->track_count + 1) * sizeof *hulls);
  if (!hulls) abort();
  for (size_t i = 0; i < all->intervals.count; i++) {
    const plumb_interval *item = &all->intervals.items[i];
    hulls[n++] = (hull){item->address, item->address + item->size_bytes, item->block, NULL,
                        item->how & PLUMB_TOUCH_WRITE};
  }
  for (size_t i = 0; i < all->track_count; i++) {
    const struct plumb_block_track *t = &all->tracks[i];
    hulls[n++] = (hull){t->track.low, t->track.high, t->block, t, t->track.write};
  }
  qsort(hulls, n, sizeof *hulls, by_low);
  *out_count = n;
  return hulls;
}

/* Adds the intervals of tracks that may meet another block's accesses: of hulls that overlap in a
 * row, some of another block and some of writes; and of writes where irregular reads are. */
static void add_tracks(plumb_finished *all, const allocations *irregular) {
  size_t count;
  hull *hulls = all->track_count ? find_hulls(all, &count) : NULL;
  for (size_t i = 0, end; hulls && i < count; i = end) {
    uint64_t high = hulls[i].high;
    bool alone = true, write = hulls[i].write;
    for (end = i + 1; end < count && hulls[end].low < high; end++) {
      alone &= hulls[end].block == hulls[i].block;
      write |= hulls[end].write;
      high = hulls[end].high > high ? hulls[end].high : high;
    }
    for (size_t k = i; k < end; k++) {
      const struct plumb_block_track *t = hulls[k].of;
      bool meets = (!alone && write) || (hulls[k].write && has(irregular, hulls[k].low));
      if (t && meets) plumb_track_to_intervals(t->block, &t->track, &all->intervals);
    }
  }
  free(hulls);
}

static allocations find_irregular(const plumb_finished *all) {
  allocations set = {.count = 0};
  plumb_reads_cursor at = {0};
  plumb_interval read;
  while (plumb_reads_next(all, &at, &read)) include(&set, read.address);
  return set;
}

/* --- conflicts --- */

/* Accesses that are alike in what they conflict with: those of one `how`, but stores of a constant
 * instruction by instruction. */
typedef struct kind {
  unsigned how;
  uint32_t pc;
  bool constant;
  reach reach;
} kind;
typedef struct kinds {
  kind *items;
  struct seen {
    unsigned how;
    uint32_t pc;
    size_t kind;
  } *seen; /* each how and pc so far */
  size_t count, capacity, seen_count, seen_capacity, last;
} kinds;

static size_t new_kind(kinds *list, const plumb_run *run, const plumb_interval *item) {
  bool constant =
      item->how == PLUMB_TOUCH_WRITE && plumb_stores_one_constant(run, item->pc, item->pc);
  for (size_t k = 0; !constant && k < list->count; k++)
    if (list->items[k].how == item->how && !list->items[k].constant) return k;
  list->items = plumb_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
  list->items[list->count] = (kind){item->how, item->pc, constant, {0}};
  return list->count++;
}

static kind *find_kind(kinds *list, const plumb_run *run, const plumb_interval *item) {
  struct seen *s = list->seen;
  if (list->seen_count && s[list->last].how == item->how && s[list->last].pc == item->pc)
    return &list->items[s[list->last].kind];
  for (list->last = 0; list->last < list->seen_count; list->last++)
    if (s[list->last].how == item->how && s[list->last].pc == item->pc)
      return &list->items[s[list->last].kind];
  list->seen = plumb_grow(s, &list->seen_capacity, list->seen_count + 1, sizeof *s);
  size_t k = new_kind(list, run, item);
  list->seen[list->seen_count++] = (struct seen){item->how, item->pc, k};
  return &list->items[k];
}

static bool may_conflict(const plumb_run *run, const kind *a, const kind *b) {
  if (!((a->how | b->how) & PLUMB_TOUCH_WRITE) || a->how & b->how & PLUMB_TOUCH_STRONG)
    return false;
  return !a->constant || !b->constant || !plumb_stores_one_constant(run, a->pc, b->pc);
}

/* Sorted intervals. */
static bool check_intervals(plumb_grid *g, const plumb_intervals *all) {
  kinds list = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < all->count; i++) {
    const plumb_interval *item = &all->items[i];
    kind *own = find_kind(&list, g->run, item);
    for (size_t k = 0; ok && k < list.count; k++) {
      const plumb_interval *other = list.items[k].reach.first;
      if (other && other->block == item->block) other = list.items[k].reach.second;
      if (end_of(other) <= item->address || !may_conflict(g->run, own, &list.items[k])) continue;
      report_blocks(g, other, item, item->address);
      ok = false;
    }
    extend(&own->reach, item);
  }
  free(list.items);
  free(list.seen);
  return ok;
}

/* The writes that begin at or before an address: the two of different blocks that reach
 * furthest. */
typedef struct write_reach {
  uint64_t address;
  reach reach;
} write_reach;

static write_reach *find_writes(const plumb_intervals *all, size_t *out_count) {
  write_reach *w = malloc((all->count + 1) * sizeof *w);
  reach last = {0};
  *out_count = 0;
  if (!w) abort();
  for (size_t i = 0; i < all->count; i++) {
    if (!(all->items[i].how & PLUMB_TOUCH_WRITE)) continue;
    extend(&last, &all->items[i]);
    w[(*out_count)++] = (write_reach){all->items[i].address, last};
  }
  return w;
}

/* A write of another block that meets the read; NULL. */
static const plumb_interval *find_write(const write_reach *w, size_t count,
                                        const plumb_interval *read) {
  size_t low = 0, high = count; /* w[low ..) begin behind the read */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (w[middle].address < end_of(read))
      low = middle + 1;
    else
      high = middle;
  }
  if (!low) return NULL;
  const plumb_interval *write = w[low - 1].reach.first;
  if (write->block == read->block) write = w[low - 1].reach.second;
  return end_of(write) > read->address ? write : NULL;
}

/* Reports the conflict at the lowest address, whatever order the blocks ended in. */
static void check_reads(plumb_grid *g, const plumb_finished *all, const allocations *written) {
  plumb_reads_cursor at = {0};
  plumb_interval read, found = {.address = UINT64_MAX};
  const plumb_interval *found_write = NULL;
  size_t count;
  write_reach *writes = find_writes(&all->intervals, &count);
  while (plumb_reads_next(all, &at, &read)) {
    if (!has(written, read.address) || by_address(&read, &found) >= 0) continue;
    const plumb_interval *write = find_write(writes, count, &read);
    if (write) found = read, found_write = write;
  }
  if (found_write)
    report_blocks(g, found_write, &found,
                  found.address > found_write->address ? found.address : found_write->address);
  free(writes);
}

void plumb_race_finish(plumb_grid *g) {
  plumb_finished *all = g->finished;
  if (!all || g->run->trap.kind != PLUMB_TRAP_NONE) return;
  allocations written = find_written(all), irregular = find_irregular(all);
  drop_unwritten(all, &written);
  add_tracks(all, &irregular);
  if (!all->intervals.count) return;
  qsort(all->intervals.items, all->intervals.count, sizeof *all->intervals.items, by_address);
  if (check_intervals(g, &all->intervals)) check_reads(g, all, &written);
}

void plumb_race_grid_destroy(plumb_grid *g) {
  plumb_finished_destroy(g->finished);
  if (g->online) {
    plumb_page_table_destroy(&g->online->pages);
    plumb_clock_map_destroy(&g->online->published);
    free(g->online);
  }
  g->finished = NULL;
  g->online = NULL;
}

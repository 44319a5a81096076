/* Accesses of finished blocks, as intervals, and the conflicts between blocks: those of a
 * launch are ordered by nothing (see race.h). */
#include <stdio.h>
#include <stdlib.h>

#include "targets/cpu/race.h"

/* --- the accesses of a finished block --- */

void plumb_intervals_add(plumb_intervals *list, const plumb_interval *item) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity ? list->capacity * 2 : 1024;
    list->items = realloc(list->items, list->capacity * sizeof *list->items);
    if (!list->items) abort();
  }
  list->items[list->count++] = *item;
}

/* Zero if all words were touched by one instruction, the lanes going up by `step`. */
PLUMB_CLONES
static uint64_t is_one_interval(const uint64_t *tags, size_t n, uint64_t step) {
  uint64_t differs = 0;
  for (size_t i = 0; i < n; i++) differs |= tags[i] ^ (tags[0] + i * step);
  return differs;
}

/* Units [first, end) of a page. */
static void add_units(plumb_block_run *br, plumb_intervals *list, const plumb_race_page *p,
                      const uint64_t *tags, size_t first, size_t end, unsigned kind) {
  uint32_t unit_bytes = p->by_byte ? 1 : 4;
  uint64_t start = (p->key - 1) * PLUMB_RACE_PAGE_BYTES;
  size_t units = end - first;
  plumb_interval run = {0};
  if (!plumb_race_busy(tags + first, tags + first, (uint32_t)units, br->race->start)) return;
  uint32_t tag0 = low(tags[first]);
  bool linear = is_one_interval(tags + first, units, 1ull << PLUMB_TAG_TIME_BITS) == 0 &&
                who_of(tag0) + units <= PLUMB_WHO_WARP;
  if (linear || is_one_interval(tags + first, units, 0) == 0) {
    unsigned strong = tag0 & PLUMB_TAG_ATOMIC ? PLUMB_TOUCH_STRONG : 0;
    run = (plumb_interval){.address = start + first * unit_bytes,
                           .block = br->index,
                           .size_bytes = (uint32_t)units * unit_bytes,
                           .pc = (uint32_t)(tags[first] >> 32),
                           .who = (uint16_t)who_of(tag0),
                           .step = linear,
                           .how = (uint8_t)(kind | strong)};
    plumb_intervals_add(list, &run);
    return;
  }
  for (size_t i = first; i < end; i++) {
    uint32_t tag = low(tags[i]), pc = (uint32_t)(tags[i] >> 32);
    if (time_of(tag) < br->race->start) {
      if (run.size_bytes) plumb_intervals_add(list, &run);
      run.size_bytes = 0;
      continue;
    }
    unsigned how = kind | (tag & PLUMB_TAG_ATOMIC ? (unsigned)PLUMB_TOUCH_STRONG : 0u);
    uint32_t n = run.size_bytes / unit_bytes;
    if (run.size_bytes && run.how == how && run.pc == pc) {
      if (n == 1 && who_of(tag) == run.who + 1u) run.step = 1;
      uint32_t expected = run.who + (run.step ? n : 0);
      if (who_of(tag) != expected && run.who != PLUMB_WHO_MANY)
        run.who = PLUMB_WHO_MANY, run.step = 0;
      run.size_bytes += unit_bytes;
      continue;
    }
    if (run.size_bytes) plumb_intervals_add(list, &run);
    run = (plumb_interval){.address = start + i * unit_bytes,
                           .block = br->index,
                           .size_bytes = unit_bytes,
                           .pc = pc,
                           .who = (uint16_t)who_of(tag),
                           .how = (uint8_t)how};
  }
  if (run.size_bytes) plumb_intervals_add(list, &run);
}

/* Only the groups of words that were touched. */
static void add_page(plumb_block_run *br, plumb_intervals *list, const plumb_race_page *p,
                     const uint64_t *tags, unsigned kind) {
  const size_t groups = PLUMB_RACE_PAGE_WORDS / PLUMB_RACE_GROUP_WORDS;
  size_t units = PLUMB_RACE_GROUP_WORDS * (p->by_byte ? 4 : 1);
  for (size_t g = 0; g < groups; g++) {
    size_t end = g;
    while (end < groups && p->groups >> end & 1) end++;
    if (end > g) add_units(br, list, p, tags, g * units, end * units, kind);
    g = end;
  }
}

bool plumb_race_end(plumb_block_run *br) {
  plumb_race *r = br->race;
  if (!r || br->grid->online || br->grid->block_count == 1) {
    if (r) plumb_race_release(&r->pages);
    return true;
  }
  plumb_intervals *own = &r->own;
  own->count = 0;
  if (!plumb_reads_end(br)) plumb_trail_to_tags(br);
  plumb_trail_end(br, own);
  for (size_t i = 0; r->pages.count && i < r->pages.capacity; i++) {
    const plumb_race_page *p = r->pages.slots[i];
    if (!p) continue;
    add_page(br, own, p, p->write, PLUMB_TOUCH_WRITE);
    add_page(br, own, p, p->read, PLUMB_TOUCH_READ);
  }
  plumb_race_release(&r->pages);
  pthread_mutex_lock(&br->run->lock);
  for (size_t i = 0; i < own->count; i++) plumb_intervals_add(br->grid->intervals, &own->items[i]);
  pthread_mutex_unlock(&br->run->lock);
  return true;
}

/* --- conflicts between blocks --- */

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

/* The allocations that were written, by the upper halves of their addresses. */
typedef struct written {
  uint64_t allocations[64];
  size_t count;
  bool any; /* there were more */
} written;

static bool is_written(const written *w, uint64_t address) {
  for (size_t i = 0; i < w->count; i++)
    if (w->allocations[i] == address >> 32) return true;
  return w->any;
}

static written find_written(const plumb_intervals *all) {
  written w = {.count = 0};
  for (size_t i = 0; i < all->count && !w.any; i++) {
    const plumb_interval *item = &all->items[i];
    if (!(item->how & PLUMB_TOUCH_WRITE) || is_written(&w, item->address)) continue;
    w.any = w.count == sizeof w.allocations / sizeof *w.allocations;
    if (!w.any) w.allocations[w.count++] = item->address >> 32;
  }
  return w;
}

/* Reads of allocations that no block writes conflict with nothing, and are most of all. */
static void drop_unwritten(plumb_intervals *all, const written *w) {
  size_t kept = 0;
  for (size_t i = 0; i < all->count && !w->any; i++)
    if (is_written(w, all->items[i].address)) all->items[kept++] = all->items[i];
  if (!w->any) all->count = kept;
}

/* Sorted intervals. */
static bool check_intervals(plumb_grid *g, const plumb_intervals *all) {
  reach reaches[4] = {{0}}; /* by how */
  for (size_t i = 0; i < all->count; i++) {
    const plumb_interval *item = &all->items[i];
    for (unsigned how = 0; how < 4; how++) {
      if (!((how | item->how) & PLUMB_TOUCH_WRITE)) continue;
      if (how & item->how & PLUMB_TOUCH_STRONG) continue;
      const plumb_interval *other = reaches[how].first;
      if (other && other->block == item->block) other = reaches[how].second;
      if (end_of(other) > item->address &&
          !plumb_stores_one_constant(g->run, other->pc, item->pc)) {
        report_blocks(g, other, item, item->address);
        return false;
      }
    }
    extend(&reaches[item->how], item);
  }
  return true;
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
static void check_reads(plumb_grid *g, const plumb_intervals *all, const written *written) {
  plumb_reads_cursor at = {0};
  plumb_interval read, found = {.address = UINT64_MAX};
  const plumb_interval *found_write = NULL;
  size_t count;
  write_reach *writes = find_writes(all, &count);
  while (plumb_reads_next(g->reads, &at, &read)) {
    if (!is_written(written, read.address) || by_address(&read, &found) >= 0) continue;
    const plumb_interval *write = find_write(writes, count, &read);
    if (write) found = read, found_write = write;
  }
  if (found_write)
    report_blocks(g, found_write, &found,
                  found.address > found_write->address ? found.address : found_write->address);
  free(writes);
}

void plumb_race_finish(plumb_grid *g) {
  plumb_intervals *all = g->intervals;
  if (!all || g->run->trap.kind != PLUMB_TRAP_NONE) return;
  written w = find_written(all);
  drop_unwritten(all, &w);
  if (!all->count) return;
  qsort(all->items, all->count, sizeof *all->items, by_address);
  if (check_intervals(g, all)) check_reads(g, all, &w);
}

void plumb_race_grid_destroy(plumb_grid *g) {
  if (g->intervals) free(g->intervals->items);
  free(g->intervals);
  plumb_grid_reads_destroy(g->reads);
  if (g->online) {
    plumb_page_table_destroy(&g->online->pages);
    plumb_clock_map_destroy(&g->online->published);
    free(g->online);
  }
  g->intervals = NULL;
  g->reads = NULL;
  g->online = NULL;
}

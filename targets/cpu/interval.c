/* The accesses of a finished block, as intervals; conflict.c compares them. */
#include <stdlib.h>

#include "targets/cpu/race.h"

void *plumb_grow(void *items, size_t *capacity, size_t count, size_t item_bytes) {
  if (count <= *capacity) return items;
  if (!*capacity) *capacity = 1024;
  while (*capacity < count) *capacity *= 2;
  items = realloc(items, *capacity * item_bytes);
  if (!items) abort();
  return items;
}

void plumb_intervals_add(plumb_intervals *list, const plumb_interval *item) {
  list->items = plumb_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
  list->items[list->count++] = *item;
}

static void add_all(plumb_intervals *list, const plumb_intervals *more) {
  size_t count = list->count + more->count;
  if (!more->count) return;
  list->items = plumb_grow(list->items, &list->capacity, count, sizeof *list->items);
  memcpy(list->items + list->count, more->items, more->count * sizeof *more->items);
  list->count = count;
}

void plumb_finished_destroy(plumb_finished *all) {
  if (!all) return;
  free(all->intervals.items);
  free(all->reads);
  free(all->blocks);
  free(all->tracks);
  free(all);
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
  for (size_t i = 0; r->pages.count && i < r->pages.capacity; i++) {
    const plumb_race_page *p = r->pages.slots[i];
    if (!p) continue;
    add_page(br, own, p, p->write, PLUMB_TOUCH_WRITE);
    add_page(br, own, p, p->read, PLUMB_TOUCH_READ);
  }
  plumb_race_release(&r->pages);
  pthread_mutex_lock(&br->run->lock);
  plumb_trail_end(br, br->grid->finished);
  add_all(&br->grid->finished->intervals, own);
  pthread_mutex_unlock(&br->run->lock);
  return true;
}

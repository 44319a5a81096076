/* Irregular reads of global memory (`x[index[i]]`), each kept as it is, in the order in which
 * they come. Most are of memory that no block writes: then they conflict with nothing and are
 * never looked at again. A block that writes near them turns them into tags, as its tracks
 * (trail.c); what other blocks write is compared when all have ended (conflict.c). */
#include <assert.h>

#include "targets/cpu/race.h"

#define MOST_IN_BLOCK (1u << 20)
#define MOST_IN_GRID ((size_t)1 << 24)
/* So many blocks of a grid, on one thread, turned their reads into tags: the others start with
 * tags. */
#define MOST_IN_VAIN 16u
#define SIZE_BITS 8u

static uint64_t address_of(const plumb_read *r) {
  return r->place >> SIZE_BITS;
}
static uint32_t size_of(const plumb_read *r) {
  return r->place & ((1u << SIZE_BITS) - 1);
}

void plumb_reads_begin(plumb_reads *list) {
  list->count = list->old = 0;
  list->span_count = 0;
}

void plumb_reads_retire(plumb_reads *list) {
  list->old = list->count;
  list->span_count = 0;
}

bool plumb_reads_meet(const plumb_reads *list, uint64_t low, uint64_t high) {
  for (uint32_t i = 0; i < list->span_count; i++)
    if (list->spans[i].low < high && low < list->spans[i].high) return true;
  return false;
}

/* Widens what was read of the allocation; false: of too many. */
static bool cover(plumb_reads *list, uint64_t low, uint64_t high) {
  struct plumb_span *s = list->spans;
  uint32_t i = 0;
  while (i < list->span_count && s[i].low >> 32 != low >> 32) i++;
  if (i == PLUMB_MAX_SPANS) return false;
  if (i == list->span_count) s[list->span_count++] = (struct plumb_span){low, high};
  if (low < s[i].low) s[i].low = low;
  if (high > s[i].high) s[i].high = high;
  return true;
}

bool plumb_reads_add(plumb_race *r, const uint16_t *lanes, uint32_t count, uint64_t base,
                     const uint64_t *offsets, uint64_t size_bytes, uint32_t pc) {
  plumb_reads *list = &r->reads;
  uint64_t low = UINT64_MAX, high = 0;
  if (list->in_vain >= MOST_IN_VAIN || size_bytes >> SIZE_BITS ||
      list->count + count > MOST_IN_BLOCK)
    return false;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t at = base + offsets[i];
    low = at < low ? at : low;
    high = at > high ? at : high;
  }
  high += size_bytes;
  if (low >> 32 != high >> 32 || high >> (64 - SIZE_BITS) || !plumb_trail_allows(r, low, high) ||
      (list->count > list->old && list->time != r->time) || !cover(list, low, high))
    return false;
  list->time = r->time;
  list->items = plumb_grow(list->items, &list->capacity, list->count + count, sizeof *list->items);
  plumb_read *to = list->items + list->count;
  for (uint32_t i = 0; i < count; i++)
    to[i] = (plumb_read){(base + offsets[i]) << SIZE_BITS | size_bytes, pc, lanes[i]};
  list->count += count;
  return true;
}

void plumb_reads_to_tags(plumb_block_run *br, bool old) {
  plumb_reads *list = &br->race->reads;
  size_t first = old ? 0 : list->old, end = old ? list->old : list->count;
  plumb_touch touch = {
      .br = br, .floor = br->race->floor, .now = old ? br->race->start : list->time};
  for (size_t i = first; i < end; i++) {
    const plumb_read *r = &list->items[i];
    touch.pc = (uint64_t)r->pc << 32;
    bool ok = plumb_race_touch_span(&touch, r->lane, address_of(r), size_of(r));
    assert(ok); /* nothing that they meet was written before */
    (void)ok;
  }
  if (!old) list->in_vain += list->count != 0;
}

/* --- at the end of a block, and of the grid --- */

bool plumb_reads_end(plumb_block_run *br) {
  const plumb_reads *own = &br->race->reads;
  plumb_finished *all = br->grid->finished;
  size_t count = own->count;
  if (!count) return true;
  pthread_mutex_lock(&br->run->lock);
  bool fits = all->read_count + count <= MOST_IN_GRID;
  if (fits) {
    all->reads =
        plumb_grow(all->reads, &all->read_capacity, all->read_count + count, sizeof *all->reads);
    memcpy(all->reads + all->read_count, own->items, count * sizeof *own->items);
    all->read_count += count;
    all->blocks =
        plumb_grow(all->blocks, &all->block_capacity, all->block_count + 1, sizeof *all->blocks);
    all->blocks[all->block_count++] = (struct plumb_reads_block){br->index, all->read_count};
  }
  pthread_mutex_unlock(&br->run->lock);
  return fits;
}

bool plumb_reads_next(const plumb_finished *all, plumb_reads_cursor *at, plumb_interval *out) {
  if (at->item == all->read_count) return false;
  while (all->blocks[at->block].end == at->item) at->block++;
  const plumb_read *r = &all->reads[at->item++];
  *out = (plumb_interval){.address = address_of(r),
                          .block = all->blocks[at->block].index,
                          .size_bytes = size_of(r),
                          .pc = r->pc,
                          .who = (uint16_t)r->lane,
                          .how = PLUMB_TOUCH_READ};
  return true;
}

/* Pages of tags, and the tables that find them (see race.h). */
#include <stdlib.h>

#include "targets/cpu/async.h"

static void *take(size_t count, size_t bytes) {
  void *p = calloc(count, bytes);
  if (!p) abort();
  return p;
}

static plumb_race_page *page_create(bool online) {
  plumb_race_page *p = take(1, sizeof *p);
  p->words = PLUMB_RACE_PAGE_WORDS;
  p->write = take(PLUMB_RACE_PAGE_WORDS, sizeof *p->write);
  p->read = take(PLUMB_RACE_PAGE_WORDS, sizeof *p->read);
  if (online) {
    p->write_block = take(PLUMB_RACE_PAGE_WORDS, sizeof *p->write_block);
    p->read_block = take(PLUMB_RACE_PAGE_WORDS, sizeof *p->read_block);
  }
  return p;
}

void plumb_race_page_empty(plumb_race_page *p) {
  plumb_party_destroy(p->writers, plumb_race_units(p));
  plumb_party_destroy(p->readers, plumb_race_units(p));
  free(p->write);
  free(p->read);
  free(p->write_block);
  free(p->read_block);
}

static void page_destroy(plumb_race_page *p) {
  if (p) plumb_race_page_empty(p);
  free(p);
}

static void *spread(void *words, size_t count, size_t bytes) {
  uint8_t *grown = take(count * 4, bytes);
  for (size_t i = 0; i < count * 4; i++)
    memcpy(grown + i * bytes, (uint8_t *)words + i / 4 * bytes, bytes);
  free(words);
  return grown;
}

void plumb_race_page_by_byte(plumb_race_page *p) {
  const size_t words = p->words;
  if (p->by_byte) return;
  p->write = spread(p->write, words, sizeof *p->write);
  p->read = spread(p->read, words, sizeof *p->read);
  if (p->write_block) {
    p->write_block = spread(p->write_block, words, sizeof *p->write_block);
    p->read_block = spread(p->read_block, words, sizeof *p->read_block);
  }
  plumb_party_spread(&p->writers, words);
  plumb_party_spread(&p->readers, words);
  p->by_byte = true;
}

static size_t slot_of(const plumb_page_table *t, uint64_t key) {
  size_t mask = t->capacity - 1;
  size_t i = (size_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & mask;
  while (t->slots[i] && t->slots[i]->key != key) i = (i + 1) & mask;
  return i;
}

static plumb_race_page *page_of(plumb_page_table *t, uint64_t key, bool online) {
  if ((t->count + 1) * 2 > t->capacity) {
    plumb_page_table old = *t;
    t->capacity = old.capacity ? old.capacity * 2 : 256;
    t->slots = take(t->capacity, sizeof *t->slots);
    for (size_t i = 0; i < old.capacity; i++)
      if (old.slots[i]) t->slots[slot_of(t, old.slots[i]->key)] = old.slots[i];
    free(old.slots);
  }
  size_t i = slot_of(t, key);
  if (!t->slots[i]) {
    /* A used page's tags are older than the block's start: they read as empty. */
    t->slots[i] = t->free_count ? t->free[--t->free_count] : page_create(online);
    t->slots[i]->key = key;
    t->slots[i]->groups = 0;
    t->count++;
  }
  return t->slots[i];
}

void plumb_race_release(plumb_page_table *t) {
  for (size_t i = 0; t->count && i < t->capacity; i++) {
    plumb_race_page *p = t->slots[i];
    if (!p) continue;
    t->slots[i] = NULL;
    if (p->by_byte) { /* back to words next time */
      page_destroy(p);
      continue;
    }
    if (t->free_count == t->free_capacity) {
      t->free_capacity = t->free_capacity ? t->free_capacity * 2 : 64;
      t->free = realloc(t->free, t->free_capacity * sizeof *t->free);
      if (!t->free) abort();
    }
    t->free[t->free_count++] = p;
  }
  t->count = 0;
}

void plumb_page_table_destroy(plumb_page_table *t) {
  for (size_t i = 0; i < t->capacity; i++) page_destroy(t->slots[i]);
  for (size_t i = 0; i < t->free_count; i++) page_destroy(t->free[i]);
  free(t->slots);
  free(t->free);
  *t = (plumb_page_table){0};
}

plumb_race_page *plumb_race_page_find(plumb_block_run *br, uint64_t address) {
  plumb_race *race = br->race;
  uint64_t key = address / PLUMB_RACE_PAGE_BYTES + 1;
  plumb_race_page *p = race->cache[key & 63];
  if (p && p->key == key) return p;
  plumb_online *online = br->grid->online;
  p = page_of(online ? &online->pages : &race->pages, key, online != NULL);
  race->cache[key & 63] = p;
  return p;
}

plumb_race_page *plumb_race_page_at(plumb_block_run *br, uint64_t address, size_t *out_offset,
                                    size_t *out_bytes) {
  unsigned window = plumb_window_of(address);
  if (window == PLUMB_WINDOW_SHARED) address = plumb_race_shared(br, address, &window);
  bool shared = window == PLUMB_WINDOW_SHARED;
  *out_bytes = shared ? br->race->shared.words * 4 : PLUMB_RACE_PAGE_BYTES;
  *out_offset = shared ? (size_t)(address & UINT32_MAX) : (size_t)(address % PLUMB_RACE_PAGE_BYTES);
  return shared ? &br->race->shared : plumb_race_page_find(br, address);
}

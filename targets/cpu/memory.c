/* Allocations and companions in memory (see memory.h). */
#include "targets/cpu/memory.h"

#include <stdlib.h>
#include <string.h>

static uint32_t take_index(plumb_machine *m) {
  uint32_t limit = PLUMB_ALLOCATION_CHUNK * PLUMB_ALLOCATION_CHUNKS;
  if (m->allocation_count < limit) {
    uint32_t index = m->allocation_count;
    uint32_t chunk = index / PLUMB_ALLOCATION_CHUNK;
    if (!m->chunks[chunk]) {
      m->chunks[chunk] = calloc(PLUMB_ALLOCATION_CHUNK, sizeof(plumb_allocation));
      if (!m->chunks[chunk]) return UINT32_MAX;
    }
    return index;
  }
  return m->free_count ? m->free_indexes[--m->free_count] : UINT32_MAX;
}

static bool remember_free(plumb_machine *m, uint32_t index) {
  if (m->free_count == m->free_capacity) {
    size_t capacity = m->free_capacity ? m->free_capacity * 2 : 64;
    uint32_t *grown = realloc(m->free_indexes, capacity * sizeof *grown);
    if (!grown) return false; /* the index is not reused: harmless */
    m->free_indexes = grown;
    m->free_capacity = capacity;
  }
  m->free_indexes[m->free_count++] = index;
  return true;
}

uint64_t plumb_memory_alloc(plumb_machine *m, uint64_t size_bytes, const char *name) {
  uint64_t address = 0;
  pthread_mutex_lock(&m->lock);
  if (size_bytes <= PLUMB_MAX_ALLOCATION_BYTES &&
      size_bytes <= PLUMB_MAX_MACHINE_BYTES - m->total_bytes) {
    uint32_t index = take_index(m);
    uint8_t *data = calloc(1, size_bytes + 64); /* 64: vector tails may read past the end */
    uint8_t *state = calloc(1, size_bytes + 64);
    if (index != UINT32_MAX && data && state) {
      plumb_allocation *a = plumb_allocation_at(m, index);
      *a = (plumb_allocation){
          .data = data, .state = state, .size_bytes = size_bytes, .name = name, .live = true};
      if (index == m->allocation_count)
        __atomic_store_n(&m->allocation_count, index + 1, __ATOMIC_RELEASE);
      m->total_bytes += size_bytes;
      address = ((uint64_t)index * 2 + 1) << 32;
    } else {
      free(data);
      free(state);
    }
  }
  pthread_mutex_unlock(&m->lock);
  return address;
}

bool plumb_memory_free(plumb_machine *m, uint64_t address) {
  pthread_mutex_lock(&m->lock);
  plumb_allocation *a = plumb_allocation_of(m, address);
  bool ok = a && (address & UINT32_MAX) == 0 && !a->owned_by_program;
  if (ok) {
    m->total_bytes -= a->size_bytes;
    free(a->data);
    free(a->state);
    a->data = a->state = NULL;
    a->live = false;
    remember_free(m, (uint32_t)(address >> 33));
    if (m->companions.count) plumb_companion_map_clear(&m->companions, address, a->size_bytes);
  }
  pthread_mutex_unlock(&m->lock);
  return ok;
}

const plumb_allocation *plumb_memory_nearest(const plumb_machine *m, uint64_t address,
                                             int64_t *out_offset) {
  if (plumb_window_of(address) != PLUMB_WINDOW_GLOBAL) return NULL;
  uint64_t id = address >> 32;
  uint64_t index = id >> 1;
  /* An even id is the guard window after the allocation below it, or before the one above. */
  bool before = !(id & 1) && (address & UINT32_MAX) >= 1ull << 31;
  if (!(id & 1) && !before) {
    if (index == 0) return NULL;
    index--;
  }
  if (index >= m->allocation_count) return NULL;
  const plumb_allocation *a = plumb_allocation_at(m, (uint32_t)index);
  *out_offset = (int64_t)(address - ((index * 2 + 1) << 32));
  return a->name || a->size_bytes ? a : NULL;
}

/* --- companions --- */

static size_t companion_slot(const plumb_companion_map *map, uint64_t address) {
  size_t mask = map->capacity - 1;
  size_t i = (size_t)((address * 0x9e3779b97f4a7c15ull) >> 20) & mask;
  while (map->entries[i].address && map->entries[i].address != address) i = (i + 1) & mask;
  return i;
}

static void companion_grow(plumb_companion_map *map) {
  plumb_companion_map grown = {.capacity = map->capacity ? map->capacity * 2 : 1024};
  grown.entries = calloc(grown.capacity, sizeof *grown.entries);
  if (!grown.entries) abort(); /* as an arena: exhausted memory ends the process */
  for (size_t i = 0; i < map->capacity; i++) {
    if (!map->entries[i].address || !map->entries[i].size_bytes) continue;
    grown.entries[companion_slot(&grown, map->entries[i].address)] = map->entries[i];
    grown.count++;
  }
  free(map->entries);
  *map = grown;
}

void plumb_companion_map_put(plumb_companion_map *map, uint64_t address, uint32_t size_bytes,
                             const plumb_companion *value) {
  if ((map->count + 1) * 2 > map->capacity) companion_grow(map);
  plumb_companion_entry *e = &map->entries[companion_slot(map, address)];
  if (!e->address) map->count++;
  *e = (plumb_companion_entry){address, size_bytes, *value};
}

const plumb_companion_entry *plumb_companion_map_get(const plumb_companion_map *map,
                                                     uint64_t address) {
  if (!map->count) return NULL;
  const plumb_companion_entry *e = &map->entries[companion_slot(map, address)];
  return e->address && e->size_bytes ? e : NULL;
}

void plumb_companion_map_clear(plumb_companion_map *map, uint64_t address, uint64_t size_bytes) {
  if (!map->count) return;
  if (size_bytes > map->capacity) {
    for (size_t i = 0; i < map->capacity; i++)
      if (map->entries[i].address - address < size_bytes) map->entries[i].size_bytes = 0;
    return;
  }
  for (uint64_t a = address; a < address + size_bytes; a++) {
    plumb_companion_entry *e = &map->entries[companion_slot(map, a)];
    if (e->address) e->size_bytes = 0;
  }
}

void plumb_companion_map_destroy(plumb_companion_map *map) {
  free(map->entries);
  *map = (plumb_companion_map){0};
}

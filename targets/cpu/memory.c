/* Allocations and companions in memory (see memory.h). */
#define _GNU_SOURCE
#include "targets/cpu/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool make_chunk(plumb_machine *m, uint32_t index) {
  plumb_allocation **chunk = &m->chunks[index / PLUMB_ALLOCATION_CHUNK];
  if (!*chunk) *chunk = calloc(PLUMB_ALLOCATION_CHUNK, sizeof **chunk);
  return *chunk != NULL;
}

static uint32_t take_index(plumb_machine *m) {
  uint32_t limit = PLUMB_ALLOCATION_CHUNK * PLUMB_ALLOCATION_CHUNKS;
  if (m->allocation_count < limit)
    return make_chunk(m, m->allocation_count) ? m->allocation_count : UINT32_MAX;
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

/* --- the state map of memory that the host writes unseen --- */

#define ONES_BYTES (1ull << 32)
#define ONES_PIECE_BYTES (16ull << 20)
static uint8_t *ones;
static pthread_once_t ones_once = PTHREAD_ONCE_INIT;

/* One piece of PLUMB_BYTE_INITIALISED, mapped again and again: as long a map as the largest
 * allocation needs, for all of them, since nothing else is ever written there. */
static void make_ones(void) {
  int piece = memfd_create("plumb-ones", MFD_CLOEXEC);
  if (piece < 0) return;
  uint8_t *all = MAP_FAILED, *one = MAP_FAILED;
  bool ok = ftruncate(piece, (off_t)ONES_PIECE_BYTES) == 0;
  if (ok) one = mmap(NULL, ONES_PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, piece, 0);
  if (one != MAP_FAILED) memset(one, PLUMB_BYTE_INITIALISED, ONES_PIECE_BYTES);
  if (one != MAP_FAILED)
    all = mmap(NULL, ONES_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ok = all != MAP_FAILED;
  for (uint64_t at = 0; ok && at < ONES_BYTES; at += ONES_PIECE_BYTES)
    ok = mmap(all + at, ONES_PIECE_BYTES, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, piece, 0) != MAP_FAILED;
  if (one != MAP_FAILED) munmap(one, ONES_PIECE_BYTES);
  close(piece);
  if (ok) ones = all;
}

static uint8_t *create_state(plumb_backing backing, uint64_t size_bytes) {
  if (backing == PLUMB_BACKING_OWN) return calloc(1, size_bytes + 64);
  pthread_once(&ones_once, make_ones);
  return ones;
}

static void destroy_state(plumb_backing backing, uint8_t *state) {
  if (backing == PLUMB_BACKING_OWN) free(state);
}

/* Takes an index for bytes at `data`; both arrays are released where it fails. */
static uint64_t place_bytes(plumb_machine *m, uint8_t *data, plumb_backing backing,
                            uint64_t size_bytes, const char *name) {
  uint32_t index = take_index(m);
  uint8_t *state = create_state(backing, size_bytes);
  if (index == UINT32_MAX || !data || !state) {
    destroy_state(backing, state);
    if (backing == PLUMB_BACKING_OWN) free(data);
    return 0;
  }
  *plumb_allocation_at(m, index) = (plumb_allocation){.data = data,
                                                      .state = state,
                                                      .size_bytes = size_bytes,
                                                      .name = name,
                                                      .backing = backing,
                                                      .live = true};
  if (index == m->allocation_count)
    __atomic_store_n(&m->allocation_count, index + 1, __ATOMIC_RELEASE);
  m->total_bytes += size_bytes;
  return ((uint64_t)index * 2 + 1) << 32;
}

static bool fits(const plumb_machine *m, uint64_t size_bytes) {
  return size_bytes <= PLUMB_MAX_ALLOCATION_BYTES &&
         size_bytes <= PLUMB_MAX_MACHINE_BYTES - m->total_bytes;
}

uint64_t plumb_memory_alloc(plumb_machine *m, uint64_t size_bytes, const char *name) {
  uint64_t address = 0;
  pthread_mutex_lock(&m->lock);
  if (fits(m, size_bytes)) {
    uint8_t *data = calloc(1, size_bytes + 64); /* 64: vector tails may read past the end */
    address = place_bytes(m, data, PLUMB_BACKING_OWN, size_bytes, name);
  }
  pthread_mutex_unlock(&m->lock);
  return address;
}

uint64_t plumb_memory_borrow(plumb_machine *m, void *data, uint64_t size_bytes, const char *name) {
  uint64_t address = 0;
  pthread_mutex_lock(&m->lock);
  if (fits(m, size_bytes)) {
    address = place_bytes(m, data, PLUMB_BACKING_CALLER, size_bytes, name);
    if (address) plumb_allocation_of(m, address)->all_initialised = true;
  }
  pthread_mutex_unlock(&m->lock);
  return address;
}

/* --- twins: one address for host and device --- */

void plumb_memory_separate(plumb_machine *m) {
  if (m->separate || m->allocation_count) return;
  for (uint32_t i = 0; i < PLUMB_TWIN_INDEXES; i += PLUMB_ALLOCATION_CHUNK)
    if (!make_chunk(m, i)) abort(); /* as an arena: exhausted memory ends the process */
  m->separate = true;
  m->allocation_count = PLUMB_TWIN_INDEXES;
}

static uint64_t twin_bytes(uint64_t size_bytes) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return (size_bytes + 64 + page - 1) / page * page; /* 64: as above */
}

/* Maps `bytes` at the address of a free index. The host may have something there: the
 * next index is tried. */
static uint8_t *map_twin(plumb_machine *m, uint64_t bytes, uint32_t *out_index) {
  for (uint32_t tries = 0; tries < PLUMB_TWIN_INDEXES; tries++) {
    uint32_t index = m->twin_index++ % PLUMB_TWIN_INDEXES;
    if (plumb_allocation_at(m, index)->live) continue;
    void *wanted = (void *)(uintptr_t)(((uint64_t)index * 2 + 1) << 32);
    void *got = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) continue;
    if (got != wanted) { /* a kernel older than 4.17 takes the address for a hint */
      munmap(got, bytes);
      continue;
    }
    *out_index = index;
    return got;
  }
  return NULL;
}

uint64_t plumb_memory_alloc_twin(plumb_machine *m, uint64_t size_bytes, const char *name) {
  uint64_t address = 0;
  pthread_mutex_lock(&m->lock);
  uint32_t index = 0;
  uint8_t *state = NULL, *data = NULL;
  if (m->separate && fits(m, size_bytes)) {
    state = create_state(PLUMB_BACKING_TWIN, size_bytes);
    if (state) data = map_twin(m, twin_bytes(size_bytes), &index);
  }
  if (data) {
    *plumb_allocation_at(m, index) = (plumb_allocation){.data = data,
                                                        .state = state,
                                                        .size_bytes = size_bytes,
                                                        .name = name,
                                                        .backing = PLUMB_BACKING_TWIN,
                                                        .live = true,
                                                        .all_initialised = true};
    m->total_bytes += size_bytes;
    address = ((uint64_t)index * 2 + 1) << 32;
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
    if (a->backing == PLUMB_BACKING_OWN) free(a->data);
    if (a->backing == PLUMB_BACKING_TWIN) munmap(a->data, twin_bytes(a->size_bytes));
    destroy_state(a->backing, a->state);
    a->data = a->state = NULL;
    a->live = false;
    if (a->backing != PLUMB_BACKING_TWIN) remember_free(m, (uint32_t)(address >> 33));
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
  plumb_companion_map grown = {.capacity = map->capacity ? map->capacity * 2 : 1024,
                               .sizes = map->sizes};
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
  map->sizes |= size_bytes;
}

const plumb_companion_entry *plumb_companion_map_get(const plumb_companion_map *map,
                                                     uint64_t address) {
  if (!map->count) return NULL;
  const plumb_companion_entry *e = &map->entries[companion_slot(map, address)];
  return e->address && e->size_bytes ? e : NULL;
}

/* Elements lie at multiples of their size, 16 bytes at most. */
bool plumb_companion_map_meets(const plumb_companion_map *map, uint64_t address,
                               uint64_t size_bytes) {
  if (!map->count) return false;
  for (uint64_t wider = 2; wider <= 16; wider *= 2) {
    uint64_t start = address & ~(wider - 1);
    const plumb_companion_entry *e = start < address ? plumb_companion_map_get(map, start) : NULL;
    if (e && start + e->size_bytes > address) return true;
  }
  for (uint64_t a = address; a < address + size_bytes; a++)
    if (plumb_companion_map_get(map, a)) return true;
  return false;
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

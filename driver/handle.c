/* The table of handles: open addressing over addresses. */
#include <stdlib.h>

#include "driver/driver.h"

typedef struct slot {
  const void *key;  /* NULL: empty */
  driver_kind kind; /* NONE: dropped */
  void *object;
} slot;

static slot *slots;
static size_t used, capacity;

static slot *find_slot(slot *in, size_t size, const void *key) {
  size_t i = (size_t)(((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15ull) >> 20) & (size - 1);
  while (in[i].key && in[i].key != key) i = (i + 1) & (size - 1);
  return &in[i];
}

static void grow(void) {
  size_t size = capacity ? capacity * 2 : 256;
  slot *grown = calloc(size, sizeof *grown);
  if (!grown) abort(); /* as an arena: exhausted memory ends the process */
  used = 0;
  for (size_t i = 0; i < capacity; i++)
    if (slots[i].kind != DRIVER_KIND_NONE) {
      *find_slot(grown, size, slots[i].key) = slots[i];
      used++;
    }
  free(slots);
  slots = grown;
  capacity = size;
}

void driver_handle_put(const void *key, driver_kind kind, void *object) {
  if ((used + 1) * 2 > capacity) grow();
  slot *s = find_slot(slots, capacity, key);
  if (!s->key) used++;
  *s = (slot){key, kind, object};
}

void driver_handle_drop(const void *key) {
  if (!capacity || !key) return;
  slot *s = find_slot(slots, capacity, key);
  if (s->key) s->kind = DRIVER_KIND_NONE;
}

void *driver_handle_get(const void *key, driver_kind kind) {
  if (!capacity || !key) return NULL;
  const slot *s = find_slot(slots, capacity, key);
  return s->key && s->kind == kind ? s->object : NULL;
}

void *driver_handle_find(driver_kind kind, bool (*visit)(void *, void *), void *user) {
  for (size_t i = 0; i < capacity; i++)
    if (slots[i].kind == kind && visit(slots[i].object, user)) return slots[i].object;
  return NULL;
}

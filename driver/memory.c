/* Device, managed and pinned memory; copies and fills between it and the host's. */
#include "driver/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number_made;

int driver_memory_alloc(driver_device *d, driver_memory kind, uint64_t size_bytes, const char *call,
                        const void *site, uint64_t *out_address) {
  char name[320];
  *out_address = 0;
  if (!size_bytes) return DRIVER_OK;
  if (size_bytes > driver_memory_total(d)) return DRIVER_OUT_OF_MEMORY;
  driver_memory_describe(call, ++number_made, size_bytes, site, name, sizeof name);
  if (kind == DRIVER_DEVICE)
    *out_address = plumb_machine_alloc(d->machine, size_bytes, 256, name);
  else
    *out_address = plumb_machine_alloc_twin(d->machine, size_bytes, name);
  if (!*out_address) return DRIVER_OUT_OF_MEMORY;
  if (d->trust) plumb_machine_trust(d->machine, *out_address);
  if (kind == DRIVER_PINNED)
    driver_handle_put((const void *)(uintptr_t)*out_address, DRIVER_KIND_HOST_RANGE,
                      (void *)(uintptr_t)*out_address);
  return DRIVER_OK;
}

int driver_memory_free(driver_device *d, uint64_t address) {
  plumb_extent e;
  if (!address || driver_handle_get((const void *)(uintptr_t)address, DRIVER_KIND_GRAPH_MEMORY))
    return DRIVER_OK;
  if (!plumb_machine_find(d->machine, address, &e) || e.base != address || e.owned_by_program ||
      e.borrowed)
    return DRIVER_INVALID_VALUE;
  driver_handle_drop((const void *)(uintptr_t)address);
  return plumb_machine_free(d->machine, address, NULL) == PLUMB_OK ? DRIVER_OK
                                                                   : DRIVER_INVALID_VALUE;
}

void driver_memory_keep(uint64_t address) {
  void *key = (void *)(uintptr_t)address;
  if (address) driver_handle_put(key, DRIVER_KIND_GRAPH_MEMORY, key);
}

driver_memory driver_memory_kind(driver_device *d, const plumb_extent *e) {
  (void)d;
  if (!e->host) return DRIVER_DEVICE;
  if (e->borrowed || driver_handle_get((const void *)(uintptr_t)e->base, DRIVER_KIND_HOST_RANGE))
    return DRIVER_PINNED;
  return DRIVER_MANAGED;
}

/* --- copies --- */

static bool is_device(driver_device *d, uint64_t address) {
  plumb_extent e;
  return plumb_machine_find(d->machine, address, &e);
}

static int copy_row(driver_device *d, uint64_t to, bool to_device, uint64_t from, bool from_device,
                    size_t bytes) {
  plumb_status status = PLUMB_OK;
  if (to_device && from_device)
    status = plumb_machine_copy(d->machine, to, from, bytes, NULL);
  else if (to_device)
    status = plumb_machine_write(d->machine, to, (const void *)(uintptr_t)from, bytes, NULL);
  else if (from_device)
    status = plumb_machine_read(d->machine, from, (void *)(uintptr_t)to, NULL, bytes, NULL);
  else
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return status == PLUMB_OK ? DRIVER_OK : DRIVER_INVALID_VALUE;
}

int driver_copy_run(driver_device *d, const driver_copy *c) {
  if (!c->width || !c->height || !c->depth) return DRIVER_OK;
  if (!c->to || !c->from) return DRIVER_INVALID_VALUE;
  if (c->height > 1 && (c->to_pitch < c->width || c->from_pitch < c->width))
    return DRIVER_INVALID_PITCH;
  bool to_device = is_device(d, c->to), from_device = is_device(d, c->from);
  /* Rows without gaps are one row. */
  if (c->depth == 1 && (c->height == 1 || (c->to_pitch == c->width && c->from_pitch == c->width)))
    return copy_row(d, c->to, to_device, c->from, from_device, c->width * c->height);
  for (size_t z = 0; z < c->depth; z++)
    for (size_t y = 0; y < c->height; y++)
      DRIVER_TRY(copy_row(d, c->to + z * c->to_slice + y * c->to_pitch, to_device,
                          c->from + z * c->from_slice + y * c->from_pitch, from_device, c->width));
  return DRIVER_OK;
}

/* Memory that the device alone reaches. */
static bool is_only_device(driver_device *d, uint64_t address) {
  plumb_extent e;
  return plumb_machine_find(d->machine, address, &e) && !e.host;
}

int driver_copy_check(driver_device *d, const driver_copy *c, int kind) {
  enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT };
  if (kind < HOST_TO_HOST || kind > DEFAULT) return DRIVER_INVALID_DIRECTION;
  if (kind == DEFAULT || !c->width || !c->height || !c->depth) return DRIVER_OK;
  bool to_device = kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE;
  bool from_device = kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE;
  if (to_device ? !is_device(d, c->to) : is_only_device(d, c->to)) return DRIVER_INVALID_VALUE;
  if (from_device ? !is_device(d, c->from) : is_only_device(d, c->from))
    return DRIVER_INVALID_VALUE;
  return DRIVER_OK;
}

static int fill_row(driver_device *d, uint64_t to, const driver_fill *f, size_t count) {
  return plumb_machine_fill(d->machine, to, f->value, f->element_bytes, count, NULL) == PLUMB_OK
             ? DRIVER_OK
             : DRIVER_INVALID_VALUE;
}

int driver_fill_run(driver_device *d, const driver_fill *f) {
  if (!f->width || !f->height || !f->depth) return DRIVER_OK;
  if (f->to % f->element_bytes) return DRIVER_INVALID_VALUE;
  if (f->depth == 1 && (f->height == 1 || f->pitch == f->width * f->element_bytes))
    return fill_row(d, f->to, f, f->width * f->height);
  for (size_t z = 0; z < f->depth; z++)
    for (size_t y = 0; y < f->height; y++)
      DRIVER_TRY(fill_row(d, f->to + z * f->slice + y * f->pitch, f, f->width));
  return DRIVER_OK;
}

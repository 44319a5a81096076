/* Runtime API: stream-ordered allocation. Streams are never behind, so an allocation is
 * made, and freed, when it is asked for; a pool counts what it gave. */
#include <stdlib.h>
#include <string.h>

#include "driver/cudart.h"

#define SITE __builtin_return_address(0)

typedef struct pool {
  uint64_t threshold, used, most;
  int reuse[3];
} pool;

static pool default_pool;
static pool *current_pool = &default_pool;

static pool *pool_of(void *handle) {
  if (handle == &default_pool) return &default_pool;
  return driver_handle_get(handle, DRIVER_KIND_POOL);
}

static int allocate(driver_device *d, pool *p, void **out, size_t bytes, void *stream,
                    const char *call, const void *site) {
  uint64_t address;
  if (!p || !out) return cudart_done(DRIVER_INVALID_VALUE);
  driver_stream *s = driver_stream_of(stream);
  if (!s) return cudart_done(DRIVER_INVALID_HANDLE);
  int error = driver_memory_alloc(d, DRIVER_DEVICE, bytes, call, site, &address);
  if (error) return cudart_done(error);
  *out = (void *)(uintptr_t)address;
  p->used += bytes;
  if (p->used > p->most) p->most = p->used;
  if (!s->capture) return DRIVER_OK;
  driver_memory_keep(address);
  driver_operation op = {.kind = DRIVER_ALLOC, .address = address};
  return cudart_done(driver_submit(d, s, &op));
}

EXPORT int cudaMallocAsync(void **out, size_t bytes, void *stream) {
  RUNTIME_CALL;
  return allocate(device, current_pool, out, bytes, stream, "cudaMallocAsync", SITE);
}
EXPORT int cudaMallocFromPoolAsync(void **out, size_t bytes, void *handle, void *stream) {
  RUNTIME_CALL;
  return allocate(device, pool_of(handle), out, bytes, stream, "cudaMallocFromPoolAsync", SITE);
}

EXPORT int cudaFreeAsync(void *pointer, void *stream) {
  RUNTIME_CALL;
  driver_stream *s = driver_stream_of(stream);
  plumb_extent e;
  if (!s) return cudart_done(DRIVER_INVALID_HANDLE);
  if (s->capture) { /* the graph may run again: its memory stays */
    driver_operation op = {.kind = DRIVER_FREE, .address = (uint64_t)(uintptr_t)pointer};
    return cudart_done(driver_submit(device, s, &op));
  }
  if (plumb_machine_find(device->machine, (uint64_t)(uintptr_t)pointer, &e))
    current_pool->used -= e.size_bytes < current_pool->used ? e.size_bytes : current_pool->used;
  return cudart_done(driver_memory_free(device, (uint64_t)(uintptr_t)pointer));
}

EXPORT int cudaDeviceGetDefaultMemPool(void **out, int ordinal) {
  RUNTIME_CALL;
  if (!out) return cudart_done(DRIVER_INVALID_VALUE);
  *out = &default_pool;
  return cudart_done(ordinal ? DRIVER_INVALID_DEVICE : DRIVER_OK);
}
EXPORT int cudaDeviceGetMemPool(void **out, int ordinal) {
  RUNTIME_CALL;
  if (!out) return cudart_done(DRIVER_INVALID_VALUE);
  *out = current_pool;
  return cudart_done(ordinal ? DRIVER_INVALID_DEVICE : DRIVER_OK);
}
EXPORT int cudaDeviceSetMemPool(int ordinal, void *handle) {
  RUNTIME_CALL;
  pool *p = pool_of(handle);
  if (ordinal || !p) return cudart_done(ordinal ? DRIVER_INVALID_DEVICE : DRIVER_INVALID_VALUE);
  current_pool = p;
  return DRIVER_OK;
}
EXPORT int cudaMemPoolCreate(void **out, const abi_pool_props *props) {
  RUNTIME_CALL;
  if (!out || !props) return cudart_done(DRIVER_INVALID_VALUE);
  if (props->handle_types) return cudart_done(DRIVER_NOT_SUPPORTED); /* for other processes */
  pool *p = calloc(1, sizeof *p);
  if (!p) return cudart_done(DRIVER_OUT_OF_MEMORY);
  driver_handle_put(p, DRIVER_KIND_POOL, p);
  *out = p;
  return DRIVER_OK;
}
EXPORT int cudaMemPoolDestroy(void *handle) {
  RUNTIME_CALL;
  pool *p = driver_handle_get(handle, DRIVER_KIND_POOL);
  if (!p) return cudart_done(DRIVER_INVALID_VALUE);
  if (current_pool == p) current_pool = &default_pool;
  driver_handle_drop(p);
  free(p);
  return DRIVER_OK;
}
EXPORT int cudaMemPoolTrimTo(void *handle, size_t keep) {
  RUNTIME_CALL;
  (void)keep;
  return cudart_done(pool_of(handle) ? DRIVER_OK : DRIVER_INVALID_VALUE);
}

/* cudaMemPoolAttr: 1 to 3 reuse rules (int), 4 threshold, 5 and 6 reserved bytes now and at
 * most, 7 and 8 used bytes now and at most (cuuint64_t). */
EXPORT int cudaMemPoolSetAttribute(void *handle, int attribute, void *value) {
  RUNTIME_CALL;
  pool *p = pool_of(handle);
  if (!p || !value || attribute < 1 || attribute > 8) return cudart_done(DRIVER_INVALID_VALUE);
  if (attribute <= 3) memcpy(&p->reuse[attribute - 1], value, sizeof(int));
  if (attribute == 4) memcpy(&p->threshold, value, sizeof p->threshold);
  if (attribute == 6 || attribute == 8) p->most = p->used;
  return DRIVER_OK;
}
EXPORT int cudaMemPoolGetAttribute(void *handle, int attribute, void *value) {
  RUNTIME_CALL;
  pool *p = pool_of(handle);
  if (!p || !value || attribute < 1 || attribute > 8) return cudart_done(DRIVER_INVALID_VALUE);
  uint64_t number = attribute == 4 ? p->threshold : attribute % 2 == 1 ? p->used : p->most;
  if (attribute <= 3)
    memcpy(value, &p->reuse[attribute - 1], sizeof(int));
  else
    memcpy(value, &number, sizeof number);
  return DRIVER_OK;
}
EXPORT int cudaMemPoolSetAccess(void *handle, const abi_access_desc *list, size_t count) {
  RUNTIME_CALL;
  if (!pool_of(handle)) return cudart_done(DRIVER_INVALID_VALUE);
  for (size_t i = 0; i < count; i++)
    if (list[i].location.id) return cudart_done(DRIVER_INVALID_DEVICE);
  return DRIVER_OK;
}
EXPORT int cudaMemPoolGetAccess(int *flags, void *handle, abi_location *location) {
  RUNTIME_CALL;
  if (!flags || !location || !pool_of(handle)) return cudart_done(DRIVER_INVALID_VALUE);
  *flags = location->id == 0 ? 3 : 0; /* read and write */
  return DRIVER_OK;
}

PER_THREAD(cudaMallocAsync, _ptsz);
PER_THREAD(cudaMallocFromPoolAsync, _ptsz);
PER_THREAD(cudaFreeAsync, _ptsz);

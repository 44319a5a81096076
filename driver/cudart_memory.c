/* Runtime API: memory. */
#include <stdlib.h>
#include <string.h>

#include "driver/cudart.h"

#define SITE __builtin_return_address(0)
#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))
#define PITCH_ALIGN 512

static int allocate(driver_device *d, driver_memory kind, void **out, size_t bytes,
                    const char *call, const void *site) {
  uint64_t address;
  if (!out) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_memory_alloc(d, kind, bytes, call, site, &address);
  if (!error) *out = (void *)(uintptr_t)address;
  return cudart_done(error);
}

EXPORT int cudaMalloc(void **out, size_t bytes) {
  RUNTIME_CALL;
  return allocate(device, DRIVER_DEVICE, out, bytes, "cudaMalloc", SITE);
}
EXPORT int cudaMallocHost(void **out, size_t bytes) {
  RUNTIME_CALL;
  return allocate(device, DRIVER_PINNED, out, bytes, "cudaMallocHost", SITE);
}
EXPORT int cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
  RUNTIME_CALL;
  (void)flags;
  return allocate(device, DRIVER_PINNED, out, bytes, "cudaHostAlloc", SITE);
}
EXPORT int cudaMallocManaged(void **out, size_t bytes, unsigned flags) {
  RUNTIME_CALL;
  if (flags != 1 && flags != 2) return cudart_done(DRIVER_INVALID_VALUE);
  if (!bytes) return cudart_done(DRIVER_INVALID_VALUE);
  return allocate(device, DRIVER_MANAGED, out, bytes, "cudaMallocManaged", SITE);
}
EXPORT int cudaFree(void *pointer) {
  RUNTIME_CALL;
  return cudart_done(driver_memory_free(device, ADDRESS(pointer)));
}
EXPORT int cudaFreeHost(void *pointer) {
  RUNTIME_CALL;
  return cudart_done(driver_memory_free(device, ADDRESS(pointer)));
}

static size_t pitch_of(size_t width) {
  return (width + PITCH_ALIGN - 1) / PITCH_ALIGN * PITCH_ALIGN;
}

EXPORT int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
  RUNTIME_CALL;
  size_t bytes;
  if (!pitch || width > SIZE_MAX / 2 || __builtin_mul_overflow(pitch_of(width), height, &bytes))
    return cudart_done(DRIVER_INVALID_VALUE);
  *pitch = pitch_of(width);
  return allocate(device, DRIVER_DEVICE, out, bytes, "cudaMallocPitch", SITE);
}

EXPORT int cudaMalloc3D(abi_pitched *out, abi_extent extent) {
  RUNTIME_CALL;
  size_t bytes;
  if (!out || extent.width > SIZE_MAX / 2 ||
      __builtin_mul_overflow(pitch_of(extent.width), extent.height, &bytes) ||
      __builtin_mul_overflow(bytes, extent.depth, &bytes))
    return cudart_done(DRIVER_INVALID_VALUE);
  *out =
      (abi_pitched){.pitch = pitch_of(extent.width), .xsize = extent.width, .ysize = extent.height};
  return allocate(device, DRIVER_DEVICE, &out->ptr, bytes, "cudaMalloc3D", SITE);
}

EXPORT int cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  RUNTIME_CALL;
  if (!free_bytes || !total) return cudart_done(DRIVER_INVALID_VALUE);
  *total = driver_memory_total(device);
  uint64_t used = plumb_machine_bytes(device->machine);
  *free_bytes = used < *total ? *total - used : 0;
  return DRIVER_OK;
}

/* --- the host's memory --- */

EXPORT int cudaHostRegister(void *pointer, size_t bytes, unsigned flags) {
  RUNTIME_CALL;
  (void)flags;
  plumb_extent e;
  if (!pointer || !bytes) return cudart_done(DRIVER_INVALID_VALUE);
  if (driver_handle_get(pointer, DRIVER_KIND_HOST_RANGE) ||
      plumb_machine_find(device->machine, ADDRESS(pointer), &e))
    return cudart_done(DRIVER_ALREADY_REGISTERED);
  uint64_t address = plumb_machine_borrow(device->machine, pointer, bytes, "cudaHostRegister");
  if (!address) return cudart_done(DRIVER_OUT_OF_MEMORY);
  driver_handle_put(pointer, DRIVER_KIND_HOST_RANGE, (void *)(uintptr_t)address);
  return DRIVER_OK;
}

EXPORT int cudaHostUnregister(void *pointer) {
  RUNTIME_CALL;
  void *address = driver_handle_get(pointer, DRIVER_KIND_HOST_RANGE);
  if (!address || address == pointer) return cudart_done(DRIVER_NOT_REGISTERED);
  driver_handle_drop(pointer);
  plumb_machine_free(device->machine, ADDRESS(address), NULL);
  return DRIVER_OK;
}

EXPORT int cudaHostGetDevicePointer(void **out, void *pointer, unsigned flags) {
  RUNTIME_CALL;
  plumb_extent e;
  if (!out || flags) return cudart_done(DRIVER_INVALID_VALUE);
  void *address = driver_handle_get(pointer, DRIVER_KIND_HOST_RANGE);
  if (!address && plumb_machine_find(device->machine, ADDRESS(pointer), &e) && e.host)
    address = pointer;
  *out = address;
  return cudart_done(address ? DRIVER_OK : DRIVER_INVALID_VALUE);
}

EXPORT int cudaHostGetFlags(unsigned *flags, void *pointer) {
  RUNTIME_CALL;
  if (!flags || !driver_handle_get(pointer, DRIVER_KIND_HOST_RANGE))
    return cudart_done(DRIVER_INVALID_VALUE);
  *flags = 2; /* mapped */
  return DRIVER_OK;
}

EXPORT int cudaPointerGetAttributes(abi_pointer_attributes *out, const void *pointer) {
  RUNTIME_CALL;
  plumb_extent e;
  if (!out) return cudart_done(DRIVER_INVALID_VALUE);
  *out = (abi_pointer_attributes){.device = -2};
  void *same = (void *)(uintptr_t)pointer;
  void *lent = driver_handle_get(pointer, DRIVER_KIND_HOST_RANGE);
  if (plumb_machine_find(device->machine, ADDRESS(pointer), &e)) {
    static const int types[] = {[DRIVER_DEVICE] = 2, [DRIVER_MANAGED] = 3, [DRIVER_PINNED] = 1};
    out->type = types[driver_memory_kind(device, &e)];
    out->device = 0;
    out->device_pointer = same;
    if (e.host) out->host_pointer = (char *)e.host + (ADDRESS(pointer) - e.base);
  } else if (lent) {
    *out = (abi_pointer_attributes){1, 0, lent, same, {0}};
  }
  return DRIVER_OK;
}

/* --- copies --- */

static int copy(driver_device *d, driver_copy c, int kind, void *stream) {
  int error = driver_copy_check(d, &c, kind);
  if (error) return cudart_done(error);
  driver_operation op = {.kind = DRIVER_COPY, .copy = c};
  return cudart_done(driver_submit(d, driver_stream_of(stream), &op));
}

EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  RUNTIME_CALL;
  return copy(device, driver_copy_linear(ADDRESS(to), ADDRESS(from), bytes), kind, stream);
}
EXPORT int cudaMemcpy(void *to, const void *from, size_t bytes, int kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, NULL);
}
EXPORT int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                               size_t bytes, void *stream) {
  if (to_device || from_device) return cudart_done(DRIVER_INVALID_DEVICE);
  return cudaMemcpyAsync(to, from, bytes, 3, stream);
}
EXPORT int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                          size_t bytes) {
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, NULL);
}

EXPORT int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, int kind, void *stream) {
  RUNTIME_CALL;
  if (width > to_pitch || width > from_pitch) return cudart_done(DRIVER_INVALID_PITCH);
  driver_copy c = {ADDRESS(to), ADDRESS(from), to_pitch, 0, from_pitch, 0, width, height, 1};
  return copy(device, c, kind, stream);
}
EXPORT int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                        size_t width, size_t height, int kind) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, NULL);
}

static uint64_t start_of(const abi_pitched *p, const abi_pos *pos) {
  return ADDRESS(p->ptr) + pos->z * p->pitch * p->ysize + pos->y * p->pitch + pos->x;
}

EXPORT int cudaMemcpy3DAsync(const abi_memcpy3d *p, void *stream) {
  RUNTIME_CALL;
  if (!p) return cudart_done(DRIVER_INVALID_VALUE);
  if (p->src_array || p->dst_array) return cudart_done(DRIVER_NOT_SUPPORTED);
  driver_copy c = {start_of(&p->dst, &p->dst_pos),
                   start_of(&p->src, &p->src_pos),
                   p->dst.pitch,
                   p->dst.pitch * p->dst.ysize,
                   p->src.pitch,
                   p->src.pitch * p->src.ysize,
                   p->extent.width,
                   p->extent.height,
                   p->extent.depth};
  return copy(device, c, p->kind, stream);
}
EXPORT int cudaMemcpy3D(const abi_memcpy3d *p) {
  return cudaMemcpy3DAsync(p, NULL);
}

/* --- fills --- */

static int fill(driver_device *d, driver_fill f, void *stream) {
  driver_operation op = {.kind = DRIVER_FILL, .fill = f};
  return cudart_done(driver_submit(d, driver_stream_of(stream), &op));
}

EXPORT int cudaMemset3DAsync(abi_pitched to, int value, abi_extent extent, void *stream) {
  RUNTIME_CALL;
  driver_fill f = {ADDRESS(to.ptr), to.pitch,      to.pitch * to.ysize, (uint32_t)value & 0xff, 1,
                   extent.width,    extent.height, extent.depth};
  return fill(device, f, stream);
}
EXPORT int cudaMemset3D(abi_pitched to, int value, abi_extent extent) {
  return cudaMemset3DAsync(to, value, extent, NULL);
}
EXPORT int cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                             void *stream) {
  RUNTIME_CALL;
  driver_fill f = {ADDRESS(to), pitch, 0, (uint32_t)value & 0xff, 1, width, height, 1};
  return fill(device, f, stream);
}
EXPORT int cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(to, pitch, value, width, height, NULL);
}
EXPORT int cudaMemsetAsync(void *to, int value, size_t bytes, void *stream) {
  return cudaMemset2DAsync(to, bytes, value, bytes, 1, stream);
}
EXPORT int cudaMemset(void *to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, NULL);
}

/* --- symbols --- */

EXPORT int cudaGetSymbolAddress(void **out, const void *symbol) {
  RUNTIME_CALL;
  uint64_t address, size;
  if (!out) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_symbol_of(device, symbol, &address, &size);
  if (!error) *out = (void *)(uintptr_t)address;
  return cudart_done(error);
}

EXPORT int cudaGetSymbolSize(size_t *out, const void *symbol) {
  RUNTIME_CALL;
  uint64_t address, size;
  if (!out) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_symbol_of(device, symbol, &address, &size);
  if (!error) *out = size;
  return cudart_done(error);
}

static int copy_symbol(driver_device *d, const void *symbol, bool to_symbol, const void *other,
                       size_t bytes, size_t offset, int kind, void *stream) {
  uint64_t address, size;
  int error = driver_symbol_of(d, symbol, &address, &size);
  if (error) return cudart_done(error);
  if (offset > size || bytes > size - offset) return cudart_done(DRIVER_INVALID_VALUE);
  address += offset;
  return copy(d,
              to_symbol ? driver_copy_linear(address, ADDRESS(other), bytes)
                        : driver_copy_linear(ADDRESS(other), address, bytes),
              kind, stream);
}

EXPORT int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
                                   size_t offset, int kind, void *stream) {
  RUNTIME_CALL;
  return copy_symbol(device, symbol, true, from, bytes, offset, kind, stream);
}
EXPORT int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                              int kind) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, NULL);
}
EXPORT int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                     int kind, void *stream) {
  RUNTIME_CALL;
  return copy_symbol(device, symbol, false, to, bytes, offset, kind, stream);
}
EXPORT int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                int kind) {
  return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, NULL);
}

EXPORT abi_channel_desc cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return (abi_channel_desc){x, y, z, w, kind};
}

/* --- managed memory: it is where both sides reach it --- */

EXPORT int cudaMemPrefetchAsync(const void *pointer, size_t bytes, abi_location location,
                                unsigned flags, void *stream) {
  RUNTIME_CALL;
  (void)bytes, (void)location, (void)flags, (void)stream;
  plumb_extent e;
  bool known = plumb_machine_find(device->machine, ADDRESS(pointer), &e) && e.host;
  return cudart_done(known ? DRIVER_OK : DRIVER_INVALID_VALUE);
}
EXPORT int cudaMemAdvise(const void *pointer, size_t bytes, int advice, abi_location location) {
  (void)advice;
  return cudaMemPrefetchAsync(pointer, bytes, location, 0, NULL);
}
EXPORT int cudaStreamAttachMemAsync(void *stream, void *pointer, size_t bytes, unsigned flags) {
  return cudaMemPrefetchAsync(pointer, bytes, (abi_location){0}, flags, stream);
}

PER_THREAD(cudaMemcpy, _ptds);
PER_THREAD(cudaMemcpyAsync, _ptsz);
PER_THREAD(cudaMemcpy2D, _ptds);
PER_THREAD(cudaMemcpy2DAsync, _ptsz);
PER_THREAD(cudaMemcpy3D, _ptds);
PER_THREAD(cudaMemcpy3DAsync, _ptsz);
PER_THREAD(cudaMemset, _ptds);
PER_THREAD(cudaMemsetAsync, _ptsz);
PER_THREAD(cudaMemset2D, _ptds);
PER_THREAD(cudaMemset2DAsync, _ptsz);
PER_THREAD(cudaMemset3D, _ptds);
PER_THREAD(cudaMemset3DAsync, _ptsz);
PER_THREAD(cudaMemcpyToSymbol, _ptds);
PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz);
PER_THREAD(cudaMemcpyFromSymbol, _ptds);
PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz);
PER_THREAD(cudaMemPrefetchAsync, _ptsz);
PER_THREAD(cudaStreamAttachMemAsync, _ptsz);

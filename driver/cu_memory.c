/* Driver API: memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cu.h"

#define SITE __builtin_return_address(0)
#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))
#define PITCH_ALIGN 512

static int allocate(driver_device *d, driver_memory kind, uint64_t *out, size_t bytes,
                    const char *call, const void *site) {
  if (!out || !bytes) return DRIVER_INVALID_VALUE;
  return driver_memory_alloc(d, kind, bytes, call, site, out);
}

EXPORT int cuMemAlloc_v2(uint64_t *out, size_t bytes) {
  CU_CALL;
  return allocate(device, DRIVER_DEVICE, out, bytes, "cuMemAlloc", SITE);
}
EXPORT int cuMemAllocManaged(uint64_t *out, size_t bytes, unsigned flags) {
  CU_CALL;
  if (flags != 1 && flags != 2 && flags != 4) return DRIVER_INVALID_VALUE;
  return allocate(device, DRIVER_MANAGED, out, bytes, "cuMemAllocManaged", SITE);
}
EXPORT int cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  CU_CALL;
  uint64_t address = 0;
  (void)flags;
  if (!out) return DRIVER_INVALID_VALUE;
  int error = allocate(device, DRIVER_PINNED, &address, bytes, "cuMemHostAlloc", SITE);
  if (!error) *out = (void *)(uintptr_t)address;
  return error;
}
EXPORT int cuMemAllocHost_v2(void **out, size_t bytes) {
  return cuMemHostAlloc(out, bytes, 0);
}
EXPORT int cuMemAllocPitch_v2(uint64_t *out, size_t *pitch, size_t width, size_t height,
                              unsigned element_bytes) {
  CU_CALL;
  size_t bytes;
  if (!pitch || (element_bytes != 4 && element_bytes != 8 && element_bytes != 16) ||
      width > SIZE_MAX / 2)
    return DRIVER_INVALID_VALUE;
  *pitch = (width + PITCH_ALIGN - 1) / PITCH_ALIGN * PITCH_ALIGN;
  if (__builtin_mul_overflow(*pitch, height, &bytes)) return DRIVER_INVALID_VALUE;
  return allocate(device, DRIVER_DEVICE, out, bytes, "cuMemAllocPitch", SITE);
}
EXPORT int cuMemAllocAsync(uint64_t *out, size_t bytes, void *stream) {
  CU_CALL;
  if (!driver_stream_of(stream)) return DRIVER_INVALID_HANDLE;
  return allocate(device, DRIVER_DEVICE, out, bytes, "cuMemAllocAsync", SITE);
}

EXPORT int cuMemFree_v2(uint64_t address) {
  CU_CALL;
  return driver_memory_free(device, address);
}
EXPORT int cuMemFreeHost(void *pointer) {
  CU_CALL;
  return pointer ? driver_memory_free(device, ADDRESS(pointer)) : (int)DRIVER_INVALID_VALUE;
}
EXPORT int cuMemFreeAsync(uint64_t address, void *stream) {
  CU_CALL;
  if (!driver_stream_of(stream)) return DRIVER_INVALID_HANDLE;
  return driver_memory_free(device, address);
}

EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  CU_CALL;
  if (!free_bytes || !total) return DRIVER_INVALID_VALUE;
  *total = driver_memory_total(device);
  uint64_t used = plumb_machine_bytes(device->machine);
  *free_bytes = used < *total ? *total - used : 0;
  return DRIVER_OK;
}
EXPORT int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address) {
  CU_CALL;
  plumb_extent e;
  if (!plumb_machine_find(device->machine, address, &e)) return DRIVER_NOT_FOUND;
  if (base) *base = e.base;
  if (bytes) *bytes = e.size_bytes;
  return DRIVER_OK;
}

/* --- the host's memory --- */

EXPORT int cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
  CU_CALL;
  (void)flags;
  plumb_extent e;
  if (!pointer || !bytes) return DRIVER_INVALID_VALUE;
  if (driver_handle_get(pointer, DRIVER_KIND_HOST_RANGE) ||
      plumb_machine_find(device->machine, ADDRESS(pointer), &e))
    return DRIVER_ALREADY_REGISTERED;
  uint64_t address = plumb_machine_borrow(device->machine, pointer, bytes, "cuMemHostRegister");
  if (!address) return DRIVER_OUT_OF_MEMORY;
  driver_handle_put(pointer, DRIVER_KIND_HOST_RANGE, (void *)(uintptr_t)address);
  return DRIVER_OK;
}
EXPORT int cuMemHostUnregister(void *pointer) {
  CU_CALL;
  void *address = driver_handle_get(pointer, DRIVER_KIND_HOST_RANGE);
  if (!address || address == pointer) return DRIVER_NOT_REGISTERED;
  driver_handle_drop(pointer);
  plumb_machine_free(device->machine, ADDRESS(address), NULL);
  return DRIVER_OK;
}
EXPORT int cuMemHostGetDevicePointer_v2(uint64_t *out, void *pointer, unsigned flags) {
  CU_CALL;
  plumb_extent e;
  if (!out || flags) return DRIVER_INVALID_VALUE;
  *out = ADDRESS(driver_handle_get(pointer, DRIVER_KIND_HOST_RANGE));
  if (!*out && plumb_machine_find(device->machine, ADDRESS(pointer), &e) && e.host)
    *out = ADDRESS(pointer);
  return *out ? DRIVER_OK : DRIVER_INVALID_VALUE;
}
EXPORT int cuMemHostGetFlags(unsigned *flags, void *pointer) {
  CU_CALL;
  if (!flags || !driver_handle_get(pointer, DRIVER_KIND_HOST_RANGE)) return DRIVER_INVALID_VALUE;
  *flags = 2; /* mapped */
  return DRIVER_OK;
}

/* CUpointer_attribute */
EXPORT int cuPointerGetAttribute(void *out, int attribute, uint64_t address) {
  enum {
    CONTEXT = 1,
    TYPE,
    DEVICE_POINTER,
    HOST_POINTER,
    SYNC = 6,
    MANAGED = 8,
    ORDINAL = 9,
    START = 11,
    SIZE = 12,
    MAPPED = 13
  };
  CU_CALL;
  plumb_extent e;
  if (!out) return DRIVER_INVALID_VALUE;
  if (!plumb_machine_find(device->machine, address, &e)) return DRIVER_INVALID_VALUE;
  driver_memory kind = driver_memory_kind(device, &e);
  void *context = driver_context_now(device);
  uint64_t start = e.base, size = e.size_bytes;
  char *host = e.host ? (char *)e.host + (address - e.base) : NULL;
  int number = 0;
  switch (attribute) {
    case CONTEXT:
      memcpy(out, &context, sizeof context);
      return DRIVER_OK;
    case TYPE: /* CU_MEMORYTYPE_HOST or CU_MEMORYTYPE_DEVICE */
      number = kind == DRIVER_PINNED ? 1 : 2;
      break;
    case DEVICE_POINTER:
      memcpy(out, &address, sizeof address);
      return DRIVER_OK;
    case HOST_POINTER:
      if (!host) return DRIVER_INVALID_VALUE;
      memcpy(out, &host, sizeof host);
      return DRIVER_OK;
    case START:
      memcpy(out, &start, sizeof start);
      return DRIVER_OK;
    case SIZE:
      memcpy(out, &size, sizeof size);
      return DRIVER_OK;
    case MANAGED:
    case SYNC:
    case MAPPED:
      number = attribute == MANAGED ? kind == DRIVER_MANAGED : 1;
      break;
    case ORDINAL:
      break;
    default:
      return DRIVER_NOT_SUPPORTED;
  }
  memcpy(out, &number, sizeof number);
  return DRIVER_OK;
}
/* An attribute that an address does not have is zero, and so is all of an address that nobody
 * allocated. */
EXPORT int cuPointerGetAttributes(unsigned count, const int *attributes, void **out,
                                  uint64_t address) {
  CU_CALL;
  if (!attributes || !out) return DRIVER_INVALID_VALUE;
  for (unsigned i = 0; i < count; i++) {
    int attribute = attributes[i];
    bool wide =
        attribute == 1 || attribute == 3 || attribute == 4 || attribute == 11 || attribute == 12;
    if (!out[i]) return DRIVER_INVALID_VALUE;
    if (cuPointerGetAttribute(out[i], attribute, address)) memset(out[i], 0, wide ? 8 : 4);
  }
  return DRIVER_OK;
}
EXPORT int cuPointerSetAttribute(const void *value, int attribute, uint64_t address) {
  CU_CALL;
  plumb_extent e;
  (void)value, (void)attribute;
  return plumb_machine_find(device->machine, address, &e) ? DRIVER_OK : DRIVER_INVALID_VALUE;
}

/* --- copies --- */

static int copy(driver_device *d, const driver_copy *c, int kind, void *stream) {
  DRIVER_TRY(cu_done(driver_copy_check(d, c, kind)));
  driver_operation op = {.kind = DRIVER_COPY, .copy = *c};
  return cu_done(driver_submit(d, driver_stream_of(stream), &op));
}

/* One function a direction, each with its asynchronous one. */
#define COPY(name, async_name, to_type, from_type, kind) \
  EXPORT int async_name(to_type to, from_type from, size_t bytes, void *stream) { \
    CU_CALL; \
    driver_copy c = driver_copy_linear(ADDRESS(to), ADDRESS(from), bytes); \
    return copy(device, &c, kind, stream); \
  } \
  EXPORT int name(to_type to, from_type from, size_t bytes) { \
    return async_name(to, from, bytes, NULL); \
  }
COPY(cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, uint64_t, const void *, 1)
COPY(cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2, void *, uint64_t, 2)
COPY(cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, uint64_t, uint64_t, 3)
COPY(cuMemcpy, cuMemcpyAsync, uint64_t, uint64_t, 4)
#undef COPY

EXPORT int cuMemcpyPeer(uint64_t to, void *to_context, uint64_t from, void *from_context,
                        size_t bytes) {
  (void)to_context, (void)from_context;
  return cuMemcpyDtoD_v2(to, from, bytes);
}
EXPORT int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
                             size_t bytes, void *stream) {
  (void)to_context, (void)from_context;
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

/* CUmemorytype of one end: host, device, array, unified. */
static int end_of(int type, const void *host, uint64_t address, uint64_t *out) {
  if (type == 3) return DRIVER_NOT_SUPPORTED;
  if (type < 1 || type > 4) return DRIVER_INVALID_VALUE;
  *out = type == 1 ? ADDRESS(host) : address;
  return DRIVER_OK;
}

int cu_copy_of(const abi_cu_memcpy3d *p, driver_copy *out) {
  uint64_t to, from;
  if (!p) return DRIVER_INVALID_VALUE;
  DRIVER_TRY(end_of(p->src_type, p->src_host, p->src_device, &from));
  DRIVER_TRY(end_of(p->dst_type, p->dst_host, p->dst_device, &to));
  size_t from_slice = p->src_pitch * p->src_height, to_slice = p->dst_pitch * p->dst_height;
  *out = (driver_copy){to + p->dst_z * to_slice + p->dst_y * p->dst_pitch + p->dst_x,
                       from + p->src_z * from_slice + p->src_y * p->src_pitch + p->src_x,
                       p->dst_pitch,
                       to_slice,
                       p->src_pitch,
                       from_slice,
                       p->width,
                       p->height,
                       p->depth};
  return DRIVER_OK;
}
EXPORT int cuMemcpy3DAsync_v2(const abi_cu_memcpy3d *p, void *stream) {
  CU_CALL;
  driver_copy c;
  DRIVER_TRY(cu_copy_of(p, &c));
  return copy(device, &c, 4, stream);
}
EXPORT int cuMemcpy3D_v2(const abi_cu_memcpy3d *p) {
  return cuMemcpy3DAsync_v2(p, NULL);
}
EXPORT int cuMemcpy2DAsync_v2(const abi_cu_memcpy2d *p, void *stream) {
  CU_CALL;
  uint64_t to, from;
  if (!p) return DRIVER_INVALID_VALUE;
  DRIVER_TRY(end_of(p->src_type, p->src_host, p->src_device, &from));
  DRIVER_TRY(end_of(p->dst_type, p->dst_host, p->dst_device, &to));
  driver_copy c = {to + p->dst_y * p->dst_pitch + p->dst_x,
                   from + p->src_y * p->src_pitch + p->src_x,
                   p->dst_pitch,
                   0,
                   p->src_pitch,
                   0,
                   p->width,
                   p->height,
                   1};
  return copy(device, &c, 4, stream);
}
EXPORT int cuMemcpy2D_v2(const abi_cu_memcpy2d *p) {
  return cuMemcpy2DAsync_v2(p, NULL);
}
EXPORT int cuMemcpy2DUnaligned_v2(const abi_cu_memcpy2d *p) {
  return cuMemcpy2DAsync_v2(p, NULL);
}

/* --- fills --- */

static int fill(driver_device *d, uint64_t to, size_t pitch, uint32_t value, unsigned element_bytes,
                size_t width, size_t height, void *stream) {
  plumb_extent e;
  if (!plumb_machine_find(d->machine, to, &e)) return DRIVER_INVALID_VALUE;
  driver_operation op = {.kind = DRIVER_FILL};
  op.fill = (driver_fill){to, pitch, 0, value, element_bytes, width, height, 1};
  return cu_done(driver_submit(d, driver_stream_of(stream), &op));
}

/* The four functions of an element size: one row or several, at once or in a stream. */
#define FILL(size, type, bytes) \
  EXPORT int cuMemsetD##size##Async(uint64_t to, type value, size_t count, void *stream) { \
    CU_CALL; \
    return fill(device, to, count * (bytes), value, bytes, count, 1, stream); \
  } \
  EXPORT int cuMemsetD2D##size##Async(uint64_t to, size_t pitch, type value, size_t width, \
                                      size_t height, void *stream) { \
    CU_CALL; \
    return fill(device, to, pitch, value, bytes, width, height, stream); \
  } \
  EXPORT int cuMemsetD##size##_v2(uint64_t to, type value, size_t count) { \
    return cuMemsetD##size##Async(to, value, count, NULL); \
  } \
  EXPORT int cuMemsetD2D##size##_v2(uint64_t to, size_t pitch, type value, size_t width, \
                                    size_t height) { \
    return cuMemsetD2D##size##Async(to, pitch, value, width, height, NULL); \
  }
FILL(8, unsigned char, 1)
FILL(16, unsigned short, 2)
FILL(32, unsigned, 4)
#undef FILL

/* --- one word, in a stream --- */

static int write_word(void *stream, uint64_t to, uint64_t value, size_t bytes) {
  CU_CALL;
  driver_stream *s = driver_stream_of(stream);
  if (!s) return DRIVER_INVALID_HANDLE;
  if (s->capture) return DRIVER_CAPTURE_UNSUPPORTED;
  driver_copy c = driver_copy_linear(to, ADDRESS(&value), bytes);
  return copy(device, &c, 1, stream);
}
/* Work that was given before is done: what is not there now will never be. flags: at least
 * (cyclically), equal, some common bit, not all bits (CUstreamWaitValue_flags). */
static int await_word(void *stream, uint64_t from, uint64_t wanted, size_t bytes, unsigned flags) {
  CU_CALL;
  driver_stream *s = driver_stream_of(stream);
  uint64_t value = 0;
  if (!s) return DRIVER_INVALID_HANDLE;
  if (s->capture) return DRIVER_CAPTURE_UNSUPPORTED;
  driver_copy c = driver_copy_linear(ADDRESS(&value), from, bytes);
  DRIVER_TRY(copy(device, &c, 2, stream));
  bool there = bytes == 4 ? (int32_t)((uint32_t)value - (uint32_t)wanted) >= 0
                          : (int64_t)(value - wanted) >= 0;
  if ((flags & 3) == 1) there = value == wanted;
  if ((flags & 3) == 2) there = (value & wanted) != 0;
  if ((flags & 3) == 3) there = ~(value | wanted) << (64 - 8 * bytes) != 0;
  if (there) return DRIVER_OK;
  fprintf(stderr,
          "plumb: cuStreamWaitValue waits for a value that nobody will write: work is "
          "done when it is given to a stream\n");
  return DRIVER_NOT_SUPPORTED;
}
#define WORD(bits, type, version) \
  EXPORT int cuStreamWriteValue##bits##version(void *stream, uint64_t to, type value, \
                                               unsigned flags) { \
    (void)flags; \
    return write_word(stream, to, value, sizeof value); \
  } \
  EXPORT int cuStreamWaitValue##bits##version(void *stream, uint64_t from, type value, \
                                              unsigned flags) { \
    return await_word(stream, from, value, sizeof value, flags); \
  }
WORD(32, uint32_t, )
WORD(32, uint32_t, _v2)
WORD(64, uint64_t, )
WORD(64, uint64_t, _v2)
#undef WORD

/* --- managed memory: it is where both sides reach it --- */

EXPORT int cuMemPrefetchAsync_v2(uint64_t address, size_t bytes, abi_location location,
                                 unsigned flags, void *stream) {
  CU_CALL;
  plumb_extent e;
  (void)bytes, (void)location, (void)flags, (void)stream;
  return plumb_machine_find(device->machine, address, &e) && e.host ? DRIVER_OK
                                                                    : DRIVER_INVALID_VALUE;
}
EXPORT int cuMemPrefetchAsync(uint64_t address, size_t bytes, int ordinal, void *stream) {
  return cuMemPrefetchAsync_v2(address, bytes, (abi_location){1, ordinal}, 0, stream);
}
EXPORT int cuMemAdvise_v2(uint64_t address, size_t bytes, int advice, abi_location location) {
  (void)advice;
  return cuMemPrefetchAsync_v2(address, bytes, location, 0, NULL);
}
EXPORT int cuMemAdvise(uint64_t address, size_t bytes, int advice, int ordinal) {
  (void)advice;
  return cuMemPrefetchAsync(address, bytes, ordinal, NULL);
}
EXPORT int cuStreamAttachMemAsync(void *stream, uint64_t address, size_t bytes, unsigned flags) {
  (void)flags;
  return cuMemPrefetchAsync(address, bytes, 0, stream);
}

PER_THREAD(cuMemcpyHtoD_v2, _ptds);
PER_THREAD(cuMemcpyDtoH_v2, _ptds);
PER_THREAD(cuMemcpyDtoD_v2, _ptds);
PER_THREAD(cuMemcpyHtoDAsync_v2, _ptsz);
PER_THREAD(cuMemcpyDtoHAsync_v2, _ptsz);
PER_THREAD(cuMemcpyDtoDAsync_v2, _ptsz);
PER_THREAD(cuMemcpy, _ptds);
PER_THREAD(cuMemcpyAsync, _ptsz);
PER_THREAD(cuMemAllocAsync, _ptsz);
PER_THREAD(cuMemFreeAsync, _ptsz);

PER_THREAD(cuMemPrefetchAsync, _ptsz);
PER_THREAD(cuMemPrefetchAsync_v2, _ptsz);
PER_THREAD(cuMemcpy2DAsync_v2, _ptsz);
PER_THREAD(cuMemcpy2DUnaligned_v2, _ptds);
PER_THREAD(cuMemcpy2D_v2, _ptds);
PER_THREAD(cuMemcpy3DAsync_v2, _ptsz);
PER_THREAD(cuMemcpy3D_v2, _ptds);
PER_THREAD(cuMemcpyPeerAsync, _ptsz);
PER_THREAD(cuMemcpyPeer, _ptds);
PER_THREAD(cuMemsetD16Async, _ptsz);
PER_THREAD(cuMemsetD16_v2, _ptds);
PER_THREAD(cuMemsetD2D16Async, _ptsz);
PER_THREAD(cuMemsetD2D16_v2, _ptds);
PER_THREAD(cuMemsetD2D32Async, _ptsz);
PER_THREAD(cuMemsetD2D32_v2, _ptds);
PER_THREAD(cuMemsetD2D8Async, _ptsz);
PER_THREAD(cuMemsetD2D8_v2, _ptds);
PER_THREAD(cuMemsetD32Async, _ptsz);
PER_THREAD(cuMemsetD32_v2, _ptds);
PER_THREAD(cuMemsetD8Async, _ptsz);
PER_THREAD(cuMemsetD8_v2, _ptds);
PER_THREAD(cuStreamAttachMemAsync, _ptsz);
PER_THREAD(cuStreamWaitValue32, _ptsz);
PER_THREAD(cuStreamWaitValue32_v2, _ptsz);
PER_THREAD(cuStreamWaitValue64, _ptsz);
PER_THREAD(cuStreamWaitValue64_v2, _ptsz);
PER_THREAD(cuStreamWriteValue32, _ptsz);
PER_THREAD(cuStreamWriteValue32_v2, _ptsz);
PER_THREAD(cuStreamWriteValue64, _ptsz);
PER_THREAD(cuStreamWriteValue64_v2, _ptsz);

/* Programs that look names up by themselves may take the first ones. */
FIRST_NAME(cuMemAlloc);
FIRST_NAME(cuMemAllocHost);
FIRST_NAME(cuMemAllocPitch);
FIRST_NAME(cuMemFree);
FIRST_NAME(cuMemGetAddressRange);
FIRST_NAME(cuMemGetInfo);
FIRST_NAME(cuMemHostGetDevicePointer);
FIRST_NAME(cuMemHostRegister);
FIRST_NAME(cuMemcpy2D);
FIRST_NAME(cuMemcpy2DAsync);
FIRST_NAME(cuMemcpy2DUnaligned);
FIRST_NAME(cuMemcpy3D);
FIRST_NAME(cuMemcpy3DAsync);
FIRST_NAME(cuMemcpyDtoD);
FIRST_NAME(cuMemcpyDtoDAsync);
FIRST_NAME(cuMemcpyDtoH);
FIRST_NAME(cuMemcpyDtoHAsync);
FIRST_NAME(cuMemcpyHtoD);
FIRST_NAME(cuMemcpyHtoDAsync);
FIRST_NAME(cuMemsetD16);
FIRST_NAME(cuMemsetD2D16);
FIRST_NAME(cuMemsetD2D32);
FIRST_NAME(cuMemsetD2D8);
FIRST_NAME(cuMemsetD32);
FIRST_NAME(cuMemsetD8);

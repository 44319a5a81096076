/* Runtime API: devices, limits, errors. */
#include <stdio.h>
#include <string.h>

#include "driver/cudart.h"
#include "driver/registry.h"

#define VERSION 13000

static __thread int last_error;

int cudart_done(int error) {
  if (error && error != DRIVER_NOT_READY) last_error = error;
  return error;
}

int *cudart_last(void) {
  return &last_error;
}

EXPORT int cudaGetLastError(void) {
  DRIVER_CALL;
  int fault = driver_fault(device), error = fault ? fault : last_error;
  last_error = DRIVER_OK;
  return error;
}

EXPORT int cudaPeekAtLastError(void) {
  DRIVER_CALL;
  int fault = driver_fault(device);
  return fault ? fault : last_error;
}

EXPORT const char *cudaGetErrorString(int error) {
  const char *text = driver_error_text(error);
  return text ? text : "unrecognized error code";
}

EXPORT const char *cudaGetErrorName(int error) {
  const char *name = driver_error_name(error, true);
  return name ? name : "unrecognized error code";
}

EXPORT int cudaDriverGetVersion(int *version) {
  if (!version) return cudart_done(DRIVER_INVALID_VALUE);
  *version = VERSION;
  return DRIVER_OK;
}

EXPORT int cudaRuntimeGetVersion(int *version) {
  return cudaDriverGetVersion(version);
}

/* --- devices --- */

static int check_device(int ordinal) {
  return cudart_done(ordinal == 0 ? DRIVER_OK : DRIVER_INVALID_DEVICE);
}

EXPORT int cudaGetDeviceCount(int *count) {
  RUNTIME_CALL;
  if (!count) return cudart_done(DRIVER_INVALID_VALUE);
  *count = 1;
  return DRIVER_OK;
}

EXPORT int cudaSetDevice(int ordinal) {
  RUNTIME_CALL;
  return check_device(ordinal);
}

EXPORT int cudaInitDevice(int ordinal, unsigned device_flags, unsigned flags) {
  RUNTIME_CALL;
  (void)device_flags, (void)flags;
  return check_device(ordinal);
}

EXPORT int cudaGetDevice(int *ordinal) {
  RUNTIME_CALL;
  if (!ordinal) return cudart_done(DRIVER_INVALID_VALUE);
  *ordinal = 0;
  return DRIVER_OK;
}

EXPORT int cudaDeviceGetAttribute(int *value, int attribute, int ordinal) {
  RUNTIME_CALL;
  if (ordinal) return cudart_done(DRIVER_INVALID_DEVICE);
  return cudart_done(value && driver_attribute(device, attribute, value) ? DRIVER_OK
                                                                         : DRIVER_INVALID_VALUE);
}

/* The fields of cudaDeviceProp that are attributes: offset and number, and how many follow. */
static const struct {
  size_t offset;
  int attribute, count;
  bool wide; /* size_t */
} fields[] = {
#define FIELD(name, attribute) {offsetof(abi_device_prop, name), attribute, 1, false}
#define WIDE(name, attribute) {offsetof(abi_device_prop, name), attribute, 1, true}
#define RUN(name, attribute, count) {offsetof(abi_device_prop, name), attribute, count, false}
    WIDE(shared_per_block, 8),
    FIELD(regs_per_block, 12),
    FIELD(warp_size, 10),
    WIDE(mem_pitch, 11),
    FIELD(max_threads_per_block, 1),
    RUN(max_threads_dim, 2, 3),
    RUN(max_grid_size, 5, 3),
    WIDE(total_const_mem, 9),
    RUN(major, 75, 2),
    WIDE(texture_alignment, 14),
    WIDE(texture_pitch_alignment, 51),
    FIELD(multiprocessors, 16),
    FIELD(integrated, 18),
    FIELD(can_map_host, 19),
    /* maxTexture1D, 1DMipmap, 2D, 2DMipmap, 2DLinear, 2DGather, 3D, 3DAlt, Cubemap,
     * 1DLayered, 2DLayered, CubemapLayered, surfaces 1D, 2D, 3D, layered, cubemap */
    RUN(textures[0], 21, 1),
    RUN(textures[1], 77, 1),
    RUN(textures[2], 22, 2),
    RUN(textures[4], 73, 2),
    RUN(textures[6], 70, 3),
    RUN(textures[9], 45, 2),
    RUN(textures[11], 24, 3),
    RUN(textures[14], 47, 3),
    RUN(textures[17], 52, 1),
    RUN(textures[18], 42, 2),
    RUN(textures[20], 27, 3),
    RUN(textures[23], 53, 2),
    RUN(textures[25], 55, 14),
    WIDE(surface_alignment, 30),
    RUN(concurrent_kernels, 31, 1),
    FIELD(ecc, 32),
    RUN(pci_bus, 33, 2),
    FIELD(pci_domain, 50),
    FIELD(tcc, 35),
    RUN(copy_engines, 40, 2),
    RUN(bus_width, 37, 2),
    FIELD(persisting_l2, 108),
    FIELD(threads_per_multiprocessor, 39),
    RUN(stream_priorities, 78, 3),
    WIDE(shared_per_multiprocessor, 81),
    RUN(regs_per_multiprocessor, 82, 2),
    RUN(multi_gpu, 84, 3),
    RUN(pageable_access, 88, 4),
    FIELD(cooperative, 95),
    WIDE(shared_optin, 97),
    RUN(pageable_host_tables, 100, 2),
    FIELD(blocks_per_multiprocessor, 106),
    FIELD(access_window, 109),
    WIDE(reserved_shared, 111),
    FIELD(host_register, 99),
    FIELD(sparse_arrays, 112),
    FIELD(host_register_read_only, 113),
    RUN(timeline_semaphores, 114, 2),
    FIELD(cluster_launch, 120),
    FIELD(host_numa_id, 134),
#undef FIELD
#undef WIDE
#undef RUN
};

EXPORT int cudaGetDeviceProperties(abi_device_prop *prop, int ordinal) {
  RUNTIME_CALL;
  if (!prop) return cudart_done(DRIVER_INVALID_VALUE);
  if (ordinal) return cudart_done(DRIVER_INVALID_DEVICE);
  memset(prop, 0, sizeof *prop);
  snprintf(prop->name, sizeof prop->name, "Plumbline sm_%d (%s)", device->arch->arch,
           device->arch->board);
  memcpy(prop->uuid.bytes, "Plumbline-device", sizeof prop->uuid.bytes);
  prop->total_global_mem = driver_memory_total(device);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    char *at = (char *)prop + fields[i].offset;
    for (int k = 0; k < fields[i].count; k++, at += sizeof(int)) {
      int value = 0;
      driver_attribute(device, fields[i].attribute + k, &value);
      size_t wide = (size_t)value;
      if (fields[i].wide)
        memcpy(at, &wide, sizeof wide);
      else
        memcpy(at, &value, sizeof value);
    }
  }
  return DRIVER_OK;
}

EXPORT int cudaChooseDevice(int *ordinal, const abi_device_prop *prop) {
  (void)prop;
  return cudaGetDevice(ordinal);
}

EXPORT int cudaSetValidDevices(int *ordinals, int count) {
  (void)ordinals, (void)count;
  return DRIVER_OK;
}

EXPORT int cudaSetDeviceFlags(unsigned flags) {
  RUNTIME_CALL;
  device->primary.flags = flags;
  return DRIVER_OK;
}

EXPORT int cudaGetDeviceFlags(unsigned *flags) {
  RUNTIME_CALL;
  if (!flags) return cudart_done(DRIVER_INVALID_VALUE);
  *flags = device->primary.flags;
  return DRIVER_OK;
}

EXPORT int cudaDeviceSynchronize(void) {
  RUNTIME_CALL;
  fflush(stdout); /* what kernels printed is to be seen now */
  return DRIVER_OK;
}

EXPORT int cudaDeviceReset(void) {
  DRIVER_CALL;
  driver_registry_reset(device);
  device->primary.fault = DRIVER_OK;
  last_error = DRIVER_OK;
  return DRIVER_OK;
}

EXPORT int cudaDeviceGetPCIBusId(char *text, int length, int ordinal) {
  RUNTIME_CALL;
  if (!text || length <= 0) return cudart_done(DRIVER_INVALID_VALUE);
  snprintf(text, (size_t)length, "0000:01:00.0");
  return check_device(ordinal);
}

EXPORT int cudaDeviceGetByPCIBusId(int *ordinal, const char *text) {
  RUNTIME_CALL;
  if (!ordinal || !text || !strstr(text, "01:00")) return cudart_done(DRIVER_INVALID_VALUE);
  *ordinal = 0;
  return DRIVER_OK;
}

EXPORT int cudaDeviceSetLimit(int limit, size_t value) {
  RUNTIME_CALL;
  uint64_t *at = driver_limit_of(device, limit);
  if (at) *at = value;
  return cudart_done(at || limit == 5 || limit == 6 ? DRIVER_OK : DRIVER_UNSUPPORTED_LIMIT);
}

EXPORT int cudaDeviceGetLimit(size_t *value, int limit) {
  RUNTIME_CALL;
  const uint64_t *at = driver_limit_of(device, limit);
  if (!value) return cudart_done(DRIVER_INVALID_VALUE);
  *value = at ? *at : 0;
  return cudart_done(at || limit == 5 || limit == 6 ? DRIVER_OK : DRIVER_UNSUPPORTED_LIMIT);
}

/* Preferences that change no result. */
EXPORT int cudaDeviceSetCacheConfig(int config) {
  (void)config;
  return DRIVER_OK;
}
EXPORT int cudaDeviceGetCacheConfig(int *config) {
  *config = 0;
  return DRIVER_OK;
}
EXPORT int cudaDeviceSetSharedMemConfig(int config) {
  (void)config;
  return DRIVER_OK;
}
EXPORT int cudaDeviceGetSharedMemConfig(int *config) {
  *config = 1; /* banks of four bytes */
  return DRIVER_OK;
}
EXPORT int cudaCtxResetPersistingL2Cache(void) {
  return DRIVER_OK;
}
EXPORT int cudaProfilerStart(void) {
  return DRIVER_OK;
}
EXPORT int cudaProfilerStop(void) {
  return DRIVER_OK;
}

/* --- peers: there is one device --- */

EXPORT int cudaDeviceCanAccessPeer(int *can, int ordinal, int peer) {
  RUNTIME_CALL;
  if (!can) return cudart_done(DRIVER_INVALID_VALUE);
  *can = 0;
  return cudart_done(ordinal || peer ? DRIVER_INVALID_DEVICE : DRIVER_OK);
}
EXPORT int cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  RUNTIME_CALL;
  (void)peer, (void)flags;
  return cudart_done(DRIVER_INVALID_DEVICE);
}
EXPORT int cudaDeviceDisablePeerAccess(int peer) {
  RUNTIME_CALL;
  (void)peer;
  return cudart_done(DRIVER_PEER_NOT_ENABLED);
}
EXPORT int cudaDeviceGetP2PAttribute(int *value, int attribute, int from, int to) {
  RUNTIME_CALL;
  (void)value, (void)attribute, (void)from, (void)to;
  return cudart_done(DRIVER_INVALID_DEVICE);
}

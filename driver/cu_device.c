/* Driver API: initialisation, the device, contexts, errors, entry points. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cu.h"
#include "driver/registry.h"

#define VERSION 13000

static bool initialised;

int cu_done(int error) {
  switch (error) {
    case DRIVER_INVALID_CONFIGURATION:
    case DRIVER_INVALID_PITCH:
    case DRIVER_INVALID_DIRECTION:
      return DRIVER_INVALID_VALUE;
    case DRIVER_INVALID_SYMBOL:
      return DRIVER_NOT_FOUND;
    case DRIVER_INVALID_FUNCTION:
      return DRIVER_INVALID_HANDLE;
    default:
      return error;
  }
}

int cu_begin(driver_device *d) {
  return initialised ? driver_fault(d) : DRIVER_NOT_INITIALIZED;
}

EXPORT int cuInit(unsigned flags) {
  DRIVER_CALL;
  if (flags) return DRIVER_INVALID_VALUE;
  initialised = true;
  return DRIVER_OK;
}

EXPORT int cuDriverGetVersion(int *version) {
  if (!version) return DRIVER_INVALID_VALUE;
  *version = VERSION;
  return DRIVER_OK;
}

EXPORT int cuGetErrorString(int error, const char **text) {
  if (!text) return DRIVER_INVALID_VALUE;
  *text = driver_error_text(error);
  return *text ? DRIVER_OK : DRIVER_INVALID_VALUE;
}
EXPORT int cuGetErrorName(int error, const char **name) {
  if (!name) return DRIVER_INVALID_VALUE;
  *name = driver_error_name(error, false);
  return *name ? DRIVER_OK : DRIVER_INVALID_VALUE;
}

/* --- the device --- */

EXPORT int cuDeviceGetCount(int *count) {
  CU_CALL;
  if (!count) return DRIVER_INVALID_VALUE;
  *count = 1;
  return DRIVER_OK;
}
EXPORT int cuDeviceGet(int *out, int ordinal) {
  CU_CALL;
  if (!out) return DRIVER_INVALID_VALUE;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  *out = 0;
  return DRIVER_OK;
}
EXPORT int cuDeviceGetName(char *name, int length, int ordinal) {
  CU_CALL;
  if (!name || length <= 0) return DRIVER_INVALID_VALUE;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  snprintf(name, (size_t)length, "Plumbline sm_%d (%s)", device->arch->arch, device->arch->board);
  return DRIVER_OK;
}
EXPORT int cuDeviceGetUuid_v2(abi_uuid *uuid, int ordinal) {
  CU_CALL;
  if (!uuid) return DRIVER_INVALID_VALUE;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  memcpy(uuid->bytes, "Plumbline-device", sizeof uuid->bytes);
  return DRIVER_OK;
}
EXPORT int cuDeviceGetUuid(abi_uuid *uuid, int ordinal) {
  return cuDeviceGetUuid_v2(uuid, ordinal);
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int ordinal) {
  CU_CALL;
  if (!bytes) return DRIVER_INVALID_VALUE;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  *bytes = driver_memory_total(device);
  return DRIVER_OK;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int ordinal) {
  CU_CALL;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  return value && driver_attribute(device, attribute, value) ? DRIVER_OK : DRIVER_INVALID_VALUE;
}
EXPORT int cuDeviceComputeCapability(int *major, int *minor, int ordinal) {
  CU_CALL;
  if (!major || !minor) return DRIVER_INVALID_VALUE;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  *major = device->arch->arch / 10;
  *minor = device->arch->arch % 10;
  return DRIVER_OK;
}
EXPORT int cuDeviceGetPCIBusId(char *text, int length, int ordinal) {
  CU_CALL;
  if (!text || length <= 0) return DRIVER_INVALID_VALUE;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  snprintf(text, (size_t)length, "0000:01:00.0");
  return DRIVER_OK;
}
EXPORT int cuDeviceCanAccessPeer(int *can, int ordinal, int peer) {
  CU_CALL;
  if (!can) return DRIVER_INVALID_VALUE;
  *can = 0;
  return ordinal || peer ? DRIVER_INVALID_DEVICE : DRIVER_OK;
}

/* --- contexts --- */

static int create_context(driver_context **out, unsigned flags, int ordinal) {
  if (!out) return DRIVER_INVALID_VALUE;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  driver_context *c = calloc(1, sizeof *c);
  if (!c) return DRIVER_OUT_OF_MEMORY;
  c->flags = flags;
  c->below = driver_current;
  driver_current = c;
  driver_handle_put(c, DRIVER_KIND_CONTEXT, c);
  *out = c;
  return DRIVER_OK;
}
EXPORT int cuCtxCreate_v2(driver_context **out, unsigned flags, int ordinal) {
  DRIVER_CALL;
  return initialised ? create_context(out, flags, ordinal) : (int)DRIVER_NOT_INITIALIZED;
}
EXPORT int cuCtxCreate_v3(driver_context **out, void *affinity, int count, unsigned flags,
                          int ordinal) {
  DRIVER_CALL;
  (void)affinity, (void)count;
  return initialised ? create_context(out, flags, ordinal) : (int)DRIVER_NOT_INITIALIZED;
}
EXPORT int cuCtxCreate_v4(driver_context **out, void *params, unsigned flags, int ordinal) {
  DRIVER_CALL;
  (void)params;
  return initialised ? create_context(out, flags, ordinal) : (int)DRIVER_NOT_INITIALIZED;
}

static driver_context *context_of(driver_device *d, const driver_context *handle) {
  return handle == &d->primary ? &d->primary : driver_handle_get(handle, DRIVER_KIND_CONTEXT);
}

EXPORT int cuCtxDestroy_v2(driver_context *handle) {
  DRIVER_CALL;
  driver_context *c = driver_handle_get(handle, DRIVER_KIND_CONTEXT);
  if (!c) return DRIVER_INVALID_CONTEXT;
  if (driver_current == c) driver_current = c->below;
  driver_handle_drop(c);
  free(c);
  return DRIVER_OK;
}
EXPORT int cuCtxGetCurrent(driver_context **out) {
  DRIVER_CALL;
  if (!out) return DRIVER_INVALID_VALUE;
  *out = driver_current;
  return DRIVER_OK;
}
EXPORT int cuCtxSetCurrent(driver_context *handle) {
  DRIVER_CALL;
  driver_context *c = context_of(device, handle);
  if (handle && !c) return DRIVER_INVALID_CONTEXT;
  driver_current = c;
  return DRIVER_OK;
}
EXPORT int cuCtxPushCurrent_v2(driver_context *handle) {
  DRIVER_CALL;
  driver_context *c = context_of(device, handle);
  if (!c) return DRIVER_INVALID_CONTEXT;
  if (c != driver_current) c->below = driver_current;
  driver_current = c;
  return DRIVER_OK;
}
EXPORT int cuCtxPopCurrent_v2(driver_context **out) {
  DRIVER_CALL;
  if (!driver_current) return DRIVER_INVALID_CONTEXT;
  if (out) *out = driver_current;
  driver_current = driver_current->below;
  return DRIVER_OK;
}
EXPORT int cuCtxGetDevice(int *ordinal) {
  CU_CALL;
  if (!ordinal) return DRIVER_INVALID_VALUE;
  if (!driver_current) return DRIVER_INVALID_CONTEXT;
  *ordinal = 0;
  return DRIVER_OK;
}
EXPORT int cuCtxGetFlags(unsigned *flags) {
  CU_CALL;
  if (!flags) return DRIVER_INVALID_VALUE;
  *flags = driver_context_now(device)->flags;
  return DRIVER_OK;
}
EXPORT int cuCtxGetApiVersion(driver_context *handle, unsigned *version) {
  (void)handle;
  if (!version) return DRIVER_INVALID_VALUE;
  *version = VERSION;
  return DRIVER_OK;
}
EXPORT int cuCtxSynchronize(void) {
  CU_CALL;
  fflush(stdout); /* what kernels printed is to be seen now */
  return DRIVER_OK;
}

uint64_t *driver_limit_of(driver_device *d, int limit) {
  return limit == 0   ? &d->stack_bytes
         : limit == 1 ? &d->fifo_bytes
         : limit == 2 ? &d->heap_bytes
                      : NULL;
}
EXPORT int cuCtxSetLimit(int limit, size_t value) {
  CU_CALL;
  uint64_t *at = driver_limit_of(device, limit);
  if (at) *at = value;
  return at || limit == 5 || limit == 6 ? DRIVER_OK : DRIVER_UNSUPPORTED_LIMIT;
}
EXPORT int cuCtxGetLimit(size_t *value, int limit) {
  CU_CALL;
  const uint64_t *at = driver_limit_of(device, limit);
  if (!value) return DRIVER_INVALID_VALUE;
  *value = at ? *at : 0;
  return at || limit == 5 || limit == 6 ? DRIVER_OK : DRIVER_UNSUPPORTED_LIMIT;
}
/* Preferences that change no result. */
EXPORT int cuCtxSetCacheConfig(int config) {
  (void)config;
  return DRIVER_OK;
}
EXPORT int cuCtxGetCacheConfig(int *config) {
  *config = 0;
  return DRIVER_OK;
}
EXPORT int cuCtxSetSharedMemConfig(int config) {
  (void)config;
  return DRIVER_OK;
}
EXPORT int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CU_CALL;
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return DRIVER_OK;
}
EXPORT int cuCtxEnablePeerAccess(driver_context *peer, unsigned flags) {
  CU_CALL;
  (void)peer, (void)flags;
  return DRIVER_INVALID_DEVICE;
}

EXPORT int cuCtxDisablePeerAccess(driver_context *peer) {
  CU_CALL;
  (void)peer;
  return DRIVER_PEER_NOT_ENABLED;
}
EXPORT int cuCtxGetSharedMemConfig(int *config) {
  if (!config) return DRIVER_INVALID_VALUE;
  *config = 1; /* banks of four bytes */
  return DRIVER_OK;
}
EXPORT int cuCtxResetPersistingL2Cache(void) {
  return DRIVER_OK;
}
EXPORT int cuCtxSetFlags(unsigned flags) {
  CU_CALL;
  driver_context_now(device)->flags = flags;
  return DRIVER_OK;
}
EXPORT int cuCtxGetId(driver_context *handle, unsigned long long *id) {
  CU_CALL;
  driver_context *c = handle ? context_of(device, handle) : driver_context_now(device);
  if (!id) return DRIVER_INVALID_VALUE;
  *id = (unsigned long long)(uintptr_t)c;
  return c ? DRIVER_OK : DRIVER_INVALID_CONTEXT;
}
EXPORT int cuCtxGetDevice_v2(int *ordinal, driver_context *handle) {
  CU_CALL;
  if (!ordinal) return DRIVER_INVALID_VALUE;
  *ordinal = 0;
  return !handle || context_of(device, handle) ? DRIVER_OK : DRIVER_INVALID_CONTEXT;
}
EXPORT int cuCtxSynchronize_v2(driver_context *handle) {
  CU_CALL;
  fflush(stdout);
  return !handle || context_of(device, handle) ? DRIVER_OK : DRIVER_INVALID_CONTEXT;
}

EXPORT int cuDevicePrimaryCtxRetain(driver_context **out, int ordinal) {
  CU_CALL;
  if (!out) return DRIVER_INVALID_VALUE;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  *out = &device->primary;
  return DRIVER_OK;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int ordinal) {
  DRIVER_CALL;
  return ordinal ? DRIVER_INVALID_DEVICE : DRIVER_OK;
}
EXPORT int cuDevicePrimaryCtxReset_v2(int ordinal) {
  DRIVER_CALL;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  driver_registry_reset(device);
  device->primary.fault = DRIVER_OK;
  return DRIVER_OK;
}
EXPORT int cuDevicePrimaryCtxSetFlags_v2(int ordinal, unsigned flags) {
  CU_CALL;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  device->primary.flags = flags;
  return DRIVER_OK;
}
EXPORT int cuDevicePrimaryCtxGetState(int ordinal, unsigned *flags, int *active) {
  CU_CALL;
  if (ordinal) return DRIVER_INVALID_DEVICE;
  if (!flags || !active) return DRIVER_INVALID_VALUE;
  *flags = device->primary.flags;
  *active = 1;
  return DRIVER_OK;
}

/* --- entry points --- */

/* Names whose meaning changed: the symbol that a program of that version means. */
static const struct {
  const char *name;
  int version; /* from this one on */
  const char *symbol;
} renamed[] = {
    {"cuCtxCreate", 13000, "cuCtxCreate_v4"},
    {"cuCtxCreate", 12050, "cuCtxCreate_v2"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 0, "cuCtxCreate_v2"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 0, "cuGetProcAddress"},
    {"cuGraphGetEdges", 12030, "cuGraphGetEdges_v2"},
    {"cuGraphGetEdges", 0, "cuGraphGetEdges"},
    {"cuGraphNodeGetDependencies", 12030, "cuGraphNodeGetDependencies_v2"},
    {"cuGraphNodeGetDependencies", 0, "cuGraphNodeGetDependencies"},
    {"cuGraphNodeGetDependentNodes", 12030, "cuGraphNodeGetDependentNodes_v2"},
    {"cuGraphNodeGetDependentNodes", 0, "cuGraphNodeGetDependentNodes"},
    {"cuGraphAddDependencies", 12030, "cuGraphAddDependencies_v2"},
    {"cuGraphAddDependencies", 0, "cuGraphAddDependencies"},
    {"cuGraphRemoveDependencies", 12030, "cuGraphRemoveDependencies_v2"},
    {"cuGraphRemoveDependencies", 0, "cuGraphRemoveDependencies"},
    {"cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"},
    {"cuGraphExecUpdate", 0, "cuGraphExecUpdate"},
    {"cuGraphInstantiate", 0, "cuGraphInstantiateWithFlags"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamGetCaptureInfo", 0, "cuStreamGetCaptureInfo_v2"},
    {"cuCtxGetDevice", 0, "cuCtxGetDevice"},
    {"cuCtxSynchronize", 0, "cuCtxSynchronize"},
    {"cuMemAdvise", 13000, "cuMemAdvise_v2"},
    {"cuMemAdvise", 0, "cuMemAdvise"},
    {"cuMemPrefetchAsync", 13000, "cuMemPrefetchAsync_v2"},
    {"cuMemPrefetchAsync", 0, "cuMemPrefetchAsync"},
};

static void *find_symbol(const char *name, int version) {
  static void *self;
  Dl_info info;
  char other[128];
  if (!self && dladdr((void *)(uintptr_t)cuInit, &info))
    self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!self || strncmp(name, "cu", 2) != 0 || strncmp(name, "cuda", 4) == 0) return NULL;
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
    if (strcmp(renamed[i].name, name) == 0 && version >= renamed[i].version)
      return dlsym(self, renamed[i].symbol);
  snprintf(other, sizeof other, "%.120s_v2", name);
  void *found = dlsym(self, other);
  return found ? found : dlsym(self, name);
}

/* out_status: 0 found, 1 no such symbol (CUdriverProcAddressQueryResult). */
EXPORT int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                               int *out_status) {
  (void)flags; /* there is one default stream */
  if (!name || !out) return DRIVER_INVALID_VALUE;
  *out = find_symbol(name, version);
  if (out_status) *out_status = *out ? 0 : 1;
  return *out ? DRIVER_OK : DRIVER_NOT_FOUND;
}
EXPORT int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, out, version, flags, NULL);
}

/* The runtime's way to the same. */
EXPORT int cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                            unsigned long long flags, int *out_status) {
  int status;
  if (!name || !out) return DRIVER_INVALID_VALUE;
  initialised = true; /* the runtime initialises the driver */
  cuGetProcAddress_v2(name, out, (int)version, flags, &status);
  if (out_status) *out_status = status;
  return DRIVER_OK;
}
EXPORT int cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags,
                                   int *out_status) {
  return cudaGetDriverEntryPointByVersion(name, out, VERSION, flags, out_status);
}
PER_THREAD(cudaGetDriverEntryPoint, _ptsz);
PER_THREAD(cudaGetDriverEntryPointByVersion, _ptsz);

/* Programs that look names up by themselves may take the first ones. */
FIRST_NAME(cuCtxCreate);
FIRST_NAME(cuCtxDestroy);
FIRST_NAME(cuCtxPopCurrent);
FIRST_NAME(cuCtxPushCurrent);
FIRST_NAME(cuDevicePrimaryCtxRelease);
FIRST_NAME(cuDevicePrimaryCtxReset);
FIRST_NAME(cuDevicePrimaryCtxSetFlags);
FIRST_NAME(cuDeviceTotalMem);

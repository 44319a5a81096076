/* Runtime API: what nvcc's host code registers, launches, and what is known of kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cudart.h"
#include "driver/registry.h"

/* --- registration --- */

EXPORT void **__cudaRegisterFatBinary(void *wrapper) {
  DRIVER_CALL;
  return (void **)driver_binary_create(wrapper);
}
EXPORT void __cudaRegisterFatBinaryEnd(void **handle) {
  (void)handle;
}
EXPORT void __cudaUnregisterFatBinary(void **handle) {
  DRIVER_CALL;
  fflush(stdout);
  driver_binary_destroy(device, (driver_binary *)handle);
}
EXPORT char __cudaInitModule(void **handle) {
  DRIVER_CALL;
  return driver_binary_load(device, (driver_binary *)handle) == DRIVER_OK;
}

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device_function,
                                   const char *name, int thread_limit, void *tid, void *bid,
                                   void *block, void *grid, int *warp) {
  DRIVER_CALL;
  (void)device_function, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid,
      (void)warp;
  driver_binary_add_function((driver_binary *)handle, host, name);
}
EXPORT void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int ext,
                              size_t bytes, int constant, int global) {
  DRIVER_CALL;
  (void)address, (void)ext, (void)constant, (void)global;
  driver_binary_add_variable((driver_binary *)handle, host, name, bytes, NULL);
}
EXPORT void __cudaRegisterManagedVar(void **handle, void **pointer, char *address, const char *name,
                                     int ext, size_t bytes, int constant, int global) {
  DRIVER_CALL;
  (void)address, (void)ext, (void)constant, (void)global;
  driver_binary_add_variable((driver_binary *)handle, pointer, name, bytes, pointer);
}
EXPORT void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes) {
  (void)handle, (void)name, (void)host, (void)bytes; /* for the debugger */
}

/* --- launches --- */

typedef struct configuration {
  abi_dim3 grid, block;
  size_t shared_bytes;
  void *stream;
} configuration;
#define MAX_CONFIGURATIONS 16
static __thread configuration pushed[MAX_CONFIGURATIONS];
static __thread unsigned pushed_count;

EXPORT unsigned __cudaPushCallConfiguration(abi_dim3 grid, abi_dim3 block, size_t shared_bytes,
                                            void *stream) {
  if (pushed_count == MAX_CONFIGURATIONS) return DRIVER_MISSING_CONFIGURATION;
  pushed[pushed_count++] = (configuration){grid, block, shared_bytes, stream};
  return DRIVER_OK;
}

EXPORT int __cudaPopCallConfiguration(abi_dim3 *grid, abi_dim3 *block, size_t *shared_bytes,
                                      void *stream) {
  if (!pushed_count) return cudart_done(DRIVER_MISSING_CONFIGURATION);
  const configuration *c = &pushed[--pushed_count];
  *grid = c->grid;
  *block = c->block;
  *shared_bytes = c->shared_bytes;
  memcpy(stream, &c->stream, sizeof c->stream);
  return DRIVER_OK;
}

static int launch(driver_device *d, const void *handle, abi_dim3 grid, abi_dim3 block,
                  void **params, size_t shared_bytes, void *stream,
                  const driver_launch_options *options) {
  static void *const none[1];
  driver_function *f;
  driver_operation op = {.kind = DRIVER_LAUNCH};
  uint32_t g[3] = {grid.x, grid.y, grid.z}, b[3] = {block.x, block.y, block.z};
  int error = driver_function_of(d, handle, &f);
  if (!error)
    error = driver_launch_make(d, f, g, b, shared_bytes, options, params ? params : none, NULL, 0,
                               &op.launch);
  if (!error) error = driver_submit(d, driver_stream_of(stream), &op);
  return cudart_done(error);
}

EXPORT int cudaLaunchKernel(const void *function, abi_dim3 grid, abi_dim3 block, void **params,
                            size_t shared_bytes, void *stream) {
  RUNTIME_CALL;
  return launch(device, function, grid, block, params, shared_bytes, stream, NULL);
}
EXPORT int __cudaLaunchKernel(void *kernel, abi_dim3 grid, abi_dim3 block, void **params,
                              size_t shared_bytes, void *stream) {
  return cudaLaunchKernel(kernel, grid, block, params, shared_bytes, stream);
}
EXPORT int cudaLaunchCooperativeKernel(const void *function, abi_dim3 grid, abi_dim3 block,
                                       void **params, size_t shared_bytes, void *stream) {
  RUNTIME_CALL;
  driver_launch_options options = {.cooperative = true};
  return launch(device, function, grid, block, params, shared_bytes, stream, &options);
}
EXPORT int cudaLaunchKernelExC(const abi_launch_config *c, const void *function, void **params) {
  RUNTIME_CALL;
  if (!c) return cudart_done(DRIVER_INVALID_VALUE);
  driver_launch_options options = driver_launch_attributes(c->attributes, c->attribute_count);
  return launch(device, function, c->grid, c->block, params, c->dynamic_bytes, c->stream, &options);
}
PER_THREAD(cudaLaunchKernel, _ptsz);
PER_THREAD(__cudaLaunchKernel, _ptsz);
PER_THREAD(cudaLaunchCooperativeKernel, _ptsz);
PER_THREAD(cudaLaunchKernelExC, _ptsz);

/* --- kernels --- */

EXPORT int __cudaGetKernel(void **kernel, const void *host) {
  DRIVER_CALL;
  *kernel = driver_entry_handle(host);
  return *kernel ? DRIVER_OK : DRIVER_INVALID_FUNCTION;
}
EXPORT int cudaGetKernel(void **kernel, const void *host) {
  if (!kernel) return cudart_done(DRIVER_INVALID_VALUE);
  return cudart_done(__cudaGetKernel(kernel, host));
}
EXPORT int cudaGetFuncBySymbol(void **function, const void *symbol) {
  RUNTIME_CALL;
  driver_function *f;
  if (!function) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_function_of(device, symbol, &f);
  if (!error) *function = f;
  return cudart_done(error);
}
EXPORT int cudaFuncGetName(const char **name, const void *function) {
  RUNTIME_CALL;
  driver_function *f;
  if (!name) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_function_of(device, function, &f);
  if (!error) *name = f->fn->name;
  return cudart_done(error);
}
EXPORT int cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *bytes) {
  RUNTIME_CALL;
  driver_function *f;
  int error = driver_function_of(device, function, &f);
  if (!error && (!offset || index >= f->fn->param_count)) error = DRIVER_INVALID_VALUE;
  if (!error) {
    *offset = f->fn->params[index].offset;
    if (bytes) *bytes = f->fn->params[index].size_bytes;
  }
  return cudart_done(error);
}

EXPORT int cudaFuncGetAttributes(abi_func_attributes *out, const void *function) {
  RUNTIME_CALL;
  driver_function *f;
  if (!out) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_function_of(device, function, &f);
  if (error) return cudart_done(error);
  *out = (abi_func_attributes){.shared_bytes = f->shared_bytes,
                               .local_bytes = f->fn->frame_bytes,
                               .max_threads = driver_function_max_threads(f),
                               .regs = driver_function_registers(f),
                               .ptx_version = f->module->ptx_arch,
                               .binary_version = device->arch->arch,
                               .max_dynamic_bytes = f->max_dynamic_bytes,
                               .carveout = f->carveout};
  return DRIVER_OK;
}

EXPORT int cudaFuncSetAttribute(const void *function, int attribute, int value) {
  enum { MAX_DYNAMIC = 8, CARVEOUT = 9, NON_PORTABLE = 14, SCHEDULING = 15 };
  RUNTIME_CALL;
  driver_function *f;
  int error = driver_function_of(device, function, &f);
  if (error) return cudart_done(error);
  int most = (device->arch->shared_optin_kib << 10) - (int)f->shared_bytes;
  switch (attribute) {
    case MAX_DYNAMIC:
      if (value < 0 || value > most) return cudart_done(DRIVER_INVALID_VALUE);
      f->max_dynamic_bytes = value;
      return DRIVER_OK;
    case CARVEOUT:
      f->carveout = value;
      return DRIVER_OK;
    case NON_PORTABLE:
      f->non_portable_cluster = value != 0;
      return DRIVER_OK;
    case SCHEDULING: /* a preference that changes no result */
      return DRIVER_OK;
    case 11: /* clusters that a launch must have */
    case 12:
    case 13:
      return cudart_done(DRIVER_NOT_SUPPORTED);
    default:
      return cudart_done(DRIVER_INVALID_VALUE);
  }
}
EXPORT int cudaKernelSetAttributeForDevice(void *kernel, int attribute, int value, int ordinal) {
  if (ordinal) return cudart_done(DRIVER_INVALID_DEVICE);
  return cudaFuncSetAttribute(kernel, attribute, value);
}
EXPORT int cudaFuncSetCacheConfig(const void *function, int config) {
  RUNTIME_CALL;
  driver_function *f;
  (void)config; /* a preference that changes no result */
  return cudart_done(driver_function_of(device, function, &f));
}
EXPORT int cudaFuncSetSharedMemConfig(const void *function, int config) {
  return cudaFuncSetCacheConfig(function, config);
}

EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                  int threads, size_t dynamic_bytes,
                                                                  unsigned flags) {
  RUNTIME_CALL;
  driver_function *f;
  (void)flags;
  if (!blocks || threads <= 0) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_function_of(device, function, &f);
  if (!error) *blocks = driver_occupancy(device, f, threads, dynamic_bytes);
  return cudart_done(error);
}
EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                         int threads, size_t dynamic_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                dynamic_bytes, 0);
}
EXPORT int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function,
                                                     int blocks, int threads) {
  RUNTIME_CALL;
  driver_function *f;
  if (!bytes || blocks <= 0 || threads <= 0) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_function_of(device, function, &f);
  if (error) return cudart_done(error);
  size_t each = ((size_t)device->arch->shared_kib << 10) / (size_t)blocks;
  size_t taken = f->shared_bytes + (device->arch->arch >= 80 ? 1024u : 0u);
  size_t most = ((size_t)device->arch->shared_optin_kib << 10) - f->shared_bytes;
  *bytes = each > taken ? each - taken : 0;
  if (*bytes > most) *bytes = most;
  return DRIVER_OK;
}
EXPORT int cudaOccupancyMaxPotentialClusterSize(int *size, const void *function,
                                                const abi_launch_config *config) {
  RUNTIME_CALL;
  driver_function *f;
  (void)config;
  if (!size) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_function_of(device, function, &f);
  if (!error) *size = driver_cluster_most(device, f);
  return cudart_done(error);
}
EXPORT int cudaOccupancyMaxActiveClusters(int *clusters, const void *function,
                                          const abi_launch_config *c) {
  RUNTIME_CALL;
  driver_function *f;
  if (!clusters || !c) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_function_of(device, function, &f);
  if (error) return cudart_done(error);
  driver_launch_options options = driver_launch_attributes(c->attributes, c->attribute_count);
  uint32_t *size = options.cluster;
  *clusters =
      driver_cluster_occupancy(device, f, size[0] ? size[0] * size[1] * size[2] : 1,
                               (int)(c->block.x * c->block.y * c->block.z), c->dynamic_bytes);
  return DRIVER_OK;
}

/* --- libraries --- */

EXPORT int cudaLibraryLoadData(void **library, const void *code, int *jit, void **jit_values,
                               unsigned jit_count, int *options, void **values, unsigned count) {
  RUNTIME_CALL;
  (void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
  driver_module *m;
  plumb_diag diag = {0};
  if (!library) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_module_load(device, code, NULL, 0, &m, &diag);
  if (!error) *library = m;
  if (error && diag.message[0]) fprintf(stderr, "plumb: cudaLibraryLoadData: %s\n", diag.message);
  return cudart_done(error);
}
EXPORT int cudaLibraryUnload(void *library) {
  RUNTIME_CALL;
  driver_module *m = driver_handle_get(library, DRIVER_KIND_MODULE);
  if (!m) return cudart_done(DRIVER_INVALID_HANDLE);
  driver_module_unload(device, m);
  return DRIVER_OK;
}
EXPORT int cudaLibraryGetKernel(void **kernel, void *library, const char *name) {
  RUNTIME_CALL;
  driver_module *m = driver_handle_get(library, DRIVER_KIND_MODULE);
  if (!m || !kernel || !name) return cudart_done(DRIVER_INVALID_VALUE);
  *kernel = driver_module_function(m, name);
  return cudart_done(*kernel ? DRIVER_OK : DRIVER_NOT_FOUND);
}
EXPORT int cudaLibraryGetGlobal(void **address, size_t *bytes, void *library, const char *name) {
  RUNTIME_CALL;
  driver_module *m = driver_handle_get(library, DRIVER_KIND_MODULE);
  uint64_t size = 0;
  if (!m || !name) return cudart_done(DRIVER_INVALID_VALUE);
  uint64_t at = driver_module_variable(device, m, name, &size);
  if (address) *address = (void *)(uintptr_t)at;
  if (bytes) *bytes = size;
  return cudart_done(at ? DRIVER_OK : DRIVER_NOT_FOUND);
}
EXPORT int cudaLibraryGetKernelCount(unsigned *count, void *library) {
  RUNTIME_CALL;
  driver_module *m = driver_handle_get(library, DRIVER_KIND_MODULE);
  if (!m || !count) return cudart_done(DRIVER_INVALID_VALUE);
  *count = (unsigned)m->function_count;
  return DRIVER_OK;
}
EXPORT int cudaLibraryEnumerateKernels(void **kernels, unsigned count, void *library) {
  RUNTIME_CALL;
  driver_module *m = driver_handle_get(library, DRIVER_KIND_MODULE);
  if (!m || !kernels) return cudart_done(DRIVER_INVALID_VALUE);
  for (unsigned i = 0; i < count && i < m->function_count; i++) kernels[i] = &m->functions[i];
  return DRIVER_OK;
}

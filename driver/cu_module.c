/* Driver API: modules, libraries, linking, functions, launches, occupancy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cu.h"

/* --- options of the just-in-time compiler: its logs --- */

enum { JIT_INFO_LOG = 3, JIT_INFO_BYTES = 4, JIT_ERROR_LOG = 5, JIT_ERROR_BYTES = 6 };

typedef struct jit {
  char *log;
  size_t log_bytes;
  void **log_bytes_out;
} jit;

static jit read_options(unsigned count, const int *options, void **values) {
  jit j = {0};
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == JIT_ERROR_LOG) j.log = values[i];
    if (options[i] == JIT_ERROR_BYTES) {
      j.log_bytes = (size_t)(uint32_t)(uintptr_t)values[i];
      j.log_bytes_out = &values[i];
    }
    if (options[i] == JIT_INFO_BYTES) values[i] = NULL;
  }
  return j;
}

/* Puts a failure into the log where the program gave one, else on stderr. */
static void tell(const jit *j, const char *call, const plumb_diag *diag) {
  char sentence[1400];
  if (!diag->message[0]) return;
  plumb_diag_format(diag, sentence, sizeof sentence);
  if (j->log && j->log_bytes) {
    int n = snprintf(j->log, j->log_bytes, "%s", sentence);
    size_t length = n > 0 && (size_t)n < j->log_bytes ? (size_t)n + 1 : j->log_bytes;
    if (j->log_bytes_out) *j->log_bytes_out = (void *)(uintptr_t)length;
  } else {
    fprintf(stderr, "plumb: %s: %s\n", call, sentence);
  }
}

/* --- modules --- */

static int load(driver_device *d, void **out, const void *image, const jit *j, const char *call) {
  driver_module *m;
  plumb_diag diag = {0};
  if (!out || !image) return DRIVER_INVALID_VALUE;
  int error = driver_module_load(d, image, NULL, 0, &m, &diag);
  if (error)
    tell(j, call, &diag);
  else
    *out = m;
  return cu_done(error);
}

EXPORT int cuModuleLoadDataEx(void **out, const void *image, unsigned count, int *options,
                              void **values) {
  CU_CALL;
  jit j = read_options(count, options, values);
  return load(device, out, image, &j, "cuModuleLoadDataEx");
}
EXPORT int cuModuleLoadData(void **out, const void *image) {
  CU_CALL;
  jit j = {0};
  return load(device, out, image, &j, "cuModuleLoadData");
}
EXPORT int cuModuleLoadFatBinary(void **out, const void *image) {
  return cuModuleLoadData(out, image);
}
EXPORT int cuModuleLoad(void **out, const char *path) {
  CU_CALL;
  jit j = {0};
  char *text;
  size_t length;
  plumb_diag diag = {0};
  if (!out || !path) return DRIVER_INVALID_VALUE;
  plumb_arena *arena = plumb_arena_create();
  int error = DRIVER_FILE_NOT_FOUND;
  if (plumb_file_read(arena, path, &text, &length, &diag) == PLUMB_OK)
    error = load(device, out, text, &j, "cuModuleLoad");
  plumb_arena_destroy(arena);
  return error;
}

#define MODULE(name, handle) \
  driver_module *name = driver_handle_get(handle, DRIVER_KIND_MODULE); \
  if (!name) return DRIVER_INVALID_HANDLE
#define FUNCTION(name, handle) \
  driver_function *name = driver_handle_get(handle, DRIVER_KIND_FUNCTION); \
  if (!name) return DRIVER_INVALID_HANDLE

EXPORT int cuModuleUnload(void *module) {
  DRIVER_CALL;
  MODULE(m, module);
  driver_module_unload(device, m);
  return driver_fault(device);
}
EXPORT int cuModuleGetFunction(void **out, void *module, const char *name) {
  CU_CALL;
  MODULE(m, module);
  if (!out || !name) return DRIVER_INVALID_VALUE;
  *out = driver_module_function(m, name);
  return *out ? DRIVER_OK : DRIVER_NOT_FOUND;
}
EXPORT int cuModuleGetFunctionCount(unsigned *count, void *module) {
  CU_CALL;
  MODULE(m, module);
  if (!count) return DRIVER_INVALID_VALUE;
  *count = (unsigned)m->function_count;
  return DRIVER_OK;
}
EXPORT int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module) {
  CU_CALL;
  MODULE(m, module);
  for (unsigned i = 0; functions && i < count && i < m->function_count; i++)
    functions[i] = &m->functions[i];
  return functions ? DRIVER_OK : DRIVER_INVALID_VALUE;
}
EXPORT int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *module, const char *name) {
  CU_CALL;
  uint64_t size = 0;
  MODULE(m, module);
  if (!name) return DRIVER_INVALID_VALUE;
  uint64_t at = driver_module_variable(device, m, name, &size);
  if (!at) return DRIVER_NOT_FOUND;
  if (address) *address = at;
  if (bytes) *bytes = size;
  return DRIVER_OK;
}
EXPORT int cuModuleGetLoadingMode(int *mode) {
  if (!mode) return DRIVER_INVALID_VALUE;
  *mode = 2; /* lazy */
  return DRIVER_OK;
}

/* --- libraries: a module under another name, its kernels usable as functions --- */

EXPORT int cuLibraryLoadData(void **out, const void *code, int *jit_options, void **jit_values,
                             unsigned jit_count, int *options, void **values, unsigned count) {
  CU_CALL;
  (void)options, (void)values, (void)count;
  jit j = read_options(jit_count, jit_options, jit_values);
  return load(device, out, code, &j, "cuLibraryLoadData");
}
EXPORT int cuLibraryUnload(void *library) {
  return cuModuleUnload(library);
}
EXPORT int cuLibraryGetModule(void **module, void *library) {
  CU_CALL;
  MODULE(m, library);
  if (!module) return DRIVER_INVALID_VALUE;
  *module = m;
  return DRIVER_OK;
}
EXPORT int cuLibraryGetKernel(void **out, void *library, const char *name) {
  return cuModuleGetFunction(out, library, name);
}
EXPORT int cuLibraryGetKernelCount(unsigned *count, void *library) {
  return cuModuleGetFunctionCount(count, library);
}
EXPORT int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library) {
  return cuModuleEnumerateFunctions(kernels, count, library);
}
EXPORT int cuLibraryGetGlobal(uint64_t *address, size_t *bytes, void *library, const char *name) {
  return cuModuleGetGlobal_v2(address, bytes, library, name);
}
EXPORT int cuKernelGetFunction(void **out, void *kernel) {
  CU_CALL;
  FUNCTION(f, kernel);
  if (!out) return DRIVER_INVALID_VALUE;
  *out = f;
  return DRIVER_OK;
}
EXPORT int cuKernelGetName(const char **name, void *kernel) {
  CU_CALL;
  FUNCTION(f, kernel);
  if (!name) return DRIVER_INVALID_VALUE;
  *name = f->fn->name;
  return DRIVER_OK;
}

/* --- linking: PTX of one or several inputs becomes one module's text --- */

typedef struct linking {
  plumb_arena *arena;
  const char *text; /* of the one input so far */
  jit j;
} linking;

enum { INPUT_PTX = 1, INPUT_FATBINARY = 2 };

EXPORT int cuLinkCreate_v2(unsigned count, int *options, void **values, void **out) {
  CU_CALL;
  if (!out) return DRIVER_INVALID_VALUE;
  plumb_arena *arena = plumb_arena_create();
  linking *l = PLUMB_NEW(arena, linking);
  l->arena = arena;
  l->j = read_options(count, options, values);
  driver_handle_put(l, DRIVER_KIND_LINK, l);
  *out = l;
  return DRIVER_OK;
}
EXPORT int cuLinkAddData_v2(void *state, int type, void *data, size_t bytes, const char *name,
                            unsigned count, int *options, void **values) {
  CU_CALL;
  (void)name, (void)count, (void)options, (void)values;
  linking *l = driver_handle_get(state, DRIVER_KIND_LINK);
  if (!l) return DRIVER_INVALID_HANDLE;
  if (!data || !bytes) return DRIVER_INVALID_VALUE;
  plumb_diag diag = {0};
  if (type != INPUT_PTX) {
    plumb_fail(&diag, PLUMB_UNSUPPORTED, NULL, 0, 0, "linking takes PTX; the input's type is %d",
               type);
    tell(&l->j, "cuLinkAddData", &diag);
    return DRIVER_NOT_SUPPORTED;
  }
  if (l->text) {
    plumb_fail(&diag, PLUMB_UNSUPPORTED, NULL, 0, 0, "linking of several inputs");
    tell(&l->j, "cuLinkAddData", &diag);
    return DRIVER_NOT_SUPPORTED;
  }
  l->text = plumb_arena_copy_text(l->arena, data, strnlen(data, bytes));
  return DRIVER_OK;
}
EXPORT int cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, int *options,
                            void **values) {
  char *text;
  size_t length;
  plumb_arena *arena = plumb_arena_create();
  int error = DRIVER_FILE_NOT_FOUND;
  if (path && plumb_file_read(arena, path, &text, &length, NULL) == PLUMB_OK)
    error = cuLinkAddData_v2(state, type, text, length, path, count, options, values);
  plumb_arena_destroy(arena);
  return error;
}
EXPORT int cuLinkComplete(void *state, void **image, size_t *bytes) {
  CU_CALL;
  linking *l = driver_handle_get(state, DRIVER_KIND_LINK);
  if (!l) return DRIVER_INVALID_HANDLE;
  if (!image || !l->text) return DRIVER_INVALID_VALUE;
  /* Loading it once tells whether it is good. */
  driver_module *m;
  plumb_diag diag = {0};
  int error = driver_module_load(device, l->text, NULL, 0, &m, &diag);
  if (error) {
    tell(&l->j, "cuLinkComplete", &diag);
    return cu_done(error);
  }
  driver_module_unload(device, m);
  *image = (void *)(uintptr_t)l->text;
  if (bytes) *bytes = strlen(l->text) + 1;
  return DRIVER_OK;
}
EXPORT int cuLinkDestroy(void *state) {
  DRIVER_CALL;
  linking *l = driver_handle_get(state, DRIVER_KIND_LINK);
  if (!l) return DRIVER_INVALID_HANDLE;
  driver_handle_drop(l);
  plumb_arena_destroy(l->arena);
  return DRIVER_OK;
}

/* --- functions --- */

/* CUfunction_attribute */
enum {
  ATTRIBUTE_MAX_THREADS = 0,
  ATTRIBUTE_SHARED = 1,
  ATTRIBUTE_CONST = 2,
  ATTRIBUTE_LOCAL = 3,
  ATTRIBUTE_REGISTERS = 4,
  ATTRIBUTE_PTX_VERSION = 5,
  ATTRIBUTE_BINARY_VERSION = 6,
  ATTRIBUTE_MAX_DYNAMIC = 8,
  ATTRIBUTE_CARVEOUT = 9,
  ATTRIBUTE_CLUSTER_WIDTH = 11,
  ATTRIBUTE_CLUSTER_DEPTH = 13,
  ATTRIBUTE_NON_PORTABLE = 14,
  ATTRIBUTE_SCHEDULING = 15,
  ATTRIBUTE_COUNT = 16
};

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function) {
  CU_CALL;
  FUNCTION(f, function);
  if (!value || attribute < 0 || attribute >= ATTRIBUTE_COUNT) return DRIVER_INVALID_VALUE;
  switch (attribute) {
    case ATTRIBUTE_MAX_THREADS:
      *value = driver_function_max_threads(f);
      break;
    case ATTRIBUTE_SHARED:
      *value = (int)f->shared_bytes;
      break;
    case ATTRIBUTE_LOCAL:
      *value = (int)f->fn->frame_bytes;
      break;
    case ATTRIBUTE_REGISTERS:
      *value = driver_function_registers(f);
      break;
    case ATTRIBUTE_PTX_VERSION:
      *value = f->module->ptx_arch;
      break;
    case ATTRIBUTE_BINARY_VERSION:
      *value = device->arch->arch;
      break;
    case ATTRIBUTE_MAX_DYNAMIC:
      *value = f->max_dynamic_bytes;
      break;
    case ATTRIBUTE_CARVEOUT:
      *value = f->carveout;
      break;
    default:
      *value = 0;
  }
  return DRIVER_OK;
}
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
  CU_CALL;
  FUNCTION(f, function);
  int most = (device->arch->shared_optin_kib << 10) - (int)f->shared_bytes;
  switch (attribute) {
    case ATTRIBUTE_MAX_DYNAMIC:
      if (value < 0 || value > most) return DRIVER_INVALID_VALUE;
      f->max_dynamic_bytes = value;
      return DRIVER_OK;
    case ATTRIBUTE_CARVEOUT:
      f->carveout = value;
      return DRIVER_OK;
    case ATTRIBUTE_NON_PORTABLE:
      f->non_portable_cluster = value != 0;
      return DRIVER_OK;
    case ATTRIBUTE_SCHEDULING: /* a preference that changes no result */
      return DRIVER_OK;
    default:
      return attribute >= ATTRIBUTE_CLUSTER_WIDTH && attribute <= ATTRIBUTE_CLUSTER_DEPTH
                 ? DRIVER_NOT_SUPPORTED
                 : DRIVER_INVALID_VALUE;
  }
}
EXPORT int cuKernelGetAttribute(int *value, int attribute, void *kernel, int ordinal) {
  return ordinal ? (int)DRIVER_INVALID_DEVICE : cuFuncGetAttribute(value, attribute, kernel);
}
EXPORT int cuKernelSetAttribute(int attribute, int value, void *kernel, int ordinal) {
  return ordinal ? (int)DRIVER_INVALID_DEVICE : cuFuncSetAttribute(kernel, attribute, value);
}
/* Preferences that change no result. */
EXPORT int cuFuncSetCacheConfig(void *function, int config) {
  CU_CALL;
  (void)config;
  FUNCTION(f, function);
  (void)f;
  return DRIVER_OK;
}
EXPORT int cuFuncSetSharedMemConfig(void *function, int config) {
  return cuFuncSetCacheConfig(function, config);
}
EXPORT int cuFuncGetModule(void **module, void *function) {
  CU_CALL;
  FUNCTION(f, function);
  if (!module) return DRIVER_INVALID_VALUE;
  *module = f->module;
  return DRIVER_OK;
}
EXPORT int cuFuncGetName(const char **name, void *function) {
  return cuKernelGetName(name, function);
}
EXPORT int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes) {
  CU_CALL;
  FUNCTION(f, function);
  if (!offset || index >= f->fn->param_count) return DRIVER_INVALID_VALUE;
  *offset = f->fn->params[index].offset;
  if (bytes) *bytes = f->fn->params[index].size_bytes;
  return DRIVER_OK;
}
EXPORT int cuFuncIsLoaded(int *state, void *function) {
  CU_CALL;
  FUNCTION(f, function);
  (void)f;
  *state = 1;
  return DRIVER_OK;
}
EXPORT int cuFuncLoad(void *function) {
  CU_CALL;
  FUNCTION(f, function);
  (void)f;
  return DRIVER_OK;
}

/* --- launches --- */

bool cu_read_extra(void **extra, const void **buffer, size_t *bytes) {
  for (; extra && extra[0]; extra += 2) {
    if ((uintptr_t)extra[0] == 1)
      *buffer = extra[1];
    else if ((uintptr_t)extra[0] == 2)
      *bytes = *(const size_t *)extra[1];
    else
      return false;
  }
  return true;
}

static int launch(driver_device *d, void *function, const uint32_t grid[3], const uint32_t block[3],
                  unsigned shared_bytes, void *stream, const driver_launch_options *options,
                  void **params, void **extra) {
  static void *const none[1];
  driver_function *f;
  driver_operation op = {.kind = DRIVER_LAUNCH};
  const void *buffer = NULL;
  size_t bytes = 0;
  DRIVER_TRY(cu_done(driver_function_of(d, function, &f)));
  if (!cu_read_extra(extra, &buffer, &bytes) || (params && buffer)) return DRIVER_INVALID_VALUE;
  DRIVER_TRY(cu_done(driver_launch_make(d, f, grid, block, shared_bytes, options,
                                        params || buffer || f->fn->param_bytes ? params : none,
                                        buffer, bytes, &op.launch)));
  return cu_done(driver_submit(d, driver_stream_of(stream), &op));
}

EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared_bytes, void *stream,
                          void **params, void **extra) {
  CU_CALL;
  uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  return launch(device, function, grid, block, shared_bytes, stream, NULL, params, extra);
}
EXPORT int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                                     unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
                                     void *stream, void **params) {
  CU_CALL;
  uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  driver_launch_options options = {.cooperative = true};
  return launch(device, function, grid, block, shared_bytes, stream, &options, params, NULL);
}
EXPORT int cuLaunchKernelEx(const abi_cu_launch_config *c, void *function, void **params,
                            void **extra) {
  CU_CALL;
  if (!c) return DRIVER_INVALID_VALUE;
  driver_launch_options options = driver_launch_attributes(c->attributes, c->attribute_count);
  return launch(device, function, c->grid, c->block, c->dynamic_bytes, c->stream, &options, params,
                extra);
}
PER_THREAD(cuLaunchKernel, _ptsz);
PER_THREAD(cuLaunchKernelEx, _ptsz);
PER_THREAD(cuLaunchCooperativeKernel, _ptsz);

/* --- occupancy --- */

EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function,
                                                                int threads, size_t dynamic_bytes,
                                                                unsigned flags) {
  CU_CALL;
  (void)flags;
  FUNCTION(f, function);
  if (!blocks || threads <= 0) return DRIVER_INVALID_VALUE;
  *blocks = driver_occupancy(device, f, threads, dynamic_bytes);
  return DRIVER_OK;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                       size_t dynamic_bytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                              dynamic_bytes, 0);
}
/* The smallest grid that fills the device with the largest blocks, in steps of a warp. */
EXPORT int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *function,
                                                     size_t (*dynamic_of)(int),
                                                     size_t dynamic_bytes, int limit,
                                                     unsigned flags) {
  CU_CALL;
  (void)flags;
  FUNCTION(f, function);
  if (!grid || !block) return DRIVER_INVALID_VALUE;
  int most = driver_function_max_threads(f), best = 0;
  if (limit > 0 && limit < most) most = limit;
  for (int threads = most; threads > 0; threads = (threads - 1) / 32 * 32) {
    size_t dynamic = dynamic_of ? dynamic_of(threads) : dynamic_bytes;
    int blocks = driver_occupancy(device, f, threads, dynamic);
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * device->arch->multiprocessors;
  }
  return best ? DRIVER_OK : DRIVER_INVALID_VALUE;
}
EXPORT int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function,
                                            size_t (*dynamic_of)(int), size_t dynamic_bytes,
                                            int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, dynamic_of, dynamic_bytes,
                                                   limit, 0);
}
EXPORT int cuOccupancyMaxActiveClusters(int *clusters, void *function,
                                        const abi_cu_launch_config *c) {
  CU_CALL;
  FUNCTION(f, function);
  if (!clusters || !c) return DRIVER_INVALID_VALUE;
  driver_launch_options options = driver_launch_attributes(c->attributes, c->attribute_count);
  const uint32_t *size = options.cluster;
  *clusters =
      driver_cluster_occupancy(device, f, size[0] ? size[0] * size[1] * size[2] : 1,
                               (int)(c->block[0] * c->block[1] * c->block[2]), c->dynamic_bytes);
  return DRIVER_OK;
}

/* Programs that look names up by themselves may take the first ones. */
FIRST_NAME(cuLinkAddData);
FIRST_NAME(cuLinkAddFile);
FIRST_NAME(cuLinkCreate);
FIRST_NAME(cuModuleGetGlobal);

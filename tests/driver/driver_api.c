/* The driver API, by the names that a program finds in libcuda.so.1: argv[1] is its path. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/abi.h"
#include "tests/unit/check.h"

static void *library;

/* Calls `name` with `types`, e.g. CALL((unsigned), cuInit, 0). */
#define CALL(types, name, ...) (((int(*) types)dlsym(library, #name))(__VA_ARGS__))
#define OK(types, name, ...) \
  do { \
    int error_ = CALL(types, name, __VA_ARGS__); \
    CHECK(error_ == 0, #name " returns %d", error_); \
  } while (0)
#define FAILS(code, types, name, ...) \
  do { \
    int error_ = CALL(types, name, __VA_ARGS__); \
    CHECK(error_ == (code), #name " returns %d, not %d", error_, code); \
  } while (0)

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 scale = 3;\n"
    ".visible .entry scaled(.param .u64 p, .param .u32 n) {\n"
    ".reg .pred %q; .reg .b32 %r<6>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n"
    "setp.ge.u32 %q, %r2, %r1; @%q bra end;\n"
    "mul.wide.u32 %d2, %r2, 4; add.s64 %d1, %d1, %d2;\n"
    "ld.global.u32 %r3, [%d1]; ld.global.u32 %r4, [scale]; mul.lo.u32 %r3, %r3, %r4;\n"
    "st.global.u32 [%d1], %r3;\nend: ret; }\n";

static void check_start(void) {
  int count = 0, ordinal, major = 0, version = 0;
  char name[64] = "";
  const char *message = NULL;
  FAILS(3, (int *), cuDeviceGetCount, &count);
  OK((unsigned), cuInit, 0);
  OK((int *), cuDeviceGetCount, &count);
  OK((int *, int), cuDeviceGet, &ordinal, 0);
  FAILS(101, (int *, int), cuDeviceGet, &ordinal, 1);
  OK((char *, int, int), cuDeviceGetName, name, sizeof name, 0);
  OK((int *, int, int), cuDeviceGetAttribute, &major, 75, 0);
  OK((int *), cuDriverGetVersion, &version);
  CHECK(count == 1 && major == 8 && version >= 12000, "%d %d %d", count, major, version);
  CHECK(!strcmp(name, "Plumbline sm_80 (A100)"), "%s", name);
  OK((int, const char **), cuGetErrorName, 700, &message);
  CHECK(!strcmp(message, "CUDA_ERROR_ILLEGAL_ADDRESS"), "%s", message);
  OK((int, const char **), cuGetErrorString, 700, &message);
  CHECK(!strcmp(message, "an illegal memory access was encountered"), "%s", message);
  FAILS(1, (int, const char **), cuGetErrorName, 12345, &message);
}

static int launch(void *function, unsigned threads, uint64_t address, unsigned n) {
  void *params[] = {&address, &n};
  int error = CALL((void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    void *, void **, void **),
                   cuLaunchKernel, function, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
  return error ? error : CALL((void *), cuStreamSynchronize, NULL);
}

/* A graph of the four kinds of nodes that the driver lays out in its own way. */
static void add_one(void *user) {
  ++*(int *)user;
}
static void check_graph(void *function, uint64_t address) {
  void *graph, *fill, *kernel, *copy, *host, *exec;
  unsigned n = 4, got[4] = {0}, called = 0;
  void *params[] = {&address, &n};
  size_t count = 0;
  typedef void *const *needs;
  OK((void **, unsigned), cuGraphCreate, &graph, 0);
  abi_memset f = {(void *)(uintptr_t)address, 0, 5, 4, 4, 1};
  OK((void **, void *, needs, size_t, abi_memset *, void *), cuGraphAddMemsetNode, &fill, graph,
     NULL, 0, &f, NULL);
  abi_cu_kernel_node k = {.function = function,
                          .grid = {1, 1, 1},
                          .block = {4, 1, 1},
                          .params = params},
                     asked;
  OK((void **, void *, needs, size_t, abi_cu_kernel_node *), cuGraphAddKernelNode_v2, &kernel,
     graph, &fill, 1, &k);
  abi_cu_memcpy3d c = {.src_type = 2,
                       .src_device = address,
                       .dst_type = 1,
                       .dst_host = got,
                       .width = sizeof got,
                       .height = 1,
                       .depth = 1};
  OK((void **, void *, needs, size_t, abi_cu_memcpy3d *, void *), cuGraphAddMemcpyNode, &copy,
     graph, &kernel, 1, &c, NULL);
  abi_host_node h = {add_one, &called};
  OK((void **, void *, needs, size_t, abi_host_node *), cuGraphAddHostNode, &host, graph, &copy, 1,
     &h);
  FAILS(1, (void **, void *, needs, size_t, abi_host_node *), cuGraphAddHostNode, &host, graph,
        &graph, 1, &h);
  OK((void *, void **, size_t *), cuGraphGetNodes, graph, NULL, &count);
  OK((void *, abi_cu_kernel_node *), cuGraphKernelNodeGetParams_v2, kernel, &asked);
  CHECK(count == 4 && asked.function == function && asked.block[0] == 4 &&
            *(unsigned *)asked.params[1] == 4,
        "%zu nodes, %u threads", count, asked.block[0]);
  OK((void **, void *, unsigned long long), cuGraphInstantiateWithFlags, &exec, graph, 0);
  OK((void *, void *), cuGraphLaunch, exec, NULL);
  CHECK(got[3] == 50 && called == 1, "%u, %u calls", got[3], called);
  OK((void *), cuGraphExecDestroy, exec);
  OK((void *), cuGraphDestroy, graph);
}

static void check_words(uint64_t address) {
  uint32_t value = 0;
  OK((void *, uint64_t, uint32_t, unsigned), cuStreamWriteValue32_v2, NULL, address, 0xfffffff0u,
     0);
  OK((void *, uint64_t, size_t), cuMemcpyDtoH, &value, address, sizeof value);
  CHECK(value == 0xfffffff0u, "%x", value);
  const struct {
    uint32_t wanted;
    unsigned how; /* at least, equal, and, nor */
    int error;
  } waits[] = {{0xffffff00u, 0, 0},   {0xfffffff1u, 0, 801}, {8, 0, 801},  {0xfffffff0u, 1, 0},
               {0xfffffff1u, 1, 801}, {0x10, 2, 0},          {15, 2, 801}, {14, 3, 0},
               {15, 3, 801}};
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
    FAILS(waits[i].error, (void *, uint64_t, uint32_t, unsigned), cuStreamWaitValue32_v2, NULL,
          address, waits[i].wanted, waits[i].how);
}

static void check_tensor_map(void) {
  _Alignas(128) unsigned char map[128], other[128];
  uint64_t dims[] = {64, 32}, strides[] = {256};
  uint32_t box[] = {16, 8}, steps[] = {1, 1};
#define TILED \
  (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, \
   const uint32_t *, int, int, int, int)
  void *address = (void *)0x7f0000001000, *moved = (void *)0x7f0000002000;
  OK(TILED, cuTensorMapEncodeTiled, map, 2, 2, address, dims, strides, box, steps, 0, 0, 0, 0);
  OK(TILED, cuTensorMapEncodeTiled, other, 2, 2, moved, dims, strides, box, steps, 0, 0, 0, 0);
  CHECK(memcmp(map, other, sizeof map) != 0, "maps of two tensors are one");
  OK((void *, void *), cuTensorMapReplaceAddress, map, moved);
  CHECK(memcmp(map, other, sizeof map) == 0, "the address is not the only difference");
  strides[0] = 250; /* a multiple of 16 */
  FAILS(1, TILED, cuTensorMapEncodeTiled, map, 2, 2, address, dims, strides, box, steps, 0, 0, 0,
        0);
  FAILS(1, TILED, cuTensorMapEncodeTiled, map, 2, 6, address, dims, strides, box, steps, 0, 0, 0,
        0);
}

static void check_module(void) {
  void *context, *module, *function, *found;
  uint64_t address, scale;
  size_t size = 0;
  uint32_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8];
  OK((void **, unsigned, int), cuCtxCreate_v2, &context, 0, 0);
  OK((void **, const void *), cuModuleLoadData, &module, text);
  OK((void **, void *, const char *), cuModuleGetFunction, &function, module, "scaled");
  FAILS(500, (void **, void *, const char *), cuModuleGetFunction, &found, module, "other");
  OK((uint64_t *, size_t *, void *, const char *), cuModuleGetGlobal_v2, &scale, &size, module,
     "scale");
  CHECK(size == 4, "%zu", size);
  OK((uint64_t *, size_t), cuMemAlloc_v2, &address, sizeof values);
  OK((uint64_t, const void *, size_t), cuMemcpyHtoD_v2, address, values, sizeof values);
  CHECK(launch(function, 8, address, 8) == 0, "launch");
  OK((uint64_t, unsigned, size_t), cuMemsetD32_v2, scale, 10, 1);
  CHECK(launch(function, 8, address, 7) == 0, "launch");
  OK((void *, uint64_t, size_t), cuMemcpyDtoH_v2, got, address, sizeof got);
  CHECK(got[0] == 30 && got[6] == 210 && got[7] == 24, "%u %u %u", got[0], got[6], got[7]);
  OK((uint64_t, unsigned char, size_t), cuMemsetD8_v2, address + 4, 0xab, 3);
  OK((void *, uint64_t, size_t), cuMemcpyDtoH_v2, got, address, 8);
  CHECK(got[1] == (60 & 0xff000000u) + 0xababab, "%x", got[1]);

  /* A packed buffer of parameters. */
  struct {
    uint64_t p;
    uint32_t n;
  } packed = {address, 1};
  size_t packed_bytes = 12;
  void *extra[] = {(void *)1, &packed, (void *)2, &packed_bytes, NULL};
  OK((void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
      void **),
     cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra);
  OK((void *, uint64_t, size_t), cuMemcpyDtoH_v2, got, address, 4);
  CHECK(got[0] == 300, "%u", got[0]);
  FAILS(1, (void *, uint64_t, size_t), cuMemcpyDtoH_v2, got, address, sizeof values + 1);
  FAILS(400, (void *, int), cuFuncSetCacheConfig, &packed, 0);
  CHECK(launch(function, 2048, address, 8) == 1, "2048 threads");

  check_graph(function, address);
  check_words(address);

  /* A fault stays with its context; a fresh one is free of it. */
  CHECK(launch(function, 9, address, 9) == 700, "past the end");
  FAILS(700, (uint64_t, unsigned char, size_t), cuMemsetD8_v2, address, 0, 1);
  OK((void *), cuCtxDestroy_v2, context);
  OK((void **, unsigned, int), cuCtxCreate_v2, &context, 0, 0);
  CHECK(launch(function, 8, address, 8) == 0, "after a fresh context");
  OK((uint64_t), cuMemFree_v2, address);
  FAILS(1, (uint64_t), cuMemFree_v2, address);
  OK((void *), cuModuleUnload, module);
  FAILS(400, (void *, void *, const char *), cuModuleGetFunction, &found, module, "scaled");
  OK((void *), cuCtxDestroy_v2, context);
}

static void check_bad_images(void) {
  void *module;
  char log[256] = "";
  int options[] = {5, 6};
  void *values[] = {log, (void *)sizeof log};
  FAILS(218, (void **, const void *, unsigned, int *, void **), cuModuleLoadDataEx, &module,
        ".version 7.0\n.target sm_70\n.adress_size 64\n", 2, options, values);
  CHECK(strstr(log, ":3:"), "%s", log);
  FAILS(209, (void **, const void *), cuModuleLoadData, &module, "\177ELF\2\1\1");
  FAILS(301, (void **, const char *), cuModuleLoad, &module, "/nonexistent/file");
  FAILS(1, (void **, const void *), cuModuleLoadData, &module, NULL);
}

/* Rows of a window between pitched memories, and fills of every element size. */
static void check_windows(void) {
  uint64_t address;
  size_t pitch;
  uint16_t rows[3][4];
  OK((uint64_t *, size_t *, size_t, size_t, unsigned), cuMemAllocPitch_v2, &address, &pitch, 8, 3,
     4);
  OK((uint64_t, size_t, unsigned short, size_t, size_t), cuMemsetD2D16_v2, address, pitch, 0x1234,
     4, 3);
  OK((uint64_t, size_t, unsigned, size_t, size_t), cuMemsetD2D32_v2, address + 4, pitch, 0x55667788,
     1, 2);
  abi_cu_memcpy2d c = {.src_type = 2,
                       .src_device = address,
                       .src_pitch = pitch,
                       .dst_type = 1,
                       .dst_host = rows,
                       .dst_pitch = 8,
                       .width = 8,
                       .height = 3};
  OK((const abi_cu_memcpy2d *), cuMemcpy2D_v2, &c);
  CHECK(rows[0][1] == 0x1234 && rows[1][2] == 0x7788 && rows[2][3] == 0x1234, "%x %x %x",
        rows[0][1], rows[1][2], rows[2][3]);
  FAILS(1, (uint64_t, size_t, unsigned, size_t, size_t), cuMemsetD2D32_v2, address, pitch, 0, 2, 4);
  OK((uint64_t), cuMemFree_v2, address);
}

/* The caller's own memory: registered to its exact end, or as it is mapped. */
static void check_ptx_run(void) {
  int (*run)(const char *, int, void **, int, int, int, int, int, int, int) = (int (*)(
      const char *, int, void **, int, int, int, int, int, int, int))dlsym(library, "ptx_run");
  uint32_t *own = malloc(12 * 4);
  void *args[] = {own, (void *)(uintptr_t)8};
  for (uint32_t i = 0; i < 12; i++) own[i] = i;
  OK((void *, size_t), plumb_ptx_register, own, 8 * 4);
  FAILS(712, (void *, size_t), plumb_ptx_register, own, 8 * 4);
  CHECK(run(text, 2, args, 8, 1, 1, 1, 1, 1, 0) == 0 && own[7] == 21 && own[8] == 8, "%u %u",
        own[7], own[8]);
  args[1] = (void *)(uintptr_t)9;
  CHECK(run(text, 2, args, 9, 1, 1, 1, 1, 1, 0) == 700 && own[8] == 8, "past what is registered");
  args[0] = own + 2; /* inside */
  args[1] = (void *)(uintptr_t)6;
  CHECK(run(text, 2, args, 8, 1, 1, 1, 1, 1, 0) == 0 && own[2] == 18, "%u", own[2]);
  OK((void *), plumb_ptx_unregister, own);
  FAILS(713, (void *), plumb_ptx_unregister, own);
  args[0] = own;
  CHECK(run(text, 2, args, 2, 1, 1, 1, 1, 1, 0) == 0 && own[0] == 0 && own[1] == 9, "a mapping");
  CHECK(run(text, 1, args, 1, 1, 1, 1, 1, 1, 0) == 1, "too few arguments");
  CHECK(run("nothing", 2, args, 1, 1, 1, 1, 1, 1, 0) == 218, "no PTX");
  free(own);
  /* A buffer whose second page is a mapping of its own. */
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED && madvise(pages + page, page, MADV_DONTDUMP) == 0, "two mappings");
  uint32_t *across = (uint32_t *)(void *)(pages + page) - 4;
  for (uint32_t i = 0; i < 8; i++) across[i] = i;
  args[0] = across;
  args[1] = (void *)(uintptr_t)8;
  CHECK(run(text, 2, args, 8, 1, 1, 1, 1, 1, 0) == 0 && across[3] == 9 && across[7] == 21, "%u %u",
        across[3], across[7]);
  munmap(pages, 2 * page);
}

static void check_entry_points(void) {
  void *found = NULL;
  int status = 9;
  OK((const char *, void **, int, uint64_t, int *), cuGetProcAddress_v2, "cuMemAlloc", &found,
     12000, 0, &status);
  CHECK(found && found == dlsym(library, "cuMemAlloc_v2") && status == 0, "cuMemAlloc");
  OK((const char *, void **, int, uint64_t, int *), cuGetProcAddress_v2, "cuCtxCreate", &found,
     12000, 0, &status);
  CHECK(found == dlsym(library, "cuCtxCreate_v3"), "cuCtxCreate");
  FAILS(500, (const char *, void **, int, uint64_t, int *), cuGetProcAddress_v2, "cuNothing",
        &found, 12000, 0, &status);
  CHECK(!found && status == 1, "cuNothing");
}

/* What is not there says so. */
static void check_unsupported(void) {
  FAILS(801, (void **, const void *), cuArrayCreate_v2, NULL, NULL);
  FAILS(801, (void *, const void *), cuTexObjectCreate, NULL, NULL);
}

int main(int argc, char **argv) {
  setenv("PLUMB_ARCH", "sm_80", 1);
  library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) {
    fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: driver_api PATH");
    return 1;
  }
  check_start();
  check_module();
  check_bad_images();
  check_windows();
  check_entry_points();
  check_tensor_map();
  check_unsupported();
  check_ptx_run();
  return check_finish();
}

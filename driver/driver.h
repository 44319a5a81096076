/* The inside of the library that takes the place of CUDA's (README.md): one device in the
 * process, what is loaded into it, and what streams do. The files cu_*.c and cudart_*.c
 * are the driver API and the runtime API on top of it; nobody outside driver/ includes this.
 *
 * Functions return a driver_error; its numbers are those of CUresult and cudaError_t. All of
 * them expect the device's lock to be held (DRIVER_CALL), which every exported function takes.
 * Work is done when it is given to a stream, so a stream is in order and never busy.
 */
#ifndef PLUMB_DRIVER_DRIVER_H
#define PLUMB_DRIVER_DRIVER_H

#include <pthread.h>
#include <time.h>

#include "driver/abi.h"
#include "ir/freedom.h"
#include "targets/cpu/cpu.h"

#define EXPORT __attribute__((visibility("default")))

typedef enum driver_error {
#define X(name, code, runtime, driver, text) DRIVER_##name = code,
#include "driver/error.def"
#undef X
} driver_error;

#define DRIVER_TRY(expr) \
  do { \
    int driver_try_error = (int)(expr); \
    if (driver_try_error) return driver_try_error; \
  } while (0)

/* Names and text of a code, static; NULL for one that is not known. */
const char *driver_error_name(int code, bool runtime);
const char *driver_error_text(int code);

/* --- the device --- */

typedef struct driver_arch {
  int arch; /* 80 is sm_80 */
  const char *board;
  int multiprocessors, clock_mhz, memory_gib, memory_clock_mhz, bus_bits, l2_kib;
  int shared_kib, shared_optin_kib, threads, blocks, copy_engines;
} driver_arch;

typedef struct driver_context {
  int fault; /* of a launch; every later call returns it */
  bool primary;
  unsigned flags;
  struct driver_context *below; /* of the thread's stack */
} driver_context;

typedef struct driver_device {
  pthread_mutex_t lock; /* recursive: a host function in a stream may call again */
  plumb_arena *arena;
  plumb_machine *machine;
  const driver_arch *arch;
  plumb_run_options options; /* its time is when the last launch has ended */
  bool trust;                /* memory that was never written may be read */
  unsigned freedom;          /* readings other than the default: plumb_freedom_parse */
  bool notes;                /* say where what a launch leaves depends on the reading (reading.c) */
  driver_context primary;
  uint64_t heap_bytes, stack_bytes, fifo_bytes; /* limits that programs set and ask for */
} driver_device;

/* Where a limit is kept, by CUlimit, whose numbers cudaLimit shares: 0 stack, 1 printf,
 * 2 heap. NULL for all others. cu_device.c. */
uint64_t *driver_limit_of(driver_device *device, int limit);

/* The process's device; made on the first call. What the environment says, as plumb run
 * sets it: PLUMB_ARCH=sm_90, PLUMB_ALLOW=uninitialised,races, PLUMB_MODEL=a100, PLUMB_SEED=N,
 * PLUMB_JOBS=N, PLUMB_STEP_LIMIT=N, and PLUMB_FREEDOM=contract=fused,..., which asks for notes
 * too, even where it is empty. */
driver_device *driver_lock(void);
void driver_unlock(driver_device **device);
/* Declares `device`, locked until the enclosing block is left. */
#define DRIVER_CALL \
  driver_device *device __attribute__((cleanup(driver_unlock))) = driver_lock(); \
  (void)device

/* The calling thread's context: the current one, else the primary one. */
driver_context *driver_context_now(driver_device *d);
/* The context on top of the thread's stack; NULL when none was made current. */
extern __thread driver_context *driver_current;
/* What a fault left behind in the calling thread's context. */
int driver_fault(driver_device *d);

/* Value of a CUdevice_attribute (same numbers as cudaDeviceAttr); false if not known. */
bool driver_attribute(const driver_device *d, int attribute, int *out);
uint64_t driver_memory_total(const driver_device *d);

/* --- handles --- */

/* Objects that programs hold: each lives until it is destroyed, and is known by address, so
 * that a wrong handle is an error and no crash. */
typedef enum driver_kind {
  DRIVER_KIND_NONE,
  DRIVER_KIND_CONTEXT,
  DRIVER_KIND_MODULE,
  DRIVER_KIND_FUNCTION,
  DRIVER_KIND_ENTRY, /* host address of a __global__ function, or its cudaKernel_t */
  DRIVER_KIND_VARIABLE,
  DRIVER_KIND_STREAM,
  DRIVER_KIND_EVENT,
  DRIVER_KIND_GRAPH,
  DRIVER_KIND_NODE,
  DRIVER_KIND_EXEC,
  DRIVER_KIND_POOL,
  DRIVER_KIND_GRAPH_MEMORY, /* the address of an allocation node's memory */
  DRIVER_KIND_LINK,
  DRIVER_KIND_HOST_RANGE /* cudaHostRegister */
} driver_kind;

/* `key` is found as `object` of `kind` until it is dropped. */
void driver_handle_put(const void *key, driver_kind kind, void *object);
void driver_handle_drop(const void *key);
/* NULL if `key` is no such handle. */
void *driver_handle_get(const void *key, driver_kind kind);
/* Calls `visit` for every object of a kind until it returns true; returns that object. */
void *driver_handle_find(driver_kind kind, bool (*visit)(void *object, void *user), void *user);

/* --- modules --- */

typedef struct driver_function {
  struct driver_module *module;
  const plumb_function *fn;
  uint32_t shared_bytes; /* static */
  int max_dynamic_bytes; /* what was asked for; default 48 KiB less the static ones */
  int carveout;
  bool non_portable_cluster;
  unsigned noted, trials; /* reading.c: readings that need no trial, and how many there were */
  bool looked;            /* `noted` has the readings that change nothing */
} driver_function;

typedef struct driver_module {
  plumb_arena *arena;
  plumb_module *loaded;
  plumb_program *program;
  char *text;
  int ptx_arch;               /* of its .target: 80 for sm_80 */
  driver_function *functions; /* one a kernel */
  size_t function_count;
  plumb_module *readings[PLUMB_FREEDOM_COUNT];       /* NULL: no such place, or not asked yet */
  const plumb_program *counted[PLUMB_FREEDOM_COUNT]; /* whose functions say where the places are */
  bool has_readings;
} driver_module;

/* Loads PTX text (terminated), a fat binary, or its wrapper from the process's own memory.
 * `twins`: names of variables that the host reaches (managed). The message of a failure goes
 * to `diag`. INVALID_IMAGE, INVALID_PTX, NO_BINARY, NOT_SUPPORTED. */
int driver_module_load(driver_device *d, const void *image, const char *const *twins,
                       size_t twin_count, driver_module **out, plumb_diag *diag);
/* The same for one PTX text that the caller has. */
int driver_module_load_text(driver_device *d, const char *text, size_t length,
                            const char *const *twins, size_t twin_count, driver_module **out,
                            plumb_diag *diag);
void driver_module_unload(driver_device *d, driver_module *module);
driver_function *driver_module_function(driver_module *module, const char *name);
/* 0 if there is no such variable. */
uint64_t driver_module_variable(driver_device *d, driver_module *module, const char *name,
                                uint64_t *out_size_bytes);
/* What cudaFuncGetAttributes and cuFuncGetAttribute say. */
int driver_function_registers(const driver_function *f);
int driver_function_max_threads(const driver_function *f);
/* Blocks of `threads` that fit on a multiprocessor at a time. */
int driver_occupancy(const driver_device *d, const driver_function *f, int threads,
                     size_t dynamic_bytes);
/* Clusters of `blocks` such blocks that fit on the device at a time. */
int driver_cluster_occupancy(const driver_device *d, const driver_function *f, unsigned blocks,
                             int threads, size_t dynamic_bytes);
/* Blocks of the largest cluster that `f` may have. */
int driver_cluster_most(const driver_device *d, const driver_function *f);

/* The program of a PTX text in the readings of `bits`, unfinished; NULL with `diag` where it
 * does not decode. */
plumb_program *driver_module_read(plumb_arena *arena, const char *text, size_t length,
                                  unsigned bits, plumb_status *out_status, plumb_diag *diag);

/* --- memory --- */

typedef enum driver_memory { DRIVER_DEVICE, DRIVER_MANAGED, DRIVER_PINNED } driver_memory;

/* `call` names the API function, `site` is where it was called from: both for reports.
 * OUT_OF_MEMORY. Size 0 gives address 0. */
int driver_memory_alloc(driver_device *d, driver_memory kind, uint64_t size_bytes, const char *call,
                        const void *site, uint64_t *out_address);
/* Address 0 is no error. The memory of a graph stays, since the graph may run again, and its
 * nodes then use the same addresses. INVALID_VALUE. */
int driver_memory_free(driver_device *d, uint64_t address);
/* Makes an allocation a graph's. */
void driver_memory_keep(uint64_t address);
/* Which memory an address that the machine knows lies in. */
driver_memory driver_memory_kind(driver_device *d, const plumb_extent *extent);
/* "name (made at place)" of allocations, for reports; see report.c. */
const char *driver_memory_describe(const char *call, uint64_t number, uint64_t size_bytes,
                                   const void *site, char *room, size_t room_bytes);

/* A copy of depth x height rows of width bytes. Each end is the device's where the machine
 * knows the address, else the host's. */
typedef struct driver_copy {
  uint64_t to, from;
  size_t to_pitch, to_slice, from_pitch, from_slice; /* bytes from row to row, slice to slice */
  size_t width, height, depth;
} driver_copy;
static inline driver_copy driver_copy_linear(uint64_t to, uint64_t from, size_t bytes) {
  return (driver_copy){to, from, 0, 0, 0, 0, bytes, 1, 1};
}
typedef struct driver_fill {
  uint64_t to;
  size_t pitch, slice;
  uint32_t value;
  unsigned element_bytes;
  size_t width, height, depth; /* width in elements */
} driver_fill;
/* INVALID_VALUE: an end that is neither, or past an allocation's end. */
int driver_copy_run(driver_device *d, const driver_copy *copy);
int driver_fill_run(driver_device *d, const driver_fill *fill);
/* Which sides a cudaMemcpyKind (0 to 4) names, checked against the addresses. */
int driver_copy_check(driver_device *d, const driver_copy *copy, int kind);

/* --- launches --- */

typedef struct driver_launch {
  driver_function *function;
  uint32_t grid[3], block[3];
  uint32_t cluster[3];
  uint64_t shared_bytes;
  bool cooperative;
  const void *handle; /* what the program named the function by */
  uint8_t *params;    /* fn->param_bytes, malloc */
} driver_launch;
typedef struct driver_launch_options {
  bool cooperative;
  uint32_t cluster[3]; /* 0: what the kernel requires */
} driver_launch_options;
/* What a launch's list of attributes asks for; the others are preferences. */
driver_launch_options driver_launch_attributes(const abi_launch_attribute *list, unsigned count);
/* Checks the configuration and copies the parameters: `params` one pointer a parameter, or
 * `buffer` the param space as a whole. `options` may be NULL. */
int driver_launch_make(driver_device *d, driver_function *f, const uint32_t grid[3],
                       const uint32_t block[3], uint64_t shared_bytes,
                       const driver_launch_options *options, void *const *params,
                       const void *buffer, size_t buffer_bytes, driver_launch *out);
/* Runs it; a fault is reported to stderr and stays with the context. */
int driver_launch_run(driver_device *d, const driver_launch *launch);
/* The launch itself, on the program of `module` with the schedule of `seed`: what the machine
 * says. `print_to` takes what the kernel prints. */
plumb_status driver_launch_once(driver_device *d, const driver_launch *l, plumb_module *module,
                                uint64_t seed, FILE *print_to, plumb_run_result *out_result,
                                plumb_diag *diag);

/* A launch that may be tried in other readings: memory as it finds it, or NULL. */
plumb_memory_image *driver_trial_begin(driver_device *d, const driver_launch *l);
/* After it ran as `result`: tries the other readings and prints a note for each that leaves
 * something else; memory is then what the launch left. Frees `before`, which may be NULL. */
void driver_trial_end(driver_device *d, const driver_launch *l, plumb_memory_image *before,
                      const plumb_run_result *result);

/* Prints a trap of a launch. */
void driver_report(const driver_module *module, const plumb_launch *launch, const plumb_trap *trap);

/* --- streams, events, graphs --- */

typedef enum driver_operation_kind {
  DRIVER_EMPTY,
  DRIVER_LAUNCH,
  DRIVER_COPY,
  DRIVER_FILL,
  DRIVER_HOST,
  DRIVER_RECORD,
  DRIVER_WAIT,
  DRIVER_ALLOC,
  DRIVER_FREE,
  DRIVER_CHILD
} driver_operation_kind;

typedef struct driver_event driver_event;
typedef struct driver_graph driver_graph;

typedef struct driver_operation {
  driver_operation_kind kind;
  driver_launch launch;
  driver_copy copy;
  driver_fill fill;
  void (*host)(void *);
  void *user;
  driver_event *event;
  uint64_t address; /* ALLOC, FREE */
  driver_graph *child;
} driver_operation;

typedef struct driver_node {
  driver_graph *graph;
  driver_operation op; /* owned */
  struct driver_node **needs;
  size_t need_count, need_capacity;
  struct driver_node *copy; /* while a graph is cloned; in a clone: the original */
  void **param_list;        /* of its parameters, once somebody has asked for them */
  uint32_t order;           /* while it is sorted */
  bool disabled;
} driver_node;

struct driver_graph {
  driver_node **nodes;
  size_t node_count, node_capacity;
};

typedef struct driver_exec {
  driver_graph *graph; /* a clone, its nodes in an order that can be run */
  uint64_t flags;
} driver_exec;

typedef struct driver_stream {
  unsigned flags;
  int priority;
  uint64_t id;
  driver_graph *capture; /* NULL: not capturing */
  bool capture_origin, capture_owned;
  driver_node **last; /* nodes that the next one waits for */
  size_t last_count, last_capacity;
} driver_stream;

struct driver_event {
  unsigned flags;
  bool recorded;
  struct timespec time;
  driver_graph *capture; /* recorded while capturing: the nodes it stands for */
  driver_node **nodes;
  size_t node_count;
};

/* Handles 0 (default), 1 (legacy), 2 (per thread) are one stream; NULL for a wrong one. */
driver_stream *driver_stream_of(const void *handle);
driver_stream *driver_stream_create(unsigned flags, int priority);
void driver_stream_destroy(driver_stream *s);
/* Runs the operation now, or keeps it while the stream captures. Takes what it owns. */
int driver_submit(driver_device *d, driver_stream *s, driver_operation *op);
int driver_operation_run(driver_device *d, const driver_operation *op);
/* A copy that owns its parameters; frees them. */
driver_operation driver_operation_copy(const driver_operation *op);
void driver_operation_clear(driver_operation *op);

driver_event *driver_event_create(unsigned flags);
void driver_event_destroy(driver_event *e);
int driver_event_record(driver_device *d, driver_event *e, driver_stream *s);
int driver_event_wait(driver_device *d, driver_stream *s, driver_event *e);

driver_graph *driver_graph_create(void);
void driver_graph_destroy(driver_graph *g);
driver_graph *driver_graph_clone(driver_graph *g);
/* Appends a node that runs after `needs`; takes what `op` owns. */
driver_node *driver_graph_add(driver_graph *g, driver_node *const *needs, size_t need_count,
                              driver_operation *op);
/* The same by the handles that a program gives, checked. */
int driver_node_add(void **out, const void *graph, void *const *needs, size_t need_count,
                    driver_operation *op);
/* Where the node keeps each parameter of its launch; the node's until it is destroyed. */
void **driver_node_params(driver_node *n);
/* Gives a node another operation of its kind; takes what `op` owns. */
int driver_node_replace(driver_node *n, driver_operation *op);
void driver_graph_remove(driver_graph *g, driver_node *node);
int driver_node_need(driver_node *node, driver_node *needed);
/* A copy that can be run. INVALID_VALUE: the nodes wait for each other. */
int driver_exec_create(driver_graph *g, driver_exec **out);
void driver_exec_destroy(driver_exec *e);
int driver_exec_run(driver_device *d, driver_exec *e);
/* The exec's node that stands for one of the graph it was made from; NULL if none. */
driver_node *driver_exec_node(driver_exec *e, const driver_node *original);
/* Takes the operations of `g`, if it has the shape that the exec was made from. */
int driver_exec_update(driver_exec *e, driver_graph *g);
int driver_capture_begin(driver_stream *s, driver_graph *into);
/* What is captured next runs after `nodes` of the graph. */
void driver_capture_after(driver_stream *s, driver_node *const *nodes, size_t count);
int driver_capture_end(driver_stream *s, driver_graph **out);

/* --- what host programs register (registry.c) --- */

/* The kernel of a host function's address, a cudaKernel_t or a CUfunction, its module loaded
 * at need. INVALID_FUNCTION, or why the module does not load. */
int driver_function_of(driver_device *d, const void *handle, driver_function **out);
/* Address of the variable of a host symbol. INVALID_SYMBOL. */
int driver_symbol_of(driver_device *d, const void *symbol, uint64_t *out_address,
                     uint64_t *out_size_bytes);

#endif

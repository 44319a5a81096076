/* The CPU executor: runs programs. One instruction is applied to all active lanes of
 * a block at once (struct-of-arrays registers); strands (a pc and a set of lanes)
 * split on divergence and merge again; every memory access is checked.
 * It judges nothing: it returns values, traps and counters.
 *
 *     plumb_machine *m = plumb_machine_create(arena);
 *     uint64_t x = plumb_machine_alloc(m, bytes, 256, "x");
 *     plumb_machine_write(m, x, data, bytes);
 *     PLUMB_TRY(plumb_machine_load(m, program, diag));
 *     PLUMB_TRY(plumb_machine_call(m, "softmax", args, n, &options, &result, diag));
 */
#ifndef PLUMB_TARGETS_CPU_CPU_H
#define PLUMB_TARGETS_CPU_CPU_H

#include <stdio.h>

#include "ir/program.h"
#include "targets/models/model.h"

typedef enum plumb_trap_kind {
  PLUMB_TRAP_NONE,
#define X(name, text, sentence) PLUMB_TRAP_##name,
#include "targets/cpu/traps.def"
#undef X
  PLUMB_TRAP_KIND_COUNT
} plumb_trap_kind;

/* "out-of-bounds" and so on; static. */
const char *plumb_trap_text(plumb_trap_kind kind);

typedef struct plumb_trap {
  plumb_trap_kind kind;
  const char *function;
  int64_t block[3]; /* -1: on the host */
  int32_t lane;     /* linear thread index in the block, -1 unknown */
  uint64_t address; /* memory traps */
  uint64_t size_bytes;
  const char *allocation; /* its name, or NULL */
  uint64_t allocation_offset;
  plumb_op op;
  plumb_loc location;  /* of the instruction */
  plumb_loc location2; /* the other access of a race, the load of an uninitialised value */
  int64_t block2[3];   /* the other party of a race */
  int32_t lane2;
  const char *message; /* one sentence, in the machine's arena */
} plumb_trap;

/* Counters of a run. Names as Nsight Compute's in the report. */
typedef struct plumb_counters {
  uint64_t lane_instructions; /* thread instructions executed */
  uint64_t instructions;      /* dispatches: one for all lanes of a strand */
  uint64_t global_load_bytes, global_store_bytes;
  uint64_t shared_load_bytes, shared_store_bytes;
  uint64_t barriers, atomics, divergent_branches, launches, blocks;
} plumb_counters;

/* Remembers launches, so that one that comes again is not executed again (recall.h). All
 * threads may share one; memory addresses must mean the same to all who do, as they do
 * where the same allocations are made in the same order. */
typedef struct plumb_recall plumb_recall;
plumb_recall *plumb_recall_create(void);
void plumb_recall_destroy(plumb_recall *r);
uint64_t plumb_recall_taken(const plumb_recall *r); /* launches that were not executed */

typedef struct plumb_run_options {
  uint64_t seed;             /* of the schedule of strands and blocks */
  uint64_t step_limit;       /* lane-instructions in all; 0: 20 billion */
  int jobs;                  /* threads; 0: all cores */
  bool check_races;          /* default on */
  plumb_model model;         /* what matrix instructions compute; default: the reference reading */
  bool companions;           /* carry shadow and interval beside every float value (bound.h) */
  FILE *print_to;            /* where kernels print; NULL: stderr */
  bool ignore_uninitialised; /* bytes that were never written may be read, as what they hold */
  uint64_t time;             /* of the device's clock when the run starts (timer.c) */
  plumb_recall *recall;      /* NULL: every launch is executed */
} plumb_run_options;

plumb_run_options plumb_run_options_default(void);

/* What a run with `companions` carries beside a value: truth in higher precision, and an
 * interval that holds every legal evaluation (bound.h). Of a value that was never computed
 * all three are the value. */
typedef struct plumb_companion {
  double shadow;
  double lo, hi;
} plumb_companion;

typedef struct plumb_run_result {
  plumb_trap trap; /* kind NONE: ran to the end */
  plumb_counters counters;
  uint64_t time; /* of the device's clock when the run has ended */
  /* host call, one entry a flat result register, in the machine's arena: */
  uint64_t *results;                  /* low bits */
  bool *result_undefined;             /* poison, or computed from what was never written */
  plumb_companion *result_companions; /* NULL without companions */
  size_t result_count;
} plumb_run_result;

typedef struct plumb_machine plumb_machine;

/* `arena` owns small things; bulk memory is released by plumb_machine_destroy. */
plumb_machine *plumb_machine_create(plumb_arena *arena);
void plumb_machine_destroy(plumb_machine *m);

/* Global memory. Fresh allocations are uninitialised, with guard space around.
 * `name` is copied. Returns the generic address (0: the size limit is exceeded). */
uint64_t plumb_machine_alloc(plumb_machine *m, uint64_t size_bytes, uint64_t align,
                             const char *name);
plumb_status plumb_machine_free(plumb_machine *m, uint64_t address, plumb_diag *diag);
/* Of all live allocations. */
uint64_t plumb_machine_bytes(const plumb_machine *m);
/* Writing marks bytes initialised. out_initialised (may be NULL): one 0/1 byte a byte. */
plumb_status plumb_machine_write(plumb_machine *m, uint64_t address, const void *data,
                                 uint64_t size_bytes, plumb_diag *diag);
plumb_status plumb_machine_read(const plumb_machine *m, uint64_t address, void *data,
                                uint8_t *out_initialised, uint64_t size_bytes, plumb_diag *diag);
/* Marks bytes uninitialised again and fills them with a NaN pattern (poisoned outputs). */
plumb_status plumb_machine_poison(plumb_machine *m, uint64_t address, uint64_t size_bytes,
                                  plumb_diag *diag);

/* Copies bytes and what is known of each (initialised or not); the places may overlap. */
plumb_status plumb_machine_copy(plumb_machine *m, uint64_t to, uint64_t from, uint64_t size_bytes,
                                plumb_diag *diag);
/* Writes `count` elements of 1, 2 or 4 bytes, all `value`. */
plumb_status plumb_machine_fill(plumb_machine *m, uint64_t address, uint32_t value,
                                unsigned element_bytes, uint64_t count, plumb_diag *diag);

/* Device memory beside a host program that runs in the same process (driver/).
 * After `separate`, called before the first allocation, plain allocations lie above every
 * host address, so that no number names both a host's and a device's byte. */
void plumb_machine_separate(plumb_machine *m);
/* Memory that host and device reach at one address (managed and pinned memory). The host
 * writes it unseen, so every byte counts as initialised. 0: the size limit, or the machine
 * is not separate. */
uint64_t plumb_machine_alloc_twin(plumb_machine *m, uint64_t size_bytes, const char *name);
/* Gives `size_bytes` of the host's memory at `data` a device address, until it is freed.
 * Two calls with overlapping memory are two allocations: accesses through both are not
 * known to meet. `data` stays the caller's and must stay alive. */
uint64_t plumb_machine_borrow(plumb_machine *m, void *data, uint64_t size_bytes, const char *name);
/* Takes every byte of an allocation for initialised. */
void plumb_machine_trust(plumb_machine *m, uint64_t address);

/* The bytes of all memory that kernels can write, and which of them are initialised; an own
 * heap block. NULL where they are more than `limit_bytes`, where some are borrowed, and where
 * some are a twin's and `twins` is false. */
typedef struct plumb_memory_image plumb_memory_image;
plumb_memory_image *plumb_machine_take_image(const plumb_machine *m, uint64_t limit_bytes,
                                             bool twins);
/* Makes memory what it was. False, and nothing is changed, where the live allocations are no
 * longer those of the image. */
bool plumb_machine_put_image(plumb_machine *m, const plumb_memory_image *image);
/* Whether both hold the same bytes, NaNs of any payload being one value: words that are NaNs in
 * f32, halves that are in f16 or bf16. */
bool plumb_memory_image_same(const plumb_memory_image *a, const plumb_memory_image *b);
void plumb_memory_image_destroy(plumb_memory_image *image);

/* What an address lies in. */
typedef struct plumb_extent {
  uint64_t base, size_bytes;
  void *host; /* where the host finds the byte at `base`: twin and borrowed memory, else NULL */
  bool borrowed, read_only, owned_by_program;
} plumb_extent;
/* False if no live allocation of global memory holds the byte at `address` (or ends there). */
bool plumb_machine_find(const plumb_machine *m, uint64_t address, plumb_extent *out);

/* The companions of `count` elements of `type` at `address`, after a run that had them. */
plumb_status plumb_machine_read_companions(const plumb_machine *m, uint64_t address,
                                           plumb_dtype type, size_t count, plumb_companion *out,
                                           plumb_diag *diag);

/* Allocates and initialises the program's globals; one program a machine at a time. */
plumb_status plumb_machine_load(plumb_machine *m, const plumb_program *program, plumb_diag *diag);

/* Several programs beside each other in one machine, sharing its memory but not their
 * globals: `add` places the globals of one more; symbols, calls and launches then concern
 * the one selected last (NULL: none). The globals named in `twins` become twins (managed
 * variables). A module lives in the machine's arena; `remove` frees its globals. Not to be
 * mixed with plumb_machine_load. */
typedef struct plumb_module plumb_module;
plumb_status plumb_machine_add(plumb_machine *m, const plumb_program *program,
                               const char *const *twins, size_t twin_count,
                               plumb_module **out_module, plumb_diag *diag);
/* Another reading (ir/freedom.h) of a module's program, on the module's own globals, which it
 * does not outlive; it is selected in its place, and not removed. */
plumb_module *plumb_machine_add_reading(plumb_machine *m, const plumb_program *program,
                                        const plumb_module *of);
void plumb_machine_select(plumb_machine *m, plumb_module *module);
void plumb_machine_remove(plumb_machine *m, plumb_module *module);

/* Address of a global of the loaded program; 0 if there is none. */
uint64_t plumb_machine_symbol(const plumb_machine *m, const char *name);

/* Calls a host (or device) function with flat argument words, on one lane.
 * PLUMB_UNSUPPORTED  an UNSUPPORTED instruction was reached (diag names it)
 * PLUMB_LIMIT        memory limit
 * A trap is not a failure: the status is OK and out_result->trap says it. */
plumb_status plumb_machine_call(plumb_machine *m, const char *function, const uint64_t *args,
                                size_t arg_count, const plumb_run_options *options,
                                plumb_run_result *out_result, plumb_diag *diag);

typedef struct plumb_launch {
  uint32_t grid[3];
  uint32_t block[3];
  uint64_t shared_bytes; /* dynamic */
  uint32_t cluster[3];   /* blocks of a cluster; 0: what the kernel requires, or 1 */
  uint64_t workspace;    /* of a cooperative launch, else 0: 8 zeroed bytes that the barrier of
                            all blocks counts in; %envreg1 and %envreg2 hold its address */
} plumb_launch;

/* Launches a kernel; `param_bytes` is the content of its param space.
 * PLUMB_BAD_INPUT  no such kernel, launch beyond the limits (1024 threads a block,
 *                  grid 2^31-1 x 65535 x 65535, 227 KiB shared), params of a wrong size */
plumb_status plumb_machine_launch(plumb_machine *m, const char *kernel, const plumb_launch *launch,
                                  const void *params, size_t param_bytes,
                                  const plumb_run_options *options, plumb_run_result *out_result,
                                  plumb_diag *diag);

#endif

/* One call of a host function, or one launch of a kernel, of a stage: arrays are placed
 * in a fresh machine, arguments laid out as the function takes them, and what lies in
 * memory afterwards is read back. It knows neither tasks nor the command line, keeps
 * nothing between calls, and may run on several threads at once.
 *
 *     plumb_call call = {.program = stage->program, .function = f, .buffers = buffers, ...};
 *     PLUMB_TRY(plumb_call_run(arena, &call, &options, &called, diag));
 */
#ifndef PLUMB_TASKS_CALL_H
#define PLUMB_TASKS_CALL_H

#include "targets/cpu/cpu.h"
#include "tasks/array.h"
#include "verify/compare.h"

/* An array in global memory during the call. */
typedef struct plumb_buffer {
  const char *name;         /* of its allocation, in traps */
  const plumb_array *array; /* `data` is read unless poisoned */
  bool poisoned;            /* starts uninitialised: an output never written shows */
  bool companions;          /* read those back too, where the run carries them */
} plumb_buffer;

/* What one parameter of the function gets. */
typedef struct plumb_operand {
  int buffer;    /* index; -1: a scalar */
  uint64_t bits; /* the scalar, in the low bits */
} plumb_operand;

/* One result of a host function. */
typedef struct plumb_call_result {
  plumb_dtype type;
  int rank; /* -1: a scalar */
} plumb_call_result;

typedef struct plumb_call {
  const plumb_program *program;
  const plumb_function *function;
  plumb_launch launch; /* kernels */
  const plumb_buffer *buffers;
  size_t buffer_count;
  const plumb_operand *operands;
  size_t operand_count;
  const plumb_call_result *results;
  size_t result_count;
  const char *path; /* for messages, with line (0: none) */
  int line;
} plumb_call;

/* An array after the call, in the caller's arena. */
typedef struct plumb_readback {
  plumb_array array;
  unsigned char *initialised; /* a 0/1 byte a byte */
  plumb_budget *budgets;      /* NULL without companions */
} plumb_readback;

typedef struct plumb_called {
  plumb_trap trap; /* kind not NONE: nothing was read back */
  plumb_counters counters;
  plumb_readback *buffers; /* one a buffer */
  plumb_readback *results; /* one a result */
} plumb_called;

/* The kernel `entry` (NULL: the only one), or NULL. */
const plumb_function *plumb_call_find_kernel(const plumb_program *program, const char *entry);

/* The first parameter of a kernel that `operand` goes to, by the rule below; NULL where
 * operands and parameters do not fit. */
const plumb_param *plumb_call_param(const plumb_call *call, size_t operand);

/* A host function takes and gives an array as a memref descriptor (program.h). A kernel
 * takes an array as its address or, where it has as many parameters as that needs, as a
 * descriptor: the flat form of a gpu.func's memref.
 * PLUMB_BAD_INPUT    operands that do not fit the parameters, a launch beyond the limits
 * PLUMB_UNSUPPORTED  a parameter that is an aggregate, a strided result, an operation
 * PLUMB_LIMIT        an array does not fit the executor's memory */
plumb_status plumb_call_run(plumb_arena *arena, const plumb_call *call,
                            const plumb_run_options *options, plumb_called *out_called,
                            plumb_diag *diag);

#endif

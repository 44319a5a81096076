/* Runs the host function @f of MLIR text on small f32 arrays and compares one of them, or
 * result 0, with what is expected. Shared by the tests of ir/mlir's dialects. */
#ifndef PLUMB_TESTS_UNIT_MLIR_RUN_H
#define PLUMB_TESTS_UNIT_MLIR_RUN_H

#include <math.h>
#include <string.h>

#include "ir/mlir/mlir.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

enum { RUN_ARRAYS = 4, RUN_ELEMENTS = 16, RUN_RESULT = -1 };

/* An argument memref or tensor; rank 0 ends the list. */
typedef struct run_array {
  size_t rank;
  int64_t dims[3];
  float values[RUN_ELEMENTS];
} run_array;

typedef struct run_row {
  const char *name;
  const char *text;
  run_array args[RUN_ARRAYS];
  int output; /* an argument's number, or RUN_RESULT */
  size_t count;
  float expected[RUN_ELEMENTS];
} run_row;

static inline size_t run_count(const run_array *a) {
  size_t count = 1;
  for (size_t i = 0; i < a->rank; i++) count *= (size_t)a->dims[i];
  return count;
}

/* Pushes (base, aligned, offset, sizes..., strides...); `pointers`: the address alone. */
static inline size_t run_push(plumb_machine *m, const run_array *a, bool pointers, uint64_t *words,
                              uint64_t *out_address) {
  size_t bytes = run_count(a) * sizeof(float), at = 0;
  *out_address = plumb_machine_alloc(m, bytes ? bytes : 4, 64, "argument");
  plumb_machine_write(m, *out_address, a->values, bytes, NULL);
  words[at++] = *out_address;
  if (pointers) return at;
  words[at++] = *out_address;
  words[at++] = 0;
  uint64_t stride = run_count(a);
  for (size_t i = 0; i < a->rank; i++) words[at++] = (uint64_t)a->dims[i];
  for (size_t i = 0; i < a->rank; i++) {
    stride = a->dims[i] ? stride / (uint64_t)a->dims[i] : 1;
    words[at++] = stride;
  }
  return at;
}

static inline void run_compare(plumb_machine *m, const run_row *row, uint64_t address) {
  float got[RUN_ELEMENTS];
  uint8_t set[RUN_ELEMENTS * sizeof(float)];
  plumb_diag diag = {0};
  plumb_status s = plumb_machine_read(m, address, got, set, row->count * sizeof(float), &diag);
  CHECK(s == PLUMB_OK, "%s: %s", row->name, diag.message);
  if (s != PLUMB_OK) return;
  for (size_t i = 0; i < row->count; i++) {
    bool same = memcmp(&got[i], &row->expected[i], sizeof(float)) == 0 ||
                (isnan(got[i]) && isnan(row->expected[i]));
    CHECK(same && set[4 * i], "%s: element %zu is %a, not %a", row->name, i, (double)got[i],
          (double)row->expected[i]);
  }
}

static inline void run_one(MlirContext context, const run_row *row, bool pointers) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  MlirModule module;
  plumb_status s = plumb_mlir_parse(context, row->name, row->text, &module, &diag);
  CHECK(s == PLUMB_OK, "%s: %s", row->name, diag.message);
  if (s == PLUMB_OK) {
    plumb_program *p = plumb_program_create(arena, row->name);
    s = plumb_mlir_decode(p, module, NULL, &diag);
    if (s == PLUMB_OK) s = plumb_program_finish(p, &diag);
    CHECK(s == PLUMB_OK, "%s: %s", row->name, diag.message);
    plumb_machine *m = plumb_machine_create(arena);
    uint64_t words[64], addresses[RUN_ARRAYS] = {0};
    size_t count = 0;
    for (size_t i = 0; i < RUN_ARRAYS && row->args[i].rank; i++)
      count += run_push(m, &row->args[i], pointers, words + count, &addresses[i]);
    plumb_run_options options = plumb_run_options_default();
    plumb_run_result result = {0};
    if (s == PLUMB_OK) s = plumb_machine_load(m, p, &diag);
    if (s == PLUMB_OK) s = plumb_machine_call(m, "f", words, count, &options, &result, &diag);
    CHECK(s == PLUMB_OK, "%s: %s", row->name, diag.message);
    CHECK(result.trap.kind == PLUMB_TRAP_NONE, "%s: %s", row->name,
          result.trap.message ? result.trap.message : "");
    if (s == PLUMB_OK && result.trap.kind == PLUMB_TRAP_NONE)
      run_compare(m, row, row->output == RUN_RESULT ? result.results[1] : addresses[row->output]);
    plumb_machine_destroy(m);
    mlirModuleDestroy(module);
  }
  plumb_arena_destroy(arena);
}

static inline int run_rows(const run_row *rows, size_t count, bool pointers) {
  MlirContext context = plumb_mlir_context_create();
  for (size_t i = 0; i < count; i++) run_one(context, &rows[i], pointers);
  mlirContextDestroy(context);
  return check_finish();
}

#endif

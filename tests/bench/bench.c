/* Times the executor, all checks on, on a tiled f32 matmul and on saxpy, against OpenCL
 * on the same kernels, in one process.
 *     bench [--limit RATIO]      exit 1 when a ratio is above the limit */
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"

static const bench_case cases[] = {
    {.name = "matmul",
     .groups = {16, 16},
     .group_size = {16, 16},
     .buffers = 3,
     .elements = 256 * 256,
     .n = 256,
     .flops = 2.0 * 256 * 256 * 256},
    {.name = "saxpy",
     .groups = {16384, 1},
     .group_size = {256, 1},
     .has_scalar = true,
     .scalar = 1.5f,
     .buffers = 2,
     .elements = 4 << 20,
     .n = 4 << 20,
     .flops = 2.0 * (4 << 20)},
};

static double read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_seconds(void) {
  return read_clock(CLOCK_MONOTONIC);
}

double bench_processor_seconds(void) {
  return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_note(bench_result *result, double start, double processor_start) {
  double processor = bench_processor_seconds() - processor_start;
  double seconds = bench_seconds() - start;
  if (seconds < result->seconds) result->seconds = seconds;
  if (processor < result->processor_seconds) result->processor_seconds = processor;
}

/* Kernel arguments as PTX lays them out: each at its natural alignment. */
static size_t pack_params(const bench_case *c, const uint64_t *addresses, uint8_t *params) {
  size_t at = 0;
  if (c->has_scalar) {
    memcpy(params, &c->scalar, 4);
    at = 8;
  }
  for (int i = 0; i < c->buffers; i++, at += 8) memcpy(params + at, &addresses[i], 8);
  memcpy(params + at, &c->n, 4);
  return at + 4;
}

static plumb_status launch(const bench_case *c, plumb_machine *m, float *const data[], float *out,
                           bench_result *result, plumb_diag *diag) {
  uint64_t addresses[BENCH_MAX_BUFFERS];
  size_t bytes = c->elements * sizeof(float);
  uint8_t params[64];
  for (int i = 0; i < c->buffers; i++) addresses[i] = plumb_machine_alloc(m, bytes, 256, "buffer");
  size_t param_bytes = pack_params(c, addresses, params);
  plumb_launch shape = {.grid = {c->groups[0], c->groups[1], 1},
                        .block = {c->group_size[0], c->group_size[1], 1}};
  plumb_run_options options = plumb_run_options_default();
  result->seconds = result->processor_seconds = 1e30;
  for (int repeat = 0; repeat < BENCH_REPEATS; repeat++) {
    plumb_run_result run;
    for (int i = 0; i < c->buffers; i++)
      PLUMB_TRY(plumb_machine_write(m, addresses[i], data[i], bytes, diag));
    double start = bench_seconds(), processor_start = bench_processor_seconds();
    PLUMB_TRY(plumb_machine_launch(m, c->name, &shape, params, param_bytes, &options, &run, diag));
    bench_note(result, start, processor_start);
    if (run.trap.kind != PLUMB_TRAP_NONE)
      return plumb_fail(diag, PLUMB_INTERNAL, c->name, 0, 0, "trap: %s", run.trap.message);
    result->lane_instructions = run.counters.lane_instructions;
  }
  return plumb_machine_read(m, addresses[c->buffers - 1], out, NULL, bytes, diag);
}

static plumb_status bench_plumb(const bench_case *c, float *const data[], float *out,
                                bench_result *result, plumb_diag *diag) {
  plumb_arena *arena = plumb_arena_create();
  const char *path = PLUMB_BENCH_FOLDER "/kernels.ptx";
  char *text;
  size_t length;
  plumb_machine *m = plumb_machine_create(arena);
  plumb_program *p = plumb_program_create(arena, "bench");
  plumb_status status = plumb_file_read(arena, path, &text, &length, diag);
  if (status == PLUMB_OK) status = plumb_ptx_decode(p, path, text, length, diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, diag);
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, diag);
  if (status == PLUMB_OK) status = launch(c, m, data, out, result, diag);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
  return status;
}

static void report(const bench_case *c, const char *who, const bench_result *r) {
  printf("%-8s %-24s %9.2f ms %8.3f GFLOP/s", c->name, who, 1e3 * r->seconds,
         1e-9 * c->flops / r->seconds);
  if (r->lane_instructions)
    printf(" %8.3f G lane-operations/s", 1e-9 * (double)r->lane_instructions / r->seconds);
  printf("\n");
}

/* 0 well, 1 above the limit or different values, 4 could not run. */
static int run_case(const bench_case *c, double limit) {
  float *data[BENCH_MAX_BUFFERS], *ours = calloc(c->elements, sizeof(float));
  for (int i = 0; i < BENCH_MAX_BUFFERS; i++) {
    data[i] = calloc(c->elements, sizeof(float));
    for (size_t k = 0; k < c->elements; k++)
      data[i][k] = (float)((k * 7 + (size_t)i * 3) % 15) - 7.0f; /* sums are exact */
  }
  plumb_diag diag = {0};
  bench_result mine;
  int code = 0;
  if (bench_plumb(c, data, ours, &mine, &diag) != PLUMB_OK) {
    fprintf(stderr, "bench: %s:%d: %s\n", diag.path, diag.line, diag.message);
    code = 4;
  } else {
    report(c, "plumb, all checks", &mine);
  }
#ifdef PLUMB_BENCH_OPENCL
  bench_result theirs = {0};
  char platform[64] = "";
  float *other = calloc(c->elements, sizeof(float));
  if (!code && bench_opencl(c, data, other, &theirs, platform, sizeof platform)) {
    report(c, platform, &theirs);
    double ratio = mine.seconds / theirs.seconds;
    bool same = memcmp(ours, other, c->elements * sizeof(float)) == 0;
    printf("%-8s ratio %.1f (processor time %.1f), values %s\n", c->name, ratio,
           mine.processor_seconds / theirs.processor_seconds, same ? "equal" : "DIFFER");
    if (!same || (limit > 0 && ratio > limit)) code = 1;
  }
  free(other);
#else
  (void)limit;
  printf("%-8s no OpenCL: install ocl-icd-opencl-dev and pocl-opencl-icd, then configure again\n",
         c->name);
#endif
  for (int i = 0; i < BENCH_MAX_BUFFERS; i++) free(data[i]);
  free(ours);
  return code;
}

int main(int argc, char **argv) {
  double limit = 0;
  if (argc == 3 && strcmp(argv[1], "--limit") == 0) {
    limit = strtod(argv[2], NULL);
  } else if (argc != 1) {
    fprintf(stderr, "usage: bench [--limit RATIO]\n");
    return 2;
  }
  int worst = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int code = run_case(&cases[i], limit);
    if (code > worst) worst = code;
  }
  return worst;
}

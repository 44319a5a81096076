/* One benchmark case, run by plumb's executor (bench.c) and by OpenCL (opencl.c). */
#ifndef PLUMB_TESTS_BENCH_BENCH_H
#define PLUMB_TESTS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MAX_BUFFERS = 3, BENCH_REPEATS = 9 };

/* The kernel's arguments in order: a leading f32 where `has_scalar`, the buffers, and
 * the i32 count n. The last buffer is the result. */
typedef struct bench_case {
  const char *name;
  uint32_t groups[2], group_size[2];
  bool has_scalar;
  float scalar;
  int buffers;
  size_t elements; /* of each buffer */
  int32_t n;
  double flops; /* fma counted as two */
} bench_case;

typedef struct bench_result {
  double seconds;             /* best of BENCH_REPEATS launches */
  double processor_seconds;   /* of all threads, best of them too: a busy machine moves it less */
  uint64_t lane_instructions; /* 0: unknown */
} bench_result;

double bench_seconds(void);
double bench_processor_seconds(void); /* spent by all threads of this process */
/* Notes one launch that began at `start` and, in processor time, at `processor_start`. */
void bench_note(bench_result *result, double start, double processor_start);

/* Runs the case on `data` (one array a buffer); writes the result buffer to `out` after
 * one launch on the original data. False, with a message on stderr, when there is no
 * usable platform. */
bool bench_opencl(const bench_case *c, float *const data[BENCH_MAX_BUFFERS], float *out,
                  bench_result *result, char *platform, size_t platform_bytes);

#endif

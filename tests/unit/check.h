/* The whole test harness: rows are static arrays, a failed row prints and counts. */
#ifndef PLUMB_TESTS_UNIT_CHECK_H
#define PLUMB_TESTS_UNIT_CHECK_H

#include <stdio.h>

static int check_failures;
static int check_count;

#define CHECK(condition, ...) \
  do { \
    check_count++; \
    if (!(condition)) { \
      check_failures++; \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__); \
      fputc('\n', stderr); \
    } \
  } while (0)

static inline int check_finish(void) {
  printf("%d checks, %d failed\n", check_count, check_failures);
  return check_failures != 0 || check_count == 0;
}

#endif

/* One bounded child process without a shell: what it prints is collected, and it is
 * ended with its whole process group when it runs too long. */
#ifndef PLUMB_FRONTENDS_CHILD_H
#define PLUMB_FRONTENDS_CHILD_H

#include <stdbool.h>

#include "ir/base/arena.h"
#include "ir/base/status.h"

typedef struct plumb_child {
  int exit_code; /* -1: ended by a signal */
  bool timed_out;
  char *output; /* stdout and stderr in order, terminated; at most 64 KiB is kept */
  size_t output_length;
} plumb_child;

/* argv[0] is searched on PATH; argv ends in NULL.
 * PLUMB_UNSUPPORTED  the program cannot be started */
plumb_status plumb_child_run(plumb_arena *arena, const char *const *argv, int timeout_ms,
                             plumb_child *out_child, plumb_diag *diag);

#endif

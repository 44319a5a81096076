/* Statuses and diagnostics: how every function of Plumbline reports that it
 * could not do its job. A status says which kind of failure, a diagnostic holds
 * the sentence, with the place. Traps and verdicts are results, not statuses.
 *
 *     PLUMB_TRY(plumb_file_read(arena, path, &out_bytes, diag));
 */
#ifndef PLUMB_IR_BASE_STATUS_H
#define PLUMB_IR_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>

typedef enum plumb_status {
#define X(name, exit_code, sentence) PLUMB_##name,
#include "ir/base/status.def"
#undef X
  PLUMB_STATUS_COUNT
} plumb_status;

/* One failure. `path` may be empty; line and column count from 1, 0 is unknown. */
typedef struct plumb_diag {
  char path[256];
  int line;
  int column;
  char message[1024];
} plumb_diag;

#if defined(__GNUC__)
#define PLUMB_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define PLUMB_PRINTF(format_index, first)
#endif

/* The process exit code that belongs to a status (DESIGN, The command). */
int plumb_status_exit_code(plumb_status status);

/* A short name for logs; static storage. */
const char *plumb_status_name(plumb_status status);

/* Fills `diag` (may be NULL) and returns `status`, so that a failing function
 * ends in `return plumb_fail(...)`. `path` may be NULL. Overlong text is cut. */
plumb_status plumb_fail(plumb_diag *diag, plumb_status status, const char *path, int line,
                        int column, const char *format, ...) PLUMB_PRINTF(6, 7);

/* Writes "path:line:column: message" into `buffer` (always terminated). */
void plumb_diag_format(const plumb_diag *diag, char *buffer, size_t buffer_bytes);

#define PLUMB_TRY(expr) \
  do { \
    plumb_status plumb_try_status = (expr); \
    if (plumb_try_status != PLUMB_OK) return plumb_try_status; \
  } while (0)

#endif

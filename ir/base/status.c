#include "ir/base/status.h"

#include <stdio.h>
#include <string.h>

int plumb_status_exit_code(plumb_status status) {
  static const int codes[] = {
#define X(name, exit_code, sentence) exit_code,
#include "ir/base/status.def"
#undef X
  };
  return (unsigned)status < PLUMB_STATUS_COUNT ? codes[status] : 4;
}

const char *plumb_status_name(plumb_status status) {
  static const char *const names[] = {
#define X(name, exit_code, sentence) sentence,
#include "ir/base/status.def"
#undef X
  };
  return (unsigned)status < PLUMB_STATUS_COUNT ? names[status] : "unknown status";
}

plumb_status plumb_fail(plumb_diag *diag, plumb_status status, const char *path, int line,
                        int column, const char *format, ...) {
  if (!diag) return status;
  snprintf(diag->path, sizeof diag->path, "%s", path ? path : "");
  diag->line = line;
  diag->column = column;
  va_list args;
  va_start(args, format);
  vsnprintf(diag->message, sizeof diag->message, format, args);
  va_end(args);
  return status;
}

void plumb_diag_format(const plumb_diag *diag, char *buffer, size_t buffer_bytes) {
  if (!diag->path[0])
    snprintf(buffer, buffer_bytes, "%s", diag->message);
  else if (diag->line <= 0)
    snprintf(buffer, buffer_bytes, "%s: %s", diag->path, diag->message);
  else if (diag->column <= 0)
    snprintf(buffer, buffer_bytes, "%s:%d: %s", diag->path, diag->line, diag->message);
  else
    snprintf(buffer, buffer_bytes, "%s:%d:%d: %s", diag->path, diag->line, diag->column,
             diag->message);
}

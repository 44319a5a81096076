/* Driver API: what is not supported, by name. */
#include <stdio.h>

#include "driver/cu.h"

static int tell(const char *name) {
  fflush(stdout);
  fprintf(stderr, "plumb: %s is not supported\n", name);
  return DRIVER_NOT_SUPPORTED;
}

#define X(name) \
  EXPORT int name(void); \
  EXPORT int name(void) { \
    return tell(#name); \
  }
#include "driver/cu_unsupported.def"
#undef X

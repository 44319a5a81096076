/* Any byte string given as a fat binary ends in a text or in a message. */
#include <stdlib.h>

#include "ir/ptx/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  char *text;
  size_t length;
  (void)plumb_fatbin_is(data, size);
  plumb_status status = plumb_fatbin_ptx(arena, "fuzz", data, size, 0, &text, &length, &diag);
  if (status != PLUMB_OK && !diag.message[0]) abort(); /* a failure without a message */
  plumb_arena_destroy(arena);
  return 0;
}

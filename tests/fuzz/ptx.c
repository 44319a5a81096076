/* Any byte string given as PTX ends in a decoded program or in a message. */
#include <stdlib.h>

#include "ir/ptx/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  plumb_arena *arena = plumb_arena_create();
  plumb_program *program = plumb_program_create(arena, "fuzz");
  plumb_diag diag = {0};
  plumb_status status = plumb_ptx_decode(program, "fuzz.ptx", (const char *)data, size, &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(program, &diag);
  if (status != PLUMB_OK && !diag.message[0]) abort(); /* a failure without a message */
  plumb_arena_destroy(arena);
  return 0;
}

/* Any byte string given as PTX ends in an executed program, or in a message; one of the
 * parser has a line and a column. */
#include <stdlib.h>
#include <string.h>

#include "ir/freedom.h"
#include "ir/ptx/ptx.h"
#include "tests/fuzz/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What finishes finishes in another reading too: one of them, by the input. */
static void read_otherwise(plumb_arena *arena, const char *text, size_t size) {
  plumb_program *program = plumb_program_create(arena, "otherwise");
  plumb_diag diag = {0};
  if (plumb_ptx_decode(program, "fuzz.ptx", text, size, &diag) != PLUMB_OK) abort();
  plumb_program_read_otherwise(program, (plumb_freedom)(size % PLUMB_FREEDOM_COUNT));
  if (plumb_program_finish(program, &diag) != PLUMB_OK) abort();
  plumb_fuzz_run(arena, program, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  plumb_arena *arena = plumb_arena_create();
  plumb_program *program = plumb_program_create(arena, "fuzz");
  plumb_diag diag = {0};
  plumb_status status = plumb_ptx_decode(program, "fuzz.ptx", (const char *)data, size, &diag);
  if (status != PLUMB_OK && (!diag.line || !diag.column)) abort();
  if (status == PLUMB_OK) {
    status = plumb_program_finish(program, &diag);
    if (strstr(diag.message, "does not verify")) abort(); /* the decoder's own fault */
    if (status == PLUMB_OK) {
      plumb_fuzz_run(arena, program, false);
      read_otherwise(arena, (const char *)data, size);
    }
  }
  if (status != PLUMB_OK && !diag.message[0]) abort(); /* a failure without a message */
  plumb_arena_destroy(arena);
  return 0;
}

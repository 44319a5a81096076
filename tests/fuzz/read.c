/* Any byte string given as a printed program ends in a finished program, which prints
 * and reads back to the same digest and runs to an end, or in a message. What the verifier
 * lets pass never makes the executor touch memory of its own. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(plumb_arena *arena, const plumb_program *program) {
  plumb_diag diag = {0};
  plumb_text printed = plumb_text_create(arena);
  plumb_program_print(program, &printed);
  plumb_program *again;
  if (plumb_program_read(arena, "again", printed.data, printed.length, &again, &diag) != PLUMB_OK ||
      plumb_program_finish(again, &diag) != PLUMB_OK)
    abort();
  plumb_digest a = plumb_program_digest(program), b = plumb_program_digest(again);
  if (a.lo != b.lo || a.hi != b.hi) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  plumb_program *program;
  plumb_status status =
      plumb_program_read(arena, "fuzz", (const char *)data, size, &program, &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(program, &diag);
  if (status == PLUMB_OK) {
    round_trip(arena, program);
    plumb_fuzz_run(arena, program, false);
    plumb_fuzz_run(arena, program, true);
  } else if (!diag.message[0]) {
    abort(); /* a failure without a message */
  }
  plumb_arena_destroy(arena);
  return 0;
}

/* Any byte string given as a printed program ends in a finished program, which prints
 * and reads back to the same digest and runs to an end, or in a message. What the verifier
 * lets pass never makes the executor touch memory of its own. */
#include <stdlib.h>
#include <string.h>

#include "ir/program.h"
#include "targets/cpu/cpu.h"

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

enum { LANES = 40, STEPS = 20000, WORDS = 64, MAX_PARAMS = 16 };

/* A message where something failed, and nothing else. */
static void check_end(plumb_status status, const plumb_run_result *result, const plumb_diag *diag) {
  if (status != PLUMB_OK && !diag->message[0]) abort();
  if (status == PLUMB_OK && result->trap.kind != PLUMB_TRAP_NONE && !result->trap.message) abort();
}

static void run_function(plumb_machine *machine, const plumb_function *f, uint64_t buffer,
                         const plumb_run_options *options) {
  plumb_diag diag = {0};
  plumb_run_result result = {0};
  uint64_t words[MAX_PARAMS * 8];
  for (size_t i = 0; i < MAX_PARAMS * 8; i++) words[i] = i % 2 ? i : buffer;
  if (f->kind == PLUMB_KERNEL) {
    plumb_launch launch = {.grid = {3, 1, 1}, .block = {LANES, 1, 1}, .shared_bytes = 256};
    for (int i = 0; i < 3 && f->required_threads[0]; i++) launch.block[i] = f->required_threads[i];
    if (f->param_bytes > sizeof words) return;
    check_end(plumb_machine_launch(machine, f->name, &launch, words, f->param_bytes, options,
                                   &result, &diag),
              &result, &diag);
  } else if (f->param_count <= MAX_PARAMS) {
    check_end(plumb_machine_call(machine, f->name, words, f->param_count, options, &result, &diag),
              &result, &diag);
  }
}

/* Every function, with parameters that are the address of a buffer or small numbers. */
static void run_program(plumb_arena *arena, const plumb_program *program, bool companions) {
  plumb_machine *machine = plumb_machine_create(arena);
  plumb_diag diag = {0};
  uint32_t data[WORDS];
  for (uint32_t i = 0; i < WORDS; i++) data[i] = i;
  uint64_t buffer = plumb_machine_alloc(machine, sizeof data, 256, "buffer");
  if (plumb_machine_write(machine, buffer, data, sizeof data, &diag) != PLUMB_OK) abort();
  plumb_run_options options = plumb_run_options_default();
  options.step_limit = STEPS;
  options.jobs = 1;
  options.companions = companions;
  plumb_status status = plumb_machine_load(machine, program, &diag);
  if (status != PLUMB_OK && !diag.message[0]) abort();
  for (size_t i = 0; status == PLUMB_OK && i < program->function_count; i++)
    if (!program->functions[i]->external)
      run_function(machine, program->functions[i], buffer, &options);
  plumb_machine_destroy(machine);
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
    run_program(arena, program, false);
    run_program(arena, program, true);
  } else if (!diag.message[0]) {
    abort(); /* a failure without a message */
  }
  plumb_arena_destroy(arena);
  return 0;
}

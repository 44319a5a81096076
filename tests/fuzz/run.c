#include "tests/fuzz/run.h"

#include <stdlib.h>

#include "targets/cpu/cpu.h"

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

void plumb_fuzz_run(plumb_arena *arena, const plumb_program *program, bool companions) {
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

/* Runs what a fuzz entry decoded: whatever the verifier let pass ends in values, in a trap or
 * in a message, and never makes the executor touch memory of its own. */
#ifndef PLUMB_TESTS_FUZZ_RUN_H
#define PLUMB_TESTS_FUZZ_RUN_H

#include "ir/program.h"

/* Runs every function of a finished program for a bounded number of steps, with parameters
 * that are the address of a buffer or small numbers; aborts where one fails without a
 * message. */
void plumb_fuzz_run(plumb_arena *arena, const plumb_program *program, bool companions);

#endif

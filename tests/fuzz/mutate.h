/* Mutants of a text for the fuzz entries: tokens replaced by others of their kind from the
 * same text or from those seen before, lines dropped and doubled. So most mutants pass the
 * parser and test what comes after it. The same seed gives the same mutants. */
#ifndef PLUMB_TESTS_FUZZ_MUTATE_H
#define PLUMB_TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* A mutant of text[0 .. length), from malloc; *out_length bytes. `seed` moves on. */
char *plumb_mutate(const char *text, size_t length, uint64_t *seed, size_t *out_length);

#endif

/* Work on several cores: what the executor's blocks and a check's stages share. */
#ifndef PLUMB_IR_BASE_PARALLEL_H
#define PLUMB_IR_BASE_PARALLEL_H

#include <stddef.h>

/* The number of cores that are online, at least 1. */
size_t plumb_core_count(void);

/* Calls `work(user)` on `workers` threads at once, the calling one among them, and waits
 * for all. `work` draws its share from a counter of its own, so that fewer threads than
 * asked for (the system refuses, or more than 64 are wanted) only take longer. */
void plumb_parallel(size_t workers, void (*work)(void *user), void *user);

#endif

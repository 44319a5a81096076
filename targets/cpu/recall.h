/* Launches that are remembered. A ladder's stages differ by one step, which changes one
 * kernel of several: the others are the same instructions on the same memory with the same
 * arguments, so they do the same, and what they did is taken instead of doing it again. */
#ifndef PLUMB_TARGETS_CPU_RECALL_H
#define PLUMB_TARGETS_CPU_RECALL_H

#include "targets/cpu/exec.h"

/* A launch that is about to run, and the memory that it finds. */
typedef struct plumb_recall_look {
  bool known; /* it can be told from others: the rest holds something */
  plumb_digest key;
  plumb_digest *memory; /* a digest an allocation; an own heap block */
  uint32_t allocations;
  plumb_counters counters;
  uint64_t steps;
} plumb_recall_look;

/* True if the launch was done before, and is now done again by taking its memory and
 * counters. Else `look` says what plumb_recall_keep has to know. The grid is laid out. */
bool plumb_recall_replay(plumb_grid *g, plumb_recall_look *look);
/* Remembers the launch that has just run, unless it trapped or left undefined values whose
 * origins only this run knows. Frees what `look` holds. */
void plumb_recall_keep(plumb_grid *g, plumb_recall_look *look);

#endif

/* One load or store for all lanes: what access.c and state.c share. */
#ifndef PLUMB_TARGETS_CPU_ACCESS_H
#define PLUMB_TARGETS_CPU_ACCESS_H

#include "targets/cpu/footprint.h"

typedef struct plumb_access {
  plumb_strand *s;
  const plumb_inst *inst;
  const plumb_lanes *on;
  const uint16_t *list;
  const plumb_reg *regs; /* values: results of a load, operands of a store */
  uint32_t elements;
  unsigned element_bytes;
  uint64_t size_bytes;
  plumb_view view;
  bool by_rows; /* `rows` says where in the view the lanes lie, else br->offsets does */
  plumb_footprint rows;
} plumb_access;

/* For what looks at lanes one by one: fills br->offsets. */
static inline void plumb_access_want_offsets(plumb_block_run *br, const plumb_access *a) {
  if (a->by_rows) plumb_footprint_spread(&a->rows, br->offsets);
}

/* Whether an earlier lane of `lane`'s warp, in the running STORE, stores to the same place
 * as `lane` at bytes [offset, offset + size_bytes) of what it stores, and what. A warp's
 * one instruction may write a location more than once: some write is the last, and which
 * is undefined (CUDA C++ programming guide, SIMT architecture), so that only different
 * values make a difference. */
typedef enum plumb_overlap {
  PLUMB_OVERLAP_NONE,
  PLUMB_OVERLAP_SAME,
  PLUMB_OVERLAP_DIFFERS,
  PLUMB_OVERLAP_UNDEFINED /* one of the values, so that they are not known to be the same */
} plumb_overlap;
plumb_overlap plumb_access_overlap(plumb_block_run *br, uint32_t lane, uint64_t offset,
                                   unsigned size_bytes);

bool plumb_state_is_initialised(const uint8_t *state, uint64_t size_bytes);
/* True if every byte of every lane was written. */
bool plumb_access_is_initialised(const plumb_block_run *br, const plumb_access *a);
/* Lanes that read a byte that was never written: their results are undefined from here.
 * False after a trap: a byte lies between shared variables. */
bool plumb_access_mark_undefined(plumb_block_run *br, const plumb_access *a);
/* Sets the states of what was stored; undefined values leave their bytes uninitialised. */
void plumb_access_store_states(plumb_block_run *br, const plumb_access *a);
/* Shared variables lie in one view with unaddressable bytes between them: false after a
 * trap because a lane touches such a byte. */
bool plumb_access_avoids_gaps(plumb_block_run *br, const plumb_access *a);

#endif

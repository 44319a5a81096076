/* Where the lanes of one access lie, when that is regular: rows of equally spaced lanes,
 * as `a[ty][tx]`, `a[ty][i]` and `a[i][tx]` are. What is checked of such an access is
 * checked of its stretches, each a run of bytes without a hole, and not of every lane.
 *
 *     if (plumb_footprint_find(addresses, lanes, &fp) && plumb_footprint_stretch(&fp, 4)) ...
 */
#ifndef PLUMB_TARGETS_CPU_FOOTPRINT_H
#define PLUMB_TARGETS_CPU_FOOTPRINT_H

#include "targets/cpu/exec.h"

/* Lane row * width + column is at first + row * pitch + column * step, modulo 2^64. */
typedef struct plumb_footprint {
  uint64_t first, step, pitch;
  uint32_t rows, width;
  /* set by plumb_footprint_stretch: stretch i has stretch_bytes from first + i * pitch */
  uint32_t stretches;
  uint64_t stretch_bytes;
} plumb_footprint;

/* Looks at every address, so that no bookkeeping elsewhere can make it wrong. False if
 * they are not regular; then *out is not set. */
bool plumb_footprint_find(const uint64_t *addresses, uint32_t lanes, plumb_footprint *out);

/* The distance of the lowest and of the highest lane from the first; false if they are
 * further away than any allocation is long. */
bool plumb_footprint_span(const plumb_footprint *fp, int64_t *out_low, int64_t *out_high);

/* Sets the stretches of accesses of size_bytes a lane; false if several rows have holes or
 * their lanes overlap in part. */
bool plumb_footprint_stretch(plumb_footprint *fp, uint64_t size_bytes);

/* out[i] = the place of lane i. */
void plumb_footprint_spread(const plumb_footprint *fp, uint64_t *out);

/* As plumb_race_touch, for the lanes from `lane` on: lane i touches size_bytes at
 * base + plumb_footprint_spread's i. False if it cannot tell quickly; then touching lane
 * by lane decides, and nothing that was noted here changes the answer. */
bool plumb_race_touch_rows(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                           unsigned window, uint64_t base, const plumb_footprint *fp,
                           uint64_t size_bytes, bool write);

#endif

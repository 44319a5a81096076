/* The device's time: what %clock, %clock64 and %globaltimer show. PTX ISA 9.0, 10.22 to 10.26:
 * counters that only grow; how fast is the machine's own matter. The reading taken:
 *
 *   An instruction issued for lanes of a block takes one cycle, and a cycle is a nanosecond of
 *   %globaltimer. All lanes of a block see one clock. Blocks that run beside each other start at
 *   one time. Blocks that are executed one after another, or in turns, because they may tell
 *   each other something, share one clock: what a block learns from another lies in its past.
 *   The next launch starts when the last block of this one has ended.
 *
 *   A loop that does nothing but wait for a clock is not executed a cycle at a time: each
 *   reading in it adds an eighth of the time waited so far, at most LEAP_MAX. Such a wait lasts
 *   up to an eighth longer than it has to, and ends after tens of readings.
 *
 * Nothing of this depends on the host's clock: the same launch sees the same times. */
#include "targets/cpu/exec.h"

#define LEAP_PART 8u
#define LEAP_MAX (1u << 24)

uint64_t plumb_timer_read(plumb_block_run *br, plumb_strand *s) {
  uint32_t pc = s->frame->pc_base + s->pc;
  uint64_t now = plumb_timer_now(br);
  if (!(br->machine->inst_facts[pc] & PLUMB_INST_AWAITS_TIME)) {
    s->wait_pc = 0;
    return now;
  }
  if (s->wait_pc != pc + 1) {
    s->wait_pc = pc + 1;
    s->wait_from = now;
    return now;
  }
  uint64_t leap = (now - s->wait_from) / LEAP_PART;
  plumb_timer_raise(br, now + (leap < LEAP_MAX ? leap : LEAP_MAX));
  return plumb_timer_now(br);
}

void plumb_timer_raise(plumb_block_run *br, uint64_t time) {
  uint64_t now = plumb_timer_now(br);
  if (time > now) br->time_offset += time - now;
}

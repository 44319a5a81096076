/* Local memory: granules of 8 bytes of all lanes lie side by side, so that a scalar
 * variable of all lanes is one stretch. */
#include <stdlib.h>

#include "targets/cpu/access.h"

#define MAX_LOCAL_KERNEL_BYTES (512ull << 10) /* CUDA C programming guide, 16: a thread's limit */
#define MAX_LOCAL_HOST_BYTES (1ull << 30)

uint8_t *plumb_local_granule(const plumb_block_run *br, uint8_t *of, uint32_t lane, uint64_t off) {
  return of + ((off >> 3) * br->lanes + lane) * 8 + (off & 7);
}

/* The granules that hold byte `off`, from `lane` on. */
static uint64_t *granules(const plumb_block_run *br, uint8_t *of, uint32_t lane, uint64_t off) {
  return (uint64_t *)(void *)plumb_local_granule(br, of, lane, off & ~7ull);
}

bool plumb_local_reserve(plumb_block_run *br, const plumb_strand *s, uint64_t bytes) {
  if (bytes <= br->local_bytes) return true;
  uint64_t limit = br->grid->host ? MAX_LOCAL_HOST_BYTES : MAX_LOCAL_KERNEL_BYTES;
  if (bytes > limit)
    return plumb_trap_at(br, PLUMB_TRAP_STACK_OVERFLOW, s->frame, s->pc, (int32_t)s->lanes.lo,
                         "%llu bytes of local memory are needed, %llu are allowed",
                         (unsigned long long)bytes, (unsigned long long)limit);
  uint64_t grown = br->local_bytes * 2 > bytes ? br->local_bytes * 2 : bytes;
  if (grown > limit) grown = limit;
  grown = (grown + 63) / 64 * 64;
  uint8_t *data = realloc(br->local, grown * br->lanes);
  uint8_t *state = realloc(br->local_state, grown * br->lanes);
  if (!data || !state) abort();
  memset(data + br->local_bytes * br->lanes, 0, (grown - br->local_bytes) * br->lanes);
  memset(state + br->local_bytes * br->lanes, 0, (grown - br->local_bytes) * br->lanes);
  br->local = data;
  br->local_state = state;
  br->local_bytes = grown;
  return true;
}

void plumb_local_forget(plumb_block_run *br, const plumb_lanes *on, uint64_t from, uint64_t to) {
  if (br->undef) plumb_undef_forget(br, on, from, to);
  if (on->dense && from % 8 == 0) {
    for (uint64_t g = from / 8; g * 8 < to; g++)
      memset(br->local_state + (g * br->lanes + on->lo) * 8, 0, (size_t)on->count * 8);
    return;
  }
  const uint16_t *list = plumb_lanes_list(on, br->list_room);
  for (uint32_t i = 0; i < on->count; i++)
    for (uint64_t off = from; off < to; off++)
      *plumb_local_granule(br, br->local_state, list[i], off) = PLUMB_BYTE_UNINITIALISED;
}

/* What an element covers of its granule, one byte of ones for each of its bytes. Lanes'
 * granules follow each other, so the loops below are over whole words. */
typedef struct part {
  uint64_t mask;
  unsigned shift; /* of the element's low bit in the granule */
} part;

static part part_of(uint64_t offset, unsigned bytes) {
  part p = {UINT64_MAX >> (64 - 8 * bytes), 8 * (unsigned)(offset & 7)};
  p.mask <<= p.shift;
  return p;
}

PLUMB_CLONES
static uint64_t not_initialised(const uint64_t *state, uint32_t count, uint64_t mask) {
  uint64_t differs = 0;
  for (uint32_t i = 0; i < count; i++) differs |= (state[i] ^ PLUMB_STATE_ONES) & mask;
  return differs;
}

#define LOOPS(TYPE) \
  PLUMB_CLONES \
  static void read_##TYPE(TYPE *to, const uint64_t *data, uint32_t count, part p) { \
    for (uint32_t i = 0; i < count; i++) to[i] = (TYPE)(data[i] >> p.shift); \
  } \
  PLUMB_CLONES \
  static uint64_t write_##TYPE(const TYPE *from, uint64_t *data, uint64_t *state, uint32_t count, \
                               part p) { \
    uint64_t changed = 0; \
    for (uint32_t i = 0; i < count; i++) { \
      uint64_t word = (data[i] & ~p.mask) | (uint64_t)from[i] << p.shift; \
      changed |= word ^ data[i]; \
      data[i] = word; \
      state[i] = (state[i] & ~p.mask) | (PLUMB_STATE_ONES & p.mask); \
    } \
    return changed; \
  }
LOOPS(uint8_t)
LOOPS(uint16_t)
LOOPS(uint32_t)
LOOPS(uint64_t)

#define MOVE(TYPE) \
  if (write) \
    changed = write_##TYPE((const TYPE *)from, data, state, on->count, p); \
  else \
    read_##TYPE((TYPE *)to, data, on->count, p)

static void move_element(plumb_block_run *br, plumb_frame *f, const plumb_lanes *on, plumb_reg r,
                         unsigned bytes, uint64_t offset, bool write) {
  uint64_t *data = granules(br, br->local, on->lo, offset);
  uint64_t *state = granules(br, br->local_state, on->lo, offset);
  part p = part_of(offset, bytes);
  const void *from = NULL;
  void *to = NULL;
  uint64_t changed = 0;
  if (write)
    from = plumb_operand(br, f, r) + (size_t)on->lo * bytes;
  else
    to = plumb_reg_lanes(br, f, r) + (size_t)on->lo * bytes;
  switch (bytes) {
    case 1:
      MOVE(uint8_t);
      break;
    case 2:
      MOVE(uint16_t);
      break;
    case 4:
      MOVE(uint32_t);
      break;
    default:
      MOVE(uint64_t);
  }
  if (changed) br->changes++;
}

/* Not zero if a lane's local memory ends before `end`. */
PLUMB_CLONES
static uint64_t ends_before(const uint64_t *top, uint32_t count, uint64_t end) {
  uint64_t before = 0;
  for (uint32_t i = 0; i < count; i++) before |= end > top[i] ? UINT64_MAX : 0;
  return before;
}

bool plumb_local_move(plumb_block_run *br, plumb_frame *f, const plumb_lanes *on,
                      const plumb_reg *regs, uint32_t elements, unsigned bytes, uint64_t offset,
                      bool write) {
  uint64_t end = offset + (uint64_t)elements * bytes;
  bool bad = offset < PLUMB_LOCAL_BASE || end < offset || offset % bytes != 0;
  bad |= ends_before(br->local_top + on->lo, on->count, end) != 0;
  for (uint64_t at = offset; !write && !bad && at < end; at += bytes) {
    const uint64_t *state = granules(br, br->local_state, on->lo, at);
    bad = not_initialised(state, on->count, part_of(at, bytes).mask) != 0;
  }
  for (uint32_t e = 0; !bad && e < elements; e++)
    move_element(br, f, on, regs[e], bytes, offset + (uint64_t)e * bytes, write);
  return !bad;
}

PLUMB_CLONES
static uint64_t highest(const uint64_t *top, uint32_t count) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < count; i++) most = top[i] > most ? top[i] : most;
  return most;
}

/* A hole between the lanes may hold more than they do, which only leaves a gap. */
uint64_t plumb_local_highest(const plumb_block_run *br, const plumb_lanes *on) {
  return highest(br->local_top + on->lo, on->hi - on->lo);
}

void plumb_local_raise(plumb_block_run *br, const plumb_lanes *on, uint64_t *saved, uint64_t end) {
  if (on->dense) {
    memcpy(saved + on->lo, br->local_top + on->lo, on->count * sizeof *saved);
    for (uint32_t l = on->lo; l < on->hi; l++) br->local_top[l] = end;
    return;
  }
  const uint16_t *list = plumb_lanes_list(on, br->list_room);
  for (uint32_t i = 0; i < on->count; i++) {
    saved[list[i]] = br->local_top[list[i]];
    br->local_top[list[i]] = end;
  }
}

void plumb_local_lower(plumb_block_run *br, const plumb_lanes *on, const uint64_t *saved) {
  if (on->dense) {
    memcpy(br->local_top + on->lo, saved + on->lo, on->count * sizeof *saved);
    return;
  }
  const uint16_t *list = plumb_lanes_list(on, br->list_room);
  for (uint32_t i = 0; i < on->count; i++) br->local_top[list[i]] = saved[list[i]];
}

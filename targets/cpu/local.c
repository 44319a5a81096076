/* Local memory: granules of 8 bytes of all lanes lie side by side, so that a scalar
 * variable of all lanes is one stretch. */
#include <stdlib.h>

#include "targets/cpu/access.h"

#define MAX_LOCAL_KERNEL_BYTES (512ull << 10) /* CUDA C programming guide, 16: a thread's limit */
#define MAX_LOCAL_HOST_BYTES (1ull << 30)

uint8_t *plumb_local_granule(const plumb_block_run *br, uint8_t *of, uint32_t lane, uint64_t off) {
  return of + ((off >> 3) * br->lanes + lane) * 8 + (off & 7);
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

#define MOVE(TYPE) \
  for (uint32_t i = 0; i < on->count; i++) { \
    if (write) { \
      changed |= memcmp(data + (size_t)i * 8, from + i * sizeof(TYPE), sizeof(TYPE)) != 0; \
      memcpy(data + (size_t)i * 8, from + i * sizeof(TYPE), sizeof(TYPE)); \
      memset(state + (size_t)i * 8, PLUMB_BYTE_INITIALISED, sizeof(TYPE)); \
    } else { \
      memcpy(to + i * sizeof(TYPE), data + (size_t)i * 8, sizeof(TYPE)); \
    } \
  }

static void move_element(plumb_block_run *br, plumb_frame *f, const plumb_lanes *on, plumb_reg r,
                         unsigned bytes, uint64_t offset, bool write) {
  uint8_t *data = plumb_local_granule(br, br->local, on->lo, offset), *to = NULL;
  uint8_t *state = plumb_local_granule(br, br->local_state, on->lo, offset);
  const uint8_t *from = NULL;
  bool changed = false;
  if (write)
    from = plumb_operand(br, f, r) + (size_t)on->lo * bytes;
  else
    to = plumb_reg_lanes(br, f, r) + (size_t)on->lo * bytes;
  switch (bytes) {
    case 1:
      MOVE(uint8_t)
      break;
    case 2:
      MOVE(uint16_t)
      break;
    case 4:
      MOVE(uint32_t)
      break;
    default:
      MOVE(uint64_t)
  }
  if (changed) br->changes++;
}

bool plumb_local_move(plumb_block_run *br, plumb_frame *f, const plumb_lanes *on,
                      const plumb_reg *regs, uint32_t elements, unsigned bytes, uint64_t offset,
                      bool write) {
  uint64_t end = offset + (uint64_t)elements * bytes;
  bool bad = offset < PLUMB_LOCAL_BASE || end < offset;
  for (uint32_t l = on->lo; l < on->hi; l++) bad |= end > br->local_top[l];
  for (uint64_t at = offset; !write && !bad && at < end; at += bytes) {
    const uint8_t *state = plumb_local_granule(br, br->local_state, on->lo, at);
    for (uint32_t i = 0; i < on->count; i++)
      bad |= !plumb_state_is_initialised(state + (size_t)i * 8, bytes);
  }
  for (uint32_t e = 0; !bad && e < elements; e++)
    move_element(br, f, on, regs[e], bytes, offset + (uint64_t)e * bytes, write);
  return !bad;
}

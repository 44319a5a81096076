/* The initialised map: what loads find there and stores leave there (see access.h). */
#include "targets/cpu/access.h"

/* Zero if all bytes have the state of the first 8. */
PLUMB_CLONES
static uint64_t state_differs(const uint8_t *state, uint64_t words, uint64_t expected) {
  uint64_t differs = 0;
  for (uint64_t i = 0; i < words; i++) {
    uint64_t word;
    memcpy(&word, state + i * 8, 8);
    differs |= word ^ expected;
  }
  return differs;
}

bool plumb_state_is_initialised(const uint8_t *state, uint64_t size_bytes) {
  uint64_t i = 0, differs = 0;
  if (size_bytes >= 64) {
    differs = state_differs(state, size_bytes / 8, PLUMB_STATE_ONES);
    i = size_bytes / 8 * 8;
  }
  for (; i + 8 <= size_bytes; i += 8) {
    uint64_t word;
    memcpy(&word, state + i, 8);
    differs |= word ^ PLUMB_STATE_ONES;
  }
  for (; i < size_bytes; i++) differs |= state[i] ^ PLUMB_BYTE_INITIALISED;
  return differs == 0;
}

bool plumb_access_is_initialised(const plumb_block_run *br, const plumb_access *a) {
  const uint8_t *state = a->view.state;
  const plumb_footprint *fp = &a->rows;
  uint32_t differs = 0;
  bool all = true;
  if (a->by_rows && fp->stretch_bytes == 4) {
    for (uint32_t i = 0; i < fp->stretches; i++) {
      uint32_t word;
      memcpy(&word, state + fp->first + i * fp->pitch, 4);
      differs |= word ^ (uint32_t)PLUMB_STATE_ONES;
    }
  } else if (a->by_rows) {
    for (uint32_t i = 0; i < fp->stretches; i++)
      all &= plumb_state_is_initialised(state + fp->first + i * fp->pitch, fp->stretch_bytes);
  } else if (a->size_bytes == 4) {
    for (uint32_t i = 0; i < a->on->count; i++) {
      uint32_t word;
      memcpy(&word, state + br->offsets[i], 4);
      differs |= word ^ (uint32_t)PLUMB_STATE_ONES;
    }
  } else {
    for (uint32_t i = 0; i < a->on->count; i++)
      all &= plumb_state_is_initialised(state + br->offsets[i], a->size_bytes);
  }
  return all && differs == 0;
}

bool plumb_access_mark_undefined(plumb_block_run *br, const plumb_access *a) {
  plumb_frame *f = a->s->frame;
  plumb_access_want_offsets(br, a);
  for (uint32_t i = 0; i < a->on->count; i++) {
    const uint8_t *state = a->view.state + br->offsets[i];
    uint64_t address = a->view.base + br->offsets[i];
    if (plumb_state_is_initialised(state, a->size_bytes)) continue;
    if (plumb_has_gap(state, a->size_bytes))
      return plumb_trap_bounds(br, a->s, a->list[i], address, a->size_bytes);
    if (br->run->options.ignore_uninitialised) continue;
    br->undef = true;
    for (uint32_t e = 0; e < a->elements; e++, address += a->element_bytes)
      if (!plumb_state_is_initialised(state + e * a->element_bytes, a->element_bytes))
        plumb_undef_set(br, f, a->regs[e], a->list[i],
                        plumb_undef_loaded(br, a->list[i], address, f->pc_base + a->s->pc + 1));
  }
  return true;
}

/* Sets the states of what was stored; undefined values leave their bytes uninitialised. */
static void store_undefined(plumb_block_run *br, const plumb_access *a) {
  plumb_frame *f = a->s->frame;
  plumb_access_want_offsets(br, a);
  for (uint32_t e = 0; e < a->elements; e++)
    for (uint32_t i = 0; i < a->on->count; i++) {
      uint64_t offset = br->offsets[i] + e * a->element_bytes, address = a->view.base + offset;
      uint32_t origin = plumb_undef_get(f, a->regs[e], a->list[i]);
      if (origin) plumb_undef_stored(br, a->list[i], address, origin);
      if (origin && a->view.allocation) {
        a->view.allocation->all_initialised = false;
        plumb_undef_leak(br, a->s, a->list[i], address, a->element_bytes, origin);
      }
      memset(a->view.state + offset, origin ? PLUMB_BYTE_UNINITIALISED : PLUMB_BYTE_INITIALISED,
             a->element_bytes);
    }
}

void plumb_access_store_states(plumb_block_run *br, const plumb_access *a) {
  const plumb_footprint *fp = &a->rows;
  const uint32_t ones = (uint32_t)PLUMB_STATE_ONES;
  uint8_t *state = a->view.state;
  if (a->view.allocation && !plumb_allocation_tracks(a->view.allocation)) return;
  if (br->undef) {
    store_undefined(br, a);
  } else if (!a->view.check_state) {
    return;
  } else if (a->by_rows) {
    for (uint32_t i = 0; i < fp->stretches; i++)
      memset(state + fp->first + i * fp->pitch, PLUMB_BYTE_INITIALISED, fp->stretch_bytes);
  } else if (a->size_bytes == 4) {
    for (uint32_t i = 0; i < a->on->count; i++) memcpy(state + br->offsets[i], &ones, 4);
  } else {
    for (uint32_t i = 0; i < a->on->count; i++)
      memset(state + br->offsets[i], PLUMB_BYTE_INITIALISED, a->size_bytes);
  }
}

bool plumb_access_avoids_gaps(plumb_block_run *br, const plumb_access *a) {
  const plumb_footprint *fp = &a->rows;
  bool gap = !a->by_rows;
  for (uint32_t i = 0; a->by_rows && i < fp->stretches; i++)
    gap |= plumb_has_gap(a->view.state + fp->first + i * fp->pitch, fp->stretch_bytes);
  if (!gap) return true;
  plumb_access_want_offsets(br, a);
  for (uint32_t i = 0; i < a->on->count; i++)
    if (plumb_has_gap(a->view.state + br->offsets[i], a->size_bytes))
      return plumb_trap_bounds(br, a->s, a->list[i], a->view.base + br->offsets[i], a->size_bytes);
  return true;
}

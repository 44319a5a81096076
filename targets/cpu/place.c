/* Finding what an address names: views, places, local memory, and the messages when it
 * names nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "targets/cpu/async.h"

bool plumb_view_find(plumb_block_run *br, uint64_t address, plumb_view *out) {
  const plumb_grid *g = br->grid;
  unsigned window = plumb_window_of(address);
  *out = (plumb_view){.window = window, .base = plumb_window_base(window), .check_state = true};
  switch (window) {
    case PLUMB_WINDOW_GLOBAL: {
      plumb_allocation *a = plumb_allocation_of(br->machine, address);
      if (!a) return false;
      out->base = address & ~(uint64_t)UINT32_MAX;
      out->size_bytes = a->size_bytes;
      out->data = a->data;
      out->state = a->state;
      out->allocation = a;
      out->read_only = a->read_only;
      out->check_state = !a->all_initialised;
      return true;
    }
    case PLUMB_WINDOW_SHARED: {
      uint64_t rank = address & (uint64_t)PLUMB_RANK_MASK << PLUMB_RANK_SHIFT;
      plumb_block_run *owner = rank ? plumb_shared_owner(br, address) : br;
      if (!owner || g->host) return false;
      out->base += rank;
      out->size_bytes = g->shared_bytes;
      out->data = owner->shared;
      out->state = owner->shared_state;
      return true;
    }
    case PLUMB_WINDOW_PARAM:
      out->size_bytes = g->fn->param_bytes;
      out->data = (uint8_t *)(uintptr_t)g->params;
      out->state = (uint8_t *)(uintptr_t)g->params_state;
      out->read_only = true;
      return g->params != NULL;
    default:
      return false;
  }
}

static void describe_place(plumb_block_run *br, uint64_t address, uint64_t size_bytes, char *out,
                           size_t room) {
  int64_t offset = 0;
  const plumb_allocation *a = plumb_memory_nearest(br->machine, address, &offset);
  unsigned long long plain = address & (~0ull >> 8);
  static const char *const windows[] = {"global", "shared", "local", "const", "param", "function"};
  unsigned window = plumb_window_of(address);
  if (!a) {
    snprintf(out, room, "%s address 0x%llx", window < 6 ? windows[window] : "wild", plain);
    return;
  }
  br->trap.allocation = a->name;
  br->trap.allocation_offset = (uint64_t)offset;
  const char *name = a->name ? a->name : "an allocation";
  if (!a->live)
    snprintf(out, room, "offset %lld of %s, which has been freed", (long long)offset, name);
  else if (offset < 0)
    snprintf(out, room, "%lld bytes before the start of %s", (long long)-offset, name);
  else if ((uint64_t)offset + size_bytes <= a->size_bytes)
    snprintf(out, room, "offset %lld of %s", (long long)offset, name);
  else
    snprintf(out, room, "offset %lld of %s, which has %llu bytes", (long long)offset, name,
             (unsigned long long)a->size_bytes);
}

static bool trap_access(plumb_block_run *br, plumb_trap_kind kind, const plumb_strand *s,
                        uint32_t lane, uint64_t address, uint64_t size_bytes, const char *what) {
  if (br->trapped) return false;
  const plumb_inst *inst = &s->frame->fn->insts[s->pc];
  plumb_trap_at(br, kind, s->frame, s->pc, (int32_t)lane, "%s", "");
  br->trap.address = address;
  br->trap.size_bytes = size_bytes;
  char place[256];
  describe_place(br, address, size_bytes, place, sizeof place);
  snprintf(br->trap_message, sizeof br->trap_message, "%s of %llu bytes at %s%s",
           plumb_op_table[inst->op].mnemonic, (unsigned long long)size_bytes, place, what);
  return false;
}

bool plumb_trap_bounds(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                       uint64_t size_bytes) {
  return trap_access(br, PLUMB_TRAP_OUT_OF_BOUNDS, s, lane, address, size_bytes,
                     ": outside every allocation");
}

bool plumb_trap_misaligned(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                           uint64_t address, uint64_t size_bytes) {
  return trap_access(br, PLUMB_TRAP_MISALIGNED, s, lane, address, size_bytes,
                     ": not a multiple of the access size");
}

bool plumb_has_gap(const uint8_t *state, uint64_t size_bytes) {
  uint8_t any = 0; /* no early end, so that it vectorises */
  for (uint64_t i = 0; i < size_bytes; i++) any |= state[i];
  return any & PLUMB_BYTE_GAP;
}

bool plumb_rows_find(plumb_block_run *br, const uint64_t *rows, uint32_t count, uint64_t row_bytes,
                     bool write, plumb_view *out) {
  if (!plumb_view_find(br, rows[0], out) || (write && out->read_only) ||
      out->size_bytes < row_bytes)
    return false;
  uint64_t last = out->size_bytes - row_bytes, odd = 0;
  bool beyond = false, gap = false;
  for (uint32_t i = 0; i < count; i++) {
    beyond |= rows[i] - out->base > last;
    odd |= rows[i] & (row_bytes - 1);
  }
  if (beyond || odd) return false;
  if (out->window == PLUMB_WINDOW_SHARED)
    for (uint32_t i = 0; i < count; i++)
      gap |= plumb_has_gap(out->state + (rows[i] - out->base), row_bytes);
  return !gap;
}

bool plumb_place_find(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                      uint64_t size_bytes, bool write, plumb_place *out) {
  *out = (plumb_place){.address = address, .window = plumb_window_of(address)};
  if (out->window == PLUMB_WINDOW_LOCAL) {
    uint64_t off = address - plumb_window_base(PLUMB_WINDOW_LOCAL);
    if (off < PLUMB_LOCAL_BASE || off > br->local_top[lane] ||
        size_bytes > br->local_top[lane] - off)
      return plumb_trap_bounds(br, s, lane, address, size_bytes);
    return true;
  }
  plumb_view view;
  if (!plumb_view_find(br, address, &view) || address - view.base > view.size_bytes ||
      size_bytes > view.size_bytes - (address - view.base))
    return plumb_trap_bounds(br, s, lane, address, size_bytes);
  uint64_t off = address - view.base;
  out->data = view.data + off;
  out->state = view.state + off;
  out->allocation = view.allocation;
  if (out->window == PLUMB_WINDOW_SHARED && plumb_has_gap(out->state, size_bytes))
    return plumb_trap_bounds(br, s, lane, address, size_bytes);
  if (write && view.read_only)
    return trap_access(br, PLUMB_TRAP_READ_ONLY, s, lane, address, size_bytes,
                       ", which is read-only");
  return true;
}

void plumb_place_read(const plumb_block_run *br, const plumb_place *place, uint32_t lane,
                      uint64_t size_bytes, uint8_t *data, uint8_t *state) {
  if (place->data) {
    memcpy(data, place->data, size_bytes);
    memcpy(state, place->state, size_bytes);
    return;
  }
  uint64_t off = place->address - plumb_window_base(PLUMB_WINDOW_LOCAL);
  for (uint64_t i = 0; i < size_bytes; i++) {
    data[i] = *plumb_local_granule(br, br->local, lane, off + i);
    state[i] = *plumb_local_granule(br, br->local_state, lane, off + i);
  }
}

void plumb_place_write(plumb_block_run *br, const plumb_place *place, uint32_t lane,
                       uint64_t size_bytes, const uint8_t *data, const uint8_t *state) {
  if (place->data) {
    if (!br->watch || memcmp(place->data, data, size_bytes) != 0) br->changes++;
    memmove(place->data, data, size_bytes);
    if (place->allocation && !plumb_allocation_tracks(place->allocation)) return;
    memmove(place->state, state, size_bytes);
    if (place->allocation && place->allocation->all_initialised &&
        memchr(state, PLUMB_BYTE_UNINITIALISED, size_bytes))
      place->allocation->all_initialised = false;
    return;
  }
  uint64_t off = place->address - plumb_window_base(PLUMB_WINDOW_LOCAL);
  for (uint64_t i = 0; i < size_bytes; i++) {
    uint8_t *at = plumb_local_granule(br, br->local, lane, off + i);
    if (*at != data[i]) br->changes++;
    *at = data[i];
    *plumb_local_granule(br, br->local_state, lane, off + i) = state[i];
  }
}

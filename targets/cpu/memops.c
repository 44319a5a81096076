/* Memory operations that are not plain loads and stores: addresses, windows, copies and
 * allocation. */
#include <stdio.h>
#include <stdlib.h>

#include "targets/cpu/async.h"

static uint64_t *result64(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst) {
  plumb_reg r = plumb_inst_results(s->frame->fn, inst)[0];
  return (uint64_t *)(void *)plumb_reg_lanes(br, s->frame, r);
}

static const uint64_t *operand64(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                                 uint32_t i) {
  plumb_reg r = plumb_inst_operands(s->frame->fn, inst)[i];
  return (const uint64_t *)(const void *)plumb_operand(br, s->frame, r);
}

static unsigned window_of_space(plumb_space space) {
  switch (space) {
    case PLUMB_SPACE_SHARED:
      return PLUMB_WINDOW_SHARED;
    case PLUMB_SPACE_LOCAL:
      return PLUMB_WINDOW_LOCAL;
    case PLUMB_SPACE_PARAM:
      return PLUMB_WINDOW_PARAM;
    default:
      return PLUMB_WINDOW_GLOBAL;
  }
}

static bool exec_window(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                        const plumb_lanes *on) {
  unsigned window = window_of_space((plumb_space)inst->space);
  uint64_t base = plumb_window_base(window);
  const uint64_t *from = operand64(br, s, inst, 0);
  const uint16_t *list = plumb_lanes_list(on, br->list_room);
  const uint32_t lo = on->lo, hi = on->hi; /* copies: stores might alias the set */
  if (inst->op == PLUMB_OP_TO_GENERIC) {
    uint64_t *to = result64(br, s, inst);
    if (on->dense)
      for (uint32_t l = lo; l < hi; l++) to[l] = from[l] | base;
    else
      for (uint32_t i = 0; i < on->count; i++) to[list[i]] = from[list[i]] | base;
  } else if (inst->op == PLUMB_OP_IS_SPACE) {
    uint8_t *to = (uint8_t *)result64(br, s, inst);
    for (uint32_t i = 0; i < on->count; i++) {
      uint64_t address = from[list[i]];
      const plumb_allocation *a = plumb_allocation_of(br->machine, address);
      bool is = plumb_window_of(address) == window;
      if (inst->space == PLUMB_SPACE_CONST)
        is = is && a && a->read_only;
      else if (window == PLUMB_WINDOW_GLOBAL)
        is = is && !(a && a->read_only);
      else if (window == PLUMB_WINDOW_SHARED && !(inst->flags & PLUMB_FLAG_SCOPE_CLUSTER))
        is = is && plumb_shared_owner(br, address) == br;
      to[list[i]] = is;
    }
  } else {
    uint64_t *to = result64(br, s, inst), outside = 0;
    for (uint32_t l = lo; l < hi; l++) outside |= (from[l] ^ base) >> 56;
    if (!outside && on->dense) {
      for (uint32_t l = lo; l < hi; l++) to[l] = from[l] - base;
      return true;
    }
    for (uint32_t i = 0; i < on->count; i++) {
      uint64_t address = from[list[i]];
      if (plumb_window_of(address) != window && inst->space != PLUMB_SPACE_GENERIC) {
        plumb_trap_at(br, PLUMB_TRAP_WRONG_SPACE, s->frame, s->pc, list[i],
                      "generic address 0x%llx does not lie in %s memory",
                      (unsigned long long)address, plumb_space_texts[inst->space]);
        br->trap.address = address;
        return false;
      }
      to[list[i]] = address - base;
    }
  }
  return true;
}

static bool exec_address(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                         const plumb_lanes *on) {
  uint64_t value;
  if (inst->op == PLUMB_OP_FRAME) {
    value = s->frame->local_base + (uint64_t)inst->imm;
  } else {
    const plumb_global *g = &br->program->globals[inst->imm];
    value = g->space == PLUMB_SPACE_SHARED
                ? (br->grid->shared_offsets ? br->grid->shared_offsets[inst->imm] : 0)
                : br->machine->global_addresses[inst->imm];
  }
  uint64_t *to = result64(br, s, inst);
  if (on->dense) {
    plumb_lanes_set((uint8_t *)to, 8, value, on->lo, on->hi);
    return true;
  }
  const uint16_t *list = plumb_lanes_list(on, br->list_room);
  for (uint32_t i = 0; i < on->count; i++) to[list[i]] = value;
  return true;
}

static bool exec_alloca(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                        const plumb_lanes *on) {
  uint64_t align = inst->imm > 0 ? (uint64_t)inst->imm : 8;
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    uint64_t bytes = operand64(br, s, inst, 0)[l];
    uint64_t at = (br->local_top[l] + align - 1) / align * align;
    if (bytes > 1ull << 40) bytes = 1ull << 40; /* far over the limit: reported as such */
    if (!plumb_local_reserve(br, s, at + bytes)) return false;
    br->local_top[l] = at + bytes;
    plumb_lanes one = {0};
    plumb_lanes_put(&one, l);
    plumb_lanes_settle(&one);
    plumb_local_forget(br, &one, at, at + bytes);
    result64(br, s, inst)[l] = at;
  }
  return true;
}

static bool exec_alloc(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       const plumb_lanes *on) {
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    uint64_t bytes = operand64(br, s, inst, 0)[l];
    uint64_t address = plumb_memory_alloc(br->machine, bytes, "the heap");
    if (!address && br->grid->host) {
      char what[100];
      snprintf(what, sizeof what, "an allocation of %llu bytes exceeds the memory limit",
               (unsigned long long)bytes);
      plumb_unsupported_at(br, s->frame, s->pc, what);
      br->unsupported_status = PLUMB_LIMIT;
      return false;
    }
    result64(br, s, inst)[l] = address; /* on the device: 0, as malloc */
  }
  return true;
}

static bool exec_free(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on) {
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    uint64_t address = operand64(br, s, inst, 0)[l];
    if (!address || plumb_memory_free(br->machine, address)) continue;
    plumb_trap_at(br, PLUMB_TRAP_INVALID_FREE, s->frame, s->pc, (int32_t)l,
                  "0x%llx is freed twice, or was never allocated", (unsigned long long)address);
    br->trap.address = address;
    return false;
  }
  return true;
}

/* --- copies --- */

static bool touch(plumb_block_run *br, plumb_strand *s, uint32_t lane, const plumb_place *p,
                  uint64_t bytes, unsigned how) {
  if (!br->race || (p->window != PLUMB_WINDOW_SHARED && p->window != PLUMB_WINDOW_GLOBAL))
    return true;
  if (p->allocation && p->allocation->read_only) return true;
  uint16_t one = (uint16_t)lane;
  uint64_t zero = 0;
  return plumb_race_touch(br, s, &one, 1, p->window, p->address, &zero, bytes, how);
}

static void count(plumb_block_run *br, const plumb_place *p, uint64_t bytes, bool write) {
  if (p->window == PLUMB_WINDOW_SHARED)
    *(write ? &br->counters.shared_store_bytes : &br->counters.shared_load_bytes) += bytes;
  else if (p->window == PLUMB_WINDOW_GLOBAL)
    *(write ? &br->counters.global_store_bytes : &br->counters.global_load_bytes) += bytes;
}

static bool copy_lane(plumb_block_run *br, plumb_strand *s, uint32_t lane, uint64_t to,
                      uint64_t from, uint64_t bytes) {
  plumb_place target, source;
  if (!bytes) return true;
  if (!plumb_place_find(br, s, lane, from, bytes, false, &source) ||
      !plumb_place_find(br, s, lane, to, bytes, true, &target) ||
      !touch(br, s, lane, &source, bytes, PLUMB_TOUCH_READ) ||
      !touch(br, s, lane, &target, bytes, PLUMB_TOUCH_WRITE))
    return false;
  count(br, &source, bytes, false);
  count(br, &target, bytes, true);
  if (br->run->options.companions) plumb_companion_move(br, lane, &target, &source, bytes);
  if (source.data) {
    plumb_place_write(br, &target, lane, bytes, source.data, source.state);
    return true;
  }
  uint8_t *room = malloc(bytes * 2);
  if (!room) abort();
  plumb_place_read(br, &source, lane, bytes, room, room + bytes);
  plumb_place_write(br, &target, lane, bytes, room, room + bytes);
  free(room);
  return true;
}

static bool set_lane(plumb_block_run *br, plumb_strand *s, uint32_t lane, uint64_t to,
                     uint8_t value, bool undefined, uint64_t bytes) {
  plumb_place target;
  if (!bytes) return true;
  if (!plumb_place_find(br, s, lane, to, bytes, true, &target) ||
      !touch(br, s, lane, &target, bytes, PLUMB_TOUCH_WRITE))
    return false;
  count(br, &target, bytes, true);
  if (br->run->options.companions) plumb_companion_drop(br, lane, &target, bytes);
  uint8_t *room = malloc(bytes * 2);
  if (!room) abort();
  memset(room, value, bytes);
  memset(room + bytes, undefined ? PLUMB_BYTE_UNINITIALISED : PLUMB_BYTE_INITIALISED, bytes);
  plumb_place_write(br, &target, lane, bytes, room, room + bytes);
  free(room);
  return true;
}

static bool exec_copy(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on) {
  const plumb_reg *r = plumb_inst_operands(s->frame->fn, inst);
  bool set = inst->op == PLUMB_OP_MEMSET;
  if (br->parked_aligned) plumb_effect_note(br, s);
  if (br->undef && (!plumb_undef_check(br, s, r[0], on, "an address") ||
                    (!set && !plumb_undef_check(br, s, r[1], on, "an address")) ||
                    !plumb_undef_check(br, s, r[2], on, "a size")))
    return false;
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    uint64_t to = operand64(br, s, inst, 0)[l], bytes = operand64(br, s, inst, 2)[l];
    if (bytes > PLUMB_MAX_ALLOCATION_BYTES) return plumb_trap_bounds(br, s, l, to, bytes);
    uint64_t from = set ? 0 : operand64(br, s, inst, 1)[l];
    unsigned from_log2 = set ? 0 : inst->sub;
    if (bytes && to & ((1ull << inst->align_log2) - 1))
      return plumb_trap_misaligned(br, s, l, to, 1ull << inst->align_log2);
    if (bytes && from & ((1ull << from_log2) - 1))
      return plumb_trap_misaligned(br, s, l, from, 1ull << from_log2);
    bool ok =
        set ? set_lane(br, s, l, to, plumb_operand(br, s->frame, r[1])[l],
                       inst->sub == 1 || (br->undef && plumb_undef_get(s->frame, r[1], l)), bytes)
            : copy_lane(br, s, l, to, from, bytes);
    if (!ok) return false;
  }
  return true;
}

static bool dispatch(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on) {
  plumb_reg first = inst->operands ? plumb_inst_operands(s->frame->fn, inst)[0] : PLUMB_NO_REG;
  switch (inst->op) {
    case PLUMB_OP_ADDRESS:
    case PLUMB_OP_FRAME:
      return exec_address(br, s, inst, on);
    case PLUMB_OP_TO_GENERIC:
    case PLUMB_OP_FROM_GENERIC:
    case PLUMB_OP_IS_SPACE:
      if (br->undef && !plumb_undef_check(br, s, first, on, "an address")) return false;
      return exec_window(br, s, inst, on);
    case PLUMB_OP_ALLOCA:
    case PLUMB_OP_ALLOC:
      if (br->undef && !plumb_undef_check(br, s, first, on, "a size")) return false;
      return inst->op == PLUMB_OP_ALLOCA ? exec_alloca(br, s, inst, on)
                                         : exec_alloc(br, s, inst, on);
    case PLUMB_OP_FREE:
      if (br->undef && !plumb_undef_check(br, s, first, on, "an address")) return false;
      return exec_free(br, s, inst, on);
    case PLUMB_OP_MEMCPY:
    case PLUMB_OP_MEMSET:
      return exec_copy(br, s, inst, on);
    default:
      return plumb_unsupported_at(br, s->frame, s->pc, plumb_op_table[inst->op].mnemonic);
  }
}

bool plumb_exec_memory(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       const plumb_lanes *on) {
  if (!dispatch(br, s, inst, on)) return false;
  if (!inst->results) return true;
  plumb_reg r = plumb_inst_results(s->frame->fn, inst)[0];
  if (br->undef) plumb_undef_clear(s->frame, r, on);
  if (br->run->options.companions)
    for (uint32_t l = on->lo; l < on->hi; l++)
      if (plumb_lanes_has(on, l)) plumb_companion_set(br, s->frame, r, l, NULL);
  return true;
}

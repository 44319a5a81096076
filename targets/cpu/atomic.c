/* Atomic operations: lane after lane in ascending order, each one step. */
#include "targets/cpu/access.h"
#include "targets/cpu/alu.h"
#include "targets/cpu/bound.h"
#include "targets/cpu/exec.h"

static int64_t sign_extend(plumb_dtype type, uint64_t v) {
  unsigned shift = 64 - plumb_dtype_table[type].bits;
  return (int64_t)(v << shift) >> shift;
}

/* Float add, mul, min and max are the ALU's. */
static uint64_t apply_float(plumb_atomic sub, plumb_dtype type, uint64_t old, uint64_t value) {
  plumb_inst inst = {.type = (uint8_t)type, .type2 = (uint8_t)type, .guard = PLUMB_NO_REG};
  inst.results = 1;
  inst.operands = 2;
  switch (sub) {
    case PLUMB_ATOMIC_SUB:
      inst.op = PLUMB_OP_SUB;
      break;
    case PLUMB_ATOMIC_MUL:
      inst.op = PLUMB_OP_MUL;
      break;
    case PLUMB_ATOMIC_FMIN:
    case PLUMB_ATOMIC_FMINIMUM:
      inst.op = PLUMB_OP_MIN;
      break;
    case PLUMB_ATOMIC_FMAX:
    case PLUMB_ATOMIC_FMAXIMUM:
      inst.op = PLUMB_OP_MAX;
      break;
    default:
      inst.op = PLUMB_OP_ADD;
      break;
  }
  inst.sub = sub == PLUMB_ATOMIC_FMINIMUM || sub == PLUMB_ATOMIC_FMAXIMUM
                 ? (uint8_t)PLUMB_NAN_PROPAGATE
                 : (uint8_t)PLUMB_NAN_DROP;
  uint64_t result = 0;
  void *results[] = {&result};
  const void *operands[] = {&old, &value};
  plumb_alu_execute(NULL, &inst, results, operands, 0, 1);
  return result;
}

uint64_t plumb_atomic_apply(plumb_atomic sub, plumb_dtype type, uint64_t old, uint64_t value,
                            uint64_t swap) {
  int64_t so = sign_extend(type, old), sv = sign_extend(type, value);
  switch (sub) {
    case PLUMB_ATOMIC_ADD:
    case PLUMB_ATOMIC_SUB:
    case PLUMB_ATOMIC_MUL:
      if (plumb_dtype_is_float(type)) return apply_float(sub, type, old, value);
      return sub == PLUMB_ATOMIC_ADD   ? old + value
             : sub == PLUMB_ATOMIC_SUB ? old - value
                                       : old * value;
    case PLUMB_ATOMIC_MIN_S:
      return so < sv ? old : value;
    case PLUMB_ATOMIC_MAX_S:
      return so > sv ? old : value;
    case PLUMB_ATOMIC_MIN_U:
      return old < value ? old : value;
    case PLUMB_ATOMIC_MAX_U:
      return old > value ? old : value;
    case PLUMB_ATOMIC_AND:
      return old & value;
    case PLUMB_ATOMIC_OR:
      return old | value;
    case PLUMB_ATOMIC_XOR:
      return old ^ value;
    case PLUMB_ATOMIC_NAND:
      return ~(old & value);
    case PLUMB_ATOMIC_INC:
      return old >= value ? 0 : old + 1;
    case PLUMB_ATOMIC_DEC:
      return old == 0 || old > value ? value : old - 1;
    case PLUMB_ATOMIC_EXCH:
      return value;
    case PLUMB_ATOMIC_CAS:
      return old == value ? swap : old;
    default:
      return apply_float(sub, type, old, value);
  }
}

/* Companions of a float sum or product by atomics: its order is free. */
static void flow_companion(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                           uint32_t lane, const plumb_place *place, const uint8_t *old) {
  plumb_frame *f = s->frame;
  plumb_dtype type = (plumb_dtype)inst->type;
  unsigned bytes = plumb_dtype_bytes(type);
  const plumb_reg *operands = plumb_inst_operands(f->fn, inst);
  plumb_companion_map *map =
      place->window == PLUMB_WINDOW_GLOBAL ? &br->machine->companions : &br->companions;
  const plumb_companion_entry *e = plumb_companion_map_get(map, place->address);
  plumb_companion before = e ? e->value : plumb_companion_exact(type, old);
  const plumb_companion *given = plumb_companion_get(f, operands[1], lane);
  plumb_companion term =
      given ? *given
            : plumb_companion_exact(type, plumb_operand(br, f, operands[1]) + (size_t)lane * bytes);
  plumb_companion after = plumb_companion_unknown();
  if (plumb_dtype_is_float(type) &&
      (inst->sub == PLUMB_ATOMIC_ADD || inst->sub == PLUMB_ATOMIC_MUL))
    after = plumb_bound_reduce(type, inst->sub == PLUMB_ATOMIC_MUL, &before, &term,
                               (int64_t)br->lanes * (int64_t)br->grid->block_count);
  else if (inst->sub == PLUMB_ATOMIC_EXCH)
    after = term;
  plumb_companion_map_clear(map, place->address, bytes);
  bool certain = plumb_companion_is_certain(&before) && plumb_companion_is_certain(&term) &&
                 !plumb_dtype_is_float(type);
  if (!certain) plumb_companion_map_put(map, place->address, bytes, &after);
  plumb_companion_set(br, f, plumb_inst_results(f->fn, inst)[0], lane, certain ? NULL : &before);
}

/* CUDA's atomic functions are relaxed; clang writes them as seq_cst, and the PTX that it
 * makes of them is relaxed again. */
static uint32_t order_of(const plumb_inst *inst) {
  uint32_t order = PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE | PLUMB_FLAG_SEQ_CST;
  return inst->flags & PLUMB_FLAG_SEQ_CST ? inst->flags & ~order : inst->flags;
}

/* One lane's operation: what it found, and whether it wrote. */
typedef struct exchange {
  const plumb_inst *inst;
  uint32_t lane;
  const plumb_place *place;
  unsigned bytes;
  uint8_t old[16];
  bool wrote;
} exchange;

static void store_bits(uint8_t *to, unsigned bytes, uint64_t v) {
  uint32_t word = (uint32_t)v;
  if (bytes == 4)
    memcpy(to, &word, 4);
  else
    memcpy(to, &v, bytes);
}

/* Up to 8 bytes of global or shared memory. False: they were never written. */
static bool exchange_word(plumb_block_run *br, exchange *e, const uint8_t *value,
                          const uint8_t *swap) {
  const plumb_place *p = e->place;
  unsigned bytes = e->bytes;
  plumb_atomic sub = (plumb_atomic)e->inst->sub;
  uint64_t old = plumb_lane_bits(p->data, bytes, 0), given = plumb_lane_bits(value, bytes, 0);
  if (sub != PLUMB_ATOMIC_EXCH && !plumb_state_is_initialised(p->state, bytes)) return false;
  uint64_t fresh = plumb_atomic_apply(sub, (plumb_dtype)e->inst->type, old, given,
                                      plumb_lane_bits(swap, bytes, 0));
  if (bytes < 8) fresh &= (1ull << 8 * bytes) - 1;
  br->changes += fresh != old; /* a failed attempt is no progress */
  store_bits(p->data, bytes, fresh);
  if (!p->allocation || plumb_allocation_tracks(p->allocation))
    memset(p->state, PLUMB_BYTE_INITIALISED, bytes);
  memcpy(e->old, &old, 8);
  e->wrote = sub != PLUMB_ATOMIC_CAS || old == given;
  return true;
}

/* 16 bytes, or local memory, which has no bytes in a row. */
static bool exchange_bytes(plumb_block_run *br, exchange *e, const uint8_t *value,
                           const uint8_t *swap) {
  uint8_t state[16], fresh[16] = {0};
  unsigned bytes = e->bytes;
  plumb_atomic sub = (plumb_atomic)e->inst->sub;
  plumb_place_read(br, e->place, e->lane, bytes, e->old, state);
  if (sub != PLUMB_ATOMIC_EXCH && !plumb_state_is_initialised(state, bytes)) return false;
  if (bytes == 16) {
    bool take = sub == PLUMB_ATOMIC_EXCH || memcmp(e->old, value, 16) == 0;
    memcpy(fresh, sub == PLUMB_ATOMIC_EXCH ? value : take ? swap : e->old, 16);
  } else {
    uint64_t result =
        plumb_atomic_apply(sub, (plumb_dtype)e->inst->type, plumb_lane_bits(e->old, bytes, 0),
                           plumb_lane_bits(value, bytes, 0), plumb_lane_bits(swap, bytes, 0));
    memcpy(fresh, &result, 8);
  }
  memset(state, PLUMB_BYTE_INITIALISED, sizeof state);
  uint64_t changes = br->changes;
  plumb_place_write(br, e->place, e->lane, bytes, fresh, state);
  if (memcmp(e->old, fresh, bytes) == 0) br->changes = changes; /* no progress */
  e->wrote = sub != PLUMB_ATOMIC_CAS || memcmp(e->old, value, bytes) == 0;
  return true;
}

static bool lane_atomic(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                        uint32_t lane) {
  plumb_frame *f = s->frame;
  unsigned bytes = plumb_dtype_bytes((plumb_dtype)inst->type);
  uint64_t address = br->addresses[lane];
  plumb_place place;
  if (!plumb_place_find(br, s, lane, address, bytes, true, &place)) return false;
  uint64_t align = bytes > 1ull << inst->align_log2 ? bytes : 1ull << inst->align_log2;
  if (address & (align - 1)) return plumb_trap_misaligned(br, s, lane, address, align);
  bool racing = br->race && place.window != PLUMB_WINDOW_LOCAL;
  if (racing && br->grid->fences)
    plumb_race_strong(br, lane, place.window, address, order_of(inst), true, false);
  uint16_t one = (uint16_t)lane;
  uint64_t zero = 0;
  if (racing && !plumb_race_touch(br, s, &one, 1, place.window, address, &zero, bytes,
                                  PLUMB_TOUCH_WRITE | PLUMB_TOUCH_STRONG))
    return false;
  const plumb_reg *operands = plumb_inst_operands(f->fn, inst);
  const uint8_t *value = plumb_operand(br, f, operands[1]) + (size_t)lane * bytes;
  const uint8_t *swap =
      inst->operands > 2 ? plumb_operand(br, f, operands[2]) + (size_t)lane * bytes : value;
  exchange e = {.inst = inst, .lane = lane, .place = &place, .bytes = bytes};
  if (!(place.data && bytes <= 8 ? exchange_word(br, &e, value, swap)
                                 : exchange_bytes(br, &e, value, swap)))
    return plumb_trap_at(br, PLUMB_TRAP_UNINITIALISED, f, s->pc, (int32_t)lane,
                         "an atomic operation on memory that was never written");
  if (br->run->options.companions) flow_companion(br, s, inst, lane, &place, e.old);
  if (racing && e.wrote && br->grid->fences)
    plumb_race_strong(br, lane, place.window, address, order_of(inst), false, true);
  plumb_reg r = plumb_inst_results(f->fn, inst)[0];
  memcpy(plumb_reg_lanes(br, f, r) + (size_t)lane * bytes, e.old, bytes);
  uint64_t *loads = place.window == PLUMB_WINDOW_SHARED ? &br->counters.shared_load_bytes
                                                        : &br->counters.global_load_bytes;
  uint64_t *stores = place.window == PLUMB_WINDOW_SHARED ? &br->counters.shared_store_bytes
                                                         : &br->counters.global_store_bytes;
  if (place.window != PLUMB_WINDOW_LOCAL) *loads += bytes, *stores += bytes;
  return true;
}

bool plumb_exec_atomic(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       const plumb_lanes *on) {
  const plumb_reg *operands = plumb_inst_operands(s->frame->fn, inst);
  if (!plumb_addresses(br, s, inst, on)) return false;
  for (uint32_t i = 1; br->undef && i < inst->operands; i++)
    if (!plumb_undef_check(br, s, operands[i], on, "the operand of an atomic operation"))
      return false;
  s->polled = true;
  s->poll_pc = s->frame->pc_base + s->pc + 1;
  br->counters.atomics += on->count;
  for (uint32_t l = on->lo; l < on->hi; l++)
    if (plumb_lanes_has(on, l) && !lane_atomic(br, s, inst, l)) return false;
  if (br->undef) plumb_undef_clear(s->frame, plumb_inst_results(s->frame->fn, inst)[0], on);
  return true;
}

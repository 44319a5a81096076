/* mbarriers (PTX ISA 9.0, 9.7.13.15). The object lives beside the memory, which holds a
 * picture of it: pending count in bits 0-19, expected count in bits 20-39, tx-count in
 * bits 40-60, phase parity in bit 63. A state token holds the phase and the pending count. */
#include <stdlib.h>

#include "targets/cpu/async.h"

#define COUNT_MAX 0xfffffu /* 9.7.13.15.2: counts are 1 to 2^20 - 1 */
#define STATE_COUNT_BITS 20

static void *grow(void *old, size_t *capacity, size_t bytes) {
  *capacity = *capacity ? *capacity * 2 : 8;
  void *p = realloc(old, *capacity * bytes);
  if (!p) abort();
  return p;
}

void plumb_mbarrier_destroy(plumb_mbarrier_object *m) {
  plumb_clock_clear(&m->arrived);
  plumb_clock_clear(&m->complete);
  free(m->ops);
  free(m->arrivals);
  free(m);
}

/* --- finding --- */

static plumb_mbarrier_object *at_offset(const plumb_block_run *owner, uint32_t offset) {
  plumb_mbarrier_object *m = owner->async ? owner->async->barriers : NULL;
  while (m && m->offset != offset) m = m->next;
  return m;
}

static bool misuse(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                   const char *what) {
  if (!plumb_trap_at(br, PLUMB_TRAP_MBARRIER, s->frame, s->pc, (int32_t)lane, "%s", what))
    br->trap.address = address;
  return false;
}

/* In bounds, in shared memory, a multiple of 8. */
static bool check_place(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                        plumb_place *out) {
  if (!plumb_place_find(br, s, lane, address, 8, true, out)) return false;
  if (address & 7) return plumb_trap_misaligned(br, s, lane, address, 8);
  if (out->window != PLUMB_WINDOW_SHARED)
    return misuse(br, s, lane, address, "an mbarrier must lie in shared memory");
  return true;
}

plumb_mbarrier_object *plumb_mbarrier_find(plumb_block_run *br, const plumb_strand *s,
                                           uint32_t lane, uint64_t address,
                                           plumb_block_run **out_owner) {
  plumb_place place;
  if (!check_place(br, s, lane, address, &place)) return NULL;
  *out_owner = plumb_shared_owner(br, address);
  plumb_mbarrier_object *m = at_offset(*out_owner, plumb_shared_offset(address));
  if (!m || !m->live) {
    misuse(br, s, lane, address, "no live mbarrier object lies at the address");
    return NULL;
  }
  bool own = m->init_block == br->index && who_of(m->init_tag) == lane;
  if (br->race && !own && !plumb_clock_ordered(br, lane, m->init_block, m->init_tag, NULL)) {
    plumb_trap_at(br, PLUMB_TRAP_RACE, s->frame, s->pc, (int32_t)lane,
                  "the use of the mbarrier by lane %u and its initialisation by lane %u are not "
                  "ordered",
                  lane, who_of(m->init_tag));
    br->trap.lane2 = (int32_t)who_of(m->init_tag);
    br->trap.address = address;
    return NULL;
  }
  return m;
}

/* --- the object --- */

static void show(plumb_block_run *owner, const plumb_mbarrier_object *m) {
  uint64_t word = m->pending | (uint64_t)m->expected << 20 |
                  ((uint64_t)(uint32_t)m->tx_bytes & 0x1fffff) << 40 | (m->phase & 1) << 63;
  if (memcmp(owner->shared + m->offset, &word, 8) != 0) owner->changes++;
  memcpy(owner->shared + m->offset, &word, 8);
  memset(owner->shared_state + m->offset,
         m->live ? PLUMB_BYTE_INITIALISED : PLUMB_BYTE_UNINITIALISED, 8);
}

static void advance(plumb_block_run *owner, plumb_mbarrier_object *m) {
  if (m->pending == 0 && m->tx_bytes == 0) {
    m->phase++;
    m->asked = 0;
    m->pending = m->expected;
    plumb_clock_join(&m->complete, &m->arrived);
    plumb_clock_clear(&m->arrived);
  }
  show(owner, m);
}

static bool arrive(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                   plumb_block_run *owner, plumb_mbarrier_object *m, uint32_t count,
                   bool may_complete) {
  if (count == 0 || count > m->pending)
    return misuse(br, s, lane, address,
                  "an arrival counts for 0, or for more than the phase still waits for");
  if (!may_complete && count == m->pending)
    return misuse(br, s, lane, address, "an arrival with .noComplete completes the phase");
  m->pending -= count;
  advance(owner, m);
  return true;
}

void plumb_mbarrier_add_op(plumb_mbarrier_object *m, plumb_async_op *op) {
  if (m->op_count == m->op_capacity) m->ops = grow(m->ops, &m->op_capacity, sizeof *m->ops);
  m->ops[m->op_count++] = op;
}

/* The lane's cp.async that a cp.async.mbarrier.arrive waits for. */
static void finish_copies(const plumb_cp_arrival *a, plumb_clock *to) {
  for (plumb_async_op *op = a->br->async->lanes[a->lane].first, *next; op; op = next) {
    next = op->next;
    if (op->generic_proxy && op->serial <= a->serial) plumb_async_finish_op(op, NULL, to);
  }
}

/* Lets the copies end that complete the phase, if they do: the fewest, in their order. Not
 * when it is asked for the first time: a lane that does not ask again must notice. */
static void settle(plumb_block_run *owner, plumb_mbarrier_object *m, uint64_t now) {
  if (m->pending > m->arrival_count) return;
  int64_t left = m->tx_bytes;
  size_t ops = 0;
  while (left != 0 && ops < m->op_count) left -= m->ops[ops++]->tx_bytes;
  if (left != 0) return;
  if (!m->asked) m->asked = now;
  if (m->asked == now) return;
  size_t arrivals = m->pending;
  for (size_t i = 0; i < arrivals; i++) finish_copies(&m->arrivals[i], &m->arrived);
  if (arrivals)
    memmove(m->arrivals, m->arrivals + arrivals,
            (m->arrival_count - arrivals) * sizeof *m->arrivals);
  m->arrival_count -= arrivals;
  for (size_t i = 0; i < ops; i++) plumb_async_finish_op(m->ops[i], NULL, &m->arrived);
  if (ops) memmove(m->ops, m->ops + ops, (m->op_count - ops) * sizeof(plumb_async_op *));
  m->op_count -= ops;
  m->tx_bytes = 0;
  m->pending = 0;
  advance(owner, m);
}

/* --- operations --- */

static bool init(plumb_block_run *br, plumb_strand *s, uint32_t lane, uint64_t address,
                 uint64_t count) {
  plumb_place place;
  if (!check_place(br, s, lane, address, &place)) return false;
  plumb_block_run *owner = plumb_shared_owner(br, address);
  uint32_t offset = plumb_shared_offset(address);
  plumb_mbarrier_object *m = at_offset(owner, offset);
  if (count == 0 || count > COUNT_MAX)
    return misuse(br, s, lane, address, "the count of an mbarrier must be 1 to 2^20 - 1");
  if (m && m->live) return misuse(br, s, lane, address, "mbarrier.init of a live mbarrier object");
  uint16_t one = (uint16_t)lane;
  uint64_t zero = 0;
  if (br->race &&
      !plumb_race_touch(br, s, &one, 1, PLUMB_WINDOW_SHARED, address, &zero, 8, PLUMB_TOUCH_WRITE))
    return false;
  if (!m) {
    m = calloc(1, sizeof *m);
    if (!m) abort();
    m->next = owner->async->barriers;
    owner->async->barriers = m;
  }
  m->offset = offset;
  m->live = true;
  m->expected = m->pending = (uint32_t)count;
  m->tx_bytes = 0;
  m->phase = 0;
  m->init_block = br->index;
  m->init_tag = lane << PLUMB_TAG_TIME_BITS | (br->race ? br->race->time : 0);
  uint64_t at = plumb_window_base(PLUMB_WINDOW_SHARED) + offset;
  m->mark = (plumb_mark){
      .granule = at / PLUMB_MARK_BYTES, .bytes = plumb_mark_bits(at, at + 8), .write = true};
  plumb_mark_put(owner->async, &m->mark);
  show(owner, m);
  return true;
}

static bool inval(plumb_block_run *br, plumb_strand *s, uint32_t lane, uint64_t address,
                  plumb_block_run *owner, plumb_mbarrier_object *m) {
  if (m->op_count || m->arrival_count)
    return misuse(br, s, lane, address, "mbarrier.inval while copies that end there are in flight");
  plumb_mark_remove(&m->mark);
  m->live = false;
  plumb_clock_clear(&m->arrived);
  plumb_clock_clear(&m->complete);
  show(owner, m);
  uint16_t one = (uint16_t)lane;
  uint64_t zero = 0;
  return !br->race || plumb_race_touch(br, s, &one, 1, PLUMB_WINDOW_SHARED, address, &zero, 8,
                                       PLUMB_TOUCH_WRITE);
}

/* Whether the phase is complete; then, unless relaxed, the lane knows what was released. */
static bool test(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t lane,
                 plumb_block_run *owner, plumb_mbarrier_object *m, uint64_t operand) {
  bool parity = inst->sub == PLUMB_MBARRIER_TEST_PARITY || inst->sub == PLUMB_MBARRIER_TRY_PARITY;
  s->polled = true;
  s->poll_pc = s->frame->pc_base + s->pc + 1;
  uint64_t phase = operand >> STATE_COUNT_BITS;
  if (parity ? (m->phase & 1) == (operand & 1) : m->phase == phase)
    settle(owner, m, br->counters.instructions);
  bool done = parity ? (m->phase & 1) != (operand & 1) : m->phase != phase;
  if (done && br->race && !(inst->flags & PLUMB_FLAG_RELAXED))
    plumb_clock_acquire(br, lane, &m->complete);
  return done;
}

static bool expect(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                   plumb_block_run *owner, plumb_mbarrier_object *m, int64_t bytes) {
  int64_t tx = (int64_t)m->tx_bytes + bytes;
  if (tx > (int64_t)COUNT_MAX || tx < -(int64_t)COUNT_MAX)
    return misuse(br, s, lane, address, "the tx-count leaves the range -(2^20 - 1) to 2^20 - 1");
  m->tx_bytes = (int32_t)tx;
  if (bytes < 0)
    advance(owner, m); /* complete-tx may complete the phase */
  else
    show(owner, m);
  return true;
}

static void cp_arrive(plumb_block_run *br, uint32_t lane, plumb_mbarrier_object *m, bool noinc) {
  if (m->arrival_count == m->arrival_capacity)
    m->arrivals = grow(m->arrivals, &m->arrival_capacity, sizeof *m->arrivals);
  m->arrivals[m->arrival_count++] = (plumb_cp_arrival){br, lane, br->async->serial};
  if (!noinc) m->pending++;
}

static bool lane_op(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t lane,
                    uint64_t address, uint64_t operand, uint64_t *out) {
  plumb_block_run *owner;
  if (inst->sub == PLUMB_MBARRIER_INIT) return init(br, s, lane, address, operand);
  plumb_mbarrier_object *m = plumb_mbarrier_find(br, s, lane, address, &owner);
  if (!m) return false;
  bool drop = inst->sub == PLUMB_MBARRIER_DROP || inst->sub == PLUMB_MBARRIER_DROP_NO_COMPLETE;
  switch ((plumb_mbarrier)inst->sub) {
    case PLUMB_MBARRIER_INVAL:
      return inval(br, s, lane, address, owner, m);
    case PLUMB_MBARRIER_ARRIVE:
    case PLUMB_MBARRIER_ARRIVE_NO_COMPLETE:
    case PLUMB_MBARRIER_DROP:
    case PLUMB_MBARRIER_DROP_NO_COMPLETE:
      *out = m->phase << STATE_COUNT_BITS | m->pending;
      if (br->race && !(inst->flags & PLUMB_FLAG_RELAXED))
        plumb_clock_publish(br, lane, &m->arrived);
      else if (br->race)
        plumb_clock_publish_fenced(br, lane, &m->arrived);
      if (drop && operand > m->expected)
        return misuse(br, s, lane, address, "more arrivals are dropped than are expected");
      if (drop) m->expected -= (uint32_t)operand;
      return arrive(br, s, lane, address, owner, m, (uint32_t)operand,
                    inst->sub == PLUMB_MBARRIER_ARRIVE || inst->sub == PLUMB_MBARRIER_DROP);
    case PLUMB_MBARRIER_EXPECT_TX:
      return expect(br, s, lane, address, owner, m, (int64_t)operand);
    case PLUMB_MBARRIER_COMPLETE_TX:
      return expect(br, s, lane, address, owner, m, -(int64_t)operand);
    case PLUMB_MBARRIER_CP_ARRIVE:
    case PLUMB_MBARRIER_CP_ARRIVE_NOINC:
      cp_arrive(br, lane, m, inst->sub == PLUMB_MBARRIER_CP_ARRIVE_NOINC);
      show(owner, m);
      return true;
    default:
      *out = test(br, s, inst, lane, owner, m, operand);
      return true;
  }
}

bool plumb_exec_mbarrier(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                         const plumb_lanes *on) {
  const plumb_function *fn = s->frame->fn;
  const plumb_reg *operands = plumb_inst_operands(fn, inst);
  plumb_reg result = inst->results ? plumb_inst_results(fn, inst)[0] : PLUMB_NO_REG;
  for (uint32_t i = 0; br->undef && i < inst->operands; i++)
    if (!plumb_undef_check(br, s, operands[i], on, "the operand of an mbarrier operation"))
      return false;
  if (br->race) plumb_clock_tick(br);
  if (inst->sub == PLUMB_MBARRIER_CP_ARRIVE || inst->sub == PLUMB_MBARRIER_CP_ARRIVE_NOINC)
    plumb_cp_async_split(br);
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    uint64_t out = 0, first = plumb_lane_bits(plumb_operand(br, s->frame, operands[0]), 8, l);
    if (inst->sub == PLUMB_MBARRIER_PENDING) {
      out = first & COUNT_MAX;
    } else {
      uint64_t operand = 0;
      bool wide = inst->sub == PLUMB_MBARRIER_TEST || inst->sub == PLUMB_MBARRIER_TRY;
      if (inst->operands > 1)
        operand = plumb_lane_bits(plumb_operand(br, s->frame, operands[1]), wide ? 8 : 4, l);
      if (!lane_op(br, s, inst, l, first + (uint64_t)inst->imm, operand, &out)) return false;
    }
    if (result == PLUMB_NO_REG) continue;
    unsigned bytes = plumb_dtype_bytes(fn->reg_types[result]);
    memcpy(plumb_reg_lanes(br, s->frame, result) + (size_t)l * bytes, &out, bytes);
  }
  if (result != PLUMB_NO_REG && br->undef) plumb_undef_clear(s->frame, result, on);
  return true;
}

/* cp.async.bulk, st.async, and waiting for groups of the former (PTX ISA 9.0, 9.7.9.25.4,
 * 9.7.9.12, 9.7.13.6). */
#include "targets/cpu/async.h"

uint64_t plumb_async_operand(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                             uint32_t i, uint32_t lane) {
  plumb_reg r = plumb_inst_operands(s->frame->fn, inst)[i];
  plumb_dtype type = plumb_reg_is_const(r) ? br->program->consts[plumb_reg_const_index(r)].type
                                           : s->frame->fn->reg_types[r];
  return plumb_lane_bits(plumb_operand(br, s->frame, r), plumb_dtype_bytes(type), lane);
}

bool plumb_async_check_operands(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                                const plumb_lanes *on) {
  const plumb_reg *r = plumb_inst_operands(s->frame->fn, inst);
  for (uint32_t i = 0; br->undef && i < inst->operands; i++)
    if (!plumb_undef_check(br, s, r[i], on, "the operand of an asynchronous copy")) return false;
  return true;
}

bool plumb_async_check_align(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                             uint64_t address, uint64_t align) {
  return address % align == 0 || plumb_trap_misaligned(br, s, lane, address, align);
}

bool plumb_async_check_window(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                              uint64_t address, unsigned window) {
  if (plumb_window_of(address) == window) return true;
  plumb_trap_at(br, PLUMB_TRAP_WRONG_SPACE, s->frame, s->pc, (int32_t)lane,
                "address 0x%llx of a copy does not lie in %s memory", (unsigned long long)address,
                window == PLUMB_WINDOW_SHARED ? "shared" : "global");
  br->trap.address = address;
  return false;
}

/* --- cp.async.bulk --- */

bool plumb_async_ends_at(plumb_block_run *br, const plumb_strand *s, plumb_async_op *op,
                         uint64_t barrier, uint32_t rank, uint64_t tx_bytes) {
  if (rank != UINT32_MAX) barrier = plumb_shared_of_rank(barrier, rank);
  plumb_mbarrier_object *m = plumb_mbarrier_find(br, s, op->lane, barrier, &op->owner);
  if (!m) return false;
  op->ends = m;
  op->group = UINT64_MAX;
  op->tx_bytes = (uint32_t)tx_bytes;
  return true;
}

static bool bulk_to(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t lane,
                    uint64_t to, uint64_t from, uint32_t bytes, uint32_t rank) {
  plumb_async_op *op = plumb_async_op_create(br, s, lane, 1);
  op->reduce = inst->sub;
  op->type = inst->type;
  op->group = br->async->lanes[lane].bulk_group;
  op->segments[op->segment_count++] = (plumb_segment){to, from, bytes};
  if (inst->operands > 3 &&
      !plumb_async_ends_at(br, s, op, plumb_async_operand(br, s, inst, 3, lane), rank, bytes)) {
    plumb_async_drop(op);
    return false;
  }
  plumb_mbarrier_object *ends = op->ends;
  if (!plumb_async_start(br, s, op)) return false;
  if (ends) plumb_mbarrier_add_op(ends, op);
  return true;
}

static bool bulk_lane(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t lane) {
  uint64_t to = plumb_async_operand(br, s, inst, 0, lane),
           from = plumb_async_operand(br, s, inst, 1, lane);
  uint32_t bytes = (uint32_t)plumb_async_operand(br, s, inst, 2, lane);
  if (!plumb_async_check_align(br, s, lane, to, 16) ||
      !plumb_async_check_align(br, s, lane, from, 16) ||
      !plumb_async_check_align(br, s, lane, bytes, 16))
    return false;
  if (bytes == 0) return true;
  if (inst->operands < 5) return bulk_to(br, s, inst, lane, to, from, bytes, UINT32_MAX);
  uint32_t blocks = (uint32_t)plumb_async_operand(br, s, inst, 4, lane);
  for (uint32_t rank = 0; rank < PLUMB_MAX_CLUSTER_BLOCKS; rank++)
    if ((blocks >> rank & 1) &&
        !bulk_to(br, s, inst, lane, plumb_shared_of_rank(to, rank), from, bytes, rank))
      return false;
  return true;
}

static bool exec_bulk_copy(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                           const plumb_lanes *on) {
  if (!plumb_async_check_operands(br, s, inst, on)) return false;
  for (uint32_t l = on->lo; l < on->hi; l++)
    if (plumb_lanes_has(on, l) && !bulk_lane(br, s, inst, l)) return false;
  return true;
}

/* --- st.async, red.async --- */

static bool store_lane(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       uint32_t lane) {
  unsigned bytes = plumb_dtype_bytes((plumb_dtype)inst->type);
  uint32_t count = inst->operands - 2u, size = count * bytes;
  uint64_t to = plumb_async_operand(br, s, inst, 0, lane) + (uint64_t)inst->imm;
  if (!plumb_async_check_window(br, s, lane, to, PLUMB_WINDOW_SHARED) ||
      !plumb_async_check_align(br, s, lane, to, size))
    return false;
  plumb_async_op *op = plumb_async_op_create(br, s, lane, 1);
  op->reduce = inst->sub;
  op->type = inst->type;
  op->segments[op->segment_count++] = (plumb_segment){to, 0, size};
  if (!plumb_async_ends_at(br, s, op, plumb_async_operand(br, s, inst, 1, lane), UINT32_MAX,
                           size)) {
    plumb_async_drop(op);
    return false;
  }
  uint8_t values[64];
  for (uint32_t i = 0; i < count; i++) {
    uint64_t v = plumb_async_operand(br, s, inst, 2 + i, lane);
    memcpy(values + i * bytes, &v, bytes);
  }
  plumb_mbarrier_object *ends = op->ends;
  plumb_async_give(op, values, size);
  if (!plumb_async_start(br, s, op)) return false;
  plumb_mbarrier_add_op(ends, op);
  return true;
}

static bool exec_store_async(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                             const plumb_lanes *on) {
  if (!plumb_async_check_operands(br, s, inst, on)) return false;
  for (uint32_t l = on->lo; l < on->hi; l++)
    if (plumb_lanes_has(on, l) && !store_lane(br, s, inst, l)) return false;
  return true;
}

/* --- groups --- */

/* Ends the lane's ops of groups before `end`; `read_only`: their sources are read. */
static void wait_lane(plumb_block_run *br, uint32_t lane, uint64_t end, bool read_only) {
  plumb_clock done = {0};
  for (plumb_async_op *op = br->async->lanes[lane].first, *next; op; op = next) {
    next = op->next;
    if (op->product || op->generic_proxy || op->group >= end) continue;
    if (read_only) {
      plumb_async_read(op);
      if (br->race) plumb_clock_know_lane(&done, br->index, op->agent, br->race->time + 1);
    } else {
      plumb_async_finish_op(op, NULL, &done);
    }
  }
  if (br->race && done.count) plumb_clock_acquire(br, lane, &done);
  plumb_clock_clear(&done);
}

static bool exec_bulk_group(plumb_block_run *br, const plumb_inst *inst, const plumb_lanes *on) {
  uint64_t left = (uint64_t)inst->imm;
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    uint64_t *open = &br->async->lanes[l].bulk_group;
    if (inst->sub == PLUMB_GROUP_BULK_COMMIT)
      ++*open;
    else
      wait_lane(br, l, *open > left ? *open - left : 0, inst->sub == PLUMB_GROUP_BULK_WAIT_READ);
  }
  return true;
}

bool plumb_exec_async(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on) {
  switch (inst->op) {
    case PLUMB_OP_CP_ASYNC:
      return plumb_exec_cp_async(br, s, inst, on);
    case PLUMB_OP_BULK_COPY:
      return exec_bulk_copy(br, s, inst, on);
    case PLUMB_OP_TENSOR_COPY:
      return plumb_exec_tensor_copy(br, s, inst, on);
    case PLUMB_OP_STORE_ASYNC:
      return exec_store_async(br, s, inst, on);
    case PLUMB_OP_ASYNC_GROUP:
      return inst->sub == PLUMB_GROUP_CP_COMMIT || inst->sub == PLUMB_GROUP_CP_WAIT
                 ? plumb_exec_cp_group(br, s, inst, on)
                 : exec_bulk_group(br, inst, on);
    case PLUMB_OP_MBARRIER:
      return plumb_exec_mbarrier(br, s, inst, on);
    case PLUMB_OP_TENSORMAP_REPLACE:
      return plumb_exec_tensormap_replace(br, s, inst, on);
    default:
      return plumb_exec_map_block(br, s, inst, on);
  }
}

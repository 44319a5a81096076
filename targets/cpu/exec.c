/* The dispatch loop: one instruction at a time for all lanes of a strand. */
#include "targets/cpu/exec.h"

#include <stdio.h>
#include <stdlib.h>

#include "targets/cpu/alu.h"
#include "targets/cpu/async.h"
#include "targets/cpu/bound.h"

#define MAX_CALL_DEPTH 2000u
#define MAX_FRAME_BYTES (1ull << 30)
#define MAX_ALU_OPERANDS 8
#define MAX_ALU_RESULTS 3 /* scratch[3] is for the condition of a SELECT */

#define SET(TYPE) \
  for (uint32_t l = lo; l < hi; l++) ((TYPE *)(void *)lanes)[l] = (TYPE)value

PLUMB_CLONES
void plumb_lanes_set(uint8_t *lanes, unsigned bytes, uint64_t value, uint32_t lo, uint32_t hi) {
  switch (bytes) {
    case 1:
      SET(uint8_t);
      break;
    case 2:
      SET(uint16_t);
      break;
    case 4:
      SET(uint32_t);
      break;
    default:
      SET(uint64_t);
  }
}
#undef SET

uint8_t *plumb_const_lanes(plumb_block_run *br, uint32_t index) {
  const plumb_const *c = &br->program->consts[index];
  unsigned bytes = plumb_dtype_bytes(c->type);
  uint8_t *lanes = aligned_alloc(64, ((size_t)bytes * br->lanes + 127) / 64 * 64);
  if (!lanes) abort();
  uint64_t bits[2] = {c->bits, c->hi};
  size_t size_bytes = (size_t)bytes * br->lanes, done = bytes;
  memcpy(lanes, bits, bytes);
  while (done < size_bytes) { /* what is there once more, so that each copy is a long one */
    size_t length = done < size_bytes - done ? done : size_bytes - done;
    memcpy(lanes + done, lanes, length);
    done += length;
  }
  br->consts[index] = lanes;
  return lanes;
}

/* Copies the lanes of `on` from one array to another. */
static void copy_lanes(plumb_block_run *br, uint8_t *to, const uint8_t *from, unsigned bytes,
                       const plumb_lanes *on) {
  if (on->dense) {
    memmove(to + (size_t)on->lo * bytes, from + (size_t)on->lo * bytes, (size_t)on->count * bytes);
    return;
  }
  const uint16_t *list = plumb_lanes_list(on, br->list_room);
#define COPY(type) \
  for (uint32_t i = 0; i < on->count; i++) \
  memcpy(to + (size_t)list[i] * sizeof(type), from + (size_t)list[i] * sizeof(type), sizeof(type))
  switch (bytes) {
    case 1:
      COPY(uint8_t);
      break;
    case 2:
      COPY(uint16_t);
      break;
    case 4:
      COPY(uint32_t);
      break;
    case 8:
      COPY(uint64_t);
      break;
    default:
      for (uint32_t i = 0; i < on->count; i++)
        memcpy(to + (size_t)list[i] * bytes, from + (size_t)list[i] * bytes, bytes);
  }
#undef COPY
}

/* --- arithmetic --- */

/* Notes poison where no operand was undefined before: the first origin is the one to name. */
static void set_poison(plumb_block_run *br, const plumb_strand *s, plumb_reg result,
                       plumb_lanes *poison) {
  plumb_lanes_settle(poison);
  const uint16_t *list = plumb_lanes_list(poison, br->list_room);
  for (uint32_t i = 0; i < poison->count; i++)
    if (!plumb_undef_get(s->frame, result, list[i]))
      plumb_undef_set(br, s->frame, result, list[i], s->frame->pc_base + s->pc + 1);
}

/* Poison that nobody uses is none: decoders write it where a struct is built member by member. */
uint8_t plumb_inst_facts_of(const plumb_inst *inst, bool used) {
  bool executes = plumb_op_table[inst->op].op_class == PLUMB_CLASS_ALU &&
                  inst->operands <= MAX_ALU_OPERANDS && inst->results <= MAX_ALU_RESULTS &&
                  (inst->op == PLUMB_OP_SREG || plumb_alu_supports(inst));
  return (uint8_t)((executes ? PLUMB_INST_EXECUTES : 0) |
                   (used && plumb_may_poison(inst) ? PLUMB_INST_MAY_POISON : 0));
}

static bool exec_alu(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on) {
  if (inst->op == PLUMB_OP_SREG) {
    plumb_exec_sreg(br, s, inst, on);
    return true;
  }
  plumb_frame *f = s->frame;
  const plumb_reg *result_regs = plumb_inst_results(f->fn, inst);
  const plumb_reg *operand_regs = plumb_inst_operands(f->fn, inst);
  void *results[MAX_ALU_RESULTS];
  const void *operands[MAX_ALU_OPERANDS];
  uint8_t facts = br->machine->inst_facts[f->pc_base + s->pc];
  if (!(facts & PLUMB_INST_EXECUTES))
    return plumb_unsupported_at(br, f, s->pc, plumb_op_table[inst->op].mnemonic);
  for (uint32_t i = 0; i < inst->operands; i++) operands[i] = plumb_operand(br, f, operand_regs[i]);
  bool direct = on->dense && !br->run->options.companions;
  for (uint32_t i = 0; i < inst->results; i++)
    results[i] = direct ? plumb_reg_lanes(br, f, result_regs[i]) : br->scratch[i];
  if (br->undef && inst->op == PLUMB_OP_SELECT) { /* the result may take its place */
    memcpy(br->scratch[3] + on->lo, (const uint8_t *)operands[0] + on->lo, on->hi - on->lo);
    br->select_condition = br->scratch[3];
  }
  plumb_lanes poison;
  bool may = facts & PLUMB_INST_MAY_POISON;
  bool poisoned = may && plumb_poison_find(br, inst, operands, on, &poison);
  plumb_alu_execute(br->program, inst, results, operands, on->lo, on->hi);
  if (may) poisoned = plumb_poison_results(inst, results[0], on, poisoned, &poison);
  if (br->run->options.companions)
    plumb_companion_alu(br, s, inst, on, (const void *const *)results, operands);
  if (!direct)
    for (uint32_t i = 0; i < inst->results; i++)
      copy_lanes(br, plumb_reg_lanes(br, f, result_regs[i]), results[i],
                 plumb_dtype_bytes(f->fn->reg_types[result_regs[i]]), on);
  if (poisoned) br->undef = true;
  if (br->undef) plumb_undef_flow(br, s, inst, on);
  if (poisoned) set_poison(br, s, result_regs[0], &poison);
  return true;
}

/* --- guards and branches --- */

/* Bit l is the low bit of byte l, for up to 64 bytes. */
static uint64_t truth_bits(const uint8_t *truth, uint32_t count) {
  const uint64_t ones = 0x0101010101010101ull;
  uint64_t bits = 0;
  uint32_t l = 0;
  /* The product's top byte collects bit 0 of byte k at bit k; the others carry nothing. */
  for (; l < 64 && l + 8 <= count; l += 8) {
    uint64_t eight;
    memcpy(&eight, truth + l, 8);
    bits |= ((eight & ones) * 0x0102040810204080ull >> 56) << l;
  }
  for (; l < 64 && l < count; l++) bits |= (uint64_t)(truth[l] & 1) << l;
  return bits;
}

/* The lanes of `s` where i1 register `r` is true (or false, when `negated`). */
static void lanes_where(plumb_block_run *br, const plumb_strand *s, plumb_reg r, bool negated,
                        plumb_lanes *out) {
  const uint8_t *truth = plumb_operand(br, s->frame, r);
  memset(out->words, 0, sizeof out->words);
  for (uint32_t w = s->lanes.lo / 64; w * 64 < s->lanes.hi; w++) {
    uint64_t bits = truth_bits(truth + w * 64, br->lanes - w * 64);
    out->words[w] = (negated ? ~bits : bits) & s->lanes.words[w];
  }
  plumb_lanes_settle(out);
}

/* Counts a backward branch: the points at which loops can be stopped. */
static bool jump(plumb_block_run *br, plumb_strand *s, uint32_t target) {
  uint32_t first = s->frame->fn->blocks[target].first;
  bool back = first <= s->pc;
  if (back) {
    s->backs++;
    uint64_t *count = &br->back_counts[s->frame->pc_base + s->pc];
    ++*count;
    if (br->quantum) br->quantum--;
    if ((*count & 255) == 0 && !plumb_steps_tell(br)) return false;
  }
  s->pc = first;
  return true;
}

static bool exec_condbr(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  plumb_reg condition = plumb_inst_operands(s->frame->fn, inst)[0];
  if (br->undef && !plumb_undef_check(br, s, condition, &s->lanes, "the condition of a branch"))
    return false;
  if (br->lanes == 1)
    return jump(br, s,
                plumb_operand(br, s->frame, condition)[0] & 1 ? inst->target : inst->target2);
  plumb_lanes yes;
  lanes_where(br, s, condition, false, &yes);
  if (yes.count == 0) return jump(br, s, inst->target2);
  if (yes.count == s->lanes.count) return jump(br, s, inst->target);
  br->counters.divergent_branches++;
  plumb_strand *other = plumb_strand_split(br, s, &yes, s->pc);
  return jump(br, other, inst->target) && jump(br, s, inst->target2);
}

/* Lanes of `s` whose operand differs from the first lane's go to a strand of their own,
 * which comes back to this instruction. Returns the value that is left. */
static uint64_t split_by_value(plumb_block_run *br, plumb_strand *s, plumb_reg r) {
  unsigned bytes =
      plumb_dtype_bytes(plumb_reg_is_const(r) ? br->program->consts[plumb_reg_const_index(r)].type
                                              : s->frame->fn->reg_types[r]);
  const uint8_t *values = plumb_operand(br, s->frame, r);
  uint64_t value = plumb_lane_bits(values, bytes, s->lanes.lo);
  plumb_lanes rest = {0};
  const uint16_t *list = plumb_lanes_list(&s->lanes, br->list_room);
  for (uint32_t i = 0; i < s->lanes.count; i++)
    if (plumb_lane_bits(values, bytes, list[i]) != value) plumb_lanes_put(&rest, list[i]);
  plumb_lanes_settle(&rest);
  if (rest.count) {
    br->counters.divergent_branches++;
    plumb_strand_split(br, s, &rest, s->pc);
  }
  return value;
}

static bool exec_switch(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  plumb_reg r = plumb_inst_operands(s->frame->fn, inst)[0];
  if (br->undef && !plumb_undef_check(br, s, r, &s->lanes, "the operand of a switch")) return false;
  uint64_t index = split_by_value(br, s, r);
  const uint32_t *table = s->frame->fn->tables[inst->imm];
  return jump(br, s, index < table[0] ? table[1 + index] : inst->target);
}

/* --- calls --- */

static plumb_frame *callee_frame(plumb_block_run *br, const plumb_strand *s,
                                 const plumb_function *fn, uint64_t top) {
  for (plumb_frame *c = s->frame->children; c; c = c->sibling)
    if (c->call_pc == s->pc && c->fn == fn && c->local_base >= top) return c;
  return plumb_frame_create(br, fn, s->frame, s->pc, (top + 15) / 16 * 16);
}

static bool enter(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                  const plumb_function *fn, uint32_t skip) {
  if (fn->external || !fn->block_count) {
    char what[300];
    snprintf(what, sizeof what, "call of undefined function %.200s", fn->name);
    return plumb_unsupported_at(br, s->frame, s->pc, what);
  }
  if (s->frame->depth >= MAX_CALL_DEPTH || br->frame_bytes > MAX_FRAME_BYTES)
    return plumb_trap_at(br, PLUMB_TRAP_STACK_OVERFLOW, s->frame, s->pc, (int32_t)s->lanes.lo,
                         "the call of %s is %u calls deep", fn->name, s->frame->depth + 1);
  uint64_t *taken = &br->back_counts[s->frame->pc_base + s->pc];
  if ((++*taken & 255) == 0 && !plumb_steps_tell(br)) return false; /* recursion ends too */
  plumb_frame *f = callee_frame(br, s, fn, plumb_local_highest(br, &s->lanes));
  uint64_t end = f->local_base + fn->frame_bytes;
  plumb_local_raise(br, &s->lanes, f->saved_top, end);
  f->lane_count += s->lanes.count;
  const plumb_reg *operands = plumb_inst_operands(s->frame->fn, inst) + skip;
  for (size_t i = 0; i < fn->param_count; i++) {
    plumb_reg to = fn->params[i].reg;
    copy_lanes(br, plumb_reg_lanes(br, f, to), plumb_operand(br, s->frame, operands[i]),
               plumb_dtype_bytes(fn->reg_types[to]), &s->lanes);
    if (br->undef) plumb_undef_copy(br, f, to, s->frame, operands[i], &s->lanes);
    if (s->frame->flight) plumb_flight_copy(br, f, to, s->frame, operands[i], &s->lanes);
    if (br->run->options.companions)
      plumb_companion_copy(br, f, to, s->frame, operands[i], &s->lanes);
  }
  if (fn->frame_bytes) {
    if (!plumb_local_reserve(br, s, end)) return false;
    plumb_local_forget(br, &s->lanes, f->local_base, end);
  }
  s->frame = f;
  s->pc = fn->blocks[0].first;
  return true;
}

/* What the verifier proves of a direct call (ir/verify.c); NULL: it fits. */
static const char *mismatch(const plumb_strand *s, const plumb_inst *inst,
                            const plumb_function *fn) {
  const plumb_function *caller = s->frame->fn;
  const plumb_reg *args = plumb_inst_operands(caller, inst) + 1;
  if (fn->kind == PLUMB_KERNEL) return "an indirect call of a kernel";
  if (fn->param_count != inst->operands - 1u) return "call with a wrong number of arguments";
  for (size_t i = 0; i < fn->param_count; i++)
    if (plumb_dtype_bytes(plumb_reg_type(caller, args[i])) !=
        plumb_dtype_bytes(fn->reg_types[fn->params[i].reg]))
      return "indirect call with an argument of another size";
  if (inst->results > fn->result_count) return "indirect call that takes more results";
  for (size_t i = 0; i < inst->results; i++)
    if (plumb_dtype_bytes(plumb_reg_type(caller, plumb_inst_results(caller, inst)[i])) !=
        plumb_dtype_bytes(fn->result_types[i]))
      return "indirect call with a result of another size";
  return NULL;
}

static bool exec_call_indirect(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  plumb_reg r = plumb_inst_operands(s->frame->fn, inst)[0];
  if (br->undef && !plumb_undef_check(br, s, r, &s->lanes, "the address of a call")) return false;
  uint64_t address = split_by_value(br, s, r);
  uint64_t index = address - plumb_window_base(PLUMB_WINDOW_FUNCTION);
  if (index >= br->program->function_count)
    return plumb_trap_at(br, PLUMB_TRAP_OUT_OF_BOUNDS, s->frame, s->pc, (int32_t)s->lanes.lo,
                         "a call to 0x%llx, which is no function", (unsigned long long)address);
  const plumb_function *fn = br->program->functions[index];
  const char *what = fn->external ? NULL : mismatch(s, inst, fn);
  if (what) return plumb_unsupported_at(br, s->frame, s->pc, what);
  return enter(br, s, inst, fn, 1);
}

/* The outermost frame of a host call returns its words to the caller. */
static void keep_results(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst) {
  if (!br->grid->host || br->run->results) return;
  plumb_run *run = br->run;
  run->results = PLUMB_NEW_ARRAY(br->machine->arena, uint64_t, inst->operands);
  run->result_undefined = PLUMB_NEW_ARRAY(br->machine->arena, bool, inst->operands);
  if (run->options.companions)
    run->result_companions = PLUMB_NEW_ARRAY(br->machine->arena, plumb_companion, inst->operands);
  run->result_count = inst->operands;
  const plumb_reg *values = plumb_inst_operands(s->frame->fn, inst);
  for (uint32_t i = 0; i < inst->operands; i++) {
    plumb_dtype type = plumb_reg_type(s->frame->fn, values[i]);
    unsigned bytes = plumb_dtype_bytes(type);
    const uint8_t *value = plumb_operand(br, s->frame, values[i]);
    run->results[i] = plumb_lane_bits(value, bytes > 8 ? 8 : bytes, 0);
    run->result_undefined[i] = br->undef && plumb_undef_get(s->frame, values[i], 0) != 0;
    if (!run->options.companions) continue;
    const plumb_companion *c = plumb_companion_get(s->frame, values[i], 0);
    run->result_companions[i] = c ? *c : plumb_companion_exact(type, value);
  }
}

static bool exec_ret(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  plumb_frame *f = s->frame, *caller = f->caller;
  if (!caller) {
    keep_results(br, s, inst);
    plumb_lanes all = s->lanes;
    return plumb_lanes_exit(br, s, &all);
  }
  const plumb_inst *call = &caller->fn->insts[f->call_pc];
  const plumb_reg *to = plumb_inst_results(caller->fn, call);
  const plumb_reg *values = plumb_inst_operands(f->fn, inst);
  for (uint32_t i = 0; i < call->results; i++) {
    copy_lanes(br, plumb_reg_lanes(br, caller, to[i]), plumb_operand(br, f, values[i]),
               plumb_dtype_bytes(caller->fn->reg_types[to[i]]), &s->lanes);
    if (br->undef) plumb_undef_copy(br, caller, to[i], f, values[i], &s->lanes);
    if (f->flight) plumb_flight_copy(br, caller, to[i], f, values[i], &s->lanes);
    if (br->run->options.companions)
      plumb_companion_copy(br, caller, to[i], f, values[i], &s->lanes);
  }
  plumb_local_lower(br, &s->lanes, f->saved_top);
  s->frame = caller;
  s->pc = f->call_pc + 1;
  plumb_frame_leave(br, f, s->lanes.count);
  return true;
}

static bool exec_control(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  const plumb_program *p = br->program;
  int32_t lane = (int32_t)s->lanes.lo;
  bool named = inst->imm >= 0 && (size_t)inst->imm < p->string_count;
  switch (inst->op) {
    case PLUMB_OP_BRA:
      return jump(br, s, inst->target);
    case PLUMB_OP_CONDBR:
      return exec_condbr(br, s, inst);
    case PLUMB_OP_SWITCH:
      return exec_switch(br, s, inst);
    case PLUMB_OP_RET:
      return exec_ret(br, s, inst);
    case PLUMB_OP_EXIT: {
      plumb_lanes all = s->lanes;
      return plumb_lanes_exit(br, s, &all);
    }
    case PLUMB_OP_CALL:
      return enter(br, s, inst, p->functions[inst->target], 0);
    case PLUMB_OP_CALL_INDIRECT:
      return exec_call_indirect(br, s, inst);
    case PLUMB_OP_TRAP:
      return plumb_trap_at(br, PLUMB_TRAP_ASSERT, s->frame, s->pc, lane, "%s",
                           named ? p->strings[inst->imm] : "the kernel stopped itself");
    case PLUMB_OP_UNREACHABLE:
      return plumb_trap_at(br, PLUMB_TRAP_UNREACHABLE, s->frame, s->pc, lane,
                           "code that must not be reached was reached");
    default:
      return plumb_unsupported_at(br, s->frame, s->pc,
                                  named ? p->strings[inst->imm] : "an unknown operation");
  }
}

static bool exec_mem(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on) {
  switch (inst->op) {
    case PLUMB_OP_LOAD:
      return plumb_exec_load(br, s, inst, on);
    case PLUMB_OP_STORE:
      if (br->parked_aligned) plumb_effect_note(br, s);
      return plumb_exec_store(br, s, inst, on);
    case PLUMB_OP_ATOMIC:
      if (br->parked_aligned) plumb_effect_note(br, s);
      return plumb_exec_atomic(br, s, inst, on);
    case PLUMB_OP_FENCE:
      if (!br->race) return true;
      if (inst->sub == PLUMB_PROXY_ASYNC)
        plumb_proxy_fence(br, on, inst);
      else
        plumb_race_fence(br, on);
      return true;
    case PLUMB_OP_CP_ASYNC:
    case PLUMB_OP_BULK_COPY:
    case PLUMB_OP_TENSOR_COPY:
    case PLUMB_OP_STORE_ASYNC:
    case PLUMB_OP_ASYNC_GROUP:
    case PLUMB_OP_MBARRIER:
    case PLUMB_OP_TENSORMAP_REPLACE:
    case PLUMB_OP_MAP_BLOCK:
    case PLUMB_OP_BLOCK_RANK:
      if (br->parked_aligned) plumb_effect_note(br, s);
      return plumb_exec_async(br, s, inst, on);
    default:
      return plumb_exec_memory(br, s, inst, on);
  }
}

/* The lanes that an instruction acts in: true if any. A guarded control or warp
 * instruction splits the strand, so that it then acts for all of it. */
static bool apply_guard(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                        plumb_op_class kind, const plumb_lanes **out_on) {
  if (br->undef && !plumb_undef_check(br, s, inst->guard, &s->lanes, "a guard")) return false;
  lanes_where(br, s, inst->guard, inst->flags & PLUMB_FLAG_GUARD_NOT, &br->guarded);
  if (!br->guarded.count) return false;
  *out_on = &br->guarded;
  if (br->guarded.count == s->lanes.count) {
    *out_on = &s->lanes;
  } else if (kind == PLUMB_CLASS_CTL || kind == PLUMB_CLASS_SYNC) {
    if (kind == PLUMB_CLASS_CTL) br->counters.divergent_branches++;
    plumb_lanes rest = s->lanes;
    plumb_lanes_remove(&rest, &br->guarded);
    plumb_strand_split(br, s, &rest, s->pc + 1);
    *out_on = &s->lanes;
  }
  return true;
}

/* One instruction of br->current. False: the block stops (trapped or unsupported). */
static bool step(plumb_block_run *br, plumb_strand *s, bool *out_schedule) {
  const plumb_inst *inst = &s->frame->fn->insts[s->pc];
  plumb_op_class kind = plumb_op_table[inst->op].op_class;
  const plumb_lanes *on = &s->lanes;
  br->counters.instructions++;
  if (inst->guard != PLUMB_NO_REG && !apply_guard(br, s, inst, kind, &on)) {
    s->pc++;
    return !br->trapped;
  }
  br->counters.lane_instructions += on->count;
  if (s->frame->flight && !plumb_wgmma_watch(br, s, inst, on)) return false;
  switch (kind) {
    case PLUMB_CLASS_ALU:
      if (!exec_alu(br, s, inst, on)) return false;
      s->pc++;
      return true;
    case PLUMB_CLASS_MEM:
      if (!exec_mem(br, s, inst, on)) return false;
      s->pc++;
      return true;
    case PLUMB_CLASS_CTL:
      *out_schedule = true;
      return exec_control(br, s, inst);
    case PLUMB_CLASS_SYNC:
      *out_schedule = true;
      return plumb_exec_sync(br, s, inst);
    default:
      if (inst->op == PLUMB_OP_LAUNCH ? !plumb_exec_launch(br, s, inst)
                                      : !plumb_exec_print(br, s, inst, on))
        return false;
      s->pc++;
      return true;
  }
}

static plumb_block_end take_turn(plumb_block_run *br) {
  bool schedule = true;
  for (;;) {
    if (schedule) {
      if (br->trapped || br->unsupported) return PLUMB_BLOCK_TRAPPED;
      if (!br->live.count) return PLUMB_BLOCK_FINISHED;
      if (!br->quantum) return PLUMB_BLOCK_YIELDED;
      if (!plumb_strand_pick(br)) {
        if (!plumb_trap_stuck(br)) return PLUMB_BLOCK_TRAPPED;
        continue;
      }
      schedule = false;
    }
    if (!step(br, br->current, &schedule)) return PLUMB_BLOCK_TRAPPED;
  }
}

plumb_block_end plumb_block_continue(plumb_block_run *br, uint64_t quantum) {
  plumb_grid *g = br->grid;
  br->quantum = quantum;
  plumb_timer_raise(br, g->time);
  plumb_block_end end = take_turn(br);
  if (g->one_timer) g->time = plumb_timer_now(br);
  return end;
}

/* Undefined values: what was loaded from memory that nobody wrote, and poison (poison.c).
 * They may be moved and computed with; using one to decide (branch, address, atomic) is a
 * trap, and so is one that ends in an output. FREEZE makes an ordinary value of them.
 * Origins are kept only once a first undefined value has appeared in the block. */
#include "targets/cpu/exec.h"

#include <stdio.h>
#include <stdlib.h>

void plumb_undef_set(plumb_block_run *br, plumb_frame *f, plumb_reg r, uint32_t lane,
                     uint32_t origin) {
  if (!f->origins) {
    f->origins = calloc(f->fn->reg_count + 1, sizeof *f->origins);
    if (!f->origins) abort();
  }
  if (!f->origins[r]) {
    if (!origin) return;
    f->origins[r] = calloc(br->lanes, sizeof **f->origins);
    if (!f->origins[r]) abort();
  }
  f->origins[r][lane] = origin;
}

void plumb_undef_clear(plumb_frame *f, plumb_reg r, const plumb_lanes *on) {
  if (!f->origins || !f->origins[r]) return;
  uint32_t *origins = f->origins[r];
  if (on->dense) {
    memset(origins + on->lo, 0, on->count * sizeof *origins);
    return;
  }
  for (uint32_t l = on->lo; l < on->hi; l++)
    if (plumb_lanes_has(on, l)) origins[l] = 0;
}

void plumb_undef_copy(plumb_block_run *br, plumb_frame *to, plumb_reg result,
                      const plumb_frame *from, plumb_reg value, const plumb_lanes *on) {
  for (uint32_t l = on->lo; l < on->hi; l++)
    if (plumb_lanes_has(on, l)) plumb_undef_set(br, to, result, l, plumb_undef_get(from, value, l));
}

static bool is_load(const plumb_inst *origin) {
  return !origin || origin->op == PLUMB_OP_LOAD || origin->op == PLUMB_OP_ATOMIC ||
         origin->op == PLUMB_OP_SHFL || origin->op == PLUMB_OP_MATRIX_LOAD;
}

bool plumb_undef_check(plumb_block_run *br, const plumb_strand *s, plumb_reg r,
                       const plumb_lanes *on, const char *use) {
  if (plumb_reg_is_const(r) || !s->frame->origins || !s->frame->origins[r]) return true;
  const uint32_t *origins = s->frame->origins[r];
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!origins[l] || !plumb_lanes_has(on, l)) continue;
    const plumb_function *fn = NULL;
    const plumb_inst *origin = plumb_inst_at(br->run, origins[l] - 1, &fn);
    bool load = is_load(origin);
    plumb_trap_at(
        br, load ? PLUMB_TRAP_UNINITIALISED : PLUMB_TRAP_POISON, s->frame, s->pc, (int32_t)l,
        load ? "a value that was never written is used as %s" : "a poison value is used as %s",
        use);
    if (!origin) return false;
    br->trap.location2 = br->trap.location; /* the use */
    br->trap.location = br->program->locs[origin->loc];
    br->trap.function = fn->name;
    br->trap.op = (plumb_op)origin->op;
    return false;
  }
  return true;
}

/* The first result lane's origin: a chosen arm for SELECT, else any operand's. */
static uint32_t origin_of(plumb_block_run *br, const plumb_frame *f, const plumb_inst *inst,
                          const plumb_reg *operands, const uint8_t *condition, uint32_t lane) {
  (void)br;
  if (inst->op == PLUMB_OP_SELECT) {
    uint32_t origin = plumb_undef_get(f, operands[0], lane);
    return origin ? origin : plumb_undef_get(f, operands[condition[lane] & 1 ? 1 : 2], lane);
  }
  for (uint32_t i = 0; i < inst->operands; i++) {
    uint32_t origin = plumb_undef_get(f, operands[i], lane);
    if (origin) return origin;
  }
  return 0;
}

void plumb_undef_flow(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on) {
  plumb_frame *f = s->frame;
  const plumb_reg *operands = plumb_inst_operands(f->fn, inst);
  const plumb_reg *results = plumb_inst_results(f->fn, inst);
  bool any = false;
  for (uint32_t i = 0; i < inst->operands && inst->op != PLUMB_OP_FREEZE; i++)
    any |= f->origins && !plumb_reg_is_const(operands[i]) && f->origins[operands[i]];
  if (!any) {
    for (uint32_t i = 0; i < inst->results; i++) plumb_undef_clear(f, results[i], on);
    return;
  }
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    uint32_t origin = origin_of(br, f, inst, operands, br->select_condition, l);
    for (uint32_t i = 0; i < inst->results; i++) plumb_undef_set(br, f, results[i], l, origin);
  }
}

/* --- undefined values in memory --- */

static size_t origin_slot(const plumb_origin_map *map, uint64_t address) {
  size_t mask = map->capacity - 1;
  size_t i = (size_t)((address * 0x9e3779b97f4a7c15ull) >> 20) & mask;
  while (map->entries[i].address && map->entries[i].address != address) i = (i + 1) & mask;
  return i;
}

static void origin_put(plumb_origin_map *map, uint64_t address, uint32_t origin) {
  if ((map->count + 1) * 2 > map->capacity) {
    plumb_origin_map old = *map;
    map->capacity = old.capacity ? old.capacity * 2 : 256;
    map->entries = calloc(map->capacity, sizeof *map->entries);
    if (!map->entries) abort();
    for (size_t i = 0; i < old.capacity; i++)
      if (old.entries[i].address)
        map->entries[origin_slot(map, old.entries[i].address)] = old.entries[i];
    free(old.entries);
  }
  struct plumb_origin_entry *e = &map->entries[origin_slot(map, address)];
  if (!e->address) map->count++;
  *e = (struct plumb_origin_entry){address, origin};
}

static uint32_t origin_get(const plumb_origin_map *map, uint64_t address) {
  return map->count ? map->entries[origin_slot(map, address)].origin : 0;
}

void plumb_origin_map_destroy(plumb_origin_map *map) {
  free(map->entries);
  *map = (plumb_origin_map){0};
}

static uint64_t memory_key(uint64_t address, uint32_t lane) {
  bool local = plumb_window_of(address) == PLUMB_WINDOW_LOCAL;
  return local ? address | (uint64_t)(lane + 1) << 32 : address;
}

void plumb_undef_stored(plumb_block_run *br, uint32_t lane, uint64_t address, uint32_t origin) {
  if (plumb_window_of(address) != PLUMB_WINDOW_GLOBAL) {
    origin_put(&br->origins, memory_key(address, lane), origin);
    return;
  }
  pthread_mutex_lock(&br->run->lock);
  origin_put(&br->run->origins, address, origin);
  pthread_mutex_unlock(&br->run->lock);
}

uint32_t plumb_undef_loaded(plumb_block_run *br, uint32_t lane, uint64_t address, uint32_t origin) {
  uint32_t kept;
  if (plumb_window_of(address) != PLUMB_WINDOW_GLOBAL) {
    kept = origin_get(&br->origins, memory_key(address, lane));
  } else {
    pthread_mutex_lock(&br->run->lock);
    kept = origin_get(&br->run->origins, address);
    pthread_mutex_unlock(&br->run->lock);
  }
  return kept ? kept : origin;
}

void plumb_undef_forget(plumb_block_run *br, const plumb_lanes *on, uint64_t from, uint64_t to) {
  for (size_t i = 0; br->origins.count && i < br->origins.capacity; i++) {
    struct plumb_origin_entry *e = &br->origins.entries[i];
    uint32_t lane = (uint32_t)(e->address >> 32 & 0xffffff) - 1, offset = (uint32_t)e->address;
    if (plumb_window_of(e->address) == PLUMB_WINDOW_LOCAL && offset >= from && offset < to &&
        lane < br->lanes && plumb_lanes_has(on, lane))
      e->origin = 0;
  }
}

/* --- what reaches the caller --- */

/* More than a report can use; enough that a place which is overwritten later hides none. */
#define MAX_LEAKS (1u << 20)

void plumb_undef_leak(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                      uint32_t size_bytes, uint32_t origin) {
  plumb_run *run = br->run;
  if (br->grid->host) return;
  pthread_mutex_lock(&run->lock);
  if (run->leak_count == run->leak_capacity && run->leak_count < MAX_LEAKS) {
    run->leak_capacity = run->leak_capacity ? run->leak_capacity * 2 : 64;
    run->leaks = realloc(run->leaks, run->leak_capacity * sizeof *run->leaks);
    if (!run->leaks) abort();
  }
  if (run->leak_count < run->leak_capacity)
    run->leaks[run->leak_count++] =
        (plumb_leak){.address = address,
                     .block = br->index,
                     .size_bytes = size_bytes,
                     .lane = lane,
                     .origin = origin,
                     .store = s->frame->pc_base + s->pc,
                     .block_index = {br->block[0], br->block[1], br->block[2]}};
  pthread_mutex_unlock(&run->lock);
}

static bool still_undefined(const plumb_run *run, const plumb_leak *leak) {
  const plumb_allocation *a = plumb_allocation_of(run->machine, leak->address);
  uint64_t offset = leak->address & UINT32_MAX;
  return a && a->from_caller && offset + leak->size_bytes <= a->size_bytes &&
         memchr(a->state + offset, PLUMB_BYTE_UNINITIALISED, leak->size_bytes) != NULL;
}

/* The lowest address; of one address the last block and lane, so that threads that
 * finish in another order report the same. */
static bool is_better(const plumb_leak *a, const plumb_leak *b) {
  if (!b || a->address != b->address) return !b || a->address < b->address;
  return a->block != b->block ? a->block > b->block : a->lane >= b->lane;
}

void plumb_undef_finish(plumb_run *run) {
  const plumb_leak *best = NULL;
  for (size_t i = 0; i < run->leak_count; i++)
    if (still_undefined(run, &run->leaks[i]) && is_better(&run->leaks[i], best))
      best = &run->leaks[i];
  if (!best) return;
  const plumb_function *fn = NULL;
  const plumb_inst *origin = plumb_inst_at(run, best->origin - 1, &fn);
  const plumb_inst *store = plumb_inst_at(run, best->store, NULL);
  const plumb_allocation *a = plumb_allocation_of(run->machine, best->address);
  plumb_trap *t = &run->trap;
  *t = (plumb_trap){.kind = is_load(origin) ? PLUMB_TRAP_UNINITIALISED : PLUMB_TRAP_POISON,
                    .lane = (int32_t)best->lane,
                    .lane2 = -1,
                    .address = best->address,
                    .size_bytes = best->size_bytes,
                    .allocation = a->name,
                    .allocation_offset = best->address & UINT32_MAX,
                    .block2 = {-1, -1, -1}};
  memcpy(t->block, best->block_index, sizeof t->block);
  if (fn) t->function = fn->name;
  if (origin) {
    t->op = (plumb_op)origin->op;
    t->location = run->program->locs[origin->loc];
  }
  if (store) t->location2 = run->program->locs[store->loc];
  snprintf(run->trap_message, sizeof run->trap_message,
           "a value computed from %s ends in %s at offset %llu",
           is_load(origin) ? "memory that was never written" : "a poison value",
           a->name ? a->name : "an output", (unsigned long long)t->allocation_offset);
}

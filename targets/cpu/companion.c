/* Companions (shadow and interval) of registers and memory. A register or a place without
 * one holds an exact value. Used by single-threaded runs only. */
#include <stdlib.h>

#include "targets/cpu/bound.h"
#include "targets/cpu/exec.h"

static plumb_companion *room_for(plumb_block_run *br, plumb_frame *f, plumb_reg r) {
  if (!f->companions) {
    f->companions = calloc(f->fn->reg_count + 1, sizeof *f->companions);
    if (!f->companions) abort();
  }
  if (!f->companions[r]) {
    plumb_companion *c = malloc(br->lanes * sizeof *c);
    if (!c) abort();
    plumb_dtype type = f->fn->reg_types[r];
    unsigned bytes = plumb_dtype_bytes(type);
    const uint8_t *values = plumb_reg_lanes(br, f, r);
    for (uint32_t l = 0; l < br->lanes; l++)
      c[l] = plumb_companion_exact(type, values + (size_t)l * bytes);
    f->companions[r] = c;
  }
  return f->companions[r];
}

const plumb_companion *plumb_companion_get(const plumb_frame *f, plumb_reg r, uint32_t lane) {
  if (plumb_reg_is_const(r) || !f->companions || !f->companions[r]) return NULL;
  return &f->companions[r][lane];
}

void plumb_companion_set(plumb_block_run *br, plumb_frame *f, plumb_reg r, uint32_t lane,
                         const plumb_companion *value) {
  if (value) {
    room_for(br, f, r)[lane] = *value;
  } else if (f->companions && f->companions[r]) {
    if (br->lanes == 1) {
      free(f->companions[r]);
      f->companions[r] = NULL;
      return;
    }
    plumb_dtype type = f->fn->reg_types[r];
    f->companions[r][lane] = plumb_companion_exact(
        type, plumb_reg_lanes(br, f, r) + (size_t)lane * plumb_dtype_bytes(type));
  }
}

void plumb_companion_copy(plumb_block_run *br, plumb_frame *to, plumb_reg result,
                          const plumb_frame *from, plumb_reg value, const plumb_lanes *on) {
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    const plumb_companion *c = plumb_companion_get(from, value, l);
    plumb_companion copy;
    if (c) copy = *c; /* setting may move the array that c lies in */
    plumb_companion_set(br, to, result, l, c ? &copy : NULL);
  }
}

/* Of a value that may be anything of its type. */
static plumb_companion says_nothing(plumb_dtype type) {
  if (plumb_dtype_is_float(type)) return plumb_companion_unknown();
  return (plumb_companion){0, -(double)INFINITY, (double)INFINITY};
}

/* With exact operands only a rounding operation has an uncertain result. */
static bool stays_exact(const plumb_inst *inst) {
  switch (inst->op) {
    case PLUMB_OP_MOV:
    case PLUMB_OP_FREEZE:
    case PLUMB_OP_SELECT:
    case PLUMB_OP_NEG:
    case PLUMB_OP_ABS:
    case PLUMB_OP_CMP:
    case PLUMB_OP_CLASSIFY:
    case PLUMB_OP_MIN:
    case PLUMB_OP_MAX:
    case PLUMB_OP_COPYSIGN:
      return true;
    default:
      return !plumb_dtype_is_float((plumb_dtype)inst->type);
  }
}

void plumb_companion_alu(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                         const plumb_lanes *on, const void *const *results,
                         const void *const *operands) {
  plumb_frame *f = s->frame;
  const plumb_reg *from = plumb_inst_operands(f->fn, inst);
  const plumb_reg *to = plumb_inst_results(f->fn, inst);
  const plumb_companion *sources[8];
  bool exact = true;
  for (uint32_t i = 0; i < inst->operands; i++) {
    sources[i] = plumb_companion_get(f, from[i], 0);
    exact &= sources[i] == NULL;
  }
  if (exact && stays_exact(inst)) {
    for (uint32_t i = 0; i < inst->results; i++) {
      if (!f->companions || !f->companions[to[i]]) continue;
      plumb_dtype type = f->fn->reg_types[to[i]];
      unsigned bytes = plumb_dtype_bytes(type);
      if (on->count == br->lanes) {
        free(f->companions[to[i]]);
        f->companions[to[i]] = NULL;
        continue;
      }
      for (uint32_t l = on->lo; l < on->hi; l++)
        if (plumb_lanes_has(on, l))
          f->companions[to[i]][l] =
              plumb_companion_exact(type, (const uint8_t *)results[i] + (size_t)l * bytes);
    }
    return;
  }
  plumb_companion *made = malloc((size_t)inst->results * br->lanes * sizeof *made);
  if (!made) abort();
  plumb_companion *targets[4] = {0};
  for (uint32_t i = 0; i < inst->results; i++) targets[i] = made + (size_t)i * br->lanes;
  plumb_bound_execute(br->program, inst, results, operands, targets, sources, on->lo, on->hi);
  for (uint32_t i = 0; i < inst->results; i++) {
    plumb_companion *c = room_for(br, f, to[i]);
    for (uint32_t l = on->lo; l < on->hi; l++)
      if (plumb_lanes_has(on, l)) c[l] = targets[i][l];
  }
  free(made);
}

/* --- memory --- */

static plumb_companion_map *map_of(plumb_block_run *br, const plumb_place *place) {
  return place->window == PLUMB_WINDOW_GLOBAL ? &br->machine->companions : &br->companions;
}

static uint64_t key_of(const plumb_place *place, uint32_t lane) {
  uint64_t local = place->window == PLUMB_WINDOW_LOCAL ? (uint64_t)(lane + 1) << 32 : 0;
  return place->address | local;
}

/* Of an element of this size, or NULL: exact, or beside companions of another size, which
 * say nothing of it. */
static const plumb_companion *find(const plumb_companion_map *map, uint64_t key, uint32_t bytes,
                                   bool *out_other_size) {
  const plumb_companion_entry *e = plumb_companion_map_get(map, key);
  *out_other_size = e ? e->size_bytes != bytes
                      : (map->sizes & ~bytes) && plumb_companion_map_meets(map, key, bytes);
  return e ? &e->value : NULL;
}

void plumb_companion_load(plumb_block_run *br, plumb_frame *f, plumb_reg result, uint32_t lane,
                          const plumb_place *place, unsigned bytes) {
  bool other_size;
  const plumb_companion *c = find(map_of(br, place), key_of(place, lane), bytes, &other_size);
  plumb_companion nothing = says_nothing(f->fn->reg_types[result]);
  plumb_companion_set(br, f, result, lane, other_size ? &nothing : c);
}

void plumb_companion_read(plumb_block_run *br, uint32_t lane, const plumb_place *place,
                          uint32_t bytes, plumb_companion *out) {
  bool other_size;
  const plumb_companion *c = find(map_of(br, place), key_of(place, lane), bytes, &other_size);
  if (other_size)
    *out = plumb_companion_unknown();
  else if (c)
    *out = *c;
}

void plumb_companion_store(plumb_block_run *br, const plumb_frame *f, plumb_reg value,
                           uint32_t lane, const plumb_place *place, unsigned bytes) {
  plumb_companion_map *map = map_of(br, place);
  const plumb_companion *c = plumb_companion_get(f, value, lane);
  plumb_companion_map_clear(map, key_of(place, lane), bytes);
  if (c) plumb_companion_map_put(map, key_of(place, lane), bytes, c);
}

void plumb_companion_drop(plumb_block_run *br, uint32_t lane, const plumb_place *to,
                          uint64_t bytes) {
  plumb_companion_map_clear(map_of(br, to), key_of(to, lane), bytes);
}

void plumb_companion_forget(plumb_block_run *br, uint32_t lane, const plumb_place *to,
                            uint32_t bytes) {
  plumb_companion unknown = plumb_companion_unknown();
  plumb_companion_map_put(map_of(br, to), key_of(to, lane), bytes, &unknown);
}

void plumb_companion_move(plumb_block_run *br, uint32_t lane, const plumb_place *to,
                          const plumb_place *from, uint64_t bytes) {
  plumb_companion_map *source = map_of(br, from), *target = map_of(br, to);
  if (!source->count && !target->count) return;
  plumb_companion_entry *found = malloc(bytes * sizeof *found);
  if (!found) abort();
  size_t n = 0;
  uint64_t from_key = key_of(from, lane), to_key = key_of(to, lane);
  for (uint64_t i = 0; i < bytes; i++) {
    const plumb_companion_entry *e = plumb_companion_map_get(source, from_key + i);
    if (!e || i + e->size_bytes > bytes) continue;
    found[n] = *e;
    found[n++].address = to_key + i;
  }
  plumb_companion_map_clear(target, to_key, bytes);
  for (size_t i = 0; i < n; i++)
    plumb_companion_map_put(target, found[i].address, found[i].size_bytes, &found[i].value);
  free(found);
}

/* --- elements of matrices --- */

bool plumb_companion_uncertain_at(plumb_block_run *br, uint32_t lane, const plumb_place *place,
                                  uint64_t bytes) {
  return plumb_companion_map_meets(map_of(br, place), key_of(place, lane), bytes);
}

void plumb_companion_set_unknown(plumb_block_run *br, plumb_frame *f, plumb_reg r, uint32_t lane) {
  plumb_companion nothing = says_nothing(f->fn->reg_types[r]);
  plumb_companion_set(br, f, r, lane, &nothing);
}

bool plumb_companion_is_exact(const plumb_frame *f, plumb_reg r, uint32_t lane) {
  const plumb_companion *c = plumb_companion_get(f, r, lane);
  return !c || plumb_companion_is_certain(c);
}

plumb_companion plumb_companion_element(const plumb_frame *f, plumb_reg r, uint32_t lane,
                                        plumb_mma_type type, uint64_t word) {
  bool whole = plumb_mma_type_table[type].bits >= 32;
  if (!plumb_companion_is_exact(f, r, lane))
    return whole && plumb_dtype_is_float(f->fn->reg_types[r]) ? *plumb_companion_get(f, r, lane)
                                                              : plumb_companion_unknown();
  return plumb_companion_exact_element(type, word);
}

plumb_companion plumb_companion_exact_element(plumb_mma_type type, uint64_t word) {
  plumb_dtype dtype = plumb_bound_element_type(type);
  if (dtype == PLUMB_TF32) dtype = PLUMB_F32; /* what its low bits are is not lost yet */
  return dtype == PLUMB_I1 ? (plumb_companion){0} : plumb_companion_exact(dtype, &word);
}

void plumb_companion_put_element(plumb_block_run *br, plumb_frame *f, plumb_reg r, uint32_t lane,
                                 plumb_mma_type type, const plumb_companion *value) {
  if (plumb_companion_is_certain(value)) return;
  if (plumb_mma_type_table[type].bits >= 32 && plumb_dtype_is_float(f->fn->reg_types[r]))
    plumb_companion_set(br, f, r, lane, value);
  else
    plumb_companion_set_unknown(br, f, r, lane);
}

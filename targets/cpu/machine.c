/* The machine: the API of cpu.h. */
#include <stdio.h>
#include <stdlib.h>

#include "targets/cpu/bound.h"
#include "targets/cpu/exec.h"

plumb_run_options plumb_run_options_default(void) {
  return (plumb_run_options){.check_races = true};
}

plumb_machine *plumb_machine_create(plumb_arena *arena) {
  plumb_machine *m = PLUMB_NEW(arena, plumb_machine);
  m->arena = arena;
  pthread_mutex_init(&m->lock, NULL);
  plumb_lanes warm = {0};
  plumb_lanes_settle(&warm);
  uint16_t room[1];
  warm.dense = true;
  plumb_lanes_list(&warm, room); /* fills its table before any thread starts */
  return m;
}

void plumb_machine_destroy(plumb_machine *m) {
  if (!m) return;
  plumb_companion_map_destroy(&m->companions);
  for (uint32_t i = 0; i < m->allocation_count; i++) {
    plumb_allocation *a = plumb_allocation_at(m, i);
    if (!a->live) continue;
    a->owned_by_program = false;
    plumb_memory_free(m, ((uint64_t)i * 2 + 1) << 32);
  }
  for (uint32_t c = 0; c < PLUMB_ALLOCATION_CHUNKS; c++) free(m->chunks[c]);
  free(m->free_indexes);
  pthread_mutex_destroy(&m->lock);
}

/* --- memory --- */

uint64_t plumb_machine_alloc(plumb_machine *m, uint64_t size_bytes, uint64_t align,
                             const char *name) {
  (void)align; /* every allocation starts at a multiple of 4 GiB */
  uint64_t address =
      plumb_memory_alloc(m, size_bytes, name ? plumb_arena_copy_string(m->arena, name) : NULL);
  if (address) plumb_allocation_of(m, address)->from_caller = true;
  return address;
}

plumb_status plumb_machine_free(plumb_machine *m, uint64_t address, plumb_diag *diag) {
  if (plumb_memory_free(m, address)) return PLUMB_OK;
  return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0, "0x%llx is not the start of an allocation",
                    (unsigned long long)address);
}

uint64_t plumb_machine_bytes(const plumb_machine *m) {
  return m->total_bytes;
}

static plumb_status find(const plumb_machine *m, uint64_t address, uint64_t size_bytes,
                         plumb_allocation **out, uint64_t *out_offset, plumb_diag *diag) {
  plumb_allocation *a =
      plumb_window_of(address) == PLUMB_WINDOW_GLOBAL ? plumb_allocation_of(m, address) : NULL;
  uint64_t offset = address & UINT32_MAX;
  if (!a || offset > a->size_bytes || size_bytes > a->size_bytes - offset)
    return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                      "%llu bytes at 0x%llx do not lie in one allocation",
                      (unsigned long long)size_bytes, (unsigned long long)address);
  *out = a;
  *out_offset = offset;
  return PLUMB_OK;
}

static void mark_initialised(plumb_allocation *a, uint64_t offset, uint64_t size_bytes) {
  if (!plumb_allocation_tracks(a)) return;
  memset(a->state + offset, PLUMB_BYTE_INITIALISED, size_bytes);
  if (size_bytes == a->size_bytes) a->all_initialised = true;
}

plumb_status plumb_machine_write(plumb_machine *m, uint64_t address, const void *data,
                                 uint64_t size_bytes, plumb_diag *diag) {
  plumb_allocation *a;
  uint64_t offset;
  if (!size_bytes) return PLUMB_OK;
  PLUMB_TRY(find(m, address, size_bytes, &a, &offset, diag));
  memcpy(a->data + offset, data, size_bytes);
  mark_initialised(a, offset, size_bytes);
  plumb_companion_map_clear(&m->companions, address, size_bytes);
  return PLUMB_OK;
}

plumb_status plumb_machine_read(const plumb_machine *m, uint64_t address, void *data,
                                uint8_t *out_initialised, uint64_t size_bytes, plumb_diag *diag) {
  plumb_allocation *a;
  uint64_t offset;
  if (!size_bytes) return PLUMB_OK;
  PLUMB_TRY(find(m, address, size_bytes, &a, &offset, diag));
  memcpy(data, a->data + offset, size_bytes);
  if (out_initialised) memcpy(out_initialised, a->state + offset, size_bytes);
  return PLUMB_OK;
}

plumb_status plumb_machine_poison(plumb_machine *m, uint64_t address, uint64_t size_bytes,
                                  plumb_diag *diag) {
  plumb_allocation *a;
  uint64_t offset;
  if (!size_bytes) return PLUMB_OK;
  PLUMB_TRY(find(m, address, size_bytes, &a, &offset, diag));
  memset(a->data + offset, 0xff, size_bytes); /* all ones is a NaN in every float type */
  if (plumb_allocation_tracks(a)) {
    memset(a->state + offset, PLUMB_BYTE_UNINITIALISED, size_bytes);
    a->all_initialised = false;
  }
  plumb_companion_map_clear(&m->companions, address, size_bytes);
  return PLUMB_OK;
}

plumb_status plumb_machine_copy(plumb_machine *m, uint64_t to, uint64_t from, uint64_t size_bytes,
                                plumb_diag *diag) {
  plumb_allocation *target, *source;
  uint64_t target_offset, source_offset;
  if (!size_bytes) return PLUMB_OK;
  PLUMB_TRY(find(m, to, size_bytes, &target, &target_offset, diag));
  PLUMB_TRY(find(m, from, size_bytes, &source, &source_offset, diag));
  memmove(target->data + target_offset, source->data + source_offset, size_bytes);
  plumb_companion_map_clear(&m->companions, to, size_bytes);
  if (!plumb_allocation_tracks(target)) return PLUMB_OK;
  memmove(target->state + target_offset, source->state + source_offset, size_bytes);
  if (!source->all_initialised)
    target->all_initialised = false; /* its map says where */
  else if (size_bytes == target->size_bytes)
    target->all_initialised = true;
  return PLUMB_OK;
}

plumb_status plumb_machine_fill(plumb_machine *m, uint64_t address, uint32_t value,
                                unsigned element_bytes, uint64_t count, plumb_diag *diag) {
  plumb_allocation *a;
  uint64_t offset, size_bytes;
  if (!count) return PLUMB_OK;
  if (__builtin_mul_overflow(count, (uint64_t)element_bytes, &size_bytes)) size_bytes = UINT64_MAX;
  PLUMB_TRY(find(m, address, size_bytes, &a, &offset, diag));
  uint8_t *to = a->data + offset;
  if (element_bytes == 1)
    memset(to, (int)(value & 0xff), size_bytes);
  else
    for (uint64_t i = 0; i < count; i++) memcpy(to + i * element_bytes, &value, element_bytes);
  mark_initialised(a, offset, size_bytes);
  plumb_companion_map_clear(&m->companions, address, size_bytes);
  return PLUMB_OK;
}

/* --- beside a host program --- */

void plumb_machine_separate(plumb_machine *m) {
  plumb_memory_separate(m);
}

uint64_t plumb_machine_alloc_twin(plumb_machine *m, uint64_t size_bytes, const char *name) {
  return plumb_memory_alloc_twin(m, size_bytes, plumb_arena_copy_string(m->arena, name));
}

uint64_t plumb_machine_borrow(plumb_machine *m, void *data, uint64_t size_bytes, const char *name) {
  return plumb_memory_borrow(m, data, size_bytes, plumb_arena_copy_string(m->arena, name));
}

void plumb_machine_trust(plumb_machine *m, uint64_t address) {
  plumb_allocation *a = plumb_allocation_of(m, address);
  if (a) mark_initialised(a, 0, a->size_bytes);
}

bool plumb_machine_find(const plumb_machine *m, uint64_t address, plumb_extent *out) {
  plumb_allocation *a =
      plumb_window_of(address) == PLUMB_WINDOW_GLOBAL ? plumb_allocation_of(m, address) : NULL;
  if (!a || (address & UINT32_MAX) > a->size_bytes) return false;
  *out = (plumb_extent){.base = address & ~(uint64_t)UINT32_MAX,
                        .size_bytes = a->size_bytes,
                        .host = a->backing == PLUMB_BACKING_OWN ? NULL : a->data,
                        .borrowed = a->backing == PLUMB_BACKING_CALLER,
                        .read_only = a->read_only,
                        .owned_by_program = a->owned_by_program};
  return true;
}

plumb_status plumb_machine_read_companions(const plumb_machine *m, uint64_t address,
                                           plumb_dtype type, size_t count, plumb_companion *out,
                                           plumb_diag *diag) {
  plumb_allocation *a;
  uint64_t offset;
  unsigned bytes = plumb_dtype_bytes(type);
  if (!count) return PLUMB_OK;
  if (count > PLUMB_MAX_ALLOCATION_BYTES) count = PLUMB_MAX_ALLOCATION_BYTES;
  PLUMB_TRY(find(m, address, (uint64_t)count * bytes, &a, &offset, diag));
  for (size_t i = 0; i < count; i++) {
    const plumb_companion_entry *e = plumb_companion_map_get(&m->companions, address + i * bytes);
    out[i] = !e                       ? plumb_companion_exact(type, a->data + offset + i * bytes)
             : e->size_bytes == bytes ? e->value
                                      : plumb_companion_unknown();
  }
  return PLUMB_OK;
}

/* --- runs --- */

static void run_begin(plumb_run *run, plumb_machine *m, const plumb_run_options *options) {
  *run = (plumb_run){.machine = m, .program = m->program};
  run->options = options ? *options : plumb_run_options_default();
  run->time = run->options.time;
  run->pc_bases = calloc(m->program->function_count + 1, sizeof *run->pc_bases);
  if (!run->pc_bases) abort();
  uint32_t base = 0;
  for (size_t i = 0; i < m->program->function_count; i++) {
    run->pc_bases[i] = base;
    base += (uint32_t)m->program->functions[i]->inst_count;
  }
  pthread_mutex_init(&run->lock, NULL);
}

static plumb_status run_end(plumb_run *run, plumb_run_result *out, plumb_diag *diag) {
  plumb_machine *m = run->machine;
  if (run->trap.kind == PLUMB_TRAP_NONE && run->status == PLUMB_OK) plumb_undef_finish(run);
  free(run->leaks);
  plumb_origin_map_destroy(&run->origins);
  *out = (plumb_run_result){.trap = run->trap,
                            .counters = run->counters,
                            .time = run->time,
                            .results = run->results,
                            .result_undefined = run->result_undefined,
                            .result_companions = run->result_companions,
                            .result_count = run->result_count};
  if (run->trap.kind == PLUMB_TRAP_NONE)
    out->trap = (plumb_trap){.lane = -1, .lane2 = -1};
  else
    out->trap.message = plumb_arena_copy_string(m->arena, run->trap_message);
  free(run->pc_bases);
  pthread_mutex_destroy(&run->lock);
  if (run->trap.kind == PLUMB_TRAP_NONE && run->status != PLUMB_OK) {
    if (diag) *diag = run->diag;
    return run->status;
  }
  return PLUMB_OK;
}

static plumb_status find_function(const plumb_machine *m, const char *name, bool kernel,
                                  const plumb_function **out, plumb_diag *diag) {
  if (!m->program) return plumb_fail(diag, PLUMB_INTERNAL, NULL, 0, 0, "no program is loaded");
  const plumb_function *f = plumb_program_find(m->program, name);
  if (f && !f->external && f->block_count && kernel == (f->kind == PLUMB_KERNEL)) {
    *out = f;
    return PLUMB_OK;
  }
  plumb_text known = plumb_text_create(m->arena);
  for (size_t i = 0; i < m->program->function_count; i++) {
    const plumb_function *o = m->program->functions[i];
    if (!o->external && kernel == (o->kind == PLUMB_KERNEL))
      plumb_text_printf(&known, "%s%s", known.length ? ", " : "", o->name);
  }
  return plumb_fail(diag, PLUMB_BAD_INPUT, m->program->name, 0, 0, "no %s named '%s'; there %s: %s",
                    kernel ? "kernel" : "function", name, known.length ? "are" : "is none",
                    known.length ? known.data : "-");
}

plumb_status plumb_machine_call(plumb_machine *m, const char *function, const uint64_t *args,
                                size_t arg_count, const plumb_run_options *options,
                                plumb_run_result *out_result, plumb_diag *diag) {
  const plumb_function *fn = NULL;
  PLUMB_TRY(find_function(m, function, false, &fn, diag));
  if (fn->param_count != arg_count)
    return plumb_fail(diag, PLUMB_BAD_INPUT, m->program->name, 0, 0,
                      "function '%s' takes %zu argument words, %zu are given", function,
                      fn->param_count, arg_count);
  plumb_run run;
  run_begin(&run, m, options);
  plumb_host_run(&run, fn, args);
  return run_end(&run, out_result, diag);
}

plumb_status plumb_machine_launch(plumb_machine *m, const char *kernel, const plumb_launch *launch,
                                  const void *params, size_t param_bytes,
                                  const plumb_run_options *options, plumb_run_result *out_result,
                                  plumb_diag *diag) {
  const plumb_function *fn = NULL;
  PLUMB_TRY(find_function(m, kernel, true, &fn, diag));
  if (fn->param_bytes != param_bytes)
    return plumb_fail(diag, PLUMB_BAD_INPUT, m->program->name, 0, 0,
                      "kernel '%s' takes %u bytes of parameters, %zu are given", kernel,
                      fn->param_bytes, param_bytes);
  uint8_t *copy = calloc(2, param_bytes + 64);
  if (!copy) abort();
  if (param_bytes) memcpy(copy, params, param_bytes);
  memset(copy + param_bytes + 64, PLUMB_BYTE_INITIALISED, param_bytes);
  plumb_run run;
  run_begin(&run, m, options);
  plumb_status limits = plumb_grid_run(&run, fn, launch, copy, copy + param_bytes + 64, diag);
  free(copy);
  plumb_status status = run_end(&run, out_result, limits == PLUMB_OK ? diag : NULL);
  return limits != PLUMB_OK ? limits : status;
}

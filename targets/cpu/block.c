/* A block's life on its thread: memory, entry, end. */
#include <stdio.h>
#include <stdlib.h>

#include "targets/cpu/async.h"

static void *take(size_t count, size_t bytes) {
  void *p = calloc(count ? count : 1, bytes);
  if (!p) abort();
  return p;
}

void plumb_block_create_run(plumb_block_run *br, plumb_grid *grid) {
  plumb_run *run = grid->run;
  const plumb_program *p = run->program;
  *br = (plumb_block_run){
      .run = run, .grid = grid, .machine = run->machine, .program = p, .lanes = grid->lanes};
  size_t insts = 0;
  for (size_t i = 0; i < p->function_count; i++) insts += p->functions[i]->inst_count;
  br->consts = take(p->const_count, sizeof *br->consts);
  br->free_frames = take(p->function_count, sizeof *br->free_frames);
  br->back_counts = take(insts, sizeof *br->back_counts);
  for (int i = 0; i < 4; i++) {
    br->scratch[i] = aligned_alloc(64, ((size_t)br->lanes * 16 + 127) / 64 * 64);
    if (!br->scratch[i]) abort();
    memset(br->scratch[i], 0, (size_t)br->lanes * 16);
  }
  br->addresses = take(br->lanes, sizeof *br->addresses);
  br->offsets = take(br->lanes, sizeof *br->offsets);
  br->list_room = take(br->lanes, sizeof *br->list_room);
  br->local_top = take(br->lanes, sizeof *br->local_top);
  br->effects = take(br->lanes, sizeof *br->effects);
  if (!grid->host) {
    br->shared = take(grid->shared_bytes + 64, 1);
    br->shared_state = take(grid->shared_bytes + 64, 1);
  }
  plumb_race_create(br);
  plumb_async_create(br);
}

static void frame_free(plumb_frame *f) {
  for (size_t r = 0; f->origins && r < f->fn->reg_count; r++) free(f->origins[r]);
  for (size_t r = 0; f->companions && r < f->fn->reg_count; r++) free(f->companions[r]);
  plumb_flight_destroy(f);
  free(f->origins);
  free(f->companions);
  free(f->saved_top);
  free(f->regs);
  free(f);
}

static void free_frame_tree(plumb_frame *f) {
  for (plumb_frame *c = f->children; c;) {
    plumb_frame *next = c->sibling;
    free_frame_tree(c);
    c = next;
  }
  frame_free(f);
}

void plumb_block_destroy_run(plumb_block_run *br) {
  const plumb_program *p = br->program;
  /* A block that stopped early still has frames in use: they hang on one root. */
  if (br->strand_count) {
    plumb_frame *root = br->strands[0]->frame;
    while (root->caller) root = root->caller;
    free_frame_tree(root);
  }
  for (size_t i = 0; i < p->function_count; i++)
    for (plumb_frame *f = br->free_frames[i]; f;) {
      plumb_frame *next = f->sibling;
      frame_free(f);
      f = next;
    }
  for (uint32_t i = 0; i < br->strand_capacity; i++) free(br->strands[i]);
  for (size_t i = 0; i < p->const_count; i++) free(br->consts[i]);
  for (int i = 0; i < 4; i++) free(br->scratch[i]);
  plumb_async_destroy(br);
  plumb_mma_layouts_destroy(br);
  plumb_race_destroy(br);
  plumb_origin_map_destroy(&br->origins);
  plumb_companion_map_destroy(&br->companions);
  free(br->strands);
  free(br->free_frames);
  free(br->consts);
  free(br->back_counts);
  free(br->addresses);
  free(br->offsets);
  free(br->list_room);
  free(br->local_top);
  free(br->effects);
  free(br->shared);
  free(br->shared_state);
  free(br->local);
  free(br->local_state);
}

static void set_arguments(plumb_block_run *br, plumb_frame *f) {
  const plumb_function *fn = br->grid->fn;
  for (size_t i = 0; i < fn->param_count && br->grid->args; i++) {
    unsigned bytes = plumb_dtype_bytes(fn->reg_types[fn->params[i].reg]);
    uint64_t wide[2] = {br->grid->args[i], 0};
    memcpy(plumb_reg_lanes(br, f, fn->params[i].reg), wide, bytes);
  }
}

void plumb_block_start(plumb_block_run *br, uint64_t index) {
  plumb_grid *g = br->grid;
  br->index = index;
  br->serial++;
  br->block[0] = (uint32_t)(index % g->launch.grid[0]);
  br->block[1] = (uint32_t)(index / g->launch.grid[0] % g->launch.grid[1]);
  br->block[2] = (uint32_t)(index / g->launch.grid[0] / g->launch.grid[1]);
  br->random = br->run->options.seed * 0x9e3779b97f4a7c15ull + index;
  br->undef = br->watch = false;
  plumb_origin_map_destroy(&br->origins);
  br->parked_aligned = 0;
  if (br->used_barriers) {
    memset(br->barriers, 0, sizeof br->barriers);
    memset(br->effects, 0, br->lanes * sizeof *br->effects);
    br->used_barriers = false;
  }
  if (!g->host && (g->has_shared || br->serial == 1)) {
    memcpy(br->shared_state, g->shared_state, g->shared_bytes);
    memset(br->shared, 0, g->shared_bytes);
  }
  plumb_companion_map_destroy(&br->companions);
  plumb_race_begin(br);
  plumb_async_begin(br);
  plumb_lanes_fill(&br->live, br->lanes);
  uint64_t top = PLUMB_LOCAL_BASE + g->fn->frame_bytes;
  for (uint32_t l = 0; l < br->lanes; l++) br->local_top[l] = top;
  plumb_frame *f = plumb_frame_create(br, g->fn, NULL, 0, PLUMB_LOCAL_BASE);
  f->lane_count = br->lanes;
  br->current = NULL;
  plumb_strand *s = plumb_strand_create(br, g->fn->blocks[0].first, f, &br->live);
  if (g->host) set_arguments(br, f);
  if (g->fn->frame_bytes && plumb_local_reserve(br, s, top))
    plumb_local_forget(br, &br->live, PLUMB_LOCAL_BASE, top);
}

void plumb_counters_add(plumb_counters *to, const plumb_counters *from) {
  to->lane_instructions += from->lane_instructions;
  to->instructions += from->instructions;
  to->global_load_bytes += from->global_load_bytes;
  to->global_store_bytes += from->global_store_bytes;
  to->shared_load_bytes += from->shared_load_bytes;
  to->shared_store_bytes += from->shared_store_bytes;
  to->barriers += from->barriers;
  to->atomics += from->atomics;
  to->divergent_branches += from->divergent_branches;
  to->launches += from->launches;
  to->blocks += from->blocks;
}

void plumb_block_finish(plumb_block_run *br) {
  plumb_run *run = br->run;
  plumb_grid *g = br->grid;
  if (!br->trapped && !br->unsupported) {
    plumb_async_finish(br);
    plumb_race_end(br);
  }
  if (!br->trapped) plumb_steps_tell(br);
  pthread_mutex_lock(&run->lock);
  plumb_counters_add(&run->counters, &br->counters);
  if (!g->host) run->counters.blocks++;
  if (plumb_timer_now(br) > g->end_time) g->end_time = plumb_timer_now(br);
  bool stops = br->trapped || br->unsupported;
  if (stops && br->index < g->trap_block) {
    __atomic_store_n(&g->trap_block, br->index, __ATOMIC_RELAXED);
    if (br->trapped && br->trap.kind != PLUMB_TRAP_NONE) {
      run->trap = br->trap;
      memcpy(run->trap_message, br->trap_message, sizeof run->trap_message);
      run->status = PLUMB_OK;
    } else if (br->unsupported) {
      const plumb_loc *l = &br->unsupported_loc;
      run->trap = (plumb_trap){.kind = PLUMB_TRAP_NONE};
      run->status = br->unsupported_status;
      plumb_fail(&run->diag, br->unsupported_status, l->file, l->line ? l->line : l->stage_line,
                 l->column, "%s", br->unsupported_what);
    }
  }
  pthread_mutex_unlock(&run->lock);
  br->counters = (plumb_counters){0};
  br->steps_told = br->time_offset = 0;
}

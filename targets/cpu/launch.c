/* Launches: limits, the layout of shared memory, and blocks over threads. */
#include <stdio.h>
#include <stdlib.h>

#include "ir/base/parallel.h"
#include "targets/cpu/async.h"
#include "targets/cpu/recall.h"

#define BLOCK_QUANTUM 4096u  /* backward branches between looks for idleness */
#define ORDERED_QUANTUM 256u /* and a turn of an interleaved block */
#define MAX_RESIDENT_BLOCKS 512u
#define MAX_RESIDENT_BYTES (2ull << 30)
#define MAX_REGISTER_BYTES (1ull << 30) /* a block */
#define DEFAULT_STEP_LIMIT 20000000000ull

/* --- what a kernel uses --- */

typedef struct uses {
  const plumb_program *program;
  bool *functions; /* reached */
  bool *globals;   /* shared ones whose address is taken */
  uint32_t lanes;  /* a block */
  bool ordered, sequential, fences, async, parts;
  bool more; /* it does more than read and write memory, or reads more */
} uses;

/* Whether lanes may meet here that are not all of the block or of their warp. */
static bool meets_in_part(const uses *u, const plumb_function *fn, const plumb_inst *inst) {
  bool barrier = inst->op == PLUMB_OP_BARRIER;
  if (barrier && inst->operands < 2) return false;
  plumb_reg r = plumb_inst_operands(fn, inst)[barrier];
  if (!plumb_reg_is_const(r)) return true;
  uint32_t v = (uint32_t)u->program->consts[plumb_reg_const_index(r)].bits;
  if (!barrier) return v != UINT32_MAX;
  return inst->sub == PLUMB_BARRIER_ARRIVE || (v && v < u->lanes);
}

static void scan(uses *u, const plumb_function *fn) {
  if (u->functions[fn->index]) return;
  u->functions[fn->index] = true;
  u->ordered |= fn->uses_global_order;
  const uint32_t order = PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE | PLUMB_FLAG_SEQ_CST;
  for (size_t i = 0; i < fn->inst_count; i++) {
    const plumb_inst *inst = &fn->insts[i];
    bool publishes;
    switch (inst->op) {
      case PLUMB_OP_ADDRESS:
        u->globals[inst->imm] = true;
        break;
      case PLUMB_OP_CALL:
        scan(u, u->program->functions[inst->target]);
        break;
      case PLUMB_OP_CALL_INDIRECT:
        for (size_t f = 0; f < u->program->function_count; f++)
          if (u->program->functions[f]->kind == PLUMB_DEVICE) scan(u, u->program->functions[f]);
        break;
      case PLUMB_OP_FENCE:
        u->fences = u->parts = true;
        break;
      case PLUMB_OP_BARRIER:
      case PLUMB_OP_WARP_SYNC:
        u->parts |= meets_in_part(u, fn, inst);
        break;
      case PLUMB_OP_CP_ASYNC: /* a lane waits for its own: that orders no other */
      case PLUMB_OP_ASYNC_GROUP:
        u->fences = u->async = true;
        break;
      case PLUMB_OP_BULK_COPY:
      case PLUMB_OP_TENSOR_COPY:
      case PLUMB_OP_STORE_ASYNC:
      case PLUMB_OP_MBARRIER:
      case PLUMB_OP_TENSORMAP_REPLACE:
      case PLUMB_OP_CLUSTER_BARRIER:
      case PLUMB_OP_WGMMA:
      case PLUMB_OP_WGMMA_GROUP:
        u->fences = u->async = u->parts = true;
        u->sequential |= inst->op == PLUMB_OP_BULK_COPY && inst->sub;
        u->sequential |= inst->op == PLUMB_OP_TENSOR_COPY && inst->sub > 1;
        break;
      case PLUMB_OP_LOAD:
      case PLUMB_OP_STORE:
        publishes = (inst->flags & order) != 0;
        u->fences |= publishes;
        u->parts |= publishes;
        break;
      case PLUMB_OP_ATOMIC:
        publishes = (inst->flags & order) != 0 && !(inst->flags & PLUMB_FLAG_SEQ_CST);
        u->fences |= publishes;
        u->parts |= publishes;
        /* The order of floating sums shows in the result, so it has to be one order. */
        u->sequential |= inst->space != PLUMB_SPACE_SHARED;
        break;
      case PLUMB_OP_SREG:
        u->more |= plumb_sreg_is_clock((plumb_sreg)inst->sub);
        break;
      case PLUMB_OP_ALLOC:
      case PLUMB_OP_FREE:
      case PLUMB_OP_PRINT:
        u->sequential = u->more = true;
        break;
      default:
        break;
    }
  }
}

/* Static variables first, each followed by a gap, then the dynamic ones, all at one place. */
static plumb_status lay_out_shared(plumb_grid *g, const uses *u, plumb_diag *diag) {
  const plumb_program *p = g->run->program;
  uint64_t at = PLUMB_SHARED_BASE, used = 0;
  uint32_t align = 16;
  g->shared_offsets = calloc(p->global_count + 1, sizeof *g->shared_offsets);
  if (!g->shared_offsets) abort();
  for (size_t i = 0; i < p->global_count; i++) {
    const plumb_global *v = &p->globals[i];
    if (v->space != PLUMB_SPACE_SHARED || !u->globals[i]) continue;
    if (v->dynamic) {
      if (v->align > align) align = v->align;
      continue;
    }
    uint32_t own = v->align > 16 ? v->align : 16;
    at = (at + own - 1) / own * own;
    g->shared_offsets[i] = (uint32_t)at;
    at += v->size_bytes + PLUMB_SHARED_GAP;
    used += v->size_bytes;
    if (used > PLUMB_MAX_SHARED_BYTES) break;
  }
  uint64_t dynamic = g->launch.shared_bytes;
  bool fits = used <= PLUMB_MAX_SHARED_BYTES && dynamic <= PLUMB_MAX_SHARED_BYTES - used;
  used = dynamic > UINT64_MAX - used ? UINT64_MAX : used + dynamic;
  at = (at + align - 1) / align * align;
  if (fits && at + dynamic > 4ull * PLUMB_MAX_SHARED_BYTES)
    return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                      "kernel '%s': alignments leave no room for its shared variables",
                      g->fn->name);
  if (!fits)
    return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                      "kernel '%s' needs %llu bytes of shared memory a block; %u are allowed",
                      g->fn->name, (unsigned long long)used, PLUMB_MAX_SHARED_BYTES);
  uint64_t end = at + dynamic;
  g->shared_bytes = (uint32_t)(end + PLUMB_SHARED_GAP);
  g->has_shared = used > 0;
  g->shared_state = malloc(g->shared_bytes);
  if (!g->shared_state) abort();
  memset(g->shared_state, PLUMB_BYTE_GAP, g->shared_bytes);
  memset(g->shared_state + at, PLUMB_BYTE_UNINITIALISED, g->launch.shared_bytes);
  for (size_t i = 0; i < p->global_count; i++) {
    const plumb_global *v = &p->globals[i];
    if (v->space != PLUMB_SPACE_SHARED || !u->globals[i]) continue;
    if (v->dynamic)
      g->shared_offsets[i] = (uint32_t)at;
    else
      memset(g->shared_state + g->shared_offsets[i], PLUMB_BYTE_UNINITIALISED, v->size_bytes);
  }
  return PLUMB_OK;
}

/* CUDA C programming guide, table of technical specifications. */
static plumb_status check_limits(const plumb_function *fn, const plumb_launch *l,
                                 plumb_diag *diag) {
  static const uint32_t grid_max[3] = {2147483647u, 65535u, 65535u},
                        block_max[3] = {1024, 1024, 64};
  uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
  for (int i = 0; i < 3; i++) {
    if (l->grid[i] == 0 || l->grid[i] > grid_max[i])
      return plumb_fail(
          diag, PLUMB_BAD_INPUT, NULL, 0, 0,
          "launch of '%s': grid %u x %u x %u; allowed are 1 to 2147483647 x 65535 x 65535",
          fn->name, l->grid[0], l->grid[1], l->grid[2]);
    if (l->block[i] == 0 || l->block[i] > block_max[i])
      return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                        "launch of '%s': block %u x %u x %u; allowed are 1 to 1024 x 1024 x 64",
                        fn->name, l->block[0], l->block[1], l->block[2]);
  }
  uint64_t limit =
      fn->max_threads && fn->max_threads < PLUMB_MAX_LANES ? fn->max_threads : PLUMB_MAX_LANES;
  if (threads > limit)
    return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                      "launch of '%s': %llu threads a block; %llu are allowed", fn->name,
                      (unsigned long long)threads, (unsigned long long)limit);
  for (int i = 0; i < 3; i++)
    if (fn->required_threads[0] && fn->required_threads[i] &&
        fn->required_threads[i] != l->block[i])
      return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                        "launch of '%s': block %u x %u x %u, but the kernel requires %u x %u x %u",
                        fn->name, l->block[0], l->block[1], l->block[2], fn->required_threads[0],
                        fn->required_threads[1], fn->required_threads[2]);
  return PLUMB_OK;
}

/* --- steps --- */

uint64_t plumb_step_limit(const plumb_run *run) {
  return run->options.step_limit ? run->options.step_limit : DEFAULT_STEP_LIMIT;
}

bool plumb_steps_tell(plumb_block_run *br) {
  plumb_run *run = br->run;
  uint64_t fresh = br->counters.lane_instructions - br->steps_told;
  br->steps_told = br->counters.lane_instructions;
  uint64_t all = __atomic_add_fetch(&run->steps, fresh, __ATOMIC_RELAXED);
  uint64_t limit = plumb_step_limit(run);
  if (all <= limit) return true;
  size_t insts = 0, most = 0;
  for (size_t i = 0; i < br->program->function_count; i++)
    insts += br->program->functions[i]->inst_count;
  for (size_t i = 1; i < insts; i++)
    if (br->back_counts[i] > br->back_counts[most]) most = i;
  const plumb_function *fn = NULL;
  const plumb_inst *inst = plumb_inst_at(run, (uint32_t)most, &fn);
  plumb_trap_at(br, PLUMB_TRAP_STEP_LIMIT, NULL, 0, -1,
                "more than %llu lane-instructions; the busiest loop was taken %llu times",
                (unsigned long long)limit, (unsigned long long)br->back_counts[most]);
  if (inst) {
    br->trap.function = fn->name;
    br->trap.op = (plumb_op)inst->op;
    br->trap.location = br->program->locs[inst->loc];
  }
  return false;
}

/* --- blocks --- */

static void run_one(plumb_block_run *br, uint64_t index) {
  plumb_idle idle = {0};
  bool alone = br->grid->host || br->grid->block_count == 1;
  plumb_block_start(br, index);
  for (;;) {
    plumb_block_end end = plumb_block_continue(br, BLOCK_QUANTUM);
    if (end == PLUMB_BLOCK_YIELDED && !plumb_idle_look(&idle, br, 1, alone, 0)) continue;
    break;
  }
  plumb_block_finish(br);
}

/* The cluster (of one block, where there are none) that comes n-th: in order for seed 0,
 * else a permutation by the seed. */
static uint64_t nth_cluster(const plumb_grid *g, uint64_t n) {
  uint64_t seed = g->run->options.seed, count = g->block_count / g->cluster_blocks;
  if (!seed || count < 3) return n;
  uint64_t stride = seed % (count - 1) + 1;
  for (;; stride++) {
    uint64_t a = stride, b = count;
    while (b) {
      uint64_t r = a % b;
      a = b;
      b = r;
    }
    if (a == 1) break;
  }
  return (uint64_t)(((unsigned __int128)n * stride + seed) % count);
}

static void run_blocks(void *argument) {
  plumb_grid *g = argument;
  plumb_block_run *br = malloc(sizeof *br);
  if (!br) abort();
  plumb_block_create_run(br, g);
  for (;;) {
    uint64_t n = __atomic_fetch_add(&g->next_block, 1, __ATOMIC_RELAXED);
    if (n >= g->block_count) break;
    /* Blocks before one that trapped still run, so that the first trap is always found. */
    uint64_t trap = __atomic_load_n(&g->trap_block, __ATOMIC_RELAXED);
    if (g->sequential ? trap != UINT64_MAX : n > trap) break;
    run_one(br, g->sequential ? nth_cluster(g, n) : n);
    if (br->trapped || br->unsupported) break;
  }
  plumb_block_destroy_run(br);
  free(br);
}

static void run_parallel(plumb_grid *g, uint64_t jobs) {
  plumb_parallel(jobs < g->block_count ? jobs : g->block_count, run_blocks, g);
}

/* Starts the blocks of a cluster in their places. */
static void start_cluster(plumb_grid *g, plumb_cluster *c, uint64_t index) {
  plumb_cluster_begin(c);
  for (uint32_t rank = 0; rank < c->count; rank++) {
    uint64_t block;
    plumb_cluster_block(g, index, rank, &block);
    c->blocks[rank].rank = rank;
    plumb_block_start(&c->blocks[rank], block);
  }
}

static bool cluster_ended(const plumb_cluster *c) {
  for (uint32_t i = 0; i < c->count; i++)
    if (c->blocks[i].live.count) return false;
  return true;
}

/* Gives a block a turn. True: it stops the run. */
static bool take_turn(plumb_block_run *br, plumb_idle *idle) {
  plumb_block_end end = plumb_block_continue(br, ORDERED_QUANTUM);
  if (end == PLUMB_BLOCK_YIELDED) return false;
  plumb_block_finish(br);
  *idle = (plumb_idle){0};
  return end == PLUMB_BLOCK_TRAPPED || br->trapped;
}

/* Blocks that may wait for each other: all resident at once as far as memory allows, each
 * a turn after the other; those of a cluster always together. */
static void run_ordered(plumb_grid *g) {
  uint64_t bytes = ((uint64_t)g->fn->slot_bytes + 64) * g->lanes + g->shared_bytes * 10ull + 65536;
  uint64_t limit = MAX_RESIDENT_BYTES / bytes, clusters = g->block_count / g->cluster_blocks;
  if (limit > MAX_RESIDENT_BLOCKS) limit = MAX_RESIDENT_BLOCKS;
  uint64_t resident = limit / g->cluster_blocks;
  if (resident > clusters) resident = clusters;
  if (resident < 1) resident = 1;
  uint32_t count = (uint32_t)resident * g->cluster_blocks;
  plumb_block_run *blocks = calloc(count, sizeof *blocks);
  plumb_cluster *places = calloc(resident, sizeof *places);
  if (!blocks || !places) abort();
  uint64_t next = 0;
  for (uint32_t i = 0; i < resident; i++) {
    places[i] = (plumb_cluster){
        .blocks = blocks + i * g->cluster_blocks, .count = g->cluster_blocks, .slot = i};
    for (uint32_t k = 0; k < g->cluster_blocks; k++) {
      plumb_block_create_run(&places[i].blocks[k], g);
      if (g->cluster_blocks > 1) places[i].blocks[k].cluster = &places[i];
    }
  }
  for (uint32_t i = 0; i < resident; i++) start_cluster(g, &places[i], nth_cluster(g, next++));
  plumb_idle idle = {0};
  bool stop = false;
  for (uint32_t running = (uint32_t)resident; running && !stop;) {
    for (uint32_t i = 0; i < resident && !stop; i++) {
      plumb_cluster *c = &places[i];
      if (cluster_ended(c)) continue;
      for (uint32_t k = 0; k < c->count && !stop; k++)
        if (c->blocks[k].live.count) stop = take_turn(&c->blocks[k], &idle);
      if (stop || !cluster_ended(c)) continue;
      if (next < clusters)
        start_cluster(g, c, nth_cluster(g, next++));
      else
        running--;
    }
    uint64_t unstarted = (clusters - next) * g->cluster_blocks;
    if (running && !stop && plumb_idle_look(&idle, blocks, count, true, unstarted))
      for (uint32_t i = 0; i < count; i++)
        if (blocks[i].trapped || blocks[i].unsupported) {
          plumb_block_finish(&blocks[i]);
          stop = true;
        }
  }
  for (uint32_t i = 0; i < count; i++) plumb_async_begin(&blocks[i]);
  for (uint32_t i = 0; i < count; i++) plumb_block_destroy_run(&blocks[i]);
  for (uint32_t i = 0; i < resident; i++) plumb_cluster_begin(&places[i]);
  free(blocks);
  free(places);
}

static uint64_t job_count(const plumb_run *run) {
  if (run->options.companions) return 1;
  if (run->options.jobs > 0) return (uint64_t)run->options.jobs;
  return plumb_core_count();
}

plumb_status plumb_grid_run(plumb_run *run, const plumb_function *fn, const plumb_launch *launch,
                            const uint8_t *params, const uint8_t *params_state, plumb_diag *diag) {
  PLUMB_TRY(check_limits(fn, launch, diag));
  const plumb_program *p = run->program;
  plumb_grid g = {.run = run,
                  .fn = fn,
                  .launch = *launch,
                  .params = params,
                  .params_state = params_state,
                  .trap_block = UINT64_MAX};
  g.lanes = launch->block[0] * launch->block[1] * launch->block[2];
  g.warps = (g.lanes + PLUMB_WARP_LANES - 1) / PLUMB_WARP_LANES;
  g.block_count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  g.races = run->options.check_races;
  PLUMB_TRY(plumb_cluster_size(&g, diag));
  uint64_t registers = (uint64_t)fn->slot_bytes * g.lanes;
  if (registers > MAX_REGISTER_BYTES)
    return plumb_fail(diag, PLUMB_LIMIT, NULL, 0, 0,
                      "kernel '%s' needs %llu bytes of registers a block; %llu are allowed",
                      fn->name, (unsigned long long)registers, MAX_REGISTER_BYTES);
  uint32_t *thread = malloc(3 * sizeof *thread * g.lanes);
  if (!thread) abort();
  for (uint32_t l = 0; l < g.lanes; l++) {
    thread[l] = l % launch->block[0];
    thread[g.lanes + l] = l / launch->block[0] % launch->block[1];
    thread[2 * g.lanes + l] = l / launch->block[0] / launch->block[1];
  }
  for (uint32_t i = 0; i < 3; i++) g.thread[i] = thread + i * g.lanes;
  uses u = {.program = p, .lanes = g.lanes};
  u.functions = calloc(p->function_count + 1, sizeof(bool));
  u.globals = calloc(p->global_count + 1, sizeof(bool));
  if (!u.functions || !u.globals) abort();
  scan(&u, fn);
  plumb_status status = lay_out_shared(&g, &u, diag);
  free(u.functions);
  free(u.globals);
  plumb_recall_look look = {0};
  if (status == PLUMB_OK && (u.more || !plumb_recall_replay(&g, &look))) {
    g.fences = u.fences;
    g.async = u.async || g.cluster_blocks > 1;
    g.parts = u.parts || g.cluster_blocks > 1;
    u.ordered |= g.cluster_blocks > 1;
    g.ordered = u.ordered && g.block_count > 1;
    g.one_timer = u.sequential || u.ordered;
    g.sequential = g.one_timer || run->options.companions;
    g.time = g.end_time = run->time;
    if (g.races && g.ordered) g.online = calloc(1, sizeof *g.online);
    g.finished = calloc(1, sizeof *g.finished);
    if (!g.finished || (g.races && g.ordered && !g.online)) abort();
    run->counters.launches++;
    if (g.ordered)
      run_ordered(&g);
    else
      run_parallel(&g, g.sequential ? 1 : job_count(run));
    if (run->status == PLUMB_OK) plumb_race_finish(&g);
    plumb_race_grid_destroy(&g);
    plumb_recall_keep(&g, &look);
    run->time = g.end_time;
  }
  free(thread);
  free(g.shared_offsets);
  free(g.shared_state);
  return status;
}

void plumb_host_run(plumb_run *run, const plumb_function *fn, const uint64_t *args) {
  uint32_t thread = 0;
  plumb_grid g = {.run = run,
                  .fn = fn,
                  .thread = {&thread, &thread, &thread},
                  .lanes = 1,
                  .warps = 1,
                  .block_count = 1,
                  .cluster = {1, 1, 1},
                  .cluster_blocks = 1,
                  .host = true,
                  .args = args,
                  .sequential = true,
                  .one_timer = true,
                  .time = run->time,
                  .trap_block = UINT64_MAX,
                  .launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}}};
  run_blocks(&g);
  run->time = g.end_time;
}

/* --- launches from host code --- */

static void stop_with(plumb_block_run *br, const plumb_strand *s, plumb_status status,
                      const char *what) {
  plumb_unsupported_at(br, s->frame, s->pc, what);
  br->unsupported_status = status;
}

/* Packs the arguments as the kernel's param space. */
static bool pack(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                 const plumb_function *fn, uint8_t *params, uint8_t *state) {
  const plumb_reg *operands = plumb_inst_operands(s->frame->fn, inst) + 7;
  for (size_t i = 0; i < fn->param_count; i++) {
    const plumb_param *param = &fn->params[i];
    plumb_dtype type = plumb_reg_is_const(operands[i])
                           ? br->program->consts[plumb_reg_const_index(operands[i])].type
                           : s->frame->fn->reg_types[operands[i]];
    unsigned bytes = plumb_dtype_bytes(type);
    if (bytes > param->size_bytes) bytes = param->size_bytes;
    memcpy(params + param->offset, plumb_operand(br, s->frame, operands[i]), bytes);
    if (br->undef && plumb_undef_get(s->frame, operands[i], 0))
      memset(state + param->offset, PLUMB_BYTE_UNINITIALISED, param->size_bytes);
  }
  return true;
}

bool plumb_exec_launch(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  const plumb_function *fn = br->program->functions[inst->target];
  if (!br->grid->host)
    return plumb_unsupported_at(br, s->frame, s->pc, "a launch from device code");
  const plumb_reg *operands = plumb_inst_operands(s->frame->fn, inst);
  plumb_launch launch = {0};
  for (uint32_t i = 0; i < 7; i++) {
    if (br->undef && !plumb_undef_check(br, s, operands[i], &s->lanes, "a launch dimension"))
      return false;
    uint64_t v = plumb_lane_bits(plumb_operand(br, s->frame, operands[i]), 8, 0);
    uint32_t cut = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v; /* over every limit: reported */
    if (i < 3)
      launch.grid[i] = cut;
    else if (i < 6)
      launch.block[i - 3] = cut;
    else
      launch.shared_bytes = v;
  }
  uint8_t *params = calloc(2, fn->param_bytes + 64u);
  if (!params) abort();
  uint8_t *state = params + fn->param_bytes + 64;
  memset(state, PLUMB_BYTE_INITIALISED, fn->param_bytes);
  plumb_diag diag = {0};
  if (pack(br, s, inst, fn, params, state)) {
    br->run->time = plumb_timer_now(br);
    plumb_status status = plumb_grid_run(br->run, fn, &launch, params, state, &diag);
    plumb_timer_raise(br, br->run->time);
    if (status != PLUMB_OK) stop_with(br, s, status, diag.message);
  }
  free(params);
  /* What stopped the kernel is recorded in the run: only leave. */
  if (br->run->trap.kind != PLUMB_TRAP_NONE || br->run->status != PLUMB_OK) br->trapped = true;
  return !br->trapped && !br->unsupported;
}

/* Clusters (PTX ISA 9.0, 2.2.2, 9.7.13.3, 9.7.9.23, 9.7.9.24): blocks that are resident
 * together, meet at barrier.cluster and reach each other's shared memory. */
#include "targets/cpu/async.h"

static uint32_t blocks_of(const plumb_block_run *br) {
  return br->cluster ? br->cluster->count : 1;
}

plumb_block_run *plumb_shared_owner(plumb_block_run *br, uint64_t address) {
  uint32_t rank = (uint32_t)(address >> PLUMB_RANK_SHIFT) & PLUMB_RANK_MASK;
  if (rank == 0 || rank - 1 == br->rank) return br;
  if (rank > blocks_of(br)) return NULL;
  plumb_block_run *other = &br->cluster->blocks[rank - 1];
  return other->live.count ? other : NULL;
}

uint64_t plumb_race_shared(plumb_block_run *br, uint64_t address, unsigned *window) {
  uint32_t rank = (uint32_t)(address >> PLUMB_RANK_SHIFT) & PLUMB_RANK_MASK;
  uint64_t base = plumb_window_base(PLUMB_WINDOW_SHARED);
  uint64_t offset = (address - base) & ~((uint64_t)PLUMB_RANK_MASK << PLUMB_RANK_SHIFT);
  if (blocks_of(br) == 1) return base + offset;
  *window = PLUMB_WINDOW_GLOBAL;
  uint64_t place = br->cluster->slot * br->cluster->count + (rank ? rank - 1 : br->rank);
  return base + ((place + 1) << 32) + offset;
}

/* --- addresses --- */

static bool map_lane(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                     uint32_t rank, uint64_t *out) {
  if (rank >= blocks_of(br)) {
    plumb_trap_at(br, PLUMB_TRAP_OUT_OF_BOUNDS, s->frame, s->pc, (int32_t)lane,
                  "rank %u in a cluster of %u blocks", rank, blocks_of(br));
    return false;
  }
  *out = plumb_shared_of_rank(address, rank);
  return true;
}

bool plumb_exec_map_block(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                          const plumb_lanes *on) {
  const plumb_function *fn = s->frame->fn;
  const plumb_reg *r = plumb_inst_operands(fn, inst);
  for (uint32_t i = 0; br->undef && i < inst->operands; i++)
    if (!plumb_undef_check(br, s, r[i], on, "an address")) return false;
  uint8_t *to = plumb_reg_lanes(br, s->frame, plumb_inst_results(fn, inst)[0]);
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    uint64_t address = plumb_lane_bits(plumb_operand(br, s->frame, r[0]), 8, l), out = 0;
    if (inst->op == PLUMB_OP_BLOCK_RANK) {
      uint32_t rank = (uint32_t)(address >> PLUMB_RANK_SHIFT) & PLUMB_RANK_MASK;
      uint32_t own = rank ? rank - 1 : br->rank;
      memcpy(to + (size_t)l * 4, &own, 4);
      continue;
    }
    uint32_t rank = (uint32_t)plumb_lane_bits(plumb_operand(br, s->frame, r[1]), 4, l);
    if (!map_lane(br, s, l, address, rank, &out)) return false;
    memcpy(to + (size_t)l * 8, &out, 8);
  }
  if (br->undef) plumb_undef_clear(s->frame, plumb_inst_results(fn, inst)[0], on);
  return true;
}

/* --- barrier.cluster --- */

/* Every lane that lives has arrived: the phase is over. */
static bool all_arrived(const plumb_cluster *c, const plumb_block_run *blocks) {
  for (uint32_t b = 0; b < c->count; b++)
    for (uint32_t l = 0; l < blocks[b].lanes; l++)
      if (plumb_lanes_has(&blocks[b].live, l) &&
          blocks[b].async->lanes[l].cluster_arrivals <= c->phase)
        return false;
  return true;
}

static bool misuse(plumb_block_run *br, const plumb_strand *s, uint32_t lane, const char *what) {
  return plumb_trap_at(br, PLUMB_TRAP_DIVERGENT_BARRIER, s->frame, s->pc, (int32_t)lane, "%s",
                       what);
}

static bool arrive(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  plumb_cluster *c = br->cluster;
  if (br->race) plumb_clock_tick(br);
  for (uint32_t l = s->lanes.lo; l < s->lanes.hi; l++) {
    if (!plumb_lanes_has(&s->lanes, l)) continue;
    uint64_t *arrivals = &br->async->lanes[l].cluster_arrivals;
    if (*arrivals > c->phase)
      return misuse(br, s, l, "barrier.cluster.arrive twice without a wait between");
    *arrivals = c->phase + 1;
    if (!br->race) continue;
    if (inst->flags & PLUMB_FLAG_RELAXED)
      plumb_clock_publish_fenced(br, l, &c->arriving);
    else
      plumb_clock_publish(br, l, &c->arriving);
  }
  br->counters.barriers++;
  br->changes++;
  s->pc++;
  return true;
}

/* A strand that waits polls, so that other blocks get their turn. */
static bool wait_for(plumb_block_run *br, plumb_strand *s) {
  plumb_cluster *c = br->cluster;
  plumb_block_run *blocks = c->count > 1 ? c->blocks : br;
  if (all_arrived(c, blocks)) {
    c->phase++;
    plumb_clock_join(&c->complete, &c->arriving);
    plumb_clock_clear(&c->arriving);
    br->changes++;
  }
  for (uint32_t l = s->lanes.lo; l < s->lanes.hi; l++) {
    if (!plumb_lanes_has(&s->lanes, l)) continue;
    uint64_t arrivals = br->async->lanes[l].cluster_arrivals;
    if (arrivals == 0 || arrivals < c->phase)
      return misuse(br, s, l, "barrier.cluster.wait without an arrive before");
    if (arrivals > c->phase) {
      s->polled = true;
      s->poll_pc = s->frame->pc_base + s->pc + 1;
      s->penalty++;
      if (br->quantum) br->quantum--;
      return true;
    }
  }
  for (uint32_t l = s->lanes.lo; br->race && l < s->lanes.hi; l++)
    if (plumb_lanes_has(&s->lanes, l)) plumb_clock_acquire(br, l, &c->complete);
  s->penalty = 0;
  s->pc++;
  return true;
}

bool plumb_exec_cluster_barrier(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst) {
  return inst->sub == 0 ? arrive(br, s, inst) : wait_for(br, s);
}

/* --- a cluster's life --- */

void plumb_cluster_begin(plumb_cluster *c) {
  c->phase = 0;
  plumb_clock_clear(&c->arriving);
  plumb_clock_clear(&c->complete);
}

void plumb_cluster_block(const plumb_grid *g, uint64_t cluster, uint32_t rank, uint64_t *out) {
  const uint32_t *grid = g->launch.grid, *size = g->cluster;
  uint64_t across = grid[0] / size[0], down = grid[1] / size[1];
  uint64_t x = cluster % across * size[0] + rank % size[0];
  uint64_t y = cluster / across % down * size[1] + rank / size[0] % size[1];
  uint64_t z = cluster / across / down * size[2] + rank / size[0] / size[1];
  *out = x + grid[0] * (y + grid[1] * z);
}

plumb_status plumb_cluster_size(plumb_grid *g, plumb_diag *diag) {
  const plumb_function *fn = g->fn;
  const plumb_launch *l = &g->launch;
  g->cluster_blocks = 1;
  for (int i = 0; i < 3; i++) {
    uint32_t required = fn->required_cluster[0] ? fn->required_cluster[i] : 0;
    uint32_t given = l->cluster[0] ? l->cluster[i] : 0;
    if (required && given && required != given)
      return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                        "launch of '%s': clusters of %u x %u x %u blocks, but the kernel requires "
                        "%u x %u x %u",
                        fn->name, l->cluster[0], l->cluster[1], l->cluster[2],
                        fn->required_cluster[0], fn->required_cluster[1], fn->required_cluster[2]);
    g->cluster[i] = given ? given : required ? required : 1;
    if (g->cluster[i] > PLUMB_MAX_CLUSTER_BLOCKS || l->grid[i] % g->cluster[i])
      return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                        "launch of '%s': a grid of %u x %u x %u blocks is not made of clusters "
                        "whose size along dimension %d is %u",
                        fn->name, l->grid[0], l->grid[1], l->grid[2], i, g->cluster[i]);
    g->cluster_blocks *= g->cluster[i];
  }
  if (g->cluster_blocks > PLUMB_MAX_CLUSTER_BLOCKS)
    return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                      "launch of '%s': clusters of %u blocks; at most %u are allowed", fn->name,
                      g->cluster_blocks, PLUMB_MAX_CLUSTER_BLOCKS);
  return PLUMB_OK;
}

/* What a launch does depends on its instructions, sizes, arguments and schedule, and on
 * the memory that it finds; all of these make the key. */
#include "targets/cpu/recall.h"

#include <stdlib.h>
#include <xxhash.h>

enum { BUCKETS = 256 };
#define MAX_KEPT_BYTES (512ull << 20)

/* An allocation as the launch left it. */
typedef struct change {
  uint32_t index;
  bool all_initialised;
  uint8_t *bytes; /* its data, then its state */
  uint64_t size_bytes;
} change;

typedef struct launch_done {
  plumb_digest key;
  change *changes;
  uint32_t change_count;
  plumb_counters counters; /* its own */
  uint64_t steps, time;    /* that it took */
  struct launch_done *next;
} launch_done;

struct plumb_recall {
  pthread_mutex_t lock;
  launch_done *buckets[BUCKETS];
  uint64_t kept_bytes;
  uint64_t taken; /* atomic */
};

static void *take(size_t count, size_t bytes) {
  void *p = calloc(count ? count : 1, bytes);
  if (!p) abort();
  return p;
}

plumb_recall *plumb_recall_create(void) {
  plumb_recall *r = take(1, sizeof *r);
  pthread_mutex_init(&r->lock, NULL);
  return r;
}

static void destroy_launch(launch_done *d) {
  for (uint32_t i = 0; i < d->change_count; i++) free(d->changes[i].bytes);
  free(d->changes);
  free(d);
}

void plumb_recall_destroy(plumb_recall *r) {
  if (!r) return;
  for (uint32_t b = 0; b < BUCKETS; b++)
    for (launch_done *d = r->buckets[b], *next; d; d = next) {
      next = d->next;
      destroy_launch(d);
    }
  pthread_mutex_destroy(&r->lock);
  free(r);
}

uint64_t plumb_recall_taken(const plumb_recall *r) {
  return __atomic_load_n(&r->taken, __ATOMIC_RELAXED);
}

/* --- the key --- */

static plumb_digest memory_digest(const plumb_allocation *a) {
  if (!a->live) return (plumb_digest){0};
  XXH128_hash_t data = XXH3_128bits(a->data, a->size_bytes), state = {0};
  if (!a->all_initialised) state = XXH3_128bits(a->state, a->size_bytes);
  uint64_t all[] = {data.low64,    data.high64,        state.low64,         state.high64,
                    a->size_bytes, a->all_initialised, a->owned_by_program, a->read_only};
  XXH128_hash_t h = XXH3_128bits(all, sizeof all);
  return (plumb_digest){h.low64, h.high64};
}

static plumb_digest *digest_memory(const plumb_machine *m) {
  plumb_digest *all = take(m->allocation_count, sizeof *all);
  for (uint32_t i = 0; i < m->allocation_count; i++)
    all[i] = memory_digest(plumb_allocation_at(m, i));
  return all;
}

static bool kernel_digest(const plumb_grid *g, plumb_digest *out) {
  const plumb_program *p = g->run->program;
  uint64_t *addresses = take(p->global_count, sizeof *addresses);
  for (size_t i = 0; i < p->global_count; i++)
    addresses[i] = p->globals[i].space == PLUMB_SPACE_SHARED ? g->shared_offsets[i]
                                                             : g->run->machine->global_addresses[i];
  bool known = plumb_kernel_digest(p, g->fn, addresses, out);
  free(addresses);
  return known;
}

static plumb_digest key_of(const plumb_grid *g, plumb_digest kernel, const plumb_digest *memory) {
  const plumb_launch *l = &g->launch;
  const plumb_run_options *o = &g->run->options;
  XXH128_hash_t params = XXH3_128bits(g->params, g->fn->param_bytes);
  XXH128_hash_t params_state = XXH3_128bits(g->params_state, g->fn->param_bytes);
  XXH128_hash_t shared = XXH3_128bits(g->shared_state, g->shared_bytes);
  XXH128_hash_t all_memory =
      XXH3_128bits(memory, g->run->machine->allocation_count * sizeof *memory);
  uint64_t words[] = {
      kernel.lo,
      kernel.hi,
      l->grid[0],
      l->grid[1],
      l->grid[2],
      l->block[0],
      l->block[1],
      l->block[2],
      l->cluster[0],
      l->cluster[1],
      l->cluster[2],
      l->shared_bytes,
      l->workspace,
      g->shared_bytes,
      shared.low64,
      shared.high64,
      params.low64,
      params.high64,
      params_state.low64,
      params_state.high64,
      all_memory.low64,
      all_memory.high64,
      o->seed,
      o->check_races,
      (uint64_t)o->model,
      o->companions,
      o->ignore_uninitialised,
  };
  XXH128_hash_t h = XXH3_128bits(words, sizeof words);
  return (plumb_digest){h.low64, h.high64};
}

static bool same(plumb_digest a, plumb_digest b) {
  return a.lo == b.lo && a.hi == b.hi;
}

/* What a run knows beside memory: values whose origin is an instruction of its own program. */
static bool has_secrets(const plumb_run *run) {
  return run->origins.count || run->leak_count || run->options.companions;
}

/* --- taking and keeping --- */

static const launch_done *find(plumb_recall *r, plumb_digest key) {
  pthread_mutex_lock(&r->lock);
  const launch_done *d = r->buckets[key.lo % BUCKETS];
  while (d && !same(d->key, key)) d = d->next;
  pthread_mutex_unlock(&r->lock);
  return d; /* never changed, and freed with all others */
}

bool plumb_recall_replay(plumb_grid *g, plumb_recall_look *look) {
  plumb_run *run = g->run;
  plumb_machine *m = run->machine;
  plumb_digest kernel;
  *look = (plumb_recall_look){0};
  if (!run->options.recall || has_secrets(run) || !kernel_digest(g, &kernel)) return false;
  plumb_digest *memory = digest_memory(m);
  plumb_digest key = key_of(g, kernel, memory);
  const launch_done *d = find(run->options.recall, key);
  uint64_t limit = plumb_step_limit(run);
  if (!d || d->steps > limit || run->steps > limit - d->steps) {
    *look = (plumb_recall_look){.known = true,
                                .key = key,
                                .memory = memory,
                                .allocations = m->allocation_count,
                                .counters = run->counters,
                                .steps = run->steps};
    run->counters = (plumb_counters){0}; /* those of the launch alone, until it has run */
    return false;
  }
  free(memory);
  for (uint32_t i = 0; i < d->change_count; i++) {
    const change *c = &d->changes[i];
    plumb_allocation *a = plumb_allocation_at(m, c->index);
    memcpy(a->data, c->bytes, c->size_bytes);
    memcpy(a->state, c->bytes + c->size_bytes, c->size_bytes);
    a->all_initialised = c->all_initialised;
  }
  plumb_counters_add(&run->counters, &d->counters);
  run->steps += d->steps;
  run->time += d->time;
  __atomic_add_fetch(&run->options.recall->taken, 1, __ATOMIC_RELAXED);
  return true;
}

static change change_of(uint32_t index, const plumb_allocation *a) {
  change c = {index, a->all_initialised, take(2, a->size_bytes), a->size_bytes};
  memcpy(c.bytes, a->data, a->size_bytes);
  memcpy(c.bytes + a->size_bytes, a->state, a->size_bytes);
  return c;
}

static void insert(plumb_recall *r, launch_done *d, uint64_t bytes) {
  pthread_mutex_lock(&r->lock);
  bool fits = bytes <= MAX_KEPT_BYTES - r->kept_bytes;
  if (fits) {
    r->kept_bytes += bytes;
    d->next = r->buckets[d->key.lo % BUCKETS];
    r->buckets[d->key.lo % BUCKETS] = d;
  }
  pthread_mutex_unlock(&r->lock);
  if (!fits) destroy_launch(d);
}

void plumb_recall_keep(plumb_grid *g, plumb_recall_look *look) {
  plumb_run *run = g->run;
  plumb_machine *m = run->machine;
  if (!look->known) return;
  plumb_counters own = run->counters;
  run->counters = look->counters;
  plumb_counters_add(&run->counters, &own);
  bool keep = run->trap.kind == PLUMB_TRAP_NONE && run->status == PLUMB_OK && !has_secrets(run) &&
              m->allocation_count == look->allocations;
  if (keep) {
    launch_done *d = take(1, sizeof *d);
    *d = (launch_done){.key = look->key,
                       .counters = own,
                       .steps = run->steps - look->steps,
                       .time = g->end_time - run->time};
    d->changes = take(look->allocations, sizeof *d->changes);
    uint64_t bytes = sizeof *d;
    for (uint32_t i = 0; i < look->allocations; i++) {
      const plumb_allocation *a = plumb_allocation_at(m, i);
      if (same(memory_digest(a), look->memory[i])) continue;
      d->changes[d->change_count++] = change_of(i, a);
      bytes += 2 * a->size_bytes;
    }
    insert(run->options.recall, d, bytes);
  }
  free(look->memory);
}

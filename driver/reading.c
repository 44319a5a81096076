/* Whether what a launch leaves depends on what PTX leaves open (ir/freedom.h): the launch is
 * tried in the other readings on the memory that it found, and undone. Under `plumb run` alone,
 * and only as long as that is cheap. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

#define LAUNCH_LIMIT 20000000u       /* lane-instructions of a launch that is tried */
#define MEMORY_LIMIT (64ull << 20)   /* bytes that kernels can write */
#define TEXT_LIMIT ((size_t)1 << 20) /* of a module that is decoded again */
#define TRIALS 3                     /* launches of one kernel */

/* Another thread of the program could write memory that it shares with kernels meanwhile. */
static bool is_only_thread(void) {
  DIR *tasks = opendir("/proc/self/task");
  size_t count = 0;
  for (const struct dirent *entry; tasks && (entry = readdir(tasks));)
    count += entry->d_name[0] != '.';
  if (tasks) closedir(tasks);
  return count == 1;
}

/* Whether the function, or one that it calls, `is` so. */
static bool reaches(const plumb_function *fn, bool (*is)(const plumb_function *fn, int which),
                    int which) {
  plumb_function **all = fn->program->functions;
  size_t count = fn->program->function_count, end = 1;
  bool *seen = calloc(count + 1, sizeof *seen), found = false;
  uint32_t *queue = calloc(count + 1, sizeof *queue);
  if (!seen || !queue) abort();
  seen[fn->index] = true;
  queue[0] = fn->index;
  for (size_t i = 0; i < end && !found; i++) {
    const plumb_function *f = all[queue[i]];
    found = is(f, which);
    for (size_t k = 0; k < f->inst_count; k++) {
      const plumb_inst *inst = &f->insts[k];
      if (inst->op != PLUMB_OP_CALL || seen[inst->target]) continue;
      seen[inst->target] = true;
      queue[end++] = inst->target;
    }
  }
  free(seen);
  free(queue);
  return found;
}

/* What a kernel takes from the heap or gives back, no image brings back. */
static bool uses_heap(const plumb_function *fn, int unused) {
  (void)unused;
  for (size_t i = 0; i < fn->inst_count; i++)
    if (fn->insts[i].op == PLUMB_OP_ALLOC || fn->insts[i].op == PLUMB_OP_FREE ||
        fn->insts[i].op == PLUMB_OP_CALL_INDIRECT)
      return true;
  return false;
}

static bool is_read_otherwise(const plumb_function *fn, int which) {
  return fn->other_readings >> which & 1;
}

/* There is nothing to say of readings that the kernel does not have, or that cannot be undone. */
static void pass_over(driver_function *f) {
  f->looked = true;
  if (reaches(f->fn, uses_heap, 0)) f->trials = TRIALS;
  for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++) {
    const plumb_program *p = f->module->counted[i];
    if (!p || !reaches(p->functions[f->fn->index], is_read_otherwise, i)) f->noted |= 1u << i;
  }
}

/* A program beside the module's own for each reading that it has. */
static void make_readings(driver_device *d, driver_module *m) {
  size_t length = strlen(m->text);
  m->has_readings = true;
  if (length > TEXT_LIMIT) return;
  for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++) {
    unsigned bit = 1u << i;
    plumb_status status;
    plumb_diag diag;
    plumb_program *p =
        driver_module_read(m->arena, m->text, length, d->freedom & ~bit, &status, &diag);
    if (!p) return;
    bool asked = (d->freedom & bit) != 0; /* back to the default: only the places are counted */
    plumb_program *counted =
        asked ? driver_module_read(m->arena, m->text, length, d->freedom & ~bit, &status, &diag)
              : p;
    if (!counted || !plumb_program_read_otherwise(counted, (plumb_freedom)i)) continue;
    if (plumb_program_finish(p, &diag) != PLUMB_OK) continue;
    if (counted != p && plumb_program_finish(counted, &diag) != PLUMB_OK) continue;
    m->counted[i] = counted;
    m->readings[i] = plumb_machine_add_reading(d->machine, p, m->loaded);
  }
}

plumb_memory_image *driver_trial_begin(driver_device *d, const driver_launch *l) {
  driver_function *f = l->function;
  driver_module *m = f->module;
  if (!d->notes || f->trials >= TRIALS) return NULL;
  if (!m->has_readings) make_readings(d, m);
  if (!f->looked) pass_over(f);
  if (f->trials >= TRIALS) return NULL;
  for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++)
    if (m->readings[i] && !(f->noted >> i & 1))
      return plumb_machine_take_image(d->machine, MEMORY_LIMIT, is_only_thread());
  return NULL;
}

/* Whether the reading leaves something else than `after`. Memory is then as it left it. */
static bool leaves_other(driver_device *d, const driver_launch *l, plumb_freedom which,
                         FILE *nowhere, const plumb_memory_image *before,
                         const plumb_memory_image *after) {
  plumb_run_result result = {0};
  plumb_diag diag;
  uint64_t seed = d->options.seed;
  if (which == PLUMB_FREEDOM_ORDER) seed += d->freedom >> PLUMB_FREEDOM_ORDER & 1 ? -1ull : 1;
  if (!plumb_machine_put_image(d->machine, before)) return false;
  plumb_status status =
      driver_launch_once(d, l, l->function->module->readings[which], seed, nowhere, &result, &diag);
  if (status != PLUMB_OK) return false;
  if (result.trap.kind != PLUMB_TRAP_NONE) /* a wait without an end is no legal reading */
    return which != PLUMB_FREEDOM_TRY_WAIT || result.trap.kind != PLUMB_TRAP_DEADLOCK;
  plumb_memory_image *left = plumb_machine_take_image(d->machine, MEMORY_LIMIT, true);
  bool same = !left || plumb_memory_image_same(left, after);
  plumb_memory_image_destroy(left);
  return !same;
}

static void note(const driver_device *d, driver_function *f, plumb_freedom which) {
  plumb_arena *arena = plumb_arena_create();
  f->noted |= 1u << which;
  fflush(stdout);
  fprintf(stderr, "plumb: note: what kernel '%s' leaves depends on %s\n", f->fn->name,
          plumb_freedom_sentence(arena, d->freedom, which, ""));
  plumb_arena_destroy(arena);
}

void driver_trial_end(driver_device *d, const driver_launch *l, plumb_memory_image *before,
                      const plumb_run_result *result) {
  driver_function *f = l->function;
  FILE *nowhere = NULL;
  plumb_memory_image *after = NULL;
  if (before && result->counters.lane_instructions <= LAUNCH_LIMIT &&
      (nowhere = fopen("/dev/null", "w")))
    after = plumb_machine_take_image(d->machine, MEMORY_LIMIT, true);
  f->trials += after != NULL;
  for (int i = 0; after && i < PLUMB_FREEDOM_COUNT; i++)
    if (f->module->readings[i] && !(f->noted >> i & 1) &&
        leaves_other(d, l, (plumb_freedom)i, nowhere, before, after))
      note(d, f, (plumb_freedom)i);
  if (after) plumb_machine_put_image(d->machine, after);
  plumb_memory_image_destroy(after);
  plumb_memory_image_destroy(before);
  if (nowhere) fclose(nowhere);
}

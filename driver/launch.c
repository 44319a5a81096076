/* One launch: its configuration, its parameters, its run, its fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

/* CUDA C programming guide, table of technical specifications. */
static int check_configuration(const driver_device *d, const driver_function *f,
                               const uint32_t grid[3], const uint32_t block[3],
                               uint64_t shared_bytes) {
  static const uint32_t grid_max[3] = {2147483647u, 65535u, 65535u},
                        block_max[3] = {1024, 1024, 64};
  for (int i = 0; i < 3; i++)
    if (!grid[i] || grid[i] > grid_max[i] || !block[i] || block[i] > block_max[i])
      return DRIVER_INVALID_CONFIGURATION;
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
  if (threads > 1024) return DRIVER_INVALID_CONFIGURATION;
  if (threads > (uint64_t)driver_function_max_threads(f)) return DRIVER_OUT_OF_RESOURCES;
  for (int i = 0; i < 3; i++)
    if (f->fn->required_threads[0] && f->fn->required_threads[i] != block[i])
      return DRIVER_INVALID_VALUE;
  int optin = d->arch->shared_optin_kib << 10;
  if (shared_bytes > (uint64_t)f->max_dynamic_bytes ||
      shared_bytes + f->shared_bytes > (uint64_t)optin)
    return DRIVER_INVALID_VALUE;
  return DRIVER_OK;
}

/* CUDA C++ programming guide, 5.2.1: the grid is made of whole clusters, which are those that the
 * kernel was compiled for and no larger than it may have. */
static int check_cluster(const driver_device *d, const driver_function *f, const uint32_t grid[3],
                         const uint32_t given[3]) {
  const uint32_t *required = f->fn->required_cluster;
  const uint32_t *size = given[0] ? given : required;
  uint64_t blocks = 1;
  if (!size[0]) return DRIVER_OK;
  for (int i = 0; i < 3; i++) {
    if (required[0] && given[0] && required[i] != given[i]) return DRIVER_INVALID_CLUSTER;
    if (!size[i] || grid[i] % size[i]) return DRIVER_INVALID_CLUSTER;
    blocks *= size[i];
  }
  return blocks > (uint64_t)driver_cluster_most(d, f) && blocks > 1 ? DRIVER_INVALID_CLUSTER
                                                                    : DRIVER_OK;
}

int driver_launch_make(driver_device *d, driver_function *f, const uint32_t grid[3],
                       const uint32_t block[3], uint64_t shared_bytes,
                       const driver_launch_options *options, void *const *params,
                       const void *buffer, size_t buffer_bytes, driver_launch *out) {
  const plumb_function *fn = f->fn;
  DRIVER_TRY(check_configuration(d, f, grid, block, shared_bytes));
  if (options && options->cooperative) {
    int resident = driver_occupancy(d, f, (int)(block[0] * block[1] * block[2]), shared_bytes);
    if ((uint64_t)grid[0] * grid[1] * grid[2] >
        (uint64_t)resident * (uint64_t)d->arch->multiprocessors)
      return DRIVER_COOPERATIVE_TOO_LARGE;
  }
  if (fn->param_bytes && !params && (!buffer || buffer_bytes < fn->param_bytes))
    return DRIVER_INVALID_VALUE;
  *out = (driver_launch){.function = f, .shared_bytes = shared_bytes};
  if (options) {
    out->cooperative = options->cooperative;
    memcpy(out->cluster, options->cluster, sizeof out->cluster);
  }
  DRIVER_TRY(check_cluster(d, f, grid, out->cluster));
  memcpy(out->grid, grid, sizeof out->grid);
  memcpy(out->block, block, sizeof out->block);
  out->params = calloc(1, fn->param_bytes + 1u);
  if (!out->params) return DRIVER_OUT_OF_MEMORY;
  if (!params && fn->param_bytes) memcpy(out->params, buffer, fn->param_bytes);
  for (size_t i = 0; params && i < fn->param_count; i++)
    if (fn->params[i].size_bytes)
      memcpy(out->params + fn->params[i].offset, params[i], fn->params[i].size_bytes);
  return DRIVER_OK;
}

/* What hardware returns for a fault of the kind; what it would not notice (a race, a value
 * that was never written) is a launch failure. */
static int error_of(const plumb_trap *t) {
  switch (t->kind) {
    case PLUMB_TRAP_OUT_OF_BOUNDS:
    case PLUMB_TRAP_READ_ONLY:
      return DRIVER_ILLEGAL_ADDRESS;
    case PLUMB_TRAP_MISALIGNED:
      return DRIVER_MISALIGNED;
    case PLUMB_TRAP_WRONG_SPACE:
      return DRIVER_INVALID_SPACE;
    case PLUMB_TRAP_ASSERT:
      return t->message && strncmp(t->message, "assertion", 9) == 0 ? DRIVER_ASSERT
                                                                    : DRIVER_LAUNCH_FAILED;
    case PLUMB_TRAP_STACK_OVERFLOW:
      return DRIVER_STACK_ERROR;
    case PLUMB_TRAP_DEADLOCK:
    case PLUMB_TRAP_STEP_LIMIT:
      return DRIVER_LAUNCH_TIMEOUT;
    default:
      return DRIVER_LAUNCH_FAILED;
  }
}

/* The workspace that a cooperative grid's barrier counts in (%envreg1 and 2). */
#define WORKSPACE_BYTES 64

static plumb_launch launch_of(const driver_launch *l) {
  plumb_launch launch = {.shared_bytes = l->shared_bytes};
  memcpy(launch.grid, l->grid, sizeof launch.grid);
  memcpy(launch.block, l->block, sizeof launch.block);
  memcpy(launch.cluster, l->cluster, sizeof launch.cluster);
  return launch;
}

plumb_status driver_launch_once(driver_device *d, const driver_launch *l, plumb_module *module,
                                uint64_t seed, FILE *print_to, plumb_run_result *out_result,
                                plumb_diag *diag) {
  const plumb_function *fn = l->function->fn;
  plumb_launch launch = launch_of(l);
  plumb_run_options options = d->options;
  options.seed = seed;
  options.print_to = print_to;
  plumb_machine_select(d->machine, module);
  if (l->cooperative) {
    launch.workspace = plumb_machine_alloc(d->machine, WORKSPACE_BYTES, 256, "grid barrier");
    plumb_machine_fill(d->machine, launch.workspace, 0, 1, WORKSPACE_BYTES, NULL);
  }
  plumb_status status = plumb_machine_launch(d->machine, fn->name, &launch, l->params,
                                             fn->param_bytes, &options, out_result, diag);
  if (launch.workspace) plumb_machine_free(d->machine, launch.workspace, NULL);
  return status;
}

int driver_launch_run(driver_device *d, const driver_launch *l) {
  const driver_function *f = l->function;
  driver_context *context = driver_context_now(d);
  if (context->fault) return context->fault;
  plumb_run_result result = {0};
  plumb_diag diag = {0};
  plumb_memory_image *before = driver_trial_begin(d, l);
  plumb_status status =
      driver_launch_once(d, l, f->module->loaded, d->options.seed, stdout, &result, &diag);
  if (status != PLUMB_OK) {
    char sentence[1400];
    plumb_diag_format(&diag, sentence, sizeof sentence);
    fflush(stdout);
    fprintf(stderr, "plumb: launch of '%s' failed: %s\n", f->fn->name, sentence);
    context->fault = status == PLUMB_UNSUPPORTED ? DRIVER_NOT_SUPPORTED
                     : status == PLUMB_LIMIT     ? DRIVER_OUT_OF_RESOURCES
                                                 : DRIVER_LAUNCH_FAILED;
  } else if (result.trap.kind != PLUMB_TRAP_NONE) {
    plumb_launch launch = launch_of(l);
    driver_report(f->module, &launch, &result.trap);
    context->fault = error_of(&result.trap);
  }
  if (context->fault)
    plumb_memory_image_destroy(before);
  else
    driver_trial_end(d, l, before, &result);
  if (result.time > d->options.time) d->options.time = result.time;
  return context->fault;
}

driver_launch_options driver_launch_attributes(const abi_launch_attribute *list, unsigned count) {
  driver_launch_options options = {0};
  for (unsigned i = 0; i < count; i++) {
    if (list[i].id == ABI_ATTRIBUTE_COOPERATIVE) options.cooperative = list[i].value.cooperative;
    if (list[i].id == ABI_ATTRIBUTE_CLUSTER)
      memcpy(options.cluster, list[i].value.cluster, sizeof options.cluster);
  }
  return options;
}

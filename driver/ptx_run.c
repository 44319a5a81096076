#include "driver/ptx_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

/* --- texts that were decoded before --- */

#define CACHE_SIZE 512

typedef struct cached {
  char *text;
  uint64_t hash;
  driver_module *module;
} cached;
static cached cache[CACHE_SIZE];
static size_t cache_next;

static uint64_t hash_of(const char *text) {
  uint64_t h = 0xcbf29ce484222325u;
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
  return h;
}

static int find_module(driver_device *d, const char *text, driver_module **out) {
  uint64_t hash = hash_of(text);
  for (size_t i = 0; i < CACHE_SIZE; i++)
    if (cache[i].text && cache[i].hash == hash && strcmp(cache[i].text, text) == 0) {
      *out = cache[i].module;
      return DRIVER_OK;
    }
  plumb_diag diag = {0};
  int error = driver_module_load_text(d, text, strlen(text), NULL, 0, out, &diag);
  if (error) {
    char sentence[1400];
    plumb_diag_format(&diag, sentence, sizeof sentence);
    fprintf(stderr, "plumb: ptx_run: %s\n", sentence);
    return error;
  }
  cached *slot = &cache[cache_next++ % CACHE_SIZE];
  if (slot->text) {
    driver_module_unload(d, slot->module);
    free(slot->text);
  }
  *slot = (cached){strdup(text), hash, *out};
  return DRIVER_OK;
}

/* --- memory that the kernel may reach --- */

typedef struct range {
  uint64_t start, size_bytes;
  uint64_t address; /* for the kernel; 0: made for one call, not yet */
} range;
static range *ranges;
static size_t range_count, range_capacity;

EXPORT int plumb_ptx_register(void *address, size_t size_bytes) {
  DRIVER_CALL;
  uint64_t start = (uint64_t)(uintptr_t)address;
  if (!address || !size_bytes) return DRIVER_INVALID_VALUE;
  for (size_t i = 0; i < range_count; i++)
    if (ranges[i].start == start) return DRIVER_ALREADY_REGISTERED;
  if (range_count == range_capacity) {
    range_capacity = range_capacity ? range_capacity * 2 : 64;
    ranges = realloc(ranges, range_capacity * sizeof *ranges);
    if (!ranges) abort(); /* as an arena: exhausted memory ends the process */
  }
  uint64_t there = plumb_machine_borrow(device->machine, address, size_bytes, "registered memory");
  if (!there) return DRIVER_OUT_OF_MEMORY;
  ranges[range_count++] = (range){start, size_bytes, there};
  return DRIVER_OK;
}

EXPORT int plumb_ptx_unregister(void *address) {
  DRIVER_CALL;
  for (size_t i = 0; i < range_count; i++)
    if (ranges[i].start == (uint64_t)(uintptr_t)address) {
      plumb_machine_free(device->machine, ranges[i].address, NULL);
      ranges[i] = ranges[--range_count];
      return DRIVER_OK;
    }
  return DRIVER_NOT_REGISTERED;
}

/* Bytes from `address` to the end of the writable mappings that hold it, one after another:
 * a buffer of which a part was advised (madvise) lies in several. 0 if none does. */
static uint64_t mapped_after(uint64_t address) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], mode[8];
  uint64_t start, end, at = address;
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, mode) == 3 && at >= start &&
        at < end && mode[0] == 'r' && mode[1] == 'w')
      at = end;
  if (maps) fclose(maps);
  return at - address;
}

static uint64_t length_at(uint64_t address) {
  uint64_t most = (1ull << 32) - (1ull << 20), bytes = mapped_after(address);
  return bytes < most ? bytes : most;
}

/* The kernel's address for a value, or the value itself if it is no pointer. *out_made is an
 * allocation to be freed after the run, or 0. */
static uint64_t translate(driver_device *d, uint64_t value, uint64_t *out_made) {
  *out_made = 0;
  for (size_t i = 0; i < range_count; i++)
    if (value - ranges[i].start < ranges[i].size_bytes)
      return ranges[i].address + (value - ranges[i].start);
  uint64_t bytes = length_at(value);
  if (!bytes) return value;
  *out_made = plumb_machine_borrow(d->machine, (void *)(uintptr_t)value, bytes, "an argument");
  return *out_made ? *out_made : value;
}

#define MAX_ARGS 512

EXPORT int ptx_run(const char *src, int nargs, void **args, int bx, int by, int bz, int gx, int gy,
                   int gz, int smem) {
  DRIVER_CALL;
  driver_module *m;
  uint64_t values[MAX_ARGS], made[MAX_ARGS];
  void *params[MAX_ARGS + 1];
  if (!src || nargs < 0 || nargs > MAX_ARGS || (nargs && !args) || smem < 0)
    return DRIVER_INVALID_VALUE;
  DRIVER_TRY(find_module(device, src, &m));
  if (!m->function_count) return DRIVER_NOT_FOUND;
  driver_function *f = &m->functions[0];
  if ((size_t)nargs != f->fn->param_count) {
    fprintf(stderr, "plumb: ptx_run: kernel '%s' takes %zu parameters, %d are given\n", f->fn->name,
            f->fn->param_count, nargs);
    return DRIVER_INVALID_VALUE;
  }
  for (int i = 0; i < nargs; i++) {
    values[i] = (uint64_t)(uintptr_t)args[i];
    made[i] = 0;
    /* One buffer given twice is one allocation. */
    int same = 0;
    while (same < i && args[same] != args[i]) same++;
    if (f->fn->params[i].size_bytes == 8)
      values[i] = same < i && f->fn->params[same].size_bytes == 8
                      ? values[same]
                      : translate(device, values[i], &made[i]);
    params[i] = &values[i];
  }
  uint32_t grid[3] = {(uint32_t)gx, (uint32_t)gy, (uint32_t)gz};
  uint32_t block[3] = {(uint32_t)bx, (uint32_t)by, (uint32_t)bz};
  driver_operation op = {.kind = DRIVER_LAUNCH};
  f->max_dynamic_bytes = smem;
  int error =
      driver_launch_make(device, f, grid, block, (uint64_t)smem, NULL, params, NULL, 0, &op.launch);
  if (error)
    fprintf(stderr, "plumb: ptx_run: kernel '%s', grid %d x %d x %d, block %d x %d x %d: %s\n",
            f->fn->name, gx, gy, gz, bx, by, bz, driver_error_text(error));
  else
    error = driver_submit(device, driver_stream_of(NULL), &op);
  driver_context_now(device)->fault = DRIVER_OK;
  for (int i = 0; i < nargs; i++)
    if (made[i]) plumb_machine_free(device->machine, made[i], NULL);
  return error;
}

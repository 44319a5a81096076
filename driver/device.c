/* The process's one device: its machine, its architecture, its lock, and what it reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

static driver_device the_device;
static pthread_once_t once = PTHREAD_ONCE_INIT;
__thread driver_context *driver_current;

static const driver_arch arches[] = {
#define X(...) {__VA_ARGS__},
#include "driver/arch.def"
#undef X
};
#define ARCH_COUNT (sizeof arches / sizeof *arches)
#define DEFAULT_ARCH 90

static const driver_arch *find_arch(int arch) {
  for (size_t i = 0; i < ARCH_COUNT; i++)
    if (arches[i].arch == arch) return &arches[i];
  return NULL;
}

/* "sm_90", "sm_90a", "90". */
static const driver_arch *choose_arch(const char *text) {
  if (!text || !*text) return find_arch(DEFAULT_ARCH);
  const driver_arch *found = find_arch(atoi(strncmp(text, "sm_", 3) == 0 ? text + 3 : text));
  if (found) return found;
  fprintf(stderr, "plumb: architecture '%s' is not known; sm_%d is used (known:", text,
          DEFAULT_ARCH);
  for (size_t i = 0; i < ARCH_COUNT; i++) fprintf(stderr, " sm_%d", arches[i].arch);
  fprintf(stderr, ")\n");
  return find_arch(DEFAULT_ARCH);
}

static uint64_t number_of(const char *name) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 0) : 0;
}

static void start(void) {
  driver_device *d = &the_device;
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&d->lock, &recursive);
  pthread_mutexattr_destroy(&recursive);
  d->arena = plumb_arena_create();
  d->machine = plumb_machine_create(d->arena);
  plumb_machine_separate(d->machine);
  d->arch = choose_arch(getenv("PLUMB_ARCH"));
  d->options = plumb_run_options_default();
  d->options.seed = number_of("PLUMB_SEED");
  d->options.jobs = (int)(number_of("PLUMB_JOBS") % 1024);
  d->options.step_limit = number_of("PLUMB_STEP_LIMIT");
  const char *model = getenv("PLUMB_MODEL"); /* else the reference reading */
  if (model) plumb_model_find(model, &d->options.model);
  const char *freedom = getenv("PLUMB_FREEDOM");
  d->notes = freedom != NULL;
  if (freedom && !plumb_freedom_parse(freedom, &d->freedom))
    fprintf(stderr, "plumb: PLUMB_FREEDOM '%s' is not known (known: %s)\n", freedom,
            plumb_freedom_names());
  d->options.seed += d->freedom >> PLUMB_FREEDOM_ORDER & 1;
  const char *allow = getenv("PLUMB_ALLOW");
  d->trust = allow && strstr(allow, "uninitialised");
  d->options.ignore_uninitialised = d->trust;
  if (allow && strstr(allow, "races")) d->options.check_races = false;
  d->primary.primary = true;
  d->heap_bytes = 8u << 20;
  d->stack_bytes = 1024;
  d->fifo_bytes = 1u << 20;
}

driver_device *driver_lock(void) {
  pthread_once(&once, start);
  pthread_mutex_lock(&the_device.lock);
  return &the_device;
}

void driver_unlock(driver_device **device) {
  pthread_mutex_unlock(&(*device)->lock);
}

driver_context *driver_context_now(driver_device *d) {
  return driver_current ? driver_current : &d->primary;
}

int driver_fault(driver_device *d) {
  return driver_context_now(d)->fault;
}

uint64_t driver_memory_total(const driver_device *d) {
  return (uint64_t)d->arch->memory_gib << 30;
}

/* Numbers of CUdevice_attribute, cuda.h of CUDA 13.0. Those of textures and surfaces are
 * the ones of sm_70 and later, CUDA C programming guide; using one is not supported. */
bool driver_attribute(const driver_device *d, int attribute, int *out) {
  const driver_arch *a = d->arch;
  static const int maxima[] = {/* 21 */ 131072, 131072, 65536, 16384, 16384,
                               16384,           32768,  32768, 2048};
  static const int layered[] = {/* 42 */ 32768, 2048, 1, 32768, 32768, 8192, 8192, 32768};
  static const int surfaces[] = {/* 52 */ 32768, 32768, 2046,  32768, 131072, 65536,
                                 16384,          16384, 16384, 32768, 2048,   32768,
                                 32768,          2048,  32768, 32768, 2046};
  static const int linear[] = {/* 69 */ 268435456, 131072, 65000, 2097120, 32768, 32768};
  if (attribute >= 21 && attribute < 30) return *out = maxima[attribute - 21], true;
  if (attribute >= 42 && attribute < 50) return *out = layered[attribute - 42], true;
  if (attribute >= 52 && attribute < 69) return *out = surfaces[attribute - 52], true;
  if (attribute >= 69 && attribute < 75) return *out = linear[attribute - 69], true;
  switch (attribute) {
    case 1: /* threads a block */
    case 2:
    case 3:
      *out = 1024;
      return true;
    case 4:
      *out = 64;
      return true;
    case 5: /* grid */
      *out = 2147483647;
      return true;
    case 6:
    case 7:
      *out = 65535;
      return true;
    case 8: /* shared bytes a block */
      *out = 48 << 10;
      return true;
    case 9: /* const bytes */
      *out = 64 << 10;
      return true;
    case 10: /* warp */
      *out = 32;
      return true;
    case 11: /* pitch */
      *out = 2147483647;
      return true;
    case 12: /* registers a block, a multiprocessor */
    case 82:
      *out = 65536;
      return true;
    case 13: /* kHz */
      *out = a->clock_mhz * 1000;
      return true;
    case 14: /* alignments of textures, surfaces, pitches */
    case 30:
      *out = 512;
      return true;
    case 51:
      *out = 32;
      return true;
    case 16:
      *out = a->multiprocessors;
      return true;
    case 33: /* PCI bus */
      *out = 1;
      return true;
    case 36:
      *out = a->memory_clock_mhz * 1000;
      return true;
    case 37:
      *out = a->bus_bits;
      return true;
    case 38:
      *out = a->l2_kib * 1024;
      return true;
    case 39:
      *out = a->threads;
      return true;
    case 40:
      *out = a->copy_engines;
      return true;
    case 15: /* what there is */
    case 19:
    case 31:
    case 32:
    case 41:
    case 78:
    case 79:
    case 80:
    case 83:
    case 89:
    case 90:
    case 95:
    case 99:
    case 115:
      *out = 1;
      return true;
    case 75:
      *out = a->arch / 10;
      return true;
    case 76:
      *out = a->arch % 10;
      return true;
    case 77:
      *out = 32768;
      return true;
    case 81:
      *out = a->shared_kib * 1024;
      return true;
    case 87: /* throughput of single to double precision */
      *out = a->arch == 75 || a->arch % 10 ? 32 : 2;
      return true;
    case 97:
      *out = a->shared_optin_kib * 1024;
      return true;
    case 106:
      *out = a->blocks;
      return true;
    case 108: /* L2 bytes that may be set aside, and a window of addresses for them */
      *out = a->arch >= 80 ? a->l2_kib * 768 : 0;
      return true;
    case 109:
      *out = a->arch >= 80 ? 128 << 20 : 0;
      return true;
    case 111: /* shared bytes that a block's system part takes */
      *out = a->arch >= 80 ? 1024 : 0;
      return true;
    case 120: /* clusters */
      *out = a->arch >= 90;
      return true;
    case 134: /* NUMA node of the host: none */
      *out = -1;
      return true;
    default:
      *out = 0;
      return attribute > 0 && attribute <= 147;
  }
}

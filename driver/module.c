/* Images to modules: PTX is decoded once, its variables get memory, its kernels handles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "ir/ptx/fatbin.h"
#include "ir/ptx/ptx.h"

#define DEFAULT_DYNAMIC_BYTES (48 << 10)

/* --- what a kernel takes --- */

static uint32_t shared_of(const plumb_program *p, const plumb_function *fn, bool *seen_functions,
                          bool *seen_globals) {
  uint32_t bytes = 0;
  if (seen_functions[fn->index]) return 0;
  seen_functions[fn->index] = true;
  for (size_t i = 0; i < fn->inst_count; i++) {
    const plumb_inst *inst = &fn->insts[i];
    if (inst->op == PLUMB_OP_CALL)
      bytes += shared_of(p, p->functions[inst->target], seen_functions, seen_globals);
    if (inst->op != PLUMB_OP_ADDRESS || seen_globals[inst->imm]) continue;
    const plumb_global *g = &p->globals[inst->imm];
    seen_globals[inst->imm] = true;
    if (g->space == PLUMB_SPACE_SHARED && !g->dynamic)
      bytes = (bytes + g->align - 1) / g->align * g->align + (uint32_t)g->size_bytes;
  }
  return bytes;
}

/* A program's virtual registers say little about a machine's: this is the register file a
 * lane, bounded so that every launch that the kernel's own bounds allow does fit. */
int driver_function_registers(const driver_function *f) {
  uint32_t threads = f->fn->max_threads ? f->fn->max_threads : 1024;
  uint32_t most = 65536 / ((threads + 31) / 32 * 32), own = (f->fn->slot_bytes + 3) / 4;
  if (most > 255) most = 255;
  if (own < 16) own = 16;
  own = (own + 7) / 8 * 8;
  return (int)(own < most ? own : most);
}

int driver_function_max_threads(const driver_function *f) {
  return f->fn->max_threads && f->fn->max_threads < 1024 ? (int)f->fn->max_threads : 1024;
}

int driver_occupancy(const driver_device *d, const driver_function *f, int threads,
                     size_t dynamic_bytes) {
  const driver_arch *a = d->arch;
  if (threads <= 0 || threads > driver_function_max_threads(f)) return 0;
  int warps = (threads + 31) / 32;
  int blocks = a->blocks < a->threads / 32 / warps ? a->blocks : a->threads / 32 / warps;
  /* Registers are given to a warp in units of 256. */
  int a_warp = (driver_function_registers(f) * 32 + 255) / 256 * 256;
  int by_registers = 65536 / a_warp / warps;
  if (by_registers < blocks) blocks = by_registers;
  size_t shared = f->shared_bytes + dynamic_bytes + (a->arch >= 80 ? 1024 : 0);
  if (shared) {
    size_t by_shared = ((size_t)a->shared_kib << 10) / shared;
    if (by_shared < (size_t)blocks) blocks = (int)by_shared;
  }
  return blocks;
}

/* 8 blocks, which every device can schedule, or 16 where the program asked for it (CUDA C++
 * programming guide, 5.2.1). */
int driver_cluster_most(const driver_device *d, const driver_function *f) {
  return d->arch->arch < 90 ? 1 : f->non_portable_cluster ? 16 : 8;
}

int driver_cluster_occupancy(const driver_device *d, const driver_function *f, unsigned blocks,
                             int threads, size_t dynamic_bytes) {
  if (!blocks || blocks > (unsigned)driver_cluster_most(d, f)) return 0;
  int resident = driver_occupancy(d, f, threads, dynamic_bytes) * d->arch->multiprocessors;
  return resident / (int)blocks;
}

/* --- loading --- */

/* Where the text's `.target sm_N` goes on after "sm_"; NULL without one. */
static const char *target_of(const char *text) {
  static const char key[] = "\n.target sm_";
  const char *at = strstr(text, key);
  return at ? at + strlen(key) : NULL;
}

static void add_functions(driver_module *m) {
  const plumb_program *p = m->program;
  bool *functions = calloc(p->function_count + 1, sizeof(bool));
  bool *globals = calloc(p->global_count + 1, sizeof(bool));
  if (!functions || !globals) abort();
  m->functions = PLUMB_NEW_ARRAY(m->arena, driver_function, p->function_count);
  for (size_t i = 0; i < p->function_count; i++) {
    const plumb_function *fn = p->functions[i];
    if (fn->kind != PLUMB_KERNEL || fn->external) continue;
    memset(functions, 0, p->function_count);
    memset(globals, 0, p->global_count);
    driver_function *f = &m->functions[m->function_count++];
    *f = (driver_function){.module = m, .fn = fn, .carveout = -1};
    f->shared_bytes = shared_of(p, fn, functions, globals);
    f->max_dynamic_bytes = DEFAULT_DYNAMIC_BYTES - (int)f->shared_bytes;
    if (f->max_dynamic_bytes < 0) f->max_dynamic_bytes = 0;
    driver_handle_put(f, DRIVER_KIND_FUNCTION, f);
  }
  free(functions);
  free(globals);
}

plumb_program *driver_module_read(plumb_arena *arena, const char *text, size_t length,
                                  unsigned bits, plumb_status *out_status, plumb_diag *diag) {
  plumb_program *p = plumb_program_create(arena, "module");
  *out_status = plumb_ptx_decode(p, "module.ptx", text, length, diag);
  if (*out_status != PLUMB_OK) return NULL;
  for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++)
    if (bits >> i & 1) plumb_program_read_otherwise(p, (plumb_freedom)i);
  return p;
}

static int load_text(driver_device *d, plumb_arena *arena, const char *text, size_t length,
                     const char *const *twins, size_t twin_count, driver_module **out,
                     plumb_diag *diag) {
  driver_module *m = PLUMB_NEW(arena, driver_module);
  m->arena = arena;
  m->text = plumb_arena_copy_text(arena, text, length);
  plumb_status status;
  const char *target = target_of(m->text);
  m->ptx_arch = target ? (int)strtol(target, NULL, 10) : d->arch->arch;
  m->program = driver_module_read(arena, m->text, length, d->freedom, &status, diag);
  if (status == PLUMB_OK) status = plumb_program_finish(m->program, diag);
  if (status == PLUMB_OK)
    status = plumb_machine_add(d->machine, m->program, twins, twin_count, &m->loaded, diag);
  if (status != PLUMB_OK)
    return status == PLUMB_UNSUPPORTED ? DRIVER_NOT_SUPPORTED
           : status == PLUMB_LIMIT     ? DRIVER_OUT_OF_MEMORY
                                       : DRIVER_INVALID_PTX;
  add_functions(m);
  driver_handle_put(m, DRIVER_KIND_MODULE, m);
  *out = m;
  return DRIVER_OK;
}

int driver_module_load_text(driver_device *d, const char *text, size_t length,
                            const char *const *twins, size_t twin_count, driver_module **out,
                            plumb_diag *diag) {
  plumb_arena *arena = plumb_arena_create();
  int error = load_text(d, arena, text, length, twins, twin_count, out, diag);
  if (error) plumb_arena_destroy(arena);
  return error;
}

/* PTX for sm_90a runs on sm_90 alone, for sm_100f on its family; the rest on every later
 * architecture (CUDA C programming guide, 5.1.2). */
static bool runs_on(const char *text, int arch) {
  const char *target = target_of(text);
  char *end;
  if (!target) return true;
  long wanted = strtol(target, &end, 10);
  if (*end == 'a') return wanted == arch;
  if (*end == 'f') return wanted / 10 == arch / 10 && wanted <= arch;
  return wanted <= arch;
}

static int load_fatbin(driver_device *d, const void *image, const char *const *twins,
                       size_t twin_count, driver_module **out, plumb_diag *diag) {
  size_t size = plumb_fatbin_size(image);
  if (!size) {
    plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0, "the fat binary has no valid header");
    return DRIVER_INVALID_IMAGE;
  }
  for (size_t n = 0;; n++) {
    char *text;
    size_t length;
    plumb_arena *arena = plumb_arena_create();
    plumb_status status = plumb_fatbin_ptx_at(arena, "module", image, size, (uint32_t)d->arch->arch,
                                              n, &text, &length, diag);
    if (status == PLUMB_OK && !runs_on(text, d->arch->arch)) {
      plumb_arena_destroy(arena);
      continue;
    }
    int error = status == PLUMB_OK
                    ? driver_module_load_text(d, text, length, twins, twin_count, out, diag)
                : status == PLUMB_UNSUPPORTED ? DRIVER_NO_BINARY
                                              : DRIVER_INVALID_IMAGE;
    plumb_arena_destroy(arena);
    return error;
  }
}

int driver_module_load(driver_device *d, const void *image, const char *const *twins,
                       size_t twin_count, driver_module **out, plumb_diag *diag) {
  uint32_t magic;
  if (!image) return DRIVER_INVALID_VALUE;
  if (strnlen(image, sizeof magic) == sizeof magic || *(const unsigned char *)image >= 0x80 ||
      *(const unsigned char *)image == (PLUMB_FATBIN_MAGIC & 0xff)) {
    memcpy(&magic, image, sizeof magic);
    if (magic == PLUMB_FATBIN_WRAPPER_MAGIC) {
      const abi_fatbin_wrapper *wrapper = image;
      return load_fatbin(d, wrapper->data, twins, twin_count, out, diag);
    }
    if (magic == PLUMB_FATBIN_MAGIC) return load_fatbin(d, image, twins, twin_count, out, diag);
    if (memcmp(image, "\177ELF", 4) == 0) {
      plumb_fail(diag, PLUMB_UNSUPPORTED, NULL, 0, 0,
                 "the image is machine code (cubin); Plumbline runs PTX");
      return DRIVER_NO_BINARY;
    }
  }
  return driver_module_load_text(d, image, strlen(image), twins, twin_count, out, diag);
}

void driver_module_unload(driver_device *d, driver_module *m) {
  for (size_t i = 0; i < m->function_count; i++) driver_handle_drop(&m->functions[i]);
  driver_handle_drop(m);
  plumb_machine_remove(d->machine, m->loaded);
  plumb_arena_destroy(m->arena);
}

driver_function *driver_module_function(driver_module *m, const char *name) {
  for (size_t i = 0; i < m->function_count; i++)
    if (strcmp(m->functions[i].fn->name, name) == 0) return &m->functions[i];
  return NULL;
}

uint64_t driver_module_variable(driver_device *d, driver_module *m, const char *name,
                                uint64_t *out_size_bytes) {
  size_t index = plumb_program_find_global(m->program, name);
  if (index == SIZE_MAX) return 0;
  *out_size_bytes = m->program->globals[index].size_bytes;
  plumb_machine_select(d->machine, m->loaded);
  return plumb_machine_symbol(d->machine, name);
}

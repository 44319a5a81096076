/* nvcc's PTX for sm_90a of tests/unit/hopper/kernels.cu: right values, and a race where one
 * instruction that orders them is left out. Without a CUDA toolkit nothing is run. */
#include <stdlib.h>
#include <string.h>

#include "frontends/cuda.h"
#include "ir/ptx/ptx.h"
#include "ir/tensormap.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

enum { WORDS = 8192, K = 256, SIDE = 128 };

typedef struct row {
  const char *kernel;
  uint32_t grid[2], block;
  const char *without; /* the instruction that begins so is left out of the kernel */
  unsigned which;      /* the first (0), second, ... of them; 99: all */
  plumb_trap_kind trap;
} row;

static const row rows[] = {
    {"tensor_add", {1, 1}, 128, NULL, 0, PLUMB_TRAP_NONE},
    {"tensor_add", {1, 1}, 128, "fence.proxy.async", 1, PLUMB_TRAP_RACE},
    {"tensor_add", {1, 1}, 128, "bar.sync", 0, PLUMB_TRAP_RACE},
    {"tensor_add", {1, 1}, 128, "bar.sync", 1, PLUMB_TRAP_RACE},
    {"bulk_triple", {4, 1}, 128, NULL, 0, PLUMB_TRAP_NONE},
    {"bulk_triple", {4, 1}, 128, "fence.proxy.async", 1, PLUMB_TRAP_RACE},
    {"bulk_triple", {4, 1}, 128, "bar.sync", 1, PLUMB_TRAP_RACE},
    {"pipelined_sum", {1, 1}, 128, NULL, 0, PLUMB_TRAP_NONE},
    {"cluster_histogram", {2, 1}, 256, NULL, 0, PLUMB_TRAP_NONE},
    {"cluster_histogram", {2, 1}, 256, "barrier.cluster.wait", 1, PLUMB_TRAP_RACE},
    {"product", {2, 2}, 160, NULL, 0, PLUMB_TRAP_NONE},
    {"product", {2, 2}, 160, "wgmma.wait_group", 99, PLUMB_TRAP_RACE},
    {"product", {2, 2}, 160, "wgmma.fence", 99, PLUMB_TRAP_RACE},
    {"product", {2, 2}, 160, "bar.sync", 0, PLUMB_TRAP_RACE},
    {"product", {2, 2}, 160, "@!done bra.uni", 1, PLUMB_TRAP_RACE},
};

/* --- the kernel without an instruction --- */

static bool begins(const char *line, const char *what) {
  while (*line == ' ' || *line == '\t') line++;
  if (*line == '@' && *what != '@') {
    line = strchr(line, ' ');
    while (line && (*line == ' ' || *line == '\t')) line++;
  }
  return line && strncmp(line, what, strlen(what)) == 0;
}

static char *leave_out(plumb_arena *arena, const char *ptx, const row *r, unsigned *out_count) {
  char *text = plumb_arena_copy_string(arena, ptx);
  char *entry = strstr(text, plumb_arena_printf(arena, ".entry %s(", r->kernel));
  char *end = entry ? strstr(entry + 1, ".entry ") : NULL;
  unsigned seen = 0;
  *out_count = 0;
  for (char *line = entry; line;) {
    char *next = strchr(line, '\n');
    if (!next || (end && next > end)) break;
    if (begins(line, r->without) && (seen++ == r->which || r->which == 99)) {
      for (char *c = line; c < next; c++) *c = ' ';
      ++*out_count;
    }
    line = next + 1;
  }
  return text;
}

/* --- data and expected values --- */

static uint32_t in_word(uint32_t i) {
  return i * 2654435761u >> 20;
}
static float in_a(uint32_t row, uint32_t k) {
  return (float)((row * 3 + k * 5) % 7) - 3;
}
static float in_b(uint32_t column, uint32_t k) {
  return (float)((column * 2 + k * 3) % 5) - 2;
}

static void expect(const row *r, uint32_t *out) {
  for (uint32_t i = 0; i < WORDS; i++) out[i] = 0;
  if (strcmp(r->kernel, "tensor_add") == 0) {
    for (uint32_t i = 0; i < WORDS; i++) {
      uint32_t x = i % 64, y = i / 64;
      bool inside = i < 4096 && x >= 8 && x < 40 && y >= 4 && y < 12;
      out[i] = in_word(i) + (inside ? 1000 : 0);
    }
  } else if (strcmp(r->kernel, "bulk_triple") == 0) {
    for (uint32_t i = 0; i < 1024; i++) out[i] = 3 * in_word(i);
  } else if (strcmp(r->kernel, "pipelined_sum") == 0) {
    for (uint32_t i = 0; i < 1024; i++) out[(i % 128) ^ 37] += in_word(i);
  } else if (strcmp(r->kernel, "cluster_histogram") == 0) {
    for (uint32_t i = 0; i < 512; i++) out[in_word(i) & 127]++;
  }
}

static void check_product(const row *r, const float *c) {
  for (uint32_t i = 0; i < SIDE * SIDE; i++) {
    float sum = 0;
    for (uint32_t k = 0; k < K; k++) sum += in_a(i / SIDE, k) * in_b(i % SIDE, k);
    CHECK(c[i] == sum, "%s: (%u, %u) is %g, wanted %g", r->kernel, i / SIDE, i % SIDE, (double)c[i],
          (double)sum);
    if (c[i] != sum) break;
  }
}

static plumb_tensormap matrix_map(uint64_t address) {
  return (plumb_tensormap){.address = address,
                           .rank = 2,
                           .type = PLUMB_TENSORMAP_F16,
                           .swizzle = PLUMB_SWIZZLE_128B,
                           .dims = {K, SIDE},
                           .strides_bytes = {K * 2},
                           .box = {64, 64},
                           .element_strides = {1, 1}};
}

/* --- one launch --- */

typedef struct memory {
  uint64_t in, out, a, b, c;
} memory;

static memory fill(plumb_machine *m, plumb_diag *diag) {
  static uint32_t in[WORDS], zero[SIDE * SIDE];
  static uint16_t a[SIDE * K], b[SIDE * K];
  for (uint32_t i = 0; i < WORDS; i++) in[i] = in_word(i);
  for (uint32_t i = 0; i < SIDE * K; i++) {
    a[i] = (uint16_t)plumb_dtype_from_double(PLUMB_F16, (double)in_a(i / K, i % K));
    b[i] = (uint16_t)plumb_dtype_from_double(PLUMB_F16, (double)in_b(i / K, i % K));
  }
  memory at = {
      plumb_machine_alloc(m, sizeof in, 256, "in"), plumb_machine_alloc(m, sizeof in, 256, "out"),
      plumb_machine_alloc(m, sizeof a, 256, "a"), plumb_machine_alloc(m, sizeof b, 256, "b"),
      plumb_machine_alloc(m, sizeof zero, 256, "c")};
  plumb_machine_write(m, at.in, in, sizeof in, diag);
  plumb_machine_write(m, at.out, zero, sizeof in, diag);
  plumb_machine_write(m, at.a, a, sizeof a, diag);
  plumb_machine_write(m, at.b, b, sizeof b, diag);
  plumb_machine_write(m, at.c, zero, sizeof zero, diag);
  return at;
}

static size_t arguments(const row *r, const memory *at, uint8_t *out) {
  if (strcmp(r->kernel, "tensor_add") == 0) {
    plumb_tensormap map = {.address = at->in,
                           .rank = 2,
                           .type = PLUMB_TENSORMAP_S32,
                           .dims = {64, 64},
                           .strides_bytes = {256},
                           .box = {32, 8},
                           .element_strides = {1, 1}};
    plumb_tensormap_encode(&map, out);
    return 128;
  }
  if (strcmp(r->kernel, "product") != 0) {
    memcpy(out, &at->in, 8);
    memcpy(out + 8, &at->out, 8);
    return 16;
  }
  plumb_tensormap a = matrix_map(at->a), b = matrix_map(at->b);
  int32_t parts = K / 64;
  plumb_tensormap_encode(&a, out);
  plumb_tensormap_encode(&b, out + 128);
  memcpy(out + 256, &at->c, 8);
  memcpy(out + 264, &parts, 4);
  return 268;
}

static void run(const row *r, const char *ptx, uint64_t seed) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  unsigned left_out = 0;
  char *text =
      r->without ? leave_out(arena, ptx, r, &left_out) : plumb_arena_copy_string(arena, ptx);
  CHECK(!r->without || left_out, "%s: no `%s`", r->kernel, r->without);
  plumb_program *p = plumb_program_create(arena, "kernels");
  plumb_status status = plumb_ptx_decode(p, "kernels.ptx", text, strlen(text), &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  plumb_machine *m = plumb_machine_create(arena);
  memory at = fill(m, &diag);
  uint8_t args[512];
  size_t bytes = arguments(r, &at, args);
  plumb_run_options options = plumb_run_options_default();
  options.seed = seed;
  plumb_launch launch = {.grid = {r->grid[0], r->grid[1], 1}, .block = {r->block, 1, 1}};
  plumb_run_result result = {0};
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, r->kernel, &launch, args, bytes, &options, &result, &diag);
  CHECK(status == PLUMB_OK, "%s: %d: %s", r->kernel, diag.line, diag.message);
  CHECK(result.trap.kind == r->trap,
        "%s without `%s` (seed %llu): trap %s, wanted %s: %s (line %d)", r->kernel,
        r->without ? r->without : "", (unsigned long long)seed, plumb_trap_text(result.trap.kind),
        plumb_trap_text(r->trap), result.trap.message ? result.trap.message : "-",
        result.trap.location.line);
  if (status == PLUMB_OK && r->trap == PLUMB_TRAP_NONE) {
    static uint32_t got[WORDS], want[WORDS];
    static float c[SIDE * SIDE];
    bool in_place = strcmp(r->kernel, "tensor_add") == 0;
    plumb_machine_read(m, in_place ? at.in : at.out, got, NULL, sizeof got, &diag);
    plumb_machine_read(m, at.c, c, NULL, sizeof c, &diag);
    expect(r, want);
    bool is_product = strcmp(r->kernel, "product") == 0;
    if (is_product) check_product(r, c);
    for (uint32_t i = 0; !is_product && i < WORDS; i++) {
      CHECK(got[i] == want[i], "%s: word %u is %u, wanted %u", r->kernel, i, got[i], want[i]);
      if (got[i] != want[i]) break;
    }
  }
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  static const char *const flags[] = {"-std=c++17"};
  plumb_cuda_options options = {.arch = "sm_90a", .flags = flags, .flag_count = 1};
  if (!plumb_cuda_toolkit(arena)) {
    printf("no CUDA toolkit: nothing is run\n");
    plumb_arena_destroy(arena);
    return 0;
  }
  char *ptx = NULL;
  size_t length = 0;
  plumb_status status =
      plumb_cuda_to_ptx(arena, &options, "tests/unit/hopper/kernels.cu", &ptx, &length, &diag);
  CHECK(status == PLUMB_OK, "%s", diag.message);
  for (size_t i = 0; status == PLUMB_OK && i < sizeof rows / sizeof rows[0]; i++)
    for (uint64_t seed = 0; seed < 2; seed++) run(&rows[i], ptx, seed);
  plumb_arena_destroy(arena);
  return check_finish();
}

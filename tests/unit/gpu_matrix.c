/* gpu.subgroup_mma_*, executed: products of small integers, which are exact, against plain
 * sums. */
#include "ir/mlir/mlir.h"

#include <string.h>

#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

/* A(i, k) = (i + 2k) % 7 - 3, B(k, j) = (3k + j) % 5 - 2, row by row; C(i, j) = i - j. */
enum { ROWS = 16 };

/* k(%a, %b, %c): one subgroup; `type` of A and B, `sum` of C. */
#define KERNEL(type, sum, body) \
  "module attributes {gpu.container_module} {\ngpu.module @m {\n" \
  "gpu.func @k(%a: memref<16x16x" type ">, %b: memref<16x16x" type ">, %c: memref<16x16x" sum \
  ">) kernel {\n  %i = arith.constant 0 : index\n  %one = arith.constant 1 : index\n" body \
  "  gpu.return\n}\n}\n}\n"
#define LOAD_AS(name, memref, type, stored, use, how) \
  "  %" name " = gpu.subgroup_mma_load_matrix %" memref "[%i, %i] {leadDimension = 16 : index" how \
  "} : memref<16x16x" stored "> -> !gpu.mma_matrix<16x16x" type ", \"" use "\">\n"
#define LOAD(name, memref, type, use, how) LOAD_AS(name, memref, type, type, use, how)
#define COMPUTE(a, type, sum, how) \
  "  %d = gpu.subgroup_mma_compute %" a ", %y, %z" how " : !gpu.mma_matrix<16x16x" type \
  ", \"AOp\">, !gpu.mma_matrix<16x16x" type ", \"BOp\"> -> !gpu.mma_matrix<16x16x" sum \
  ", \"COp\">\n"
#define STORE(name, sum, how) \
  "  gpu.subgroup_mma_store_matrix %" name ", %c[%i, %i] {leadDimension = 16 : index" how \
  "} : !gpu.mma_matrix<16x16x" sum ", \"COp\">, memref<16x16x" sum ">\n"

static const char product[] = KERNEL(
    "f16", "f32",
    LOAD("x", "a", "f16", "AOp", "") LOAD("y", "b", "f16", "BOp", "")
        LOAD("z", "c", "f32", "COp", "") COMPUTE("x", "f16", "f32", "") STORE("d", "f32", ""));
static const char turned[] =
    KERNEL("f16", "f32",
           LOAD("x", "a", "f16", "AOp", ", transpose") LOAD("y", "b", "f16", "BOp", "")
               LOAD("z", "c", "f32", "COp", "")
                   COMPUTE("x", "f16", "f32", " {a_transpose}") "  gpu.barrier\n" STORE(
                       "d", "f32", ", transpose"));
/* The matrix of twos minus C, negated, at least 1. */
static const char elementwise[] = KERNEL(
    "f16", "f32",
    LOAD("z", "c", "f32", "COp",
         "") "  %v = arith.constant 2.0 : f32\n  %w = arith.constant 1.0 : f32\n"
             "  %two = gpu.subgroup_mma_constant_matrix %v : !gpu.mma_matrix<16x16xf32, \"COp\">\n"
             "  %low = gpu.subgroup_mma_constant_matrix %w : !gpu.mma_matrix<16x16xf32, \"COp\">\n"
             "  %s = gpu.subgroup_mma_elementwise subf %two, %z : (!gpu.mma_matrix<16x16xf32, "
             "\"COp\">, !gpu.mma_matrix<16x16xf32, \"COp\">) -> !gpu.mma_matrix<16x16xf32, "
             "\"COp\">\n"
             "  %n = gpu.subgroup_mma_elementwise negatef %s : (!gpu.mma_matrix<16x16xf32, "
             "\"COp\">) -> !gpu.mma_matrix<16x16xf32, \"COp\">\n"
             "  %d = gpu.subgroup_mma_elementwise maxf %n, %low : (!gpu.mma_matrix<16x16xf32, "
             "\"COp\">, !gpu.mma_matrix<16x16xf32, \"COp\">) -> !gpu.mma_matrix<16x16xf32, "
             "\"COp\">\n" STORE("d", "f32", ""));
/* A sum in halves, extended; each lane's element 0 and 1 change places. */
static const char extended[] = KERNEL(
    "f16", "f32",
    LOAD("x", "a", "f16", "AOp", "") LOAD("y", "b", "f16", "BOp", "") LOAD("z", "b", "f16", "COp",
                                                                           "")
        COMPUTE("x", "f16", "f16", "")
            "  %e = gpu.subgroup_mma_elementwise extf %d : (!gpu.mma_matrix<16x16xf16, \"COp\">) "
            "-> !gpu.mma_matrix<16x16xf32, \"COp\">\n"
            "  %e0 = gpu.subgroup_mma_extract_thread_local %e[%i] : !gpu.mma_matrix<16x16xf32, "
            "\"COp\"> -> f32\n"
            "  %e1 = gpu.subgroup_mma_extract_thread_local %e[%one] : !gpu.mma_matrix<16x16xf32, "
            "\"COp\"> -> f32\n"
            "  %f = gpu.subgroup_mma_insert_thread_local %e1, %e[%i] : f32, "
            "!gpu.mma_matrix<16x16xf32, \"COp\"> -> !gpu.mma_matrix<16x16xf32, \"COp\">\n"
            "  %g = gpu.subgroup_mma_insert_thread_local %e0, %f[%one] : f32, "
            "!gpu.mma_matrix<16x16xf32, \"COp\"> -> !gpu.mma_matrix<16x16xf32, \"COp\">\n" STORE(
                "g", "f32", ""));
static const char integer[] = KERNEL(
    "i8", "i32",
    LOAD_AS("x", "a", "si8", "i8", "AOp", "") LOAD_AS("y", "b", "si8", "i8", "BOp", "")
        LOAD("z", "c", "i32", "COp", "") COMPUTE("x", "si8", "i32", "") STORE("d", "i32", ""));

static int a_of(int i, int k) {
  return (i + 2 * k) % 7 - 3;
}
static int b_of(int k, int j) {
  return (3 * k + j) % 5 - 2;
}
static int sum(int i, int j) {
  int s = 0;
  for (int k = 0; k < ROWS; k++) s += a_of(i, k) * b_of(k, j);
  return s;
}
static int is_product(int i, int j) {
  return sum(i, j) + i - j;
}
static int is_turned(int i, int j) {
  int s = j - i;
  for (int k = 0; k < ROWS; k++) s += a_of(k, j) * b_of(k, i);
  return s;
}
static int is_elementwise(int i, int j) {
  return i - j - 2 < 1 ? 1 : i - j - 2;
}
/* A lane's first two elements are columns 2q and 2q + 1 of rows below 8 and columns below 8. */
static int is_extended(int i, int j) {
  int column = i < 8 && j < 8 ? j ^ 1 : j;
  return sum(i, column) + b_of(i, column);
}

static const struct {
  const char *name, *text;
  unsigned in_bytes;
  bool is_float;
  int (*expected)(int i, int j);
} rows[] = {{"a product", product, 2, true, is_product},
            {"transposed", turned, 2, true, is_turned},
            {"elementwise", elementwise, 2, true, is_elementwise},
            {"extended", extended, 2, true, is_extended},
            {"integers", integer, 1, false, is_product}};

static uint32_t word_of(int x, bool is_float) {
  float f = (float)x;
  uint32_t bits = (uint32_t)x;
  if (is_float) memcpy(&bits, &f, 4);
  return bits;
}
static uint16_t half_of(int x) {
  static const uint16_t bits[] = {0, 0x3c00, 0x4000, 0x4200};
  return (uint16_t)(bits[x < 0 ? -x : x] | (x < 0 ? 0x8000 : 0));
}
static void put(uint8_t *at, unsigned bytes, int x) {
  uint16_t v = bytes == 2 ? half_of(x) : (uint16_t)(x & 0xff);
  memcpy(at, &v, bytes);
}

typedef struct descriptor {
  uint64_t base, aligned, offset, sizes[2], strides[2];
} descriptor;

static descriptor memref(plumb_machine *m, const void *data, uint64_t bytes, const char *name) {
  plumb_diag diag;
  uint64_t at = plumb_machine_alloc(m, bytes, 256, name);
  plumb_machine_write(m, at, data, bytes, &diag);
  return (descriptor){at, at, 0, {ROWS, ROWS}, {ROWS, 1}};
}

static void run(MlirContext mlir, size_t r) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  MlirModule module = {NULL};
  plumb_program *p = plumb_program_create(arena, rows[r].name);
  plumb_status status = plumb_mlir_parse(mlir, "gpu.mlir", rows[r].text, &module, &diag);
  if (status == PLUMB_OK) status = plumb_mlir_decode(p, module, NULL, &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  if (module.ptr) mlirModuleDestroy(module);
  plumb_machine *m = plumb_machine_create(arena);
  uint8_t a[ROWS * ROWS * 2], b[sizeof a];
  uint32_t c[ROWS * ROWS];
  unsigned bytes = rows[r].in_bytes;
  for (int i = 0; i < ROWS * ROWS; i++) {
    put(a + (unsigned)i * bytes, bytes, a_of(i / ROWS, i % ROWS));
    put(b + (unsigned)i * bytes, bytes, b_of(i / ROWS, i % ROWS));
    c[i] = word_of(i / ROWS - i % ROWS, rows[r].is_float);
  }
  descriptor args[3] = {memref(m, a, ROWS * ROWS * bytes, "a"),
                        memref(m, b, ROWS * ROWS * bytes, "b"), memref(m, c, sizeof c, "c")};
  plumb_run_options options = plumb_run_options_default();
  plumb_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
  plumb_run_result result = {0};
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, "k", &launch, args, sizeof args, &options, &result, &diag);
  CHECK(status == PLUMB_OK, "%s: %d: %s", rows[r].name, diag.line, diag.message);
  CHECK(result.trap.kind == PLUMB_TRAP_NONE, "%s: trap %s: %s", rows[r].name,
        plumb_trap_text(result.trap.kind), result.trap.message ? result.trap.message : "-");
  plumb_machine_read(m, args[2].base, c, NULL, sizeof c, &diag);
  for (int i = 0; i < ROWS * ROWS; i++) {
    uint32_t want = word_of(rows[r].expected(i / ROWS, i % ROWS), rows[r].is_float);
    CHECK(c[i] == want, "%s: word %d is 0x%x, wanted 0x%x", rows[r].name, i, c[i], want);
    if (c[i] != want) break;
  }
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  MlirContext mlir = plumb_mlir_context_create();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) run(mlir, i);
  mlirContextDestroy(mlir);
  return check_finish();
}

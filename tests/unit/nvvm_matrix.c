/* The nvvm dialect's matrix operations, executed: products of small integers, which are exact,
 * against plain sums. */
#include "ir/mlir/mlir.h"

#include <string.h>

#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

/* in: A (16 x 16 halves, row by row), then B at byte 512 (column by column, 8 or 16 columns of
 * 16). A(i, k) = (i + 2k) % 7 - 3, B(k, j) = (3k + j) % 5 - 2. */
enum { IN_BYTES = 1024, OUT_WORDS = 256, B_AT = 512 };

#define KERNEL(body) \
  "module attributes {gpu.container_module} {\n" \
  "llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : " \
  "!llvm.array<256 x i32>\n" \
  "llvm.func @k(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {\n" \
  "  %t = nvvm.read.ptx.sreg.tid.x : i32\n  %zero = llvm.mlir.constant(0.0 : f32) : f32\n" \
  "  %two = llvm.mlir.constant(2 : i32) : i32\n  %three = llvm.mlir.constant(3 : i32) : i32\n" \
  "  %all = llvm.mlir.constant(-1 : i32) : i32\n  %g = llvm.lshr %t, %two : i32\n  %q = llvm.and " \
  "%t, %three : i32\n" body "  llvm.return\n}\n}\n"
/* %d, four words of row g and g + 8 of 8 columns, to out. */
#define STORE_D(type) \
  "  %row = llvm.shl %g, %three : i32\n  %col = llvm.shl %q, %one : i32\n" \
  "  %at = llvm.add %row, %col : i32\n" \
  "  %p0 = llvm.getelementptr %out[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n" \
  "  %p1 = llvm.getelementptr %p0[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n" \
  "  %p2 = llvm.getelementptr %p0[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n" \
  "  %p3 = llvm.getelementptr %p0[65] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n" STORE_OF("0", type) \
      STORE_OF("1", type) STORE_OF("2", type) STORE_OF("3", type)
#define STORE_OF(i, type) \
  "  %e" i " = llvm.extractvalue %d[" i "] : !llvm.struct<(" type ", " type ", " type ", " type \
  ")>\n  llvm.store %e" i ", %p" i " : " type ", !llvm.ptr<1>\n"
#define ONE "  %one = llvm.mlir.constant(1 : i32) : i32\n"
#define PAIR(to, from) "  %" to " = llvm.bitcast %" from " : i32 to vector<2xf16>\n"

/* Lane t brings 16 bytes of A and 8 of B to shared memory. */
static const char dense[] = KERNEL(
    ONE
    "  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>\n"
    "  %la = llvm.getelementptr %in[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>\n"
    "  %sa = llvm.getelementptr %tile[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>\n"
    "  %va = llvm.load %la : !llvm.ptr<1> -> vector<4xi32>\n"
    "  llvm.store %va, %sa : vector<4xi32>, !llvm.ptr<3>\n"
    "  %lb0 = llvm.getelementptr %in[512] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8\n"
    "  %sb0 = llvm.getelementptr %tile[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n"
    "  %lb = llvm.getelementptr %lb0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64\n"
    "  %sb = llvm.getelementptr %sb0[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64\n"
    "  %vb = llvm.load %lb : !llvm.ptr<1> -> i64\n"
    "  llvm.store %vb, %sb : i64, !llvm.ptr<3>\n  nvvm.barrier0\n"
    /* Lane t names row t % 16 of A from column 8 (t / 16) on, and row t % 8 of B. */
    "  %c15 = llvm.mlir.constant(15 : i32) : i32\n  %c7 = llvm.mlir.constant(7 : i32) : i32\n"
    "  %c4 = llvm.mlir.constant(4 : i32) : i32\n  %ra = llvm.and %t, %c15 : i32\n"
    "  %ca = llvm.lshr %t, %c4 : i32\n  %ra2 = llvm.shl %ra, %one : i32\n"
    "  %ia = llvm.add %ra2, %ca : i32\n  %rb = llvm.and %t, %c7 : i32\n"
    "  %cb0 = llvm.lshr %t, %three : i32\n  %cb = llvm.and %cb0, %one : i32\n"
    "  %rb2 = llvm.shl %rb, %one : i32\n  %ib = llvm.add %rb2, %cb : i32\n"
    "  %pa = llvm.getelementptr %tile[%ia] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>\n"
    "  %pb = llvm.getelementptr %sb0[%ib] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>\n"
    "  %ma = nvvm.ldmatrix %pa {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = "
    "#nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : "
    "(!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>\n"
    "  %mb = nvvm.ldmatrix %pb {num = 2 : i32, layout = #nvvm.mma_layout<row>, shape = "
    "#nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : "
    "(!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>\n"
    "  %a0 = llvm.extractvalue %ma[0] : !llvm.struct<(i32, i32, i32, i32)>\n"
    "  %a1 = llvm.extractvalue %ma[1] : !llvm.struct<(i32, i32, i32, i32)>\n"
    "  %a2 = llvm.extractvalue %ma[2] : !llvm.struct<(i32, i32, i32, i32)>\n"
    "  %a3 = llvm.extractvalue %ma[3] : !llvm.struct<(i32, i32, i32, i32)>\n"
    "  %b0 = llvm.extractvalue %mb[0] : !llvm.struct<(i32, i32)>\n"
    "  %b1 = llvm.extractvalue %mb[1] : !llvm.struct<(i32, i32)>\n" PAIR("x0", "a0")
        PAIR("x1", "a1") PAIR("x2", "a2") PAIR("x3", "a3") PAIR("y0", "b0") PAIR("y1", "b1")
            "  %d = nvvm.mma.sync A[%x0, %x1, %x2, %x3] B[%y0, %y1] C[%zero, %zero, %zero, %zero] "
            "{layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = "
            "#nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> "
            "!llvm.struct<(f32, f32, f32, f32)>\n" STORE_D("f32"));

#define FRAGMENT \
  "!llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, " \
  "vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>"
#define SUM "!llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>"
#define PART(of, i, type) "  %" of i " = llvm.extractvalue %" of "[" i "] : " type "\n"
#define PARTS(of, type) \
  PART(of, "0", type) \
  PART(of, "1", type) \
  PART(of, "2", type) \
  PART(of, "3", type) \
  PART(of, "4", type) PART(of, "5", type) PART(of, "6", type) PART(of, "7", type)
#define NAMES(of) "%" of "0, %" of "1, %" of "2, %" of "3, %" of "4, %" of "5, %" of "6, %" of "7"
#define EIGHT(type) type ", " type ", " type ", " type ", " type ", " type ", " type ", " type
#define M16 "m = 16 : i32, n = 16 : i32, k = 16 : i32"
static const char wmma[] = KERNEL(
    "  %s = llvm.mlir.constant(16 : i32) : i32\n"
    "  %b = llvm.getelementptr %in[512] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8\n"
    "  %x = nvvm.wmma.load %in, %s {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>, layout "
    "= #nvvm.mma_layout<row>, " M16 "} : (!llvm.ptr<1>) -> " FRAGMENT "\n"
    "  %y = nvvm.wmma.load %b, %s {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<b>, layout "
    "= #nvvm.mma_layout<col>, " M16 "} : (!llvm.ptr<1>) -> " FRAGMENT "\n"
    "  %c = nvvm.wmma.load %out, %s {eltype = #nvvm.mma_type<f32>, frag = #nvvm.mma_frag<c>, "
    "layout = #nvvm.mma_layout<row>, " M16 "} : (!llvm.ptr<1>) -> " SUM "\n"
    PARTS("x", FRAGMENT) PARTS("y", FRAGMENT) PARTS("c", SUM)
    "  %d = nvvm.wmma.mma " NAMES("x") ", " NAMES("y") ", " NAMES("c")
    " {eltypeA = #nvvm.mma_type<f16>, eltypeB = #nvvm.mma_type<f32>, layoutA = "
    "#nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, " M16 "} : (" EIGHT("vector<2xf16>")
    ", " EIGHT("vector<2xf16>") ", " EIGHT("f32") ") -> " SUM "\n" PARTS("d", SUM)
    "  nvvm.wmma.store %out, %s, " NAMES("d")
    " {eltype = #nvvm.mma_type<f32>, layout = #nvvm.mma_layout<row>, " M16
    "} : !llvm.ptr<1>, " EIGHT("f32") "\n");

/* Every byte of row r of A is r, every byte of B 1: the sums are 32 r; row 8 and up saturate. */
static const char integer[] = KERNEL(
    ONE
    "  %ones = llvm.mlir.constant(16843009 : i32) : i32\n"
    "  %c8 = llvm.mlir.constant(8 : i32) : i32\n  %g8 = llvm.add %g, %c8 : i32\n"
    "  %a0 = llvm.mul %g, %ones : i32\n  %a1 = llvm.mul %g8, %ones : i32\n"
    "  %c0 = llvm.mlir.constant(0 : i32) : i32\n"
    "  %big = llvm.mlir.constant(2147483600 : i32) : i32\n"
    "  %d = nvvm.mma.sync A[%a0, %a1, %a0, %a1] B[%ones, %ones] C[%c0, %c0, %big, %big] "
    "{intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>, layoutA = #nvvm.mma_layout<row>, "
    "layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<s8>, "
    "multiplicandBPtxType = #nvvm.mma_type<u8>, shape = #nvvm.shape<m = 16, n = 8, k = 32>} : "
    "(i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>\n" STORE_D("i32"));

/* Row g of the stored half of A is g, row g + 8 is 2, and B is 1. */
static const char sparse[] = KERNEL(
    ONE
    "  %gi = llvm.sitofp %g : i32 to f16\n  %h2 = llvm.mlir.constant(2.0 : f16) : f16\n"
    "  %u = llvm.mlir.undef : vector<2xf16>\n  %i0 = llvm.mlir.constant(0 : i32) : i32\n"
    "  %v0 = llvm.insertelement %gi, %u[%i0 : i32] : vector<2xf16>\n"
    "  %a0 = llvm.insertelement %gi, %v0[%one : i32] : vector<2xf16>\n"
    "  %a1 = llvm.mlir.constant(dense<2.0> : vector<2xf16>) : vector<2xf16>\n"
    "  %b = llvm.mlir.constant(dense<1.0> : vector<2xf16>) : vector<2xf16>\n"
    "  %meta = llvm.mlir.constant(1145324612 : i32) : i32\n"
    "  %d = nvvm.mma.sp.sync A[%a0, %a1] B[%b, %b] C[%zero, %zero, %zero, %zero] "
    "sparseMetadata[%meta] selector[%i0] {orderedMetadata, shape = #nvvm.shape<m = 16, n = 8, k = "
    "16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>\n" STORE_D(
        "f32"));

/* Lane t's part of A is row t / 4, of B column t / 4: the sums are 4 (g + 1) (j + 1). */
static const char intrinsic[] = KERNEL(
    ONE
    "  %g1 = llvm.add %g, %one : i32\n  %a = llvm.sitofp %g1 : i32 to f64\n"
    "  %z = llvm.mlir.constant(0.5 : f64) : f64\n"
    "  %m = llvm.call_intrinsic \"llvm.nvvm.mma.m8n8k4.row.col.f64\"(%a, %a, %z, %z) : (f64, f64, "
    "f64, f64) -> !llvm.struct<(f64, f64)>\n"
    "  %e0 = llvm.extractvalue %m[0] : !llvm.struct<(f64, f64)>\n"
    "  %e1 = llvm.extractvalue %m[1] : !llvm.struct<(f64, f64)>\n"
    "  %r0 = llvm.fptosi %e0 : f64 to i32\n  %r1 = llvm.fptosi %e1 : f64 to i32\n"
    "  %row = llvm.shl %g, %three : i32\n  %col = llvm.shl %q, %one : i32\n"
    "  %at = llvm.add %row, %col : i32\n"
    "  %p0 = llvm.getelementptr %out[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
    "  %p1 = llvm.getelementptr %p0[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
    "  llvm.store %r0, %p0 : i32, !llvm.ptr<1>\n  llvm.store %r1, %p1 : i32, !llvm.ptr<1>\n");

/* The transpose of the 8 x 8 halves of `in`, which lane t holds two of: stmatrix, then words. */
static const char turned[] = KERNEL(
    "  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>\n"
    "  %c7 = llvm.mlir.constant(7 : i32) : i32\n  %r = llvm.and %t, %c7 : i32\n"
    "  %pi = llvm.getelementptr %in[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
    "  %v = llvm.load %pi : !llvm.ptr<1> -> i32\n"
    "  %ps = llvm.getelementptr %tile[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>\n"
    "  nvvm.stmatrix %ps, %v {layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = "
    "8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : !llvm.ptr<3>, i32\n"
    "  nvvm.bar.warp.sync %all : i32\n"
    "  %pl = llvm.getelementptr %tile[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
    "  %w = llvm.load %pl : !llvm.ptr<3> -> i32\n"
    "  %po = llvm.getelementptr %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
    "  llvm.store %w, %po : i32, !llvm.ptr<1>\n");

static int a_of(int i, int k) {
  return (i + 2 * k) % 7 - 3;
}
static int b_of(int k, int j) {
  return (3 * k + j) % 5 - 2;
}
static int sum(int i, int j) {
  int s = 0;
  for (int k = 0; k < 16; k++) s += a_of(i, k) * b_of(k, j);
  return s;
}
static uint32_t word_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}
static uint16_t half_of(int x) {
  static const uint16_t bits[] = {0, 0x3c00, 0x4000, 0x4200};
  return (uint16_t)(bits[x < 0 ? -x : x] | (x < 0 ? 0x8000 : 0));
}

static uint32_t is_dense(int i) {
  return i < 128 ? word_of((float)sum(i / 8, i % 8)) : word_of((float)i);
}
static uint32_t is_wmma(int i) {
  return word_of((float)(sum(i / 16, i % 16) + i));
}
static uint32_t is_integer(int i) {
  int row = i / 8;
  if (i >= 128) return word_of((float)i);
  return row < 8 ? 32u * (uint32_t)row : 0x7fffffffu;
}
static uint32_t is_sparse(int i) {
  int row = i / 8;
  if (i >= 128) return word_of((float)i);
  return word_of(row < 8 ? 8.0f * (float)row : 16.0f);
}
static uint32_t is_intrinsic(int i) {
  return i < 64 ? 4u * (uint32_t)(i / 8 + 1) * (uint32_t)(i % 8 + 1) : word_of((float)i);
}
/* The halves of `in` in order are the rows of the matrix. */
static uint32_t is_turned(int i) {
  if (i >= 32) return word_of((float)i);
  int row = i / 4, column = i % 4 * 2, low = column * 8 + row, high = low + 8;
  return half_of(a_of(low / 16, low % 16)) | (uint32_t)half_of(a_of(high / 16, high % 16)) << 16;
}

static const struct {
  const char *name, *text;
  uint32_t (*expected)(int i);
} rows[] = {{"ldmatrix and mma.sync", dense, is_dense},       {"wmma", wmma, is_wmma},
            {"mma.sync of s8 and u8", integer, is_integer},   {"mma.sp.sync", sparse, is_sparse},
            {"an intrinsic of f64", intrinsic, is_intrinsic}, {"stmatrix", turned, is_turned}};

static void run(MlirContext mlir, const char *name, const char *text, uint32_t (*expected)(int)) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  MlirModule module = {NULL};
  plumb_program *p = plumb_program_create(arena, name);
  plumb_status status = plumb_mlir_parse(mlir, "nvvm.mlir", text, &module, &diag);
  if (status == PLUMB_OK) status = plumb_mlir_decode(p, module, NULL, &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  if (module.ptr) mlirModuleDestroy(module);
  plumb_machine *m = plumb_machine_create(arena);
  uint16_t in[IN_BYTES / 2];
  uint32_t out[OUT_WORDS];
  for (int i = 0; i < 256; i++) {
    in[i] = half_of(a_of(i / 16, i % 16));
    in[B_AT / 2 + i] = half_of(b_of(i % 16, i / 16));
    out[i] = word_of((float)i);
  }
  struct {
    uint64_t in, out;
  } args = {plumb_machine_alloc(m, IN_BYTES, 256, "in"),
            plumb_machine_alloc(m, sizeof out, 256, "out")};
  plumb_machine_write(m, args.in, in, IN_BYTES, &diag);
  plumb_machine_write(m, args.out, out, sizeof out, &diag);
  plumb_run_options options = plumb_run_options_default();
  plumb_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
  plumb_run_result result = {0};
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, "k", &launch, &args, sizeof args, &options, &result, &diag);
  CHECK(status == PLUMB_OK, "%s: %d: %s", name, diag.line, diag.message);
  CHECK(result.trap.kind == PLUMB_TRAP_NONE, "%s: trap %s: %s", name,
        plumb_trap_text(result.trap.kind), result.trap.message ? result.trap.message : "-");
  plumb_machine_read(m, args.out, out, NULL, sizeof out, &diag);
  for (int i = 0; i < OUT_WORDS; i++) {
    CHECK(out[i] == expected(i), "%s: word %d is 0x%x, wanted 0x%x", name, i, out[i], expected(i));
    if (out[i] != expected(i)) break;
  }
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  MlirContext mlir = plumb_mlir_context_create();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    run(mlir, rows[i].name, rows[i].text, rows[i].expected);
  mlirContextDestroy(mlir);
  return check_finish();
}

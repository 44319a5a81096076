/* Conversions, dot products and special registers of the nvvm dialect, executed. Values by the PTX
 * ISA 9.0, 9.7.9.21 (cvt), 9.7.1.23 and 9.7.1.24 (dp4a, dp2a), 10.31 (%aggr_smem_size). */
#include "ir/mlir/mlir.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

#include <string.h>

#define BYTES(name, a, b, c, d) \
  "  %" name " = llvm.mlir.constant(dense<[" a ", " b ", " c ", " d \
  "]> : vector<4xi8>) : vector<4xi8>\n"
#define HALVES "  %h = llvm.mlir.constant(dense<[-2, 3]> : vector<2xi16>) : vector<2xi16>\n"
#define FLOATS \
  "  %x = llvm.mlir.constant(1.0 : f32) : f32\n  %y = llvm.mlir.constant(448.0 : f32) : f32\n"
#define TEN "  %c = llvm.mlir.constant(10 : i32) : i32\n"
#define WIDEN "  %r = llvm.zext %n : i16 to i32\n"

/* %r is what the kernel stores. */
static const struct {
  const char *name, *text;
  uint32_t expected;
} rows[] = {
    {"dp4a s u",
     BYTES("a", "-1", "2", "-3", "4") BYTES("b", "-1", "1", "1", "2") TEN
     "  %r = nvvm.dot.accumulate.4way %a <signed>, %b <unsigned>, %c : vector<4xi8>, "
     "vector<4xi8>\n",
     (uint32_t)(-255 + 2 - 3 + 8 + 10)},
    {"dp4a u s",
     BYTES("a", "-1", "2", "-3", "4") BYTES("b", "-1", "1", "1", "2") TEN
     "  %r = nvvm.dot.accumulate.4way %a <unsigned>, %b <signed>, %c : vector<4xi8>, "
     "vector<4xi8>\n",
     (uint32_t)(-255 + 2 + 253 + 8 + 10)},
    {"dp2a low",
     HALVES BYTES("b", "1", "2", "-10", "5") TEN "  %r = nvvm.dot.accumulate.2way %h <signed>, %b "
                                                 "<unsigned>, %c {b_hi = false} : vector<2xi16>, "
                                                 "vector<4xi8>\n",
     14},
    {"dp2a high",
     HALVES BYTES("b", "1", "2", "-10", "5") TEN "  %r = nvvm.dot.accumulate.2way %h <signed>, %b "
                                                 "<unsigned>, %c {b_hi = true} : vector<2xi16>, "
                                                 "vector<4xi8>\n",
     (uint32_t)(-2 * 246 + 15 + 10)},
    /* The first value goes to the upper byte: 1 is 0x38, 448 is 0x7e. */
    {"e4m3",
     FLOATS "  %n = nvvm.convert.f32x2.to.f8x2 %x, %y {rnd = #nvvm.fp_rnd_mode<rn>, sat = "
            "#nvvm.sat_mode<satfinite>} : i16 (f8E4M3FN)\n" WIDEN,
     0x387e},
    {"e4m3 bytes",
     FLOATS
     "  %v = nvvm.convert.f32x2.to.f8x2 %x, %y {rnd = #nvvm.fp_rnd_mode<rn>, sat = "
     "#nvvm.sat_mode<satfinite>} : vector<2xi8> (f8E4M3FN)\n"
     "  %z = llvm.mlir.constant(0 : i32) : i32\n"
     "  %e = llvm.extractelement %v[%z : i32] : vector<2xi8>\n  %r = llvm.zext %e : i8 to i32\n",
     0x7e},
    {"e5m2 relu",
     "  %x = llvm.mlir.constant(-1.0 : f32) : f32\n  %y = llvm.mlir.constant(1.0 : f32) : f32\n"
     "  %n = nvvm.convert.f32x2.to.f8x2 %x, %y {rnd = #nvvm.fp_rnd_mode<rn>, sat = "
     "#nvvm.sat_mode<satfinite>, relu = true} : i16 (f8E5M2)\n" WIDEN,
     0x003c},
    {"e8m0",
     FLOATS "  %n = nvvm.convert.f32x2.to.f8x2 %x, %y {rnd = #nvvm.fp_rnd_mode<rz>} : i16 "
            "(f8E8M0FNU)\n" WIDEN,
     0x7f87},
    {"f16 to e5m2",
     "  %v = llvm.mlir.constant(dense<[2.0, 1.0]> : vector<2xf16>) : vector<2xf16>\n"
     "  %n = nvvm.convert.f16x2.to.f8x2 %v : vector<2xf16> -> i16 (f8E5M2)\n" WIDEN,
     0x3c40},
    {"f6", FLOATS "  %n = nvvm.convert.f32x2.to.f6x2 %x, %y : i16 (f6E2M3FN)\n" WIDEN, 0x081f},
    {"aggregate size", "  %r = nvvm.read.ptx.sreg.aggr.smem.size : i32\n", 1024},
};

static void run(MlirContext mlir, size_t i) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  const char *text =
      plumb_arena_printf(arena,
                         "llvm.func @k(%%out: !llvm.ptr) attributes {nvvm.kernel} {\n%s"
                         "  llvm.store %%r, %%out : i32, !llvm.ptr\n  llvm.return\n}\n",
                         rows[i].text);
  MlirModule module = {NULL};
  plumb_program *p = plumb_program_create(arena, "convert");
  plumb_status status = plumb_mlir_parse(mlir, "convert.mlir", text, &module, &diag);
  if (status == PLUMB_OK) status = plumb_mlir_decode(p, module, NULL, &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  if (module.ptr) mlirModuleDestroy(module);
  plumb_machine *m = plumb_machine_create(arena);
  uint64_t out = plumb_machine_alloc(m, 4, 256, "out");
  plumb_run_options options = plumb_run_options_default();
  plumb_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
  plumb_run_result result = {0};
  uint32_t value = 0;
  bool ok =
      status == PLUMB_OK && plumb_machine_load(m, p, &diag) == PLUMB_OK &&
      plumb_machine_launch(m, "k", &launch, &out, sizeof out, &options, &result, &diag) == PLUMB_OK;
  CHECK(ok && result.trap.kind == PLUMB_TRAP_NONE, "%s: %s", rows[i].name, diag.message);
  plumb_machine_read(m, out, &value, NULL, 4, &diag);
  CHECK(value == rows[i].expected, "%s: 0x%x, wanted 0x%x", rows[i].name, value, rows[i].expected);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  MlirContext mlir = plumb_mlir_context_create();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) run(mlir, i);
  mlirContextDestroy(mlir);
  return check_finish();
}

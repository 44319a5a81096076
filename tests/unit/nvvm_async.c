/* The nvvm dialect's asynchronous operations: parsed by MLIR itself and decoded, and a kernel
 * that copies a box of a tensor and adds to it, with a race where a fence is left out. */
#include "ir/mlir/mlir.h"

#include <stdlib.h>
#include <string.h>

#include "ir/tensormap.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

enum { WORDS = 4096 };

#define MODULE(functions) \
  "module attributes {gpu.container_module} {\n" \
  "llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : " \
  "!llvm.array<256 x i32>\nllvm.mlir.global internal @bar() {addr_space = 3 : i32, alignment = 8 " \
  ": " \
  "i64} : i64\n" functions "}\n"

/* k(in, out, map): the box at (8, 4) plus 1000, in place. */
static const char kernel[] = MODULE(
    "llvm.func @k(%in: !llvm.ptr, %out: !llvm.ptr, %map: !llvm.ptr) attributes {nvvm.kernel} {\n"
    "  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>\n  %bar = llvm.mlir.addressof @bar : "
    "!llvm.ptr<3>\n  %t = nvvm.read.ptx.sreg.tid.x : i32\n  %zero = llvm.mlir.constant(0 : i32) : "
    "i32\n  %one = llvm.mlir.constant(1 : i32) : i32\n  %x = llvm.mlir.constant(8 : i32) : i32\n  "
    "%y "
    "= llvm.mlir.constant(4 : i32) : i32\n  %n = llvm.mlir.constant(128 : i32) : i32\n  %bytes = "
    "llvm.mlir.constant(1024 : i32) : i32\n  %add = llvm.mlir.constant(1000 : i32) : i32\n"
    "  %tc = llvm.addrspacecast %tile : !llvm.ptr<3> to !llvm.ptr<7>\n"
    "  %first = llvm.icmp \"eq\" %t, %zero : i32\n"
    "  nvvm.mbarrier.init %bar, %one, predicate = %first : !llvm.ptr<3>, i32, i1\n"
    "  llvm.cond_br %first, ^load, ^all\n^load:\n"
    "  %s = nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32 -> i64\n"
    "  nvvm.cp.async.bulk.tensor.shared.cluster.global %tc, %map, %bar, box[%x, %y] : "
    "!llvm.ptr<7>, !llvm.ptr\n  llvm.br ^all\n^all:\n  nvvm.barrier0\n"
    "  nvvm.mbarrier.try_wait.parity %bar, %zero, %bytes : !llvm.ptr<3>, i32, i32\n"
    "  %p = llvm.getelementptr %tile[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
    "  %q = llvm.getelementptr %p[%n] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
    "  %v = llvm.load %p : !llvm.ptr<3> -> i32\n  %w = llvm.load %q : !llvm.ptr<3> -> i32\n"
    "  %v1 = llvm.add %v, %add : i32\n  %w1 = llvm.add %w, %add : i32\n"
    "  llvm.store %v1, %p : i32, !llvm.ptr<3>\n  llvm.store %w1, %q : i32, !llvm.ptr<3>\n"
    "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}\n"
    "  nvvm.barrier0\n"
    "  nvvm.cp.async.bulk.tensor.global.shared.cta %map, %tile, box[%x, %y], predicate = %first : "
    "!llvm.ptr, !llvm.ptr<3>\n"
    "  nvvm.cp.async.bulk.commit.group\n  nvvm.cp.async.bulk.wait_group 0 {read}\n  "
    "llvm.return\n}\n");

/* k(in, out, map): 128 words of `in` from 64 on, plus 1000, in place. */
static const char bulk[] = MODULE(
    "llvm.func @k(%in: !llvm.ptr<1>, %out: !llvm.ptr, %map: !llvm.ptr) attributes {nvvm.kernel} "
    "{\n"
    "  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>\n  %bar = llvm.mlir.addressof @bar : "
    "!llvm.ptr<3>\n  %t = nvvm.read.ptx.sreg.tid.x : i32\n  %zero = llvm.mlir.constant(0 : i32) "
    ": i32\n  %one = llvm.mlir.constant(1 : i32) : i32\n  %bytes = llvm.mlir.constant(512 : i32) "
    ": i32\n  %add = llvm.mlir.constant(1000 : i32) : i32\n"
    "  %tc = llvm.addrspacecast %tile : !llvm.ptr<3> to !llvm.ptr<7>\n"
    "  %from = llvm.getelementptr %in[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
    "  %first = llvm.icmp \"eq\" %t, %zero : i32\n"
    "  nvvm.mbarrier.init %bar, %one, predicate = %first : !llvm.ptr<3>, i32, i1\n"
    "  llvm.cond_br %first, ^load, ^all\n^load:\n"
    "  %s = nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32 -> i64\n"
    "  nvvm.cp.async.bulk.shared.cluster.global %tc, %from, %bar, %bytes : !llvm.ptr<7>, "
    "!llvm.ptr<1>\n  llvm.br ^all\n^all:\n  nvvm.barrier0\n"
    "  nvvm.mbarrier.try_wait.parity %bar, %zero, %bytes : !llvm.ptr<3>, i32, i32\n"
    "  %p = llvm.getelementptr %tile[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
    "  %v = llvm.load %p : !llvm.ptr<3> -> i32\n  %v1 = llvm.add %v, %add : i32\n"
    "  llvm.store %v1, %p : i32, !llvm.ptr<3>\n"
    "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}\n"
    "  nvvm.barrier0\n  llvm.cond_br %first, ^store, ^end\n^store:\n"
    "  nvvm.cp.async.bulk.global.shared.cta %from, %tile, %bytes : !llvm.ptr<1>, !llvm.ptr<3>\n"
    "  nvvm.cp.async.bulk.commit.group\n  nvvm.cp.async.bulk.wait_group 0\n  llvm.br ^end\n^end:\n"
    "  llvm.return\n}\n");

/* Everything else is only decoded. */
static const char others[] = MODULE(
    "llvm.func @k(%g: !llvm.ptr<1>, %a: !llvm.ptr, %d: i64, %h: i16, %acc: !llvm.struct<(f32, f32, "
    "f32, f32)>) attributes {nvvm.kernel} {\n"
    "  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>\n  %bar = llvm.mlir.addressof @bar : "
    "!llvm.ptr<3>\n  %one = llvm.mlir.constant(1 : i32) : i32\n"
    "  %tc = llvm.addrspacecast %tile : !llvm.ptr<3> to !llvm.ptr<7>\n"
    "  nvvm.cp.async.shared.global %tile, %g, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>\n"
    "  nvvm.cp.async.shared.global %tile, %g, 8, cache = ca, %one : !llvm.ptr<3>, !llvm.ptr<1>, "
    "i32\n"
    "  nvvm.cp.async.mbarrier.arrive %bar {noinc = true} : !llvm.ptr<3>\n"
    "  nvvm.cp.async.commit.group\n  nvvm.cp.async.wait.group 1\n"
    "  %s = nvvm.mbarrier.arrive %bar : !llvm.ptr<3> -> i64\n"
    "  %s1 = nvvm.mbarrier.arrive.nocomplete %bar, %one : !llvm.ptr<3>, i32 -> i64\n"
    "  %s2 = nvvm.mbarrier.arrive_drop %bar : !llvm.ptr<3> -> i64\n"
    "  nvvm.mbarrier.expect_tx %bar, %one : !llvm.ptr<3>, i32\n"
    "  nvvm.mbarrier.complete_tx %bar, %one : !llvm.ptr<3>, i32\n"
    "  %w = nvvm.mbarrier.test.wait %bar, %s : !llvm.ptr<3>, i64 -> i1\n"
    "  %w1 = nvvm.mbarrier.try_wait %bar, %one : !llvm.ptr<3>, i32 -> i1\n"
    "  nvvm.mbarrier.inval %bar : !llvm.ptr<3>\n"
    "  nvvm.fence.mbarrier.init\n  nvvm.cluster.arrive.relaxed {aligned}\n  nvvm.cluster.arrive\n"
    "  nvvm.cluster.wait {aligned}\n"
    "  %far = nvvm.mapa %tile, %one : !llvm.ptr<3> -> !llvm.ptr<7>\n"
    "  nvvm.cp.async.bulk.tensor.shared.cluster.global %tc, %a, %bar, box[%one, %one, %one] "
    "im2col[%h] multicast_mask = %h {mode = #nvvm.tma_load_mode<im2col>} : !llvm.ptr<7>, "
    "!llvm.ptr\n"
    "  nvvm.cp.async.bulk.shared.cluster.global %tc, %g, %bar, %one multicast_mask = %h : "
    "!llvm.ptr<7>, !llvm.ptr<1>\n"
    "  nvvm.cp.async.bulk.shared.cluster.global %tile, %g, %bar, %one l2_cache_hint = %d : "
    "!llvm.ptr<3>, !llvm.ptr<1>\n"
    "  nvvm.cp.async.bulk.shared.cluster.shared.cta %tc, %tile, %bar, %one : !llvm.ptr<7>, "
    "!llvm.ptr<3>\n"
    "  nvvm.cp.async.bulk.tensor.reduce %a, %tile, box[%one, %one] {redKind = "
    "#nvvm.tma_redux_kind<add>} : !llvm.ptr, !llvm.ptr<3>\n"
    "  nvvm.cp.async.bulk.prefetch %g, %one : !llvm.ptr<1>\n"
    "  nvvm.cp.async.bulk.tensor.prefetch %a, box[%one, %one] : !llvm.ptr\n"
    "  %size = llvm.mlir.constant(128 : i32) : i32\n"
    "  nvvm.fence.proxy.acquire #nvvm.mem_scope<gpu> %a, %size\n"
    "  nvvm.fence.proxy.release #nvvm.mem_scope<gpu>\n"
    "  nvvm.fence.sync_restrict {order = #nvvm.mem_order<acquire>}\n"
    "  nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<acquire>}\n"
    "  nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<release>}\n"
    "  nvvm.pmevent id = 1\n"
    "  %lo = nvvm.read.ptx.sreg.globaltimer.lo : i32\n"
    "  %fz = llvm.mlir.constant(0.1 : f32) : f32\n"
    "  %tf = nvvm.convert.float.to.tf32 %fz {rnd = #nvvm.fp_rnd_mode<rna>}\n"
    "  nvvm.wgmma.fence.aligned\n"
    "  %r = nvvm.wgmma.mma_async %d, %d, %acc, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A "
    "[<f16>, "
    "<one>, <row>], B [<f16>, <neg>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> "
    "!llvm.struct<(f32, f32, f32, f32)>\n"
    "  nvvm.wgmma.commit.group.sync.aligned\n  nvvm.wgmma.wait.group.sync.aligned 0\n"
    "  llvm.return\n}\n");

static const char *first_unsupported(const plumb_program *p) {
  for (size_t i = 0; i < p->function_count; i++)
    for (size_t k = 0; k < p->functions[i]->inst_count; k++)
      if (p->functions[i]->insts[k].op == PLUMB_OP_UNSUPPORTED)
        return p->strings[p->functions[i]->insts[k].imm];
  return NULL;
}

static plumb_program *decode(MlirContext mlir, plumb_arena *arena, const char *text) {
  plumb_diag diag = {0};
  MlirModule module = {NULL};
  plumb_program *p = plumb_program_create(arena, "nvvm");
  plumb_status status = plumb_mlir_parse(mlir, "nvvm.mlir", text, &module, &diag);
  if (status == PLUMB_OK) status = plumb_mlir_decode(p, module, NULL, &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  CHECK(status == PLUMB_OK, "%d: %s", diag.line, diag.message);
  if (module.ptr) mlirModuleDestroy(module);
  const char *what = status == PLUMB_OK ? first_unsupported(p) : NULL;
  CHECK(!what, "%s", what);
  return status == PLUMB_OK ? p : NULL;
}

static bool in_box(uint32_t i) {
  uint32_t x = i % 64, y = i / 64;
  return x >= 8 && x < 40 && y >= 4 && y < 12;
}
static bool in_line(uint32_t i) {
  return i >= 64 && i < 192;
}

/* changed: the words to which 1000 is added. */
static void run(MlirContext mlir, const char *module, bool (*changed)(uint32_t),
                const char *without) {
  plumb_arena *arena = plumb_arena_create();
  char *text = plumb_arena_copy_string(arena, module);
  char *at = without ? strstr(text, without) : NULL;
  CHECK(!without || at, "no %s", without);
  for (; at && *at && *at != '\n'; at++) *at = ' ';
  plumb_program *p = decode(mlir, arena, text);
  plumb_machine *m = plumb_machine_create(arena);
  plumb_diag diag = {0};
  uint32_t *words = calloc(WORDS, 4);
  for (uint32_t i = 0; i < WORDS; i++) words[i] = 7 * i + 1;
  struct {
    uint64_t in, out, map;
  } args = {plumb_machine_alloc(m, WORDS * 4, 256, "in"), 0,
            plumb_machine_alloc(m, PLUMB_TENSORMAP_BYTES, 256, "map")};
  plumb_machine_write(m, args.in, words, WORDS * 4, &diag);
  plumb_tensormap map = {.address = args.in,
                         .rank = 2,
                         .type = PLUMB_TENSORMAP_S32,
                         .dims = {64, 64},
                         .strides_bytes = {256},
                         .box = {32, 8},
                         .element_strides = {1, 1}};
  uint8_t bytes[PLUMB_TENSORMAP_BYTES];
  plumb_tensormap_encode(&map, bytes);
  plumb_machine_write(m, args.map, bytes, sizeof bytes, &diag);
  plumb_run_options options = plumb_run_options_default();
  plumb_launch launch = {.grid = {1, 1, 1}, .block = {128, 1, 1}};
  plumb_run_result result = {0};
  bool ok = p && plumb_machine_load(m, p, &diag) == PLUMB_OK &&
            plumb_machine_launch(m, "k", &launch, &args, sizeof args, &options, &result, &diag) ==
                PLUMB_OK;
  CHECK(ok, "%s", diag.message);
  CHECK(result.trap.kind == (without ? PLUMB_TRAP_RACE : PLUMB_TRAP_NONE),
        "without %s: trap %s: %s", without ? without : "nothing", plumb_trap_text(result.trap.kind),
        result.trap.message ? result.trap.message : "-");
  plumb_machine_read(m, args.in, words, NULL, WORDS * 4, &diag);
  for (uint32_t i = 0; !without && i < WORDS; i++) {
    uint32_t want = 7 * i + 1 + (changed(i) ? 1000 : 0);
    CHECK(words[i] == want, "word %u is %u, wanted %u", i, words[i], want);
    if (words[i] != want) break;
  }
  free(words);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  MlirContext mlir = plumb_mlir_context_create();
  plumb_arena *arena = plumb_arena_create();
  decode(mlir, arena, others);
  plumb_arena_destroy(arena);
  run(mlir, kernel, in_box, NULL);
  run(mlir, kernel, in_box, "  nvvm.fence.proxy");
  run(mlir, kernel, in_box, "  nvvm.mbarrier.try_wait.parity");
  run(mlir, bulk, in_line, NULL);
  run(mlir, bulk, in_line, "  nvvm.fence.proxy");
  run(mlir, bulk, in_line, "  nvvm.mbarrier.try_wait.parity");
  mlirContextDestroy(mlir);
  return check_finish();
}

/* LLVM's intrinsics of asynchronous copies, mbarriers and clusters: every one is an intrinsic
 * of LLVM 22 and is decoded; kernels give the right values, and a race where a line is left
 * out. */
#include "ir/llvm/llvm.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>

#include "ir/tensormap.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

enum { WORDS = 4096 };

#define LAYOUT \
  "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n" \
  "target triple = \"nvptx64-nvidia-cuda\"\n" \
  "@tile = internal addrspace(3) global [1024 x i8] undef, align 1024\n" \
  "@bar = internal addrspace(3) global i64 undef, align 8\n" \
  "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n" \
  "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n" \
  "declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()\n" \
  "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n"
#define KERNEL(attributes, body) \
  "define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, ptr align 64 " \
  "%map) " attributes \
  " {\nentry:\n %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n %b = call i32 " \
  "@llvm.nvvm.read.ptx.sreg.ctaid.x()\n %b1 = mul i32 %b, 128\n %i = add i32 %b1, %t\n %po = " \
  "getelementptr i32, ptr addrspace(1) %out, i32 %i\n %first = icmp eq i32 %t, 0\n" body \
  "\n ret void\n}\n"
#define SYNC " call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
/* %v, the word of lane t ^ 37, to out. */
#define OTHERS \
  " %o = xor i32 %t, 37\n %q = getelementptr i32, ptr addrspace(3) @tile, i32 %o\n %v = load " \
  "i32, " \
  "ptr addrspace(3) %q\n store i32 %v, ptr addrspace(1) %po\n"

typedef struct row {
  const char *name, *text, *without;
  uint32_t grid;
  uint32_t (*expected)(uint32_t i);
} row;

static const char cp_async[] = LAYOUT
    "declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr "
    "addrspace(1))\ndeclare void @llvm.nvvm.cp.async.commit.group()\ndeclare void "
    "@llvm.nvvm.cp.async.wait.group(i32 immarg)\n" KERNEL(
        "",
        " %s = getelementptr i32, ptr addrspace(1) %in, i32 %t\n %d = getelementptr i32, ptr "
        "addrspace(3) @tile, i32 %t\n"
        " call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %d, ptr "
        "addrspace(1) %s)\n call void @llvm.nvvm.cp.async.commit.group()\n"
        " call void @llvm.nvvm.cp.async.wait.group(i32 0)\n" SYNC OTHERS);
static uint32_t other_word(uint32_t i) {
  return i < 128 ? 7 * (i ^ 37) + 1 : 0;
}

#define TENSOR_DECLARATIONS \
  "declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)\ndeclare i64 " \
  "@llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)\ndeclare i1 " \
  "@llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)\ndeclare void " \
  "@llvm.nvvm.cp.async.bulk.tensor.g2s.tile.2d(ptr addrspace(7), ptr addrspace(3), ptr, i32, " \
  "i32, " \
  "i16, i64, i1 immarg, i1 immarg, i32 immarg)\ndeclare void " \
  "@llvm.nvvm.cp.async.bulk.tensor.s2g.tile.2d(ptr addrspace(3), ptr, i32, i32, i64, i1 " \
  "immarg)\ndeclare void @llvm.nvvm.cp.async.bulk.commit.group()\ndeclare void " \
  "@llvm.nvvm.cp.async.bulk.wait.group.read(i32 immarg)\ndeclare void " \
  "@llvm.nvvm.fence.proxy.async.shared_cta()\n"
/* The box at (8, 4) of `in` plus 1000, in place. */
static const char tensor[] = LAYOUT TENSOR_DECLARATIONS KERNEL(
    "",
    " br i1 %first, label %one, label %all\none:\n call void @llvm.nvvm.mbarrier.init.shared(ptr "
    "addrspace(3) @bar, i32 1)\n %tok = call i64 "
    "@llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @bar, i32 1024)\n "
    "call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.2d(ptr addrspace(7) addrspacecast (ptr "
    "addrspace(3) @tile to ptr addrspace(7)), ptr addrspace(3) @bar, ptr %map, i32 8, i32 4, i16 "
    "0, "
    "i64 0, i1 false, i1 false, i32 0)\n br label %all\nall:\n" SYNC
    " br label %wait\nwait:\n %done = call i1 "
    "@llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar, i32 0)\n br i1 "
    "%done, label %go, label %wait\ngo:\n %p1 = getelementptr i32, ptr addrspace(3) @tile, i32 "
    "%t\n "
    "%p2 = getelementptr i32, ptr addrspace(3) %p1, i32 128\n %v1 = load i32, ptr addrspace(3) "
    "%p1\n "
    "%v2 = load i32, ptr addrspace(3) %p2\n %w1 = add i32 %v1, 1000\n %w2 = add i32 %v2, 1000\n "
    "store i32 %w1, ptr addrspace(3) %p1\n store i32 %w2, ptr addrspace(3) %p2\n"
    " call void @llvm.nvvm.fence.proxy.async.shared_cta()\n" SYNC
    " br i1 %first, label %copy, label %end\ncopy:\n call void "
    "@llvm.nvvm.cp.async.bulk.tensor.s2g.tile.2d(ptr addrspace(3) @tile, ptr %map, i32 8, i32 4, "
    "i64 "
    "0, i1 false)\n call void @llvm.nvvm.cp.async.bulk.commit.group()\n call void "
    "@llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)\n br label %end\nend:\n");
static uint32_t added(uint32_t i) {
  uint32_t x = i % 64, y = i / 64;
  return 7 * i + 1 + (x >= 8 && x < 40 && y >= 4 && y < 12 ? 1000 : 0);
}

static const char cluster[] = LAYOUT
    "declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)\ndeclare "
    "void @llvm.nvvm.barrier.cluster.arrive.aligned()\ndeclare void "
    "@llvm.nvvm.barrier.cluster.wait.aligned()\n" KERNEL(
        "\"nvvm.cluster_dim\"=\"2,1,1\"",
        " %p = getelementptr i32, ptr addrspace(3) @tile, i32 %t\n store i32 %i, ptr addrspace(3) "
        "%p\n"
        " call void @llvm.nvvm.barrier.cluster.arrive.aligned()\n call void "
        "@llvm.nvvm.barrier.cluster.wait.aligned()\n"
        " %r = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()\n %r1 = xor i32 %r, 1\n %far = "
        "call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %p, i32 %r1)\n %v = "
        "load i32, ptr addrspace(7) %far\n store i32 %v, ptr addrspace(1) %po\n"
        " call void @llvm.nvvm.barrier.cluster.arrive.aligned()\n call void "
        "@llvm.nvvm.barrier.cluster.wait.aligned()\n");
static uint32_t other_block(uint32_t i) {
  return i < 256 ? i ^ 128 : 0;
}

static const row rows[] = {
    {"cp.async", cp_async, NULL, 1, other_word},
    {"cp.async", cp_async, " call void @llvm.nvvm.cp.async.wait.group(i32 0)", 1, NULL},
    {"tensor", tensor, NULL, 1, added},
    {"tensor", tensor, " call void @llvm.nvvm.fence.proxy.async.shared_cta()", 1, NULL},
    {"cluster", cluster, NULL, 2, other_block},
    {"cluster", cluster,
     " call void @llvm.nvvm.barrier.cluster.arrive.aligned()\n call void "
     "@llvm.nvvm.barrier.cluster.wait.aligned()",
     2, NULL},
};

/* Declarations that must be intrinsics of LLVM, and be decoded. */
static const char *const declarations[] = {
    "void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)",
    "void @llvm.nvvm.cp.async.wait.all()",
    "void @llvm.nvvm.cp.async.bulk.wait.group(i32 immarg)",
    "void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3))",
    "void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))",
    "i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))",
    "i64 @llvm.nvvm.mbarrier.arrive.drop.noComplete.shared(ptr addrspace(3), i32)",
    "i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)",
    "i32 @llvm.nvvm.mbarrier.pending.count(i64)",
    "void @llvm.nvvm.mbarrier.expect.tx.scope.cluster.space.cluster(ptr addrspace(7), i32)",
    "void @llvm.nvvm.mbarrier.arrive.relaxed.scope.cta.space.cluster(ptr addrspace(7), i32)",
    "i64 @llvm.nvvm.mbarrier.arrive.drop.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)",
    "i1 @llvm.nvvm.mbarrier.try.wait.tl.relaxed.scope.cta.space.cta(ptr addrspace(3), i64, i32)",
    "void @llvm.nvvm.fence.mbarrier_init.release.cluster()",
    "void @llvm.nvvm.fence.proxy.async.global()",
    "i32 @llvm.nvvm.getctarank.shared.cluster(ptr addrspace(3))",
    "void @llvm.nvvm.wgmma.fence.sync.aligned()",
    "void @llvm.nvvm.wgmma.commit_group.sync.aligned()",
    "void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 immarg)",
    "void @llvm.nvvm.cp.async.bulk.shared.cta.to.cluster(ptr addrspace(7), ptr addrspace(3), ptr "
    "addrspace(3), i32)",
    "void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1), ptr addrspace(3), i32, "
    "i64, i1 immarg)",
    "void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7), ptr addrspace(3), "
    "ptr "
    "addrspace(1), i32, i16, i64, i1 immarg, i1 immarg)",
    "void @llvm.nvvm.cp.async.bulk.global.to.shared.cta(ptr addrspace(3), ptr addrspace(3), ptr "
    "addrspace(1), i32, i64, i1 immarg)",
    "void @llvm.nvvm.cp.async.bulk.tensor.g2s.im2col.4d(ptr addrspace(7), ptr addrspace(3), ptr, "
    "i32, i32, i32, i32, i16, i16, i16, i64, i1 immarg, i1 immarg, i32 immarg)",
    "void @llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.1d(ptr addrspace(3), ptr addrspace(3), ptr, "
    "i32, i64, i1 immarg)",
    "void @llvm.nvvm.cp.async.bulk.tensor.reduce.add.tile.3d(ptr addrspace(3), ptr, i32, i32, i32, "
    "i64, i1 immarg)",
    "void @llvm.nvvm.griddepcontrol.wait()",
};

static LLVMModuleRef parse(LLVMContextRef context, const char *text) {
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "async.ll");
  LLVMModuleRef module = NULL;
  char *message = NULL;
  bool ok = !LLVMParseIRInContext(context, buffer, &module, &message);
  if (ok) ok = !LLVMVerifyModule(module, LLVMReturnStatusAction, &message);
  CHECK(ok, "%s", message ? message : "?");
  if (message) LLVMDisposeMessage(message);
  return ok ? module : NULL;
}

static bool decode(plumb_program *p, LLVMModuleRef module, plumb_diag *diag) {
  plumb_status status = plumb_llvm_decode(p, module, "async.ll", diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, diag);
  return status == PLUMB_OK;
}

static const char *first_unsupported(const plumb_program *p) {
  for (size_t i = 0; i < p->function_count; i++)
    for (size_t k = 0; k < p->functions[i]->inst_count; k++)
      if (p->functions[i]->insts[k].op == PLUMB_OP_UNSUPPORTED)
        return p->strings[p->functions[i]->insts[k].imm];
  return NULL;
}

/* A kernel that calls the declared function with zeros. */
static void check_declaration(LLVMContextRef context, const char *declaration) {
  plumb_arena *arena = plumb_arena_create();
  plumb_text text = plumb_text_create(arena);
  const char *open = strchr(declaration, '(');
  plumb_text_append(&text, LAYOUT, strlen(LAYOUT));
  plumb_text_printf(&text, "declare %s\ndefine ptx_kernel void @k() {\n call %.*s(", declaration,
                    (int)(open - declaration), declaration);
  for (const char *at = open + 1; *at && *at != ')';) {
    const char *end = at;
    for (int depth = 0; *end && (depth || (*end != ',' && *end != ')')); end++)
      depth += *end == '(' ? 1 : *end == ')' ? -1 : 0;
    bool flag = strncmp(at, "i1 ", 3) == 0, immediate = strstr(at, "immarg") && flag;
    int type = (int)(end - at);
    const char *immarg = strstr(at, " immarg");
    if (immarg && immarg < end) type = (int)(immarg - at);
    bool pointer = strncmp(at, "ptr", 3) == 0;
    plumb_text_printf(&text, "%.*s %s", type, at, pointer ? "null" : immediate ? "false" : "0");
    at = end + (*end == ',');
    while (*at == ' ') at++;
    if (*end == ',') plumb_text_printf(&text, ", ");
  }
  plumb_text_printf(&text, ")\n ret void\n}\n");
  LLVMModuleRef module = parse(context, text.data);
  plumb_program *p = plumb_program_create(arena, "async");
  plumb_diag diag = {0};
  if (module) {
    const char *name = strchr(declaration, '@') + 1;
    LLVMValueRef f =
        LLVMGetNamedFunction(module, plumb_arena_printf(arena, "%.*s", (int)(open - name), name));
    CHECK(f && LLVMGetIntrinsicID(f), "%s is no intrinsic", declaration);
    bool ok = decode(p, module, &diag);
    CHECK(ok, "%s: %s", declaration, diag.message);
    const char *what = ok ? first_unsupported(p) : NULL;
    CHECK(!what, "%s: %s", declaration, what);
    LLVMDisposeModule(module);
  }
  plumb_arena_destroy(arena);
}

static void run(LLVMContextRef context, const row *r) {
  plumb_arena *arena = plumb_arena_create();
  char *text = plumb_arena_copy_string(arena, r->text);
  char *at = r->without ? strstr(text, r->without) : NULL;
  CHECK(!r->without || at, "%s: no `%s`", r->name, r->without);
  for (size_t i = 0; at && i < strlen(r->without); i++)
    if (at[i] != '\n') at[i] = ' ';
  plumb_program *p = plumb_program_create(arena, r->name);
  plumb_diag diag = {0};
  LLVMModuleRef module = parse(context, text);
  bool ok = module && decode(p, module, &diag);
  CHECK(ok, "%s: %s", r->name, diag.message);
  if (module) LLVMDisposeModule(module);
  plumb_machine *m = plumb_machine_create(arena);
  uint32_t *words = calloc(WORDS, 4), *zero = calloc(WORDS, 4);
  for (uint32_t i = 0; i < WORDS; i++) words[i] = 7 * i + 1;
  struct {
    uint64_t in, out, map;
  } args = {plumb_machine_alloc(m, WORDS * 4, 256, "in"),
            plumb_machine_alloc(m, WORDS * 4, 256, "out"),
            plumb_machine_alloc(m, PLUMB_TENSORMAP_BYTES, 256, "map")};
  plumb_machine_write(m, args.in, words, WORDS * 4, &diag);
  plumb_machine_write(m, args.out, zero, WORDS * 4, &diag);
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
  plumb_launch launch = {.grid = {r->grid, 1, 1}, .block = {128, 1, 1}};
  plumb_run_result result = {0};
  ok = ok && plumb_machine_load(m, p, &diag) == PLUMB_OK &&
       plumb_machine_launch(m, "k", &launch, &args, sizeof args, &options, &result, &diag) ==
           PLUMB_OK;
  CHECK(ok, "%s: %s", r->name, diag.message);
  plumb_trap_kind trap = r->without ? PLUMB_TRAP_RACE : PLUMB_TRAP_NONE;
  CHECK(result.trap.kind == trap, "%s without `%s`: trap %s: %s", r->name,
        r->without ? r->without : "", plumb_trap_text(result.trap.kind),
        result.trap.message ? result.trap.message : "-");
  plumb_machine_read(m, r->expected == added ? args.in : args.out, words, NULL, WORDS * 4, &diag);
  for (uint32_t i = 0; r->expected && i < WORDS; i++) {
    CHECK(words[i] == r->expected(i), "%s: word %u is %u, wanted %u", r->name, i, words[i],
          r->expected(i));
    if (words[i] != r->expected(i)) break;
  }
  free(words);
  free(zero);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  LLVMContextRef context = LLVMContextCreate();
  for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++)
    check_declaration(context, declarations[i]);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) run(context, &rows[i]);
  LLVMContextDispose(context);
  return check_finish();
}

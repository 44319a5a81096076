/* NVVM's intrinsics that are one PTX instruction (ir/ptx/intrinsic.def): each is an intrinsic of
 * LLVM, and a call of it with LLVM's own types is decoded; some are executed. */
#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>

#include "ir/llvm/llvm.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

#define LAYOUT \
  "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n" \
  "target triple = \"nvptx64-nvidia-cuda\"\n"

static const char *const names[] = {
#define X(name, operands, text) "llvm.nvvm." name,
#include "ir/ptx/intrinsic.def"
#undef X
};

static LLVMModuleRef parse(LLVMContextRef context, const char *text) {
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "ptx.ll");
  LLVMModuleRef module = NULL;
  char *message = NULL;
  bool ok = !LLVMParseIRInContext(context, buffer, &module, &message);
  CHECK(ok, "%s in\n%s", message ? message : "?", text);
  if (message) LLVMDisposeMessage(message);
  return ok ? module : NULL;
}

static plumb_program *decode(LLVMContextRef context, plumb_arena *arena, const char *text) {
  plumb_diag diag = {0};
  LLVMModuleRef module = parse(context, text);
  plumb_program *p = plumb_program_create(arena, "ptx");
  bool ok = module && plumb_llvm_decode(p, module, "ptx.ll", &diag) == PLUMB_OK &&
            plumb_program_finish(p, &diag) == PLUMB_OK;
  CHECK(ok, "%s\n%s", diag.message, text);
  if (module) LLVMDisposeModule(module);
  return ok ? p : NULL;
}

static const char *first_unsupported(const plumb_program *p) {
  for (size_t i = 0; i < p->function_count; i++)
    for (size_t k = 0; k < p->functions[i]->inst_count; k++)
      if (p->functions[i]->insts[k].op == PLUMB_OP_UNSUPPORTED)
        return p->strings[p->functions[i]->insts[k].imm];
  return NULL;
}

/* LLVM's type of the intrinsic; an overloaded name ends in the integer's width or the pointer's
 * address space. */
static LLVMTypeRef type_of(LLVMContextRef context, const char *name) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  if (!id) return NULL;
  const char *space = strrchr(name, '.');
  unsigned number = (unsigned)atoi(space + 2);
  LLVMTypeRef over = space[1] == 'i' ? LLVMIntTypeInContext(context, number)
                                     : LLVMPointerTypeInContext(context, number);
  return LLVMIntrinsicIsOverloaded(id) ? LLVMIntrinsicGetType(context, id, &over, 1)
                                       : LLVMIntrinsicGetType(context, id, NULL, 0);
}

/* A kernel that calls it with zeros; where a size is wanted, with 128. */
static void check_row(LLVMContextRef context, const char *name) {
  LLVMTypeRef type = type_of(context, name), params[16];
  CHECK(type != NULL, "%s is no intrinsic of LLVM", name);
  if (!type) return;
  plumb_arena *arena = plumb_arena_create();
  plumb_text text = plumb_text_create(arena), types = plumb_text_create(arena);
  char *result = LLVMPrintTypeToString(LLVMGetReturnType(type));
  plumb_text_printf(&text, LAYOUT "define ptx_kernel void @k() {\n  %scall %s @%s(",
                    strcmp(result, "void") ? "%r = " : "", result, name);
  LLVMGetParamTypes(type, params);
  for (unsigned i = 0; i < LLVMCountParamTypes(type); i++) {
    char *param = LLVMPrintTypeToString(params[i]);
    bool sized = strcmp(param, "i64") == 0 && (strstr(name, "discard") || strstr(name, "apply"));
    plumb_text_printf(&text, "%s%s %s", i ? ", " : "", param, sized ? "128" : "zeroinitializer");
    plumb_text_printf(&types, "%s%s", i ? ", " : "", param);
    LLVMDisposeMessage(param);
  }
  plumb_text_printf(&text, ")\n  ret void\n}\ndeclare %s @%s(%s)\n", result, name, types.data);
  LLVMDisposeMessage(result);
  plumb_program *p = decode(context, arena, text.data);
  const char *what = p ? first_unsupported(p) : NULL;
  CHECK(!what, "%s: %s", name, what);
  plumb_arena_destroy(arena);
}

/* %r, an i32, is what lane 0 stores; %t is the lane. Values by the PTX ISA 9.0, 9.7.9.21 (cvt),
 * 9.7.9.7 (prmt), 9.7.1 and 9.7.13.12 (redux). */
static const struct {
  const char *declaration, *call;
  uint32_t expected;
} rows[] = {
    /* 1 + 2^-11 is a tie between 1 and 1 + 2^-10. */
    {"i32 @llvm.nvvm.f2tf32.rna(float)",
     "%r = call i32 @llvm.nvvm.f2tf32.rna(float bitcast (i32 1065357312 to float))", 0x3f802000},
    {"i32 @llvm.nvvm.f2tf32.rn(float)",
     "%r = call i32 @llvm.nvvm.f2tf32.rn(float bitcast (i32 1065357312 to float))", 0x3f800000},
    {"half @llvm.nvvm.f2f16.rz(float)",
     "%h = call half @llvm.nvvm.f2f16.rz(float 65520.0)\n %b = bitcast half %h to i16\n %r = zext "
     "i16 %b to i32",
     0x7bff},
    /* The first value goes to the upper byte: 1 is 0x38, 448 is 0x7e. */
    {"i16 @llvm.nvvm.ff.to.e4m3x2.rn(float, float)",
     "%b = call i16 @llvm.nvvm.ff.to.e4m3x2.rn(float 1.0, float 448.0)\n %r = zext i16 %b to i32",
     0x387e},
    {"i16 @llvm.nvvm.f16x2.to.e5m2x2.rn(<2 x half>)",
     "%b = call i16 @llvm.nvvm.f16x2.to.e5m2x2.rn(<2 x half> <half 2.0, half 1.0>)\n %r = zext "
     "i16 %b to i32",
     0x3c40},
    {"<2 x half> @llvm.nvvm.e5m2x2.to.f16x2.rn(i16)",
     "%h = call <2 x half> @llvm.nvvm.e5m2x2.to.f16x2.rn(i16 15424)\n %r = bitcast <2 x half> %h "
     "to i32",
     0x3c004000},
    {"i16 @llvm.nvvm.ff.to.e2m1x2.rn.satfinite(float, float)",
     "%b = call i16 @llvm.nvvm.ff.to.e2m1x2.rn.satfinite(float 6.0, float 0.5)\n %r = zext i16 %b "
     "to i32",
     0x71},
    {"i32 @llvm.nvvm.prmt.rc16(i32, i32)",
     "%r = call i32 @llvm.nvvm.prmt.rc16(i32 287454020, i32 1)", 0x11221122},
    {"i32 @llvm.nvvm.bmsk.clamp(i32, i32)", "%r = call i32 @llvm.nvvm.bmsk.clamp(i32 4, i32 8)",
     0xff0},
    {"i32 @llvm.nvvm.sext.clamp(i32, i32)", "%r = call i32 @llvm.nvvm.sext.clamp(i32 255, i32 8)",
     0xffffffff},
    {"i32 @llvm.nvvm.zext.wrap(i32, i32)", "%r = call i32 @llvm.nvvm.zext.wrap(i32 65535, i32 40)",
     0xff},
    {"i32 @llvm.nvvm.fns(i32, i32, i32)", "%r = call i32 @llvm.nvvm.fns(i32 176, i32 0, i32 2)", 5},
    {"i32 @llvm.nvvm.mul24.i(i32, i32)", "%r = call i32 @llvm.nvvm.mul24.i(i32 16777215, i32 3)",
     0xfffffffd},
    /* -2 and 3 with the bytes 1 and 2, and with 246 and 5, plus 10. */
    {"i32 @llvm.nvvm.idp2a.s.u(i32, i32, i1, i32)",
     "%r = call i32 @llvm.nvvm.idp2a.s.u(i32 262142, i32 100008449, i1 false, i32 10)", 14},
    {"i32 @llvm.nvvm.idp2a.s.u(i32, i32, i1, i32)",
     "%r = call i32 @llvm.nvvm.idp2a.s.u(i32 262142, i32 100008449, i1 true, i32 10)", 0xfffffe2d},
    {"i32 @llvm.nvvm.idp2a.u.s(i32, i32, i1, i32)",
     "%r = call i32 @llvm.nvvm.idp2a.u.s(i32 262142, i32 100008449, i1 true, i32 10)", 0xfff6002d},
    {"i32 @llvm.nvvm.flo.u.i32(i32, i1)", "%r = call i32 @llvm.nvvm.flo.u.i32(i32 65536, i1 false)",
     16},
    {"i32 @llvm.nvvm.flo.u.i32(i32, i1)", "%r = call i32 @llvm.nvvm.flo.u.i32(i32 65536, i1 true)",
     15},
    {"i32 @llvm.nvvm.flo.s.i64(i64, i1)",
     "%r = call i32 @llvm.nvvm.flo.s.i64(i64 -4294967297, i1 false)", 32},
    {"i32 @llvm.nvvm.fshl.clamp.i32(i32, i32, i32)",
     "%r = call i32 @llvm.nvvm.fshl.clamp.i32(i32 305419896, i32 2596069104, i32 8)", 0x3456789a},
    {"i32 @llvm.nvvm.fshl.clamp.i32(i32, i32, i32)",
     "%r = call i32 @llvm.nvvm.fshl.clamp.i32(i32 305419896, i32 2596069104, i32 40)", 0x9abcdef0},
    {"i32 @llvm.nvvm.fshr.clamp.i32(i32, i32, i32)",
     "%r = call i32 @llvm.nvvm.fshr.clamp.i32(i32 305419896, i32 2596069104, i32 8)", 0x789abcde},
    {"i1 @llvm.nvvm.isspacep.shared.cluster(ptr)",
     "%i = call i1 @llvm.nvvm.isspacep.shared.cluster(ptr %out)\n %r = zext i1 %i to i32", 0},
    {"i1 @llvm.nvvm.isspacep.shared.cluster(ptr)\n@s = internal addrspace(3) global i32 poison",
     "%i = call i1 @llvm.nvvm.isspacep.shared.cluster(ptr addrspacecast (ptr addrspace(3) @s to "
     "ptr))\n %r = zext i1 %i to i32",
     1},
    {"i1 @llvm.nvvm.is_explicit_cluster()",
     "%i = call i1 @llvm.nvvm.is_explicit_cluster()\n %r = zext i1 %i to i32", 0},
    {"i32 @llvm.nvvm.read.ptx.sreg.ntid.w()", "%r = call i32 @llvm.nvvm.read.ptx.sreg.ntid.w()", 0},
    {"i32 @llvm.nvvm.read.ptx.sreg.aggr_smem_size()",
     "%r = call i32 @llvm.nvvm.read.ptx.sreg.aggr_smem_size()", 1024},
    /* Without .sync the lanes that are there take part (9.7.9.5). */
    {"i32 @llvm.nvvm.shfl.bfly.i32(i32, i32, i32)",
     "%r = call i32 @llvm.nvvm.shfl.bfly.i32(i32 %t, i32 5, i32 31)", 5},
    {"{ i32, i1 } @llvm.nvvm.shfl.up.i32p(i32, i32, i32)",
     "%p = call { i32, i1 } @llvm.nvvm.shfl.up.i32p(i32 7, i32 5, i32 0)\n %b = extractvalue { "
     "i32, "
     "i1 } %p, 1\n %r = zext i1 %b to i32",
     0},
    {"i32 @llvm.nvvm.vote.ballot(i1)",
     "%l = icmp ult i32 %t, 4\n %r = call i32 @llvm.nvvm.vote.ballot(i1 %l)", 15},
    {"float @llvm.nvvm.redux.sync.fmax(float, i32)",
     "%f = sitofp i32 %t to float\n %m = call float @llvm.nvvm.redux.sync.fmax(float %f, i32 -1)\n "
     "%r = fptosi float %m to i32",
     31},
};

static void run(LLVMContextRef context, size_t i) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  char *text = plumb_arena_printf(
      arena,
      LAYOUT
      "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare %s\n"
      "define ptx_kernel void @k(ptr %%out) {\n %%t = call i32 "
      "@llvm.nvvm.read.ptx.sreg.tid.x()\n %s\n %%first = icmp eq i32 %%t, 0\n br i1 "
      "%%first, label %%one, label %%all\none:\n store i32 %%r, ptr %%out\n br label "
      "%%all\nall:\n ret void\n}\n",
      rows[i].declaration, rows[i].call);
  plumb_program *p = decode(context, arena, text);
  plumb_machine *m = plumb_machine_create(arena);
  uint64_t out = plumb_machine_alloc(m, 4, 256, "out");
  plumb_run_options options = plumb_run_options_default();
  plumb_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
  plumb_run_result result = {0};
  uint32_t value = 0;
  bool ok =
      p && plumb_machine_load(m, p, &diag) == PLUMB_OK &&
      plumb_machine_launch(m, "k", &launch, &out, sizeof out, &options, &result, &diag) == PLUMB_OK;
  CHECK(ok && result.trap.kind == PLUMB_TRAP_NONE, "%s: %s: %s", rows[i].declaration, diag.message,
        result.trap.message ? result.trap.message : "-");
  plumb_machine_read(m, out, &value, NULL, 4, &diag);
  CHECK(value == rows[i].expected, "%s is 0x%x, wanted 0x%x", rows[i].call, value,
        rows[i].expected);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  LLVMContextRef context = LLVMContextCreate();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_row(context, names[i]);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) run(context, i);
  LLVMContextDispose(context);
  return check_finish();
}

/* LLVM IR decoded: rows of instructions and what they become; then every kernel of
 * the catalogue, before and after -O2, without anything left over. */
#include "ir/llvm/llvm.h"

#include <glob.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

#include "frontends/cuda.h"
#include "check.h"

static LLVMModuleRef parse(LLVMContextRef context, const char *text, size_t length) {
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, length, "test");
  LLVMModuleRef module = NULL;
  char *message = NULL;
  if (LLVMParseIRInContext(context, buffer, &module, &message)) {
    fprintf(stderr, "%s\n", message);
    LLVMDisposeMessage(message);
    return NULL;
  }
  return module;
}

static size_t count_op(const plumb_program *p, plumb_op op, uint32_t flags) {
  size_t n = 0;
  for (size_t i = 0; i < p->function_count; i++)
    for (size_t k = 0; k < p->functions[i]->inst_count; k++) {
      const plumb_inst *inst = &p->functions[i]->insts[k];
      n += inst->op == op && (inst->flags & flags) == flags;
    }
  return n;
}

static const char *first_unsupported(const plumb_program *p) {
  for (size_t i = 0; i < p->function_count; i++)
    for (size_t k = 0; k < p->functions[i]->inst_count; k++)
      if (p->functions[i]->insts[k].op == PLUMB_OP_UNSUPPORTED)
        return p->strings[p->functions[i]->insts[k].imm];
  return NULL;
}

#define LAYOUT \
  "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n" \
  "target triple = \"nvptx64-nvidia-cuda\"\n"

/* body: instructions of a kernel with parameters (ptr %p, i32 %i, float %f, double %d),
 * between globals and declarations of its own. `op` appears `count` times with `flags`. */
static const struct row {
  const char *name, *module, *attributes, *body;
  plumb_op op;
  size_t count;
  uint32_t flags;
} rows[] = {
    {"add", "", "", "%a = add nsw i32 %i, 1\n store i32 %a, ptr %p", PLUMB_OP_ADD, 1,
     PLUMB_FLAG_NSW},
    {"fast", "", "", "%a = fadd contract reassoc float %f, %f\n store float %a, ptr %p",
     PLUMB_OP_ADD, 1, PLUMB_FLAG_CONTRACT | PLUMB_FLAG_REASSOC},
    {"ftz", "", "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"",
     "%a = fmul float %f, %f\n store float %a, ptr %p", PLUMB_OP_MUL, 1, PLUMB_FLAG_FTZ},
    {"ftz-in", "", "\"denormal-fp-math-f32\"=\"ieee,preserve-sign\"",
     "%a = fmul float %f, %f\n store float %a, ptr %p", PLUMB_OP_MUL, 1, PLUMB_FLAG_FTZ_IN},
    {"odd-width", "", "", "%t = trunc i32 %i to i3\n %a = sdiv i3 %t, 1\n store i3 %a, ptr %p",
     PLUMB_OP_SHL, 2, 0},
    {"unaligned", "", "", "%a = load i32, ptr %p, align 1\n store i32 %a, ptr %p, align 2",
     PLUMB_OP_LOAD, 8, 0},
    {"vector-load", "", "",
     "%a = load <4 x float>, ptr %p, align 16\n store <4 x float> %a, ptr %p, align 16",
     PLUMB_OP_STORE, 1, 0},
    {"fmuladd", "declare float @llvm.fmuladd.f32(float, float, float)\n", "",
     "%a = call float @llvm.fmuladd.f32(float %f, float %f, float %f)\n store float %a, ptr %p",
     PLUMB_OP_MUL, 1, PLUMB_FLAG_CONTRACT},
    {"libdevice", "declare float @__nv_expf(float)\n", "",
     "%a = call float @__nv_expf(float %f)\n store float %a, ptr %p", PLUMB_OP_MATH, 1, 0},
    {"approx", "declare float @llvm.nvvm.ex2.approx.ftz.f32(float)\n", "",
     "%a = call float @llvm.nvvm.ex2.approx.ftz.f32(float %f)\n store float %a, ptr %p",
     PLUMB_OP_APPROX, 1, PLUMB_FLAG_FTZ},
    {"asm", "", "",
     "%a = call float asm \"rcp.approx.ftz.f32 $0,$1;\", \"=f,f\"(float %f)\n store float %a, ptr "
     "%p",
     PLUMB_OP_APPROX, 1, PLUMB_FLAG_FTZ},
    {"asm-unknown", "", "",
     "%a = call float asm \"foo.f32 $0,$1;\", \"=f,f\"(float %f)\n store float %a, ptr %p",
     PLUMB_OP_UNSUPPORTED, 1, 0},
    {"asm-pair", "", "",
     "%a = call {i32, i32} asm \"mad.lo.cc.u32 $0, $2, $3, $4; madc.hi.u32 $1, $2, $3, 0;\", "
     "\"=r,=r,r,r,r\"(i32 %i, i32 %i, i32 %i)\n"
     "%b = extractvalue {i32, i32} %a, 1\n store i32 %b, ptr %p",
     PLUMB_OP_ADD_CARRY, 2, 0},
    {"asm-tied", "", "",
     "%a = call i32 asm \"{ .reg .u32 t; mul.lo.u32 t, $0, $2; add.u32 $0, t, $0; }\", "
     "\"=r,0,n\"(i32 %i, i32 3)\n store i32 %a, ptr %p",
     PLUMB_OP_MUL, 1, 0},
    {"asm-half", "", "",
     "%h = bitcast float %f to i32\n %t = trunc i32 %h to i16\n"
     "%a = call i16 asm \"{add.f16 $0,$1,$2;\\0A}\", \"=h,h,h\"(i16 %t, i16 %t)\n"
     "store i16 %a, ptr %p",
     PLUMB_OP_UNSUPPORTED, 0, 0},
    {"asm-empty", "", "", "call void asm sideeffect \"\", \"~{memory}\"()", PLUMB_OP_UNSUPPORTED, 0,
     0},
    {"external", "declare float @other(float)\n", "",
     "%a = call float @other(float %f)\n store float %a, ptr %p", PLUMB_OP_UNSUPPORTED, 1, 0},
    {"barrier", "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n", "",
     "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", PLUMB_OP_BARRIER, 1,
     PLUMB_FLAG_ALIGNED},
    {"atomic", "", "",
     "%a = atomicrmw fadd ptr %p, float %f syncscope(\"device\") acquire, align 4", PLUMB_OP_ATOMIC,
     1, PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_SCOPE_GPU},
    {"cmpxchg", "", "", "%a = cmpxchg ptr %p, i32 0, i32 %i seq_cst seq_cst, align 4",
     PLUMB_OP_ATOMIC, 1, PLUMB_FLAG_SEQ_CST},
    {"shared", "@s = internal addrspace(3) global [4 x float] undef\n", "",
     "store float %f, ptr addrspacecast (ptr addrspace(3) @s to ptr)", PLUMB_OP_TO_GENERIC, 1, 0},
    {"dynamic", "@s = external addrspace(3) global [0 x float]\n", "",
     "store float %f, ptr addrspace(3) @s", PLUMB_OP_ADDRESS, 1, 0},
    {"alloca", "", "", "%a = alloca i32\n store i32 %i, ptr %a", PLUMB_OP_FRAME, 1, 0},
    {"alloca5", "", "", "%a = alloca i32, addrspace(5)\n store i32 %i, ptr addrspace(5) %a",
     PLUMB_OP_TO_GENERIC, 0, 0},
    {"overflow", "declare {i32, i1} @llvm.smul.with.overflow.i32(i32, i32)\n", "",
     "%a = call {i32, i1} @llvm.smul.with.overflow.i32(i32 %i, i32 %i)\n"
     "%b = extractvalue {i32, i1} %a, 1\n %c = zext i1 %b to i32\n store i32 %c, ptr %p",
     PLUMB_OP_MULHI_S, 1, 0},
    {"element", "", "",
     "%v = insertelement <2 x float> zeroinitializer, float %f, i32 %i\n"
     "%a = extractelement <2 x float> %v, i32 %i\n store float %a, ptr %p",
     PLUMB_OP_SELECT, 3, 0},
    {"bitcast", "", "",
     "%a = bitcast double %d to <2 x i32>\n %b = extractelement <2 x i32> %a, i32 1\n"
     "store i32 %b, ptr %p",
     PLUMB_OP_SHR_U, 1, 0},
    {"double-rcp", "declare double @llvm.nvvm.rcp.rn.d(double)\n", "",
     "%a = call double @llvm.nvvm.rcp.rn.d(double %d)\n store double %a, ptr %p", PLUMB_OP_DIV, 1,
     0},
    {"unknown-modifier", "declare float @llvm.nvvm.mul.rn.ftz.f(float, float)\n", "",
     "%a = call float @llvm.nvvm.mul.rn.ftz.f(float %f, float %f)\n store float %a, ptr %p",
     PLUMB_OP_MUL, 1, PLUMB_FLAG_FTZ},
    {"reflect",
     "@key = private constant [11 x i8] c\"__CUDA_FTZ\\00\"\ndeclare i32 @__nvvm_reflect(ptr)\n",
     "", "%a = call i32 @__nvvm_reflect(ptr @key)\n store i32 %a, ptr %p", PLUMB_OP_UNSUPPORTED, 0,
     0},
    {"switch", "", "",
     "switch i32 %i, label %x [ i32 1, label %y\n i32 7, label %x ]\n y:\n br label %x\n"
     "x:\n %a = phi i32 [ 1, %0 ], [ 1, %0 ], [ 2, %y ]\n store i32 %a, ptr %p",
     PLUMB_OP_CONDBR, 2, 0},
    /* The default block is decoded after the switch: nothing may be left in it. */
    {"switch-default", "", "",
     "switch i32 %i, label %x [ i32 1, label %y\n i32 7, label %y ]\n y:\n br label %x\n"
     "x:\n store i32 %i, ptr %p",
     PLUMB_OP_UNSUPPORTED, 0, 0},
};

static void check_rows(LLVMContextRef context) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct row *r = &rows[i];
    plumb_arena *arena = plumb_arena_create();
    char *text = plumb_arena_printf(arena,
                                    "%s%sdefine ptx_kernel void @k(ptr %%p, i32 %%i, float %%f, "
                                    "double %%d) #0 {\n%s\nret void\n}\n"
                                    "attributes #0 = { \"target-cpu\"=\"sm_90\" %s }\n",
                                    LAYOUT, r->module, r->body, r->attributes);
    LLVMModuleRef module = parse(context, text, strlen(text));
    CHECK(module != NULL, "%s: does not parse", r->name);
    if (module) {
      plumb_program *p = plumb_program_create(arena, r->name);
      plumb_diag diag = {0};
      plumb_status status = plumb_llvm_decode(p, module, r->name, &diag);
      if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
      CHECK(status == PLUMB_OK, "%s: %s", r->name, diag.message);
      CHECK(status != PLUMB_OK || count_op(p, r->op, r->flags) == r->count,
            "%s: %zu of %s, wanted %zu", r->name, count_op(p, r->op, r->flags),
            plumb_op_table[r->op].mnemonic, r->count);
      LLVMDisposeModule(module);
    }
    plumb_arena_destroy(arena);
  }
}

static void check_decodes(LLVMModuleRef module, const char *path, const char *stage) {
  plumb_arena *arena = plumb_arena_create();
  plumb_program *p = plumb_program_create(arena, path);
  plumb_diag diag = {0};
  plumb_status status = plumb_llvm_decode(p, module, path, &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  CHECK(status == PLUMB_OK, "%s %s: %s", path, stage, diag.message);
  if (status == PLUMB_OK) {
    const char *what = first_unsupported(p);
    CHECK(!what, "%s %s: %s", path, stage, what ? what : "");
  }
  plumb_arena_destroy(arena);
}

/* Kernels of the catalogue; where there is no toolkit nothing is compiled. */
static void check_catalogue(LLVMContextRef context) {
  plumb_arena *arena = plumb_arena_create();
  glob_t files;
  if (plumb_cuda_toolkit(arena) && glob("tasks/catalog/*/*.cu", 0, NULL, &files) == 0) {
    for (size_t i = 0; i < files.gl_pathc; i++)
      for (int fast = 0; fast < 2; fast++) {
        /* The wrong ones differ from the good in a line or two: the good stand for them. */
        if (strstr(files.gl_pathv[i], "/wrong-") || (fast && !strstr(files.gl_pathv[i], "softmax")))
          continue;
        const char *flags[] = {"-O2", "-use_fast_math"};
        plumb_cuda_options options = {
            .arch = "sm_90", .flags = flags, .flag_count = fast ? 2u : 1u};
        char *text;
        size_t length;
        plumb_diag diag = {0};
        plumb_status status =
            plumb_cuda_to_llvm(arena, &options, files.gl_pathv[i], &text, &length, &diag);
        CHECK(status == PLUMB_OK, "%s: %s", files.gl_pathv[i], diag.message);
        if (status != PLUMB_OK) continue;
        LLVMModuleRef module = parse(context, text, length);
        CHECK(module != NULL, "%s: does not parse", files.gl_pathv[i]);
        if (!module) continue;
        check_decodes(module, files.gl_pathv[i], "unoptimised");
        plumb_llvm_resolve_reflect(module);
        LLVMValueRef reflect = LLVMGetNamedFunction(module, "__nvvm_reflect");
        CHECK(!reflect || !LLVMGetFirstUse(reflect), "%s: __nvvm_reflect is left",
              files.gl_pathv[i]);
        LLVMPassBuilderOptionsRef pass_options = LLVMCreatePassBuilderOptions();
        LLVMErrorRef error = LLVMRunPasses(module, "default<O2>", NULL, pass_options);
        CHECK(!error, "O2 fails");
        check_decodes(module, files.gl_pathv[i], "O2");
        LLVMDisposePassBuilderOptions(pass_options);
        LLVMDisposeModule(module);
      }
    globfree(&files);
  }
  plumb_arena_destroy(arena);
}

int main(void) {
  LLVMContextRef context = LLVMContextCreate();
  check_rows(context);
  check_catalogue(context);
  LLVMContextDispose(context);
  return check_finish();
}

/* LLVM IR through MLIR and back: what the import is known to lose has to be there. */
#include "ir/mlir/bridge.h"

#include <llvm-c/Core.h>
#include <mlir-c/Target/LLVMIR.h>
#include <string.h>

#include "tests/unit/check.h"

static const char text[] =
    "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n"
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "@c = addrspace(4) externally_initialized global [4 x float] zeroinitializer\n"
    "define ptx_kernel void @k(ptr %p, float %f) #0 {\n"
    "  %v = load float, ptr addrspace(4) @c\n"
    "  %s = fadd contract float %v, %f\n"
    "  %r = call float asm \"rcp.approx.ftz.f32 $0,$1;\", \"=f,f\"(float %s) #1\n"
    "  store float %r, ptr %p\n"
    "  ret void\n"
    "}\n"
    "attributes #0 = { \"target-cpu\"=\"sm_90\" "
    "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\" "
    "\"nvvm.maxntid\"=\"256\" }\n"
    "attributes #1 = { convergent nounwind }\n"
    "!llvm.module.flags = !{!0, !1}\n"
    "!0 = !{i32 4, !\"nvvm-reflect-ftz\", i32 1}\n"
    "!1 = !{i32 4, !\"nvvm-reflect-prec-sqrt\", i32 0}\n";

/* Each is to be found in the module's text after the round trip. */
static const char *const kept[] = {
    "@c = addrspace(4) externally_initialized global",
    "define ptx_kernel void @k",
    "fadd contract float",
    "rcp.approx.ftz.f32 $0,$1;",
    "\"nvvm-reflect-ftz\", i32 1",
    "\"nvvm-reflect-prec-sqrt\", i32 0",
    "convergent",
    "\"target-cpu\"=\"sm_90\"",
    "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"",
    "\"nvvm.maxntid\"=\"256\"",
};

static void check_round_trip(MlirContext context) {
  MlirModule module;
  plumb_diag diag = {0};
  plumb_status status =
      plumb_bridge_import_llvm_text(context, "test.ll", text, sizeof text - 1, &module, &diag);
  CHECK(status == PLUMB_OK, "%s", diag.message);
  if (status != PLUMB_OK) return;
  LLVMContextRef llvm = LLVMContextCreate();
  LLVMModuleRef back = mlirTranslateModuleToLLVMIR(mlirModuleGetOperation(module), llvm);
  CHECK(back != NULL, "no export");
  if (back) {
    plumb_bridge_mark_inline_asm(back);
    char *printed = LLVMPrintModuleToString(back);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
      CHECK(strstr(printed, kept[i]), "'%s' is lost in\n%s", kept[i], printed);
    LLVMDisposeMessage(printed);
    LLVMDisposeModule(back);
  }
  LLVMContextDispose(llvm);
  mlirModuleDestroy(module);
}

static void check_bad_input(MlirContext context) {
  static const char bad[] = "define void @k() {\n  %a = frobnicate i32 1\n}\n";
  MlirModule module;
  plumb_diag diag = {0};
  plumb_status status =
      plumb_bridge_import_llvm_text(context, "bad.ll", bad, sizeof bad - 1, &module, &diag);
  CHECK(status == PLUMB_BAD_INPUT, "status %d", (int)status);
  CHECK(diag.line == 2 && strcmp(diag.path, "bad.ll") == 0, "%s:%d", diag.path, diag.line);
}

int main(void) {
  MlirContext context = mlirContextCreate();
  check_round_trip(context);
  check_bad_input(context);
  mlirContextDestroy(context);
  return check_finish();
}

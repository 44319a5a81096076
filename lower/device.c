#include "lower/device.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <string.h>

#include "ir/llvm/llvm.h"
#include "ir/mlir/mlir.h"
#include "ir/ptx/ptx.h"
#include "lower/gate.h"

static const char triple[] = "nvptx64-nvidia-cuda";

static plumb_program *create_program(plumb_device_lowering *l, plumb_status *status,
                                     plumb_diag *diag) {
  plumb_program *program = plumb_program_create(l->ladder->arena, l->ladder->name);
  *status = PLUMB_OK;
  if (!mlirModuleIsNull(l->host)) {
    plumb_mlir_options options = {.host_only = true};
    *status = plumb_mlir_decode(program, l->host, &options, diag);
  }
  return program;
}

void plumb_device_append_llvm(plumb_device_lowering *l, LLVMModuleRef module, const char *step) {
  char *text = LLVMPrintModuleToString(module);
  size_t length = strlen(text);
  plumb_stage *last =
      l->ladder->stage_count ? &l->ladder->stages[l->ladder->stage_count - 1] : NULL;
  if (last && last->kind == PLUMB_STAGE_LLVM && last->text_length == length &&
      memcmp(last->text, text, length) == 0) {
    l->ladder->unchanged_steps++;
  } else {
    plumb_diag problem;
    plumb_status status;
    plumb_program *program = create_program(l, &status, &problem);
    if (status == PLUMB_OK) status = plumb_llvm_decode(program, module, l->path, &problem);
    plumb_ladder_append(l->ladder, PLUMB_STAGE_LLVM, step, text, length, program,
                        status == PLUMB_OK ? NULL : &problem);
  }
  LLVMDisposeMessage(text);
}

static void append_ptx(plumb_device_lowering *l, const char *step, const char *text,
                       size_t length) {
  plumb_diag problem;
  plumb_status status;
  plumb_program *program = create_program(l, &status, &problem);
  if (status == PLUMB_OK) status = plumb_ptx_decode(program, l->path, text, length, &problem);
  plumb_ladder_append(l->ladder, PLUMB_STAGE_PTX, step, text, length, program,
                      status == PLUMB_OK ? NULL : &problem);
}

static LLVMTargetMachineRef create_machine(const char *arch, const char *path, plumb_diag *diag) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  LLVMTargetRef target;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(triple, &target, &message)) {
    plumb_fail(diag, PLUMB_INTERNAL, path, 0, 0, "LLVM has no NVPTX target: %s", message);
    LLVMDisposeMessage(message);
    return NULL;
  }
  /* PTX 8.0 is the first with everything that sm_90 needs. */
  return LLVMCreateTargetMachine(target, triple, arch, "+ptx80", LLVMCodeGenLevelDefault,
                                 LLVMRelocDefault, LLVMCodeModelDefault);
}

/* True when some declaration is called that libdevice defines. */
static bool needs_libdevice(LLVMModuleRef module) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    size_t length;
    const char *name = LLVMGetValueName2(f, &length);
    if (LLVMIsDeclaration(f) && strncmp(name, "__nv_", 5) == 0 && LLVMGetFirstUse(f)) return true;
  }
  return false;
}

static bool is_kernel(LLVMValueRef function) {
  enum { PTX_KERNEL_CALL_CONV = 71 };
  return LLVMGetFunctionCallConv(function) == PTX_KERNEL_CALL_CONV;
}

/* Links the libdevice functions that are called, as `nvcc` and `clang` do: the rest
 * is made internal and dropped. */
static plumb_status link_libdevice(plumb_device_lowering *l, LLVMModuleRef module,
                                   LLVMTargetMachineRef machine, plumb_diag *diag) {
  LLVMMemoryBufferRef buffer;
  char *message = NULL;
  if (LLVMCreateMemoryBufferWithContentsOfFile(l->options->libdevice, &buffer, &message)) {
    plumb_fail(diag, PLUMB_BAD_INPUT, l->options->libdevice, 0, 0, "cannot read: %s", message);
    LLVMDisposeMessage(message);
    return PLUMB_BAD_INPUT;
  }
  LLVMModuleRef library;
  if (LLVMParseIRInContext(LLVMGetModuleContext(module), buffer, &library, &message)) {
    plumb_fail(diag, PLUMB_BAD_INPUT, l->options->libdevice, 0, 0,
               "is no bitcode that LLVM 22 reads: %s", message);
    LLVMDisposeMessage(message);
    return PLUMB_BAD_INPUT;
  }
  LLVMSetTarget(library, LLVMGetTarget(module));
  LLVMSetDataLayout(library, LLVMGetDataLayoutStr(module));
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && !is_kernel(f)) LLVMSetLinkage(f, LLVMInternalLinkage);
  if (LLVMLinkModules2(module, library))
    return plumb_fail(diag, PLUMB_INTERNAL, l->path, 0, 0, "libdevice cannot be linked");
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && !is_kernel(f)) LLVMSetLinkage(f, LLVMInternalLinkage);
  char *error = plumb_gate_run(module, machine, "globaldce", NULL, NULL);
  if (error) {
    plumb_fail(diag, PLUMB_INTERNAL, l->path, 0, 0, "%s", error);
    plumb_gate_release_message(error);
    return PLUMB_INTERNAL;
  }
  plumb_device_append_llvm(l, module, "link libdevice");
  return PLUMB_OK;
}

static void observe_pass(void *user, const char *pass, LLVMModuleRef module) {
  plumb_device_append_llvm(user, module, pass);
}

static plumb_status emit_ptx(plumb_device_lowering *l, LLVMModuleRef module,
                             LLVMTargetMachineRef machine, plumb_diag *diag) {
  LLVMMemoryBufferRef buffer;
  char *message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &message, &buffer)) {
    plumb_fail(diag, PLUMB_UNSUPPORTED, l->path, 0, 0, "instruction selection: %s", message);
    LLVMDisposeMessage(message);
    return PLUMB_UNSUPPORTED;
  }
  append_ptx(l, "instruction selection", LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
  LLVMDisposeMemoryBuffer(buffer);
  return PLUMB_OK;
}

plumb_status plumb_device_lower(plumb_device_lowering *l, LLVMModuleRef module,
                                const char *first_step, plumb_diag *diag) {
  plumb_status status = PLUMB_OK;
  LLVMTargetMachineRef machine = create_machine(l->options->arch, l->path, diag);
  if (!machine) {
    LLVMDisposeModule(module);
    return PLUMB_INTERNAL;
  }
  LLVMSetTarget(module, triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  LLVMSetModuleDataLayout(module, layout);
  LLVMDisposeTargetData(layout);
  plumb_device_append_llvm(l, module, first_step);

  if (needs_libdevice(module) && l->options->libdevice)
    status = link_libdevice(l, module, machine, diag);
  if (status == PLUMB_OK) {
    /* LLVM's pass answers __CUDA_PREC_SQRT with 0, nvcc with 1 (the default): decide here. */
    if (plumb_llvm_resolve_reflect(module)) plumb_device_append_llvm(l, module, "resolve reflect");
    const char *pipeline = l->options->llvm_pipeline ? l->options->llvm_pipeline : "default<O2>";
    char *error = plumb_gate_run(module, machine, pipeline, observe_pass, l);
    if (error) {
      status = plumb_fail(diag, PLUMB_BAD_INPUT, l->path, 0, 0, "LLVM pipeline '%s': %s", pipeline,
                          error);
      plumb_gate_release_message(error);
    }
  }
  if (status == PLUMB_OK) status = emit_ptx(l, module, machine, diag);
  LLVMDisposeTargetMachine(machine);
  LLVMDisposeModule(module);
  return status;
}

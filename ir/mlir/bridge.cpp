#include "ir/mlir/bridge.h"

#include <string>

#include "llvm-c/Core.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMIRToLLVMTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/LLVMIRToNVVMTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Import.h"

extern "C" void plumb_bridge_register(MlirContext context) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect, mlir::DLTIDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  mlir::registerLLVMDialectImport(registry);
  mlir::registerNVVMDialectImport(registry);
  unwrap(context)->appendDialectRegistry(registry);
}

/* The importer drops the flag; the exporter writes it where the attribute stands. */
static void restoreGlobals(const llvm::StringSet<> &external, mlir::ModuleOp module) {
  module.walk([&](mlir::LLVM::GlobalOp global) {
    if (external.contains(global.getSymName()))
      global->setAttr("externally_initialized", mlir::UnitAttr::get(global.getContext()));
  });
}

static plumb_status import(MlirContext context, std::unique_ptr<llvm::Module> module,
                           const char *path, MlirModule *out_module, plumb_diag *diag) {
  llvm::StringSet<> external;
  for (const llvm::GlobalVariable &g : module->globals())
    if (g.isExternallyInitialized()) external.insert(g.getName());
  std::string errors;
  mlir::MLIRContext *ctx = unwrap(context);
  plumb_bridge_register(context);
  mlir::OwningOpRef<mlir::ModuleOp> imported;
  {
    mlir::ScopedDiagnosticHandler handler(ctx, [&](mlir::Diagnostic &d) {
      if (d.getSeverity() == mlir::DiagnosticSeverity::Error) errors += d.str() + "; ";
      return mlir::success();
    });
    imported = mlir::translateLLVMIRToModule(std::move(module), ctx,
                                             /*emitExpensiveWarnings=*/false,
                                             /*dropDICompositeTypeElements=*/true);
  }
  if (!imported)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, path, 0, 0, "MLIR does not import this LLVM IR: %s",
                      errors.c_str());
  restoreGlobals(external, *imported);
  *out_module = wrap(imported.release());
  return PLUMB_OK;
}

extern "C" plumb_status plumb_bridge_import_llvm(MlirContext context, LLVMModuleRef module,
                                                 MlirModule *out_module, plumb_diag *diag) {
  const llvm::Module *original = llvm::unwrap(module);
  return import(context, llvm::CloneModule(*original), original->getName().str().c_str(),
                out_module, diag);
}

extern "C" plumb_status plumb_bridge_import_llvm_text(MlirContext context, const char *path,
                                                      const char *text, size_t length,
                                                      MlirModule *out_module, plumb_diag *diag) {
  llvm::LLVMContext llvmContext;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssembly(
      llvm::MemoryBufferRef(llvm::StringRef(text, length), path), error, llvmContext);
  if (!module)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, error.getLineNo(), error.getColumnNo() + 1,
                      "not LLVM IR: %s", error.getMessage().str().c_str());
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream))
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "the LLVM IR does not verify: %s",
                      problem.c_str());
  return import(context, std::move(module), path, out_module, diag);
}

extern "C" void plumb_bridge_mark_inline_asm(LLVMModuleRef module) {
  for (llvm::Function &f : *llvm::unwrap(module))
    for (llvm::Instruction &i : llvm::instructions(f))
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&i); call && call->isInlineAsm()) {
        call->addFnAttr(llvm::Attribute::Convergent);
        call->addFnAttr(llvm::Attribute::NoUnwind);
      }
}

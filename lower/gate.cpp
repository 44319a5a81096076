// See gate.h.
#include "lower/gate.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace {

std::string print_module(const Module &module) {
  std::string text;
  raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

// Adaptors and pass managers only run other passes; their passes report themselves.
bool is_container(StringRef pass) {
  return pass.contains("PassManager") || pass.contains("PassAdaptor") ||
         pass.contains("AnalysisManagerProxy") || pass.contains("DevirtSCCRepeatedPass") ||
         pass.contains("ModuleInlinerWrapperPass");
}

struct Gate {
  Module *module;
  std::string before;
  plumb_gate_observer observer;
  void *user;
  PassInstrumentationCallbacks *callbacks;

  void after(StringRef pass) {
    if (is_container(pass)) return;
    std::string now = print_module(*module);
    if (now == before) return;
    before = std::move(now);
    StringRef name = callbacks->getPassNameForClassName(pass);
    std::string text = (name.empty() ? pass : name).str();
    if (observer) observer(user, text.c_str(), wrap(module));
  }
};

char *copy_message(const std::string &message) {
  char *copy = static_cast<char *>(malloc(message.size() + 1));
  if (copy) memcpy(copy, message.c_str(), message.size() + 1);
  return copy;
}

} // namespace

extern "C" char *plumb_gate_run(LLVMModuleRef module_ref, LLVMTargetMachineRef machine_ref,
                                const char *pipeline, plumb_gate_observer observer, void *user) {
  Module *module = unwrap(module_ref);
  TargetMachine *machine = reinterpret_cast<TargetMachine *>(machine_ref);
  PassInstrumentationCallbacks callbacks;
  Gate gate{module, print_module(*module), observer, user, &callbacks};
  callbacks.registerAfterPassCallback(
      [&gate](StringRef pass, Any, const PreservedAnalyses &) { gate.after(pass); });
  // A pass that deletes its own unit (a function, a loop) reports without it.
  callbacks.registerAfterPassInvalidatedCallback(
      [&gate](StringRef pass, const PreservedAnalyses &) { gate.after(pass); });

  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(machine, PipelineTuningOptions(), std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  ModulePassManager passes;
  if (Error error = builder.parsePassPipeline(passes, pipeline))
    return copy_message(toString(std::move(error)));
  passes.run(*module, modules);
  return nullptr;
}

extern "C" void plumb_gate_release_message(char *message) {
  free(message);
}

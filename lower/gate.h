/* Runs LLVM's own pass pipelines and stops after every pass. The C API runs a
 * pipeline as a whole; seeing each pass needs PassInstrumentationCallbacks (C++). */
#ifndef PLUMB_LOWER_GATE_H
#define PLUMB_LOWER_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called after a pass that changed the module. `pass` is its pipeline name ("sroa"),
 * `module` is in a consistent state, borrowed, and must not be changed. */
typedef void (*plumb_gate_observer)(void *user, const char *pass, LLVMModuleRef module);

/* Runs `pipeline` (a textual LLVM pipeline, "default<O2>") over the module in place.
 * A pass that leaves the printed module as it was is not reported.
 * `observer` may be NULL. Returns NULL, or a message to be released with
 * plumb_gate_release_message. */
char *plumb_gate_run(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *pipeline,
                     plumb_gate_observer observer, void *user);
void plumb_gate_release_message(char *message);

#ifdef __cplusplus
}
#endif

#endif

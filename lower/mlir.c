/* Ladders that start from MLIR text, from LLVM IR text, and single stages. */
#include "ir/mlir/mlir.h"

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <string.h>

#include "ir/llvm/llvm.h"
#include "ir/mlir/bridge.h"
#include "ir/ptx/ptx.h"
#include "lower/device.h"
#include "lower/kernel_names.h"
#include "lower/lower.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/Pass.h"
#include "mlir-c/RegisterEverything.h"
#include "mlir-c/Target/LLVMIR.h"

static MlirStringRef text_ref(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

static void append_to_text(MlirStringRef part, void *user) {
  plumb_text_append(user, part.data, part.length);
}

static plumb_text print_operation(plumb_arena *arena, MlirOperation op) {
  plumb_text text = plumb_text_create(arena);
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOperationPrintWithFlags(op, flags, append_to_text, &text);
  mlirOpPrintingFlagsDestroy(flags);
  return text;
}

static void append_mlir(plumb_ladder *ladder, MlirModule module, const char *step) {
  plumb_text text = print_operation(ladder->arena, mlirModuleGetOperation(module));
  plumb_stage *last = ladder->stage_count ? &ladder->stages[ladder->stage_count - 1] : NULL;
  if (last && last->text_length == text.length && memcmp(last->text, text.data, text.length) == 0) {
    ladder->unchanged_steps++;
    return;
  }
  plumb_diag problem;
  plumb_program *program = plumb_program_create(ladder->arena, ladder->name);
  plumb_status status = plumb_mlir_decode(program, module, NULL, &problem);
  plumb_ladder_append(ladder, PLUMB_STAGE_MLIR, step, text.data, text.length, program,
                      status == PLUMB_OK ? NULL : &problem);
}

/* The first error that MLIR reports while one step runs. */
typedef struct message_collector {
  plumb_arena *arena;
  plumb_text text;
} message_collector;

static MlirLogicalResult collect_message(MlirDiagnostic diagnostic, void *user) {
  message_collector *collector = user;
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError && !collector->text.length)
    mlirDiagnosticPrint(diagnostic, append_to_text, &collector->text);
  return mlirLogicalResultSuccess();
}

static plumb_status run_step(plumb_ladder *ladder, const char *path, MlirModule module,
                             const char *step, plumb_diag *diag) {
  MlirContext context = mlirModuleGetContext(module);
  message_collector collector = {ladder->arena, plumb_text_create(ladder->arena)};
  MlirDiagnosticHandlerID handler =
      mlirContextAttachDiagnosticHandler(context, collect_message, &collector, NULL);
  MlirPassManager passes = mlirPassManagerCreate(context);
  plumb_text parse_message = plumb_text_create(ladder->arena);
  plumb_status status = PLUMB_OK;
  if (mlirLogicalResultIsFailure(
          mlirOpPassManagerAddPipeline(mlirPassManagerGetAsOpPassManager(passes), text_ref(step),
                                       append_to_text, &parse_message)))
    status = plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "pipeline step '%s': %s", step,
                        parse_message.data);
  else if (mlirLogicalResultIsFailure(
               mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module))))
    status = plumb_fail(diag, PLUMB_UNSUPPORTED, path, 0, 0, "step '%s' failed: %s", step,
                        collector.text.length ? collector.text.data : "no message");
  mlirPassManagerDestroy(passes);
  mlirContextDetachDiagnosticHandler(context, handler);
  return status;
}

/* Translates every gpu.module and links them into one LLVM module. NULL: a translation
 * failed (*out_count > 0), or there is none. */
static LLVMModuleRef translate_device(MlirModule module, LLVMContextRef context, int *out_count) {
  LLVMModuleRef whole = NULL;
  *out_count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (!plumb_is_gpu_module(op)) continue;
    ++*out_count;
    LLVMModuleRef part = mlirTranslateModuleToLLVMIR(op, context);
    if (part && !whole) {
      whole = part;
    } else if (!part || LLVMLinkModules2(whole, part)) {
      if (whole) LLVMDisposeModule(whole);
      return NULL;
    }
  }
  return whole;
}

static plumb_status lower_device_part(plumb_ladder *ladder, const char *path, MlirModule module,
                                      const plumb_lower_options *options, plumb_diag *diag) {
  LLVMContextRef context = LLVMContextCreate();
  int count;
  LLVMModuleRef llvm = translate_device(module, context, &count);
  plumb_status status = PLUMB_OK;
  if (!llvm && !count) {
    ladder->no_device = "the pipeline leaves no gpu.module to take to PTX";
  } else if (!llvm) {
    plumb_diag problem;
    plumb_fail(&problem, PLUMB_UNSUPPORTED, path, 0, 0,
               "a gpu.module cannot be translated to LLVM IR");
    plumb_ladder_append(ladder, PLUMB_STAGE_LLVM, "translate to LLVM IR", "", 0, NULL, &problem);
  } else {
    plumb_device_lowering lowering = {ladder, options, path, module};
    status = plumb_device_lower(&lowering, llvm, "translate to LLVM IR", diag);
  }
  LLVMContextDispose(context);
  return status;
}

static void append_failed_step(plumb_ladder *ladder, plumb_stage_kind kind, const char *step,
                               const plumb_diag *problem) {
  plumb_ladder_append(ladder, kind, step, "", 0, NULL, problem);
}

plumb_status plumb_lower_mlir(plumb_ladder *ladder, const char *path, const char *text,
                              size_t length, const plumb_lower_options *options, plumb_diag *diag) {
  (void)length;
  const char **steps;
  size_t step_count;
  const char *pipeline = options->pipeline ? options->pipeline : plumb_lower_default_pipeline();
  PLUMB_TRY(plumb_lower_split_pipeline(ladder->arena, pipeline, &steps, &step_count, diag));
  MlirContext context = plumb_mlir_context_create();
  mlirRegisterAllLLVMTranslations(context);
  mlirRegisterAllPasses();
  MlirModule module = {NULL};
  plumb_status status = plumb_mlir_parse(context, path, text, &module, diag);
  if (status == PLUMB_OK) append_mlir(ladder, module, "source");
  for (size_t i = 0; i < step_count && status == PLUMB_OK; i++) {
    plumb_diag problem;
    status = run_step(ladder, path, module, steps[i], &problem);
    if (status == PLUMB_OK) {
      plumb_make_kernel_names_unique(module);
      append_mlir(ladder, module, steps[i]);
    } else if (status == PLUMB_UNSUPPORTED) {
      append_failed_step(ladder, PLUMB_STAGE_MLIR, steps[i], &problem);
      break;
    } else if (diag) {
      *diag = problem;
    }
  }
  if (status == PLUMB_OK && options->to_ptx)
    status = lower_device_part(ladder, path, module, options, diag);
  if (status == PLUMB_UNSUPPORTED && ladder->stage_count) status = PLUMB_OK;
  if (!mlirModuleIsNull(module)) mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return status;
}

static plumb_status parse_llvm(LLVMContextRef context, const char *path, const char *text,
                               size_t length, LLVMModuleRef *out_module, plumb_diag *diag) {
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, length, path);
  char *message = NULL;
  if (!LLVMParseIRInContext(context, buffer, out_module, &message)) return PLUMB_OK;
  plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "is no LLVM IR that LLVM 22 reads: %s", message);
  LLVMDisposeMessage(message);
  return PLUMB_BAD_INPUT;
}

/* LLVM IR -> MLIR's llvm dialect -> LLVM IR: the import is a step like any other. */
static plumb_status round_trip(plumb_ladder *ladder, const char *path, LLVMModuleRef module,
                               LLVMContextRef context, LLVMModuleRef *out_module,
                               plumb_diag *diag) {
  MlirContext mlir = plumb_mlir_context_create();
  plumb_bridge_register(mlir);
  MlirModule imported = {NULL};
  plumb_status status = plumb_bridge_import_llvm(mlir, module, &imported, diag);
  if (status == PLUMB_OK) {
    append_mlir(ladder, imported, "import into MLIR");
    *out_module = mlirTranslateModuleToLLVMIR(mlirModuleGetOperation(imported), context);
    if (*out_module)
      plumb_bridge_mark_inline_asm(*out_module);
    else
      status = plumb_fail(diag, PLUMB_UNSUPPORTED, path, 0, 0,
                          "the imported module cannot be translated back to LLVM IR");
    mlirModuleDestroy(imported);
  }
  mlirContextDestroy(mlir);
  return status;
}

plumb_status plumb_lower_llvm(plumb_ladder *ladder, const char *path, const char *text,
                              size_t length, const plumb_lower_options *options, plumb_diag *diag) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = NULL, exported = NULL;
  plumb_status status = parse_llvm(context, path, text, length, &module, diag);
  plumb_device_lowering lowering = {ladder, options, path, {NULL}};
  if (status == PLUMB_OK) {
    plumb_device_append_llvm(&lowering, module, "source");
    /* MLIR has no module flags that would answer them after the import. */
    if (plumb_llvm_resolve_reflect(module))
      plumb_device_append_llvm(&lowering, module, "resolve reflect");
    plumb_diag problem;
    status = round_trip(ladder, path, module, context, &exported, &problem);
    if (status != PLUMB_OK) {
      append_failed_step(ladder, PLUMB_STAGE_MLIR, "import into MLIR", &problem);
      status = PLUMB_OK;
    } else {
      status = plumb_device_lower(&lowering, exported, "translate to LLVM IR", &problem);
      if (status == PLUMB_UNSUPPORTED) {
        append_failed_step(ladder, PLUMB_STAGE_PTX, "instruction selection", &problem);
        status = PLUMB_OK;
      } else if (status != PLUMB_OK && diag) {
        *diag = problem;
      }
    }
    LLVMDisposeModule(module);
  }
  LLVMContextDispose(context);
  return status;
}

static plumb_status single_mlir(plumb_ladder *ladder, const char *path, const char *text,
                                plumb_diag *diag) {
  MlirContext context = plumb_mlir_context_create();
  MlirModule module = {NULL};
  plumb_status status = plumb_mlir_parse(context, path, text, &module, diag);
  if (status == PLUMB_OK) {
    append_mlir(ladder, module, "source");
    mlirModuleDestroy(module);
  }
  mlirContextDestroy(context);
  return status;
}

static plumb_status single_llvm(plumb_ladder *ladder, const char *path, const char *text,
                                size_t length, plumb_diag *diag) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = NULL;
  plumb_status status = parse_llvm(context, path, text, length, &module, diag);
  if (status == PLUMB_OK) {
    plumb_lower_options none = {0};
    plumb_device_lowering lowering = {ladder, &none, path, {NULL}};
    plumb_device_append_llvm(&lowering, module, "source");
    LLVMDisposeModule(module);
  }
  LLVMContextDispose(context);
  return status;
}

plumb_status plumb_lower_single(plumb_ladder *ladder, plumb_stage_kind kind, const char *path,
                                const char *text, size_t length, plumb_diag *diag) {
  plumb_program *program = NULL;
  switch (kind) {
    case PLUMB_STAGE_MLIR:
      return single_mlir(ladder, path, text, diag);
    case PLUMB_STAGE_LLVM:
      return single_llvm(ladder, path, text, length, diag);
    case PLUMB_STAGE_PTX:
      program = plumb_program_create(ladder->arena, path);
      PLUMB_TRY(plumb_ptx_decode(program, path, text, length, diag));
      break;
    case PLUMB_STAGE_PROGRAM:
      PLUMB_TRY(plumb_program_read(ladder->arena, path, text, length, &program, diag));
      break;
  }
  plumb_stage *stage = plumb_ladder_append(ladder, kind, "source", text, length, program, NULL);
  if (!stage->program) {
    if (diag) *diag = stage->problem;
    return PLUMB_BAD_INPUT;
  }
  return PLUMB_OK;
}

/* A context with every upstream dialect, and modules from text. */
#include <stdio.h>
#include <string.h>

#include "ir/mlir/mlir.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/RegisterEverything.h"

MlirContext plumb_mlir_context_create(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextSetAllowUnregisteredDialects(context, true);
  mlirContextLoadAllAvailableDialects(context);
  return context;
}

typedef struct first_message {
  char text[900];
  int line, column;
  bool seen;
} first_message;

static void append(MlirStringRef part, void *data) {
  first_message *m = data;
  size_t used = strlen(m->text), room = sizeof m->text - 1 - used;
  size_t length = part.length < room ? part.length : room;
  memcpy(m->text + used, part.data, length);
  m->text[used + length] = 0;
}

static MlirLogicalResult keep_first(MlirDiagnostic diagnostic, void *data) {
  first_message *m = data;
  if (m->seen || mlirDiagnosticGetSeverity(diagnostic) != MlirDiagnosticError)
    return mlirLogicalResultSuccess();
  m->seen = true;
  MlirLocation at = mlirDiagnosticGetLocation(diagnostic);
  if (mlirLocationIsAFileLineColRange(at)) {
    m->line = mlirLocationFileLineColRangeGetStartLine(at);
    m->column = mlirLocationFileLineColRangeGetStartColumn(at);
  }
  mlirDiagnosticPrint(diagnostic, append, m);
  return mlirLogicalResultSuccess();
}

plumb_status plumb_mlir_parse(MlirContext context, const char *path, const char *text,
                              MlirModule *out_module, plumb_diag *diag) {
  first_message message = {0};
  MlirDiagnosticHandlerID handler =
      mlirContextAttachDiagnosticHandler(context, keep_first, &message, NULL);
  MlirOperation op =
      mlirOperationCreateParse(context, mlirStringRefCreateFromCString(text),
                               mlirStringRefCreateFromCString(path ? path : "input.mlir"));
  mlirContextDetachDiagnosticHandler(context, handler);
  *out_module = (MlirModule){NULL};
  if (!mlirOperationIsNull(op)) {
    *out_module = mlirModuleFromOperation(op);
    if (!mlirModuleIsNull(*out_module)) return PLUMB_OK;
    mlirOperationDestroy(op);
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0,
                      "the top-level operation is not a builtin.module");
  }
  return plumb_fail(diag, PLUMB_BAD_INPUT, path, message.line, message.column, "%s",
                    message.seen ? message.text : "the text is not an MLIR module");
}

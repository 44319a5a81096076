/* A context with every upstream dialect, and modules from text. */
#include <stdint.h>
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

/* The C API's parser knows no file name: where an operation's place is in this text, the
 * path is put in. */
static MlirWalkResult name_file(MlirOperation op, void *path) {
  MlirLocation at = mlirOperationGetLocation(op);
  if (!mlirLocationIsAFileLineColRange(at)) return MlirWalkResultAdvance;
  MlirStringRef file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(at));
  if (file.length != 1 || file.data[0] != '-') return MlirWalkResultAdvance;
  mlirOperationSetLocation(op, mlirLocationFileLineColGet(
                                   mlirLocationGetContext(at), mlirStringRefCreateFromCString(path),
                                   (unsigned)mlirLocationFileLineColRangeGetStartLine(at),
                                   (unsigned)mlirLocationFileLineColRangeGetStartColumn(at)));
  return MlirWalkResultAdvance;
}

plumb_status plumb_mlir_parse(MlirContext context, const char *path, const char *text,
                              MlirModule *out_module, plumb_diag *diag) {
  first_message message = {0};
  MlirDiagnosticHandlerID handler =
      mlirContextAttachDiagnosticHandler(context, keep_first, &message, NULL);
  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(text));
  mlirContextDetachDiagnosticHandler(context, handler);
  *out_module = module;
  if (!mlirModuleIsNull(module)) {
    char *file = (char *)(uintptr_t)path;
    if (path && *path)
      mlirOperationWalk(mlirModuleGetOperation(module), name_file, file, MlirWalkPreOrder);
    return PLUMB_OK;
  }
  return plumb_fail(diag, PLUMB_BAD_INPUT, path, message.line, message.column, "%s",
                    message.seen ? message.text : "the text is not an MLIR module");
}

/* The signature of a function at stage 0: what a task's tensors are matched against. */
#include <stdio.h>
#include <string.h>

#include "ir/mlir/decode_internal.h"

static void append(MlirStringRef part, void *text) {
  plumb_text_append(text, part.data, part.length);
}

static const char *print_type(plumb_arena *arena, MlirType type) {
  plumb_text text = plumb_text_create(arena);
  mlirTypePrint(type, append, &text);
  return text.data;
}

static bool read_value(plumb_arena *arena, MlirType type, plumb_mlir_value *out) {
  *out = (plumb_mlir_value){.text = print_type(arena, type)};
  MlirType element = type;
  if (mlirTypeIsARankedTensor(type) || mlirTypeIsAMemRef(type)) {
    out->kind = mlirTypeIsAMemRef(type) ? PLUMB_MLIR_MEMREF : PLUMB_MLIR_TENSOR;
    out->rank = (size_t)mlirShapedTypeGetRank(type);
    int64_t *dims = PLUMB_NEW_ARRAY(arena, int64_t, out->rank + 1);
    for (size_t i = 0; i < out->rank; i++)
      dims[i] = mlirShapedTypeIsDynamicDim(type, (intptr_t)i)
                    ? -1
                    : mlirShapedTypeGetDimSize(type, (intptr_t)i);
    out->dims = dims;
    element = mlirShapedTypeGetElementType(type);
  }
  return plumb_mlir_scalar_type(element, &out->dtype, &out->bits);
}

static plumb_status read_values(plumb_arena *arena, MlirType function, const char *name,
                                bool results, const plumb_mlir_value **out_values,
                                size_t *out_count, plumb_diag *diag) {
  intptr_t count =
      results ? mlirFunctionTypeGetNumResults(function) : mlirFunctionTypeGetNumInputs(function);
  plumb_mlir_value *values = PLUMB_NEW_ARRAY(arena, plumb_mlir_value, (size_t)count + 1);
  for (intptr_t i = 0; i < count; i++) {
    MlirType type =
        results ? mlirFunctionTypeGetResult(function, i) : mlirFunctionTypeGetInput(function, i);
    if (!read_value(arena, type, &values[i]))
      return plumb_fail(diag, PLUMB_UNSUPPORTED, NULL, 0, 0,
                        "@%s: %s %zd has type %s: use a "
                        "scalar, a ranked tensor or a memref of a known element type",
                        name, results ? "result" : "input", (ssize_t)i, values[i].text);
  }
  *out_values = values;
  *out_count = (size_t)count;
  return PLUMB_OK;
}

static bool symbol_is(MlirOperation op, const char *name) {
  MlirAttribute a = mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString("sym_name"));
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAString(a)) return false;
  MlirStringRef text = mlirStringAttrGetValue(a);
  return strlen(name) == text.length && memcmp(text.data, name, text.length) == 0;
}

static void list_function(plumb_text *names, MlirOperation op) {
  MlirAttribute a = mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString("sym_name"));
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAString(a)) return;
  MlirStringRef text = mlirStringAttrGetValue(a);
  plumb_text_printf(names, "%s@%.*s", names->length ? ", " : "", (int)text.length, text.data);
}

plumb_status plumb_mlir_signature(plumb_arena *arena, MlirModule module, const char *name,
                                  plumb_mlir_signature_info *out_signature, plumb_diag *diag) {
  plumb_text names = plumb_text_create(arena);
  *out_signature = (plumb_mlir_signature_info){0};
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (!plumb_mlir_name_is(op, "func.func")) continue;
    list_function(&names, op);
    if (!symbol_is(op, name)) continue;
    MlirAttribute a =
        mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString("function_type"));
    MlirType type = mlirTypeAttrGetValue(a);
    PLUMB_TRY(read_values(arena, type, name, false, &out_signature->inputs,
                          &out_signature->input_count, diag));
    return read_values(arena, type, name, true, &out_signature->results,
                       &out_signature->result_count, diag);
  }
  return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0, "no function @%s; there is %s", name,
                    names.length ? names.data : "none");
}

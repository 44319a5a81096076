/* The signature of a function at stage 0: what a task's tensors are matched against. */
#include <string.h>

#include "ir/mlir/decode_internal.h"
#include "ir/signature.h"

static void append(MlirStringRef part, void *text) {
  plumb_text_append(text, part.data, part.length);
}

static const char *print_type(plumb_arena *arena, MlirType type) {
  plumb_text text = plumb_text_create(arena);
  mlirTypePrint(type, append, &text);
  return text.data;
}

static bool read_value(plumb_arena *arena, MlirType type, plumb_signature_value *out) {
  *out = (plumb_signature_value){.text = print_type(arena, type)};
  MlirType element = type;
  if (mlirTypeIsARankedTensor(type) || mlirTypeIsAMemRef(type)) {
    out->kind = mlirTypeIsAMemRef(type) ? PLUMB_SIGNATURE_MEMREF : PLUMB_SIGNATURE_TENSOR;
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
                                bool results, const plumb_signature_value **out_values,
                                size_t *out_count, plumb_diag *diag) {
  intptr_t count =
      results ? mlirFunctionTypeGetNumResults(function) : mlirFunctionTypeGetNumInputs(function);
  plumb_signature_value *values = PLUMB_NEW_ARRAY(arena, plumb_signature_value, (size_t)count + 1);
  for (intptr_t i = 0; i < count; i++) {
    MlirType type =
        results ? mlirFunctionTypeGetResult(function, i) : mlirFunctionTypeGetInput(function, i);
    if (!read_value(arena, type, &values[i]))
      return plumb_fail(diag, PLUMB_UNSUPPORTED, NULL, 0, 0,
                        "@%s: %s %zu has type %s: use a "
                        "scalar, a ranked tensor or a memref of a known element type",
                        name, results ? "result" : "input", (size_t)i, values[i].text);
  }
  *out_values = values;
  *out_count = (size_t)count;
  return PLUMB_OK;
}

static const char *symbol_name(plumb_arena *arena, MlirOperation op) {
  MlirAttribute a = mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString("sym_name"));
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAString(a)) return "";
  MlirStringRef text = mlirStringAttrGetValue(a);
  return plumb_arena_copy_text(arena, text.data, text.length);
}

static bool has_body(MlirOperation op) {
  return mlirOperationGetNumRegions(op) > 0 &&
         !mlirBlockIsNull(mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)));
}

/* How many func.func with a body are called `name` (NULL: any); the last of them, and
 * the names of all. */
static size_t find(plumb_arena *arena, MlirModule module, const char *name,
                   MlirOperation *out_function, plumb_text *names) {
  size_t count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (!plumb_mlir_name_is(op, "func.func") || !has_body(op)) continue;
    const char *symbol = symbol_name(arena, op);
    plumb_text_printf(names, "%s@%s", names->length ? ", " : "", symbol);
    if (name && strcmp(symbol, name) != 0) continue;
    *out_function = op;
    count++;
  }
  return count;
}

static plumb_status read_signature(plumb_arena *arena, MlirModule module, const char *path,
                                   const char *name, plumb_signature *out, plumb_diag *diag) {
  MlirOperation op = {NULL};
  plumb_text names = plumb_text_create(arena);
  size_t count = find(arena, module, name, &op, &names);
  const char *list = names.length ? names.data : "none";
  *out = (plumb_signature){0};
  if (!count && !name)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "has no func.func with a body");
  if (!count)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "no function @%s; there is %s", name,
                      list);
  if (count > 1)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0,
                      "which function is meant? There are %s; name the entry", list);
  MlirAttribute a =
      mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString("function_type"));
  MlirType type = mlirTypeAttrGetValue(a);
  out->name = symbol_name(arena, op);
  PLUMB_TRY(read_values(arena, type, out->name, false, &out->inputs, &out->input_count, diag));
  return read_values(arena, type, out->name, true, &out->results, &out->result_count, diag);
}

plumb_status plumb_signature_read(plumb_arena *arena, const char *path, const char *text,
                                  const char *name, plumb_signature *out_signature,
                                  plumb_diag *diag) {
  MlirContext context = plumb_mlir_context_create();
  MlirModule module = {NULL};
  plumb_status status = plumb_mlir_parse(context, path, text, &module, diag);
  if (status == PLUMB_OK) {
    status = read_signature(arena, module, path, name, out_signature, diag);
    mlirModuleDestroy(module);
  }
  mlirContextDestroy(context);
  return status;
}

plumb_status plumb_signature_find(const char *path, const char *text, const char *name,
                                  bool *out_found, plumb_diag *diag) {
  plumb_arena *arena = plumb_arena_create();
  plumb_text names = plumb_text_create(arena);
  MlirContext context = plumb_mlir_context_create();
  MlirModule module = {NULL};
  MlirOperation last;
  plumb_status status = plumb_mlir_parse(context, path, text, &module, diag);
  if (status == PLUMB_OK) {
    *out_found = find(arena, module, name, &last, &names) > 0;
    mlirModuleDestroy(module);
  }
  mlirContextDestroy(context);
  plumb_arena_destroy(arena);
  return status;
}

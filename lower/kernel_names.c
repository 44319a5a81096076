#include "lower/kernel_names.h"

#include "mlir-c/BuiltinAttributes.h"

static MlirStringRef ref(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

bool plumb_is_gpu_module(MlirOperation op) {
  return mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)), ref("gpu.module"));
}

static MlirAttribute symbol_name(MlirOperation op) {
  return mlirOperationGetAttributeByName(op, ref("sym_name"));
}

static bool same_name(MlirOperation a, MlirOperation b) {
  MlirAttribute x = symbol_name(a), y = symbol_name(b);
  return !mlirAttributeIsNull(x) && !mlirAttributeIsNull(y) &&
         mlirStringRefEqual(mlirStringAttrGetValue(x), mlirStringAttrGetValue(y));
}

static MlirBlock body_of(MlirOperation op) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
}

/* An operation of the same name in a gpu.module before `scope`. */
static bool name_taken(MlirModule module, MlirOperation scope, MlirOperation op) {
  for (MlirOperation m = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
       !mlirOperationIsNull(m) && !mlirOperationEqual(m, scope);
       m = mlirOperationGetNextInBlock(m)) {
    if (!plumb_is_gpu_module(m)) continue;
    for (MlirOperation f = mlirBlockGetFirstOperation(body_of(m)); !mlirOperationIsNull(f);
         f = mlirOperationGetNextInBlock(f))
      if (same_name(f, op)) return true;
  }
  return false;
}

typedef struct renaming {
  MlirContext context;
  MlirAttribute scope, from; /* string attributes */
} renaming;

static MlirWalkResult rename_launch(MlirOperation op, void *user) {
  const renaming *r = user;
  if (!mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)), ref("gpu.launch_func")))
    return MlirWalkResultAdvance;
  MlirAttribute kernel = mlirOperationGetAttributeByName(op, ref("kernel"));
  if (mlirAttributeIsNull(kernel) || !mlirAttributeIsASymbolRef(kernel) ||
      mlirSymbolRefAttrGetNumNestedReferences(kernel) != 1)
    return MlirWalkResultAdvance;
  MlirStringRef scope = mlirStringAttrGetValue(r->scope);
  if (!mlirStringRefEqual(mlirSymbolRefAttrGetRootReference(kernel), scope) ||
      !mlirStringRefEqual(mlirSymbolRefAttrGetLeafReference(kernel),
                          mlirStringAttrGetValue(r->from)))
    return MlirWalkResultAdvance;
  MlirAttribute leaf = mlirFlatSymbolRefAttrGet(r->context, scope);
  mlirOperationSetAttributeByName(op, ref("kernel"),
                                  mlirSymbolRefAttrGet(r->context, scope, 1, &leaf));
  return MlirWalkResultAdvance;
}

void plumb_make_kernel_names_unique(MlirModule module) {
  MlirContext context = mlirModuleGetContext(module);
  for (MlirOperation m = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
       !mlirOperationIsNull(m); m = mlirOperationGetNextInBlock(m)) {
    if (!plumb_is_gpu_module(m)) continue;
    for (MlirOperation f = mlirBlockGetFirstOperation(body_of(m)); !mlirOperationIsNull(f);
         f = mlirOperationGetNextInBlock(f)) {
      if (mlirAttributeIsNull(symbol_name(f)) || same_name(f, m) || !name_taken(module, m, f))
        continue;
      renaming r = {context, symbol_name(m), symbol_name(f)};
      mlirOperationWalk(mlirModuleGetOperation(module), rename_launch, &r, MlirWalkPreOrder);
      mlirOperationSetAttributeByName(f, ref("sym_name"), symbol_name(m));
    }
  }
}

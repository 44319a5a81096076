/* Reading attributes: inherent ones (properties) and discardable ones alike. */
#include <ctype.h>
#include <string.h>

#include "ir/mlir/decode_internal.h"

static MlirStringRef ref(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

bool plumb_mlir_attribute(MlirOperation op, const char *name, MlirAttribute *out) {
  *out = mlirOperationGetAttributeByName(op, ref(name));
  return !mlirAttributeIsNull(*out);
}

bool plumb_mlir_attribute_int(MlirOperation op, const char *name, int64_t *out_value) {
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, name, &attribute) || !mlirAttributeIsAInteger(attribute))
    return false;
  MlirType type = mlirAttributeGetType(attribute);
  if (mlirTypeIsAInteger(type) && mlirIntegerTypeGetWidth(type) > 64) return false;
  if (mlirTypeIsAInteger(type) && mlirIntegerTypeIsUnsigned(type))
    *out_value = (int64_t)mlirIntegerAttrGetValueUInt(attribute);
  else if (mlirTypeIsAInteger(type) && mlirIntegerTypeIsSigned(type))
    *out_value = mlirIntegerAttrGetValueSInt(attribute);
  else
    *out_value = mlirIntegerAttrGetValueInt(attribute);
  return true;
}

bool plumb_mlir_attribute_flag(MlirOperation op, const char *name) {
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, name, &attribute)) return false;
  if (mlirAttributeIsABool(attribute)) return mlirBoolAttrGetValue(attribute);
  return mlirAttributeIsAUnit(attribute);
}

static bool element_int(MlirAttribute element, int64_t *out) {
  if (!mlirAttributeIsAInteger(element)) return false;
  *out = mlirIntegerAttrGetValueInt(element);
  return true;
}

static bool list_get(MlirAttribute a, intptr_t i, int64_t *out) {
  if (mlirAttributeIsADenseI64Array(a)) return *out = mlirDenseI64ArrayGetElement(a, i), true;
  if (mlirAttributeIsADenseI32Array(a)) return *out = mlirDenseI32ArrayGetElement(a, i), true;
  if (mlirAttributeIsADenseBoolArray(a)) return *out = mlirDenseBoolArrayGetElement(a, i), true;
  if (mlirAttributeIsAArray(a)) return element_int(mlirArrayAttrGetElement(a, i), out);
  if (!mlirAttributeIsADenseIntElements(a)) return false;
  MlirType type = mlirShapedTypeGetElementType(mlirAttributeGetType(a));
  if (mlirTypeIsAIndex(type)) return *out = (int64_t)mlirDenseElementsAttrGetIndexValue(a, i), true;
  switch (mlirIntegerTypeGetWidth(type)) {
    case 1:
      return *out = mlirDenseElementsAttrGetBoolValue(a, i), true;
    case 32:
      return *out = mlirDenseElementsAttrGetInt32Value(a, i), true;
    case 64:
      return *out = mlirDenseElementsAttrGetInt64Value(a, i), true;
    default:
      return false;
  }
}

bool plumb_mlir_attribute_ints(plumb_mlir_decoder *d, MlirOperation op, const char *name,
                               const int64_t **out_values, size_t *out_count) {
  MlirAttribute a;
  if (!plumb_mlir_attribute(op, name, &a)) return false;
  intptr_t count;
  if (mlirAttributeIsAArray(a))
    count = mlirArrayAttrGetNumElements(a);
  else if (mlirAttributeIsADenseI64Array(a) || mlirAttributeIsADenseI32Array(a) ||
           mlirAttributeIsADenseBoolArray(a))
    count = mlirDenseArrayGetNumElements(a);
  else if (mlirAttributeIsADenseIntElements(a))
    count = mlirElementsAttrGetNumElements(a);
  else
    return false;
  int64_t *values = PLUMB_NEW_ARRAY(d->arena, int64_t, (size_t)count + 1);
  for (intptr_t i = 0; i < count; i++)
    if (!list_get(a, i, &values[i])) return false;
  *out_values = values;
  *out_count = (size_t)count;
  return true;
}

static void append(MlirStringRef part, void *text) {
  plumb_text_append(text, part.data, part.length);
}

const char *plumb_mlir_print_attribute(plumb_mlir_decoder *d, MlirAttribute attribute) {
  plumb_text text = plumb_text_create(d->arena);
  mlirAttributePrint(attribute, append, &text);
  return text.data ? text.data : "";
}

const char *plumb_mlir_print_type(plumb_mlir_decoder *d, MlirType type) {
  plumb_text text = plumb_text_create(d->arena);
  mlirTypePrint(type, append, &text);
  return text.data ? text.data : "";
}

const char *plumb_mlir_attribute_text(plumb_mlir_decoder *d, MlirOperation op, const char *name) {
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, name, &attribute)) return "";
  return plumb_mlir_print_attribute(d, attribute);
}

const char *plumb_mlir_attribute_word(plumb_mlir_decoder *d, MlirOperation op, const char *name) {
  const char *text = plumb_mlir_attribute_text(d, op, name), *open = strrchr(text, '<');
  return open ? plumb_arena_copy_text(d->arena, open + 1, strcspn(open + 1, ">")) : "";
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

bool plumb_mlir_text_has(const char *text, const char *word) {
  size_t length = strlen(word);
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
    if ((at == text || !is_word(at[-1])) && !is_word(at[length])) return true;
  return false;
}

uint32_t plumb_mlir_fastmath(plumb_mlir_decoder *d, MlirOperation op) {
  static const struct {
    const char *word;
    uint32_t flag;
  } rows[] = {
      {"reassoc", PLUMB_FLAG_REASSOC},
      {"nnan", PLUMB_FLAG_NNAN},
      {"ninf", PLUMB_FLAG_NINF},
      {"contract", PLUMB_FLAG_CONTRACT},
      {"afn", PLUMB_FLAG_AFN},
      {"fast", PLUMB_FLAG_REASSOC | PLUMB_FLAG_NNAN | PLUMB_FLAG_NINF | PLUMB_FLAG_CONTRACT |
                   PLUMB_FLAG_AFN},
  };
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, "fastmath", &attribute) &&
      !plumb_mlir_attribute(op, "fastmathFlags", &attribute))
    return 0;
  const char *text = plumb_mlir_print_attribute(d, attribute);
  const char *inside = strchr(text, '<');
  uint32_t flags = 0;
  for (size_t i = 0; inside && i < sizeof rows / sizeof *rows; i++)
    if (plumb_mlir_text_has(inside, rows[i].word)) flags |= rows[i].flag;
  return flags;
}

uint32_t plumb_mlir_overflow(plumb_mlir_decoder *d, MlirOperation op) {
  const char *text = plumb_mlir_attribute_text(d, op, "overflowFlags");
  return (plumb_mlir_text_has(text, "nsw") ? (uint32_t)PLUMB_FLAG_NSW : 0u) |
         (plumb_mlir_text_has(text, "nuw") ? (uint32_t)PLUMB_FLAG_NUW : 0u);
}

bool plumb_mlir_segments(plumb_mlir_decoder *d, MlirOperation op, const int64_t **out_sizes,
                         size_t *out_count) {
  return plumb_mlir_attribute_ints(d, op, "operandSegmentSizes", out_sizes, out_count) ||
         plumb_mlir_attribute_ints(d, op, "operand_segment_sizes", out_sizes, out_count);
}

bool plumb_mlir_mixed(plumb_mlir_decoder *d, MlirOperation op, const char *static_name,
                      intptr_t *next_operand, const plumb_reg **out_regs, size_t *out_count) {
  const int64_t *values;
  size_t count;
  if (!plumb_mlir_attribute_ints(d, op, static_name, &values, &count))
    return plumb_mlir_reject(d, "no %s", static_name);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1);
  for (size_t i = 0; i < count; i++) {
    if (values[i] != INT64_MIN) {
      regs[i] = plumb_mlir_i64(d, values[i]);
      continue;
    }
    if (*next_operand >= mlirOperationGetNumOperands(op))
      return plumb_mlir_reject(d, "%s has more dynamic elements than operands", static_name);
    regs[i] = plumb_mlir_operand1(d, op, (*next_operand)++);
  }
  *out_regs = regs;
  *out_count = count;
  return true;
}

bool plumb_mlir_name_is(MlirOperation op, const char *name) {
  MlirStringRef text = mlirIdentifierStr(mlirOperationGetName(op));
  return strlen(name) == text.length && memcmp(name, text.data, text.length) == 0;
}

const char *plumb_mlir_name(plumb_mlir_decoder *d, MlirOperation op) {
  MlirStringRef text = mlirIdentifierStr(mlirOperationGetName(op));
  return plumb_arena_copy_text(d->arena, text.data, text.length);
}

MlirType plumb_mlir_operand_type(MlirOperation op, intptr_t index) {
  return mlirValueGetType(mlirOperationGetOperand(op, index));
}

MlirType plumb_mlir_result_type(MlirOperation op, intptr_t index) {
  return mlirValueGetType(mlirOperationGetResult(op, index));
}

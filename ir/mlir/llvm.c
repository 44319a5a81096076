/* The llvm dialect: arithmetic, conversions, comparisons, aggregates and constants
 * (LLVM Language Reference 22; LLVMOps.td). Vectors are runs: each element on its own. */
#include <stdlib.h>
#include <string.h>

#include "ir/mlir/llvm_internal.h"

/* Element types of result 0; bits of an odd integer width. */
static bool result_flat(plumb_mlir_decoder *d, MlirOperation op, plumb_mlir_flat *out_flat) {
  return plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), out_flat);
}

static bool flat_of(plumb_mlir_decoder *d, MlirOperation op, intptr_t operand,
                    plumb_mlir_flat *out_flat) {
  return plumb_mlir_flatten(d, plumb_mlir_operand_type(op, operand), out_flat);
}

static bool is_signed_op(plumb_op op) {
  return op == PLUMB_OP_DIV_S || op == PLUMB_OP_REM_S || op == PLUMB_OP_SHR_S;
}

static void append_text(MlirStringRef part, void *user) {
  plumb_text_append(user, part.data, part.length);
}

const char *plumb_mlir_llvm_generic_text(plumb_mlir_decoder *d, MlirOperation op) {
  plumb_text text = plumb_text_create(d->arena);
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsPrintGenericOpForm(flags);
  mlirOpPrintingFlagsUseLocalScope(flags);
  mlirOperationPrintWithFlags(op, flags, append_text, &text);
  mlirOpPrintingFlagsDestroy(flags);
  return text.data ? text.data : "";
}

/* --- integers as i64 --- */

plumb_reg plumb_mlir_llvm_to_i64(plumb_mlir_decoder *d, plumb_reg r, bool is_signed) {
  const plumb_program *p = d->program;
  plumb_dtype type = plumb_reg_is_const(r) ? p->consts[plumb_reg_const_index(r)].type
                                           : plumb_reg_type(d->b.function, r);
  if (type == PLUMB_I64) return r;
  if (plumb_reg_is_const(r)) {
    uint64_t bits = p->consts[plumb_reg_const_index(r)].bits;
    unsigned width = plumb_dtype_table[type].bits;
    if (width < 64) {
      bits &= (UINT64_C(1) << width) - 1;
      if (is_signed && (bits >> (width - 1)) & 1) bits |= ~UINT64_C(0) << width;
    }
    return plumb_mlir_i64(d, (int64_t)bits);
  }
  return plumb_build_cvt(&d->b, PLUMB_I64, type, r, is_signed ? PLUMB_FLAG_SRC_SIGNED : 0,
                         PLUMB_RN);
}

plumb_reg plumb_mlir_llvm_from_i64(plumb_mlir_decoder *d, plumb_reg r, plumb_dtype to) {
  if (to == PLUMB_I64) return r;
  return plumb_build_cvt(&d->b, to, PLUMB_I64, r, 0, PLUMB_RN);
}

/* --- arithmetic --- */

/* The property has no attribute of its own: it is read from the generic form. */
uint32_t plumb_mlir_llvm_overflow(plumb_mlir_decoder *d, MlirOperation op) {
  static const char key[] = "overflowFlags = ";
  const char *at = strstr(plumb_mlir_llvm_generic_text(d, op), key);
  if (!at) return 0;
  long bits = strtol(at + sizeof key - 1, NULL, 10); /* IntegerOverflowFlags: nsw 1, nuw 2 */
  return (bits & 1 ? (uint32_t)PLUMB_FLAG_NSW : 0u) | (bits & 2 ? (uint32_t)PLUMB_FLAG_NUW : 0u);
}

static uint32_t integer_flags(plumb_mlir_decoder *d, MlirOperation op, plumb_op code) {
  switch (code) {
    case PLUMB_OP_ADD:
    case PLUMB_OP_SUB:
    case PLUMB_OP_MUL:
    case PLUMB_OP_SHL:
      return plumb_mlir_llvm_overflow(d, op);
    case PLUMB_OP_OR:
      return plumb_mlir_attribute_flag(op, "isDisjoint") ? (uint32_t)PLUMB_FLAG_NUW : 0;
    case PLUMB_OP_REM_S: /* INT_MIN / -1 is undefined behaviour */
      return PLUMB_FLAG_NSW;
    case PLUMB_OP_DIV_S:
      return PLUMB_FLAG_NSW |
             (plumb_mlir_attribute_flag(op, "isExact") ? (uint32_t)PLUMB_FLAG_EXACT : 0u);
    case PLUMB_OP_DIV_U:
    case PLUMB_OP_SHR_S:
    case PLUMB_OP_SHR_U:
      return plumb_mlir_attribute_flag(op, "isExact") ? (uint32_t)PLUMB_FLAG_EXACT : 0;
    default:
      return 0;
  }
}

/* An odd-width shift amount beyond the width is poison in LLVM; the container's own check
 * would miss it, so such widths are not taken. */
static bool decode_integer(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_op code = (plumb_op)row->code;
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1);
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  uint32_t flags = integer_flags(d, op, code);
  for (size_t i = 0; i < r.count; i++) {
    bool odd = flat.bits && flat.bits != plumb_dtype_table[flat.types[i]].bits;
    plumb_reg x = a.regs[i], y = b.regs[i];
    bool division = code == PLUMB_OP_DIV_S || code == PLUMB_OP_REM_S;
    if (odd && division) flags &= ~(uint32_t)PLUMB_FLAG_NSW; /* the container does not wrap */
    if (odd && (flags || code == PLUMB_OP_SHL || code == PLUMB_OP_SHR_S || code == PLUMB_OP_SHR_U))
      return plumb_mlir_reject(d, "i%d with poison flags or as a shift", flat.bits);
    if (odd && is_signed_op(code)) {
      x = plumb_mlir_extend(d, flat.types[i], flat.bits, x);
      y = plumb_mlir_extend(d, flat.types[i], flat.bits, y);
    }
    plumb_reg result = r.regs[i];
    if (odd) result = plumb_reg_create(d->b.function, flat.types[i]);
    plumb_build(&d->b, code, flat.types[i], &result, 1, (plumb_reg[]){x, y}, 2)->flags |= flags;
    if (odd)
      plumb_build_mov(&d->b, r.regs[i], plumb_mlir_mask(d, flat.types[i], flat.bits, result));
  }
  return r.count > 0;
}

static bool decode_float(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  size_t arity = (size_t)mlirOperationGetNumOperands(op);
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  plumb_mlir_run in[3];
  for (size_t k = 0; k < arity && k < 3; k++) in[k] = plumb_mlir_operand(d, op, (intptr_t)k);
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  uint32_t flags = plumb_mlir_fastmath(d, op);
  for (size_t i = 0; i < r.count; i++) {
    plumb_reg operands[3];
    for (size_t k = 0; k < arity && k < 3; k++) operands[k] = in[k].regs[i];
    plumb_build(&d->b, (plumb_op)row->code, flat.types[i], &r.regs[i], 1, operands, arity)->flags |=
        flags;
  }
  return r.count > 0;
}

/* --- comparisons and selection --- */

/* ICmpPredicate and FCmpPredicate of LLVMEnums.td, in their order. */
static const plumb_cmp integer_predicates[] = {
    PLUMB_CMP_EQ,   PLUMB_CMP_NE,   PLUMB_CMP_LT_S, PLUMB_CMP_LE_S, PLUMB_CMP_GT_S,
    PLUMB_CMP_GE_S, PLUMB_CMP_LT_U, PLUMB_CMP_LE_U, PLUMB_CMP_GT_U, PLUMB_CMP_GE_U};
static const plumb_cmp float_predicates[] = {
    PLUMB_CMP_FALSE, PLUMB_CMP_OEQ, PLUMB_CMP_OGT, PLUMB_CMP_OGE, PLUMB_CMP_OLT, PLUMB_CMP_OLE,
    PLUMB_CMP_ONE,   PLUMB_CMP_NUM, PLUMB_CMP_UEQ, PLUMB_CMP_UGT, PLUMB_CMP_UGE, PLUMB_CMP_ULT,
    PLUMB_CMP_ULE,   PLUMB_CMP_UNE, PLUMB_CMP_NAN, PLUMB_CMP_TRUE};

static bool decode_compare(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  bool is_float = row->code != 0;
  size_t most = is_float ? sizeof float_predicates / sizeof *float_predicates
                         : sizeof integer_predicates / sizeof *integer_predicates;
  int64_t predicate = -1;
  plumb_mlir_flat flat;
  plumb_mlir_attribute_int(op, "predicate", &predicate);
  if (predicate < 0 || (size_t)predicate >= most) return plumb_mlir_reject(d, "no predicate");
  if (!flat_of(d, op, 0, &flat)) return false;
  plumb_cmp cmp = is_float ? float_predicates[predicate] : integer_predicates[predicate];
  bool is_signed = !is_float && predicate >= 2 && predicate <= 5;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  for (size_t i = 0; i < flat.count; i++) {
    plumb_reg x = a.regs[i], y = b.regs[i];
    if (is_signed && flat.bits && flat.bits != plumb_dtype_table[flat.types[i]].bits) {
      x = plumb_mlir_extend(d, flat.types[i], flat.bits, x);
      y = plumb_mlir_extend(d, flat.types[i], flat.bits, y);
    }
    regs[i] = plumb_build_cmp(&d->b, cmp, flat.types[i], x, y);
  }
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

static bool decode_select(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  plumb_mlir_run c = plumb_mlir_operand(d, op, 0), a = plumb_mlir_operand(d, op, 1),
                 b = plumb_mlir_operand(d, op, 2);
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  for (size_t i = 0; i < r.count; i++)
    plumb_build(&d->b, PLUMB_OP_SELECT, flat.types[i], &r.regs[i], 1,
                (plumb_reg[]){c.regs[c.count == 1 ? 0 : i], a.regs[i], b.regs[i]}, 3);
  return r.count > 0;
}

/* --- conversions --- */

enum { FROM_SIGNED = 1, TO_SIGNED = 2, IS_TRUNC = 4 };

static bool decode_convert(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_flat from, to;
  if (!flat_of(d, op, 0, &from) || !result_flat(d, op, &to)) return false;
  if (from.count != to.count) return plumb_mlir_reject(d, "vectors of different lengths");
  uint32_t flags = 0;
  if (row->code & FROM_SIGNED) flags |= PLUMB_FLAG_SRC_SIGNED;
  if (row->code & TO_SIGNED) flags |= PLUMB_FLAG_DST_SIGNED;
  if (row->code & IS_TRUNC) flags |= plumb_mlir_llvm_overflow(d, op);
  if (plumb_mlir_attribute_flag(op, "nonNeg")) flags |= PLUMB_FLAG_NSW;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, to.count + 1);
  for (size_t i = 0; i < to.count; i++) {
    plumb_dtype source = from.types[i], target = to.types[i];
    plumb_reg x = a.regs[i];
    bool odd_from =
        from.bits && !plumb_dtype_is_float(source) && from.bits != plumb_dtype_table[source].bits;
    bool odd_to =
        to.bits && !plumb_dtype_is_float(target) && to.bits != plumb_dtype_table[target].bits;
    if (odd_from || odd_to) flags &= ~(uint32_t)(PLUMB_FLAG_NSW | PLUMB_FLAG_NUW);
    if (odd_from && (row->code & FROM_SIGNED)) x = plumb_mlir_extend(d, source, from.bits, x);
    if (odd_to && plumb_dtype_is_float(source))
      return plumb_mlir_reject(d, "float to i%d", to.bits);
    regs[i] = source == target
                  ? x
                  : plumb_build_cvt(&d->b, target, source, x, flags,
                                    plumb_dtype_is_float(target) ? PLUMB_RN : PLUMB_RZ);
    if (odd_to) regs[i] = plumb_mlir_mask(d, target, to.bits, regs[i]);
  }
  plumb_mlir_define_result(d, op, 0, regs, to.count);
  return true;
}

/* ptrtoint, inttoptr: zero-extended or truncated. */
static bool decode_pointer_int(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_op unsigned_row = *row;
  unsigned_row.code = 0;
  return decode_convert(d, op, &unsigned_row);
}

static bool decode_addrspacecast(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  plumb_space from = plumb_mlir_llvm_space(plumb_mlir_element_type(plumb_mlir_operand_type(op, 0)));
  plumb_space to = plumb_mlir_llvm_space(plumb_mlir_element_type(plumb_mlir_result_type(op, 0)));
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, a.count + 1);
  for (size_t i = 0; i < a.count; i++) {
    regs[i] = plumb_mlir_llvm_generic(d, a.regs[i], from);
    if (to == PLUMB_SPACE_GENERIC || to == PLUMB_SPACE_GLOBAL || from == to) {
      if (from == to) regs[i] = a.regs[i];
      continue;
    }
    plumb_reg r = plumb_reg_create(d->b.function, PLUMB_I64);
    plumb_build(&d->b, PLUMB_OP_FROM_GENERIC, PLUMB_I64, &r, 1, &regs[i], 1)->space = (uint8_t)to;
    regs[i] = r;
  }
  plumb_mlir_define_result(d, op, 0, regs, a.count);
  return true;
}

/* Elements of `to` from the bits of elements of `from`: the little-endian bytes are the
 * same. Through the frame when the sizes differ. */
static bool decode_bitcast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_flat from, to;
  if (!flat_of(d, op, 0, &from) || !result_flat(d, op, &to)) return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, to.count + 1);
  if (from.count == to.count &&
      plumb_dtype_bytes(from.types[0]) == plumb_dtype_bytes(to.types[0])) {
    for (size_t i = 0; i < to.count; i++) {
      regs[i] = plumb_reg_create(d->b.function, to.types[i]);
      plumb_build_mov(&d->b, regs[i], a.regs[i]);
    }
    plumb_mlir_define_result(d, op, 0, regs, to.count);
    return true;
  }
  plumb_mlir_llvm_layout in, out;
  if (from.bits % 8 || to.bits % 8) return plumb_mlir_reject(d, "elements that are not bytes");
  if (!plumb_mlir_llvm_layout_of(d, plumb_mlir_operand_type(op, 0), &in) ||
      !plumb_mlir_llvm_layout_of(d, plumb_mlir_result_type(op, 0), &out))
    return false;
  int64_t size = in.size_bytes > out.size_bytes ? in.size_bytes : out.size_bytes;
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_FRAME, PLUMB_I64, &address, 1, NULL, 0)->imm =
      plumb_frame_reserve(d->b.function, (uint64_t)size, 16);
  plumb_mlir_llvm_store(d, &in, PLUMB_SPACE_LOCAL, address, 1, 0, a.regs);
  plumb_mlir_llvm_load(d, &out, PLUMB_SPACE_LOCAL, address, 1, 0, regs);
  plumb_mlir_define_result(d, op, 0, regs, to.count);
  return true;
}

static bool decode_freeze(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  for (size_t i = 0; i < flat.count; i++)
    regs[i] = plumb_build1(&d->b, PLUMB_OP_FREEZE, flat.types[i], a.regs[i]);
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

/* --- aggregates and vectors --- */

/* Flattened range of the member that `position` names inside `type`. */
static bool find_member(plumb_mlir_decoder *d, MlirOperation op, MlirType type, size_t *out_first,
                        size_t *out_count) {
  const int64_t *position;
  size_t depth;
  plumb_mlir_flat flat;
  if (!plumb_mlir_attribute_ints(d, op, "position", &position, &depth))
    return plumb_mlir_reject(d, "no position");
  *out_first = 0;
  for (size_t i = 0; i < depth; i++) {
    int64_t offset;
    size_t first;
    if (!plumb_mlir_llvm_member(d, type, position[i], &type, &offset, &first)) return false;
    *out_first += first;
  }
  if (!plumb_mlir_flatten(d, type, &flat)) return false;
  *out_count = flat.count;
  return true;
}

static bool decode_extractvalue(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  size_t first, count;
  if (!find_member(d, op, plumb_mlir_operand_type(op, 0), &first, &count)) return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0);
  if (first + count > a.count) return plumb_mlir_reject(d, "a position outside the value");
  plumb_mlir_define_result(d, op, 0, a.regs + first, count);
  return true;
}

static bool decode_insertvalue(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  size_t first, count;
  if (!find_member(d, op, plumb_mlir_operand_type(op, 0), &first, &count)) return false;
  plumb_mlir_run whole = plumb_mlir_operand(d, op, 0), part = plumb_mlir_operand(d, op, 1);
  if (first + count > whole.count || part.count != count)
    return plumb_mlir_reject(d, "a position outside the value");
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, whole.count + 1);
  memcpy(regs, whole.regs, whole.count * sizeof *regs);
  memcpy(regs + first, part.regs, count * sizeof *regs);
  plumb_mlir_define_result(d, op, 0, regs, whole.count);
  return true;
}

/* i1: index == i. */
static plumb_reg index_is(plumb_mlir_decoder *d, plumb_reg index, size_t i) {
  return plumb_build_cmp(&d->b, PLUMB_CMP_EQ, PLUMB_I64, index, plumb_mlir_i64(d, (int64_t)i));
}

static bool decode_extractelement(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0);
  plumb_reg index = plumb_mlir_llvm_to_i64(d, plumb_mlir_operand1(d, op, 1), false);
  int64_t constant;
  if (!a.count) return plumb_mlir_reject(d, "an empty vector");
  if (plumb_mlir_reg_value(d, index, &constant)) {
    if (constant < 0 || (size_t)constant >= a.count)
      return plumb_mlir_reject(d, "element %lld of %zu", (long long)constant, a.count);
    plumb_mlir_define_result1(d, op, 0, a.regs[constant]);
    return true;
  }
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  plumb_reg value = a.regs[0]; /* out of range is poison: pinned to element 0 */
  for (size_t i = 1; i < a.count; i++)
    value = plumb_build3(&d->b, PLUMB_OP_SELECT, flat.types[0], index_is(d, index, i), a.regs[i],
                         value);
  plumb_mlir_define_result1(d, op, 0, value);
  return true;
}

static bool decode_insertelement(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0);
  plumb_reg value = plumb_mlir_operand1(d, op, 1);
  plumb_reg index = plumb_mlir_llvm_to_i64(d, plumb_mlir_operand1(d, op, 2), false);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, a.count + 1);
  plumb_mlir_flat flat;
  int64_t constant;
  if (!result_flat(d, op, &flat)) return false;
  bool is_constant = plumb_mlir_reg_value(d, index, &constant);
  if (is_constant && (constant < 0 || (size_t)constant >= a.count))
    return plumb_mlir_reject(d, "element %lld of %zu", (long long)constant, a.count);
  for (size_t i = 0; i < a.count; i++)
    regs[i] = is_constant ? ((size_t)constant == i ? value : a.regs[i])
                          : plumb_build3(&d->b, PLUMB_OP_SELECT, flat.types[i],
                                         index_is(d, index, i), value, a.regs[i]);
  plumb_mlir_define_result(d, op, 0, regs, a.count);
  return true;
}

static bool decode_shufflevector(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  const int64_t *mask;
  size_t count;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1);
  if (!plumb_mlir_attribute_ints(d, op, "mask", &mask, &count))
    return plumb_mlir_reject(d, "no mask");
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1);
  for (size_t i = 0; i < count; i++) {
    size_t from = mask[i] < 0 ? 0 : (size_t)mask[i]; /* -1 is poison: pinned */
    if (from >= a.count + b.count) return plumb_mlir_reject(d, "a mask out of range");
    regs[i] = from < a.count ? a.regs[from] : b.regs[from - a.count];
  }
  plumb_mlir_define_result(d, op, 0, regs, count);
  return true;
}

/* --- constants --- */

/* undef is no more defined than poison: what decides by it, or outputs it, is wrong. */
static bool decode_poison(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  for (size_t i = 0; i < flat.count; i++) regs[i] = plumb_mlir_poison(d, flat.types[i]);
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

static bool decode_zero(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  for (size_t i = 0; i < flat.count; i++) regs[i] = plumb_constant(d->program, flat.types[i], 0);
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

static bool decode_constant(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute value;
  plumb_mlir_run run;
  if (!plumb_mlir_attribute(op, "value", &value)) return plumb_mlir_reject(d, "no value");
  if (!plumb_mlir_constant_run(d, value, plumb_mlir_result_type(op, 0), &run)) return false;
  plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  return true;
}

static bool decode_inline_asm(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute text, constraints;
  if (!plumb_mlir_attribute(op, "asm_string", &text) || !mlirAttributeIsAString(text) ||
      !plumb_mlir_attribute(op, "constraints", &constraints) ||
      !mlirAttributeIsAString(constraints))
    return plumb_mlir_reject(d, "no text");
  return plumb_mlir_inline_asm(d, op, mlirStringAttrGetValue(text),
                               mlirStringAttrGetValue(constraints));
}

const plumb_mlir_op plumb_mlir_ops_llvm[] = {
    {"llvm.add", decode_integer, PLUMB_OP_ADD},
    {"llvm.sub", decode_integer, PLUMB_OP_SUB},
    {"llvm.mul", decode_integer, PLUMB_OP_MUL},
    {"llvm.udiv", decode_integer, PLUMB_OP_DIV_U},
    {"llvm.sdiv", decode_integer, PLUMB_OP_DIV_S},
    {"llvm.urem", decode_integer, PLUMB_OP_REM_U},
    {"llvm.srem", decode_integer, PLUMB_OP_REM_S},
    {"llvm.and", decode_integer, PLUMB_OP_AND},
    {"llvm.or", decode_integer, PLUMB_OP_OR},
    {"llvm.xor", decode_integer, PLUMB_OP_XOR},
    {"llvm.shl", decode_integer, PLUMB_OP_SHL},
    {"llvm.lshr", decode_integer, PLUMB_OP_SHR_U},
    {"llvm.ashr", decode_integer, PLUMB_OP_SHR_S},
    {"llvm.fadd", decode_float, PLUMB_OP_ADD},
    {"llvm.fsub", decode_float, PLUMB_OP_SUB},
    {"llvm.fmul", decode_float, PLUMB_OP_MUL},
    {"llvm.fdiv", decode_float, PLUMB_OP_DIV},
    {"llvm.frem", decode_float, PLUMB_OP_REM_F},
    {"llvm.fneg", decode_float, PLUMB_OP_NEG},
    {"llvm.icmp", decode_compare, 0},
    {"llvm.fcmp", decode_compare, 1},
    {"llvm.select", decode_select, 0},
    {"llvm.trunc", decode_convert, IS_TRUNC},
    {"llvm.zext", decode_convert, 0},
    {"llvm.sext", decode_convert, FROM_SIGNED},
    {"llvm.sitofp", decode_convert, FROM_SIGNED},
    {"llvm.uitofp", decode_convert, 0},
    {"llvm.fptosi", decode_convert, TO_SIGNED},
    {"llvm.fptoui", decode_convert, 0},
    {"llvm.fpext", decode_convert, 0},
    {"llvm.fptrunc", decode_convert, 0},
    {"llvm.ptrtoint", decode_pointer_int, 0},
    {"llvm.inttoptr", decode_pointer_int, 0},
    {"llvm.addrspacecast", decode_addrspacecast, 0},
    {"llvm.bitcast", decode_bitcast, 0},
    {"llvm.freeze", decode_freeze, 0},
    {"llvm.extractvalue", decode_extractvalue, 0},
    {"llvm.insertvalue", decode_insertvalue, 0},
    {"llvm.extractelement", decode_extractelement, 0},
    {"llvm.insertelement", decode_insertelement, 0},
    {"llvm.shufflevector", decode_shufflevector, 0},
    {"llvm.mlir.zero", decode_zero, 0},
    {"llvm.mlir.undef", decode_poison, 0},
    {"llvm.mlir.poison", decode_poison, 0},
    {"llvm.mlir.constant", decode_constant, 0},
    {"llvm.mlir.global", plumb_mlir_llvm_decode_global, 0},
    {"llvm.mlir.addressof", plumb_mlir_llvm_decode_addressof, 0},
    {"llvm.func", plumb_mlir_llvm_decode_func, 0},
    {"llvm.call", plumb_mlir_llvm_decode_call, 0},
    {"llvm.return", plumb_mlir_llvm_decode_return, 0},
    {"llvm.br", plumb_mlir_llvm_decode_br, 0},
    {"llvm.cond_br", plumb_mlir_llvm_decode_cond_br, 0},
    {"llvm.switch", plumb_mlir_llvm_decode_switch, 0},
    {"llvm.unreachable", plumb_mlir_llvm_decode_unreachable, 0},
    {"llvm.load", plumb_mlir_llvm_decode_load, 0},
    {"llvm.store", plumb_mlir_llvm_decode_store, 0},
    {"llvm.alloca", plumb_mlir_llvm_decode_alloca, 0},
    {"llvm.getelementptr", plumb_mlir_llvm_decode_gep, 0},
    {"llvm.atomicrmw", plumb_mlir_llvm_decode_atomicrmw, 0},
    {"llvm.cmpxchg", plumb_mlir_llvm_decode_cmpxchg, 0},
    {"llvm.fence", plumb_mlir_llvm_decode_fence, 0},
    {"llvm.inline_asm", decode_inline_asm, 0},
#define X(name, decode, code) {"llvm." name, decode, code},
#include "ir/mlir/llvm_intrinsics.def"
#undef X
    {0}};

/* The intr.* operations of the llvm dialect (LLVM Language Reference 22, Intrinsic
 * Functions). Vectors are runs: each element on its own. */
#include <stdlib.h>
#include <string.h>

#include "ir/mlir/llvm_internal.h"

static bool result_flat(plumb_mlir_decoder *d, MlirOperation op, plumb_mlir_flat *out_flat) {
  return plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), out_flat);
}

static bool is_odd(const plumb_mlir_flat *flat) {
  return flat->count && flat->bits && !plumb_dtype_is_float(flat->types[0]) &&
         flat->bits != plumb_dtype_table[flat->types[0]].bits;
}

/* Register e of a scalar or vector operand. */
static plumb_reg lane_of(plumb_mlir_run run, size_t e) {
  return run.regs[run.count == 1 ? 0 : e];
}

/* --- one instruction an element --- */

/* Builds `code` for each element from the first `arity` operands; sub, round and flags are
 * those given. */
static bool build_each(plumb_mlir_decoder *d, MlirOperation op, plumb_op code, size_t arity,
                       int sub, int round) {
  plumb_mlir_flat flat;
  plumb_mlir_run in[3];
  if (!result_flat(d, op, &flat)) return false;
  if (is_odd(&flat)) return plumb_mlir_reject(d, "integers of %d bits", flat.bits);
  for (size_t k = 0; k < arity; k++) in[k] = plumb_mlir_operand(d, op, (intptr_t)k);
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  uint32_t flags = plumb_dtype_is_float(flat.types[0]) ? plumb_mlir_fastmath(d, op) : 0;
  for (size_t i = 0; i < r.count; i++) {
    plumb_reg operands[3];
    for (size_t k = 0; k < arity; k++) operands[k] = lane_of(in[k], i);
    plumb_inst *inst = plumb_build(&d->b, code, flat.types[i], &r.regs[i], 1, operands, arity);
    inst->sub = (uint8_t)sub;
    inst->round = (uint8_t)round;
    inst->flags |= flags;
  }
  return r.count > 0;
}

bool plumb_mlir_llvm_intr_math(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return build_each(d, op, PLUMB_OP_MATH, (size_t)plumb_math_table[row->code].arity, row->code, 0);
}

bool plumb_mlir_llvm_intr_unary(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return build_each(d, op, (plumb_op)row->code, 1, 0, 0);
}

bool plumb_mlir_llvm_intr_binary(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  return build_each(d, op, (plumb_op)row->code, 2, 0, 0);
}

bool plumb_mlir_llvm_intr_round(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return build_each(d, op, PLUMB_OP_ROUND_INT, 1, 0, row->code);
}

/* fmuladd may be fused or not (LangRef); here it is not: two roundings. */
bool plumb_mlir_llvm_intr_fma(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  if (!row->code) return build_each(d, op, PLUMB_OP_FMA, 3, 0, 0);
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1),
                 c = plumb_mlir_operand(d, op, 2);
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  uint32_t flags = plumb_mlir_fastmath(d, op) | (uint32_t)PLUMB_FLAG_CONTRACT;
  for (size_t i = 0; i < r.count; i++) {
    plumb_reg product = plumb_reg_create(d->b.function, flat.types[i]);
    plumb_build(&d->b, PLUMB_OP_MUL, flat.types[i], &product, 1,
                (plumb_reg[]){a.regs[i], b.regs[i]}, 2)
        ->flags |= flags;
    plumb_build(&d->b, PLUMB_OP_ADD, flat.types[i], &r.regs[i], 1,
                (plumb_reg[]){product, c.regs[i]}, 2)
        ->flags |= flags;
  }
  return r.count > 0;
}

/* The exponent keeps its own type (type2). */
bool plumb_mlir_llvm_intr_powi(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_flat flat, exponent;
  if (!result_flat(d, op, &flat) ||
      !plumb_mlir_flatten(d, plumb_mlir_operand_type(op, 1), &exponent))
    return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1);
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  for (size_t i = 0; i < r.count; i++) {
    plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_MATH, flat.types[i], &r.regs[i], 1,
                                   (plumb_reg[]){a.regs[i], lane_of(b, i)}, 2);
    inst->sub = (uint8_t)row->code;
    inst->type2 = (uint8_t)exponent.types[0];
    inst->flags |= plumb_mlir_fastmath(d, op);
  }
  return r.count > 0;
}

/* fshl(a, b, c) is the high half of (a:b) << c, fshr the low half of (a:b) >> c. */
bool plumb_mlir_llvm_intr_funnel(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  if (is_odd(&flat)) return plumb_mlir_reject(d, "integers of %d bits", flat.bits);
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1),
                 c = plumb_mlir_operand(d, op, 2);
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  for (size_t i = 0; i < r.count; i++)
    plumb_build(&d->b, (plumb_op)row->code, flat.types[i], &r.regs[i], 1,
                (plumb_reg[]){b.regs[i], a.regs[i], c.regs[i]}, 3);
  return r.count > 0;
}

bool plumb_mlir_llvm_intr_minmax(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  uint32_t flags = plumb_dtype_is_float(flat.types[0]) ? plumb_mlir_fastmath(d, op) : 0;
  for (size_t i = 0; i < flat.count; i++)
    regs[i] = plumb_mlir_build_combine(d, (plumb_mlir_combine)row->code, flat.types[i], flat.bits,
                                       flags, a.regs[i], b.regs[i]);
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

bool plumb_mlir_llvm_intr_fpclass(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)row;
  int64_t mask;
  plumb_mlir_flat from;
  if (!plumb_mlir_attribute_int(op, "bit", &mask)) return plumb_mlir_reject(d, "no class mask");
  if (!plumb_mlir_flatten(d, plumb_mlir_operand_type(op, 0), &from)) return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), r = plumb_mlir_fresh_result(d, op, 0);
  for (size_t i = 0; i < r.count; i++) {
    plumb_inst *inst =
        plumb_build(&d->b, PLUMB_OP_CLASSIFY, PLUMB_I1, &r.regs[i], 1, &a.regs[i], 1);
    inst->type2 = (uint8_t)from.types[i];
    inst->imm = mask;
  }
  return r.count > 0;
}

bool plumb_mlir_llvm_intr_round_int(plumb_mlir_decoder *d, MlirOperation op,
                                    const plumb_mlir_op *row) {
  plumb_mlir_flat from, to;
  if (!plumb_mlir_flatten(d, plumb_mlir_operand_type(op, 0), &from) || !result_flat(d, op, &to))
    return false;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, to.count + 1);
  for (size_t i = 0; i < to.count; i++) {
    plumb_reg whole = plumb_reg_create(d->b.function, from.types[i]);
    plumb_build(&d->b, PLUMB_OP_ROUND_INT, from.types[i], &whole, 1, &a.regs[i], 1)->round =
        (uint8_t)row->code;
    regs[i] = plumb_build_cvt(&d->b, to.types[i], from.types[i], whole,
                              (uint32_t)PLUMB_FLAG_DST_SIGNED, PLUMB_RZ);
  }
  plumb_mlir_define_result(d, op, 0, regs, to.count);
  return true;
}

/* --- overflow and saturation --- */

static plumb_reg below_zero(plumb_mlir_decoder *d, plumb_dtype type, plumb_reg a) {
  return plumb_build_cmp(&d->b, PLUMB_CMP_LT_S, type, a, plumb_constant(d->program, type, 0));
}

/* Value and i1 overflow of kind 0..5 (signed, unsigned of add, sub, mul). */
static void overflowing(plumb_mlir_decoder *d, int kind, plumb_dtype type, plumb_reg a, plumb_reg b,
                        plumb_reg *out_value, plumb_reg *out_overflow) {
  static const plumb_op ops[] = {PLUMB_OP_ADD, PLUMB_OP_SUB, PLUMB_OP_MUL};
  plumb_builder *p = &d->b;
  plumb_reg r = *out_value = plumb_build2(p, ops[kind / 2], type, a, b), high;
  plumb_reg last = plumb_constant(d->program, type, plumb_dtype_table[type].bits - 1u);
  switch (kind) {
    case 0: /* both operands differ in sign from the sum */
      *out_overflow =
          below_zero(d, type,
                     plumb_build2(p, PLUMB_OP_AND, type, plumb_build2(p, PLUMB_OP_XOR, type, a, r),
                                  plumb_build2(p, PLUMB_OP_XOR, type, b, r)));
      break;
    case 1:
      *out_overflow = plumb_build_cmp(p, PLUMB_CMP_LT_U, type, r, a);
      break;
    case 2:
      *out_overflow =
          below_zero(d, type,
                     plumb_build2(p, PLUMB_OP_AND, type, plumb_build2(p, PLUMB_OP_XOR, type, a, b),
                                  plumb_build2(p, PLUMB_OP_XOR, type, a, r)));
      break;
    case 3:
      *out_overflow = plumb_build_cmp(p, PLUMB_CMP_LT_U, type, a, b);
      break;
    case 4:
      high = plumb_build2(p, PLUMB_OP_MULHI_S, type, a, b);
      *out_overflow = plumb_build_cmp(p, PLUMB_CMP_NE, type, high,
                                      plumb_build2(p, PLUMB_OP_SHR_S, type, r, last));
      break;
    default:
      high = plumb_build2(p, PLUMB_OP_MULHI_U, type, a, b);
      *out_overflow =
          plumb_build_cmp(p, PLUMB_CMP_NE, type, high, plumb_constant(d->program, type, 0));
      break;
  }
}

bool plumb_mlir_llvm_intr_overflow(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  plumb_mlir_flat flat;
  if (!plumb_mlir_flatten(d, plumb_mlir_operand_type(op, 0), &flat)) return false;
  if (is_odd(&flat) || flat.types[0] == PLUMB_I1)
    return plumb_mlir_reject(d, "integers of %d bits", flat.bits);
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, 2 * flat.count + 1);
  for (size_t i = 0; i < flat.count; i++)
    overflowing(d, row->code, flat.types[i], a.regs[i], b.regs[i], &regs[i], &regs[flat.count + i]);
  plumb_mlir_define_result(d, op, 0, regs, 2 * flat.count);
  return true;
}

bool plumb_mlir_llvm_intr_saturate(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  if (is_odd(&flat) || flat.types[0] == PLUMB_I1)
    return plumb_mlir_reject(d, "integers of %d bits", flat.bits);
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1);
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  for (size_t i = 0; i < r.count; i++) {
    plumb_dtype type = flat.types[i];
    if (row->code % 2 == 0) { /* signed: the flag clamps */
      plumb_build(&d->b, row->code ? PLUMB_OP_SUB : PLUMB_OP_ADD, type, &r.regs[i], 1,
                  (plumb_reg[]){a.regs[i], b.regs[i]}, 2)
          ->flags |= (uint32_t)PLUMB_FLAG_SAT;
      continue;
    }
    plumb_reg value, overflow;
    overflowing(d, row->code, type, a.regs[i], b.regs[i], &value, &overflow);
    plumb_reg limit = plumb_constant(
        d->program, type,
        row->code == 3 ? 0 : ~UINT64_C(0) >> (64u - (plumb_dtype_table[type].bits & 63u)) % 64u);
    plumb_build(&d->b, PLUMB_OP_SELECT, type, &r.regs[i], 1, (plumb_reg[]){overflow, limit, value},
                3);
  }
  return r.count > 0;
}

/* --- vectors --- */

/* fadd and fmul start from operand 0 and go in order (LangRef: without reassoc sequential). */
bool plumb_mlir_llvm_intr_reduce(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  plumb_mlir_flat flat;
  bool has_start = mlirOperationGetNumOperands(op) == 2;
  if (!result_flat(d, op, &flat)) return false;
  plumb_mlir_run v = plumb_mlir_operand(d, op, has_start ? 1 : 0);
  if (!v.count) return plumb_mlir_reject(d, "an empty vector");
  plumb_reg acc = has_start ? plumb_mlir_operand1(d, op, 0) : v.regs[0];
  uint32_t flags = plumb_dtype_is_float(flat.types[0]) ? plumb_mlir_fastmath(d, op) : 0;
  for (size_t i = has_start ? 0 : 1; i < v.count; i++)
    acc = plumb_mlir_build_combine(d, (plumb_mlir_combine)row->code, flat.types[0], flat.bits,
                                   flags, acc, v.regs[i]);
  plumb_mlir_define_result1(d, op, 0, acc);
  return true;
}

/* code 0: 0, 1, 2, ...; code 1: base + i < limit, unsigned and without wrap. */
bool plumb_mlir_llvm_intr_step(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_flat flat;
  if (!result_flat(d, op, &flat)) return false;
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  for (size_t i = 0; i < flat.count; i++) {
    if (!row->code) {
      regs[i] = plumb_constant(d->program, flat.types[i], i);
      continue;
    }
    plumb_reg base = plumb_mlir_operand1(d, op, 0), limit = plumb_mlir_operand1(d, op, 1);
    plumb_dtype type = plumb_reg_type(d->b.function, base);
    plumb_reg at, wrapped;
    overflowing(d, 1, type, base, plumb_constant(d->program, type, i), &at, &wrapped);
    regs[i] = plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1,
                           plumb_build_cmp(&d->b, PLUMB_CMP_LT_U, type, at, limit),
                           plumb_build1(&d->b, PLUMB_OP_NOT, PLUMB_I1, wrapped));
  }
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

/* vector.insert(dst, part) and vector.extract(whole) at `pos`. */
bool plumb_mlir_llvm_intr_slice(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  int64_t pos = 0;
  plumb_mlir_flat flat;
  plumb_mlir_attribute_int(op, "pos", &pos);
  if (!result_flat(d, op, &flat)) return false;
  bool extract = row->code != 0;
  plumb_mlir_run whole = plumb_mlir_operand(d, op, 0);
  plumb_mlir_run part = extract ? whole : plumb_mlir_operand(d, op, 1);
  size_t length = extract ? flat.count : part.count;
  if (pos < 0 || (size_t)pos + length > whole.count)
    return plumb_mlir_reject(d, "a position outside the vector");
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, flat.count + 1);
  if (extract) {
    memcpy(regs, whole.regs + pos, length * sizeof *regs);
  } else {
    memcpy(regs, whole.regs, whole.count * sizeof *regs);
    memcpy(regs + pos, part.regs, length * sizeof *regs);
  }
  plumb_mlir_define_result(d, op, 0, regs, flat.count);
  return true;
}

/* --- memory --- */

/* `llvm.align` of argument k in `arg_attrs`: one dictionary an argument. */
static int64_t argument_align(const char *text, int k) {
  for (const char *at = strchr(text, '{'); at; at = strchr(at + 1, '{')) {
    if (k-- > 0) continue;
    static const char key[] = "llvm.align = ";
    const char *found = strstr(at, key), *end = strchr(at, '}');
    return found && end && found < end ? strtoll(found + sizeof key - 1, NULL, 10) : 0;
  }
  return 0;
}

bool plumb_mlir_llvm_intr_memory(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  bool set = row->code != 0;
  int64_t length;
  plumb_reg to = plumb_mlir_llvm_generic(d, plumb_mlir_operand1(d, op, 0),
                                         plumb_mlir_llvm_space(plumb_mlir_operand_type(op, 0)));
  plumb_reg from = plumb_mlir_operand1(d, op, 1);
  if (!set)
    from = plumb_mlir_llvm_generic(d, from, plumb_mlir_llvm_space(plumb_mlir_operand_type(op, 1)));
  plumb_reg bytes;
  if (mlirOperationGetNumOperands(op) > 2)
    bytes = plumb_mlir_llvm_to_i64(d, plumb_mlir_operand1(d, op, 2), false);
  else if (plumb_mlir_attribute_int(op, "len", &length))
    bytes = plumb_mlir_i64(d, length);
  else
    return plumb_mlir_reject(d, "no length");
  plumb_inst *inst =
      plumb_build(&d->b, set ? PLUMB_OP_MEMSET : PLUMB_OP_MEMCPY, set ? PLUMB_I8 : PLUMB_I64, NULL,
                  0, (plumb_reg[]){to, from, bytes}, 3);
  const char *attributes = plumb_mlir_attribute_text(d, op, "arg_attrs");
  inst->align_log2 = plumb_mlir_llvm_promised_log2(argument_align(attributes, 0), 0);
  if (!set) inst->sub = plumb_mlir_llvm_promised_log2(argument_align(attributes, 1), 0);
  return true;
}

/* One element where the mask's bit holds: `value` becomes the loaded one, or is stored. */
static void guarded_access(plumb_mlir_decoder *d, bool store, plumb_dtype type, plumb_space space,
                           plumb_reg address, int64_t offset, plumb_reg value, plumb_reg mask) {
  plumb_builder saved = d->b;
  plumb_inst *inst;
  if (plumb_reg_is_const(mask)) {
    if (!d->program->consts[plumb_reg_const_index(mask)].bits) return;
    mask = PLUMB_NO_REG;
  }
  d->b.guard = mask;
  d->b.guard_not = false;
  if (store)
    inst = plumb_build(&d->b, PLUMB_OP_STORE, type, NULL, 0, (plumb_reg[]){address, value}, 2);
  else
    inst = plumb_build(&d->b, PLUMB_OP_LOAD, type, &value, 1, &address, 1);
  inst->space = (uint8_t)space;
  inst->imm = offset;
  d->b.guard = saved.guard;
  d->b.guard_not = saved.guard_not;
}

/* code: 0 masked.load(ptr, mask, passthru?), 1 masked.store(value, ptr, mask),
 * 2 masked.gather(ptrs, mask, passthru?), 3 masked.scatter(value, ptrs, mask). */
bool plumb_mlir_llvm_intr_masked(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  bool store = row->code & 1;
  intptr_t at = store ? 1 : 0;
  MlirType value_type = store ? plumb_mlir_operand_type(op, 0) : plumb_mlir_result_type(op, 0);
  plumb_mlir_flat flat;
  if (!plumb_mlir_flatten(d, value_type, &flat)) return false;
  plumb_mlir_run pointers = plumb_mlir_operand(d, op, at), mask = plumb_mlir_operand(d, op, at + 1);
  plumb_space space =
      plumb_mlir_llvm_space(plumb_mlir_element_type(plumb_mlir_operand_type(op, at)));
  if (mask.count != flat.count) return plumb_mlir_reject(d, "a mask that does not fit");
  plumb_mlir_run values = store ? plumb_mlir_operand(d, op, 0) : plumb_mlir_fresh_result(d, op, 0);
  bool has_passthru = !store && mlirOperationGetNumOperands(op) > 2;
  for (size_t i = 0; i < flat.count; i++) {
    int64_t offset = row->code < 2 ? (int64_t)(i * plumb_dtype_bytes(flat.types[i])) : 0;
    if (!store) /* without a passthru masked-off elements are poison: pinned to zero */
      plumb_build_mov(&d->b, values.regs[i],
                      has_passthru ? plumb_mlir_operand(d, op, 2).regs[i]
                                   : plumb_constant(d->program, flat.types[i], 0));
    guarded_access(d, store, flat.types[i], space, lane_of(pointers, i), offset, values.regs[i],
                   mask.regs[i]);
  }
  return true;
}

/* --- the rest --- */

bool plumb_mlir_llvm_intr_expect(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0);
  plumb_mlir_define_result(d, op, 0, a.regs, a.count);
  return true;
}

bool plumb_mlir_llvm_intr_stack_save(plumb_mlir_decoder *d, MlirOperation op,
                                     const plumb_mlir_op *row) {
  (void)row;
  plumb_reg mark = plumb_mlir_i64(d, 0);
  plumb_mlir_define_result(d, op, 0, &mark, 1);
  return true;
}

bool plumb_mlir_llvm_intr_trap(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)op, (void)row;
  plumb_build(&d->b, PLUMB_OP_TRAP, PLUMB_I1, NULL, 0, NULL, 0)->imm = -1;
  return true;
}

/* llvm.call_intrinsic: NVVM's by their name; others are the intr.* operation that has the
 * same name without the type suffixes ("llvm.fma.v4f32"). */
bool plumb_mlir_llvm_intr_call(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, "intrin", &attribute) || !mlirAttributeIsAString(attribute))
    return plumb_mlir_reject(d, "no intrinsic's name");
  MlirStringRef ref = mlirStringAttrGetValue(attribute);
  const char *name = plumb_arena_copy_text(d->arena, ref.data, ref.length);
  if (strncmp(name, "llvm.nvvm.", 10) == 0)
    return plumb_mlir_nvvm_intrinsic(d, op, name) || plumb_mlir_reject(d, "%s", name);
  char *stem = plumb_arena_printf(d->arena, "llvm.intr.%s", name + 5);
  for (char *dot; (dot = strrchr(stem, '.')) && dot > stem + 9;) {
    for (const plumb_mlir_op *known = plumb_mlir_ops_llvm; known->name; known++)
      if (!strcmp(known->name, stem)) return known->decode(d, op, known);
    *dot = 0;
  }
  for (const plumb_mlir_op *known = plumb_mlir_ops_llvm; known->name; known++)
    if (!strcmp(known->name, stem)) return known->decode(d, op, known);
  return plumb_mlir_reject(d, "%s", name);
}

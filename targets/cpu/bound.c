/* The companion of each ALU operation, lane by lane. */
#include "targets/cpu/bound.h"

#include <string.h>

#include "targets/cpu/alu_lanes.h"
#include "targets/cpu/bound_interval.h"
#include "targets/cpu/float_convert.h"

plumb_companion plumb_companion_exact(plumb_dtype type, const void *bits) {
  uint64_t word = 0;
  if (type == PLUMB_I128) {
    __int128 value;
    memcpy(&value, bits, sizeof value);
    return interval((double)value, (double)value);
  }
  memcpy(&word, bits, plumb_dtype_bytes(type));
  double value = plumb_dtype_to_double(type, word);
  return isnan(value) ? plumb_companion_nan() : interval(value, value);
}

/* --- operands --- */

static plumb_dtype operand_type(const plumb_inst *inst, int index) {
  switch ((plumb_op)inst->op) {
    case PLUMB_OP_SELECT:
      return index == 0 ? PLUMB_I1 : (plumb_dtype)inst->type;
    case PLUMB_OP_CMP:
    case PLUMB_OP_CLASSIFY:
    case PLUMB_OP_CVT:
      return (plumb_dtype)inst->type2;
    case PLUMB_OP_ADD_CARRY:
    case PLUMB_OP_SUB_BORROW:
      return index == 2 ? PLUMB_I1 : (plumb_dtype)inst->type;
    case PLUMB_OP_BFE:
      return index >= 1 ? PLUMB_I32 : (plumb_dtype)inst->type;
    case PLUMB_OP_BFI:
      return index >= 2 ? PLUMB_I32 : (plumb_dtype)inst->type;
    case PLUMB_OP_REDUCE_ADD:
    case PLUMB_OP_REDUCE_MUL:
      return index == 2 ? PLUMB_I64 : (plumb_dtype)inst->type;
    case PLUMB_OP_MATH:
      if (index == 1 && (inst->sub == PLUMB_MATH_POWI || inst->sub == PLUMB_MATH_LDEXP)) {
        bool named = inst->type2 == PLUMB_I16 || inst->type2 == PLUMB_I64;
        return named ? (plumb_dtype)inst->type2 : PLUMB_I32;
      }
      return (plumb_dtype)inst->type;
    default:
      return (plumb_dtype)inst->type;
  }
}

static const void *element(const void *array, plumb_dtype type, size_t lane) {
  return (const char *)array + lane * plumb_dtype_bytes(type);
}

static int64_t int_element(const void *array, plumb_dtype type, size_t lane) {
  uint64_t word = 0;
  memcpy(&word, element(array, type, lane), plumb_dtype_bytes(type));
  unsigned width = plumb_dtype_table[type].bits;
  return width >= 64 ? (int64_t)word : (int64_t)(word << (64 - width)) >> (64 - width);
}

/* --- one lane --- */

typedef struct bound_lane {
  const plumb_inst *inst;
  const void *const *operand_values;
  const void *result_value; /* of result 0 */
  plumb_companion operand[4];
  bool exact[4];
  size_t lane;
} bound_lane;

static bool sign_bit_at(const bound_lane *x, int index) {
  plumb_dtype type = operand_type(x->inst, index);
  uint64_t bits = 0;
  memcpy(&bits, element(x->operand_values[index], type, x->lane), plumb_dtype_bytes(type));
  return (bits & plumb_float_sign_bit(type)) != 0;
}

/* The flags of a function whose interval is that of the type already. */
static plumb_companion approximate(const plumb_inst *inst, plumb_companion c) {
  if (inst->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_OUT))
    c = plumb_bound_flush((plumb_dtype)inst->type, c);
  return plumb_bound_clamp(inst, c);
}

static plumb_companion float_result(const bound_lane *x) {
  const plumb_inst *inst = x->inst;
  const plumb_companion *o = x->operand;
  switch ((plumb_op)inst->op) {
    case PLUMB_OP_ADD:
    case PLUMB_OP_SUB:
    case PLUMB_OP_MUL:
    case PLUMB_OP_DIV:
    case PLUMB_OP_REM_F:
      return plumb_bound_two(inst, &o[0], &o[1]);
    case PLUMB_OP_FMA:
      return plumb_bound_fma(inst, &o[0], &o[1], &o[2]);
    case PLUMB_OP_SQRT:
      return plumb_bound_sqrt(inst, &o[0]);
    case PLUMB_OP_MIN:
    case PLUMB_OP_MAX:
      return plumb_bound_extreme(inst, o[0], o[1]);
    case PLUMB_OP_NEG:
    case PLUMB_OP_ABS:
      return plumb_bound_sign(inst, &o[0], NULL, false, false);
    case PLUMB_OP_COPYSIGN:
      return plumb_bound_sign(inst, &o[0], &o[1], x->exact[1], x->exact[1] && sign_bit_at(x, 1));
    case PLUMB_OP_ROUND_INT:
      return plumb_bound_integral(inst, &o[0]);
    case PLUMB_OP_REDUCE_ADD:
    case PLUMB_OP_REDUCE_MUL: {
      int64_t terms = int_element(x->operand_values[2], PLUMB_I64, x->lane);
      return plumb_bound_reduce((plumb_dtype)inst->type, inst->op == PLUMB_OP_REDUCE_MUL, &o[0],
                                &o[1], terms);
    }
    case PLUMB_OP_MATH: {
      if (inst->sub >= PLUMB_MATH_COUNT) return plumb_companion_unknown();
      bool exponent = inst->sub == PLUMB_MATH_POWI || inst->sub == PLUMB_MATH_LDEXP;
      int64_t n = exponent ? int_element(x->operand_values[1], operand_type(inst, 1), x->lane) : 0;
      plumb_companion none = interval(0, 0);
      bool has_b = inst->operands > 1;
      bool n_known = !has_b || x->exact[1] || plumb_companion_is_certain(&o[1]);
      return approximate(inst, plumb_bound_math(inst, &o[0], has_b ? &o[1] : &none, n, n_known));
    }
    case PLUMB_OP_APPROX: {
      plumb_companion none = interval(0, 0);
      if (inst->sub >= PLUMB_APPROX_COUNT) return plumb_companion_unknown();
      return approximate(inst, plumb_bound_approx(inst, &o[0], inst->operands > 1 ? &o[1] : &none));
    }
    default:
      return plumb_companion_unknown();
  }
}

static plumb_companion result_of(const bound_lane *x, bool all_certain) {
  const plumb_inst *inst = x->inst;
  const plumb_companion *o = x->operand;
  plumb_dtype type = (plumb_dtype)inst->type;
  switch ((plumb_op)inst->op) {
    case PLUMB_OP_MOV:
    case PLUMB_OP_FREEZE:
      return o[0];
    case PLUMB_OP_SELECT:
      return plumb_bound_select(&o[0], &o[1], &o[2]);
    case PLUMB_OP_CLASSIFY:
      return plumb_bound_classify(inst, &o[0], *((const uint8_t *)x->result_value + x->lane) != 0);
    case PLUMB_OP_CMP:
      if (plumb_dtype_is_float((plumb_dtype)inst->type2))
        return plumb_bound_compare_float((plumb_cmp)inst->sub, &o[0], &o[1]);
      if (all_certain)
        return plumb_companion_exact(PLUMB_I1, (const uint8_t *)x->result_value + x->lane);
      return plumb_bound_compare_int((plumb_cmp)inst->sub, &o[0], &o[1]);
    default:
      break;
  }
  if (!plumb_dtype_is_float(type)) {
    bool from_float = inst->op == PLUMB_OP_CVT && plumb_dtype_is_float((plumb_dtype)inst->type2);
    if (all_certain && !from_float)
      return plumb_companion_exact(type, element(x->result_value, type, x->lane));
    if (inst->op == PLUMB_OP_CVT) return plumb_bound_convert(inst, &o[0]);
    return plumb_bound_int(inst, &o[0], inst->operands > 1 ? &o[1] : &o[0]);
  }
  return inst->op == PLUMB_OP_CVT ? plumb_bound_convert(inst, &o[0]) : float_result(x);
}

void plumb_bound_execute(const plumb_program *p, const plumb_inst *inst,
                         const void *const *result_values, const void *const *operand_values,
                         plumb_companion *const *result_companions,
                         const plumb_companion *const *operand_companions, uint32_t lo,
                         uint32_t hi) {
  (void)p;
  bound_lane x = {.inst = inst, .operand_values = operand_values, .result_value = result_values[0]};
  int count = inst->operands > 4 ? 4 : inst->operands;
  bool flush = (inst->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN)) != 0;
  for (x.lane = lo; x.lane < hi; x.lane++) {
    bool all_certain = true;
    for (int i = 0; i < count; i++) {
      plumb_dtype type = operand_type(inst, i);
      x.exact[i] = operand_companions[i] == NULL;
      x.operand[i] = x.exact[i]
                         ? plumb_companion_exact(type, element(operand_values[i], type, x.lane))
                         : operand_companions[i][x.lane];
      if (flush && plumb_dtype_is_float(type)) x.operand[i] = plumb_bound_flush(type, x.operand[i]);
      all_certain &= x.exact[i] || plumb_companion_is_certain(&x.operand[i]);
    }
    if (result_companions[0]) result_companions[0][x.lane] = result_of(&x, all_certain);
    if (inst->results > 1 && result_companions[1])
      result_companions[1][x.lane] =
          all_certain ? plumb_companion_exact(PLUMB_I1, (const uint8_t *)result_values[1] + x.lane)
                      : interval(0, 1);
  }
}

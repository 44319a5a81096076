/* Which part of the ALU an instruction belongs to, and the operations that only move or
 * mark bits. */
#include "targets/cpu/alu.h"

#include "targets/cpu/alu_lanes.h"
#include "targets/cpu/float_convert.h"

static bool is_i128(const plumb_inst *inst) {
  return inst->type == PLUMB_I128;
}

static void move_lanes(const lanes *x, unsigned bytes) {
  memmove((char *)x->results[0] + x->lo * bytes, (const char *)x->operands[0] + x->lo * bytes,
          (x->hi - x->lo) * bytes);
}

#define SELECT_LOOP(TYPE) \
  do { \
    TYPE *r = x->results[0]; \
    const TYPE *a = x->operands[1], *b = x->operands[2]; \
    LANES { \
      TYPE yes = a[l], no = b[l]; \
      r[l] = condition[l] & 1 ? yes : no; \
    } \
  } while (0)

PLUMB_CLONES
static void select_lanes(const lanes *x, unsigned bytes) {
  size_t lo = x->lo, hi = x->hi;
  const uint8_t *condition = x->operands[0];
  switch (bytes) {
    case 1:
      SELECT_LOOP(uint8_t);
      break;
    case 2:
      SELECT_LOOP(uint16_t);
      break;
    case 4:
      SELECT_LOOP(uint32_t);
      break;
    case 8:
      SELECT_LOOP(uint64_t);
      break;
    default:
      for (size_t l = lo; l < hi; l++)
        memmove((char *)x->results[0] + l * bytes,
                (const char *)x->operands[condition[l] & 1 ? 1 : 2] + l * bytes, bytes);
  }
}

/* NEG, ABS and COPYSIGN of floats: sign bits. FTZ flushes the operand. */
#define SIGN_LOOP(TYPE) \
  do { \
    TYPE *r = x->results[0]; \
    const TYPE *a = x->operands[0], *b = copy ? x->operands[1] : x->operands[0]; \
    TYPE s = (TYPE)sign, flip = (TYPE)(op == PLUMB_OP_NEG ? sign : 0); \
    TYPE take = (TYPE)(op == PLUMB_OP_ABS ? 0 : sign); \
    TYPE exponents = (TYPE)(flush ? exponent_mask : 0); \
    LANES { \
      TYPE magnitude = (TYPE)(a[l] & (TYPE)~s); \
      bool tiny = flush && (a[l] & exponents) == 0; \
      r[l] = (TYPE)((tiny ? 0 : magnitude) | ((b[l] ^ flip) & take)); \
    } \
  } while (0)

PLUMB_CLONES
static bool sign_lanes(const lanes *x, plumb_dtype type) {
  size_t lo = x->lo, hi = x->hi;
  plumb_op op = (plumb_op)x->inst->op;
  const plumb_dtype_info *info = &plumb_dtype_table[type];
  uint64_t sign = plumb_float_sign_bit(type);
  bool copy = op == PLUMB_OP_COPYSIGN;
  bool flush = (x->inst->flags & (PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN | PLUMB_FLAG_FTZ_OUT)) != 0;
  uint64_t exponent_mask = sign - (sign >> info->exponent_bits);
  if (sign == 0) return false;
  switch (info->storage_bytes) {
    case 1:
      SIGN_LOOP(uint8_t);
      return true;
    case 2:
      SIGN_LOOP(uint16_t);
      return true;
    case 4:
      SIGN_LOOP(uint32_t);
      return true;
    case 8:
      SIGN_LOOP(uint64_t);
      return true;
    default:
      return false;
  }
}

static bool compare(const lanes *x) {
  plumb_dtype type = (plumb_dtype)x->inst->type2;
  if (plumb_dtype_is_float(type)) return plumb_alu_compare_float(x);
  return type == PLUMB_I128 ? plumb_alu_compare_i128(x) : plumb_alu_compare_int(x);
}

static bool execute(const lanes *x) {
  const plumb_inst *inst = x->inst;
  plumb_dtype type = (plumb_dtype)inst->type;
  bool is_float = plumb_dtype_is_float(type);
  switch ((plumb_op)inst->op) {
    case PLUMB_OP_MOV:
    case PLUMB_OP_FREEZE:
      move_lanes(x, plumb_dtype_bytes(type));
      return true;
    case PLUMB_OP_SELECT:
      select_lanes(x, plumb_dtype_bytes(type));
      return true;
    case PLUMB_OP_CMP:
      return compare(x);
    case PLUMB_OP_CVT:
      return plumb_alu_convert(x);
    case PLUMB_OP_CVT_RS:
      return plumb_alu_convert_random(x);
    case PLUMB_OP_VIDEO:
      return plumb_alu_video(x);
    case PLUMB_OP_CLASSIFY:
      return plumb_alu_classify(x);
    case PLUMB_OP_MATH:
      return plumb_alu_math(x);
    case PLUMB_OP_APPROX:
      return plumb_alu_approx(x);
    case PLUMB_OP_COPYSIGN:
      return is_float && sign_lanes(x, type);
    case PLUMB_OP_NEG:
    case PLUMB_OP_ABS:
      if (is_float) return sign_lanes(x, type);
      break;
    default:
      break;
  }
  if (is_float) return plumb_alu_float(x);
  if (is_i128(inst)) return plumb_alu_i128(x);
  return plumb_alu_int(x) || plumb_alu_bits(x);
}

static void write_zeros(const lanes *x) {
  bool is_bit = x->inst->op == PLUMB_OP_CMP || x->inst->op == PLUMB_OP_CLASSIFY;
  unsigned bytes = is_bit ? 1 : plumb_dtype_bytes((plumb_dtype)x->inst->type);
  for (int i = 0; i < x->inst->results; i++) {
    unsigned size = i == 0 ? bytes : 1;
    memset((char *)x->results[i] + x->lo * size, 0, (x->hi - x->lo) * size);
  }
}

void plumb_alu_execute(const plumb_program *p, const plumb_inst *inst, void *const *results,
                       const void *const *operands, uint32_t lo, uint32_t hi) {
  (void)p;
  lanes x = {inst, results, operands, lo, hi};
  if (lo < hi && !execute(&x)) write_zeros(&x);
}

/* Tried on one lane of zeros: there is no second list to keep in step. */
bool plumb_alu_supports(const plumb_inst *inst) {
  if (inst->results > 2 || inst->operands > 4) return false;
  _Alignas(16) unsigned char result[2][16] = {{0}}, operand[4][16] = {{0}};
  lanes x = {inst, (void *[]){result[0], result[1]},
             (const void *[]){operand[0], operand[1], operand[2], operand[3]}, 0, 1};
  if (inst->op >= PLUMB_OP_COUNT || plumb_op_table[inst->op].op_class != PLUMB_CLASS_ALU)
    return false;
  return inst->op != PLUMB_OP_SREG && execute(&x);
}

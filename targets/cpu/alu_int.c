/* Integer arithmetic, shifts, carries and compares, one copy a width. */
#include "targets/cpu/alu_lanes.h"

/* Small integers are promoted to int before the cast back: what is lost is meant to be. */
typedef unsigned __int128 uint128_t;
typedef __int128 int128_t;
#define UINT_(w) uint##w##_t
#define SINT_(w) int##w##_t
#define UINT(w) UINT_(w)
#define SINT(w) SINT_(w)

#define W 8
#define WIDE 32
#define NAME(x) x##_8
#include "targets/cpu/alu_int_width.inc"
#define W 16
#define WIDE 32
#define NAME(x) x##_16
#include "targets/cpu/alu_int_width.inc"
#define W 32
#define WIDE 64
#define NAME(x) x##_32
#include "targets/cpu/alu_int_width.inc"
#define W 64
#define WIDE 128
#define NAME(x) x##_64
#include "targets/cpu/alu_int_width.inc"

/* i1 has one bit: its signed values are 0 and -1. Each operation is the 8-bit one on
 * operands extended as the operation reads them, and the low bit of the result. */
static bool signed_operation(plumb_op op) {
  switch (op) {
    case PLUMB_OP_MULHI_S:
    case PLUMB_OP_DIV_S:
    case PLUMB_OP_REM_S:
    case PLUMB_OP_FLOORDIV_S:
    case PLUMB_OP_CEILDIV_S:
    case PLUMB_OP_MIN_S:
    case PLUMB_OP_MAX_S:
    case PLUMB_OP_ABS:
      return true;
    default:
      return false;
  }
}

static bool shift_bit(const lanes *x) {
  uint8_t *r = x->results[0];
  const uint8_t *a = x->operands[0], *b = x->operands[1];
  switch ((plumb_op)x->inst->op) {
    case PLUMB_OP_SHL:
    case PLUMB_OP_SHR_U:
      for (size_t l = x->lo; l < x->hi; l++) r[l] = b[l] & 1 ? 0 : a[l] & 1;
      return true;
    case PLUMB_OP_SHR_S:
      for (size_t l = x->lo; l < x->hi; l++) r[l] = a[l] & 1;
      return true;
    case PLUMB_OP_MULHI_S:
    case PLUMB_OP_MULHI_U: /* the high half of a 2-bit product of bits is 0 or (-1)(-1) >> 1 */
      for (size_t l = x->lo; l < x->hi; l++) r[l] = 0;
      return true;
    default:
      return false;
  }
}

enum { BIT_CHUNK = 256 };

static bool execute_bit(const lanes *x) {
  if (x->inst->op == PLUMB_OP_ADD_CARRY || x->inst->op == PLUMB_OP_SUB_BORROW) return false;
  if (shift_bit(x)) return true;
  uint8_t wide[2][BIT_CHUNK], result[BIT_CHUNK];
  bool is_signed = signed_operation((plumb_op)x->inst->op);
  int count = x->inst->operands > 2 ? 2 : x->inst->operands;
  uint8_t *out = x->results[0];
  for (size_t base = x->lo; base < x->hi; base += BIT_CHUNK) {
    size_t length = x->hi - base < BIT_CHUNK ? x->hi - base : BIT_CHUNK;
    for (int i = 0; i < count; i++) {
      const uint8_t *from = x->operands[i];
      for (size_t l = 0; l < length; l++) {
        uint8_t bit = from[base + l] & 1;
        wide[i][l] = is_signed ? (uint8_t)(0u - bit) : bit;
      }
    }
    lanes chunk = {x->inst, (void *[]){result}, (const void *[]){wide[0], wide[1]}, 0, length};
    if (!arithmetic_8(&chunk, result, wide[0], wide[1]) &&
        !divide_8(&chunk, result, wide[0], wide[1]))
      return false;
    for (size_t l = 0; l < length; l++) out[base + l] = result[l] & 1;
  }
  return true;
}

bool plumb_alu_int(const lanes *x) {
  switch ((plumb_dtype)x->inst->type) {
    case PLUMB_I1:
      return execute_bit(x);
    case PLUMB_I8:
      return execute_8(x);
    case PLUMB_I16:
      return execute_16(x);
    case PLUMB_I32:
      return execute_32(x);
    case PLUMB_I64:
      return execute_64(x);
    default:
      return false;
  }
}

/* i1 compares unsigned as bytes; signed compares see 0 and -1, the reverse order. */
static bool compare_bit(const lanes *x) {
  plumb_inst swapped = *x->inst;
  switch ((plumb_cmp)x->inst->sub) {
    case PLUMB_CMP_LT_S:
      swapped.sub = PLUMB_CMP_GT_U;
      break;
    case PLUMB_CMP_LE_S:
      swapped.sub = PLUMB_CMP_GE_U;
      break;
    case PLUMB_CMP_GT_S:
      swapped.sub = PLUMB_CMP_LT_U;
      break;
    case PLUMB_CMP_GE_S:
      swapped.sub = PLUMB_CMP_LE_U;
      break;
    default:
      break;
  }
  lanes y = *x;
  y.inst = &swapped;
  return compare_8(&y, x->results[0], x->operands[0], x->operands[1]);
}

bool plumb_alu_compare_int(const lanes *x) {
  uint8_t *r = x->results[0];
  const void *a = x->operands[0], *b = x->operands[1];
  switch ((plumb_dtype)x->inst->type2) {
    case PLUMB_I1:
      return compare_bit(x);
    case PLUMB_I8:
      return compare_8(x, r, a, b);
    case PLUMB_I16:
      return compare_16(x, r, a, b);
    case PLUMB_I32:
      return compare_32(x, r, a, b);
    case PLUMB_I64:
      return compare_64(x, r, a, b);
    default:
      return false;
  }
}

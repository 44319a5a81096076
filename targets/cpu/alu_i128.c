/* 128-bit integers, which compilers use for wide products and index overflow checks. */
#include "targets/cpu/alu_lanes.h"

typedef unsigned __int128 uint128_t;
typedef __int128 int128_t;

static uint128_t load(const void *array, size_t lane) {
  uint128_t value;
  memcpy(&value, (const char *)array + lane * 16, 16);
  return value;
}

static uint128_t div_s(uint128_t a, uint128_t b) {
  if (b == 0) return (uint128_t)-1;
  if (b == (uint128_t)-1) return -a;
  return (uint128_t)((int128_t)a / (int128_t)b);
}

static uint128_t rem_s(uint128_t a, uint128_t b) {
  if (b == 0) return a;
  if (b == (uint128_t)-1) return 0;
  return (uint128_t)((int128_t)a % (int128_t)b);
}

/* High half of the unsigned 256-bit product, by 64-bit halves. */
static uint128_t mulhi_u(uint128_t a, uint128_t b) {
  uint64_t a0 = (uint64_t)a, a1 = (uint64_t)(a >> 64), b0 = (uint64_t)b, b1 = (uint64_t)(b >> 64);
  uint128_t low = (uint128_t)a0 * b0, m1 = (uint128_t)a1 * b0, m2 = (uint128_t)a0 * b1;
  uint128_t middle = (low >> 64) + (uint64_t)m1 + (uint64_t)m2;
  return (uint128_t)a1 * b1 + (m1 >> 64) + (m2 >> 64) + (middle >> 64);
}

static uint128_t mulhi_s(uint128_t a, uint128_t b) {
  uint128_t high = mulhi_u(a, b);
  if ((int128_t)a < 0) high -= b;
  if ((int128_t)b < 0) high -= a;
  return high;
}

static bool saturating(const plumb_inst *inst, uint128_t a, uint128_t b, uint128_t *out) {
  int128_t sum;
  bool overflow = inst->op == PLUMB_OP_ADD ? __builtin_add_overflow((int128_t)a, (int128_t)b, &sum)
                                           : __builtin_sub_overflow((int128_t)a, (int128_t)b, &sum);
  uint128_t most = (uint128_t)-1 >> 1;
  *out = !overflow ? (uint128_t)sum : (int128_t)a < 0 ? most + 1 : most;
  return true;
}

static unsigned count_leading(uint128_t a) {
  uint64_t high = (uint64_t)(a >> 64), low = (uint64_t)a;
  if (high) return (unsigned)__builtin_clzll(high);
  return low ? 64 + (unsigned)__builtin_clzll(low) : 128;
}

static unsigned count_trailing(uint128_t a) {
  uint64_t high = (uint64_t)(a >> 64), low = (uint64_t)a;
  if (low) return (unsigned)__builtin_ctzll(low);
  return high ? 64 + (unsigned)__builtin_ctzll(high) : 128;
}

static bool divide(plumb_op op, uint128_t a, uint128_t b, uint128_t *r) {
  uint128_t quotient = div_s(a, b);
  bool inexact = b != 0 && rem_s(a, b) != 0, opposite = ((int128_t)a < 0) != ((int128_t)b < 0);
  switch (op) {
    case PLUMB_OP_DIV_S:
      *r = quotient;
      return true;
    case PLUMB_OP_DIV_U:
      *r = b ? a / b : (uint128_t)-1;
      return true;
    case PLUMB_OP_REM_S:
      *r = rem_s(a, b);
      return true;
    case PLUMB_OP_REM_U:
      *r = b ? a % b : a;
      return true;
    case PLUMB_OP_FLOORDIV_S:
      *r = quotient - (inexact && opposite);
      return true;
    case PLUMB_OP_CEILDIV_S:
      *r = quotient + (inexact && !opposite);
      return true;
    default:
      return false;
  }
}

static bool one(const plumb_inst *inst, uint128_t a, uint128_t b, uint128_t *r) {
  if ((inst->op == PLUMB_OP_ADD || inst->op == PLUMB_OP_SUB) && (inst->flags & PLUMB_FLAG_SAT))
    return saturating(inst, a, b, r);
  switch ((plumb_op)inst->op) {
    case PLUMB_OP_ADD:
    case PLUMB_OP_REDUCE_ADD:
      *r = a + b;
      return true;
    case PLUMB_OP_SUB:
      *r = a - b;
      return true;
    case PLUMB_OP_MUL:
    case PLUMB_OP_REDUCE_MUL:
      *r = a * b;
      return true;
    case PLUMB_OP_NEG:
      *r = -a;
      return true;
    case PLUMB_OP_ABS:
      *r = (int128_t)a < 0 ? -a : a;
      return true;
    case PLUMB_OP_MULHI_U:
      *r = mulhi_u(a, b);
      return true;
    case PLUMB_OP_MULHI_S:
      *r = mulhi_s(a, b);
      return true;
    case PLUMB_OP_MIN_S:
      *r = (int128_t)a < (int128_t)b ? a : b;
      return true;
    case PLUMB_OP_MAX_S:
      *r = (int128_t)a > (int128_t)b ? a : b;
      return true;
    case PLUMB_OP_MIN_U:
      *r = a < b ? a : b;
      return true;
    case PLUMB_OP_MAX_U:
      *r = a > b ? a : b;
      return true;
    case PLUMB_OP_AND:
      *r = a & b;
      return true;
    case PLUMB_OP_OR:
      *r = a | b;
      return true;
    case PLUMB_OP_XOR:
      *r = a ^ b;
      return true;
    case PLUMB_OP_NOT:
      *r = ~a;
      return true;
    case PLUMB_OP_SHL:
      *r = b < 128 ? a << (unsigned)b : 0;
      return true;
    case PLUMB_OP_SHR_U:
      *r = b < 128 ? a >> (unsigned)b : 0;
      return true;
    case PLUMB_OP_SHR_S:
      *r = (uint128_t)((int128_t)a >> (b < 128 ? (unsigned)b : 127));
      return true;
    case PLUMB_OP_CLZ:
      *r = count_leading(a);
      return true;
    case PLUMB_OP_CTZ:
      *r = count_trailing(a);
      return true;
    case PLUMB_OP_POPC:
      *r =
          (unsigned)(__builtin_popcountll((uint64_t)a) + __builtin_popcountll((uint64_t)(a >> 64)));
      return true;
    default:
      return divide((plumb_op)inst->op, a, b, r);
  }
}

bool plumb_alu_i128(const lanes *x) {
  if (x->inst->type != PLUMB_I128 || x->inst->operands > 3 || x->inst->results != 1) return false;
  for (size_t l = x->lo; l < x->hi; l++) {
    uint128_t a = load(x->operands[0], l);
    uint128_t b = x->inst->operands > 1 ? load(x->operands[1], l) : 0, r;
    if (!one(x->inst, a, b, &r)) return false;
    memcpy((char *)x->results[0] + l * 16, &r, 16);
  }
  return true;
}

bool plumb_alu_compare_i128(const lanes *x) {
  uint8_t *r = x->results[0];
  for (size_t l = x->lo; l < x->hi; l++) {
    uint128_t a = load(x->operands[0], l), b = load(x->operands[1], l);
    int128_t s = (int128_t)a, t = (int128_t)b;
    switch ((plumb_cmp)x->inst->sub) {
      case PLUMB_CMP_EQ:
        r[l] = a == b;
        break;
      case PLUMB_CMP_NE:
        r[l] = a != b;
        break;
      case PLUMB_CMP_LT_S:
        r[l] = s < t;
        break;
      case PLUMB_CMP_LE_S:
        r[l] = s <= t;
        break;
      case PLUMB_CMP_GT_S:
        r[l] = s > t;
        break;
      case PLUMB_CMP_GE_S:
        r[l] = s >= t;
        break;
      case PLUMB_CMP_LT_U:
        r[l] = a < b;
        break;
      case PLUMB_CMP_LE_U:
        r[l] = a <= b;
        break;
      case PLUMB_CMP_GT_U:
        r[l] = a > b;
        break;
      case PLUMB_CMP_GE_U:
        r[l] = a >= b;
        break;
      case PLUMB_CMP_FALSE:
        r[l] = 0;
        break;
      case PLUMB_CMP_TRUE:
        r[l] = 1;
        break;
      default:
        return false;
    }
  }
  return true;
}

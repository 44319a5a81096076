/* Where a result is poison (LLVM Language Reference, Poison Values and the flags of each
 * instruction; the same flags in MLIR's arith and llvm dialects): a shift by the width or
 * more, an inexact `exact`, wrapping under nsw and nuw, and so on. The value itself is
 * what the ALU computes; only its origin says poison (undef.c). */
#include "targets/cpu/exec.h"

#include <math.h>

typedef unsigned __int128 wide;
typedef __int128 swide;

enum { WRAPS = PLUMB_FLAG_NSW | PLUMB_FLAG_NUW, FAST = PLUMB_FLAG_NNAN | PLUMB_FLAG_NINF };

/* The type of the operands that flags speak of. */
static plumb_dtype operand_type(const plumb_inst *inst) {
  bool from_type2 = inst->op == PLUMB_OP_CMP || inst->op == PLUMB_OP_CVT;
  return (plumb_dtype)(from_type2 ? inst->type2 : inst->type);
}

/* Number of leading operands of that type: not the exponent of POWI and LDEXP, not the
 * number of terms of a reduction. */
static uint32_t float_operands(const plumb_inst *inst) {
  if (inst->op == PLUMB_OP_FMA) return 3;
  bool exponent =
      inst->op == PLUMB_OP_MATH && (inst->sub == PLUMB_MATH_POWI || inst->sub == PLUMB_MATH_LDEXP);
  return exponent ? 1 : inst->operands < 2 ? inst->operands : 2;
}

bool plumb_may_poison(const plumb_inst *inst) {
  if (inst->op != PLUMB_OP_CVT && plumb_dtype_is_float(operand_type(inst)))
    return (inst->flags & (uint32_t)FAST) != 0 && inst->op != PLUMB_OP_SELECT;
  switch (inst->op) {
    case PLUMB_OP_SHL:
    case PLUMB_OP_SHR_S:
    case PLUMB_OP_SHR_U:
      return !(inst->flags & PLUMB_FLAG_CLAMP);
    case PLUMB_OP_CVT:
      if (!plumb_dtype_is_float((plumb_dtype)inst->type2))
        return (inst->flags & (uint32_t)WRAPS) != 0;
      return plumb_dtype_is_float((plumb_dtype)inst->type) ? (inst->flags & (uint32_t)FAST) != 0
                                                           : !(inst->flags & PLUMB_FLAG_CLAMP);
    case PLUMB_OP_DIV_S:
    case PLUMB_OP_DIV_U:
    case PLUMB_OP_REM_S:
    case PLUMB_OP_REM_U:
    case PLUMB_OP_FLOORDIV_S:
    case PLUMB_OP_CEILDIV_S:
      return true;
    case PLUMB_OP_ADD:
      return (inst->flags & (uint32_t)(WRAPS | PLUMB_FLAG_EXACT)) != 0;
    case PLUMB_OP_SUB:
    case PLUMB_OP_MUL:
    case PLUMB_OP_NEG:
    case PLUMB_OP_ABS:
    case PLUMB_OP_OR:
    case PLUMB_OP_CMP:
      return (inst->flags & (uint32_t)WRAPS) != 0;
    default:
      return false;
  }
}

/* --- one lane --- */

static wide lane_of(const void *lanes, unsigned bytes, uint32_t l) {
  wide v = 0;
  memcpy(&v, (const uint8_t *)lanes + (size_t)l * bytes, bytes);
  return v;
}

static wide truncated(wide v, unsigned bits) {
  return bits >= 128 ? v : v & (((wide)1 << bits) - 1);
}

static swide extended(wide v, unsigned bits) {
  return (swide)(v << (128 - bits)) >> (128 - bits);
}

/* Sums, differences and products that leave the type's signed or unsigned range. */
static bool wraps(const plumb_inst *inst, wide a, wide b, unsigned bits) {
  swide sa = extended(a, bits), sb = extended(b, bits), s;
  wide u;
  bool sover, uover;
  switch (inst->op) {
    case PLUMB_OP_ADD:
      sover = __builtin_add_overflow(sa, sb, &s);
      uover = __builtin_add_overflow(a, b, &u);
      break;
    case PLUMB_OP_SUB:
      sover = __builtin_sub_overflow(sa, sb, &s);
      uover = __builtin_sub_overflow(a, b, &u);
      break;
    default:
      sover = __builtin_mul_overflow(sa, sb, &s);
      uover = __builtin_mul_overflow(a, b, &u);
      break;
  }
  sover |= s != extended(truncated((wide)s, bits), bits);
  uover |= u != truncated(u, bits);
  return ((inst->flags & PLUMB_FLAG_NSW) && sover) || ((inst->flags & PLUMB_FLAG_NUW) && uover);
}

static bool shift_is_poison(const plumb_inst *inst, wide a, wide amount, unsigned bits) {
  if (amount >= bits) return true;
  unsigned by = (unsigned)amount;
  if (inst->op != PLUMB_OP_SHL) return (inst->flags & PLUMB_FLAG_EXACT) && truncated(a, by) != 0;
  wide r = truncated(a << by, bits);
  return ((inst->flags & PLUMB_FLAG_NSW) && extended(r, bits) >> by != extended(a, bits)) ||
         ((inst->flags & PLUMB_FLAG_NUW) && r >> by != a);
}

/* A zero divisor; INT_MIN / -1 under NSW; a remainder under EXACT. */
static bool division_is_poison(const plumb_inst *inst, wide a, wide b, unsigned bits) {
  if (b == 0) return true;
  bool is_signed = inst->op != PLUMB_OP_DIV_U && inst->op != PLUMB_OP_REM_U;
  if (is_signed && extended(b, bits) == -1)
    return (inst->flags & PLUMB_FLAG_NSW) && a == (wide)1 << (bits - 1);
  if (!(inst->flags & PLUMB_FLAG_EXACT)) return false;
  return is_signed ? extended(a, bits) % extended(b, bits) != 0 : a % b != 0;
}

/* A float that no integer of the destination holds, or a NaN; an integer that changes when
 * it is cut and extended again (trunc nuw, nsw), or that is negative (nneg: NSW where the
 * conversion reads it as unsigned and keeps every value). */
static bool conversion_is_poison(const plumb_inst *inst, wide value) {
  plumb_dtype from = (plumb_dtype)inst->type2, to = (plumb_dtype)inst->type;
  unsigned from_bits = plumb_dtype_table[from].bits, bits = plumb_dtype_table[to].bits;
  if (!plumb_dtype_is_float(from)) {
    if (plumb_dtype_is_float(to) || bits >= from_bits)
      return (inst->flags & PLUMB_FLAG_NSW) && value >> (from_bits - 1);
    wide cut = truncated(value, bits);
    return ((inst->flags & PLUMB_FLAG_NUW) && cut != value) ||
           ((inst->flags & PLUMB_FLAG_NSW) && extended(cut, bits) != extended(value, from_bits));
  }
  double v = plumb_dtype_to_double(from, (uint64_t)value);
  bool is_signed = inst->flags & PLUMB_FLAG_DST_SIGNED;
  double top = ldexp(1.0, (int)(is_signed ? bits - 1 : bits));
  /* In range after truncation: (-1, top) unsigned, (-top - 1, top) signed. */
  return !(v < top && (is_signed ? v > -top - 1 || v == -top : v > -1.0));
}

static bool is_excluded(const plumb_inst *inst, plumb_dtype type, wide bits) {
  double v = plumb_dtype_to_double(type, (uint64_t)bits);
  return ((inst->flags & PLUMB_FLAG_NNAN) && isnan(v)) ||
         ((inst->flags & PLUMB_FLAG_NINF) && isinf(v));
}

/* A sum of an address and an offset inside the address's allocation, or right at its end
 * (getelementptr inbounds). Only global memory has allocations one can tell apart. */
static bool leaves_allocation(const plumb_block_run *br, uint64_t base, uint64_t offset) {
  const plumb_allocation *a =
      plumb_window_of(base) == PLUMB_WINDOW_GLOBAL ? plumb_allocation_of(br->machine, base) : NULL;
  if (!a || !offset) return false;
  uint64_t from = base & UINT32_MAX, to = from + offset;
  return from > a->size_bytes || to > a->size_bytes;
}

static bool lane_is_poison(const plumb_block_run *br, const plumb_inst *inst,
                           const void *const *operands, uint32_t l) {
  plumb_dtype type = operand_type(inst);
  unsigned bytes = plumb_dtype_bytes(type), bits = plumb_dtype_table[type].bits;
  wide a = lane_of(operands[0], bytes, l);
  if (inst->op == PLUMB_OP_CVT &&
      !(plumb_dtype_is_float(type) && plumb_dtype_is_float((plumb_dtype)inst->type)))
    return conversion_is_poison(inst, a);
  if (plumb_dtype_is_float(type)) {
    for (uint32_t i = 0; i < float_operands(inst); i++)
      if (is_excluded(inst, type, lane_of(operands[i], bytes, l))) return true;
    return false;
  }
  wide b = inst->operands > 1 ? lane_of(operands[1], bytes, l) : 0;
  switch (inst->op) {
    case PLUMB_OP_SHL:
    case PLUMB_OP_SHR_S:
    case PLUMB_OP_SHR_U:
      return shift_is_poison(inst, a, b, bits);
    case PLUMB_OP_DIV_S:
    case PLUMB_OP_DIV_U:
    case PLUMB_OP_REM_S:
    case PLUMB_OP_REM_U:
    case PLUMB_OP_FLOORDIV_S:
    case PLUMB_OP_CEILDIV_S:
      return division_is_poison(inst, a, b, bits);
    case PLUMB_OP_NEG:
    case PLUMB_OP_ABS:
      return a == (wide)1 << (bits - 1);
    case PLUMB_OP_OR: /* disjoint */
      return (a & b) != 0;
    case PLUMB_OP_CMP: /* samesign */
      return (a >> (bits - 1)) != (b >> (bits - 1));
    default:
      return ((inst->flags & PLUMB_FLAG_EXACT) &&
              leaves_allocation(br, (uint64_t)a, (uint64_t)b)) ||
             ((inst->flags & (uint32_t)WRAPS) && wraps(inst, a, b, bits));
  }
}

/* --- all lanes at once: false where none can be poison --- */

#define ANY_LOOP(U, S) \
  do { \
    const U *a = operands[0], *b = operands[1]; \
    U bad = 0; \
    const unsigned top = 8 * sizeof(U) - 1; \
    const U nsw = (U)(signed_too ? -1 : 0), nuw = (U)(unsigned_too ? -1 : 0); \
    switch (inst->op) { \
      case PLUMB_OP_ADD: \
        for (size_t l = lo; l < hi; l++) { \
          U r = (U)(a[l] + b[l]); \
          bad |= ((a[l] ^ r) & (b[l] ^ r) & nsw) | (((a[l] & b[l]) | ((a[l] | b[l]) & ~r)) & nuw); \
        } \
        return bad >> top; \
      case PLUMB_OP_SUB: \
        for (size_t l = lo; l < hi; l++) { \
          U r = (U)(a[l] - b[l]); \
          bad |= ((a[l] ^ b[l]) & (a[l] ^ r) & nsw) | \
                 (((~a[l] & b[l]) | ((~a[l] | b[l]) & r)) & nuw); \
        } \
        return bad >> top; \
      case PLUMB_OP_SHL: \
        for (size_t l = lo; l < hi; l++) { \
          U by = b[l] & top, r = (U)(a[l] << by); \
          bad |= \
              (b[l] & ~(U)top) | (((U)((S)r >> by) ^ a[l]) & nsw) | ((U)(r >> by ^ a[l]) & nuw); \
        } \
        return bad != 0; \
      case PLUMB_OP_SHR_S: \
      case PLUMB_OP_SHR_U: \
        for (size_t l = lo; l < hi; l++) bad |= b[l] & ~(U)top; \
        if (!(inst->flags & PLUMB_FLAG_EXACT)) return bad != 0; \
        return true; \
      default: \
        return true; \
    } \
  } while (0)

/* Products of i32 are exact in 64 bits; those of i64 cannot wrap while both factors are
 * small, which indexes are. */
PLUMB_CLONES
static bool any_product(const plumb_inst *inst, const void *const *operands, uint32_t lo,
                        uint32_t hi) {
  bool nsw = inst->flags & PLUMB_FLAG_NSW, nuw = inst->flags & PLUMB_FLAG_NUW;
  uint64_t bad = 0;
  if (inst->type == PLUMB_I32) {
    const uint32_t *a = operands[0], *b = operands[1];
    if (nsw)
      for (size_t l = lo; l < hi; l++) {
        int64_t r = (int64_t)(int32_t)a[l] * (int32_t)b[l];
        bad |= (uint64_t)(r + INT32_MAX + 1) >> 32;
      }
    if (nuw)
      for (size_t l = lo; l < hi; l++) bad |= ((uint64_t)a[l] * b[l]) >> 32;
    return bad != 0;
  }
  const uint64_t *a = operands[0], *b = operands[1];
  if (nsw)
    for (size_t l = lo; l < hi; l++) bad |= ((a[l] + (1ull << 31)) | (b[l] + (1ull << 31))) >> 32;
  if (nuw)
    for (size_t l = lo; l < hi; l++) bad |= (a[l] | b[l]) >> 32;
  return bad != 0;
}

PLUMB_CLONES
static bool any_sum(const plumb_inst *inst, const void *const *operands, uint32_t lo, uint32_t hi) {
  const bool signed_too = inst->flags & PLUMB_FLAG_NSW, unsigned_too = inst->flags & PLUMB_FLAG_NUW;
  if (inst->type == PLUMB_I32)
    ANY_LOOP(uint32_t, int32_t);
  else
    ANY_LOOP(uint64_t, int64_t);
}

/* Every lane's address and sum lie in the allocation of the first one's. */
PLUMB_CLONES
static bool any_outside(const uint64_t *base, const uint64_t *offset, uint64_t start,
                        uint64_t size_bytes, uint32_t lo, uint32_t hi) {
  uint64_t bad = 0;
  for (size_t l = lo; l < hi; l++) {
    uint64_t from = base[l] - start, to = from + offset[l];
    bad |= from | to | (size_bytes - from) | (size_bytes - to); /* a sign: outside */
  }
  return bad >> 63;
}

/* A lane whose address is global. */
PLUMB_CLONES
static bool any_global(const uint64_t *base, uint32_t lo, uint32_t hi) {
  uint64_t found = 0;
  for (uint32_t l = lo; l < hi; l++)
    found |= (uint64_t)(plumb_window_of(base[l]) == PLUMB_WINDOW_GLOBAL);
  return found != 0;
}

#define ANY_BITS(U, EXPRESSION) \
  do { \
    const U *a = operands[0], *b = inst->operands > 1 ? operands[1] : operands[0]; \
    U bad = 0; \
    for (uint32_t l = lo; l < hi; l++) bad |= (EXPRESSION); \
    return bad != 0; \
  } while (0)

/* A common bit under `or disjoint`, signs that differ under `icmp samesign`. */
PLUMB_CLONES
static bool any_shared_bit(const plumb_inst *inst, plumb_dtype type, const void *const *operands,
                           uint32_t lo, uint32_t hi) {
  if (inst->op == PLUMB_OP_OR) {
    if (type == PLUMB_I32) ANY_BITS(uint32_t, a[l] & b[l]);
    ANY_BITS(uint64_t, a[l] & b[l]);
  }
  if (type == PLUMB_I32) ANY_BITS(uint32_t, (a[l] ^ b[l]) >> 31);
  ANY_BITS(uint64_t, (a[l] ^ b[l]) >> 63);
}

/* An integer that a conversion changes: cut to 32 bits, or negative under nneg. */
PLUMB_CLONES
static bool any_changed(const plumb_inst *inst, plumb_dtype from, const void *const *operands,
                        uint32_t lo, uint32_t hi) {
  plumb_dtype to = (plumb_dtype)inst->type;
  bool cut = !plumb_dtype_is_float(to) && plumb_dtype_bytes(to) < plumb_dtype_bytes(from);
  uint64_t nsw = inst->flags & PLUMB_FLAG_NSW ? UINT64_MAX : 0;
  uint64_t nuw = inst->flags & PLUMB_FLAG_NUW ? UINT64_MAX : 0;
  if (cut && (from != PLUMB_I64 || to != PLUMB_I32)) return true;
  if (cut) ANY_BITS(uint64_t, ((b[l] + (1ull << 31)) >> 32 & nsw) | (a[l] >> 32 & nuw));
  if (from == PLUMB_I32) ANY_BITS(uint32_t, (a[l] | b[l]) >> 31 & (uint32_t)nsw);
  ANY_BITS(uint64_t, (a[l] | b[l]) >> 63 & nsw);
}

/* A zero divisor, or the one signed quotient that is too large. */
PLUMB_CLONES
static bool any_bad_division(const plumb_inst *inst, const void *const *operands, uint32_t lo,
                             uint32_t hi) {
  unsigned nsw = (inst->flags & PLUMB_FLAG_NSW) != 0;
  if (inst->type == PLUMB_I32)
    ANY_BITS(uint32_t, (uint32_t)(b[l] == 0) |
                           ((uint32_t)(a[l] == 1u << 31) & (uint32_t)(b[l] == UINT32_MAX) & nsw));
  ANY_BITS(uint64_t, (uint64_t)(b[l] == 0) |
                         ((uint64_t)(a[l] == 1ull << 63) & (uint64_t)(b[l] == UINT64_MAX) & nsw));
}

/* A NaN or an infinity among f32 or f64 values: all ones in the exponent. */
PLUMB_CLONES
static bool any_special(plumb_dtype type, const void *values, uint32_t lo, uint32_t hi) {
  uint64_t found = 0;
  if (type == PLUMB_F32) {
    const uint32_t *v = values, ones = 0x7f800000u;
    for (uint32_t l = lo; l < hi; l++) found |= (uint64_t)((v[l] & ones) == ones);
  } else {
    const uint64_t *v = values, ones = 0x7ff0000000000000ull;
    for (uint32_t l = lo; l < hi; l++) found |= (uint64_t)((v[l] & ones) == ones);
  }
  return found != 0;
}

static bool any_special_operand(const plumb_inst *inst, const void *const *operands,
                                const plumb_lanes *on) {
  plumb_dtype type = operand_type(inst);
  if (type != PLUMB_F32 && type != PLUMB_F64) return true;
  bool any = false;
  for (uint32_t i = 0; i < float_operands(inst); i++)
    any |= any_special(type, operands[i], on->lo, on->hi);
  return any;
}

static bool any_lane(const plumb_block_run *br, const plumb_inst *inst, const void *const *operands,
                     const plumb_lanes *on) {
  bool to_int = inst->op == PLUMB_OP_CVT && !plumb_dtype_is_float((plumb_dtype)inst->type);
  if (plumb_dtype_is_float(operand_type(inst)) && !to_int)
    return any_special_operand(inst, operands, on);
  plumb_dtype type = operand_type(inst);
  if (type != PLUMB_I32 && type != PLUMB_I64) return true;
  switch (inst->op) {
    case PLUMB_OP_ADD:
      if (inst->flags & PLUMB_FLAG_EXACT) {
        const uint64_t *base = operands[0];
        uint64_t first = base[on->lo];
        const plumb_allocation *a = plumb_window_of(first) == PLUMB_WINDOW_GLOBAL
                                        ? plumb_allocation_of(br->machine, first)
                                        : NULL;
        if (a && any_outside(base, operands[1], first & ~(uint64_t)UINT32_MAX, a->size_bytes,
                             on->lo, on->hi))
          return true;
        if (!a && any_global(base, on->lo, on->hi)) return true;
      }
      return (inst->flags & (uint32_t)WRAPS) && any_sum(inst, operands, on->lo, on->hi);
    case PLUMB_OP_SUB:
    case PLUMB_OP_SHL:
    case PLUMB_OP_SHR_S:
    case PLUMB_OP_SHR_U:
      return any_sum(inst, operands, on->lo, on->hi);
    case PLUMB_OP_MUL:
      return any_product(inst, operands, on->lo, on->hi);
    case PLUMB_OP_OR:
    case PLUMB_OP_CMP:
      return any_shared_bit(inst, type, operands, on->lo, on->hi);
    case PLUMB_OP_CVT:
      return any_changed(inst, type, operands, on->lo, on->hi);
    case PLUMB_OP_DIV_S:
    case PLUMB_OP_DIV_U:
    case PLUMB_OP_REM_S:
    case PLUMB_OP_REM_U:
      if (inst->flags & PLUMB_FLAG_EXACT) return true;
      return any_bad_division(inst, operands, on->lo, on->hi);
    default:
      return true;
  }
}

bool plumb_poison_find(const plumb_block_run *br, const plumb_inst *inst,
                       const void *const *operands, const plumb_lanes *on, plumb_lanes *out) {
  if (!any_lane(br, inst, operands, on)) return false;
  memset(out, 0, sizeof *out);
  bool any = false;
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l) || !lane_is_poison(br, inst, operands, l)) continue;
    any = true;
    plumb_lanes_put(out, l);
  }
  return any;
}

bool plumb_poison_results(const plumb_inst *inst, const void *result, const plumb_lanes *on,
                          bool found, plumb_lanes *out) {
  plumb_dtype type = (plumb_dtype)inst->type;
  if (!(inst->flags & (uint32_t)FAST) || !plumb_dtype_is_float(type)) return found;
  if ((type == PLUMB_F32 || type == PLUMB_F64) && !any_special(type, result, on->lo, on->hi))
    return found;
  unsigned bytes = plumb_dtype_bytes(type);
  bool any = found;
  if (!found) memset(out, 0, sizeof *out);
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l) || !is_excluded(inst, type, lane_of(result, bytes, l))) continue;
    any = true;
    plumb_lanes_put(out, l);
  }
  return any;
}

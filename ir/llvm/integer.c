/* Target-independent integer intrinsics. */
#include "ir/llvm/call.h"

static plumb_reg constant(plumb_llvm_decoder *d, plumb_dtype type, uint64_t bits) {
  return plumb_constant(d->program, type, bits);
}

static plumb_reg op2(plumb_llvm_decoder *d, plumb_op op, plumb_llvm_leaf leaf, plumb_reg a,
                     plumb_reg b) {
  return plumb_build2(&d->b, op, leaf.type, a, b);
}

static unsigned container_bits(plumb_llvm_leaf leaf) {
  return plumb_dtype_table[leaf.type].bits;
}

static plumb_reg int_abs(plumb_llvm_decoder *d, plumb_llvm_leaf leaf, plumb_reg a) {
  a = plumb_build1(&d->b, PLUMB_OP_ABS, leaf.type, plumb_llvm_sign(d, a, leaf));
  return plumb_llvm_mask(d, a, leaf);
}

/* Odd widths: the container's extra leading zeros are taken away. */
static plumb_reg leading_zeros(plumb_llvm_decoder *d, plumb_llvm_leaf leaf, plumb_reg a) {
  plumb_reg r = plumb_build1(&d->b, PLUMB_OP_CLZ, leaf.type, a);
  unsigned extra = container_bits(leaf) - leaf.width;
  return extra ? op2(d, PLUMB_OP_SUB, leaf, r, constant(d, leaf.type, extra)) : r;
}

static plumb_reg trailing_zeros(plumb_llvm_decoder *d, plumb_llvm_leaf leaf, plumb_reg a) {
  plumb_reg r = plumb_build1(&d->b, PLUMB_OP_CTZ, leaf.type, a);
  if (leaf.width == container_bits(leaf)) return r;
  return op2(d, PLUMB_OP_MIN_U, leaf, r, constant(d, leaf.type, leaf.width));
}

static plumb_reg byte_swap(plumb_llvm_decoder *d, plumb_llvm_leaf leaf, plumb_reg a) {
  unsigned bytes = leaf.width / 8;
  plumb_reg r = constant(d, leaf.type, 0);
  for (unsigned i = 0; i < bytes; i++) {
    plumb_reg byte = op2(d, PLUMB_OP_SHR_U, leaf, a, constant(d, leaf.type, 8 * i));
    byte = op2(d, PLUMB_OP_AND, leaf, byte, constant(d, leaf.type, 255));
    byte = op2(d, PLUMB_OP_SHL, leaf, byte, constant(d, leaf.type, leaf.width - 8 - 8 * i));
    r = op2(d, PLUMB_OP_OR, leaf, r, byte);
  }
  return r;
}

static plumb_reg bit_reverse(plumb_llvm_decoder *d, plumb_llvm_leaf leaf, plumb_reg a) {
  plumb_reg r = plumb_build1(&d->b, PLUMB_OP_BREV, leaf.type, a);
  unsigned extra = container_bits(leaf) - leaf.width;
  return extra ? op2(d, PLUMB_OP_SHR_U, leaf, r, constant(d, leaf.type, extra)) : r;
}

/* Signed overflow of r = a + b (or a - b): the operands' signs agree (differ) and the
 * result's differs from a's. */
static plumb_reg signed_overflow(plumb_llvm_decoder *d, plumb_llvm_leaf leaf, plumb_op op,
                                 plumb_reg a, plumb_reg b, plumb_reg r) {
  plumb_reg x = op2(d, PLUMB_OP_XOR, leaf, a, op == PLUMB_OP_ADD ? r : b);
  plumb_reg y = op2(d, PLUMB_OP_XOR, leaf, op == PLUMB_OP_ADD ? b : a, r);
  plumb_reg both = op2(d, PLUMB_OP_AND, leaf, x, y);
  return plumb_build_cmp(&d->b, PLUMB_CMP_LT_S, leaf.type, both, constant(d, leaf.type, 0));
}

static plumb_reg unsigned_overflow(plumb_llvm_decoder *d, plumb_llvm_leaf leaf, plumb_op op,
                                   plumb_reg a, plumb_reg b, plumb_reg r) {
  return op == PLUMB_OP_ADD ? plumb_build_cmp(&d->b, PLUMB_CMP_LT_U, leaf.type, r, a)
                            : plumb_build_cmp(&d->b, PLUMB_CMP_LT_U, leaf.type, a, b);
}

static plumb_reg multiply_overflow(plumb_llvm_decoder *d, plumb_llvm_leaf leaf, bool is_signed,
                                   plumb_reg a, plumb_reg b, plumb_reg r) {
  plumb_reg high = op2(d, is_signed ? PLUMB_OP_MULHI_S : PLUMB_OP_MULHI_U, leaf, a, b);
  plumb_reg expected = is_signed
                           ? op2(d, PLUMB_OP_SHR_S, leaf, r, constant(d, leaf.type, leaf.width - 1))
                           : constant(d, leaf.type, 0);
  return plumb_build_cmp(&d->b, PLUMB_CMP_NE, leaf.type, high, expected);
}

static plumb_reg overflow(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_llvm_leaf leaf,
                          plumb_reg a, plumb_reg b, plumb_reg r) {
  plumb_op op = (plumb_op)c->row->op;
  if (op == PLUMB_OP_MUL) return multiply_overflow(d, leaf, c->row->sub != 0, a, b, r);
  return c->row->sub ? signed_overflow(d, leaf, op, a, b, r)
                     : unsigned_overflow(d, leaf, op, a, b, r);
}

static plumb_reg saturate(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_llvm_leaf leaf,
                          plumb_reg a, plumb_reg b) {
  plumb_op op = (plumb_op)c->row->op;
  plumb_reg r = op2(d, op, leaf, a, b);
  plumb_reg over = overflow(d, c, leaf, a, b, r), limit;
  if (c->row->sub) {
    /* Past the end on a's side: sign fill of a, xor INT_MAX. */
    plumb_reg sign = op2(d, PLUMB_OP_SHR_S, leaf, a, constant(d, leaf.type, leaf.width - 1));
    plumb_reg largest = constant(d, leaf.type, (1ull << (leaf.width - 1)) - 1);
    limit = op2(d, PLUMB_OP_XOR, leaf, sign, largest);
  } else {
    limit = constant(d, leaf.type, op == PLUMB_OP_ADD ? UINT64_MAX : 0);
  }
  return plumb_build3(&d->b, PLUMB_OP_SELECT, leaf.type, over, limit, r);
}

/* -1, 0 or 1. */
static plumb_reg three_way(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_llvm_leaf from,
                           plumb_llvm_leaf to, plumb_reg a, plumb_reg b) {
  bool is_signed = c->row->sub != 0;
  if (is_signed) {
    a = plumb_llvm_sign(d, a, from);
    b = plumb_llvm_sign(d, b, from);
  }
  plumb_reg less =
      plumb_build_cmp(&d->b, is_signed ? PLUMB_CMP_LT_S : PLUMB_CMP_LT_U, from.type, a, b);
  plumb_reg more =
      plumb_build_cmp(&d->b, is_signed ? PLUMB_CMP_GT_S : PLUMB_CMP_GT_U, from.type, a, b);
  plumb_reg r = plumb_build3(&d->b, PLUMB_OP_SELECT, to.type, more, constant(d, to.type, 1),
                             constant(d, to.type, 0));
  plumb_reg minus = plumb_llvm_mask(d, constant(d, to.type, UINT64_MAX), to);
  return plumb_build3(&d->b, PLUMB_OP_SELECT, to.type, less, minus, r);
}

static plumb_reg one_result(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_llvm_leaf from,
                            plumb_llvm_leaf to, plumb_reg a, plumb_reg b, plumb_reg e) {
  switch ((plumb_llvm_kind)c->row->kind) {
    case PLUMB_LLVM_KIND_INT_ABS:
      return int_abs(d, from, a);
    case PLUMB_LLVM_KIND_CTLZ:
      return leading_zeros(d, from, a);
    case PLUMB_LLVM_KIND_CTTZ:
      return trailing_zeros(d, from, a);
    case PLUMB_LLVM_KIND_BSWAP:
      return byte_swap(d, from, a);
    case PLUMB_LLVM_KIND_BITREVERSE:
      return bit_reverse(d, from, a);
    case PLUMB_LLVM_KIND_FUNNEL: /* LLVM names the high word first, the program the low */
      return plumb_build3(&d->b, (plumb_op)c->row->op, from.type, b, a, e);
    case PLUMB_LLVM_KIND_SATURATE:
      return saturate(d, c, from, a, b);
    default:
      return three_way(d, c, from, to, a, b);
  }
}

static bool with_overflow(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_llvm_leaf leaf) {
  if (c->result.count != 2) return false;
  plumb_reg a = plumb_llvm_arg1(d, c, 0), b = plumb_llvm_arg1(d, c, 1);
  plumb_llvm_run run = plumb_llvm_run_of(d, 2);
  run.regs[0] = op2(d, (plumb_op)c->row->op, leaf, a, b);
  run.regs[1] = overflow(d, c, leaf, a, b, run.regs[0]);
  plumb_llvm_define(d, c->inst, run);
  return true;
}

bool plumb_llvm_call_integer(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_kind kind = (plumb_llvm_kind)c->row->kind;
  if (kind < PLUMB_LLVM_KIND_INT_ABS || kind > PLUMB_LLVM_KIND_THREE_WAY) return false;
  plumb_llvm_leaves from = plumb_llvm_value_leaves(d, LLVMGetOperand(c->inst, 0));
  if (!from.count) return false;
  bool odd_ok = kind == PLUMB_LLVM_KIND_INT_ABS || kind == PLUMB_LLVM_KIND_CTLZ ||
                kind == PLUMB_LLVM_KIND_CTTZ || kind == PLUMB_LLVM_KIND_BSWAP ||
                kind == PLUMB_LLVM_KIND_BITREVERSE || kind == PLUMB_LLVM_KIND_THREE_WAY;
  for (size_t k = 0; k < from.count; k++) {
    plumb_llvm_leaf leaf = from.items[k];
    if (leaf.width < 2 || leaf.width > 64 || (leaf.width != container_bits(leaf) && !odd_ok))
      return false;
  }
  if (kind == PLUMB_LLVM_KIND_OVERFLOW) return with_overflow(d, c, from.items[0]);
  plumb_llvm_run a = plumb_llvm_arg(d, c, 0), b = a, e = a;
  if (c->args > 1) b = plumb_llvm_arg(d, c, 1);
  if (c->args > 2) e = plumb_llvm_arg(d, c, 2);
  plumb_llvm_run run = plumb_llvm_run_of(d, c->result.count);
  for (size_t k = 0; k < run.count; k++)
    run.regs[k] = one_result(d, c, from.items[k], c->result.items[k], a.regs[k],
                             b.regs[b.count > 1 ? k : 0], e.regs[e.count > 1 ? k : 0]);
  plumb_llvm_define(d, c->inst, run);
  return true;
}

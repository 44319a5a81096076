/* Instructions on values: arithmetic, comparison, casts, aggregates and vectors
 * (LLVM Language Reference, Instruction Reference). */
#include <string.h>

#include "ir/llvm/decoder.h"

uint32_t plumb_llvm_fast_flags(LLVMValueRef inst) {
  if (!LLVMIsAInstruction(inst) || !LLVMCanValueUseFastMathFlags(inst)) return 0;
  LLVMFastMathFlags f = LLVMGetFastMathFlags(inst);
  uint32_t flags = 0;
  if (f & LLVMFastMathAllowReassoc) flags |= PLUMB_FLAG_REASSOC;
  if (f & LLVMFastMathNoNaNs) flags |= PLUMB_FLAG_NNAN;
  if (f & LLVMFastMathNoInfs) flags |= PLUMB_FLAG_NINF;
  if (f & LLVMFastMathAllowContract) flags |= PLUMB_FLAG_CONTRACT;
  /* A reciprocal in place of a division is an approximation too. */
  if (f & (LLVMFastMathApproxFunc | LLVMFastMathAllowReciprocal)) flags |= PLUMB_FLAG_AFN;
  return flags;
}

uint32_t plumb_llvm_denormal_flags(const plumb_llvm_decoder *d, plumb_dtype type) {
  return type == PLUMB_F32 ? d->denormal_flags : 0;
}

static bool wrap_flags_allowed(LLVMOpcode op) {
  return op == LLVMAdd || op == LLVMSub || op == LLVMMul || op == LLVMShl;
}

static bool exact_allowed(LLVMOpcode op) {
  return op == LLVMUDiv || op == LLVMSDiv || op == LLVMLShr || op == LLVMAShr;
}

/* Puts flags on what was built last, where that is `op` on whole registers: on an odd
 * width, or where nothing had to be built, the flag's condition is another one. */
static void flag_last(plumb_llvm_decoder *d, plumb_op op, plumb_llvm_leaf from, plumb_llvm_leaf to,
                      uint32_t flags) {
  plumb_block *block = &d->f->blocks[d->b.block];
  plumb_inst *last = block->inst_count ? &block->insts[block->inst_count - 1] : NULL;
  bool whole = from.width == plumb_dtype_table[from.type].bits &&
               to.width == plumb_dtype_table[to.type].bits;
  if (last && whole && last->op == op) last->flags |= flags;
}

/* Poison-generating flags speak of the LLVM width: on an odd width the container's
 * overflow is another one, so they are left out. */
static uint32_t binary_flags(LLVMValueRef inst, LLVMOpcode op, plumb_llvm_leaf leaf) {
  uint32_t flags = plumb_llvm_fast_flags(inst);
  if (leaf.width != plumb_dtype_table[leaf.type].bits) return flags;
  if (wrap_flags_allowed(op)) {
    if (LLVMGetNSW(inst)) flags |= PLUMB_FLAG_NSW;
    if (LLVMGetNUW(inst)) flags |= PLUMB_FLAG_NUW;
  }
  if (exact_allowed(op) && LLVMGetExact(inst)) flags |= PLUMB_FLAG_EXACT;
  if (op == LLVMOr && LLVMGetIsDisjoint(inst)) flags |= PLUMB_FLAG_NUW;
  /* INT_MIN / -1 is undefined behaviour. */
  if (op == LLVMSDiv || op == LLVMSRem) flags |= PLUMB_FLAG_NSW;
  return flags;
}

typedef struct binary_row {
  LLVMOpcode opcode;
  plumb_op op;
  bool is_signed; /* operands of odd width are sign-extended first */
} binary_row;

static const binary_row binary_rows[] = {
    {LLVMAdd, PLUMB_OP_ADD, false},    {LLVMFAdd, PLUMB_OP_ADD, false},
    {LLVMSub, PLUMB_OP_SUB, false},    {LLVMFSub, PLUMB_OP_SUB, false},
    {LLVMMul, PLUMB_OP_MUL, false},    {LLVMFMul, PLUMB_OP_MUL, false},
    {LLVMUDiv, PLUMB_OP_DIV_U, false}, {LLVMSDiv, PLUMB_OP_DIV_S, true},
    {LLVMFDiv, PLUMB_OP_DIV, false},   {LLVMURem, PLUMB_OP_REM_U, false},
    {LLVMSRem, PLUMB_OP_REM_S, true},  {LLVMFRem, PLUMB_OP_REM_F, false},
    {LLVMShl, PLUMB_OP_SHL, false},    {LLVMLShr, PLUMB_OP_SHR_U, false},
    {LLVMAShr, PLUMB_OP_SHR_S, true},  {LLVMAnd, PLUMB_OP_AND, false},
    {LLVMOr, PLUMB_OP_OR, false},      {LLVMXor, PLUMB_OP_XOR, false},
};

static const binary_row *find_binary(LLVMOpcode opcode) {
  for (size_t i = 0; i < sizeof binary_rows / sizeof *binary_rows; i++)
    if (binary_rows[i].opcode == opcode) return &binary_rows[i];
  return NULL;
}

/* i1 arithmetic: sums are exclusive or, a product is and; what is left over goes
 * through i8 (the only defined divisions and shifts are by 1 and by 0). */
static plumb_reg binary_i1(plumb_llvm_decoder *d, const binary_row *row, plumb_reg a, plumb_reg c) {
  switch (row->op) {
    case PLUMB_OP_ADD:
    case PLUMB_OP_SUB:
    case PLUMB_OP_XOR:
      return plumb_build2(&d->b, PLUMB_OP_XOR, PLUMB_I1, a, c);
    case PLUMB_OP_MUL:
    case PLUMB_OP_AND:
      return plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I1, a, c);
    case PLUMB_OP_OR:
      return plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I1, a, c);
    default: {
      plumb_llvm_leaf bit = {.type = PLUMB_I1, .width = 1}, byte = {.type = PLUMB_I8, .width = 8};
      a = plumb_llvm_resize(d, a, bit, byte, row->is_signed);
      c = plumb_llvm_resize(d, c, bit, byte, row->is_signed && row->op != PLUMB_OP_SHR_S);
      return plumb_llvm_bool(d, plumb_build2(&d->b, row->op, PLUMB_I8, a, c), PLUMB_I8);
    }
  }
}

plumb_reg plumb_llvm_binary(plumb_llvm_decoder *d, LLVMOpcode opcode, plumb_llvm_leaf leaf,
                            plumb_reg a, plumb_reg c, uint32_t flags) {
  const binary_row *row = find_binary(opcode);
  if (leaf.type == PLUMB_I1) return binary_i1(d, row, a, c);
  if (row->is_signed) {
    a = plumb_llvm_sign(d, a, leaf);
    if (row->op != PLUMB_OP_SHR_S) c = plumb_llvm_sign(d, c, leaf);
  }
  plumb_reg r = plumb_reg_create(d->f, leaf.type);
  plumb_inst *inst = plumb_build(&d->b, row->op, leaf.type, &r, 1, (plumb_reg[]){a, c}, 2);
  inst->flags |= flags | plumb_llvm_denormal_flags(d, leaf.type);
  bool bitwise = row->op == PLUMB_OP_AND || row->op == PLUMB_OP_OR || row->op == PLUMB_OP_XOR;
  return bitwise ? r : plumb_llvm_mask(d, r, leaf);
}

static void decode_binary(plumb_llvm_decoder *d, LLVMValueRef inst, LLVMOpcode op) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, inst);
  plumb_llvm_run a = plumb_llvm_value(d, LLVMGetOperand(inst, 0));
  plumb_llvm_run c = plumb_llvm_value(d, LLVMGetOperand(inst, 1));
  if (!leaves.count) {
    plumb_llvm_unsupported(d, inst, "llvm arithmetic on a type without registers");
    return;
  }
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count), leaves.count};
  for (size_t i = 0; i < run.count; i++)
    run.regs[i] = plumb_llvm_binary(d, op, leaves.items[i], a.regs[i], c.regs[i],
                                    binary_flags(inst, op, leaves.items[i]));
  plumb_llvm_define(d, inst, run);
}

static void decode_fneg(plumb_llvm_decoder *d, LLVMValueRef inst) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, inst);
  plumb_llvm_run a = plumb_llvm_value(d, LLVMGetOperand(inst, 0));
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count + 1), leaves.count};
  for (size_t i = 0; i < run.count; i++) {
    run.regs[i] = plumb_reg_create(d->f, leaves.items[i].type);
    plumb_build(&d->b, PLUMB_OP_NEG, leaves.items[i].type, &run.regs[i], 1, &a.regs[i], 1)->flags |=
        plumb_llvm_fast_flags(inst);
  }
  plumb_llvm_define(d, inst, run);
}

static void decode_freeze(plumb_llvm_decoder *d, LLVMValueRef inst) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, inst);
  plumb_llvm_run a = plumb_llvm_value(d, LLVMGetOperand(inst, 0));
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count + 1), leaves.count};
  for (size_t i = 0; i < run.count; i++)
    run.regs[i] = plumb_build1(&d->b, PLUMB_OP_FREEZE, leaves.items[i].type, a.regs[i]);
  plumb_llvm_define(d, inst, run);
}

/* --- comparison --- */

static plumb_cmp int_predicate(LLVMIntPredicate p, bool *out_signed) {
  *out_signed = p >= LLVMIntSGT;
  switch (p) {
    case LLVMIntEQ:
      return PLUMB_CMP_EQ;
    case LLVMIntNE:
      return PLUMB_CMP_NE;
    case LLVMIntUGT:
      return PLUMB_CMP_GT_U;
    case LLVMIntUGE:
      return PLUMB_CMP_GE_U;
    case LLVMIntULT:
      return PLUMB_CMP_LT_U;
    case LLVMIntULE:
      return PLUMB_CMP_LE_U;
    case LLVMIntSGT:
      return PLUMB_CMP_GT_S;
    case LLVMIntSGE:
      return PLUMB_CMP_GE_S;
    case LLVMIntSLT:
      return PLUMB_CMP_LT_S;
    default:
      return PLUMB_CMP_LE_S;
  }
}

static plumb_cmp real_predicate(LLVMRealPredicate p) {
  static const uint8_t map[] = {PLUMB_CMP_FALSE, PLUMB_CMP_OEQ, PLUMB_CMP_OGT, PLUMB_CMP_OGE,
                                PLUMB_CMP_OLT,   PLUMB_CMP_OLE, PLUMB_CMP_ONE, PLUMB_CMP_NUM,
                                PLUMB_CMP_NAN,   PLUMB_CMP_UEQ, PLUMB_CMP_UGT, PLUMB_CMP_UGE,
                                PLUMB_CMP_ULT,   PLUMB_CMP_ULE, PLUMB_CMP_UNE, PLUMB_CMP_TRUE};
  return (plumb_cmp)map[p];
}

static plumb_reg compare_int(plumb_llvm_decoder *d, LLVMIntPredicate p, plumb_llvm_leaf leaf,
                             plumb_reg a, plumb_reg c) {
  bool is_signed;
  plumb_cmp predicate = int_predicate(p, &is_signed);
  plumb_llvm_leaf byte = {.type = PLUMB_I8, .width = 8};
  if (leaf.type == PLUMB_I1) {
    a = plumb_llvm_resize(d, a, leaf, byte, is_signed);
    c = plumb_llvm_resize(d, c, leaf, byte, is_signed);
    leaf = byte;
  } else if (is_signed) {
    a = plumb_llvm_sign(d, a, leaf);
    c = plumb_llvm_sign(d, c, leaf);
  }
  return plumb_build_cmp(&d->b, predicate, leaf.type, a, c);
}

static void decode_compare(plumb_llvm_decoder *d, LLVMValueRef inst, bool is_float) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, LLVMGetOperand(inst, 0));
  plumb_llvm_run a = plumb_llvm_value(d, LLVMGetOperand(inst, 0));
  plumb_llvm_run c = plumb_llvm_value(d, LLVMGetOperand(inst, 1));
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count + 1), leaves.count};
  for (size_t i = 0; i < run.count; i++) {
    plumb_dtype type = leaves.items[i].type;
    if (!is_float) {
      run.regs[i] =
          compare_int(d, LLVMGetICmpPredicate(inst), leaves.items[i], a.regs[i], c.regs[i]);
      if (LLVMGetICmpSameSign(inst))
        flag_last(d, PLUMB_OP_CMP, leaves.items[i], leaves.items[i], PLUMB_FLAG_NSW);
      continue;
    }
    plumb_reg r = plumb_reg_create(d->f, PLUMB_I1);
    plumb_inst *cmp =
        plumb_build(&d->b, PLUMB_OP_CMP, PLUMB_I1, &r, 1, (plumb_reg[]){a.regs[i], c.regs[i]}, 2);
    cmp->sub = (uint8_t)real_predicate(LLVMGetFCmpPredicate(inst));
    cmp->type2 = (uint8_t)type;
    cmp->flags |= plumb_llvm_fast_flags(inst) | plumb_llvm_denormal_flags(d, type);
    run.regs[i] = r;
  }
  plumb_llvm_define(d, inst, run);
}

static void decode_select(plumb_llvm_decoder *d, LLVMValueRef inst) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, inst);
  plumb_llvm_run condition = plumb_llvm_value(d, LLVMGetOperand(inst, 0));
  plumb_llvm_run a = plumb_llvm_value(d, LLVMGetOperand(inst, 1));
  plumb_llvm_run c = plumb_llvm_value(d, LLVMGetOperand(inst, 2));
  bool vector = condition.count > 1;
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count + 1), leaves.count};
  for (size_t i = 0; i < run.count; i++)
    run.regs[i] = plumb_build3(&d->b, PLUMB_OP_SELECT, leaves.items[i].type,
                               condition.regs[vector ? i : 0], a.regs[i], c.regs[i]);
  plumb_llvm_define(d, inst, run);
}

/* --- casts --- */

/* Float to integer: out of range is poison, as program.h's CVT without CLAMP. */
static plumb_reg float_to_int(plumb_llvm_decoder *d, plumb_reg r, plumb_llvm_leaf from,
                              plumb_llvm_leaf to, bool is_signed) {
  plumb_llvm_leaf wide = to;
  if (to.width == 1) wide = (plumb_llvm_leaf){.type = PLUMB_I8, .width = 8};
  r = plumb_build_cvt(
      &d->b, wide.type, from.type, r,
      (is_signed ? (uint32_t)PLUMB_FLAG_DST_SIGNED : 0u) | plumb_llvm_denormal_flags(d, from.type),
      PLUMB_RZ);
  return to.width == 1 ? plumb_llvm_bool(d, r, wide.type) : plumb_llvm_mask(d, r, to);
}

static plumb_reg int_to_float(plumb_llvm_decoder *d, plumb_reg r, plumb_llvm_leaf from,
                              plumb_llvm_leaf to, bool is_signed) {
  if (from.type == PLUMB_I1) {
    plumb_llvm_leaf byte = {.type = PLUMB_I8, .width = 8};
    r = plumb_llvm_resize(d, r, from, byte, is_signed);
    from = byte;
  } else if (is_signed) {
    r = plumb_llvm_sign(d, r, from);
  }
  return plumb_build_cvt(&d->b, to.type, from.type, r,
                         is_signed ? (uint32_t)PLUMB_FLAG_SRC_SIGNED : 0u, PLUMB_RN);
}

enum { CAST_POISON = PLUMB_FLAG_NSW | PLUMB_FLAG_NUW };

/* nuw and nsw of trunc; nneg of zext and uitofp is NSW (ops.def, CVT). */
static uint32_t cast_flags(LLVMValueRef inst, LLVMOpcode op) {
  if (op == LLVMTrunc)
    return (LLVMGetNSW(inst) ? (uint32_t)PLUMB_FLAG_NSW : 0u) |
           (LLVMGetNUW(inst) ? (uint32_t)PLUMB_FLAG_NUW : 0u);
  if (op == LLVMZExt || op == LLVMUIToFP) return LLVMGetNNeg(inst) ? (uint32_t)PLUMB_FLAG_NSW : 0u;
  return plumb_llvm_fast_flags(inst);
}

static plumb_reg cast_leaf(plumb_llvm_decoder *d, LLVMOpcode op, plumb_reg r, plumb_llvm_leaf from,
                           plumb_llvm_leaf to, uint32_t flags) {
  switch (op) {
    case LLVMSExt:
      return plumb_llvm_resize(d, r, from, to, true);
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMPtrToInt:
    case LLVMPtrToAddr:
    case LLVMIntToPtr:
      return plumb_llvm_resize(d, r, from, to, false);
    case LLVMFPToUI:
      return float_to_int(d, r, from, to, false);
    case LLVMFPToSI:
      return float_to_int(d, r, from, to, true);
    case LLVMUIToFP:
      return int_to_float(d, r, from, to, false);
    case LLVMSIToFP:
      return int_to_float(d, r, from, to, true);
    default:
      /* A conversion that touches f32 flushes with it. */
      flags |= plumb_llvm_denormal_flags(d, from.type) | plumb_llvm_denormal_flags(d, to.type);
      return plumb_build_cvt(&d->b, to.type, from.type, r, flags, PLUMB_RN);
  }
}

/* Joins the leaves of a bitcast's source into one wide integer when the two sides
 * split differently, and takes the parts out again. */
static bool bitcast(plumb_llvm_decoder *d, const plumb_llvm_run *value,
                    const plumb_llvm_leaves *from, const plumb_llvm_leaves *to,
                    plumb_llvm_run *out) {
  if (from->count == to->count) {
    for (size_t i = 0; i < to->count; i++) {
      if (from->items[i].width != to->items[i].width) return false;
      if (from->items[i].type == to->items[i].type)
        out->regs[i] = value->regs[i];
      else
        plumb_build_mov(&d->b, out->regs[i] = plumb_reg_create(d->f, to->items[i].type),
                        value->regs[i]);
    }
    return true;
  }
  unsigned bits = 0;
  for (size_t i = 0; i < from->count; i++) bits += from->items[i].width;
  if (bits > 128) return false;
  plumb_llvm_leaf whole = {.type = plumb_llvm_container(bits), .width = bits};
  plumb_reg joined = plumb_constant(d->program, whole.type, 0);
  unsigned at = 0;
  for (size_t i = 0; i < from->count; i++) {
    plumb_llvm_leaf part = from->items[i];
    plumb_dtype bag = plumb_llvm_container(part.width);
    plumb_reg piece = value->regs[i];
    if (bag != part.type)
      plumb_build_mov(&d->b, piece = plumb_reg_create(d->f, bag), value->regs[i]);
    part.type = bag;
    piece = plumb_llvm_resize(d, piece, part, whole, false);
    if (at)
      piece = plumb_build2(&d->b, PLUMB_OP_SHL, whole.type, piece,
                           plumb_constant(d->program, whole.type, at));
    joined = at ? plumb_build2(&d->b, PLUMB_OP_OR, whole.type, joined, piece) : piece;
    at += part.width;
  }
  at = 0;
  for (size_t i = 0; i < to->count; i++) {
    plumb_llvm_leaf part = to->items[i];
    plumb_llvm_leaf bag = {.type = plumb_llvm_container(part.width), .width = part.width};
    plumb_reg piece = joined;
    if (at)
      piece = plumb_build2(&d->b, PLUMB_OP_SHR_U, whole.type, joined,
                           plumb_constant(d->program, whole.type, at));
    piece = plumb_llvm_resize(d, piece, whole, bag, false);
    if (bag.type != part.type)
      plumb_build_mov(&d->b, out->regs[i] = plumb_reg_create(d->f, part.type), piece);
    else
      out->regs[i] = piece;
    at += part.width;
  }
  return true;
}

static plumb_reg address_cast(plumb_llvm_decoder *d, plumb_reg r, unsigned from, unsigned to) {
  bool known;
  plumb_reg generic = plumb_llvm_to_generic(d, r, from);
  plumb_space space = plumb_llvm_space(to, &known);
  if (known && (space == PLUMB_SPACE_GENERIC || space == PLUMB_SPACE_GLOBAL)) return generic;
  plumb_reg out = plumb_reg_create(d->f, PLUMB_I64);
  if (!known)
    plumb_build_unsupported(&d->b, plumb_arena_printf(d->arena, "llvm address space %u", to), &out,
                            1);
  else
    plumb_build(&d->b, PLUMB_OP_FROM_GENERIC, PLUMB_I64, &out, 1, &generic, 1)->space =
        (uint8_t)space;
  return out;
}

static unsigned address_space_of(LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  return LLVMGetPointerAddressSpace(type);
}

bool plumb_llvm_cast(plumb_llvm_decoder *d, LLVMOpcode op, LLVMValueRef value, LLVMTypeRef to_type,
                     uint32_t flags, plumb_llvm_run *out) {
  plumb_llvm_leaves from = plumb_llvm_value_leaves(d, value), to = {0};
  if (!plumb_llvm_type_leaves(d, to_type, 0, &to) || !from.count || !to.count) return false;
  plumb_llvm_run run = plumb_llvm_value(d, value);
  *out = (plumb_llvm_run){PLUMB_NEW_ARRAY(d->arena, plumb_reg, to.count), to.count};
  switch (op) {
    case LLVMBitCast:
      return bitcast(d, &run, &from, &to, out);
    case LLVMAddrSpaceCast:
      for (size_t i = 0; i < to.count; i++)
        out->regs[i] = address_cast(d, run.regs[i], address_space_of(LLVMTypeOf(value)),
                                    address_space_of(to_type));
      return true;
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMPtrToInt:
    case LLVMPtrToAddr:
    case LLVMIntToPtr:
    case LLVMFPToUI:
    case LLVMFPToSI:
    case LLVMUIToFP:
    case LLVMSIToFP:
    case LLVMFPTrunc:
    case LLVMFPExt:
      for (size_t i = 0; i < to.count; i++) {
        out->regs[i] = cast_leaf(d, op, run.regs[i], from.items[i], to.items[i],
                                 flags & ~(uint32_t)CAST_POISON);
        if (flags & CAST_POISON)
          flag_last(d, PLUMB_OP_CVT, from.items[i], to.items[i], flags & CAST_POISON);
      }
      return true;
    default:
      return false;
  }
}

/* --- aggregates and vectors --- */

/* The first leaf and the number of leaves of the member that indices name. */
static void member_leaves(plumb_llvm_decoder *d, LLVMTypeRef type, LLVMValueRef inst,
                          size_t *out_first, size_t *out_count) {
  const unsigned *indices = LLVMGetIndices(inst);
  size_t first = 0;
  for (unsigned k = 0; k < LLVMGetNumIndices(inst); k++) {
    bool is_struct = LLVMGetTypeKind(type) == LLVMStructTypeKind;
    for (unsigned i = 0; i < indices[k]; i++) {
      plumb_llvm_leaves before = {0};
      plumb_llvm_type_leaves(
          d, is_struct ? LLVMStructGetTypeAtIndex(type, i) : LLVMGetElementType(type), 0, &before);
      first += before.count;
    }
    type = is_struct ? LLVMStructGetTypeAtIndex(type, indices[k]) : LLVMGetElementType(type);
  }
  plumb_llvm_leaves member = {0};
  plumb_llvm_type_leaves(d, type, 0, &member);
  *out_first = first;
  *out_count = member.count;
}

static void decode_member(plumb_llvm_decoder *d, LLVMValueRef inst, bool insert) {
  LLVMValueRef aggregate = LLVMGetOperand(inst, 0);
  plumb_llvm_run whole = plumb_llvm_value(d, aggregate);
  size_t first, count;
  member_leaves(d, LLVMTypeOf(aggregate), inst, &first, &count);
  if (first + count > whole.count) {
    plumb_llvm_unsupported(d, inst, "llvm aggregate without registers");
    return;
  }
  plumb_llvm_run run;
  if (insert) {
    plumb_llvm_run part = plumb_llvm_value(d, LLVMGetOperand(inst, 1));
    run = (plumb_llvm_run){PLUMB_NEW_ARRAY(d->arena, plumb_reg, whole.count + 1), whole.count};
    memcpy(run.regs, whole.regs, whole.count * sizeof(plumb_reg));
    memcpy(run.regs + first, part.regs, count * sizeof(plumb_reg));
  } else {
    run = (plumb_llvm_run){whole.regs + first, count};
  }
  plumb_llvm_define(d, inst, run);
}

/* A variable index becomes a chain of selects; out of range is poison: element 0. */
static void decode_extract_element(plumb_llvm_decoder *d, LLVMValueRef inst) {
  plumb_llvm_run vector = plumb_llvm_value(d, LLVMGetOperand(inst, 0));
  LLVMValueRef index = LLVMGetOperand(inst, 1);
  plumb_dtype type = plumb_llvm_value_leaves(d, inst).items[0].type;
  if (LLVMIsAConstantInt(index)) {
    uint64_t i = LLVMConstIntGetZExtValue(index);
    plumb_llvm_define1(d, inst,
                       i < vector.count ? vector.regs[i] : plumb_constant(d->program, type, 0));
    return;
  }
  plumb_dtype index_type = plumb_llvm_value_leaves(d, index).items[0].type;
  plumb_reg at = plumb_llvm_scalar(d, index), r = vector.regs[0];
  for (size_t i = 1; i < vector.count; i++) {
    plumb_reg here = plumb_build_cmp(&d->b, PLUMB_CMP_EQ, index_type, at,
                                     plumb_constant(d->program, index_type, i));
    r = plumb_build3(&d->b, PLUMB_OP_SELECT, type, here, vector.regs[i], r);
  }
  plumb_llvm_define1(d, inst, r);
}

static void decode_insert_element(plumb_llvm_decoder *d, LLVMValueRef inst) {
  plumb_llvm_run vector = plumb_llvm_value(d, LLVMGetOperand(inst, 0));
  plumb_reg value = plumb_llvm_operand(d, inst, 1);
  LLVMValueRef index = LLVMGetOperand(inst, 2);
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, vector.count + 1), vector.count};
  memcpy(run.regs, vector.regs, vector.count * sizeof(plumb_reg));
  if (LLVMIsAConstantInt(index)) {
    uint64_t i = LLVMConstIntGetZExtValue(index);
    if (i < run.count) run.regs[i] = value;
  } else {
    plumb_dtype type = plumb_reg_type(d->f, value);
    plumb_dtype index_type = plumb_llvm_value_leaves(d, index).items[0].type;
    plumb_reg at = plumb_llvm_scalar(d, index);
    for (size_t i = 0; i < run.count; i++) {
      plumb_reg here = plumb_build_cmp(&d->b, PLUMB_CMP_EQ, index_type, at,
                                       plumb_constant(d->program, index_type, i));
      run.regs[i] = plumb_build3(&d->b, PLUMB_OP_SELECT, type, here, value, vector.regs[i]);
    }
  }
  plumb_llvm_define(d, inst, run);
}

static void decode_shuffle(plumb_llvm_decoder *d, LLVMValueRef inst) {
  plumb_llvm_run a = plumb_llvm_value(d, LLVMGetOperand(inst, 0));
  plumb_llvm_run c = plumb_llvm_value(d, LLVMGetOperand(inst, 1));
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, inst);
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count + 1), leaves.count};
  for (size_t i = 0; i < run.count; i++) {
    int from = LLVMGetMaskValue(inst, (unsigned)i);
    if (from < 0 || (size_t)from >= a.count + c.count)
      run.regs[i] = plumb_llvm_poison(d, leaves.items[i].type);
    else
      run.regs[i] = (size_t)from < a.count ? a.regs[from] : c.regs[(size_t)from - a.count];
  }
  plumb_llvm_define(d, inst, run);
}

static const char *opcode_text(plumb_llvm_decoder *d, LLVMValueRef inst) {
  char *text = LLVMPrintValueToString(inst);
  const char *start = text + strspn(text, " ");
  const char *copy = plumb_arena_printf(d->arena, "llvm instruction %.160s", start);
  LLVMDisposeMessage(text);
  return copy;
}

void plumb_llvm_decode_inst(plumb_llvm_decoder *d, LLVMValueRef inst) {
  LLVMOpcode op = LLVMGetInstructionOpcode(inst);
  plumb_llvm_run run;
  if (find_binary(op)) {
    decode_binary(d, inst, op);
    return;
  }
  switch (op) {
    case LLVMFNeg:
      decode_fneg(d, inst);
      break;
    case LLVMICmp:
      decode_compare(d, inst, false);
      break;
    case LLVMFCmp:
      decode_compare(d, inst, true);
      break;
    case LLVMSelect:
      decode_select(d, inst);
      break;
    case LLVMFreeze:
      decode_freeze(d, inst);
      break;
    case LLVMExtractValue:
      decode_member(d, inst, false);
      break;
    case LLVMInsertValue:
      decode_member(d, inst, true);
      break;
    case LLVMExtractElement:
      decode_extract_element(d, inst);
      break;
    case LLVMInsertElement:
      decode_insert_element(d, inst);
      break;
    case LLVMShuffleVector:
      decode_shuffle(d, inst);
      break;
    case LLVMCall:
      plumb_llvm_decode_call(d, inst);
      break;
    case LLVMAlloca:
    case LLVMLoad:
    case LLVMStore:
    case LLVMGetElementPtr:
    case LLVMFence:
    case LLVMAtomicCmpXchg:
    case LLVMAtomicRMW:
      plumb_llvm_decode_memory(d, inst);
      break;
    case LLVMRet:
    case LLVMBr:
    case LLVMSwitch:
    case LLVMUnreachable:
      plumb_llvm_decode_terminator(d, inst);
      break;
    case LLVMPHI:
      break; /* moved into on the edges */
    default:
      if (LLVMIsACastInst(inst) && plumb_llvm_cast(d, op, LLVMGetOperand(inst, 0), LLVMTypeOf(inst),
                                                   cast_flags(inst, op), &run))
        plumb_llvm_define(d, inst, run);
      else
        plumb_llvm_unsupported(d, inst, opcode_text(d, inst));
  }
}

/* Memory instructions: load, store, alloca, getelementptr, atomics, fence. */
#include "ir/llvm/decoder.h"

uint32_t plumb_llvm_scope_flags(const plumb_llvm_decoder *d, LLVMValueRef inst) {
  unsigned scope = LLVMGetAtomicSyncScopeID(inst);
  if (scope == d->scope_cta || scope == d->scope_thread) return PLUMB_FLAG_SCOPE_CTA;
  if (scope == d->scope_gpu) return PLUMB_FLAG_SCOPE_GPU;
  if (scope == d->scope_cluster) return PLUMB_FLAG_SCOPE_CLUSTER;
  return 0;
}

static uint32_t order_flags(LLVMAtomicOrdering order) {
  switch (order) {
    case LLVMAtomicOrderingNotAtomic:
      return 0;
    case LLVMAtomicOrderingAcquire:
      return PLUMB_FLAG_RELAXED | PLUMB_FLAG_ACQUIRE;
    case LLVMAtomicOrderingRelease:
      return PLUMB_FLAG_RELAXED | PLUMB_FLAG_RELEASE;
    case LLVMAtomicOrderingAcquireRelease:
      return PLUMB_FLAG_RELAXED | PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE;
    case LLVMAtomicOrderingSequentiallyConsistent:
      return PLUMB_FLAG_RELAXED | PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE | PLUMB_FLAG_SEQ_CST;
    default:
      return PLUMB_FLAG_RELAXED;
  }
}

static uint32_t access_flags(const plumb_llvm_decoder *d, LLVMValueRef inst) {
  uint32_t flags = LLVMGetVolatile(inst) ? (uint32_t)PLUMB_FLAG_VOLATILE : 0u;
  LLVMAtomicOrdering order = LLVMGetOrdering(inst);
  if (order != LLVMAtomicOrderingNotAtomic)
    flags |= order_flags(order) | plumb_llvm_scope_flags(d, inst);
  return flags;
}

/* --- load and store of one leaf --- */

typedef struct access {
  plumb_reg address;
  plumb_space space;
  uint64_t align; /* of the whole value */
  uint32_t flags;
} access;

static uint64_t align_at(const access *a, uint64_t offset) {
  uint64_t align = a->align ? a->align : 1;
  while (offset % align) align /= 2;
  return align;
}

uint8_t plumb_llvm_promised_log2(uint64_t align) {
  uint8_t log2 = 0;
  while (log2 < 4 && align >> (log2 + 1)) log2++;
  return log2;
}

static plumb_reg load_plain(plumb_llvm_decoder *d, const access *a, plumb_dtype type,
                            uint64_t offset) {
  plumb_reg r = plumb_reg_create(d->f, type);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_LOAD, type, &r, 1, &a->address, 1);
  inst->space = (uint8_t)a->space;
  inst->imm = (int64_t)offset;
  inst->flags |= a->flags;
  inst->align_log2 = plumb_llvm_promised_log2(align_at(a, offset));
  return r;
}

static void store_plain(plumb_llvm_decoder *d, const access *a, plumb_dtype type, uint64_t offset,
                        plumb_reg value) {
  plumb_inst *inst =
      plumb_build(&d->b, PLUMB_OP_STORE, type, NULL, 0, (plumb_reg[]){a->address, value}, 2);
  inst->space = (uint8_t)a->space;
  inst->imm = (int64_t)offset;
  inst->flags |= a->flags;
  inst->align_log2 = plumb_llvm_promised_log2(align_at(a, offset));
}

/* True when the leaf is read and written whole: its store size is the container's
 * and the promised alignment is natural. */
static bool plain(const access *a, plumb_llvm_leaf leaf) {
  unsigned bytes = plumb_dtype_bytes(leaf.type);
  return (leaf.width + 7) / 8 == bytes && align_at(a, leaf.offset) >= bytes;
}

/* The piece that a partly promised access is made of: code generation splits so too. */
static unsigned piece_bytes(const access *a, plumb_llvm_leaf leaf) {
  unsigned bytes = (leaf.width + 7) / 8, piece = 8;
  while (bytes % piece || align_at(a, leaf.offset) < piece) piece /= 2;
  return piece;
}

static plumb_reg load_leaf(plumb_llvm_decoder *d, const access *a, plumb_llvm_leaf leaf) {
  if (plain(a, leaf)) return plumb_llvm_mask(d, load_plain(d, a, leaf.type, leaf.offset), leaf);
  plumb_llvm_leaf whole = {.type = plumb_llvm_container(leaf.width), .width = leaf.width};
  unsigned piece = piece_bytes(a, leaf), bytes = (leaf.width + 7) / 8;
  plumb_llvm_leaf part = {.type = plumb_llvm_container(piece * 8), .width = piece * 8};
  plumb_reg joined = PLUMB_NO_REG;
  for (unsigned at = 0; at < bytes; at += piece) {
    plumb_reg r = load_plain(d, a, part.type, leaf.offset + at);
    plumb_llvm_leaf unmasked = {.type = whole.type, .width = plumb_dtype_table[whole.type].bits};
    r = plumb_llvm_resize(d, r, part, unmasked, false);
    if (at)
      r = plumb_build2(&d->b, PLUMB_OP_SHL, whole.type, r,
                       plumb_constant(d->program, whole.type, at * 8));
    joined = at ? plumb_build2(&d->b, PLUMB_OP_OR, whole.type, joined, r) : r;
  }
  joined = plumb_llvm_mask(d, joined, whole);
  if (whole.type == leaf.type) return joined;
  plumb_reg r = plumb_reg_create(d->f, leaf.type);
  plumb_build_mov(&d->b, r, joined);
  return r;
}

static void store_leaf(plumb_llvm_decoder *d, const access *a, plumb_llvm_leaf leaf,
                       plumb_reg value) {
  if (plain(a, leaf)) {
    store_plain(d, a, leaf.type, leaf.offset, value);
    return;
  }
  plumb_llvm_leaf whole = {.type = plumb_llvm_container(leaf.width), .width = leaf.width};
  if (whole.type != leaf.type) {
    plumb_reg bits = plumb_reg_create(d->f, whole.type);
    plumb_build_mov(&d->b, bits, value);
    value = bits;
  }
  unsigned piece = piece_bytes(a, leaf), bytes = (leaf.width + 7) / 8;
  plumb_llvm_leaf part = {.type = plumb_llvm_container(piece * 8), .width = piece * 8};
  for (unsigned at = 0; at < bytes; at += piece) {
    plumb_reg r = value;
    if (at)
      r = plumb_build2(&d->b, PLUMB_OP_SHR_U, whole.type, r,
                       plumb_constant(d->program, whole.type, at * 8));
    store_plain(d, a, part.type, leaf.offset + at, plumb_llvm_resize(d, r, whole, part, false));
  }
}

/* A vector whose promised alignment is that of the whole is one access: 2, 4 or 8
 * equal leaves without gaps. */
static bool one_access(const access *a, const plumb_llvm_leaves *leaves) {
  size_t n = leaves->count;
  if (n != 2 && n != 4 && n != 8) return false;
  unsigned bytes = plumb_dtype_bytes(leaves->items[0].type);
  for (size_t i = 0; i < n; i++) {
    plumb_llvm_leaf leaf = leaves->items[i];
    if (leaf.type != leaves->items[0].type || leaf.offset != i * bytes || !plain(a, leaf))
      return false;
  }
  return a->align >= n * bytes && n * bytes <= 32;
}

static bool any_packed(const plumb_llvm_leaves *leaves) {
  for (size_t i = 0; i < leaves->count; i++)
    if (leaves->items[i].packed) return true;
  return false;
}

static bool is_vector(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

plumb_llvm_run plumb_llvm_load(plumb_llvm_decoder *d, LLVMTypeRef type, plumb_reg address,
                               unsigned address_space, uint64_t align, uint32_t flags, bool *ok) {
  plumb_llvm_leaves leaves = {0};
  plumb_llvm_run run = {0};
  access a = {.address = address, .align = align, .flags = flags};
  a.space = plumb_llvm_space(address_space, ok);
  if (!*ok || !plumb_llvm_type_leaves(d, type, 0, &leaves) || any_packed(&leaves)) {
    *ok = false;
    return run;
  }
  if (is_vector(type) && one_access(&a, &leaves)) {
    run = (plumb_llvm_run){PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count), leaves.count};
    run.regs[0] = plumb_reg_create_run(d->f, leaves.items[0].type, leaves.count);
    for (size_t i = 1; i < run.count; i++) run.regs[i] = run.regs[0] + (plumb_reg)i;
    plumb_inst *inst =
        plumb_build(&d->b, PLUMB_OP_LOAD, leaves.items[0].type, run.regs, run.count, &a.address, 1);
    inst->space = (uint8_t)a.space;
    inst->flags |= a.flags;
    inst->align_log2 = plumb_llvm_promised_log2(a.align);
    return run;
  }
  run = (plumb_llvm_run){PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count + 1), leaves.count};
  for (size_t i = 0; i < run.count; i++) run.regs[i] = load_leaf(d, &a, leaves.items[i]);
  return run;
}

static void decode_load(plumb_llvm_decoder *d, LLVMValueRef inst) {
  LLVMValueRef pointer = LLVMGetOperand(inst, 0);
  bool ok;
  plumb_llvm_run run = plumb_llvm_load(d, LLVMTypeOf(inst), plumb_llvm_scalar(d, pointer),
                                       LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)),
                                       LLVMGetAlignment(inst), access_flags(d, inst), &ok);
  if (ok)
    plumb_llvm_define(d, inst, run);
  else
    plumb_llvm_unsupported(d, inst, "llvm load of this type or address space");
}

static void decode_store(plumb_llvm_decoder *d, LLVMValueRef inst) {
  LLVMValueRef value = LLVMGetOperand(inst, 0), pointer = LLVMGetOperand(inst, 1);
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, value);
  plumb_llvm_run run = plumb_llvm_value(d, value);
  bool known;
  access a = {.address = plumb_llvm_scalar(d, pointer),
              .align = LLVMGetAlignment(inst),
              .flags = access_flags(d, inst)};
  a.space = plumb_llvm_space(LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)), &known);
  if (!known || !leaves.count || any_packed(&leaves)) {
    plumb_build_unsupported(&d->b, "llvm store of this type or address space", NULL, 0);
    return;
  }
  if (is_vector(LLVMTypeOf(value)) && one_access(&a, &leaves)) {
    plumb_reg operands[9] = {a.address};
    for (size_t i = 0; i < run.count; i++) operands[i + 1] = run.regs[i];
    plumb_inst *store =
        plumb_build(&d->b, PLUMB_OP_STORE, leaves.items[0].type, NULL, 0, operands, run.count + 1);
    store->space = (uint8_t)a.space;
    store->flags |= a.flags;
    store->align_log2 = plumb_llvm_promised_log2(a.align);
    return;
  }
  for (size_t i = 0; i < run.count; i++) store_leaf(d, &a, leaves.items[i], run.regs[i]);
}

/* --- addresses --- */

static plumb_reg build_flagged(plumb_llvm_decoder *d, plumb_op op, plumb_reg a, plumb_reg b,
                               uint32_t flags) {
  plumb_reg r = plumb_reg_create(d->f, PLUMB_I64);
  plumb_build(&d->b, op, PLUMB_I64, &r, 1, (plumb_reg[]){a, b}, 2)->flags |= flags;
  return r;
}

/* LangRef, getelementptr: nusw and nuw of what the indices are scaled by, nuw of the sums;
 * inbounds: every sum stays in the allocation (EXACT, ops.def). */
typedef struct gep_flags {
  uint32_t scale, sum;
} gep_flags;

static gep_flags gep_flags_of(LLVMValueRef gep) {
  LLVMGEPNoWrapFlags flags = LLVMGEPGetNoWrapFlags(gep);
  uint32_t nuw = flags & LLVMGEPFlagNUW ? (uint32_t)PLUMB_FLAG_NUW : 0u;
  return (gep_flags){.scale = (flags & LLVMGEPFlagNUSW ? (uint32_t)PLUMB_FLAG_NSW : 0u) | nuw,
                     .sum = (flags & LLVMGEPFlagInBounds ? (uint32_t)PLUMB_FLAG_EXACT : 0u) | nuw};
}

static plumb_reg add_scaled(plumb_llvm_decoder *d, plumb_reg base, LLVMValueRef index, size_t lane,
                            uint64_t scale, gep_flags flags) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, index);
  plumb_llvm_run run = plumb_llvm_value(d, index);
  size_t at = run.count > 1 ? lane : 0;
  plumb_llvm_leaf wide = {.type = PLUMB_I64, .width = 64};
  plumb_reg r = plumb_llvm_resize(d, run.regs[at], leaves.items[at], wide, true);
  if (scale != 1)
    r = build_flagged(d, PLUMB_OP_MUL, r, plumb_constant(d->program, PLUMB_I64, scale),
                      flags.scale);
  return build_flagged(d, PLUMB_OP_ADD, base, r, flags.sum);
}

/* Scalar or one lane of a vector getelementptr, instruction or constant expression. */
plumb_reg plumb_llvm_gep(plumb_llvm_decoder *d, LLVMValueRef gep, size_t lane) {
  plumb_llvm_run bases = plumb_llvm_value(d, LLVMGetOperand(gep, 0));
  plumb_reg address = bases.regs[bases.count > 1 ? lane : 0];
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  uint64_t offset = 0;
  gep_flags flags = gep_flags_of(gep);
  int operands = LLVMGetNumOperands(gep);
  for (int i = 1; i < operands; i++) {
    LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
    if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned member = (unsigned)LLVMConstIntGetZExtValue(
          LLVMIsAConstantInt(index) ? index : LLVMGetAggregateElement(index, 0));
      offset += LLVMOffsetOfElement(d->layout, type, member);
      type = LLVMStructGetTypeAtIndex(type, member);
      continue;
    }
    if (i > 1) type = LLVMGetElementType(type);
    uint64_t scale = LLVMABISizeOfType(d->layout, type);
    if (LLVMIsAConstantInt(index))
      offset += (uint64_t)LLVMConstIntGetSExtValue(index) * scale;
    else {
      /* In the order of the indices: every sum has to stay inside. */
      if (offset && flags.sum)
        address = build_flagged(d, PLUMB_OP_ADD, address,
                                plumb_constant(d->program, PLUMB_I64, offset), flags.sum);
      if (flags.sum) offset = 0;
      address = add_scaled(d, address, index, lane, scale, flags);
    }
  }
  if (offset)
    address = build_flagged(d, PLUMB_OP_ADD, address, plumb_constant(d->program, PLUMB_I64, offset),
                            flags.sum);
  return address;
}

static void decode_gep(plumb_llvm_decoder *d, LLVMValueRef inst) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, inst);
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count + 1), leaves.count};
  for (size_t i = 0; i < run.count; i++) run.regs[i] = plumb_llvm_gep(d, inst, i);
  plumb_llvm_define(d, inst, run);
}

static void decode_alloca(plumb_llvm_decoder *d, LLVMValueRef inst) {
  LLVMTypeRef type = LLVMGetAllocatedType(inst);
  LLVMValueRef count = LLVMGetOperand(inst, 0);
  uint64_t size = LLVMABISizeOfType(d->layout, type);
  unsigned align = LLVMGetAlignment(inst);
  plumb_reg r = plumb_reg_create(d->f, PLUMB_I64);
  bool entry = LLVMGetInstructionParent(inst) == LLVMGetEntryBasicBlock(d->function);
  if (entry && LLVMIsAConstantInt(count)) {
    uint64_t bytes = size * LLVMConstIntGetZExtValue(count);
    uint32_t at = plumb_frame_reserve(d->f, bytes ? bytes : 1, align);
    plumb_build(&d->b, PLUMB_OP_FRAME, PLUMB_I64, &r, 1, NULL, 0)->imm = at;
  } else {
    plumb_llvm_leaf wide = {.type = PLUMB_I64, .width = 64};
    plumb_reg n = plumb_llvm_resize(d, plumb_llvm_scalar(d, count),
                                    plumb_llvm_value_leaves(d, count).items[0], wide, false);
    plumb_reg bytes = plumb_build2(&d->b, PLUMB_OP_MUL, PLUMB_I64, n,
                                   plumb_constant(d->program, PLUMB_I64, size));
    plumb_build(&d->b, PLUMB_OP_ALLOCA, PLUMB_I64, &r, 1, &bytes, 1)->imm = align;
  }
  if (LLVMGetPointerAddressSpace(LLVMTypeOf(inst)) == 0) r = plumb_llvm_to_generic(d, r, 5);
  plumb_llvm_define1(d, inst, r);
}

/* --- atomics --- */

static bool rmw_op(LLVMAtomicRMWBinOp op, plumb_atomic *out) {
  switch (op) {
    case LLVMAtomicRMWBinOpXchg:
      *out = PLUMB_ATOMIC_EXCH;
      return true;
    case LLVMAtomicRMWBinOpAdd:
    case LLVMAtomicRMWBinOpFAdd:
      *out = PLUMB_ATOMIC_ADD;
      return true;
    case LLVMAtomicRMWBinOpSub:
    case LLVMAtomicRMWBinOpFSub:
      *out = PLUMB_ATOMIC_SUB;
      return true;
    case LLVMAtomicRMWBinOpAnd:
      *out = PLUMB_ATOMIC_AND;
      return true;
    case LLVMAtomicRMWBinOpNand:
      *out = PLUMB_ATOMIC_NAND;
      return true;
    case LLVMAtomicRMWBinOpOr:
      *out = PLUMB_ATOMIC_OR;
      return true;
    case LLVMAtomicRMWBinOpXor:
      *out = PLUMB_ATOMIC_XOR;
      return true;
    case LLVMAtomicRMWBinOpMax:
      *out = PLUMB_ATOMIC_MAX_S;
      return true;
    case LLVMAtomicRMWBinOpMin:
      *out = PLUMB_ATOMIC_MIN_S;
      return true;
    case LLVMAtomicRMWBinOpUMax:
      *out = PLUMB_ATOMIC_MAX_U;
      return true;
    case LLVMAtomicRMWBinOpUMin:
      *out = PLUMB_ATOMIC_MIN_U;
      return true;
    case LLVMAtomicRMWBinOpFMax:
      *out = PLUMB_ATOMIC_FMAX;
      return true;
    case LLVMAtomicRMWBinOpFMin:
      *out = PLUMB_ATOMIC_FMIN;
      return true;
    case LLVMAtomicRMWBinOpUIncWrap:
      *out = PLUMB_ATOMIC_INC;
      return true;
    case LLVMAtomicRMWBinOpUDecWrap:
      *out = PLUMB_ATOMIC_DEC;
      return true;
    case LLVMAtomicRMWBinOpFMaximum:
      *out = PLUMB_ATOMIC_FMAXIMUM;
      return true;
    case LLVMAtomicRMWBinOpFMinimum:
      *out = PLUMB_ATOMIC_FMINIMUM;
      return true;
    default:
      return false;
  }
}

static bool atomic_space(LLVMValueRef pointer, plumb_space *out) {
  bool known;
  *out = plumb_llvm_space(LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)), &known);
  return known;
}

static void decode_rmw(plumb_llvm_decoder *d, LLVMValueRef inst) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, inst);
  plumb_atomic op;
  plumb_space space;
  if (leaves.count != 1 || leaves.items[0].width != plumb_dtype_table[leaves.items[0].type].bits ||
      !rmw_op(LLVMGetAtomicRMWBinOp(inst), &op) || !atomic_space(LLVMGetOperand(inst, 0), &space)) {
    plumb_llvm_unsupported(d, inst, "llvm atomicrmw of this operation, type or address space");
    return;
  }
  plumb_dtype type = leaves.items[0].type;
  plumb_reg operands[2] = {plumb_llvm_operand(d, inst, 0), plumb_llvm_operand(d, inst, 1)};
  if (op == PLUMB_ATOMIC_SUB && plumb_dtype_is_float(type)) {
    operands[1] = plumb_build1(&d->b, PLUMB_OP_NEG, type, operands[1]); /* x - y is x + (-y) */
    op = PLUMB_ATOMIC_ADD;
  }
  plumb_reg r = plumb_reg_create(d->f, type);
  plumb_inst *atomic = plumb_build(&d->b, PLUMB_OP_ATOMIC, type, &r, 1, operands, 2);
  atomic->sub = (uint8_t)op;
  atomic->space = (uint8_t)space;
  atomic->flags |= access_flags(d, inst);
  plumb_llvm_define1(d, inst, r);
}

static void decode_cmpxchg(plumb_llvm_decoder *d, LLVMValueRef inst) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, LLVMGetOperand(inst, 1));
  plumb_space space;
  if (leaves.count != 1 || leaves.items[0].width != plumb_dtype_table[leaves.items[0].type].bits ||
      !atomic_space(LLVMGetOperand(inst, 0), &space)) {
    plumb_llvm_unsupported(d, inst, "llvm cmpxchg of this type or address space");
    return;
  }
  plumb_dtype type = leaves.items[0].type;
  plumb_reg operands[3];
  for (unsigned i = 0; i < 3; i++) operands[i] = plumb_llvm_operand(d, inst, i);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, 2);
  regs[0] = plumb_reg_create(d->f, type);
  plumb_inst *atomic = plumb_build(&d->b, PLUMB_OP_ATOMIC, type, regs, 1, operands, 3);
  atomic->sub = PLUMB_ATOMIC_CAS;
  atomic->space = (uint8_t)space;
  atomic->flags |= order_flags(LLVMGetCmpXchgSuccessOrdering(inst)) |
                   plumb_llvm_scope_flags(d, inst) |
                   (LLVMGetVolatile(inst) ? (uint32_t)PLUMB_FLAG_VOLATILE : 0u);
  regs[1] = plumb_build_cmp(&d->b, PLUMB_CMP_EQ, type, regs[0], operands[1]);
  plumb_llvm_define(d, inst, (plumb_llvm_run){regs, 2});
}

void plumb_llvm_decode_memory(plumb_llvm_decoder *d, LLVMValueRef inst) {
  switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMLoad:
      decode_load(d, inst);
      break;
    case LLVMStore:
      decode_store(d, inst);
      break;
    case LLVMAlloca:
      decode_alloca(d, inst);
      break;
    case LLVMGetElementPtr:
      decode_gep(d, inst);
      break;
    case LLVMAtomicRMW:
      decode_rmw(d, inst);
      break;
    case LLVMAtomicCmpXchg:
      decode_cmpxchg(d, inst);
      break;
    default: /* fence */
      plumb_build(&d->b, PLUMB_OP_FENCE, PLUMB_I1, NULL, 0, NULL, 0)->flags |=
          order_flags(LLVMGetOrdering(inst)) | plumb_llvm_scope_flags(d, inst);
  }
}

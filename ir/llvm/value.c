/* Types, constants and the registers of values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/llvm/decoder.h"

static void map_grow(plumb_arena *arena, plumb_llvm_map *map) {
  plumb_llvm_map grown = {.capacity = map->capacity ? map->capacity * 2 : 64};
  grown.slots = PLUMB_NEW_ARRAY(arena, plumb_llvm_slot, grown.capacity);
  for (size_t i = 0; i < map->capacity; i++)
    if (map->slots[i].key) *plumb_llvm_map_at(arena, &grown, map->slots[i].key) = map->slots[i];
  *map = grown;
}

/* The slot of a key, made when absent; good until the next call. */
plumb_llvm_slot *plumb_llvm_map_at(plumb_arena *arena, plumb_llvm_map *map, const void *key) {
  if ((map->used + 1) * 2 > map->capacity) map_grow(arena, map);
  size_t mask = map->capacity - 1;
  size_t at = (size_t)(((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20) & mask;
  while (map->slots[at].key && map->slots[at].key != key) at = (at + 1) & mask;
  if (!map->slots[at].key) {
    map->slots[at].key = key;
    map->used++;
  }
  return &map->slots[at];
}

plumb_dtype plumb_llvm_container(unsigned width) {
  if (width <= 1) return PLUMB_I1;
  if (width <= 8) return PLUMB_I8;
  if (width <= 16) return PLUMB_I16;
  if (width <= 32) return PLUMB_I32;
  if (width <= 64) return PLUMB_I64;
  return PLUMB_I128;
}

static bool add_leaf(plumb_llvm_decoder *d, plumb_llvm_leaves *out, plumb_dtype type,
                     unsigned width, uint64_t offset, bool packed) {
  if (out->count >= PLUMB_LLVM_MAX_LEAVES) return false;
  out->items =
      plumb_arena_grow(d->arena, out->items, &out->capacity, out->count + 1, sizeof *out->items);
  out->items[out->count++] =
      (plumb_llvm_leaf){.type = type, .width = width, .offset = offset, .packed = packed};
  return true;
}

static bool sequence_leaves(plumb_llvm_decoder *d, LLVMTypeRef type, uint64_t offset,
                            plumb_llvm_leaves *out) {
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  LLVMTypeRef element = LLVMGetElementType(type);
  uint64_t n = vector ? LLVMGetVectorSize(type) : LLVMGetArrayLength2(type);
  uint64_t bits = LLVMSizeOfTypeInBits(d->layout, element);
  uint64_t stride = vector ? bits / 8 : LLVMABISizeOfType(d->layout, element);
  if (n > PLUMB_LLVM_MAX_LEAVES) return false;
  for (uint64_t i = 0; i < n; i++) {
    size_t first = out->count;
    if (!plumb_llvm_type_leaves(d, element, offset + i * stride, out)) return false;
    if (vector && bits % 8)
      for (; first < out->count; first++) out->items[first].packed = true;
  }
  return true;
}

bool plumb_llvm_type_leaves(plumb_llvm_decoder *d, LLVMTypeRef type, uint64_t offset,
                            plumb_llvm_leaves *out) {
  switch (LLVMGetTypeKind(type)) {
    case LLVMVoidTypeKind:
    case LLVMTokenTypeKind:
    case LLVMMetadataTypeKind:
      return true;
    case LLVMHalfTypeKind:
      return add_leaf(d, out, PLUMB_F16, 16, offset, false);
    case LLVMBFloatTypeKind:
      return add_leaf(d, out, PLUMB_BF16, 16, offset, false);
    case LLVMFloatTypeKind:
      return add_leaf(d, out, PLUMB_F32, 32, offset, false);
    case LLVMDoubleTypeKind:
      return add_leaf(d, out, PLUMB_F64, 64, offset, false);
    case LLVMIntegerTypeKind: {
      unsigned width = LLVMGetIntTypeWidth(type);
      return width <= 128 && add_leaf(d, out, plumb_llvm_container(width), width, offset, false);
    }
    case LLVMPointerTypeKind:
      return add_leaf(d, out, PLUMB_I64, 64, offset, LLVMSizeOfTypeInBits(d->layout, type) != 64);
    case LLVMStructTypeKind:
      if (LLVMIsOpaqueStruct(type)) return false;
      for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
        if (!plumb_llvm_type_leaves(d, LLVMStructGetTypeAtIndex(type, i),
                                    offset + LLVMOffsetOfElement(d->layout, type, i), out))
          return false;
      return true;
    case LLVMArrayTypeKind:
    case LLVMVectorTypeKind:
      return sequence_leaves(d, type, offset, out);
    default:
      return false;
  }
}

plumb_llvm_leaves plumb_llvm_value_leaves(plumb_llvm_decoder *d, LLVMValueRef value) {
  plumb_llvm_leaves leaves = {0};
  if (!plumb_llvm_type_leaves(d, LLVMTypeOf(value), 0, &leaves)) leaves.count = 0;
  return leaves;
}

plumb_llvm_run plumb_llvm_fresh(plumb_llvm_decoder *d, const plumb_llvm_leaves *leaves) {
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves->count + 1), leaves->count};
  for (size_t i = 0; i < run.count; i++)
    run.regs[i] = plumb_reg_create(d->f, leaves->items[i].type);
  return run;
}

/* A use before the definition was decoded has made registers: those are moved to. */
void plumb_llvm_define(plumb_llvm_decoder *d, LLVMValueRef inst, plumb_llvm_run run) {
  plumb_llvm_slot *slot = plumb_llvm_map_at(d->arena, &d->values, inst);
  if (slot->run.regs)
    for (size_t i = 0; i < run.count && i < slot->run.count; i++)
      plumb_build_mov(&d->b, slot->run.regs[i], run.regs[i]);
  else
    slot->run = run;
}

void plumb_llvm_define1(plumb_llvm_decoder *d, LLVMValueRef inst, plumb_reg r) {
  plumb_reg *regs = PLUMB_NEW(d->arena, plumb_reg);
  *regs = r;
  plumb_llvm_define(d, inst, (plumb_llvm_run){regs, 1});
}

void plumb_llvm_unsupported(plumb_llvm_decoder *d, LLVMValueRef inst, const char *what) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, inst);
  plumb_llvm_run run = plumb_llvm_fresh(d, &leaves);
  plumb_build_unsupported(&d->b, what, run.regs, run.count);
  plumb_llvm_define(d, inst, run);
}

plumb_space plumb_llvm_space(unsigned address_space, bool *out_known) {
  *out_known = true;
  switch (address_space) {
    case 0:
      return PLUMB_SPACE_GENERIC;
    case 1:
      return PLUMB_SPACE_GLOBAL;
    case 3:
    case 7: /* shared::cluster */
      return PLUMB_SPACE_SHARED;
    case 4:
      return PLUMB_SPACE_CONST;
    case 5:
      return PLUMB_SPACE_LOCAL;
    case 101:
      return PLUMB_SPACE_PARAM;
    default:
      *out_known = false;
      return PLUMB_SPACE_GENERIC;
  }
}

plumb_reg plumb_llvm_to_generic(plumb_llvm_decoder *d, plumb_reg address, unsigned address_space) {
  bool known;
  plumb_space space = plumb_llvm_space(address_space, &known);
  if (!known) {
    plumb_reg r = plumb_reg_create(d->f, PLUMB_I64);
    plumb_build_unsupported(
        &d->b, plumb_arena_printf(d->arena, "llvm address space %u", address_space), &r, 1);
    return r;
  }
  if (space == PLUMB_SPACE_GENERIC || space == PLUMB_SPACE_GLOBAL) return address;
  plumb_reg r = plumb_reg_create(d->f, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_TO_GENERIC, PLUMB_I64, &r, 1, &address, 1)->space = (uint8_t)space;
  return r;
}

/* --- constants --- */

/* The C API gives no more than 64 bits of an integer: wider ones are read from the
 * printed decimal. */
static void wide_bits(LLVMValueRef c, uint64_t *out_lo, uint64_t *out_hi) {
  char *text = LLVMPrintValueToString(c);
  const char *digits = strrchr(text, ' ');
  digits = digits ? digits + 1 : text;
  bool negative = *digits == '-';
  unsigned __int128 value = 0;
  for (digits += negative; *digits >= '0' && *digits <= '9'; digits++)
    value = value * 10 + (unsigned)(*digits - '0');
  if (negative) value = -value;
  *out_lo = (uint64_t)value;
  *out_hi = (uint64_t)(value >> 64);
  LLVMDisposeMessage(text);
}

bool plumb_llvm_constant_bits(LLVMValueRef c, uint64_t *out_lo, uint64_t *out_hi) {
  *out_lo = *out_hi = 0;
  if (LLVMIsUndef(c) || LLVMIsPoison(c) || LLVMIsNull(c)) return true;
  LLVMTypeRef type = LLVMTypeOf(c);
  if (LLVMIsAConstantFP(c)) {
    unsigned width = 64;
    switch (LLVMGetTypeKind(type)) {
      case LLVMHalfTypeKind:
      case LLVMBFloatTypeKind:
        width = 16;
        break;
      case LLVMFloatTypeKind:
        width = 32;
        break;
      case LLVMDoubleTypeKind:
        break;
      default:
        return false;
    }
    /* The fold of a bitcast keeps a NaN's payload, which a double on the way might not. */
    c = LLVMConstBitCast(c, LLVMIntTypeInContext(LLVMGetTypeContext(type), width));
    type = LLVMTypeOf(c);
  }
  if (!LLVMIsAConstantInt(c)) return false;
  if (LLVMGetIntTypeWidth(type) > 64)
    wide_bits(c, out_lo, out_hi);
  else
    *out_lo = LLVMConstIntGetZExtValue(c);
  return true;
}

static unsigned element_count(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
    case LLVMStructTypeKind:
      return LLVMCountStructElementTypes(type);
    case LLVMArrayTypeKind:
      return (unsigned)LLVMGetArrayLength2(type);
    case LLVMVectorTypeKind:
      return LLVMGetVectorSize(type);
    default:
      return 0;
  }
}

static plumb_reg unsupported_constant(plumb_llvm_decoder *d, plumb_dtype type, LLVMValueRef c) {
  plumb_reg r = plumb_reg_create(d->f, type);
  char *text = LLVMPrintValueToString(c);
  plumb_build_unsupported(&d->b, plumb_arena_printf(d->arena, "llvm constant %.200s", text), &r, 1);
  LLVMDisposeMessage(text);
  return r;
}

static bool constant_expression(plumb_llvm_decoder *d, LLVMValueRef c, plumb_llvm_run *out) {
  LLVMOpcode op = LLVMGetConstOpcode(c);
  switch (op) {
    case LLVMGetElementPtr:
      out->regs = PLUMB_NEW(d->arena, plumb_reg);
      out->regs[0] = plumb_llvm_gep(d, c, 0);
      out->count = 1;
      return LLVMGetTypeKind(LLVMTypeOf(c)) == LLVMPointerTypeKind;
    case LLVMAdd:
    case LLVMSub:
    case LLVMXor: {
      plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, c);
      if (leaves.count != 1) return false;
      out->regs = PLUMB_NEW(d->arena, plumb_reg);
      out->count = 1;
      out->regs[0] = plumb_llvm_binary(d, op, leaves.items[0], plumb_llvm_operand(d, c, 0),
                                       plumb_llvm_operand(d, c, 1), 0);
      return true;
    }
    default:
      return plumb_llvm_cast(d, op, LLVMGetOperand(c, 0), LLVMTypeOf(c), 0, out);
  }
}

/* A shift by the whole width, whose result is poison. */
plumb_reg plumb_llvm_poison(plumb_llvm_decoder *d, plumb_dtype type) {
  unsigned bits = 8 * plumb_dtype_bytes(type);
  plumb_dtype word = plumb_llvm_container(bits);
  plumb_reg one =
      bits == 128 ? plumb_constant128(d->program, 1, 0) : plumb_constant(d->program, word, 1);
  plumb_reg width =
      bits == 128 ? plumb_constant128(d->program, bits, 0) : plumb_constant(d->program, word, bits);
  plumb_reg r = plumb_build2(&d->b, PLUMB_OP_SHL, word, one, width);
  if (type == word) return r;
  plumb_reg out = plumb_reg_create(d->f, type);
  plumb_build_mov(&d->b, out, r);
  return out;
}

static void constant_leaves(plumb_llvm_decoder *d, LLVMValueRef c, plumb_llvm_run *out,
                            const plumb_llvm_leaves *leaves) {
  unsigned n = element_count(LLVMTypeOf(c));
  LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(c));
  bool expression = LLVMIsAConstantExpr(c) != NULL;
  if (!expression &&
      (kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind || kind == LLVMVectorTypeKind)) {
    for (unsigned i = 0; i < n; i++) {
      LLVMValueRef element = LLVMGetAggregateElement(c, i);
      if (element) constant_leaves(d, element, out, leaves);
    }
    return;
  }
  if (out->count >= leaves->count) return;
  plumb_dtype type = leaves->items[out->count].type;
  uint64_t lo, hi;
  plumb_llvm_run part;
  plumb_reg r;
  if (LLVMIsUndef(c) || LLVMIsPoison(c)) {
    out->regs[out->count++] = plumb_llvm_poison(d, type);
  } else if (plumb_llvm_constant_bits(c, &lo, &hi)) {
    out->regs[out->count++] = type == PLUMB_I128 ? plumb_constant128(d->program, lo, hi)
                                                 : plumb_constant(d->program, type, lo);
  } else if (LLVMIsAGlobalVariable(c) && plumb_llvm_global_address(d, c, &r)) {
    out->regs[out->count++] = r;
  } else if (expression && constant_expression(d, c, &part)) {
    for (size_t i = 0; i < part.count && out->count < leaves->count; i++)
      out->regs[out->count++] = part.regs[i];
  } else {
    out->regs[out->count++] = unsupported_constant(d, type, c);
  }
}

plumb_llvm_run plumb_llvm_value(plumb_llvm_decoder *d, LLVMValueRef value) {
  if (!LLVMIsConstant(value)) {
    plumb_llvm_slot *slot = plumb_llvm_map_at(d->arena, &d->values, value);
    if (!slot->run.regs) {
      plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, value);
      plumb_llvm_run run = plumb_llvm_fresh(d, &leaves);
      plumb_llvm_map_at(d->arena, &d->values, value)->run = run;
      return run;
    }
    return slot->run;
  }
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, value);
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count + 1), 0};
  constant_leaves(d, value, &run, &leaves);
  return run;
}

plumb_reg plumb_llvm_scalar(plumb_llvm_decoder *d, LLVMValueRef value) {
  plumb_llvm_run run = plumb_llvm_value(d, value);
  if (run.count) return run.regs[0];
  plumb_reg r = plumb_reg_create(d->f, PLUMB_I64);
  plumb_build_unsupported(&d->b, "llvm value without registers", &r, 1);
  return r;
}

plumb_reg plumb_llvm_operand(plumb_llvm_decoder *d, LLVMValueRef inst, unsigned index) {
  return plumb_llvm_scalar(d, LLVMGetOperand(inst, index));
}

/* --- integers of odd width --- */

static unsigned container_bits(plumb_llvm_leaf leaf) {
  return plumb_dtype_table[leaf.type].bits;
}

static plumb_reg wide_constant(plumb_llvm_decoder *d, plumb_dtype type, unsigned ones) {
  if (type != PLUMB_I128)
    return plumb_constant(d->program, type, ones >= 64 ? UINT64_MAX : (1ull << ones) - 1);
  return plumb_constant128(d->program, ones >= 64 ? UINT64_MAX : (1ull << ones) - 1,
                           ones >= 128 ? UINT64_MAX
                           : ones > 64 ? (1ull << (ones - 64)) - 1
                                       : 0);
}

plumb_reg plumb_llvm_mask(plumb_llvm_decoder *d, plumb_reg r, plumb_llvm_leaf leaf) {
  if (plumb_dtype_is_float(leaf.type) || leaf.width >= container_bits(leaf)) return r;
  return plumb_build2(&d->b, PLUMB_OP_AND, leaf.type, r, wide_constant(d, leaf.type, leaf.width));
}

/* The container sign-extended from the leaf's width. */
plumb_reg plumb_llvm_sign(plumb_llvm_decoder *d, plumb_reg r, plumb_llvm_leaf leaf) {
  unsigned bits = container_bits(leaf);
  if (leaf.width >= bits) return r;
  plumb_reg by = plumb_constant(d->program, leaf.type, bits - leaf.width);
  r = plumb_build2(&d->b, PLUMB_OP_SHL, leaf.type, r, by);
  return plumb_build2(&d->b, PLUMB_OP_SHR_S, leaf.type, r, by);
}

/* Low bit of r as i1. */
plumb_reg plumb_llvm_bool(plumb_llvm_decoder *d, plumb_reg r, plumb_dtype type) {
  if (type == PLUMB_I1) return r;
  plumb_reg bit = plumb_build2(&d->b, PLUMB_OP_AND, type, r, plumb_constant(d->program, type, 1));
  return plumb_build_cmp(&d->b, PLUMB_CMP_NE, type, bit, plumb_constant(d->program, type, 0));
}

plumb_reg plumb_llvm_resize(plumb_llvm_decoder *d, plumb_reg r, plumb_llvm_leaf from,
                            plumb_llvm_leaf to, bool is_signed) {
  if (to.type == PLUMB_I1) return plumb_llvm_bool(d, r, from.type);
  if (from.type == PLUMB_I1) {
    plumb_reg one = plumb_constant(d->program, to.type, is_signed ? UINT64_MAX : 1);
    if (is_signed) one = plumb_llvm_mask(d, one, to);
    return plumb_build3(&d->b, PLUMB_OP_SELECT, to.type, r, one,
                        plumb_constant(d->program, to.type, 0));
  }
  if (is_signed) r = plumb_llvm_sign(d, r, from);
  if (from.type != to.type)
    r = plumb_build_cvt(&d->b, to.type, from.type, r,
                        is_signed ? PLUMB_FLAG_SRC_SIGNED | PLUMB_FLAG_DST_SIGNED : 0, PLUMB_RN);
  return plumb_llvm_mask(d, r, to);
}

/* What the files of ir/llvm share: the state of one decoding and its helpers. Private. */
#ifndef PLUMB_IR_LLVM_DECODER_H
#define PLUMB_IR_LLVM_DECODER_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "ir/llvm/llvm.h"

/* One register of a flattened type. Integers of odd width live zero-extended in the
 * next wider container. */
typedef struct plumb_llvm_leaf {
  plumb_dtype type;
  unsigned width;  /* bits of the LLVM type */
  uint64_t offset; /* bytes from the start of the value in memory */
  bool packed;     /* memory layout is not this leaf's own bytes (vectors of i1, i4) */
} plumb_llvm_leaf;

typedef struct plumb_llvm_leaves {
  plumb_llvm_leaf *items;
  size_t count, capacity;
} plumb_llvm_leaves;

typedef struct plumb_llvm_run {
  plumb_reg *regs;
  size_t count;
} plumb_llvm_run;

typedef struct plumb_llvm_slot {
  const void *key;
  plumb_llvm_run run;
  uint64_t number; /* block index */
} plumb_llvm_slot;

typedef struct plumb_llvm_map {
  plumb_llvm_slot *slots;
  size_t capacity, used;
} plumb_llvm_map;

typedef struct plumb_llvm_decoder {
  plumb_program *program;
  plumb_arena *arena;
  LLVMModuleRef module;
  LLVMContextRef context;
  LLVMTargetDataRef layout;
  const char *path;
  plumb_diag *diag;
  const char *source_file; /* of the function being decoded, or NULL */
  unsigned scope_cta, scope_gpu, scope_cluster, scope_thread;
  plumb_llvm_map globals; /* LLVM global to number: index + 1 */
  /* of the function being decoded */
  plumb_function *f;
  LLVMValueRef function;
  plumb_builder b;
  plumb_llvm_map values;
  plumb_llvm_map blocks;
  uint32_t denormal_flags; /* FTZ, FTZ_IN, FTZ_OUT of f32 operations */
  LLVMValueRef inst;
} plumb_llvm_decoder;

enum { PLUMB_LLVM_MAX_LEAVES = 4096 };

/* value.c */
plumb_llvm_slot *plumb_llvm_map_at(plumb_arena *arena, plumb_llvm_map *map, const void *key);
/* False: the type has no registers (opaque, scalable, larger than the limit). */
bool plumb_llvm_type_leaves(plumb_llvm_decoder *d, LLVMTypeRef type, uint64_t offset,
                            plumb_llvm_leaves *out);
plumb_llvm_leaves plumb_llvm_value_leaves(plumb_llvm_decoder *d, LLVMValueRef value);
/* Registers of a value; constants and constant expressions are built where used. */
plumb_llvm_run plumb_llvm_value(plumb_llvm_decoder *d, LLVMValueRef value);
/* An undefined value: using it to decide, or in an output, is a trap. */
plumb_reg plumb_llvm_poison(plumb_llvm_decoder *d, plumb_dtype type);
plumb_reg plumb_llvm_scalar(plumb_llvm_decoder *d, LLVMValueRef value);
plumb_reg plumb_llvm_operand(plumb_llvm_decoder *d, LLVMValueRef inst, unsigned index);
/* Fresh registers for a type; and binding an instruction's value to registers. */
plumb_llvm_run plumb_llvm_fresh(plumb_llvm_decoder *d, const plumb_llvm_leaves *leaves);
void plumb_llvm_define(plumb_llvm_decoder *d, LLVMValueRef inst, plumb_llvm_run run);
void plumb_llvm_define1(plumb_llvm_decoder *d, LLVMValueRef inst, plumb_reg r);
void plumb_llvm_unsupported(plumb_llvm_decoder *d, LLVMValueRef inst, const char *what);
plumb_space plumb_llvm_space(unsigned address_space, bool *out_known);
plumb_reg plumb_llvm_to_generic(plumb_llvm_decoder *d, plumb_reg address, unsigned address_space);
/* Bits of a constant integer or float; hi for 128 bits. */
bool plumb_llvm_constant_bits(LLVMValueRef c, uint64_t *out_lo, uint64_t *out_hi);
plumb_dtype plumb_llvm_container(unsigned width);
plumb_reg plumb_llvm_mask(plumb_llvm_decoder *d, plumb_reg r, plumb_llvm_leaf leaf);
plumb_reg plumb_llvm_sign(plumb_llvm_decoder *d, plumb_reg r, plumb_llvm_leaf leaf);
/* Integer conversion between leaves: sign or zero extension, or truncation. */
plumb_reg plumb_llvm_resize(plumb_llvm_decoder *d, plumb_reg r, plumb_llvm_leaf from,
                            plumb_llvm_leaf to, bool is_signed);
plumb_reg plumb_llvm_bool(plumb_llvm_decoder *d, plumb_reg r, plumb_dtype type);

/* inst.c */
void plumb_llvm_decode_inst(plumb_llvm_decoder *d, LLVMValueRef inst);
/* Instruction or constant expression of this opcode, but the value is returned. */
bool plumb_llvm_cast(plumb_llvm_decoder *d, LLVMOpcode op, LLVMValueRef value, LLVMTypeRef to,
                     uint32_t flags, plumb_llvm_run *out);
plumb_reg plumb_llvm_binary(plumb_llvm_decoder *d, LLVMOpcode op, plumb_llvm_leaf leaf, plumb_reg a,
                            plumb_reg c, uint32_t flags);
uint32_t plumb_llvm_fast_flags(LLVMValueRef inst);
/* FTZ flags for an operation of this type in this function. */
uint32_t plumb_llvm_denormal_flags(const plumb_llvm_decoder *d, plumb_dtype type);

/* flow.c */
void plumb_llvm_decode_terminator(plumb_llvm_decoder *d, LLVMValueRef inst);
uint32_t plumb_llvm_block(plumb_llvm_decoder *d, LLVMBasicBlockRef block);

/* memory.c */
void plumb_llvm_decode_memory(plumb_llvm_decoder *d, LLVMValueRef inst);
plumb_reg plumb_llvm_gep(plumb_llvm_decoder *d, LLVMValueRef gep, size_t lane);
plumb_llvm_run plumb_llvm_load(plumb_llvm_decoder *d, LLVMTypeRef type, plumb_reg address,
                               unsigned address_space, uint64_t align, uint32_t flags, bool *ok);
/* plumb_inst.align_log2 of a promised alignment in bytes. A lane's largest access is of
 * 16 bytes; greater promises are of arrays, and no single access rests on them. */
uint8_t plumb_llvm_promised_log2(uint64_t align);
uint32_t plumb_llvm_scope_flags(const plumb_llvm_decoder *d, LLVMValueRef inst);

/* global.c */
void plumb_llvm_decode_globals(plumb_llvm_decoder *d);
/* The address (in its own space) of a global variable; false if it has none here. */
bool plumb_llvm_global_address(plumb_llvm_decoder *d, LLVMValueRef global, plumb_reg *out);

/* call.c, intrinsic.c, asm.c */
void plumb_llvm_decode_call(plumb_llvm_decoder *d, LLVMValueRef inst);
/* Decodes a call as that of the named intrinsic or known function; false: unknown. */
bool plumb_llvm_intrinsic(plumb_llvm_decoder *d, LLVMValueRef inst, const char *name);
void plumb_llvm_inline_asm(plumb_llvm_decoder *d, LLVMValueRef inst);

#endif

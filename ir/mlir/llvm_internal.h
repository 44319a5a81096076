/* What the files of the llvm dialect share; private to this folder. */
#ifndef PLUMB_IR_MLIR_LLVM_INTERNAL_H
#define PLUMB_IR_MLIR_LLVM_INTERNAL_H

#include "ir/mlir/decode_internal.h"
#include "mlir-c/Dialect/LLVM.h"

/* How a value of an LLVM type lies in memory: one row a flattened member (program.h), with
 * natural alignment (NVPTX and x86-64 data layouts agree for these types). */
typedef struct plumb_mlir_llvm_layout {
  const plumb_dtype *types;
  const int64_t *offsets;
  size_t count;
  int64_t size_bytes; /* with tail padding: the distance of array elements */
  int64_t align;
} plumb_mlir_llvm_layout;

/* False: the type has no layout (d->why says so). */
bool plumb_mlir_llvm_layout_of(plumb_mlir_decoder *d, MlirType type,
                               plumb_mlir_llvm_layout *out_layout);
/* Member `index` of a struct or element of an array or vector: its type, its byte offset
 * and the number of flattened members before it. */
bool plumb_mlir_llvm_member(plumb_mlir_decoder *d, MlirType type, int64_t index, MlirType *out_type,
                            int64_t *out_offset, size_t *out_first);
/* Number of elements of an LLVM array type, or -1 for any other type. */
int64_t plumb_mlir_llvm_array_length(plumb_mlir_decoder *d, MlirType type);
/* Address space window of an LLVM pointer type. */
plumb_space plumb_mlir_llvm_space(MlirType pointer);

/* Loads or stores a whole value at `address`. `align`: promised bytes, 0 is the natural one;
 * a vector whose promise covers it is one access. */
void plumb_mlir_llvm_load(plumb_mlir_decoder *d, const plumb_mlir_llvm_layout *layout,
                          plumb_space space, plumb_reg address, int64_t align, uint32_t flags,
                          plumb_reg *out_regs);
void plumb_mlir_llvm_store(plumb_mlir_decoder *d, const plumb_mlir_llvm_layout *layout,
                           plumb_space space, plumb_reg address, int64_t align, uint32_t flags,
                           const plumb_reg *regs);
/* plumb_inst.align_log2 of an access at `offset` from an address of which `align` bytes are
 * promised; 0 and 0: nothing. */
uint8_t plumb_mlir_llvm_promised_log2(int64_t align, int64_t offset);
/* VOLATILE, RELAXED, ACQUIRE, ... and the scope, of a load, store, atomic or fence. */
uint32_t plumb_mlir_llvm_order(plumb_mlir_decoder *d, MlirOperation op, const char *attribute);

/* An integer register as i64: sign- or zero-extended from `bits`. */
plumb_reg plumb_mlir_llvm_to_i64(plumb_mlir_decoder *d, plumb_reg r, bool is_signed);
plumb_reg plumb_mlir_llvm_from_i64(plumb_mlir_decoder *d, plumb_reg r, plumb_dtype to);
/* The address in `pointer`'s space as a generic one. */
plumb_reg plumb_mlir_llvm_generic(plumb_mlir_decoder *d, plumb_reg address, plumb_space space);

/* One NVVM intrinsic by its name ("llvm.nvvm.barrier0"): defines the results of `op`, whose
 * operands from 0 on are the arguments. False with d->why NULL: not known. */
bool plumb_mlir_nvvm_intrinsic(plumb_mlir_decoder *d, MlirOperation op, const char *name);
/* An intrinsic that stands for one PTX instruction (plumb_ptx_of_intrinsic). */
bool plumb_mlir_nvvm_ptx(plumb_mlir_decoder *d, MlirOperation op, const char *name);
/* The letter that inline assembly has for a register of this type (LLVM Language Reference 22,
 * NVPTX constraints); NULL if it has none. */
const char *plumb_mlir_nvvm_letter(plumb_dtype type);
/* The attribute `shape` as PTX has it, "m16n8k16". */
const char *plumb_mlir_nvvm_shape(plumb_mlir_decoder *d, MlirOperation op);
/* Inline assembly: results of `op` are the outputs, its operands the inputs. */
bool plumb_mlir_inline_asm(plumb_mlir_decoder *d, MlirOperation op, MlirStringRef text,
                           MlirStringRef constraints);
/* The operation in generic form, for properties that are no attributes; in the arena. */
const char *plumb_mlir_llvm_generic_text(plumb_mlir_decoder *d, MlirOperation op);
/* `overflowFlags` of an LLVM operation as NSW and NUW. */
uint32_t plumb_mlir_llvm_overflow(plumb_mlir_decoder *d, MlirOperation op);

plumb_mlir_handler plumb_mlir_llvm_decode_load, plumb_mlir_llvm_decode_store,
    plumb_mlir_llvm_decode_alloca, plumb_mlir_llvm_decode_gep, plumb_mlir_llvm_decode_atomicrmw,
    plumb_mlir_llvm_decode_cmpxchg, plumb_mlir_llvm_decode_fence, plumb_mlir_llvm_decode_func,
    plumb_mlir_llvm_decode_global, plumb_mlir_llvm_decode_addressof, plumb_mlir_llvm_decode_call,
    plumb_mlir_llvm_decode_return, plumb_mlir_llvm_decode_br, plumb_mlir_llvm_decode_cond_br,
    plumb_mlir_llvm_decode_switch, plumb_mlir_llvm_decode_unreachable,
    plumb_mlir_llvm_decode_ignore;
/* The intr.* operations (llvm_intrinsics.def). */
plumb_mlir_handler plumb_mlir_llvm_intr_math, plumb_mlir_llvm_intr_binary,
    plumb_mlir_llvm_intr_unary, plumb_mlir_llvm_intr_minmax, plumb_mlir_llvm_intr_round,
    plumb_mlir_llvm_intr_fma, plumb_mlir_llvm_intr_funnel, plumb_mlir_llvm_intr_powi,
    plumb_mlir_llvm_intr_overflow, plumb_mlir_llvm_intr_saturate, plumb_mlir_llvm_intr_reduce,
    plumb_mlir_llvm_intr_memory, plumb_mlir_llvm_intr_masked, plumb_mlir_llvm_intr_step,
    plumb_mlir_llvm_intr_slice, plumb_mlir_llvm_intr_expect, plumb_mlir_llvm_intr_trap,
    plumb_mlir_llvm_intr_stack_save, plumb_mlir_llvm_intr_fpclass, plumb_mlir_llvm_intr_round_int,
    plumb_mlir_llvm_intr_call;

#endif

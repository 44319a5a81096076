/* What the intrinsic files share: one table row and the kinds of decoding. Private. */
#ifndef PLUMB_IR_LLVM_CALL_H
#define PLUMB_IR_LLVM_CALL_H

#include "ir/llvm/decoder.h"

/* P rows: the rest of the name is read as modifiers, so any suffix matches. */
/* clang-format 22 indents a list of calls in a macro further every time. */
/* clang-format off */
#define PLUMB_LLVM_KINDS(X) \
  X(NOTHING) X(ZERO) X(PASS) X(TRAP) X(SREG_NUMBER) X(OBJECTSIZE) X(ELEMENTWISE) X(FMULADD) \
  X(MATH) X(CANONICALIZE) X(FPCLASS) X(ROUND_TO_INT) X(FP_TO_INT_SAT) X(INT_ABS) X(CTLZ) \
  X(CTTZ) X(BSWAP) X(BITREVERSE) X(FUNNEL) X(SATURATE) X(OVERFLOW) X(THREE_WAY) X(REDUCE) \
  X(REDUCE_START) X(MEMCPY) X(MEMSET) X(MEMCPY_FUNCTION) X(MEMSET_FUNCTION) X(MALLOC) X(FREE) \
  X(ASSERT) X(VPRINTF) X(REFLECT) X(LDG) X(IS_SPACE) X(FROM_GENERIC) X(TO_GENERIC) \
  X(NVVM_ATOMIC) X(SREG) X(BARRIER) X(BARRIER_RED) X(WARP_SYNC) X(SHFL) X(VOTE) X(MATCH) \
  X(REDUX) X(ACTIVEMASK) X(ELECT) X(NANOSLEEP) X(EXIT) X(FENCE) X(ARITH) X(ARITH_RCP) \
  X(ARITH_SATURATE) X(CONVERT) X(CONVERT_F16) X(CONVERT_PAIR) X(DOUBLE_LOW) X(DOUBLE_HIGH) \
  X(DOUBLE_JOIN) X(BITCAST) X(FAST_EXP) X(FAST_LOG) X(PTX)
/* clang-format on */
typedef enum plumb_llvm_kind {
#define X(name) PLUMB_LLVM_KIND_##name,
  PLUMB_LLVM_KINDS(X)
#undef X
} plumb_llvm_kind;

typedef struct plumb_llvm_row {
  const char *name;
  uint8_t kind;
  uint8_t round;
  uint16_t op;
  int sub;
  uint32_t flags;
} plumb_llvm_row;

/* One call: the row that names it, the whole name, and its arguments. */
typedef struct plumb_llvm_call {
  LLVMValueRef inst;
  const plumb_llvm_row *row;
  const char *name;
  const char *rest; /* the name after the row's name: "" or ".suffix" */
  unsigned args;
  plumb_llvm_leaves result; /* leaves of the call's value */
} plumb_llvm_call;

const plumb_llvm_row *plumb_llvm_find_row(const char *name);

/* Each decodes a call of its kinds, or returns false for what it does not know. */
bool plumb_llvm_call_generic(plumb_llvm_decoder *d, const plumb_llvm_call *c); /* intrinsic.c */
bool plumb_llvm_call_integer(plumb_llvm_decoder *d, const plumb_llvm_call *c); /* integer.c */
bool plumb_llvm_call_memory(plumb_llvm_decoder *d, const plumb_llvm_call *c);  /* known.c */
bool plumb_llvm_call_nvvm(plumb_llvm_decoder *d, const plumb_llvm_call *c);    /* nvvm.c */
bool plumb_llvm_call_ptx(plumb_llvm_decoder *d, const plumb_llvm_call *c);     /* ptx.c */
bool plumb_llvm_call_sync(plumb_llvm_decoder *d, const plumb_llvm_call *c);    /* sync.c */

plumb_llvm_run plumb_llvm_arg(plumb_llvm_decoder *d, const plumb_llvm_call *c, unsigned i);
plumb_reg plumb_llvm_arg1(plumb_llvm_decoder *d, const plumb_llvm_call *c, unsigned i);
/* One instruction with one fresh result and the row's sub, flags and round. */
plumb_reg plumb_llvm_emit(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_op op,
                          plumb_dtype type, const plumb_reg *operands, size_t count);
plumb_llvm_run plumb_llvm_run_of(plumb_llvm_decoder *d, size_t count);
/* Makes the row's operation on every leaf of the result, all arguments alike. */
void plumb_llvm_elementwise(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_op op, int sub,
                            uint32_t flags, plumb_round round);

#endif

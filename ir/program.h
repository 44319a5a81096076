/* The program: the one executable form. Every stage (MLIR, LLVM IR, PTX) decodes
 * to it, and one executor runs it. It is a list of functions, each a flat array
 * of instructions in basic blocks over typed virtual registers, plus globals,
 * strings and a source map. It is not an optimising IR: nothing rewrites it but
 * freedom.h, to another reading that the source's specification allows.
 *
 *     plumb_program *p = plumb_program_create(arena, "softmax");
 *     plumb_function *f = plumb_function_create(p, "k", PLUMB_KERNEL);
 *     plumb_builder b = plumb_builder_at(f, plumb_block_create(f));
 *     plumb_reg x = plumb_build_sreg(&b, PLUMB_SREG_TID_X);
 *     plumb_build_ret(&b, NULL, 0);
 *     PLUMB_TRY(plumb_program_finish(p, diag));   link, verify, analyse
 *
 * Conventions that every decoder keeps:
 * - A vector is a run of registers, one an element. A struct or array value is the
 *   run of its flattened members. `index` and pointers are i64.
 * - A memref or a tensor is the run (base, aligned, offset, sizes..., strides...),
 *   all i64: the flattening of MLIR's memref descriptor. A tensor is a contiguous
 *   row-major buffer that nobody else writes (value semantics: an operation that
 *   changes a tensor writes a copy). So a host function has the same flat
 *   parameters and results at every stage, from linalg on tensors to llvm.func.
 * - A kernel gets no registers: its arguments lie in its param space, laid out by
 *   `params`; a LOAD with space PARAM at constant address = offset reads them.
 *   A launch passes one operand for each param (device code in MLIR flattens its
 *   memrefs into params of 8 bytes each).
 * - Host and device functions get their arguments in the registers `params[i].reg`.
 * - Addresses are 64-bit. A generic address names window and offset; an address of
 *   one space is an offset from 0 in that space's window, except that global and
 *   generic addresses are the same number (memory.h of the executor).
 * - Guards: an instruction with guard != PLUMB_NO_REG acts only in lanes where that
 *   i1 register is true (false with flag GUARD_NOT).
 */
#ifndef PLUMB_IR_PROGRAM_H
#define PLUMB_IR_PROGRAM_H

#include "ir/base/arena.h"
#include "ir/base/status.h"
#include "ir/dtype.h"

typedef enum plumb_op {
#define X(name, mnemonic, class, results, operands, description) PLUMB_OP_##name,
#include "ir/ops.def"
#undef X
  PLUMB_OP_COUNT
} plumb_op;

typedef enum plumb_op_class {
  PLUMB_CLASS_ALU,
  PLUMB_CLASS_MEM,
  PLUMB_CLASS_CTL,
  PLUMB_CLASS_SYNC,
  PLUMB_CLASS_HOST
} plumb_op_class;

typedef struct plumb_op_info {
  const char *mnemonic;
  plumb_op_class op_class;
  int results;  /* -1: the instruction says */
  int operands; /* -1: the instruction says */
  const char *description;
} plumb_op_info;

extern const plumb_op_info plumb_op_table[PLUMB_OP_COUNT];

typedef enum plumb_math {
#define X(name, text, arity, ulp_f32, ulp_f64) PLUMB_MATH_##name,
#include "ir/math.def"
#undef X
  PLUMB_MATH_COUNT
} plumb_math;

typedef struct plumb_math_info {
  const char *text;
  int arity;
  double ulp_f32;
  double ulp_f64;
} plumb_math_info;

extern const plumb_math_info plumb_math_table[PLUMB_MATH_COUNT];

typedef enum plumb_approx {
#define X(name, text, arity, section) PLUMB_APPROX_##name,
#include "ir/approx.def"
#undef X
  PLUMB_APPROX_COUNT
} plumb_approx;

typedef struct plumb_approx_info {
  const char *text;
  int arity;
  const char *section;
} plumb_approx_info;

extern const plumb_approx_info plumb_approx_table[PLUMB_APPROX_COUNT];

/* One enumeration a field, each with a table of texts (plumb_<field>_texts). */
typedef enum plumb_round {
#define PLUMB_ROUND_ROW(name, text) PLUMB_##name,
#include "ir/enums.def"
#undef PLUMB_ROUND_ROW
  PLUMB_ROUND_COUNT
} plumb_round;
typedef enum plumb_space {
#define PLUMB_SPACE_ROW(name, text) PLUMB_SPACE_##name,
#include "ir/enums.def"
#undef PLUMB_SPACE_ROW
  PLUMB_SPACE_COUNT
} plumb_space;
typedef enum plumb_cmp {
#define PLUMB_CMP_ROW(name, text) PLUMB_CMP_##name,
#include "ir/enums.def"
#undef PLUMB_CMP_ROW
  PLUMB_CMP_COUNT
} plumb_cmp;
typedef enum plumb_nan_rule {
#define PLUMB_NAN_RULE_ROW(name, text) PLUMB_##name,
#include "ir/enums.def"
#undef PLUMB_NAN_RULE_ROW
  PLUMB_NAN_RULE_COUNT
} plumb_nan_rule;
typedef enum plumb_atomic {
#define PLUMB_ATOMIC_ROW(name, text) PLUMB_ATOMIC_##name,
#include "ir/enums.def"
#undef PLUMB_ATOMIC_ROW
  PLUMB_ATOMIC_COUNT
} plumb_atomic;
typedef enum plumb_barrier {
#define PLUMB_BARRIER_ROW(name, text) PLUMB_BARRIER_##name,
#include "ir/enums.def"
#undef PLUMB_BARRIER_ROW
  PLUMB_BARRIER_COUNT
} plumb_barrier;
typedef enum plumb_shfl {
#define PLUMB_SHFL_ROW(name, text) PLUMB_SHFL_##name,
#include "ir/enums.def"
#undef PLUMB_SHFL_ROW
  PLUMB_SHFL_COUNT
} plumb_shfl;
typedef enum plumb_vote {
#define PLUMB_VOTE_ROW(name, text) PLUMB_VOTE_##name,
#include "ir/enums.def"
#undef PLUMB_VOTE_ROW
  PLUMB_VOTE_COUNT
} plumb_vote;
typedef enum plumb_prmt {
#define PLUMB_PRMT_ROW(name, text) PLUMB_PRMT_##name,
#include "ir/enums.def"
#undef PLUMB_PRMT_ROW
  PLUMB_PRMT_COUNT
} plumb_prmt;
typedef enum plumb_proxy {
#define PLUMB_PROXY_ROW(name, text) PLUMB_PROXY_##name,
#include "ir/enums.def"
#undef PLUMB_PROXY_ROW
  PLUMB_PROXY_COUNT
} plumb_proxy;
typedef enum plumb_group {
#define PLUMB_GROUP_ROW(name, text) PLUMB_GROUP_##name,
#include "ir/enums.def"
#undef PLUMB_GROUP_ROW
  PLUMB_GROUP_COUNT
} plumb_group;
typedef enum plumb_mbarrier {
#define PLUMB_MBARRIER_ROW(name, text) PLUMB_MBARRIER_##name,
#include "ir/enums.def"
#undef PLUMB_MBARRIER_ROW
  PLUMB_MBARRIER_COUNT
} plumb_mbarrier;
typedef enum plumb_tensormap_field {
#define PLUMB_TENSORMAP_FIELD_ROW(name, text) PLUMB_TENSORMAP_FIELD_##name,
#include "ir/enums.def"
#undef PLUMB_TENSORMAP_FIELD_ROW
  PLUMB_TENSORMAP_FIELD_COUNT
} plumb_tensormap_field;
typedef enum plumb_matrix {
#define PLUMB_MATRIX_ROW(name, text) PLUMB_MATRIX_##name,
#include "ir/enums.def"
#undef PLUMB_MATRIX_ROW
  PLUMB_MATRIX_COUNT
} plumb_matrix;
typedef enum plumb_sreg {
#define PLUMB_SREG_ROW(name, text) PLUMB_SREG_##name,
#include "ir/enums.def"
#undef PLUMB_SREG_ROW
  PLUMB_SREG_COUNT
} plumb_sreg;
typedef enum plumb_flag {
#define PLUMB_FLAG_ROW(name, text, bit) PLUMB_FLAG_##name = (int)(1u << (bit)),
#include "ir/enums.def"
#undef PLUMB_FLAG_ROW
} plumb_flag;

extern const char *const plumb_round_texts[PLUMB_ROUND_COUNT];
extern const char *const plumb_space_texts[PLUMB_SPACE_COUNT];
extern const char *const plumb_cmp_texts[PLUMB_CMP_COUNT];
extern const char *const plumb_nan_rule_texts[PLUMB_NAN_RULE_COUNT];
extern const char *const plumb_atomic_texts[PLUMB_ATOMIC_COUNT];
extern const char *const plumb_barrier_texts[PLUMB_BARRIER_COUNT];
extern const char *const plumb_shfl_texts[PLUMB_SHFL_COUNT];
extern const char *const plumb_vote_texts[PLUMB_VOTE_COUNT];
extern const char *const plumb_prmt_texts[PLUMB_PRMT_COUNT];
extern const char *const plumb_matrix_texts[PLUMB_MATRIX_COUNT];
extern const char *const plumb_proxy_texts[PLUMB_PROXY_COUNT];
extern const char *const plumb_group_texts[PLUMB_GROUP_COUNT];
extern const char *const plumb_mbarrier_texts[PLUMB_MBARRIER_COUNT];
extern const char *const plumb_tensormap_field_texts[PLUMB_TENSORMAP_FIELD_COUNT];
extern const char *const plumb_sreg_texts[PLUMB_SREG_COUNT];

/* A register of one function, or a constant of the program (high bit set). */
typedef uint32_t plumb_reg;
#define PLUMB_NO_REG UINT32_MAX
#define PLUMB_CONST_BIT 0x80000000u
static inline bool plumb_reg_is_const(plumb_reg r) {
  return (r & PLUMB_CONST_BIT) != 0 && r != PLUMB_NO_REG;
}
static inline uint32_t plumb_reg_const_index(plumb_reg r) {
  return r & ~PLUMB_CONST_BIT;
}

/* A constant operand: a type and its bits (hi only for i128). */
typedef struct plumb_const {
  plumb_dtype type;
  uint64_t bits;
  uint64_t hi;
} plumb_const;

typedef struct plumb_inst {
  uint16_t op;        /* plumb_op */
  uint8_t type;       /* plumb_dtype */
  uint8_t type2;      /* plumb_dtype, source type of CVT, CMP and CLASSIFY */
  uint8_t round;      /* plumb_round */
  uint8_t space;      /* plumb_space */
  uint8_t sub;        /* op's own enumeration */
  uint8_t align_log2; /* LOAD, STORE, ATOMIC, MEMCPY's destination: what the source promises of
                         the address (0: nothing); a broken promise is `misaligned`.
                         The natural alignment of a whole access is checked anyway */
  uint32_t flags;     /* plumb_flag */
  plumb_reg guard;    /* i1 register or PLUMB_NO_REG */
  uint32_t first;     /* fn->regs_used[first ...]: results, then operands */
  uint16_t results;
  uint16_t operands;
  uint32_t target; /* block index; for LAUNCH/CALL after linking: function index */
  uint32_t target2;
  uint32_t loc; /* program->locs index; 0 is unknown */
  int64_t imm;
} plumb_inst;

/* Where an instruction comes from. stage_line: in the stage's own text (1-based,
 * 0 unknown); file/line/column: the source or the stage-0 operation. */
typedef struct plumb_loc {
  const char *file; /* NULL: unknown */
  int line;
  int column;
  int stage_line;
} plumb_loc;

typedef struct plumb_block {
  uint32_t first; /* instruction index, set by plumb_program_finish */
  uint32_t count;
  uint32_t order;      /* scheduling order: the strand with the lowest runs first.
                          Bourdoncle's weak topological order, so that loops are
                          contiguous and lanes reconverge at post-dominators */
  uint32_t reconverge; /* block index of the immediate post-dominator, or UINT32_MAX */
  /* while building */
  plumb_inst *insts;
  size_t inst_count, inst_capacity;
} plumb_block;

typedef enum plumb_function_kind { PLUMB_HOST, PLUMB_KERNEL, PLUMB_DEVICE } plumb_function_kind;

typedef struct plumb_param {
  const char *name; /* may be NULL */
  plumb_dtype type; /* scalar type; aggregates: I8 with size_bytes > 1 */
  plumb_reg reg;    /* host and device functions */
  uint32_t offset;  /* kernels: byte offset in the param space */
  uint32_t size_bytes;
  uint32_t align;
} plumb_param;

typedef struct plumb_program plumb_program;

typedef struct plumb_function {
  plumb_program *program;
  const char *name;
  plumb_function_kind kind;
  bool external; /* declared, no body: calling it is a link error or a known function */
  bool weak;     /* another body of the name takes its place */
  uint32_t index;
  plumb_param *params;
  size_t param_count, param_capacity;
  uint32_t param_bytes; /* kernels: size of the param space */
  plumb_dtype *result_types;
  size_t result_count;
  plumb_dtype *reg_types; /* one a virtual register */
  size_t reg_count, reg_capacity;
  plumb_reg *regs_used; /* operand lists of all instructions */
  size_t used_count, used_capacity;
  plumb_block *blocks; /* block 0 is the entry */
  size_t block_count, block_capacity;
  uint32_t **tables; /* jump tables of SWITCH: [0] is the length, then block indexes */
  size_t table_count, table_capacity;
  uint32_t frame_bytes;         /* static local memory a lane */
  uint32_t max_threads;         /* .maxntid product or 0 */
  uint32_t required_threads[3]; /* .reqntid or 0 */
  uint32_t required_cluster[3]; /* .reqnctapercluster or 0: blocks of a cluster */
  uint32_t other_readings;      /* 1 << plumb_freedom: plumb_program_read_otherwise found places */
  /* set by plumb_program_finish */
  plumb_inst *insts;
  size_t inst_count;
  uint32_t *reg_slots;    /* byte offset of each register in a lane-scaled register file:
                             its lanes start at reg_slots[r] * lanes; shared by liveness */
  uint32_t slot_bytes;    /* register file bytes a lane */
  bool reads_unwritten;   /* some path reads a register that nothing has written on it */
  bool uses_global_order; /* atomics with results, volatile, fences or acquire/release on
                             global memory: blocks must not run in parallel */
} plumb_function;

typedef struct plumb_global {
  const char *name;
  plumb_space space;   /* GLOBAL, CONST, SHARED */
  uint64_t size_bytes; /* 0 with `dynamic`: the launch's dynamic shared memory */
  uint32_t align;
  const uint8_t *init; /* NULL: uninitialised (shared) or zero (global, const) when zeroed */
  bool zeroed;
  bool dynamic;  /* extern shared array */
  bool external; /* declared in another module */
  bool weak;     /* another definition of the name takes its place */
  struct plumb_reloc *relocs;
  size_t reloc_count;
} plumb_global;

/* A word of a global's initialiser that holds the generic address of a symbol. */
typedef struct plumb_reloc {
  uint64_t offset;
  const char *symbol; /* global or function */
  int64_t addend;
  bool generic; /* else the address in the symbol's own space */
} plumb_reloc;

struct plumb_program {
  plumb_arena *arena;
  const char *name;
  const char *note; /* what a reader should know of the source that it was decoded from, or NULL */
  plumb_function **functions;
  size_t function_count, function_capacity;
  plumb_global *globals;
  size_t global_count, global_capacity;
  plumb_const *consts;
  size_t const_count, const_capacity;
  const char **strings;
  size_t string_count, string_capacity;
  plumb_loc *locs; /* [0] is unknown */
  size_t loc_count, loc_capacity;
  void *const_index; /* hash indexes, private to program.c */
  void *loc_index;
};

/* --- building --- */

plumb_program *plumb_program_create(plumb_arena *arena, const char *name);

/* `name` is copied. Two functions of one name: the one with a body wins at linking;
 * two bodies are an error of plumb_program_finish. */
plumb_function *plumb_function_create(plumb_program *program, const char *name,
                                      plumb_function_kind kind);
/* The function with this name, preferring one with a body; NULL if there is none. */
plumb_function *plumb_program_find(const plumb_program *program, const char *name);

/* Host or device parameter: appends it and returns its register. */
plumb_reg plumb_function_add_param(plumb_function *f, const char *name, plumb_dtype type);
/* Kernel parameter: naturally laid out after the previous one; returns its offset. */
uint32_t plumb_function_add_kernel_param(plumb_function *f, const char *name, plumb_dtype type,
                                         uint32_t size_bytes, uint32_t align);
plumb_reg plumb_reg_create(plumb_function *f, plumb_dtype type);
/* `count` registers with consecutive numbers; returns the first. */
plumb_reg plumb_reg_create_run(plumb_function *f, plumb_dtype type, size_t count);
plumb_dtype plumb_reg_type(const plumb_function *f, plumb_reg r);

/* An operand that is a constant (shared by equal type and bits). */
plumb_reg plumb_constant(plumb_program *p, plumb_dtype type, uint64_t bits);
plumb_reg plumb_constant128(plumb_program *p, uint64_t lo, uint64_t hi);
static inline plumb_reg plumb_constant_i64(plumb_program *p, int64_t value) {
  return plumb_constant(p, PLUMB_I64, (uint64_t)value);
}

uint32_t plumb_block_create(plumb_function *f);
size_t plumb_global_create(plumb_program *p, const char *name, plumb_space space,
                           uint64_t size_bytes, uint32_t align);
/* Index of the global with this name, or SIZE_MAX. */
size_t plumb_program_find_global(const plumb_program *p, const char *name);
int64_t plumb_string_add(plumb_program *p, const char *text);
/* `file` is copied (shared by equal text); returns a loc index. */
uint32_t plumb_loc_add(plumb_program *p, const char *file, int line, int column, int stage_line);
/* Reserves local bytes in the function's frame; returns the byte offset for FRAME. */
uint32_t plumb_frame_reserve(plumb_function *f, uint64_t size_bytes, uint32_t align);

/* The insertion point: the end of a block, and the location of what is built. */
typedef struct plumb_builder {
  plumb_function *function;
  uint32_t block;
  uint32_t loc;
  plumb_reg guard; /* put on everything that is built; PLUMB_NO_REG for none */
  bool guard_not;
} plumb_builder;

plumb_builder plumb_builder_at(plumb_function *f, uint32_t block);
/* True when the block already ends in an unguarded control instruction. */
bool plumb_builder_terminated(const plumb_builder *b);

/* Appends an instruction; results and operands are copied. The returned pointer is
 * good until the next append to the same block: set sub, flags, imm and so on now. */
plumb_inst *plumb_build(plumb_builder *b, plumb_op op, plumb_dtype type, const plumb_reg *results,
                        size_t result_count, const plumb_reg *operands, size_t operand_count);

/* One fresh result of `type`. */
plumb_reg plumb_build1(plumb_builder *b, plumb_op op, plumb_dtype type, plumb_reg a);
plumb_reg plumb_build2(plumb_builder *b, plumb_op op, plumb_dtype type, plumb_reg a, plumb_reg c);
plumb_reg plumb_build3(plumb_builder *b, plumb_op op, plumb_dtype type, plumb_reg a, plumb_reg c,
                       plumb_reg d);
void plumb_build_mov(plumb_builder *b, plumb_reg result, plumb_reg value);
plumb_reg plumb_build_sreg(plumb_builder *b, plumb_sreg which); /* i32 (i64 for 64-bit ones) */
plumb_reg plumb_build_cmp(plumb_builder *b, plumb_cmp predicate, plumb_dtype operand_type,
                          plumb_reg a, plumb_reg c);
/* flags: PLUMB_FLAG_*; round is used for float results and float to int. */
plumb_reg plumb_build_cvt(plumb_builder *b, plumb_dtype to, plumb_dtype from, plumb_reg value,
                          uint32_t flags, plumb_round round);
plumb_reg plumb_build_load(plumb_builder *b, plumb_dtype type, plumb_space space, plumb_reg address,
                           int64_t offset);
void plumb_build_store(plumb_builder *b, plumb_dtype type, plumb_space space, plumb_reg address,
                       int64_t offset, plumb_reg value);
void plumb_build_bra(plumb_builder *b, uint32_t target);
void plumb_build_condbr(plumb_builder *b, plumb_reg condition, uint32_t target, uint32_t target2);
void plumb_build_ret(plumb_builder *b, const plumb_reg *values, size_t count);
/* Moves values[i] to results[i] as if all at once (block arguments, phis). */
void plumb_build_parallel_moves(plumb_builder *b, const plumb_reg *results, const plumb_reg *values,
                                size_t count);
/* Call by name; the link step finds the function. */
plumb_inst *plumb_build_call(plumb_builder *b, const char *callee, const plumb_reg *results,
                             size_t result_count, const plumb_reg *args, size_t arg_count);
/* Launch by name: grid[3], block[3], dynamic shared bytes as i64 registers. */
plumb_inst *plumb_build_launch(plumb_builder *b, const char *kernel, const plumb_reg grid[3],
                               const plumb_reg block[3], plumb_reg shared_bytes,
                               const plumb_reg *args, size_t arg_count);
/* A computation the decoder does not understand; `what` names it for the report. */
void plumb_build_unsupported(plumb_builder *b, const char *what, const plumb_reg *results,
                             size_t result_count);

/* --- finishing (ir/link.c, ir/verify.c, ir/flow.c) --- */

/* Links names, verifies, and computes order, reconvergence and register slots. After
 * it the program is read-only and may be executed.
 * PLUMB_BAD_INPUT   unresolved or doubly defined symbol, or what the verifier rejects */
plumb_status plumb_program_finish(plumb_program *p, plumb_diag *diag);

/* The parts of it, in this order; each may be called alone by a test. */
plumb_status plumb_program_link(plumb_program *p, plumb_diag *diag);
plumb_status plumb_program_verify(const plumb_program *p, plumb_diag *diag);
void plumb_program_analyse(plumb_program *p);

/* A 128-bit digest of what is executed (locations left out): two programs with one
 * digest run the same. */
typedef struct plumb_digest {
  uint64_t lo, hi;
} plumb_digest;
plumb_digest plumb_program_digest(const plumb_program *p);

/* The same of a launch: of `kernel` and all that it calls. Launches with one digest, the
 * same sizes, arguments and memory do the same, whatever else their programs hold.
 * `addresses`: where each global lies. False if the kernel calls through a pointer: then
 * nothing can be said. */
bool plumb_kernel_digest(const plumb_program *p, const plumb_function *kernel,
                         const uint64_t *addresses, plumb_digest *out_digest);

/* --- printed form (ir/print.c, ir/read.c) --- */

/* Stable text that plumb_program_read reads back to the same digest. */
void plumb_program_print(const plumb_program *p, plumb_text *out);
plumb_status plumb_program_read(plumb_arena *arena, const char *path, const char *text,
                                size_t length, plumb_program **out_program, plumb_diag *diag);

/* Operands and results of an instruction. */
static inline const plumb_reg *plumb_inst_results(const plumb_function *f, const plumb_inst *i) {
  return f->regs_used + i->first;
}
static inline const plumb_reg *plumb_inst_operands(const plumb_function *f, const plumb_inst *i) {
  return f->regs_used + i->first + i->results;
}

#endif

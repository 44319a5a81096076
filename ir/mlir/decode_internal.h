/* What the dialect files of ir/mlir share; private to this folder.
 *
 * Each dialect file exports one table, ended by an empty row:
 *
 *     static bool decode_addi(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
 *       plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1);
 *       plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
 *       for (size_t i = 0; i < r.count; i++) ... plumb_build(&d->b, ...);
 *       return true;
 *     }
 *     const plumb_mlir_op plumb_mlir_ops_arith[] = {{"arith.addi", decode_addi, 0}, {0}};
 *
 * A handler returns true when it understood the operation and defined its results.
 * Else it returns plumb_mlir_reject(d, "why"): the caller then emits an `unsupported`
 * instruction with the operation's name and location, and defines the results.
 */
#ifndef PLUMB_IR_MLIR_DECODE_INTERNAL_H
#define PLUMB_IR_MLIR_DECODE_INTERNAL_H

#include "ir/mlir/mlir.h"
#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/IntegerSet.h"

typedef struct plumb_mlir_decoder plumb_mlir_decoder;
typedef struct plumb_mlir_op plumb_mlir_op;
typedef bool plumb_mlir_handler(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row);

struct plumb_mlir_op {
  const char *name; /* "arith.addf" */
  plumb_mlir_handler *decode;
  int code; /* free for the handler: a plumb_op, a plumb_math, ... */
};

/* A value: one register an element (program.h). The array lives in the arena and is
 * never written after it was bound. Its registers need not be consecutive; they may be
 * constants. */
typedef struct plumb_mlir_run {
  const plumb_reg *regs;
  size_t count;
} plumb_mlir_run;

/* The flat element types of an MLIR type. `bits` is the width of the MLIR element where
 * it is the same for all (an i5 has container I8 and bits 5), else 0. */
typedef struct plumb_mlir_flat {
  const plumb_dtype *types;
  size_t count;
  int bits;
} plumb_mlir_flat;

/* Where the terminator of a region with blocks goes. */
typedef struct plumb_mlir_exit {
  bool is_return; /* RET with the operands; else: moves to `results`, then bra `block` */
  uint32_t block;
  plumb_mlir_run results;
  struct plumb_mlir_exit *outer;
} plumb_mlir_exit;

/* One function under construction. An inner scope (a kernel cut out of a host function)
 * reads outer values through its parameters. */
typedef struct plumb_mlir_scope {
  struct plumb_mlir_scope *outer; /* NULL for a function of its own */
  plumb_function *function;
  uint32_t entry;   /* block of the parameter loads */
  plumb_reg *inner; /* by register of the outer function: 1 + its register here, or 0 */
  size_t inner_capacity;
  plumb_reg *arguments; /* outer registers, one a kernel parameter */
  size_t argument_count, argument_capacity;
} plumb_mlir_scope;

struct plumb_mlir_decoder {
  plumb_program *program;
  plumb_arena *arena;
  plumb_builder b; /* where instructions go; b.loc is that of the current operation */
  plumb_mlir_scope *scope;
  plumb_mlir_exit *exit;
  bool device;             /* inside a kernel or device function */
  bool capturing;          /* raw registers are of the enclosing function: plumb_mlir_capture */
  uint32_t denormal_flags; /* of the llvm.func around: put on its f32 operations */
  MlirContext context;
  MlirOperation symbol_scope; /* innermost builtin.module or gpu.module */
  plumb_mlir_options options;
  const char *why; /* set by plumb_mlir_reject */
  plumb_diag *diag;
  plumb_status status;              /* first failure that is not `unsupported` */
  struct plumb_mlir_tables *tables; /* private to decode.c */
};

/* --- types (types.c) --- */

/* False: the type has no registers (d->why says so). Also for LLVM dialect types. */
bool plumb_mlir_flatten(plumb_mlir_decoder *d, MlirType type, plumb_mlir_flat *out_flat);
/* The container of a scalar type (integer, index, float, pointer); false for all others. */
bool plumb_mlir_scalar_type(MlirType type, plumb_dtype *out_dtype, int *out_bits);
/* Element type of a vector, tensor or memref; any other type itself. */
MlirType plumb_mlir_element_type(MlirType type);
/* Registers of a lane's part of "!gpu.mma_matrix<...>"; false for any other text
 * (gpu_matrix.c). */
bool plumb_mlir_mma_matrix(const char *text, plumb_dtype *out_type, size_t *out_count);
/* How a memref's (or tensor's) element lies in memory: `count` elements of `dtype` in rows of
 * `row`, the innermost dimension of a vector, whose size is rounded up to a power of two, as
 * LLVM lays it out; `bytes` from one to the next. */
typedef struct plumb_mlir_element {
  plumb_dtype dtype;
  int bits;
  size_t count, row;
  int64_t row_bytes, bytes;
} plumb_mlir_element;
/* Where its flat element `i` lies in it, in bytes. */
static inline int64_t plumb_mlir_element_offset(const plumb_mlir_element *e, size_t i) {
  return (int64_t)(i / e->row) * e->row_bytes +
         (int64_t)(i % e->row) * (int64_t)plumb_dtype_bytes(e->dtype);
}
bool plumb_mlir_element_layout(plumb_mlir_decoder *d, MlirType shaped,
                               plumb_mlir_element *out_element);
/* Window of a memref's memory space: none GENERIC, 1 or global GLOBAL, 3 or workgroup
 * SHARED, 5 or private LOCAL, 4 or constant CONST. Addresses in the run are of this window. */
plumb_space plumb_mlir_memory_space(MlirType memref);
plumb_space plumb_mlir_space_of_number(int64_t address_space); /* NVPTX numbering */
/* Memref strides and offset where they are static; dynamic ones are INT64_MIN. */
bool plumb_mlir_static_layout(MlirType memref, int64_t *out_strides, int64_t *out_offset);
static inline bool plumb_mlir_is_float(MlirType scalar) {
  return mlirTypeIsAFloat(scalar);
}

/* --- values (decode.c) --- */

plumb_mlir_run plumb_mlir_get(plumb_mlir_decoder *d, MlirValue value);
plumb_mlir_run plumb_mlir_operand(plumb_mlir_decoder *d, MlirOperation op, intptr_t index);
/* Operand that is one register. */
plumb_reg plumb_mlir_operand1(plumb_mlir_decoder *d, MlirOperation op, intptr_t index);
/* Binds a value to registers; `regs` is copied. */
void plumb_mlir_define(plumb_mlir_decoder *d, MlirValue value, const plumb_reg *regs, size_t count);
void plumb_mlir_define_result(plumb_mlir_decoder *d, MlirOperation op, intptr_t index,
                              const plumb_reg *regs, size_t count);
void plumb_mlir_define_result1(plumb_mlir_decoder *d, MlirOperation op, intptr_t index,
                               plumb_reg reg);
/* Binds the result to fresh registers of its flattened type, and returns them (count 0
 * when the type has no registers: test it). */
plumb_mlir_run plumb_mlir_fresh_result(plumb_mlir_decoder *d, MlirOperation op, intptr_t index);
/* Fresh registers of a flattened type, bound to nothing. */
plumb_mlir_run plumb_mlir_fresh(plumb_mlir_decoder *d, MlirType type);
bool plumb_mlir_reject(plumb_mlir_decoder *d, const char *format, ...) PLUMB_PRINTF(2, 3);

/* --- attributes (attributes.c): inherent (properties) or discardable --- */

bool plumb_mlir_attribute(MlirOperation op, const char *name, MlirAttribute *out);
bool plumb_mlir_attribute_int(MlirOperation op, const char *name, int64_t *out_value);
bool plumb_mlir_attribute_flag(MlirOperation op, const char *name); /* unit or true */
/* Dense array of i64 / i32 / i1, array attribute of integers, or dense elements of
 * integers; *out_values lives in the arena. */
bool plumb_mlir_attribute_ints(plumb_mlir_decoder *d, MlirOperation op, const char *name,
                               const int64_t **out_values, size_t *out_count);
/* The attribute as MLIR prints it, in the arena ("" when absent): for enum attributes of
 * dialects, which the C API cannot read. */
const char *plumb_mlir_attribute_text(plumb_mlir_decoder *d, MlirOperation op, const char *name);
/* The last word in angle brackets of it: "row" of #nvvm.mma_layout<row>; "" when absent. */
const char *plumb_mlir_attribute_word(plumb_mlir_decoder *d, MlirOperation op, const char *name);
const char *plumb_mlir_print_attribute(plumb_mlir_decoder *d, MlirAttribute attribute);
const char *plumb_mlir_print_type(plumb_mlir_decoder *d, MlirType type);
/* Word is in the text as a whole word ("contract" in "#arith.fastmath<nnan,contract>"). */
bool plumb_mlir_text_has(const char *text, const char *word);
/* `fastmath` or `fastmathFlags` as PLUMB_FLAG_*; fast is all of them. */
uint32_t plumb_mlir_fastmath(plumb_mlir_decoder *d, MlirOperation op);
/* `overflowFlags`: NSW, NUW; `isExact`, `nonNeg`... are the handler's own. */
uint32_t plumb_mlir_overflow(plumb_mlir_decoder *d, MlirOperation op);
/* Operand groups of an operation with several variadic groups (operandSegmentSizes). */
bool plumb_mlir_segments(plumb_mlir_decoder *d, MlirOperation op, const int64_t **out_sizes,
                         size_t *out_count);
/* Offsets, sizes or strides of a mixed list: the static array attribute `static_name`
 * with INT64_MIN for each element that comes from the next operand, from `*next_operand` on. */
bool plumb_mlir_mixed(plumb_mlir_decoder *d, MlirOperation op, const char *static_name,
                      intptr_t *next_operand, const plumb_reg **out_regs, size_t *out_count);
bool plumb_mlir_name_is(MlirOperation op, const char *name);
const char *plumb_mlir_name(plumb_mlir_decoder *d, MlirOperation op);
MlirType plumb_mlir_operand_type(MlirOperation op, intptr_t index);
MlirType plumb_mlir_result_type(MlirOperation op, intptr_t index);

/* --- constants (constant.c) --- */

plumb_reg plumb_mlir_i64(plumb_mlir_decoder *d, int64_t value);
/* Elements of an integer, float, dense or index attribute as constant registers: as many
 * as the flattened `type`. */
bool plumb_mlir_constant_run(plumb_mlir_decoder *d, MlirAttribute value, MlirType type,
                             plumb_mlir_run *out_run);
/* The same as the bytes of a global with this element layout; *out_bytes in the arena. */
bool plumb_mlir_constant_bytes(plumb_mlir_decoder *d, MlirAttribute value, MlirType shaped,
                               const uint8_t **out_bytes, uint64_t *out_size_bytes);
/* A number of dtype's value (1.0, 0, -inf ...), rounded to it. */
plumb_reg plumb_mlir_constant_double(plumb_mlir_decoder *d, plumb_dtype dtype, double value);
/* A poison value: it may be moved and computed with; to decide by it is a trap. */
plumb_reg plumb_mlir_poison(plumb_mlir_decoder *d, plumb_dtype type);
/* A fresh program-wide name: "stem.N". */
const char *plumb_mlir_unique_name(plumb_mlir_decoder *d, const char *stem);

/* --- integer arithmetic on i64 registers, folded where all are constants (constant.c) --- */

plumb_reg plumb_mlir_add(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b);
plumb_reg plumb_mlir_sub(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b);
plumb_reg plumb_mlir_mul(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b);
plumb_reg plumb_mlir_floordiv(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b);
plumb_reg plumb_mlir_ceildiv(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b);
plumb_reg plumb_mlir_mod(plumb_mlir_decoder *d, plumb_reg a, plumb_reg b); /* floor mod */
bool plumb_mlir_reg_value(plumb_mlir_decoder *d, plumb_reg r, int64_t *out_value);
/* Odd widths: value in its container sign-extended, or with the high bits cleared.
 * Runs keep the high bits clear; a handler that reads as signed extends first. */
plumb_reg plumb_mlir_extend(plumb_mlir_decoder *d, plumb_dtype dtype, int bits, plumb_reg r);
plumb_reg plumb_mlir_mask(plumb_mlir_decoder *d, plumb_dtype dtype, int bits, plumb_reg r);

/* --- memory (memory.c) --- */

/* A memref or tensor run taken apart; sizes and strides point into the run. */
typedef struct plumb_mlir_buffer {
  plumb_reg base, aligned, offset;
  const plumb_reg *sizes, *strides;
  size_t rank;
  plumb_mlir_element element;
  plumb_space space;
  bool contiguous; /* known from the type: a tensor, or a memref without a layout */
} plumb_mlir_buffer;
/* `type` is the run's memref or tensor type. */
bool plumb_mlir_buffer_open(plumb_mlir_decoder *d, plumb_mlir_run run, MlirType type,
                            plumb_mlir_buffer *out_buffer);
/* aligned + (offset + sum of indices[i] * strides[i]) * bytes, in the buffer's window. */
plumb_reg plumb_mlir_address(plumb_mlir_decoder *d, const plumb_mlir_buffer *buffer,
                             const plumb_reg *indices);
/* One element (element.count registers). */
void plumb_mlir_load(plumb_mlir_decoder *d, const plumb_mlir_buffer *buffer,
                     const plumb_reg *indices, plumb_reg *out_regs);
void plumb_mlir_store(plumb_mlir_decoder *d, const plumb_mlir_buffer *buffer,
                      const plumb_reg *indices, const plumb_reg *regs);
/* A fresh contiguous buffer with these sizes (static ones of `type` where sizes[i] is
 * PLUMB_NO_REG): global memory, its content uninitialised. */
bool plumb_mlir_allocate(plumb_mlir_decoder *d, MlirType type, const plumb_reg *sizes,
                         plumb_mlir_run *out_run);
/* A buffer of static shape that lives as long as its function or block: SHARED a global of
 * the program, else the function's frame (address in the window of the memref type). */
bool plumb_mlir_static_buffer(plumb_mlir_decoder *d, MlirType type, const char *stem,
                              plumb_mlir_run *out_run);
/* Run of a contiguous row-major buffer at `address`. */
plumb_mlir_run plumb_mlir_contiguous(plumb_mlir_decoder *d, plumb_reg address,
                                     const plumb_reg *sizes, size_t rank);
/* Number of elements: product of the sizes. */
plumb_reg plumb_mlir_count(plumb_mlir_decoder *d, const plumb_mlir_buffer *buffer);
/* A fresh copy of a tensor (contiguous): what an operation that changes it writes to. */
bool plumb_mlir_tensor_copy(plumb_mlir_decoder *d, plumb_mlir_run tensor, MlirType type,
                            plumb_mlir_run *out_copy);
/* values[index]; an index out of range gives some value (its use is undefined). */
plumb_reg plumb_mlir_pick(plumb_mlir_decoder *d, const plumb_reg *values, size_t count,
                          plumb_reg index);
/* A generic address of one in `space`. */
plumb_reg plumb_mlir_generic(plumb_mlir_decoder *d, plumb_space space, plumb_reg address);
/* Copies all elements of `from` to `to` (same sizes, any strides); host: on lanes. */
void plumb_mlir_buffer_copy(plumb_mlir_decoder *d, const plumb_mlir_buffer *from,
                            const plumb_mlir_buffer *to);

/* --- control (control.c) --- */

/* for (iv = lower; iv < upper; iv += step): the body is what is built in between. Values
 * carried around are registers of the caller's, updated by plumb_build_mov in the body. */
typedef struct plumb_mlir_loop {
  plumb_reg iv, step;
  plumb_dtype type;
  uint32_t head, exit;
} plumb_mlir_loop;
plumb_reg plumb_mlir_loop_begin(plumb_mlir_decoder *d, plumb_mlir_loop *loop, plumb_reg lower,
                                plumb_reg upper, plumb_reg step); /* i64, signed */
plumb_reg plumb_mlir_loop_begin_typed(plumb_mlir_decoder *d, plumb_mlir_loop *loop,
                                      plumb_dtype type, bool is_unsigned, plumb_reg lower,
                                      plumb_reg upper, plumb_reg step);
void plumb_mlir_loop_end(plumb_mlir_decoder *d, plumb_mlir_loop *loop);

/* if (condition) { ... } [else { ... }]. */
typedef struct plumb_mlir_if {
  uint32_t otherwise, exit;
  bool has_else;
} plumb_mlir_if;
void plumb_mlir_if_begin(plumb_mlir_decoder *d, plumb_mlir_if *branch, plumb_reg condition);
void plumb_mlir_if_else(plumb_mlir_decoder *d, plumb_mlir_if *branch);
void plumb_mlir_if_end(plumb_mlir_decoder *d, plumb_mlir_if *branch);

/* Mutable copies of the values, e.g. of iter_args: fresh registers that start as `values`. */
plumb_mlir_run plumb_mlir_variables(plumb_mlir_decoder *d, plumb_mlir_run values);
void plumb_mlir_assign(plumb_mlir_decoder *d, plumb_mlir_run variables, plumb_mlir_run values);

/* --- regions (control.c) --- */

void plumb_mlir_bind_argument(plumb_mlir_decoder *d, MlirBlock block, intptr_t index,
                              const plumb_reg *regs, size_t count);
/* Decodes all operations of a block but its terminator, in place. */
void plumb_mlir_inline_block(plumb_mlir_decoder *d, MlirBlock block);
/* The block's terminator (linalg.yield, scf.yield, ...), whose operands are then read. */
MlirOperation plumb_mlir_terminator(MlirBlock block);
/* The single block of region `index`; null block when it is empty. */
MlirBlock plumb_mlir_body(MlirOperation op, intptr_t index);
/* Concatenation of the runs of operands [first, first + count). */
plumb_mlir_run plumb_mlir_operands(plumb_mlir_decoder *d, MlirOperation op, intptr_t first,
                                   intptr_t count);
/* Binds consecutive values (results, block arguments) to parts of one long run, by the
 * flattened size of each. */
void plumb_mlir_split_results(plumb_mlir_decoder *d, MlirOperation op, plumb_mlir_run run);
/* A region with blocks and branches; the entry block's arguments are bound already. After
 * it, the insertion point is exit->block (unless exit->is_return). */
void plumb_mlir_decode_region(plumb_mlir_decoder *d, MlirRegion region, plumb_mlir_exit *exit);
/* Instructions from here on come from this operation (its location, when it has one). */
void plumb_mlir_set_location(plumb_mlir_decoder *d, MlirOperation op);
/* One operation through the tables. */
void plumb_mlir_decode_operation(plumb_mlir_decoder *d, MlirOperation op);
/* A branch to a successor with its arguments (cf.br, llvm.br: the operands' run). */
uint32_t plumb_mlir_block_of(plumb_mlir_decoder *d, MlirBlock block);
void plumb_mlir_branch(plumb_mlir_decoder *d, MlirBlock successor, plumb_mlir_run arguments);
/* A fresh block that does this, for one side of a conditional branch. */
uint32_t plumb_mlir_edge(plumb_mlir_decoder *d, MlirBlock successor, plumb_mlir_run arguments);
/* What the enclosing region's exit says: return, or hand over and leave. */
void plumb_mlir_leave(plumb_mlir_decoder *d, plumb_mlir_run values);

/* --- lanes (lane.c) --- */

/* A parallel iteration space. On the host: becomes a kernel over blocks of 256 lanes,
 * lane id < N guarded; what the body reads from outside arrives as kernel parameters:
 * values through plumb_mlir_get by themselves, raw registers through
 * plumb_mlir_capture (or plumb_mlir_capture_buffer). In device code: nested sequential
 * loops, captures are the identity. Nothing that the body defines may be used after it.
 *     plumb_mlir_lanes lanes;
 *     plumb_reg ids[2];
 *     plumb_mlir_lanes_begin(d, &lanes, "generic", 2, counts, ids);   ids in [0, counts[i])
 *     ... body, reading ids ...
 *     plumb_mlir_lanes_end(d, &lanes);  */
enum { PLUMB_MLIR_LANE_DIMS = 32 };
typedef struct plumb_mlir_outline plumb_mlir_outline;
typedef struct plumb_mlir_lanes {
  size_t rank;
  bool launched;
  plumb_mlir_loop loops[PLUMB_MLIR_LANE_DIMS];
  plumb_mlir_if guard, launch;
  bool capturing;  /* of the decoder before */
  plumb_reg total; /* outer register */
  plumb_mlir_outline *outline;
} plumb_mlir_lanes;
void plumb_mlir_lanes_begin(plumb_mlir_decoder *d, plumb_mlir_lanes *lanes, const char *stem,
                            size_t rank, const plumb_reg *counts, plumb_reg *out_ids);
void plumb_mlir_lanes_end(plumb_mlir_decoder *d, plumb_mlir_lanes *lanes);
/* A register of the function that encloses the lanes, inside them. */
plumb_reg plumb_mlir_capture(plumb_mlir_decoder *d, plumb_reg outer);
plumb_mlir_run plumb_mlir_capture_run(plumb_mlir_decoder *d, plumb_mlir_run outer);
plumb_mlir_buffer plumb_mlir_capture_buffer(plumb_mlir_decoder *d, const plumb_mlir_buffer *outer);

/* A kernel cut out of the host function that is being built (gpu.launch, lanes): what is
 * built in between goes into it, outer registers become its parameters. */
plumb_mlir_outline *plumb_mlir_outline_begin(plumb_mlir_decoder *d, const char *stem);
/* Closes it and builds the launch. grid, block: outer i64 registers. */
void plumb_mlir_outline_end(plumb_mlir_decoder *d, plumb_mlir_outline *outline,
                            const plumb_reg grid[3], const plumb_reg block[3],
                            plumb_reg shared_bytes);

/* --- affine (affine.c) --- */

plumb_reg plumb_mlir_affine_expr(plumb_mlir_decoder *d, MlirAffineExpr expr, const plumb_reg *dims,
                                 const plumb_reg *symbols);
/* All results of the map into out_results. */
void plumb_mlir_affine_map(plumb_mlir_decoder *d, MlirAffineMap map, const plumb_reg *dims,
                           const plumb_reg *symbols, plumb_reg *out_results);

/* --- functions and symbols (symbol.c) --- */

/* The program's name for a symbol as seen from the current symbol scope: kernels and
 * device functions go by their plain name. */
const char *plumb_mlir_symbol(plumb_mlir_decoder *d, const char *symbol);
/* Symbol text of a flat or nested symbol reference attribute (the leaf). */
const char *plumb_mlir_symbol_text(plumb_mlir_decoder *d, MlirAttribute reference);
/* The program's name of what a flat or nested reference (@m::@k) names. */
const char *plumb_mlir_symbol_name(plumb_mlir_decoder *d, MlirAttribute reference);
/* The operation in the current symbol scope, or one around it, that defines `symbol`; null
 * when there is none. */
MlirOperation plumb_mlir_find_symbol(plumb_mlir_decoder *d, const char *symbol);
bool plumb_mlir_has_body(MlirOperation function);
/* A call of `symbol`, which has no body here but is known by name: a function of C, of
 * libdevice, or of MLIR's runtime (llvm_library.c). False after plumb_mlir_reject. */
bool plumb_mlir_decode_known_call(plumb_mlir_decoder *d, MlirOperation op, const char *symbol,
                                  size_t arg_count);
/* The program's name of an operation that defines a symbol; "" when it has none. */
const char *plumb_mlir_defined_name(plumb_mlir_decoder *d, MlirOperation op);
/* A kernel's parameter `i` that is passed by its bytes (llvm.byval): adds it to the param
 * space and gives its generic address. False: it is none (ir/mlir/llvm_control.c). */
bool plumb_mlir_llvm_byval_param(plumb_mlir_decoder *d, MlirOperation op, intptr_t i,
                                 plumb_reg *out_address);
/* Puts d->denormal_flags on what `op` built since block `block` had `count` instructions and
 * the function `blocks` blocks. NVVM's operations say .ftz themselves. */
void plumb_mlir_llvm_follow_denormal_mode(plumb_mlir_decoder *d, MlirOperation op, uint32_t block,
                                          size_t count, size_t blocks);
/* Opens a function: parameters from `inputs` bound to the entry block of `body` (a null
 * or empty region: external). Decodes the body; RET at its exits. Used for func.func,
 * gpu.func and llvm.func. `attributions`: workgroup and private ones that follow the inputs. */
void plumb_mlir_function(plumb_mlir_decoder *d, MlirOperation op, const char *name,
                         plumb_function_kind kind, const MlirType *inputs, size_t input_count,
                         const MlirType *results, size_t result_count, MlirRegion body);

/* The same from the operation's `function_type` attribute (func.func, gpu.func). */
bool plumb_mlir_builtin_function(plumb_mlir_decoder *d, MlirOperation op, plumb_function_kind kind);

/* --- operations by element (elementwise.c) --- */

/* One element of an elementwise operation on scalars, vectors or tensors. */
typedef struct plumb_mlir_scalars {
  MlirOperation op;
  const plumb_mlir_op *row;
  plumb_dtype in, out; /* element types of operand 0 and result 0 */
  int in_bits, out_bits;
  uint32_t flags; /* fast-math flags */
  size_t operands, results;
  const plumb_dtype *operand_types;
} plumb_mlir_scalars;
/* operands: one register an operand; out_regs: one a result. */
typedef bool plumb_mlir_scalar_handler(plumb_mlir_decoder *d, const plumb_mlir_scalars *s,
                                       const plumb_reg *operands, plumb_reg *out_regs);
/* Applies it to all elements. A scalar operand beside vectors or tensors is the same for
 * each of them. Tensors: a fresh result, on lanes when on the host. */
bool plumb_mlir_elementwise(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row,
                            plumb_mlir_scalar_handler *handler);

/* --- scalar operations, shared by vectors and linalg bodies (arith.c) --- */

/* One element of a named binary arith operation ("arith.addf", "arith.maxsi", ...) or of
 * its combining kind: for reductions that name their operation by an enum. */
typedef enum plumb_mlir_combine {
  PLUMB_MLIR_ADD, /* addf or addi by the type */
  PLUMB_MLIR_MUL,
  PLUMB_MLIR_MIN_U,
  PLUMB_MLIR_MIN_S,
  PLUMB_MLIR_MINNUMF,
  PLUMB_MLIR_MINIMUMF,
  PLUMB_MLIR_MAX_U,
  PLUMB_MLIR_MAX_S,
  PLUMB_MLIR_MAXNUMF,
  PLUMB_MLIR_MAXIMUMF,
  PLUMB_MLIR_AND,
  PLUMB_MLIR_OR,
  PLUMB_MLIR_XOR
} plumb_mlir_combine;
plumb_reg plumb_mlir_build_combine(plumb_mlir_decoder *d, plumb_mlir_combine kind,
                                   plumb_dtype dtype, int bits, uint32_t flags, plumb_reg a,
                                   plumb_reg b);

/* Of arith's AtomicRMWKind; false for `assign`. */
bool plumb_mlir_combine_of_atomic(int64_t kind, plumb_mlir_combine *out);
/* Integer to integer of any width: truncation, or extension by `is_signed`. */
plumb_reg plumb_mlir_convert_int(plumb_mlir_decoder *d, plumb_dtype to, int to_bits,
                                 plumb_dtype from, int from_bits, bool is_signed, plumb_reg value);

/* --- the tables --- */
extern const plumb_mlir_op plumb_mlir_ops_builtin[], plumb_mlir_ops_func[], plumb_mlir_ops_arith[],
    plumb_mlir_ops_math[], plumb_mlir_ops_scf[], plumb_mlir_ops_cf[], plumb_mlir_ops_affine[],
    plumb_mlir_ops_memref[], plumb_mlir_ops_memref_view[], plumb_mlir_ops_gpu[],
    plumb_mlir_ops_gpu_lane[], plumb_mlir_ops_index[], plumb_mlir_ops_ub[], plumb_mlir_ops_linalg[],
    plumb_mlir_ops_tensor[], plumb_mlir_ops_bufferization[], plumb_mlir_ops_vector[],
    plumb_mlir_ops_llvm[], plumb_mlir_ops_nvvm[], plumb_mlir_ops_nvvm_async[],
    plumb_mlir_ops_nvvm_bulk[], plumb_mlir_ops_nvvm_convert[], plumb_mlir_ops_nvvm_matrix[],
    plumb_mlir_ops_gpu_matrix[];

#endif

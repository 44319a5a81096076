/* PTX text to a program. The text of one module is read to a small syntax tree
 * (ast.h) and each instruction decoded by what the PTX ISA 9.0 says it does; the
 * table instructions.def says which instructions there are. Nothing is optimised.
 *
 *     PLUMB_TRY(plumb_ptx_decode(program, "k.ptx", text, length, diag));
 *     PLUMB_TRY(plumb_program_finish(program, diag));
 */
#ifndef PLUMB_IR_PTX_PTX_H
#define PLUMB_IR_PTX_PTX_H

#include "ir/program.h"

/* Appends the module's functions and globals to `p`. What is regular syntax but not
 * known becomes an UNSUPPORTED instruction that holds the instruction's text.
 * path: names the text in messages. The program keeps no pointer into `text`. A .version
 * that is newer than the newest known one is noted in `p`.
 * PLUMB_BAD_INPUT  not PTX; `diag` has line and column */
plumb_status plumb_ptx_decode(plumb_program *p, const char *path, const char *text, size_t length,
                              plumb_diag *diag);

/* A piece of inline assembly where `b` stands, as LLVM IR and MLIR's llvm dialect have it:
 * `text` with $N operands, `constraints` such as "=r,r,n". An input of letter 'n' must be a
 * constant. */
typedef struct plumb_ptx_asm {
  plumb_builder *b;
  const char *path; /* names the text in messages */
  const char *text, *constraints;
  size_t text_length, constraints_length;
  const plumb_reg *inputs;
  size_t input_count;
  const plumb_dtype *result_types;
  size_t result_count;
} plumb_ptx_asm;

/* Decodes the piece as a device function and calls it; its results go to `results`.
 * Where that fails nothing is built.
 * PLUMB_UNSUPPORTED  a constraint that is not a register or an immediate, operands that do
 *                    not fit their letters
 * PLUMB_BAD_INPUT    a text that is not PTX */
plumb_status plumb_ptx_inline_asm(const plumb_ptx_asm *a, plumb_reg *results, plumb_diag *diag);

enum { PLUMB_PTX_INTRINSIC_ARGS = 32 };
#define PLUMB_PTX_NO_CONSTANT INT64_MIN

/* A call of an intrinsic of NVVM ("llvm.nvvm.mma.m16n8k16.row.col.f32.f32") as inline
 * assembly: its inputs are some of the call's arguments, one register each (two elements of 16
 * bits are one register), its results those of the call. The texts live in `arena`. */
typedef struct plumb_ptx_intrinsic {
  const char *text, *constraints;
  unsigned args[PLUMB_PTX_INTRINSIC_ARGS]; /* which arguments are the inputs */
  size_t arg_count;
  bool predicate; /* the result is an i32 that stands for an i1 */
} plumb_ptx_intrinsic;

/* constants: the value of each of the `count` arguments, or PLUMB_PTX_NO_CONSTANT.
 * False for a name that is no intrinsic of matrices, asynchronous copies, mbarriers, clusters
 * and wgmma, or a form that does not exist. */
bool plumb_ptx_of_intrinsic(plumb_arena *arena, const char *name, const int64_t *constants,
                            size_t count, plumb_ptx_intrinsic *out);

/* Registers of one argument: one, or two of 16 bits. */
typedef struct plumb_ptx_run {
  const plumb_reg *regs;
  size_t count;
} plumb_ptx_run;

/* Builds a call of such an intrinsic where `b` stands. types, results: of each register of the
 * call's value. False: no such intrinsic, or arguments and results that do not fit it. */
bool plumb_ptx_build_intrinsic(plumb_builder *b, const char *path, const char *name,
                               const plumb_ptx_run *args, size_t arg_count,
                               const plumb_dtype *types, size_t count, plumb_reg *results);

/* One row for each instruction of the PTX ISA; static storage. */
typedef struct plumb_ptx_op {
  const char *mnemonic;
  bool decoded;
  const char *section; /* of the PTX ISA 9.0 */
  const char *forms;   /* as instructions.def writes them */
} plumb_ptx_op;

/* All rows; their number in *out_count. */
const plumb_ptx_op *plumb_ptx_ops(size_t *out_count);

/* One type form of an instruction. */
typedef struct plumb_ptx_form {
  const char *mnemonic, *section;
  const char *types; /* "u32", "s32.f32", "-"; good during the visit */
  bool executed;
  bool tested; /* a row of rows.def holds it */
} plumb_ptx_form;

/* Calls `visit` for each type form of each instruction, in the table's order. */
void plumb_ptx_forms(void (*visit)(const plumb_ptx_form *form, void *user), void *user);

/* One test row (rows.def says how it reads); static storage. tests/unit/ptx_rows.c runs
 * them all. */
typedef struct plumb_ptx_row {
  const char *text, *inputs, *outputs;
} plumb_ptx_row;
const plumb_ptx_row *plumb_ptx_rows(size_t *out_count);

/* Prints the forms, one a line: mnemonic, types, parsed, executed or unsupported, tested,
 * section; then how many. */
void plumb_ptx_ops_print(plumb_text *out);

#endif

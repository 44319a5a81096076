/* Calls of functions that no module defines: the C library's, libdevice's and the MLIR
 * runtime's, by their documentation. */
#include <string.h>

#include "ir/mlir/llvm_internal.h"

typedef enum library_kind { MATH, EXPONENT, OP, ROUND, CLASS } library_kind;

typedef struct library_row {
  const char *name;
  library_kind kind;
  int code;
  size_t arity;
} library_row;

static const library_row library[] = {
#define X(name, kind, code, arity) {name, kind, code, arity},
#include "ir/mlir/llvm_library.def"
#undef X
};

/* The row of a name, or of the name without a final f. */
static const library_row *find_row(const char *name) {
  size_t length = strlen(name);
  for (int pass = 0; pass < 2; pass++) {
    if (pass && (!length || name[length - 1] != 'f')) return NULL;
    for (size_t i = 0; i < sizeof library / sizeof *library; i++)
      if (strlen(library[i].name) == length - (size_t)pass &&
          !strncmp(library[i].name, name, length - (size_t)pass))
        return &library[i];
  }
  return NULL;
}

static plumb_reg build_row(plumb_mlir_decoder *d, const library_row *row, plumb_dtype type,
                           const plumb_reg *args) {
  plumb_reg r = plumb_reg_create(d->b.function, row->kind == CLASS ? PLUMB_I1 : type);
  plumb_inst *inst;
  switch (row->kind) {
    case MATH:
    case EXPONENT:
      inst = plumb_build(&d->b, PLUMB_OP_MATH, type, &r, 1, args, row->arity);
      inst->sub = (uint8_t)row->code;
      if (row->kind == EXPONENT) inst->type2 = (uint8_t)plumb_reg_type(d->b.function, args[1]);
      return r;
    case OP:
      plumb_build(&d->b, (plumb_op)row->code, type, &r, 1, args, row->arity)->sub = 0;
      return r;
    case ROUND:
      plumb_build(&d->b, PLUMB_OP_ROUND_INT, type, &r, 1, args, 1)->round = (uint8_t)row->code;
      return r;
    default:
      inst = plumb_build(&d->b, PLUMB_OP_CLASSIFY, PLUMB_I1, &r, 1, args, 1);
      inst->type2 = (uint8_t)type;
      inst->imm = row->code;
      return r;
  }
}

static bool known_math(plumb_mlir_decoder *d, MlirOperation op, const char *name,
                       const plumb_mlir_run *args, size_t arg_count) {
  bool device = strncmp(name, "__nv_", 5) == 0;
  if (device) name += 5;
  const library_row *row = find_row(name);
  plumb_mlir_flat in, out;
  if (!row || row->arity != arg_count || mlirOperationGetNumResults(op) != 1) return false;
  if (!plumb_mlir_flatten(d, plumb_mlir_operand_type(op, 0), &in) ||
      !plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &out))
    return false;
  plumb_reg regs[3];
  if (in.count != 1 || out.count != 1) return false;
  for (size_t i = 0; i < arg_count; i++) {
    if (args[i].count != 1) return false;
    regs[i] = args[i].regs[0];
  }
  bool is_float = plumb_dtype_is_float(in.types[0]);
  bool integer_row =
      row->kind == OP && row->code != PLUMB_OP_SQRT &&
      (!strcmp(row->name, "abs") || !strcmp(row->name, "llabs") ||
       (row->code >= PLUMB_OP_MULHI_S && row->code <= PLUMB_OP_MAX_U) ||
       row->code == PLUMB_OP_CLZ || row->code == PLUMB_OP_POPC || row->code == PLUMB_OP_BREV);
  if (is_float == integer_row) return false;
  plumb_reg r = build_row(d, row, in.types[0], regs);
  /* A predicate of C is an int; clz and popc of 64 bits give an int. */
  plumb_dtype type = row->kind == CLASS ? PLUMB_I1 : in.types[0];
  if (type != out.types[0]) {
    if (plumb_dtype_is_float(type) || plumb_dtype_is_float(out.types[0])) return false;
    r = plumb_build_cvt(&d->b, out.types[0], type, r, 0, PLUMB_RN);
  }
  plumb_mlir_define_result1(d, op, 0, r);
  return true;
}

/* --- memory and control --- */

static bool build_alloc(plumb_mlir_decoder *d, MlirOperation op, plumb_reg bytes, int64_t align) {
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_ALLOC, PLUMB_I64, &address, 1, &bytes, 1)->imm = align;
  plumb_mlir_define_result1(d, op, 0, address);
  return true;
}

static bool known_memory(plumb_mlir_decoder *d, MlirOperation op, const char *name,
                         const plumb_mlir_run *args, size_t arg_count) {
  plumb_reg a[3];
  int64_t align;
  if (arg_count < 1 || arg_count > 3) return false;
  for (size_t i = 0; i < arg_count; i++) {
    if (args[i].count != 1) return false;
    a[i] = args[i].regs[0];
  }
  bool has_result = mlirOperationGetNumResults(op) == 1;
  if (arg_count == 1 && has_result &&
      (!strcmp(name, "malloc") || !strcmp(name, "_mlir_memref_to_llvm_alloc")))
    return build_alloc(d, op, plumb_mlir_llvm_to_i64(d, a[0], false), 16);
  if (arg_count == 2 && has_result &&
      (!strcmp(name, "aligned_alloc") || !strcmp(name, "_mlir_memref_to_llvm_aligned_alloc"))) {
    if (!plumb_mlir_reg_value(d, a[0], &align)) align = 4096;
    return build_alloc(d, op, plumb_mlir_llvm_to_i64(d, a[1], false), align);
  }
  if (arg_count == 1 && !has_result &&
      (!strcmp(name, "free") || !strcmp(name, "_mlir_memref_to_llvm_free"))) {
    plumb_build(&d->b, PLUMB_OP_FREE, PLUMB_I64, NULL, 0, a, 1);
    return true;
  }
  bool copy = !strcmp(name, "memcpy") || !strcmp(name, "memmove");
  if (arg_count != 3 || (!copy && strcmp(name, "memset"))) return false;
  plumb_reg value = copy ? a[1] : plumb_build_cvt(&d->b, PLUMB_I8, PLUMB_I32, a[1], 0, PLUMB_RN);
  plumb_build(&d->b, copy ? PLUMB_OP_MEMCPY : PLUMB_OP_MEMSET, copy ? PLUMB_I64 : PLUMB_I8, NULL, 0,
              (plumb_reg[]){a[0], value, plumb_mlir_llvm_to_i64(d, a[2], false)}, 3);
  if (has_result) plumb_mlir_define_result1(d, op, 0, a[0]);
  return true;
}

/* --- memrefCopy of MLIR's runtime (mlir/lib/ExecutionEngine/CRunnerUtils.cpp) --- */

static plumb_reg load_word(plumb_mlir_decoder *d, plumb_reg address, int64_t offset) {
  return plumb_build_load(&d->b, PLUMB_I64, PLUMB_SPACE_GENERIC, address, offset);
}

/* base[index]: words of 8 bytes. */
static plumb_reg load_at(plumb_mlir_decoder *d, plumb_reg base, plumb_reg index) {
  plumb_reg bytes = plumb_mlir_mul(d, index, plumb_mlir_i64(d, 8));
  return load_word(d, plumb_mlir_add(d, base, bytes), 0);
}

/* Copies all elements between two strided buffers of a rank that is known only at run time:
 * element n's coordinates are the digits of n, the last dimension fastest. A descriptor is
 * (base, aligned, offset, sizes..., strides...). */
static bool memref_copy(plumb_mlir_decoder *d, const plumb_mlir_run *args) {
  plumb_reg zero = plumb_mlir_i64(d, 0), one = plumb_mlir_i64(d, 1);
  plumb_reg bytes = args[0].regs[0], rank = load_word(d, args[1].regs[0], 0);
  plumb_reg from = load_word(d, args[1].regs[0], 8), to = load_word(d, args[2].regs[0], 8);
  plumb_reg sizes = plumb_mlir_add(d, from, plumb_mlir_i64(d, 24));
  plumb_mlir_loop points, dims;
  plumb_mlir_run total = plumb_mlir_variables(d, (plumb_mlir_run){&one, 1});
  plumb_reg k = plumb_mlir_loop_begin(d, &dims, zero, rank, one);
  plumb_build_mov(&d->b, total.regs[0], plumb_mlir_mul(d, total.regs[0], load_at(d, sizes, k)));
  plumb_mlir_loop_end(d, &dims);

  plumb_reg n = plumb_mlir_loop_begin(d, &points, zero, total.regs[0], one);
  plumb_reg start[3] = {n, load_word(d, from, 16), load_word(d, to, 16)};
  plumb_mlir_run v = plumb_mlir_variables(d, (plumb_mlir_run){start, 3});
  k = plumb_mlir_loop_begin(d, &dims, zero, rank, one);
  plumb_reg dim = plumb_mlir_sub(d, plumb_mlir_sub(d, rank, one), k);
  plumb_reg size = load_at(d, sizes, dim), stride = plumb_mlir_add(d, dim, rank);
  plumb_reg digit = plumb_build2(&d->b, PLUMB_OP_REM_U, PLUMB_I64, v.regs[0], size);
  plumb_reg next[3] = {
      plumb_build2(&d->b, PLUMB_OP_DIV_U, PLUMB_I64, v.regs[0], size),
      plumb_mlir_add(d, v.regs[1], plumb_mlir_mul(d, digit, load_at(d, sizes, stride))),
      plumb_mlir_add(
          d, v.regs[2],
          plumb_mlir_mul(d, digit,
                         load_at(d, plumb_mlir_add(d, to, plumb_mlir_i64(d, 24)), stride)))};
  plumb_mlir_assign(d, v, (plumb_mlir_run){next, 3});
  plumb_mlir_loop_end(d, &dims);
  plumb_reg source = plumb_mlir_add(d, load_word(d, from, 8), plumb_mlir_mul(d, v.regs[1], bytes));
  plumb_reg target = plumb_mlir_add(d, load_word(d, to, 8), plumb_mlir_mul(d, v.regs[2], bytes));
  plumb_build(&d->b, PLUMB_OP_MEMCPY, PLUMB_I64, NULL, 0, (plumb_reg[]){target, source, bytes}, 3);
  plumb_mlir_loop_end(d, &points);
  return true;
}

/* --- printing (mlir/lib/ExecutionEngine/CRunnerUtils.cpp) --- */

static bool known_print(plumb_mlir_decoder *d, MlirOperation op, const char *name,
                        const plumb_mlir_run *args, size_t arg_count) {
  static const struct {
    const char *name, *format;
  } rows[] = {{"printI64", "%d"},    {"printU64", "%u"},   {"printF16", "%g"},
              {"printBF16", "%g"},   {"printF32", "%g"},   {"printF64", "%g"},
              {"printOpen", "( "},   {"printClose", " )"}, {"printComma", ", "},
              {"printNewline", "\n"}};
  if (arg_count > 1 || (arg_count && args[0].count != 1) || mlirOperationGetNumResults(op))
    return false;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].name, name) != 0 || (rows[i].format[0] == '%') != (arg_count == 1)) continue;
    plumb_reg value = arg_count ? args[0].regs[0] : PLUMB_NO_REG;
    /* Halves are passed as their bits. */
    if (strstr(name, "F16"))
      value = plumb_build1(&d->b, PLUMB_OP_MOV, name[5] == 'B' ? PLUMB_BF16 : PLUMB_F16, value);
    plumb_build(&d->b, PLUMB_OP_PRINT, PLUMB_I1, NULL, 0, &value, arg_count)->imm =
        plumb_string_add(d->program, rows[i].format);
    return true;
  }
  return false;
}

static bool known_call(plumb_mlir_decoder *d, MlirOperation op, const char *callee,
                       const plumb_mlir_run *args, size_t arg_count) {
  d->why = NULL;
  if (!strcmp(callee, "abort") || !strcmp(callee, "__assertfail")) {
    plumb_build(&d->b, PLUMB_OP_TRAP, PLUMB_I1, NULL, 0, NULL, 0)->imm =
        plumb_string_add(d->program, callee);
    return mlirOperationGetNumResults(op) == 0;
  }
  if (!strcmp(callee, "memrefCopy") && arg_count == 3 && args[0].count == 1 && args[1].count == 1 &&
      args[2].count == 1)
    return memref_copy(d, args);
  return known_memory(d, op, callee, args, arg_count) ||
         known_math(d, op, callee, args, arg_count) || known_print(d, op, callee, args, arg_count);
}

bool plumb_mlir_decode_known_call(plumb_mlir_decoder *d, MlirOperation op, const char *symbol,
                                  size_t arg_count) {
  plumb_mlir_run *args = PLUMB_NEW_ARRAY(d->arena, plumb_mlir_run, arg_count + 1);
  for (size_t i = 0; i < arg_count; i++) args[i] = plumb_mlir_operand(d, op, (intptr_t)i);
  return known_call(d, op, symbol, args, arg_count) ||
         plumb_mlir_reject(d, "external function @%s%s%s", symbol, d->why ? ": " : "",
                           d->why ? d->why : "");
}

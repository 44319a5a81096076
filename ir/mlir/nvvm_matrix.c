/* Matrix operations of the nvvm dialect (NVVMOps.td of LLVM 22): each is the intrinsic whose
 * name its attributes make up. */
#include <stdlib.h>
#include <string.h>

#include "ir/mlir/llvm_internal.h"
#include "ir/ptx/ptx.h"

bool plumb_mlir_nvvm_ptx(plumb_mlir_decoder *d, MlirOperation op, const char *name) {
  size_t args = (size_t)mlirOperationGetNumOperands(op), count = 0;
  plumb_ptx_run *given = PLUMB_NEW_ARRAY(d->arena, plumb_ptx_run, args + 1);
  for (size_t i = 0; i < args; i++) {
    plumb_mlir_run run = plumb_mlir_operand(d, op, (intptr_t)i);
    given[i] = (plumb_ptx_run){run.regs, run.count};
  }
  plumb_mlir_flat flat = {0};
  bool has_result = mlirOperationGetNumResults(op) > 0;
  if (has_result && !plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &flat)) return false;
  count = flat.count;
  plumb_reg *made = PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1);
  if (!plumb_ptx_build_intrinsic(&d->b, d->program->name, name, given, args, flat.types, count,
                                 made))
    return plumb_mlir_reject(d, "%s", name);
  if (has_result) plumb_mlir_define_result(d, op, 0, made, count);
  return true;
}

static long number_after(const char *text, const char *what) {
  const char *at = strstr(text, what);
  return at ? strtol(at + strlen(what), NULL, 10) : 0;
}

const char *plumb_mlir_nvvm_shape(plumb_mlir_decoder *d, MlirOperation op) {
  const char *text = plumb_mlir_attribute_text(d, op, "shape");
  return plumb_arena_printf(d->arena, "m%ldn%ldk%ld", number_after(text, "m = "),
                            number_after(text, "n = "), number_after(text, "k = "));
}

static const char *word(plumb_mlir_decoder *d, MlirOperation op, const char *name) {
  return plumb_mlir_attribute_word(d, op, name);
}

static bool is(const char *a, const char *b) {
  return strcmp(a, b) == 0;
}

static bool is_integer(const char *type) {
  return is(type, "s8") || is(type, "u8") || is(type, "s4") || is(type, "u4");
}

/* The PTX type of an accumulator by its registers. */
static const char *accumulator(plumb_mlir_decoder *d, MlirType type) {
  plumb_mlir_flat flat;
  if (!plumb_mlir_flatten(d, type, &flat) || !flat.count) return NULL;
  switch (flat.types[0]) {
    case PLUMB_F16:
      return "f16";
    case PLUMB_F32:
      return "f32";
    case PLUMB_F64:
      return "f64";
    case PLUMB_I32:
      return "s32";
    default:
      return NULL;
  }
}

/* Of A or B; inferred where the registers say it. */
static const char *multiplicand(plumb_mlir_decoder *d, MlirOperation op, const char *name,
                                intptr_t operand) {
  const char *type = word(d, op, name);
  if (*type) return type;
  type = accumulator(d, plumb_mlir_operand_type(op, operand));
  return type && (is(type, "f16") || is(type, "f64")) ? type : NULL;
}

/* Types as the intrinsic's name has them: f16 by D and C, fp8 all four, others by A and B. */
static void print_types(plumb_text *out, const char *a, const char *b, const char *c,
                        const char *to) {
  if (is(a, "f16"))
    plumb_text_printf(out, ".%s.%s", to, c);
  else if (*a == 'e')
    plumb_text_printf(out, ".%s.%s.%s.%s", to, a, b, c);
  else if (!is(a, b))
    plumb_text_printf(out, ".%s.%s", a, b);
  else
    plumb_text_printf(out, ".%s", a);
}

enum { DENSE, SPARSE };

/* Groups of operands: A, B, C; of the sparse one also metadata and selector. */
static bool decode_mma(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  bool sparse = row->code == SPARSE;
  const int64_t *n;
  size_t groups;
  if (!plumb_mlir_segments(d, op, &n, &groups) || groups != (sparse ? 5 : 3) || !n[0] || !n[1] ||
      !n[2])
    return plumb_mlir_reject(d, "operand segments");
  const char *a = multiplicand(d, op, "multiplicandAPtxType", 0);
  const char *b = multiplicand(d, op, "multiplicandBPtxType", (intptr_t)n[0]);
  const char *c = accumulator(d, plumb_mlir_operand_type(op, (intptr_t)(n[0] + n[1])));
  const char *to = accumulator(d, plumb_mlir_result_type(op, 0));
  const char *overflow = word(d, op, "intOverflowBehavior"), *combine = word(d, op, "b1Op");
  if (!a || !b || !c || !to) return plumb_mlir_reject(d, "types that are not known");
  if (*word(d, op, "kind")) return plumb_mlir_reject(d, "kind %s", word(d, op, "kind"));
  if (is_integer(a) != (*overflow != 0)) return plumb_mlir_reject(d, "intOverflowBehavior");
  plumb_text name = plumb_text_create(d->arena);
  plumb_text_printf(&name, "llvm.nvvm.mma");
  if (sparse)
    plumb_text_printf(&name, ".sp%s",
                      plumb_mlir_attribute_flag(op, "orderedMetadata") ? ".ordered.metadata" : "");
  if (is(a, "b1"))
    plumb_text_printf(&name, "%s", is(combine, "and_popc") ? ".and.popc" : ".xor.popc");
  plumb_text_printf(
      &name, ".%s.%s.%s%s", plumb_mlir_nvvm_shape(d, op), sparse ? "row" : word(d, op, "layoutA"),
      sparse ? "col" : word(d, op, "layoutB"), is(overflow, "satfinite") ? ".satfinite" : "");
  print_types(&name, a, b, c, to);
  return plumb_mlir_nvvm_ptx(d, op, name.data);
}

/* The space of pointer operand 0 as an intrinsic's name has it. */
static unsigned space(MlirOperation op) {
  return mlirLLVMPointerTypeGetAddressSpace(plumb_mlir_operand_type(op, 0));
}

static bool wmma_shape(MlirOperation op, plumb_text *out) {
  int64_t m, n, k;
  if (!plumb_mlir_attribute_int(op, "m", &m) || !plumb_mlir_attribute_int(op, "n", &n) ||
      !plumb_mlir_attribute_int(op, "k", &k))
    return false;
  plumb_text_printf(out, "llvm.nvvm.wmma.m%lldn%lldk%lld", (long long)m, (long long)n,
                    (long long)k);
  return true;
}

enum { LOAD, STORE };

static bool decode_wmma_move(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_text name = plumb_text_create(d->arena);
  if (!wmma_shape(op, &name)) return false;
  plumb_text_printf(&name, ".%s.%s.%s.stride.%s.p%u", row->code == STORE ? "store" : "load",
                    row->code == STORE ? "d" : word(d, op, "frag"), word(d, op, "layout"),
                    word(d, op, "eltype"), space(op));
  return plumb_mlir_nvvm_ptx(d, op, name.data);
}

/* eltypeB is the type of C and D. */
static bool decode_wmma_mma(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_text name = plumb_text_create(d->arena);
  const char *a = word(d, op, "eltypeA"), *c = word(d, op, "eltypeB");
  if (!wmma_shape(op, &name)) return false;
  plumb_text_printf(&name, ".mma.%s.%s", word(d, op, "layoutA"), word(d, op, "layoutB"));
  print_types(&name, a, a, c, c);
  return plumb_mlir_nvvm_ptx(d, op, name.data);
}

/* A column layout transposes. */
static bool decode_matrix_move(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  const char *shape = plumb_mlir_attribute_text(d, op, "shape");
  int64_t count = mlirOperationGetNumOperands(op) - 1;
  if (row->code == LOAD && !plumb_mlir_attribute_int(op, "num", &count)) return false;
  if (!is(word(d, op, "eltType"), "b16") || !strstr(shape, "m = 8") || !strstr(shape, "n = 8"))
    return plumb_mlir_reject(d, "elements %s of shape %s", word(d, op, "eltType"), shape);
  return plumb_mlir_nvvm_ptx(
      d, op,
      plumb_arena_printf(d->arena, "llvm.nvvm.%s.sync.aligned.m8n8.x%lld%s.b16.p%u",
                         row->code == STORE ? "stmatrix" : "ldmatrix", (long long)count,
                         is(word(d, op, "layout"), "col") ? ".trans" : "", space(op)));
}

const plumb_mlir_op plumb_mlir_ops_nvvm_matrix[] = {
    {"nvvm.mma.sync", decode_mma, DENSE},         {"nvvm.mma.sp.sync", decode_mma, SPARSE},
    {"nvvm.wmma.load", decode_wmma_move, LOAD},   {"nvvm.wmma.store", decode_wmma_move, STORE},
    {"nvvm.wmma.mma", decode_wmma_mma, 0},        {"nvvm.ldmatrix", decode_matrix_move, LOAD},
    {"nvvm.stmatrix", decode_matrix_move, STORE}, {0}};

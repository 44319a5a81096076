/* Conversions and dot products of the nvvm dialect (NVVMOps.td of LLVM 22): the intrinsic's
 * name is in the attributes, and bytes come and go as a vector. */
#include <string.h>

#include "ir/mlir/llvm_internal.h"
#include "ir/ptx/ptx.h"

static plumb_reg i32(plumb_mlir_decoder *d, uint32_t value) {
  return plumb_constant(d->program, PLUMB_I32, value);
}

/* ".NAME" where the attribute has that word, else "". */
static const char *suffix(plumb_mlir_decoder *d, MlirOperation op, const char *attribute) {
  const char *word = plumb_mlir_attribute_word(d, op, attribute);
  return *word && strcmp(word, "none") != 0 ? plumb_arena_printf(d->arena, ".%s", word) : "";
}

static bool decode_tf32(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  return plumb_mlir_nvvm_ptx(
      d, op,
      plumb_arena_printf(d->arena, "llvm.nvvm.f2tf32%s%s%s", suffix(d, op, "rnd"),
                         plumb_mlir_attribute_flag(op, "relu") ? ".relu" : "",
                         suffix(d, op, "sat")));
}

/* What a row's `code` says of the sources. */
enum { OF_F32X2, OF_F16X2, OF_BF16X2 };

/* The destination is i16, or two bytes, the lower one first. Rounding and saturation stand in
 * the names where an instruction has several: those to f8 round to nearest and saturate. */
static bool decode_narrow(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  static const struct {
    const char *type, *name;
  } formats[] = {{"f8E4M3FN", "e4m3x2"},
                 {"f8E5M2", "e5m2x2"},
                 {"f8E8M0FNU", "ue8m0x2"},
                 {"f6E2M3FN", "e2m3x2"},
                 {"f6E3M2FN", "e3m2x2"}};
  static const char *const sources[] = {"ff", "f16x2", "bf16x2"};
  const char *type = plumb_mlir_attribute_text(d, op, "dstTy"), *to = NULL;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (strcmp(type, formats[i].type) == 0) to = formats[i].name;
  if (!to) return plumb_mlir_reject(d, "a conversion to %s", type);
  bool scale = to[0] == 'u', relu = plumb_mlir_attribute_flag(op, "relu"), six = to[1] != '4';
  if (strcmp(to, "e5m2x2") == 0) six = false;
  const char *name =
      plumb_arena_printf(d->arena, "llvm.nvvm.%s.to.%s%s%s%s", sources[row->code], to,
                         scale ? suffix(d, op, "rnd") : ".rn", relu ? ".relu" : "",
                         scale ? suffix(d, op, "sat")
                         : six ? ".satfinite"
                               : "");
  plumb_ptx_run args[2];
  size_t count = (size_t)mlirOperationGetNumOperands(op);
  for (size_t i = 0; i < count; i++) {
    plumb_mlir_run run = plumb_mlir_operand(d, op, (intptr_t)i);
    args[i] = (plumb_ptx_run){run.regs, run.count};
  }
  plumb_mlir_flat flat;
  plumb_reg pair, bytes[2];
  if (!plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &flat)) return false;
  if (!plumb_ptx_build_intrinsic(&d->b, d->program->name, name, args, count,
                                 (plumb_dtype[]){PLUMB_I16}, 1, &pair))
    return plumb_mlir_reject(d, "%s", name);
  if (flat.count == 1) {
    plumb_mlir_define_result(d, op, 0, &pair, 1);
    return true;
  }
  plumb_reg high = plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I16, pair,
                                plumb_constant(d->program, PLUMB_I16, 8));
  bytes[0] = plumb_build_cvt(&d->b, PLUMB_I8, PLUMB_I16, pair, 0, PLUMB_RN);
  bytes[1] = plumb_build_cvt(&d->b, PLUMB_I8, PLUMB_I16, high, 0, PLUMB_RN);
  plumb_mlir_define_result(d, op, 0, bytes, 2);
  return true;
}

/* --- dot products --- */

/* The elements of a vector of `bits` each in one word, the first one lowest. */
static plumb_reg pack(plumb_mlir_decoder *d, plumb_mlir_run run, unsigned bits) {
  plumb_dtype type = bits == 8 ? PLUMB_I8 : PLUMB_I16;
  plumb_reg all = i32(d, 0);
  for (size_t i = 0; i < run.count; i++) {
    plumb_reg r = plumb_build_cvt(&d->b, PLUMB_I32, type, run.regs[i], 0, PLUMB_RN);
    r = plumb_build2(&d->b, PLUMB_OP_SHL, PLUMB_I32, r, i32(d, (uint32_t)i * bits));
    all = plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I32, all, r);
  }
  return all;
}

static bool decode_dot(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  bool two = row->code == PLUMB_OP_DP2A;
  plumb_reg v[3] = {pack(d, plumb_mlir_operand(d, op, 0), two ? 16 : 8),
                    pack(d, plumb_mlir_operand(d, op, 1), 8), plumb_mlir_operand1(d, op, 2)};
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  plumb_inst *inst = plumb_build(&d->b, (plumb_op)row->code, PLUMB_I32, r.regs, 1, v, 3);
  if (strcmp(plumb_mlir_attribute_word(d, op, "a_type"), "signed") == 0)
    inst->flags |= PLUMB_FLAG_SRC_SIGNED;
  if (strcmp(plumb_mlir_attribute_word(d, op, "b_type"), "signed") == 0)
    inst->flags |= PLUMB_FLAG_SRC2_SIGNED;
  inst->sub = two && plumb_mlir_attribute_flag(op, "b_hi");
  return true;
}

/* --- special registers that are none of the program's own --- */

static bool decode_size(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  return plumb_mlir_nvvm_ptx(d, op, "llvm.nvvm.read.ptx.sreg.aggr_smem_size");
}

static bool decode_timer(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  return plumb_mlir_nvvm_ptx(d, op, "llvm.nvvm.read.ptx.sreg.globaltimer.lo");
}

const plumb_mlir_op plumb_mlir_ops_nvvm_convert[] = {
    {"nvvm.convert.float.to.tf32", decode_tf32, 0},
    {"nvvm.convert.f32x2.to.f8x2", decode_narrow, OF_F32X2},
    {"nvvm.convert.f32x2.to.f6x2", decode_narrow, OF_F32X2},
    {"nvvm.convert.f16x2.to.f8x2", decode_narrow, OF_F16X2},
    {"nvvm.convert.bf16x2.to.f8x2", decode_narrow, OF_BF16X2},
    {"nvvm.dot.accumulate.4way", decode_dot, PLUMB_OP_DP4A},
    {"nvvm.dot.accumulate.2way", decode_dot, PLUMB_OP_DP2A},
    {"nvvm.read.ptx.sreg.aggr.smem.size", decode_size, 0},
    {"nvvm.read.ptx.sreg.globaltimer.lo", decode_timer, 0},
    {0}};

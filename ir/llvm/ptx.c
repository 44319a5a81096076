/* NVVM's intrinsics that stand for one PTX instruction each, as inline assembly. A register
 * of two 16-bit elements is a <2 x half> here, so pairs are packed and unpacked. */
#include <string.h>

#include "ir/llvm/call.h"
#include "ir/ptx/ptx.h"

static plumb_reg pack(plumb_llvm_decoder *d, plumb_reg low, plumb_reg high) {
  low = plumb_build_cvt(&d->b, PLUMB_I32, PLUMB_I16, low, 0, PLUMB_RN);
  high = plumb_build_cvt(&d->b, PLUMB_I32, PLUMB_I16, high, 0, PLUMB_RN);
  high =
      plumb_build2(&d->b, PLUMB_OP_SHL, PLUMB_I32, high, plumb_constant(d->program, PLUMB_I32, 16));
  return plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I32, low, high);
}

static plumb_reg half(plumb_llvm_decoder *d, plumb_reg word, unsigned i, plumb_dtype type) {
  plumb_reg r = plumb_reg_create(d->f, type);
  if (i)
    word = plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I32, word,
                        plumb_constant(d->program, PLUMB_I32, 16));
  plumb_build(&d->b, PLUMB_OP_CVT, PLUMB_I16, &r, 1, &word, 1)->type2 = PLUMB_I32;
  return r;
}

static bool is_pair(const plumb_llvm_leaf *leaves) {
  return plumb_dtype_bytes(leaves[0].type) == 2 && leaves[0].type == leaves[1].type;
}

/* The one register of argument i. */
static bool input(plumb_llvm_decoder *d, const plumb_llvm_call *c, unsigned i, plumb_reg *out) {
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, LLVMGetOperand(c->inst, i));
  plumb_llvm_run run = plumb_llvm_arg(d, c, i);
  if (leaves.count == 1)
    *out = run.regs[0];
  else if (leaves.count == 2 && is_pair(leaves.items))
    *out = pack(d, run.regs[0], run.regs[1]);
  else
    return false;
  return true;
}

static bool intrinsic_of(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_ptx_intrinsic *t) {
  int64_t *constants = PLUMB_NEW_ARRAY(d->arena, int64_t, c->args + 1u);
  for (unsigned i = 0; i < c->args; i++) {
    LLVMValueRef v = LLVMGetOperand(c->inst, i);
    bool narrow = LLVMIsAConstantInt(v) && LLVMGetIntTypeWidth(LLVMTypeOf(v)) <= 64;
    constants[i] = narrow ? (int64_t)LLVMConstIntGetZExtValue(v) : PLUMB_PTX_NO_CONSTANT;
  }
  return plumb_ptx_of_intrinsic(d->arena, c->name, constants, c->args, t);
}

bool plumb_llvm_call_ptx(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_ptx_intrinsic t;
  if (c->row->kind != PLUMB_LLVM_KIND_PTX || !intrinsic_of(d, c, &t)) return false;
  plumb_reg given[PLUMB_PTX_INTRINSIC_ARGS];
  for (size_t i = 0; i < t.arg_count; i++)
    if (!input(d, c, t.args[i], &given[i])) return false;
  size_t count = c->result.count, registers = 0;
  const plumb_llvm_leaf *leaf = c->result.items;
  plumb_reg *results = PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1);
  plumb_dtype *types = PLUMB_NEW_ARRAY(d->arena, plumb_dtype, count + 1);
  for (size_t k = 0; k < count; k++) {
    bool pair = k + 1 < count && is_pair(&leaf[k]);
    types[registers++] = pair || t.predicate ? PLUMB_I32 : leaf[k].type;
    k += pair;
  }
  plumb_ptx_asm a = {.b = &d->b,
                     .path = d->path,
                     .text = t.text,
                     .text_length = strlen(t.text),
                     .constraints = t.constraints,
                     .constraints_length = strlen(t.constraints),
                     .inputs = given,
                     .input_count = t.arg_count,
                     .result_types = types,
                     .result_count = registers};
  plumb_diag problem;
  if (plumb_ptx_inline_asm(&a, results, &problem) != PLUMB_OK) return false;
  plumb_llvm_run run = plumb_llvm_run_of(d, count);
  for (size_t k = 0, r = 0; k < count; k++, r++) {
    if (t.predicate) {
      run.regs[k] = plumb_build_cmp(&d->b, PLUMB_CMP_NE, PLUMB_I32, results[r],
                                    plumb_constant(d->program, PLUMB_I32, 0));
    } else if (k + 1 < count && is_pair(&leaf[k])) {
      run.regs[k] = half(d, results[r], 0, leaf[k].type);
      run.regs[k + 1] = half(d, results[r], 1, leaf[k].type);
      k++;
    } else {
      run.regs[k] = results[r];
    }
  }
  if (count) plumb_llvm_define(d, c->inst, run);
  return true;
}

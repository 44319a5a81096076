/* NVVM's matrix intrinsics: the PTX instruction that each stands for, as inline assembly.
 * A register of two 16-bit elements is a <2 x half> here, so pairs are packed and unpacked. */
#include <string.h>

#include "ir/llvm/call.h"
#include "ir/ptx/ptx.h"

enum { MAX_REGS = 64 };

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

static bool is_half(plumb_llvm_leaf leaf) {
  return plumb_dtype_bytes(leaf.type) == 2;
}

/* The registers of all arguments, in order. */
static bool inputs(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_reg *out, size_t *count) {
  *count = 0;
  for (unsigned i = 0; i < c->args; i++) {
    plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, LLVMGetOperand(c->inst, i));
    plumb_llvm_run run = plumb_llvm_arg(d, c, i);
    for (size_t k = 0; k < leaves.count; k++) {
      if (*count == MAX_REGS) return false;
      if (!is_half(leaves.items[k])) {
        out[(*count)++] = run.regs[k];
        continue;
      }
      if (k + 1 == leaves.count) return false;
      out[(*count)++] = pack(d, run.regs[k], run.regs[k + 1]);
      k++;
    }
  }
  return true;
}

bool plumb_llvm_call_matrix(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_ptx_intrinsic t;
  plumb_reg given[MAX_REGS], results[MAX_REGS];
  plumb_dtype types[MAX_REGS];
  plumb_ptx_asm a = {.b = &d->b, .path = d->path, .inputs = given, .result_types = types};
  if (c->row->kind != PLUMB_LLVM_KIND_MATRIX ||
      !plumb_ptx_matrix_intrinsic(d->arena, c->name, &t) || c->result.count > MAX_REGS ||
      !inputs(d, c, given, &a.input_count))
    return false;
  for (size_t k = 0; k < c->result.count; k++) {
    bool pair = is_half(c->result.items[k]);
    types[a.result_count++] = pair ? PLUMB_I32 : c->result.items[k].type;
    k += pair;
  }
  a.text = t.text;
  a.text_length = strlen(t.text);
  a.constraints = t.constraints;
  a.constraints_length = strlen(t.constraints);
  plumb_diag problem;
  if (plumb_ptx_inline_asm(&a, results, &problem) != PLUMB_OK) return false;
  plumb_llvm_run run = plumb_llvm_run_of(d, c->result.count);
  for (size_t k = 0, r = 0; k < c->result.count; k++, r++) {
    plumb_dtype type = c->result.items[k].type;
    if (!is_half(c->result.items[k])) {
      run.regs[k] = results[r];
      continue;
    }
    run.regs[k] = half(d, results[r], 0, type);
    k++;
    run.regs[k] = half(d, results[r], 1, type);
  }
  if (c->result.count) plumb_llvm_define(d, c->inst, run);
  return true;
}

/* NVVM's intrinsics that stand for one PTX instruction each. */
#include "ir/llvm/call.h"
#include "ir/ptx/ptx.h"

bool plumb_llvm_call_ptx(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  if (c->row->kind != PLUMB_LLVM_KIND_PTX && c->row->kind != PLUMB_LLVM_KIND_SREG) return false;
  plumb_ptx_run *args = PLUMB_NEW_ARRAY(d->arena, plumb_ptx_run, c->args + 1u);
  for (unsigned i = 0; i < c->args; i++) {
    plumb_llvm_run run = plumb_llvm_arg(d, c, i);
    args[i] = (plumb_ptx_run){run.regs, run.count};
  }
  size_t count = c->result.count;
  plumb_dtype *types = PLUMB_NEW_ARRAY(d->arena, plumb_dtype, count + 1);
  for (size_t k = 0; k < count; k++) types[k] = c->result.items[k].type;
  plumb_llvm_run run = plumb_llvm_run_of(d, count);
  if (!plumb_ptx_build_intrinsic(&d->b, d->path, c->name, args, c->args, types, count, run.regs))
    return false;
  if (count) plumb_llvm_define(d, c->inst, run);
  return true;
}

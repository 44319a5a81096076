/* Inline assembly (LLVM Language Reference 22, Inline Assembler Expressions). */
#include "ir/llvm/decoder.h"
#include "ir/ptx/ptx.h"

void plumb_llvm_inline_asm(plumb_llvm_decoder *d, LLVMValueRef inst) {
  LLVMValueRef callee = LLVMGetCalledValue(inst);
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, inst);
  unsigned inputs = LLVMGetNumArgOperands(inst);
  plumb_reg *given = PLUMB_NEW_ARRAY(d->arena, plumb_reg, inputs + 1);
  plumb_dtype *types = PLUMB_NEW_ARRAY(d->arena, plumb_dtype, leaves.count + 1);
  for (unsigned i = 0; i < inputs; i++) {
    if (plumb_llvm_value_leaves(d, LLVMGetOperand(inst, i)).count != 1) {
      plumb_llvm_unsupported(d, inst, "llvm asm with an aggregate operand");
      return;
    }
    given[i] = plumb_llvm_operand(d, inst, i);
  }
  for (size_t i = 0; i < leaves.count; i++) types[i] = leaves.items[i].type;
  plumb_ptx_asm a = {.b = &d->b,
                     .path = d->path,
                     .inputs = given,
                     .input_count = inputs,
                     .result_types = types,
                     .result_count = leaves.count};
  a.text = LLVMGetInlineAsmAsmString(callee, &a.text_length);
  a.constraints = LLVMGetInlineAsmConstraintString(callee, &a.constraints_length);
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count + 1), leaves.count};
  plumb_diag problem;
  if (plumb_ptx_inline_asm(&a, run.regs, &problem) != PLUMB_OK) {
    plumb_llvm_unsupported(
        d, inst, plumb_arena_printf(d->arena, "llvm asm \"%.160s\": %s", a.text, problem.message));
    return;
  }
  for (size_t i = 0; i < run.count; i++)
    run.regs[i] = plumb_llvm_mask(d, run.regs[i], leaves.items[i]);
  plumb_llvm_define(d, inst, run);
}

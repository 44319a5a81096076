/* NVVM's intrinsics that stand for one PTX instruction, as inline assembly. */
#include <assert.h>
#include <string.h>

#include "ir/ptx/intrinsic.h"

size_t ptx_intrinsic_result(ptx_intrinsic *t, char letter) {
  plumb_text_printf(&t->constraints, "%s=%c", t->operands ? "," : "", letter);
  return t->operands++;
}

size_t ptx_intrinsic_use(ptx_intrinsic *t, unsigned arg, char letter) {
  plumb_text_printf(&t->constraints, "%s%c", t->operands ? "," : "", letter);
  assert(t->out->arg_count < PLUMB_PTX_INTRINSIC_ARGS);
  t->out->args[t->out->arg_count++] = arg;
  return t->operands++;
}

bool ptx_intrinsic_constant(const ptx_intrinsic *t, size_t i, int64_t *out) {
  if (i >= t->count || t->constants[i] == PLUMB_PTX_NO_CONSTANT) return false;
  *out = t->constants[i];
  return true;
}

bool plumb_ptx_of_intrinsic(plumb_arena *arena, const char *name, const int64_t *constants,
                            size_t count, plumb_ptx_intrinsic *out) {
  static const char prefix[] = "llvm.nvvm.";
  if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
  *out = (plumb_ptx_intrinsic){0};
  ptx_intrinsic t = {.name = name + sizeof prefix - 1,
                     .constants = constants,
                     .count = count,
                     .text = plumb_text_create(arena),
                     .constraints = plumb_text_create(arena),
                     .out = out};
  if (!ptx_intrinsic_matrix(&t) && !ptx_intrinsic_async(&t)) return false;
  for (size_t i = 0; i < out->arg_count; i++)
    if (out->args[i] >= count) return false;
  out->text = t.text.data;
  out->constraints = t.constraints.data;
  return true;
}

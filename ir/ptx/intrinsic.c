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

/* --- the table --- */

static const struct {
  const char *name, *operands, *text;
} rows[] = {
#define X(name, operands, text) {name, operands, text},
#include "ir/ptx/intrinsic.def"
#undef X
};

static bool write_row(ptx_intrinsic *t, const char *operands, const char *text) {
  bool predicate = *operands == 'p';
  if (predicate) {
    ptx_intrinsic_result(t, 'r');
    t->out->predicate = true;
    operands++;
  } else if (*operands == '=') {
    ptx_intrinsic_result(t, operands[1]);
    operands += 2;
  }
  size_t length = strcspn(text, "|");
  for (unsigned arg = 0; operands[arg]; arg++) {
    int64_t second;
    if (operands[arg] == '!') {
      if (!ptx_intrinsic_constant(t, arg, &second)) return false;
      if (second) text += length + 1, length = strlen(text);
    } else if (operands[arg] != '?') {
      ptx_intrinsic_use(t, arg, operands[arg]);
    }
  }
  if (predicate) plumb_text_printf(&t->text, "{ .reg .pred p; ");
  for (const char *c = text; c < text + length; c++) {
    int64_t value;
    if (*c != '#') {
      plumb_text_append(&t->text, c, 1);
    } else {
      if (!ptx_intrinsic_constant(t, (size_t)(*++c - '0'), &value)) return false;
      plumb_text_printf(&t->text, "%lld", (long long)value);
    }
  }
  if (predicate) plumb_text_printf(&t->text, " selp.b32 $0, 1, 0, p; }");
  return true;
}

static bool write(ptx_intrinsic *t) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, t->name) == 0) return write_row(t, rows[i].operands, rows[i].text);
  return ptx_intrinsic_matrix(t) || ptx_intrinsic_async(t);
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
  if (!write(&t)) return false;
  for (size_t i = 0; i < out->arg_count; i++)
    if (out->args[i] >= count) return false;
  out->text = t.text.data;
  out->constraints = t.constraints.data;
  return true;
}

/* --- a call --- */

static plumb_reg constant_i32(plumb_builder *b, uint64_t value) {
  return plumb_constant(b->function->program, PLUMB_I32, value);
}

static plumb_reg pack(plumb_builder *b, plumb_reg low, plumb_reg high) {
  low = plumb_build_cvt(b, PLUMB_I32, PLUMB_I16, low, 0, PLUMB_RN);
  high = plumb_build_cvt(b, PLUMB_I32, PLUMB_I16, high, 0, PLUMB_RN);
  high = plumb_build2(b, PLUMB_OP_SHL, PLUMB_I32, high, constant_i32(b, 16));
  return plumb_build2(b, PLUMB_OP_OR, PLUMB_I32, low, high);
}

static plumb_reg half(plumb_builder *b, plumb_reg word, unsigned i, plumb_dtype type) {
  plumb_reg r = plumb_reg_create(b->function, type);
  if (i) word = plumb_build2(b, PLUMB_OP_SHR_U, PLUMB_I32, word, constant_i32(b, 16));
  plumb_build(b, PLUMB_OP_CVT, PLUMB_I16, &r, 1, &word, 1)->type2 = PLUMB_I32;
  return r;
}

/* Two elements of 16 bits are one register. */
static bool is_pair(const plumb_dtype *types, size_t left) {
  return left > 1 && plumb_dtype_bytes(types[0]) == 2 && types[0] == types[1];
}

static int64_t constant_of(plumb_builder *b, const plumb_ptx_run *run) {
  if (run->count != 1 || !plumb_reg_is_const(run->regs[0])) return PLUMB_PTX_NO_CONSTANT;
  const plumb_const *c = &b->function->program->consts[plumb_reg_const_index(run->regs[0])];
  if (plumb_dtype_is_float(c->type) || plumb_dtype_bytes(c->type) > 8) return PLUMB_PTX_NO_CONSTANT;
  return (int64_t)c->bits;
}

/* The one register of an argument. */
static bool input(plumb_builder *b, const plumb_ptx_run *run, plumb_reg *out) {
  if (run->count == 1) {
    *out = run->regs[0];
    return true;
  }
  if (run->count != 2) return false;
  plumb_dtype types[2] = {plumb_reg_type(b->function, run->regs[0]),
                          plumb_reg_type(b->function, run->regs[1])};
  if (!is_pair(types, 2)) return false;
  *out = pack(b, run->regs[0], run->regs[1]);
  return true;
}

bool plumb_ptx_build_intrinsic(plumb_builder *b, const char *path, const char *name,
                               const plumb_ptx_run *args, size_t arg_count,
                               const plumb_dtype *types, size_t count, plumb_reg *results) {
  plumb_arena *arena = b->function->program->arena;
  int64_t *constants = PLUMB_NEW_ARRAY(arena, int64_t, arg_count + 1);
  for (size_t i = 0; i < arg_count; i++) constants[i] = constant_of(b, &args[i]);
  plumb_ptx_intrinsic t;
  if (!plumb_ptx_of_intrinsic(arena, name, constants, arg_count, &t)) return false;
  plumb_reg given[PLUMB_PTX_INTRINSIC_ARGS];
  for (size_t i = 0; i < t.arg_count; i++)
    if (!input(b, &args[t.args[i]], &given[i])) return false;
  plumb_reg *made = PLUMB_NEW_ARRAY(arena, plumb_reg, count + 1);
  plumb_dtype *made_types = PLUMB_NEW_ARRAY(arena, plumb_dtype, count + 1);
  size_t registers = 0;
  for (size_t k = 0; k < count; k++) {
    bool pair = is_pair(&types[k], count - k);
    made_types[registers++] = pair || t.predicate ? PLUMB_I32 : types[k];
    k += pair;
  }
  plumb_ptx_asm a = {.b = b,
                     .path = path,
                     .text = t.text,
                     .text_length = strlen(t.text),
                     .constraints = t.constraints,
                     .constraints_length = strlen(t.constraints),
                     .inputs = given,
                     .input_count = t.arg_count,
                     .result_types = made_types,
                     .result_count = registers};
  plumb_diag problem;
  if (plumb_ptx_inline_asm(&a, made, &problem) != PLUMB_OK) return false;
  for (size_t k = 0, r = 0; k < count; k++, r++) {
    if (t.predicate) {
      results[k] = plumb_build_cmp(b, PLUMB_CMP_NE, PLUMB_I32, made[r], constant_i32(b, 0));
    } else if (is_pair(&types[k], count - k)) {
      results[k] = half(b, made[r], 0, types[k]);
      results[k + 1] = half(b, made[r], 1, types[k]);
      k++;
    } else {
      results[k] = made[r];
    }
  }
  return true;
}

/* NVVM arithmetic: the modifiers in an intrinsic's name are those of the PTX
 * instruction that it selects. */
#include <string.h>

#include "ir/llvm/call.h"

typedef struct modifiers {
  uint32_t flags;
  plumb_round round;
  bool has_round, approx, full, nan;
} modifiers;

static bool is_type_word(const char *w, size_t n) {
  static const char *const words[] = {"f",     "d",      "i",    "ui",     "ll",  "ull",
                                      "f16",   "f16x2",  "bf16", "bf16x2", "f32", "f64",
                                      "v2f16", "v2bf16", "i32",  "i64"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i]) == n && strncmp(words[i], w, n) == 0) return true;
  return false;
}

static bool read_word(const char *w, size_t n, modifiers *m) {
  static const struct {
    const char *word;
    uint32_t flags;
  } flags[] = {{"ftz", PLUMB_FLAG_FTZ},    {"sat", PLUMB_FLAG_SAT},
               {"relu", PLUMB_FLAG_RELU},  {"xorsign", PLUMB_FLAG_XORSIGN},
               {"abs", PLUMB_FLAG_ABS_OP}, {"satfinite", PLUMB_FLAG_SATFINITE}};
  static const struct {
    const char *word;
    plumb_round round;
  } rounds[] = {{"rn", PLUMB_RN}, {"rz", PLUMB_RZ}, {"rm", PLUMB_RM}, {"rp", PLUMB_RP}};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (strlen(flags[i].word) == n && strncmp(flags[i].word, w, n) == 0) {
      m->flags |= flags[i].flags;
      return true;
    }
  for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++)
    if (strlen(rounds[i].word) == n && strncmp(rounds[i].word, w, n) == 0) {
      m->round = rounds[i].round;
      return m->has_round = true;
    }
  if (n == 6 && strncmp(w, "approx", 6) == 0) return m->approx = true;
  if (n == 4 && strncmp(w, "full", 4) == 0) return m->full = true;
  if (n == 3 && strncmp(w, "nan", 3) == 0) return m->nan = true;
  return is_type_word(w, n);
}

/* False where a modifier is not known. */
static bool read_modifiers(const plumb_llvm_call *c, modifiers *m) {
  *m = (modifiers){.flags = c->row->flags, .round = (plumb_round)c->row->round};
  for (const char *w = c->rest; *w;) {
    w++;
    size_t n = strcspn(w, ".");
    if (!read_word(w, n, m)) return false;
    w += n;
  }
  return true;
}

/* Of f64 there are rcp and rsqrt as approximations of their high words (ftz), and rsqrt. */
static bool approximate(plumb_llvm_decoder *d, const plumb_llvm_call *c, const modifiers *m) {
  int sub = c->row->sub;
  if (m->full) sub = PLUMB_APPROX_DIV_FULL;
  if (c->result.items[0].type == PLUMB_F64) {
    bool whole = !(m->flags & PLUMB_FLAG_FTZ);
    if (whole && sub != PLUMB_APPROX_RSQRT) return false;
    if (whole)
      sub = PLUMB_APPROX_RSQRT;
    else if (sub == PLUMB_APPROX_RCP)
      sub = PLUMB_APPROX_RCP_FTZ_F64;
    else if (sub == PLUMB_APPROX_RSQRT)
      sub = PLUMB_APPROX_RSQRT_FTZ_F64;
    else
      return false;
  }
  plumb_llvm_elementwise(d, c, PLUMB_OP_APPROX, sub, m->flags, PLUMB_RN);
  return true;
}

static bool arith(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  modifiers m;
  if (!read_modifiers(c, &m) || !c->result.count) return false;
  if (m.approx || m.full) return approximate(d, c, &m);
  plumb_op op = (plumb_op)c->row->op;
  if (op == PLUMB_OP_APPROX || !plumb_dtype_is_float(c->result.items[0].type)) return false;
  int sub = 0;
  if (op == PLUMB_OP_MIN || op == PLUMB_OP_MAX) sub = m.nan ? PLUMB_NAN_PROPAGATE : PLUMB_NAN_DROP;
  plumb_llvm_elementwise(d, c, op, sub, m.flags, m.round);
  return true;
}

static bool reciprocal(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  modifiers m;
  if (!read_modifiers(c, &m) || c->result.count != 1) return false;
  if (m.approx) return approximate(d, c, &m);
  plumb_dtype type = c->result.items[0].type;
  plumb_reg one = plumb_constant(d->program, type, plumb_dtype_from_double(type, 1.0));
  plumb_reg r = plumb_reg_create(d->f, type);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_DIV, type, &r, 1,
                                 (plumb_reg[]){one, plumb_llvm_arg1(d, c, 0)}, 2);
  inst->flags |= m.flags;
  inst->round = (uint8_t)m.round;
  plumb_llvm_define1(d, c->inst, r);
  return true;
}

/* cvt of `a` to `type`; signedness from the name's first letters ("ui", "ull"). */
static plumb_reg convert(plumb_llvm_decoder *d, const modifiers *m, plumb_dtype from,
                         plumb_dtype to, bool is_unsigned, plumb_reg a) {
  uint32_t flags = m->flags;
  if (!plumb_dtype_is_float(to)) {
    flags |= PLUMB_FLAG_CLAMP; /* PTX's cvt clamps */
    if (!is_unsigned) flags |= PLUMB_FLAG_DST_SIGNED;
  } else if (!plumb_dtype_is_float(from) && !is_unsigned) {
    flags |= PLUMB_FLAG_SRC_SIGNED;
  }
  return plumb_build_cvt(&d->b, to, from, a, flags, m->round);
}

static bool convert_call(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  modifiers m;
  plumb_llvm_leaves from = plumb_llvm_value_leaves(d, LLVMGetOperand(c->inst, 0));
  if (!read_modifiers(c, &m) || c->result.count != 1 || from.count != 1) return false;
  const char *name = c->row->name + strlen("llvm.nvvm.");
  bool is_unsigned = name[0] == 'u' || strstr(name, "2u");
  plumb_dtype to = c->result.items[0].type;
  plumb_reg r = convert(d, &m, from.items[0].type, to, is_unsigned, plumb_llvm_arg1(d, c, 0));
  plumb_llvm_define1(d, c->inst, r);
  return true;
}

/* f2h returns the bits as i16. */
static bool convert_f16(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  modifiers m;
  if (!read_modifiers(c, &m) || c->result.count != 1) return false;
  plumb_reg half =
      plumb_build_cvt(&d->b, PLUMB_F16, PLUMB_F32, plumb_llvm_arg1(d, c, 0), m.flags, m.round);
  plumb_reg bits = plumb_reg_create(d->f, PLUMB_I16);
  plumb_build_mov(&d->b, bits, half);
  plumb_llvm_define1(d, c->inst, bits);
  return true;
}

/* cvt.f16x2.f32 d, a, b: a becomes the upper half. */
static bool convert_pair(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  modifiers m;
  if (!read_modifiers(c, &m) || c->result.count != 2) return false;
  plumb_llvm_run run = plumb_llvm_run_of(d, 2);
  for (unsigned k = 0; k < 2; k++)
    run.regs[k] = plumb_build_cvt(&d->b, c->result.items[k].type, PLUMB_F32,
                                  plumb_llvm_arg1(d, c, 1 - k), m.flags, m.round);
  plumb_llvm_define(d, c->inst, run);
  return true;
}

static bool saturate(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  modifiers m;
  if (!read_modifiers(c, &m) || c->result.count != 1) return false;
  plumb_dtype type = c->result.items[0].type;
  plumb_llvm_define1(
      d, c->inst, plumb_build_cvt(&d->b, type, type, plumb_llvm_arg1(d, c, 0), m.flags, PLUMB_RN));
  return true;
}

static plumb_reg move_to(plumb_llvm_decoder *d, plumb_dtype type, plumb_reg a) {
  plumb_reg r = plumb_reg_create(d->f, type);
  plumb_build_mov(&d->b, r, a);
  return r;
}

/* The words of a double. */
static bool double_words(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_leaf word = {.type = PLUMB_I32, .width = 32}, whole = {.type = PLUMB_I64, .width = 64};
  plumb_reg shift = plumb_constant(d->program, PLUMB_I64, 32), r;
  if (c->row->kind == PLUMB_LLVM_KIND_DOUBLE_JOIN) {
    plumb_reg lo = plumb_llvm_resize(d, plumb_llvm_arg1(d, c, 0), word, whole, false);
    plumb_reg hi = plumb_llvm_resize(d, plumb_llvm_arg1(d, c, 1), word, whole, false);
    hi = plumb_build2(&d->b, PLUMB_OP_SHL, PLUMB_I64, hi, shift);
    r = move_to(d, PLUMB_F64, plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I64, lo, hi));
  } else {
    plumb_reg bits = move_to(d, PLUMB_I64, plumb_llvm_arg1(d, c, 0));
    if (c->row->kind == PLUMB_LLVM_KIND_DOUBLE_HIGH)
      bits = plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I64, bits, shift);
    r = plumb_llvm_resize(d, bits, whole, word, false);
  }
  plumb_llvm_define1(d, c->inst, r);
  return true;
}

/* __expf and __logf (CUDA C++ Programming Guide, Intrinsic Functions): ex2.approx of
 * x log2(e), and lg2.approx times ln 2. */
static bool fast_function(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_llvm_leaf f32 = {.type = PLUMB_F32, .width = 32};
  bool exponential = c->row->kind == PLUMB_LLVM_KIND_FAST_EXP;
  plumb_reg factor = plumb_constant(d->program, PLUMB_F32, exponential ? 0x3FB8AA3B : 0x3F317218);
  plumb_reg x = plumb_llvm_arg1(d, c, 0);
  if (exponential) x = plumb_llvm_binary(d, LLVMFMul, f32, x, factor, 0);
  plumb_reg r = plumb_llvm_emit(d, c, PLUMB_OP_APPROX, PLUMB_F32, &x, 1);
  plumb_block *block = &d->f->blocks[d->b.block];
  block->insts[block->inst_count - 1].flags |= plumb_llvm_denormal_flags(d, PLUMB_F32);
  if (!exponential) r = plumb_llvm_binary(d, LLVMFMul, f32, r, factor, 0);
  plumb_llvm_define1(d, c->inst, r);
  return true;
}

bool plumb_llvm_call_nvvm(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  switch ((plumb_llvm_kind)c->row->kind) {
    case PLUMB_LLVM_KIND_ARITH:
      return arith(d, c);
    case PLUMB_LLVM_KIND_ARITH_RCP:
      return reciprocal(d, c);
    case PLUMB_LLVM_KIND_ARITH_SATURATE:
      return saturate(d, c);
    case PLUMB_LLVM_KIND_CONVERT:
      return convert_call(d, c);
    case PLUMB_LLVM_KIND_CONVERT_F16:
      return convert_f16(d, c);
    case PLUMB_LLVM_KIND_CONVERT_PAIR:
      return convert_pair(d, c);
    case PLUMB_LLVM_KIND_DOUBLE_LOW:
    case PLUMB_LLVM_KIND_DOUBLE_HIGH:
    case PLUMB_LLVM_KIND_DOUBLE_JOIN:
      return double_words(d, c);
    case PLUMB_LLVM_KIND_BITCAST: {
      if (c->result.count != 1) return false;
      plumb_llvm_define1(d, c->inst, move_to(d, c->result.items[0].type, plumb_llvm_arg1(d, c, 0)));
      return true;
    }
    case PLUMB_LLVM_KIND_FAST_EXP:
    case PLUMB_LLVM_KIND_FAST_LOG:
      return fast_function(d, c);
    default:
      return false;
  }
}

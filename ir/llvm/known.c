/* Memory intrinsics and the device runtime's functions. */
#include <string.h>

#include "ir/llvm/call.h"

static unsigned pointer_space(const plumb_llvm_call *c, unsigned i) {
  return LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(c->inst, i)));
}

static plumb_reg generic_arg(plumb_llvm_decoder *d, const plumb_llvm_call *c, unsigned i) {
  return plumb_llvm_to_generic(d, plumb_llvm_arg1(d, c, i), pointer_space(c, i));
}

static plumb_reg as_type(plumb_llvm_decoder *d, const plumb_llvm_call *c, unsigned i,
                         plumb_dtype type) {
  plumb_llvm_leaf from = plumb_llvm_value_leaves(d, LLVMGetOperand(c->inst, i)).items[0];
  plumb_llvm_leaf to = {.type = type, .width = plumb_dtype_table[type].bits};
  return plumb_llvm_resize(d, plumb_llvm_arg1(d, c, i), from, to, false);
}

/* Of the `align` attribute of an argument. */
static uint8_t promised_log2(const plumb_llvm_call *c, unsigned argument) {
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(c->inst, argument + 1, kind);
  return plumb_llvm_promised_log2(align ? LLVMGetEnumAttributeValue(align) : 1);
}

/* result: the C function returns its first argument. */
static void memory_copy(plumb_llvm_decoder *d, const plumb_llvm_call *c, bool set) {
  plumb_reg operands[3] = {generic_arg(d, c, 0),
                           set ? as_type(d, c, 1, PLUMB_I8) : generic_arg(d, c, 1),
                           as_type(d, c, 2, PLUMB_I64)};
  plumb_inst *inst =
      plumb_build(&d->b, set ? PLUMB_OP_MEMSET : PLUMB_OP_MEMCPY, PLUMB_I8, NULL, 0, operands, 3);
  inst->align_log2 = promised_log2(c, 0);
  if (!set) inst->sub = promised_log2(c, 1);
  if (c->args > 3 && LLVMIsAConstantInt(LLVMGetOperand(c->inst, 3)) &&
      LLVMConstIntGetZExtValue(LLVMGetOperand(c->inst, 3)))
    inst->flags |= PLUMB_FLAG_VOLATILE;
  if (c->result.count) plumb_llvm_define(d, c->inst, plumb_llvm_arg(d, c, 0));
}

static const char *constant_text(plumb_llvm_decoder *d, LLVMValueRef v) {
  while (LLVMIsAConstantExpr(v) || LLVMIsACastInst(v)) v = LLVMGetOperand(v, 0);
  LLVMValueRef init = LLVMIsAGlobalVariable(v) ? LLVMGetInitializer(v) : NULL;
  if (!init || !LLVMIsConstantString(init)) return NULL;
  size_t length;
  const char *text = LLVMGetAsString(init, &length);
  return plumb_arena_copy_text(d->arena, text, length);
}

static void trap(plumb_llvm_decoder *d, const plumb_llvm_call *c, bool message) {
  const char *text = message ? constant_text(d, LLVMGetOperand(c->inst, 0)) : NULL;
  int64_t number = text ? plumb_string_add(d->program, text) : -1;
  plumb_build(&d->b, PLUMB_OP_TRAP, PLUMB_I1, NULL, 0, NULL, 0)->imm = number;
  /* TRAP ends its block; what LLVM still writes after the call goes to one of its own. */
  d->b.block = plumb_block_create(d->f);
}

/* The type of one printf argument in vprintf's buffer (C's promotions). */
static plumb_dtype printf_type(const char **at) {
  const char *c = *at;
  bool wide = false;
  while (*c && strchr("-+ #0123456789.*hlzjtqL", *c)) wide |= strchr("lzjtq", *c) != NULL, c++;
  char conversion = *c;
  *at = *c ? c + 1 : c;
  if (conversion && strchr("fFeEgGaA", conversion)) return PLUMB_F64;
  if (conversion == 's' || conversion == 'p') return PLUMB_I64;
  return wide ? PLUMB_I64 : PLUMB_I32;
}

enum { MAX_PRINT_ARGS = 32 };

static bool vprintf_call(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  const char *format = constant_text(d, LLVMGetOperand(c->inst, 0));
  if (!format || strchr(format, '*')) return false;
  plumb_reg operands[MAX_PRINT_ARGS], buffer = generic_arg(d, c, 1);
  size_t n = 0;
  int64_t offset = 0;
  for (const char *at = format; *at;) {
    if (*at++ != '%') continue;
    if (*at == '%') {
      at++;
      continue;
    }
    if (n == MAX_PRINT_ARGS) return false;
    plumb_dtype type = printf_type(&at);
    int64_t bytes = plumb_dtype_bytes(type);
    offset = (offset + bytes - 1) / bytes * bytes;
    operands[n++] = plumb_build_load(&d->b, type, PLUMB_SPACE_GENERIC, buffer, offset);
    offset += bytes;
  }
  int64_t text = plumb_string_add(d->program, format);
  plumb_build(&d->b, PLUMB_OP_PRINT, PLUMB_I32, NULL, 0, operands, n)->imm = text;
  if (c->result.count) plumb_llvm_define1(d, c->inst, plumb_constant(d->program, PLUMB_I32, n));
  return true;
}

static bool reflect(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  const char *key = constant_text(d, LLVMGetOperand(c->inst, 0));
  if (!key || c->result.count != 1) return false;
  plumb_llvm_define1(d, c->inst,
                     plumb_constant(d->program, c->result.items[0].type,
                                    (uint64_t)plumb_llvm_reflect(d->module, key)));
  return true;
}

/* llvm.nvvm.ldg.global.*(ptr, i32 align): a read-only load. */
static bool load_global(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  bool ok;
  plumb_llvm_run run = plumb_llvm_load(
      d, LLVMTypeOf(c->inst), plumb_llvm_arg1(d, c, 0), pointer_space(c, 0),
      LLVMConstIntGetZExtValue(LLVMGetOperand(c->inst, 1)), PLUMB_FLAG_NONTEMPORAL, &ok);
  if (ok) plumb_llvm_define(d, c->inst, run);
  return ok;
}

static bool allocate(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_reg bytes = as_type(d, c, 0, PLUMB_I64);
  plumb_reg r = plumb_reg_create(d->f, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_ALLOC, PLUMB_I64, &r, 1, &bytes, 1)->imm = 16;
  plumb_llvm_define1(d, c->inst, r);
  return true;
}

static bool space_operation(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  plumb_reg a = plumb_llvm_arg1(d, c, 0);
  plumb_dtype type = c->row->op == PLUMB_OP_IS_SPACE ? PLUMB_I1 : PLUMB_I64;
  plumb_reg r = plumb_reg_create(d->f, type);
  plumb_build(&d->b, (plumb_op)c->row->op, type, &r, 1, &a, 1)->space = (uint8_t)c->row->sub;
  plumb_llvm_define1(d, c->inst, r);
  return true;
}

/* llvm.nvvm.atomic.<op>.gen.{i,f}.{cta,sys} and the older load.inc.32 forms. */
static bool nvvm_atomic(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  static const struct {
    const char *name;
    uint8_t op;
  } names[] = {{".add.gen", PLUMB_ATOMIC_ADD},     {".exch.gen", PLUMB_ATOMIC_EXCH},
               {".max.gen", PLUMB_ATOMIC_MAX_S},   {".min.gen", PLUMB_ATOMIC_MIN_S},
               {".inc.gen", PLUMB_ATOMIC_INC},     {".dec.gen", PLUMB_ATOMIC_DEC},
               {".and.gen", PLUMB_ATOMIC_AND},     {".or.gen", PLUMB_ATOMIC_OR},
               {".xor.gen", PLUMB_ATOMIC_XOR},     {".cas.gen", PLUMB_ATOMIC_CAS},
               {".load.inc.32", PLUMB_ATOMIC_INC}, {".load.dec.32", PLUMB_ATOMIC_DEC}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strncmp(c->rest, names[i].name, strlen(names[i].name)) != 0) continue;
    bool known;
    plumb_space space = plumb_llvm_space(pointer_space(c, 0), &known);
    plumb_reg operands[3];
    if (!known || c->result.count != 1 || c->args > 3) return false;
    for (unsigned k = 0; k < c->args; k++) operands[k] = plumb_llvm_arg1(d, c, k);
    plumb_reg r = plumb_reg_create(d->f, c->result.items[0].type);
    plumb_inst *inst =
        plumb_build(&d->b, PLUMB_OP_ATOMIC, c->result.items[0].type, &r, 1, operands, c->args);
    inst->sub = names[i].op;
    inst->space = (uint8_t)space;
    inst->flags |= PLUMB_FLAG_RELAXED;
    if (strstr(c->rest, ".cta"))
      inst->flags |= PLUMB_FLAG_SCOPE_CTA;
    else if (!strstr(c->rest, ".sys"))
      inst->flags |= PLUMB_FLAG_SCOPE_GPU;
    plumb_llvm_define1(d, c->inst, r);
    return true;
  }
  return false;
}

bool plumb_llvm_call_memory(plumb_llvm_decoder *d, const plumb_llvm_call *c) {
  switch ((plumb_llvm_kind)c->row->kind) {
    case PLUMB_LLVM_KIND_MEMCPY:
    case PLUMB_LLVM_KIND_MEMCPY_FUNCTION:
      memory_copy(d, c, false);
      return true;
    case PLUMB_LLVM_KIND_MEMSET:
    case PLUMB_LLVM_KIND_MEMSET_FUNCTION:
      memory_copy(d, c, true);
      return true;
    case PLUMB_LLVM_KIND_TRAP:
      trap(d, c, false);
      return true;
    case PLUMB_LLVM_KIND_ASSERT:
      trap(d, c, true);
      return true;
    case PLUMB_LLVM_KIND_VPRINTF:
      return vprintf_call(d, c);
    case PLUMB_LLVM_KIND_REFLECT:
      return reflect(d, c);
    case PLUMB_LLVM_KIND_LDG:
      return load_global(d, c);
    case PLUMB_LLVM_KIND_MALLOC:
      return allocate(d, c);
    case PLUMB_LLVM_KIND_FREE: {
      plumb_reg a = generic_arg(d, c, 0);
      plumb_build(&d->b, PLUMB_OP_FREE, PLUMB_I64, NULL, 0, &a, 1);
      return true;
    }
    case PLUMB_LLVM_KIND_IS_SPACE:
    case PLUMB_LLVM_KIND_TO_GENERIC:
    case PLUMB_LLVM_KIND_FROM_GENERIC:
      return space_operation(d, c);
    case PLUMB_LLVM_KIND_NVVM_ATOMIC:
      return nvvm_atomic(d, c);
    default:
      return false;
  }
}

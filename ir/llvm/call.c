/* Calls: to functions of the module, to known functions and intrinsics. */
#include "ir/llvm/call.h"

#include <string.h>

#include "ir/operations.h"

static const plumb_llvm_row rows[] = {
#define X(name, kind, op, sub, flags, round) \
  {name, PLUMB_LLVM_KIND_##kind, PLUMB_##round, PLUMB_OP_##op, sub, flags},
#include "ir/llvm/intrinsics.def"
#undef X
};

static const char *const instructions[] = {"ret",           "br",
                                           "switch",        "unreachable",
                                           "fneg",          "add",
                                           "fadd",          "sub",
                                           "fsub",          "mul",
                                           "fmul",          "udiv",
                                           "sdiv",          "fdiv",
                                           "urem",          "srem",
                                           "frem",          "shl",
                                           "lshr",          "ashr",
                                           "and",           "or",
                                           "xor",           "alloca",
                                           "load",          "store",
                                           "getelementptr", "fence",
                                           "cmpxchg",       "atomicrmw",
                                           "trunc",         "zext",
                                           "sext",          "fptrunc",
                                           "fpext",         "fptoui",
                                           "fptosi",        "uitofp",
                                           "sitofp",        "ptrtoint",
                                           "inttoptr",      "bitcast",
                                           "addrspacecast", "icmp",
                                           "fcmp",          "phi",
                                           "select",        "freeze",
                                           "call",          "extractelement",
                                           "insertelement", "shufflevector",
                                           "extractvalue",  "insertvalue",
                                           "asm (PTX)"};

enum {
  ROW_COUNT = sizeof rows / sizeof *rows,
  INSTRUCTION_COUNT = sizeof instructions / sizeof *instructions
};

const char *plumb_llvm_operation_name(size_t index) {
  if (index < INSTRUCTION_COUNT) return instructions[index];
  index -= INSTRUCTION_COUNT;
  return index < ROW_COUNT ? rows[index].name : NULL;
}

static bool reads_modifiers(const plumb_llvm_row *row) {
  switch (row->kind) {
    case PLUMB_LLVM_KIND_ARITH:
    case PLUMB_LLVM_KIND_ARITH_RCP:
    case PLUMB_LLVM_KIND_ARITH_SATURATE:
    case PLUMB_LLVM_KIND_CONVERT:
    case PLUMB_LLVM_KIND_CONVERT_F16:
    case PLUMB_LLVM_KIND_CONVERT_PAIR:
    case PLUMB_LLVM_KIND_BITCAST:
    case PLUMB_LLVM_KIND_SREG:
    case PLUMB_LLVM_KIND_NVVM_ATOMIC:
    case PLUMB_LLVM_KIND_PTX:
      return true;
    default:
      return false;
  }
}

/* "i32", "f64", "bf16", "v4f32", "p0", "i32p": the mangling of an overloaded type, or
 * NVVM's type letter. */
static bool is_type_suffix(const char *s, size_t n) {
  while (n && *s && strchr("ifbpvsd", *s)) s++, n--;
  bool digits = n > 0 && *s >= '0' && *s <= '9';
  for (; n; s++, n--)
    if (!((*s >= '0' && *s <= '9') || strchr("ifbpvs", *s))) return false;
  return digits;
}

/* The row with the longest name that `name` starts with at a dot; what is left over
 * must be type suffixes, or modifiers that the row's kind reads itself. */
const plumb_llvm_row *plumb_llvm_find_row(const char *name) {
  size_t length = strlen(name);
  bool only_types = true;
  for (;;) {
    for (size_t i = 0; i < ROW_COUNT; i++)
      if (strncmp(rows[i].name, name, length) == 0 && !rows[i].name[length] &&
          (only_types || reads_modifiers(&rows[i])))
        return &rows[i];
    size_t dot = length;
    while (dot && name[dot - 1] != '.') dot--;
    if (dot < 2) return NULL;
    only_types = only_types && is_type_suffix(name + dot, length - dot);
    length = dot - 1;
  }
}

plumb_llvm_run plumb_llvm_arg(plumb_llvm_decoder *d, const plumb_llvm_call *c, unsigned i) {
  return plumb_llvm_value(d, LLVMGetOperand(c->inst, i));
}

plumb_reg plumb_llvm_arg1(plumb_llvm_decoder *d, const plumb_llvm_call *c, unsigned i) {
  return plumb_llvm_scalar(d, LLVMGetOperand(c->inst, i));
}

plumb_llvm_run plumb_llvm_run_of(plumb_llvm_decoder *d, size_t count) {
  return (plumb_llvm_run){PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1), count};
}

plumb_reg plumb_llvm_emit(plumb_llvm_decoder *d, const plumb_llvm_call *c, plumb_op op,
                          plumb_dtype type, const plumb_reg *operands, size_t count) {
  plumb_reg r = plumb_reg_create(d->f, type);
  plumb_inst *inst = plumb_build(&d->b, op, type, &r, 1, operands, count);
  inst->sub = (uint8_t)c->row->sub;
  inst->flags |= c->row->flags;
  inst->round = c->row->round;
  return r;
}

bool plumb_llvm_intrinsic(plumb_llvm_decoder *d, LLVMValueRef inst, const char *name) {
  plumb_llvm_call c = {.inst = inst, .name = name, .row = plumb_llvm_find_row(name)};
  if (!c.row) return false;
  c.rest = name + strlen(c.row->name);
  c.args = LLVMGetNumArgOperands(inst);
  c.result = plumb_llvm_value_leaves(d, inst);
  return plumb_llvm_call_generic(d, &c) || plumb_llvm_call_integer(d, &c) ||
         plumb_llvm_call_memory(d, &c) || plumb_llvm_call_nvvm(d, &c) ||
         plumb_llvm_call_sync(d, &c) || plumb_llvm_call_ptx(d, &c);
}

/* --- calls --- */

/* A byval argument is the callee's own copy: it is made in the caller's frame. */
static plumb_reg byval_copy(plumb_llvm_decoder *d, LLVMTypeRef type, LLVMValueRef argument) {
  uint64_t size = LLVMABISizeOfType(d->layout, type);
  uint32_t at = plumb_frame_reserve(d->f, size ? size : 1, 16);
  plumb_reg local = plumb_reg_create(d->f, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_FRAME, PLUMB_I64, &local, 1, NULL, 0)->imm = at;
  unsigned from = LLVMGetPointerAddressSpace(LLVMTypeOf(argument));
  plumb_reg copy = plumb_llvm_to_generic(d, local, 5);
  plumb_reg operands[3] = {copy, plumb_llvm_to_generic(d, plumb_llvm_scalar(d, argument), from),
                           plumb_constant(d->program, PLUMB_I64, size)};
  plumb_build(&d->b, PLUMB_OP_MEMCPY, PLUMB_I8, NULL, 0, operands, 3);
  return from == 0 ? copy : local;
}

static plumb_llvm_run call_arguments(plumb_llvm_decoder *d, LLVMValueRef inst, bool indirect) {
  unsigned n = LLVMGetNumArgOperands(inst), byval = LLVMGetEnumAttributeKindForName("byval", 5);
  plumb_llvm_run all = {0};
  size_t capacity = 0;
  if (indirect) {
    all.regs = plumb_arena_grow(d->arena, NULL, &capacity, 1, sizeof *all.regs);
    all.regs[all.count++] = plumb_llvm_scalar(d, LLVMGetCalledValue(inst));
  }
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef argument = LLVMGetOperand(inst, i);
    LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(inst, i + 1, byval);
    plumb_llvm_run run;
    if (a) {
      run = plumb_llvm_run_of(d, 1);
      run.regs[0] = byval_copy(d, LLVMGetTypeAttributeValue(a), argument);
    } else {
      run = plumb_llvm_value(d, argument);
    }
    all.regs = plumb_arena_grow(d->arena, all.regs, &capacity, all.count + run.count + 1,
                                sizeof *all.regs);
    for (size_t k = 0; k < run.count; k++) all.regs[all.count++] = run.regs[k];
  }
  return all;
}

static void call_function(plumb_llvm_decoder *d, LLVMValueRef inst, LLVMValueRef callee) {
  bool indirect = !LLVMIsAFunction(callee);
  plumb_llvm_run args = call_arguments(d, inst, indirect);
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, inst);
  plumb_llvm_run run = plumb_llvm_fresh(d, &leaves);
  if (indirect)
    plumb_build(&d->b, PLUMB_OP_CALL_INDIRECT, PLUMB_I1, run.regs, run.count, args.regs,
                args.count);
  else
    plumb_build_call(&d->b, LLVMGetValueName(callee), run.regs, run.count, args.regs, args.count);
  plumb_llvm_define(d, inst, run);
}

void plumb_llvm_decode_call(plumb_llvm_decoder *d, LLVMValueRef inst) {
  LLVMValueRef callee = LLVMGetCalledValue(inst);
  if (LLVMIsAInlineAsm(callee)) {
    plumb_llvm_inline_asm(d, inst);
    return;
  }
  if (!LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee)) {
    call_function(d, inst, callee);
    return;
  }
  const char *name = LLVMGetValueName(callee);
  if (!plumb_llvm_intrinsic(d, inst, name))
    plumb_llvm_unsupported(
        d, inst,
        plumb_arena_printf(d->arena, "llvm call of %s%s",
                           LLVMGetIntrinsicID(callee) ? "" : "external function ", name));
}

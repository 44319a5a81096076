/* Modules and functions: the driver of the decoder. */
#include "ir/llvm/llvm.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "ir/llvm/decoder.h"

enum { PTX_KERNEL_CALL_CONV = 71 };

/* --- __nvvm_reflect --- */

static bool module_flag(LLVMModuleRef module, const char *key, int64_t *out) {
  LLVMMetadataRef flag = LLVMGetModuleFlag(module, key, strlen(key));
  if (!flag) return false;
  LLVMValueRef value = LLVMMetadataAsValue(LLVMGetModuleContext(module), flag);
  if (LLVMGetMDNodeNumOperands(value) == 1) LLVMGetMDNodeOperands(value, &value);
  if (!LLVMIsAConstantInt(value)) return false;
  *out = LLVMConstIntGetSExtValue(value);
  return true;
}

static int target_sm(LLVMModuleRef module) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(
        f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "target-cpu", 10);
    if (!a) continue;
    unsigned length;
    const char *cpu = LLVMGetStringAttributeValue(a, &length);
    if (strncmp(cpu, "sm_", 3) == 0) return atoi(cpu + 3);
  }
  return 0;
}

int plumb_llvm_reflect(LLVMModuleRef module, const char *key) {
  int64_t value = 0;
  if (strcmp(key, "__CUDA_FTZ") == 0)
    return module_flag(module, "nvvm-reflect-ftz", &value) ? (int)value : 0;
  if (strcmp(key, "__CUDA_PREC_SQRT") == 0)
    return module_flag(module, "nvvm-reflect-prec-sqrt", &value) ? (int)value : 1;
  if (strcmp(key, "__CUDA_ARCH") == 0) return target_sm(module) * 10;
  return 0;
}

/* The text behind the argument of __nvvm_reflect, through casts and a zero offset. */
static const char *reflect_key(LLVMValueRef call) {
  LLVMValueRef v = LLVMGetOperand(call, 0);
  while (LLVMIsAConstantExpr(v) || LLVMIsACastInst(v)) v = LLVMGetOperand(v, 0);
  if (!LLVMIsAGlobalVariable(v)) return NULL;
  LLVMValueRef init = LLVMGetInitializer(v);
  size_t length;
  return init && LLVMIsConstantString(init) ? LLVMGetAsString(init, &length) : NULL;
}

unsigned plumb_llvm_resolve_reflect(LLVMModuleRef module) {
  unsigned replaced = 0;
  LLVMValueRef f = LLVMGetNamedFunction(module, "__nvvm_reflect");
  if (!f) return 0;
  for (LLVMUseRef u = LLVMGetFirstUse(f), next; u; u = next) {
    next = LLVMGetNextUse(u);
    LLVMValueRef call = LLVMGetUser(u);
    const char *key = LLVMIsACallInst(call) ? reflect_key(call) : NULL;
    if (!key) continue;
    int answer = plumb_llvm_reflect(module, key);
    LLVMReplaceAllUsesWith(call, LLVMConstInt(LLVMTypeOf(call), (unsigned long long)answer, false));
    LLVMInstructionEraseFromParent(call);
    replaced++;
  }
  return replaced;
}

/* --- locations --- */

/* The line of every instruction in the module's printed text, in order of appearance:
 * an instruction starts after exactly two spaces; what a long one continues on is
 * indented further or closes a bracket. */
typedef struct line_list {
  int *lines;
  size_t count, capacity, next;
} line_list;

static line_list instruction_lines(plumb_llvm_decoder *d) {
  line_list list = {0};
  char *text = LLVMPrintModuleToString(d->module);
  bool inside = false;
  int line = 1;
  for (const char *c = text; *c; line++) {
    if (strncmp(c, "define ", 7) == 0)
      inside = true;
    else if (*c == '}')
      inside = false;
    else if (inside && c[0] == ' ' && c[1] == ' ' && c[2] != ' ' && c[2] != ']') {
      list.lines = plumb_arena_grow(d->arena, list.lines, &list.capacity, list.count + 1,
                                    sizeof *list.lines);
      list.lines[list.count++] = line;
    }
    const char *end = strchr(c, '\n');
    if (!end) break;
    c = end + 1;
  }
  LLVMDisposeMessage(text);
  return list;
}

static const char *file_name(plumb_llvm_decoder *d, LLVMMetadataRef scope) {
  LLVMMetadataRef file = scope ? LLVMDIScopeGetFile(scope) : NULL;
  unsigned length = 0;
  const char *name = file ? LLVMDIFileGetFilename(file, &length) : NULL;
  return name && length ? plumb_arena_copy_text(d->arena, name, length) : NULL;
}

static const char *subprogram_file(plumb_llvm_decoder *d, LLVMValueRef f) {
  return file_name(d, LLVMGetSubprogram(f));
}

static const char *scope_file(plumb_llvm_decoder *d, LLVMMetadataRef location) {
  return file_name(d, LLVMDILocationGetScope(location));
}

/* The innermost location; but where a header was inlined, the innermost one in the
 * function's own source file, which is the one that its author knows. */
static uint32_t instruction_loc(plumb_llvm_decoder *d, LLVMValueRef inst, int stage_line) {
  LLVMMetadataRef location = LLVMInstructionGetDebugLoc(inst);
  if (!location) return plumb_loc_add(d->program, NULL, 0, 0, stage_line);
  LLVMMetadataRef chosen = location;
  for (LLVMMetadataRef at = location; at; at = LLVMDILocationGetInlinedAt(at)) {
    const char *file = scope_file(d, at);
    if (file && d->source_file && strcmp(file, d->source_file) == 0) {
      chosen = at;
      break;
    }
  }
  return plumb_loc_add(d->program, scope_file(d, chosen), (int)LLVMDILocationGetLine(chosen),
                       (int)LLVMDILocationGetColumn(chosen), stage_line);
}

/* --- functions --- */

static const char *string_attribute(plumb_arena *arena, LLVMValueRef f, const char *key) {
  LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(
      f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, key, (unsigned)strlen(key));
  if (!a) return NULL;
  unsigned length;
  const char *value = LLVMGetStringAttributeValue(a, &length);
  return plumb_arena_copy_text(arena, value, length);
}

/* !nvvm.annotations = !{!{ptr @k, !"kernel", i32 1}, ...} */
static bool annotated_kernel(plumb_llvm_decoder *d, LLVMValueRef f) {
  unsigned n = LLVMGetNamedMetadataNumOperands(d->module, "nvvm.annotations");
  LLVMValueRef *nodes = PLUMB_NEW_ARRAY(d->arena, LLVMValueRef, n + 1);
  LLVMGetNamedMetadataOperands(d->module, "nvvm.annotations", nodes);
  for (unsigned i = 0; i < n; i++) {
    unsigned operands = LLVMGetMDNodeNumOperands(nodes[i]);
    LLVMValueRef *items = PLUMB_NEW_ARRAY(d->arena, LLVMValueRef, operands + 1);
    LLVMGetMDNodeOperands(nodes[i], items);
    for (unsigned k = 1; k + 1 < operands && items[0] == f; k += 2) {
      unsigned length;
      const char *key = items[k] ? LLVMGetMDString(items[k], &length) : NULL;
      if (key && length == 6 && strncmp(key, "kernel", 6) == 0) return true;
    }
  }
  return false;
}

static bool is_kernel(plumb_llvm_decoder *d, LLVMValueRef f) {
  return LLVMGetFunctionCallConv(f) == PTX_KERNEL_CALL_CONV ||
         string_attribute(d->arena, f, "nvvm.kernel") || annotated_kernel(d, f);
}

/* "denormal-fp-math-f32"="output,input"; one word stands for both. */
static uint32_t denormal_flags(plumb_llvm_decoder *d, LLVMValueRef f) {
  const char *text = string_attribute(d->arena, f, "denormal-fp-math-f32");
  if (!text) text = string_attribute(d->arena, f, "denormal-fp-math");
  if (!text) return 0;
  const char *input = strchr(text, ',');
  input = input ? input + 1 : text;
  bool out = strncmp(text, "preserve-sign", 13) == 0;
  bool in = strncmp(input, "preserve-sign", 13) == 0;
  if (out && in) return PLUMB_FLAG_FTZ;
  return out ? PLUMB_FLAG_FTZ_OUT : in ? PLUMB_FLAG_FTZ_IN : 0u;
}

static uint64_t parameter_align(plumb_llvm_decoder *d, LLVMValueRef f, unsigned i,
                                LLVMTypeRef type) {
  LLVMAttributeRef a =
      LLVMGetEnumAttributeAtIndex(f, i + 1, LLVMGetEnumAttributeKindForName("align", 5));
  uint64_t abi = LLVMABIAlignmentOfType(d->layout, type);
  return a && LLVMGetEnumAttributeValue(a) > abi ? LLVMGetEnumAttributeValue(a) : abi;
}

static LLVMTypeRef byval_type(LLVMValueRef f, unsigned i) {
  LLVMAttributeRef a =
      LLVMGetEnumAttributeAtIndex(f, i + 1, LLVMGetEnumAttributeKindForName("byval", 5));
  return a ? LLVMGetTypeAttributeValue(a) : NULL;
}

/* A kernel's parameter is read from param space; of a byval pointer the address there
 * is taken. */
static void kernel_parameter(plumb_llvm_decoder *d, LLVMValueRef f, unsigned i) {
  LLVMValueRef param = LLVMGetParam(f, i);
  LLVMTypeRef type = LLVMTypeOf(param), byval = byval_type(f, i);
  LLVMTypeRef stored = byval ? byval : type;
  plumb_llvm_leaves leaves = {0};
  bool laid_out = plumb_llvm_type_leaves(d, stored, 0, &leaves);
  uint64_t size = LLVMABISizeOfType(d->layout, stored);
  uint64_t align =
      byval ? parameter_align(d, f, i, stored) : LLVMABIAlignmentOfType(d->layout, stored);
  size_t length;
  const char *name = LLVMGetValueName2(param, &length);
  plumb_dtype shown = laid_out && leaves.count == 1 ? leaves.items[0].type : PLUMB_I8;
  uint32_t offset = plumb_function_add_kernel_param(d->f, length ? name : NULL, shown,
                                                    (uint32_t)size, (uint32_t)align);
  plumb_reg base = plumb_constant(d->program, PLUMB_I64, offset);
  if (byval) {
    plumb_llvm_define1(
        d, param,
        LLVMGetPointerAddressSpace(type) == 0 ? plumb_llvm_to_generic(d, base, 101) : base);
    return;
  }
  bool ok = laid_out;
  plumb_llvm_run run = {0};
  if (ok) run = plumb_llvm_load(d, type, base, 101, align, 0, &ok);
  if (ok)
    plumb_llvm_define(d, param, run);
  else
    plumb_llvm_unsupported(d, param, "llvm kernel parameter of this type");
}

static void device_parameter(plumb_llvm_decoder *d, LLVMValueRef f, unsigned i) {
  LLVMValueRef param = LLVMGetParam(f, i);
  plumb_llvm_leaves leaves = plumb_llvm_value_leaves(d, param);
  plumb_llvm_run run = {PLUMB_NEW_ARRAY(d->arena, plumb_reg, leaves.count + 1), leaves.count};
  for (size_t k = 0; k < leaves.count; k++)
    run.regs[k] = plumb_function_add_param(d->f, NULL, leaves.items[k].type);
  plumb_llvm_define(d, param, run);
}

/* "256" or "16,16,1": what is left out is 1; absent: zeros. */
static void three_numbers(const char *text, uint32_t out[3]) {
  char *end;
  for (int i = 0; text && *text && i < 3; i++) {
    out[i] = (uint32_t)strtoul(text, &end, 10);
    text = *end == ',' ? end + 1 : end;
  }
  for (int i = 1; out[0] && i < 3; i++)
    if (!out[i]) out[i] = 1;
}

static void thread_limits(plumb_llvm_decoder *d, LLVMValueRef f) {
  const char *most = string_attribute(d->arena, f, "nvvm.maxntid");
  const char *exact = string_attribute(d->arena, f, "nvvm.reqntid");
  char *end;
  if (most) {
    d->f->max_threads = 1;
    for (const char *c = most; *c; c = *end == ',' ? end + 1 : end) {
      unsigned long n = strtoul(c, &end, 10);
      if (end == c) break;
      d->f->max_threads *= (uint32_t)n;
    }
  }
  three_numbers(exact, d->f->required_threads);
  three_numbers(string_attribute(d->arena, f, "nvvm.cluster_dim"), d->f->required_cluster);
}

static void result_types(plumb_llvm_decoder *d, LLVMValueRef f) {
  plumb_llvm_leaves leaves = {0};
  LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(f));
  if (!plumb_llvm_type_leaves(d, type, 0, &leaves)) leaves.count = 0;
  d->f->result_types = PLUMB_NEW_ARRAY(d->arena, plumb_dtype, leaves.count + 1);
  d->f->result_count = leaves.count;
  for (size_t i = 0; i < leaves.count; i++) d->f->result_types[i] = leaves.items[i].type;
}

static void decode_function(plumb_llvm_decoder *d, LLVMValueRef f, line_list *lines) {
  bool kernel = is_kernel(d, f);
  d->f =
      plumb_function_create(d->program, LLVMGetValueName(f), kernel ? PLUMB_KERNEL : PLUMB_DEVICE);
  d->function = f;
  d->values = (plumb_llvm_map){0};
  d->blocks = (plumb_llvm_map){0};
  d->denormal_flags = denormal_flags(d, f);
  d->source_file = subprogram_file(d, f);
  /* A block of our own comes first: parameters are read there, and an entry block
   * that LLVM IR forbids to branch to stays that way. */
  d->b = plumb_builder_at(d->f, plumb_block_create(d->f));
  thread_limits(d, f);
  if (!kernel) result_types(d, f);
  for (unsigned i = 0; i < LLVMCountParams(f); i++) {
    if (kernel)
      kernel_parameter(d, f, i);
    else
      device_parameter(d, f, i);
  }
  plumb_build_bra(&d->b, plumb_llvm_block(d, LLVMGetEntryBasicBlock(f)));
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
       block = LLVMGetNextBasicBlock(block)) {
    d->b = plumb_builder_at(d->f, plumb_llvm_block(d, block));
    for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst;
         inst = LLVMGetNextInstruction(inst)) {
      int line = lines->next < lines->count ? lines->lines[lines->next] : 0;
      lines->next++;
      d->inst = inst;
      d->b.loc = instruction_loc(d, inst, line);
      plumb_llvm_decode_inst(d, inst);
    }
    if (!plumb_builder_terminated(&d->b)) {
      plumb_build_unsupported(&d->b, "llvm terminator", NULL, 0);
      plumb_build(&d->b, PLUMB_OP_UNREACHABLE, PLUMB_I1, NULL, 0, NULL, 0);
    }
  }
}

plumb_status plumb_llvm_decode(plumb_program *program, LLVMModuleRef module, const char *path,
                               plumb_diag *diag) {
  plumb_llvm_decoder d = {.program = program,
                          .arena = program->arena,
                          .module = module,
                          .context = LLVMGetModuleContext(module),
                          .path = path,
                          .diag = diag};
  d.layout = LLVMGetModuleDataLayout(module);
  if (LLVMPointerSize(d.layout) != 8)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, path, 0, 0,
                      "pointers of this module have %u bytes: only 64-bit targets are executed",
                      LLVMPointerSize(d.layout));
  d.scope_cta = LLVMGetSyncScopeID(d.context, "block", 5);
  d.scope_gpu = LLVMGetSyncScopeID(d.context, "device", 6);
  d.scope_cluster = LLVMGetSyncScopeID(d.context, "cluster", 7);
  d.scope_thread = LLVMGetSyncScopeID(d.context, "singlethread", 12);
  plumb_llvm_decode_globals(&d);
  line_list lines = instruction_lines(&d);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f)) decode_function(&d, f, &lines);
  return PLUMB_OK;
}

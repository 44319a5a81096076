/* The llvm dialect: functions, globals, calls and branches (LLVMOps.td). */
#include <string.h>

#include "ir/mlir/llvm_internal.h"

/* --- functions --- */

static bool in_gpu_module(MlirOperation op) {
  MlirOperation parent = mlirOperationGetParentOperation(op);
  return !mlirOperationIsNull(parent) && plumb_mlir_name_is(parent, "gpu.module");
}

/* Device code also comes as a plain module whose triple names the target. */
static bool is_device(plumb_mlir_decoder *d, MlirOperation op) {
  if (in_gpu_module(op)) return true;
  MlirOperation parent = mlirOperationGetParentOperation(op);
  return !mlirOperationIsNull(parent) &&
         strstr(plumb_mlir_attribute_text(d, parent, "llvm.target_triple"), "nvptx") != NULL;
}

static plumb_function_kind kind_of(plumb_mlir_decoder *d, MlirOperation op) {
  MlirAttribute ignored;
  if (plumb_mlir_attribute(op, "nvvm.kernel", &ignored) ||
      plumb_mlir_attribute(op, "gpu.kernel", &ignored) ||
      strstr(plumb_mlir_attribute_text(d, op, "CConv"), "ptx_kernelcc"))
    return PLUMB_KERNEL;
  return is_device(d, op) ? PLUMB_DEVICE : PLUMB_HOST;
}

static void set_thread_limits(plumb_mlir_decoder *d, MlirOperation op, const char *name) {
  plumb_function *f = plumb_program_find(d->program, name);
  const int64_t *values;
  size_t count;
  if (!f) return;
  if (plumb_mlir_attribute_ints(d, op, "nvvm.maxntid", &values, &count)) {
    uint64_t product = 1;
    for (size_t i = 0; i < count; i++) product *= (uint64_t)values[i];
    f->max_threads = product <= UINT32_MAX ? (uint32_t)product : 0;
  }
  if (plumb_mlir_attribute_ints(d, op, "nvvm.reqntid", &values, &count))
    for (size_t i = 0; i < 3; i++) f->required_threads[i] = i < count ? (uint32_t)values[i] : 1;
  if (plumb_mlir_attribute_ints(d, op, "nvvm.cluster_dim", &values, &count))
    for (size_t i = 0; i < 3; i++) f->required_cluster[i] = i < count ? (uint32_t)values[i] : 1;
}

/* The dictionary of argument `i` of a function or a call; false where it has none. */
static bool argument_attribute(MlirOperation op, intptr_t i, const char *name, MlirAttribute *out) {
  MlirAttribute all;
  if (!plumb_mlir_attribute(op, "arg_attrs", &all) || !mlirAttributeIsAArray(all) ||
      i >= mlirArrayAttrGetNumElements(all))
    return false;
  MlirAttribute own = mlirArrayAttrGetElement(all, i);
  if (!mlirAttributeIsADictionary(own)) return false;
  *out = mlirDictionaryAttrGetElementByName(own, mlirStringRefCreateFromCString(name));
  return !mlirAttributeIsNull(*out);
}

/* A pointer argument that stands for the bytes behind it (LLVM Language Reference 22,
 * Parameter Attributes, byval): their layout. */
static bool byval_layout(plumb_mlir_decoder *d, MlirOperation op, intptr_t i,
                         plumb_mlir_llvm_layout *out) {
  MlirAttribute type;
  return argument_attribute(op, i, "llvm.byval", &type) && mlirAttributeIsAType(type) &&
         plumb_mlir_llvm_layout_of(d, mlirTypeAttrGetValue(type), out);
}

bool plumb_mlir_llvm_byval_param(plumb_mlir_decoder *d, MlirOperation op, intptr_t i,
                                 plumb_reg *out_address) {
  plumb_mlir_llvm_layout layout;
  MlirAttribute align;
  if (!byval_layout(d, op, i, &layout)) return false;
  int64_t bytes = layout.align;
  if (argument_attribute(op, i, "llvm.align", &align) && mlirAttributeIsAInteger(align) &&
      mlirIntegerAttrGetValueInt(align) > bytes)
    bytes = mlirIntegerAttrGetValueInt(align);
  uint32_t offset = plumb_function_add_kernel_param(d->b.function, NULL, PLUMB_I8,
                                                    (uint32_t)layout.size_bytes, (uint32_t)bytes);
  *out_address = plumb_mlir_llvm_generic(d, plumb_mlir_i64(d, (int64_t)offset), PLUMB_SPACE_PARAM);
  return true;
}

/* "output,input"; one word stands for both (LLVM Language Reference 22, Function
 * Attributes, denormal-fp-math). */
static uint32_t denormal_mode(MlirOperation op) {
  MlirAttribute attribute;
  if (!plumb_mlir_attribute(op, "denormal_fp_math_f32", &attribute) &&
      !plumb_mlir_attribute(op, "denormal_fp_math", &attribute))
    return 0;
  if (!mlirAttributeIsAString(attribute)) return 0;
  const char flush[] = "preserve-sign";
  const size_t n = sizeof flush - 1;
  MlirStringRef text = mlirStringAttrGetValue(attribute);
  const char *comma = memchr(text.data, ',', text.length);
  const char *input = comma ? comma + 1 : text.data;
  size_t left = text.length - (size_t)(input - text.data);
  bool out = text.length >= n && memcmp(text.data, flush, n) == 0;
  bool in = left >= n && memcmp(input, flush, n) == 0;
  return out && in
             ? (uint32_t)PLUMB_FLAG_FTZ
             : (out ? (uint32_t)PLUMB_FLAG_FTZ_OUT : 0u) | (in ? (uint32_t)PLUMB_FLAG_FTZ_IN : 0u);
}

/* Operations whose f32 form follows the function's denormal mode; a conversion that
 * touches f32 does, but for one from an integer. */
static bool follows_denormal_mode(const plumb_inst *inst) {
  switch (inst->op) {
    case PLUMB_OP_ADD:
    case PLUMB_OP_SUB:
    case PLUMB_OP_MUL:
    case PLUMB_OP_DIV:
    case PLUMB_OP_REM_F:
    case PLUMB_OP_FMA:
    case PLUMB_OP_MIN:
    case PLUMB_OP_MAX:
    case PLUMB_OP_SQRT:
    case PLUMB_OP_ROUND_INT:
    case PLUMB_OP_APPROX:
      return inst->type == PLUMB_F32;
    case PLUMB_OP_CMP:
      return inst->type2 == PLUMB_F32;
    case PLUMB_OP_CVT:
      return inst->type2 == PLUMB_F32 ||
             (inst->type == PLUMB_F32 && plumb_dtype_is_float((plumb_dtype)inst->type2));
    default:
      return false;
  }
}

static bool is_nvvm(plumb_mlir_decoder *d, MlirOperation op) {
  if (strncmp(plumb_mlir_name(d, op), "llvm.", 5) != 0 || plumb_mlir_name_is(op, "llvm.inline_asm"))
    return true;
  MlirAttribute name;
  if (!plumb_mlir_attribute(op, "intrin", &name) || !mlirAttributeIsAString(name)) return false;
  MlirStringRef text = mlirStringAttrGetValue(name);
  return text.length > 10 && memcmp(text.data, "llvm.nvvm.", 10) == 0;
}

void plumb_mlir_llvm_follow_denormal_mode(plumb_mlir_decoder *d, MlirOperation op, uint32_t block,
                                          size_t count, size_t blocks) {
  plumb_function *f = d->b.function;
  if (is_nvvm(d, op)) return;
  for (size_t b = block; b < f->block_count; b = b < blocks ? blocks : b + 1)
    for (size_t i = b == block ? count : 0; i < f->blocks[b].inst_count; i++)
      if (follows_denormal_mode(&f->blocks[b].insts[i]))
        f->blocks[b].insts[i].flags |= d->denormal_flags;
}

bool plumb_mlir_llvm_decode_func(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute attribute;
  MlirRegion body = mlirOperationGetRegion(op, 0);
  if (mlirBlockIsNull(mlirRegionGetFirstBlock(body))) return true; /* calls go by name */
  if (!plumb_mlir_attribute(op, "function_type", &attribute)) return false;
  MlirType type = mlirTypeAttrGetValue(attribute);
  const char *name = plumb_mlir_defined_name(d, op);
  size_t count = (size_t)mlirLLVMFunctionTypeGetNumInputs(type);
  MlirType *inputs = PLUMB_NEW_ARRAY(d->arena, MlirType, count + 1);
  for (size_t i = 0; i < count; i++) inputs[i] = mlirLLVMFunctionTypeGetInput(type, (intptr_t)i);
  MlirType result = mlirLLVMFunctionTypeGetReturnType(type);
  plumb_function_kind kind = kind_of(d, op);
  uint32_t outer = d->denormal_flags;
  d->denormal_flags = denormal_mode(op);
  plumb_mlir_function(d, op, name, kind, inputs, count, &result, 1, body);
  d->denormal_flags = outer;
  set_thread_limits(d, op, name);
  return true;
}

bool plumb_mlir_llvm_decode_return(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_leave(d, plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op)));
  return true;
}

/* --- globals --- */

MlirOperation plumb_mlir_find_symbol(plumb_mlir_decoder *d, const char *symbol) {
  for (MlirOperation scope = d->symbol_scope; !mlirOperationIsNull(scope);
       scope = mlirOperationGetParentOperation(scope)) {
    MlirBlock body = plumb_mlir_body(scope, 0);
    if (mlirBlockIsNull(body)) continue;
    for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
         op = mlirOperationGetNextInBlock(op)) {
      MlirAttribute name;
      if (!plumb_mlir_attribute(op, "sym_name", &name) || !mlirAttributeIsAString(name)) continue;
      MlirStringRef text = mlirStringAttrGetValue(name);
      if (text.length == strlen(symbol) && !memcmp(text.data, symbol, text.length)) return op;
    }
  }
  return (MlirOperation){NULL};
}

/* Writes the attribute's value as it lies in memory. */
static bool attribute_bytes(plumb_mlir_decoder *d, MlirAttribute value, MlirType type,
                            const plumb_mlir_llvm_layout *layout, uint8_t *bytes) {
  if (mlirAttributeIsAString(value)) {
    MlirStringRef text = mlirStringAttrGetValue(value);
    size_t length =
        text.length < (size_t)layout->size_bytes ? text.length : (size_t)layout->size_bytes;
    memcpy(bytes, text.data, length);
    return true;
  }
  plumb_mlir_run run;
  if (!plumb_mlir_constant_run(d, value, type, &run)) return false;
  for (size_t i = 0; i < run.count && i < layout->count; i++) {
    if (!plumb_reg_is_const(run.regs[i])) return plumb_mlir_reject(d, "an initial value");
    const plumb_const *c = &d->program->consts[plumb_reg_const_index(run.regs[i])];
    unsigned width = plumb_dtype_bytes(layout->types[i]);
    memcpy(bytes + layout->offsets[i], &c->bits, width < 8 ? width : 8);
    if (width == 16) memcpy(bytes + layout->offsets[i] + 8, &c->hi, 8);
  }
  return true;
}

/* One register of an initialiser region, written at its offset: a constant, or what
 * addressof gave, as a relocation. The region is read as a list of pure operations. */
typedef struct initialiser {
  plumb_mlir_decoder *d;
  uint8_t *bytes;
  plumb_reloc *relocs;
  size_t reloc_count, reloc_capacity;
} initialiser;

static bool write_value(initialiser *init, MlirValue value, int64_t offset);

static bool write_symbol(initialiser *init, MlirOperation op, int64_t offset) {
  plumb_mlir_decoder *d = init->d;
  MlirAttribute name;
  if (!plumb_mlir_attribute(op, "global_name", &name)) return false;
  init->relocs = plumb_arena_grow(d->arena, init->relocs, &init->reloc_capacity,
                                  init->reloc_count + 1, sizeof *init->relocs);
  init->relocs[init->reloc_count++] = (plumb_reloc){
      .offset = (uint64_t)offset,
      .symbol = plumb_mlir_symbol_name(d, name),
      .generic = plumb_mlir_llvm_space(plumb_mlir_result_type(op, 0)) == PLUMB_SPACE_GENERIC};
  return true;
}

static bool write_insert(initialiser *init, MlirOperation op, int64_t offset) {
  plumb_mlir_decoder *d = init->d;
  const int64_t *position;
  size_t depth;
  MlirType type = plumb_mlir_operand_type(op, 0);
  int64_t at = offset;
  if (!plumb_mlir_attribute_ints(d, op, "position", &position, &depth)) return false;
  for (size_t i = 0; i < depth; i++) {
    int64_t member;
    size_t first;
    if (!plumb_mlir_llvm_member(d, type, position[i], &type, &member, &first)) return false;
    at += member;
  }
  return write_value(init, mlirOperationGetOperand(op, 0), offset) &&
         write_value(init, mlirOperationGetOperand(op, 1), at);
}

static bool write_value(initialiser *init, MlirValue value, int64_t offset) {
  plumb_mlir_decoder *d = init->d;
  MlirAttribute attribute;
  plumb_mlir_llvm_layout layout;
  if (!mlirValueIsAOpResult(value)) return plumb_mlir_reject(d, "an initialiser with arguments");
  MlirOperation op = mlirOpResultGetOwner(value);
  if (plumb_mlir_name_is(op, "llvm.mlir.addressof")) return write_symbol(init, op, offset);
  if (plumb_mlir_name_is(op, "llvm.insertvalue")) return write_insert(init, op, offset);
  if (plumb_mlir_name_is(op, "llvm.mlir.undef") || plumb_mlir_name_is(op, "llvm.mlir.poison") ||
      plumb_mlir_name_is(op, "llvm.mlir.zero"))
    return true;
  if (plumb_mlir_name_is(op, "llvm.addrspacecast"))
    return write_value(init, mlirOperationGetOperand(op, 0), offset);
  if (!plumb_mlir_name_is(op, "llvm.mlir.constant") ||
      !plumb_mlir_attribute(op, "value", &attribute))
    return plumb_mlir_reject(d, "an initialiser with %s", plumb_mlir_name(d, op));
  MlirType type = mlirValueGetType(value);
  return plumb_mlir_llvm_layout_of(d, type, &layout) &&
         attribute_bytes(d, attribute, type, &layout, init->bytes + offset);
}

static plumb_space global_space(plumb_mlir_decoder *d, MlirOperation op) {
  int64_t number = 0;
  (void)d;
  plumb_mlir_attribute_int(op, "addr_space", &number);
  plumb_space space = plumb_mlir_space_of_number(number);
  return space == PLUMB_SPACE_GENERIC || space == PLUMB_SPACE_LOCAL ? PLUMB_SPACE_GLOBAL : space;
}

static bool set_initial(plumb_mlir_decoder *d, MlirOperation op, size_t index, MlirType type,
                        const plumb_mlir_llvm_layout *layout) {
  MlirAttribute value;
  MlirBlock body = plumb_mlir_body(op, 0);
  initialiser init = {.d = d, .bytes = plumb_arena_alloc(d->arena, (size_t)layout->size_bytes)};
  if (plumb_mlir_attribute(op, "value", &value)) {
    if (!attribute_bytes(d, value, type, layout, init.bytes)) return false;
  } else if (!mlirBlockIsNull(body)) {
    MlirOperation last = plumb_mlir_terminator(body);
    if (!write_value(&init, mlirOperationGetOperand(last, 0), 0)) return false;
  } else {
    return true;
  }
  plumb_global *global = &d->program->globals[index];
  global->init = init.bytes;
  global->relocs = init.relocs;
  global->reloc_count = init.reloc_count;
  return true;
}

/* The program's global for this operation, made at its first use. */
static bool find_global(plumb_mlir_decoder *d, MlirOperation op, size_t *out_index) {
  const char *name = plumb_mlir_defined_name(d, op);
  MlirAttribute attribute;
  plumb_mlir_llvm_layout layout;
  int64_t align = 0;
  *out_index = plumb_program_find_global(d->program, name);
  if (*out_index != SIZE_MAX) return true;
  if (!plumb_mlir_attribute(op, "global_type", &attribute)) return false;
  MlirType type = mlirTypeAttrGetValue(attribute);
  if (!plumb_mlir_llvm_layout_of(d, type, &layout)) return false;
  plumb_mlir_attribute_int(op, "alignment", &align);
  if (align < layout.align) align = layout.align;
  plumb_space space = global_space(d, op);
  *out_index =
      plumb_global_create(d->program, name, space, (uint64_t)layout.size_bytes, (uint32_t)align);
  plumb_global *global = &d->program->globals[*out_index];
  bool external = strstr(plumb_mlir_attribute_text(d, op, "linkage"), "external") != NULL;
  /* An array of no elements in shared memory is the launch's dynamic shared memory. */
  global->dynamic = space == PLUMB_SPACE_SHARED && layout.size_bytes == 0;
  global->zeroed = space != PLUMB_SPACE_SHARED && !external;
  return set_initial(d, op, *out_index, type, &layout);
}

bool plumb_mlir_llvm_decode_global(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  (void)row;
  size_t index;
  return find_global(d, op, &index);
}

bool plumb_mlir_llvm_decode_addressof(plumb_mlir_decoder *d, MlirOperation op,
                                      const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute reference;
  size_t index;
  if (!plumb_mlir_attribute(op, "global_name", &reference)) return false;
  MlirOperation symbol = plumb_mlir_find_symbol(d, plumb_mlir_symbol_text(d, reference));
  if (mlirOperationIsNull(symbol) || !plumb_mlir_name_is(symbol, "llvm.mlir.global"))
    return plumb_mlir_reject(d, "the address of @%s", plumb_mlir_symbol_text(d, reference));
  if (!find_global(d, symbol, &index)) return false;
  plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_ADDRESS, PLUMB_I64, &address, 1, NULL, 0)->imm = (int64_t)index;
  plumb_space space = global_space(d, symbol);
  if (space != PLUMB_SPACE_GLOBAL &&
      plumb_mlir_llvm_space(plumb_mlir_result_type(op, 0)) == PLUMB_SPACE_GENERIC)
    address = plumb_mlir_llvm_generic(d, address, space);
  plumb_mlir_define_result1(d, op, 0, address);
  return true;
}

/* --- calls --- */

bool plumb_mlir_has_body(MlirOperation function) {
  return mlirOperationGetNumRegions(function) > 0 &&
         !mlirBlockIsNull(mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0)));
}

/* The callee gets a copy of its own, made in the caller's frame. */
static plumb_mlir_run byval_copy(plumb_mlir_decoder *d, const plumb_mlir_llvm_layout *layout,
                                 plumb_reg argument) {
  uint64_t size = layout->size_bytes ? (uint64_t)layout->size_bytes : 1;
  uint32_t at = plumb_frame_reserve(d->b.function, size, 16);
  plumb_reg local = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_FRAME, PLUMB_I64, &local, 1, NULL, 0)->imm = at;
  plumb_reg *copy = PLUMB_NEW(d->arena, plumb_reg);
  *copy = plumb_mlir_llvm_generic(d, local, PLUMB_SPACE_LOCAL);
  plumb_build(&d->b, PLUMB_OP_MEMCPY, PLUMB_I64, NULL, 0,
              (plumb_reg[]){*copy, argument, plumb_mlir_i64(d, layout->size_bytes)}, 3);
  return (plumb_mlir_run){copy, 1};
}

static plumb_mlir_run call_arguments(plumb_mlir_decoder *d, MlirOperation op, size_t count) {
  plumb_reg *regs = NULL;
  size_t used = 0, capacity = 0;
  for (size_t i = 0; i < count; i++) {
    plumb_mlir_run run = plumb_mlir_operand(d, op, (intptr_t)i);
    plumb_mlir_llvm_layout layout;
    if (byval_layout(d, op, (intptr_t)i, &layout)) run = byval_copy(d, &layout, run.regs[0]);
    regs = plumb_arena_grow(d->arena, regs, &capacity, used + run.count + 1, sizeof *regs);
    for (size_t k = 0; k < run.count; k++) regs[used++] = run.regs[k];
  }
  return (plumb_mlir_run){regs, used};
}

bool plumb_mlir_llvm_decode_call(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute callee;
  const int64_t *segments;
  size_t count = 0;
  if (!plumb_mlir_attribute(op, "callee", &callee))
    return plumb_mlir_reject(d, "a call through a pointer");
  const char *symbol = plumb_mlir_symbol_text(d, callee);
  size_t arg_count = (size_t)mlirOperationGetNumOperands(op);
  if (plumb_mlir_segments(d, op, &segments, &count) && count > 0) arg_count = (size_t)segments[0];
  MlirOperation function = plumb_mlir_find_symbol(d, symbol);
  if (mlirOperationIsNull(function) || !plumb_mlir_has_body(function))
    return plumb_mlir_decode_known_call(d, op, symbol, arg_count);
  plumb_mlir_run args = call_arguments(d, op, arg_count);
  plumb_mlir_run results = {NULL, 0};
  if (mlirOperationGetNumResults(op)) results = plumb_mlir_fresh_result(d, op, 0);
  plumb_build_call(&d->b, plumb_mlir_symbol_name(d, callee), results.regs, results.count, args.regs,
                   args.count);
  return true;
}

/* --- branches --- */

bool plumb_mlir_llvm_decode_br(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_branch(d, mlirOperationGetSuccessor(op, 0),
                    plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op)));
  return true;
}

bool plumb_mlir_llvm_decode_cond_br(plumb_mlir_decoder *d, MlirOperation op,
                                    const plumb_mlir_op *row) {
  (void)row;
  const int64_t *segments;
  size_t count;
  if (!plumb_mlir_segments(d, op, &segments, &count) || count != 3)
    return plumb_mlir_reject(d, "operand groups that cannot be read");
  plumb_reg condition = plumb_mlir_operand1(d, op, 0);
  plumb_mlir_run yes = plumb_mlir_operands(d, op, 1, (intptr_t)segments[1]);
  plumb_mlir_run no =
      plumb_mlir_operands(d, op, (intptr_t)(1 + segments[1]), (intptr_t)segments[2]);
  uint32_t target = plumb_mlir_edge(d, mlirOperationGetSuccessor(op, 0), yes);
  uint32_t target2 = plumb_mlir_edge(d, mlirOperationGetSuccessor(op, 1), no);
  plumb_build_condbr(&d->b, condition, target, target2);
  return true;
}

/* As a chain of comparisons, in the order of the cases. */
bool plumb_mlir_llvm_decode_switch(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  (void)row;
  const int64_t *segments, *values = NULL, *lengths = NULL;
  size_t count, cases = 0, length_count = 0;
  if (!plumb_mlir_segments(d, op, &segments, &count) || count != 3)
    return plumb_mlir_reject(d, "operand groups that cannot be read");
  plumb_mlir_attribute_ints(d, op, "case_values", &values, &cases);
  plumb_mlir_attribute_ints(d, op, "case_operand_segments", &lengths, &length_count);
  if ((intptr_t)cases + 1 != mlirOperationGetNumSuccessors(op) ||
      (length_count != cases && segments[2] != 0))
    return plumb_mlir_reject(d, "cases that cannot be read");
  plumb_reg value = plumb_mlir_operand1(d, op, 0);
  plumb_dtype type = plumb_reg_type(d->b.function, value);
  intptr_t next = (intptr_t)(1 + segments[1]);
  for (size_t i = 0; i < cases; i++) {
    intptr_t length = length_count == cases ? (intptr_t)lengths[i] : 0;
    uint32_t target = plumb_mlir_edge(d, mlirOperationGetSuccessor(op, (intptr_t)i + 1),
                                      plumb_mlir_operands(d, op, next, length));
    next += length;
    uint64_t bits = (uint64_t)values[i];
    unsigned width = plumb_dtype_table[type].bits;
    if (width < 64) bits &= (UINT64_C(1) << width) - 1;
    plumb_reg same =
        plumb_build_cmp(&d->b, PLUMB_CMP_EQ, type, value, plumb_constant(d->program, type, bits));
    uint32_t other = plumb_block_create(d->b.function);
    plumb_build_condbr(&d->b, same, target, other);
    d->b.block = other;
  }
  plumb_mlir_branch(d, mlirOperationGetSuccessor(op, 0),
                    plumb_mlir_operands(d, op, 1, (intptr_t)segments[1]));
  return true;
}

bool plumb_mlir_llvm_decode_unreachable(plumb_mlir_decoder *d, MlirOperation op,
                                        const plumb_mlir_op *row) {
  (void)op, (void)row;
  plumb_build(&d->b, PLUMB_OP_UNREACHABLE, PLUMB_I1, NULL, 0, NULL, 0);
  return true;
}

bool plumb_mlir_llvm_decode_ignore(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  (void)d, (void)row;
  return mlirOperationGetNumResults(op) == 0;
}

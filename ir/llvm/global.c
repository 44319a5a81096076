/* Global variables: their space, initial bytes and the addresses inside them. */
#include <string.h>

#include "ir/llvm/decoder.h"

static bool global_space(LLVMValueRef global, plumb_space *out) {
  switch (LLVMGetPointerAddressSpace(LLVMTypeOf(global))) {
    case 0: /* NVPTX places these in global memory, where both addresses agree */
    case 1:
      *out = PLUMB_SPACE_GLOBAL;
      return true;
    case 3:
      *out = PLUMB_SPACE_SHARED;
      return true;
    case 4:
      *out = PLUMB_SPACE_CONST;
      return true;
    default:
      return false;
  }
}

typedef struct image {
  plumb_llvm_decoder *d;
  uint8_t *bytes;
  uint64_t size;
  plumb_reloc *relocs;
  size_t count, capacity;
} image;

/* Symbol and byte offset of a constant address; false: not of that form. */
static bool constant_address(plumb_llvm_decoder *d, LLVMValueRef c, LLVMValueRef *symbol,
                             int64_t *offset) {
  if (LLVMIsAGlobalVariable(c) || LLVMIsAFunction(c)) {
    *symbol = c;
    return true;
  }
  if (!LLVMIsAConstantExpr(c)) return false;
  switch (LLVMGetConstOpcode(c)) {
    case LLVMAddrSpaceCast:
    case LLVMBitCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
      return constant_address(d, LLVMGetOperand(c, 0), symbol, offset);
    case LLVMGetElementPtr:
      break;
    default:
      return false;
  }
  LLVMTypeRef type = LLVMGetGEPSourceElementType(c);
  for (int i = 1; i < LLVMGetNumOperands(c); i++) {
    LLVMValueRef index = LLVMGetOperand(c, (unsigned)i);
    if (!LLVMIsAConstantInt(index)) return false;
    if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned member = (unsigned)LLVMConstIntGetZExtValue(index);
      *offset += (int64_t)LLVMOffsetOfElement(d->layout, type, member);
      type = LLVMStructGetTypeAtIndex(type, member);
      continue;
    }
    if (i > 1) type = LLVMGetElementType(type);
    *offset += LLVMConstIntGetSExtValue(index) * (int64_t)LLVMABISizeOfType(d->layout, type);
  }
  return constant_address(d, LLVMGetOperand(c, 0), symbol, offset);
}

static bool write_bits(image *m, uint64_t at, LLVMValueRef c) {
  uint64_t word[2];
  if (!plumb_llvm_constant_bits(c, &word[0], &word[1])) return false;
  uint64_t bytes = (LLVMSizeOfTypeInBits(m->d->layout, LLVMTypeOf(c)) + 7) / 8;
  if (bytes > 16 || at > m->size || bytes > m->size - at) return false;
  memcpy(m->bytes + at, word, (size_t)bytes);
  return true;
}

static bool write_address(image *m, uint64_t at, LLVMValueRef c) {
  LLVMValueRef symbol;
  int64_t addend = 0;
  if (!constant_address(m->d, c, &symbol, &addend)) return false;
  LLVMTypeRef type = LLVMTypeOf(c);
  bool pointer = LLVMGetTypeKind(type) == LLVMPointerTypeKind;
  plumb_arena *arena = m->d->arena;
  m->relocs = plumb_arena_grow(arena, m->relocs, &m->capacity, m->count + 1, sizeof *m->relocs);
  m->relocs[m->count++] =
      (plumb_reloc){.offset = at,
                    .symbol = plumb_arena_copy_string(arena, LLVMGetValueName(symbol)),
                    .addend = addend,
                    .generic = !pointer || LLVMGetPointerAddressSpace(type) == 0};
  plumb_reg ignored;
  return !LLVMIsAGlobalVariable(symbol) || plumb_llvm_global_address(m->d, symbol, &ignored);
}

static bool write_constant(image *m, uint64_t at, LLVMValueRef c) {
  if (LLVMIsNull(c) || LLVMIsUndef(c) || LLVMIsPoison(c)) return true;
  LLVMTypeRef type = LLVMTypeOf(c);
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (kind == LLVMStructTypeKind) {
    for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
      if (!write_constant(m, at + LLVMOffsetOfElement(m->d->layout, type, i),
                          LLVMGetAggregateElement(c, i)))
        return false;
    return true;
  }
  if (kind == LLVMArrayTypeKind || kind == LLVMVectorTypeKind) {
    LLVMTypeRef element = LLVMGetElementType(type);
    bool array = kind == LLVMArrayTypeKind;
    uint64_t n = array ? LLVMGetArrayLength2(type) : LLVMGetVectorSize(type);
    uint64_t bits = LLVMSizeOfTypeInBits(m->d->layout, element);
    uint64_t stride = array ? LLVMABISizeOfType(m->d->layout, element) : bits / 8;
    if (!array && bits % 8) return false;
    for (uint64_t i = 0; i < n; i++)
      if (!write_constant(m, at + i * stride, LLVMGetAggregateElement(c, (unsigned)i)))
        return false;
    return true;
  }
  return write_bits(m, at, c) || write_address(m, at, c);
}

enum { MAX_INITIALISER_BYTES = 1 << 28 };

/* Initial bytes: undefined ones in shared memory stay uninitialised; elsewhere the
 * driver clears what has no value. */
static bool initialise(plumb_llvm_decoder *d, LLVMValueRef global, size_t index) {
  LLVMValueRef init = LLVMGetInitializer(global);
  plumb_global *g = &d->program->globals[index];
  bool undefined = !init || LLVMIsUndef(init) || LLVMIsPoison(init);
  if (undefined || LLVMIsNull(init)) {
    g->zeroed = g->space != PLUMB_SPACE_SHARED;
    return true;
  }
  if (g->size_bytes > MAX_INITIALISER_BYTES) return false;
  image m = {.d = d, .size = g->size_bytes};
  m.bytes = plumb_arena_alloc(d->arena, g->size_bytes);
  if (!write_constant(&m, 0, init)) return false;
  g = &d->program->globals[index]; /* a global that it names may have moved the array */
  g->init = m.bytes;
  g->relocs = m.relocs;
  g->reloc_count = m.count;
  return true;
}

/* Creates the program's global on first use; 0 if it cannot be. */
static uint64_t global_number(plumb_llvm_decoder *d, LLVMValueRef global) {
  plumb_llvm_slot *slot = plumb_llvm_map_at(d->arena, &d->globals, global);
  if (slot->number) return slot->number == UINT64_MAX ? 0 : slot->number;
  plumb_space space;
  LLVMTypeRef type = LLVMGlobalGetValueType(global);
  if (!global_space(global, &space) || !LLVMTypeIsSized(type)) {
    slot->number = UINT64_MAX;
    return 0;
  }
  uint64_t size = LLVMABISizeOfType(d->layout, type);
  unsigned align = LLVMGetAlignment(global);
  if (!align) align = LLVMABIAlignmentOfType(d->layout, type);
  size_t index = plumb_global_create(d->program, LLVMGetValueName(global), space, size, align);
  slot->number = index + 1;
  plumb_global *g = &d->program->globals[index];
  bool declared = LLVMIsDeclaration(global);
  /* `extern __shared__ T x[]`: an external array without a length. */
  g->dynamic = declared && space == PLUMB_SPACE_SHARED && size == 0;
  g->external = declared && !g->dynamic;
  if (!declared && !initialise(d, global, index)) {
    plumb_llvm_map_at(d->arena, &d->globals, global)->number = UINT64_MAX;
    d->program->globals[index].external = true;
    return 0;
  }
  return index + 1;
}

bool plumb_llvm_global_address(plumb_llvm_decoder *d, LLVMValueRef global, plumb_reg *out) {
  uint64_t number = global_number(d, global);
  if (!number) return false;
  if (!d->f) return true;
  *out = plumb_reg_create(d->f, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_ADDRESS, PLUMB_I64, out, 1, NULL, 0)->imm = (int64_t)number - 1;
  return true;
}

/* llvm.used, llvm.compiler.used, llvm.global_ctors: the linker's, not memory. */
static bool is_metadata_global(const char *name) {
  return strncmp(name, "llvm.", 5) == 0;
}

/* Every defined global, so that the host can find it by name; declarations only when
 * something uses them. One that cannot be laid out is named where it is used. */
void plumb_llvm_decode_globals(plumb_llvm_decoder *d) {
  for (LLVMValueRef g = LLVMGetFirstGlobal(d->module); g; g = LLVMGetNextGlobal(g))
    if (!LLVMIsDeclaration(g) && !is_metadata_global(LLVMGetValueName(g))) global_number(d, g);
}

/* Names, types and operands of an instruction. */
#include <stdlib.h>

#include "ir/ptx/decode.h"

static uint64_t hash(uint32_t scope, const char *name) {
  uint64_t h = 1469598103934665603u ^ scope;
  for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211u;
  return h ^ (h >> 29);
}

static void symbols_grow(ptx_decoder *d) {
  size_t old = d->bucket_count;
  ptx_symbol **buckets = d->buckets;
  d->bucket_count = old ? old * 4 : 1024;
  d->buckets = PLUMB_NEW_ARRAY(d->arena, ptx_symbol *, d->bucket_count);
  for (size_t i = 0; i < old; i++)
    for (ptx_symbol *s = buckets[i], *next; s; s = next) {
      next = s->next;
      ptx_symbol **at = &d->buckets[hash(s->scope, s->name) & (d->bucket_count - 1)];
      s->next = *at;
      *at = s;
    }
}

ptx_symbol *ptx_symbol_add(ptx_decoder *d, ptx_symbol_kind kind, uint32_t scope, const char *name) {
  if (++d->symbol_count > d->bucket_count * 2) symbols_grow(d);
  ptx_symbol *s = PLUMB_NEW(d->arena, ptx_symbol);
  *s = (ptx_symbol){.kind = kind, .scope = scope, .name = name, .reg = PLUMB_NO_REG};
  ptx_symbol **at = &d->buckets[hash(scope, name) & (d->bucket_count - 1)];
  s->next = *at;
  *at = s;
  return s;
}

static ptx_symbol *find_in(ptx_decoder *d, uint32_t scope, const char *name) {
  if (!d->bucket_count) return NULL;
  ptx_symbol *s = d->buckets[hash(scope, name) & (d->bucket_count - 1)];
  while (s && (s->scope != scope || strcmp(s->name, name) != 0)) s = s->next;
  return s;
}

/* %r12 where %r<20> is declared: a register of its own, made on first use. */
static ptx_symbol *find_range(ptx_decoder *d, uint32_t scope, const char *name) {
  size_t n = strlen(name), stem = n;
  while (stem && name[stem - 1] >= '0' && name[stem - 1] <= '9') stem--;
  if (stem == n || n - stem > 9) return NULL;
  char *prefix = plumb_arena_printf(d->arena, "%.*s<", (int)stem, name);
  ptx_symbol *range = find_in(d, scope, prefix);
  if (!range || strtoull(name + stem, NULL, 10) >= range->variable->range) return NULL;
  ptx_symbol *s = ptx_symbol_add(d, PTX_SYMBOL_REG, scope, plumb_arena_copy_string(d->arena, name));
  s->variable = range->variable;
  s->reg = plumb_reg_create_run(d->f, ptx_register_type(s->variable->type), s->variable->vector);
  return s;
}

ptx_symbol *ptx_symbol_find(ptx_decoder *d, uint32_t scope, const char *name) {
  for (; scope != UINT32_MAX; scope = d->module->scope_parents[scope]) {
    ptx_symbol *s = find_in(d, scope, name);
    if (!s && scope) s = find_range(d, scope, name);
    if (s) return s;
  }
  return NULL;
}

void ptx_error(ptx_decoder *d, const char *what, const char *name) {
  if (d->status != PLUMB_OK) return;
  d->status = plumb_fail(d->diag, PLUMB_BAD_INPUT, d->module->path, d->s ? d->s->line : 0,
                         d->s ? d->s->column : 0, "%s `%s`%s%s", what, name,
                         d->s && d->s->text ? " in: " : "", d->s && d->s->text ? d->s->text : "");
}

bool ptx_type_find(const char *text, ptx_type *out) {
  static const ptx_type types[] = {
      {"pred", PLUMB_I1, PLUMB_I1, false, 1},      {"b8", PLUMB_I8, PLUMB_I8, false, 1},
      {"u8", PLUMB_I8, PLUMB_I8, false, 1},        {"s8", PLUMB_I8, PLUMB_I8, true, 1},
      {"b16", PLUMB_I16, PLUMB_I16, false, 1},     {"u16", PLUMB_I16, PLUMB_I16, false, 1},
      {"s16", PLUMB_I16, PLUMB_I16, true, 1},      {"b32", PLUMB_I32, PLUMB_I32, false, 1},
      {"u32", PLUMB_I32, PLUMB_I32, false, 1},     {"s32", PLUMB_I32, PLUMB_I32, true, 1},
      {"b64", PLUMB_I64, PLUMB_I64, false, 1},     {"u64", PLUMB_I64, PLUMB_I64, false, 1},
      {"s64", PLUMB_I64, PLUMB_I64, true, 1},      {"b128", PLUMB_I128, PLUMB_I128, false, 1},
      {"f16", PLUMB_F16, PLUMB_F16, false, 1},     {"bf16", PLUMB_BF16, PLUMB_BF16, false, 1},
      {"f32", PLUMB_F32, PLUMB_F32, false, 1},     {"f64", PLUMB_F64, PLUMB_F64, false, 1},
      {"tf32", PLUMB_TF32, PLUMB_TF32, false, 1},  {"f16x2", PLUMB_F16, PLUMB_I32, false, 2},
      {"bf16x2", PLUMB_BF16, PLUMB_I32, false, 2}, {"f32x2", PLUMB_F32, PLUMB_I64, false, 2},
      {"u16x2", PLUMB_I16, PLUMB_I32, false, 2},   {"s16x2", PLUMB_I16, PLUMB_I32, true, 2},
      {"e4m3x2", PLUMB_E4M3, PLUMB_I16, false, 2}, {"e5m2x2", PLUMB_E5M2, PLUMB_I16, false, 2},
      {"e2m3x2", PLUMB_E2M3, PLUMB_I16, false, 2}, {"e3m2x2", PLUMB_E3M2, PLUMB_I16, false, 2},
      {"e2m1x2", PLUMB_E2M1, PLUMB_I8, false, 2},  {"ue8m0x2", PLUMB_UE8M0, PLUMB_I16, false, 2},
      {"e4m3x4", PLUMB_E4M3, PLUMB_I32, false, 4}, {"e5m2x4", PLUMB_E5M2, PLUMB_I32, false, 4},
      {"e2m3x4", PLUMB_E2M3, PLUMB_I32, false, 4}, {"e3m2x4", PLUMB_E3M2, PLUMB_I32, false, 4},
      {"e2m1x4", PLUMB_E2M1, PLUMB_I16, false, 4}, {"u8x4", PLUMB_I8, PLUMB_I32, false, 4},
      {"s8x4", PLUMB_I8, PLUMB_I32, true, 4},      {"e4m3", PLUMB_E4M3, PLUMB_E4M3, false, 1},
      {"e5m2", PLUMB_E5M2, PLUMB_E5M2, false, 1},  {"texref", PLUMB_I64, PLUMB_I64, false, 1},
      {"surfref", PLUMB_I64, PLUMB_I64, false, 1}, {"samplerref", PLUMB_I64, PLUMB_I64, false, 1}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i].text, text) == 0) {
      *out = types[i];
      return true;
    }
  return false;
}

plumb_dtype ptx_register_type(const char *text) {
  ptx_type t;
  return ptx_type_find(text, &t) ? t.container : PLUMB_I64;
}

bool ptx_has(const ptx_decoder *d, const char *part) {
  for (size_t i = 0; i < d->s->part_count; i++)
    if (strcmp(d->s->parts[i], part) == 0) return true;
  return false;
}

plumb_dtype ptx_int_type(unsigned bytes) {
  return bytes == 1   ? PLUMB_I8
         : bytes == 2 ? PLUMB_I16
         : bytes == 4 ? PLUMB_I32
         : bytes == 8 ? PLUMB_I64
                      : PLUMB_I128;
}

plumb_reg ptx_const(ptx_decoder *d, plumb_dtype type, uint64_t bits) {
  return plumb_constant(d->program, type, bits);
}

plumb_inst *ptx_build(ptx_decoder *d, plumb_op op, plumb_dtype type, plumb_reg result,
                      const plumb_reg *operands, size_t count) {
  return plumb_build(&d->b, op, type, &result, 1, operands, count);
}

plumb_reg ptx_resize(ptx_decoder *d, plumb_reg r, plumb_dtype from, plumb_dtype to,
                     bool is_signed) {
  if (from == to) return r;
  return plumb_build_cvt(&d->b, to, from, r,
                         is_signed ? PLUMB_FLAG_SRC_SIGNED | PLUMB_FLAG_DST_SIGNED : 0u, PLUMB_RN);
}

/* fp6 has two zero bits above it, fp4 has none (9.7.9.21). */
static unsigned stride(plumb_dtype element) {
  unsigned bits = plumb_dtype_table[element].bits;
  return bits == 6 ? 8 : bits;
}

plumb_reg ptx_extract(ptx_decoder *d, plumb_reg r, plumb_dtype container, plumb_dtype element,
                      unsigned i) {
  unsigned bits = stride(element);
  if (i) r = plumb_build2(&d->b, PLUMB_OP_SHR_U, container, r, ptx_const(d, container, i * bits));
  plumb_dtype piece = ptx_int_type(plumb_dtype_bytes(element));
  r = ptx_resize(d, r, container, piece, false);
  if (bits < 8) r = plumb_build2(&d->b, PLUMB_OP_AND, piece, r, ptx_const(d, piece, 15));
  return r;
}

void ptx_pack(ptx_decoder *d, plumb_reg result, plumb_dtype container, const plumb_reg *elements,
              plumb_dtype element, unsigned count) {
  unsigned bits = stride(element);
  plumb_dtype piece = ptx_int_type(plumb_dtype_bytes(element));
  plumb_reg all = ptx_resize(d, elements[0], piece, container, false);
  for (unsigned i = 1; i < count; i++) {
    plumb_reg e = ptx_resize(d, elements[i], piece, container, false);
    e = plumb_build2(&d->b, PLUMB_OP_SHL, container, e, ptx_const(d, container, i * bits));
    plumb_reg to = i + 1 == count ? result : plumb_reg_create(d->f, container);
    ptx_build(d, PLUMB_OP_OR, container, to, (plumb_reg[]){all, e}, 2);
    all = to;
  }
}

/* Special registers of what does not exist here: shared memory that the system reserves,
 * most of a driver's environment, performance counters, a graph that launched the kernel. */
static bool is_absent(const char *text, plumb_dtype *out_type) {
  static const struct {
    const char *prefix;
    plumb_dtype type;
  } rows[] = {{"reserved_smem_offset_", PLUMB_I32},
              {"envreg", PLUMB_I32},
              {"pm", PLUMB_I32},
              {"current_graph_exec", PLUMB_I64}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t n = strlen(rows[i].prefix);
    if (strncmp(text, rows[i].prefix, n) != 0) continue;
    *out_type = strstr(text + n, "_64") ? PLUMB_I64 : rows[i].type;
    return i < 1 || text[n + strspn(text + n, "0123456789_")] == 0;
  }
  return false;
}

/* Special registers (chapter 10). PTX writes lanemask_eq, the table lanemask.eq. */
static plumb_reg special_register(ptx_decoder *d, const char *name, plumb_dtype *out_type) {
  char text[40];
  if (strlen(name) >= sizeof text) return PLUMB_NO_REG;
  strcpy(text, name + 1);
  if (strncmp(text, "lanemask_", 9) == 0) text[8] = '.';
  bool low = strcmp(text, "globaltimer_lo") == 0, high = strcmp(text, "globaltimer_hi") == 0;
  if (low || high) strcpy(text, "globaltimer");
  bool aggregate = strcmp(text, "aggr_smem_size") == 0;
  if (aggregate) strcpy(text, "total_smem_size");
  size_t length = strlen(text);
  bool fourth = length > 2 && strcmp(text + length - 2, ".w") == 0; /* always 0 */
  if (fourth) text[length - 1] = 'x';
  bool clock_high = strcmp(text, "clock_hi") == 0;
  if (clock_high) strcpy(text, "clock64");
  for (int i = 0; i < PLUMB_SREG_COUNT; i++)
    if (strcmp(plumb_sreg_texts[i], text) == 0) {
      *out_type = PLUMB_I32;
      if (fourth) return ptx_const(d, PLUMB_I32, 0);
      plumb_reg r = plumb_build_sreg(&d->b, (plumb_sreg)i);
      if (i == PLUMB_SREG_IS_EXPLICIT_CLUSTER)
        r = plumb_build_cmp(&d->b, PLUMB_CMP_NE, PLUMB_I32, r, ptx_const(d, PLUMB_I32, 0));
      *out_type = plumb_reg_type(d->f, r);
      if (high || clock_high)
        r = plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I64, r, ptx_const(d, PLUMB_I64, 32));
      if (aggregate) /* and what the system reserves of each block (10.31) */
        r = plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I32, r, ptx_const(d, PLUMB_I32, 1024));
      return r;
    }
  return is_absent(text, out_type) ? ptx_const(d, *out_type, 0) : PLUMB_NO_REG;
}

/* A function's address as data: the linker fills a constant of eight bytes with it. */
static plumb_reg function_address(ptx_decoder *d, const char *name) {
  char *global_name = plumb_arena_printf(d->arena, "plumb.address.%s", name);
  size_t g = plumb_program_find_global(d->program, global_name);
  if (g == SIZE_MAX) {
    g = plumb_global_create(d->program, global_name, PLUMB_SPACE_CONST, 8, 8);
    plumb_global *global = &d->program->globals[g];
    global->zeroed = true;
    global->relocs = PLUMB_NEW(d->arena, plumb_reloc);
    *global->relocs = (plumb_reloc){.symbol = name, .generic = true};
    global->reloc_count = 1;
  }
  plumb_reg address = plumb_reg_create(d->f, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_ADDRESS, PLUMB_I64, &address, 1, NULL, 0)->imm = (int64_t)g;
  return plumb_build_load(&d->b, PLUMB_I64, PLUMB_SPACE_CONST, address, 0);
}

/* The address of a variable in its own space (9.7.9.1). */
static plumb_reg symbol_address(ptx_decoder *d, const ptx_symbol *s) {
  plumb_reg r;
  switch (s->kind) {
    case PTX_SYMBOL_GLOBAL:
    case PTX_SYMBOL_FRAME: {
      plumb_op op = s->kind == PTX_SYMBOL_GLOBAL ? PLUMB_OP_ADDRESS : PLUMB_OP_FRAME;
      r = plumb_reg_create(d->f, PLUMB_I64);
      plumb_build(&d->b, op, PLUMB_I64, &r, 1, NULL, 0)->imm = (int64_t)s->value;
      return r;
    }
    case PTX_SYMBOL_PARAM:
      return ptx_const(d, PLUMB_I64, s->value);
    case PTX_SYMBOL_FUNCTION:
      return function_address(d, s->link_name);
    default:
      return PLUMB_NO_REG;
  }
}

static ptx_symbol *component(ptx_decoder *d, const char *name, unsigned *out_index) {
  const char *dot = strrchr(name, '.');
  *out_index = 0;
  if (!dot) return ptx_symbol_find(d, d->s->scope, name);
  const char *letters = strchr("xyzw", dot[1]) ? "xyzw" : "rgba";
  /* ptx_elements names the elements beyond the fourth by their numbers. */
  *out_index = dot[1] >= '0' && dot[1] <= '9' ? (unsigned)(dot[1] - '0')
                                              : (unsigned)(strchr(letters, dot[1]) - letters);
  char *stem = plumb_arena_copy_text(d->arena, name, (size_t)(dot - name));
  ptx_symbol *s = ptx_symbol_find(d, d->s->scope, stem);
  return s && s->kind == PTX_SYMBOL_REG && *out_index < s->variable->vector ? s : NULL;
}

static plumb_reg name_value(ptx_decoder *d, const ptx_operand *o, plumb_dtype *out_type) {
  unsigned index;
  *out_type = PLUMB_I64;
  ptx_symbol *s = component(d, o->name, &index);
  if (!s && *o->name == '%') {
    plumb_reg r = special_register(d, o->name, out_type);
    if (r == PLUMB_NO_REG) d->unknown = true;
    if (r == PLUMB_NO_REG && !strncmp(o->name, "%r", 2))
      ptx_error(d, "undeclared register", o->name);
    return r;
  }
  if (!s && strcmp(o->name, "WARP_SZ") == 0) {
    *out_type = PLUMB_I32;
    return plumb_build_sreg(&d->b, PLUMB_SREG_WARP_LANES);
  }
  if (!s) {
    ptx_error(d, "undeclared name", o->name);
    return PLUMB_NO_REG;
  }
  if (s->kind == PTX_SYMBOL_REG) {
    *out_type = plumb_reg_type(d->f, s->reg);
    if (index == 0 && s->variable && s->variable->vector > 1 && !strchr(o->name, '.'))
      d->unknown = true;
    if (o->index) d->unknown = true;
    if (!o->value) return s->reg + index;
    return plumb_build2(&d->b, PLUMB_OP_ADD, *out_type, s->reg + index,
                        ptx_const(d, *out_type, o->value));
  }
  plumb_reg r = symbol_address(d, s);
  if (r == PLUMB_NO_REG || (o->index && !s->variable)) d->unknown = true;
  uint64_t offset = o->value;
  if (o->index && s->variable)
    offset += o->index * ptx_type_bytes(s->variable->type) * s->variable->vector;
  if (r != PLUMB_NO_REG && offset)
    r = plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I64, r, ptx_const(d, PLUMB_I64, offset));
  return r;
}

static plumb_reg literal(ptx_decoder *d, const ptx_operand *o, plumb_dtype type) {
  uint64_t bits = o->value;
  if (o->kind == PTX_OPERAND_F64 && plumb_dtype_is_float(type) && type != PLUMB_F64) {
    double value;
    memcpy(&value, &bits, sizeof value);
    bits = plumb_dtype_from_double(type, value);
  } else if (o->kind == PTX_OPERAND_F32 && plumb_dtype_bytes(type) != 4) {
    if (type != PLUMB_F64) d->unknown = true;
    uint32_t half = (uint32_t)bits;
    float value;
    memcpy(&value, &half, sizeof value);
    double wide = (double)value;
    memcpy(&bits, &wide, sizeof wide);
  } else if (o->kind == PTX_OPERAND_INT && (type == PLUMB_F32 || type == PLUMB_F64)) {
    d->unknown = true; /* an integer is no float constant (4.5.2) */
  }
  if (type == PLUMB_I1) bits = bits != 0;
  return ptx_const(d, type, bits);
}

plumb_reg ptx_value(ptx_decoder *d, const ptx_operand *o, plumb_dtype type) {
  plumb_reg fallback = ptx_const(d, type, 0);
  if (!o) {
    d->unknown = true;
    return fallback;
  }
  if (o->kind == PTX_OPERAND_INT || o->kind == PTX_OPERAND_F32 || o->kind == PTX_OPERAND_F64)
    return literal(d, o, type);
  if (o->kind != PTX_OPERAND_NAME) {
    d->unknown = true;
    return fallback;
  }
  plumb_dtype declared;
  plumb_reg r = name_value(d, o, &declared);
  if (r == PLUMB_NO_REG) return fallback;
  if ((declared == PLUMB_I1) != (type == PLUMB_I1)) {
    d->unknown = true;
    return fallback;
  }
  if (o->negated) {
    if (type != PLUMB_I1) d->unknown = true;
    return plumb_build1(&d->b, PLUMB_OP_NOT, PLUMB_I1, r);
  }
  unsigned have = plumb_dtype_bytes(declared), want = plumb_dtype_bytes(type);
  if (have == want) return r;
  return ptx_resize(d, r, ptx_int_type(have), ptx_int_type(want), false);
}

size_t ptx_elements(ptx_decoder *d, const ptx_operand *o, const ptx_operand **out) {
  *out = o;
  if (!o) return 0;
  if (o->kind == PTX_OPERAND_VECTOR) {
    *out = o->items;
    return o->count;
  }
  ptx_symbol *s = o->kind == PTX_OPERAND_NAME ? ptx_symbol_find(d, d->s->scope, o->name) : NULL;
  if (!s || s->kind != PTX_SYMBOL_REG || !s->variable || s->variable->vector < 2) return 1;
  ptx_operand *items = PLUMB_NEW_ARRAY(d->arena, ptx_operand, s->variable->vector);
  for (uint32_t i = 0; i < s->variable->vector; i++)
    items[i] = (ptx_operand){.kind = PTX_OPERAND_NAME,
                             .name = plumb_arena_printf(d->arena, "%s.%u", o->name, i)};
  *out = items;
  return s->variable->vector;
}

size_t ptx_vector_width(const ptx_decoder *d) {
  return ptx_has(d, "v2") ? 2 : ptx_has(d, "v4") ? 4 : ptx_has(d, "v8") ? 8 : 1;
}

plumb_reg ptx_src(ptx_decoder *d, size_t i, plumb_dtype type) {
  return ptx_value(d, ptx_op(d, i), type);
}

static ptx_symbol *dest_symbol(ptx_decoder *d, const ptx_operand *o, unsigned *out_index) {
  if (!o || o->kind != PTX_OPERAND_NAME || o->negated) {
    d->unknown = true;
    return NULL;
  }
  if (strcmp(o->name, "_") == 0) return NULL;
  ptx_symbol *s = component(d, o->name, out_index);
  if (!s)
    ptx_error(d, "undeclared register", o->name);
  else if (s->kind != PTX_SYMBOL_REG)
    ptx_error(d, "not a register:", o->name);
  return s && s->kind == PTX_SYMBOL_REG ? s : NULL;
}

plumb_reg ptx_dest(ptx_decoder *d, const ptx_operand *o, plumb_dtype type) {
  unsigned index = 0;
  ptx_symbol *s = dest_symbol(d, o, &index);
  if (s) {
    plumb_dtype declared = plumb_reg_type(d->f, s->reg);
    if ((declared == PLUMB_I1) != (type == PLUMB_I1))
      d->unknown = true;
    else if (plumb_dtype_bytes(declared) == plumb_dtype_bytes(type))
      return s->reg + index;
  }
  return plumb_reg_create(d->f, type);
}

bool ptx_done_to(ptx_decoder *d, const ptx_operand *o, plumb_dtype type, bool is_signed,
                 plumb_reg r) {
  unsigned index = 0;
  ptx_symbol *s = dest_symbol(d, o, &index);
  if (!s || d->unknown || s->reg + index == r) return !d->unknown;
  unsigned have = plumb_dtype_bytes(type);
  unsigned want = plumb_dtype_bytes(plumb_reg_type(d->f, s->reg));
  if (have == want) {
    plumb_build_mov(&d->b, s->reg + index, r);
    return true;
  }
  if (have > want) return false; /* a destination may be wider, never narrower (9.4.1) */
  plumb_inst *inst = ptx_build(d, PLUMB_OP_CVT, ptx_int_type(want), s->reg + index, &r, 1);
  inst->type2 = (uint8_t)ptx_int_type(have);
  if (is_signed) inst->flags |= PLUMB_FLAG_SRC_SIGNED | PLUMB_FLAG_DST_SIGNED;
  return true;
}

plumb_reg ptx_dst(ptx_decoder *d, size_t i, plumb_dtype type) {
  return ptx_dest(d, ptx_op(d, i), type);
}

bool ptx_done(ptx_decoder *d, size_t i, plumb_dtype type, bool is_signed, plumb_reg r) {
  return ptx_done_to(d, ptx_op(d, i), type, is_signed, r);
}

bool ptx_address_of(ptx_decoder *d, const ptx_operand *o, ptx_address *out) {
  *out = (ptx_address){.base = PLUMB_NO_REG, .param_reg = PLUMB_NO_REG};
  if (!o || o->kind != PTX_OPERAND_ADDRESS || o->count != 1) return false;
  const ptx_operand *base = &o->items[0];
  out->offset = (int64_t)o->value;
  if (base->kind == PTX_OPERAND_INT) {
    out->base = ptx_const(d, PLUMB_I64, base->value);
    return true;
  }
  if (base->kind != PTX_OPERAND_NAME) return false;
  ptx_symbol *s = ptx_symbol_find(d, d->s->scope, base->name);
  if (s && s->kind == PTX_SYMBOL_REG && s->is_param) {
    out->param_reg = s->reg;
    return true;
  }
  if (s && s->kind != PTX_SYMBOL_REG) {
    out->space_known = true;
    out->space = s->kind == PTX_SYMBOL_GLOBAL  ? d->program->globals[s->value].space
                 : s->kind == PTX_SYMBOL_FRAME ? PLUMB_SPACE_LOCAL
                                               : PLUMB_SPACE_PARAM;
  }
  out->base = ptx_value(d, base, PLUMB_I64);
  return !d->unknown;
}

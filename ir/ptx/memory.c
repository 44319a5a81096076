/* Loads, stores, atomics, fences (9.7.9.8 to 9.7.9.19, 9.7.13.4 to 9.7.13.6). */
#include "ir/ptx/decode.h"

static bool space_part(const ptx_decoder *d, plumb_space *out) {
  static const struct {
    const char *text;
    plumb_space space;
  } rows[] = {{"global", PLUMB_SPACE_GLOBAL},         {"shared", PLUMB_SPACE_SHARED},
              {"shared::cta", PLUMB_SPACE_SHARED},    {"local", PLUMB_SPACE_LOCAL},
              {"const", PLUMB_SPACE_CONST},           {"param", PLUMB_SPACE_PARAM},
              {"param::entry", PLUMB_SPACE_PARAM},    {"param::func", PLUMB_SPACE_PARAM},
              {"shared::cluster", PLUMB_SPACE_SHARED}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (ptx_has(d, rows[i].text)) {
      *out = rows[i].space;
      return true;
    }
  *out = PLUMB_SPACE_GENERIC;
  return false;
}

/* Ordering and scope; .weak and no word are neither. */
static uint32_t order_flags(const ptx_decoder *d) {
  static const struct {
    const char *text;
    uint32_t flags;
  } rows[] = {{"volatile", PLUMB_FLAG_VOLATILE},
              {"relaxed", PLUMB_FLAG_RELAXED},
              {"mmio", PLUMB_FLAG_VOLATILE},
              {"acquire", PLUMB_FLAG_ACQUIRE},
              {"release", PLUMB_FLAG_RELEASE},
              {"acq_rel", PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE},
              {"sc", PLUMB_FLAG_SEQ_CST},
              {"cta", PLUMB_FLAG_SCOPE_CTA},
              {"cluster", PLUMB_FLAG_SCOPE_CLUSTER},
              {"gpu", PLUMB_FLAG_SCOPE_GPU},
              {"gl", PLUMB_FLAG_SCOPE_GPU},
              {"nc", PLUMB_FLAG_NONTEMPORAL}};
  uint32_t flags = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (ptx_has(d, rows[i].text)) flags |= rows[i].flags;
  return flags;
}

static uint8_t log2_of(unsigned bytes) {
  uint8_t n = 0;
  while ((1u << n) < bytes) n++;
  return n;
}

/* The elements of a vector operand, or of a vector register, or the scalar itself. */
static size_t elements(ptx_decoder *d, const ptx_operand *o, const ptx_operand **out) {
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
                             .name = plumb_arena_printf(d->arena, "%s.%c", o->name, "xyzw"[i])};
  *out = items;
  return s->variable->vector;
}

static size_t vector_width(const ptx_decoder *d) {
  return ptx_has(d, "v2") ? 2 : ptx_has(d, "v4") ? 4 : ptx_has(d, "v8") ? 8 : 1;
}

/* A symbol fixes what `.param` means: device-function parameters live in the frame. */
static plumb_space final_space(plumb_space space, const ptx_address *a) {
  return space == PLUMB_SPACE_PARAM && a->space_known     ? a->space
         : space == PLUMB_SPACE_GENERIC && a->space_known ? a->space
                                                          : space;
}

/* A scalar .param variable is a register: its low bytes are read or written. */
static bool param_load(ptx_decoder *d, const ptx_address *a, ptx_type t) {
  plumb_dtype held = plumb_reg_type(d->f, a->param_reg);
  unsigned have = plumb_dtype_bytes(held), want = plumb_dtype_bytes(t.container);
  if (a->offset || want > have) return false;
  plumb_reg v = ptx_resize(d, a->param_reg, have == want ? held : ptx_int_type(have),
                           have == want ? held : ptx_int_type(want), false);
  plumb_reg r = ptx_dst(d, 0, t.container);
  if (!d->unknown) plumb_build(&d->b, PLUMB_OP_MOV, t.container, &r, 1, &v, 1);
  return ptx_done(d, 0, t.container, t.is_signed, r);
}

static bool param_store(ptx_decoder *d, const ptx_address *a, ptx_type t) {
  plumb_dtype held = plumb_reg_type(d->f, a->param_reg);
  unsigned have = plumb_dtype_bytes(held), given = plumb_dtype_bytes(t.container);
  if (a->offset || given > have) return false;
  plumb_reg v = ptx_src(d, 1, t.container);
  if (given != have) v = ptx_resize(d, v, ptx_int_type(given), ptx_int_type(have), t.is_signed);
  plumb_build_mov(&d->b, a->param_reg, v);
  return !d->unknown;
}

bool ptx_emit_ld(ptx_decoder *d) {
  ptx_address a;
  plumb_space space;
  if (d->type_count != 1 || !ptx_address_of(d, ptx_op(d, 1), &a)) return false;
  ptx_type t = d->types[0];
  space_part(d, &space);
  const ptx_operand *items;
  size_t count = elements(d, ptx_op(d, 0), &items);
  if (count != vector_width(d) || count > 8) return false;
  if (a.param_reg != PLUMB_NO_REG) return count == 1 && param_load(d, &a, t);
  plumb_reg r[8];
  for (size_t i = 0; i < count; i++) {
    r[i] = ptx_dest(d, &items[i], t.container);
    /* The address must outlive the first result that is written. */
    if (r[i] == a.base && count > 1) r[i] = plumb_reg_create(d->f, t.container);
  }
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_LOAD, t.container, r, count, &a.base, 1);
  inst->space = (uint8_t)final_space(space, &a);
  inst->imm = a.offset;
  inst->flags |= order_flags(d);
  inst->align_log2 = log2_of(plumb_dtype_bytes(t.container) * (unsigned)count);
  for (size_t i = 0; i < count; i++)
    if (!ptx_done_to(d, &items[i], t.container, t.is_signed, r[i])) return false;
  return true;
}

bool ptx_emit_st(ptx_decoder *d) {
  ptx_address a;
  plumb_space space;
  if (ptx_has(d, "async")) return ptx_emit_store_async(d);
  if (d->type_count != 1 || ptx_has(d, "bulk")) return false;
  if (!ptx_address_of(d, ptx_op(d, 0), &a)) return false;
  ptx_type t = d->types[0];
  space_part(d, &space);
  const ptx_operand *items;
  size_t count = elements(d, ptx_op(d, 1), &items);
  if (count != vector_width(d) || count > 8) return false;
  if (a.param_reg != PLUMB_NO_REG) return count == 1 && param_store(d, &a, t);
  plumb_reg v[9] = {a.base};
  for (size_t i = 0; i < count; i++) v[i + 1] = ptx_value(d, &items[i], t.container);
  if (d->unknown) return false;
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_STORE, t.container, NULL, 0, v, count + 1);
  inst->space = (uint8_t)final_space(space, &a);
  inst->imm = a.offset;
  inst->flags |= order_flags(d);
  inst->align_log2 = log2_of(plumb_dtype_bytes(t.container) * (unsigned)count);
  return true;
}

static bool atomic_op(const ptx_decoder *d, ptx_type t, plumb_atomic *out) {
  static const struct {
    const char *text;
    plumb_atomic is_signed, is_unsigned;
  } rows[] = {{"add", PLUMB_ATOMIC_ADD, PLUMB_ATOMIC_ADD},
              {"min", PLUMB_ATOMIC_MIN_S, PLUMB_ATOMIC_MIN_U},
              {"max", PLUMB_ATOMIC_MAX_S, PLUMB_ATOMIC_MAX_U},
              {"and", PLUMB_ATOMIC_AND, PLUMB_ATOMIC_AND},
              {"or", PLUMB_ATOMIC_OR, PLUMB_ATOMIC_OR},
              {"xor", PLUMB_ATOMIC_XOR, PLUMB_ATOMIC_XOR},
              {"inc", PLUMB_ATOMIC_INC, PLUMB_ATOMIC_INC},
              {"dec", PLUMB_ATOMIC_DEC, PLUMB_ATOMIC_DEC},
              {"exch", PLUMB_ATOMIC_EXCH, PLUMB_ATOMIC_EXCH},
              {"cas", PLUMB_ATOMIC_CAS, PLUMB_ATOMIC_CAS}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (ptx_has(d, rows[i].text)) {
      *out = t.is_signed ? rows[i].is_signed : rows[i].is_unsigned;
      return !plumb_dtype_is_float(t.dtype) || *out == PLUMB_ATOMIC_ADD;
    }
  return false;
}

/* atom and red. Without .sem they are relaxed, without a scope .gpu (9.7.13.5). */
bool ptx_emit_atom(ptx_decoder *d) {
  ptx_address a;
  plumb_space space;
  plumb_atomic op;
  bool has_result = d->s->name[0] == 'a';
  size_t at = has_result ? 1 : 0;
  if (ptx_has(d, "async")) return ptx_emit_store_async(d);
  if (d->type_count != 1 || d->types[0].packed > 1 || vector_width(d) > 1) return false;
  ptx_type t = d->types[0];
  if (!atomic_op(d, t, &op) || !ptx_address_of(d, ptx_op(d, at), &a)) return false;
  if (a.param_reg != PLUMB_NO_REG) return false;
  space_part(d, &space);
  size_t values = op == PLUMB_ATOMIC_CAS ? 2 : 1;
  plumb_reg v[3] = {a.base};
  if (a.offset)
    v[0] = plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I64, a.base,
                        plumb_constant_i64(d->program, a.offset));
  for (size_t i = 0; i < values; i++) v[i + 1] = ptx_src(d, at + 1 + i, t.dtype);
  plumb_reg r = has_result ? ptx_dst(d, 0, t.dtype) : plumb_reg_create(d->f, t.dtype);
  if (d->unknown) return false;
  plumb_inst *inst = ptx_build(d, PLUMB_OP_ATOMIC, t.dtype, r, v, values + 1);
  uint32_t flags = order_flags(d);
  if (!(flags & (PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE))) flags |= PLUMB_FLAG_RELAXED;
  if (!(flags & (PLUMB_FLAG_SCOPE_CTA | PLUMB_FLAG_SCOPE_CLUSTER)) && !ptx_has(d, "sys"))
    flags |= PLUMB_FLAG_SCOPE_GPU;
  /* f32 add on global memory flushes subnormals; on shared memory it keeps them. */
  if (t.dtype == PLUMB_F32 && final_space(space, &a) == PLUMB_SPACE_GLOBAL) flags |= PLUMB_FLAG_FTZ;
  inst->flags |= flags;
  inst->space = (uint8_t)final_space(space, &a);
  inst->sub = (uint8_t)op;
  return !has_result || ptx_done(d, 0, t.dtype, t.is_signed, r);
}

/* membar is fence.sc (9.7.13.4). */
bool ptx_emit_fence(ptx_decoder *d) {
  if (ptx_has(d, "proxy") || ptx_has(d, "mbarrier_init")) return ptx_emit_proxy_fence(d);
  if (d->s->operand_count) return false;
  uint32_t flags = order_flags(d);
  if (d->s->name[0] == 'm') flags |= PLUMB_FLAG_SEQ_CST;
  if (!(flags & (PLUMB_FLAG_SEQ_CST | PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE)))
    flags |= PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE;
  plumb_build(&d->b, PLUMB_OP_FENCE, PLUMB_I1, NULL, 0, NULL, 0)->flags |= flags;
  return true;
}

/* Hints change no value. */
bool ptx_emit_hint(ptx_decoder *d) {
  (void)d;
  return true;
}

/* A cache policy is opaque and only passed on to hints. */
bool ptx_emit_createpolicy(ptx_decoder *d) {
  plumb_reg r = ptx_dst(d, 0, PLUMB_I64), zero = ptx_const(d, PLUMB_I64, 0);
  if (d->unknown) return false;
  plumb_build(&d->b, PLUMB_OP_MOV, PLUMB_I64, &r, 1, &zero, 1);
  return ptx_done(d, 0, PLUMB_I64, false, r);
}

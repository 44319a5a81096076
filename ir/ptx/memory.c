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

/* A symbol fixes what `.param` means: device-function parameters live in the frame. */
static plumb_space final_space(plumb_space space, const ptx_address *a) {
  return space == PLUMB_SPACE_PARAM && a->space_known     ? a->space
         : space == PLUMB_SPACE_GENERIC && a->space_known ? a->space
                                                          : space;
}

/* A scalar .param variable is a register: a load takes bytes out of it. */
static bool param_load(ptx_decoder *d, const ptx_address *a, ptx_type t, const ptx_operand *items,
                       size_t count) {
  plumb_dtype held = plumb_reg_type(d->f, a->param_reg);
  unsigned have = plumb_dtype_bytes(held), want = plumb_dtype_bytes(t.container);
  if (a->offset < 0 || (uint64_t)a->offset + want * count > have) return false;
  plumb_reg v[8];
  for (size_t i = 0; i < count; i++) {
    unsigned skip = 8 * ((unsigned)a->offset + want * (unsigned)i);
    plumb_reg from = a->param_reg;
    if (skip)
      from = plumb_build2(&d->b, PLUMB_OP_SHR_U, ptx_int_type(have), from,
                          ptx_const(d, ptx_int_type(have), skip));
    from = ptx_resize(d, from, have == want ? held : ptx_int_type(have),
                      have == want ? held : ptx_int_type(want), false);
    v[i] = count > 1 ? plumb_reg_create(d->f, t.container) : ptx_dest(d, items, t.container);
    if (!d->unknown) plumb_build(&d->b, PLUMB_OP_MOV, t.container, &v[i], 1, &from, 1);
  }
  for (size_t i = 0; i < count; i++)
    if (!ptx_done_to(d, &items[i], t.container, t.is_signed, v[i])) return false;
  return true;
}

/* A store of a whole one writes the register; of a part, it is put in its place. */
static bool param_store(ptx_decoder *d, const ptx_address *a, ptx_type t, const ptx_operand *items,
                        size_t count) {
  plumb_dtype held = plumb_reg_type(d->f, a->param_reg);
  unsigned have = plumb_dtype_bytes(held), given = plumb_dtype_bytes(t.container);
  if (a->offset < 0 || (uint64_t)a->offset + given * count > have) return false;
  plumb_dtype word = ptx_int_type(have);
  plumb_reg all = a->param_reg;
  for (size_t i = 0; i < count; i++) {
    unsigned skip = 8 * ((unsigned)a->offset + given * (unsigned)i);
    plumb_reg v = ptx_value(d, &items[i], t.container);
    if (given == have || (count == 1 && !skip)) {
      /* The value alone: what lies above a narrower one is its extension. */
      all = given == have ? v : ptx_resize(d, v, ptx_int_type(given), word, t.is_signed);
      continue;
    }
    if (have > 8) return false;
    uint64_t mask = ((1ull << (8 * given)) - 1) << skip;
    v = plumb_build2(&d->b, PLUMB_OP_SHL, word, ptx_resize(d, v, ptx_int_type(given), word, false),
                     ptx_const(d, word, skip));
    all = plumb_build2(&d->b, PLUMB_OP_AND, word, all, ptx_const(d, word, ~mask));
    all = plumb_build2(&d->b, PLUMB_OP_OR, word, all, v);
  }
  plumb_build_mov(&d->b, a->param_reg, all);
  return !d->unknown;
}

bool ptx_emit_ld(ptx_decoder *d) {
  ptx_address a;
  plumb_space space;
  if (d->type_count != 1 || !ptx_address_of(d, ptx_op(d, 1), &a)) return false;
  ptx_type t = d->types[0];
  space_part(d, &space);
  const ptx_operand *items;
  size_t count = ptx_elements(d, ptx_op(d, 0), &items);
  if (count != ptx_vector_width(d) || count > 8) return false;
  if (a.param_reg != PLUMB_NO_REG) return param_load(d, &a, t, items, count);
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
  size_t count = ptx_elements(d, ptx_op(d, 1), &items);
  if (count != ptx_vector_width(d) || count > 8) return false;
  if (a.param_reg != PLUMB_NO_REG) return param_store(d, &a, t, items, count);
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
      if (!plumb_dtype_is_float(t.dtype)) return true;
      bool low = *out == PLUMB_ATOMIC_MIN_U, high = *out == PLUMB_ATOMIC_MAX_U;
      if (low || high) *out = low ? PLUMB_ATOMIC_FMIN : PLUMB_ATOMIC_FMAX;
      /* Only the vector forms know the minimum and maximum of floats (9.7.13.5). */
      return low || high ? ptx_vector_width(d) > 1 : *out == PLUMB_ATOMIC_ADD;
    }
  return false;
}

/* Order and scope: without a word relaxed, without a scope .gpu (9.7.13.5). */
static uint32_t atomic_flags(const ptx_decoder *d, ptx_type t, plumb_space space) {
  uint32_t flags = order_flags(d);
  if (!(flags & (PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE))) flags |= PLUMB_FLAG_RELAXED;
  if (!(flags & (PLUMB_FLAG_SCOPE_CTA | PLUMB_FLAG_SCOPE_CLUSTER)) && !ptx_has(d, "sys"))
    flags |= PLUMB_FLAG_SCOPE_GPU;
  /* f32 add on global memory flushes subnormals; on shared memory it keeps them. */
  if (t.dtype == PLUMB_F32 && space == PLUMB_SPACE_GLOBAL) flags |= PLUMB_FLAG_FTZ;
  return flags;
}

/* One element at byte `offset` of the address; the first checks the whole alignment. */
static void atomic_element(ptx_decoder *d, const ptx_address *a, ptx_type t, plumb_atomic op,
                           unsigned offset, unsigned whole_bytes, plumb_reg r,
                           const plumb_reg *values) {
  plumb_space space;
  space_part(d, &space);
  space = final_space(space, a);
  plumb_reg v[3] = {a->base, values[0], op == PLUMB_ATOMIC_CAS ? values[1] : PLUMB_NO_REG};
  int64_t at = a->offset + (int64_t)offset;
  if (at)
    v[0] =
        plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I64, a->base, plumb_constant_i64(d->program, at));
  plumb_inst *i = ptx_build(d, PLUMB_OP_ATOMIC, t.dtype, r, v, op == PLUMB_ATOMIC_CAS ? 3 : 2);
  i->flags |= atomic_flags(d, t, space);
  i->space = (uint8_t)space;
  i->sub = (uint8_t)op;
  if (!offset) i->align_log2 = log2_of(whole_bytes);
}

/* Vectors and packed types: each element is atomic by itself (9.7.13.5). */
static bool atomic_vector(ptx_decoder *d, const ptx_address *a, ptx_type t, plumb_atomic op,
                          size_t at) {
  const ptx_operand *to = NULL, *from;
  bool has_result = at == 1;
  size_t n = ptx_elements(d, ptx_op(d, at + 1), &from);
  unsigned bytes = plumb_dtype_bytes(t.container), piece = plumb_dtype_bytes(t.dtype);
  if (n != ptx_vector_width(d) || n > 8 || op == PLUMB_ATOMIC_CAS) return false;
  if (has_result && ptx_elements(d, ptx_op(d, 0), &to) != n) return false;
  plumb_reg old[8];
  for (size_t i = 0; i < n; i++) {
    plumb_reg v = ptx_value(d, &from[i], t.container), parts[PTX_MAX_PACKED];
    for (unsigned e = 0; e < t.packed; e++) {
      plumb_reg one = t.packed > 1 ? ptx_extract(d, v, t.container, t.dtype, e) : v;
      parts[e] = plumb_reg_create(d->f, t.dtype);
      atomic_element(d, a, t, op, (unsigned)i * bytes + e * piece, (unsigned)n * bytes, parts[e],
                     &one);
    }
    old[i] = parts[0];
    if (t.packed < 2) continue;
    old[i] = plumb_reg_create(d->f, t.container);
    ptx_pack(d, old[i], t.container, parts, t.dtype, t.packed);
  }
  for (size_t i = 0; has_result && i < n; i++)
    if (!ptx_done_to(d, &to[i], t.container, false, old[i])) return false;
  return !d->unknown;
}

/* atom and red. */
bool ptx_emit_atom(ptx_decoder *d) {
  ptx_address a;
  plumb_atomic op;
  bool has_result = d->s->name[0] == 'a';
  size_t at = has_result ? 1 : 0;
  if (ptx_has(d, "async")) return ptx_emit_store_async(d);
  if (d->type_count != 1) return false;
  ptx_type t = d->types[0];
  if (!atomic_op(d, t, &op) || !ptx_address_of(d, ptx_op(d, at), &a)) return false;
  if (a.param_reg != PLUMB_NO_REG) return false;
  if (t.packed > 1 || ptx_vector_width(d) > 1) return atomic_vector(d, &a, t, op, at);
  if (t.dtype == PLUMB_I128 && op != PLUMB_ATOMIC_CAS && op != PLUMB_ATOMIC_EXCH) return false;
  plumb_reg values[2] = {ptx_src(d, at + 1, t.dtype), PLUMB_NO_REG};
  if (op == PLUMB_ATOMIC_CAS) values[1] = ptx_src(d, at + 2, t.dtype);
  plumb_reg r = has_result ? ptx_dst(d, 0, t.dtype) : plumb_reg_create(d->f, t.dtype);
  if (d->unknown) return false;
  atomic_element(d, &a, t, op, 0, plumb_dtype_bytes(t.dtype), r, values);
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

/* discard [a], 128: what lay there is undetermined until it is written (9.7.9.17). */
bool ptx_emit_discard(ptx_decoder *d) {
  ptx_address a;
  const ptx_operand *size = ptx_op(d, 1);
  if (!ptx_address_of(d, ptx_op(d, 0), &a) || a.param_reg != PLUMB_NO_REG) return false;
  if (!size || size->kind != PTX_OPERAND_INT || size->value != 128) return false;
  plumb_reg v[3] = {a.base, ptx_const(d, PLUMB_I8, 0), ptx_const(d, PLUMB_I64, 128)};
  if (a.offset)
    v[0] = plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I64, a.base,
                        plumb_constant_i64(d->program, a.offset));
  plumb_inst *i = plumb_build(&d->b, PLUMB_OP_MEMSET, PLUMB_I64, NULL, 0, v, 3);
  i->sub = 1;
  i->align_log2 = 7;
  return true;
}

/* alloca ptr, size{, align}: an address in local memory (9.7.17.3). */
bool ptx_emit_alloca(ptx_decoder *d) {
  const ptx_operand *align = ptx_op(d, 2);
  if (align && (align->kind != PTX_OPERAND_INT || !align->value || align->value > 1u << 23 ||
                (align->value & (align->value - 1))))
    return false;
  plumb_dtype t = d->types[0].dtype;
  plumb_reg size = ptx_resize(d, ptx_src(d, 1, t), t, PLUMB_I64, false);
  plumb_reg at = plumb_reg_create(d->f, PLUMB_I64), r = ptx_dst(d, 0, t);
  if (d->unknown) return false;
  plumb_build(&d->b, PLUMB_OP_ALLOCA, PLUMB_I64, &at, 1, &size, 1)->imm =
      align && align->value > 8 ? (int64_t)align->value : 8;
  plumb_build_mov(&d->b, r, ptx_resize(d, at, PLUMB_I64, t, false));
  return ptx_done(d, 0, t, false, r);
}

/* The stack pointer is what an empty allocation returns. */
bool ptx_emit_stacksave(ptx_decoder *d) {
  plumb_dtype t = d->types[0].dtype;
  plumb_reg at = plumb_reg_create(d->f, PLUMB_I64), zero = ptx_const(d, PLUMB_I64, 0);
  plumb_reg r = ptx_dst(d, 0, t);
  if (d->unknown) return false;
  plumb_build(&d->b, PLUMB_OP_ALLOCA, PLUMB_I64, &at, 1, &zero, 1)->imm = 8;
  plumb_build_mov(&d->b, r, ptx_resize(d, at, PLUMB_I64, t, false));
  return ptx_done(d, 0, t, false, r);
}

/* What was allocated since stays until the function returns: no program can tell. */
bool ptx_emit_stackrestore(ptx_decoder *d) {
  ptx_src(d, 0, d->types[0].dtype);
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

/* Asynchronous copies, mbarriers and clusters (9.7.9.12, 9.7.9.23 to 9.7.9.28, 9.7.13.3 to
 * 9.7.13.6, 9.7.13.15). Addresses become generic: the executor finds the memory by them. */
#include "ir/ptx/decode.h"

static bool in(const char *const *list, const char *text) {
  while (*list && strcmp(*list, text) != 0) list++;
  return *list != NULL;
}

/* Every suffix must be understood: the types, and those of two lists. */
static bool only_of(const ptx_decoder *d, const char *const *list, const char *const *more) {
  ptx_type t;
  for (size_t i = 0; i < d->s->part_count; i++) {
    const char *text = d->s->parts[i];
    if (!ptx_type_find(text, &t) && !in(list, text) && !in(more, text)) return false;
  }
  return true;
}
static bool only(const ptx_decoder *d, const char *const *list) {
  return only_of(d, list, list);
}

static const char *part(const ptx_decoder *d, size_t i) {
  return i < d->s->part_count ? d->s->parts[i] : "";
}
static bool is(const ptx_decoder *d, size_t i, const char *text) {
  return strcmp(part(d, i), text) == 0;
}

static bool is_shared(const char *text) {
  return strcmp(text, "shared") == 0 || strcmp(text, "shared::cta") == 0 ||
         strcmp(text, "shared::cluster") == 0;
}

/* The n-th state space among the suffixes; generic if there is none. */
static plumb_space space_part(const ptx_decoder *d, size_t n) {
  for (size_t i = 0; i < d->s->part_count; i++) {
    const char *text = d->s->parts[i];
    bool global = strcmp(text, "global") == 0;
    if ((global || is_shared(text)) && n-- == 0)
      return global ? PLUMB_SPACE_GLOBAL : PLUMB_SPACE_SHARED;
  }
  return PLUMB_SPACE_GENERIC;
}

static plumb_reg to_generic(ptx_decoder *d, plumb_reg base, int64_t offset, plumb_space space) {
  if (offset)
    base =
        plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I64, base, plumb_constant_i64(d->program, offset));
  if (space != PLUMB_SPACE_SHARED && space != PLUMB_SPACE_PARAM && space != PLUMB_SPACE_LOCAL)
    return base;
  plumb_reg r = plumb_reg_create(d->f, PLUMB_I64);
  ptx_build(d, PLUMB_OP_TO_GENERIC, PLUMB_I64, r, &base, 1)->space = (uint8_t)space;
  return r;
}

/* The generic address of `[...]`, or of the first item of it. */
static plumb_reg address(ptx_decoder *d, const ptx_operand *o, plumb_space space) {
  ptx_operand first;
  if (o && o->kind == PTX_OPERAND_ADDRESS && o->count > 1) {
    first = *o;
    first.count = 1;
    o = &first;
  }
  ptx_address a;
  if (!ptx_address_of(d, o, &a) || a.param_reg != PLUMB_NO_REG) {
    d->unknown = true;
    return plumb_constant_i64(d->program, 0);
  }
  if (space == PLUMB_SPACE_GENERIC && a.space_known) space = a.space;
  return to_generic(d, a.base, a.offset, space);
}

static plumb_inst *build(ptx_decoder *d, plumb_op op, plumb_dtype type, const plumb_reg *v,
                         size_t count) {
  return plumb_build(&d->b, op, type, NULL, 0, v, count);
}

/* Operands that a cache hint leaves at the end: `n` without it. */
static size_t count_operands(const ptx_decoder *d) {
  size_t n = d->s->operand_count;
  return n && ptx_has(d, "L2::cache_hint") ? n - 1 : n;
}

/* --- cp.async (9.7.9.25.3) --- */

static bool constant(const ptx_operand *o, int64_t *out) {
  if (!o || o->kind != PTX_OPERAND_INT) return false;
  *out = (int64_t)o->value;
  return true;
}

static bool is_predicate(ptx_decoder *d, const ptx_operand *o) {
  if (!o || o->kind != PTX_OPERAND_NAME) return false;
  ptx_symbol *s = ptx_symbol_find(d, d->s->scope, o->name);
  return s && s->kind == PTX_SYMBOL_REG && plumb_reg_type(d->f, s->reg) == PLUMB_I1;
}

static bool cp_async(ptx_decoder *d) {
  static const char *const parts[] = {"async",  "ca",      "cg",       "shared",   "shared::cta",
                                      "global", "L2::64B", "L2::128B", "L2::256B", "L2::cache_hint",
                                      NULL};
  size_t n = count_operands(d);
  int64_t size;
  if (!only(d, parts) || n < 3 || n > 4 || !constant(ptx_op(d, 2), &size)) return false;
  plumb_reg v[4] = {address(d, ptx_op(d, 0), PLUMB_SPACE_SHARED),
                    address(d, ptx_op(d, 1), PLUMB_SPACE_GLOBAL),
                    ptx_const(d, PLUMB_I32, (uint64_t)size)};
  bool ignore = n == 4 && is_predicate(d, ptx_op(d, 3));
  if (ignore)
    v[3] = ptx_src(d, 3, PLUMB_I1);
  else if (n == 4)
    v[2] = ptx_src(d, 3, PLUMB_I32);
  if (d->unknown || (size != 4 && size != 8 && size != 16)) return false;
  build(d, PLUMB_OP_CP_ASYNC, PLUMB_I8, v, ignore ? 4 : 3)->imm = size;
  return true;
}

static bool group(ptx_decoder *d, plumb_group sub, int64_t count) {
  plumb_inst *i = build(d, PLUMB_OP_ASYNC_GROUP, PLUMB_I8, NULL, 0);
  i->sub = (uint8_t)sub;
  i->imm = count;
  return true;
}

static bool wait_group(ptx_decoder *d, plumb_group sub) {
  int64_t count;
  return constant(ptx_op(d, 0), &count) && count >= 0 && group(d, sub, count);
}

static bool cp_arrive(ptx_decoder *d) {
  static const char *const parts[] = {"async",  "mbarrier",    "arrive", "noinc",
                                      "shared", "shared::cta", NULL};
  if (!only(d, parts)) return false;
  plumb_reg v = address(d, ptx_op(d, 0), space_part(d, 0));
  if (d->unknown) return false;
  build(d, PLUMB_OP_MBARRIER, PLUMB_I64, &v, 1)->sub =
      ptx_has(d, "noinc") ? PLUMB_MBARRIER_CP_ARRIVE_NOINC : PLUMB_MBARRIER_CP_ARRIVE;
  return true;
}

/* --- bulk copies (9.7.9.25.4, 9.7.9.27) --- */

/* 0: no reduction; else 1 + plumb_atomic. False: none such for the type. */
static bool reduction(const ptx_decoder *d, ptx_type t, uint8_t *out) {
  static const struct {
    const char *text;
    plumb_atomic is_signed, is_unsigned, is_float;
  } rows[] = {{"add", PLUMB_ATOMIC_ADD, PLUMB_ATOMIC_ADD, PLUMB_ATOMIC_ADD},
              {"min", PLUMB_ATOMIC_MIN_S, PLUMB_ATOMIC_MIN_U, PLUMB_ATOMIC_FMIN},
              {"max", PLUMB_ATOMIC_MAX_S, PLUMB_ATOMIC_MAX_U, PLUMB_ATOMIC_FMAX},
              {"inc", PLUMB_ATOMIC_INC, PLUMB_ATOMIC_INC, PLUMB_ATOMIC_COUNT},
              {"dec", PLUMB_ATOMIC_DEC, PLUMB_ATOMIC_DEC, PLUMB_ATOMIC_COUNT},
              {"and", PLUMB_ATOMIC_AND, PLUMB_ATOMIC_AND, PLUMB_ATOMIC_COUNT},
              {"or", PLUMB_ATOMIC_OR, PLUMB_ATOMIC_OR, PLUMB_ATOMIC_COUNT},
              {"xor", PLUMB_ATOMIC_XOR, PLUMB_ATOMIC_XOR, PLUMB_ATOMIC_COUNT}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!ptx_has(d, rows[i].text)) continue;
    plumb_atomic a = plumb_dtype_is_float(t.dtype) ? rows[i].is_float
                     : t.is_signed                 ? rows[i].is_signed
                                                   : rows[i].is_unsigned;
    *out = (uint8_t)(a + 1);
    return a != PLUMB_ATOMIC_COUNT;
  }
  return false;
}

static const char *const bulk_words[] = {"async",
                                         "reduce",
                                         "bulk",
                                         "shared::cta",
                                         "shared::cluster",
                                         "global",
                                         "bulk_group",
                                         "mbarrier::complete_tx::bytes",
                                         "multicast::cluster",
                                         "L2::cache_hint",
                                         "add",
                                         "min",
                                         "max",
                                         "inc",
                                         "dec",
                                         "and",
                                         "or",
                                         "xor",
                                         NULL};

static bool bulk(ptx_decoder *d) {
  static const char *const more[] = {"shared", "noftz", NULL};
  bool reduces = is(d, 0, "reduce"), multicast = ptx_has(d, "multicast::cluster");
  bool to_mbarrier = ptx_has(d, "mbarrier::complete_tx::bytes");
  size_t n = count_operands(d);
  uint8_t sub = 0;
  if (!only_of(d, bulk_words, more) || n != 3u + to_mbarrier + multicast ||
      d->type_count != reduces)
    return false;
  if (to_mbarrier == ptx_has(d, "bulk_group") || (multicast && !to_mbarrier)) return false;
  if (reduces && !reduction(d, d->types[0], &sub)) return false;
  plumb_reg v[5] = {address(d, ptx_op(d, 0), space_part(d, 0)),
                    address(d, ptx_op(d, 1), space_part(d, 1)), ptx_src(d, 2, PLUMB_I32)};
  if (to_mbarrier) v[3] = address(d, ptx_op(d, 3), PLUMB_SPACE_SHARED);
  if (multicast) v[4] = ptx_src(d, 4, PLUMB_I16);
  if (d->unknown) return false;
  build(d, PLUMB_OP_BULK_COPY, reduces ? d->types[0].dtype : PLUMB_I8, v, n)->sub = sub;
  return true;
}

/* `{a, b}` or a lone register. */
static size_t list_of(ptx_decoder *d, const ptx_operand *o, plumb_dtype type, plumb_reg *out,
                      size_t room) {
  if (!o) return 0;
  if (o->kind != PTX_OPERAND_VECTOR) {
    out[0] = ptx_value(d, o, type);
    return 1;
  }
  if (o->count > room) return 0;
  for (size_t i = 0; i < o->count; i++) out[i] = ptx_value(d, &o->items[i], type);
  return o->count;
}

/* [shared], [map, {coordinates}], [mbarrier]{, {offsets}}{, blocks} for a load; [map,
 * {coordinates}], [shared] for a store and a reduction. */
static bool tensor(ptx_decoder *d) {
  static const char *const more[] = {
      "tensor",         "1d",           "2d", "3d", "4d", "5d", "tile", "im2col",
      "im2col_no_offs", "cta_group::1", NULL};
  bool reduces = is(d, 0, "reduce"), load = ptx_has(d, "mbarrier::complete_tx::bytes");
  bool multicast = ptx_has(d, "multicast::cluster");
  bool im2col = ptx_has(d, "im2col") || ptx_has(d, "im2col_no_offs");
  bool offsets = load && im2col;
  const ptx_operand *map = ptx_op(d, load ? 1 : 0), *box = ptx_op(d, load ? 0 : 1);
  uint8_t sub = 0;
  size_t rank = 0, n = count_operands(d);
  for (size_t i = 0; i < d->s->part_count; i++)
    if (d->s->parts[i][0] >= '1' && d->s->parts[i][0] <= '5' && d->s->parts[i][1] == 'd')
      rank = (size_t)(d->s->parts[i][0] - '0');
  if (!only_of(d, bulk_words, more) || !rank || (im2col && rank < 3) || (load && reduces))
    return false;
  if (n != (load ? 3u + offsets + multicast : 2u)) return false;
  if (load == ptx_has(d, "bulk_group")) return false;
  ptx_type any = {.dtype = PLUMB_I32}; /* the map's element type decides */
  if (reduces && !reduction(d, any, &sub)) return false;
  if (!map || map->kind != PTX_OPERAND_ADDRESS || map->count != 2) return false;
  plumb_reg v[16] = {
      address(d, box, PLUMB_SPACE_SHARED), address(d, map, PLUMB_SPACE_GENERIC),
      load ? address(d, ptx_op(d, 2), PLUMB_SPACE_SHARED) : ptx_const(d, PLUMB_I64, 0),
      ptx_const(d, PLUMB_I16, 0)};
  if (multicast) v[3] = ptx_src(d, 3u + offsets, PLUMB_I16);
  if (list_of(d, &map->items[1], PLUMB_I32, v + 4, 5) != rank) return false;
  size_t count = 4 + rank;
  if (offsets) {
    if (list_of(d, ptx_op(d, 3), PLUMB_I16, v + count, 3) != rank - 2) return false;
    count += rank - 2;
  }
  if (d->unknown) return false;
  plumb_inst *i = build(d, PLUMB_OP_TENSOR_COPY, PLUMB_I8, v, count);
  i->sub = (uint8_t)(load ? 0 : reduces ? 1 + sub : 1);
  i->imm = (int64_t)rank + (im2col ? 256 : 0);
  return true;
}

bool ptx_emit_cp(ptx_decoder *d) {
  if (is(d, 0, "async") && is(d, 1, "bulk")) {
    if (is(d, 2, "commit_group")) return group(d, PLUMB_GROUP_BULK_COMMIT, 0);
    if (is(d, 2, "wait_group"))
      return wait_group(d, is(d, 3, "read") ? PLUMB_GROUP_BULK_WAIT_READ : PLUMB_GROUP_BULK_WAIT);
    if (is(d, 2, "prefetch")) return true; /* a hint */
    return is(d, 2, "tensor") ? tensor(d) : bulk(d);
  }
  if (is(d, 0, "reduce") && is(d, 1, "async") && is(d, 2, "bulk"))
    return is(d, 3, "tensor") ? tensor(d) : bulk(d);
  if (!is(d, 0, "async")) return false;
  if (is(d, 1, "commit_group")) return group(d, PLUMB_GROUP_CP_COMMIT, 0);
  if (is(d, 1, "wait_group")) return wait_group(d, PLUMB_GROUP_CP_WAIT);
  if (is(d, 1, "wait_all"))
    return group(d, PLUMB_GROUP_CP_COMMIT, 0) && group(d, PLUMB_GROUP_CP_WAIT, 0);
  return is(d, 1, "mbarrier") ? cp_arrive(d) : cp_async(d);
}

/* --- st.async, red.async (9.7.9.12, 9.7.13.7) --- */

bool ptx_emit_store_async(ptx_decoder *d) {
  static const char *const parts[] = {"async",
                                      "weak",
                                      "relaxed",
                                      "cluster",
                                      "shared::cluster",
                                      "mbarrier::complete_tx::bytes",
                                      "v2",
                                      "v4",
                                      "add",
                                      "min",
                                      "max",
                                      "inc",
                                      "dec",
                                      "and",
                                      "or",
                                      "xor",
                                      NULL};
  bool reduces = d->s->name[0] == 'r';
  uint8_t sub = 0;
  if (!only(d, parts) || d->type_count != 1 || d->s->operand_count != 3) return false;
  ptx_type t = d->types[0];
  if (!ptx_has(d, "mbarrier::complete_tx::bytes")) return false;
  if (reduces && !reduction(d, t, &sub)) return false;
  plumb_reg v[6] = {address(d, ptx_op(d, 0), PLUMB_SPACE_SHARED),
                    address(d, ptx_op(d, 2), PLUMB_SPACE_SHARED)};
  size_t want = ptx_has(d, "v2") ? 2 : ptx_has(d, "v4") ? 4 : 1;
  if (list_of(d, ptx_op(d, 1), t.dtype, v + 2, 4) != want || d->unknown) return false;
  build(d, PLUMB_OP_STORE_ASYNC, t.dtype, v, 2 + want)->sub = sub;
  return true;
}

/* --- mbarriers (9.7.13.15) --- */

static uint32_t order_flags(const ptx_decoder *d) {
  return (ptx_has(d, "relaxed") ? (uint32_t)PLUMB_FLAG_RELAXED : 0u) |
         (ptx_has(d, "acquire") ? (uint32_t)PLUMB_FLAG_ACQUIRE : 0u) |
         (ptx_has(d, "release") ? (uint32_t)PLUMB_FLAG_RELEASE : 0u) |
         (ptx_has(d, "cta") ? (uint32_t)PLUMB_FLAG_SCOPE_CTA : 0u) |
         (ptx_has(d, "cluster") ? (uint32_t)PLUMB_FLAG_SCOPE_CLUSTER : 0u);
}

static bool mbarrier(ptx_decoder *d, plumb_mbarrier sub, plumb_dtype result, plumb_reg r,
                     const plumb_reg *v, size_t count) {
  if (d->unknown) return false;
  plumb_inst *i = plumb_build(&d->b, PLUMB_OP_MBARRIER, result, &r, r != PLUMB_NO_REG, v, count);
  i->sub = (uint8_t)sub;
  i->flags |= order_flags(d);
  return true;
}

/* arrive and arrive_drop: [state,] [mbarrier]{, count}; with .expect_tx the last is the
 * tx-count and the count is 1. Both are one step, as the tx-count keeps the phase open. */
static bool arrive(ptx_decoder *d, bool drop) {
  static const char *const parts[] = {
      "arrive", "arrive_drop", "expect_tx", "noComplete",  "release",         "relaxed",
      "cta",    "cluster",     "shared",    "shared::cta", "shared::cluster", NULL};
  bool expect = ptx_has(d, "expect_tx"), partial = ptx_has(d, "noComplete");
  size_t n = d->s->operand_count, at = 0;
  if (!only(d, parts) || n < 1) return false;
  if (ptx_op(d, 0)->kind == PTX_OPERAND_NAME) at = 1;
  if (n < at + 1 + expect || n > at + 2 || (partial && n != at + 2)) return false;
  plumb_reg v[2] = {address(d, ptx_op(d, at), space_part(d, 0)),
                    n > at + 1 ? ptx_src(d, at + 1, PLUMB_I32) : ptx_const(d, PLUMB_I32, 1)};
  if (expect && !mbarrier(d, PLUMB_MBARRIER_EXPECT_TX, PLUMB_I64, PLUMB_NO_REG, v, 2)) return false;
  if (expect) v[1] = ptx_const(d, PLUMB_I32, 1);
  bool sink = at == 0 || strcmp(ptx_op(d, 0)->name, "_") == 0;
  plumb_reg r = sink ? plumb_reg_create(d->f, PLUMB_I64) : ptx_dst(d, 0, PLUMB_I64);
  plumb_mbarrier sub = drop      ? partial ? PLUMB_MBARRIER_DROP_NO_COMPLETE : PLUMB_MBARRIER_DROP
                       : partial ? PLUMB_MBARRIER_ARRIVE_NO_COMPLETE
                                 : PLUMB_MBARRIER_ARRIVE;
  if (!mbarrier(d, sub, PLUMB_I64, r, v, 2)) return false;
  return sink || ptx_done(d, 0, PLUMB_I64, false, r);
}

static bool wait(ptx_decoder *d, bool try_wait) {
  static const char *const parts[] = {"test_wait", "try_wait", "parity", "acquire",     "relaxed",
                                      "cta",       "cluster",  "shared", "shared::cta", NULL};
  bool parity = ptx_has(d, "parity");
  size_t n = d->s->operand_count;
  if (!only(d, parts) || n < 3 || n > 3u + try_wait) return false;
  plumb_dtype t = parity ? PLUMB_I32 : PLUMB_I64;
  plumb_reg v[2] = {address(d, ptx_op(d, 1), space_part(d, 0)), ptx_src(d, 2, t)};
  plumb_reg r = ptx_dst(d, 0, PLUMB_I1);
  plumb_mbarrier sub = try_wait ? parity ? PLUMB_MBARRIER_TRY_PARITY : PLUMB_MBARRIER_TRY
                       : parity ? PLUMB_MBARRIER_TEST_PARITY
                                : PLUMB_MBARRIER_TEST;
  return mbarrier(d, sub, PLUMB_I1, r, v, 2) && ptx_done(d, 0, PLUMB_I1, false, r);
}

bool ptx_emit_mbarrier(ptx_decoder *d) {
  static const char *const parts[] = {
      "init",    "inval",  "expect_tx",   "complete_tx",     "relaxed", "cta",
      "cluster", "shared", "shared::cta", "shared::cluster", NULL};
  if (is(d, 0, "arrive") || is(d, 0, "arrive_drop")) return arrive(d, is(d, 0, "arrive_drop"));
  if (is(d, 0, "test_wait") || is(d, 0, "try_wait")) return wait(d, is(d, 0, "try_wait"));
  if (is(d, 0, "pending_count")) {
    plumb_reg v = ptx_src(d, 1, PLUMB_I64), r = ptx_dst(d, 0, PLUMB_I32);
    return mbarrier(d, PLUMB_MBARRIER_PENDING, PLUMB_I32, r, &v, 1) &&
           ptx_done(d, 0, PLUMB_I32, false, r);
  }
  plumb_mbarrier sub = is(d, 0, "init")          ? PLUMB_MBARRIER_INIT
                       : is(d, 0, "inval")       ? PLUMB_MBARRIER_INVAL
                       : is(d, 0, "expect_tx")   ? PLUMB_MBARRIER_EXPECT_TX
                       : is(d, 0, "complete_tx") ? PLUMB_MBARRIER_COMPLETE_TX
                                                 : PLUMB_MBARRIER_COUNT;
  size_t want = sub == PLUMB_MBARRIER_INVAL ? 1 : 2;
  if (!only(d, parts) || sub == PLUMB_MBARRIER_COUNT || d->s->operand_count != want) return false;
  plumb_reg v[2] = {address(d, ptx_op(d, 0), space_part(d, 0))};
  if (want > 1) v[1] = ptx_src(d, 1, PLUMB_I32);
  return mbarrier(d, sub, PLUMB_I64, PLUMB_NO_REG, v, want);
}

/* --- clusters --- */

bool ptx_emit_cluster_barrier(ptx_decoder *d) {
  static const char *const parts[] = {"cluster", "arrive",  "wait",    "release",
                                      "acquire", "relaxed", "aligned", NULL};
  bool waits = ptx_has(d, "wait");
  if (!only(d, parts) || d->s->operand_count || waits == ptx_has(d, "arrive")) return false;
  plumb_inst *i = build(d, PLUMB_OP_CLUSTER_BARRIER, PLUMB_I1, NULL, 0);
  i->sub = waits;
  i->flags |= ptx_has(d, "relaxed") ? (uint32_t)PLUMB_FLAG_RELAXED : 0u;
  if (ptx_has(d, "aligned")) i->flags |= PLUMB_FLAG_ALIGNED;
  return true;
}

/* mapa{.shared::cluster}.u32/u64 d, a, rank; getctarank d, a. The address of a variable
 * may stand for a. */
static plumb_reg shared_value(ptx_decoder *d, const ptx_operand *o) {
  plumb_dtype t = d->type_count && d->types[0].dtype == PLUMB_I32 ? PLUMB_I32 : PLUMB_I64;
  plumb_reg r = ptx_value(d, o, t);
  return ptx_resize(d, r, t, PLUMB_I64, false);
}

bool ptx_emit_mapa(ptx_decoder *d) {
  static const char *const parts[] = {"shared::cluster", NULL};
  if (!only(d, parts) || d->type_count != 1 || d->s->operand_count != 3) return false;
  plumb_reg v[2] = {shared_value(d, ptx_op(d, 1)), ptx_src(d, 2, PLUMB_I32)};
  plumb_dtype t = d->types[0].dtype;
  if (t != PLUMB_I32 && t != PLUMB_I64) return false;
  plumb_reg wide = plumb_reg_create(d->f, PLUMB_I64);
  ptx_build(d, PLUMB_OP_MAP_BLOCK, PLUMB_I64, wide, v, 2);
  plumb_reg from = ptx_resize(d, wide, PLUMB_I64, t, false), r = ptx_dst(d, 0, t);
  if (d->unknown) return false;
  plumb_build_mov(&d->b, r, from);
  return ptx_done(d, 0, t, false, r);
}

bool ptx_emit_getctarank(ptx_decoder *d) {
  static const char *const parts[] = {"shared::cluster", NULL};
  if (!only(d, parts) || d->type_count != 1 || d->s->operand_count != 2) return false;
  plumb_reg v = shared_value(d, ptx_op(d, 1)), r = ptx_dst(d, 0, PLUMB_I32);
  if (d->unknown) return false;
  ptx_build(d, PLUMB_OP_BLOCK_RANK, PLUMB_I32, r, &v, 1);
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

/* --- proxies and tensor maps (9.7.13.4, 9.7.9.28) --- */

/* fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster, and its acquire of
 * shared::cluster: one direction, in two halves, of shared memory alone. */
static bool is_restricted(const ptx_decoder *d) {
  const char *space = is(d, 2, "release")   ? "sync_restrict::shared::cta"
                      : is(d, 2, "acquire") ? "sync_restrict::shared::cluster"
                                            : "";
  return is(d, 1, "async::generic") && is(d, 3, space) && is(d, 4, "cluster") &&
         d->s->part_count == 5;
}

bool ptx_emit_proxy_fence(ptx_decoder *d) {
  bool init = ptx_has(d, "mbarrier_init");
  plumb_proxy proxy = init                             ? PLUMB_PROXY_MBARRIER_INIT
                      : is(d, 1, "async")              ? PLUMB_PROXY_ASYNC
                      : is(d, 1, "alias")              ? PLUMB_PROXY_ALIAS
                      : is_restricted(d)               ? PLUMB_PROXY_ASYNC
                      : is(d, 1, "tensormap::generic") ? PLUMB_PROXY_TENSORMAP
                                                       : PLUMB_PROXY_NONE;
  if (proxy == PLUMB_PROXY_NONE) return false;
  plumb_inst *i = build(d, PLUMB_OP_FENCE, PLUMB_I1, NULL, 0);
  i->sub = (uint8_t)proxy;
  i->space = (uint8_t)(proxy == PLUMB_PROXY_ASYNC ? space_part(d, 0) : PLUMB_SPACE_GENERIC);
  i->flags |= order_flags(d);
  return true;
}

/* tensormap.cp_fenceproxy copies a map from shared to global memory; replace writes a field. */
bool ptx_emit_tensormap(ptx_decoder *d) {
  if (is(d, 0, "cp_fenceproxy")) {
    int64_t size;
    if (!constant(ptx_op(d, 2), &size) || size != 128) return false;
    plumb_reg v[3] = {address(d, ptx_op(d, 0), PLUMB_SPACE_GLOBAL),
                      address(d, ptx_op(d, 1), PLUMB_SPACE_SHARED), ptx_const(d, PLUMB_I64, 128)};
    if (d->unknown) return false;
    build(d, PLUMB_OP_MEMCPY, PLUMB_I64, v, 3);
    plumb_inst *i = build(d, PLUMB_OP_FENCE, PLUMB_I1, NULL, 0);
    i->sub = PLUMB_PROXY_TENSORMAP;
    i->flags |= PLUMB_FLAG_RELEASE;
    return true;
  }
  if (!is(d, 0, "replace")) return false;
  uint8_t field = 0;
  while (field < PLUMB_TENSORMAP_FIELD_COUNT && !ptx_has(d, plumb_tensormap_field_texts[field]))
    field++;
  if (field == PLUMB_TENSORMAP_FIELD_COUNT) return false;
  bool indexed =
      field >= PLUMB_TENSORMAP_FIELD_BOX && field <= PLUMB_TENSORMAP_FIELD_ELEMENT_STRIDE;
  int64_t ordinal = 0;
  if (d->s->operand_count != 2u + indexed || (indexed && !constant(ptx_op(d, 1), &ordinal)))
    return false;
  bool wide = field == PLUMB_TENSORMAP_FIELD_ADDRESS || field == PLUMB_TENSORMAP_FIELD_STRIDE;
  plumb_dtype t = wide ? PLUMB_I64 : PLUMB_I32;
  plumb_reg value = ptx_resize(d, ptx_src(d, 1u + indexed, t), t, PLUMB_I64, false);
  plumb_reg v[2] = {address(d, ptx_op(d, 0), space_part(d, 0)), value};
  if (d->unknown || ordinal < 0 || ordinal > 4) return false;
  plumb_inst *i = build(d, PLUMB_OP_TENSORMAP_REPLACE, PLUMB_I64, v, 2);
  i->sub = field;
  i->imm = ordinal;
  return true;
}

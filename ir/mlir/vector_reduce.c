/* Vector reductions and contractions (VectorOps.td). Elements combine in row-major order;
 * where the definition leaves the order of a float sum or product open, each step says so
 * (REDUCE_ADD, REDUCE_MUL). */
#include "ir/mlir/vector_internal.h"

#include <string.h>

typedef struct kind_row {
  const char *text;
  plumb_mlir_combine kind;
} kind_row;

static const kind_row kinds[] = {
    {"add", PLUMB_MLIR_ADD},           {"mul", PLUMB_MLIR_MUL},
    {"minui", PLUMB_MLIR_MIN_U},       {"minsi", PLUMB_MLIR_MIN_S},
    {"minnumf", PLUMB_MLIR_MINNUMF},   {"maxui", PLUMB_MLIR_MAX_U},
    {"maxsi", PLUMB_MLIR_MAX_S},       {"maxnumf", PLUMB_MLIR_MAXNUMF},
    {"and", PLUMB_MLIR_AND},           {"or", PLUMB_MLIR_OR},
    {"xor", PLUMB_MLIR_XOR},           {"minimumf", PLUMB_MLIR_MINIMUMF},
    {"maximumf", PLUMB_MLIR_MAXIMUMF},
};

bool plumb_vector_kind(plumb_mlir_decoder *d, MlirOperation op, plumb_mlir_combine *out_kind) {
  const char *text = plumb_mlir_attribute_text(d, op, "kind");
  *out_kind = PLUMB_MLIR_ADD;
  if (!*text) return true;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (plumb_mlir_text_has(text, kinds[i].text)) {
      *out_kind = kinds[i].kind;
      return true;
    }
  return plumb_mlir_reject(d, "combining kind %s", text);
}

/* The kind's neutral element. */
static plumb_reg neutral(plumb_mlir_decoder *d, plumb_mlir_combine kind, plumb_dtype type,
                         int bits) {
  unsigned width = bits > 0 && bits < 64 ? (unsigned)bits : 64;
  uint64_t ones = width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
  bool is_float = plumb_dtype_is_float(type);
  switch (kind) {
    case PLUMB_MLIR_MUL:
      return is_float ? plumb_mlir_constant_double(d, type, 1)
                      : plumb_constant(d->program, type, 1);
    case PLUMB_MLIR_MIN_U:
    case PLUMB_MLIR_AND:
      return plumb_constant(d->program, type, ones);
    case PLUMB_MLIR_MIN_S:
      return plumb_constant(d->program, type, ones >> 1);
    case PLUMB_MLIR_MAX_S:
      return plumb_constant(d->program, type, UINT64_C(1) << (width - 1));
    case PLUMB_MLIR_MINNUMF:
    case PLUMB_MLIR_MINIMUMF:
      return plumb_mlir_constant_double(d, type, __builtin_inf());
    case PLUMB_MLIR_MAXNUMF:
    case PLUMB_MLIR_MAXIMUMF:
      return plumb_mlir_constant_double(d, type, -__builtin_inf());
    default:
      return plumb_constant(d->program, type, 0);
  }
}

/* How one accumulator goes on. */
typedef struct folding {
  plumb_mlir_combine kind;
  plumb_dtype type;
  int bits;
  uint32_t flags;
  size_t terms; /* 0: the order is fixed */
} folding;

static plumb_reg combine(plumb_mlir_decoder *d, const folding *f, plumb_reg acc, plumb_reg value) {
  bool open = f->terms && plumb_dtype_is_float(f->type) &&
              (f->kind == PLUMB_MLIR_ADD || f->kind == PLUMB_MLIR_MUL);
  if (!open) return plumb_mlir_build_combine(d, f->kind, f->type, f->bits, f->flags, acc, value);
  plumb_reg r = plumb_reg_create(d->b.function, f->type);
  plumb_build(&d->b, f->kind == PLUMB_MLIR_ADD ? PLUMB_OP_REDUCE_ADD : PLUMB_OP_REDUCE_MUL, f->type,
              &r, 1, (plumb_reg[]){acc, value, plumb_mlir_i64(d, (int64_t)f->terms)}, 3)
      ->flags |= f->flags;
  return r;
}

static plumb_reg choose(plumb_mlir_decoder *d, plumb_dtype type, plumb_reg condition, plumb_reg yes,
                        plumb_reg no) {
  return plumb_build3(&d->b, PLUMB_OP_SELECT, type, condition, yes, no);
}

/* acc op value where the mask's bit is set. */
static plumb_reg combine_masked(plumb_mlir_decoder *d, const folding *f, plumb_reg acc,
                                plumb_reg value, const plumb_reg *mask, size_t i) {
  plumb_reg next = combine(d, f, acc, value);
  return mask ? choose(d, f->type, mask[i], next, acc) : next;
}

static bool scalar_of(plumb_mlir_decoder *d, MlirType type, folding *f) {
  return plumb_mlir_scalar_type(plumb_mlir_element_type(type), &f->type, &f->bits) ||
         plumb_mlir_reject(d, "elements of %s", plumb_mlir_print_type(d, type));
}

/* Without an accumulator the first active element starts it, the neutral one if none is. */
bool plumb_vector_reduction(plumb_mlir_decoder *d, MlirOperation op, const plumb_reg *mask,
                            size_t mask_count, const plumb_reg *passthru) {
  (void)passthru;
  folding f = {.flags = plumb_mlir_fastmath(d, op)};
  plumb_mlir_run v = plumb_mlir_operand(d, op, 0);
  if (!plumb_vector_kind(d, op, &f.kind) || !scalar_of(d, plumb_mlir_operand_type(op, 0), &f))
    return false;
  if (mask && mask_count != v.count) return plumb_mlir_reject(d, "a mask that does not fit");
  bool has_acc = mlirOperationGetNumOperands(op) > 1;
  if (f.flags & (uint32_t)PLUMB_FLAG_REASSOC) f.terms = v.count + has_acc;
  size_t i = 0;
  plumb_reg acc = has_acc            ? plumb_mlir_operand1(d, op, 1)
                  : mask || !v.count ? neutral(d, f.kind, f.type, f.bits)
                                     : v.regs[i++];
  plumb_reg started = plumb_constant(d->program, PLUMB_I1, has_acc);
  for (; i < v.count; i++) {
    if (!mask) {
      acc = combine(d, &f, acc, v.regs[i]);
      continue;
    }
    plumb_reg next = combine(d, &f, acc, v.regs[i]);
    if (!has_acc) next = choose(d, f.type, started, next, v.regs[i]);
    acc = choose(d, f.type, mask[i], next, acc);
    started = plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I1, started, mask[i]);
  }
  plumb_mlir_define_result1(d, op, 0, acc);
  return true;
}

bool plumb_vector_multi_reduction(plumb_mlir_decoder *d, MlirOperation op, const plumb_reg *mask,
                                  size_t mask_count, const plumb_reg *passthru) {
  (void)passthru;
  folding f = {0};
  const int64_t *reduced;
  size_t count;
  plumb_vector_shape from, to = {.count = 1};
  if (!plumb_vector_shape_of(d, plumb_mlir_operand_type(op, 0), &from) ||
      !plumb_vector_kind(d, op, &f.kind) || !scalar_of(d, plumb_mlir_operand_type(op, 0), &f))
    return false;
  if (!plumb_mlir_attribute_ints(d, op, "reduction_dims", &reduced, &count))
    return plumb_mlir_reject(d, "no reduction dimensions");
  bool keep[PLUMB_VECTOR_DIMS];
  for (size_t k = 0; k < from.rank; k++) keep[k] = true;
  for (size_t k = 0; k < count; k++) keep[reduced[k]] = false;
  for (size_t k = 0; k < from.rank; k++)
    if (keep[k]) {
      to.dims[to.rank++] = from.dims[k];
      to.count *= (size_t)from.dims[k];
    }
  plumb_mlir_run v = plumb_mlir_operand(d, op, 0), start = plumb_mlir_operand(d, op, 1);
  if (start.count != to.count || (mask && mask_count != v.count))
    return plumb_mlir_reject(d, "an accumulator or mask that does not fit");
  f.terms = (to.count ? from.count / to.count : 0) + 1;
  plumb_reg *acc = PLUMB_NEW_ARRAY(d->arena, plumb_reg, to.count + 1);
  memcpy(acc, start.regs, to.count * sizeof *acc);
  for (size_t i = 0; i < from.count; i++) {
    int64_t coords[PLUMB_VECTOR_DIMS], kept[PLUMB_VECTOR_DIMS];
    plumb_vector_split(&from, i, coords);
    size_t rank = 0;
    for (size_t k = 0; k < from.rank; k++)
      if (keep[k]) kept[rank++] = coords[k];
    plumb_reg *to_acc = &acc[plumb_vector_join(&to, kept)];
    *to_acc = combine_masked(d, &f, *to_acc, v.regs[i], mask, i);
  }
  plumb_mlir_define_result(d, op, 0, acc, to.count);
  return true;
}

/* --- contract --- */

typedef struct contraction {
  plumb_vector_shape space, shapes[3]; /* of the iterations; of lhs, rhs, acc */
  MlirAffineMap maps[3];
  plumb_mlir_run runs[3];
} contraction;

static bool read_contraction(plumb_mlir_decoder *d, MlirOperation op, contraction *c) {
  MlirAttribute maps;
  if (!plumb_mlir_attribute(op, "indexing_maps", &maps) || !mlirAttributeIsAArray(maps) ||
      mlirArrayAttrGetNumElements(maps) != 3)
    return plumb_mlir_reject(d, "no indexing maps");
  *c = (contraction){.space = {.count = 1}};
  for (size_t k = 0; k < 3; k++) {
    c->maps[k] = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, (intptr_t)k));
    c->runs[k] = plumb_mlir_operand(d, op, (intptr_t)k);
    if (!plumb_vector_shape_of(d, plumb_mlir_operand_type(op, (intptr_t)k), &c->shapes[k]))
      return false;
    if (!mlirAffineMapIsProjectedPermutation(c->maps[k]) ||
        (size_t)mlirAffineMapGetNumResults(c->maps[k]) != c->shapes[k].rank)
      return plumb_mlir_reject(d, "indexing maps that are no permutations");
  }
  c->space.rank = (size_t)mlirAffineMapGetNumDims(c->maps[0]);
  if (c->space.rank > PLUMB_VECTOR_DIMS)
    return plumb_mlir_reject(d, "more than %d dimensions", PLUMB_VECTOR_DIMS);
  for (size_t k = 0; k < 3; k++)
    for (intptr_t r = 0; r < mlirAffineMapGetNumResults(c->maps[k]); r++)
      c->space.dims[mlirAffineDimExprGetPosition(mlirAffineMapGetResult(c->maps[k], r))] =
          c->shapes[k].dims[r];
  for (size_t i = 0; i < c->space.rank; i++) c->space.count *= (size_t)c->space.dims[i];
  return true;
}

/* Element of operand k at a point of the space. */
static size_t element_at(const contraction *c, size_t k, const int64_t *coords) {
  int64_t at[PLUMB_VECTOR_DIMS] = {0};
  for (intptr_t r = 0; r < mlirAffineMapGetNumResults(c->maps[k]); r++)
    at[r] = coords[mlirAffineDimExprGetPosition(mlirAffineMapGetResult(c->maps[k], r))];
  return plumb_vector_join(&c->shapes[k], at);
}

/* Operands of a narrower float type are widened first (mixed precision). */
static plumb_reg widen(plumb_mlir_decoder *d, const folding *f, plumb_dtype from, plumb_reg a) {
  return from == f->type ? a : plumb_build_cvt(&d->b, f->type, from, a, 0, PLUMB_RN);
}

/* lhs * rhs: minsi and the like combine products too. */
static plumb_reg product(plumb_mlir_decoder *d, const folding *f, plumb_reg a, plumb_reg b) {
  return plumb_mlir_build_combine(d, PLUMB_MLIR_MUL, f->type, f->bits, f->flags, a, b);
}

bool plumb_vector_contract(plumb_mlir_decoder *d, MlirOperation op, const plumb_reg *mask,
                           size_t mask_count, const plumb_reg *passthru) {
  (void)passthru;
  contraction c;
  folding f = {.flags = plumb_mlir_fastmath(d, op)}, sides[2] = {0};
  if (!read_contraction(d, op, &c) || !plumb_vector_kind(d, op, &f.kind) ||
      !scalar_of(d, plumb_mlir_operand_type(op, 2), &f))
    return false;
  for (size_t k = 0; k < 2; k++) {
    if (!scalar_of(d, plumb_mlir_operand_type(op, (intptr_t)k), &sides[k])) return false;
    if (sides[k].type != f.type &&
        !(plumb_dtype_is_float(sides[k].type) && plumb_dtype_is_float(f.type)))
      return plumb_mlir_reject(d, "integers of mixed widths");
  }
  if (mask && mask_count != c.space.count) return plumb_mlir_reject(d, "a mask that does not fit");
  f.terms = (c.shapes[2].count ? c.space.count / c.shapes[2].count : 0) + 1;
  plumb_reg *acc = PLUMB_NEW_ARRAY(d->arena, plumb_reg, c.runs[2].count + 1);
  memcpy(acc, c.runs[2].regs, c.runs[2].count * sizeof *acc);
  for (size_t i = 0; i < c.space.count; i++) {
    int64_t coords[PLUMB_VECTOR_DIMS];
    plumb_vector_split(&c.space, i, coords);
    plumb_reg a = widen(d, &f, sides[0].type, c.runs[0].regs[element_at(&c, 0, coords)]);
    plumb_reg b = widen(d, &f, sides[1].type, c.runs[1].regs[element_at(&c, 1, coords)]);
    plumb_reg *to = &acc[element_at(&c, 2, coords)];
    *to = combine_masked(d, &f, *to, product(d, &f, a, b), mask, i);
  }
  plumb_mlir_define_result(d, op, 0, acc, c.runs[2].count);
  return true;
}

/* lhs[i] * rhs[j], combined with the accumulator; the product and the sum may be fused. */
bool plumb_vector_outerproduct(plumb_mlir_decoder *d, MlirOperation op, const plumb_reg *mask,
                               size_t mask_count, const plumb_reg *passthru) {
  folding f = {.flags = (uint32_t)PLUMB_FLAG_CONTRACT};
  if (!plumb_vector_kind(d, op, &f.kind) || !scalar_of(d, plumb_mlir_operand_type(op, 0), &f))
    return false;
  if (!plumb_dtype_is_float(f.type)) f.flags = 0;
  plumb_mlir_run a = plumb_mlir_operand(d, op, 0), b = plumb_mlir_operand(d, op, 1), acc = {0};
  if (mlirOperationGetNumOperands(op) > 2) acc = plumb_mlir_operand(d, op, 2);
  size_t count = a.count * b.count;
  if (mask && mask_count != count) return plumb_mlir_reject(d, "a mask that does not fit");
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1);
  for (size_t i = 0; i < count; i++) {
    regs[i] = product(d, &f, a.regs[i / b.count], b.regs[i % b.count]);
    if (acc.regs) regs[i] = combine(d, &f, acc.regs[i], regs[i]);
    plumb_reg off = passthru   ? passthru[i]
                    : acc.regs ? acc.regs[i]
                               : plumb_constant(d->program, f.type, 0);
    if (mask) regs[i] = choose(d, f.type, mask[i], regs[i], off);
  }
  plumb_mlir_define_result(d, op, 0, regs, count);
  return true;
}

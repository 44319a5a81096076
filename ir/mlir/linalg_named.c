/* linalg operations without a region: softmax, pack and unpack, from their descriptions. */
#include "ir/mlir/linalg_internal.h"

enum { MAX_DIMS = PLUMB_MLIR_LANE_DIMS };

/* Where the result goes: the memref operand itself, or a fresh tensor bound as the result. */
static bool open_output(plumb_mlir_decoder *d, MlirOperation op, intptr_t operand,
                        plumb_mlir_buffer *out_buffer) {
  plumb_mlir_run run = plumb_mlir_operand(d, op, operand);
  MlirType type = plumb_mlir_operand_type(op, operand);
  if (mlirOperationGetNumResults(op) > 0) {
    plumb_mlir_buffer init;
    if (!plumb_mlir_buffer_open(d, run, type, &init) ||
        !plumb_mlir_allocate(d, type, init.sizes, &run))
      return false;
    plumb_mlir_define_result(d, op, 0, run.regs, run.count);
  }
  return plumb_mlir_buffer_open(d, run, type, out_buffer);
}

static plumb_reg build_math(plumb_mlir_decoder *d, plumb_math function, plumb_dtype type,
                            plumb_reg a) {
  plumb_reg r = plumb_reg_create(d->b.function, type);
  plumb_build(&d->b, PLUMB_OP_MATH, type, &r, 1, &a, 1)->sub = (uint8_t)function;
  return r;
}

/* exp(x - max) at ids with ids[dim] = i. */
static plumb_reg shifted_exp(plumb_mlir_decoder *d, const plumb_mlir_buffer *in, plumb_reg *ids,
                             plumb_reg max) {
  plumb_dtype type = in->element.dtype;
  plumb_reg x;
  plumb_mlir_load(d, in, ids, &x);
  return build_math(d, PLUMB_MATH_EXP, type, plumb_build2(&d->b, PLUMB_OP_SUB, type, x, max));
}

/* One row: softmax(x) = exp(x - max(x)) / sum(exp(x - max(x))) (LinalgOps.td, softmax). */
static void softmax_row(plumb_mlir_decoder *d, const plumb_mlir_buffer *in,
                        const plumb_mlir_buffer *out, size_t dim, plumb_reg *ids) {
  plumb_dtype type = in->element.dtype;
  plumb_reg zero = plumb_mlir_i64(d, 0), one = plumb_mlir_i64(d, 1), n = in->sizes[dim];
  plumb_reg terms = plumb_mlir_add(d, n, one);
  plumb_mlir_loop loop;
  plumb_reg start[2] = {plumb_mlir_constant_double(d, type, -__builtin_inf()),
                        plumb_mlir_constant_double(d, type, 0)};
  plumb_mlir_run acc = plumb_mlir_variables(d, (plumb_mlir_run){start, 2});

  ids[dim] = plumb_mlir_loop_begin(d, &loop, zero, n, one);
  plumb_reg x;
  plumb_mlir_load(d, in, ids, &x);
  plumb_build_mov(&d->b, acc.regs[0],
                  plumb_mlir_build_combine(d, PLUMB_MLIR_MAXNUMF, type, 0, 0, acc.regs[0], x));
  plumb_mlir_loop_end(d, &loop);

  ids[dim] = plumb_mlir_loop_begin(d, &loop, zero, n, one);
  plumb_reg e = shifted_exp(d, in, ids, acc.regs[0]);
  plumb_build_mov(&d->b, acc.regs[1],
                  plumb_build3(&d->b, PLUMB_OP_REDUCE_ADD, type, acc.regs[1], e, terms));
  plumb_mlir_loop_end(d, &loop);

  ids[dim] = plumb_mlir_loop_begin(d, &loop, zero, n, one);
  e = shifted_exp(d, in, ids, acc.regs[0]);
  plumb_reg share = plumb_build2(&d->b, PLUMB_OP_DIV, type, e, acc.regs[1]);
  plumb_mlir_store(d, out, ids, &share);
  plumb_mlir_loop_end(d, &loop);
}

bool plumb_linalg_softmax(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  int64_t dim;
  plumb_mlir_buffer in, out;
  if (!plumb_mlir_attribute_int(op, "dimension", &dim)) return plumb_mlir_reject(d, "no dimension");
  if (!plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, 0), plumb_mlir_operand_type(op, 0),
                              &in) ||
      !open_output(d, op, 1, &out))
    return false;
  if (in.element.count != 1 || !plumb_dtype_is_float(in.element.dtype) || in.rank > MAX_DIMS ||
      dim < 0 || (size_t)dim >= in.rank)
    return plumb_mlir_reject(d, "an operand that is not a float tensor of this rank");
  plumb_reg counts[MAX_DIMS], lane_ids[MAX_DIMS], ids[MAX_DIMS];
  size_t lanes_count = 0;
  for (size_t i = 0; i < in.rank; i++)
    if (i != (size_t)dim) counts[lanes_count++] = in.sizes[i];
  plumb_mlir_lanes lanes;
  plumb_mlir_lanes_begin(d, &lanes, "softmax", lanes_count, counts, lane_ids);
  for (size_t i = 0, at = 0; i < in.rank; i++)
    if (i != (size_t)dim) ids[i] = lane_ids[at++];
  plumb_mlir_buffer inner_in = plumb_mlir_capture_buffer(d, &in);
  plumb_mlir_buffer inner_out = plumb_mlir_capture_buffer(d, &out);
  softmax_row(d, &inner_in, &inner_out, (size_t)dim, ids);
  plumb_mlir_lanes_end(d, &lanes);
  return true;
}

/* The layout that pack and unpack share: dimension inner_dims[k] of the plain tensor is cut
 * into tiles of tiles[k]; the packed one has the outer dimensions, permuted, then the tiles. */
typedef struct packing {
  size_t rank, tiled;
  const int64_t *inner_dims;
  const int64_t *outer_perm; /* NULL: identity */
  const plumb_reg *tiles;
} packing;

static bool read_packing(plumb_mlir_decoder *d, MlirOperation op, size_t rank, intptr_t next,
                         packing *out) {
  size_t perm_count = 0, tile_count = 0;
  out->rank = rank;
  out->outer_perm = NULL;
  if (!plumb_mlir_attribute_ints(d, op, "inner_dims_pos", &out->inner_dims, &out->tiled) ||
      !plumb_mlir_mixed(d, op, "static_inner_tiles", &next, &out->tiles, &tile_count) ||
      tile_count != out->tiled || rank + out->tiled > MAX_DIMS)
    return plumb_mlir_reject(d, "inner tiles that cannot be read");
  const int64_t *perm;
  if (plumb_mlir_attribute_ints(d, op, "outer_dims_perm", &perm, &perm_count) && perm_count == rank)
    out->outer_perm = perm;
  return true;
}

/* Plain coordinates of the packed point `ids`: outer * tile + inner. */
static void plain_indices(plumb_mlir_decoder *d, const packing *p, const plumb_reg *ids,
                          plumb_reg *out_plain) {
  for (size_t i = 0; i < p->rank; i++)
    out_plain[p->outer_perm ? (size_t)p->outer_perm[i] : i] = ids[i];
  for (size_t k = 0; k < p->tiled; k++) {
    plumb_reg *plain = &out_plain[p->inner_dims[k]];
    *plain = plumb_mlir_add(d, plumb_mlir_mul(d, *plain, plumb_mlir_capture(d, p->tiles[k])),
                            ids[p->rank + k]);
  }
}

/* i1: every plain index is below its size. */
static plumb_reg inside(plumb_mlir_decoder *d, const plumb_mlir_buffer *plain,
                        const plumb_reg *indices) {
  plumb_reg all = plumb_constant(d->program, PLUMB_I1, 1);
  for (size_t i = 0; i < plain->rank; i++)
    all = plumb_build2(
        &d->b, PLUMB_OP_AND, PLUMB_I1, all,
        plumb_build_cmp(&d->b, PLUMB_CMP_LT_S, PLUMB_I64, indices[i], plain->sizes[i]));
  return all;
}

static void copy_element(plumb_mlir_decoder *d, const plumb_mlir_buffer *from,
                         const plumb_reg *from_ids, const plumb_mlir_buffer *to,
                         const plumb_reg *to_ids) {
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, from->element.count);
  plumb_mlir_load(d, from, from_ids, regs);
  plumb_mlir_store(d, to, to_ids, regs);
}

/* Each packed element comes from the plain one, or is the padding value outside of it;
 * unpack is the other way about, leaving the padding out (LinalgRelayoutOps.td). */
static void relayout(plumb_mlir_decoder *d, const packing *p, const plumb_mlir_buffer *plain,
                     const plumb_mlir_buffer *packed, bool unpack, MlirValue padding) {
  plumb_mlir_lanes lanes;
  plumb_reg ids[MAX_DIMS], indices[MAX_DIMS];
  plumb_mlir_lanes_begin(d, &lanes, unpack ? "unpack" : "pack", packed->rank, packed->sizes, ids);
  plumb_mlir_buffer a = plumb_mlir_capture_buffer(d, plain);
  plumb_mlir_buffer b = plumb_mlir_capture_buffer(d, packed);
  plain_indices(d, p, ids, indices);
  plumb_mlir_if branch;
  plumb_mlir_if_begin(d, &branch, inside(d, &a, indices));
  if (unpack)
    copy_element(d, &b, ids, &a, indices);
  else
    copy_element(d, &a, indices, &b, ids);
  if (!mlirValueIsNull(padding)) {
    plumb_mlir_if_else(d, &branch);
    plumb_mlir_store(d, &b, ids, plumb_mlir_get(d, padding).regs);
  }
  plumb_mlir_if_end(d, &branch);
  plumb_mlir_lanes_end(d, &lanes);
}

bool plumb_linalg_pack(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *segments;
  size_t count;
  plumb_mlir_buffer plain, packed;
  packing p;
  if (!plumb_mlir_segments(d, op, &segments, &count) || count != 4)
    return plumb_mlir_reject(d, "operand groups that cannot be read");
  if (!plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, 0), plumb_mlir_operand_type(op, 0),
                              &plain))
    return false;
  if (!read_packing(d, op, plain.rank, (intptr_t)(2 + segments[2]), &p) ||
      !open_output(d, op, 1, &packed))
    return false;
  MlirValue padding = {NULL};
  if (segments[2]) padding = mlirOperationGetOperand(op, 2);
  relayout(d, &p, &plain, &packed, false, padding);
  return true;
}

bool plumb_linalg_unpack(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_buffer plain, packed;
  packing p;
  if (!plumb_mlir_buffer_open(d, plumb_mlir_operand(d, op, 0), plumb_mlir_operand_type(op, 0),
                              &packed) ||
      !open_output(d, op, 1, &plain) || !read_packing(d, op, plain.rank, 2, &p))
    return false;
  relayout(d, &p, &plain, &packed, true, (MlirValue){NULL});
  return true;
}

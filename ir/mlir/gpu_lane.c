/* gpu: what a lane asks about itself and does together with others. A subgroup is a warp
 * of 32 lanes. */
#include "ir/mlir/decode_internal.h"

enum { WARP_LANES = 32, BLOCK_LANES = 1024 };

static plumb_reg i32(plumb_mlir_decoder *d, int64_t value) {
  return plumb_constant(d->program, PLUMB_I32, (uint32_t)value);
}

static plumb_reg sreg64(plumb_mlir_decoder *d, plumb_sreg which) {
  return plumb_build_cvt(&d->b, PLUMB_I64, PLUMB_I32, plumb_build_sreg(&d->b, which), 0, PLUMB_RZ);
}

/* --- indices --- */

static int dimension(plumb_mlir_decoder *d, MlirOperation op) {
  const char *text = plumb_mlir_attribute_text(d, op, "dimension");
  if (plumb_mlir_text_has(text, "z")) return 2;
  return plumb_mlir_text_has(text, "y") ? 1 : 0;
}

/* code: special register of dimension x; y and z follow it */
static bool decode_id(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_mlir_define_result1(d, op, 0, sreg64(d, (plumb_sreg)(row->code + dimension(d, op))));
  return true;
}

static bool decode_global_id(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  int dim = dimension(d, op);
  plumb_reg block = sreg64(d, (plumb_sreg)(PLUMB_SREG_CTAID_X + dim));
  plumb_reg width = sreg64(d, (plumb_sreg)(PLUMB_SREG_NTID_X + dim));
  plumb_reg thread = sreg64(d, (plumb_sreg)(PLUMB_SREG_TID_X + dim));
  plumb_mlir_define_result1(d, op, 0, plumb_mlir_add(d, plumb_mlir_mul(d, block, width), thread));
  return true;
}

/* Linear index of the lane in its block, x fastest. */
static plumb_reg linear_thread(plumb_mlir_decoder *d) {
  plumb_reg z = plumb_mlir_mul(d, sreg64(d, PLUMB_SREG_TID_Z), sreg64(d, PLUMB_SREG_NTID_Y));
  plumb_reg y = plumb_mlir_add(d, z, sreg64(d, PLUMB_SREG_TID_Y));
  return plumb_mlir_add(d, plumb_mlir_mul(d, y, sreg64(d, PLUMB_SREG_NTID_X)),
                        sreg64(d, PLUMB_SREG_TID_X));
}

static plumb_reg block_lanes(plumb_mlir_decoder *d) {
  plumb_reg plane = plumb_mlir_mul(d, sreg64(d, PLUMB_SREG_NTID_X), sreg64(d, PLUMB_SREG_NTID_Y));
  return plumb_mlir_mul(d, plane, sreg64(d, PLUMB_SREG_NTID_Z));
}

enum { LANE_ID, SUBGROUP_ID, SUBGROUP_SIZE, NUM_SUBGROUPS };

static bool decode_subgroup(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  plumb_reg width = plumb_mlir_i64(d, WARP_LANES), r = width;
  if (row->code == LANE_ID) r = sreg64(d, PLUMB_SREG_LANEID);
  if (row->code == SUBGROUP_ID) r = plumb_mlir_floordiv(d, linear_thread(d), width);
  if (row->code == NUM_SUBGROUPS) r = plumb_mlir_ceildiv(d, block_lanes(d), width);
  plumb_mlir_define_result1(d, op, 0, r);
  return true;
}

static void barrier(plumb_mlir_decoder *d) {
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_BARRIER, PLUMB_I32, NULL, 0,
                                 (plumb_reg[]){i32(d, 0), i32(d, 0)}, 2);
  inst->sub = PLUMB_BARRIER_SYNC;
  inst->flags |= PLUMB_FLAG_ALIGNED;
}

static bool decode_barrier(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)op;
  (void)row;
  barrier(d);
  return true;
}

/* --- exchanges within a warp --- */

typedef struct exchange {
  plumb_shfl mode;
  plumb_reg lane, clamp, mask; /* i32 */
  plumb_reg valid;             /* of the last one */
} exchange;

static plumb_reg shuffle_word(plumb_mlir_decoder *d, exchange *e, plumb_reg word) {
  plumb_reg results[2] = {plumb_reg_create(d->b.function, PLUMB_I32),
                          plumb_reg_create(d->b.function, PLUMB_I1)};
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_SHFL, PLUMB_I32, results, 2,
                                 (plumb_reg[]){word, e->lane, e->clamp, e->mask}, 4);
  inst->sub = (uint8_t)e->mode;
  e->valid = results[1];
  return results[0];
}

static plumb_reg convert(plumb_mlir_decoder *d, plumb_dtype to, plumb_dtype from, plumb_reg r) {
  return plumb_build_cvt(&d->b, to, from, r, 0, PLUMB_RZ);
}

/* A value of up to 64 bits, in words of 32. */
static bool shuffle_value(plumb_mlir_decoder *d, exchange *e, plumb_dtype type, plumb_reg value,
                          plumb_reg *out) {
  plumb_builder *b = &d->b;
  switch (plumb_dtype_bytes(type)) {
    case 1:
    case 2: {
      plumb_dtype small = plumb_dtype_bytes(type) == 1 ? PLUMB_I8 : PLUMB_I16;
      plumb_reg bits = type == small ? value : plumb_build1(b, PLUMB_OP_MOV, small, value);
      plumb_reg word = shuffle_word(d, e, convert(d, PLUMB_I32, small, bits));
      *out = plumb_build1(b, PLUMB_OP_MOV, type, convert(d, small, PLUMB_I32, word));
      return true;
    }
    case 4:
      *out = plumb_build1(b, PLUMB_OP_MOV, type,
                          shuffle_word(d, e, plumb_build1(b, PLUMB_OP_MOV, PLUMB_I32, value)));
      return true;
    case 8: {
      plumb_reg bits = plumb_build1(b, PLUMB_OP_MOV, PLUMB_I64, value);
      plumb_reg shift = plumb_mlir_i64(d, 32);
      plumb_reg high = plumb_build2(b, PLUMB_OP_SHR_U, PLUMB_I64, bits, shift);
      plumb_reg low_word = shuffle_word(d, e, convert(d, PLUMB_I32, PLUMB_I64, bits));
      plumb_reg high_word = shuffle_word(d, e, convert(d, PLUMB_I32, PLUMB_I64, high));
      high = plumb_build2(b, PLUMB_OP_SHL, PLUMB_I64, convert(d, PLUMB_I64, PLUMB_I32, high_word),
                          shift);
      bits =
          plumb_build2(b, PLUMB_OP_OR, PLUMB_I64, high, convert(d, PLUMB_I64, PLUMB_I32, low_word));
      *out = plumb_build1(b, PLUMB_OP_MOV, type, bits);
      return true;
    }
    default:
      return plumb_mlir_reject(d, "of %u bytes", plumb_dtype_bytes(type));
  }
}

static bool shuffle_run(plumb_mlir_decoder *d, MlirOperation op, exchange *e) {
  plumb_mlir_run in = plumb_mlir_operand(d, op, 0);
  plumb_reg *out = PLUMB_NEW_ARRAY(d->arena, plumb_reg, in.count + 1);
  for (size_t i = 0; i < in.count; i++)
    if (!shuffle_value(d, e, plumb_reg_type(d->b.function, in.regs[i]), in.regs[i], &out[i]))
      return false;
  plumb_mlir_define_result(d, op, 0, out, in.count);
  return true;
}

/* The first `width` lanes take part. */
static bool decode_shuffle(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const char *mode = plumb_mlir_attribute_text(d, op, "mode");
  exchange e = {.mode = plumb_mlir_text_has(mode, "xor")    ? PLUMB_SHFL_BFLY
                        : plumb_mlir_text_has(mode, "up")   ? PLUMB_SHFL_UP
                        : plumb_mlir_text_has(mode, "down") ? PLUMB_SHFL_DOWN
                                                            : PLUMB_SHFL_IDX,
                .lane = plumb_mlir_operand1(d, op, 1)};
  plumb_reg width = plumb_mlir_operand1(d, op, 2);
  plumb_reg absent = plumb_build2(&d->b, PLUMB_OP_SUB, PLUMB_I32, i32(d, WARP_LANES), width);
  e.mask = plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I32, i32(d, -1), absent);
  e.clamp = e.mode == PLUMB_SHFL_UP
                ? i32(d, 0)
                : plumb_build2(&d->b, PLUMB_OP_SUB, PLUMB_I32, width, i32(d, 1));
  if (!shuffle_run(d, op, &e)) return false;
  plumb_mlir_define_result1(d, op, 1, e.valid);
  return true;
}

/* Lanes of this warp that the block has at all (i32 count), and their mask. */
static plumb_reg present_lanes(plumb_mlir_decoder *d, plumb_reg *out_mask) {
  plumb_reg width = plumb_mlir_i64(d, WARP_LANES);
  plumb_reg first = plumb_mlir_mul(d, plumb_mlir_floordiv(d, linear_thread(d), width), width);
  plumb_reg count = plumb_mlir_sub(d, block_lanes(d), first);
  count = plumb_build2(&d->b, PLUMB_OP_MIN_S, PLUMB_I64, count, width);
  count = convert(d, PLUMB_I32, PLUMB_I64, count);
  plumb_reg absent = plumb_build2(&d->b, PLUMB_OP_SUB, PLUMB_I32, i32(d, WARP_LANES), count);
  *out_mask = plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I32, i32(d, -1), absent);
  return count;
}

static bool decode_rotate(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  int64_t offset, width;
  if (!plumb_mlir_attribute_int(op, "offset", &offset) ||
      !plumb_mlir_attribute_int(op, "width", &width) || width > WARP_LANES)
    return plumb_mlir_reject(d, "its width");
  plumb_reg lane = plumb_build_sreg(&d->b, PLUMB_SREG_LANEID);
  plumb_reg moved = plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I32, lane, i32(d, offset));
  moved = plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I32, moved, i32(d, width - 1));
  plumb_reg group = plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I32, lane, i32(d, ~(width - 1)));
  exchange e = {.mode = PLUMB_SHFL_IDX,
                .lane = plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I32, moved, group),
                .clamp = i32(d, WARP_LANES - 1)};
  present_lanes(d, &e.mask);
  if (!shuffle_run(d, op, &e)) return false;
  plumb_mlir_define_result1(d, op, 1,
                            plumb_build_cmp(&d->b, PLUMB_CMP_LT_U, PLUMB_I32, lane, i32(d, width)));
  return true;
}

static bool decode_broadcast(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_reg mask = plumb_reg_create(d->b.function, PLUMB_I32);
  plumb_build(&d->b, PLUMB_OP_ACTIVEMASK, PLUMB_I32, &mask, 1, NULL, 0);
  exchange e = {.mode = PLUMB_SHFL_IDX, .clamp = i32(d, WARP_LANES - 1), .mask = mask};
  e.lane = mlirOperationGetNumOperands(op) > 1 ? plumb_mlir_operand1(d, op, 1)
                                               : plumb_build1(&d->b, PLUMB_OP_CTZ, PLUMB_I32, mask);
  return shuffle_run(d, op, &e);
}

/* --- reductions --- */

static bool combine_kind(plumb_mlir_decoder *d, MlirOperation op, plumb_mlir_combine *out) {
  static const struct {
    const char *word;
    plumb_mlir_combine kind;
  } rows[] = {{"add", PLUMB_MLIR_ADD},          {"mul", PLUMB_MLIR_MUL},
              {"minui", PLUMB_MLIR_MIN_U},      {"minsi", PLUMB_MLIR_MIN_S},
              {"minnumf", PLUMB_MLIR_MINNUMF},  {"maxui", PLUMB_MLIR_MAX_U},
              {"maxsi", PLUMB_MLIR_MAX_S},      {"maxnumf", PLUMB_MLIR_MAXNUMF},
              {"and", PLUMB_MLIR_AND},          {"or", PLUMB_MLIR_OR},
              {"xor", PLUMB_MLIR_XOR},          {"minimumf", PLUMB_MLIR_MINIMUMF},
              {"maximumf", PLUMB_MLIR_MAXIMUMF}};
  const char *text = plumb_mlir_attribute_text(d, op, "op");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (plumb_mlir_text_has(text, rows[i].word)) {
      *out = rows[i].kind;
      return true;
    }
  return false;
}

/* By the named operation, or by the region. */
static plumb_reg combine(plumb_mlir_decoder *d, MlirOperation op, plumb_dtype type, int bits,
                         plumb_reg a, plumb_reg b) {
  plumb_mlir_combine kind;
  if (combine_kind(d, op, &kind)) return plumb_mlir_build_combine(d, kind, type, bits, 0, a, b);
  MlirBlock body = plumb_mlir_body(op, 0);
  plumb_mlir_bind_argument(d, body, 0, &a, 1);
  plumb_mlir_bind_argument(d, body, 1, &b, 1);
  plumb_mlir_inline_block(d, body);
  return plumb_mlir_operand1(d, plumb_mlir_terminator(body), 0);
}

/* Every lane leaves its value in shared memory; after a barrier each combines all, in the
 * order of the lanes; a second barrier keeps the place for the next use. */
static bool decode_all_reduce(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_dtype type;
  int bits;
  plumb_mlir_combine kind;
  if (!plumb_mlir_scalar_type(plumb_mlir_operand_type(op, 0), &type, &bits) ||
      (!combine_kind(d, op, &kind) && mlirBlockIsNull(plumb_mlir_body(op, 0))))
    return plumb_mlir_reject(d, "its operation");
  unsigned bytes = plumb_dtype_bytes(type);
  size_t global = plumb_global_create(d->program, plumb_mlir_unique_name(d, "all_reduce"),
                                      PLUMB_SPACE_SHARED, (uint64_t)bytes * BLOCK_LANES, 16);
  plumb_reg place = plumb_reg_create(d->b.function, PLUMB_I64);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_ADDRESS, PLUMB_I64, &place, 1, NULL, 0);
  inst->imm = (int64_t)global;
  inst->space = PLUMB_SPACE_SHARED;
  plumb_reg size = plumb_mlir_i64(d, bytes), one = plumb_mlir_i64(d, 1);
  plumb_reg mine = plumb_mlir_add(d, place, plumb_mlir_mul(d, linear_thread(d), size));
  plumb_build_store(&d->b, type, PLUMB_SPACE_SHARED, mine, 0, plumb_mlir_operand1(d, op, 0));
  barrier(d);
  plumb_reg first = plumb_build_load(&d->b, type, PLUMB_SPACE_SHARED, place, 0);
  plumb_mlir_run so_far = plumb_mlir_variables(d, (plumb_mlir_run){&first, 1});
  plumb_mlir_loop loop;
  plumb_reg i = plumb_mlir_loop_begin(d, &loop, one, block_lanes(d), one);
  plumb_reg other = plumb_build_load(&d->b, type, PLUMB_SPACE_SHARED,
                                     plumb_mlir_add(d, place, plumb_mlir_mul(d, i, size)), 0);
  plumb_reg next = combine(d, op, type, bits, so_far.regs[0], other);
  plumb_build_mov(&d->b, so_far.regs[0], next);
  plumb_mlir_loop_end(d, &loop);
  barrier(d);
  plumb_mlir_define_result(d, op, 0, so_far.regs, 1);
  return true;
}

/* One element: member k of the cluster is lane base + k * stride. */
static bool reduce_element(plumb_mlir_decoder *d, MlirOperation op, plumb_dtype type, int bits,
                           plumb_reg base, plumb_reg present, exchange *e, int64_t size,
                           int64_t stride, plumb_reg value, plumb_reg *out) {
  for (int64_t k = 0; k < size; k++) {
    e->lane = plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I32, base, i32(d, k * stride));
    plumb_reg other;
    if (!shuffle_value(d, e, type, value, &other)) return false;
    if (k == 0) {
      *out = other; /* the cluster's first lane is there when any of it is */
      continue;
    }
    plumb_reg there = plumb_build_cmp(&d->b, PLUMB_CMP_LT_U, PLUMB_I32, e->lane, present);
    plumb_reg next = combine(d, op, type, bits, *out, other);
    *out = plumb_build3(&d->b, PLUMB_OP_SELECT, type, there, next, *out);
  }
  return true;
}

static bool decode_subgroup_reduce(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  (void)row;
  int64_t size = WARP_LANES, stride = 1;
  plumb_mlir_attribute_int(op, "cluster_size", &size);
  plumb_mlir_attribute_int(op, "cluster_stride", &stride);
  plumb_mlir_combine kind;
  plumb_dtype type;
  int bits;
  if (!combine_kind(d, op, &kind) || size < 1 || stride < 1 || size * stride > WARP_LANES ||
      !plumb_mlir_scalar_type(plumb_mlir_element_type(plumb_mlir_operand_type(op, 0)), &type,
                              &bits))
    return plumb_mlir_reject(d, "its cluster");
  plumb_reg lane = plumb_build_sreg(&d->b, PLUMB_SREG_LANEID);
  plumb_reg span = plumb_build2(&d->b, PLUMB_OP_REM_U, PLUMB_I32, lane, i32(d, size * stride));
  plumb_reg base = plumb_build2(&d->b, PLUMB_OP_SUB, PLUMB_I32, lane, span);
  plumb_reg inside = plumb_build2(&d->b, PLUMB_OP_REM_U, PLUMB_I32, lane, i32(d, stride));
  base = plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I32, base, inside);
  exchange e = {.mode = PLUMB_SHFL_IDX, .clamp = i32(d, WARP_LANES - 1)};
  plumb_reg present = present_lanes(d, &e.mask);
  plumb_mlir_run in = plumb_mlir_operand(d, op, 0);
  plumb_reg *out = PLUMB_NEW_ARRAY(d->arena, plumb_reg, in.count + 1);
  for (size_t i = 0; i < in.count; i++)
    if (!reduce_element(d, op, type, bits, base, present, &e, size, stride, in.regs[i], &out[i]))
      return false;
  plumb_mlir_define_result(d, op, 0, out, in.count);
  return true;
}

static bool decode_printf(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  MlirAttribute format;
  if (!plumb_mlir_attribute(op, "format", &format)) return plumb_mlir_reject(d, "no format");
  plumb_mlir_run args = plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op));
  int64_t text = plumb_string_add(d->program, plumb_mlir_symbol_text(d, format));
  plumb_build(&d->b, PLUMB_OP_PRINT, PLUMB_I1, NULL, 0, args.regs, args.count)->imm = text;
  return true;
}

static bool decode_inner(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)op;
  (void)row;
  return plumb_mlir_reject(d, "outside the operation that it belongs to");
}

const plumb_mlir_op plumb_mlir_ops_gpu_lane[] = {
    {"gpu.thread_id", decode_id, PLUMB_SREG_TID_X},
    {"gpu.block_id", decode_id, PLUMB_SREG_CTAID_X},
    {"gpu.block_dim", decode_id, PLUMB_SREG_NTID_X},
    {"gpu.grid_dim", decode_id, PLUMB_SREG_NCTAID_X},
    {"gpu.cluster_id", decode_id, PLUMB_SREG_CLUSTERID_X},
    {"gpu.cluster_dim", decode_id, PLUMB_SREG_NCLUSTERID_X},
    {"gpu.cluster_block_id", decode_id, PLUMB_SREG_CLUSTER_CTAID_X},
    {"gpu.cluster_dim_blocks", decode_id, PLUMB_SREG_CLUSTER_NCTAID_X},
    {"gpu.global_id", decode_global_id, 0},
    {"gpu.lane_id", decode_subgroup, LANE_ID},
    {"gpu.subgroup_id", decode_subgroup, SUBGROUP_ID},
    {"gpu.subgroup_size", decode_subgroup, SUBGROUP_SIZE},
    {"gpu.num_subgroups", decode_subgroup, NUM_SUBGROUPS},
    {"gpu.barrier", decode_barrier, 0},
    {"gpu.shuffle", decode_shuffle, 0},
    {"gpu.rotate", decode_rotate, 0},
    {"gpu.subgroup_broadcast", decode_broadcast, 0},
    {"gpu.all_reduce", decode_all_reduce, 0},
    {"gpu.subgroup_reduce", decode_subgroup_reduce, 0},
    {"gpu.yield", decode_inner, 0},
    {"gpu.printf", decode_printf, 0},
    {0},
};

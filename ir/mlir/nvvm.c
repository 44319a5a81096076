/* The nvvm dialect (NVVMOps.td; PTX ISA 9.0, sections 9.7.9 and 9.7.13) and the NVVM
 * intrinsics that llvm.call_intrinsic names. */
#include <stdlib.h>
#include <string.h>

#include "ir/mlir/llvm_internal.h"
#include "ir/ptx/ptx.h"

static const plumb_mlir_op *find_by_suffix(const char *name);

/* Binds result 0 to `value` of type `from`, widened or narrowed to the result's type. */
static bool define_as(plumb_mlir_decoder *d, MlirOperation op, plumb_reg value) {
  plumb_mlir_flat to;
  if (!plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &to) || to.count != 1) return false;
  plumb_dtype from = plumb_reg_type(d->b.function, value);
  if (from != to.types[0])
    value = plumb_dtype_bytes(from) == plumb_dtype_bytes(to.types[0])
                ? plumb_build1(&d->b, PLUMB_OP_MOV, to.types[0], value)
                : plumb_build_cvt(&d->b, to.types[0], from, value, 0, PLUMB_RN);
  plumb_mlir_define_result1(d, op, 0, value);
  return true;
}

static plumb_reg as_i32(plumb_mlir_decoder *d, plumb_reg value) {
  return plumb_reg_type(d->b.function, value) == PLUMB_I32
             ? value
             : plumb_build1(&d->b, PLUMB_OP_MOV, PLUMB_I32, value);
}

static plumb_reg i32(plumb_mlir_decoder *d, uint32_t value) {
  return plumb_constant(d->program, PLUMB_I32, value);
}

static bool decode_sreg(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  return define_as(d, op, plumb_build_sreg(&d->b, (plumb_sreg)row->code));
}

/* --- barriers and fences --- */

static void build_barrier(plumb_mlir_decoder *d, plumb_reg id, plumb_reg lanes, uint32_t flags) {
  plumb_inst *inst =
      plumb_build(&d->b, PLUMB_OP_BARRIER, PLUMB_I32, NULL, 0, (plumb_reg[]){id, lanes}, 2);
  inst->sub = PLUMB_BARRIER_SYNC;
  inst->flags |= flags;
}

static bool decode_barrier0(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)op, (void)row;
  build_barrier(d, i32(d, 0), i32(d, 0), (uint32_t)PLUMB_FLAG_ALIGNED);
  return true;
}

static bool decode_barrier(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *segments;
  size_t count;
  if (!plumb_mlir_segments(d, op, &segments, &count) || count != 3)
    return plumb_mlir_reject(d, "operand groups that cannot be read");
  intptr_t next = 0;
  plumb_reg id = segments[0] ? plumb_mlir_operand1(d, op, next++) : i32(d, 0);
  plumb_reg lanes = segments[1] ? plumb_mlir_operand1(d, op, next++) : i32(d, 0);
  if (!segments[2]) {
    build_barrier(d, id, lanes, (uint32_t)PLUMB_FLAG_ALIGNED);
    return true;
  }
  const char *kind = plumb_mlir_attribute_text(d, op, "reductionOp");
  plumb_reg predicate =
      plumb_build_cmp(&d->b, PLUMB_CMP_NE, PLUMB_I32, plumb_mlir_operand1(d, op, next), i32(d, 0));
  bool popc = plumb_mlir_text_has(kind, "popc");
  plumb_reg r = plumb_reg_create(d->b.function, popc ? PLUMB_I32 : PLUMB_I1);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_BARRIER, PLUMB_I32, &r, 1,
                                 (plumb_reg[]){id, lanes, predicate}, 3);
  inst->sub = popc                               ? PLUMB_BARRIER_RED_POPC
              : plumb_mlir_text_has(kind, "and") ? PLUMB_BARRIER_RED_AND
                                                 : PLUMB_BARRIER_RED_OR;
  inst->flags |= (uint32_t)PLUMB_FLAG_ALIGNED;
  return mlirOperationGetNumResults(op) == 0 || define_as(d, op, r);
}

static bool decode_barrier_arrive(plumb_mlir_decoder *d, MlirOperation op,
                                  const plumb_mlir_op *row) {
  (void)row;
  bool has_id = mlirOperationGetNumOperands(op) == 2;
  plumb_reg id = has_id ? plumb_mlir_operand1(d, op, 0) : i32(d, 0);
  plumb_reg lanes = plumb_mlir_operand1(d, op, has_id ? 1 : 0);
  plumb_inst *inst =
      plumb_build(&d->b, PLUMB_OP_BARRIER, PLUMB_I32, NULL, 0, (plumb_reg[]){id, lanes}, 2);
  inst->sub = PLUMB_BARRIER_ARRIVE;
  inst->flags |= (uint32_t)PLUMB_FLAG_ALIGNED;
  return true;
}

/* membar is fence.sc of its scope (PTX ISA, membar / fence). */
static void build_fence(plumb_mlir_decoder *d, uint32_t scope) {
  plumb_build(&d->b, PLUMB_OP_FENCE, PLUMB_I1, NULL, 0, NULL, 0)->flags |=
      scope | (uint32_t)(PLUMB_FLAG_SEQ_CST | PLUMB_FLAG_ACQUIRE | PLUMB_FLAG_RELEASE);
}

static bool decode_membar(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const char *scope = plumb_mlir_attribute_text(d, op, "scope");
  build_fence(d, plumb_mlir_text_has(scope, "cta")       ? (uint32_t)PLUMB_FLAG_SCOPE_CTA
                 : plumb_mlir_text_has(scope, "cluster") ? (uint32_t)PLUMB_FLAG_SCOPE_CLUSTER
                 : plumb_mlir_text_has(scope, "gpu")     ? (uint32_t)PLUMB_FLAG_SCOPE_GPU
                                                         : 0u);
  return true;
}

static bool decode_fence(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)op;
  build_fence(d, (uint32_t)row->code);
  return true;
}

static bool decode_warp_sync(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_reg mask = plumb_mlir_operand1(d, op, 0);
  plumb_build(&d->b, PLUMB_OP_WARP_SYNC, PLUMB_I32, NULL, 0, &mask, 1);
  return true;
}

static bool decode_nanosleep(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_reg duration = plumb_mlir_operand1(d, op, 0);
  plumb_build(&d->b, PLUMB_OP_NANOSLEEP, PLUMB_I32, NULL, 0, &duration, 1);
  return true;
}

static bool decode_exit(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)op, (void)row;
  plumb_build(&d->b, PLUMB_OP_EXIT, PLUMB_I1, NULL, 0, NULL, 0);
  return true;
}

/* --- warps --- */

/* The value as the result's type, and the predicate: a struct of both, or the value alone. */
static bool build_shuffle(plumb_mlir_decoder *d, MlirOperation op, plumb_shfl kind) {
  plumb_mlir_flat to;
  if (!plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &to) || to.count < 1 || to.count > 2)
    return plumb_mlir_reject(d, "a result of this type");
  plumb_reg results[2] = {plumb_reg_create(d->b.function, PLUMB_I32),
                          plumb_reg_create(d->b.function, PLUMB_I1)};
  plumb_reg operands[4] = {as_i32(d, plumb_mlir_operand1(d, op, 1)), plumb_mlir_operand1(d, op, 2),
                           plumb_mlir_operand1(d, op, 3), plumb_mlir_operand1(d, op, 0)};
  plumb_build(&d->b, PLUMB_OP_SHFL, PLUMB_I32, results, 2, operands, 4)->sub = (uint8_t)kind;
  if (to.types[0] != PLUMB_I32)
    results[0] = plumb_build1(&d->b, PLUMB_OP_MOV, to.types[0], results[0]);
  plumb_mlir_define_result(d, op, 0, results, to.count);
  return true;
}

static bool decode_shuffle(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const char *text = plumb_mlir_attribute_text(d, op, "kind");
  for (int kind = 0; kind < PLUMB_SHFL_COUNT; kind++)
    if (plumb_mlir_text_has(text, plumb_shfl_texts[kind]))
      return build_shuffle(d, op, (plumb_shfl)kind);
  return plumb_mlir_reject(d, "shuffle kind %s", text);
}

static bool build_vote(plumb_mlir_decoder *d, MlirOperation op, plumb_vote kind) {
  plumb_reg r = plumb_reg_create(d->b.function, kind == PLUMB_VOTE_BALLOT ? PLUMB_I32 : PLUMB_I1);
  plumb_build(&d->b, PLUMB_OP_VOTE, plumb_reg_type(d->b.function, r), &r, 1,
              (plumb_reg[]){plumb_mlir_operand1(d, op, 1), plumb_mlir_operand1(d, op, 0)}, 2)
      ->sub = (uint8_t)kind;
  return define_as(d, op, r);
}

static bool decode_vote(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const char *text = plumb_mlir_attribute_text(d, op, "kind");
  for (int kind = 0; kind < PLUMB_VOTE_COUNT; kind++)
    if (plumb_mlir_text_has(text, plumb_vote_texts[kind]))
      return build_vote(d, op, (plumb_vote)kind);
  return plumb_mlir_reject(d, "vote kind %s", text);
}

static bool build_match(plumb_mlir_decoder *d, MlirOperation op, bool all) {
  plumb_mlir_flat to;
  if (!plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &to) || to.count < 1 || to.count > 2)
    return plumb_mlir_reject(d, "a result of this type");
  plumb_reg value = plumb_mlir_operand1(d, op, 1);
  plumb_reg results[2] = {plumb_reg_create(d->b.function, PLUMB_I32),
                          plumb_reg_create(d->b.function, PLUMB_I1)};
  plumb_build(&d->b, PLUMB_OP_MATCH, plumb_reg_type(d->b.function, value), results, 2,
              (plumb_reg[]){value, plumb_mlir_operand1(d, op, 0)}, 2)
      ->sub = all;
  plumb_mlir_define_result(d, op, 0, results, to.count);
  return true;
}

static bool decode_match(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  return build_match(d, op, plumb_mlir_text_has(plumb_mlir_attribute_text(d, op, "kind"), "all"));
}

typedef struct redux_row {
  const char *text;
  plumb_atomic kind;
} redux_row;
static const redux_row redux_rows[] = {{"add", PLUMB_ATOMIC_ADD},    {"and", PLUMB_ATOMIC_AND},
                                       {"max", PLUMB_ATOMIC_MAX_S},  {"min", PLUMB_ATOMIC_MIN_S},
                                       {"or", PLUMB_ATOMIC_OR},      {"umax", PLUMB_ATOMIC_MAX_U},
                                       {"umin", PLUMB_ATOMIC_MIN_U}, {"xor", PLUMB_ATOMIC_XOR},
                                       {"fmin", PLUMB_ATOMIC_FMIN},  {"fmax", PLUMB_ATOMIC_FMAX}};

static bool build_redux(plumb_mlir_decoder *d, MlirOperation op, plumb_atomic kind,
                        uint32_t flags) {
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  if (r.count != 1) return false;
  plumb_inst *inst =
      plumb_build(&d->b, PLUMB_OP_REDUX, plumb_reg_type(d->b.function, r.regs[0]), r.regs, 1,
                  (plumb_reg[]){plumb_mlir_operand1(d, op, 0), plumb_mlir_operand1(d, op, 1)}, 2);
  inst->sub = (uint8_t)kind;
  inst->flags |= flags;
  return true;
}

static bool decode_redux(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const char *text = plumb_mlir_attribute_text(d, op, "kind");
  if (plumb_mlir_attribute_flag(op, "nan")) return plumb_mlir_reject(d, "redux.sync with .NaN");
  for (size_t i = 0; i < sizeof redux_rows / sizeof *redux_rows; i++)
    if (plumb_mlir_text_has(text, redux_rows[i].text))
      return build_redux(d, op, redux_rows[i].kind,
                         plumb_mlir_attribute_flag(op, "abs") ? (uint32_t)PLUMB_FLAG_ABS_OP : 0);
  return plumb_mlir_reject(d, "redux kind %s", text);
}

static bool decode_elect(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_reg mask =
      mlirOperationGetNumOperands(op) ? plumb_mlir_operand1(d, op, 0) : i32(d, UINT32_MAX);
  plumb_reg results[2] = {plumb_reg_create(d->b.function, PLUMB_I32),
                          plumb_reg_create(d->b.function, PLUMB_I1)};
  plumb_build(&d->b, PLUMB_OP_ELECT, PLUMB_I32, results, 2, &mask, 1);
  plumb_mlir_define_result1(d, op, 0, results[1]);
  return true;
}

/* --- arithmetic --- */

static bool decode_permute(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const char *text = plumb_mlir_attribute_text(d, op, "mode");
  bool has_high = mlirOperationGetNumOperands(op) == 3;
  int mode = PLUMB_PRMT_INDEX;
  for (int k = 1; k < PLUMB_PRMT_COUNT; k++)
    if (plumb_mlir_text_has(text, plumb_prmt_texts[k])) mode = k;
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  plumb_reg low = plumb_mlir_operand1(d, op, 0);
  plumb_build(&d->b, PLUMB_OP_PRMT, PLUMB_I32, r.regs, 1,
              (plumb_reg[]){low, has_high ? plumb_mlir_operand1(d, op, 1) : i32(d, 0),
                            plumb_mlir_operand1(d, op, has_high ? 2 : 1)},
              3)
      ->sub = (uint8_t)mode;
  return true;
}

static bool decode_rcp(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  plumb_reg a = plumb_mlir_operand1(d, op, 0);
  plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_APPROX, PLUMB_F32, r.regs, 1, &a, 1);
  inst->sub = PLUMB_APPROX_RCP;
  inst->flags |= (uint32_t)PLUMB_FLAG_FTZ;
  return true;
}

/* --- intrinsics by name (llvm/include/llvm/IR/IntrinsicsNVVM.td) --- */

typedef enum intrinsic_kind { ALU, APPROX, ROUND_INTEGRAL, BARRIER_ID } intrinsic_kind;

typedef struct intrinsic_row {
  const char *name; /* without "llvm.nvvm." */
  intrinsic_kind kind;
  int code;
  size_t arity;
  int round;
  uint32_t flags;
} intrinsic_row;

#define FTZ ((uint32_t)PLUMB_FLAG_FTZ)
static const intrinsic_row intrinsic_rows[] = {
#define ROUNDED(op, code, arity, suffix) \
  {op ".rn." suffix, ALU, code, arity, PLUMB_RN, 0}, \
      {op ".rz." suffix, ALU, code, arity, PLUMB_RZ, 0}, \
      {op ".rm." suffix, ALU, code, arity, PLUMB_RM, 0}, \
      {op ".rp." suffix, ALU, code, arity, PLUMB_RP, 0}
#define ROUNDED_FTZ(op, code, arity) \
  {op ".rn.ftz.f", ALU, code, arity, PLUMB_RN, FTZ}, \
      {op ".rz.ftz.f", ALU, code, arity, PLUMB_RZ, FTZ}, \
      {op ".rm.ftz.f", ALU, code, arity, PLUMB_RM, FTZ}, { \
    op ".rp.ftz.f", ALU, code, arity, PLUMB_RP, FTZ \
  }
    ROUNDED("add", PLUMB_OP_ADD, 2, "f"),
    ROUNDED("add", PLUMB_OP_ADD, 2, "d"),
    ROUNDED("mul", PLUMB_OP_MUL, 2, "f"),
    ROUNDED("mul", PLUMB_OP_MUL, 2, "d"),
    ROUNDED("div", PLUMB_OP_DIV, 2, "f"),
    ROUNDED("div", PLUMB_OP_DIV, 2, "d"),
    ROUNDED("fma", PLUMB_OP_FMA, 3, "f"),
    ROUNDED("fma", PLUMB_OP_FMA, 3, "d"),
    ROUNDED("sqrt", PLUMB_OP_SQRT, 1, "f"),
    ROUNDED("sqrt", PLUMB_OP_SQRT, 1, "d"),
    ROUNDED_FTZ("add", PLUMB_OP_ADD, 2),
    ROUNDED_FTZ("mul", PLUMB_OP_MUL, 2),
    ROUNDED_FTZ("div", PLUMB_OP_DIV, 2),
    ROUNDED_FTZ("fma", PLUMB_OP_FMA, 3),
    ROUNDED_FTZ("sqrt", PLUMB_OP_SQRT, 1),
#undef ROUNDED
#undef ROUNDED_FTZ
    {"fabs.f32", ALU, PLUMB_OP_ABS, 1, 0, 0},
    {"fabs.ftz.f32", ALU, PLUMB_OP_ABS, 1, 0, FTZ},
    {"fabs.f64", ALU, PLUMB_OP_ABS, 1, 0, 0},
    {"fabs.f", ALU, PLUMB_OP_ABS, 1, 0, 0},
    {"fabs.ftz.f", ALU, PLUMB_OP_ABS, 1, 0, FTZ},
    {"fabs.d", ALU, PLUMB_OP_ABS, 1, 0, 0},
    {"fmin.f", ALU, PLUMB_OP_MIN, 2, PLUMB_NAN_DROP, 0},
    {"fmin.d", ALU, PLUMB_OP_MIN, 2, PLUMB_NAN_DROP, 0},
    {"fmin.ftz.f", ALU, PLUMB_OP_MIN, 2, PLUMB_NAN_DROP, FTZ},
    {"fmin.nan.f", ALU, PLUMB_OP_MIN, 2, PLUMB_NAN_PROPAGATE, 0},
    {"fmax.f", ALU, PLUMB_OP_MAX, 2, PLUMB_NAN_DROP, 0},
    {"fmax.d", ALU, PLUMB_OP_MAX, 2, PLUMB_NAN_DROP, 0},
    {"fmax.ftz.f", ALU, PLUMB_OP_MAX, 2, PLUMB_NAN_DROP, FTZ},
    {"fmax.nan.f", ALU, PLUMB_OP_MAX, 2, PLUMB_NAN_PROPAGATE, 0},
    {"mulhi.i", ALU, PLUMB_OP_MULHI_S, 2, 0, 0},
    {"mulhi.ui", ALU, PLUMB_OP_MULHI_U, 2, 0, 0},
    {"mulhi.ll", ALU, PLUMB_OP_MULHI_S, 2, 0, 0},
    {"mulhi.ull", ALU, PLUMB_OP_MULHI_U, 2, 0, 0},
    {"prmt", ALU, PLUMB_OP_PRMT, 3, 0, 0},
    {"saturate.f", ALU, PLUMB_OP_CVT, 1, PLUMB_RN, (uint32_t)PLUMB_FLAG_SAT},
    {"saturate.d", ALU, PLUMB_OP_CVT, 1, PLUMB_RN, (uint32_t)PLUMB_FLAG_SAT},
    {"saturate.ftz.f", ALU, PLUMB_OP_CVT, 1, PLUMB_RN, (uint32_t)PLUMB_FLAG_SAT | FTZ},
    {"ceil.f", ROUND_INTEGRAL, PLUMB_OP_ROUND_INT, 1, PLUMB_RP, 0},
    {"ceil.d", ROUND_INTEGRAL, PLUMB_OP_ROUND_INT, 1, PLUMB_RP, 0},
    {"floor.f", ROUND_INTEGRAL, PLUMB_OP_ROUND_INT, 1, PLUMB_RM, 0},
    {"floor.d", ROUND_INTEGRAL, PLUMB_OP_ROUND_INT, 1, PLUMB_RM, 0},
    {"trunc.f", ROUND_INTEGRAL, PLUMB_OP_ROUND_INT, 1, PLUMB_RZ, 0},
    {"trunc.d", ROUND_INTEGRAL, PLUMB_OP_ROUND_INT, 1, PLUMB_RZ, 0},
    {"rcp.approx.ftz.f", APPROX, PLUMB_APPROX_RCP, 1, 0, FTZ},
    {"rcp.approx.ftz.d", APPROX, PLUMB_APPROX_RCP_FTZ_F64, 1, 0, FTZ},
    {"div.approx.f", APPROX, PLUMB_APPROX_DIV, 2, 0, 0},
    {"div.approx.ftz.f", APPROX, PLUMB_APPROX_DIV, 2, 0, FTZ},
    {"div.full", APPROX, PLUMB_APPROX_DIV_FULL, 2, 0, 0},
    {"div.full.ftz", APPROX, PLUMB_APPROX_DIV_FULL, 2, 0, FTZ},
    {"sqrt.approx.f", APPROX, PLUMB_APPROX_SQRT, 1, 0, 0},
    {"sqrt.approx.ftz.f", APPROX, PLUMB_APPROX_SQRT, 1, 0, FTZ},
    {"sqrt.f", ALU, PLUMB_OP_SQRT, 1, PLUMB_RN, 0},
    {"rsqrt.approx.f", APPROX, PLUMB_APPROX_RSQRT, 1, 0, 0},
    {"rsqrt.approx.ftz.f", APPROX, PLUMB_APPROX_RSQRT, 1, 0, FTZ},
    {"rsqrt.approx.d", APPROX, PLUMB_APPROX_RSQRT, 1, 0, 0},
    {"rsqrt.approx.ftz.d", APPROX, PLUMB_APPROX_RSQRT_FTZ_F64, 1, 0, FTZ},
    {"ex2.approx.f", APPROX, PLUMB_APPROX_EX2, 1, 0, 0},
    {"ex2.approx.f32", APPROX, PLUMB_APPROX_EX2, 1, 0, 0},
    {"ex2.approx", APPROX, PLUMB_APPROX_EX2, 1, 0, 0},
    {"ex2.approx.ftz.f", APPROX, PLUMB_APPROX_EX2, 1, 0, FTZ},
    {"ex2.approx.ftz.f32", APPROX, PLUMB_APPROX_EX2, 1, 0, FTZ},
    {"ex2.approx.ftz", APPROX, PLUMB_APPROX_EX2, 1, 0, FTZ},
    {"lg2.approx.f", APPROX, PLUMB_APPROX_LG2, 1, 0, 0},
    {"lg2.approx.ftz.f", APPROX, PLUMB_APPROX_LG2, 1, 0, FTZ},
    {"sin.approx.f", APPROX, PLUMB_APPROX_SIN, 1, 0, 0},
    {"sin.approx.ftz.f", APPROX, PLUMB_APPROX_SIN, 1, 0, FTZ},
    {"cos.approx.f", APPROX, PLUMB_APPROX_COS, 1, 0, 0},
    {"cos.approx.ftz.f", APPROX, PLUMB_APPROX_COS, 1, 0, FTZ},
    {"tanh.approx.f", APPROX, PLUMB_APPROX_TANH, 1, 0, 0},
    {"barrier.cta.sync.aligned.all", BARRIER_ID, 0, 1, 0, (uint32_t)PLUMB_FLAG_ALIGNED},
    {"barrier.cta.sync.all", BARRIER_ID, 0, 1, 0, 0},
    {"barrier.cta.sync.aligned.count", BARRIER_ID, 0, 2, 0, (uint32_t)PLUMB_FLAG_ALIGNED},
    {"barrier.cta.sync.count", BARRIER_ID, 0, 2, 0, 0},
};

static bool build_intrinsic(plumb_mlir_decoder *d, MlirOperation op, const intrinsic_row *row) {
  plumb_reg operands[3];
  for (size_t k = 0; k < row->arity; k++) operands[k] = plumb_mlir_operand1(d, op, (intptr_t)k);
  if (row->kind == BARRIER_ID) {
    build_barrier(d, operands[0], row->arity == 2 ? operands[1] : i32(d, 0), row->flags);
    return true;
  }
  if (mlirOperationGetNumResults(op) != 1) return false;
  plumb_mlir_run r = plumb_mlir_fresh_result(d, op, 0);
  if (r.count != 1) return plumb_mlir_reject(d, "a packed type");
  plumb_dtype type = plumb_reg_type(d->b.function, r.regs[0]);
  plumb_inst *inst = plumb_build(&d->b,
                                 row->kind == APPROX           ? PLUMB_OP_APPROX
                                 : row->kind == ROUND_INTEGRAL ? PLUMB_OP_ROUND_INT
                                                               : (plumb_op)row->code,
                                 type, r.regs, 1, operands, row->arity);
  inst->flags |= row->flags;
  if (row->kind == APPROX)
    inst->sub = (uint8_t)row->code;
  else if (row->code == PLUMB_OP_MIN || row->code == PLUMB_OP_MAX)
    inst->sub = (uint8_t)row->round;
  else
    inst->round = (uint8_t)row->round;
  return true;
}

/* Families whose name holds the kind: "shfl.sync.bfly.i32p", "vote.any.sync". */
static bool build_family(plumb_mlir_decoder *d, MlirOperation op, const char *name, bool *out_ok) {
  *out_ok = true;
  if (!strncmp(name, "shfl.sync.", 10))
    for (int kind = 0; kind < PLUMB_SHFL_COUNT; kind++)
      if (!strncmp(name + 10, plumb_shfl_texts[kind], strlen(plumb_shfl_texts[kind])))
        return *out_ok = build_shuffle(d, op, (plumb_shfl)kind), true;
  if (!strncmp(name, "vote.", 5) && strstr(name, ".sync"))
    for (int kind = 0; kind < PLUMB_VOTE_COUNT; kind++)
      if (!strncmp(name + 5, plumb_vote_texts[kind], strlen(plumb_vote_texts[kind])))
        return *out_ok = build_vote(d, op, (plumb_vote)kind), true;
  if (!strncmp(name, "match.any.sync.", 15)) return *out_ok = build_match(d, op, false), true;
  if (!strncmp(name, "match.all.sync.", 15)) return *out_ok = build_match(d, op, true), true;
  if (!strncmp(name, "redux.sync.", 11))
    for (size_t i = 0; i < sizeof redux_rows / sizeof *redux_rows; i++)
      if (!strcmp(name + 11, redux_rows[i].text))
        return *out_ok = build_redux(d, op, redux_rows[i].kind, 0), true;
  return false;
}

bool plumb_mlir_nvvm_intrinsic(plumb_mlir_decoder *d, MlirOperation op, const char *name) {
  bool ok;
  name += strlen("llvm.nvvm.");
  for (size_t i = 0; i < sizeof intrinsic_rows / sizeof *intrinsic_rows; i++)
    if (!strcmp(name, intrinsic_rows[i].name)) return build_intrinsic(d, op, &intrinsic_rows[i]);
  if (build_family(d, op, name, &ok)) return ok;
  if (!strcmp(name, "membar.cta")) return build_fence(d, (uint32_t)PLUMB_FLAG_SCOPE_CTA), true;
  if (!strcmp(name, "membar.gl")) return build_fence(d, (uint32_t)PLUMB_FLAG_SCOPE_GPU), true;
  if (!strcmp(name, "membar.sys")) return build_fence(d, 0), true;
  const plumb_mlir_op *row = find_by_suffix(name);
  if (row) return row->decode(d, op, row);
  return plumb_mlir_nvvm_ptx(d, op, name - strlen("llvm.nvvm."));
}

/* --- inline PTX --- */

const char *plumb_mlir_nvvm_letter(plumb_dtype type) {
  switch (type) {
    case PLUMB_I16:
      return "h";
    case PLUMB_I32:
      return "r";
    case PLUMB_I64:
      return "l";
    case PLUMB_F32:
      return "f";
    case PLUMB_F64:
      return "d";
    default:
      return NULL;
  }
}

/* nvvm.inline_ptx: results are $0 and on, then the read-only operands. */
static bool decode_inline_ptx(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *segments;
  size_t count;
  MlirAttribute code;
  if (!plumb_mlir_segments(d, op, &segments, &count) || count != 3 || segments[1] || segments[2])
    return plumb_mlir_reject(d, "a predicate or read-write operands");
  if (!plumb_mlir_attribute(op, "ptxCode", &code) || !mlirAttributeIsAString(code)) return false;
  plumb_text constraints = plumb_text_create(d->arena);
  intptr_t results = mlirOperationGetNumResults(op), inputs = mlirOperationGetNumOperands(op);
  for (intptr_t i = 0; i < results + inputs; i++) {
    plumb_mlir_flat flat;
    MlirType type =
        i < results ? plumb_mlir_result_type(op, i) : plumb_mlir_operand_type(op, i - results);
    const char *letter = NULL;
    if (plumb_mlir_flatten(d, type, &flat) && flat.count == 1)
      letter = plumb_mlir_nvvm_letter(flat.types[0]);
    if (!letter) return plumb_mlir_reject(d, "an operand that is not one register");
    plumb_text_printf(&constraints, "%s%s%s", i ? "," : "", i < results ? "=" : "", letter);
  }
  MlirStringRef text = mlirStringAttrGetValue(code);
  return plumb_mlir_inline_asm(d, op, text, mlirStringRefCreateFromCString(constraints.data));
}

bool plumb_mlir_inline_asm(plumb_mlir_decoder *d, MlirOperation op, MlirStringRef text,
                           MlirStringRef constraints) {
  intptr_t inputs = mlirOperationGetNumOperands(op), results = mlirOperationGetNumResults(op);
  plumb_mlir_run given = plumb_mlir_operands(d, op, 0, inputs);
  size_t count = 0, capacity = 0;
  plumb_dtype *types = NULL;
  for (intptr_t i = 0; i < results; i++) {
    plumb_mlir_flat flat;
    if (!plumb_mlir_flatten(d, plumb_mlir_result_type(op, i), &flat)) return false;
    types = plumb_arena_grow(d->arena, types, &capacity, count + flat.count + 1, sizeof *types);
    for (size_t k = 0; k < flat.count; k++) types[count++] = flat.types[k];
  }
  plumb_reg *made = PLUMB_NEW_ARRAY(d->arena, plumb_reg, count + 1);
  plumb_ptx_asm a = {.b = &d->b,
                     .path = d->program->name,
                     .text = text.data,
                     .text_length = text.length,
                     .constraints = constraints.data,
                     .constraints_length = constraints.length,
                     .inputs = given.regs,
                     .input_count = given.count,
                     .result_types = types,
                     .result_count = count};
  plumb_diag problem;
  if (plumb_ptx_inline_asm(&a, made, &problem) != PLUMB_OK)
    return plumb_mlir_reject(d, "inline assembly %.*s: %s", (int)text.length, text.data,
                             problem.message);
  for (intptr_t i = 0, next = 0; i < results; i++) {
    plumb_mlir_flat flat;
    plumb_mlir_flatten(d, plumb_mlir_result_type(op, i), &flat);
    plumb_mlir_define_result(d, op, i, made + next, flat.count);
    next += (intptr_t)flat.count;
  }
  return true;
}

/* What has the same name and operands as an intrinsic comes first (find_by_suffix). */
const plumb_mlir_op plumb_mlir_ops_nvvm[] = {
#define X(name, sreg) {"nvvm.read.ptx.sreg." name, decode_sreg, PLUMB_SREG_##sreg},
#include "ir/mlir/nvvm_sreg.def"
#undef X
    {"nvvm.barrier0", decode_barrier0, 0},
    {"nvvm.bar.warp.sync", decode_warp_sync, 0},
    {"nvvm.nanosleep", decode_nanosleep, 0},
    {"nvvm.exit", decode_exit, 0},
    {"nvvm.rcp.approx.ftz.f", decode_rcp, 0},
    {"nvvm.fence.sc.cluster", decode_fence, PLUMB_FLAG_SCOPE_CLUSTER},
    {"nvvm.barrier", decode_barrier, 0},
    {"nvvm.barrier.arrive", decode_barrier_arrive, 0},
    {"nvvm.memory.barrier", decode_membar, 0},
    {"nvvm.shfl.sync", decode_shuffle, 0},
    {"nvvm.vote.sync", decode_vote, 0},
    {"nvvm.match.sync", decode_match, 0},
    {"nvvm.redux.sync", decode_redux, 0},
    {"nvvm.elect.sync", decode_elect, 0},
    {"nvvm.prmt", decode_permute, 0},
    {"nvvm.inline_ptx", decode_inline_ptx, 0},
    {0}};

/* Among the operations up to fence.sc.cluster. */
static const plumb_mlir_op *find_by_suffix(const char *name) {
  for (const plumb_mlir_op *row = plumb_mlir_ops_nvvm; row->name; row++) {
    if (!strcmp(row->name + 5, name)) return row;
    if (row->decode == decode_fence) break;
  }
  return NULL;
}

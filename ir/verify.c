/* The verifier: what handlers rely on. It shares nothing with the decoders. */
#include <string.h>

#include "ir/mma.h"
#include "ir/program.h"
#include "ir/wgmma.h"

typedef struct place {
  const plumb_program *p;
  const plumb_function *f;
  size_t block, index;
  const plumb_inst *inst;
  plumb_diag *diag;
} place;

static plumb_status reject(const place *at, const char *what) {
  const char *op =
      at->inst && at->inst->op < PLUMB_OP_COUNT ? plumb_op_table[at->inst->op].mnemonic : "?";
  const plumb_loc *loc =
      at->inst && at->inst->loc < at->p->loc_count ? &at->p->locs[at->inst->loc] : NULL;
  return plumb_fail(
      at->diag, PLUMB_BAD_INPUT, loc && loc->file ? loc->file : at->p->name, loc ? loc->line : 0,
      loc ? loc->column : 0,
      "the program does not verify: function '%s', block %zu, instruction %zu (%s): %s",
      at->f->name, at->block, at->index, op, what);
}

static bool reg_ok(const place *at, plumb_reg r) {
  if (r == PLUMB_NO_REG) return false;
  if (plumb_reg_is_const(r)) return plumb_reg_const_index(r) < at->p->const_count;
  return r < at->f->reg_count;
}

static unsigned size_of(const place *at, plumb_reg r) {
  return plumb_dtype_bytes(plumb_reg_type(at->f, r));
}

static plumb_status want(const place *at, plumb_reg r, plumb_dtype type, const char *what) {
  return size_of(at, r) == plumb_dtype_bytes(type) ? PLUMB_OK : reject(at, what);
}

/* The operand of an MBARRIER after its address. */
static plumb_dtype mbarrier_operand(unsigned sub) {
  return sub == PLUMB_MBARRIER_TEST || sub == PLUMB_MBARRIER_TRY ? PLUMB_I64 : PLUMB_I32;
}

static size_t mbarrier_operands(unsigned sub) {
  switch (sub) {
    case PLUMB_MBARRIER_INVAL:
    case PLUMB_MBARRIER_CP_ARRIVE:
    case PLUMB_MBARRIER_CP_ARRIVE_NOINC:
    case PLUMB_MBARRIER_PENDING:
      return 1;
    default:
      return 2;
  }
}

static plumb_dtype mbarrier_result(unsigned sub) {
  if (sub >= PLUMB_MBARRIER_ARRIVE && sub <= PLUMB_MBARRIER_DROP_NO_COMPLETE) return PLUMB_I64;
  if (sub >= PLUMB_MBARRIER_TEST && sub <= PLUMB_MBARRIER_TRY_PARITY) return PLUMB_I1;
  return sub == PLUMB_MBARRIER_PENDING ? PLUMB_I32 : PLUMB_DTYPE_COUNT;
}

/* A TENSOR_COPY's coordinates, and an im2col load's offsets. */
static size_t tensor_operands(const plumb_inst *inst) {
  size_t rank = (size_t)inst->imm & 255;
  return 4 + rank + (inst->imm >> 8 && inst->sub == 0 ? rank - 2 : 0);
}

static plumb_dtype wgmma_operand(const plumb_inst *inst, size_t k) {
  plumb_wgmma w = plumb_wgmma_unpack(inst->imm);
  size_t b = w.a_regs ? 5 : 2;
  if (k == 0) return PLUMB_I1;
  return k == b || (k < b && !w.a_regs) ? PLUMB_I64 : PLUMB_I32;
}

/* Operand types that differ from the instruction's. */
static plumb_dtype operand_type(const plumb_inst *inst, size_t k) {
  plumb_dtype type = (plumb_dtype)inst->type;
  switch (inst->op) {
    case PLUMB_OP_SELECT:
      return k == 0 ? PLUMB_I1 : type;
    case PLUMB_OP_CMP:
    case PLUMB_OP_CVT:
    case PLUMB_OP_CLASSIFY:
      return (plumb_dtype)inst->type2;
    case PLUMB_OP_BFE:
      return k == 0 ? type : PLUMB_I32;
    case PLUMB_OP_BFI:
      return k < 2 ? type : PLUMB_I32;
    case PLUMB_OP_CVT_RS:
      return k == 0 ? (plumb_dtype)inst->type2 : PLUMB_I32;
    case PLUMB_OP_PRINT:
      return inst->imm == -1 ? PLUMB_I64 : PLUMB_DTYPE_COUNT;
    case PLUMB_OP_ADD_CARRY:
    case PLUMB_OP_SUB_BORROW:
      return k == 2 ? PLUMB_I1 : type;
    case PLUMB_OP_REDUCE_ADD:
    case PLUMB_OP_REDUCE_MUL:
      return k == 2 ? PLUMB_I64 : type;
    case PLUMB_OP_LOAD:
      return PLUMB_I64;
    case PLUMB_OP_STORE:
    case PLUMB_OP_ATOMIC:
      return k == 0 ? PLUMB_I64 : type;
    case PLUMB_OP_CP_ASYNC:
      return k < 2 ? PLUMB_I64 : k == 2 ? PLUMB_I32 : PLUMB_I1;
    case PLUMB_OP_BULK_COPY:
      return k == 2 ? PLUMB_I32 : k == 4 ? PLUMB_I16 : PLUMB_I64;
    case PLUMB_OP_TENSOR_COPY:
      if (k < 3) return PLUMB_I64;
      return k == 3 || k >= 4 + ((size_t)inst->imm & 255) ? PLUMB_I16 : PLUMB_I32;
    case PLUMB_OP_STORE_ASYNC:
      return k < 2 ? PLUMB_I64 : type;
    case PLUMB_OP_MBARRIER:
      return k == 0 ? PLUMB_I64 : mbarrier_operand(inst->sub);
    case PLUMB_OP_MAP_BLOCK:
      return k == 0 ? PLUMB_I64 : PLUMB_I32;
    case PLUMB_OP_WGMMA:
      return wgmma_operand(inst, k);
    case PLUMB_OP_TENSORMAP_REPLACE:
    case PLUMB_OP_BLOCK_RANK:
      return PLUMB_I64;
    default:
      return PLUMB_DTYPE_COUNT;
  }
}

static plumb_dtype result_type(const plumb_inst *inst, size_t k) {
  switch (inst->op) {
    case PLUMB_OP_CMP:
    case PLUMB_OP_CLASSIFY:
    case PLUMB_OP_IS_SPACE:
      return PLUMB_I1;
    case PLUMB_OP_ADD_CARRY:
    case PLUMB_OP_SUB_BORROW:
      return k == 1 ? PLUMB_I1 : (plumb_dtype)inst->type;
    case PLUMB_OP_ADDRESS:
    case PLUMB_OP_FRAME:
    case PLUMB_OP_ALLOCA:
    case PLUMB_OP_ALLOC:
    case PLUMB_OP_TO_GENERIC:
    case PLUMB_OP_FROM_GENERIC:
    case PLUMB_OP_MAP_BLOCK:
      return PLUMB_I64;
    case PLUMB_OP_BLOCK_RANK:
    case PLUMB_OP_WGMMA:
      return PLUMB_I32;
    case PLUMB_OP_MBARRIER:
      return mbarrier_result(inst->sub);
    default:
      return PLUMB_DTYPE_COUNT;
  }
}

/* ALU operations whose operands and results all have the instruction's type. */
static bool is_uniform(const plumb_inst *inst) {
  if (plumb_op_table[inst->op].op_class != PLUMB_CLASS_ALU) return inst->op == PLUMB_OP_LOAD;
  switch (inst->op) {
    case PLUMB_OP_FUNNEL_L:
    case PLUMB_OP_FUNNEL_R:
    case PLUMB_OP_CLZ:
    case PLUMB_OP_CTZ:
    case PLUMB_OP_POPC:
    case PLUMB_OP_BFIND:
    case PLUMB_OP_BMSK:
    case PLUMB_OP_SZEXT:
    case PLUMB_OP_DP2A:
    case PLUMB_OP_DP4A:
    case PLUMB_OP_PRMT:
    case PLUMB_OP_MATH:
    case PLUMB_OP_APPROX:
    case PLUMB_OP_SAD:
      return false;
    default:
      return true;
  }
}

/* Fragments in their order; f64 in registers of 8 bytes, all else in those of 4. */
static plumb_status check_mma(const place *at) {
  plumb_mma mma = plumb_mma_unpack(at->inst->imm);
  if (!plumb_mma_valid(&mma) || plumb_mma_pack(&mma) != at->inst->imm)
    return reject(at, "there is no such shape and types");
  const plumb_reg *operands = plumb_inst_operands(at->f, at->inst);
  size_t k = 0;
  for (int which = PLUMB_MMA_A; which <= PLUMB_MMA_C; which++) {
    size_t count = plumb_mma_regs(&mma, (plumb_mma_matrix)which);
    if (k + count > at->inst->operands) return reject(at, "too few fragment registers");
    for (size_t i = 0; i < count; i++, k++)
      if (size_of(at, operands[k]) != plumb_mma_reg_bytes(&mma, (plumb_mma_matrix)which))
        return reject(at, "a fragment register has another size");
  }
  bool sparse = mma.kind == PLUMB_MMA_SPARSE;
  if (at->inst->operands != k + sparse) return reject(at, "too many fragment registers");
  if (sparse) PLUMB_TRY(want(at, operands[k], PLUMB_I32, "the metadata is no i32"));
  if (at->inst->results != plumb_mma_regs(&mma, PLUMB_MMA_D))
    return reject(at, "wrong number of results");
  for (k = 0; k < at->inst->results; k++)
    if (size_of(at, plumb_inst_results(at->f, at->inst)[k]) !=
        plumb_mma_reg_bytes(&mma, PLUMB_MMA_D))
      return reject(at, "a result has another size");
  return PLUMB_OK;
}

static plumb_status check_types(const place *at) {
  const plumb_inst *inst = at->inst;
  const plumb_reg *results = plumb_inst_results(at->f, inst);
  const plumb_reg *operands = plumb_inst_operands(at->f, inst);
  for (size_t k = 0; k < inst->results; k++) {
    plumb_dtype type = result_type(inst, k);
    if (type == PLUMB_DTYPE_COUNT && is_uniform(inst)) type = (plumb_dtype)inst->type;
    if (type != PLUMB_DTYPE_COUNT)
      PLUMB_TRY(want(at, results[k], type, "a result has another size"));
  }
  for (size_t k = 0; k < inst->operands; k++) {
    plumb_dtype type = operand_type(inst, k);
    if (type == PLUMB_DTYPE_COUNT && is_uniform(inst)) type = (plumb_dtype)inst->type;
    if (type != PLUMB_DTYPE_COUNT)
      PLUMB_TRY(want(at, operands[k], type, "an operand has another size"));
  }
  switch (inst->op) {
    case PLUMB_OP_WGMMA:
      for (size_t k = 0; k < inst->results; k++)
        if (results[k] != operands[inst->operands - inst->results + k])
          return reject(at, "D is not in place");
      return PLUMB_OK;
    case PLUMB_OP_CONDBR:
      return want(at, operands[0], PLUMB_I1, "the condition is no i1");
    case PLUMB_OP_TO_GENERIC:
    case PLUMB_OP_FROM_GENERIC:
    case PLUMB_OP_IS_SPACE:
    case PLUMB_OP_FREE:
    case PLUMB_OP_ALLOC:
    case PLUMB_OP_ALLOCA:
      return want(at, operands[0], PLUMB_I64, "the operand is no i64");
    case PLUMB_OP_MMA:
      return check_mma(at);
    case PLUMB_OP_SHFL:
      for (int k = 0; k < 4; k++)
        PLUMB_TRY(want(at, operands[k], PLUMB_I32, "an operand is no i32"));
      return want(at, results[1], PLUMB_I1, "the second result is no i1");
    case PLUMB_OP_LAUNCH:
      if (inst->operands < 7) return reject(at, "a launch needs seven sizes");
      for (int k = 0; k < 7; k++)
        PLUMB_TRY(want(at, operands[k], PLUMB_I64, "a launch size is no i64"));
      return PLUMB_OK;
    default:
      return PLUMB_OK;
  }
}

static bool sub_ok(const plumb_inst *inst) {
  switch (inst->op) {
    case PLUMB_OP_SREG:
      return inst->sub < PLUMB_SREG_COUNT;
    case PLUMB_OP_CMP:
      return inst->sub < PLUMB_CMP_COUNT;
    case PLUMB_OP_MIN:
    case PLUMB_OP_MAX:
      return inst->sub < PLUMB_NAN_RULE_COUNT;
    case PLUMB_OP_MATH:
      return inst->sub < PLUMB_MATH_COUNT && inst->operands == plumb_math_table[inst->sub].arity;
    case PLUMB_OP_APPROX:
      return inst->sub < PLUMB_APPROX_COUNT &&
             inst->operands == plumb_approx_table[inst->sub].arity;
    case PLUMB_OP_ATOMIC:
      return inst->sub < PLUMB_ATOMIC_COUNT &&
             inst->operands == (inst->sub == PLUMB_ATOMIC_CAS ? 3 : 2) && inst->results <= 1;
    case PLUMB_OP_REDUX:
      return inst->sub < PLUMB_ATOMIC_COUNT;
    case PLUMB_OP_MEMCPY:
      return inst->sub < 32;
    case PLUMB_OP_BARRIER:
      return inst->sub < PLUMB_BARRIER_COUNT && inst->operands >= 2;
    case PLUMB_OP_SHFL:
      return inst->sub < PLUMB_SHFL_COUNT;
    case PLUMB_OP_VOTE:
      return inst->sub < PLUMB_VOTE_COUNT;
    case PLUMB_OP_PRMT:
      return inst->sub < PLUMB_PRMT_COUNT;
    case PLUMB_OP_FENCE:
      return inst->sub < PLUMB_PROXY_COUNT;
    case PLUMB_OP_ASYNC_GROUP:
      return inst->sub < PLUMB_GROUP_WGMMA_FENCE && inst->imm >= 0;
    case PLUMB_OP_WGMMA_GROUP:
      return inst->sub >= PLUMB_GROUP_WGMMA_FENCE && inst->sub < PLUMB_GROUP_COUNT &&
             inst->imm >= 0;
    case PLUMB_OP_WGMMA: {
      plumb_wgmma w = plumb_wgmma_unpack(inst->imm);
      return plumb_wgmma_valid(&w) && inst->imm == plumb_wgmma_pack(&w) &&
             inst->results == plumb_wgmma_regs(&w) && inst->operands == plumb_wgmma_operands(&w);
    }
    case PLUMB_OP_CP_ASYNC:
      return (inst->imm == 4 || inst->imm == 8 || inst->imm == 16) &&
             (inst->operands == 3 || inst->operands == 4);
    case PLUMB_OP_BULK_COPY:
      return inst->sub <= PLUMB_ATOMIC_COUNT && inst->operands >= 3 && inst->operands <= 5;
    case PLUMB_OP_STORE_ASYNC:
      return inst->sub <= PLUMB_ATOMIC_COUNT && inst->operands >= 3 && inst->operands <= 6;
    case PLUMB_OP_TENSOR_COPY:
      return inst->sub <= PLUMB_ATOMIC_COUNT + 1 && inst->imm >> 9 == 0 && (inst->imm & 255) >= 1 &&
             (inst->imm & 255) <= 5 && (inst->imm < 256 || (inst->imm & 255) >= 3) &&
             inst->operands == tensor_operands(inst);
    case PLUMB_OP_MBARRIER:
      return inst->sub < PLUMB_MBARRIER_COUNT && inst->operands == mbarrier_operands(inst->sub) &&
             inst->results == (mbarrier_result(inst->sub) != PLUMB_DTYPE_COUNT);
    case PLUMB_OP_TENSORMAP_REPLACE:
      return inst->sub < PLUMB_TENSORMAP_FIELD_COUNT && inst->imm >= 0 && inst->imm < 5;
    case PLUMB_OP_CLUSTER_BARRIER:
      return inst->sub < 2;
    default:
      return true;
  }
}

static plumb_status check_references(const place *at) {
  const plumb_inst *inst = at->inst;
  const plumb_function *f = at->f;
  if (inst->loc >= at->p->loc_count) return reject(at, "its location does not exist");
  switch (inst->op) {
    case PLUMB_OP_CONDBR:
      if (inst->target2 >= f->block_count) return reject(at, "a target block does not exist");
      return inst->target < f->block_count ? PLUMB_OK : reject(at, "a target block does not exist");
    case PLUMB_OP_BRA:
      return inst->target < f->block_count ? PLUMB_OK
                                           : reject(at, "the target block does not exist");
    case PLUMB_OP_SWITCH:
      if (inst->imm < 0 || (size_t)inst->imm >= f->table_count || inst->target >= f->block_count)
        return reject(at, "its jump table does not exist");
      for (uint32_t k = 0; k < f->tables[inst->imm][0]; k++)
        if (f->tables[inst->imm][k + 1] >= f->block_count)
          return reject(at, "a target block of its table does not exist");
      return PLUMB_OK;
    case PLUMB_OP_ADDRESS:
      return inst->imm >= 0 && (size_t)inst->imm < at->p->global_count
                 ? PLUMB_OK
                 : reject(at, "its global does not exist");
    case PLUMB_OP_PRINT:
      if (inst->imm == -1)
        return inst->operands == 2 ? PLUMB_OK
                                   : reject(at, "it takes a format and an argument buffer");
      /* fallthrough */
    case PLUMB_OP_UNSUPPORTED:
      return inst->imm >= 0 && (size_t)inst->imm < at->p->string_count
                 ? PLUMB_OK
                 : reject(at, "its text does not exist");
    case PLUMB_OP_CALL:
    case PLUMB_OP_LAUNCH: {
      if (inst->target >= at->p->function_count) return reject(at, "its function does not exist");
      const plumb_function *callee = at->p->functions[inst->target];
      size_t args = inst->op == PLUMB_OP_LAUNCH ? inst->operands - 7u : inst->operands;
      if (args != callee->param_count)
        return reject(at, "the number of arguments is not that of the function's parameters");
      if ((inst->op == PLUMB_OP_LAUNCH) != (callee->kind == PLUMB_KERNEL))
        return reject(at, "kernels are launched, other functions are called");
      if (inst->op == PLUMB_OP_CALL && inst->results > callee->result_count)
        return reject(at, "more results than the function returns");
      return PLUMB_OK;
    }
    default:
      return PLUMB_OK;
  }
}

static plumb_status check_inst(const place *at) {
  const plumb_inst *inst = at->inst;
  if (inst->op >= PLUMB_OP_COUNT) return reject(at, "unknown operation");
  const plumb_op_info *info = &plumb_op_table[inst->op];
  if (inst->type >= PLUMB_DTYPE_COUNT || inst->type2 >= PLUMB_DTYPE_COUNT ||
      inst->round >= PLUMB_ROUND_COUNT || inst->space >= PLUMB_SPACE_COUNT ||
      inst->align_log2 >= 32)
    return reject(at, "a field is out of range");
  if ((size_t)inst->first + inst->results + inst->operands > at->f->used_count)
    return reject(at, "its operand list does not exist");
  if ((info->results >= 0 && inst->results != info->results) ||
      (info->operands >= 0 && inst->operands != info->operands))
    return reject(at, "wrong number of results or operands");
  if (!sub_ok(inst)) return reject(at, "its variant does not exist or takes other operands");
  for (size_t k = 0; k < inst->results; k++)
    if (!reg_ok(at, plumb_inst_results(at->f, inst)[k]) ||
        plumb_reg_is_const(plumb_inst_results(at->f, inst)[k]))
      return reject(at, "a result is no register");
  for (size_t k = 0; k < inst->operands; k++)
    if (!reg_ok(at, plumb_inst_operands(at->f, inst)[k]))
      return reject(at, "an operand is no register");
  if (inst->guard != PLUMB_NO_REG) {
    if (!reg_ok(at, inst->guard)) return reject(at, "the guard is no register");
    PLUMB_TRY(want(at, inst->guard, PLUMB_I1, "the guard is no i1"));
  }
  if (inst->op == PLUMB_OP_STORE && inst->operands < 2) return reject(at, "a store needs a value");
  if (inst->op == PLUMB_OP_LOAD && inst->results < 1) return reject(at, "a load needs a result");
  PLUMB_TRY(check_references(at));
  return check_types(at);
}

static bool is_terminator(const plumb_inst *inst) {
  switch (inst->op) {
    case PLUMB_OP_BRA:
    case PLUMB_OP_CONDBR:
    case PLUMB_OP_SWITCH:
    case PLUMB_OP_RET:
    case PLUMB_OP_EXIT:
    case PLUMB_OP_TRAP:
    case PLUMB_OP_UNREACHABLE:
      return inst->guard == PLUMB_NO_REG;
    default:
      return false;
  }
}

static plumb_status check_function(const plumb_program *p, const plumb_function *f,
                                   plumb_diag *diag) {
  place at = {.p = p, .f = f, .diag = diag};
  if (!f->block_count) return reject(&at, "it has no block");
  for (size_t i = 0; i < f->param_count; i++) {
    const plumb_param *param = &f->params[i];
    if (f->kind == PLUMB_KERNEL ? param->offset + (uint64_t)param->size_bytes > f->param_bytes
                                : param->reg >= f->reg_count)
      return reject(&at, "a parameter lies outside");
  }
  for (at.block = 0; at.block < f->block_count; at.block++) {
    const plumb_block *block = &f->blocks[at.block];
    for (at.index = 0; at.index < block->count; at.index++) {
      at.inst = &f->insts[block->first + at.index];
      PLUMB_TRY(check_inst(&at));
      if (is_terminator(at.inst) != (at.index + 1 == block->count))
        return reject(&at, "a block ends in one unguarded control instruction, and only there");
    }
    at.inst = NULL;
    if (!block->count) return reject(&at, "the block is empty");
  }
  return PLUMB_OK;
}

plumb_status plumb_program_verify(const plumb_program *p, plumb_diag *diag) {
  for (size_t i = 0; i < p->function_count; i++)
    if (!p->functions[i]->external) PLUMB_TRY(check_function(p, p->functions[i], diag));
  return PLUMB_OK;
}

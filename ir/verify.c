/* The verifier: what handlers rely on. It shares nothing with the decoders. */
#include <string.h>

#include "ir/operands.h"

#define MAX_PARAM_BYTES 32764u /* PTX ISA 9.0, 5.1.6.1, from PTX 8.1 on */
#define MAX_ALIGN (1ll << 32)  /* LLVM's largest alignment */

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

/* --- what an instruction refers to --- */

static plumb_status check_passed(const place *at, const plumb_reg *regs, size_t count,
                                 const plumb_function *callee) {
  if (count != callee->param_count)
    return reject(at, "the number of arguments is not that of the function's parameters");
  for (size_t i = 0; i < count; i++) {
    const plumb_param *param = &callee->params[i];
    unsigned size = callee->kind == PLUMB_KERNEL ? param->size_bytes
                                                 : plumb_dtype_bytes(callee->reg_types[param->reg]);
    if (size_of(at, regs[i]) != size)
      return reject(at, "an argument has another size than the function's parameter");
  }
  return PLUMB_OK;
}

static plumb_status check_call(const place *at) {
  const plumb_inst *inst = at->inst;
  if (inst->target >= at->p->function_count) return reject(at, "its function does not exist");
  const plumb_function *callee = at->p->functions[inst->target];
  bool launch = inst->op == PLUMB_OP_LAUNCH;
  if (callee->external || launch != (callee->kind == PLUMB_KERNEL))
    return reject(at, "kernels are launched, other functions are called");
  PLUMB_TRY(check_passed(at, plumb_inst_operands(at->f, inst) + (launch ? 7 : 0),
                         inst->operands - (launch ? 7u : 0u), callee));
  if (inst->results > callee->result_count)
    return reject(at, "more results than the function returns");
  for (size_t i = 0; i < inst->results; i++)
    if (size_of(at, plumb_inst_results(at->f, inst)[i]) !=
        plumb_dtype_bytes(callee->result_types[i]))
      return reject(at, "a result has another size than what the function returns");
  return PLUMB_OK;
}

/* A kernel ends its lanes and returns nothing. */
static plumb_status check_return(const place *at) {
  const plumb_inst *inst = at->inst;
  size_t count = at->f->kind == PLUMB_KERNEL ? 0 : at->f->result_count;
  if (inst->operands != count)
    return reject(at, "the number of values is not that of the function's results");
  for (size_t i = 0; i < count; i++)
    if (size_of(at, plumb_inst_operands(at->f, inst)[i]) !=
        plumb_dtype_bytes(at->f->result_types[i]))
      return reject(at, "a value has another size than the function's result");
  return PLUMB_OK;
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
    case PLUMB_OP_RET:
      return check_return(at);
    case PLUMB_OP_CALL:
    case PLUMB_OP_LAUNCH:
      return check_call(at);
    case PLUMB_OP_CALL_INDIRECT:
      return inst->operands ? PLUMB_OK : reject(at, "it needs the address of a function");
    case PLUMB_OP_ALLOCA:
    case PLUMB_OP_ALLOC:
      return inst->imm >= 0 && inst->imm <= MAX_ALIGN && !(inst->imm & (inst->imm - 1))
                 ? PLUMB_OK
                 : reject(at, "its alignment is no power of two up to 2^32");
    default:
      return PLUMB_OK;
  }
}

static plumb_status check_inst(const place *at) {
  const plumb_inst *inst = at->inst;
  if (inst->op >= PLUMB_OP_COUNT) return reject(at, "unknown operation");
  if (inst->type >= PLUMB_DTYPE_COUNT || inst->type2 >= PLUMB_DTYPE_COUNT ||
      inst->round >= PLUMB_ROUND_COUNT || inst->space >= PLUMB_SPACE_COUNT ||
      inst->align_log2 >= 32)
    return reject(at, "a field is out of range");
  if ((size_t)inst->first + inst->results + inst->operands > at->f->used_count)
    return reject(at, "its operand list does not exist");
  for (size_t k = 0; k < inst->results; k++)
    if (!reg_ok(at, plumb_inst_results(at->f, inst)[k]) ||
        plumb_reg_is_const(plumb_inst_results(at->f, inst)[k]))
      return reject(at, "a result is no register");
  for (size_t k = 0; k < inst->operands; k++)
    if (!reg_ok(at, plumb_inst_operands(at->f, inst)[k]))
      return reject(at, "an operand is no register");
  if (inst->guard != PLUMB_NO_REG) {
    if (!reg_ok(at, inst->guard)) return reject(at, "the guard is no register");
    if (size_of(at, inst->guard) != 1) return reject(at, "the guard is no i1");
  }
  const char *misfit = plumb_inst_misfit(at->f, inst);
  return misfit ? reject(at, misfit) : check_references(at);
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

static plumb_status check_params(const place *at) {
  const plumb_function *f = at->f;
  bool kernel = f->kind == PLUMB_KERNEL;
  if (f->param_bytes > MAX_PARAM_BYTES) return reject(at, "more than 32764 bytes of parameters");
  for (size_t i = 0; i < f->param_count; i++) {
    const plumb_param *param = &f->params[i];
    if (kernel ? param->offset + (uint64_t)param->size_bytes > f->param_bytes ||
                     param->reg != PLUMB_NO_REG
               : param->reg >= f->reg_count)
      return reject(at, "a parameter lies outside");
  }
  return PLUMB_OK;
}

/* Parameters first, of every function: calls rely on those of their callee. */
static plumb_status check_head(const plumb_program *p, const plumb_function *f, plumb_diag *diag) {
  place at = {.p = p, .f = f, .diag = diag};
  if (f->external) return f->block_count ? reject(&at, "it is external and has a body") : PLUMB_OK;
  return f->block_count ? check_params(&at) : reject(&at, "it has no block");
}

static plumb_status check_function(const plumb_program *p, const plumb_function *f,
                                   plumb_diag *diag) {
  place at = {.p = p, .f = f, .diag = diag};
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

/* --- globals --- */

static plumb_status check_global(const plumb_program *p, const plumb_global *g, plumb_diag *diag) {
  const char *what = NULL;
  if (g->align & (g->align - 1)) what = "its alignment is no power of two";
  for (size_t i = 0; !what && i < g->reloc_count; i++)
    if (g->relocs[i].offset > g->size_bytes || g->size_bytes - g->relocs[i].offset < 8)
      what = "an address in its initialiser does not fit in it";
  if (!what) return PLUMB_OK;
  return plumb_fail(diag, PLUMB_BAD_INPUT, p->name, 0, 0,
                    "the program does not verify: global '%s': %s", g->name, what);
}

plumb_status plumb_program_verify(const plumb_program *p, plumb_diag *diag) {
  for (size_t i = 0; i < p->global_count; i++) PLUMB_TRY(check_global(p, &p->globals[i], diag));
  for (size_t i = 0; i < p->function_count; i++) PLUMB_TRY(check_head(p, p->functions[i], diag));
  for (size_t i = 0; i < p->function_count; i++)
    if (!p->functions[i]->external) PLUMB_TRY(check_function(p, p->functions[i], diag));
  return PLUMB_OK;
}

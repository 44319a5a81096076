/* Stores of one constant by several lanes or blocks, as a flag `found = 1` is set. They are not
 * ordered, but whatever their order, what is there in the end is that constant: PTX describes
 * races of one size (PTX ISA 9.0, 8.7.1), so that this is no race here. A read that is not
 * ordered with them is one. */
#include "targets/cpu/race.h"

/* A move, or the lower bits of an integer: what `inst` gives is its operand, as far as it goes. */
static bool is_copy(const plumb_inst *inst) {
  plumb_dtype to = (plumb_dtype)inst->type, from = (plumb_dtype)inst->type2;
  if (inst->guard != PLUMB_NO_REG) return false;
  if (inst->op == PLUMB_OP_MOV) return true;
  return inst->op == PLUMB_OP_CVT && !plumb_dtype_is_float(to) && !plumb_dtype_is_float(from) &&
         to != PLUMB_I1 && plumb_dtype_bytes(to) < plumb_dtype_bytes(from) &&
         !(inst->flags & (PLUMB_FLAG_SAT | PLUMB_FLAG_NUW | PLUMB_FLAG_NSW));
}

/* The constant that an instruction stores, in one piece; false if it is not plain to see. */
static bool find_constant(const plumb_function *f, const plumb_inst *inst, uint64_t *out) {
  enum { MOVES = 4 };
  if (inst->op != PLUMB_OP_STORE || inst->operands != 2) return false;
  plumb_reg r = plumb_inst_operands(f, inst)[1];
  const plumb_inst *at = inst;
  for (int i = 0; i < MOVES && !plumb_reg_is_const(r); i++) {
    at = plumb_definition_before(f, at, r);
    if (!at || !is_copy(at)) return false;
    r = plumb_inst_operands(f, at)[0];
  }
  unsigned bytes = plumb_dtype_bytes((plumb_dtype)inst->type);
  if (!plumb_reg_is_const(r) || bytes > 8) return false;
  uint64_t bits = f->program->consts[plumb_reg_const_index(r)].bits;
  *out = bytes == 8 ? bits : bits & ((1ull << bytes * 8) - 1);
  return true;
}

bool plumb_stores_one_constant(const plumb_run *run, uint32_t pc, uint32_t other_pc) {
  const plumb_function *f = NULL, *g = NULL;
  const plumb_inst *a = plumb_inst_at(run, pc, &f), *b = plumb_inst_at(run, other_pc, &g);
  uint64_t x, y;
  return a && b && a->op == PLUMB_OP_STORE && b->op == PLUMB_OP_STORE &&
         plumb_dtype_bytes((plumb_dtype)a->type) == plumb_dtype_bytes((plumb_dtype)b->type) &&
         find_constant(f, a, &x) && find_constant(g, b, &y) && x == y;
}

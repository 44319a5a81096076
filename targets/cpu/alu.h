/* The arithmetic of every operation of class ALU (except SREG, which asks the machine).
 * A pure function of the operands, lane by lane: it never traps and never has undefined
 * behaviour. Where the operation is undefined or poison the result is pinned (ops.def)
 * and the caller decides whether that is a trap.
 *
 *     plumb_alu_execute(program, inst, results, operands, 0, lanes);
 *
 * Arrays are contiguous: lane l of an operand lies at index l with the storage size of
 * its type; i1 is a byte 0 or 1. A constant operand is an array like any other (the
 * caller broadcasts it). A result array may be one of the operand arrays, or must not
 * overlap any.
 *
 * Operand types where ops.def leaves room:
 * - BFE, BFI: pos and len are i32. BMSK and SZEXT are i32 throughout.
 * - CLZ, CTZ, POPC, BFIND: the result has the instruction's type.
 * - ADD_CARRY, SUB_BORROW: the third operand and the second result are i1.
 * - MATH POWI and LDEXP: the exponent has type2 where that is i16, i32 or i64, else i32.
 * - REDUCE_ADD, REDUCE_MUL: the third operand is i64 and does not change the value.
 *
 * Results that are NaN are canonical (numerics.md 1, ptx.md 1): 0x7fffffff in f32 and
 * tf32, 0x7fff in f16 and bf16; f64 keeps the payload of the first NaN operand, made
 * quiet. MOV, SELECT, NEG, ABS and COPYSIGN only touch the bits they name.
 */
#ifndef PLUMB_TARGETS_CPU_ALU_H
#define PLUMB_TARGETS_CPU_ALU_H

#include "ir/program.h"

/* Computes lanes [lo, hi). results[i] and operands[i] are the arrays of lane 0 on. The
 * thread's rounding mode is to nearest before and after. */
void plumb_alu_execute(const plumb_program *p, const plumb_inst *inst, void *const *results,
                       const void *const *operands, uint32_t lo, uint32_t hi);

/* False where op, type and sub name a computation that has no defined result here (an
 * unknown VIDEO, a float division of an integer type): the executor reports it as
 * unsupported. plumb_alu_execute then writes zeros. */
bool plumb_alu_supports(const plumb_inst *inst);

#endif

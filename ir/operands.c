#include "ir/operands.h"

#include <string.h>

#include "ir/mma.h"
#include "ir/wgmma.h"

/* --- sizes of operands and results --- */

/* What an operand or a result has to be, one letter each; the last one repeats.
 *   t  the size of `type`      u  of `type2`      e  of the exponent's type (MATH)
 *   b  i1, i8   h  i16   i  i32   l  i64   w  at most 64 bits   x  anything
 *   m, r  the operand and the result of an MBARRIER */
typedef struct signature {
  const char *results, *operands;
} signature;

static const signature signatures[PLUMB_OP_COUNT] = {
    [PLUMB_OP_SELECT] = {"t", "btt"},
    [PLUMB_OP_CMP] = {"b", "u"},
    [PLUMB_OP_CLASSIFY] = {"b", "u"},
    [PLUMB_OP_CVT] = {"t", "u"},
    [PLUMB_OP_CVT_RS] = {"t", "ui"},
    [PLUMB_OP_BFE] = {"t", "tii"},
    [PLUMB_OP_BFI] = {"t", "ttii"},
    [PLUMB_OP_ADD_CARRY] = {"tb", "ttb"},
    [PLUMB_OP_SUB_BORROW] = {"tb", "ttb"},
    [PLUMB_OP_MATH] = {"t", "te"},
    [PLUMB_OP_REDUCE_ADD] = {"t", "ttl"},
    [PLUMB_OP_REDUCE_MUL] = {"t", "ttl"},
    [PLUMB_OP_LOAD] = {"t", "l"},
    [PLUMB_OP_STORE] = {"x", "lt"},
    [PLUMB_OP_ATOMIC] = {"t", "lt"},
    [PLUMB_OP_FENCE] = {"x", "x"},
    [PLUMB_OP_CP_ASYNC] = {"x", "llib"},
    [PLUMB_OP_BULK_COPY] = {"x", "llilh"},
    [PLUMB_OP_TENSOR_COPY] = {"x", "lllh"}, /* then what its rank says */
    [PLUMB_OP_STORE_ASYNC] = {"x", "llt"},
    [PLUMB_OP_ASYNC_GROUP] = {"x", "x"},
    [PLUMB_OP_MBARRIER] = {"r", "lm"},
    [PLUMB_OP_TENSORMAP_REPLACE] = {"x", "l"},
    [PLUMB_OP_MAP_BLOCK] = {"l", "li"},
    [PLUMB_OP_BLOCK_RANK] = {"i", "l"},
    [PLUMB_OP_CLUSTER_BARRIER] = {"x", "x"},
    [PLUMB_OP_WGMMA] = {"i", "blli"}, /* A in registers: four words */
    [PLUMB_OP_WGMMA_GROUP] = {"x", "x"},
    [PLUMB_OP_MMA] = {"x", "x"}, /* fragments: mma_misfit */
    [PLUMB_OP_MATRIX_LOAD] = {"i", "l"},
    [PLUMB_OP_MATRIX_STORE] = {"x", "li"},
    [PLUMB_OP_MATRIX_MOVE] = {"i", "i"},
    [PLUMB_OP_MEMCPY] = {"x", "l"},
    [PLUMB_OP_MEMSET] = {"x", "lbl"},
    [PLUMB_OP_ADDRESS] = {"l", "x"},
    [PLUMB_OP_FRAME] = {"l", "x"},
    [PLUMB_OP_ALLOCA] = {"l", "l"},
    [PLUMB_OP_TO_GENERIC] = {"l", "l"},
    [PLUMB_OP_FROM_GENERIC] = {"l", "l"},
    [PLUMB_OP_IS_SPACE] = {"b", "l"},
    [PLUMB_OP_ALLOC] = {"l", "l"},
    [PLUMB_OP_FREE] = {"x", "l"},
    [PLUMB_OP_BRA] = {"x", "x"},
    [PLUMB_OP_CONDBR] = {"x", "b"},
    [PLUMB_OP_SWITCH] = {"x", "w"},
    [PLUMB_OP_RET] = {"x", "x"}, /* the function's result types */
    [PLUMB_OP_EXIT] = {"x", "x"},
    [PLUMB_OP_CALL] = {"x", "x"}, /* the callee's parameters and result types */
    [PLUMB_OP_CALL_INDIRECT] = {"x", "lx"},
    [PLUMB_OP_TRAP] = {"x", "x"},
    [PLUMB_OP_UNREACHABLE] = {"x", "x"},
    [PLUMB_OP_UNSUPPORTED] = {"x", "x"},
    [PLUMB_OP_BARRIER] = {"w", "iib"},
    [PLUMB_OP_WARP_SYNC] = {"x", "i"},
    [PLUMB_OP_SHFL] = {"tb", "tiii"},
    [PLUMB_OP_VOTE] = {"w", "bi"},
    [PLUMB_OP_MATCH] = {"ib", "ti"},
    [PLUMB_OP_REDUX] = {"t", "ti"},
    [PLUMB_OP_ACTIVEMASK] = {"i", "x"},
    [PLUMB_OP_ELECT] = {"ib", "i"},
    [PLUMB_OP_NANOSLEEP] = {"x", "i"},
    [PLUMB_OP_LAUNCH] = {"x", "lllllllx"}, /* then the kernel's parameters */
    [PLUMB_OP_PRINT] = {"i", "x"},         /* without a format number: two addresses */
};

/* The exponent of POWI and LDEXP: type2 where that is an integer of 16 to 64 bits, else i32. */
static plumb_dtype exponent_type(const plumb_inst *inst) {
  if (inst->sub != PLUMB_MATH_POWI && inst->sub != PLUMB_MATH_LDEXP) return (plumb_dtype)inst->type;
  return inst->type2 == PLUMB_I16 || inst->type2 == PLUMB_I64 ? (plumb_dtype)inst->type2
                                                              : PLUMB_I32;
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

static bool fits(const plumb_function *f, const plumb_inst *inst, plumb_reg r, char letter) {
  unsigned size = plumb_dtype_bytes(plumb_reg_type(f, r));
  switch (letter) {
    case 't':
      return size == plumb_dtype_bytes((plumb_dtype)inst->type);
    case 'u':
      return size == plumb_dtype_bytes((plumb_dtype)inst->type2);
    case 'e':
      return size == plumb_dtype_bytes(exponent_type(inst));
    case 'b':
      return size == 1;
    case 'h':
      return size == 2;
    case 'i':
      return size == 4;
    case 'm':
      return size == plumb_dtype_bytes(mbarrier_operand(inst->sub));
    case 'r':
      return size == plumb_dtype_bytes(mbarrier_result(inst->sub));
    case 'l':
      return size == 8;
    case 'w':
      return size <= 8;
    default:
      return true;
  }
}

static bool all_fit(const plumb_function *f, const plumb_inst *inst, const plumb_reg *regs,
                    size_t count, const char *letters) {
  for (size_t k = 0; k < count; k++) {
    if (!fits(f, inst, regs[k], *letters)) return false;
    if (letters[1]) letters++;
  }
  return true;
}

/* Addresses, blocks, coordinates, offsets. */
static void tensor_letters(const plumb_inst *inst, char out[16]) {
  size_t rank = (size_t)inst->imm & 255;
  memcpy(out, "lllh", 4);
  memset(out + 4, 'i', rank);
  memcpy(out + 4 + rank, "h", 2);
}

/* --- variants --- */

/* An integer operation on integers, a float operation on floats; 16 bytes are exchanged or
 * compared only. */
static bool atomic_ok(plumb_atomic sub, plumb_dtype type) {
  bool is_float = plumb_dtype_is_float(type);
  switch (sub) {
    case PLUMB_ATOMIC_EXCH:
    case PLUMB_ATOMIC_CAS:
      return true;
    case PLUMB_ATOMIC_ADD:
    case PLUMB_ATOMIC_SUB:
    case PLUMB_ATOMIC_MUL:
      return type != PLUMB_I128;
    case PLUMB_ATOMIC_FMIN:
    case PLUMB_ATOMIC_FMAX:
    case PLUMB_ATOMIC_FMINIMUM:
    case PLUMB_ATOMIC_FMAXIMUM:
      return is_float;
    default:
      return sub < PLUMB_ATOMIC_COUNT && !is_float && type != PLUMB_I128;
  }
}

/* A copy (0) or 1 + plumb_atomic. */
static bool reduction_ok(unsigned sub, plumb_dtype type) {
  plumb_atomic atomic = (plumb_atomic)(sub - 1);
  return sub == 0 || (sub <= PLUMB_ATOMIC_COUNT && type != PLUMB_I128 && atomic_ok(atomic, type) &&
                      atomic != PLUMB_ATOMIC_CAS && atomic != PLUMB_ATOMIC_EXCH);
}

/* A reduction gives one value of the predicates; the others give none. */
static bool barrier_ok(const plumb_inst *inst) {
  switch ((plumb_barrier)inst->sub) {
    case PLUMB_BARRIER_SYNC:
    case PLUMB_BARRIER_ARRIVE:
      return inst->operands == 2 && inst->results == 0;
    case PLUMB_BARRIER_RED_POPC:
    case PLUMB_BARRIER_RED_AND:
    case PLUMB_BARRIER_RED_OR:
      return inst->operands == 3 && inst->results == 1;
    default:
      return false;
  }
}

/* A lane exchanges one 32-bit word (PTX ISA 9.7.9.6). */
static bool words_only(const plumb_inst *inst) {
  return plumb_dtype_bytes((plumb_dtype)inst->type) == 4;
}

static bool wgmma_ok(const plumb_inst *inst) {
  plumb_wgmma w = plumb_wgmma_unpack(inst->imm);
  return plumb_wgmma_valid(&w) && inst->imm == plumb_wgmma_pack(&w) &&
         inst->results == plumb_wgmma_regs(&w) && inst->operands == plumb_wgmma_operands(&w);
}

static bool sub_ok(const plumb_inst *inst) {
  switch (inst->op) {
    case PLUMB_OP_SREG:
      return inst->sub < PLUMB_SREG_COUNT && inst->type != PLUMB_I128;
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
      return atomic_ok((plumb_atomic)inst->sub, (plumb_dtype)inst->type) &&
             inst->operands == (inst->sub == PLUMB_ATOMIC_CAS ? 3 : 2);
    case PLUMB_OP_REDUX:
      return reduction_ok(inst->sub + 1u, (plumb_dtype)inst->type);
    case PLUMB_OP_MATCH:
      return inst->sub < 2 && inst->type != PLUMB_I128;
    case PLUMB_OP_MEMCPY:
      return inst->sub < 32;
    case PLUMB_OP_BARRIER:
      return barrier_ok(inst);
    case PLUMB_OP_SHFL:
      return inst->sub < PLUMB_SHFL_COUNT && words_only(inst);
    case PLUMB_OP_VOTE:
      return inst->sub < PLUMB_VOTE_COUNT;
    case PLUMB_OP_PRMT:
      return inst->sub < PLUMB_PRMT_COUNT;
    case PLUMB_OP_FENCE:
      return inst->sub < PLUMB_PROXY_COUNT;
    case PLUMB_OP_ASYNC_GROUP:
      return inst->sub < PLUMB_GROUP_WGMMA_FENCE && inst->imm >= 0;
    case PLUMB_OP_CP_ASYNC:
      return (inst->imm == 4 || inst->imm == 8 || inst->imm == 16) &&
             (inst->operands == 3 || inst->operands == 4);
    case PLUMB_OP_BULK_COPY:
      return reduction_ok(inst->sub, (plumb_dtype)inst->type) && inst->operands >= 3 &&
             inst->operands <= 5;
    case PLUMB_OP_STORE_ASYNC:
      return reduction_ok(inst->sub, (plumb_dtype)inst->type) && inst->operands >= 3 &&
             inst->operands <= 6;
    case PLUMB_OP_TENSOR_COPY:
      return inst->sub <= PLUMB_ATOMIC_COUNT + 1 && inst->imm >> 9 == 0 && (inst->imm & 255) >= 1 &&
             (inst->imm & 255) <= 5 && (inst->imm < 256 || (inst->imm & 255) >= 3) &&
             inst->operands == tensor_operands(inst);
    case PLUMB_OP_MBARRIER:
      return inst->sub < PLUMB_MBARRIER_COUNT && inst->operands == mbarrier_operands(inst->sub) &&
             inst->results == (mbarrier_result(inst->sub) != PLUMB_DTYPE_COUNT);
    case PLUMB_OP_WGMMA_GROUP:
      return inst->sub >= PLUMB_GROUP_WGMMA_FENCE && inst->sub < PLUMB_GROUP_COUNT &&
             inst->imm >= 0;
    case PLUMB_OP_WGMMA:
      return wgmma_ok(inst);
    case PLUMB_OP_MATRIX_LOAD:
      return inst->sub < PLUMB_MATRIX_COUNT &&
             (inst->results == 1 || inst->results == 2 || inst->results == 4);
    case PLUMB_OP_MATRIX_STORE:
      return inst->sub < PLUMB_MATRIX_COUNT &&
             (inst->operands == 2 || inst->operands == 3 || inst->operands == 5);
    case PLUMB_OP_TENSORMAP_REPLACE:
      return inst->sub < PLUMB_TENSORMAP_FIELD_COUNT && inst->imm >= 0 && inst->imm < 5;
    case PLUMB_OP_CLUSTER_BARRIER:
      return inst->sub < 2;
    default:
      return true;
  }
}

static unsigned size_of(const plumb_function *f, plumb_reg r) {
  return plumb_dtype_bytes(plumb_reg_type(f, r));
}

/* Fragments in their order; f64 in registers of 8 bytes, all else in those of 4. */
static const char *mma_misfit(const plumb_function *f, const plumb_inst *inst) {
  plumb_mma mma = plumb_mma_unpack(inst->imm);
  if (!plumb_mma_valid(&mma) || plumb_mma_pack(&mma) != inst->imm)
    return "there is no such shape and types";
  const plumb_reg *operands = plumb_inst_operands(f, inst);
  size_t k = 0;
  for (int which = PLUMB_MMA_A; which <= PLUMB_MMA_C; which++) {
    size_t count = plumb_mma_regs(&mma, (plumb_mma_matrix)which);
    if (k + count > inst->operands) return "too few fragment registers";
    for (size_t i = 0; i < count; i++, k++)
      if (size_of(f, operands[k]) != plumb_mma_reg_bytes(&mma, (plumb_mma_matrix)which))
        return "a fragment register has another size";
  }
  bool sparse = mma.kind == PLUMB_MMA_SPARSE;
  if (inst->operands != k + sparse) return "too many fragment registers";
  if (sparse && size_of(f, operands[k]) != 4) return "the metadata is no i32";
  if (inst->results != plumb_mma_regs(&mma, PLUMB_MMA_D)) return "wrong number of results";
  for (k = 0; k < inst->results; k++)
    if (size_of(f, plumb_inst_results(f, inst)[k]) != plumb_mma_reg_bytes(&mma, PLUMB_MMA_D))
      return "a result has another size";
  return NULL;
}

/* D's registers are the last operands and the results. */
static bool in_place(const plumb_function *f, const plumb_inst *inst) {
  const plumb_reg *results = plumb_inst_results(f, inst);
  const plumb_reg *d = plumb_inst_operands(f, inst) + inst->operands - inst->results;
  return memcmp(results, d, inst->results * sizeof *d) == 0;
}

const char *plumb_inst_misfit(const plumb_function *f, const plumb_inst *inst) {
  const plumb_op_info *info = &plumb_op_table[inst->op];
  if ((info->results >= 0 && inst->results != info->results) ||
      (info->operands >= 0 && inst->operands != info->operands))
    return "wrong number of results or operands";
  if (inst->op == PLUMB_OP_STORE && inst->operands < 2) return "a store needs a value";
  if (inst->op == PLUMB_OP_LOAD && inst->results < 1) return "a load needs a result";
  if (inst->op == PLUMB_OP_LAUNCH && inst->operands < 7) return "a launch needs seven sizes";
  if (inst->op == PLUMB_OP_MMA) return mma_misfit(f, inst);
  if (!sub_ok(inst)) return "its variant does not exist or takes other operands";
  signature s = signatures[inst->op];
  char letters[16];
  if (!s.results) s = (signature){"t", "t"}; /* arithmetic: all of one type */
  if (inst->op == PLUMB_OP_TENSOR_COPY) {
    tensor_letters(inst, letters);
    s.operands = letters;
  }
  if (inst->op == PLUMB_OP_PRINT && inst->imm == -1) s.operands = "l";
  if (inst->op == PLUMB_OP_WGMMA)
    s.operands = plumb_wgmma_unpack(inst->imm).a_regs ? "biiiili" : "blli";
  if (!all_fit(f, inst, plumb_inst_results(f, inst), inst->results, s.results))
    return "a result has another size";
  if (inst->op == PLUMB_OP_WGMMA && !in_place(f, inst)) return "D is not in place";
  if (all_fit(f, inst, plumb_inst_operands(f, inst), inst->operands, s.operands)) return NULL;
  return inst->op == PLUMB_OP_CONDBR ? "the condition is no i1" : "an operand has another size";
}

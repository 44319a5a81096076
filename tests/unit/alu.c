/* The ALU's operations by rows of bits: integers, bit fields, flags and special values.
 * Rounding itself is judged by tests/numerics. */
#include "targets/cpu/alu.h"

#include <string.h>

#include "tests/unit/check.h"

typedef struct row {
  const char *name;
  plumb_op op;
  plumb_dtype type, type2;
  uint8_t sub;
  plumb_round round;
  uint32_t flags;
  int64_t imm;
  uint64_t a, b, c, d;
  uint64_t expected;
} row;

#define OP(o) PLUMB_OP_##o
#define T(t) PLUMB_##t
#define INT(name, o, t, flags, a, b, c, r) \
  {name, OP(o), T(t), T(I1), 0, PLUMB_RN, flags, 0, a, b, c, 0, r}
#define SUB(name, o, t, sub, flags, a, b, c, r) \
  {name, OP(o), T(t), T(I1), sub, PLUMB_RN, flags, 0, a, b, c, 0, r}
#define CMP(name, p, t, a, b, r) \
  {name, OP(CMP), T(I1), T(t), PLUMB_CMP_##p, PLUMB_RN, 0, 0, a, b, 0, 0, r}
#define CVT(name, to, from, mode, flags, a, r) \
  {name, OP(CVT), T(to), T(from), 0, mode, flags, 0, a, 0, 0, 0, r}
#define SIGNED PLUMB_FLAG_SRC_SIGNED
#define CLAMP PLUMB_FLAG_CLAMP
#define FTZ PLUMB_FLAG_FTZ

static const row rows[] = {
    INT("add wraps", ADD, I32, 0, 0xffffffff, 2, 0, 1),
    INT("add.sat high", ADD, I32, PLUMB_FLAG_SAT, 0x7fffffff, 1, 0, 0x7fffffff),
    INT("add.sat low", ADD, I32, PLUMB_FLAG_SAT, 0x80000000, 0xffffffff, 0, 0x80000000),
    INT("sub.sat", SUB, I32, PLUMB_FLAG_SAT, 0x80000000, 1, 0, 0x80000000),
    INT("sub.sat plain", SUB, I32, PLUMB_FLAG_SAT, 5, 7, 0, 0xfffffffe),
    INT("mul i16", MUL, I16, 0, 0xffff, 0xffff, 0, 1),
    INT("mul i64", MUL, I64, 0, 0x100000001, 0x100000001, 0, 0x200000001),
    INT("neg", NEG, I8, 0, 0x80, 0, 0, 0x80),
    INT("abs keeps INT_MIN", ABS, I32, 0, 0x80000000, 0, 0, 0x80000000),
    INT("mulhi_s", MULHI_S, I32, 0, 0xffffffff, 2, 0, 0xffffffff),
    INT("mulhi_u", MULHI_U, I32, 0, 0xffffffff, 2, 0, 1),
    INT("mulhi_u i64", MULHI_U, I64, 0, UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1),
    INT("div_s", DIV_S, I32, 0, (uint32_t)-7, 2, 0, (uint32_t)-3),
    INT("div_s by 0", DIV_S, I32, 0, 7, 0, 0, 0xffffffff),
    INT("div_s MIN/-1", DIV_S, I32, 0, 0x80000000, 0xffffffff, 0, 0x80000000),
    INT("div_s i64 MIN/-1", DIV_S, I64, 0, 1ull << 63, UINT64_MAX, 0, 1ull << 63),
    INT("div_u by 0", DIV_U, I16, 0, 7, 0, 0, 0xffff),
    INT("rem_s", REM_S, I32, 0, (uint32_t)-7, 2, 0, (uint32_t)-1),
    INT("rem_s by 0", REM_S, I32, 0, 7, 0, 0, 7),
    INT("rem_s MIN%-1", REM_S, I64, 0, 1ull << 63, UINT64_MAX, 0, 0),
    INT("floordiv", FLOORDIV_S, I32, 0, (uint32_t)-7, 2, 0, (uint32_t)-4),
    INT("floordiv exact", FLOORDIV_S, I32, 0, (uint32_t)-8, 2, 0, (uint32_t)-4),
    INT("ceildiv", CEILDIV_S, I32, 0, 7, 2, 0, 4),
    INT("ceildiv negative", CEILDIV_S, I32, 0, (uint32_t)-7, 2, 0, (uint32_t)-3),
    INT("min_s", MIN_S, I32, 0, 0xffffffff, 1, 0, 0xffffffff),
    INT("min_u", MIN_U, I32, 0, 0xffffffff, 1, 0, 1),
    INT("not i1", NOT, I1, 0, 1, 0, 0, 0),
    INT("add i1", ADD, I1, 0, 1, 1, 0, 0),
    INT("max_s i1", MAX_S, I1, 0, 1, 0, 0, 0),
    INT("max_u i1", MAX_U, I1, 0, 1, 0, 0, 1),
    INT("shl", SHL, I32, 0, 1, 31, 0, 0x80000000),
    INT("shl beyond", SHL, I32, CLAMP, 1, 32, 0, 0),
    INT("shl i64 beyond", SHL, I64, CLAMP, 1, 64, 0, 0),
    INT("shr_s beyond", SHR_S, I32, CLAMP, 0x80000000, 99, 0, 0xffffffff),
    INT("shr_u", SHR_U, I32, CLAMP, 0x80000000, 31, 0, 1),
    INT("shr_s i8", SHR_S, I8, 0, 0x80, 3, 0, 0xf0),
    INT("funnel_l wrap", FUNNEL_L, I32, 0, 0x80000001, 0x12345678, 36, 0x23456788),
    INT("funnel_l clamp", FUNNEL_L, I32, CLAMP, 0x80000001, 0x12345678, 36, 0x80000001),
    INT("funnel_r", FUNNEL_R, I32, 0, 0x80000001, 0x12345678, 4, 0x88000000),
    INT("funnel_r clamp", FUNNEL_R, I32, CLAMP, 1, 0x12345678, 32, 0x12345678),
    INT("clz", CLZ, I32, 0, 1, 0, 0, 31),
    INT("clz 0", CLZ, I64, 0, 0, 0, 0, 64),
    INT("ctz 0", CTZ, I16, 0, 0, 0, 0, 16),
    INT("popc", POPC, I32, 0, 0xf0f, 0, 0, 8),
    INT("brev", BREV, I32, 0, 1, 0, 0, 0x80000000),
    INT("bfind", BFIND, I32, 0, 0x10, 0, 0, 4),
    INT("bfind 0", BFIND, I32, 0, 0, 0, 0, 0xffffffff),
    INT("bfind signed", BFIND, I32, SIGNED, 0xffffffff, 0, 0, 0xffffffff),
    SUB("bfind shiftamt", BFIND, I32, 1, 0, 0x10, 0, 0, 27),
    INT("bfe", BFE, I32, 0, 0xabcd, 4, 8, 0xbc),
    INT("bfe signed", BFE, I32, SIGNED, 0xabcd, 4, 8, 0xffffffbc),
    INT("bfe length 0", BFE, I32, SIGNED, 0xffffffff, 4, 0, 0),
    INT("bfe off the end", BFE, I32, SIGNED, 0x80000000, 28, 8, 0xfffffff8),
    INT("bfe beyond", BFE, I32, SIGNED, 0x80000000, 40, 8, 0xffffffff),
    {"bfi", OP(BFI), T(I32), T(I1), 0, PLUMB_RN, 0, 0, 0xff, 0, 4, 8, 0xff0},
    {"bfi off the end", OP(BFI), T(I32), T(I1), 0, PLUMB_RN, 0, 0, 0xff, 1, 28, 8, 0xf0000001},
    INT("bmsk", BMSK, I32, 0, 4, 8, 0, 0xff0),
    INT("bmsk to the top", BMSK, I32, 0, 4, 30, 0, 0xfffffff0),
    INT("bmsk clamp", BMSK, I32, CLAMP, 33, 1, 0, 0),
    INT("szext", SZEXT, I32, SIGNED, 0x80, 8, 0, 0xffffff80),
    INT("szext unsigned", SZEXT, I32, 0, 0x1ff, 8, 0, 0xff),
    SUB("prmt", PRMT, I32, PLUMB_PRMT_INDEX, 0, 0x33221100, 0x77665544, 0x7531, 0x77553311),
    SUB("prmt sign", PRMT, I32, PLUMB_PRMT_INDEX, 0, 0x00000080, 0, 0x8888, 0xffffffff),
    SUB("prmt f4e", PRMT, I32, PLUMB_PRMT_F4E, 0, 0x33221100, 0x77665544, 1, 0x44332211),
    SUB("prmt b4e", PRMT, I32, PLUMB_PRMT_B4E, 0, 0x33221100, 0x77665544, 1, 0x66770011),
    {"lop3 a&b^c", OP(LOP3), T(I32), T(I1), 0, PLUMB_RN, 0, (0xf0 & 0xcc) ^ 0xaa, 12, 10, 1, 0, 9},
    INT("sad signed", SAD, I32, SIGNED, 0xffffffff, 1, 10, 12),
    INT("sad unsigned", SAD, I32, 0, 0xffffffff, 1, 10, 8),
    INT("dp4a signed", DP4A, I32, SIGNED | PLUMB_FLAG_SRC2_SIGNED, 0xff02ff02, 0x01010101, 5, 7),
    INT("dp4a unsigned", DP4A, I32, 0, 0xff02ff02, 0x01010101, 5, 519),
    SUB("dp2a high", DP2A, I32, 1, SIGNED, 0xffff0002, 0x05060000, 1, 8),

    CMP("lt_s", LT_S, I32, 0xffffffff, 0, 1),
    CMP("lt_u", LT_U, I32, 0xffffffff, 0, 0),
    CMP("lt_s i1", LT_S, I1, 1, 0, 1),
    CMP("lt_u i1", LT_U, I1, 1, 0, 0),
    CMP("oeq zeros", OEQ, F32, 0, 0x80000000, 1),
    CMP("one nan", ONE, F32, 0x7fc00000, 0, 0),
    CMP("une nan", UNE, F32, 0x7fc00000, 0, 1),
    CMP("ult nan", ULT, F64, 0x7ff8000000000000, 0, 1),
    CMP("ogt f16", OGT, F16, 0x3c00, 0xbc00, 1),
    CMP("num", NUM, BF16, 0x3f80, 0x7fc0, 0),
    CMP("nan", NAN, F32, 0x7f800000, 0x7f800001, 1),

    INT("neg f32", NEG, F32, 0, 0x7fc00001, 0, 0, 0xffc00001),
    INT("abs f16", ABS, F16, 0, 0xbc00, 0, 0, 0x3c00),
    INT("neg ftz", NEG, F32, FTZ, 1, 0, 0, 0x80000000),
    INT("copysign", COPYSIGN, F32, 0, 0x3f800000, 0x80000000, 0, 0xbf800000),
    INT("copysign f64", COPYSIGN, F64, 0, 1ull << 63, 5, 0, 0),
    INT("add nan", ADD, F32, 0, 0xffc12345, 0x3f800000, 0, 0x7fffffff),
    INT("inf - inf", SUB, F32, 0, 0x7f800000, 0x7f800000, 0, 0x7fffffff),
    INT("f64 payload", ADD, F64, 0, 0x7ff0000000000abc, 0, 0, 0x7ff8000000000abc),
    INT("f64 payload of b", MUL, F64, 0, 0, 0xfff8000000000abc, 0, 0xfff8000000000abc),
    INT("f16 nan", MUL, F16, 0, 0x7c00, 0, 0, 0x7fff),
    INT("ftz input", ADD, F32, FTZ, 0x007fffff, 0x807fffff, 0, 0),
    INT("ftz result", MUL, F32, FTZ, 0x80800000, 0x3f000000, 0, 0x80000000),
    INT("no ftz", MUL, F32, 0, 0x00800000, 0x3f000000, 0, 0x00400000),
    INT("ftz_in keeps results", MUL, F32, PLUMB_FLAG_FTZ_IN, 0x00800000, 0x3f000000, 0, 0x00400000),
    INT("ftz f16", ADD, F16, FTZ, 0x0001, 0x0001, 0, 0),
    INT("sat above", ADD, F32, PLUMB_FLAG_SAT, 0x3f800000, 0x3f800000, 0, 0x3f800000),
    INT("sat nan", ADD, F32, PLUMB_FLAG_SAT, 0x7fc00000, 0x3f800000, 0, 0),
    INT("sat below", ADD, F16, PLUMB_FLAG_SAT, 0xbc00, 0xbc00, 0, 0),
    INT("relu", FMA, F16, PLUMB_FLAG_RELU, 0xbc00, 0x3c00, 0, 0),
    INT("relu nan", FMA, BF16, PLUMB_FLAG_RELU, 0x7fc1, 0x3f80, 0, 0x7fff),
    INT("fma once", FMA, F32, 0, 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000),
    INT("fma f16 once", FMA, F16, 0, 0x3c01, 0x3c01, 0xbc02, 0x0010),
    SUB("min drops nan", MIN, F32, PLUMB_NAN_DROP, 0, 0x7fc00000, 0x3f800000, 0, 0x3f800000),
    SUB("min nan", MIN, F32, PLUMB_NAN_PROPAGATE, 0, 0x7fc00000, 0x3f800000, 0, 0x7fffffff),
    SUB("min both nan", MIN, F32, PLUMB_NAN_DROP, 0, 0x7fc00000, 0xffc00001, 0, 0x7fffffff),
    SUB("min zeros", MIN, F32, PLUMB_NAN_DROP, 0, 0, 0x80000000, 0, 0x80000000),
    SUB("max zeros", MAX, F32, PLUMB_NAN_DROP, 0, 0x80000000, 0, 0, 0),
    SUB("max zeros f16", MAX, F16, PLUMB_NAN_DROP, 0, 0x8000, 0, 0, 0),
    SUB("max f64", MAX, F64, PLUMB_NAN_DROP, 0, 0x7ff8000000000000, 0x3ff0000000000000, 0,
        0x3ff0000000000000),
    SUB("min.xorsign.abs", MIN, F32, 0, PLUMB_FLAG_ABS_OP | PLUMB_FLAG_XORSIGN, 0xc0000000,
        0x3f800000, 0, 0xbf800000),
    INT("sqrt -1", SQRT, F32, 0, 0xbf800000, 0, 0, 0x7fffffff),
    INT("sqrt -0", SQRT, F16, 0, 0x8000, 0, 0, 0x8000),
    INT("div by 0", DIV, F32, 0, 0x3f800000, 0x80000000, 0, 0xff800000),
    INT("rem_f", REM_F, F32, 0, 0xc0e00000, 0x40000000, 0, 0xbf800000),
    {"round_int rn", OP(ROUND_INT), T(F32), T(I1), 0, PLUMB_RN, 0, 0, 0x40200000, 0, 0, 0,
     0x40000000},
    {"round_int rna", OP(ROUND_INT), T(F32), T(I1), 0, PLUMB_RNA, 0, 0, 0x40200000, 0, 0, 0,
     0x40400000},
    {"round_int rp -0", OP(ROUND_INT), T(F16), T(I1), 0, PLUMB_RP, 0, 0, 0xb800, 0, 0, 0, 0x8000},
    {"classify subnormal", OP(CLASSIFY), T(I1), T(F32), 0, PLUMB_RN, 0, 1 << 7, 1, 0, 0, 0, 1},
    {"classify quiet", OP(CLASSIFY), T(I1), T(F16), 0, PLUMB_RN, 0, 1 << 1, 0x7e00, 0, 0, 0, 1},
    {"classify signalling", OP(CLASSIFY), T(I1), T(F64), 0, PLUMB_RN, 0, 1, 0x7ff0000000000001, 0,
     0, 0, 1},
    {"select", OP(SELECT), T(F64), T(I1), 0, PLUMB_RN, 0, 0, 1, 7, 8, 0, 7},

    CVT("f32 to s32 nan", I32, F32, PLUMB_RZ, CLAMP | PLUMB_FLAG_DST_SIGNED, 0x7fc00000, 0),
    CVT("f64 to s32 nan", I32, F64, PLUMB_RZ, CLAMP | PLUMB_FLAG_DST_SIGNED, 0x7ff8000000000000,
        0x80000000),
    CVT("f32 to u64 nan", I64, F32, PLUMB_RZ, CLAMP, 0x7fc00000, 1ull << 63),
    CVT("f32 to u32 below", I32, F32, PLUMB_RZ, CLAMP, 0xbf000000, 0),
    CVT("f32 to u8 rni", I8, F32, PLUMB_RN, CLAMP, 0x40200000, 2),
    CVT("f32 to s8 above", I8, F32, PLUMB_RZ, CLAMP | PLUMB_FLAG_DST_SIGNED, 0x44000000, 0x7f),
    CVT("s32 to u8 sat", I8, I32, PLUMB_RN, SIGNED | PLUMB_FLAG_SAT, 0xffffffff, 0),
    CVT("u32 to s8 sat", I8, I32, PLUMB_RN, PLUMB_FLAG_SAT | PLUMB_FLAG_DST_SIGNED, 0xffffffff,
        0x7f),
    CVT("sext i1", I32, I1, PLUMB_RN, SIGNED, 1, 0xffffffff),
    CVT("trunc to i1", I1, I32, PLUMB_RN, 0, 6, 0),
    CVT("sext i8", I64, I8, PLUMB_RN, SIGNED, 0x80, 0xffffffffffffff80),
    CVT("u64 to f32", F32, I64, PLUMB_RN, 0, 0x8000008000000001, 0x5f000001),
    CVT("s32 to f32 rz", F32, I32, PLUMB_RZ, SIGNED, 0x7fffffff, 0x4effffff),
    CVT("f32 sat", F32, F32, PLUMB_RN, PLUMB_FLAG_SAT, 0x7fc00000, 0),
    CVT("f32 to f16 relu", F16, F32, PLUMB_RN, PLUMB_FLAG_RELU, 0xbf800000, 0),
    CVT("f32 to tf32 rna", TF32, F32, PLUMB_RNA, 0, 0x3f801000, 0x3f802000),
    CVT("f32 ftz to f64", F64, F32, PLUMB_RN, FTZ, 0x80000001, 1ull << 63),
    CVT("e2m1 of nan", E2M1, F32, PLUMB_RN, PLUMB_FLAG_SATFINITE, 0xffc00000, 7),
    CVT("e5m2 of inf", E5M2, F32, PLUMB_RN, PLUMB_FLAG_SATFINITE, 0xff800000, 0xfb),

    SUB("rcp -0", APPROX, F32, PLUMB_APPROX_RCP, 0, 0x80000000, 0, 0, 0xff800000),
    SUB("rsqrt -0", APPROX, F32, PLUMB_APPROX_RSQRT, 0, 0x80000000, 0, 0, 0xff800000),
    SUB("rsqrt -1", APPROX, F32, PLUMB_APPROX_RSQRT, 0, 0xbf800000, 0, 0, 0x7fffffff),
    SUB("lg2 -0", APPROX, F32, PLUMB_APPROX_LG2, 0, 0x80000000, 0, 0, 0xff800000),
    SUB("lg2 subnormal ftz", APPROX, F32, PLUMB_APPROX_LG2, FTZ, 1, 0, 0, 0xff800000),
    SUB("ex2 -inf", APPROX, F32, PLUMB_APPROX_EX2, 0, 0xff800000, 0, 0, 0),
    SUB("ex2 ftz", APPROX, F32, PLUMB_APPROX_EX2, FTZ, 0xc3000000, 0, 0, 0),
    SUB("sin inf", APPROX, F32, PLUMB_APPROX_SIN, 0, 0x7f800000, 0, 0, 0x7fffffff),
    SUB("tanh -inf", APPROX, F32, PLUMB_APPROX_TANH, 0, 0xff800000, 0, 0, 0xbf800000),
    SUB("div 2^127", APPROX, F32, PLUMB_APPROX_DIV, 0, 0x3f800000, 0xff000000, 0, 0x80000000),
    SUB("div inf 2^127", APPROX, F32, PLUMB_APPROX_DIV, 0, 0x7f800000, 0x7f000000, 0, 0x7fffffff),
    SUB("div full 2^127", APPROX, F32, PLUMB_APPROX_DIV_FULL, 0, 0x7f000000, 0x7f000000, 0,
        0x3f800000),
    SUB("rcp f64 low word", APPROX, F64, PLUMB_APPROX_RCP_FTZ_F64, 0, 0x40000000ffffffff, 0, 0,
        0x3fe0000000000000),
    SUB("rcp f64 nan", APPROX, F64, PLUMB_APPROX_RCP_FTZ_F64, 0, 0x7ff8000000000000, 0, 0,
        0x7fffffff00000000),
    SUB("exp 0", MATH, F32, PLUMB_MATH_EXP, 0, 0, 0, 0, 0x3f800000),
    SUB("exp 1 f64", MATH, F64, PLUMB_MATH_EXP, 0, 0x3ff0000000000000, 0, 0, 0x4005bf0a8b145769),
    SUB("pow f16", MATH, F16, PLUMB_MATH_POW, 0, 0x4000, 0x4200, 0, 0x4800),
    SUB("powi", MATH, F32, PLUMB_MATH_POWI, 0, 0x40000000, 0xfffffffe, 0, 0x3e800000),
    SUB("ldexp", MATH, F64, PLUMB_MATH_LDEXP, 0, 0x3ff0000000000000, 3, 0, 0x4020000000000000),
    SUB("rsqrt", MATH, F32, PLUMB_MATH_RSQRT, 0, 0x40800000, 0, 0, 0x3f000000),
    INT("reduce_add ignores terms", REDUCE_ADD, F32, 0, 0x3f800000, 0x3f800000, 9, 0x40000000),
    INT("reduce_mul i32", REDUCE_MUL, I32, 0, 3, 4, 9, 12),
};

static plumb_inst instruction(const row *r) {
  plumb_inst inst;
  memset(&inst, 0, sizeof inst);
  inst.op = (uint16_t)r->op;
  inst.type = (uint8_t)r->type;
  inst.type2 = (uint8_t)r->type2;
  inst.sub = r->sub;
  inst.round = (uint8_t)r->round;
  inst.flags = r->flags;
  inst.imm = r->imm;
  inst.guard = PLUMB_NO_REG;
  inst.results = 1;
  int operands = plumb_op_table[r->op].operands;
  if (r->op == OP(MATH)) operands = plumb_math_table[r->sub].arity;
  if (r->op == OP(APPROX)) operands = plumb_approx_table[r->sub].arity;
  inst.operands = (uint16_t)operands;
  return inst;
}

/* The storage type of an operand, as alu.h says. */
static plumb_dtype operand_type(const row *r, int i) {
  bool source = r->op == OP(CVT) || r->op == OP(CMP) || r->op == OP(CLASSIFY);
  if (source) return r->type2;
  if (r->op == OP(SELECT) && i == 0) return T(I1);
  if ((r->op == OP(BFE) && i > 0) || (r->op == OP(BFI) && i > 1)) return T(I32);
  if ((r->op == OP(REDUCE_ADD) || r->op == OP(REDUCE_MUL)) && i == 2) return T(I64);
  if (r->op == OP(MATH) && i == 1 && (r->sub == PLUMB_MATH_POWI || r->sub == PLUMB_MATH_LDEXP))
    return T(I32);
  return r->type;
}

/* Each row in 37 lanes, of which 2 to 34 are computed: vector bodies and tails. */
enum { COUNT = 37, LO = 2, HI = 35 };

static void check_row(const row *r) {
  static uint8_t operands[4][COUNT * 8], result[COUNT * 8];
  const uint64_t values[4] = {r->a, r->b, r->c, r->d};
  plumb_inst inst = instruction(r);
  for (int i = 0; i < 4; i++) {
    unsigned bytes = plumb_dtype_bytes(operand_type(r, i));
    for (size_t l = 0; l < COUNT; l++) memcpy(operands[i] + l * bytes, &values[i], bytes);
  }
  unsigned bytes = plumb_dtype_bytes(r->type);
  memset(result, 0xa5, sizeof result);
  plumb_alu_execute(NULL, &inst, (void *[]){result},
                    (const void *[]){operands[0], operands[1], operands[2], operands[3]}, LO, HI);
  CHECK(plumb_alu_supports(&inst), "%s", r->name);
  for (size_t l = 0; l < COUNT; l++) {
    uint64_t actual = 0, wanted = r->expected;
    memcpy(&actual, result + l * bytes, bytes);
    if (l < LO || l >= HI) memset(&wanted, 0, 8), memset(&wanted, 0xa5, bytes);
    if (actual != wanted || l == LO)
      CHECK(actual == wanted, "%s, lane %zu: %llx, not %llx", r->name, l,
            (unsigned long long)actual, (unsigned long long)wanted);
  }
}

static void check_carry(void) {
  plumb_inst inst = {.op = OP(ADD_CARRY), .type = T(I32), .results = 2, .operands = 3};
  uint32_t a[2] = {0xffffffff, 5}, b[2] = {0, 6}, sum[2];
  uint8_t in[2] = {1, 0}, out[2];
  plumb_alu_execute(NULL, &inst, (void *[]){sum, out}, (const void *[]){a, b, in}, 0, 2);
  CHECK(sum[0] == 0 && out[0] == 1 && sum[1] == 11 && out[1] == 0, "%x %d", sum[0], out[0]);
  inst.op = OP(SUB_BORROW);
  plumb_alu_execute(NULL, &inst, (void *[]){sum, out}, (const void *[]){b, a, in}, 0, 2);
  CHECK(sum[0] == 0 && out[0] == 1 && sum[1] == 1 && out[1] == 0, "%x %d", sum[0], out[0]);
}

static void check_i128(void) {
  typedef unsigned __int128 wide;
  wide a = (wide)7 << 100, b = 3, r;
  plumb_inst inst = {.op = OP(MUL), .type = T(I128), .results = 1, .operands = 2};
  plumb_alu_execute(NULL, &inst, (void *[]){&r}, (const void *[]){&a, &b}, 0, 1);
  CHECK(r == (wide)21 << 100, "mul");
  inst.op = OP(SHR_S);
  a = (wide)1 << 127;
  b = 200;
  plumb_alu_execute(NULL, &inst, (void *[]){&r}, (const void *[]){&a, &b}, 0, 1);
  CHECK(r == ~(wide)0, "shr_s");
  inst.op = OP(MULHI_S);
  a = ~(wide)0;
  b = 5;
  plumb_alu_execute(NULL, &inst, (void *[]){&r}, (const void *[]){&a, &b}, 0, 1);
  CHECK(r == ~(wide)0, "mulhi_s");
  inst.op = OP(CVT);
  inst.type2 = T(I64);
  inst.operands = 1;
  inst.flags = PLUMB_FLAG_SRC_SIGNED;
  int64_t minus = -5;
  plumb_alu_execute(NULL, &inst, (void *[]){&r}, (const void *[]){&minus}, 0, 1);
  CHECK(r == (wide)0 - 5, "sext");
  inst.type = T(F64);
  inst.type2 = T(I128);
  double d;
  a = (wide)0 - ((wide)1 << 90);
  plumb_alu_execute(NULL, &inst, (void *[]){&d}, (const void *[]){&a}, 0, 1);
  CHECK(d == -0x1p90, "to f64: %a", d);
}

/* x = x + y: the result array is an operand array. */
static void check_in_place(void) {
  float x[COUNT], y[COUNT];
  for (int l = 0; l < COUNT; l++) x[l] = (float)l, y[l] = 1;
  plumb_inst inst = {.op = OP(ADD), .type = T(F32), .results = 1, .operands = 2};
  plumb_alu_execute(NULL, &inst, (void *[]){x}, (const void *[]){x, y}, 0, COUNT);
  for (int l = 0; l < COUNT; l++) CHECK(x[l] == (float)(l + 1), "lane %d: %g", l, (double)x[l]);
}

static void check_unsupported(void) {
  plumb_inst video = {.op = OP(VIDEO), .type = T(I32), .results = 1, .operands = 3};
  plumb_inst shift = {.op = OP(SHL), .type = T(F32), .results = 1, .operands = 2};
  plumb_inst sreg = {.op = OP(SREG), .type = T(I32), .results = 1};
  CHECK(!plumb_alu_supports(&video), "video");
  CHECK(!plumb_alu_supports(&shift), "shl of floats");
  CHECK(!plumb_alu_supports(&sreg), "sreg is the machine's");
  uint32_t r = 5, zero = 0;
  plumb_alu_execute(NULL, &video, (void *[]){&r}, (const void *[]){&zero, &zero, &zero}, 0, 1);
  CHECK(r == 0, "an unsupported result is zero");
}

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
  check_carry();
  check_i128();
  check_in_place();
  check_unsupported();
  return check_finish();
}

/* 8- and 16-bit operations of two operands, every pair of operands, against a model that
 * shares nothing with the ALU: integers in 64 bits; halves as doubles, in which sums and
 * products of two are exact (or, bf16 far apart, round to the larger one as they must),
 * rounded once by integer arithmetic on the double's bits.
 *
 *     exhaustive              every 4099th first operand of 16 bits: seconds
 *     PLUMB_NUMERICS_LONG=1 exhaustive [OP]    all of them: minutes an operation */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "targets/cpu/alu.h"
#include "tests/unit/check.h"

enum { ALL = 65536 };
static uint16_t first[ALL], second[ALL], actual[ALL], wanted[ALL];
static uint8_t actual_bit[ALL];
static double value_of[2][ALL]; /* f16, bf16 */

typedef struct half {
  int exponent_bits, fraction_bits;
} half;
static const half halves[2] = {{5, 10}, {8, 7}};

static double decode(const half *h, uint32_t bits) {
  int bias = (1 << (h->exponent_bits - 1)) - 1, top = (1 << h->exponent_bits) - 1;
  int exponent = (int)(bits >> h->fraction_bits) & top;
  uint32_t fraction = bits & ((1u << h->fraction_bits) - 1);
  double v = exponent == top ? (fraction ? (double)NAN : (double)INFINITY)
             : exponent
                 ? ldexp(fraction | 1u << h->fraction_bits, exponent - bias - h->fraction_bits)
                 : ldexp(fraction, 1 - bias - h->fraction_bits);
  return bits >> 15 ? -v : v;
}

/* To nearest, ties to even. */
static uint16_t encode(const half *h, double v) {
  uint64_t bits;
  int bias = (1 << (h->exponent_bits - 1)) - 1, top = (1 << h->exponent_bits) - 1;
  memcpy(&bits, &v, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  if (v != v) return 0x7fff;
  bits &= INT64_MAX;
  if (bits == 0) return sign;
  int exponent = (int)(bits >> 52) - 1023;
  uint64_t significand = (bits & ((1ull << 52) - 1)) | 1ull << 52;
  uint16_t infinity = (uint16_t)(sign | top << h->fraction_bits);
  if (exponent > bias) return infinity;
  int shift = 52 - h->fraction_bits;
  if (exponent < 1 - bias) shift += 1 - bias - exponent;
  if (shift > 62) return sign;
  uint64_t kept = significand >> shift, rest = significand & ((1ull << shift) - 1);
  uint64_t tie = 1ull << (shift - 1);
  kept += rest > tie || (rest == tie && (kept & 1));
  if (exponent >= 1 - bias) kept += (uint64_t)(exponent + bias - 1) << h->fraction_bits;
  return kept >= (uint64_t)top << h->fraction_bits ? infinity : (uint16_t)(sign | kept);
}

static bool is_zero(double v) {
  return v == 0;
}

/* -0 < +0; a NaN gives the other operand, or with `propagate` NaN. */
static uint16_t extreme(const half *h, int type, uint16_t a, uint16_t b, bool maximum,
                        bool propagate) {
  double x = value_of[type][a], y = value_of[type][b];
  (void)h;
  if (x != x && y != y) return 0x7fff;
  if (x != x || y != y) return propagate ? 0x7fff : x != x ? b : a;
  if (is_zero(x) && is_zero(y)) return maximum ? a & b : a | b;
  return (x < y) == maximum ? b : a;
}

#define EACH(expression) \
  for (uint32_t i = 0; i < ALL; i++) { \
    uint16_t a = first[i], b = second[i]; \
    int16_t sa = (int16_t)a, sb = (int16_t)b; \
    (void)sa, (void)sb; \
    wanted[i] = (uint16_t)(expression); \
  } \
  return

static void integer_model(plumb_op op) {
  switch (op) {
    case PLUMB_OP_ADD:
      EACH(a + b);
    case PLUMB_OP_SUB:
      EACH(a - b);
    case PLUMB_OP_MUL:
      EACH((uint32_t)a * b);
    case PLUMB_OP_MULHI_U:
      EACH((uint32_t)a * b >> 16);
    case PLUMB_OP_MULHI_S:
      EACH((int32_t)sa * sb >> 16);
    case PLUMB_OP_DIV_U:
      EACH(b ? a / b : 0xffff);
    case PLUMB_OP_DIV_S:
      EACH(sb ? (int32_t)sa / sb : -1);
    case PLUMB_OP_REM_U:
      EACH(b ? a % b : a);
    case PLUMB_OP_REM_S:
      EACH(sb ? (int32_t)sa % sb : sa);
    case PLUMB_OP_MIN_U:
      EACH(a < b ? a : b);
    case PLUMB_OP_MAX_U:
      EACH(a > b ? a : b);
    case PLUMB_OP_MIN_S:
      EACH(sa < sb ? sa : sb);
    case PLUMB_OP_MAX_S:
      EACH(sa > sb ? sa : sb);
    case PLUMB_OP_AND:
      EACH(a & b);
    case PLUMB_OP_OR:
      EACH(a | b);
    case PLUMB_OP_XOR:
      EACH(a ^ b);
    case PLUMB_OP_SHL:
      EACH(b > 15 ? 0 : a << b);
    case PLUMB_OP_SHR_U:
      EACH(b > 15 ? 0 : a >> b);
    default: /* SHR_S */
      EACH(sa >> (b > 15 ? 15 : b));
  }
}

static void half_model(plumb_op op, int type, bool propagate) {
  const half *h = &halves[type];
  const double *v = value_of[type];
  switch (op) {
    case PLUMB_OP_ADD:
      EACH(encode(h, v[a] + v[b]));
    case PLUMB_OP_SUB:
      EACH(encode(h, v[a] - v[b]));
    case PLUMB_OP_MUL:
      EACH(encode(h, v[a] * v[b]));
    case PLUMB_OP_MIN:
      EACH(extreme(h, type, a, b, false, propagate));
    default: /* MAX */
      EACH(extreme(h, type, a, b, true, propagate));
  }
}

typedef struct row {
  const char *name;
  plumb_op op;
  plumb_dtype type;
  uint8_t sub;
} row;

#define INTEGER(name, op) {name, PLUMB_OP_##op, PLUMB_I16, 0}
#define HALF(name, op, sub) \
  {name ".f16", PLUMB_OP_##op, PLUMB_F16, sub}, { \
    name ".bf16", PLUMB_OP_##op, PLUMB_BF16, sub \
  }
static const row rows[] = {INTEGER("add.i16", ADD),
                           INTEGER("sub.i16", SUB),
                           INTEGER("mul.lo.i16", MUL),
                           INTEGER("mul.hi.u16", MULHI_U),
                           INTEGER("mul.hi.s16", MULHI_S),
                           INTEGER("div.u16", DIV_U),
                           INTEGER("div.s16", DIV_S),
                           INTEGER("rem.u16", REM_U),
                           INTEGER("rem.s16", REM_S),
                           INTEGER("min.u16", MIN_U),
                           INTEGER("max.u16", MAX_U),
                           INTEGER("min.s16", MIN_S),
                           INTEGER("max.s16", MAX_S),
                           INTEGER("and.b16", AND),
                           INTEGER("or.b16", OR),
                           INTEGER("xor.b16", XOR),
                           INTEGER("shl.b16", SHL),
                           INTEGER("shr.u16", SHR_U),
                           INTEGER("shr.s16", SHR_S),
                           HALF("add", ADD, 0),
                           HALF("sub", SUB, 0),
                           HALF("mul", MUL, 0),
                           HALF("min", MIN, PLUMB_NAN_DROP),
                           HALF("max", MAX, PLUMB_NAN_DROP),
                           HALF("min.NaN", MIN, PLUMB_NAN_PROPAGATE),
                           HALF("max.NaN", MAX, PLUMB_NAN_PROPAGATE)};

static plumb_inst instruction(plumb_op op, plumb_dtype type) {
  return (plumb_inst){.op = (uint16_t)op,
                      .type = (uint8_t)type,
                      .results = 1,
                      .operands = 2,
                      .guard = PLUMB_NO_REG,
                      .flags = PLUMB_FLAG_CLAMP};
}

static void set_first(uint32_t a) {
  for (uint32_t i = 0; i < ALL; i++) first[i] = (uint16_t)a, second[i] = (uint16_t)i;
}

static void check_row(const row *r, uint32_t step) {
  plumb_inst inst = instruction(r->op, r->type);
  inst.sub = r->sub;
  if (r->type != PLUMB_I16) inst.flags = 0;
  for (uint32_t a = 0; a < ALL; a += step) {
    set_first(a);
    plumb_alu_execute(NULL, &inst, (void *[]){actual}, (const void *[]){first, second}, 0, ALL);
    if (r->type == PLUMB_I16)
      integer_model(r->op);
    else
      half_model(r->op, r->type == PLUMB_BF16, r->sub == PLUMB_NAN_PROPAGATE);
    for (uint32_t i = 0; i < ALL; i++)
      if (actual[i] != wanted[i] || (i == 0 && a == 0))
        CHECK(actual[i] == wanted[i], "%s %04x %04x gives %04x, not %04x", r->name, a, i, actual[i],
              wanted[i]);
  }
}

/* --- comparisons --- */

static bool compare_integer(plumb_cmp cmp, uint16_t a, uint16_t b) {
  int16_t sa = (int16_t)a, sb = (int16_t)b;
  switch (cmp) {
    case PLUMB_CMP_EQ:
      return a == b;
    case PLUMB_CMP_NE:
      return a != b;
    case PLUMB_CMP_LT_S:
      return sa < sb;
    case PLUMB_CMP_LE_S:
      return sa <= sb;
    case PLUMB_CMP_GT_S:
      return sa > sb;
    case PLUMB_CMP_GE_S:
      return sa >= sb;
    case PLUMB_CMP_LT_U:
      return a < b;
    case PLUMB_CMP_LE_U:
      return a <= b;
    case PLUMB_CMP_GT_U:
      return a > b;
    default:
      return a >= b;
  }
}

static bool compare_half(plumb_cmp cmp, double x, double y) {
  bool nan = x != x || y != y;
  switch (cmp) {
    case PLUMB_CMP_OEQ:
    case PLUMB_CMP_UEQ:
      return nan ? cmp == PLUMB_CMP_UEQ : x == y;
    case PLUMB_CMP_ONE:
    case PLUMB_CMP_UNE:
      return nan ? cmp == PLUMB_CMP_UNE : x != y;
    case PLUMB_CMP_OLT:
    case PLUMB_CMP_ULT:
      return nan ? cmp == PLUMB_CMP_ULT : x < y;
    case PLUMB_CMP_OLE:
    case PLUMB_CMP_ULE:
      return nan ? cmp == PLUMB_CMP_ULE : x <= y;
    case PLUMB_CMP_OGT:
    case PLUMB_CMP_UGT:
      return nan ? cmp == PLUMB_CMP_UGT : x > y;
    case PLUMB_CMP_OGE:
    case PLUMB_CMP_UGE:
      return nan ? cmp == PLUMB_CMP_UGE : x >= y;
    case PLUMB_CMP_NUM:
      return !nan;
    default:
      return nan;
  }
}

static void check_compare(plumb_cmp cmp, plumb_dtype type, uint32_t step) {
  plumb_inst inst = instruction(PLUMB_OP_CMP, PLUMB_I1);
  inst.type2 = (uint8_t)type;
  inst.sub = (uint8_t)cmp;
  inst.flags = 0;
  const double *v = value_of[type == PLUMB_BF16];
  for (uint32_t a = 0; a < ALL; a += step) {
    set_first(a);
    plumb_alu_execute(NULL, &inst, (void *[]){actual_bit}, (const void *[]){first, second}, 0, ALL);
    for (uint32_t i = 0; i < ALL; i++) {
      bool want = type == PLUMB_I16 ? compare_integer(cmp, (uint16_t)a, (uint16_t)i)
                                    : compare_half(cmp, v[a], v[i]);
      if (actual_bit[i] != want || (i == 0 && a == 0))
        CHECK(actual_bit[i] == want, "setp %s %s %04x %04x gives %d", plumb_cmp_texts[cmp],
              plumb_dtype_table[type].text, a, i, actual_bit[i]);
    }
  }
}

/* The four bytes of .u8x4 and .s8x4: every pair. */
static void check_bytes(void) {
  static const plumb_op ops[] = {PLUMB_OP_ADD,   PLUMB_OP_SUB,   PLUMB_OP_MIN_S,
                                 PLUMB_OP_MAX_S, PLUMB_OP_MIN_U, PLUMB_OP_MAX_U};
  static uint8_t a[ALL], b[ALL], r[ALL];
  for (uint32_t i = 0; i < ALL; i++) a[i] = (uint8_t)i, b[i] = (uint8_t)(i >> 8);
  for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
    plumb_inst inst = instruction(ops[o], PLUMB_I8);
    plumb_alu_execute(NULL, &inst, (void *[]){r}, (const void *[]){a, b}, 0, ALL);
    for (uint32_t i = 0; i < ALL; i++) {
      int8_t x = (int8_t)a[i], y = (int8_t)b[i];
      int want = ops[o] == PLUMB_OP_ADD     ? x + y
                 : ops[o] == PLUMB_OP_SUB   ? x - y
                 : ops[o] == PLUMB_OP_MIN_S ? (x < y ? x : y)
                 : ops[o] == PLUMB_OP_MAX_S ? (x > y ? x : y)
                 : ops[o] == PLUMB_OP_MIN_U ? (a[i] < b[i] ? a[i] : b[i])
                                            : (a[i] > b[i] ? a[i] : b[i]);
      if (r[i] != (uint8_t)want || i == 0)
        CHECK(r[i] == (uint8_t)want, "%s.i8 %02x %02x gives %02x", plumb_op_table[ops[o]].mnemonic,
              a[i], b[i], r[i]);
    }
  }
}

int main(int argc, char **argv) {
  uint32_t step = getenv("PLUMB_NUMERICS_LONG") ? 1 : 4099;
  for (int t = 0; t < 2; t++)
    for (uint32_t i = 0; i < ALL; i++) value_of[t][i] = decode(&halves[t], i);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (argc > 1 && strcmp(argv[1], rows[i].name) != 0) continue;
    check_row(&rows[i], step);
    if (step == 1) printf("%s: every pair\n", rows[i].name), fflush(stdout);
  }
  if (argc > 1 && strcmp(argv[1], "setp") != 0) return check_finish();
  for (int cmp = PLUMB_CMP_EQ; cmp <= PLUMB_CMP_GE_U; cmp++)
    check_compare((plumb_cmp)cmp, PLUMB_I16, step);
  for (int cmp = PLUMB_CMP_OEQ; cmp <= PLUMB_CMP_NAN; cmp++) {
    check_compare((plumb_cmp)cmp, PLUMB_F16, step);
    check_compare((plumb_cmp)cmp, PLUMB_BF16, step);
  }
  if (step == 1) printf("setp: every pair\n");
  check_bytes();
  return check_finish();
}

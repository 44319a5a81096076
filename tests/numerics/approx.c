/* Approximate PTX instructions: the error that their pages document, against MPFR, over
 * every exponent and at random (halves: every input), that floats of one operand are the
 * nearest ones, and the tables of special values
 * (PTX ISA 9.0, 9.7.3.8 to 9.7.3.23 and 9.7.4.9, 9.7.4.10).
 * PLUMB_NUMERICS_LONG=1: a million random inputs each. */
#include <math.h>
#include <stdlib.h>

#include "tests/numerics/oracle.h"

typedef enum measure { ULP, RELATIVE, ABSOLUTE, LG2, SINE } measure;

typedef struct row {
  plumb_approx which;
  plumb_dtype type;
  measure measure;
  double bound; /* ulps, or log2 of the error */
} row;

static const row rows[] = {
    {PLUMB_APPROX_RCP, PLUMB_F32, ULP, 1},
    {PLUMB_APPROX_DIV, PLUMB_F32, ULP, 2},
    {PLUMB_APPROX_DIV_FULL, PLUMB_F32, ULP, 2},
    {PLUMB_APPROX_SQRT, PLUMB_F32, RELATIVE, -23},
    {PLUMB_APPROX_RSQRT, PLUMB_F32, RELATIVE, -22.9},
    {PLUMB_APPROX_EX2, PLUMB_F32, ULP, 2},
    {PLUMB_APPROX_LG2, PLUMB_F32, LG2, -22},
    {PLUMB_APPROX_SIN, PLUMB_F32, SINE, 0},
    {PLUMB_APPROX_COS, PLUMB_F32, SINE, 0},
    {PLUMB_APPROX_TANH, PLUMB_F32, RELATIVE, -11},
    {PLUMB_APPROX_EX2, PLUMB_F16, RELATIVE, -9.9},
    {PLUMB_APPROX_EX2, PLUMB_BF16, RELATIVE, -7},
    {PLUMB_APPROX_TANH, PLUMB_F16, ABSOLUTE, -10.987},
    {PLUMB_APPROX_TANH, PLUMB_BF16, ABSOLUTE, -8},
};

enum { CHUNK = 65536 };
static uint8_t operand[2][CHUNK * 4], result[CHUNK * 4];

static uint64_t get(const uint8_t *array, plumb_dtype t, size_t i) {
  uint64_t bits = 0;
  memcpy(&bits, array + i * plumb_dtype_bytes(t), plumb_dtype_bytes(t));
  return bits;
}

static void exact(mpfr_t r, plumb_approx which, const mpfr_t a, const mpfr_t b) {
  switch (which) {
    case PLUMB_APPROX_RCP:
      mpfr_ui_div(r, 1, a, MPFR_RNDN);
      break;
    case PLUMB_APPROX_DIV:
    case PLUMB_APPROX_DIV_FULL:
      mpfr_div(r, a, b, MPFR_RNDN);
      break;
    case PLUMB_APPROX_SQRT:
      mpfr_sqrt(r, a, MPFR_RNDN);
      break;
    case PLUMB_APPROX_RSQRT:
      mpfr_rec_sqrt(r, a, MPFR_RNDN);
      break;
    case PLUMB_APPROX_EX2:
      mpfr_exp2(r, a, MPFR_RNDN);
      break;
    case PLUMB_APPROX_LG2:
      mpfr_log2(r, a, MPFR_RNDN);
      break;
    case PLUMB_APPROX_SIN:
      mpfr_sin(r, a, MPFR_RNDN);
      break;
    case PLUMB_APPROX_COS:
      mpfr_cos(r, a, MPFR_RNDN);
      break;
    default:
      mpfr_tanh(r, a, MPFR_RNDN);
      break;
  }
}

/* What the page allows at this input; infinite where it promises nothing. */
static double allowed(const row *r, double a, double b, double truth) {
  const plumb_dtype_info *info = &plumb_dtype_table[r->type];
  int least = 2 - (1 << (info->exponent_bits - 1));
  int e = truth == 0 || ilogb(truth) < least ? least : ilogb(truth);
  double ulp = ldexp(1, e - info->fraction_bits), x = fabs(a);
  switch (r->measure) {
    case ULP:
      if (r->which == PLUMB_APPROX_DIV && !(fabs(b) >= 0x1p-126 && fabs(b) <= 0x1p126))
        return (double)INFINITY;
      return r->bound * ulp;
    case RELATIVE: /* a subnormal result has no more than its unit */
      return fmax(exp2(r->bound) * fabs(truth), e == least ? ulp : 0);
    case ABSOLUTE:
      return exp2(r->bound);
    case LG2:
      return exp2(r->bound) * (a > 0.5 && a < 2 ? 1 : fabs(truth));
    default:
      return x <= 2 * M_PI ? exp2(-20.5) : x <= 100 * M_PI ? exp2(-14.7) : (double)INFINITY;
  }
}

/* Most values at an end of the error are others than the nearest, and they lie on both sides.
 * Some operands have no other in reach: where the error is about an ulp, and near cos 0. */
static void check_edge(const row *r, size_t above, size_t below, size_t normal) {
  bool near = r->which == PLUMB_APPROX_SQRT || r->which == PLUMB_APPROX_RCP ||
              r->which == PLUMB_APPROX_RSQRT || r->which == PLUMB_APPROX_COS ||
              r->type != PLUMB_F32;
  size_t least = normal / (near ? 16 : 3);
  CHECK(above > least && below > least, "%s.%s: of %zu values at an end %zu are above, %zu below",
        plumb_approx_table[r->which].text, plumb_dtype_table[r->type].text, normal, above, below);
}

static void check_chunk(const row *r, size_t count, bool edge) {
  plumb_inst inst;
  int arity = plumb_approx_table[r->which].arity;
  oracle_inst(&inst, PLUMB_OP_APPROX, r->type, arity);
  inst.sub = (uint8_t)r->which;
  inst.imm = edge;
  size_t above = 0, below = 0, normal = 0;
  plumb_alu_execute(NULL, &inst, (void *[]){result}, (const void *[]){operand[0], operand[1]}, 0,
                    (uint32_t)count);
  mpfr_t a, b, t;
  mpfr_inits2(80, a, b, t, (mpfr_ptr)0);
  for (size_t i = 0; i < count; i++) {
    double x = plumb_dtype_to_double(r->type, get(operand[0], r->type, i));
    double y = arity > 1 ? plumb_dtype_to_double(r->type, get(operand[1], r->type, i)) : 1;
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    exact(t, r->which, a, b);
    double truth = mpfr_get_d(t, MPFR_RNDN);
    double got = plumb_dtype_to_double(r->type, get(result, r->type, i));
    double most = plumb_dtype_to_double(r->type, r->type == PLUMB_F16    ? 0x7bff
                                                 : r->type == PLUMB_BF16 ? 0x7f7f
                                                                         : 0x7f7fffff);
    bool ok;
    if (isnan(truth) || isnan(x) || isnan(y))
      ok = isnan(got) || isinf(allowed(r, x, y, 0));
    else if (fabs(truth) > most)
      ok = isinf(got) || fabs(got) == most || isinf(allowed(r, x, y, 1));
    else
      ok = fabs(got - truth) <= allowed(r, x, y, truth);
    if (!ok || i == 0)
      CHECK(ok, "%s.%s%s of %a, %a gives %a, not %a", plumb_approx_table[r->which].text,
            plumb_dtype_table[r->type].text, edge ? " at an end" : "", x, y, got, truth);
    bool nearest = edge || r->type != PLUMB_F32 || arity > 1 || !isfinite(truth) ||
                   got == (double)mpfr_get_flt(t, MPFR_RNDN);
    if (!nearest)
      CHECK(nearest, "%s of %a gives %a, not %a, the nearest of %a",
            plumb_approx_table[r->which].text, x, got, (double)mpfr_get_flt(t, MPFR_RNDN), truth);
    double error = allowed(r, x, y, truth);
    normal += isfinite(error) && fabs(truth) < most && fabs(truth) > 0x1p-13;
    above += isfinite(error) && got - truth > error * 0.3;
    below += isfinite(error) && truth - got > error * 0.3;
  }
  if (edge) check_edge(r, above, below, normal);
  mpfr_clears(a, b, t, (mpfr_ptr)0);
}

static uint32_t random_f32(plumb_approx which) {
  uint32_t bits = (uint32_t)(oracle_random() >> 32);
  /* where the function is neither 0 nor infinite, half of the time */
  bool bounded = which == PLUMB_APPROX_EX2 || which == PLUMB_APPROX_SIN ||
                 which == PLUMB_APPROX_COS || which == PLUMB_APPROX_TANH;
  if (bounded && oracle_random() >> 63)
    bits = (bits & 0x80ffffff) | 0x3c000000 | (bits & 0x3000000);
  return bits;
}

static void check_row(const row *r, size_t random) {
  if (r->type != PLUMB_F32) {
    for (uint32_t i = 0; i < CHUNK; i++) memcpy(operand[0] + 2 * i, &i, 2);
    for (int edge = 0; edge < 2; edge++) check_chunk(r, CHUNK, edge);
    return;
  }
  for (size_t done = 0; done < random + CHUNK; done += CHUNK) {
    for (uint32_t i = 0; i < CHUNK; i++) {
      uint32_t a = random_f32(r->which), b = random_f32(r->which);
      if (done == 0) { /* every exponent and sign with edge fractions */
        static const uint32_t fractions[] = {0, 1, 0x7fffff, 0x400000, 0x3504f3, 0x2aaaaa};
        a = (i % 512) << 23 | fractions[i / 512 % 6];
        b = (uint32_t)(i * 2654435761u) & 0xff800000u;
      }
      memcpy(operand[0] + 4 * i, &a, 4);
      memcpy(operand[1] + 4 * i, &b, 4);
    }
    for (int edge = 0; edge < 2; edge++) check_chunk(r, CHUNK, edge);
  }
}

/* --- the tables --- */

typedef struct special {
  plumb_approx which;
  bool ftz;
  uint32_t input, output;
} special;

#define INF 0x7f800000u
#define MINUS 0x80000000u
#define ONE 0x3f800000u
#define NOT_A_NUMBER 0x7fffffffu
static const special specials[] = {
    {PLUMB_APPROX_RCP, false, MINUS | INF, MINUS},
    {PLUMB_APPROX_RCP, false, MINUS, MINUS | INF},
    {PLUMB_APPROX_RCP, false, 0, INF},
    {PLUMB_APPROX_RCP, false, INF, 0},
    {PLUMB_APPROX_RCP, false, NOT_A_NUMBER, NOT_A_NUMBER},
    {PLUMB_APPROX_RCP, true, MINUS | 1, MINUS | INF},
    {PLUMB_APPROX_RCP, true, 0x7fffff, INF},
    {PLUMB_APPROX_RCP, true, 0x7f000000, 0}, /* 2^-127 is subnormal */
    {PLUMB_APPROX_SQRT, false, MINUS | INF, NOT_A_NUMBER},
    {PLUMB_APPROX_SQRT, false, MINUS | ONE, NOT_A_NUMBER},
    {PLUMB_APPROX_SQRT, false, MINUS, MINUS},
    {PLUMB_APPROX_SQRT, false, 0, 0},
    {PLUMB_APPROX_SQRT, false, INF, INF},
    {PLUMB_APPROX_SQRT, true, MINUS | 1, MINUS},
    {PLUMB_APPROX_SQRT, true, 1, 0},
    {PLUMB_APPROX_RSQRT, false, MINUS | INF, NOT_A_NUMBER},
    {PLUMB_APPROX_RSQRT, false, MINUS | ONE, NOT_A_NUMBER},
    {PLUMB_APPROX_RSQRT, false, MINUS, MINUS | INF},
    {PLUMB_APPROX_RSQRT, false, 0, INF},
    {PLUMB_APPROX_RSQRT, false, INF, 0},
    {PLUMB_APPROX_RSQRT, true, MINUS | 1, MINUS | INF},
    {PLUMB_APPROX_RSQRT, true, 1, INF},
    {PLUMB_APPROX_SIN, false, MINUS | INF, NOT_A_NUMBER},
    {PLUMB_APPROX_SIN, false, MINUS, MINUS},
    {PLUMB_APPROX_SIN, false, 0, 0},
    {PLUMB_APPROX_SIN, false, INF, NOT_A_NUMBER},
    {PLUMB_APPROX_SIN, true, MINUS | 1, MINUS},
    {PLUMB_APPROX_COS, false, MINUS | INF, NOT_A_NUMBER},
    {PLUMB_APPROX_COS, false, MINUS, ONE},
    {PLUMB_APPROX_COS, false, 0, ONE},
    {PLUMB_APPROX_COS, false, INF, NOT_A_NUMBER},
    {PLUMB_APPROX_COS, true, 1, ONE},
    {PLUMB_APPROX_LG2, false, MINUS | INF, NOT_A_NUMBER},
    {PLUMB_APPROX_LG2, false, MINUS | ONE, NOT_A_NUMBER},
    {PLUMB_APPROX_LG2, false, MINUS, MINUS | INF},
    {PLUMB_APPROX_LG2, false, 0, MINUS | INF},
    {PLUMB_APPROX_LG2, false, INF, INF},
    {PLUMB_APPROX_LG2, true, 1, MINUS | INF},
    {PLUMB_APPROX_LG2, true, MINUS | 1, MINUS | INF},
    {PLUMB_APPROX_EX2, false, MINUS | INF, 0},
    {PLUMB_APPROX_EX2, false, MINUS, ONE},
    {PLUMB_APPROX_EX2, false, 0, ONE},
    {PLUMB_APPROX_EX2, false, INF, INF},
    {PLUMB_APPROX_EX2, true, MINUS | 1, ONE},
    {PLUMB_APPROX_EX2, true, 0xc2fe0000, 0}, /* 2^-127 */
    {PLUMB_APPROX_TANH, false, MINUS | INF, MINUS | ONE},
    {PLUMB_APPROX_TANH, false, MINUS, MINUS},
    {PLUMB_APPROX_TANH, false, 0, 0},
    {PLUMB_APPROX_TANH, false, 0x7fffff, 0x7fffff},
    {PLUMB_APPROX_TANH, false, INF, ONE},
    {PLUMB_APPROX_TANH, false, NOT_A_NUMBER, NOT_A_NUMBER},
};

/* div.approx for 2^126 < |b| < 2^128: 0, or NaN where a is infinite. */
static const uint32_t divisions[][3] = {{ONE, 0x7e800001, 0},
                                        {MINUS | ONE, 0x7f000000, MINUS},
                                        {INF, 0x7f000000, NOT_A_NUMBER},
                                        {ONE, INF, 0},
                                        {0, 0, NOT_A_NUMBER},
                                        {ONE, 0, INF}};

/* rcp and rsqrt.approx.ftz.f64 (9.7.3.15, 9.7.3.18): high words only. */
static const struct {
  plumb_approx which;
  uint64_t input, output;
} wide[] = {{PLUMB_APPROX_RCP_FTZ_F64, 0xfff0000000000000, 0x8000000000000000},
            {PLUMB_APPROX_RCP_FTZ_F64, 0x8000000000000001, 0xfff0000000000000},
            {PLUMB_APPROX_RCP_FTZ_F64, 0, 0x7ff0000000000000},
            {PLUMB_APPROX_RCP_FTZ_F64, 0x7ff0000000000000, 0},
            {PLUMB_APPROX_RCP_FTZ_F64, 0x7ff8000000000001, 0x7fffffff00000000},
            {PLUMB_APPROX_RCP_FTZ_F64, 0x4000000000000000, 0x3fe0000000000000},
            {PLUMB_APPROX_RSQRT_FTZ_F64, 0xbff0000000000000, 0x7fffffff00000000},
            {PLUMB_APPROX_RSQRT_FTZ_F64, 0x8000000000000001, 0xfff0000000000000},
            {PLUMB_APPROX_RSQRT_FTZ_F64, 0x0000000000000001, 0x7ff0000000000000},
            {PLUMB_APPROX_RSQRT_FTZ_F64, 0x7ff0000000000000, 0},
            {PLUMB_APPROX_RSQRT_FTZ_F64, 0x4010000000000000, 0x3fe0000000000000}};

/* The tables hold in either reading. */
static void check_specials(int64_t imm) {
  plumb_inst inst;
  for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
    const special *s = &specials[i];
    uint32_t r = 0;
    oracle_inst(&inst, PLUMB_OP_APPROX, PLUMB_F32, 1);
    inst.sub = (uint8_t)s->which;
    inst.flags = s->ftz ? PLUMB_FLAG_FTZ : 0;
    inst.imm = imm;
    plumb_alu_execute(NULL, &inst, (void *[]){&r}, (const void *[]){&s->input}, 0, 1);
    CHECK(r == s->output, "%s%s of %08x gives %08x, not %08x", plumb_approx_table[s->which].text,
          s->ftz ? ".ftz" : "", s->input, r, s->output);
  }
  for (size_t i = 0; i < sizeof divisions / sizeof *divisions; i++) {
    uint32_t r = 0;
    oracle_inst(&inst, PLUMB_OP_APPROX, PLUMB_F32, 2);
    inst.sub = PLUMB_APPROX_DIV;
    inst.imm = imm;
    plumb_alu_execute(NULL, &inst, (void *[]){&r},
                      (const void *[]){&divisions[i][0], &divisions[i][1]}, 0, 1);
    CHECK(r == divisions[i][2], "div of %08x, %08x gives %08x, not %08x", divisions[i][0],
          divisions[i][1], r, divisions[i][2]);
  }
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
    uint64_t r = 0;
    oracle_inst(&inst, PLUMB_OP_APPROX, PLUMB_F64, 1);
    inst.sub = (uint8_t)wide[i].which;
    inst.flags = PLUMB_FLAG_FTZ;
    plumb_alu_execute(NULL, &inst, (void *[]){&r}, (const void *[]){&wide[i].input}, 0, 1);
    CHECK(r == wide[i].output, "%s of %016llx gives %016llx, not %016llx",
          plumb_approx_table[wide[i].which].text, (unsigned long long)wide[i].input,
          (unsigned long long)r, (unsigned long long)wide[i].output);
  }
}

int main(void) {
  size_t random = getenv("PLUMB_NUMERICS_LONG") ? 1000000 : 1;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i], random);
  for (int64_t imm = 0; imm < 2; imm++) check_specials(imm);
  return check_finish();
}

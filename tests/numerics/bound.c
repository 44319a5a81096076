/* The bound domain is sound: legal evaluations of random expressions (fused or not, sums
 * in any order, functions anywhere inside their documented error) lie in the interval.
 * And it is sharp enough: a narrower accumulator does not fit in it. */
#include <math.h>

#include "targets/cpu/bound.h"
#include "tests/numerics/oracle.h"

enum { LANES_N = 32, VALUES = 24, PROGRAMS = 1500, TERMS_MAX = 96 };

/* One register: what the executor computes, what another legal evaluation computes, and
 * the companion. */
typedef struct value {
  float executed[LANES_N], other[LANES_N];
  plumb_companion companion[LANES_N];
  bool is_input;
} value;

static value values[VALUES];
static long judged, judged_known; /* a domain that never knows anything is sound too */

static double random_unit(void) {
  return (double)(oracle_random() >> 11) * 0x1p-53;
}

static float random_float(void) {
  switch (oracle_random() % 12) {
    case 0:
      return 0;
    case 1:
      return (float)(int)(oracle_random() % 17) - 8;
    case 2:
      return (float)ldexp(random_unit() + 1, (int)(oracle_random() % 250) - 125);
    default:
      return (float)((random_unit() * 2 - 1) * 4);
  }
}

/* Executes the instruction on values and companions; the caller fills `other`. */
static void run(plumb_inst *inst, value *r, value *const *operands, const int64_t *terms) {
  const void *from[4];
  const plumb_companion *beside[4];
  for (int i = 0; i < inst->operands; i++) {
    bool is_terms = terms && i == 2;
    from[i] = is_terms ? (const void *)terms : operands[i]->executed;
    beside[i] = is_terms || operands[i]->is_input ? NULL : operands[i]->companion;
  }
  value fresh;
  memset(&fresh, 0, sizeof fresh);
  plumb_alu_execute(NULL, inst, (void *[]){fresh.executed}, from, 0, LANES_N);
  plumb_bound_execute(NULL, inst, (const void *[]){fresh.executed}, from,
                      (plumb_companion *[]){fresh.companion}, beside, 0, LANES_N);
  memcpy(r->executed, fresh.executed, sizeof fresh.executed);
  memcpy(r->companion, fresh.companion, sizeof fresh.companion);
  r->is_input = false;
}

static bool fits(const plumb_companion *c, double v) {
  if (plumb_companion_is_unknown(c)) return true;
  if (plumb_companion_is_nan(c)) return isnan(v) != 0;
  return c->lo <= v && v <= c->hi;
}

static void judge(const char *what, int step, const value *v) {
  for (int l = 0; l < LANES_N; l++) {
    const plumb_companion *c = &v->companion[l];
    judged++;
    judged_known += plumb_companion_is_known(c);
    bool good = fits(c, (double)v->executed[l]) && fits(c, (double)v->other[l]);
    if (!good || l == 0)
      CHECK(good, "%s, step %d, lane %d: executed %a, other %a, not in [%a, %a], shadow %a", what,
            step, l, (double)v->executed[l], (double)v->other[l], c->lo, c->hi, c->shadow);
  }
}

/* Anywhere within the documented error of the true value, as a float. */
static float within(plumb_math which, float x) {
  double y = 0;
  switch (which) {
    case PLUMB_MATH_EXP:
      y = exp((double)x);
      break;
    case PLUMB_MATH_LOG:
      y = log((double)x);
      break;
    case PLUMB_MATH_SIN:
      y = sin((double)x);
      break;
    case PLUMB_MATH_COS:
      y = cos((double)x);
      break;
    case PLUMB_MATH_TANH:
      y = tanh((double)x);
      break;
    case PLUMB_MATH_ERF:
      y = erf((double)x);
      break;
    case PLUMB_MATH_RSQRT:
      y = 1 / sqrt((double)x);
      break;
    case PLUMB_MATH_COSH:
      y = cosh((double)x);
      break;
    default:
      return (float)NAN;
  }
  float f = (float)y;
  int steps = (int)plumb_math_table[which].ulp_f32 - 1; /* one is spent by the rounding */
  for (int k = (int)(oracle_random() % (uint64_t)(steps + 1)); k > 0 && isfinite(f); k--)
    f = nextafterf(f, oracle_random() & 1 ? INFINITY : -INFINITY);
  bool positive = which == PLUMB_MATH_EXP || which == PLUMB_MATH_COSH || which == PLUMB_MATH_RSQRT;
  if (positive && f < 0) f = y < 0 ? f : 0;
  return f;
}

static void step_math(value *r, value *a, int step) {
  static const plumb_math functions[] = {PLUMB_MATH_EXP,   PLUMB_MATH_LOG,  PLUMB_MATH_SIN,
                                         PLUMB_MATH_COS,   PLUMB_MATH_TANH, PLUMB_MATH_ERF,
                                         PLUMB_MATH_RSQRT, PLUMB_MATH_COSH};
  plumb_math which = functions[oracle_random() % 8];
  plumb_inst inst;
  oracle_inst(&inst, PLUMB_OP_MATH, PLUMB_F32, 1);
  inst.sub = (uint8_t)which;
  float other[LANES_N];
  for (int l = 0; l < LANES_N; l++) other[l] = within(which, a->other[l]);
  run(&inst, r, &a, NULL);
  memcpy(r->other, other, sizeof other);
  judge(plumb_math_table[which].text, step, r);
}

static float arithmetic(plumb_op op, float a, float b, float c) {
  switch (op) {
    case PLUMB_OP_ADD:
      return a + b;
    case PLUMB_OP_SUB:
      return a - b;
    case PLUMB_OP_MUL:
      return a * b;
    case PLUMB_OP_DIV:
      return a / b;
    case PLUMB_OP_SQRT:
      return sqrtf(a);
    case PLUMB_OP_MIN:
      return fminf(a, b);
    case PLUMB_OP_MAX:
      return fmaxf(a, b);
    case PLUMB_OP_ABS:
      return fabsf(a);
    default: {
      float product = a * b;
      return oracle_random() & 1 ? fmaf(a, b, c) : product + c;
    }
  }
}

static void step_arithmetic(value *r, value *a, value *b, value *c, int step) {
  static const plumb_op ops[] = {PLUMB_OP_ADD,  PLUMB_OP_SUB, PLUMB_OP_MUL, PLUMB_OP_DIV,
                                 PLUMB_OP_SQRT, PLUMB_OP_MIN, PLUMB_OP_MAX, PLUMB_OP_ABS,
                                 PLUMB_OP_FMA,  PLUMB_OP_FMA, PLUMB_OP_MUL, PLUMB_OP_ADD};
  plumb_op op = ops[oracle_random() % 12];
  int arity = op == PLUMB_OP_FMA ? 3 : op == PLUMB_OP_SQRT || op == PLUMB_OP_ABS ? 1 : 2;
  plumb_inst inst;
  oracle_inst(&inst, op, PLUMB_F32, arity);
  inst.sub = PLUMB_NAN_DROP;
  value *operands[3] = {a, b, c};
  float other[LANES_N];
  for (int l = 0; l < LANES_N; l++)
    other[l] = arithmetic(op, a->other[l], b->other[l], c->other[l]);
  run(&inst, r, operands, NULL);
  memcpy(r->other, other, sizeof other);
  judge(plumb_op_table[op].mnemonic, step, r);
}

/* A multiply and an add that the other evaluation fuses: the product is never rounded. */
static void step_contraction(value *r, value *a, value *b, value *c, int step) {
  plumb_inst mul, add;
  oracle_inst(&mul, PLUMB_OP_MUL, PLUMB_F32, 2);
  oracle_inst(&add, PLUMB_OP_ADD, PLUMB_F32, 2);
  float other[LANES_N];
  for (int l = 0; l < LANES_N; l++) other[l] = fmaf(a->other[l], b->other[l], c->other[l]);
  value product, kept = *c, *left[2] = {a, b}, *right[2] = {&product, &kept};
  run(&mul, &product, left, NULL);
  run(&add, r, right, NULL);
  memcpy(r->other, other, sizeof other);
  judge("contracted", step, r);
}

/* Sums the list by joining two random entries until one is left. */
static float any_order(float *list, int count) {
  while (count > 1) {
    int i = (int)(oracle_random() % (uint64_t)count);
    float x = list[i];
    list[i] = list[--count];
    int j = (int)(oracle_random() % (uint64_t)count);
    list[j] += x;
  }
  return list[0];
}

/* A dot product of two values' rotations, from an initial accumulator. */
static void step_reduce(value *r, value *a, value *b, value *start, int step) {
  int terms = 1 + (int)(oracle_random() % TERMS_MAX);
  plumb_inst mul, reduce;
  oracle_inst(&mul, PLUMB_OP_MUL, PLUMB_F32, 2);
  oracle_inst(&reduce, PLUMB_OP_REDUCE_ADD, PLUMB_F32, 3);
  static float lists[LANES_N][TERMS_MAX + 1];
  int64_t counts[LANES_N];
  value acc = *start, x, product;
  for (int l = 0; l < LANES_N; l++) {
    lists[l][terms] = start->other[l];
    counts[l] = terms;
  }
  for (int t = 0; t < terms; t++) {
    x = *a;
    for (int l = 0; l < LANES_N; l++) {
      int from = (l + t) % LANES_N;
      x.executed[l] = a->executed[from];
      x.other[l] = a->other[from];
      x.companion[l] = a->companion[from];
      lists[l][t] = x.other[l] * b->other[l];
    }
    value *factors[2] = {&x, b}, *sum[2] = {&acc, &product};
    run(&mul, &product, factors, NULL);
    run(&reduce, &acc, sum, counts);
  }
  for (int l = 0; l < LANES_N; l++) acc.other[l] = any_order(lists[l], terms + 1);
  *r = acc;
  judge("reduce", step, r);
}

static void random_program(void) {
  for (int v = 0; v < 6; v++) {
    values[v].is_input = true;
    for (int l = 0; l < LANES_N; l++) {
      values[v].executed[l] = values[v].other[l] = random_float();
      values[v].companion[l] = plumb_companion_exact(PLUMB_F32, &values[v].executed[l]);
    }
  }
  for (int v = 6; v < VALUES; v++) {
    value *pick[3];
    for (int i = 0; i < 3; i++) pick[i] = &values[oracle_random() % (uint64_t)v];
    switch (oracle_random() % 10) {
      case 0:
      case 1:
        step_math(&values[v], pick[0], v);
        break;
      case 2:
        step_contraction(&values[v], pick[0], pick[1], pick[2], v);
        break;
      case 3: /* an initial accumulator is an input, or zero */
        step_reduce(&values[v], pick[0], pick[1], &values[oracle_random() % 6], v);
        break;
      default:
        step_arithmetic(&values[v], pick[0], pick[1], pick[2], v);
    }
  }
}

/* Typical data: a dot product of 512 terms. An f16 accumulator leaves the budget of the
 * f32 reference, a bf16 one too; an f32 one in another order stays. */
static void narrow_accumulator(plumb_dtype narrow, double least, int wanted) {
  enum { TERMS = 512 };
  int outside = 0;
  for (int round = 0; round < 100; round++) {
    plumb_companion acc = {0, 0, 0};
    double sum = 0;
    float executed = 0, reversed = 0;
    static float terms[TERMS];
    for (int t = 0; t < TERMS; t++) {
      float x = (float)(random_unit() * (1 - least) + least);
      float y = (float)(random_unit() * (1 - least) + least);
      terms[t] = x * y;
      plumb_companion exact = plumb_companion_exact(PLUMB_F32, &terms[t]);
      acc = plumb_bound_reduce(PLUMB_F32, false, &acc, &exact, TERMS);
      executed += terms[t];
      sum = plumb_dtype_to_double(narrow, plumb_dtype_from_double(narrow, sum + (double)terms[t]));
    }
    for (int t = TERMS - 1; t >= 0; t--) reversed += terms[t];
    CHECK(fits(&acc, (double)executed) && fits(&acc, (double)reversed), "f32 order, round %d",
          round);
    outside += !fits(&acc, sum);
  }
  CHECK(outside >= wanted, "a %s accumulator fits in the budget of f32 in %d of 100",
        plumb_dtype_table[narrow].text, 100 - outside);
}

/* Integer-valued data keeps point intervals, and the interval never is one when the
 * operation rounds. */
static void points(void) {
  plumb_inst inst;
  oracle_inst(&inst, PLUMB_OP_FMA, PLUMB_F32, 3);
  float a = 3, b = 5, c = 7, r = 22, third = 1.0f / 3;
  plumb_companion out;
  plumb_bound_execute(NULL, &inst, (const void *[]){&r}, (const void *[]){&a, &b, &c},
                      (plumb_companion *[]){&out}, (const plumb_companion *[]){NULL, NULL, NULL}, 0,
                      1);
  CHECK(out.lo == 22 && out.hi == 22 && out.shadow == 22, "[%a, %a]", out.lo, out.hi);
  inst.op = PLUMB_OP_MUL;
  inst.operands = 2;
  plumb_bound_execute(NULL, &inst, (const void *[]){&r}, (const void *[]){&third, &third},
                      (plumb_companion *[]){&out}, (const plumb_companion *[]){NULL, NULL}, 0, 1);
  CHECK(out.lo < out.hi && out.hi - out.lo < 0x1p-26, "[%a, %a]", out.lo, out.hi);
}

typedef struct kind_row {
  const char *name;
  plumb_op op;
  float a, b;
  char kind; /* n nan, u unknown, k known */
} kind_row;

/* Invalid operations on certain operands are certainly NaN. */
static void kinds(void) {
  static const kind_row rows[] = {
      {"inf - inf", PLUMB_OP_SUB, INFINITY, INFINITY, 'n'},
      {"0 * inf", PLUMB_OP_MUL, 0, INFINITY, 'n'},
      {"0 / 0", PLUMB_OP_DIV, 0, 0, 'n'},
      {"nan + 1", PLUMB_OP_ADD, NAN, 1, 'n'},
      {"max(nan, 1)", PLUMB_OP_MAX, NAN, 1, 'k'},
      {"inf + 1", PLUMB_OP_ADD, INFINITY, 1, 'k'},
      {"1 / 0", PLUMB_OP_DIV, 1, 0, 'k'},
      {"3e38 + 3e38", PLUMB_OP_ADD, 3e38f, 3e38f, 'k'},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plumb_inst inst;
    oracle_inst(&inst, rows[i].op, PLUMB_F32, 2);
    float r = 0;
    plumb_companion c;
    const void *from[2] = {&rows[i].a, &rows[i].b};
    plumb_alu_execute(NULL, &inst, (void *[]){&r}, from, 0, 1);
    plumb_bound_execute(NULL, &inst, (const void *[]){&r}, from, (plumb_companion *[]){&c},
                        (const plumb_companion *[]){NULL, NULL}, 0, 1);
    char kind = plumb_companion_is_nan(&c) ? 'n' : plumb_companion_is_unknown(&c) ? 'u' : 'k';
    CHECK(kind == rows[i].kind && fits(&c, (double)r), "%s: kind %c, %a in [%a, %a]", rows[i].name,
          kind, (double)r, c.lo, c.hi);
  }
  plumb_companion two_valued = {1, -1, 1}, out;
  plumb_inst inst;
  oracle_inst(&inst, PLUMB_OP_SQRT, PLUMB_F32, 1);
  float one = 1;
  plumb_bound_execute(NULL, &inst, (const void *[]){&one}, (const void *[]){&one},
                      (plumb_companion *[]){&out}, (const plumb_companion *[]){&two_valued}, 0, 1);
  CHECK(plumb_companion_is_unknown(&out), "sqrt of [-1, 1]");
}

/* An uncertain comparison makes an uncertain choice. */
static void choices(void) {
  plumb_companion x = {1, 0.9, 1.1}, bit, out;
  float one = 1;
  plumb_inst inst;
  oracle_inst(&inst, PLUMB_OP_CMP, PLUMB_I1, 2);
  inst.type2 = PLUMB_F32;
  inst.sub = PLUMB_CMP_OLT;
  uint8_t no = 0;
  plumb_bound_execute(NULL, &inst, (const void *[]){&no}, (const void *[]){&one, &one},
                      (plumb_companion *[]){&bit}, (const plumb_companion *[]){&x, NULL}, 0, 1);
  CHECK(bit.lo == 0 && bit.hi == 1 && bit.shadow == 0, "[%g, %g]", bit.lo, bit.hi);
  float a = 10, b = -3;
  oracle_inst(&inst, PLUMB_OP_SELECT, PLUMB_F32, 3);
  plumb_bound_execute(NULL, &inst, (const void *[]){&b}, (const void *[]){&no, &a, &b},
                      (plumb_companion *[]){&out}, (const plumb_companion *[]){&bit, NULL, NULL}, 0,
                      1);
  CHECK(out.lo == -3 && out.hi == 10 && out.shadow == -3, "[%g, %g]", out.lo, out.hi);
}

int main(void) {
  for (int i = 0; i < PROGRAMS; i++) random_program();
  CHECK(judged_known > judged * 6 / 10, "%ld of %ld are known", judged_known, judged);
  narrow_accumulator(PLUMB_F16, 0, 95);
  narrow_accumulator(PLUMB_BF16, 0, 95);
  narrow_accumulator(PLUMB_F16, -1, 70); /* each of a matrix's many elements is judged */
  narrow_accumulator(PLUMB_BF16, -1, 95);
  points();
  kinds();
  choices();
  return check_finish();
}

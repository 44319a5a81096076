/* Companions through matrix instructions: shadow and interval of sums of products, of what a
 * kernel multiplies, loads by ldmatrix and hands on. */
#include <math.h>
#include <string.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/bound.h"
#include "tests/unit/check.h"

#define HEAD ".version 8.8\n.target sm_90a\n.address_size 64\n"

static int random_int(int low, int high) {
  static uint64_t state = 88172645463325252ull;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return low + (int)(state % (uint64_t)(high - low + 1));
}

/* --- one element --- */

enum { K = 16, ROUNDS = 4000 };

static double random_value(plumb_dtype type) {
  double v = ldexp(random_int(-1023, 1023), random_int(-12, -6));
  return plumb_dtype_to_double(type, plumb_dtype_from_double(type, v));
}

static double narrowed(plumb_dtype type, double v, bool truncate) {
  if (!truncate) return plumb_dtype_to_double(type, plumb_dtype_from_double(type, v));
  double r = plumb_dtype_to_double(type, plumb_dtype_from_double(type, v));
  if (fabs(r) > fabs(v)) { /* toward zero */
    uint64_t bits = plumb_dtype_from_double(type, r) - 1;
    r = plumb_dtype_to_double(type, bits);
  }
  return r;
}

/* One legal evaluation: terms in random order, products rounded or not, sums rounded or
 * truncated. */
static double evaluate(plumb_dtype type, const double *a, const double *b, double c) {
  double terms[K + 1];
  bool rounded = random_int(0, 1), truncate = random_int(0, 1);
  for (int i = 0; i < K; i++)
    terms[i] = rounded ? narrowed(type, a[i] * b[i], truncate) : a[i] * b[i];
  terms[K] = c;
  for (int i = K; i > 0; i--) {
    int j = random_int(0, i);
    double t = terms[i];
    terms[i] = terms[j];
    terms[j] = t;
  }
  double sum = narrowed(type, terms[0], truncate);
  for (int i = 1; i <= K; i++) sum = narrowed(type, sum + terms[i], truncate);
  return sum;
}

static void check_dots(plumb_mma_type of_a, plumb_mma_type of_d, plumb_dtype narrower) {
  plumb_product p = {.a = of_a, .b = of_a, .c = of_d, .d = of_d};
  plumb_dtype type = plumb_bound_element_type(of_a), sum_type = plumb_bound_element_type(of_d);
  int outside = 0;
  for (int round = 0; round < ROUNDS; round++) {
    double a[K], b[K], c = random_value(sum_type), truth = c;
    plumb_companion of[2][K], z, d;
    for (int i = 0; i < K; i++) {
      a[i] = random_value(type), b[i] = random_value(type);
      truth += a[i] * b[i];
      /* a range for one operand, of which the value is any */
      double spread = random_int(0, 1) ? fabs(a[i]) * 0x1p-8 : 0;
      of[0][i] = (plumb_companion){a[i], a[i] - spread, a[i] + spread};
      of[1][i] = (plumb_companion){b[i], b[i], b[i]};
      a[i] += spread * random_int(-1, 1);
    }
    z = (plumb_companion){c, c, c};
    d = plumb_bound_dot(&p, K, of[0], of[1], &z);
    CHECK(plumb_companion_is_known(&d), "a sum of small terms is not known");
    CHECK(fabs(d.shadow - truth) <= 1e-9 * fabs(truth) + 1e-12, "shadow %a, not %a", d.shadow,
          truth);
    double v = evaluate(sum_type, a, b, c);
    CHECK(d.lo <= v && v <= d.hi, "%a lies outside [%a, %a]", v, d.lo, d.hi);
    for (int i = 0; i < K; i++) of[0][i] = (plumb_companion){a[i], a[i], a[i]};
    d = plumb_bound_dot(&p, K, of[0], of[1], &z);
    v = evaluate(sum_type, a, b, c);
    CHECK(d.lo <= v && v <= d.hi, "%a lies outside [%a, %a] of exact terms", v, d.lo, d.hi);
    v = evaluate(narrower, a, b, c);
    outside += !(d.lo <= v && v <= d.hi);
  }
  CHECK(outside > ROUNDS / 2, "a narrower accumulator leaves the interval only %d times of %d",
        outside, ROUNDS);
}

typedef struct dot_row {
  const char *name;
  plumb_mma_type a, d;
  plumb_companion x, z; /* every a, and c; every b is 1 */
  plumb_companion expected;
} dot_row;

#define POINT(v) {v, v, v}
#define UNKNOWN {0, NAN, NAN}
static const dot_row dot_rows[] = {
    {"integers are exact", PLUMB_MMA_F16, PLUMB_MMA_F32, POINT(3), POINT(5), POINT(53)},
    {"so are multiples of one bit", PLUMB_MMA_BF16, PLUMB_MMA_F32, POINT(0x1p-30), POINT(0x1p-26),
     POINT(0x1p-25)},
    {"zeros", PLUMB_MMA_F16, PLUMB_MMA_F16, POINT(0), POINT(0), POINT(0)},
    {"one unknown", PLUMB_MMA_F16, PLUMB_MMA_F32, UNKNOWN, POINT(0), UNKNOWN},
    {"C unknown", PLUMB_MMA_F16, PLUMB_MMA_F32, POINT(1), UNKNOWN, UNKNOWN},
    {"NaN", PLUMB_MMA_F16, PLUMB_MMA_F32, {NAN, NAN, NAN}, POINT(1), {NAN, NAN, NAN}},
    {"f16 may overflow on the way", PLUMB_MMA_F16, PLUMB_MMA_F16, POINT(4096), POINT(0.0625),
     UNKNOWN},
};

static void check_dot_rows(void) {
  for (size_t i = 0; i < sizeof dot_rows / sizeof *dot_rows; i++) {
    const dot_row *r = &dot_rows[i];
    plumb_companion a[K], b[K];
    for (int k = 0; k < K; k++) a[k] = r->x, b[k] = (plumb_companion)POINT(1);
    plumb_product p = {.a = r->a, .b = r->a, .c = r->d, .d = r->d};
    plumb_companion d = plumb_bound_dot(&p, K, a, b, &r->z), e = r->expected;
    bool same = plumb_companion_is_known(&e)
                    ? d.lo == e.lo && d.hi == e.hi && d.shadow == e.shadow
                    : plumb_companion_is_unknown(&d) == plumb_companion_is_unknown(&e) &&
                          plumb_companion_is_nan(&d) == plumb_companion_is_nan(&e);
    CHECK(same, "%s: {%a, %a, %a}", r->name, d.shadow, d.lo, d.hi);
  }
}

/* --- kernels --- */

#define LOAD_C \
  "ld.global.f32 %f0, [%rd2+128]; div.rn.f32 %f0, %f0, 0f40400000;" /* a third: not certain */
#define MMA \
  "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r2, %r3}, {%r4}, " \
  "{%f0, %f0, %f0, %f0};"

typedef struct kernel {
  const char *name, *body;
  double truth; /* of D(0, 0): NAN where nothing is known */
  double least; /* width of the interval */
} kernel;

/* Word i of the input is two f16 of 1.0; from word 32 on it is 1.0 in f32. */
static const kernel kernels[] = {
    {"C is uncertain", LOAD_C "ld.global.b32 %r2, [%rd2]; mov.b32 %r3, %r2; mov.b32 %r4, %r2;" MMA,
     8 + 1.0 / 3, 0x1p-25},
    {"all is exact",
     "mov.f32 %f0, 0f40000000; ld.global.b32 %r2, [%rd2]; mov.b32 %r3, %r2; mov.b32 %r4, %r2;" MMA,
     10, 0},
    {"A is packed of what was computed",
     LOAD_C "cvt.rn.f16x2.f32 %r2, %f0, %f0; mov.b32 %r3, %r2; ld.global.b32 %r4, [%rd2];" MMA, NAN,
     0},
    {"ldmatrix of what was computed",
     LOAD_C "cvt.rn.f16.f32 %h1, %f0; st.shared.b16 [%r1], %h1; st.shared.b16 [%r1+2], %h1;"
            "bar.sync 0; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r5]; mov.b32 %r3, %r2;"
            "ld.global.b32 %r4, [%rd2];" MMA,
     NAN, 0},
    {"ldmatrix of what was loaded",
     "mov.f32 %f0, 0f40000000; ld.global.b32 %r2, [%rd2]; st.shared.b32 [%r1], %r2; bar.sync 0;"
     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r5]; mov.b32 %r3, %r2;"
     "ld.global.b32 %r4, [%rd2];" MMA,
     10, 0},
    {"stmatrix of what was computed",
     LOAD_C "cvt.rn.f16x2.f32 %r2, %f0, %f0; "
            "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r2};"
            "bar.sync 0; ld.shared.b16 %h1, [s]; cvt.f32.f16 %f4, %h1;",
     NAN, 0},
    {"movmatrix of what was computed",
     LOAD_C "cvt.rn.f16x2.f32 %r2, %f0, %f0; movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r2;"
            "mov.b32 %r3, %r2; ld.global.b32 %r4, [%rd2];" MMA,
     NAN, 0},
    {"sparse",
     LOAD_C
     "ld.global.b32 %r2, [%rd2]; mov.b32 %r3, %r2; mov.b32 %r4, %r2; mov.b32 %r6, 0x44444444;"
     "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7},"
     "{%r2, %r3}, {%r4, %r4}, {%f0, %f0, %f0, %f0}, %r6, 0x0;",
     8 + 1.0 / 3, 0x1p-25},
};

static void check_kernel(const kernel *k) {
  plumb_arena *arena = plumb_arena_create();
  plumb_program *p = plumb_program_create(arena, "k");
  plumb_machine *m = plumb_machine_create(arena);
  plumb_diag diag = {0};
  char *text = plumb_arena_printf(
      arena,
      HEAD
      ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
      ".reg .b16 %%h<4>; .reg .b32 %%r<8>; .reg .b64 %%rd<5>; .reg .f32 %%f<8>;\n"
      ".shared .align 128 .b8 s[512];\n"
      "ld.param.u64 %%rd0, [p]; ld.param.u64 %%rd1, [q]; mov.u32 %%r0, %%tid.x;\n"
      "mul.wide.u32 %%rd3, %%r0, 4; add.u64 %%rd2, %%rd0, %%rd3; add.u64 %%rd4, %%rd1, %%rd3;\n"
      "mov.u32 %%r1, s; shl.b32 %%r5, %%r0, 4; and.b32 %%r5, %%r5, 127; add.u32 %%r5, %%r5, "
      "%%r1; mad.lo.u32 %%r1, %%r0, 4, %%r1;\n%s\nst.global.f32 [%%rd4], %%f4; ret;\n}\n",
      k->body);
  uint32_t in[64];
  const float one = 1;
  for (int i = 0; i < 32; i++) {
    in[i] = 0x3c003c00;
    memcpy(&in[32 + i], &one, 4);
  }
  uint64_t params[2] = {plumb_machine_alloc(m, sizeof in, 256, "in"),
                        plumb_machine_alloc(m, 128, 256, "out")};
  plumb_run_options options = plumb_run_options_default();
  options.companions = true;
  options.jobs = 1;
  plumb_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
  plumb_run_result result = {0};
  plumb_companion c = {0};
  plumb_status status = plumb_ptx_decode(p, "k.ptx", text, strlen(text), &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  if (status == PLUMB_OK) status = plumb_machine_write(m, params[0], in, sizeof in, &diag);
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, "k", &l, params, sizeof params, &options, &result, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", k->name, diag.message);
  CHECK(result.trap.kind == PLUMB_TRAP_NONE, "%s: trap %s", k->name, result.trap.message);
  status = plumb_machine_read_companions(m, params[1], PLUMB_F32, 1, &c, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", k->name, diag.message);
  if (isnan(k->truth)) {
    CHECK(!plumb_companion_is_known(&c), "%s: known to lie in [%a, %a]", k->name, c.lo, c.hi);
  } else {
    CHECK(fabs(c.shadow - k->truth) < 1e-12, "%s: shadow %a", k->name, c.shadow);
    CHECK(c.lo <= k->truth && k->truth <= c.hi && c.hi - c.lo >= k->least &&
              c.hi - c.lo <= 0x1p-14 && (k->least > 0 || c.lo == c.hi),
          "%s: [%a, %a]", k->name, c.lo, c.hi);
  }
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  check_dots(PLUMB_MMA_F16, PLUMB_MMA_F32, PLUMB_F16);
  check_dots(PLUMB_MMA_BF16, PLUMB_MMA_F32, PLUMB_F16);
  check_dots(PLUMB_MMA_F16, PLUMB_MMA_F16, PLUMB_E5M2);
  check_dots(PLUMB_MMA_F64, PLUMB_MMA_F64, PLUMB_F32);
  check_dot_rows();
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) check_kernel(&kernels[i]);
  return check_finish();
}

/* Comparison: classes before numbers, ulp distance, tolerances and budgets. */
#include "verify/compare.h"

#include <math.h>
#include <string.h>

#include "tests/unit/check.h"

enum { NAN_BITS = 0x7fc00000, NAN_OTHER = 0x7f800001, INF_BITS = 0x7f800000, ONE = 0x3f800000 };

static const struct {
  plumb_dtype type;
  uint64_t a, b;
  double ulp;
} distances[] = {
    {PLUMB_F32, ONE, ONE, 0},
    {PLUMB_F32, ONE, ONE + 5, 5},
    {PLUMB_F32, 0x00000000, 0x80000000, 0}, /* the zeros coincide */
    {PLUMB_F32, 0x00000001, 0x80000001, 2},
    {PLUMB_F16, 0x3c00, 0x3bff, 1},
    {PLUMB_BF16, 0x3f80, 0x3f82, 2},
    {PLUMB_F64, 0x3ff0000000000000, 0x3ff0000000000003, 3},
    {PLUMB_E4M3, 0x38, 0x3a, 2},
    {PLUMB_I32, 5, 0xfffffffd, 8},
};

static const plumb_accept bounded = {.level = PLUMB_VERDICT_BOUNDED};
static const plumb_accept abs_1 = {.level = PLUMB_VERDICT_BOUNDED, .tolerance = true, .abs = 1};
static const plumb_accept rel_1e6 = {
    .level = PLUMB_VERDICT_BOUNDED, .tolerance = true, .rel = 1e-6};
static const plumb_accept ulp_4 = {.level = PLUMB_VERDICT_BOUNDED, .tolerance = true, .ulp = 4};

static const plumb_budget around_one = {1, 0.999, 1.001};
static const plumb_budget exactly_one = {1, 1, 1};
static const plumb_budget unknown = {1, (double)NAN, (double)NAN};
static const plumb_budget all_nan = {(double)NAN, (double)NAN, (double)NAN};
static const plumb_budget to_infinity = {1e38, 1e38, (double)INFINITY};

/* One f32 element. */
static const struct {
  const char *name;
  uint32_t expected, actual;
  const plumb_budget *budget;
  const plumb_accept *accept;
  plumb_verdict verdict;
} elements[] = {
    {"equal", ONE, ONE, NULL, &bounded, PLUMB_VERDICT_IDENTICAL},
    {"no budget", ONE, ONE + 1, NULL, &bounded, PLUMB_VERDICT_DIVERGED},
    {"inside", ONE, ONE + 1, &around_one, &bounded, PLUMB_VERDICT_BOUNDED},
    {"outside", ONE, ONE + 100000, &around_one, &bounded, PLUMB_VERDICT_DIVERGED},
    {"exact budget", ONE, ONE + 1, &exactly_one, &bounded, PLUMB_VERDICT_DIVERGED},
    {"unknown", ONE, ONE + 1, &unknown, &bounded, PLUMB_VERDICT_UNDECIDED},
    {"unknown, NaN", ONE, NAN_BITS, &unknown, &bounded, PLUMB_VERDICT_UNDECIDED},
    {"NaN payloads", NAN_BITS, NAN_OTHER, NULL, &bounded, PLUMB_VERDICT_IDENTICAL},
    {"NaN for 1", ONE, NAN_BITS, &around_one, &bounded, PLUMB_VERDICT_DIVERGED},
    {"1 for NaN", NAN_BITS, ONE, &all_nan, &bounded, PLUMB_VERDICT_DIVERGED},
    {"infinity for 1", ONE, INF_BITS, &around_one, &bounded, PLUMB_VERDICT_DIVERGED},
    {"the other infinity", INF_BITS, INF_BITS | 0x80000000, NULL, &bounded, PLUMB_VERDICT_DIVERGED},
    {"an overflow a legal order meets", 0x7f000000, INF_BITS, &to_infinity, &bounded,
     PLUMB_VERDICT_UNDECIDED},
    {"within abs", ONE, 0x40000000, NULL, &abs_1, PLUMB_VERDICT_BOUNDED},
    {"beyond abs", ONE, 0x40000001, NULL, &abs_1, PLUMB_VERDICT_DIVERGED},
    {"within rel", ONE, ONE + 8, NULL, &rel_1e6, PLUMB_VERDICT_BOUNDED},
    {"beyond rel", ONE, ONE + 9, NULL, &rel_1e6, PLUMB_VERDICT_DIVERGED},
    {"within ulp", ONE, ONE + 4, NULL, &ulp_4, PLUMB_VERDICT_BOUNDED},
    {"beyond ulp", ONE, ONE + 5, NULL, &ulp_4, PLUMB_VERDICT_DIVERGED},
    {"NaN beats tolerance", ONE, NAN_BITS, NULL, &abs_1, PLUMB_VERDICT_DIVERGED},
    {"a tolerance goes before a budget", ONE, ONE + 5, &around_one, &ulp_4, PLUMB_VERDICT_DIVERGED},
};

/* Values that are all defined. */
#define ALL(values) ((plumb_values){values, NULL})

static void check_arrays(void) {
  const float expected[] = {1, 2, 3, 4}, actual[] = {1, 2.5f, 3.0000005f, 4};
  plumb_comparison c = plumb_compare(PLUMB_F32, 4, ALL(expected), ALL(actual), NULL, &abs_1);
  CHECK(c.verdict == PLUMB_VERDICT_BOUNDED && c.count == 4 && c.different == 2, "two differ");
  CHECK(c.worst == 1 && c.worst_expected == 2 && c.worst_actual == 2.5, "worst is %zu", c.worst);
  CHECK(c.max_abs == 0.5 && c.max_rel == 0.25, "%g %g", c.max_abs, c.max_rel);

  /* A worse verdict is worse than more ulp. */
  const float nan_late[] = {1, 1e9f, 3, NAN};
  c = plumb_compare(PLUMB_F32, 4, ALL(expected), ALL(nan_late), NULL,
                    &(plumb_accept){.tolerance = true, .abs = 1e10});
  CHECK(c.verdict == PLUMB_VERDICT_DIVERGED && c.worst == 3, "worst is %zu", c.worst);
  CHECK(c.nan_mismatches == 1 && c.infinity_mismatches == 0, "masks");

  /* One byte of element 2 was never written. */
  unsigned char initialised[16];
  memset(initialised, 1, sizeof initialised);
  initialised[9] = 0;
  plumb_values partly = {expected, initialised};
  c = plumb_compare(PLUMB_F32, 4, ALL(expected), partly, NULL, &bounded);
  CHECK(c.verdict == PLUMB_VERDICT_DIVERGED && c.worst == 2 && c.open == 0, "worst is %zu",
        c.worst);
  /* Where the reference leaves it undefined, any value will do, and none. */
  c = plumb_compare(PLUMB_F32, 4, partly, (plumb_values){actual, NULL}, NULL, &bounded);
  CHECK(c.verdict == PLUMB_VERDICT_DIVERGED && c.worst == 1 && c.different == 1 && c.open == 1,
        "%zu differ, %zu open", c.different, c.open);
  c = plumb_compare(PLUMB_F32, 4, partly, partly, NULL, &bounded);
  CHECK(c.verdict == PLUMB_VERDICT_IDENTICAL && c.open == 1, "%zu open", c.open);

  c = plumb_compare(PLUMB_F32, 0, ALL(expected), ALL(actual), NULL, &bounded);
  CHECK(c.verdict == PLUMB_VERDICT_IDENTICAL && c.worst == SIZE_MAX, "no element");

  const int32_t left[] = {5, -3}, right[] = {5, -2};
  c = plumb_compare(PLUMB_I32, 2, ALL(left), ALL(right), NULL, &bounded);
  CHECK(c.verdict == PLUMB_VERDICT_DIVERGED && c.worst == 1, "integers");
  c = plumb_compare(PLUMB_I32, 2, ALL(left), ALL(right), NULL, &abs_1);
  CHECK(c.verdict == PLUMB_VERDICT_BOUNDED, "integers within abs");
}

int main(void) {
  for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
    double ulp = plumb_ulp_distance(distances[i].type, distances[i].a, distances[i].b);
    double back = plumb_ulp_distance(distances[i].type, distances[i].b, distances[i].a);
    CHECK(ulp == distances[i].ulp && back == ulp, "row %zu gives %g and %g", i, ulp, back);
  }
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
    plumb_comparison c =
        plumb_compare(PLUMB_F32, 1, ALL(&elements[i].expected), ALL(&elements[i].actual),
                      elements[i].budget, elements[i].accept);
    CHECK(c.verdict == elements[i].verdict, "%s: %s", elements[i].name,
          plumb_verdict_text(c.verdict));
  }
  check_arrays();
  for (int v = 0; v < PLUMB_VERDICT_COUNT; v++) {
    plumb_verdict found = PLUMB_VERDICT_COUNT;
    CHECK(plumb_verdict_from_text(plumb_verdict_text((plumb_verdict)v), &found) && (int)found == v,
          "%d", v);
  }
  return check_finish();
}

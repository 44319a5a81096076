/* Element types: conversions by value, edges by bits, and every pattern there and back. */
#include "ir/dtype.h"

#include <math.h>
#include <string.h>

#include "tests/unit/check.h"

static const struct {
  plumb_dtype type;
  double value;
  uint64_t bits;
} from_double[] = {
    {PLUMB_F16, 0.0, 0x0000},
    {PLUMB_F16, -0.0, 0x8000},
    {PLUMB_F16, 1.0, 0x3c00},
    {PLUMB_F16, 0x1.ffcp15, 0x7bff},
    {PLUMB_F16, 0x1.ffdffffp15, 0x7bff},
    {PLUMB_F16, 0x1.ffep15, 0x7c00}, /* half way above the largest rounds to infinity */
    {PLUMB_F16, 0x1p-24, 0x0001},
    {PLUMB_F16, 0x1p-25, 0x0000}, /* a tie goes to even */
    {PLUMB_F16, 0x1.000001p-25, 0x0001},
    {PLUMB_F16, 0x1.8p-24, 0x0002},
    {PLUMB_F16, 0x1.002p0, 0x3c00},
    {PLUMB_F16, 0x1.006p0, 0x3c02},
    {PLUMB_F16, (double)INFINITY, 0x7c00},
    {PLUMB_F16, -(double)INFINITY, 0xfc00},
    {PLUMB_BF16, 1.0, 0x3f80},
    {PLUMB_BF16, 0x1.01p0, 0x3f80},
    {PLUMB_BF16, 0x1.03p0, 0x3f82},
    {PLUMB_BF16, 1e39, 0x7f80},
    {PLUMB_F32, 1.0, 0x3f800000},
    {PLUMB_F32, 0x1.000001p0, 0x3f800000},
    {PLUMB_F32, 0x1.0000010000001p0, 0x3f800001},
    {PLUMB_F32, 0x1p-149, 0x00000001},
    {PLUMB_F32, 0x1p-150, 0x00000000},
    {PLUMB_F32, 0x1.fffffep127, 0x7f7fffff},
    {PLUMB_F32, 0x1.ffffffp127, 0x7f800000},
    {PLUMB_F64, -2.0, 0xc000000000000000},
    {PLUMB_TF32, 1.0, 0x3f800000},
    {PLUMB_TF32, 0x1.001p0, 0x3f800000},
    {PLUMB_TF32, 0x1.003p0, 0x3f802000},
    {PLUMB_TF32, 0x1.006p0, 0x3f804000},
    {PLUMB_E4M3, 1.0, 0x38},
    {PLUMB_E4M3, 448.0, 0x7e},
    {PLUMB_E4M3, 1e9, 0x7e}, /* no infinity: the largest */
    {PLUMB_E4M3, -(double)INFINITY, 0xfe},
    {PLUMB_E4M3, 0x1p-9, 0x01},
    {PLUMB_E5M2, 57344.0, 0x7b},
    {PLUMB_E5M2, 1e9, 0x7c},
    {PLUMB_E2M1, 6.0, 0x7},
    {PLUMB_E2M1, 100.0, 0x7},
    {PLUMB_E2M1, -0.5, 0x9},
    {PLUMB_E2M1, 2.5, 0x4},
    {PLUMB_E2M1, 3.5, 0x6},
    {PLUMB_E2M3, 7.5, 0x1f},
    {PLUMB_E3M2, 28.0, 0x1f},
    {PLUMB_UE8M0, 1.0, 127},
    {PLUMB_UE8M0, 0x1p-127, 0},
    {PLUMB_I1, 3.0, 1},
    {PLUMB_I8, -1.9, 0xff},
    {PLUMB_I8, 300.0, 0x7f},
    {PLUMB_I8, -300.0, 0x80},
    {PLUMB_I16, -32768.0, 0x8000},
    {PLUMB_I32, 2147483648.0, 0x7fffffff},
    {PLUMB_I32, (double)NAN, 0},
    {PLUMB_I64, -1.0, UINT64_MAX},
    {PLUMB_I64, 1e30, INT64_MAX},
};

static const struct {
  plumb_dtype type;
  uint64_t bits;
  double value;
} to_double[] = {
    {PLUMB_I1, 1, 1.0},
    {PLUMB_I8, 0x80, -128.0},
    {PLUMB_I16, 0xffff, -1.0},
    {PLUMB_I32, 0x80000000, -2147483648.0},
    {PLUMB_F16, 0x0001, 0x1p-24},
    {PLUMB_F16, 0xfbff, -65504.0},
    {PLUMB_BF16, 0x0080, 0x1p-126},
    {PLUMB_F32, 1, 0x1p-149},
    {PLUMB_TF32, 0x3f801fff, 1.0},
    {PLUMB_E4M3, 0x08, 0x1p-6},
    {PLUMB_E4M3, 0x78, 256.0},
    {PLUMB_E5M2, 0x01, 0x1p-16},
    {PLUMB_E2M1, 0x1, 0.5},
    {PLUMB_UE8M0, 254, 0x1p127},
};

/* All patterns of a type of up to 16 bits: NaN stays NaN, all else comes back as it was. */
static void check_round_trips(plumb_dtype type) {
  unsigned bits = plumb_dtype_table[type].bits;
  for (uint64_t pattern = 0; pattern < 1ull << bits; pattern++) {
    double value = plumb_dtype_to_double(type, pattern);
    uint64_t back = plumb_dtype_from_double(type, value);
    if (isnan(value))
      CHECK(isnan(plumb_dtype_to_double(type, back)), "%s 0x%llx", plumb_dtype_table[type].text,
            (unsigned long long)pattern);
    else
      CHECK(back == pattern, "%s 0x%llx comes back as 0x%llx", plumb_dtype_table[type].text,
            (unsigned long long)pattern, (unsigned long long)back);
  }
}

/* NaN patterns of each small type (OCP 8-bit floating point 1.0, table 2; OCP MX 1.0, 5.3). */
static const struct {
  plumb_dtype type;
  int nan_count;
} nans[] = {{PLUMB_E4M3, 2}, {PLUMB_E5M2, 6},  {PLUMB_E2M1, 0},   {PLUMB_E2M3, 0},
            {PLUMB_E3M2, 0}, {PLUMB_UE8M0, 1}, {PLUMB_F16, 2046}, {PLUMB_BF16, 254}};

int main(void) {
  for (size_t i = 0; i < sizeof from_double / sizeof *from_double; i++) {
    uint64_t bits = plumb_dtype_from_double(from_double[i].type, from_double[i].value);
    CHECK(bits == from_double[i].bits, "%s(%a) gives 0x%llx, not 0x%llx",
          plumb_dtype_table[from_double[i].type].text, from_double[i].value,
          (unsigned long long)bits, (unsigned long long)from_double[i].bits);
  }
  for (size_t i = 0; i < sizeof to_double / sizeof *to_double; i++) {
    double value = plumb_dtype_to_double(to_double[i].type, to_double[i].bits);
    CHECK(value == to_double[i].value, "%s 0x%llx gives %a",
          plumb_dtype_table[to_double[i].type].text, (unsigned long long)to_double[i].bits, value);
  }
  for (int type = 0; type < PLUMB_DTYPE_COUNT; type++) {
    const plumb_dtype_info *info = &plumb_dtype_table[type];
    plumb_dtype found = PLUMB_DTYPE_COUNT;
    CHECK(
        plumb_dtype_from_text(info->text, strlen(info->text), &found) && found == (plumb_dtype)type,
        "%s", info->text);
    if (info->bits <= 16) check_round_trips((plumb_dtype)type);
  }
  for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
    int count = 0;
    for (uint64_t p = 0; p < 1ull << plumb_dtype_table[nans[i].type].bits; p++)
      count += isnan(plumb_dtype_to_double(nans[i].type, p)) != 0;
    CHECK(count == nans[i].nan_count, "%s has %d NaNs", plumb_dtype_table[nans[i].type].text,
          count);
  }
  plumb_dtype type;
  CHECK(!plumb_dtype_from_text("f3", 2, &type), "a prefix is no type");
  CHECK(!plumb_dtype_from_text("float", 5, &type), "float is no type");
  return check_finish();
}

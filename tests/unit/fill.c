/* Fills: reproducible, in their range, and holding the values that they promise. */
#include "verify/fill.h"

#include <math.h>
#include <string.h>

#include "tests/unit/check.h"

enum { COUNT = 4096 };

static const struct {
  plumb_fill_kind kind;
  plumb_dtype type;
  uint64_t first[3];
} rows[] = {
    {PLUMB_FILL_ZEROS, PLUMB_F32, {0, 0, 0}},
    {PLUMB_FILL_ONES, PLUMB_F32, {0x3f800000, 0x3f800000, 0x3f800000}},
    {PLUMB_FILL_ONES, PLUMB_I8, {1, 1, 1}},
    {PLUMB_FILL_ONES, PLUMB_E4M3, {0x38, 0x38, 0x38}},
    {PLUMB_FILL_IOTA, PLUMB_F16, {0x0000, 0x3c00, 0x4000}},
    {PLUMB_FILL_IOTA, PLUMB_I64, {0, 1, 2}},
};

static uint64_t bits_at(plumb_dtype type, const unsigned char *data, size_t i) {
  uint64_t bits = 0;
  memcpy(&bits, data + i * plumb_dtype_bytes(type), plumb_dtype_bytes(type));
  return bits;
}

static double value_at(plumb_dtype type, const unsigned char *data, size_t i) {
  return plumb_dtype_to_double(type, bits_at(type, data, i));
}

static unsigned char data[COUNT * 8], again[COUNT * 8];

/* Element i depends on kind, seed and i alone. */
static void check_reproducible(plumb_fill_kind kind, plumb_dtype type) {
  plumb_fill fill = plumb_fill_of(kind);
  size_t bytes = COUNT * plumb_dtype_bytes(type);
  plumb_fill_write(&fill, type, 3, COUNT, data);
  plumb_fill_write(&fill, type, 3, COUNT / 2, again);
  CHECK(memcmp(data, again, bytes / 2) == 0, "%s changes with the count", plumb_fill_text(kind));
  bool constant = kind == PLUMB_FILL_ZEROS || kind == PLUMB_FILL_ONES || kind == PLUMB_FILL_IOTA;
  plumb_fill_write(&fill, type, 4, COUNT, again);
  CHECK((memcmp(data, again, bytes) == 0) == constant, "%s and the seed", plumb_fill_text(kind));
}

static void check_exact(plumb_dtype type) {
  plumb_fill fill = plumb_fill_of(PLUMB_FILL_EXACT);
  plumb_fill_write(&fill, type, 1, COUNT, data);
  int negative = 0, wrong = 0;
  for (size_t i = 0; i < COUNT; i++) {
    double v = value_at(type, data, i);
    negative += v < 0;
    wrong += fabs(v) > 7 || fmod(fabs(v), 2) != 1;
  }
  CHECK(wrong == 0, "%s: %d elements are no small odd integers", plumb_dtype_table[type].text,
        wrong);
  CHECK(negative > COUNT / 4 && negative < COUNT, "%d negative", negative);
}

static void check_special(plumb_dtype type, bool has_nan, bool has_infinity) {
  plumb_fill fill = plumb_fill_of(PLUMB_FILL_SPECIAL);
  plumb_fill_write(&fill, type, 1, COUNT, data);
  int nan = 0, infinite = 0, minus_zero = 0, subnormal = 0;
  double tiny = ldexp(1, 2 - (1 << (plumb_dtype_table[type].exponent_bits - 1)));
  for (size_t i = 0; i < COUNT; i++) {
    double v = value_at(type, data, i);
    nan += isnan(v) != 0;
    infinite += isinf(v) != 0;
    minus_zero += v == 0 && signbit(v);
    subnormal += v != 0 && fabs(v) < tiny;
  }
  const char *name = plumb_dtype_table[type].text;
  CHECK((nan > 0) == has_nan, "%s: %d NaN", name, nan);
  CHECK((infinite > 0) == has_infinity, "%s: %d infinities", name, infinite);
  CHECK(minus_zero > 0 && subnormal > 0, "%s: %d -0, %d subnormal", name, minus_zero, subnormal);
  CHECK(nan + infinite + minus_zero < COUNT / 4, "%s: too few ordinary values", name);
}

static void check_distributions(void) {
  plumb_fill normal = plumb_fill_of(PLUMB_FILL_NORMAL), uniform = plumb_fill_of(PLUMB_FILL_UNIFORM);
  normal.mean = 10;
  normal.std = 2;
  plumb_fill_write(&normal, PLUMB_F64, 1, COUNT, data);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < COUNT; i++) {
    double v = value_at(PLUMB_F64, data, i);
    sum += v;
    squares += v * v;
  }
  double mean = sum / (double)COUNT, std = sqrt(squares / (double)COUNT - mean * mean);
  CHECK(fabs(mean - 10) < 0.2 && fabs(std - 2) < 0.2, "mean %g, std %g", mean, std);

  uniform.low = -3;
  uniform.high = 5;
  plumb_fill_write(&uniform, PLUMB_F64, 1, COUNT, data);
  double low = 9, high = -9;
  for (size_t i = 0; i < COUNT; i++) {
    low = fmin(low, value_at(PLUMB_F64, data, i));
    high = fmax(high, value_at(PLUMB_F64, data, i));
  }
  CHECK(low >= -3 && low < -2.9 && high < 5 && high > 4.9, "[%g, %g]", low, high);
}

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plumb_fill fill = plumb_fill_of(rows[i].kind);
    plumb_fill_write(&fill, rows[i].type, 0, 3, data);
    for (size_t e = 0; e < 3; e++)
      CHECK(bits_at(rows[i].type, data, e) == rows[i].first[e], "row %zu, element %zu", i, e);
  }
  for (int kind = 0; kind < PLUMB_FILL_FILE; kind++) {
    check_reproducible((plumb_fill_kind)kind, PLUMB_F32);
    plumb_fill fill;
    const char *text = plumb_fill_text((plumb_fill_kind)kind);
    CHECK(plumb_fill_from_text(text, &fill) && (int)fill.kind == kind, "%s", text);
  }
  plumb_fill none;
  CHECK(!plumb_fill_from_text("gauss", &none), "gauss is no fill");
  CHECK(!plumb_fill_from_text("file", &none), "a file is given by its path");
  check_exact(PLUMB_F32);
  check_exact(PLUMB_BF16);
  check_exact(PLUMB_E4M3);
  check_exact(PLUMB_I32);
  check_special(PLUMB_F16, true, true);
  check_special(PLUMB_F32, true, true);
  check_special(PLUMB_F64, true, true);
  check_special(PLUMB_E4M3, true, false);
  check_distributions();
  return check_finish();
}

/* Size expressions: values, and the exact message of each that must fail. */
#include "tasks/size.h"

#include <string.h>

#include "tests/unit/check.h"

static bool lookup(void *user, const char *name, size_t length, int64_t *out_value) {
  (void)user;
  static const struct {
    const char *name;
    int64_t value;
  } sizes[] = {{"M", 7}, {"N", 1000}, {"tile_k", 32}, {"big", INT64_MAX}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (strlen(sizes[i].name) == length && memcmp(sizes[i].name, name, length) == 0) {
      *out_value = sizes[i].value;
      return true;
    }
  return false;
}

static const struct {
  const char *expression;
  int64_t value;
} good[] = {
    {"0", 0},
    {"42", 42},
    {" 42 ", 42},
    {"M", 7},
    {"M*N", 7000},
    {"M + N * 2", 2007},
    {"(M + N) * 2", 2014},
    {"100 - 30 - 20", 50},
    {"100 / 7 / 2", 7},
    {"100 % 7", 2},
    {"-M", -7},
    {"- -M", 7},
    {"3 - -4", 7},
    {"-7 / 2", -3},
    {"-7 % 2", -1},
    {"ceildiv(N, tile_k)", 32},
    {"ceildiv(1024, 32)", 32},
    {"ceildiv(0, 5)", 0},
    {"ceildiv(-7, 2)", -3},
    {"min(M, N)", 7},
    {"max(M, N)", 1000},
    {"max(min(M, 3), pow2(N))", 1024},
    {"pow2(0)", 1},
    {"pow2(1)", 1},
    {"pow2(1024)", 1024},
    {"pow2(1025)", 2048},
    {"4 * ((M))", 28},
    {"9223372036854775807", INT64_MAX},
    {"-big - 1", INT64_MIN},
};

static const struct {
  const char *expression;
  const char *message;
} bad[] = {
    {"", "size '': expected a number or a size at 'end'"},
    {"K", "size 'K': unknown size at 'K'"},
    {"M * Q + 1", "size 'M * Q + 1': unknown size at 'Q + 1'"},
    {"M +", "size 'M +': expected a number or a size at 'end'"},
    {"(M", "size '(M': expected ')' at 'end'"},
    {"M)", "size 'M)': unexpected text at ')'"},
    {"1.5", "size '1.5': unexpected text at '.5'"},
    {"M N", "size 'M N': unexpected text at 'N'"},
    {"M / 0", "size 'M / 0': division by zero at 'end'"},
    {"M % (N - N)", "size 'M % (N - N)': division by zero at 'end'"},
    {"big + 1", "size 'big + 1': overflow at 'end'"},
    {"big * 2", "size 'big * 2': overflow at 'end'"},
    {"(-big - 1) / -1", "size '(-big - 1) / -1': overflow at 'end'"},
    {"-big - 2", "size '-big - 2': overflow at 'end'"},
    {"pow2(big)", "size 'pow2(big)': overflow at 'end'"},
    {"9223372036854775808", "size '9223372036854775808': number too large at '8'"},
    {"min(M)", "size 'min(M)': wrong number of arguments before at 'end'"},
    {"pow2(M, N)", "size 'pow2(M, N)': wrong number of arguments before at 'end'"},
    {"max(1, 2, 3)", "size 'max(1, 2, 3)': too many arguments at ' 3)'"},
    {"ceildiv(M, 0)", "size 'ceildiv(M, 0)': ceildiv by a number that is not positive at 'end'"},
    {"round(M, 2)",
     "size 'round(M, 2)': unknown function (known: ceildiv, min, max, pow2) at 'end'"},
};

int main(void) {
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    plumb_diag diag = {0};
    int64_t value = 0;
    plumb_status status = plumb_size_evaluate(good[i].expression, lookup, NULL, &value, &diag);
    CHECK(status == PLUMB_OK, "'%s': %s", good[i].expression, diag.message);
    CHECK(value == good[i].value, "'%s' gives %lld", good[i].expression, (long long)value);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    plumb_diag diag = {0};
    int64_t value = 0;
    plumb_status status = plumb_size_evaluate(bad[i].expression, lookup, NULL, &value, &diag);
    CHECK(status == PLUMB_BAD_INPUT, "'%s' gives status %d", bad[i].expression, (int)status);
    CHECK(strcmp(diag.message, bad[i].message) == 0, "got \"%s\"", diag.message);
  }
  /* Depth is limited, so that no input can exhaust the stack. */
  char deep[201];
  memset(deep, '(', 200);
  deep[200] = 0;
  plumb_diag diag = {0};
  int64_t value;
  CHECK(plumb_size_evaluate(deep, lookup, NULL, &value, &diag) == PLUMB_BAD_INPUT, "deep nesting");
  CHECK(strstr(diag.message, "nested too deeply"), "got \"%s\"", diag.message);
  return check_finish();
}

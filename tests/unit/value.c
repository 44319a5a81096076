/* Values of --arg and --expect: bits and shape of good ones, messages of bad ones. */
#include "tasks/value.h"

#include <string.h>

#include "tests/unit/check.h"

enum { NONE = PLUMB_DTYPE_COUNT };

static const struct {
  const char *text;
  int type; /* of the signature, or NONE */
  plumb_dtype found;
  bool is_scalar;
  size_t rank;
  int64_t dims[3];
  size_t count;
  uint64_t bits[4];
} good[] = {
    {"3", NONE, PLUMB_I32, true, 0, {0}, 1, {3}},
    {"-3", NONE, PLUMB_I32, true, 0, {0}, 1, {0xfffffffd}},
    {"2.0", NONE, PLUMB_F32, true, 0, {0}, 1, {0x40000000}},
    {"nan", NONE, PLUMB_F32, true, 0, {0}, 1, {0x7fc00000}},
    {"2", PLUMB_F32, PLUMB_F32, true, 0, {0}, 1, {0x40000000}},
    {"0x7fc00001", PLUMB_F32, PLUMB_F32, true, 0, {0}, 1, {0x7fc00001}},
    {"-1", PLUMB_I64, PLUMB_I64, true, 0, {0}, 1, {UINT64_MAX}},
    {"18446744073709551615", PLUMB_I64, PLUMB_I64, true, 0, {0}, 1, {UINT64_MAX}},
    {"true", PLUMB_I1, PLUMB_I1, true, 0, {0}, 1, {1}},
    {"f16:1.5", NONE, PLUMB_F16, true, 0, {0}, 1, {0x3e00}},
    {"0.1", PLUMB_F32, PLUMB_F32, true, 0, {0}, 1, {0x3dcccccd}},
    {"0.1", PLUMB_F64, PLUMB_F64, true, 0, {0}, 1, {0x3fb999999999999a}},
    {"[]", PLUMB_F32, PLUMB_F32, false, 1, {0}, 0, {0}},
    {"[1, 2,3]", NONE, PLUMB_I32, false, 1, {3}, 3, {1, 2, 3}},
    {"[1,2.5,nan,0x7fc00000]",
     NONE,
     PLUMB_F32,
     false,
     1,
     {4},
     4,
     {0x3f800000, 0x40200000, 0x7fc00000, 0x7fc00000}},
    {"[inf,-inf,-0.0]", NONE, PLUMB_F32, false, 1, {3}, 3, {0x7f800000, 0xff800000, 0x80000000}},
    {"2x2:[1,2,3,4]", NONE, PLUMB_I32, false, 2, {2, 2}, 4, {1, 2, 3, 4}},
    {"f16:[1,2]", NONE, PLUMB_F16, false, 1, {2}, 2, {0x3c00, 0x4000}},
    {"i64:1x2x2:[1,2,3,-4]", NONE, PLUMB_I64, false, 3, {1, 2, 2}, 4, {1, 2, 3, (uint64_t)-4}},
    {"f32:4:fill:iota", NONE, PLUMB_F32, false, 1, {4}, 4, {0, 0x3f800000, 0x40000000, 0x40400000}},
    {"2:fill:ones,7",
     PLUMB_F64,
     PLUMB_F64,
     false,
     1,
     {2},
     2,
     {0x3ff0000000000000, 0x3ff0000000000000}},
};

static const struct {
  const char *text;
  int type;
  const char *message;
} bad[] = {
    {"", NONE, "value '': is no number, list, @file.npy or fill:KIND,seed"},
    {"x", NONE, "value 'x': is no number, list, @file.npy or fill:KIND,seed"},
    {"3 4", NONE, "value '3 4': is no number, list, @file.npy or fill:KIND,seed"},
    {"2.5", PLUMB_I32, "value '2.5': is no number, list, @file.npy or fill:KIND,seed"},
    {"0x1ffff", PLUMB_F16, "value '0x1ffff': is no number, list, @file.npy or fill:KIND,seed"},
    {"-0x1", PLUMB_F32, "value '-0x1': is no number, list, @file.npy or fill:KIND,seed"},
    {"[1,2", NONE, "value '[1,2': expected ']' at the end"},
    {"[1,x]", NONE, "value '[1,x]': an element is no number of its type"},
    {"[1,,2]", NONE, "value '[1,,2]': an element is no number of its type"},
    {"2x2:[1,2,3]", NONE, "value '2x2:[1,2,3]': the number of elements does not fit the shape"},
    {"2y2:[1,2,3,4]", NONE, "value '2y2:[1,2,3,4]': the shape before ':' is no shape"},
    {"f64:[1]", PLUMB_F32, "value 'f64:[1]': its type is not that of the argument"},
    {"4:fill:gauss", NONE,
     "value '4:fill:gauss': unknown fill (known: exact, normal, uniform, special, zeros, ones, "
     "iota)"},
    {"99999999x99999999:fill:ones", NONE,
     "value '99999999x99999999:fill:ones': its shape is unknown or too large; write it as 2x3:..."},
};

static void check_shapes(plumb_arena *arena) {
  const int64_t open[] = {-1, 3}, closed[] = {2, 2}, unknown[] = {-1, -1};
  plumb_value v;
  plumb_diag diag = {0};
  CHECK(plumb_value_parse(arena, "[1,2,3,4,5,6]", PLUMB_F32, open, 2, &v, &diag) == PLUMB_OK, "%s",
        diag.message);
  CHECK(v.array.dims[0] == 2 && v.array.dims[1] == 3, "the open dimension follows from the count");
  CHECK(plumb_value_parse(arena, "[1,2,3,4]", PLUMB_F32, open, 2, &v, &diag) == PLUMB_BAD_INPUT,
        "4 elements do not fill rows of 3");
  CHECK(plumb_value_parse(arena, "[1,2,3]", PLUMB_F32, closed, 2, &v, &diag) == PLUMB_BAD_INPUT,
        "3 elements are no 2x2");
  CHECK(plumb_value_parse(arena, "[1,2]", PLUMB_F32, unknown, 2, &v, &diag) == PLUMB_BAD_INPUT,
        "two open dimensions");
  CHECK(strstr(diag.message, "write it as 2x3:[...]"), "%s", diag.message);
}

static const struct {
  const char *text, *printed;
} prints[] = {{"3", "3"},
              {"[1,2.5,nan,-inf]", "[1, 2.5, nan, -inf]"},
              {"0.1", "0.100000001"},
              {"f64:0.1", "0.10000000000000001"},
              {"i64:[-9223372036854775808]", "[-9223372036854775808]"},
              {"2x2:[1,2,3,4]", "[1, 2, 3, 4]"}};

int main(void) {
  plumb_arena *arena = plumb_arena_create();
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    plumb_value v;
    plumb_diag diag = {0};
    plumb_status status =
        plumb_value_parse(arena, good[i].text, (plumb_dtype)good[i].type, NULL, 0, &v, &diag);
    CHECK(status == PLUMB_OK, "%s", diag.message);
    if (status != PLUMB_OK) continue;
    const plumb_array *a = &v.array;
    CHECK(a->type == good[i].found && v.is_scalar == good[i].is_scalar, "%s", good[i].text);
    CHECK(a->rank == good[i].rank && a->count == good[i].count, "%s: rank %zu, count %zu",
          good[i].text, a->rank, a->count);
    if (a->rank != good[i].rank || a->count != good[i].count) continue;
    for (size_t d = 0; d < a->rank; d++)
      CHECK(a->dims[d] == good[i].dims[d], "%s: dimension %zu", good[i].text, d);
    for (size_t e = 0; e < a->count; e++) {
      uint64_t bits = 0;
      memcpy(&bits, (char *)a->data + e * plumb_dtype_bytes(a->type), plumb_dtype_bytes(a->type));
      CHECK(bits == good[i].bits[e], "%s: element %zu is 0x%llx", good[i].text, e,
            (unsigned long long)bits);
    }
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    plumb_value v;
    plumb_diag diag = {0};
    plumb_status status =
        plumb_value_parse(arena, bad[i].text, (plumb_dtype)bad[i].type, NULL, 0, &v, &diag);
    CHECK(status == PLUMB_BAD_INPUT, "'%s' gives status %d", bad[i].text, (int)status);
    CHECK(strcmp(diag.message, bad[i].message) == 0, "got \"%s\"", diag.message);
  }
  check_shapes(arena);
  for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
    plumb_value v;
    plumb_diag diag = {0};
    plumb_text out = plumb_text_create(arena);
    CHECK(
        plumb_value_parse(arena, prints[i].text, PLUMB_DTYPE_COUNT, NULL, 0, &v, &diag) == PLUMB_OK,
        "%s", diag.message);
    plumb_value_print(&v.array, &out);
    CHECK(strcmp(out.data, prints[i].printed) == 0, "got \"%s\"", out.data);
  }
  plumb_arena_destroy(arena);
  return check_finish();
}

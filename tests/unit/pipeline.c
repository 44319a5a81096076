/* Pass pipelines split into single passes. */
#include <string.h>

#include "lower/lower.h"
#include "tests/unit/check.h"

static const struct {
  const char *pipeline;
  const char *steps[6]; /* NULL ends */
} good[] = {
    {"", {NULL}},
    {"canonicalize", {"canonicalize"}},
    {"canonicalize,cse", {"canonicalize", "cse"}},
    {" canonicalize , cse ", {"canonicalize", "cse"}},
    {"builtin.module(canonicalize,cse)", {"canonicalize", "cse"}},
    {"func.func(cse)", {"func.func(cse)"}},
    {"func.func(cse,canonicalize),inline", {"func.func(cse)", "func.func(canonicalize)", "inline"}},
    {"gpu.module(gpu.func(cse),canonicalize)",
     {"gpu.module(gpu.func(cse))", "gpu.module(canonicalize)"}},
    {"builtin.module(gpu.module(a,b),c)", {"gpu.module(a)", "gpu.module(b)", "c"}},
    {"a{x=1,2 y={z=3}},b", {"a{x=1,2 y={z=3}}", "b"}},
    {"func.func(a{x=f(1),y},b)", {"func.func(a{x=f(1),y})", "func.func(b)"}},
    {"default<O2>,a<b;c>", {"default<O2>", "a<b;c>"}},
};

static const struct {
  const char *pipeline;
  const char *message;
} bad[] = {
    {"func.func(cse", "pass pipeline: brackets do not match at 'func.func(cse'"},
    {"cse,a)", "pass pipeline: brackets do not match at 'a)'"},
    {"a{x=1,b", "pass pipeline: brackets do not match at 'a{x=1,b'"},
    {"a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(b))))))))))))))))))",
     "pass pipeline is nested deeper than 16 levels"},
};

int main(void) {
  plumb_arena *arena = plumb_arena_create();
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    const char **steps = NULL;
    size_t count = 0, expected = 0;
    plumb_diag diag = {0};
    plumb_status status =
        plumb_lower_split_pipeline(arena, good[i].pipeline, &steps, &count, &diag);
    CHECK(status == PLUMB_OK, "'%s': %s", good[i].pipeline, diag.message);
    while (expected < 6 && good[i].steps[expected]) expected++;
    CHECK(count == expected, "'%s' gives %zu steps", good[i].pipeline, count);
    for (size_t s = 0; s < count && s < expected; s++)
      CHECK(strcmp(steps[s], good[i].steps[s]) == 0, "step %zu is '%s'", s, steps[s]);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const char **steps;
    size_t count;
    plumb_diag diag = {0};
    plumb_status status = plumb_lower_split_pipeline(arena, bad[i].pipeline, &steps, &count, &diag);
    CHECK(status == PLUMB_BAD_INPUT, "'%s' gives status %d", bad[i].pipeline, (int)status);
    CHECK(strcmp(diag.message, bad[i].message) == 0, "got \"%s\"", diag.message);
  }
  const char **steps;
  size_t count;
  plumb_diag diag = {0};
  CHECK(plumb_lower_split_pipeline(arena, plumb_lower_default_pipeline(), &steps, &count, &diag) ==
            PLUMB_OK,
        "the stock pipeline: %s", diag.message);
  CHECK(count >= 15, "the stock pipeline has %zu steps", count);
  plumb_arena_destroy(arena);
  return check_finish();
}

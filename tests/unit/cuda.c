/* The CUDA front end: what flags mean, and what a caller is told when a compiler
 * refuses or is missing. Without a toolkit only the first part runs. */
#include "frontends/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontends/child.h"
#include "tests/unit/check.h"

static const struct flag_row {
  const char *flag;
  bool ftz, prec_div, prec_sqrt, fmad, fast;
} flag_rows[] = {
    {"-O2", false, true, true, true, false},
    {"-use_fast_math", true, false, false, true, true},
    {"--use_fast_math", true, false, false, true, true},
    {"-ftz=true", true, true, true, true, false},
    {"-prec-div=false", false, false, true, true, false},
    {"-prec-sqrt=false", false, true, false, true, false},
    {"-fmad=false", false, true, true, false, false},
    {"-ffp-contract=off", false, true, true, false, false},
    {"-fgpu-flush-denormals-to-zero", true, true, true, true, false},
};

static void check_flags(void) {
  for (size_t i = 0; i < sizeof flag_rows / sizeof *flag_rows; i++) {
    const struct flag_row *r = &flag_rows[i];
    plumb_cuda_options o = {.flags = &r->flag, .flag_count = 1};
    plumb_cuda_numerics n = plumb_cuda_read_numerics(&o);
    CHECK(n.ftz == r->ftz && n.prec_div == r->prec_div && n.prec_sqrt == r->prec_sqrt &&
              n.fmad == r->fmad && n.fast_intrinsics == r->fast,
          "%s", r->flag);
  }
}

static void check_child(plumb_arena *arena) {
  plumb_child child;
  plumb_diag diag = {0};
  const char *missing[] = {"no-such-program-here", NULL};
  CHECK(plumb_child_run(arena, missing, 1000, &child, &diag) == PLUMB_UNSUPPORTED, "started");
  const char *slow[] = {"sleep", "30", NULL};
  CHECK(plumb_child_run(arena, slow, 100, &child, &diag) == PLUMB_OK && child.timed_out,
        "not ended");
  const char *echo[] = {"echo", "a b", NULL};
  CHECK(plumb_child_run(arena, echo, 5000, &child, &diag) == PLUMB_OK && child.exit_code == 0 &&
            strcmp(child.output, "a b\n") == 0,
        "'%s'", child.output);
}

static void check_messages(plumb_arena *arena) {
  plumb_diag diag = {0};
  char *text;
  size_t length;
  plumb_cuda_options o = {.arch = "sm_90"};
  plumb_status status = plumb_cuda_to_llvm(arena, &o, "no/such.cu", &text, &length, &diag);
  CHECK(status == PLUMB_BAD_INPUT && strcmp(diag.path, "no/such.cu") == 0, "%s", diag.message);
  if (!plumb_cuda_toolkit(arena)) return;
  char path[] = "/tmp/plumb-test-XXXXXX.cu";
  int fd = mkstemps(path, 3);
  static const char source[] = "__global__ void k(float *x) {\n  x[0] = undeclared_name;\n}\n";
  CHECK(fd >= 0 && write(fd, source, sizeof source - 1) == (ssize_t)sizeof source - 1, "no file");
  close(fd);
  for (int nvcc = 0; nvcc < 2; nvcc++) {
    diag = (plumb_diag){0};
    status = nvcc ? plumb_cuda_to_ptx(arena, &o, path, &text, &length, &diag)
                  : plumb_cuda_to_llvm(arena, &o, path, &text, &length, &diag);
    CHECK(status == PLUMB_BAD_INPUT && diag.line == 2 && strstr(diag.message, "undeclared_name"),
          "%d: line %d: %s", (int)status, diag.line, diag.message);
  }
  unlink(path);
}

static void check_ptx(plumb_arena *arena) {
  static const char *const flags[] = {"-O2", "-use_fast_math"};
  plumb_diag diag = {0};
  char *text;
  size_t length;
  plumb_cuda_options o = {.arch = "sm_90", .flags = flags, .flag_count = 2};
  const char *source = "tasks/catalog/row-softmax/softmax.cu";
  plumb_status status = plumb_cuda_to_ptx(arena, &o, source, &text, &length, &diag);
  CHECK(status == PLUMB_OK && strstr(text, "div.approx.ftz.f32") && strstr(text, ".loc"), "%s",
        diag.message);
  status = plumb_cuda_to_llvm(arena, &o, source, &text, &length, &diag);
  CHECK(
      status == PLUMB_OK && strstr(text, "nvvm-reflect-prec-sqrt") && strstr(text, "preserve-sign"),
      "%s", diag.message);
}

/* -prec-div=false reaches divisions of floats, and neither those of doubles nor roots. */
static void check_division(plumb_arena *arena) {
  static const char source[] =
      "__global__ void k(float *x, double *y) {\n  x[0] /= x[1];\n  y[0] /= y[1];\n"
      "  x[2] = sqrtf(x[2]);\n}\n";
  char path[] = "/tmp/plumb-test-XXXXXX.cu";
  int fd = mkstemps(path, 3);
  CHECK(fd >= 0 && write(fd, source, sizeof source - 1) == (ssize_t)sizeof source - 1, "no file");
  close(fd);
  for (int precise = 0; precise < 2; precise++) {
    const char *flag = precise ? "-prec-div=true" : "-prec-div=false";
    plumb_cuda_options o = {.arch = "sm_90", .flags = &flag, .flag_count = 1};
    plumb_diag diag = {0};
    char *text = "";
    size_t length;
    plumb_status status = plumb_cuda_to_llvm(arena, &o, path, &text, &length, &diag);
    const char *first = strstr(text, "afn ");
    CHECK(status == PLUMB_OK && (first == NULL) == (precise == 1), "%s: %s", flag, diag.message);
    CHECK(!first || !strstr(first + 1, "afn "), "%s: more than the one division", flag);
    CHECK(!first || strstr(text, "fdiv afn contract float"), "%s: another instruction", flag);
  }
  unlink(path);
}

int main(void) {
  plumb_arena *arena = plumb_arena_create();
  check_flags();
  check_child(arena);
  check_messages(arena);
  if (plumb_cuda_toolkit(arena)) {
    check_ptx(arena);
    check_division(arena);
  }
  plumb_arena_destroy(arena);
  return check_finish();
}

/* Pass pipelines as data: the stock one, and splitting one into single passes. */
#include <string.h>

#include "lower/lower.h"

const char *plumb_lower_default_pipeline(void) {
  /* The order follows MLIR's own GPU examples: bufferize, loops on threads, outline,
   * then device code to NVVM and host code to LLVM. The last pass writes line tables,
   * so that locations of stage 0 come out as .loc in the PTX. */
  return "builtin.module("
         "one-shot-bufferize{bufferize-function-boundaries=1 "
         "function-boundary-type-conversion=identity-layout-map},"
         "func.func(convert-linalg-to-parallel-loops),"
         "canonicalize,"
         /* Blocks of 32 or 32 x 32 threads; without it every iteration is a block of one. */
         "func.func(scf-parallel-loop-tiling{parallel-loop-tile-sizes=32,32 "
         "no-min-max-bounds=true}),"
         "func.func(gpu-map-parallel-loops),"
         "convert-parallel-loops-to-gpu,"
         "lower-affine,"
         "gpu-kernel-outlining,"
         "gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,canonicalize,"
         "reconcile-unrealized-casts),"
         "convert-scf-to-cf,"
         "expand-strided-metadata,"
         "lower-affine,"
         "finalize-memref-to-llvm,"
         "convert-arith-to-llvm,"
         "convert-index-to-llvm,"
         "convert-cf-to-llvm,"
         "convert-func-to-llvm,"
         "ensure-debug-info-scope-on-llvm-func{emission-kind=LineTablesOnly})";
}

typedef struct splitter {
  plumb_arena *arena;
  const char **steps;
  size_t count, capacity;
  plumb_diag *diag;
} splitter;

/* The end of one element: the next comma or closing bracket outside all brackets. */
static const char *element_end(const char *at, const char *end) {
  int depth = 0;
  for (; at < end; at++) {
    if (*at == '(' || *at == '{' || *at == '[' || *at == '<') depth++;
    if (*at == ')' || *at == '}' || *at == ']' || *at == '>') depth--;
    if (depth < 0) return NULL;
    if (depth == 0 && *at == ',') return at;
  }
  return depth == 0 ? end : NULL;
}

/* A nesting is `op.name( ... )`: the bracket comes before any option brace. */
static const char *nest_open(const char *at, const char *end) {
  for (; at < end; at++) {
    if (*at == '{') return NULL;
    if (*at == '(') return at;
  }
  return NULL;
}

static plumb_status split(splitter *s, const char *prefix, const char *suffix, const char *at,
                          const char *end, int depth) {
  if (depth > 16)
    return plumb_fail(s->diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                      "pass pipeline is nested deeper than 16 levels");
  while (at < end) {
    while (at < end && strchr(" \t\n\r,", *at)) at++;
    if (at == end) break;
    const char *stop = element_end(at, end);
    if (!stop)
      return plumb_fail(s->diag, PLUMB_BAD_INPUT, NULL, 0, 0,
                        "pass pipeline: brackets do not match at '%.40s'", at);
    const char *open = nest_open(at, stop);
    const char *close = stop;
    while (close > at && strchr(" \t\n\r", close[-1])) close--;
    if (open && close[-1] == ')') {
      bool root = strncmp(at, "builtin.module", (size_t)(open - at)) == 0 && !*prefix;
      const char *inner_prefix =
          root ? prefix : plumb_arena_printf(s->arena, "%s%.*s(", prefix, (int)(open - at), at);
      const char *inner_suffix = root ? suffix : plumb_arena_printf(s->arena, ")%s", suffix);
      PLUMB_TRY(split(s, inner_prefix, inner_suffix, open + 1, close - 1, depth + 1));
    } else {
      s->steps = plumb_arena_grow(s->arena, s->steps, &s->capacity, s->count + 1, sizeof *s->steps);
      s->steps[s->count++] =
          plumb_arena_printf(s->arena, "%s%.*s%s", prefix, (int)(close - at), at, suffix);
    }
    at = stop;
  }
  return PLUMB_OK;
}

plumb_status plumb_lower_split_pipeline(plumb_arena *arena, const char *pipeline,
                                        const char ***out_steps, size_t *out_count,
                                        plumb_diag *diag) {
  splitter s = {.arena = arena, .diag = diag};
  PLUMB_TRY(split(&s, "", "", pipeline, pipeline + strlen(pipeline), 0));
  *out_steps = s.steps;
  *out_count = s.count;
  return PLUMB_OK;
}

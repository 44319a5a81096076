/* Task files: what is read from good ones, and the place and message of each bad one. */
#include "tasks/task.h"

#include <string.h>

#include "tests/unit/check.h"

#define SIDES "reference: {source: r.mlir}\ncandidate: {source: c.cu}\n"

static const struct {
  const char *name;
  const char *text;
  const char *message; /* with place */
} bad[] = {
    {"empty", "", "d/t.yaml:1:1: is empty; a task file starts with 'plumb: 1'"},
    {"no mapping", "hello\n", "d/t.yaml:1:1: the task file must be a mapping"},
    {"truncated", "plumb: 1\nreference: {source: r.mlir\n",
     "d/t.yaml:3:1: is no valid YAML: did not find expected ',' or '}'"},
    {"tab", "plumb: 1\nsizes:\n\tM: 1\n",
     "d/t.yaml:3:1: is no valid YAML: found character that cannot start any token"},
    {"version", "plumb: 2\n" SIDES,
     "d/t.yaml:1:8: format version '2' is not known; this program reads version 1"},
    {"unknown key", "plumb: 1\nreferense: {source: r.mlir}\n",
     "d/t.yaml:2:1: unknown key 'referense'; did you mean 'reference'?"},
    {"unknown key in a side", "plumb: 1\nreference: {source: r.mlir,\n  entri: f}\n",
     "d/t.yaml:3:3: unknown key 'entri'; did you mean 'entry'?"},
    {"unknown key in launch", "candidate:\n  source: c.cu\n  launch: {gird: [1]}\n",
     "d/t.yaml:3:12: unknown key 'gird'; did you mean 'grid'?"},
    {"unknown key in a tensor", SIDES "tensors:\n  x: {type: f32, shpe: [1]}\n",
     "d/t.yaml:4:18: unknown key 'shpe'; did you mean 'shape'?"},
    {"twice", "plumb: 1\nname: a\nname: b\n",
     "d/t.yaml:3:1: key 'name' stands twice in the task file"},
    {"no reference", "plumb: 1\ncandidate: {source: c.cu}\n",
     "d/t.yaml:1:1: key 'reference' is missing"},
    {"no candidate", "plumb: 1\nreference: {source: r.mlir}\n",
     "d/t.yaml:1:1: key 'candidate' is missing"},
    {"no source", "reference: {entry: f}\n", "d/t.yaml:1:12: reference needs a 'source'"},
    {"side no mapping", "reference: r.mlir\n", "d/t.yaml:1:12: reference must be a mapping"},
    {"list for a value", "name: [a]\n", "d/t.yaml:1:7: name must be a single value"},
    {"compiler", "candidate:\n  source: c.cu\n  compile: {with: gcc}\n",
     "d/t.yaml:3:19: compiler 'gcc' is not known (known: clang, nvcc)"},
    {"arch", "candidate:\n  source: c.cu\n  compile: {arch: 90}\n",
     "d/t.yaml:3:19: arch '90' must be like sm_90"},
    {"grid of four", "candidate:\n  source: c.cu\n  launch: {grid: [1, 2, 3, 4]}\n",
     "d/t.yaml:3:18: grid takes one to three sizes"},
    {"arguments no list", "candidate:\n  source: c.cu\n  arguments: x\n",
     "d/t.yaml:3:14: arguments must be a list"},
    {"size without value", "sizes: {M: []}\n", "d/t.yaml:1:12: size 'M' has no value"},
    {"no type", "tensors:\n  x: {shape: [1]}\n", "d/t.yaml:2:6: tensor 'x' needs a 'type'"},
    {"type", "tensors:\n  x: {type: float}\n",
     "d/t.yaml:2:13: element type 'float' is not known (known: i1 i8 i16 i32 i64 f16 bf16 f32 f64 "
     "e4m3 e5m2 ...)"},
    {"role", "tensors:\n  x: {type: f32, role: out}\n",
     "d/t.yaml:2:24: role 'out' is not known (known: input, output, inout)"},
    {"fill", "tensors:\n  x: {type: f32, fill: gauss}\n",
     "d/t.yaml:2:24: fill 'gauss' is not known (known: exact, normal, uniform, special, zeros, "
     "ones, iota, @file.npy)"},
    {"no fill", "tensors:\n  x: {type: f32, fill: []}\n", "d/t.yaml:2:24: fill is an empty list"},
    {"fill key", "tensors:\n  x: {type: f32, fill: {kind: normal, sdt: 2}}\n",
     "d/t.yaml:2:39: unknown key 'sdt'; did you mean 'std'?"},
    {"fill number", "tensors:\n  x: {type: f32, fill: {kind: normal, std: two}}\n",
     "d/t.yaml:2:44: std: 'two' is no number"},
    {"level", "accept: {level: equal}\n",
     "d/t.yaml:1:17: level 'equal' is not known (known: identical, reassociated, algebraic, "
     "bounded)"},
    {"level of failure", "accept: {level: diverged}\n",
     "d/t.yaml:1:17: level 'diverged' is not known (known: identical, reassociated, algebraic, "
     "bounded)"},
    {"negative tolerance", "accept: {abs: -1}\n", "d/t.yaml:1:15: abs must not be negative"},
    {"no tolerance", "accept: {ulp: few}\n", "d/t.yaml:1:15: ulp: 'few' is no number"},
};

/* Sizes that read well and cannot be evaluated. */
static const struct {
  const char *sizes;
  const char *message;
} bad_shapes[] = {
    {"sizes: {M: K}\n", "d/t.yaml:3: size 'K': unknown size at 'K'"},
    {"sizes:\n  M: N\n  N: M\n", "d/t.yaml:5: size 'M': unknown size at 'M'"},
    {"sizes: {M: 3 - 4}\n", "d/t.yaml:3: size M = 3 - 4 is -1; sizes are not negative"},
    {"sizes: {A: [1,2,3,4,5,6,7,8,9,10,11], B: [1,2,3,4,5,6,7,8,9,10,11],\n"
     "  C: [1,2,3,4,5,6,7,8,9,10,11], D: [1,2,3,4,5,6,7,8,9,10,11]}\n",
     "d/t.yaml: the sizes give more than 10000 shapes"},
};

static const char good[] =
    "plumb: 1\n"
    "name: softmax\n"
    "category: translation\n"
    "reference: {source: r.mlir, entry: softmax, pipeline: 'canonicalize,cse'}\n"
    "candidate:\n"
    "  source: /abs/c.cu\n"
    "  entry: k\n"
    "  compile: {with: nvcc, arch: sm_80, flags: [-O2, -use_fast_math]}\n"
    "  launch: {grid: [M, 2], block: ['pow2(N)'], shared_bytes: 4 * N}\n"
    "  arguments: [x, y, N, P]\n"
    "sizes: {M: [1, 7], N: [31, 1000], P: 'ceildiv(N, 32)'}\n"
    "tensors:\n"
    "  x: {type: f32, shape: [M, N], fill: [exact, '@in.npy', {kind: normal, mean: -2, std: 4}]}\n"
    "  y: {type: bf16, shape: [M], role: output}\n"
    "accept: {abs: 1e-6, ulp: 4}\n";

static void check_good(plumb_arena *arena) {
  plumb_task *t = NULL;
  plumb_diag diag = {0};
  plumb_status status = plumb_task_read(arena, "d/t.yaml", good, sizeof good - 1, &t, &diag);
  CHECK(status == PLUMB_OK, "%d: %s", diag.line, diag.message);
  if (status != PLUMB_OK) return;
  CHECK(strcmp(t->name, "softmax") == 0, "%s", t->name);
  CHECK(strcmp(t->reference.source, "d/r.mlir") == 0, "%s", t->reference.source);
  CHECK(strcmp(t->reference.pipeline, "canonicalize,cse") == 0, "%s", t->reference.pipeline);
  CHECK(!t->reference.has_arguments, "the reference has no arguments");
  const plumb_task_side *c = &t->candidate;
  CHECK(strcmp(c->source, "/abs/c.cu") == 0 && c->source_line == 6, "%s", c->source);
  CHECK(strcmp(c->compile_with, "nvcc") == 0 && strcmp(c->arch, "sm_80") == 0, "compile");
  CHECK(c->flag_count == 2 && strcmp(c->flags[1], "-use_fast_math") == 0, "flags");
  CHECK(strcmp(c->grid[1].text, "2") == 0 && !c->grid[2].text && c->grid[0].line == 9, "grid");
  CHECK(c->argument_count == 4 && strcmp(c->arguments[3].text, "P") == 0, "arguments");
  CHECK(t->tensor_count == 2 && t->tensors[0].rank == 2, "tensors");
  CHECK(t->tensors[0].fill_count == 3 && t->tensors[0].role == PLUMB_ROLE_INPUT, "x");
  CHECK(strcmp(t->tensors[0].fills[1].file, "d/in.npy") == 0, "%s", t->tensors[0].fills[1].file);
  CHECK(t->tensors[0].fills[2].mean == -2 && t->tensors[0].fills[2].std == 4, "a fill's numbers");
  CHECK(t->tensors[1].type == PLUMB_BF16 && t->tensors[1].role == PLUMB_ROLE_OUTPUT, "y");
  CHECK(t->accept.tolerance && t->accept.abs == 1e-6 && t->accept.ulp == 4, "accept");

  plumb_task_shape *shapes;
  size_t count = 0;
  CHECK(plumb_task_shapes(arena, t, &shapes, &count, &diag) == PLUMB_OK, "%s", diag.message);
  CHECK(count == 4, "%zu shapes", count);
  if (count != 4) return;
  const char *text = plumb_task_shape_text(arena, t, &shapes[3]);
  CHECK(strcmp(text, "M=7 N=1000 P=32") == 0, "%s", text);
  int64_t bytes = 0;
  CHECK(plumb_task_evaluate(t, &shapes[1], c->shared_bytes, &bytes, &diag) == PLUMB_OK, "%s",
        diag.message);
  CHECK(bytes == 4000, "%lld", (long long)bytes);
}

int main(void) {
  plumb_arena *arena = plumb_arena_create();
  char sentence[1400];
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    plumb_task *task;
    plumb_diag diag = {0};
    plumb_status status =
        plumb_task_read(arena, "d/t.yaml", bad[i].text, strlen(bad[i].text), &task, &diag);
    plumb_diag_format(&diag, sentence, sizeof sentence);
    CHECK(status == PLUMB_BAD_INPUT, "%s: status %d", bad[i].name, (int)status);
    CHECK(strcmp(sentence, bad[i].message) == 0, "%s: got \"%s\"", bad[i].name, sentence);
  }
  for (size_t i = 0; i < sizeof bad_shapes / sizeof *bad_shapes; i++) {
    plumb_task *task;
    plumb_diag diag = {0};
    plumb_task_shape *shapes;
    size_t count;
    const char *text = plumb_arena_printf(arena, "%s%s", SIDES, bad_shapes[i].sizes);
    plumb_status status = plumb_task_read(arena, "d/t.yaml", text, strlen(text), &task, &diag);
    CHECK(status == PLUMB_OK, "%s", diag.message);
    if (status != PLUMB_OK) continue;
    status = plumb_task_shapes(arena, task, &shapes, &count, &diag);
    plumb_diag_format(&diag, sentence, sizeof sentence);
    CHECK(status == PLUMB_BAD_INPUT, "status %d", (int)status);
    CHECK(strcmp(sentence, bad_shapes[i].message) == 0, "got \"%s\"", sentence);
  }
  check_good(arena);
  plumb_arena_destroy(arena);
  return check_finish();
}

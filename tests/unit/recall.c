/* A launch that comes again is taken from memory, and only then: whatever it depends on is
 * changed in turn. Values and counters are those of executing it. */
#include <stdlib.h>
#include <string.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

enum { LANES = 64, WORDS = 2 * LANES };

#define HEAD \
  ".version 9.0\n.target sm_90\n.address_size 64\n.global .align 4 .u32 step = 3;\n" \
  ".global .align 4 .u32 other = 5;\n"
#define DOUBLE(factor) \
  ".func (.reg .b32 %out) twice(.reg .b32 %in) { mul.lo.u32 %out, %in, " factor "; ret; }\n"
#define KERNEL(global, body) \
  ".visible .entry k(.param .u64 x, .param .u32 add) {\n.reg .b32 %r<9>; .reg .b64 %rd<9>; " \
  ".reg .pred %p<3>; .shared .align 4 .b32 tile[64];\n" \
  "ld.param.u64 %rd1, [x]; ld.param.u32 %r1, [add]; mov.u32 %r2, %tid.x; " \
  "mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;\n" \
  "ld.global.u32 %r3, [%rd3]; ld.global.u32 %r4, [" global \
  "];\n" \
  "add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r1; call (%r5), twice, (%r3);\n" body \
  "st.global.u32 [%rd3], %r5;\nret;\n}\n"

static const char base[] = HEAD DOUBLE("2") KERNEL("step", "");
static const char with_more[] = HEAD
    ".func unused() { ret; }\n" DOUBLE("2") ".visible .entry j() { ret; }\n" KERNEL("step", "");
static const char other_callee[] = HEAD DOUBLE("3") KERNEL("step", "");
static const char other_global[] = HEAD DOUBLE("2") KERNEL("other", "");
static const char other_body[] = HEAD DOUBLE("2") KERNEL("step", "add.u32 %r5, %r5, 1;\n");
static const char races[] = HEAD DOUBLE("2") KERNEL("step", "st.global.u32 [%rd1], %r2;\n");
static const char leaks[] = HEAD DOUBLE("2") KERNEL("step", "ld.shared.u32 %r5, [tile];\n");

typedef struct input {
  const char *text;
  uint32_t add, first; /* x[i] = first + i, then zeros */
  uint32_t lanes;
  uint64_t seed;
  bool half; /* the zeros were never written */
} input;

typedef struct output {
  uint32_t x[WORDS];
  unsigned char initialised[WORDS * 4];
  plumb_run_result result;
} output;

static void run(const input *in, plumb_recall *recall, output *out) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  plumb_program *p = plumb_program_create(arena, "recall");
  plumb_status status = plumb_ptx_decode(p, "recall.ptx", in->text, strlen(in->text), &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  CHECK(status == PLUMB_OK, "line %d: %s", diag.line, diag.message);
  plumb_machine *m = plumb_machine_create(arena);
  struct {
    uint64_t x;
    uint32_t add;
  } args = {plumb_machine_alloc(m, sizeof out->x, 256, "x"), in->add};
  for (uint32_t i = 0; i < WORDS; i++) out->x[i] = i < LANES ? in->first + i : 0;
  size_t known = in->half ? sizeof out->x / 2 : sizeof out->x;
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  plumb_machine_write(m, args.x, out->x, known, &diag);
  plumb_run_options options = plumb_run_options_default();
  options.seed = in->seed;
  options.recall = recall;
  plumb_launch launch = {.grid = {1, 1, 1}, .block = {in->lanes, 1, 1}};
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, "k", &launch, &args, 12, &options, &out->result, &diag);
  CHECK(status == PLUMB_OK, "%s", diag.message);
  plumb_machine_read(m, args.x, out->x, out->initialised, sizeof out->x, &diag);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

typedef struct row {
  const char *name;
  input first, second;
  bool taken;
} row;

#define PLAIN {base, 7, 100, LANES, 1, false}
static const row rows[] = {
    {"the same", PLAIN, PLAIN, true},
    {"other functions beside it", PLAIN, {with_more, 7, 100, LANES, 1, false}, true},
    {"part of memory never written",
     {base, 7, 100, LANES, 1, true},
     {base, 7, 100, LANES, 1, true},
     true},
    {"an argument", PLAIN, {base, 8, 100, LANES, 1, false}, false},
    {"memory", PLAIN, {base, 7, 101, LANES, 1, false}, false},
    {"what was written of it", PLAIN, {base, 7, 100, LANES, 1, true}, false},
    {"the size of the launch", PLAIN, {base, 7, 100, LANES / 2, 1, false}, false},
    {"the seed", PLAIN, {base, 7, 100, LANES, 2, false}, false},
    {"the kernel", PLAIN, {other_body, 7, 100, LANES, 1, false}, false},
    {"a function that it calls", PLAIN, {other_callee, 7, 100, LANES, 1, false}, false},
    {"the global that it reads", PLAIN, {other_global, 7, 100, LANES, 1, false}, false},
    {"a trap", {races, 7, 100, LANES, 1, false}, {races, 7, 100, LANES, 1, false}, false},
    {"an undefined value in memory",
     {leaks, 7, 100, LANES, 1, false},
     {leaks, 7, 100, LANES, 1, false},
     false},
};

static void check_row(const row *r) {
  plumb_recall *recall = plumb_recall_create();
  output first, second, executed;
  run(&r->first, recall, &first);
  CHECK(plumb_recall_taken(recall) == 0, "%s: nothing was there to take", r->name);
  run(&r->second, recall, &second);
  CHECK((plumb_recall_taken(recall) == 1) == r->taken, "%s: taken %llu", r->name,
        (unsigned long long)plumb_recall_taken(recall));
  run(&r->second, NULL, &executed);
  CHECK(second.result.trap.kind == executed.result.trap.kind, "%s: trap %s, executed %s", r->name,
        plumb_trap_text(second.result.trap.kind), plumb_trap_text(executed.result.trap.kind));
  CHECK(memcmp(second.x, executed.x, sizeof executed.x) == 0, "%s: values differ", r->name);
  CHECK(memcmp(second.initialised, executed.initialised, sizeof executed.initialised) == 0,
        "%s: what is initialised differs", r->name);
  CHECK(memcmp(&second.result.counters, &executed.result.counters, sizeof(plumb_counters)) == 0,
        "%s: counters differ", r->name);
  plumb_recall_destroy(recall);
}

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
  return check_finish();
}

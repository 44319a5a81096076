/* Kernels of the asynchronous tests: k(in, out, map) on words, run as they are, or with one
 * line left out, which must be trapped. */
#ifndef PLUMB_TESTS_UNIT_ASYNC_RUN_H
#define PLUMB_TESTS_UNIT_ASYNC_RUN_H

#include <stdlib.h>
#include <string.h>

#include "ir/ptx/ptx.h"
#include "ir/tensormap.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

#define IN_WORDS 4096u
#define OUT_WORDS 4096u

/* k(in, out, map): %rd1 in, %rd2 out, %rd3 the map's generic address, %r1 tid, %r2 its block,
 * %rd5 out + 4 * (tid + block * ntid). */
#define KERNEL(directives, declarations, body) \
  ".version 9.0\n.target sm_90a\n.address_size 64\n" \
  ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128]) " directives \
  " {\n.reg .pred %p<20>; .reg .b32 %r<80>; .reg .b64 %rd<40>; .reg .f32 %f<80>; .reg .b16 " \
  "%h<9>;\n" declarations \
  "\n" \
  "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.b64 %rd4, map; cvta.param.u64 %rd3, " \
  "%rd4;\nmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, " \
  "%r3, %r1; mul.wide.u32 %rd6, %r4, 4; add.u64 %rd5, %rd2, %rd6;\nsetp.eq.u32 %p1, %r1, " \
  "0;\n" body "ret;\n}\n"
#define TILE(bytes) ".shared .align 1024 .b8 tile[" bytes "]; .shared .align 8 .b8 bar[8];"
/* tile + 4 * ((tid ^ 37) & 127), another lane's word, to %r9 and out. */
#define OTHERS \
  "xor.b32 %r8, %r1, 37; shl.b32 %r8, %r8, 2; mov.u32 %r7, tile; add.u32 %r7, %r7, %r8;\n" \
  "ld.shared.u32 %r9, [%r7];\nst.global.u32 [%rd5], %r9;\n"
#define INIT(count) "@%p1 mbarrier.init.shared::cta.b64 [bar], " count ";\n"
#define WAIT(n, parity) \
  "{ .reg .pred complete; waitLoop: mbarrier.try_wait.parity.shared::cta.b64 complete, " \
  "[bar], " parity "; @!complete bra.uni waitLoop; }\n"

typedef struct row {
  const char *name, *text;
  uint32_t grid, block;
  uint32_t (*expected)(uint32_t i, uint32_t before); /* NULL: not compared */
  const char *without;                               /* this text left out */
  plumb_trap_kind trap;
  void (*change)(plumb_tensormap *map, uint64_t out); /* another map than run_map's */
} row;

#define OWN_WORD \
  "shl.b32 %r5, %r1, 2; mov.u32 %r6, tile; add.u32 %r6, %r6, %r5; st.shared.u32 [%r6], %r1;\n"

static char *without(plumb_arena *arena, const row *r) {
  char *text = plumb_arena_copy_string(arena, r->text);
  char *at = r->without ? strstr(text, r->without) : NULL;
  CHECK(!r->without || at, "%s: no `%s`", r->name, r->without);
  if (at)
    for (size_t i = 0; i < strlen(r->without); i++)
      if (at[i] != '\n') at[i] = ' ';
  return text;
}

typedef struct params {
  uint64_t in, out;
  uint8_t pad[48], map[128];
} params;

/* The map of most rows: `in` as 64 rows of 64 words, boxes of 8 rows of 32 words. */
static plumb_tensormap run_map(uint64_t address) {
  return (plumb_tensormap){.address = address,
                           .rank = 2,
                           .type = PLUMB_TENSORMAP_S32,
                           .dims = {64, 64},
                           .strides_bytes = {256},
                           .box = {32, 8},
                           .element_strides = {1, 1}};
}

/* says: a part of the trap's message, or NULL. */
static void run_row_saying(const row *r, uint64_t seed, const char *says) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  plumb_program *p = plumb_program_create(arena, r->name);
  char *text = without(arena, r);
  plumb_status status = plumb_ptx_decode(p, "async.ptx", text, strlen(text), &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  CHECK(status == PLUMB_OK, "%s: %d: %s", r->name, diag.line, diag.message);
  plumb_machine *m = plumb_machine_create(arena);
  uint32_t *in = calloc(IN_WORDS, 4), *out = calloc(OUT_WORDS, 4), *after = calloc(OUT_WORDS, 4);
  for (uint32_t i = 0; i < IN_WORDS; i++) in[i] = 7 * i + 1, out[i] = 0x10000 + i;
  params args = {.in = plumb_machine_alloc(m, IN_WORDS * 4ull, 256, "in"),
                 .out = plumb_machine_alloc(m, OUT_WORDS * 4ull, 256, "out")};
  plumb_machine_write(m, args.in, in, IN_WORDS * 4ull, &diag);
  plumb_machine_write(m, args.out, out, OUT_WORDS * 4ull, &diag);
  plumb_tensormap map = run_map(args.in);
  if (r->change) r->change(&map, args.out);
  CHECK(plumb_tensormap_check(&map, &diag) == PLUMB_OK, "%s: %s", r->name, diag.message);
  plumb_tensormap_encode(&map, args.map);
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  plumb_run_options options = plumb_run_options_default();
  options.seed = seed;
  options.step_limit = 100000000;
  plumb_launch launch = {.grid = {r->grid, 1, 1}, .block = {r->block, 1, 1}};
  plumb_run_result result = {0};
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, "k", &launch, &args, sizeof args, &options, &result, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", r->name, diag.message);
  CHECK(result.trap.kind == r->trap,
        "%s without `%s` (seed %llu): trap %s, wanted %s: %s (line %d)", r->name,
        r->without ? r->without : "", (unsigned long long)seed, plumb_trap_text(result.trap.kind),
        plumb_trap_text(r->trap), result.trap.message ? result.trap.message : "-",
        result.trap.location.stage_line);
  CHECK(!says || (result.trap.message && strstr(result.trap.message, says)),
        "%s: `%s` does not say `%s`", r->name, result.trap.message ? result.trap.message : "-",
        says);
  plumb_machine_read(m, args.out, after, NULL, OUT_WORDS * 4ull, &diag);
  for (uint32_t i = 0; r->expected && i < OUT_WORDS; i++) {
    uint32_t want = r->expected(i, out[i]);
    CHECK(after[i] == want, "%s: word %u is %u, wanted %u", r->name, i, after[i], want);
    if (after[i] != want) break;
  }
  free(in);
  free(out);
  free(after);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

static inline int run_rows(const row *rows, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (uint64_t seed = 0; seed < 3; seed++) run_row_saying(&rows[i], seed, NULL);
  return check_finish();
}

#endif

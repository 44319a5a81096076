/* Asynchronous copies, mbarriers and clusters through PTX: right values, and a race where
 * one line that orders them is left out. */
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
} row;

static uint32_t other_word(uint32_t i, uint32_t before) {
  return i < 128 ? 7 * (i ^ 37) + 1 : before;
}
static uint32_t zero_filled(uint32_t i, uint32_t before) {
  return i >= 128 ? before : ((i ^ 37) & 3) < 2 ? 7 * (i ^ 37) + 1 : 0;
}
static uint32_t other_lane(uint32_t i, uint32_t before) {
  return i < 128 ? i ^ 37 : before;
}
static uint32_t tripled(uint32_t i, uint32_t before) {
  return i < 256 ? 3 * (7 * i + 1) : before;
}

/* --- cp.async --- */

#define CP_ASYNC(size, tail) \
  "shl.b32 %r5, %r1, 4; mov.u32 %r6, tile; add.u32 %r6, %r6, %r5; cvt.u64.u32 %rd7, %r5; " \
  "add.u64 %rd8, %rd1, %rd7; setp.lt.u32 %p2, %r1, 32;\n" \
  "@%p2 cp.async.cg.shared.global [%r6], [%rd8], " size ";\n" tail
static const char cp_async[] =
    KERNEL("", TILE("512"),
           CP_ASYNC("16", "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n") OTHERS);
static const char cp_async_all[] =
    KERNEL("", TILE("512"), CP_ASYNC("16", "cp.async.wait_all;\nbar.sync 0;\n") OTHERS);
static const char cp_async_zero[] =
    KERNEL("", TILE("512"), CP_ASYNC("16, 8", "cp.async.wait_all;\nbar.sync 0;\n") OTHERS);
/* The second group writes the second half: it may still be in flight. */
static const char cp_async_stages[] = KERNEL(
    "", TILE("1024"),
    CP_ASYNC("16",
             "cp.async.commit_group;\n@%p2 cp.async.cg.shared.global [%r6+512], [%rd8], 16;\n"
             "cp.async.commit_group;\ncp.async.wait_group 1;\nbar.sync 0;\n") OTHERS);
static const char cp_async_source[] =
    KERNEL("", TILE("512"),
           CP_ASYNC("16", "st.global.u32 [%rd8], %r1;\ncp.async.wait_all;\nbar.sync 0;\n"));
static const char cp_async_arrive[] = KERNEL(
    "", TILE("512"),
    INIT("128") "bar.sync 0;\n" CP_ASYNC(
        "16", "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n") WAIT("1", "0") OTHERS);

/* --- mbarrier --- */

#define OWN_WORD \
  "shl.b32 %r5, %r1, 2; mov.u32 %r6, tile; add.u32 %r6, %r6, %r5; st.shared.u32 [%r6], %r1;\n"
static const char mbarrier[] =
    KERNEL("", TILE("512"),
           INIT("128") "bar.sync 0;\n" OWN_WORD
                       "mbarrier.arrive.shared.b64 %rd9, [bar];\n" WAIT("1", "0") OTHERS);
static const char mbarrier_token[] = KERNEL(
    "", TILE("512"),
    INIT("128") "bar.sync 0;\n" OWN_WORD
                "mbarrier.arrive.release.cta.shared::cta.b64 %rd9, "
                "[bar];\nL: mbarrier.test_wait.shared.b64 %p3, [bar], %rd9; @!%p3 bra L;\n" OTHERS);
static const char mbarrier_counts[] =
    KERNEL("", TILE("512"),
           INIT("256") "bar.sync 0;\n" OWN_WORD
                       "mbarrier.arrive.noComplete.release.cta.shared.b64 %rd9, [bar], 1;\n"
                       "bar.sync 0;\nmbarrier.arrive.shared.b64 %rd10, [bar];\n" WAIT(
                           "1", "0") "mbarrier.pending_count.b64 %r20, %rd9;\n" OTHERS);
static const char mbarrier_never[] =
    KERNEL("", TILE("512"),
           INIT("129") "bar.sync 0;\n" OWN_WORD
                       "mbarrier.arrive.shared.b64 %rd9, [bar];\n" WAIT("1", "0") OTHERS);
static const char mbarrier_read[] =
    KERNEL("", TILE("512"), INIT("128") "bar.sync 0;\nld.shared.u32 %r9, [bar];\n");
static const char mbarrier_absent[] =
    KERNEL("", TILE("512"), "mbarrier.arrive.shared.b64 %rd9, [bar];\n");
static const char mbarrier_inval[] =
    KERNEL("", TILE("512"),
           INIT("128") "bar.sync 0;\n" OWN_WORD "mbarrier.arrive.shared.b64 %rd9, [bar];\n" WAIT(
               "1", "0") "bar.sync 0;\n@%p1 mbarrier.inval.shared.b64 [bar];\nbar.sync 0;\n"
                         "@%p1 st.shared.u32 [bar], %r1;\n" OTHERS);

/* --- bulk copies --- */

#define BULK(body) \
  KERNEL("", TILE("1024"), \
         INIT("1") "bar.sync 0;\n" \
                   "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;\n" \
                   "mov.u32 %r6, tile; mov.u32 %r7, bar;\n" \
                   "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], " \
                   "[%rd1], 1024, [%r7];\n" body)
#define TRIPLE \
  "shl.b32 %r8, %r1, 2; add.u32 %r8, %r8, %r6; ld.shared.u32 %r9, [%r8]; mul.lo.u32 %r9, %r9, 3; " \
  "st.shared.u32 [%r8], %r9; ld.shared.u32 %r9, [%r8+512]; mul.lo.u32 %r9, %r9, 3; st.shared.u32 " \
  "[%r8+512], %r9;\n"
#define BULK_OUT \
  "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r6], 1024;\n" \
  "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group.read 0;\n"
static const char bulk[] =
    BULK(WAIT("1", "0") TRIPLE "fence.proxy.async.shared::cta;\nbar.sync 0;\n" BULK_OUT);
/* The fence may also follow the barrier, in the lane that copies. */
static const char bulk_late_fence[] =
    BULK(WAIT("1", "0") TRIPLE "barrier.sync 0;\nfence.proxy.async;\n" BULK_OUT);
static const char bulk_reuse[] =
    BULK(WAIT("1", "0") TRIPLE "fence.proxy.async;\nbar.sync 0;\n" BULK_OUT
                               "bar.sync 0;\nst.shared.u32 [%r8], "
                               "%r1;\n");
static const char bulk_reduce[] =
    KERNEL("", TILE("1024"),
           OWN_WORD
           "st.shared.u32 [%r6+512], %r1;\nfence.proxy.async;\nbar.sync 0;\nmov.u32 %r6, tile;\n"
           "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r6], 1024;\n"
           "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group 0;\n");
static uint32_t reduced(uint32_t i, uint32_t before) {
  return i < 256 ? before + i % 128 : before;
}

static const row rows[] = {
    {"cp.async", cp_async, 1, 128, other_word, NULL, PLUMB_TRAP_NONE},
    {"cp.async", cp_async, 1, 128, NULL, "cp.async.wait_group 0;", PLUMB_TRAP_RACE},
    {"cp.async", cp_async, 1, 128, NULL, "bar.sync 0;", PLUMB_TRAP_RACE},
    {"cp.async.wait_all", cp_async_all, 1, 128, other_word, NULL, PLUMB_TRAP_NONE},
    {"cp.async zero fill", cp_async_zero, 1, 128, zero_filled, NULL, PLUMB_TRAP_NONE},
    {"cp.async stages", cp_async_stages, 1, 128, other_word, NULL, PLUMB_TRAP_NONE},
    {"cp.async stages", cp_async_stages, 1, 128, NULL, "cp.async.wait_group 1;", PLUMB_TRAP_RACE},
    {"cp.async source overwritten", cp_async_source, 1, 128, NULL, NULL, PLUMB_TRAP_RACE},
    {"cp.async.mbarrier.arrive", cp_async_arrive, 1, 128, other_word, NULL, PLUMB_TRAP_NONE},
    {"cp.async.mbarrier.arrive", cp_async_arrive, 1, 128, NULL, WAIT("1", "0"), PLUMB_TRAP_RACE},
    {"mbarrier", mbarrier, 1, 128, other_lane, NULL, PLUMB_TRAP_NONE},
    {"mbarrier", mbarrier, 1, 128, NULL, WAIT("1", "0"), PLUMB_TRAP_RACE},
    {"mbarrier", mbarrier, 1, 128, NULL, "bar.sync 0;", PLUMB_TRAP_RACE},
    {"mbarrier token", mbarrier_token, 1, 128, other_lane, NULL, PLUMB_TRAP_NONE},
    {"cp.async.mbarrier.arrive", cp_async_arrive, 1, 128, NULL, "@!complete bra.uni waitLoop;",
     PLUMB_TRAP_RACE},
    {"mbarrier counts", mbarrier_counts, 1, 128, other_lane, NULL, PLUMB_TRAP_NONE},
    {"mbarrier never complete", mbarrier_never, 1, 128, NULL, NULL, PLUMB_TRAP_DEADLOCK},
    {"mbarrier read as data", mbarrier_read, 1, 128, NULL, NULL, PLUMB_TRAP_MBARRIER},
    {"mbarrier absent", mbarrier_absent, 1, 128, NULL, NULL, PLUMB_TRAP_MBARRIER},
    {"mbarrier inval", mbarrier_inval, 1, 128, other_lane, NULL, PLUMB_TRAP_NONE},
    {"mbarrier inval", mbarrier_inval, 1, 128, NULL, "@%p1 mbarrier.inval.shared.b64 [bar];",
     PLUMB_TRAP_MBARRIER},
    {"bulk", bulk, 1, 128, tripled, NULL, PLUMB_TRAP_NONE},
    {"bulk", bulk, 1, 128, NULL, "fence.proxy.async.shared::cta;", PLUMB_TRAP_RACE},
    {"bulk", bulk, 1, 128, NULL, WAIT("1", "0"), PLUMB_TRAP_RACE},
    {"bulk", bulk, 1, 128, NULL, "@!complete bra.uni waitLoop;", PLUMB_TRAP_RACE},
    {"bulk", bulk, 1, 128, NULL, "fence.proxy.async.shared::cta;\nbar.sync 0;", PLUMB_TRAP_RACE},
    {"bulk late fence", bulk_late_fence, 1, 128, tripled, NULL, PLUMB_TRAP_NONE},
    {"bulk late fence", bulk_late_fence, 1, 128, NULL, "fence.proxy.async;", PLUMB_TRAP_RACE},
    {"bulk late fence", bulk_late_fence, 1, 128, NULL, "barrier.sync 0;", PLUMB_TRAP_RACE},
    {"bulk reuse", bulk_reuse, 1, 128, tripled, NULL, PLUMB_TRAP_NONE},
    {"bulk reuse", bulk_reuse, 1, 128, NULL, "@%p1 cp.async.bulk.wait_group.read 0;",
     PLUMB_TRAP_RACE},
    {"bulk reduce", bulk_reduce, 1, 128, reduced, NULL, PLUMB_TRAP_NONE},
    {"bulk reduce", bulk_reduce, 1, 128, NULL, "fence.proxy.async;", PLUMB_TRAP_RACE},
};

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
static plumb_tensormap default_map(uint64_t address) {
  return (plumb_tensormap){.address = address,
                           .rank = 2,
                           .type = PLUMB_TENSORMAP_S32,
                           .dims = {64, 64},
                           .strides_bytes = {256},
                           .box = {32, 8},
                           .element_strides = {1, 1}};
}

static void run(const row *r, uint64_t seed) {
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
  plumb_tensormap map = default_map(args.in);
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

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (uint64_t seed = 0; seed < 3; seed++) run(&rows[i], seed);
  return check_finish();
}

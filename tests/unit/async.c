/* Asynchronous copies and mbarriers through PTX: right values, and a race where one line
 * that orders them is left out. */
#include "tests/unit/async_run.h"

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
/* One direction in two halves: the writers release, and who copies acquires. */
#define RELEASE_PROXY "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n"
#define ACQUIRE_PROXY "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;\n"
static const char bulk_halves[] =
    BULK(WAIT("1", "0") TRIPLE RELEASE_PROXY "bar.sync 0;\n" ACQUIRE_PROXY BULK_OUT);
static const char bulk_reduce[] =
    KERNEL("", TILE("1024"),
           OWN_WORD
           "st.shared.u32 [%r6+512], %r1;\nfence.proxy.async;\nbar.sync 0;\nmov.u32 %r6, tile;\n"
           "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r6], 1024;\n"
           "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group 0;\n");
/* The source was written by the block itself, through the generic proxy. */
static const char bulk_of_own[] = KERNEL(
    "", TILE("1024"),
    "shl.b32 %r5, %r1, 2; cvt.u64.u32 %rd7, %r5; add.u64 %rd8, %rd1, %rd7; st.global.u32 [%rd8], "
    "%r1;\nfence.proxy.async.global;\n" INIT("1") "bar.sync 0;\n"
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;\nmov.u32 %r6, tile; mov.u32 "
    "%r7, bar;\n@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], "
    "[%rd1], 1024, [%r7];\n" WAIT("1", "0") TRIPLE "fence.proxy.async.shared::cta;\nbar.sync 0;\n" BULK_OUT);
static uint32_t tripled_own(uint32_t i, uint32_t before) {
  return i < 128 ? 3 * i : tripled(i, before);
}
static uint32_t reduced(uint32_t i, uint32_t before) {
  return i < 256 ? before + i % 128 : before;
}

static const row rows[] = {
    {"cp.async", cp_async, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL},
    {"cp.async", cp_async, 1, 128, NULL, "cp.async.wait_group 0;", PLUMB_TRAP_RACE, NULL},
    {"cp.async", cp_async, 1, 128, NULL, "bar.sync 0;", PLUMB_TRAP_RACE, NULL},
    {"cp.async.wait_all", cp_async_all, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL},
    {"cp.async zero fill", cp_async_zero, 1, 128, zero_filled, NULL, PLUMB_TRAP_NONE, NULL},
    {"cp.async stages", cp_async_stages, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL},
    {"cp.async stages", cp_async_stages, 1, 128, NULL, "cp.async.wait_group 1;", PLUMB_TRAP_RACE,
     NULL},
    {"cp.async source overwritten", cp_async_source, 1, 128, NULL, NULL, PLUMB_TRAP_RACE, NULL},
    {"cp.async.mbarrier.arrive", cp_async_arrive, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL},
    {"cp.async.mbarrier.arrive", cp_async_arrive, 1, 128, NULL, WAIT("1", "0"), PLUMB_TRAP_RACE,
     NULL},
    {"mbarrier", mbarrier, 1, 128, other_lane, NULL, PLUMB_TRAP_NONE, NULL},
    {"mbarrier", mbarrier, 1, 128, NULL, WAIT("1", "0"), PLUMB_TRAP_RACE, NULL},
    {"mbarrier", mbarrier, 1, 128, NULL, "bar.sync 0;", PLUMB_TRAP_RACE, NULL},
    {"mbarrier token", mbarrier_token, 1, 128, other_lane, NULL, PLUMB_TRAP_NONE, NULL},
    {"cp.async.mbarrier.arrive", cp_async_arrive, 1, 128, NULL, "@!complete bra.uni waitLoop;",
     PLUMB_TRAP_RACE, NULL},
    {"mbarrier counts", mbarrier_counts, 1, 128, other_lane, NULL, PLUMB_TRAP_NONE, NULL},
    {"mbarrier never complete", mbarrier_never, 1, 128, NULL, NULL, PLUMB_TRAP_DEADLOCK, NULL},
    {"mbarrier read as data", mbarrier_read, 1, 128, NULL, NULL, PLUMB_TRAP_MBARRIER, NULL},
    {"mbarrier absent", mbarrier_absent, 1, 128, NULL, NULL, PLUMB_TRAP_MBARRIER, NULL},
    {"mbarrier inval", mbarrier_inval, 1, 128, other_lane, NULL, PLUMB_TRAP_NONE, NULL},
    {"mbarrier inval", mbarrier_inval, 1, 128, NULL, "@%p1 mbarrier.inval.shared.b64 [bar];",
     PLUMB_TRAP_MBARRIER, NULL},
    {"bulk", bulk, 1, 128, tripled, NULL, PLUMB_TRAP_NONE, NULL},
    {"bulk", bulk, 1, 128, NULL, "fence.proxy.async.shared::cta;", PLUMB_TRAP_RACE, NULL},
    {"bulk", bulk, 1, 128, NULL, WAIT("1", "0"), PLUMB_TRAP_RACE, NULL},
    {"bulk", bulk, 1, 128, NULL, "@!complete bra.uni waitLoop;", PLUMB_TRAP_RACE, NULL},
    {"bulk", bulk, 1, 128, NULL, "fence.proxy.async.shared::cta;\nbar.sync 0;", PLUMB_TRAP_RACE,
     NULL},
    {"bulk late fence", bulk_late_fence, 1, 128, tripled, NULL, PLUMB_TRAP_NONE, NULL},
    {"bulk late fence", bulk_late_fence, 1, 128, NULL, "fence.proxy.async;", PLUMB_TRAP_RACE, NULL},
    {"bulk late fence", bulk_late_fence, 1, 128, NULL, "barrier.sync 0;", PLUMB_TRAP_RACE, NULL},
    {"bulk halves", bulk_halves, 1, 128, tripled, NULL, PLUMB_TRAP_NONE, NULL},
    {"bulk halves", bulk_halves, 1, 128, NULL, RELEASE_PROXY, PLUMB_TRAP_RACE, NULL},
    {"bulk halves", bulk_halves, 1, 128, NULL, ACQUIRE_PROXY, PLUMB_TRAP_RACE, NULL},
    {"bulk halves", bulk_halves, 1, 128, NULL, "bar.sync 0;\n" ACQUIRE_PROXY, PLUMB_TRAP_RACE,
     NULL},
    {"bulk reuse", bulk_reuse, 1, 128, tripled, NULL, PLUMB_TRAP_NONE, NULL},
    {"bulk reuse", bulk_reuse, 1, 128, NULL, "@%p1 cp.async.bulk.wait_group.read 0;",
     PLUMB_TRAP_RACE, NULL},
    {"bulk of own writes", bulk_of_own, 1, 128, tripled_own, NULL, PLUMB_TRAP_NONE, NULL},
    {"bulk of own writes", bulk_of_own, 1, 128, NULL, "fence.proxy.async.global;", PLUMB_TRAP_RACE,
     NULL},
    {"bulk reduce", bulk_reduce, 1, 128, reduced, NULL, PLUMB_TRAP_NONE, NULL},
    {"bulk reduce", bulk_reduce, 1, 128, NULL, "fence.proxy.async;", PLUMB_TRAP_RACE, NULL},
};

int main(void) {
  return run_rows(rows, sizeof rows / sizeof rows[0]);
}

/* Clusters of two blocks through PTX: each other's shared memory, barriers, copies to both. */
#include "tests/unit/async_run.h"

#define PAIR ".reqnctapercluster 2, 1, 1"
#define CLUSTER_SYNC "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
#define LAST_SYNC "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
/* %r6 the lane's word of the tile, %r11 the other rank, %r12 the word there. */
#define PLACES \
  "shl.b32 %r5, %r1, 2; mov.u32 %r6, tile; add.u32 %r6, %r6, %r5; mov.u32 %r10, " \
  "%cluster_ctarank; xor.b32 %r11, %r10, 1; mapa.shared::cluster.u32 %r12, %r6, %r11; mov.u32 " \
  "%r13, bar; mapa.shared::cluster.u32 %r14, %r13, %r11;\n"
#define WORD_OUT "ld.shared.u32 %r9, [%r6];\nst.global.u32 [%rd5], %r9;\n"
#define EXPECT \
  "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n" \
  "@%p1 fence.mbarrier_init.release.cluster;\n"

static const char remote_load[] =
    KERNEL(PAIR, TILE("512"),
           PLACES "st.shared.u32 [%r6], %r4;\n" CLUSTER_SYNC
                  "ld.shared::cluster.u32 %r9, [%r12]; st.global.u32 [%rd5], %r9;\n" LAST_SYNC);
static const char remote_generic[] = KERNEL(
    PAIR, TILE("512"),
    "shl.b32 %r5, %r1, 2; mov.u64 %rd10, tile; cvta.shared.u64 %rd11, %rd10; cvt.u64.u32 %rd12, "
    "%r5; add.u64 %rd11, %rd11, %rd12; mov.u32 %r10, %cluster_ctarank; xor.b32 %r11, %r10, 1;\n"
    "mapa.u64 %rd13, %rd11, %r11; st.u32 [%rd13], %r4;\n" CLUSTER_SYNC
    "isspacep.shared::cluster %p4, %rd13; isspacep.shared::cta %p5, %rd13; getctarank.u64 %r20, "
    "%rd13; ld.u32 %r9, [%rd11]; @!%p4 mov.u32 %r9, 0; @%p5 mov.u32 %r9, 1; "
    "setp.ne.u32 %p6, %r20, %r11; @%p6 mov.u32 %r9, 2; "
    "mov.pred %p7, %is_explicit_cluster; @!%p7 mov.u32 %r9, 3;\nst.global.u32 [%rd5], %r9;\n");
static const char remote_atomic[] = KERNEL(
    PAIR, TILE("512"),
    PLACES
    "st.shared.u32 [%r6], 0;\n" CLUSTER_SYNC
    "red.relaxed.cluster.shared::cluster.add.u32 "
    "[%r12], %r4;\natom.relaxed.cluster.shared::cluster.add.u32 %r9, [%r12], 0;\n" CLUSTER_SYNC
        WORD_OUT);
static const char remote_arrive[] =
    KERNEL(PAIR, TILE("512"),
           INIT("128") "@%p1 fence.mbarrier_init.release.cluster;\n"
                       "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait.acquire;\n" PLACES
                       "st.shared::cluster.u32 [%r12], %r4;\n"
                       "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14];\n" WAIT(
                           "1", "0") WORD_OUT LAST_SYNC);
static const char store_async[] = KERNEL(
    PAIR, TILE("512"),
    INIT("1") EXPECT CLUSTER_SYNC PLACES
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r12], %r4, [%r14];\n" WAIT(
        "1", "0") WORD_OUT LAST_SYNC);
/* Both blocks send their tile to the other through the asynchronous proxy. */
static const char bulk_between[] =
    KERNEL(PAIR, TILE("512") ".shared .align 128 .b8 from[512];",
           INIT("1") EXPECT PLACES
           "mov.u32 %r15, from; add.u32 %r16, %r15, %r5; st.shared.u32 [%r16], %r4;\n"
           "fence.proxy.async;\n" CLUSTER_SYNC
           "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], "
           "[%r15], 512, [%r14];\n" WAIT("1", "0") WORD_OUT LAST_SYNC);
/* Block 0 sends the first 512 bytes to both. */
static const char multicast[] =
    KERNEL(PAIR, TILE("512"),
           INIT("1") EXPECT CLUSTER_SYNC PLACES
           "setp.eq.and.u32 %p2, %r10, 0, %p1; mov.u32 %r7, tile; mov.u16 %h1, 3;\n@%p2 "
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
           "[%r7], [%rd1], 512, [%r13], %h1;\n" WAIT("1", "0") WORD_OUT LAST_SYNC);
static const char registers[] = KERNEL(
    PAIR, "",
    "mov.u32 %r10, %clusterid.x; mov.u32 %r11, %nclusterid.x; mov.u32 %r12, %cluster_ctaid.x; "
    "mov.u32 %r13, %cluster_nctaid.x; mad.lo.u32 %r9, %r10, 10, %r11; mad.lo.u32 %r9, %r9, 10, "
    "%r12; mad.lo.u32 %r9, %r9, 10, %r13;\nst.global.u32 [%rd5], %r9;\n");
static const char wrong_rank[] =
    KERNEL(PAIR, TILE("512"), "mov.u32 %r6, tile; mapa.shared::cluster.u32 %r7, %r6, 2;\n");
static const char ended_block[] =
    KERNEL(PAIR, TILE("512"),
           PLACES
           "setp.eq.u32 %p2, %r10, 0; @%p2 bra E; mov.u32 %r20, 0;\nL: add.u32 %r20, %r20, 1; "
           "setp.lt.u32 %p3, %r20, 3000; @%p3 bra L; st.shared::cluster.u32 [%r12], %r4;\nE:\n");

static uint32_t other_block(uint32_t i, uint32_t before) {
  return i < 512 ? i ^ 128 : before;
}
static uint32_t both_blocks(uint32_t i, uint32_t before) {
  return i < 256 ? 7 * (i % 128) + 1 : before;
}
static uint32_t is_registers(uint32_t i, uint32_t before) {
  return i < 512 ? i / 256 * 1000 + 2 * 100 + i / 128 % 2 * 10 + 2 : before;
}

static const row rows[] = {
    {"remote load", remote_load, 4, 128, other_block, NULL, PLUMB_TRAP_NONE, NULL},
    {"remote load", remote_load, 4, 128, NULL, CLUSTER_SYNC, PLUMB_TRAP_RACE, NULL},
    {"remote generic store", remote_generic, 4, 128, other_block, NULL, PLUMB_TRAP_NONE, NULL},
    {"remote generic store", remote_generic, 4, 128, NULL, CLUSTER_SYNC, PLUMB_TRAP_OUT_OF_BOUNDS,
     NULL},
    {"remote atomic", remote_atomic, 4, 128, other_block, NULL, PLUMB_TRAP_NONE, NULL},
    {"remote atomic", remote_atomic, 4, 128, NULL, CLUSTER_SYNC, PLUMB_TRAP_UNINITIALISED, NULL},
    {"remote arrive", remote_arrive, 4, 128, other_block, NULL, PLUMB_TRAP_NONE, NULL},
    {"remote arrive", remote_arrive, 4, 128, NULL, WAIT("1", "0"), PLUMB_TRAP_RACE, NULL},
    {"remote arrive", remote_arrive, 4, 128, NULL, "@%p1 fence.mbarrier_init.release.cluster;",
     PLUMB_TRAP_RACE, NULL},
    {"st.async", store_async, 4, 128, other_block, NULL, PLUMB_TRAP_NONE, NULL},
    {"st.async", store_async, 4, 128, NULL, WAIT("1", "0"), PLUMB_TRAP_RACE, NULL},
    {"bulk copy between blocks", bulk_between, 4, 128, other_block, NULL, PLUMB_TRAP_NONE, NULL},
    {"bulk copy between blocks", bulk_between, 4, 128, NULL, "fence.proxy.async;", PLUMB_TRAP_RACE,
     NULL},
    {"multicast", multicast, 2, 128, both_blocks, NULL, PLUMB_TRAP_NONE, NULL},
    {"multicast", multicast, 2, 128, NULL, "@!complete bra.uni waitLoop;", PLUMB_TRAP_RACE, NULL},
    {"registers", registers, 4, 128, is_registers, NULL, PLUMB_TRAP_NONE, NULL},
    {"rank outside the cluster", wrong_rank, 2, 128, NULL, NULL, PLUMB_TRAP_OUT_OF_BOUNDS, NULL},
    {"block that has ended", ended_block, 2, 128, NULL, NULL, PLUMB_TRAP_OUT_OF_BOUNDS, NULL},
};

int main(void) {
  return run_rows(rows, sizeof rows / sizeof rows[0]);
}

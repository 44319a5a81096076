/* The executor, on small PTX kernels: values, schedules and every kind of trap. */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"

/* A kernel k(.param .u64 p, .param .u32 n) with `body` after the usual beginnings. */
#define KERNEL(shared, body) \
  HEADER shared \
      ".visible .entry k(.param .u64 p, .param .u32 n) {\n" \
      " .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<16>;\n" \
      " .reg .b16 %h<8>;\n" \
      " ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n" \
      " mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n" \
      " mad.lo.u32 %r5, %r3, %r4, %r2; mul.wide.u32 %rd2, %r5, 4; add.u64 %rd3, %rd1, %rd2;\n" \
      " mul.wide.u32 %rd4, %r2, 4; add.u64 %rd5, %rd1, %rd4;\n" body " ret;\n}\n"

/* Writes %r9 to p[global index]. */
#define PUT " st.global.u32 [%rd3], %r9;\n"

typedef struct row {
  const char *name;
  const char *text;
  uint32_t grid, block;
  uint64_t shared_bytes;
  uint32_t words; /* p's size; all but the first `fresh` words are written: word i is i */
  uint32_t fresh; /* trailing words left uninitialised */
  plumb_trap_kind trap;
  uint32_t (*expected)(uint32_t index); /* NULL: the words are not compared */
} row;

static uint32_t is_index(uint32_t i) {
  return i;
}
static uint32_t is_double(uint32_t i) {
  return 2 * i;
}
static uint32_t is_even_odd(uint32_t i) {
  return i % 2 ? 3 * i : i + 100;
}
static uint32_t is_trips(uint32_t i) {
  return i % 64 % 7;
}
static uint32_t is_64(uint32_t i) {
  (void)i;
  return 64;
}
static uint32_t is_sizes(uint32_t i) {
  (void)i;
  return 1024u * 1000000u + 100u * 1000u + 384u;
}
static uint32_t is_neighbour(uint32_t i) {
  return (i % 64 + 1) % 64;
}
static uint32_t is_ballot(uint32_t i) {
  (void)i;
  return 0x55555555u;
}
static uint32_t is_warp_sum(uint32_t i) {
  return i / 32 * 32 * 32 + 496;
}
static uint32_t is_square(uint32_t i) {
  return i * i;
}
static uint32_t is_count(uint32_t i) {
  return i == 0 ? 64 : i;
}
static uint32_t is_flag(uint32_t i) {
  return i == 0 ? 1 : i == 1 ? 42 : i == 2 ? 42 : i;
}
static uint32_t is_fence_sum(uint32_t i) {
  return i == 0 ? 4 : i == 9 ? 1 + 2 + 3 + 4 : i > 0 && i < 5 ? i : i;
}

#define TILE ".shared .align 4 .b8 tile[256];\n"
#define TO_TILE " mov.u64 %rd6, tile; add.u64 %rd7, %rd6, %rd4; st.shared.u32 [%rd7], %r2;\n"
#define NEXT \
  " add.u32 %r6, %r2, 1; and.b32 %r6, %r6, 63; mul.wide.u32 %rd8, %r6, 4; add.u64 %rd9, %rd6, " \
  "%rd8;\n"

static const row rows[] = {
    {"store", KERNEL("", " mov.u32 %r9, %r5;\n" PUT), 4, 64, 0, 256, 0, PLUMB_TRAP_NONE, is_index},
    {"load and add", KERNEL("", " ld.global.u32 %r8, [%rd3]; add.u32 %r9, %r8, %r8;\n" PUT), 4, 48,
     0, 192, 0, PLUMB_TRAP_NONE, is_double},
    {"diamond",
     KERNEL("",
            " and.b32 %r6, %r5, 1; setp.eq.u32 %p1, %r6, 0; @%p1 bra A; mul.lo.u32 %r9, %r5, 3; "
            "bra B;\nA: add.u32 %r9, %r5, 100;\nB:\n" PUT),
     2, 64, 0, 128, 0, PLUMB_TRAP_NONE, is_even_odd},
    {"predicated",
     KERNEL("",
            " and.b32 %r6, %r5, 1; setp.eq.u32 %p1, %r6, 0; mul.lo.u32 %r9, %r5, 3; @%p1 add.u32 "
            "%r9, %r5, 100;\n" PUT),
     2, 64, 0, 128, 0, PLUMB_TRAP_NONE, is_even_odd},
    {"predicated store",
     KERNEL("",
            " and.b32 %r6, %r5, 1; setp.eq.u32 %p1, %r6, 0; mul.lo.u32 %r9, %r5, 3; add.u32 %r8, "
            "%r5, 100; @%p1 st.global.u32 [%rd3], %r8; @!%p1 st.global.u32 [%rd3], %r9;\n"),
     2, 64, 0, 128, 0, PLUMB_TRAP_NONE, is_even_odd},
    {"divergent loop",
     KERNEL("",
            " rem.u32 %r6, %r2, 7; mov.u32 %r9, 0;\nL: setp.ge.u32 %p1, %r9, %r6; @%p1 bra E; "
            "add.u32 %r9, %r9, 1; bra L;\nE:\n" PUT),
     2, 64, 0, 128, 0, PLUMB_TRAP_NONE, is_trips},
    {"early return",
     KERNEL("", " setp.ge.u32 %p1, %r5, %r1; @%p1 ret; mul.lo.u32 %r9, %r5, 2;\n" PUT), 2, 64, 0,
     100, 0, PLUMB_TRAP_NONE, is_double},
    {"shared exchange", KERNEL(TILE, TO_TILE NEXT " bar.sync 0; ld.shared.u32 %r9, [%rd9];\n" PUT),
     2, 64, 0, 128, 0, PLUMB_TRAP_NONE, is_neighbour},
    {"missing barrier", KERNEL(TILE, TO_TILE NEXT " ld.shared.u32 %r9, [%rd9];\n" PUT), 2, 64, 0,
     128, 0, PLUMB_TRAP_RACE, NULL},
    {"dynamic shared",
     KERNEL(".extern .shared .align 4 .b8 tile[];\n",
            TO_TILE NEXT " bar.sync 0; ld.shared.u32 %r9, [%rd9];\n" PUT),
     2, 64, 256, 128, 0, PLUMB_TRAP_NONE, is_neighbour},
    {"dynamic shared too small", KERNEL(".extern .shared .align 4 .b8 tile[];\n", TO_TILE), 2, 64,
     252, 128, 0, PLUMB_TRAP_OUT_OF_BOUNDS, NULL},
    {"sizes of shared memory", /* 256 static and 100 dynamic bytes in units of 128 */
     KERNEL(TILE,
            " mov.u32 %r9, %dynamic_smem_size; mov.u32 %r8, %total_smem_size;\n"
            " mov.u32 %r10, %aggr_smem_size; sub.u32 %r10, %r10, %r8; mov.u32 %r11, tile;\n"
            " mad.lo.u32 %r9, %r9, 1000, %r8; mad.lo.u32 %r9, %r10, 1000000, %r9;\n" PUT),
     1, 1, 100, 1, 0, PLUMB_TRAP_NONE, is_sizes},
    {"shared never written",
     KERNEL(TILE, " mov.u64 %rd6, tile;" NEXT
                  " ld.shared.u32 %r9, [%rd9]; setp.eq.u32 %p1, %r9, 3; @%p1 bra E;\n" PUT "E:\n"),
     1, 64, 0, 64, 0, PLUMB_TRAP_UNINITIALISED, NULL},
    {"past the end", KERNEL("", " mov.u32 %r9, 1; st.global.u32 [%rd3+4], %r9;\n"), 1, 64, 0, 64, 0,
     PLUMB_TRAP_OUT_OF_BOUNDS, NULL},
    {"before the start", KERNEL("", " ld.global.u32 %r9, [%rd3+-4];\n"), 1, 64, 0, 64, 0,
     PLUMB_TRAP_OUT_OF_BOUNDS, NULL},
    {"misaligned", KERNEL("", " add.u64 %rd3, %rd3, 2; ld.global.u32 %r9, [%rd3];\n"), 1, 32, 0, 64,
     0, PLUMB_TRAP_MISALIGNED, NULL},
    {"misaligned vector", KERNEL("", " ld.global.v2.u32 {%r8, %r9}, [%rd3];\n"), 1, 32, 0, 64, 0,
     PLUMB_TRAP_MISALIGNED, NULL},
    {"uninitialised address",
     KERNEL("",
            " ld.global.u32 %r8, [%rd3]; mul.wide.u32 %rd8, %r8, 4; add.u64 %rd9, %rd1, %rd8; "
            "ld.global.u32 %r9, [%rd9];\n"),
     1, 32, 0, 32, 4, PLUMB_TRAP_UNINITIALISED, NULL},
    {"uninitialised value is overwritten",
     KERNEL("", " ld.global.u32 %r8, [%rd3]; st.global.u32 [%rd3], %r8; mov.u32 %r9, %r5;\n" PUT),
     1, 32, 0, 32, 4, PLUMB_TRAP_NONE, is_index},
    {"uninitialised value reaches an output",
     KERNEL("", " ld.global.u32 %r8, [%rd3]; add.u32 %r9, %r8, %r8;\n" PUT), 1, 32, 0, 32, 4,
     PLUMB_TRAP_UNINITIALISED, NULL},
    {"barrier skipped",
     KERNEL("", " setp.ge.u32 %p1, %r2, 7; @%p1 bra E; bar.sync 0;\nE: mov.u32 %r9, 1;\n" PUT), 1,
     64, 0, 64, 0, PLUMB_TRAP_DIVERGENT_BARRIER, NULL},
    {"two barriers",
     KERNEL("",
            " setp.ge.u32 %p1, %r2, 7; @%p1 bra A; bar.sync 0; bra E;\nA: bar.sync 0;\nE: mov.u32 "
            "%r9, 1;\n" PUT),
     1, 64, 0, 64, 0, PLUMB_TRAP_DIVERGENT_BARRIER, NULL},
    {"early exit before a barrier",
     KERNEL("", " setp.ge.u32 %p1, %r2, 7; @%p1 bra E; bar.sync 0; mul.lo.u32 %r9, %r5, 2;\n" PUT
                "E:\n"),
     1, 64, 0, 7, 0, PLUMB_TRAP_NONE, is_double},
    {"whole warps exit before a barrier",
     KERNEL("", " setp.ge.u32 %p1, %r2, 32; @%p1 bra E; bar.sync 0; mul.lo.u32 %r9, %r5, 2;\n" PUT
                "E:\n"),
     1, 64, 0, 32, 0, PLUMB_TRAP_NONE, is_double},
    {"barrier of a part never completes",
     KERNEL("", " setp.ge.u32 %p1, %r2, 32; @%p1 bra E; bar.sync 1, 64;\nE: bar.sync 0;\n"), 1, 64,
     0, 32, 0, PLUMB_TRAP_DEADLOCK, NULL},
    {"ballot",
     KERNEL(
         "",
         " and.b32 %r6, %r2, 1; setp.eq.u32 %p1, %r6, 0; vote.sync.ballot.b32 %r9, %p1, -1;\n" PUT),
     1, 64, 0, 64, 0, PLUMB_TRAP_NONE, is_ballot},
    {"warp sum",
     KERNEL("",
            " mov.u32 %r9, %r2;\n"
            " shfl.sync.bfly.b32 %r8|%p1, %r9, 16, 31, -1; add.u32 %r9, %r9, %r8; "
            "shfl.sync.bfly.b32 %r8|%p1, %r9, 8, 31, -1; add.u32 %r9, %r9, %r8;\n"
            " shfl.sync.bfly.b32 %r8|%p1, %r9, 4, 31, -1; add.u32 %r9, %r9, %r8; "
            "shfl.sync.bfly.b32 %r8|%p1, %r9, 2, 31, -1; add.u32 %r9, %r9, %r8;\n"
            " shfl.sync.bfly.b32 %r8|%p1, %r9, 1, 31, -1; add.u32 %r9, %r9, %r8;\n" PUT),
     1, 64, 0, 64, 0, PLUMB_TRAP_NONE, is_warp_sum},
    {"vote waits for late lanes",
     KERNEL("",
            " setp.ge.u32 %p2, %r2, 5; @%p2 bra A; mov.u32 %r8, 0;\nL: add.u32 %r8, %r8, 1; "
            "setp.lt.u32 %p3, %r8, 200; @%p3 bra L;\nA: and.b32 %r6, %r2, 1; setp.eq.u32 %p1, %r6, "
            "0; vote.sync.ballot.b32 %r9, %p1, -1;\n" PUT),
     1, 64, 0, 64, 0, PLUMB_TRAP_NONE, is_ballot},
    {"vote without oneself",
     KERNEL("", " setp.eq.u32 %p1, %r2, 0; vote.sync.ballot.b32 %r9, %p1, 1;\n"), 1, 32, 0, 64, 0,
     PLUMB_TRAP_DIVERGENT_BARRIER, NULL},
    {"vote for ever",
     KERNEL("",
            " setp.ge.u32 %p2, %r2, 5; @%p2 bra A; vote.sync.ballot.b32 %r9, %p2, -1; bra E;\nA: "
            "vote.sync.ballot.b32 %r9, %p2, -1;\nE:\n"),
     1, 32, 0, 64, 0, PLUMB_TRAP_DEADLOCK, NULL},
    {"call",
     HEADER
     ".func (.param .b32 r) square(.param .b32 x) { .reg .b32 %r<3>; ld.param.u32 %r1, [x]; "
     "mul.lo.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }\n"
     ".visible .entry k(.param .u64 p, .param .u32 n) { .reg .b32 %r<9>; .reg .b64 %rd<9>; "
     "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n"
     " { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), square, (a); "
     "ld.param.b32 %r2, [b]; }\n"
     " mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret; }\n",
     1, 64, 0, 64, 0, PLUMB_TRAP_NONE, is_square},
    {"local array",
     HEADER
     ".visible .entry k(.param .u64 p, .param .u32 n) { .local .align 4 .b8 a[64]; .reg .b32 "
     "%r<9>; .reg .b64 %rd<12>; ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n"
     " mov.u64 %rd4, a; and.b32 %r2, %r1, 15; mul.wide.u32 %rd5, %r2, 4; add.u64 %rd6, %rd4, %rd5; "
     "mul.lo.u32 %r3, %r1, %r1; st.local.u32 [%rd6], %r3; cvta.local.u64 %rd7, %rd6; ld.u32 %r4, "
     "[%rd7];\n"
     " mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4; ret; }\n",
     1, 64, 0, 64, 0, PLUMB_TRAP_NONE, is_square},
    {"atomic add",
     KERNEL("",
            " mov.u32 %r8, 1; setp.eq.u32 %p1, %r5, 0; atom.global.add.u32 %r9, [%rd1], %r8;\n"),
     2, 32, 0, 16, 0, PLUMB_TRAP_NONE, is_count},
    {"plain counter",
     KERNEL("", " ld.global.u32 %r8, [%rd1]; add.u32 %r8, %r8, 1; st.global.u32 [%rd1], %r8;\n"), 1,
     2, 0, 16, 0, PLUMB_TRAP_RACE, NULL},
    {"blocks race",
     KERNEL("", " setp.ne.u32 %p1, %r2, 0; @%p1 bra E; st.global.u32 [%rd1], %r3;\nE:\n"), 4, 32, 0,
     16, 0, PLUMB_TRAP_RACE, NULL},
    {"blocks overlap by one",
     KERNEL("",
            " mul.lo.u32 %r6, %r3, 31; add.u32 %r6, %r6, %r2; mul.wide.u32 %rd8, %r6, 4; add.u64 "
            "%rd9, %rd1, %rd8; st.global.u32 [%rd9], %r6;\n"),
     4, 32, 0, 256, 0, PLUMB_TRAP_RACE, NULL},
    {"bytes side by side",
     KERNEL("", " cvt.u64.u32 %rd8, %r5; add.u64 %rd9, %rd1, %rd8; st.global.u8 [%rd9], %r5;\n"), 4,
     32, 0, 256, 0, PLUMB_TRAP_NONE, NULL},
    {"lock in a warp",
     KERNEL("",
            "L: atom.global.cas.b32 %r8, [%rd1], 0, 1; setp.ne.u32 %p1, %r8, 0; @%p1 bra L; "
            "membar.gl;\n"
            " ld.volatile.global.u32 %r9, [%rd1+4]; add.u32 %r9, %r9, 1; st.volatile.global.u32 "
            "[%rd1+4], %r9; membar.gl; atom.global.exch.b32 %r8, [%rd1], 0;\n"),
     1, 64, 0, 16, 0, PLUMB_TRAP_NONE, NULL},
    {"flag between blocks",
     KERNEL("",
            " setp.ne.u32 %p1, %r3, 0; @%p1 bra W;\nS: ld.volatile.global.u32 %r8, [%rd1]; "
            "setp.ne.u32 %p2, %r8, 1; @%p2 bra S; membar.gl; ld.global.u32 %r9, [%rd1+4]; "
            "st.global.u32 [%rd1+8], %r9; ret;\n"
            "W: mov.u32 %r9, 42; st.global.u32 [%rd1+4], %r9; membar.gl; mov.u32 %r8, 1; "
            "st.volatile.global.u32 [%rd1], %r8;\n"),
     2, 1, 0, 16, 0, PLUMB_TRAP_NONE, is_flag},
    {"flag without a fence",
     KERNEL("",
            " setp.ne.u32 %p1, %r3, 0; @%p1 bra W;\nS: ld.volatile.global.u32 %r8, [%rd1]; "
            "setp.ne.u32 %p2, %r8, 1; @%p2 bra S; ld.global.u32 %r9, [%rd1+4]; st.global.u32 "
            "[%rd1+8], %r9; ret;\n"
            "W: mov.u32 %r9, 42; st.global.u32 [%rd1+4], %r9; mov.u32 %r8, 1; "
            "st.volatile.global.u32 [%rd1], %r8;\n"),
     2, 1, 0, 16, 0, PLUMB_TRAP_RACE, NULL},
    {"wait for ever",
     KERNEL("", "S: ld.volatile.global.u32 %r8, [%rd1+4]; setp.ne.u32 %p2, %r8, 99; @%p2 bra S;\n"),
     2, 32, 0, 16, 0, PLUMB_TRAP_DEADLOCK, NULL},
    {"wait for ever, counting",
     KERNEL("",
            " mov.u32 %r7, 0;\nS: add.u32 %r7, %r7, 1; ld.volatile.global.u32 %r8, [%rd1+4]; "
            "setp.ne.u32 %p2, %r8, 99; @%p2 bra S; st.global.u32 [%rd1], %r7;\n"),
     1, 32, 0, 16, 0, PLUMB_TRAP_DEADLOCK, NULL},
    /* Only the step limit may end these: somebody could still write, or a clock decides. */
    {"wait, then give up by a counter",
     KERNEL("",
            " mov.u32 %r7, 0;\nS: add.u32 %r7, %r7, 1; ld.volatile.global.u32 %r8, [%rd1+4]; "
            "setp.eq.u32 %p2, %r8, 99; @%p2 bra E; setp.lt.u32 %p3, %r7, 300000; @%p3 bra S;\nE: "
            "mov.u32 %r9, 64; st.global.u32 [%rd3], %r9;\n"),
     1, 1, 0, 16, 0, PLUMB_TRAP_NONE, NULL},
    {"a producer that polls for long",
     KERNEL("",
            " mov.u32 %r7, 0; setp.ne.u32 %p1, %r3, 0; @%p1 bra W;\nS: nanosleep.u32 20; "
            "ld.volatile.global.u32 %r8, [%rd1]; setp.ne.u32 %p2, %r8, 7; @%p2 bra S; ret;\n"
            "W: ld.volatile.global.u32 %r8, [%rd1+8]; add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, "
            "200000; @%p3 bra W; mov.u32 %r8, 7; st.volatile.global.u32 [%rd1], %r8;\n"),
     2, 1, 0, 16, 0, PLUMB_TRAP_NONE, NULL},
    {"a clock decides",
     KERNEL("",
            " mov.u32 %r7, %clock;\nS: mov.u32 %r8, %clock; sub.u32 %r8, %r8, %r7; setp.lt.u32 "
            "%p2, %r8, 900000; mov.u32 %r8, 0; @%p2 bra S; mov.u32 %r9, 64;\n" PUT),
     1, 32, 0, 32, 0, PLUMB_TRAP_NONE, is_64},
    /* PTX ISA leaves open how fast clocks go: waiting for one is short, measuring is exact. */
    {"a wait of a thousand seconds in every lane",
     KERNEL("",
            " mov.u64 %rd8, %clock64; mov.u64 %rd9, 1000000000000; add.u64 %rd9, %rd8, %rd9;\n"
            "S: nanosleep.u32 20; mov.u64 %rd10, %globaltimer; setp.lt.u64 %p2, %rd10, %rd9; @%p2 "
            "bra S; sub.u64 %rd10, %rd10, %rd9; setp.lt.u64 %p3, %rd10, 17000000; selp.u32 %r9, "
            "64, 0, %p3;\n" PUT),
     2, 32, 0, 64, 0, PLUMB_TRAP_NONE, is_64},
    {"a wait in a loop that stores",
     KERNEL("",
            " mov.u32 %r9, 0;\nO: mov.u32 %r7, %clock;\nS: mov.u32 %r8, %clock; sub.u32 %r8, %r8, "
            "%r7; setp.lt.u32 %p2, %r8, 100000000; @%p2 bra S; add.u32 %r9, %r9, 1; st.global.u32 "
            "[%rd3], %r9; setp.lt.u32 %p3, %r9, 64; @%p3 bra O;\n"),
     1, 32, 0, 32, 0, PLUMB_TRAP_NONE, is_64},
    {"a loop that takes the time is no wait",
     KERNEL("",
            " mov.u32 %r9, 0; mov.u32 %r7, %clock;\nS: mov.u32 %r8, %clock; add.u32 %r9, %r9, 1; "
            "setp.lt.u32 %p2, %r9, 100; @%p2 bra S; sub.u32 %r8, %r8, %r7; setp.lt.u32 %p3, %r8, "
            "1000; selp.u32 %r9, 64, 0, %p3;\n" PUT),
     1, 32, 0, 32, 0, PLUMB_TRAP_NONE, is_64},
    {"what another block has told lies in the past",
     KERNEL("",
            " setp.ne.u32 %p1, %r3, 0; @%p1 bra W;\nS: ld.acquire.gpu.global.u32 %r8, [%rd1+4]; "
            "setp.eq.u32 %p2, %r8, 1; @%p2 bra S; mov.u32 %r7, %clock; sub.u32 %r7, %r7, %r8; "
            "setp.lt.s32 %p3, %r7, 0; selp.u32 %r9, 0, 64, %p3; st.global.v2.u32 [%rd1], {%r9, "
            "%r9}; ret;\nW: mov.u32 %r7, 0; mov.u32 %r10, 0;\nL: add.u32 %r7, %r7, 1; add.u32 "
            "%r10, %r10, %r7; "
            "xor.b32 %r10, %r10, %r7; add.u32 %r10, %r10, %r7; xor.b32 %r10, %r10, %r7; "
            "setp.lt.u32 %p2, %r7, 999; @%p2 bra L; mov.u32 %r8, %clock; st.release.gpu.global.u32 "
            "[%rd1+4], %r8;\n"),
     2, 1, 0, 2, 0, PLUMB_TRAP_NONE, is_64},
    {"an endless loop that reads nothing", KERNEL("", "S: bra S;\n"), 3, 32, 0, 16, 0,
     PLUMB_TRAP_DEADLOCK, NULL},
    {"last block sums",
     KERNEL("",
            " setp.ne.u32 %p1, %r2, 0; @%p1 bra E; add.u32 %r6, %r3, 1; mul.wide.u32 %rd8, %r6, 4; "
            "add.u64 %rd9, %rd1, %rd8; st.global.u32 [%rd9], %r6; membar.gl;\n"
            " atom.global.add.u32 %r8, [%rd1], 1; setp.ne.u32 %p2, %r8, 3; @%p2 bra E; membar.gl; "
            "ld.global.u32 %r9, [%rd1+4]; ld.global.u32 %r7, [%rd1+8]; add.u32 %r9, %r9, %r7; "
            "ld.global.u32 %r7, [%rd1+12]; add.u32 %r9, %r9, %r7; ld.global.u32 %r7, [%rd1+16]; "
            "add.u32 %r9, %r9, %r7; st.global.u32 [%rd1+36], %r9;\nE:\n"),
     4, 32, 0, 16, 0, PLUMB_TRAP_NONE, is_fence_sum},
    {"trap", KERNEL("", " setp.ne.u32 %p1, %r5, 33; @%p1 bra E; trap;\nE:\n"), 4, 32, 0, 16, 0,
     PLUMB_TRAP_ASSERT, NULL},
    {"write to constant",
     HEADER ".const .align 4 .b32 c[4];\n.visible .entry k(.param .u64 p, .param .u32 n) { .reg "
            ".b32 %r<4>; .reg .b64 %rd<4>; mov.u64 %rd1, c; cvta.const.u64 %rd2, %rd1; mov.u32 "
            "%r1, 1; st.u32 [%rd2], %r1; ret; }\n",
     1, 1, 0, 16, 0, PLUMB_TRAP_READ_ONLY, NULL},
    {"shared exchange in a warp",
     KERNEL(
         TILE, TO_TILE
         " bar.warp.sync -1; xor.b32 %r6, %r2, 1; mul.wide.u32 %rd8, %r6, 4; add.u64 %rd9, %rd6, "
         "%rd8; ld.shared.u32 %r9, [%rd9]; bar.warp.sync -1; st.shared.u32 [%rd9], %r9;\n"),
     1, 64, 0, 64, 0, PLUMB_TRAP_NONE, NULL},
    {"warp barrier does not order warps",
     KERNEL(TILE, TO_TILE " bar.warp.sync -1; xor.b32 %r6, %r2, 32; mul.wide.u32 %rd8, %r6, 4; "
                          "add.u64 %rd9, %rd6, %rd8; ld.shared.u32 %r9, [%rd9];\n"),
     1, 64, 0, 64, 0, PLUMB_TRAP_RACE, NULL},
    {"producer and consumer warps",
     KERNEL(TILE,
            " mov.u64 %rd6, tile; setp.ge.u32 %p1, %r2, 32; @%p1 bra C; add.u64 %rd7, %rd6, %rd4; "
            "st.shared.u32 [%rd7], %r2; bar.arrive 1, 64; bra E;\nC: bar.sync 1, 64; sub.u32 %r6, "
            "%r2, 32; mul.wide.u32 %rd8, %r6, 4; add.u64 %rd9, %rd6, %rd8; ld.shared.u32 %r9, "
            "[%rd9];\n" PUT "E:\n"),
     1, 64, 0, 64, 0, PLUMB_TRAP_NONE, NULL},
    {"barrier reduction",
     KERNEL("",
            " setp.ge.u32 %p1, %r2, 0; barrier.sync 0; barrier.red.popc.u32 %r9, 0, %p1;\n" PUT),
     1, 64, 0, 64, 0, PLUMB_TRAP_NONE, is_64},
    {"ends of lanes complete a barrier",
     KERNEL("",
            " setp.lt.u32 %p1, %r2, 32; @%p1 bra W; bar.sync 0; mul.lo.u32 %r9, %r5, 2; "
            "st.global.u32 [%rd3], %r9; ret;\nW: mov.u32 %r8, 0;\nL: add.u32 %r8, %r8, 1; "
            "setp.lt.u32 %p3, %r8, 300; @%p3 bra L; mul.lo.u32 %r9, %r5, 2;\n" PUT),
     1, 64, 0, 64, 0, PLUMB_TRAP_NONE, is_double},
};

static void run(const row *r, uint64_t seed) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  plumb_program *p = plumb_program_create(arena, r->name);
  plumb_status status = plumb_ptx_decode(p, "test.ptx", r->text, strlen(r->text), &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  CHECK(status == PLUMB_OK, "%s: %d: %s", r->name, diag.line, diag.message);
  plumb_machine *m = plumb_machine_create(arena);
  uint32_t *words = calloc(r->words, sizeof *words);
  for (uint32_t i = 0; i < r->words; i++) words[i] = i;
  uint64_t address = plumb_machine_alloc(m, r->words * 4ull, 256, "p");
  plumb_machine_write(m, address, words, (r->words - r->fresh) * 4ull, &diag);
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  plumb_run_options options = plumb_run_options_default();
  options.seed = seed;
  options.step_limit = 500000000;
  struct {
    uint64_t p;
    uint32_t n, pad;
  } params = {address, 100, 0};
  plumb_launch launch = {
      .grid = {r->grid, 1, 1}, .block = {r->block, 1, 1}, .shared_bytes = r->shared_bytes};
  plumb_run_result result = {0};
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, "k", &launch, &params, 12, &options, &result, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", r->name, diag.message);
  CHECK(result.trap.kind == r->trap, "%s (seed %llu): trap %s, wanted %s: %s (line %d)", r->name,
        (unsigned long long)seed, plumb_trap_text(result.trap.kind), plumb_trap_text(r->trap),
        result.trap.message ? result.trap.message : "-", result.trap.location.stage_line);
  if (r->trap != PLUMB_TRAP_NONE)
    CHECK(result.trap.location.stage_line > 0, "%s: the trap has no place", r->name);
  if (status == PLUMB_OK && r->expected) {
    plumb_machine_read(m, address, words, NULL, r->words * 4ull, &diag);
    for (uint32_t i = 0; i < r->words; i++)
      if (words[i] != r->expected(i)) {
        CHECK(words[i] == r->expected(i), "%s: word %u is %u, wanted %u", r->name, i, words[i],
              r->expected(i));
        break;
      }
  }
  plumb_machine_destroy(m);
  free(words);
  plumb_arena_destroy(arena);
}

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (uint64_t seed = 0; seed < 3; seed++) run(&rows[i], seed);
  return check_finish();
}

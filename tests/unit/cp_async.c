/* cp.async of many lanes through PTX, where they are not alike: some wait and some do not, their
 * groups differ, rows overlap, or are filled (targets/cpu/cp_async.c). */
#include "tests/unit/async_run.h"

/* Lane l copies word l; %p2: l < 64; %p3: l is odd. */
#define WORD \
  "shl.b32 %r5, %r1, 2; mov.u32 %r6, tile; add.u32 %r6, %r6, %r5; cvt.u64.u32 %rd7, %r5; " \
  "add.u64 %rd8, %rd1, %rd7; setp.lt.u32 %p2, %r1, 64; and.b32 %r10, %r1, 1; setp.eq.u32 %p3, " \
  "%r10, 1;\n"
#define COPY "cp.async.ca.shared.global [%r6], [%rd8], 4;\n"
#define ALL(body) KERNEL("", TILE("1024"), WORD body "bar.sync 0;\n" OTHERS)

static uint32_t other_word(uint32_t i, uint32_t before) {
  return i < 128 ? 7 * (i ^ 37) + 1 : before;
}
static uint32_t odd_words(uint32_t i, uint32_t before) {
  return i < 128 ? ((i ^ 37) & 1 ? 7 * (i ^ 37) + 1 : 0) : before;
}
static uint32_t low_bytes(uint32_t i, uint32_t before) {
  return i < 128 ? (7 * (i ^ 37) + 1) & ((i ^ 37) & 1 ? 0xffu : 0) : before;
}
static uint32_t written(uint32_t i, uint32_t before) {
  return i < 128 ? i : before;
}

static const char alike[] = ALL(COPY "cp.async.wait_all;\n");
/* Each half has a wait of its own. */
static const char halves[] = ALL(COPY
                                 "cp.async.commit_group;\n@!%p2 bra UPPER;\n"
                                 "cp.async.wait_group 0;\nbra.uni MET;\n"
                                 "UPPER:\n cp.async.wait_all;\nMET:\n");
/* Odd lanes have had a group more before the copy; after it nobody has. */
static const char more_before[] =
    ALL("@%p3 cp.async.commit_group;\n" COPY "cp.async.commit_group;\ncp.async.wait_group 0;\n");
static const char never_ended[] = ALL(COPY "cp.async.commit_group;\n");
/* Groups 0 of the even lanes and 1 of the odd ones: neither has to have ended. */
static const char none_ended[] =
    ALL("@%p3 cp.async.commit_group;\n" COPY "cp.async.commit_group;\ncp.async.wait_group 1;\n");
/* Only lanes that commit once more after the copy wait for it. */
static const char more_after[] =
    ALL(COPY "cp.async.commit_group;\n@%p3 cp.async.commit_group;\ncp.async.wait_group 1;\n");
/* The even lanes' copies are ended by a wait for everything. */
static const char rest[] = ALL(COPY
                               "cp.async.commit_group;\n@%p3 cp.async.commit_group;\n"
                               "cp.async.wait_group 1;\n@!%p3 cp.async.wait_all;\n");
static const char two_groups[] =
    ALL(COPY
        "cp.async.commit_group;\ncp.async.ca.shared.global [%r6+512], [%rd8], 4;\n"
        "cp.async.commit_group;\ncp.async.wait_group 1;\n@%p2 cp.async.wait_group 0;\n"
        "cp.async.wait_group 0;\n");
/* Neighbours write one word. */
static const char overlap[] = ALL("and.b32 %r6, %r6, -8;\n" COPY "cp.async.wait_all;\n");
/* The second copy writes what the first one does. */
static const char twice[] = ALL(COPY COPY "cp.async.wait_all;\n");
static const char in_order[] = ALL(COPY "cp.async.wait_all;\n" COPY "cp.async.wait_all;\n");
static const char filled[] =
    ALL("shl.b32 %r11, %r10, 2;\ncp.async.ca.shared.global [%r6], [%rd8], 4, %r11;\n"
        "cp.async.wait_all;\n");
static const char filled_in_part[] =
    ALL("cp.async.ca.shared.global [%r6], [%rd8], 4, %r10;\n"
        "cp.async.wait_all;\n");
static const char ignored[] =
    ALL("setp.eq.u32 %p4, %r10, 0;\ncp.async.ca.shared.global [%r6], [%rd8], 4, %p4;\n"
        "cp.async.wait_all;\n");
/* Copies what other lanes have just written to global memory. */
static const char fresh[] =
    ALL("xor.b32 %r11, %r1, 37; shl.b32 %r12, %r11, 2; cvt.u64.u32 %rd9, %r12; add.u64 %rd9, %rd1, "
        "%rd9; st.global.u32 [%rd9], %r1;\nbarrier.sync 0;\n" COPY "cp.async.wait_all;\n");
/* Half of the lanes let an mbarrier wait for their copies, half wait themselves. */
static const char arrive[] =
    KERNEL("", TILE("1024"),
           INIT("64") "bar.sync 0;\n" WORD COPY
                      "@%p2 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n"
                      "@!%p2 cp.async.wait_all;\n" WAIT("1", "0") "bar.sync 0;\n" OTHERS);
static const char beyond[] = ALL("@%p3 add.u64 %rd8, %rd8, 16384;\n" COPY "cp.async.wait_all;\n");
static const char odd_address[] = ALL("@%p3 add.u64 %rd8, %rd8, 2;\n" COPY "cp.async.wait_all;\n");

static const struct {
  row row;
  const char *says;
} rows[] = {
    {{"alike", alike, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"halves", halves, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"halves", halves, 1, 128, NULL, "cp.async.wait_all;", PLUMB_TRAP_RACE, NULL}, NULL},
    {{"halves", halves, 1, 128, NULL, "cp.async.wait_group 0;", PLUMB_TRAP_RACE, NULL}, NULL},
    {{"more groups before", more_before, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"more groups before", more_before, 1, 128, NULL, "cp.async.wait_group 0;", PLUMB_TRAP_RACE,
      NULL},
     "issued by lane 37"},
    {{"never ended", never_ended, 1, 128, NULL, NULL, PLUMB_TRAP_RACE, NULL}, "issued by lane 37"},
    {{"none ended", none_ended, 1, 128, NULL, NULL, PLUMB_TRAP_RACE, NULL}, "issued by lane 37"},
    {{"more groups after", more_after, 1, 128, NULL, NULL, PLUMB_TRAP_RACE, NULL},
     "issued by lane 36"},
    {{"the rest", rest, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"two groups", two_groups, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"overlapping rows", overlap, 1, 128, NULL, NULL, PLUMB_TRAP_RACE, NULL}, "issued by lane 0 "},
    {{"written twice", twice, 1, 128, NULL, NULL, PLUMB_TRAP_RACE, NULL}, "issued by lane 0 "},
    {{"written in order", in_order, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"filled", filled, 1, 128, odd_words, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"filled in part", filled_in_part, 1, 128, low_bytes, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"ignored", ignored, 1, 128, odd_words, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"fresh", fresh, 1, 128, written, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"fresh", fresh, 1, 128, NULL, "barrier.sync 0;", PLUMB_TRAP_RACE, NULL}, NULL},
    {{"mbarrier of some", arrive, 1, 128, other_word, NULL, PLUMB_TRAP_NONE, NULL}, NULL},
    {{"mbarrier of some", arrive, 1, 128, NULL, "@!%p2 cp.async.wait_all;", PLUMB_TRAP_RACE, NULL},
     NULL},
    {{"out of bounds", beyond, 1, 128, NULL, NULL, PLUMB_TRAP_OUT_OF_BOUNDS, NULL},
     "which has 16384 bytes"},
    {{"misaligned", odd_address, 1, 128, NULL, NULL, PLUMB_TRAP_MISALIGNED, NULL}, NULL},
};

/* What was never written is undefined where it was copied to, too. */
static void copy_uninitialised(void) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  plumb_program *p = plumb_program_create(arena, "uninitialised");
  plumb_machine *m = plumb_machine_create(arena);
  plumb_run_result result = {0};
  plumb_run_options options = plumb_run_options_default();
  plumb_launch launch = {.grid = {1, 1, 1}, .block = {128, 1, 1}};
  params args = {.in = plumb_machine_alloc(m, IN_WORDS * 4ull, 256, "in"),
                 .out = plumb_machine_alloc(m, OUT_WORDS * 4ull, 256, "out")};
  uint32_t word = 1;
  plumb_machine_write(m, args.in, &word, sizeof word, &diag); /* lane 0's alone is defined */
  CHECK(plumb_ptx_decode(p, "alike.ptx", alike, strlen(alike), &diag) == PLUMB_OK &&
            plumb_program_finish(p, &diag) == PLUMB_OK &&
            plumb_machine_load(m, p, &diag) == PLUMB_OK &&
            plumb_machine_launch(m, "k", &launch, &args, sizeof args, &options, &result, &diag) ==
                PLUMB_OK,
        "%s", diag.message);
  CHECK(result.trap.kind == PLUMB_TRAP_UNINITIALISED, "trap %s: %s",
        plumb_trap_text(result.trap.kind), result.trap.message ? result.trap.message : "-");
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  copy_uninitialised();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (uint64_t seed = 0; seed < 3; seed++) run_row_saying(&rows[i].row, seed, rows[i].says);
  return check_finish();
}

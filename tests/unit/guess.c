/* A plain load that guesses what a compare-and-swap will find is no race (targets/cpu/guess.c);
 * one whose value can show is. */
#include <string.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

/* k(words): every lane of two blocks adds 3 to word 0; %rd9 + 16 is a word of its own. */
#define KERNEL(body) \
  ".version 8.0\n.target sm_80\n.address_size 64\n" \
  ".visible .entry k(.param .u64 words) {\n.reg .b64 %rd<20>; .reg .pred %p<3>; .reg .b32 " \
  "%r<3>;\n" \
  "ld.param.u64 %rd1, [words];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x;\n" \
  "mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r1, %r2, 64, %r1;\nmul.wide.u32 %rd9, %r1, 8;\n" \
  "add.s64 %rd9, %rd2, %rd9;\n" body "ret;\n}\n"
#define SWAP "atom.global.cas.b64 %rd5, [%rd2], %rd6, %rd4;\n"
#define AGAIN "setp.ne.s64 %p1, %rd6, %rd5;\nmov.u64 %rd6, %rd5;\n@%p1 bra AGAIN;\n"
#define LOOP(guess, inside) guess "AGAIN: add.s64 %rd4, %rd6, 3;\n" inside AGAIN
#define GUESS "ld.global.u64 %rd6, [%rd2];\n"

typedef struct row {
  const char *name, *text;
  bool race;
} row;

static const row rows[] = {
    {"the usual loop", KERNEL(LOOP(GUESS, SWAP)), false},
    {"moved to the loop", KERNEL(LOOP("ld.global.u64 %rd7, [%rd2];\nmov.u64 %rd6, %rd7;\n", SWAP)),
     false},
    {"copied in the loop, found in place",
     KERNEL(GUESS "AGAIN: mov.u64 %rd7, %rd6;\nadd.s64 %rd4, %rd7, 3;\n"
                  "atom.global.cas.b64 %rd6, [%rd2], %rd7, %rd4;\nsetp.ne.s64 %p1, %rd6, %rd7;\n"
                  "@%p1 bra AGAIN;\n"),
     false},
    {"compared with itself",
     KERNEL(GUESS "AGAIN: add.s64 %rd4, %rd6, 3;\natom.global.cas.b64 %rd6, [%rd2], %rd6, %rd4;\n"
                  "setp.ne.s64 %p1, %rd6, %rd6;\n@%p1 bra AGAIN;\n"),
     true},
    {"through a generic address", KERNEL(LOOP("ld.u64 %rd6, [%rd1];\n", SWAP)), false},
    {"left where it is equal",
     KERNEL(GUESS "AGAIN: add.s64 %rd4, %rd6, 3;\n" SWAP "setp.eq.s64 %p1, %rd5, %rd6;\n"
                  "mov.u64 %rd6, %rd5;\n@%p1 bra DONE;\nbra.uni AGAIN;\nDONE:\n"),
     false},
    {"what was found is used",
     KERNEL(LOOP(GUESS, SWAP) "setp.lt.s64 %p2, %rd5, 0;\n@%p2 st.global.u64 [%rd9+16], %rd4;\n"),
     false},
    {"the guess is stored", KERNEL(GUESS "st.global.u64 [%rd9+16], %rd6;\n" LOOP("", SWAP)), true},
    {"the guess decides whether to swap",
     KERNEL(GUESS "setp.gt.s64 %p2, %rd6, 1000;\n@%p2 bra DONE;\n" LOOP("", SWAP) "DONE:\n"), true},
    {"another place",
     KERNEL("ld.global.u64 %rd6, [%rd2+8];\n" LOOP("", SWAP) "red.global.add.u64 [%rd2+8], 1;\n"),
     true},
    {"swapped once", KERNEL(GUESS "add.s64 %rd4, %rd6, 3;\n" SWAP), true},
    {"not asked whether it was found", KERNEL(LOOP(GUESS, SWAP "xor.b64 %rd6, %rd6, 1;\n")), true},
    {"a store in the loop", KERNEL(LOOP(GUESS, "st.global.u64 [%rd9+16], %rd4;\n" SWAP)), true},
    {"the swap is guarded",
     KERNEL("setp.ne.s64 %p2, %rd2, 0;\n" LOOP(GUESS, "mov.u64 %rd5, 0;\n@%p2 " SWAP)), true},
    {"a plain write beside it", KERNEL(LOOP(GUESS, SWAP) "st.global.u64 [%rd2], %rd4;\n"), true},
};

static void run(const row *r, uint64_t seed) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  plumb_program *p = plumb_program_create(arena, r->name);
  plumb_machine *m = plumb_machine_create(arena);
  plumb_run_options options = plumb_run_options_default();
  plumb_launch launch = {.grid = {2, 1, 1}, .block = {64, 1, 1}};
  plumb_run_result result = {0};
  uint64_t words[2 + 128] = {0}, address = plumb_machine_alloc(m, sizeof words, 256, "words");
  options.seed = seed;
  plumb_machine_write(m, address, words, sizeof words, &diag);
  CHECK(plumb_ptx_decode(p, "guess.ptx", r->text, strlen(r->text), &diag) == PLUMB_OK &&
            plumb_program_finish(p, &diag) == PLUMB_OK &&
            plumb_machine_load(m, p, &diag) == PLUMB_OK &&
            plumb_machine_launch(m, "k", &launch, &address, sizeof address, &options, &result,
                                 &diag) == PLUMB_OK,
        "%s: %s", r->name, diag.message);
  CHECK(result.trap.kind == (r->race ? PLUMB_TRAP_RACE : PLUMB_TRAP_NONE), "%s: %s: %s", r->name,
        plumb_trap_text(result.trap.kind), result.trap.message ? result.trap.message : "-");
  plumb_machine_read(m, address, words, NULL, sizeof words, &diag);
  CHECK(r->race || words[0] == 2 * 64 * 3, "%s: the sum is %lu", r->name, words[0]);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (uint64_t seed = 0; seed < 3; seed++) run(&rows[i], seed);
  return check_finish();
}

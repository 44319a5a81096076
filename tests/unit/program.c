/* The program: printed form and reader, linking, verifier, order, slots, global order. */
#include <stdlib.h>
#include <string.h>

#include "ir/program.h"
#include "tests/unit/check.h"

typedef struct reading {
  plumb_arena *arena;
  plumb_program *p;
  plumb_status status;
  plumb_diag diag;
} reading;

static reading read_text(const char *text) {
  reading r = {.arena = plumb_arena_create()};
  r.status = plumb_program_read(r.arena, "t", text, strlen(text), &r.p, &r.diag);
  if (r.status == PLUMB_OK) r.status = plumb_program_finish(r.p, &r.diag);
  return r;
}

#define HEAD "program 1 \"p\"\n"
#define KERNEL(regs, body) HEAD "kernel \"k\" {\n  regs " regs "\n  block\n" body "}\n"

static const char everything[] = HEAD
    "; a comment\n"
    "global \"table\" space=const size=16 align=8 init=00112233445566778899aabbccddeeff\n"
    "  reloc \"callee\" offset=8 addend=-4 generic\n"
    "global \"tile\" space=shared size=1024 align=4\n"
    "global \"dyn\" space=shared size=0 align=16 dynamic\n"
    "device \"callee\" {\n"
    "  regs f32*2\n"
    "  param \"x\" f32 offset=0 size=4 align=4 %0\n"
    "  results f32\n"
    "  block\n"
    "    %1 = math f32 sub=exp %0\n"
    "    ret i1 %1\n"
    "}\n"
    "device \"missing\" external {\n"
    "}\n"
    "kernel \"k\" {\n"
    "  regs i64 i32*2 f32*2 i1 i128\n"
    "  param \"a\\22b\" i64 offset=0 size=8 align=8\n"
    "  param_bytes 8\n"
    "  frame 16\n"
    "  required_threads 32 1 1\n"
    "  required_cluster 2 1 1\n"
    "  table 1 2\n"
    "  block\n"
    "    %0 = load i64 space=param loc=3:5:17:\"k.cu\" i64:0x0\n"
    "    %1 = sreg i32 sub=tid.x loc=0:0:18\n"
    "    %5 = cmp i1 from=i32 sub=lt_s %1 i32:0xa\n"
    "    @!%5 %3 = load f32 space=global flags=volatile imm=-4 %0\n"
    "    @%5 %3 = mov f32 f32:0x3f800000\n"
    "    %4 = add f32 round=rz flags=ftz,sat %3 f32:0x80000000\n"
    "    %4 = call i1 text=\"callee\" %4\n"
    "    call i1 text=\"missing\"\n"
    "    %6 = mov i128 i128:0x1:0x8000000000000000\n"
    "    %2 %5 = shfl i32 sub=bfly %1 i32:0x1 i32:0x1f i32:0xffffffff\n"
    "    switch i32 to=1 %2\n"
    "  block\n"
    "    %0 = address i64 space=shared imm=1\n"
    "    bra i1 to=2\n"
    "  block\n"
    "    trap i1 text=\"no\"\n"
    "}\n";

static void check_round_trip(void) {
  reading first = read_text(everything);
  CHECK(first.status == PLUMB_OK, "%d: %s", first.diag.line, first.diag.message);
  if (first.status != PLUMB_OK) return;
  plumb_text printed = plumb_text_create(first.arena);
  plumb_program_print(first.p, &printed);
  reading second = read_text(printed.data);
  CHECK(second.status == PLUMB_OK, "%d: %s in\n%s", second.diag.line, second.diag.message,
        printed.data);
  if (second.status != PLUMB_OK) return;
  plumb_digest a = plumb_program_digest(first.p), b = plumb_program_digest(second.p);
  CHECK(a.lo == b.lo && a.hi == b.hi, "digest changed by the round trip");
  plumb_text again = plumb_text_create(second.arena);
  plumb_program_print(second.p, &again);
  CHECK(strcmp(printed.data, again.data) == 0, "the printed form is not stable:\n%s\n%s",
        printed.data, again.data);
  const plumb_function *k = plumb_program_find(second.p, "k");
  const plumb_loc *loc = &second.p->locs[k->insts[0].loc];
  CHECK(loc->line == 3 && loc->column == 5 && loc->stage_line == 17 && loc->file &&
            strcmp(loc->file, "k.cu") == 0,
        "location lost");
  CHECK(strcmp(k->params[0].name, "a\"b") == 0, "name is %s", k->params[0].name);
  CHECK(k->uses_global_order, "volatile global load orders blocks");
  CHECK(k->insts[7].op == PLUMB_OP_UNSUPPORTED, "call of a function without body stays a call");
  plumb_arena_destroy(first.arena);
  plumb_arena_destroy(second.arena);
}

typedef struct row {
  const char *name;
  const char *text;
  const char *message; /* part of it */
  int line, column;    /* 0: not checked */
} row;

static const row bad_rows[] = {
    {"empty", "", "expected 'program'", 1, 1},
    {"version", "program 2 \"p\"\n", "expected '1', found '2 \"p\"'", 1, 9},
    {"top", HEAD "kernal \"k\" {\n", "expected global, reloc, host, kernel or device", 2, 1},
    {"unclosed", HEAD "kernel \"k\" {\n", "'}' at the end of the function", 3, 1},
    {"string", HEAD "kernel \"k {\n", "a closing double quote", 2, 9},
    {"operation", KERNEL("f32", "    %0 = ad f32 %0 %0\n"), "expected an operation, found 'ad f32",
     5, 10},
    {"type", KERNEL("f32", "    %0 = add f33 %0 %0\n"), "a type such as i32", 5, 14},
    {"register", KERNEL("f32", "    %1 = add f32 %0 %0\n"), "a register below 1", 5, 0},
    {"constant", KERNEL("i8", "    %0 = mov i8 i8:0x100\n"), "a number of at most 255", 5, 20},
    {"flag", KERNEL("f32", "    %0 = add f32 flags=fzt %0 %0\n"), "a flag such as", 5, 0},
    {"predicate", KERNEL("i1", "    %0 = cmp i1 sub=less %0 %0\n"), "own kinds", 5, 21},
    {"init", HEAD "global \"g\" space=const size=4 align=4 init=0011\n", "hexadecimal digits", 2,
     0},
    {"size", HEAD "global \"g\" space=const size=99999999999999999999 align=4\n",
     "a number of at most", 2, 0},
    {"many registers", KERNEL("i8*99999999", ""), "a number of at most 16777216", 3, 0},
    {"no block", HEAD "kernel \"k\" {\n  ret i1\n}\n", "'block' before", 3, 0},
    /* the linker and the verifier */
    {"twice", KERNEL("i8", "    ret i1\n") "kernel \"k\" {\n  block\n    ret i1\n}\n",
     "function 'k' is defined twice", 0, 0},
    {"no end", KERNEL("f32", "    %0 = add f32 %0 %0\n"), "a block ends in one unguarded", 0, 0},
    {"empty block", KERNEL("f32", ""), "block is empty", 0, 0},
    {"code after the end", KERNEL("f32", "    ret i1\n    %0 = neg f32 %0\n    ret i1\n"),
     "a block ends in one unguarded", 0, 0},
    {"operand size", KERNEL("f32 f64", "    %0 = add f32 %0 %1\n    ret i1\n"),
     "operand has another size", 0, 0},
    {"result size", KERNEL("f32 f64", "    %1 = add f32 %0 %0\n    ret i1\n"),
     "result has another size", 0, 0},
    {"address", KERNEL("f32 i32", "    %0 = load f32 %1\n    ret i1\n"), "operand has another size",
     0, 0},
    {"condition", KERNEL("i32", "    condbr i1 to=0 else=0 %0\n"), "the condition is no i1", 0, 0},
    {"block target", KERNEL("i32", "    bra i1 to=7\n"), "target block does not exist", 0, 0},
    {"table", KERNEL("i32", "    switch i32 to=0 imm=3 %0\n"), "jump table does not exist", 0, 0},
    {"global", KERNEL("i64", "    %0 = address i64 imm=2\n    ret i1\n"), "global does not exist",
     0, 0},
};

static void check_bad_rows(void) {
  for (size_t i = 0; i < sizeof bad_rows / sizeof *bad_rows; i++) {
    const row *w = &bad_rows[i];
    reading r = read_text(w->text);
    CHECK(r.status == PLUMB_BAD_INPUT, "%s: status %s", w->name, plumb_status_name(r.status));
    CHECK(strstr(r.diag.message, w->message), "%s: message '%s'", w->name, r.diag.message);
    CHECK(!w->line || r.diag.line == w->line, "%s: line %d", w->name, r.diag.line);
    CHECK(!w->column || r.diag.column == w->column, "%s: column %d", w->name, r.diag.column);
    plumb_arena_destroy(r.arena);
  }
}

/* Every cut of a good text ends in a message or in a program, never worse. */
static void check_truncations(void) {
  for (size_t length = 0; length < sizeof everything - 1; length += 3) {
    char *cut = malloc(length + 1);
    memcpy(cut, everything, length);
    cut[length] = 0;
    reading r = read_text(cut);
    CHECK(r.status == PLUMB_OK || r.diag.message[0], "cut at %zu: no message", length);
    plumb_arena_destroy(r.arena);
    free(cut);
  }
}

/* A loop whose body comes last in the text: it is scheduled before the loop's exit. */
static void check_order(void) {
  reading r = read_text(HEAD
                        "kernel \"k\" {\n  regs i1\n"
                        "  block\n    bra i1 to=1\n"
                        "  block\n    condbr i1 to=3 else=2 %0\n"
                        "  block\n    ret i1\n"
                        "  block\n    condbr i1 to=4 else=5 %0\n"
                        "  block\n    bra i1 to=6\n"
                        "  block\n    bra i1 to=6\n"
                        "  block\n    bra i1 to=1\n}\n");
  CHECK(r.status == PLUMB_OK, "%s", r.diag.message);
  if (r.status != PLUMB_OK) return;
  const plumb_block *b = r.p->functions[0]->blocks;
  CHECK(b[0].order == 0 && b[1].order == 1, "entry %u, header %u", b[0].order, b[1].order);
  CHECK(b[2].order == 6, "the loop's exit is number %u", b[2].order);
  CHECK(b[6].order == 5, "the join of the body is number %u", b[6].order);
  CHECK(b[3].reconverge == 6, "the branch in the body rejoins at %u", b[3].reconverge);
  CHECK(b[1].reconverge == 2, "the loop's header rejoins at %u", b[1].reconverge);
  plumb_arena_destroy(r.arena);
}

/* 1000 registers in a chain: few are live at once, so few slots are needed. */
static void check_slots(void) {
  plumb_arena *arena = plumb_arena_create();
  plumb_program *p = plumb_program_create(arena, "p");
  plumb_function *f = plumb_function_create(p, "k", PLUMB_KERNEL);
  plumb_builder b = plumb_builder_at(f, plumb_block_create(f));
  enum { LIVE = 60 };
  plumb_reg ring[LIVE];
  for (int i = 0; i < LIVE; i++) ring[i] = plumb_build_sreg(&b, PLUMB_SREG_TID_X);
  for (int i = 0; i < 940; i++)
    ring[i % LIVE] =
        plumb_build2(&b, PLUMB_OP_ADD, PLUMB_I32, ring[i % LIVE], ring[(i + 1) % LIVE]);
  plumb_reg_create_run(f, PLUMB_I64, 500); /* never used: no slot */
  plumb_build_ret(&b, NULL, 0);
  plumb_diag diag = {0};
  CHECK(plumb_program_finish(p, &diag) == PLUMB_OK, "%s", diag.message);
  CHECK(f->slot_bytes <= 100 * 4, "%u bytes of slots", f->slot_bytes);
  plumb_arena_destroy(arena);
}

int main(void) {
  check_round_trip();
  check_bad_rows();
  check_truncations();
  check_order();
  check_slots();
  return check_finish();
}

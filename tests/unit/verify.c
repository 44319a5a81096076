/* The verifier: every row is a program that must not reach the executor, whose handlers
 * rely on what is refused here. And calls by address, which are checked when they are made. */
#include <string.h>

#include "ir/program.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

#define HEAD "program 1 \"p\"\n"
#define KERNEL(regs, body) HEAD "kernel \"k\" {\n  regs " regs "\n  block\n" body "    ret i1\n}\n"
#define DEVICE(regs, results, body) \
  "device \"f\" {\n  regs " regs "\n" results "  block\n" body "}\n"
/* f(i32 %0) -> i32, and a host function `main` with `body` before its end. */
#define CALLEE(body) \
  HEAD DEVICE("i32 i64", "  param \"x\" i32 offset=0 size=4 align=4 %0\n  results i32\n", \
              "    ret i1 %0\n") "kernel \"k\" {\n  param \"a\" i64 offset=0 size=8 align=8\n" \
                                 "  param_bytes 8\n  block\n    ret i1\n}\n" \
                                 "host \"main\" {\n  regs i32*2 i64*2 i8\n  block\n" body \
                                 "    ret i1\n}\n"

typedef struct row {
  const char *name;
  const char *text;
  plumb_status status;
  const char *message; /* part of it */
} row;

static const row rows[] = {
    {"ret without its value", HEAD DEVICE("i32", "  results i32\n", "    ret i1\n"),
     PLUMB_BAD_INPUT, "number of values is not that"},
    {"ret of too many", HEAD DEVICE("i32", "", "    ret i1 %0\n"), PLUMB_BAD_INPUT,
     "number of values is not that"},
    {"ret of another size", HEAD DEVICE("i64", "  results i32\n", "    ret i1 %0\n"),
     PLUMB_BAD_INPUT, "a value has another size"},
    {"kernel returns", HEAD "kernel \"k\" {\n  regs i32\n  block\n    ret i1 %0\n}\n",
     PLUMB_BAD_INPUT, "number of values is not that"},
    {"call without argument", CALLEE("    %0 = call i1 text=\"f\"\n"), PLUMB_BAD_INPUT,
     "number of arguments is not that"},
    {"call with a wide argument", CALLEE("    %0 = call i1 text=\"f\" %2\n"), PLUMB_BAD_INPUT,
     "an argument has another size"},
    {"call with a wide result", CALLEE("    %2 = call i1 text=\"f\" %0\n"), PLUMB_BAD_INPUT,
     "a result has another size"},
    {"call with two results", CALLEE("    %0 %1 = call i1 text=\"f\" %0\n"), PLUMB_BAD_INPUT,
     "more results"},
    {"call of a kernel", CALLEE("    call i1 text=\"k\" %2\n"), PLUMB_BAD_INPUT,
     "kernels are launched"},
    {"indirect without address", CALLEE("    call_indirect i1\n"), PLUMB_BAD_INPUT,
     "needs the address"},
    {"indirect through 32 bits", CALLEE("    call_indirect i1 %0\n"), PLUMB_BAD_INPUT,
     "another size"},
    {"launch of six sizes",
     CALLEE("    launch i1 text=\"k\" i64:0x1 i64:0x1 i64:0x1 i64:0x1 i64:0x1 i64:0x1\n"),
     PLUMB_BAD_INPUT, "seven sizes"},
    {"launch with a narrow argument",
     CALLEE("    launch i1 text=\"k\" i64:0x1 i64:0x1 i64:0x1 i64:0x1 i64:0x1 i64:0x1 i64:0x0 "
            "%0\n"),
     PLUMB_BAD_INPUT, "an argument has another size"},
    {"launch without the argument",
     CALLEE("    launch i1 text=\"k\" i64:0x1 i64:0x1 i64:0x1 i64:0x1 i64:0x1 i64:0x1 i64:0x0\n"),
     PLUMB_BAD_INPUT, "number of arguments"},
    {"kernel parameter in a register",
     HEAD "kernel \"k\" {\n  param \"a\" i64 offset=0 size=8 align=8 %99\n  param_bytes 8\n"
          "  block\n    ret i1\n}\n",
     PLUMB_BAD_INPUT, "a parameter lies outside"},
    {"parameter space", HEAD "kernel \"k\" {\n  param_bytes 32765\n  block\n    ret i1\n}\n",
     PLUMB_BAD_INPUT, "32764 bytes of parameters"},
    {"external with a body", HEAD "device \"f\" external {\n  block\n    ret i1\n}\n",
     PLUMB_BAD_INPUT, "external and has a body"},
    {"shuffle of 64 bits",
     KERNEL("i64 i1", "    %0 %1 = shfl i64 sub=bfly %0 i32:0x1 i32:0x1f i32:0xffffffff\n"),
     PLUMB_BAD_INPUT, "variant"},
    {"shuffle of another size",
     KERNEL("i64 i32 i1", "    %1 %2 = shfl i32 sub=bfly %0 i32:0x1 i32:0x1f i32:0xffffffff\n"),
     PLUMB_BAD_INPUT, "operand has another size"},
    {"shuffle into another size",
     KERNEL("i64 i32 i1", "    %0 %2 = shfl i32 sub=bfly %1 i32:0x1 i32:0x1f i32:0xffffffff\n"),
     PLUMB_BAD_INPUT, "result has another size"},
    {"vote under 64 bits", KERNEL("i32 i1", "    %0 = vote i32 sub=ballot %1 i64:0xffffffff\n"),
     PLUMB_BAD_INPUT, "operand has another size"},
    {"vote of a word", KERNEL("i32 i1", "    %0 = vote i32 sub=ballot %0 i32:0xffffffff\n"),
     PLUMB_BAD_INPUT, "operand has another size"},
    {"match of 128 bits", KERNEL("i32 i1 i128", "    %0 %1 = match i128 %2 i32:0xffffffff\n"),
     PLUMB_BAD_INPUT, "variant"},
    {"match of another size", KERNEL("i32 i1", "    %0 %1 = match i64 %0 i32:0xffffffff\n"),
     PLUMB_BAD_INPUT, "operand has another size"},
    {"redux of an exchange", KERNEL("i32", "    %0 = redux i32 sub=exch %0 i32:0xffffffff\n"),
     PLUMB_BAD_INPUT, "variant"},
    {"redux of another size", KERNEL("i32 i64", "    %0 = redux i32 sub=add %1 i32:0xffffffff\n"),
     PLUMB_BAD_INPUT, "operand has another size"},
    {"warp_sync mask", KERNEL("i8", "    warp_sync i32 %0\n"), PLUMB_BAD_INPUT,
     "operand has another size"},
    {"elect mask", KERNEL("i32 i1 i8", "    %0 %1 = elect i32 %2\n"), PLUMB_BAD_INPUT,
     "operand has another size"},
    {"activemask", KERNEL("i64", "    %0 = activemask i32\n"), PLUMB_BAD_INPUT,
     "result has another size"},
    {"barrier number", KERNEL("i8", "    barrier i32 sub=sync %0 i32:0x0\n"), PLUMB_BAD_INPUT,
     "operand has another size"},
    {"barrier with a result", KERNEL("i32", "    %0 = barrier i32 sub=sync i32:0x0 i32:0x0\n"),
     PLUMB_BAD_INPUT, "variant"},
    {"reduction without predicate",
     KERNEL("i32", "    %0 = barrier i32 sub=red_popc i32:0x0 i32:0x0\n"), PLUMB_BAD_INPUT,
     "variant"},
    {"reduction without result", KERNEL("i1", "    barrier i32 sub=red_or i32:0x0 i32:0x0 %0\n"),
     PLUMB_BAD_INPUT, "variant"},
    {"nanosleep", KERNEL("i64", "    nanosleep i32 %0\n"), PLUMB_BAD_INPUT,
     "operand has another size"},
    {"special register of 128 bits", KERNEL("i128", "    %0 = sreg i128 sub=tid.x\n"),
     PLUMB_BAD_INPUT, "variant"},
    {"special register into 128 bits", KERNEL("i128", "    %0 = sreg i32 sub=tid.x\n"),
     PLUMB_BAD_INPUT, "result has another size"},
    {"switch on 128 bits",
     HEAD "kernel \"k\" {\n  regs i128\n  table 0\n  block\n    switch i128 to=0 imm=0 %0\n}\n",
     PLUMB_BAD_INPUT, "operand has another size"},
    {"copy to 32 bits", KERNEL("i32", "    memcpy i8 %0 i64:0x0 i64:0x4\n"), PLUMB_BAD_INPUT,
     "operand has another size"},
    {"set to a word", KERNEL("i64 i32", "    memset i8 %0 %1 i64:0x4\n"), PLUMB_BAD_INPUT,
     "operand has another size"},
    {"sum of 128 bits", KERNEL("i64 i128", "    %1 = atomic i128 sub=add %0 %1\n"), PLUMB_BAD_INPUT,
     "variant"},
    {"float minimum of integers", KERNEL("i64 i32", "    %1 = atomic i32 sub=fmin %0 %1\n"),
     PLUMB_BAD_INPUT, "variant"},
    {"integer minimum of floats", KERNEL("i64 f32", "    %1 = atomic f32 sub=min_s %0 %1\n"),
     PLUMB_BAD_INPUT, "variant"},
    {"atomic of another size", KERNEL("i64 i32 i8", "    %1 = atomic i32 sub=add %0 %2\n"),
     PLUMB_BAD_INPUT, "operand has another size"},
    {"exponent", KERNEL("f32 i64", "    %0 = math f32 sub=powi %0 %1\n"), PLUMB_BAD_INPUT,
     "operand has another size"},
    {"counted bits", KERNEL("i64 i32", "    %1 = popc i64 %0\n"), PLUMB_BAD_INPUT,
     "result has another size"},
    {"funnel amount", KERNEL("i64 i32", "    %0 = funnel_l i64 %0 %0 %1\n"), PLUMB_BAD_INPUT,
     "operand has another size"},
    {"stack alignment", KERNEL("i64", "    %0 = alloca i64 imm=3 i64:0x8\n"), PLUMB_BAD_INPUT,
     "no power of two"},
    {"global's alignment", HEAD "global \"g\" space=shared size=4 align=3\n", PLUMB_BAD_INPUT,
     "no power of two"},
    {"address beyond its global",
     HEAD "global \"g\" space=const size=8 align=8 zeroed\n  reloc \"g\" offset=1 addend=0\n",
     PLUMB_BAD_INPUT, "does not fit in it"},
    {"address of nothing",
     HEAD "global \"g\" space=const size=8 align=8 zeroed\n  reloc \"h\" offset=0 addend=0\n",
     PLUMB_UNSUPPORTED, "holds the address of 'h', which is not defined"},
    {"address in another module",
     HEAD "global \"h\" space=global size=8 align=8 external\n"
          "global \"g\" space=const size=8 align=8 zeroed\n  reloc \"h\" offset=0 addend=0\n",
     PLUMB_UNSUPPORTED, "which is defined in another module"},
    {"address of shared memory",
     HEAD "global \"h\" space=shared size=8 align=8\n"
          "global \"g\" space=const size=8 align=8 zeroed\n  reloc \"h\" offset=0 addend=0\n",
     PLUMB_UNSUPPORTED, "which is shared memory"},
};

static plumb_status finish(plumb_arena *arena, const char *text, plumb_program **out,
                           plumb_diag *diag) {
  plumb_status status = plumb_program_read(arena, "t", text, strlen(text), out, diag);
  return status == PLUMB_OK ? plumb_program_finish(*out, diag) : status;
}

static void check_rows(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plumb_arena *arena = plumb_arena_create();
    plumb_program *p;
    plumb_diag diag = {0};
    plumb_status status = finish(arena, rows[i].text, &p, &diag);
    CHECK(status == rows[i].status && strstr(diag.message, rows[i].message), "%s: %s, '%s'",
          rows[i].name, plumb_status_name(status), diag.message);
    plumb_arena_destroy(arena);
  }
}

/* main() calls through the address that the constant `g` holds. */
#define INDIRECT(target, regs, call) \
  HEAD "global \"g\" space=const size=8 align=8 zeroed\n  reloc \"" target \
       "\" offset=0 addend=0\n" DEVICE( \
           "i32", "  param \"x\" i32 offset=0 size=4 align=4 %0\n  results i32\n", \
           "    %0 = add i32 %0 i32:0x1\n    ret i1 %0\n") \
           "kernel \"k\" {\n  block\n    ret i1\n}\n" \
           "host \"main\" {\n  regs i64 " regs "\n  results i32\n  block\n" \
           "    %0 = address i64 imm=0\n    %0 = load i64 space=global %0\n" call \
           "    ret i1 %1\n}\n"

static const row indirect_rows[] = {
    {"fits", INDIRECT("f", "i32", "    %1 = call_indirect i1 %0 i32:0x6\n"), PLUMB_OK, ""},
    {"no result taken",
     INDIRECT("f", "i32",
              "    %1 = mov i32 i32:0x7\n    call_indirect i1 %0 "
              "i32:0x6\n"),
     PLUMB_OK, ""},
    {"wide argument", INDIRECT("f", "i32", "    %1 = call_indirect i1 %0 i64:0x6\n"),
     PLUMB_UNSUPPORTED, "argument of another size"},
    {"no argument", INDIRECT("f", "i32", "    %1 = call_indirect i1 %0\n"), PLUMB_UNSUPPORTED,
     "wrong number of arguments"},
    {"wide result", INDIRECT("f", "i32 i64", "    %2 = call_indirect i1 %0 i32:0x6\n"),
     PLUMB_UNSUPPORTED, "result of another size"},
    {"two results", INDIRECT("f", "i32*2", "    %1 %2 = call_indirect i1 %0 i32:0x6\n"),
     PLUMB_UNSUPPORTED, "takes more results"},
    {"a kernel", INDIRECT("k", "i32", "    call_indirect i1 %0\n"), PLUMB_UNSUPPORTED,
     "indirect call of a kernel"},
};

static void check_indirect(void) {
  for (size_t i = 0; i < sizeof indirect_rows / sizeof *indirect_rows; i++) {
    const row *w = &indirect_rows[i];
    plumb_arena *arena = plumb_arena_create();
    plumb_machine *m = plumb_machine_create(arena);
    plumb_program *p;
    plumb_diag diag = {0};
    plumb_run_result result = {0};
    plumb_status status = finish(arena, w->text, &p, &diag);
    if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
    CHECK(status == PLUMB_OK, "%s: %s", w->name, diag.message);
    if (status == PLUMB_OK) status = plumb_machine_call(m, "main", NULL, 0, NULL, &result, &diag);
    CHECK(status == w->status && strstr(diag.message, w->message), "%s: %s, '%s'", w->name,
          plumb_status_name(status), diag.message);
    CHECK(status != PLUMB_OK || (result.result_count == 1 && result.results[0] == 7),
          "%s: the result is wrong", w->name);
    plumb_machine_destroy(m);
    plumb_arena_destroy(arena);
  }
}

int main(void) {
  check_rows();
  check_indirect();
  return check_finish();
}

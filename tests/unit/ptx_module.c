/* PTX modules as wholes: declarations, constant expressions, aliases, and several modules
 * linked to one program. Each kernel k writes one word of its parameter. */
#include <string.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

#define HEAD ".version 9.5\n.target sm_90a, debug\n.address_size 64\n"
#define KERNEL(body) \
  ".visible .entry k(.param .u64 out) {\n .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<8>;\n" \
  " ld.param.u64 %d1, [out];\n " body "\n st.global.u32 [%d1], %r1; ret;\n}\n"

typedef struct row {
  const char *name, *first, *second; /* second: another module, or NULL */
  uint32_t expected;
  const char *message; /* what decoding or linking says; NULL: it runs */
} row;

static const row rows[] = {
    {"constant expressions",
     HEAD ".const .u32 t[(2 + 3) * 4 / 5 - 1] = {1 << 4, ~0 & 0xf0, 7 > 3 ? 5 : 6};\n" KERNEL(
         "ld.const.u32 %r1, [t]; ld.const.u32 %r2, [t+4]; ld.const.u32 %r3, [t+(4 + 4)];"
         "add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;"),
     NULL, 16 + 0xf0 + 5, NULL},
    {"a division by zero", HEAD ".global .u32 t[4 / (2 - 2)];\n" KERNEL("mov.u32 %r1, 0;"), NULL, 0,
     "expected a division by another number than 0 before, found `]`"},
    {"bytes of an address",
     HEAD ".global .u32 v = 77;\n.global .u8 a[8] = {0xFF(v), 0xFF00(v), 0xFF0000(v), "
          "0xFF000000(v), 0xFF00000000(v), 0xFF0000000000(v), 0xFF000000000000(v), "
          "0xFF00000000000000(v)};\n" KERNEL("ld.global.u64 %d2, [a]; ld.global.u32 %r1, [%d2];"),
     NULL, 77, NULL},
    {"bytes out of order",
     HEAD ".global .u32 v;\n.global .u8 a[8] = {0xFF(v), 0xFF0000(v)};\n" KERNEL("mov.u32 %r1, 0;"),
     NULL, 0, "`a`: the bytes of an address are not in order"},
    {"a symbol with an offset",
     HEAD ".global .u32 v[3] = {1, 2, 3};\n.global .u64 p = generic(v)+8;\n" KERNEL(
         "ld.global.u64 %d2, [p]; ld.u32 %r1, [%d2];"),
     NULL, 3, NULL},
    {"an alias",
     HEAD ".visible .func (.reg .b32 y) f() { mov.u32 y, 9; ret; }\n"
          ".visible .func (.reg .b32 y) g();\n.alias g, f;\n" KERNEL("call (%r1), g;"),
     NULL, 9, NULL},
    {"an alias of nothing", HEAD ".alias g, f;\n" KERNEL("mov.u32 %r1, 0;"), NULL, 0,
     "`g` is an alias of `f`, which is no function"},
    {"a vector parameter",
     HEAD
     ".func (.reg .v2 .b32 y) swap(.reg .v2 .b32 x) { mov.v2.b32 y, {x.y, x.x}; ret; }\n" KERNEL(
         "{ .reg .v2 .b32 v; mov.b64 %d2, 0x500000007; mov.b64 v, %d2; call (v), swap, (v); "
         "mul.lo.u32 %r1, v.x, 10; add.u32 %r1, %r1, v.y; }"),
     NULL, 57, NULL},
    {"attributes and limits",
     HEAD ".global .attribute(.managed, .unified(1, 2)) .align 8 .u32 m = 4;\n"
          ".visible .entry unused() .maxntid 128, 1, 1 .minnctapersm 2 .reqnctapercluster 1, 1, 1 "
          ".explicitcluster .pragma \"nounroll\"; { ret; }\n" KERNEL("ld.global.u32 %r1, [m];"),
     NULL, 4, NULL},
    {"a newer version",
     ".version 12.7\n.target sm_199z\n.address_size 64\n" KERNEL("mov.u32 %r1, 6;"), NULL, 6, NULL},
    {"an extern function and variable",
     HEAD ".extern .func (.reg .b32 y) f();\n.extern .global .u32 v;\n" KERNEL(
         "call (%r1), f; ld.global.u32 %r2, [v]; add.u32 %r1, %r1, %r2;"),
     HEAD
     ".visible .global .u32 v = 30;\n.visible .func (.reg .b32 y) f() { mov.u32 y, 4; ret; }\n",
     34, NULL},
    {"a weak function gives way",
     HEAD ".weak .func (.reg .b32 y) f() { mov.u32 y, 1; ret; }\n" KERNEL("call (%r1), f;"),
     HEAD ".visible .func (.reg .b32 y) f() { mov.u32 y, 2; ret; }\n", 2, NULL},
    {"a common variable gives way",
     HEAD ".common .global .u32 v;\n" KERNEL("ld.global.u32 %r1, [v];"),
     HEAD ".visible .global .u32 v = 8;\n", 8, NULL},
    {"what is not linked is the module's own",
     HEAD ".global .u32 v = 5;\n.func (.reg .b32 y) f() { ld.global.u32 y, [v]; ret; }\n" KERNEL(
         "call (%r1), f;"),
     HEAD ".global .u32 v = 6;\n.func (.reg .b32 y) f() { ld.global.u32 y, [v]; ret; }\n", 5, NULL},
    {"defined twice", HEAD ".visible .func f() { ret; }\n" KERNEL("mov.u32 %r1, 0;"),
     HEAD ".visible .func f() { ret; }\n", 0, "function 'f' is defined twice"},
    {"defined twice in one module",
     HEAD ".visible .func f() { ret; }\n.func f() { ret; }\n" KERNEL("mov.u32 %r1, 0;"), NULL, 0,
     "`f` is defined twice in one module"},
    {"a call of a kernel", HEAD ".entry j() { ret; }\n" KERNEL("call j;"), NULL, 0,
     "call of a kernel `j`"},
    {"a label twice", HEAD KERNEL("bra L; L: L: mov.u32 %r1, 0;"), NULL, 0,
     "`L` is declared twice in one scope"},
    {"a list of labels of a label's name",
     HEAD KERNEL("L: .branchtargets L; bra L; L: mov.u32 %r1, 0;"), NULL, 0,
     "`L` is declared twice in one scope"},
    {"a label in each scope", HEAD KERNEL("bra L; L: { bra L; L: mov.u32 %r1, 3; }"), NULL, 3,
     NULL},
    {"a register twice", HEAD KERNEL(".reg .b32 x; .reg .b64 x; mov.u32 %r1, 0;"), NULL, 0,
     "`x`: declared twice in one scope"},
    {"a label of a register's name", HEAD KERNEL(".reg .b32 x; x: mov.u32 %r1, 0;"), NULL, 0,
     "`x` is declared twice in one scope"},
    {"an address of nothing", HEAD ".global .u64 p = v;\n" KERNEL("mov.u32 %r1, 0;"), NULL, 0,
     "`p`: its initialiser holds the address of `v`, which is not declared"},
    {"a result of another size",
     HEAD ".extern .func (.param .b32 y) vprintf(.param .b64 a, .param .b64 b);\n" KERNEL(
         "{ .param .pred y; .param .b64 a; st.param.b64 [a], %d1; call (y), vprintf, (a, a); }"),
     NULL, 0, "call (y), vprintf"},
    {"unknown suffixes are not dropped", HEAD KERNEL("mov.u32 %r2, 1; add.odd.u32 %r1, %r2, %r2;"),
     NULL, 0, "PTX line 7: add.odd.u32 %r1, %r2, %r2"},
};

static plumb_status run(const row *r, plumb_program *p, plumb_machine *m, uint32_t *out,
                        plumb_diag *diag) {
  PLUMB_TRY(plumb_ptx_decode(p, "a.ptx", r->first, strlen(r->first), diag));
  if (r->second) PLUMB_TRY(plumb_ptx_decode(p, "b.ptx", r->second, strlen(r->second), diag));
  PLUMB_TRY(plumb_program_finish(p, diag));
  uint64_t address = plumb_machine_alloc(m, 4, 4, "out");
  PLUMB_TRY(plumb_machine_load(m, p, diag));
  plumb_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
  plumb_run_result result = {0};
  PLUMB_TRY(plumb_machine_launch(m, "k", &launch, &address, 8, NULL, &result, diag));
  CHECK(result.trap.kind == PLUMB_TRAP_NONE, "%s: %s", r->name, result.trap.message);
  return plumb_machine_read(m, address, out, NULL, 4, diag);
}

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const row *r = &rows[i];
    plumb_arena *arena = plumb_arena_create();
    plumb_program *p = plumb_program_create(arena, "modules");
    plumb_machine *m = plumb_machine_create(arena);
    plumb_diag diag = {0};
    uint32_t out = 0;
    plumb_status status = run(r, p, m, &out, &diag);
    if (r->message) {
      CHECK(status != PLUMB_OK && strstr(diag.message, r->message),
            "%s\n  expected %s\n  actual   %s", r->name, r->message, diag.message);
    } else {
      CHECK(status == PLUMB_OK, "%s: %s", r->name, diag.message);
      CHECK(out == r->expected, "%s: %u, not %u", r->name, out, r->expected);
    }
    plumb_machine_destroy(m);
    plumb_arena_destroy(arena);
  }
  return check_finish();
}

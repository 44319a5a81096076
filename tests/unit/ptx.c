/* PTX to programs: what each instruction decodes to, and what bad text is told. */
#include "ir/ptx/ptx.h"

#include <string.h>

#include "tests/unit/check.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define KERNEL \
  HEAD ".visible .entry k(.param .u64 a) {\n" \
       ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>;\n" \
       ".reg .f32 %f<8>; .reg .f64 %e<8>; .shared .align 4 .b8 s[64];\n"

typedef struct row {
  const char *text;
  const char *expected; /* op.type[:sub][!flag...], `ret` left out */
} row;

static const row rows[] = {
    {"add.s32 %r1, %r2, 7;", "add.i32"},
    {"add.f32 %f1, %f2, 0f3F800000;", "add.f32!contract"},
    {"add.rn.ftz.f32 %f1, %f2, %f3;", "add.f32!ftz"},
    {"add.rn.f32 %r1, %r2, %r3;", "add.f32"}, /* .b32 registers as f32 */
    {"fma.rn.f32 %f1, %f2, %f3, %f4;", "fma.f32"},
    {"mul.wide.s32 %d1, %r1, %r2;",
     "cvt.i64!src_signed!dst_signed cvt.i64!src_signed!dst_signed mul.i64 mov.i64"},
    {"setp.ne.f32 %p1, %f1, %f2;", "cmp.i1:one"},
    {"setp.neu.f32 %p1, %f1, %f2;", "cmp.i1:une"},
    {"setp.lo.u32 %p1, %r1, %r2;", "cmp.i1:lt_u"},
    {"setp.lt.s32 %p1, %r1, %r2;", "cmp.i1:lt_s"},
    {"setp.eq.and.s32 %p1|%p2, %r1, %r2, !%p3;",
     "not.i1 cmp.i1:eq not.i1 and.i1 and.i1 mov.i1 mov.i1"},
    {"shl.b64 %d1, %d2, %r1;", "cvt.i64 shl.i64!clamp"},
    {"shr.s32 %r1, %r2, 40;", "shr_s.i32!clamp"},
    {"cvt.rzi.s32.f32 %r1, %f1;", "cvt.i32!clamp!dst_signed"},
    {"cvt.rn.f32.s32 %f1, %r1;", "cvt.f32!src_signed"},
    {"cvt.ftz.f32.f16 %f1, %h1;", "cvt.f32!ftz_out"},
    {"cvt.rmi.f32.f32 %f1, %f2;", "round_int.f32"},
    {"cvt.u16.u32 %h1, %r1;", "cvt.i16"},
    {"cvt.s64.s8 %d1, %r1;", "cvt.i8 cvt.i64!src_signed!dst_signed"}, /* source is chopped */
    {"ld.global.s8 %r1, [%d1+4];", "load.i8 cvt.i32!src_signed!dst_signed"},
    {"ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%d1];", "load.f32!nc"},
    {"ld.param.u64 %d1, [a];", "load.i64"},
    {"mov.u64 %d1, s[0];", "address.i64 mov.i64"},
    {"mov.u64 %d1, s[12];", "address.i64 add.i64 mov.i64"},
    {"st.shared.b32 [s+8], %r1;", "address.i64 store.i32"},
    {"st.release.gpu.global.u32 [%d1], %r1;", "store.i32!release!gpu"},
    {"atom.global.add.u32 %r1, [%d1], 1;", "atomic.i32!relaxed!gpu"},
    {"red.shared.max.s32 [s], %r1;", "address.i64 atomic.i32:3!relaxed!gpu"},
    {"mov.b64 {%r1, %r2}, %d1;", "cvt.i32 shr_u.i64 cvt.i32 mov.i32 mov.i32"},
    {"mov.b64 %d1, {%r1, %r2};", "cvt.i64 cvt.i64 shl.i64 or.i64"},
    {"mov.u32 %r1, %tid.x;", "sreg.i32 mov.i32"},
    {"ex2.approx.ftz.f32 %f1, %f2;", "approx.f32:8!ftz"},
    {"rcp.rn.f64 %e1, %e2;", "div.f64"},
    {"min.NaN.f32 %f1, %f2, %f3;", "min.f32:1"},
    {"copysign.f32 %f1, %f2, %f3;", "copysign.f32"},
    {"add.cc.u32 %r1, %r2, %r3;", "add_carry.i32"},
    {"subc.u32 %r1, %r2, %r3;", "sub_borrow.i32"},
    {"lop3.b32 %r1, %r2, %r3, %r4, 0x96;", "lop3.i32"},
    {"bar.sync 0;", "barrier.i1!aligned"},
    {"barrier.sync 1, 64;", "barrier.i1"},
    {"shfl.sync.down.b32 %r1, %r2, 1, 31, -1;", "shfl.i32:1"},
    {"membar.gl;", "fence.i1!seq_cst!gpu"},
    {"@%p1 mov.u32 %r1, 3;", "mov.i32"},
    {"isspacep.shared %p1, %d1;", "is_space.i1"},
    {"tcgen05.wait::ld.sync.aligned;", "unsupported.i1"},
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};",
     "unsupported.i1"},
    {"frobnicate.u32 %r1, %r2;", "unsupported.i1"},
    {"add.f32 %f1, %f2, 1;", "unsupported.i1"}, /* no float constant */
};

static const row errors[] = {
    {"", "1:1: expected `.version`: a PTX module begins with it, found the end of the text"},
    {HEAD "nonsense", "4:1: expected a directive, found `nonsense`"},
    {HEAD ".visible .entry k() {\n add.s32 %r1, 2",
     "5:16: expected `,` or `;`, found the end of the text"},
    {HEAD ".visible .entry k() {\n bra L;\n}", "5:2: undeclared label `L` in: bra L"},
    {KERNEL "mov.u32 %r9, 0;\n}", "7:1: undeclared register `%r9` in: mov.u32 %r9, 0"},
    {KERNEL "mov.u32 %r1, \x01;\n}", "7:14: byte 0x01 starts no PTX token"},
    {HEAD "/* open", "4:1: comment has no end"},
    {HEAD ".global .align 3 .u32 x;",
     "4:16: expected an alignment that is a power of two up to 4096, found `3`"},
    {HEAD ".func (.param .b32 a) f (.param .b32 a) {}",
     "4:1: `f` has two parameters of the name `a`"},
    {HEAD ".global .u32 x[1] = {1, 2};", "4:14: `x`: more initial values than elements"},
};

static void describe(const plumb_inst *i, plumb_text *out) {
  static const struct {
    const char *text;
    uint32_t flag;
  } flags[] = {
#define PLUMB_FLAG_ROW(name, text, bit) {text, PLUMB_FLAG_##name},
#include "ir/enums.def"
#undef PLUMB_FLAG_ROW
  };
  plumb_text_printf(out, "%s%s.%s", out->length ? " " : "", plumb_op_table[i->op].mnemonic,
                    plumb_dtype_table[i->type].text);
  if (i->op == PLUMB_OP_CMP)
    plumb_text_printf(out, ":%s", plumb_cmp_texts[i->sub]);
  else if (i->sub && i->op != PLUMB_OP_SREG)
    plumb_text_printf(out, ":%d", i->sub);
  for (size_t f = 0; f < sizeof flags / sizeof *flags; f++)
    if (i->flags & flags[f].flag) plumb_text_printf(out, "!%s", flags[f].text);
}

static void check_rows(void) {
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    plumb_arena *arena = plumb_arena_create();
    plumb_program *p = plumb_program_create(arena, "t");
    plumb_diag diag = {0};
    char *text = plumb_arena_printf(arena, "%s%s\n}\n", KERNEL, rows[r].text);
    plumb_status status = plumb_ptx_decode(p, "t.ptx", text, strlen(text), &diag);
    CHECK(status == PLUMB_OK, "%s: %s", rows[r].text, diag.message);
    plumb_text got = plumb_text_create(arena);
    plumb_block *b = status == PLUMB_OK ? &p->functions[0]->blocks[0] : NULL;
    for (size_t i = 0; b && i + 1 < b->inst_count; i++) describe(&b->insts[i], &got);
    CHECK(strcmp(got.data, rows[r].expected) == 0, "%s\n  expected %s\n  actual   %s", rows[r].text,
          rows[r].expected, got.data);
    plumb_arena_destroy(arena);
  }
}

static void check_errors(void) {
  for (size_t r = 0; r < sizeof errors / sizeof *errors; r++) {
    plumb_arena *arena = plumb_arena_create();
    plumb_program *p = plumb_program_create(arena, "t");
    plumb_diag diag = {0};
    plumb_status status =
        plumb_ptx_decode(p, "t.ptx", errors[r].text, strlen(errors[r].text), &diag);
    CHECK(status == PLUMB_BAD_INPUT, "%s", errors[r].expected);
    char *got = plumb_arena_printf(arena, "%d:%d: %s", diag.line, diag.column, diag.message);
    CHECK(strcmp(got, errors[r].expected) == 0, "\n  expected %s\n  actual   %s",
          errors[r].expected, got);
    plumb_arena_destroy(arena);
  }
}

/* The location of a header function inlined into the kernel is the kernel's line. */
static void check_locations(void) {
  static const char text[] = HEAD
      ".entry k() {\n.reg .b32 %r<3>;\n.loc 1 12 3\nmov.u32 %r1, 0;\n"
      ".loc 2 90 1, function_name $info, inlined_at 1 14 7\nmov.u32 %r2, 0;\nret;\n}\n"
      ".file 1 \"k.cu\"\n.file 2 \"include/h.hpp\"\n";
  plumb_arena *arena = plumb_arena_create();
  plumb_program *p = plumb_program_create(arena, "t");
  plumb_diag diag = {0};
  plumb_status status = plumb_ptx_decode(p, "t.ptx", text, strlen(text), &diag);
  CHECK(status == PLUMB_OK, "%s", diag.message);
  if (status == PLUMB_OK) {
    const plumb_inst *i = p->functions[0]->blocks[0].insts;
    plumb_loc a = p->locs[i[0].loc], b = p->locs[i[1].loc];
    CHECK(a.file && !strcmp(a.file, "k.cu") && a.line == 12 && a.column == 3 && a.stage_line == 7,
          "%s:%d:%d stage %d", a.file ? a.file : "?", a.line, a.column, a.stage_line);
    CHECK(b.file && !strcmp(b.file, "k.cu") && b.line == 14 && b.stage_line == 9, "%s:%d stage %d",
          b.file ? b.file : "?", b.line, b.stage_line);
  }
  plumb_arena_destroy(arena);
}

static void check_table(void) {
  size_t count;
  const plumb_ptx_op *ops = plumb_ptx_ops(&count);
  for (size_t i = 1; i < count; i++)
    CHECK(strcmp(ops[i - 1].mnemonic, ops[i].mnemonic) < 0, "%s is not sorted", ops[i].mnemonic);
}

int main(void) {
  check_rows();
  check_errors();
  check_locations();
  check_table();
  return check_finish();
}

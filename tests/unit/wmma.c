/* Matrices between memory and registers, in PTX text, executed: wmma of every shape, type
 * and layout; ldmatrix, stmatrix, movmatrix; and what goes wrong: divergence, bounds,
 * alignment, missing order, unwritten operands. */
#include "tests/unit/mma_run.h"

/* --- wmma: through memory, whatever the fragments are --- */

typedef struct wmma_row {
  const char *shape, *d, *a, *b, *c;
  const char *more; /* suffixes between shape and types or at the end */
} wmma_row;

static const wmma_row wmma_rows[] = {
    {"m16n16k16", "f32", "f16", "f16", "f32", ""},
    {"m16n16k16", "f16", "f16", "f16", "f16", ""},
    {"m16n16k16", "f16", "f16", "f16", "f32", ""},
    {"m16n16k16", "f32", "f16", "f16", "f16", ""},
    {"m8n32k16", "f32", "f16", "f16", "f32", ""},
    {"m32n8k16", "f16", "f16", "f16", "f16", ""},
    {"m16n16k16", "f32", "bf16", "bf16", "f32", ""},
    {"m8n32k16", "f32", "bf16", "bf16", "f32", ""},
    {"m32n8k16", "f32", "bf16", "bf16", "f32", ""},
    {"m16n16k8", "f32", "tf32", "tf32", "f32", ""},
    {"m8n8k4", "f64", "f64", "f64", "f64", ""},
    {"m8n8k4", "f64", "f64", "f64", "f64", ".rp"},
    {"m16n16k16", "s32", "s8", "s8", "s32", ""},
    {"m8n32k16", "s32", "u8", "u8", "s32", ""},
    {"m32n8k16", "s32", "s8", "s8", "s32", ".satfinite"},
    {"m8n8k32", "s32", "s4", "s4", "s32", ""},
    {"m8n8k32", "s32", "u4", "u4", "s32", ""},
    {"m8n8k128", "s32", "b1", "b1", "s32", "xor"},
    {"m8n8k128", "s32", "b1", "b1", "s32", "and"},
};

enum { MATRIX_BYTES = 8192 };

/* Stores v at (row, column) of a matrix in memory with a stride in elements. */
static void put_matrix(uint8_t *at, plumb_mma_type type, bool column_major, unsigned stride,
                       unsigned row, unsigned column, int v) {
  put(at, type, column_major ? column * stride + row : row * stride + column, encode(type, v));
}

static unsigned write_list(char *text, size_t size, size_t at, char letter, unsigned count) {
  unsigned n = 0;
  for (unsigned r = 0; r < count; r++)
    n += (unsigned)snprintf(text + at + n, size - at - n, "%s%%%c%u", r ? "," : "{", letter, r);
  return n + (unsigned)snprintf(text + at + n, size - at - n, "}");
}

static void check_wmma(const wmma_row *x, bool a_column, bool b_row, bool c_column) {
  char text[8192], all[80];
  static uint8_t in[3 * MATRIX_BYTES], out[MATRIX_BYTES];
  snprintf(all, sizeof all, "%s.%s.%s.%s.%s", x->shape, x->d, x->a, x->b, x->c);
  plumb_mma mma = parse(all, PLUMB_MMA_WMMA);
  bool b1 = mma.a == PLUMB_MMA_B1, f16 = mma.a == PLUMB_MMA_F16, f64 = mma.a == PLUMB_MMA_F64;
  if (b1) mma.combine = *x->more == 'x' ? PLUMB_MMA_XOR_POPC : PLUMB_MMA_AND_POPC;
  bool b_column = !b_row;
  unsigned pad = 128u / plumb_mma_type_table[mma.a].bits * 2;
  unsigned lda = (a_column ? mma.m : mma.k) + pad, ldb = (unsigned)(b_column ? mma.k : mma.n) + pad;
  unsigned ldc = (unsigned)(c_column ? mma.m : mma.n) + 8;
  memset(in, 0, sizeof in);
  for (unsigned i = 0; i < mma.m; i++)
    for (unsigned k = 0; k < mma.k; k++)
      put_matrix(in, (plumb_mma_type)mma.a, a_column, lda, i, k,
                 A[i][k] = random_element((plumb_mma_type)mma.a));
  for (unsigned k = 0; k < mma.k; k++)
    for (unsigned j = 0; j < mma.n; j++)
      put_matrix(in + MATRIX_BYTES, (plumb_mma_type)mma.b, b_column, ldb, k, j,
                 B[k][j] = random_element((plumb_mma_type)mma.b));
  for (unsigned i = 0; i < mma.m; i++)
    for (unsigned j = 0; j < mma.n; j++)
      put_matrix(in + 2 * MATRIX_BYTES, (plumb_mma_type)mma.c, c_column, ldc, i, j,
                 C[i][j] = random_int(-9, 9));
  const char *ra = a_column ? "col" : "row", *rb = b_column ? "col" : "row";
  const char *rc = c_column ? "col" : "row";
  size_t at = (size_t)snprintf(
      text, sizeof text,
      HEAD
      ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
      ".reg .b32 %%s; .reg .b64 %%x<4>; .reg %s %%a<16>, %%b<16>, %%c<16>, %%d<16>;\n"
      "ld.param.u64 %%x0, [p]; ld.param.u64 %%x1, [q]; mov.u32 %%s, %u;\n",
      f64 ? ".f64" : ".b32", ldb);
#define EMIT(...) at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__)
#define LIST(letter, which) \
  at += write_list(text, sizeof text, at, letter, plumb_mma_regs(&mma, PLUMB_MMA_##which))
  EMIT("wmma.load.a.sync.aligned.%s.%s.global.%s ", ra, x->shape, x->a);
  LIST('a', A);
  EMIT(", [%%x0], %u;\nwmma.load.b.sync.aligned.%s.%s.%s ", lda, rb, x->shape, x->b);
  LIST('b', B);
  EMIT(", [%%x0+%d], %%s;\nwmma.load.c.sync.aligned.%s.%s.global.%s ", MATRIX_BYTES, rc, x->shape,
       x->c);
  LIST('c', C);
  EMIT(", [%%x0+%d], %u;\nwmma.mma%s%s.sync.aligned.%s.%s.%s%s.%s", 2 * MATRIX_BYTES, ldc,
       b1 ? (*x->more == 'x' ? ".xor" : ".and") : "", b1 ? ".popc" : "", ra, rb, x->shape,
       f64 ? x->more : "", x->d);
  if (!f16) EMIT(".%s.%s", x->a, x->b);
  EMIT(".%s%s ", x->c, b1 || f64 ? "" : x->more);
  LIST('d', D);
  EMIT(", ");
  LIST('a', A);
  EMIT(", ");
  LIST('b', B);
  EMIT(", ");
  LIST('c', C);
  EMIT(";\nwmma.store.d.sync.aligned.%s.%s.global.%s [%%x1], ", rc, x->shape, x->d);
  LIST('d', D);
  EMIT(", %u;\nret;\n}\n", ldc);
  memset(out, 0, sizeof out);
  run r = launch(text, in, sizeof in, out, sizeof out, 32);
  CHECK(r.status == PLUMB_OK && !r.trap, "wmma %s: %s\n%s", all, r.message, text);
  if (r.status != PLUMB_OK || r.trap) return;
  for (unsigned i = 0; i < mma.m; i++)
    for (unsigned j = 0; j < mma.n; j++) {
      int64_t sum = C[i][j];
      for (unsigned k = 0; k < mma.k; k++) sum += times(&mma, A[i][k], B[k][j]);
      unsigned width = plumb_mma_type_table[mma.d].bits / 8;
      uint64_t got = 0;
      memcpy(&got, out + (size_t)(c_column ? j * ldc + i : i * ldc + j) * width, width);
      CHECK(got == encode((plumb_mma_type)mma.d, (int)sum),
            "wmma %s %s.%s.%s (%u, %u): 0x%llx, expected %lld", all, ra, rb, rc, i, j,
            (unsigned long long)got, (long long)sum);
    }
}

/* --- ldmatrix, stmatrix, movmatrix --- */

/* p: 1024 bytes that go to shared memory, rows of 16 bytes each 32 bytes apart. Matrix m's
 * row r is the one numbered 8m + r, taken from place (8m + r) * 7 % 32. */
#define SHARED_BEGIN \
  HEAD ".shared .align 16 .b8 s[2048];\n" \
       ".visible .entry k(.param .u64 p, .param .u64 q) {\n" \
       ".reg .b32 %t<8>, %r<8>; .reg .b64 %x<8>; .reg .pred %p;\n" \
       "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %t0, %tid.x;\n" \
       "mul.wide.u32 %x2, %t0, 32; mul.wide.u32 %x4, %t0, 16; add.u64 %x0, %x0, %x2;\n" \
       "mul.lo.u32 %t1, %t0, 7; and.b32 %t1, %t1, 31; mul.lo.u32 %t1, %t1, 32;\n" \
       "mov.u32 %t2, s; add.u32 %t3, %t1, %t2; mul.lo.u32 %t4, %t0, 32; add.u32 %t4, %t4, %t2;\n"
#define FILL_SHARED \
  "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%x0]; st.shared.v4.b32 [%t4], {%r0, %r1, %r2, %r3};\n" \
  "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%x0+16];\n" \
  "st.shared.v4.b32 [%t4+16], {%r0, %r1, %r2, %r3};\n"
#define ZERO "mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0;\n"
#define PUT_OUT "add.u64 %x1, %x1, %x4; st.global.v4.b32 [%x1], {%r4, %r5, %r6, %r7}; ret;\n}\n"

static uint16_t shared_element(const uint8_t *in, unsigned m, unsigned row, unsigned column) {
  uint16_t v;
  memcpy(&v, in + (8 * m + row) * 7 % 32 * 32 + column * 2, 2);
  return v;
}

static void check_ldmatrix(unsigned count, bool trans) {
  char text[4096];
  uint8_t in[1024], out[512];
  const char *list = count == 1 ? "{%r4}" : count == 2 ? "{%r4, %r5}" : "{%r4, %r5, %r6, %r7}";
  for (unsigned i = 0; i < sizeof in; i++) in[i] = (uint8_t)random_int(0, 255);
  snprintf(text, sizeof text, "%sldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%%t3];\n%s",
           SHARED_BEGIN FILL_SHARED ZERO "bar.sync 0;\n", count, trans ? ".trans" : "", list,
           PUT_OUT);
  run r = launch(text, in, sizeof in, out, sizeof out, 32);
  CHECK(r.status == PLUMB_OK && !r.trap, "ldmatrix x%u: %s", count, r.message);
  for (unsigned l = 0; l < 32; l++)
    for (unsigned m = 0; m < count; m++)
      for (unsigned h = 0; h < 2; h++) {
        uint16_t got;
        memcpy(&got, out + l * 16 + m * 4 + h * 2, 2);
        unsigned line = l / 4, pair = l % 4 * 2 + h;
        uint16_t expected =
            trans ? shared_element(in, m, pair, line) : shared_element(in, m, line, pair);
        CHECK(got == expected, "ldmatrix x%u%s lane %u matrix %u half %u: %04x, expected %04x",
              count, trans ? ".trans" : "", l, m, h, got, expected);
      }
}

/* Stores registers whose halves are lane * 16 + matrix * 2 + half, and reads rows back. */
static void check_stmatrix(unsigned count, bool trans) {
  char text[4096];
  uint8_t in[1024] = {0}, out[512];
  const char *list = count == 1 ? "{%r0}" : count == 2 ? "{%r0, %r1}" : "{%r0, %r1, %r2, %r3}";
  snprintf(text, sizeof text,
           "%sstmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%t3], %s;\nbar.sync 0;\n"
           "ld.shared.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [%%t3];\n%s",
           SHARED_BEGIN FILL_SHARED
           "mul.lo.u32 %r0, %t0, 0x00100010; add.u32 %r0, %r0, 0x00010000;\n"
           "add.u32 %r1, %r0, 0x00020002; add.u32 %r2, %r1, 0x00020002;\n"
           "add.u32 %r3, %r2, 0x00020002; bar.sync 0;\n",
           count, trans ? ".trans" : "", list, PUT_OUT);
  run r = launch(text, in, sizeof in, out, sizeof out, 32);
  CHECK(r.status == PLUMB_OK && !r.trap, "stmatrix x%u: %s", count, r.message);
  for (unsigned l = 0; l < 8 * count; l++) /* lane l reads row l % 8 of matrix l / 8 */
    for (unsigned column = 0; column < 8; column++) {
      uint16_t got;
      memcpy(&got, out + l * 16 + column * 2, 2);
      unsigned row = l % 8, line = trans ? column : row, pair = trans ? row : column;
      unsigned expected = (line * 4 + pair / 2) * 16 + l / 8 * 2 + pair % 2;
      CHECK(got == expected, "stmatrix x%u%s row %u column %u: %u, expected %u", count,
            trans ? ".trans" : "", l, column, got, expected);
    }
}

/* All rows go to one place: no matter who is last where all hold the same, else a race. */
static void check_stmatrix_to_one(bool same, bool trans) {
  char text[4096];
  uint8_t in[1024] = {0}, out[512];
  snprintf(text, sizeof text,
           "%smov.u32 %%r0, %s;\nstmatrix.sync.aligned.m8n8.x1%s.shared.b16 [%%t2], {%%r0};\n"
           "bar.sync 0; ld.shared.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [%%t2];\n%s",
           SHARED_BEGIN ZERO, same ? "0x00070007" : "%t0", trans ? ".trans" : "", PUT_OUT);
  run r = launch(text, in, sizeof in, out, sizeof out, 32);
  CHECK(r.status == PLUMB_OK && r.trap == (same ? PLUMB_TRAP_NONE : PLUMB_TRAP_RACE),
        "stmatrix to one place, %s: %s", same ? "one value" : "several", r.message);
  for (unsigned i = 0; same && i < sizeof out; i++)
    CHECK(out[i] == (i % 2 ? 0 : 7), "stmatrix to one place: byte %u is %u", i, out[i]);
}

static void check_movmatrix(void) {
  uint8_t in[1024] = {0}, out[512];
  const char *text = SHARED_BEGIN ZERO
      "mul.lo.u32 %r0, %t0, 0x00020002; add.u32 %r0, %r0, 0x00010000;\n" /* element: 2 lane + h */
      "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r0;\n" PUT_OUT;
  run r = launch(text, in, sizeof in, out, sizeof out, 32);
  CHECK(r.status == PLUMB_OK && !r.trap, "movmatrix: %s", r.message);
  for (unsigned l = 0; l < 32; l++)
    for (unsigned h = 0; h < 2; h++) {
      uint16_t got;
      memcpy(&got, out + l * 16 + h * 2, 2);
      unsigned row = l % 4 * 2 + h, column = l / 4; /* of the source: 8 elements a row */
      CHECK(got == row * 8 + column, "movmatrix lane %u half %u: %u, expected %u", l, h, got,
            row * 8 + column);
    }
}

/* --- what goes wrong --- */

#define MMA \
  "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r4,%r5,%r6,%r7}, {%r0,%r1}, {%r2}, " \
  "{%r0,%r1,%r2,%r3};\n"
#define FOUR "mov.u32 %r0, 0; mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
#define LD4 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, "

typedef struct wrong_row {
  const char *name, *body;
  uint32_t threads;
  plumb_trap_kind trap;
  const char *message; /* part of it */
} wrong_row;

static const wrong_row wrong_rows[] = {
    {"mma in half a warp", FOUR "setp.lt.u32 %p, %t0, 16; @%p bra L; ret;\nL: " MMA PUT_OUT, 32,
     PLUMB_TRAP_DIVERGENT_BARRIER, "16 have ended or do not exist"},
    {"mma in a short block", FOUR MMA PUT_OUT, 16, PLUMB_TRAP_DIVERGENT_BARRIER,
     "needs all 32 lanes"},
    {"two mma in two branches",
     FOUR ZERO "setp.lt.u32 %p, %t0, 16; @%p bra L; " MMA "bra E;\nL: " MMA "E:\n" PUT_OUT, 32,
     PLUMB_TRAP_DIVERGENT_BARRIER, "needs all lanes of the warp together"},
    {"mma of a row never loaded",
     FILL_SHARED "ld.shared.b32 %r0, [s+1032]; mov.u32 %r1, 0;" MMA PUT_OUT, 32,
     PLUMB_TRAP_UNINITIALISED, ""},
    {"ldmatrix beyond the array",
     FILL_SHARED ZERO "bar.sync 0;\nadd.u32 %t3, %t3, 2048;\n" LD4 "[%t3];\n" PUT_OUT, 32,
     PLUMB_TRAP_OUT_OF_BOUNDS, ""},
    {"ldmatrix of 8 bytes",
     FILL_SHARED ZERO "bar.sync 0;\nadd.u32 %t3, %t3, 8;\n" LD4 "[%t3];\n" PUT_OUT, 32,
     PLUMB_TRAP_MISALIGNED, ""},
    {"ldmatrix of unwritten rows", ZERO "bar.sync 0;\n" LD4 "[%t3];\n" PUT_OUT, 32,
     PLUMB_TRAP_UNINITIALISED, ""},
    {"ldmatrix without a barrier", FILL_SHARED ZERO LD4 "[%t3];\n" PUT_OUT, 32, PLUMB_TRAP_RACE,
     ""},
    {"stmatrix without a barrier",
     FILL_SHARED FOUR
     "bar.sync 0;\nstmatrix.sync.aligned.m8n8.x4.shared.b16 [%t3], "
     "{%r0, %r1, %r2, %r3};\nld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%t4];\n" PUT_OUT,
     32, PLUMB_TRAP_RACE, ""},
    {"stmatrix of undefined rows to one place",
     FOUR
     "ld.shared.b32 %r0, [s+1032];\nstmatrix.sync.aligned.m8n8.x1.shared.b16 [%t2], {%r0};\n" ZERO
         PUT_OUT,
     32, PLUMB_TRAP_RACE, ""},
    {"ldmatrix of global memory",
     FILL_SHARED ZERO "bar.sync 0;\nldmatrix.sync.aligned.m8n8.x4.b16 "
                      "{%r4, %r5, %r6, %r7}, [%x0];\n" PUT_OUT,
     32, PLUMB_TRAP_WRONG_SPACE, "does not lie in shared memory"},
    {"ldmatrix of x1 needs eight addresses",
     FILL_SHARED ZERO "bar.sync 0;\nsetp.ge.u32 %p, %t0, 8; @%p mov.u32 %t3, 0x7fffffff;\n"
                      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%t3];\n" PUT_OUT,
     32, PLUMB_TRAP_NONE, ""},
    {"wmma.load in half a warp",
     FILL_SHARED ZERO "bar.sync 0;\nsetp.lt.u32 %p, %t0, 16; @%p bra L; bra E;\n"
                      "L: wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%r4,%r5,%r6,%r7}, "
                      "[%t2], 16;\nE:\n" PUT_OUT,
     32, PLUMB_TRAP_DIVERGENT_BARRIER, ""},
};

static void check_wrong(const wrong_row *x) {
  char text[8192];
  uint8_t in[1024] = {0}, out[512];
  snprintf(text, sizeof text, "%s%s", SHARED_BEGIN, x->body);
  run r = launch(text, in, sizeof in, out, sizeof out, x->threads);
  CHECK(r.status == PLUMB_OK, "%s: %s", x->name, r.message);
  CHECK(r.trap == x->trap && strstr(r.message, x->message), "%s: %s: %s", x->name,
        plumb_trap_text(r.trap), r.message);
}

/* --- */

int main(void) {
  for (size_t i = 0; i < sizeof wmma_rows / sizeof *wmma_rows; i++)
    for (int layouts = 0; layouts < 8; layouts++) {
      bool sub_byte = strchr("sub", wmma_rows[i].a[0]) && strchr("41", wmma_rows[i].a[1]);
      if (sub_byte && (layouts & 3)) continue; /* row.col alone */
      check_wmma(&wmma_rows[i], layouts & 1, layouts & 2, layouts & 4);
    }
  for (unsigned count = 1; count <= 4; count *= 2)
    for (int trans = 0; trans < 2; trans++) {
      check_ldmatrix(count, trans);
      check_stmatrix(count, trans);
    }
  for (int i = 0; i < 4; i++) check_stmatrix_to_one(i % 2 != 0, i > 1);
  check_movmatrix();
  for (size_t i = 0; i < sizeof wrong_rows / sizeof *wrong_rows; i++) check_wrong(&wrong_rows[i]);
  return check_finish();
}

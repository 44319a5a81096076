/* mma and mma.sp in PTX text, executed: every shape and type against a product of small
 * integers, with fragments and metadata laid out here as the PTX ISA states them. */
#include "tests/unit/mma_run.h"

/* --- fragments by the PTX ISA --- */

/* Element i of the lane with g = laneid >> 2 and t = laneid % 4. */
typedef void (*layout)(unsigned g, unsigned t, unsigned i, unsigned *row, unsigned *col);
#define LAYOUT(name, row_expression, col_expression) \
  static void name(unsigned g, unsigned t, unsigned i, unsigned *row, unsigned *col) { \
    (void)i; \
    *row = row_expression; \
    *col = col_expression; \
  }
/* 9.7.14.5.2, .3, .4, .5: m8n8 */
LAYOUT(a_884, g, t)
LAYOUT(b_884, t, g)
LAYOUT(c_8, g, t * 2 + (i & 1))
LAYOUT(a_8816, g, t * 4 + i)
LAYOUT(b_8816, t * 4 + i, g)
LAYOUT(a_8832, g, t * 8 + i)
LAYOUT(b_8832, t * 8 + i, g)
LAYOUT(a_88128, g, t * 32 + i)
LAYOUT(b_88128, t * 32 + i, g)
/* 9.7.14.5.6 */
LAYOUT(a_1684, i == 0 ? g : g + 8, t)
/* 9.7.14.5.7 */
LAYOUT(a_1688_16, i < 2 ? g : g + 8, t * 2 + (i & 1))
LAYOUT(b_1688_16, t * 2 + i, g)
LAYOUT(a_1688_32, i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4)
LAYOUT(b_1688_32, i == 0 ? t : t + 4, g)
/* 9.7.14.5.8 */
LAYOUT(a_16816_16, i < 2 || (4 <= i && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8))
LAYOUT(b_16816_16, t * 2 + (i & 1) + (i < 2 ? 0 : 8), g)
LAYOUT(a_16816_64, i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t)
LAYOUT(b_16816_64, t + i * 4, g)
LAYOUT(c_16, i < 2 ? g : g + 8, t * 2 + (i & 1))
/* 9.7.14.5.9 */
LAYOUT(a_16816_8, i < 4 ? g : g + 8, t * 4 + (i & 3))
LAYOUT(b_16816_8, t * 4 + i, g)
/* 9.7.14.5.10 */
LAYOUT(a_16832_4, i < 8 ? g : g + 8, t * 8 + (i & 7))
LAYOUT(b_16832_4, t * 8 + (i & 7), g)
LAYOUT(a_16832_8, i < 4 || (8 <= i && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16))
LAYOUT(b_16832_8, t * 4 + (i & 3) + (i < 4 ? 0 : 16), g)
/* 9.7.14.5.11 */
LAYOUT(a_16864_4, i < 8 || (16 <= i && i < 24) ? g : g + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32))
LAYOUT(b_16864_4, t * 8 + (i & 7) + (i < 8 ? 0 : 32), g)
/* 9.7.14.5.12, .13 */
LAYOUT(a_168128_1, i < 32 ? g : g + 8, t * 32 + (i & 31))
LAYOUT(b_168128_1, t * 32 + i, g)
LAYOUT(a_168256_1, i < 32 || (64 <= i && i < 96) ? g : g + 8,
       t * 32 + (i & 31) + (i < 64 ? 0 : 128))
LAYOUT(b_168256_1, t * 32 + (i & 31) + (i < 32 ? 0 : 128), g)
/* 9.7.14.6.2: B of the sparse forms that have no dense one, by their figures */
LAYOUT(b_sparse_32_16, t * 2 + (i & 1) + i / 2 * 8, g)
LAYOUT(b_sparse_64_8, t * 4 + (i & 3) + i / 4 * 16, g)
LAYOUT(b_sparse_128_4, t * 8 + (i & 7) + i / 8 * 32, g)

typedef struct row {
  const char *text; /* after `mma.sync.aligned.` */
  layout a, b, c;
} row;

static const row rows[] = {
    {"m16n8k8.row.col.f32.f16.f16.f32", a_1688_16, b_1688_16, c_16},
    {"m16n8k8.row.col.f16.f16.f16.f16", a_1688_16, b_1688_16, c_16},
    {"m16n8k16.row.col.f32.f16.f16.f32", a_16816_16, b_16816_16, c_16},
    {"m16n8k16.row.col.f16.f16.f16.f16", a_16816_16, b_16816_16, c_16},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", a_1688_16, b_1688_16, c_16},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", a_16816_16, b_16816_16, c_16},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", a_1684, b_884, c_16},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", a_1688_32, b_1688_32, c_16},
    {"m8n8k4.row.col.f64.f64.f64.f64", a_884, b_884, c_8},
    {"m8n8k4.row.col.f64.f64.f64.f64.rz", a_884, b_884, c_8},
    {"m16n8k4.row.col.f64.f64.f64.f64", a_1684, b_884, c_16},
    {"m16n8k8.row.col.f64.f64.f64.f64", a_1688_32, b_1688_32, c_16},
    {"m16n8k16.row.col.f64.f64.f64.f64", a_16816_64, b_16816_64, c_16},
    {"m16n8k16.row.col.f32.e4m3.e5m2.f32", a_16816_8, b_16816_8, c_16},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", a_16832_8, b_16832_8, c_16},
    {"m16n8k32.row.col.f16.e5m2.e4m3.f16", a_16832_8, b_16832_8, c_16},
    {"m8n8k16.row.col.s32.s8.s8.s32", a_8816, b_8816, c_8},
    {"m8n8k16.row.col.satfinite.s32.u8.s8.s32", a_8816, b_8816, c_8},
    {"m16n8k16.row.col.s32.s8.u8.s32", a_16816_8, b_16816_8, c_16},
    {"m16n8k32.row.col.s32.u8.u8.s32", a_16832_8, b_16832_8, c_16},
    {"m8n8k32.row.col.s32.s4.s4.s32", a_8832, b_8832, c_8},
    {"m16n8k32.row.col.s32.u4.s4.s32", a_16832_4, b_16832_4, c_16},
    {"m16n8k64.row.col.s32.s4.u4.s32", a_16864_4, b_16864_4, c_16},
    {"m8n8k128.row.col.s32.b1.b1.s32.xor.popc", a_88128, b_88128, c_8},
    {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", a_168128_1, b_168128_1, c_16},
    {"m16n8k256.row.col.s32.b1.b1.s32.xor.popc", a_168256_1, b_168256_1, c_16},
};

/* Layouts of the compressed A are those of the dense A of half the columns: `col` is then
 * the number of the stored element in its row. */
static const row sparse_rows[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32", a_1688_16, b_16816_16, c_16},
    {"m16n8k32.row.col.f16.f16.f16.f16", a_16816_16, b_sparse_32_16, c_16},
    {"m16n8k32.row.col.f32.bf16.bf16.f32", a_16816_16, b_sparse_32_16, c_16},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", a_1684, b_1688_32, c_16},
    {"m16n8k16.row.col.f32.tf32.tf32.f32", a_1688_32, b_16816_64, c_16},
    {"m16n8k32.row.col.s32.s8.u8.s32", a_16816_8, b_16832_8, c_16},
    {"m16n8k64.row.col.s32.u8.s8.s32", a_16832_8, b_sparse_64_8, c_16},
    {"m16n8k64.row.col.f32.e4m3.e5m2.f32", a_16832_8, b_sparse_64_8, c_16},
    {"m16n8k64.row.col.s32.s4.s4.s32", a_16832_4, b_16864_4, c_16},
    {"m16n8k128.row.col.s32.u4.s4.s32", a_16864_4, b_sparse_128_4, c_16},
};

/* What one lane holds: 64 bytes for each of A, B and C, 4 of metadata. */
enum { LANE_BYTES = 256, METADATA_AT = 192, RESULT_BYTES = 64 };

/* Loads what a lane holds, multiplies, stores D. */
static void kernel(char *text, size_t size, const char *instruction, const plumb_mma *mma,
                   const char *more) {
  size_t at =
      (size_t)snprintf(text, size,
                       HEAD
                       ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
                       ".reg .b32 %%t<4>, %%e, %%a<16>, %%b<16>; .reg .b64 %%x<4>;\n"
                       ".reg .f64 %%A<16>, %%B<16>, %%C<16>, %%D<16>; .reg .b32 %%c<16>, %%d<16>;\n"
                       "ld.param.u64 %%x0, [p]; ld.param.u64 %%x1, [q]; mov.u32 %%t0, %%tid.x;\n"
                       "mul.wide.u32 %%x2, %%t0, %d; add.u64 %%x0, %%x0, %%x2;\n"
                       "mul.wide.u32 %%x2, %%t0, %d; add.u64 %%x1, %%x1, %%x2;\n"
                       "ld.global.b32 %%e, [%%x0+%d];\n",
                       LANE_BYTES, RESULT_BYTES, METADATA_AT);
  unsigned regs[4], bytes = plumb_mma_reg_bytes(mma, PLUMB_MMA_A);
  const char *small = "abcd", *large = "ABCD";
  char letter[4];
  for (unsigned w = 0; w < 4; w++) {
    regs[w] = plumb_mma_regs(mma, (plumb_mma_matrix)w);
    letter[w] = bytes == 8 ? large[w] : small[w];
    for (unsigned r = 0; w < 3 && r < regs[w]; r++)
      at += (size_t)snprintf(text + at, size - at, "ld.global.b%u %%%c%u, [%%x0+%u];\n", bytes * 8,
                             letter[w], r, w * 64 + r * bytes);
  }
  at += (size_t)snprintf(text + at, size - at, "%s ", instruction);
  for (unsigned w = 0; w < 4; w++) {
    unsigned which = (w + 3) % 4; /* d, a, b, c */
    for (unsigned r = 0; r < regs[which]; r++)
      at += (size_t)snprintf(text + at, size - at, "%s%%%c%u", r ? "," : "{", letter[which], r);
    at += (size_t)snprintf(text + at, size - at, w < 3 ? "}, " : "}%s;\n", more);
  }
  for (unsigned r = 0; r < regs[3]; r++)
    at += (size_t)snprintf(text + at, size - at, "st.global.b%u [%%x1+%u], %%%c%u;\n", bytes * 8,
                           r * bytes, letter[3], r);
  snprintf(text + at, size - at, "ret;\n}\n");
}

static void check_result(const char *text, const plumb_mma *mma, layout c, const uint8_t *out,
                         const bool (*used)[256]) {
  for (unsigned l = 0; l < 32; l++)
    for (unsigned i = 0; i < mma->m * mma->n / 32u; i++) {
      unsigned r, col, width = plumb_mma_type_table[mma->d].bits;
      c(l >> 2, l & 3, i, &r, &col);
      int64_t sum = C[r][col];
      for (unsigned k = 0; k < mma->k; k++)
        if (!used || used[r][k]) sum += times(mma, A[r][k], B[k][col]);
      uint64_t got = 0, expected = encode((plumb_mma_type)mma->d, (int)sum);
      memcpy(&got, out + l * RESULT_BYTES + (size_t)i * width / 8, width / 8);
      CHECK(got == expected, "%s: lane %u element %u (%u, %u): 0x%llx, expected 0x%llx", text, l, i,
            r, col, (unsigned long long)got, (unsigned long long)expected);
    }
}

static void fill_dense(const plumb_mma *mma, const row *x, uint8_t *in, bool with_a) {
  for (unsigned i = 0; i < mma->m; i++)
    for (unsigned k = 0; k < mma->k; k++) A[i][k] = random_element((plumb_mma_type)mma->a);
  for (unsigned k = 0; k < mma->k; k++)
    for (unsigned j = 0; j < mma->n; j++) B[k][j] = random_element((plumb_mma_type)mma->b);
  for (unsigned i = 0; i < mma->m; i++)
    for (unsigned j = 0; j < mma->n; j++) C[i][j] = random_int(-9, 9);
  for (unsigned l = 0; l < 32; l++) {
    uint8_t *lane = in + l * LANE_BYTES;
    unsigned r, c, g = l >> 2, t = l & 3;
    for (unsigned i = 0; with_a && i < mma->m * mma->k / 32u; i++) {
      x->a(g, t, i, &r, &c);
      put(lane, (plumb_mma_type)mma->a, i, encode((plumb_mma_type)mma->a, A[r][c]));
    }
    for (unsigned i = 0; i < mma->k * mma->n / 32u; i++) {
      x->b(g, t, i, &r, &c);
      put(lane + 64, (plumb_mma_type)mma->b, i, encode((plumb_mma_type)mma->b, B[r][c]));
    }
    for (unsigned i = 0; i < mma->m * mma->n / 32u; i++) {
      x->c(g, t, i, &r, &c);
      put(lane + 128, (plumb_mma_type)mma->c, i, encode((plumb_mma_type)mma->c, C[r][c]));
    }
  }
}

static void check_dense(const row *x) {
  char text[8192], instruction[128];
  uint8_t in[32 * LANE_BYTES] = {0}, out[32 * RESULT_BYTES];
  plumb_mma mma = parse(x->text, PLUMB_MMA_SYNC);
  fill_dense(&mma, x, in, true);
  snprintf(instruction, sizeof instruction, "mma.sync.aligned.%s", x->text);
  kernel(text, sizeof text, instruction, &mma, "");
  run r = launch(text, in, sizeof in, out, sizeof out, 32);
  CHECK(r.status == PLUMB_OK && !r.trap, "%s: %s", x->text, r.message);
  if (r.status == PLUMB_OK && !r.trap) check_result(x->text, &mma, x->c, out, NULL);
}

/* Metadata as numbers in a row: 4 bits for each chunk, the first in the low bits. In the
 * forms of f16 and tf32 a lane holds 16 bits of row g, then 16 of row g + 8, and lanes
 * follow along the row; in the others 32 bits of row g, the next lane those of row g + 8. */
static void check_sparse(const row *x, bool ordered, unsigned selector) {
  char text[8192], instruction[128], more[32];
  uint8_t in[32 * LANE_BYTES] = {0}, out[32 * RESULT_BYTES];
  plumb_mma mma = parse(x->text, PLUMB_MMA_SPARSE);
  static bool used[32][256];
  static int stored[16][128];
  uint64_t row_bits[16] = {0};
  bool tf32 = mma.a == PLUMB_MMA_TF32, four = mma.a == PLUMB_MMA_S4 || mma.a == PLUMB_MMA_U4;
  unsigned chunk = tf32 ? 2 : four ? 8 : 4, width = tf32 ? 1 : four ? 2 : 1;
  memset(used, 0, sizeof used);
  fill_dense(&mma, x, in, false);
  for (unsigned i = 0; i < 16; i++)
    for (unsigned q = 0, at = 0; q < mma.k / chunk; q++) {
      unsigned first = (unsigned)random_int(0, 3), second = (unsigned)random_int(0, 3);
      while (second == first) second = (unsigned)random_int(0, 3);
      if (ordered && first > second) {
        unsigned other = first;
        first = second, second = other;
      }
      unsigned pick[2] = {first, second}, picks = 2;
      if (tf32) {
        picks = 1;
        pick[0] = first & 1;
        first = pick[0] ? 2 : 0, second = pick[0] ? 3 : 1;
      }
      row_bits[i] |= (uint64_t)(first | second << 2) << (4 * q);
      for (unsigned p = 0; p < picks; p++)
        for (unsigned e = 0; e < width; e++) {
          unsigned column = q * chunk + pick[p] * width + e;
          used[i][column] = true;
          stored[i][at++] = A[i][column];
        }
    }
  for (unsigned l = 0; l < 32; l++)
    for (unsigned i = 0; i < mma.m * mma.k / 64u; i++) {
      unsigned r, c;
      x->a(l >> 2, l & 3, i, &r, &c);
      put(in + l * LANE_BYTES, (plumb_mma_type)mma.a, i,
          encode((plumb_mma_type)mma.a, stored[r][c]));
    }
  bool wide = plumb_mma_type_table[mma.a].bits >= 16;
  unsigned bits = mma.k / chunk * 4, lanes = bits / 16;
  for (unsigned g = 0; g < 8; g++)
    for (unsigned t = 0; t < lanes; t++) {
      uint32_t e = wide ? (uint32_t)(row_bits[g] >> (16 * t) & 0xffff) |
                              (uint32_t)(row_bits[g + 8] >> (16 * t) & 0xffff) << 16
                        : (uint32_t)(row_bits[g + t % 2 * 8] >> (t / 2 * 32));
      memcpy(in + (g * 4 + lanes * selector + t) * LANE_BYTES + METADATA_AT, &e, 4);
    }
  snprintf(instruction, sizeof instruction, "mma.sp%s.sync.aligned.%s",
           ordered ? "::ordered_metadata" : "", x->text);
  snprintf(more, sizeof more, ", %%e, 0x%x", selector);
  kernel(text, sizeof text, instruction, &mma, more);
  run r = launch(text, in, sizeof in, out, sizeof out, 32);
  CHECK(r.status == PLUMB_OK && !r.trap, "sp %s: %s", x->text, r.message);
  if (r.status == PLUMB_OK && !r.trap) check_result(x->text, &mma, x->c, out, used);
}

/* --- m8n8k4 of f16 (9.7.14.5.1) --- */

static void quad_a(unsigned l, unsigned i, bool column, unsigned *row, unsigned *col) {
  *row = column ? i % 4 + (l < 16 ? 0 : 4) : l % 4 + (l < 16 ? 0 : 4);
  *col = column ? l % 4 : i;
}
static void quad_b(unsigned l, unsigned i, bool row_major, unsigned *row, unsigned *col) {
  *row = row_major ? l % 4 : i;
  *col = row_major ? i + (l < 16 ? 0 : 4) : l % 4 + (l < 16 ? 0 : 4);
}
static void quad_c(unsigned l, unsigned i, bool f32, unsigned *row, unsigned *col) {
  *row = (f32 ? (l & 1) + (i & 2) : l % 4) + (l < 16 ? 0 : 4);
  *col = f32 ? (i & 4) + (l & 2) + (i & 1) : i;
}

static void check_quads(bool a_column, bool b_row, const char *d, const char *c) {
  static int a[4][8][4], b[4][4][8], s[4][8][8];
  char text[8192], instruction[128];
  uint8_t in[32 * LANE_BYTES] = {0}, out[32 * RESULT_BYTES];
  snprintf(instruction, sizeof instruction, "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s",
           a_column ? "col" : "row", b_row ? "row" : "col", d, c);
  plumb_mma mma = parse(instruction + strlen("mma.sync.aligned."), PLUMB_MMA_SYNC);
  for (int q = 0; q < 4; q++)
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 8; j++) {
        s[q][i][j] = random_int(-9, 9);
        if (j < 4) a[q][i][j] = random_int(-4, 4);
        if (i < 4) b[q][i][j] = random_int(-4, 4);
      }
  for (unsigned l = 0; l < 32; l++) {
    unsigned q = l % 16 / 4, row, col;
    uint8_t *lane = in + l * LANE_BYTES;
    for (unsigned i = 0; i < 4; i++) {
      quad_a(l, i, a_column, &row, &col);
      put(lane, PLUMB_MMA_F16, i, encode(PLUMB_MMA_F16, a[q][row][col]));
      quad_b(l, i, b_row, &row, &col);
      put(lane + 64, PLUMB_MMA_F16, i, encode(PLUMB_MMA_F16, b[q][row][col]));
    }
    for (unsigned i = 0; i < 8; i++) {
      quad_c(l, i, mma.c == PLUMB_MMA_F32, &row, &col);
      put(lane + 128, (plumb_mma_type)mma.c, i, encode((plumb_mma_type)mma.c, s[q][row][col]));
    }
  }
  kernel(text, sizeof text, instruction, &mma, "");
  run r = launch(text, in, sizeof in, out, sizeof out, 32);
  CHECK(r.status == PLUMB_OK && !r.trap, "%s: %s", instruction, r.message);
  for (unsigned l = 0; l < 32; l++)
    for (unsigned i = 0; i < 8; i++) {
      unsigned q = l % 16 / 4, row, col, width = plumb_mma_type_table[mma.d].bits;
      quad_c(l, i, mma.d == PLUMB_MMA_F32, &row, &col);
      int sum = s[q][row][col];
      for (int k = 0; k < 4; k++) sum += a[q][row][k] * b[q][k][col];
      uint64_t got = 0;
      memcpy(&got, out + l * RESULT_BYTES + (size_t)i * width / 8, width / 8);
      CHECK(got == encode((plumb_mma_type)mma.d, sum),
            "%s: lane %u element %u: 0x%llx, expected %d", instruction, l, i,
            (unsigned long long)got, sum);
    }
}

/* --- */

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_dense(&rows[i]);
  for (size_t i = 0; i < sizeof sparse_rows / sizeof *sparse_rows; i++) {
    plumb_mma mma = parse(sparse_rows[i].text, PLUMB_MMA_SPARSE);
    for (unsigned selector = 0; selector < 4; selector++) {
      mma.selector = (uint8_t)selector;
      if (!plumb_mma_valid(&mma)) continue;
      check_sparse(&sparse_rows[i], false, selector);
      check_sparse(&sparse_rows[i], true, selector);
    }
  }
  for (int layouts = 0; layouts < 4; layouts++) {
    check_quads(layouts & 1, layouts & 2, "f32", "f32");
    check_quads(layouts & 1, layouts & 2, "f16", "f16");
    check_quads(layouts & 1, layouts & 2, "f32", "f16");
  }
  return check_finish();
}

/* Matrix instructions in PTX text, executed: every shape and type of mma against a product
 * of small integers, with fragments laid out here as the PTX ISA states them; mma.sp with
 * its metadata; wmma of every shape, type and layout; ldmatrix, stmatrix, movmatrix; and
 * what goes wrong: divergence, bounds, alignment, missing order, unwritten operands. */
#include "ir/mma.h"

#include <stdlib.h>
#include <string.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

#define HEAD ".version 8.8\n.target sm_90a\n.address_size 64\n"

static uint64_t state = 88172645463325252ull;
static int random_int(int low, int high) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return low + (int)(state % (uint64_t)(high - low + 1));
}

/* --- running a text --- */

typedef struct run {
  plumb_trap_kind trap;
  plumb_status status;
  char message[1024];
} run;

/* Launches k(p, q): p is `in`, q receives `out`; `threads` lanes, one block. */
static run launch(const char *text, const void *in, size_t in_bytes, void *out, size_t out_bytes,
                  uint32_t threads) {
  run r = {PLUMB_TRAP_NONE, PLUMB_OK, ""};
  plumb_diag diag = {0};
  plumb_arena *arena = plumb_arena_create();
  plumb_program *p = plumb_program_create(arena, "mma");
  plumb_machine *m = plumb_machine_create(arena);
  r.status = plumb_ptx_decode(p, "mma.ptx", text, strlen(text), &diag);
  if (r.status == PLUMB_OK) r.status = plumb_program_finish(p, &diag);
  if (r.status == PLUMB_OK) r.status = plumb_machine_load(m, p, &diag);
  if (r.status == PLUMB_OK) {
    uint64_t params[2] = {plumb_machine_alloc(m, in_bytes, 256, "in"),
                          plumb_machine_alloc(m, out_bytes, 256, "out")};
    plumb_machine_write(m, params[0], in, in_bytes, &diag);
    plumb_run_options options = plumb_run_options_default();
    plumb_launch l = {.grid = {1, 1, 1}, .block = {threads, 1, 1}};
    plumb_run_result result;
    r.status = plumb_machine_launch(m, "k", &l, params, sizeof params, &options, &result, &diag);
    if (r.status == PLUMB_OK) {
      r.trap = result.trap.kind;
      if (r.trap) snprintf(r.message, sizeof r.message, "%s", result.trap.message);
      if (!r.trap) plumb_machine_read(m, params[1], out, NULL, out_bytes, &diag);
    }
  }
  if (r.status != PLUMB_OK) snprintf(r.message, sizeof r.message, "%s", diag.message);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
  return r;
}

/* --- elements --- */

/* An integer as an element of the type, and back. */
static uint64_t encode(plumb_mma_type type, int v) {
  static const uint8_t dtypes[PLUMB_MMA_TYPE_COUNT] = {
      [PLUMB_MMA_F16] = PLUMB_F16,   [PLUMB_MMA_BF16] = PLUMB_BF16, [PLUMB_MMA_TF32] = PLUMB_F32,
      [PLUMB_MMA_F32] = PLUMB_F32,   [PLUMB_MMA_F64] = PLUMB_F64,   [PLUMB_MMA_E4M3] = PLUMB_E4M3,
      [PLUMB_MMA_E5M2] = PLUMB_E5M2,
  };
  if (dtypes[type]) return plumb_dtype_from_double((plumb_dtype)dtypes[type], v);
  unsigned bits = plumb_mma_type_table[type].bits;
  uint64_t mask = (1ull << bits) - 1; /* integers have 32 bits at most */
  return (uint64_t)(int64_t)v & mask;
}

static int random_element(plumb_mma_type type) {
  switch (type) {
    case PLUMB_MMA_B1:
      return random_int(0, 1);
    case PLUMB_MMA_U4:
      return random_int(0, 15);
    case PLUMB_MMA_S4:
      return random_int(-8, 7);
    case PLUMB_MMA_U8:
      return random_int(0, 255);
    case PLUMB_MMA_S8:
      return random_int(-128, 127);
    case PLUMB_MMA_E5M2:
      return random_int(-3, 3);
    default:
      return random_int(-4, 4);
  }
}

static int64_t times(const plumb_mma *mma, int a, int b) {
  return mma->combine == PLUMB_MMA_XOR_POPC   ? a ^ b
         : mma->combine == PLUMB_MMA_AND_POPC ? (a & b)
                                              : (int64_t)a * b;
}

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

/* Shape and types out of the text. */
static plumb_mma parse(const char *text, plumb_mma_kind kind) {
  plumb_mma mma = {.kind = (uint8_t)kind};
  unsigned m = 0, n = 0, k = 0, count = 0;
  sscanf(text, "m%un%uk%u", &m, &n, &k);
  mma.m = (uint16_t)m, mma.n = (uint16_t)n, mma.k = (uint16_t)k;
  char copy[80], *part;
  snprintf(copy, sizeof copy, "%s", text);
  uint8_t *types[4] = {&mma.d, &mma.a, &mma.b, &mma.c};
  for (part = strtok(copy, "."); part; part = strtok(NULL, ".")) {
    plumb_mma_type t;
    if (count < 4 && plumb_mma_type_find(part, &t)) *types[count++] = (uint8_t)t;
    if (strcmp(part, "xor") == 0) mma.combine = PLUMB_MMA_XOR_POPC;
    if (strcmp(part, "and") == 0) mma.combine = PLUMB_MMA_AND_POPC;
    if (strcmp(part, "satfinite") == 0) mma.satfinite = true;
  }
  return mma;
}

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

/* Puts element i of a lane, low to high in 32-bit (or 64-bit) registers. */
static void put(uint8_t *lane, plumb_mma_type type, unsigned i, uint64_t bits) {
  unsigned width = plumb_mma_type_table[type].bits;
  if (width >= 8) {
    memcpy(lane + (size_t)i * width / 8, &bits, width / 8);
  } else {
    lane[i * width / 8] = (uint8_t)(lane[i * width / 8] | bits << (i * width % 8));
  }
}

static int A[32][256], B[256][32], C[32][32];

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
  check_movmatrix();
  for (size_t i = 0; i < sizeof wrong_rows / sizeof *wrong_rows; i++) check_wrong(&wrong_rows[i]);
  return check_finish();
}

/* Tensor copies through PTX: boxes, swizzles, fills, im2col, stores and reductions. */
#include <math.h>

#include "tests/unit/async_run.h"

/* The box goes to out[0 .. 255]. */
#define TENSOR(form, tail, bytes, body) \
  KERNEL("", TILE("1024"), \
         INIT("1") "bar.sync 0;\n" \
                   "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " bytes ";\n" \
                   "mov.u32 %r6, tile; mov.u32 %r7, bar;\n" \
                   "@%p1 cp.async.bulk.tensor." form \
                   ".mbarrier::complete_tx::bytes [%r6], " tail ";\n" WAIT("1", "0") body)
#define LOAD "shared::cluster.global.tile"
#define BOX_OUT \
  "shl.b32 %r8, %r1, 2; add.u32 %r8, %r8, %r6; ld.shared.u32 %r9, [%r8]; st.global.u32 [%rd5], " \
  "%r9; ld.shared.u32 %r9, [%r8+512]; st.global.u32 [%rd5+512], %r9;\n"
static const char tile_2d[] = TENSOR("2d." LOAD, "[%rd3, {8, 4}], [%r7]", "1024", BOX_OUT);
static const char tile_edge[] = TENSOR("2d." LOAD, "[%rd3, {48, 60}], [%r7]", "1024", BOX_OUT);
static const char tile_corner[] = TENSOR("2d." LOAD, "[%rd3, {-4, -2}], [%r7]", "1024", BOX_OUT);
static const char tile_1d[] = TENSOR("1d." LOAD, "[%rd3, {100}], [%r7]", "1024", BOX_OUT);
static const char tile_5d[] = TENSOR("5d." LOAD, "[%rd3, {0, 1, 2, 0, 1}], [%r7]", "1024", BOX_OUT);
static const char columns[] = TENSOR("4d.shared::cluster.global.im2col",
                                     "[%rd3, {0, -1, -1, 0}], [%r7], {2, 1}", "1024", BOX_OUT);
static const char tile_short[] = TENSOR("2d." LOAD, "[%rd3, {8, 4}], [%r7]", "1008", BOX_OUT);
static const char tile_dims[] = TENSOR("3d." LOAD, "[%rd3, {8, 4, 0}], [%r7]", "1024", BOX_OUT);

/* Word (t % 16, t / 16) of a box of 64 bytes a row, whose rows lie 128 bytes apart, so that
 * the swizzle sends pieces to places beside the box. */
static const char tile_narrow[] =
    TENSOR("2d." LOAD, "[%rd3, {8, 4}], [%r7]", "512",
           "shr.u32 %r8, %r1, 4; and.b32 %r9, %r1, 15; shr.u32 %r9, %r9, 2; xor.b32 %r9, %r9, %r8;"
           "shl.b32 %r9, %r9, 4; shl.b32 %r8, %r8, 7; add.u32 %r8, %r8, %r9; and.b32 %r9, %r1, 3;"
           "shl.b32 %r9, %r9, 2; add.u32 %r8, %r8, %r9; add.u32 %r8, %r8, %r6;\n"
           "ld.shared.u32 %r9, [%r8]; st.global.u32 [%rd5], %r9;\n");
/* What the copy leaves beside the box of row 0: nothing. */
static const char tile_beside[] =
    TENSOR("2d." LOAD, "[%rd3, {8, 4}], [%r7]", "512",
           "ld.shared.u32 %r9, [tile+64]; st.global.u32 [%rd5], %r9;\n");

static uint32_t cell(int64_t x, int64_t y) {
  return x < 0 || y < 0 || x > 63 || y > 63 ? 0 : 7 * (uint32_t)(x + 64 * y) + 1;
}
static uint32_t is_tile(uint32_t i, uint32_t before) {
  return i < 256 ? cell(8 + i % 32, 4 + i / 32) : before;
}
static uint32_t is_edge(uint32_t i, uint32_t before) {
  return i < 256 ? cell(48 + i % 32, 60 + i / 32) : before;
}
static uint32_t is_corner(uint32_t i, uint32_t before) {
  return i < 256 ? cell((int64_t)(i % 32) - 4, (int64_t)(i / 32) - 2) : before;
}
static uint32_t is_nan_edge(uint32_t i, uint32_t before) {
  uint32_t v = is_edge(i, before);
  return i < 256 && v == 0 ? 0x7fffffff : v;
}
/* Row r of the box has its 16 byte pieces at piece ^ (r & 7), and so on. */
static uint32_t is_128(uint32_t i, uint32_t before) {
  uint32_t r = i / 32, piece = (i % 32 / 4) ^ (r & 7);
  return i < 256 ? cell(8 + piece * 4 + i % 4, 4 + r) : before;
}
static uint32_t is_64(uint32_t i, uint32_t before) {
  uint32_t r = i / 16, piece = (i % 16 / 4) ^ (r >> 1 & 3);
  return i < 256 ? cell(8 + piece * 4 + i % 4, 4 + r) : before;
}
static uint32_t is_32(uint32_t i, uint32_t before) {
  uint32_t r = i / 8, piece = (i % 8 / 4) ^ (r >> 2 & 1);
  return i < 256 ? cell(8 + piece * 4 + i % 4, 4 + r) : before;
}
/* Atoms of 32 bytes: pairs of pieces move; of 64: halves of the line. */
static uint32_t is_atom_32(uint32_t i, uint32_t before) {
  uint32_t r = i / 32, pair = (i % 32 / 8) ^ (r & 3);
  return i < 256 ? cell(8 + pair * 8 + i % 8, 4 + r) : before;
}
static uint32_t is_atom_32_flip(uint32_t i, uint32_t before) {
  uint32_t r = i / 32, pair = (i % 32 / 8) ^ (r & 3), word = (i % 8) ^ (r & 1 ? 2 : 0);
  return i < 256 ? cell(8 + pair * 8 + word, 4 + r) : before;
}
static uint32_t is_atom_64(uint32_t i, uint32_t before) {
  uint32_t r = i / 32, half = (i % 32 / 16) ^ (r & 1);
  return i < 256 ? cell(8 + half * 16 + i % 16, 4 + r) : before;
}
static uint32_t is_narrow(uint32_t i, uint32_t before) {
  return i < 128 ? cell(8 + i % 16, 4 + i / 16) : before;
}
static uint32_t is_strided(uint32_t i, uint32_t before) {
  return i < 256 ? cell(8 + i % 32, 4 + 2 * (i / 32)) : before;
}
static uint32_t is_line(uint32_t i, uint32_t before) {
  return i < 256 ? 7 * (100 + i) + 1 : before;
}
static uint32_t is_5d(uint32_t i, uint32_t before) {
  uint32_t a = i % 16, b = i / 16 % 2 + 1, c = i / 32 % 2 + 2, d = i / 64 % 2, e = i / 128 + 1;
  return i < 256 ? 7 * (a + 16 * (b + 4 * (c + 4 * (d + 4 * e)))) + 1 : before;
}
/* A 3 x 3 filter's tap (2, 1) over 8 x 8 pixels with padding 1. */
static uint32_t is_column(uint32_t i, uint32_t before) {
  int32_t pixel = (int32_t)i / 16, w = pixel % 8 - 1 + 2, h = pixel / 8 - 1 + 1;
  if (i >= 256) return before;
  if (w < 0 || w > 7 || h < 0 || h > 7) return 0;
  return 7 * (i % 16 + 16 * (uint32_t)(w + 8 * h)) + 1;
}

static void with_128(plumb_tensormap *m, uint64_t out) {
  (void)out;
  m->swizzle = PLUMB_SWIZZLE_128B;
}
static void with_64(plumb_tensormap *m, uint64_t out) {
  (void)out;
  m->swizzle = PLUMB_SWIZZLE_64B;
  m->box[0] = 16, m->box[1] = 16;
}
static void with_narrow_128(plumb_tensormap *m, uint64_t out) {
  (void)out;
  m->swizzle = PLUMB_SWIZZLE_128B;
  m->box[0] = 16, m->box[1] = 8;
}
static void with_32(plumb_tensormap *m, uint64_t out) {
  (void)out;
  m->swizzle = PLUMB_SWIZZLE_32B;
  m->box[0] = 8, m->box[1] = 32;
}
static void with_atom_32(plumb_tensormap *m, uint64_t out) {
  (void)out;
  m->swizzle = PLUMB_SWIZZLE_128B_ATOM_32B;
}
static void with_atom_32_flip(plumb_tensormap *m, uint64_t out) {
  (void)out;
  m->swizzle = PLUMB_SWIZZLE_128B_ATOM_32B_FLIP_8B;
}
static void with_atom_64(plumb_tensormap *m, uint64_t out) {
  (void)out;
  m->swizzle = PLUMB_SWIZZLE_128B_ATOM_64B;
}
static void with_nan(plumb_tensormap *m, uint64_t out) {
  (void)out;
  m->type = PLUMB_TENSORMAP_F32;
  m->nan_fill = true;
}
static void with_strides(plumb_tensormap *m, uint64_t out) {
  (void)out;
  m->box[1] = 16;
  m->element_strides[1] = 2;
}
static void with_1d(plumb_tensormap *m, uint64_t out) {
  (void)out;
  m->rank = 1;
  m->dims[0] = 4096;
  m->box[0] = 256;
}
static void with_5d(plumb_tensormap *m, uint64_t out) {
  (void)out;
  *m = (plumb_tensormap){.address = m->address,
                         .rank = 5,
                         .type = PLUMB_TENSORMAP_U32,
                         .dims = {16, 4, 4, 4, 4},
                         .strides_bytes = {64, 256, 1024, 4096},
                         .box = {16, 2, 2, 2, 2},
                         .element_strides = {1, 1, 1, 1, 1}};
}
static void with_columns(plumb_tensormap *m, uint64_t out) {
  (void)out;
  *m = (plumb_tensormap){.address = m->address,
                         .rank = 4,
                         .type = PLUMB_TENSORMAP_U32,
                         .im2col = true,
                         .dims = {16, 8, 8, 4},
                         .strides_bytes = {64, 512, 4096},
                         .element_strides = {1, 1, 1, 1},
                         .lower = {-1, -1},
                         .upper = {-1, -1},
                         .channels = 16,
                         .pixels = 16};
}
static void to_out(plumb_tensormap *m, uint64_t out) {
  m->address = out;
  m->swizzle = PLUMB_SWIZZLE_128B;
}

/* Lane t's number is in words t and t + 128 of the tile, which goes to the box at (40, 60):
 * it leaves the tensor. */
#define TENSOR_STORE(form) \
  KERNEL("", TILE("1024"), \
         OWN_WORD \
         "st.shared.u32 [%r6+512], %r1;\nfence.proxy.async.shared::cta;\nbar.sync " \
         "0;\nmov.u32 %r6, tile;\n@%p1 cp." form \
         " [%rd3, {40, 60}], [%r6];\n@%p1 cp.async.bulk.commit_group;\n" \
         "@%p1 cp.async.bulk.wait_group 0;\n")
static const char tensor_store[] =
    TENSOR_STORE("async.bulk.tensor.2d.global.shared::cta.tile.bulk_group");
static const char tensor_reduce[] =
    TENSOR_STORE("reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group");
static uint32_t stored(uint32_t i, uint32_t before) {
  uint32_t x = i % 64 - 40, y = i / 64 - 60;
  if (i % 64 < 40 || i / 64 < 60) return before;
  return (y * 32 + ((x / 4) ^ (y & 7)) * 4 + x % 4) % 128;
}
static uint32_t kept_maximum(uint32_t i, uint32_t before) {
  uint32_t v = stored(i, before);
  return v > before ? v : before;
}
/* Lane t makes words t and t + 128 of the tensor: across a power of two with ties, and to
 * where they overflow (lanes below 64) or are NaN. */
static const char rounded[] = KERNEL("", TILE("1024"),
         INIT("1") "mul.lo.u32 %r5, %r1, 1024; add.u32 %r5, %r5, 0x3f7ff000;\n"
                   "mul.lo.u32 %r6, %r1, 32; add.u32 %r6, %r6, 0xff7fee00; add.u32 %r7, %r1, "
                   "0x7f812345; setp.lt.u32 %p2, %r1, 64; selp.b32 %r6, %r6, %r7, %p2;\n"
                   "mul.wide.u32 %rd10, %r1, 4; add.u64 %rd10, %rd10, %rd1; st.global.u32 "
                   "[%rd10], %r5; st.global.u32 [%rd10+512], %r6;\n"
                   "fence.proxy.async; bar.sync 0;\n"
                   "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;\n"
                   "mov.u32 %r6, tile; mov.u32 %r7, bar;\n"
                   "@%p1 cp.async.bulk.tensor.1d." LOAD
                   ".mbarrier::complete_tx::bytes [%r6], [%rd3, {0}], [%r7];\n" WAIT("1", "0") BOX_OUT);
static uint32_t is_rounded(uint32_t i, uint32_t before) {
  uint32_t t = i % 128, bits = i < 128 ? 0x3f7ff000u + t * 1024 : 0xff7fee00u + t * 32;
  if (i >= 256) return before;
  if (i >= 192) return 0x7f812345u + t;
  float x;
  int exponent;
  memcpy(&x, &bits, 4);
  double m = frexp(x, &exponent);
  x = (float)ldexp(rint(ldexp(m, 11)), exponent - 11);
  memcpy(&bits, &x, 4);
  return bits;
}
static void with_tf32(plumb_tensormap *m, uint64_t out) {
  with_1d(m, out);
  m->type = PLUMB_TENSORMAP_TF32;
}

/* The map is copied to shared memory and turned into to_out's. */
static const char tensor_replace[] = KERNEL(
    "", TILE("1024") ".shared .align 128 .b8 own[128];",
    "shl.b32 %r5, %r1, 2; mov.u32 %r6, own; add.u32 %r6, %r6, %r5; mul.wide.u32 %rd10, %r1, 4; "
    "add.u64 %rd10, %rd10, %rd3; setp.lt.u32 %p2, %r1, 32;\n@%p2 ld.u32 %r10, [%rd10];\n@%p2 "
    "st.shared.u32 [%r6], %r10;\nbar.sync 0;\n"
    "@%p1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [own], %rd2;\n"
    "@%p1 tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [own], 3;\nbar.sync 0;\n"
    "mov.u32 %r6, own; cvt.u64.u32 %rd11, %r6; cvta.shared.u64 %rd3, %rd11;\n" OWN_WORD
    "st.shared.u32 [%r6+512], %r1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\nmov.u32 %r6, "
    "tile;\n@%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {40, 60}], "
    "[%r6];\n@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group 0;\n");

static const row rows[] = {
    {"tile 2d", tile_2d, 1, 128, is_tile, NULL, PLUMB_TRAP_NONE, NULL},
    {"tile 2d", tile_2d, 1, 128, NULL, WAIT("1", "0"), PLUMB_TRAP_RACE, NULL},
    {"tile at the edge", tile_edge, 1, 128, is_edge, NULL, PLUMB_TRAP_NONE, NULL},
    {"tile at the corner", tile_corner, 1, 128, is_corner, NULL, PLUMB_TRAP_NONE, NULL},
    {"NaN fill", tile_edge, 1, 128, is_nan_edge, NULL, PLUMB_TRAP_NONE, with_nan},
    {"swizzle 128B", tile_2d, 1, 128, is_128, NULL, PLUMB_TRAP_NONE, with_128},
    {"swizzle 64B", tile_2d, 1, 128, is_64, NULL, PLUMB_TRAP_NONE, with_64},
    {"swizzle 32B", tile_2d, 1, 128, is_32, NULL, PLUMB_TRAP_NONE, with_32},
    {"swizzle atom 32B", tile_2d, 1, 128, is_atom_32, NULL, PLUMB_TRAP_NONE, with_atom_32},
    {"swizzle flip 8B", tile_2d, 1, 128, is_atom_32_flip, NULL, PLUMB_TRAP_NONE, with_atom_32_flip},
    {"swizzle atom 64B", tile_2d, 1, 128, is_atom_64, NULL, PLUMB_TRAP_NONE, with_atom_64},
    {"box narrower than its swizzle", tile_narrow, 1, 128, is_narrow, NULL, PLUMB_TRAP_NONE,
     with_narrow_128},
    {"beside a narrow box", tile_beside, 1, 128, NULL, NULL, PLUMB_TRAP_UNINITIALISED,
     with_narrow_128},
    {"element strides", tile_2d, 1, 128, is_strided, NULL, PLUMB_TRAP_NONE, with_strides},
    {"tile 1d", tile_1d, 1, 128, is_line, NULL, PLUMB_TRAP_NONE, with_1d},
    {"tile 5d", tile_5d, 1, 128, is_5d, NULL, PLUMB_TRAP_NONE, with_5d},
    {"rounding to tf32", rounded, 1, 128, is_rounded, NULL, PLUMB_TRAP_NONE, with_tf32},
    {"im2col", columns, 1, 128, is_column, NULL, PLUMB_TRAP_NONE, with_columns},
    {"fewer bytes expected than come", tile_short, 1, 128, NULL, NULL, PLUMB_TRAP_DEADLOCK, NULL},
    {"dimensions differ", tile_dims, 1, 128, NULL, NULL, PLUMB_TRAP_TENSORMAP, NULL},
    {"tensor store", tensor_store, 1, 128, stored, NULL, PLUMB_TRAP_NONE, to_out},
    {"tensor store", tensor_store, 1, 128, NULL, "fence.proxy.async.shared::cta;", PLUMB_TRAP_RACE,
     to_out},
    {"tensor store", tensor_store, 1, 128, NULL, "bar.sync 0;", PLUMB_TRAP_RACE, to_out},
    {"tensor reduce", tensor_reduce, 1, 128, kept_maximum, NULL, PLUMB_TRAP_NONE, to_out},
    {"tensormap.replace", tensor_replace, 1, 128, stored, NULL, PLUMB_TRAP_NONE, NULL},
};

int main(void) {
  return run_rows(rows, sizeof rows / sizeof rows[0]);
}

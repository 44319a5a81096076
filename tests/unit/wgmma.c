/* wgmma through PTX: every type, layouts of shared memory, A in registers, and a trap where
 * a line that orders it is left out. Values are small integers, so that sums are exact. */
#include <stdlib.h>
#include <string.h>

#include "ir/base/arena.h"
#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

enum { A_BYTES = 16384, B_BYTES = 65536, MAX_K = 256, MAX_N = 256, LANES = 128 };

/* How rows of K lie in shared memory: the swizzle's width in bytes (16: none), and whether M
 * or N is adjacent in place of K. `advance`: bytes from the swizzle's row to the tile; `lines`: of
 * 128 bytes, from a multiple of 1024 to where the swizzle's pattern begins. */
typedef struct layout {
  unsigned width;
  bool turned;
  unsigned advance, lines;
} layout;

typedef struct row {
  unsigned n, k;
  const char *d, *a, *b;
  layout in_a, in_b;
  bool a_regs, negate_a, negate_b;
  const char *without;
  bool sparse;
} row;

static const row rows[] = {
    {64, 16, "f32", "f16", "f16", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, NULL, 0},
    {64, 16, "f32", "f16", "f16", {128, 0, 32, 0}, {128, 0, 96, 0}, 0, 0, 0, NULL, 0},
    {64, 16, "f32", "f16", "f16", {64, 0, 0, 0}, {64, 0, 32, 0}, 0, 0, 0, NULL, 0},
    {8, 16, "f32", "f16", "f16", {32, 0, 0, 0}, {32, 0, 0, 0}, 0, 0, 0, NULL, 0},
    {256, 16, "f32", "f16", "f16", {16, 0, 0, 0}, {16, 0, 0, 0}, 0, 0, 0, NULL, 0},
    {128, 16, "f32", "f16", "f16", {128, 1, 0, 0}, {128, 1, 0, 0}, 0, 0, 0, NULL, 0},
    {96, 16, "f32", "bf16", "bf16", {64, 1, 0, 0}, {64, 1, 0, 0}, 0, 0, 0, NULL, 0},
    {48, 16, "f32", "bf16", "bf16", {32, 1, 0, 0}, {32, 1, 0, 0}, 0, 0, 0, NULL, 0},
    {40, 16, "f32", "f16", "f16", {16, 1, 0, 0}, {16, 1, 0, 0}, 0, 0, 0, NULL, 0},
    {32, 16, "f16", "f16", "f16", {128, 0, 0, 0}, {128, 1, 0, 0}, 0, 0, 0, NULL, 0},
    {64, 16, "f32", "bf16", "bf16", {128, 0, 0, 0}, {128, 0, 0, 0}, 1, 0, 0, NULL, 0},
    {64, 16, "f32", "f16", "f16", {128, 0, 0, 0}, {128, 0, 0, 0}, 1, 1, 0, NULL, 0},
    {16, 16, "f32", "bf16", "bf16", {128, 0, 0, 0}, {64, 0, 0, 0}, 0, 0, 1, NULL, 0},
    {24, 8, "f32", "tf32", "tf32", {128, 0, 0, 0}, {128, 0, 64, 0}, 0, 0, 0, NULL, 0},
    {24, 8, "f32", "tf32", "tf32", {128, 0, 0, 0}, {32, 0, 0, 0}, 1, 0, 0, NULL, 0},
    {64, 32, "f32", "e4m3", "e5m2", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, NULL, 0},
    {64, 32, "f16", "e5m2", "e4m3", {64, 0, 0, 0}, {128, 0, 32, 0}, 1, 0, 0, NULL, 0},
    {32, 32, "s32", "s8", "u8", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, NULL, 0},
    {96, 32, "s32", "u8", "s8", {16, 0, 0, 0}, {32, 0, 0, 0}, 1, 0, 0, NULL, 0},
    {48, 256, "s32", "b1", "b1", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, NULL, 0},
    {64, 16, "f32", "f16", "f16", {128, 0, 0, 3}, {128, 0, 32, 6}, 0, 0, 0, NULL, 0},
    {64, 16, "f32", "f16", "f16", {64, 0, 0, 2}, {32, 0, 0, 1}, 0, 0, 0, NULL, 0},
    {128, 16, "f32", "f16", "f16", {128, 1, 0, 5}, {128, 1, 0, 1}, 0, 0, 0, NULL, 0},
    {64, 32, "f32", "f16", "f16", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, NULL, 1},
    {64, 32, "f16", "f16", "f16", {32, 0, 0, 0}, {128, 1, 0, 0}, 0, 0, 0, NULL, 1},
    {32, 32, "f32", "bf16", "bf16", {128, 0, 0, 0}, {64, 0, 0, 0}, 1, 0, 0, NULL, 1},
    {32, 16, "f32", "tf32", "tf32", {128, 0, 0, 0}, {16, 0, 0, 0}, 0, 0, 0, NULL, 1},
    {64, 64, "f32", "e4m3", "e4m3", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, NULL, 1},
    {64, 64, "s32", "s8", "u8", {128, 0, 0, 0}, {128, 0, 0, 0}, 1, 0, 0, NULL, 1},
    {64, 16, "f32", "f16", "f16", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, "wgmma.wait_group", 0},
    {64, 16, "f32", "f16", "f16", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, "wgmma.commit_group", 0},
    {64, 16, "f32", "f16", "f16", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, "wgmma.fence", 0},
    {64, 16, "f32", "f16", "f16", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, "fence.proxy.async", 0},
    {64, 16, "f32", "f16", "f16", {128, 0, 0, 0}, {128, 0, 0, 0}, 0, 0, 0, "bar.sync", 0},
    {64, 16, "f32", "bf16", "bf16", {128, 0, 0, 0}, {128, 0, 0, 0}, 1, 0, 0, "wgmma.wait_group", 0},
};

/* --- data --- */

static int value_of(const char *type, unsigned i, unsigned j, unsigned seed) {
  unsigned h = (i * 37 + j * 101 + seed * 7 + i * j) % 7;
  if (strcmp(type, "b1") == 0) return h & 1;
  return type[0] == 'u' ? (int)h : (int)h - 3;
}

static unsigned bits_of(const char *type) {
  if (strcmp(type, "b1") == 0) return 1;
  if (strcmp(type, "tf32") == 0 || strcmp(type, "f32") == 0 || strcmp(type, "s32") == 0) return 32;
  return strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0 ? 16 : 8;
}

static uint64_t encode(const char *type, int value) {
  static const struct {
    const char *text;
    plumb_dtype dtype;
  } floats[] = {{"f16", PLUMB_F16},   {"bf16", PLUMB_BF16}, {"tf32", PLUMB_F32},
                {"e4m3", PLUMB_E4M3}, {"e5m2", PLUMB_E5M2}, {"f32", PLUMB_F32}};
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
    if (strcmp(floats[i].text, type) == 0)
      return plumb_dtype_from_double(floats[i].dtype, (double)value);
  return (uint64_t)(int64_t)value & (bits_of(type) == 32 ? UINT32_MAX : 0xff);
}

static void put(uint8_t *at, unsigned bits, unsigned k, uint64_t v) {
  if (bits == 1)
    at[k / 8] = (uint8_t)(at[k / 8] | v << (k % 8));
  else
    memcpy(at + (size_t)k * bits / 8, &v, bits / 8);
}

/* Sparse A: of each chunk of four columns (tf32: two) the stored two (one) are 1 and 3 in odd
 * rows, 0 and 2 in even ones (tf32: 1, or 0). Column of stored element q of row i. */
static unsigned column_of(const row *r, unsigned i, unsigned q) {
  return r->sparse ? 2 * q + i % 2 : q;
}
static unsigned stored(const row *r) {
  return r->sparse ? r->k / 2 : r->k;
}

/* Metadata of a chunk: two bits an index, the lower first; tf32 0b1110 or 0b0100 (PTX ISA 9.0,
 * 9.7.14.6.1). Selector 0: the first lanes of each quad give them. 16-bit and tf32: 16 bits of
 * row l / 4, then 16 of row l / 4 + 8; 8-bit: 32 bits of one row, lanes in turn. */
static uint32_t metadata_of(const row *r, unsigned lane) {
  unsigned bits = bits_of(r->a), quad = lane % 32 / 4, at = lane % 4;
  unsigned first = lane / 32 * 16 + quad, word = 0;
  for (unsigned c = 0; c < 8; c++) {
    unsigned row_of = bits == 8 ? first + at % 2 * 8 : first + c / 4 * 8;
    unsigned odd = row_of % 2;
    unsigned chunk = bits == 32 ? (odd ? 0xeu : 0x4u) : odd ? 0xdu : 0x8u;
    word |= chunk << (4 * c);
  }
  return word;
}

/* The byte of the image for byte `b` of row r: the pieces of 16 bytes of the rows of a line
 * of 128 bytes change places with the line's number. */
static unsigned swizzled(unsigned width, unsigned row, unsigned b) {
  unsigned turn = width == 128  ? row & 7
                  : width == 64 ? row >> 1 & 3
                  : width == 32 ? row >> 2 & 1
                                : 0;
  return row * width + (((b / 16) ^ turn) * 16) + b % 16;
}

typedef struct offsets {
  unsigned leading, stride;
} offsets;

static offsets offsets_of(layout l, unsigned rows_of, unsigned k) {
  if (!l.turned && l.width == 16) return (offsets){128, 512};
  if (!l.turned) return (offsets){16, 8 * l.width};
  if (l.width == 16) return (offsets){rows_of / 8 * 128, 128};
  return (offsets){k * l.width, 8 * l.width};
}

/* Where byte b of row r of K (turned: the two bytes of element k = b / 2) lies. */
static unsigned place_of(layout l, offsets o, unsigned r, unsigned b) {
  if (!l.turned && l.width == 16)
    return r / 8 * o.stride + b / 16 * o.leading + r % 8 * 16 + b % 16;
  if (!l.turned) return swizzled(l.width, r, l.advance + b);
  unsigned k = b / 2, per = l.width / 2; /* elements along M or N in one row of the swizzle */
  if (l.width == 16) return r / 8 * o.stride + k / 8 * o.leading + k % 8 * 16 + r % 8 * 2 + b % 2;
  return r / per * o.leading + swizzled(l.width, k, r % per * 2 + b % 2);
}

static void fill(uint8_t *image, const row *row_of, layout l, unsigned rows_of, unsigned k,
                 const char *type, unsigned seed) {
  unsigned bits = bits_of(type), bytes = k * bits / 8;
  offsets o = offsets_of(l, rows_of, k);
  uint8_t line[MAX_K * 4];
  image += l.lines * 128;
  for (unsigned r = 0; r < rows_of; r++) {
    memset(line, 0, sizeof line);
    for (unsigned j = 0; j < k; j++)
      put(line, bits, j,
          encode(type, value_of(type, r, seed == 1 ? column_of(row_of, r, j) : j, seed)));
    for (unsigned b = 0; b < bytes; b++) image[place_of(l, o, r, b)] = line[b];
  }
}

static uint64_t descriptor(layout l, unsigned rows_of, unsigned k, unsigned base) {
  offsets o = offsets_of(l, rows_of, k);
  base += l.lines * 128;
  uint64_t mode = l.width == 128 ? 1 : l.width == 64 ? 2 : l.width == 32 ? 3 : 0;
  return (base + l.advance) / 16 | (uint64_t)o.leading / 16 << 16 | (uint64_t)o.stride / 16 << 32 |
         (uint64_t)l.lines << 49 | mode << 62;
}

/* --- the kernel --- */

static void registers(plumb_text *t, const char *name, unsigned count) {
  plumb_text_printf(t, "{");
  for (unsigned i = 0; i < count; i++) plumb_text_printf(t, "%s%s%u", i ? ", " : "", name, i);
  plumb_text_printf(t, "}");
}

/* k(image, regs of A, D before and after, descriptors without the address). */
static void kernel(const row *r, unsigned regs, plumb_text *t) {
  bool is_float = r->d[0] == 'f', turns = bits_of(r->a) == 16;
  plumb_text_printf(
      t,
      ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 sm[];\n"
      ".visible .entry k(.param .u64 image, .param .u64 ra, .param .u64 d, .param .u64 da, .param "
      ".u64 db) {\n.reg .pred %%p<4>; .reg .b32 %%r<20>; .reg .b32 %%a<4>; .reg .b32 %%d<128>; "
      ".reg "
      ".b64 %%rd<20>;\nld.param.u64 %%rd1, [image]; ld.param.u64 %%rd2, [ra]; ld.param.u64 %%rd3, "
      "[d]; ld.param.u64 %%rd4, [da]; ld.param.u64 %%rd5, [db];\nmov.u32 %%r1, %%tid.x; mov.u64 "
      "%%rd6, sm; mul.wide.u32 %%rd7, %%r1, 16; add.u64 %%rd8, %%rd6, %%rd7; add.u64 %%rd9, %%rd1, "
      "%%rd7; mov.u32 %%r2, 0;\n"
      "L: ld.global.v4.u32 {%%r3, %%r4, %%r5, %%r6}, [%%rd9]; st.shared.v4.u32 [%%rd8], {%%r3, "
      "%%r4, %%r5, %%r6}; add.u64 %%rd8, %%rd8, 2048; add.u64 %%rd9, %%rd9, 2048; add.u32 %%r2, "
      "%%r2, 1; setp.lt.u32 %%p1, %%r2, %u; @%%p1 bra L;\n"
      "shr.u64 %%rd10, %%rd6, 4; add.u64 %%rd4, %%rd4, %%rd10; add.u64 %%rd5, %%rd5, %%rd10;\n"
      "mul.wide.u32 %%rd11, %%r1, 32; add.u64 %%rd11, %%rd11, %%rd2; ld.global.b32 %%r7, "
      "[%%rd11+16]; mul.wide.u32 %%rd12, %%r1, "
      "%u; "
      "add.u64 %%rd12, %%rd12, %%rd3;\n",
      (A_BYTES + B_BYTES) / 2048, regs * 4);
  for (unsigned i = 0; i < 4; i++)
    plumb_text_printf(t, "ld.global.b32 %%a%u, [%%rd11+%u];\n", i, i * 4);
  for (unsigned i = 0; i < regs; i++)
    plumb_text_printf(t, "ld.global.b32 %%d%u, [%%rd12+%u];\n", i, i * 4);
  plumb_text_printf(t, "setp.eq.u32 %%p2, 0, 0;\n");
  static const char *const lines[] = {"fence.proxy.async;\n", "bar.sync 0;\n",
                                      "wgmma.fence.sync.aligned;\n"};
  for (size_t i = 0; i < 3; i++)
    if (!r->without || strncmp(lines[i], r->without, strlen(r->without)) != 0)
      plumb_text_printf(t, "%s", lines[i]);
  plumb_text_printf(t, "wgmma.mma_async%s.sync.aligned.m64n%uk%u.%s.%s.%s%s ",
                    r->sparse ? ".sp" : "", r->n, r->k, r->d, r->a, r->b,
                    bits_of(r->a) == 1 ? ".and.popc" : "");
  registers(t, "%d", regs);
  plumb_text_printf(t, ", ");
  if (r->a_regs)
    registers(t, "%a", 4);
  else
    plumb_text_printf(t, "%%rd4");
  plumb_text_printf(t, ", %%rd5%s, %%p2", r->sparse ? ", %r7, 0" : "");
  if (is_float) plumb_text_printf(t, ", %d, %d", r->negate_a ? -1 : 1, r->negate_b ? -1 : 1);
  if (is_float && turns && !r->a_regs) plumb_text_printf(t, ", %d", r->in_a.turned);
  if (is_float && turns) plumb_text_printf(t, ", %d", r->in_b.turned);
  plumb_text_printf(t, ";\n");
  if (!r->without || strcmp(r->without, "wgmma.commit_group") != 0)
    plumb_text_printf(t, "wgmma.commit_group.sync.aligned;\n");
  if (!r->without || strcmp(r->without, "wgmma.wait_group") != 0)
    plumb_text_printf(t, "wgmma.wait_group.sync.aligned 0;\n");
  for (unsigned i = 0; i < regs; i++)
    plumb_text_printf(t, "st.global.b32 [%%rd12+%u], %%d%u;\n", i * 4, i);
  plumb_text_printf(t, "ret;\n}\n");
}

/* --- expected --- */

/* Lane l of warp w, value v of D: its row and column. */
static void cell_of(unsigned lane, unsigned v, unsigned *i, unsigned *j) {
  *i = lane / 32 * 16 + lane % 32 / 4 + (v / 2 % 2) * 8;
  *j = v / 4 * 8 + lane % 4 * 2 + v % 2;
}

static int before(unsigned i, unsigned j) {
  return (int)((i + 3 * j) % 5) - 2;
}

static int sum(const row *r, unsigned i, unsigned j) {
  int s = 0;
  for (unsigned q = 0; q < stored(r); q++) {
    unsigned k = column_of(r, i, q);
    s += value_of(r->a, i, k, 1) * value_of(r->b, j, k, 2);
  }
  return before(i, j) + (r->negate_a != r->negate_b ? -s : s);
}

static void words_of(const row *r, unsigned regs, bool after, uint32_t *out) {
  unsigned per = strcmp(r->d, "f16") == 0 ? 2 : 1;
  for (unsigned lane = 0; lane < LANES; lane++)
    for (unsigned v = 0; v < regs * per; v++) {
      unsigned i, j;
      cell_of(lane, v, &i, &j);
      uint64_t bits = encode(r->d, after ? sum(r, i, j) : before(i, j));
      uint32_t *to = &out[lane * regs + v / per];
      *to = v % per ? *to | (uint32_t)bits << 16 : (uint32_t)bits;
    }
}

/* The registers of A: four bytes of K a register. */
static void words_of_a(const row *r, uint32_t *out) {
  unsigned bits = bits_of(r->a), per = 32 / bits;
  for (unsigned lane = 0; lane < LANES; lane++)
    for (unsigned q = 0; q < 4; q++) {
      unsigned i = lane / 32 * 16 + lane % 32 / 4 + q % 2 * 8;
      uint8_t word[4] = {0};
      for (unsigned e = 0; e < per; e++)
        put(word, bits, e,
            encode(r->a, value_of(r->a, i, column_of(r, i, (lane % 4 + q / 2 * 4) * per + e), 1)));
      memcpy(&out[lane * 8 + q], word, 4);
      out[lane * 8 + 4] = metadata_of(r, lane);
    }
}

/* With companions the sums, which are exact, have none, or certain ones. */
static void check_companions(plumb_machine *m, const char *name, uint64_t d, unsigned count) {
  static plumb_companion of[LANES * 128];
  plumb_diag diag = {0};
  CHECK(plumb_machine_read_companions(m, d, PLUMB_I32, count, of, &diag) == PLUMB_OK, "%s: %s",
        name, diag.message);
  for (unsigned i = 0; i < count; i++)
    if (of[i].lo != of[i].hi || i == 0)
      CHECK(of[i].lo == of[i].hi, "%s: word %u lies in [%g, %g]", name, i, of[i].lo, of[i].hi);
}

static void run(const row *r, bool companions) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  unsigned regs = strcmp(r->d, "f16") == 0 ? r->n / 4 : r->n / 2;
  plumb_text text = plumb_text_create(arena);
  kernel(r, regs, &text);
  char *name =
      plumb_arena_printf(arena, "m64n%uk%u.%s.%s.%s%s without %s", r->n, r->k, r->d, r->a, r->b,
                         r->a_regs ? " (A in registers)" : "", r->without ? r->without : "nothing");
  plumb_program *p = plumb_program_create(arena, "wgmma");
  plumb_status status = plumb_ptx_decode(p, "wgmma.ptx", text.data, text.length, &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", name, diag.message);
  uint8_t *image = calloc(A_BYTES + B_BYTES, 1);
  uint32_t *a = calloc(LANES, 32), *d = calloc(LANES, 512), *want = calloc(LANES, 512);
  fill(image, r, r->in_a, 64, stored(r), r->a, 1);
  fill(image + A_BYTES, r, r->in_b, r->n, r->k, r->b, 2);
  words_of_a(r, a);
  words_of(r, regs, false, d);
  words_of(r, regs, true, want);
  plumb_machine *m = plumb_machine_create(arena);
  struct {
    uint64_t image, a, d, da, db;
  } args = {plumb_machine_alloc(m, A_BYTES + B_BYTES, 256, "image"),
            plumb_machine_alloc(m, LANES * 32, 256, "a"),
            plumb_machine_alloc(m, LANES * 512, 256, "d"), descriptor(r->in_a, 64, stored(r), 0),
            descriptor(r->in_b, r->n, r->k, A_BYTES)};
  plumb_machine_write(m, args.image, image, A_BYTES + B_BYTES, &diag);
  plumb_machine_write(m, args.a, a, LANES * 32, &diag);
  plumb_machine_write(m, args.d, d, LANES * 512, &diag);
  plumb_run_options options = plumb_run_options_default();
  options.companions = companions;
  if (companions) options.jobs = 1;
  plumb_launch launch = {
      .grid = {1, 1, 1}, .block = {LANES, 1, 1}, .shared_bytes = A_BYTES + B_BYTES};
  plumb_run_result result = {0};
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, "k", &launch, &args, sizeof args, &options, &result, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", name, diag.message);
  plumb_trap_kind trap = r->without ? PLUMB_TRAP_RACE : PLUMB_TRAP_NONE;
  CHECK(result.trap.kind == trap, "%s: trap %s: %s", name, plumb_trap_text(result.trap.kind),
        result.trap.message ? result.trap.message : "-");
  plumb_machine_read(m, args.d, d, NULL, LANES * 512, &diag);
  for (unsigned i = 0; !r->without && i < LANES * regs; i++) {
    CHECK(d[i] == want[i], "%s: register %u of lane %u is 0x%x, wanted 0x%x", name, i % regs,
          i / regs, d[i], want[i]);
    if (d[i] != want[i]) break;
  }
  if (companions && !r->without) check_companions(m, name, args.d, LANES * regs);
  free(image);
  free(a);
  free(d);
  free(want);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    run(&rows[i], false);
    run(&rows[i], true);
  }
  return check_finish();
}

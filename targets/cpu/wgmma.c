/* Warpgroup products (PTX ISA 9.0, 9.7.15): operands out of shared memory by descriptors.
 *
 * Each warp computes its 16 rows when it issues. Until a wgmma.wait_group its registers are in
 * flight (flight.c), and the bytes of A and B carry the marks of a copy that reads them. */
#include <stdlib.h>

#include "ir/tensormap.h"
#include "ir/wgmma.h"
#include "targets/cpu/async.h"
#include "targets/cpu/bound.h"
#include "targets/models/model.h"

#define WARP_ROWS 16u

static void *take(size_t count, size_t bytes) {
  void *p = calloc(count, bytes);
  if (!p) abort();
  return p;
}

/* --- one warp's product --- */

typedef struct tile {
  uint64_t start, leading, stride; /* bytes */
  uint32_t width;                  /* 16 byte pieces of a row of the swizzle */
  uint32_t swizzle;
  uint64_t pattern;                /* bytes from a multiple of 1024 to where the swizzle begins */
  bool major;                      /* M or N is adjacent, not K */
  uint32_t first, rows, row_bytes; /* row_bytes: of K */
  uint8_t *data;                   /* rows * row_bytes, or as it lies: K by rows of 2 bytes */
  bool *undefined;                 /* a row */
  unsigned type;                   /* plumb_mma_type */
  plumb_companion *beside;         /* a row of K after the other, all zero: exact; or NULL */
} tile;

typedef struct task {
  plumb_block_run *br;
  plumb_strand *s;
  const plumb_inst *inst;
  uint32_t first, warp; /* lane; warp of the block */
  plumb_wgmma w;
  const plumb_reg *a, *b, *d;
  plumb_async_op *op;
} task;

/* 9.7.15.5.1.2.2: bits 0-13 address, 16-29 leading and 32-45 stride byte offset, all in units
 * of 16 bytes; 49-51 base offset, the line of 128 bytes in 1024 where the swizzle's pattern
 * begins; 62-63 swizzle. */
static void describe(uint64_t descriptor, bool major, tile *out) {
  static const uint8_t widths[] = {1, 8, 4, 2};
  static const uint8_t swizzles[] = {PLUMB_SWIZZLE_NONE, PLUMB_SWIZZLE_128B, PLUMB_SWIZZLE_64B,
                                     PLUMB_SWIZZLE_32B};
  out->start = (descriptor & 0x3fff) << 4;
  out->leading = (descriptor >> 16 & 0x3fff) << 4;
  out->stride = (descriptor >> 32 & 0x3fff) << 4;
  out->width = widths[descriptor >> 62];
  out->swizzle = swizzles[descriptor >> 62];
  out->pattern = (descriptor >> 49 & 7) << 7;
  out->major = major;
}

/* Piece `c` of 16 bytes of row `r`; if `major`, row r is one k and c counts along M or N. */
static uint64_t piece_address(const tile *m, uint32_t r, uint32_t c) {
  uint64_t pitch = m->width * 16u, at;
  if (m->major)
    at = m->width == 1
             ? c * m->stride + r % 8 * 16 + r / 8 * m->leading
             : c % m->width * 16 + c / m->width * m->leading + r % 8 * pitch + r / 8 * m->stride;
  else
    at = r % 8 * pitch + r / 8 * m->stride + c * (m->width == 1 ? m->leading : 16);
  at += m->start;
  uint64_t line = at - m->pattern;
  return (at ^ line ^ plumb_swizzle(m->swizzle, line)) + plumb_window_base(PLUMB_WINDOW_SHARED);
}

/* The companion of an element in shared memory. */
static void read_companion(const task *t, const tile *m, const plumb_place *piece, uint32_t at,
                           uint32_t row, uint32_t k) {
  uint32_t bytes = plumb_mma_type_table[m->type].bits / 8;
  plumb_place element = *piece;
  element.address += at;
  plumb_companion *out = &m->beside[(size_t)row * (m->row_bytes / bytes) + k];
  plumb_companion_read(t->br, t->first, &element, bytes, out);
}

static void read_companions(const task *t, const tile *m, const plumb_place *piece, uint32_t r,
                            uint32_t c) {
  uint32_t bytes = plumb_mma_type_table[m->type].bits / 8;
  if (!bytes) return; /* b1: no companions */
  for (uint32_t at = 0; at < 16; at += bytes)
    if (m->major)
      read_companion(t, m, piece, at, (c - m->first / 8) * 8 + at / bytes, r);
    else
      read_companion(t, m, piece, at, r - m->first, (c * 16 + at) / bytes);
}

static bool read_piece(const task *t, const tile *m, uint32_t r, uint32_t c, uint8_t *out,
                       bool *undefined) {
  plumb_place place;
  uint8_t state[16];
  uint64_t address = piece_address(m, r, c);
  if (!plumb_place_find(t->br, t->s, t->first, address, 16, false, &place)) return false;
  plumb_place_read(t->br, &place, t->first, 16, out, state);
  for (int i = 0; i < 16; i++) *undefined |= state[i] != PLUMB_BYTE_INITIALISED;
  if (m->beside) read_companions(t, m, &place, r, c);
  t->op->segments[t->op->segment_count++] = (plumb_segment){0, address, 16};
  return true;
}

/* Fills data, one row of K after the other. */
static bool read_tile(const task *t, tile *m) {
  if (!m->major) {
    uint32_t pieces = m->row_bytes / 16;
    if (m->width > 1 && pieces > m->width)
      return plumb_unsupported_at(t->br, t->s->frame, t->s->pc,
                                  "a sparse product whose swizzle is narrower than a row");
    for (uint32_t r = 0; r < m->rows; r++)
      for (uint32_t c = 0; c < pieces; c++)
        if (!read_piece(t, m, m->first + r, c, m->data + r * m->row_bytes + c * 16,
                        &m->undefined[r]))
          return false;
    return true;
  }
  uint32_t ks = m->row_bytes / 2;
  for (uint32_t k = 0; k < ks; k++)
    for (uint32_t c = 0; c < m->rows / 8; c++) {
      uint8_t piece[16];
      bool undefined = false;
      if (!read_piece(t, m, k, m->first / 8 + c, piece, &undefined)) return false;
      for (uint32_t e = 0; e < 8; e++) {
        memcpy(m->data + (c * 8 + e) * m->row_bytes + k * 2, piece + e * 2, 2);
        m->undefined[c * 8 + e] |= undefined;
      }
    }
  return true;
}

/* Element `k` of a row of elements of `bits` bits. */
static uint64_t element(const uint8_t *row, uint32_t bits, uint32_t k) {
  uint64_t v = 0;
  if (bits == 1) return row[k / 8] >> (k % 8) & 1;
  memcpy(&v, row + (size_t)k * bits / 8, bits / 8);
  return v;
}

static void expand(const tile *m, unsigned type, uint32_t k, bool negate, uint64_t *words) {
  uint32_t bits = plumb_mma_type_table[type].bits;
  uint64_t sign = negate ? 1ull << (bits - 1) : 0;
  for (uint32_t r = 0; r < m->rows; r++)
    for (uint32_t j = 0; j < k; j++)
      words[(size_t)r * k + j] = element(m->data + r * m->row_bytes, bits, j) ^ sign;
}

/* A in registers (9.7.15.5.1.1): register q of lane l holds 4 bytes of row l / 4 + 8 (q % 2),
 * from byte 4 (l % 4) + 16 (q / 2) on. */
static void gather_a(const task *t, tile *m) {
  for (uint32_t q = 0; q < 4; q++) {
    const uint8_t *lanes = plumb_operand(t->br, t->s->frame, t->a[q]);
    for (uint32_t l = 0; l < PLUMB_WARP_LANES; l++) {
      uint32_t row = l / 4 + 8 * (q % 2), at = 4 * (l % 4) + 16 * (q / 2);
      memcpy(m->data + row * m->row_bytes + at, lanes + (size_t)(t->first + l) * 4, 4);
      if (t->br->undef)
        m->undefined[row] |= plumb_undef_get(t->s->frame, t->a[q], t->first + l) != 0;
      uint32_t bits = plumb_mma_type_table[m->type].bits;
      if (!m->beside || plumb_companion_is_exact(t->s->frame, t->a[q], t->first + l)) continue;
      for (uint32_t e = at * 8 / bits; e < (at + 4) * 8 / bits; e++)
        m->beside[row * m->row_bytes * 8 / bits + e] =
            plumb_companion_element(t->s->frame, t->a[q], t->first + l, (plumb_mma_type)m->type, 0);
    }
  }
}

/* Where element (row, column) of D lies (9.7.15.5.1.3): the i-th value of a lane. */
static void place_of(uint32_t row, uint32_t column, uint32_t *lane, uint32_t *value) {
  *lane = row % 8 * 4 + column % 8 / 2;
  *value = column / 8 * 4 + row / 8 * 2 + column % 2;
}

static void gather_d(const task *t, uint64_t *c) {
  bool half = t->w.d == PLUMB_MMA_F16;
  for (uint32_t row = 0; row < WARP_ROWS; row++)
    for (uint32_t column = 0; column < t->w.n; column++) {
      uint32_t lane, value, word;
      place_of(row, column, &lane, &value);
      const uint8_t *lanes = plumb_operand(t->br, t->s->frame, t->d[half ? value / 2 : value]);
      memcpy(&word, lanes + (size_t)(t->first + lane) * 4, 4);
      c[row * t->w.n + column] = half ? word >> value % 2 * 16 & 0xffff : word;
    }
}

static void scatter_d(const task *t, const uint64_t *d) {
  bool half = t->w.d == PLUMB_MMA_F16;
  for (uint32_t row = 0; row < WARP_ROWS; row++)
    for (uint32_t column = 0; column < t->w.n; column++) {
      uint32_t lane, value;
      place_of(row, column, &lane, &value);
      uint8_t *to = plumb_reg_lanes(t->br, t->s->frame, t->d[half ? value / 2 : value]) +
                    (size_t)(t->first + lane) * 4;
      memcpy(to + (half ? value % 2 * 2 : 0), &d[row * t->w.n + column], half ? 2 : 4);
    }
}

/* A register of D is undefined if one of its elements has an undefined row, column or term. */
static void flow_undefined(const task *t, const tile *a, const tile *b, bool adds) {
  plumb_frame *f = t->s->frame;
  uint32_t origin = f->pc_base + t->s->pc + 1, per = t->w.d == PLUMB_MMA_F16 ? 2 : 1;
  bool any = false;
  for (uint32_t r = 0; r < a->rows; r++) any |= a->undefined[r];
  for (uint32_t r = 0; r < b->rows; r++) any |= b->undefined[r];
  if (any) t->br->undef = true;
  if (!t->br->undef) return;
  unsigned regs = plumb_wgmma_regs(&t->w);
  for (unsigned i = 0; i < regs; i++)
    for (uint32_t l = 0; l < PLUMB_WARP_LANES; l++) {
      uint32_t kept = adds ? plumb_undef_get(f, t->d[i], t->first + l) : 0;
      for (uint32_t e = 0; e < per && !kept; e++) {
        uint32_t value = i * per + e, row = l / 4 + value / 2 % 2 * 8;
        uint32_t column = value / 4 * 8 + l % 4 * 2 + value % 2;
        if (a->undefined[row] || b->undefined[column]) kept = origin;
      }
      plumb_undef_set(t->br, f, t->d[i], t->first + l, kept);
    }
}

/* --- issue --- */

static bool uniform(const task *t, plumb_reg r, unsigned bytes, uint64_t *out) {
  const uint8_t *lanes = plumb_operand(t->br, t->s->frame, r);
  *out = plumb_lane_bits(lanes, bytes, t->first);
  for (uint32_t l = 1; l < PLUMB_WARP_LANES; l++)
    if (plumb_lane_bits(lanes, bytes, t->first + l) != *out)
      return plumb_trap_at(t->br, PLUMB_TRAP_DIVERGENT_BARRIER, t->s->frame, t->s->pc,
                           (int32_t)(t->first + l),
                           "lanes give one wgmma.mma_async different descriptors or scales");
  return true;
}

/* Stored elements of a row of A. */
static uint32_t stored(const plumb_wgmma *w) {
  return w->sparse ? w->k / 2u : w->k;
}

/* wgmma.sp: each row of A meets the rows of B that its metadata name, as in mma.sp (9.7.15.6.1).
 * A row whose metadata are no indices is undefined. out_columns: a row of A after the other. */
static void multiply_rows(const task *t, tile *a, const uint64_t *of_a, const uint64_t *of_b,
                          const uint64_t *c, uint64_t *d, const plumb_product *product,
                          uint32_t *out_columns) {
  uint32_t n = t->w.n, k = stored(&t->w), metadata[PLUMB_WARP_LANES];
  plumb_mma mma = {.m = WARP_ROWS,
                   .n = 8,
                   .k = t->w.k,
                   .kind = PLUMB_MMA_SPARSE,
                   .a = t->w.a,
                   .b = t->w.b,
                   .selector = t->w.selector};
  uint64_t *chosen = take((size_t)n * k, sizeof *chosen);
  memcpy(metadata, plumb_operand(t->br, t->s->frame, t->b[1]) + (size_t)t->first * 4,
         sizeof metadata);
  for (uint32_t i = 0; i < WARP_ROWS; i++) {
    bool known = true;
    uint32_t *columns = out_columns + (size_t)i * k;
    for (uint32_t q = 0; q < k; q++) {
      columns[q] = plumb_mma_sparse_column(&mma, metadata, i, q);
      known &= columns[q] != UINT32_MAX;
    }
    a->undefined[i] |= !known;
    if (!known) continue;
    for (uint32_t j = 0; j < n; j++)
      for (uint32_t q = 0; q < k; q++)
        chosen[(size_t)j * k + q] = of_b[(size_t)j * t->w.k + columns[q]];
    plumb_product_tile(product, 1, n, k, of_a + (size_t)i * k, chosen, c + (size_t)i * n,
                       d + (size_t)i * n);
  }
  free(chosen);
}

/* --- companions --- */

/* Completes what the tile has: `words` are its elements, negated where they are. */
static void complete(const tile *m, uint32_t k, bool negate, const uint64_t *words) {
  static const plumb_companion exact;
  for (size_t i = 0; i < (size_t)m->rows * k; i++) {
    plumb_companion *c = &m->beside[i];
    if (memcmp(c, &exact, sizeof exact) == 0)
      *c = plumb_companion_exact_element((plumb_mma_type)m->type, words[i]);
    else if (negate)
      *c = (plumb_companion){-c->shadow, -c->hi, -c->lo};
  }
}

static bool is_certain(const plumb_companion *c, uint32_t k) {
  for (uint32_t i = 0; i < k; i++)
    if (!plumb_companion_is_certain(&c[i])) return false;
  return true;
}

/* `columns`: of A before compression, or NULL. Before D is written: it is C too. Products of
 * integers are exact, or may be anything. */
static void flow_companions(const task *t, const plumb_product *p, const tile *a, const tile *b,
                            const uint64_t *c, bool adds, const uint32_t *columns,
                            plumb_companion *out) {
  uint32_t n = t->w.n, k = stored(&t->w), per = t->w.d == PLUMB_MMA_F16 ? 2 : 1;
  bool floats = plumb_mma_type_table[p->a].type_class == PLUMB_MMA_FLOAT;
  for (uint32_t row = 0; row < WARP_ROWS; row++)
    for (uint32_t column = 0; column < n; column++) {
      uint32_t lane, value;
      place_of(row, column, &lane, &value);
      const plumb_companion *x = a->beside + (size_t)row * k,
                            *y = b->beside + (size_t)column * t->w.k;
      plumb_companion chosen[256];
      for (uint32_t q = 0; columns && q < k; q++) {
        uint32_t from = columns[row * k + q];
        chosen[q] = from == UINT32_MAX ? plumb_companion_unknown() : y[from];
      }
      if (columns) y = chosen;
      plumb_companion z = {0}, *d = &out[row * n + column];
      if (adds)
        z = plumb_companion_element(t->s->frame, t->d[value / per], t->first + lane,
                                    (plumb_mma_type)t->w.d, c[row * n + column]);
      if (floats)
        *d = plumb_bound_dot(p, k, x, y, &z);
      else if (!is_certain(x, k) || !is_certain(y, k) || !plumb_companion_is_certain(&z))
        *d = plumb_companion_unknown();
    }
}

static void put_companions(const task *t, const plumb_companion *d) {
  uint32_t per = t->w.d == PLUMB_MMA_F16 ? 2 : 1;
  for (unsigned r = 0; r < plumb_wgmma_regs(&t->w); r++)
    for (uint32_t l = 0; l < PLUMB_WARP_LANES; l++)
      plumb_companion_set(t->br, t->s->frame, t->d[r], t->first + l, NULL);
  for (uint32_t row = 0; row < WARP_ROWS; row++)
    for (uint32_t column = 0; column < t->w.n; column++) {
      uint32_t lane, value;
      place_of(row, column, &lane, &value);
      plumb_companion_put_element(t->br, t->s->frame, t->d[value / per], t->first + lane,
                                  (plumb_mma_type)t->w.d, &d[row * t->w.n + column]);
    }
}

static void multiply(task *t, tile *a, tile *b, bool adds, const plumb_product *product) {
  uint32_t n = t->w.n, k = t->w.k;
  uint64_t *words = take((size_t)(WARP_ROWS + n) * k + 2 * (size_t)WARP_ROWS * n, sizeof *words);
  uint64_t *of_b = words + (size_t)WARP_ROWS * k, *c = of_b + (size_t)n * k;
  uint64_t *d = c + (size_t)WARP_ROWS * n;
  expand(a, t->w.a, stored(&t->w), t->w.negate_a, words);
  expand(b, t->w.b, k, t->w.negate_b, of_b);
  if (adds) gather_d(t, c);
  uint32_t columns[WARP_ROWS * 256];
  if (t->w.sparse)
    multiply_rows(t, a, words, of_b, c, d, product, columns);
  else
    plumb_product_tile(product, WARP_ROWS, n, k, words, of_b, c, d);
  plumb_companion *beside = NULL;
  if (a->beside) {
    beside = take((size_t)WARP_ROWS * n, sizeof *beside);
    complete(a, stored(&t->w), t->w.negate_a, words);
    complete(b, k, t->w.negate_b, of_b);
    flow_companions(t, product, a, b, c, adds, t->w.sparse ? columns : NULL, beside);
  }
  scatter_d(t, d);
  if (beside) put_companions(t, beside);
  free(beside);
  free(words);
}

static plumb_flight_use use_of(const task *t) {
  return (plumb_flight_use){.warp = t->warp,
                            .d = t->d,
                            .d_count = plumb_wgmma_regs(&t->w),
                            .a = t->a,
                            .a_count = t->w.a_regs ? 4 : 0};
}

static bool issue(task *t, const plumb_product *product) {
  plumb_block_run *br = t->br;
  const plumb_wgmma *w = &t->w;
  uint32_t bits_a = plumb_mma_type_table[w->a].bits, bits_b = plumb_mma_type_table[w->b].bits;
  tile a = {.rows = WARP_ROWS, .row_bytes = stored(w) * bits_a / 8, .type = w->a};
  tile b = {.rows = w->n, .row_bytes = w->k * bits_b / 8, .type = w->b};
  uint64_t scale = 0, descriptor = 0;
  plumb_reg scale_reg = plumb_inst_operands(t->s->frame->fn, t->inst)[0];
  plumb_flight_use use = use_of(t);
  if (!uniform(t, scale_reg, 1, &scale) || !plumb_flight_check(br, t->s, &use)) return false;
  uint8_t *room = take((size_t)a.rows * a.row_bytes + (size_t)b.rows * b.row_bytes +
                           (a.rows + b.rows) * sizeof(bool),
                       1);
  a.data = room;
  b.data = a.data + (size_t)a.rows * a.row_bytes;
  a.undefined = (bool *)(b.data + (size_t)b.rows * b.row_bytes);
  b.undefined = a.undefined + a.rows;
  if (br->run->options.companions) {
    a.beside = take((size_t)(a.rows + b.rows) * w->k, sizeof *a.beside);
    b.beside = a.beside + (size_t)a.rows * w->k;
  }
  t->op =
      plumb_async_op_create(br, t->s, t->first, (a.rows * a.row_bytes + b.rows * b.row_bytes) / 16);
  t->op->product = true;
  t->op->group = br->async->warps[t->warp].open;
  bool ok = true;
  if (w->a_regs) {
    gather_a(t, &a);
  } else {
    a.first = t->warp % 4 * WARP_ROWS;
    ok = uniform(t, t->a[0], 8, &descriptor);
    describe(descriptor, w->a_column, &a);
    ok = ok && read_tile(t, &a);
  }
  ok = ok && uniform(t, t->b[0], 8, &descriptor);
  describe(descriptor, w->b_row, &b);
  ok = ok && read_tile(t, &b);
  if (!ok) {
    plumb_async_drop(t->op);
  } else if ((ok = plumb_async_start(br, t->s, t->op))) {
    multiply(t, &a, &b, scale & 1, product);
    flow_undefined(t, &a, &b, scale & 1);
    plumb_flight_put(br, t->s, &use);
  }
  free(a.beside);
  free(room);
  return ok;
}

bool plumb_exec_wgmma(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      uint32_t first) {
  const plumb_function *fn = s->frame->fn;
  task t = {.br = br,
            .s = s,
            .inst = inst,
            .first = first,
            .warp = first / PLUMB_WARP_LANES,
            .w = plumb_wgmma_unpack(inst->imm)};
  t.a = plumb_inst_operands(fn, inst) + 1;
  t.b = t.a + (t.w.a_regs ? 4 : 1);
  t.d = plumb_inst_results(fn, inst);
  plumb_product product = {
      .model = br->run->options.model,
      .instruction = PLUMB_PRODUCT_WGMMA,
      .a = (plumb_mma_type)t.w.a,
      .b = (plumb_mma_type)t.w.b,
      .c = (plumb_mma_type)t.w.d,
      .d = (plumb_mma_type)t.w.d,
      .combine = t.w.a == PLUMB_MMA_B1 ? PLUMB_MMA_AND_POPC : PLUMB_MMA_MULTIPLY,
      .satfinite = t.w.satfinite};
  plumb_diag diag = {0};
  if (plumb_product_check(&product, &diag) != PLUMB_OK)
    return plumb_unsupported_at(br, s->frame, s->pc, diag.message);
  plumb_lanes warp = {0};
  warp.words[first / 64] = 0xffffffffull << first % 64;
  plumb_lanes_settle(&warp);
  for (uint32_t i = 0; br->undef && i < 2u + !t.w.a_regs; i++) {
    plumb_reg r = i == 0 ? t.a[-1] : i == 1 ? t.b[0] : t.a[0];
    if (!plumb_undef_check(br, s, r, &warp, "the descriptor of a matrix product")) return false;
  }
  if (br->undef && t.w.sparse && !plumb_undef_check(br, s, t.b[1], &warp, "sparsity metadata"))
    return false;
  return issue(&t, &product);
}

/* --- wgmma.fence, commit_group, wait_group --- */

static void end_products(plumb_block_run *br, uint32_t warp, uint32_t complete) {
  uint32_t first = warp * PLUMB_WARP_LANES;
  plumb_clock done = {0};
  for (plumb_async_op *op = br->async->lanes[first].first, *next; op; op = next) {
    next = op->next;
    if (op->product && op->group <= complete) plumb_async_finish_op(op, NULL, &done);
  }
  for (uint32_t l = 0; br->race && done.count && l < PLUMB_WARP_LANES; l++)
    plumb_clock_acquire(br, first + l, &done);
  plumb_clock_clear(&done);
}

bool plumb_exec_wgmma_group(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                            uint32_t first) {
  uint32_t warp = first / PLUMB_WARP_LANES;
  plumb_warp_async *mine = &br->async->warps[warp];
  switch (inst->sub) {
    case PLUMB_GROUP_WGMMA_FENCE:
      mine->fenced = true;
      plumb_flight_fence(br, s->frame, warp);
      return true;
    case PLUMB_GROUP_WGMMA_COMMIT:
      mine->open++;
      return true;
    default: {
      uint32_t last = mine->open - 1;
      uint32_t complete = (uint64_t)inst->imm < last ? last - (uint32_t)inst->imm : 0;
      if (complete > mine->complete) mine->complete = complete;
      end_products(br, warp, mine->complete);
      return true;
    }
  }
}

/* Matrix instructions: elements out of the registers of a warp, the product (targets/models),
 * and back. */
#include <math.h>
#include <stdlib.h>

#include "ir/mma.h"
#include "targets/cpu/bound.h"
#include "targets/cpu/exec.h"

/* Of one matrix of any shape in mma.def, and of all of D. */
enum { MAX_ELEMENTS = 16 * 256, MAX_RESULTS = 256, MAX_REGS = 32 };

/* Where the elements of one MMA lie, in the order in which the product takes them: A and C
 * row by row, B column by column. */
struct plumb_mma_layout {
  struct plumb_mma_layout *next;
  int64_t imm;
  plumb_mma mma;
  plumb_mma_place *places[4]; /* a matrix: the elements of all products */
  uint16_t *at[4];            /* of each: its first byte in packed registers */
  bool whole[4];              /* every element starts with a byte */
};

static unsigned elements_of(const plumb_mma *mma, plumb_mma_matrix which) {
  return plumb_mma_rows(mma, which) * plumb_mma_columns(mma, which);
}

static struct plumb_mma_layout *layout_create(int64_t imm) {
  struct plumb_mma_layout *l = calloc(1, sizeof *l);
  if (!l) abort();
  l->imm = imm;
  l->mma = plumb_mma_unpack(imm);
  unsigned products = plumb_mma_products(&l->mma);
  for (int which = PLUMB_MMA_A; which <= PLUMB_MMA_D; which++) {
    plumb_mma_matrix w = (plumb_mma_matrix)which;
    unsigned rows = plumb_mma_rows(&l->mma, w), columns = plumb_mma_columns(&l->mma, w);
    size_t count = (size_t)rows * columns * products;
    plumb_mma_place *at = malloc(count * sizeof *at);
    l->at[which] = malloc(count * sizeof *l->at[which]);
    if (!at || !l->at[which]) abort();
    l->places[which] = at;
    for (unsigned p = 0; p < products; p++)
      for (unsigned i = 0; i < rows * columns; i++)
        *at++ = w == PLUMB_MMA_B ? plumb_mma_place_of(&l->mma, w, p, i % rows, i / rows)
                                 : plumb_mma_place_of(&l->mma, w, p, i / columns, i % columns);
    l->whole[which] = true;
    for (size_t i = 0; i < count; i++) {
      const plumb_mma_place *place = &l->places[which][i];
      unsigned lane = place->reg * PLUMB_WARP_LANES + place->lane;
      l->at[which][i] = (uint16_t)(lane * plumb_mma_reg_bytes(&l->mma, w) + place->shift / 8);
      l->whole[which] &= place->shift % 8 == 0;
    }
  }
  return l;
}

static const struct plumb_mma_layout *layout_of(plumb_block_run *br, int64_t imm) {
  for (struct plumb_mma_layout *l = br->mma_layouts; l; l = l->next)
    if (l->imm == imm) return l;
  struct plumb_mma_layout *l = layout_create(imm);
  l->next = br->mma_layouts;
  return br->mma_layouts = l;
}

void plumb_mma_layouts_destroy(plumb_block_run *br) {
  for (struct plumb_mma_layout *l = br->mma_layouts, *next; l; l = next) {
    next = l->next;
    for (int which = 0; which < 4; which++) {
      free(l->places[which]);
      free(l->at[which]);
    }
    free(l);
  }
  br->mma_layouts = NULL;
}

/* --- one warp --- */

/* One MMA of one warp. */
typedef struct task {
  plumb_block_run *br;
  plumb_strand *s;
  const struct plumb_mma_layout *layout;
  uint32_t first;         /* lane */
  const plumb_reg *in[3]; /* registers of A, B and C */
  const plumb_reg *out;
  plumb_reg metadata;
  plumb_product product;
} task;

/* The elements, with whatever bits lie above them. */
static void gather(const task *t, plumb_mma_matrix which, unsigned product, uint64_t *words) {
  const plumb_mma *mma = &t->layout->mma;
  unsigned count = elements_of(mma, which), bytes = plumb_mma_reg_bytes(mma, which);
  unsigned regs = plumb_mma_regs(mma, which);
  const uint16_t *at = t->layout->at[which] + (size_t)product * count;
  uint8_t packed[MAX_REGS * PLUMB_WARP_LANES * 8 + 8]; /* a warp's registers, one after another */
  size_t warp_bytes = (size_t)PLUMB_WARP_LANES * bytes;
  for (unsigned r = 0; r < regs; r++)
    memcpy(packed + r * warp_bytes,
           plumb_operand(t->br, t->s->frame, t->in[which][r]) + (size_t)t->first * bytes,
           warp_bytes);
  memset(packed + regs * warp_bytes, 0, 8);
  if (bytes == 8) {
    for (unsigned i = 0; i < count; i++) memcpy(&words[i], packed + at[i], 8);
    return;
  }
  for (unsigned i = 0; i < count; i++) {
    uint32_t word;
    memcpy(&word, packed + at[i], 4);
    words[i] = word;
  }
  if (t->layout->whole[which]) return;
  const plumb_mma_place *places = t->layout->places[which] + (size_t)product * count;
  for (unsigned i = 0; i < count; i++) words[i] >>= places[i].shift % 8;
}

static void scatter(const task *t, unsigned product, const uint64_t *words) {
  const plumb_mma *mma = &t->layout->mma;
  unsigned count = elements_of(mma, PLUMB_MMA_D), bytes = plumb_mma_reg_bytes(mma, PLUMB_MMA_D);
  const plumb_mma_place *at = t->layout->places[PLUMB_MMA_D] + (size_t)product * count;
  bool half = mma->d == PLUMB_MMA_F16;
  uint8_t *lanes[MAX_REGS];
  for (unsigned r = 0; r < plumb_mma_regs(mma, PLUMB_MMA_D); r++)
    lanes[r] = plumb_reg_lanes(t->br, t->s->frame, t->out[r]) + (size_t)t->first * bytes;
  for (unsigned i = 0; i < count; i++) {
    uint8_t *to = lanes[at[i].reg] + (size_t)at[i].lane * bytes;
    if (half)
      memcpy(to + at[i].shift / 8, &words[i], 2);
    else if (bytes == 4)
      memcpy(to, &words[i], 4);
    else
      memcpy(to, &words[i], 8);
  }
}

/* --- undefined values --- */

/* An element of D is undefined if one of A's row, of B's column or of C is. */
static void flow_undefined(const task *t, unsigned product, uint32_t *out_origins) {
  const plumb_mma *mma = &t->layout->mma;
  const plumb_frame *f = t->s->frame;
  uint32_t of_row[32] = {0}, of_column[32] = {0};
  for (int which = PLUMB_MMA_A; which <= PLUMB_MMA_C; which++) {
    plumb_mma_matrix w = (plumb_mma_matrix)which;
    unsigned count = elements_of(mma, w);
    unsigned inner = w == PLUMB_MMA_B ? mma->k : plumb_mma_columns(mma, w);
    const plumb_mma_place *at = t->layout->places[which] + (size_t)product * count;
    for (unsigned i = 0; i < count; i++) {
      uint32_t origin = plumb_undef_get(f, t->in[which][at[i].reg], t->first + at[i].lane);
      if (w == PLUMB_MMA_C)
        out_origins[i] = out_origins[i] ? out_origins[i] : origin;
      else if (origin)
        (w == PLUMB_MMA_A ? of_row : of_column)[i / inner] = origin;
    }
  }
  for (unsigned i = 0; i < mma->m; i++)
    for (unsigned j = 0; j < mma->n; j++) {
      uint32_t *origin = &out_origins[i * mma->n + j];
      if (!*origin) *origin = of_row[i] ? of_row[i] : of_column[j];
    }
}

/* After the results were written: a register is as undefined as one of its elements. */
static void put_origins(const task *t, const uint32_t *origins) {
  const plumb_mma *mma = &t->layout->mma;
  unsigned count = elements_of(mma, PLUMB_MMA_D) * plumb_mma_products(mma);
  const plumb_mma_place *at = t->layout->places[PLUMB_MMA_D];
  for (unsigned r = 0; r < plumb_mma_regs(mma, PLUMB_MMA_D); r++)
    for (uint32_t l = 0; l < PLUMB_WARP_LANES; l++)
      plumb_undef_set(t->br, t->s->frame, t->out[r], t->first + l, 0);
  for (unsigned i = 0; i < count; i++)
    if (origins[i])
      plumb_undef_set(t->br, t->s->frame, t->out[at[i].reg], t->first + at[i].lane, origins[i]);
}

/* --- companions --- */

/* Of the elements that `gather` gave. */
static void gather_companions(const task *t, plumb_mma_matrix which, unsigned product,
                              const uint64_t *words, plumb_companion *out) {
  const plumb_mma *mma = &t->layout->mma;
  const uint8_t types[] = {mma->a, mma->b, mma->c};
  unsigned count = elements_of(mma, which);
  const plumb_mma_place *at = t->layout->places[which] + (size_t)product * count;
  for (unsigned i = 0; i < count; i++)
    out[i] = plumb_companion_element(t->s->frame, t->in[which][at[i].reg], t->first + at[i].lane,
                                     (plumb_mma_type)types[which], words[i]);
}

static bool all_certain(const plumb_companion *c, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    if (!plumb_companion_is_certain(&c[i])) return false;
  return true;
}

/* `columns`: of A before compression, a row of A after the other, or NULL. Products of
 * integers are exact, or may be anything. */
static void flow_companions(const task *t, unsigned product, const uint64_t *words[3],
                            const uint32_t *columns, plumb_companion *d) {
  const plumb_mma *mma = &t->layout->mma;
  unsigned stored = plumb_mma_columns(mma, PLUMB_MMA_A), counts[3];
  plumb_companion *in[3], chosen[256];
  for (int which = PLUMB_MMA_A; which <= PLUMB_MMA_C; which++) {
    counts[which] = elements_of(mma, (plumb_mma_matrix)which);
    in[which] = malloc(counts[which] * sizeof *in[which]);
    if (!in[which]) abort();
    gather_companions(t, (plumb_mma_matrix)which, product, words[which], in[which]);
  }
  bool floats = plumb_mma_type_table[mma->a].type_class == PLUMB_MMA_FLOAT;
  bool certain = all_certain(in[0], counts[0]) && all_certain(in[1], counts[1]) &&
                 all_certain(in[2], counts[2]);
  for (unsigned i = 0; i < mma->m; i++)
    for (unsigned j = 0; j < mma->n; j++) {
      const plumb_companion *b = in[1] + (size_t)j * mma->k;
      for (unsigned q = 0; columns && q < stored; q++) {
        uint32_t column = columns[i * stored + q];
        chosen[q] = column == UINT32_MAX ? plumb_companion_unknown() : b[column];
      }
      d[i * mma->n + j] = floats ? plumb_bound_dot(&t->product, stored, in[0] + (size_t)i * stored,
                                                   columns ? chosen : b, &in[2][i * mma->n + j])
                          : certain ? (plumb_companion){0}
                                    : plumb_companion_unknown();
    }
  for (int which = PLUMB_MMA_A; which <= PLUMB_MMA_C; which++) free(in[which]);
}

/* After the results were written. */
static void put_companions(const task *t, const plumb_companion *d) {
  const plumb_mma *mma = &t->layout->mma;
  unsigned count = elements_of(mma, PLUMB_MMA_D) * plumb_mma_products(mma);
  const plumb_mma_place *at = t->layout->places[PLUMB_MMA_D];
  for (unsigned r = 0; r < plumb_mma_regs(mma, PLUMB_MMA_D); r++)
    for (uint32_t l = 0; l < PLUMB_WARP_LANES; l++)
      plumb_companion_set(t->br, t->s->frame, t->out[r], t->first + l, NULL);
  for (unsigned i = 0; i < count; i++)
    plumb_companion_put_element(t->br, t->s->frame, t->out[at[i].reg], t->first + at[i].lane,
                                (plumb_mma_type)mma->d, &d[i]);
}

/* --- the product --- */

/* mma.sp: each row of A meets its own choice of B's rows. A row whose metadata are no
 * indices is undefined. */
static void multiply_sparse(const task *t, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                            uint64_t *d, uint32_t *origins, uint32_t *out_columns) {
  const plumb_mma *mma = &t->layout->mma;
  unsigned stored = plumb_mma_columns(mma, PLUMB_MMA_A);
  uint32_t metadata[PLUMB_WARP_LANES];
  uint64_t chosen[MAX_ELEMENTS];
  memcpy(metadata, plumb_operand(t->br, t->s->frame, t->metadata) + (size_t)t->first * 4,
         sizeof metadata);
  for (unsigned i = 0; i < mma->m; i++) {
    bool known = true;
    uint32_t *columns = out_columns + (size_t)i * stored;
    for (unsigned q = 0; q < stored; q++) {
      columns[q] = plumb_mma_sparse_column(mma, metadata, i, q);
      known &= columns[q] != UINT32_MAX;
    }
    for (unsigned j = 0; j < mma->n; j++)
      for (unsigned q = 0; known && q < stored; q++)
        chosen[j * stored + q] = b[j * mma->k + columns[q]];
    if (known)
      plumb_product_tile(&t->product, 1, mma->n, stored, a + (size_t)i * stored, chosen,
                         c + (size_t)i * mma->n, d + (size_t)i * mma->n);
    for (unsigned j = 0; !known && j < mma->n; j++) {
      d[i * mma->n + j] = 0;
      origins[i * mma->n + j] = t->s->frame->pc_base + t->s->pc + 1;
      t->br->undef = true;
    }
  }
}

static void multiply(const task *t, unsigned product, uint64_t *d, uint32_t *origins,
                     plumb_companion *companions) {
  const plumb_mma *mma = &t->layout->mma;
  uint32_t columns[MAX_ELEMENTS];
  bool sparse = mma->kind == PLUMB_MMA_SPARSE;
  uint64_t a[MAX_ELEMENTS], b[MAX_ELEMENTS], c[MAX_RESULTS];
  gather(t, PLUMB_MMA_A, product, a);
  gather(t, PLUMB_MMA_B, product, b);
  gather(t, PLUMB_MMA_C, product, c);
  if (sparse)
    multiply_sparse(t, a, b, c, d, origins, columns);
  else
    plumb_product_tile(&t->product, mma->m, mma->n, mma->k, a, b, c, d);
  if (companions)
    flow_companions(t, product, (const uint64_t *[]){a, b, c}, sparse ? columns : NULL, companions);
}

static bool check_metadata(const task *t) {
  plumb_lanes on = {0};
  on.words[t->first / 64] = (uint64_t)plumb_mma_metadata_lanes(&t->layout->mma) << (t->first % 64);
  plumb_lanes_settle(&on);
  return plumb_undef_check(t->br, t->s, t->metadata, &on, "sparsity metadata");
}

bool plumb_exec_mma(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t first) {
  task t = {.br = br, .s = s, .layout = layout_of(br, inst->imm), .first = first};
  const plumb_mma *mma = &t.layout->mma;
  t.in[0] = plumb_inst_operands(s->frame->fn, inst);
  t.in[1] = t.in[0] + plumb_mma_regs(mma, PLUMB_MMA_A);
  t.in[2] = t.in[1] + plumb_mma_regs(mma, PLUMB_MMA_B);
  t.out = plumb_inst_results(s->frame->fn, inst);
  if (mma->kind == PLUMB_MMA_SPARSE) {
    t.metadata = t.in[2][plumb_mma_regs(mma, PLUMB_MMA_C)];
    if (br->undef && !check_metadata(&t)) return false;
  }
  t.product = (plumb_product){.model = br->run->options.model,
                              .instruction = PLUMB_PRODUCT_MMA,
                              .a = (plumb_mma_type)mma->a,
                              .b = (plumb_mma_type)mma->b,
                              .c = (plumb_mma_type)mma->c,
                              .d = (plumb_mma_type)mma->d,
                              .combine = (plumb_mma_combine)mma->combine,
                              .satfinite = mma->satfinite,
                              .round = (plumb_round)inst->round};
  plumb_diag diag;
  if (plumb_product_check(&t.product, &diag) != PLUMB_OK)
    return plumb_unsupported_at(br, s->frame, s->pc, diag.message);
  unsigned count = elements_of(mma, PLUMB_MMA_D), products = plumb_mma_products(mma);
  uint64_t d[MAX_RESULTS];
  uint32_t origins[MAX_RESULTS] = {0};
  plumb_companion companions[MAX_RESULTS];
  bool beside = br->run->options.companions;
  for (unsigned p = 0; p < products; p++) {
    multiply(&t, p, d + (size_t)p * count, origins + (size_t)p * count,
             beside ? companions + (size_t)p * count : NULL);
    if (br->undef) flow_undefined(&t, p, origins + (size_t)p * count);
  }
  /* Results may take the operands' place: all were read. */
  for (unsigned p = 0; p < products; p++) scatter(&t, p, d + (size_t)p * count);
  if (br->undef) put_origins(&t, origins);
  if (beside) put_companions(&t, companions);
  return true;
}

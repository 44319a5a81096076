/* wmma.load and wmma.store (9.7.14.4.3, .4): the fragments of plumb_mma_place_of, lane by
 * lane. A lane's elements lie at p + (g * step_g + t * step_t + constant), where g is
 * laneid / 4 and t laneid % 4; so each is an ordinary load or store, checked as one. */
#include "ir/ptx/matrix.h"

/* A fragment in memory. */
typedef struct fragment {
  ptx_decoder *d;
  plumb_mma mma;
  plumb_mma_matrix which;
  unsigned bits; /* of an element */
  bool column_major;
  plumb_reg lane_base; /* address of element (0, 0) of lane's 8x8 block, less the constant */
  plumb_reg stride;    /* i64, in bytes (sub-byte types: of whole rows) */
  int64_t offset;
  plumb_space space;
} fragment;

static plumb_reg mul(ptx_decoder *d, plumb_reg a, int64_t b) {
  return plumb_build2(&d->b, PLUMB_OP_MUL, PLUMB_I64, a, plumb_constant_i64(d->program, b));
}
static plumb_reg add(ptx_decoder *d, plumb_reg a, plumb_reg b) {
  return plumb_build2(&d->b, PLUMB_OP_ADD, PLUMB_I64, a, b);
}

/* Shape, layout and element type out of the suffixes after `load` or `store`. A, B and C of
 * one shape have types that fit each other: those make the whole mma. */
static bool read_parts(fragment *f, bool store) {
  const ptx_statement *s = f->d->s;
  plumb_mma_type type = PLUMB_MMA_TYPE_COUNT;
  bool shape = false, layout = false;
  if (s->part_count < 2 || strlen(s->parts[1]) != 1) return false;
  const char *letter = strchr(store ? "d" : "abc", s->parts[1][0]);
  if (!letter) return false;
  f->which = store ? PLUMB_MMA_D : (plumb_mma_matrix)(letter - "abc");
  f->mma.kind = PLUMB_MMA_WMMA;
  for (size_t i = 2; i < s->part_count; i++) {
    const char *part = s->parts[i];
    if (ptx_mma_shape(part, &f->mma)) {
      shape = true;
    } else if (strcmp(part, "row") == 0 || strcmp(part, "col") == 0) {
      layout = true;
      f->column_major = *part == 'c';
    } else if (!plumb_mma_type_find(part, &type) && strcmp(part, "sync") != 0 &&
               strcmp(part, "aligned") != 0 && strcmp(part, "global") != 0 &&
               strncmp(part, "shared", 6) != 0) {
      return false;
    }
  }
  if (!shape || !layout || type == PLUMB_MMA_TYPE_COUNT) return false;
  f->bits = plumb_mma_type_table[type].bits;
  return true;
}

/* Any valid mma whose matrix `which` has the type and shape: they share its fragment. */
static bool complete(fragment *f, plumb_mma_type type) {
  for (unsigned a = 0; a < PLUMB_MMA_TYPE_COUNT; a++)
    for (unsigned c = 0; c < PLUMB_MMA_TYPE_COUNT; c++) {
      f->mma.a = f->mma.b = (uint8_t)a;
      f->mma.c = f->mma.d = (uint8_t)c;
      f->mma.combine = a == PLUMB_MMA_B1 ? PLUMB_MMA_XOR_POPC : PLUMB_MMA_MULTIPLY;
      unsigned have = f->which >= PLUMB_MMA_C ? c : a;
      if (have == type && plumb_mma_valid(&f->mma)) return true;
    }
  return false;
}

/* In the k direction for A and B, in a row for C and D, `packed` elements share a register. */
static unsigned packed_of(const fragment *f) {
  return f->bits < 32 ? 32 / f->bits : 1;
}

/* Whether the elements of one register are neighbours in memory. */
static bool contiguous(const fragment *f) {
  return f->which == PLUMB_MMA_B ? f->column_major : !f->column_major;
}

static int64_t leading_dimension(const fragment *f) {
  return f->column_major ? plumb_mma_rows(&f->mma, f->which) : plumb_mma_columns(&f->mma, f->which);
}

/* The lane's own part of the address and the stride. Lane (g, t) begins at row g, column
 * t * packed of A; row t * packed, column g of B; row g, column 2t of C. */
static bool prepare(fragment *f, const ptx_operand *address, const ptx_operand *stride) {
  ptx_decoder *d = f->d;
  ptx_address a;
  if (!ptx_address_of(d, address, &a) || a.param_reg != PLUMB_NO_REG) return false;
  f->offset = a.offset;
  f->space = ptx_has(d, "global")                                ? PLUMB_SPACE_GLOBAL
             : ptx_has(d, "shared") || ptx_has(d, "shared::cta") ? PLUMB_SPACE_SHARED
             : a.space_known                                     ? a.space
                                                                 : PLUMB_SPACE_GENERIC;
  plumb_reg elements = plumb_constant_i64(d->program, leading_dimension(f));
  if (stride) elements = ptx_resize(d, ptx_value(d, stride, PLUMB_I32), PLUMB_I32, PLUMB_I64, true);
  if (d->unknown) return false;
  f->stride = f->bits >= 8 ? mul(d, elements, f->bits / 8)
                           : plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I64, elements,
                                          plumb_constant_i64(d->program, f->bits == 4 ? 1 : 3));
  plumb_reg lane = plumb_build_sreg(&d->b, PLUMB_SREG_LANEID);
  plumb_reg g = plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I32, lane, ptx_const(d, PLUMB_I32, 2));
  plumb_reg t = plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I32, lane, ptx_const(d, PLUMB_I32, 3));
  g = ptx_resize(d, g, PLUMB_I32, PLUMB_I64, false);
  t = ptx_resize(d, t, PLUMB_I32, PLUMB_I64, false);
  unsigned wide = f->which >= PLUMB_MMA_C ? 2 : packed_of(f); /* elements from t to t + 1 */
  plumb_reg strided = contiguous(f) ? g : mul(d, t, wide);
  plumb_reg dense = contiguous(f) ? mul(d, t, (int64_t)wide * f->bits / 8) : mul(d, g, f->bits / 8);
  strided = plumb_build2(&d->b, PLUMB_OP_MUL, PLUMB_I64, strided, f->stride);
  f->lane_base = add(d, add(d, a.base, strided), dense);
  return true;
}

/* Element i of register r, as far from lane 0's first element as from any lane's. */
static void element_of(const fragment *f, unsigned r, unsigned i, unsigned *row, unsigned *column) {
  /* The place whose lane is 0 tells: fragments are the same in all lanes but for g and t. */
  unsigned rows = plumb_mma_rows(&f->mma, f->which), columns = plumb_mma_columns(&f->mma, f->which);
  for (*row = 0; *row < rows; ++*row)
    for (*column = 0; *column < columns; ++*column) {
      plumb_mma_place p = plumb_mma_place_of(&f->mma, f->which, 0, *row, *column);
      if (p.lane == 0 && p.reg == r && p.shift == i * f->bits) return;
    }
}

/* The address of element (row, column) of lane 0, for every lane: register and constant. */
static plumb_reg address_of(const fragment *f, unsigned row, unsigned column, int64_t *constant) {
  unsigned strides = f->column_major ? column : row, dense = f->column_major ? row : column;
  *constant = f->offset + (int64_t)dense * f->bits / 8;
  return strides ? add(f->d, f->lane_base, mul(f->d, f->stride, strides)) : f->lane_base;
}

static plumb_dtype piece_type(const fragment *f) {
  return f->bits == 16 ? PLUMB_I16 : PLUMB_I8;
}

static void load_register(const fragment *f, unsigned r, plumb_reg to, plumb_dtype type) {
  ptx_decoder *d = f->d;
  unsigned row, column, packed = packed_of(f);
  int64_t constant;
  if (packed == 1 || contiguous(f)) {
    element_of(f, r, 0, &row, &column);
    plumb_reg address = address_of(f, row, column, &constant);
    plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_LOAD, type, &to, 1, &address, 1);
    inst->space = (uint8_t)f->space;
    inst->imm = constant;
    return;
  }
  plumb_reg pieces[4];
  for (unsigned i = 0; i < packed; i++) {
    element_of(f, r, i, &row, &column);
    plumb_reg address = address_of(f, row, column, &constant);
    pieces[i] = plumb_build_load(&d->b, piece_type(f), f->space, address, constant);
  }
  ptx_pack(d, to, PLUMB_I32, pieces, piece_type(f), packed);
}

static void store_register(const fragment *f, unsigned r, plumb_reg from, plumb_dtype type) {
  ptx_decoder *d = f->d;
  unsigned row, column, packed = packed_of(f);
  bool whole = packed == 1 || contiguous(f);
  for (unsigned i = 0; i < (whole ? 1 : packed); i++) {
    int64_t constant;
    element_of(f, r, i, &row, &column);
    plumb_reg address = address_of(f, row, column, &constant);
    plumb_reg v = whole ? from : ptx_extract(d, from, PLUMB_I32, piece_type(f), i);
    plumb_inst *inst = plumb_build(&d->b, PLUMB_OP_STORE, whole ? type : piece_type(f), NULL, 0,
                                   (plumb_reg[]){address, v}, 2);
    inst->space = (uint8_t)f->space;
    inst->imm = constant;
  }
}

/* All 32 lanes must be here together (.aligned): a vote that nobody reads. */
static void together(ptx_decoder *d) {
  plumb_reg r = plumb_reg_create(d->f, PLUMB_I1);
  plumb_reg v[2] = {ptx_const(d, PLUMB_I1, 1), ptx_const(d, PLUMB_I32, UINT32_MAX)};
  plumb_build(&d->b, PLUMB_OP_VOTE, PLUMB_I1, &r, 1, v, 2)->flags |= PLUMB_FLAG_ALIGNED;
}

static bool begin(fragment *f, bool store) {
  plumb_mma_type type = PLUMB_MMA_TYPE_COUNT;
  if (!read_parts(f, store)) return false;
  for (size_t i = 2; i < f->d->s->part_count; i++) plumb_mma_type_find(f->d->s->parts[i], &type);
  return complete(f, type) && (f->bits >= 8 || contiguous(f)); /* sub-byte: A row, B column */
}

bool ptx_wmma_load(ptx_decoder *d) {
  fragment f = {.d = d};
  if (d->s->operand_count < 2 || d->s->operand_count > 3 || !begin(&f, false)) return false;
  together(d);
  if (!prepare(&f, ptx_op(d, 1), ptx_op(d, 2))) return false;
  unsigned count = plumb_mma_regs(&f.mma, f.which), used = plumb_mma_regs_used(&f.mma, f.which);
  plumb_dtype type = ptx_mma_reg_type(&f.mma, f.which);
  plumb_reg r[16];
  for (unsigned i = 0; i < count; i++) {
    const ptx_operand *e = ptx_item(ptx_op(d, 0), i, count);
    if (!e) return false;
    r[i] = ptx_dest(d, e, type);
  }
  if (d->unknown) return false;
  for (unsigned i = 0; i < count; i++)
    if (i < used)
      load_register(&f, i, r[i], type);
    else
      plumb_build_mov(&d->b, r[i], r[i % used]);
  for (unsigned i = 0; i < count; i++)
    if (!ptx_done_to(d, ptx_item(ptx_op(d, 0), i, count), type, false, r[i])) return false;
  return true;
}

bool ptx_wmma_store(ptx_decoder *d) {
  fragment f = {.d = d};
  if (d->s->operand_count < 2 || d->s->operand_count > 3 || !begin(&f, true)) return false;
  together(d);
  if (!prepare(&f, ptx_op(d, 0), ptx_op(d, 2))) return false;
  unsigned count = plumb_mma_regs(&f.mma, f.which);
  plumb_dtype type = ptx_mma_reg_type(&f.mma, f.which);
  for (unsigned i = 0; i < count; i++) {
    const ptx_operand *e = ptx_item(ptx_op(d, 1), i, count);
    if (!e) return false;
    plumb_reg v = ptx_value(d, e, type);
    if (!d->unknown) store_register(&f, i, v, type);
  }
  return !d->unknown;
}

/* The tables of mma.def, and where elements lie in a warp's registers. */
#include "ir/mma.h"

#include <string.h>

const plumb_mma_type_info plumb_mma_type_table[PLUMB_MMA_TYPE_COUNT] = {
#define PLUMB_MMA_TYPE_ROW(name, text, bits, class, exponent, fraction) \
  {text, bits, PLUMB_MMA_##class, exponent, fraction},
#include "ir/mma.def"
#undef PLUMB_MMA_TYPE_ROW
};

bool plumb_mma_type_find(const char *text, plumb_mma_type *out_type) {
  for (int t = 0; t < PLUMB_MMA_TYPE_COUNT; t++)
    if (strcmp(plumb_mma_type_table[t].text, text) == 0) {
      *out_type = (plumb_mma_type)t;
      return true;
    }
  return false;
}

/* --- what is multiplied --- */

typedef enum inputs {
  INPUTS_F16,
  INPUTS_BF16,
  INPUTS_TF32,
  INPUTS_F64,
  INPUTS_F8,
  INPUTS_I8,
  INPUTS_I4,
  INPUTS_B1,
  INPUTS_NONE
} inputs;

static inputs inputs_of(unsigned type) {
  switch (type) {
    case PLUMB_MMA_F16:
      return INPUTS_F16;
    case PLUMB_MMA_BF16:
      return INPUTS_BF16;
    case PLUMB_MMA_TF32:
      return INPUTS_TF32;
    case PLUMB_MMA_F64:
      return INPUTS_F64;
    case PLUMB_MMA_E4M3:
    case PLUMB_MMA_E5M2:
      return INPUTS_F8;
    case PLUMB_MMA_S8:
    case PLUMB_MMA_U8:
      return INPUTS_I8;
    case PLUMB_MMA_S4:
    case PLUMB_MMA_U4:
      return INPUTS_I4;
    case PLUMB_MMA_B1:
      return INPUTS_B1;
    default:
      return INPUTS_NONE;
  }
}

static const struct {
  uint8_t kind, inputs;
  uint16_t m, n, k;
} shapes[] = {
#define PLUMB_MMA_SHAPE_ROW(kind, inputs, m, n, k) {PLUMB_MMA_##kind, INPUTS_##inputs, m, n, k},
#include "ir/mma.def"
#undef PLUMB_MMA_SHAPE_ROW
};

static bool quads(const plumb_mma *mma) {
  return mma->kind == PLUMB_MMA_SYNC && mma->m == 8 && mma->a == PLUMB_MMA_F16;
}

/* PTX ISA 9.0, 9.7.14.5.14: c and d of f16 inputs. */
static bool accumulators_fit(const plumb_mma *mma, inputs in) {
  bool f16c = mma->c == PLUMB_MMA_F16, f32c = mma->c == PLUMB_MMA_F32;
  bool f16d = mma->d == PLUMB_MMA_F16, f32d = mma->d == PLUMB_MMA_F32;
  switch (in) {
    case INPUTS_F16:
      if (mma->kind == PLUMB_MMA_WMMA) return (f16c || f32c) && (f16d || f32d);
      if (quads(mma)) return (f16c && (f16d || f32d)) || (f32c && f32d);
      return (f16c && f16d) || (f32c && f32d);
    case INPUTS_F8:
      return (f16c && f16d) || (f32c && f32d);
    case INPUTS_BF16:
    case INPUTS_TF32:
      return f32c && f32d;
    case INPUTS_F64:
      return mma->c == PLUMB_MMA_F64 && mma->d == PLUMB_MMA_F64;
    default:
      return mma->c == PLUMB_MMA_S32 && mma->d == PLUMB_MMA_S32;
  }
}

/* Columns of A that four bits of metadata describe. */
static unsigned chunk_of(const plumb_mma *mma) {
  inputs in = inputs_of(mma->a);
  return in == INPUTS_I4 ? 8 : in == INPUTS_TF32 ? 2 : 4;
}
/* Lanes of a quad that give metadata: together 32 bits times their number for two rows. */
static unsigned metadata_lanes(const plumb_mma *mma) {
  return mma->k / chunk_of(mma) * 4 * 2 / 32;
}

static bool selector_fits(const plumb_mma *mma) {
  if (mma->kind != PLUMB_MMA_SPARSE) return mma->selector == 0 && !mma->ordered;
  unsigned lanes = metadata_lanes(mma);
  return lanes && mma->selector < 4 / lanes;
}

bool plumb_mma_valid(const plumb_mma *mma) {
  if (mma->a >= PLUMB_MMA_TYPE_COUNT || mma->b >= PLUMB_MMA_TYPE_COUNT ||
      mma->c >= PLUMB_MMA_TYPE_COUNT || mma->d >= PLUMB_MMA_TYPE_COUNT)
    return false;
  inputs in = inputs_of(mma->a);
  if (in == INPUTS_NONE || in != inputs_of(mma->b) || !accumulators_fit(mma, in)) return false;
  if ((in == INPUTS_B1) != (mma->combine != PLUMB_MMA_MULTIPLY) ||
      mma->combine > PLUMB_MMA_AND_POPC)
    return false;
  if (mma->kind != PLUMB_MMA_WMMA && !quads(mma) && (mma->a_column || mma->b_row)) return false;
  if (!selector_fits(mma)) return false;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    if (shapes[i].kind == mma->kind && shapes[i].inputs == in && shapes[i].m == mma->m &&
        shapes[i].n == mma->n && shapes[i].k == mma->k)
      return true;
  return false;
}

/* Bits of `imm`, low to high: m, n, k (10 each), a, b, c, d (4 each), kind and combine (2
 * each), both layouts and satfinite (1 each), selector (2), ordered (1). */
int64_t plumb_mma_pack(const plumb_mma *mma) {
  uint64_t v = mma->ordered;
  v = v << 2 | (mma->selector & 3u);
  v = v << 1 | mma->satfinite;
  v = v << 1 | mma->b_row;
  v = v << 1 | mma->a_column;
  v = v << 2 | mma->combine;
  v = v << 2 | mma->kind;
  v = v << 4 | mma->d;
  v = v << 4 | mma->c;
  v = v << 4 | mma->b;
  v = v << 4 | mma->a;
  return (int64_t)(v << 30 | (uint64_t)mma->k << 20 | (uint64_t)mma->n << 10 | mma->m);
}

plumb_mma plumb_mma_unpack(int64_t imm) {
  uint64_t v = (uint64_t)imm;
  return (plumb_mma){.m = v & 1023,
                     .n = v >> 10 & 1023,
                     .k = v >> 20 & 1023,
                     .a = v >> 30 & 15,
                     .b = v >> 34 & 15,
                     .c = v >> 38 & 15,
                     .d = v >> 42 & 15,
                     .kind = v >> 46 & 3,
                     .combine = v >> 48 & 3,
                     .a_column = v >> 50 & 1,
                     .b_row = v >> 51 & 1,
                     .satfinite = v >> 52 & 1,
                     .selector = v >> 53 & 3,
                     .ordered = v >> 55 & 1};
}

/* --- fragments --- */

static unsigned type_of(const plumb_mma *mma, plumb_mma_matrix which) {
  return which == PLUMB_MMA_A   ? mma->a
         : which == PLUMB_MMA_B ? mma->b
         : which == PLUMB_MMA_C ? mma->c
                                : mma->d;
}

unsigned plumb_mma_rows(const plumb_mma *mma, plumb_mma_matrix which) {
  return which == PLUMB_MMA_B ? mma->k : mma->m;
}
unsigned plumb_mma_columns(const plumb_mma *mma, plumb_mma_matrix which) {
  if (which != PLUMB_MMA_A) return mma->n;
  return mma->kind == PLUMB_MMA_SPARSE ? mma->k / 2u : mma->k;
}
unsigned plumb_mma_products(const plumb_mma *mma) {
  return quads(mma) ? 4 : 1;
}

unsigned plumb_mma_reg_bytes(const plumb_mma *mma, plumb_mma_matrix which) {
  return type_of(mma, which) == PLUMB_MMA_F64 ? 8 : 4;
}

unsigned plumb_mma_regs_used(const plumb_mma *mma, plumb_mma_matrix which) {
  unsigned elements = plumb_mma_rows(mma, which) * plumb_mma_columns(mma, which);
  unsigned bits = plumb_mma_type_table[type_of(mma, which)].bits;
  return elements * plumb_mma_products(mma) * bits / (plumb_mma_reg_bytes(mma, which) * 8) / 32;
}

unsigned plumb_mma_regs(const plumb_mma *mma, plumb_mma_matrix which) {
  /* PTX ISA 9.0, 9.7.14.4.1: f16 fragments of A and B are eight .f16x2 in every shape. */
  if (mma->kind == PLUMB_MMA_WMMA && which <= PLUMB_MMA_B && mma->a == PLUMB_MMA_F16) return 8;
  return plumb_mma_regs_used(mma, which);
}

static plumb_mma_place place(unsigned lane, unsigned reg, unsigned shift) {
  return (plumb_mma_place){(uint8_t)lane, (uint8_t)reg, (uint8_t)shift};
}

/* PTX ISA 9.0, 9.7.14.5.1. Lanes of a quad pair are 4p .. 4p + 3 and 16 more; the upper
 * four rows (or columns) are in the latter. `i` is the element's number in its lane. */
static plumb_mma_place quad_place(const plumb_mma *mma, plumb_mma_matrix which, unsigned product,
                                  unsigned row, unsigned column) {
  unsigned base = 4 * product, i, upper, lane;
  switch (which) {
    case PLUMB_MMA_A:
      upper = row >> 2;
      lane = mma->a_column ? column : row & 3;
      i = mma->a_column ? row & 3 : column;
      break;
    case PLUMB_MMA_B:
      upper = column >> 2;
      lane = mma->b_row ? row : column & 3;
      i = mma->b_row ? column & 3 : row;
      break;
    default:
      upper = row >> 2;
      if (type_of(mma, which) == PLUMB_MMA_F32)
        return place(base + 16 * upper + ((row & 1) | (column & 2)),
                     (row & 2) | (column & 4) | (column & 1), 0);
      lane = row & 3;
      i = column;
      break;
  }
  return place(base + 16 * upper + lane, i / 2, i % 2 * 16);
}

plumb_mma_place plumb_mma_place_of(const plumb_mma *mma, plumb_mma_matrix which, unsigned product,
                                   unsigned row, unsigned column) {
  if (quads(mma)) return quad_place(mma, which, product, row, column);
  unsigned bits = plumb_mma_type_table[type_of(mma, which)].bits;
  unsigned packed = bits < 32 ? 32 / bits : 1; /* elements a register */
  unsigned span = 4 * packed;                  /* along k, of one register of a quad */
  switch (which) {
    case PLUMB_MMA_A:
      return place((row & 7) * 4 + column % span / packed,
                   (row >> 3) + mma->m / 8 * (column / span), column % packed * bits);
    case PLUMB_MMA_B:
      return place((column & 7) * 4 + row % span / packed,
                   row / span + mma->k / span * (column >> 3), row % packed * bits);
    default: {
      unsigned block = (row >> 3) + mma->m / 8 * (column >> 3);
      unsigned lane = (row & 7) * 4 + (column & 7) / 2, low = column & 1;
      return bits == 16 ? place(lane, block, low * 16) : place(lane, block * 2 + low, 0);
    }
  }
}

/* --- sparse --- */

uint32_t plumb_mma_metadata_lanes(const plumb_mma *mma) {
  unsigned lanes = metadata_lanes(mma), of_quad = ((1u << lanes) - 1) << (lanes * mma->selector);
  return of_quad * 0x11111111u;
}

uint32_t plumb_mma_sparse_column(const plumb_mma *mma, const uint32_t metadata[32], unsigned row,
                                 unsigned column) {
  unsigned chunk = chunk_of(mma), stored = chunk / 2, at = column / stored * 4, lane, shift;
  if (plumb_mma_type_table[mma->a].bits >= 16) {
    lane = at / 16;
    shift = at % 16 + 16 * (row >> 3);
  } else {
    lane = at / 32 * 2 + (row >> 3);
    shift = at % 32;
  }
  lane += metadata_lanes(mma) * mma->selector + (row & 7) * 4;
  unsigned bits = metadata[lane] >> shift & 15, first = bits & 3, second = bits >> 2;
  unsigned base = column / stored * chunk;
  if (chunk == 2) return bits == 4 ? base : bits == 14 ? base + 1 : UINT32_MAX;
  if (first == second || (mma->ordered && first > second)) return UINT32_MAX;
  unsigned index = column % stored / (chunk / 4) ? second : first;
  return base + index * (chunk / 4) + column % (chunk / 4);
}

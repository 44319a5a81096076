/* Shapes of warpgroup products (see wgmma.h). */
#include "ir/wgmma.h"

enum {
  A_REGS = 1,
  A_COLUMN = 2,
  B_ROW = 4,
  NEGATE_A = 8,
  NEGATE_B = 16,
  SATFINITE = 32,
  SPARSE = 64
};

int64_t plumb_wgmma_pack(const plumb_wgmma *w) {
  int64_t flags = (w->a_regs ? A_REGS : 0) | (w->a_column ? A_COLUMN : 0) | (w->b_row ? B_ROW : 0) |
                  (w->negate_a ? NEGATE_A : 0) | (w->negate_b ? NEGATE_B : 0) |
                  (w->satfinite ? SATFINITE : 0) | (w->sparse ? SPARSE : 0);
  return (int64_t)w->n | (int64_t)w->k << 10 | (int64_t)w->a << 20 | (int64_t)w->b << 25 |
         (int64_t)w->d << 30 | flags << 35 | (int64_t)(w->selector & 3) << 43;
}

plumb_wgmma plumb_wgmma_unpack(int64_t imm) {
  int64_t flags = imm >> 35;
  return (plumb_wgmma){.n = imm & 1023,
                       .k = imm >> 10 & 1023,
                       .a = imm >> 20 & 31,
                       .b = imm >> 25 & 31,
                       .d = imm >> 30 & 31,
                       .a_regs = flags & A_REGS,
                       .a_column = flags & A_COLUMN,
                       .b_row = flags & B_ROW,
                       .negate_a = flags & NEGATE_A,
                       .negate_b = flags & NEGATE_B,
                       .satfinite = flags & SATFINITE,
                       .sparse = flags & SPARSE,
                       .selector = imm >> 43 & 3};
}

static bool is_byte_float(unsigned t) {
  return t == PLUMB_MMA_E4M3 || t == PLUMB_MMA_E5M2;
}
static bool is_byte_int(unsigned t) {
  return t == PLUMB_MMA_S8 || t == PLUMB_MMA_U8;
}

bool plumb_wgmma_valid(const plumb_wgmma *w) {
  unsigned k, a = w->a, b = w->b, d = w->d;
  bool is_int = false, types;
  if (a == PLUMB_MMA_F16 || a == PLUMB_MMA_BF16) {
    types = a == b && (d == PLUMB_MMA_F32 || (d == PLUMB_MMA_F16 && a == PLUMB_MMA_F16));
    k = 16;
  } else if (a == PLUMB_MMA_TF32) {
    types = a == b && d == PLUMB_MMA_F32;
    k = 8;
  } else if (is_byte_float(a)) {
    types = is_byte_float(b) && (d == PLUMB_MMA_F32 || d == PLUMB_MMA_F16);
    k = 32;
  } else {
    is_int = true;
    types = d == PLUMB_MMA_S32 && (a == PLUMB_MMA_B1 ? b == a : is_byte_int(a) && is_byte_int(b));
    k = a == PLUMB_MMA_B1 ? 256 : 32;
  }
  if (w->sparse) k *= 2;
  if (!types || w->k != k || (w->sparse && a == PLUMB_MMA_B1)) return false;
  bool turned = w->a_column || w->b_row;
  if ((turned && a != PLUMB_MMA_F16 && a != PLUMB_MMA_BF16) || (w->a_column && w->a_regs))
    return false;
  if (is_int && (w->negate_a || w->negate_b)) return false;
  if (w->satfinite && (!is_int || a == PLUMB_MMA_B1)) return false;
  if (w->n < 8 || w->n > 256 || w->n % 8) return false;
  return !is_int || w->n == 8 || w->n == 24 || w->n % 16 == 0;
}

unsigned plumb_wgmma_regs(const plumb_wgmma *w) {
  return w->d == PLUMB_MMA_F16 ? w->n / 4u : w->n / 2u;
}

unsigned plumb_wgmma_operands(const plumb_wgmma *w) {
  return 2 + (w->a_regs ? 4u : 1u) + w->sparse + plumb_wgmma_regs(w);
}

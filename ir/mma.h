/* Matrix instructions: what a MMA instruction multiplies (its `imm`), and where each
 * element of its matrices lies in the registers of a warp. Decoders and the executor share
 * it; what the arithmetic gives is in targets/models.
 *
 *     plumb_mma_place p = plumb_mma_place_of(&mma, PLUMB_MMA_A, row, column);
 *     lane p.lane holds A(row, column) in its register p.reg, from bit p.shift up
 */
#ifndef PLUMB_IR_MMA_H
#define PLUMB_IR_MMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum plumb_mma_type {
#define PLUMB_MMA_TYPE_ROW(name, text, bits, class, exponent, fraction) PLUMB_MMA_##name,
#include "ir/mma.def"
#undef PLUMB_MMA_TYPE_ROW
  PLUMB_MMA_TYPE_COUNT
} plumb_mma_type;

typedef enum plumb_mma_class {
  PLUMB_MMA_FLOAT,
  PLUMB_MMA_SIGNED,
  PLUMB_MMA_UNSIGNED,
  PLUMB_MMA_BIT
} plumb_mma_class;

typedef struct plumb_mma_type_info {
  const char *text;
  uint8_t bits; /* of an element in a register or in memory */
  uint8_t type_class;
  uint8_t exponent_bits, fraction_bits;
} plumb_mma_type_info;

extern const plumb_mma_type_info plumb_mma_type_table[PLUMB_MMA_TYPE_COUNT];

/* False if no element type has this name. */
bool plumb_mma_type_find(const char *text, plumb_mma_type *out_type);

typedef enum plumb_mma_kind {
  PLUMB_MMA_SYNC,   /* mma */
  PLUMB_MMA_SPARSE, /* mma.sp: A holds every second element, a metadata register says which */
  PLUMB_MMA_WMMA
} plumb_mma_kind;

typedef enum plumb_mma_combine {
  PLUMB_MMA_MULTIPLY,
  PLUMB_MMA_XOR_POPC, /* B1: ones in a xor b */
  PLUMB_MMA_AND_POPC
} plumb_mma_combine;

typedef enum plumb_mma_matrix {
  PLUMB_MMA_A,
  PLUMB_MMA_B,
  PLUMB_MMA_C,
  PLUMB_MMA_D
} plumb_mma_matrix;

/* D = A * B + C, with A m x k, B k x n, C and D m x n. */
typedef struct plumb_mma {
  uint16_t m, n, k;
  uint8_t kind;         /* plumb_mma_kind */
  uint8_t a, b, c, d;   /* plumb_mma_type */
  uint8_t combine;      /* plumb_mma_combine */
  bool a_column, b_row; /* layouts; only m8n8k4 of f16 and WMMA know others than row.col */
  bool satfinite;   /* s32: clamps; floats: infinities become the largest finite value, NaN +0 */
  uint8_t selector; /* SPARSE: which lanes of a quad give the metadata */
  bool ordered;     /* SPARSE: indices ascend (::ordered_metadata) */
} plumb_mma;

/* To and from an instruction's `imm`. */
int64_t plumb_mma_pack(const plumb_mma *mma);
plumb_mma plumb_mma_unpack(int64_t imm);
/* True if mma.def has the shape, and the types and the selector fit it. */
bool plumb_mma_valid(const plumb_mma *mma);

/* Registers that one lane holds of a matrix, and the bytes of one (8 for f64, else 4). */
unsigned plumb_mma_regs(const plumb_mma *mma, plumb_mma_matrix which);
unsigned plumb_mma_reg_bytes(const plumb_mma *mma, plumb_mma_matrix which);
/* Stored rows and columns: as the shape says, but A of SPARSE has k / 2 columns. */
unsigned plumb_mma_rows(const plumb_mma *mma, plumb_mma_matrix which);
unsigned plumb_mma_columns(const plumb_mma *mma, plumb_mma_matrix which);
/* m8n8k4 of f16 is four products, one for each quad pair (PTX ISA 9.0, 9.7.14.5.1);
 * everything else is one. */
unsigned plumb_mma_products(const plumb_mma *mma);

typedef struct plumb_mma_place {
  uint8_t lane, reg, shift;
} plumb_mma_place;

/* Where element (row, column) of the stored matrix lies, for product `product`. PTX ISA
 * 9.0, 9.7.14.5.1 to .13 and 9.7.14.6.2; the layout of WMMA is unspecified there, and ours
 * is that of the mma tiles that it consists of, m and n in steps of 8. WMMA's A and B of
 * f16 have more registers than they need: one at reg + i * plumb_mma_regs_used repeats
 * what `reg` holds. */
plumb_mma_place plumb_mma_place_of(const plumb_mma *mma, plumb_mma_matrix which, unsigned product,
                                   unsigned row, unsigned column);
/* Registers before the first repetition. */
unsigned plumb_mma_regs_used(const plumb_mma *mma, plumb_mma_matrix which);

/* SPARSE: the column of A before compression that stored element (row, column) stands for,
 * by the metadata registers of the 32 lanes; UINT32_MAX if they hold no meaningful index.
 * PTX ISA 9.0, 9.7.14.6.1. Four bits describe a chunk of 4 columns (tf32: 2, s4 and u4: 8
 * in pairs). With f16, bf16 and tf32 a lane gives 16 bits of row l / 4, then 16 of row
 * l / 4 + 8; with the others 32 bits of one row, the lanes of a quad taking turns. */
uint32_t plumb_mma_sparse_column(const plumb_mma *mma, const uint32_t metadata[32], unsigned row,
                                 unsigned column);
/* Lanes of the warp that give metadata. */
uint32_t plumb_mma_metadata_lanes(const plumb_mma *mma);

#endif

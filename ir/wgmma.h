/* What a WGMMA instruction multiplies (its `imm`): D = A * B + D of one warpgroup, A 64 x k,
 * B k x n (PTX ISA 9.0, 9.7.15.5). */
#ifndef PLUMB_IR_WGMMA_H
#define PLUMB_IR_WGMMA_H

#include "ir/mma.h"

typedef struct plumb_wgmma {
  uint16_t n, k;   /* k: columns of A before compression */
  uint8_t a, b, d; /* plumb_mma_type */
  bool a_regs;     /* A in four registers a lane, else in shared memory as B */
  bool a_column;   /* A's rows are adjacent in shared memory, not its columns */
  bool b_row;      /* B's columns are adjacent */
  bool negate_a, negate_b;
  bool satfinite;
  bool sparse;      /* A holds every second element */
  uint8_t selector; /* sparse: which lanes of a quad give the metadata */
} plumb_wgmma;

/* To and from an instruction's `imm`. */
int64_t plumb_wgmma_pack(const plumb_wgmma *w);
plumb_wgmma plumb_wgmma_unpack(int64_t imm);
/* True if the ISA has the shape for the types. */
bool plumb_wgmma_valid(const plumb_wgmma *w);
/* Registers of D that a lane holds, of 4 bytes each. */
unsigned plumb_wgmma_regs(const plumb_wgmma *w);
/* Operands of the instruction: i1 whether D is added, A (i64 descriptor or 4 registers), i64
 * descriptor of B, metadata if sparse, D. */
unsigned plumb_wgmma_operands(const plumb_wgmma *w);

#endif

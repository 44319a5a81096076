/* What matrix instructions compute: D = A * B + C of one tile, on bit patterns. It knows
 * nothing of registers, lanes or memory (ir/mma.h says where elements lie).
 *
 * Two readings. The reference one: products exact, their sum with C exact, one rounding at
 * the end. A named architecture: what the matrix unit of that GPU gives, by models.def.
 *
 *     plumb_product p = {.a = PLUMB_MMA_F16, .b = PLUMB_MMA_F16, .c = PLUMB_MMA_F32,
 *                        .d = PLUMB_MMA_F32};             the reference reading
 *     plumb_model_find("a100", &p.model);                 or a named one
 *     PLUMB_TRY(plumb_product_check(&p, diag));
 *     plumb_product_tile(&p, 16, 8, 16, a, b, c, d);
 */
#ifndef PLUMB_TARGETS_MODELS_MODEL_H
#define PLUMB_TARGETS_MODELS_MODEL_H

#include "ir/base/status.h"
#include "ir/mma.h"
#include "ir/program.h"

/* The reference reading (0) or an architecture. */
typedef enum plumb_model {
  PLUMB_MODEL_REFERENCE,
  PLUMB_MODEL_VOLTA,
  PLUMB_MODEL_TURING,
  PLUMB_MODEL_AMPERE,
  PLUMB_MODEL_ADA,
  PLUMB_MODEL_HOPPER,
  PLUMB_MODEL_BLACKWELL,
  PLUMB_MODEL_RTX_BLACKWELL
} plumb_model;

/* The model of a name in models.def, or of "reference", in any case, with or without `-` and
 * `_`; false if there is none. */
bool plumb_model_find(const char *name, plumb_model *out_model);
/* All names, separated by ", ", for messages; static storage. */
const char *plumb_model_names(void);

typedef enum plumb_product_instruction {
  PLUMB_PRODUCT_MMA, /* mma, mma.sp, wmma */
  PLUMB_PRODUCT_WGMMA
} plumb_product_instruction;

typedef struct plumb_product {
  plumb_model model;
  plumb_product_instruction instruction;
  plumb_mma_type a, b, c, d;
  plumb_mma_combine combine; /* b1 */
  bool satfinite;            /* as plumb_mma.satfinite */
  plumb_round round;         /* f64: RN, RZ, RM, RP; else RN */
} plumb_product;

/* Whether the model has such an instruction.
 * PLUMB_UNSUPPORTED  it has none: the message names the model and the types */
plumb_status plumb_product_check(const plumb_product *p, plumb_diag *diag);

/* D = A * B + C. Each word holds one element in its low bits (s4 and u4: 4 bits, b1: 1 bit,
 * tf32: 32, of which the low 13 are ignored); higher bits are ignored.
 *   a  m * k words, row by row
 *   b  n * k words, column by column: b[column * k + row]
 *   c, d  m * n words, row by row; they may be the same array
 * The product was checked. m, n up to 256, k up to 256. NaN results are 0x7fffffff, 0x7fff
 * and, for f64, 0x7ff8000000000000 or a NaN operand, made quiet. */
void plumb_product_tile(const plumb_product *p, unsigned m, unsigned n, unsigned k,
                        const uint64_t *a, const uint64_t *b, const uint64_t *c, uint64_t *d);

#endif

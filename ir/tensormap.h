/* Tensor maps: the 128 opaque bytes that tell a tensor copy (cp.async.bulk.tensor) where
 * a tensor lies and which box of it is copied. CUDA makes them on the host with
 * cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; their bits are not documented, so
 * the bits here are Plumbline's own. Only what is encoded here can be executed.
 *
 *     plumb_tensormap map = {.address = a, .rank = 2, .type = PLUMB_TENSORMAP_F16, ...};
 *     PLUMB_TRY(plumb_tensormap_check(&map, diag));
 *     plumb_tensormap_encode(&map, bytes);
 *
 * The rules are those of the CUDA driver API 13.0, "Tensor Map Object Managment"; what
 * the fields do to a copy is in the PTX ISA 9.0, 5.5.
 */
#ifndef PLUMB_IR_TENSORMAP_H
#define PLUMB_IR_TENSORMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/base/status.h"

#define PLUMB_TENSORMAP_BYTES 128u

/* Numbered as CUtensorMapDataType. */
typedef enum plumb_tensormap_type {
  PLUMB_TENSORMAP_U8,
  PLUMB_TENSORMAP_U16,
  PLUMB_TENSORMAP_U32,
  PLUMB_TENSORMAP_S32,
  PLUMB_TENSORMAP_U64,
  PLUMB_TENSORMAP_S64,
  PLUMB_TENSORMAP_F16,
  PLUMB_TENSORMAP_F32,
  PLUMB_TENSORMAP_F64,
  PLUMB_TENSORMAP_BF16,
  PLUMB_TENSORMAP_F32_FTZ,
  PLUMB_TENSORMAP_TF32,
  PLUMB_TENSORMAP_TF32_FTZ,
  PLUMB_TENSORMAP_16U4_ALIGN8B,
  PLUMB_TENSORMAP_16U4_ALIGN16B,
  PLUMB_TENSORMAP_16U6_ALIGN16B,
  PLUMB_TENSORMAP_TYPE_COUNT
} plumb_tensormap_type;

/* Numbered as CUtensorMapSwizzle. */
typedef enum plumb_tensormap_swizzle {
  PLUMB_SWIZZLE_NONE,
  PLUMB_SWIZZLE_32B,
  PLUMB_SWIZZLE_64B,
  PLUMB_SWIZZLE_128B,
  PLUMB_SWIZZLE_128B_ATOM_32B,
  PLUMB_SWIZZLE_128B_ATOM_32B_FLIP_8B,
  PLUMB_SWIZZLE_128B_ATOM_64B,
  PLUMB_SWIZZLE_COUNT
} plumb_tensormap_swizzle;

/* Dimension 0 is the innermost. Arrays hold `rank` entries (strides: rank - 1, of
 * dimensions 1 and up; corners: rank - 2, of the spatial dimensions 1 .. rank - 2). */
typedef struct plumb_tensormap {
  uint64_t address; /* global */
  uint32_t rank;
  uint32_t type;       /* plumb_tensormap_type */
  uint32_t interleave; /* as CUtensorMapInterleave: 0 none, 1 16B, 2 32B */
  uint32_t swizzle;    /* plumb_tensormap_swizzle */
  bool nan_fill;       /* elements outside are NaN, else zero */
  bool im2col;
  uint64_t dims[5]; /* elements */
  uint64_t strides_bytes[4];
  uint32_t element_strides[5]; /* the traversal stride of each dimension */
  uint32_t box[5];             /* tiled: elements traversed */
  int32_t lower[3], upper[3];  /* im2col: corners of the pixel box */
  uint32_t channels;           /* im2col: elements of dimension 0 a pixel */
  uint32_t pixels;             /* im2col: pixels a column */
} plumb_tensormap;

/* Bytes of one element; 0 for the packed sub-byte types. */
unsigned plumb_tensormap_type_bytes(uint32_t type);

/* PLUMB_BAD_INPUT  cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col would refuse it */
plumb_status plumb_tensormap_check(const plumb_tensormap *map, plumb_diag *diag);

/* Every field that fits is kept as it is, checked or not: tensormap.replace changes one
 * field after another. */
void plumb_tensormap_encode(const plumb_tensormap *map, uint8_t out[PLUMB_TENSORMAP_BYTES]);
/* False if the bytes are no tensor map. */
bool plumb_tensormap_decode(const uint8_t bytes[PLUMB_TENSORMAP_BYTES], plumb_tensormap *out);

/* Bytes of a row that a swizzle exchanges pieces of; 0 without one. */
static inline uint32_t plumb_swizzle_bytes(uint32_t swizzle) {
  static const uint8_t bytes[PLUMB_SWIZZLE_COUNT] = {0, 32, 64, 128, 128, 128, 128};
  return bytes[swizzle];
}

/* Where byte `offset` of shared memory goes under a swizzle (PTX ISA 9.0, 5.5.5): an
 * exchange inside a line of 128 bytes. */
static inline uint64_t plumb_swizzle(uint32_t swizzle, uint64_t offset) {
  switch (swizzle) {
    case PLUMB_SWIZZLE_32B:
      return offset ^ (offset >> 3 & 0x10);
    case PLUMB_SWIZZLE_64B:
      return offset ^ (offset >> 3 & 0x30);
    case PLUMB_SWIZZLE_128B:
      return offset ^ (offset >> 3 & 0x70);
    case PLUMB_SWIZZLE_128B_ATOM_32B:
      return offset ^ (offset >> 2 & 0x60);
    case PLUMB_SWIZZLE_128B_ATOM_32B_FLIP_8B:
      return offset ^ (offset >> 2 & 0x60) ^ (offset >> 4 & 8);
    case PLUMB_SWIZZLE_128B_ATOM_64B:
      return offset ^ (offset >> 1 & 0x40);
    default:
      return offset;
  }
}

#endif

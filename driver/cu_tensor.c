/* Driver API: tensor maps, which programs find by name (cudaGetDriverEntryPoint). */
#include <stdio.h>
#include <string.h>

#include "driver/cu.h"
#include "ir/tensormap.h"

/* Of CUtensorMapInterleave, ..Swizzle and ..FloatOOBfill the numbers are those of ir/tensormap.h;
 * a promotion to L2 changes no result. */
typedef struct layout {
  const uint64_t *dims, *strides_bytes;
  const uint32_t *element_strides;
  int interleave, swizzle, fill;
} layout;

/* The part that both kinds share. The number of strides is one less than the rank. */
static int begin(plumb_tensormap *m, int type, uint32_t rank, const void *address,
                 const layout *l) {
  if (!rank || rank > 5 || !l->dims || !l->element_strides || (rank > 1 && !l->strides_bytes))
    return DRIVER_INVALID_VALUE;
  *m = (plumb_tensormap){.address = (uint64_t)(uintptr_t)address,
                         .rank = rank,
                         .type = (uint32_t)type,
                         .interleave = (uint32_t)l->interleave,
                         .swizzle = (uint32_t)l->swizzle,
                         .nan_fill = l->fill != 0};
  memcpy(m->dims, l->dims, rank * sizeof *m->dims);
  if (rank > 1) memcpy(m->strides_bytes, l->strides_bytes, (rank - 1) * sizeof *m->strides_bytes);
  memcpy(m->element_strides, l->element_strides, rank * sizeof *m->element_strides);
  return DRIVER_OK;
}

static int end(void *out, const plumb_tensormap *m, const char *call) {
  plumb_diag diag = {0};
  if (!out || (uintptr_t)out % 64) return DRIVER_INVALID_VALUE;
  if (plumb_tensormap_check(m, &diag) != PLUMB_OK) {
    fflush(stdout);
    fprintf(stderr, "plumb: %s: %s\n", call, diag.message);
    return DRIVER_INVALID_VALUE;
  }
  plumb_tensormap_encode(m, out);
  return DRIVER_OK;
}

EXPORT int cuTensorMapEncodeTiled(void *out, int type, uint32_t rank, void *address,
                                  const uint64_t *dims, const uint64_t *strides,
                                  const uint32_t *box, const uint32_t *element_strides,
                                  int interleave, int swizzle, int promotion, int fill) {
  plumb_tensormap m;
  (void)promotion;
  layout l = {dims, strides, element_strides, interleave, swizzle, fill};
  DRIVER_TRY(begin(&m, type, rank, address, &l));
  if (!box) return DRIVER_INVALID_VALUE;
  memcpy(m.box, box, rank * sizeof *m.box);
  return end(out, &m, "cuTensorMapEncodeTiled");
}
EXPORT int cuTensorMapEncodeIm2col(void *out, int type, uint32_t rank, void *address,
                                   const uint64_t *dims, const uint64_t *strides, const int *lower,
                                   const int *upper, uint32_t channels, uint32_t pixels,
                                   const uint32_t *element_strides, int interleave, int swizzle,
                                   int promotion, int fill) {
  plumb_tensormap m;
  (void)promotion;
  layout l = {dims, strides, element_strides, interleave, swizzle, fill};
  DRIVER_TRY(begin(&m, type, rank, address, &l));
  if (rank < 3 || !lower || !upper) return DRIVER_INVALID_VALUE;
  m.im2col = true;
  memcpy(m.lower, lower, (rank - 2) * sizeof *m.lower);
  memcpy(m.upper, upper, (rank - 2) * sizeof *m.upper);
  m.channels = channels;
  m.pixels = pixels;
  return end(out, &m, "cuTensorMapEncodeIm2col");
}
EXPORT int cuTensorMapReplaceAddress(void *map, void *address) {
  plumb_tensormap m;
  if (!map || !plumb_tensormap_decode(map, &m)) return DRIVER_INVALID_VALUE;
  m.address = (uint64_t)(uintptr_t)address;
  return end(map, &m, "cuTensorMapReplaceAddress");
}

/* Encoding and rules of tensor maps (see tensormap.h). */
#include "ir/tensormap.h"

#include <string.h>

#define MAGIC 0x50414d54u /* "TMAP" */

/* What lies in the 128 bytes. */
typedef struct packed {
  uint32_t magic;
  uint8_t rank, type, interleave, swizzle;
  uint64_t address;
  uint32_t last[5];    /* dims - 1 */
  uint32_t strides[4]; /* low halves of strides / 16 */
  uint8_t stride_high[4];
  uint16_t box[5]; /* im2col: channels, pixels */
  uint8_t element_strides[5];
  uint8_t nan_fill, im2col;
  int16_t lower[3], upper[3];
} packed;
_Static_assert(sizeof(packed) <= PLUMB_TENSORMAP_BYTES, "a tensor map has 128 bytes");

unsigned plumb_tensormap_type_bytes(uint32_t type) {
  static const uint8_t bytes[PLUMB_TENSORMAP_TYPE_COUNT] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return type < PLUMB_TENSORMAP_TYPE_COUNT ? bytes[type] : 0;
}

static bool is_float(uint32_t type) {
  return type >= PLUMB_TENSORMAP_F16 && type <= PLUMB_TENSORMAP_TF32_FTZ;
}

static plumb_status refuse(plumb_diag *diag, const char *what) {
  return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0, "tensor map: %s", what);
}

static plumb_status check_im2col(const plumb_tensormap *m, plumb_diag *diag) {
  static const int32_t low[6] = {0, 0, 0, -32768, -128, -16}, high[6] = {0, 0, 0, 32767, 127, 15};
  if (m->rank < 3) return refuse(diag, "im2col needs a rank of 3 to 5");
  if (!m->channels || m->channels > 256) return refuse(diag, "1 to 256 channels a pixel");
  if (!m->pixels || m->pixels > 1024) return refuse(diag, "1 to 1024 pixels a column");
  for (uint32_t i = 0; i + 2 < m->rank; i++)
    if (m->lower[i] < low[m->rank] || m->lower[i] > high[m->rank] || m->upper[i] < low[m->rank] ||
        m->upper[i] > high[m->rank])
      return refuse(diag, "a corner of the pixel box is out of range for the rank");
  return PLUMB_OK;
}

plumb_status plumb_tensormap_check(const plumb_tensormap *m, plumb_diag *diag) {
  unsigned bytes = plumb_tensormap_type_bytes(m->type);
  if (m->type >= PLUMB_TENSORMAP_TYPE_COUNT) return refuse(diag, "no such data type");
  if (m->rank < 1 || m->rank > 5) return refuse(diag, "the rank must be 1 to 5");
  if (m->interleave > 2 || m->swizzle >= PLUMB_SWIZZLE_COUNT)
    return refuse(diag, "no such interleave or swizzle");
  if (m->interleave && m->rank < 3) return refuse(diag, "an interleaved tensor has rank 3 to 5");
  if (m->interleave == 2 && m->swizzle != PLUMB_SWIZZLE_32B)
    return refuse(diag, "interleave 32B needs swizzle 32B");
  if (m->nan_fill && !is_float(m->type)) return refuse(diag, "NaN fill needs a float type");
  uint64_t align = m->interleave == 2 ? 32 : 16;
  if (!m->address || m->address % align)
    return refuse(diag, "the global address must be a multiple of 16 (interleave 32B: 32) bytes");
  bool loose = m->type == PLUMB_TENSORMAP_16U4_ALIGN16B || m->type == PLUMB_TENSORMAP_16U6_ALIGN16B;
  if (loose && (m->address % 32 || m->dims[0] % 128 || (!m->im2col && m->box[0] != 128)))
    return refuse(diag, "16U4 and 16U6 with gaps need 32 byte alignment and 128 elements a row");
  if (m->type == PLUMB_TENSORMAP_16U4_ALIGN8B && m->dims[0] % 2)
    return refuse(diag, "16U4 needs an even inner dimension");
  for (uint32_t i = 0; i < m->rank; i++) {
    if (!m->dims[i] || m->dims[i] > 1ull << 32)
      return refuse(diag, "a dimension must be 1 to 2^32 elements");
    if (!m->element_strides[i] || m->element_strides[i] > 8)
      return refuse(diag, "an element stride must be 1 to 8");
    if (!m->im2col && (!m->box[i] || m->box[i] > 256))
      return refuse(diag, "a box dimension must be 1 to 256 elements");
    if (i && (m->strides_bytes[i - 1] % align || m->strides_bytes[i - 1] >= 1ull << 40))
      return refuse(diag, "a stride must be a multiple of 16 (interleave 32B: 32) below 2^40");
  }
  if (m->im2col) PLUMB_TRY(check_im2col(m, diag));
  uint64_t inner = (uint64_t)(m->im2col ? m->channels : m->box[0]) * bytes;
  if (!m->interleave && bytes && inner % 16)
    return refuse(diag, "the inner dimension of the box must be a multiple of 16 bytes");
  uint32_t span = plumb_swizzle_bytes(m->swizzle);
  if (!m->interleave && bytes && span && inner > span)
    return refuse(diag, "the inner dimension of the box is wider than the swizzle");
  return PLUMB_OK;
}

void plumb_tensormap_encode(const plumb_tensormap *m, uint8_t out[PLUMB_TENSORMAP_BYTES]) {
  packed p = {.magic = MAGIC,
              .rank = (uint8_t)m->rank,
              .type = (uint8_t)m->type,
              .interleave = (uint8_t)m->interleave,
              .swizzle = (uint8_t)m->swizzle,
              .address = m->address,
              .nan_fill = m->nan_fill,
              .im2col = m->im2col};
  for (int i = 0; i < 5; i++) {
    p.last[i] = (uint32_t)(m->dims[i] - 1);
    p.element_strides[i] = (uint8_t)m->element_strides[i];
    p.box[i] = (uint16_t)m->box[i];
  }
  for (int i = 0; i < 4; i++) {
    p.strides[i] = (uint32_t)(m->strides_bytes[i] / 16);
    p.stride_high[i] = (uint8_t)(m->strides_bytes[i] >> 36);
  }
  if (m->im2col) {
    p.box[0] = (uint16_t)m->channels;
    p.box[1] = (uint16_t)m->pixels;
  }
  for (int i = 0; i < 3; i++) {
    p.lower[i] = (int16_t)m->lower[i];
    p.upper[i] = (int16_t)m->upper[i];
  }
  memset(out, 0, PLUMB_TENSORMAP_BYTES);
  memcpy(out, &p, sizeof p);
}

bool plumb_tensormap_decode(const uint8_t bytes[PLUMB_TENSORMAP_BYTES], plumb_tensormap *out) {
  packed p;
  memcpy(&p, bytes, sizeof p);
  if (p.magic != MAGIC) return false;
  *out = (plumb_tensormap){.address = p.address,
                           .rank = p.rank,
                           .type = p.type,
                           .interleave = p.interleave,
                           .swizzle = p.swizzle,
                           .nan_fill = p.nan_fill != 0,
                           .im2col = p.im2col != 0};
  for (int i = 0; i < 5; i++) {
    out->dims[i] = (uint64_t)p.last[i] + 1;
    out->element_strides[i] = p.element_strides[i];
    if (!p.im2col) out->box[i] = p.box[i];
  }
  for (int i = 0; i < 4; i++)
    out->strides_bytes[i] = ((uint64_t)p.stride_high[i] << 32 | p.strides[i]) * 16;
  if (p.im2col) {
    out->channels = p.box[0];
    out->pixels = p.box[1];
  }
  for (int i = 0; i < 3; i++) {
    out->lower[i] = p.lower[i];
    out->upper[i] = p.upper[i];
  }
  return true;
}

/* Finding the rows that the addresses of an access form (see footprint.h). */
#include "targets/cpu/footprint.h"

/* Zero if every address from `distance` on is `expected` after the one `distance` before. */
PLUMB_CLONES
static uint64_t differs(const uint64_t *addresses, uint32_t lanes, uint32_t distance,
                        uint64_t expected) {
  uint64_t any = 0;
  for (uint32_t l = distance; l < lanes; l++)
    any |= (addresses[l] - addresses[l - distance]) ^ expected;
  return any;
}

bool plumb_footprint_find(const uint64_t *addresses, uint32_t lanes, plumb_footprint *out) {
  plumb_footprint fp = {.first = addresses[0], .rows = 1, .width = lanes};
  if (lanes > 1) {
    fp.step = addresses[1] - addresses[0];
    uint32_t w = 2;
    if (addresses[lanes - 1] - addresses[0] == fp.step * (lanes - 1)) {
      if (differs(addresses, lanes, 1, fp.step)) return false;
    } else {
      while (addresses[w] - addresses[w - 1] == fp.step) w++; /* ends: the last one differs */
      fp.width = w;
      fp.rows = lanes / w;
      fp.pitch = addresses[w] - addresses[0];
      if (lanes % w || differs(addresses, lanes, w, fp.pitch)) return false;
    }
  }
  *out = fp;
  return true;
}

static bool is_far(uint64_t distance) {
  const uint64_t limit = 1ull << 40;
  return distance + limit > 2 * limit;
}

bool plumb_footprint_span(const plumb_footprint *fp, int64_t *out_low, int64_t *out_high) {
  if (is_far(fp->step) || is_far(fp->pitch)) return false;
  int64_t column = (int64_t)fp->step * (fp->width - 1), row = (int64_t)fp->pitch * (fp->rows - 1);
  *out_low = (column < 0 ? column : 0) + (row < 0 ? row : 0);
  *out_high = (column > 0 ? column : 0) + (row > 0 ? row : 0);
  return true;
}

bool plumb_footprint_stretch(plumb_footprint *fp, uint64_t size_bytes) {
  if (fp->width > 1 && fp->step != 0 && fp->step != size_bytes) {
    if (fp->rows > 1) return false;
    /* One row with holes: rows of one lane each, as when every thread has a row of its own. */
    *fp = (plumb_footprint){.first = fp->first, .pitch = fp->step, .rows = fp->width, .width = 1};
  }
  fp->stretches = fp->pitch == 0 ? 1 : fp->rows;
  fp->stretch_bytes = fp->step == 0 ? size_bytes : fp->width * size_bytes;
  return true;
}

void plumb_footprint_spread(const plumb_footprint *fp, uint64_t *out) {
  for (uint32_t r = 0; r < fp->rows; r++)
    for (uint32_t c = 0; c < fp->width; c++) *out++ = fp->first + r * fp->pitch + c * fp->step;
}

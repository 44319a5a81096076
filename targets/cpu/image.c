/* Images of memory: a launch tried, and undone (cpu.h). */
#include <stdlib.h>
#include <string.h>

#include "targets/cpu/memory.h"

typedef struct piece {
  uint32_t index; /* of the allocation */
  bool all_initialised;
  uint64_t size_bytes;
  uint8_t *bytes; /* its data, then its state where that is tracked */
} piece;

struct plumb_memory_image {
  piece *pieces;
  size_t count;
};

/* What a kernel cannot change is no part of an image. */
static bool is_part(const plumb_allocation *a) {
  return a->live && !a->read_only;
}

static uint64_t room_of(const plumb_allocation *a) {
  return a->size_bytes * (plumb_allocation_tracks(a) ? 2 : 1);
}

plumb_memory_image *plumb_machine_take_image(const plumb_machine *m, uint64_t limit_bytes,
                                             bool twins) {
  uint64_t total = 0;
  size_t count = 0;
  for (uint32_t i = 0; i < m->allocation_count; i++) {
    const plumb_allocation *a = plumb_allocation_at(m, i);
    if (!is_part(a)) continue;
    if (a->backing == PLUMB_BACKING_CALLER) return NULL;
    if (a->backing == PLUMB_BACKING_TWIN && !twins) return NULL;
    total += a->size_bytes;
    count++;
    if (total > limit_bytes) return NULL;
  }
  plumb_memory_image *image = calloc(1, sizeof *image);
  if (image) image->pieces = calloc(count + 1, sizeof *image->pieces);
  if (!image || !image->pieces) abort(); /* as an arena: exhausted memory ends the process */
  for (uint32_t i = 0; i < m->allocation_count; i++) {
    const plumb_allocation *a = plumb_allocation_at(m, i);
    if (!is_part(a)) continue;
    piece *p = &image->pieces[image->count++];
    *p = (piece){i, a->all_initialised, a->size_bytes, malloc(room_of(a) + 1)};
    if (!p->bytes) abort();
    memcpy(p->bytes, a->data, a->size_bytes);
    if (plumb_allocation_tracks(a)) memcpy(p->bytes + a->size_bytes, a->state, a->size_bytes);
  }
  return image;
}

bool plumb_machine_put_image(plumb_machine *m, const plumb_memory_image *image) {
  size_t live = 0;
  for (uint32_t i = 0; i < m->allocation_count; i++) live += is_part(plumb_allocation_at(m, i));
  if (live != image->count) return false;
  for (size_t i = 0; i < image->count; i++)
    if (!is_part(plumb_allocation_at(m, image->pieces[i].index))) return false;
  for (size_t i = 0; i < image->count; i++) {
    const piece *p = &image->pieces[i];
    plumb_allocation *a = plumb_allocation_at(m, p->index);
    memcpy(a->data, p->bytes, p->size_bytes);
    if (plumb_allocation_tracks(a)) memcpy(a->state, p->bytes + p->size_bytes, p->size_bytes);
    a->all_initialised = p->all_initialised;
  }
  return true;
}

/* Whether two words that differ hold nothing but NaNs of other payloads: one of f32, or of f16
 * or bf16 where the halves differ. */
static bool are_nans(uint32_t x, uint32_t y) {
  if ((x & 0x7fffffff) > 0x7f800000 && (y & 0x7fffffff) > 0x7f800000) return true;
  for (int half = 0; half < 2; half++, x >>= 16, y >>= 16) {
    uint32_t a = x & 0x7fff, b = y & 0x7fff;
    if ((x & 0xffff) == (y & 0xffff)) continue;
    if (!(a > 0x7c00 && b > 0x7c00) && !(a > 0x7f80 && b > 0x7f80)) return false;
  }
  return true;
}

static bool is_same_data(const piece *a, const piece *b) {
  if (memcmp(a->bytes, b->bytes, a->size_bytes) == 0) return true;
  uint64_t at = 0;
  for (; at + 4 <= a->size_bytes; at += 4) {
    uint32_t x, y;
    memcpy(&x, a->bytes + at, 4);
    memcpy(&y, b->bytes + at, 4);
    if (x != y && !are_nans(x, y)) return false;
  }
  return memcmp(a->bytes + at, b->bytes + at, a->size_bytes - at) == 0;
}

bool plumb_memory_image_same(const plumb_memory_image *a, const plumb_memory_image *b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++) {
    const piece *p = &a->pieces[i], *q = &b->pieces[i];
    if (p->index != q->index || p->size_bytes != q->size_bytes || !is_same_data(p, q)) return false;
  }
  return true;
}

void plumb_memory_image_destroy(plumb_memory_image *image) {
  if (!image) return;
  for (size_t i = 0; i < image->count; i++) free(image->pieces[i].bytes);
  free(image->pieces);
  free(image);
}

/* PTX video instructions (op VIDEO), as the pseudocode of PTX ISA 9.0, 9.7.18 and 9.7.19
 * says it, one lane at a time. */
#include "ir/video.h"
#include "targets/cpu/alu_lanes.h"

typedef __int128 wide;

/* Bits [shift, shift + width) of the word, extended. */
static wide field(uint64_t word, unsigned shift, unsigned width, bool is_signed) {
  uint64_t bits = word >> shift & ((1ull << width) - 1);
  if (is_signed && bits >> (width - 1)) return (wide)bits - ((wide)1 << width);
  return (wide)bits;
}

static unsigned part_width(unsigned part) {
  return part == PLUMB_VIDEO_WORD ? 32 : part < PLUMB_VIDEO_HALF0 ? 8 : 16;
}

static unsigned part_shift(unsigned part) {
  return part == PLUMB_VIDEO_WORD   ? 0
         : part < PLUMB_VIDEO_HALF0 ? 8 * (part - PLUMB_VIDEO_BYTE0)
                                    : 16 * (part - PLUMB_VIDEO_HALF0);
}

static wide part_of(uint32_t word, unsigned part, bool is_signed) {
  return field(word, part_shift(part), part_width(part), is_signed);
}

static wide clamp(wide v, unsigned width, bool is_signed) {
  wide most = ((wide)1 << (is_signed ? width - 1 : width)) - 1, least = is_signed ? -most - 1 : 0;
  return v > most ? most : v < least ? least : v;
}

static bool compare(plumb_video_cmp cmp, wide a, wide b) {
  switch (cmp) {
    case PLUMB_VIDEO_EQ:
      return a == b;
    case PLUMB_VIDEO_NE:
      return a != b;
    case PLUMB_VIDEO_LT:
      return a < b;
    case PLUMB_VIDEO_LE:
      return a <= b;
    case PLUMB_VIDEO_GT:
      return a > b;
    default:
      return a >= b;
  }
}

static wide primary(const plumb_video *v, wide a, wide b) {
  switch ((plumb_video_op)v->op) {
    case PLUMB_VIDEO_ADD:
      return a + b;
    case PLUMB_VIDEO_SUB:
      return a - b;
    case PLUMB_VIDEO_ABSDIFF:
      return a > b ? a - b : b - a;
    case PLUMB_VIDEO_MIN:
      return a < b ? a : b;
    case PLUMB_VIDEO_MAX:
      return a > b ? a : b;
    case PLUMB_VIDEO_AVRG:
      return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case PLUMB_VIDEO_SET:
      return compare((plumb_video_cmp)v->cmp, a, b);
    default: {
      wide amount = v->wrap ? b & 31 : b > 32 ? 32 : b;
      return v->op == PLUMB_VIDEO_SHL ? a * ((wide)1 << amount) : a >> amount;
    }
  }
}

static wide secondary(plumb_video_second second, wide t, wide c) {
  switch (second) {
    case PLUMB_VIDEO_THEN_ADD:
      return t + c;
    case PLUMB_VIDEO_THEN_MIN:
      return t < c ? t : c;
    case PLUMB_VIDEO_THEN_MAX:
      return t > c ? t : c;
    default:
      return t;
  }
}

static uint32_t scalar(const plumb_video *v, uint32_t a, uint32_t b, uint32_t c) {
  wide t = primary(v, part_of(a, v->a_part, v->a_signed), part_of(b, v->b_part, v->b_signed));
  bool merge = v->second == PLUMB_VIDEO_MERGE;
  if (v->saturate) t = clamp(t, merge ? part_width(v->mask) : 32, v->d_signed);
  if (!merge)
    return (uint32_t)secondary((plumb_video_second)v->second, t, field(c, 0, 32, v->d_signed));
  if (v->mask == PLUMB_VIDEO_WORD) return (uint32_t)t;
  uint32_t mask = ((1u << part_width(v->mask)) - 1) << part_shift(v->mask);
  return ((uint32_t)t << part_shift(v->mask) & mask) | (c & ~mask);
}

static uint32_t simd(const plumb_video *v, uint32_t a, uint32_t b, uint32_t c) {
  unsigned width = 32u / v->lanes;
  uint64_t both = (uint64_t)b << 32 | a;
  uint32_t merged = 0, sum = c;
  for (unsigned i = 0; i < v->lanes; i++) {
    unsigned x = v->a_part >> (3 * i) & 7, y = v->b_part >> (3 * i) & 7;
    unsigned most = 2u * v->lanes - 1;
    wide t = primary(v, field(both, (x & most) * width, width, v->a_signed),
                     field(both, (y & most) * width, width, v->b_signed));
    if (v->saturate) t = clamp(t, width, v->d_signed);
    bool chosen = v->mask >> i & 1;
    uint32_t keep = (uint32_t)((1ull << width) - 1) << (i * width);
    if (chosen) sum += (uint32_t)t;
    merged |= (chosen ? (uint32_t)t << (i * width) : c) & keep;
  }
  return v->second == PLUMB_VIDEO_THEN_ADD ? sum : merged;
}

/* vmad (9.7.18.4): -(a*b) + c is ~(a*b) + c + 1. */
static uint32_t mad(const plumb_video *v, uint32_t a, uint32_t b, uint32_t c) {
  wide product = part_of(a, v->a_part, v->a_signed) * part_of(b, v->b_part, v->b_signed);
  bool is_signed = v->a_signed || v->b_signed || v->negate_product || v->negate_c;
  int low = v->plus_one || v->negate_product || v->negate_c;
  if (v->plus_one)
    ;
  else if (v->negate_product)
    product = ~product;
  else if (v->negate_c)
    c = ~c;
  wide t = product + field(c, 0, 32, is_signed) + low;
  t >>= v->scale;
  if (v->saturate) t = clamp(t, 32, is_signed);
  return (uint32_t)t;
}

bool plumb_alu_video(const lanes *x) {
  plumb_video v = plumb_video_decode(x->inst->imm);
  if (x->inst->type != PLUMB_I32 || !plumb_video_valid(&v)) return false;
  uint32_t *r = x->results[0];
  const uint32_t *a = x->operands[0], *b = x->operands[1], *c = x->operands[2];
  for (size_t l = x->lo; l < x->hi; l++)
    r[l] = v.op == PLUMB_VIDEO_MAD ? mad(&v, a[l], b[l], c[l])
           : v.lanes == 1          ? scalar(&v, a[l], b[l], c[l])
                                   : simd(&v, a[l], b[l], c[l]);
  return true;
}

/* How one PTX video instruction is described in the `imm` of op VIDEO (PTX ISA 9.0,
 * 9.7.18 scalar, 9.7.19 SIMD): packed by plumb_video_encode, read by the executor.
 *
 *     plumb_video v = {.op = PLUMB_VIDEO_ADD, .lanes = 1, .a_signed = true};
 *     inst->imm = plumb_video_encode(&v);
 */
#ifndef PLUMB_IR_VIDEO_H
#define PLUMB_IR_VIDEO_H

#include <stdbool.h>
#include <stdint.h>

typedef enum plumb_video_op {
  PLUMB_VIDEO_ADD,
  PLUMB_VIDEO_SUB,
  PLUMB_VIDEO_ABSDIFF,
  PLUMB_VIDEO_MIN,
  PLUMB_VIDEO_MAX,
  PLUMB_VIDEO_AVRG,
  PLUMB_VIDEO_SHL,
  PLUMB_VIDEO_SHR,
  PLUMB_VIDEO_SET,
  PLUMB_VIDEO_MAD,
  PLUMB_VIDEO_OP_COUNT
} plumb_video_op;

typedef enum plumb_video_second {
  PLUMB_VIDEO_NONE,
  PLUMB_VIDEO_THEN_ADD,
  PLUMB_VIDEO_THEN_MIN,
  PLUMB_VIDEO_THEN_MAX,
  PLUMB_VIDEO_MERGE /* into c: scalar at `mask`'s part; SIMD where `mask` has no bit */
} plumb_video_second;

typedef enum plumb_video_cmp {
  PLUMB_VIDEO_EQ,
  PLUMB_VIDEO_NE,
  PLUMB_VIDEO_LT,
  PLUMB_VIDEO_LE,
  PLUMB_VIDEO_GT,
  PLUMB_VIDEO_GE
} plumb_video_cmp;

/* Parts of a scalar operand: the whole word, bytes 0 to 3, halves 0 and 1. */
enum { PLUMB_VIDEO_WORD, PLUMB_VIDEO_BYTE0, PLUMB_VIDEO_HALF0 = 5 };

typedef struct plumb_video {
  uint8_t op, second, cmp;
  uint8_t lanes; /* 1, 2 or 4 */
  bool d_signed, a_signed, b_signed, saturate, wrap;
  bool negate_product, negate_c, plus_one; /* MAD */
  uint8_t scale;                           /* MAD: 0, 7 or 15 */
  uint8_t mask;                            /* scalar: part of d; SIMD: one bit a lane */
  uint16_t a_part, b_part; /* scalar: part; SIMD: 3 bits a lane, lane 0 lowest: which of
                              the parts of (b:a) */
} plumb_video;

static inline int64_t plumb_video_encode(const plumb_video *v) {
  uint64_t bits = (uint64_t)v->op | (uint64_t)v->second << 4 | (uint64_t)v->cmp << 7 |
                  (uint64_t)v->lanes << 10 | (uint64_t)v->d_signed << 13 |
                  (uint64_t)v->a_signed << 14 | (uint64_t)v->b_signed << 15 |
                  (uint64_t)v->saturate << 16 | (uint64_t)v->wrap << 17 |
                  (uint64_t)v->negate_product << 18 | (uint64_t)v->negate_c << 19 |
                  (uint64_t)v->plus_one << 20 | (uint64_t)v->scale << 21 | (uint64_t)v->mask << 25 |
                  (uint64_t)v->a_part << 29 | (uint64_t)v->b_part << 41;
  return (int64_t)bits;
}

static inline plumb_video plumb_video_decode(int64_t imm) {
  uint64_t bits = (uint64_t)imm;
  plumb_video v = {.op = bits & 15,
                   .second = bits >> 4 & 7,
                   .cmp = bits >> 7 & 7,
                   .lanes = bits >> 10 & 7,
                   .d_signed = bits >> 13 & 1,
                   .a_signed = bits >> 14 & 1,
                   .b_signed = bits >> 15 & 1,
                   .saturate = bits >> 16 & 1,
                   .wrap = bits >> 17 & 1,
                   .negate_product = bits >> 18 & 1,
                   .negate_c = bits >> 19 & 1,
                   .plus_one = bits >> 20 & 1,
                   .scale = bits >> 21 & 15,
                   .mask = bits >> 25 & 15,
                   .a_part = bits >> 29 & 0xfff,
                   .b_part = bits >> 41 & 0xfff};
  return v;
}

/* False for a description that plumb_video_encode never makes. */
static inline bool plumb_video_valid(const plumb_video *v) {
  bool lanes = v->lanes == 1 || v->lanes == 2 || v->lanes == 4;
  bool parts = v->lanes != 1 || (v->mask <= 6 && v->a_part <= 6 && v->b_part <= 6);
  return v->op < PLUMB_VIDEO_OP_COUNT && v->second <= PLUMB_VIDEO_MERGE &&
         v->cmp <= PLUMB_VIDEO_GE && lanes && parts;
}

#endif

/* Video instructions: scalar (9.7.18) and SIMD (9.7.19), each one op VIDEO. */
#include "ir/video.h"

#include "ir/ptx/decode.h"

/* .b2 or .h1 of a scalar operand. */
static bool scalar_part(const char *text, unsigned *out) {
  *out = PLUMB_VIDEO_WORD;
  if (!text) return true;
  if (strlen(text) != 2) return false;
  unsigned digit = (unsigned)(text[1] - '0');
  *out = digit + (text[0] == 'b' ? PLUMB_VIDEO_BYTE0 : PLUMB_VIDEO_HALF0);
  return text[0] == 'b' ? digit < 4 : text[0] == 'h' && digit < 2;
}

/* .h10 or .b7654: the digits, highest lane first, 3 bits each. */
static bool simd_part(const char *text, unsigned lanes, unsigned fallback, uint16_t *out) {
  *out = (uint16_t)fallback;
  if (!text) return true;
  if (text[0] != (lanes == 2 ? 'h' : 'b') || strlen(text) != (size_t)lanes + 1) return false;
  *out = 0;
  for (unsigned i = 0; i < lanes; i++) {
    unsigned digit = (unsigned)(text[1 + i] - '0');
    if (digit >= 2 * lanes) return false;
    *out = (uint16_t)((unsigned)*out << 3 | digit);
  }
  return true;
}

/* .h10 or .b320: the lanes that are written. */
static bool simd_mask(const char *text, unsigned lanes, uint8_t *out) {
  *out = (uint8_t)((1u << lanes) - 1);
  if (!text) return true;
  if (text[0] != (lanes == 2 ? 'h' : 'b') || !text[1]) return false;
  *out = 0;
  for (const char *c = text + 1; *c; c++) {
    unsigned digit = (unsigned)(*c - '0');
    if (digit >= lanes) return false;
    *out = (uint8_t)(*out | 1u << digit);
  }
  return true;
}

static bool operation(const char *name, plumb_video *v) {
  static const struct {
    const char *stem;
    plumb_video_op op;
  } rows[] = {{"vadd", PLUMB_VIDEO_ADD},         {"vsub", PLUMB_VIDEO_SUB},
              {"vabsdiff", PLUMB_VIDEO_ABSDIFF}, {"vmin", PLUMB_VIDEO_MIN},
              {"vmax", PLUMB_VIDEO_MAX},         {"vavrg", PLUMB_VIDEO_AVRG},
              {"vshl", PLUMB_VIDEO_SHL},         {"vshr", PLUMB_VIDEO_SHR},
              {"vset", PLUMB_VIDEO_SET},         {"vmad", PLUMB_VIDEO_MAD}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t n = strlen(rows[i].stem);
    if (strncmp(name, rows[i].stem, n) != 0) continue;
    v->op = (uint8_t)rows[i].op;
    v->lanes = !name[n] ? 1 : (uint8_t)(name[n] - '0');
    return true;
  }
  return false;
}

static plumb_video_second second_of(const ptx_decoder *d) {
  return ptx_has(d, "add")   ? PLUMB_VIDEO_THEN_ADD
         : ptx_has(d, "min") ? PLUMB_VIDEO_THEN_MIN
         : ptx_has(d, "max") ? PLUMB_VIDEO_THEN_MAX
                             : PLUMB_VIDEO_NONE;
}

static bool comparison(const ptx_decoder *d, plumb_video *v) {
  static const char *const texts[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  for (uint8_t i = 0; i < 6; i++)
    if (ptx_has(d, texts[i])) {
      v->cmp = i;
      return true;
    }
  return false;
}

/* The types: d, a, b; of vset a, b, its result is unsigned. */
static bool types(const ptx_decoder *d, plumb_video *v) {
  size_t at = v->op == PLUMB_VIDEO_SET ? 0 : 1;
  if (d->type_count != at + 2) return false;
  v->d_signed = at && d->types[0].is_signed;
  v->a_signed = d->types[at].is_signed;
  v->b_signed = d->types[at + 1].is_signed;
  return true;
}

static bool parts(const ptx_decoder *d, plumb_video *v) {
  const char *to = ptx_op(d, 0)->part, *a = ptx_op(d, 1)->part, *b = ptx_op(d, 2)->part;
  if (v->lanes == 1) {
    unsigned word[3];
    if (!scalar_part(to, &word[0]) || !scalar_part(a, &word[1]) || !scalar_part(b, &word[2]))
      return false;
    v->mask = (uint8_t)word[0], v->a_part = (uint16_t)word[1], v->b_part = (uint16_t)word[2];
    return true;
  }
  unsigned half = v->lanes == 2;
  return simd_mask(to, v->lanes, &v->mask) &&
         simd_part(a, v->lanes, half ? 01u << 3 | 0u : 03210u, &v->a_part) &&
         simd_part(b, v->lanes, half ? 03u << 3 | 2u : 07654u, &v->b_part);
}

static bool mad(const ptx_decoder *d, plumb_video *v) {
  v->negate_product = ptx_op(d, 1)->minus != ptx_op(d, 2)->minus;
  v->negate_c = ptx_op(d, 3)->minus;
  v->plus_one = ptx_has(d, "po");
  v->scale = ptx_has(d, "shr7") ? 7 : ptx_has(d, "shr15") ? 15 : 0;
  if (v->negate_product && v->negate_c) return false; /* one of the two only */
  return v->mask == PLUMB_VIDEO_WORD &&
         !(v->plus_one && (ptx_op(d, 1)->minus || ptx_op(d, 2)->minus || v->negate_c));
}

/* d, a, b{, c}: c belongs to a secondary operation or to a merge into part of d. */
bool ptx_emit_video(ptx_decoder *d) {
  plumb_video v = {0};
  size_t n = d->s->operand_count;
  if (!operation(d->s->name, &v) || n < 3 || n > 4 || !types(d, &v) || !parts(d, &v)) return false;
  if (v.op == PLUMB_VIDEO_SET && !comparison(d, &v)) return false;
  v.saturate = ptx_has(d, "sat");
  v.wrap = ptx_has(d, "wrap");
  if ((v.op == PLUMB_VIDEO_SHL || v.op == PLUMB_VIDEO_SHR) && v.wrap == ptx_has(d, "clamp"))
    return false;
  if (v.op == PLUMB_VIDEO_MAD) {
    if (n != 4 || !mad(d, &v)) return false;
  } else {
    v.second = (uint8_t)second_of(d);
    bool merges = v.lanes > 1 ? v.second == PLUMB_VIDEO_NONE : v.mask != PLUMB_VIDEO_WORD;
    if (merges && v.second != PLUMB_VIDEO_NONE) return false;
    if (merges) v.second = PLUMB_VIDEO_MERGE;
    if (v.lanes > 1 && v.second != PLUMB_VIDEO_MERGE &&
        (v.second != PLUMB_VIDEO_THEN_ADD || v.saturate))
      return false;
    if ((n == 4) != (v.second != PLUMB_VIDEO_NONE)) return false;
  }
  plumb_reg r = ptx_dst(d, 0, PLUMB_I32),
            w[3] = {ptx_src(d, 1, PLUMB_I32), ptx_src(d, 2, PLUMB_I32)};
  w[2] = n == 4 ? ptx_src(d, 3, PLUMB_I32) : ptx_const(d, PLUMB_I32, 0);
  ptx_build(d, PLUMB_OP_VIDEO, PLUMB_I32, r, w, 3)->imm = plumb_video_encode(&v);
  return ptx_done(d, 0, PLUMB_I32, false, r);
}

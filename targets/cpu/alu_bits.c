/* Bit fields, counts, permutations and byte dots: PTX ISA 9.0, sections 9.7.1 and 9.7.8,
 * mostly as the pseudocode there says it, one lane at a time. */
#include "targets/cpu/alu_lanes.h"

static uint64_t width_mask(unsigned width) {
  return width >= 64 ? UINT64_MAX : (1ull << width) - 1;
}

static uint64_t load_uint(const void *array, unsigned bytes, size_t lane) {
  uint64_t value = 0;
  memcpy(&value, (const char *)array + lane * bytes, bytes);
  return value;
}

static void store_uint(void *array, unsigned bytes, size_t lane, uint64_t value) {
  memcpy((char *)array + lane * bytes, &value, bytes);
}

static uint64_t clz(uint64_t a, unsigned width) {
  return a == 0 ? width : (uint64_t)__builtin_clzll(a) - (64 - width);
}

static uint64_t brev(uint64_t a, unsigned width) {
  uint64_t r = 0;
  for (unsigned i = 0; i < width; i++) r |= (a >> i & 1) << (width - 1 - i);
  return r;
}

/* 9.7.1.16: all ones where no bit counts. */
static uint64_t bfind(uint64_t a, unsigned width, bool is_signed, bool shift_amount) {
  if (is_signed && a >> (width - 1) & 1) a = ~a & width_mask(width);
  if (a == 0) return UINT64_MAX;
  uint64_t position = width - 1 - clz(a, width);
  return shift_amount ? width - 1 - position : position;
}

static bool execute_count(const lanes *x, unsigned width, unsigned bytes) {
  const plumb_inst *inst = x->inst;
  bool is_signed = (inst->flags & PLUMB_FLAG_SRC_SIGNED) != 0;
  for (size_t l = x->lo; l < x->hi; l++) {
    uint64_t a = load_uint(x->operands[0], bytes, l) & width_mask(width), r;
    switch ((plumb_op)inst->op) {
      case PLUMB_OP_CLZ:
        r = clz(a, width);
        break;
      case PLUMB_OP_CTZ:
        r = a == 0 ? width : (uint64_t)__builtin_ctzll(a);
        break;
      case PLUMB_OP_POPC:
        r = (uint64_t)__builtin_popcountll(a);
        break;
      case PLUMB_OP_BREV:
        r = brev(a, width);
        break;
      case PLUMB_OP_BFIND:
        r = bfind(a, width, is_signed, inst->sub == 1);
        break;
      default:
        return false;
    }
    store_uint(x->results[0], bytes, l, r & width_mask(width));
  }
  return true;
}

/* 9.7.1.19: position and length are read modulo 256. */
static uint64_t bfe(uint64_t a, uint32_t b, uint32_t c, unsigned width, bool is_signed) {
  unsigned position = b & 0xff, length = c & 0xff;
  unsigned last = length ? position + length - 1 : 0;
  if (last > width - 1) last = width - 1;
  bool sign = is_signed && length && (a >> last & 1);
  unsigned have = position >= width ? 0 : width - position;
  if (have > length) have = length;
  uint64_t field = position >= width ? 0 : a >> position & width_mask(have);
  return sign ? field | ~width_mask(have) : field;
}

/* 9.7.1.20 */
static uint64_t bfi(uint64_t field, uint64_t base, uint32_t c, uint32_t d, unsigned width) {
  unsigned position = c & 0xff, length = d & 0xff;
  if (position >= width || length == 0) return base;
  if (length > width - position) length = width - position;
  uint64_t mask = width_mask(length) << position;
  return (base & ~mask) | (field << position & mask);
}

static bool execute_field(const lanes *x, unsigned width, unsigned bytes) {
  const plumb_inst *inst = x->inst;
  bool is_signed = (inst->flags & PLUMB_FLAG_SRC_SIGNED) != 0;
  bool insert = inst->op == PLUMB_OP_BFI;
  const uint32_t *position = x->operands[insert ? 2 : 1];
  const uint32_t *length = x->operands[insert ? 3 : 2];
  for (size_t l = x->lo; l < x->hi; l++) {
    uint64_t a = load_uint(x->operands[0], bytes, l), r;
    if (insert)
      r = bfi(a, load_uint(x->operands[1], bytes, l), position[l], length[l], width);
    else
      r = bfe(a, position[l], length[l], width, is_signed);
    store_uint(x->results[0], bytes, l, r & width_mask(width));
  }
  return true;
}

/* 9.7.1.22 */
static uint32_t bmsk(uint32_t a, uint32_t b, bool clamp) {
  uint32_t position = a & 31, width = b & 31;
  uint32_t below = UINT32_MAX << position;
  bool beyond = position + width >= 32 || (clamp && b >= 32);
  if (clamp && a >= 32) return 0;
  return beyond ? below : below & ~(UINT32_MAX << (position + width));
}

/* 9.7.1.21 */
static uint32_t szext(uint32_t a, uint32_t b, bool is_signed, bool clamp) {
  uint32_t width = b & 31;
  if (clamp && b >= 32) return a;
  uint32_t mask = UINT32_MAX << width;
  bool sign = width != 0 && is_signed && (a >> (width - 1) & 1);
  return (a & ~mask) | (sign ? mask : 0);
}

/* 9.7.9.7: the four selectors of each mode's row, low byte in the low nibble. */
static const uint16_t prmt_rows[PLUMB_PRMT_COUNT][4] = {
    [PLUMB_PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543},
    [PLUMB_PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
    [PLUMB_PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333},
    [PLUMB_PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
    [PLUMB_PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210},
    [PLUMB_PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
};

static uint32_t prmt(uint32_t a, uint32_t b, uint32_t c, plumb_prmt mode) {
  uint64_t bytes = (uint64_t)b << 32 | a;
  uint32_t selector = mode == PLUMB_PRMT_INDEX ? c : prmt_rows[mode][c & 3], r = 0;
  for (unsigned i = 0; i < 4; i++) {
    uint32_t nibble = selector >> (4 * i) & 15;
    uint32_t byte = (uint32_t)(bytes >> (8 * (nibble & 7))) & 0xff;
    if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
    r |= byte << (8 * i);
  }
  return r;
}

static int32_t part(uint32_t word, unsigned shift, unsigned width, bool is_signed) {
  uint32_t bits = word >> shift & ((1u << width) - 1);
  if (is_signed && bits >> (width - 1)) bits |= UINT32_MAX << width;
  return (int32_t)bits;
}

/* 9.7.1.23, 9.7.1.24: products and sum wrap. */
static uint32_t dot(const plumb_inst *inst, uint32_t a, uint32_t b, uint32_t c) {
  bool a_signed = (inst->flags & PLUMB_FLAG_SRC_SIGNED) != 0;
  bool b_signed = (inst->flags & PLUMB_FLAG_SRC2_SIGNED) != 0;
  bool bytes = inst->op == PLUMB_OP_DP4A;
  unsigned b_base = !bytes && inst->sub == 1 ? 16 : 0;
  for (unsigned i = 0; i < (bytes ? 4u : 2u); i++) {
    int32_t left = part(a, i * (bytes ? 8 : 16), bytes ? 8 : 16, a_signed);
    int32_t right = part(b, b_base + 8 * i, 8, b_signed);
    c += (uint32_t)left * (uint32_t)right;
  }
  return c;
}

/* 9.7.1.17; a base beyond the mask, which has no meaning, finds nothing. */
static uint32_t fns(uint32_t mask, uint32_t base, uint32_t offset) {
  int32_t distance = (int32_t)offset;
  if (base > 31) return UINT32_MAX;
  if (distance == 0) return mask >> base & 1 ? base : UINT32_MAX;
  int64_t count = (distance < 0 ? -(int64_t)distance : distance) - 1;
  for (int32_t at = (int32_t)base; at >= 0 && at < 32; at += distance > 0 ? 1 : -1)
    if (mask >> at & 1 && count-- == 0) return (uint32_t)at;
  return UINT32_MAX;
}

/* sad: 9.7.1.7 */
static uint64_t sad(uint64_t a, uint64_t b, uint64_t c, unsigned width, bool is_signed) {
  uint64_t flip = is_signed ? 1ull << (width - 1) : 0;
  bool less = (a ^ flip) < (b ^ flip);
  return c + (less ? b - a : a - b);
}

static bool execute_word(const lanes *x) {
  const plumb_inst *inst = x->inst;
  uint32_t *r = x->results[0];
  const uint32_t *a = x->operands[0], *b = x->operands[1];
  const uint32_t *c = inst->operands > 2 ? x->operands[2] : NULL;
  bool clamp = (inst->flags & PLUMB_FLAG_CLAMP) != 0;
  bool is_signed = (inst->flags & PLUMB_FLAG_SRC_SIGNED) != 0;
  if (inst->type != PLUMB_I32 || (inst->op == PLUMB_OP_PRMT && inst->sub >= PLUMB_PRMT_COUNT))
    return false;
  for (size_t l = x->lo; l < x->hi; l++) {
    switch ((plumb_op)inst->op) {
      case PLUMB_OP_BMSK:
        r[l] = bmsk(a[l], b[l], clamp);
        break;
      case PLUMB_OP_SZEXT:
        r[l] = szext(a[l], b[l], is_signed, clamp);
        break;
      case PLUMB_OP_PRMT:
        r[l] = prmt(a[l], b[l], c[l], (plumb_prmt)inst->sub);
        break;
      case PLUMB_OP_FNS:
        r[l] = fns(a[l], b[l], c[l]);
        break;
      case PLUMB_OP_DP4A:
      case PLUMB_OP_DP2A:
        r[l] = dot(inst, a[l], b[l], c[l]);
        break;
      default:
        return false;
    }
  }
  return true;
}

/* Bit i of the table is the result where (a, b, c) spell i, a the highest (9.7.8.6). */
static uint64_t lop3(uint64_t a, uint64_t b, uint64_t c, uint32_t table) {
  uint64_t r = 0;
  for (unsigned i = 0; i < 8; i++)
    if (table >> i & 1) r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}

static bool execute_three(const lanes *x, unsigned width, unsigned bytes) {
  const plumb_inst *inst = x->inst;
  bool is_signed = (inst->flags & PLUMB_FLAG_SRC_SIGNED) != 0;
  for (size_t l = x->lo; l < x->hi; l++) {
    uint64_t a = load_uint(x->operands[0], bytes, l), b = load_uint(x->operands[1], bytes, l);
    uint64_t c = load_uint(x->operands[2], bytes, l), r;
    r = inst->op == PLUMB_OP_LOP3 ? lop3(a, b, c, (uint32_t)inst->imm)
                                  : sad(a, b, c, width, is_signed);
    store_uint(x->results[0], bytes, l, r & width_mask(width));
  }
  return true;
}

bool plumb_alu_bits(const lanes *x) {
  plumb_dtype type = (plumb_dtype)x->inst->type;
  if (plumb_dtype_is_float(type) || type == PLUMB_I128) return false;
  unsigned width = plumb_dtype_table[type].bits, bytes = plumb_dtype_bytes(type);
  switch ((plumb_op)x->inst->op) {
    case PLUMB_OP_CLZ:
    case PLUMB_OP_CTZ:
    case PLUMB_OP_POPC:
    case PLUMB_OP_BREV:
    case PLUMB_OP_BFIND:
      return execute_count(x, width, bytes);
    case PLUMB_OP_BFE:
    case PLUMB_OP_BFI:
      return execute_field(x, width, bytes);
    case PLUMB_OP_BMSK:
    case PLUMB_OP_SZEXT:
    case PLUMB_OP_PRMT:
    case PLUMB_OP_FNS:
    case PLUMB_OP_DP4A:
    case PLUMB_OP_DP2A:
      return execute_word(x);
    case PLUMB_OP_LOP3:
    case PLUMB_OP_SAD:
      return execute_three(x, width, bytes);
    default:
      return false;
  }
}

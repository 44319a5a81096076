/* Tensor copies (PTX ISA 9.0, 5.5 and 9.7.9.27): a box of a tensor in global memory, row by
 * row, to or from a dense box in shared memory whose 16 byte pieces are swizzled. */
#include "targets/cpu/async.h"

#include "ir/tensormap.h"

#include <stdlib.h>

#define SHARED_ALIGN 128u

typedef struct tensor_copy {
  plumb_block_run *br;
  plumb_strand *s;
  const plumb_inst *inst;
  uint32_t lane;
  plumb_tensormap map;
  uint64_t shared, barrier;
  uint32_t blocks;
  int64_t coordinates[5];
  int64_t offsets[3];
  bool im2col, load;
  unsigned element_bytes;
  plumb_segment *segments;
  size_t count, capacity;
  uint64_t shared_bytes;
} tensor_copy;

static uint64_t operand(const tensor_copy *t, uint32_t i) {
  plumb_reg r = plumb_inst_operands(t->s->frame->fn, t->inst)[i];
  const plumb_function *fn = t->s->frame->fn;
  unsigned bytes = plumb_dtype_bytes(plumb_reg_is_const(r)
                                         ? t->br->program->consts[plumb_reg_const_index(r)].type
                                         : fn->reg_types[r]);
  return plumb_lane_bits(plumb_operand(t->br, t->s->frame, r), bytes, t->lane);
}

static bool refuse(const tensor_copy *t, const char *what) {
  return plumb_trap_at(t->br, PLUMB_TRAP_TENSORMAP, t->s->frame, t->s->pc, (int32_t)t->lane, "%s",
                       what);
}

/* --- the map --- */

static bool read_map(plumb_block_run *br, plumb_strand *s, uint32_t lane, uint64_t address,
                     plumb_tensormap *out) {
  plumb_place place;
  uint8_t bytes[PLUMB_TENSORMAP_BYTES], state[PLUMB_TENSORMAP_BYTES];
  if (!plumb_place_find(br, s, lane, address, sizeof bytes, false, &place)) return false;
  if (address % 64) return plumb_trap_misaligned(br, s, lane, address, 64);
  plumb_place_read(br, &place, lane, sizeof bytes, bytes, state);
  if (plumb_tensormap_decode(bytes, out)) return true;
  plumb_trap_at(br, PLUMB_TRAP_TENSORMAP, s->frame, s->pc, (int32_t)lane,
                "no tensor map lies at the address: cuTensorMapEncode makes one");
  br->trap.address = address;
  return false;
}

/* What cannot be executed exactly is named, never guessed. */
static bool check_map(const tensor_copy *t) {
  const plumb_tensormap *m = &t->map;
  plumb_diag diag = {0};
  const char *unsupported = NULL;
  if (plumb_tensormap_check(m, &diag) != PLUMB_OK) return refuse(t, diag.message);
  if (m->rank != ((uint32_t)t->inst->imm & 255))
    return refuse(t, "the instruction's dimensions are not those of the tensor map");
  if (m->im2col != t->im2col)
    return refuse(t, "the instruction's load mode is not that of the tensor map");
  if (m->interleave) unsupported = "a tensor copy with an interleaved layout";
  if (!t->element_bytes) unsupported = "a tensor copy of sub-byte elements";
  if (m->type == PLUMB_TENSORMAP_F32_FTZ || m->type == PLUMB_TENSORMAP_TF32_FTZ)
    unsupported = "a tensor copy that flushes subnormals";
  if (m->type == PLUMB_TENSORMAP_TF32 && !t->load) unsupported = "a tensor store of tf32";
  return !unsupported || plumb_unsupported_at(t->br, t->s->frame, t->s->pc, unsupported);
}

/* --- segments --- */

static void add(tensor_copy *t, uint64_t shared, uint64_t global, uint32_t bytes) {
  if (t->count == t->capacity) {
    t->capacity = t->capacity ? t->capacity * 2 : 256;
    t->segments = realloc(t->segments, t->capacity * sizeof *t->segments);
    if (!t->segments) abort();
  }
  t->segments[t->count++] =
      t->load ? (plumb_segment){shared, global, bytes} : (plumb_segment){global, shared, bytes};
}

/* `elements` of dimension 0 from coordinate `x` on, at byte `at` of the box; `global`: the
 * address of element 0 of the row, 0 if the row is outside. */
static void add_row(tensor_copy *t, uint64_t at, uint64_t global, int64_t x, uint32_t elements) {
  uint32_t piece = t->map.swizzle == PLUMB_SWIZZLE_NONE                    ? UINT32_MAX
                   : t->map.swizzle == PLUMB_SWIZZLE_128B_ATOM_32B_FLIP_8B ? 8
                                                                           : 16;
  int64_t last = (int64_t)t->map.dims[0];
  for (uint32_t i = 0; i < elements;) {
    bool inside = global && x + i >= 0 && x + i < last;
    /* To the end of the row, or to where the row enters or leaves the tensor. */
    int64_t edge = elements;
    if (global && x + i < 0) edge = -x < elements ? -x : elements;
    if (inside && last - x < elements) edge = last - x;
    uint32_t bytes = (uint32_t)(edge - i) * t->element_bytes;
    uint64_t shared = t->shared + at + (uint64_t)i * t->element_bytes;
    uint32_t room = piece - (uint32_t)(shared % piece);
    if (piece != UINT32_MAX && bytes > room) bytes = room;
    uint64_t from = inside ? global + (uint64_t)(x + i) * t->element_bytes : 0;
    if (inside || t->load) add(t, plumb_swizzle(t->map.swizzle, shared), from, bytes);
    i += bytes / t->element_bytes;
  }
}

/* The address of element 0 of the row at coordinates c[1..], or 0. */
static uint64_t row_address(const tensor_copy *t, const int64_t *c) {
  uint64_t address = t->map.address;
  for (uint32_t d = 1; d < t->map.rank; d++) {
    if (c[d] < 0 || (uint64_t)c[d] >= t->map.dims[d]) return 0;
    address += (uint64_t)c[d] * t->map.strides_bytes[d - 1];
  }
  return address;
}

/* From one row of the box to the next: a row that is narrower than the swizzle takes the room
 * of the full swizzle width (CUDA C++ Programming Guide 13.0, "The Swizzle Modes"). What lies
 * beside it is not written. */
static uint64_t row_pitch(const tensor_copy *t, uint64_t row_bytes) {
  uint32_t span = plumb_swizzle_bytes(t->map.swizzle);
  return row_bytes < span ? span : row_bytes;
}

static void tile(tensor_copy *t) {
  const plumb_tensormap *m = &t->map;
  uint32_t count[5] = {1, 1, 1, 1, 1}, at[5] = {0};
  for (uint32_t d = 1; d < m->rank; d++)
    count[d] = (m->box[d] + m->element_strides[d] - 1) / m->element_strides[d];
  uint64_t row = 0, row_bytes = (uint64_t)m->box[0] * t->element_bytes;
  for (;;) {
    int64_t c[5];
    for (uint32_t d = 1; d < m->rank; d++)
      c[d] = t->coordinates[d] + (int64_t)at[d] * m->element_strides[d];
    add_row(t, row++ * row_pitch(t, row_bytes), row_address(t, c), t->coordinates[0], m->box[0]);
    uint32_t d = 1;
    while (d < 5 && ++at[d] == count[d]) at[d++] = 0;
    if (d == 5) break;
  }
  t->shared_bytes = row * row_bytes;
}

/* 5.5.4: base pixels go through the bounding box, dimension 1 fastest, and on to the next
 * image; each reads the pixel that the offsets lead to. */
static void columns(tensor_copy *t) {
  const plumb_tensormap *m = &t->map;
  uint32_t batch = m->rank - 1;
  uint64_t row_bytes = (uint64_t)m->channels * t->element_bytes;
  int64_t base[5];
  memcpy(base, t->coordinates, sizeof base);
  for (uint32_t p = 0; p < m->pixels; p++) {
    int64_t c[5];
    memcpy(c, base, sizeof c);
    for (uint32_t d = 1; d < batch; d++) c[d] += t->offsets[d - 1];
    add_row(t, p * row_pitch(t, row_bytes), row_address(t, c), t->coordinates[0], m->channels);
    uint32_t d = 1;
    for (; d < batch; d++) {
      base[d] += m->element_strides[d];
      if (base[d] < (int64_t)m->dims[d] + m->upper[d - 1]) break;
      base[d] = m->lower[d - 1];
    }
    if (d == batch) base[batch]++;
  }
  t->shared_bytes = m->pixels * row_bytes;
}

/* --- the copy --- */

/* What is reduced: the tensor's element type decides the signedness (9.7.9.27.2). */
static bool set_type(tensor_copy *t, plumb_async_op *op) {
  static const uint8_t types[PLUMB_TENSORMAP_TYPE_COUNT] = {
      PLUMB_I8,  PLUMB_I16, PLUMB_I32,  PLUMB_I32, PLUMB_I64, PLUMB_I64, PLUMB_F16,
      PLUMB_F32, PLUMB_F64, PLUMB_BF16, PLUMB_F32, PLUMB_F32, PLUMB_F32};
  op->type = types[t->map.type];
  op->nan_fill = t->map.nan_fill;
  op->round_tf32 = t->map.type == PLUMB_TENSORMAP_TF32;
  if (t->inst->sub < 2) return true;
  uint32_t atomic = t->inst->sub - 2u;
  bool is_signed = t->map.type == PLUMB_TENSORMAP_S32 || t->map.type == PLUMB_TENSORMAP_S64;
  bool is_float = plumb_dtype_is_float((plumb_dtype)op->type);
  if (atomic == PLUMB_ATOMIC_MIN_U && (is_signed || is_float))
    atomic = is_float ? PLUMB_ATOMIC_FMIN : PLUMB_ATOMIC_MIN_S;
  if (atomic == PLUMB_ATOMIC_MAX_U && (is_signed || is_float))
    atomic = is_float ? PLUMB_ATOMIC_FMAX : PLUMB_ATOMIC_MAX_S;
  op->reduce = (uint8_t)(atomic + 1);
  return true;
}

static bool start(tensor_copy *t, uint32_t rank) {
  plumb_async_op *op = plumb_async_op_create(t->br, t->s, t->lane, (uint32_t)t->count);
  memcpy(op->segments, t->segments, t->count * sizeof *t->segments);
  op->segment_count = (uint32_t)t->count;
  op->group = t->br->async->lanes[t->lane].bulk_group;
  set_type(t, op);
  for (uint32_t i = 0; rank != UINT32_MAX && i < op->segment_count; i++)
    op->segments[i].to = plumb_shared_of_rank(op->segments[i].to, rank);
  if (t->load && !plumb_async_ends_at(t->br, t->s, op, t->barrier, rank, t->shared_bytes)) {
    plumb_async_drop(op);
    return false;
  }
  plumb_mbarrier_object *ends = op->ends;
  if (!plumb_async_start(t->br, t->s, op)) return false;
  if (ends) plumb_mbarrier_add_op(ends, op);
  return true;
}

static bool run(tensor_copy *t) {
  if (plumb_window_of(t->shared) != PLUMB_WINDOW_SHARED)
    return refuse(t, "the box of a tensor copy must lie in shared memory");
  if (t->shared % SHARED_ALIGN)
    return plumb_trap_misaligned(t->br, t->s, t->lane, t->shared, SHARED_ALIGN);
  t->element_bytes = plumb_tensormap_type_bytes(t->map.type);
  if (!check_map(t)) return false;
  if (t->im2col)
    columns(t);
  else
    tile(t);
  if (!t->blocks) return start(t, UINT32_MAX);
  for (uint32_t rank = 0; rank < PLUMB_MAX_CLUSTER_BLOCKS; rank++)
    if ((t->blocks >> rank & 1) && !start(t, rank)) return false;
  return true;
}

bool plumb_exec_tensor_copy(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                            const plumb_lanes *on) {
  const plumb_reg *r = plumb_inst_operands(s->frame->fn, inst);
  for (uint32_t i = 0; br->undef && i < inst->operands; i++)
    if (!plumb_undef_check(br, s, r[i], on, "the operand of a tensor copy")) return false;
  bool ok = true;
  for (uint32_t l = on->lo; ok && l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    tensor_copy t = {.br = br, .s = s, .inst = inst, .lane = l};
    uint32_t rank = (uint32_t)inst->imm & 255;
    t.im2col = inst->imm >> 8 != 0;
    t.load = inst->sub == 0;
    t.shared = operand(&t, 0);
    t.barrier = operand(&t, 2);
    t.blocks = (uint32_t)operand(&t, 3);
    for (uint32_t i = 0; i < rank; i++) t.coordinates[i] = (int32_t)operand(&t, 4 + i);
    for (uint32_t i = 4 + rank; i < inst->operands; i++)
      t.offsets[i - 4 - rank] = (int64_t)operand(&t, i);
    ok = read_map(br, s, l, operand(&t, 1), &t.map) && run(&t);
    free(t.segments);
  }
  return ok;
}

/* --- tensormap.replace (9.7.9.28) --- */

/* The instruction numbers element types in its own way. */
static uint32_t element_type(uint64_t value) {
  static const uint8_t types[] = {
      PLUMB_TENSORMAP_U8,           PLUMB_TENSORMAP_U16,          PLUMB_TENSORMAP_U32,
      PLUMB_TENSORMAP_S32,          PLUMB_TENSORMAP_U64,          PLUMB_TENSORMAP_S64,
      PLUMB_TENSORMAP_F16,          PLUMB_TENSORMAP_F32,          PLUMB_TENSORMAP_F32_FTZ,
      PLUMB_TENSORMAP_F64,          PLUMB_TENSORMAP_BF16,         PLUMB_TENSORMAP_TF32,
      PLUMB_TENSORMAP_TF32_FTZ,     PLUMB_TENSORMAP_16U4_ALIGN8B, PLUMB_TENSORMAP_16U4_ALIGN16B,
      PLUMB_TENSORMAP_16U6_ALIGN16B};
  return value < sizeof types ? types[value] : PLUMB_TENSORMAP_TYPE_COUNT;
}

static void replace(plumb_tensormap *m, const plumb_inst *inst, uint64_t value) {
  static const uint8_t atoms[] = {PLUMB_SWIZZLE_128B, PLUMB_SWIZZLE_128B_ATOM_32B,
                                  PLUMB_SWIZZLE_128B_ATOM_32B_FLIP_8B, PLUMB_SWIZZLE_128B_ATOM_64B};
  uint32_t n = (uint32_t)inst->imm, v = (uint32_t)value;
  switch ((plumb_tensormap_field)inst->sub) {
    case PLUMB_TENSORMAP_FIELD_ADDRESS:
      m->address = value;
      break;
    case PLUMB_TENSORMAP_FIELD_RANK: /* one less than the rank */
      m->rank = v + 1;
      break;
    case PLUMB_TENSORMAP_FIELD_BOX:
      m->box[n] = v;
      break;
    case PLUMB_TENSORMAP_FIELD_DIM:
      m->dims[n] = v;
      break;
    case PLUMB_TENSORMAP_FIELD_STRIDE:
      if (n < 4) m->strides_bytes[n] = value;
      break;
    case PLUMB_TENSORMAP_FIELD_ELEMENT_STRIDE:
      m->element_strides[n] = v;
      break;
    case PLUMB_TENSORMAP_FIELD_TYPE:
      m->type = element_type(value);
      break;
    case PLUMB_TENSORMAP_FIELD_INTERLEAVE:
      m->interleave = v;
      break;
    case PLUMB_TENSORMAP_FIELD_SWIZZLE:
      m->swizzle = v <= PLUMB_SWIZZLE_128B ? v : PLUMB_SWIZZLE_COUNT;
      break;
    case PLUMB_TENSORMAP_FIELD_FILL:
      m->nan_fill = v != 0;
      break;
    default:
      if (m->swizzle >= PLUMB_SWIZZLE_128B)
        m->swizzle = v < sizeof atoms ? atoms[v] : PLUMB_SWIZZLE_COUNT;
      break;
  }
}

bool plumb_exec_tensormap_replace(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                                  const plumb_lanes *on) {
  const plumb_reg *r = plumb_inst_operands(s->frame->fn, inst);
  if (br->undef && (!plumb_undef_check(br, s, r[0], on, "an address") ||
                    !plumb_undef_check(br, s, r[1], on, "a field of a tensor map")))
    return false;
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    tensor_copy t = {.br = br, .s = s, .inst = inst, .lane = l};
    uint64_t address = operand(&t, 0), zero = 0;
    uint16_t one = (uint16_t)l;
    plumb_place place;
    uint8_t bytes[PLUMB_TENSORMAP_BYTES], state[PLUMB_TENSORMAP_BYTES];
    if (!read_map(br, s, l, address, &t.map) ||
        !plumb_place_find(br, s, l, address, sizeof bytes, true, &place))
      return false;
    if (br->race && place.window != PLUMB_WINDOW_LOCAL &&
        !plumb_race_touch(br, s, &one, 1, place.window, address, &zero, sizeof bytes,
                          PLUMB_TOUCH_WRITE))
      return false;
    replace(&t.map, inst, operand(&t, 1));
    plumb_tensormap_encode(&t.map, bytes);
    memset(state, PLUMB_BYTE_INITIALISED, sizeof state);
    plumb_place_write(br, &place, l, sizeof bytes, bytes, state);
  }
  return true;
}

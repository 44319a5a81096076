/* cp.async and waiting for its groups (PTX ISA 9.0, 9.7.9.25.3).
 *
 * What one instruction copies for many lanes is one op of as many rows as long as these
 * lanes wait for it together: it is checked, marked and done as a whole. Whatever is not plain to
 * see there is left to an op a lane, and an op of several lanes becomes that where they
 * part. */
#include "targets/cpu/async.h"

#include <stdlib.h>

/* The lanes of one operand, whatever its width. */
typedef struct operand {
  const uint8_t *lanes;
  unsigned bytes;
} operand;

typedef struct copy {
  plumb_block_run *br;
  plumb_strand *s;
  operand to, from, read, ignore;
  uint32_t size;
} copy;

static operand operand_of(const copy *c, const plumb_inst *inst, uint32_t i) {
  const plumb_function *fn = c->s->frame->fn;
  if (i >= inst->operands) return (operand){0};
  plumb_reg r = plumb_inst_operands(fn, inst)[i];
  plumb_dtype type = plumb_reg_is_const(r) ? c->br->program->consts[plumb_reg_const_index(r)].type
                                           : fn->reg_types[r];
  return (operand){plumb_operand(c->br, c->s->frame, r), plumb_dtype_bytes(type)};
}

static uint64_t of_lane(const operand *o, uint32_t lane) {
  return plumb_lane_bits(o->lanes, o->bytes, lane);
}

static uint32_t bytes_read(const copy *c, uint32_t lane) {
  if (c->ignore.lanes && (of_lane(&c->ignore, lane) & 1)) return 0;
  return (uint32_t)of_lane(&c->read, lane);
}

/* --- one lane --- */

static bool copy_lane(const copy *c, uint32_t lane) {
  plumb_block_run *br = c->br;
  plumb_strand *s = c->s;
  uint64_t to = of_lane(&c->to, lane), from = of_lane(&c->from, lane);
  uint32_t size = c->size, read = bytes_read(c, lane);
  if (read > size)
    return plumb_trap_at(br, PLUMB_TRAP_OUT_OF_BOUNDS, s->frame, s->pc, (int32_t)lane,
                         "cp.async reads %u bytes for %u: more is undefined", read, size);
  if (!plumb_async_check_window(br, s, lane, to, PLUMB_WINDOW_SHARED) ||
      !plumb_async_check_align(br, s, lane, to, size) ||
      (read && !plumb_async_check_align(br, s, lane, from, size)))
    return false;
  plumb_async_op *op = plumb_async_op_create(br, s, lane, 2);
  op->generic_proxy = true;
  op->group = br->async->lanes[lane].cp_group;
  if (read) op->segments[op->segment_count++] = (plumb_segment){to, from, read};
  if (read < size) op->segments[op->segment_count++] = (plumb_segment){to + read, 0, size - read};
  return plumb_async_start(br, s, op);
}

/* --- many lanes --- */

/* Rows that are copied or filled as a whole, in lanes of one group; false if some are not. */
static bool fill_rows(const copy *c, const plumb_lanes *on, plumb_async_op *op) {
  plumb_cp_rows *rows = op->rows;
  const plumb_lane_async *lanes = c->br->async->lanes;
  const uint16_t *list = plumb_lanes_list(on, c->br->list_room);
  op->lane = list[0];
  op->generic_proxy = true;
  op->group = lanes[list[0]].cp_group;
  rows->set = *on;
  rows->row_bytes = c->size;
  rows->count = on->count;
  memcpy(rows->lanes, list, on->count * sizeof *list);
  bool whole = true;
  for (uint32_t i = 0; i < on->count; i++) {
    uint32_t lane = list[i], read = bytes_read(c, lane);
    whole &= (read == 0 || read == c->size) && lanes[lane].cp_group == op->group;
    rows->to[i] = of_lane(&c->to, lane);
    rows->from[i] = read ? of_lane(&c->from, lane) : 0;
  }
  return whole;
}

/* The rows that read; how many. */
static uint32_t sources(const plumb_cp_rows *rows, uint64_t *out, uint16_t *out_lanes) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < rows->count; i++) {
    if (!rows->from[i]) continue;
    out_lanes[n] = rows->lanes[i];
    out[n++] = rows->from[i];
  }
  return n;
}

/* Marks for rows, a granule of neighbours together: false if one meets what is in flight, or
 * what was done since the lanes of the block met. */
static bool mark_rows(plumb_async_op *op, const uint64_t *rows, uint32_t count, bool write) {
  plumb_block_run *br = op->br;
  uint64_t first;
  plumb_async *home = plumb_mark_home(br, rows[0], &first);
  uint64_t shift = rows[0] - first; /* the rank of a shared address */
  if (!home) return false;
  for (uint32_t i = 0; i < count;) {
    uint64_t at = rows[i] - shift, granule = at / PLUMB_MARK_BYTES, bytes = 0;
    for (; i < count && (rows[i] - shift) / PLUMB_MARK_BYTES == granule; i++) {
      uint64_t row = rows[i] - shift, more = plumb_mark_bits(row, row + op->rows->row_bytes);
      if (write && (bytes & more)) return false;
      bytes |= more;
    }
    unsigned low = (unsigned)__builtin_ctzll(bytes), high = 64u - (unsigned)__builtin_clzll(bytes);
    if (plumb_mark_meet(home, granule, bytes, write, false) ||
        !plumb_proxy_is_quiet(br, granule * PLUMB_MARK_BYTES + low + shift, high - low, write))
      return false;
    plumb_mark *m = &op->marks[op->mark_count++];
    *m = (plumb_mark){.granule = granule, .bytes = bytes, .write = write, .op = op};
    plumb_mark_put(home, m);
  }
  return true;
}

/* The copy of all lanes as one op; false, and nothing is done, if lane by lane has to decide. */
static bool copy_rows(const copy *c, const plumb_lanes *on) {
  plumb_block_run *br = c->br;
  if (on->count < 2 || (c->size & (c->size - 1))) return false;
  plumb_async_op *op = plumb_async_rows_create(br, c->s);
  plumb_cp_rows *rows = op->rows;
  plumb_view to, from = {0};
  bool ok = fill_rows(c, on, op);
  uint32_t reads = ok ? sources(rows, br->offsets, br->list_room) : 0;
  ok = ok && plumb_window_of(rows->to[0]) == PLUMB_WINDOW_SHARED &&
       plumb_rows_find(br, rows->to, rows->count, rows->row_bytes, true, &to) &&
       (!reads || (plumb_rows_find(br, br->offsets, reads, rows->row_bytes, false, &from) &&
                   !from.read_only));
  ok = ok && (!br->race || ((!reads || mark_rows(op, br->offsets, reads, false)) &&
                            mark_rows(op, rows->to, rows->count, true)));
  if (ok)
    br->changes++;
  else
    plumb_async_drop(op);
  return ok;
}

bool plumb_exec_cp_async(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                         const plumb_lanes *on) {
  if (!plumb_async_check_operands(br, s, inst, on)) return false;
  copy c = {.br = br, .s = s, .size = (uint32_t)inst->imm};
  c.to = operand_of(&c, inst, 0);
  c.from = operand_of(&c, inst, 1);
  c.read = operand_of(&c, inst, 2);
  c.ignore = operand_of(&c, inst, 3);
  if (copy_rows(&c, on)) return true;
  for (uint32_t l = on->lo; l < on->hi; l++)
    if (plumb_lanes_has(on, l) && !copy_lane(&c, l)) return false;
  return true;
}

/* --- waiting --- */

void plumb_cp_async_split(plumb_block_run *br) {
  while (br->async->rows) plumb_async_rows_split(br->async->rows);
}

static inline void copy_row(uint8_t *to, const uint8_t *from, uint32_t bytes) {
  if (bytes == 16)
    memcpy(to, from, 16);
  else
    memcpy(to, from, bytes);
}

/* Reads and writes. False, and nothing is done, if the source is no more. */
static bool do_rows(plumb_async_op *op) {
  plumb_block_run *br = op->br;
  const plumb_cp_rows *rows = op->rows;
  const uint32_t bytes = rows->row_bytes;
  plumb_view to, from = {0};
  uint32_t reads = sources(rows, br->offsets, br->list_room);
  if (!plumb_rows_find(br, rows->to, rows->count, bytes, true, &to) ||
      (reads && !plumb_rows_find(br, br->offsets, reads, bytes, false, &from)))
    return false;
  for (uint32_t i = 0; i < rows->count; i++) {
    uint64_t at = rows->to[i] - to.base, source = rows->from[i] - from.base;
    uint8_t zeros[16] = {0}, initialised[16];
    const uint8_t *data = rows->from[i] ? from.data + source : zeros, *state = initialised;
    memset(initialised, PLUMB_BYTE_INITIALISED, sizeof initialised);
    if (rows->from[i] && from.check_state) state = from.state + source;
    if (!br->watch || memcmp(to.data + at, data, bytes) != 0) br->changes++;
    copy_row(to.data + at, data, bytes);
    copy_row(to.state + at, state, bytes);
    if (!br->run->options.companions) continue;
    plumb_place place = {to.data + at, to.state + at, rows->to[i], to.window, to.allocation};
    plumb_segment segment = {rows->to[i], rows->from[i], bytes};
    plumb_async_companions(op, rows->lanes[i], &segment, &place, data);
  }
  br->counters.shared_store_bytes += (uint64_t)rows->count * bytes;
  if (from.window == PLUMB_WINDOW_SHARED)
    br->counters.shared_load_bytes += (uint64_t)reads * bytes;
  else if (from.window == PLUMB_WINDOW_GLOBAL)
    br->counters.global_load_bytes += (uint64_t)reads * bytes;
  return true;
}

/* Notes the accesses of one side of rows that were done: they are those of the lanes. */
static bool touch_rows(const plumb_strand *s, plumb_async_op *op, bool write) {
  plumb_block_run *br = op->br;
  const plumb_cp_rows *rows = op->rows;
  uint32_t count = rows->count;
  uint64_t *offsets = br->offsets;
  uint16_t *lanes = br->list_room;
  if (write) {
    memcpy(offsets, rows->to, count * sizeof *offsets);
    memcpy(lanes, rows->lanes, count * sizeof *lanes);
  } else {
    count = sources(rows, offsets, lanes);
  }
  if (!count) return true;
  unsigned window = plumb_window_of(offsets[0]);
  /* One block's shared memory, or one allocation. */
  uint64_t base = window == PLUMB_WINDOW_SHARED ? offsets[0] - plumb_shared_offset(offsets[0])
                                                : offsets[0] & ~(uint64_t)UINT32_MAX;
  for (uint32_t i = 0; i < count; i++) offsets[i] -= base;
  return plumb_race_touch(br, s, lanes, count, window, base, offsets, rows->row_bytes,
                          write ? PLUMB_TOUCH_WRITE : PLUMB_TOUCH_READ);
}

static void unmark(plumb_async_op *op) {
  for (uint32_t i = 0; i < op->mark_count; i++) plumb_mark_remove(&op->marks[i]);
  op->mark_count = 0;
}

/* How lanes that wait stand to those of an op. */
static bool are_all(const plumb_lanes *of, const plumb_lanes *in) {
  uint64_t rest = 0;
  for (uint32_t w = of->lo / 64; w <= (of->hi - 1) / 64; w++) rest |= of->words[w] & ~in->words[w];
  return !rest;
}
static bool are_any(const plumb_lanes *of, const plumb_lanes *in) {
  uint64_t both = 0;
  for (uint32_t w = of->lo / 64; w <= (of->hi - 1) / 64; w++) both |= of->words[w] & in->words[w];
  return both;
}

/* Of each lane, the groups before `ends` end; their least and their greatest. */
typedef struct ends {
  uint64_t left, least, most;
} ends;

static uint64_t end_of(const plumb_block_run *br, uint32_t lane, uint64_t left) {
  uint64_t open = br->async->lanes[lane].cp_group;
  return open > left ? open - left : 0;
}

static bool wait_rows(plumb_block_run *br, const plumb_strand *s, const plumb_lanes *on,
                      const ends *e) {
  bool ok = true;
  plumb_async_op *next;
  for (plumb_async_op *op = br->async->rows; op; op = next) {
    next = op->next;
    if (op->group >= e->most || !are_any(&op->rows->set, on)) continue;
    op->done = op->group < e->least && are_all(&op->rows->set, on) && do_rows(op);
    if (op->done)
      unmark(op);
    else
      plumb_async_rows_split(op);
  }
  for (int write = 0; write < 2 && br->race; write++)
    for (plumb_async_op *op = br->async->rows; op && ok; op = op->next)
      if (op->done) ok = touch_rows(s, op, write);
  for (plumb_async_op *op = br->async->rows; op; op = next) {
    next = op->next;
    if (op->done) plumb_async_drop(op);
  }
  return ok;
}

static void wait_lane(plumb_block_run *br, uint32_t lane, uint64_t end, plumb_async_own *own) {
  for (plumb_async_op *op = br->async->lanes[lane].first, *next; op; op = next) {
    next = op->next;
    if (op->generic_proxy && op->group < end) plumb_async_finish_op(op, own, NULL);
  }
}

bool plumb_exec_cp_group(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                         const plumb_lanes *on) {
  plumb_async_own own = {0};
  ends e = {.left = (uint64_t)inst->imm, .least = UINT64_MAX};
  for (uint32_t l = on->lo; l < on->hi; l++) {
    if (!plumb_lanes_has(on, l)) continue;
    if (inst->sub == PLUMB_GROUP_CP_COMMIT) {
      br->async->lanes[l].cp_group++;
      continue;
    }
    uint64_t end = end_of(br, l, e.left);
    e.least = end < e.least ? end : e.least;
    e.most = end > e.most ? end : e.most;
  }
  if (inst->sub == PLUMB_GROUP_CP_COMMIT) return true;
  if (!wait_rows(br, s, on, &e)) return false;
  for (uint32_t l = on->lo; l < on->hi; l++)
    if (plumb_lanes_has(on, l) && br->async->lanes[l].first)
      wait_lane(br, l, end_of(br, l, e.left), &own);
  return plumb_async_touch_own(br, s, &own);
}

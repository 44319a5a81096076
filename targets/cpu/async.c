/* Copies in flight: marks on what they touch, and their end (see async.h). */
#include "targets/cpu/async.h"

#include <stdlib.h>

static void *take(size_t count, size_t bytes) {
  void *p = calloc(count ? count : 1, bytes);
  if (!p) abort();
  return p;
}

/* --- a block's life --- */

void plumb_async_create(plumb_block_run *br) {
  if (!br->grid->async) return;
  plumb_async *a = take(1, sizeof *a);
  a->granules = br->grid->shared_bytes / PLUMB_MARK_BYTES + 2;
  a->shared = take(a->granules, sizeof *a->shared);
  a->global = take(PLUMB_GLOBAL_MARKS, sizeof *a->global);
  a->lanes = take(br->lanes, sizeof *a->lanes);
  for (uint32_t l = 0; l < br->lanes; l++) a->lanes[l].end = &a->lanes[l].first;
  a->rows_end = &a->rows;
  a->warps = take(br->grid->warps, sizeof *a->warps);
  for (uint32_t w = 0; w < br->grid->warps; w++) a->warps[w].open = 1;
  br->async = a;
  if (br->grid->cluster_blocks > 1) return;
  br->cluster = take(1, sizeof *br->cluster);
  br->cluster->count = 1;
}

enum { SPARE_SEGMENTS = 2 }; /* cp.async: what it reads, and zeros */

static void unlink_op(plumb_async_op *op) {
  *op->link = op->next;
  if (op->next)
    op->next->link = op->link;
  else if (op->rows)
    op->br->async->rows_end = op->link;
  else
    op->br->async->lanes[op->lane].end = op->link;
}

static void op_destroy(plumb_async_op *op) {
  plumb_async *a = op->br->async;
  for (uint32_t i = 0; i < op->mark_count; i++) plumb_mark_remove(&op->marks[i]);
  unlink_op(op);
  if (op->rows) {
    op->next = a->spare_rows;
    a->spare_rows = op;
    return;
  }
  if (op->marks != op->few_marks) free(op->marks);
  if (op->data != op->few_bytes) free(op->data);
  if (op->segment_room > SPARE_SEGMENTS) {
    free(op);
    return;
  }
  op->next = a->spare;
  a->spare = op;
}

/* A copy of one row is made and ended for every few bytes of a tile: its place is kept. */
static plumb_async_op *op_take(plumb_async *a, uint32_t segments) {
  uint32_t room = segments < SPARE_SEGMENTS ? SPARE_SEGMENTS : segments;
  plumb_async_op *op = room == SPARE_SEGMENTS ? a->spare : NULL;
  if (op) {
    a->spare = op->next;
    memset(op, 0, offsetof(plumb_async_op, few_marks));
    memset(op->segments, 0, SPARE_SEGMENTS * sizeof op->segments[0]);
  } else {
    op = take(1, sizeof *op + room * sizeof op->segments[0]);
  }
  op->segment_room = room;
  return op;
}

/* Room for the values of all segments, and for what is known of each byte. */
static void op_want_data(plumb_async_op *op, uint64_t size_bytes) {
  op->data = size_bytes * 2 <= sizeof op->few_bytes ? op->few_bytes : take(size_bytes * 2, 1);
  op->state = op->data + size_bytes;
  op->has_read = true;
}

void plumb_async_begin(plumb_block_run *br) {
  plumb_async *a = br->async;
  if (!a) return;
  for (uint32_t l = 0; l < br->lanes; l++) {
    while (a->lanes[l].first) op_destroy(a->lanes[l].first);
    a->lanes[l] = (plumb_lane_async){.end = &a->lanes[l].first};
  }
  while (a->rows) op_destroy(a->rows);
  for (uint32_t w = 0; w < br->grid->warps; w++) a->warps[w] = (plumb_warp_async){.open = 1};
  while (a->barriers) {
    plumb_mbarrier_object *next = a->barriers->next;
    plumb_mark_remove(&a->barriers->mark);
    plumb_mbarrier_destroy(a->barriers);
    a->barriers = next;
  }
  if (br->cluster->count == 1) plumb_cluster_begin(br->cluster);
}

void plumb_async_destroy(plumb_block_run *br) {
  plumb_async *a = br->async;
  if (!a) return;
  plumb_async_begin(br);
  if (br->cluster->count == 1) free(br->cluster);
  for (plumb_async_op *op = a->spare, *next; op; op = next) {
    next = op->next;
    free(op);
  }
  for (plumb_async_op *op = a->spare_rows, *next; op; op = next) {
    next = op->next;
    free(op->rows->lanes);
    free(op->rows->to);
    free(op->rows->from);
    free(op->rows->marks);
    free(op->rows);
    free(op);
  }
  free(a->shared);
  free(a->global);
  free(a->lanes);
  free(a->warps);
  free(a);
  br->async = NULL;
}

void plumb_async_finish(plumb_block_run *br) {
  if (!br->async) return;
  for (uint32_t l = 0; l < br->lanes; l++)
    for (plumb_async_op *op = br->async->lanes[l].first, *next; op; op = next) {
      next = op->next;
      if (!op->ends && !op->generic_proxy) plumb_async_finish_op(op, NULL, NULL);
    }
}

/* --- ops --- */

plumb_async_op *plumb_async_op_create(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                                      uint32_t segments) {
  plumb_async *a = br->async;
  plumb_async_op *op = op_take(a, segments);
  op->br = br;
  op->lane = lane;
  op->pc = s->frame->pc_base + s->pc;
  op->type = PLUMB_I8;
  op->serial = ++a->serial;
  plumb_lane_async *mine = &a->lanes[lane];
  op->link = mine->end;
  *mine->end = op;
  mine->end = &op->next;
  return op;
}

static plumb_cp_rows *rows_create(uint32_t lanes) {
  plumb_cp_rows *r = take(1, sizeof *r);
  r->capacity = lanes;
  r->lanes = take(lanes, sizeof *r->lanes);
  r->to = take(lanes, sizeof *r->to);
  r->from = take(lanes, sizeof *r->from);
  r->marks = take(2 * (size_t)lanes, sizeof *r->marks);
  return r;
}

plumb_async_op *plumb_async_rows_create(plumb_block_run *br, const plumb_strand *s) {
  plumb_async *a = br->async;
  plumb_async_op *op = a->spare_rows;
  plumb_cp_rows *rows = op ? op->rows : rows_create(br->lanes);
  if (op)
    a->spare_rows = op->next;
  else
    op = take(1, sizeof *op);
  *op = (plumb_async_op){.br = br,
                         .rows = rows,
                         .marks = rows->marks,
                         .link = a->rows_end,
                         .pc = s->frame->pc_base + s->pc,
                         .type = PLUMB_I8,
                         .serial = ++a->serial};
  *a->rows_end = op;
  a->rows_end = &op->next;
  rows->count = 0;
  return op;
}

void plumb_async_drop(plumb_async_op *op) {
  op_destroy(op);
}

void plumb_async_give(plumb_async_op *op, const uint8_t *values, uint64_t size_bytes) {
  op_want_data(op, size_bytes);
  memcpy(op->data, values, size_bytes);
  memset(op->state, PLUMB_BYTE_INITIALISED, size_bytes);
}

static uint32_t granules_of(uint64_t address, uint64_t size_bytes) {
  return (uint32_t)((address + size_bytes - 1) / PLUMB_MARK_BYTES - address / PLUMB_MARK_BYTES + 1);
}

static void mark_bytes(plumb_async_op *op, uint64_t address, uint64_t size_bytes, bool write) {
  uint64_t local;
  plumb_async *home = plumb_mark_home(op->br, address, &local);
  uint64_t end = local + size_bytes;
  for (uint64_t at = local; home && at < end; at = (at / PLUMB_MARK_BYTES + 1) * PLUMB_MARK_BYTES) {
    plumb_mark *m = &op->marks[op->mark_count++];
    *m = (plumb_mark){.granule = at / PLUMB_MARK_BYTES,
                      .bytes = plumb_mark_bits(at, end),
                      .write = write,
                      .op = op};
    plumb_mark_put(home, m);
  }
}

static bool is_tracked(const plumb_place *p) {
  return (p->window == PLUMB_WINDOW_SHARED || p->window == PLUMB_WINDOW_GLOBAL) &&
         !(p->allocation && p->allocation->read_only);
}

/* One end of a segment: in bounds, after what was done there before, and meeting nothing
 * that is in flight. */
static bool may_touch(plumb_block_run *br, plumb_strand *s, plumb_async_op *op, uint64_t address,
                      uint32_t size_bytes, bool write) {
  plumb_place place;
  if (!plumb_place_find(br, s, op->lane, address, size_bytes, write, &place)) return false;
  if (!br->race || !is_tracked(&place)) return true;
  uint64_t local;
  plumb_async *home = plumb_mark_home(br, address, &local);
  const plumb_mark *m =
      home ? plumb_mark_find(home, local, size_bytes, write, write && op->reduce) : NULL;
  if (m)
    return plumb_mark_trap(br, s, op->lane, address, size_bytes, m,
                           write ? "the write of the copy" : "the read of the copy");
  unsigned how = (write ? PLUMB_TOUCH_WRITE : PLUMB_TOUCH_READ) |
                 (write && op->reduce ? (unsigned)PLUMB_TOUCH_STRONG : 0u);
  return plumb_proxy_follows(br, s, op->lane, address, size_bytes, how, op->generic_proxy);
}

static void name_agent(plumb_async_op *op) {
  uint32_t first = op->generic_proxy ? PLUMB_WHO_AGENT : PLUMB_WHO_ASYNC;
  uint32_t end = op->generic_proxy ? PLUMB_WHO_ASYNC : PLUMB_WHO_END;
  op->agent = first + op->br->async->next_agent[!op->generic_proxy]++ % (end - first);
}

/* `room`: as many as there may be. */
static void put_marks(plumb_async_op *op, uint32_t room) {
  bool few = room <= sizeof op->few_marks / sizeof *op->few_marks;
  op->marks = few ? op->few_marks : take(room, sizeof *op->marks);
  for (uint32_t i = 0; i < op->segment_count; i++) {
    const plumb_segment *g = &op->segments[i];
    if (g->from) mark_bytes(op, g->from, g->size_bytes, false);
    if (g->to) mark_bytes(op, g->to, g->size_bytes, true);
  }
}

bool plumb_async_start(plumb_block_run *br, plumb_strand *s, plumb_async_op *op) {
  uint32_t marks = 0;
  for (uint32_t i = 0; i < op->segment_count; i++) {
    const plumb_segment *g = &op->segments[i];
    op->size_bytes += g->size_bytes;
    if ((g->from && !may_touch(br, s, op, g->from, g->size_bytes, false)) ||
        (g->to && !may_touch(br, s, op, g->to, g->size_bytes, true))) {
      op_destroy(op);
      return false;
    }
    marks += (g->from ? granules_of(g->from, g->size_bytes) : 0) +
             (g->to ? granules_of(g->to, g->size_bytes) : 0);
  }
  name_agent(op);
  br->changes++;
  if (br->race) put_marks(op, marks);
  return true;
}

void plumb_async_rows_split(plumb_async_op *rows_op) {
  const plumb_cp_rows *rows = rows_op->rows;
  plumb_block_run *br = rows_op->br;
  for (uint32_t i = 0; i < rows_op->mark_count; i++) plumb_mark_remove(&rows_op->marks[i]);
  for (uint32_t i = 0; i < rows->count; i++) {
    plumb_async_op *op = op_take(br->async, 1);
    op->br = br;
    op->lane = rows->lanes[i];
    op->pc = rows_op->pc;
    op->type = rows_op->type;
    op->generic_proxy = true;
    op->group = rows_op->group;
    op->serial = rows_op->serial;
    op->size_bytes = rows->row_bytes;
    op->segments[op->segment_count++] =
        (plumb_segment){rows->to[i], rows->from[i], rows->row_bytes};
    plumb_lane_async *mine = &br->async->lanes[op->lane];
    plumb_async_op **at = &mine->first;
    while (*at && (*at)->serial < op->serial) at = &(*at)->next;
    op->link = at;
    op->next = *at;
    if (op->next)
      op->next->link = &op->next;
    else
      mine->end = &op->next;
    *at = op;
    name_agent(op);
    if (br->race) put_marks(op, 2);
  }
  op_destroy(rows_op);
}

/* The place of an address that was in bounds; false if it is no more. */
static bool place_again(plumb_async_op *op, uint64_t address, uint32_t size_bytes,
                        plumb_place *out) {
  plumb_view view;
  *out = (plumb_place){.address = address, .window = plumb_window_of(address)};
  if (!plumb_view_find(op->br, address, &view) ||
      address - view.base + size_bytes > view.size_bytes)
    return false;
  out->data = view.data + (address - view.base);
  out->state = view.state + (address - view.base);
  out->allocation = view.allocation;
  return true;
}

static void count_bytes(plumb_block_run *br, const plumb_place *p, uint64_t bytes, bool write) {
  if (p->window == PLUMB_WINDOW_SHARED)
    *(write ? &br->counters.shared_store_bytes : &br->counters.shared_load_bytes) += bytes;
  else if (p->window == PLUMB_WINDOW_GLOBAL)
    *(write ? &br->counters.global_store_bytes : &br->counters.global_load_bytes) += bytes;
}

/* The quiet NaN that the other rules of the executor give (reference: PTX ISA 9.7.3). */
static void fill(const plumb_async_op *op, uint8_t *data, uint32_t size_bytes) {
  memset(data, 0, size_bytes);
  if (!op->nan_fill) return;
  unsigned bytes = plumb_dtype_bytes((plumb_dtype)op->type);
  uint64_t nan = bytes == 8 ? 0x7fffffffffffffffull : bytes == 4 ? 0x7fffffffu : 0x7fffu;
  for (uint32_t i = 0; i + bytes <= size_bytes; i += bytes) memcpy(data + i, &nan, bytes);
}

/* To the nearest, ties to even; infinities and NaN stay. The PTX ISA names the element type
 * and no rounding: this is what the hardware gives (triton-lang/triton, pull request 11751). */
static void round_tf32(uint8_t *data, uint64_t size_bytes) {
  for (uint64_t i = 0; i + 4 <= size_bytes; i += 4) {
    uint32_t v;
    memcpy(&v, data + i, 4);
    if ((v & 0x7f800000u) == 0x7f800000u) continue;
    v = (v + 0xfffu + (v >> 13 & 1)) & ~0x1fffu;
    memcpy(data + i, &v, 4);
  }
}

void plumb_async_read(plumb_async_op *op) {
  if (op->has_read) return;
  op_want_data(op, op->size_bytes);
  uint64_t at = 0;
  for (uint32_t i = 0; i < op->segment_count; i++) {
    const plumb_segment *g = &op->segments[i];
    plumb_place from;
    if (!g->from) {
      fill(op, op->data + at, g->size_bytes);
      memset(op->state + at, PLUMB_BYTE_INITIALISED, g->size_bytes);
    } else if (place_again(op, g->from, g->size_bytes, &from)) {
      plumb_place_read(op->br, &from, op->lane, g->size_bytes, op->data + at, op->state + at);
      count_bytes(op->br, &from, g->size_bytes, false);
      if (op->br->race && !op->own && is_tracked(&from))
        plumb_proxy_stamp(op->br, op->agent, op->pc, g->from, g->size_bytes, PLUMB_TOUCH_READ);
    }
    at += g->size_bytes;
  }
  if (op->round_tf32) round_tf32(op->data, op->size_bytes);
  for (uint32_t i = 0; i < op->mark_count; i++)
    if (!op->marks[i].write) plumb_mark_remove(&op->marks[i]);
}

static void reduce(const plumb_async_op *op, const plumb_place *to, const uint8_t *data,
                   uint8_t *state, uint32_t size_bytes) {
  plumb_dtype type = (plumb_dtype)op->type;
  unsigned bytes = plumb_dtype_bytes(type);
  uint8_t room[64];
  for (uint32_t i = 0; i + bytes <= size_bytes; i += bytes) {
    uint64_t old = plumb_lane_bits(to->data + i, bytes, 0);
    uint64_t v = plumb_atomic_apply((plumb_atomic)(op->reduce - 1), type, old,
                                    plumb_lane_bits(data + i, bytes, 0), 0);
    bool defined = true;
    for (unsigned b = 0; b < bytes; b++)
      defined &=
          state[i + b] == PLUMB_BYTE_INITIALISED && to->state[i + b] == PLUMB_BYTE_INITIALISED;
    memcpy(room, &v, sizeof v);
    memcpy(to->data + i, room, bytes);
    memset(to->state + i, defined ? PLUMB_BYTE_INITIALISED : PLUMB_BYTE_UNINITIALISED, bytes);
  }
  op->br->changes++;
}

void plumb_async_companions(plumb_async_op *op, uint32_t lane, const plumb_segment *g,
                            const plumb_place *to, const uint8_t *data) {
  plumb_place from;
  bool copies = g->from && !op->reduce && place_again(op, g->from, g->size_bytes, &from);
  bool reduces = op->reduce && plumb_dtype_is_float((plumb_dtype)op->type);
  if (copies)
    plumb_companion_move(op->br, lane, to, &from, g->size_bytes);
  else
    plumb_companion_drop(op->br, lane, to, g->size_bytes);
  unsigned bytes = plumb_dtype_bytes((plumb_dtype)op->type);
  for (uint32_t i = 0; (reduces || (copies && op->round_tf32)) && i < g->size_bytes; i += bytes) {
    plumb_place element = *to;
    element.address += i;
    if (reduces || memcmp(from.data + i, data + i, bytes) != 0)
      plumb_companion_forget(op->br, lane, &element, bytes);
  }
}

static void write_segments(plumb_async_op *op) {
  uint64_t at = 0;
  unsigned how = PLUMB_TOUCH_WRITE | (op->reduce ? (unsigned)PLUMB_TOUCH_STRONG : 0u);
  for (uint32_t i = 0; i < op->segment_count; i++) {
    const plumb_segment *g = &op->segments[i];
    plumb_place to;
    uint8_t *data = op->data + at, *state = op->state + at;
    at += g->size_bytes;
    if (!g->to || !place_again(op, g->to, g->size_bytes, &to)) continue;
    if (op->reduce)
      reduce(op, &to, data, state, g->size_bytes);
    else
      plumb_place_write(op->br, &to, op->lane, g->size_bytes, data, state);
    count_bytes(op->br, &to, g->size_bytes, true);
    if (op->br->run->options.companions) plumb_async_companions(op, op->lane, g, &to, data);
    if (op->br->race && !op->own)
      plumb_proxy_stamp(op->br, op->agent, op->pc, g->to, g->size_bytes, how);
  }
}

/* cp.async that ends at its lane's own wait: its accesses are the lane's (9.7.9.25.3). */
static void finish_own(plumb_async_op *op, plumb_async_own *own) {
  for (uint32_t i = 0; i < op->mark_count; i++) plumb_mark_remove(&op->marks[i]);
  for (uint32_t i = 0; op->br->race && i < op->segment_count; i++) {
    const plumb_segment *g = &op->segments[i];
    for (int write = 0; write < 2; write++) {
      uint64_t address = write ? g->to : g->from;
      if (!address) continue;
      if (own->count == own->capacity) {
        own->capacity = own->capacity ? own->capacity * 2 : 256;
        own->items = realloc(own->items, own->capacity * sizeof *own->items);
        if (!own->items) abort();
      }
      own->items[own->count++] =
          (struct plumb_async_touch){address, g->size_bytes, (uint16_t)op->lane,
                                     (uint8_t)(write ? PLUMB_TOUCH_WRITE : PLUMB_TOUCH_READ)};
    }
  }
}

/* The accesses of one kind and size go together: rows of a tile nearly always are. */
bool plumb_async_touch_own(plumb_block_run *br, const plumb_strand *s, plumb_async_own *own) {
  enum { ROOM = 256 };
  uint16_t lanes[ROOM];
  uint64_t offsets[ROOM];
  bool ok = true;
  for (int how = PLUMB_TOUCH_READ; how <= PLUMB_TOUCH_WRITE && ok; how++)
    for (size_t i = 0; i < own->count && ok;) {
      const struct plumb_async_touch *first = &own->items[i];
      uint32_t n = 0;
      if (first->how != how) {
        i++;
        continue;
      }
      unsigned window = plumb_window_of(first->address);
      /* One block's shared memory, or one allocation. */
      bool shared = window == PLUMB_WINDOW_SHARED;
      uint64_t base = shared ? first->address - plumb_shared_offset(first->address)
                             : first->address & ~(uint64_t)UINT32_MAX;
      for (; i < own->count && n < ROOM; i++) {
        const struct plumb_async_touch *t = &own->items[i];
        if (t->how != how) continue;
        uint64_t offset = t->address - base;
        if (t->size_bytes != first->size_bytes ||
            offset > (shared ? (1u << PLUMB_RANK_SHIFT) - 1 : UINT32_MAX))
          break;
        lanes[n] = t->lane;
        offsets[n++] = offset;
      }
      ok = plumb_race_touch(br, s, lanes, n, window, base, offsets, first->size_bytes,
                            (unsigned)how);
    }
  free(own->items);
  *own = (plumb_async_own){0};
  return ok;
}

void plumb_async_finish_op(plumb_async_op *op, plumb_async_own *own, plumb_clock *to) {
  plumb_block_run *br = op->br;
  op->own = op->generic_proxy && own;
  if (op->product) {
    for (uint32_t i = 0; br->race && i < op->segment_count; i++)
      plumb_proxy_stamp(br, op->agent, op->pc, op->segments[i].from, op->segments[i].size_bytes,
                        PLUMB_TOUCH_READ);
  } else {
    plumb_async_read(op);
    write_segments(op);
  }
  if (op->own) finish_own(op, own);
  if (br->race && to && !op->own) {
    plumb_clock_know_lane(to, br->index, op->agent, br->race->time + 1);
    to->version++;
  }
  op_destroy(op);
}

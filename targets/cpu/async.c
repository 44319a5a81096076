/* Copies in flight: marks on what they touch, and their end (see async.h). */
#include "targets/cpu/async.h"

#include <stdlib.h>

static void *take(size_t count, size_t bytes) {
  void *p = calloc(count ? count : 1, bytes);
  if (!p) abort();
  return p;
}

/* --- marks --- */

static plumb_mark **bucket(plumb_async *a, uint64_t address) {
  uint64_t granule = address / PLUMB_MARK_BYTES;
  if (plumb_window_of(address) == PLUMB_WINDOW_SHARED)
    return &a->shared[plumb_shared_offset(address) / PLUMB_MARK_BYTES];
  return &a->global[(granule * 0x9e3779b97f4a7c15ull >> 32) % PLUMB_GLOBAL_MARKS];
}

void plumb_mark_put(plumb_async *home, plumb_mark *mark) {
  plumb_mark **at = bucket(home, mark->address);
  mark->home = home;
  mark->next = *at;
  mark->link = at;
  if (*at) (*at)->link = &mark->next;
  *at = mark;
  if (plumb_window_of(mark->address) == PLUMB_WINDOW_SHARED)
    home->shared_count++;
  else
    home->global_count++;
}

void plumb_mark_remove(plumb_mark *mark) {
  if (!mark->link) return;
  *mark->link = mark->next;
  if (mark->next) mark->next->link = mark->link;
  mark->link = NULL;
  if (plumb_window_of(mark->address) == PLUMB_WINDOW_SHARED)
    mark->home->shared_count--;
  else
    mark->home->global_count--;
}

/* The first mark that the bytes overlap; `write`: any, else only one that writes. Two
 * reductions may meet. */
static const plumb_mark *find_mark(plumb_async *a, uint64_t address, uint64_t size_bytes,
                                   bool write, bool reduces) {
  uint64_t end = address + size_bytes;
  for (uint64_t at = address / PLUMB_MARK_BYTES * PLUMB_MARK_BYTES; at < end;
       at += PLUMB_MARK_BYTES)
    for (const plumb_mark *m = *bucket(a, at); m; m = m->next) {
      if (m->address >= end || address >= m->address + m->size_bytes) continue;
      if (m->op && !write && !m->write) continue;
      if (m->op && reduces && m->write && m->op->reduce) continue;
      return m;
    }
  return NULL;
}

static bool trap_mark(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                      const plumb_mark *m, const char *what) {
  if (br->trapped) return false;
  if (!m->op) {
    plumb_trap_at(br, PLUMB_TRAP_MBARRIER, s->frame, s->pc, (int32_t)lane,
                  "%s touches a live mbarrier object", what);
    br->trap.address = address;
    return false;
  }
  const plumb_inst *inst = plumb_inst_at(br->run, m->op->pc, NULL);
  plumb_trap_at(br, PLUMB_TRAP_RACE, s->frame, s->pc, (int32_t)lane,
                "%s by lane %u meets bytes that an asynchronous copy issued by lane %u %s, and "
                "whose end nobody has waited for",
                what, lane, m->op->lane, m->write ? "writes" : "reads");
  br->trap.lane2 = (int32_t)m->op->lane;
  br->trap.address = address;
  br->trap.size_bytes = m->size_bytes;
  plumb_race_split_block(br->grid, m->op->br->index, br->trap.block2);
  if (inst) br->trap.location2 = br->program->locs[inst->loc];
  return false;
}

/* Whose table has the marks of an address, and the address there. */
static plumb_async *home_of(plumb_block_run *br, uint64_t address, uint64_t *out_local) {
  *out_local = address;
  if (plumb_window_of(address) != PLUMB_WINDOW_SHARED) return br->async;
  *out_local = plumb_window_base(PLUMB_WINDOW_SHARED) + plumb_shared_offset(address);
  plumb_block_run *owner = plumb_shared_owner(br, address);
  return owner ? owner->async : NULL;
}

bool plumb_async_allows(plumb_block_run *br, const plumb_strand *s, const uint16_t *list,
                        uint32_t count, unsigned window, uint64_t base, const uint64_t *offsets,
                        uint64_t size_bytes, unsigned how) {
  uint64_t local;
  plumb_async *home = home_of(br, base, &local);
  bool write = how & PLUMB_TOUCH_WRITE;
  if (!home || !(window == PLUMB_WINDOW_SHARED ? home->shared_count : home->global_count))
    return true;
  for (uint32_t i = 0; i < count; i++) {
    const plumb_mark *m = find_mark(home, local + offsets[i], size_bytes, write, false);
    if (m) return trap_mark(br, s, list[i], base + offsets[i], m, write ? "the write" : "the read");
  }
  return true;
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
  a->warps = take(br->grid->warps, sizeof *a->warps);
  for (uint32_t w = 0; w < br->grid->warps; w++) a->warps[w].open = 1;
  br->async = a;
  if (br->grid->cluster_blocks > 1) return;
  br->cluster = take(1, sizeof *br->cluster);
  br->cluster->count = 1;
}

enum { SPARE_SEGMENTS = 2 }; /* cp.async: what it reads, and zeros */

static void op_destroy(plumb_async_op *op) {
  plumb_async *a = op->br->async;
  for (uint32_t i = 0; i < op->mark_count; i++) plumb_mark_remove(&op->marks[i]);
  *op->link = op->next;
  if (op->next)
    op->next->link = op->link;
  else
    a->lanes[op->lane].end = op->link;
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
  plumb_async *home = home_of(op->br, address, &local);
  for (uint64_t done = 0; home && done < size_bytes;) {
    uint64_t at = local + done, room = PLUMB_MARK_BYTES - at % PLUMB_MARK_BYTES;
    plumb_mark *m = &op->marks[op->mark_count++];
    *m = (plumb_mark){.address = at,
                      .size_bytes = (uint32_t)(room < size_bytes - done ? room : size_bytes - done),
                      .write = write,
                      .op = op};
    plumb_mark_put(home, m);
    done += m->size_bytes;
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
  plumb_async *home = home_of(br, address, &local);
  const plumb_mark *m =
      home ? find_mark(home, local, size_bytes, write, write && op->reduce) : NULL;
  if (m)
    return trap_mark(br, s, op->lane, address, m,
                     write ? "the write of the copy" : "the read of the copy");
  unsigned how = (write ? PLUMB_TOUCH_WRITE : PLUMB_TOUCH_READ) |
                 (write && op->reduce ? (unsigned)PLUMB_TOUCH_STRONG : 0u);
  return plumb_proxy_follows(br, s, op->lane, address, size_bytes, how, op->generic_proxy);
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
  uint32_t first = op->generic_proxy ? PLUMB_WHO_AGENT : PLUMB_WHO_ASYNC;
  uint32_t end = op->generic_proxy ? PLUMB_WHO_ASYNC : PLUMB_WHO_END;
  op->agent = first + br->async->next_agent[!op->generic_proxy]++ % (end - first);
  br->changes++;
  if (!br->race) return true;
  bool few = marks <= sizeof op->few_marks / sizeof *op->few_marks;
  op->marks = few ? op->few_marks : take(marks, sizeof *op->marks);
  for (uint32_t i = 0; i < op->segment_count; i++) {
    const plumb_segment *g = &op->segments[i];
    if (g->from) mark_bytes(op, g->from, g->size_bytes, false);
    if (g->to) mark_bytes(op, g->to, g->size_bytes, true);
  }
  return true;
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

/* A copy takes them along; of what was rounded or reduced in floats nothing is known. */
static void follow_companions(plumb_async_op *op, const plumb_segment *g, const plumb_place *to,
                              const uint8_t *data) {
  plumb_place from;
  bool copies = g->from && !op->reduce && place_again(op, g->from, g->size_bytes, &from);
  bool reduces = op->reduce && plumb_dtype_is_float((plumb_dtype)op->type);
  if (copies)
    plumb_companion_move(op->br, op->lane, to, &from, g->size_bytes);
  else
    plumb_companion_drop(op->br, op->lane, to, g->size_bytes);
  unsigned bytes = plumb_dtype_bytes((plumb_dtype)op->type);
  for (uint32_t i = 0; (reduces || (copies && op->round_tf32)) && i < g->size_bytes; i += bytes) {
    plumb_place element = *to;
    element.address += i;
    if (reduces || memcmp(from.data + i, data + i, bytes) != 0)
      plumb_companion_forget(op->br, op->lane, &element, bytes);
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
    if (op->br->run->options.companions) follow_companions(op, g, &to, data);
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

/* Marks: the bytes that something in flight reads or writes, and mbarriers (see async.h). */
#include "targets/cpu/async.h"

static uint64_t address_of(const plumb_mark *m) {
  return m->granule * PLUMB_MARK_BYTES;
}

static plumb_mark **bucket(plumb_async *a, uint64_t address) {
  uint64_t granule = address / PLUMB_MARK_BYTES;
  if (plumb_window_of(address) == PLUMB_WINDOW_SHARED)
    return &a->shared[plumb_shared_offset(address) / PLUMB_MARK_BYTES];
  return &a->global[(granule * 0x9e3779b97f4a7c15ull >> 32) % PLUMB_GLOBAL_MARKS];
}

void plumb_mark_put(plumb_async *home, plumb_mark *mark) {
  plumb_mark **at = bucket(home, address_of(mark));
  mark->home = home;
  mark->next = *at;
  mark->link = at;
  if (*at) (*at)->link = &mark->next;
  *at = mark;
  if (plumb_window_of(address_of(mark)) == PLUMB_WINDOW_SHARED)
    home->shared_count++;
  else
    home->global_count++;
}

void plumb_mark_remove(plumb_mark *mark) {
  if (!mark->link) return;
  *mark->link = mark->next;
  if (mark->next) mark->next->link = mark->link;
  mark->link = NULL;
  if (plumb_window_of(address_of(mark)) == PLUMB_WINDOW_SHARED)
    mark->home->shared_count--;
  else
    mark->home->global_count--;
}

const plumb_mark *plumb_mark_meet(plumb_async *a, uint64_t granule, uint64_t bytes, bool write,
                                  bool reduces) {
  for (const plumb_mark *m = *bucket(a, granule * PLUMB_MARK_BYTES); m; m = m->next) {
    if (m->granule != granule || !(m->bytes & bytes)) continue;
    if (m->op && !write && !m->write) continue;
    if (m->op && reduces && m->write && m->op->reduce) continue;
    return m;
  }
  return NULL;
}

const plumb_mark *plumb_mark_find(plumb_async *a, uint64_t address, uint64_t size_bytes, bool write,
                                  bool reduces) {
  uint64_t end = address + size_bytes;
  for (uint64_t at = address; at < end; at = (at / PLUMB_MARK_BYTES + 1) * PLUMB_MARK_BYTES) {
    const plumb_mark *m =
        plumb_mark_meet(a, at / PLUMB_MARK_BYTES, plumb_mark_bits(at, end), write, reduces);
    if (m) return m;
  }
  return NULL;
}

/* The lane whose part of the copy an access of [address, end) meets, and that part's size. */
static uint32_t lane_of(const plumb_mark *m, uint64_t address, uint64_t end, uint32_t *out_bytes) {
  const plumb_cp_rows *rows = m->op->rows;
  *out_bytes = rows ? rows->row_bytes : (uint32_t)__builtin_popcountll(m->bytes);
  for (uint32_t i = 0; rows && i < rows->count; i++) {
    uint64_t at;
    plumb_mark_home(m->op->br, m->write ? rows->to[i] : rows->from[i], &at);
    if (at < end && address < at + rows->row_bytes) return rows->lanes[i];
  }
  return m->op->lane;
}

bool plumb_mark_trap(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                     uint64_t size_bytes, const plumb_mark *m, const char *what) {
  if (br->trapped) return false;
  if (!m->op) {
    plumb_trap_at(br, PLUMB_TRAP_MBARRIER, s->frame, s->pc, (int32_t)lane,
                  "%s touches a live mbarrier object", what);
    br->trap.address = address;
    return false;
  }
  const plumb_inst *inst = plumb_inst_at(br->run, m->op->pc, NULL);
  uint64_t local;
  uint32_t bytes;
  plumb_mark_home(br, address, &local);
  uint32_t issuer = lane_of(m, local, local + size_bytes, &bytes);
  plumb_trap_at(br, PLUMB_TRAP_RACE, s->frame, s->pc, (int32_t)lane,
                "%s by lane %u meets bytes that an asynchronous copy issued by lane %u %s, and "
                "whose end nobody has waited for",
                what, lane, issuer, m->write ? "writes" : "reads");
  br->trap.lane2 = (int32_t)issuer;
  br->trap.address = address;
  br->trap.size_bytes = bytes;
  plumb_race_split_block(br->grid, m->op->br->index, br->trap.block2);
  if (inst) br->trap.location2 = br->program->locs[inst->loc];
  return false;
}

plumb_async *plumb_mark_home(plumb_block_run *br, uint64_t address, uint64_t *out_local) {
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
  plumb_async *home = plumb_mark_home(br, base, &local);
  bool write = how & PLUMB_TOUCH_WRITE;
  if (!home || !(window == PLUMB_WINDOW_SHARED ? home->shared_count : home->global_count))
    return true;
  for (uint32_t i = 0; i < count; i++) {
    const plumb_mark *m = plumb_mark_find(home, local + offsets[i], size_bytes, write, false);
    if (m)
      return plumb_mark_trap(br, s, list[i], base + offsets[i], size_bytes, m,
                             write ? "the write" : "the read");
  }
  return true;
}

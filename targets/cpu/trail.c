/* The trail of a block: its regular accesses to global memory, each kept whole (a track)
 * instead of as tags of every word. Irregular reads are kept beside it (reads.c). Two tracks that
 * touch the same bytes are in order if a barrier of the whole block lies between them, or if every
 * lane meets only itself. Where that is not plain to see, or lanes meet in another way, all tracks
 * are turned into the tags that they stand for, and tags decide for the rest of the block. */
#include <assert.h>

#include "targets/cpu/race.h"

static bool same_rows(const plumb_track *a, const plumb_track *b) {
  return a->lane == b->lane && a->size_bytes == b->size_bytes && a->rows.step == b->rows.step &&
         a->rows.pitch == b->rows.pitch && a->rows.rows == b->rows.rows &&
         a->rows.width == b->rows.width;
}

/* Which repeat of `t` begins where `a` begins, were it to go on for ever; false: none. */
static bool repeat_of(const plumb_track *t, const plumb_track *a, int64_t *out_repeat) {
  int64_t away = (int64_t)(a->rows.first - t->rows.first), stride = (int64_t)t->stride;
  if (away == 0) *out_repeat = 0;
  if (away == 0 || stride == 0 || away % stride) return away == 0;
  *out_repeat = away / stride;
  return *out_repeat >= 0;
}

static uint64_t magnitude(uint64_t distance) {
  return (int64_t)distance < 0 ? 0 - distance : distance;
}

/* Where each row is one lane: every lane stays in a part of its own, if all that the lane
 * at the lowest address touches is no longer than the distance to the next lane. */
static bool keeps_apart(const plumb_track *t, const plumb_track *a) {
  uint64_t pitch = magnitude(a->rows.pitch), others = pitch * (a->rows.rows - 1);
  uint64_t low = t->low < a->low ? t->low : a->low, high = t->high > a->high ? t->high : a->high;
  return a->rows.width == 1 && a->rows.rows > 1 && high - others - low <= pitch;
}

/* Where `a`, which does not repeat, meets `t`, every lane meets only itself. */
static bool meets_own_lanes(const plumb_track *t, const plumb_track *a) {
  int64_t repeat;
  if (a->reach || !same_rows(t, a)) return false;
  if (keeps_apart(t, a)) return true;
  return repeat_of(t, a, &repeat) && repeat < t->repeats &&
         (t->repeats == 1 || magnitude(t->stride) >= a->high - a->low);
}

/* A loop repeats an access at a constant distance: then one track holds all its turns. */
static bool join(plumb_track *t, const plumb_track *a) {
  int64_t repeat;
  if (t->pc != a->pc || t->write != a->write || !same_rows(t, a)) return false;
  if (a->repeats > 1 && a->stride != t->stride) return false;
  if (t->repeats == 1 && a->repeats == 1) t->stride = a->rows.first - t->rows.first;
  if (!repeat_of(t, a, &repeat) || repeat > t->repeats) return false;
  uint64_t end = (uint64_t)repeat + a->repeats;
  if (end > UINT32_MAX) return false;
  if (end > t->repeats) t->repeats = (uint32_t)end;
  if (a->low < t->low) t->low = a->low;
  if (a->high > t->high) t->high = a->high;
  return true;
}

static bool keep(plumb_tracks *list, const plumb_track *a) {
  for (uint32_t i = 0; i < list->count; i++)
    if (join(&list->items[i], a)) return true;
  if (list->count == PLUMB_MAX_TRACKS) return false;
  list->items[list->count++] = *a;
  return true;
}

/* Tracks before the floor are in order with whatever this block does next: they wait for
 * its end, where they are compared with those of other blocks. */
static bool retire(plumb_race *r) {
  plumb_tracks *fresh = &r->trail.fresh;
  if (r->trail.floor == r->floor) return true;
  for (uint32_t i = 0; i < fresh->count; i++)
    if (!keep(&r->trail.old, &fresh->items[i])) return false;
  fresh->count = 0;
  r->trail.floor = r->floor;
  plumb_reads_retire(&r->reads);
  return true;
}

bool plumb_trail_allows(plumb_race *r, uint64_t low, uint64_t high) {
  if (r->trail.tagged || !retire(r)) return false;
  for (uint32_t i = 0; i < r->trail.fresh.count; i++) {
    const plumb_track *t = &r->trail.fresh.items[i];
    if (t->write && t->low < high && low < t->high) return false;
  }
  return true;
}

bool plumb_trail_add(plumb_race *r, const plumb_track *a) {
  if (r->trail.tagged || !retire(r)) return false;
  for (uint32_t i = 0; i < r->trail.fresh.count; i++) {
    const plumb_track *t = &r->trail.fresh.items[i];
    bool meets = t->low < a->high && a->low < t->high && (t->write || a->write);
    if (meets && !meets_own_lanes(t, a)) return false;
  }
  if (a->write && plumb_reads_meet(&r->reads, a->low, a->high)) return false;
  bool overlaps = magnitude(a->rows.pitch) < a->rows.stretch_bytes;
  if (a->write && a->rows.stretches > 1 && overlaps) return false;
  return keep(&r->trail.fresh, a);
}

void plumb_trail_begin(plumb_block_run *br) {
  plumb_trail *trail = &br->race->trail;
  trail->fresh.count = trail->old.count = 0;
  plumb_reads_begin(&br->race->reads);
  trail->floor = br->race->floor;
  trail->tagged = br->async || br->cluster || br->grid->online || br->grid->parts;
}

static void tag_tracks(plumb_block_run *br, const plumb_tracks *list, bool old) {
  for (uint32_t i = 0; i < list->count; i++) {
    const plumb_track *t = &list->items[i];
    plumb_touch touch = {.br = br,
                         .floor = br->race->floor,
                         .now = old ? br->race->start : t->time,
                         .pc = (uint64_t)t->pc << 32,
                         .write = t->write};
    bool ok = plumb_race_tag_rows(&touch, t, false);
    assert(ok); /* they were found in order when they were kept */
    (void)ok;
  }
}

void plumb_trail_to_tags(plumb_block_run *br) {
  plumb_trail *trail = &br->race->trail;
  if (trail->tagged) return;
  trail->tagged = true;
  tag_tracks(br, &trail->old, true);
  plumb_reads_to_tags(br, true);
  tag_tracks(br, &trail->fresh, false);
  plumb_reads_to_tags(br, false);
  trail->fresh.count = trail->old.count = 0;
  plumb_reads_begin(&br->race->reads);
}

/* --- at the end of a block --- */

static plumb_interval interval_of(uint64_t block, const plumb_track *t, uint32_t row) {
  uint32_t first = t->lane + row * t->rows.width;
  uint32_t last = first + t->reach + (t->rows.step ? t->rows.width - 1 : 0);
  bool up = t->reach == 0 && t->size_bytes == 4;
  return (plumb_interval){.address = t->rows.first + row * t->rows.pitch,
                          .block = block,
                          .size_bytes = (uint32_t)t->rows.stretch_bytes,
                          .pc = t->pc,
                          .who = (uint16_t)(up ? first : plumb_who_between(first, last)),
                          .step = up && first != last,
                          .how = t->write ? PLUMB_TOUCH_WRITE : PLUMB_TOUCH_READ};
}

void plumb_track_to_intervals(uint64_t block, const plumb_track *t, plumb_intervals *out) {
  plumb_interval run = {0};
  for (uint32_t row = 0; row < t->rows.stretches; row++) {
    plumb_interval next = interval_of(block, t, row);
    for (uint32_t k = 0; k < t->repeats; k++, next.address += t->stride) {
      if (run.size_bytes && run.address + run.size_bytes == next.address) {
        run.size_bytes += next.size_bytes;
        if (run.who != next.who || next.step) run.who = PLUMB_WHO_MANY;
        run.step = 0;
        continue;
      }
      if (run.size_bytes) plumb_intervals_add(out, &run);
      run = next;
    }
  }
  plumb_intervals_add(out, &run);
}

/* What a write of the same lanes covers need not be kept as a read too: whatever conflicts
 * with the read conflicts with the write. */
static bool is_covered(const plumb_trail *trail, const plumb_track *t) {
  const plumb_tracks *lists[2] = {&trail->old, &trail->fresh};
  for (int n = 0; n < 2 && !t->write; n++)
    for (uint32_t i = 0; i < lists[n]->count; i++) {
      const plumb_track *w = &lists[n]->items[i];
      if (w->write && w->rows.first == t->rows.first && w->stride == t->stride &&
          w->repeats == t->repeats && same_rows(w, t))
        return true;
    }
  return false;
}

/* Whether it is more to keep as intervals than as it is. */
static bool is_long(const plumb_track *t) {
  enum { FEW = 3 };
  uint32_t runs = t->stride == t->rows.stretch_bytes ? 1 : t->repeats;
  return (uint64_t)t->rows.stretches * runs > FEW;
}

static void end_tracks(const plumb_block_run *br, const plumb_tracks *list, plumb_finished *out) {
  for (uint32_t i = 0; i < list->count; i++) {
    const plumb_track *t = &list->items[i];
    if (is_covered(&br->race->trail, t)) continue;
    if (!is_long(t)) {
      plumb_track_to_intervals(br->index, t, &out->intervals);
      continue;
    }
    out->tracks =
        plumb_grow(out->tracks, &out->track_capacity, out->track_count + 1, sizeof *out->tracks);
    out->tracks[out->track_count++] = (struct plumb_block_track){br->index, *t};
  }
}

void plumb_trail_end(const plumb_block_run *br, plumb_finished *out) {
  end_tracks(br, &br->race->trail.old, out);
  end_tracks(br, &br->race->trail.fresh, out);
}

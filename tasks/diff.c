#include "tasks/diff.h"

#include <stdint.h>
#include <string.h>

enum { PAIR_LIMIT = 4000000 };

typedef struct lines {
  plumb_diff_line *items;
  size_t count;
} lines;

static lines split(plumb_arena *arena, const char *text) {
  lines l = {NULL, 0};
  size_t capacity = 0;
  while (*text) {
    const char *end = strchr(text, '\n');
    size_t length = end ? (size_t)(end - text) : strlen(text);
    l.items = plumb_arena_grow(arena, l.items, &capacity, l.count + 1, sizeof *l.items);
    l.items[l.count++] = (plumb_diff_line){' ', text, length};
    text += length + (end != NULL);
  }
  return l;
}

static bool same(const plumb_diff_line *a, const plumb_diff_line *b) {
  return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* lengths[i * (m + 1) + j]: the longest common subsequence of a[i..] and b[j..]. */
static uint32_t *common_lengths(plumb_arena *arena, const lines *a, const lines *b) {
  size_t n = a->count, m = b->count, row = m + 1;
  uint32_t *lengths = PLUMB_NEW_ARRAY(arena, uint32_t, (n + 1) * row);
  for (size_t i = n; i-- > 0;)
    for (size_t j = m; j-- > 0;) {
      uint32_t down = lengths[(i + 1) * row + j], right = lengths[i * row + j + 1];
      lengths[i * row + j] = same(&a->items[i], &b->items[j]) ? lengths[(i + 1) * row + j + 1] + 1
                             : down > right                   ? down
                                                              : right;
    }
  return lengths;
}

static size_t append(plumb_diff_line *out, size_t count, plumb_diff_line line, char mark) {
  line.mark = mark;
  out[count] = line;
  return count + 1;
}

/* Removed lines stand before the added ones that replace them. */
static size_t walk(const lines *a, const lines *b, const uint32_t *lengths, plumb_diff_line *out,
                   size_t count) {
  size_t i = 0, j = 0, row = b->count + 1;
  while (i < a->count || j < b->count) {
    bool both = i < a->count && j < b->count;
    if (both && same(&a->items[i], &b->items[j])) {
      count = append(out, count, a->items[i++], ' ');
      j++;
    } else if (!both ? i < a->count : lengths[(i + 1) * row + j] >= lengths[i * row + j + 1]) {
      count = append(out, count, a->items[i++], '-');
    } else {
      count = append(out, count, b->items[j++], '+');
    }
  }
  return count;
}

/* Keeps lines near a difference; each run of others becomes one '@'. */
static size_t leave_out(plumb_diff_line *all, size_t count, size_t context) {
  size_t kept = 0, next = 0; /* next: the first difference at or after i */
  bool changed = false, gap = false;
  size_t last = 0;
  for (size_t i = 0; i < count; i++) {
    if (next < i) next = i;
    while (next < count && all[next].mark == ' ') next++;
    if (all[i].mark != ' ') {
      changed = true;
      last = i;
    }
    bool near = (changed && i - last <= context) || (next < count && next - i <= context);
    plumb_diff_line line = all[i];
    if (near)
      all[kept++] = line;
    else if (!gap)
      all[kept++] = (plumb_diff_line){'@', line.text, 0};
    gap = !near;
  }
  return changed ? kept : 0;
}

bool plumb_diff_create(plumb_arena *arena, const char *before, const char *after, size_t context,
                       plumb_diff_line **out_lines, size_t *out_count) {
  lines a = split(arena, before), b = split(arena, after);
  plumb_diff_line *out = PLUMB_NEW_ARRAY(arena, plumb_diff_line, a.count + b.count);
  size_t head = 0, tail = 0, count = 0;
  while (head < a.count && head < b.count && same(&a.items[head], &b.items[head])) head++;
  while (tail < a.count - head && tail < b.count - head &&
         same(&a.items[a.count - 1 - tail], &b.items[b.count - 1 - tail]))
    tail++;
  lines middle_a = {a.items + head, a.count - head - tail};
  lines middle_b = {b.items + head, b.count - head - tail};
  if (middle_b.count && middle_a.count > PAIR_LIMIT / middle_b.count) return false;
  for (size_t i = 0; i < head; i++) count = append(out, count, a.items[i], ' ');
  count = walk(&middle_a, &middle_b, common_lengths(arena, &middle_a, &middle_b), out, count);
  for (size_t i = a.count - tail; i < a.count; i++) count = append(out, count, a.items[i], ' ');
  *out_lines = out;
  *out_count = leave_out(out, count, context);
  return true;
}

/* What differs between two texts, line by line: a longest common subsequence of lines is
 * kept, the rest is removed or added.
 *
 *     if (plumb_diff_create(arena, before, after, 3, &lines, &count)) ...
 */
#ifndef PLUMB_TASKS_DIFF_H
#define PLUMB_TASKS_DIFF_H

#include <stdbool.h>

#include "ir/base/arena.h"

/* One line, without its end; `text` points into the text it is from. */
typedef struct plumb_diff_line {
  char mark; /* ' ' in both, '-' before only, '+' after only, '@' lines left out here */
  const char *text;
  size_t length;
} plumb_diff_line;

/* Lines further than `context` from any difference are left out. Equal texts give none.
 * False: what differs is too long to compare (4 million pairs of lines). */
bool plumb_diff_create(plumb_arena *arena, const char *before, const char *after, size_t context,
                       plumb_diff_line **out_lines, size_t *out_count);

#endif

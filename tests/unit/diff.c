/* Line differences: texts, and the marked lines between them. */
#include "tasks/diff.h"

#include <string.h>

#include "tests/unit/check.h"

static const struct {
  const char *before, *after;
  size_t context;
  const char *expected; /* a mark and the line, each ended by '\n' */
} rows[] = {
    {"", "", 3, ""},
    {"a\nb\n", "a\nb\n", 3, ""},
    {"", "a\n", 3, "+a\n"},
    {"a\n", "", 3, "-a\n"},
    {"a\nb\nc\n", "a\nx\nc\n", 3, " a\n-b\n+x\n c\n"},
    {"a\nb\nc\n", "a\nx\nc\n", 0, "@\n-b\n+x\n@\n"},
    {"a\nb\nc", "a\nc", 1, " a\n-b\n c\n"},
    {"1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\nx\n4\n5\n6\n7\ny\n", 1,
     "@\n 2\n-3\n+x\n 4\n@\n 7\n-8\n+y\n"},
    {"1\n2\n3\n", "0\n1\n2\n3\n4\n", 1, "+0\n 1\n@\n 3\n+4\n"},
    /* Lines between two changes are found in both. */
    {"p\nq\nr\ns\n", "q\nz\ns\np\n", 9, "-p\n q\n-r\n+z\n s\n+p\n"},
    {"\n\n", "\n", 3, " \n-\n"},
};

int main(void) {
  plumb_arena *arena = plumb_arena_create();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plumb_diff_line *lines;
    size_t count;
    CHECK(plumb_diff_create(arena, rows[i].before, rows[i].after, rows[i].context, &lines, &count),
          "row %zu", i);
    plumb_text text = plumb_text_create(arena);
    for (size_t k = 0; k < count; k++)
      plumb_text_printf(&text, "%c%.*s\n", lines[k].mark, (int)lines[k].length, lines[k].text);
    CHECK(strcmp(text.data, rows[i].expected) == 0, "row %zu gives\n%s", i, text.data);
  }
  /* Nothing in common, and too much of it. */
  plumb_text a = plumb_text_create(arena), b = plumb_text_create(arena);
  for (int i = 0; i < 2001; i++) {
    plumb_text_printf(&a, "a%d\n", i);
    plumb_text_printf(&b, "b%d\n", i);
  }
  plumb_diff_line *lines;
  size_t count;
  CHECK(!plumb_diff_create(arena, a.data, b.data, 3, &lines, &count), "%s", "4 million pairs");
  plumb_arena_destroy(arena);
  return check_finish();
}

/* Arenas, texts, statuses and diagnostics. */
#include <stdint.h>
#include <string.h>

#include "ir/base/arena.h"
#include "tests/unit/check.h"

static void check_arena(void) {
  plumb_arena *arena = plumb_arena_create();
  static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 40000, 65536, 200000, 3};
  unsigned char *blocks[sizeof sizes / sizeof *sizes];
  size_t count = sizeof sizes / sizeof *sizes;
  for (size_t i = 0; i < count; i++) {
    blocks[i] = plumb_arena_alloc(arena, sizes[i]);
    CHECK(blocks[i] && (uintptr_t)blocks[i] % 16 == 0, "block %zu is not aligned", i);
    size_t set = 0;
    for (size_t b = 0; b < sizes[i]; b++) set += blocks[i][b] != 0;
    CHECK(set == 0, "block %zu is not zeroed", i);
    memset(blocks[i], (int)i + 1, sizes[i]);
  }
  for (size_t i = 0; i < count; i++) {
    size_t wrong = 0;
    for (size_t b = 0; b < sizes[i]; b++) wrong += blocks[i][b] != i + 1;
    CHECK(wrong == 0, "block %zu was overwritten", i);
  }

  size_t capacity = 0;
  int *values = NULL;
  for (int i = 0; i < 1000; i++) {
    values = plumb_arena_grow(arena, values, &capacity, (size_t)i + 1, sizeof *values);
    CHECK(values[i] == 0, "element %d is not zeroed", i);
    values[i] = i;
  }
  int sum = 0;
  for (int i = 0; i < 1000; i++) sum += values[i];
  CHECK(sum == 499500, "a grown array lost values");

  CHECK(strcmp(plumb_arena_copy_text(arena, "abcdef", 3), "abc") == 0, "copy_text");
  CHECK(strcmp(plumb_arena_printf(arena, "%d-%s", 7, "x"), "7-x") == 0, "printf");
  plumb_arena_destroy(arena);
  plumb_arena_destroy(NULL);
}

static void check_text(void) {
  plumb_arena *arena = plumb_arena_create();
  plumb_text text = plumb_text_create(arena);
  CHECK(text.length == 0 && text.data[0] == 0, "a new text is not empty");
  for (int i = 0; i < 1000; i++) plumb_text_printf(&text, "%d,", i % 10);
  CHECK(text.length == 2000 && strlen(text.data) == 2000, "length %zu", text.length);
  plumb_text_append(&text, "a\0b", 3);
  CHECK(text.length == 2003 && text.data[2001] == 0 && text.data[2003] == 0, "a NUL byte");
  plumb_arena_destroy(arena);
}

static const struct {
  const char *path;
  int line, column;
  const char *sentence;
} diags[] = {
    {NULL, 0, 0, "bad 7"},
    {NULL, 3, 4, "bad 7"},
    {"t.yaml", 0, 0, "t.yaml: bad 7"},
    {"t.yaml", 3, 0, "t.yaml:3: bad 7"},
    {"t.yaml", 3, 4, "t.yaml:3:4: bad 7"},
};

static void check_diag(void) {
  char buffer[64];
  for (size_t i = 0; i < sizeof diags / sizeof *diags; i++) {
    plumb_diag diag;
    plumb_status status = plumb_fail(&diag, PLUMB_BAD_INPUT, diags[i].path, diags[i].line,
                                     diags[i].column, "bad %d", 7);
    plumb_diag_format(&diag, buffer, sizeof buffer);
    CHECK(status == PLUMB_BAD_INPUT, "plumb_fail passes the status on");
    CHECK(strcmp(buffer, diags[i].sentence) == 0, "got \"%s\"", buffer);
  }
  CHECK(plumb_fail(NULL, PLUMB_LIMIT, NULL, 0, 0, "x") == PLUMB_LIMIT, "no diag");

  char longer[3000];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  plumb_diag diag;
  plumb_fail(&diag, PLUMB_BAD_INPUT, longer, 1, 1, "%s", longer);
  CHECK(strlen(diag.message) == sizeof diag.message - 1, "a message is cut");
  CHECK(strlen(diag.path) == sizeof diag.path - 1, "a path is cut");
}

static const struct {
  plumb_status status;
  int exit_code;
} codes[] = {{PLUMB_OK, 0},          {PLUMB_BAD_USAGE, 2}, {PLUMB_BAD_INPUT, 2},
             {PLUMB_UNSUPPORTED, 3}, {PLUMB_LIMIT, 3},     {PLUMB_INTERNAL, 4}};

int main(void) {
  check_arena();
  check_text();
  check_diag();
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    CHECK(plumb_status_exit_code(codes[i].status) == codes[i].exit_code, "%s",
          plumb_status_name(codes[i].status));

  plumb_arena *arena = plumb_arena_create();
  char *text;
  size_t length;
  plumb_diag diag = {0};
  CHECK(plumb_file_read(arena, "no/such.file", &text, &length, &diag) == PLUMB_BAD_INPUT,
        "missing");
  CHECK(strcmp(diag.message, "cannot read: No such file or directory") == 0, "%s", diag.message);
  CHECK(plumb_file_read(arena, "/", &text, &length, &diag) == PLUMB_BAD_INPUT, "a folder");
  CHECK(strcmp(diag.message, "is a folder; give a file") == 0, "%s", diag.message);
  plumb_arena_destroy(arena);
  return check_finish();
}

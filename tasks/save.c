#include "tasks/save.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Letters and digits stay, a run of anything else is one '-'. */
static const char *file_word(plumb_arena *arena, const char *text) {
  size_t n = 0, length = strlen(text);
  char *word = plumb_arena_alloc(arena, length + 1);
  for (size_t i = 0; i < length && n < 48; i++) {
    char c = text[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain)
      word[n++] = c;
    else if (n && word[n - 1] != '-')
      word[n++] = '-';
  }
  while (n && word[n - 1] == '-') n--;
  word[n] = 0;
  return word;
}

plumb_status plumb_stage_save(plumb_arena *arena, const char *folder, const char *side,
                              const plumb_stage *stage, const char **out_path, plumb_diag *diag) {
  static const char *const endings[] = {"mlir", "ll", "ptx", "plumb"};
  *out_path = NULL;
  if (!stage->text_length) return PLUMB_OK;
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return plumb_fail(diag, PLUMB_BAD_INPUT, folder, 0, 0, "--save: cannot create the folder: %s",
                      strerror(errno));
  const char *path =
      plumb_arena_printf(arena, "%s/%s-%03d-%s.%s", folder, file_word(arena, side), stage->index,
                         file_word(arena, stage->step), endings[stage->kind]);
  FILE *file = fopen(path, "wb");
  bool written = file && fwrite(stage->text, 1, stage->text_length, file) == stage->text_length;
  if (file && fclose(file) != 0) written = false;
  if (!written)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "cannot write: %s", strerror(errno));
  *out_path = path;
  return PLUMB_OK;
}

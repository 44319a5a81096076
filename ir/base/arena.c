#include "ir/base/arena.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK_BYTES = 64 * 1024, ALIGN_BYTES = 16 };

typedef struct chunk {
  struct chunk *next;
  size_t used;
  size_t size;
  size_t padding; /* keeps the data 16-byte aligned */
} chunk;

struct plumb_arena {
  chunk *head;
};

static void *must_calloc(size_t size_bytes) {
  void *memory = calloc(1, size_bytes);
  if (!memory) {
    fprintf(stderr, "plumb: out of memory (%zu bytes)\n", size_bytes);
    abort();
  }
  return memory;
}

plumb_arena *plumb_arena_create(void) {
  return must_calloc(sizeof(plumb_arena));
}

void plumb_arena_destroy(plumb_arena *arena) {
  if (!arena) return;
  for (chunk *c = arena->head; c;) {
    chunk *next = c->next;
    free(c);
    c = next;
  }
  free(arena);
}

void *plumb_arena_alloc(plumb_arena *arena, size_t size_bytes) {
  if (size_bytes > SIZE_MAX / 2) {
    fprintf(stderr, "plumb: out of memory (%zu bytes)\n", size_bytes);
    abort();
  }
  size_t rounded = (size_bytes + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
  chunk *c = arena->head;
  if (!c || c->size - c->used < rounded) {
    size_t data_bytes = rounded > CHUNK_BYTES ? rounded : CHUNK_BYTES;
    chunk *fresh = must_calloc(sizeof(chunk) + data_bytes);
    fresh->size = data_bytes;
    /* A large block goes behind the head, so that the head's rest stays in use. */
    if (c && rounded > CHUNK_BYTES / 2) {
      fresh->next = c->next;
      c->next = fresh;
    } else {
      fresh->next = c;
      arena->head = fresh;
    }
    c = fresh;
  }
  void *result = (char *)(c + 1) + c->used;
  c->used += rounded;
  return result;
}

void *plumb_arena_alloc_array(plumb_arena *arena, size_t count, size_t size_bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, size_bytes, &total)) total = SIZE_MAX;
  return plumb_arena_alloc(arena, total);
}

char *plumb_arena_copy_text(plumb_arena *arena, const char *text, size_t length) {
  char *copy = plumb_arena_alloc(arena, length + 1);
  if (length) memcpy(copy, text, length);
  return copy;
}

char *plumb_arena_copy_string(plumb_arena *arena, const char *text) {
  return plumb_arena_copy_text(arena, text, strlen(text));
}

char *plumb_arena_printf(plumb_arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *result = plumb_arena_alloc(arena, (size_t)length + 1);
  vsnprintf(result, (size_t)length + 1, format, again);
  va_end(again);
  return result;
}

void *plumb_arena_grow(plumb_arena *arena, void *array, size_t *capacity, size_t needed,
                       size_t element_bytes) {
  if (needed <= *capacity) return array;
  size_t grown = *capacity ? *capacity * 2 : 8;
  if (grown < needed) grown = needed;
  void *fresh = plumb_arena_alloc_array(arena, grown, element_bytes);
  if (array) memcpy(fresh, array, *capacity * element_bytes);
  *capacity = grown;
  return fresh;
}

plumb_text plumb_text_create(plumb_arena *arena) {
  plumb_text text = {.arena = arena};
  text.data = plumb_arena_grow(arena, NULL, &text.capacity, 64, 1);
  return text;
}

void plumb_text_append(plumb_text *text, const char *data, size_t length) {
  text->data =
      plumb_arena_grow(text->arena, text->data, &text->capacity, text->length + length + 1, 1);
  if (length) memcpy(text->data + text->length, data, length);
  text->length += length;
  text->data[text->length] = 0;
}

void plumb_text_printf(plumb_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  text->data = plumb_arena_grow(text->arena, text->data, &text->capacity,
                                text->length + (size_t)length + 1, 1);
  vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
  va_end(again);
  text->length += (size_t)length;
}

plumb_status plumb_file_read(plumb_arena *arena, const char *path, char **out_text,
                             size_t *out_length, plumb_diag *diag) {
  struct stat info;
  if (stat(path, &info) != 0)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "cannot read: %s", strerror(errno));
  if (S_ISDIR(info.st_mode))
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "is a folder; give a file");
  FILE *file = fopen(path, "rb");
  if (!file)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "cannot read: %s", strerror(errno));
  enum { LIMIT_BYTES = 1 << 30 };
  plumb_text text = plumb_text_create(arena);
  char block[1 << 16];
  size_t got;
  while ((got = fread(block, 1, sizeof block, file)) > 0 && text.length <= LIMIT_BYTES)
    plumb_text_append(&text, block, got);
  int failed = ferror(file);
  fclose(file);
  if (failed) return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "cannot read the whole file");
  if (text.length > LIMIT_BYTES)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "is larger than 1 GiB");
  *out_text = text.data;
  *out_length = text.length;
  return PLUMB_OK;
}

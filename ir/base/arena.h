/* Arenas: memory with one lifetime (session, task, run). Everything allocated
 * from an arena is released at once by plumb_arena_destroy. There is no free.
 * Exhausted memory ends the process with a message: no caller can go on.
 *
 *     plumb_arena *arena = plumb_arena_create();
 *     int *values = PLUMB_NEW_ARRAY(arena, int, count);
 */
#ifndef PLUMB_IR_BASE_ARENA_H
#define PLUMB_IR_BASE_ARENA_H

#include <stddef.h>

#include "ir/base/status.h"

typedef struct plumb_arena plumb_arena;

plumb_arena *plumb_arena_create(void);
void plumb_arena_destroy(plumb_arena *arena);

/* Zeroed, aligned to 16 bytes. Size 0 gives a valid pointer. */
void *plumb_arena_alloc(plumb_arena *arena, size_t size_bytes);

/* count * size_bytes with an overflow check; zeroed. */
void *plumb_arena_alloc_array(plumb_arena *arena, size_t count, size_t size_bytes);

/* Copies `length` bytes and adds a terminator. */
char *plumb_arena_copy_text(plumb_arena *arena, const char *text, size_t length);
char *plumb_arena_copy_string(plumb_arena *arena, const char *text);
char *plumb_arena_printf(plumb_arena *arena, const char *format, ...) PLUMB_PRINTF(2, 3);

#define PLUMB_NEW(arena, type) ((type *)plumb_arena_alloc((arena), sizeof(type)))
#define PLUMB_NEW_ARRAY(arena, type, count) \
  ((type *)plumb_arena_alloc_array((arena), (count), sizeof(type)))

/* Grows an array that lives in `arena` so that element `needed - 1` exists:
 * returns the old or a new pointer, new elements zeroed, *capacity updated. */
void *plumb_arena_grow(plumb_arena *arena, void *array, size_t *capacity, size_t needed,
                       size_t element_bytes);

/* A growing text in an arena, always terminated. */
typedef struct plumb_text {
  plumb_arena *arena;
  char *data;
  size_t length;
  size_t capacity;
} plumb_text;

plumb_text plumb_text_create(plumb_arena *arena);
void plumb_text_append(plumb_text *text, const char *data, size_t length);
void plumb_text_printf(plumb_text *text, const char *format, ...) PLUMB_PRINTF(2, 3);

/* Reads a whole file; *out_text is terminated, *out_length excludes the terminator.
 * PLUMB_BAD_INPUT  cannot be opened or read, is a folder, or exceeds 1 GiB */
plumb_status plumb_file_read(plumb_arena *arena, const char *path, char **out_text,
                             size_t *out_length, plumb_diag *diag);

#endif

/* The task file's reader, then the shapes of what it accepts. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tasks/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  plumb_task *task;
  plumb_task_shape *shapes;
  size_t count;
  plumb_status status =
      plumb_task_read(arena, "fuzz/task.yaml", (const char *)data, size, &task, &diag);
  if (status == PLUMB_OK) status = plumb_task_shapes(arena, task, &shapes, &count, &diag);
  if (status != PLUMB_OK && !diag.message[0]) abort(); /* a failure without a message */
  plumb_arena_destroy(arena);
  return 0;
}

/* An array of values of one element type: a tensor of a task, a value of the command
 * line, an .npy file, what a run left in memory. */
#ifndef PLUMB_TASKS_ARRAY_H
#define PLUMB_TASKS_ARRAY_H

#include <stdint.h>

#include "ir/dtype.h"

typedef struct plumb_array {
  plumb_dtype type;
  size_t rank;
  int64_t *dims;
  size_t count; /* elements */
  void *data;   /* row-major, count * storage bytes */
} plumb_array;

static inline size_t plumb_array_bytes(const plumb_array *array) {
  return array->count * plumb_dtype_bytes(array->type);
}

#endif

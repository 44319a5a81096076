/* Shapes: every choice of values for the sizes of a task. */
#include <string.h>

#include "tasks/size.h"
#include "tasks/task.h"

enum { SHAPE_LIMIT = 10000 };

/* The values chosen so far: `known` sizes have one. */
typedef struct scope {
  const plumb_task *task;
  const int64_t *values;
  const bool *known; /* NULL: all */
} scope;

static bool look_up(void *user, const char *name, size_t length, int64_t *out_value) {
  const scope *s = user;
  for (size_t i = 0; i < s->task->size_count; i++)
    if (strlen(s->task->sizes[i].name) == length &&
        memcmp(s->task->sizes[i].name, name, length) == 0 && (!s->known || s->known[i])) {
      *out_value = s->values[i];
      return true;
    }
  return false;
}

static plumb_status evaluate(const scope *s, plumb_task_expression e, int64_t *out_value,
                             plumb_diag *diag) {
  plumb_diag problem;
  plumb_status status =
      plumb_size_evaluate(e.text, look_up, (void *)(uintptr_t)s, out_value, &problem);
  return status == PLUMB_OK
             ? status
             : plumb_fail(diag, status, s->task->path, e.line, 0, "%s", problem.message);
}

plumb_status plumb_task_evaluate(const plumb_task *task, const plumb_task_shape *shape,
                                 plumb_task_expression expression, int64_t *out_value,
                                 plumb_diag *diag) {
  scope s = {task, shape->values, NULL};
  return evaluate(&s, expression, out_value, diag);
}

/* Evaluates sizes whose expressions only need known ones, until nothing changes. */
static plumb_status resolve(plumb_arena *arena, const plumb_task *task, const size_t *choice,
                            int64_t *values, plumb_diag *diag) {
  bool *known = PLUMB_NEW_ARRAY(arena, bool, task->size_count);
  scope s = {task, values, known};
  size_t left = task->size_count;
  plumb_diag problem;
  while (left) {
    size_t before = left;
    for (size_t i = 0; i < task->size_count; i++) {
      plumb_task_expression e = task->sizes[i].values[choice[i]];
      if (known[i] || evaluate(&s, e, &values[i], &problem) != PLUMB_OK) continue;
      if (values[i] < 0)
        return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, e.line, 0,
                          "size %s = %s is %lld; sizes are not negative", task->sizes[i].name,
                          e.text, (long long)values[i]);
      known[i] = true;
      left--;
    }
    if (left == before) {
      if (diag) *diag = problem;
      return PLUMB_BAD_INPUT;
    }
  }
  return PLUMB_OK;
}

plumb_status plumb_task_shapes(plumb_arena *arena, const plumb_task *task,
                               plumb_task_shape **out_shapes, size_t *out_count, plumb_diag *diag) {
  size_t count = 1;
  for (size_t i = 0; i < task->size_count; i++)
    if (__builtin_mul_overflow(count, task->sizes[i].value_count, &count) || count > SHAPE_LIMIT)
      return plumb_fail(diag, PLUMB_BAD_INPUT, task->path, 0, 0,
                        "the sizes give more than %d shapes", SHAPE_LIMIT);
  *out_shapes = PLUMB_NEW_ARRAY(arena, plumb_task_shape, count);
  size_t *choice = PLUMB_NEW_ARRAY(arena, size_t, task->size_count);
  for (size_t k = 0; k < count; k++) {
    size_t rest = k;
    for (size_t i = task->size_count; i-- > 0;) {
      choice[i] = rest % task->sizes[i].value_count;
      rest /= task->sizes[i].value_count;
    }
    (*out_shapes)[k].values = PLUMB_NEW_ARRAY(arena, int64_t, task->size_count);
    PLUMB_TRY(resolve(arena, task, choice, (*out_shapes)[k].values, diag));
  }
  *out_count = count;
  return PLUMB_OK;
}

const char *plumb_task_shape_text(plumb_arena *arena, const plumb_task *task,
                                  const plumb_task_shape *shape) {
  plumb_text text = plumb_text_create(arena);
  for (size_t i = 0; i < task->size_count; i++)
    plumb_text_printf(&text, "%s%s=%lld", i ? " " : "", task->sizes[i].name,
                      (long long)shape->values[i]);
  return text.data;
}

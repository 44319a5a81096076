/* Streams and events. Work runs when it is given to a stream, unless the stream captures:
 * then it becomes a node of a graph. */
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

static driver_stream default_stream;
static uint64_t streams_made;

driver_stream *driver_stream_of(const void *handle) {
  if ((uintptr_t)handle <= 2) return &default_stream;
  return driver_handle_get(handle, DRIVER_KIND_STREAM);
}

driver_stream *driver_stream_create(unsigned flags, int priority) {
  driver_stream *s = calloc(1, sizeof *s);
  if (!s) abort(); /* as an arena: exhausted memory ends the process */
  *s = (driver_stream){.flags = flags, .priority = priority, .id = ++streams_made};
  driver_handle_put(s, DRIVER_KIND_STREAM, s);
  return s;
}

void driver_stream_destroy(driver_stream *s) {
  driver_graph *unfinished = NULL;
  if (s->capture && s->capture_origin && !driver_capture_end(s, &unfinished) && unfinished)
    driver_graph_destroy(unfinished);
  driver_handle_drop(s);
  free(s->last);
  free(s);
}

/* --- operations --- */

driver_operation driver_operation_copy(const driver_operation *op) {
  driver_operation copy = *op;
  if (op->kind == DRIVER_LAUNCH) {
    size_t bytes = op->launch.function->fn->param_bytes;
    copy.launch.params = malloc(bytes + 1);
    if (!copy.launch.params) abort();
    memcpy(copy.launch.params, op->launch.params, bytes);
  } else if (op->kind == DRIVER_CHILD) {
    copy.child = driver_graph_clone(op->child);
  }
  return copy;
}

void driver_operation_clear(driver_operation *op) {
  if (op->kind == DRIVER_LAUNCH) free(op->launch.params);
  if (op->kind == DRIVER_CHILD) driver_graph_destroy(op->child);
  *op = (driver_operation){.kind = DRIVER_EMPTY};
}

static void stamp(driver_event *e) {
  e->recorded = true;
  clock_gettime(CLOCK_MONOTONIC, &e->time);
}

static int run_child(driver_device *d, driver_graph *graph) {
  driver_exec *exec;
  DRIVER_TRY(driver_exec_create(graph, &exec));
  int error = driver_exec_run(d, exec);
  driver_exec_destroy(exec);
  return error;
}

int driver_operation_run(driver_device *d, const driver_operation *op) {
  DRIVER_TRY(driver_fault(d));
  switch (op->kind) {
    case DRIVER_LAUNCH:
      return driver_launch_run(d, &op->launch);
    case DRIVER_COPY:
      return driver_copy_run(d, &op->copy);
    case DRIVER_FILL:
      return driver_fill_run(d, &op->fill);
    case DRIVER_HOST:
      op->host(op->user);
      return DRIVER_OK;
    case DRIVER_RECORD:
      stamp(op->event);
      return DRIVER_OK;
    case DRIVER_CHILD:
      return run_child(d, op->child);
    case DRIVER_EMPTY: /* waits and allocations of graphs are done when they are made */
    case DRIVER_WAIT:
    case DRIVER_ALLOC:
    case DRIVER_FREE:
      return DRIVER_OK;
  }
  return DRIVER_INVALID_VALUE;
}

static void set_last(driver_stream *s, driver_node *const *nodes, size_t count) {
  if (count > s->last_capacity) {
    s->last = realloc(s->last, count * sizeof *s->last);
    if (!s->last) abort();
    s->last_capacity = count;
  }
  if (count) memcpy(s->last, nodes, count * sizeof *nodes);
  s->last_count = count;
}

int driver_submit(driver_device *d, driver_stream *s, driver_operation *op) {
  if (!s) {
    driver_operation_clear(op);
    return DRIVER_INVALID_HANDLE;
  }
  if (s->capture) {
    driver_node *node = driver_graph_add(s->capture, s->last, s->last_count, op);
    set_last(s, &node, 1);
    return DRIVER_OK;
  }
  int error = driver_operation_run(d, op);
  driver_operation_clear(op);
  return error;
}

/* --- capture --- */

int driver_capture_begin(driver_stream *s, driver_graph *into) {
  if (s->capture || s == &default_stream) return DRIVER_CAPTURE_UNSUPPORTED;
  s->capture = into ? into : driver_graph_create();
  s->capture_origin = true;
  s->capture_owned = !into;
  s->last_count = 0;
  return DRIVER_OK;
}

void driver_capture_after(driver_stream *s, driver_node *const *nodes, size_t count) {
  set_last(s, nodes, count);
}

typedef struct joined {
  const driver_graph *graph;
  const driver_stream *origin;
} joined;

static bool is_joined(void *object, void *user) {
  driver_stream *s = object;
  joined *j = user;
  if (s->capture == j->graph && s != j->origin) {
    s->capture = NULL;
    s->last_count = 0;
  }
  return false;
}

int driver_capture_end(driver_stream *s, driver_graph **out) {
  if (!s->capture) return DRIVER_ILLEGAL_STATE;
  if (!s->capture_origin) return DRIVER_CAPTURE_UNMATCHED;
  *out = s->capture;
  joined j = {s->capture, s};
  driver_handle_find(DRIVER_KIND_STREAM, is_joined, &j);
  s->capture = NULL;
  s->capture_origin = false;
  s->last_count = 0;
  return DRIVER_OK;
}

/* --- events --- */

driver_event *driver_event_create(unsigned flags) {
  driver_event *e = calloc(1, sizeof *e);
  if (!e) abort();
  e->flags = flags;
  driver_handle_put(e, DRIVER_KIND_EVENT, e);
  return e;
}

void driver_event_destroy(driver_event *e) {
  driver_handle_drop(e);
  free(e->nodes);
  free(e);
}

int driver_event_record(driver_device *d, driver_event *e, driver_stream *s) {
  if (!s || !e) return DRIVER_INVALID_HANDLE;
  DRIVER_TRY(driver_fault(d));
  free(e->nodes);
  e->nodes = NULL;
  e->node_count = 0;
  e->capture = s->capture;
  if (!s->capture) {
    stamp(e);
    return DRIVER_OK;
  }
  e->nodes = malloc((s->last_count + 1) * sizeof *e->nodes);
  if (!e->nodes) abort();
  if (s->last_count) memcpy(e->nodes, s->last, s->last_count * sizeof *e->nodes);
  e->node_count = s->last_count;
  return DRIVER_OK;
}

int driver_event_wait(driver_device *d, driver_stream *s, driver_event *e) {
  if (!s || !e) return DRIVER_INVALID_HANDLE;
  DRIVER_TRY(driver_fault(d));
  if (!e->capture) return DRIVER_OK; /* what it stands for is done */
  if (s->capture && s->capture != e->capture) return DRIVER_CAPTURE_INVALIDATED;
  if (!s->capture) {
    if (s == &default_stream) return DRIVER_CAPTURE_UNSUPPORTED;
    s->capture = e->capture;
    s->capture_origin = false;
    s->last_count = 0;
  }
  size_t count = s->last_count + e->node_count;
  driver_node **all = malloc((count + 1) * sizeof *all);
  if (!all) abort();
  if (s->last_count) memcpy(all, s->last, s->last_count * sizeof *all);
  if (e->node_count) memcpy(all + s->last_count, e->nodes, e->node_count * sizeof *all);
  set_last(s, all, count);
  free(all);
  return DRIVER_OK;
}

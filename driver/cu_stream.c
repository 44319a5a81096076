/* Driver API: streams, events, captures and the running of captured graphs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cu.h"

/* --- streams --- */

EXPORT int cuStreamCreateWithPriority(void **out, unsigned flags, int priority) {
  CU_CALL;
  if (!out || flags > 1) return DRIVER_INVALID_VALUE;
  *out = driver_stream_create(flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
  return DRIVER_OK;
}
EXPORT int cuStreamCreate(void **out, unsigned flags) {
  return cuStreamCreateWithPriority(out, flags, 0);
}

#define STREAM(name) \
  driver_stream *name = driver_stream_of(stream); \
  if (!name) return DRIVER_INVALID_HANDLE
#define EVENT(name) \
  driver_event *name = driver_handle_get(event, DRIVER_KIND_EVENT); \
  if (!name) return DRIVER_INVALID_HANDLE

EXPORT int cuStreamDestroy_v2(void *stream) {
  DRIVER_CALL;
  STREAM(s);
  if ((uintptr_t)stream <= 2) return DRIVER_INVALID_HANDLE;
  driver_stream_destroy(s);
  return DRIVER_OK;
}
EXPORT int cuStreamSynchronize(void *stream) {
  CU_CALL;
  STREAM(s);
  fflush(stdout); /* what kernels printed is to be seen now */
  return s->capture ? DRIVER_CAPTURE_UNSUPPORTED : DRIVER_OK;
}
EXPORT int cuStreamQuery(void *stream) {
  CU_CALL;
  STREAM(s);
  return s->capture ? DRIVER_CAPTURE_UNSUPPORTED : DRIVER_OK;
}
EXPORT int cuStreamGetPriority(void *stream, int *priority) {
  CU_CALL;
  STREAM(s);
  if (!priority) return DRIVER_INVALID_VALUE;
  *priority = s->priority;
  return DRIVER_OK;
}
EXPORT int cuStreamGetFlags(void *stream, unsigned *flags) {
  CU_CALL;
  STREAM(s);
  if (!flags) return DRIVER_INVALID_VALUE;
  *flags = s->flags;
  return DRIVER_OK;
}
EXPORT int cuStreamGetId(void *stream, unsigned long long *id) {
  CU_CALL;
  STREAM(s);
  if (!id) return DRIVER_INVALID_VALUE;
  *id = s->id;
  return DRIVER_OK;
}
EXPORT int cuStreamGetCtx(void *stream, void **context) {
  CU_CALL;
  STREAM(s);
  (void)s;
  if (!context) return DRIVER_INVALID_VALUE;
  *context = driver_context_now(device);
  return DRIVER_OK;
}
EXPORT int cuLaunchHostFunc(void *stream, void (*function)(void *), void *user) {
  CU_CALL;
  if (!function) return DRIVER_INVALID_VALUE;
  driver_operation op = {.kind = DRIVER_HOST, .host = function, .user = user};
  return cu_done(driver_submit(device, driver_stream_of(stream), &op));
}
EXPORT int cuStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *user,
                               unsigned flags) {
  CU_CALL;
  STREAM(s);
  if (!callback || flags) return DRIVER_INVALID_VALUE;
  if (s->capture) return DRIVER_CAPTURE_UNSUPPORTED;
  callback(stream, driver_fault(device), user);
  return DRIVER_OK;
}

/* --- events --- */

EXPORT int cuEventCreate(void **out, unsigned flags) {
  CU_CALL;
  if (!out || flags > 7) return DRIVER_INVALID_VALUE;
  *out = driver_event_create(flags);
  return DRIVER_OK;
}
EXPORT int cuEventDestroy_v2(void *event) {
  DRIVER_CALL;
  EVENT(e);
  driver_event_destroy(e);
  return DRIVER_OK;
}
EXPORT int cuEventRecordWithFlags(void *event, void *stream, unsigned flags) {
  CU_CALL;
  (void)flags;
  EVENT(e);
  return cu_done(driver_event_record(device, e, driver_stream_of(stream)));
}
EXPORT int cuEventRecord(void *event, void *stream) {
  return cuEventRecordWithFlags(event, stream, 0);
}
EXPORT int cuEventQuery(void *event) {
  CU_CALL;
  EVENT(e);
  return e->capture ? DRIVER_CAPTURE_UNSUPPORTED : DRIVER_OK;
}
EXPORT int cuEventSynchronize(void *event) {
  fflush(stdout);
  return cuEventQuery(event);
}
EXPORT int cuEventElapsedTime_v2(float *milliseconds, void *start, void *end) {
  CU_CALL;
  driver_event *a = driver_handle_get(start, DRIVER_KIND_EVENT);
  driver_event *b = driver_handle_get(end, DRIVER_KIND_EVENT);
  if (!milliseconds) return DRIVER_INVALID_VALUE;
  if (!a || !b || !a->recorded || !b->recorded) return DRIVER_INVALID_HANDLE;
  double ns =
      (double)(b->time.tv_sec - a->time.tv_sec) * 1e9 + (double)(b->time.tv_nsec - a->time.tv_nsec);
  *milliseconds = (float)(ns / 1e6);
  return DRIVER_OK;
}
EXPORT int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}
EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  CU_CALL;
  (void)flags;
  EVENT(e);
  return cu_done(driver_event_wait(device, driver_stream_of(stream), e));
}

/* --- captures and graphs --- */

EXPORT int cuStreamBeginCapture_v2(void *stream, int mode) {
  CU_CALL;
  STREAM(s);
  if (mode < 0 || mode > 2) return DRIVER_INVALID_VALUE;
  return driver_capture_begin(s, NULL);
}
EXPORT int cuStreamEndCapture(void *stream, void **graph) {
  CU_CALL;
  STREAM(s);
  if (!graph) return DRIVER_INVALID_VALUE;
  return driver_capture_end(s, (driver_graph **)graph);
}
EXPORT int cuStreamIsCapturing(void *stream, int *status) {
  CU_CALL;
  STREAM(s);
  if (!status) return DRIVER_INVALID_VALUE;
  *status = s->capture != NULL;
  return DRIVER_OK;
}

EXPORT int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) {
  CU_CALL;
  driver_graph *g = driver_handle_get(graph, DRIVER_KIND_GRAPH);
  (void)flags;
  if (!out || !g) return DRIVER_INVALID_VALUE;
  return driver_exec_create(g, (driver_exec **)out);
}
EXPORT int cuGraphInstantiate_v2(void **out, void *graph, void **error_node, char *log,
                                 size_t log_bytes) {
  if (error_node) *error_node = NULL;
  if (log && log_bytes) *log = 0;
  return cuGraphInstantiateWithFlags(out, graph, 0);
}
FIRST_NAME(cuGraphInstantiate);
EXPORT int cuGraphLaunch(void *exec, void *stream) {
  CU_CALL;
  STREAM(s);
  driver_exec *e = driver_handle_get(exec, DRIVER_KIND_EXEC);
  if (!e) return DRIVER_INVALID_VALUE;
  if (!s->capture) return cu_done(driver_exec_run(device, e));
  driver_operation op = {.kind = DRIVER_CHILD, .child = driver_graph_clone(e->graph)};
  return cu_done(driver_submit(device, s, &op));
}
EXPORT int cuGraphExecDestroy(void *exec) {
  DRIVER_CALL;
  driver_exec *e = driver_handle_get(exec, DRIVER_KIND_EXEC);
  if (!e) return DRIVER_INVALID_VALUE;
  driver_exec_destroy(e);
  return DRIVER_OK;
}
EXPORT int cuGraphDestroy(void *graph) {
  DRIVER_CALL;
  driver_graph *g = driver_handle_get(graph, DRIVER_KIND_GRAPH);
  if (!g) return DRIVER_INVALID_VALUE;
  driver_graph_destroy(g);
  return DRIVER_OK;
}
EXPORT int cuProfilerInitialize(const char *config, const char *output, int mode) {
  (void)config, (void)output, (void)mode;
  return DRIVER_OK;
}
EXPORT int cuProfilerStart(void) {
  return DRIVER_OK;
}
EXPORT int cuProfilerStop(void) {
  return DRIVER_OK;
}

PER_THREAD(cuStreamSynchronize, _ptsz);
PER_THREAD(cuStreamQuery, _ptsz);
PER_THREAD(cuEventRecord, _ptsz);
PER_THREAD(cuEventRecordWithFlags, _ptsz);
PER_THREAD(cuStreamWaitEvent, _ptsz);
PER_THREAD(cuLaunchHostFunc, _ptsz);
PER_THREAD(cuStreamBeginCapture_v2, _ptsz);
PER_THREAD(cuStreamEndCapture, _ptsz);
PER_THREAD(cuStreamIsCapturing, _ptsz);
PER_THREAD(cuGraphLaunch, _ptsz);

PER_THREAD(cuStreamAddCallback, _ptsz);
PER_THREAD(cuStreamGetCtx, _ptsz);
PER_THREAD(cuStreamGetFlags, _ptsz);
PER_THREAD(cuStreamGetId, _ptsz);
PER_THREAD(cuStreamGetPriority, _ptsz);

/* Programs that look names up by themselves may take the first ones. */
FIRST_NAME(cuEventDestroy);
FIRST_NAME(cuStreamDestroy);

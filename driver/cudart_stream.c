/* Runtime API: streams, events, captures, and memory that is ordered by streams. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cudart.h"

/* --- streams --- */

EXPORT int cudaStreamCreateWithPriority(void **out, unsigned flags, int priority) {
  RUNTIME_CALL;
  if (!out || flags > 1) return cudart_done(DRIVER_INVALID_VALUE);
  *out = driver_stream_create(flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
  return DRIVER_OK;
}
EXPORT int cudaStreamCreateWithFlags(void **out, unsigned flags) {
  return cudaStreamCreateWithPriority(out, flags, 0);
}
EXPORT int cudaStreamCreate(void **out) {
  return cudaStreamCreateWithPriority(out, 0, 0);
}
EXPORT int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  RUNTIME_CALL;
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return DRIVER_OK;
}

#define STREAM(name) \
  driver_stream *name = driver_stream_of(stream); \
  if (!name) return cudart_done(DRIVER_INVALID_HANDLE)

EXPORT int cudaStreamDestroy(void *stream) {
  RUNTIME_CALL;
  STREAM(s);
  if ((uintptr_t)stream <= 2) return cudart_done(DRIVER_INVALID_HANDLE);
  driver_stream_destroy(s);
  return DRIVER_OK;
}
EXPORT int cudaStreamSynchronize(void *stream) {
  RUNTIME_CALL;
  STREAM(s);
  if (s->capture) return cudart_done(DRIVER_CAPTURE_UNSUPPORTED);
  fflush(stdout); /* what kernels printed is to be seen now */
  return DRIVER_OK;
}
EXPORT int cudaStreamQuery(void *stream) {
  RUNTIME_CALL;
  STREAM(s);
  return cudart_done(s->capture ? DRIVER_CAPTURE_UNSUPPORTED : DRIVER_OK);
}
EXPORT int cudaStreamGetPriority(void *stream, int *priority) {
  RUNTIME_CALL;
  STREAM(s);
  if (!priority) return cudart_done(DRIVER_INVALID_VALUE);
  *priority = s->priority;
  return DRIVER_OK;
}
EXPORT int cudaStreamGetFlags(void *stream, unsigned *flags) {
  RUNTIME_CALL;
  STREAM(s);
  if (!flags) return cudart_done(DRIVER_INVALID_VALUE);
  *flags = s->flags;
  return DRIVER_OK;
}
EXPORT int cudaStreamGetId(void *stream, unsigned long long *id) {
  RUNTIME_CALL;
  STREAM(s);
  if (!id) return cudart_done(DRIVER_INVALID_VALUE);
  *id = s->id;
  return DRIVER_OK;
}
EXPORT int cudaStreamGetDevice(void *stream, int *ordinal) {
  RUNTIME_CALL;
  STREAM(s);
  (void)s;
  if (!ordinal) return cudart_done(DRIVER_INVALID_VALUE);
  *ordinal = 0;
  return DRIVER_OK;
}
/* Attributes (access windows, priorities) are preferences that change no result. */
EXPORT int cudaStreamSetAttribute(void *stream, int attribute, const void *value) {
  RUNTIME_CALL;
  (void)attribute, (void)value;
  STREAM(s);
  (void)s;
  return DRIVER_OK;
}
EXPORT int cudaStreamGetAttribute(void *stream, int attribute, abi_launch_attribute_value *value) {
  RUNTIME_CALL;
  STREAM(s);
  if (!value) return cudart_done(DRIVER_INVALID_VALUE);
  memset(value, 0, sizeof *value);
  if (attribute == ABI_ATTRIBUTE_PRIORITY) value->priority = s->priority;
  return DRIVER_OK;
}
EXPORT int cudaStreamCopyAttributes(void *to, void *from) {
  RUNTIME_CALL;
  return cudart_done(driver_stream_of(to) && driver_stream_of(from) ? DRIVER_OK
                                                                    : DRIVER_INVALID_HANDLE);
}

/* --- host functions --- */

EXPORT int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *user) {
  RUNTIME_CALL;
  if (!function) return cudart_done(DRIVER_INVALID_VALUE);
  driver_operation op = {.kind = DRIVER_HOST, .host = function, .user = user};
  return cudart_done(driver_submit(device, driver_stream_of(stream), &op));
}
EXPORT int cudaStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *user,
                                 unsigned flags) {
  RUNTIME_CALL;
  STREAM(s);
  if (!callback || flags) return cudart_done(DRIVER_INVALID_VALUE);
  if (s->capture) return cudart_done(DRIVER_CAPTURE_UNSUPPORTED);
  callback(stream, driver_fault(device), user);
  return DRIVER_OK;
}

/* --- events --- */

EXPORT int cudaEventCreateWithFlags(void **out, unsigned flags) {
  RUNTIME_CALL;
  if (!out || flags > 7) return cudart_done(DRIVER_INVALID_VALUE);
  *out = driver_event_create(flags);
  return DRIVER_OK;
}
EXPORT int cudaEventCreate(void **out) {
  return cudaEventCreateWithFlags(out, 0);
}

#define EVENT(name) \
  driver_event *name = driver_handle_get(event, DRIVER_KIND_EVENT); \
  if (!name) return cudart_done(DRIVER_INVALID_HANDLE)

EXPORT int cudaEventDestroy(void *event) {
  RUNTIME_CALL;
  EVENT(e);
  driver_event_destroy(e);
  return DRIVER_OK;
}
EXPORT int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags) {
  RUNTIME_CALL;
  (void)flags;
  EVENT(e);
  return cudart_done(driver_event_record(device, e, driver_stream_of(stream)));
}
EXPORT int cudaEventRecord(void *event, void *stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
EXPORT int cudaEventQuery(void *event) {
  RUNTIME_CALL;
  EVENT(e);
  return cudart_done(e->capture ? DRIVER_CAPTURE_UNSUPPORTED : DRIVER_OK);
}
EXPORT int cudaEventSynchronize(void *event) {
  fflush(stdout);
  return cudaEventQuery(event);
}
EXPORT int cudaEventElapsedTime(float *milliseconds, void *start, void *end) {
  RUNTIME_CALL;
  driver_event *a = driver_handle_get(start, DRIVER_KIND_EVENT);
  driver_event *b = driver_handle_get(end, DRIVER_KIND_EVENT);
  enum { DISABLE_TIMING = 2 };
  if (!milliseconds) return cudart_done(DRIVER_INVALID_VALUE);
  if (!a || !b || !a->recorded || !b->recorded || (a->flags | b->flags) & DISABLE_TIMING)
    return cudart_done(DRIVER_INVALID_HANDLE);
  double ns =
      (double)(b->time.tv_sec - a->time.tv_sec) * 1e9 + (double)(b->time.tv_nsec - a->time.tv_nsec);
  *milliseconds = (float)(ns / 1e6);
  return DRIVER_OK;
}
EXPORT int cudaStreamWaitEvent(void *stream, void *event, unsigned flags) {
  RUNTIME_CALL;
  (void)flags;
  EVENT(e);
  return cudart_done(driver_event_wait(device, driver_stream_of(stream), e));
}

/* --- capture --- */

EXPORT int cudaStreamBeginCapture(void *stream, int mode) {
  RUNTIME_CALL;
  STREAM(s);
  if (mode < 0 || mode > 2) return cudart_done(DRIVER_INVALID_VALUE);
  return cudart_done(driver_capture_begin(s, NULL));
}
EXPORT int cudaStreamBeginCaptureToGraph(void *stream, void *graph, void *const *needs,
                                         const void *edges, size_t need_count, int mode) {
  RUNTIME_CALL;
  (void)edges;
  STREAM(s);
  driver_graph *g = driver_handle_get(graph, DRIVER_KIND_GRAPH);
  if (!g || mode < 0 || mode > 2 || (need_count && !needs))
    return cudart_done(DRIVER_INVALID_VALUE);
  for (size_t i = 0; i < need_count; i++) {
    const driver_node *n = driver_handle_get(needs[i], DRIVER_KIND_NODE);
    if (!n || n->graph != g) return cudart_done(DRIVER_INVALID_VALUE);
  }
  int error = driver_capture_begin(s, g);
  if (!error) driver_capture_after(s, (driver_node *const *)needs, need_count);
  return cudart_done(error);
}
EXPORT int cudaStreamEndCapture(void *stream, void **graph) {
  RUNTIME_CALL;
  STREAM(s);
  if (!graph) return cudart_done(DRIVER_INVALID_VALUE);
  return cudart_done(driver_capture_end(s, (driver_graph **)graph));
}
EXPORT int cudaStreamIsCapturing(void *stream, int *status) {
  RUNTIME_CALL;
  STREAM(s);
  if (!status) return cudart_done(DRIVER_INVALID_VALUE);
  *status = s->capture != NULL;
  return DRIVER_OK;
}
EXPORT int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph,
                                    void ***needs, const void **edges, size_t *need_count) {
  RUNTIME_CALL;
  STREAM(s);
  if (!status) return cudart_done(DRIVER_INVALID_VALUE);
  *status = s->capture != NULL;
  if (id) *id = s->id;
  if (graph) *graph = s->capture;
  if (needs) *needs = (void **)s->last;
  if (edges) *edges = NULL;
  if (need_count) *need_count = s->last_count;
  return DRIVER_OK;
}
EXPORT int cudaThreadExchangeStreamCaptureMode(int *mode) {
  static __thread int current;
  if (!mode) return cudart_done(DRIVER_INVALID_VALUE);
  int before = current;
  current = *mode;
  *mode = before;
  return DRIVER_OK;
}

PER_THREAD(cudaStreamSynchronize, _ptsz);
PER_THREAD(cudaStreamQuery, _ptsz);
PER_THREAD(cudaStreamGetPriority, _ptsz);
PER_THREAD(cudaStreamGetFlags, _ptsz);
PER_THREAD(cudaStreamGetId, _ptsz);
PER_THREAD(cudaLaunchHostFunc, _ptsz);
PER_THREAD(cudaStreamAddCallback, _ptsz);
PER_THREAD(cudaEventRecord, _ptsz);
PER_THREAD(cudaEventRecordWithFlags, _ptsz);
PER_THREAD(cudaStreamWaitEvent, _ptsz);
PER_THREAD(cudaStreamBeginCapture, _ptsz);
PER_THREAD(cudaStreamBeginCaptureToGraph, _ptsz);
PER_THREAD(cudaStreamEndCapture, _ptsz);
PER_THREAD(cudaStreamIsCapturing, _ptsz);
PER_THREAD(cudaStreamGetCaptureInfo, _ptsz);
PER_THREAD(cudaStreamSetAttribute, _ptsz);
PER_THREAD(cudaStreamGetAttribute, _ptsz);
PER_THREAD(cudaStreamCopyAttributes, _ptsz);
PER_THREAD(cudaStreamGetDevice, _ptsz);

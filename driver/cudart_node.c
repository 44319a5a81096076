/* Runtime API: what nodes of graphs are asked for, and nodes of any kind. */
#include "driver/cudart.h"

#define ADD_TYPES void **out, void *graph, void *const *needs, size_t need_count
#define ADD out, graph, needs, need_count
EXPORT int cudaGraphAddKernelNode(ADD_TYPES, const abi_kernel_node *p);
EXPORT int cudaGraphAddMemcpyNode(ADD_TYPES, const abi_memcpy3d *p);
EXPORT int cudaGraphAddMemsetNode(ADD_TYPES, const abi_memset *p);
EXPORT int cudaGraphAddHostNode(ADD_TYPES, const abi_host_node *p);
EXPORT int cudaGraphAddChildGraphNode(ADD_TYPES, void *child);
EXPORT int cudaGraphAddEmptyNode(ADD_TYPES);
EXPORT int cudaGraphAddEventWaitNode(ADD_TYPES, void *event);
EXPORT int cudaGraphAddEventRecordNode(ADD_TYPES, void *event);
EXPORT int cudaGraphAddMemAllocNode(ADD_TYPES, abi_alloc_node *p);
EXPORT int cudaGraphAddMemFreeNode(ADD_TYPES, void *address);

EXPORT int cudaGraphAddNode(void **out, void *graph, void *const *needs, const void *edges,
                            size_t need_count, abi_graph_node *p) {
  RUNTIME_CALL;
  (void)edges;
  if (!p) return cudart_done(DRIVER_INVALID_VALUE);
  switch (p->type) { /* cudaGraphNodeType */
    case 0:
      return cudaGraphAddKernelNode(ADD, &p->u.kernel);
    case 1:
      return cudaGraphAddMemcpyNode(ADD, &p->u.copy.params);
    case 2:
      return cudaGraphAddMemsetNode(ADD, &p->u.fill);
    case 3:
      return cudaGraphAddHostNode(ADD, &p->u.host);
    case 4:
      return cudaGraphAddChildGraphNode(ADD, p->u.handle);
    case 5:
      return cudaGraphAddEmptyNode(ADD);
    case 6:
      return cudaGraphAddEventWaitNode(ADD, p->u.handle);
    case 7:
      return cudaGraphAddEventRecordNode(ADD, p->u.handle);
    case 10:
      return cudaGraphAddMemAllocNode(ADD, &p->u.alloc);
    case 11:
      return cudaGraphAddMemFreeNode(ADD, p->u.handle);
    default: /* semaphores of other processes, conditions */
      return cudart_done(DRIVER_NOT_SUPPORTED);
  }
}

static driver_node *node_with(const void *handle, driver_operation_kind kind) {
  driver_node *n = driver_handle_get(handle, DRIVER_KIND_NODE);
  return n && n->op.kind == kind ? n : NULL;
}
EXPORT int cudaGraphKernelNodeGetParams(void *node, abi_kernel_node *p) {
  RUNTIME_CALL;
  driver_node *n = node_with(node, DRIVER_LAUNCH);
  if (!n || !p) return cudart_done(DRIVER_INVALID_VALUE);
  const driver_launch *l = &n->op.launch;
  *p = (abi_kernel_node){.function = (void *)(uintptr_t)(l->handle ? l->handle : l->function),
                         .grid = {l->grid[0], l->grid[1], l->grid[2]},
                         .block = {l->block[0], l->block[1], l->block[2]},
                         .dynamic_bytes = (unsigned)l->shared_bytes,
                         .params = driver_node_params(n)};
  return DRIVER_OK;
}
EXPORT int cudaGraphMemsetNodeGetParams(void *node, abi_memset *p) {
  RUNTIME_CALL;
  const driver_node *n = node_with(node, DRIVER_FILL);
  if (!n || !p) return cudart_done(DRIVER_INVALID_VALUE);
  const driver_fill *f = &n->op.fill;
  *p = (abi_memset){(void *)(uintptr_t)f->to, f->pitch, f->value,
                    f->element_bytes,         f->width, f->height};
  return DRIVER_OK;
}
EXPORT int cudaGraphHostNodeGetParams(void *node, abi_host_node *p) {
  RUNTIME_CALL;
  const driver_node *n = node_with(node, DRIVER_HOST);
  if (!n || !p) return cudart_done(DRIVER_INVALID_VALUE);
  *p = (abi_host_node){n->op.host, n->op.user};
  return DRIVER_OK;
}
EXPORT int cudaGraphMemFreeNodeGetParams(void *node, void **address) {
  RUNTIME_CALL;
  const driver_node *n = node_with(node, DRIVER_FREE);
  if (!n || !address) return cudart_done(DRIVER_INVALID_VALUE);
  *address = (void *)(uintptr_t)n->op.address;
  return DRIVER_OK;
}
EXPORT int cudaGraphChildGraphNodeGetGraph(void *node, void **graph) {
  RUNTIME_CALL;
  const driver_node *n = node_with(node, DRIVER_CHILD);
  if (!n || !graph) return cudart_done(DRIVER_INVALID_VALUE);
  *graph = n->op.child;
  return DRIVER_OK;
}
static int event_of(const void *node, driver_operation_kind kind, void **event) {
  const driver_node *n = node_with(node, kind);
  if (!n || !event) return cudart_done(DRIVER_INVALID_VALUE);
  *event = n->op.event;
  return DRIVER_OK;
}
EXPORT int cudaGraphEventRecordNodeGetEvent(void *node, void **event) {
  RUNTIME_CALL;
  return event_of(node, DRIVER_RECORD, event);
}
EXPORT int cudaGraphEventWaitNodeGetEvent(void *node, void **event) {
  RUNTIME_CALL;
  return event_of(node, DRIVER_WAIT, event);
}

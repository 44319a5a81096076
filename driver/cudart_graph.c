/* Runtime API: graphs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cudart.h"

#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

static driver_graph *graph_of(const void *handle) {
  return driver_handle_get(handle, DRIVER_KIND_GRAPH);
}
static driver_node *node_of(const void *handle) {
  return driver_handle_get(handle, DRIVER_KIND_NODE);
}
static driver_exec *exec_of(const void *handle) {
  return driver_handle_get(handle, DRIVER_KIND_EXEC);
}

EXPORT int cudaGraphCreate(void **out, unsigned flags) {
  RUNTIME_CALL;
  if (!out || flags) return cudart_done(DRIVER_INVALID_VALUE);
  *out = driver_graph_create();
  return DRIVER_OK;
}
EXPORT int cudaGraphDestroy(void *graph) {
  RUNTIME_CALL;
  if (!graph_of(graph)) return cudart_done(DRIVER_INVALID_VALUE);
  driver_graph_destroy(graph_of(graph));
  return DRIVER_OK;
}
EXPORT int cudaGraphClone(void **out, void *graph) {
  RUNTIME_CALL;
  if (!out || !graph_of(graph)) return cudart_done(DRIVER_INVALID_VALUE);
  *out = driver_graph_clone(graph_of(graph));
  return DRIVER_OK;
}
EXPORT int cudaGraphNodeFindInClone(void **out, void *node, void *clone) {
  RUNTIME_CALL;
  driver_graph *g = graph_of(clone);
  if (!out || !g) return cudart_done(DRIVER_INVALID_VALUE);
  for (size_t i = 0; i < g->node_count; i++)
    if (g->nodes[i]->copy == node) {
      *out = g->nodes[i];
      return DRIVER_OK;
    }
  return cudart_done(DRIVER_INVALID_VALUE);
}

/* --- nodes --- */

static int add(void **out, void *graph, void *const *needs, size_t need_count,
               driver_operation *op) {
  return cudart_done(driver_node_add(out, graph, needs, need_count, op));
}

EXPORT int cudaGraphAddEmptyNode(void **out, void *graph, void *const *needs, size_t need_count) {
  RUNTIME_CALL;
  driver_operation op = {.kind = DRIVER_EMPTY};
  return add(out, graph, needs, need_count, &op);
}

static int kernel_operation(driver_device *d, const abi_kernel_node *p, driver_operation *op) {
  driver_function *f;
  if (!p) return DRIVER_INVALID_VALUE;
  if (p->extra) return DRIVER_NOT_SUPPORTED;
  uint32_t grid[3] = {p->grid.x, p->grid.y, p->grid.z};
  uint32_t block[3] = {p->block.x, p->block.y, p->block.z};
  static void *const none[1];
  *op = (driver_operation){.kind = DRIVER_LAUNCH};
  DRIVER_TRY(driver_function_of(d, p->function, &f));
  DRIVER_TRY(driver_launch_make(d, f, grid, block, p->dynamic_bytes, NULL,
                                p->params ? p->params : none, NULL, 0, &op->launch));
  op->launch.handle = p->function;
  return DRIVER_OK;
}
static uint64_t start_of(const abi_pitched *p, const abi_pos *pos) {
  return ADDRESS(p->ptr) + pos->z * p->pitch * p->ysize + pos->y * p->pitch + pos->x;
}
static int copy_operation(driver_device *d, const abi_memcpy3d *p, driver_operation *op) {
  if (!p) return DRIVER_INVALID_VALUE;
  if (p->src_array || p->dst_array) return DRIVER_NOT_SUPPORTED;
  *op = (driver_operation){.kind = DRIVER_COPY};
  op->copy = (driver_copy){start_of(&p->dst, &p->dst_pos),
                           start_of(&p->src, &p->src_pos),
                           p->dst.pitch,
                           p->dst.pitch * p->dst.ysize,
                           p->src.pitch,
                           p->src.pitch * p->src.ysize,
                           p->extent.width,
                           p->extent.height,
                           p->extent.depth};
  return driver_copy_check(d, &op->copy, p->kind);
}
static int linear_operation(driver_device *d, uint64_t to, uint64_t from, size_t bytes, int kind,
                            driver_operation *op) {
  *op = (driver_operation){.kind = DRIVER_COPY, .copy = driver_copy_linear(to, from, bytes)};
  return driver_copy_check(d, &op->copy, kind);
}
static int fill_operation(const abi_memset *p, driver_operation *op) {
  if (!p || (p->element_bytes != 1 && p->element_bytes != 2 && p->element_bytes != 4))
    return DRIVER_INVALID_VALUE;
  *op = (driver_operation){.kind = DRIVER_FILL};
  op->fill = (driver_fill){ADDRESS(p->dst),  p->pitch, 0,         p->value,
                           p->element_bytes, p->width, p->height, 1};
  return DRIVER_OK;
}

EXPORT int cudaGraphAddKernelNode(void **out, void *graph, void *const *needs, size_t need_count,
                                  const abi_kernel_node *p) {
  RUNTIME_CALL;
  driver_operation op;
  int error = kernel_operation(device, p, &op);
  return error ? cudart_done(error) : add(out, graph, needs, need_count, &op);
}
EXPORT int cudaGraphAddMemcpyNode(void **out, void *graph, void *const *needs, size_t need_count,
                                  const abi_memcpy3d *p) {
  RUNTIME_CALL;
  driver_operation op;
  int error = copy_operation(device, p, &op);
  return error ? cudart_done(error) : add(out, graph, needs, need_count, &op);
}
EXPORT int cudaGraphAddMemcpyNode1D(void **out, void *graph, void *const *needs, size_t need_count,
                                    void *to, const void *from, size_t bytes, int kind) {
  RUNTIME_CALL;
  driver_operation op;
  int error = linear_operation(device, ADDRESS(to), ADDRESS(from), bytes, kind, &op);
  return error ? cudart_done(error) : add(out, graph, needs, need_count, &op);
}
static int add_symbol(driver_device *d, void **out, void *graph, void *const *needs,
                      size_t need_count, const void *symbol, bool to_symbol, const void *other,
                      size_t bytes, size_t offset, int kind) {
  driver_operation op;
  uint64_t address, size;
  int error = driver_symbol_of(d, symbol, &address, &size);
  if (!error && (offset > size || bytes > size - offset)) error = DRIVER_INVALID_VALUE;
  if (!error)
    error = linear_operation(d, to_symbol ? address + offset : ADDRESS(other),
                             to_symbol ? ADDRESS(other) : address + offset, bytes, kind, &op);
  return error ? cudart_done(error) : add(out, graph, needs, need_count, &op);
}
EXPORT int cudaGraphAddMemcpyNodeToSymbol(void **out, void *graph, void *const *needs,
                                          size_t need_count, const void *symbol, const void *from,
                                          size_t bytes, size_t offset, int kind) {
  RUNTIME_CALL;
  return add_symbol(device, out, graph, needs, need_count, symbol, true, from, bytes, offset, kind);
}
EXPORT int cudaGraphAddMemcpyNodeFromSymbol(void **out, void *graph, void *const *needs,
                                            size_t need_count, void *to, const void *symbol,
                                            size_t bytes, size_t offset, int kind) {
  RUNTIME_CALL;
  return add_symbol(device, out, graph, needs, need_count, symbol, false, to, bytes, offset, kind);
}
EXPORT int cudaGraphAddMemsetNode(void **out, void *graph, void *const *needs, size_t need_count,
                                  const abi_memset *p) {
  RUNTIME_CALL;
  driver_operation op;
  int error = fill_operation(p, &op);
  return error ? cudart_done(error) : add(out, graph, needs, need_count, &op);
}
EXPORT int cudaGraphAddHostNode(void **out, void *graph, void *const *needs, size_t need_count,
                                const abi_host_node *p) {
  RUNTIME_CALL;
  if (!p || !p->function) return cudart_done(DRIVER_INVALID_VALUE);
  driver_operation op = {.kind = DRIVER_HOST, .host = p->function, .user = p->user};
  return add(out, graph, needs, need_count, &op);
}
EXPORT int cudaGraphAddChildGraphNode(void **out, void *graph, void *const *needs,
                                      size_t need_count, void *child) {
  RUNTIME_CALL;
  driver_graph *g = graph_of(child);
  if (!g) return cudart_done(DRIVER_INVALID_VALUE);
  driver_operation op = {.kind = DRIVER_CHILD, .child = driver_graph_clone(g)};
  return add(out, graph, needs, need_count, &op);
}
static int add_event(void **out, void *graph, void *const *needs, size_t need_count, void *event,
                     driver_operation_kind kind) {
  driver_operation op = {.kind = kind, .event = driver_handle_get(event, DRIVER_KIND_EVENT)};
  if (!op.event) return cudart_done(DRIVER_INVALID_HANDLE);
  return add(out, graph, needs, need_count, &op);
}
EXPORT int cudaGraphAddEventRecordNode(void **out, void *graph, void *const *needs,
                                       size_t need_count, void *event) {
  RUNTIME_CALL;
  return add_event(out, graph, needs, need_count, event, DRIVER_RECORD);
}
EXPORT int cudaGraphAddEventWaitNode(void **out, void *graph, void *const *needs, size_t need_count,
                                     void *event) {
  RUNTIME_CALL;
  return add_event(out, graph, needs, need_count, event, DRIVER_WAIT);
}
EXPORT int cudaGraphAddMemAllocNode(void **out, void *graph, void *const *needs, size_t need_count,
                                    abi_alloc_node *p) {
  RUNTIME_CALL;
  uint64_t address;
  if (!p) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_memory_alloc(device, DRIVER_DEVICE, p->bytes, "cudaGraphAddMemAllocNode",
                                  __builtin_return_address(0), &address);
  if (error) return cudart_done(error);
  p->address = (void *)(uintptr_t)address;
  driver_memory_keep(address);
  driver_operation op = {.kind = DRIVER_ALLOC, .address = address};
  return add(out, graph, needs, need_count, &op);
}
EXPORT int cudaGraphAddMemFreeNode(void **out, void *graph, void *const *needs, size_t need_count,
                                   void *address) {
  RUNTIME_CALL;
  driver_operation op = {.kind = DRIVER_FREE, .address = ADDRESS(address)};
  return add(out, graph, needs, need_count, &op);
}

/* --- what a graph consists of --- */

static int list(void **out, size_t *count, driver_node *const *nodes, size_t node_count) {
  if (!count) return cudart_done(DRIVER_INVALID_VALUE);
  for (size_t i = 0; out && i < *count; i++) out[i] = i < node_count ? nodes[i] : NULL;
  if (!out || *count > node_count) *count = node_count;
  return DRIVER_OK;
}
EXPORT int cudaGraphGetNodes(void *graph, void **nodes, size_t *count) {
  RUNTIME_CALL;
  driver_graph *g = graph_of(graph);
  return g ? list(nodes, count, g->nodes, g->node_count) : cudart_done(DRIVER_INVALID_VALUE);
}
EXPORT int cudaGraphGetRootNodes(void *graph, void **nodes, size_t *count) {
  RUNTIME_CALL;
  driver_graph *g = graph_of(graph);
  if (!g) return cudart_done(DRIVER_INVALID_VALUE);
  driver_node **roots = malloc((g->node_count + 1) * sizeof *roots);
  if (!roots) return cudart_done(DRIVER_OUT_OF_MEMORY);
  size_t n = 0;
  for (size_t i = 0; i < g->node_count; i++)
    if (!g->nodes[i]->need_count) roots[n++] = g->nodes[i];
  int error = list(nodes, count, roots, n);
  free(roots);
  return error;
}
EXPORT int cudaGraphGetEdges(void *graph, void **from, void **to, void *edges, size_t *count) {
  RUNTIME_CALL;
  driver_graph *g = graph_of(graph);
  (void)edges;
  if (!g || !count) return cudart_done(DRIVER_INVALID_VALUE);
  size_t n = 0;
  for (size_t i = 0; i < g->node_count; i++)
    for (size_t k = 0; k < g->nodes[i]->need_count; k++, n++)
      if (from && to && n < *count) {
        from[n] = g->nodes[i]->needs[k];
        to[n] = g->nodes[i];
      }
  if (!from || !to || *count > n) *count = n;
  return DRIVER_OK;
}
EXPORT int cudaGraphNodeGetDependencies(void *node, void **needs, void *edges, size_t *count) {
  RUNTIME_CALL;
  driver_node *n = node_of(node);
  (void)edges;
  return n ? list(needs, count, n->needs, n->need_count) : cudart_done(DRIVER_INVALID_VALUE);
}
EXPORT int cudaGraphAddDependencies(void *graph, void *const *from, void *const *to,
                                    const void *edges, size_t count) {
  RUNTIME_CALL;
  (void)edges;
  if (!graph_of(graph)) return cudart_done(DRIVER_INVALID_VALUE);
  for (size_t i = 0; i < count; i++) {
    int error = driver_node_need(node_of(to[i]), node_of(from[i]));
    if (error) return cudart_done(error);
  }
  return DRIVER_OK;
}
EXPORT int cudaGraphNodeGetDependentNodes(void *node, void **nodes, void *edges, size_t *count) {
  RUNTIME_CALL;
  driver_node *n = node_of(node);
  (void)edges;
  if (!n) return cudart_done(DRIVER_INVALID_VALUE);
  driver_graph *g = n->graph;
  driver_node **dependent = malloc((g->node_count + 1) * sizeof *dependent);
  if (!dependent) return cudart_done(DRIVER_OUT_OF_MEMORY);
  size_t found = 0;
  for (size_t i = 0; i < g->node_count; i++)
    for (size_t k = 0; k < g->nodes[i]->need_count; k++)
      if (g->nodes[i]->needs[k] == n) dependent[found++] = g->nodes[i];
  int error = list(nodes, count, dependent, found);
  free(dependent);
  return error;
}
EXPORT int cudaGraphRemoveDependencies(void *graph, void *const *from, void *const *to,
                                       const void *edges, size_t count) {
  RUNTIME_CALL;
  (void)edges;
  if (!graph_of(graph)) return cudart_done(DRIVER_INVALID_VALUE);
  for (size_t i = 0; i < count; i++) {
    driver_node *n = node_of(to[i]);
    size_t kept = 0;
    for (size_t k = 0; n && k < n->need_count; k++)
      if (n->needs[k] != from[i]) n->needs[kept++] = n->needs[k];
    if (!n || kept == n->need_count) return cudart_done(DRIVER_INVALID_VALUE);
    n->need_count = kept;
  }
  return DRIVER_OK;
}
EXPORT int cudaGraphDestroyNode(void *node) {
  RUNTIME_CALL;
  driver_node *n = node_of(node);
  if (!n) return cudart_done(DRIVER_INVALID_VALUE);
  driver_graph_remove(n->graph, n);
  return DRIVER_OK;
}
EXPORT int cudaGraphNodeGetType(void *node, int *type) {
  /* cudaGraphNodeType */
  static const int types[] = {[DRIVER_LAUNCH] = 0, [DRIVER_COPY] = 1,   [DRIVER_FILL] = 2,
                              [DRIVER_HOST] = 3,   [DRIVER_CHILD] = 4,  [DRIVER_EMPTY] = 5,
                              [DRIVER_WAIT] = 6,   [DRIVER_RECORD] = 7, [DRIVER_ALLOC] = 10,
                              [DRIVER_FREE] = 11};
  RUNTIME_CALL;
  driver_node *n = node_of(node);
  if (!n || !type) return cudart_done(DRIVER_INVALID_VALUE);
  *type = types[n->op.kind];
  return DRIVER_OK;
}

/* --- changing nodes --- */

static int replace(driver_node *n, int error, driver_operation *op) {
  return cudart_done(error ? error : driver_node_replace(n, op));
}
static driver_node *in_exec(void *exec, void *node) {
  driver_exec *e = exec_of(exec);
  return e ? driver_exec_node(e, node) : NULL;
}
EXPORT int cudaGraphKernelNodeSetParams(void *node, const abi_kernel_node *p) {
  RUNTIME_CALL;
  driver_operation op;
  int error = kernel_operation(device, p, &op);
  return replace(node_of(node), error, &op);
}
EXPORT int cudaGraphExecKernelNodeSetParams(void *exec, void *node, const abi_kernel_node *p) {
  RUNTIME_CALL;
  driver_operation op;
  int error = kernel_operation(device, p, &op);
  return replace(in_exec(exec, node), error, &op);
}
EXPORT int cudaGraphMemcpyNodeSetParams(void *node, const abi_memcpy3d *p) {
  RUNTIME_CALL;
  driver_operation op;
  int error = copy_operation(device, p, &op);
  return replace(node_of(node), error, &op);
}
EXPORT int cudaGraphExecMemcpyNodeSetParams(void *exec, void *node, const abi_memcpy3d *p) {
  RUNTIME_CALL;
  driver_operation op;
  int error = copy_operation(device, p, &op);
  return replace(in_exec(exec, node), error, &op);
}
EXPORT int cudaGraphMemcpyNodeSetParams1D(void *node, void *to, const void *from, size_t bytes,
                                          int kind) {
  RUNTIME_CALL;
  driver_operation op;
  int error = linear_operation(device, ADDRESS(to), ADDRESS(from), bytes, kind, &op);
  return replace(node_of(node), error, &op);
}
EXPORT int cudaGraphExecMemcpyNodeSetParams1D(void *exec, void *node, void *to, const void *from,
                                              size_t bytes, int kind) {
  RUNTIME_CALL;
  driver_operation op;
  int error = linear_operation(device, ADDRESS(to), ADDRESS(from), bytes, kind, &op);
  return replace(in_exec(exec, node), error, &op);
}
EXPORT int cudaGraphMemsetNodeSetParams(void *node, const abi_memset *p) {
  RUNTIME_CALL;
  driver_operation op;
  int error = fill_operation(p, &op);
  return replace(node_of(node), error, &op);
}
EXPORT int cudaGraphExecMemsetNodeSetParams(void *exec, void *node, const abi_memset *p) {
  RUNTIME_CALL;
  driver_operation op;
  int error = fill_operation(p, &op);
  return replace(in_exec(exec, node), error, &op);
}
EXPORT int cudaGraphHostNodeSetParams(void *node, const abi_host_node *p) {
  RUNTIME_CALL;
  driver_operation op = {.kind = DRIVER_HOST};
  if (!p || !p->function) return cudart_done(DRIVER_INVALID_VALUE);
  op.host = p->function;
  op.user = p->user;
  return replace(node_of(node), DRIVER_OK, &op);
}
EXPORT int cudaGraphExecHostNodeSetParams(void *exec, void *node, const abi_host_node *p) {
  RUNTIME_CALL;
  driver_operation op = {.kind = DRIVER_HOST};
  if (!p || !p->function) return cudart_done(DRIVER_INVALID_VALUE);
  op.host = p->function;
  op.user = p->user;
  return replace(in_exec(exec, node), DRIVER_OK, &op);
}
EXPORT int cudaGraphNodeSetEnabled(void *exec, void *node, unsigned enabled) {
  RUNTIME_CALL;
  driver_node *n = in_exec(exec, node);
  if (!n) return cudart_done(DRIVER_INVALID_VALUE);
  n->disabled = !enabled;
  return DRIVER_OK;
}
EXPORT int cudaGraphNodeGetEnabled(void *exec, void *node, unsigned *enabled) {
  RUNTIME_CALL;
  driver_node *n = in_exec(exec, node);
  if (!n || !enabled) return cudart_done(DRIVER_INVALID_VALUE);
  *enabled = !n->disabled;
  return DRIVER_OK;
}

/* --- execs --- */

EXPORT int cudaGraphInstantiate(void **out, void *graph, unsigned long long flags) {
  RUNTIME_CALL;
  if (!out || !graph_of(graph)) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_exec_create(graph_of(graph), (driver_exec **)out);
  if (!error) exec_of(*out)->flags = flags;
  return cudart_done(error);
}
EXPORT int cudaGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) {
  return cudaGraphInstantiate(out, graph, flags);
}
EXPORT int cudaGraphInstantiateWithParams(void **out, void *graph, abi_instantiate_params *p) {
  if (!p) return cudart_done(DRIVER_INVALID_VALUE);
  int error = cudaGraphInstantiate(out, graph, p->flags);
  p->result = error ? 1 : 0;
  p->error_node = NULL;
  return error;
}
EXPORT int cudaGraphExecGetFlags(void *exec, unsigned long long *flags) {
  RUNTIME_CALL;
  if (!exec_of(exec) || !flags) return cudart_done(DRIVER_INVALID_VALUE);
  *flags = exec_of(exec)->flags;
  return DRIVER_OK;
}
EXPORT int cudaGraphExecUpdate(void *exec, void *graph, abi_update_result *result) {
  RUNTIME_CALL;
  if (!exec_of(exec) || !graph_of(graph)) return cudart_done(DRIVER_INVALID_VALUE);
  int error = driver_exec_update(exec_of(exec), graph_of(graph));
  /* cudaGraphExecUpdateResult: 0 done, 2 the shape changed */
  if (result) *result = (abi_update_result){.result = error ? 2 : 0};
  return cudart_done(error);
}
EXPORT int cudaGraphExecDestroy(void *exec) {
  RUNTIME_CALL;
  if (!exec_of(exec)) return cudart_done(DRIVER_INVALID_VALUE);
  driver_exec_destroy(exec_of(exec));
  return DRIVER_OK;
}
EXPORT int cudaGraphUpload(void *exec, void *stream) {
  RUNTIME_CALL;
  return cudart_done(exec_of(exec) && driver_stream_of(stream) ? DRIVER_OK : DRIVER_INVALID_VALUE);
}
EXPORT int cudaGraphLaunch(void *exec, void *stream) {
  RUNTIME_CALL;
  driver_exec *e = exec_of(exec);
  driver_stream *s = driver_stream_of(stream);
  if (!e || !s) return cudart_done(DRIVER_INVALID_VALUE);
  if (!s->capture) return cudart_done(driver_exec_run(device, e));
  driver_operation op = {.kind = DRIVER_CHILD, .child = driver_graph_clone(e->graph)};
  return cudart_done(driver_submit(device, s, &op));
}
PER_THREAD(cudaGraphInstantiateWithParams, _ptsz);
PER_THREAD(cudaGraphLaunch, _ptsz);
PER_THREAD(cudaGraphUpload, _ptsz);

/* Memory of graphs is not pooled: nothing is kept back. */
EXPORT int cudaDeviceGraphMemTrim(int ordinal) {
  return cudart_done(ordinal ? DRIVER_INVALID_DEVICE : DRIVER_OK);
}
EXPORT int cudaDeviceGetGraphMemAttribute(int ordinal, int attribute, void *value) {
  uint64_t none = 0;
  (void)attribute;
  if (ordinal || !value) return cudart_done(DRIVER_INVALID_VALUE);
  memcpy(value, &none, sizeof none);
  return DRIVER_OK;
}

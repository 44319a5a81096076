/* Driver API: the nodes of graphs whose parameters the driver lays out in its own way. The rest
 * is in cu_same.c, captures and launches are in cu_stream.c. */
#include <stdlib.h>

#include "driver/cu.h"

static driver_node *node_of(const void *handle) {
  return driver_handle_get(handle, DRIVER_KIND_NODE);
}
static driver_node *in_exec(const void *exec, const void *node) {
  driver_exec *e = driver_handle_get(exec, DRIVER_KIND_EXEC);
  return e ? driver_exec_node(e, node) : NULL;
}

static int kernel_operation(driver_device *d, const abi_cu_kernel_node *p, driver_operation *op) {
  driver_function *f;
  static void *const none[1];
  const void *buffer = NULL;
  size_t bytes = 0;
  if (!p) return DRIVER_INVALID_VALUE;
  if (!cu_read_extra(p->extra, &buffer, &bytes) || (p->params && buffer))
    return DRIVER_INVALID_VALUE;
  *op = (driver_operation){.kind = DRIVER_LAUNCH};
  DRIVER_TRY(cu_done(driver_function_of(d, p->function, &f)));
  void *const *params = p->params || buffer || f->fn->param_bytes ? p->params : none;
  DRIVER_TRY(cu_done(driver_launch_make(d, f, p->grid, p->block, p->dynamic_bytes, NULL, params,
                                        buffer, bytes, &op->launch)));
  op->launch.handle = p->function;
  return DRIVER_OK;
}
static int copy_operation(driver_device *d, const abi_cu_memcpy3d *p, driver_operation *op) {
  *op = (driver_operation){.kind = DRIVER_COPY};
  DRIVER_TRY(cu_copy_of(p, &op->copy));
  return cu_done(driver_copy_check(d, &op->copy, 4));
}
static int fill_operation(const abi_memset *p, driver_operation *op) {
  if (!p || (p->element_bytes != 1 && p->element_bytes != 2 && p->element_bytes != 4))
    return DRIVER_INVALID_VALUE;
  *op = (driver_operation){.kind = DRIVER_FILL};
  op->fill = (driver_fill){
      (uint64_t)(uintptr_t)p->dst, p->pitch, 0, p->value, p->element_bytes, p->width, p->height, 1};
  return DRIVER_OK;
}

/* The version before had two fields less at the end, which nothing reads here. */
EXPORT int cuGraphAddKernelNode_v2(void **out, void *graph, void *const *needs, size_t need_count,
                                   const abi_cu_kernel_node *p) {
  CU_CALL;
  driver_operation op;
  DRIVER_TRY(kernel_operation(device, p, &op));
  return driver_node_add(out, graph, needs, need_count, &op);
}
EXPORT int cuGraphAddKernelNode(void **out, void *graph, void *const *needs, size_t need_count,
                                const abi_cu_kernel_node *p) {
  return cuGraphAddKernelNode_v2(out, graph, needs, need_count, p);
}
EXPORT int cuGraphAddMemcpyNode(void **out, void *graph, void *const *needs, size_t need_count,
                                const abi_cu_memcpy3d *p, void *context) {
  CU_CALL;
  driver_operation op;
  (void)context;
  DRIVER_TRY(copy_operation(device, p, &op));
  return driver_node_add(out, graph, needs, need_count, &op);
}
EXPORT int cuGraphAddMemsetNode(void **out, void *graph, void *const *needs, size_t need_count,
                                const abi_memset *p, void *context) {
  CU_CALL;
  driver_operation op;
  (void)context;
  DRIVER_TRY(fill_operation(p, &op));
  return driver_node_add(out, graph, needs, need_count, &op);
}

EXPORT int cuGraphKernelNodeSetParams_v2(void *node, const abi_cu_kernel_node *p) {
  CU_CALL;
  driver_operation op;
  DRIVER_TRY(kernel_operation(device, p, &op));
  return driver_node_replace(node_of(node), &op);
}
EXPORT int cuGraphKernelNodeSetParams(void *node, const abi_cu_kernel_node *p) {
  return cuGraphKernelNodeSetParams_v2(node, p);
}
EXPORT int cuGraphExecKernelNodeSetParams_v2(void *exec, void *node, const abi_cu_kernel_node *p) {
  CU_CALL;
  driver_operation op;
  DRIVER_TRY(kernel_operation(device, p, &op));
  return driver_node_replace(in_exec(exec, node), &op);
}
EXPORT int cuGraphExecKernelNodeSetParams(void *exec, void *node, const abi_cu_kernel_node *p) {
  return cuGraphExecKernelNodeSetParams_v2(exec, node, p);
}
EXPORT int cuGraphMemcpyNodeSetParams(void *node, const abi_cu_memcpy3d *p) {
  CU_CALL;
  driver_operation op;
  DRIVER_TRY(copy_operation(device, p, &op));
  return driver_node_replace(node_of(node), &op);
}
EXPORT int cuGraphExecMemcpyNodeSetParams(void *exec, void *node, const abi_cu_memcpy3d *p,
                                          void *context) {
  CU_CALL;
  driver_operation op;
  (void)context;
  DRIVER_TRY(copy_operation(device, p, &op));
  return driver_node_replace(in_exec(exec, node), &op);
}
EXPORT int cuGraphExecMemsetNodeSetParams(void *exec, void *node, const abi_memset *p,
                                          void *context) {
  CU_CALL;
  driver_operation op;
  (void)context;
  DRIVER_TRY(fill_operation(p, &op));
  return driver_node_replace(in_exec(exec, node), &op);
}
EXPORT int cuGraphKernelNodeGetParams_v2(void *node, abi_cu_kernel_node *p) {
  CU_CALL;
  driver_node *n = node_of(node);
  if (!n || n->op.kind != DRIVER_LAUNCH || !p) return DRIVER_INVALID_VALUE;
  const driver_launch *l = &n->op.launch;
  *p = (abi_cu_kernel_node){.function = l->function,
                            .grid = {l->grid[0], l->grid[1], l->grid[2]},
                            .block = {l->block[0], l->block[1], l->block[2]},
                            .dynamic_bytes = (unsigned)l->shared_bytes,
                            .params = driver_node_params(n)};
  return DRIVER_OK;
}
EXPORT int cuGraphExecUpdate(void *exec, void *graph, void **error_node, int *result) {
  CU_CALL;
  driver_exec *e = driver_handle_get(exec, DRIVER_KIND_EXEC);
  driver_graph *g = driver_handle_get(graph, DRIVER_KIND_GRAPH);
  if (!e || !g) return DRIVER_INVALID_VALUE;
  int error = driver_exec_update(e, g);
  if (error_node) *error_node = NULL;
  if (result) *result = error ? 2 : 0; /* the shape changed */
  return error;
}

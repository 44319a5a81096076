/* Driver API: what the runtime does under another name, with the same arguments in memory. The
 * code that comes back is the driver's, and the runtime's last error stays as it was. */
#include "driver/cu.h"
#include "driver/cudart.h"

#define SAME(name, runtime, types, arguments) \
  EXPORT int runtime types; \
  EXPORT int name types { \
    CU_CALL; \
    int *last = cudart_last(), kept = *last; \
    int error = cu_done(runtime arguments); \
    *last = kept; \
    return error; \
  }

#define NEEDS void **out, void *graph, void *const *needs, size_t need_count
#define GIVEN out, graph, needs, need_count

/* --- graphs --- */

SAME(cuGraphCreate, cudaGraphCreate, (void **out, unsigned flags), (out, flags))
SAME(cuGraphClone, cudaGraphClone, (void **out, void *graph), (out, graph))
SAME(cuGraphNodeFindInClone, cudaGraphNodeFindInClone, (void **out, void *node, void *clone),
     (out, node, clone))
SAME(cuGraphAddEmptyNode, cudaGraphAddEmptyNode, (NEEDS), (GIVEN))
SAME(cuGraphAddHostNode, cudaGraphAddHostNode, (NEEDS, const abi_host_node *p), (GIVEN, p))
SAME(cuGraphAddChildGraphNode, cudaGraphAddChildGraphNode, (NEEDS, void *child), (GIVEN, child))
SAME(cuGraphAddEventRecordNode, cudaGraphAddEventRecordNode, (NEEDS, void *event), (GIVEN, event))
SAME(cuGraphAddEventWaitNode, cudaGraphAddEventWaitNode, (NEEDS, void *event), (GIVEN, event))
SAME(cuGraphAddMemAllocNode, cudaGraphAddMemAllocNode, (NEEDS, abi_alloc_node *p), (GIVEN, p))
SAME(cuGraphAddMemFreeNode, cudaGraphAddMemFreeNode, (NEEDS, void *address), (GIVEN, address))
SAME(cuGraphGetNodes, cudaGraphGetNodes, (void *graph, void **nodes, size_t *count),
     (graph, nodes, count))
SAME(cuGraphGetRootNodes, cudaGraphGetRootNodes, (void *graph, void **nodes, size_t *count),
     (graph, nodes, count))
SAME(cuGraphGetEdges_v2, cudaGraphGetEdges,
     (void *graph, void **from, void **to, void *edges, size_t *count),
     (graph, from, to, edges, count))
SAME(cuGraphNodeGetDependencies_v2, cudaGraphNodeGetDependencies,
     (void *node, void **needs, void *edges, size_t *count), (node, needs, edges, count))
SAME(cuGraphNodeGetDependentNodes_v2, cudaGraphNodeGetDependentNodes,
     (void *node, void **nodes, void *edges, size_t *count), (node, nodes, edges, count))
SAME(cuGraphAddDependencies_v2, cudaGraphAddDependencies,
     (void *graph, void *const *from, void *const *to, const void *edges, size_t count),
     (graph, from, to, edges, count))
SAME(cuGraphRemoveDependencies_v2, cudaGraphRemoveDependencies,
     (void *graph, void *const *from, void *const *to, const void *edges, size_t count),
     (graph, from, to, edges, count))
SAME(cuGraphHostNodeGetParams, cudaGraphHostNodeGetParams, (void *node, abi_host_node *p),
     (node, p))
SAME(cuGraphMemsetNodeGetParams, cudaGraphMemsetNodeGetParams, (void *node, abi_memset *p),
     (node, p))
SAME(cuGraphMemFreeNodeGetParams, cudaGraphMemFreeNodeGetParams, (void *node, void **address),
     (node, address))
SAME(cuGraphChildGraphNodeGetGraph, cudaGraphChildGraphNodeGetGraph, (void *node, void **graph),
     (node, graph))
SAME(cuGraphEventRecordNodeGetEvent, cudaGraphEventRecordNodeGetEvent, (void *node, void **event),
     (node, event))
SAME(cuGraphEventWaitNodeGetEvent, cudaGraphEventWaitNodeGetEvent, (void *node, void **event),
     (node, event))
SAME(cuGraphDestroyNode, cudaGraphDestroyNode, (void *node), (node))
SAME(cuGraphNodeGetType, cudaGraphNodeGetType, (void *node, int *type), (node, type))
SAME(cuGraphHostNodeSetParams, cudaGraphHostNodeSetParams, (void *node, const abi_host_node *p),
     (node, p))
SAME(cuGraphExecHostNodeSetParams, cudaGraphExecHostNodeSetParams,
     (void *exec, void *node, const abi_host_node *p), (exec, node, p))
SAME(cuGraphMemsetNodeSetParams, cudaGraphMemsetNodeSetParams, (void *node, const abi_memset *p),
     (node, p))
SAME(cuGraphNodeSetEnabled, cudaGraphNodeSetEnabled, (void *exec, void *node, unsigned enabled),
     (exec, node, enabled))
SAME(cuGraphNodeGetEnabled, cudaGraphNodeGetEnabled, (void *exec, void *node, unsigned *enabled),
     (exec, node, enabled))
SAME(cuGraphInstantiateWithParams, cudaGraphInstantiateWithParams,
     (void **out, void *graph, abi_instantiate_params *p), (out, graph, p))
SAME(cuGraphExecGetFlags, cudaGraphExecGetFlags, (void *exec, unsigned long long *flags),
     (exec, flags))
SAME(cuGraphExecUpdate_v2, cudaGraphExecUpdate, (void *exec, void *graph, abi_update_result *p),
     (exec, graph, p))
SAME(cuGraphUpload, cudaGraphUpload, (void *exec, void *stream), (exec, stream))
SAME(cuDeviceGraphMemTrim, cudaDeviceGraphMemTrim, (int ordinal), (ordinal))
SAME(cuDeviceGetGraphMemAttribute, cudaDeviceGetGraphMemAttribute,
     (int ordinal, int attribute, void *value), (ordinal, attribute, value))

/* Without what edges carry, as before CUDA 13. */
EXPORT int cuGraphGetEdges(void *graph, void **from, void **to, size_t *count) {
  return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}
EXPORT int cuGraphNodeGetDependencies(void *node, void **needs, size_t *count) {
  return cuGraphNodeGetDependencies_v2(node, needs, NULL, count);
}
EXPORT int cuGraphNodeGetDependentNodes(void *node, void **nodes, size_t *count) {
  return cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}
EXPORT int cuGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}
EXPORT int cuGraphRemoveDependencies(void *graph, void *const *from, void *const *to,
                                     size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

/* --- streams --- */

SAME(cuStreamSetAttribute, cudaStreamSetAttribute, (void *stream, int id, const void *value),
     (stream, id, value))
SAME(cuStreamGetAttribute, cudaStreamGetAttribute,
     (void *stream, int id, abi_launch_attribute_value *value), (stream, id, value))
SAME(cuStreamCopyAttributes, cudaStreamCopyAttributes, (void *to, void *from), (to, from))
SAME(cuStreamGetDevice, cudaStreamGetDevice, (void *stream, int *ordinal), (stream, ordinal))
SAME(cuThreadExchangeStreamCaptureMode, cudaThreadExchangeStreamCaptureMode, (int *mode), (mode))
SAME(cuStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph,
     (void *stream, void *graph, void *const *needs, const void *edges, size_t count, int mode),
     (stream, graph, needs, edges, count, mode))
SAME(cuStreamGetCaptureInfo_v3, cudaStreamGetCaptureInfo,
     (void *stream, int *status, unsigned long long *id, void **graph, void ***needs,
      const void **edges, size_t *count),
     (stream, status, id, graph, needs, edges, count))
EXPORT int cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id,
                                     void **graph, void ***needs, size_t *count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, needs, NULL, count);
}

/* --- pools --- */

SAME(cuDeviceGetDefaultMemPool, cudaDeviceGetDefaultMemPool, (void **pool, int ordinal),
     (pool, ordinal))
SAME(cuDeviceGetMemPool, cudaDeviceGetMemPool, (void **pool, int ordinal), (pool, ordinal))
SAME(cuDeviceSetMemPool, cudaDeviceSetMemPool, (int ordinal, void *pool), (ordinal, pool))
SAME(cuMemPoolCreate, cudaMemPoolCreate, (void **out, const abi_pool_props *props), (out, props))
SAME(cuMemPoolDestroy, cudaMemPoolDestroy, (void *pool), (pool))
SAME(cuMemPoolTrimTo, cudaMemPoolTrimTo, (void *pool, size_t keep), (pool, keep))
SAME(cuMemPoolSetAttribute, cudaMemPoolSetAttribute, (void *pool, int id, void *value),
     (pool, id, value))
SAME(cuMemPoolGetAttribute, cudaMemPoolGetAttribute, (void *pool, int id, void *value),
     (pool, id, value))
SAME(cuMemPoolSetAccess, cudaMemPoolSetAccess,
     (void *pool, const abi_access_desc *list, size_t count), (pool, list, count))
SAME(cuMemPoolGetAccess, cudaMemPoolGetAccess, (int *flags, void *pool, abi_location *location),
     (flags, pool, location))
SAME(cuMemAllocFromPoolAsync, cudaMallocFromPoolAsync,
     (void **out, size_t bytes, void *pool, void *stream), (out, bytes, pool, stream))

/* --- devices, occupancy --- */

SAME(cuDeviceGetByPCIBusId, cudaDeviceGetByPCIBusId, (int *ordinal, const char *text),
     (ordinal, text))
SAME(cuDeviceGetP2PAttribute, cudaDeviceGetP2PAttribute, (int *value, int id, int from, int to),
     (value, id, from, to))
SAME(cuOccupancyAvailableDynamicSMemPerBlock, cudaOccupancyAvailableDynamicSMemPerBlock,
     (size_t *bytes, const void *function, int blocks, int threads),
     (bytes, function, blocks, threads))
SAME(cuOccupancyMaxPotentialClusterSize, cudaOccupancyMaxPotentialClusterSize,
     (int *size, const void *function, const abi_launch_config *config), (size, function, config))

PER_THREAD(cuGraphInstantiateWithParams, _ptsz);
PER_THREAD(cuGraphUpload, _ptsz);
PER_THREAD(cuMemAllocFromPoolAsync, _ptsz);
PER_THREAD(cuStreamBeginCaptureToGraph, _ptsz);
PER_THREAD(cuStreamCopyAttributes, _ptsz);
PER_THREAD(cuStreamGetAttribute, _ptsz);
PER_THREAD(cuStreamGetCaptureInfo_v2, _ptsz);
PER_THREAD(cuStreamGetCaptureInfo_v3, _ptsz);
PER_THREAD(cuStreamGetDevice, _ptsz);
PER_THREAD(cuStreamSetAttribute, _ptsz);

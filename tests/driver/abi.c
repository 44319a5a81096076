/* The types of driver/abi.h against the headers of an installed CUDA 13: compiled, never run. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "driver/abi.h"

#define SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define FIELD(ours, field, theirs, name) \
  _Static_assert(offsetof(ours, field) == offsetof(theirs, name), #theirs "." #name)

typedef struct cudaDeviceProp prop;
SIZE(abi_device_prop, prop);
FIELD(abi_device_prop, total_global_mem, prop, totalGlobalMem);
FIELD(abi_device_prop, mem_pitch, prop, memPitch);
FIELD(abi_device_prop, major, prop, major);
FIELD(abi_device_prop, multiprocessors, prop, multiProcessorCount);
FIELD(abi_device_prop, textures[0], prop, maxTexture1D);
FIELD(abi_device_prop, textures[1], prop, maxTexture1DMipmap);
FIELD(abi_device_prop, textures[2], prop, maxTexture2D);
FIELD(abi_device_prop, textures[4], prop, maxTexture2DMipmap);
FIELD(abi_device_prop, textures[6], prop, maxTexture2DLinear);
FIELD(abi_device_prop, textures[9], prop, maxTexture2DGather);
FIELD(abi_device_prop, textures[11], prop, maxTexture3D);
FIELD(abi_device_prop, textures[14], prop, maxTexture3DAlt);
FIELD(abi_device_prop, textures[17], prop, maxTextureCubemap);
FIELD(abi_device_prop, textures[18], prop, maxTexture1DLayered);
FIELD(abi_device_prop, textures[20], prop, maxTexture2DLayered);
FIELD(abi_device_prop, textures[23], prop, maxTextureCubemapLayered);
FIELD(abi_device_prop, textures[25], prop, maxSurface1D);
FIELD(abi_device_prop, surface_alignment, prop, surfaceAlignment);
FIELD(abi_device_prop, concurrent_kernels, prop, concurrentKernels);
FIELD(abi_device_prop, copy_engines, prop, asyncEngineCount);
FIELD(abi_device_prop, l2_bytes, prop, l2CacheSize);
FIELD(abi_device_prop, threads_per_multiprocessor, prop, maxThreadsPerMultiProcessor);
FIELD(abi_device_prop, stream_priorities, prop, streamPrioritiesSupported);
FIELD(abi_device_prop, shared_per_multiprocessor, prop, sharedMemPerMultiprocessor);
FIELD(abi_device_prop, regs_per_multiprocessor, prop, regsPerMultiprocessor);
FIELD(abi_device_prop, managed_memory, prop, managedMemory);
FIELD(abi_device_prop, host_atomics, prop, hostNativeAtomicSupported);
FIELD(abi_device_prop, pageable_access, prop, pageableMemoryAccess);
FIELD(abi_device_prop, host_pointer_registered, prop, canUseHostPointerForRegisteredMem);
FIELD(abi_device_prop, cooperative, prop, cooperativeLaunch);
FIELD(abi_device_prop, shared_optin, prop, sharedMemPerBlockOptin);
FIELD(abi_device_prop, blocks_per_multiprocessor, prop, maxBlocksPerMultiProcessor);
FIELD(abi_device_prop, reserved_shared, prop, reservedSharedMemPerBlock);
FIELD(abi_device_prop, memory_pools, prop, memoryPoolsSupported);
FIELD(abi_device_prop, cluster_launch, prop, clusterLaunch);
FIELD(abi_device_prop, host_numa_id, prop, hostNumaId);

typedef struct cudaFuncAttributes attributes;
SIZE(abi_func_attributes, attributes);
FIELD(abi_func_attributes, max_threads, attributes, maxThreadsPerBlock);
FIELD(abi_func_attributes, max_dynamic_bytes, attributes, maxDynamicSharedSizeBytes);
FIELD(abi_func_attributes, non_portable_cluster, attributes, nonPortableClusterSizeAllowed);

typedef struct cudaPointerAttributes pointer;
SIZE(abi_pointer_attributes, pointer);
FIELD(abi_pointer_attributes, host_pointer, pointer, hostPointer);

typedef struct cudaMemcpy3DParms memcpy3d;
SIZE(abi_memcpy3d, memcpy3d);
FIELD(abi_memcpy3d, src, memcpy3d, srcPtr);
FIELD(abi_memcpy3d, dst, memcpy3d, dstPtr);
FIELD(abi_memcpy3d, kind, memcpy3d, kind);

typedef struct cudaMemsetParams fill;
SIZE(abi_memset, fill);
FIELD(abi_memset, width, fill, width);

SIZE(abi_launch_attribute, cudaLaunchAttribute);
FIELD(abi_launch_attribute, value, cudaLaunchAttribute, val);
_Static_assert(ABI_ATTRIBUTE_COOPERATIVE == cudaLaunchAttributeCooperative, "cooperative");
_Static_assert(ABI_ATTRIBUTE_CLUSTER == cudaLaunchAttributeClusterDimension, "cluster");

SIZE(abi_launch_config, cudaLaunchConfig_t);
FIELD(abi_launch_config, dynamic_bytes, cudaLaunchConfig_t, dynamicSmemBytes);
FIELD(abi_launch_config, attribute_count, cudaLaunchConfig_t, numAttrs);
SIZE(abi_cu_launch_config, CUlaunchConfig);
FIELD(abi_cu_launch_config, stream, CUlaunchConfig, hStream);
FIELD(abi_cu_launch_config, attribute_count, CUlaunchConfig, numAttrs);

typedef struct cudaGraphNodeParams graph_node;
SIZE(abi_graph_node, graph_node);
FIELD(abi_graph_node, u.kernel.params, graph_node, kernel.kernelParams);
FIELD(abi_graph_node, u.copy.params.extent, graph_node, memcpy.copyParams.extent);
FIELD(abi_graph_node, u.fill.height, graph_node, memset.height);
FIELD(abi_graph_node, u.host.user, graph_node, host.userData);
FIELD(abi_graph_node, u.alloc.address, graph_node, alloc.dptr);
FIELD(abi_graph_node, u.handle, graph_node, eventRecord.event);
typedef struct cudaKernelNodeParams kernel_node;
SIZE(abi_kernel_node, kernel_node);
FIELD(abi_kernel_node, params, kernel_node, kernelParams);
typedef struct cudaHostNodeParams host_node;
SIZE(abi_host_node, host_node);
typedef struct cudaMemPoolProps pool_props;
SIZE(abi_pool_props, pool_props);
typedef struct cudaMemAccessDesc access_desc;
SIZE(abi_access_desc, access_desc);
typedef struct cudaMemAllocNodeParams alloc_node;
SIZE(abi_alloc_node, alloc_node);
FIELD(abi_alloc_node, address, alloc_node, dptr);
SIZE(abi_instantiate_params, cudaGraphInstantiateParams);
FIELD(abi_instantiate_params, result, cudaGraphInstantiateParams, result_out);
SIZE(abi_update_result, cudaGraphExecUpdateResultInfo);

SIZE(abi_cu_memcpy2d, CUDA_MEMCPY2D);
FIELD(abi_cu_memcpy2d, dst_type, CUDA_MEMCPY2D, dstMemoryType);
FIELD(abi_cu_memcpy2d, width, CUDA_MEMCPY2D, WidthInBytes);
SIZE(abi_cu_memcpy3d, CUDA_MEMCPY3D);
FIELD(abi_cu_memcpy3d, dst_type, CUDA_MEMCPY3D, dstMemoryType);
FIELD(abi_cu_memcpy3d, depth, CUDA_MEMCPY3D, Depth);

/* Codes that mean one thing in both interfaces and here. */
#define X(name, code, runtime, driver, text) enum { ERROR_##name = code };
#include "driver/error.def"
#undef X
_Static_assert(ERROR_ILLEGAL_ADDRESS == cudaErrorIllegalAddress, "700");
_Static_assert(ERROR_ILLEGAL_ADDRESS == CUDA_ERROR_ILLEGAL_ADDRESS, "700");
_Static_assert(ERROR_MISALIGNED == cudaErrorMisalignedAddress, "716");
_Static_assert(ERROR_ASSERT == cudaErrorAssert, "710");
_Static_assert(ERROR_LAUNCH_FAILED == cudaErrorLaunchFailure, "719");
_Static_assert(ERROR_NO_BINARY == cudaErrorNoKernelImageForDevice, "209");
_Static_assert(ERROR_COOPERATIVE_TOO_LARGE == cudaErrorCooperativeLaunchTooLarge, "720");

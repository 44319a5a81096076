/* Types of CUDA's interface, as programs compiled against the headers of CUDA 13 lay them
 * out (x86-64). tests/driver/abi.c compares every size and offset with those headers where
 * they are installed. Fields have short names of our own; what nothing here reads is left
 * unnamed. */
#ifndef PLUMB_DRIVER_ABI_H
#define PLUMB_DRIVER_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct abi_dim3 {
  uint32_t x, y, z;
} abi_dim3;

typedef struct abi_uuid {
  uint8_t bytes[16];
} abi_uuid;

typedef struct abi_device_prop {
  char name[256];
  abi_uuid uuid;
  char luid[8];
  unsigned luid_mask;
  size_t total_global_mem, shared_per_block;
  int regs_per_block, warp_size;
  size_t mem_pitch;
  int max_threads_per_block, max_threads_dim[3], max_grid_size[3];
  size_t total_const_mem;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int multiprocessors, integrated, can_map_host;
  int textures[39]; /* maxTexture1D ... maxSurfaceCubemapLayered */
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, copy_engines,
      unified_addressing;
  int bus_width, l2_bytes, persisting_l2, threads_per_multiprocessor, stream_priorities;
  int global_l1, local_l1;
  size_t shared_per_multiprocessor;
  int regs_per_multiprocessor, managed_memory, multi_gpu, multi_gpu_group, host_atomics;
  int pageable_access, concurrent_managed, preemption, host_pointer_registered, cooperative;
  size_t shared_optin;
  int pageable_host_tables, direct_managed, blocks_per_multiprocessor, access_window;
  size_t reserved_shared;
  int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools;
  int rdma;
  unsigned rdma_flush;
  int rdma_ordering;
  unsigned pool_handles;
  int deferred_arrays, ipc_events, cluster_launch, unified_functions, numa_config, numa_id, mps;
  int host_numa_id;
  unsigned gpu_pci_device, gpu_pci_subsystem;
  int numa_ipc, reserved[56];
} abi_device_prop;

typedef struct abi_func_attributes {
  size_t shared_bytes, const_bytes, local_bytes;
  int max_threads, regs, ptx_version, binary_version, cache_mode_ca, max_dynamic_bytes, carveout;
  int cluster_required, cluster_width, cluster_height, cluster_depth, cluster_policy;
  int non_portable_cluster, reserved[16];
} abi_func_attributes;

typedef struct abi_pointer_attributes {
  int type; /* 0 unregistered, 1 host, 2 device, 3 managed */
  int device;
  void *device_pointer, *host_pointer;
  long reserved[8];
} abi_pointer_attributes;

typedef struct abi_extent {
  size_t width, height, depth;
} abi_extent;
typedef struct abi_pos {
  size_t x, y, z;
} abi_pos;
typedef struct abi_pitched {
  void *ptr;
  size_t pitch, xsize, ysize;
} abi_pitched;

typedef struct abi_memcpy3d {
  void *src_array;
  abi_pos src_pos;
  abi_pitched src;
  void *dst_array;
  abi_pos dst_pos;
  abi_pitched dst;
  abi_extent extent;
  int kind;
} abi_memcpy3d;

typedef struct abi_memset {
  void *dst;
  size_t pitch;
  unsigned value, element_bytes;
  size_t width, height;
} abi_memset;

typedef union abi_launch_attribute_value {
  char bytes[64];
  int cooperative, priority;
  unsigned cluster[3];
} abi_launch_attribute_value;
typedef struct abi_launch_attribute {
  unsigned id;
  char pad[4];
  abi_launch_attribute_value value;
} abi_launch_attribute;
enum { ABI_ATTRIBUTE_COOPERATIVE = 2, ABI_ATTRIBUTE_CLUSTER = 4, ABI_ATTRIBUTE_PRIORITY = 8 };

typedef struct abi_launch_config {
  abi_dim3 grid, block;
  size_t dynamic_bytes;
  void *stream;
  abi_launch_attribute *attributes;
  unsigned attribute_count;
} abi_launch_config;

/* CUlaunchConfig */
typedef struct abi_cu_launch_config {
  unsigned grid[3], block[3], dynamic_bytes;
  void *stream;
  abi_launch_attribute *attributes;
  unsigned attribute_count;
} abi_cu_launch_config;

typedef struct abi_kernel_node {
  void *function;
  abi_dim3 grid, block;
  unsigned dynamic_bytes;
  void **params, **extra;
} abi_kernel_node;

/* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct abi_cu_kernel_node {
  void *function;
  unsigned grid[3], block[3], dynamic_bytes;
  void **params, **extra;
  void *kernel, *context;
} abi_cu_kernel_node;

typedef struct abi_host_node {
  void (*function)(void *);
  void *user;
} abi_host_node;

typedef struct abi_location {
  int type, id;
} abi_location;

typedef struct abi_pool_props {
  int alloc_type, handle_types;
  abi_location location;
  void *security;
  size_t max_size;
  unsigned short usage;
  unsigned char reserved[54];
} abi_pool_props;

typedef struct abi_access_desc {
  abi_location location;
  int flags;
} abi_access_desc;

typedef struct abi_alloc_node {
  abi_pool_props pool;
  const abi_access_desc *access;
  size_t access_count, bytes;
  void *address;
} abi_alloc_node;

/* cudaGraphNodeParams */
typedef struct abi_graph_node {
  int type, reserved0[3];
  union {
    long long room[29];
    abi_kernel_node kernel;
    struct {
      int flags, reserved[3];
      abi_memcpy3d params;
    } copy;
    abi_memset fill;
    abi_host_node host;
    abi_alloc_node alloc;
    void *handle; /* of an event, a child graph; the address to free */
  } u;
  long long reserved2;
} abi_graph_node;

typedef struct abi_instantiate_params {
  unsigned long long flags;
  void *upload_stream, *error_node;
  int result;
} abi_instantiate_params;

typedef struct abi_update_result {
  int result;
  void *error_node, *error_from_node;
} abi_update_result;

typedef struct abi_channel_desc {
  int x, y, z, w, kind;
} abi_channel_desc;

/* CUDA_MEMCPY2D_v2 and CUDA_MEMCPY3D_v2 */
typedef struct abi_cu_memcpy2d {
  size_t src_x, src_y;
  int src_type; /* 1 host, 2 device, 3 array, 4 unified */
  const void *src_host;
  uint64_t src_device;
  void *src_array;
  size_t src_pitch, dst_x, dst_y;
  int dst_type;
  void *dst_host;
  uint64_t dst_device;
  void *dst_array;
  size_t dst_pitch, width, height;
} abi_cu_memcpy2d;

typedef struct abi_cu_memcpy3d {
  size_t src_x, src_y, src_z, src_lod;
  int src_type;
  const void *src_host;
  uint64_t src_device;
  void *src_array, *reserved0;
  size_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_lod;
  int dst_type;
  void *dst_host;
  uint64_t dst_device;
  void *dst_array, *reserved1;
  size_t dst_pitch, dst_height, width, height, depth;
} abi_cu_memcpy3d;

/* What nvcc hands to __cudaRegisterFatBinary. */
typedef struct abi_fatbin_wrapper {
  uint32_t magic, version;
  const void *data;
  void *linked;
} abi_fatbin_wrapper;

#endif

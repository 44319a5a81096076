// Kernels in the ways that programs for sm_90a are written: cuda::barrier and its bulk and
// tensor copies, pipelines of cp.async, clusters, and a product fed by a producer warp.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_fp16.h>
#include <stdint.h>

using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
namespace cg = cooperative_groups;

// The box at (8, 4) of an image of 64 x 64 words, each word plus 1000.
extern "C" __global__ void tensor_add(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) int tile[8][32];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, 8, 4, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i / 32][i % 32] += 1000;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&map, 8, 4, &tile);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
    (&bar)->~barrier();
  }
}

extern "C" __global__ void bulk_triple(const int *in, int *out) {
  __shared__ alignas(16) int tile[256];
  __shared__ barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  if (threadIdx.x == 0)
    cuda::memcpy_async(tile, in + blockIdx.x * 256, cuda::aligned_size_t<16>(sizeof tile), bar);
  barrier::arrival_token token = bar.arrive();
  bar.wait(std::move(token));
  for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i] *= 3;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(out + blockIdx.x * 256, tile, sizeof tile);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

// Sums of 8 tiles of 128 words, two in flight; each thread adds what others loaded.
extern "C" __global__ void pipelined_sum(const int *in, int *out) {
  __shared__ alignas(16) int tile[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int fetch = 0, k = 0; k < 8; k++) {
    for (; fetch < 8 && fetch < k + 2; fetch++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[fetch % 2], in + fetch * 128,
                         cuda::aligned_size_t<16>(sizeof tile[0]), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[k % 2][threadIdx.x ^ 37];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// A histogram whose bins lie in the shared memory of two blocks.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_histogram(const int *in, int *out) {
  __shared__ int bins[64];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) bins[i] = 0;
  cluster.sync();
  int v = in[blockIdx.x * blockDim.x + threadIdx.x] & 127;
  int *remote = cluster.map_shared_rank(bins, v / 64);
  atomicAdd(remote + v % 64, 1);
  cluster.sync();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) out[blockIdx.x * 64 + i] = bins[i];
}

// --- a 64 x 64 tile of a * b^T, K in stages of 64 ---

static __device__ uint32_t address(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
static __device__ void bar_init(uint64_t *b, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(b)), "r"(count));
}
static __device__ void bar_wait(uint64_t *b, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nwaitLoop:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra.uni waitLoop;\n}" ::"r"(
          address(b)),
      "r"(parity)
      : "memory");
}
static __device__ void bar_arrive(uint64_t *b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(b)) : "memory");
}
static __device__ void load(void *to, const CUtensorMap *map, uint64_t *b, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4}], [%2];" ::"r"(address(to)),
      "l"(map), "r"(address(b)), "r"(x), "r"(y)
      : "memory");
}
static __device__ uint64_t descriptor(const void *p) {
  return (uint64_t)(address(p) >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
static __device__ void multiply(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
      "%10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(1));
}

// Warps 0 to 3 multiply, warp 4 loads two stages ahead. `parts` is K / 64.
extern "C" __global__ void product(const __grid_constant__ CUtensorMap a,
                                   const __grid_constant__ CUtensorMap b, float *c, int parts) {
  __shared__ alignas(1024) __half as[2][64 * 64], bs[2][64 * 64];
  __shared__ uint64_t full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; s++) {
      bar_init(&full[s], 1);
      bar_init(&empty[s], 128);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 128) {
      for (int k = 0; k < parts; k++) {
        int s = k % 2;
        if (k >= 2) bar_wait(&empty[s], (k / 2 - 1) & 1);
        asm volatile(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full[s])),
            "r"(2 * 64 * 64 * 2)
            : "memory");
        load(as[s], &a, &full[s], k * 64, blockIdx.y * 64);
        load(bs[s], &b, &full[s], k * 64, blockIdx.x * 64);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[32] = {0};
  for (int k = 0; k < parts; k++) {
    int s = k % 2;
    bar_wait(&full[s], k / 2 & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int j = 0; j < 4; j++) multiply(d, descriptor(&as[s][j * 16]), descriptor(&bs[s][j * 16]));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    bar_arrive(&empty[s]);
  }
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, width = gridDim.x * 64;
  for (int i = 0; i < 32; i++)
    c[(blockIdx.y * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8) * width + blockIdx.x * 64 +
      i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}

// Layer norm of each row of x[m][n]: one block a row, which stays in registers. n is at most
// THREADS * PER_THREAD.

#define THREADS 128
#define PER_THREAD 4
#define WARP 32
#define WARPS (THREADS / WARP)

__device__ float warp_sum(float v) {
  for (int offset = WARP / 2; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

// Adds one value of each thread; every thread gets the sum. partial holds WARP floats.
__device__ float block_sum(float v, float *partial) {
  const int lane = threadIdx.x % WARP;
  v = warp_sum(v);
  if (lane == 0) partial[threadIdx.x / WARP] = v;
  __syncthreads();
  v = warp_sum(lane < WARPS ? partial[lane] : 0.0f);
  __syncthreads(); // the next sum writes partial again
  return v;
}

// This thread's part of the sum of (x - shift)^2.
__device__ float sum_squares(const float *v, int n, float shift) {
  float sum = 0.0f;
  for (int i = 0; i < PER_THREAD; i++) {
    const int j = i * THREADS + threadIdx.x;
    const float d = j < THREADS * PER_THREAD ? v[i] - shift : 0.0f;
    sum += d * d;
  }
  return sum;
}

extern "C" __global__ void layer_norm(const float *__restrict__ x, const float *__restrict__ gamma,
                                      const float *__restrict__ beta, float *__restrict__ y,
                                      int n) {
  __shared__ float partial[WARP];
  const size_t start = (size_t)blockIdx.x * n;

  float v[PER_THREAD];
  float sum = 0.0f;
  for (int i = 0; i < PER_THREAD; i++) {
    const int j = i * THREADS + threadIdx.x;
    v[i] = j < n ? x[start + j] : 0.0f;
    sum += v[i];
  }
  const float mean = block_sum(sum, partial) / n;
  const float variance = block_sum(sum_squares(v, n, mean), partial) / n;
  const float scale = rsqrtf(variance + 1e-5f);

  for (int i = 0; i < PER_THREAD; i++) {
    const int j = i * THREADS + threadIdx.x;
    if (j < n) y[start + j] = (v[i] - mean) * scale * gamma[j] + beta[j];
  }
}

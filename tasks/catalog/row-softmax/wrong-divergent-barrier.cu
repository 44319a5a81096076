// Softmax of each row of x[m][n]: one block a row, THREADS threads striding over its columns.

#define THREADS 256
#define WARP 32

struct Max {
  static __device__ float combine(float a, float b) { return fmaxf(a, b); }
};

struct Sum {
  static __device__ float combine(float a, float b) { return a + b; }
};

// Reduces one value of each thread; every thread gets the result. partial holds THREADS floats.
template <typename Op>
__device__ float block_reduce(float v, float *partial) {
  const int t = threadIdx.x;
  partial[t] = v;
  __syncthreads();
  for (int half = THREADS / 2; half >= WARP; half /= 2) {
    if (t < half) partial[t] = Op::combine(partial[t], partial[t + half]);
    __syncthreads();
  }
  if (t < WARP) {
    v = partial[t];
    for (int offset = WARP / 2; offset > 0; offset /= 2)
      v = Op::combine(v, __shfl_xor_sync(0xffffffffu, v, offset));
    if (t == 0) partial[0] = v;
  }
  __syncthreads();
  v = partial[0];
  __syncthreads(); // the next reduction writes partial again
  return v;
}

extern "C" __global__ void row_softmax(const float *__restrict__ x, float *__restrict__ y, int n) {
  __shared__ float partial[THREADS];
  const float *row = x + (size_t)blockIdx.x * n;
  float *out = y + (size_t)blockIdx.x * n;

  float top = -INFINITY;
  for (int j = threadIdx.x; j < n; j += THREADS) {
    top = fmaxf(top, row[j]);
    __syncthreads();
  }
  top = block_reduce<Max>(top, partial);

  float sum = 0.0f;
  for (int j = threadIdx.x; j < n; j += THREADS) {
    sum += expf(row[j] - top);
  }
  sum = block_reduce<Sum>(sum, partial);

  for (int j = threadIdx.x; j < n; j += THREADS) {
    out[j] = expf(row[j] - top) / sum;
  }
}

// c[m][n] = a[m][depth] b[depth][n]: each block computes one TILE x TILE tile of c, and stages the
// tiles of a and b that it needs in shared memory, with zeros beyond the edges.

#define TILE 16

extern "C" __global__ void tiled_matmul(const float *__restrict__ a, const float *__restrict__ b,
                                        float *__restrict__ c, int m, int n, int depth) {
  __shared__ float a_tile[TILE][TILE];
  __shared__ float b_tile[TILE][TILE];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * TILE + ty;
  const int col = blockIdx.x * TILE + tx;

  float sum = 0.0f;
  for (int k0 = 0; k0 < depth; k0 += TILE) {
    if (row < m && k0 + tx < depth) a_tile[ty][tx] = a[(size_t)row * depth + k0 + tx];
    b_tile[ty][tx] = k0 + ty < depth && col < n ? b[(size_t)(k0 + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < TILE; k++) sum += a_tile[ty][k] * b_tile[k][tx];
    __syncthreads(); // the next step overwrites the tiles
  }
  if (row < m && col < n) c[(size_t)row * n + col] = sum;
}

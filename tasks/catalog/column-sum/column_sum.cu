// Adds the sum of each column of x[m][n] to y[n]. A block takes COLUMNS columns of STRIP rows; the
// strips of a column meet in y by atomic addition, in any order.

#define COLUMNS 32
#define ROWS 8
#define STRIP 32

extern "C" __global__ void column_sum(const float *__restrict__ x, float *__restrict__ y, int m,
                                      int n) {
  __shared__ float partial[ROWS][COLUMNS];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int col = blockIdx.x * COLUMNS + tx;
  const int first = blockIdx.y * STRIP;
  const int end = min(first + STRIP, m);

  float sum = 0.0f;
  if (col < n) {
    for (int row = first + ty; row < end; row += ROWS) sum += x[(size_t)row * n + col];
  }
  partial[ty][tx] = sum;
  __syncthreads();
  if (ty == 0 && col < n) {
    for (int i = 1; i < ROWS; i++) sum += partial[i][tx];
    atomicAdd(&y[col], sum);
  }
}

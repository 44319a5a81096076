// y[n][m] = transpose of x[m][n]: a block copies one TILE x TILE tile through shared memory, so
// that it reads and writes along rows.

#define TILE 32
#define ROWS 8

extern "C" __global__ void transpose(const float *__restrict__ x, float *__restrict__ y, int m,
                                     int n) {
  __shared__ float tile[TILE][TILE + 1]; // the spare column keeps a column off a single bank
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row0 = blockIdx.y * TILE;
  const int col0 = blockIdx.x * TILE;

  for (int i = ty; i < TILE; i += ROWS) {
    if (row0 + i < m && col0 + tx < n) tile[i][tx] = x[(size_t)(row0 + i) * n + col0 + tx];
  }
  for (int i = ty; i < TILE; i += ROWS) {
    if (col0 + i < n && row0 + tx < m) y[(size_t)(col0 + i) * m + row0 + tx] = tile[tx][i];
  }
}

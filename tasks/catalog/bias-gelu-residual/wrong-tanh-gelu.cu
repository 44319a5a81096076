// y = gelu(x + bias) + residual over x[m][n] in one pass: four columns a thread, and
// blockIdx.y is the row.

#define WIDTH 4

__device__ float bias_gelu(float x, float bias) {
  const float z = x + bias;
  return 0.5f * z * (1.0f + tanhf(0.797884561f * (z + 0.044715f * z * z * z)));
}

extern "C" __global__ void bias_gelu_residual(const float *__restrict__ x,
                                              const float *__restrict__ bias,
                                              const float *__restrict__ residual,
                                              float *__restrict__ y, int n) {
  const int col = (blockIdx.x * blockDim.x + threadIdx.x) * WIDTH;
  const size_t row = (size_t)blockIdx.y * n;

  if (n % WIDTH == 0 && col < n) { // every row starts at a multiple of 16 bytes
    const float4 v = *(const float4 *)(x + row + col);
    const float4 b = *(const float4 *)(bias + col);
    const float4 r = *(const float4 *)(residual + row + col);
    float4 out;
    out.x = bias_gelu(v.x, b.x) + r.x;
    out.y = bias_gelu(v.y, b.y) + r.y;
    out.z = bias_gelu(v.z, b.z) + r.z;
    out.w = bias_gelu(v.w, b.w) + r.w;
    *(float4 *)(y + row + col) = out;
  } else {
    const int end = min(col + WIDTH, n);
    for (int j = col; j < end; j++) y[row + j] = bias_gelu(x[row + j], bias[j]) + residual[row + j];
  }
}

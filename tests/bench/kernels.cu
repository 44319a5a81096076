// The two kernels of the benchmark. kernels.ptx is made from this file, so that the
// benchmark needs no CUDA:
//   clang-22 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -O2 -S
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __device__ __attribute__((device))
#define TX __nvvm_read_ptx_sreg_tid_x()
#define TY __nvvm_read_ptx_sreg_tid_y()
#define BX __nvvm_read_ptx_sreg_ctaid_x()
#define BY __nvvm_read_ptx_sreg_ctaid_y()
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float ta[16][16];
  __shared__ float tb[16][16];
  int x = TX, y = TY, column = BX * 16 + x, row = BY * 16 + y;
  float sum = 0.0f;
  for (int k = 0; k < n; k += 16) {
    ta[y][x] = a[row * n + k + x];
    tb[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; i++) sum = __builtin_fmaf(ta[y][i], tb[i][x], sum);
    __syncthreads();
  }
  c[row * n + column] = sum;
}
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
  int i = BX * __nvvm_read_ptx_sreg_ntid_x() + TX;
  if (i < n) y[i] = __builtin_fmaf(a, x[i], y[i]);
}

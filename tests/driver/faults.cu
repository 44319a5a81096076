// One wrong kernel a run, by name; prints the error code of the next call and of one after it.
#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void out_of_bounds(int *x, int n) {
  x[threadIdx.x + n] = 1;
}
__global__ void misaligned(int *x, int n) {
  *(int *)((char *)x + n) = 1;
}
__global__ void assertion(int *x, int n) {
  assert(x == nullptr || n > 1000);
}
__global__ void stops(int *x, int n) {
  if (n) __trap();
}
__global__ void uninitialised(int *x, int n) {
  x[0] = x[1] + n;
}
__global__ void race(int *x, int n) {
  x[0] = threadIdx.x + n;
}
__global__ void divergent(int *x, int n) {
  if (threadIdx.x < 16)
    __syncthreads();
  else if (n)
    __syncthreads();
  x[threadIdx.x] = 1;
}
__global__ void host_memory(int *x, int n) {
  x[0] = n;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*kernel)(int *, int);
    int n, threads;
  } rows[] = {{"out-of-bounds", out_of_bounds, 50, 32},
              {"misaligned", misaligned, 2, 1},
              {"assert", assertion, 1, 4},
              {"trap", stops, 1, 4},
              {"uninitialised", uninitialised, 1, 1},
              {"race", race, 1, 32},
              {"divergent", divergent, 1, 32},
              {"host", host_memory, 1, 1}};
  int *x, own = 0;
  if (cudaMalloc(&x, 64 * sizeof(int)) != cudaSuccess) return 2;
  for (auto &row : rows) {
    if (argc < 2 || strcmp(row.name, argv[1]) != 0) continue;
    row.kernel<<<1, row.threads>>>(strcmp(row.name, "host") ? x : &own, row.n);
    printf("%d", (int)cudaDeviceSynchronize());
    printf(" %d", (int)cudaMemset(x, 0, 4));
    cudaGetLastError();
    printf(" %d %d\n", (int)cudaGetLastError(), own);
    cudaDeviceReset();
    printf("%d\n", (int)cudaDeviceSynchronize());
    return 0;
  }
  return 2;
}

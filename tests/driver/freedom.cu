// Programs of nvcc -cudart shared: kernels whose results depend on what PTX leaves open, and
// some whose do not. Each argument names one; its result is printed in hexadecimal.
#include <cstdio>
#include <cstring>

__global__ void fused(float *x) { // 1.1f squared minus 1.21f, in two roundings or in one
  asm("{ .reg .f32 p; mul.f32 p, %1, %1; sub.f32 %0, p, %2; }"
      : "=f"(x[threadIdx.x + 1])
      : "f"(x[0]), "f"(1.21f));
}
__global__ void approximate(float *x) { // what the launch before left shows
  float e;
  asm("ex2.approx.f32 %0, %1;" : "=f"(e) : "f"(x[0]));
  x[1] += e;
  printf("said once\n");
}
__global__ void ordered(float *x) {
  if (threadIdx.x < 64) atomicExch((int *)x, (int)(blockIdx.x * 64 + threadIdx.x));
}
__device__ float kept = 3;
__global__ void global(float *x) { // what the variable was before shows
  asm("ex2.approx.f32 %0, %1;" : "=f"(x[1]) : "f"(kept));
  kept += 1;
}
__global__ void exact(float *x) {
  atomicAdd((int *)x, (int)threadIdx.x);
  x[1] = x[2] * 2;
}
__global__ void heap(float *x) { // what is taken from the heap stays: it is not tried
  float *room = (float *)malloc(4);
  asm("ex2.approx.f32 %0, %1;" : "=f"(*room) : "f"(x[0]));
  x[1] = *room;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*kernel)(float *);
    int blocks, threads;
  } rows[] = {{"fused", fused, 1, 1},      {"approximate", approximate, 1, 1},
              {"ordered", ordered, 4, 64}, {"global", global, 1, 1},
              {"exact", exact, 1, 32},     {"heap", heap, 1, 1}};
  float *x;
  unsigned bits[4];
  bool managed = argc > 2 && strcmp(argv[2], "managed") == 0;
  const float start[4] = {1.1f, 0, 1.21f, 0};
  if (managed ? cudaMallocManaged(&x, sizeof start) : cudaMalloc(&x, sizeof start)) return 2;
  for (auto &row : rows) {
    if (argc < 2 || strcmp(row.name, argv[1]) != 0) continue;
    for (int i = 0; i < 2; i++) { // the second launch starts from what the first one left
      if (i == 0) cudaMemcpy(x, start, sizeof start, cudaMemcpyDefault);
      row.kernel<<<row.blocks, row.threads>>>(x);
    }
    if (cudaMemcpy(bits, x, sizeof bits, cudaMemcpyDefault)) return 3;
    printf("%08x %08x\n", bits[0], bits[1]);
    return 0;
  }
  return 2;
}

// Programs of nvcc -cudart shared: what the runtime API does, each part with its own check.
#include <cooperative_groups.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static int failures;
#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      failures++; \
      printf("FAIL %s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, \
             cudaGetErrorString(cudaGetLastError())); \
    } \
  } while (0)
#define OK(call) CHECK((call) == cudaSuccess)

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void increment(int *x, int by) {
  x[threadIdx.x] += by;
}

__constant__ int factor[2];
__device__ int total = 5;
__device__ __managed__ int shared_by_both = 3;
__global__ void use_symbols(int *out) {
  *out = factor[0] * 100 + factor[1] * 10 + total;
  total = 77;
  shared_by_both += 1;
}

struct Big {
  double values[40];
  char tag;
};
__global__ void by_value(Big b, short s, double *out) {
  double sum = s;
  for (double v : b.values) sum += v;
  *out = sum + b.tag;
}

__global__ void say(int n) {
  printf("lane %d of %d: %5.2f %s %c %llu\n", threadIdx.x, n, 1.5 * n, "text", 'x', 1ull << 40);
}

__global__ void grid_sum(int *x, int *partial, int *out) {
  auto grid = cooperative_groups::this_grid();
  unsigned rank = grid.thread_rank();
  partial[rank] = x[rank] + x[(rank + 1) % grid.size()]; // read by two lanes
  grid.sync();
  x[rank] += 1; // after the barrier each lane has its own
  if (grid.thread_rank() == 0)
    for (unsigned i = 0; i < grid.size(); i++) *out += partial[i];
}

extern __shared__ int dynamic[];
__global__ void reverse(int *x) {
  dynamic[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

static void vector_add() {
  const int n = 1000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; i++) a[i] = i, b[i] = 2 * i;
  float *da, *db, *dc;
  OK(cudaMalloc(&da, n * 4));
  OK(cudaMalloc(&db, n * 4));
  OK(cudaMalloc(&dc, n * 4));
  OK(cudaMemcpy(da, a.data(), n * 4, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(db, b.data(), n * 4, cudaMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  OK(cudaGetLastError());
  OK(cudaMemcpy(c.data(), dc, n * 4, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += c[i] != 3 * i;
  CHECK(wrong == 0);
  OK(cudaFree(da));
  CHECK(cudaFree(da) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess);
  OK(cudaFree(db));
  OK(cudaFree(dc));
  OK(cudaFree(nullptr));
}

static void managed() {
  int *x;
  OK(cudaMallocManaged(&x, 64 * sizeof(int)));
  for (int i = 0; i < 64; i++) x[i] = i;
  increment<<<1, 64>>>(x, 10);
  OK(cudaDeviceSynchronize());
  int wrong = 0;
  for (int i = 0; i < 64; i++) wrong += x[i] != i + 10;
  CHECK(wrong == 0);
  cudaPointerAttributes at;
  OK(cudaPointerGetAttributes(&at, x + 3));
  CHECK(at.type == cudaMemoryTypeManaged && at.devicePointer == x + 3 && at.hostPointer == x + 3);
  OK(cudaFree(x));
  OK(cudaPointerGetAttributes(&at, &wrong));
  CHECK(at.type == cudaMemoryTypeUnregistered);
}

static void pinned_and_registered() {
  int *pinned, *there, own[32];
  OK(cudaHostAlloc(&pinned, sizeof own, cudaHostAllocMapped));
  OK(cudaHostGetDevicePointer(&there, pinned, 0));
  for (int i = 0; i < 32; i++) pinned[i] = own[i] = i;
  increment<<<1, 32>>>(there, 1);
  OK(cudaDeviceSynchronize());
  CHECK(pinned[31] == 32);
  OK(cudaFreeHost(pinned));
  OK(cudaHostRegister(own, sizeof own, cudaHostRegisterMapped));
  OK(cudaHostGetDevicePointer(&there, own, 0));
  increment<<<1, 32>>>(there, 2);
  OK(cudaDeviceSynchronize());
  CHECK(own[31] == 33);
  OK(cudaHostUnregister(own));
  CHECK(cudaHostUnregister(own) == cudaErrorHostMemoryNotRegistered);
  cudaGetLastError();
}

static void symbols() {
  int *out, got, values[2] = {4, 2};
  OK(cudaMalloc(&out, 4));
  OK(cudaMemcpyToSymbol(factor, values, sizeof values));
  OK(cudaMemcpyToSymbol(factor, &values[0], 4, 4));
  use_symbols<<<1, 1>>>(out);
  OK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
  CHECK(got == 445);
  OK(cudaMemcpyFromSymbol(&got, total, 4));
  CHECK(got == 77);
  CHECK(shared_by_both == 4);
  void *address;
  size_t size;
  OK(cudaGetSymbolAddress(&address, factor));
  OK(cudaGetSymbolSize(&size, factor));
  CHECK(address && size == 8);
  CHECK(cudaMemcpyToSymbol(factor, values, 12) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyToSymbol(values, values, 4) == cudaErrorInvalidSymbol);
  cudaGetLastError();
  OK(cudaFree(out));
}

static void parameters() {
  Big b = {};
  double *out, got;
  for (int i = 0; i < 40; i++) b.values[i] = i;
  b.tag = 7;
  OK(cudaMalloc(&out, 8));
  by_value<<<1, 1>>>(b, -3, out);
  OK(cudaMemcpy(&got, out, 8, cudaMemcpyDeviceToHost));
  CHECK(got == 780 - 3 + 7);
  OK(cudaFree(out));
}

static void copies() {
  // A 5 x 3 window of a pitched 3-D array and back; and fills of one.
  cudaPitchedPtr p;
  OK(cudaMalloc3D(&p, make_cudaExtent(20, 4, 2)));
  OK(cudaMemset3D(p, 0x11, make_cudaExtent(20, 4, 2)));
  unsigned char from[2 * 3 * 5], to[2 * 4 * 20];
  for (int i = 0; i < 30; i++) from[i] = 100 + i;
  cudaMemcpy3DParms in = {};
  in.srcPtr = make_cudaPitchedPtr(from, 5, 5, 3);
  in.dstPtr = p;
  in.dstPos = make_cudaPos(2, 1, 0);
  in.extent = make_cudaExtent(5, 3, 2);
  in.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&in));
  cudaMemcpy3DParms out = {};
  out.srcPtr = p;
  out.dstPtr = make_cudaPitchedPtr(to, 20, 20, 4);
  out.extent = make_cudaExtent(20, 4, 2);
  out.kind = cudaMemcpyDefault;
  OK(cudaMemcpy3D(&out));
  CHECK(to[0] == 0x11 && to[20 + 2] == 100 && to[20 + 6] == 104 && to[20 + 7] == 0x11);
  CHECK(to[80 + 60 + 6] == 129);
  OK(cudaFree(p.ptr));

  size_t pitch;
  char *rows, row[12];
  OK(cudaMallocPitch(&rows, &pitch, 12, 3));
  OK(cudaMemset2D(rows, pitch, 1, 12, 3));
  OK(cudaMemcpy2D(row, 4, rows + 8, pitch, 4, 3, cudaMemcpyDeviceToHost));
  CHECK(pitch % 512 == 0 && row[11] == 1);
  CHECK(cudaMemcpy(row, rows, pitch * 3 + 1, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(rows, row, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  cudaGetLastError();
  OK(cudaFree(rows));
}

// Clocks go on from launch to launch, and a wait of ten seconds is short.
__global__ void wait_long(unsigned long long *out) {
  long long start = clock64();
  while (clock64() - start < 10000000000ll) {}
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(*out));
}
static void clocks() {
  unsigned long long *x;
  OK(cudaMallocManaged(&x, 16));
  wait_long<<<1, 1>>>(x);
  wait_long<<<1, 1>>>(x + 1);
  OK(cudaDeviceSynchronize());
  CHECK(x[0] >= 10000000000ull && x[1] - x[0] >= 10000000000ull);
  OK(cudaFree(x));
}

// An atomic made of compare-and-swap: its first load is a guess, no race.
__device__ void add_double(double *at, double value) {
  unsigned long long *bits = (unsigned long long *)at, old = *bits, expected;
  do {
    expected = old;
    old = atomicCAS(bits, expected, __double_as_longlong(value + __longlong_as_double(expected)));
  } while (expected != old);
}
__global__ void add_doubles(double *at) {
  add_double(at + 1, 0.5);
}
static void guesses() {
  double *x;
  OK(cudaMallocManaged(&x, 16));
  x[1] = 0;
  add_doubles<<<4, 64>>>(x);
  OK(cudaDeviceSynchronize());
  CHECK(x[1] == 128);
  OK(cudaFree(x));
}

static void count(void *user) {
  ++*(int *)user;
}
static void CUDART_CB callback(cudaStream_t, cudaError_t error, void *user) {
  *(int *)user += error == cudaSuccess ? 10 : 0;
}

static void streams() {
  cudaStream_t one, two;
  cudaEvent_t start, end;
  int *x, got[4] = {1, 2, 3, 4}, counted = 0;
  OK(cudaStreamCreate(&one));
  OK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&end));
  OK(cudaMallocAsync(&x, sizeof got, one));
  OK(cudaEventRecord(start, one));
  OK(cudaMemcpyAsync(x, got, sizeof got, cudaMemcpyHostToDevice, one));
  increment<<<1, 4, 0, one>>>(x, 5);
  OK(cudaLaunchHostFunc(one, count, &counted));
  OK(cudaStreamAddCallback(one, callback, &counted, 0));
  OK(cudaEventRecord(end, one));
  OK(cudaStreamWaitEvent(two, end, 0));
  OK(cudaMemcpyAsync(got, x, sizeof got, cudaMemcpyDeviceToHost, two));
  OK(cudaStreamSynchronize(two));
  OK(cudaEventSynchronize(end));
  OK(cudaEventQuery(end));
  float ms = -1;
  OK(cudaEventElapsedTime(&ms, start, end));
  CHECK(ms > 0 && got[3] == 9 && counted == 11);
  OK(cudaFreeAsync(x, one));
  OK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(start) == cudaErrorInvalidResourceHandle);
  OK(cudaStreamDestroy(one));
  CHECK(cudaStreamSynchronize(one) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

static void graphs() {
  cudaStream_t s, other;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int *x, *y, got[2], counted = 0;
  OK(cudaStreamCreate(&s));
  OK(cudaStreamCreate(&other));
  OK(cudaEventCreate(&fork));
  OK(cudaEventCreate(&join));
  OK(cudaMalloc(&x, 4));
  OK(cudaMalloc(&y, 4));
  OK(cudaMemset(x, 0, 4));
  OK(cudaMemset(y, 0, 4));
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  increment<<<1, 1, 0, s>>>(x, 1);
  OK(cudaEventRecord(fork, s));
  OK(cudaStreamWaitEvent(other, fork, 0));
  increment<<<1, 1, 0, other>>>(y, 2);
  OK(cudaEventRecord(join, other));
  OK(cudaLaunchHostFunc(s, count, &counted));
  OK(cudaStreamWaitEvent(s, join, 0));
  OK(cudaMemcpyAsync(&got[0], x, 4, cudaMemcpyDeviceToHost, s));
  OK(cudaMemcpyAsync(&got[1], y, 4, cudaMemcpyDeviceToHost, s));
  OK(cudaStreamEndCapture(s, &graph));
  CHECK(counted == 0);
  size_t nodes = 0, edges = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  CHECK(nodes == 5 && edges == 5);
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(exec, s));
  OK(cudaStreamSynchronize(s));
  CHECK(got[0] == 3 && got[1] == 6 && counted == 3);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));

  // Built by hand, the dependency added after the nodes and against their order.
  cudaGraphNode_t second, first;
  int by = 7, zero = 0;
  void *args[] = {&x, &by};
  cudaKernelNodeParams kernel = {};
  kernel.func = (void *)increment;
  kernel.gridDim = kernel.blockDim = dim3(1);
  kernel.kernelParams = args;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &kernel));
  OK(cudaGraphAddMemcpyNode1D(&first, graph, nullptr, 0, x, &zero, 4, cudaMemcpyHostToDevice));
  OK(cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  by = 8; // kept by value when the node was made
  OK(cudaGraphLaunch(exec, s));
  OK(cudaMemcpy(&got[0], x, 4, cudaMemcpyDeviceToHost));
  CHECK(got[0] == 7);
  OK(cudaGraphExecKernelNodeSetParams(exec, second, &kernel));
  OK(cudaGraphLaunch(exec, s));
  OK(cudaMemcpy(&got[0], x, 4, cudaMemcpyDeviceToHost));
  CHECK(got[0] == 8);
  cudaKernelNodeParams asked;
  OK(cudaGraphKernelNodeGetParams(second, &asked));
  CHECK(asked.func == (void *)increment && *(int **)asked.kernelParams[0] == x &&
        *(int *)asked.kernelParams[1] == 7);
  cudaGraphNodeParams any = {};
  cudaGraphNode_t third;
  any.type = cudaGraphNodeTypeKernel;
  any.kernel.func = (void *)increment;
  any.kernel.gridDim = any.kernel.blockDim = dim3(1);
  any.kernel.kernelParams = args;
  OK(cudaGraphAddNode(&third, graph, &second, nullptr, 1, &any));
  cudaGraphExec_t longer;
  OK(cudaGraphInstantiate(&longer, graph, 0));
  OK(cudaGraphLaunch(longer, s));
  OK(cudaMemcpy(&got[0], x, 4, cudaMemcpyDeviceToHost));
  CHECK(got[0] == 15);
  any.type = cudaGraphNodeTypeConditional;
  CHECK(cudaGraphAddNode(&third, graph, nullptr, nullptr, 0, &any) == cudaErrorNotSupported);
  OK(cudaGraphDestroyNode(third));
  cudaGraph_t captured;
  OK(cudaGraphCreate(&captured, 0));
  OK(cudaStreamBeginCaptureToGraph(s, captured, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
  increment<<<1, 1, 0, s>>>(x, 1);
  OK(cudaStreamEndCapture(s, &captured));
  OK(cudaGraphGetNodes(captured, nullptr, &nodes));
  CHECK(nodes == 1);
  OK(cudaGraphAddDependencies(graph, &second, &first, nullptr, 1));
  cudaGraphExec_t cyclic;
  CHECK(cudaGraphInstantiate(&cyclic, graph, 0) != cudaSuccess);
  cudaGetLastError();
}

static void launches() {
  int *x, *partial, *out, host[64], got;
  for (int i = 0; i < 64; i++) host[i] = i;
  OK(cudaMalloc(&x, sizeof host));
  OK(cudaMalloc(&partial, sizeof host));
  OK(cudaMalloc(&out, 4));
  OK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
  OK(cudaMemset(out, 0, 4));
  void *args[] = {&x, &partial, &out};
  OK(cudaLaunchCooperativeKernel(grid_sum, dim3(4), dim3(16), args));
  OK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
  CHECK(got == 64 * 63);
  CHECK(cudaLaunchCooperativeKernel(grid_sum, dim3(1000000), dim3(16), args) ==
        cudaErrorCooperativeLaunchTooLarge);

  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(64);
  config.dynamicSmemBytes = 256;
  OK(cudaLaunchKernelEx(&config, reverse, x));
  OK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 64 && host[63] == 1);
  reverse<<<1, 2048, 256>>>(x);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  reverse<<<1, 64, 64 << 10>>>(x);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
  reverse<<<1, 64, 64 << 10>>>(x);
  OK(cudaGetLastError());

  cudaFuncAttributes at;
  OK(cudaFuncGetAttributes(&at, reverse));
  CHECK(at.maxThreadsPerBlock == 1024 && at.maxDynamicSharedSizeBytes == 64 << 10);
  CHECK(at.ptxVersion == 80 && at.binaryVersion == 90); /* CUB chooses by the former */
  OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  int blocks = 0, grid, block;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 0));
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, reverse, 0, 0));
  CHECK(blocks >= 4 && block >= 256 && grid > 0);
  cudaDeviceProp prop;
  OK(cudaGetDeviceProperties(&prop, 0));
  CHECK(prop.warpSize == 32 && prop.maxThreadsPerBlock == 1024 && prop.cooperativeLaunch == 1);
  CHECK(strstr(prop.name, "Plumbline") && prop.sharedMemPerBlock == 48 << 10);
  CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
  CHECK(strcmp(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidDevice") == 0);
}

int main() {
  vector_add();
  managed();
  pinned_and_registered();
  symbols();
  parameters();
  copies();
  clocks();
  guesses();
  streams();
  graphs();
  launches();
  say<<<1, 2>>>(2);
  OK(cudaDeviceSynchronize());
  printf("%d failures\n", failures);
  return failures != 0;
}

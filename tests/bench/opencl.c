/* The benchmark's other side: the same kernels through OpenCL (PoCL on the CPU). */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

static char *read_source(size_t *length) {
  FILE *file = fopen(PLUMB_BENCH_FOLDER "/kernels.cl", "rb");
  if (!file) return NULL;
  char *text = calloc(1, 1 << 16);
  if (text) *length = fread(text, 1, (1 << 16) - 1, file);
  fclose(file);
  return text;
}

static bool fail(const char *what, cl_int error) {
  fprintf(stderr, "bench: OpenCL: %s failed with error %d\n", what, (int)error);
  return false;
}

static bool build_kernel(cl_context context, cl_device_id device, const char *name,
                         cl_program *out_program, cl_kernel *out_kernel) {
  size_t length = 0;
  char *source = read_source(&length);
  if (!source) return fail("reading kernels.cl", 0);
  cl_int error;
  *out_program = clCreateProgramWithSource(context, 1, (const char **)&source, &length, &error);
  if (error == CL_SUCCESS) error = clBuildProgram(*out_program, 1, &device, "", NULL, NULL);
  free(source);
  if (error != CL_SUCCESS) return fail("building kernels.cl", error);
  *out_kernel = clCreateKernel(*out_program, name, &error);
  return error == CL_SUCCESS || fail("creating the kernel", error);
}

static cl_int set_args(const bench_case *c, cl_kernel kernel, cl_mem *buffers) {
  cl_uint at = 0;
  cl_int error = CL_SUCCESS;
  if (c->has_scalar) error |= clSetKernelArg(kernel, at++, sizeof(float), &c->scalar);
  for (int i = 0; i < c->buffers; i++)
    error |= clSetKernelArg(kernel, at++, sizeof(cl_mem), &buffers[i]);
  return error | clSetKernelArg(kernel, at, sizeof(int32_t), &c->n);
}

static bool run(const bench_case *c, cl_command_queue queue, cl_kernel kernel, cl_mem *buffers,
                float *const data[], float *out, bench_result *result) {
  size_t bytes = c->elements * sizeof(float);
  size_t local[2] = {c->group_size[0], c->group_size[1]};
  size_t global[2] = {local[0] * c->groups[0], local[1] * c->groups[1]};
  cl_int error = set_args(c, kernel, buffers);
  result->seconds = result->processor_seconds = 1e30;
  for (int repeat = 0; repeat < BENCH_REPEATS && error == CL_SUCCESS; repeat++) {
    for (int i = 0; i < c->buffers; i++)
      error |= clEnqueueWriteBuffer(queue, buffers[i], CL_TRUE, 0, bytes, data[i], 0, NULL, NULL);
    double start = bench_seconds(), processor_start = bench_processor_seconds();
    error |= clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL);
    error |= clFinish(queue);
    bench_note(result, start, processor_start);
  }
  error |=
      clEnqueueReadBuffer(queue, buffers[c->buffers - 1], CL_TRUE, 0, bytes, out, 0, NULL, NULL);
  return error == CL_SUCCESS || fail("running the kernel", error);
}

bool bench_opencl(const bench_case *c, float *const data[BENCH_MAX_BUFFERS], float *out,
                  bench_result *result, char *platform_name, size_t platform_bytes) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error = clGetPlatformIDs(1, &platform, NULL);
  if (error != CL_SUCCESS) return fail("finding a platform (install pocl-opencl-icd)", error);
  error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL);
  if (error != CL_SUCCESS) return fail("finding a CPU device", error);
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, platform_bytes, platform_name, NULL);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  if (error != CL_SUCCESS) return fail("creating a context", error);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  cl_program program = NULL;
  cl_kernel kernel = NULL;
  cl_mem buffers[BENCH_MAX_BUFFERS] = {0};
  bool ok = error == CL_SUCCESS && build_kernel(context, device, c->name, &program, &kernel);
  for (int i = 0; ok && i < c->buffers; i++) {
    buffers[i] =
        clCreateBuffer(context, CL_MEM_READ_WRITE, c->elements * sizeof(float), NULL, &error);
    ok = error == CL_SUCCESS || fail("allocating a buffer", error);
  }
  ok = ok && run(c, queue, kernel, buffers, data, out, result);
  for (int i = 0; i < c->buffers; i++)
    if (buffers[i]) clReleaseMemObject(buffers[i]);
  if (kernel) clReleaseKernel(kernel);
  if (program) clReleaseProgram(program);
  if (queue) clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return ok;
}

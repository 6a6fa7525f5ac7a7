// What the race check must find, and what it must not: one kernel for each argument.
#include <stdio.h>
#include <string.h>

constexpr int N = 128;

extern "C" __global__ void missing_barrier(int *out) {
  __shared__ int line[N];
  int t = int(threadIdx.x);
  line[t] = t;                    // line 10
  out[t] = line[(t + 32) % N];    // line 11
}

extern "C" __global__ void overwritten_too_soon(int *out) {
  __shared__ int line[N];
  int t = int(threadIdx.x), sum = 0;
  for (int i = 0; i < 2; i++) {
    line[t] = t + i;
    __syncthreads();
    sum += line[N - 1 - t];
  }
  out[t] = sum;
}

extern "C" __global__ void missing_syncwarp(int *out) {
  REMC_DYNAMIC_SHARED(buffer)
  int *line = reinterpret_cast<int *>(buffer);
  int t = int(threadIdx.x);
  line[t] = __shfl_xor_sync(0xffffffffu, t, 1);
  out[t] = line[t ^ 1];
}

extern "C" __global__ void zeroed_too_late(int *out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  atomicAdd(&count, 1);
  __syncthreads();
  out[threadIdx.x] = count;
}

extern "C" __global__ void blocks_overlap(int *out) {
  int first = int(blockIdx.x) * (N / 2 - 1);
  if (threadIdx.x < N / 2) out[first + int(threadIdx.x)] = 1;
}

extern "C" __global__ void reads_past_the_end(int *out) {
  int t = int(threadIdx.x), next = out[t + 1];
  __syncthreads();
  out[t] = next;
}

extern "C" __global__ void bytes_overlap(int *out) {
  unsigned char *bytes = reinterpret_cast<unsigned char *>(out);
  bytes[threadIdx.x / 2] = 1;
}

// Right: barriers, __syncwarp, atomics, a flag with fences, bytes beside each other, the next launch.
extern "C" __global__ void clean(int *out, volatile int *flag) {
  __shared__ int line[N];
  __shared__ int count;
  __shared__ unsigned char bytes[N];
  int t = int(threadIdx.x);
  if (t == 0) count = 0;
  line[t] = t;
  bytes[t] = (unsigned char)t;
  __syncwarp();
  int sum = line[t ^ 1];
  __syncthreads();
  atomicAdd(&count, line[N - 1 - t]);
  sum += bytes[(t + 1) % N];
  __syncthreads();
  line[t] = count + sum;
  __syncthreads();
  if (blockIdx.x == 0) {
    out[t] = line[N - 1 - t];
    __threadfence();
    __syncthreads();
    if (t == 0) *flag = 1;
  } else {
    if (t == 0) {
      while (*flag == 0) __nanosleep(10);
      __threadfence();
    }
    __syncthreads();
    out[t] += 1;
  }
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  int *out, *flag;
  cudaMalloc(&out, N * sizeof(int));
  cudaMalloc(&flag, sizeof(int));
  cudaMemset(out, 0, N * sizeof(int));
  cudaMemset(flag, 0, sizeof(int));
#define RUN(kernel, blocks, shared) \
  if (strcmp(what, #kernel) == 0) REMC_LAUNCH(kernel, blocks, N, shared, nullptr, out)
  RUN(missing_barrier, 1, 0);
  RUN(overwritten_too_soon, 1, 0);
  RUN(missing_syncwarp, 1, N * sizeof(int));
  RUN(zeroed_too_late, 1, 0);
  RUN(blocks_overlap, 2, 0);
  RUN(reads_past_the_end, 1, 0);
  RUN(bytes_overlap, 1, 0);
  if (strcmp(what, "clean") == 0) {
    for (int i = 0; i < 2; i++) REMC_LAUNCH(clean, 2, N, 0, nullptr, out, flag);
    printf("clean\n");
  }
  cudaFree(out);
  cudaFree(flag);
}

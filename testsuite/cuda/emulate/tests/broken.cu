// Programs that must not end well, one for each argument. Lines that a message names carry a remark.
#include <stdio.h>
#include <string.h>

extern "C" __global__ void ended_at_barrier(int *out) {
  if (threadIdx.x == 70) return;
  __syncthreads();  // line 7
  out[threadIdx.x] = 1;
}

extern "C" __global__ void other_barrier(int *out) {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();  // line 13
  } else {
    __syncthreads();  // line 15
  }
  out[threadIdx.x] = 1;
}

extern "C" __global__ void mask_of_ended(int *out) {
  if (threadIdx.x == 5) return;
  out[threadIdx.x] = __shfl_sync(0xffffffffu, int(threadIdx.x), 0);  // line 22
}

extern "C" __global__ void mask_elsewhere(int *out) {
  if (threadIdx.x % 32 < 16) {
    out[threadIdx.x] = __shfl_sync(0xffffffffu, int(threadIdx.x), 0);  // line 27
  } else {
    __syncwarp();  // line 29
  }
}

extern "C" __global__ void mask_at_barrier(int *out) {
  if (threadIdx.x >= 32) __syncthreads();
  if (threadIdx.x == 0) __syncthreads();
  out[threadIdx.x] = int(__ballot_sync(0xffffffffu, 1));  // line 36
}

extern "C" __global__ void mask_without_self(int *) { __syncwarp(0xfffffffeu); }

extern "C" __global__ void mask_beyond_block(int *out) { out[threadIdx.x] = __any_sync(0xffffffffu, 1); }

// Lane 0 waits for 1, 1 for 2, and 2 for 0.
extern "C" __global__ void circle(int *out) {
  if (threadIdx.x == 0) __syncwarp(0x3u);
  if (threadIdx.x == 1) __syncwarp(0x6u);
  if (threadIdx.x == 2) __syncwarp(0x5u);
  out[threadIdx.x] = 0;
}

extern "C" __global__ void trapped(int *) {
  if (threadIdx.x == 3 && blockIdx.x == 1) __trap();
}

extern "C" __global__ void assumed(int *out) {
  __builtin_assume(threadIdx.x < 100);
  out[threadIdx.x] = 0;
}

// Each thread reads what its neighbours wrote, but nothing makes it wait for them. Ascending order is right by
// chance for one of the two.
extern "C" __global__ void dropped_barrier(int *out) {
  __shared__ int line[128];
  int t = int(threadIdx.x);
  line[t] = t;
  out[t] = t > 0 ? line[t - 1] : -1;
}

extern "C" __global__ void past_the_end(int *out, int n) {
  if (int(threadIdx.x) <= n) out[threadIdx.x] = 7;
}

extern "C" __global__ void past_dynamic_shared(int *) {
  REMC_DYNAMIC_SHARED(buffer);
  buffer[threadIdx.x] = 1;
}

extern "C" __global__ void wild(int **pointers) { *pointers[threadIdx.x] = 1; }

extern "C" __global__ void divides(int *out, int n) { out[threadIdx.x] = int(threadIdx.x) / n; }

static __device__ int depth(volatile int *n) {
  volatile int local[256];
  local[*n % 256] = *n;
  *n = *n + 1;
  return *n < 1 << 30 ? depth(n) + local[*n % 256] : 0;
}
extern "C" __global__ void too_deep(int *out) { out[0] = depth(out); }

extern "C" __global__ void hangs(volatile int *out) {
  while (*out == 0) __nanosleep(1);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  int *out;
  const int n = 128;
  cudaMalloc(&out, n * sizeof(int));
  cudaMemset(out, 0, n * sizeof(int));
  auto is = [=](const char *name) { return strcmp(what, name) == 0; };
  if (is("ended_at_barrier")) REMC_LAUNCH(ended_at_barrier, 1, n, 0, nullptr, out);
  if (is("other_barrier")) REMC_LAUNCH(other_barrier, 1, n, 0, nullptr, out);
  if (is("mask_of_ended")) REMC_LAUNCH(mask_of_ended, 1, n, 0, nullptr, out);
  if (is("mask_elsewhere")) REMC_LAUNCH(mask_elsewhere, 1, n, 0, nullptr, out);
  if (is("mask_at_barrier")) REMC_LAUNCH(mask_at_barrier, 1, n, 0, nullptr, out);
  if (is("mask_without_self")) REMC_LAUNCH(mask_without_self, 1, n, 0, nullptr, out);
  if (is("mask_beyond_block")) REMC_LAUNCH(mask_beyond_block, 1, 40, 0, nullptr, out);
  if (is("circle")) REMC_LAUNCH(circle, 1, n, 0, nullptr, out);
  if (is("trapped")) REMC_LAUNCH(trapped, 2, n, 0, nullptr, out);
  if (is("assumed")) REMC_LAUNCH(assumed, 1, n, 0, nullptr, out);
  if (is("past_the_end")) REMC_LAUNCH(past_the_end, 1, 256, 0, nullptr, out, n);
  if (is("past_dynamic_shared")) REMC_LAUNCH(past_dynamic_shared, 1, 33, 32, nullptr, out);
  if (is("wild")) REMC_LAUNCH(wild, 1, 1, 0, nullptr, reinterpret_cast<int **>(out));
  if (is("divides")) REMC_LAUNCH(divides, 1, 1, 0, nullptr, out, 0);
  if (is("too_deep")) REMC_LAUNCH(too_deep, 1, 1, 0, nullptr, out);
  if (is("hangs")) REMC_LAUNCH(hangs, 1, 2, 0, nullptr, out);
  if (is("two_dimensions")) REMC_LAUNCH(trapped, dim3(2, 2), n, 0, nullptr, out);
  if (is("copy_past_the_end")) cudaMemcpy(out, argv, n * sizeof(int) + 4, cudaMemcpyHostToDevice);
  if (is("copy_the_wrong_way")) cudaMemcpy(out, argv, 4, cudaMemcpyDeviceToHost);
  if (is("leak")) return 0;
  if (is("freed_twice")) cudaFree(out);
  if (is("dropped_barrier")) {
    REMC_LAUNCH(dropped_barrier, 1, n, 0, nullptr, out);
    int host[n];
    cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) {
      if (host[i] != i - 1) return printf("wrong\n"), 1;
    }
    printf("right\n");
  }
  cudaFree(out);
  if (is("write_after_free")) REMC_LAUNCH(past_the_end, 1, n, 0, nullptr, out, n);
  return 0;
}

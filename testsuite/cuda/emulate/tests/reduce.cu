// A dot product: grid-stride loop, shuffles within warps, shared memory between them, a second kernel at the end.
// Then shuffles, votes and block-wide votes against what they should give.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int THREADS = 256;

static __device__ __forceinline__ double sum_of_block(double x) {
  __shared__ double parts[THREADS / 32];
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffffu, x, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = threadIdx.x < THREADS / 32 ? parts[threadIdx.x] : 0.0;
  if (threadIdx.x < 32) {
    for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffffu, x, d);
  }
  return x;
}

extern "C" __global__ void __launch_bounds__(256)
dot(const float *__restrict__ a, const float *__restrict__ b, double *__restrict__ parts, long long n) {
  double sum = 0;
  const float4 *a4 = reinterpret_cast<const float4 *>(a), *b4 = reinterpret_cast<const float4 *>(b);
  long long step = (long long)gridDim.x * blockDim.x, first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (long long i = first; i < n / 4; i += step) {
    float4 x = __ldg(&a4[i]), y = __ldcs(&b4[i]);
    sum += double(x.x) * y.x + double(x.y) * y.y + double(x.z) * y.z + double(x.w) * y.w;
  }
  for (long long i = n / 4 * 4 + first; i < n; i += step) sum += double(a[i]) * b[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) finish(const double *parts, double *out, int n) {
  double sum = 0;
  for (int i = int(threadIdx.x); i < n; i += THREADS) sum += parts[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) *out = sum;
}

// Counts what is wrong.
extern "C" __global__ void operations(unsigned *wrong) {
  const unsigned all = 0xffffffffu;
  int t = int(threadIdx.x), lane = t % warpSize;
  bool good = __shfl_sync(all, t, 3) == t - lane + 3;
  good = good && __shfl_sync(all, t, 3, 8) == t - lane + lane / 8 * 8 + 3;
  good = good && __shfl_up_sync(all, (long long)t, 2, 16) == (lane % 16 < 2 ? t : t - 2);
  good = good && __shfl_down_sync(all, (unsigned char)t, 5, 8) == (unsigned char)(lane % 8 + 5 > 7 ? t : t + 5);
  good = good && __shfl_xor_sync(all, float(t), 6) == float(t ^ 6);
  good = good && __shfl_xor_sync(all, double(t), 16, 8) == double(lane < 16 ? t : t - 16);
  good = good && __ballot_sync(all, lane % 3 == 0) == 0x49249249u;
  good = good && __any_sync(all, lane == 17) && !__any_sync(all, 0) && __all_sync(all, 1) && !__all_sync(all, lane);
  // Halves of a warp on their own, and meeting again.
  if (lane < 16) {
    good = good && __ballot_sync(0xffffu, lane & 1) == 0xaaaau;
  } else {
    good = good && __shfl_sync(0xffff0000u, lane, 20) == 20 && __any_sync(0xffff0000u, lane == 31);
  }
  __syncwarp();
  good = good && __syncthreads_count(t % 2) == 48 && __syncthreads_or(t == 77) && !__syncthreads_or(0);
  good = good && __syncthreads_and(1) && !__syncthreads_and(t != 5);
  good = good && (__activemask() >> lane & 1) != 0;
  if (!good) atomicAdd(wrong, 1u);
}

int main(int argc, char **argv) {
  long long n = argc > 1 ? atoll(argv[1]) : 100003;
  const int blocks = 64;
  float *a = static_cast<float *>(malloc(n * 4)), *b = static_cast<float *>(malloc(n * 4));
  double expected = 0;
  for (long long i = 0; i < n; i++) {
    a[i] = float(i % 17), b[i] = float(i % 5);
    expected += double(a[i]) * b[i];
  }
  float *da, *db;
  double *parts, *out;
  unsigned *wrong;
  cudaMalloc(&da, n * 4);
  cudaMalloc(&db, n * 4);
  cudaMalloc(&parts, blocks * 8);
  cudaMalloc(&out, 8);
  cudaMalloc(&wrong, 4);
  cudaMemcpy(da, a, n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, n * 4, cudaMemcpyHostToDevice);
  cudaMemset(wrong, 0, 4);
  cudaEvent_t from, to;
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  cudaEventRecord(from);
  REMC_LAUNCH(dot, blocks, THREADS, 0, nullptr, da, db, parts, n);
  REMC_LAUNCH(finish, 1, THREADS, 0, nullptr, parts, out, blocks);
  cudaEventRecord(to);
  REMC_LAUNCH(operations, 3, 96, 0, nullptr, wrong);
  float took;
  cudaEventElapsedTime(&took, from, to);
  fprintf(stderr, "%.1f ms\n", took);
  double sum;
  unsigned bad;
  cudaMemcpy(&sum, out, 8, cudaMemcpyDeviceToHost);
  cudaMemcpy(&bad, wrong, 4, cudaMemcpyDeviceToHost);
  if (fabs(sum - expected) > 0) return printf("the sum is %g, not %g\n", sum, expected), 1;
  if (bad != 0) return printf("%u threads saw a wrong operation\n", bad), 1;
  printf("reduce is right\n");
}

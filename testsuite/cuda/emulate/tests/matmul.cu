// A product of matrices through tiles in shared memory; the sizes are no multiples of the tile.
#include <stdio.h>
#include <stdlib.h>

constexpr int TILE = 16;

extern "C" __global__ void __launch_bounds__(256)
matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m, int n, int k) {
  __shared__ float left[TILE][TILE + 1];
  __shared__ float right[TILE][TILE + 1];
  int tiles = (n + TILE - 1) / TILE;
  int row = int(threadIdx.x) / TILE, col = int(threadIdx.x) % TILE;
  int i = int(blockIdx.x) / tiles * TILE + row, j = int(blockIdx.x) % tiles * TILE + col;
  float sum = 0;
  for (int base = 0; base < k; base += TILE) {
    left[row][col] = i < m && base + col < k ? a[i * k + base + col] : 0.0f;
    right[row][col] = base + row < k && j < n ? b[(base + row) * n + j] : 0.0f;
    __syncthreads();
    for (int p = 0; p < TILE; p++) sum = __fmaf_rn(left[row][p], right[p][col], sum);
    __syncthreads();
  }
  if (i < m && j < n) c[i * n + j] = sum;
}

int main(int argc, char **argv) {
  int m = argc > 3 ? atoi(argv[1]) : 37, n = argc > 3 ? atoi(argv[2]) : 53, k = argc > 3 ? atoi(argv[3]) : 29;
  float *a, *b, *c;
  if (cudaMallocHost(&a, m * k * 4) != cudaSuccess || cudaMallocHost(&b, k * n * 4) != cudaSuccess) return 1;
  for (int i = 0; i < m * k; i++) a[i] = float(i * 7 % 11 - 5);
  for (int i = 0; i < k * n; i++) b[i] = float(i * 5 % 13 - 6);
  float *da, *db, *dc;
  cudaMalloc(&da, m * k * 4);
  cudaMalloc(&db, k * n * 4);
  cudaMalloc(&dc, m * n * 4);
  cudaMemcpy(da, a, m * k * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, k * n * 4, cudaMemcpyHostToDevice);
  cudaEvent_t from, to;
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  int blocks = ((m + TILE - 1) / TILE) * ((n + TILE - 1) / TILE);
  cudaEventRecord(from);
  REMC_LAUNCH(matmul, blocks, TILE * TILE, 0, nullptr, da, db, dc, m, n, k);
  cudaEventRecord(to);
  cudaEventSynchronize(to);
  float took = 0;
  cudaEventElapsedTime(&took, from, to);
  fprintf(stderr, "%.1f ms\n", took);
  c = static_cast<float *>(malloc(m * n * 4));
  cudaMemcpy(c, dc, m * n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < m; i += m > 100 ? 37 : 1) {
    for (int j = 0; j < n; j += m > 100 ? 41 : 1) {
      float sum = 0;
      for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
      if (sum != c[i * n + j]) return printf("c[%d, %d] = %g, not %g\n", i, j, c[i * n + j], sum), 1;
    }
  }
  free(c);
  cudaFree(da), cudaFree(db), cudaFree(dc);
  cudaFreeHost(a), cudaFreeHost(b);
  printf("matmul is right\n");
}

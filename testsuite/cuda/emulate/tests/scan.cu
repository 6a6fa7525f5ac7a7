// A scan in one pass with decoupled look-back: a block takes its number by a ticket, publishes its sum, and looks
// back over its predecessors' until it finds a prefix.
#include <stdio.h>
#include <stdlib.h>

constexpr int PER_THREAD = 4, THREADS = 256, TILE = PER_THREAD * THREADS;
enum : unsigned { EMPTY = 0, SUM = 1, PREFIX = 2 };

struct State {
  unsigned flag, value;
};

// The parts of the state go into one word, so that they are written and read together.
static __device__ __forceinline__ void publish(volatile unsigned long long *to, unsigned flag, unsigned value) {
  __threadfence();
  *to = (unsigned long long)flag << 32 | value;
}

static __device__ __forceinline__ State look(const volatile unsigned long long *from) {
  unsigned long long word = *from;
  while ((word >> 32) == EMPTY) {
    __nanosleep(20);
    word = *from;
  }
  __threadfence();
  return State{(unsigned)(word >> 32), (unsigned)word};
}

extern "C" __global__ void __launch_bounds__(256)
scan(const unsigned *__restrict__ in, unsigned *__restrict__ out, unsigned *ticket,
     volatile unsigned long long *states, int n) {
  __shared__ unsigned tile, before;
  __shared__ unsigned warp_sums[THREADS / 32];
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
  __syncthreads();
  int base = int(tile) * TILE + int(threadIdx.x) * PER_THREAD;
  unsigned own[PER_THREAD], sum = 0;
  for (int i = 0; i < PER_THREAD; i++) {
    own[i] = base + i < n ? in[base + i] : 0;
    sum += own[i];
  }
  int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  unsigned inclusive = sum;
  for (int d = 1; d < 32; d *= 2) {
    unsigned other = __shfl_up_sync(0xffffffffu, inclusive, d);
    if (lane >= d) inclusive += other;
  }
  if (lane == 31) warp_sums[warp] = inclusive;
  __syncthreads();
  if (warp == 0) {
    unsigned x = lane < THREADS / 32 ? warp_sums[lane] : 0;
    for (int d = 1; d < 32; d *= 2) {
      unsigned other = __shfl_up_sync(0xffffffffu, x, d);
      if (lane >= d) x += other;
    }
    unsigned total = __shfl_sync(0xffffffffu, x, THREADS / 32 - 1);
    if (lane < THREADS / 32) warp_sums[lane] = x;
    if (lane == 0) {
      unsigned prefix = 0;
      if (tile == 0) {
        publish(&states[0], PREFIX, total);
      } else {
        publish(&states[tile], SUM, total);
        for (unsigned back = tile; back-- > 0;) {
          State state = look(&states[back]);
          prefix += state.value;
          if (state.flag == PREFIX) break;
        }
        publish(&states[tile], PREFIX, prefix + total);
      }
      before = prefix;
    }
  }
  __syncthreads();
  unsigned running = before + (warp > 0 ? warp_sums[warp - 1] : 0) + inclusive - sum;
  for (int i = 0; i < PER_THREAD; i++) {
    running += own[i];
    if (base + i < n) out[base + i] = running;
  }
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100001, tiles = (n + TILE - 1) / TILE;
  unsigned *in = static_cast<unsigned *>(malloc(n * 4)), *out = static_cast<unsigned *>(malloc(n * 4));
  for (int i = 0; i < n; i++) in[i] = unsigned(i) * 2654435761u >> 7;
  unsigned *din, *dout, *ticket;
  unsigned long long *states;
  cudaMalloc(&din, n * 4);
  cudaMalloc(&dout, n * 4);
  cudaMalloc(&ticket, 4);
  cudaMalloc(&states, tiles * 8);
  cudaMemcpy(din, in, n * 4, cudaMemcpyHostToDevice);
  cudaMemset(ticket, 0, 4);
  cudaMemset(states, 0, tiles * 8);
  REMC_LAUNCH(scan, tiles, THREADS, 0, nullptr, din, dout, ticket, states, n);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaMemcpy(out, dout, n * 4, cudaMemcpyDeviceToHost);
  unsigned sum = 0;
  for (int i = 0; i < n; i++) {
    sum += in[i];
    if (out[i] != sum) return printf("out[%d] = %u, not %u\n", i, out[i], sum), 1;
  }
  cudaFree(din), cudaFree(dout), cudaFree(ticket), cudaFree(states);
  free(in), free(out);
  printf("scan is right\n");
}


// ---- the threads of a block, together ----

// An item goes from lane to lane word by word.
template <class T> static __device__ __forceinline__ T remc_shuffled(const T &item, int lane, bool from_below) {
  u32 words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &item, sizeof item);
#pragma unroll
  for (int k = 0; k < (int)((sizeof(T) + 3) / 4); ++k)
    words[k] = from_below ? __shfl_up_sync(~0u, words[k], lane) : __shfl_down_sync(~0u, words[k], lane);
  T moved;
  memcpy(&moved, words, sizeof moved);
  return moved;
}

// Combines the items of the first `count` of N threads, in their order; all threads get the result.
template <int N, class T, class F> static __device__ __forceinline__ T remc_reduce(T item, i64 count, F combine) {
  __shared__ T parts[(N + 31) / 32];
  const i64 thread = threadIdx.x;
  const i64 lane = thread % 32, warp = thread / 32;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const T next = remc_shuffled(item, d, false);
    if (lane + d < 32 && thread + d < count) item = combine(item, next);
  }
  __syncthreads();
  if (lane == 0) parts[warp] = item;
  __syncthreads();
  if (N > 32 && warp == 0) {
    const i64 warps = (count + 31) / 32;
    item = parts[lane < (N + 31) / 32 ? lane : 0];
#pragma unroll
    for (int d = 1; d < (N + 31) / 32; d *= 2) {
      const T next = remc_shuffled(item, d, false);
      if (lane + d < warps) item = combine(item, next);
    }
    // All lanes have read their parts.
    __syncwarp();
    if (lane == 0) parts[0] = item;
  }
  if (N > 32) __syncthreads();
  return parts[0];
}

// The same, and what the threads before this one combine to; the first one has nothing before it, and any value
// comes before those past the first `count`.
template <int N, class T, class F>
static __device__ __forceinline__ T remc_scan(T item, i64 count, T *before, F combine) {
  __shared__ T parts[(N + 31) / 32];
  const i64 thread = threadIdx.x;
  const i64 lane = thread % 32, warp = thread / 32;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const T last = remc_shuffled(item, d, true);
    if (lane >= d && thread < count) item = combine(last, item);
  }
  T mine = remc_shuffled(item, 1, true);
  __syncthreads();
  if (thread < count && (lane == 31 || thread == count - 1)) parts[warp] = item;
  __syncthreads();
  const i64 warps = (count + 31) / 32;
  if (N > 32 && warp == 0) {
    item = parts[lane < (N + 31) / 32 ? lane : 0];
#pragma unroll
    for (int d = 1; d < (N + 31) / 32; d *= 2) {
      const T last = remc_shuffled(item, d, true);
      if (lane >= d && lane < warps) item = combine(last, item);
    }
    __syncwarp();
    if (lane < warps) parts[lane] = item;
  }
  if (N > 32) __syncthreads();
  if (warp > 0 && thread < count) mine = lane > 0 ? combine(parts[warp - 1], mine) : parts[warp - 1];
  *before = mine;
  return parts[warps > 0 ? warps - 1 : 0];
}

// How many of K conditions hold in all N threads; and how many of those in the threads before this one.
template <int N, int K> static __device__ __forceinline__ i64 remc_count(const bool (&holds)[K], i64 *before) {
  __shared__ i32 parts[(N + 31) / 32];
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  i32 mine = 0, of_warp = 0, all = 0;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const u32 votes = __ballot_sync(~0u, holds[k]);
    mine += __popc(votes & ((1u << lane) - 1));
    of_warp += __popc(votes);
  }
  // All have read those of the last time.
  __syncthreads();
  if (lane == 0) parts[warp] = of_warp;
  __syncthreads();
#pragma unroll
  for (u32 w = 0; w < (N + 31) / 32; ++w) {
    const i32 other = parts[w];
    if (w < warp) mine += other;
    all += other;
  }
  *before = mine;
  return all;
}

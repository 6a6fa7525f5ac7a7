// ---- kernels tell what has stopped them ----

// The first check that failed: the one at the lowest place in the order of the program's work, wherever
// it ran. `lock` is held while it is written.
struct remc_failure {
  u64 place;
  u32 trap, prov, count, lock;
  i64 values[16];
};

[[maybe_unused]] static __device__ __attribute__((noinline)) void remc_fail(remc_failure *failure, u64 place, u32 trap, u32 prov, u32 count,
                                              const i64 *values) {
  bool told = false;
  while (!told && *(volatile u64 *)&failure->place > place) {
    if (atomicCAS(&failure->lock, 0u, 1u) != 0) continue;
    __threadfence();
    if (*(volatile u64 *)&failure->place > place) {
      failure->trap = trap;
      failure->prov = prov;
      failure->count = count;
      for (u32 i = 0; i < count; ++i) failure->values[i] = values[i];
      __threadfence();
      *(volatile u64 *)&failure->place = place;
    }
    told = true;
    __threadfence();
    atomicExch(&failure->lock, 0u);
  }
}

// Waits until a block has said so much of its state: 1, that it has handed on its values, or its own ones
// where others look back at several; 2, also those of all blocks up to it. False if a check has failed at a place below, so that it
// may never do so.
[[maybe_unused]] static __device__ __forceinline__ bool remc_await(const i64 *state, i64 wanted, const remc_failure *failure, u64 place) {
  while (*(const volatile i64 *)state < wanted) {
    if (*(const volatile u64 *)&failure->place < place) return false;
    __nanosleep(20);
  }
  __threadfence();
  return true;
}

[[maybe_unused]] static __device__ __forceinline__ void remc_pass(i64 *state, i64 how_much) {
  __threadfence();
  *(volatile i64 *)state = how_much;
}

// Neighbouring elements, which come and go as one word.
namespace remc {
template <class T, int N> struct alignas(sizeof(T) * N) pack { T at[N]; };
// A GPU stops where such a word is not aligned.
template <class P> static __device__ __forceinline__ void aligned([[maybe_unused]] const void *at) {
#ifdef REMC_EMULATED
  if ((u64)at % sizeof(P)) abort();
#endif
}
template <int N, class T> static __device__ __forceinline__ pack<T, N> take(const T *from) {
  aligned<pack<T, N>>(from);
  return *reinterpret_cast<const pack<T, N> *>(from);
}
template <class T, int N> static __device__ __forceinline__ void put(T *to, const pack<T, N> &elements) {
  aligned<pack<T, N>>(to);
  *reinterpret_cast<pack<T, N> *>(to) = elements;
}
}  // namespace remc

// What another block has written lately, past the caches of this one.
template <class T> static __device__ __forceinline__ T remc_latest(const T *from) {
  return *(const volatile T *)from;
}

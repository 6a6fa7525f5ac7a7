// CUDA's language for a C++20 compiler: printed kernels and host code, executed on a machine without a GPU.
//
//     g++ -std=c++20 -O1 -x c++ -include remora_emulate.h program.cu -x none remora_emulate.o -o program -pthread
//
// (`-I include` where the text includes <cuda_fp16.h>.)
//
// One CUDA thread is one fiber (a stack that is switched to by hand), one block runs on one OS thread, and several
// OS threads run blocks at the same time. A fiber runs until it waits: at a barrier or a warp operation, or
// because it gives way (every atomic, fence and __nanosleep may). So this header has little to do: it gives the
// words of the language a meaning in C++, and hands every wait to the runtime, which is compiled once
// (remora_emulate.cpp). That is also why it includes nothing that is slow to compile.
//
// Deliberately as strict as CUDA: an overload that CUDA lacks is absent here too (atomicAdd of a `long`), so that
// text that compiles here has a chance with nvcc. __activemask() gives the calling thread alone, the one answer
// that CUDA promises. What the emulator checks, and what it cannot: ../README.md.
#pragma once

#ifndef REMC_EMULATED
#define REMC_EMULATED 1
#endif

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Qualifiers -------------------------------------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
// A block runs on one OS thread from its first instruction to its last, so what an OS thread owns is what a block
// shares. The runtime fills it with a pattern before a block starts.
#define __shared__ static thread_local
// `REMC_DYNAMIC_SHARED(name)` declares `unsigned char *name`, the memory that the launch asked for. For nvcc the
// printed text defines it as an `extern __shared__` array.
#define REMC_DYNAMIC_SHARED(name) unsigned char *name = remc_emulate::registers.dynamic_shared;

#include "remora_numbers.h"

#include "remora_runtime_api.h"

namespace remc_emulate {

// ---- The built-in variables -------------------------------------------------------------------------------------

struct Block;

// What the hardware keeps in special registers. The runtime sets it whenever a fiber starts to run.
struct Registers {
  uint3 thread_index;
  uint3 block_index;
  uint3 block_size;
  uint3 grid_size;
  unsigned char *dynamic_shared;
  Block *block;
};
extern __thread Registers registers;

// ---- Waiting ----------------------------------------------------------------------------------------------------
// `line` is the source line of the call: threads that meet must have come from the same one.

struct Tally {
  int threads;  // that arrived with a predicate that is not zero
  int size;     // of the block
};
enum Vote { VOTE_BALLOT, VOTE_ANY, VOTE_ALL };

Tally barrier(bool predicate, int line);
void sync_warp(unsigned mask, int line);
// The value that the lane `source` of the warp brought. A lane outside the mask gives a pattern.
uint64_t shuffle(unsigned mask, uint64_t value, int source, int line);
unsigned ballot(unsigned mask, bool predicate, int line);
// A place where another thread of the block may run.
void may_yield();
void yield();
[[noreturn]] void trap(const char *what, int line);

inline int lane() { return int(registers.thread_index.x & 31u); }

// Which lane a shuffle reads. Each segment of `width` lanes is on its own; a lane that would look outside of it
// keeps its own value.
enum Direction { FROM_LANE, FROM_BELOW, FROM_ABOVE, FROM_XOR };

inline int shuffle_source(Direction direction, int operand, int width, int line) {
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
    trap("a shuffle's width is a power of two from 1 to 32", line);
  }
  int own = lane(), first = own & ~(width - 1), last = first + width - 1;
  operand &= 31;
  switch (direction) {
    case FROM_LANE: return first | (operand & (width - 1));
    case FROM_BELOW: return own - operand < first ? own : own - operand;
    case FROM_ABOVE: return own + operand > last ? own : own + operand;
    case FROM_XOR: return (own ^ operand) > last ? own : own ^ operand;
  }
  return own;
}

template <class T>
inline T shuffled(Direction direction, unsigned mask, T value, int operand, int width, int line) {
  static_assert(sizeof(T) <= 8 && __is_trivially_copyable(T), "a shuffle moves at most eight bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  bits = shuffle(mask, bits, shuffle_source(direction, operand, width, line), line);
  memcpy(&value, &bits, sizeof(T));
  return value;
}

// The width is the last argument, and may be left out.
template <Direction DIRECTION>
struct Shuffle {
  int line;
  template <class T>
  T operator()(unsigned mask, T value, int operand, int width = 32) const {
    return shuffled(DIRECTION, mask, value, operand, width, line);
  }
};

inline int vote(Vote what, unsigned mask, int predicate, int line) {
  unsigned votes = ballot(mask, predicate != 0, line);
  return what == VOTE_ANY ? votes != 0 : votes == mask;
}

// ---- Launching --------------------------------------------------------------------------------------------------

template <class T>
struct Same {
  using type = T;
};

void launch_erased(const char *name, const void *kernel, dim3 grid, dim3 block, size_t shared_bytes,
                   cudaStream_t stream, void (*body)(const void *), const void *context);

// The arguments are converted to the kernel's parameter types here, once, as in a call of it; each thread gets
// copies.
template <class... P>
void launch(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes,
            cudaStream_t stream, typename Same<P>::type... arguments) {
  auto body = [kernel, arguments...] { kernel(arguments...); };
  launch_erased(
      name, reinterpret_cast<const void *>(kernel), grid, block, shared_bytes, stream,
      [](const void *context) { (*static_cast<const decltype(body) *>(context))(); }, &body);
}

}  // namespace remc_emulate

#define REMC_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
  remc_emulate::launch(#kernel, kernel, grid, block, shared_bytes, stream __VA_OPT__(, ) __VA_ARGS__)

#define threadIdx (remc_emulate::registers.thread_index)
#define blockIdx (remc_emulate::registers.block_index)
#define blockDim (remc_emulate::registers.block_size)
#define gridDim (remc_emulate::registers.grid_size)
extern const int warpSize;  // no constant expression, as in CUDA

// ---- Barriers and warp operations -------------------------------------------------------------------------------

#define __syncthreads() ((void)remc_emulate::barrier(false, __LINE__))
#define __syncthreads_or(predicate) (remc_emulate::barrier((predicate) != 0, __LINE__).threads != 0)
#define __syncthreads_count(predicate) (remc_emulate::barrier((predicate) != 0, __LINE__).threads)
#define __syncthreads_and(predicate) (remc_emulate::all_of(remc_emulate::barrier((predicate) != 0, __LINE__)))
#define __syncwarp(...) remc_emulate::sync_warp(remc_emulate::mask_or_full(__VA_ARGS__), __LINE__)
#define __shfl_sync (remc_emulate::Shuffle<remc_emulate::FROM_LANE>{__LINE__})
#define __shfl_up_sync (remc_emulate::Shuffle<remc_emulate::FROM_BELOW>{__LINE__})
#define __shfl_down_sync (remc_emulate::Shuffle<remc_emulate::FROM_ABOVE>{__LINE__})
#define __shfl_xor_sync (remc_emulate::Shuffle<remc_emulate::FROM_XOR>{__LINE__})
#define __ballot_sync(mask, predicate) remc_emulate::ballot(mask, (predicate) != 0, __LINE__)
#define __any_sync(mask, predicate) remc_emulate::vote(remc_emulate::VOTE_ANY, mask, (predicate) != 0, __LINE__)
#define __all_sync(mask, predicate) remc_emulate::vote(remc_emulate::VOTE_ALL, mask, (predicate) != 0, __LINE__)

namespace remc_emulate {
inline unsigned mask_or_full(unsigned mask = 0xffffffffu) { return mask; }
inline int all_of(Tally tally) { return tally.threads == tally.size; }
}  // namespace remc_emulate

inline unsigned __activemask() { return 1u << remc_emulate::lane(); }

// ---- Memory: fences, atomics, cache hints -----------------------------------------------------------------------
// Atomics are functions of the runtime, and every one is a place where another thread may run.

void __threadfence();
void __threadfence_block();
void __threadfence_system();
void __nanosleep(unsigned nanoseconds);

#define REMC_ATOMIC(name, T) T name(T *address, T operand);
#define REMC_ATOMIC_INTEGERS(name) \
  REMC_ATOMIC(name, int) REMC_ATOMIC(name, unsigned) REMC_ATOMIC(name, unsigned long long)
REMC_ATOMIC_INTEGERS(atomicAdd)
REMC_ATOMIC(atomicAdd, float)
REMC_ATOMIC(atomicAdd, double)
REMC_ATOMIC(atomicSub, int)
REMC_ATOMIC(atomicSub, unsigned)
REMC_ATOMIC_INTEGERS(atomicMin)
REMC_ATOMIC(atomicMin, long long)
REMC_ATOMIC_INTEGERS(atomicMax)
REMC_ATOMIC(atomicMax, long long)
REMC_ATOMIC_INTEGERS(atomicAnd)
REMC_ATOMIC_INTEGERS(atomicOr)
REMC_ATOMIC_INTEGERS(atomicXor)
REMC_ATOMIC_INTEGERS(atomicExch)
REMC_ATOMIC(atomicExch, float)
#undef REMC_ATOMIC_INTEGERS
#undef REMC_ATOMIC
int atomicCAS(int *address, int expected, int desired);
unsigned atomicCAS(unsigned *address, unsigned expected, unsigned desired);
unsigned long long atomicCAS(unsigned long long *address, unsigned long long expected, unsigned long long desired);
unsigned short atomicCAS(unsigned short *address, unsigned short expected, unsigned short desired);

// Hints to a cache that is not there.
template <class T> inline T __ldg(const T *address) { return *address; }
template <class T> inline T __ldca(const T *address) { return *address; }
template <class T> inline T __ldcg(const T *address) { return *address; }
template <class T> inline T __ldcs(const T *address) { return *address; }
template <class T> inline T __ldlu(const T *address) { return *address; }
template <class T> inline T __ldcv(const T *address) { return *address; }
template <class T> inline void __stwb(T *address, typename remc_emulate::Same<T>::type value) { *address = value; }
template <class T> inline void __stcg(T *address, typename remc_emulate::Same<T>::type value) { *address = value; }
template <class T> inline void __stcs(T *address, typename remc_emulate::Same<T>::type value) { *address = value; }
template <class T> inline void __stwt(T *address, typename remc_emulate::Same<T>::type value) { *address = value; }

// ---- Stopping ---------------------------------------------------------------------------------------------------

#define __trap() remc_emulate::trap("__trap()", __LINE__)
// For nvcc a promise; here it is checked.
#define __builtin_assume(fact) \
  ((fact) ? (void)0 : remc_emulate::trap("__builtin_assume(" #fact ") does not hold", __LINE__))

// The emulator's runtime: everything that a printed program needs and that is slow to compile, as one object.
//
//     g++ -std=c++20 -O2 -fPIC -c remora_emulate.cpp
//
// Read in this order:
//
//     runtime/report.h   the one sentence on which everything ends that must not happen
//     runtime/fiber.h    stacks, and the switch between them
//     runtime/block.h    the threads of a block: who runs next, barriers, warp operations
//     runtime/races.h    with `-fsanitize=thread`: which accesses of a block nothing orders
//     runtime/memory.h   device memory: red zones, patterns, what a copy may touch
//     runtime/grid.h     blocks over OS threads: launches, order, time limit
//     runtime/api.h      the calls of CUDA's runtime API
//
// They are parts of this one translation unit, not headers for others.

#include "remora_emulate.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/report.h"

#include "runtime/fiber.h"

#include "runtime/block.h"

#include "runtime/races.h"

#include "runtime/memory.h"

#include "runtime/grid.h"

#include "runtime/api.h"

namespace remc_emulate {

__thread Registers registers;

void may_yield() {
  if (registers.block != nullptr) registers.block->may_yield();
}

void yield() {
  if (registers.block != nullptr) registers.block->yield();
}

Tally barrier(bool predicate, int line) { return registers.block->barrier(predicate, line); }

void sync_warp(unsigned mask, int line) {
  registers.block->meet(Operation::sync, mask, line, 0, 0);
}

uint64_t shuffle(unsigned mask, uint64_t value, int source, int line) {
  return registers.block->meet(Operation::shuffle, mask, line, value, source);
}

unsigned ballot(unsigned mask, bool predicate, int line) {
  return unsigned(registers.block->meet(Operation::vote, mask, line, predicate, 0));
}

void trap(const char *what, int line) { fail("line %d: %s", line, what); }

}  // namespace remc_emulate

const int warpSize = 32;

// ---- Fences and atomics -----------------------------------------------------------------------------------------
// All are sequentially consistent, as x86 has no weaker ones that are cheaper: an order of memory that is too weak
// for a GPU does not show here.

void __threadfence_block() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  remc_emulate::races::fence();
  remc_emulate::may_yield();
}
void __threadfence() { __threadfence_block(); }
void __threadfence_system() { __threadfence_block(); }
void __nanosleep(unsigned) { remc_emulate::yield(); }

namespace remc_emulate {

// The old value, after `change` was applied to it in one step.
template <class T, class Change>
static T update(T *address, Change change) {
  may_yield();
  races::atomic(address, sizeof(T), __builtin_return_address(0));
  std::atomic_ref<T> cell(*address);
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, change(old))) {
  }
  return old;
}

// Signed sums wrap.
template <class T>
static T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return T(U(a) + U(b));
  } else {
    return a + b;
  }
}

template <class T>
static T compare_and_swap(T *address, T expected, T desired) {
  may_yield();
  races::atomic(address, sizeof(T), __builtin_return_address(0));
  std::atomic_ref<T>(*address).compare_exchange_strong(expected, desired);
  return expected;
}

}  // namespace remc_emulate

#define REMC_ATOMIC(name, T, result)                                              \
  T name(T *address, T operand) {                                                 \
    return remc_emulate::update(address, [=](T old) -> T { return result; });     \
  }
#define REMC_ATOMIC_INTEGERS(name, result)       \
  REMC_ATOMIC(name, int, result)                 \
  REMC_ATOMIC(name, unsigned, result)            \
  REMC_ATOMIC(name, unsigned long long, result)
REMC_ATOMIC_INTEGERS(atomicAdd, remc_emulate::wrapping_add(old, operand))
REMC_ATOMIC(atomicAdd, float, old + operand)
REMC_ATOMIC(atomicAdd, double, old + operand)
REMC_ATOMIC(atomicSub, int, int(unsigned(old) - unsigned(operand)))
REMC_ATOMIC(atomicSub, unsigned, old - operand)
REMC_ATOMIC_INTEGERS(atomicMin, operand < old ? operand : old)
REMC_ATOMIC(atomicMin, long long, operand < old ? operand : old)
REMC_ATOMIC_INTEGERS(atomicMax, operand > old ? operand : old)
REMC_ATOMIC(atomicMax, long long, operand > old ? operand : old)
REMC_ATOMIC_INTEGERS(atomicAnd, old & operand)
REMC_ATOMIC_INTEGERS(atomicOr, old | operand)
REMC_ATOMIC_INTEGERS(atomicXor, old ^ operand)
REMC_ATOMIC_INTEGERS(atomicExch, ((void)old, operand))
REMC_ATOMIC(atomicExch, float, ((void)old, operand))

int atomicCAS(int *address, int expected, int desired) {
  return remc_emulate::compare_and_swap(address, expected, desired);
}
unsigned atomicCAS(unsigned *address, unsigned expected, unsigned desired) {
  return remc_emulate::compare_and_swap(address, expected, desired);
}
unsigned long long atomicCAS(unsigned long long *address, unsigned long long expected, unsigned long long desired) {
  return remc_emulate::compare_and_swap(address, expected, desired);
}
unsigned short atomicCAS(unsigned short *address, unsigned short expected, unsigned short desired) {
  return remc_emulate::compare_and_swap(address, expected, desired);
}

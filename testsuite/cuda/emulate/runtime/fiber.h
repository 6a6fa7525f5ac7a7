// Fibers: a stack each, and a switch between them that saves what a called function must preserve.
//
// Stacks are mapped once and used for one CUDA thread after the other. Under each lies a page that cannot be
// touched. The tops are staggered: at equal offsets in their pages, the hot ends of a thousand stacks would share
// the few places of a cache set.
//
// On x86-64 a switch is a dozen instructions; elsewhere it is POSIX's swapcontext, which also saves the signal
// mask and costs two system calls (REMC_EMULATE_UCONTEXT chooses that here too). The address sanitizer is told of
// every switch.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define REMC_EMULATE_ASAN 1
#endif

#if !defined(__x86_64__) && !defined(REMC_EMULATE_UCONTEXT)
#define REMC_EMULATE_UCONTEXT 1
#endif
#ifdef REMC_EMULATE_UCONTEXT
#include <ucontext.h>
#endif

namespace remc_emulate {

#ifdef REMC_EMULATE_ASAN
constexpr size_t STACK_BYTES = 512 << 10;
#else
constexpr size_t STACK_BYTES = 128 << 10;
#endif
constexpr size_t GUARD_BYTES = 4096;

struct Fiber {
  char *stack = nullptr;  // its lowest address, above the guard
  size_t stack_bytes = 0;
#ifdef REMC_EMULATE_UCONTEXT
  ucontext_t context;
#else
  void *stack_pointer = nullptr;
#endif
  void *fake_stack = nullptr;  // the address sanitizer's
};

#ifndef REMC_EMULATE_UCONTEXT
extern "C" __attribute__((visibility("hidden"))) void remc_emulate_switch(void **save, void *load);
// The System V ABI: rbx, rbp, r12 to r15 and the stack are the callee's to preserve. Kernels leave the
// floating-point control words alone.
asm(R"(
.pushsection .text
.p2align 4
.hidden remc_emulate_switch
.globl remc_emulate_switch
.type remc_emulate_switch, @function
remc_emulate_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size remc_emulate_switch, .-remc_emulate_switch
.popsection
)");
#endif

static inline __attribute__((always_inline)) void switch_fiber(Fiber &from, Fiber &to) {
#ifdef REMC_EMULATE_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
#ifdef REMC_EMULATE_UCONTEXT
  swapcontext(&from.context, &to.context);
#else
  remc_emulate_switch(&from.stack_pointer, to.stack_pointer);
#endif
#ifdef REMC_EMULATE_ASAN
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

// What a new fiber does first.
static void fiber_started() {
#ifdef REMC_EMULATE_ASAN
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

// A fiber that runs `entry`, which never returns, once it is switched to.
static Fiber *new_fiber(void (*entry)(), size_t number) {
  void *memory = mmap(nullptr, STACK_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE) != 0) {
    fail("no memory for the stack of another thread: %s", strerror(errno));
  }
  Fiber *fiber = new Fiber;
  fiber->stack = static_cast<char *>(memory) + GUARD_BYTES;
  fiber->stack_bytes = STACK_BYTES - number * 320 % 4096 / 64 * 64;
#ifdef REMC_EMULATE_UCONTEXT
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack;
  fiber->context.uc_stack.ss_size = fiber->stack_bytes;
  fiber->context.uc_link = nullptr;
  makecontext(&fiber->context, entry, 0);
#else
  // As if `entry` had been called and had switched away at once: six registers, where to go on, and a return
  // address that ends a debugger's walk. At entry the stack is 8 bytes past a multiple of 16.
  void **top = reinterpret_cast<void **>(fiber->stack + fiber->stack_bytes) - 2;
  top[1] = nullptr;
  top[0] = reinterpret_cast<void *>(entry);
  for (int i = 1; i <= 6; i++) top[-i] = nullptr;
  fiber->stack_pointer = top - 6;
#endif
  return fiber;
}

// The OS thread's own stack, which block after block is started from.
static void adopt_stack(Fiber &fiber) {
  pthread_attr_t attributes;
  void *low = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
  }
  fiber.stack = static_cast<char *>(low);
  fiber.stack_bytes = bytes;
}

}  // namespace remc_emulate

// Device memory, which is host memory with red zones.
//
// Around every allocation lie red zones with a pattern, which is checked when the memory is freed and when the
// program ends; with the address sanitizer, touching them ends the program at once, and so it does in the race
// check. Memory that was never written holds one pattern, memory that was freed another; freed memory is kept for
// a while, and a change of it is a use after it was freed.
#pragma once

namespace remc_emulate {

constexpr uint8_t FRESH = 0xcd, FREED = 0xdd, RED = 0xfb;
constexpr size_t RED_BYTES = 4096, ALIGNMENT = 256;
constexpr size_t KEPT_BYTES = 64 << 20;

// What is the matter with memory that should be all one pattern: the first offset that differs, or -1.
static ptrdiff_t first_change(const uint8_t *start, size_t bytes, uint8_t pattern) {
  // All bytes are the first one if each is the one before it.
  if (bytes == 0 || (start[0] == pattern && memcmp(start, start + 1, bytes - 1) == 0)) return -1;
  for (size_t i = 0; i < bytes; i++) {
    if (start[i] != pattern) return ptrdiff_t(i);
  }
  return -1;
}

static void forbid(const void *start, size_t bytes) {
#ifdef REMC_EMULATE_ASAN
  __asan_poison_memory_region(start, bytes);
#else
  (void)start, (void)bytes;
#endif
}

static void allow(const void *start, size_t bytes) {
#ifdef REMC_EMULATE_ASAN
  __asan_unpoison_memory_region(start, bytes);
#else
  (void)start, (void)bytes;
#endif
}

// A stretch of memory between two red zones.
struct Guarded {
  uint8_t *start = nullptr;
  size_t bytes = 0;

  size_t padded() const { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }
  uint8_t *outer() const { return start - RED_BYTES; }
  size_t outer_bytes() const { return RED_BYTES + padded() + RED_BYTES; }

  // False: there is not that much memory.
  bool allocate(size_t wanted) {
    bytes = wanted;
    void *memory = aligned_alloc(ALIGNMENT, outer_bytes());
    if (memory == nullptr) return false;
    start = static_cast<uint8_t *>(memory) + RED_BYTES;
    memset(outer(), RED, RED_BYTES);
    memset(start, FRESH, bytes);
    memset(start + bytes, RED, padded() - bytes + RED_BYTES);
    forbid(outer(), RED_BYTES);
    forbid(start + bytes, padded() - bytes + RED_BYTES);
    return true;
  }

  void release() {
    allow(outer(), outer_bytes());
    free(outer());
    start = nullptr;
  }

  // Ends the program if a red zone was written to.
  void check(const char *what) const {
    allow(outer(), outer_bytes());
    if (ptrdiff_t at = first_change(outer(), RED_BYTES, RED); at >= 0) {
      fail("%s of %zu bytes was written to %zu bytes before its start", what, bytes, RED_BYTES - size_t(at));
    }
    if (ptrdiff_t at = first_change(start + bytes, padded() - bytes + RED_BYTES, RED); at >= 0) {
      fail("%s of %zu bytes was written to %zu bytes after its end", what, bytes, size_t(at));
    }
    forbid(outer(), RED_BYTES);
    forbid(start + bytes, padded() - bytes + RED_BYTES);
  }
};

struct Allocation {
  Guarded memory;
  bool pinned;  // host memory that the device can use
};

struct Memory {
  std::mutex lock;
  std::map<uintptr_t, Allocation> live;
  std::vector<Guarded> kept;  // freed, the oldest first
  size_t kept_bytes = 0, used = 0;
  size_t total = size_t(8) << 30;

  Memory() {
    if (const char *text = getenv("REMC_EMULATE_MEMORY")) total = strtoull(text, nullptr, 10);
  }

  cudaError_t allocate(void **address, size_t bytes, bool pinned) {
    if (address == nullptr) return cudaErrorInvalidValue;
    *address = nullptr;
    if (bytes == 0) return cudaSuccess;
    std::lock_guard guard(lock);
    Allocation allocation{{}, pinned};
    if (bytes > total - used || !allocation.memory.allocate(bytes)) return cudaErrorMemoryAllocation;
    if (!pinned) used += bytes;
    const Guarded &memory = allocation.memory;
    uintptr_t start = uintptr_t(memory.start), outer = uintptr_t(memory.outer());
    races::add_region(outer, outer + memory.outer_bytes(), start, start + bytes, races::Kind::device);
    live.emplace(start, allocation);
    *address = memory.start;
    return cudaSuccess;
  }

  cudaError_t release(void *address, bool pinned) {
    if (address == nullptr) return cudaSuccess;
    std::lock_guard guard(lock);
    auto found = live.find(uintptr_t(address));
    if (found == live.end()) {
      for (const Guarded &memory : kept) {
        if (memory.start == address) fail("device memory of %zu bytes is freed a second time", memory.bytes);
      }
      return cudaErrorInvalidValue;
    }
    if (found->second.pinned != pinned) return cudaErrorInvalidValue;
    Guarded memory = found->second.memory;
    memory.check(pinned ? "pinned memory" : "device memory");
    live.erase(found);
    if (!pinned) used -= memory.bytes;
    memset(memory.start, FREED, memory.bytes);
    forbid(memory.start, memory.bytes);
    races::mark_freed(uintptr_t(memory.start));
    kept.push_back(memory);
    kept_bytes += memory.bytes;
    while (kept_bytes > KEPT_BYTES) {
      check_freed(kept.front());
      kept_bytes -= kept.front().bytes;
      races::remove_region(uintptr_t(kept.front().start));
      kept.front().release();
      kept.erase(kept.begin());
    }
    return cudaSuccess;
  }

  static void check_freed(const Guarded &memory) {
    memory.check("freed device memory");
    allow(memory.start, memory.bytes);
    if (ptrdiff_t at = first_change(memory.start, memory.bytes, FREED); at >= 0) {
      fail("device memory of %zu bytes was written to at byte %zu after it was freed", memory.bytes, size_t(at));
    }
  }

  // The allocation that an address lies in, or just behind.
  const Allocation *find(const void *address) {
    auto after = live.upper_bound(uintptr_t(address));
    if (after == live.begin()) return nullptr;
    const Allocation &allocation = (--after)->second;
    return uintptr_t(address) <= after->first + allocation.memory.bytes ? &allocation : nullptr;
  }

  // A call that touches so many bytes of what is said to be memory of the device, or of the host.
  void check_use(const char *call, const char *role, const void *address, size_t bytes, bool device) {
    if (bytes == 0) return;
    std::lock_guard guard(lock);
    const Allocation *allocation = find(address);
    bool on_device = allocation != nullptr && !allocation->pinned;
    if (on_device != device && !(device && allocation != nullptr)) {
      fail("%s: its %s is not memory of the %s", call, role, device ? "device" : "host");
    }
    if (allocation == nullptr) return;
    size_t offset = size_t(static_cast<const uint8_t *>(address) - allocation->memory.start);
    if (bytes > allocation->memory.bytes - offset) {
      fail("%s: its %s, %zu bytes from byte %zu on, passes the end of an allocation of %zu bytes", call, role,
           bytes, offset, allocation->memory.bytes);
    }
  }

  bool is_device(const void *address) {
    std::lock_guard guard(lock);
    const Allocation *allocation = find(address);
    return allocation != nullptr && !allocation->pinned;
  }

  // When the program ends.
  void check_all() {
    std::lock_guard guard(lock);
    for (auto &[start, allocation] : live) {
      allocation.memory.check(allocation.pinned ? "pinned memory" : "device memory");
    }
    for (const Guarded &memory : kept) check_freed(memory);
    const char *leaks = getenv("REMC_EMULATE_LEAKS");
    if (leaks == nullptr || strcmp(leaks, "1") != 0) return;
    for (auto &[start, allocation] : live) {
      fail("device memory was not freed: %zu allocations, one of %zu bytes", live.size(), allocation.memory.bytes);
    }
  }
};

// Never destroyed: what ends later may still free.
static Memory &memory() {
  static Memory *memory = new Memory;
  return *memory;
}

__attribute__((destructor)) static void check_memory_at_exit() { memory().check_all(); }

}  // namespace remc_emulate

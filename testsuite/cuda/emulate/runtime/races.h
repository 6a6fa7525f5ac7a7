// The race check: accesses to the same bytes, one of them a write, that nothing orders.
//
// A program that was compiled with `-fsanitize=thread` calls a function before every access to memory. Linked
// without the thread sanitizer's library, those functions are the ones below. Blocks then run on one OS thread,
// one after the other: what is found does not depend on who ran first, but on whether an order was *asked for*.
//
// Within a block, access `a` of thread t comes before access `b` of thread u if t = u, or if between them
//   - both passed the same __syncthreads, or
//   - both passed a common __syncwarp, or one passed one with a thread that had passed one with the other, …
//     (shuffles and votes order nothing, as CUDA says), or
//   - t made a fence after `a`: it then may have told u through a flag, and is believed to have.
// Accesses of two blocks of one launch are ordered if the earlier block made a fence at all. Volatile accesses
// are flags, and not looked at; atomics race with plain accesses, not with each other.
//
// Each thread's time is cut into *segments*, by barriers, __syncwarp and fences. Shadow memory keeps, for every
// four bytes, the last write, the last two reads and the last atomic: who, in which segment, from where in the
// code. So a race may be missed (a third reader), but none is made up. The same look-up finds every read and
// write of device memory outside of its allocation, at once and to the byte.
#pragma once

namespace remc_emulate::races {

struct Access {
  uint32_t serial = 0;   // of the block, over all launches; 0: no access
  uint32_t segment = 0;
  uint32_t code = 0;     // where, from the start of the program's image
  uint16_t thread = 0;
  uint8_t bytes = 0;     // a mask: which of the four
  uint8_t unused = 0;
};
struct Shadow {
  Access write, read, earlier_read, atomic;
};
enum class Way { read, write, atomic };
constexpr size_t GRAIN = 4;

enum class Kind { shared, dynamic_shared, device, freed };

// Memory that is watched: [begin, end), with red zones around [first, last), which may be used.
struct Region {
  uintptr_t begin, end, first, last;
  Kind kind;
  Shadow *shadow;  // of [first, last)
};

static bool enabled = false;
static std::mutex regions_lock;
static std::vector<Region> regions;  // ascending
static size_t last_found = 0;

// The program or library that this is part of: where it was loaded, and its file.
struct Image {
  uintptr_t start = 0;
  std::string path;
  Image() {
    Dl_info info{};
    dladdr(reinterpret_cast<void *>(&fence), &info);
    start = reinterpret_cast<uintptr_t>(info.dli_fbase);
    if (info.dli_fname != nullptr) path = info.dli_fname;
    // A program is known by the words that it was started with, which need not lead to it.
    char name[4096];
    ssize_t length = readlink("/proc/self/exe", name, sizeof(name));
    if (length > 0 && path.find(".so") == std::string::npos) path = std::string(name, size_t(length));
  }
};
static const Image &image() {
  static const Image *image = new Image;
  return *image;
}

// What is known of the block that runs.
static uint32_t serial = 0, first_serial_of_launch = 1;
static uint64_t launch = 0;
static std::vector<bool> fenced;  // by block of the launch
static uint32_t segment[MAX_THREADS], after_barrier[MAX_THREADS], after_fence[MAX_THREADS];
// known[u][l]: accesses of lane l of u's warp in segments before this come before what u does now.
static uint32_t known[MAX_THREADS][WARP];

static void add_region(uintptr_t begin, uintptr_t end, uintptr_t first, uintptr_t last, Kind kind) {
  if (!enabled) return;
  std::lock_guard lock(regions_lock);
  size_t grains = (last - first + 2 * GRAIN) / GRAIN;
  // Fresh pages are zero, which is "no access".
  void *shadow = mmap(nullptr, grains * sizeof(Shadow), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shadow == MAP_FAILED) fail("no memory for the race check of %zu bytes", size_t(last - first));
  Region region{begin, end, first, last, kind, static_cast<Shadow *>(shadow)};
  auto where = std::lower_bound(regions.begin(), regions.end(), begin,
                                [](const Region &r, uintptr_t a) { return r.begin < a; });
  regions.insert(where, region);
  last_found = 0;
}

static Region *find(uintptr_t address) {
  if (last_found < regions.size()) {
    Region &r = regions[last_found];
    if (address >= r.begin && address < r.end) return &r;
  }
  auto after = std::upper_bound(regions.begin(), regions.end(), address,
                                [](uintptr_t a, const Region &r) { return a < r.begin; });
  if (after == regions.begin()) return nullptr;
  Region &r = *--after;
  if (address >= r.end) return nullptr;
  last_found = size_t(&r - regions.data());
  return &r;
}

static void mark_freed(uintptr_t begin) {
  std::lock_guard lock(regions_lock);
  if (Region *r = find(begin)) r->kind = Kind::freed;
}

static void remove_region(uintptr_t begin) {
  std::lock_guard lock(regions_lock);
  Region *r = find(begin);
  if (r == nullptr) return;
  munmap(r->shadow, (r->last - r->first + 2 * GRAIN) / GRAIN * sizeof(Shadow));
  regions.erase(regions.begin() + (r - regions.data()));
  last_found = 0;
}

// ---- What orders ----

static void block_starts(Block &block) {
  if (!enabled) return;
  serial += 1;
  if (launch != block.job->number) {
    launch = block.job->number;
    first_serial_of_launch = serial;
    fenced.clear();
  }
  fenced.push_back(false);
  for (unsigned t = 0; t < block.size; t++) {
    segment[t] = 1;
    after_barrier[t] = after_fence[t] = 0;
    memset(known[t], 0, sizeof(known[t]));
  }
}

static void barrier(Block &block) {
  if (!enabled) return;
  for (unsigned t = 0; t < block.size; t++) after_barrier[t] = ++segment[t];
}

static void fence() {
  if (!enabled || registers.block == nullptr) return;
  unsigned t = registers.block->current;
  after_fence[t] = ++segment[t];
  fenced.back() = true;
}

static void sync_warp(Block &, unsigned first_thread, unsigned mask) {
  if (!enabled) return;
  uint32_t joined[WARP] = {};
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest)), t = first_thread + lane;
    segment[t] += 1;
    for (unsigned l = 0; l < WARP; l++) joined[l] = std::max(joined[l], known[t][l]);
    joined[lane] = std::max(joined[lane], segment[t]);
  }
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    memcpy(known[first_thread + unsigned(__builtin_ctz(rest))], joined, sizeof(joined));
  }
}

// Whether an earlier access comes before what thread `me` does now.
static bool ordered(const Access &a, unsigned me, Kind kind) {
  if (a.serial == serial) {
    return a.thread == me || a.segment < after_barrier[a.thread] || a.segment < after_fence[a.thread] ||
           (a.thread / WARP == me / WARP && a.segment < known[me][a.thread % WARP]);
  }
  // Shared memory is another one in every block.
  return kind != Kind::device || a.serial < first_serial_of_launch || fenced[a.serial - first_serial_of_launch];
}

// ---- Saying what is wrong ----

// The source line of an address in the program, if `addr2line` is there to find it.
static std::string line_of(uint32_t code) {
  std::string unknown = print("code address 0x%x", code);
  int ends[2];
  if (pipe(ends) != 0) return unknown;
  // A return address: the call lies before it.
  std::string address = print("0x%x", code - 1);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) dup2(null, STDERR_FILENO);
    close(ends[0]);
    execlp("addr2line", "addr2line", "-e", image().path.c_str(), address.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  char text[512];
  size_t length = 0;
  for (ssize_t n; length < sizeof(text) && (n = read(ends[0], text + length, sizeof(text) - length)) > 0;) {
    length += size_t(n);
  }
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  std::string found(text, length);
  found = found.substr(0, found.find_first_of(" \n"));
  size_t colon = found.rfind(':');
  if (colon == std::string::npos || found.find('?') != std::string::npos) return unknown;
  return "line " + found.substr(colon + 1);
}

static const char *name_of(Way way) {
  return way == Way::read ? "a read" : way == Way::write ? "a write" : "an atomic";
}

static const char *name_of(Kind kind) {
  switch (kind) {
    case Kind::shared: return "shared memory";
    case Kind::dynamic_shared: return "dynamic shared memory";
    case Kind::device: return "device memory";
    case Kind::freed: return "device memory that was freed";
  }
  return "";
}

[[noreturn]] static void report(const Region &region, uintptr_t address, const Access &now, Way way,
                                const Access &before, Way way_before) {
  std::string other = print("thread %u", before.thread);
  if (before.serial != serial) other += " of another block";
  std::string here = line_of(now.code), there = line_of(before.code);
  fail("race on %s, byte %zu: %s in %s and %s of %s in %s, which nothing orders", name_of(region.kind),
       size_t(address - region.first), name_of(way), here.c_str(), name_of(way_before), other.c_str(),
       there.c_str());
}

// ---- The accesses ----

static void access(const void *pointer, size_t bytes, Way way, bool is_volatile, void *code) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer), end = begin + bytes;
  Region *region = find(begin);
  if (region == nullptr) return;
  unsigned me = registers.block->current;
  uint32_t offset = uint32_t(reinterpret_cast<uintptr_t>(code) - image().start);
  bool outside = begin < region->first || end > region->last;
  // What lies behind static shared memory is the OS thread's own.
  if (outside && region->kind == Kind::shared) return;
  if (outside || region->kind == Kind::freed) {
    fail("%s of %zu bytes at byte %lld of %zu bytes of %s, in %s", name_of(way), bytes,
         (long long)(begin - region->first), size_t(region->last - region->first), name_of(region->kind),
         line_of(offset).c_str());
  }
  if (is_volatile) return;
  Access now{serial, segment[me], offset, uint16_t(me), 0, 0};
  for (uintptr_t grain = begin / GRAIN * GRAIN; grain < end; grain += GRAIN) {
    unsigned mask = 0;
    for (unsigned i = 0; i < GRAIN; i++) mask |= unsigned(grain + i >= begin && grain + i < end) << i;
    now.bytes = uint8_t(mask);
    Shadow &shadow = region->shadow[grain / GRAIN - region->first / GRAIN];
    auto against = [&](const Access &before, Way way_before) {
      if (before.serial == 0 || (before.bytes & mask) == 0 || ordered(before, me, region->kind)) return;
      report(*region, std::max(begin, grain), now, way, before, way_before);
    };
    against(shadow.write, Way::write);
    if (way != Way::atomic) against(shadow.atomic, Way::atomic);
    if (way != Way::read) {
      against(shadow.read, Way::read);
      against(shadow.earlier_read, Way::read);
    }
    switch (way) {
      case Way::write: shadow.write = now; break;
      case Way::atomic: shadow.atomic = now; break;
      case Way::read:
        if (shadow.read.serial != serial || shadow.read.thread != me) shadow.earlier_read = shadow.read;
        shadow.read = now;
        break;
    }
  }
}

static void atomic(void *address, size_t bytes, void *code) {
  if (enabled && registers.block != nullptr) access(address, bytes, Way::atomic, false, code);
}

}  // namespace remc_emulate::races

// ---- What compiled programs call --------------------------------------------------------------------------------

#define REMC_HOOK(name, bytes, way, is_volatile)                                                \
  extern "C" void name(const void *address) {                                                   \
    using namespace remc_emulate;                                                               \
    if (registers.block != nullptr) {                                                           \
      races::access(address, bytes, races::Way::way, is_volatile, __builtin_return_address(0)); \
    }                                                                                           \
  }
#define REMC_HOOKS(bytes)                                            \
  REMC_HOOK(__tsan_read##bytes, bytes, read, false)                  \
  REMC_HOOK(__tsan_write##bytes, bytes, write, false)                \
  REMC_HOOK(__tsan_unaligned_read##bytes, bytes, read, false)        \
  REMC_HOOK(__tsan_unaligned_write##bytes, bytes, write, false)      \
  REMC_HOOK(__tsan_volatile_read##bytes, bytes, read, true)          \
  REMC_HOOK(__tsan_volatile_write##bytes, bytes, write, true)        \
  REMC_HOOK(__tsan_unaligned_volatile_read##bytes, bytes, read, true) \
  REMC_HOOK(__tsan_unaligned_volatile_write##bytes, bytes, write, true)
REMC_HOOKS(1)
REMC_HOOKS(2)
REMC_HOOKS(4)
REMC_HOOKS(8)
REMC_HOOKS(16)
#undef REMC_HOOKS
#undef REMC_HOOK

extern "C" void __tsan_read_range(const void *address, unsigned long bytes) {
  using namespace remc_emulate;
  if (registers.block != nullptr) {
    races::access(address, bytes, races::Way::read, false, __builtin_return_address(0));
  }
}
extern "C" void __tsan_write_range(const void *address, unsigned long bytes) {
  using namespace remc_emulate;
  if (registers.block != nullptr) {
    races::access(address, bytes, races::Way::write, false, __builtin_return_address(0));
  }
}
// Called before the program's first constructor.
extern "C" void __tsan_init() { remc_emulate::races::enabled = true; }
extern "C" void __tsan_func_entry(const void *) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(const void *, const void *) {}
extern "C" void __tsan_vptr_read(const void *) {}

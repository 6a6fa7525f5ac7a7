// Launches: the blocks of a grid over OS threads, the *workers*.
//
// A worker takes a block and runs it to its end, so as many blocks are in flight as there are workers, and a
// block that waits for one that began earlier makes progress. A kernel that numbers its blocks by a ticket works
// with any number of workers; one that waits for a block that may not have begun hangs in some order, as it may on
// a GPU. A launch returns when all blocks have ended, or ends the program when it takes too long.
//
//     REMC_EMULATE_THREADS   number of workers; else that of processors, at least 2, at most 16
//     REMC_EMULATE_ORDER     forward, reverse, or random:SEED: of threads in a block, and of blocks
//     REMC_EMULATE_TIMEOUT   seconds that a launch may take; else 120; 0 for ever
#pragma once

namespace remc_emulate {

constexpr size_t SHARED_BYTES = 48 << 10, SHARED_BYTES_OPT_IN = 227 << 10;
// How much a worker fills with the pattern in one launch, so that launches of many small blocks stay fast.
constexpr size_t FILL_BYTES = 16 << 20;

// The thread-local variables of a program without initial value: its static shared memory, and `registers`.
struct StaticShared {
  uint8_t *begin = nullptr, *end = nullptr;
};

static StaticShared find_static_shared() {
  StaticShared found;
  registers.block_index = {0, 0, 0};  // a library's variables come to be when they are first touched
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *out) {
        uintptr_t here = reinterpret_cast<uintptr_t>(&find_static_shared);
        const ElfW(Phdr) *tls = nullptr;
        bool ours = false;
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const ElfW(Phdr) &segment = info->dlpi_phdr[i];
          uintptr_t start = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && here >= start && here < start + segment.p_memsz) ours = true;
          if (segment.p_type == PT_TLS) tls = &segment;
        }
        if (!ours || tls == nullptr || info->dlpi_tls_data == nullptr) return 0;
        uint8_t *data = static_cast<uint8_t *>(info->dlpi_tls_data);
        *static_cast<StaticShared *>(out) = {data + tls->p_filesz, data + tls->p_memsz};
        return 1;
      },
      &found);
  return found;
}

// How many bytes of thread-local variables there are: they lie on a worker's stack.
static size_t thread_local_bytes() {
  size_t bytes = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *out) {
        for (int i = 0; i < info->dlpi_phnum; i++) {
          if (info->dlpi_phdr[i].p_type == PT_TLS) *static_cast<size_t *>(out) += info->dlpi_phdr[i].p_memsz;
        }
        return 0;
      },
      &bytes);
  return bytes;
}

// Fills static shared memory, but not the registers among it.
static void fill_static_shared(const StaticShared &shared) {
  uint8_t *own = reinterpret_cast<uint8_t *>(&registers), *own_end = own + sizeof(registers);
  if (own < shared.begin || own_end > shared.end) {
    memset(shared.begin, FRESH, size_t(shared.end - shared.begin));
    return;
  }
  memset(shared.begin, FRESH, size_t(own - shared.begin));
  memset(own_end, FRESH, size_t(shared.end - own_end));
}

static void watch_static_shared(const StaticShared &shared) {
  uintptr_t begin = uintptr_t(shared.begin), end = uintptr_t(shared.end);
  uintptr_t own = uintptr_t(&registers), own_end = own + sizeof(registers);
  if (own < begin || own_end > end) {
    races::add_region(begin, end, begin, end, races::Kind::shared);
    return;
  }
  if (own > begin) races::add_region(begin, own, begin, own, races::Kind::shared);
  if (end > own_end) races::add_region(own_end, end, own_end, end, races::Kind::shared);
}

struct Grid {
  std::mutex one_launch;  // at a time
  std::mutex lock;
  std::condition_variable begun, ended;
  Job *job = nullptr;
  uint64_t jobs = 0;
  unsigned workers = 0, busy = 0;

  unsigned wanted_workers = 2;
  double timeout = 120;
  Order order = Order::forward;
  uint64_t seed = 0;
  std::map<const void *, size_t> shared_limit;  // that a kernel was given by cudaFuncSetAttribute

  Grid() {
    unsigned processors = std::thread::hardware_concurrency();
    wanted_workers = std::clamp(processors, 2u, 16u);
    if (const char *text = getenv("REMC_EMULATE_THREADS")) {
      int n = atoi(text);
      if (n < 1 || n > 1024) fail("REMC_EMULATE_THREADS=%s: it is a number of OS threads, from 1 to 1024", text);
      wanted_workers = unsigned(n);
    }
    if (races::enabled) wanted_workers = 1;
    if (const char *text = getenv("REMC_EMULATE_TIMEOUT")) timeout = atof(text);
    if (const char *text = getenv("REMC_EMULATE_ORDER")) read_order(text);
  }

  void read_order(const char *text) {
    if (strcmp(text, "forward") == 0 || *text == 0) {
      order = Order::forward;
    } else if (strcmp(text, "reverse") == 0) {
      order = Order::reverse;
    } else if (strncmp(text, "random:", 7) == 0 && text[7] >= '0' && text[7] <= '9') {
      order = Order::random;
      seed = strtoull(text + 7, nullptr, 10);
    } else {
      fail("REMC_EMULATE_ORDER=%s: it is forward, reverse or random:SEED", text);
    }
  }

  // ---- Workers ----

  static void *worker_main(void *grid) {
    static_cast<Grid *>(grid)->work();
    return nullptr;
  }

  void add_worker() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t(1) << 20) + thread_local_bytes());
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, worker_main, this);
    pthread_attr_destroy(&attributes);
    if (error != 0) fail("no OS thread for a block: %s", strerror(error));
    pthread_detach(thread);
    workers += 1;
  }

  [[noreturn]] void work() {
    Block &block = *new Block;
    adopt_stack(block.main);
    StaticShared shared = find_static_shared();
    watch_static_shared(shared);
    use_signal_stack();
    uint64_t seen = 0;
    for (;;) {
      Job *mine;
      {
        std::unique_lock guard(lock);
        begun.wait(guard, [&] { return jobs != seen && job != nullptr; });
        seen = jobs;
        mine = job;
        busy += 1;
      }
      run_blocks(block, *mine, shared);
      {
        std::lock_guard guard(lock);
        busy -= 1;
        if (busy == 0) ended.notify_all();
      }
    }
  }

  static void run_blocks(Block &block, Job &job, const StaticShared &shared) {
    uint64_t i = job.next.fetch_add(1);
    if (i >= job.blocks) return;
    Guarded dynamic;
    if (!dynamic.allocate(job.shared_bytes)) fail("no memory for %zu bytes of shared memory", job.shared_bytes);
    uintptr_t outer = uintptr_t(dynamic.outer()), start = uintptr_t(dynamic.start);
    races::add_region(outer, outer + dynamic.outer_bytes(), start, start + dynamic.bytes,
                      races::Kind::dynamic_shared);
    size_t block_bytes = size_t(shared.end - shared.begin) + dynamic.bytes, filled = 0;
    registers.dynamic_shared = dynamic.start;
    registers.block_size = {job.block_size, 1, 1};
    registers.grid_size = {unsigned(job.blocks), 1, 1};
    registers.thread_index = {0, 0, 0};
    registers.block_index = {0, 0, 0};
    registers.block = &block;
    for (; i < job.blocks; i = job.next.fetch_add(1)) {
      if (filled < FILL_BYTES) {
        filled += block_bytes;
        fill_static_shared(shared);
        memset(dynamic.start, FRESH, dynamic.bytes);
      }
      block.run(job, unsigned((job.first + i * job.step) % job.blocks));
      if (dynamic.bytes != 0) dynamic.check("dynamic shared memory");
    }
    registers.block = nullptr;
    races::remove_region(start);
    dynamic.release();
  }

  // ---- Launches ----

  // The order of blocks: i ↦ first + i * step, which visits each once where step and number are coprime.
  void set_order(Job &job) {
    job.order = order;
    job.seed = seed;
    job.first = 0;
    job.step = 1;
    if (order == Order::reverse) {
      job.first = job.blocks - 1;
      job.step = job.blocks - 1;
    } else if (order == Order::random) {
      Random random;
      random.mix(seed);
      random.mix(job.number);
      job.first = random() % job.blocks;
      do job.step = 1 + random() % job.blocks;
      while (std::gcd(job.step, job.blocks) != 1);
    }
    if (job.blocks == 1) job.first = 0, job.step = 1;
  }

  void run(Job &its_job) {
    std::unique_lock guard(lock);
    its_job.number = ++jobs;
    set_order(its_job);
    while (workers < std::min<uint64_t>(wanted_workers, its_job.blocks)) add_worker();
    job = &its_job;
    begun.notify_all();
    auto done = [&] { return busy == 0 && its_job.next.load() >= its_job.blocks; };
    if (timeout <= 0) {
      ended.wait(guard, done);
    } else if (!ended.wait_for(guard, std::chrono::duration<double>(timeout), done)) {
      fail("kernel %s has not ended after %g seconds (%llu of its %llu blocks had begun): it hangs, or "
           "REMC_EMULATE_TIMEOUT is too short",
           its_job.name, timeout, (unsigned long long)std::min(its_job.next.load(), its_job.blocks),
           (unsigned long long)its_job.blocks);
    }
    job = nullptr;
  }

  // ---- Signals ----
  // A wild address in a kernel is reported like everything else. The sanitizers have their own reports.

  static void on_signal(int signal, siginfo_t *info, void *) {
    const Block *block = registers.block;
    if (block == nullptr || block->running == nullptr) {
      ::signal(signal, SIG_DFL);
      raise(signal);
      return;
    }
    const char *address = static_cast<const char *>(info->si_addr), *stack = block->running->stack;
    if (signal == SIGFPE) fail("an integer division by zero");
    if (address >= stack - GUARD_BYTES && address < stack) fail("its stack of %zu bytes is full", STACK_BYTES);
    fail("an access to address %p, which is no memory", static_cast<const void *>(address));
  }

  static void use_signal_stack() {
#ifndef REMC_EMULATE_ASAN
    stack_t stack{};
    stack.ss_size = 64 << 10;
    stack.ss_sp = malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
    static std::once_flag once;
    std::call_once(once, [] {
      for (int signal : {SIGSEGV, SIGBUS, SIGFPE}) {
        struct sigaction action {};
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(signal, &action, nullptr);
      }
    });
#endif
  }
};

static Grid &grid() {
  static Grid *grid = new Grid;
  return *grid;
}

}  // namespace remc_emulate

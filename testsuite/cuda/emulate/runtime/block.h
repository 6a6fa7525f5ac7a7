// The threads of one block: who runs next, and who waits for whom.
//
// One fiber runs at a time. It gives way when it must wait (a barrier, a warp operation) or may (`yield`), and
// switches straight to the next thread that can run. Threads have *places*: an order of the warps, and one of the
// lanes, which is ascending, descending or random, and "next" is the next place around the circle.
//
// A thread that ends without ever having waited leaves its fiber to the next one that has not begun, which then
// starts without a switch: a kernel without barriers is a loop of plain calls on one stack.
//
// What must not happen is found where it happens, by whoever comes second:
//   - a thread comes to a barrier while another has ended, or waits at another one;
//   - a thread comes to a warp operation whose mask leaves it out, or names a lane that has ended, waits at a
//     barrier, or waits in another operation that in turn needs this thread;
//   - a thread ends that others wait for;
//   - nobody can run, and somebody still waits: a deadlock.
#pragma once

#define REMC_INLINE inline __attribute__((always_inline))

namespace remc_emulate {

constexpr unsigned MAX_THREADS = 1024, WARP = 32, MAX_WARPS = MAX_THREADS / WARP;
// What a lane outside the mask gives to one that asks it.
constexpr uint64_t POISON_LANE = 0xcdcdcdcdcdcdcdcdull;

enum class Order { forward, reverse, random };
enum class Operation : uint8_t { sync, shuffle, vote };

static const char *name_of(Operation operation) {
  switch (operation) {
    case Operation::sync: return "__syncwarp";
    case Operation::shuffle: return "a shuffle";
    case Operation::vote: return "a vote";
  }
  return "";
}

// What all blocks of a launch have in common.
struct Job {
  const char *name;
  void (*body)(const void *);
  const void *context;
  uint64_t blocks;
  unsigned block_size;
  size_t shared_bytes;
  uint64_t number;  // of the launch, from 1
  Order order;
  uint64_t seed;
  // The block that is run as the i-th: (first + i * step) mod blocks.
  uint64_t first, step;
  std::atomic<uint64_t> next{0};
};

struct Random {
  uint64_t state = 1;
  uint64_t operator()() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull >> 32;
  }
  void mix(uint64_t x) { state = (state ^ (x + 1) * 0x9e3779b97f4a7c15ull) | 1; }
};

namespace races {
static void block_starts(Block &block);
static void barrier(Block &block);
static void sync_warp(Block &block, unsigned first_thread, unsigned mask);
static void fence();
static void atomic(void *address, size_t bytes, void *code);
}  // namespace races

// Threads of a warp that wait for each other.
struct Group {
  unsigned mask, arrived, votes;
  Operation operation;
  int line;
};

struct Warp {
  unsigned exists, ended, at_barrier;  // masks of lanes
  unsigned groups;
  Group group[WARP];
};

struct Thread {
  Fiber *fiber;
  uint64_t value;  // what it brings to a warp operation, then what it takes away
  int source;
};

struct Block {
  const Job *job = nullptr;
  unsigned index = 0;  // of the block
  unsigned size = 0, warps = 0;
  unsigned current = 0;  // the thread that runs
  unsigned living = 0;   // threads that have not ended

  Tally tally{};         // of the last barrier
  unsigned waiting = 0;  // at the barrier
  int barrier_line = 0;
  unsigned trues = 0;  // of those that wait, how many have a predicate that holds

  unsigned ready[MAX_WARPS];  // by the warp's place; a bit for each lane's place
  uint8_t lane_at[WARP], place_of_lane[WARP], warp_at[MAX_WARPS], place_of_warp[MAX_WARPS];
  Warp warp[MAX_WARPS];
  Thread thread[MAX_THREADS];

  Fiber main;
  Fiber *running = nullptr;
  std::vector<Fiber *> fibers, idle;
  Random random;
  unsigned polite = 0, yields = 0, same_warp = 0;

  // ---- Running ----

  static void fiber_main() {
    fiber_started();
    Block &block = *registers.block;
    for (;;) {
      block.job->body(block.job->context);
      block.end_thread();
    }
  }

  // Runs a block from beginning to end.
  void run(const Job &its_job, unsigned its_index) {
    job = &its_job;
    index = its_index;
    size = living = its_job.block_size;
    warps = (size + WARP - 1) / WARP;
    waiting = 0;
    trues = 0;
    arrange();
    for (unsigned w = 0; w < warps; w++) {
      unsigned lanes = std::min(size - w * WARP, WARP);
      warp[w].exists = lanes == WARP ? ~0u : (1u << lanes) - 1;
      warp[w].ended = warp[w].at_barrier = warp[w].groups = 0;
    }
    for (unsigned t = 0; t < size; t++) thread[t].fiber = nullptr;
    make_all_ready();
    races::block_starts(*this);
    registers.block_index.x = index;
    set_current(first_ready());
    running = thread[current].fiber = take_idle();
    switch_fiber(main, *running);
  }

  void arrange() {
    random.state = 1;
    random.mix(job->seed);
    random.mix(job->number);
    random.mix(index);
    auto fill = [&](uint8_t *at, uint8_t *place, unsigned count) {
      for (unsigned i = 0; i < count; i++) at[i] = uint8_t(job->order == Order::reverse ? count - 1 - i : i);
      if (job->order == Order::random) {
        for (unsigned i = count; i > 1; i--) std::swap(at[i - 1], at[random() % i]);
      }
      for (unsigned i = 0; i < count; i++) place[at[i]] = uint8_t(i);
    };
    fill(lane_at, place_of_lane, WARP);
    fill(warp_at, place_of_warp, warps);
  }

  void make_all_ready() {
    for (unsigned w = 0; w < warps; w++) {
      unsigned bits = warp[w].exists;
      if (bits != ~0u) {
        bits = 0;
        for (unsigned lane = 0; lane < size - w * WARP; lane++) bits |= 1u << place_of_lane[lane];
      }
      ready[place_of_warp[w]] = bits;
    }
  }

  void set_ready(unsigned t) { ready[place_of_warp[t / WARP]] |= 1u << place_of_lane[t % WARP]; }
  void clear_ready(unsigned t) { ready[place_of_warp[t / WARP]] &= ~(1u << place_of_lane[t % WARP]); }
  unsigned at(unsigned warp_place, unsigned bits) const {
    return warp_at[warp_place] * WARP + lane_at[__builtin_ctz(bits)];
  }

  unsigned first_ready() const {
    for (unsigned w = 0;; w++) {
      if (ready[w] != 0) return at(w, ready[w]);
    }
  }

  // The next thread after the current one that can run, the current one itself last; -1 where there is none.
  REMC_INLINE int next_ready() const {
    unsigned w = place_of_warp[current / WARP], l = place_of_lane[current % WARP];
    unsigned up_to = unsigned((2ull << l) - 1);
    if (unsigned above = ready[w] & ~up_to) return int(at(w, above));
    for (unsigned k = 1; k < warps; k++) {
      unsigned other = w + k < warps ? w + k : w + k - warps;
      if (ready[other] != 0) return int(at(other, ready[other]));
    }
    if (unsigned below = ready[w] & up_to) return int(at(w, below));
    return -1;
  }

  // The same, but for lanes of the current warp first: their stacks are in the cache. Now and then others must
  // have their turn, as a warp may wait for another one without a barrier.
  int next_ready_near() {
    unsigned w = place_of_warp[current / WARP], l = place_of_lane[current % WARP];
    if (ready[w] == 0 || ++same_warp % 1024 == 0) return next_ready();
    unsigned above = ready[w] & ~unsigned((2ull << l) - 1);
    return int(at(w, above != 0 ? above : ready[w]));
  }

  void set_current(unsigned t) {
    current = t;
    registers.thread_index.x = t;
  }

  Fiber *take_idle() {
    if (idle.empty()) {
      fibers.push_back(new_fiber(fiber_main, fibers.size()));
      return fibers.back();
    }
    Fiber *fiber = idle.back();
    idle.pop_back();
    return fiber;
  }

  // Lets thread `t` run, and returns when the thread that called this may go on.
  REMC_INLINE void resume(unsigned t) {
    Fiber *from = running;
    set_current(t);
    if (thread[t].fiber == nullptr) thread[t].fiber = take_idle();
    if (thread[t].fiber == from) return;
    running = thread[t].fiber;
    switch_fiber(*from, *running);
  }

  // The current thread has returned from the kernel: its fiber goes on with another thread, now or later.
  void end_thread() {
    unsigned bit = 1u << current % WARP;
    Warp &mine = warp[current / WARP];
    if (waiting != 0) {
      fail("barrier divergence: it ended, while thread %u waits at __syncthreads of line %d", at_barrier(),
           barrier_line);
    }
    for (unsigned g = 0; g < mine.groups; g++) {
      if (mine.group[g].mask & bit) {
        fail("it ended, while thread %u waits for it in %s of line %d (mask 0x%08x)", member(mine.group[g]),
             name_of(mine.group[g].operation), mine.group[g].line, mine.group[g].mask);
      }
    }
    mine.ended |= bit;
    living -= 1;
    clear_ready(current);
    Fiber *self = running;
    if (living == 0) {
      idle.push_back(self);
      running = nullptr;
      switch_fiber(*self, main);
      return;
    }
    int next = next_ready();
    if (next < 0) deadlock();
    set_current(unsigned(next));
    if (thread[next].fiber == nullptr) {
      thread[next].fiber = self;
      return;
    }
    idle.push_back(self);
    running = thread[next].fiber;
    switch_fiber(*self, *running);
  }

  // ---- Giving way ----

  void yield() {
    // Whoever spins may wait for a block of another OS thread, which needs a processor.
    if (++yields % 64 == 0) sched_yield();
    resume(unsigned(next_ready()));
  }

  void may_yield() {
    bool now = job->order == Order::random ? (random() & 3) == 0 : ++polite % 16 == 0;
    if (now) yield();
  }

  // ---- Barriers ----

  // Here and in `resume` all is inlined, down to the switch: each frame less is a line of the cache less that
  // every fiber needs.
  REMC_INLINE Tally barrier(bool predicate, int line) {
    Warp &mine = warp[current / WARP];
    if (living != size || mine.groups != 0 || (waiting != 0 && line != barrier_line)) check_barrier(mine, line);
    barrier_line = line;
    trues += predicate;
    if (++waiting < size) {
      mine.at_barrier |= 1u << current % WARP;
      clear_ready(current);
      int next = next_ready();
      if (next < 0) deadlock();
      resume(unsigned(next));
      return tally;
    }
    tally = Tally{int(trues), int(size)};
    waiting = 0;
    trues = 0;
    for (unsigned w = 0; w < warps; w++) warp[w].at_barrier = 0;
    make_all_ready();
    races::barrier(*this);
    resume(first_ready());
    return tally;
  }

  __attribute__((noinline)) void check_barrier(const Warp &mine, int line) const {
    if (living != size) {
      fail("barrier divergence: it waits at __syncthreads of line %d, but %u of the block's %u threads have ended",
           line, size - living, size);
    }
    if (waiting != 0 && line != barrier_line) {
      fail("barrier divergence: it waits at __syncthreads of line %d, but thread %u at that of line %d", line,
           at_barrier(), barrier_line);
    }
    for (unsigned g = 0; g < mine.groups; g++) {
      if (mine.group[g].mask >> current % WARP & 1) {
        fail("it waits at __syncthreads of line %d, while thread %u waits for it in %s of line %d", line,
             member(mine.group[g]), name_of(mine.group[g].operation), mine.group[g].line);
      }
    }
  }

  // ---- Warp operations ----

  uint64_t meet(Operation operation, unsigned mask, int line, uint64_t value, int source) {
    unsigned first = current / WARP * WARP, bit = 1u << current % WARP;
    Warp &mine = warp[current / WARP];
    Thread &self = thread[current];
    self.value = value;
    self.source = source;
    unsigned g = 0;
    while (g < mine.groups && !same(mine.group[g], operation, mask, line)) g++;
    if (g == mine.groups) {
      check_mask(mine, operation, mask, line);
      mine.group[mine.groups++] = Group{mask, 0, 0, operation, line};
    }
    Group &group = mine.group[g];
    if ((mask & bit) == 0) check_mask(mine, operation, mask, line);
    group.arrived |= bit;
    if (operation == Operation::vote && value != 0) group.votes |= bit;
    if (group.arrived != mask) {
      clear_ready(current);
      int next = next_ready_near();
      if (next < 0) deadlock();
      resume(unsigned(next));
      return self.value;
    }
    finish(group, first);
    mine.group[g] = mine.group[--mine.groups];
    return self.value;
  }

  static bool same(const Group &group, Operation operation, unsigned mask, int line) {
    return group.mask == mask && group.line == line && group.operation == operation;
  }

  // All are there: works out what each takes away, before any of them can bring something new.
  void finish(const Group &group, unsigned first) {
    uint64_t taken[WARP];
    for (unsigned rest = group.mask; rest != 0; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest)), t = first + lane;
      if (group.operation == Operation::shuffle) {
        unsigned from = unsigned(thread[t].source);
        taken[lane] = group.mask >> from & 1 ? thread[first + from].value : POISON_LANE;
      } else {
        taken[lane] = group.votes;
      }
      set_ready(t);
    }
    for (unsigned rest = group.mask; rest != 0; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      thread[first + lane].value = taken[lane];
    }
    if (group.operation == Operation::sync) races::sync_warp(*this, first, group.mask);
  }

  void check_mask(const Warp &mine, Operation operation, unsigned mask, int line) {
    unsigned first = current / WARP * WARP, bit = 1u << current % WARP;
    const char *name = name_of(operation);
    if ((mask & bit) == 0) fail("%s of line %d: its mask 0x%08x leaves out the calling thread", name, line, mask);
    auto lowest = [&](unsigned lanes) { return first + unsigned(__builtin_ctz(lanes)); };
    if (unsigned lanes = mask & ~mine.exists) {
      fail("%s of line %d: its mask 0x%08x names thread %u, which the block does not have", name, line, mask,
           lowest(lanes));
    }
    if (unsigned lanes = mask & mine.ended) {
      fail("%s of line %d: its mask 0x%08x names thread %u, which has ended", name, line, mask, lowest(lanes));
    }
    if (unsigned lanes = mask & mine.at_barrier) {
      fail("%s of line %d: its mask 0x%08x names thread %u, which waits at __syncthreads of line %d", name, line,
           mask, lowest(lanes), barrier_line);
    }
    for (unsigned g = 0; g < mine.groups; g++) {
      const Group &other = mine.group[g];
      if ((other.mask & bit) != 0 && (other.arrived & mask) != 0) {
        fail("%s of line %d: its mask 0x%08x names thread %u, which waits in %s of line %d (mask 0x%08x)", name,
             line, mask, lowest(other.arrived & mask), name_of(other.operation), other.line, other.mask);
      }
    }
  }

  // ---- Saying what is wrong ----

  // A thread that waits at the barrier, in a group.
  unsigned at_barrier() const {
    for (unsigned w = 0; w < warps; w++) {
      if (warp[w].at_barrier != 0) return w * WARP + unsigned(__builtin_ctz(warp[w].at_barrier));
    }
    return 0;
  }
  unsigned member(const Group &group) const {
    return current / WARP * WARP + unsigned(__builtin_ctz(group.arrived));
  }

  [[noreturn]] __attribute__((noinline, cold)) void deadlock() const {
    std::string who;
    if (waiting != 0) who = print("thread %u waits at __syncthreads of line %d", at_barrier(), barrier_line);
    for (unsigned w = 0; w < warps; w++) {
      for (unsigned g = 0; g < warp[w].groups; g++) {
        const Group &group = warp[w].group[g];
        if (!who.empty()) who += ", ";
        who += print("thread %u in %s of line %d (mask 0x%08x)",
                     w * WARP + unsigned(__builtin_ctz(group.arrived)), name_of(group.operation), group.line,
                     group.mask);
        if (who.size() > 400) fail("deadlock: no thread of the block can go on; %s, and others", who.c_str());
      }
    }
    fail("deadlock: no thread of the block can go on; %s", who.c_str());
  }
};

static std::string place() {
  const Block *block = registers.block;
  if (block == nullptr || block->job == nullptr) return "";
  if (block->running == nullptr) return print(" kernel %s, block %u:", block->job->name, block->index);
  return print(" kernel %s, block %u, thread %u:", block->job->name, block->index, block->current);
}

}  // namespace remc_emulate

// ---- the host: memory, launches, and what has stopped the program ----

#ifndef REMC_EMULATED
#define REMC_LAUNCH(kernel, grid, block, shared, stream, ...) kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#define REMC_QUOTED(text) #text
#define REMC_RELEASE(major, minor) REMC_QUOTED(major) "." REMC_QUOTED(minor)
// Of the toolkit that compiles this.
#define REMC_CUDA_RELEASE REMC_RELEASE(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__)
#else
#define REMC_CUDA_RELEASE "12"
#endif

template <int N> struct remc_dims { i64 at[N]; };

enum remc_reason { REMC_FINISHED, REMC_TRAP, REMC_TOO_LARGE, REMC_DEVICE, REMC_ARGUMENT };

// No place of the program.
#define REMC_NO_PLACE (~0u)

// Text that grows. Where there is no memory for more, it stays as it is.
struct remc_text {
  char *at;
  u64 length, room;
};

static void remc_say(remc_text *text, const char *words, u64 length) {
  if (text->length + length >= text->room) {
    const u64 room = 2 * (text->length + length) + 64;
    char *more = (char *)realloc(text->at, room);
    if (!more) return;
    text->at = more;
    text->room = room;
  }
  memcpy(text->at + text->length, words, length);
  text->length += length;
  text->at[text->length] = 0;
}

// A number that sizes are compared with where there are versions of something: its name, that of its kind, and its value
// unless a context is given another one.
struct remc_threshold {
  const char *name, *kind;
  i64 value;
};

// A value that a context was given, for a threshold or for all of a kind.
struct remc_tuned {
  char *name;
  i64 value;
};

struct remc_about;

struct remc_memory {
  void *at;
  u64 bytes;
  bool used;
};

struct remc_context {
  cudaStream_t stream;
  remc_failure *failure;  // in the device's memory
  u64 *ticket;            // there, too
  u64 workers;
  // What has stopped the program: a check and its values; a shape that is too large; the device; or an
  // argument that is wrong.
  remc_reason reason;
  u32 trap, prov, count;
  i64 values[16];
  u64 element_bytes;
  char message[256];
  const remc_about *about;  // the entry that ran last
  remc_text said;           // what remc_error gives
  // Values of thresholds that were given, in this order, and those of the entry that runs.
  remc_tuned *tuned;
  u64 tuned_count;
  i64 *chosen;
  u64 chosen_room;
  // Memory that is in use, and that was.
  remc_memory *blocks;
  u64 have, room, live, peak;
};

static bool remc_device(remc_context *context, cudaError_t status, const char *what) {
  if (status == cudaSuccess) return true;
  if (context->reason == REMC_FINISHED) {
    context->reason = REMC_DEVICE;
    snprintf(context->message, sizeof context->message, "the GPU has failed while %s: %s", what,
             cudaGetErrorString(status));
  }
  return false;
}

[[maybe_unused]] static u64 remc_workers(remc_context *context) { return context->workers; }

[[maybe_unused]] static i32 remc_stop(remc_context *context, u32 trap, u32 prov, u32 count, const i64 *values) {
  if (context->reason == REMC_FINISHED) {
    context->reason = REMC_TRAP;
    context->trap = trap;
    context->prov = prov;
    context->count = count;
    for (u32 i = 0; i < count; ++i) context->values[i] = values[i];
  }
  return 1;
}

static void *remc_too_large(remc_context *context, u32 prov, u64 element_bytes, u32 rank, const i64 *dims) {
  if (context->reason == REMC_FINISHED) {
    context->reason = REMC_TOO_LARGE;
    context->prov = prov;
    context->element_bytes = element_bytes;
    context->count = rank < 16 ? rank : 16;
    for (u32 i = 0; i < context->count; ++i) context->values[i] = dims[i];
  }
  return 0;
}

// The product of dims; false past 63 bits. A dim of 0 or less makes it 0.
static bool remc_product(u32 rank, const i64 *dims, u64 *product) {
  bool fits = true, empty = false;
  *product = 1;
  for (u32 i = 0; i < rank; ++i) {
    if (dims[i] <= 0) empty = true;
    else if (*product > 0x7fffffffffffffffull / (u64)dims[i]) fits = false;
    else *product *= (u64)dims[i];
  }
  if (empty) *product = 0;
  return fits || empty;
}

[[maybe_unused]] static void remc_free(remc_context *context, void *buffer) {
  for (u64 i = 0; i < context->have; ++i)
    if (context->blocks[i].at == buffer && context->blocks[i].used) {
      context->blocks[i].used = false;
      context->live -= context->blocks[i].bytes;
#ifdef REMC_EMULATED
      // So that whoever uses it still is found out.
      cudaFree(buffer);
      context->blocks[i] = context->blocks[--context->have];
#endif
      return;
    }
}

// Gives back to the device what is not in use.
static void remc_trim(remc_context *context) {
  u64 kept = 0;
  for (u64 i = 0; i < context->have; ++i) {
    if (context->blocks[i].used) context->blocks[kept++] = context->blocks[i];
    else cudaFree(context->blocks[i].at);
  }
  context->have = kept;
}

[[maybe_unused]] static void *remc_alloc(remc_context *context, u32 prov, u64 element_bytes, u32 rank, const i64 *dims) {
  u64 bytes;
  if (!remc_product(rank, dims, &bytes) || bytes > (1ull << 60) / element_bytes)
    return remc_too_large(context, prov, element_bytes, rank, dims);
#ifdef REMC_EMULATED
  bytes = bytes == 0 ? 1 : bytes * element_bytes;
#else
  bytes = bytes == 0 ? 512 : (bytes * element_bytes + 511) / 512 * 512;
#endif
  remc_memory *found = 0;
  // What was freed and is not much larger serves again.
  for (u64 i = 0; i < context->have; ++i) {
    remc_memory *m = &context->blocks[i];
    if (!m->used && m->bytes >= bytes && m->bytes <= bytes + bytes / 8 && (!found || m->bytes < found->bytes))
      found = m;
  }
  if (!found) {
    if (context->have == context->room) {
      const u64 room = context->room ? 2 * context->room : 64;
      remc_memory *more = (remc_memory *)realloc(context->blocks, room * sizeof *more);
      if (!more) return remc_too_large(context, prov, element_bytes, rank, dims);
      context->blocks = more;
      context->room = room;
    }
    void *at = 0;
    if (cudaMalloc(&at, bytes) != cudaSuccess) {
      cudaGetLastError();
      remc_trim(context);
      if (cudaMalloc(&at, bytes) != cudaSuccess) {
        cudaGetLastError();
        return remc_too_large(context, prov, element_bytes, rank, dims);
      }
    }
    found = &context->blocks[context->have++];
    found->at = at;
    found->bytes = bytes;
  }
  found->used = true;
  context->live += found->bytes;
  if (context->live > context->peak) context->peak = context->live;
  return found->at;
}

template <class T> [[maybe_unused]] static bool remc_load(remc_context *context, const T *from, i64 index, T *to) {
  return remc_device(context, cudaMemcpyAsync(to, from + index, sizeof(T), cudaMemcpyDeviceToHost, context->stream),
                     "reading a scalar") &&
         remc_device(context, cudaStreamSynchronize(context->stream), "running kernels");
}

template <class T> [[maybe_unused]] static bool remc_store(remc_context *context, T *to, i64 index, T value) {
  return remc_device(context,
                     cudaMemcpyAsync(to + index, &value, sizeof(T), cudaMemcpyHostToDevice, context->stream),
                     "writing a scalar") &&
         remc_device(context, cudaStreamSynchronize(context->stream), "running kernels");
}

// How many blocks a grid has.
[[maybe_unused]] static bool remc_grid(remc_context *context, u32 prov, u32 rank, const i64 *sizes, u64 *blocks) {
  if (remc_product(rank, sizes, blocks)) return true;
  remc_too_large(context, prov, 1, rank, sizes);
  return false;
}

// How many blocks of the device a launch has, if each runs so many of the grid's at a time: no more than
// there can be, nor threads than workers where their number is limited.
[[maybe_unused]] static u32 remc_size(u64 blocks, u64 at_once, u64 threads, u64 workers) {
  u64 size = (blocks + at_once - 1) / at_once;
  if (workers != 0 && size > workers / threads) size = workers / threads;
  return size > 0x7fffffff ? 0x7fffffffu : size < 1 ? 1u : (u32)size;
}

[[maybe_unused]] static bool remc_take_tickets(remc_context *context) {
  return remc_device(context, cudaMemsetAsync(context->ticket, 0, sizeof(u64), context->stream), "preparing a launch");
}

// After a launch: whether the program may go on. Where a check may have failed the host waits to know.
[[maybe_unused]] static bool remc_launched(remc_context *context, bool checks) {
  if (!remc_device(context, cudaPeekAtLastError(), "launching a kernel")) return false;
  if (!checks) return true;
  remc_failure failure;
  if (!remc_device(context, cudaMemcpyAsync(&failure, context->failure, sizeof failure, cudaMemcpyDeviceToHost,
                                            context->stream), "running kernels") ||
      !remc_device(context, cudaStreamSynchronize(context->stream), "running kernels"))
    return false;
  if (failure.place == ~(u64)0) return true;
  remc_stop(context, failure.trap, failure.prov, failure.count, failure.values);
  return false;
}

// The values of an entry's thresholds: what was given for one, else for its kind, else its own.
[[maybe_unused]] static const i64 *remc_thresholds_in(remc_context *context, const remc_threshold *thresholds, u32 count) {
  if (context->chosen_room < count) {
    i64 *more = (i64 *)realloc(context->chosen, count * sizeof *more);
    if (!more) {
      context->reason = REMC_DEVICE;
      snprintf(context->message, sizeof context->message, "this machine has no memory for the values of thresholds");
      return 0;
    }
    context->chosen = more;
    context->chosen_room = count;
  }
  for (u32 k = 0; k < count; ++k) {
    bool alone = false;
    i64 value = thresholds[k].value;
    for (u64 g = 0; g < context->tuned_count; ++g) {
      const remc_tuned *given = context->tuned + g;
      const bool own = strcmp(given->name, thresholds[k].name) == 0;
      if (own || (!alone && strcmp(given->name, thresholds[k].kind) == 0)) value = given->value;
      alone = alone || own;
    }
    context->chosen[k] = value;
  }
  return context->chosen;
}

// ---- contexts ----

extern "C" void remc_context_free(remc_context *context) {
  if (!context) return;
  for (u64 i = 0; i < context->have; ++i) cudaFree(context->blocks[i].at);
  if (context->failure) cudaFree(context->failure);
  if (context->ticket) cudaFree(context->ticket);
  if (context->stream) cudaStreamDestroy(context->stream);
  for (u64 g = 0; g < context->tuned_count; ++g) free(context->tuned[g].name);
  free(context->tuned);
  free(context->chosen);
  free(context->blocks);
  free(context->said.at);
  free(context);
}

// Takes back all memory that a run has left or given; it serves the next one.
extern "C" void remc_context_release(remc_context *context) {
  for (u64 i = 0; i < context->have; ++i) context->blocks[i].used = false;
  context->live = 0;
}

// Forgets what has stopped the last run.
extern "C" bool remc_context_clear(remc_context *context) {
  remc_failure none;
  memset(&none, 0, sizeof none);
  none.place = ~(u64)0;
  context->reason = REMC_FINISHED;
  context->message[0] = 0;
  return remc_device(context, cudaMemcpy(context->failure, &none, sizeof none, cudaMemcpyHostToDevice), "starting");
}

// Why the last context could not be made.
static char remc_no_context[512] = "";

// A context on the current device; null where there is none.
extern "C" remc_context *remc_context_new(void) {
  remc_no_context[0] = 0;
  remc_context *context = (remc_context *)calloc(1, sizeof *context);
  int devices = 0, processors = 1;
  cudaError_t status = context ? cudaGetDeviceCount(&devices) : cudaErrorMemoryAllocation;
  if (status == cudaSuccess && devices == 0) status = cudaErrorInvalidDevice;
  const bool found = status == cudaSuccess;
  if (status == cudaSuccess) status = cudaStreamCreate(&context->stream);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  if (status == cudaSuccess) status = cudaMalloc((void **)&context->failure, sizeof *context->failure);
  if (status == cudaSuccess) status = cudaMalloc((void **)&context->ticket, sizeof *context->ticket);
  if (status == cudaSuccess) {
    context->workers = (u64)processors * 2048;
    if (remc_context_clear(context)) return context;
    memcpy(remc_no_context, context->message, sizeof context->message);
  } else if (found) {
    snprintf(remc_no_context, sizeof remc_no_context, "the GPU cannot be used: %s", cudaGetErrorString(status));
  } else {
    snprintf(remc_no_context, sizeof remc_no_context,
             "there is no GPU to run on: %s (an NVIDIA GPU and a driver for CUDA " REMC_CUDA_RELEASE
             " are needed; `nvidia-smi` lists what there is)",
             cudaGetErrorString(status));
  }
  remc_context_free(context);
  return 0;
}

// Copies to and from the device's memory; null, or not 0, if that fails. What is uploaded belongs to the
// context like all else, and what is downloaded may be freed after.
extern "C" void *remc_upload(remc_context *context, const void *from, u64 bytes) {
  const i64 dims[] = {(i64)bytes};
  void *to = remc_alloc(context, REMC_NO_PLACE, 1, 1, dims);
  if (!to || !remc_device(context, cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copying an input")) return 0;
  return to;
}

extern "C" i32 remc_download(remc_context *context, void *to, const void *from, u64 bytes) {
  if (bytes == 0) return 0;
  return remc_device(context, cudaStreamSynchronize(context->stream), "running kernels") &&
                 remc_device(context, cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copying a result")
             ? 0
             : 1;
}

// What has stopped the program: a check (1), with its number, place and values; an array that is too large
// (2), with its shape for values and the size of an element; the device (3), with a message. 0 if nothing has.
extern "C" i32 remc_why(remc_context *context, u32 *trap, u32 *prov, u32 *count, i64 *values, u64 *element_bytes,
                        const char **message) {
  *trap = context->trap;
  *prov = context->prov;
  *count = context->count;
  for (u32 i = 0; i < context->count; ++i) values[i] = context->values[i];
  *element_bytes = context->element_bytes;
  *message = context->message;
  return context->reason;
}

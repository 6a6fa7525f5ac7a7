// The calls of CUDA's runtime API. All work is done when the call returns.
#pragma once

namespace remc_emulate {

constexpr int COMPUTE_MAJOR = 9, COMPUTE_MINOR = 0, MULTIPROCESSORS = 8, CUDA_VERSION = 13000;

// The last error of this host thread, as CUDA keeps it.
static thread_local constinit cudaError_t last_error = cudaSuccess;

static cudaError_t returned(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// Names that were given out, to tell a live one from a destroyed one. Their addresses are never used again.
template <class Handle>
struct Handles {
  std::mutex lock;
  std::set<Handle> live;
  cudaError_t create(Handle *handle) {
    if (handle == nullptr) return returned(cudaErrorInvalidValue);
    std::lock_guard guard(lock);
    *handle = reinterpret_cast<Handle>(new char[64]);
    live.insert(*handle);
    return cudaSuccess;
  }
  cudaError_t destroy(Handle handle) {
    std::lock_guard guard(lock);
    return returned(live.erase(handle) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle);
  }
  bool has(Handle handle) {
    std::lock_guard guard(lock);
    return live.count(handle) == 1;
  }
};

static Handles<cudaStream_t> &streams() {
  static auto *handles = new Handles<cudaStream_t>;
  return *handles;
}
static Handles<cudaEvent_t> &events() {
  static auto *handles = new Handles<cudaEvent_t>;
  return *handles;
}

// The null stream, or one that is alive.
static cudaError_t on_stream(cudaStream_t stream) {
  return returned(stream == nullptr || streams().has(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t set_function_attribute(const void *kernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || size_t(value) > SHARED_BYTES_OPT_IN) return returned(cudaErrorInvalidValue);
    std::lock_guard guard(grid().lock);
    grid().shared_limit[kernel] = size_t(value);
  }
  return cudaSuccess;
}

void launch_erased(const char *name, const void *kernel, dim3 blocks, dim3 block, size_t shared_bytes,
                   cudaStream_t stream, void (*body)(const void *), const void *context) {
  if (registers.block != nullptr) fail("a kernel launches kernel %s", name);
  if (blocks.y != 1 || blocks.z != 1 || block.y != 1 || block.z != 1) {
    fail("kernel %s is launched with more than one dimension", name);
  }
  if (on_stream(stream) != cudaSuccess) return;
  if (blocks.x == 0 || blocks.x > 0x7fffffffu || block.x == 0 || block.x > MAX_THREADS) {
    returned(cudaErrorInvalidConfiguration);
    return;
  }
  Grid &all = grid();
  std::lock_guard one(all.one_launch);
  {
    std::lock_guard guard(all.lock);
    auto limit = all.shared_limit.find(kernel);
    if (shared_bytes > (limit == all.shared_limit.end() ? SHARED_BYTES : limit->second)) {
      returned(cudaErrorInvalidValue);
      return;
    }
  }
  Job job{name, body, context, blocks.x, block.x, shared_bytes, 0, Order::forward, 0, 0, 1, {}};
  all.run(job);
}

static cudaError_t copy(const char *call, void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return cudaSuccess;
  bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) to_device = memory().is_device(to), from_device = memory().is_device(from);
  memory().check_use(call, "destination", to, bytes, to_device);
  memory().check_use(call, "source", from, bytes, from_device);
  // A copy onto itself is allowed, a copy of overlapping memory undefined.
  const char *a = static_cast<char *>(to), *b = static_cast<const char *>(from);
  if (a != b && a < b + bytes && b < a + bytes) fail("%s: its source and its destination overlap", call);
  memmove(to, from, bytes);
  return cudaSuccess;
}

static cudaError_t set(const char *call, void *address, int byte, size_t bytes) {
  memory().check_use(call, "destination", address, bytes, true);
  if (bytes != 0) memset(address, byte, bytes);
  return cudaSuccess;
}

static double now_in_milliseconds() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

static std::mutex recorded_lock;
static std::map<cudaEvent_t, double> &recorded() {
  static auto *times = new std::map<cudaEvent_t, double>;
  return *times;
}

}  // namespace remc_emulate

using namespace remc_emulate;

// ---- Errors ----

const char *cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady: return "cudaErrorNotReady";
  }
  return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
  }
  return "unrecognized error code";
}

cudaError_t cudaPeekAtLastError() { return last_error; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

// ---- The device ----

static cudaError_t on_device(int device) { return returned(device == 0 ? cudaSuccess : cudaErrorInvalidDevice); }

cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return on_device(device); }
cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = CUDA_VERSION, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { return *version = CUDA_VERSION, cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
  if (on_device(device) != cudaSuccess) return cudaErrorInvalidDevice;
  cudaDeviceProp p{};
  strcpy(p.name, "Emulated device");
  p.totalGlobalMem = memory().total;
  p.sharedMemPerBlock = SHARED_BYTES;
  p.sharedMemPerBlockOptin = SHARED_BYTES_OPT_IN;
  p.sharedMemPerMultiprocessor = SHARED_BYTES_OPT_IN + 1024;
  p.regsPerBlock = 65536;
  p.warpSize = int(WARP);
  p.maxThreadsPerBlock = int(MAX_THREADS);
  p.maxThreadsDim[0] = int(MAX_THREADS);
  p.maxThreadsDim[1] = p.maxThreadsDim[2] = 1;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 1;
  p.maxThreadsPerMultiProcessor = 2048;
  p.multiProcessorCount = MULTIPROCESSORS;
  p.l2CacheSize = 4 << 20;
  p.major = COMPUTE_MAJOR;
  p.minor = COMPUTE_MINOR;
  *properties = p;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (cudaGetDeviceProperties(&p, device) != cudaSuccess) return cudaErrorInvalidDevice;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: return *value = p.maxThreadsPerBlock, cudaSuccess;
    case cudaDevAttrMaxBlockDimX: return *value = p.maxThreadsDim[0], cudaSuccess;
    case cudaDevAttrMaxGridDimX: return *value = p.maxGridSize[0], cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock: return *value = int(p.sharedMemPerBlock), cudaSuccess;
    case cudaDevAttrWarpSize: return *value = p.warpSize, cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock: return *value = p.regsPerBlock, cudaSuccess;
    case cudaDevAttrMultiProcessorCount: return *value = p.multiProcessorCount, cudaSuccess;
    case cudaDevAttrL2CacheSize: return *value = p.l2CacheSize, cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return *value = p.maxThreadsPerMultiProcessor, cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: return *value = p.major, cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: return *value = p.minor, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return *value = int(p.sharedMemPerMultiprocessor), cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return *value = int(p.sharedMemPerBlockOptin), cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported: return *value = 1, cudaSuccess;
  }
  return returned(cudaErrorInvalidValue);
}

// ---- Memory ----

cudaError_t cudaMalloc(void **address, size_t bytes) { return returned(memory().allocate(address, bytes, false)); }
cudaError_t cudaFree(void *address) { return returned(memory().release(address, false)); }
cudaError_t cudaMallocAsync(void **address, size_t bytes, cudaStream_t stream) {
  cudaError_t error = on_stream(stream);
  return error != cudaSuccess ? error : cudaMalloc(address, bytes);
}
cudaError_t cudaFreeAsync(void *address, cudaStream_t stream) {
  cudaError_t error = on_stream(stream);
  return error != cudaSuccess ? error : cudaFree(address);
}
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  std::lock_guard guard(memory().lock);
  *total = memory().total;
  *free = memory().total - memory().used;
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void **address, size_t bytes) {
  return returned(memory().allocate(address, bytes, true));
}
cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned) { return cudaMallocHost(address, bytes); }
cudaError_t cudaFreeHost(void *address) { return returned(memory().release(address, true)); }

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return copy("cudaMemcpy", to, from, bytes, kind);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  cudaError_t error = on_stream(stream);
  return error != cudaSuccess ? error : copy("cudaMemcpyAsync", to, from, bytes, kind);
}
cudaError_t cudaMemset(void *address, int byte, size_t bytes) { return set("cudaMemset", address, byte, bytes); }
cudaError_t cudaMemsetAsync(void *address, int byte, size_t bytes, cudaStream_t stream) {
  cudaError_t error = on_stream(stream);
  return error != cudaSuccess ? error : set("cudaMemsetAsync", address, byte, bytes);
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
  static char only;
  *pool = reinterpret_cast<cudaMemPool_t>(&only);
  return on_device(device);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }

// ---- Streams and events ----

cudaError_t cudaStreamCreate(cudaStream_t *stream) { return streams().create(stream); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) { return streams().create(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return streams().destroy(stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return on_stream(stream); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { return on_stream(stream); }

static cudaError_t on_event(cudaEvent_t event) {
  return returned(events().has(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  cudaError_t error = on_stream(stream);
  return error != cudaSuccess ? error : on_event(event);
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return events().create(event); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return events().create(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  cudaError_t error = on_stream(stream);
  if (error == cudaSuccess) error = on_event(event);
  if (error != cudaSuccess) return error;
  std::lock_guard guard(recorded_lock);
  recorded()[event] = now_in_milliseconds();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return on_event(event); }
cudaError_t cudaEventQuery(cudaEvent_t event) { return on_event(event); }
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
  std::lock_guard guard(recorded_lock);
  auto a = recorded().find(from), b = recorded().find(to);
  if (a == recorded().end() || b == recorded().end()) return returned(cudaErrorInvalidResourceHandle);
  *milliseconds = float(b->second - a->second);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  {
    std::lock_guard guard(recorded_lock);
    recorded().erase(event);
  }
  return events().destroy(event);
}

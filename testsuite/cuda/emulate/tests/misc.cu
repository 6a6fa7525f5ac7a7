// A tiled transpose, a histogram with atomics in shared and device memory, dynamic shared memory, a lock that
// spins, error codes, a stream; and every half, and the roundings to it, against arithmetic in double precision.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

extern "C" __global__ void __launch_bounds__(256)
transpose(const int *__restrict__ in, int *__restrict__ out, int rows, int cols) {
  __shared__ int tile[32][33];
  int tiles = (cols + 31) / 32, y = int(blockIdx.x) / tiles * 32, x = int(blockIdx.x) % tiles * 32;
  int lane = int(threadIdx.x) % 32;
  for (int r = int(threadIdx.x) / 32; r < 32; r += 8) {
    if (y + r < rows && x + lane < cols) tile[r][lane] = in[(y + r) * cols + x + lane];
  }
  __syncthreads();
  for (int r = int(threadIdx.x) / 32; r < 32; r += 8) {
    if (x + r < cols && y + lane < rows) out[(x + r) * rows + y + lane] = tile[lane][r];
  }
}

extern "C" __global__ void __launch_bounds__(256)
histogram(const uint8_t *__restrict__ in, unsigned *__restrict__ bins, float *sum, int n, int bin_count) {
  REMC_DYNAMIC_SHARED(buffer)
  unsigned *local = reinterpret_cast<unsigned *>(buffer);
  for (int b = int(threadIdx.x); b < bin_count; b += int(blockDim.x)) local[b] = 0;
  __syncthreads();
  for (int i = int(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += int(gridDim.x * blockDim.x)) {
    atomicAdd(&local[in[i] % bin_count], 1u);
  }
  __syncthreads();
  for (int b = int(threadIdx.x); b < bin_count; b += int(blockDim.x)) {
    if (local[b] != 0) atomicAdd(&bins[b], local[b]);
    atomicAdd(sum, 1.0f);
  }
}

// Each thread adds in turn, under a lock that it spins for.
extern "C" __global__ void locked(int *lock, volatile int *count, int *largest, unsigned long long *product) {
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(8);
  __threadfence();
  *count = *count + 1;
  __threadfence();
  atomicExch(lock, 0);
  atomicMax(largest, int(threadIdx.x));
  unsigned long long old = *(volatile unsigned long long *)product, seen;
  do {
    seen = old;
    old = atomicCAS(product, seen, seen * 3);
  } while (old != seen);
}

#define CHECK(fact) \
  if (!(fact)) return printf("line %d: not so: %s\n", __LINE__, #fact), 1

static int halves() {
  for (int i = 0; i < 65536; i++) {
    half h = __ushort_as_half((unsigned short)i);
    float f = __half2float(h);
    int sign = i >> 15, exponent = i >> 10 & 31, fraction = i & 1023;
    double expected = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) expected = fraction == 0 ? INFINITY : NAN;
    if (std::isnan(expected)) {
      CHECK(isnan(f) && __half_as_ushort(__float2half_rn(f)) == 0x7fff);
      continue;
    }
    CHECK(f == float(sign ? -expected : expected) && std::signbit(f) == (sign == 1));
    CHECK(__half_as_ushort(__float2half_rn(f)) == i);
    if (exponent == 31) continue;
    // Halfway to the next one away from zero: to the even one. The next number of either side decides otherwise.
    int next = i + 1;
    bool last = exponent == 30 && fraction == 1023;
    double up = last ? 65536.0 : double(__half2float(__ushort_as_half((unsigned short)(next & 0x7fff))));
    double middle = (std::fabs(f) + up) / 2, m = sign ? -middle : middle;
    int even = i % 2 == 0 ? i : next;
    CHECK(__half_as_ushort(__double2half(m)) == even && __half_as_ushort(__float2half_rn(float(m))) == even);
    CHECK(__half_as_ushort(__double2half(std::nextafter(m, 0.0))) == i);
    CHECK(__half_as_ushort(__double2half(std::nextafter(m, m * 2))) == next);
    CHECK(__half_as_ushort(__float2half_rn(std::nextafterf(float(m), 0.0f))) == i);
  }
  CHECK(__half_as_ushort(__double2half(1e300)) == 0x7c00 && __half_as_ushort(__double2half(-1e-300)) == 0x8000);
  return 0;
}

static int numbers() {
  CHECK(__clz(0) == 32 && __clz(1) == 31 && __clzll(1) == 63 && __ffs(8) == 4 && __ffs(0) == 0 && __popc(255) == 8);
  CHECK(__brev(1u) == 0x80000000u && __brev(0x12345678u) == 0x1e6a2c48u && __popcll(~0ull) == 64);
  CHECK(__mul64hi(-1, 1) == -1 && __umul64hi(~0ull, ~0ull) == ~0ull - 1 && __mulhi(1 << 30, 8) == 2);
  CHECK(__float_as_int(1.0f) == 0x3f800000 && __longlong_as_double(0x3ff0000000000000ll) == 1.0);
  CHECK(__fmaf_rn(1 + 0x1p-23f, 1 - 0x1p-23f, -1.0f) == -0x1p-46f && rsqrtf(4.0f) == 0.5f && rsqrt(16.0) == 0.25);
  CHECK(__float2int_rz(3e9f) == 2147483647 && __float2int_rz(-3e9f) == -2147483647 - 1 && __float2int_rz(-1.9f) == -1);
  CHECK(__float2int_rz(__int_as_float(0x7fc00000)) == 0 && __double2ll_rz(1e19) == 9223372036854775807ll);
  CHECK(__double2ull_rz(-3.0) == 0 && __double2ull_rz(1e20) == ~0ull && __double2int_rn(2.5) == 2);
  CHECK(__double2uint_rz(4294967295.5) == 4294967295u && __float2uint_rz(-0.5f) == 0u);
  CHECK(sizeof(float4) == 16 && alignof(float4) == 16 && alignof(int2) == 8 && alignof(double2) == 16);
  CHECK(sizeof(uchar3) == 3);
  CHECK(max(3, 4) == 4 && min(2.0f, 1.0f) == 1.0f && exp(0.0f) == 1.0f && fmaxf(1.0f, NAN) == 1.0f);
  return 0;
}

template <class T>
static T *upload(const std::vector<T> &host) {
  T *device;
  if (cudaMalloc(&device, host.size() * sizeof(T)) != cudaSuccess) return nullptr;
  cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

template <class T>
static std::vector<T> download(T *device, size_t n) {
  std::vector<T> host(n);
  cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost);
  cudaFree(device);
  return host;
}

static int kernels() {
  int rows = 70, cols = 45;
  std::vector<int> matrix(rows * cols);
  for (int i = 0; i < rows * cols; i++) matrix[i] = i;
  int *in = upload(matrix), *out = upload(matrix);
  REMC_LAUNCH(transpose, unsigned((rows + 31) / 32 * ((cols + 31) / 32)), 256, 0, 0, in, out, rows, cols);
  std::vector<int> turned = download(out, matrix.size());
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < cols; j++) CHECK(turned[j * rows + i] == i * cols + j);
  }
  cudaFree(in);

  int n = 10007, bin_count = 61;
  std::vector<uint8_t> bytes(n);
  std::vector<unsigned> expected(bin_count);
  for (int i = 0; i < n; i++) bytes[i] = uint8_t(i * i % 251), expected[bytes[i] % bin_count]++;
  uint8_t *d_bytes = upload(bytes);
  unsigned *bins = upload(std::vector<unsigned>(bin_count));
  float *sum = upload(std::vector<float>(1));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  REMC_LAUNCH(histogram, 5, 128, bin_count * sizeof(unsigned), stream, d_bytes, bins, sum, n, bin_count);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess && cudaGetLastError() == cudaSuccess);
  CHECK(download(bins, bin_count) == expected && download(sum, 1)[0] == 5.0f * float(bin_count));
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);

  int *lock = upload(std::vector<int>(1)), *count = upload(std::vector<int>(1));
  int *largest = upload(std::vector<int>{-5});
  unsigned long long *product = upload(std::vector<unsigned long long>{1});
  REMC_LAUNCH(locked, 4, 100, 0, nullptr, lock, count, largest, product);
  unsigned long long power = 1;
  for (int i = 0; i < 400; i++) power *= 3;
  CHECK(download(count, 1)[0] == 400 && download(largest, 1)[0] == 99 && download(product, 1)[0] == power);

  // Launches that CUDA refuses.
  REMC_LAUNCH(locked, 0, 100, 0, nullptr, nullptr, nullptr, nullptr, nullptr);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaErrorInvalidConfiguration);
  REMC_LAUNCH(locked, 1, 1025, 0, nullptr, nullptr, nullptr, nullptr, nullptr);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
  size_t big = 100 << 10;
  bins = upload(std::vector<unsigned>(bin_count)), sum = upload(std::vector<float>(1));
  REMC_LAUNCH(histogram, 5, 128, big, nullptr, d_bytes, bins, sum, n, bin_count);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeMaxDynamicSharedMemorySize, int(big)) == cudaSuccess);
  REMC_LAUNCH(histogram, 5, 128, big, nullptr, d_bytes, bins, sum, n, bin_count);
  CHECK(cudaGetLastError() == cudaSuccess && download(bins, bin_count) == expected);
  cudaFree(sum), cudaFree(d_bytes), cudaFree(lock);
  void *too_much;
  CHECK(cudaMalloc(&too_much, size_t(1) << 40) == cudaErrorMemoryAllocation && too_much == nullptr);
  CHECK(std::string(cudaGetErrorString(cudaGetLastError())) == "out of memory");
  // Fresh memory is not zero.
  unsigned *fresh;
  CHECK(cudaMalloc(&fresh, 40) == cudaSuccess && download(fresh, 10)[3] == 0xcdcdcdcdu);
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess && properties.warpSize == warpSize);
  CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
  return 0;
}

int main() {
  if (halves() != 0 || numbers() != 0 || kernels() != 0) return 1;
  printf("misc is right\n");
}

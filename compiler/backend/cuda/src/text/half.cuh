#include <cuda_fp16.h>
typedef __half f16;

// Half floats are computed with in f32; each result is rounded once.
namespace remc {
REMC_FN f32 wide(f16 x) { return __half2float(x); }
REMC_FN f16 narrow(f32 x) { return __float2half_rn(x); }
REMC_FN f16 narrow(f64 x) { return __double2half(x); }
REMC_FN f16 f16_bits(u16 bits) {
  __half_raw raw;
  raw.x = bits;
  return f16(raw);
}
REMC_FN i64 word(f16 x) { return ((__half_raw)x).x; }
}  // namespace remc

// As of other numbers: a half is a class, and is read as the 16 bits that it is.
[[maybe_unused]] static __device__ __forceinline__ f16 remc_latest(const f16 *from) {
  return remc::f16_bits(*(const volatile u16 *)from);
}

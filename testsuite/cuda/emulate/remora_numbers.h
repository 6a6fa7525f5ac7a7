// Vector types, half precision, bit operations and mathematics, under CUDA's names.
//
// Functions that a C library has are declared, not defined, exactly as it declares them; all others are templates
// or overloads that no header of the C or C++ library defines, so that the program may include <cmath> as well.
// They round as the C library does, which is not always as CUDA's mathematics does: compare by units in the last
// place.
#pragma once

// ---- Vector types -----------------------------------------------------------------------------------------------
// CUDA aligns vectors of two and four to their size, at most 16 bytes, and vectors of three as their parts. A
// load through a pointer that is not so aligned faults on a GPU, and is reported by the sanitizer here.

#define REMC_VECTORS(T, name, align2, align4)                                                        \
  struct name##1 { T x; };                                                                           \
  struct alignas(align2) name##2 { T x, y; };                                                        \
  struct name##3 { T x, y, z; };                                                                     \
  struct alignas(align4) name##4 { T x, y, z, w; };                                                  \
  inline constexpr name##1 make_##name##1(T x) { return {x}; }                                       \
  inline constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                               \
  inline constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                       \
  inline constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
REMC_VECTORS(signed char, char, 2, 4)
REMC_VECTORS(unsigned char, uchar, 2, 4)
REMC_VECTORS(short, short, 4, 8)
REMC_VECTORS(unsigned short, ushort, 4, 8)
REMC_VECTORS(int, int, 8, 16)
REMC_VECTORS(unsigned, uint, 8, 16)
REMC_VECTORS(long, long, 16, 16)
REMC_VECTORS(unsigned long, ulong, 16, 16)
REMC_VECTORS(long long, longlong, 16, 16)
REMC_VECTORS(unsigned long long, ulonglong, 16, 16)
REMC_VECTORS(float, float, 8, 16)
REMC_VECTORS(double, double, 16, 16)
#undef REMC_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

// ---- Bits -------------------------------------------------------------------------------------------------------

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}

inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__extension__(__int128)a * b) >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((__extension__(unsigned __int128)a * b) >> 64);
}

namespace remc_emulate {
template <class To, class From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}
}  // namespace remc_emulate

inline int __float_as_int(float x) { return remc_emulate::bits_as<int>(x); }
inline unsigned __float_as_uint(float x) { return remc_emulate::bits_as<unsigned>(x); }
inline float __int_as_float(int x) { return remc_emulate::bits_as<float>(x); }
inline float __uint_as_float(unsigned x) { return remc_emulate::bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return remc_emulate::bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return remc_emulate::bits_as<double>(x); }

// ---- Functions of the C library ---------------------------------------------------------------------------------

#define REMC_MATH1(name) extern "C" double name(double) noexcept; extern "C" float name##f(float) noexcept;
#define REMC_MATH2(name) \
  extern "C" double name(double, double) noexcept; extern "C" float name##f(float, float) noexcept;
// The overload for `float` of a function of `double`. A template, so that the one of <cmath> is preferred.
#define REMC_FLOAT1(name)                           \
  template <class T>                                \
    requires(__is_same(T, float))                   \
  inline T name(T x) { return ::name##f(x); }
#define REMC_FLOAT2(name)                           \
  template <class T>                                \
    requires(__is_same(T, float))                   \
  inline T name(T x, T y) { return ::name##f(x, y); }
#define REMC_ALL1(DO)                                                                                         \
  DO(acos) DO(acosh) DO(asin) DO(asinh) DO(atan) DO(atanh) DO(cbrt) DO(ceil) DO(cos) DO(cosh) DO(erf)         \
  DO(erfc) DO(exp) DO(exp10) DO(exp2) DO(expm1) DO(fabs) DO(floor) DO(lgamma) DO(log) DO(log10) DO(log1p)     \
  DO(log2) DO(logb) DO(nearbyint) DO(rint) DO(round) DO(sin) DO(sinh) DO(sqrt) DO(tan) DO(tanh) DO(tgamma)    \
  DO(trunc)
#define REMC_ALL2(DO) \
  DO(atan2) DO(copysign) DO(fdim) DO(fmax) DO(fmin) DO(fmod) DO(hypot) DO(nextafter) DO(pow) DO(remainder)
REMC_ALL1(REMC_MATH1)
REMC_ALL2(REMC_MATH2)
REMC_ALL1(REMC_FLOAT1)
REMC_ALL2(REMC_FLOAT2)
#undef REMC_ALL1
#undef REMC_ALL2
#undef REMC_FLOAT1
#undef REMC_FLOAT2
#undef REMC_MATH1
#undef REMC_MATH2
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" double frexp(double, int *) noexcept;
extern "C" float frexpf(float, int *) noexcept;
extern "C" double modf(double, double *) noexcept;
extern "C" float modff(float, float *) noexcept;
extern "C" void sincos(double, double *, double *) noexcept;
extern "C" void sincosf(float, float *, float *) noexcept;
extern "C" long lrint(double) noexcept;
extern "C" long lrintf(float) noexcept;
extern "C" long long llrint(double) noexcept;
extern "C" long long llrintf(float) noexcept;

// ---- Functions that CUDA has beside it --------------------------------------------------------------------------

template <class T> inline T rsqrt(T x) { return T(1) / sqrt(x); }
template <class T> inline float rsqrtf(T x) { return 1.0f / sqrtf(float(x)); }
template <class T> inline bool isnan(T x) { return __builtin_isnan(x); }
template <class T> inline bool isinf(T x) { return __builtin_isinf(x); }
template <class T> inline bool isfinite(T x) { return __builtin_isfinite(x); }
template <class T> inline bool signbit(T x) { return __builtin_signbit(x); }

#define REMC_MIN_MAX(T)                                     \
  inline T min(T a, T b) { return b < a ? b : a; }          \
  inline T max(T a, T b) { return a < b ? b : a; }
REMC_MIN_MAX(int)
REMC_MIN_MAX(unsigned)
REMC_MIN_MAX(long)
REMC_MIN_MAX(unsigned long)
REMC_MIN_MAX(long long)
REMC_MIN_MAX(unsigned long long)
#undef REMC_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

// One rounding, and never contracted with what stands beside it (the program is compiled so too).
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

// Float to integer as the hardware does it: beyond the range the nearest number of the type. NaN is 0, but where
// one of the two types has 64 bits it is the number with the highest bit alone.
namespace remc_emulate {
template <class To, class From>
inline To saturated(From x) {
  constexpr bool is_signed = To(-1) < To(0);
  constexpr int bits = int(sizeof(To)) * 8;
  constexpr To top = To(1ull << (bits - 1));
  if (__builtin_isnan(x)) return sizeof(To) == 8 || sizeof(From) == 8 ? top : To(0);
  const From limit = From(is_signed ? 1ull << (bits - 2) : 1ull << (bits - 1)) * From(2);
  if (x >= limit) return is_signed ? To(~(1ull << (bits - 1))) : To(~0ull);
  if (is_signed ? x < -limit : x <= From(-1)) return is_signed ? top : To(0);
  return To(x);
}
}  // namespace remc_emulate
#define REMC_CONVERT(from, From, to, To, rint_)                                                                  \
  inline To __##from##2##to##_rz(From x) { return remc_emulate::saturated<To>(x); }                              \
  inline To __##from##2##to##_rn(From x) { return remc_emulate::saturated<To>(rint_(x)); }
REMC_CONVERT(float, float, int, int, rintf)
REMC_CONVERT(float, float, uint, unsigned, rintf)
REMC_CONVERT(float, float, ll, long long, rintf)
REMC_CONVERT(float, float, ull, unsigned long long, rintf)
REMC_CONVERT(double, double, int, int, rint)
REMC_CONVERT(double, double, uint, unsigned, rint)
REMC_CONVERT(double, double, ll, long long, rint)
REMC_CONVERT(double, double, ull, unsigned long long, rint)
#undef REMC_CONVERT

// ---- Half precision ---------------------------------------------------------------------------------------------
// One sign bit, five of exponent, ten of fraction. Only conversions: arithmetic is done in `float`.

struct __half_raw {
  unsigned short x;
};
struct alignas(2) __half {
  __half() = default;
  constexpr __half(__half_raw raw) : bits(raw.x) {}
  constexpr operator __half_raw() const { return {bits}; }

 private:
  unsigned short bits;
};
using half = __half;
struct alignas(4) __half2 {
  __half x, y;
};
using half2 = __half2;

inline __half __ushort_as_half(unsigned short bits) { return __half(__half_raw{bits}); }
inline unsigned short __half_as_ushort(__half x) { return __half_raw(x).x; }

// Every half is a float.
inline float __half2float(__half x) {
  unsigned bits = __half_as_ushort(x);
  unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, fraction = bits & 0x3ffu;
  if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
  float tiny = float(fraction) * 0x1p-24f;
  return sign != 0 ? -tiny : tiny;
}

// To nearest, ties to even, in one rounding: the wanted bits of the fraction are cut off, and what was cut off
// decides. A carry out of the fraction is a carry into the exponent, up to infinity.
inline __half __double2half(double x) {
  unsigned long long bits = (unsigned long long)__double_as_longlong(x);
  unsigned sign = unsigned(bits >> 48) & 0x8000u;
  int exponent = int(bits >> 52 & 0x7ff) - 1023;
  unsigned long long fraction = bits & ((1ull << 52) - 1);
  if (exponent == 1024 && fraction != 0) return __ushort_as_half(0x7fff);
  if (exponent > 15) return __ushort_as_half((unsigned short)(sign | 0x7c00u));
  if (exponent < -25) return __ushort_as_half((unsigned short)sign);
  // Below 2^-14 the exponent is stuck, and the leading one is written out.
  bool subnormal = exponent < -14;
  int cut = subnormal ? 42 + (-14 - exponent) : 42;
  if (subnormal) fraction |= 1ull << 52;
  unsigned kept = unsigned(fraction >> cut);
  if (!subnormal) kept |= unsigned(exponent + 15) << 10;
  unsigned long long rest = fraction & ((1ull << cut) - 1), tie = 1ull << (cut - 1);
  if (rest > tie || (rest == tie && (kept & 1u) != 0)) kept += 1;
  return __ushort_as_half((unsigned short)(sign | kept));
}
inline __half __float2half_rn(float x) { return __double2half(double(x)); }
inline __half __float2half(float x) { return __double2half(double(x)); }

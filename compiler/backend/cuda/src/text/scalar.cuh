// ---- scalars: the operators of the language where C++ has another meaning, or none ----

#ifndef REMC_EMULATED
#define REMC_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#endif
#define REMC_FN [[maybe_unused]] static __host__ __device__ __forceinline__

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

namespace remc {

// Integers wrap: they are computed with as unsigned numbers, of 32 bits at least.
template <class T> struct integer;
#define REMC_INTEGER(T, U, BITS, SIGNED) \
  template <> struct integer<T> { typedef U wide; static const int bits = BITS; static const bool is_signed = SIGNED; };
REMC_INTEGER(i8, u32, 8, true)
REMC_INTEGER(i16, u32, 16, true)
REMC_INTEGER(i32, u32, 32, true)
REMC_INTEGER(i64, u64, 64, true)
REMC_INTEGER(u8, u32, 8, false)
REMC_INTEGER(u16, u32, 16, false)
REMC_INTEGER(u32, u32, 32, false)
REMC_INTEGER(u64, u64, 64, false)
#undef REMC_INTEGER

template <class T> REMC_FN bool is_negative(T a) { return integer<T>::is_signed && (i64)a < 0; }
template <class T> REMC_FN typename integer<T>::wide wide(T a) { return (typename integer<T>::wide)a; }
template <class T> REMC_FN T add(T a, T b) { return (T)(wide(a) + wide(b)); }
template <class T> REMC_FN T sub(T a, T b) { return (T)(wide(a) - wide(b)); }
template <class T> REMC_FN T mul(T a, T b) { return (T)(wide(a) * wide(b)); }
template <class T> REMC_FN T negate(T a) { return (T)(0 - wide(a)); }
template <class T> REMC_FN T abs(T a) { return is_negative(a) ? negate(a) : a; }
template <class T> REMC_FN T sign(T a) { return is_negative(a) ? (T)-1 : (T)(a != 0); }
template <class T> REMC_FN T min2(T a, T b) { return b < a ? b : a; }
template <class T> REMC_FN T max2(T a, T b) { return a < b ? b : a; }

// Rounds down, and modulo has the divisor's sign. By 0, which a check has refused, it is 0.
template <class T> REMC_FN T quotient(T a, T b) {
  if (b == 0) return 0;
  if (integer<T>::is_signed && b == (T)-1) return negate(a);
  const T q = (T)(a / b);
  return a % b != 0 && is_negative(a) != is_negative(b) ? (T)(q - 1) : q;
}
template <class T> REMC_FN T modulo(T a, T b) {
  if (b == 0 || (integer<T>::is_signed && b == (T)-1)) return 0;
  const T r = (T)(a % b);
  return r != 0 && is_negative(r) != is_negative(b) ? (T)(r + b) : r;
}

// The bits of an integer alone.
template <class T> REMC_FN u64 bits(T a) { return (u64)a & (~(u64)0 >> (64 - integer<T>::bits)); }

template <class T> REMC_FN T gcd(T x, T y) {
  u64 a = bits(abs(x)), b = bits(abs(y));
  while (b != 0) {
    const u64 r = a % b;
    a = b;
    b = r;
  }
  return (T)a;
}

// The amount is read as unsigned; past the width nothing is left.
template <class T> REMC_FN T shl(T a, T b) { return bits(b) >= integer<T>::bits ? (T)0 : (T)(wide(a) << bits(b)); }
template <class T> REMC_FN T shr(T a, T b) {
  return bits(b) >= integer<T>::bits ? (T)(is_negative(a) ? -1 : 0) : (T)(a >> bits(b));
}

template <class T> REMC_FN T popcount(T a) {
#ifdef __CUDA_ARCH__
  return (T)__popcll(bits(a));
#else
  return (T)__builtin_popcountll(bits(a));
#endif
}

// Powers by repeated squaring.
template <class T> REMC_FN T power(T base, u64 n) {
  T result = 1;
  for (; n != 0; n >>= 1) {
    if (n & 1) result = mul(result, base);
    base = mul(base, base);
  }
  return result;
}

// A float as an integer: truncates, saturates; of no number 0.
template <class T, class F> REMC_FN T saturated(F x) {
  const bool is_signed = integer<T>::is_signed;
  const u64 half = (u64)1 << (integer<T>::bits - 1);
  const F limit = (F)half * (is_signed ? (F)1 : (F)2);
  if (x != x) return 0;
  if (x >= limit) return (T)(is_signed ? half - 1 : half - 1 + half);
  if (is_signed ? x < -limit : x <= (F)0) return (T)(is_signed ? half : 0);
  return (T)x;
}

// Products that no sum takes in unrounded, and those that one does.
REMC_FN f32 mul(f32 a, f32 b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
REMC_FN f64 mul(f64 a, f64 b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
REMC_FN f32 fused(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
REMC_FN f64 fused(f64 a, f64 b, f64 c) { return fma(a, b, c); }

#define REMC_FLOAT(T, FMOD, COPYSIGN, FLOOR, FABS)                                                         \
  /* No number wins; -0 is less than 0. */                                                                 \
  REMC_FN T min2(T a, T b) {                                                                               \
    if (a != a || b != b) return a + b;                                                                    \
    return a < b || (a == b && COPYSIGN((T)1, a) < 0) ? a : b;                                             \
  }                                                                                                        \
  REMC_FN T max2(T a, T b) {                                                                               \
    if (a != a || b != b) return a + b;                                                                    \
    return a > b || (a == b && COPYSIGN((T)1, a) > 0) ? a : b;                                             \
  }                                                                                                        \
  REMC_FN T abs(T a) { return FABS(a); }                                                                   \
  REMC_FN T sign(T a) { return a != a ? a : (T)((a > 0) - (a < 0)); }                                      \
  REMC_FN T modulo(T a, T b) {                                                                             \
    T r = FMOD(a, b);                                                                                      \
    if (r == 0) return COPYSIGN((T)0, b);                                                                  \
    return (r < 0) != (b < 0) ? r + b : r;                                                                 \
  }                                                                                                        \
  REMC_FN T quotient(T a, T b) {                                                                           \
    if (b == 0) return a / b;                                                                              \
    T r = FMOD(a, b);                                                                                      \
    T q = (a - r) / b;                                                                                     \
    if (r != 0 && (r < 0) != (b < 0)) q = q - 1;                                                           \
    if (q == 0) return COPYSIGN((T)0, a / b);                                                              \
    T down = FLOOR(q);                                                                                     \
    return q - down > (T)0.5 ? down + 1 : down;                                                            \
  }
REMC_FLOAT(f32, fmodf, copysignf, floorf, fabsf)
REMC_FLOAT(f64, fmod, copysign, floor, fabs)
#undef REMC_FLOAT

#define REMC_REAL(NAME, F32, F64)                                                                          \
  REMC_FN f32 NAME(f32 x) { return F32(x); }                                                               \
  REMC_FN f64 NAME(f64 x) { return F64(x); }
REMC_REAL(sqrt, ::sqrtf, ::sqrt)
REMC_REAL(exp, ::expf, ::exp)
REMC_REAL(log, ::logf, ::log)
REMC_REAL(log2, ::log2f, ::log2)
REMC_REAL(sin, ::sinf, ::sin)
REMC_REAL(cos, ::cosf, ::cos)
REMC_REAL(tan, ::tanf, ::tan)
REMC_REAL(asin, ::asinf, ::asin)
REMC_REAL(acos, ::acosf, ::acos)
REMC_REAL(atan, ::atanf, ::atan)
REMC_REAL(sinh, ::sinhf, ::sinh)
REMC_REAL(cosh, ::coshf, ::cosh)
REMC_REAL(tanh, ::tanhf, ::tanh)
REMC_REAL(erf, ::erff, ::erf)
REMC_REAL(floor, ::floorf, ::floor)
REMC_REAL(ceiling, ::ceilf, ::ceil)
REMC_REAL(round, ::rintf, ::rint)
REMC_REAL(truncate, ::truncf, ::trunc)
#undef REMC_REAL
REMC_FN f32 atan2(f32 a, f32 b) { return ::atan2f(a, b); }
REMC_FN f64 atan2(f64 a, f64 b) { return ::atan2(a, b); }

// The number of a point without its last index, and that index in `last`; in 32 bits where they fit.
REMC_FN i64 split(i64 n, i64 d, i64 *last) {
  if ((((u64)n | (u64)d) >> 32) == 0) {
    const u32 q = (u32)n / (u32)d;
    *last = (i64)((u32)n - q * (u32)d);
    return (i64)q;
  }
  *last = n % d;
  return n / d;
}

// Powers of a float: by an integral exponent through products in f64, else the C library's.
REMC_FN f64 power(f64 base, f64 e) {
  if (e != ::trunc(e) || ::fabs(e) >= 1e30) return ::pow(base, e);
  f64 n = ::fabs(e), result = 1;
  while (n > 0) {
    f64 half = ::floor(n / 2);
    if (n - 2 * half == 1) result = mul(result, base);
    base = mul(base, base);
    n = half;
  }
  return e < 0 ? 1 / result : result;
}

// The bits of a number by which two floats of one kind are told apart.
REMC_FN f32 f32_bits(u32 bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  f32 x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
#endif
}
REMC_FN f64 f64_bits(u64 bits) {
#ifdef __CUDA_ARCH__
  return __longlong_as_double((long long)bits);
#else
  f64 x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
#endif
}

// A scalar as the 64 bits in which it is told to whoever asks why a program has stopped.
REMC_FN i64 word(bool x) { return x; }
REMC_FN i64 word(i8 x) { return x; }
REMC_FN i64 word(i16 x) { return x; }
REMC_FN i64 word(i32 x) { return x; }
REMC_FN i64 word(i64 x) { return x; }
REMC_FN i64 word(u8 x) { return x; }
REMC_FN i64 word(u16 x) { return x; }
REMC_FN i64 word(u32 x) { return x; }
REMC_FN i64 word(u64 x) { return (i64)x; }
REMC_FN i64 word(f32 x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  u32 bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}
REMC_FN i64 word(f64 x) {
#ifdef __CUDA_ARCH__
  return __double_as_longlong(x);
#else
  i64 bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}

}  // namespace remc

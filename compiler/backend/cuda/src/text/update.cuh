
// ---- updates, by any threads at once ----

// The type of the same bits that the device has an atomic operation for.
template <class T> struct remc_word;
template <> struct remc_word<i32> { using same = int; using bits = unsigned; };
template <> struct remc_word<u32> { using same = unsigned; using bits = unsigned; };
template <> struct remc_word<i64> { using same = long long; using bits = unsigned long long; };
template <> struct remc_word<u64> { using same = unsigned long long; using bits = unsigned long long; };

#define REMC_UPDATE(name, word, atomic) \
  template <class T, class V> static __device__ __forceinline__ void remc_update_##name(T *at, V value) { \
    using W = typename remc_word<T>::word; \
    atomic((W *)at, (W)(T)value); \
  }
REMC_UPDATE(add, bits, atomicAdd)
REMC_UPDATE(min2, same, atomicMin)
REMC_UPDATE(max2, same, atomicMax)
REMC_UPDATE(bit_and, bits, atomicAnd)
REMC_UPDATE(bit_or, bits, atomicOr)
REMC_UPDATE(bit_xor, bits, atomicXor)
#undef REMC_UPDATE

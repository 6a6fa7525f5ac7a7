/* The exclusive or of 3 i for all i below n. sizes: n. out: i64 []. */
#include "peer.h"

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    (void)in;
    const int64_t n = sizes[0];
    int64_t x = 0;
#pragma omp parallel for simd schedule(static) reduction(^ : x)
    for (int64_t i = 0; i < n; i++) x ^= 3 * i;
    *(int64_t *)out[0] = x;
}

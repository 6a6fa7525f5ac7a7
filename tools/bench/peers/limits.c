/* What the machine gives at most. sizes: what (0 read, 1 copy, 2 flop f32, 3 flop f64), count.
 * in: f32 [count] (read, copy). out: f32 [count or 1]. `flop` does 2 × 16 × 8 × count operations a thread
 * (half of it in f64). */
#include "peer.h"

enum { CHAINS = 8, BYTES = 64 };
typedef float floats __attribute__((vector_size(BYTES)));
typedef double doubles __attribute__((vector_size(BYTES)));

static volatile float sink;

#define FLOP(NAME, T)                                                           \
    static float NAME(int64_t count) {                                          \
        T s[CHAINS], a = (T){0} + 0.999f, b = (T){0} + 1e-3f;                    \
        for (int c = 0; c < CHAINS; c++) s[c] = (T){0} + (float)c;              \
        for (int64_t i = 0; i < count; i++)                                     \
            for (int c = 0; c < CHAINS; c++) s[c] = s[c] * a + b;               \
        for (int c = 1; c < CHAINS; c++) s[0] += s[c];                          \
        return (float)s[0][0];                                                  \
    }
FLOP(flop_f32, floats)
FLOP(flop_f64, doubles)

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t what = sizes[0], n = sizes[1];
    if (what == 0) {
        /* An or of bits: nothing but the reading costs. */
        const uint32_t *restrict xs = in[0];
        uint32_t bits = 0;
#pragma omp parallel for simd schedule(static) reduction(| : bits)
        for (int64_t i = 0; i < n; i++) bits |= xs[i];
        *(uint32_t *)out[0] = bits;
    } else if (what == 1) {
        const int64_t piece = 1 << 12;
        const float *restrict xs = in[0];
        float *restrict ys = out[0];
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < n; i += piece) {
            const int64_t here = n - i < piece ? n - i : piece;
            stream_floats(ys + i, xs + i, here / 16 * 16);
            memcpy(ys + i + here / 16 * 16, xs + i + here / 16 * 16, (size_t)(here % 16) * sizeof *ys);
        }
    } else {
#pragma omp parallel
        {
            const float x = what == 2 ? flop_f32(n) : flop_f64(n);
#pragma omp critical
            sink += x;
        }
    }
}

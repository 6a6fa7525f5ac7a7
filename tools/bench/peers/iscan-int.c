/* Prefix sums. sizes: n. in: xs i64 [n]. out: i64 [n].
 *
 * Threads take blocks that fit their second cache in turn: a block's sum, then the sum of all before it from
 * the thread that had the block before, then the block's prefix sums, so that memory is read once. */
#include "peer.h"

enum { BLOCK = 1 << 14, PIECE = 1 << 9 };

/* The prefix sums of up to PIECE elements, from `carry` on; returns the last. */
static int64_t piece(const int64_t *restrict xs, int64_t *restrict to, int64_t n, int64_t carry) {
    int64_t sum = carry;
#pragma omp simd reduction(inscan, + : sum)
    for (int64_t i = 0; i < n; i++) {
        sum += xs[i];
#pragma omp scan inclusive(sum)
        to[i] = sum;
    }
    return sum;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0];
    const int64_t *restrict xs = in[0];
    int64_t *restrict ys = out[0];
    int64_t before = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (int64_t b = 0; b < n; b += BLOCK) {
        const int64_t end = b + BLOCK < n ? b + BLOCK : n;
        int64_t sum = 0, carry;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = b; i < end; i++) sum += xs[i];
#pragma omp ordered
        {
            carry = before;
            before += sum;
        }
        for (int64_t i = b; i < end; i += PIECE) {
            if (i + PIECE <= end) {
                _Alignas(64) int64_t here[PIECE];
                carry = piece(xs + i, here, PIECE, carry);
                stream_floats((float *)(ys + i), (const float *)here, 2 * PIECE);
            } else {
                carry = piece(xs + i, ys + i, end - i, carry);
            }
        }
    }
}

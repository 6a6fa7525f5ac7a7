/* What every peer shares: one kernel is one shared library, called through three functions.
 *
 * - peer_threads(n): how many threads later calls may use.
 * - peer_alloc(bytes): memory for inputs and outputs, aligned to 2 MB and in huge pages where the system
 *   gives them, touched by the threads that will use it.
 * - peer_run(sizes, in, out): one call of the kernel, which is all that is timed. `sizes`, the arrays in
 *   `in` and those in `out` are the row's, in the order that the header of each kernel states.
 *
 * Floats follow the flags of the build: sums may be reassociated, nothing else may change.
 */
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef __AVX512F__
#include <immintrin.h>
#endif

void peer_threads(int n) { omp_set_num_threads(n); }

void *peer_alloc(int64_t bytes) {
    const size_t page = (size_t)1 << 21;
    const size_t rounded = ((size_t)bytes + page - 1) / page * page + page;
    char *p = aligned_alloc(page, rounded);
    if (!p) return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    madvise(p, rounded, MADV_HUGEPAGE);
#endif
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < (int64_t)(rounded / page); i++) memset(p + (size_t)i * page, 0, page);
    return p;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out);

/* Writes `n` floats past the caches where the processor can; `to` must be 64-byte aligned and n a multiple
 * of 16. A plain store would first read the line that it replaces. */
static inline void stream_floats(float *restrict to, const float *restrict from, int64_t n) {
#ifdef __AVX512F__
    for (int64_t i = 0; i < n; i += 16) _mm512_stream_ps(to + i, _mm512_load_ps(from + i));
#else
    memcpy(to, from, (size_t)n * sizeof *to);
#endif
}

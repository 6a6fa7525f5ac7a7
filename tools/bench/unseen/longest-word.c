/* The length of the longest word, of letters from a to z, of each line; all lines end with a line feed. in: text
 * u8 [n]. out: i64 [lines]. */
#include "rows.h"

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    static int64_t lines[MAX_THREADS + 1];
    const uint8_t *text = in[0];
    const int64_t n = sizes[0];
    int64_t *to = out[0];
#pragma omp parallel
    {
        /* A thread has the lines that end in its part of the text. */
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t from = part_of(n, t, threads), end = part_of(n, t + 1, threads);
        int64_t count = 0;
#pragma omp simd reduction(+ : count)
        for (int64_t i = from; i < end; i++) count += text[i] == '\n';
        lines[t + 1] = count;
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < threads; i++) lines[i + 1] += lines[i];
        int64_t line = lines[t], at = from;
        while (at > 0 && text[at - 1] != '\n') at--;
        for (; line < lines[t + 1]; line++) {
            const int64_t stop = (const uint8_t *)memchr(text + at, '\n', (size_t)(n - at)) - text;
            int64_t word = 0, longest = 0;
            for (; at < stop; at++) {
                /* All bits of a letter are set: where words end nobody could foresee. */
                const int64_t letter = -(int64_t)((uint8_t)(text[at] - 'a') < 26);
                word = (word + 1) & letter;
                longest = word > longest ? word : longest;
            }
            to[line] = longest;
            at = stop + 1;
        }
    }
}

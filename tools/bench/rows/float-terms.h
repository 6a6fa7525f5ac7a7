/* A kernel in double precision that is sums of terms. in: lengths [k], xs f64 [k]. out: f64 [k]. */
#include "terms.h"

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t *lengths = in[0];
    const double *xs = in[1];
    double *to = out[0];
    const Pieces pieces = pieces_of(lengths, sizes[0]);
    EACH_ROW_OF(pieces, r, end) {
        const int64_t most = most_of_short(lengths, r, end);
        if (most) {
            short_rows(xs + r, lengths + r, most, to + r);
            r += LANES - 1;
        } else if (lengths[r] <= pieces.limit) to[r] = sum_from(xs[r], 0, lengths[r]);
    }
    LARGE_ROWS_OF(pieces, r) to[r] = sum_by_all(xs[r], lengths[r]);
}

/* Rows shared out to threads without writing down where each begins: `../unseen/rows.h` does that, at a
 * cost that sums of short rows would feel. Threads take pieces of as many rows each, in turn; of a piece
 * it is known where it begins. A row much longer than a piece is large: all threads work on it together,
 * after the others.
 *
 *     const Pieces pieces = pieces_of(lengths, count);
 *     SMALL_ROWS_AT(pieces, r, at) f(xs + at, lengths[r]);
 *     LARGE_ROWS_AT(pieces, r, at) f_by_all(xs + at, lengths[r]); */
#include "../unseen/rows.h"

enum { ROW_PIECES_A_THREAD = 64 };

typedef struct {
    const int64_t *lengths, *before; /* items before each piece, and all */
    int64_t count, pieces, limit; /* a row longer than the limit is large */
    int64_t large_count, *large, *large_at;
} Pieces;

static inline int64_t first_of(const Pieces *p, int64_t piece) { return part_of(p->count, piece, p->pieces); }

/* Lists the large rows of a piece. */
static inline void note_large(Pieces *p, int64_t piece) {
    int64_t at = p->before[piece];
    for (int64_t r = first_of(p, piece); r < first_of(p, piece + 1); at += p->lengths[r++]) {
        if (p->lengths[r] <= p->limit) continue;
        p->large[p->large_count] = r;
        p->large_at[p->large_count++] = at;
    }
}

static inline Pieces pieces_of(const int64_t *lengths, int64_t count) {
    const int64_t threads = omp_get_max_threads(), pieces = ROW_PIECES_A_THREAD * threads;
    int64_t *before = scratch(0, 16 * (pieces + 1)), *longest = before + pieces + 1;
    Pieces p = {.lengths = lengths, .before = before, .count = count, .pieces = pieces};
#pragma omp parallel for schedule(static)
    for (int64_t piece = 0; piece < pieces; piece++) {
        int64_t sum = 0, most = 0;
        for (int64_t r = first_of(&p, piece); r < first_of(&p, piece + 1); r++) {
            sum += lengths[r];
            most = lengths[r] > most ? lengths[r] : most;
        }
        before[piece + 1] = sum;
        longest[piece] = most;
    }
    before[0] = 0;
    for (int64_t piece = 0; piece < pieces; piece++) before[piece + 1] += before[piece];
    /* Fewer rows than this are longer than the limit. */
    const int64_t most_large = PIECES_A_THREAD * threads;
    p.limit = before[pieces] / most_large > 64 ? before[pieces] / most_large : 64;
    p.large = scratch(3, 16 * (most_large + 1));
    p.large_at = p.large + most_large + 1;
    for (int64_t piece = 0; piece < pieces; piece++)
        if (longest[piece] > p.limit) note_large(&p, piece);
    return p;
}

/* `at` is where a row begins, `end` the first row of the next piece. What is in the loop may go on to a
 * later row, and must then add the lengths of those before it to `at`. */
#define EACH_ROW_AT(p, r, end, at)                                                                     \
    _Pragma("omp parallel for schedule(dynamic, 1)")                                                   \
    for (int64_t piece_ = 0; piece_ < (p).pieces; piece_++)                                            \
        for (int64_t r = first_of(&(p), piece_), end = first_of(&(p), piece_ + 1),                     \
                     at = (p).before[piece_]; r < end; at += (p).lengths[r++])

#define SMALL_ROWS_AT(p, r, at) EACH_ROW_AT(p, r, end_, at) if ((p).lengths[r] <= (p).limit)

#define LARGE_ROWS_AT(p, r, at)                                                                        \
    for (int64_t i_ = 0; i_ < (p).large_count; i_++)                                                   \
        for (int64_t r = (p).large[i_], at = (p).large_at[i_], once_ = 1; once_; once_ = 0)

/* For rows that lie nowhere. */
#define EACH_ROW_OF(p, r, end)                                                                         \
    _Pragma("omp parallel for schedule(dynamic, 1)")                                                   \
    for (int64_t piece_ = 0; piece_ < (p).pieces; piece_++)                                            \
        for (int64_t r = first_of(&(p), piece_), end = first_of(&(p), piece_ + 1); r < end; r++)

#define LARGE_ROWS_OF(p, r)                                                                            \
    for (int64_t i_ = 0, r = (p).large[0]; i_ < (p).large_count; r = (p).large[++i_])

//! The mutants: kernels with one thing wrong, and printed texts with one thing wrong.

use crate::edit::*;
use remc_kernel::ir::*;

pub enum How {
    /// A change of the kernels; says whether there was something to change.
    Kernels(fn(&mut Program) -> bool),
    /// A change of the text: the `n`-th occurrence of some words, behind the first one of others, becomes
    /// other words.
    Text { behind: &'static str, find: &'static str, n: usize, with: &'static str },
}
use How::{Kernels, Text};

pub struct Mutant {
    pub subject: &'static str,
    pub about: &'static str,
    pub how: How,
}

const fn kernels(subject: &'static str, about: &'static str, change: fn(&mut Program) -> bool) -> Mutant {
    Mutant { subject, about, how: Kernels(change) }
}

const fn text(
    subject: &'static str,
    about: &'static str,
    (behind, find, n): (&'static str, &'static str, usize),
    with: &'static str,
) -> Mutant {
    Mutant { subject, about, how: Text { behind, find, n, with } }
}

impl How {
    pub fn text(&self, printed: &str) -> Option<String> {
        let Text { behind, find, n, with } = self else { return None };
        let from = printed.find(behind)? + behind.len();
        let (at, _) = printed[from..].match_indices(find).nth(*n)?;
        let at = from + at;
        Some(format!("{}{with}{}", &printed[..at], &printed[at + find.len()..]))
    }
}

const SYNC: &str = "__syncthreads();";
const WARP: &str = "__syncwarp();";
const REDUCE: &str = " remc_reduce(T item";
const SCAN: &str = "\nstatic __device__ __forceinline__ T remc_scan(T item";
const AWAIT: &str = " bool remc_await(";
const COUNT: &str = " remc_count(const bool";
const PASS: &str = " void remc_pass(";

pub const MUTANTS: &[Mutant] = &[
    // ---- a scan ----
    kernels("scan", "no barrier after the tile is brought in", |p| drop_barrier(p, "scan", 0)),
    kernels("scan", "no barrier before the tile is written", |p| drop_barrier(p, "scan", 1)),
    kernels("scan", "each thread brings in the whole tile", |p| range(p, "scan", (is_share, 0), whole)),
    kernels("scan", "each thread writes the whole tile", |p| range(p, "scan", (is_share, 1), whole)),
    kernels("scan", "the tile that is brought in is one smaller", |p| {
        range(p, "scan", (is_share, 0), |r| resized(r, -1))
    }),
    kernels("scan", "the tile that is written is one larger", |p| {
        range(p, "scan", (is_share, 1), |r| resized(r, 1))
    }),
    kernels("scan", "a thread's second run is one longer", |p| {
        range(p, "scan", (is_tile, 0), |r| resized(r, 1))
    }),
    kernels("scan", "a thread's second run is one shorter", |p| {
        range(p, "scan", (is_tile, 0), |r| resized(r, -1))
    }),
    kernels("scan", "the tile that is written has no end", |p| range(p, "scan", (is_share, 1), unlimited)),
    kernels("scan", "128 threads, at one of two loops", |p| {
        range(p, "scan", (is_share, 1), |r| stepped(r, 128))
    }),
    kernels("scan", "512 threads, at one of two loops", |p| {
        range(p, "scan", (is_share, 1), |r| stepped(r, 512))
    }),
    kernels("scan", "the collective's operands are swapped", |p| {
        collective(p, "scan", |_, all| all.iter_mut().for_each(|j| std::mem::swap(&mut j.x, &mut j.y)))
    }),
    kernels("scan", "the total in place of what comes before", |p| {
        collective(p, "scan", |_, all| {
            for j in all {
                j.before = j.before.replace(j.total).inspect(|b| j.total = *b);
            }
        })
    }),
    kernels("scan", "one thread less has an item", |p| miscount(p, "scan", -1)),
    kernels("scan", "one thread more has an item", |p| miscount(p, "scan", 1)),
    kernels("scan", "the chain's item is a thread's, not the block's", |p| {
        chain(p, "scan", |links, items| links.iter_mut().zip(items).for_each(|(l, i)| l.item = *i))
    }),
    kernels("scan", "the chain's operands are swapped", |p| {
        chain(p, "scan", |links, _| links.iter_mut().for_each(|l| std::mem::swap(&mut l.before, &mut l.x)))
    }),
    kernels("scan", "the chain starts from something else", |p| {
        chain(p, "scan", |links, _| links[0].init = Atom::int(2))
    }),
    kernels("scan", "two of the chain's values change places", |p| {
        chain(p, "scan", |links, _| {
            let first = links[0].item;
            links[0].item = std::mem::replace(&mut links[1].item, first);
        })
    }),
    kernels("scan", "what is brought in lies one place further", |p| {
        shift_store(p, "scan", Space::Shared, 0)
    }),
    kernels("scan", "a result is written one place further", |p| shift_store(p, "scan", Space::Global, 0)),
    kernels("scan", "an element is read one place further", |p| shift_load(p, "scan", Space::Shared)),
    text("scan", "remc_scan: no barrier before warps' parts are read", (SCAN, SYNC, 1), ""),
    text("scan", "remc_scan: no barrier before the parts are used", (SCAN, SYNC, 2), ""),
    text("scan", "remc_scan: no barrier of the warp", (SCAN, WARP, 0), ""),
    text(
        "scan",
        "remc_scan: a shuffle from one lane further",
        (SCAN, "remc_shuffled(item, d, true)", 0),
        "remc_shuffled(item, d + 1, true)",
    ),
    text(
        "scan",
        "remc_scan: a shuffle the other way",
        (SCAN, "remc_shuffled(item, 1, true)", 0),
        "remc_shuffled(item, 1, false)",
    ),
    text(
        "scan",
        "remc_scan: the first lane combines, too",
        (SCAN, "if (lane >= d &&", 0),
        "if (lane >= d - 1 &&",
    ),
    text(
        "scan",
        "remc_scan: operands are swapped among warps",
        (SCAN, "combine(last, item)", 1),
        "combine(item, last)",
    ),
    text(
        "scan",
        "remc_scan: the parts of a warp too many",
        (SCAN, "parts[warps > 0 ? warps - 1 : 0]", 0),
        "parts[warps]",
    ),
    text("scan", "a part of a mask", ("", "__shfl_up_sync(~0u", 0), "__shfl_up_sync(0xffffu"),
    text("scan", "no barrier after a block has its number", ("remc_taken = atomicAdd", SYNC, 0), ""),
    text(
        "scan",
        "a block does not say that it has passed its values",
        (PASS, "*(volatile i64 *)state = ", 0),
        "(void)",
    ),
    text(
        "scan",
        "no barrier before what a block was handed is read",
        ("remc_pass(&state[here], 2);", SYNC, 0),
        "",
    ),
    text(
        "groups",
        "a group does not say that it is done",
        ("__shared__ bool go", "remc_pass(&state[here], 2);", 0),
        ";",
    ),
    text(
        "groups",
        "the next group takes what its own first block has",
        ("__shared__ bool go", "kept[here - place - 1]", 0),
        "kept[here - place]",
    ),
    text("groups", "a block does not look whether it has to wait", (AWAIT, "while (", 0), "while (false && "),
    text(
        "groups",
        "a group combines one item too many",
        ("const i64 place", "(theirs, place,", 0),
        "(theirs, place + 1,",
    ),
    text(
        "checked",
        "remc_scan: threads without an item combine, too",
        (SCAN, "&& thread < count) item", 0),
        ") item",
    ),
    // ---- reductions ----
    kernels("sum", "each thread reduces the whole tile", |p| range(p, "reduce", (is_share, 0), whole)),
    kernels("sum", "128 threads in the loop", |p| range(p, "reduce", (is_share, 0), |r| stepped(r, 128))),
    kernels("sum", "the tile has no end", |p| range(p, "reduce", (is_share, 0), unlimited)),
    kernels("sum", "all threads store", |p| unguarded(p, "reduce", Space::Global, 0)),
    kernels("sum", "the partial result goes one place further", |p| {
        shift_store(p, "reduce", Space::Global, 0)
    }),
    kernels("sum", "an element is read one place further", |p| shift_load(p, "reduce", Space::Global)),
    kernels("sum", "one thread less has an item", |p| miscount(p, "reduce", -1)),
    kernels("product", "the collective's operands are swapped", |p| {
        collective(p, "reduce", |_, all| all.iter_mut().for_each(|j| std::mem::swap(&mut j.x, &mut j.y)))
    }),
    kernels("product", "one thread less has an item", |p| miscount(p, "reduce", -1)),
    kernels("product", "all threads have items", |p| {
        collective(p, "reduce", |count, _| *count = Atom::int(256))
    }),
    text("product", "remc_reduce: no barrier before warps' parts are read", (REDUCE, SYNC, 1), ""),
    text(
        "product",
        "remc_reduce: no barrier before the total is read",
        (REDUCE, "if (N > 32) __syncthreads();", 0),
        "",
    ),
    text("product", "remc_reduce: no barrier of the warp", (REDUCE, WARP, 0), ""),
    text(
        "product",
        "remc_reduce: a shuffle from one lane further",
        (REDUCE, "remc_shuffled(item, d, false)", 0),
        "remc_shuffled(item, d + 1, false)",
    ),
    text("product", "remc_reduce: threads without items combine", (REDUCE, " && thread + d < count", 0), ""),
    text("product", "remc_reduce: warps without items combine", (REDUCE, "lane + d < warps", 0), "true"),
    // ---- a map of a matrix ----
    kernels("map", "each thread has the whole tile", |p| range(p, "map", (is_share, 0), whole)),
    kernels("map", "128 threads in the loop", |p| range(p, "map", (is_share, 0), |r| stepped(r, 128))),
    kernels("map", "512 threads in the loop", |p| range(p, "map", (is_share, 0), |r| stepped(r, 512))),
    kernels("map", "the tile is one smaller than the grid has it", |p| {
        range(p, "map", (is_share, 0), |r| resized(r, -1))
    }),
    kernels("map", "the tile has no end", |p| range(p, "map", (is_share, 0), unlimited)),
    kernels("map", "a result is written one place further", |p| shift_store(p, "map", Space::Global, 0)),
    kernels("map", "an element is read one place further", |p| shift_load(p, "map", Space::Global)),
    // ---- a transposition ----
    kernels("transposition", "no barrier between in and out", |p| drop_barrier(p, "map", 0)),
    text(
        "transposition",
        "no barrier at the end of a block",
        ("_map(", "__syncthreads();\n  }\n}", 0),
        "\n  }\n}",
    ),
    kernels("transposition", "rows that are brought in are not the thread's alone", |p| {
        range(p, "map", (is_share, 0), whole)
    }),
    kernels("transposition", "rows that are written are not the thread's alone", |p| {
        range(p, "map", (is_share, 2), whole)
    }),
    kernels("transposition", "the square is one smaller where it is brought in", |p| {
        range(p, "map", (is_share, 1), |r| resized(r, -1))
    }),
    kernels("transposition", "the square is one larger where it is written", |p| {
        range(p, "map", (is_share, 2), |r| resized(r, 1))
    }),
    kernels("transposition", "no guard where the square is brought in", |p| {
        unguarded(p, "map", Space::Shared, 0)
    }),
    kernels("transposition", "the square that is written has no end", |p| {
        range(p, "map", (is_share, 2), unlimited)
    }),
    kernels("transposition", "an element lies one place further in shared memory", |p| {
        shift_store(p, "map", Space::Shared, 0)
    }),
    kernels("transposition", "an element is read one place further in shared memory", |p| {
        shift_load(p, "map", Space::Shared)
    }),
    // ---- a contraction ----
    kernels("contraction", "no barrier after both parts are brought in", |p| drop_barrier(p, "map", 0)),
    kernels("contraction", "no barrier before the next parts are brought in", |p| drop_barrier(p, "map", 1)),
    kernels("contraction", "each thread brings in the whole part", |p| range(p, "map", (is_share, 0), whole)),
    kernels("contraction", "the part that is brought in is one smaller", |p| {
        range(p, "map", (is_share, 0), |r| resized(r, -1))
    }),
    kernels("contraction", "an element lies one place further in shared memory", |p| {
        shift_store(p, "map", Space::Shared, 0)
    }),
    kernels("contraction", "an element is read one place further in shared memory", |p| {
        shift_load(p, "map", Space::Shared)
    }),
    // A thread's last element: its first one is always there.
    kernels("contraction", "no guard where results are written", |p| unguarded(p, "map", Space::Global, 15)),
    kernels("contraction", "a result is written one place further", |p| {
        shift_store(p, "map", Space::Global, 0)
    }),
    // ---- a filter ----
    kernels("filter", "all threads keep their items", |p| unguarded(p, "keep", Space::Global, 0)),
    kernels("filter", "one thread less is counted", |p| miscount(p, "keep", -1)),
    kernels("filter", "an item is kept one place further", |p| shift_store(p, "keep", Space::Global, 0)),
    kernels("filter", "an item is read one place further", |p| shift_load(p, "keep", Space::Global)),
    kernels("filter", "all threads say how many are kept", |p| unguarded(p, "keep", Space::Global, 4)),
    kernels("filter", "each thread moves all items of a tile", |p| range(p, "compact", (is_share, 0), whole)),
    kernels("filter", "128 threads in the loop that moves them", |p| {
        range(p, "compact", (is_share, 0), |r| stepped(r, 128))
    }),
    kernels("filter", "an item is moved one place further", |p| shift_store(p, "compact", Space::Global, 0)),
    text("filter", "remc_count: no barrier before the parts are written", (COUNT, SYNC, 0), ""),
    text("filter", "remc_count: no barrier before the parts are read", (COUNT, SYNC, 1), ""),
    text(
        "filter",
        "remc_count: the thread's own vote counts",
        (COUNT, "(1u << lane) - 1", 0),
        "(2u << lane) - 1",
    ),
    text("filter", "remc_count: the warp's own part counts", (COUNT, "if (w < warp)", 0), "if (w <= warp)"),
    // ---- a sort ----
    kernels("sort", "the first runs have no end", |p| unguarded(p, "runs", Space::Global, 7)),
    kernels("sort", "a run is written one place further", |p| shift_store(p, "runs", Space::Global, 0)),
    kernels("sort", "128 threads in the loop over runs", |p| {
        range(p, "runs", (is_share, 0), |r| stepped(r, 128))
    }),
    kernels("sort", "a thread merges one item more", |p| range(p, "merge", (is_tile, 0), |r| resized(r, 1))),
    kernels("sort", "a thread merges one item less", |p| range(p, "merge", (is_tile, 0), |r| resized(r, -1))),
    kernels("sort", "the merge has no end", |p| range(p, "merge", (is_tile, 0), unlimited)),
    kernels("sort", "a key is merged one place further", |p| shift_store(p, "merge", Space::Global, 0)),
    kernels("sort", "a number is merged one place further", |p| shift_store(p, "merge", Space::Global, 1)),
    kernels("sort", "a key is compared one place further", |p| shift_load(p, "merge", Space::Global)),
    // ---- updates, and items by their places ----
    kernels("histogram", "no barrier after the copy is cleared", |p| drop_barrier(p, "update", 0)),
    kernels("histogram", "no barrier before the copy is read", |p| drop_barrier(p, "update", 1)),
    kernels("histogram", "each thread counts the whole tile", |p| range(p, "update", (is_share, 1), whole)),
    kernels("histogram", "each thread adds the whole copy", |p| range(p, "update", (is_share, 2), whole)),
    kernels("histogram", "the copy is cleared one place further", |p| {
        shift_store(p, "update", Space::Shared, 0)
    }),
    kernels("histogram", "an item is read one place further", |p| shift_load(p, "update", Space::Global)),
    kernels("last", "the first place of an item is looked for one further", |p| {
        shift_load(p, "scatter", Space::Global)
    }),
    kernels("last", "all places have an item", |p| unguarded(p, "scatter", Space::Global, 0)),
    kernels("last", "an item goes one place further", |p| shift_store(p, "scatter", Space::Global, 0)),
    // ---- rows of groups ----
    kernels("rows", "no barrier after a tile is brought in", |p| drop_barrier(p, "block-rows", 1)),
    kernels("rows", "no barrier before a tile is written", |p| drop_barrier(p, "block-rows", 2)),
    kernels("rows", "no barrier before the next tile is brought in", |p| drop_barrier(p, "block-rows", 3)),
    kernels("rows", "no barrier between an array and who reads it", |p| drop_barrier(p, "warp-rows", 3)),
    kernels("rows", "a thread's share of a row is another's, too", |p| {
        range(p, "warp-rows", (is_share, 0), whole)
    }),
    kernels("rows", "64 threads, at one of several loops", |p| {
        range(p, "warp-rows", (is_share, 1), |r| stepped(r, 64))
    }),
    kernels("rows", "an element goes one place further", |p| shift_store(p, "warp-rows", Space::Global, 0)),
    kernels("rows", "an element is read one place further", |p| shift_load(p, "block-rows", Space::Global)),
];

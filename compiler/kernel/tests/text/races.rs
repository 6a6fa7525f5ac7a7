//! The race checker, on kernels with a race and without.

use crate::corpus::{KERNELS, kernel, numbered, parse, plans, program};
use remc_kernel::race::check;

#[test]
fn kernels_without_a_race_are_accepted() {
    for text in plans() {
        assert_eq!(check(&parse(&text)), Ok(()), "{text}");
    }
    for (grid, body) in KERNELS {
        let text = kernel(grid, body);
        assert_eq!(check(&parse(&text)), Ok(()), "{text}");
    }
}

/// More that is right, each next to a racy kernel below that it differs from by little.
#[test]
fn what_is_owned_in_other_ways_is_accepted() {
    for (grid, body) in [
        // The size of a tile is the same in all blocks when it is made of parameters.
        (
            "(%b %nb)",
            "(let (%u int) (op * %t 2) p0) (for seq %i (tile %b %u %n) () (store %ys (%i) 0.0 p0) (next) p0)
             (for seq %j (tile %b %u %m) () (let (%x float) (load %ys %j) p0) (next) p0)",
        ),
        // A tile of a tile.
        (
            "(%b %nb)",
            "(for seq %o (tile %b 16 %m) () (for (lanes 8) %i (tile %o 64 %n) ()
               (store %ys (%i) 0.0 p0) (next) p0) (next) p0)",
        ),
        // What a range has in common with a tile.
        (
            "(%b %nb)",
            "(let (%s int) (op * %b 64) p0) (let (%e int) (op + %s 64) p0) (let (%k int) (load %is %b) p0)
             (let (%f int) (op max2 %k %s) p0) (let (%t int) (op min2 %e %n) p0)
             (for (lanes 8) %i (upto %f %t) () (store %ys (%i) 0.0 p0) (next) p0)
             (for seq %j (tile %b 64 %n) () (let (%x float) (load %ys %j) p0) (next) p0)",
        ),
        // An index that is a copy.
        ("(%b %nb)", "(let (%c int) %b p0) (let (%d int) %c p0) (store %ys (%d) 0.0 p0)"),
        // A place of a part of its own may depend on data.
        (
            "(%b %nb)",
            "(let (%k int) (load %is %b) p0) (store %as (%b %k) 0.0 p0) (let (%x float) (load %as %b 0) p0)",
        ),
        // Serial loops need not own; nor does the one block of an empty grid.
        ("", "(for seq %i (upto 0 %n) () (let (%k int) (load %is %i) p0) (store %ys (%k) 0.0 p0) (next) p0)"),
        // The number of a lane, in a part of memory that all lanes share.
        (
            "(%b %nb)",
            "(for seq %s (tile %b 4 %m) () (let (%f int) (op * %s 8) p0)
               (for (lanes 8) %i (tile %s 8 %n) () (let (%l int) (op - %i %f) p0)
                 (store %tmp (%w %l) 1.0 p0) (let (%x float) (load %tmp %w %l) p0) (store %ys (%i) %x p0)
                 (next) p0) (next) p0)",
        ),
        // One half is read, the other one written.
        (
            "",
            "(for seq %k (upto 0 %n) () (let (%p int) (op % %k 2) p0) (let (%q int) (op - 1 %p) p0)
               (for (lanes 8) %i (upto 0 %m) () (let (%x float) (load %as %p 0) p0) (store %as (%q %i) %x p0)
                 (next) p0) (next) p0)",
        ),
        // What is only read.
        (
            "(%b %nb)",
            "(for (lanes 8) %i (upto 0 %n) (((%s float) (%r float) 0.0 +)) (let (%x float) (load %xs 0) p0)
               (let (%q float) (op + %s %x) p0) (next %q) p0)",
        ),
        // Lanes that share what the loop before has written.
        (
            "(%b %nb)",
            "(for seq %k (upto 0 %m) () (store %tmp (%w %k) 1.0 p0) (next) p0)
             (for (lanes 8) %i (tile %b 64 %n) () (let (%x float) (load %tmp %w 0) p0)
               (store %ys (%i) %x p0) (next) p0)",
        ),
        // Places that threads share out by counting.
        (
            "(%b %nb) threads",
            "(for seq %r (upto 0 %m) (((%base int) (%kept int) 0)) (let (%i int) (op + %r %th) p0)
           (let (%x float) (load %xs %i) p0) (let (%c bool) (op > %x 0.0) p0) (let (%d bool) %c p0)
           (let (%one int) (op select %c 1 0) p0)
           (collective scan 256 (((%u int) (%v int) %one (%before int) (%all int))) (let (%q int) (op + %u %v) p0)
             (next %q) p0)
           (let (%at int) (op + %base %before) p0) (if %c (then (store %as (%b %at) %x p0)) (else) () p0)
           (let (%more int) (op + %base %all) p0) (next %more) p0)",
        ),
        // Updates, in any order; of a copy of the block's own, too.
        ("(%b %nb) threads", "(let (%k int) (load %iis %b 0) p0) (update + %is (%k) 1 p0) (update + %is (0) 1 p0)"),
        (
            "(%b %nb) threads",
            "(alloc (%part shared int 256) p0) (store %part (%th) 0 p0) (barrier p0)
             (let (%k int) (load %iis %b 0) p0) (update max2 %part (%k) 1 p0) (barrier p0)
             (let (%x int) (load %part %th) p0) (update max2 %is (%th) %x p0)",
        ),
        // Rows and columns that are threads, as many as there are shares.
        (
            "(%b %nb) threads",
            "(points (%i %j) %th (8 32) p0)
             (for seq %k (share %i 8 %b 32 %n) () (for seq %l (share %j 32 0 64 %m) () (store %as (%k %l) 1.0 p0)
               (next) p0) (next) p0)",
        ),
        // Private memory, a place for each lane.
        (
            "(%b %nb)",
            "(alloc (%acc private float 8) p0)
             (for (lanes 8) %i (upto 0 8) () (store %acc (%i) 0.0 p0) (next) p0)",
        ),
    ] {
        let text = kernel(grid, body);
        assert_eq!(check(&parse(&text)), Ok(()), "{text}");
    }
}

/// Each with the accesses that the message shows, and the variable that does not own.
const RACES: &[(&str, &str, &str, &[&str], &str)] = &[
    ("missing index", "(%b %nb)", "(store %ys (0) 1.0 p0)", &["`store %ys"], "%b (blocks)"),
    (
        "missing index beside another",
        "(%b %nb) (%c %mb)",
        "(store %ys (%b) 1.0 p0)",
        &["`store %ys (%b)`"],
        "%c (blocks)",
    ),
    (
        "wrong size of tile",
        "(%b %nb)",
        "(for seq %i (tile %b 64 %n) () (store %ys (%i) 1.0 p0) (next) p0)
         (for seq %j (tile %b 32 %n) () (let (%x float) (load %ys %j) p0) (next) p0)",
        &["`store %ys (%i)`", "`load %ys (%j)`"],
        "%b (blocks)",
    ),
    (
        "size of tile that differs from block to block",
        "(%b %nb)",
        "(let (%s int) (load %is %b) p0)
         (for seq %i (tile %b %s %n) () (store %ys (%i) 1.0 p0) (next) p0)",
        &["`store %ys (%i)`"],
        "%b (blocks)",
    ),
    (
        "a range that begins before the tile",
        "(%b %nb)",
        "(let (%s int) (op * %b 64) p0) (let (%e int) (op + %s 64) p0) (let (%f int) (op min2 %n %s) p0)
         (let (%t int) (op min2 %n %e) p0) (for seq %i (upto %f %t) () (store %ys (%i) 1.0 p0) (next) p0)",
        &["`store %ys (%i)`"],
        "%b (blocks)",
    ),
    (
        "a range that ends behind the tile",
        "(%b %nb)",
        "(let (%s int) (op * %b 64) p0) (let (%e int) (op + %s 65) p0) (let (%f int) (op max2 %n %s) p0)
         (let (%t int) (op min2 %n %e) p0) (for seq %i (upto %f %t) () (store %ys (%i) 1.0 p0) (next) p0)",
        &["`store %ys (%i)`"],
        "%b (blocks)",
    ),
    (
        "a range between two tiles",
        "(%b %nb)",
        "(let (%s int) (op * %b 64) p0) (let (%c int) (op + %b 1) p0) (let (%d int) (op * %c 64) p0)
         (let (%e int) (op + %d 64) p0) (let (%f int) (op max2 %n %s) p0) (let (%t int) (op min2 %n %e) p0)
         (for seq %i (upto %f %t) () (store %ys (%i) 1.0 p0) (next) p0)",
        &["`store %ys (%i)`"],
        "%b (blocks)",
    ),
    (
        "a tile's index beside the tile",
        "(%b %nb)",
        "(for seq %i (tile %b 64 %n) () (store %ys (%i) 1.0 p0) (next) p0) (store %ys (%b) 2.0 p0)",
        &["`store %ys (%i)`", "`store %ys (%b)`"],
        "%b (blocks)",
    ),
    (
        "tile of another variable",
        "(%b %nb) (%c %mb)",
        "(for seq %i (tile %c 64 %n) () (store %as (%i %c) 1.0 p0) (next) p0)",
        &["`store %as (%i %c)`"],
        "%b (blocks)",
    ),
    (
        "the number of a lane, counted from where data say",
        "(%b %nb)",
        "(for (lanes 8) %i (tile %b 8 %n) () (let (%f int) (load %is %i) p0) (let (%l int) (op - %i %f) p0)
           (store %tmp (%w %l) 1.0 p0) (next) p0)",
        &["`store %tmp (%w %l)`"],
        "%i (lanes)",
    ),
    (
        "the number of a lane beside what it is counted from",
        "(%b %nb)",
        "(for (lanes 8) %i (tile %b 8 %n) () (let (%l int) (op - %i 8) p0)
           (store %tmp (%w %l) 1.0 p0) (let (%x float) (load %tmp %w %i) p0) (next) p0)",
        &["`store %tmp (%w %l)`", "`load %tmp (%w %i)`"],
        "%i (lanes)",
    ),
    (
        "off by one",
        "(%b %nb)",
        "(for seq %i (tile %b 64 %n) () (let (%j int) (op + %i 1) p0) (store %ys (%j) 1.0 p0)
           (store %ys (%i) 1.0 p0) (next) p0)",
        &["`store %ys (%j)`", "`store %ys (%i)`"],
        "%b (blocks)",
    ),
    (
        "a neighbour's cell",
        "",
        "(for (lanes 8) %i (upto 1 %n) () (let (%j int) (op - %i 1) p0) (let (%x float) (load %ys %j) p0)
           (store %ys (%i) %x p0) (next) p0)",
        &["`store %ys (%i)`", "`load %ys (%j)`"],
        "%i (lanes)",
    ),
    (
        "a neighbour's cell in a scan",
        "",
        "(for (scan 8) %i (upto 1 %n) (((%s float) (%r float) 0.0 +)) (let (%j int) (op - %i 1) p0)
           (let (%x float) (load %ys %j) p0) (let (%q float) (op + %s %x) p0)
           (store %ys (%i) %q p0) (next %q) p0)",
        &["`store %ys (%i)`", "`load %ys (%j)`"],
        "%i (scanned iterations)",
    ),
    (
        "what blocks hand on, read beside their chain",
        "(%b %nb)",
        "(let (%x float) (load %ys %b) p0)
         (chain %is (%b) (((%p float) (%e float) 0.0 %x %ys)) (let (%q float) (op + %p %e) p0) (next %q) p0)",
        &["`load %ys (%b)`", "p0"],
        "%ys",
    ),
    (
        "what blocks hand on, written beside their chain",
        "(%b %nb)",
        "(chain %is (%b) (((%p float) (%e float) 0.0 1.0 %ys)) (let (%q float) (op + %p %e) p0) (next %q) p0)
         (store %is (%b) 0 p0)",
        &["`store %is (%b)`", "p0"],
        "%is",
    ),
    (
        "two chains of one memory",
        "(%b %nb)",
        "(chain %is (%b) (((%p float) (%e float) 0.0 1.0 %ys)) (let (%q float) (op + %p %e) p0) (next %q) p0)
         (chain %is (%b) (((%r float) (%f float) 0.0 1.0 %xs)) (let (%s float) (op + %r %f) p0) (next %s) p0)",
        &["`chain … %is", "p0"],
        "%is",
    ),
    (
        "threads that all store",
        "(%b %nb) threads",
        "(store %ys (%b) 1.0 p0)",
        &["`store %ys (%b)`"],
        "%th (threads)",
    ),
    (
        "rows that nobody says are apart",
        "(%b %nb)",
        "(for seq %i (tile %b 64 %n) () (let (%s int) (load %is %i) p0)
           (for seq %j (upto 0 %m) () (let (%k int) (op + %s %j) p0) (store %ys (%k) 1.0 p0) (next) p0)
           (next) p0)",
        &["`store %ys (%k)`"],
        "%b (blocks)",
    ),
    (
        "the row of a place that no block owns",
        "(%b %nb) rows",
        "(for seq %i (upto 0 %n) () (let (%s int) (load %is %i) p0)
           (for seq %j (upto 0 %m) () (let (%k int) (op + %s %j) p0) (store %ys (%k) 1.0 p0) (next) p0)
           (next) p0)",
        &["`store %ys (%k)`"],
        "%b (blocks)",
    ),
    (
        "the row of a number that others may have, too",
        "(%b %nb) some rows",
        "(let (%h int) (op quotient %b 2) p0) (let (%i int) (load %is %h) p0) (let (%s int) (load %is %i) p0)
         (for seq %j (share %th 32 0 %m %m) () (let (%k int) (op + %s %j) p0) (store %ys (%k) 1.0 p0) (next) p0)",
        &["`store %ys (%k)`"],
        "%b (blocks)",
    ),
    (
        "runs of a length that the iteration decides",
        "(%b %nb) some rows",
        "(let (%i int) (load %is %b) p0) (let (%s int) (load %is %i) p0)
         (for seq %q (upto 0 %m) () (let (%r int) (op + %q %i) p0)
           (for seq %j (tile %th %r %m) () (let (%k int) (op + %s %j) p0) (store %ys (%k) 1.0 p0) (next) p0)
           (next) p0)",
        &["`store %ys (%k)`"],
        "%th (threads)",
    ),
    (
        "a row that begins where a written number says",
        "(%b %nb) some rows",
        "(let (%i int) (load %is %b) p0) (let (%s int) (load %is %i) p0)
         (for seq %j (share %th 32 0 %m %m) () (let (%k int) (op + %s %j) p0) (store %ys (%k) 1.0 p0)
           (store %is (%j) 1 p0) (next) p0)",
        &["`store %ys (%k)`"],
        "%b (blocks)",
    ),
    (
        "lanes that write to a row in steps of none",
        "(%b %nb) rows",
        "(for seq %i (tile %b 64 %n) () (let (%s int) (load %is %i) p0)
           (for (lanes 8) %j (upto 0 %m) () (let (%h int) (op quotient %j 2) p0) (let (%k int) (op + %s %h) p0)
             (store %ys (%k) 1.0 p0) (next) p0) (next) p0)",
        &["`store %ys (%k)`"],
        "%j (lanes)",
    ),
    (
        "a store of another thread's share",
        "(%b %nb) threads",
        "(for seq %i (share %th 256 %b 1024 %n) () (let (%j int) (op + %i 1) p0) (store %ys (%j) 1.0 p0)
           (store %ys (%i) 1.0 p0) (next) p0)",
        &["`store %ys (%j)`", "`store %ys (%i)`"],
        "%b (blocks)",
    ),
    (
        "shares of fewer threads than there are",
        "(%b %nb) threads",
        "(for seq %i (share %th 128 %b 1024 %n) () (store %ys (%i) 1.0 p0) (next) p0)",
        &["`store %ys (%i)`"],
        "%th (threads)",
    ),
    (
        "shares of fewer rows than there are",
        "(%b %nb) threads",
        "(points (%i %j) %th (8 32) p0)
         (for seq %k (share %i 4 %b 32 %n) () (for seq %l (share %j 32 0 64 %m) () (store %as (%k %l) 1.0 p0)
           (next) p0) (next) p0)",
        &["`store %as (%k %l)`"],
        "%th (threads)",
    ),
    (
        "two threads, each of them alone",
        "(%b %nb) threads",
        "(let (%first bool) (op = %th 0) p0) (let (%last bool) (op = %th 255) p0)
         (if %first (then (store %ys (%b) 1.0 p0)) (else) () p0)
         (if %last (then (store %ys (%b) 2.0 p0)) (else) () p0)",
        &["`store %ys (%b)`"],
        "%th (threads)",
    ),
    (
        "no barrier between writing and reading",
        "(%b %nb) threads",
        "(alloc (%part shared float 256) p0)
         (for seq %i (share %th 256 0 256 256) () (store %part (%i) 1.0 p0) (next) p0)
         (for seq %j (tile %th 4 256) () (let (%x float) (load %part %j) p0) (next) p0)",
        &["`store %part (%i)`", "`load %part (%j)`"],
        "%th (threads)",
    ),
    (
        "no barrier at the end of a loop",
        "(%b %nb) threads",
        "(alloc (%part shared float 256) p0)
         (for seq %k (upto 0 %m) ()
           (for seq %i (share %th 256 0 256 256) () (store %part (%i) 1.0 p0) (next) p0)
           (barrier p0)
           (for seq %j (tile %th 4 256) () (let (%x float) (load %part %j) p0) (next) p0)
           (next) p0)",
        &["`store %part (%i)`", "`load %part (%j)`"],
        "%th (threads)",
    ),
    (
        "one thread writes what others read",
        "(%b %nb) threads",
        "(alloc (%part shared float 1) p0) (let (%one bool) (op = %th 0) p0)
         (if %one (then (store %part (0) 1.0 p0)) (else) () p0) (let (%x float) (load %part 0) p0)",
        &["`store %part (0)`"],
        "%th (threads)",
    ),
    (
        "points without one of their indices",
        "(%b %nb) threads",
        "(for seq %p (share %th 256 %b 1024 %t) () (points (%i %j) %p (%n %m) p0) (store %ys (%i) 1.0 p0)
           (next) p0)",
        &["`store %ys (%i)`"],
        "%b (blocks)",
    ),
    (
        "points of two spaces",
        "(%b %nb) threads",
        "(for seq %p (share %th 256 %b 1024 %t) () (points (%i %j) %p (%n %m) p0) (store %as (%i %j) 1.0 p0)
           (next) p0)
         (for seq %q (share %th 256 %b 1024 %t) () (points (%k %l) %q (%m %n) p0)
           (let (%x float) (load %as %k %l) p0) (next) p0)",
        &["`store %as (%i %j)`", "`load %as (%k %l)`"],
        "%b (blocks)",
    ),
    (
        "a place that data says",
        "(%b %nb)",
        "(for seq %i (tile %b 64 %n) () (let (%k int) (load %is %i) p0) (store %ys (%k) 1.0 p0) (next) p0)",
        &["`store %ys (%k)`"],
        "%b (blocks)",
    ),
    (
        "a cell shared by lanes",
        "(%b %nb)",
        "(for (lanes 8) %i (upto 0 %n) () (let (%s float) (load %ys %b) p0)
           (let (%x float) (load %xs %i) p0) (let (%q float) (op + %s %x) p0) (store %ys (%b) %q p0)
           (next) p0)",
        &["`store %ys (%b)`"],
        "%i (lanes)",
    ),
    (
        "a cell shared by jammed iterations",
        "(%b %nb)",
        "(for (jam 4) %i (upto 0 %n) () (for (lanes 8) %j (tile %b 64 %m) ()
           (let (%x float) (load %as %i %j) p0) (store %bs (%j 0) %x p0) (next) p0) (next) p0)",
        &["`store %bs (%j"],
        "%i (jammed iterations)",
    ),
    (
        "blocks that do not own what their lanes do",
        "(%b %nb)",
        "(for (lanes 8) %i (upto 0 %n) () (store %ys (%i) 1.0 p0) (next) p0)",
        &["`store %ys (%i)`"],
        "%b (blocks)",
    ),
    (
        "lanes that do not own what their block does",
        "(%b %nb)",
        "(for seq %i (tile %b 64 %n) () (for (lanes 8) %j (upto 0 %m) () (store %ys (%i) 1.0 p0) (next) p0)
           (next) p0)",
        &["`store %ys (%i)`"],
        "%j (lanes)",
    ),
    (
        "one position here, another there",
        "",
        "(for (lanes 8) %i (upto 0 %n) () (let (%x float) (load %as 0 %i) p0) (store %as (%i 0) %x p0)
           (next) p0)",
        &["`store %as (%i", "`load %as"],
        "%i (lanes)",
    ),
    (
        "a product into what it reads",
        "(%b %nb)",
        "(for (jam 4) %i (tile %b 64 %n) () (for (lanes 8) %j (upto 0 %m) ()
           (for seq %k (upto 0 %m) () (let (%x float) (load %as %i %k) p0) (next) p0)
           (store %as (%i %j) 1.0 p0) (next) p0) (next) p0)",
        &["`store %as (%i", "`load %as (%i"],
        "%j (lanes)",
    ),
    (
        "the half that is read is written",
        "",
        "(for seq %k (upto 0 %n) () (let (%p int) (op % %k 2) p0) (let (%q int) (op - 1 %p) p0)
           (for (lanes 8) %i (upto 0 %m) () (let (%x float) (load %as %p 0) p0) (let (%y float) (load %as %q %i) p0)
             (store %as (%p %i) %x p0) (next) p0) (next) p0)",
        &["`store %as (%p", "`load %as (%p"],
        "%i (lanes)",
    ),
    (
        "halves that are others in each lane",
        "",
        "(for (lanes 8) %i (upto 0 %m) () (let (%p int) (op % %i 2) p0) (let (%q int) (op - 1 %p) p0)
           (let (%x float) (load %as %p 0) p0) (store %as (%q 0) %x p0) (next) p0)",
        &["`store %as (%q"],
        "%i (lanes)",
    ),
    (
        "halves by other numbers than 0 and 1",
        "",
        "(for seq %k (upto 0 %n) () (let (%q int) (op - 2 %k) p0)
           (for (lanes 8) %i (upto 0 %m) () (let (%x float) (load %as %k 0) p0) (store %as (%q %i) %x p0)
             (next) p0) (next) p0)",
        &["`store %as (%q", "`load %as (%k"],
        "%i (lanes)",
    ),
    (
        "a place that is counted, written by all threads",
        "(%b %nb) threads",
        "(for seq %r (upto 0 %m) (((%base int) (%kept int) 0)) (let (%i int) (op + %r %th) p0)
           (let (%x float) (load %xs %i) p0) (let (%c bool) (op > %x 0.0) p0) (let (%d bool) %c p0)
           (let (%one int) (op select %c 1 0) p0)
           (collective scan 256 (((%u int) (%v int) %one (%before int) (%all int))) (let (%q int) (op + %u %v) p0)
             (next %q) p0)
           (let (%at int) (op + %base %before) p0) (store %as (%b %at) %x p0)
           (let (%more int) (op + %base %all) p0) (next %more) p0)",
        &["`store %as (%b %at)`"],
        "%th (threads)",
    ),
    (
        "a place that is counted, where another condition holds",
        "(%b %nb) threads",
        "(for seq %r (upto 0 %m) (((%base int) (%kept int) 0)) (let (%i int) (op + %r %th) p0)
           (let (%x float) (load %xs %i) p0) (let (%c bool) (op > %x 0.0) p0) (let (%d bool) (op < %x 1.0) p0)
           (let (%one int) (op select %c 1 0) p0)
           (collective scan 256 (((%u int) (%v int) %one (%before int) (%all int))) (let (%q int) (op + %u %v) p0)
             (next %q) p0)
           (let (%at int) (op + %base %before) p0) (if %d (then (store %as (%b %at) %x p0)) (else) () p0)
           (let (%more int) (op + %base %all) p0) (next %more) p0)",
        &["`store %as (%b %at)`"],
        "%th (threads)",
    ),
    (
        "a place that is counted, from another number on in each thread",
        "(%b %nb) threads",
        "(for seq %r (upto 0 %m) (((%base int) (%kept int) 0)) (let (%i int) (op + %r %th) p0)
           (let (%x float) (load %xs %i) p0) (let (%c bool) (op > %x 0.0) p0) (let (%d bool) %c p0)
           (let (%one int) (op select %c 1 0) p0)
           (collective scan 256 (((%u int) (%v int) %one (%before int) (%all int))) (let (%q int) (op + %u %v) p0)
             (next %q) p0)
           (let (%at int) (op + %th %before) p0) (if %c (then (store %as (%b %at) %x p0)) (else) () p0)
           (let (%more int) (op + %base %all) p0) (next %more) p0)",
        &["`store %as (%b %at)`"],
        "%th (threads)",
    ),
    (
        "a place that is counted in some threads",
        "(%b %nb) threads",
        "(for seq %r (upto 0 %m) (((%base int) (%kept int) 0)) (let (%i int) (op + %r %th) p0)
           (let (%x float) (load %xs %i) p0) (let (%c bool) (op > %x 0.0) p0) (let (%d bool) %c p0)
           (let (%one int) (op select %c 1 0) p0)
           (collective scan 128 (((%u int) (%v int) %one (%before int) (%all int))) (let (%q int) (op + %u %v) p0)
             (next %q) p0)
           (let (%at int) (op + %base %before) p0) (if %c (then (store %as (%b %at) %x p0)) (else) () p0)
           (let (%more int) (op + %base %all) p0) (next %more) p0)",
        &["`store %as (%b %at)`"],
        "%th (threads)",
    ),
    (
        "updates by two operators",
        "(%b %nb) threads",
        "(update + %is (0) 1 p0) (update max2 %is (0) 1 p0)",
        &["`update %is (0)`"],
        "%b (blocks)",
    ),
    (
        "an update of what others read",
        "(%b %nb) threads",
        "(let (%k int) (load %is %th) p0) (update + %is (0) %k p0)",
        &["`update %is (0)`", "`load %is (%th)`"],
        "%b (blocks)",
    ),
    (
        "an update of what is not yet clear",
        "(%b %nb) threads",
        "(alloc (%part shared int 256) p0) (store %part (%th) 0 p0) (update + %part (0) 1 p0)",
        &["`update %part (0)`", "`store %part (%th)`"],
        "%th (threads)",
    ),
    (
        "scratch without the worker",
        "(%b %nb)",
        "(store %tmp (%b 0) 1.0 p0)",
        &["`store %tmp (%b", "the part of the worker, `%w`"],
        "",
    ),
    (
        "another worker's part",
        "(%b %nb)",
        "(let (%v int) (op + %w 1) p0) (let (%x float) (load %tmp %v 0) p0)",
        &["`load %tmp (%v", "the part of the worker, `%w`"],
        "",
    ),
    (
        "scratch shared by lanes",
        "(%b %nb)",
        "(for (lanes 8) %i (upto 0 %n) () (store %tmp (%w 0) 1.0 p0) (next) p0)",
        &["`store %tmp (%w"],
        "%i (lanes)",
    ),
    (
        "a place for each worker is not one for each block",
        "(%b %nb)",
        "(store %ys (%w) 1.0 p0)",
        &["`store %ys (%w)`"],
        "%b (blocks)",
    ),
    (
        "private memory shared by lanes",
        "(%b %nb)",
        "(alloc (%acc private float 1) p0)
         (for (lanes 8) %i (upto 0 %n) () (store %acc (0) 1.0 p0) (next) p0)",
        &["`store %acc (0)`"],
        "%i (lanes)",
    ),
    (
        "a branch",
        "(%b %nb)",
        "(let (%c bool) (op = %b 0) p0)
         (if %c (then (store %ys (0) 1.0 p0)) (else (store %ys (%b) 1.0 p0)) () p0)",
        &["`store %ys (0)`"],
        "%b (blocks)",
    ),
    (
        "the whole read by each block",
        "(%b %nb)",
        "(for seq %i (upto 0 %n) (((%s float) (%r float) 0.0)) (let (%x float) (load %ys %i) p0)
           (let (%q float) (op + %s %x) p0) (next %q) p0)
         (store %ys (%b) %r p0)",
        &["`store %ys (%b)`", "`load %ys (%i)`"],
        "%b (blocks)",
    ),
];

/// Messages name variables with their ids, which the tables above leave out.
fn without_ids(message: &str) -> String {
    let mut out = String::new();
    let mut in_id = false;
    let mut in_var = false;
    for c in message.chars() {
        match c {
            '%' => in_var = true,
            '.' if in_var => in_id = true,
            c if in_id && c.is_ascii_digit() => {}
            c if c.is_ascii_alphanumeric() => {}
            _ => (in_var, in_id) = (false, false),
        }
        if !in_id {
            out.push(c);
        }
    }
    out
}

#[test]
fn races_are_refused() {
    assert!(RACES.len() >= 16);
    for (name, grid, body, accesses, var) in RACES {
        let text = kernel(grid, body);
        let race = check(&parse(&text)).expect_err(name);
        let message = without_ids(&race.message);
        assert!(message.starts_with("in kernel k0 \"k\", "), "{name}: {message}");
        for part in *accesses {
            let part = part.strip_suffix('`').unwrap_or(part);
            assert!(message.contains(part), "{name}: {message}");
        }
        if let Some((var, what)) = var.split_once(' ') {
            assert!(message.ends_with(&format!("owned by `{var}` {what}")), "{name}: {message}");
        }
        assert!(race.prov.0 == 0);
    }
}

#[test]
fn a_race_is_told() {
    let text = kernel("(%b %nb)", RACES[2].2);
    let race = check(&parse(&text)).unwrap_err();
    let expected = "in kernel k0 \"k\", two iterations may touch one place of `%ys` at the same time, by \
                    `store %ys (%i)` and `load %ys (%j)`: they have no index at one position that is owned \
                    by `%b` (blocks)";
    assert_eq!(without_ids(&race.to_string()), expected, "{}", numbered(&text));
}

/// Slices of one buffer may be written at once where they have no row in common, as what is before and after a
/// row has not.
#[test]
fn a_launch_gives_slices_that_are_apart() {
    let kernel = "(k0 \"two\" (from p0) (grid (%b %nb)) (worker %w)
       (params (%kn int) (%nb int) (%kx global float %kn) (%ky global float %kn))
       (body (for seq %i (tile %b 64 %kn) () (store %kx (%i) 1.0 p0) (store %ky (%i) 2.0 p0) (next) p0)))";
    let slices =
        "(let (%m int) (op + %n %n) p0) (let (%t int) (op + %n %m) p0) (alloc (%c global float %t) p0)
       (slice (%a global float %n) %c 0 p0) (slice (%d global float %m) %c %n p0)
       (slice (%e global float %n) %d 0 p0) (slice (%f global float %n) %d %n p0)
       (slice (%g global float %n) %c 1 p0) (alias (%h global float %n) %f p0)";
    for (args, wrong) in [
        ("%a %d", false),
        ("%d %a", false),
        ("%a %e", false),
        ("%f %a", false),
        ("%e %f", false),
        ("%h %e", false),
        ("%a %c", true),
        ("%d %e", true),
        ("%f %d", true),
        ("%h %f", true),
        ("%a %g", true),
        ("%g %d", true),
    ] {
        let plan = format!("{slices} (launch k0 (%n 4 {args}) p1) (give %c)");
        let result = check(&parse(&program("(%n int)", kernel, &plan)));
        assert_eq!(result.is_err(), wrong, "{args}");
    }
}

/// A kernel that reads one buffer and writes another, and plans that give it the same memory twice.
#[test]
fn a_launch_gives_no_memory_twice_to_write() {
    let kernel = "(k0 \"copy\" (from p0) (grid (%b %nb)) (worker %w)
       (params (%kn int) (%nb int) (%kx global float %kn) (%kz global float %kn) (%ky global float %kn))
       (body (for seq %i (tile %b 64 %kn) () (let (%x float) (load %kx %i) p0) (let (%z float) (load %kz %i) p0)
          (let (%s float) (op + %x %z) p0) (store %ky (%i) %s p0) (next) p0)))";
    let alloc = "(alloc (%ys global float %n) p0) (alias (%yt global float %n) %ys p0)
       (alias (%yu global float %n) %yt p0)";
    for (args, wrong) in [
        ("%n 4 %xs %xs %ys", false),
        ("%n 4 %ys %yu %xs", false),
        ("%n 4 %xs %ys %ys", true),
        ("%n 4 %yt %xs %ys", true),
        ("%n 4 %yu %xs %yt", true),
        ("%n 4 %ys %xs %yu", true),
    ] {
        let plan = format!("{alloc} (if %c (then (launch k0 ({args}) p1)) (else) () p0) (give %ys)");
        let result = check(&parse(&program("(%n int) (%c bool) (%xs global float %n)", kernel, &plan)));
        assert_eq!(result.is_err(), wrong, "{args}");
        if let Err(race) = result {
            let message = without_ids(&race.message);
            assert!(message.starts_with("the launch of kernel k0 \"copy\" gives `%k"), "{message}");
            assert!(message.contains(" and `%ky` the same memory, `%y"), "{message}");
            assert_eq!(race.prov.0, 1);
        }
    }
}

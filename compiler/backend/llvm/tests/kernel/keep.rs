//! Loops that keep some of their items give what plain Rust keeps.

use crate::lanes::{args, program_of};
use crate::runtime::*;
use remc_base::BaseTy;
use remc_llvm::Pipeline;

/// An item of consecutive places and one of places that are read, in two arrays; what is behind the items kept is
/// filled up, so that all of both arrays is known.
#[test]
fn items_of_every_type() {
    for ty in BaseTy::ALL {
        let p = program_of(
            ty.name(),
            "(for seq %q (upto 0 %m) () (for seq %j (upto 0 %n) () (let (%x TY) (load %as %q %j) p0)
               (store %cs (%q %j) %x p0) (next) p0) (next) p0)
             (for seq %i (upto 0 %n) (((%k int) (%r int) 0))
               (let (%x TY) (load %xs %i) p0) (let (%g int) (load %is %i) p0) (let (%y TY) (load %xs %g) p0)
               (let (%c bool) (op < %g %m) p0) (let (%more int) (op + %k 1) p0)
               (if %c (then (store %ys (%k) %x p0) (store %cs (0 %k) %y p0)) (else) (((%next int) %more %k)) p0)
               (next %next) p0)
             (for seq %j (upto %r %n) () (let (%x TY) (load %xs %j) p0) (store %ys (%j) %x p0)
               (let (%some bool) (op > %m 0) p0)
               (if %some (then (store %cs (0 %j) %x p0)) (else) () p0) (next) p0)",
        );
        for host in hosts() {
            let machine = Machine::on(&host, &p, Pipeline::default());
            for n in [0, 1, 2, 7, 8, 9, 16, 31, 64, 200] {
                for m in [0, 1, n / 3, n] {
                    let args = args(ty, m, n);
                    let Arg::Array(xs) = &args[2] else { panic!("an array") };
                    let places: Vec<usize> = (0..n as usize).collect();
                    let at = |i: usize| i * 7 % n as usize;
                    let kept: Vec<usize> = places.iter().copied().filter(|i| (at(*i) as i64) < m).collect();
                    let rest = &places[kept.len()..];
                    let outs = machine.run(&args).unwrap();
                    let ys: Vec<_> = kept.iter().chain(rest).map(|i| xs[*i].to_bits64()).collect();
                    let found: Vec<_> = outs[0].elements.iter().map(|x| x.to_bits64()).collect();
                    assert_eq!(found, ys, "{ty} n={n} m={m}");
                    if m > 0 {
                        let own = kept.iter().map(|i| at(*i)).chain(rest.iter().copied());
                        let cs: Vec<_> = own.map(|i| xs[i].to_bits64()).collect();
                        let row = outs[1].elements.iter().take(n as usize).map(|x| x.to_bits64());
                        assert_eq!(row.collect::<Vec<_>>(), cs, "{ty} n={n} m={m}");
                    }
                }
            }
        }
    }
}

/// Of several iterations that fail a check the first one is told, as in a loop of one at a time.
#[test]
fn the_first_failing_check_is_told() {
    let p = program_of(
        "int",
        "(for seq %i (upto 0 %n) (((%k int) (%r int) 0))
           (let (%x int) (load %xs %i) p0) (let (%d bool) (op < %x 100) p0) (let (%j int) (op + %i 1000) p0)
           (check (subarray 1 1) %d %x %j %m p0) (let (%c bool) (op > %x 3) p0) (let (%more int) (op + %k 1) p0)
           (if %c (then (store %ys (%k) %x p0)) (else) (((%next int) %more %k)) p0)
           (next %next) p0)",
    );
    let machine = Machine::new(&p);
    for bad in [0, 3, 8, 40] {
        let xs = (0..64).map(|i| if i >= bad && (i - bad) % 3 == 0 { 100 + i } else { i % 7 });
        let args = [int(1), int(64), ints(xs), ints(vec![0; 64]), ints(vec![0; 64])];
        let stopped = machine.run(&args).unwrap_err().expect("what stopped");
        assert_eq!(stopped.values[..2], [100 + bad, 1000 + bad]);
    }
}

/// The loop runs in lanes: without that the results above would be right, and late.
#[test]
fn they_run_in_lanes() {
    let p = program_of(
        "int",
        "(for seq %i (upto 0 %n) (((%k int) (%r int) 0))
           (let (%x int) (load %xs %i) p0) (let (%c bool) (op > %x 3) p0) (let (%more int) (op + %k 1) p0)
           (if %c (then (store %ys (%k) %x p0)) (else) (((%next int) %more %k)) p0)
           (next %next) p0)",
    );
    for host in processors() {
        let text = remc_llvm::llvm_ir(&p, &host, None).unwrap();
        let compresses = host.vector_bits == 512 && cfg!(target_arch = "x86_64");
        assert!(text.contains("llvm.ctpop"), "{text}");
        assert_eq!(text.contains("mask.compress"), compresses, "{text}");
    }
}

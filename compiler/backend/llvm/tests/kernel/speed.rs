//! How fast; run by hand: `cargo test -p remc-llvm --test kernel speed -- --ignored --nocapture`.

use crate::runtime::*;
use remc_kernel::ir::Program;
use remc_llvm::{Pipeline, assembly, compile, jit};

fn matmul(jam: u32, lanes: u32) -> Program {
    let k = kernel(
        0,
        "(%c %cb) (%r %rb)",
        "%w",
        "(%n int) (%rb int) (%cb int) (%as global f32 %n %n) (%bs global f32 %n %n) (%cs global f32 %n %n)",
        &format!(
            "(for (jam {jam}) %i (tile %r 64 %n) () (for (lanes {lanes}) %j (tile %c 64 %n) ()
               (for seq %l (upto 0 %n) (((%s f32) (%t f32) -0.0f32 +))
                 (let (%a f32) (load %as %i %l) p0) (let (%b f32) (load %bs %l %j) p0)
                 (let (%p f32) (op * %a %b) p0) (let (%q f32) (op + %s %p) p0) (next %q) p0)
               (store %cs (%i %j) %t p0) (next) p0) (next) p0)"
        ),
    );
    program(
        "(%m int) (%us global f32 %m %m) (%vs global f32 %m %m)",
        &k,
        "(let (%mr int) (op + %m 63) p0) (let (%mt int) (op quotient %mr 64) p0) (alloc (%ws global f32 %m %m) p0)
         (launch k0 (%m %mt %mt %us %vs %ws) p0) (give %ws)",
    )
}

/// Over an array of `n` numbers in tiles: a map, a sum, a sum of squares, a row sum.
fn stream(ty: &str, lanes: u32, body: &str, result: &str) -> Program {
    let k = kernel(
        0,
        "(%b %nb)",
        "%w",
        &format!("(%n int) (%nb int) (%xs global {ty} %n) (%ys global {ty} {result})"),
        &body.replace("TY", ty).replace('W', &lanes.to_string()),
    );
    let out = if result == "%nb" { "%mt" } else { "%m" };
    program(
        &format!("(%m int) (%us global {ty} %m)"),
        &k,
        &format!(
            "(let (%mr int) (op + %m 32767) p0) (let (%mt int) (op quotient %mr 32768) p0)
             (alloc (%ws global {ty} {out}) p0) (launch k0 (%m %mt %us %ws) p0) (give %ws)"
        ),
    )
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    for (jam, lanes) in [(1, 16), (1, 64), (4, 16), (4, 32), (4, 64), (6, 64), (8, 32)] {
        let p = matmul(jam, lanes);
        let n = 1024i64;
        let m = Machine::new(&p);
        let x = |k: i64| floats((0..n * n).map(|i| ((i * k) % 17) as f32 - 8.0));
        let best = m.best(&[int(n), x(3), x(5)], 5);
        let start = cpu_seconds();
        (0..5).for_each(|_| drop(compile(&p, &jit::host(), Pipeline::default()).unwrap()));
        let compiling = (cpu_seconds() - start) / 5.0 * 1e3;
        println!(
            "matmul jam {jam} lanes {lanes}: {:.1} GFLOP/s; compiled in {compiling:.1} ms",
            2e-9 * (n * n * n) as f64 / best
        );
    }
    let sum = "(for (lanes W) %i (tile %b 32768 %n) (((%s TY) (%r TY) ZERO +)) (let (%x TY) (load %xs %i) p0)
        (let (%q TY) (op + %s %x) p0) (next %q) p0) (store %ys (%b) %r p0)";
    let map = "(for (lanes W) %i (tile %b 32768 %n) () (let (%x TY) (load %xs %i) p0)
        (let (%q TY) (op + %x %x) p0) (store %ys (%i) %q p0) (next) p0)";
    let xor =
        "(for (lanes W) %i (tile %b 32768 %n) (((%s TY) (%r TY) 0 bit-xor)) (let (%x TY) (op * %i 3) p0)
        (let (%q TY) (op bit-xor %s %x) p0) (next %q) p0) (store %ys (%b) %r p0)";
    let n = 1 << 24;
    for (name, ty, lanes, body, result) in [
        ("sum", "f32", 64, sum.replace("ZERO", "-0.0f32"), "%nb"),
        ("sum", "float", 32, sum.replace("ZERO", "-0.0"), "%nb"),
        ("map", "f32", 16, map.to_string(), "%n"),
        ("xor iota", "int", 32, xor.to_string(), "%nb"),
        ("xor iota", "int", 8, xor.to_string(), "%nb"),
    ] {
        let p = stream(ty, lanes, &body, result);
        let xs = (0..n).map(|i| (i % 19) as f64);
        let xs = match ty {
            "int" => ints((0..n).map(|i| i % 19)),
            "f32" => floats(xs.map(|x| x as f32)),
            _ => Arg::Array(xs.map(remc_base::Scalar::F64).collect()),
        };
        let best = Machine::new(&p).best(&[int(n), xs], 5);
        println!("{name} {ty} lanes {lanes}: {:.2} G elements/s", 1e-9 * n as f64 / best);
    }
    if let Ok(path) = std::env::var("ASSEMBLY") {
        std::fs::write(path, assembly(&matmul(4, 64), &jit::host(), Pipeline::default()).unwrap()).unwrap();
    }
}

#[test]
#[ignore = "a measurement"]
fn speed_of_scans() {
    let text = |how: &str, op: &str, value: &str| {
        format!(
            "(for {how} %i (upto 0 %n) (((%s TY) (%r TY) ZERO {op})) (let (%x TY) (load %xs %i) p0)
               (let (%q TY) (op {op} %s %x) p0) (store %ys (%i) {value} p0) (next %q) p0)"
        )
    };
    for n in [1i64 << 12, 1 << 24] {
        for (ty, zero) in [
            ("f32", "-0.0f32"),
            ("float", "-0.0"),
            ("i32", "0i32"),
            ("int", "0"),
            ("i16", "0i16"),
            ("i8", "0i8"),
        ] {
            let ws = match ty {
                "i8" => vec![16, 32, 64, 128],
                "i16" => vec![8, 16, 32, 64],
                "int" | "float" => vec![4, 8, 16, 32],
                _ => vec![8, 16, 32, 64],
            };
            let hows = std::iter::once("seq".to_owned()).chain(ws.into_iter().map(|w| format!("(scan {w})")));
            for how in hows {
                for value in ["%q", "%s"] {
                    let body = text(&how, "+", value).replace("ZERO", zero);
                    // Short arrays are run over again and again.
                    let again = ((1 << 24) / n).min(256);
                    let body = format!("(for seq %z (upto 0 {again}) () {body} (next) p0)");
                    let p = crate::lanes::program_of(ty, &body);
                    let base = p.buffer_ty(p.params[2]).expect("a buffer").base;
                    let xs = Arg::Array((0..n).map(|i| crate::stmts::sample(base, i % 19)).collect());
                    let args = [int(0), int(n), xs, ints([]), Arg::Array(Vec::new())];
                    let best = Machine::new(&p).best(&args, 4);
                    let rate = 1e-9 * (n * again) as f64 / best;
                    println!(
                        "{n} {ty} {how} {value}: {rate:.2} G elements/s, {:.3} ms",
                        best * 1e3 / again as f64
                    );
                }
            }
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn speed_of_transpositions() {
    let n = 4096i64;
    for (ty, bytes) in [("f32", 4), ("float", 8)] {
        let k = 64 / bytes;
        let text = format!(
            "(for (jam {k}) %i (tile %r R %n) () (for (lanes {k}) %j (tile %b B %m) ()
               (let (%x TY) (load %xs %j %i) p0) (store %ys (%i %j) %x p0) (next) p0) (next) p0)"
        );
        for order in ["(%r %nb) (%b %mb)", "(%b %mb) (%r %nb)"] {
            for (r, b) in [(16, 64), (32, 64), (64, 64), (16, 4096), (512, 64)] {
                let body = text.replace('R', &r.to_string()).replace('B', &b.to_string());
                let p = crate::transpose::transposition(ty, order, (r, b), &body);
                let base = p.buffer_ty(p.params[2]).expect("a buffer").base;
                let xs = Arg::Array((0..n * n).map(|i| crate::stmts::sample(base, i % 19)).collect());
                let best = Machine::new(&p).best(&[int(n), int(n), xs], 4);
                println!("{ty} {order} {r}x{b}: {:.2} ms", best * 1e3);
            }
        }
    }
}

//! The emulator itself: the programs of `testsuite/cuda/emulate/tests/`, compiled and run.
//!
//! Without a C++ compiler nothing is tested, and each test says so.

use remc_emulate::{BROKEN, Emulator, Options, Order};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Where programs and the runtime go.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn emulator() -> Option<&'static Emulator> {
    static EMULATOR: OnceLock<Option<Emulator>> = OnceLock::new();
    EMULATOR
        .get_or_init(|| match Emulator::new(folder()) {
            Ok(emulator) => Some(emulator),
            Err(none) => {
                eprintln!("left out: {none}");
                None
            }
        })
        .as_ref()
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testsuite/cuda/emulate/tests")
}

/// A program of the folder, compiled; `label` keeps tests that compile the same one apart.
struct Program {
    emulator: &'static Emulator,
    path: PathBuf,
}

impl Program {
    fn new(name: &str, label: &str, options: Options) -> Option<Program> {
        let emulator = emulator()?;
        let path = folder().join(format!("{name}-{label}"));
        emulator.compile(&sources().join(format!("{name}.cu")), &path, options).unwrap();
        Some(Program { emulator, path })
    }

    fn command(&self, order: Order, arguments: &[&str]) -> Command {
        let mut command = self.emulator.command(&self.path, order);
        command.args(arguments);
        command
    }

    /// Checks that it ends well and prints this line.
    fn prints(&self, order: Order, arguments: &[&str], line: &str) {
        let output = self.command(order, arguments).output().unwrap();
        let found = (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned());
        assert_eq!(found, (Some(0), format!("{line}\n")), "{order} {arguments:?}: {}", errors(&output));
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that a program ends with one sentence, and that it has these words in it.
fn breaks(mut command: Command, words: &str) {
    let output = command.output().unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(BROKEN), "{command:?}: {said}");
    assert!(said.contains(words), "{words:?} is not in {said:?}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Every order, and every number of OS threads that matters.
fn right_in_every_order(name: &str, line: &str) {
    let Some(program) = Program::new(name, "plain", Options::default()) else { return };
    for order in [Order::Forward, Order::Reverse, Order::Random(1), Order::Random(2)] {
        program.prints(order, &[], line);
    }
    for threads in ["1", "5"] {
        let output =
            program.command(Order::Forward, &[]).env("REMC_EMULATE_THREADS", threads).output().unwrap();
        assert!(output.status.success(), "{threads} threads: {}", errors(&output));
    }
}

#[test]
fn matmul() {
    right_in_every_order("matmul", "matmul is right");
}

#[test]
fn reduce() {
    right_in_every_order("reduce", "reduce is right");
}

#[test]
fn scan() {
    right_in_every_order("scan", "scan is right");
}

#[test]
fn transpose_histogram_lock_halves_numbers() {
    right_in_every_order("misc", "misc is right");
}

#[test]
fn under_sanitizers() {
    let options = Options { sanitize: true, ..Options::default() };
    let Some(scan) = Program::new("scan", "sanitize", options) else { return };
    scan.prints(Order::Forward, &["20000"], "scan is right");
    scan.prints(Order::Reverse, &["20000"], "scan is right");
    let Some(broken) = Program::new("broken", "sanitize", options) else { return };
    let says = |what: &str, words: &str| {
        let output = broken.command(Order::Forward, &[what]).output().unwrap();
        assert_eq!(output.status.code(), Some(BROKEN), "{}", errors(&output));
        assert!(errors(&output).contains(words), "{}", errors(&output));
    };
    says("past_the_end", "AddressSanitizer: use-after-poison");
    says("past_dynamic_shared", "AddressSanitizer: use-after-poison");
    says("wild", "store to null pointer");
    says("other_barrier", "barrier divergence");
}

#[test]
fn what_must_not_happen_is_said() {
    let Some(program) = Program::new("broken", "plain", Options::default()) else { return };
    let says = |what: &str, words: &str| breaks(program.command(Order::Forward, &[what]), words);
    says(
        "ended_at_barrier",
        "kernel ended_at_barrier, block 0, thread 70: barrier divergence: it ended, while thread 0 waits at \
         __syncthreads of line 7",
    );
    says(
        "other_barrier",
        "thread 1: barrier divergence: it waits at __syncthreads of line 15, but thread 0 at",
    );
    says("mask_of_ended", "thread 5: it ended, while thread 0 waits for it in a shuffle of line 22");
    says("mask_elsewhere", "names thread 0, which waits in a shuffle of line 27 (mask 0xffffffff)");
    says("mask_at_barrier", "a vote of line 36: its mask 0xffffffff names thread 0, which waits at __sync");
    says("mask_without_self", "its mask 0xfffffffe leaves out the calling thread");
    says("mask_beyond_block", "names thread 40, which the block does not have");
    says("circle", "deadlock: no thread of the block can go on; thread 0 in __syncwarp of line 45");
    says("trapped", "kernel trapped, block 1, thread 3: line 52: __trap()");
    says("assumed", "thread 100: line 56: __builtin_assume(threadIdx.x < 100) does not hold");
    says("past_the_end", "device memory of 512 bytes was written to 0 bytes after its end");
    says(
        "past_dynamic_shared",
        "block 0: dynamic shared memory of 32 bytes was written to 0 bytes after its end",
    );
    says("wild", "kernel wild, block 0, thread 0: an access to address");
    says("divides", "an integer division by zero");
    says("too_deep", "its stack of 131072 bytes is full");
    says("two_dimensions", "more than one dimension");
    says("copy_past_the_end", "passes the end of an allocation of 512 bytes");
    says("copy_the_wrong_way", "cudaMemcpy: its destination is not memory of the host");
    says("freed_twice", "is freed a second time");
    says("write_after_free", "was written to at byte 0 after it was freed");
    let with = |what: &str, variable: &str, value: &str, words: &str| {
        let mut command = program.command(Order::Forward, &[what]);
        command.env(variable, value);
        breaks(command, words);
    };
    with("leak", "REMC_EMULATE_LEAKS", "1", "device memory was not freed: 1 allocations, one of 512 bytes");
    with("hangs", "REMC_EMULATE_TIMEOUT", "0.2", "kernel hangs has not ended after 0.2 seconds");
    with("trapped", "REMC_EMULATE_ORDER", "sideways", "it is forward, reverse or random:SEED");
    with("trapped", "REMC_EMULATE_THREADS", "none", "it is a number of OS threads");
}

/// The value depends on who runs first, which is what the orders are for.
#[test]
fn a_dropped_barrier_shows_in_reverse() {
    let Some(program) = Program::new("broken", "order", Options::default()) else { return };
    program.prints(Order::Forward, &["dropped_barrier"], "right");
    let output = program.command(Order::Reverse, &["dropped_barrier"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "wrong\n");
}

#[test]
fn races_are_found_and_none_is_made_up() {
    let options = Options { races: true, ..Options::default() };
    let Some(program) = Program::new("races", "races", options) else { return };
    let says = |what: &str, words: &str| {
        breaks(program.command(Order::Forward, &[what]), words);
        breaks(program.command(Order::Reverse, &[what]), &words[..words.find(':').unwrap_or(words.len())]);
    };
    says("missing_barrier", "race on shared memory");
    says("overwritten_too_soon", "race on shared memory");
    says("missing_syncwarp", "race on dynamic shared memory");
    says("zeroed_too_late", "race on shared memory");
    says("blocks_overlap", "race on device memory, byte 252: a write in ");
    says("reads_past_the_end", "a read of 4 bytes at byte 512 of 512 bytes of device memory");
    says("bytes_overlap", "race on device memory");
    program.prints(Order::Forward, &["clean"], "clean");
    program.prints(Order::Random(7), &["clean"], "clean");
    for (name, line) in [("scan", "scan is right"), ("misc", "misc is right"), ("reduce", "reduce is right")]
    {
        let Some(program) = Program::new(name, "races", options) else { return };
        program.prints(Order::Forward, &[], line);
        program.prints(Order::Random(3), &[], line);
    }
}

#[test]
fn a_mistake_in_the_text_is_the_compilers_to_report() {
    let Some(emulator) = emulator() else { return };
    let source = folder().join("mistake.cu");
    // CUDA has no atomicAdd of this type either.
    std::fs::write(&source, "__global__ void k(long *p) { atomicAdd(p, 1L); }\n").unwrap();
    let message = emulator.compile(&source, &folder().join("mistake"), Options::default()).unwrap_err();
    assert!(message.contains("mistake.cu:1") && message.contains("atomicAdd"), "{message}");
    let both = Options { sanitize: true, races: true, ..Options::default() };
    assert!(emulator.compile(&source, &folder().join("mistake"), both).is_err());
}

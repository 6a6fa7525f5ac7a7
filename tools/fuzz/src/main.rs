//! `remc-fuzz`: fuzzes the reader and the checker, and checks the properties of generated programs.

use clap::{Parser, ValueEnum};
use remc_fuzz::campaign::{self, Only, Options, STACK};
use remc_fuzz::generate::{self, Grain};
use remc_fuzz::lab::{Lab, hush_panics};
use remc_fuzz::say;
use remc_fuzz::watch::Limits;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Fuzzes the reader and the checker: random bytes and tokens, changed programs of the test suite, and
/// generated well-typed programs. Nothing may panic, hang, or take all memory, and what the checker
/// accepts must verify. A failing text is made small and saved.
#[derive(Parser)]
#[command(name = "remc-fuzz", version)]
struct Cli {
    /// How long to run
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// End after so many cases
    #[arg(long, visible_alias = "count")]
    cases: Option<u64>,
    /// Where the random sequence starts; the time if absent
    #[arg(long)]
    seed: Option<u64>,
    /// Run cases of one kind alone
    #[arg(long)]
    only: Option<Only>,
    /// Which devices the differential test compares with the interpreter. The emulated one takes half a second
    /// for a program; REMC_EMULATE_ORDER and REMC_EMULATE_CHECK tell it how to run
    #[arg(long, value_delimiter = ',', default_value = "cpu", value_name = "DEVICE,…")]
    devices: Vec<Device>,
    /// Seconds of processor time that one case may take
    #[arg(long, default_value_t = 5.0)]
    limit: f64,
    /// MiB that the process may use
    #[arg(long, default_value_t = 2048)]
    memory: u64,
    /// Where failing texts are saved
    #[arg(long, default_value = "fuzz-artifacts")]
    artifacts: PathBuf,
    /// Put one file through everything, instead
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Print the text of the case with this seed, instead
    #[arg(long, value_name = "SEED")]
    show: Option<u64>,
    /// Print the generated program with this seed, with all annotations and with fewer, instead
    #[arg(long, value_name = "SEED")]
    show_generated: Option<u64>,
    /// Print the program of the differential test with this seed, with its inputs, instead
    #[arg(long, value_name = "SEED")]
    show_differential: Option<u64>,
    /// Run in this process: a crash of the process is then not reported
    #[arg(long)]
    in_process: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Device {
    /// Machine code; always asked
    Cpu,
    /// The CUDA text, without a GPU
    Emulated,
}

fn main() -> ExitCode {
    remc_fuzz::environment::outputs::write_if_asked();
    let cli = Cli::parse();
    if cli.in_process
        || cli.show_differential.is_some()
        || cli.replay.is_some()
        || cli.show.is_some()
        || cli.show_generated.is_some()
    {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || alone(&cli));
        return match thread.map(std::thread::JoinHandle::join) {
            Ok(Ok(code)) => code,
            _ => ExitCode::from(70),
        };
    }
    let seed = cli.seed.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64 >> 10)
    });
    say!("seed {seed}");
    supervise(&cli, seed)
}

/// Cases of one process, of those that run emulated: the libraries of programs are never unloaded, since each has
/// threads that wait for its next launch, and they fill a process.
const BATCH: u64 = 64;

/// Runs the cases, those that run emulated in batches; the seconds are a batch's then.
fn supervise(cli: &Cli, seed: u64) -> ExitCode {
    let (Some(cases), true) = (cli.cases, cli.devices.contains(&Device::Emulated)) else {
        return batch(cli, cli.cases, seed);
    };
    for first in (0..cases).step_by(BATCH as usize) {
        let ended = batch(cli, Some(BATCH.min(cases - first)), seed.wrapping_add(first));
        if ended != ExitCode::SUCCESS {
            return ended;
        }
    }
    ExitCode::SUCCESS
}

/// Runs cases in a process of their own, so that a crash (a stack that overflows cannot be caught)
/// is reported with its text.
fn batch(cli: &Cli, cases: Option<u64>, seed: u64) -> ExitCode {
    let running = cli.artifacts.join(format!("running-{}.remora", std::process::id()));
    let made = std::fs::create_dir_all(&cli.artifacts);
    let child = made.and_then(|()| std::env::current_exe()).and_then(|exe| {
        let mut child = Command::new(exe);
        child.arg("--in-process").args(["--seed", &seed.to_string()]);
        child.args(["--seconds", &cli.seconds.to_string(), "--limit", &cli.limit.to_string()]);
        child.args(["--memory", &cli.memory.to_string()]).arg("--artifacts").arg(&cli.artifacts);
        if let Some(cases) = cases {
            child.args(["--cases", &cases.to_string()]);
        }
        if let Some(only) = cli.only.and_then(|only| only.to_possible_value()) {
            child.args(["--only", only.get_name()]);
        }
        if cli.devices.contains(&Device::Emulated) {
            child.args(["--devices", "cpu,emulated"]);
        }
        // No program comes twice.
        child.env("REMC_CACHE", "off");
        child.env("REMC_FUZZ_RUNNING", &running).status()
    });
    match child.as_ref().map(std::process::ExitStatus::code) {
        Ok(Some(0)) => ExitCode::SUCCESS,
        Ok(Some(1)) => ExitCode::FAILURE,
        _ => {
            let text = std::fs::read(&running).unwrap_or_default();
            let _ = std::fs::remove_file(&running);
            let at = campaign::save(&cli.artifacts, "crash", &text);
            say!("FAILED: the process crashed ({child:?}, seed {seed}): {at}");
            say!("0 passed, 1 failed");
            ExitCode::FAILURE
        }
    }
}

fn alone(cli: &Cli) -> ExitCode {
    if let Some(seed) = cli.show {
        let (origin, text) = campaign::case_text(seed);
        eprintln!("{origin:?}");
        return match std::io::stdout().write_all(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    if let Some(seed) = cli.show_differential {
        say!("{}", remc_fuzz::differential::program_of(seed).with_inputs().trim_end());
        return ExitCode::SUCCESS;
    }
    if let Some(seed) = cli.show_generated {
        let program = generate::program(seed, 24);
        for grain in Grain::ALL {
            say!("; {grain:?}: {}\n{}", program.ty(), program.text(grain));
        }
        let some = generate::Annotations::random(program.places(), seed);
        say!("; some left out: {}\n{}", program.ty(), program.text_with(&some));
        return ExitCode::SUCCESS;
    }
    if let Some(path) = &cli.replay {
        hush_panics();
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(e) => {
                eprintln!("{}: {e}", path.display());
                return ExitCode::FAILURE;
            }
        };
        return match Lab::default().examine(&text, 0) {
            Ok(verdict) => {
                say!("{verdict:?}");
                ExitCode::SUCCESS
            }
            Err(fault) => {
                say!("{:?}: {}", fault.kind, fault.message);
                ExitCode::FAILURE
            }
        };
    }
    let summary = campaign::run(&Options {
        only: cli.only,
        seconds: cli.seconds,
        cases: cli.cases,
        seed: cli.seed.unwrap_or(1),
        limits: Limits { time: Duration::from_secs_f64(cli.limit.clamp(0.1, 1e6)), memory: cli.memory },
        emulated: cli.devices.contains(&Device::Emulated),
        artifacts: cli.artifacts.clone(),
        running: std::env::var_os("REMC_FUZZ_RUNNING").map(PathBuf::from),
    });
    for (verdict, n) in &summary.verdicts {
        say!("{n} {verdict}");
    }
    say!("{} of the passed were accepted by the checker", summary.accepted);
    say!("{} passed, {} failed", summary.passed, summary.failed);
    if summary.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! A run of the fuzzer: cases until the time is up, failures minimised, saved and counted.

use crate::corpus::Corpus;
use crate::differential;
use crate::environment;
use crate::generate;
use crate::lab::{Fault, FaultKind, Lab, Verdict, guarded, hush_panics};
use crate::layout;
use crate::minimise::minimise;
use crate::mutate::{self, Origin};
use crate::properties;
use crate::rng::Rng;
use crate::stress;
use crate::watch::{Limits, Watch};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What a run is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Only {
    /// The hard texts
    Stress,
    /// Random and changed texts
    Texts,
    /// Generated programs
    Generated,
    /// Generated programs on the interpreter and on the cpu device
    Differential,
    /// Hostile data files, folders and interruptions
    Environment,
    /// Formatting, of texts that are laid out strangely
    Format,
}

pub struct Options {
    /// Texts and generated programs, if absent.
    pub only: Option<Only>,
    pub seconds: f64,
    /// Ends earlier after so many cases.
    pub cases: Option<u64>,
    pub seed: u64,
    pub limits: Limits,
    /// Whether the differential test asks the emulated device, too.
    pub emulated: bool,
    /// Where failing texts go.
    pub artifacts: PathBuf,
    /// The case that is running is kept there, for a crash that leaves no other trace.
    pub running: Option<PathBuf>,
}

#[derive(Clone, Default, Debug)]
pub struct Summary {
    pub passed: u64,
    pub failed: u64,
    pub accepted: u64,
    /// What came of the programs of the differential test.
    pub verdicts: std::collections::BTreeMap<String, u64>,
}

/// Stack of the thread that the cases run on: that of the command line.
pub const STACK: usize = 1 << 30;

/// How often a failure of one kind is printed.
const SHOWN: u64 = 1;

/// Runs cases until the time is up. Must be called on a thread with a large stack.
pub fn run(options: &Options) -> Summary {
    hush_panics();
    let corpus = Corpus::load(&crate::corpus::root());
    let end = Instant::now() + Duration::from_secs_f64(options.seconds.clamp(0.0, 1e6));
    let watch = Watch::start(options.limits, {
        let artifacts = options.artifacts.clone();
        let running = options.running.clone();
        let seed = options.seed;
        move |why, text| {
            let at = save(&artifacts, "limit", text);
            say!("FAILED: {why} (seed {seed}): {at}");
            say!("0 passed, 1 failed");
            if let Some(running) = &running {
                let _ = std::fs::remove_file(running);
            }
            std::process::exit(1);
        }
    });
    let mut c = Campaign {
        options,
        watch,
        lab: Lab::default(),
        devices: differential::Devices::new(options.emulated),
        place: None,
        summary: Summary::default(),
        seen: HashMap::new(),
    };

    let wanted = |kind| options.only.is_none_or(|only| only == kind);
    if wanted(Only::Stress) {
        for (name, text) in stress::texts() {
            c.case(&format!("stress: {name}"), text.as_bytes(), 0);
        }
    }
    let mut case = 0;
    while options.only != Some(Only::Stress) && Instant::now() < end && options.cases.is_none_or(|n| case < n)
    {
        // Each case has its own seed, so that one alone can be repeated.
        let seed = options.seed.wrapping_add(case);
        if options.only == Some(Only::Differential) {
            c.differential(seed);
        } else if options.only == Some(Only::Environment) {
            c.environment(seed);
        } else if options.only == Some(Only::Format) {
            c.layout(seed, &corpus);
        } else if wanted(Only::Generated) && (case % 16 == 15 || !wanted(Only::Texts)) {
            if seed.is_multiple_of(4) { c.annotations(seed) } else { c.property(seed) }
        } else {
            let mut rng = Rng::new(seed);
            let (origin, text) = mutate::text(&mut rng, &corpus);
            c.case(&format!("{origin:?}, seed {seed}"), &text, rng.next_u64());
        }
        case += 1;
    }
    c.watch.leave();
    if let Some(running) = &options.running {
        let _ = std::fs::remove_file(running);
    }
    c.summary
}

/// The text of a case, for its seed.
pub fn case_text(seed: u64) -> (Origin, Vec<u8>) {
    mutate::text(&mut Rng::new(seed), &Corpus::load(&crate::corpus::root()))
}

struct Campaign<'a> {
    options: &'a Options,
    watch: Watch,
    lab: Lab,
    devices: differential::Devices,
    /// Where the hostile files of cases lie, once there are such cases.
    place: Option<environment::Place>,
    summary: Summary,
    /// How often each kind of failure was met.
    seen: HashMap<String, u64>,
}

impl Campaign<'_> {
    fn case(&mut self, what: &str, text: &[u8], extra: u64) {
        self.enter(text);
        let result = self.lab.examine(text, extra);
        self.watch.leave();
        match result {
            Ok(verdict) => {
                self.summary.passed += 1;
                self.summary.accepted += u64::from(verdict == Verdict::Accepted);
            }
            Err(fault) => {
                self.summary.failed += 1;
                if self.count(&fault) <= SHOWN {
                    let small = self.smaller(text, extra, &fault);
                    self.report(what, &fault, &small);
                }
            }
        }
    }

    /// A generated program, with all its properties.
    fn property(&mut self, seed: u64) {
        let program = generate::program(seed, 24);
        self.enter(program.text(generate::Grain::Explicit).as_bytes());
        let result = properties::check(&program, seed);
        self.watch.leave();
        match result {
            Ok(()) => {
                self.summary.passed += 1;
                self.summary.accepted += 1;
            }
            Err(fault) => {
                self.summary.failed += 1;
                if self.count(&fault) <= SHOWN {
                    let small = generate::shrink::shrink(&program, Duration::from_secs(5), |p| {
                        self.enter(p.text(generate::Grain::Explicit).as_bytes());
                        let again = properties::check(p, seed);
                        self.watch.leave();
                        matches!(again, Err(f) if f.signature() == fault.signature())
                    });
                    let again = properties::check(&small, seed).err().unwrap_or(fault);
                    let again = properties::told(&small, seed, again);
                    let text = small.text(generate::Grain::Explicit);
                    self.report(&format!("generated, seed {seed}"), &again, text.as_bytes());
                }
            }
        }
    }

    /// A program of the differential test, which has run-time sizes: its annotations, and what `--show types` adds.
    fn annotations(&mut self, seed: u64) {
        let program = differential::program_of(seed);
        self.enter(program.text().as_bytes());
        let result = properties::between(&program.text(), seed);
        self.watch.leave();
        match result {
            Ok(fewest) => {
                self.summary.passed += 1;
                self.summary.accepted += 1;
                *self.summary.verdicts.entry(fewest.told().to_owned()).or_default() += 1;
            }
            // The generator wrote what the checker refuses.
            Err(fault) if fault.kind == FaultKind::Refused => self.summary.passed += 1,
            Err(fault) => {
                self.summary.failed += 1;
                if self.count(&fault) <= SHOWN {
                    let small = differential::shrink::shrink(&program, Duration::from_secs(10), |p| {
                        self.enter(p.text().as_bytes());
                        let again = properties::between(&p.text(), seed);
                        self.watch.leave();
                        matches!(again, Err(f) if f.signature() == fault.signature())
                    });
                    let again = properties::between(&small.text(), seed).err().unwrap_or(fault);
                    self.report(&format!("annotations, seed {seed}"), &again, small.text().as_bytes());
                }
            }
        }
    }

    /// A generated program on all devices; every eighth with several numbers of threads.
    fn differential(&mut self, seed: u64) {
        let program = differential::program_of(seed);
        let all = seed.is_multiple_of(8);
        self.enter(program.with_inputs().as_bytes());
        let result = differential::check(&program, &self.devices, all);
        self.watch.leave();
        match result {
            Ok(verdict) => {
                self.summary.passed += 1;
                use differential::Verdict;
                self.summary.accepted += u64::from(verdict != Verdict::Refused);
                *self.summary.verdicts.entry(format!("{verdict:?}")).or_default() += 1;
                if matches!(verdict, Verdict::Refused | Verdict::Limited)
                    && std::env::var_os("REMC_FUZZ_REFUSED").is_some()
                {
                    let why = differential::refused(&program, &self.devices).unwrap_or_default();
                    let first = why.lines().next().unwrap_or_default();
                    say!("{verdict:?} {seed}: {first}");
                }
            }
            Err(fault) => {
                self.summary.failed += 1;
                if self.count(&fault) <= SHOWN {
                    let small = differential::shrink::shrink(&program, Duration::from_secs(20), |p| {
                        self.enter(p.with_inputs().as_bytes());
                        let again = differential::check(p, &self.devices, all);
                        self.watch.leave();
                        matches!(again, Err(f) if f.kind == fault.kind && f.cause() == fault.cause())
                    });
                    let again = differential::check(&small, &self.devices, all).err().unwrap_or(fault);
                    let text = format!("; seed {seed}\n{}", small.with_inputs());
                    self.report(&format!("differential, seed {seed}"), &again, text.as_bytes());
                } else {
                    say!("FAILED (differential, seed {seed}): as before: {}", fault.cause());
                }
            }
        }
    }

    /// A hostile environment.
    fn environment(&mut self, seed: u64) {
        self.enter(format!("environment, seed {seed}").as_bytes());
        let place = self.place.take().unwrap_or_default();
        let result = environment::check(seed, &place);
        self.place = Some(place);
        self.watch.leave();
        match result {
            Ok(what) => {
                self.summary.passed += 1;
                *self.summary.verdicts.entry(what).or_default() += 1;
            }
            Err((fault, shown)) => {
                self.summary.failed += 1;
                if self.count(&fault) <= SHOWN {
                    self.report(&format!("environment, seed {seed}"), &fault, &shown);
                }
            }
        }
    }

    /// A text that is laid out strangely, formatted.
    fn layout(&mut self, seed: u64, corpus: &Corpus) {
        let mut rng = Rng::new(seed);
        let text = layout::text(&mut rng, corpus);
        let Ok(text) = String::from_utf8(text) else {
            self.summary.passed += 1;
            return;
        };
        self.enter(text.as_bytes());
        let laws = |text: &str| guarded(|| layout::laws(text, &mut Rng::new(seed)));
        let result = laws(&text);
        self.watch.leave();
        match result {
            Ok(()) => self.summary.passed += 1,
            Err(fault) => {
                self.summary.failed += 1;
                if self.count(&fault) <= SHOWN {
                    let small = layout::smaller(
                        &text,
                        Duration::from_secs(10),
                        |t| matches!(laws(t), Err(f) if f.signature() == fault.signature()),
                    );
                    let again = laws(&small).err().unwrap_or(fault);
                    self.report(&format!("format, seed {seed}"), &again, small.as_bytes());
                }
            }
        }
    }

    fn enter(&self, text: &[u8]) {
        if let Some(running) = &self.options.running {
            let _ = std::fs::write(running, text);
        }
        self.watch.enter(text);
    }

    fn count(&mut self, fault: &Fault) -> u64 {
        let n = self.seen.entry(fault.signature()).or_default();
        *n += 1;
        *n
    }

    fn smaller(&mut self, text: &[u8], extra: u64, fault: &Fault) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(text) else { return text.to_vec() };
        // Each try is a new session, so a failure of an old session alone stays as it is.
        if fault.kind == FaultKind::Incremental {
            return text.as_bytes().to_vec();
        }
        let same = |candidate: &str| {
            self.enter(candidate.as_bytes());
            let again = Lab::default().examine(candidate.as_bytes(), extra);
            self.watch.leave();
            matches!(again, Err(f) if f.signature() == fault.signature())
        };
        minimise(text, Duration::from_secs(10), same).into_bytes()
    }

    fn report(&self, what: &str, fault: &Fault, text: &[u8]) {
        let at = save(&self.options.artifacts, &format!("{:?}", fault.kind).to_lowercase(), text);
        let shown = String::from_utf8_lossy(text);
        let shown: String = shown.chars().take(2000).collect();
        say!("FAILED ({what}): {at}\n{:?}: {}\n{}\n", fault.kind, fault.message, shown.trim_end());
    }
}

/// Saves a text under a name made from what it holds; the path.
pub fn save(folder: &std::path::Path, kind: &str, text: &[u8]) -> String {
    // FNV-1a
    let hash =
        text.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
    let path = folder.join(format!("{kind}-{hash:016x}.remora"));
    let done = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    match done {
        Ok(()) => path.display().to_string(),
        Err(e) => format!("(not saved: {e})"),
    }
}

//! The command line.

mod fmt;
mod picture;
mod project;
mod repl;
mod tune;

pub use fmt::Fmt;
pub use picture::{Picture, PlotKind};
pub use project::{New, Test, Watch};
pub use repl::Repl;
pub use tune::{Autotune, TuningFile};
#[cfg(feature = "llvm")]
pub use tune::{Effort, Target};

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand, ValueEnum};
use remc_base::visible;
use remc_driver::compile::{ALWAYS, Field, Kind, NEVER, Named, Threshold};
use std::path::{Path, PathBuf};

#[derive(Parser, Clone, Debug)]
#[command(name = "remc", version, about = "Checks, runs and compiles Remora programs.", max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 all is well, 1 the program is wrong, 2 wrong usage or unreadable input, \
                        3 the program stopped while running, 70 a mistake of remc itself."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// How messages are shown
    #[arg(long, global = true, value_enum, default_value = "rich", value_name = "STYLE")]
    pub diagnostics: DiagnosticStyle,
}

#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Run a program and print its values: its last expression's, and before it those of the others at its top
    #[command(after_help = "Examples:
  remc run hello.remora
  remc run -e '(+ [1 2] [[3 4 5] [6 7 8]])'
  remc run blur.remora --entry main --input image=camera.npy --output blurred.npy
  remc run stats.remora --input 'xs=[1.5 2 4]' --input k=3 --timings
  remc run stats.remora --input xs=table.csv --input k=3 --format json
  remc run stats.remora --input xs=data.npz:prices --input k=3 --precision 3
  remc run stats.remora --input 'xs=samples.raw:f64[_]' --input k=3 --max-elements 100
  remc run waves.remora --plot waves.svg               # a picture; .png as well
  remc run -e '(iota [3 4])' --format table            # numbers in columns, for people")]
    Run(Run),
    /// Try things out at a prompt: definitions, values, types, pictures
    #[command(after_help = "Examples:
  remc repl
  remc repl stats.remora                  # with the definitions of a program
  printf '(iota [3])\n:type sum\n' | remc repl

At the prompt, :help lists what there is.")]
    Repl(Repl),
    /// Check and run a program again whenever it, what it imports or its data is saved
    #[command(after_help = "Examples:
  remc watch prog.remora
  remc watch prog.remora -- --input xs=data/xs.npy --format table
  remc watch prog.remora --check")]
    Watch(Watch),
    /// Compare what programs give with what their comments and .out files say
    #[command(after_help = "In a program:
  (iota [3])         ; ⇒ [0 1 2]          the value of the expression before it
  (+ 1 #t)           ; ⇒ error E0401      what should not check, or should stop
  (iota [1000])      ; ⇒ [0 1 …]          the rest is left out
  ; (next 1) ⇒ 2                          an example in the comment directly above a definition

Beside NAME.remora, NAME.out is what `remc run` prints; `; entry: NAME` and `; input: NAME=VALUE` in its first comments say
which entry is run, and with what; the path of a data file is relative to the program.

Examples:
  remc test                               # all programs of this folder
  remc test tests/ --filter mean
  remc test stats.remora --update         # writes what was found into the comments")]
    Test(Test),
    /// Make a folder with a program, data, tests and a README to begin with
    #[command(after_help = "Example:
  remc new heat-flow && cd heat-flow && remc test")]
    New(New),
    /// Check a program without running it
    #[command(after_help = "Examples:
  remc check prog.remora
  remc check prog.remora --show types     # the program with everything that was inferred")]
    Check(Check),
    /// Translate a program to CUDA, or write what one stage makes of it
    #[command(after_help = "Examples:
  remc compile prog.remora                          # prog.cu for nvcc; prog.h and prog.json say what it takes and gives
  remc compile prog.remora --emit typed -o prog.typed
  remc compile prog.remora --emit kernel            # loops, launches and memory
  remc compile prog.remora --emit object -o prog.o  # with --emit header, a part of a C program
  remc compile prog.remora --entry rows --entry sums  # two of its entries, in one prog.cu
  remc compile prog.remora --emit cuda              # the text of prog.cu alone
  remc compile prog.remora --emit futhark -o prog.fut")]
    Compile(Compile),
    /// Read, verify and print a program in the text form of an intermediate language
    #[command(after_help = "Examples:
  remc opt --from typed prog.typed
  remc opt --from mono --pass fuse prog.mono
  remc opt --list                         # every stage of the pipeline, in order")]
    Opt(Opt),
    /// Say what a name of the prelude, a form of the language or a definition of yours means
    #[command(after_help = "Examples:
  remc doc                                # all names, by group
  remc doc reduce transpose/axes          # what they mean, their types, examples
  remc doc unbox                          # a form
  remc doc prog.remora                    # the definitions of a file and the comments above them
  remc doc prog.remora --format markdown  # the same as a page")]
    Doc(Doc),
    /// Lay programs out anew: indentation and line breaks, at most 100 columns, every comment in its place
    #[command(after_help = "Examples:
  remc fmt                                # all programs of this folder and of those in it
  remc fmt prog.remora README.md          # a program, and the programs of a page
  remc fmt --check .                      # for scripts: exit code 1 if a file is not formatted, and why
  remc fmt --stdin < prog.remora          # for editors")]
    Fmt(Fmt),
    /// Say what an error code means, with an example
    #[command(after_help = "Examples:
  remc explain E0301
  remc explain                            # lists all codes")]
    Explain {
        /// A code such as E0301
        code: Option<String>,
    },
    /// Say what a program costs: its kernels, what is fused into each, bytes moved and operations as formulas
    #[command(after_help = "Examples:
  remc explain-perf prog.remora
  remc explain-perf prog.remora --entry main --device cuda
  remc explain-perf -e '(sum (* [1.0 2.0] [3.0 4.0]))'
  remc explain-perf prog.remora --format json")]
    ExplainPerf(ExplainPerf),
    /// Measure which versions of a program run fastest on your data, and keep that beside it
    #[command(after_help = "Examples:
  remc autotune prog.remora --inputs data/            # data/small/xs.npy, data/large/xs.npy, or data/*.npz
  remc autotune --inputs data/                        # the program of this folder
  remc autotune prog.remora --inputs data/ --device cuda
  remc autotune prog.remora --inputs data/ --entry main --budget 60 --effort full
  remc autotune prog.remora --inputs data/ --resume   # goes on where an earlier one ended
  remc autotune prog.remora --inputs data/ --report tuning.html")]
    Autotune(Autotune),
    /// Say in sentences what a tuning file has chosen, why, and whether it still fits the program beside it
    #[command(after_help = "Examples:
  remc tuning prog.tuning                             # with prog.remora beside it
  remc tuning server.tuning --program prog.remora
  remc tuning prog.tuning --report tuning.html        # as a page with charts")]
    Tuning(TuningFile),
    /// Serve an editor: answer its questions about programs, as the Language Server Protocol has them
    #[command(
        after_help = "The editor starts it, and speaks to it on standard input and output. The book's page
\"The language server\" says what it does, and how editors are told to start it.

Examples:
  remc lsp                                # what an editor is told to start"
    )]
    Lsp(Lsp),
    /// Print a script that completes remc's commands and options in a shell
    #[command(after_help = "Examples:
  remc completions bash > ~/.local/share/bash-completion/completions/remc
  remc completions zsh > ~/.zfunc/_remc       # a folder of zsh's fpath
  remc completions fish > ~/.config/fish/completions/remc.fish")]
    Completions {
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page of remc or of one of its commands
    #[command(after_help = "Examples:
  remc man | man -l -                         # read it
  remc man run > remc-run.1
  remc man --output ~/.local/share/man/man1   # write the pages of remc and of all its commands")]
    Man {
        /// One of the commands; remc itself if absent
        #[arg(conflicts_with = "output", value_name = "COMMAND", value_parser = COMMANDS)]
        of: Option<String>,
        /// Write all pages into this folder instead
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

/// The commands that have a page of the manual.
const COMMANDS: [&str; 17] = [
    "run",
    "repl",
    "watch",
    "test",
    "new",
    "check",
    "compile",
    "opt",
    "doc",
    "fmt",
    "explain",
    "explain-perf",
    "autotune",
    "tuning",
    "lsp",
    "completions",
    "man",
];

/// Which program: a file, standard input (`-`) or an expression.
#[derive(clap::Args, Clone, Debug)]
pub struct Source {
    /// The program's file; `-` reads standard input
    #[arg(required_unless_present = "expression")]
    pub file: Option<PathBuf>,
    /// The program's text itself
    #[arg(
        short = 'e',
        long = "expression",
        value_name = "EXPR",
        conflicts_with = "file",
        allow_hyphen_values = true
    )]
    pub expression: Option<String>,
}

/// How large a program may be.
#[derive(clap::Args, Clone, Debug)]
pub struct Size {
    /// How many parts a program may have, with its functions written out where they are called [default: 4194304]
    ///
    /// Functions are inlined, so that one that calls another ten times, which calls another ten times, grows tenfold
    /// at each step. A limit says so before memory runs out. A million parts take some ten seconds and 1 GiB or so.
    #[arg(long = "size-limit", value_name = "N", value_parser = parts)]
    pub limit: Option<usize>,
}

/// What selects the versions of nests.
#[derive(clap::Args, Clone, Debug)]
pub struct Versions {
    /// Give a number that decides about speed another value: a threshold between versions, or one of a schedule
    ///
    /// Where a nest has versions, `remc explain-perf` shows what selects them: `n ≥ 512 (main/par.outer/rows:1)`. A
    /// size is compared with the threshold when the program runs. NAME is that of one threshold, or of a kind, for all
    /// of the kind that are not given themselves. VALUE is a number of at least 1, or `always`, as if every size were
    /// large enough, or `never`; of a whole kind but `by.size`, the other version is not compiled at all then.
    ///
    /// The numbers of schedules, as `grain` or `main/grain/rows:1`, decide how the kernels of an operator run: how much a
    /// block does, how many threads it has, in how many lanes a row is reduced. `--show tuning` lists them. An operator has a
    /// second setting, rows:1@2, from the size on that `main/by.size/rows:1@2/axis.1` says, if that is given.
    #[arg(long = "threshold", value_name = "NAME=VALUE", value_parser = threshold)]
    pub thresholds: Vec<(Chosen, i64)>,
    /// The tuning file, or `none` [default: PROGRAM.tuning beside the program, if there is one]
    ///
    /// `remc autotune` writes it: values of thresholds, measured for this program. A --threshold goes before it.
    #[arg(long, value_name = "FILE")]
    pub tuning: Option<String>,
    /// Say, on standard error, which numbers the program is compiled with
    #[arg(long = "show", value_enum, value_name = "WHAT")]
    pub shown: Option<Numbers>,
}

/// What is said of a compilation beside what it makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Numbers {
    /// The thresholds that choose between versions, the numbers of the schedules of operators, and what the code is called
    /// in a tuning file
    Tuning,
}

/// What a value is given for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chosen {
    Kind(Kind),
    One(String),
}

impl Versions {
    /// The values for kinds, in the order in which they were given.
    pub fn kinds(&self) -> Vec<(Kind, i64)> {
        let kind = |(chosen, value): &(Chosen, i64)| match chosen {
            Chosen::Kind(t) => Some((*t, *value)),
            Chosen::One(_) => None,
        };
        self.thresholds.iter().filter_map(kind).collect()
    }

    /// The values for single numbers: of one that is given twice, the last.
    pub fn named(&self) -> Named {
        let one = |(chosen, value): &(Chosen, i64)| match chosen {
            Chosen::One(name) => Some((name.clone(), *value)),
            Chosen::Kind(_) => None,
        };
        self.thresholds.iter().filter_map(one).collect()
    }
}

#[derive(clap::Args, Clone, Debug)]
pub struct Run {
    #[command(flatten)]
    pub source: Source,
    /// Call this entry instead of taking the expressions at the top
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// A parameter of the entry: a Remora literal, or the path of a data file.
    ///
    /// Files: .npy, .npz (FILE:NAME chooses one of its arrays, or its boxes), .arrow, .feather and .arrows (FILE:NAME
    /// chooses one of its columns), .csv, .tsv, .json, .rd (a Remora literal), Futhark's binary data (.fut.bin, .in,
    /// .data). What a file of another name holds is said after it: FILE:csv, FILE:tsv, FILE:rd, FILE:arrow, FILE:text
    /// (characters), FILE:f32[1000,3] (raw little-endian numbers; one size can be _). How a table is written is said
    /// there, too: FILE.csv:header, :noheader, :sep=; (or tab, space), :decimal=, :comment=#, :skip=2, :na=NA,
    /// :columns=low,high (or numbers), one after the other. `-` is standard input, `-:rd` a literal there.
    #[arg(long = "input", value_name = "NAME=VALUE", value_parser = input, allow_hyphen_values = true)]
    pub inputs: Vec<(String, String)>,
    /// Write the value, that of the last expression, here instead of printing it, in the format of the name's ending.
    ///
    /// .npy, .npz, .arrow, .feather, .arrows (a stream), .csv, .tsv, .json, .raw and .bin (raw little-endian numbers),
    /// .fut.bin, .in and .data (Futhark's binary data); any other name gets Remora text. `-` is standard output.
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// The format of the value, printed or written; only the last expression's, unless it is remora
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<OutputFormat>,
    #[command(flatten)]
    pub picture: Picture,
    /// Print floats with at most N digits after the point, as NumPy's precision does
    #[arg(long, value_name = "N")]
    pub precision: Option<u8>,
    /// Print at most N numbers, characters or booleans, and … for the rest; a file always gets all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_elements: Option<u64>,
    /// What runs the program
    #[arg(long, value_enum, value_name = "DEVICE")]
    pub device: Option<Device>,
    /// How many threads the cpu device uses [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// The most memory that data may take at a time, such as 512M or 2G [default: what the machine or device has]
    ///
    /// Inputs count, while they are read too, and arrays that the program makes; not the compiler and its code. What
    /// needs more stops with a message that says for what.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory_limit: Option<u64>,
    /// Items of a stream that are worked on at a time, instead of as many as turn out to be quick. What the program
    /// gives is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub chunk: Option<u64>,
    #[command(flatten)]
    pub versions: Versions,
    #[command(flatten)]
    pub size: Size,
    /// Say how long each stage and kernel took, and how much memory was used
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub timings: Option<Form>,
    /// Count what the run costs on an ideal machine, in the interpreter: work, depth, and space with one processor and with
    /// any number of them; with --chunk also of pieces of so many items
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub measure_cost: Option<Form>,
    /// Run the program this many times on the cpu device, for its timings
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Write the program after each pass into this folder
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,
    /// Leave out the optimiser's passes after this number, as counted by --dump-dir
    #[arg(long, value_name = "N")]
    pub stop_after_pass: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Device {
    /// The reference interpreter
    Interp,
    /// Compiled code, on all cores
    Cpu,
    /// Compiled code, on an NVIDIA GPU
    Cuda,
    /// The CUDA that would run on a GPU, on an emulator: for tests of remc itself
    #[value(hide = true)]
    Emulated,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OutputFormat {
    /// Text that remc reads back
    Remora,
    /// Nested arrays on one line
    Json,
    /// NumPy's array, bytes
    Npy,
    /// NumPy's archive, bytes; a record's fields are its arrays
    Npz,
    /// Arrow's IPC format, bytes: a table; on standard output a stream
    Arrow,
    /// A table with commas
    Csv,
    /// A table with tabs
    Tsv,
    /// Futhark's binary data, bytes
    Futhark,
    /// The numbers' bytes and nothing else, little-endian
    Raw,
    /// Characters as they are, texts and numbers a line each
    Text,
    /// Numbers in columns, for people; on a terminal what fits there
    Table,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Form {
    /// For people
    Text,
    /// One line of JSON; times are in seconds
    Json,
}

#[derive(clap::Args, Clone, Debug)]
pub struct Check {
    #[command(flatten)]
    pub source: Source,
    /// Print the program with all that was inferred
    #[arg(long, value_enum, value_name = "WHAT")]
    pub show: Option<Show>,
    /// Say how long each stage took
    #[arg(long)]
    pub timings: bool,
}

#[derive(clap::Args, Clone, Debug)]
pub struct Compile {
    #[command(flatten)]
    pub source: Source,
    /// What to write [default: CUDA, as FILE.cu, FILE.h and FILE.json]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub emit: Option<Ir>,
    /// The entry; CUDA may have several [default: the last expression, else all of CUDA's, else the only one]
    ///
    /// What several entries share is printed once: one program that is told by --entry which of them to run, one library
    /// with a function for each.
    #[arg(long, value_name = "NAME")]
    pub entry: Vec<String>,
    /// The number of axes of each shape variable of the entry, in order; of several, one entry after the other
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub ranks: Vec<usize>,
    /// Leave out the optimiser's passes after this number, as counted by --dump-dir
    #[arg(long, value_name = "N")]
    pub stop_after_pass: Option<usize>,
    /// Write the program after each pass into this folder, of several entries each into one of its name there
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,
    #[command(flatten)]
    pub versions: Versions,
    #[command(flatten)]
    pub size: Size,
    /// Where to; `-` is standard output [default: standard output; without --emit, beside FILE]
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

#[derive(clap::Args, Clone, Debug)]
pub struct Lsp {
    /// Speak on standard input and output, as is done without it: some editors always say so
    #[arg(long)]
    pub stdio: bool,
}

#[derive(clap::Args, Clone, Debug)]
pub struct Doc {
    /// Names, forms, and files that end in .remora; without any, an index. Before names with a hyphen in front: --
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// As text for a terminal, or as Markdown
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub format: DocFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DocFormat {
    Text,
    Markdown,
}

#[derive(clap::Args, Clone, Debug)]
pub struct ExplainPerf {
    #[command(flatten)]
    pub source: Source,
    /// Explain this entry instead of the last expression
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// The number of axes of each shape variable of the entry, in order
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub ranks: Vec<usize>,
    /// What the program is compiled for
    #[arg(long, value_enum, default_value = "cpu", value_name = "DEVICE")]
    pub device: PerfDevice,
    #[command(flatten)]
    pub versions: Versions,
    #[command(flatten)]
    pub size: Size,
    /// For people, or one JSON object
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub format: PerfFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PerfDevice {
    Cpu,
    Cuda,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PerfFormat {
    Text,
    Json,
}

#[derive(clap::Args, Clone, Debug)]
pub struct Opt {
    /// The intermediate language of the file
    #[arg(long, value_enum, value_name = "IR", required_unless_present = "list")]
    pub from: Option<Ir>,
    /// The program's text; `-` reads standard input
    #[arg(required_unless_present = "list")]
    pub file: Option<PathBuf>,
    /// Passes to run on it, in this order; without any it is verified and printed
    #[arg(long = "pass", value_name = "NAME")]
    pub passes: Vec<String>,
    /// List the stages of the pipeline
    #[arg(long)]
    pub list: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Show {
    Types,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Ir {
    /// The elaborated program, all instances and frames explicit
    Typed,
    /// Lifting and replication written out
    Explicit,
    /// First order, over arrays of base type; optimised
    Mono,
    /// What runs in parallel
    Flat,
    /// Kernels, and the host plan that launches them
    Kernel,
    /// The text of LLVM's intermediate language
    Llvm,
    /// Assembly for this processor
    Asm,
    /// An object file for this processor
    Object,
    /// A C header for the object file
    Header,
    /// CUDA C++ for NVIDIA's GPUs, a program or library of its own; beside NAME.cu, also NAME.h and NAME.json
    Cuda,
    /// The C header of that library alone
    CudaHeader,
    /// Futhark source, for Futhark 0.27
    Futhark,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DiagnosticStyle {
    /// Source lines with arrows
    Rich,
    /// One line each
    Short,
    /// One JSON object a line
    Json,
}

/// A file in the place of a command is a program that somebody wants to run.
pub fn suggest_run(e: &mut clap::Error) {
    let Some(ContextValue::String(word)) = e.get(ContextKind::InvalidSubcommand) else { return };
    if !word.ends_with(".remora") && !Path::new(word).is_file() {
        return;
    }
    let tip = format!("`remc run {}` runs a program", visible(word));
    e.remove(ContextKind::SuggestedSubcommand);
    e.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// Escapes what a terminal would act on in the words of a command line that are said back to whoever wrote it.
pub fn make_visible(e: &mut clap::Error) {
    let seen = |text: &String| visible(text).into_owned();
    let words = e.context().filter_map(|(kind, value)| match value {
        ContextValue::String(word) => Some((kind, ContextValue::String(seen(word)))),
        ContextValue::Strings(words) => Some((kind, ContextValue::Strings(words.iter().map(seen).collect()))),
        _ => None,
    });
    for (kind, word) in words.collect::<Vec<_>>() {
        e.insert(kind, word);
    }
}

fn input(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("write NAME=PATH or NAME=LITERAL, for example k=3".to_owned()),
    }
}

/// A number of parts: `20000000`, `20M`.
fn parts(text: &str) -> Result<usize, String> {
    let digits = text.trim().trim_end_matches(['k', 'K', 'M', 'G']);
    let factor = match &text.trim()[digits.len()..] {
        "" => Some(1),
        "k" | "K" => Some(1_000),
        "M" => Some(1_000_000),
        "G" => Some(1_000_000_000),
        _ => None,
    };
    let parts = digits.parse::<usize>().ok().zip(factor).and_then(|(n, f)| n.checked_mul(f));
    parts
        .filter(|n| *n > 0)
        .ok_or_else(|| "write a number of at least 1, or of k, M or G, for example 20M".to_owned())
}

/// A number and its value: `par.outer=64`, `main/par.outer/rows:1=always`, `par.outer=never`, `main/grain/rows:1=4096`.
fn threshold(text: &str) -> Result<(Chosen, i64), String> {
    // The name of a definition may have a `=`.
    let (name, value) = text.rsplit_once('=').unwrap_or((text, ""));
    let name = name.trim();
    let of_one = name.contains('/').then(|| Kind::of_name(name)).flatten();
    let (chosen, kind) = match (Kind::named(name), of_one) {
        (Some(kind), _) => (Chosen::Kind(kind), kind),
        (None, Some(kind)) => (Chosen::One(name.to_owned()), kind),
        (None, None) => {
            let names = Threshold::ALL.map(Threshold::name).join(", ");
            let fields: Vec<&str> = Field::ALL.iter().map(|f| f.name()).collect();
            return Err(format!(
                "there is no number `{name}`; the kinds of thresholds are {names}, those of schedules {}; `--show tuning` \
                 lists single ones",
                fields.join(", ")
            ));
        }
    };
    if let Kind::Field(field) = kind {
        let value = value.trim().parse().ok().filter(|n| field.allows(*n));
        let about = || format!("`{name}` is {}: {}", field.values(), field.about().meaning);
        return value.map(|n| (chosen, n)).ok_or_else(about);
    }
    let value = match value.trim() {
        "always" => Some(ALWAYS),
        "never" => Some(NEVER),
        number => number.parse().ok().filter(|n| *n > ALWAYS),
    };
    match value {
        Some(value) => Ok((chosen, value)),
        None => Err(format!("write {name}=N with a number of at least 1, {name}=always or {name}=never")),
    }
}

/// A number of bytes, with a power of 1024 after it or none: `2G`, `1.5M`, `4096`.
fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let factor = match unit.trim().trim_end_matches(['B', 'b']).trim_end_matches('i').to_uppercase().as_str()
    {
        "" => Some(1u64),
        "K" => Some(1 << 10),
        "M" => Some(1 << 20),
        "G" => Some(1 << 30),
        "T" => Some(1 << 40),
        _ => None,
    };
    let number: Option<f64> = text[..text.len() - unit.len()].parse().ok();
    match (number, factor) {
        (Some(n), Some(f)) if n * f as f64 >= 1.0 && n * (f as f64) < 2f64.powi(63) => {
            Ok((n * f as f64) as u64)
        }
        _ => Err("write a number of bytes, or of K, M, G or T, for example 512M".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Chosen, bytes, parts, threshold};
    use clap::CommandFactory;
    use remc_driver::compile::{ALWAYS, Field, Kind, NEVER, Threshold};

    #[test]
    fn numbers_of_parts_have_units() {
        assert_eq!((parts("7"), parts("20M"), parts(" 3k")), (Ok(7), Ok(20_000_000), Ok(3_000)));
        for wrong in ["", "0", "M", "-1", "2MM", "1.5M", "99999999999999999999", "99999999999G0", "1T"] {
            assert!(parts(wrong).unwrap_err().contains("20M"), "{wrong}");
        }
    }

    fn threshold_of(text: &str) -> (Chosen, i64) {
        threshold(text).unwrap()
    }

    #[test]
    fn thresholds_have_names_and_values() {
        let is = |text, kind, value| assert_eq!(threshold_of(text), (Chosen::Kind(kind), value));
        let kind = |text, threshold, value| is(text, Kind::Threshold(threshold), value);
        kind("par.outer=64", Threshold::ParOuter, 64);
        kind("par.loop=never", Threshold::ParLoop, NEVER);
        kind(" row.long = always ", Threshold::RowLong, ALWAYS);
        let one = |name: &str| Chosen::One(name.to_owned());
        assert_eq!(threshold_of("main/par.inner/sum=of:2=7"), (one("main/par.inner/sum=of:2"), 7));
        is("grain=4096", Kind::Field(Field::Grain), 4096);
        assert_eq!(threshold_of("main/tile.round/f:1=8"), (one("main/tile.round/f:1"), 8));
        for wrong in ["grain=0", "grain=always", "grain", "main/grain/f:1=x"] {
            assert!(threshold(wrong).unwrap_err().contains("whole number from 1 to"), "{wrong}");
        }
        assert!(
            threshold("par.middle=3")
                .unwrap_err()
                .contains("par.outer, par.loop, par.inner, par.stored, par.group, row.long")
        );
        for wrong in ["par.outer", "par.outer=", "par.outer=0", "par.outer=-1", "par.outer=much"] {
            assert!(threshold(wrong).unwrap_err().contains("par.outer=always"), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units() {
        let all = ["4096", "2G", "1.5M", "512 MiB", "1kb"].map(|t| bytes(t).unwrap());
        assert_eq!(all, [4096, 2 << 30, 3 << 19, 512 << 20, 1024]);
        for wrong in ["", "G", "0", "-1", "2X", "1e30T", "many", "999999999T"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_page() {
        let commands = super::Cli::command();
        let names: Vec<&str> = commands.get_subcommands().map(|c| c.get_name()).collect();
        assert_eq!(names, super::COMMANDS);
    }
}

//! The options of `remc autotune` and `remc tuning`.

use super::{Device, Size, bytes};
use clap::ValueEnum;
use std::path::PathBuf;

#[derive(clap::Args, Clone, Debug)]
pub struct Autotune {
    /// The program's file [default: the one program of the current folder]
    pub file: Option<PathBuf>,
    /// The folder with the data that the program is to be fast on
    ///
    /// Files named after the entry's parameters (xs.npy, k.rd) are one data set; folders of such files beside each
    /// other, or .npz files whose arrays have these names, are several.
    #[arg(long, value_name = "DIR")]
    pub inputs: PathBuf,
    /// The entry to tune; may be given several times [default: the file's only entry]
    #[arg(long, value_name = "NAME")]
    pub entry: Vec<String>,
    /// What to tune for: `cuda` needs a GPU
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = tuned_for())]
    pub device: Device,
    /// About how long it may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    pub budget: f64,
    /// Go on with what an earlier search that was interrupted, or had too little time, has measured
    ///
    /// Measurements are kept beside the code cache. Those of other code, of another machine or another --effort, and of
    /// data that has changed, are not used. What was found is measured anew in any case.
    #[arg(long)]
    pub resume: bool,
    /// How sure to be of each difference: to 2 %, or with more runs to 1 %
    #[arg(long, value_enum, value_name = "EFFORT", default_value = "quick")]
    pub effort: Effort,
    /// What to make small, of what the data sets lose against the best for each: the mean, or the worst
    #[arg(long, value_enum, value_name = "WHAT", default_value = "mean")]
    pub objective: Target,
    /// Write the tuning here [default: PROGRAM.tuning]
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Write a page about it, too: what was gained, and a chart for each number
    #[arg(long, value_name = "PATH.html")]
    pub report: Option<PathBuf>,
    /// How many threads the cpu device uses [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// The most memory that data may take at a time, such as 512M or 2G [default: what the machine or device has]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory_limit: Option<u64>,
    #[command(flatten)]
    pub size: Size,
}

#[derive(clap::Args, Clone, Debug)]
pub struct TuningFile {
    /// The tuning file, as `remc autotune` has written it
    pub file: PathBuf,
    /// The program that it is of [default: the one of that name beside it]
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// Write a page about it, as `remc autotune --report` does
    #[arg(long, value_name = "PATH.html")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub size: Size,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Effort {
    Quick,
    Full,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Target {
    Mean,
    Worst,
}

/// The devices that programs are tuned for.
fn tuned_for() -> impl clap::builder::TypedValueParser<Value = Device> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
    let all = [Device::Cpu, Device::Cuda, Device::Emulated];
    let values: Vec<PossibleValue> = all.iter().filter_map(ValueEnum::to_possible_value).collect();
    PossibleValuesParser::new(values).map(|name| {
        let device = Device::from_str(&name, false);
        device.unwrap_or(Device::Cpu)
    })
}

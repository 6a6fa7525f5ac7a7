//! The command line.

use clap::Parser;
use std::path::PathBuf;

#[derive(Parser, Clone, Debug)]
#[command(
    name = "remc-bench",
    about = "Measures programs in Remora against hand-written C and NumPy on the same data.",
    max_term_width = 100,
    after_help = "Exit codes: 0 all that ran is right, 1 some result was wrong or over its limit, 2 the bench itself cannot run."
)]
pub struct Args {
    /// Install NumPy into the bench's own environment, and end
    #[arg(long)]
    pub setup: bool,
    /// Measure how fast generated files are checked, whole and after an edit, and end
    #[arg(long)]
    pub checking: bool,
    /// Measure how compile time grows with the length of generated programs, stage by stage, and end
    #[arg(long)]
    pub compile_scaling: bool,
    /// Measure what versions of a nest cost to compile and whether the right one is chosen, and end
    #[arg(long, group = "limited", conflicts_with_all = ["setup", "checking"])]
    pub versions: bool,
    /// Measure what it costs that rows differ in length, against as many elements in a row or in equal ones, and end
    #[arg(long, group = "limited", conflicts_with_all = ["setup", "checking"])]
    pub ragged: bool,
    /// Measure what `remc autotune` takes and gains, on data that it saw and on data that it did not, and end
    #[arg(long, group = "limited", conflicts_with_all = ["setup", "checking"])]
    pub tuning: bool,
    /// Measure programs with ragged or row-wise work that the compiler was not made for, against C, and end
    #[arg(long, group = "limited", conflicts_with_all = ["setup", "checking"])]
    pub unseen: bool,
    /// Measure programs over rows that only memory or arithmetic should limit, stored or computed, against C, and end
    #[arg(long, group = "limited", conflicts_with_all = ["setup", "checking"])]
    pub rows: bool,
    /// Measure programs over data that is never in memory as a whole, against C, and end
    #[arg(long, conflicts_with_all = ["setup", "checking", "limited"])]
    pub streams: bool,
    /// With `--versions`, `--ragged`, `--tuning`, `--unseen` or `--rows`: exit with 1 if a figure is over its limit
    #[arg(long, requires = "limited")]
    pub limits: bool,
    /// Print the generated file of so many definitions that `--checking` measures, and end
    #[arg(long, value_name = "N")]
    pub definitions: Option<usize>,
    /// Say which rows there are, and end
    #[arg(long)]
    pub list: bool,
    /// Small sizes: a run of seconds, which shows that everything works and nothing about speed
    #[arg(long)]
    pub small: bool,
    /// Only this row; may be given several times. Rows whose name goes on after a `/` are all meant by what
    /// comes before it
    #[arg(long, value_name = "ROW")]
    pub only: Vec<String>,
    /// How many threads each contender may use; all processors if absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// How many timed calls the medians are of
    #[arg(long, value_name = "N", default_value = "11", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
    /// Write the table here too: between the lines `<!-- bench -->` and `<!-- /bench -->` of a file that has
    /// them, else as the whole file
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,
    /// The remc to measure; the one beside this program if absent
    #[arg(long, value_name = "PATH")]
    pub remc: Option<PathBuf>,
    /// Where data, compiled peers and NumPy are kept; `bench` in the target folder if absent
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

impl Args {
    /// How many threads each contender may use.
    pub fn threads_used(&self) -> u16 {
        let all = || std::thread::available_parallelism().map_or(1, |n| n.get().min(1024) as u16);
        self.threads.unwrap_or_else(all)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Args::command().debug_assert();
    }
}

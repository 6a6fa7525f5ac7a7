use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match remc_bench::bench::run(&remc_bench::args::Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        // A result was wrong; the table says which.
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("remc-bench: {why}");
            ExitCode::from(2)
        }
    }
}

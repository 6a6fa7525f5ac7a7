use std::process::ExitCode;

fn main() -> ExitCode {
    remc::main()
}

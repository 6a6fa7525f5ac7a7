//! A preprocessor of mdbook, as `book/book.toml` names it: `remc-book` reads the book from standard input and writes it to
//! standard output.
//!
//! `remc-book colour FILE` writes a page that has the program in FILE in colour, as an editor shows it: pictures are made
//! of that.

use remc_book::{Colours, page, preprocess};
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("remc-book: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    let out = match arguments {
        // mdbook asks for which renderers there is something to do.
        ["supports", "html"] => return Ok(()),
        ["supports", other] => return Err(format!("`{other}` has no colours")),
        ["colour", file] => {
            let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
            page(&Colours::new(), Path::new(file), &text)
        }
        [] => {
            let mut given = String::new();
            std::io::stdin().read_to_string(&mut given).map_err(|e| e.to_string())?;
            preprocess(&given)?
        }
        _ => return Err("mdbook runs this with a book; `remc-book colour FILE` colours a program".into()),
    };
    std::io::stdout().write_all(out.as_bytes()).map_err(|e| e.to_string())
}

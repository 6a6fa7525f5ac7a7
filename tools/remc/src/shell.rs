//! `remc completions` and `remc man`: what shells and `man` know of the command line, from its one definition.

use crate::args::{Cli, Shell};
use crate::commands::cannot_write;
use crate::report::{Outcome, bytes_to_stdout};
use clap::{Command, CommandFactory};
use remc_runtime::files;
use std::path::Path;

/// A script that completes commands, options and their values.
pub fn completions(shell: Shell) -> Outcome {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "remc", &mut script);
    bytes_to_stdout(&script)
}

/// A manual page in roff: that of remc, or of one of its commands; or all of them as files in a folder.
pub fn man(of: Option<&str>, folder: Option<&Path>) -> Outcome {
    let mut remc = Cli::command();
    // Commands get their full names, and the global options.
    remc.build();
    let mut pages = vec![("remc".to_owned(), remc.clone())];
    pages.extend(
        remc.get_subcommands()
            .filter(|c| c.get_name() != "help")
            .map(|c| (format!("remc-{}", c.get_name()), c.clone())),
    );
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        for (name, page) in pages {
            let path = folder.join(format!("{name}.1"));
            let bytes = render(page);
            files::write_atomically(&path, |out| out.write_all(&bytes))
                .map_err(|e| cannot_write(&path, &e))?;
        }
        return Ok(());
    }
    let wanted = of.map_or("remc".to_owned(), |of| format!("remc-{of}"));
    // The command line allows the names of commands alone.
    let page = pages.into_iter().find(|(name, _)| *name == wanted);
    page.map_or(Ok(()), |(_, page)| bytes_to_stdout(&render(page)))
}

fn render(page: Command) -> Vec<u8> {
    let mut roff = Vec::new();
    // Writing to memory does not fail.
    let _ = clap_mangen::Man::new(page).render(&mut roff);
    roff
}

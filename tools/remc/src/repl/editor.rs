//! The line that is typed, on a terminal: reedline, with what the editor's questions (`remc_ide`) answer.

use super::balance;
use super::complete::Completions;
use super::desk::Desk;
use super::highlight::Colours;
use super::prompt::Prompt;
use crate::args::Repl;
use crate::codes;
use crate::report::{Failure, Outcome, usage};
use nu_ansi_term::{Color, Style};
use reedline::{
    DefaultHinter, DescriptionMode, EditCommand, Emacs, FileBackedHistory, IdeMenu, KeyCode, KeyModifiers,
    MenuBuilder, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineEvent,
    ReedlineMenu, Signal, ValidationResult, Validator, default_emacs_keybindings,
};
use remc_base::Diagnostic;
use std::borrow::Cow;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// So many inputs are kept.
const KEPT: usize = 10_000;
const MENU: &str = "completions";
const SIGN: &str = "> ";

pub struct Editor {
    line: Reedline,
}

/// What came of a line.
pub enum Read {
    Input(String),
    /// Ctrl-C: nothing, and another one.
    Again,
    /// Ctrl-D
    End,
}

impl Editor {
    pub fn new(args: &Repl, prompt: &Prompt) -> Outcome<Editor> {
        let desk: &Arc<Mutex<Desk>> = &prompt.desk;
        let colours = super::prompt::colours() > 0;
        let menu = IdeMenu::default()
            .with_name(MENU)
            .with_marker(SIGN)
            .with_max_completion_height(10)
            .with_max_description_width(70)
            .with_description_mode(DescriptionMode::PreferRight)
            .with_default_border();
        let mut keys = default_emacs_keybindings();
        let open = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(open));
        keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
        let newline = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline);
        let mut line = Reedline::create()
            .with_validator(Box::new(Balance))
            .with_completer(Box::new(Completions::new(desk.clone())))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_partial_completions(true)
            .with_quick_completions(true)
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_ansi_colors(colours)
            .use_bracketed_paste(true)
            .with_highlighter(Box::new(Colours::new(desk.clone())));
        if colours {
            let hint = DefaultHinter::default().with_style(Style::new().fg(Color::DarkGray));
            line = line.with_hinter(Box::new(hint));
        }
        if let Some(file) = history(args) {
            match kept(&file) {
                Ok(history) => line = line.with_history(Box::new(history)),
                Err(why) => {
                    let said = format!("what is typed is not kept in `{}`: {why}", file.display());
                    let help = "--history names another file, or `off`";
                    let d = Diagnostic::warning(codes::PROMPT, said).help(help);
                    prompt.reporter.show(&crate::report::NoSources, &[d]);
                }
            }
        }
        Ok(Editor { line })
    }

    pub fn read(&mut self) -> Outcome<Read> {
        match self.line.read_line(&Sign) {
            Ok(Signal::Success(text)) => {
                // Another prompt, and this one if it is ended, has it then.
                let _ = self.line.sync_history();
                Ok(Read::Input(text))
            }
            Ok(Signal::CtrlD) => Ok(Read::End),
            Ok(_) => Ok(Read::Again),
            Err(e) => {
                let d = usage(codes::PROMPT, format!("the terminal cannot be read: {e}"));
                Err(Failure::Usage(Box::new(d.help("inputs can come from a file, too: `remc repl < FILE`"))))
            }
        }
    }
}

/// Where what is typed is kept.
fn history(args: &Repl) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let absolute = |name: &str| variable(name).filter(|p| p.is_absolute());
    let chosen = args.history.clone().or_else(|| variable("REMC_HISTORY"));
    match chosen {
        Some(off) if off.as_os_str() == "off" => None,
        Some(file) => Some(file),
        None => {
            let state =
                absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
            Some(state.join("remc").join("history"))
        }
    }
}

/// A file that is the user's alone: what was typed is nobody else's business.
fn kept(file: &Path) -> Result<FileBackedHistory, String> {
    let make = || {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        OpenOptions::new().create(true).append(true).mode(0o600).open(file)
    };
    make().map_err(|e| remc_driver::session::describe_write(&e))?;
    FileBackedHistory::with_file(KEPT, file.to_owned()).map_err(|e| e.to_string())
}

/// A form goes on in the next line until it is whole.
struct Balance;

impl Validator for Balance {
    fn validate(&self, line: &str) -> ValidationResult {
        if balance::is_open(line) { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// The sign that asks for an input.
struct Sign;

impl reedline::Prompt for Sign {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(SIGN)
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("  ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let found = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "nothing has ",
        };
        Cow::Owned(format!("({found}`{}`) ", search.term))
    }
}

//! The layout of programs: text to text. Only white space changes, and where a comment stands between closing
//! brackets; names, numbers, strings, brackets and the words of comments stay as they are written, byte for byte.
//!
//! ```text
//! read     tokens, each with the comments before it
//! tree     brackets and elements; how wide each is
//! forms    the rules: where each part of each form of the language may stand
//! layout   one pass over the tokens that breaks lines where the rules say
//! columns  matrices and long rows of numbers: which spaces align them
//! lines    the lines of the result; comments at their ends, aligned where they were
//! ```
//!
//! # The rule
//!
//! A reader's eye is the author's own: **a line break that the author wrote between two parts of a form stays, and one
//! is added only where a form would pass column 100, or where the rules ask for it.** So
//!
//! 1. A form that is on one line, and fits, stays on one line.
//! 2. A form that is on several lines keeps its lines, indented anew; one that the author broke where no line ends, behind
//!    `do`, is on several lines, too. The rows of a matrix, the clauses of a `cond`, three
//!    short arguments beside each other and the fourth below stay what they were.
//! 3. A form on one line that does not fit gets a line for each of its parts, from the outside in, until all fits.
//!    Atoms alone fill lines.
//!
//! In a form that is on several lines
//!
//! - a body (of `define`, `entry`, `λ`, `let`, `unbox`, `lift`, …) begins a line, two columns in;
//! - what names the form (the head of a `define`, the bindings of a `let`, the parameters of a `λ`, the condition of an
//!   `if`) stays beside its keyword, whatever the author did;
//! - both branches of an `if` begin lines, below the condition; so do `while` and `do` of a `loop`, one column in;
//! - nothing stands behind a part that takes several lines;
//! - arguments are below the first argument. Where the author breaks after the function, or where there is no room beside
//!   it, all of them are two columns in (one, if the function is itself in brackets). What the author has hung by two
//!   columns, below a function of a long name, stays hung;
//! - elements of `[…]`, of bindings and of parameters are one column in, and a binding of several lines begins one;
//! - the columns of a matrix with a line for each row are aligned: numbers at their points, anything else at its left;
//! - closing brackets follow what they close.
//!
//! Between forms at most one empty line stays. Comments keep their place: before what they were before, or at the end of
//! the line that they ended, two spaces behind it; those that began in one column go on doing so, also those that go on
//! below one at the end of a line. A comment that ends a line before a closing bracket moves behind the bracket.
//!
//! That this is stable, so that formatting twice is formatting once, is no accident of the cases: each decision depends
//! on the tokens, on the column, and on line breaks that the result keeps.
//!
//! # Why no document algebra
//!
//! Wadler's and its kin choose the best of all layouts of a *tree*. Here the layout is mostly given, by the author; what
//! is left to choose is local, so one pass with a stack of open brackets does it, in linear time and without recursion,
//! for comments anywhere between two tokens, which a document would have to carry along as special cases.

mod columns;
mod edits;
mod forms;
mod indent;
mod layout;
mod lines;
mod markdown;
mod read;
mod tree;

pub use edits::{Edit, apply, format_forms, format_range};
pub use indent::{new_line, reindent};
pub use markdown::{Block, Markdown, format_markdown};

use remc_base::{Diagnostic, ModuleId, Span};

/// How wide lines may be, in characters. Comments are as wide as they are.
pub const WIDTH: usize = 100;

/// The text of a file, formatted.
///
/// The result ends with one line end (an empty text stays empty), and has the line ends that the text has: `\r\n` if its
/// first one is.
///
/// # Errors
/// What the reader finds wrong with the text: its forms cannot be told then.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic<Span>>> {
    // The prelude's forms are a program's and some more; whether they are allowed is not asked here.
    let parsed = remc_syntax::parse(ModuleId(0), text, true);
    if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(parsed.diagnostics);
    }
    let tree = tree::tree(text, &[]);
    Ok(layout::layout(&tree).join())
}

/// Whether two texts are the same but for their layout: the same tokens and comments, in which the reader sees the same
/// forms; whether two tokens touch may matter to it. What overwrites a file asks this first.
pub fn same_program(a: &str, b: &str) -> bool {
    /// Tokens, then comments, without the space at their ends.
    fn solid(text: &str) -> (Vec<&str>, Vec<&str>) {
        let all = remc_syntax::tokens(text);
        let of = |start: u32, end: u32| text.get(start as usize..end as usize).unwrap_or_default();
        let comments = all.trivia.iter().filter(|t| t.kind != remc_syntax::token::TriviaKind::Space);
        (
            all.tokens.iter().map(|t| of(t.start, t.end)).collect(),
            comments.map(|t| of(t.start, t.end).trim_end()).collect(),
        )
    }
    let items = |text: &str| remc_syntax::parse(ModuleId(0), text, true).items;
    solid(a) == solid(b) && items(a).iter().map(|i| &i.item).eq(items(b).iter().map(|i| &i.item))
}

#[cfg(test)]
mod tests {
    use super::same_program;

    #[test]
    fn programs_are_the_same_but_for_their_layout() {
        assert!(same_program("(f x) ; one\n(g y)", "(f\n  x)  ; one\n\n(g y)\n"));
        assert!(!same_program("(f x)", "(f y)"));
        assert!(!same_program("(f x) ; one", "(f x)  ; two"));
        assert!(!same_program("(f{int |} x)", "(f {int |} x)"), "braces belong to what they touch");
    }
}

//! At most so many messages as a person reads, then how many more there are.

use remc_base::{Diagnostic, Span};
use remc_syntax::codes::TOO_MANY;

/// How many messages of a program are shown.
const SHOWN: usize = 100;

/// The first errors, and as many of the other messages as there is room for, in their order. The last message says how
/// many are left out; the reader's own, which says that of one file, goes into it.
pub(super) fn most(all: Vec<Diagnostic<Span>>) -> Vec<Diagnostic<Span>> {
    let counts = |d: &Diagnostic<Span>| d.code == TOO_MANY;
    if all.len() <= SHOWN || all.len() == SHOWN + 1 && all.last().is_some_and(counts) {
        return all;
    }
    let not_counted = all.iter().any(counts);
    let all: Vec<Diagnostic<Span>> = all.into_iter().filter(|d| !counts(d)).collect();
    let errors = all.iter().filter(|d| d.is_error()).count();
    let (mut room_for_errors, mut room) = (SHOWN, SHOWN.saturating_sub(errors));
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for d in all {
        let left = if d.is_error() { &mut room_for_errors } else { &mut room };
        if *left == 0 {
            hidden.push(d);
        } else {
            *left -= 1;
            shown.push(d);
        }
    }
    let errors = hidden.iter().filter(|d| d.is_error()).count();
    let some =
        |n: usize, what: &str| (n > 0).then(|| format!("{n} more {what}{}", if n == 1 { "" } else { "s" }));
    let others = hidden.len() - errors;
    let parts: Vec<String> = [some(errors, "error"), some(others, "warning")].into_iter().flatten().collect();
    let are = if hidden.len() == 1 { "is" } else { "are" };
    let message = match (parts.is_empty(), not_counted) {
        (true, false) => return shown,
        (true, true) => "more errors are not shown".to_string(),
        (false, true) => format!("{}, and others, {are} not shown", parts.join(" and ")),
        (false, false) => format!("{} {are} not shown", parts.join(" and ")),
    };
    let last = if errors > 0 || not_counted {
        Diagnostic::error(TOO_MANY, message)
    } else {
        Diagnostic::warning(TOO_MANY, message)
    };
    let last = last.help("mend the first ones and run again");
    let place =
        hidden.iter().find(|d| d.is_error() || errors == 0).and_then(|d| d.labels.iter().find(|l| l.primary));
    shown.push(match place {
        Some(l) => last.primary(l.loc, "the first that is not shown"),
        None => last,
    });
    shown
}

#[cfg(test)]
mod tests {
    use super::most;
    use remc_base::{Code, Diagnostic, ModuleId, Span};
    use remc_syntax::codes::{self, TOO_MANY};

    const CODE: Code = codes::UNEXPECTED_CLOSER;

    fn at(i: usize) -> Span {
        Span { module: ModuleId(0), start: i as u32, end: i as u32 + 1 }
    }

    fn error(i: usize) -> Diagnostic<Span> {
        Diagnostic::error(CODE, format!("error {i}")).primary(at(i), "here")
    }

    fn warning(i: usize) -> Diagnostic<Span> {
        Diagnostic::warning(CODE, format!("warning {i}")).primary(at(i), "here")
    }

    #[test]
    fn a_hundred_are_all() {
        assert_eq!(most((0..100).map(error).collect()).len(), 100);
        let one_more = most((0..101).map(error).collect());
        let last = one_more.last().unwrap();
        assert_eq!((one_more.len(), last.message.as_str()), (101, "1 more error is not shown"));
        assert_eq!((last.code, last.labels[0].loc), (TOO_MANY, at(100)));
    }

    #[test]
    fn errors_come_before_warnings() {
        // 150 warnings, then an error: it is shown, and 99 warnings before it.
        let said = most((0..150).map(warning).chain([error(150)]).collect());
        assert_eq!(said.len(), 101);
        assert_eq!(said[98].message, "warning 98");
        assert_eq!(said[99].message, "error 150");
        assert_eq!(said[100].message, "51 more warnings are not shown");
        assert!(!said[100].is_error());
        let said = most((0..150).map(error).chain([warning(150)]).collect());
        assert_eq!(said[100].message, "50 more errors and 1 more warning are not shown");
    }

    #[test]
    fn what_one_file_leaves_out_is_said_once() {
        let count = Diagnostic::error(TOO_MANY, "7 more errors in this file are not shown");
        let one = most((0..100).map(error).chain([count.clone()]).collect());
        assert_eq!(one.last(), Some(&count));
        let more = most((0..100).map(error).chain([count]).chain((100..103).map(error)).collect());
        assert_eq!(more.last().unwrap().message, "3 more errors, and others, are not shown");
    }
}

//! The text of Typed in a normal form: node ids gone, variables numbered in order of appearance.

use remc_base::sexp::{Sexp, SexpKind, quoted, read};
use std::collections::HashMap;

/// Two programs with equal normal forms differ at most in where they came from and in the numbers and
/// names of their variables.
pub fn normal_form(text: &str) -> Result<String, String> {
    let all = read(text).map_err(|e| e.to_string())?;
    let mut w = Writer::default();
    all.iter().for_each(|s| w.write(s));
    Ok(w.out)
}

#[derive(Default)]
struct Writer<'t> {
    out: String,
    numbers: HashMap<&'t str, usize>,
}

impl<'t> Writer<'t> {
    fn write(&mut self, s: &Sexp<'t>) {
        match &s.kind {
            SexpKind::Int(n) => self.out.push_str(&n.to_string()),
            SexpKind::Str(t) => self.out.push_str(&quoted(t)),
            SexpKind::Atom(a) => self.atom(a),
            SexpKind::List(items) => {
                // One node a line, for a readable difference.
                if is_row(items) {
                    self.out.push('\n');
                }
                let origin = origin(items);
                self.out.push('(');
                let mut first = true;
                for (i, item) in items.iter().enumerate() {
                    if Some(i) == origin {
                        continue;
                    }
                    if !first {
                        self.out.push(' ');
                    }
                    first = false;
                    self.write(item);
                }
                self.out.push(')');
            }
        }
    }

    /// A variable is its sigil, name and id: `%x.1`, `@s.4`.
    fn atom(&mut self, a: &'t str) {
        let sigil: String = a.chars().take_while(|c| "%$!@^".contains(*c)).collect();
        let id = a
            .rsplit_once('.')
            .is_some_and(|(_, id)| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()));
        if sigil.is_empty() || !id {
            self.out.push_str(a);
            return;
        }
        let next = self.numbers.len();
        let n = *self.numbers.entry(a).or_insert(next);
        self.out.push_str(&format!("{sigil}{n}"));
    }
}

fn is_row(items: &[Sexp]) -> bool {
    matches!(items, [Sexp { kind: SexpKind::Atom(head), .. }, Sexp { kind: SexpKind::Int(_), .. }, _, _]
        if head.starts_with('e') && head[1..].bytes().all(|b| b.is_ascii_digit()))
}

/// Where the node id is in `(eN origin τ form)` and in `(origin τ form)`, which is not a shape of three
/// dims, the third a sum.
fn origin(items: &[Sexp]) -> Option<usize> {
    if is_row(items) {
        return Some(1);
    }
    let [Sexp { kind: SexpKind::Int(_), .. }, _, Sexp { kind: SexpKind::List(form), .. }] = items else {
        return None;
    };
    match form.first().map(|s| &s.kind) {
        Some(SexpKind::Atom(head)) if !matches!(*head, "+" | "*" | "rank" | "size") => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_do_not_matter_and_dims_do() {
        let a = "(nodes (e0 5 int (let (%x.3 int) (6 int (int 1)) (7 int (var %x.3)))))";
        let b = "(nodes (e0 1 int (let (%y.9 int) (2 int (int 1)) (3 int (var %y.9)))))";
        assert_eq!(normal_form(a), normal_form(b));
        assert_ne!(normal_form("(arr int (2 3 (+ 1 $n.1)))"), normal_form("(arr int (3 3 (+ 1 $n.1)))"));
        assert_ne!(normal_form("(f %x.1 %y.2)"), normal_form("(f %x.1 %x.1)"));
    }
}

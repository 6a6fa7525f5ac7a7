//! What stops a program, in words: its checks' messages, with slots for values, and places in the user's text.
//!
//! A message is what [`remc_base::Trap`] says, so that a printed program says what `remc run` does. In it a
//! value is `%` with two letters, its type and its number, and a vector with a third, how many of its numbers there
//! are; `text/api.cuh` puts them in.

use remc_base::trap::{Format, Piece};
use remc_base::{BaseTy, Prov, Trap};
use remc_kernel::ir::{Program, Stmt, StmtKind, Ty};
use std::collections::BTreeMap;

/// The tables of checks, of messages about arrays that are too large, by rank, and of places.
pub fn tables(p: &Program, traps: &[Trap], at: &dyn Fn(Prov) -> Option<String>) -> String {
    let mut out = String::from(
        "// What checks say, by their numbers.\nstatic const char *const remc_own_checks[] = {\n",
    );
    for t in traps {
        out.push_str(&format!("  {},\n", quoted(&text(&t.format()))));
    }
    out.push_str("  \"\"\n};\n\n// What is said of an array that is too large, by its rank.\n");
    out.push_str("static const char *const remc_own_too_large[] = {\n");
    for rank in 0..=most_axes(p).min(remc_base::trap::MOST_VALUES) {
        let trap = Trap::TooLarge { rank, by: "GPU".into(), most: 0 };
        out.push_str(&format!("  {},\n", quoted(&text(&trap.format()))));
    }
    out.push_str(
        "};\n\n// Where in the program what may stop is.\nstatic const remc_place remc_own_places[] = {\n",
    );
    for (prov, place) in places(p, at) {
        out.push_str(&format!("  {{{}, {}}},\n", prov.0, quoted(&place)));
    }
    out.push_str("  {REMC_NO_PLACE, 0}\n};\n");
    out
}

/// The places of all that may stop the program.
fn places(p: &Program, at: &dyn Fn(Prov) -> Option<String>) -> BTreeMap<Prov, String> {
    fn block(stmts: &[Stmt], to: &mut Vec<Prov>) {
        for s in stmts {
            let kind = &s.kind;
            if matches!(kind, StmtKind::Check { .. } | StmtKind::Alloc { .. } | StmtKind::Launch { .. }) {
                to.push(s.prov);
            }
            kind.blocks().into_iter().for_each(|b| block(b, to));
        }
    }
    let mut all = Vec::new();
    p.kernels.iter().for_each(|(_, k)| block(&k.body, &mut all));
    block(&p.plan, &mut all);
    all.into_iter().filter_map(|prov| Some((prov, at(prov)?))).collect()
}

/// The most axes of an array or a grid; a vector of bytes is always among them.
fn most_axes(p: &Program) -> usize {
    let arrays = p.vars.iter().map(|(_, i)| match &i.ty {
        Ty::Buffer(b) => b.dims.len(),
        Ty::Scalar(_) => 0,
    });
    let grids = p.kernels.iter().map(|(_, k)| k.grid.len());
    arrays.chain(grids).max().unwrap_or(0).max(1)
}

/// The message as one line, as `--diagnostics short` shows it.
fn text(f: &Format) -> String {
    let mut out = String::new();
    for piece in &f.message {
        match piece {
            Piece::Text(t) => out.push_str(&t.replace('%', "%%")),
            Piece::Value { at, ty } => out.push_str(&format!("%{}{at:x}", letter(*ty))),
            Piece::Whole { at, ty } => {
                let letter = letter(*ty);
                let letter = if ty.is_float() { letter.to_ascii_uppercase() } else { letter };
                out.push_str(&format!("%{letter}{at:x}"));
            }
            Piece::Vector { at, most } => out.push_str(&format!("%v{at:x}{most:x}")),
        }
    }
    let line: Vec<&str> = out.lines().collect();
    format!("error[{}]: {}", f.code, line.join(" "))
}

fn letter(ty: BaseTy) -> char {
    match ty {
        BaseTy::Bool => 'b',
        BaseTy::U64 => 'u',
        BaseTy::F16 => 'h',
        BaseTy::F32 => 'f',
        BaseTy::F64 => 'd',
        _ => 'i',
    }
}

/// A check's message for people: what depends on the run is `…`.
pub fn plain(f: &Format) -> String {
    let pieces = f.message.iter().map(|p| match p {
        Piece::Text(t) => t.as_str(),
        Piece::Value { .. } | Piece::Whole { .. } | Piece::Vector { .. } => "…",
    });
    pieces.collect()
}

/// A string of C.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            // Two question marks may begin a trigraph.
            '"' | '\\' | '?' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() && c.is_ascii() => out.push_str(&format!("\\{:03o}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_slots() {
        let t = Trap::Index { axes: 1.into(), rank: 2.into() };
        assert_eq!(
            text(&t.format()),
            "error[R0001]: the index [%i0] is out of range for the shape [%i1 %i2]"
        );
        let t = Trap::CastToChar { from: BaseTy::F32 };
        assert_eq!(text(&t.format()), "error[R0010]: no char has the code point %F0: (cast %f0)");
        let t = Trap::TooSmall { why: "100% is\ntoo much".into(), dim: "n".into() };
        assert_eq!(text(&t.format()), "error[R0005]: 100%% is too much: n is %i0");
    }

    #[test]
    fn strings_are_quoted() {
        assert_eq!(quoted("a\"b\\c\u{1}1 λ??="), "\"a\\\"b\\\\c\\0011 λ\\?\\?=\"");
    }
}

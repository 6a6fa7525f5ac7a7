//! The manifest: what a printed program takes and gives, its kernels and checks, as JSON for other programs.

use crate::checks::plain;
use crate::fixed::constants;
use crate::host;
use crate::interface::{Interface, Size};
use crate::kernel;
use crate::scalar::type_name;
use remc_base::{BaseTy, Trap};
use remc_kernel::ir::{Atom, Kernel, Program, Space, Stmt, StmtKind, Ty};

/// What stands before and behind what the entries say; the first line says that remc has written it.
pub fn around(version: &str) -> (String, String) {
    (format!("{{\"remc\": {},\n \"entries\": [\n", string(version)), "]}\n".to_owned())
}

/// What an entry says of itself, a line for each input, result, number, kernel and check.
pub fn manifest(p: &Program, i: &Interface, traps: &[Trap], fixed: &[(String, i64)]) -> String {
    let sizes: Vec<String> = i.sizes.iter().map(|(_, c)| string(c)).collect();
    let inputs = i.leaves.iter().map(|l| {
        let dims: Vec<String> = l
            .dims
            .iter()
            .flatten()
            .map(|d| match d {
                Size::Known(n) => n.to_string(),
                Size::Given(k) => i.sizes.get(*k).map_or_else(|| "null".to_owned(), |(_, c)| string(c)),
            })
            .collect();
        format!(
            "{{\"name\": {}, \"argument\": {}, \"type\": {}, \"rank\": {}, \"dims\": [{}]}}",
            string(&l.name),
            string(&l.c),
            string(base(l.base)),
            dims.len(),
            dims.join(", ")
        )
    });
    let outputs = i.given.iter().map(|g| {
        format!(
            "{{\"name\": {}, \"argument\": {}, \"type\": {}, \"rank\": {}, \"scalar\": {}}}",
            string(&g.name),
            string(&g.c),
            string(base(g.base)),
            g.rank.unwrap_or(0),
            g.rank.is_none()
        )
    });
    let kernels = p.kernels.iter().map(|(id, k)| {
        let constants = constants(k).into_iter().map(|c| format!("\"{}\": {}, ", c.name, c.value));
        format!(
            "{{\"name\": {}, {}\"shared_bytes\": {}}}",
            string(&kernel::symbol(id, k)),
            constants.collect::<String>(),
            shared(p, k)
        )
    });
    let thresholds = p.thresholds().into_iter().map(|(name, value)| {
        let kind = host::kind(name.as_str());
        format!("{{\"name\": {}, \"kind\": {}, \"value\": {value}}}", string(name.as_str()), string(kind))
    });
    let fixed =
        fixed.iter().map(|(name, value)| format!("{{\"name\": {}, \"value\": {value}}}", string(name)));
    let checks = traps.iter().map(|t| {
        let f = t.format();
        format!("{{\"code\": {}, \"message\": {}}}", string(f.code.0), string(&plain(&f)))
    });
    format!(
        "{{\"entry\": {},\n \"function\": {},\n \"sizes\": [{}],\n \"inputs\": {},\n \"outputs\": {},\n \
         \"thresholds\": {},\n \"fixed\": {},\n \"kernels\": {},\n \"checks\": {}}}",
        string(&i.entry),
        string(&i.function),
        sizes.join(", "),
        list(inputs),
        list(outputs),
        list(thresholds),
        list(fixed),
        list(kernels),
        list(checks)
    )
}

/// The bytes of the arrays that the threads of a block share. What they exchange values through comes to it.
fn shared(p: &Program, k: &Kernel) -> u64 {
    fn block(p: &Program, stmts: &[Stmt]) -> u64 {
        let of = |s: &Stmt| {
            let own = match &s.kind {
                StmtKind::Alloc { buffer } => match p.ty(*buffer) {
                    Ty::Buffer(b) if b.space == Space::Shared => {
                        let size = |a: &Atom| match a {
                            Atom::Const(c) => c.to_bits64().max(0) as u64,
                            Atom::Var(_) => 0,
                        };
                        b.dims.iter().map(size).product::<u64>() * u64::from(b.base.bits() / 8)
                    }
                    _ => 0,
                },
                _ => 0,
            };
            own + s.kind.blocks().into_iter().map(|b| block(p, b)).sum::<u64>()
        };
        stmts.iter().map(of).sum()
    }
    block(p, &k.body)
}

/// A base type's name, with its width.
fn base(t: BaseTy) -> &'static str {
    match t {
        BaseTy::Char => "char",
        t => type_name(t),
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.map(|i| format!("\n  {i}")).collect();
    format!("[{}]", items.join(","))
}

/// A string of JSON.
fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

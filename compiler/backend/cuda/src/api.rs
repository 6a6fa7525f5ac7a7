//! The C API of a printed program: its header, and the entry as a function on the host's memory.
//!
//! ```text
//! int remc_entry_dot(remc_context *context, int64_t n, const double *xs, const double *ys, double *result);
//! ```
//!
//! The header stands at the top of the printed text too, so that both are the same by construction.

use crate::host::from_word;
use crate::interface::{Interface, Size, c_constant, c_type};
use crate::scalar::type_name;
use crate::writer::Writer;
use remc_base::BaseTy;

const HEADER: &str = include_str!("text/header.h");

/// What is said where boxes hide shapes of any rank.
const SHAPES: &str = " *
 * A shape `s` that a box hides is the vector of its dims. Of an array of boxes, `s` has those of all: as many as
 * `s_ranks` says of a box, from its `s_starts` on. What is in a box has the axes of such a shape as one.
";

/// An entry, and the types of its inputs as it declares them, by name.
pub struct Declared<'a> {
    pub i: &'a Interface,
    pub types: Vec<(String, String)>,
}

/// What entries are called together: "entry `a`", "entries `a` and `b`".
pub fn listed<'a>(all: impl Iterator<Item = &'a Interface>) -> String {
    let names: Vec<String> = all.map(|i| format!("`{}`", i.entry)).collect();
    match names.as_slice() {
        [one] => format!("entry {one}"),
        [before @ .., last] => format!("entries {} and {last}", before.join(", ")),
        [] => "entries".to_owned(),
    }
}

/// The header.
pub fn header(all: &[Declared<'_>], version: &str) -> String {
    let mut about = String::new();
    for d in all {
        if all.len() > 1 {
            about.push_str(&format!(
                " *\n * The entry `{}`, {}(context{}):\n *\n",
                d.i.entry,
                d.i.function,
                arguments(d.i)
            ));
        }
        about.push_str(&described(d));
    }
    if all.iter().any(|d| d.i.shapes) {
        about.push_str(SHAPES);
    }
    let call =
        all.first().map(|d| format!("{}(context{})", d.i.function, arguments(d.i))).unwrap_or_default();
    let guard: Vec<String> = all.iter().map(|d| d.i.identifier.clone()).collect();
    let prototypes = all.iter().map(|d| {
        format!(
            "REMC_PUBLIC {};\n/* What it takes and gives, its thresholds, kernels and checks, as JSON. */\n\
             REMC_PUBLIC const char *{}(void);\n",
            prototype(d.i),
            d.i.manifest
        )
    });
    HEADER
        .replace("@ENTRIES@", &within(&format!("The {}", listed(all.iter().map(|d| d.i)))))
        .replace("@GUARD@", &format!("REMC_ENTRY_{}", guard.join("_AND_")))
        .replace("@VERSION@", version)
        .replace("@CALL@", &call)
        .replace("@ABOUT@", within(about.trim_end()).trim_start_matches('\n'))
        .replace("@PROTOTYPES@", &prototypes.collect::<String>())
}

/// What the function of an entry is given behind the context.
fn arguments(i: &Interface) -> String {
    i.sizes.iter().map(|(_, c)| format!(", {c}")).collect::<String>()
        + &i.leaves.iter().map(|l| format!(", {}", l.c)).collect::<String>()
        + &i.given.iter().map(|g| format!(", &{}", g.c)).collect::<String>()
}

/// A line for each of these.
fn described(d: &Declared<'_>) -> String {
    let i = d.i;
    let mut about = String::new();
    for (name, c) in &i.sizes {
        about.push_str(&format!(" *   {c:<12}  the size `{name}`\n"));
    }
    for (k, (name, ty)) in d.types.iter().enumerate() {
        let of: Vec<&str> = i.leaves.iter().filter(|l| l.input == k).map(|l| l.c.as_str()).collect();
        about.push_str(&format!(" *   {:<12}  the input `{name}`, of type {ty}\n", of.join(", ")));
    }
    for g in &i.given {
        let what = match g.rank {
            None => c_type(g.base).to_owned(),
            Some(n) => format!("{}, an array of rank {n}", c_constant(g.base)),
        };
        about.push_str(&format!(" *   {:<12}  gives `{}`: {what}\n", g.c, g.name));
    }
    about
}

/// Text within a comment.
fn within(text: &str) -> String {
    text.replace("*/", "* /")
}

fn prototype(i: &Interface) -> String {
    let mut params = vec!["remc_context *context".to_owned()];
    params.extend(i.sizes.iter().map(|(_, c)| format!("int64_t {c}")));
    params.extend(i.leaves.iter().map(|l| match l.dims {
        None => format!("{} {}", c_type(l.base), l.c),
        Some(_) => format!("const {} *{}", c_type(l.base), l.c),
    }));
    params.extend(i.given.iter().map(|g| match g.rank {
        None => format!("{} *{}", c_type(g.base), g.c),
        Some(_) => format!("remc_array *{}", g.c),
    }));
    format!("int {}({})", i.function, params.join(", "))
}

/// The entry's function.
pub fn entry(i: &Interface) -> String {
    let mut w = Writer::default();
    w.open(format!("extern \"C\" {} {{", prototype(i)));
    w.line("if (!context) return REMC_WRONG_ARGUMENT;");
    for g in i.given.iter().filter(|g| g.rank.is_some()) {
        w.line(format!("remc_empty({});", g.c));
    }
    // An array of none is refused by compilers.
    w.line(format!("u64 params[{}] = {{}}, results[{}] = {{}};", words(i).max(1), i.results.max(1)));
    let mut conditions = vec![format!("remc_begin(context, &{}::remc_own)", i.namespace)];
    for g in &i.given {
        conditions.push(format!("remc_wants(context, \"{}\", {})", g.c, g.c));
    }
    for (k, (_, c)) in i.sizes.iter().enumerate() {
        conditions.push(format!("remc_size_given(context, \"{c}\", {c}, params + {k})"));
    }
    for (k, l) in i.leaves.iter().enumerate() {
        let at = i.sizes.len() + k;
        conditions.push(match &l.dims {
            Some(dims) => {
                let sizes: Vec<String> = std::iter::once("1".to_owned())
                    .chain(dims.iter().map(|d| match d {
                        Size::Known(n) => n.to_string(),
                        Size::Given(k) => i.sizes.get(*k).map_or_else(String::new, |(_, c)| c.clone()),
                    }))
                    .collect();
                format!(
                    "remc_array_given(context, \"{}\", {}, {}, remc_dims<{}>{{{}}}.at + 1, {}, params + {at})",
                    l.c,
                    c_constant(l.base),
                    dims.len(),
                    sizes.len(),
                    sizes.join(", "),
                    l.c
                )
            }
            None if l.base == BaseTy::Char => {
                format!("remc_char_given(context, \"{}\", {}, params + {at})", l.c, l.c)
            }
            None => {
                let value = match l.base {
                    BaseTy::F16 => l.c.clone(),
                    t => format!("remc::word(({}){})", type_name(t), l.c),
                };
                w.line(format!("params[{at}] = (u64){value};"));
                continue;
            }
        });
    }
    conditions.push(format!("{}::remc_run(context, params, results) == 0", i.namespace));
    for g in &i.given {
        if let Some(rank) = g.rank {
            conditions.push(format!(
                "remc_array_taken(context, {}, {rank}, results + {}, {})",
                c_constant(g.base),
                g.word,
                g.c
            ));
        }
    }
    let fine = conditions.join(" &&\n                    ");
    w.line(format!("const bool remc_fine = {fine};"));
    w.open("if (!remc_fine) {");
    for g in i.given.iter().filter(|g| g.rank.is_some()) {
        w.line(format!("remc_array_free({});", g.c));
    }
    w.line("return remc_end(context);");
    w.close("}");
    for g in i.given.iter().filter(|g| g.rank.is_none()) {
        let word = format!("results[{}]", g.word);
        let value = match g.base {
            BaseTy::F16 => format!("(u16){word}"),
            t => from_word(t, &word),
        };
        w.line(format!("*{} = {value};", g.c));
    }
    w.line("return remc_end(context);");
    w.close("}");
    w.finish()
}

/// How many words the parameters have.
pub fn words(i: &Interface) -> usize {
    i.sizes.len() + i.leaves.len()
}

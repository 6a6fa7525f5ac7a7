//! What an entry takes and gives, as Futhark sees it.
//!
//! A parameter keeps its name. A size that is the length of an array is a size parameter, `[n]`, which the caller
//! does not give; one that is not is an `i64` in front. Boxes and tuples are several parameters, and several
//! results; what says how they belong together is a comment above the entry.
//!
//! A size that a result is printed with is not given again if it is the length of a result that is.

use crate::printer::{Printer, R};
use crate::types::{Sizes, UNKNOWN, ty_text, type_name};
use crate::{Error, names};
use remc_base::Scalar;
use remc_mono::ir::*;

/// A parameter of the program.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    pub var: Var,
    /// A size that the arrays tell.
    pub implicit: bool,
}

/// The parameters, and the positions of the body's results that the entry gives, in order.
#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    pub params: Vec<Param>,
    pub given: Vec<usize>,
}

/// How a program is called.
pub fn interface(p: &Program) -> Interface {
    let arrays: Vec<Var> = p.params.iter().copied().filter(|v| !p.ty(*v).is_scalar()).collect();
    let is_length = |v: Var| arrays.iter().any(|a| p.ty(*a).dims.contains(&Atom::Var(v)));
    let inputs: Vec<Var> = p.inputs.iter().flat_map(Input::vars).collect();
    let params: Vec<Param> =
        p.params.iter().map(|v| Param { var: *v, implicit: !inputs.contains(v) && is_length(*v) }).collect();
    let (mut leaves, mut sizes) = (Vec::new(), Vec::new());
    positions(&p.output, &mut leaves, &mut sizes);
    let known = |k: usize| match p.body.results.get(k) {
        Some(Atom::Const(Scalar::I64(_))) => true,
        Some(Atom::Var(v)) => {
            params.iter().any(|q| q.var == *v && q.implicit)
                || leaves.iter().any(|l| match p.body.results.get(*l) {
                    Some(Atom::Var(a)) => p.ty(*a).dims.contains(&Atom::Var(*v)),
                    _ => false,
                })
        }
        _ => false,
    };
    let redundant = |k: usize| sizes.contains(&k) && !leaves.contains(&k) && known(k);
    let given = (0..p.body.results.len()).filter(|k| !redundant(*k)).collect();
    Interface { params, given }
}

/// The positions of arrays, and of sizes, of a result.
fn positions(output: &Output, leaves: &mut Vec<usize>, sizes: &mut Vec<usize>) {
    let mut open = vec![output];
    while let Some(output) = open.pop() {
        match output {
            Output::Array(k) => leaves.push(*k),
            Output::Tuple { frame, fields } => {
                sizes.extend(frame);
                open.extend(fields.iter().map(|f| &f.1));
            }
            Output::Box { witnesses, contents, .. } => {
                for w in witnesses {
                    match w {
                        Witness::Dim(_) | Witness::Shape(_) => sizes.extend(w.results()),
                        Witness::Vector(_) | Witness::Vectors { .. } => leaves.extend(w.results()),
                    }
                }
                open.push(contents);
            }
            Output::Boxes { frame, witnesses, contents, .. } => {
                sizes.extend(frame);
                leaves.extend(witnesses.iter().flat_map(Witness::results));
                open.push(contents);
            }
            // No array has these sizes.
            Output::Functions { frame, .. } => leaves.extend(frame),
            Output::Part { starts, data } => leaves.extend([*starts, *data]),
            Output::Parts { starts, boxes } => {
                leaves.push(*starts);
                open.push(boxes);
            }
        }
    }
}

/// The name of the entry.
fn entry_name(p: &Program) -> String {
    match p.name.as_str().starts_with('#') {
        true => "main".to_owned(),
        false => match names::identifier(p.name.as_str()) {
            name if crate::keywords::is_reserved(&name, crate::helpers::is_helper) => format!("{name}_entry"),
            name => name,
        },
    }
}

/// The head of the entry; its parameters get their names.
pub fn signature(pr: &mut Printer<'_>, interface: &Interface) -> R<String> {
    let p = pr.p;
    let mut out = format!("entry {}", pr.names.fresh(&entry_name(p)));
    for q in interface.params.iter().filter(|q| q.implicit) {
        out += &format!(" [{}]", pr.bind(q.var));
    }
    for q in interface.params.iter().filter(|q| !q.implicit) {
        let sizes = pr.declared(q.var)?;
        let name = pr.bind(q.var);
        out += &format!(" ({name}: {})", ty_text(pr.base(q.var), &sizes));
    }
    let types = interface.given.iter().map(|k| match p.body.results.get(*k) {
        Some(a) => Ok(ty_text(p.atom_ty(*a).base, &pr.sizes_of_result(*a)?)),
        None => Err(Error("a result that is not there".into())),
    });
    let types = types.collect::<R<Vec<_>>>()?;
    if out.len() > 90 {
        out = out.replace(" (", "\n    (");
    }
    Ok(match types.as_slice() {
        // Functions alone, of which there is nothing to give: that it ran.
        [] => format!("{out} : bool"),
        [one] => format!("{out} : {one}"),
        all => format!("{out} : ({})", all.join(", ")),
    })
}

impl Printer<'_> {
    /// The sizes of a result, as far as the entry's head can name them.
    pub fn sizes_of_result(&self, a: Atom) -> R<Sizes> {
        let size = |d: &Atom| match d {
            Atom::Var(v) if !self.in_scope(*v) || !self.p.params.contains(v) => Ok(UNKNOWN.to_owned()),
            d => self.dim(*d),
        };
        self.p.atom_ty(a).dims.iter().map(size).collect()
    }
}

/// The comment at the top: what the text is, and what its parameters and results mean.
pub fn about(p: &Program, interface: &Interface, version: &str) -> String {
    let name = p.name.as_str().trim_start_matches('#');
    let mut lines = vec![format!("`{name}` as Futhark, by remc {version}.")];
    let var = |v: &Var| names::identifier(p.vars[*v].name.as_str());
    for input in &p.inputs {
        describe_input(input, &var, &mut lines);
    }
    let plain = matches!(p.output, Output::Array(_));
    if !plain {
        let place = |k: usize| match interface.given.iter().position(|g| *g == k) {
            Some(at) => format!("result {at}"),
            None => match p.body.results.get(k) {
                Some(Atom::Const(Scalar::I64(n))) => n.to_string(),
                _ => "the length of what follows".to_owned(),
            },
        };
        lines.push(format!("Results: {}", describe_output(&p.output, &place)));
    }
    let chars = p.params.iter().any(|v| type_name(p.ty(*v).base) != p.ty(*v).base.name())
        && p.params.iter().any(|v| p.ty(*v).base == remc_base::BaseTy::Char);
    if chars {
        lines.push("A char is its code point, a u32.".to_owned());
    }
    lines.iter().map(|l| format!("-- {l}\n")).collect()
}

fn describe_input(input: &Input, var: &dyn Fn(&Var) -> String, lines: &mut Vec<String>) {
    match input {
        Input::Array(_) | Input::Channel { .. } => {}
        Input::Stream { items, .. } => describe_input(items, var, lines),
        Input::Tuple(fields) => fields.iter().for_each(|(_, f)| describe_input(f, var, lines)),
        Input::Boxes { witnesses, contents } => {
            let lengths = witnesses.iter().filter_map(|w| match w {
                InputWitness::Dim(v) => Some(format!("`{}`", var(v))),
                InputWitness::Shape { .. } => None,
            });
            let lengths: Vec<String> = lengths.collect();
            if !lengths.is_empty() {
                lines.push(format!("Boxes: {} say how long each is.", lengths.join(", ")));
            }
            for w in witnesses {
                if let InputWitness::Shape { ranks, starts, dims } = w {
                    let (ranks, starts, dims) = (var(ranks), var(starts), var(dims));
                    lines.push(format!(
                        "Boxes: `{dims}` has the shapes of all, each of `{ranks}` axes from `{starts}` on."
                    ));
                }
            }
            describe_input(contents, var, lines);
        }
        Input::Part { starts, data } => {
            let (starts, data) = (var(starts), var(data));
            lines.push(format!("`{data}` has the elements of all boxes; those of each begin at `{starts}`."));
        }
        Input::Parts { starts, boxes } => {
            lines.push(format!("Boxes in boxes: those of each begin at `{}`.", var(starts)));
            describe_input(boxes, var, lines);
        }
    }
}

/// Whether a box hides a shape whose number of axes is known only when the program runs.
fn has_shape(witnesses: &[Witness]) -> bool {
    witnesses.iter().any(|w| matches!(w, Witness::Vector(_)))
}

fn describe_output(output: &Output, place: &dyn Fn(usize) -> String) -> String {
    let sizes = |all: &[Witness]| {
        let all = all.iter().map(|w| match w {
            Witness::Dim(_) | Witness::Shape(_) => {
                w.results().into_iter().map(place).collect::<Vec<_>>().join(", ")
            }
            Witness::Vector(k) => format!("the shape in {}", place(*k)),
            Witness::Vectors { ranks, starts, dims } => {
                format!(
                    "shapes in {}, each of {} axes from {} on",
                    place(*dims),
                    place(*ranks),
                    place(*starts)
                )
            }
        });
        all.collect::<Vec<_>>().join(", ")
    };
    match output {
        Output::Array(k) => place(*k),
        Output::Tuple { fields, .. } => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(label, f)| match label {
                    Some(l) => format!("{l}: {}", describe_output(f, place)),
                    None => describe_output(f, place),
                })
                .collect();
            format!("({})", fields.join(", "))
        }
        Output::Box { witnesses, contents, .. } if has_shape(witnesses) => {
            format!("a box ({}) of {}", sizes(witnesses), describe_output(contents, place))
        }
        Output::Box { contents, .. } => format!("a box of {}", describe_output(contents, place)),
        Output::Boxes { witnesses, contents, .. } => {
            format!("boxes (lengths: {}) of {}", sizes(witnesses), describe_output(contents, place))
        }
        Output::Functions { frame, .. } => match &frame[..] {
            [] => "a function".to_owned(),
            sizes => {
                let sizes: Vec<String> = sizes.iter().map(|k| place(*k)).collect();
                format!("functions ({} of them)", sizes.join(" × "))
            }
        },
        Output::Part { starts, data } => format!("{}, each from {} on", place(*data), place(*starts)),
        Output::Parts { starts, boxes } => {
            format!("boxes, each from {} on: {}", place(*starts), describe_output(boxes, place))
        }
    }
}

//! Boxes among the inputs of a printed program, in the types of `text/tables.cuh`.
//!
//! A literal is read before the sizes are known that its type mentions. So the reader keeps the shape of what is
//! in each box, and the function of C that is printed here compares one axis of it with the type afterwards, and
//! learns from it what only boxes say:
//!
//! ```text
//! (Σ (n) [float n m])     case 0: remc_bare_size(input, length, witnesses + 0, "n"); break;
//!                         case 1: remc_bare_size(input, length, sizes + 1, "m"); break;
//! ```
//!
//! A hidden shape has as many of the axes as it has dims, or, where the literal does not say it, as the others leave.

use super::known::{Known, Meaning};
use super::{Tables, label, linear, wrong};
use crate::Error;
use crate::checks::quoted;
use crate::writer::Writer;
use remc_base::{ArrTy, AtomTy, Dim, DimVar, IVar, Name, ShapeItem, ShapeVar, SigmaTy};
use remc_kernel::ir::{Input, InputWitness};
use rustc_hash::FxHashMap;

/// What is known of boxes so far.
#[derive(Default)]
pub struct Boxes {
    /// The indices that all types of boxes hide, each as a row of C: their numbers are those of the arrays of
    /// witnesses and of shapes there.
    pub hidden: Vec<String>,
    /// What is done with an axis of the contents, by number, or with the axes of a shape.
    axes: Vec<Axes>,
}

/// What is done with axes of the contents of boxes.
enum Axes {
    /// With one: a statement of C.
    One(String),
    /// With those of the hidden shape of this number, as many as it has.
    Of(usize),
}

/// A row of the table of inputs.
pub struct Row {
    pub kind: char,
    pub axes: usize,
    /// The number of the elements' leaf; of boxes that of the first witness.
    pub leaf: usize,
    /// In boxes: the leaf that says where those of each box begin, and the number of the first own axis.
    pub starts: Option<usize>,
    pub dim: Option<usize>,
    pub witness: usize,
    pub count: usize,
}

impl Row {
    pub fn of(kind: char, axes: usize) -> Row {
        Row { kind, axes, leaf: 0, starts: None, dim: None, witness: 0, count: 0 }
    }

    pub fn text(&self, name: Option<&Name>, next: usize) -> String {
        let number = |n: Option<usize>| n.map_or(-1, |n| n as i64);
        format!(
            "{{{}, '{}', {}, {next}, {}, {}, {}, {}, {}}}",
            label(name),
            self.kind,
            self.axes,
            self.leaf,
            number(self.starts),
            number(self.dim),
            self.witness,
            self.count
        )
    }
}

impl Boxes {
    /// The function that compares the axes of what is in boxes with the types.
    pub fn compare(&self) -> String {
        let mut w = Writer::default();
        w.open("static void remc_boxed_axis(");
        w.line("const remc_input *input, u32 number, i64 length, [[maybe_unused]] i64 *sizes,");
        w.line("[[maybe_unused]] i64 *witnesses, [[maybe_unused]] const remc_axes *shapes) {");
        w.line("(void)input;");
        w.line("(void)length;");
        w.open("switch (number) {");
        for (k, what) in self.axes.iter().enumerate() {
            if let Axes::One(what) = what {
                w.line(format!("case {k}: {what} break;"));
            }
        }
        w.line("default: break;");
        w.close("}");
        w.close("}");
        w.line("// The number of the hidden shape whose axes are here; -1 of one axis.");
        w.open("static i32 remc_boxed_shape(u32 number) {");
        w.open("switch (number) {");
        for (k, what) in self.axes.iter().enumerate() {
            if let Axes::Of(shape) = what {
                w.line(format!("case {k}: return {shape};"));
            }
        }
        w.line("default: return -1;");
        w.close("}");
        w.close("}");
        w.finish()
    }
}

impl Tables<'_> {
    /// Takes the leaves of boxes and adds what is in them; the number of their first witness. `says` is of the
    /// frame, `known` what sizes and outer witnesses are in C.
    pub fn boxes(
        &mut self,
        witnesses: &[InputWitness],
        contents: &Input,
        sigma: &SigmaTy,
        says: &[Option<Dim>],
        known: &Known,
    ) -> Result<usize, Error> {
        let first = self.boxes.hidden.len();
        let mut inside = known.clone();
        for (v, w) in sigma.params.iter().zip(witnesses) {
            let (number, leaf) = (self.boxes.hidden.len(), self.leaf);
            let is_shape = matches!(w, InputWitness::Shape { .. });
            self.boxes.hidden.push(format!("{{{leaf}, {is_shape}}}"));
            self.learn(says);
            match is_shape {
                false => inside.bind(v, vec![format!("witnesses[{number}]")]),
                true => {
                    inside.bind_shape(v, number);
                    self.learn(says);
                    self.learn(&[]);
                }
            }
        }
        self.contents(contents, None, &sigma.body, says, &inside)?;
        Ok(first)
    }

    /// Adds a part of the contents of boxes, and what is in it.
    fn contents(
        &mut self,
        input: &Input,
        name: Option<&Name>,
        ty: &ArrTy,
        says: &[Option<Dim>],
        known: &Known,
    ) -> Result<(), Error> {
        let at = self.inputs.len();
        self.inputs.push(String::new());
        let first = self.boxes.axes.len();
        let dim = Some(first);
        for item in ty.shape.items() {
            match item {
                ShapeItem::Dim(d) => {
                    let what = self.compared(d, known)?;
                    self.boxes.axes.push(Axes::One(what));
                }
                ShapeItem::Var(ShapeVar::Rigid(v)) => match known.get(v) {
                    Some(Meaning::Sizes(sizes)) => {
                        let each = sizes.iter().map(|size| Axes::One(bare(size, &v.to_string())));
                        self.boxes.axes.extend(each);
                    }
                    Some(Meaning::Shape(k)) => self.boxes.axes.push(Axes::Of(*k)),
                    None => {}
                },
                ShapeItem::Var(ShapeVar::Meta(_)) => return wrong("an input of an open type"),
            }
        }
        let axes = self.boxes.axes.len() - first;
        let row = match (input, &ty.atom) {
            (Input::Part { .. }, _) => {
                let starts = Some(self.leaf);
                self.learn(says);
                self.learn(&[]);
                Row { leaf: self.leaf - 1, starts, dim, ..Row::of('[', axes) }
            }
            (Input::Tuple(fields), AtomTy::Tuple(q)) if fields.len() == q.fields.len() => {
                for ((name, field), (_, ty)) in fields.iter().zip(&q.fields) {
                    self.contents(field, name.as_ref(), ty, says, known)?;
                }
                Row { dim, ..Row::of('(', axes) }
            }
            (Input::Boxes { witnesses, contents }, AtomTy::Sigma(sigma)) => {
                let (leaf, count) = (self.leaf, witnesses.len());
                let witness = self.boxes(witnesses, contents, sigma, says, known)?;
                Row { leaf, dim, witness, count, ..Row::of('#', axes) }
            }
            (Input::Parts { boxes, .. }, AtomTy::Sigma(sigma)) => {
                let Input::Boxes { witnesses, contents } = &**boxes else {
                    return wrong("boxes in boxes that are none");
                };
                let starts = Some(self.leaf);
                self.learn(says);
                let (leaf, count) = (self.leaf, witnesses.len());
                let witness = self.boxes(witnesses, contents, sigma, &[], known)?;
                Row { leaf, starts, dim, witness, count, ..Row::of('#', axes) }
            }
            _ => return wrong("an input of another type"),
        };
        let next = self.inputs.len();
        self.inputs[at] = row.text(name, next);
        Ok(())
    }

    /// What is done with an axis that a type says `d` of: a size on its own is learnt or compared, of others what
    /// is unknown is found first.
    fn compared(&self, d: &Dim, known: &Known) -> Result<String, Error> {
        let Some(value) = known.polynomial(d) else { return wrong("an input of a size that nobody knows") };
        if d.as_var().is_some() {
            return Ok(bare(&value, &d.to_string()));
        }
        let compare = format!("remc_same_size(input, length, {value}, {});", quoted(&d.to_string()));
        let of_entry = |v: &DimVar| -> Option<IVar> {
            match v {
                DimVar::Rigid(v) if known.sizes(v)?.first()?.starts_with("sizes") => Some(v.clone()),
                _ => None,
            }
        };
        let mut open: Vec<IVar> = d.vars().filter_map(of_entry).collect();
        open.dedup();
        let [v] = open.as_slice() else { return Ok(compare) };
        let unknown: FxHashMap<u32, usize> = std::iter::once((v.id, 0)).collect();
        let found = linear(d, &unknown).and_then(|(_, rest, coefficient)| {
            Some((known.polynomial(&rest)?, known.polynomial(&coefficient)?, known.sizes(v)?.first()?))
        });
        Ok(match found {
            Some((rest, coefficient, size)) => {
                let says = quoted(&format!("no {v} makes {d} equal to"));
                format!(
                    "if ({size} < 0) remc_solve_size(input, length, {rest}, {coefficient}, &{size}, {says}); {compare}"
                )
            }
            None => compare,
        })
    }
}

/// What is done with an axis that has a size on its own.
fn bare(size: &str, says: &str) -> String {
    format!("remc_bare_size(input, length, &{size}, {});", quoted(says))
}

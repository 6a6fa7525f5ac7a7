//! The value of a printed program, part by part, in the types of `text/tables.cuh`.
//!
//! What is in the boxes of an array has no dims of its own among the results: its type says them, for each box
//! anew, from the box's witnesses. So a row has the numbers of expressions, which are one function of C
//! (`remc_dim`) of what is known when the program runs; the texts of types mention them as `{3}`. A shape whose
//! number of axes is known only then is one of them (`remc_axes_of`), wherever its dims belong.
//!
//! ```text
//! (boxes (n) [int n] [2] ((1) [5]) ((2) [6 7]))     all   (boxes (n) [int n] [
//!                                                   row   {0}              case 0: return witnesses[0];
//! ```

use super::known::{Expression, Known, Meaning, Slots};
use super::{label, wrong};
use crate::Error;
use crate::checks::quoted;
use crate::interface::{Interface, c_constant, rank};
use crate::writer::Writer;
use remc_base::{ArrTy, AtomTy, Name, ShapeItem, ShapeVar};
use remc_kernel::ir::{Output, Program, Witness};

/// The rows of the tables so far.
pub struct Outputs {
    parts: Vec<String>,
    boxes: Vec<String>,
    /// The results that hold witnesses, in the order in which opened boxes have them.
    witnesses: Vec<usize>,
    /// The results that hold shapes: the ranks, the starts and the dims, or the dims of one shape alone.
    shapes: Vec<(Option<(usize, usize)>, usize)>,
    /// What `remc_dim` and `remc_axes_of` give, by number.
    expressions: Vec<Expression>,
}

/// Where the contents of boxes are: their type, and how many axes there are around it.
#[derive(Clone, Copy)]
struct Inside<'t> {
    ty: &'t ArrTy,
    outer: usize,
}

/// A row of the table of parts, as far as the kind decides it.
struct Row {
    kind: char,
    rank: usize,
    /// The elements, or the first size; `None` where a type says the sizes.
    result: Option<usize>,
    starts: Option<usize>,
    /// The number of its row in the table of boxes.
    boxes: Option<usize>,
}

impl Outputs {
    /// The tables of the value, and how many witnesses, shapes and parts there are; `known` are the entry's indices.
    pub fn tables(p: &Program, i: &Interface, known: &Known) -> Result<(String, [usize; 3]), Error> {
        let (parts, boxes, witnesses, shapes, expressions) = Default::default();
        let mut o = Outputs { parts, boxes, witnesses, shapes, expressions };
        o.part(p, &p.output, None, known, None)?;
        let mut w = Writer::default();
        w.open("static const remc_result remc_results[] = {");
        for (a, word) in p.results.iter().zip(&i.words) {
            let (base, rank) = rank(p, *a)?;
            w.line(format!("{{{}, {}, {word}}},", c_constant(base), rank.map_or(-1, |n| n as i64)));
        }
        w.line("{-1, -1, 0}");
        w.close("};");
        let witnesses: String = o.witnesses.iter().map(|at| format!("{at}, ")).collect();
        w.line(format!("static const u32 remc_witnesses[] = {{{witnesses}0}};"));
        w.open("[[maybe_unused]] static const remc_hidden_shape remc_hidden_shapes[] = {");
        for (many, dims) in &o.shapes {
            let (ranks, starts) = many.map_or((-1, -1), |(ranks, starts)| (ranks as i64, starts as i64));
            w.line(format!("{{{ranks}, {starts}, {dims}}},"));
        }
        w.line("{-1, -1, 0}");
        w.close("};");
        w.open("[[maybe_unused]] static const remc_box remc_boxes[] = {");
        o.boxes.iter().for_each(|row| w.line(format!("{row},")));
        w.line("{0, 0, 0, 0, 0, 0, 0, 0}");
        w.close("};");
        w.open(
            "static i64 remc_dim(u32 number, const u64 *params, const i64 *witnesses, const remc_axes *shapes) {",
        );
        w.line("(void)params;");
        w.line("(void)witnesses;");
        w.line("(void)shapes;");
        w.open("switch (number) {");
        for (k, value) in o.expressions.iter().enumerate() {
            if let Expression::Number(value) = value {
                w.line(format!("case {k}: return {value};"));
            }
        }
        w.line("default: return 0;");
        w.close("}");
        w.close("}");
        w.open("static const remc_axes *remc_axes_of(u32 number, const remc_axes *shapes) {");
        w.line("(void)shapes;");
        w.open("switch (number) {");
        for (k, value) in o.expressions.iter().enumerate() {
            if let Expression::Shape(n) = value {
                w.line(format!("case {k}: return shapes + {n};"));
            }
        }
        w.line("default: return 0;");
        w.close("}");
        w.close("}");
        w.open("static const remc_output_part remc_output_parts[] = {");
        o.parts.iter().for_each(|part| w.line(format!("{part},")));
        w.close("};");
        Ok((w.finish(), [o.witnesses.len(), o.shapes.len(), o.parts.len()]))
    }

    /// Adds a part and what is in it.
    fn part(
        &mut self,
        p: &Program,
        output: &Output,
        name: Option<&Name>,
        known: &Known,
        inside: Option<Inside<'_>>,
    ) -> Result<(), Error> {
        let at = self.parts.len();
        self.parts.push(String::new());
        let own = match inside {
            Some(inside) => self.own_dims(inside.ty, known)?,
            None => Vec::new(),
        };
        let boxed_rank = inside.map_or(0, |inside| inside.outer + own.len());
        let row = match output {
            Output::Array(at) => {
                let Some(a) = p.results.get(*at) else { return wrong("a result that is not given") };
                let rank = if inside.is_some() { boxed_rank } else { rank(p, *a)?.1.unwrap_or(0) };
                Row { kind: '[', rank, result: Some(*at), starts: None, boxes: None }
            }
            Output::Part { starts, data } => {
                let (result, starts) = (Some(*data), Some(*starts));
                Row { kind: '[', rank: boxed_rank, result, starts, boxes: None }
            }
            Output::Functions { frame, ty } => {
                let rank = if inside.is_some() { boxed_rank } else { frame.len() };
                let mut slots = Slots { known, expressions: &mut self.expressions };
                let text = slots.atom(ty).to_string();
                let boxes = self.boxes.len();
                self.boxes.push(format!("{{{}, 0, 0, 0, 0, 0, 0, 0}}", quoted(&text)));
                let result = if inside.is_some() { None } else { frame.first().copied() };
                Row { kind: 'f', rank, result, starts: None, boxes: Some(boxes) }
            }
            Output::Tuple { frame, fields } => {
                let rank = if inside.is_some() { boxed_rank } else { frame.len() };
                for (k, (name, field)) in fields.iter().enumerate() {
                    let inside = match inside.map(|inside| &inside.ty.atom) {
                        None => None,
                        Some(AtomTy::Tuple(q)) if k < q.fields.len() => {
                            Some(Inside { ty: &q.fields[k].1, outer: rank })
                        }
                        Some(_) => return wrong("contents of another type"),
                    };
                    self.part(p, field, name.as_ref(), known, inside)?;
                }
                Row { kind: '(', rank, result: frame.first().copied(), starts: None, boxes: None }
            }
            Output::Box { ty, witnesses, contents } => {
                let boxes = self.boxes(p, ty, witnesses, (contents, false), known)?;
                Row { kind: '#', rank: 0, result: None, starts: None, boxes: Some(boxes) }
            }
            Output::Boxes { frame, ty, witnesses, contents } => {
                let rank = if inside.is_some() { boxed_rank } else { frame.len() };
                let boxes = self.boxes(p, ty, witnesses, (contents, true), known)?;
                let result = if inside.is_some() { None } else { frame.first().copied() };
                Row { kind: '#', rank, result, starts: None, boxes: Some(boxes) }
            }
            Output::Parts { starts, boxes } => {
                let Output::Boxes { ty, witnesses, contents, .. } = &**boxes else {
                    return wrong("boxes in boxes that are none");
                };
                let boxes = self.boxes(p, ty, witnesses, (contents, true), known)?;
                let starts = Some(*starts);
                Row { kind: '#', rank: boxed_rank, result: None, starts, boxes: Some(boxes) }
            }
        };
        let number = |n: Option<usize>| n.map_or(-1, |n| n as i64);
        let next = self.parts.len();
        let (first, count) = match inside {
            Some(_) => (own.first().copied().unwrap_or(0) as i64, own.len()),
            None => (-1, 0),
        };
        self.parts[at] = format!(
            "{{'{}', {}, {next}, {}, {}, {}, {first}, {count}, {}}}",
            row.kind,
            label(name),
            row.rank,
            number(row.result),
            number(row.starts),
            row.boxes.map_or_else(|| "0".to_owned(), |k| format!("remc_boxes + {k}")),
        );
        Ok(())
    }

    /// The numbers of the dims that a type of contents has: one after the other.
    fn own_dims(&mut self, ty: &ArrTy, known: &Known) -> Result<Vec<usize>, Error> {
        let mut all = Vec::new();
        for item in ty.shape.items() {
            let values = match item {
                ShapeItem::Dim(d) => known.polynomial(d).map(|value| vec![Expression::Number(value)]),
                ShapeItem::Var(ShapeVar::Rigid(v)) => known.get(v).map(|m| match m {
                    Meaning::Sizes(all) => all.iter().cloned().map(Expression::Number).collect(),
                    Meaning::Shape(k) => vec![Expression::Shape(*k)],
                }),
                ShapeItem::Var(ShapeVar::Meta(_)) => None,
            };
            all.extend(values.ok_or_else(|| Error("contents of a size that nobody knows".into()))?);
        }
        let first = self.expressions.len();
        let count = all.len();
        self.expressions.extend(all);
        Ok((first..first + count).collect())
    }

    /// Adds a row of the table of boxes, and what is in them: of all in an array, if `of_array`.
    fn boxes(
        &mut self,
        p: &Program,
        ty: &AtomTy,
        witnesses: &[Witness],
        (contents, of_array): (&Output, bool),
        known: &Known,
    ) -> Result<usize, Error> {
        let AtomTy::Sigma(sigma) = ty else { return wrong("a box of another type") };
        let (first, first_shape) = (self.witnesses.len(), self.shapes.len());
        let mut inside = known.clone();
        // `n`, `n {0}` and `{0}` for each index.
        let (mut names, mut bound, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let named = sigma.named_for_values(&mut 0);
        for ((param, named), witness) in sigma.params.iter().zip(&named.params).zip(witnesses) {
            let from = self.witnesses.len();
            let mut slots = Slots { known, expressions: &mut self.expressions };
            let mut sizes = |positions: &[usize], witnesses: &mut Vec<usize>| {
                witnesses.extend(positions);
                let all: Vec<String> = (from..witnesses.len()).map(|k| format!("witnesses[{k}]")).collect();
                let number = |value: &String| slots.expression(Expression::Number(value.clone()));
                let shown: Vec<String> = all.iter().map(number).map(|n| format!("{{{n}}}")).collect();
                inside.bind(param, all);
                shown.join(" ")
            };
            let shown = match witness {
                Witness::Dim(at) => sizes(&[*at], &mut self.witnesses),
                Witness::Shape(all) => format!("[{}]", sizes(all, &mut self.witnesses)),
                Witness::Vector(_) | Witness::Vectors { .. } => {
                    let number = self.shapes.len();
                    self.shapes.push(match *witness {
                        Witness::Vectors { ranks, starts, dims } => (Some((ranks, starts)), dims),
                        _ => (None, witness.results()[0]),
                    });
                    inside.bind_shape(param, number);
                    format!("[{{{}}}]", slots.expression(Expression::Shape(number)))
                }
            };
            names.push(named.to_string());
            bound.push(format!("({named} {shown})"));
            values.push(shown);
        }
        let count = self.witnesses.len() - first;
        let shapes = self.shapes.len() - first_shape;
        let outside = known.without(&sigma.params);
        let mut slots = Slots { known: &outside, expressions: &mut self.expressions };
        let body = slots.array(&named.body);
        let atom = AtomTy::sigma(named.params.clone(), body.clone()).to_string();
        let texts = [
            atom,
            format!("(box ({}) {body} ", bound.join(" ")),
            format!("(boxes ({}) {body} [", names.join(" ")),
            values.join(" "),
        ];
        let number = self.boxes.len();
        let texts = texts.map(|t| quoted(&t)).join(", ");
        self.boxes.push(format!("{{{texts}, {first}, {count}, {first_shape}, {shapes}}}"));
        let inside_type = Inside { ty: &sigma.body, outer: 0 };
        // What is stored with the axes of a shape as one has the dims that its type says.
        let by_type = of_array || inside.has_shapes();
        self.part(p, contents, None, &inside, by_type.then_some(inside_type))?;
        Ok(number)
    }
}

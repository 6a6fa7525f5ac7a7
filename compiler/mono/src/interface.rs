//! The text of an entry's inputs and results, which every IR from Mono on writes alike.
//!
//! ```text
//! input  ::= (stream x input) | (channel k x input)
//!          | x | (tuple ("label"? input) …) | (boxes (hidden …) input) | (part x x) | (parts x input) | bN
//! output ::= position | (tuple (position …) ("label"? output) …) | (box τ (witness …) output)
//!          | (boxes (position …) τ (witness …) output) | (part position position) | (parts position output)
//!          | (functions (position …) τ) | bN
//! hidden ::= x | (vectors x x x)
//! witness ::= (dim position) | (shape position …) | (vector position) | (vectors position position position)
//! ```
//!
//! What nests too deep for its place is a part of its own, `bN`, further on in the text; how parts
//! are kept is the IR's own matter.

use crate::ir::{Input, InputWitness, Output, Var, Witness};
use crate::text::{Deep, IN_PLACE, around};
use remc_base::sexp::{Sexp, SexpError, SexpKind, quoted};
use remc_base::{ArrTy, Name};
use remc_typed::parse::{Items, Types, fail, id};

type Result<T> = std::result::Result<T, SexpError>;

/// A printer, as far as inputs and results need one.
pub trait PrintInterface<'p> {
    fn input_name(&mut self, v: Var) -> String;
    fn type_text(&mut self, ty: &ArrTy) -> String;
    /// The name of a part that is printed later.
    fn later_input(&mut self, input: &'p Input) -> String;
    fn later_output(&mut self, output: &'p Output) -> String;

    fn input(&mut self, input: &'p Input, depth: usize) -> String {
        match input {
            Input::Array(v) => self.input_name(*v),
            _ if depth == IN_PLACE => self.later_input(input),
            Input::Tuple(fields) => {
                let fields: String =
                    fields.iter().map(|(l, i)| labelled(l)(self.input(i, depth + 1))).collect();
                format!("(tuple{fields})")
            }
            Input::Boxes { witnesses, contents } => {
                let mut words = Vec::with_capacity(witnesses.len());
                for w in witnesses {
                    let names: Vec<String> = w.vars().iter().map(|v| self.input_name(*v)).collect();
                    words.push(match w {
                        InputWitness::Dim(_) => names.join(" "),
                        InputWitness::Shape { .. } => format!("(vectors {})", names.join(" ")),
                    });
                }
                format!("(boxes ({}) {})", words.join(" "), self.input(contents, depth + 1))
            }
            Input::Part { starts, data } => {
                format!("(part {} {})", self.input_name(*starts), self.input_name(*data))
            }
            Input::Parts { starts, boxes } => {
                format!("(parts {} {})", self.input_name(*starts), self.input(boxes, depth + 1))
            }
            Input::Stream { size, items } => {
                format!("(stream {} {})", self.input_name(*size), self.input(items, depth + 1))
            }
            Input::Channel { channel, size, items } => {
                format!("(channel {channel} {} {})", self.input_name(*size), self.input(items, depth + 1))
            }
        }
    }

    fn output(&mut self, output: &'p Output, depth: usize) -> String {
        match output {
            Output::Array(k) => k.to_string(),
            _ if depth == IN_PLACE => self.later_output(output),
            Output::Tuple { frame, fields } => {
                let fields: String =
                    fields.iter().map(|(l, o)| labelled(l)(self.output(o, depth + 1))).collect();
                format!("(tuple ({}){fields})", positions(frame).trim_start())
            }
            Output::Box { ty, witnesses, contents } => {
                let ty = self.type_text(&ArrTy::scalar(ty.clone()));
                let contents = self.output(contents, depth + 1);
                format!("(box {ty} ({}) {contents})", witnesses_text(witnesses))
            }
            Output::Boxes { frame, ty, witnesses, contents } => {
                let ty = self.type_text(&ArrTy::scalar(ty.clone()));
                let (frame, contents) = (positions(frame), self.output(contents, depth + 1));
                format!("(boxes ({}) {ty} ({}) {contents})", frame.trim_start(), witnesses_text(witnesses))
            }
            Output::Functions { frame, ty } => {
                let ty = self.type_text(&ArrTy::scalar(ty.clone()));
                format!("(functions ({}) {ty})", positions(frame).trim_start())
            }
            Output::Part { starts, data } => format!("(part {starts} {data})"),
            Output::Parts { starts, boxes } => format!("(parts {starts} {})", self.output(boxes, depth + 1)),
        }
    }
}

/// A reader, as far as inputs and results need one.
pub trait ReadInterface<'t> {
    fn input_var(&mut self, s: &Sexp<'t>) -> Result<Var>;
    fn types(&mut self) -> &mut Types<'t>;
    /// The part of that name, which has been read already.
    fn input_part(&mut self, s: &Sexp<'t>) -> Result<Deep<Input>>;
    fn output_part(&mut self, s: &Sexp<'t>) -> Result<Deep<Output>>;

    fn input(&mut self, s: &Sexp<'t>) -> Result<Deep<Input>> {
        if let SexpKind::Atom(word) = s.kind {
            if word.starts_with('%') {
                return Ok((Input::Array(self.input_var(s)?), 1));
            }
            return self.input_part(s);
        }
        let (head, mut items) = Items::headed(s)?;
        let (input, below) = match head {
            "tuple" => {
                let (mut below, mut fields) = (0, Vec::new());
                for s in items.rest {
                    let (label, s) = field(s)?;
                    let (field, depth) = self.input(s)?;
                    below = depth.max(below);
                    fields.push((label, field));
                }
                return Ok((Input::Tuple(fields), around(s, below)?));
            }
            "boxes" => {
                let witnesses = Items::list(items.next("witnesses")?, "a list of variables")?.rest;
                let witnesses = witnesses.iter().map(|s| self.hidden(s)).collect::<Result<_>>()?;
                let (contents, below) = self.input(items.next("the contents")?)?;
                (Input::Boxes { witnesses, contents: Box::new(contents) }, below)
            }
            "part" => {
                let starts = self.input_var(items.next("a variable")?)?;
                (Input::Part { starts, data: self.input_var(items.next("a variable")?)? }, 0)
            }
            "parts" => {
                let starts = self.input_var(items.next("a variable")?)?;
                let (boxes, below) = self.input(items.next("boxes")?)?;
                (Input::Parts { starts, boxes: Box::new(boxes) }, below)
            }
            "stream" => {
                let size = self.input_var(items.next("a size")?)?;
                let (all, below) = self.input(items.next("its items")?)?;
                (Input::Stream { size, items: Box::new(all) }, below)
            }
            "channel" => {
                let channel = id(items.next("a channel")?)?;
                let size = self.input_var(items.next("a size")?)?;
                let (all, below) = self.input(items.next("its items")?)?;
                (Input::Channel { channel, size, items: Box::new(all) }, below)
            }
            _ => {
                return fail(
                    s,
                    "a variable, (tuple …), (boxes …), (part …), (parts …), (stream …) or (channel …) was expected",
                );
            }
        };
        items.end()?;
        Ok((input, around(s, below)?))
    }

    fn hidden(&mut self, s: &Sexp<'t>) -> Result<InputWitness> {
        if let SexpKind::Atom(_) = s.kind {
            return Ok(InputWitness::Dim(self.input_var(s)?));
        }
        let (head, mut items) = Items::headed(s)?;
        if head != "vectors" {
            return fail(s, "a variable or (vectors …) was expected");
        }
        let ranks = self.input_var(items.next("a variable")?)?;
        let starts = self.input_var(items.next("a variable")?)?;
        let dims = self.input_var(items.next("a variable")?)?;
        items.end()?;
        Ok(InputWitness::Shape { ranks, starts, dims })
    }

    fn output(&mut self, s: &Sexp<'t>) -> Result<Deep<Output>> {
        match s.kind {
            SexpKind::Int(_) => return Ok((Output::Array(id(s)?), 1)),
            SexpKind::Atom(_) => {
                return self.output_part(s);
            }
            _ => {}
        }
        let (head, mut items) = Items::headed(s)?;
        match head {
            "tuple" => {
                let frame = numbers(Items::list(items.next("a frame")?, "a list of positions")?.rest)?;
                let (mut below, mut fields) = (0, Vec::new());
                for s in items.rest {
                    let (label, s) = field(s)?;
                    let (field, depth) = self.output(s)?;
                    below = depth.max(below);
                    fields.push((label, field));
                }
                Ok((Output::Tuple { frame, fields }, around(s, below)?))
            }
            "box" | "boxes" => {
                let frame = match head {
                    "boxes" => {
                        Some(numbers(Items::list(items.next("a frame")?, "a list of positions")?.rest)?)
                    }
                    _ => None,
                };
                let ty = items.next("a type")?;
                let read = self.types().ty(ty)?;
                if !read.shape.is_scalar() {
                    return fail(ty, "the type of one box was expected");
                }
                let mut witnesses = Vec::new();
                for s in Items::list(items.next("witnesses")?, "a list of witnesses")?.rest {
                    let (head, mut items) = Items::headed(s)?;
                    witnesses.push(match head {
                        "dim" => {
                            let dim = Witness::Dim(id(items.next("a position")?)?);
                            items.end()?;
                            dim
                        }
                        "shape" => Witness::Shape(numbers(items.rest)?),
                        "vector" => {
                            let dims = Witness::Vector(id(items.next("a position")?)?);
                            items.end()?;
                            dims
                        }
                        "vectors" => {
                            let ranks = id(items.next("a position")?)?;
                            let starts = id(items.next("a position")?)?;
                            let dims = id(items.next("a position")?)?;
                            items.end()?;
                            Witness::Vectors { ranks, starts, dims }
                        }
                        _ => return fail(s, "(dim …), (shape …), (vector …) or (vectors …) was expected"),
                    });
                }
                let (contents, below) = self.output(items.next("the contents")?)?;
                items.end()?;
                let (ty, contents) = (read.atom, Box::new(contents));
                let output = match frame {
                    Some(frame) => Output::Boxes { frame, ty, witnesses, contents },
                    None => Output::Box { ty, witnesses, contents },
                };
                Ok((output, around(s, below)?))
            }
            "functions" => {
                let frame = numbers(Items::list(items.next("a frame")?, "a list of positions")?.rest)?;
                let ty = items.next("a type")?;
                let read = self.types().ty(ty)?;
                if !read.shape.is_scalar() {
                    return fail(ty, "the type of one function was expected");
                }
                items.end()?;
                Ok((Output::Functions { frame, ty: read.atom }, 1))
            }
            "part" => {
                let starts = id(items.next("a position")?)?;
                let data = id(items.next("a position")?)?;
                items.end()?;
                Ok((Output::Part { starts, data }, 1))
            }
            "parts" => {
                let starts = id(items.next("a position")?)?;
                let (boxes, below) = self.output(items.next("boxes")?)?;
                items.end()?;
                Ok((Output::Parts { starts, boxes: Box::new(boxes) }, around(s, below)?))
            }
            _ => fail(
                s,
                "a position, (tuple …), (box …), (boxes …), (functions …), (part …) or (parts …) was expected",
            ),
        }
    }
}

fn witnesses_text(all: &[Witness]) -> String {
    let all = all.iter().map(|w| match w {
        Witness::Dim(k) => format!("(dim {k})"),
        Witness::Shape(ks) => format!("(shape{})", positions(ks)),
        Witness::Vector(k) => format!("(vector {k})"),
        Witness::Vectors { ranks, starts, dims } => format!("(vectors {ranks} {starts} {dims})"),
    });
    all.collect::<Vec<_>>().join(" ")
}

fn labelled<'a>(label: &'a Option<Name>) -> impl Fn(String) -> String + use<'a> {
    move |text| match label {
        Some(l) => format!(" ({} {text})", quoted(l.as_str())),
        None => format!(" ({text})"),
    }
}

/// A field's label and the rest, which is one item.
fn field<'s, 't>(s: &'s Sexp<'t>) -> Result<(Option<Name>, &'s Sexp<'t>)> {
    let mut items = Items::list(s, "a field")?;
    let label = match items.rest.first() {
        Some(Sexp { kind: SexpKind::Str(label), .. }) => {
            items.next("a label")?;
            Some(Name::new(label))
        }
        _ => None,
    };
    let rest = items.next("what the field is")?;
    items.end()?;
    Ok((label, rest))
}

/// The numbers of a list, none of them negative.
///
/// # Errors
/// The first item that is no such number.
pub fn numbers(items: &[Sexp]) -> Result<Vec<usize>> {
    items.iter().map(id).collect()
}

/// Positions, each after a space.
pub(crate) fn positions(all: &[usize]) -> String {
    all.iter().map(|k| format!(" {k}")).collect()
}

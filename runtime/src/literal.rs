//! Remora literals as inputs, read by the language's own reader against the type that is wanted.
//!
//! A literal has no types of its own here: `1` is an `f32` where an `f32` is wanted, a bracket of rows
//! of different length is an error, and so is a number that the wanted type cannot hold. Where boxes are wanted, what
//! could be in one is: `[[1 2] [] [3]]` is a vector of three boxes, if such a vector is wanted.

use crate::budget::Budget;
use crate::numbers;
use remc_base::value::Data;
use remc_base::*;
use remc_syntax::ast::{Expr, ExprKind, IndexExpr, IndexKind, ItemKind, TypeExpr, TypeKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a text is no value of the wanted type.
#[derive(Clone, PartialEq, Debug)]
pub enum LiteralError {
    /// The text does not read; spans are into it.
    Syntax(Vec<Diagnostic<Span>>),
    /// It reads, but is no literal: `(+ 1 2)`, a name.
    NotALiteral(String),
    /// What was found in place of what is wanted.
    Mismatch(String),
}

type R<T> = Result<T, LiteralError>;

/// Reads `text` as a value of type `wanted`. Dims of `wanted` that are variables fit any size; that they
/// agree with each other and with other inputs is for the caller to check.
pub fn read(text: &str, wanted: &ArrTy) -> R<Value> {
    let budget = Budget::new(u64::MAX);
    let mut bytes = text.bytes();
    match numbers::read(|| bytes.next(), &wanted.atom, &mut budget.room()) {
        Some(Ok(value)) => {
            fits(&value.shape, &wanted.shape).map_err(LiteralError::Mismatch)?;
            Ok(value)
        }
        _ => read_tree(text, wanted),
    }
}

/// … of any form, by the language's reader.
pub(crate) fn read_tree(text: &str, wanted: &ArrTy) -> R<Value> {
    let parsed = remc_syntax::parse(ModuleId(u32::MAX), text, false);
    let errors: Vec<_> = parsed.diagnostics.into_iter().filter(|d| d.is_error()).collect();
    if !errors.is_empty() {
        return Err(LiteralError::Syntax(errors));
    }
    let value = match parsed.items.as_slice() {
        [one] => match &one.item.kind {
            ItemKind::Expr(e) => evaluate_as(e, wanted, false)?,
            _ => return Err(LiteralError::NotALiteral("a definition".into())),
        },
        [] => return Err(LiteralError::NotALiteral("an empty text".into())),
        _ => return Err(LiteralError::NotALiteral("more than one expression".into())),
    };
    fits(&value.shape, &wanted.shape).map_err(LiteralError::Mismatch)?;
    Ok(value)
}

/// Whether a text can be meant as a literal at all, whatever its type.
pub fn is_literal(text: &str) -> bool {
    let parsed = remc_syntax::parse(ModuleId(u32::MAX), text, false);
    parsed.diagnostics.iter().all(|d| !d.is_error())
        && matches!(parsed.items.as_slice(), [one] if matches!(&one.item.kind, ItemKind::Expr(e) if literal(e)))
}

fn literal(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Int { .. }
        | ExprKind::Float { .. }
        | ExprKind::Bool(_)
        | ExprKind::Char(_)
        | ExprKind::Str(_)
        | ExprKind::EmptyArray { .. } => true,
        ExprKind::Bracket(es) | ExprKind::Array { elems: es, .. } | ExprKind::Values(es) => {
            es.iter().all(literal)
        }
        ExprKind::Box { value, .. } | ExprKind::BoxInfer(value) => literal(value),
        ExprKind::Boxes { rows, .. } => rows.iter().all(|(_, e)| literal(e)),
        ExprKind::Record(fields) => fields.iter().all(|(_, e)| literal(e)),
        _ => false,
    }
}

/// Whether an array of this shape can be one of the wanted shape: the rank, and the dims that are
/// known. The error says what was found.
pub fn fits(shape: &[usize], wanted: &Shape) -> Result<(), String> {
    let found = || match shape {
        [] => "a scalar".to_owned(),
        _ => format!("an array of shape {}", show_shape(shape)),
    };
    let items = wanted.items();
    let least = wanted.least_rank();
    let open = items.len() > least;
    if shape.len() < least || (!open && shape.len() > least) {
        let rank = |n: usize| if n == 1 { "rank 1".to_owned() } else { format!("rank {n}") };
        let more = if open { " or more" } else { "" };
        return Err(format!("{}, of {} instead of {}{more}", found(), rank(shape.len()), rank(least)));
    }
    // Dims before the first shape variable count from the front, those after the last from the back.
    let front = items.iter().take_while(|i| matches!(i, ShapeItem::Dim(_))).count();
    let back = items.iter().rev().take_while(|i| matches!(i, ShapeItem::Dim(_))).count();
    let aligned = (0..front)
        .map(|i| (i, &items[i]))
        .chain((0..if open { back } else { 0 }).map(|i| (shape.len() - 1 - i, &items[items.len() - 1 - i])));
    for (axis, item) in aligned {
        if let ShapeItem::Dim(d) = item
            && let Some(n) = d.as_constant()
            && n != shape[axis] as i128
        {
            return Err(format!(
                "{}, whose axis {axis} has {} elements instead of {n}",
                found(),
                shape[axis]
            ));
        }
    }
    Ok(())
}

pub fn show_shape(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", sizes.join(" "))
}

fn mismatch<T>(what: impl Into<String>) -> R<T> {
    Err(LiteralError::Mismatch(what.into()))
}

/// What is wanted of the axes of a literal, those of the brackets around it being gone.
#[derive(Clone, Copy)]
struct Axes<'a> {
    left: &'a [ShapeItem],
    /// In a box no size is known but by what is in it.
    in_box: bool,
}

impl Axes<'_> {
    fn inside(self, brackets: usize) -> Self {
        Self { left: self.left.get(brackets..).unwrap_or(&[]), ..self }
    }

    /// The shape of `[]`: the type says the sizes of the axes after the first, if anything does.
    fn without_elements(self, atom: &AtomTy) -> R<Vec<usize>> {
        let mut shape = vec![0];
        for item in self.inside(1).left {
            let known = match item {
                ShapeItem::Dim(d) => d.as_constant().or(self.in_box.then_some(0)),
                ShapeItem::Var(_) => Some(0).filter(|_| self.in_box),
            };
            match known.and_then(|n| usize::try_from(n).ok()) {
                Some(n) => shape.push(n),
                None => {
                    return mismatch(format!(
                        "`[]`, which does not say the size of axis {}; `(array [0 3] {atom})` does",
                        shape.len()
                    ));
                }
            }
        }
        Ok(shape)
    }
}

/// The value of a literal of a type, of boxes too where these are not written.
fn evaluate_as(e: &Expr, wanted: &ArrTy, in_box: bool) -> R<Value> {
    let axes = Axes { left: wanted.shape.items(), in_box };
    match (&wanted.atom, axes.left.len() == wanted.shape.least_rank()) {
        (AtomTy::Sigma(_), true) => boxes(e, axes, &wanted.atom),
        _ => evaluate(e, axes, &wanted.atom),
    }
}

/// Boxes in these axes.
fn boxes(e: &Expr, axes: Axes, atom: &AtomTy) -> R<Value> {
    match &*e.kind {
        ExprKind::Bracket(es) if !es.is_empty() && !axes.left.is_empty() => {
            stack(vec![es.len()], es.iter().map(|e| boxes(e, axes.inside(1), atom)), atom)
        }
        ExprKind::Box { .. } | ExprKind::BoxInfer(_) | ExprKind::Boxes { .. } => evaluate(e, axes, atom),
        _ if !axes.left.is_empty() => evaluate(e, axes, atom),
        _ => Ok(Value { atom: atom.clone(), shape: vec![], data: Data::Box(vec![box_of(e, atom)?]) }),
    }
}

/// The value of a literal whose atoms have the type `atom`.
fn evaluate(e: &Expr, axes: Axes, atom: &AtomTy) -> R<Value> {
    match &*e.kind {
        ExprKind::Int { .. } | ExprKind::Float { .. } | ExprKind::Bool(_) | ExprKind::Char(_) => {
            Ok(Value::scalar(scalar(e, atom)?))
        }
        ExprKind::Str(text) if *atom == AtomTy::CHAR => {
            let chars: Vec<char> = text.chars().collect();
            Ok(Value { atom: atom.clone(), shape: vec![chars.len()], data: chars.into() })
        }
        ExprKind::Str(_) => mismatch(format!("a string instead of atoms of type {atom}")),
        ExprKind::Bracket(es) if es.is_empty() => {
            Ok(Value { atom: atom.clone(), shape: axes.without_elements(atom)?, data: Data::of_atom(atom) })
        }
        ExprKind::Bracket(es) => {
            stack(vec![es.len()], es.iter().map(|e| evaluate(e, axes.inside(1), atom)), atom)
        }
        ExprKind::Array { dims, elems } => {
            let of = axes.inside(dims.len());
            let dims = dims.iter().map(|n| *n as usize).collect();
            stack(dims, elems.iter().map(|e| evaluate(e, of, atom)), atom)
        }
        ExprKind::EmptyArray { dims, ty } => {
            let mut shape = sizes(dims)?;
            shape.extend(element(ty, atom)?);
            if shape.iter().all(|n| *n > 0) {
                return mismatch("an array without elements none of whose axes has size 0");
            }
            let mut written = ty;
            while let TypeKind::Arr { atom, .. } = &*written.kind {
                written = atom;
            }
            Ok(Value { atom: with_sizes(atom, written), shape, data: Data::of_atom(atom) })
        }
        ExprKind::Box { witnesses, value, .. } => {
            let indices: Vec<&IndexExpr> = witnesses.iter().map(|(_, i)| i).collect();
            let b = boxed(&indices, value, atom)?;
            Ok(Value { atom: atom.clone(), shape: vec![], data: Data::Box(vec![b]) })
        }
        ExprKind::BoxInfer(value) => {
            let b = box_of(value, atom)?;
            Ok(Value { atom: atom.clone(), shape: vec![], data: Data::Box(vec![b]) })
        }
        ExprKind::Boxes { ty, dims, rows, .. } => {
            let shape = sizes(dims)?;
            // Nothing but the type says what would be in them.
            let atom = &match atom {
                AtomTy::Sigma(q) if rows.is_empty() => contents_with_sizes(q, ty),
                _ => atom.clone(),
            };
            if shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)) != Some(rows.len()) {
                return mismatch(format!("{} boxes for the shape {}", rows.len(), show_shape(&shape)));
            }
            let boxes: R<Vec<_>> =
                rows.iter().map(|(is, e)| boxed(&is.iter().collect::<Vec<_>>(), e, atom)).collect();
            Ok(Value { atom: atom.clone(), shape, data: Data::Box(boxes?) })
        }
        ExprKind::Values(es) => match atom {
            AtomTy::Tuple(ty) if ty.fields.len() == es.len() => {
                let fields: R<Vec<Value>> =
                    es.iter().zip(&ty.fields).map(|(e, (_, want))| field(e, want, axes.in_box)).collect();
                Ok(tuple(atom, fields?))
            }
            _ => mismatch(format!("{} values instead of an atom of type {atom}", es.len())),
        },
        ExprKind::Record(given) => match atom {
            AtomTy::Tuple(ty) => {
                let mut fields = vec![];
                for (label, want) in &ty.fields {
                    let found = given.iter().find(|(l, _)| Some(&l.name) == label.as_ref());
                    match (found, label) {
                        (Some((_, e)), _) => fields.push(field(e, want, axes.in_box)?),
                        (None, Some(l)) => return mismatch(format!("a record without `{l}`")),
                        (None, None) => return mismatch(format!("a record instead of {atom}")),
                    }
                }
                if let Some((extra, _)) = given
                    .iter()
                    .find(|(l, _)| !ty.fields.iter().any(|(want, _)| want.as_ref() == Some(&l.name)))
                {
                    return mismatch(format!("a record with `{}`, which {atom} has not", extra.name));
                }
                Ok(tuple(atom, fields))
            }
            _ => mismatch(format!("a record instead of an atom of type {atom}")),
        },
        ExprKind::Var(name) => Err(LiteralError::NotALiteral(format!("the name `{name}`"))),
        ExprKind::App { .. } => Err(LiteralError::NotALiteral("an application".into())),
        _ => Err(LiteralError::NotALiteral("an expression".into())),
    }
}

fn tuple(atom: &AtomTy, fields: Vec<Value>) -> Value {
    Value { atom: atom.clone(), shape: vec![], data: Data::Tuple(vec![Arc::from(fields)]) }
}

fn field(e: &Expr, want: &ArrTy, in_box: bool) -> R<Value> {
    let value = evaluate_as(e, want, in_box)?;
    fits(&value.shape, &want.shape).map_err(LiteralError::Mismatch)?;
    Ok(value)
}

/// Elements of one shape, collected in the frame `dims`.
fn stack(dims: Vec<usize>, elems: impl Iterator<Item = R<Value>>, atom: &AtomTy) -> R<Value> {
    let mut cell: Option<Vec<usize>> = None;
    let mut data = Data::of_atom(atom);
    for v in elems {
        let v = v?;
        match &cell {
            None => cell = Some(v.shape),
            Some(first) if *first != v.shape => {
                return mismatch(format!(
                    "siblings of shapes {} and {}",
                    show_shape(first),
                    show_shape(&v.shape)
                ));
            }
            Some(_) => {}
        }
        // Values of one atom type have atoms of one kind.
        if !data.append(v.data) {
            return mismatch(format!("siblings that are not all atoms of type {atom}"));
        }
    }
    let mut shape = dims;
    shape.extend(cell.unwrap_or_default());
    Ok(Value { atom: atom.clone(), shape, data })
}

/// A number, boolean or character at the base type that is wanted.
fn scalar(e: &Expr, atom: &AtomTy) -> R<Scalar> {
    let AtomTy::Base(ty) = *atom else {
        return mismatch(format!("a scalar instead of an atom of type {atom}"));
    };
    let suffixed = |suffix: &Option<BaseTy>| match suffix {
        Some(s) if *s != ty => mismatch(format!("a number of type {s} instead of {ty}")),
        _ => Ok(()),
    };
    match &*e.kind {
        ExprKind::Int { value, suffix } => {
            suffixed(suffix)?;
            if let Some((least, greatest)) = ty.integer_range()
                && !(least..=greatest).contains(value)
            {
                return mismatch(format!("{value}, which {ty} cannot hold ({least} to {greatest})"));
            }
            match Scalar::from_integer(ty, *value) {
                Some(s) if s.as_float().is_none_or(f64::is_finite) => Ok(s),
                Some(_) => mismatch(format!("{value}, which is past the largest {ty}")),
                None => mismatch(format!("the number {value}, which is not of type {ty}")),
            }
        }
        ExprKind::Float { value, suffix } => {
            suffixed(suffix)?;
            let x = value.value();
            match Scalar::from_float(ty, x) {
                Some(s) if !x.is_finite() || s.as_float().is_some_and(f64::is_finite) => Ok(s),
                Some(_) => mismatch(format!("{x:?}, which is past the largest {ty}")),
                None => mismatch(format!("the float {x:?}, which is not of type {ty}")),
            }
        }
        ExprKind::Bool(b) if ty == BaseTy::Bool => Ok(Scalar::Bool(*b)),
        ExprKind::Bool(b) => mismatch(format!("{}, which is not of type {ty}", if *b { "#t" } else { "#f" })),
        ExprKind::Char(c) if ty == BaseTy::Char => Ok(Scalar::Char(*c)),
        _ => mismatch(format!("a character, which is not of type {ty}")),
    }
}

fn sizes(dims: &[IndexExpr]) -> R<Vec<usize>> {
    let mut out = vec![];
    for d in dims {
        match &*d.kind {
            IndexKind::Nat(n) => out.push(usize::try_from(*n).unwrap_or(usize::MAX)),
            IndexKind::Shape(parts) => out.extend(sizes(parts)?),
            _ => return Err(LiteralError::NotALiteral("a shape that mentions a name".into())),
        }
    }
    Ok(out)
}

/// The shape of one element of an array without elements, whose atom type must be the wanted one.
fn element(ty: &TypeExpr, atom: &AtomTy) -> R<Vec<usize>> {
    match &*ty.kind {
        TypeKind::Arr { atom: inner, shape } => {
            let mut all = sizes(shape)?;
            all.extend(element(inner, atom)?);
            Ok(all)
        }
        TypeKind::Name(name) => match BaseTy::from_name(name.as_str()) {
            Some(b) if *atom != AtomTy::Base(b) => mismatch(format!("an array of {b} instead of {atom}")),
            _ => Ok(vec![]),
        },
        // A Σ or tuple type: the wanted one is taken.
        _ => Ok(vec![]),
    }
}

/// A type with the sizes of one that is written, where those are numbers and its own are no indices of a box.
fn with_sizes(want: &AtomTy, written: &TypeExpr) -> AtomTy {
    match (want, &*written.kind) {
        (AtomTy::Sigma(q), TypeKind::Sigma { body, .. }) => contents_with_sizes(q, body),
        (AtomTy::Tuple(t), TypeKind::Tuple(tys)) if t.fields.len() == tys.len() => {
            let mut tuple = TupleTy::clone(t);
            tuple.fields.iter_mut().zip(tys).for_each(|((_, f), ty)| *f = array_with_sizes(f, ty, &[]));
            AtomTy::Tuple(tuple.into())
        }
        (AtomTy::Tuple(t), TypeKind::Record(tys)) => {
            let mut tuple = TupleTy::clone(t);
            for (label, f) in &mut tuple.fields {
                let of_field = tys.iter().find(|(name, _)| Some(&name.name) == label.as_ref());
                if let Some((_, ty)) = of_field {
                    *f = array_with_sizes(f, ty, &[]);
                }
            }
            AtomTy::Tuple(tuple.into())
        }
        _ => want.clone(),
    }
}

/// The same of boxes, whose contents are written to be of the type `body`.
fn contents_with_sizes(q: &SigmaTy, body: &TypeExpr) -> AtomTy {
    AtomTy::sigma(q.params.clone(), array_with_sizes(&q.body, body, &q.params))
}

/// The same of an array's type, in which boxes hide these indices.
fn array_with_sizes(want: &ArrTy, written: &TypeExpr, hidden: &[IVar]) -> ArrTy {
    let items = want.shape.items();
    let (inner, given) = match &*written.kind {
        TypeKind::Arr { atom, shape } => (atom, shape.as_slice()),
        _ => (written, &[][..]),
    };
    if items.len() != given.len() {
        return want.clone();
    }
    let is_hidden = |v: &DimVar| matches!(v, DimVar::Rigid(v) if hidden.contains(v));
    let sized = items.iter().zip(given).map(|(item, given)| match (item, &*given.kind) {
        (ShapeItem::Dim(d), IndexKind::Nat(n)) if d.as_constant().is_none() && !d.vars().any(is_hidden) => {
            ShapeItem::Dim(Dim::from(i64::try_from(*n).unwrap_or(i64::MAX)))
        }
        _ => item.clone(),
    });
    ArrTy::new(with_sizes(&want.atom, inner), Shape(sized.collect()))
}

/// A box with its witnesses.
fn boxed(indices: &[&IndexExpr], value: &Expr, atom: &AtomTy) -> R<Arc<BoxValue>> {
    let AtomTy::Sigma(sigma) = atom else {
        return mismatch(format!("a box instead of an atom of type {atom}"));
    };
    if indices.len() != sigma.params.len() {
        return mismatch(format!("a box of {} witnesses instead of {}", indices.len(), sigma.params.len()));
    }
    let mut given = vec![];
    for (i, param) in indices.iter().zip(&sigma.params) {
        given.push(match (&*i.kind, param.sort) {
            (IndexKind::Nat(n), Sort::Dim) => IndexValue::Dim(i64::try_from(*n).unwrap_or(i64::MAX)),
            (IndexKind::Shape(_), Sort::Shape) => IndexValue::Shape(sizes(std::slice::from_ref(*i))?),
            _ => return mismatch(format!("a witness for `{param}` that is no {}", sort(param.sort))),
        });
    }
    let value = evaluate_as(value, &sigma.body, true)?;
    let bound: BTreeMap<IVar, IndexValue> = sigma.params.iter().cloned().zip(given.iter().cloned()).collect();
    if let Some(expected) = expand(&sigma.body.shape, &bound)
        && expected != value.shape
    {
        return mismatch(format!(
            "a box whose witnesses say {} and whose value has shape {}",
            show_shape(&expected),
            show_shape(&value.shape)
        ));
    }
    Ok(Arc::new(BoxValue { indices: given, value }))
}

fn sort(s: Sort) -> &'static str {
    match s {
        Sort::Dim => "size",
        Sort::Shape => "shape",
    }
}

/// `(box e)`: the witnesses from the value's shape, where each axis is a constant or a bare variable.
fn box_of(value: &Expr, atom: &AtomTy) -> R<Arc<BoxValue>> {
    let AtomTy::Sigma(sigma) = atom else {
        return mismatch(format!("a box instead of an atom of type {atom}"));
    };
    let value = evaluate_as(value, &sigma.body, true)?;
    fits(&value.shape, &sigma.body.shape).map_err(LiteralError::Mismatch)?;
    boxed_value(value, sigma).map(Arc::new).map_err(LiteralError::Mismatch)
}

/// A box of this type with a value in it that fits, if the value's shape says all that is hidden.
///
/// # Errors
/// What was found, where it does not.
pub(crate) fn boxed_value(value: Value, sigma: &SigmaTy) -> Result<BoxValue, String> {
    let items = sigma.body.shape.items();
    let spliced = value.shape.len() + 1 - items.len().min(value.shape.len() + 1);
    let mut bound: BTreeMap<IVar, IndexValue> = BTreeMap::new();
    let mut axis = 0;
    for item in items {
        match item {
            ShapeItem::Dim(d) => {
                if let Some(DimVar::Rigid(v)) = d.as_var() {
                    let n = value.shape.get(axis).copied().unwrap_or(0);
                    bound.insert(v.clone(), IndexValue::Dim(n as i64));
                }
                axis += 1;
            }
            ShapeItem::Var(ShapeVar::Rigid(v)) => {
                let to = (axis + spliced).min(value.shape.len());
                bound.insert(v.clone(), IndexValue::Shape(value.shape[axis.min(to)..to].to_vec()));
                axis = to;
            }
            ShapeItem::Var(ShapeVar::Meta(_)) => {}
        }
    }
    let indices: Option<Vec<IndexValue>> = sigma.params.iter().map(|p| bound.get(p).cloned()).collect();
    match indices {
        Some(indices) if expand(&sigma.body.shape, &bound).is_none_or(|s| s == value.shape) => {
            Ok(BoxValue { indices, value })
        }
        _ => Err(format!("a box whose witnesses do not follow from the shape {}", show_shape(&value.shape))),
    }
}

/// The sizes of a shape whose variables are all in `bound`.
fn expand(shape: &Shape, bound: &BTreeMap<IVar, IndexValue>) -> Option<Vec<usize>> {
    let mut out = vec![];
    for item in shape.items() {
        match item {
            ShapeItem::Dim(d) => {
                let n = d.eval(&mut |v| match v {
                    DimVar::Rigid(v) => match bound.get(v)? {
                        IndexValue::Dim(n) => Some(*n),
                        IndexValue::Shape(_) => None,
                    },
                    _ => None,
                })?;
                out.push(usize::try_from(n).ok()?);
            }
            ShapeItem::Var(ShapeVar::Rigid(v)) => match bound.get(v)? {
                IndexValue::Shape(s) => out.extend(s),
                IndexValue::Dim(_) => return None,
            },
            ShapeItem::Var(ShapeVar::Meta(_)) => return None,
        }
    }
    Some(out)
}

#[cfg(test)]
#[path = "literal_tests.rs"]
mod tests;

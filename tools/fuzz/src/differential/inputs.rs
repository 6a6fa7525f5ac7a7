//! Values for the parameters of an entry: made at random, and made to fit again when a size changes.
//!
//! An array of boxes is a value whose atoms have sizes of their own. How these are distributed matters more
//! to ragged code than what the boxes hold: [`Lengths`] names the distributions.

use super::term::{Dim, Ty};
use crate::rng::Rng;
use remc_base::name::{IVar, Name, Sort};
use remc_base::value::Data;
use remc_base::{ArrTy, Atom, AtomTy, BaseTy, BoxValue, IndexValue, Scalar, Shape, Value};
use std::sync::Arc;

/// The sizes of dim variables by name; later ones hide earlier ones.
pub type Sizes = Vec<(String, usize)>;

/// The size of a dim; a variable that is not there counts as 0.
pub fn size(sizes: &Sizes, d: &Dim) -> usize {
    match d {
        Dim::Known(n) => *n,
        Dim::Var(v) => sizes.iter().rev().find(|(n, _)| n == v).map_or(0, |(_, s)| *s),
        Dim::Plus(d, k) => (size(sizes, d) as i64 + k).max(0) as usize,
        Dim::Sum(a, b) => size(sizes, a) + size(sizes, b),
        Dim::Product(a, b) => size(sizes, a) * size(sizes, b),
    }
}

/// The atom type of a value: all dims but the hidden ones are numbers.
pub fn atom_of(ty: &Ty, sizes: &Sizes) -> AtomTy {
    let mut hidden = vec![];
    atom_within(ty, sizes, &mut hidden)
}

fn atom_within(ty: &Ty, sizes: &Sizes, hidden: &mut Vec<IVar>) -> AtomTy {
    let Some(sigma) = &ty.boxed else { return AtomTy::Base(ty.atom) };
    let mark = hidden.len();
    for index in &sigma.indices {
        // Unique in the type, and none that an index of the entry has.
        let id = u32::MAX - hidden.len() as u32;
        hidden.push(IVar { id, sort: Sort::Dim, natural: true, name: Name::new(index) });
    }
    let params = hidden[mark..].to_vec();
    let dims: Vec<_> = sigma.body.dims.iter().map(|d| dim_of(d, sizes, hidden)).collect();
    let atom = atom_within(&sigma.body, sizes, hidden);
    hidden.truncate(mark);
    AtomTy::sigma(params, ArrTy::new(atom, Shape::of_dims(dims)))
}

fn dim_of(d: &Dim, sizes: &Sizes, hidden: &[IVar]) -> remc_base::Dim {
    use remc_base::Dim as Poly;
    match d {
        Dim::Known(n) => Poly::from(*n as i64),
        Dim::Var(v) => match hidden.iter().rev().find(|h| h.name.as_str() == v) {
            Some(h) => Poly::rigid(h.clone()),
            None => Poly::from(size(sizes, d) as i64),
        },
        Dim::Plus(d, k) => dim_of(d, sizes, hidden).add(&Poly::from(*k)),
        Dim::Sum(a, b) => dim_of(a, sizes, hidden).add(&dim_of(b, sizes, hidden)),
        Dim::Product(a, b) => dim_of(a, sizes, hidden).mul(&dim_of(b, sizes, hidden)),
    }
}

/// How the sizes that boxes hide are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lengths {
    Equal,
    Random,
    /// Most are 0.
    Sparse,
    /// All but one are 0 or 1.
    OneLong,
    AllEmpty,
    Ascending,
}

impl Lengths {
    pub fn random(rng: &mut Rng) -> Lengths {
        use Lengths::*;
        [Equal, Random, Random, Sparse, OneLong, AllEmpty, Ascending][rng.below(7)]
    }

    /// So many sizes, none above `most`.
    pub fn draw(self, rng: &mut Rng, count: usize, most: usize) -> Vec<usize> {
        let (one, equal) = (rng.below(count), rng.below(most.min(6) + 1));
        let mut draw = |i: usize| match self {
            Lengths::Equal => equal,
            Lengths::Random => rng.below(most.min(9) + 1),
            Lengths::Sparse if rng.one_in(5) => rng.below(most + 1),
            Lengths::OneLong if i == one => most,
            Lengths::OneLong => rng.below(2).min(most),
            Lengths::Sparse | Lengths::AllEmpty => 0,
            Lengths::Ascending => i.min(most),
        };
        (0..count).map(&mut draw).collect()
    }

    /// So many sizes that add up to a total.
    pub fn cut(self, rng: &mut Rng, count: usize, total: usize) -> Vec<usize> {
        let mut out = self.draw(rng, count, total);
        fit_sum(&mut out, total);
        // What is left over went to the last, which is not always the long one.
        if count > 1 && rng.one_in(2) {
            let other = rng.below(count);
            out.swap(other, count - 1);
        }
        out
    }
}

/// Changes the last numbers so that all add up to a total, if there are any.
pub fn fit_sum(all: &mut [usize], total: usize) {
    let mut left = total;
    for n in all.iter_mut() {
        *n = (*n).min(left);
        left -= *n;
    }
    if let Some(last) = all.last_mut() {
        *last += left;
    }
}

/// A value of the type: its scalars by `number`, its boxes' sizes by `lengths`, both from places in it.
pub fn value(
    ty: &Ty,
    sizes: &Sizes,
    lengths: &mut dyn FnMut(usize, usize) -> Vec<Vec<usize>>,
    number: &mut dyn FnMut(BaseTy) -> Scalar,
) -> Value {
    let shape: Vec<usize> = ty.dims.iter().map(|d| size(sizes, d)).collect();
    let count = shape.iter().product::<usize>();
    let Some(sigma) = &ty.boxed else {
        let scalars: Vec<Scalar> = (0..count).map(|_| number(ty.atom)).collect();
        return Value::of_scalars(ty.atom, shape, scalars);
    };
    let atom = atom_of(ty, sizes);
    let mut boxes = vec![];
    for hidden in lengths(count, sigma.indices.len()) {
        let mut inner = sizes.clone();
        inner.extend(sigma.indices.iter().cloned().zip(hidden.iter().copied()));
        let value = value(&sigma.body, &inner, lengths, number);
        let indices = hidden.iter().map(|n| IndexValue::Dim(*n as i64)).collect();
        boxes.push(Arc::new(BoxValue { indices, value }));
    }
    Value { atom, shape, data: Data::Box(boxes) }
}

/// The value with the sizes that its type now has; it keeps its leading elements, and what is new repeats them.
/// `hidden` gives each size that a box hides, from the one that it has.
pub fn refit(old: &Value, ty: &Ty, sizes: &Sizes, hidden: &mut dyn FnMut(usize) -> usize) -> Value {
    let shape: Vec<usize> = ty.dims.iter().map(|d| size(sizes, d)).collect();
    let count = shape.iter().product::<usize>();
    let positions = |i: usize| {
        let (mut left, mut at, mut stride) = (i, 0, 1);
        for (n, o) in shape.iter().zip(&old.shape).rev() {
            at += (left % n).min(o.saturating_sub(1)) * stride;
            left /= n;
            stride *= o;
        }
        at
    };
    let Some(sigma) = &ty.boxed else {
        let zero = zero(ty.atom);
        let scalars: Vec<Scalar> = (0..count)
            .map(|i| match old.data.get(positions(i)) {
                Some(Atom::Scalar(s)) => s,
                _ => zero,
            })
            .collect();
        return Value::of_scalars(ty.atom, shape, scalars);
    };
    let mut boxes = vec![];
    for i in 0..count {
        let Some(Atom::Box(b)) = old.data.get(positions(i)) else { continue };
        let mut inner = sizes.clone();
        let mut indices = vec![];
        for (name, index) in sigma.indices.iter().zip(&b.indices) {
            let n = match index {
                IndexValue::Dim(n) => hidden(*n as usize),
                IndexValue::Shape(_) => 0,
            };
            inner.push((name.clone(), n));
            indices.push(IndexValue::Dim(n as i64));
        }
        boxes.push(Arc::new(BoxValue { indices, value: refit(&b.value, &sigma.body, &inner, hidden) }));
    }
    // Of an array without boxes there is none to repeat.
    if boxes.len() < count {
        let mut empty = |n: usize, k: usize| vec![vec![0; k]; n];
        return value(ty, sizes, &mut empty, &mut zero);
    }
    Value { atom: atom_of(ty, sizes), shape, data: Data::Box(boxes) }
}

/// `0`, `#f` or `a`.
pub fn zero(ty: BaseTy) -> Scalar {
    let zero = match ty {
        BaseTy::Bool => Some(Scalar::Bool(false)),
        BaseTy::Char => Some(Scalar::Char('a')),
        ty if ty.is_float() => Scalar::from_float(ty, 0.0),
        ty => Scalar::from_integer(ty, 0),
    };
    zero.unwrap_or(Scalar::Bool(false))
}

/// Whether an input may have this in its boxes: sizes that are no sums of several.
pub fn is_plain(ty: &Ty) -> bool {
    let plain = |d: &Dim| match d {
        Dim::Known(_) | Dim::Var(_) => true,
        Dim::Plus(d, k) => *k > 0 && matches!(**d, Dim::Var(_)),
        _ => false,
    };
    ty.dims.iter().all(plain) && ty.boxed.as_ref().is_none_or(|s| is_plain(&s.body))
}

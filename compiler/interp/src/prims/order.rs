//! Order: of items of any type, and given by a function.

use super::Call;
use crate::error::R;
use crate::value::{Array, BoxVal, Data, IndexVal};
use remc_base::Scalar;
use remc_base::ops::total_cmp;
use smallvec::smallvec;
use std::cmp::Ordering;

pub(super) fn grade(c: &Call) -> R<Array> {
    let (n, xs, item) = c.items(0)?;
    let compare = |a: &usize, b: &usize| atoms((&xs.data, a * item), (&xs.data, b * item), item);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(compare);
    Ok(positions(order))
}

pub(super) fn grade_by(c: &Call) -> R<Array> {
    let (n, xs, item) = c.items(1)?;
    let before = c.arg(0)?.as_func()?;
    let goes_before = |x: usize, y: usize| {
        let args = smallvec![xs.cell(1, x, item), xs.cell(1, y, item)];
        c.apply.call(before, args)?.as_bool()
    };
    // One that says of equal items that each goes before the other keeps them in their order, too.
    merge_sort(n, |x, y| Ok(goes_before(x, y)? || !goes_before(y, x)?)).map(positions)
}

pub(super) fn before(c: &Call) -> R<Array> {
    Ok(Array::scalar(Scalar::Bool(arrays(c.arg(0)?, c.arg(1)?).is_lt())))
}

fn positions(order: Vec<usize>) -> Array {
    Array::ints(smallvec![order.len()], order.into_iter().map(|i| i as i64).collect())
}

// ---- the order of items --------------------------------------------------------------------------------

/// So many atoms from a position on.
fn atoms((a, i): (&Data, usize), (b, j): (&Data, usize), count: usize) -> Ordering {
    (0..count).map(|k| atom((a, i + k), (b, j + k))).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn atom((a, i): (&Data, usize), (b, j): (&Data, usize)) -> Ordering {
    match (a, b) {
        (Data::Box(a), Data::Box(b)) => boxes(&a.as_slice()[i], &b.as_slice()[j]),
        (Data::Tuple(a), Data::Tuple(b)) => {
            let parts = a.as_slice()[i].iter().zip(b.as_slice()[j].iter());
            parts.map(|(x, y)| arrays(x, y)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        }
        _ => match (a.scalar_at(i), b.scalar_at(j)) {
            (Some(x), Some(y)) => total_cmp(x, y),
            _ => Ordering::Equal,
        },
    }
}

/// By their contents, then by what they hide.
fn boxes(a: &BoxVal, b: &BoxVal) -> Ordering {
    let hidden = |i: &IndexVal| match i {
        IndexVal::Dim(n) => vec![*n],
        IndexVal::Shape(s) => s.iter().map(|n| *n as i64).collect(),
    };
    arrays(&a.value, &b.value).then_with(|| {
        let all = a.indices.iter().zip(&b.indices);
        all.map(|(x, y)| hidden(x).cmp(&hidden(y))).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    })
}

/// Arrays as lists of their items: by the first different item, and one that the other begins with goes first. Of
/// two that have other numbers of axes the one with fewer goes first.
///
/// Arrays whose shapes differ, in axis `k` last, differ in the first of their rows along that axis at the latest:
/// before that come the elements which the shorter one has there, and those are the same places in both.
fn arrays(a: &Array, b: &Array) -> Ordering {
    let (s, t) = (&a.shape, &b.shape);
    if s.len() != t.len() {
        return s.len().cmp(&t.len());
    }
    let differs = (0..s.len()).rev().find(|k| s[*k] != t[*k]);
    let (some, others) = (a.data.len(), b.data.len());
    let common = match differs {
        _ if some == 0 || others == 0 => 0,
        Some(k) => s[k].min(t[k]) * s[k + 1..].iter().product::<usize>(),
        None => some,
    };
    atoms((&a.data, 0), (&b.data, 0), common)
        .then_with(|| (some > 0).cmp(&(others > 0)))
        .then_with(|| differs.map_or(Ordering::Equal, |k| s[k].cmp(&t[k])))
}

// ---- an order that is given ----------------------------------------------------------------------------

/// So many places of the result are merged at a time; see [`merge_sort`].
const STRIP: usize = 32;

/// The numbers below `n` in the stable order in which `x`, one that came before `y` so far, stays before it where
/// `stays(x, y)`.
///
/// Rows of 1, 2, 4, … numbers are merged in pairs, in strips of the result that each begin where halving finds that
/// they do: so it is done on every device, with the same questions (`build/prims/order.rs` in Mono).
/// Where the answers contradict each other, strips that would overlap are moved: the result has each number once
/// all the same, and is the same everywhere.
fn merge_sort(n: usize, stays: impl Fn(usize, usize) -> R<bool>) -> R<Vec<usize>> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut width = 1;
    while width < n {
        // The pair that has the place `o`: where its first row begins and ends, and where its second one ends.
        let pair = |o: usize| {
            let start = o / (2 * width) * (2 * width);
            (start, (start + width).min(n), (start + 2 * width).min(n))
        };
        // What each strip takes first of the first row.
        let mut lefts = Vec::with_capacity(n.div_ceil(STRIP));
        let (mut furthest, mut furthest_right) = (0, 0);
        for place in (0..n).step_by(STRIP) {
            let (start, middle, end) = pair(place);
            let done = place - start;
            let (mut low, mut high) = (done.saturating_sub(end - middle), done.min(middle - start));
            while low < high {
                let half = (low + high) / 2;
                if stays(order[start + half], order[middle + done - half - 1])? {
                    low = half + 1;
                } else {
                    high = half;
                }
            }
            furthest = furthest.max(start + low);
            furthest_right = furthest_right.max(place + start - furthest);
            lefts.push(place + start - furthest_right);
        }
        let mut merged = Vec::with_capacity(n);
        for (strip, place) in (0..n).step_by(STRIP).enumerate() {
            let next = place + STRIP;
            let mut left = lefts[strip];
            for o in place..next.min(n) {
                let (start, middle, end) = pair(o);
                if o == start {
                    left = start;
                }
                // Each strip stops where the next one of the same pair begins.
                let shared = next < n && !next.is_multiple_of(2 * width);
                let (left_end, right_end) =
                    if shared { (lefts[strip + 1], middle + next - lefts[strip + 1]) } else { (middle, end) };
                let right = middle + o - left;
                if left < left_end && (right >= right_end || stays(order[left], order[right])?) {
                    merged.push(order[left]);
                    left += 1;
                } else {
                    merged.push(order[right]);
                }
            }
        }
        order = merged;
        width *= 2;
    }
    Ok(order)
}

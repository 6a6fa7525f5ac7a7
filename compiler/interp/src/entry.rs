//! The indices of an entry, solved from the shapes of its arguments.

use remc_base::value::{BoxValue, Data};
use remc_base::*;
use remc_typed::ir::EntrySignature;
use std::collections::BTreeMap;

/// Arguments that do not fit an entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Mismatch {
    /// The parameter at fault; `None` if the number of arguments is wrong.
    pub param: Option<Name>,
    /// The parameter's type as written.
    pub wanted: String,
    /// The argument's type, with its shape in numbers.
    pub found: String,
    /// One sentence that names what disagrees.
    pub reason: String,
}

/// Solves the entry's index variables from the shapes of its arguments.
///
/// A shape variable takes the axes that the other items of its parameter's shape leave; a dim is solved
/// from an axis where it is the only unknown and occurs linearly, as `n` does in `[t n]` and `[t (+ n 1)]`.
/// Then every parameter's type is checked against its argument.
///
/// # Errors
/// The first parameter whose argument does not fit, or an index that no argument decides.
pub fn solve_indices(sig: &EntrySignature, args: &[Value]) -> Result<Vec<IndexValue>, Mismatch> {
    if sig.params.len() != args.len() {
        return Err(Mismatch {
            param: None,
            wanted: format!("{} arguments", sig.params.len()),
            found: format!("{}", args.len()),
            reason: "the number of arguments differs".into(),
        });
    }
    let mut known = Known::default();
    let mut equations: Vec<(usize, Dim, usize, usize)> = Vec::new();
    let mut open = Vec::new();
    for (i, ((_, ty), arg)) in sig.params.iter().zip(args).enumerate() {
        open.push((i, ty.shape.clone(), arg.shape.clone()));
        within(i, &ty.atom, arg, &mut open);
    }
    loop {
        let before = (known.dims.len(), known.shapes.len(), equations.len());
        for (i, shape, sizes) in std::mem::take(&mut open) {
            match known.split(&shape, &sizes).map_err(|why| wrong(sig, args, i, why))? {
                Some(eqs) => equations.extend(eqs.into_iter().map(|(d, axis, n)| (i, d, axis, n))),
                None => open.push((i, shape, sizes)),
            }
        }
        for (i, d, axis, n) in &equations {
            known.solve(d, *n as i64).map_err(|why| wrong(sig, args, *i, format!("axis {axis}: {why}")))?;
            let solved: Vec<u32> = known.dims.keys().copied().collect();
            solved.into_iter().for_each(|v| _ = known.decided_by.entry(v).or_insert(*i));
        }
        if before == (known.dims.len(), known.shapes.len(), equations.len()) {
            break;
        }
    }
    let indices = sig
        .indices
        .iter()
        .map(|v| {
            known.get(v).ok_or_else(|| {
                let i = sig.params.iter().position(|(_, t)| mentions(t, v)).unwrap_or(0);
                wrong(sig, args, i, format!("no argument decides the index {v}"))
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    for (i, ((_, ty), arg)) in sig.params.iter().zip(args).enumerate() {
        let subst = known.subst();
        let want = subst.arr(ty);
        // The type of a literal is the parameter's own, with the indices in it.
        let have = subst.arr(&ArrTy::scalar(arg.atom.clone())).atom;
        if !alpha_eq_atoms(&want.atom, &have) {
            return Err(wrong(sig, args, i, format!("its elements are {}, not {}", arg.atom, want.atom)));
        }
        if let Some(reason) = misfit("its", &want, &arg.shape, &arg.data) {
            let reason = format!("{reason}{}", known.origins(sig, ty, i));
            return Err(wrong(sig, args, i, reason));
        }
    }
    Ok(indices)
}

/// The indices of an entry some of whose streams are still to be read: 0 stands for the length of each stream, and the
/// items that its argument has, of which there may be any number, say which sizes are in them.
///
/// # Errors
/// As of [`solve_indices`].
pub fn solve_items(sig: &EntrySignature, args: &[Value]) -> Result<Vec<IndexValue>, Mismatch> {
    let mut of_items = sig.clone();
    for k in &sig.streams {
        let (Some((_, ty)), Some(arg)) = (of_items.params.get_mut(*k), args.get(*k)) else { continue };
        let (Some(ShapeItem::Dim(length)), Some(n)) = (ty.shape.0.first_mut(), arg.shape.first()) else {
            continue;
        };
        if let Some(DimVar::Rigid(v)) = length.as_var() {
            of_items.indices.retain(|i| i != v);
        }
        *length = Dim::from(*n as i64);
    }
    let solved = solve_indices(&of_items, args).map_err(|m| {
        let own = sig.params.iter().find(|(name, _)| m.param.as_ref() == Some(name));
        let wanted = own.map_or_else(|| m.wanted.clone(), |(_, ty)| ty.to_string());
        Mismatch { wanted, ..m }
    })?;
    let of = |v: &IVar| of_items.indices.iter().position(|i| i == v).map(|k| solved[k].clone());
    Ok(sig.indices.iter().map(|v| of(v).unwrap_or(IndexValue::Dim(0))).collect())
}

/// The shapes of what is in tuples and boxes, each with what an argument has there, where it has an atom. Of
/// boxes, those that mention something which the boxes do not hide; where there are none, their type may say it.
fn within(i: usize, want: &AtomTy, have: &Value, to: &mut Vec<(usize, Shape, Vec<usize>)>) {
    match (want, &have.data) {
        (AtomTy::Tuple(t), Data::Tuple(atoms)) => {
            for (k, (_, want)) in t.fields.iter().enumerate() {
                let mut last: Option<&[usize]> = None;
                for part in atoms.iter().filter_map(|parts| parts.get(k)) {
                    if last != Some(&part.shape) {
                        last = Some(&part.shape);
                        to.push((i, want.shape.clone(), part.shape.clone()));
                    }
                    within(i, &want.atom, part, to);
                }
            }
            if atoms.is_empty() {
                of_type(i, want, &have.atom, to);
            }
        }
        (AtomTy::Sigma(q), Data::Box(boxes)) if is_open(&q.body, &q.params) => {
            for b in boxes {
                let body = opened(q, b);
                if !is_closed(&body.shape) {
                    let found = (i, body.shape, b.value.shape.clone());
                    if to.last() != Some(&found) {
                        to.push(found);
                    }
                }
                within(i, &body.atom, &b.value, to);
            }
            if boxes.is_empty() {
                of_type(i, want, &have.atom, to);
            }
        }
        _ => {}
    }
}

/// The shapes of what would be in tuples and boxes, if there were any, each with what the type of an argument says there.
fn of_type(i: usize, want: &AtomTy, have: &AtomTy, to: &mut Vec<(usize, Shape, Vec<usize>)>) {
    let mut array = |want: &ArrTy, have: &ArrTy| {
        if let Some(sizes) = have.shape.sizes() {
            to.push((i, want.shape.clone(), sizes.into_iter().map(|n| n as usize).collect()));
        }
        of_type(i, &want.atom, &have.atom, to);
    };
    match (want, have) {
        (AtomTy::Tuple(want), AtomTy::Tuple(have)) => {
            want.fields.iter().zip(&have.fields).for_each(|((_, want), (_, have))| array(want, have));
        }
        // What the boxes hide is whatever it may be: the same for both.
        (AtomTy::Sigma(want), AtomTy::Sigma(have)) if want.params.len() == have.params.len() => {
            array(&hiding_nothing(want), &hiding_nothing(have));
        }
        _ => {}
    }
}

/// The type of the contents of a box that hides zeros and empty shapes.
fn hiding_nothing(q: &SigmaTy) -> ArrTy {
    let mut subst = Subst::new();
    for p in &q.params {
        match p.sort {
            Sort::Dim => subst.bind_dim(p, Dim::from(0)),
            Sort::Shape => subst.bind_shape(p, Shape::scalar()),
        }
    }
    subst.arr(&q.body)
}

/// The type of a box's contents, with its witnesses in it.
fn opened(q: &SigmaTy, b: &BoxValue) -> ArrTy {
    let mut subst = Subst::new();
    for (p, i) in q.params.iter().zip(&b.indices) {
        match i {
            IndexValue::Dim(n) => subst.bind_dim(p, Dim::from(*n)),
            IndexValue::Shape(s) => subst.bind_shape(p, Shape::of_sizes(s)),
        }
    }
    subst.arr(&q.body)
}

fn is_closed(s: &Shape) -> bool {
    s.items().iter().all(|item| match item {
        ShapeItem::Dim(d) => d.vars().next().is_none(),
        ShapeItem::Var(_) => false,
    })
}

/// Whether a type mentions an index that is not among the bound ones.
fn is_open(t: &ArrTy, bound: &[IVar]) -> bool {
    let is_bound = |v: &IVar| bound.contains(v);
    let shape = t.shape.items().iter().any(|item| match item {
        ShapeItem::Var(ShapeVar::Rigid(v)) => !is_bound(v),
        ShapeItem::Var(ShapeVar::Meta(_)) => true,
        ShapeItem::Dim(d) => d.vars().any(|v| match v {
            DimVar::Rigid(v) | DimVar::RankOf(ShapeVar::Rigid(v)) | DimVar::SizeOf(ShapeVar::Rigid(v)) => {
                !is_bound(v)
            }
            _ => true,
        }),
    });
    shape
        || match &t.atom {
            AtomTy::Tuple(q) => q.fields.iter().any(|(_, t)| is_open(t, bound)),
            AtomTy::Sigma(q) => is_open(&q.body, &[bound, &q.params].concat()),
            _ => false,
        }
}

/// What is said of the first shape in a value that is not as its type says; `whose` it is comes first.
fn misfit(whose: &str, want: &ArrTy, shape: &[usize], data: &Data) -> Option<String> {
    let sizes: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
    if want.shape.sizes().as_ref() != Some(&sizes) {
        return Some(format!("{whose} shape is {}, not {}", Shape::of_sizes(shape), want.shape));
    }
    if let (AtomTy::Sigma(q), Data::Box(boxes)) = (&want.atom, data) {
        return boxes.iter().enumerate().find_map(|(k, b)| {
            let whose = if shape.is_empty() { "the contents:".into() } else { format!("box {k}:") };
            misfit(&format!("{whose} its"), &opened(q, b), &b.value.shape, &b.value.data)
        });
    }
    let (AtomTy::Tuple(fields), Data::Tuple(atoms)) = (&want.atom, data) else { return None };
    atoms.iter().find_map(|parts| {
        let mut pairs = fields.fields.iter().zip(parts.iter()).enumerate();
        pairs.find_map(|(k, ((label, want), part))| {
            let whose = match label {
                Some(label) => format!("the field `{label}`: its"),
                None => format!("component {k}: its"),
            };
            misfit(&whose, want, &part.shape, &part.data)
        })
    })
}

fn alpha_eq_atoms(a: &AtomTy, b: &AtomTy) -> bool {
    remc_base::subst::alpha_eq(&ArrTy::scalar(a.clone()), &ArrTy::scalar(b.clone()))
}

fn mentions(t: &ArrTy, v: &IVar) -> bool {
    let shape = t.shape.0.iter().any(|i| match i {
        ShapeItem::Var(ShapeVar::Rigid(s)) => s == v,
        ShapeItem::Var(ShapeVar::Meta(_)) => false,
        ShapeItem::Dim(d) => d.vars().any(|x| *x == DimVar::Rigid(v.clone())),
    });
    shape
        || match &t.atom {
            AtomTy::Tuple(q) => q.fields.iter().any(|(_, t)| mentions(t, v)),
            AtomTy::Sigma(q) => mentions(&q.body, v),
            _ => false,
        }
}

fn wrong(sig: &EntrySignature, args: &[Value], i: usize, reason: String) -> Mismatch {
    let (name, ty) = match sig.params.get(i) {
        Some((name, ty)) => (Some(name.clone()), ty.to_string()),
        None => (None, sig.ret.to_string()),
    };
    let found = match args.get(i) {
        Some(a) => ArrTy::new(a.atom.clone(), Shape::of_sizes(&a.shape)).to_string(),
        None => "nothing".into(),
    };
    Mismatch { param: name, wanted: ty, found, reason }
}

/// The indices solved so far.
#[derive(Default)]
struct Known {
    dims: BTreeMap<u32, (IVar, i64)>,
    shapes: BTreeMap<u32, (IVar, Vec<usize>)>,
    /// The parameter, by position, that each dim was solved from.
    decided_by: BTreeMap<u32, usize>,
}

type Equations = Vec<(Dim, usize, usize)>;

impl Known {
    fn get(&self, v: &IVar) -> Option<IndexValue> {
        match v.sort {
            Sort::Dim => self.dims.get(&v.id).map(|(_, n)| IndexValue::Dim(*n)),
            Sort::Shape => self.shapes.get(&v.id).map(|(_, s)| IndexValue::Shape(s.clone())),
        }
    }

    /// `; n is 2, as in the input `xs``, for the dims of a type that other parameters decided.
    fn origins(&self, sig: &EntrySignature, ty: &ArrTy, of: usize) -> String {
        let mut out = String::new();
        for (id, (v, n)) in &self.dims {
            let Some(by) = self.decided_by.get(id).filter(|by| **by != of && mentions(ty, v)) else {
                continue;
            };
            if let Some((name, _)) = sig.params.get(*by) {
                out.push_str(&format!("; {v} is {n}, as in the input `{name}`"));
            }
        }
        out
    }

    fn subst(&self) -> Subst {
        let mut s = Subst::new();
        for (v, n) in self.dims.values() {
            s.bind_dim(v, Dim::from(*n));
        }
        for (v, dims) in self.shapes.values() {
            s.bind_shape(v, Shape::of_sizes(dims));
        }
        s
    }

    /// Divides the sizes among the items of a shape, once at most one shape variable in it is unknown:
    /// the equations `dim = size` with the axis of each.
    fn split(&mut self, shape: &Shape, sizes: &[usize]) -> Result<Option<Equations>, String> {
        let mut fixed = 0;
        let mut open = None;
        for item in &shape.0 {
            match item {
                ShapeItem::Dim(_) => fixed += 1,
                ShapeItem::Var(ShapeVar::Rigid(v)) => match self.shapes.get(&v.id) {
                    Some((_, dims)) => fixed += dims.len(),
                    None if open.is_none() => open = Some(v.clone()),
                    None => return Ok(None),
                },
                ShapeItem::Var(ShapeVar::Meta(_)) => return Ok(None),
            }
        }
        if sizes.len() < fixed || (open.is_none() && sizes.len() != fixed) {
            let least = if open.is_some() { "at least " } else { "" };
            return Err(format!("it has {} axes, not {least}{fixed}", sizes.len()));
        }
        let free = sizes.len() - fixed;
        let mut equations = Vec::new();
        let mut axis = 0;
        for item in &shape.0 {
            match item {
                ShapeItem::Dim(d) => {
                    equations.push((d.clone(), axis, sizes[axis]));
                    axis += 1;
                }
                ShapeItem::Var(ShapeVar::Rigid(v)) => {
                    if let Some((_, dims)) = self.shapes.get(&v.id) {
                        // A second occurrence of an open variable must fit too; sizes are compared at the end.
                        axis += dims.len();
                        if axis > sizes.len() {
                            return Err(format!("it has too few axes for two of {v}"));
                        }
                    } else {
                        self.shapes.insert(v.id, (v.clone(), sizes[axis..axis + free].to_vec()));
                        axis += free;
                    }
                }
                ShapeItem::Var(ShapeVar::Meta(_)) => return Ok(None),
            }
        }
        Ok(Some(equations))
    }

    /// Solves `d = n` if one unknown is left in `d`, and only linearly.
    fn solve(&mut self, d: &Dim, n: i64) -> Result<(), String> {
        let rest = self.subst().dim(d);
        let mut unknown: Vec<&DimVar> = rest.vars().collect();
        unknown.dedup();
        let [DimVar::Rigid(v)] = unknown[..] else { return Ok(()) };
        let mut coefficient = 0i128;
        for (m, c) in rest.terms() {
            match m.len() {
                0 => {}
                1 => coefficient = *c,
                _ => return Ok(()),
            }
        }
        let right = n as i128 - rest.constant_term();
        if coefficient == 0 {
            return Ok(());
        }
        let v = v.clone();
        match i64::try_from(right / coefficient) {
            Ok(value) if right % coefficient == 0 && (value >= 0 || !v.natural) => {
                self.dims.insert(v.id, (v, value));
                Ok(())
            }
            _ => Err(format!("no {v} makes {d} equal to {n}")),
        }
    }
}

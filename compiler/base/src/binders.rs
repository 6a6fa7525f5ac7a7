//! Binders by names that capture nothing.
//!
//! A variable is its id; its name is for people, and two variables may have one. Printed, the type
//! `(Σ (n) [int n n])` would say that both sizes are the hidden one, whoever the first `n` is. So a binder prints by a
//! name that no other variable under it has: `(Σ (n1) [int n n1])`, and reads back as what it was.

use crate::{
    ArrTy, AtomTy, Dim, DimVar, IVar, Name, Shape, ShapeItem, ShapeVar, SigmaTy, Sort, Subst, TParam, TVar,
};

/// The variables that a type mentions and does not bind.
#[derive(Default)]
struct Free {
    indices: Vec<IVar>,
    types: Vec<TVar>,
}

/// The index variables that a type mentions and does not bind, in order.
pub fn free_indices(t: &ArrTy) -> Vec<IVar> {
    Free::of(t).indices
}

/// Index binders and what stands under them, by names that capture nothing.
pub(crate) fn of_indices(params: &[IVar], body: &ArrTy) -> (Vec<IVar>, ArrTy) {
    let free = Free::of(body);
    let taken = free.indices.iter().filter(|v| !params.contains(v)).map(|v| v.name.clone()).collect();
    let mut s = Subst::new();
    let params = (renamed(params.iter().map(|p| &p.name), taken).into_iter().zip(params))
        .map(|(name, p)| {
            let named = IVar { name, ..p.clone() };
            s.bind_index(p, named.clone().into());
            named
        })
        .collect();
    (params, s.arr(body))
}

/// The same for type binders.
pub(crate) fn of_types(params: &[TParam], body: &ArrTy) -> (Vec<TParam>, ArrTy) {
    let free = Free::of(body);
    let own = |v: &TVar| params.iter().any(|p| p.var == *v);
    let taken = free.types.iter().filter(|v| !own(v)).map(|v| v.name.clone()).collect();
    let mut s = Subst::new();
    let params = (renamed(params.iter().map(|p| &p.var.name), taken).into_iter().zip(params))
        .map(|(name, p)| {
            let var = TVar { name: name.clone(), ..p.var.clone() };
            let shape = p.shape.as_ref().map(|shape| IVar { name, ..shape.clone() });
            s.bind_type(&p.var, AtomTy::Var(var.clone()));
            if let (Some(old), Some(new)) = (&p.shape, &shape) {
                s.bind_shape(old, Shape::rigid(new.clone()));
            }
            TParam { var, shape, class: p.class }
        })
        .collect();
    (params, s.arr(body))
}

/// Names for binders, each its own where neither another variable nor a binder before it has that.
fn renamed<'n>(names: impl Iterator<Item = &'n Name>, mut taken: Vec<Name>) -> Vec<Name> {
    names
        .map(|name| {
            let others = (1..).map(|i| Name::new(format!("{name}{i}")));
            let free = |n: &Name| !taken.contains(n);
            let name = std::iter::once(name.clone()).chain(others).find(free).unwrap_or(name.clone());
            taken.push(name.clone());
            name
        })
        .collect()
}

impl SigmaTy {
    /// The Σ with the names that values print with, whatever the program called its indices: `n m k l` for
    /// dims and `@s @c @p` for shapes, outer boxes first. `count` is how many have a name already.
    pub fn named_for_values(&self, count: &mut usize) -> SigmaTy {
        let mut s = Subst::new();
        let mut params = Vec::with_capacity(self.params.len());
        for p in &self.params {
            let names: &[&str] =
                if p.sort == Sort::Dim { &["n", "m", "k", "l"] } else { &["@s", "@c", "@p"] };
            let mut name = names[*count % names.len()].to_string();
            if *count >= names.len() {
                name.push_str(&(*count / names.len()).to_string());
            }
            *count += 1;
            let fresh = IVar { name: Name::new(name), ..p.clone() };
            s.bind_index(p, fresh.clone().into());
            params.push(fresh);
        }
        let mut body = s.arr(&self.body);
        if let AtomTy::Sigma(inner) = &body.atom {
            let inner = inner.named_for_values(count);
            body.atom = AtomTy::sigma(inner.params, inner.body);
        }
        SigmaTy { params, body }
    }
}

impl Free {
    fn of(t: &ArrTy) -> Free {
        let mut free = Free::default();
        free.array(t);
        free
    }

    fn array(&mut self, t: &ArrTy) {
        for item in t.shape.items() {
            match item {
                ShapeItem::Dim(d) => self.dim(d),
                ShapeItem::Var(v) => self.shape_var(v),
            }
        }
        self.atom(&t.atom);
    }

    fn atom(&mut self, t: &AtomTy) {
        match t {
            AtomTy::Base(_) | AtomTy::Meta(_) => {}
            AtomTy::Var(v) => add(&mut self.types, v),
            AtomTy::Fn(f) => f.params.iter().chain([&f.ret]).for_each(|t| self.array(t)),
            AtomTy::Tuple(q) => q.fields.iter().for_each(|(_, t)| self.array(t)),
            AtomTy::Quot(q) => self.atom(q),
            AtomTy::Pi(q) => self.under(&q.params, &[], &q.body),
            AtomTy::Sigma(q) => self.under(&q.params, &[], &q.body),
            AtomTy::Forall(q) => {
                let shapes: Vec<IVar> = q.params.iter().filter_map(|p| p.shape.clone()).collect();
                let types: Vec<TVar> = q.params.iter().map(|p| p.var.clone()).collect();
                self.under(&shapes, &types, &q.body);
            }
        }
    }

    /// What stands under binders, but for what they bind.
    fn under(&mut self, indices: &[IVar], types: &[TVar], body: &ArrTy) {
        let inner = Free::of(body);
        inner.indices.iter().filter(|v| !indices.contains(v)).for_each(|v| add(&mut self.indices, v));
        inner.types.iter().filter(|v| !types.contains(v)).for_each(|v| add(&mut self.types, v));
    }

    fn dim(&mut self, d: &Dim) {
        for v in d.vars() {
            match v {
                DimVar::Rigid(v) => add(&mut self.indices, v),
                DimVar::RankOf(v) | DimVar::SizeOf(v) => self.shape_var(v),
                DimVar::Meta(_) => {}
            }
        }
    }

    fn shape_var(&mut self, v: &ShapeVar) {
        if let ShapeVar::Rigid(v) = v {
            add(&mut self.indices, v);
        }
    }
}

fn add<V: Clone + PartialEq>(all: &mut Vec<V>, v: &V) {
    if !all.contains(v) {
        all.push(v.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(id: u32, name: &str) -> IVar {
        IVar { id, sort: Sort::Dim, natural: true, name: Name::new(name) }
    }

    fn ints(dims: &[&IVar]) -> ArrTy {
        ArrTy::new(AtomTy::INT, Shape::of_dims(dims.iter().map(|v| Dim::rigid((*v).clone()))))
    }

    #[test]
    fn a_binder_takes_no_name_of_another_variable() {
        let (n, hidden, other) = (index(0, "n"), index(1, "n"), index(2, "n"));
        let sigma = |params: &[&IVar], body: ArrTy| {
            AtomTy::sigma(params.iter().map(|v| (*v).clone()).collect(), body)
        };
        assert_eq!(sigma(&[&hidden], ints(&[&hidden])).to_string(), "(Σ (n) [int n])");
        assert_eq!(sigma(&[&hidden], ints(&[&n, &hidden])).to_string(), "(Σ (n1) [int n n1])");
        assert_eq!(sigma(&[&hidden, &other], ints(&[&hidden, &other])).to_string(), "(Σ (n n1) [int n n1])");
        let inner = sigma(&[&other], ints(&[&hidden, &other]));
        assert_eq!(sigma(&[&hidden], ArrTy::scalar(inner)).to_string(), "(Σ (n) (Σ (n1) [int n n1]))");
        let shadows = sigma(&[&other], ints(&[&other]));
        assert_eq!(sigma(&[&hidden], ArrTy::scalar(shadows)).to_string(), "(Σ (n) (Σ (n) [int n]))");
    }

    #[test]
    fn types_are_told_apart_too() {
        let var = |id| TVar { id, name: Name::new("t") };
        let param = |id| TParam { var: var(id), shape: None, class: None };
        let of = |id| ArrTy::scalar(AtomTy::Var(var(id)));
        let f = AtomTy::func(vec![of(0)], of(1));
        let (params, body) = of_types(&[param(1)], &ArrTy::scalar(f));
        assert_eq!(format!("{} {body}", params[0]), "t1 (→ (t) t1)");
    }
}

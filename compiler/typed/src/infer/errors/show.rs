//! Types and shapes as messages show them: what is unknown by its name, or by what it allows.

use super::*;

/// Existentials are shown as variables whose ids begin here.
pub(super) const UNKNOWN: u32 = 1 << 30;

impl Checker<'_> {
    pub(in crate::infer) fn show(&self, t: &ArrTy) -> String {
        let t = self.readable(&self.s.zonk(t));
        self.apart(&t).arr(&t).to_string()
    }

    pub(in crate::infer) fn show_atom(&self, t: &AtomTy) -> String {
        self.show(&ArrTy::scalar(t.clone()))
    }

    pub(in crate::infer) fn show_shape(&self, s: &Shape) -> String {
        let s = self.readable_shape(&self.s.zonk_shape(s));
        self.apart(&ArrTy::new(AtomTy::INT, s.clone())).shape(&s).to_string()
    }

    pub(in crate::infer) fn show_dim(&self, d: &Dim) -> String {
        let d = self.readable_dim(&self.s.zonk_dim(d));
        self.apart(&ArrTy::new(AtomTy::INT, Shape::of_dims([d.clone()]))).dim(&d).to_string()
    }

    /// Other names for variables of a readable type whose own another one has, before it in the type or in scope.
    fn apart(&self, t: &ArrTy) -> Subst {
        let mut taken: Vec<Name> = Vec::new();
        let mut s = Subst::new();
        for v in free_indices(t) {
            if matches!(v.name.as_str(), "_" | "@_") {
                continue;
            }
            let mut name = v.name.clone();
            while taken.contains(&name) || self.means_another(&name, &v) {
                name = Name::new(format!("{name}'"));
            }
            if name != v.name {
                s.bind_index(&v, IVar { name: name.clone(), ..v.clone() }.into());
            }
            taken.push(name);
        }
        s
    }

    /// Whether a name is in scope here for another variable.
    pub(super) fn means_another(&self, name: &Name, v: &IVar) -> bool {
        v.id < UNKNOWN && self.find_index(name).is_some_and(|i| i != Index::from(v.clone()))
    }

    /// Whether every index that a type mentions has its name here.
    pub(in crate::infer) fn may_name(&self, t: &ArrTy) -> bool {
        // An int is named as the size that it is used as.
        let int = |v: &IVar| matches!(self.find_value(&v.name), Some(Binding::Local(x)) if self.local(*x).lifted.as_ref() == Some(v));
        let named = |v: &IVar| self.find_index(&v.name) == Some(v.clone().into()) || int(v);
        let mut unknown = Vec::new();
        crate::infer::metas::metas_of(t, &mut unknown);
        unknown.is_empty() && free_indices(t).iter().all(named)
    }

    fn readable_dim(&self, d: &Dim) -> Dim {
        let var = |m: &MetaId, sort| IVar {
            id: UNKNOWN + m.0,
            sort,
            natural: true,
            name: self.s.meta(*m).name.clone().unwrap_or(Name::new("_")),
        };
        d.substitute(&mut |v| match v {
            DimVar::Meta(m) => Some(self.named_size(*m).unwrap_or_else(|| Dim::rigid(var(m, Sort::Dim)))),
            DimVar::RankOf(ShapeVar::Meta(m)) => {
                Some(Dim::var(DimVar::RankOf(ShapeVar::Rigid(var(m, Sort::Shape)))))
            }
            DimVar::SizeOf(ShapeVar::Meta(m)) => {
                Some(Dim::var(DimVar::SizeOf(ShapeVar::Rigid(var(m, Sort::Shape)))))
            }
            DimVar::Rigid(v) => {
                let name = self.shown_as.get(&v.id)?.clone();
                Some(Dim::rigid(IVar { name, ..v.clone() }))
            }
            _ => None,
        })
    }

    fn readable_shape(&self, s: &Shape) -> Shape {
        Shape(
            s.items()
                .iter()
                .map(|i| match i {
                    ShapeItem::Dim(d) => ShapeItem::Dim(self.readable_dim(d)),
                    ShapeItem::Var(ShapeVar::Meta(m)) => ShapeItem::Var(ShapeVar::Rigid(IVar {
                        id: UNKNOWN + m.0,
                        sort: Sort::Shape,
                        natural: true,
                        name: self.s.meta(*m).name.clone().filter(|n| n.is_at()).unwrap_or(Name::new("@_")),
                    })),
                    v => v.clone(),
                })
                .collect(),
        )
    }

    fn readable(&self, t: &ArrTy) -> ArrTy {
        ArrTy { atom: self.readable_atom(&t.atom), shape: self.readable_shape(&t.shape) }
    }

    fn readable_atom(&self, t: &AtomTy) -> AtomTy {
        match t {
            AtomTy::Base(_) | AtomTy::Var(_) => t.clone(),
            AtomTy::Meta(m) => match &self.s.meta(*m).kind {
                MetaKind::Atom { default: Some(b), .. } => AtomTy::Base(*b),
                MetaKind::Atom { class: Some(c), .. } => {
                    AtomTy::Var(TVar { id: UNKNOWN + m.0, name: Name::new(c.name()) })
                }
                _ => AtomTy::Var(TVar { id: UNKNOWN + m.0, name: Name::new("_") }),
            },
            AtomTy::Fn(f) => {
                AtomTy::func(f.params.iter().map(|p| self.readable(p)).collect(), self.readable(&f.ret))
            }
            AtomTy::Forall(q) => {
                AtomTy::Forall(Arc::new(ForallTy { params: q.params.clone(), body: self.readable(&q.body) }))
            }
            AtomTy::Pi(q) => {
                AtomTy::Pi(Arc::new(PiTy { params: q.params.clone(), body: self.readable(&q.body) }))
            }
            AtomTy::Sigma(q) => AtomTy::sigma(q.params.clone(), self.readable(&q.body)),
            AtomTy::Tuple(q) => {
                AtomTy::tuple(q.fields.iter().map(|(l, t)| (l.clone(), self.readable(t))).collect())
            }
            AtomTy::Quot(q) => match self.readable_atom(q) {
                AtomTy::Base(b) => AtomTy::Base(if b.is_integer() { BaseTy::F64 } else { b }),
                q => AtomTy::Quot(Arc::new(q)),
            },
        }
    }

    /// Two shapes side by side, with the first axis that disagrees. What only one of them leaves open
    /// reads as what it allows: `any` size, `≥1`, or `…` for any number of axes.
    pub(super) fn compare(&self, left: (&str, &Shape), right: (&str, &Shape)) -> ShapeComparison {
        let (l, r) = (self.s.zonk_shape(left.1), self.s.zonk_shape(right.1));
        let (of_l, of_r) = (unknowns(&l), unknowns(&r));
        let axis =
            (0..l.items().len().max(r.items().len())).find(|&i| match (l.items().get(i), r.items().get(i)) {
                (Some(a), Some(b)) => a != b && !is_free(a, &of_r) && !is_free(b, &of_l),
                (None, Some(b)) => !matches!(b, ShapeItem::Var(ShapeVar::Meta(_))),
                (Some(a), None) => !matches!(a, ShapeItem::Var(ShapeVar::Meta(_))),
                (None, None) => false,
            });
        ShapeComparison {
            left: (left.0.to_string(), self.axes(&l, &of_r)),
            right: (right.0.to_string(), self.axes(&r, &of_l)),
            axis,
        }
    }

    /// A shape and the cell that its last axes have to be: `…` stands for the frame.
    pub(super) fn compare_cell(&self, have: &Shape, cell: &Shape) -> ShapeComparison {
        let mut c = self.compare(("found", have), ("wanted", cell));
        let (have, cell) = (self.s.zonk_shape(have), self.s.zonk_shape(cell));
        if have.dims().is_some() && cell.dims().is_some() && have.items().len() > cell.items().len() {
            let frame = have.items().len() - cell.items().len();
            let inner = self.compare(("", &Shape(have.items()[frame..].to_vec())), ("", &cell));
            c.right.1.splice(0..0, (0..frame).map(|_| "…".to_string()));
            c.axis = inner.axis.map(|a| a + frame);
        }
        c
    }

    fn axes(&self, s: &Shape, of_other: &[MetaId]) -> Vec<String> {
        let shared = |s: &ShapeItem| {
            let mine = unknowns(&Shape(vec![s.clone()]));
            mine.is_empty() || mine.iter().any(|m| of_other.contains(m))
        };
        let mut axes: Vec<String> = s
            .items()
            .iter()
            .map(|i| match i {
                i if shared(i) || is_multiple(i) => {
                    self.readable_shape(&Shape(vec![i.clone()])).items()[0].to_string()
                }
                ShapeItem::Var(_) => "…".to_string(),
                ShapeItem::Dim(d) if d.is_never_negative() && d.constant_term() > 0 => {
                    format!("≥{}", d.constant_term())
                }
                ShapeItem::Dim(_) => "any".to_string(),
            })
            .collect();
        // One `…` for all that is open at the end.
        while axes.ends_with(&["…".to_string(), "…".to_string()]) {
            axes.pop();
        }
        axes
    }
}

/// The existentials of a shape.
pub(super) fn unknowns(s: &Shape) -> Vec<MetaId> {
    let mut found = Vec::new();
    for item in s.items() {
        match item {
            ShapeItem::Var(ShapeVar::Meta(m)) => found.push(*m),
            ShapeItem::Var(_) => {}
            ShapeItem::Dim(d) => found.extend(d.vars().filter_map(|v| match v {
                DimVar::Meta(m) | DimVar::RankOf(ShapeVar::Meta(m)) | DimVar::SizeOf(ShapeVar::Meta(m)) => {
                    Some(*m)
                }
                _ => None,
            })),
        }
    }
    found
}

/// Whether an item is an existential that the other shape does not mention, so that any size fits.
fn is_free(i: &ShapeItem, of_other: &[MetaId]) -> bool {
    let mine = unknowns(&Shape(vec![i.clone()]));
    let open = match i {
        ShapeItem::Var(_) => true,
        ShapeItem::Dim(d) => d.constant_term() == 0 && !is_multiple(i),
    };
    open && !mine.is_empty() && mine.iter().all(|m| !of_other.contains(m))
}

/// Whether an item is a size that cannot be each number, as `2n` is even.
fn is_multiple(i: &ShapeItem) -> bool {
    let ShapeItem::Dim(d) = i else { return false };
    let mut terms = d.terms().iter().filter(|(m, _)| !m.is_empty()).peekable();
    terms.peek().is_some() && terms.all(|(_, c)| c.unsigned_abs() > 1)
}

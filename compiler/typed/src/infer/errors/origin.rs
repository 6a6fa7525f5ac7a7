//! Where sizes come from: `n` is the length of `xs`, or how many items a box turns out to hold.
//!
//! An index variable gets its [`Origin`] where it is bound: at a parameter, where a box opens, where an
//! int is used as a size. A message about sizes that differ labels these places, and the definitions of
//! the variables that have the sizes. Two variables of one name are told apart by a prime.

use super::*;

/// Where an index variable is bound, and what a label there says after its name.
#[derive(Clone)]
pub(in crate::infer) struct Origin {
    pub at: Loc,
    pub text: String,
    /// Whether a box hides it.
    pub hidden: bool,
}

/// A size that a person named in the type of a parameter, and that the body may say more of: after
/// `(tail xs)`, `n` is `d + 1`, and a message shows `d` as `n - 1`.
#[derive(Clone)]
pub(in crate::infer) struct NamedSize {
    pub name: Name,
    pub size: Dim,
    pub origin: Option<(Loc, String)>,
}

/// All that a definition names.
#[derive(Clone, Default)]
pub(in crate::infer) struct NamedSizes {
    all: Vec<NamedSize>,
    names: FxHashSet<Name>,
    /// Those that nothing may have decided yet.
    open: Vec<usize>,
}

impl NamedSizes {
    pub fn push(&mut self, n: NamedSize) {
        self.names.insert(n.name.clone());
        self.open.push(self.all.len());
        self.all.push(n);
    }

    pub fn has(&self, name: &Name) -> bool {
        self.names.contains(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &NamedSize> {
        self.all.iter()
    }

    /// The existentials that are themselves a size with a name, in order, and the names.
    pub fn unknown(&mut self, s: &Solver) -> Vec<(MetaId, Name)> {
        let all = &self.all;
        let mut found = Vec::new();
        self.open.retain(|i| {
            let n = &all[*i];
            if let Some((m, 0)) = n.unknown(s) {
                found.push((m, n.name.clone()));
            }
            s.zonk_dim(&n.size).vars().any(|v| !matches!(v, DimVar::Rigid(_)))
        });
        found
    }
}

impl NamedSize {
    /// The existential that the size is, up to a number that is added to it.
    pub(in crate::infer) fn unknown(&self, s: &Solver) -> Option<(MetaId, i128)> {
        let size = s.zonk_dim(&self.size);
        let mut vars = size.vars();
        let (Some(DimVar::Meta(m)), None) = (vars.next().cloned(), vars.next()) else { return None };
        let more = size.sub(&Dim::meta(m)).as_constant()?;
        Some((m, more))
    }
}

impl Checker<'_> {
    /// An existential as a size that a person named, if it is one.
    pub(super) fn named_size(&self, m: MetaId) -> Option<Dim> {
        self.named_sizes.iter().find_map(|n| {
            let (of, more) = n.unknown(&self.s)?;
            let id = show::UNKNOWN + of.0;
            let var = IVar { id, sort: Sort::Dim, natural: true, name: n.name.clone() };
            (of == m).then(|| Dim::rigid(var).sub(&Dim::constant(more)))
        })
    }

    pub(in crate::infer) fn comes_from(&mut self, v: &IVar, at: Loc, text: impl Into<String>) {
        let text = text.into();
        self.origins.entry(v.id).or_insert(Origin { at, text, hidden: false });
    }

    /// These sizes are what the box at `at` hides.
    pub(in crate::infer) fn hidden_in(&mut self, indices: &[IVar], at: Loc) {
        for v in indices {
            let text = "is its size, known only when it runs".to_string();
            self.origins.entry(v.id).or_insert(Origin { at: at.clone(), text, hidden: true });
        }
    }

    /// The sizes of a parameter's type come from it.
    pub(in crate::infer) fn sizes_from_parameter(&mut self, name: &Name, ty: &ArrTy, node: NodeId) {
        let rank = ty.shape.items().len();
        for (axis, item) in ty.shape.items().iter().enumerate() {
            if let ShapeItem::Dim(d) = item {
                let text = match (rank, axis) {
                    (1, _) => format!("is the length of `{name}`"),
                    (2, 0) => format!("is the number of rows of `{name}`"),
                    (2, _) => format!("is the number of columns of `{name}`"),
                    (_, axis) => format!("is the size of axis {axis} of `{name}`"),
                };
                match d.as_var() {
                    Some(DimVar::Rigid(v)) => self.comes_from(v, Loc::Node(node), text),
                    _ => {
                        if let Some(n) = self.named_sizes.all.iter_mut().rev().find(|n| n.size == *d) {
                            n.origin.get_or_insert((Loc::Node(node), text));
                        }
                    }
                }
            }
        }
    }

    /// Names for the variables of these shapes: its own for the one that has it in scope, or else the first, and with
    /// primes for others.
    pub(super) fn tell_apart(&mut self, shapes: &[&Shape]) {
        let mut vars = self.variables(shapes);
        vars.sort_by_key(|v| self.find_index(&v.name) != Some(v.clone().into()));
        let mut taken: Vec<Name> = vars.iter().filter_map(|v| self.shown_as.get(&v.id).cloned()).collect();
        for v in vars {
            if self.shown_as.contains_key(&v.id) {
                continue;
            }
            let mut name = v.name.clone();
            while taken.contains(&name) || self.means_another(&name, &v) {
                name = Name::new(format!("{name}'"));
            }
            if name != v.name {
                self.shown_as.insert(v.id, name.clone());
            }
            taken.push(name);
        }
    }

    /// Whether the size is one that a box hides.
    pub(in crate::infer) fn is_hidden(&self, v: &IVar) -> bool {
        self.origins.get(&v.id).is_some_and(|o| o.hidden)
    }

    fn variables(&self, shapes: &[&Shape]) -> Vec<IVar> {
        let mut vars: Vec<IVar> = Vec::new();
        for s in shapes {
            for item in self.s.zonk_shape(s).items() {
                let ShapeItem::Dim(d) = item else { continue };
                for v in d.vars() {
                    if let DimVar::Rigid(v) = v
                        && !vars.contains(v)
                    {
                        vars.push(v.clone());
                    }
                }
            }
        }
        vars
    }

    /// Labels where the sizes of these shapes come from.
    pub(super) fn label_origins(&self, mut d: Diagnostic<Loc>, shapes: &[&Shape]) -> Diagnostic<Loc> {
        for v in self.variables(shapes) {
            let Some(Origin { at, text, .. }) = self.origins.get(&v.id) else { continue };
            let name = self.shown_as.get(&v.id).unwrap_or(&v.name);
            d = label_also(d, at, format!("`{name}` {text}"));
        }
        for n in self.named_sizes.iter() {
            let (Some((m, _)), Some((at, text))) = (n.unknown(&self.s), &n.origin) else { continue };
            let mentioned = shapes.iter().any(|s| show::unknowns(&self.s.zonk_shape(s)).contains(&m));
            if mentioned {
                d = label_also(d, at, format!("`{}` {text}", n.name));
            }
        }
        d
    }

    /// Labels where the variable that an argument is was defined.
    pub(super) fn label_definition(&self, d: Diagnostic<Loc>, e: &Expr) -> Diagnostic<Loc> {
        let (name, at) = match &*e.kind {
            ir::ExprKind::Var(v) => {
                let lv = self.local(*v);
                (&lv.local.name, lv.bound.clone())
            }
            ir::ExprKind::Global(g) => (&g.name, Some(Loc::Global(g.clone()))),
            _ => return d,
        };
        let Some(at) = at.filter(|at| d.labels.iter().all(|l| l.loc != *at)) else { return d };
        d.secondary(at, format!("`{name}` is defined here"))
    }
}

/// A secondary label; where there is one already, one label says both.
fn label_also(mut d: Diagnostic<Loc>, at: &Loc, text: String) -> Diagnostic<Loc> {
    match d.labels.iter_mut().find(|l| l.loc == *at) {
        Some(l) if !l.primary && !l.text.contains(&text) => l.text = format!("{}; {text}", l.text),
        Some(_) => {}
        None => d = d.secondary(at.clone(), text),
    }
    d
}

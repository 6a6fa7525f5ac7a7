//! Makes lifting explicit: an application over a frame becomes a `map`, its short arguments `replicate`s.
//!
//! ```text
//! (app (n m) (t-app + int) (a (n m)) (v (n)))
//!   ⟶ (map (n m) ((%a.7 a) (%v.8 (replicate (m) (n) v))) (call (t-app + int) %a.7 %v.8))
//! (app () f (x ()))        ⟶ (call f x)
//! (field 0 ps)             ⟶ (map (n) ((%ps.9 ps)) (field 0 %ps.9))            ps : [(tuple …) n]
//! (unbox bs (i) x e)       ⟶ (map (n) ((%bs.9 bs)) (unbox %bs.9 (i) x e))      bs : [(sigma …) n]
//! ```
//!
//! Frames of Typed are prefixes of the principal frame modulo the `check`s in scope: `[n]` counts as a
//! prefix of `[m 3]` where `n = m` is checked. Such equations hold between dims one by one, never
//! between sequences of different lengths, so a frame is taken off a shape by counting its items.

use crate::ir::*;
use remc_base::pass::PassInfo;
use remc_base::*;
use remc_typed::ir as typed;
use rustc_hash::FxHashMap;

/// What the pipeline list knows of this pass.
pub const PASS: PassInfo = PassInfo {
    name: "explicitize",
    from: "typed",
    to: "explicit",
    summary: "turns implicit lifting into maps over frames, with replication written out",
};

/// The definition with every frame mapped and every replication written.
pub fn explicitize(def: &typed::Definition) -> Definition {
    let mut lower = Lower::new(&def.body);
    let body = lower.expr(&def.body);
    Definition { name: def.name.clone(), ty: def.ty.clone(), body, entry: def.entry.clone() }
}

struct Lower {
    /// The variable after all that the definition binds or mentions.
    next: u32,
    /// The names of the variables of Typed, which the cells of their arrays inherit.
    names: FxHashMap<VarId, Name>,
}

/// The type of one cell of an array, the frame's items being the first `frame` of its shape.
fn cell(t: &ArrTy, frame: usize) -> ArrTy {
    let items = t.shape.items().get(frame..).unwrap_or_default();
    ArrTy::new(t.atom.clone(), Shape(items.to_vec()))
}

/// Whether evaluating a function again for each position of a frame is the same as doing so once: it
/// is a value already, or it is a global, of which each instance is evaluated once.
fn is_value(e: &Expr) -> bool {
    let mut e = e;
    let mut instance = false;
    loop {
        match &*e.kind {
            ExprKind::TApp { func, .. } | ExprKind::IApp { func, .. } => (e, instance) = (func, true),
            ExprKind::Global(_) => return true,
            ExprKind::Var(_) | ExprKind::Lam { .. } => return !instance,
            _ => return false,
        }
    }
}

impl Lower {
    fn new(root: &typed::Expr) -> Lower {
        use typed::ExprKind::*;
        let mut lower = Lower { next: 0, names: FxHashMap::default() };
        let mut todo = vec![root];
        while let Some(e) = todo.pop() {
            match &*e.kind {
                Var(v) => lower.passes(*v),
                Lam { params, .. } => params.iter().for_each(|l| lower.binds(l)),
                Let { local, .. } | Unbox { local, .. } => lower.binds(local),
                Loop { locals, .. } => locals.iter().for_each(|(l, _)| lower.binds(l)),
                _ => {}
            }
            todo.extend(e.children());
        }
        lower
    }

    fn passes(&mut self, v: VarId) {
        self.next = self.next.max(v.0.saturating_add(1));
    }

    fn binds(&mut self, l: &Local) {
        self.passes(l.var);
        self.names.insert(l.var, l.name.clone());
    }

    /// A name that a person recognises for the cells of `e`.
    fn name_of(&self, e: &Expr, otherwise: &str) -> Name {
        match &*e.kind {
            ExprKind::Var(v) => self.names.get(v).cloned(),
            ExprKind::Global(g) => Some(g.name.clone()),
            _ => None,
        }
        .unwrap_or_else(|| Name::new(otherwise))
    }

    fn fresh(&mut self, name: Name, ty: ArrTy) -> Local {
        let var = VarId(self.next);
        // A definition with all of the ids has one bound twice now, which the verifier reports.
        self.next = self.next.saturating_add(1);
        Local { var, name, ty }
    }

    fn exprs<'e>(&mut self, es: impl IntoIterator<Item = &'e typed::Expr>) -> Vec<Expr> {
        es.into_iter().map(|e| self.expr(e)).collect()
    }

    fn expr(&mut self, e: &typed::Expr) -> Expr {
        use typed::ExprKind as T;
        let kind = match &*e.kind {
            T::Var(v) => ExprKind::Var(*v),
            T::Global(g) => ExprKind::Global(g.clone()),
            T::Lit(lit) => ExprKind::Lit(*lit),
            T::Frame { dims, elems } => ExprKind::Frame { dims: dims.clone(), elems: self.exprs(elems) },
            T::Lam { params, body } => ExprKind::Lam { params: params.clone(), body: self.expr(body) },
            T::TLam { params, body } => ExprKind::TLam { params: params.clone(), body: self.expr(body) },
            T::ILam { params, body } => ExprKind::ILam { params: params.clone(), body: self.expr(body) },
            T::App { func, args, frame } => return self.application(e, func, args, frame),
            T::TApp { func, args } => {
                let func = self.expr(func);
                let args = args.clone();
                return self.each("f", func, e, |func| ExprKind::TApp { func, args });
            }
            T::IApp { func, args } => {
                let func = self.expr(func);
                let args = args.clone();
                return self.each("f", func, e, |func| ExprKind::IApp { func, args });
            }
            T::Let { local, value, body } => {
                ExprKind::Let { local: local.clone(), value: self.expr(value), body: self.expr(body) }
            }
            T::If { cond, then, otherwise } => {
                ExprKind::If { cond: self.expr(cond), then: self.expr(then), otherwise: self.expr(otherwise) }
            }
            T::Box { witnesses, value } => {
                ExprKind::Box { witnesses: witnesses.clone(), value: self.expr(value) }
            }
            T::Unbox { boxes, indices, local, body } => {
                let (boxes, body) = (self.expr(boxes), self.expr(body));
                let (indices, local) = (indices.clone(), local.clone());
                return self.each("box", boxes, e, |boxed| ExprKind::Unbox { boxed, indices, local, body });
            }
            T::Lift { kind, indices, value, body } => ExprKind::Lift {
                kind: *kind,
                indices: indices.clone(),
                value: self.expr(value),
                body: self.expr(body),
            },
            T::Check { fact, why, body } => {
                ExprKind::Check { fact: fact.clone(), why: why.clone(), body: self.expr(body) }
            }
            T::ReifyDim(d) => ExprKind::ReifyDim(d.clone()),
            T::ReifyShape(s) => ExprKind::ReifyShape(s.clone()),
            T::Tuple(es) => ExprKind::Tuple(self.exprs(es)),
            T::Field { tuple, position } => {
                let tuple = self.expr(tuple);
                let position = *position;
                return self.each("tuple", tuple, e, |tuple| ExprKind::Field { tuple, position });
            }
            T::Cast(from) => {
                let from = self.expr(from);
                return self.each("x", from, e, ExprKind::Cast);
            }
            T::AsShape(from) => ExprKind::AsShape(self.expr(from)),
            T::Loop { locals, cond, body } => ExprKind::Loop {
                locals: locals.iter().map(|(l, value)| (l.clone(), self.expr(value))).collect(),
                cond: self.expr(cond),
                body: self.expr(body),
            },
        };
        Expr::new(kind, e.ty.clone(), e.node)
    }

    /// What is done to one value, for each element of `operand`; `whole` is the node of Typed.
    fn each(
        &mut self,
        name: &str,
        operand: Expr,
        whole: &typed::Expr,
        form: impl FnOnce(Expr) -> ExprKind,
    ) -> Expr {
        let frame = operand.ty.shape.clone();
        if frame.is_scalar() {
            return Expr::new(form(operand), whole.ty.clone(), whole.node);
        }
        let rank = frame.items().len();
        let local = self.fresh(self.name_of(&operand, name), cell(&operand.ty, rank));
        let one = form(Expr::var(&local, whole.node));
        let body = Expr::new(one, cell(&whole.ty, rank), whole.node);
        let map = ExprKind::Map { frame, operands: vec![(local, operand)], body };
        Expr::new(map, whole.ty.clone(), whole.node)
    }

    fn application(
        &mut self,
        whole: &typed::Expr,
        func: &typed::Expr,
        args: &[typed::Arg],
        frame: &Shape,
    ) -> Expr {
        let (node, rank) = (whole.node, frame.items().len());
        let func = self.expr(func);
        if rank == 0 {
            let args = self.exprs(args.iter().map(|a| &a.expr));
            return Expr::new(ExprKind::Call { func, args }, whole.ty.clone(), node);
        }

        let mut operands = Vec::with_capacity(args.len() + 1);
        let mut before = None;
        let func = if !func.ty.shape.is_scalar() {
            let own = func.ty.shape.clone();
            self.operand(&mut operands, "f", func, &own, frame, node)
        } else if is_value(&func) {
            func
        } else {
            let local = self.fresh(Name::new("f"), func.ty.clone());
            let var = Expr::var(&local, node);
            before = Some((local, func));
            var
        };
        let mut cells = Vec::with_capacity(args.len());
        for a in args {
            let value = self.expr(&a.expr);
            cells.push(self.operand(&mut operands, "x", value, &a.frame, frame, node));
        }
        let body = Expr::new(ExprKind::Call { func, args: cells }, cell(&whole.ty, rank), node);
        let map = ExprKind::Map { frame: frame.clone(), operands, body };
        let map = Expr::new(map, whole.ty.clone(), node);
        match before {
            None => map,
            Some((local, value)) => {
                Expr::new(ExprKind::Let { local, value, body: map }, whole.ty.clone(), node)
            }
        }
    }

    /// Adds `value`, whose own frame is a prefix of the principal one, to what is mapped: its cell.
    fn operand(
        &mut self,
        operands: &mut Vec<(Local, Expr)>,
        name: &str,
        value: Expr,
        own: &Shape,
        frame: &Shape,
        node: NodeId,
    ) -> Expr {
        let rank = own.items().len();
        let local = self.fresh(self.name_of(&value, name), cell(&value.ty, rank));
        let axes = Shape(frame.items().get(rank..).unwrap_or_default().to_vec());
        let operand = if axes.is_scalar() {
            value
        } else {
            let shape = own.concat(&axes).concat(&local.ty.shape);
            let ty = ArrTy::new(value.ty.atom.clone(), shape);
            Expr::new(ExprKind::Replicate { axes, at: own.clone(), arg: value }, ty, node)
        };
        let var = Expr::var(&local, node);
        operands.push((local, operand));
        var
    }
}

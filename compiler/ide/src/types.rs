//! The types and frames of a definition's nodes, from its Typed term.

use remc_base::{ArrTy, AtomTy, BaseTy, Index, Name, NodeId, Shape};
use remc_driver::queries::check;
use remc_driver::{Db, Def};
use remc_typed::ir::{Expr, ExprKind, Local};
use remc_typed::scheme::Scheme;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What is known of the nodes of a definition that checks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Types {
    /// Of what a node gives, with all that was elaborated around it.
    pub nodes: FxHashMap<NodeId, ArrTy>,
    /// Of applications that are lifted, over what.
    pub frames: FxHashMap<NodeId, Shape>,
    /// Of what a form binds, by the form and the name.
    locals: FxHashMap<(NodeId, Name), ArrTy>,
    /// The same by the name alone, where all of that name have one type.
    named: FxHashMap<Name, Option<ArrTy>>,
}

impl Types {
    /// The type of what a form binds.
    pub fn local(&self, owner: NodeId, name: &Name) -> Option<&ArrTy> {
        let known = self.locals.get(&(owner, name.clone()));
        known.or_else(|| self.named.get(name).and_then(Option::as_ref))
    }

    fn bind(&mut self, owner: NodeId, local: &Local) {
        self.locals.entry((owner, local.name.clone())).or_insert_with(|| local.ty.clone());
        self.bind_anywhere(local);
    }

    fn bind_inside(&mut self, owner: NodeId, local: &Local) {
        self.locals.insert((owner, local.name.clone()), local.ty.clone());
        self.bind_anywhere(local);
    }

    fn bind_anywhere(&mut self, local: &Local) {
        let same = self.named.entry(local.name.clone()).or_insert_with(|| Some(local.ty.clone()));
        if same.as_ref() != Some(&local.ty) {
            *same = None;
        }
    }
}

/// The types of a definition's nodes; `None` where it has errors.
#[salsa::tracked(lru = 256)]
pub fn types<'db>(db: &'db dyn Db, def: Def<'db>) -> Option<Arc<Types>> {
    let definition = check(db, def).definition.clone()?;
    let mut found = Types::default();
    let mut todo: Vec<&Expr> = vec![&definition.body];
    while let Some(e) = todo.pop() {
        // What encloses the others of the same node is met first.
        found.nodes.entry(e.node).or_insert_with(|| e.ty.clone());
        match &*e.kind {
            ExprKind::App { frame, .. } if !frame.is_scalar() => {
                found.frames.entry(e.node).or_insert_with(|| frame.clone());
            }
            ExprKind::Lam { params, .. } => params.iter().for_each(|p| found.bind(e.node, p)),
            ExprKind::Let { local, .. } => found.bind(e.node, local),
            // Side by side, the boxes of a cell have the names of what is in them.
            ExprKind::Unbox { local, .. } => found.bind_inside(e.node, local),
            ExprKind::Loop { locals, .. } => locals.iter().for_each(|(l, _)| found.bind(e.node, l)),
            _ => {}
        }
        todo.extend(e.children().into_iter().rev());
    }
    Some(Arc::new(found))
}

/// The types of a function's parameters, behind what it is for all of.
pub fn parameters(ty: &ArrTy) -> Option<(&[ArrTy], &ArrTy)> {
    let mut ty = ty;
    loop {
        match &ty.atom {
            AtomTy::Pi(p) => ty = &p.body,
            AtomTy::Forall(p) => ty = &p.body,
            AtomTy::Fn(f) => return Some((&f.params, &f.ret)),
            _ => return None,
        }
    }
}

/// The types of a definition's parameters as an application gives them: a size that is known when the program is compiled is
/// an `int`, as which it is written.
pub fn arguments(scheme: &Scheme) -> Option<Vec<ArrTy>> {
    let mut all: Vec<ArrTy> = parameters(&scheme.ty).map(|(params, _)| params.to_vec()).unwrap_or_default();
    for (position, index) in &scheme.vals {
        let number = match index {
            Index::Dim(_) => ArrTy::base(BaseTy::I64),
            Index::Shape(s) => ArrTy::new(AtomTy::INT, Shape::of_dims(vec![s.rank()])),
        };
        all.insert((*position).min(all.len()), number);
    }
    (!all.is_empty()).then_some(all)
}

/// Whether a name is that of a base type.
pub fn is_base(name: &Name) -> bool {
    BaseTy::ALL.iter().any(|b| b.name() == name.as_str())
}

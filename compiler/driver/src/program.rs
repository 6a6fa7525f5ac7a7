//! Linking: the definitions that a value needs, ready to be run, printed or compiled.

use crate::database::{Db, SourceFile};
use crate::names::{Def, DefKind, def_of};
use crate::queries::check;
use remc_base::{ArrTy, AtomTy, GlobalId, ModuleId, Name, NodeId, TupleTy};
use remc_syntax::ast::ItemKind;
use remc_typed::ir::{Definition, Expr, ExprKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// A closed set of checked definitions.
#[derive(Clone, Default, Debug)]
pub struct LinkedProgram {
    /// What a definition uses comes before it.
    pub order: Vec<Arc<Definition>>,
    definitions: FxHashMap<GlobalId, Arc<Definition>>,
    primitives: FxHashSet<GlobalId>,
}

impl LinkedProgram {
    pub fn get(&self, global: &GlobalId) -> Option<&Arc<Definition>> {
        self.definitions.get(global)
    }

    pub fn has_primitive(&self, global: &GlobalId) -> bool {
        self.primitives.contains(global)
    }

    pub fn primitives(&self) -> impl Iterator<Item = &GlobalId> {
        self.primitives.iter()
    }
}

impl remc_interp::Program for LinkedProgram {
    fn definition(&self, global: &GlobalId) -> Option<Arc<Definition>> {
        self.definitions.get(global).cloned()
    }

    fn is_primitive(&self, global: &GlobalId) -> bool {
        self.primitives.contains(global)
    }
}

/// The global names that an expression mentions.
pub fn globals(body: &Expr) -> Vec<GlobalId> {
    let mut found = vec![];
    let mut seen = FxHashSet::default();
    let mut todo = vec![body];
    while let Some(e) = todo.pop() {
        if let ExprKind::Global(g) = &*e.kind
            && seen.insert(g.clone())
        {
            found.push(g.clone());
        }
        todo.extend(e.children());
    }
    found.sort();
    found
}

/// Everything that `roots` need. Definitions with errors are left out; a program with errors is not
/// linked to be run.
pub fn link<'db>(db: &'db dyn Db, file: SourceFile, roots: &[Def<'db>]) -> LinkedProgram {
    let mut program = LinkedProgram::default();
    let mut seen: FxHashSet<GlobalId> = FxHashSet::default();
    // Depth first; a definition is done once what it uses is. The call graph has no cycle.
    enum Step<'db> {
        Visit(Def<'db>),
        Done(Arc<Definition>),
    }
    let mut todo: Vec<Step> = roots.iter().rev().map(|d| Step::Visit(*d)).collect();
    while let Some(step) = todo.pop() {
        match step {
            Step::Done(definition) => program.order.push(definition),
            Step::Visit(def) => {
                let global = def.global(db);
                if def.kind(db) == DefKind::Type || !seen.insert(global.clone()) {
                    continue;
                }
                if matches!(def.item(db).kind, ItemKind::Primitive { .. }) {
                    program.primitives.insert(global);
                    continue;
                }
                let Some(definition) = check(db, def).definition.clone() else { continue };
                program.definitions.insert(global, definition.clone());
                todo.push(Step::Done(definition.clone()));
                for g in globals(&definition.body).iter().rev() {
                    if let Some(def) = def_of(db, file, g) {
                        todo.push(Step::Visit(def));
                    }
                }
            }
        }
    }
    program
}

/// What several values of a file need, and one more definition: the tuple of them.
///
/// A definition that several of them use is computed once, and what they have in common is compiled once.
pub fn link_together<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    values: &[Def<'db>],
) -> (LinkedProgram, GlobalId) {
    let mut program = link(db, file, values);
    let all = Arc::new(tuple(db, file, values));
    let name = all.name.clone();
    program.order.push(all.clone());
    program.definitions.insert(name.clone(), all);
    (program, name)
}

/// The name of several values of a file as one: none that a program can have.
pub fn together(module: ModuleId) -> GlobalId {
    GlobalId { module, name: Name::new("#values") }
}

/// Several values of a file as one definition, the tuple of them; of those that have errors, nothing.
pub fn tuple<'db>(db: &'db dyn Db, file: SourceFile, values: &[Def<'db>]) -> Definition {
    let node = NodeId(0);
    let checked = values.iter().filter_map(|def| check(db, *def).definition.as_ref());
    let parts: Vec<Expr> = checked
        .map(|d| Expr { kind: Box::new(ExprKind::Global(d.name.clone())), ty: d.ty.clone(), node })
        .collect();
    let fields = parts.iter().map(|part| (None, part.ty.clone())).collect();
    let ty = ArrTy::scalar(AtomTy::Tuple(Arc::new(TupleTy { fields })));
    let body = Expr { kind: Box::new(ExprKind::Tuple(parts)), ty: ty.clone(), node };
    Definition { name: together(file.module(db)), ty, body, entry: None }
}

//! A remedy as a change of the text: what a candidate has of the application that failed is kept as it is written.

use super::{A, Candidate};
use remc_base::{Fix, Loc, NodeId, Piece};
use remc_syntax::ast::{Annotation, Expr, Param, Rank};
use remc_syntax::brief::brief;
use rustc_hash::FxHashMap;

/// The change that makes a candidate of the application at `node`; `None` where it has a form that is not written here.
pub(super) fn fix(c: &Candidate, node: NodeId, func: &Expr, args: &[Expr]) -> Option<Fix<Loc>> {
    let mut w = Writer { old: FxHashMap::default(), params: FxHashMap::default(), out: Vec::new() };
    w.remember(func);
    args.iter().for_each(|a| w.remember(a));
    w.expr(&c.expr)?;
    let title = format!("write {}", brief(&c.expr));
    Some(Fix { title, at: Loc::Node(node), by: w.out })
}

struct Writer<'a> {
    old: FxHashMap<NodeId, Vec<&'a Expr>>,
    params: FxHashMap<NodeId, &'a Param>,
    out: Vec<Piece<Loc>>,
}

impl<'a> Writer<'a> {
    /// The parts that may be kept: the function, the arguments and what is in a list of these.
    fn remember(&mut self, e: &'a Expr) {
        self.old.entry(e.id).or_default().push(e);
        match &*e.kind {
            A::App { func, args } => {
                self.remember(func);
                args.iter().for_each(|a| self.remember(a));
            }
            A::Bracket(es) | A::Values(es) => es.iter().for_each(|e| self.remember(e)),
            A::Rerank { func, .. } | A::BoxInfer(func) => self.remember(func),
            A::Lam { params, body, .. } => {
                self.params.extend(params.iter().map(|p| (p.id, p)));
                self.remember(body);
            }
            _ => {}
        }
    }

    fn text(&mut self, text: impl AsRef<str>) {
        match self.out.last_mut() {
            Some(Piece::Text(before)) => before.push_str(text.as_ref()),
            _ => self.out.push(Piece::Text(text.as_ref().to_owned())),
        }
    }

    fn all(&mut self, es: &[Expr]) -> Option<()> {
        for (k, e) in es.iter().enumerate() {
            if k > 0 {
                self.text(" ");
            }
            self.expr(e)?;
        }
        Some(())
    }

    fn expr(&mut self, e: &Expr) -> Option<()> {
        if self.old.get(&e.id).is_some_and(|all| all.contains(&e)) {
            self.out.push(Piece::Kept(Loc::Node(e.id)));
            return Some(());
        }
        match &*e.kind {
            A::Var(name) => self.text(name.as_str()),
            A::Int { value, suffix: None } => self.text(value.to_string()),
            A::Bool(value) => self.text(value.to_string()),
            A::Proj { position, tuple } => {
                self.text(format!("(proj {position} "));
                self.expr(tuple)?;
                self.text(")");
            }
            A::App { func, args } => {
                self.text("(");
                self.expr(func)?;
                if !args.is_empty() {
                    self.text(" ");
                }
                self.all(args)?;
                self.text(")");
            }
            A::Bracket(es) => {
                self.text("[");
                self.all(es)?;
                self.text("]");
            }
            A::Values(es) => {
                self.text("(values ");
                self.all(es)?;
                self.text(")");
            }
            A::BoxInfer(e) => {
                self.text("(box ");
                self.expr(e)?;
                self.text(")");
            }
            A::Unbox { opened, body } => {
                self.text("(unbox ");
                for o in opened {
                    self.expr(&o.boxes)?;
                    let names = std::iter::once(&o.value).chain(&o.indices);
                    let names: Vec<&str> = names.map(|n| n.name.as_str()).collect();
                    self.text(format!(" ({}) ", names.join(" ")));
                }
                self.expr(body)?;
                self.text(")");
            }
            A::Rerank { ranks, func } => {
                let ranks: Vec<String> = ranks.iter().map(rank).collect();
                self.text(format!("~({})", ranks.join(" ")));
                self.expr(func)?;
            }
            A::Lam { params, ret: None, body } => {
                self.text("(λ (");
                for (k, p) in params.iter().enumerate() {
                    if k > 0 {
                        self.text(" ");
                    }
                    self.param(p)?;
                }
                self.text(") ");
                self.expr(body)?;
                self.text(")");
            }
            _ => return None,
        }
        Some(())
    }

    fn param(&mut self, p: &Param) -> Option<()> {
        if self.params.get(&p.id) == Some(&p) {
            self.out.push(Piece::Kept(Loc::Node(p.id)));
            return Some(());
        }
        match &p.ann {
            Annotation::None => self.text(p.name.as_str()),
            Annotation::Rank(n) => self.text(format!("[{} {n}]", p.name)),
            Annotation::All => self.text(format!("[{} all]", p.name)),
            Annotation::Type(_) => return None,
        }
        Some(())
    }
}

fn rank(rank: &Rank) -> String {
    match rank {
        Rank::Of(n) => n.to_string(),
        Rank::All => "all".to_owned(),
    }
}

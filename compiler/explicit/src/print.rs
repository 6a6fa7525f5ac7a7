//! Explicit as text, which [`crate::parse`] reads back exactly.
//!
//! ```text
//! program    ::= (explicit 1 definition …)
//! definition ::= (definition module "name" (type τ) (types (tN t) …) (nodes node …) entry?)
//! entry      ::= (entry (i …) (("name" τ) …) τ)
//! node       ::= (eN origin τ form)             origin: the syntax node it came from
//! child      ::= eN | (origin τ form)           elsewhere in the list, or in place
//! form       ::= (var x) | (global module "name") | (scalar base v) | (int n) | (float bits)
//!              | (frame (d …) child …) | (lam ((x τ) …) child) | (tlam (tp …) child) | (ilam (i …) child)
//!              | (call child child …) | (map σ (((x τ) child) …) child)
//!              | (replicate σ σ child)          the axes, and the frame in front of them
//!              | (t-app child ta …) | (i-app child ix …)
//!              | (let (x τ) child child) | (if child child child) | (box (ix …) child)
//!              | (unbox child (i …) (x τ) child) | (lift kind (i …) child child)
//!              | (check (non-negative d) "why" child) | (check (equal d d) "why" child)
//!              | (reify-dim d) | (reify-shape σ) | (tuple child …) | (field k child)
//!              | (cast child) | (as-shape child) | (loop (((x τ) child) …) child child)
//! ```
//!
//! Types, shapes, indices, variables and literals are those of Typed's text
//! ([`remc_typed::print`](mod@remc_typed::print)), and so is the layout: an outline, one line a node, the
//! node before its children, leaves in place, so that text nests no deeper however deep the program is.

use crate::ir::*;
use remc_base::sexp::quoted;
use remc_base::*;
use remc_typed::print::*;
use rustc_hash::FxHashMap;
use std::borrow::Borrow;
use std::fmt::Write;

/// The version of the text form.
pub const VERSION: i128 = 1;

/// Lines are indented no further than this, so that deep programs stay linear in size.
const MAX_INDENT: usize = 40;

/// The text of a program, or of any list of definitions.
pub fn print_program<D: Borrow<Definition>>(definitions: &[D]) -> String {
    let mut out = format!("(explicit {VERSION}");
    for d in definitions {
        out.push('\n');
        definition(&mut out, d.borrow());
    }
    out.push_str(")\n");
    out
}

/// The text of one definition.
pub fn print_definition(d: &Definition) -> String {
    let mut out = String::new();
    definition(&mut out, d);
    out
}

fn definition(out: &mut String, d: &Definition) {
    let mut p = Printer::default();
    let ty = p.types.arr(&d.ty);
    p.outline(&d.body);
    let entry = d.entry.as_ref().map(|e| format!("\n  {}", p.types.entry(e)));
    let _ = write!(out, "(definition {} {}", d.name.module.0, quoted(d.name.name.as_str()));
    let _ = write!(out, "\n  (type {ty})\n  (types{})", p.types.rows());
    let _ = write!(out, "\n  (nodes{}){})", p.out, entry.unwrap_or_default());
}

#[derive(Default)]
struct Printer {
    out: String,
    types: TypeTexts,
    /// The number of each node that has a line of its own, by address.
    numbers: FxHashMap<*const Expr, usize>,
    /// The names of the value variables, so that uses show them too.
    names: FxHashMap<VarId, Name>,
}

/// The nodes with a line of their own, in the order of the lines, each with its indentation.
fn lines(root: &Expr) -> Vec<(&Expr, usize)> {
    let mut order = Vec::new();
    let mut stack = vec![(root, 0)];
    while let Some((e, indent)) = stack.pop() {
        order.push((e, indent));
        let children = e.children();
        // The body of a `let` or `check` goes on at the same margin: a block, as people read it.
        let last_at_margin = matches!(*e.kind, ExprKind::Let { .. } | ExprKind::Check { .. });
        for (i, &c) in children.iter().enumerate().rev() {
            if !c.children().is_empty() {
                let same = last_at_margin && i + 1 == children.len();
                stack.push((c, if same { indent } else { indent + 1 }));
            }
        }
    }
    order
}

impl Printer {
    fn outline(&mut self, root: &Expr) {
        let order = lines(root);
        self.numbers = order.iter().enumerate().map(|(i, (e, _))| (std::ptr::from_ref(*e), i)).collect();
        for (e, _) in &order {
            self.names.extend(e.binders().into_iter().map(|l| (l.var, l.name.clone())));
        }
        for (i, (e, indent)) in order.into_iter().enumerate() {
            let ty = self.types.arr(&e.ty);
            let form = self.form(e);
            let margin = (4 + 2 * indent).min(MAX_INDENT);
            let _ = write!(self.out, "\n{:margin$}(e{i} {} {ty} {form})", "", e.node.0);
        }
    }

    fn child(&mut self, e: &Expr) -> String {
        match self.numbers.get(&std::ptr::from_ref(e)) {
            Some(i) => format!("e{i}"),
            None => format!("({} {} {})", e.node.0, self.types.arr(&e.ty), self.form(e)),
        }
    }

    fn children(&mut self, es: &[Expr]) -> String {
        es.iter().fold(String::new(), |acc, e| acc + " " + &self.child(e))
    }

    /// `(((x τ) child) …)`
    fn bindings(&mut self, locals: &[(Local, Expr)]) -> String {
        list(locals.iter().map(|(l, e)| format!("({} {})", self.types.local(l), self.child(e))))
    }

    fn form(&mut self, e: &Expr) -> String {
        match &*e.kind {
            ExprKind::Var(v) => match self.names.get(v) {
                Some(name) => format!("(var {})", value_var(*v, name)),
                None => format!("(var %.{})", v.0),
            },
            ExprKind::Global(g) => format!("(global {} {})", g.module.0, quoted(g.name.as_str())),
            ExprKind::Lit(lit) => literal(*lit),
            ExprKind::Frame { dims, elems } => {
                format!("(frame {}{})", list(dims.iter().map(dim)), self.children(elems))
            }
            ExprKind::Lam { params, body } => {
                let params = list(params.iter().map(|l| self.types.local(l)));
                format!("(lam {params} {})", self.child(body))
            }
            ExprKind::TLam { params, body } => {
                format!("(tlam {} {})", list(params.iter().map(tparam)), self.child(body))
            }
            ExprKind::ILam { params, body } => {
                format!("(ilam {} {})", list(params.iter().map(ivar)), self.child(body))
            }
            ExprKind::Call { func, args } => {
                let func = self.child(func);
                format!("(call {func}{})", self.children(args))
            }
            ExprKind::Map { frame, operands, body } => {
                let operands = self.bindings(operands);
                format!("(map {} {operands} {})", shape(frame), self.child(body))
            }
            ExprKind::Replicate { axes, at, arg } => {
                format!("(replicate {} {} {})", shape(axes), shape(at), self.child(arg))
            }
            ExprKind::TApp { func, args } => {
                let func = self.child(func);
                let args: Vec<_> = args.iter().map(|a| self.types.type_argument(a)).collect();
                format!("(t-app {func} {})", args.join(" "))
            }
            ExprKind::IApp { func, args } => {
                let args: Vec<_> = args.iter().map(index).collect();
                format!("(i-app {} {})", self.child(func), args.join(" "))
            }
            ExprKind::Let { local, value, body } => {
                let local = self.types.local(local);
                format!("(let {local} {} {})", self.child(value), self.child(body))
            }
            ExprKind::If { cond, then, otherwise } => {
                format!("(if {} {} {})", self.child(cond), self.child(then), self.child(otherwise))
            }
            ExprKind::Box { witnesses, value } => {
                format!("(box {} {})", list(witnesses.iter().map(index)), self.child(value))
            }
            ExprKind::Unbox { boxed, indices, local, body } => {
                let (boxed, local) = (self.child(boxed), self.types.local(local));
                format!("(unbox {boxed} {} {local} {})", list(indices.iter().map(ivar)), self.child(body))
            }
            ExprKind::Lift { kind, indices, value, body } => {
                let (kind, indices) = (lift_kind(*kind), list(indices.iter().map(ivar)));
                format!("(lift {kind} {indices} {} {})", self.child(value), self.child(body))
            }
            ExprKind::Check { fact, why, body } => {
                format!("(check {} {} {})", remc_typed::print::fact(fact), quoted(why), self.child(body))
            }
            ExprKind::ReifyDim(d) => format!("(reify-dim {})", dim(d)),
            ExprKind::ReifyShape(s) => format!("(reify-shape {})", shape(s)),
            ExprKind::Tuple(es) => format!("(tuple{})", self.children(es)),
            ExprKind::Field { tuple, position } => format!("(field {position} {})", self.child(tuple)),
            ExprKind::Cast(e) => format!("(cast {})", self.child(e)),
            ExprKind::AsShape(e) => format!("(as-shape {})", self.child(e)),
            ExprKind::Loop { locals, cond, body } => {
                let locals = self.bindings(locals);
                format!("(loop {locals} {} {})", self.child(cond), self.child(body))
            }
        }
    }
}

//! Explicit from its text; the grammar is in [`crate::print`].
//!
//! Any text gives a program or one error with its place: nothing here recurses deeper than
//! [`remc_base::sexp::MAX_DEPTH`], and the depth of what is built is bounded too. The text may still be
//! an ill-typed program, which is [`crate::verify`]'s to say.

use crate::ir::*;
use crate::print::VERSION;
use remc_base::sexp::{Sexp, SexpError, SexpKind};
use remc_base::*;
pub use remc_typed::parse::ParseError;
use remc_typed::parse::*;
use rustc_hash::FxHashMap;

/// How deep expressions may nest. An application of Typed is at most this many times deeper here: the
/// `let` of its function, its `map` and the `replicate` of an argument.
pub const MAX_EXPR_DEPTH: usize = 3 * remc_typed::parse::MAX_EXPR_DEPTH;

type Result<T, E = SexpError> = std::result::Result<T, E>;

/// Reads the text of a program.
pub fn parse_program(text: &str) -> Result<Vec<Definition>, ParseError> {
    program(text).map_err(|e| ParseError::new(text, e))
}

fn program(text: &str) -> Result<Vec<Definition>> {
    let all = sexp::read(text)?;
    let [top] = all.as_slice() else {
        let offset = all.get(1).map_or(text.len(), |s| s.offset);
        return Err(SexpError { offset, message: "one form `(explicit 1 …)` was expected".to_owned() });
    };
    let mut items = Items::form(top, "explicit")?;
    let version = items.next("the version")?;
    if int(version)? != VERSION {
        return fail(version, format!("version {VERSION} of the text form was expected"));
    }
    items.rest.iter().map(definition).collect()
}

fn definition(s: &Sexp) -> Result<Definition> {
    let mut items = Items::form(s, "definition")?;
    let name = global(&mut items)?;
    let mut ty = Items::form(items.next("(type …)")?, "type")?;
    let types = Types::table(items.next("(types …)")?)?;
    let nodes = items.next("(nodes …)")?;
    let entry = match items.rest.is_empty() {
        true => None,
        false => Some(types.entry(items.next("an entry")?)?),
    };
    items.end()?;
    let closed = types.ty(ty.next("a type")?)?;
    ty.end()?;
    let body = Parser { types, nodes: FxHashMap::default() }.outline(nodes)?;
    Ok(Definition { name, ty: closed, body, entry })
}

/// `module "name"`
fn global(items: &mut Items) -> Result<GlobalId> {
    let module = ModuleId(id(items.next("a module")?)?);
    Ok(GlobalId { module, name: Name::new(string(items.next("a name")?)?) })
}

/// An expression and its depth.
type Deep = (Expr, usize);

struct Parser<'t> {
    types: Types<'t>,
    /// The nodes read so far that are not yet part of another.
    nodes: FxHashMap<&'t str, Deep>,
}

impl<'t> Parser<'t> {
    /// Reads the nodes from the last to the first, so that children come before what holds them.
    fn outline(&mut self, s: &Sexp<'t>) -> Result<Expr> {
        let rows = Items::form(s, "nodes")?.rest;
        for (i, row) in rows.iter().enumerate().rev() {
            let mut items = Items::list(row, "a node (eN …)")?;
            // A body that is one leaf has no number.
            let name = match items.rest.first() {
                Some(Sexp { kind: SexpKind::Atom(name), .. }) => {
                    items.next("a name")?;
                    *name
                }
                _ if i == 0 => "",
                _ => return fail(row, "a node's name is missing"),
            };
            let node = self.node(items)?;
            if i == 0 {
                return match self.nodes.keys().next() {
                    Some(unused) => fail(row, format!("`{unused}` is part of no other node")),
                    None => Ok(node.0),
                };
            }
            if self.nodes.insert(name, node).is_some() {
                return fail(row, format!("`{name}` is the name of two nodes"));
            }
        }
        fail(s, "the list of nodes is empty")
    }

    /// A node from its origin on.
    fn node(&mut self, mut items: Items<'_, 't>) -> Result<Deep> {
        let origin = NodeId(id(items.next("the node it came from")?)?);
        let ty = self.types.ty(items.next("a type")?)?;
        let form = items.next("a form")?;
        items.end()?;
        let (head, items) = Items::headed(form)?;
        let mut reader = Form { p: self, form, items, below: 0 };
        let kind = reader.kind(head)?;
        reader.items.end()?;
        if reader.below >= MAX_EXPR_DEPTH {
            return fail(form, format!("expressions nest deeper than {MAX_EXPR_DEPTH}"));
        }
        Ok((Expr::new(kind, ty, origin), reader.below + 1))
    }
}

/// A form of expression that is being read.
struct Form<'p, 's, 't> {
    p: &'p mut Parser<'t>,
    form: &'s Sexp<'t>,
    items: Items<'s, 't>,
    /// The depth of the deepest child.
    below: usize,
}

impl<'s, 't> Form<'_, 's, 't> {
    fn child(&mut self, s: &Sexp<'t>) -> Result<Expr> {
        let (e, depth) = match s.kind {
            SexpKind::Atom(name) => match self.p.nodes.remove(name) {
                Some(node) => node,
                None => return fail(s, format!("`{name}` is not a later node, or is used twice")),
            },
            _ => self.p.node(Items::list(s, "a node")?)?,
        };
        self.below = depth.max(self.below);
        Ok(e)
    }

    fn expr(&mut self) -> Result<Expr> {
        let s = self.items.next("an expression")?;
        self.child(s)
    }

    /// All that is left.
    fn exprs(&mut self) -> Result<Vec<Expr>> {
        std::mem::take(&mut self.items.rest).iter().map(|s| self.child(s)).collect()
    }

    fn local(&mut self) -> Result<Local> {
        self.p.types.local(self.items.next("a variable")?)
    }

    fn locals(&mut self) -> Result<Vec<Local>> {
        let params = Items::list(self.items.next("parameters")?, "a list of parameters")?;
        params.rest.iter().map(|s| self.p.types.local(s)).collect()
    }

    /// `(((x τ) child) …)`
    fn bindings(&mut self) -> Result<Vec<(Local, Expr)>> {
        let all = Items::list(self.items.next("variables")?, "a list of variables")?;
        let binding = |s: &Sexp<'t>| {
            let mut one = Items::list(s, "a variable and its value")?;
            let local = self.p.types.local(one.next("a variable")?)?;
            let value = self.child(one.next("an expression")?)?;
            one.end()?;
            Ok((local, value))
        };
        all.rest.iter().map(binding).collect()
    }

    fn kind(&mut self, head: &str) -> Result<ExprKind> {
        Ok(match head {
            "var" => ExprKind::Var(value_var(self.items.next("a variable")?)?.0),
            "global" => ExprKind::Global(global(&mut self.items)?),
            "int" | "float" | "scalar" => ExprKind::Lit(literal(head, &mut self.items)?),
            "frame" => {
                let dims = Items::list(self.items.next("dims")?, "a list of dims")?;
                let dims = dims.rest.iter().map(dim).collect::<Result<_>>()?;
                ExprKind::Frame { dims, elems: self.exprs()? }
            }
            "lam" => ExprKind::Lam { params: self.locals()?, body: self.expr()? },
            "tlam" => ExprKind::TLam { params: tparams(self.items.next("parameters")?)?, body: self.expr()? },
            "ilam" => ExprKind::ILam { params: ivars(self.items.next("parameters")?)?, body: self.expr()? },
            "call" => ExprKind::Call { func: self.expr()?, args: self.exprs()? },
            "map" => {
                let frame = shape(self.items.next("the frame")?)?;
                ExprKind::Map { frame, operands: self.bindings()?, body: self.expr()? }
            }
            "replicate" => {
                let axes = shape(self.items.next("the axes")?)?;
                let at = shape(self.items.next("the frame in front of them")?)?;
                ExprKind::Replicate { axes, at, arg: self.expr()? }
            }
            "t-app" => {
                let func = self.expr()?;
                let args = std::mem::take(&mut self.items.rest);
                let args = args.iter().map(|s| self.p.types.type_argument(s)).collect::<Result<_>>()?;
                ExprKind::TApp { func, args }
            }
            "i-app" => {
                let func = self.expr()?;
                let args = std::mem::take(&mut self.items.rest).iter().map(index).collect::<Result<_>>()?;
                ExprKind::IApp { func, args }
            }
            "let" => ExprKind::Let { local: self.local()?, value: self.expr()?, body: self.expr()? },
            "if" => ExprKind::If { cond: self.expr()?, then: self.expr()?, otherwise: self.expr()? },
            "box" => {
                ExprKind::Box { witnesses: indices(self.items.next("witnesses")?)?, value: self.expr()? }
            }
            "unbox" => {
                let boxed = self.expr()?;
                let indices = ivars(self.items.next("indices")?)?;
                ExprKind::Unbox { boxed, indices, local: self.local()?, body: self.expr()? }
            }
            "lift" => {
                let kind = lift_kind(self.items.next("a kind")?)?;
                let indices = ivars(self.items.next("indices")?)?;
                ExprKind::Lift { kind, indices, value: self.expr()?, body: self.expr()? }
            }
            "check" => {
                let fact = fact(self.items.next("a fact")?)?;
                let why = string(self.items.next("a reason")?)?.into();
                ExprKind::Check { fact, why, body: self.expr()? }
            }
            "reify-dim" => ExprKind::ReifyDim(dim(self.items.next("a dim")?)?),
            "reify-shape" => ExprKind::ReifyShape(shape(self.items.next("a shape")?)?),
            "tuple" => ExprKind::Tuple(self.exprs()?),
            "field" => {
                let position = id(self.items.next("a position")?)?;
                ExprKind::Field { tuple: self.expr()?, position }
            }
            "cast" => ExprKind::Cast(self.expr()?),
            "as-shape" => ExprKind::AsShape(self.expr()?),
            "loop" => ExprKind::Loop { locals: self.bindings()?, cond: self.expr()?, body: self.expr()? },
            _ => return fail(self.form, format!("unknown form of expression `{head}`")),
        })
    }
}

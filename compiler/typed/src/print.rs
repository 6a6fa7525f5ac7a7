//! Typed as text, which [`crate::parse`] reads back exactly.
//!
//! ```text
//! program    ::= (typed 1 definition …)
//! definition ::= (definition module "name" (type τ) (types (tN t) …) (nodes node …) entry?)
//! entry      ::= (entry (i …) (("name" τ) …) τ (streams k …)?)
//! node       ::= (eN origin τ form)             origin: the syntax node it came from
//! child      ::= eN | (origin τ form)           elsewhere in the list, or in place
//! form       ::= (var x) | (global module "name") | (scalar base v) | (int n) | (float bits)
//!              | (frame (d …) child …) | (lam ((x τ) …) child) | (tlam (tp …) child) | (ilam (i …) child)
//!              | (app σ child (child σ) …) | (t-app child ta …) | (i-app child ix …)
//!              | (let (x τ) child child) | (if child child child) | (box (ix …) child)
//!              | (unbox child (i …) (x τ) child) | (lift kind (i …) child child)
//!              | (check (non-negative d) "why" child) | (check (equal d d) "why" child)
//!              | (reify-dim d) | (reify-shape σ) | (tuple child …) | (field k child)
//!              | (cast child) | (as-shape child) | (loop (((x τ) child) …) child child)
//! τ          ::= t | (arr t si …)               a scalar array, or one with a shape
//! t          ::= base | a | tN | (-> (τ …) τ) | (forall (tp …) τ) | (pi (i …) τ) | (sigma (i …) τ)
//!              | (tuple τ …) | (record ("l" τ) …) | (quot t)
//! tp         ::= (a s? class?)
//! d          ::= n | i | (rank s) | (size s) | (* n? i …) | (+ d …)
//! σ          ::= (si …)      si ::= d | s
//! ix         ::= (dim d) | (shape si …)         ta ::= (atom t) | (array τ)
//! ```
//!
//! The expression is written as an outline: one line a node, the node before its children, leaves in
//! place, so that text nests no deeper however deep the program is. A long type is written once, in the
//! table, which also bounds the nesting of types. A variable is its sigil, name and id: `%x.1` a value,
//! `$n.2` a dim, `!$k.3` an integer index of any sign, `@s.4` a shape, `^t.5` an atom type; what is not
//! plain in a name is written `%HH` a byte. `?1`, `?@1` are existentials, which a finished program has
//! none of. Floats are the bits of their value.
//!
//! Types, indices, variables and literals read the same in the text of the IRs after this one, whose
//! printers use [`TypeTexts`] and the public functions here.

use crate::ir::*;
use remc_base::sexp::{bits, integer, is_atom_byte, quoted};
use remc_base::*;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use std::sync::Arc;

/// The version of the text form.
pub const VERSION: i128 = 1;

/// A type whose text is longer than this goes to the table.
const LONG_TYPE: usize = 72;
/// A type nested deeper than this goes to the table.
const DEEP_TYPE: usize = 12;
/// Lines are indented no further than this, so that deep programs stay linear in size.
const MAX_INDENT: usize = 40;

/// The text of a program, or of any list of definitions.
pub fn print_program(definitions: &[Arc<Definition>]) -> String {
    let mut out = format!("(typed {VERSION}");
    for d in definitions {
        out.push('\n');
        definition(&mut out, d);
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
    let ty = p.arr(&d.ty);
    p.outline(&d.body);
    let entry = d.entry.as_ref().map(|e| format!("\n  {}", p.types.entry(e)));
    let _ = write!(out, "(definition {} {}", d.name.module.0, quoted(d.name.name.as_str()));
    let _ = write!(out, "\n  (type {ty})\n  (types");
    let _ = write!(out, "{})\n  (nodes{}){})", p.types.rows(), p.out, entry.unwrap_or_default());
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

/// The texts of types within one definition; the long ones are in a table.
#[derive(Default)]
pub struct TypeTexts {
    /// The texts of the long types, in order, and where each is.
    table: Vec<String>,
    interned: FxHashMap<String, usize>,
}

/// The items between parentheses.
pub fn list(items: impl Iterator<Item = String>) -> String {
    format!("({})", items.collect::<Vec<_>>().join(" "))
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

/// The value variables that `e` binds.
fn locals(e: &Expr) -> Box<dyn Iterator<Item = &Local> + '_> {
    match &*e.kind {
        ExprKind::Lam { params, .. } => Box::new(params.iter()),
        ExprKind::Let { local, .. } | ExprKind::Unbox { local, .. } => Box::new(std::iter::once(local)),
        ExprKind::Loop { locals, .. } => Box::new(locals.iter().map(|(l, _)| l)),
        _ => Box::new(std::iter::empty()),
    }
}

impl Printer {
    fn outline(&mut self, root: &Expr) {
        let order = lines(root);
        self.numbers = order.iter().enumerate().map(|(i, (e, _))| (std::ptr::from_ref(*e), i)).collect();
        for (e, _) in &order {
            self.names.extend(locals(e).map(|l| (l.var, l.name.clone())));
        }
        for (i, (e, indent)) in order.into_iter().enumerate() {
            let ty = self.arr(&e.ty);
            let form = self.form(e);
            let margin = (4 + 2 * indent).min(MAX_INDENT);
            let _ = write!(self.out, "\n{:margin$}(e{i} {} {ty} {form})", "", e.node.0);
        }
    }

    fn child(&mut self, e: &Expr) -> String {
        match self.numbers.get(&std::ptr::from_ref(e)) {
            Some(i) => format!("e{i}"),
            None => format!("({} {} {})", e.node.0, self.arr(&e.ty), self.form(e)),
        }
    }

    fn children(&mut self, es: &[Expr]) -> String {
        es.iter().fold(String::new(), |acc, e| acc + " " + &self.child(e))
    }

    fn local(&mut self, l: &Local) -> String {
        self.types.local(l)
    }

    fn arr(&mut self, t: &ArrTy) -> String {
        self.types.arr(t)
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
                let params: Vec<_> = params.iter().map(|l| self.local(l)).collect();
                format!("(lam ({}) {})", params.join(" "), self.child(body))
            }
            ExprKind::TLam { params, body } => {
                format!("(tlam {} {})", list(params.iter().map(tparam)), self.child(body))
            }
            ExprKind::ILam { params, body } => {
                format!("(ilam {} {})", list(params.iter().map(ivar)), self.child(body))
            }
            ExprKind::App { func, args, frame } => {
                let mut out = format!("(app {} {}", shape(frame), self.child(func));
                for a in args {
                    let _ = write!(out, " ({} {})", self.child(&a.expr), shape(&a.frame));
                }
                out + ")"
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
                let local = self.local(local);
                format!("(let {local} {} {})", self.child(value), self.child(body))
            }
            ExprKind::If { cond, then, otherwise } => {
                format!("(if {} {} {})", self.child(cond), self.child(then), self.child(otherwise))
            }
            ExprKind::Box { witnesses, value } => {
                format!("(box {} {})", list(witnesses.iter().map(index)), self.child(value))
            }
            ExprKind::Unbox { boxes, indices, local, body } => {
                let (boxes, local) = (self.child(boxes), self.local(local));
                format!("(unbox {boxes} {} {local} {})", list(indices.iter().map(ivar)), self.child(body))
            }
            ExprKind::Lift { kind, indices, value, body } => {
                let (kind, indices) = (lift_kind(*kind), list(indices.iter().map(ivar)));
                format!("(lift {kind} {indices} {} {})", self.child(value), self.child(body))
            }
            ExprKind::Check { fact, why, body } => {
                format!("(check {} {} {})", self::fact(fact), quoted(why), self.child(body))
            }
            ExprKind::ReifyDim(d) => format!("(reify-dim {})", dim(d)),
            ExprKind::ReifyShape(s) => format!("(reify-shape {})", shape(s)),
            ExprKind::Tuple(es) => format!("(tuple{})", self.children(es)),
            ExprKind::Field { tuple, position } => format!("(field {position} {})", self.child(tuple)),
            ExprKind::Cast(e) => format!("(cast {})", self.child(e)),
            ExprKind::AsShape(e) => format!("(as-shape {})", self.child(e)),
            ExprKind::Loop { locals, cond, body } => {
                let locals: Vec<_> =
                    locals.iter().map(|(l, e)| format!("({} {})", self.local(l), self.child(e))).collect();
                format!("(loop ({}) {} {})", locals.join(" "), self.child(cond), self.child(body))
            }
        }
    }
}

impl TypeTexts {
    /// The rows `(tN t)` of the table so far, a line each.
    pub fn rows(&self) -> String {
        self.table.iter().enumerate().fold(String::new(), |mut out, (i, t)| {
            let _ = write!(out, "\n    (t{i} {t})");
            out
        })
    }

    pub fn entry(&mut self, e: &EntrySignature) -> String {
        let params: Vec<_> =
            e.params.iter().map(|(n, t)| format!("({} {})", quoted(n.as_str()), self.arr(t))).collect();
        let ret = self.arr(&e.ret);
        let streams: String = e.streams.iter().map(|k| format!(" {k}")).collect();
        let streams = if streams.is_empty() { streams } else { format!(" (streams{streams})") };
        format!("(entry {} ({}) {ret}{streams})", list(e.indices.iter().map(ivar)), params.join(" "))
    }

    /// A binder: the variable and its type.
    pub fn local(&mut self, l: &Local) -> String {
        format!("({} {})", value_var(l.var, &l.name), self.arr(&l.ty))
    }

    pub fn type_argument(&mut self, a: &TyArg) -> String {
        match a {
            TyArg::Atom(t) => format!("(atom {})", self.atom(t).text),
            TyArg::Array(t) => format!("(array {})", self.arr(t)),
        }
    }

    pub fn arr(&mut self, t: &ArrTy) -> String {
        self.arr_text(t).text
    }

    fn arr_text(&mut self, t: &ArrTy) -> TypeText {
        let mut atom = self.atom(&t.atom);
        if !t.shape.is_scalar() {
            atom.text = format!("(arr {}{})", atom.text, shape_items(&t.shape));
            atom.depth += 1;
        }
        atom
    }

    fn arrs<'a>(&mut self, ts: impl Iterator<Item = &'a ArrTy>) -> TypeText {
        let mut all = TypeText::default();
        for t in ts {
            let one = self.arr_text(t);
            all.depth = all.depth.max(one.depth);
            all.text += if all.text.is_empty() { "" } else { " " };
            all.text += &one.text;
        }
        all
    }

    fn atom(&mut self, t: &AtomTy) -> TypeText {
        let TypeText { text, depth } = match t {
            AtomTy::Base(b) => return b.name().to_owned().into(),
            AtomTy::Var(v) => return type_var(v).into(),
            AtomTy::Meta(m) => return format!("?{}", m.0).into(),
            AtomTy::Fn(f) => {
                let (params, ret) = (self.arrs(f.params.iter()), self.arr_text(&f.ret));
                ret.around(params.depth, |ret| format!("(-> ({}) {ret})", params.text))
            }
            AtomTy::Forall(q) => {
                let params = list(q.params.iter().map(tparam));
                self.arr_text(&q.body).around(0, |body| format!("(forall {params} {body})"))
            }
            AtomTy::Pi(q) => {
                let params = list(q.params.iter().map(ivar));
                self.arr_text(&q.body).around(0, |body| format!("(pi {params} {body})"))
            }
            AtomTy::Sigma(q) => {
                let params = list(q.params.iter().map(ivar));
                self.arr_text(&q.body).around(0, |body| format!("(sigma {params} {body})"))
            }
            AtomTy::Tuple(q) if q.fields.iter().all(|(l, _)| l.is_none()) => {
                self.arrs(q.fields.iter().map(|f| &f.1)).around(0, |fields| format!("(tuple {fields})"))
            }
            AtomTy::Tuple(q) => {
                let mut all = TypeText { text: "(record".to_owned(), depth: 0 };
                for (label, t) in &q.fields {
                    let one = self.arr_text(t);
                    all.depth = all.depth.max(one.depth + 1);
                    let _ = match label {
                        Some(l) => write!(all.text, " ({} {})", quoted(l.as_str()), one.text),
                        None => write!(all.text, " ({})", one.text),
                    };
                }
                all.around(0, |text| format!("{text})"))
            }
            AtomTy::Quot(q) => self.atom(q).around(0, |t| format!("(quot {t})")),
        };
        if text.len() <= LONG_TYPE && depth <= DEEP_TYPE {
            return TypeText { text, depth };
        }
        let table = &mut self.table;
        let i = *self.interned.entry(text).or_insert_with_key(|text| {
            table.push(text.clone());
            table.len() - 1
        });
        format!("t{i}").into()
    }
}

/// The text of a type and how deep its lists nest.
#[derive(Default)]
struct TypeText {
    text: String,
    depth: usize,
}

impl From<String> for TypeText {
    fn from(text: String) -> TypeText {
        TypeText { text, depth: 0 }
    }
}

impl TypeText {
    /// The text inside a form that has other parts of depth `other`.
    fn around(self, other: usize, form: impl FnOnce(String) -> String) -> TypeText {
        TypeText { depth: self.depth.max(other) + 1, text: form(self.text) }
    }
}

/// The form of a literal.
pub fn literal(lit: Lit) -> String {
    match lit {
        Lit::Int(n) => format!("(int {})", integer(n)),
        Lit::Float(f) => format!("(float {})", bits(f, 16)),
        Lit::Scalar(s) => {
            let value = match s {
                Scalar::Bool(b) => b.to_string(),
                Scalar::Char(c) => (c as u32).to_string(),
                Scalar::F16(x) => bits(x.to_bits(), 4),
                Scalar::F32(x) => bits(x.to_bits(), 8),
                Scalar::F64(x) => bits(x.to_bits(), 16),
                Scalar::I8(x) => x.to_string(),
                Scalar::I16(x) => x.to_string(),
                Scalar::I32(x) => x.to_string(),
                Scalar::I64(x) => x.to_string(),
                Scalar::U8(x) => x.to_string(),
                Scalar::U16(x) => x.to_string(),
                Scalar::U32(x) => x.to_string(),
                Scalar::U64(x) => x.to_string(),
            };
            format!("(scalar {} {value})", s.ty())
        }
    }
}

/// The form of a [`Fact`].
pub fn fact(fact: &Fact) -> String {
    match fact {
        Fact::NonNegative(d) => format!("(non-negative {})", dim(d)),
        Fact::Equal(p, q) => format!("(equal {} {})", dim(p), dim(q)),
    }
}

/// The word for a [`LiftKind`].
pub fn lift_kind(kind: LiftKind) -> &'static str {
    match kind {
        LiftKind::Natural => "natural",
        LiftKind::Integer => "integer",
        LiftKind::Dims => "dims",
        LiftKind::Shape => "shape",
    }
}

/// A name inside a variable: plain characters as they are, any other byte as `%HH`.
fn escaped(name: &str) -> String {
    name.bytes().fold(String::new(), |mut out, b| {
        if is_atom_byte(b) && !b"%.".contains(&b) {
            out.push(b as char);
        } else {
            let _ = write!(out, "%{b:02x}");
        }
        out
    })
}

/// The binder's name counts; a use shows it for the reader's sake.
pub fn value_var(v: VarId, name: &Name) -> String {
    format!("%{}.{}", escaped(name.as_str()), v.0)
}

fn type_var(v: &TVar) -> String {
    format!("^{}.{}", escaped(v.name.as_str()), v.id)
}

/// An index variable, its sort and sign by its sigil.
pub fn ivar(v: &IVar) -> String {
    let any_sign = if v.natural { "" } else { "!" };
    let name = v.name.as_str();
    match v.sort {
        Sort::Dim => format!("{any_sign}${}.{}", escaped(name), v.id),
        // The name of a shape starts with the sigil; one that does not is marked by a dot.
        Sort::Shape => match name.strip_prefix('@') {
            Some(rest) => format!("{any_sign}@{}.{}", escaped(rest), v.id),
            None => format!("{any_sign}@.{}.{}", escaped(name), v.id),
        },
    }
}

/// A type parameter `(a s? class?)`.
pub fn tparam(p: &TParam) -> String {
    let mut out = format!("({}", type_var(&p.var));
    if let Some(s) = &p.shape {
        let _ = write!(out, " {}", ivar(s));
    }
    if let Some(c) = p.class {
        let _ = write!(out, " {c}");
    }
    out + ")"
}

fn shape_var(v: &ShapeVar) -> String {
    match v {
        ShapeVar::Rigid(v) => ivar(v),
        ShapeVar::Meta(m) => format!("?@{}", m.0),
    }
}

/// A dim: a polynomial.
pub fn dim(d: &Dim) -> String {
    let factor = |v: &DimVar| match v {
        DimVar::Rigid(v) => ivar(v),
        DimVar::Meta(m) => format!("?{}", m.0),
        DimVar::RankOf(s) => format!("(rank {})", shape_var(s)),
        DimVar::SizeOf(s) => format!("(size {})", shape_var(s)),
    };
    let product = |m: &[DimVar]| m.iter().map(factor).collect::<Vec<_>>().join(" ");
    let term = |(m, c): &(dim::Monomial, i128)| match (m.as_slice(), *c) {
        ([], c) => integer(c),
        ([v], 1) => factor(v),
        (m, 1) => format!("(* {})", product(m)),
        (m, c) => format!("(* {} {})", integer(c), product(m)),
    };
    match d.terms() {
        [] => "0".to_owned(),
        [one] => term(one),
        many => format!("(+ {})", many.iter().map(term).collect::<Vec<_>>().join(" ")),
    }
}

/// The items of a shape, a space before each.
fn shape_items(s: &Shape) -> String {
    s.items().iter().fold(String::new(), |acc, item| {
        acc + " "
            + &match item {
                ShapeItem::Dim(d) => dim(d),
                ShapeItem::Var(v) => shape_var(v),
            }
    })
}

/// A shape `(si …)`.
pub fn shape(s: &Shape) -> String {
    format!("({})", shape_items(s).trim_start())
}

/// An index argument.
pub fn index(i: &Index) -> String {
    match i {
        Index::Dim(d) => format!("(dim {})", dim(d)),
        Index::Shape(s) => format!("(shape{})", shape_items(s)),
    }
}

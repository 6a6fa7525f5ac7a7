//! Typed from its text; the grammar is in [`crate::print`].
//!
//! Any text gives a program or one error with its place: nothing here recurses deeper than
//! [`remc_base::sexp::MAX_DEPTH`], and the depth of what is built is bounded too. The text may still be
//! an ill-typed program, which is [`crate::verify`]'s to say.
//!
//! Types, indices, variables and literals read the same in the text of the IRs after this one, whose
//! parsers use [`Items`], [`Types`] and the public functions here.

use crate::ir::*;
use crate::print::VERSION;
use half::f16;
use remc_base::sexp::{Sexp, SexpError, SexpKind};
use remc_base::*;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;

/// How deep expressions may nest: far above what the checker accepts from source.
pub const MAX_EXPR_DEPTH: usize = 20_000;
/// How deep types may nest, through the table.
pub const MAX_TYPE_DEPTH: usize = 1_000;
/// How large a type may be, written out without the table.
pub const MAX_TYPE_SIZE: usize = 1_000_000;

/// What was wrong with the text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// In bytes from the start of the text.
    pub offset: usize,
    /// Counted from 1.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Reads the text of a program.
pub fn parse_program(text: &str) -> Result<Vec<Definition>, ParseError> {
    program(text).map_err(|e| ParseError::new(text, e))
}

impl ParseError {
    /// An error in `text`, with its line.
    pub fn new(text: &str, SexpError { offset, message }: SexpError) -> ParseError {
        let line = 1 + text.as_bytes().iter().take(offset).filter(|&&b| b == b'\n').count();
        ParseError { offset, line, message }
    }
}

type Result<T, E = SexpError> = std::result::Result<T, E>;

fn program(text: &str) -> Result<Vec<Definition>> {
    let all = sexp::read(text)?;
    let [top] = all.as_slice() else {
        let offset = all.get(1).map_or(text.len(), |s| s.offset);
        return Err(SexpError { offset, message: "one form `(typed 1 …)` was expected".to_owned() });
    };
    let mut items = Items::form(top, "typed")?;
    let version = items.next("the version")?;
    if int(version)? != VERSION {
        return fail(version, format!("version {VERSION} of the text form was expected"));
    }
    items.rest.iter().map(definition).collect()
}

fn definition(s: &Sexp) -> Result<Definition> {
    let mut items = Items::form(s, "definition")?;
    let module = ModuleId(id(items.next("a module")?)?);
    let name = GlobalId { module, name: Name::new(string(items.next("a name")?)?) };
    let (ty, types) = (items.next("(type …)")?, items.next("(types …)")?);
    let nodes = items.next("(nodes …)")?;
    let entry = items.rest.first();
    if let Some(extra) = items.rest.get(1) {
        return fail(extra, "the definition has ended before this");
    }

    let mut p = Parser { types: Types::table(types)?, nodes: FxHashMap::default() };
    let mut ty_items = Items::form(ty, "type")?;
    let ty = p.types.ty(ty_items.next("a type")?)?;
    ty_items.end()?;
    let body = p.outline(nodes)?;
    let entry = entry.map(|s| p.types.entry(s)).transpose()?;
    Ok(Definition { name, ty, body, entry })
}

/// An error at `s`.
pub fn fail<T>(s: &Sexp, message: impl Into<String>) -> Result<T> {
    Err(SexpError { offset: s.offset, message: message.into() })
}

/// The items of a list that are still to be read.
pub struct Items<'s, 't> {
    whole: &'s Sexp<'t>,
    pub rest: &'s [Sexp<'t>],
}

impl<'s, 't> Items<'s, 't> {
    pub fn list(whole: &'s Sexp<'t>, wanted: &str) -> Result<Self> {
        match &whole.kind {
            SexpKind::List(items) => Ok(Items { whole, rest: items }),
            _ => fail(whole, format!("{wanted} was expected")),
        }
    }

    /// A list that starts with the word `head`.
    pub fn form(whole: &'s Sexp<'t>, head: &str) -> Result<Self> {
        let (found, items) = Items::headed(whole)?;
        if found == head { Ok(items) } else { fail(whole, format!("({head} …) was expected")) }
    }

    /// A list that starts with a word, and the word.
    pub fn headed(whole: &'s Sexp<'t>) -> Result<(&'t str, Self)> {
        let mut items = Items::list(whole, "a form")?;
        let head = symbol(items.next("a word")?)?;
        Ok((head, items))
    }

    /// The next item; `wanted` says what it should be, for the error if there is none.
    pub fn next(&mut self, wanted: &str) -> Result<&'s Sexp<'t>> {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                Ok(first)
            }
            None => fail(self.whole, format!("{wanted} is missing in this list")),
        }
    }

    /// An error if there is another item.
    pub fn end(&self) -> Result<()> {
        match self.rest.first() {
            Some(extra) => fail(extra, "the list has ended before this"),
            None => Ok(()),
        }
    }
}

pub fn symbol<'t>(s: &Sexp<'t>) -> Result<&'t str> {
    match s.kind {
        SexpKind::Atom(a) => Ok(a),
        _ => fail(s, "a word was expected"),
    }
}

pub fn string<'s>(s: &'s Sexp) -> Result<&'s str> {
    match &s.kind {
        SexpKind::Str(text) => Ok(text),
        _ => fail(s, "a string was expected"),
    }
}

pub fn int(s: &Sexp) -> Result<i128> {
    s.integer().map_or_else(|| fail(s, "an integer was expected"), Ok)
}

/// An integer that fits the type wanted.
pub fn id<T: TryFrom<i128>>(s: &Sexp) -> Result<T> {
    T::try_from(int(s)?).or_else(|_| fail(s, "this number is out of range"))
}

/// `#x…`, at most as wide as `T`.
fn bits<T: TryFrom<u64>>(s: &Sexp) -> Result<T> {
    let SexpKind::Int(n) = s.kind else { return fail(s, "the bits of a float, `#x…`, were expected") };
    let bits = u64::try_from(n).ok().and_then(|n| T::try_from(n).ok());
    bits.map_or_else(|| fail(s, "more bits than the type has"), Ok)
}

/// A variable's text without its sigil: the name as written, and the id.
fn variable<'t>(s: &Sexp<'t>, text: &'t str) -> Result<(&'t str, u32)> {
    text.rsplit_once('.')
        .filter(|(_, n)| n.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|(name, n)| Some((name, n.parse().ok()?)))
        .map_or_else(|| fail(s, "a variable, a name and an id like `%x.1`, was expected"), Ok)
}

/// Reads the `%HH` in a name.
fn unescaped(s: &Sexp, text: &str) -> Result<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b != b'%' {
            out.push(b);
            continue;
        }
        let mut digit = || bytes.next().and_then(|b| (b as char).to_digit(16));
        match (digit(), digit()) {
            (Some(high), Some(low)) => out.push((16 * high + low) as u8),
            _ => return fail(s, "`%` in a name is followed by two hexadecimal digits"),
        }
    }
    String::from_utf8(out).or_else(|_| fail(s, "this name is not UTF-8"))
}

pub fn value_var(s: &Sexp) -> Result<(VarId, Name)> {
    match symbol(s)?.strip_prefix('%') {
        Some(rest) => {
            let (name, id) = variable(s, rest)?;
            Ok((VarId(id), Name::new(unescaped(s, name)?)))
        }
        None => fail(s, "a variable like `%x.1` was expected"),
    }
}

fn type_var(s: &Sexp) -> Result<TVar> {
    match symbol(s)?.strip_prefix('^') {
        Some(rest) => {
            let (name, id) = variable(s, rest)?;
            Ok(TVar { id, name: Name::new(unescaped(s, name)?) })
        }
        None => fail(s, "a type variable like `^t.1` was expected"),
    }
}

fn ivar(s: &Sexp) -> Result<IVar> {
    let text = symbol(s)?;
    let (natural, text) = text.strip_prefix('!').map_or((true, text), |rest| (false, rest));
    let (sort, rest) = match (text.strip_prefix('$'), text.strip_prefix('@')) {
        (Some(rest), _) => (Sort::Dim, rest),
        (_, Some(rest)) => (Sort::Shape, rest),
        _ => return fail(s, "an index variable like `$n.1` or `@s.1` was expected"),
    };
    let (name, id) = variable(s, rest)?;
    let name = match (sort, name.strip_prefix('.')) {
        (Sort::Dim, _) => unescaped(s, name)?,
        (Sort::Shape, Some(name)) => unescaped(s, name)?,
        (Sort::Shape, None) => format!("@{}", unescaped(s, name)?),
    };
    Ok(IVar { id, sort, natural, name: Name::new(name) })
}

/// The number of an existential, `prefix` before it.
fn meta(text: &str, prefix: &str) -> Option<MetaId> {
    let digits = text.strip_prefix(prefix)?;
    if digits.starts_with('+') { None } else { digits.parse().ok().map(MetaId) }
}

pub fn ivars(s: &Sexp) -> Result<Vec<IVar>> {
    Items::list(s, "a list of index variables")?.rest.iter().map(ivar).collect()
}

fn tparam(s: &Sexp) -> Result<TParam> {
    let mut items = Items::list(s, "a type parameter (^t.1 …)")?;
    let var = type_var(items.next("a type variable")?)?;
    let shape = match items.rest.first() {
        Some(s) if symbol(s)?.contains('.') => Some(ivar(items.next("a shape")?)?),
        _ => None,
    };
    let class = match items.rest.first() {
        Some(_) => {
            let s = items.next("a class")?;
            let Some(class) = Class::from_name(symbol(s)?) else { return fail(s, "unknown class") };
            Some(class)
        }
        None => None,
    };
    items.end()?;
    Ok(TParam { var, shape, class })
}

pub fn tparams(s: &Sexp) -> Result<Vec<TParam>> {
    Items::list(s, "a list of type parameters")?.rest.iter().map(tparam).collect()
}

fn shape_var(s: &Sexp) -> Result<ShapeVar> {
    match meta(symbol(s)?, "?@") {
        Some(m) => Ok(ShapeVar::Meta(m)),
        None => Ok(ShapeVar::Rigid(ivar(s)?)),
    }
}

/// One indeterminate of a dim.
fn factor(s: &Sexp) -> Result<DimVar> {
    if let SexpKind::List(_) = s.kind {
        let (head, mut items) = Items::headed(s)?;
        let of = items.next("a shape variable")?;
        items.end()?;
        return match head {
            "rank" => Ok(DimVar::RankOf(shape_var(of)?)),
            "size" => Ok(DimVar::SizeOf(shape_var(of)?)),
            _ => fail(s, "a factor of a dim was expected"),
        };
    }
    match meta(symbol(s)?, "?") {
        Some(m) => Ok(DimVar::Meta(m)),
        None => Ok(DimVar::Rigid(ivar(s)?)),
    }
}

fn term(s: &Sexp) -> Result<(dim::Monomial, i128)> {
    if let Some(n) = s.integer() {
        return Ok((dim::Monomial::new(), n));
    }
    match &s.kind {
        SexpKind::List(items) if matches!(items.first(), Some(Sexp { kind: SexpKind::Atom("*"), .. })) => {
            let coefficient = items.get(1).and_then(Sexp::integer);
            let factors = &items[1 + usize::from(coefficient.is_some())..];
            Ok((factors.iter().map(factor).collect::<Result<_>>()?, coefficient.unwrap_or(1)))
        }
        _ => Ok((std::iter::once(factor(s)?).collect(), 1)),
    }
}

pub fn dim(s: &Sexp) -> Result<Dim> {
    match &s.kind {
        SexpKind::List(items) if matches!(items.first(), Some(Sexp { kind: SexpKind::Atom("+"), .. })) => {
            Ok(Dim::from_terms(items[1..].iter().map(term).collect::<Result<Vec<_>>>()?))
        }
        _ => Ok(Dim::from_terms([term(s)?])),
    }
}

fn shape_items(items: &[Sexp]) -> Result<Shape> {
    let item = |s: &Sexp| match s.kind {
        SexpKind::Atom(a) if ["@", "!@", "?@"].iter().any(|p| a.starts_with(p)) => {
            Ok(ShapeItem::Var(shape_var(s)?))
        }
        _ => Ok(ShapeItem::Dim(dim(s)?)),
    };
    Ok(Shape(items.iter().map(item).collect::<Result<_>>()?))
}

pub fn shape(s: &Sexp) -> Result<Shape> {
    shape_items(Items::list(s, "a shape (…)")?.rest)
}

pub fn index(s: &Sexp) -> Result<Index> {
    let (head, mut items) = Items::headed(s)?;
    match head {
        "dim" => {
            let d = dim(items.next("a dim")?)?;
            items.end()?;
            Ok(Index::Dim(d))
        }
        "shape" => Ok(Index::Shape(shape_items(items.rest)?)),
        _ => fail(s, "(dim …) or (shape …) was expected"),
    }
}

pub fn indices(s: &Sexp) -> Result<Vec<Index>> {
    Items::list(s, "a list of indices")?.rest.iter().map(index).collect()
}

/// How deep a type is and how large when written out.
#[derive(Clone, Copy, Default)]
pub struct Extent {
    depth: usize,
    size: usize,
}

impl Extent {
    fn with(self, other: Extent) -> Extent {
        Extent { depth: self.depth.max(other.depth), size: self.size.saturating_add(other.size) }
    }
}

/// An expression and its depth.
type Deep = (Expr, usize);

/// The table of types of a definition.
pub struct Types<'t>(FxHashMap<&'t str, (AtomTy, Extent)>);

impl<'t> Types<'t> {
    /// Reads `(types (tN t) …)`.
    pub fn table(s: &Sexp<'t>) -> Result<Self> {
        let mut types = Types(FxHashMap::default());
        for row in Items::form(s, "types")?.rest {
            let mut row = Items::list(row, "a row (tN type)")?;
            let head = row.next("the name of a type")?;
            let t = types.atom(row.next("a type")?)?;
            row.end()?;
            if types.0.insert(symbol(head)?, t).is_some() {
                return fail(head, "this type is in the table already");
            }
        }
        Ok(types)
    }

    pub fn ty(&self, s: &Sexp<'t>) -> Result<ArrTy> {
        Ok(self.arr(s)?.0)
    }

    /// A variable with its type.
    pub fn local(&self, s: &Sexp<'t>) -> Result<Local> {
        let mut items = Items::list(s, "a variable with its type")?;
        let (var, name) = value_var(items.next("a variable")?)?;
        let ty = self.ty(items.next("a type")?)?;
        items.end()?;
        Ok(Local { var, name, ty })
    }

    pub fn type_argument(&self, s: &Sexp<'t>) -> Result<TyArg> {
        let (head, mut items) = Items::headed(s)?;
        let t = items.next("a type")?;
        items.end()?;
        match head {
            "atom" => Ok(TyArg::Atom(self.atom(t)?.0)),
            "array" => Ok(TyArg::Array(self.ty(t)?)),
            _ => fail(s, "(atom …) or (array …) was expected"),
        }
    }

    pub fn entry(&self, s: &Sexp<'t>) -> Result<EntrySignature> {
        let mut items = Items::form(s, "entry")?;
        let indices = ivars(items.next("indices")?)?;
        let params = Items::list(items.next("parameters")?, "a list of parameters")?;
        let param = |s| {
            let mut items = Items::list(s, "a parameter (\"name\" type)")?;
            let name = Name::new(string(items.next("a name")?)?);
            let ty = self.arr(items.next("a type")?)?.0;
            items.end()?;
            Ok((name, ty))
        };
        let params = params.rest.iter().map(param).collect::<Result<_>>()?;
        let ret = self.arr(items.next("the result's type")?)?.0;
        let streams = match items.rest.is_empty() {
            true => Vec::new(),
            false => Items::form(items.next("(streams …)")?, "streams")?
                .rest
                .iter()
                .map(id)
                .collect::<Result<_>>()?,
        };
        items.end()?;
        Ok(EntrySignature { indices, params, streams, ret })
    }

    fn arr(&self, s: &Sexp<'t>) -> Result<(ArrTy, Extent)> {
        if let SexpKind::List(items) = &s.kind
            && let [Sexp { kind: SexpKind::Atom("arr"), .. }, rest @ ..] = items.as_slice()
        {
            let Some((atom, items)) = rest.split_first() else {
                return fail(s, "an atom type is missing in this list");
            };
            let (atom, extent) = self.atom(atom)?;
            return Ok((ArrTy { atom, shape: shape_items(items)? }, extent));
        }
        let (atom, extent) = self.atom(s)?;
        Ok((ArrTy::scalar(atom), extent))
    }

    fn arrs(&self, items: &[Sexp<'t>]) -> Result<(Vec<ArrTy>, Extent)> {
        let mut all = Extent::default();
        let mut types = Vec::with_capacity(items.len());
        for s in items {
            let (t, extent) = self.arr(s)?;
            all = all.with(extent);
            types.push(t);
        }
        Ok((types, all))
    }

    fn atom(&self, s: &Sexp<'t>) -> Result<(AtomTy, Extent)> {
        if let SexpKind::Atom(a) = s.kind {
            let leaf = |t| Ok((t, Extent { depth: 1, size: 1 }));
            return match a.as_bytes()[0] {
                b'^' => leaf(AtomTy::Var(type_var(s)?)),
                b'?' => match meta(a, "?") {
                    Some(m) => leaf(AtomTy::Meta(m)),
                    None => fail(s, "an existential like `?1` was expected"),
                },
                _ => match (self.0.get(a), BaseTy::from_name(a)) {
                    (Some((t, extent)), _) => Ok((t.clone(), *extent)),
                    (_, Some(b)) => leaf(AtomTy::Base(b)),
                    _ => fail(s, "unknown type; the table holds a type before its uses"),
                },
            };
        }
        let (head, mut items) = Items::headed(s)?;
        let (t, inside) = match head {
            "->" => {
                let params = Items::list(items.next("parameter types")?, "a list of types")?;
                let (params, extent) = self.arrs(params.rest)?;
                let (ret, more) = self.arr(items.next("a result type")?)?;
                items.end()?;
                (AtomTy::func(params, ret), extent.with(more))
            }
            "forall" => {
                let params = tparams(items.next("type parameters")?)?;
                let (body, extent) = self.arr(items.next("a type")?)?;
                items.end()?;
                (AtomTy::Forall(Arc::new(ForallTy { params, body })), extent)
            }
            "pi" | "sigma" => {
                let params = ivars(items.next("index parameters")?)?;
                let (body, extent) = self.arr(items.next("a type")?)?;
                items.end()?;
                let t = match head {
                    "pi" => AtomTy::Pi(Arc::new(PiTy { params, body })),
                    _ => AtomTy::Sigma(Arc::new(SigmaTy { params, body })),
                };
                (t, extent)
            }
            "tuple" => {
                let (fields, extent) = self.arrs(items.rest)?;
                (AtomTy::tuple(fields.into_iter().map(|t| (None, t)).collect()), extent)
            }
            "record" => {
                let (mut fields, mut all) = (Vec::new(), Extent::default());
                for s in items.rest {
                    let mut field = Items::list(s, "a field (\"label\" type)")?;
                    let label = match field.rest.first() {
                        Some(Sexp { kind: SexpKind::Str(label), .. }) => {
                            field.next("a label")?;
                            Some(Name::new(label))
                        }
                        _ => None,
                    };
                    let (t, extent) = self.arr(field.next("a type")?)?;
                    field.end()?;
                    all = all.with(extent);
                    fields.push((label, t));
                }
                (AtomTy::tuple(fields), all)
            }
            "quot" => {
                let (t, extent) = self.atom(items.next("a type")?)?;
                items.end()?;
                // As written, not normalised: what was printed is what is read.
                (AtomTy::Quot(Arc::new(t)), extent)
            }
            _ => return fail(s, format!("unknown form of type `{head}`")),
        };
        let extent = Extent { depth: inside.depth + 1, size: inside.size.saturating_add(1) };
        if extent.depth > MAX_TYPE_DEPTH {
            return fail(s, format!("this type nests deeper than {MAX_TYPE_DEPTH}"));
        }
        if extent.size > MAX_TYPE_SIZE {
            return fail(s, format!("this type is larger than {MAX_TYPE_SIZE}"));
        }
        Ok((t, extent))
    }
}

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

    fn child(&mut self, s: &Sexp<'t>) -> Result<Deep> {
        match s.kind {
            SexpKind::Atom(name) => match self.nodes.remove(name) {
                Some(node) => Ok(node),
                None => fail(s, format!("`{name}` is not a later node, or is used twice")),
            },
            _ => self.node(Items::list(s, "a node")?),
        }
    }

    /// A node from its origin on.
    fn node(&mut self, mut items: Items<'_, 't>) -> Result<Deep> {
        let origin = NodeId(id(items.next("the node it came from")?)?);
        let ty = self.types.ty(items.next("a type")?)?;
        let form = items.next("a form")?;
        items.end()?;
        let mut below = 0;
        let kind = self.form(form, &mut below)?;
        if below >= MAX_EXPR_DEPTH {
            return fail(form, format!("expressions nest deeper than {MAX_EXPR_DEPTH}"));
        }
        Ok((Expr::new(kind, ty, origin), below + 1))
    }

    /// `below` becomes the depth of the deepest child.
    fn form(&mut self, s: &Sexp<'t>, below: &mut usize) -> Result<ExprKind> {
        let (head, mut items) = Items::headed(s)?;
        let mut child = |p: &mut Self, s: &Sexp<'t>| -> Result<Expr> {
            let (e, depth) = p.child(s)?;
            *below = depth.max(*below);
            Ok(e)
        };
        macro_rules! next {
            () => {
                child(self, items.next("an expression")?)?
            };
        }
        let kind = match head {
            "var" => ExprKind::Var(value_var(items.next("a variable")?)?.0),
            "global" => {
                let module = ModuleId(id(items.next("a module")?)?);
                ExprKind::Global(GlobalId { module, name: Name::new(string(items.next("a name")?)?) })
            }
            "int" | "float" | "scalar" => ExprKind::Lit(literal(head, &mut items)?),
            "frame" => {
                let dims = Items::list(items.next("dims")?, "a list of dims")?;
                let dims = dims.rest.iter().map(dim).collect::<Result<_>>()?;
                let elems = std::mem::take(&mut items.rest);
                let elems = elems.iter().map(|s| child(self, s)).collect::<Result<_>>()?;
                ExprKind::Frame { dims, elems }
            }
            "lam" => {
                let params = Items::list(items.next("parameters")?, "a list of parameters")?;
                let params = params.rest.iter().map(|s| self.types.local(s)).collect::<Result<_>>()?;
                ExprKind::Lam { params, body: next!() }
            }
            "tlam" => ExprKind::TLam { params: tparams(items.next("parameters")?)?, body: next!() },
            "ilam" => ExprKind::ILam { params: ivars(items.next("parameters")?)?, body: next!() },
            "app" => {
                let frame = shape(items.next("the principal frame")?)?;
                let func = next!();
                let mut args = Vec::with_capacity(items.rest.len());
                for s in std::mem::take(&mut items.rest) {
                    let mut arg = Items::list(s, "an argument (e frame)")?;
                    let expr = child(self, arg.next("an expression")?)?;
                    let frame = shape(arg.next("a frame")?)?;
                    arg.end()?;
                    args.push(Arg { expr, frame });
                }
                ExprKind::App { func, args, frame }
            }
            "t-app" => {
                let func = next!();
                let args = std::mem::take(&mut items.rest);
                let args = args.iter().map(|s| self.types.type_argument(s)).collect::<Result<_>>()?;
                ExprKind::TApp { func, args }
            }
            "i-app" => {
                let func = next!();
                let args = std::mem::take(&mut items.rest).iter().map(index).collect::<Result<_>>()?;
                ExprKind::IApp { func, args }
            }
            "let" => {
                let local = self.types.local(items.next("a variable")?)?;
                ExprKind::Let { local, value: next!(), body: next!() }
            }
            "if" => ExprKind::If { cond: next!(), then: next!(), otherwise: next!() },
            "box" => ExprKind::Box { witnesses: indices(items.next("witnesses")?)?, value: next!() },
            "unbox" => {
                let boxes = next!();
                let indices = ivars(items.next("indices")?)?;
                let local = self.types.local(items.next("a variable")?)?;
                ExprKind::Unbox { boxes, indices, local, body: next!() }
            }
            "lift" => {
                let kind = lift_kind(items.next("a kind")?)?;
                let indices = ivars(items.next("indices")?)?;
                ExprKind::Lift { kind, indices, value: next!(), body: next!() }
            }
            "check" => {
                let fact = fact(items.next("a fact")?)?;
                let why = string(items.next("a reason")?)?.into();
                ExprKind::Check { fact, why, body: next!() }
            }
            "reify-dim" => ExprKind::ReifyDim(dim(items.next("a dim")?)?),
            "reify-shape" => ExprKind::ReifyShape(shape(items.next("a shape")?)?),
            "tuple" => {
                let parts = std::mem::take(&mut items.rest);
                ExprKind::Tuple(parts.iter().map(|s| child(self, s)).collect::<Result<_>>()?)
            }
            "field" => {
                let position = id(items.next("a position")?)?;
                ExprKind::Field { tuple: next!(), position }
            }
            "cast" => ExprKind::Cast(next!()),
            "as-shape" => ExprKind::AsShape(next!()),
            "loop" => {
                let state = Items::list(items.next("the state")?, "a list of variables")?;
                let mut locals = Vec::with_capacity(state.rest.len());
                for s in state.rest {
                    let mut one = Items::list(s, "a variable and its first value")?;
                    let local = self.types.local(one.next("a variable")?)?;
                    let value = child(self, one.next("an expression")?)?;
                    one.end()?;
                    locals.push((local, value));
                }
                ExprKind::Loop { locals, cond: next!(), body: next!() }
            }
            _ => return fail(s, format!("unknown form of expression `{head}`")),
        };
        items.end()?;
        Ok(kind)
    }
}

/// A literal whose form starts with `head`, from what follows it.
pub fn literal(head: &str, items: &mut Items) -> Result<Lit> {
    match head {
        "int" => Ok(Lit::Int(int(items.next("an integer")?)?)),
        "float" => Ok(Lit::Float(bits(items.next("bits")?)?)),
        _ => {
            let base = items.next("a base type")?;
            Ok(Lit::Scalar(scalar(base, items.next("a value")?)?))
        }
    }
}

pub fn lift_kind(s: &Sexp) -> Result<LiftKind> {
    match symbol(s)? {
        "natural" => Ok(LiftKind::Natural),
        "integer" => Ok(LiftKind::Integer),
        "dims" => Ok(LiftKind::Dims),
        "shape" => Ok(LiftKind::Shape),
        _ => fail(s, "unknown kind of lift"),
    }
}

pub fn fact(s: &Sexp) -> Result<Fact> {
    let (head, mut items) = Items::headed(s)?;
    let p = dim(items.next("a dim")?)?;
    let fact = match head {
        "non-negative" => Fact::NonNegative(p),
        "equal" => Fact::Equal(p, dim(items.next("a dim")?)?),
        _ => return fail(s, "(non-negative d) or (equal d d) was expected"),
    };
    items.end()?;
    Ok(fact)
}

fn scalar(base: &Sexp, value: &Sexp) -> Result<Scalar> {
    let Some(ty) = BaseTy::from_name(symbol(base)?) else { return fail(base, "unknown base type") };
    Ok(match ty {
        BaseTy::Bool => match symbol(value)? {
            "true" => Scalar::Bool(true),
            "false" => Scalar::Bool(false),
            _ => return fail(value, "`true` or `false` was expected"),
        },
        BaseTy::Char => match char::from_u32(id(value)?) {
            Some(c) => Scalar::Char(c),
            None => return fail(value, "this is no Unicode scalar value"),
        },
        BaseTy::I8 => Scalar::I8(id(value)?),
        BaseTy::I16 => Scalar::I16(id(value)?),
        BaseTy::I32 => Scalar::I32(id(value)?),
        BaseTy::I64 => Scalar::I64(id(value)?),
        BaseTy::U8 => Scalar::U8(id(value)?),
        BaseTy::U16 => Scalar::U16(id(value)?),
        BaseTy::U32 => Scalar::U32(id(value)?),
        BaseTy::U64 => Scalar::U64(id(value)?),
        BaseTy::F16 => Scalar::F16(f16::from_bits(bits(value)?)),
        BaseTy::F32 => Scalar::F32(f32::from_bits(bits(value)?)),
        BaseTy::F64 => Scalar::F64(f64::from_bits(bits(value)?)),
    })
}

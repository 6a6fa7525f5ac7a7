//! One name for each variable in scope.
//!
//! Typed tells variables apart by id; text can only by name. Values, indices and types share one set of
//! names here: no variable hides another, so none can capture a use of another, whatever the rules of
//! scope between them are. A name that is taken gets a number: `x`, `x.1`, `x.2`.

use remc_base::*;
use remc_syntax::forms::form;
use remc_syntax::token::TokenKind;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Default)]
pub struct Names {
    /// The names in scope, and those that the definition uses for something else.
    taken: FxHashSet<String>,
    /// What was taken, in order, so that a scope can be left.
    trail: Vec<String>,
    values: FxHashMap<VarId, String>,
    indices: FxHashMap<u32, String>,
    types: FxHashMap<u32, String>,
}

/// What a name stands for: at-names are apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    At,
}

impl Names {
    /// Keeps a name from being given to a variable.
    pub fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// Where the scope stands now, for [`Names::leave`].
    pub fn enter(&self) -> usize {
        self.trail.len()
    }

    /// Frees the names that were bound since.
    pub fn leave(&mut self, mark: usize) {
        for name in self.trail.drain(mark..) {
            self.taken.remove(&name);
        }
    }

    fn take(&mut self, wanted: &str, kind: Kind) -> String {
        let base = legal_base(wanted, kind);
        let mut name = base.clone();
        let root = match base.rsplit_once('.') {
            Some((root, n)) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => root,
            _ => &base,
        };
        let other = if kind == Kind::At { "@s" } else { "x" };
        let mut k = 0;
        while self.taken.contains(&name) {
            k += 1;
            // `-.1` would be a number, and `1+.1` looks like one that went wrong.
            let numbered = [format!("{root}.{k}"), format!("{root}_{k}")];
            name = numbered.into_iter().find(|n| is_name(n, kind)).unwrap_or_else(|| format!("{other}.{k}"));
        }
        self.taken.insert(name.clone());
        self.trail.push(name.clone());
        name
    }

    pub fn bind_value(&mut self, var: VarId, name: &Name) -> String {
        let text = self.take(name.as_str(), Kind::Plain);
        self.values.insert(var, text.clone());
        text
    }

    /// Binds a value to exactly this name, which is an interface.
    pub fn bind_value_as(&mut self, var: VarId, name: &Name) -> String {
        let text = name.to_string();
        if self.taken.insert(text.clone()) {
            self.trail.push(text.clone());
        }
        self.values.insert(var, text.clone());
        text
    }

    /// A name that stands for no variable of Typed.
    pub fn bind_hidden(&mut self, name: &str) -> String {
        self.take(name, Kind::Plain)
    }

    pub fn bind_index(&mut self, v: &IVar) -> String {
        let kind = if v.sort == Sort::Shape { Kind::At } else { Kind::Plain };
        let text = self.take(v.name.as_str(), kind);
        self.indices.insert(v.id, text.clone());
        text
    }

    pub fn bind_type(&mut self, p: &TParam) -> String {
        let kind = if p.shape.is_some() { Kind::At } else { Kind::Plain };
        let text = self.take(p.var.name.as_str(), kind);
        self.types.insert(p.var.id, text.clone());
        if let Some(s) = &p.shape {
            self.indices.insert(s.id, text.clone());
        }
        text
    }

    pub fn value(&self, var: VarId) -> String {
        self.values.get(&var).cloned().unwrap_or_else(|| format!("{var:?}"))
    }

    pub fn index<'a>(&'a self, v: &'a IVar) -> &'a str {
        self.indices.get(&v.id).map_or(v.name.as_str(), String::as_str)
    }

    pub fn ty<'a>(&'a self, v: &'a TVar) -> &'a str {
        self.types.get(&v.id).map_or(v.name.as_str(), String::as_str)
    }
}

/// Whether the reader takes `name` for a name that may be bound.
fn is_name(name: &str, kind: Kind) -> bool {
    let tokens = remc_syntax::tokens(name).tokens;
    let one = matches!(&tokens[..], [t, end]
        if matches!(&t.kind, TokenKind::Name(n) if n.as_str() == name) && end.kind == TokenKind::End);
    one && form(name).is_none()
        && BaseTy::from_name(name).is_none()
        && name != "_"
        && name != "all"
        && name != "else"
        && name.starts_with('@') == (kind == Kind::At)
        && name != "@"
}

/// `wanted`, or what of it can be in a name of the kind.
fn legal_base(wanted: &str, kind: Kind) -> String {
    // A keyword or type is a name with a number.
    let numbered = format!("{wanted}.1");
    for name in [wanted, &numbered] {
        if is_name(name, kind) && name != "_.1" {
            return name.to_owned();
        }
    }
    let kept: String =
        wanted.chars().filter(|c| c.is_alphanumeric() || "-_/<>=!?+*%.".contains(*c)).collect();
    let name = if kind == Kind::At { format!("@{kept}") } else { kept };
    match is_name(&name, kind) {
        true => name,
        false if kind == Kind::At => "@s".to_owned(),
        false => "x".to_owned(),
    }
}

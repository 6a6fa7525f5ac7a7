//! Annotations left out of a text: of what `remc check --show types` prints, which has all of them.
//!
//! A place is where an annotation is: a parameter, a result, an instance, the binders of a definition, an
//! expression with a type. [`erased`] writes the text with as much at each place as [`Annotations`] say:
//!
//! ```text
//!               all                        Ranks                     Bare
//! parameter     [xs [t n]]                 [xs 1]                    xs
//! binders       (f{(t num) | n} …)         (f …)                     (f …)
//! result        : [t n]                                              (nothing)
//! instance      reduce{t | n [] []}        reduce{t |}, reduce{| n [] []}   reduce
//! expression    (: e τ)                    e                         e
//! ```
//!
//! Not every choice is a program that means the same, and these rules say which are made:
//!
//! - Binders, the types of parameters and of the result go together: a definition that writes its binders binds all
//!   that it mentions, and is not generalised further. One that does not binds what the types of its parameters
//!   mention. So a definition keeps all three where otherwise something would be mentioned that nothing binds; so
//!   does a local function whose parameters mention what it binds, and a function of an array-kinded type.
//! - Without binders a function is as general as it is found to be: its instances are left out, too.
//! - What is known of one bare parameter helps to find the others. Of a λ, all parameters are bare or none; of
//!   parameters of any rank (with an `@s` in their types) all have their types or none.
//! - A parameter without elements keeps its type, where its rank alone would be left: only because of its size of 0 may the
//!   length that an `append` of it has be that of a part.
//! - Instances that hold what would be an argument stay ([`sized`]).
//! - A local function that nothing uses keeps all it has: what it means is compared nowhere, so nothing would tell
//!   that without any annotation it was another, and the few left may not suit that one.
//!
//! The text is read as [`crate::tokens`] cuts it, since a reader
//! that is being tested should not be believed.

use crate::generate::{Annotations, Grain};
use crate::tokens::{Token, split};
use remc_driver::Session;
use remc_driver::queries::scheme;
use std::collections::HashSet;

/// The names of the prelude whose instances are no annotations: functions that take a size as an argument, or are
/// told what it is by their instance and take it no more.
pub fn sized(session: &Session) -> HashSet<String> {
    let db = &session.db;
    let defs = session.prelude().iter().flat_map(|file| session.defs(*file));
    defs.filter(|d| scheme(db, **d).as_ref().is_some_and(|s| !s.vals.is_empty()))
        .map(|d| d.name(db).to_string())
        .chain(["iota".to_owned(), "replicate".to_owned()])
        .collect()
}

/// The text with some annotations left out, and how many places it has; those of the names `kept` stay.
pub fn erased(text: &str, annotations: &Annotations, kept: &HashSet<String>) -> (String, usize) {
    let mut tokens = split(text).into_iter().filter(|t| !t.text.starts_with(';')).peekable();
    let mut forms = vec![];
    while tokens.peek().is_some() {
        forms.push(node(&mut tokens));
    }
    let mut eraser = Eraser { annotations, kept, places: 0, general: HashSet::new() };
    let forms: Vec<Node> = forms.into_iter().map(|form| eraser.node(form)).collect();
    let mut out = String::new();
    for form in forms {
        write(&without_instances(form, &eraser.general), &mut out);
        out.push('\n');
    }
    (out.trim_start().to_owned(), eraser.places)
}

#[derive(Clone, Debug)]
struct Node {
    /// No white space before it.
    glued: bool,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Leaf(String),
    /// With its opening bracket.
    List(char, Vec<Node>),
}

fn node(tokens: &mut std::iter::Peekable<impl Iterator<Item = Token>>) -> Node {
    let Some(first) = tokens.next() else { return leaf("") };
    if !first.opens() {
        return Node { glued: first.glued, kind: Kind::Leaf(first.text) };
    }
    let mut items = vec![];
    while let Some(next) = tokens.peek() {
        if next.closes() {
            tokens.next();
            break;
        }
        items.push(node(tokens));
    }
    Node { glued: first.glued, kind: Kind::List(first.text.chars().next().unwrap_or('('), items) }
}

fn leaf(text: impl Into<String>) -> Node {
    Node { glued: false, kind: Kind::Leaf(text.into()) }
}

fn write(n: &Node, out: &mut String) {
    if !n.glued && !out.is_empty() && !out.ends_with(['(', '[', '{', '\n']) {
        out.push(' ');
    }
    match &n.kind {
        Kind::Leaf(text) => out.push_str(text),
        Kind::List(open, items) => {
            out.push(*open);
            items.iter().for_each(|i| write(i, out));
            out.push(match open {
                '[' => ']',
                '{' => '}',
                _ => ')',
            });
        }
    }
}

impl Node {
    fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Leaf(text) => Some(text),
            Kind::List(..) => None,
        }
    }

    fn items(&self, bracket: char) -> Option<&[Node]> {
        match &self.kind {
            Kind::List(open, items) if *open == bracket => Some(items),
            _ => None,
        }
    }

    fn is(&self, text: &str) -> bool {
        self.text() == Some(text)
    }

    /// Whether one of the names is mentioned.
    fn mentions(&self, names: &HashSet<String>) -> bool {
        match &self.kind {
            Kind::Leaf(text) => names.contains(text),
            Kind::List(_, items) => items.iter().any(|i| i.mentions(names)),
        }
    }

    /// Its leaves but for those of local functions that it does not use.
    fn uses(&self, found: &mut HashSet<String>) {
        match &self.kind {
            Kind::Leaf(text) => {
                found.insert(text.clone());
            }
            Kind::List(_, items) => match items.as_slice() {
                [first, bindings, body @ ..] if first.is("let") || first.is("let*") => {
                    found.extend(names_used(bindings, body));
                }
                _ => items.iter().for_each(|i| i.uses(found)),
            },
        }
    }

    fn leaves(&self, found: &mut HashSet<String>) {
        match &self.kind {
            Kind::Leaf(text) => {
                found.insert(text.clone());
            }
            Kind::List(_, items) => items.iter().for_each(|i| i.leaves(found)),
        }
    }
}

struct Eraser<'a> {
    annotations: &'a Annotations,
    kept: &'a HashSet<String>,
    places: usize,
    /// Functions that were left without their binders.
    general: HashSet<String>,
}

impl Eraser<'_> {
    fn grain(&mut self) -> Grain {
        self.places += 1;
        self.annotations.at(self.places - 1)
    }

    fn node(&mut self, n: Node) -> Node {
        let Kind::List(open, items) = n.kind else { return n };
        let glued = n.glued;
        let list = |items| Node { glued, kind: Kind::List(open, items) };
        match items.first().and_then(Node::text) {
            Some("define" | "entry") if open == '(' && items.len() > 2 => list(self.definition(items)),
            Some("λ") if open == '(' && items.len() > 2 => list(self.function(items, 1, false)),
            Some("let" | "let*") if open == '(' && items.len() > 2 => {
                let used = names_used(&items[1], &items[2..]);
                let mut items = items.into_iter();
                let mut out: Vec<Node> = items.next().into_iter().collect();
                if let Some(bindings) = items.next() {
                    out.push(self.bindings(bindings, &used));
                }
                out.extend(self.nodes(items.collect()));
                list(out)
            }
            Some(":") if open == '(' && items.len() == 3 => {
                let keep = self.grain() == Grain::Explicit;
                let mut items = items.into_iter();
                let (colon, e, ty) = (items.next(), items.next(), items.next());
                let Some(e) = e.map(|e| self.node(e)) else { return list(vec![]) };
                if keep {
                    return list(colon.into_iter().chain([e]).chain(ty).collect());
                }
                Node { glued, ..e }
            }
            _ => list(self.nodes(items)),
        }
    }

    /// Forms side by side, with the instances that are glued to names.
    fn nodes(&mut self, items: Vec<Node>) -> Vec<Node> {
        let mut out: Vec<Node> = vec![];
        for n in items {
            let of = out.last().and_then(Node::text).map(str::to_owned);
            match (n.items('{'), of) {
                (Some(given), Some(name)) if n.glued && !self.kept.contains(&name) => {
                    if let Some(instance) = self.instance(given) {
                        out.push(instance);
                    }
                }
                _ => out.push(self.node(n)),
            }
        }
        out
    }

    /// `{types | indices}`
    fn instance(&mut self, given: &[Node]) -> Option<Node> {
        let grain = self.grain();
        let bar = given.iter().position(|n| n.is("|"))?;
        let (types, indices) = (&given[..bar], &given[bar + 1..]);
        let (types, indices) = match grain {
            Grain::Explicit => (types, indices),
            Grain::Ranks if self.places.is_multiple_of(2) => (types, &[][..]),
            Grain::Ranks => (&[][..], indices),
            Grain::Bare => return None,
        };
        let all = [types, &[leaf("|")], indices].concat();
        Some(Node { glued: true, kind: Kind::List('{', all) })
    }

    fn bindings(&mut self, bindings: Node, used: &HashSet<String>) -> Node {
        let glued = bindings.glued;
        let Kind::List(open, all) = bindings.kind else { return bindings };
        let all = all
            .into_iter()
            .map(|b| match b.kind {
                _ if local_function(&b).is_some_and(|name| !used.contains(name)) => b,
                Kind::List(o, items) if items.first().is_some_and(|n| n.items('(').is_some()) => {
                    Node { glued: b.glued, kind: Kind::List(o, self.function(items, 0, false)) }
                }
                Kind::List(o, items) => Node { glued: b.glued, kind: Kind::List(o, self.nodes(items)) },
                _ => b,
            })
            .collect();
        Node { glued, kind: Kind::List(open, all) }
    }

    /// `(define (f p …) : τ e)`, `(define x : τ e)`, `(entry (f p …) : τ e)`
    fn definition(&mut self, items: Vec<Node>) -> Vec<Node> {
        let entry = items[0].is("entry");
        if items[1].items('(').is_some() {
            return self.function(items, 1, entry);
        }
        let mut out = items[..2].to_vec();
        let body = self.result(&mut out, &items[2..]);
        out.extend(self.nodes(body));
        out
    }

    /// The forms after a result's type, which is kept in `out` or left out.
    fn result(&mut self, out: &mut Vec<Node>, rest: &[Node]) -> Vec<Node> {
        let [colon, ty, body @ ..] = rest else { return rest.to_vec() };
        if !colon.is(":") {
            return rest.to_vec();
        }
        if self.grain() == Grain::Explicit {
            out.extend([colon.clone(), ty.clone()]);
        }
        body.to_vec()
    }

    /// A function whose name, if any, binders and parameters are the list at `at`.
    fn function(&mut self, items: Vec<Node>, at: usize, entry: bool) -> Vec<Node> {
        let Some(signature) = items[at].items('(').map(<[Node]>::to_vec) else { return items };
        // What stands before the parameters: nothing in a λ, else the name and its binders.
        let named = !items[0].is("λ");
        let binders = signature.get(1).filter(|n| named && n.glued && n.items('{').is_some()).cloned();
        let first = usize::from(named) + usize::from(binders.is_some());
        let (head, params) = signature.split_at(first.min(signature.len()));
        let keep_binders = binders.is_none() || self.grain() == Grain::Explicit;
        let mut less: Vec<Node> =
            params.iter().map(|p| if entry { p.clone() } else { self.param(p) }).collect();
        if !named && less.iter().any(|p| p.text().is_some()) {
            let bare = |p: &Node| p.items('[').and_then(|p| p.first()).unwrap_or(p).clone();
            less = params.iter().map(|p| Node { glued: p.glued, ..bare(p) }).collect();
        }
        // All of them, where one has a shape of any rank.
        let of_any_rank = |n: &Node| {
            let mut found = HashSet::new();
            n.leaves(&mut found);
            found.iter().any(|t| t.starts_with('@'))
        };
        if less.iter().any(of_any_rank) {
            less = params.to_vec();
        }
        let mut after = vec![];
        let body = self.result(&mut after, &items[at + 1..]);
        let with_result = !after.is_empty();
        after.extend(self.nodes(body));

        let bound = binders.as_ref().map(names_bound).unwrap_or_default();
        let by_params: HashSet<String> = {
            let mut found = HashSet::new();
            less.iter().for_each(|p| p.leaves(&mut found));
            found
        };
        let unbound: HashSet<String> = bound.difference(&by_params).cloned().collect();
        let loose = after.iter().any(|n| n.mentions(&unbound))
            || at == 0 && less.iter().any(|p| p.mentions(&bound))
            || binders.as_ref().is_some_and(is_array_kinded);
        let (head, params) = match &binders {
            Some(_) if keep_binders || loose => {
                if let ([colon, ty, ..], false) = (&items[at + 1..], with_result)
                    && colon.is(":")
                {
                    after.splice(0..0, [colon.clone(), ty.clone()]);
                }
                (head, params.to_vec())
            }
            Some(_) => {
                self.general.extend(head[0].text().map(str::to_owned));
                (&head[..1], less)
            }
            None => (head, less),
        };
        let signature = Node {
            glued: items[at].glued,
            kind: Kind::List('(', head.iter().cloned().chain(params).collect()),
        };
        items[..at].iter().cloned().chain([signature]).chain(after).collect()
    }

    /// `[x τ]`
    fn param(&mut self, p: &Node) -> Node {
        let Some([name, ty]) = p.items('[') else { return p.clone() };
        self.places += 1;
        match self.annotations.at_param(self.places - 1) {
            Grain::Explicit => p.clone(),
            Grain::Ranks if is_empty(ty) => p.clone(),
            Grain::Ranks if rank(ty).is_some() => {
                let rank = leaf(rank(ty).unwrap_or_default().to_string());
                Node { glued: false, kind: Kind::List('[', vec![name.clone(), rank]) }
            }
            _ => Node { glued: p.glued, ..name.clone() },
        }
    }
}

/// The name of the local function of a binding `((f p …) e)`.
fn local_function(binding: &Node) -> Option<&str> {
    binding.items('(')?.first()?.items('(')?.first()?.text()
}

/// The names that what the bindings are for uses, in itself and in the bindings that it uses.
fn names_used(bindings: &Node, body: &[Node]) -> HashSet<String> {
    let mut used = HashSet::new();
    body.iter().for_each(|n| n.uses(&mut used));
    for binding in bindings.items('(').unwrap_or_default().iter().rev() {
        if local_function(binding).is_none_or(|name| used.contains(name)) {
            binding.items('(').unwrap_or_default().iter().skip(1).for_each(|n| n.uses(&mut used));
        }
    }
    used
}

/// Without the instances of the functions of these names.
fn without_instances(n: Node, names: &HashSet<String>) -> Node {
    let Kind::List(open, items) = n.kind else { return n };
    let mut out: Vec<Node> = vec![];
    for item in items {
        let instance = item.glued && item.items('{').is_some();
        if !(instance && out.last().and_then(Node::text).is_some_and(|name| names.contains(name))) {
            out.push(without_instances(item, names));
        }
    }
    Node { glued: n.glued, kind: Kind::List(open, out) }
}

/// The rank that a written type says; `None` of one with a shape variable.
fn rank(ty: &Node) -> Option<usize> {
    match &ty.kind {
        Kind::Leaf(text) => {
            (!text.starts_with('@') && text.parse::<usize>().is_err() && text != "all").then_some(0)
        }
        Kind::List('[', items) => {
            let dims = &items[1.min(items.len())..];
            dims.iter().all(|d| d.text().is_none_or(|t| !t.starts_with('@'))).then_some(dims.len())
        }
        Kind::List(..) => Some(0),
    }
}

/// Whether a written type has a size of 0.
fn is_empty(ty: &Node) -> bool {
    ty.items('[').is_some_and(|items| items.iter().skip(1).any(|d| d.is("0")))
}

/// `{@t | …}`
fn is_array_kinded(binders: &Node) -> bool {
    let types = binders.items('{').unwrap_or_default().iter().take_while(|n| !n.is("|"));
    types.into_iter().any(|n| n.text().is_some_and(|t| t.starts_with('@')))
}

/// The variables of `{(t num) u | n @s}`.
fn names_bound(binders: &Node) -> HashSet<String> {
    let items = binders.items('{').unwrap_or_default();
    items
        .iter()
        .filter_map(|n| match &n.kind {
            Kind::Leaf(text) => Some(text.clone()),
            Kind::List(_, inner) => inner.first().and_then(Node::text).map(str::to_owned),
        })
        .filter(|name| name != "|")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
; a note
(define (f{(t num) | n} [xs [t n]] [k int]) : [t n] (*{t |} (: 2 t) (reverse{t | n []} xs)))
(define v : [int 2] (let (((g{u | m} [y [u m]]) : [u m] y)) (g{int | 2} [1 2])))
(entry (main{| n} [xs [int n]]) : int ((λ ([x [int n]] [b (→ (int) int)]) : int (length x)) xs abs))
";

    fn with(grain: Grain) -> String {
        erased(TEXT, &Annotations::all(grain), &HashSet::new()).0
    }

    #[test]
    fn all_of_it_is_the_text() {
        let whole = with(Grain::Explicit);
        assert_eq!(whole, TEXT.split_once('\n').unwrap().1);
    }

    #[test]
    fn ranks_stay() {
        // Of an instance, the types or the indices; with an index that is mentioned, what binds it and the
        // result. What has no binders has no instances.
        assert_eq!(
            with(Grain::Ranks),
            "\
(define (f{(t num) | n} [xs [t n]] [k int]) : [t n] (*{|} 2 (reverse{| n []} xs)))
(define v (let (((g [y 1]) y)) (g [1 2])))
(entry (main [xs [int n]]) ((λ ([x 1] [b 0]) (length x)) xs abs))
"
        );
    }

    #[test]
    fn a_size_of_none_stays() {
        let text =
            "(reduce/zero{int | 1 [] [0]} (λ ([x [int 0]] [y [int 0]]) (append{int | 0 0 []} x y)) e xs)\n";
        let of = |grain| erased(text, &Annotations::all(grain), &HashSet::new()).0;
        assert!(of(Grain::Ranks).contains("([x [int 0]] [y [int 0]])"), "{}", of(Grain::Ranks));
        assert!(of(Grain::Bare).contains("(x y)"), "{}", of(Grain::Bare));
    }

    #[test]
    fn nothing_stays() {
        assert_eq!(
            with(Grain::Bare),
            "\
(define (f xs k) (* 2 (reverse xs)))
(define v (let (((g y) y)) (g [1 2])))
(entry (main [xs [int n]]) ((λ (x b) (length x)) xs abs))
"
        );
    }

    #[test]
    fn sizes_that_are_no_arguments_stay() {
        let kept = sized(&Session::default());
        assert!(kept.contains("take1") && kept.contains("reshape") && !kept.contains("reverse"));
        let text = "(take1{int | 1 2 []} (reverse{int | 3 []} xs))\n";
        let bare = erased(text, &Annotations::all(Grain::Bare), &kept).0;
        assert_eq!(bare, "(take1{int | 1 2 []} (reverse xs))\n");
    }

    #[test]
    fn functions_that_nothing_uses_stay() {
        let text = "\
(define v (let (((g{u | m} [y [u m]]) y) ((h [y int]) (g{int | 2} [1 2]))) (let (((k [z int]) (h z))) 3)))
";
        assert_eq!(erased(text, &Annotations::all(Grain::Bare), &HashSet::new()), (text.to_owned(), 0));
        let used = text.replace(" 3)", " (k 3))");
        assert_eq!(
            erased(&used, &Annotations::all(Grain::Bare), &HashSet::new()).0,
            "(define v (let (((g y) y) ((h y) (g [1 2]))) (let (((k z) (h z))) (k 3))))\n"
        );
    }

    #[test]
    fn what_is_mentioned_stays_bound() {
        // The binders alone go, and what the parameters mention is bound by them.
        let places = erased(TEXT, &Annotations::all(Grain::Bare), &HashSet::new()).1;
        let only = |place: usize| {
            let mut all = Annotations::all(Grain::Explicit).spelt_out(places);
            all.set(place, Grain::Bare);
            erased(TEXT, &all, &HashSet::new()).0
        };
        assert!(only(0).starts_with("(define (f [xs [t n]] [k int]) : [t n] (*{t |} (: 2 t)"), "{}", only(0));
        // The parameter's type goes, and `t` would be mentioned in what stays.
        assert!(only(1).starts_with("(define (f{(t num) | n} [xs [t n]] [k int])"), "{}", only(1));
    }
}

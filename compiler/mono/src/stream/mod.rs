//! Streams: what runs over all items of a stream becomes a loop over its pieces.
//!
//! ```text
//! (inputs (stream %n %xs))                       (inputs (channel 0 %n)) (channels ("xs" (input 0) (float 0)))
//! (let (%ys) (map ((%i %n)) … %xs …))            (let (%n' %go %s)
//! (let (%s) (reduce (%i %n) … %ys … +))    ⟶       (while ((%at 0) (%go true) (%s 0.0)) (cond %go)
//! (let (%m) (op / %s %n))                            (let (%c %x) (pull 0 %at (multiple 1)))
//! (give %m)                                          (let (%y) (map ((%i %c)) … %x …))
//!                                                    (let (%s') (reduce (%i %c) … %y … + from %s))
//!                                                    (give (+ %at %c) (> %c 0) %s')))
//!                                                (let (%m) (op / %s %n'))
//!                                                (give %m)
//! ```
//!
//! A third kind of axis, beside the regular and the ragged one: a *streamed* axis is gone through from the left, a piece
//! of it at a time, and how long it is nobody knows before its end. Arrays along it are never there as wholes. The body of
//! the loop is ordinary Mono over arrays of the piece's size, so fusion, flattening and all that follows know nothing of
//! streams.
//!
//! | over the whole axis | in the loop |
//! | --- | --- |
//! | `map` | the same map over the piece |
//! | `filter`, `join` | the same over the piece; what it gives is along a streamed axis of its own |
//! | `reduce`, `for`, `scatter` | state: from the last piece's to the next ([`fold`]) |
//! | `scan` | the piece's scan from the last prefix, which is state ([`scan`]); the one more of a full scan comes last ([`full`]) |
//! | an item at a known place | state that its piece sets ([`pick`]) |
//! | two arrays one after the other | along the one, and then along the other ([`append`]); the item before each ([`before`]) |
//! | where ragged items begin | counted from the piece's own first element ([`starts`]) |
//! | a result of the program | pushed piece by piece |
//! | the size of the axis | how many items there were |
//!
//! What looks a bounded number of places ahead (`(- (tail xs) (curtail xs))`, a moving average) goes along a shorter axis:
//! the last items of a piece are state, and stand before those of the next ([`window`]).
//!
//! A stream that the program makes has no arrays to pull, and its length is known before it begins: what is pulled is how
//! many items the next piece has. `(pull 0 0 (exactly %n))` of such a channel, one without arrays, gives a size another name,
//! and axes of that size are streamed. [`strips`] gives sizes such names in programs that say nothing of streams.
//!
//! ```text
//! (let (%m) (pull 0 0 (exactly %n)))                  (while ((%at 0) …) …
//! (let (%x) (map ((%i %m)) …))             ⟶            (let (%c') (pull 0 %at (multiple 1)))
//!                                                        (let (%c) (op min2 %c' (- %n %at)))
//!                                                        (let (%x) (map ((%i %c)) …)) …
//! ```
//!
//! Statements that need what comes at the end of a stream (a total, its length) come after the loop; where they go along
//! the stream again, it is read again from its first item, and what is computed of it on the way is computed again. So a
//! program is a number of *passes*, each of which has a loop for each stream that it goes along. [`levels`] says which
//! statement is in which.
//!
//! **Chunks cannot be seen.** What an operator that rounds combines is cut into tiles of the axis' own positions, and the
//! tiles are combined one after the other ([`fold`]); a piece of such a loop has whole tiles, but for the last.
//!
//! Madsen and Filinski, *Towards a streaming model for nested data parallelism*, FHPC 2013, is where it comes from that a
//! sequence's type says that it is gone through once; the lifting of operators to pieces with state is that of Accelerate's
//! irregular streams (Clifton-Everest et al., *Streaming irregular arrays*, Haskell 2017).
//!
//! What cannot be done so needs a whole stream, and is refused with its place ([`Unstreamable`]); `collect` keeps one.

mod append;
mod before;
mod copied;
mod emit;
mod fold;
mod full;
mod levels;
mod pass;
mod pick;
mod scan;
mod starts;
mod strips;
mod window;

use crate::ir::*;
use append::Appended;
use emit::Emit;
use levels::{Group, Sink, What};
use remc_base::Prov;
use remc_base::pass::PassInfo;
use rustc_hash::{FxHashMap, FxHashSet};
pub use strips::strips;

pub const PASS: PassInfo = PassInfo {
    name: "stream",
    from: "mono",
    to: "mono",
    summary: "makes loops over pieces of what goes along a stream",
};

/// What cannot be done piece by piece.
#[derive(Clone, PartialEq, Debug)]
pub struct Unstreamable {
    pub at: Prov,
    pub why: Why,
    /// The stream, as the program calls it; empty of one that it makes.
    pub stream: String,
}

/// Why something cannot be done piece by piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It sorts.
    Sorts,
    /// It reads at a place that is not the one it is at.
    Elsewhere,
    /// It puts the items in another order, or repeats them.
    Rearranges,
    /// It goes along two streams that do not keep step.
    OutOfStep,
    /// It needs all items for each item.
    Whole,
    /// A loop or branch gives an array as long as the stream.
    Carried,
    /// An operator inside a map over other axes that carries something along the stream.
    Inside,
    /// The items are side by side, and not one after the other.
    Across,
    /// Items whose elements are gone: boxes from piece to piece.
    Places,
    /// Items that are arrays of boxes.
    Boxes,
    /// Two arrays one after the other, which do not go on one after the other.
    Appended,
    /// What has one item more than the stream.
    Longer,
}

impl Why {
    /// What it does, as the end of a sentence that begins with *this*.
    pub fn says(self) -> &'static str {
        match self {
            Why::Sorts => "sorts it",
            Why::Elsewhere => "reads it at a computed place",
            Why::Rearranges => "puts its items in another order or shape",
            Why::OutOfStep => "reads two streams that need not keep step",
            Why::Whole => "needs all of it for each of its items",
            Why::Carried => {
                "hands an array as long as the stream from one round to the next, or out of a branch"
            }
            Why::Inside => "scans along it inside of a map over other axes",
            Why::Across => "gives a result along which the stream is not the first axis",
            Why::Places => "needs an item of any size when later ones have come",
            Why::Appended => "needs one array and what is behind it as a single one",
            Why::Longer => "goes along the prefixes of a scan, one more than the stream has items",
            Why::Boxes => "has items each of which is an array of boxes",
        }
    }
}

/// A streamed axis.
struct StreamedAxis {
    /// Its size: of arrays along it, and of iterations.
    size: Var,
    /// The axis of the input that its pieces come from.
    root: usize,
    /// What makes it, of one that a filter or join gives.
    made_by: Option<usize>,
    /// Of one that is so many items shorter than another one: item `i` is made of what the other has at `i`, and at up to so
    /// many places behind.
    window: Option<Window>,
}

/// A bounded look ahead along an axis.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Window {
    of: usize,
    width: i64,
}

/// An array along a streamed axis.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Along {
    axis: usize,
    /// Which of its axes that is.
    dim: usize,
}

/// An input that is a stream.
struct SourceInput {
    channel: usize,
    axis: usize,
    arrays: Vec<Var>,
    /// Of each array the axis that it is along: its own where it has any number of elements for each item.
    axes: Vec<usize>,
}

/// The arrays of an input in order, and of each that has any number of elements for each item the number of that which says
/// where they begin.
fn delimited(input: &Input, starts: Option<usize>, out: &mut Vec<(Var, Option<usize>)>) {
    match input {
        Input::Array(v) => out.push((*v, starts)),
        Input::Tuple(fields) => fields.iter().for_each(|(_, f)| delimited(f, starts, out)),
        Input::Boxes { witnesses, contents } => {
            for w in witnesses {
                match w {
                    InputWitness::Dim(v) => out.push((*v, starts)),
                    InputWitness::Shape { ranks, starts: begin, dims } => {
                        out.extend([(*ranks, starts), (*begin, starts)]);
                        out.push((*dims, Some(out.len() - 1)));
                    }
                }
            }
            delimited(contents, starts, out);
        }
        Input::Part { starts: begin, data } => {
            out.push((*begin, starts));
            out.push((*data, Some(out.len() - 1)));
        }
        Input::Parts { starts: begin, boxes } => {
            out.push((*begin, starts));
            delimited(boxes, Some(out.len() - 1), out);
        }
        Input::Stream { items, .. } | Input::Channel { items, .. } => delimited(items, starts, out),
    }
}

/// The streamed axes, and what is along them.
#[derive(Default)]
struct Tables {
    axes: Vec<StreamedAxis>,
    /// The axis of each size, that of its end included.
    axis_of: FxHashMap<Var, usize>,
    along: FxHashMap<Var, Along>,
    /// Where the elements of each item of an axis begin in a vector that holds those of all.
    starts: FxHashMap<Var, Var>,
    /// Of each array of such places the vector that they are in.
    places: FxHashMap<Var, Var>,
}

struct Streamer<'p> {
    p: &'p mut Program,
    t: Tables,
    sources: Vec<SourceInput>,
    /// Arrays of all items of a stream, which are along none.
    collected: FxHashSet<Var>,
    /// Prefixes along a stream whose scan was a full one: the scan, and which of its results.
    full: FxHashMap<Var, (Stmt, usize)>,
    /// Arrays one after the other.
    appended: Appended,
    /// Arrays that say how many elements each item has, and the axis of the elements of all.
    lengths: FxHashMap<Var, usize>,
    /// Other names of the sizes of axes.
    aliases: Vec<(Var, usize)>,
    /// Statements along streams, in order, those of the bodies around first.
    defs: Vec<Stmt>,
    /// Which of them makes a variable.
    def_of: FxHashMap<Var, usize>,
    /// Sizes whose ends are known, and what they are.
    ends: FxHashMap<Var, Atom>,
    /// Which source has said how long the streams of a root are.
    measured: FxHashMap<usize, usize>,
    prov: Prov,
}

type S<T = ()> = Result<T, Unstreamable>;

/// Makes loops over pieces, if an input is a stream.
///
/// # Errors
/// What cannot be done piece by piece, with its place.
pub fn stream(p: &mut Program) -> S {
    if !streams(p) {
        return Ok(());
    }
    let body = std::mem::take(&mut p.body);
    let mut s = Streamer {
        p,
        t: Tables::default(),
        sources: Vec::new(),
        collected: FxHashSet::default(),
        full: FxHashMap::default(),
        appended: Appended::default(),
        lengths: FxHashMap::default(),
        aliases: Vec::new(),
        defs: Vec::new(),
        def_of: FxHashMap::default(),
        ends: FxHashMap::default(),
        measured: FxHashMap::default(),
        prov: Prov(0),
    };
    s.inputs()?;
    let body = s.body(body, true)?;
    s.p.body = body;
    let streamed: FxHashSet<Var> = s.sources.iter().flat_map(|s| s.arrays.iter().copied()).collect();
    s.p.params.retain(|v| !streamed.contains(v));
    Ok(())
}

/// Whether a program has a stream whose pieces are still to be made.
pub fn streams(p: &Program) -> bool {
    p.inputs.iter().any(|i| matches!(i, Input::Stream { .. }))
        || p.body.stmts.iter().any(|s| begins(p, s).is_some())
}

/// Of a statement that says that an axis is streamed, whose items the program makes: its channel, and how many items those
/// are.
fn begins(p: &Program, s: &Stmt) -> Option<(usize, Atom)> {
    match s.exp {
        Exp::Pull { channel, take: Take::Exactly(n), .. } => {
            p.channels.get(channel).is_some_and(Channel::is_endless).then_some((channel, n))
        }
        _ => None,
    }
}

/// Streams as the arrays that they are, for languages without them.
pub fn whole(p: &mut Program) {
    for i in &mut p.inputs {
        if let Input::Stream { items, .. } = i {
            *i = std::mem::replace(items, Input::Tuple(Vec::new()));
        }
    }
    // What is pushed is what is pulled.
    let mut pushed: FxHashMap<usize, Vec<Var>> = FxHashMap::default();
    let mut stmts = Vec::with_capacity(p.body.stmts.len());
    for s in std::mem::take(&mut p.body.stmts) {
        match &s.exp {
            Exp::Push { channel, arrays } => drop(pushed.insert(*channel, arrays.clone())),
            Exp::Pull { take: Take::Exactly(n), .. } if s.pat.len() == 1 => {
                stmts.push(Stmt { exp: Exp::Atom(*n), pat: s.pat, prov: s.prov });
            }
            Exp::Pull { channel, .. } => {
                let arrays = pushed.remove(channel).unwrap_or_default();
                let count = arrays.first().and_then(|v| p.vars[*v].ty.dims.first().copied());
                let values = count.into_iter().chain(arrays.into_iter().map(Atom::Var));
                let copies = s.pat.iter().zip(values);
                stmts.extend(copies.map(|(v, a)| Stmt { pat: vec![*v], exp: Exp::Atom(a), prov: s.prov }));
            }
            _ => stmts.push(s),
        }
    }
    p.body.stmts = stmts;
    p.channels.clear();
}

impl Tables {
    /// The streamed axis of that size.
    fn streamed(&self, size: Atom) -> Option<usize> {
        size.as_var().and_then(|v| self.axis_of.get(&v)).copied()
    }
}

impl Streamer<'_> {
    /// Channels of the inputs that are streams, in the place of their arrays.
    fn inputs(&mut self) -> S {
        for k in 0..self.p.inputs.len() {
            let Input::Stream { size, items } = &self.p.inputs[k] else { continue };
            let (size, items) = (*size, items.clone());
            let axis = match self.t.axis_of.get(&size) {
                Some(axis) => *axis,
                None => self.axis(size, None, None),
            };
            let mut found = Vec::new();
            delimited(&items, None, &mut found);
            let (mut arrays, mut types, mut axes) = (Vec::new(), Vec::new(), Vec::new());
            for (v, starts) in found {
                let ty = self.p.vars[v].ty.clone();
                let own = match starts {
                    None => axis,
                    Some(s) => {
                        self.t.starts.insert(v, arrays[s]);
                        self.t.places.insert(arrays[s], v);
                        let total = ty.dims.first().and_then(|d| d.as_var());
                        let Some(total) = total else { return self.no(Why::Boxes, axis) };
                        let known = self.t.axis_of.get(&total).copied();
                        known.unwrap_or_else(|| self.axis(total, Some(axis), None))
                    }
                };
                self.t.along.insert(v, Along { axis: own, dim: 0 });
                axes.push(own);
                arrays.push(v);
                types.push(ChannelArray { base: ty.base, rank: ty.rank().saturating_sub(1), starts });
            }
            let name =
                arrays.first().map(|v| self.p.vars[*v].name.clone()).unwrap_or_else(|| "stream".into());
            let name = name.as_str().split('.').next().unwrap_or_default().into();
            let channel = self.p.channels.len();
            self.p.channels.push(Channel { name, arrays: types, input: Some(k), output: None });
            let items = Box::new(items.anonymous(size));
            self.p.inputs[k] = Input::Channel { channel, size, items };
            self.sources.push(SourceInput { channel, axis, arrays, axes });
            let places = |v: &Var| self.t.places.contains_key(v) && self.p.vars[*v].ty.rank() != 1;
            if self.sources.last().is_some_and(|s| s.arrays.iter().any(places)) {
                return self.no(Why::Boxes, axis);
            }
        }
        Ok(())
    }

    fn axis(&mut self, size: Var, root: Option<usize>, made_by: Option<usize>) -> usize {
        let axis = self.t.axes.len();
        self.t.axes.push(StreamedAxis { size, root: root.unwrap_or(axis), made_by, window: None });
        self.t.axis_of.insert(size, axis);
        axis
    }

    /// A body that runs on the host: its statements in passes. Only at the top may results be along streams.
    fn body(&mut self, body: Body, top: bool) -> S<Body> {
        let outer = self.defs.len();
        let mut results = body.results;
        let mut plan = self.levels(body.stmts, &mut results, top)?;
        let mut idle = if top { self.kept_in_step(&mut plan) } else { Vec::new() };
        let mut out = Vec::new();
        for group in plan {
            for s in group.whole {
                let s = self.at_end(s);
                let mut s = self.whole(s)?;
                self.sized(&mut s);
                out.push(s);
            }
            for root in 0..self.t.axes.len() {
                let sinks: Vec<_> = group.sinks.iter().filter(|s| s.root == root).cloned().collect();
                if !sinks.is_empty() {
                    let more: Vec<usize> = idle.extract_if(.., |k| self.sources[*k].axis == root).collect();
                    self.pass(root, &sinks, &more, &mut out);
                }
            }
        }
        let results = results.into_iter().map(|a| self.end(a)).collect();
        for s in self.defs.drain(outer..) {
            s.pat.iter().for_each(|v| {
                self.def_of.remove(v);
            });
        }
        Ok(Body { stmts: out, results })
    }

    /// Streams of one length are all gone through, those of which nothing is wanted, too. Which these are.
    fn kept_in_step(&self, plan: &mut Vec<Group>) -> Vec<usize> {
        let idle = self.idle(plan);
        let several = |root: usize| self.sources.iter().filter(|s| s.axis == root).count() > 1;
        for root in idle.iter().map(|k| self.sources[*k].axis).filter(|root| several(*root)) {
            if !plan.iter().any(|g| g.sinks.iter().any(|s| s.root == root)) {
                if plan.is_empty() {
                    plan.push(Group::default());
                }
                plan[0].sinks.push(Sink { root, what: What::Count(root), prov: self.prov });
            }
        }
        idle.into_iter().filter(|k| several(self.sources[*k].axis)).collect()
    }

    /// An atom after the streams' ends.
    fn end(&self, a: Atom) -> Atom {
        a.as_var().and_then(|v| self.ends.get(&v)).copied().unwrap_or(a)
    }

    /// A statement that is not along a stream, with the sizes of streams that have ended; bodies that go along one have
    /// their own statements for that.
    fn at_end(&mut self, mut s: Stmt) -> Stmt {
        let inside = !self.is_along(&s) && !self.makes_along(&s.exp);
        let ends = &self.ends;
        let mut end = |a: &mut Atom| {
            if let Some(e) = a.as_var().and_then(|v| ends.get(&v)) {
                *a = *e;
            }
        };
        s.exp.for_each_operand_mut(&mut end);
        let mut bound: Vec<Var> = s.pat.iter().copied().chain(s.exp.inner_binders()).collect();
        if inside {
            s.exp.bodies_mut().into_iter().for_each(|b| b.replace_atoms(&mut end));
            s.exp.bodies().into_iter().for_each(|b| bound.extend(b.binders()));
        }
        for v in bound {
            self.p.vars[v].ty.dims.iter_mut().for_each(&mut end);
        }
        s
    }

    /// What a statement computes and is the size of an axis has another name from there on: in a piece the first one is how
    /// many items that has.
    fn sized(&mut self, s: &mut Stmt) {
        for v in &mut s.pat {
            if let Some(axis) = self.t.axis_of.get(v).copied() {
                let info = self.p.vars[*v].clone();
                let end = self.p.vars.push(info);
                self.ends.insert(*v, end.into());
                self.t.axis_of.insert(end, axis);
                *v = end;
            }
        }
    }

    /// The same of a statement along a stream: sizes of axes and arrays stay, which are those of pieces there.
    fn values_at_end(&self, exp: &mut Exp) {
        let sizes: Vec<Atom> = exp.axes().iter().map(|a| a.size).collect();
        if !matches!(exp, Exp::View { .. }) {
            exp.for_each_operand_mut(&mut |a| {
                if !sizes.contains(a) {
                    *a = self.end(*a);
                }
            });
        }
        for b in exp.bodies_mut() {
            b.stmts.iter_mut().for_each(|s| self.values_at_end(&mut s.exp));
            b.results.iter_mut().for_each(|a| *a = self.end(*a));
        }
    }

    /// The same with what is in its bodies, if those go along streams.
    fn whole(&mut self, mut s: Stmt) -> S<Stmt> {
        if !self.is_along(&s) && !self.makes_along(&s.exp) {
            return Ok(s);
        }
        let kept = std::mem::replace(&mut self.prov, s.prov);
        // What is counted in a branch or round is known there alone.
        let ends = self.ends.clone();
        for b in s.exp.bodies_mut() {
            *b = self.body(std::mem::take(b), false)?;
            self.ends.clone_from(&ends);
        }
        self.prov = kept;
        Ok(s)
    }

    /// Whether a branch or loop makes something along a stream: one that the program makes needs no array from outside.
    fn makes_along(&self, exp: &Exp) -> bool {
        let mut any = false;
        if matches!(exp, Exp::If { .. } | Exp::For { .. } | Exp::While { .. }) {
            let mut look = |s: &Stmt| any |= s.exp.axes().iter().any(|a| self.t.streamed(a.size).is_some());
            exp.bodies().into_iter().for_each(|b| b.for_each_stmt(&mut look));
        }
        any
    }

    fn no<T>(&self, why: Why, axis: usize) -> S<T> {
        let root = self.t.axes[axis].root;
        // What the program makes has no name.
        let source = self.sources.iter().find(|s| s.axis == root && !s.arrays.is_empty());
        let stream = source.map_or_else(String::new, |s| self.p.channels[s.channel].name.to_string());
        Err(Unstreamable { at: self.prov, why, stream })
    }

    fn emit(&mut self) -> Emit<'_> {
        let prov = self.prov;
        Emit::new(self.p, prov)
    }
}

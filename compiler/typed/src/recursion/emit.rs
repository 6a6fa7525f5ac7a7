//! Loops, from what a body does next.

use super::Refused;
use super::tree::{Body, Tree};
use crate::refs::mentions;
use remc_base::trap::{DEEPEST, LONGEST_WAY};
use remc_base::{BaseTy, Name, NodeId};
use remc_syntax::ast::{Annotation, Binding, Expr, ExprKind, Ident, IndexExpr, IndexKind, Param, TypeExpr};

pub struct Emit<'b, 'a> {
    body: &'b Body<'a>,
    /// The parameters that are others from call to call.
    state: Vec<Name>,
    /// The type that the definition says it gives.
    ret: Option<&'b TypeExpr>,
    node: NodeId,
}

impl<'b, 'a> Emit<'b, 'a> {
    pub fn new(body: &'b Body<'a>, params: &[Param], ret: Option<&'b TypeExpr>) -> Self {
        let mut state: Vec<Name> = (0..params.len())
            .filter(|k| !body.passes_on(&params[*k].name, *k))
            .map(|k| params[k].name.clone())
            .collect();
        if state.is_empty() {
            state.extend(params.first().map(|p| p.name.clone()));
        }
        Emit { body, state, ret, node: body.node() }
    }

    // ---- what it is made of -----------------------------------------------------------------------------

    fn expr(&self, kind: ExprKind) -> Expr {
        Expr { id: self.node, kind: Box::new(kind) }
    }

    fn var(&self, name: &Name) -> Expr {
        self.expr(ExprKind::Var(name.clone()))
    }

    fn vars(&self, names: &[Name]) -> Vec<Expr> {
        names.iter().map(|n| self.var(n)).collect()
    }

    fn int(&self, n: i64) -> Expr {
        self.expr(ExprKind::Int { value: n.into(), suffix: Some(BaseTy::I64) })
    }

    fn bool(&self, b: bool) -> Expr {
        self.expr(ExprKind::Bool(b))
    }

    /// A function of the prelude, whatever the program calls so.
    fn call(&self, f: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
        let func = self.var(&Name::new(format!("{}{f}", crate::source::PRELUDE)));
        self.expr(ExprKind::App { func, args: args.into_iter().collect() })
    }

    fn choose(&self, cond: Expr, then: Expr, otherwise: Expr) -> Expr {
        self.expr(ExprKind::If { cond, then, otherwise })
    }

    fn values(&self, mut all: Vec<Expr>) -> Expr {
        match all.len() {
            1 => all.remove(0),
            _ => self.expr(ExprKind::Values(all)),
        }
    }

    fn param(&self, name: &Name) -> Param {
        Param { id: self.node, name: name.clone(), ann: Annotation::None }
    }

    /// `value`, one or several, by these names in `body`.
    fn with(&self, names: &[Name], value: Expr, body: Expr) -> Expr {
        let params: Vec<Param> = names.iter().map(|n| self.param(n)).collect();
        match <[Param; 1]>::try_from(params) {
            Ok([param]) => self.expr(ExprKind::Let {
                bindings: vec![Binding { param, value, defines: false }],
                sequential: false,
                body,
            }),
            Err(params) => self.expr(ExprKind::LetValues { bindings: vec![(params, value)], body }),
        }
    }

    fn lets(&self, all: Vec<(Name, Expr)>, body: Expr) -> Expr {
        let binding =
            |(name, value): (Name, Expr)| Binding { param: self.param(&name), value, defines: false };
        let bindings = all.into_iter().map(binding).collect();
        self.expr(ExprKind::Let { bindings, sequential: true, body })
    }

    fn turn(&self, state: Vec<(Name, Expr)>, cond: Expr, body: Expr) -> Expr {
        let binding =
            |(name, value): (Name, Expr)| Binding { param: self.param(&name), value, defines: false };
        let bindings = state.into_iter().map(binding).collect();
        self.expr(ExprKind::Loop { bindings, cond, body })
    }

    /// A name that no program writes.
    fn name(&self, what: &str, of: &str) -> Name {
        Name::new(format!("{what} {of}"))
    }

    fn own(&self, what: &str) -> Vec<Name> {
        self.state.iter().map(|p| self.name(what, p.as_str())).collect()
    }

    /// `n` items that are all the same: one is read as often, which keeps a box closed.
    fn copies(&self, n: IndexKind, x: Expr) -> Expr {
        let n = IndexExpr { id: self.node, kind: Box::new(n) };
        let shape = IndexExpr { id: self.node, kind: Box::new(IndexKind::Shape(vec![n])) };
        let replicate = self.var(&Name::new(format!("{}replicate", crate::source::PRELUDE)));
        let func = self.expr(ExprKind::IApp { func: replicate, args: vec![shape] });
        let places = self.expr(ExprKind::App { func, args: vec![self.int(0)] });
        self.call("index-item", [self.expr(ExprKind::Bracket(vec![x])), places])
    }

    /// What is given, as the type that the definition says.
    fn result(&self, e: Expr) -> Expr {
        match self.ret {
            Some(ty) => Expr { id: e.id, kind: Box::new(ExprKind::Annot { expr: e, ty: ty.clone() }) },
            None => e,
        }
    }

    fn written(&self, to: &Name, at: &Name, x: Expr) -> Expr {
        let one = |e| self.expr(ExprKind::Bracket(vec![e]));
        self.call("scatter/into", [self.var(to), one(self.var(at)), one(x)])
    }

    fn read(&self, from: &Name, at: &Name) -> Expr {
        self.call("index-item", [self.var(from), self.var(at)])
    }

    // ---- what a round does -------------------------------------------------------------------------------

    /// Whether it calls itself.
    fn goes_on(&self, tree: &Tree) -> Expr {
        let leaf = |leaf: &Tree| Some(self.bool(matches!(leaf, Tree::Call { .. })));
        tree.render(&leaf).unwrap_or_else(|| self.bool(false))
    }

    /// With what it calls itself: the state's next values.
    fn next(&self, tree: &Tree) -> Expr {
        let leaf = |leaf: &Tree| match leaf {
            Tree::Call { args, .. } => Some(self.values(self.stated(args))),
            _ => None,
        };
        tree.render(&leaf).unwrap_or_else(|| self.values(self.vars(&self.state)))
    }

    /// The arguments that are state.
    fn stated(&self, args: &[Expr]) -> Vec<Expr> {
        self.state.iter().filter_map(|p| args.get(self.body.place(p)?)).cloned().collect()
    }

    /// What it gives in the end.
    fn end(&self, tree: &Tree) -> Expr {
        let leaf = |leaf: &Tree| match leaf {
            Tree::End(e) => Some(self.result(e.clone())),
            _ => None,
        };
        tree.render(&leaf).unwrap_or_else(|| self.bool(false))
    }

    fn itself(&self) -> Vec<(Name, Expr)> {
        self.state.iter().map(|p| (p.clone(), self.var(p))).collect()
    }

    // ---- the three ways ----------------------------------------------------------------------------------

    /// Calls that are the last that is done: the next round, with other values.
    pub fn last(&self, tree: &Tree) -> Expr {
        let rounds = self.turn(self.itself(), self.goes_on(tree), self.next(tree));
        self.with(&self.state, rounds, self.end(tree))
    }

    /// What is given at the end of the way that always takes the first call, which is not without end.
    fn first_end(&self, tree: &Tree) -> Expr {
        let rounds = self.name("rounds of", self.body.name.as_str());
        let further = self.own("next");
        let more = self.call("+", [self.var(&rounds), self.int(1)]);
        let next = self.vars(&further).into_iter().chain([self.bounded(more, LONGEST_WAY)]).collect();
        let state = self.itself().into_iter().chain([(rounds.clone(), self.int(0))]).collect();
        let turn =
            self.turn(state, self.goes_on(tree), self.with(&further, self.next(tree), self.values(next)));
        let names: Vec<Name> = self.state.iter().chain([&rounds]).cloned().collect();
        self.with(&names, turn, self.end(tree))
    }

    /// A number of calls that wait, which stops the program where it is too great.
    fn bounded(&self, calls: Expr, most: i64) -> Expr {
        self.call("recursion-depth", [calls, self.int(most)])
    }

    /// One call on each way: as many rounds as it takes to the end, then back.
    pub fn one(&self, tree: &Tree) -> Expr {
        let (result, rounds, at, size) = (
            self.body.given(1),
            self.name("rounds of", self.body.name.as_str()),
            self.name("at", "round"),
            self.name("all", "rounds"),
        );
        let mut back = self.body.back();
        self.body.replace(&mut back, &|_| Some(result.clone()));
        let back = self.result(back);
        let kept: Vec<&Name> = self.state.iter().filter(|p| mentions(&back, p)).collect();
        let stacks: Vec<Name> = kept.iter().map(|p| self.name("each", p.as_str())).collect();
        let further = self.own("next");
        let one = || self.int(1);
        let counted = |n: &Name| self.call("+", [self.var(n), one()]);
        // Up to the end.
        let state = self.itself().into_iter().chain([(rounds.clone(), self.int(0))]).collect();
        let deeper = self.bounded(counted(&rounds), LONGEST_WAY);
        let next = self.vars(&further).into_iter().chain([deeper]).collect();
        let down =
            self.turn(state, self.goes_on(tree), self.with(&further, self.next(tree), self.values(next)));
        let names: Vec<Name> = self.state.iter().chain([&rounds]).cloned().collect();
        let first = self.with(&names, down, self.values(vec![self.end(tree), self.var(&rounds)]));
        // Back.
        let reads = kept.iter().zip(&stacks).map(|(p, s)| ((*p).clone(), self.read(s, &at)));
        let before = (at.clone(), self.call("-", [self.var(&at), one()]));
        let body =
            self.lets(std::iter::once(before).chain(reads).collect(), self.values(vec![self.var(&at), back]));
        let state = vec![(at.clone(), self.var(&rounds)), (result.clone(), self.var(&result))];
        let up = self.turn(state, self.call(">", [self.var(&at), self.int(0)]), body);
        let mut all = self.with(&[at.clone(), result.clone()], up, self.var(&result));
        if !kept.is_empty() {
            // What each round has begun with.
            let empty = kept.iter().zip(&stacks);
            let empty =
                empty.map(|(p, s)| (s.clone(), self.copies(IndexKind::Name(size.clone()), self.var(p))));
            let state = self.itself().into_iter().chain([(at.clone(), self.int(0))]).chain(empty).collect();
            let writes = kept.iter().zip(&stacks).map(|(p, s)| self.written(s, &at, self.var(p)));
            let next = self.vars(&further).into_iter().chain([counted(&at)]).chain(writes).collect();
            let body = self.with(&further, self.next(tree), self.values(next));
            let cond = self.call("<", [self.var(&at), self.var(&rounds)]);
            let names: Vec<Name> = self.state.iter().chain([&at]).chain(&stacks).cloned().collect();
            let again = self.turn(state, cond, body);
            let keep = self.with(&names, again, self.values(self.vars(&stacks)));
            all = self.with(&stacks, keep, all);
            let index = Ident { id: self.node, name: size };
            all = self.expr(ExprKind::Lift { index, value: self.var(&rounds), natural: true, body: all });
        }
        self.with(&[result, rounds], first, all)
    }

    /// Several calls: a stack of those that wait.
    pub fn several(&self, first: &Tree) -> Result<Expr, Refused> {
        let sites = self.body.sites();
        let name = |what: &str| self.name(what, self.body.name.as_str());
        let (waiting, known, value, going) =
            (name("waiting in"), name("known in"), name("value of"), name("going on with"));
        let (act, under, place) = (name("act of"), name("under"), name("place in"));
        let now = self.own("now");
        let next = self.own("next");
        let stacks = self.own("stack of");
        let given: Vec<Name> = (1..=sites).map(|k| self.body.given(k)).collect();
        let kept: Vec<Name> = given.iter().map(|g| self.name("stack of", g.as_str())).collect();
        let places = name("places in");
        // What the next round does: 0 ends, a negative number is a last call.
        let leaf = |leaf: &Tree| match leaf {
            Tree::Call { number, args, last, .. } => {
                let act = self.int(if *last { -1 } else { *number as i64 });
                let args = self.stated(args);
                Some(self.values(std::iter::once(act).chain(args).chain([self.var(&value)]).collect()))
            }
            Tree::End(e) => {
                let same = self.vars(&now);
                Some(self.values(
                    std::iter::once(self.int(0)).chain(same).chain([self.result(e.clone())]).collect(),
                ))
            }
            _ => None,
        };
        let mut round = first.render(&leaf).unwrap_or_else(|| self.bool(false));
        for k in 1..=sites {
            let tree = self.body.tree(k)?;
            let is = self.call("=", [self.var(&known), self.int(k as i64)]);
            let then = tree.render(&leaf).unwrap_or_else(|| self.bool(false));
            round = self.choose(is, then, round);
        }
        let is_up = || self.call("=", [self.var(&act), self.int(0)]);
        let is_down = || self.call(">", [self.var(&act), self.int(0)]);
        // The call that waits for this one, if it ends.
        let mut reads = vec![
            (
                under.clone(),
                self.call("max2", [self.int(0), self.call("-", [self.var(&waiting), self.int(1)])]),
            ),
            (place.clone(), self.read(&places, &under)),
        ];
        let (was, had) =
            (self.own("was"), given.iter().map(|g| self.name("was", g.as_str())).collect::<Vec<_>>());
        reads.extend(was.iter().zip(&stacks).map(|(w, s)| (w.clone(), self.read(s, &under))));
        reads.extend(had.iter().zip(&kept).map(|(w, s)| (w.clone(), self.read(s, &under))));
        let mut after = Vec::new();
        for (n, w) in next.iter().zip(&was) {
            after.push(self.choose(is_up(), self.var(w), self.var(n)));
        }
        for (k, (g, w)) in given.iter().zip(&had).enumerate() {
            let is = self.call("=", [self.var(&place), self.int(k as i64 + 1)]);
            let then = self.choose(is, self.var(&value), self.var(w));
            after.push(self.choose(is_up(), then, self.var(g)));
        }
        after.push(self.choose(is_up(), self.var(&place), self.int(0)));
        let more = self.call("+", [self.var(&waiting), self.int(1)]);
        let more = self.bounded(more, DEEPEST);
        let fewer = self.call("-", [self.var(&waiting), self.int(1)]);
        let deeper = self.choose(is_down(), more, self.choose(is_up(), fewer, self.var(&waiting)));
        after.push(deeper);
        after.push(self.var(&value));
        let ends = self.call("and", [is_up(), self.call("=", [self.var(&waiting), self.int(0)])]);
        after.push(self.call("not", [ends]));
        for (s, n) in stacks.iter().zip(&now) {
            after.push(self.written(s, &waiting, self.var(n)));
        }
        for (s, g) in kept.iter().zip(&given) {
            after.push(self.written(s, &waiting, self.var(g)));
        }
        after.push(self.written(&places, &waiting, self.var(&act)));
        let decided: Vec<Name> = std::iter::once(&act).chain(&next).chain([&value]).cloned().collect();
        let user = self.state.iter().cloned().zip(self.vars(&now)).collect::<Vec<_>>();
        let round = self.lets(user, round);
        let body = self.with(&decided, round, self.lets(reads, self.values(after)));
        // The first value that there is, which stands for those that are not there yet.
        let begin = self.first_end(first);
        let slots = || IndexKind::Nat(DEEPEST as u64 + 1);
        let mut state: Vec<(Name, Expr)> = now.iter().cloned().zip(self.vars(&self.state)).collect();
        state.extend(given.iter().map(|g| (g.clone(), self.var(&value))));
        state.push((known.clone(), self.int(0)));
        state.push((waiting.clone(), self.int(0)));
        state.push((value.clone(), self.var(&value)));
        state.push((going.clone(), self.bool(true)));
        state.extend(
            stacks.iter().zip(&self.state).map(|(s, p)| (s.clone(), self.copies(slots(), self.var(p)))),
        );
        state.extend(kept.iter().map(|s| (s.clone(), self.copies(slots(), self.var(&value)))));
        state.push((places.clone(), self.copies(slots(), self.int(0))));
        let names: Vec<Name> = state.iter().map(|(n, _)| n.clone()).collect();
        let run = self.turn(state, self.var(&going), body);
        Ok(self.with(std::slice::from_ref(&value), begin, self.with(&names, run, self.var(&value))))
    }
}

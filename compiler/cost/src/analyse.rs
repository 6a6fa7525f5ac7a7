//! Flat → report: one walk over the host's body.

use crate::formula::{Formula, Symbol};
use crate::leaf::{Access, Read, Walk};
use crate::report::*;
use crate::scope::{Count, Scope};
use remc_base::Prov;
use remc_flat::across::{COLUMNS, ROWS, across, reduction};
use remc_flat::appends::homes;
use remc_flat::ir::*;
use remc_mono::ir as mono;
use rustc_hash::{FxHashMap, FxHashSet};

/// What each part of a program costs.
pub fn analyse(p: &Program) -> Report {
    let mut a = Analysis {
        scope: Scope::new(p),
        out: Report::default(),
        path: Vec::new(),
        paths: Vec::new(),
        cells: FxHashMap::default(),
        same: FxHashMap::default(),
        inputs: p.input_sizes(),
        up: FxHashMap::default(),
        carried: Vec::new(),
        operands: Vec::new(),
        written: Vec::new(),
        branches: 0,
        params: p.params.iter().copied().collect(),
        fixed: FxHashSet::default(),
        rounds: 0,
        last: FxHashMap::default(),
    };
    uses(&p.body, &mut 0, &mut a.last);
    let mut clock = 0;
    a.out.nodes = a.body(&p.body, &mut clock);
    a.out.in_pieces = !p.channels.is_empty();
    a.arrays(&p.body.results);
    let Analysis { scope, mut out, cells, same, .. } = a;
    out.roots = cells.into_iter().map(|(v, (of, _))| (v, of)).chain(same).collect();
    out.shares = scope.shares;
    out.rows = scope.rows;
    out
}

struct Analysis<'p> {
    scope: Scope<'p>,
    out: Report,
    /// The branches around the statement at hand, and around each step.
    path: Vec<usize>,
    paths: Vec<Vec<usize>>,
    /// Arrays that are part of others: of which, and where in it.
    cells: FxHashMap<Var, (Var, Vec<Atom>)>,
    /// Arrays that are others in another shape, or are made in others, or of which others are the first state.
    same: FxHashMap<Var, Var>,
    /// The sizes of the program's inputs.
    inputs: FxHashSet<Var>,
    /// What a branch or loop gives, by the name that it has outside.
    up: FxHashMap<Var, Var>,
    carried: Vec<(Var, Prov)>,
    /// What steps write into, or copy with changes.
    operands: Vec<(Var, usize)>,
    /// What steps write.
    written: Vec<(Var, usize)>,
    branches: usize,
    params: FxHashSet<Var>,
    /// Integers that the host knows before any of its loops.
    fixed: FxHashSet<Var>,
    /// How many loops of the host are around the statement at hand.
    rounds: usize,
    /// The last statement of the host that mentions a variable.
    last: FxHashMap<Var, usize>,
}

/// Numbers the statements of the host in order and notes the last that mentions each variable.
fn uses(b: &Body, clock: &mut usize, last: &mut FxHashMap<Var, usize>) {
    for s in &b.stmts {
        *clock += 1;
        let now = *clock;
        let mut mention = |a: Atom| {
            if let Atom::Var(v) = a {
                last.insert(v, now);
            }
        };
        match &s.exp {
            Exp::For { state, .. } | Exp::While { state, .. } => state.iter().for_each(|s| mention(s.1)),
            e if e.bodies().is_empty() => e.for_each_use(&mut mention),
            _ => {}
        }
        let inner = s.exp.bodies();
        let is_block = !inner.is_empty();
        for b in inner {
            uses(b, clock, last);
        }
        if is_block {
            *clock += 1;
        }
    }
    *clock += 1;
    for v in b.results.iter().filter_map(|a| a.as_var()) {
        last.insert(v, *clock);
    }
}

impl<'p> Analysis<'p> {
    fn body(&mut self, b: &Body, clock: &mut usize) -> Vec<Node> {
        let mut nodes = Vec::new();
        let homes = homes(b, &self.scope.p.vars, &|v| self.inputs.contains(&v)).homes;
        self.same.extend(homes.into_iter().map(|(part, home)| (part, home.whole)));
        for s in &b.stmts {
            *clock += 1;
            nodes.extend(self.stmt(s, clock));
            if !s.exp.bodies().is_empty() {
                *clock += 1;
            }
        }
        *clock += 1;
        nodes
    }

    fn inside(&mut self, b: &Body, clock: &mut usize) -> Vec<Node> {
        self.branches += 1;
        self.path.push(self.branches);
        let nodes = self.body(b, clock);
        self.path.pop();
        nodes
    }

    fn round(&mut self, b: &Body, clock: &mut usize) -> Vec<Node> {
        self.rounds += 1;
        let nodes = self.inside(b, clock);
        self.rounds -= 1;
        nodes
    }

    fn is_array(&self, v: Var) -> bool {
        !self.scope.p.vars[v].ty.is_scalar()
    }

    /// Outside, what a body gives has the names of the pattern.
    fn gives(&mut self, pat: &[Var], b: &Body) {
        for (v, r) in pat.iter().zip(&b.results) {
            if let Atom::Var(r) = r
                && self.is_array(*r)
            {
                self.up.insert(*r, *v);
            }
        }
    }

    fn carry(&mut self, atoms: impl IntoIterator<Item = Atom>, prov: Prov) {
        for v in atoms.into_iter().filter_map(|a| a.as_var()) {
            if self.is_array(v) {
                self.carried.push((v, prov));
            }
        }
    }

    fn computed(&mut self, v: Var, prov: Prov) {
        self.out.computed.insert(v, prov);
        if self.rounds == 0 {
            self.fixed.insert(v);
        }
    }

    fn stmt(&mut self, s: &Stmt, clock: &mut usize) -> Option<Node> {
        let p = self.scope.p;
        for v in s.pat.iter().filter(|v| p.vars[**v].ty.is_scalar()) {
            self.computed(*v, s.prov);
        }
        Some(match &s.exp {
            Exp::Host(e) => return self.host(s, e),
            Exp::If { then, otherwise, .. } => {
                let (a, b) = (self.inside(then, clock), self.inside(otherwise, clock));
                self.gives(&s.pat, then);
                self.gives(&s.pat, otherwise);
                if a.is_empty() && b.is_empty() {
                    return None;
                }
                Node::If { prov: s.prov, then: a, otherwise: b }
            }
            Exp::Branch { guard, then, otherwise } => {
                let version = self.version(guard);
                let (a, b) = (self.inside(then, clock), self.inside(otherwise, clock));
                self.gives(&s.pat, then);
                self.gives(&s.pat, otherwise);
                Node::Branch { version, prov: s.prov, then: a, otherwise: b }
            }
            Exp::For { axis, state, body } => {
                self.carry(state.iter().map(|s| s.1), s.prov);
                self.computed(axis.var, s.prov);
                self.states(state);
                let times = self.scope.int(axis.size);
                let nodes = self.round(body, clock);
                self.carry(body.results.iter().copied(), s.prov);
                self.gives(&s.pat, body);
                if nodes.is_empty() {
                    return None;
                }
                Node::For { times, prov: s.prov, body: nodes }
            }
            Exp::While { state, cond, body } => {
                self.carry(state.iter().map(|s| s.1), s.prov);
                self.states(state);
                let asked = self.round(cond, clock);
                let nodes = self.round(body, clock);
                self.carry(body.results.iter().copied(), s.prov);
                self.gives(&s.pat, body);
                let (first, _) = state.first()?;
                if asked.is_empty() && nodes.is_empty() {
                    return None;
                }
                Node::While { rounds: Symbol::Rounds(*first), prov: s.prov, cond: asked, body: nodes }
            }
            Exp::SerialMap { axes, body } => {
                let sizes: Vec<Atom> = axes.iter().map(|a| a.size).collect();
                let times = self.scope.product(&sizes);
                axes.iter().for_each(|a| self.computed(a.var, s.prov));
                let before = self.out.steps.len();
                let nodes = self.round(body, clock);
                if nodes.is_empty() {
                    return None;
                }
                // Its arrays are collected from what the last steps of the rounds leave.
                if self.out.steps.len() > before {
                    let last = self.out.steps.len() - 1;
                    for v in s.pat.iter().filter(|v| !p.vars[**v].ty.is_scalar()) {
                        self.written.push((*v, last));
                    }
                }
                Node::For { times, prov: s.prov, body: nodes }
            }
            Exp::Seg(seg) => self.seg(s, seg),
            Exp::Scatter { dests, axis, body, combine } => {
                self.scatter(s, dests, axis, body, combine.as_ref(), *clock)
            }
            Exp::Filters(parts) => {
                let mut first = 0;
                for part in parts {
                    s.pat.get(first).into_iter().for_each(|number| self.computed(*number, part.prov));
                    first += part.body.results.len();
                }
                let axis = self.scope.int(parts.first()?.axis.size);
                self.step(s, What::Filter { axis, parts: parts.len() }, |w| {
                    for part in parts {
                        let inside = w.scope.enter(&Count::once(), &part.axis);
                        w.body(&part.body, &inside);
                    }
                })
            }
            Exp::Rows(Rows { axis, starts, body, .. }) => {
                let what = What::Map { space: vec![self.scope.int(axis.size)] };
                self.step(s, what, |w| {
                    let inside = w.scope.enter(&Count::once(), axis);
                    w.body(body, &inside);
                    let starts: Vec<Atom> = starts.iter().map(|v| Atom::Var(*v)).collect();
                    w.take(&starts, &inside);
                })
            }
            Exp::Grade { axis, body, .. } => {
                let what = What::Sort { axis: self.scope.int(axis.size) };
                self.step(s, what, |w| {
                    let inside = w.scope.enter(&Count::once(), axis);
                    w.body(body, &inside);
                })
            }
        })
    }

    fn states(&mut self, state: &[(Var, Atom)]) {
        for (v, start) in state {
            match start {
                Atom::Var(a) if self.is_array(*v) => {
                    self.same.insert(*v, *a);
                    self.out.states.push(*v);
                }
                _ => {}
            }
        }
    }

    /// What a guard compares.
    fn version(&self, guard: &Guard) -> Version {
        let test = |t: &Test| Comparison {
            size: self.scope.int(t.size),
            compare: t.compare,
            threshold: t.threshold.clone(),
            value: t.value,
        };
        Version { any: guard.tests.iter().map(test).collect() }
    }

    /// What the host does by itself: numbers, parts of arrays, copies.
    fn host(&mut self, s: &Stmt, e: &mono::Exp) -> Option<Node> {
        let [v] = s.pat.as_slice() else { return None };
        if !self.is_array(*v) {
            self.scope.bind_scalar(*v, e);
            return None;
        }
        match e {
            mono::Exp::Atom(Atom::Var(a)) => {
                self.cells.insert(*v, (*a, Vec::new()));
                None
            }
            mono::Exp::Index { array, at } => {
                self.cells.insert(*v, (*array, at.clone()));
                None
            }
            mono::Exp::View { view: View::Reshape { .. }, array } => {
                self.same.insert(*v, *array);
                None
            }
            mono::Exp::View { view: View::Append { with }, array } => self.append(s, [*array, *with]),
            mono::Exp::View { view, array } => Some(self.copy(s, view, *array, *v)),
            _ => None,
        }
    }

    fn copy(&mut self, s: &Stmt, view: &View, array: Var, v: Var) -> Node {
        let p = self.scope.p;
        let size = self.scope.product(&p.vars[v].ty.dims);
        let source = self.scope.product(&p.vars[array].ty.dims);
        let (name, elements, exact) = match view {
            View::Reshape { .. } | View::Append { .. } => ("in another form", size, true),
            View::Permute { .. } => ("with its axes in another order", size, true),
            View::Reverse => ("backwards", size, true),
            View::Rotate { .. } => ("rotated", size, true),
            View::Slice { .. } => ("a part of it", size, true),
            View::Wrap { .. } => ("a part of it, wrapping round", size, false),
            View::Cycle { .. } => ("its elements again and again", source.clone(), false),
            View::Replicate { .. } => ("repeated", source.clone(), true),
        };
        let reads = vec![self.read(s, array, elements, exact)];
        self.push(s, What::Copy { view: name }, reads, |_| {})
    }

    fn read(&self, s: &Stmt, array: Var, elements: Formula, exact: bool) -> Read {
        let bytes = self.scope.p.vars[array].ty.base.bits() / 8;
        Read {
            array,
            elements,
            bytes,
            access: Access::Regular,
            exact,
            again: false,
            transposed: None,
            prov: s.prov,
        }
    }

    /// Copies of those of two arrays that are not made in the result, where one follows the other.
    fn append(&mut self, s: &Stmt, arrays: [Var; 2]) -> Option<Node> {
        let is_copied = arrays.map(|v| self.same.get(&v) != s.pat.first());
        let view = match is_copied {
            [true, true] => "with another after it",
            [true, false] => "before another",
            [false, true] => "after another",
            [false, false] => return None,
        };
        let copied = arrays.into_iter().zip(is_copied).filter(|(_, copied)| *copied);
        let mut elements = Formula::zero();
        let mut reads = Vec::new();
        for (v, _) in copied {
            let size = self.scope.product(&self.scope.p.vars[v].ty.dims);
            elements = &elements + &size;
            reads.push(self.read(s, v, size, true));
        }
        let node = self.push(s, What::Copy { view }, reads, |_| {});
        // The rest of the result is written elsewhere.
        if let Some(step) = self.out.steps.last_mut()
            && let Some(w) = step.writes.first_mut()
        {
            step.cost.writes = &elements * &Formula::from(i128::from(w.bytes));
            step.cost.written_elements = elements.clone();
            w.elements = elements;
        }
        Some(node)
    }

    fn seg(&mut self, s: &Stmt, seg: &Seg) -> Node {
        let space: Vec<Formula> = seg.space.iter().map(|a| self.scope.int(a.size)).collect();
        let what = match &seg.kind {
            SegKind::Map => What::Map { space },
            SegKind::Red { axis, op } => What::Reduce {
                space,
                axis: self.scope.int(axis.size),
                ops: op.component_ops(),
                assoc: op.assoc,
            },
            SegKind::Scan { axis, kind, op, known, .. } => What::Scan {
                space,
                axis: self.scope.int(axis.size),
                ops: op.component_ops(),
                assoc: op.assoc,
                kind: *kind,
                known: known.as_ref().map(|k| self.scope.int(k.every)),
            },
        };
        let node = self.step(s, what, |w| {
            let at = w.scope.enter_all(&Count::once(), &seg.space);
            match &seg.kind {
                SegKind::Map => w.body(&seg.body, &at),
                SegKind::Red { axis, op } => w.fold(axis, &seg.body, op, None, &at),
                SegKind::Scan { axis, op, epilogue, known, .. } => {
                    w.fold(axis, &seg.body, op, epilogue.as_ref(), &at);
                    let before: Vec<Atom> =
                        known.iter().flat_map(|k| &k.before).map(|v| Atom::Var(*v)).collect();
                    w.take(&before, &at);
                }
            }
        });
        if seg.kind == SegKind::Map {
            self.transposed(seg);
        }
        node
    }

    /// Marks the arrays of the last step that are transposed for it.
    fn transposed(&mut self, seg: &Seg) {
        let Some((inner, axis)) = reduction(&seg.body) else { return };
        let [.., rows, columns] = &seg.space[..] else { return };
        let sizes = [rows, columns].map(|a| self.scope.int(a.size));
        let few = |(n, least): (&Formula, i64)| n.constant().is_some_and(|n| n < i128::from(least));
        if sizes.iter().zip([ROWS, COLUMNS]).any(few) {
            return;
        }
        for s in &inner.stmts {
            let Some(read) = across(&self.scope.p.vars, &seg.space, axis, &s.exp) else { continue };
            let reads = self.out.steps.last_mut().map(|s| s.reads.iter_mut()).into_iter().flatten();
            reads.filter(|r| r.array == read.array).for_each(|r| r.transposed = Some(sizes.clone()));
        }
    }

    fn scatter(
        &mut self,
        s: &Stmt,
        dests: &[Var],
        axis: &Axis,
        body: &mono::Body,
        combine: Option<&Lambda>,
        now: usize,
    ) -> Node {
        let p = self.scope.p;
        // As the plan does: what is the program's or a loop's own and not mentioned again is written into.
        let moved = |d: &Var| {
            !self.cells.contains_key(d)
                && (!self.same.contains_key(d) || self.out.states.contains(d))
                && !self.params.contains(d)
                && self.last.get(d) == Some(&now)
        };
        let in_place = dests.iter().all(moved);
        let size = self.scope.int(axis.size);
        let what = What::Scatter { axis: size.clone(), combine: combine.is_some(), in_place };
        let node = self.step(s, what, |w| {
            w.scatter(axis, body, combine, &Count::once());
            if !in_place {
                dests.iter().for_each(|d| w.read(*d, &[], &Count::once()));
            }
        });
        // Items are written, not all of the array; a copy of the array is.
        let last = self.out.steps.len() - 1;
        let step = &mut self.out.steps[last];
        let mut bytes = Formula::zero();
        for (w, d) in step.writes.iter_mut().zip(dests) {
            let item = self.scope.product(p.vars[*d].ty.dims.get(1..).unwrap_or_default());
            let items = &item * &size;
            w.elements = if in_place { items } else { &w.elements + &items };
            bytes = &bytes + &(&w.elements * &Formula::from(i128::from(w.bytes)));
            self.operands.push((*d, last));
            if combine.is_some() && in_place {
                // What is combined is read first.
                let elements = &item * &size;
                step.cost.read_elements = &step.cost.read_elements + &elements;
                step.cost.reads = &step.cost.reads + &(&elements * &Formula::from(i128::from(w.bytes)));
                step.cost.reads_at_most = true;
                step.reads.push(Read {
                    array: *d,
                    elements,
                    bytes: w.bytes,
                    access: Access::Gather,
                    exact: false,
                    again: false,
                    transposed: None,
                    prov: s.prov,
                });
            }
        }
        step.cost.writes = bytes;
        step.cost.writes_at_most = true;
        node
    }

    fn step(&mut self, s: &Stmt, what: What, walk: impl FnOnce(&mut Walk<'_, 'p>)) -> Node {
        self.push(s, what, Vec::new(), walk)
    }

    fn push(&mut self, s: &Stmt, what: What, more: Vec<Read>, walk: impl FnOnce(&mut Walk<'_, 'p>)) -> Node {
        let p = self.scope.p;
        let cells = self.cells.clone();
        let mut w = Walk::new(&mut self.scope, cells, s.prov);
        walk(&mut w);
        let found = w.found;
        let mut reads = found.reads(&self.scope);
        reads.extend(more);
        let mut writes: Vec<Write> = Vec::new();
        for v in &s.pat {
            let ty = &p.vars[*v].ty;
            let (array, number) = (self.within(*v), self.out.steps.len());
            let elements = self.scope.product(&ty.dims);
            // Parts of one array are written as one.
            if let Some(w) = writes.iter_mut().find(|w| self.within(w.array) == array) {
                w.elements = &w.elements + &elements;
                continue;
            }
            // A number that a step makes is in memory for a moment too.
            writes.push(Write { array: *v, elements, bytes: ty.base.bits() / 8 });
            if !ty.is_scalar() {
                self.written.push((array, number));
            }
        }
        let mut cost =
            Cost { operations: found.operations, operations_at_most: found.at_most, ..Cost::default() };
        for r in &reads {
            cost.reads = &cost.reads + &(&r.elements * &Formula::from(i128::from(r.bytes)));
            cost.read_elements = &cost.read_elements + &r.elements;
            cost.reads_at_most |= !r.exact;
        }
        for w in &writes {
            cost.writes = &cost.writes + &(&w.elements * &Formula::from(i128::from(w.bytes)));
            cost.written_elements = &cost.written_elements + &w.elements;
        }
        let depth = &Formula::one() + &found.depth;
        let o = &cost.operations;
        let formulas = [&cost.reads, &cost.writes, &o.float, &o.other];
        for symbol in formulas.into_iter().flat_map(|f| f.symbols()) {
            let Symbol::Value(v) = symbol else { continue };
            if self.params.contains(&v) {
                continue;
            }
            self.out.computed.entry(v).or_insert(s.prov);
            if self.rounds > 0 && !self.fixed.contains(&v) && !self.out.varying.contains(&v) {
                self.out.varying.push(v);
            }
        }
        let mut fused = vec![s.prov];
        fused.extend(found.provs);
        let number = self.out.steps.len();
        self.out.steps.push(Step {
            what,
            prov: s.prov,
            fused,
            inner: found.inner,
            depth,
            reads,
            writes,
            cost,
        });
        self.paths.push(self.path.clone());
        Node::Step(number)
    }

    // ---- arrays ----

    /// The array in whose memory another is made.
    fn within(&self, v: Var) -> Var {
        std::iter::successors(Some(v), |v| self.same.get(v).copied()).last().unwrap_or(v)
    }

    /// The name that an array has where it is used last, outside of branches and loops.
    fn outermost(&self, v: Var) -> Var {
        let mut v = v;
        let mut left = self.up.len();
        while let Some(u) = self.up.get(&v) {
            v = *u;
            if left == 0 {
                break;
            }
            left -= 1;
        }
        v
    }

    /// The array that another is a part or an arrangement of, by its outermost name.
    fn origin(&self, v: Var) -> Var {
        let mut v = self.outermost(v);
        while let Some(of) = self.cells.get(&v).map(|c| &c.0).or(self.same.get(&v)) {
            v = self.outermost(*of);
        }
        v
    }

    fn arrays(&mut self, results: &[Atom]) {
        let results: FxHashSet<Var> =
            results.iter().filter_map(|a| a.as_var()).map(|v| self.origin(v)).collect();
        let mut made: Vec<Made> = Vec::new();
        for (v, step) in &self.written {
            let array = self.outermost(*v);
            match made.iter_mut().find(|m| m.array == array) {
                Some(m) => m.steps.push(*step),
                None => made.push(Made {
                    array,
                    steps: vec![*step],
                    elements: self.scope.product(&self.scope.p.vars[array].ty.dims),
                    bytes: self.scope.p.vars[array].ty.base.bits() / 8,
                    readers: Vec::new(),
                    why: Vec::new(),
                }),
            }
        }
        let mut readers: FxHashMap<Var, Vec<(usize, Read)>> = FxHashMap::default();
        for (k, step) in self.out.steps.iter().enumerate() {
            for r in &step.reads {
                readers.entry(self.origin(r.array)).or_default().push((k, r.clone()));
            }
        }
        for m in &mut made {
            if results.contains(&m.array) {
                m.why.push(Why::Result);
            }
            for (v, prov) in &self.carried {
                let why = Why::Carried(*prov);
                if self.origin(*v) == m.array && !m.why.contains(&why) {
                    m.why.push(why);
                }
            }
            let read = readers.get(&m.array).map(Vec::as_slice).unwrap_or_default();
            m.readers = read.iter().map(|(k, _)| *k).collect();
            m.readers.dedup();
            let places: FxHashSet<usize> = m.readers.iter().copied().collect();
            if self.many(&places) {
                m.why.push(Why::ManyReaders);
            }
            if m.why.is_empty() {
                let into = self.operands.iter().find(|(v, _)| self.origin(*v) == m.array);
                m.why.extend(into.map(|(_, k)| Why::Operand(*k)));
            }
            if m.why.is_empty() {
                m.why.extend(read.first().map(|(k, r)| self.reason(m, *k, r)));
            }
        }
        self.out.arrays = made;
    }

    /// Whether several steps read an array, not counting versions of one.
    fn many(&self, steps: &FxHashSet<usize>) -> bool {
        let version = |k: &usize| self.paths[*k].first().copied().map_or((true, *k), |b| (false, b));
        let mut nests: Vec<_> = steps.iter().map(version).collect();
        nests.sort();
        nests.dedup();
        // The two branches of one are numbered one after the other, if there is no branch inside.
        nests.len() > 2 || nests.len() == 2 && (nests.iter().any(|n| n.0) || nests[0].1 + 1 != nests[1].1)
    }

    fn reason(&self, m: &Made, reader: usize, read: &Read) -> Why {
        if let Some(maker) = m.steps.first() {
            match &self.out.steps[reader].what {
                What::Scatter { .. } | What::Sort { .. } | What::Copy { .. } => return Why::Operand(reader),
                _ => {}
            }
            if read.access != Access::Regular {
                return Why::Computed(reader, read.access);
            }
            if read.again {
                return Why::Again(reader);
            }
            if !matches!(self.out.steps[*maker].what, What::Map { .. }) {
                return Why::Complete(reader);
            }
            if self.paths[*maker] != self.paths[reader] {
                return Why::Versions(reader);
            }
        }
        Why::Apart(reader)
    }
}

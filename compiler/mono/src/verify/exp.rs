//! The rule of each kind of expression: its operands, its bodies, and what it gives to its pattern.

use super::{Result, Rule, Verifier};
use crate::ir::*;
use remc_base::{BaseTy, Scalar};

impl Verifier<'_> {
    /// An expression, and the variables that will be bound to what it gives.
    pub(super) fn exp(&mut self, e: &Exp, pat: &[Var]) -> Result {
        match e {
            Exp::If { .. } | Exp::For { .. } | Exp::While { .. } => self.control(e, pat),
            Exp::Map { .. } | Exp::Filter { .. } | Exp::Grade { .. } | Exp::Join { .. } => {
                self.iteration(e, pat)
            }
            Exp::Reduce { .. } | Exp::Scan { .. } => self.combination(e, pat),
            Exp::Scatter { dests, axis, body, combine } => {
                self.scatter(dests, axis, body, combine.as_ref(), pat)
            }
            Exp::View { view, array } => self.view(view, *array, pat),
            _ => self.simple(e, pat),
        }
    }

    /// The pattern binds one variable for each type, of that type.
    fn gives(&self, rule: Rule, pat: &[Var], types: &[Ty]) -> Result {
        self.count(rule, "variables bound", pat.len(), types.len())?;
        for (v, ty) in pat.iter().zip(types) {
            self.agree(rule, "what is bound", self.declared(*v)?, ty)?;
        }
        Ok(())
    }

    fn axis(&mut self, axis: &Axis) -> Result {
        self.size(Rule::Axis, axis.size)?;
        self.agree(Rule::Axis, "an index variable", self.declared(axis.var)?, &Ty::int())
    }

    /// The types that the body gives inside of the axes.
    fn elements(&mut self, axes: &[Axis], body: &Body) -> Result<Vec<Ty>> {
        for a in axes {
            self.axis(a)?;
        }
        self.scoped(|v| {
            axes.iter().try_for_each(|a| v.enter(a.var))?;
            v.body(body)
        })
    }

    /// The dim that a size makes, `n` more.
    fn more(size: Atom, n: i64) -> Option<Atom> {
        size.as_int().and_then(|s| s.checked_add(n)).map(Atom::int)
    }

    fn simple(&mut self, e: &Exp, pat: &[Var]) -> Result {
        match e {
            Exp::Atom(a) => self.gives(Rule::Atom, pat, &[self.atom(*a)?]),
            Exp::Op(op, args) => {
                let mut types = Vec::with_capacity(args.len());
                for a in args {
                    types.push(self.scalar(Rule::Op, "an operand", &self.atom(*a)?)?);
                }
                match op.result_ty(&types) {
                    Some(ty) => self.gives(Rule::Op, pat, &[Ty::scalar(ty)]),
                    None => {
                        let types: Vec<_> = types.into_iter().map(BaseTy::name).collect();
                        self.broken(Rule::Op, format!("`{op}` of ({})", types.join(" ")))
                    }
                }
            }
            Exp::Cast(ty, a) => {
                self.scalar(Rule::Cast, "the operand", &self.atom(*a)?)?;
                self.gives(Rule::Cast, pat, &[Ty::scalar(*ty)])
            }
            Exp::Literal { dims, elems } => self.literal(dims, elems, pat),
            Exp::Index { array, at } => {
                let ty = self.var(*array)?;
                if at.len() > ty.rank() {
                    return self.broken(Rule::Index, "there are more indices than axes");
                }
                self.ints(Rule::Index, at)?;
                self.gives(Rule::Index, pat, &[ty.cell(at.len())])
            }
            Exp::Check { trap, cond, values } => {
                let rule = Rule::Check;
                self.count(rule, "variables bound", pat.len(), 0)?;
                self.agree(rule, "the condition", &self.atom(*cond)?, &Ty::scalar(BaseTy::Bool))?;
                self.count(rule, "values", values.len(), trap.values())?;
                for a in values {
                    self.scalar(rule, "a value", &self.atom(*a)?)?;
                }
                Ok(())
            }
            Exp::Pull { channel, at, take } => {
                let rule = Rule::Pull;
                self.ints(rule, &[*at])?;
                self.ints(rule, take.operand().as_slice())?;
                let arrays = self.channel(rule, *channel)?;
                let counts = arrays.iter().filter(|a| a.starts.is_some()).count();
                self.count(rule, "variables bound", pat.len(), arrays.len() + counts + 1)?;
                let Some(count) = pat.first().copied() else { return Ok(()) };
                self.agree(rule, "the number of items", self.declared(count)?, &Ty::int())?;
                let count = Atom::Var(count);
                let mut rest = pat[1..].iter().copied();
                for a in arrays {
                    let own = match a.starts {
                        Some(_) => rest.next(),
                        None => None,
                    };
                    if let Some(n) = own {
                        self.agree(rule, "the number of elements", self.declared(n)?, &Ty::int())?;
                    }
                    let Some(v) = rest.next() else { return Ok(()) };
                    self.items(rule, self.declared(v)?, a, own.map_or(count, Atom::Var))?;
                }
                Ok(())
            }
            Exp::Push { channel, arrays } => {
                let rule = Rule::Push;
                self.count(rule, "variables bound", pat.len(), 0)?;
                let types = self.channel(rule, *channel)?;
                self.count(rule, "arrays", arrays.len(), types.len())?;
                let first = arrays.iter().find_map(|v| self.p.vars.get(*v)?.ty.dims.first().copied());
                let Some(count) = first else { return Ok(()) };
                arrays.iter().zip(types).try_for_each(|(v, a)| self.items(rule, self.var(*v)?, a, count))
            }
            _ => Ok(()),
        }
    }

    fn channel(&self, rule: Rule, k: usize) -> Result<Vec<ChannelArray>> {
        match self.p.channels.get(k) {
            Some(c) => Ok(c.arrays.clone()),
            None => self.broken(rule, format!("there is no channel {k}")),
        }
    }

    /// An array of a channel's items.
    fn items(&self, rule: Rule, ty: &Ty, a: ChannelArray, count: Atom) -> Result {
        match ty.dims.split_first() {
            Some((n, item)) if ty.base == a.base && item.len() == a.rank && *n == count => Ok(()),
            _ => self.broken(rule, "an array that is not of the channel's items"),
        }
    }

    fn literal(&self, dims: &[Atom], elems: &[Atom], pat: &[Var]) -> Result {
        let rule = Rule::Literal;
        dims.iter().try_for_each(|d| self.size(rule, *d))?;
        let [v] = pat else { return self.broken(rule, "a literal is one array") };
        let declared = self.declared(*v)?;
        for a in elems {
            self.agree(rule, "an element", &self.atom(*a)?, &Ty::scalar(declared.base))?;
        }
        let want: Option<usize> = elements(dims);
        if let Some(want) = want {
            self.count(rule, "elements", elems.len(), want)?;
        }
        self.gives(rule, pat, &[Ty { base: declared.base, dims: dims.to_vec() }])
    }

    fn control(&mut self, e: &Exp, pat: &[Var]) -> Result {
        match e {
            Exp::If { cond, then, otherwise } => {
                let rule = Rule::If;
                self.agree(rule, "the condition", &self.atom(*cond)?, &Ty::scalar(BaseTy::Bool))?;
                let (known, unreachable) = (self.value(*cond), self.unreachable);
                for (branch, taken) in [(then, true), (otherwise, false)] {
                    self.unreachable = unreachable || known == Some(Scalar::Bool(!taken));
                    let types = self.body(branch)?;
                    self.gives(rule, pat, &types)?;
                }
                self.unreachable = unreachable;
                Ok(())
            }
            Exp::For { axis, state, body } => {
                let rule = Rule::For;
                self.axis(axis)?;
                self.start_of(rule, state)?;
                let next = self.scoped(|v| {
                    v.enter(axis.var)?;
                    v.bind_together(state.iter().map(|s| s.0))?;
                    v.body(body)
                })?;
                self.state(rule, state, &next, pat)
            }
            Exp::While { state, cond, body } => {
                let rule = Rule::While;
                self.start_of(rule, state)?;
                let next = self.scoped(|v| {
                    v.bind_together(state.iter().map(|s| s.0))?;
                    let types = v.body(cond)?;
                    v.agree_all(rule, "the condition", &types, &[Ty::scalar(BaseTy::Bool)])?;
                    v.body(body)
                })?;
                self.state(rule, state, &next, pat)
            }
            _ => Ok(()),
        }
    }

    fn start_of(&self, rule: Rule, state: &[(Var, Atom)]) -> Result {
        for (v, a) in state {
            self.agree(rule, "a first state", &self.atom(*a)?, self.declared(*v)?)?;
        }
        Ok(())
    }

    fn state(&self, rule: Rule, state: &[(Var, Atom)], next: &[Ty], pat: &[Var]) -> Result {
        let types: Vec<_> = state.iter().map(|s| Ok(self.declared(s.0)?.clone())).collect::<Result<_>>()?;
        self.agree_all(rule, "next state", next, &types)?;
        self.gives(rule, pat, &types)
    }

    fn iteration(&mut self, e: &Exp, pat: &[Var]) -> Result {
        match e {
            Exp::Map { axes, body } => {
                let sizes: Vec<_> = axes.iter().map(|a| a.size).collect();
                let types: Vec<_> = self.elements(axes, body)?.iter().map(|t| t.over(&sizes)).collect();
                self.gives(Rule::Map, pat, &types)
            }
            Exp::Filter { axis, body } => {
                let rule = Rule::Filter;
                let types = self.elements(&[*axis], body)?;
                let (Some((keep, values)), Some((count, arrays))) = (types.split_first(), pat.split_first())
                else {
                    return self.broken(rule, "a filter says what to keep, and gives the number");
                };
                self.agree(rule, "whether to keep", keep, &Ty::scalar(BaseTy::Bool))?;
                let kept = Atom::Var(*count);
                let wanted: Vec<_> = values.iter().map(|t| t.over(&[kept])).collect();
                self.gives(rule, &[*count], &[Ty::int()])?;
                self.gives(rule, arrays, &wanted)?;
                for v in arrays {
                    if self.declared(*v)?.dims.first() != Some(&kept) {
                        return self.broken(rule, "the first dim of what is kept is not the number kept");
                    }
                }
                Ok(())
            }
            Exp::Grade { axis, body, gives } => {
                let rule = Rule::Grade;
                let keys = self.elements(&[*axis], body)?;
                let item = match (gives, &keys[..]) {
                    (_, []) => return self.broken(rule, "there are no keys to compare"),
                    (Gives::Places, _) => Ty::int(),
                    (Gives::Keys, [key]) if key.is_scalar() => key.clone(),
                    (Gives::Keys, _) => {
                        return self.broken(rule, "what is sorted has other keys than one scalar");
                    }
                };
                self.gives(rule, pat, &[item.over(&[axis.size])])
            }
            Exp::Join { axis, regular, body } => self.join(axis, *regular, body, pat),
            _ => Ok(()),
        }
    }

    #[inline(never)]
    fn join(&mut self, axis: &Axis, regular: usize, body: &Body, pat: &[Var]) -> Result {
        let rule = Rule::Join;
        let types = self.elements(&[*axis], body)?;
        let Some((maps, joined)) = types.split_at_checked(regular) else {
            return self.broken(rule, "more results are regular than there are");
        };
        self.count(rule, "variables bound", pat.len(), maps.len() + 3 * joined.len())?;
        let (arrays, parts) = pat.split_at(maps.len());
        let maps: Vec<_> = maps.iter().map(|t| t.over(&[axis.size])).collect();
        self.gives(rule, arrays, &maps)?;
        for (part, ty) in parts.chunks(3).zip(joined) {
            if ty.is_scalar() {
                return self.broken(rule, "what is joined is no array");
            }
            let total = Atom::Var(part[0]);
            let data = Ty { base: ty.base, dims: vec![total] };
            self.gives(rule, part, &[Ty::int(), Ty::int().over(&[axis.size]), data])?;
            if self.declared(part[2])?.dims != [total] {
                return self.broken(rule, "the dim of what is joined is not its number of elements");
            }
        }
        Ok(())
    }

    /// The types of what λ gives.
    fn lambda(&mut self, lambda: &Lambda, args: &[Ty]) -> Result<Vec<Ty>> {
        let mut params = Vec::with_capacity(args.len());
        for v in &lambda.params {
            params.push(self.declared(*v)?.clone());
        }
        self.agree_all(Rule::Lambda, "parameter", &params, args)?;
        self.scoped(|v| {
            lambda.params.iter().try_for_each(|p| v.bind(*p))?;
            v.body(&lambda.body)
        })
    }

    fn combination(&mut self, e: &Exp, pat: &[Var]) -> Result {
        let (rule, axis, body, op) = match e {
            Exp::Reduce { axis, body, op } => (Rule::Reduce, axis, body, op),
            Exp::Scan { axis, body, op, .. } => (Rule::Scan, axis, body, op),
            _ => return Ok(()),
        };
        let elements = self.elements(&[*axis], body)?;
        let needs_start =
            !op.assoc || matches!(e, Exp::Scan { kind: ScanKind::Exclusive | ScanKind::Full, .. });
        if op.start.is_none() && needs_start {
            return self.broken(Rule::Start, "there is nothing to start with");
        }
        // The λ's first parameters say what the accumulators are.
        let accumulators = match op.lambda.params.len().checked_sub(elements.len()) {
            Some(n) => &op.lambda.params[..n],
            None => return self.broken(Rule::Lambda, "the operator has too few parameters"),
        };
        let accumulators: Vec<_> =
            accumulators.iter().map(|v| Ok(self.declared(*v)?.clone())).collect::<Result<_>>()?;
        if op.assoc {
            self.agree_all(Rule::Accumulator, "accumulator", &accumulators, &elements)?;
        }
        if let Some(start) = &op.start {
            self.agree_all(Rule::Start, "start", &self.atoms(start)?, &accumulators)?;
        }
        let args: Vec<_> = accumulators.iter().chain(&elements).cloned().collect();
        let next = self.lambda(&op.lambda, &args)?;
        self.agree_all(Rule::Lambda, "result of the operator", &next, &accumulators)?;
        let Exp::Scan { kind, .. } = e else {
            return self.gives(rule, pat, &accumulators);
        };
        let n = match (kind, pat) {
            (ScanKind::Full, [v, ..]) => match Self::more(axis.size, 1) {
                Some(n) => n,
                // One more than a variable: nothing to compare.
                None => self.declared(*v)?.dims.first().copied().unwrap_or(axis.size),
            },
            _ => axis.size,
        };
        let wanted: Vec<_> = accumulators.iter().map(|t| t.over(&[n])).collect();
        self.gives(rule, pat, &wanted)
    }

    fn scatter(
        &mut self,
        dests: &[Var],
        axis: &Axis,
        body: &Body,
        combine: Option<&Lambda>,
        pat: &[Var],
    ) -> Result {
        let rule = Rule::Scatter;
        let mut types = Vec::with_capacity(dests.len());
        for d in dests {
            types.push(self.var(*d)?.clone());
        }
        if types.iter().any(Ty::is_scalar) {
            return self.broken(rule, "a scalar has no items to write");
        }
        let items: Vec<_> = types.iter().map(|t| t.cell(1)).collect();
        let given = self.elements(&[*axis], body)?;
        let Some((at, values)) = given.split_first() else {
            return self.broken(rule, "the body gives no index");
        };
        self.agree(rule, "an index", at, &Ty::int())?;
        self.agree_all(rule, "value", values, &items)?;
        if let Some(lambda) = combine {
            let args: Vec<_> = items.iter().chain(&items).cloned().collect();
            let combined = self.lambda(lambda, &args)?;
            self.agree_all(Rule::Lambda, "combined value", &combined, &items)?;
        }
        self.gives(rule, pat, &types)
    }

    fn view(&self, view: &View, array: Var, pat: &[Var]) -> Result {
        let ty = self.var(array)?;
        let arrangement = |dims: Vec<Atom>| Ty { base: ty.base, dims };
        let sizes = |rule, dims: &[Atom]| dims.iter().try_for_each(|d| self.size(rule, *d));
        let at_most = |rule, axes: usize| match axes > ty.rank() {
            true => self.broken(rule, format!("{axes} axes of an array that has {}", ty.rank())),
            false => Ok(()),
        };
        match view {
            View::Reshape { dims } => {
                sizes(Rule::Reshape, dims)?;
                if let (Some(from), Some(to)) = (elements(&ty.dims), elements(dims))
                    && !self.unreachable
                {
                    self.count(Rule::Reshape, "elements", from, to)?;
                }
                self.gives(Rule::Reshape, pat, &[arrangement(dims.clone())])
            }
            View::Permute { perm } => {
                let mut axes = perm.clone();
                axes.sort_unstable();
                if !axes.into_iter().eq(0..ty.rank()) {
                    return self.broken(Rule::Permute, "this is no permutation of the axes");
                }
                let dims = perm.iter().map(|k| ty.dims[*k]).collect();
                self.gives(Rule::Permute, pat, &[arrangement(dims)])
            }
            View::Reverse => {
                at_most(Rule::Reverse, 1)?;
                self.gives(Rule::Reverse, pat, std::slice::from_ref(ty))
            }
            View::Rotate { amounts } => {
                at_most(Rule::Rotate, amounts.len())?;
                self.ints(Rule::Rotate, amounts)?;
                self.gives(Rule::Rotate, pat, std::slice::from_ref(ty))
            }
            View::Append { with } => self.append(ty, self.var(*with)?, pat),
            View::Slice { start, dims } | View::Wrap { start, dims } => {
                let rule = if matches!(view, View::Slice { .. }) { Rule::Slice } else { Rule::Wrap };
                at_most(rule, dims.len())?;
                self.count(rule, "axes where it starts", start.len(), dims.len())?;
                self.ints(rule, start)?;
                sizes(rule, dims)?;
                self.gives(rule, pat, &[ty.cell(dims.len()).over(dims)])
            }
            View::Cycle { dims } => {
                sizes(Rule::Cycle, dims)?;
                self.gives(Rule::Cycle, pat, &[arrangement(dims.clone())])
            }
            View::Replicate { dims } => {
                sizes(Rule::Replicate, dims)?;
                self.gives(Rule::Replicate, pat, &[ty.over(dims)])
            }
        }
    }

    fn append(&self, first: &Ty, second: &Ty, pat: &[Var]) -> Result {
        let rule = Rule::Append;
        let ([m, ..], [n, ..], [v]) = (&first.dims[..], &second.dims[..], pat) else {
            return self.broken(rule, "two arrays with items make one");
        };
        self.agree(rule, "an item", &second.cell(1), &first.cell(1))?;
        let sum = n.as_int().and_then(|n| Self::more(*m, n));
        // A sum with a variable: nothing to compare.
        let sum = sum.or(self.declared(*v)?.dims.first().copied()).unwrap_or(*m);
        self.gives(rule, pat, &[first.cell(1).over(&[sum])])
    }
}

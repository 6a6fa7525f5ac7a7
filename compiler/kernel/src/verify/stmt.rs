//! Statements: operands and types, and what only a kernel or only the plan has.

use super::{Result, Rule, Verifier};
use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::{OpError, cast, zero};

impl<'p> Verifier<'p> {
    /// The statements of a block; what they bind stays in scope.
    pub(super) fn block(&mut self, block: &'p [Stmt]) -> Result {
        self.depth += 1;
        for s in block {
            self.prov = Some(s.prov);
            let known = self.p.provs.contains(s.prov);
            self.ensure(known, Rule::Provenance, || format!("there is no place {:?}", s.prov))?;
            self.stmt(s)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn stmt(&mut self, s: &'p Stmt) -> Result {
        let in_kernel = self.kernel.is_some();
        let host = matches!(
            s.kind,
            StmtKind::Free { .. }
                | StmtKind::Alias { .. }
                | StmtKind::Slice { .. }
                | StmtKind::Launch { .. }
                | StmtKind::Sort { .. }
                | StmtKind::Pull { .. }
                | StmtKind::Push { .. }
                | StmtKind::Let { exp: Exp::Workers | Exp::Test(_), .. }
        );
        self.ensure(!(in_kernel && host), Rule::Host, || "this is the plan's alone".to_owned())?;
        match &s.kind {
            StmtKind::Let { var, exp } => self.let_(*var, exp),
            StmtKind::Store { buffer, at, value } => {
                let ty = self.buffer(*buffer, Rule::Store)?;
                self.indices(*buffer, ty, at)?;
                self.of_type(*value, ty.base, Rule::Store)
            }
            StmtKind::Update { op, buffer, at, value } => {
                let ty = self.buffer(*buffer, Rule::Update)?;
                self.indices(*buffer, ty, at)?;
                self.of_type(*value, ty.base, Rule::Update)?;
                let base = ty.base;
                self.together()?;
                self.ensure(updates(*op, base), Rule::Update, || {
                    format!(
                        "{} has to be updated in order: it is `{op}` of {base}",
                        self.text(Atom::Var(*buffer))
                    )
                })
            }
            StmtKind::For { how, var, range, carried, body, next } => {
                self.loop_form(*how, range, carried)?;
                self.inits(carried)?;
                let mark = self.scope.len();
                self.bind_int(*var, Rule::Range)?;
                self.params(carried)?;
                self.block(body)?;
                self.prov = Some(s.prov);
                self.nexts(carried, next)?;
                self.leave(mark);
                match how {
                    How::Lanes(_) => self.lanes(*var, carried, body, next)?,
                    How::Scan(_) => self.scan(*var, carried, body, next)?,
                    How::Seq | How::Jam(_) => {}
                }
                self.results(carried)
            }
            StmtKind::While { carried, cond, test, body, next } => {
                self.inits(carried)?;
                let mark = self.scope.len();
                self.params(carried)?;
                let inner = self.scope.len();
                self.block(cond)?;
                self.prov = Some(s.prov);
                self.of_type(*test, BaseTy::Bool, Rule::Condition)?;
                self.leave(inner);
                self.block(body)?;
                self.prov = Some(s.prov);
                self.nexts(carried, next)?;
                self.leave(mark);
                self.results(carried)
            }
            StmtKind::If { cond, then, otherwise, results } => {
                self.of_type(*cond, BaseTy::Bool, Rule::Condition)?;
                let mark = self.scope.len();
                self.block(then)?;
                self.prov = Some(s.prov);
                for c in results {
                    self.like(c.var, c.then, Rule::Choice)?;
                }
                self.leave(mark);
                self.block(otherwise)?;
                self.prov = Some(s.prov);
                for c in results {
                    self.like(c.var, c.otherwise, Rule::Choice)?;
                }
                self.leave(mark);
                let vars: Vec<Var> = results.iter().map(|c| c.var).collect();
                self.bind_all(&vars)?;
                self.scalars_in_kernels(&vars)
            }
            StmtKind::Chain { state, at, links, body, next } => {
                self.chain(*state, at, links)?;
                let befores: Vec<Var> = links.iter().map(|l| l.before).collect();
                let items: Vec<Var> = links.iter().map(|l| l.x).collect();
                self.bind_all(&befores)?;
                let mark = self.scope.len();
                self.bind_all(&items)?;
                self.block(body)?;
                self.prov = Some(s.prov);
                let (found, want) = (next.len(), links.len());
                self.ensure(found == want, Rule::Chain, || format!("{found} next values of {want}"))?;
                links.iter().zip(next).try_for_each(|(l, a)| self.like(l.before, *a, Rule::Chain))?;
                self.leave(mark);
                Ok(())
            }
            StmtKind::Points { vars, index, dims } => {
                self.of_type(*index, BaseTy::I64, Rule::Points)?;
                dims.iter().try_for_each(|d| self.of_type(*d, BaseTy::I64, Rule::Points))?;
                let (found, want) = (vars.len(), dims.len());
                self.ensure(found == want, Rule::Points, || format!("{found} indices of {want} dims"))?;
                vars.iter().try_for_each(|v| self.bind_int(*v, Rule::Points))
            }
            StmtKind::Barrier => self.together(),
            StmtKind::Collective { scan, count, joined, body, next } => {
                self.together()?;
                self.of_type(*count, BaseTy::I64, Rule::Collective)?;
                for j in joined {
                    self.like(j.x, j.item, Rule::Collective)?;
                    self.like(j.y, j.item, Rule::Collective)?;
                    self.like(j.total, j.item, Rule::Collective)?;
                    j.before.map_or(Ok(()), |v| self.like(v, j.item, Rule::Collective))?;
                    self.ensure(j.before.is_some() == *scan, Rule::Collective, || {
                        format!("{} is no {}", self.text(j.item), if *scan { "scan" } else { "reduction" })
                    })?;
                }
                let mark = self.scope.len();
                let operands: Vec<Var> = joined.iter().flat_map(|j| [j.x, j.y]).collect();
                self.bind_all(&operands)?;
                self.block(body)?;
                self.prov = Some(s.prov);
                let (found, want) = (next.len(), joined.len());
                self.ensure(found == want, Rule::Collective, || format!("{found} results of {want} items"))?;
                joined.iter().zip(next).try_for_each(|(j, a)| self.like(j.x, *a, Rule::Collective))?;
                self.leave(mark);
                let results: Vec<Var> =
                    joined.iter().flat_map(|j| j.before.into_iter().chain([j.total])).collect();
                self.bind_all(&results)?;
                self.scalars_in_kernels(&results)
            }
            StmtKind::Check { trap, cond, values } => {
                self.of_type(*cond, BaseTy::Bool, Rule::Check)?;
                for a in values {
                    self.scalar(*a, Rule::Check)?;
                }
                let (found, want) = (values.len(), trap.values());
                self.ensure(found == want, Rule::Check, || format!("{found} values, not {want}"))
            }
            StmtKind::Alloc { buffer } => {
                self.bind(*buffer)?;
                let ty = self.buffer(*buffer, Rule::Alloc)?;
                let private = matches!(ty.space, Space::Private | Space::Shared);
                if !in_kernel {
                    return self.ensure(!private, Rule::Alloc, || {
                        format!("{} is {}", self.name(*buffer), ty.space.name())
                    });
                }
                if ty.space == Space::Shared {
                    let of_block = self.threads().is_some() && self.depth == 1;
                    self.ensure(of_block, Rule::Shared, || {
                        format!("{} is not made for the threads of a block", self.name(*buffer))
                    })?;
                }
                let constant = ty.dims.iter().all(|d| d.as_int().is_some());
                self.ensure(private && constant, Rule::KernelAlloc, || {
                    format!("{} is not private and of constant dims", self.name(*buffer))
                })
            }
            StmtKind::Free { buffer } => self.buffer(*buffer, Rule::Free).map(|_| ()),
            StmtKind::Alias { buffer, of } => {
                let from = self.buffer(*of, Rule::Alias)?;
                self.bind(*buffer)?;
                let to = self.buffer(*buffer, Rule::Alias)?;
                self.ensure((to.base, to.space) == (from.base, from.space), Rule::Alias, || {
                    format!("{} is not of the base type and space of {}", self.name(*buffer), self.name(*of))
                })
            }
            StmtKind::Slice { buffer, of, first } => self.slice(*buffer, *of, *first),
            StmtKind::Launch { kernel, args } => self.launch(*kernel, args),
            StmtKind::Sort { keys, out, gives, at } => {
                for a in at {
                    let ty = self.scalar(*a, Rule::Sort)?;
                    let some = ty == BaseTy::I64 && *gives == Gives::Keys;
                    self.ensure(some, Rule::Sort, || "places that nobody can want alone".to_owned())?;
                }
                self.sort(keys, *out, *gives)
            }
            StmtKind::Pull { channel, at, take, count, elements, buffers } => {
                self.of_type(*at, BaseTy::I64, Rule::Channel)?;
                take.operand().map_or(Ok(()), |n| self.of_type(n, BaseTy::I64, Rule::Channel))?;
                self.bind(*count)?;
                self.of_type((*count).into(), BaseTy::I64, Rule::Channel)?;
                for n in elements {
                    self.bind(*n)?;
                    self.of_type((*n).into(), BaseTy::I64, Rule::Channel)?;
                }
                buffers.iter().try_for_each(|b| self.bind(*b))?;
                self.items(*channel, buffers, Some((*count, elements)))
            }
            StmtKind::Push { channel, buffers } => self.items(*channel, buffers, None),
        }
    }

    /// That buffers are of a channel's items, as many in each.
    fn items(&self, channel: usize, buffers: &[Var], pulled: Option<(Var, &[Var])>) -> Result {
        let Some(c) = self.p.channels.get(channel) else {
            return self.broken(Rule::Channel, format!("there is no channel {channel}"));
        };
        self.ensure(c.arrays.len() == buffers.len(), Rule::Channel, || {
            format!("{} buffers for a channel of {} arrays", buffers.len(), c.arrays.len())
        })?;
        let mut elements = pulled.map(|(_, all)| all.iter());
        for (b, a) in buffers.iter().zip(&c.arrays) {
            let ty = self.buffer(*b, Rule::Channel)?;
            let own = a.starts.and_then(|_| elements.as_mut()?.next()).copied();
            let count = own.or(pulled.map(|(n, _)| n));
            let many = count.is_none_or(|n| ty.dims.first() == Some(&n.into()));
            let fits = (ty.base, ty.dims.len(), ty.space) == (a.base, a.rank + 1, Space::Global);
            self.ensure(fits && many, Rule::Channel, || {
                format!("{} is not of the channel's items", self.name(*b))
            })?;
        }
        Ok(())
    }

    /// The threads of a block of the kernel at hand.
    fn threads(&self) -> Option<(Var, u32)> {
        self.p.kernels.get(self.kernel?)?.threads
    }

    /// What threads do together needs some.
    fn together(&self) -> Result {
        self.ensure(self.threads().is_some(), Rule::Threads, || {
            "a kernel whose blocks have no threads".to_owned()
        })
    }

    /// What a chain is made of but for its operator.
    fn chain(&self, state: Var, at: &[Atom], links: &[Link]) -> Result {
        let Some(kernel) = self.kernel.and_then(|k| self.p.kernels.get(k)).filter(|_| self.depth == 1) else {
            return self.broken(Rule::Chain, "a chain inside of a statement, or in the plan");
        };
        let grid: Vec<Atom> = kernel.grid.iter().map(|(v, _)| Atom::Var(*v)).collect();
        self.ensure(!grid.is_empty() && grid == at, Rule::Chain, || {
            "the indices are not the variables of the grid".to_owned()
        })?;
        let memory = |v: Var, base: Option<BaseTy>| {
            let ty = self.buffer(v, Rule::Chain)?;
            let fits = Some(ty.base) == base && ty.space == Space::Global && ty.dims.len() == at.len();
            self.ensure(fits, Rule::Chain, || {
                format!("{} has no place for a value of each block", self.name(v))
            })
        };
        memory(state, Some(BaseTy::I64))?;
        for l in links {
            for a in [l.init, l.item] {
                self.like(l.before, a, Rule::Chain)?;
                self.like(l.x, a, Rule::Chain)?;
            }
            for v in l.memory() {
                memory(v, self.p.scalar_ty(Atom::Var(l.before)))?;
            }
        }
        let looking = links.iter().filter(|l| l.own.is_some()).count();
        self.ensure(looking == 0 || looking == links.len(), Rule::Chain, || {
            "some links have items, not all".into()
        })?;
        self.ensure(looking == 0 || kernel.threads.is_some(), Rule::Chain, || "no threads look back".into())?;
        Ok(())
    }

    // ---- scalars ----

    fn let_(&mut self, var: Var, exp: &'p Exp) -> Result {
        let ty = match exp {
            Exp::Atom(a) => self.scalar(*a, Rule::Let)?,
            Exp::Op(op, args) => {
                let tys = args.iter().map(|a| self.scalar(*a, Rule::Op)).collect::<Result<Vec<_>>>()?;
                match op.result_ty(&tys) {
                    Some(ty) => ty,
                    None => return self.broken(Rule::Op, format!("operands of `{op}` of types {tys:?}")),
                }
            }
            Exp::Cast(to, a) => {
                let from = self.scalar(*a, Rule::Cast)?;
                let exists = cast(zero(from), *to) != Err(OpError::WrongOperands);
                self.ensure(exists, Rule::Cast, || format!("no `{from}` is a `{to}`"))?;
                *to
            }
            Exp::Bits(a) => {
                let from = self.scalar(*a, Rule::Cast)?;
                match bits_of(from) {
                    Some(bits) => bits,
                    None => {
                        return self.broken(Rule::Cast, format!("the bits of a `{from}`, which is no float"));
                    }
                }
            }
            Exp::Load { buffer, at } => {
                let ty = self.buffer(*buffer, Rule::Load)?;
                self.indices(*buffer, ty, at)?;
                ty.base
            }
            Exp::Workers => BaseTy::I64,
            Exp::Test(t) => {
                self.of_type(t.size, BaseTy::I64, Rule::Op)?;
                self.ensure(t.value >= 0, Rule::Op, || format!("no size is below {}", t.value))?;
                BaseTy::Bool
            }
        };
        self.bind(var)?;
        // What the type should be is said by the rule of the expression, where it has one.
        let rule = match exp {
            Exp::Atom(_) | Exp::Workers => Rule::Let,
            Exp::Op(..) | Exp::Test(_) => Rule::Op,
            Exp::Cast(..) | Exp::Bits(_) => Rule::Cast,
            Exp::Load { .. } => Rule::Load,
        };
        self.of_type(Atom::Var(var), ty, rule)
    }

    fn indices(&self, buffer: Var, ty: &BufferTy, at: &[Atom]) -> Result {
        let (found, want) = (at.len(), ty.dims.len());
        self.ensure(found == want, Rule::Indices, || {
            format!("{found} indices of {}, which has {want} dims", self.name(buffer))
        })?;
        at.iter().try_for_each(|a| self.of_type(*a, BaseTy::I64, Rule::Indices))
    }

    // ---- loops ----

    fn loop_form(&self, how: How, range: &Range, carried: &[Carried]) -> Result {
        for a in range.atoms() {
            self.of_type(a, BaseTy::I64, Rule::Range)?;
        }
        let in_sequence = self.kernel.is_some() || !how.is_parallel();
        self.ensure(in_sequence, Rule::PlanLoop, || "a parallel loop outside of a kernel".to_owned())?;
        match how {
            How::Seq => Ok(()),
            How::Lanes(w) | How::Scan(w) => self.ensure(w > 0, Rule::Width, || "no lanes".to_owned()),
            How::Jam(k) => {
                self.ensure(k > 0, Rule::Width, || "no iterations".to_owned())?;
                self.ensure(carried.is_empty(), Rule::Jam, || "carried values".to_owned())
            }
        }
    }

    fn inits(&self, carried: &[Carried]) -> Result {
        carried.iter().try_for_each(|c| self.like(c.param, c.init, Rule::Carried))
    }

    fn params(&mut self, carried: &[Carried]) -> Result {
        let vars: Vec<Var> = carried.iter().map(|c| c.param).collect();
        self.bind_all(&vars)?;
        self.scalars_in_kernels(&vars)
    }

    fn nexts(&self, carried: &[Carried], next: &[Atom]) -> Result {
        let (found, want) = (next.len(), carried.len());
        self.ensure(found == want, Rule::Carried, || format!("{found} next values of {want} carried"))?;
        carried.iter().zip(next).try_for_each(|(c, a)| self.like(c.param, *a, Rule::Carried))
    }

    fn results(&mut self, carried: &[Carried]) -> Result {
        for c in carried {
            if let (Some(a), Some(b)) = (self.p.vars.get(c.param), self.p.vars.get(c.result)) {
                self.ensure(same(&a.ty, &b.ty), Rule::Carried, || {
                    format!("{} is not of the type of {}", self.name(c.result), self.name(c.param))
                })?;
            }
        }
        let vars: Vec<Var> = carried.iter().map(|c| c.result).collect();
        self.bind_all(&vars)
    }

    /// A kernel has no buffers as values: which one it is would not be known from its name.
    fn scalars_in_kernels(&self, vars: &[Var]) -> Result {
        let buffer = vars.iter().find(|v| self.p.buffer_ty(**v).is_some());
        match (self.kernel, buffer) {
            (Some(_), Some(v)) => self.broken(Rule::Host, format!("the buffer {} as a value", self.name(*v))),
            _ => Ok(()),
        }
    }

    /// Whether `a` is a value for the variable.
    fn like(&self, v: Var, a: Atom, rule: Rule) -> Result {
        self.mention(a)?;
        let Some(info) = self.p.vars.get(v) else {
            return self.broken(Rule::Binder, format!("{} is not in the table", self.name(v)));
        };
        let fits = match a {
            Atom::Const(c) => info.ty == Ty::Scalar(c.ty()),
            Atom::Var(a) => same(&info.ty, self.p.ty(a)),
        };
        self.ensure(fits, rule, || format!("{} is not of the type of {}", self.text(a), self.name(v)))
    }

    // ---- the plan ----

    fn launch(&self, id: KernelId, args: &[Atom]) -> Result {
        let Some(kernel) = self.p.kernels.get(id) else {
            return self
                .broken(Rule::Launch, format!("there is no kernel {id:?} of {}", self.p.kernels.len()));
        };
        let (found, want) = (args.len(), kernel.params.len());
        self.ensure(found == want, Rule::Launch, || format!("{found} arguments of {want} of {id:?}"))?;
        kernel.params.iter().zip(args).try_for_each(|(v, a)| self.like(*v, *a, Rule::Launch))
    }

    fn slice(&mut self, buffer: Var, of: Var, first: Atom) -> Result {
        let from = self.buffer(of, Rule::Slice)?;
        let ty = self.scalar(first, Rule::Slice)?;
        self.ensure(ty == BaseTy::I64, Rule::Slice, || "the number of the first row is no `int`".to_owned())?;
        self.bind(buffer)?;
        let to = self.buffer(buffer, Rule::Slice)?;
        let cells = |t: &BufferTy| t.dims.split_first().map(|(_, cell)| cell.to_vec());
        let fits = (to.base, to.space) == (from.base, from.space) && to.dims.len() == from.dims.len();
        self.ensure(fits && cells(to).is_some() && cells(to) == cells(from), Rule::Slice, || {
            format!("{} has other rows than {}", self.name(buffer), self.name(of))
        })
    }

    fn sort(&self, keys: &[Var], out: Var, gives: Gives) -> Result {
        let ty = self.buffer(out, Rule::Sort)?;
        let base = match (gives, keys) {
            (Gives::Places, _) => BaseTy::I64,
            (Gives::Keys, [key]) => {
                let key = self.buffer(*key, Rule::Sort)?;
                self.ensure(key.dims.len() == 1, Rule::Sort, || "what is sorted is no vector".into())?;
                key.base
            }
            (Gives::Keys, _) => return self.ensure(false, Rule::Sort, || "what is sorted is not one".into()),
        };
        let vector = ty.base == base && ty.dims.len() == 1 && !keys.contains(&out);
        self.ensure(vector, Rule::Sort, || {
            format!("{} is no vector of `{}`s of its own", self.name(out), base.name())
        })?;
        for k in keys {
            let key = self.buffer(*k, Rule::Sort)?;
            // Another name may be the same size; two numbers are not.
            let items = match (key.dims.first(), ty.dims.first()) {
                (Some(Atom::Const(a)), Some(Atom::Const(b))) => a == b,
                (first, _) => first.is_some(),
            };
            self.ensure(items, Rule::Sort, || format!("{} has other items", self.name(*k)))?;
        }
        Ok(())
    }
}

/// Whether a value of one type may be one of the other: but for the names of their dims.
fn same(a: &Ty, b: &Ty) -> bool {
    match (a, b) {
        (Ty::Scalar(a), Ty::Scalar(b)) => a == b,
        (Ty::Buffer(a), Ty::Buffer(b)) => (a.base, a.space, a.dims.len()) == (b.base, b.space, b.dims.len()),
        _ => false,
    }
}

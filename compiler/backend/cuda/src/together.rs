//! What the threads of a block, and blocks, do together: collectives, chains, and how a failed check ends a
//! block whose other threads would wait.
//!
//! A thread whose check has failed cannot just return where others wait for it at the next barrier. So the
//! statements up to that barrier are a function of their own, which returns; at the barrier all threads
//! learn whether one has:
//!
//! ```text
//! f32 x;
//! bool remc_fine = [&]() -> bool { … if (!c) { remc_fail(…); return false; } x = …; return true; }();
//! if (__syncthreads_or(!remc_fine)) return;
//! ```

use crate::body::{Body, Printed, Side, wrong};
use crate::kernel::{has_checks, meets};
use crate::scalar::type_name;
use remc_base::ops::ScalarOp;
use remc_kernel::ir::*;
use remc_kernel::memory::mentions;
use rustc_hash::FxHashSet;

/// The operator of a collective.
struct Combiner {
    /// The struct of its operands.
    item: String,
    op: String,
    /// Set where a check in it fails.
    failed: Option<String>,
}

impl Body<'_> {
    /// The statements of a block that mention these atoms at its end. Where threads meet, those that fail are apart from those
    /// where they do.
    pub fn statements(&mut self, block: &[Stmt], ends: &[Atom]) -> Printed {
        match block.iter().any(|s| meets(&s.kind)) {
            true => self.regions(block, ends),
            false => self.block(block),
        }
    }

    fn regions(&mut self, body: &[Stmt], ends: &[Atom]) -> Printed {
        let mut rest = body;
        while let Some(first) = rest.first() {
            if meets(&first.kind) {
                self.stmt(first)?;
                rest = &rest[1..];
                continue;
            }
            let length = rest.iter().position(|s| meets(&s.kind)).unwrap_or(rest.len());
            let (region, after) = rest.split_at(length);
            match has_checks(region) {
                true => self.failing(region, after, ends)?,
                false => self.block(region)?,
            }
            rest = after;
        }
        Ok(())
    }

    /// Statements of which a check may fail.
    fn failing(&mut self, region: &[Stmt], after: &[Stmt], ends: &[Atom]) -> Printed {
        let mut later: FxHashSet<Var> = ends.iter().filter_map(|a| a.as_var()).collect();
        after.iter().for_each(|s| mentions(&s.kind, &mut |v| _ = later.insert(v)));
        for s in region {
            if let StmtKind::Alloc { .. } = &s.kind {
                // Memory outlives the function.
                self.stmt(s)?;
            }
            // A loop's results have the names of what it carries.
            let outer: Vec<Var> = match &s.kind {
                StmtKind::Let { var, .. } => vec![*var],
                StmtKind::Points { vars, .. } => vars.clone(),
                StmtKind::If { results, .. } => results.iter().map(|c| c.var).collect(),
                StmtKind::For { carried, .. } | StmtKind::While { carried, .. } => {
                    carried.iter().filter(|c| later.contains(&c.result)).map(|c| c.param).collect()
                }
                _ => Vec::new(),
            };
            for v in outer {
                let carried = matches!(s.kind, StmtKind::For { .. } | StmtKind::While { .. });
                if carried || later.contains(&v) {
                    let (ty, name) = (type_name(self.ty(Atom::Var(v))?), self.name(v));
                    self.w.line(format!("{ty} {name} = {ty}();"));
                    self.hoisted.insert(v);
                }
            }
        }
        let fine = self.names.fresh("fine");
        self.w.open(format!("const bool {fine} = [&]() -> bool {{"));
        let outer = std::mem::replace(&mut self.bail, "return false;".to_owned());
        for s in region.iter().filter(|s| !matches!(s.kind, StmtKind::Alloc { .. })) {
            self.stmt(s)?;
        }
        self.bail = outer;
        self.w.line("return true;");
        self.w.close("}();");
        self.w.line(format!("if (__syncthreads_or(!{fine})) return;"));
        Ok(())
    }

    pub fn update(&mut self, op: ScalarOp, buffer: Var, at: &[Atom], value: Atom) -> Printed {
        let name = match op {
            ScalarOp::Add => "add",
            ScalarOp::Min2 => "min2",
            ScalarOp::Max2 => "max2",
            ScalarOp::BitAnd => "bit_and",
            ScalarOp::BitOr => "bit_or",
            ScalarOp::BitXor => "bit_xor",
            _ => return wrong(format!("an update by `{op}`")),
        };
        let (value, element) = (self.whole(value), self.element(buffer, at)?);
        self.w.line(format!("remc_update_{name}(&{element}, {value});"));
        Ok(())
    }

    pub fn collective(&mut self, count: Atom, joined: &[Joined], body: &[Stmt], next: &[Atom]) -> Printed {
        let Some(threads) = self.threads else { return wrong("threads that a kernel does not have") };
        if let [Joined { before: Some(before), total, .. }] = *joined
            && let Some(conds) = self.counts.before.get(&before).cloned()
        {
            let conds: Vec<String> = conds.into_iter().map(|c| self.atom(Atom::Var(c))).collect();
            let (number, conds) = (conds.len(), conds.join(", "));
            let [before, total] = [before, total].map(|v| self.name(v));
            self.w.line(format!("i64 {before};"));
            self.w.line(format!(
                "const i64 {total} = remc_count<{threads}, {number}>({{{conds}}}, &{before});"
            ));
            return Ok(());
        }
        let operands: Vec<(Var, Var)> = joined.iter().map(|j| (j.x, j.y)).collect();
        let c = self.combiner(&operands, body, next)?;
        let items: Vec<String> = joined.iter().map(|j| self.atom(j.item)).collect();
        let (count, items) = (self.atom(count), items.join(", "));
        let (item, op) = (&c.item, &c.op);
        let total = self.names.fresh("total");
        if joined.iter().any(|j| j.before.is_some()) {
            let before = self.names.fresh("before");
            self.w.line(format!("{item} {before};"));
            self.w.line(format!(
                "const {item} {total} = remc_scan<{threads}>({item}{{{items}}}, {count}, &{before}, {op});"
            ));
            for (k, j) in joined.iter().enumerate() {
                if let Some(v) = j.before {
                    let (ty, name) = (type_name(self.ty(j.item)?), self.name(v));
                    self.w.line(format!("const {ty} {name} = {before}.v{k};"));
                }
            }
        } else {
            self.w.line(format!(
                "const {item} {total} = remc_reduce<{threads}>({item}{{{items}}}, {count}, {op});"
            ));
        }
        for (k, j) in joined.iter().enumerate() {
            let (ty, name) = (type_name(self.ty(j.item)?), self.name(j.total));
            self.w.line(format!("const {ty} {name} = {total}.v{k};"));
        }
        self.unless_failed(&c);
        Ok(())
    }

    /// The operator of a collective, or of a chain, as a function of two structs.
    fn combiner(&mut self, operands: &[(Var, Var)], body: &[Stmt], next: &[Atom]) -> Printed<Combiner> {
        let (item, op) = (self.names.fresh("item"), self.names.fresh("combine"));
        let mut fields = Vec::new();
        for (k, (x, _)) in operands.iter().enumerate() {
            fields.push(format!("{} v{k};", type_name(self.ty(Atom::Var(*x))?)));
        }
        self.w.line(format!("struct {item} {{ {} }};", fields.join(" ")));
        let failed = has_checks(body).then(|| self.names.fresh("failed"));
        if let Some(failed) = &failed {
            self.w.line(format!("bool {failed} = false;"));
        }
        let (left, right) = (self.names.fresh("left"), self.names.fresh("right"));
        self.w
            .open(format!("const auto {op} = [&](const {item} &{left}, const {item} &{right}) -> {item} {{"));
        for (k, (x, y)) in operands.iter().enumerate() {
            for (v, side) in [(x, &left), (y, &right)] {
                let (ty, name) = (type_name(self.ty(Atom::Var(*v))?), self.name(*v));
                self.w.line(format!("const {ty} {name} = {side}.v{k};"));
            }
        }
        let outer = std::mem::replace(&mut self.bail, format!("return {left};"));
        self.told = failed.as_ref().map(|f| format!("{f} = true;"));
        self.block(body)?;
        self.bail = outer;
        self.told = None;
        let next: Vec<String> = next.iter().map(|a| self.atom(*a)).collect();
        self.w.line(format!("return {item}{{{}}};", next.join(", ")));
        self.w.close("};");
        Ok(Combiner { item, op, failed })
    }

    /// Ends the block if the operator has failed in one of its threads.
    fn unless_failed(&mut self, c: &Combiner) {
        if let Some(failed) = &c.failed {
            self.w.line(format!("if (__syncthreads_or({failed})) return;"));
        }
    }

    /// A chain whose blocks look back at their group.
    fn look_back(
        &mut self,
        (state, here, last): (&str, &str, &str),
        threads: u32,
        links: &[Link],
        body: &[Stmt],
        next: &[Atom],
    ) -> Printed {
        let operands: Vec<(Var, Var)> = links.iter().map(|l| (l.before, l.x)).collect();
        let c = self.combiner(&operands, body, next)?;
        let (item, op) = (&c.item, &c.op);
        let mut own = Vec::new();
        for l in links {
            let Some(v) = l.own else { return wrong("a link without its own items") };
            own.push(self.name(v));
        }
        let kept: Vec<String> = links.iter().map(|l| self.name(l.kept)).collect();
        let items: Vec<String> = links.iter().map(|l| self.atom(l.item)).collect();
        let inits: Vec<String> = links.iter().map(|l| self.atom(l.init)).collect();
        let latest = |from: &[String], at: &str| {
            let all: Vec<String> = from.iter().map(|b| format!("remc_latest(&{b}[{at}])")).collect();
            all.join(", ")
        };
        let [ours, place, theirs, fine, sofar, go, handed] =
            ["ours", "place", "theirs", "fine", "sofar", "go", "handed"].map(|n| self.names.fresh(n));
        self.w.line(format!("const {item} {ours} = {item}{{{}}};", items.join(", ")));
        self.w.open("if (threadIdx.x == 0) {");
        for (k, own) in own.iter().enumerate() {
            self.w.line(format!("{own}[{here}] = {ours}.v{k};"));
        }
        self.w.line(format!("remc_pass(&{state}[{here}], 1);"));
        self.w.close("}");
        self.w.line("// Where the block is in its group, and what those before it there have.");
        self.w.line(format!("const i64 {place} = {last} % {threads};"));
        self.w.line(format!("{item} {theirs} = {ours};"));
        self.w.line(format!("bool {fine} = true;"));
        self.w.open(format!("if (threadIdx.x < {place}) {{"));
        let other = format!("{here} - {place} + threadIdx.x");
        self.w.line(format!("{fine} = remc_await(&{state}[{other}], 1, remc_error, remc_place);"));
        self.w.line(format!("if ({fine}) {theirs} = {item}{{{}}};", latest(&own, &other)));
        self.w.close("}");
        self.w.line(format!("if (__syncthreads_or(!{fine})) return;"));
        self.w.line(format!("const {item} {sofar} = remc_reduce<{threads}>({theirs}, {place}, {op});"));
        self.w.line(format!("__shared__ {item} {handed};"));
        self.w.line(format!("__shared__ bool {go};"));
        self.w.open("if (threadIdx.x == 0) {");
        let first = format!("{last} == {place}");
        let before = format!("{here} - {place} - 1");
        self.w.line(format!("{go} = {first} || remc_await(&{state}[{before}], 2, remc_error, remc_place);"));
        self.w.open(format!("if ({go}) {{"));
        self.w.line(format!(
            "{handed} = {first} ? {item}{{{}}} : {item}{{{}}};",
            inits.join(", "),
            latest(&kept, &before)
        ));
        self.w.line(format!("if ({place} > 0) {handed} = {op}({handed}, {sofar});"));
        let through = self.names.fresh("through");
        self.w.line(format!("const {item} {through} = {op}({handed}, {ours});"));
        for (k, kept) in kept.iter().enumerate() {
            self.w.line(format!("{kept}[{here}] = {through}.v{k};"));
        }
        // The next group begins from there.
        self.w.line(format!("if ({place} == {threads} - 1) remc_pass(&{state}[{here}], 2);"));
        self.w.close("}");
        self.w.close("}");
        self.w.line("__syncthreads();");
        self.w.line(format!("if (!{go}) return;"));
        self.unless_failed(&c);
        for (k, l) in links.iter().enumerate() {
            let ty = type_name(self.ty(Atom::Var(l.before))?);
            let name = self.names.fresh("before");
            self.w.line(format!("const {ty} {name} = {handed}.v{k};"));
            self.names.alias(l.before, name);
        }
        Ok(())
    }

    pub fn chain(
        &mut self,
        state: Var,
        at: &[Atom],
        links: &[Link],
        body: &[Stmt],
        next: &[Atom],
    ) -> Printed {
        if self.side == Side::Host {
            return wrong("a chain in the plan");
        }
        let Some(Atom::Var(last)) = at.last().copied() else { return wrong("a chain without a grid") };
        let last = self.name(last);
        let offset = self.offset(state, at)?;
        let (state, here) = (self.name(state), self.names.fresh("here"));
        self.w.line(format!("const i64 {here} = {offset};"));
        if let (Some(threads), Some(Link { own: Some(_), .. })) = (self.threads, links.first()) {
            return self.look_back((&state, &here, &last), threads, links, body, next);
        }
        // One thread waits and hands on for the block.
        let handed = self.names.fresh("handed");
        let go = self.names.fresh("go");
        if self.threads.is_some() {
            for (k, l) in links.iter().enumerate() {
                let ty = type_name(self.ty(Atom::Var(l.before))?);
                self.w.line(format!("__shared__ {ty} {handed}_{k};"));
            }
            self.w.line(format!("__shared__ bool {go};"));
            self.w.open("if (threadIdx.x == 0) {");
        }
        self.w.line(format!(
            "{} = {last} == 0 || remc_await(&{state}[{here} - 1], 1, remc_error, remc_place);",
            if self.threads.is_some() { go.clone() } else { format!("const bool {go}") }
        ));
        match self.threads {
            None => self.w.line(format!("if (!{go}) return;")),
            Some(_) => self.w.open(format!("if ({go}) {{")),
        }
        let mut locals = Vec::new();
        for l in links {
            let (ty, init) = (type_name(self.ty(Atom::Var(l.before))?), self.atom(l.init));
            let (kept, name) = (self.name(l.kept), self.names.fresh("given"));
            self.w.line(format!(
                "const {ty} {name} = {last} == 0 ? ({ty}){init} : remc_latest(&{kept}[{here} - 1]);"
            ));
            locals.push(name);
        }
        for (l, local) in links.iter().zip(&locals) {
            self.names.alias(l.before, local.clone());
            let item = self.atom(l.item);
            self.names.alias(l.x, item);
        }
        self.block(body)?;
        for (l, a) in links.iter().zip(next) {
            let (kept, value) = (self.name(l.kept), self.atom(*a));
            self.w.line(format!("{kept}[{here}] = {value};"));
        }
        self.w.line(format!("remc_pass(&{state}[{here}], 1);"));
        if self.threads.is_some() {
            for (k, local) in locals.iter().enumerate() {
                self.w.line(format!("{handed}_{k} = {local};"));
            }
            self.w.close("}");
            self.w.close("}");
            self.w.line("__syncthreads();");
            self.w.line(format!("if (!{go}) return;"));
            for (k, l) in links.iter().enumerate() {
                let ty = type_name(self.ty(Atom::Var(l.before))?);
                let name = self.names.fresh("before");
                self.w.line(format!("const {ty} {name} = {handed}_{k};"));
                self.names.alias(l.before, name);
            }
        }
        Ok(())
    }
}

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
use remc_kernel::ir::*;
use remc_kernel::memory::mentions;
use rustc_hash::FxHashSet;

impl Body<'_> {
    /// The statements of a kernel whose threads meet: those that fail apart from those where they meet.
    pub fn regions(&mut self, body: &[Stmt]) -> Printed {
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
                true => self.failing(region, after)?,
                false => self.block(region)?,
            }
            rest = after;
        }
        Ok(())
    }

    /// Statements of which a check may fail.
    fn failing(&mut self, region: &[Stmt], after: &[Stmt]) -> Printed {
        let mut later = FxHashSet::default();
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

    pub fn collective(&mut self, count: Atom, joined: &[Joined], body: &[Stmt], next: &[Atom]) -> Printed {
        let Some(threads) = self.threads else { return wrong("threads that a kernel does not have") };
        let (item, op) = (self.names.fresh("item"), self.names.fresh("combine"));
        let mut fields = Vec::new();
        for (k, j) in joined.iter().enumerate() {
            fields.push(format!("{} v{k};", type_name(self.ty(j.item)?)));
        }
        self.w.line(format!("struct {item} {{ {} }};", fields.join(" ")));
        let fails = has_checks(body);
        let failed = self.names.fresh("failed");
        if fails {
            self.w.line(format!("bool {failed} = false;"));
        }
        let (left, right) = (self.names.fresh("left"), self.names.fresh("right"));
        self.w
            .open(format!("const auto {op} = [&](const {item} &{left}, const {item} &{right}) -> {item} {{"));
        for (k, j) in joined.iter().enumerate() {
            for (v, side) in [(j.x, &left), (j.y, &right)] {
                let (ty, name) = (type_name(self.ty(Atom::Var(v))?), self.name(v));
                self.w.line(format!("const {ty} {name} = {side}.v{k};"));
            }
        }
        let outer = std::mem::replace(&mut self.bail, format!("return {left};"));
        self.bail_sets(&failed, fails);
        self.block(body)?;
        self.bail = outer;
        self.told = None;
        let next: Vec<String> = next.iter().map(|a| self.atom(*a)).collect();
        self.w.line(format!("return {item}{{{}}};", next.join(", ")));
        self.w.close("};");
        let items: Vec<String> = joined.iter().map(|j| self.atom(j.item)).collect();
        let (count, items) = (self.atom(count), items.join(", "));
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
        if fails {
            self.w.line(format!("if (__syncthreads_or({failed})) return;"));
        }
        Ok(())
    }

    fn bail_sets(&mut self, failed: &str, fails: bool) {
        self.told = fails.then(|| format!("{failed} = true;"));
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
            "{} = {last} == 0 || remc_await(&{state}[{here} - 1], remc_error, remc_place);",
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
        self.w.line(format!("remc_pass(&{state}[{here}]);"));
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

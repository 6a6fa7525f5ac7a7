//! Compaction: the tables of a program hold what the program mentions, numbered in order.
//!
//! ```text
//! (provs (p0 "f" 0 1) (p1 "f" 0 2) (p2 "f" 0 3))      (provs (p0 "f" 0 3))
//! (params (%xs.4 int 3))                              (params (%xs.0 int 3))
//! (body                                               (body
//!   (let ((%x.9 int)) (index %xs.4 0) p2)               (let ((%x.1 int)) (index %xs.0 0) p0)
//!   (give %x.9))                                        (give %x.1))
//! (unbound (%i.0 int) …)
//! ```
//!
//! Passes leave behind the variables of what they removed or copied. Nothing is wrong with that, but a
//! person reads the text, and what comes after allocates a place for each variable. So this runs once,
//! when nothing else changes. It changes no meaning: variables and places get other numbers, in the order
//! in which they are bound, an iteration's before those of its results.

use crate::ir::*;
use remc_base::ids::{Id, IdVec};
use remc_base::pass::PassInfo;
use remc_base::{Prov, Provenance};

pub const PASS: PassInfo = PassInfo {
    name: "compact",
    from: "mono",
    to: "mono",
    summary: "drops variables and places that are left over, and numbers the others anew",
};

pub fn compact(p: &mut Program) {
    let mut old = Vec::new();
    old.extend(&p.params);
    let mut provs = vec![false; p.provs.len()];
    binders(&p.body, &mut old, &mut provs);
    // A program without statements is at one place all the same: its result may have to be copied.
    if !provs.contains(&true)
        && let Some(first) = provs.first_mut()
    {
        *first = true;
    }
    let Some(vars) = Numbers::of(&old, p.vars.len()) else { return };
    // The type of a variable mentions what is in scope; if it does not, the verifier has to see that.
    let dims = old.iter().flat_map(|v| &p.vars[*v].ty.dims).filter_map(|d| d.as_var());
    if dims.into_iter().any(|v| vars.get(v).is_none()) {
        return;
    }
    let mut table = IdVec::new();
    for v in &old {
        let mut info = p.vars[*v].clone();
        info.ty.dims.iter_mut().for_each(|d| vars.atom(d));
        table.push(info);
    }
    let (kept, places) = places(&p.provs, &provs);
    p.vars = table;
    p.provs = kept;
    p.params.iter_mut().for_each(|v| vars.var(v));
    p.inputs.iter_mut().for_each(|i| input(i, &vars));
    for i in &mut p.inputs {
        if let Some(size) = i.stream_size_mut() {
            vars.var(size);
        }
        if let Input::Channel { size, items, .. } = i {
            **items = items.anonymous(*size);
        }
    }
    p.body.replace_atoms(&mut |a| vars.atom(a));
    rename(&mut p.body, &vars, &places);
}

/// The new number of each variable that is bound.
struct Numbers(Vec<Option<Var>>);

impl Numbers {
    /// `None` if a variable is bound twice or is not in the table.
    fn of(old: &[Var], vars: usize) -> Option<Numbers> {
        let mut new = vec![None; vars];
        for (k, v) in old.iter().enumerate() {
            let slot = new.get_mut(v.index())?;
            if slot.replace(Var::from_usize(k)).is_some() {
                return None;
            }
        }
        Some(Numbers(new))
    }

    fn get(&self, v: Var) -> Option<Var> {
        self.0.get(v.index()).copied().flatten()
    }

    fn var(&self, v: &mut Var) {
        *v = self.get(*v).unwrap_or(*v);
    }

    fn atom(&self, a: &mut Atom) {
        if let Atom::Var(v) = a {
            self.var(v);
        }
    }
}

/// The variables bound in a body in the order of their new numbers, and the places of its statements.
fn binders(body: &Body, vars: &mut Vec<Var>, provs: &mut [bool]) {
    for s in &body.stmts {
        if let Some(used) = provs.get_mut(s.prov.index()) {
            *used = true;
        }
        match &s.exp {
            Exp::Reduce { axis, body, op } | Exp::Scan { axis, body, op, .. } => {
                vars.push(axis.var);
                binders(body, vars, provs);
                lambda(&op.lambda, vars, provs);
            }
            Exp::Scatter { axis, body, combine, .. } => {
                vars.push(axis.var);
                binders(body, vars, provs);
                combine.iter().for_each(|l| lambda(l, vars, provs));
            }
            exp => {
                vars.extend(exp.inner_binders());
                exp.bodies().into_iter().for_each(|b| binders(b, vars, provs));
            }
        }
        vars.extend(&s.pat);
    }
}

fn lambda(l: &Lambda, vars: &mut Vec<Var>, provs: &mut [bool]) {
    vars.extend(&l.params);
    binders(&l.body, vars, provs);
}

/// The arena of the places that are used and of their callers, and what each place is in it.
fn places(all: &Provenance, used: &[bool]) -> (Provenance, Vec<Option<Prov>>) {
    let mut used = used.to_vec();
    // A caller has a smaller number than what it calls.
    for k in (0..used.len()).rev() {
        if used[k]
            && let Some(caller) = all.get(Prov::from_usize(k)).caller
        {
            used[caller.index()] = true;
        }
    }
    let mut kept = Provenance::new();
    let mut new: Vec<Option<Prov>> = vec![None; used.len()];
    for (p, place) in all.iter().filter(|(p, _)| used[p.index()]) {
        let caller = place.caller.and_then(|c| new[c.index()]);
        new[p.index()] = Some(kept.add(place.def.clone(), place.node, caller));
    }
    (kept, new)
}

fn rename(body: &mut Body, vars: &Numbers, places: &[Option<Prov>]) {
    for s in &mut body.stmts {
        s.pat.iter_mut().for_each(|v| vars.var(v));
        s.exp.inner_binders_mut().into_iter().for_each(|v| vars.var(v));
        if let Some(Some(new)) = places.get(s.prov.index()) {
            s.prov = *new;
        }
        s.exp.bodies_mut().into_iter().for_each(|b| rename(b, vars, places));
    }
}

fn input(i: &mut Input, vars: &Numbers) {
    i.vars_mut().into_iter().for_each(|v| vars.var(v));
}

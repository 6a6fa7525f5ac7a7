//! Walking Flat, and its parts that are Mono's.

use crate::ir::*;
use remc_mono::ir as mono;

impl Exp {
    /// The bodies of the host inside, in order of evaluation.
    pub fn bodies(&self) -> Vec<&Body> {
        match self {
            Exp::If { then, otherwise, .. } | Exp::Branch { then, otherwise, .. } => vec![then, otherwise],
            Exp::For { body, .. } | Exp::SerialMap { body, .. } => vec![body],
            Exp::While { cond, body, .. } => vec![cond, body],
            Exp::Host(_) | Exp::Seg(_) | Exp::Scatter { .. } | Exp::Filter { .. } | Exp::Grade { .. } => {
                Vec::new()
            }
        }
    }
}

impl Body {
    /// Every statement of the host, the outer before those inside it.
    pub fn for_each_stmt<'a>(&'a self, f: &mut impl FnMut(&'a Stmt)) {
        for s in &self.stmts {
            f(s);
            for b in s.exp.bodies() {
                b.for_each_stmt(f);
            }
        }
    }
}

impl Program {
    /// A program of Mono without a body, which has all else in common with this one.
    pub fn table(&self) -> mono::Program {
        mono::Program {
            name: self.name.clone(),
            provs: self.provs.clone(),
            vars: self.vars.clone(),
            params: self.params.clone(),
            inputs: self.inputs.clone(),
            body: mono::Body::default(),
            output: self.output.clone(),
        }
    }

    /// The program that has all but the body in common with one of Mono.
    pub fn of_table(table: mono::Program, body: Body) -> Program {
        let mono::Program { name, provs, vars, params, inputs, output, .. } = table;
        Program { name, provs, vars, params, inputs, body, output }
    }
}

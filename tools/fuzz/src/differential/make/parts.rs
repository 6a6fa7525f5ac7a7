//! Indices, amounts and other parts that have to hold what keeps a program running, or stops it.

use super::Maker;
use crate::differential::term::{Dim, Info, Term, Ty};
use remc_base::BaseTy;

impl Maker {
    /// Whether the place that is being made is the one that stops the program.
    pub fn stops(&mut self) -> bool {
        match &mut self.stop {
            Some(0) => {
                self.stop = None;
                self.several = self.rows > 0;
                true
            }
            Some(n) => {
                *n -= 1;
                false
            }
            None => false,
        }
    }

    /// Integers below the dim, which is not empty; or one that is out of range.
    pub fn indices(&mut self, frame: &[Dim], below: &Dim) -> Term {
        let ty = Ty::new(BaseTy::I64, frame);
        let info = Info::whole(self.size(below) as f64);
        if frame.is_empty() && self.stops() {
            let text = if self.rng.one_in(2) { "-1".to_owned() } else { format!("(+ {below} 2)") };
            return Term::leaf(ty, info, text);
        }
        if frame.is_empty() && self.rng.one_in(2) {
            let n = if self.is_certain(below) { self.rng.below(self.size(below)) } else { 0 };
            return Term::leaf(ty, info, n.to_string());
        }
        let any = self.expr(&ty);
        Term::new(ty, info, format!("(% § {below})"), vec![any])
    }

    /// Integers from -1 to the dim, exclusive: where things are scattered to.
    pub fn places(&mut self, frame: &[Dim], below: &Dim) -> Term {
        let ty = Ty::new(BaseTy::I64, frame);
        let info = Info::whole(self.size(below) as f64 + 1.0);
        if let [d] = frame
            && self.times == 1.0
            && self.is_inhabited(d)
            && self.stops()
        {
            let at = self.rng.below(self.size(d));
            return Term::leaf(ty, info, format!("(select (= {at} (iota [{d}])) (+ {below} 3) -1)"));
        }
        let any = self.expr(&ty);
        Term::new(ty, info, format!("(- (% § (+ {below} 1)) 1)"), vec![any])
    }

    /// Numbers whose sum over so many does not depend on the order, of any type.
    pub fn summable(&mut self, ty: &Ty, count: f64) -> Term {
        let e = self.expr(ty);
        self.made_summable(e, count)
    }

    pub fn made_summable(&mut self, e: Term, count: f64) -> Term {
        let atom = e.ty.atom;
        if !atom.is_float() || is_summable(&e, count) {
            return e;
        }
        let ty = e.ty.clone();
        Term::call(ty, Info::whole(1.0), "sign", vec![e])
    }
}

pub fn is_summable(e: &Term, count: f64) -> bool {
    e.info.whole && e.info.most * count <= crate::differential::term::exact_to(e.ty.atom)
}

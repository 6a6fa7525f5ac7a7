//! Which existentials a type or shape mentions.

use remc_base::*;
use rustc_hash::FxHashSet;

/// The existentials of a zonked type, in order of appearance.
pub(super) fn metas_of(t: &ArrTy, out: &mut Vec<MetaId>) {
    let seen = out.iter().copied().collect();
    let mut found = Metas { seen, out };
    found.array(t);
}

/// Those of a zonked shape, in order of appearance.
pub(super) fn metas_of_shape(s: &Shape, out: &mut Vec<MetaId>) {
    let seen = out.iter().copied().collect();
    Metas { seen, out }.shape(s);
}

struct Metas<'o> {
    seen: FxHashSet<MetaId>,
    out: &'o mut Vec<MetaId>,
}

impl Metas<'_> {
    fn add(&mut self, m: MetaId) {
        if self.seen.insert(m) {
            self.out.push(m);
        }
    }

    fn array(&mut self, t: &ArrTy) {
        self.atom(&t.atom);
        self.shape(&t.shape);
    }

    fn shape(&mut self, s: &Shape) {
        for item in s.items() {
            match item {
                ShapeItem::Dim(d) => {
                    for v in d.vars() {
                        match v {
                            DimVar::Meta(m)
                            | DimVar::RankOf(ShapeVar::Meta(m))
                            | DimVar::SizeOf(ShapeVar::Meta(m)) => self.add(*m),
                            _ => {}
                        }
                    }
                }
                ShapeItem::Var(ShapeVar::Meta(m)) => self.add(*m),
                ShapeItem::Var(_) => {}
            }
        }
    }

    fn atom(&mut self, t: &AtomTy) {
        match t {
            AtomTy::Base(_) | AtomTy::Var(_) => {}
            AtomTy::Meta(m) => self.add(*m),
            AtomTy::Fn(f) => f.params.iter().chain([&f.ret]).for_each(|p| self.array(p)),
            AtomTy::Forall(q) => self.array(&q.body),
            AtomTy::Pi(q) => self.array(&q.body),
            AtomTy::Sigma(q) => self.array(&q.body),
            AtomTy::Tuple(q) => q.fields.iter().for_each(|(_, t)| self.array(t)),
            AtomTy::Quot(q) => self.atom(q),
        }
    }
}

//! A printed program's own tables, for its `main`: what each input and the value consist of, part by part,
//! in the types of `text/tables.cuh`.
//!
//! | module | what it prints |
//! | --- | --- |
//! | this one | the inputs, and the function that finds sizes which no axis has |
//! | [`boxes`] | inputs that are boxes, and the function that compares what is in them with their type |
//! | [`outputs`] | the value |
//! | [`known`] | sizes that are known when the program runs, in C and in types |

mod boxes;
mod known;
mod outputs;

use crate::About;
use crate::Error;
use crate::api;
use crate::checks::quoted;
use crate::interface::{Interface, Leaf, Size, c_constant};
use crate::writer::Writer;
use boxes::{Boxes, Row};
use known::Known;
use outputs::Outputs;
use remc_base::{ArrTy, AtomTy, Dim, DimVar, IVar, Name, ShapeItem, ShapeVar, Sort};
use remc_kernel::ir::{Input, Program};
use rustc_hash::{FxHashMap, FxHashSet};

fn wrong<T>(what: &str) -> Result<T, Error> {
    Err(Error(what.to_owned()))
}

/// The tables, and the function that finds the sizes which no axis has.
///
/// # Errors
/// A program whose inputs are not those that are said of it.
pub fn tables(p: &Program, i: &Interface, about: &About<'_>) -> Result<String, Error> {
    let mut t = Tables {
        i,
        ranks: FxHashMap::default(),
        inputs: Vec::new(),
        leaf: 0,
        equations: Equations::default(),
        boxes: Boxes::default(),
    };
    let mut ranks = about.ranks.iter();
    let mut word = 0;
    let (mut known, mut sizes) = (Known::default(), Known::default());
    for v in about.indices {
        let axes = match v.sort {
            Sort::Dim => 1,
            Sort::Shape => *ranks.next().ok_or_else(|| Error(format!("the rank of {v} is not known")))?,
        };
        if v.sort == Sort::Shape {
            t.ranks.insert(v.id, axes);
        }
        known.bind(v, (word..word + axes).map(|k| format!("(i64)params[{k}]")).collect());
        sizes.bind(v, (word..word + axes).map(|k| format!("sizes[{k}]")).collect());
        word += axes;
    }
    if word > i.sizes.len() || about.params.len() != p.inputs.len() {
        return wrong("an entry whose inputs are others than those of its program");
    }
    let mut inputs = String::from("static const remc_input remc_inputs[] = {\n");
    for (input, (name, ty)) in p.inputs.iter().zip(about.params) {
        let part = t.input(input, None, ty, &mut Vec::new(), &sizes)?;
        t.equations.input += 1;
        inputs.push_str(&format!("  {{{}, {}, {part}}},\n", quoted(name.as_str()), quoted(&ty.to_string())));
    }
    inputs.push_str("  {0, 0, 0}\n};\n");
    let solved = t.equations.solve(about.indices, &t.ranks) + &t.boxes.compare();
    let (value, counts) = Outputs::tables(p, i, &known)?;
    let mut w = Writer::default();
    for (k, l) in i.leaves.iter().enumerate() {
        let dims: Vec<String> = l.dims.iter().flatten().map(encoded).collect();
        if !dims.is_empty() {
            w.line(format!("static const i64 remc_leaf_dims_{k}[] = {{{}}};", dims.join(", ")));
        }
    }
    w.open("static const remc_leaf remc_leaves[] = {");
    for (k, l) in i.leaves.iter().enumerate() {
        let rank = l.dims.as_ref().map_or(0, Vec::len);
        let dims = if rank == 0 { "0".to_owned() } else { format!("remc_leaf_dims_{k}") };
        w.line(format!("{{{}, {rank}, {dims}, {}}},", c_constant(l.base), i.sizes.len() + k));
    }
    w.line("{-1, 0, 0, 0}");
    w.close("};");
    w.open("static const remc_input_part remc_input_parts[] = {");
    t.inputs.iter().for_each(|part| w.line(format!("{part},")));
    w.line("{0, 0, 0, 0, 0, -1, -1, 0, 0}");
    w.close("};");
    w.open("[[maybe_unused]] static const remc_hidden_index remc_hidden[] = {");
    t.boxes.hidden.iter().for_each(|row| w.line(format!("{row},")));
    w.line("{0, false}");
    w.close("};");
    let out = w.finish() + &inputs + &value + &solved;
    let mut w = Writer::default();
    w.open("static const remc_program remc_own_program = {");
    w.line(
        "&remc_own, remc_inputs, remc_input_parts, remc_leaves, remc_hidden, remc_results, remc_witnesses,",
    );
    w.line("remc_hidden_shapes, remc_output_parts,");
    let [witnesses, shapes, parts] = counts;
    let counts = [
        p.inputs.len(),
        t.inputs.len(),
        i.leaves.len(),
        t.boxes.hidden.len(),
        p.results.len(),
        witnesses,
        shapes,
        parts,
    ];
    let words = [i.sizes.len(), api::words(i), i.results];
    let numbers: Vec<String> = counts.iter().chain(&words).map(usize::to_string).collect();
    w.line(format!("{},", numbers.join(", ")));
    w.line("remc_dim, remc_axes_of, remc_boxed_axis, remc_boxed_shape, remc_solve");
    w.close("};");
    Ok(out + &w.finish())
}

/// A dim as a number: that of a size counts down from -1.
fn encoded(s: &Size) -> String {
    match s {
        Size::Known(n) => n.to_string(),
        Size::Given(k) => (-1 - *k as i64).to_string(),
    }
}

struct Tables<'a> {
    i: &'a Interface,
    /// How many axes the shape variables of the entry stand for.
    ranks: FxHashMap<u32, usize>,
    inputs: Vec<String>,
    leaf: usize,
    equations: Equations,
    boxes: Boxes,
}

fn label(name: Option<&Name>) -> String {
    name.map_or_else(|| "0".to_owned(), |n| quoted(n.as_str()))
}

impl Tables<'_> {
    /// Adds an input's parts; the number of the first. `says` is what the types of the tuples that it is in
    /// say of their axes.
    fn input(
        &mut self,
        input: &Input,
        name: Option<&Name>,
        ty: &ArrTy,
        says: &mut Vec<Option<Dim>>,
        sizes: &Known,
    ) -> Result<usize, Error> {
        let outer = says.len();
        for item in ty.shape.items() {
            match item {
                ShapeItem::Dim(d) => says.push(Some(d.clone())),
                ShapeItem::Var(ShapeVar::Rigid(v)) => {
                    says.extend(vec![None; self.ranks.get(&v.id).copied().unwrap_or(0)]);
                }
                ShapeItem::Var(ShapeVar::Meta(_)) => {}
            }
        }
        let axes = says.len() - outer;
        let at = self.inputs.len();
        self.inputs.push(String::new());
        let leaf = self.leaf;
        let row = match (input, &ty.atom) {
            (Input::Array(_), _) => {
                self.learn(says);
                Row { leaf, ..Row::of('[', axes) }
            }
            (Input::Boxes { witnesses, contents }, AtomTy::Sigma(sigma)) => {
                let witness = self.boxes(witnesses, contents, sigma, says, sizes)?;
                Row { leaf, witness, count: witnesses.len(), ..Row::of('#', axes) }
            }
            (Input::Tuple(fields), AtomTy::Tuple(q)) if fields.len() == q.fields.len() => {
                for ((name, field), (_, ty)) in fields.iter().zip(&q.fields) {
                    self.input(field, name.as_ref(), ty, says, sizes)?;
                }
                Row::of('(', axes)
            }
            _ => return wrong("an input of another type"),
        };
        says.truncate(outer);
        let next = self.inputs.len();
        self.inputs[at] = row.text(name, next);
        Ok(at)
    }

    /// Takes the next leaf, whose axes the types say that of.
    fn learn(&mut self, says: &[Option<Dim>]) {
        if let Some(leaf) = self.i.leaves.get(self.leaf) {
            self.equations.learn(leaf, says);
        }
        self.leaf += 1;
    }
}

/// What the shapes of the inputs say of the sizes.
#[derive(Default)]
struct Equations {
    /// The number of the input at hand.
    input: usize,
    /// The sizes that are the length of an axis.
    lengths: FxHashSet<usize>,
    /// The input, the number of the size, and what the type says of it.
    all: Vec<(usize, usize, Dim)>,
}

impl Equations {
    fn learn(&mut self, leaf: &Leaf, says: &[Option<Dim>]) {
        for (size, d) in leaf.dims.iter().flatten().zip(says) {
            if let (Size::Given(k), Some(d)) = (size, d)
                && self.lengths.insert(*k)
                && d.as_var().is_none()
            {
                self.all.push((self.input, *k, d.clone()));
            }
        }
    }

    /// The function that finds the indices which are the length of no axis, each from an equation that has
    /// no other unknown, and compares the lengths with what is known then.
    fn solve(&self, indices: &[IVar], ranks: &FxHashMap<u32, usize>) -> String {
        let mut known = Known::default();
        let mut unknown: FxHashMap<u32, usize> = FxHashMap::default();
        let mut word = 0;
        for v in indices {
            let axes = ranks.get(&v.id).copied().unwrap_or(1);
            if v.sort == Sort::Shape || self.lengths.contains(&word) {
                known.bind(v, (word..word + axes).map(|k| format!("sizes[{k}]")).collect());
            } else {
                unknown.insert(v.id, word);
            }
            word += axes;
        }
        let mut w = Writer::default();
        w.open("static void remc_solve([[maybe_unused]] i64 *sizes) {");
        let mut open: Vec<&(usize, usize, Dim)> = self.all.iter().collect();
        while let Some((at, v, rest, coefficient)) = open.iter().enumerate().find_map(|(at, (_, _, d))| {
            let (v, rest, coefficient) = linear(d, &unknown)?;
            Some((at, v, known.polynomial(&rest)?, known.polynomial(&coefficient)?))
        }) {
            let (input, k, d) = open.remove(at);
            let Some(n) = unknown.remove(&v.id) else { break };
            let says = quoted(&format!("no {v} makes {d} equal to"));
            w.line(format!("remc_solve_size(remc_inputs + {input}, sizes[{k}], {rest}, {coefficient}, sizes + {n}, {says});"));
            known.bind(&v, vec![format!("sizes[{n}]")]);
        }
        for (input, k, d) in open {
            if let Some(value) = known.polynomial(d) {
                let says = quoted(&d.to_string());
                w.line(format!("remc_same_size(remc_inputs + {input}, sizes[{k}], {value}, {says});"));
            }
        }
        w.close("}");
        w.finish()
    }
}

/// A dim as `rest + coefficient · v`, if `v` is the one unknown in it.
fn linear(d: &Dim, unknown: &FxHashMap<u32, usize>) -> Option<(IVar, Dim, Dim)> {
    let open = |v: &&DimVar| matches!(v, DimVar::Rigid(v) if unknown.contains_key(&v.id));
    let v = d.vars().find(open)?.clone();
    let rest = d.substitute(&mut |x| (*x == v).then(Dim::zero));
    let coefficient = d.substitute(&mut |x| (*x == v).then(|| Dim::constant(1))).sub(&rest);
    let again = rest.add(&coefficient.mul(&Dim::var(v.clone())));
    let alone = again == *d && !rest.vars().any(|x| open(&x)) && !coefficient.vars().any(|x| open(&x));
    match v {
        DimVar::Rigid(v) if alone => Some((v, rest, coefficient)),
        _ => None,
    }
}

//! A printed program's own tables, for its `main`: what each input and the value consist of, part by part,
//! in the types of `text/tables.cuh`.
//!
//! A box prints with its type, which may mention sizes that are known when the program runs alone: the text
//! before its contents is a function.

use crate::About;
use crate::Error;
use crate::api;
use crate::checks::quoted;
use crate::interface::{Interface, Leaf, Size, c_constant, rank};
use crate::writer::Writer;
use remc_base::{ArrTy, AtomTy, Dim, DimVar, IVar, Name, Shape, ShapeItem, ShapeVar, SigmaTy, Sort};
use remc_kernel::ir::{Input, Output, Program, Witness};
use rustc_hash::{FxHashMap, FxHashSet};

fn wrong<T>(what: &str) -> Result<T, Error> {
    Err(Error(what.to_owned()))
}

/// The tables, and the function that finds the sizes which no axis has.
///
/// # Errors
/// A program whose inputs are not those that are said of it.
pub fn tables(p: &Program, i: &Interface, about: &About<'_>) -> Result<(String, String), Error> {
    let mut t = Tables {
        p,
        i,
        ranks: FxHashMap::default(),
        inputs: Vec::new(),
        leaf: 0,
        outputs: Vec::new(),
        boxes: Writer::default(),
        count: 0,
        equations: Equations::default(),
    };
    let mut ranks = about.ranks.iter();
    let mut word = 0;
    let mut known = Known::default();
    for v in about.indices {
        let axes = match v.sort {
            Sort::Dim => 1,
            Sort::Shape => *ranks.next().ok_or_else(|| Error(format!("the rank of {v} is not known")))?,
        };
        if v.sort == Sort::Shape {
            t.ranks.insert(v.id, axes);
        }
        known.bind(v, (word..word + axes).map(|k| format!("(i64)params[{k}]")).collect());
        word += axes;
    }
    if word > i.sizes.len() || about.params.len() != p.inputs.len() {
        return wrong("an entry whose inputs are others than those of its program");
    }
    let mut inputs = String::from("static const remc_input remc_inputs[] = {\n");
    for (input, (name, ty)) in p.inputs.iter().zip(about.params) {
        let part = t.input(input, None, ty, &mut Vec::new())?;
        t.equations.input += 1;
        inputs.push_str(&format!("  {{{}, {}, {part}}},\n", quoted(name.as_str()), quoted(&ty.to_string())));
    }
    inputs.push_str("  {0, 0, 0}\n};\n");
    let solved = t.equations.solve(about.indices, &t.ranks);
    t.output(&p.output, None, &known)?;
    let mut w = Writer::default();
    w.line(format!("static const char remc_entry_name[] = {};", quoted(&i.entry)));
    w.line(format!(
        "enum {{ REMC_SIZES = {}, REMC_PARAMS = {}, REMC_RESULTS = {} }};",
        i.sizes.len(),
        api::words(i),
        i.results
    ));
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
    w.line("{0, false, 0, 0, 0}");
    w.close("};");
    let mut out = w.finish() + &inputs + &t.boxes.finish();
    out.push_str("static const remc_output_part remc_output_parts[] = {\n");
    t.outputs.iter().for_each(|part| out.push_str(&format!("  {part},\n")));
    out.push_str("};\n");
    Ok((out, solved))
}

/// A dim as a number: that of a size counts down from -1.
fn encoded(s: &Size) -> String {
    match s {
        Size::Known(n) => n.to_string(),
        Size::Given(k) => (-1 - *k as i64).to_string(),
    }
}

struct Tables<'a> {
    p: &'a Program,
    i: &'a Interface,
    /// How many axes the shape variables of the entry stand for.
    ranks: FxHashMap<u32, usize>,
    inputs: Vec<String>,
    leaf: usize,
    outputs: Vec<String>,
    boxes: Writer,
    count: usize,
    equations: Equations,
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
        let (is_tuple, leaf) = match (input, &ty.atom) {
            (Input::Array(_), _) => {
                if let Some(leaf) = self.i.leaves.get(self.leaf) {
                    self.equations.learn(leaf, says);
                }
                self.leaf += 1;
                (false, self.leaf - 1)
            }
            (Input::Tuple(fields), AtomTy::Tuple(q)) if fields.len() == q.fields.len() => {
                for ((name, field), (_, ty)) in fields.iter().zip(&q.fields) {
                    self.input(field, name.as_ref(), ty, says)?;
                }
                (true, 0)
            }
            _ => return wrong("an input of another type"),
        };
        says.truncate(outer);
        let next = self.inputs.len();
        self.inputs[at] = format!("{{{}, {is_tuple}, {axes}, {next}, {leaf}}}", label(name));
        Ok(at)
    }

    /// Adds the parts of the value.
    fn output(&mut self, output: &Output, name: Option<&Name>, known: &Known) -> Result<(), Error> {
        let word = |at: usize| {
            self.i.words.get(at).copied().ok_or_else(|| Error("a result that is not given".into()))
        };
        let at = self.outputs.len();
        let (kind, word, axes, base, function) = match output {
            Output::Array(position) => {
                let Some(a) = self.p.results.get(*position) else {
                    return wrong("a result that is not given");
                };
                let (base, rank) = rank(self.p, *a)?;
                let axes = rank.map_or(-1, |n| n as i64);
                ('[', word(*position)?, axes, c_constant(base), "0".to_owned())
            }
            Output::Tuple { frame, .. } => {
                let first = frame.first().map_or(Ok(0), |at| word(*at))?;
                ('(', first, frame.len() as i64, "0", "0".to_owned())
            }
            Output::Box { .. } => {
                self.count += 1;
                ('#', 0, 0, "0", format!("remc_box_{}", self.count))
            }
            Output::Boxes { .. } | Output::Part { .. } | Output::Parts { .. } => {
                return wrong("an array of boxes");
            }
        };
        self.outputs.push(String::new());
        match output {
            Output::Array(_) | Output::Boxes { .. } | Output::Part { .. } | Output::Parts { .. } => {}
            Output::Tuple { fields, .. } => {
                for (name, field) in fields {
                    self.output(field, name.as_ref(), known)?;
                }
            }
            Output::Box { ty, witnesses, contents } => {
                let AtomTy::Sigma(sigma) = ty else { return wrong("a box of another type") };
                let mut inside = known.clone();
                let mut values = Vec::new();
                for (param, witness) in sigma.params.iter().zip(witnesses) {
                    let positions: &[usize] = match witness {
                        Witness::Dim(at) => std::slice::from_ref(at),
                        Witness::Shape(all) => all,
                    };
                    let mut all = Vec::new();
                    for at in positions {
                        all.push(format!("(i64)results[{}]", self.i.words.get(*at).copied().unwrap_or(0)));
                    }
                    inside.bind(param, all.clone());
                    values.push((witness, all));
                }
                self.boxed(&function, sigma, &values, known);
                self.output(contents, None, &inside)?;
            }
        }
        let next = self.outputs.len();
        self.outputs[at] =
            format!("{{'{kind}', {}, {next}, {word}, {axes}, {base}, {function}}}", label(name));
        Ok(())
    }

    /// The function that prints a box up to its contents: `(box ((n 3)) [int n] `.
    fn boxed(&mut self, function: &str, sigma: &SigmaTy, values: &[(&Witness, Vec<String>)], known: &Known) {
        let sigma = sigma.named_for_values(&mut 0);
        let mut pieces = Pieces::default();
        pieces.text("(box (");
        for (k, (param, (witness, all))) in sigma.params.iter().zip(values).enumerate() {
            pieces.text(&format!("{}({param} ", if k > 0 { " " } else { "" }));
            let is_shape = matches!(witness, Witness::Shape(_));
            pieces.text(if is_shape { "[" } else { "" });
            for (k, value) in all.iter().enumerate() {
                pieces.text(if k > 0 { " " } else { "" });
                pieces.value(value);
            }
            pieces.text(if is_shape { "])" } else { ")" });
        }
        pieces.text(") ");
        let mut slots = Slots { known, values: Vec::new() };
        let body = slots.array(&sigma.body).to_string();
        for (k, part) in body.split(MARK).enumerate() {
            // Between two marks is the number of a value.
            match part.parse::<usize>().ok().filter(|_| k % 2 == 1).and_then(|n| slots.values.get(n)) {
                Some(value) => pieces.value(value),
                None => pieces.text(part),
            }
        }
        pieces.text(" ");
        let arguments: String = pieces.values.iter().map(|v| format!(", {v}")).collect();
        self.boxes
            .open(format!("static void {function}(FILE *out, const u64 *params, const u64 *results) {{"));
        self.boxes.line("(void)params;");
        self.boxes.line("(void)results;");
        self.boxes.line(format!("fprintf(out, {}{arguments});", quoted(&pieces.format)));
        self.boxes.close("}");
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

/// A format of C's `printf`, and what it prints.
#[derive(Default)]
struct Pieces {
    format: String,
    values: Vec<String>,
}

impl Pieces {
    fn text(&mut self, text: &str) {
        self.format.push_str(&text.replace('%', "%%"));
    }

    fn value(&mut self, value: &str) {
        self.format.push_str("%lld");
        self.values.push(value.to_owned());
    }
}

/// The sizes that are known when the program runs: in C, by variable.
#[derive(Clone, Default)]
struct Known(FxHashMap<u32, Vec<String>>);

impl Known {
    fn bind(&mut self, v: &IVar, values: Vec<String>) {
        self.0.insert(v.id, values);
    }

    /// A dim of which all is known, in C.
    fn polynomial(&self, d: &Dim) -> Option<String> {
        let mut terms = Vec::new();
        for (monomial, coefficient) in d.terms() {
            let factors = monomial.iter().map(|v| self.value(v)).collect::<Option<Vec<_>>>()?;
            terms.push(
                std::iter::once(format!("{coefficient}ll")).chain(factors).collect::<Vec<_>>().join(" * "),
            );
        }
        Some(if terms.is_empty() { "0ll".to_owned() } else { terms.join(" + ") })
    }

    /// What stands for a variable in C.
    fn value(&self, v: &DimVar) -> Option<String> {
        match v {
            DimVar::Rigid(v) => self.0.get(&v.id)?.first().cloned(),
            DimVar::RankOf(ShapeVar::Rigid(v)) => Some(format!("{}ll", self.0.get(&v.id)?.len())),
            DimVar::SizeOf(ShapeVar::Rigid(v)) => {
                let sizes = self.0.get(&v.id)?.iter().map(String::as_str);
                Some(std::iter::once("1ll").chain(sizes).collect::<Vec<_>>().join(" * "))
            }
            _ => None,
        }
    }
}

/// What stands around the number of a value in the name of a variable.
const MARK: char = '\u{1}';

/// Replaces what is known in a type by variables whose names are marks.
struct Slots<'a> {
    known: &'a Known,
    values: Vec<String>,
}

impl Slots<'_> {
    fn slot(&mut self, value: String) -> Dim {
        self.values.push(value);
        let n = self.values.len() - 1;
        Dim::rigid(IVar::dim(u32::MAX - n as u32, format!("{MARK}{n}{MARK}")))
    }

    fn array(&mut self, ty: &ArrTy) -> ArrTy {
        let mut items = Vec::new();
        for item in ty.shape.items() {
            match item {
                ShapeItem::Dim(d) => items.push(ShapeItem::Dim(self.dim(d))),
                ShapeItem::Var(ShapeVar::Rigid(v)) if self.known.0.contains_key(&v.id) => {
                    let all = self.known.0[&v.id].clone();
                    items.extend(all.into_iter().map(|value| ShapeItem::Dim(self.slot(value))));
                }
                other => items.push(other.clone()),
            }
        }
        ArrTy::new(self.atom(&ty.atom), Shape(items))
    }

    fn atom(&mut self, ty: &AtomTy) -> AtomTy {
        match ty {
            AtomTy::Tuple(q) => {
                AtomTy::tuple(q.fields.iter().map(|(l, t)| (l.clone(), self.array(t))).collect())
            }
            AtomTy::Sigma(s) => AtomTy::sigma(s.params.clone(), self.array(&s.body)),
            other => other.clone(),
        }
    }

    /// A dim of which all is known becomes its value; one that mentions what a box hides stays as it is
    /// written, with what is known put in.
    fn dim(&mut self, d: &Dim) -> Dim {
        match self.known.polynomial(d) {
            Some(value) if d.vars().next().is_some() => self.slot(value),
            Some(_) => d.clone(),
            None => d.substitute(&mut |v| self.known.value(v).map(|value| self.slot(value))),
        }
    }
}

//! The plan: a function of the host that allocates, launches and decides.
//!
//! ```text
//! static i32 remc_run(remc_context *context, const u64 *params, u64 *results);
//! ```
//!
//! takes a word for each parameter of the program, a scalar's bits or a buffer's address in the device's
//! memory, and gives for each result its bits, or the buffer's address and its dims. 0 means finished;
//! else the context says what has stopped the program.

use crate::body::{Body, Printed, Side};
use crate::checks::quoted;
use crate::names::identifier;
use crate::scalar::{self, type_name};
use crate::{Linkage, fixed, kernel};
use remc_base::{BaseTy, Name, Prov, Scalar, Trap, spelling};
use remc_kernel::contract;
use remc_kernel::ir::*;
use rustc_hash::FxHashMap;

/// The text of the plan.
pub fn print(p: &Program, traps: &FxHashMap<Trap, u32>, linkage: Linkage) -> Printed<String> {
    let mut b = Body::new(p, Side::Host, traps, contract::fused(p, &p.plan));
    b.inlinable = crate::inline::inlinable(p, &p.plan, &p.results);
    let named = p.thresholds();
    if !named.is_empty() {
        thresholds(&mut b, &named);
    }
    let function = match linkage {
        Linkage::Named => "extern \"C\" i32 remc_entry",
        Linkage::Own => "static i32 remc_run",
    };
    b.w.open(format!("{function}(remc_context *context, const u64 *params, u64 *results) {{"));
    if !named.is_empty() {
        b.w.line(format!(
            "const i64 *const remc_thresholds = remc_thresholds_in(context, remc_own_thresholds, {});",
            named.len()
        ));
        b.w.line("if (!remc_thresholds) return 1;");
    }
    for (k, v) in p.params.iter().enumerate() {
        let name = b.name(*v);
        match p.ty(*v) {
            Ty::Scalar(t) => {
                b.w.line(format!(
                    "const {} {name} = {};",
                    type_name(*t),
                    from_word(*t, &format!("params[{k}]"))
                ));
            }
            Ty::Buffer(t) => {
                let ty = type_name(t.base);
                b.w.line(format!("{ty} *const {name} = ({ty} *)params[{k}];"));
            }
        }
    }
    b.block(&p.plan)?;
    let mut at = 0;
    for a in &p.results {
        let text = b.atom(*a);
        match a.as_var().and_then(|v| p.buffer_ty(v)) {
            Some(ty) => {
                b.w.line(format!("results[{at}] = (u64){text};"));
                for (k, d) in ty.dims.iter().enumerate() {
                    let d = b.atom(*d);
                    b.w.line(format!("results[{}] = (u64){d};", at + k + 1));
                }
                at += 1 + ty.dims.len();
            }
            None => {
                let ty = b.ty(*a)?;
                b.w.line(format!("results[{at}] = (u64)remc::word(({}){text});", type_name(ty)));
                at += 1;
            }
        }
    }
    b.w.line("return 0;");
    b.w.close("}");
    Ok(b.w.finish())
}

/// The table of thresholds, and a constant with its place there for each.
///
/// ```text
/// enum : u32 { remc_par_outer_rows_1 };
/// static const remc_threshold remc_own_thresholds[] = {
///   {"main/par.outer/rows:1", "par.outer", 512},
/// };
/// ```
fn thresholds(b: &mut Body, named: &[(Name, i64)]) {
    let mut constants: Vec<String> = Vec::new();
    let entry = format!("{}/", b.p.name);
    for (name, _) in named {
        let short = name.as_str().strip_prefix(&entry).unwrap_or(name.as_str());
        let taken = |c: &str| constants.iter().any(|other| other == c);
        constants.push(spelling::unused(&format!("remc_{}", identifier(short)), taken));
    }
    b.w.line("// Sizes are compared with these where there are versions of something.");
    b.w.line(format!("enum : u32 {{ {} }};", constants.join(", ")));
    b.w.open("static const remc_threshold remc_own_thresholds[] = {");
    for (name, value) in named {
        let (name, kind) = (quoted(name.as_str()), quoted(kind(name.as_str())));
        b.w.line(format!("{{{name}, {kind}, {}}},", scalar::constant(Scalar::I64(*value))));
    }
    b.w.close("};");
    b.thresholds = named.iter().map(|(name, _)| name.clone()).zip(constants).collect();
}

/// The kind of the threshold of a name.
pub fn kind(name: &str) -> &'static str {
    remc_flat::flatten::Threshold::of_name(name).map_or("", |t| t.name())
}

/// The scalar whose bits a word has.
pub fn from_word(t: BaseTy, word: &str) -> String {
    match t {
        BaseTy::F16 => format!("remc::f16_bits((u16){word})"),
        BaseTy::F32 => format!("remc::f32_bits((u32){word})"),
        BaseTy::F64 => format!("remc::f64_bits({word})"),
        BaseTy::Bool => format!("{word} != 0"),
        t => format!("({}){word}", type_name(t)),
    }
}

impl Body<'_> {
    pub fn alloc(&mut self, buffer: Var, prov: Prov) -> Printed {
        let ty = self.buffer_ty(buffer)?.clone();
        let dims: Vec<String> = ty.dims.iter().map(|d| self.atom(*d)).collect();
        let (base, name) = (type_name(ty.base), self.name(buffer));
        let dims =
            format!("{{{}}}", std::iter::once("1".to_owned()).chain(dims).collect::<Vec<_>>().join(", "));
        let (prov, rank) = (prov.0, ty.dims.len());
        self.w.line(format!(
            "{base} *const {name} = ({base} *)remc_alloc(context, {prov}, sizeof({base}), {rank}, \
             remc_dims<{}>{dims}.at + 1);",
            rank + 1
        ));
        self.w.line(format!("if (!{name}) return 1;"));
        Ok(())
    }

    /// Where the rows of `of` from number `first` on begin.
    pub fn slice(&mut self, buffer: Var, of: Var, first: Atom) -> Printed {
        if first.as_int() == Some(0) {
            let of = self.name(of);
            self.names.alias(buffer, of);
            return Ok(());
        }
        let ty = self.buffer_ty(of)?.clone();
        let sizes = std::iter::once(first).chain(ty.dims.iter().skip(1).copied());
        let index = sizes.map(|a| self.atom(a)).collect::<Vec<_>>().join(" * ");
        let (base, from, name) = (type_name(ty.base), self.name(of), self.name(buffer));
        self.w.line(format!("{base} *const {name} = {from} + {index};"));
        Ok(())
    }

    pub fn launch(&mut self, id: KernelId, args: &[Atom], prov: Prov) -> Printed {
        let p = self.p;
        let Some(k) = p.kernels.get(id) else { return Err(kernel::missing(id)) };
        let given: FxHashMap<Var, Atom> = k.params.iter().copied().zip(args.iter().copied()).collect();
        let mut sizes = vec!["1".to_owned()];
        for (_, size) in &k.grid {
            let size = match size {
                Atom::Var(v) => *given.get(v).ok_or_else(|| kernel::missing(id))?,
                c => *c,
            };
            sizes.push(self.atom(size));
        }
        let (rank, threads) = (k.grid.len(), fixed::name(id, k, "threads"));
        let mut texts: Vec<String> = args.iter().map(|a| self.atom(*a)).collect();
        // A constant has the type of its parameter.
        for (text, v) in texts.iter_mut().zip(&k.params) {
            if let Ty::Scalar(t) = p.ty(*v) {
                *text = format!("({}){text}", type_name(*t));
            }
        }
        texts.extend(["blocks".to_owned(), "context->failure".to_owned()]);
        self.w.open("{");
        self.w.line("u64 blocks;");
        self.w.line(format!(
            "if (!remc_grid(context, {}, {rank}, remc_dims<{}>{{{}}}.at + 1, &blocks)) return 1;",
            prov.0,
            rank + 1,
            sizes.join(", ")
        ));
        self.w.open("if (blocks != 0) {");
        if k.is_chained() {
            texts.push("context->ticket".to_owned());
            self.w.line("if (!remc_take_tickets(context)) return 1;");
        }
        let most = if kernel::has_scratch(p, k) { "remc_workers(context)" } else { "0" };
        self.w.line(format!(
            "REMC_LAUNCH({}, remc_size(blocks, {}, {threads}, {most}), {threads}, 0, context->stream, {});",
            kernel::symbol(id, k),
            fixed::name(id, k, "packed"),
            texts.join(", ")
        ));
        let checks = kernel::has_checks(&k.body);
        self.w.line(format!("if (!remc_launched(context, {checks})) return 1;"));
        self.w.close("}");
        self.w.close("}");
        Ok(())
    }
}

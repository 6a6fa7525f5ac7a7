//! `remc compile`, and what it shares with running on a device: dumps, and what is not compiled yet.

use crate::args::{Compile, Ir, Source};
use crate::codes;
use crate::commands::{cannot_write, choose, destination, load, may_write, new_session, protected, write};
use crate::cuda;
use crate::report::{Failure, Outcome, Reporter, fail, to_stderr, usage};
use crate::tune::pick::Pick;
use remc_base::{Diagnostic, Name, Severity, Span};
use remc_driver::compile::{CompileError, Kind, Number, Options, Stop, Streams, Tuning, Watch};
use remc_driver::pipeline::Stage;
use remc_driver::{Def, InternalBug, LinkedProgram, Session, SourceFile};
use remc_mono::limits::{Construct, Limitation, TooLarge};
use remc_mono::stream::Unstreamable;
use remc_runtime::files::{self, Protected};
use remc_tune::file::structure;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

pub fn compile(args: &Compile, reporter: &Reporter) -> Outcome {
    let mut session = new_session();
    let file = load(&mut session, &args.source)?;
    reporter.check(&session, &session.diagnostics(file))?;
    loaded(&session, file, args, reporter)
}

/// Compiles what is loaded; what of it has errors is not needed.
pub fn loaded(session: &Session, file: SourceFile, args: &Compile, reporter: &Reporter) -> Outcome {
    let roots: Vec<Def> = session.value_defs(file);
    let program = session.link(file, &roots);
    session.verify(&program, file)?;
    let protected = protected(session, &args.source, &[]);
    if let Some(path) = destination(&args.output) {
        may_write(path, &protected)?;
    }
    match args.emit {
        None | Some(Ir::Cuda) => {
            let asked = args.output.is_some() || args.emit.is_some();
            let to = if asked { destination(&args.output).map(Path::to_owned) } else { beside(&args.source) };
            let files = cuda::Files::new(to, asked, &protected)?;
            emit(session, file, args, (Ir::Cuda, Some(&files)), protected, reporter)
        }
        Some(Ir::Typed) => write(&args.output, remc_typed::print::print_program(&program.order).as_bytes()),
        Some(what) => emit(session, file, args, (what, None), protected, reporter),
    }
}

/// Where the CUDA of a program goes if nothing is said of that; a program without a file has no such place.
fn beside(source: &Source) -> Option<PathBuf> {
    source.file.as_ref().filter(|path| path.as_os_str() != "-").map(|path| path.with_extension("cu"))
}

/// Writes what one stage makes of an entry, or of the file's value; of CUDA there may be several entries.
fn emit(
    session: &Session,
    file: SourceFile,
    args: &Compile,
    (what, files): (Ir, Option<&cuda::Files>),
    protected: Protected,
    reporter: &Reporter,
) -> Outcome {
    let is_cuda = matches!(what, Ir::Cuda | Ir::CudaHeader);
    let targets = targets(session, file, args, is_cuda)?;
    let program = session.link(file, &targets);
    let ranks = ranks(session, &program, &targets, &args.ranks)?;
    let one = One { session, file, program: &program, targets: &targets, args, what };
    let mut dumps = Dumps::new(args.dump_dir.as_deref(), protected)?;
    if !is_cuda {
        let made = one.compile(targets[0], &ranks[0], &mut dumps, reporter)?;
        return write(&args.output, &text(session, &made, what)?);
    }
    let mut all = Vec::new();
    for (target, ranks) in targets.iter().zip(ranks) {
        if targets.len() > 1 {
            dumps.enter(target.name(&session.db))?;
        }
        let Made { stop, code, fixed } = one.compile(*target, &ranks, &mut dumps, reporter)?;
        let Stop::Kernel(kernels) = stop else {
            return Err(Failure::Bug(InternalBug { stage: "lower", message: "another language".into() }));
        };
        let program = kernels.program.clone();
        let signature = one.program.get(&target.global(&session.db)).and_then(|d| d.entry.clone());
        all.push(cuda::Compiled { program, signature, ranks, code, fixed });
    }
    let product = cuda::product(session, &all)?;
    let Some(files) = files else { return write(&args.output, product.header.as_bytes()) };
    files.write(&product)?;
    if args.emit.is_none() && !files.is_empty() {
        to_stderr(&format!("{files}: CUDA for nvcc, with versions that are chosen when it runs\n"));
    }
    Ok(())
}

/// What is compiled: the entries that are named, else the last expression, else the only entry, or all of CUDA's.
fn targets<'s>(
    session: &'s Session,
    file: SourceFile,
    args: &Compile,
    is_cuda: bool,
) -> Outcome<Vec<Def<'s>>> {
    let named = args.entry.iter().map(|name| choose(session, file, &Some(name.clone()), &[]));
    let mut named = named.collect::<Outcome<Vec<Def<'s>>>>()?;
    let mut seen = Vec::new();
    named.retain(|d| {
        !seen.contains(d) && {
            seen.push(*d);
            true
        }
    });
    let entries = session.entries(file);
    match named.len() {
        0 if is_cuda && session.value(file).is_none() && !entries.is_empty() => Ok(entries),
        0 => Ok(vec![choose(session, file, &None, &[])?]),
        1 => Ok(named),
        _ if is_cuda => Ok(named),
        _ => {
            let names: Vec<String> = named.iter().map(|d| format!("`{}`", d.name(&session.db))).collect();
            let d = usage(codes::CHOOSE_ENTRY, format!("one entry is compiled, not {}", names.join(" and ")));
            fail(d.help("compile them one after the other; CUDA alone has several entries in one file"))
        }
    }
}

/// A program that is compiled.
struct Made {
    stop: Stop,
    /// The structure of its code.
    code: String,
    /// The numbers of its schedules, by their names.
    fixed: Vec<(String, i64)>,
}

/// The compilation of one of several programs.
struct One<'a> {
    session: &'a Session,
    file: SourceFile,
    program: &'a LinkedProgram,
    targets: &'a [Def<'a>],
    args: &'a Compile,
    what: Ir,
}

impl One<'_> {
    /// Compiles as far as is wanted.
    fn compile(
        &self,
        target: Def<'_>,
        ranks: &[usize],
        dumps: &mut Dumps,
        reporter: &Reporter,
    ) -> Outcome<Made> {
        let (session, args) = (self.session, self.args);
        let to = match self.what {
            Ir::Typed | Ir::Explicit => "explicit",
            Ir::Mono | Ir::Futhark => "mono",
            Ir::Flat => "flat",
            Ir::Kernel | Ir::Llvm | Ir::Asm | Ir::Object | Ir::Header | Ir::Cuda | Ir::CudaHeader => "kernel",
        };
        let is_cuda = matches!(self.what, Ir::Cuda | Ir::CudaHeader);
        // What is looked at is what the cpu device runs; what is part of other programs has streams as arrays.
        let streams = match self.what {
            Ir::Flat | Ir::Kernel | Ir::Llvm | Ir::Asm => Streams::Pieces,
            _ => Streams::Whole,
        };
        let tuning =
            if is_cuda { Tuning::gpu() } else { crate::machine::tuning() }.with(&args.versions.kinds());
        let on = if is_cuda { "cuda" } else { "cpu" };
        let name = target.name(&session.db);
        let pick = Pick::find(session, &args.versions, &args.source, (name.as_str(), on, ranks))?;
        let code = RefCell::new(String::new());
        let tuned = |p: &_| {
            *code.borrow_mut() = structure(p);
            pick.values(session, p)
        };
        let tuned = Some(&tuned as &dyn Fn(&_) -> _);
        let (mut named, size_limit) = (args.versions.named(), args.size.limit);
        named.retain(|number, _| self.owner(number).is_none_or(|owner| owner == name));
        let stop_after = args.stop_after_pass;
        let numbers = RefCell::new(Vec::new());
        let read = |all: &[Number]| *numbers.borrow_mut() = all.to_vec();
        let read = Some(&read as &dyn Fn(&[Number]));
        let to = Some(to);
        let options =
            Options { to, stop_after, tuning, tuned, named, read, size_limit, streams, ..Options::default() };
        let stop = dumps.compile(session, self.file, &[target], ranks, options);
        reporter.show(session, &session.notices());
        let stop = stop?.or_else(|e| refuse(session, reporter, e))?;
        match &stop {
            Stop::Kernel(p) => pick.show(&p.program.thresholds(), &p.numbers),
            Stop::Flat(p) => pick.show(&thresholds(p), &[]),
            _ => {}
        }
        let fixed = numbers.borrow().iter().map(|n| (n.name(name.as_str()), n.value)).collect();
        Ok(Made { stop, code: code.into_inner(), fixed })
    }

    /// Whose a number is, by its name: the longest, where one entry's name begins with another's.
    fn owner(&self, number: &str) -> Option<&Name> {
        let names = self.targets.iter().map(|t| t.name(&self.session.db));
        let owns =
            |name: &&Name| number.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('/'));
        names.filter(owns).max_by_key(|name| name.as_str().len())
    }
}

/// A program as the text, or the bytes, that it is written as.
fn text(session: &Session, made: &Made, what: Ir) -> Outcome<Vec<u8>> {
    Ok(match (&made.stop, what) {
        (Stop::Explicit(all), _) => remc_explicit::print::print_program(all).into_bytes(),
        (Stop::Mono(p), Ir::Futhark) => crate::futhark::text(session, p)?.into_bytes(),
        (Stop::Mono(p), _) => remc_mono::print::print_program(p).into_bytes(),
        (Stop::Flat(p), _) => remc_flat::print::print_program(p).into_bytes(),
        (Stop::Kernel(p), Ir::Kernel) => remc_kernel::print::print_program(&p.program).into_bytes(),
        (Stop::Kernel(p), Ir::Header) => crate::header::header(&p.program, &made.fixed).into_bytes(),
        #[cfg(feature = "llvm")]
        (Stop::Kernel(p), what) => crate::native::emit(&p.program, what)?,
        #[cfg(not(feature = "llvm"))]
        (Stop::Kernel(_), _) => return Err(without_llvm("it cannot make machine code")),
    })
}

/// The thresholds of a program and their values.
pub fn thresholds(p: &remc_flat::ir::Program) -> Vec<(Name, i64)> {
    p.tests().into_iter().map(|t| (t.threshold.clone(), t.value)).collect()
}

/// What a build without LLVM says of what needs it.
#[cfg(not(feature = "llvm"))]
pub fn without_llvm(so: &str) -> Failure {
    let d = usage(codes::DEVICE, format!("this remc was built without LLVM, so {so}"));
    Failure::Usage(Box::new(d.help("build remc with its feature `llvm`, which is on unless left out")))
}

/// The ranks of the shape variables of some entries, which the command line gives one entry after the other.
pub fn ranks(
    session: &Session,
    program: &LinkedProgram,
    targets: &[Def<'_>],
    given: &[usize],
) -> Outcome<Vec<Vec<usize>>> {
    let vars = |target: &Def<'_>| -> Vec<String> {
        let global = target.global(&session.db);
        let entry = program.get(&global).and_then(|d| d.entry.as_ref());
        let shapes = entry.iter().flat_map(|e| &e.indices).filter(|v| v.sort == remc_base::Sort::Shape);
        shapes.map(|v| format!("`{v}`")).collect()
    };
    let all: Vec<Vec<String>> = targets.iter().map(vars).collect();
    let count: usize = all.iter().map(Vec::len).sum();
    if count == given.len() {
        let mut rest = given;
        let own = |vars: &Vec<String>| {
            let (own, others) = rest.split_at(vars.len());
            rest = others;
            own.to_vec()
        };
        return Ok(all.iter().map(own).collect());
    }
    let given = match given.len() {
        0 => "no ranks were given".to_owned(),
        1 => "one rank was given".to_owned(),
        n => format!("{n} ranks were given"),
    };
    let name = |t: &Def<'_>| format!("`{}`", t.global(&session.db));
    let names: Vec<String> = targets.iter().map(name).collect();
    let whose = names.join(", ");
    let have = if names.len() == 1 { "has" } else { "have" };
    let list = all.iter().zip(&names).flat_map(|(vars, name)| {
        vars.iter().map(move |v| if targets.len() == 1 { v.clone() } else { format!("{v} of {name}") })
    });
    let list: Vec<String> = list.collect();
    fail(match list.as_slice() {
        [] => usage(codes::RANKS, format!("{whose} {have} no shape variables, but {given}"))
            .help("leave out --ranks"),
        [one] => usage(codes::RANKS, format!("{whose} {have} the shape variable {one}, but {given}"))
            .help(format!("say how many axes {one} stands for, for example --ranks 1")),
        all => {
            let (list, ones) = (all.join(", "), vec!["1"; all.len()].join(","));
            usage(codes::RANKS, format!("{whose} {have} the shape variables {list}, but {given}"))
                .help(format!("say how many axes each stands for, in this order, for example --ranks {ones}"))
        }
    })
}

/// Writes the program after each pass into a folder.
#[derive(Default)]
pub struct Dumps {
    /// Where all dumps go, and those of the program at hand.
    whole: Option<PathBuf>,
    folder: Option<PathBuf>,
    /// What no dump replaces.
    protected: Protected,
    failed: Option<Failure>,
}

impl Dumps {
    pub fn new(folder: Option<&Path>, protected: Protected) -> Outcome<Dumps> {
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        }
        let folder = folder.map(Path::to_owned);
        Ok(Dumps { whole: folder.clone(), folder, protected, failed: None })
    }

    /// The dumps of an entry of several go into a folder of its own.
    fn enter(&mut self, entry: &Name) -> Outcome {
        let Some(folder) = &self.whole else { return Ok(()) };
        let own = folder.join(remc_base::spelling::identifier(entry.as_str(), "_prime"));
        std::fs::create_dir_all(&own).map_err(|e| cannot_write(&own, &e))?;
        self.folder = Some(own);
        Ok(())
    }

    /// A file named by the pass's number, its name, and the language it wrote.
    pub fn add(&mut self, number: usize, stage: Stage, text: &dyn Fn() -> String) {
        let Some(folder) = &self.folder else { return };
        if self.failed.is_some() {
            return;
        }
        let info = stage.info();
        let path = folder.join(format!("{number:02}-{}.{}", info.name, info.to));
        let done = may_write(&path, &self.protected).and_then(|()| {
            let text = text();
            files::write_atomically(&path, |out| out.write_all(text.as_bytes()))
                .map_err(|e| cannot_write(&path, &e))
        });
        self.failed = done.err();
    }

    /// Compiles as far as is wanted, with a dump of each step.
    pub fn compile(
        &mut self,
        session: &Session,
        file: SourceFile,
        targets: &[Def<'_>],
        ranks: &[usize],
        options: Options<'_>,
    ) -> Outcome<Result<Stop, CompileError>> {
        self.add(2, Stage::Check, &|| {
            let program = match targets {
                [_] => session.link(file, targets),
                _ => session.link_together(file, targets).0,
            };
            remc_typed::print::print_program(&program.order)
        });
        let folder = self.folder.is_some();
        let mut watch = |n: usize, s: Stage, t: &dyn Fn() -> String| self.add(n, s, t);
        let watch: Option<Watch<'_>> = if folder { Some(&mut watch) } else { None };
        let options = Options { watch, ..options };
        let stop = session.compile(file, targets, ranks, options);
        match self.failed.take() {
            Some(failure) => Err(failure),
            None => Ok(stop),
        }
    }
}

/// Reports what is not compiled; nothing else can run it here.
pub fn refuse<T>(session: &Session, reporter: &Reporter, e: CompileError) -> Outcome<T> {
    match e {
        CompileError::Bug(bug) => Err(Failure::Bug(bug)),
        CompileError::NoNumber(..) | CompileError::NoSize(..) | CompileError::Numbers(..) => {
            fail(refusal(session, e))
        }
        CompileError::Limitation(_) | CompileError::TooLarge(_) | CompileError::Unstreamable(..) => {
            reporter.show(session, &[refusal(session, e)]);
            Err(Failure::Refused)
        }
    }
}

/// Why something is not compiled.
pub fn refusal(session: &Session, e: CompileError) -> Diagnostic<Span> {
    match e {
        CompileError::Bug(bug) => {
            let said = format!("remc has made a mistake in the stage `{}`: {}", bug.stage, bug.message);
            Diagnostic::error(codes::DEVICE, said)
        }
        CompileError::Limitation(l) => limitation(session, &l),
        CompileError::NoNumber(name, thresholds, sites) => no_number(&name, &thresholds, &sites),
        CompileError::NoSize(name, known) => no_size(&name, &known),
        CompileError::Numbers(site, why) => {
            let of = site.map(|s| format!(" of `{s}`")).unwrap_or_default();
            let d = usage(codes::THRESHOLD, format!("the numbers{of} cannot be together: {why}"));
            d.help("give another value by --threshold, or in the tuning file")
        }
        CompileError::Unstreamable(e, at) => unstreamable(session, &e, &at),
        CompileError::TooLarge(t) => {
            too_large(session, &t).help("the reference interpreter runs it: `--device interp`")
        }
    }
}

/// A value for a number that the program does not have.
fn no_number(name: &str, thresholds: &[Name], sites: &[Name]) -> Diagnostic<Span> {
    let list = |names: &[Name]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let Some(Kind::Field(field)) = Kind::of_name(name) else {
        let d = usage(codes::THRESHOLD, format!("the program has no threshold `{name}`"));
        return match thresholds {
            [] => d.help("it has no versions to choose between: leave out --threshold"),
            known => d.help(format!("it has {}", list(known))),
        };
    };
    let d = usage(codes::THRESHOLD, format!("the program has no number `{name}` for this device"));
    let d = match sites {
        [] => d.help("nothing of it is run by kernels: leave out --threshold"),
        sites => {
            d.help(format!("`{field}` is written ENTRY/{field}/OPERATOR; its operators are {}", list(sites)))
        }
    };
    d.help("`--show tuning` lists the numbers that there are")
}

/// A value for a size that none of the operators' versions could be chosen by.
fn no_size(name: &str, known: &[(Name, Vec<String>)]) -> Diagnostic<Span> {
    let d = usage(codes::THRESHOLD, format!("the program has no operator and size of the name `{name}`"));
    let one = |(site, sizes): &(Name, Vec<String>)| format!("`{site}` ({})", sizes.join(", "));
    let known: Vec<String> = known.iter().filter(|(_, sizes)| !sizes.is_empty()).map(one).collect();
    match known.as_slice() {
        [] => d.help("none of it runs along an axis: leave out --threshold"),
        all => d.help(format!(
            "`by.size` is written ENTRY/by.size/OPERATOR@VERSION/SIZE, with versions from 2 on; its operators and their \
             sizes are {}",
            all.join(", ")
        )),
    }
}

/// A program of more parts than it may have, as an error.
pub fn too_large(session: &Session, t: &TooLarge) -> Diagnostic<Span> {
    let mut d = Diagnostic::error(codes::PROGRAM_TOO_LARGE, t.to_string());
    // What grows is the whole program: the innermost place is where the limit happened to be passed.
    let user = t.at.iter().rev().find(|(g, _)| g.module >= session.first_user_module());
    if let Some(span) = user.or(t.at.first()).and_then(|(g, node)| session.node_span(g, *node)) {
        d = d.primary(span, "what is written out here is the most of it, or the last");
    }
    d.help("call large functions from fewer places, map them over an array, or repeat them with `iterate`")
        .help(format!("`--size-limit {}` lets the program be four times as large", 4 * t.most))
}

/// What needs a stream as a whole.
fn unstreamable(
    session: &Session,
    e: &Unstreamable,
    at: &[(remc_base::GlobalId, remc_base::NodeId)],
) -> Diagnostic<Span> {
    // What the program makes itself has no name.
    let (stream, whole) = match e.stream.as_str() {
        "" => ("a stream that the program makes".to_owned(), "(collect (produce …))".to_owned()),
        name => (format!("the stream `{name}`"), format!("(collect {name})")),
    };
    let mut d = Diagnostic::error(
        codes::UNSTREAMABLE,
        format!("{stream} is gone through from the left, a piece at a time: this {}", e.why.says()),
    );
    let user = at.iter().find(|(g, _)| g.module >= session.first_user_module());
    if let Some(span) = user.or(at.first()).and_then(|(g, node)| session.node_span(g, *node)) {
        d = d.primary(span, "here all items would have to be there");
    }
    d.help(format!("`{whole}` keeps all of it in memory, and is an array as any other"))
}

/// A construct that is not compiled, as an error.
pub fn limitation(session: &Session, l: &Limitation) -> Diagnostic<Span> {
    let mut d = Diagnostic::error(code(l.construct), format!("not compiled yet: {}", l.message));
    let user = l.at.iter().find(|(g, _)| g.module >= session.first_user_module());
    if let Some(span) = user.or(l.at.first()).and_then(|(g, node)| session.node_span(g, *node)) {
        d = d.primary(span, format!("{} (`{}`)", l.construct.summary(), l.construct));
    }
    d.help(l.construct.workaround()).help("the reference interpreter runs it: `--device interp`")
}

/// The same as a warning, where the interpreter runs the program instead.
pub fn interpreted(session: &Session, l: &Limitation) -> Diagnostic<Span> {
    let message = format!("not compiled yet, so the interpreter runs it: {}", l.message);
    warning(limitation(session, l), message)
}

/// As [`too_large`], where the interpreter runs the program instead.
pub fn interpreted_whole(session: &Session, t: &TooLarge) -> Diagnostic<Span> {
    warning(too_large(session, t), format!("not compiled, so the interpreter runs it: {t}"))
}

fn warning(mut d: Diagnostic<Span>, message: String) -> Diagnostic<Span> {
    d.severity = Severity::Warning;
    d.message = message;
    d.help.retain(|h| !h.contains("--device"));
    d
}

fn code(c: Construct) -> remc_base::Code {
    match c {
        Construct::Recursion => codes::RECURSION,
    }
}

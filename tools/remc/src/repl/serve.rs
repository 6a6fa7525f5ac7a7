//! The other end of the prompt: computes what it is asked for, one request after the other.

use super::kept::{Kept, needed};
use super::request::{Request, Screen, What};
use crate::args::{Cli, Command, Device, Ir, PlotKind, Run};
use crate::codes;
use crate::commands::{choose, may_write, new_session, protected};
use crate::compile::Dumps;
use crate::evaluate::{Evaluation, Report};
use crate::report::{Failure, Outcome, Reporter, fail, to_stdout, usage};
use crate::{compile, perf, plot};
use clap::{Parser, ValueEnum};
use remc_base::value::Data;
use remc_base::{AtomTy, GlobalId, Value};
use remc_driver::names::{DefKind, def_of};
use remc_driver::pipeline::Stage;
use remc_driver::{Db, Def, InternalBug, Session, SourceFile};
use remc_plot::Colours;
use remc_runtime::display::{Room, display};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Answers requests until nobody is at the other end.
pub fn serve(reporter: &Reporter) -> Outcome {
    let broken = |e: std::io::Error| {
        let d = usage(codes::PROMPT, format!("no prompt is at the other end of standard input: {e}"));
        Failure::Usage(Box::new(d.help("`remc repl` starts its worker itself")))
    };
    let mut answers = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(broken)?);
    let requests = requests(answers.try_clone().map_err(broken)?);
    let mut served = Served { session: new_session(), file: None, kept: RefCell::default() };
    for line in requests {
        let Some(request) = Request::of_line(&line) else {
            return Err(Failure::Bug(InternalBug { stage: "prompt", message: "no request".into() }));
        };
        let code = match served.answer(&request, reporter) {
            Ok(()) => 0,
            // What is the compiler's own mistake may have left its session in two minds.
            Err(bug @ Failure::Bug(_)) => return Err(bug),
            Err(failure) => {
                reporter.tell(&failure);
                failure.exit_code()
            }
        };
        if answers.write_all(&[code]).is_err() {
            break;
        }
    }
    Ok(())
}

/// The lines that come in. Where the prompt is gone, nobody wants the run that goes on either.
fn requests(socket: UnixStream) -> mpsc::IntoIter<String> {
    let (send, receive) = mpsc::channel();
    let read = move || {
        for line in BufReader::new(socket).lines() {
            let Ok(line) = line else { break };
            if send.send(line).is_err() {
                break;
            }
        }
        std::process::exit(0);
    };
    // Without the thread there are no requests.
    let _ = std::thread::Builder::new().name("requests".into()).spawn(read);
    receive.into_iter()
}

struct Served {
    session: Session,
    file: Option<SourceFile>,
    kept: RefCell<Kept>,
}

impl Served {
    fn answer(&mut self, request: &Request, reporter: &Reporter) -> Outcome {
        self.session.refresh();
        let file = match self.file {
            Some(file) => {
                self.session.set_text(file, request.text.clone());
                file
            }
            None => self.session.load_text(super::desk::SHOWN, Path::new(""), request.text.clone()),
        };
        self.file = Some(file);
        let session = &self.session;
        self.kept
            .borrow_mut()
            .retain(|g| session.file(g.module).is_some_and(|f| def_of(&session.db, f, g).is_some()));
        let reporter = &reporter.placed(request.places(file.module(&session.db)));
        let nth = |nth: usize| match session.expressions(file).get(nth) {
            Some(def) => Ok(*def),
            None => Err(Failure::Bug(InternalBug { stage: "prompt", message: "no such expression".into() })),
        };
        let screen = request.screen;
        match &request.what {
            What::Define { names } => {
                let options = run_options(&request.options)?;
                let is_named = |d: &Def<'_>| names.contains(&d.name(&session.db).to_string());
                let mut named = session.value_defs(file).into_iter().filter(is_named);
                named.try_for_each(|d| self.keep(file, d, &options, reporter).map(|_| ()))
            }
            What::Value { nth: k } => {
                let show = &mut |value: &Value| to_stdout(&display(value, room(screen)));
                self.run(file, nth(*k)?, &run_options(&request.options)?, reporter, show).map(|_| ())
            }
            What::Run => {
                let options = run_options(&request.options)?;
                let target = choose(session, file, &options.entry, &options.inputs)?;
                let show = &mut |value: &Value| to_stdout(&display(value, room(screen)));
                self.run(file, target, &options, reporter, show).map(|_| ())
            }
            What::Shape { nth: k } => {
                let show = &mut |value: &Value| to_stdout(&format!("{}\n", shapes(value)));
                self.run(file, nth(*k)?, &run_options(&request.options)?, reporter, show).map(|_| ())
            }
            What::Time { nth: k } => self.time(file, nth(*k)?, &request.options, screen, reporter),
            What::Plot { nth: k, kind, to, title } => {
                let kind = kind.as_deref().and_then(|k| PlotKind::from_str(k, true).ok()).map(plot::kind);
                let options = run_options(&request.options)?;
                let to = to.as_deref().map(Path::new);
                let format = to.map(plot::format).transpose()?;
                if let Some(to) = to {
                    may_write(to, &protected(session, &options.source, &[]))?;
                }
                let show = &mut |value: &Value| {
                    let figure = plot::figure(value, kind, title)?;
                    match (to, format) {
                        (Some(to), Some(format)) => plot::save(&figure, format, to),
                        _ => to_stdout(&figure.terminal(picture(screen))),
                    }
                };
                self.run(file, nth(*k)?, &options, reporter, show).map(|_| ())
            }
            What::Ir => match parsed("compile", &request.options)? {
                Command::Compile(args) if args.emit == Some(Ir::Typed) => {
                    let target = choose(session, file, &args.entry.first().cloned(), &[])?;
                    let program = session.link(file, &[target]);
                    to_stdout(&remc_typed::print::print_program(&program.order))
                }
                Command::Compile(args) => compile::loaded(session, file, &args, reporter),
                _ => Ok(()),
            },
            What::Perf => match parsed("explain-perf", &request.options)? {
                Command::ExplainPerf(args) => perf::loaded(session, file, &args, reporter),
                _ => Ok(()),
            },
        }
    }

    /// The value of a definition, computed if it is not kept.
    fn keep(
        &self,
        file: SourceFile,
        def: Def<'_>,
        args: &Run,
        reporter: &Reporter,
    ) -> Outcome<Option<Value>> {
        if let Some(value) = self.kept.borrow().get(&self.session, def) {
            return Ok(Some(value.clone()));
        }
        let mut found = None;
        self.run(file, def, args, reporter, &mut |value| {
            found = Some(value.clone());
            Ok(())
        })?;
        if let Some(value) = &found {
            self.kept.borrow_mut().put(&self.session, def, value.clone());
        }
        Ok(found)
    }

    /// The values of the definitions that an expression or definition needs. One that stops is left to where it is used.
    fn given(
        &self,
        file: SourceFile,
        target: Def<'_>,
        args: &Run,
        reporter: &Reporter,
    ) -> Vec<(GlobalId, Value)> {
        let (session, quiet) = (&self.session, reporter.keeping());
        let program = session.link(file, &[target]);
        let mut all = Vec::new();
        for def in needed(session, target) {
            let name = def.global(&session.db);
            if program.get(&name).is_some()
                && let Ok(Some(value)) = self.keep(file, def, args, &quiet)
            {
                all.push((name, value));
            }
        }
        all
    }

    /// Computes an expression or a definition.
    fn run(
        &self,
        file: SourceFile,
        target: Def<'_>,
        args: &Run,
        reporter: &Reporter,
        show: &mut dyn FnMut(&Value) -> Outcome,
    ) -> Outcome<Report> {
        let session = &self.session;
        session.verify(&session.link(file, &[target]), file)?;
        // An entry has inputs of its own.
        let given = match target.kind(&session.db) {
            DefKind::Entry => Vec::new(),
            _ => self.given(file, target, args, reporter),
        };
        let given = &given[..];
        let device = crate::run::device(args);
        let expressions = vec![target.name(&session.db).clone()];
        let evaluation =
            Evaluation { session, file, args, device, expressions, reporter, output: None, given };
        let ran = evaluation.run(&[target], Dumps::default(), &mut |value| {
            reporter.show(session, &session.notices());
            show(value)
        });
        reporter.show(session, &session.notices());
        ran
    }

    /// Shows the value, and how long it took to compile and to run.
    fn time(
        &self,
        file: SourceFile,
        target: Def<'_>,
        options: &[String],
        screen: Screen,
        reporter: &Reporter,
    ) -> Outcome {
        let once = run_options(options)?;
        // What it needs is computed before, and not counted.
        self.given(file, target, &once, reporter);
        let before = self.spent();
        let show = &mut |value: &Value| to_stdout(&display(value, room(screen)));
        let report = self.run(file, target, &once, reporter, show)?;
        let after = self.spent();
        let [compiled, executed, interpreted] = [0, 1, 2].map(|k| after[k] - before[k]);
        let mut ran = report.runs().to_vec();
        let first = ran.first().copied().unwrap_or(executed + interpreted);
        let device = crate::run::device(&once);
        // What is quick is run again, as often as it takes to know better.
        if device == Device::Cpu && !ran.is_empty() && first < LONG {
            let times = (LONG.as_secs_f64() / first.as_secs_f64().max(1e-6)).clamp(1.0, 1000.0) as u32;
            let again = Run { repeat: times, ..once };
            ran.extend(self.run(file, target, &again, reporter, &mut |_| Ok(()))?.runs());
        }
        let (best, how) = match ran.iter().min() {
            Some(best) if ran.len() > 1 => {
                (*best, format!(" (the best of {} runs; the first: {})", ran.len(), said(first)))
            }
            _ => (first, String::new()),
        };
        let by =
            if device != Device::Interp && interpreted > Duration::ZERO { " by the interpreter" } else { "" };
        to_stdout(&format!("compiled in {}, ran in {}{by}{how}\n", said(compiled), said(best)))
    }

    /// How long this session has compiled, executed what was compiled, and interpreted.
    fn spent(&self) -> [Duration; 3] {
        let mut all = [Duration::ZERO; 3];
        for (stage, _, time) in self.session.db.timings().report() {
            let what = match stage {
                Stage::Execute => 1,
                Stage::Interp => 2,
                _ => 0,
            };
            all[what] += time;
        }
        all
    }
}

/// What is quicker than that is run several times.
const LONG: Duration = Duration::from_millis(200);

/// `1.24 ms`
fn said(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// The command that words of the command line say.
fn parsed(command: &str, options: &[String]) -> Outcome<Command> {
    let line = ["remc", command, "-"].into_iter().map(str::to_owned).chain(options.iter().cloned());
    match Cli::try_parse_from(line) {
        Ok(cli) => Ok(cli.command),
        Err(mut e) => {
            crate::args::make_visible(&mut e);
            let said = e.to_string();
            let first = said.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            fail(usage(codes::PROMPT, first).help(format!("`remc {command} --help` lists the options")))
        }
    }
}

fn run_options(options: &[String]) -> Outcome<Run> {
    match parsed("run", options)? {
        Command::Run(run) => Ok(run),
        _ => Err(Failure::Bug(InternalBug { stage: "prompt", message: "no options of a run".into() })),
    }
}

fn room(screen: Screen) -> Room {
    Room { width: screen.width, lines: screen.height.saturating_sub(3) }
}

fn picture(screen: Screen) -> remc_plot::Screen {
    let colours = match screen.colours {
        0 => Colours::None,
        8 => Colours::Some,
        _ => Colours::All,
    };
    remc_plot::Screen { width: screen.width, height: screen.height.saturating_sub(2).min(24), colours }
}

/// `[2 3]`, and of boxes what is in them: `[2], of boxes of [3] and [5]`
fn shapes(value: &Value) -> String {
    const MOST: usize = 8;
    let shape = |dims: &[usize]| {
        let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
        format!("[{}]", dims.join(" "))
    };
    match (&value.data, &value.atom) {
        (Data::Box(boxes), AtomTy::Sigma(_)) => {
            let mut inner: Vec<String> = boxes.iter().take(MOST).map(|b| shapes(&b.value)).collect();
            if boxes.len() > MOST {
                inner.push("…".to_owned());
            }
            match value.shape.as_slice() {
                [] => format!("{}, in a box", inner.join("")),
                dims => format!("{}, of boxes of {}", shape(dims), inner.join(" ")),
            }
        }
        (Data::Tuple(tuples), _) if value.shape.is_empty() => {
            let parts = tuples.first().map(|t| t.iter().map(shapes).collect::<Vec<_>>()).unwrap_or_default();
            format!("(values {})", parts.join(" "))
        }
        _ => shape(&value.shape),
    }
}

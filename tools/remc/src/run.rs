//! `remc run`.

use crate::args::{Device, Form, Run};
use crate::codes;
use crate::commands::{choose, load, new_session, protected, show_timings};
use crate::compile::Dumps;
use crate::evaluate::Evaluation;
use crate::inputs::pipes_apart;
use crate::output::Output;
use crate::plot::{self, Plot};
use crate::report::{Outcome, Reporter, fail, to_stderr, usage};

pub fn run(args: &Run, reporter: &Reporter) -> Outcome {
    let mut session = new_session();
    let file = load(&mut session, &args.source)?;
    reporter.check(&session, &session.diagnostics(file))?;
    let target = choose(&session, file, &args.entry, &args.inputs)?;
    if device(args) == Device::Emulated && args.memory_limit.is_some() {
        return fail(usage(
            codes::DEVICE,
            "--memory-limit is of the cpu and cuda devices and of the interpreter",
        ));
    }
    if args.measure_cost.is_some() && args.device.is_some_and(|d| d != Device::Interp) {
        return fail(
            usage(codes::DEVICE, "--measure-cost counts in the interpreter")
                .help("leave out --device; `--timings` tells how long a device takes"),
        );
    }
    if args.device == Some(Device::Interp) && (args.threads.is_some() || args.repeat > 1) {
        return fail(
            usage(codes::DEVICE, "--threads and --repeat are of the cpu device")
                .help("the interpreter runs once, on one thread; leave out `--device interp`"),
        );
    }
    if device(args) == Device::Interp && !args.versions.thresholds.is_empty() {
        return fail(usage(codes::DEVICE, "--threshold is of devices that compile").help(
            "the interpreter has one version of everything; leave out --threshold, or name `--device cpu`",
        ));
    }
    pipes_apart(&args.inputs, args.source.file.as_deref())?;
    let protected = protected(&session, &args.source, &args.inputs);
    let output = Output::new(args, &protected)?;
    let plot = Plot::new(&args.picture, plot::title(&session, target), &protected)?;
    let dumps = Dumps::new(args.dump_dir.as_deref(), protected)?;
    // What others read has one value: that of the file, its last expression.
    let targets = match session.value(file) {
        Some(value) if value == target && plot.is_none() && output.is_for_people() => {
            session.expressions(file)
        }
        _ => vec![target],
    };
    session.verify(&session.link(file, &targets), file)?;
    let expressions = targets.iter().map(|d| d.name(&session.db).clone()).collect();
    let evaluation = Evaluation {
        session: &session,
        file,
        args,
        device: device(args),
        expressions,
        reporter,
        output: plot.is_none().then_some(&output),
        given: &[],
    };
    // What a device has to say comes before the values.
    let evaluated = evaluation.run(&targets, dumps, &mut |value| {
        reporter.show(&session, &session.notices());
        match &plot {
            Some(plot) => {
                plot.write(value)?;
                // A picture is instead of the value, unless that is asked for, too.
                if args.output.is_some() || args.format.is_some() { output.write(value) } else { Ok(()) }
            }
            None => output.write(value),
        }
    });
    reporter.show(&session, &session.notices());
    let report = evaluated?;
    match args.timings {
        None => {}
        Some(Form::Text) => {
            show_timings(&session);
            to_stderr(&report.text);
        }
        Some(Form::Json) => to_stderr(&report.json(&session)),
    }
    Ok(())
}

/// The device that is named, or else the cpu device; that one needs LLVM, and without it programs are interpreted, as they
/// are where their cost is counted.
pub fn device(args: &Run) -> Device {
    args.device.unwrap_or(if cfg!(feature = "llvm") && args.measure_cost.is_none() {
        Device::Cpu
    } else {
        Device::Interp
    })
}

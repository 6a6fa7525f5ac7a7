//! `remc run --measure-cost`: work, depth and space of a run, counted.
//!
//! The program that is measured is what the optimiser leaves, with its rows of different sizes flat, before anything is
//! decided about a device: Mono's evaluator runs it and counts by [the model](remc_mono::eval::meter). It runs
//! as a whole for `W`, `D` and `N`, and for `M` once more in pieces of one item, where it goes along streams, or could.

use crate::args::Form;
use crate::codes;
use crate::evaluate::Evaluation;
use crate::exhausted::{Doing, during};
use crate::report::{Failure, Outcome, fail, to_stderr, usage};
use remc_base::{IndexValue, Value};
use remc_driver::compile::{CompileError, Options, Stop, Streams};
use remc_driver::{Def, InternalBug};
use remc_mono::eval::meter::Cost;
use remc_mono::eval::{self, Array, Channels, Fault};
use remc_mono::input::arrays;
use remc_mono::ir::{ChannelArray, Input, Program};
use remc_runtime::budget::Budget;
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// What a run costs.
struct Measured {
    /// `one` is of pieces of one item.
    whole: Cost,
    /// The pieces' greatest number of items, where one is given and the program can go in pieces.
    pieces: Option<(u64, Cost)>,
}

/// Tells what a run with these arguments costs, which has ended well.
pub fn tell(
    e: &Evaluation<'_>,
    target: Def<'_>,
    (indices, arguments): (&[IndexValue], &[Value]),
    form: Form,
) -> Outcome {
    let _during = during(Doing::Interpreting, Some(Budget::of(e.args.memory_limit).left()));
    let measured = measure(e, target, (indices, arguments))?;
    let of = match e.session.link(e.file, &[target]).get(&target.global(&e.session.db)) {
        Some(d) if d.entry.is_some() => format!("entry `{}`", target.name(&e.session.db)),
        _ => "the file's value".to_owned(),
    };
    to_stderr(&match form {
        Form::Text => text(&of, &measured),
        Form::Json => json(&measured),
    });
    Ok(())
}

fn measure(e: &Evaluation<'_>, target: Def<'_>, given: (&[IndexValue], &[Value])) -> Outcome<Measured> {
    let compiled = |streams| -> Outcome<Option<Arc<Program>>> {
        let ranks = crate::boundary::ranks(given.0);
        let size_limit = e.args.size.limit;
        let options = Options { to: Some("mono"), streams, size_limit, ..Options::default() };
        match e.session.compile(e.file, &[target], &ranks, options) {
            Ok(Stop::Mono(p)) => Ok(Some(p)),
            Ok(_) => Err(bug("another language".into())),
            Err(CompileError::Unstreamable(..)) if streams != Streams::Whole => Ok(None),
            Err(error) => crate::compile::refuse(e.session, e.reporter, error),
        }
    };
    let Some(whole) = compiled(Streams::Whole)? else { return Err(bug("no program".into())) };
    let mut cost = counted(&whole, given, 0)?;
    // In pieces, where there is something to go along.
    let pieces = compiled(Streams::Strips)?.filter(|p| !p.channels.is_empty());
    if let Some(p) = &pieces {
        cost.one = cost.one.min(counted(p, given, 1)?.one);
    }
    let pieces = e.args.chunk.zip(pieces).map(|(n, p)| -> Outcome<_> {
        let cost = counted(&p, given, usize::try_from(n).unwrap_or(usize::MAX))?;
        Ok((n, cost))
    });
    Ok(Measured { whole: cost, pieces: pieces.transpose()? })
}

fn bug(message: String) -> Failure {
    Failure::Bug(InternalBug { stage: "measure", message })
}

fn counted(p: &Program, (indices, arguments): (&[IndexValue], &[Value]), chunk: usize) -> Outcome<Cost> {
    let params = eval::arguments(p, indices, arguments).map_err(|e| bug(format!("{e:?}")))?;
    let mut channels = Channels { items: Vec::new(), chunk };
    for (k, c) in p.channels.iter().enumerate() {
        let items = p.inputs.iter().zip(arguments).find_map(|(input, value)| match input {
            Input::Channel { channel, items, .. } if *channel == k => Some((items, value)),
            _ => None,
        });
        let mut all = Vec::new();
        if let Some((items, value)) = items {
            arrays(items, Cow::Borrowed(value), &mut all).map_err(bug)?;
        }
        let given = all.into_iter().map(|v| eval::array(v).map_err(|e| bug(format!("{e:?}"))));
        let none = |a: &ChannelArray| Array { base: a.base, dims: vec![0; a.rank + 1], data: Rc::default() };
        channels.items.push(match items {
            Some(_) => given.collect::<Outcome<_>>()?,
            None => c.arrays.iter().map(none).collect(),
        });
    }
    match eval::measure(p, &params, &mut channels) {
        Ok((_, cost)) => Ok(cost),
        Err(Fault::Bug(message)) => fail(
            usage(codes::DEVICE, format!("the cost cannot be counted: {message}"))
                .help("--measure-cost keeps each element by itself: give the program smaller arguments"),
        ),
        Err(stop) => Err(bug(format!("{stop:?}"))),
    }
}

fn text(of: &str, m: &Measured) -> String {
    let Cost { work, depth, one, all } = m.whole;
    let digits = [work, depth, one, all].map(|n| n.to_string().len()).into_iter().max().unwrap_or(0);
    let line =
        |key: &str, letter: &str, n: u64, what: &str| format!("  {key:<6} {letter} = {n:<digits$}  {what}\n");
    let mut out = format!("{of}: its cost on an ideal machine, counted\n");
    out += &line("work", "W", work, "operations, and elements written");
    out += &line("depth", "D", depth, "steps, if all is done at once that can be");
    out += &line("space", "M", one, "elements there at once, with one processor");
    out += &line("", "N", all, "elements there at once, with any number of them");
    out += "P processors take about W/P + D·log P steps, and space for min(P·M, N) elements\n";
    if let Some((n, c)) = m.pieces {
        let (depth, all) = (c.depth, c.all);
        out += &format!("with --chunk {n}: {depth} steps, and space for {all} elements\n");
    }
    out
}

fn json(m: &Measured) -> String {
    let Cost { work, depth, one, all } = m.whole;
    let mut of = serde_json::json!({ "work": work, "depth": depth, "space_one": one, "space_all": all });
    if let Some((n, c)) = m.pieces {
        of["pieces"] = serde_json::json!({ "items": n, "work": c.work, "depth": c.depth, "space": c.all });
    }
    format!("{of}\n")
}

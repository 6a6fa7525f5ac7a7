//! The search for schedules on a program that is compiled and run, by a clock that knows what it should find.

use super::*;
use crate::gpu;
use crate::report::{Failure, Outcome};
use crate::tune::device::Once;
use crate::tune::plans::Interpreted;
use remc_base::{IndexValue, Value};
use remc_driver::InternalBug;
use remc_driver::compile::{Options, Stop, Tuning};
use remc_flat::by_size::sizes;
use remc_interp::RuntimeError;
use remc_kernel::schedule::Field;
use remc_runtime::plan::interpret::Memory;
use remc_tune::clock::Care;
use remc_tune::schedules::{Machine, Options as Sought, Spent, search};
use remc_tune::search::Objective;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// The interpreter of kernels, which says what runs and which sizes are compared. What an operator takes is another thing:
/// of few rows the less, the fewer threads its blocks have, and of many the more.
struct Device;

impl Runs for Device {
    type Code = Arc<Program>;
    /// With the number of rows.
    type Bound = (gpu::Bound<Rc<Memory>>, usize);

    fn machine(&self) -> String {
        "a clock".into()
    }

    fn workers(&self) -> usize {
        2
    }

    fn bandwidth(&self) -> Option<f64> {
        None
    }

    fn tuning(&self) -> Tuning {
        Tuning::gpu()
    }

    fn load(&self, session: &Session, program: Arc<Program>, kept: bool) -> Outcome<Arc<Program>> {
        Interpreted.load(session, program, kept)
    }

    fn bind(
        &self,
        session: &Session,
        program: &Arc<Program>,
        indices: &[IndexValue],
        arguments: Vec<Value>,
    ) -> Outcome<Result<Self::Bound, RuntimeError>> {
        let rows = arguments[0].shape[0];
        Ok(Interpreted.bind(session, program, indices, arguments)?.map(|bound| (bound, rows)))
    }

    fn once(
        &self,
        session: &Session,
        program: &Arc<Program>,
        (bound, rows): &Self::Bound,
        how: How<'_>,
    ) -> Outcome<Result<Once, cpu::Ended>> {
        let Ok(mut once) = Interpreted.once(session, program, bound, how)? else {
            return Err(Failure::Bug(InternalBug { stage: "test", message: "a run has ended".into() }));
        };
        once.seconds = 0.0;
        for (site, spent) in &mut once.of {
            let kernel = program.kernels.iter().find(|(_, k)| k.site.as_str() == site);
            let threads = kernel.map_or(256, |(_, k)| k.schedule[Field::Threads]) as f64 / 256.0;
            let factor = if *rows < 10 { threads } else { 1.0 / threads };
            *spent = Spent { seconds: 1e-3 * factor, ..*spent };
            once.seconds += spent.seconds;
        }
        Ok(Ok(once))
    }
}

#[test]
fn a_size_chooses_between_settings_of_a_program() {
    let mut session = Session::default();
    let text = "(entry (main [m [float n k]]) (+ m 1.0))".to_owned();
    let file = session.load_text("program.remora", Path::new(""), text);
    let target = session.entries(file)[0];
    let (linked, global) = (session.link(file, &[target]), target.global(&session.db));
    let numbers = RefCell::new(Vec::new());
    let read = |all: &[Number]| *numbers.borrow_mut() = all.to_vec();
    let compiled = |to: &'static str, named: Named| {
        let options =
            Options { to: Some(to), tuning: Tuning::gpu(), named, read: Some(&read), ..Options::default() };
        session.compile(file, &[target], &[], options)
    };
    let Ok(Stop::Flat(flat)) = compiled("flat", Named::new()) else { panic!("no flat program") };
    let lowered = |named: &Named| match compiled("kernel", named.clone()) {
        Ok(Stop::Kernel(kernel)) => Ok(kernel.program.clone()),
        other => Err(Failure::Bug(InternalBug { stage: "test", message: format!("{other:?}") })),
    };
    let plain = lowered(&Named::new()).unwrap();
    let tunable: Vec<Tunable> =
        tunable("main", &numbers.borrow()).into_iter().filter(|t| t.field == Field::Threads).collect();
    let sig = linked.get(&global).and_then(|d| d.entry.as_ref()).unwrap();
    // Of as many columns, so that the rows alone and the product of both tell them apart.
    let bound = [2, 32].map(|rows: usize| {
        let row = format!("[{}]", ["1.5"; 8].join(" "));
        let given = ("m".to_owned(), format!("[{}]", vec![row; rows].join(" ")));
        let budget = remc_runtime::budget::Budget::of(None);
        let arguments = crate::inputs::read_all(&global.name, sig, &[given], &budget).unwrap();
        let indices = remc_interp::solve_indices(sig, &arguments).unwrap();
        Device.bind(&session, &plain, &indices, arguments).unwrap().unwrap()
    });
    let (all, until) = (sizes(&flat), Instant::now() + Duration::from_secs(600));
    let mut bench =
        Operators::new(&session, (&lowered, "main", &all), &Device, (Vec::from(bound), None), until);
    let machine = Machine { workers: 2, bandwidth: None };
    let options = Sought { objective: Objective::Mean, care: Care::QUICK, machine };
    let found = search(&mut bench, &tunable, &Named::new(), options);
    let wanted = [
        // √(2·32), where the gap is as wide as that of the product and there is one axis.
        ("main/by.size/main:1@2/axis.1", 8),
        ("main/threads/main:1", 32),
        ("main/threads/main:1@2", 1024),
    ];
    let wanted: Named = wanted.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    assert_eq!(found.numbers, wanted);
    assert!(found.last.iter().all(|l| l.ratio.is_some_and(|r| r.high < 0.3)), "{:?}", found.last);
    let kernel = lowered(&found.numbers).unwrap();
    let mut threads: Vec<(String, i64)> =
        kernel.kernels.iter().map(|(_, k)| (k.site.to_string(), k.schedule[Field::Threads])).collect();
    threads.sort();
    assert_eq!(threads, [("main:1".to_owned(), 32), ("main:1@2".to_owned(), 1024)]);
}

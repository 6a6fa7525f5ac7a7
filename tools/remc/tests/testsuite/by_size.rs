//! Operators in versions that a size chooses, each with a schedule at random: a program gives the same, whichever runs.
//!
//! Every operator of a program that runs along an axis gets versions, by a tuning file as the tuner writes it. In one
//! setting the second version is for all sizes; in another there are three, for sizes as small as the programs have them.

use crate::schedules::{flat, gives_its_value, stops_alike};
use crate::{compiled, stem};
use libtest_mimic::{Failed, Trial};
use remc_flat::by_size::{MOST, Of, name, sizes, version};
use remc_kernel::schedule::Schedule;
use remc_tune::file::{Tuned, structure, with};
use std::path::{Path, PathBuf};

pub fn trials() -> Vec<Trial> {
    let mut trials = compiled::programs(|path, code| {
        Trial::test(format!("by_size::{}", stem(&path)), move || match &code {
            None => gives_its_value(&path, "cpu", &settings(&path, false)?),
            Some(_) => Ok(()),
        })
    });
    trials.extend(compiled::stopping(|path, code| {
        Trial::test(format!("by_size_stops::{}", stem(&path)), move || match &code {
            None => stops_alike(&path, &settings(&path, false)?),
            Some(_) => Ok(()),
        })
    }));
    trials.extend(compiled::programs(|path, code| {
        Trial::test(format!("emulated_by_size::{}", stem(&path)), move || match &code {
            None if crate::emulated::is_there() => {
                let all = settings(&path, true)?;
                let one = all.len().min(1 + remc_sample::rank(&stem(&path)) as usize % 2);
                gives_its_value(&path, "emulated", &all[one.saturating_sub(1)..one])
            }
            _ => Ok(()),
        })
    }));
    trials
}

/// The arguments of settings: a file for each. There is none of a program without operators along an axis.
fn settings(path: &Path, threads: bool) -> Result<Vec<Vec<String>>, Failed> {
    let Some(p) = flat(path, threads)? else { return Ok(Vec::new()) };
    let sizes = sizes(&p);
    let mut state = remc_sample::rank(&stem(path));
    let mut random = |n: u64| {
        state = remc_sample::rank(&state.to_string());
        state % n
    };
    let mut all = Vec::new();
    for versions in [2, MOST as u64 - 1] {
        let device = if threads { "cuda" } else { "cpu" };
        let mut tuned = Tuned {
            entry: p.name.to_string(),
            device: device.into(),
            code: structure(&p),
            ..Tuned::default()
        };
        for (site, sizes) in sizes.iter().filter(|(_, sizes)| !sizes.is_empty()) {
            let size = &sizes[random(sizes.len() as u64) as usize].name;
            for k in 2..=versions as usize {
                let from = if versions == 2 { 0 } else { [1, 2, 3, 5, 9, i64::MAX][random(6) as usize] };
                let of = Of { site: site.as_str(), version: k, size };
                tuned.thresholds.insert(name(p.name.as_str(), of), from);
                let drawn = Schedule::drawn(&mut random);
                for (field, value) in drawn.changed().filter(|(f, _)| f.matters(threads)) {
                    let site = version(site.as_str(), k);
                    tuned.schedule.insert(format!("{}/{field}/{site}", p.name), value);
                }
            }
        }
        if tuned.thresholds.is_empty() {
            return Ok(Vec::new());
        }
        let text = with(None, &stem(path), &tuned, &[]).map_err(|w| w.what)?;
        let file = folder()?.join(format!("{}-{device}-{versions}.tuning", stem(path)));
        std::fs::write(&file, text)?;
        all.push(vec!["--tuning".to_owned(), file.display().to_string()]);
    }
    Ok(all)
}

fn folder() -> Result<PathBuf, Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("by-size");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

//! `remc explain-perf`: what it says of some programs (`testsuite/perf/NAME.txt`), and that it explains every
//! program of the testsuite and of `examples/`, in both formats, unless the program is not compiled.

use crate::compiled::not_compiled;
use crate::{directives, expect_file, files, remc, root, stderr, stdout, stem};
use libtest_mimic::{Failed, Trial};
use std::path::{Path, PathBuf};

/// The name of the golden file, the program, and the device.
const GOLDENS: [(&str, &str, &str); 11] = [
    ("dot", "tools/bench/programs/dot.remora", "cpu"),
    ("matmul", "tools/bench/programs/matmul.remora", "cpu"),
    ("matmul-cuda", "tools/bench/programs/matmul.remora", "cuda"),
    ("blur", "examples/blur.remora", "cpu"),
    ("covariance", "examples/covariance.remora", "cpu"),
    ("covariance-cuda", "examples/covariance.remora", "cuda"),
    ("k-means", "examples/k-means.remora", "cpu"),
    ("sparse", "examples/sparse.remora", "cpu"),
    ("needleman-wunsch", "examples/needleman-wunsch.remora", "cpu"),
    ("partition", "testsuite/structure/quicksort-rounds.remora", "cpu"),
    ("collatz", "testsuite/programs/collatz.remora", "cpu"),
];

pub fn trials() -> Vec<Trial> {
    let goldens = GOLDENS.into_iter().map(|(name, program, device)| {
        Trial::test(format!("perf/{name}"), move || golden(name, program, device))
    });
    let examples = crate::examples::all().into_iter().map(|e| e.path);
    let all = files("programs", "remora").into_iter().chain(examples);
    let explained = all.map(|path| {
        let folder = path.parent().map(stem).unwrap_or_default();
        let name = format!("{folder}/{}", stem(&path));
        Trial::test(format!("explain-perf/{name}"), move || explained(&name, &path))
    });
    goldens.chain(explained).collect()
}

fn golden(name: &str, program: &str, device: &str) -> Result<(), Failed> {
    let o = remc().args(["explain-perf", program, "--device", device]).output()?;
    if !o.status.success() || !o.stderr.is_empty() {
        return Err(format!("not explained:\n{}", stderr(&o)).into());
    }
    expect_file(&root().join(format!("testsuite/perf/{name}.txt")), &stdout(&o))
}

/// Which entries a program is explained for: that of its test, or all of them.
fn entries(path: &Path) -> Result<Vec<Option<String>>, Failed> {
    let text = std::fs::read_to_string(path)?;
    let given: Vec<Option<String>> = directives(&text)
        .arguments
        .chunks(2)
        .filter(|a| a[0] == "--entry")
        .map(|a| Some(a[1].clone()))
        .collect();
    if !given.is_empty() {
        return Ok(given);
    }
    let named = text.lines().filter_map(|l| l.strip_prefix("(entry (")).map(|l| {
        let end = l.find([' ', ')', '[']).unwrap_or(l.len());
        Some(l[..end].to_owned())
    });
    let named: Vec<Option<String>> = named.collect();
    Ok(if named.is_empty() { vec![None] } else { named })
}

fn explained(name: &str, path: &PathBuf) -> Result<(), Failed> {
    let refused = not_compiled().get(name).cloned();
    for entry in entries(path)? {
        let mut arguments = vec!["--format".to_owned(), "json".to_owned()];
        arguments.extend(entry.iter().flat_map(|e| ["--entry".to_owned(), e.clone()]));
        let o = remc().arg("explain-perf").arg(path).args(&arguments).output()?;
        if let Some(code) = &refused {
            if o.status.code() != Some(2) || !stderr(&o).starts_with(&format!("[{code}] Error: ")) {
                return Err(format!("{entry:?}: refused without {code}:\n{}", stderr(&o)).into());
            }
            continue;
        }
        if !o.status.success() || !o.stderr.is_empty() {
            return Err(format!("{entry:?}: not explained:\n{}", stderr(&o)).into());
        }
        let facts: serde_json::Value = serde_json::from_str(&stdout(&o))?;
        let count = |key: &str| facts[key].as_array().map(Vec::len);
        let (Some(steps), Some(arrays), Some(totals)) = (count("steps"), count("arrays"), count("totals"))
        else {
            return Err(format!("{entry:?}: parts are missing:\n{facts}").into());
        };
        if totals == 0 || arrays > 0 && steps == 0 {
            return Err(format!("{entry:?}: no sums, or arrays that no step makes:\n{facts}").into());
        }
        // Whatever a step writes or reads has a name, and what it computes a line.
        for step in facts["steps"].as_array().into_iter().flatten() {
            let named = |key: &str| {
                step[key]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .all(|a| a["array"].as_str().is_some_and(|n| !n.is_empty()))
            };
            let places = step["fused"].as_array().is_some_and(|f| !f.is_empty());
            if !named("reads") || !named("writes") || !places {
                return Err(format!("{entry:?}: a step without names or lines:\n{step}").into());
            }
        }
    }
    Ok(())
}

//! `remc autotune` for GPUs. Without one, kernels are interpreted and their statements counted, which is a clock that gives
//! the same in every run.
#![cfg(feature = "llvm")]

mod support;

use std::fs;
use support::{Folder, fails, remc, text};

/// Rows that are summed by a thread each, or by several.
const PROGRAM: &str = "(entry (rows [m [float n k]]) (~(1)sum m))\n";
const NAME: &str = "rows/par.outer/rows:1";

/// Few rows that are long, which several threads should share, and many that are not.
const DATA: &str = "[few]
m = { shape = [2, 40] }
[many]
m = { shape = [40, 2] }
";

fn folder(name: &str) -> (Folder, String, String) {
    let folder = Folder::new(name);
    let file = folder.file("rows.remora", PROGRAM);
    fs::create_dir(folder.0.join("data")).unwrap();
    folder.file("data/datasets.toml", DATA);
    let data = folder.path("data");
    (folder, file, data)
}

#[test]
fn versions_of_a_gpu_are_chosen_by_a_count_of_cost() {
    let (folder, file, data) = folder("autotune-cuda");
    let tune = |to: &str| {
        let to = folder.path(to);
        let args =
            ["autotune", &file, "--inputs", &data, "--device", "emulated", "--budget", "120", "-o", &to];
        let o = remc(&args);
        assert!(o.status.success(), "{}", text(&o.stderr));
        (text(&o.stdout), fs::read_to_string(&to).unwrap())
    };
    let (said, file_of) = tune("rows.tuning");
    let numbers = |file: &str| -> String {
        let from = file.find("[tuned.thresholds]").unwrap();
        let lines = file[from..].lines().skip(1).take_while(|l| !l.starts_with('['));
        lines.filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("\n")
    };
    assert!(file_of.contains("entry = \"rows\"\ndevice = \"cuda\"\n"), "{file_of}");
    assert!(
        said.contains("written to ") && said.contains("`remc run --device cuda`, and `remc compile`,"),
        "{said}"
    );
    // Which version ran is known by the size that was compared; the least count decides between them.
    let value: i64 =
        numbers(&file_of).trim().strip_prefix(&format!("\"{NAME}\" = ")).unwrap().parse().unwrap();
    assert!(value < 32768, "{file_of}");
    // The same in every run.
    assert_eq!(numbers(&tune("again.tuning").1), numbers(&file_of));
    // What was found is what is compiled for GPUs, and not for processors.
    let shown = |args: &[&str]| {
        let o = remc(&[&["compile", &file, "--show", "tuning"], args].concat());
        assert!(o.status.success(), "{}", text(&o.stderr));
        text(&o.stderr)
    };
    let wanted = format!("{NAME} = {value}\n");
    assert!(shown(&["--emit", "cuda"]).contains(&wanted));
    assert!(!shown(&["--emit", "object", "-o", &folder.path("rows.o")]).contains(&wanted));
    let source = text(&remc(&["compile", &file, "--emit", "cuda"]).stdout);
    assert!(source.contains(&format!("//   {NAME} = {value}\n")), "{source}");
    // The explanation does not take this processor for the GPU.
    let o = remc(&["tuning", &folder.path("rows.tuning")]);
    assert!(
        !text(&o.stdout).contains("This machine is another one")
            && text(&o.stdout).contains("on the cuda device"),
        "{}",
        text(&o.stdout)
    );
}

#[test]
fn without_a_gpu_one_sentence_says_so() {
    let (folder, file, data) = folder("autotune-cuda-none");
    let tune = ["autotune", &file, "--inputs", &data, "--device", "cuda", "--budget", "5"];
    let o = remc(&tune);
    if o.status.code() != Some(0) {
        fails(&tune, 2, "U0014] Error: there is no cuda device: ");
        assert!(
            text(&o.stderr).contains("`--device cpu` tunes for this machine's processor"),
            "{}",
            text(&o.stderr)
        );
        assert!(!folder.0.join("rows.tuning").exists());
    }
    fails(
        &["autotune", &file, "--inputs", &data, "--device", "cuda", "--threads", "2"],
        2,
        "--threads is of the cpu device",
    );
    fails(&["autotune", &file, "--inputs", &data, "--device", "interp"], 2, "possible values: cpu, cuda]");
}

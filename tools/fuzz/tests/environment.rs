//! Some hundred hostile folders and interruptions.

use std::process::Command;

#[test]
fn nothing_foreign_is_run_and_nothing_is_lost() {
    let artifacts = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("environment");
    let o = Command::new(env!("CARGO_BIN_EXE_remc-fuzz"))
        .args(["--only", "environment", "--cases", "600", "--seconds", "600", "--seed", "1", "--artifacts"])
        .arg(&artifacts)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&o.stdout);
    assert!(o.status.success() && text.contains("600 passed, 0 failed"), "{text}");
    for kind in ["cache: entries", "cache: not trusted", "outputs: outputs", "outputs: interrupted"] {
        assert!(text.contains(kind), "{kind} is not met\n{text}");
    }
}

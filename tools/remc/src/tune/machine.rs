//! What a measurement is of: this machine, and the day.

/// The processor, as the system calls it.
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':').map(|(_, name)| name));
    let name = name.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match name.as_str() {
        "" => format!("a processor of the kind {}", std::env::consts::ARCH),
        name => remc_base::visible(name).into_owned(),
    }
}

/// Today, as `2026-11-26`.
#[cfg(feature = "llvm")]
pub fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

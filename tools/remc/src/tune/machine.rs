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

/// The bytes of an array that no cache holds.
#[cfg(feature = "llvm")]
const ARRAY: usize = 64 << 20;

/// The bytes that go through memory in a second, read and written, when as many threads copy: the best of a few tries.
#[cfg(feature = "llvm")]
pub fn bandwidth(threads: usize) -> f64 {
    let threads = threads.clamp(1, 64);
    let each = ARRAY / threads / 8;
    let (from, mut to) = (vec![1u64; each * threads], vec![0u64; each * threads]);
    let mut best = 0f64;
    for _ in 0..4 {
        let start = std::time::Instant::now();
        std::thread::scope(|scope| {
            for (from, to) in from.chunks(each).zip(to.chunks_mut(each)) {
                scope.spawn(move || to.copy_from_slice(from));
            }
        });
        let bytes = 2.0 * 8.0 * (each * threads) as f64;
        best = best.max(bytes / start.elapsed().as_secs_f64().max(1e-9));
    }
    std::hint::black_box(&to);
    best
}

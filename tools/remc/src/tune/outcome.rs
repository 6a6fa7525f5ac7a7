//! What a search found, and who ends it.

use remc_driver::compile::Named;
use remc_tune::choices::Choices;
use remc_tune::search::Found;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Whether the user has pressed Ctrl-C: then the best that was found is kept.
pub fn is_interrupted() -> bool {
    interruption().load(Ordering::Relaxed)
}

/// From now on Ctrl-C ends the search, and not the process; a second one does.
pub fn interruption() -> &'static Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(remc_runtime::temporary::interruption)
}

/// The thresholds that have another value than the program gives them.
pub fn changed(choices: &Choices, found: &Found) -> Named {
    let all = choices.thresholds.iter().zip(&found.setting);
    all.filter(|((_, default), value)| default != *value)
        .map(|((name, _), value)| (name.to_string(), *value))
        .collect()
}

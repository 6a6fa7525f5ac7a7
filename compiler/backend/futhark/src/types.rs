//! Types as Futhark writes them.

use remc_base::BaseTy;

/// The sizes of an array, as they are written.
pub type Sizes = Vec<String>;

/// A size that has no name.
pub const UNKNOWN: &str = "?";

/// What a base type is called.
pub fn type_name(t: BaseTy) -> &'static str {
    t.stored_name()
}

/// `[n][m]f64`
pub fn ty_text(base: BaseTy, sizes: &[String]) -> String {
    let sizes: String =
        sizes.iter().map(|s| if s == UNKNOWN { "[]".to_owned() } else { format!("[{s}]") }).collect();
    sizes + type_name(base)
}

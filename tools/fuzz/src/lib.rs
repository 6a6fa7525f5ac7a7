//! Fuzzing: what no text may cause, and what every well-typed program must show.
//!
//! ```text
//! tokens ── corpus ── mutate ──┐                  texts: near programs and far from them
//!                     stress ──┼── lab            one text through reader, checker, verifier, printers
//! generate ── properties ──────┘                  well-typed programs and what must hold of them
//!             specialise, erase                   when two elaborations are the same, and texts with fewer annotations
//! layout                                          what must hold of every text when it is formatted
//! environment                                     hostile data files, caches and interruptions
//! campaign: cases until the time is up            watch: time and memory    minimise: small failures
//! ```
//!
//! Everything random comes from [`rng::Rng`], so a seed gives the same case on every machine.

/// Prints a line; that nobody reads it is no reason to stop.
#[macro_export]
macro_rules! say {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($part)*);
    }};
}

pub mod campaign;
pub mod corpus;
pub mod differential;
pub mod environment;
pub mod erase;
pub mod generate;
pub mod lab;
pub mod layout;
pub mod minimise;
pub mod mutate;
pub mod properties;
pub mod rng;
pub mod specialise;
pub mod stress;
pub mod tokens;
pub mod watch;

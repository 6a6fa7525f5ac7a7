//! The language server: an editor's questions about Remora programs, over the Language Server Protocol.
//!
//! ```text
//! client ── server ──── queue ──── analysis ── remc_ide ── remc_driver::Session
//!           listens     in order    one thread, which has the texts
//!              │                        │
//!              └──────── outbox ────────┤
//!                 answers, once each    └── runs ── Runner: a lens's program, on a thread of its own
//! ```
//!
//! The thread that listens never waits: it takes out of the queue what a newer edit or the client itself has made
//! superfluous, and tells the query that runs to end. `remc_ide` answers with plain data; here that becomes messages, with
//! positions as the client counts them. Where the form at hand is half written, the answer is that of its last good version
//! ([`good`]). What is run is run by whoever starts the server ([`Runner`]), so that nothing here knows a device.

mod analysis;
mod capabilities;
mod client;
mod convert;
mod good;
mod outbox;
mod pages;
mod queue;
mod runs;
mod server;
mod text;
mod tokens;
mod uri;

pub use runs::{Failed, Problem, Program, Runner, What};
pub use server::{serve, serve_stdio};

/// What the server needs of whoever starts it.
pub struct Tools {
    pub runner: Box<dyn Runner>,
    /// What an error code means, as Markdown.
    pub explanation: fn(&str) -> Option<String>,
    pub version: &'static str,
}

/// How a client left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// It said that it ends.
    Orderly,
    /// It was gone.
    Broken,
}

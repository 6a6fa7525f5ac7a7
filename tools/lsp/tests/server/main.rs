//! The server, driven by a client in memory.

mod claims;
mod client;
mod features;
mod files;
mod life;
mod random;
mod runs;

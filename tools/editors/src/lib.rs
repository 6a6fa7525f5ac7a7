//! Tests alone: what editors make of the grammar and of what the book says to write into their settings.
//!
//! `tests/helix.rs` is in every test run: it colours programs with the library that Helix has for that. `drive` lets
//! Neovim and Emacs, without a window, use `remc lsp`, and `protocol` asks it everything by a library that is not ours;
//! `tools/setup test --all` does that, and `setup.sh` beside it has what it needs.

//! How fast; run by hand: `cargo test --release -p remc-llvm --test kernel -- --ignored --nocapture`.

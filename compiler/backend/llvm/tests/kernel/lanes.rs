//! Loops in lanes and jammed loops, against the same loops one iteration after the other.

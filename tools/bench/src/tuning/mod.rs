//! What `remc autotune` takes, and what it gains.
//!
//! Each program is tuned on some data sets together. Then three settings run in turn on each of them, and on data that was
//! not tuned on: the defaults, the tuning file, and what a tuning on that data set alone finds, which stands for the best
//! that there is.

pub mod measure;
pub mod subjects;

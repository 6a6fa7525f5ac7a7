pub mod check;
pub mod ir;
pub mod refs;
pub mod scheme;

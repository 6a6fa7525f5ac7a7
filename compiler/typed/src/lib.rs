pub mod check;
pub mod ir;
pub mod scheme;

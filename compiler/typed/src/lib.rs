pub mod check;
pub mod ir;
pub mod parse;
pub mod print;
pub mod refs;
pub mod scheme;
pub mod source;
pub mod verify;

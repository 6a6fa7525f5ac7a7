//! The one table of scalar operators.

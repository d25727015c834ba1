//! Whole commands, from argument list to exit code, and the state of the repository itself.

mod check;
mod docs;
mod golden;
mod harness;
mod hostile;
mod tidy;

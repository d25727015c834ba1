//! The `oomph` command.

fn main() {}

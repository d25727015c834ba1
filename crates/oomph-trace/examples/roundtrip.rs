//! Reads a trace and writes it as a torch snapshot: `roundtrip IN OUT`.

use std::error::Error;
use std::fs::File;

use oomph_trace::{Trace, write_torch_snapshot};

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args().skip(1);
    let (Some(from), Some(to)) = (paths.next(), paths.next()) else {
        return Err("usage: roundtrip IN OUT".into());
    };
    write_torch_snapshot(&Trace::open(from)?, File::create(to)?)?;
    Ok(())
}

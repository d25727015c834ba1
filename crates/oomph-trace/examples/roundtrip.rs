//! Reads a trace and writes it as a torch snapshot, or as oomph's own file if OUT ends in `.oomph`: `roundtrip IN OUT`.

use std::error::Error;
use std::fs::File;
use std::path::Path;

use oomph_trace::{EXTENSION, Trace, write_oomph_trace, write_torch_snapshot};

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args().skip(1);
    let (Some(from), Some(to)) = (paths.next(), paths.next()) else {
        return Err("usage: roundtrip IN OUT".into());
    };
    let trace = Trace::open(from)?;
    let out = File::create(&to)?;
    if Path::new(&to).extension().is_some_and(|ending| ending == EXTENSION) {
        write_oomph_trace(&trace, out)?;
    } else {
        write_torch_snapshot(&trace, out)?;
    }
    Ok(())
}

//! Writes a generated snapshot: `generate FILE [EVENTS] [FRAMES] [STACKS] [SEED]`.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: generate FILE [EVENTS] [FRAMES] [STACKS] [SEED]")?;
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (events, frames, stacks, seed) = (number(1_000_000)?, number(45)?, number(1500)?, number(1)?);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    oomph_bench::generate(events as usize, frames as u32, stacks as u32, seed, &mut out)?;
    Ok(())
}

//! Header and chunks: the part of the format that finds where a file ends.

use std::io::{self, Write};

use crate::error::TraceError;
use crate::model::trace::Origin;

/// Not text, and damaged by whatever translates line ends.
const MAGIC: [u8; 8] = *b"\x93oomph\r\n";

/// Raised when old readers would misunderstand a file.
pub(super) const MAJOR: u16 = 1;
/// Raised when records are added that old readers can do without.
const MINOR: u16 = 1;

pub(super) const HEADER_BYTES: usize = 16;
const CHUNK_HEADER_BYTES: usize = 8;

/// The most a chunk may unfold to. Writers stay far below.
pub(super) const MAX_RECORD_BYTES: usize = 64 << 20;

/// Light: a recorder runs beside a training job.
const ZSTD_LEVEL: i32 = 3;

const ORIGINS: [Origin; 3] = [Origin::TorchSnapshot, Origin::HollowRun, Origin::RealRun];

/// Whether these bytes begin one of oomph's files, or the part of one that is there.
pub(crate) fn is_oomph_file(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().zip(MAGIC).all(|(&byte, magic)| byte == magic)
}

pub(super) fn write_header(origin: Origin, out: &mut impl Write) -> io::Result<()> {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..10].copy_from_slice(&MAJOR.to_le_bytes());
    header[10..12].copy_from_slice(&MINOR.to_le_bytes());
    header[12] = ORIGINS.iter().position(|&one| one == origin).unwrap_or_default() as u8;
    out.write_all(&header)
}

pub(super) fn read_header(data: &[u8]) -> Result<Origin, TraceError> {
    let Some(header) = data.first_chunk::<HEADER_BYTES>() else {
        return Err(TraceError::malformed(
            data.len(),
            "an oomph trace that ends inside its header: its writer was killed at once; record the job again",
        ));
    };
    let major = u16::from_le_bytes([header[8], header[9]]);
    if major > MAJOR {
        return Err(TraceError::NewerFormat { found: major, known: MAJOR });
    }
    if major == 0 {
        return Err(TraceError::malformed(8, "format version 0 was never written: the file is damaged"));
    }
    ORIGINS
        .get(usize::from(header[12]))
        .copied()
        .ok_or_else(|| TraceError::malformed(12, "an unknown maker of traces: the file is damaged or of a newer oomph"))
}

/// Writes one record as one chunk, in a single call, so that a kill leaves it out or in.
pub(super) fn write_chunk(record: &[u8], out: &mut impl Write) -> Result<(), TraceError> {
    if record.len() > MAX_RECORD_BYTES {
        return Err(TraceError::TooLarge {
            what: "bytes in one string or segment",
            limit: MAX_RECORD_BYTES as u64,
            way_out: "no file could be read back with it",
        });
    }
    let packed = zstd::bulk::compress(record, ZSTD_LEVEL)?;
    let mut chunk = Vec::with_capacity(CHUNK_HEADER_BYTES + packed.len());
    chunk.extend_from_slice(&(packed.len() as u32).to_le_bytes());
    chunk.extend_from_slice(&crc32fast::hash(&packed).to_le_bytes());
    chunk.extend_from_slice(&packed);
    Ok(out.write_all(&chunk)?)
}

/// The compressed record of the chunk at this offset and where the next begins; `None` if it is not wholly there.
pub(super) fn read_chunk(data: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let (&[l0, l1, l2, l3, c0, c1, c2, c3], rest) = data.get(at..)?.split_first_chunk::<CHUNK_HEADER_BYTES>()?;
    let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    let packed = rest.get(..len)?;
    // A machine that loses power can leave a file of the right length with zeros in it.
    let whole = len > 0 && crc32fast::hash(packed) == u32::from_le_bytes([c0, c1, c2, c3]);
    whole.then_some((packed, at + CHUNK_HEADER_BYTES + len))
}

/// Unfolds a record, to at most so many bytes.
pub(super) fn unfold(packed: &[u8], at: usize, limit_bytes: usize) -> Result<Vec<u8>, TraceError> {
    zstd::bulk::decompress(packed, limit_bytes.min(MAX_RECORD_BYTES)).map_err(|problem| {
        TraceError::malformed(
            at,
            format!("a chunk that does not unfold within bounds ({problem}): the file is damaged"),
        )
    })
}

/// A file whose chunks hold these bytes, whether they are records or not.
#[must_use]
pub fn file_of_records(records: &[&[u8]]) -> Vec<u8> {
    let mut file = Vec::new();
    // Writing to memory fails only for records beyond the limit, which then are left out.
    let _ = write_header(Origin::RealRun, &mut file);
    for record in records {
        let _ = write_chunk(record, &mut file);
    }
    file
}

//! Gets at a file's bytes and finds out what they are, by content and never by name.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;
use tempfile::{SpooledData, SpooledTempFile};

use crate::error::TraceError;
use crate::file;
use crate::model::trace::Trace;
use crate::snapshot;

/// Compressed files may unfold to this much at most, and to [`MAX_RATIO`] times their size.
pub const MAX_UNCOMPRESSED_BYTES: u64 = 16 << 30;

/// Real snapshots shrink 5 to 50 times under gzip; only a file made to hurt, or one far too regular to be real,
/// shrinks more than this.
pub const MAX_RATIO: u64 = 500;

/// Small files may shrink more: nothing up to this size does harm.
const ALWAYS_ALLOWED_BYTES: u64 = 64 << 20;

/// Unfolded bytes beyond this go to a nameless temporary file, which is mapped, so that memory stays bounded.
const KEPT_IN_MEMORY_BYTES: usize = 64 << 20;

/// Of a text only so much of its end is looked at.
const MAX_TEXT_BYTES: usize = 256 << 20;

const SNAPSHOT_WANTED: &str = "give a file that torch.cuda.memory._dump_snapshot() wrote, or an oomph trace";
const SAVE_AGAIN: &str = "save it again with pickle.dump(snapshot, file, protocol=4)";
const UNPACK_FIRST: &str = "unpack it and give the file inside";

impl Trace {
    /// Reads a torch memory snapshot (pickle or JSON) or an oomph trace, plain or compressed with gzip or zstd.
    ///
    /// The file is mapped, not copied; it must not be cut short by another program meanwhile.
    ///
    /// # Errors
    /// Every way a file can be wrong, with its name; see [`TraceError`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        Input::open(path)?.trace()
    }

    /// Reads what [`Trace::open`] reads from memory; `name` is used in errors.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self, TraceError> {
        read_bytes(bytes).map_err(|problem| problem.in_file(name))
    }
}

/// A file, or what came through a pipe, before anybody knows what it is.
pub struct Input {
    bytes: Bytes,
    name: String,
}

impl Input {
    /// Maps a file; a pipe, which cannot be mapped, is read to its end.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be read, is a folder or is empty.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match bytes_of(path) {
            Ok(bytes) => Ok(Self { bytes, name }),
            Err(problem) => Err(problem.in_file(&name)),
        }
    }

    /// Reads everything that comes; `name` is used in errors.
    ///
    /// # Errors
    /// If the reader fails, or gives nothing or far too much.
    pub fn from_reader(reader: impl Read, name: &str) -> Result<Self, TraceError> {
        match spool(reader, MAX_UNCOMPRESSED_BYTES) {
            Ok(bytes) if bytes.is_empty() => Err(TraceError::Empty.in_file(name)),
            Ok(bytes) => Ok(Self { bytes, name: name.to_owned() }),
            Err(problem) => Err(problem.in_file(name)),
        }
    }

    /// Its name, as the caller gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads it as [`Trace::open`] does.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn trace(&self) -> Result<Trace, TraceError> {
        Trace::from_bytes(&self.bytes, &self.name)
    }

    /// Its text (of a long one, the end), plain or compressed; `None` if it is no text.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let unfolded;
        let bytes: &[u8] = match Content::of(&self.bytes) {
            Content::Gzip => {
                unfolded = unfold_any(flate2::bufread::MultiGzDecoder::new(&self.bytes[..]), self.bytes.len()).ok()?;
                &unfolded
            }
            Content::Zstd => {
                unfolded = unfold_any(zstd::Decoder::with_buffer(&self.bytes[..]).ok()?, self.bytes.len()).ok()?;
                &unfolded
            }
            _ => &self.bytes,
        };
        let end = &bytes[bytes.len().saturating_sub(MAX_TEXT_BYTES)..];
        (!matches!(Content::of(bytes), Content::Pickle | Content::Oomph) && !end.contains(&0))
            .then(|| String::from_utf8_lossy(end).into_owned())
    }
}

fn bytes_of(path: &Path) -> Result<Bytes, TraceError> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(TraceError::Directory);
    }
    if about.is_file() {
        return if about.len() == 0 { Err(TraceError::Empty) } else { Ok(Bytes::Mapped(map(&file)?)) };
    }
    // A pipe cannot be mapped.
    spool(file, MAX_UNCOMPRESSED_BYTES)
}

fn read_bytes(bytes: &[u8]) -> Result<Trace, TraceError> {
    match Content::of(bytes) {
        Content::Gzip => read_plain(&unfold(flate2::bufread::MultiGzDecoder::new(bytes), bytes.len())?),
        Content::Zstd => read_plain(&unfold(zstd::Decoder::with_buffer(bytes)?, bytes.len())?),
        _ => read_plain(bytes),
    }
}

fn read_plain(bytes: &[u8]) -> Result<Trace, TraceError> {
    match Content::of(bytes) {
        Content::Empty => Err(TraceError::Empty),
        Content::Pickle => snapshot::read_pickle(bytes),
        Content::Json => snapshot::json::read(bytes),
        Content::Oomph => file::read(bytes),
        Content::Gzip | Content::Zstd => {
            Err(TraceError::Foreign { found: "compressed twice".into(), way_out: UNPACK_FIRST })
        }
        Content::Foreign(found, way_out) => Err(TraceError::Foreign { found: found.into(), way_out }),
    }
}

/// Decompresses within the limits. What is no snapshot is refused by its first bytes.
fn unfold(mut reader: impl Read, compressed_bytes: usize) -> Result<Bytes, TraceError> {
    let mut head = Vec::new();
    reader.by_ref().take(512).read_to_end(&mut head).map_err(|problem| damaged(&problem))?;
    if let Content::Foreign(found, way_out) = Content::of(&head) {
        return Err(TraceError::Foreign { found: format!("{found}, compressed"), way_out });
    }
    unfold_any(head.chain(reader), compressed_bytes)
}

/// Decompresses within the limits, whatever it is.
fn unfold_any(reader: impl Read, compressed_bytes: usize) -> Result<Bytes, TraceError> {
    let by_ratio = (compressed_bytes as u64).saturating_mul(MAX_RATIO).max(ALWAYS_ALLOWED_BYTES);
    spool(reader, MAX_UNCOMPRESSED_BYTES.min(by_ratio))
}

/// Reads everything into memory or, beyond a bound, into a nameless temporary file.
fn spool(reader: impl Read, limit_bytes: u64) -> Result<Bytes, TraceError> {
    let mut spool = SpooledTempFile::new(KEPT_IN_MEMORY_BYTES);
    let mut reader = reader.take(limit_bytes + 1);
    let mut buffer = vec![0; 1 << 20];
    let mut total_bytes = 0;
    loop {
        let read = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
            Err(problem) => return Err(damaged(&problem)),
        };
        total_bytes += read as u64;
        if total_bytes > limit_bytes {
            return Err(TraceError::TooLarge {
                what: "bytes once unpacked, out of proportion to its size",
                limit: limit_bytes,
                way_out: "if you trust it, unpack it yourself and give the plain file",
            });
        }
        spool.write_all(&buffer[..read])?;
    }
    Ok(match spool.into_inner() {
        SpooledData::InMemory(memory) => Bytes::InMemory(memory.into_inner()),
        SpooledData::OnDisk(file) => Bytes::Mapped(map(&file)?),
    })
}

fn damaged(problem: &io::Error) -> TraceError {
    TraceError::Io(io::Error::new(problem.kind(), format!("its compressed data is damaged or cut short ({problem})")))
}

#[expect(unsafe_code, reason = "a mapping is the only way to read a file of gigabytes without copying it")]
fn map(file: &File) -> Result<Mmap, TraceError> {
    // SAFETY: the mapping is read-only and lives no longer than the read. Another process that shortens the file
    // meanwhile can end this process with SIGBUS, which `Trace::open` documents; changed content is only data to us,
    // and every offset taken from it is checked where it is used.
    let mapping = unsafe { Mmap::map(file) }?;
    #[cfg(unix)]
    mapping.advise(memmap2::Advice::Sequential)?;
    Ok(mapping)
}

/// A whole file.
enum Bytes {
    InMemory(Vec<u8>),
    Mapped(Mmap),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InMemory(bytes) => bytes,
            Self::Mapped(mapping) => mapping,
        }
    }
}

/// What bytes are, as far as their beginning tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Empty,
    Pickle,
    Json,
    Oomph,
    Gzip,
    Zstd,
    /// Something else: what, and what to give instead.
    Foreign(&'static str, &'static str),
}

impl Content {
    fn of(bytes: &[u8]) -> Self {
        /// How `torch.save` began before it wrote zip archives: a pickled magic number.
        const OLD_TORCH_SAVE: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
        let visible = bytes.trim_ascii_start();
        match bytes {
            [] => Self::Empty,
            _ if file::is_oomph_file(bytes) => Self::Oomph,
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ if bytes.starts_with(OLD_TORCH_SAVE) => Self::Foreign("a torch.save file", SNAPSHOT_WANTED),
            [0x80, ..] => Self::Pickle,
            [b'P', b'K', 3, 4, ..] if contains(&bytes[..bytes.len().min(512)], b"data.pkl") => {
                Self::Foreign("a torch.save file", SNAPSHOT_WANTED)
            }
            [b'P', b'K', 3 | 5, ..] => Self::Foreign("a zip archive", UNPACK_FIRST),
            [0xfd, b'7', b'z', b'X', b'Z', ..] => Self::Foreign("an xz archive", UNPACK_FIRST),
            [b'B', b'Z', b'h', ..] => Self::Foreign("a bzip2 archive", UNPACK_FIRST),
            [4, 0x22, 0x4d, 0x18, ..] => Self::Foreign("an lz4 archive", UNPACK_FIRST),
            _ if matches!(visible, [b'{' | b'[', ..]) => Self::Json,
            _ if matches!(visible, [b'<', ..]) => Self::Foreign("an HTML or XML page", SNAPSHOT_WANTED),
            _ if [b"(dp0\n".as_slice(), b"(lp0\n", b"}q\0", b"]q\0"].iter().any(|begin| bytes.starts_with(begin)) => {
                Self::Foreign("a pickle of protocol 0 or 1", SAVE_AGAIN)
            }
            _ if is_text(&bytes[..bytes.len().min(512)]) => Self::Foreign("a text file", SNAPSHOT_WANTED),
            _ => Self::Foreign("a file of unknown kind", SNAPSHOT_WANTED),
        }
    }
}

fn is_text(bytes: &[u8]) -> bool {
    let (text, rest) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        // A character may be cut at the end.
        Err(problem) => (std::str::from_utf8(&bytes[..problem.valid_up_to()]).unwrap_or_default(), problem.error_len()),
    };
    rest.is_none() && text.chars().all(|one| !one.is_control() || one.is_whitespace())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_known_by_its_beginning() {
        assert_eq!(Content::of(b"\x80\x04}."), Content::Pickle);
        assert_eq!(Content::of(b"\n {\"segments\": []}"), Content::Json);
        assert_eq!(Content::of(b"\x1f\x8b\x08"), Content::Gzip);
        assert!(matches!(Content::of(b"PK\x03\x04....archive/data.pkl"), Content::Foreign("a torch.save file", _)));
        assert!(matches!(Content::of(b"step,loss\n1,2\n"), Content::Foreign("a text file", _)));
        assert!(matches!(Content::of(b"\x7fELF\x02\x01"), Content::Foreign("a file of unknown kind", _)));
    }

    #[test]
    fn text_is_text_whatever_it_begins_with_and_however_it_is_packed() {
        let input = |bytes: &[u8]| Input::from_reader(bytes, "log").unwrap();
        assert_eq!(input(b"[rank0]: \x1b[31merror").text().as_deref(), Some("[rank0]: \x1b[31merror"));
        let packed = zstd::bulk::compress(b"<br> died", 1).unwrap();
        assert_eq!(input(&packed).text().as_deref(), Some("<br> died"));
        assert_eq!(input(b"\x80\x04}.").text(), None);
        assert_eq!(input(b"\x7fELF\0").text(), None);
        assert!(matches!(Input::from_reader(&b""[..], "-"), Err(TraceError::InFile { .. })));
    }

    #[test]
    fn what_unfolds_too_far_is_refused() {
        let problem = spool(io::repeat(0x80), 1000).err().unwrap();
        assert!(problem.to_string().contains("1000 bytes once unpacked"), "{problem}");
    }
}

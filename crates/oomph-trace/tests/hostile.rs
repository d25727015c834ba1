//! Whatever a file holds, reading it ends in a trace or in one clear error.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use oomph_trace::{Trace, TraceError};

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

fn small_snapshot() -> Vec<u8> {
    let mut plain = Vec::new();
    let file = std::fs::File::open(corpus().join("h200/special_mempool.pickle.gz")).unwrap();
    std::io::copy(&mut flate2::read::GzDecoder::new(file), &mut plain).unwrap();
    plain
}

#[test]
fn every_hostile_file_gets_the_error_it_deserves() {
    let expected = std::fs::read_to_string(corpus().join("hostile/expected.tsv")).unwrap();
    let mut seen = 0;
    for line in expected.lines() {
        let (name, message) = line.split_once('\t').unwrap();
        let begun = Instant::now();
        let problem =
            Trace::open(corpus().join("hostile").join(name)).err().unwrap_or_else(|| panic!("{name} was read"));
        let problem = problem.to_string();
        assert!(problem.contains(message), "{name}: {problem}");
        assert!(problem.contains(name), "the error does not name the file: {problem}");
        assert!(!problem.contains('\n') && problem.len() < 400, "not one clear line: {problem}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{name} took {:?}", begun.elapsed());
        seen += 1;
    }
    let files = std::fs::read_dir(corpus().join("hostile")).unwrap().count();
    assert_eq!(seen + 1, files, "a file without an expectation");
}

#[test]
fn a_snapshot_cut_anywhere_is_an_error() {
    let whole = small_snapshot();
    for len in 0..whole.len() {
        Trace::from_bytes(&whole[..len], "cut").expect_err("a cut pickle has no end");
    }
}

#[test]
fn a_bent_snapshot_never_panics() {
    let whole = small_snapshot();
    let mut bent = whole.clone();
    for at in 0..whole.len() {
        for byte in [0, 0xff, whole[at] ^ 1, whole[at].wrapping_add(7), b'(', b'e', b'u', b'h', 0x94] {
            bent[at] = byte;
            let _ = Trace::from_bytes(&bent, "bent");
        }
        bent[at] = whole[at];
    }
}

#[test]
fn a_missing_file_and_a_directory_say_so() {
    let missing = Trace::open(corpus().join("no_such_file")).unwrap_err();
    assert!(missing.to_string().contains("no_such_file: No such file"), "{missing}");
    let directory = Trace::open(corpus()).unwrap_err();
    assert!(matches!(&directory, TraceError::InFile { problem, .. } if matches!(**problem, TraceError::Directory)));
}

/// A pickle that begins like a snapshot and goes on with a text of zeros.
fn bomb(bytes: u64, mut to: impl Write) {
    to.write_all(b"\x80\x04\x8d").unwrap();
    to.write_all(&bytes.to_le_bytes()).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), bytes), &mut to).unwrap();
}

#[test]
fn compressed_bombs_are_refused_before_they_hurt() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    bomb(80 << 20, &mut gzip);
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    bomb(512 << 20, &mut zstd);
    for (name, file) in [("gzip", gzip.finish().unwrap()), ("zstd", zstd.finish().unwrap())] {
        let problem = Trace::from_bytes(&file, name).unwrap_err();
        assert!(problem.to_string().contains("out of proportion to its size"), "{problem}");
    }
}

#[test]
fn a_pipe_can_be_read() {
    let path = corpus().join("h200/run_mlp.pickle.gz");
    let mut child = std::process::Command::new("cat").arg(&path).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let pipe = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&out));
    let trace = Trace::open(pipe).unwrap();
    child.wait().unwrap();
    assert!(trace == Trace::open(path).unwrap());
}

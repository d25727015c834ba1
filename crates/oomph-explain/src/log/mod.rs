//! The log of a job that died: a first verdict from the message PyTorch printed.
//!
//! The message has figures enough to tell a request that no card could serve from a card that others hold, and the
//! traceback above it says who asked last. It cannot say who holds the memory, and nothing can be replayed from it: so
//! a [`FirstVerdict`] has no proof, and says what it cannot tell and how to find out.

mod host;
mod lines;
mod message;
mod verdict;

pub use host::{HostFailure, HostFailureKind};
pub use lines::Call;
pub use message::Figures;
pub(crate) use verdict::SHARED_MEMORY_ADVICE;
pub use verdict::{FirstVerdict, RECIPE};

use lines::{LogLine, traceback};

/// One failure that a log tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which of several processes wrote it (`rank 3`), where its lines say so.
    pub writer: Option<String>,
    /// The line of the log, from 1.
    pub log_line: usize,
    /// What ran out.
    pub kind: FailureKind,
    /// The calls of the traceback above it, innermost first; empty where there is none.
    pub calls: Vec<Call>,
}

/// What ran out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// PyTorch's allocator, with the figures of its message.
    Allocator(Figures),
    /// The driver or a library, past PyTorch's allocator: `CUDA error: out of memory`.
    Driver,
    /// The machine's own memory.
    Host(HostFailure),
}

/// Everything a log tells of memory that ran out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// What each process died of, in the order of the log: the first to run out comes first. Never empty.
    failures: Vec<Failure>,
}

/// A message that was broken into lines is put together from so many at most.
const MESSAGE_LINES_MAX: usize = 12;

impl Log {
    /// Looks for PyTorch's messages in a text; `None` if there are none.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let lines: Vec<LogLine> = text.split(['\n', '\r']).map(LogLine::of).collect();
        let mut failures: Vec<Failure> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let Some(kind) = kind(&lines, at) else { continue };
            let failure = Failure { writer: line.writer.clone(), log_line: at + 1, kind, calls: traceback(&lines, at) };
            match failures.iter_mut().find(|earlier| earlier.writer == failure.writer) {
                Some(earlier) if earlier.gives_way_to(&failure) => *earlier = failure,
                Some(_) => {}
                None => failures.push(failure),
            }
        }
        failures.sort_by_key(|failure| failure.log_line);
        // A process that is killed because another one ran out on its card did not run out itself.
        if failures.iter().any(|failure| !matches!(failure.kind, FailureKind::Host(_))) {
            failures.retain(|failure| !matches!(failure.kind, FailureKind::Host(_)));
        }
        (!failures.is_empty()).then_some(Self { failures })
    }

    /// What each process died of, in the order of the log.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// The failure that came first.
    #[must_use]
    pub fn first(&self) -> &Failure {
        &self.failures[0]
    }

    /// The verdict on the failure that came first.
    #[must_use]
    pub fn verdict(&self) -> FirstVerdict {
        FirstVerdict::of(self.first())
    }
}

impl Failure {
    /// Whether a later failure of the same process is the one it died of. An earlier one was caught, or the process
    /// would not have gone on to fail again; but a logger may repeat a message without its traceback.
    fn gives_way_to(&self, later: &Self) -> bool {
        let specific = |failure: &Self| match failure.kind {
            FailureKind::Allocator(_) => 2,
            FailureKind::Driver => 1,
            FailureKind::Host(_) => 0,
        };
        match specific(self).cmp(&specific(later)) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => self.kind != later.kind || (self.calls.is_empty() && !later.calls.is_empty()),
        }
    }
}

/// What a line says ran out, with the lines that continue it.
fn kind(lines: &[LogLine], at: usize) -> Option<FailureKind> {
    let text = &lines[at].text;
    // A program that prints its own source, or documentation, has the words but not the figures.
    let is_message = text.contains("out of memory")
        && (text.contains("ried to allocate")
            || text.contains("backend out of memory")
            || text.contains("would exceed"));
    if is_message {
        let figures = Figures::read(&whole_message(lines, at));
        return figures.request_bytes.is_some().then_some(FailureKind::Allocator(figures));
    }
    if [
        "CUDA error: out of memory",
        "HIP error: out of memory",
        "CUDNN_STATUS_ALLOC_FAILED",
        "CUBLAS_STATUS_ALLOC_FAILED",
        // NCCL's.
        "Cuda failure 2 'out of memory'",
    ]
    .iter()
    .any(|words| text.contains(words))
    {
        return Some(FailureKind::Driver);
    }
    HostFailure::read(text).map(FailureKind::Host)
}

/// The message from its beginning, with the lines of the same writer that continue it up to the next message.
fn whole_message(lines: &[LogLine], at: usize) -> String {
    let line = &lines[at];
    let begin = line.text.find("out of memory").unwrap_or(0);
    // MPS and the driver's own pool write figures before these words.
    let begin =
        if line.text.contains("would exceed") { line.text.find("Allocation on").unwrap_or(begin) } else { begin };
    let mut message = line.text[begin..].to_owned();
    let following = lines[at + 1..].iter().filter(|next| next.writer == line.writer).take(MESSAGE_LINES_MAX);
    for next in following.take_while(|next| !next.text.trim().is_empty() && !next.text.contains("out of memory")) {
        message.push(' ');
        message.push_str(without_prefix(&next.text));
    }
    message
}

/// A line without `[rank3]: `.
fn without_prefix(text: &str) -> &str {
    text.split_once("]:").filter(|(prefix, _)| prefix.len() < 80).map_or(text, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKS: &str = "\
2026-02-03 10:00:00 epoch 1, 100 MiB free; out of memory is not expected
[rank2]: Traceback (most recent call last):
[rank0]: Traceback (most recent call last):
[rank2]:   File \"/job/train.py\", line 40, in <module>
[rank0]:   File \"/job/train.py\", line 40, in <module>
[rank2]:   File \"/job/train.py\", line 25, in step
[rank2]:     loss = model(x).loss
[rank2]:   File \"/x/site-packages/torch/nn/modules/module.py\", line 1790, in _call_impl
[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a total capacity of
[rank2]: 79.10 GiB of which 1.20 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 1.00 GiB
[rank2]: is reserved by PyTorch but unallocated.
[rank0]:   File \"/job/train.py\", line 31, in backward
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 79.10 GiB
";

    #[test]
    fn interleaved_ranks_are_told_apart() {
        let log = Log::read(RANKS).expect("two failures");
        let writers: Vec<_> = log.failures().iter().map(|failure| failure.writer.as_deref()).collect();
        assert_eq!(writers, [Some("rank 2"), Some("rank 0")]);
        let first = log.first();
        let lines: Vec<_> = first.calls.iter().map(|call| call.line).collect();
        assert_eq!((lines, first.log_line), (vec![1790, 25, 40], 9));
        let FailureKind::Allocator(figures) = &first.kind else { panic!("{first:?}") };
        assert_eq!(figures.unallocated_bytes, Some(1 << 30), "the message is broken into three lines");
        assert_eq!(log.failures()[1].calls[0].line, 31);
    }

    #[test]
    fn the_failure_that_was_not_caught_counts_and_repetitions_do_not() {
        let message =
            |mib: u32| format!("RuntimeError: CUDA out of memory. Tried to allocate {mib}.00 MiB (GPU 0; x)\n");
        let traceback = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n";
        let text = format!("{}retrying\n{traceback}{}ERROR {}", message(512), message(256), message(256));
        let log = Log::read(&text).expect("a failure");
        assert_eq!(log.failures().len(), 1);
        assert_eq!((log.first().log_line, log.first().calls.len()), (5, 1));
    }

    #[test]
    fn the_driver_and_the_host_run_out_too() {
        let driver = Log::read("RuntimeError: CUDA error: out of memory\n").expect("a failure");
        assert_eq!(driver.first().kind, FailureKind::Driver);
        let host = "RuntimeError: [enforce fail at alloc_cpu.cpp:114] . DefaultCPUAllocator: can't allocate memory: you \
                    tried to allocate 1048576 bytes. Error code 12";
        let FailureKind::Host(failure) = Log::read(host).expect("a failure").first().kind.clone() else { panic!() };
        assert_eq!(failure.request_bytes, Some(1 << 20));
        let both = format!("{host}\n{RANKS}");
        assert_eq!(Log::read(&both).expect("failures").failures().len(), 2, "the card's failures come first");
    }

    #[test]
    fn talk_of_memory_is_no_failure() {
        for text in
            ["", "if 'out of memory' in str(error):", "Tried to allocate", "CUDA out of memory", "\x1b[", "│ in "]
        {
            assert_eq!(Log::read(text), None, "{text}");
        }
    }
}

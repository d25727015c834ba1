//! What a message says of the machine's own memory.

use super::message::size_after;

/// The machine's own memory ran out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFailure {
    /// How that showed.
    pub kind: HostFailureKind,
    /// How much was asked for, where the message says it.
    pub request_bytes: Option<u64>,
    /// The process that was killed, where the message says it.
    pub pid: Option<u32>,
}

/// How a lack of the machine's memory shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostFailureKind {
    /// A request was refused.
    Refused,
    /// A process was killed.
    Killed,
    /// A page of shared memory could not be had: `/dev/shm` is full.
    SharedMemory,
}

const SHARED_MEMORY: [&str; 3] =
    ["is killed by signal: Bus error", "out of shared memory", "insufficient shared memory (shm)"];
const KILLED: [&str; 4] = ["is killed by signal: Killed", "Out of memory: Killed process", "oom-kill", "oom_kill"];
const REFUSED: [&str; 3] = ["[Errno 12] Cannot allocate memory", "Cannot allocate memory (12)", "std::bad_alloc"];

impl HostFailure {
    /// Reads one line; none if it says nothing of the machine's memory.
    pub(super) fn read(text: &str) -> Option<Self> {
        let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
        let is_cpu_allocator = text.contains("DefaultCPUAllocator") && (says(&["allocate memory", "enough memory"]));
        // PyTorch's file for a shared tensor; any other file is on a disk.
        let is_shm_full = text.contains("</torch_") && text.contains("No space left on device");
        let error = text.rsplit_once("]:").map_or(text, |(_, error)| error).trim();
        let is_memory_error = error == "MemoryError" || error.starts_with("MemoryError:");
        let (kind, request_bytes) = if is_cpu_allocator {
            (HostFailureKind::Refused, Some(digits_after(text, "tried to allocate ")?))
        } else if text.contains("Unable to allocate ") && text.contains(" for an array with shape") {
            (HostFailureKind::Refused, size_after(text, "Unable to allocate "))
        } else if says(&SHARED_MEMORY) || is_shm_full {
            (HostFailureKind::SharedMemory, None)
        } else if says(&KILLED) {
            (HostFailureKind::Killed, None)
        } else if is_memory_error || says(&REFUSED) {
            (HostFailureKind::Refused, None)
        } else {
            return None;
        };
        let pid = ["(pid ", "Killed process "].iter().find_map(|marker| digits_after(text, marker));
        Some(Self { kind, request_bytes, pid: pid.and_then(|pid| pid.try_into().ok()) })
    }
}

fn digits_after(text: &str, marker: &str) -> Option<u64> {
    let rest = &text[text.find(marker)? + marker.len()..];
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_running_out_is_known() {
        let read =
            |text: &str| HostFailure::read(text).map(|failure| (failure.kind, failure.request_bytes, failure.pid));
        let numpy =
            "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 2.00 GiB for an array with shape (9,)";
        assert_eq!(read(numpy), Some((HostFailureKind::Refused, Some(2 << 30), None)));
        assert_eq!(read("[rank1]: MemoryError"), Some((HostFailureKind::Refused, None, None)));
        let worker = "RuntimeError: DataLoader worker (pid 71) is killed by signal: Killed. ";
        assert_eq!(read(worker), Some((HostFailureKind::Killed, None, Some(71))));
        let bus = "RuntimeError: DataLoader worker (pid 72) is killed by signal: Bus error. It is possible that \
                   dataloader's workers are out of shared memory. Please try to raise your shared memory limit.";
        assert_eq!(read(bus), Some((HostFailureKind::SharedMemory, None, Some(72))));
        let full = "RuntimeError: unable to write to file </torch_91_2_0>: No space left on device (28)";
        assert_eq!(read(full), Some((HostFailureKind::SharedMemory, None, None)));
        let fork = "OSError: [Errno 12] Cannot allocate memory";
        assert_eq!(read(fork), Some((HostFailureKind::Refused, None, None)));
    }

    #[test]
    fn talk_of_memory_is_no_failure() {
        for text in [
            "except MemoryError:",
            "RuntimeError: DataLoader worker (pid 71) is killed by signal: Terminated. ",
            "OSError: [Errno 28] No space left on device: 'checkpoint.pt'",
            "DefaultCPUAllocator",
        ] {
            assert_eq!(HostFailure::read(text), None, "{text}");
        }
    }
}

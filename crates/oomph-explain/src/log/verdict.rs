//! From the figures of a message to a class, as far as they reach.

use oomph_trace::Interner;

use super::{Failure, FailureKind, Figures, HostFailure, HostFailureKind};
use crate::analyses::outside::CONTEXT_BYTES_MAX;
use crate::bytes::show;
use crate::source::{Sources, file_name};
use crate::verdict::fragmentation::HOLES_SHARE_MIN;

/// How to record what a full verdict needs: bounded in what it keeps, and a file for every rank.
pub const RECIPE: &str = "\
torch.cuda.memory._record_memory_history(max_entries=100_000)
try:
    train()
except torch.OutOfMemoryError:
    rank = os.environ.get(\"RANK\", 0)
    torch.cuda.memory._dump_snapshot(f\"snapshot-rank{rank}.pickle\")
    raise
";

/// What a message alone allows to say: no proof, and a line that asked rather than one that is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstVerdict {
    /// The class's name.
    pub class: &'static str,
    /// The sentence.
    pub summary: String,
    /// The user's line that asked for the memory: file, line and function.
    pub asked_at: Option<(String, u32, String)>,
    /// The bytes the class is about.
    pub bytes: u64,
    /// What the user can do, most useful first.
    pub advice: Vec<String>,
    /// What the log cannot tell.
    pub cannot_tell: Vec<&'static str>,
}

/// What others hold must be at least this part of what this process holds to be the cause, as for a trace.
const OTHERS_SHARE_MIN: u64 = 10;

const WHO_HOLDS_IT: &str =
    "which lines hold the memory: the traceback ends at the line that asked last, which may be blameless";
const STEP_OR_LEAK: &str =
    "whether one step needs this much, or earlier steps left it behind (a leak, a cache that grows)";
const WHOSE_IT_IS: &str =
    "whose it is: another library in this process, or another process (nvidia-smi lists processes)";
const WOULD_FIT: &str =
    "whether the request would have fitted with other allocator settings: oomph replay can, from a snapshot";

pub(crate) const SHARED_MEMORY_ADVICE: &str = "Give the container more of it (docker run --shm-size=16g, or --ipc=host; in Kubernetes an emptyDir with medium \
     Memory at /dev/shm), or use fewer workers, a smaller prefetch_factor or smaller batches.";

impl FirstVerdict {
    pub(super) fn of(failure: &Failure) -> Self {
        let asked_at = asked_at(failure);
        let asker = asked_at.as_ref().map_or_else(
            || "a line that the log does not show".to_owned(),
            |(file, line, _)| format!("{}:{line}", file_name(file)),
        );
        let mut verdict = match &failure.kind {
            FailureKind::Allocator(figures) => of_figures(figures, &asker),
            FailureKind::Driver => of_driver(&asker),
            FailureKind::Host(host) => of_host(host, &asker),
        };
        verdict.asked_at = asked_at;
        verdict
    }

    fn new(class: &'static str, bytes: u64, summary: String) -> Self {
        let (advice, cannot_tell) = (Vec::new(), vec![WHO_HOLDS_IT]);
        Self { class, summary, asked_at: None, bytes, advice, cannot_tell }
    }

    fn advise(mut self, advice: &str) -> Self {
        self.advice.push(advice.to_owned());
        self
    }

    fn cannot_tell(mut self, what: &'static str) -> Self {
        self.cannot_tell.push(what);
        self
    }
}

/// The innermost line of the user's own code in the traceback; where there is none, of a library other than torch.
fn asked_at(failure: &Failure) -> Option<(String, u32, String)> {
    let mut interner = Interner::new();
    let calls: Vec<(&str, &str, u32)> =
        failure.calls.iter().map(|call| (call.function.as_str(), call.file.as_str(), call.line)).collect();
    let stack = interner.intern_calls(&calls);
    let table = interner.into_table();
    let sources = Sources::of(&table);
    let line = sources.line_to_name(stack)?;
    let (file, number) = sources.place(line);
    Some((file.to_owned(), number, sources.function(line).to_owned()))
}

/// Asks the classes in the order in which they rule one another out.
fn of_figures(figures: &Figures, asker: &str) -> FirstVerdict {
    request_too_large(figures, asker)
        .or_else(|| other_process(figures))
        .or_else(|| outside_pytorch(figures))
        .or_else(|| fragmentation(figures))
        .unwrap_or_else(|| too_big(figures, asker))
}

fn request_too_large(figures: &Figures, asker: &str) -> Option<FirstVerdict> {
    let (request, capacity) = (figures.request_bytes?, figures.capacity_bytes()?);
    if request <= capacity {
        return None;
    }
    let summary = format!(
        "{asker} asked for one tensor of {}, more than the {} that PyTorch may use.",
        show(request),
        show(capacity)
    );
    let mut verdict = FirstVerdict::new("request_too_large", request, summary)
        .advise("Check the shape first; then compute it in chunks, or use an operator that never builds the tensor.");
    // Nothing that is held elsewhere matters.
    verdict.cannot_tell = vec!["the shape and the dtype of the tensor"];
    Some(verdict)
}

fn other_process(figures: &Figures) -> Option<FirstVerdict> {
    let others: u64 = figures.other_processes.iter().map(|&(_, bytes)| bytes).sum();
    let own = figures.process_bytes.or(figures.reserved_bytes()).unwrap_or(0);
    let would_fit = others + figures.free_bytes? >= figures.request_bytes?;
    if others == 0 || !would_fit || others < own / OTHERS_SHARE_MIN || refused_by_limit(figures) {
        return None;
    }
    let pids: Vec<String> = figures.other_processes.iter().map(|(pid, _)| pid.to_string()).collect();
    let noun = if pids.len() == 1 { "Another process (pid" } else { "Other processes (pids" };
    let summary = format!(
        "{noun} {}) held {} of the card when {} more was asked for; this process held {}.",
        pids.join(", "),
        show(others),
        show(figures.request_bytes?),
        show(own)
    );
    Some(
        FirstVerdict::new("other_process", others, summary)
            .advise("Look with nvidia-smi whose process it is: a job that was not ended, a notebook, another rank on the same card.")
            .advise("End it, or run this job on another card (CUDA_VISIBLE_DEVICES)."),
    )
}

fn outside_pytorch(figures: &Figures) -> Option<FirstVerdict> {
    let (request, free) = (figures.request_bytes?, figures.free_bytes.unwrap_or(0));
    let reserved = figures.reserved_bytes()?;
    if refused_by_limit(figures) {
        return None;
    }
    let held_outside = figures.outside_bytes.or_else(|| {
        let used = figures.process_bytes.or(figures.total_bytes.map(|total| total.saturating_sub(free)))?;
        Some(used.saturating_sub(reserved + CONTEXT_BYTES_MAX))
    })?;
    if free > request && held_outside < reserved / OTHERS_SHARE_MIN {
        return Some(refused_with_room(request, free));
    }
    if held_outside + free < request || held_outside < request.max(reserved / OTHERS_SHARE_MIN) {
        return None;
    }
    let summary = format!(
        "{} was refused although PyTorch had reserved only {}: about {} of the card was held outside PyTorch's \
         allocator.",
        show(request),
        show(reserved),
        show(held_outside)
    );
    Some(
        FirstVerdict::new("outside_pytorch", held_outside, summary)
            .advise("Look with nvidia-smi which processes hold the card, and for libraries beside PyTorch in yours.")
            .cannot_tell(WHOSE_IT_IS),
    )
}

/// The driver said no and, asked a moment later, that it had room.
fn refused_with_room(request: u64, free: u64) -> FirstVerdict {
    let summary = format!(
        "{} was refused although the driver had {} free a moment later: something other than PyTorch's tensors stood in \
         the way.",
        show(request),
        show(free)
    );
    FirstVerdict::new("outside_pytorch", request, summary)
        .advise(
            "Look for another process that came and went, and for a limit on the container or the card's partition.",
        )
        .cannot_tell(
            "what refused it: another process that has gone since, a limit of the container, or the driver's own needs",
        )
}

fn fragmentation(figures: &Figures) -> Option<FirstVerdict> {
    let (request, unallocated) = (figures.request_bytes?, figures.unallocated_bytes?);
    let reserved = figures.reserved_bytes()?;
    let room = match figures.limit_bytes {
        Some(limit) => limit.saturating_sub(reserved),
        None => figures.free_bytes.unwrap_or(0),
    };
    if unallocated + room < request || (unallocated as f64) < HOLES_SHARE_MIN * reserved as f64 {
        return None;
    }
    let summary = format!(
        "{} was asked for while {} of the {} that PyTorch had reserved was not allocated: enough, but not in one piece.",
        show(request),
        show(unallocated),
        show(reserved)
    );
    Some(
        FirstVerdict::new("fragmentation", unallocated, summary)
            .advise("Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.")
            .advise("Use fewer distinct sizes: pad or bucket lengths, keep the batch size fixed.")
            .cannot_tell(WOULD_FIT),
    )
}

fn too_big(figures: &Figures, asker: &str) -> FirstVerdict {
    let allocated = figures.allocated_bytes.unwrap_or(0);
    let of_all = figures.capacity_bytes().map_or_else(String::new, |capacity| format!(" of {}", show(capacity)));
    let summary = format!(
        "Live tensors held {}{of_all} when {asker} asked for {} more.",
        show(allocated),
        show(figures.request_bytes.unwrap_or(0))
    );
    FirstVerdict::new("too_big", allocated, summary)
        .advise("If it died in its first steps: a smaller batch with gradient accumulation, activation checkpointing, lower precision.")
        .advise("If it died after many steps that went well: something is kept from step to step; record a snapshot.")
        .cannot_tell(STEP_OR_LEAK)
}

fn of_driver(asker: &str) -> FirstVerdict {
    let summary =
        format!("CUDA ran out of memory past PyTorch's allocator, in a call of {asker}: the message has no figures.");
    FirstVerdict::new("outside_pytorch", 0, summary)
        .advise("Look with nvidia-smi who holds the card: CUDA contexts and libraries need memory beside PyTorch's.")
        .cannot_tell(WHOSE_IT_IS)
}

fn of_host(failure: &HostFailure, asker: &str) -> FirstVerdict {
    let bytes = failure.request_bytes.unwrap_or(0);
    let summary = match failure.kind {
        HostFailureKind::Refused if bytes > 0 => {
            format!("The machine, not the card, ran out of memory: {asker} asked for {}.", show(bytes))
        }
        HostFailureKind::Refused => format!("The machine, not the card, ran out of memory, in a call of {asker}."),
        HostFailureKind::Killed => {
            "A process was killed because the machine, not the card, ran out of memory.".to_owned()
        }
        HostFailureKind::SharedMemory => {
            "Shared memory (/dev/shm) ran out, through which DataLoader workers hand their batches over.".to_owned()
        }
    };
    let advice = match failure.kind {
        HostFailureKind::SharedMemory => SHARED_MEMORY_ADVICE,
        HostFailureKind::Refused | HostFailureKind::Killed => {
            "Use fewer DataLoader workers, and load less per worker; look at what grows on the host with top or ps."
        }
    };
    FirstVerdict::new("host_out_of_memory", bytes, summary).advise(advice)
}

/// Whether the process's own limit refused it: the card itself had room.
fn refused_by_limit(figures: &Figures) -> bool {
    let capped = figures.limit_bytes.zip(figures.total_bytes).is_some_and(|(limit, total)| limit < total);
    capped && figures.free_bytes >= figures.request_bytes
}

#[cfg(test)]
mod tests {
    use crate::log::Log;

    fn verdict(message: &str) -> (&'static str, String) {
        let verdict = Log::read(message).expect("a failure").verdict();
        (verdict.class, verdict.summary)
    }

    fn class(message: &str) -> &'static str {
        verdict(message).0
    }

    const HEAD: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate";

    #[test]
    fn figures_decide_the_class() {
        let full = "1.00 GiB. GPU 0 has a total capacity of 23.60 GiB of which 0.20 GiB is free. Including non-PyTorch \
                    memory, this process has 23.40 GiB memory in use. Of the allocated memory 22.50 GiB is allocated by \
                    PyTorch, and 0.30 GiB is reserved by PyTorch but unallocated.";
        let pieces = "2.00 GiB. GPU 0 has a total capacity of 23.60 GiB of which 0.20 GiB is free. Including non-PyTorch \
                      memory, this process has 23.40 GiB memory in use. Of the allocated memory 17.00 GiB is allocated \
                      by PyTorch, and 5.70 GiB is reserved by PyTorch but unallocated.";
        let others = "2.00 GiB. GPU 0 has a total capacity of 23.60 GiB of which 0.20 GiB is free. Process 71 has 18.00 \
                      GiB memory in use. Including non-PyTorch memory, this process has 5.00 GiB memory in use. Of the \
                      allocated memory 4.00 GiB is allocated by PyTorch, and 0.10 GiB is reserved by PyTorch but \
                      unallocated.";
        let capped = "2.00 MiB. GPU 0 has a total capacity of 250.00 GiB of which 244.00 GiB is free. 1.05 GiB allowed; \
                      Of the allocated memory 1.03 GiB is allocated by PyTorch, and 10.00 MiB is reserved by PyTorch but \
                      unallocated.";
        let refused = "2.00 MiB. GPU 7 has a total capacity of 280.00 GiB of which 200.00 GiB is free. Of the allocated \
                       memory 68.00 GiB is allocated by PyTorch, and 11.90 GiB is reserved by PyTorch but unallocated.";
        let huge = "55.00 GiB. GPU 0 has a total capacty of 12.00 GiB of which 9.00 GiB is free. Of the allocated memory \
                    900.00 MiB is allocated by PyTorch, and 400.00 MiB is reserved by PyTorch but unallocated.";
        assert_eq!(class(&format!("{HEAD} {full}")), "too_big");
        assert_eq!(class(&format!("{HEAD} {pieces}")), "fragmentation");
        assert_eq!(class(&format!("{HEAD} {others}")), "other_process");
        assert_eq!(class(&format!("{HEAD} {capped}")), "too_big");
        assert_eq!(class(&format!("{HEAD} {refused}")), "outside_pytorch");
        assert_eq!(class(&format!("{HEAD} {huge}")), "request_too_large");
        let old = "RuntimeError: CUDA out of memory. Tried to allocate 16.00 MiB (GPU 0; 15.75 GiB total capacity; 79.00 \
                   MiB already allocated; 3.50 MiB free; 86.00 MiB reserved in total by PyTorch)";
        assert_eq!(class(old), "outside_pytorch");
        let mps = "RuntimeError: MPS backend out of memory (MPS allocated: 9.50 GB, other allocations: 17.25 GB, max \
                   allowed: 27.00 GB). Tried to allocate 292.50 MB on private pool.";
        assert_eq!(class(mps), "outside_pytorch");
    }

    #[test]
    fn the_line_that_asked_is_the_users_own() {
        let log = format!(
            "Traceback (most recent call last):\n  File \"/job/train.py\", line 25, in fit\n  File \
             \"/x/site-packages/torch/nn/functional.py\", line 99, in pad\n{HEAD} 55.00 GiB. GPU 0 has a total capacity \
             of 12.00 GiB of which 9.00 GiB is free."
        );
        let verdict = Log::read(&log).expect("a failure").verdict();
        assert_eq!(verdict.asked_at, Some(("/job/train.py".to_owned(), 25, "fit".to_owned())));
        assert_eq!(
            verdict.summary,
            "train.py:25 asked for one tensor of 55.00GiB, more than the 12.00GiB that PyTorch may use."
        );
    }

    #[test]
    fn without_figures_only_what_is_known_is_said() {
        let (class, summary) = verdict("RuntimeError: CUDA error: out of memory");
        assert!(class == "outside_pytorch" && summary.contains("no figures"), "{summary}");
        assert_eq!(verdict(&format!("{HEAD} 2.00 GiB")).0, "too_big");
    }
}

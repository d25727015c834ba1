//! What a box keeps of the host's memory.

use std::sync::atomic::Ordering::Relaxed;

use crate::layout::word;
use crate::memory::Memory;
use crate::model::HostState;

/// What is known of it.
pub(crate) fn read(memory: &Memory) -> HostState {
    HostState {
        cpu_tensor_bytes: memory.load(word::HOST_TENSOR_BYTES),
        cpu_tensor_peak_bytes: memory.load(word::HOST_TENSOR_PEAK_BYTES),
        pinned_bytes: memory.load(word::PINNED_BYTES),
        allocations: memory.load(word::HOST_ALLOCATIONS),
        frees: memory.load(word::HOST_FREES),
    }
}

/// Adds to what CPU tensors hold. Any thread may do this.
pub(crate) fn grow(memory: &Memory, bytes: u64) {
    let [now, peak] = [word::HOST_TENSOR_BYTES, word::HOST_TENSOR_PEAK_BYTES].map(|at| memory.words().get(at));
    if let (Some(now), Some(peak)) = (now, peak) {
        let held = now.fetch_add(bytes, Relaxed).wrapping_add(bytes);
        if held > peak.load(Relaxed) {
            peak.fetch_max(held, Relaxed);
        }
    }
}

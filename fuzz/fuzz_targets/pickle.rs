//! Any bytes as a file, most of them pickles: no panic, and what is read survives being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomph_trace::{Trace, write_torch_snapshot};

fuzz_target!(|data: &[u8]| {
    if let Ok(mut trace) = Trace::from_bytes(data, "fuzz") {
        trace.truncated = None;
        let mut written = Vec::new();
        write_torch_snapshot(&trace, &mut written).expect("memory does not fail");
        // Sharing can make the written file far smaller than what it stands for, so it may be refused; but not changed.
        if let Ok(again) = Trace::from_bytes(&written, "written") {
            assert!(trace == again || has_nan(&trace), "changed by a round trip");
        }
    }
});

/// A NaN differs from itself, so a trace that holds one does too.
fn has_nan(trace: &Trace) -> bool {
    trace != &trace.clone()
}

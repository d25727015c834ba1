//! Any bytes as a snapshot in JSON: no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomph_trace::Trace;

fuzz_target!(|data: &[u8]| {
    // Brackets first, or nearly all inputs are taken for something else.
    let file = [b"{", data].concat();
    let _ = Trace::from_bytes(&file, "fuzz");
});

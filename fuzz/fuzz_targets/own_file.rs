//! Any records in well-formed chunks of oomph's own file: no panic, and what is read survives being written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomph_trace::{Trace, write_oomph_trace};

fuzz_target!(|data: &[u8]| {
    // Checksums and compression are no use against a fuzzer that cannot compute them, so they are made for it.
    let records: Vec<&[u8]> = data.split(|&byte| byte == 0xfe).collect();
    for file in [oomph_trace::fuzzing::file_of_records(&records), [b"\x93oomph\r\n\x01\0", data].concat()] {
        if let Ok(mut trace) = Trace::from_bytes(&file, "fuzz") {
            trace.truncated = None;
            let mut written = Vec::new();
            write_oomph_trace(&trace, &mut written).expect("memory does not fail");
            if let Ok(again) = Trace::from_bytes(&written, "written") {
                assert!(trace == again || trace != trace.clone(), "changed by a round trip");
            }
        }
    }
});

//! Any black box made into a trace and judged, as `oomph explain` does: no panic, no endless loop.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomph_box::BlackBox;
use oomph_explain::{Options, explain};
use oomph_fuzz::{patched, told};
use oomph_job::Recorded;

fn judge(bytes: Vec<u8>) {
    let Ok(seen) = BlackBox::from_bytes(bytes) else { return };
    let Ok(recorded) = Recorded::of(&seen) else { return };
    for trace in [&recorded.trace, &recorded.host] {
        if let Ok(report) = explain(trace, &Options::default()) {
            let _ = oomph_explain::render::json::render(&report, 10);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    judge(told(data));
    judge(patched(data));
});

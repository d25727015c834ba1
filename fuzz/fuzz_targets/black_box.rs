//! A black box with any words changed: no panic, nothing out of bounds, no endless loop.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomph_box::{BlackBox, StackNumber};
use oomph_fuzz::patched;

fn read(bytes: Vec<u8>) {
    let Ok(seen) = BlackBox::from_bytes(bytes) else { return };
    let _ = (seen.process(), seen.state(), seen.devices(), seen.host(), seen.lost(), seen.live_segments());
    for block in seen.live_blocks() {
        let _ = (seen.stack(block.stack), seen.lane(block.lane));
    }
    let events = seen.events_since(0);
    let _ = seen.events_since(events.next / 2);
    let _ = (seen.facts(), seen.question(), seen.question_text());
    for number in (0..3000).chain([u32::MAX]) {
        let _ = (seen.stack(StackNumber(number)), seen.name(oomph_box::NameNumber(number)));
    }
}

fuzz_target!(|data: &[u8]| {
    read(data.to_vec());
    read(patched(data));
});

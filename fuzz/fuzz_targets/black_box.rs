//! A black box with any words changed: no panic, nothing out of bounds, no endless loop.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use oomph_box::{Action, BlackBox, Category, MIN_BYTES, MemoryEvent, Phase, StackNumber, Stage, Writer};

/// A box with some of everything, as the recorder writes it.
fn whole() -> &'static [u8] {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let writer = Writer::in_memory(MIN_BYTES).expect("the smallest box");
        let name = writer.name(b"epoch");
        for index in 0..200_u64 {
            let stack = writer.stack_of(&[("train.py", "step", index as u32 % 9), ("train.py", "main", 1)]);
            let lane = writer.lane(index % 4, (0, index % 2));
            let address = 0x1000 + index * 512;
            writer.memory(&MemoryEvent { action: Action::Alloc, device: 0, address, bytes: index, stack, lane });
            writer.tag(address, Category::Activation, 3);
            writer.mark(name, Stage::Moment);
            writer.state(index, index, Phase::Forward);
            writer.fact(b"{\"a\":1}");
        }
        let stack = StackNumber(1);
        let segment =
            MemoryEvent { action: Action::SegmentMap, device: 0, address: 1 << 20, bytes: 1 << 20, stack, lane: 0 };
        writer.memory(&segment);
        writer.question(b"why?");
        writer.to_bytes()
    })
}

/// Takes patches from the input: where (in words, the first ones most often), and a word each.
fn patched(data: &[u8]) -> Vec<u8> {
    let mut bytes = whole().to_vec();
    let words = bytes.len() / 8;
    for patch in data.chunks_exact(12) {
        let (at, word) = patch.split_at(4);
        let at = u32::from_le_bytes(at.try_into().expect("four bytes")) as usize;
        let at = if at & 1 == 0 { at / 2 % words } else { at / 2 % 4096 };
        // The first three words say what the file is.
        let start = at.max(3) * 8;
        bytes[start..start + 8].copy_from_slice(word);
    }
    bytes
}

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

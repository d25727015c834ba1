//! What targets share: black boxes with any words changed, and black boxes of processes that did anything at all.

use std::sync::OnceLock;

use oomph_box::{Action, Category, EndedHow, MIN_BYTES, MemoryEvent, NameNumber, Phase, StackNumber, Stage, Writer};

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

/// That box with patches from the input: where (in words, the first ones most often), and a word each.
#[must_use]
pub fn patched(data: &[u8]) -> Vec<u8> {
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

/// The box of a process that did what the input says, twelve bytes each: every record is whole, and none need make sense.
#[must_use]
pub fn told(data: &[u8]) -> Vec<u8> {
    let writer = Writer::in_memory(MIN_BYTES).expect("the smallest box");
    for record in data.chunks_exact(12) {
        tell(&writer, record);
    }
    writer.to_bytes()
}

fn tell(writer: &Writer, record: &[u8]) {
    let [what, which, device, shift] = [record[0], record[1], record[2], record[3]];
    let word = |at: usize| u64::from(u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes")));
    let (address, bytes) = (word(4) << (shift & 31), word(8) << (shift >> 4));
    let stack = writer.stack_of(&[("train.py", "step", u32::from(which) % 9), ("train.py", "main", 1)]);
    let lane = u16::from(which);
    match what % 16 {
        0..8 => {
            let action = Action::from_number(what % 16).unwrap_or(Action::Alloc);
            writer.memory(&MemoryEvent { action, device, address, bytes, stack, lane });
        }
        8 => writer.tag(address, Category::from_number(which).unwrap_or(Category::Activation), word(8) as u32),
        9 => writer.mark(NameNumber(u32::from(which)), Stage::from_number(device).unwrap_or(Stage::Start)),
        10 => writer.state(address, bytes, Phase::from_number(which).unwrap_or(Phase::Forward)),
        11 => writer.fact(FACTS[usize::from(which) % FACTS.len()].as_bytes()),
        12 => writer.device(device, [which; 16], address, bytes),
        13 => writer.host_alloc(&MemoryEvent { action: Action::Alloc, device, address, bytes, stack, lane }),
        14 => writer.host_free(address),
        _ => writer.end(EndedHow::from_number(which).unwrap_or(EndedHow::OutOfMemory), word(8) as i32),
    }
}

/// What Python tells, whole and not.
const FACTS: [&str; 8] = [
    r#"["module", 0, "Linear", "layers.0", 4096]"#,
    r#"["backend", "native"]"#,
    r#"["note", "nothing"]"#,
    r#"["process", {"pid": 1, "rank": 3, "python": "3.11.7", "torch": "2.11.0"}]"#,
    r#"["end", {"outcome": {"kind": "oom"}, "pid": 1, "steps": 3, "batches": 3, "used_cuda": true, "raised": 1}]"#,
    r#"["end", {}]"#,
    "[]",
    "{",
];

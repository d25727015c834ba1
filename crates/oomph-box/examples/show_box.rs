//! Prints everything in a box as one object of JSON: `cargo run -p oomph-box --example show_box -- FILE [STACK...]`, with
//! the stacks of these numbers. For tests and for whoever debugs the recorder; `oomph explain` is for everybody else.

use std::path::Path;

use oomph_box::{BlackBox, BoxEvent, StackNumber, What};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("give the path of a box")?;
    let seen = BlackBox::open(Path::new(&path))?;
    let shown = json!({
        "process": format!("{:?}", seen.process()),
        "is_alive": seen.is_alive(),
        "state": state(&seen),
        "devices": seen.devices().iter().map(device).collect::<Vec<_>>(),
        "host": host(&seen),
        "blocks": blocks(&seen),
        "segments": segments(&seen),
        "events": events(&seen),
        "facts": seen.facts(),
        "stacks": stacks(&seen),
        "lost": format!("{:?}", seen.lost()),
    });
    serde_json::to_writer(std::io::stdout().lock(), &shown)?;
    Ok(())
}

fn state(seen: &BlackBox) -> Value {
    let state = seen.state();
    let ended = state.ended.map(|ended| json!({"how": format!("{:?}", ended.how), "exit_code": ended.exit_code}));
    json!({"step": state.step, "batches": state.batches, "phase": format!("{:?}", state.phase), "ended": ended})
}

fn device(device: &oomph_box::DeviceState) -> Value {
    json!({
        "ordinal": device.ordinal,
        "uuid": device.uuid,
        "total_bytes": device.total_bytes,
        "limit_bytes": device.limit_bytes,
        "requested_bytes": device.requested_bytes,
        "requested_peak_bytes": device.requested_peak_bytes,
        "reserved_bytes": device.reserved_bytes,
        "reserved_peak_bytes": device.reserved_peak_bytes,
        "counts": device.counts,
        "stats": device.stats.to_numbers(),
    })
}

fn host(seen: &BlackBox) -> Value {
    let host = seen.host();
    json!({"bytes": host.cpu_tensor_bytes, "peak_bytes": host.cpu_tensor_peak_bytes, "pinned_bytes": host.pinned_bytes})
}

fn stack(seen: &BlackBox, stack: StackNumber) -> Value {
    let frame = |frame: oomph_box::BoxFrame| json!([frame.file, frame.function, frame.line, frame.module_pointer]);
    seen.stack(stack).into_iter().map(frame).collect()
}

/// The stacks whose numbers were given.
fn stacks(seen: &BlackBox) -> Value {
    let numbers = std::env::args().skip(2).filter_map(|number| number.parse().ok());
    numbers.map(|number| stack(seen, StackNumber(number))).collect()
}

fn blocks(seen: &BlackBox) -> Value {
    let block = |block: &oomph_box::LiveBlock| {
        json!({
            "device": block.device,
            "address": block.address,
            "bytes": block.bytes,
            "stack": stack(seen, block.stack),
            "lane": seen.lane(block.lane),
            "category": format!("{:?}", block.category),
            "module": block.module,
            "free_requested": block.free_requested,
        })
    };
    seen.live_blocks().iter().map(block).collect()
}

fn segments(seen: &BlackBox) -> Value {
    let segment = |it: &oomph_box::LiveSegment| json!({"device": it.device, "address": it.address, "bytes": it.bytes});
    seen.live_segments().iter().map(segment).collect()
}

fn events(seen: &BlackBox) -> Value {
    let event = |(number, event): &(u64, BoxEvent)| {
        let what = match event.what {
            What::Memory(it) => json!({
                "action": format!("{:?}", it.action), "device": it.device, "address": it.address, "bytes": it.bytes,
                "stack": stack(seen, it.stack), "lane": seen.lane(it.lane),
            }),
            What::Mark { name, stage } => json!({"mark": seen.name(name), "stage": format!("{stage:?}")}),
            What::State { step, batches, phase } => {
                json!({"step": step, "batches": batches, "phase": format!("{phase:?}")})
            }
            What::Tag { address, category, module } => {
                json!({"tag": address, "category": format!("{category:?}"), "module": module})
            }
        };
        json!({"number": number, "time_us": event.time_us, "what": what})
    };
    seen.events_since(0).events.iter().map(event).collect()
}

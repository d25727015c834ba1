//! Writes a trace as a torch memory snapshot, so that PyTorch's `memory_viz` and other tools open it.

mod pickle;
mod torch;

use crate::model::event::Action;
use crate::model::extra::Value;
use crate::model::stack::StackTable;
use crate::model::trace::{DeviceTrace, Origin, Trace};

pub use torch::write_torch_snapshot;

/// An action as PyTorch spells it.
pub(crate) fn action_name(stacks: &StackTable, action: Action) -> &str {
    match action {
        Action::Other(name) => stacks.string(name),
        known => known.name().unwrap_or_default(),
    }
}

const ORIGINS: [(&str, Origin); 3] =
    [("torch_snapshot", Origin::TorchSnapshot), ("hollow_run", Origin::HollowRun), ("real_run", Origin::RealRun)];

/// What a trace knows beyond a torch snapshot; `None` if that is nothing. Kept under one key of its own, which
/// PyTorch's tools ignore.
fn own_to_value(trace: &Trace) -> Option<Value> {
    let text = |text: &str| Value::Text(text.to_owned());
    let bytes = |bytes: Option<u64>| bytes.map_or(Value::None, Value::Unsigned);
    // A torch snapshot has a list of events for every ordinal below the last.
    let is_plain = trace.origin == Origin::TorchSnapshot
        && trace.devices.iter().zip(0..).all(|(device, ordinal)| {
            let known = [device.total_bytes, device.limit_bytes, device.other_process_bytes];
            device.ordinal == ordinal && known == [None; 3]
        });
    if is_plain {
        return None;
    }
    let (origin, _) = ORIGINS.iter().find(|(_, origin)| *origin == trace.origin)?;
    let devices = trace.devices.iter().map(|device| {
        Value::Dict(vec![
            (text("ordinal"), Value::Unsigned(device.ordinal.into())),
            (text("total_bytes"), bytes(device.total_bytes)),
            (text("limit_bytes"), bytes(device.limit_bytes)),
            (text("other_process_bytes"), bytes(device.other_process_bytes)),
        ])
    });
    Some(Value::Dict(vec![(text("origin"), text(origin)), (text("devices"), Value::List(devices.collect()))]))
}

/// The opposite of [`own_to_value`]. `None`, with the trace unchanged, if the value is anything else.
pub(crate) fn own_from_value(own: &Value, trace: &mut Trace) -> Option<()> {
    let Value::Dict(pairs) = own else { return None };
    let [(Value::Text(first), Value::Text(origin)), (Value::Text(second), Value::List(devices))] = pairs.as_slice()
    else {
        return None;
    };
    if first != "origin" || second != "devices" {
        return None;
    }
    let (_, origin) = ORIGINS.iter().find(|(name, _)| name == origin)?;
    let mut capacities = Vec::new();
    for device in devices {
        let Value::Dict(pairs) = device else { return None };
        let [(_, ordinal), (_, total), (_, limit), (_, others)] = pairs.as_slice() else { return None };
        let ordinal = number(ordinal)?;
        let at = trace.devices.iter().position(|device| u64::from(device.ordinal) == ordinal)?;
        capacities.push((at, number(total), number(limit), number(others)));
    }
    trace.origin = *origin;
    let listed: Vec<u32> = capacities.iter().map(|&(at, ..)| trace.devices[at].ordinal).collect();
    for (at, total_bytes, limit_bytes, other_process_bytes) in capacities {
        trace.devices[at].total_bytes = total_bytes;
        trace.devices[at].limit_bytes = limit_bytes;
        trace.devices[at].other_process_bytes = other_process_bytes;
    }
    // The others are gaps in the numbering that the format made the exporter fill.
    let is_gap = |device: &DeviceTrace| device.events.is_empty() && device.segments.is_empty();
    trace.devices.retain(|device| listed.contains(&device.ordinal) || !is_gap(device));
    Some(())
}

fn number(value: &Value) -> Option<u64> {
    match *value {
        Value::Int(number) => u64::try_from(number).ok(),
        Value::Unsigned(number) => Some(number),
        _ => None,
    }
}

//! What the device figure is made of: PyTorch's allocator, the CUDA context, NCCL, and the other libraries.

use oomph_explain::bytes::{percent, show};
use oomph_explain::render::table::{Align, table};
use serde_json::{Value, json};

use super::answer::Answer;
use super::text::heading;

/// The parts of what a process has on its card; they add up to the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "units stand last in a name")]
pub(super) struct DeviceParts {
    /// Taken from the driver by PyTorch's allocator.
    reserved_bytes: u64,
    /// The CUDA context, as the card's file has it.
    context_bytes: u64,
    /// NCCL's communicators.
    nccl_bytes: u64,
    /// What other libraries took: cuBLAS, modules compiled at run time, the script's own requests.
    other_bytes: u64,
}

impl DeviceParts {
    pub(super) fn of(answer: &Answer) -> Self {
        let devices = &answer.process.facts.end.devices;
        let nccl_bytes = devices.iter().find(|facts| facts.index == answer.device).map_or(0, |facts| facts.nccl_bytes);
        Self::parted(answer.peaks.device_bytes, answer.peaks.reserved_bytes, answer.card().context_bytes, nccl_bytes)
    }

    /// What is reserved and the context are always there; the rest is what it can be at most.
    fn parted(device_bytes: u64, reserved_bytes: u64, context_bytes: u64, nccl_bytes: u64) -> Self {
        let rest_bytes = device_bytes.saturating_sub(reserved_bytes + context_bytes);
        let nccl_bytes = nccl_bytes.min(rest_bytes);
        Self { reserved_bytes, context_bytes, nccl_bytes, other_bytes: rest_bytes - nccl_bytes }
    }

    pub(super) fn json(self) -> Value {
        json!({
            "reserved_bytes": self.reserved_bytes,
            "context_bytes": self.context_bytes,
            "nccl_bytes": self.nccl_bytes,
            "other_bytes": self.other_bytes,
        })
    }
}

/// The parts as a table, where NCCL is one of them.
pub(super) fn section(out: &mut String, answer: &Answer, width: usize) {
    let parts = DeviceParts::of(answer);
    if parts.nccl_bytes == 0 {
        return;
    }
    heading(out, "What the device figure is made of");
    let rows = [
        (parts.reserved_bytes, "PyTorch's allocator"),
        (parts.context_bytes, "CUDA context"),
        (parts.nccl_bytes, "NCCL's communicators"),
        (parts.other_bytes, "other libraries"),
    ];
    let total_bytes = rows.iter().map(|(bytes, _)| bytes).sum();
    let rows: Vec<Vec<String>> = rows
        .iter()
        .filter(|(bytes, _)| *bytes > 0)
        .map(|&(bytes, name)| vec![show(bytes), percent(bytes, total_bytes), name.to_owned()])
        .collect();
    let columns = [("BYTES", Align::Right), ("SHARE", Align::Right), ("PART", Align::Left)];
    out.push_str(&table(&columns, &rows, width));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_figure() {
        let parts = DeviceParts::parted(1000, 600, 300, 70);
        assert_eq!(parts, DeviceParts { reserved_bytes: 600, context_bytes: 300, nccl_bytes: 70, other_bytes: 30 });
        // NCCL's most and the peak of the device may have been at different moments.
        assert_eq!(DeviceParts::parted(1000, 600, 350, 70).nccl_bytes, 50);
    }
}

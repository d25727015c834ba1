//! How a job is doing: what the line, the metrics and the account are made from.

use oomph_explain::forecast::Forecast;

/// A job at one moment, all of its processes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// Optimizer steps of the process that is furthest.
    pub(super) steps: u64,
    /// Its batches.
    pub(super) batches: u64,
    /// Processes that use PyTorch.
    pub(super) processes: usize,
    /// Every card in use, by ordinal.
    pub(super) devices: Vec<DeviceStatus>,
    /// Memory on the host.
    pub(super) host: HostStatus,
    /// When memory runs out, if it does.
    pub(super) forecast: Option<Forecast>,
}

/// One card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DeviceStatus {
    /// Its ordinal.
    pub(super) ordinal: u32,
    /// Held by tensors, now and at most.
    pub(super) allocated_bytes: u64,
    pub(super) allocated_peak_bytes: u64,
    /// Taken from the driver by PyTorch, now and at most.
    pub(super) reserved_bytes: u64,
    pub(super) reserved_peak_bytes: u64,
    /// Used by everything, as the card reports it.
    pub(super) used_bytes: Option<u64>,
    /// What the card has.
    pub(super) total_bytes: u64,
    /// What PyTorch may take of it.
    pub(super) limit_bytes: Option<u64>,
    /// Live bytes by category, as `--json` calls them.
    pub(super) categories: Vec<(&'static str, u64)>,
    /// How often PyTorch gave its cache back to serve a request.
    pub(super) retries: u64,
    /// How often a request failed.
    pub(super) ooms: u64,
}

/// Memory on the host.
#[expect(clippy::struct_field_names, reason = "units are named")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HostStatus {
    /// Resident bytes of all processes.
    pub(super) resident_bytes: u64,
    /// The same, with pages that several share counted once, where it was read.
    pub(super) proportional_bytes: Option<u64>,
    /// Page-locked memory of PyTorch.
    pub(super) pinned_bytes: u64,
    /// Live CPU tensors.
    pub(super) cpu_tensor_bytes: u64,
}

impl Status {
    /// The card with least room.
    pub(super) fn tightest(&self) -> Option<&DeviceStatus> {
        self.devices.iter().min_by_key(|device| device.left_bytes())
    }
}

impl DeviceStatus {
    /// What PyTorch can still take from the driver.
    pub(super) fn left_bytes(&self) -> u64 {
        let used_bytes = self.used_bytes.unwrap_or(self.reserved_bytes);
        let on_card = self.total_bytes.saturating_sub(used_bytes);
        let to_limit = self.limit_bytes.map(|limit| limit.saturating_sub(self.reserved_bytes));
        on_card.min(to_limit.unwrap_or(u64::MAX))
    }

    /// What is used on the card by anything but PyTorch's allocator.
    pub(super) fn outside_bytes(&self) -> Option<u64> {
        Some(self.used_bytes?.saturating_sub(self.reserved_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_what_card_and_limit_both_leave() {
        let card = DeviceStatus { total_bytes: 100, reserved_bytes: 40, ..DeviceStatus::default() };
        assert_eq!((card.left_bytes(), card.outside_bytes()), (60, None));
        let shared = DeviceStatus { used_bytes: Some(70), ..card.clone() };
        assert_eq!((shared.left_bytes(), shared.outside_bytes()), (30, Some(30)));
        let limited = DeviceStatus { limit_bytes: Some(50), ..shared.clone() };
        assert_eq!(limited.left_bytes(), 10);
        let status = Status { devices: vec![card, limited.clone(), shared], ..Status::default() };
        assert_eq!(status.tightest(), Some(&limited));
    }
}

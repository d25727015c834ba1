//! How a job is doing, for Prometheus: bytes by card and category, never by line or process.

use std::fmt::Error;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::status::{DeviceStatus, Status};

/// A figure of a card: its name without its unit, what it is, and where it comes from.
type OfDevice = (&'static str, &'static str, fn(&DeviceStatus) -> Option<u64>);
/// The same of the job.
type OfJob = (&'static str, &'static str, fn(&Status) -> Option<u64>);

const DEVICE_BYTES: [OfDevice; 8] = [
    ("oomph_allocated", "Held by tensors.", |device| Some(device.allocated_bytes)),
    ("oomph_allocated_peak", "Held by tensors at most.", |device| Some(device.allocated_peak_bytes)),
    ("oomph_reserved", "Taken from the driver by PyTorch.", |device| Some(device.reserved_bytes)),
    ("oomph_reserved_peak", "Taken from the driver by PyTorch at most.", |device| Some(device.reserved_peak_bytes)),
    ("oomph_device_used", "Used on the card by everything.", |device| device.used_bytes),
    ("oomph_device_total", "What the card has.", |device| Some(device.total_bytes)),
    ("oomph_outside_pytorch", "Used on the card by anything but PyTorch's allocator.", DeviceStatus::outside_bytes),
    ("oomph_left", "What PyTorch can still take from the driver.", |device| Some(device.left_bytes())),
];
const DEVICE_COUNTS: [OfDevice; 2] = [
    ("oomph_allocation_retries", "How often PyTorch gave its cache back to serve a request.", |device| {
        Some(device.retries)
    }),
    ("oomph_out_of_memory", "How often a request failed.", |device| Some(device.ooms)),
];
const HOST_BYTES: [OfJob; 4] = [
    ("oomph_host_resident", "Resident memory of all processes.", |status| Some(status.host.resident_bytes)),
    ("oomph_host_proportional", "Resident memory, shared pages counted once.", |status| status.host.proportional_bytes),
    ("oomph_host_pinned", "Page-locked memory of PyTorch.", |status| Some(status.host.pinned_bytes)),
    ("oomph_host_cpu_tensors", "Held by tensors on the host.", |status| Some(status.host.cpu_tensor_bytes)),
];
const JOB_COUNTS: [OfJob; 2] = [
    ("oomph_steps", "Optimizer steps.", |status| Some(status.steps)),
    ("oomph_batches", "Outermost calls of a model.", |status| Some(status.batches)),
];
const JOB_FIGURES: [OfJob; 2] = [
    ("oomph_processes", "Processes that use PyTorch.", |status| Some(status.processes as u64)),
    ("oomph_forecast_steps", "Steps until memory runs out, where it rises steadily.", |status| {
        Some(status.forecast?.steps_left)
    }),
];

/// The newest status, which the job's watch writes and the server reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared(Arc<Mutex<Status>>);

impl Shared {
    /// Puts a newer status in place of the last.
    pub(super) fn set(&self, status: Status) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    fn get(&self) -> Status {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Everything that is served about a job of this name.
pub(super) struct Metrics(Registry);

impl Metrics {
    pub(super) fn new(job: &str, status: Shared) -> Self {
        let mut registry = Registry::default();
        let about = vec![("version", env!("CARGO_PKG_VERSION").to_owned()), ("job", job.to_owned())];
        registry.register("oomph", "The job, and the version of oomph that runs it", Info::new(about));
        registry.register_collector(Box::new(status));
        Self(registry)
    }

    /// As Prometheus reads it.
    pub(super) fn text(&self) -> String {
        let mut page = String::new();
        // Text in memory takes everything.
        let _ = text::encode(&mut page, &self.0);
        page
    }
}

impl Collector for Shared {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let status = self.get();
        for (name, help, figure) in DEVICE_BYTES {
            let mut family = encoder.encode_descriptor(name, help, Some(&Unit::Bytes), MetricType::Gauge)?;
            for device in &status.devices {
                let Some(bytes) = figure(device) else { continue };
                ConstGauge::new(bytes).encode(family.encode_family(&[("device", device.ordinal.to_string())])?)?;
            }
        }
        let mut family =
            encoder.encode_descriptor("oomph_live", "Live by category.", Some(&Unit::Bytes), MetricType::Gauge)?;
        for device in &status.devices {
            for &(category, bytes) in &device.categories {
                let labels = [("device", device.ordinal.to_string()), ("category", category.to_owned())];
                ConstGauge::new(bytes).encode(family.encode_family(&labels)?)?;
            }
        }
        for (name, help, figure) in DEVICE_COUNTS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for device in &status.devices {
                let Some(count) = figure(device) else { continue };
                ConstCounter::new(count).encode(family.encode_family(&[("device", device.ordinal.to_string())])?)?;
            }
        }
        encode_job(&status, &mut encoder)
    }
}

fn encode_job(status: &Status, encoder: &mut DescriptorEncoder) -> Result<(), Error> {
    for (name, help, figure) in HOST_BYTES {
        let Some(bytes) = figure(status) else { continue };
        ConstGauge::new(bytes).encode(encoder.encode_descriptor(
            name,
            help,
            Some(&Unit::Bytes),
            MetricType::Gauge,
        )?)?;
    }
    for (name, help, figure) in JOB_FIGURES {
        let Some(number) = figure(status) else { continue };
        ConstGauge::new(number).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
    }
    for (name, help, figure) in JOB_COUNTS {
        let Some(count) = figure(status) else { continue };
        ConstCounter::new(count).encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use oomph_explain::forecast::Forecast;
    use serde_json::Value;

    use super::super::status::HostStatus;
    use super::*;

    fn page() -> String {
        let device = |ordinal| DeviceStatus {
            ordinal,
            allocated_bytes: 10,
            allocated_peak_bytes: 11,
            reserved_bytes: 12,
            reserved_peak_bytes: 13,
            used_bytes: Some(20),
            total_bytes: 100,
            limit_bytes: None,
            categories: vec![("parameters", 6), ("activations", 4)],
            retries: 2,
            ooms: 1,
        };
        let status = Shared::default();
        let host = HostStatus { resident_bytes: 5, proportional_bytes: Some(4), ..HostStatus::default() };
        let forecast = Some(Forecast { steps_left: 90, bytes_per_step: 1 });
        let devices = vec![device(0), device(1)];
        status.set(Status { steps: 7, batches: 8, processes: 2, devices, host, forecast });
        Metrics::new("train \"1\".py", status).text()
    }

    /// The name of every figure on the page.
    fn names(page: &str) -> BTreeSet<&str> {
        let figures = page.lines().filter(|line| !line.starts_with('#'));
        figures.filter_map(|line| line.split(['{', ' ']).next()).collect()
    }

    #[test]
    fn figures_have_their_labels_and_no_others() {
        let page = page();
        for line in [
            "oomph_allocated_bytes{device=\"1\"} 10",
            "oomph_outside_pytorch_bytes{device=\"0\"} 8",
            "oomph_left_bytes{device=\"0\"} 80",
            "oomph_live_bytes{device=\"0\",category=\"parameters\"} 6",
            "oomph_allocation_retries_total{device=\"0\"} 2",
            "oomph_out_of_memory_total{device=\"0\"} 1",
            "oomph_host_resident_bytes 5",
            "oomph_steps_total 7",
            "oomph_forecast_steps 90",
            "# UNIT oomph_reserved_bytes bytes",
            "# EOF",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
        }
        assert!(page.contains("job=\"train \\\"1\\\".py\""), "{page}");
    }

    #[test]
    fn what_is_not_known_is_not_there() {
        let status = Shared::default();
        status.set(Status { devices: vec![DeviceStatus::default()], ..Status::default() });
        let page = Metrics::new("train.py", status).text();
        for name in ["oomph_device_used_bytes", "oomph_forecast_steps", "oomph_host_proportional_bytes"] {
            assert!(!names(&page).contains(name), "{name}");
        }
        assert!(names(&page).contains("oomph_left_bytes"));
    }

    #[test]
    fn the_dashboard_uses_figures_that_exist() {
        let text = include_str!("../../../../../docs/grafana-dashboard.json");
        let dashboard: Value = serde_json::from_str(text).expect("JSON");
        let page = page();
        let known = names(&page);
        let mut used = BTreeSet::new();
        for panel in dashboard["panels"].as_array().expect("panels") {
            for target in panel["targets"].as_array().into_iter().flatten() {
                let expression = target["expr"].as_str().expect("an expression");
                let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                used.extend(words.filter(|word| word.starts_with("oomph_")));
            }
        }
        assert!(used.len() >= 12, "{used:?}");
        let unknown: Vec<_> = used.difference(&known).collect();
        assert!(unknown.is_empty(), "the dashboard shows what nobody serves: {unknown:?}");
    }
}

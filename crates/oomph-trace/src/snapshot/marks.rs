//! From dictionaries to marks and settings: few, so read by way of plain values.

use crate::error::TraceError;
use crate::model::extra::{Extra, Value};
use crate::model::mark::{Mark, MarkStage};
use crate::model::settings::AllocatorSettings;
use crate::model::stack::StringId;

use super::item::Item;
use super::store::Store;

impl Store<'_> {
    /// Reads one annotation. Anything may be missing from it, and anything may be added.
    pub(super) fn mark_of(&mut self, item: Item, at: usize) -> Result<Mark, TraceError> {
        let pairs = self.extra_of(item, &format!("external annotation {at}"))?;
        let (name, stage) = (StringId::MISSING, MarkStage::Instant);
        let mut mark = Mark { device: 0, time_us: 0, name, stage, extra: Extra::new() };
        for (key, value) in pairs {
            match (key.as_str(), &value) {
                ("device", &Value::Int(ordinal @ 0..=0xffff_ffff)) => mark.device = ordinal.cast_unsigned() as u32,
                ("time_us", &Value::Int(time)) => mark.time_us = time.cast_unsigned(),
                ("time_us", &Value::Unsigned(time)) => mark.time_us = time,
                ("name", Value::Text(text)) => mark.name = self.interner.intern_string(text),
                ("stage", Value::Text(text)) => {
                    mark.stage = match text.as_str() {
                        "START" => MarkStage::Start,
                        "END" => MarkStage::End,
                        _ => MarkStage::Other(self.interner.intern_string(text)),
                    }
                }
                _ => mark.extra.push((key, value)),
            }
        }
        Ok(mark)
    }

    /// Reads the allocator's configuration. What does not look as expected is kept aside.
    pub(super) fn settings_of(&mut self, item: Item) -> Result<AllocatorSettings, TraceError> {
        let mut settings = AllocatorSettings::default();
        for (key, value) in self.extra_of(item, "allocator_settings")? {
            match (key.as_str(), &value) {
                ("PYTORCH_CUDA_ALLOC_CONF", Value::Text(text)) => settings.conf = Some(text.clone()),
                ("max_split_size", Value::Int(-1)) => {}
                ("max_split_size", &Value::Int(bytes)) if bytes >= 0 => {
                    settings.max_split_bytes = Some(bytes.cast_unsigned());
                }
                ("garbage_collection_threshold", &Value::Float(threshold)) => {
                    settings.garbage_collection_threshold = Some(threshold);
                }
                ("expandable_segments", &Value::Bool(flag)) => settings.expandable_segments = Some(flag),
                ("roundup_power2_divisions", Value::Dict(pairs)) => match divisions(pairs) {
                    Some(divisions) => settings.roundup_power2_divisions = divisions,
                    None => settings.extra.push((key, value)),
                },
                _ => settings.extra.push((key, value)),
            }
        }
        Ok(settings)
    }
}

/// `{"1": 0, "2": 0, ...}`; `None` if it is anything else.
fn divisions(pairs: &[(Value, Value)]) -> Option<Vec<(u64, u64)>> {
    pairs
        .iter()
        .map(|pair| match pair {
            (Value::Text(mebibytes), Value::Int(divisions)) => {
                let number: u64 = mebibytes.parse().ok()?;
                // Text that a number does not give back ("+1", "01") must stay text.
                (number.to_string() == *mebibytes).then_some((number, u64::try_from(*divisions).ok()?))
            }
            _ => None,
        })
        .collect()
}

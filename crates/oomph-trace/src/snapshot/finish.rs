//! From the value a file holds to a [`Trace`].

use crate::error::TraceError;
use crate::model::event::Event;
use crate::model::extra::{Extra, Value};
use crate::model::trace::{DeviceTrace, Origin, Trace};

use super::item::{Item, Object};
use super::store::Store;

/// PyTorch numbers devices in 8 bits.
const MAX_DEVICES: u64 = 256;

/// No event or block dictionary takes fewer bytes than this in any file, so a file cannot hold more of them than
/// its size allows, unless it refers to some many times.
const MIN_DICT_BYTES: usize = 8;

/// The key under which oomph's own knowledge travels in a torch snapshot.
pub(crate) const OOMPH_KEY: &str = "oomph";

const FOREIGN: &str = "give a file written by torch.cuda.memory._dump_snapshot() or by oomph run";

impl Store<'_> {
    /// Takes everything over into a trace.
    pub(super) fn finish(mut self, root: Item) -> Result<Trace, TraceError> {
        let mut trace = Trace::new(Origin::TorchSnapshot);
        let Some(top) = self.top_level(root)? else {
            // torch.cuda.memory_snapshot() returns the segments alone.
            self.read_segments(root, &mut trace)?;
            trace.stacks = self.interner.into_table();
            return Ok(trace);
        };
        let (mut device_traces, mut own) = (None, None);
        for (key, value) in top {
            match key.as_str() {
                "segments" => self.read_segments(value, &mut trace)?,
                "device_traces" => device_traces = Some(value),
                "allocator_settings" => trace.settings = self.settings_of(value)?,
                "external_annotations" => self.read_marks(value, &mut trace)?,
                OOMPH_KEY => own = Some(self.value_of(value)?),
                _ => {
                    let value = self.value_of(value)?;
                    trace.extra.push((key, value));
                }
            }
        }
        // Last, because it takes the events away.
        if let Some(list) = device_traces {
            self.read_device_traces(list, &mut trace)?;
        }
        if let Some(own) = own {
            read_own(own, &mut trace);
        }
        trace.stacks = self.interner.into_table();
        Ok(trace)
    }

    /// The keys of the outermost dictionary; `None` if the file is a bare list of segments.
    fn top_level(&mut self, root: Item) -> Result<Option<Vec<(String, Item)>>, TraceError> {
        let foreign = |found: &str| TraceError::Foreign { found: found.to_owned(), way_out: FOREIGN };
        let Item::Object(at) = root else { return Err(foreign(&format!("a file holding {}", root.kind()))) };
        match self.objects[at as usize] {
            Object::List { .. } => Ok(None),
            Object::Dict { body, .. } => {
                self.check_keys(body, "snapshot")?;
                let mut keys = Vec::new();
                for index in 0..self.body_len(body) / 2 {
                    let (key, value) = self.pair(body, index);
                    let Ok(text) = self.key_text(key, "") else {
                        return Err(foreign("a dictionary whose keys are not text"));
                    };
                    keys.push((text, value));
                }
                if keys.iter().any(|(key, _)| key == "segments" || key == "device_traces") {
                    return Ok(Some(keys));
                }
                let some: Vec<_> = keys.iter().take(3).map(|(key, _)| format!("`{key:.30}`")).collect();
                Err(foreign(&format!(
                    "a dictionary with {} and neither `segments` nor `device_traces`",
                    match some.as_slice() {
                        [] => "no keys".to_owned(),
                        some => some.join(", "),
                    }
                )))
            }
            _ => Err(foreign("a single event or stack")),
        }
    }

    fn read_segments(&mut self, list: Item, trace: &mut Trace) -> Result<(), TraceError> {
        let Some(body) = self.list_body(list, "segments")? else { return Ok(()) };
        let mut blocks_left = self.data.len() / MIN_DICT_BYTES;
        for at in 0..self.body_len(body) {
            let item = self.bodies[body as usize][at];
            let (ordinal, segment) = self.segment_of(item, at, &mut blocks_left)?;
            let device = device_mut(trace, ordinal, &format!("segment {at}"))?;
            device.segments.push(segment);
        }
        Ok(())
    }

    fn read_marks(&mut self, list: Item, trace: &mut Trace) -> Result<(), TraceError> {
        let Some(body) = self.list_body(list, "external_annotations")? else { return Ok(()) };
        for at in 0..self.body_len(body) {
            let item = self.bodies[body as usize][at];
            trace.marks.push(self.mark_of(item, at)?);
        }
        Ok(())
    }

    fn read_device_traces(&mut self, list: Item, trace: &mut Trace) -> Result<(), TraceError> {
        let Some(body) = self.list_body(list, "device_traces")? else { return Ok(()) };
        let mut runs = Vec::new();
        let mut events_left = self.data.len() / MIN_DICT_BYTES;
        for ordinal in 0..self.body_len(body) {
            let item = self.bodies[body as usize][ordinal];
            device_mut(trace, ordinal as u64, "device_traces")?;
            let indices = self.event_indices(item, ordinal)?;
            events_left = events_left.checked_sub(indices.len()).ok_or_else(|| {
                TraceError::shape("device_traces", "refers to more events than a file of this size can hold")
            })?;
            runs.push(indices);
        }
        self.objects = Vec::new();
        self.bodies = Vec::new();
        // From the last device to the first, so that events in file order can be split off instead of copied.
        for (ordinal, indices) in runs.into_iter().enumerate().rev() {
            let device = device_mut(trace, ordinal as u64, "device_traces")?;
            (device.events, device.event_extra) = self.take_events(&indices);
        }
        Ok(())
    }

    /// Which events a device's list refers to.
    fn event_indices(&mut self, item: Item, ordinal: usize) -> Result<Indices, TraceError> {
        let Some(body) = self.list_body(item, &format!("device_traces of device {ordinal}"))? else {
            return Ok(Indices::Run(0, 0));
        };
        let place = |at: usize, problem: TraceError| match problem {
            TraceError::Shape { place, problem } => {
                TraceError::shape(format!("device {ordinal}, event {at}"), format!("{place}: {problem}"))
            }
            other => other,
        };
        let mut indices = Indices::Run(0, 0);
        for at in 0..self.body_len(body) {
            let item = self.bodies[body as usize][at];
            let event = match item {
                Item::Object(id) => match self.objects[id as usize] {
                    Object::Event(event) => event,
                    Object::Dict { body, .. } => {
                        let pairs =
                            if self.body_len(body) == 0 { Vec::new() } else { self.bodies[body as usize].clone() };
                        let event = self.event_of(&pairs).map_err(|problem| place(at, problem))?;
                        self.objects[id as usize] = Object::Event(event);
                        event
                    }
                    _ => return Err(place(at, TraceError::shape("event", "is not a dictionary"))),
                },
                _ => return Err(place(at, TraceError::shape("event", format!("is {}", item.kind())))),
            };
            indices.push(event);
        }
        Ok(indices)
    }

    /// The events of one device and their unknown keys.
    fn take_events(&mut self, indices: &Indices) -> (Vec<Event>, Vec<(u32, Extra)>) {
        if let Indices::Run(start, end) = *indices
            && end as usize == self.events.len()
            && end > start
        {
            let events = if start == 0 {
                std::mem::take(&mut self.events)
            } else {
                let events = self.events.split_off(start as usize);
                self.events.shrink_to_fit();
                events
            };
            let from = self.event_extra.partition_point(|(event, _)| *event < start);
            let mut extra = self.event_extra.split_off(from);
            for (event, _) in &mut extra {
                *event -= start;
            }
            return (events, extra);
        }
        let mut extra = Vec::new();
        let events = indices.iter().enumerate().map(|(at, event)| {
            let keys = self.event_extra_of(event);
            if !keys.is_empty() {
                extra.push((at as u32, keys.to_vec()));
            }
            self.events[event as usize]
        });
        let events = events.collect();
        (events, extra)
    }
}

/// Positions of events: nearly always one run.
enum Indices {
    Run(u32, u32),
    Scattered(Vec<u32>),
}

impl Indices {
    fn push(&mut self, event: u32) {
        match self {
            Self::Run(start, end) if start == end => (*start, *end) = (event, event + 1),
            Self::Run(_, end) if *end == event => *end += 1,
            Self::Run(start, end) => {
                let mut all: Vec<u32> = (*start..*end).collect();
                all.push(event);
                *self = Self::Scattered(all);
            }
            Self::Scattered(all) => all.push(event),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Run(start, end) => (end - start) as usize,
            Self::Scattered(all) => all.len(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (run, all) = match self {
            Self::Run(start, end) => (*start..*end, &[][..]),
            Self::Scattered(all) => (0..0, all.as_slice()),
        };
        run.chain(all.iter().copied())
    }
}

fn device_mut<'t>(trace: &'t mut Trace, ordinal: u64, place: &str) -> Result<&'t mut DeviceTrace, TraceError> {
    if ordinal >= MAX_DEVICES {
        let problem = format!("names device {ordinal}; PyTorch knows fewer than {MAX_DEVICES}");
        return Err(TraceError::shape(place, problem));
    }
    let at = trace.devices.partition_point(|device| u64::from(device.ordinal) < ordinal);
    if trace.devices.get(at).is_none_or(|device| u64::from(device.ordinal) != ordinal) {
        trace.devices.insert(at, DeviceTrace { ordinal: ordinal as u32, ..DeviceTrace::default() });
    }
    Ok(&mut trace.devices[at])
}

/// Reads back what the exporter adds for a torch snapshot to carry all of a trace.
fn read_own(own: Value, trace: &mut Trace) {
    let known = crate::export::own_from_value(&own, trace);
    if known.is_none() {
        trace.extra.push((OOMPH_KEY.to_owned(), own));
    }
}

//! Events by column: neighbours in a column are alike, so differences and runs make them small.

use serde::{Deserialize, Serialize};

use crate::model::event::{Action, Category, Event};
use crate::model::extra::Extra;
use crate::model::segment::PoolId;
use crate::model::stack::{ForwardId, StackId, StringId};

/// A column most of whose neighbours are equal: lengths and values of its runs.
type Runs<T> = Vec<(u32, T)>;

/// A batch of one device's events.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct EventColumns {
    pub(super) ordinal: u32,
    actions: Vec<Action>,
    /// Each as the difference to the one before.
    addrs: Vec<i64>,
    bytes: Vec<u64>,
    /// Each as the difference to the one before.
    times: Vec<i64>,
    stacks: Vec<StackId>,
    streams: Runs<u64>,
    forwards: Runs<ForwardId>,
    compile_contexts: Runs<StringId>,
    user_metadata: Runs<StringId>,
    categories: Runs<Category>,
    pools: Runs<Option<PoolId>>,
    /// Unknown keys by position in this batch, ascending.
    extra: Vec<(u32, Extra)>,
    /// The module of each event, which has a record of its own: files from before there were modules lack it.
    #[serde(skip)]
    modules: Runs<StringId>,
    /// Where the differences start from; known to whoever adds up from the beginning.
    #[serde(skip)]
    last: (u64, u64),
}

impl EventColumns {
    pub(super) fn new(ordinal: u32) -> Self {
        Self { ordinal, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.actions.len()
    }

    pub(super) fn push(&mut self, event: &Event, extra: Extra) {
        if !extra.is_empty() {
            self.extra.push((self.actions.len() as u32, extra));
        }
        self.actions.push(event.action);
        self.addrs.push(event.addr.wrapping_sub(self.last.0).cast_signed());
        self.times.push(event.time_us.wrapping_sub(self.last.1).cast_signed());
        self.last = (event.addr, event.time_us);
        self.bytes.push(event.bytes);
        self.stacks.push(event.stack);
        push_run(&mut self.streams, event.stream);
        push_run(&mut self.forwards, event.forward);
        push_run(&mut self.compile_contexts, event.compile_context);
        push_run(&mut self.user_metadata, event.user_metadata);
        push_run(&mut self.modules, event.module);
        push_run(&mut self.categories, event.category);
        push_run(&mut self.pools, event.pool);
    }

    /// The modules of the batch, if any event has one.
    pub(super) fn modules(&mut self) -> Option<ModuleColumn> {
        let runs = std::mem::take(&mut self.modules);
        let known = runs.iter().any(|&(_, module)| module != StringId::MISSING);
        known.then_some(ModuleColumn { ordinal: self.ordinal, runs })
    }

    /// Adds the batch to a device's history; `None` if its columns do not fit together.
    pub(super) fn append_to(self, events: &mut Vec<Event>, event_extra: &mut Vec<(u32, Extra)>) -> Option<()> {
        let count = self.actions.len();
        let first = events.len();
        u32::try_from(first + count).ok()?;
        if [self.addrs.len(), self.times.len(), self.bytes.len(), self.stacks.len()] != [count; 4] {
            return None;
        }
        let mut streams = expand(&self.streams, count)?;
        let mut forwards = expand(&self.forwards, count)?;
        let mut compile_contexts = expand(&self.compile_contexts, count)?;
        let mut user_metadata = expand(&self.user_metadata, count)?;
        let mut categories = expand(&self.categories, count)?;
        let mut pools = expand(&self.pools, count)?;
        let (mut addr, mut time_us) = (0_u64, 0_u64);
        events.reserve(count);
        for at in 0..count {
            addr = addr.wrapping_add_signed(self.addrs[at]);
            time_us = time_us.wrapping_add_signed(self.times[at]);
            events.push(Event {
                addr,
                bytes: self.bytes[at],
                stream: streams.next()?,
                time_us,
                stack: self.stacks[at],
                forward: forwards.next()?,
                compile_context: compile_contexts.next()?,
                user_metadata: user_metadata.next()?,
                module: StringId::MISSING,
                action: self.actions[at],
                category: categories.next()?,
                pool: pools.next()?,
            });
        }
        let mut next = 0;
        for (at, extra) in self.extra {
            if at < next || at as usize >= count {
                return None;
            }
            next = at + 1;
            if !extra.is_empty() {
                event_extra.push((first as u32 + at, extra));
            }
        }
        Some(())
    }
}

/// The modules of the newest events of a device, as many as the runs are long.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ModuleColumn {
    pub(super) ordinal: u32,
    pub(super) runs: Runs<StringId>,
}

impl ModuleColumn {
    /// Completes the newest events of a device; `None` if there are fewer of them.
    pub(super) fn complete(&self, events: &mut [Event]) -> Option<()> {
        let count: u64 = self.runs.iter().map(|&(len, _)| u64::from(len)).sum();
        let first = events.len().checked_sub(usize::try_from(count).ok()?)?;
        let modules = expand(&self.runs, events.len() - first)?;
        for (event, module) in events[first..].iter_mut().zip(modules) {
            event.module = module;
        }
        Some(())
    }
}

fn push_run<T: PartialEq>(runs: &mut Runs<T>, value: T) {
    match runs.last_mut() {
        Some((len, last)) if *last == value => *len += 1,
        _ => runs.push((1, value)),
    }
}

/// The values of a column; `None` unless its runs add up to as many as there are events.
fn expand<T: Copy>(runs: &[(u32, T)], count: usize) -> Option<impl Iterator<Item = T> + '_> {
    let total: u64 = runs.iter().map(|&(len, _)| u64::from(len)).sum();
    (total == count as u64).then(|| runs.iter().flat_map(|&(len, value)| std::iter::repeat_n(value, len as usize)))
}

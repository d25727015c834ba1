//! A checkpoint that every rank loads whole.

use oomph_trace::host::HostRole;

use super::{Finding, HostCause, median, place, short};
use crate::bytes::show;
use crate::host::facts::HostFacts;
use crate::host::moment::{Holder, Moment};

/// Ranks that hold about the same before their first step.
pub(super) fn find(moment: &Moment, facts: &HostFacts) -> Option<Finding> {
    let is_rank = |holder: &&Holder| matches!(holder.process.role, HostRole::Rank(_));
    let ranks: Vec<&Holder> = moment.holders.iter().filter(is_rank).collect();
    let has_begun = |holder: &&Holder| holder.point.told.is_some_and(|told| told.step > 0);
    let each_bytes = median(ranks.iter().map(|holder| holder.own_bytes).collect());
    let are_alike = ranks.iter().filter(|holder| holder.own_bytes >= each_bytes / 2).count() == ranks.len();
    if ranks.len() < 2 || ranks.iter().any(has_begun) || !are_alike {
        return None;
    }
    let is_of_rank = |pid: u32| ranks.iter().any(|holder| holder.process.pid == pid);
    let load = facts.loads.iter().filter(|load| is_of_rank(load.pid)).max_by_key(|load| load.bytes);
    let at = load.and_then(|load| place(load.file.as_ref(), load.line));
    let loads = load.zip(at.as_ref()).map_or_else(String::new, |(load, at)| {
        format!("; {} loads a file of {} whole in each of them", short(at), show(load.bytes))
    });
    let bytes = ranks.iter().map(|holder| holder.own_bytes).sum();
    Some(Finding {
        cause: HostCause::RanksLoad,
        bytes,
        pid: load.map(|load| load.pid),
        sentence: format!(
            "{} ranks held {} before their first step, about {} each{loads}.",
            ranks.len(),
            show(bytes),
            show(each_bytes)
        ),
        place: at,
        advice: vec![
            "Load with mmap=True, so that ranks share one copy and read what they need.".to_owned(),
            "Or load on one rank and broadcast, with the others built on the meta device; or one rank after another."
                .to_owned(),
        ],
    })
}

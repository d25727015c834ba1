//! One process that grows.

use super::{Finding, HostCause, capitalised, place, short, who};
use crate::bytes::show;
use crate::host::facts::{HostFacts, LineGrowth};
use crate::host::growth::HostGrowth;
use crate::host::moment::{Holder, Moment};

/// What rose only in the first half of the time was built up once. Less than this part of it in the second half is noise.
const LATE_SHARE: u64 = 10;

/// The process whose heap rose most, where it still rose towards the end.
pub(super) fn find(moment: &Moment, facts: &HostFacts) -> Option<Finding> {
    let still_rises =
        |growth: &HostGrowth| growth.risen_bytes > 0 && growth.risen_late_bytes >= growth.risen_bytes / LATE_SHARE;
    let rising = moment.holders.iter().filter(|holder| holder.growth.is_steady() || still_rises(&holder.growth));
    let holder = rising.max_by_key(|holder| holder.growth.risen_bytes)?;
    let lines = facts.growth.iter().filter(|line| line.pid == holder.process.pid);
    let line = lines.max_by_key(|line| line.bytes_per_step);
    let at = line.and_then(|line| place(line.file.as_ref(), line.line));
    Some(Finding {
        cause: HostCause::ProcessGrows,
        bytes: holder.growth.risen_bytes,
        pid: Some(holder.process.pid),
        sentence: sentence(holder, line, at.as_ref()),
        advice: vec![match &at {
            Some(at) => format!(
                "{} adds to something that is never emptied: keep numbers instead of arrays, write results to a file, or \
                 clear it every epoch.",
                short(at)
            ),
            None => "Look for lists and dicts that every step adds to: results, losses with their arrays, caches."
                .to_owned(),
        }],
        place: at,
    })
}

fn sentence(holder: &Holder, line: Option<&LineGrowth>, at: Option<&(String, u32)>) -> String {
    let growth = &holder.growth;
    let rate = match (growth.bytes_per_step, growth.bytes_per_second) {
        (Some(bytes), _) => format!(", {} a step", show(bytes)),
        (None, Some(bytes)) => format!(", {} a second", show(bytes)),
        (None, None) => String::new(),
    };
    let keeps = line.zip(at).map_or_else(String::new, |(line, at)| {
        format!("; {} keeps {} from every step", short(at), show(line.bytes_per_step))
    });
    format!("{} grew by {}{rate}{keeps}.", capitalised(&who(holder.process)), show(growth.risen_bytes))
}

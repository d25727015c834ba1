//! Which of the fixes that rules propose are offered: those that pass the gate and are not wanted again afterwards.

use super::gate::{Fault, Gate, Surroundings};
use super::{compatible, edits_of, result_of};
use crate::finding::{Finding, Fix};
use crate::source::Source;

/// Takes the fixes that could hurt out of a file's findings; the findings stay. `again` has what there is to say about
/// another text of the same file, read alone.
pub(crate) fn offer(
    source: &Source,
    findings: &mut [Finding],
    surroundings: Surroundings<'_>,
    again: impl Fn(Source) -> Vec<Finding>,
) {
    let proposed: Vec<(&'static str, Fix)> = fixes_in(findings);
    let gate = Gate::new(source, surroundings);
    let mut judged: Vec<(&Fix, Result<(), Fault>)> = Vec::new();
    for (_, fix) in &proposed {
        if !judged.iter().any(|(known, _)| known.edits == fix.edits) {
            judged.push((fix, gate.judge(&result_of(source, &fix.edits))));
        }
    }
    let passed = |fix: &Fix| judged.iter().any(|(known, verdict)| known.edits == fix.edits && verdict.is_ok());
    // An edit across the cells of a notebook cannot be made.
    let can_be_made = |rule, fix| !compatible(source, &[(rule, fix)]).is_empty();
    let sound = proposed.iter().filter(|(rule, fix)| passed(fix) && can_be_made(*rule, fix));
    let sound: Vec<(&'static str, &Fix)> = sound.map(|(rule, fix)| (*rule, fix)).collect();
    let settled = Settling { source, proposed: &proposed, again: &again }.settled(&sound);
    let is_offered =
        |rule: &str, fix: &Fix| settled.iter().any(|(own, known)| *own == rule && known.edits == fix.edits);
    for finding in findings {
        finding.fix = finding.fix.take().filter(|fix| is_offered(finding.rule, fix));
    }
}

fn fixes_in(findings: &[Finding]) -> Vec<(&'static str, Fix)> {
    findings.iter().filter_map(|finding| Some((finding.rule, finding.fix.clone()?))).collect()
}

/// Looks whether fixes are wanted again after they were made.
struct Settling<'s, F> {
    source: &'s Source,
    proposed: &'s [(&'static str, Fix)],
    again: &'s F,
}

impl<F: Fn(Source) -> Vec<Finding>> Settling<'_, F> {
    /// Those of sound fixes after which their rules have less to fix.
    fn settled<'f>(&self, sound: &[(&'static str, &'f Fix)]) -> Vec<(&'static str, &'f Fix)> {
        // One look at the result of all is enough where it shows nothing to fix: that is how it nearly always is.
        let together = compatible(self.source, sound);
        let after = (self.again)(result_of(self.source, &edits_of(&together)));
        let rests = |rule: &str| after.iter().any(|finding| finding.rule == rule && finding.fix.is_some());
        let is_done = |fix: &(&'static str, &Fix)| together.contains(fix) && !rests(fix.0);
        let (mut settled, doubtful): (Vec<_>, Vec<_>) = sound.iter().copied().partition(is_done);
        if doubtful.is_empty() {
            return settled;
        }
        // Read alone, a file may have more to say than among others.
        let before = (self.again)(self.source.alone());
        let count = |findings: &[Finding], rule: &str| {
            findings.iter().filter(|finding| finding.rule == rule && finding.fix.is_some()).count()
        };
        let own = |rule: &str| self.proposed.iter().filter(|(own, _)| *own == rule).count();
        for (rule, fix) in doubtful {
            let after = count(&(self.again)(result_of(self.source, &fix.edits)), rule);
            if after < count(&before, rule).max(own(rule)) {
                settled.push((rule, fix));
            }
        }
        settled
    }
}

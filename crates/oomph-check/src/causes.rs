//! One bug is reported once, at its cause. Rules do not know of one another, so two may see the same mistake: a pass that
//! records gradients, and the list that keeps what was recorded.
//!
//! Two findings of different rules are about one bug where they speak of the same code of the same statement, or where one
//! names as its cause the statement that makes what the other keeps. The one that stays is the first by this order:
//!
//! 1. the higher level;
//! 2. the worse course: failure, growth, waste, peak;
//! 3. the larger amount, then the higher frequency;
//! 4. the one at the cause, before what keeps what is made there;
//! 5. the earlier rule of the catalogue.
//!
//! Two errors at different statements are both reported: each runs out of memory by itself.
//!
//! Findings of level `info` are reported to those who ask for them, all of them.

use std::cmp::Reverse;

use crate::facts::Facts;
use crate::finding::{Finding, Level};
use crate::python::{Ranged, TextRange, TextSize};
use crate::rules::ALL;

/// Leaves one finding of each bug.
pub(crate) fn reported_once(facts: &Facts<'_>, findings: Vec<Finding>) -> Vec<Finding> {
    let may_repeat = findings.iter().filter(|finding| finding.level.fails()).count() > 1;
    if !may_repeat {
        return findings;
    }
    let mut ranked: Vec<Placed> = findings.into_iter().map(|finding| Placed::new(facts, finding)).collect();
    ranked.sort_by_key(|placed| rank(&placed.finding));
    let mut reported: Vec<Placed> = Vec::new();
    for placed in ranked {
        if !reported.iter().any(|other| other.is_about_the_bug_of(&placed)) {
            reported.push(placed);
        }
    }
    reported.into_iter().map(|placed| placed.finding).collect()
}

/// The order of this module's page, the first first.
fn rank(finding: &Finding) -> impl Ord + use<> {
    let size = finding.size;
    let worst = Reverse((size.course, size.magnitude(), size.frequency));
    let place = ALL.iter().position(|rule| rule.name == finding.rule);
    (Reverse(finding.level), worst, finding.made_by.is_some(), place)
}

/// A finding with the statements it speaks of, each by its start.
struct Placed {
    finding: Finding,
    /// The code it speaks of, and the statement around that.
    cause: (TextRange, TextSize),
    /// The statement that makes what it says is kept.
    made_by: Option<TextSize>,
}

impl Placed {
    fn new(facts: &Facts<'_>, finding: Finding) -> Self {
        let cause = finding.cause.unwrap_or(finding.range);
        let made_by = finding.made_by.map(|range| statement_around(facts, range));
        Self { cause: (cause, statement_around(facts, cause)), made_by, finding }
    }

    /// Whether this finding and a later one are about one bug.
    fn is_about_the_bug_of(&self, later: &Self) -> bool {
        let shown = self.finding.level.fails() && later.finding.level.fails();
        let same_code = self.cause.1 == later.cause.1 && overlap(self.cause.0, later.cause.0);
        let makes =
            |maker: &Self, keeper: &Self| maker.finding.cause.is_some() && keeper.made_by == Some(maker.cause.1);
        let linked = later.finding.level < Level::Error && (makes(self, later) || makes(later, self));
        shown && self.finding.rule != later.finding.rule && (same_code || linked)
    }
}

fn overlap(first: TextRange, second: TextRange) -> bool {
    first.intersect(second).is_some_and(|both| !both.is_empty())
}

/// The start of the innermost statement around a place.
fn statement_around(facts: &Facts<'_>, range: TextRange) -> TextSize {
    let around = facts.statements().iter().map(|statement| statement.node.range());
    let innermost =
        around.filter(|statement| statement.contains(range.start())).min_by_key(|statement| statement.len());
    innermost.map_or(range.start(), TextRange::start)
}

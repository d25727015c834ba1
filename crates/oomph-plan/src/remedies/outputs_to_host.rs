//! Outputs that the script keeps leave the card.

use super::{Remedy, RemedyChoice, Situation};
use crate::search::Spans;

/// See the page.
pub(super) struct OutputsToHost;

impl Remedy for OutputsToHost {
    fn name(&self) -> &'static str {
        "outputs_to_host"
    }

    fn summary(&self) -> &'static str {
        "outputs that the script keeps lie in host memory until they are used"
    }

    fn page(&self) -> &'static str {
        include_str!("outputs_to_host.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let keeps_outputs = job.growth_bytes > 0 && !job.survey.models.is_empty();
        if keeps_outputs { vec![RemedyChoice::new(self.name())] } else { Vec::new() }
    }

    fn stops_growth(&self) -> bool {
        true
    }

    fn sketch(&self, _choice: &RemedyChoice, _job: &Situation, _spans: &mut Spans) {}

    fn slowdown(&self, _choice: &RemedyChoice, _job: &Situation) -> f64 {
        1.02
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "outputs are copied to the host; the numbers stay the same".to_owned()
    }
}

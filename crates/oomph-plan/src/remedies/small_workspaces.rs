//! Products that are computed with a small workspace of cuBLAS, or with hardly any.

use oomph_trace::EventIndex;

use super::{Remedy, RemedyChoice, Situation};
use crate::search::{Span, Spans, Stretch};

/// See the page.
pub(super) struct SmallWorkspaces;

/// What PyTorch gives cuBLAS by itself: on cards before Hopper, and from there on.
const DEFAULT_BYTES: [u64; 2] = [8_519_680, 32 << 20];
/// Values of `CUBLAS_WORKSPACE_CONFIG`, the bytes that they come to, and what products then take of a step's time: the
/// first is PyTorch's own for cards before Hopper, the second the smallest that NVIDIA's manual names.
const SMALLER: [(&str, u64, f64); 2] = [(":4096:2:16:8", DEFAULT_BYTES[0], 1.01), (":16:8", 128 << 10, 1.03)];

/// Whether a block is a workspace of cuBLAS: an operator has taken it, nobody gives it back.
fn is_workspace(span: &Span, end: EventIndex) -> bool {
    let is_of_operator = matches!(span.stretch, Stretch::Forward | Stretch::Backward | Stretch::Evaluation);
    is_of_operator && span.is_passing() && span.until == end && DEFAULT_BYTES.contains(&span.bytes)
}

fn end(spans: &Spans) -> EventIndex {
    spans.all.iter().map(|span| span.until).max().unwrap_or(0)
}

fn bytes_of(choice: &RemedyChoice) -> Option<&'static (&'static str, u64, f64)> {
    SMALLER.iter().find(|(config, ..)| choice.word("config") == Some(config))
}

impl Remedy for SmallWorkspaces {
    fn name(&self) -> &'static str {
        "small_workspaces"
    }

    fn summary(&self) -> &'static str {
        "products computed with a small workspace of cuBLAS, or with hardly any"
    }

    fn page(&self) -> &'static str {
        include_str!("small_workspaces.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let end = end(job.spans);
        let largest = job.live_at_peak().filter(|span| is_workspace(span, end)).map(|span| span.bytes).max();
        let smaller = SMALLER.iter().filter(|(_, bytes, _)| largest.is_some_and(|largest| *bytes < largest));
        smaller.map(|(config, ..)| RemedyChoice::new(self.name()).with("config", *config)).collect()
    }

    fn sketch(&self, choice: &RemedyChoice, _job: &Situation, spans: &mut Spans) {
        let (end, Some((_, bytes, _))) = (end(spans), bytes_of(choice)) else { return };
        for span in spans.all.iter_mut().filter(|span| is_workspace(span, end)) {
            span.bytes = span.bytes.min(*bytes);
        }
    }

    fn slowdown(&self, choice: &RemedyChoice, _job: &Situation) -> f64 {
        bytes_of(choice).map_or(1.0, |(.., slowdown)| *slowdown)
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "the same sums, by whichever of cuBLAS's kernels need no more room".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use oomph_card::Card;
    use oomph_trace::{Category, StringId};

    use super::*;
    use crate::search::Work;
    use crate::survey::Survey;

    /// A workspace for each pass, a tensor of that size that is given back, and other things that stay.
    fn spans() -> Spans {
        let span = |from: u32, until: u32, bytes: u64, stretch: Stretch| Span {
            from,
            until,
            bytes,
            category: Category::Unknown,
            module: StringId::MISSING,
            stretch,
            step: 1,
            is_scratch: false,
            may_shrink: false,
        };
        let all = vec![
            span(1, 90, 32 << 20, Stretch::Forward),
            span(2, 60, 32 << 20, Stretch::Forward),
            span(3, 90, 5 << 20, Stretch::Forward),
            span(50, 90, 32 << 20, Stretch::Backward),
            span(0, 90, 32 << 20, Stretch::Setup),
        ];
        Spans { all, modules: Vec::new(), backwards: vec![(50, 60)] }
    }

    #[test]
    fn only_what_operators_take_and_keep_is_a_workspace() {
        let (card, survey, work, spans) =
            (Card::named("h200").expect("h200"), Survey::default(), Work::default(), spans());
        let job = Situation::new(&survey, &spans, &work, &card, 0);
        let choices = SmallWorkspaces.choices(&job);
        let bytes: Vec<Vec<u64>> = choices
            .iter()
            .map(|choice| {
                let mut smaller = spans.clone();
                SmallWorkspaces.sketch(choice, &job, &mut smaller);
                smaller.all.iter().map(|span| span.bytes).collect()
            })
            .collect();
        let (mib, plain) = (1 << 20, 32 << 20);
        let expected = |workspace: u64| vec![workspace, plain, 5 * mib, workspace, plain];
        assert_eq!(bytes, [expected(DEFAULT_BYTES[0]), expected(128 << 10)]);
    }
}

//! Messages of a graph network computed for a part of the edges at a time, and again in the backward pass.

use super::{ByHand, Remedy, RemedyChoice, Situation, more_parts};
use crate::search::{Span, Spans, Stretch, recomputed};
use crate::survey::{Model, Survey};

/// See the page.
pub(super) struct MessageParts;

const PARTS: [u64; 4] = [2, 4, 8, 16];
/// What each further part costs of a step.
const PART_COST: f64 = 0.02;

/// Whether a block was allocated by a layer itself, not by a module within it: messages are, projections of nodes are not.
fn is_of_layer(models: &[Model], spans: &Spans, span: &Span) -> bool {
    let (path, is_data) = (spans.path(span), span.is_passing());
    let is_one = |model: &Model| model.message_layers.iter().any(|layer| model.is_at(layer, path) || layer == path);
    is_data && !path.is_empty() && models.iter().any(is_one)
}

/// The sizes of messages: of what the layers allocate in forward passes, what comes near the largest.
fn message_bytes(models: &[Model], spans: &Spans) -> Vec<u64> {
    let forward = |span: &&Span| matches!(span.stretch, Stretch::Forward | Stretch::Evaluation);
    let own = spans.all.iter().filter(forward).filter(|span| is_of_layer(models, spans, span));
    let bytes: Vec<u64> = own.map(|span| span.bytes).collect();
    let largest = bytes.iter().copied().max().unwrap_or(0);
    bytes.into_iter().filter(|bytes| *bytes > largest / 2).collect()
}

impl Remedy for MessageParts {
    fn name(&self) -> &'static str {
        "message_parts"
    }

    fn summary(&self) -> &'static str {
        "messages of a graph network computed in parts of the edges, and again in the backward pass"
    }

    fn page(&self) -> &'static str {
        include_str!("message_parts.md")
    }

    fn choices(&self, job: &Situation) -> Vec<RemedyChoice> {
        let sizes = message_bytes(&job.survey.models, job.spans);
        let helps = job.live_at_peak().any(|span| span.is_passing() && sizes.contains(&span.bytes));
        let parts = PARTS.into_iter().filter(|_| helps);
        parts.map(|parts| RemedyChoice::new(self.name()).with("parts", parts)).collect()
    }

    fn on_top_of(&self, before: &RemedyChoice, choice: &RemedyChoice) -> RemedyChoice {
        more_parts(before, choice)
    }

    fn sketch(&self, choice: &RemedyChoice, job: &Situation, spans: &mut Spans) {
        let parts = choice.number("parts").unwrap_or(1).max(1);
        let models = &job.survey.models;
        let sizes = message_bytes(models, spans);
        let is_message = |spans: &Spans, span: &Span| is_of_layer(models, spans, span) && sizes.contains(&span.bytes);
        recomputed(spans, is_message);
        // The gradient of a message is as large as the message.
        let is_gradient = |span: &Span| span.stretch == Stretch::Backward && sizes.contains(&span.bytes);
        let own: Vec<bool> =
            spans.all.iter().map(|span| span.is_passing() && (is_message(spans, span) || is_gradient(span))).collect();
        for (span, _) in spans.all.iter_mut().zip(own).filter(|(_, own)| *own) {
            span.bytes /= parts;
        }
    }

    fn slowdown(&self, choice: &RemedyChoice, job: &Situation) -> f64 {
        let parts = choice.number("parts").unwrap_or(1) as f64;
        let share = |model: &Model| {
            let paths: Vec<&str> = model.message_layers.iter().map(String::as_str).collect();
            job.work.recomputed_share(model, &paths, job.card)
        };
        1.0 + job.survey.models.iter().map(share).sum::<f64>() + PART_COST * (parts - 1.0)
    }

    fn by_hand(&self, choice: &RemedyChoice, _survey: &Survey) -> Option<ByHand> {
        Some(ByHand::Model("message_parts", format!(", parts={}", choice.number("parts").unwrap_or(2))))
    }

    fn changes(&self, _choice: &RemedyChoice) -> String {
        "the same sums in another order".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use oomph_card::Card;
    use oomph_trace::{Category, StringId};

    use super::*;
    use crate::search::Work;

    fn span(from: u32, until: u32, bytes: u64, module: u32) -> Span {
        let stretch = if from < 10 { Stretch::Forward } else { Stretch::Backward };
        let (category, module) = (Category::Unknown, StringId(module));
        Span { from, until, bytes, category, module, stretch, step: 1, is_scratch: false, may_shrink: false }
    }

    #[test]
    fn messages_and_their_gradients_shrink_and_what_is_by_node_stays() {
        let all = vec![
            span(1, 18, 800, 0),
            span(2, 5, 800, 0),
            span(3, 19, 100, 0),
            span(4, 17, 800, 1),
            span(11, 13, 800, 2),
            span(12, 14, 90, 2),
        ];
        let modules = vec!["conv".into(), "conv.lin".into(), String::new()];
        let spans = Spans { all, modules, backwards: vec![(10, 20)] };
        let model = Model { message_layers: vec!["conv".into()], is_training: true, ..Model::default() };
        let survey = Survey { models: vec![model], ..Survey::default() };
        let (card, work) = (Card::named("h200").expect("h200"), Work::default());
        let job = Situation::new(&survey, &spans, &work, &card, 0);
        assert_eq!(MessageParts.choices(&job).len(), PARTS.len());
        let mut smaller = spans.clone();
        MessageParts.sketch(&RemedyChoice::new("message_parts").with("parts", 4), &job, &mut smaller);
        let bytes: Vec<u64> = smaller.all.iter().map(|span| span.bytes).collect();
        assert_eq!(bytes, [200, 200, 100, 800, 200, 90]);
    }
}

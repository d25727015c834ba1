//! The answer as the page shows it.

use oomph_explain::html::{BytesOf, CardFit, CardRow, ModuleRow, PlanPage};
use oomph_plan::fit::Verdict;

use super::answer::{Answer, name};
use super::{unknown, words};

/// What the page shows first.
pub(super) fn page(answer: &Answer, top: usize) -> PlanPage {
    let end = &answer.process.facts.end;
    let mut sentence = words::sentence(answer);
    sentence.get_mut(..1).map(str::make_ascii_uppercase);
    PlanPage {
        sentence,
        fits: answer.fits(),
        card_title: answer.card().short_title().to_owned(),
        capacity_bytes: answer.card().memory_bytes,
        roomy_bytes: answer.roomy_bytes(),
        least_bytes: answer.plan.least_bytes,
        seen: words::seen_text(answer),
        growth: answer.growth.as_ref().map(words::growth),
        cards: answer.plan.catalogue.iter().map(|fit| card(answer, fit)).collect(),
        peak_moment: words::moment(answer),
        categories: answer
            .categories
            .iter()
            .filter(|(_, bytes)| *bytes > 0)
            .map(|&(category, bytes)| BytesOf { what: name(category).to_owned(), bytes })
            .collect(),
        modules: answer.report.modules.iter().take(top).map(module).collect(),
        unknown: unknown::sentences(answer, top),
        advice: answer.advice().to_vec(),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
        environment: format!(
            "torch {}, CUDA {}, Python {}",
            end.torch.as_deref().unwrap_or("?"),
            end.cuda.as_deref().unwrap_or("?"),
            end.python
        ),
    }
}

fn card(answer: &Answer, fit: &oomph_plan::fit::Fit) -> CardRow {
    CardRow {
        name: fit.name.clone(),
        capacity_bytes: fit.memory_bytes,
        fit: match fit.verdict {
            Verdict::Fits => CardFit::Fits,
            Verdict::Close => CardFit::Close,
            Verdict::DoesNotFit => CardFit::DoesNotFit,
        },
        planned: answer.plan.trials.iter().any(|trial| trial.card.name == fit.name),
    }
}

fn module(held: &oomph_explain::analyses::modules::ModuleHeld) -> ModuleRow {
    ModuleRow { path: held.module.clone(), count: held.count, bytes: held.bytes }
}

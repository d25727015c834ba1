//! The answer as the page shows it.

use std::ffi::OsString;

use oomph_explain::html::{BytesOf, CardFit, CardRow, FittedPage, ModuleRow, PlanPage, TriedRow};
use oomph_plan::fit::Verdict;
use oomph_plan::search::{Candidate, Found};

use super::answer::{Answer, name};
use super::{fitting, unknown, words};

/// What the page shows first.
pub(super) fn page(answer: &Answer, found: Option<&Found>, top: usize) -> PlanPage {
    let end = &answer.process.facts.end;
    PlanPage {
        fitted: found.map(|found| fitted(found, answer)),
        sentence: capitalized(words::sentence(answer)),
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
        command_line: command_line(std::env::args_os().skip(1)),
        environment: format!(
            "torch {}, CUDA {}, Python {}",
            end.torch.as_deref().unwrap_or("?"),
            end.cuda.as_deref().unwrap_or("?"),
            end.python
        ),
    }
}

fn capitalized(mut sentence: String) -> String {
    sentence.get_mut(..1).map(str::make_ascii_uppercase);
    sentence
}

fn fitted(found: &Found, answer: &Answer) -> FittedPage {
    let row = |candidate: &Candidate| TriedRow {
        remedies: fitting::described(candidate),
        peak_bytes: candidate.peaks.map(|peaks| peaks.device_bytes),
        slowdown: candidate.slowdown,
        fits: candidate.fits,
    };
    FittedPage {
        sentence: capitalized(fitting::sentence(found, answer)),
        fits: found.chosen().is_some(),
        tried: found.candidates.iter().map(row).collect(),
    }
}

/// The command as a shell takes it, by its name alone: where oomph lies is nobody's concern.
pub(super) fn command_line(arguments: impl Iterator<Item = OsString>) -> String {
    let quoted = |argument: OsString| {
        let text = argument.to_string_lossy().into_owned();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+./:,@%".contains(&byte);
        if !text.is_empty() && text.bytes().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
    };
    std::iter::once("oomph".to_owned()).chain(arguments.map(quoted)).collect::<Vec<_>>().join(" ")
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

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn a_shell_reads_the_command_back() {
        let arguments = ["plan", "--gpu", "rtx_4090", "my train.py", "it's", ""];
        let line = command_line(arguments.into_iter().map(Into::into));
        assert_eq!(line, r"oomph plan --gpu rtx_4090 'my train.py' 'it'\''s' ''");
    }
}

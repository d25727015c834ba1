//! What a plan says, worked out once for text, JSON and the page.

use std::path::Path;

use oomph_explain::render::json::category_name;
use oomph_explain::{Options, Report};
use oomph_plan::facts::{PeakFacts, Read, Scaled};
use oomph_plan::{
    Card, Growth, Peaks, Phase, Plan, Process, Question, Remedied, ToCome, Trial, fullest, peaks_by_device, phase_at,
};
use oomph_trace::Category;

use crate::error::Error;

/// The whole answer.
pub(super) struct Answer<'a> {
    pub(super) plan: &'a Plan,
    pub(super) question: &'a Question,
    pub(super) report: &'a Report<'a>,
    /// The trial that the answer is about: the first that ran out or will, else the first.
    pub(super) trial: &'a Trial,
    /// The process that decides, and its number.
    pub(super) process: &'a Process,
    pub(super) rank: u32,
    pub(super) device: u32,
    pub(super) peaks: Peaks,
    /// The peaks of every device that the process used, by its ordinal.
    pub(super) devices: Vec<(u32, Peaks)>,
    /// Where in the job the moment lies that the tables describe.
    pub(super) phase: Phase,
    /// Name and bytes at that moment.
    pub(super) categories: Vec<(Category, u64)>,
    /// What is kept from every iteration of a loop until the card is full.
    pub(super) growth: Option<Kept>,
    /// What a loop of a job that fits keeps until its end, beyond the peak.
    pub(super) to_come: Option<ToCome>,
}

/// A loop that runs out sooner or later, and the line to blame for it.
pub(super) struct Kept {
    pub(super) growth: Growth,
    /// `leak` or `growth`.
    pub(super) class: &'static str,
    pub(super) file: String,
    pub(super) line: u32,
}

/// The trial the answer is about.
fn told_of(plan: &Plan) -> &Trial {
    let worst = plan.trials.iter().find(|trial| trial.ran_out());
    worst.or_else(|| plan.trials.iter().find(|trial| !trial.fits())).unwrap_or(plan.first())
}

/// Explains the process that decides.
pub(super) fn explain(plan: &Plan) -> Result<Report<'_>, Error> {
    let trial = told_of(plan);
    let (_, process) = trial.decisive();
    // Where one ran out of memory, that one is found by itself.
    let device = if process.ran_out() { None } else { fullest(process).map(|(device, _)| device) };
    let message = process.facts.end.outcome.message.clone();
    let library_shortage = message.filter(|_| process.ran_out());
    let options = Options { is_about_peak: !process.ran_out(), library_shortage, ..options(&trial.card, device, None) };
    Ok(oomph_explain::explain(&process.trace, &options)?)
}

fn options(card: &Card, device: Option<u32>, loop_name: Option<String>) -> Options {
    Options { total_bytes: Some(card.memory_bytes), device, loop_name, is_about_peak: true, ..Options::default() }
}

impl<'a> Answer<'a> {
    pub(super) fn of(plan: &'a Plan, question: &'a Question, report: &'a Report<'a>) -> Result<Self, Error> {
        let trial = told_of(plan);
        let (rank, process) = trial.decisive();
        let case = &report.case;
        let device = case.device.ordinal;
        let devices = peaks_by_device(process, &trial.card);
        let counted = devices.iter().find(|(index, _)| *index == device).map(|(_, peaks)| *peaks);
        let reserved_bytes = case.timeline.peak_reserved.bytes;
        let peaks = counted.unwrap_or(Peaks {
            allocated_bytes: case.timeline.peak_allocated.bytes,
            reserved_bytes,
            device_bytes: reserved_bytes + trial.card.context_bytes,
        });
        Ok(Self {
            plan,
            question,
            report,
            trial,
            process,
            rank,
            device,
            peaks,
            devices,
            phase: phase_at(case.device, report.holders.at, &process.facts.watched),
            categories: categories(report),
            growth: if trial.ran_out() { None } else { kept(process, &trial.card, device)? },
            to_come: if trial.fits() { trial.to_come() } else { None },
        })
    }

    /// Whether the whole job fits every card asked for: the exit code is 0 then, and 1 otherwise.
    pub(super) fn fits(&self) -> bool {
        self.plan.fits()
    }

    /// The card that the answer is about.
    pub(super) fn card(&self) -> &'a Card {
        &self.trial.card
    }

    /// Whether the script initialized CUDA and put nothing on the card: what it computes, it computes on the CPU.
    pub(super) fn is_card_idle(&self) -> bool {
        !self.trial.ran_out() && self.peaks.reserved_bytes == 0
    }

    /// Bytes live at the moment that the tables describe.
    pub(super) fn moment_bytes(&self) -> u64 {
        self.categories.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Where a gradient scaler may skip steps, and the allocated and reserved peaks as long as it does, if that is
    /// less.
    pub(super) fn while_skipped(&self) -> Option<(&Scaled, &PeakFacts)> {
        let scaled = self.process.facts.end.scaled.as_ref()?;
        let peaks = scaled.devices.iter().find(|peaks| peaks.index == self.device)?;
        (peaks.peak_allocated_bytes < self.peaks.allocated_bytes).then_some((scaled, peaks))
    }

    /// What became of the remedies that were put into the job.
    pub(super) fn remedies(&self) -> Vec<Remedied> {
        let asked = self.question.job.remedies.iter().map(|choice| choice.name.as_str());
        Remedied::all(asked, &self.process.facts.watched.remedies)
    }

    /// Lines of the user's that read values back.
    pub(super) fn reads(&self) -> &[Read] {
        &self.process.facts.end.reads
    }

    /// What the job takes on a card with room.
    pub(super) fn roomy_bytes(&self) -> Option<u64> {
        Some(self.plan.with_room()?.peaks()?.device_bytes)
    }

    /// What can be done about it, where something must be.
    pub(super) fn advice(&self) -> &[String] {
        if self.trial.ran_out() { &self.report.verdict.accusation.advice } else { &[] }
    }
}

/// The loop that runs out first, with the line that keeps most of what it leaves behind.
fn kept(process: &Process, card: &Card, device: u32) -> Result<Option<Kept>, Error> {
    let Some(growth) = Growth::of(process, card) else { return Ok(None) };
    let file = Path::new(&growth.file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let loop_name = format!("iteration {file}:{}", growth.line);
    let report = oomph_explain::explain(&process.trace, &options(card, Some(device), Some(loop_name)))?;
    let worst = report.kept_per_iteration().into_iter().next();
    Ok(Some(match worst {
        Some(worst) => Kept { class: worst.class, file: worst.file.to_owned(), line: worst.line, growth },
        // What is kept, but by no line that the trace names, is the loop's.
        None => Kept { class: "growth", file: growth.file.clone(), line: growth.line, growth },
    }))
}

/// What the bytes are made of at the moment the report looks at.
///
/// Weights, gradients and optimizer state are given as their tensors' own bytes, so that they equal what a model's
/// arithmetic says; what rounding adds to their blocks stands under `other`.
fn categories(report: &Report) -> Vec<(Category, u64)> {
    let case = &report.case;
    let order = [Category::Parameter, Category::Gradient, Category::Optimizer, Category::Activation];
    let rest = [Category::Workspace, Category::Input, Category::Other];
    let mut sums: Vec<(Category, u64)> = order.into_iter().chain(rest).map(|category| (category, 0)).collect();
    let mut add = |category: Category, bytes: u64| {
        if let Some(sum) = sums.iter_mut().find(|sum| sum.0 == category) {
            sum.1 += bytes;
        }
    };
    for block in case.timeline.live_at(report.holders.at) {
        match case.categories.of(block.id) {
            exact @ (Category::Parameter | Category::Gradient | Category::Optimizer) => {
                let own_bytes = block.requested_bytes.min(block.bytes);
                add(exact, own_bytes);
                add(Category::Other, block.bytes - own_bytes);
            }
            Category::Unknown => add(Category::Other, block.bytes),
            known => add(known, block.bytes),
        }
    }
    sums
}

/// A category as tables and JSON call it.
pub(super) fn name(category: Category) -> &'static str {
    category_name(category)
}

//! What a hollow run says, worked out once for text and JSON.

use oomph_explain::Report;
use oomph_explain::analyses::peak::{Held, Holders, holders_at};
use oomph_explain::source::Line;
use oomph_plan::facts::{PeakFacts, Read, Scaled};
use oomph_plan::fit::{Fit, Judge};
use oomph_plan::{Card, OutcomeKind, Phase, Run, cards, phase_at};
use oomph_trace::Category;

/// The runs behind an answer.
pub(super) struct Experiment {
    /// The run on the card asked for.
    pub(super) run: Run,
    /// The run on a card without end, where the first ran out of memory.
    pub(super) endless: Option<Run>,
    /// Which process of a distributed job it was.
    pub(super) rank: u32,
    /// The peaks of every process that was planned, by rank, where they are several.
    pub(super) ranks: Vec<(u32, Peaks)>,
}

impl Experiment {
    /// The larger, the worse for the card.
    pub(super) fn weight(&self) -> (bool, u64) {
        let peak = self.run.facts.devices.iter().map(|device| device.peak_reserved_bytes).max();
        (self.ran_out(), peak.unwrap_or(0))
    }

    /// Whether the card was too small.
    pub(super) fn ran_out(&self) -> bool {
        self.run.facts.outcome.kind == OutcomeKind::Oom
    }

    /// The device that the process filled most.
    pub(super) fn fullest_device(&self) -> Option<u32> {
        let devices = self.run.facts.devices.iter();
        let used = devices.filter(|device| self.run.trace.device(device.index).is_some());
        used.max_by_key(|device| (device.peak_reserved_bytes, std::cmp::Reverse(device.index)))
            .map(|device| device.index)
    }

    /// The peaks on every device the process used, by its ordinal.
    pub(super) fn devices(&self, card: &Card) -> Vec<(u32, Peaks)> {
        let used = self.run.facts.devices.iter().filter(|device| device.peak_reserved_bytes > 0);
        used.filter_map(|device| Some((device.index, peaks_of(&self.run, device.index, card)?))).collect()
    }

    /// The peaks on the device that the process filled most.
    pub(super) fn peaks(&self, card: &Card) -> Option<Peaks> {
        self.devices(card).into_iter().map(|(_, peaks)| peaks).max_by_key(|peaks| peaks.device_bytes)
    }
}

/// The peaks of one run.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "units stand last in every name")]
pub(super) struct Peaks {
    pub(super) allocated_bytes: u64,
    pub(super) reserved_bytes: u64,
    pub(super) device_bytes: u64,
}

/// The whole answer.
pub(super) struct Answer<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) card: &'a Card,
    pub(super) device: u32,
    pub(super) fits: bool,
    pub(super) peaks: Peaks,
    /// What the job needs where it does not fit, if that could be found out.
    pub(super) needed: Option<Peaks>,
    /// The peaks of every device that was used, by its ordinal.
    pub(super) devices: Vec<(u32, Peaks)>,
    pub(super) phase: Phase,
    /// Name and bytes; they add up to the allocated peak.
    pub(super) categories: Vec<(Category, u64)>,
    pub(super) holders: Holders,
    /// The cards asked for beside the first.
    pub(super) asked: Vec<Fit>,
    /// The whole catalogue; empty where nobody knows what the job needs.
    pub(super) catalogue: Vec<Fit>,
}

impl<'a> Answer<'a> {
    pub(super) fn of(experiment: &'a Experiment, report: &'a Report, asked: &'a [Card]) -> Self {
        let case = &report.case;
        let peak_event = case.timeline.peak_allocated.event;
        let device = case.device.ordinal;
        let fits = !experiment.ran_out();
        let whole = if fits { Some(&experiment.run) } else { experiment.endless.as_ref() };
        let judge = whole.map(|run| Judge::of(&run.trace));
        let fit = |card: &Card| judge.as_ref().map(|judge| judge.judge(card));
        Self {
            experiment,
            card: &asked[0],
            device,
            fits,
            peaks: Peaks {
                allocated_bytes: case.timeline.peak_allocated.bytes,
                reserved_bytes: case.timeline.peak_reserved.bytes,
                device_bytes: device_bytes(&experiment.run, device, case.timeline.peak_reserved.bytes, &asked[0]),
            },
            needed: experiment.endless.as_ref().and_then(|run| peaks_of(run, device, &asked[0])),
            devices: experiment.devices(&asked[0]),
            phase: phase_at(case.device, peak_event, &experiment.run.facts),
            categories: categories(report),
            holders: holders_at(case, peak_event),
            asked: asked[1..].iter().filter_map(fit).collect(),
            catalogue: cards::CATALOGUE.iter().filter_map(fit).collect(),
        }
    }

    /// Lines that hold the peak and have a place, the most bytes first.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Line, &Held<Line>)> {
        self.holders.lines.iter().filter_map(|held| Some((held.what?, held)))
    }

    /// Where a gradient scaler may skip steps, and the allocated and reserved peaks as long as it does, if that is
    /// less.
    pub(super) fn while_skipped(&self) -> Option<(&Scaled, &PeakFacts)> {
        let scaled = self.experiment.run.facts.scaled.as_ref()?;
        let peaks = scaled.devices.iter().find(|peaks| peaks.index == self.device)?;
        (peaks.peak_allocated_bytes < self.peaks.allocated_bytes).then_some((scaled, peaks))
    }

    /// Lines of the user's that read values back.
    pub(super) fn reads(&self) -> &[Read] {
        &self.experiment.run.facts.reads
    }
}

fn peaks_of(run: &Run, device: u32, card: &Card) -> Option<Peaks> {
    let facts = run.facts.devices.iter().find(|facts| facts.index == device)?;
    Some(Peaks {
        allocated_bytes: facts.peak_allocated_bytes,
        reserved_bytes: facts.peak_reserved_bytes,
        device_bytes: device_bytes(run, device, facts.peak_reserved_bytes, card),
    })
}

/// What the card counted, or else the allocator's share and an ordinary context.
fn device_bytes(run: &Run, device: u32, reserved_bytes: u64, card: &Card) -> u64 {
    let counted =
        run.facts.devices.iter().find(|facts| facts.index == device).and_then(|facts| facts.peak_device_bytes);
    counted.unwrap_or(0).max(reserved_bytes + card.context_bytes)
}

/// What the peak is made of.
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
    for block in case.timeline.live_at(case.timeline.peak_allocated.event) {
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

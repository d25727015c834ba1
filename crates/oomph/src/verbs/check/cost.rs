//! What findings cost, by a trace of the job: the bytes live at its peak that were allocated on the lines in question.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;

use oomph_check::python::ast::visitor::source_order::{SourceOrderVisitor, walk_body, walk_stmt};
use oomph_check::python::{Ranged as _, Stmt, TextRange};
use oomph_check::{Finding, Kind, Source};
use oomph_heap::Timeline;

use super::discover::File;
use crate::error::Error;
use crate::source;

/// Blocks live at the peak: their bytes, and every line on their stacks.
pub(super) struct Costs {
    /// The files that lines are in.
    files: Vec<String>,
    /// Bytes, and lines as places in `files` and line numbers.
    blocks: Vec<(u64, Vec<(usize, u32)>)>,
}

impl Costs {
    /// Reads a torch snapshot or an oomph trace.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let trace = source::read(path)?;
        let device = source::device(&trace, path, None)?;
        let timeline = Timeline::of(device);
        let mut costs = Self { files: Vec::new(), blocks: Vec::new() };
        let mut known: HashMap<&str, usize> = HashMap::new();
        for block in timeline.live_at(timeline.peak_allocated.event) {
            let frames = trace.stacks.stack(block.stack).iter().map(|frame| trace.stacks.frame(*frame));
            let mut lines = Vec::new();
            for frame in frames {
                let name = trace.stacks.string(frame.file);
                let file = *known.entry(name).or_insert_with(|| {
                    costs.files.push(name.to_owned());
                    costs.files.len() - 1
                });
                lines.push((file, frame.line));
            }
            costs.blocks.push((block.bytes, lines));
        }
        Ok(costs)
    }

    /// Which of the trace's files each checked file is: the one whose path ends most like its own.
    pub(super) fn of_files(&self, files: &[File]) -> Vec<Vec<usize>> {
        let mut joined = vec![Vec::new(); files.len()];
        for (index, traced) in self.files.iter().enumerate() {
            let common: Vec<usize> = files.iter().map(|file| common_end(&file.path, Path::new(traced))).collect();
            let best = common.iter().copied().max().unwrap_or(0);
            // Two files that end alike: nobody can say which of them ran.
            if best > 0 && common.iter().filter(|length| **length == best).count() == 1 {
                let file = common.iter().position(|length| *length == best).unwrap_or(0);
                joined[file].push(index);
            }
        }
        joined
    }

    /// What each finding costs; `None` where the trace never saw the file.
    pub(super) fn of_findings(&self, source: &Source, findings: &[Finding], traced: &[usize]) -> Vec<Option<u64>> {
        let cost = |finding: &Finding| {
            let lines = lines(source, finding);
            let is_hit = |place: &(usize, u32)| {
                traced.contains(&place.0) && lines.iter().any(|range| range.contains(&(place.1 as usize)))
            };
            self.blocks.iter().filter(|(_, places)| places.iter().any(is_hit)).map(|(bytes, _)| bytes).sum()
        };
        // A cell's lines are numbered by the kernel, not by the notebook.
        let seen = !traced.is_empty() && source.kind == Kind::Script;
        findings.iter().map(|finding| seen.then(|| cost(finding))).collect()
    }
}

/// How many parts two paths have in common, from the end.
fn common_end(a: &Path, b: &Path) -> usize {
    a.components().rev().zip(b.components().rev()).take_while(|(a, b)| a == b).count()
}

/// The lines of a finding and of the facts behind it; of a function that is blamed, all of them.
fn lines(source: &Source, finding: &Finding) -> Vec<RangeInclusive<usize>> {
    let mut search = Blamed { source, line: source.line_of(finding.range.start()), function: None };
    walk_body(&mut search, source.body());
    let ranges = finding.evidence.iter().map(|fact| fact.range);
    let ranges = ranges.chain([finding.range]).chain(search.function);
    ranges.map(|range| source.line_of(range.start())..=source.line_of(range.end())).collect()
}

/// Looks for a function whose `def` stands on a line.
struct Blamed<'a> {
    source: &'a Source,
    line: usize,
    function: Option<TextRange>,
}

impl<'a> SourceOrderVisitor<'a> for Blamed<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::FunctionDef(function) = stmt
            && self.source.line_of(function.name.range().start()) == self.line
        {
            self.function = Some(function.range());
        }
        walk_stmt(self, stmt);
    }
}

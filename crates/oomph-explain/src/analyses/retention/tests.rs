//! Loops that keep something and loops that only look like it, written by hand.

use std::collections::VecDeque;

use oomph_trace::{Origin, Trace, TraceBuilder};

use crate::{Options, explain};

const MIB: u64 = 1 << 20;
const BATCH: &[(&str, &str, u32)] = &[("<module>", "train.py", 10)];
const PIECE: &[(&str, &str, u32)] = &[("<module>", "train.py", 11)];
const WORK: &[(&str, &str, u32)] = &[("<module>", "train.py", 12)];
const KEEP: &[(&str, &str, u32)] = &[("<module>", "train.py", 13)];
const SMALL: &[(&str, &str, u32)] = &[("<module>", "train.py", 14)];

/// A job that is written down block by block.
struct Job {
    trace: TraceBuilder,
    next: u64,
}

type Block = (u64, u64);

impl Job {
    fn new() -> Self {
        Self { trace: TraceBuilder::new(Origin::RealRun), next: MIB }
    }

    fn alloc(&mut self, bytes: u64, calls: &[(&str, &str, u32)]) -> Block {
        let address = self.next;
        self.next += bytes + MIB;
        self.trace.alloc(address, bytes, calls);
        (address, bytes)
    }

    fn free(&mut self, (address, bytes): Block) {
        self.trace.free(address, bytes, WORK);
    }

    /// What every iteration does besides: two blocks that come and go.
    fn work(&mut self) {
        let made = [self.alloc(8 * MIB, WORK), self.alloc(2 * MIB, SMALL)];
        for block in made {
            self.free(block);
        }
    }
}

/// `class line` of the verdict on so many iterations.
fn verdict(iterations: u64, mut body: impl FnMut(&mut Job, u64)) -> (String, Option<u32>) {
    let mut job = Job::new();
    for iteration in 0..iterations {
        job.trace.mark_start(&format!("step {}", iteration + 1));
        body(&mut job, iteration);
    }
    verdict_on(&job.trace.finish())
}

fn verdict_on(trace: &Trace) -> (String, Option<u32>) {
    let report = explain(trace, &Options::default()).expect("the job can be explained");
    let accusation = &report.verdict.accusation;
    (accusation.class.to_owned(), accusation.line.map(|line| report.case.sources.place(line).1))
}

fn none() -> (String, Option<u32>) {
    ("none".to_owned(), None)
}

#[test]
fn a_queue_that_is_filled_faster_than_it_is_emptied_leaks() {
    let mut queue = VecDeque::new();
    let found = verdict(30, |job, _| {
        job.work();
        queue.extend((0..3).map(|_| job.alloc(MIB, KEEP)));
        job.free(queue.pop_front().expect("three came"));
    });
    assert_eq!(found, ("leak".to_owned(), Some(13)));
}

#[test]
fn a_window_of_fixed_length_does_not_leak() {
    let mut window = VecDeque::new();
    let found = verdict(30, |job, _| {
        job.work();
        window.push_back(job.alloc(4 * MIB, KEEP));
        if window.len() > 6 {
            job.free(window.pop_front().expect("it is full"));
        }
    });
    assert_eq!(found, none());
}

#[test]
fn what_is_kept_in_the_first_iterations_only_is_no_leak() {
    let keeps_until = |last: u64| {
        verdict(30, |job, iteration| {
            job.work();
            if iteration < last {
                job.alloc(4 * MIB, KEEP);
            }
        })
    };
    assert_eq!(keeps_until(6), none());
    assert_eq!(keeps_until(30), ("leak".to_owned(), Some(13)));
}

#[test]
fn what_is_kept_now_and_then_leaks() {
    let found = verdict(30, |job, iteration| {
        job.work();
        if iteration % 3 == 0 {
            job.alloc(4 * MIB, KEEP);
        }
    });
    assert_eq!(found, ("leak".to_owned(), Some(13)));
}

#[test]
fn a_structure_grows_by_what_was_made_before() {
    let mut kept: Option<(Block, Block)> = None;
    let found = verdict(30, |job, iteration| {
        let piece = job.alloc(MIB, PIECE);
        job.work();
        let whole = job.alloc((iteration + 1) * MIB, KEEP);
        if let Some((piece, whole)) = kept.replace((piece, whole)) {
            job.free(piece);
            job.free(whole);
        }
    });
    assert_eq!(found, ("growth".to_owned(), Some(13)));
}

#[test]
fn batches_that_get_larger_are_no_growth() {
    let mut last = None;
    let found = verdict(30, |job, iteration| {
        let batch = job.alloc((iteration + 1) * MIB, BATCH);
        if let Some(last) = last.replace(batch) {
            job.free(last);
        }
        let made = job.alloc(2 * (iteration + 1) * MIB, WORK);
        job.work();
        job.free(made);
    });
    assert_eq!(found, none());
}

#[test]
fn a_bank_that_is_full_grows_no_more() {
    let mut kept = None;
    let found = verdict(30, |job, iteration| {
        let piece = job.alloc(MIB, PIECE);
        job.work();
        let whole = job.alloc((iteration + 1).min(7) * MIB, KEEP);
        job.free(piece);
        if let Some(whole) = kept.replace(whole) {
            job.free(whole);
        }
    });
    assert_eq!(found, none());
}

#[test]
fn a_loop_that_only_makes_what_it_keeps_builds_something() {
    let found = verdict(30, |job, _| {
        job.alloc(MIB, KEEP);
    });
    assert_eq!(found, none());
}

#[test]
fn what_a_program_lets_go_of_at_its_end_was_kept_until_then() {
    let mut job = Job::new();
    let mut kept = Vec::new();
    for iteration in 1..=30 {
        job.trace.mark_start(&format!("step {iteration}"));
        kept.push(job.alloc(4 * MIB, KEEP));
        job.work();
    }
    for block in kept {
        job.free(block);
    }
    let mut trace = job.trace.finish();
    assert_eq!(verdict_on(&trace), ("leak".to_owned(), Some(13)));
    // Whoever takes a snapshot after that asks about that moment.
    trace.origin = Origin::TorchSnapshot;
    assert_eq!(verdict_on(&trace), none());
}

#[test]
fn of_tensors_that_no_model_made_the_line_with_most_bytes_is_named() {
    let found = verdict(30, |job, _| {
        job.alloc(4 * MIB, BATCH);
        job.work();
        job.alloc(512, SMALL);
    });
    assert_eq!(found, ("leak".to_owned(), Some(10)));
}

#[test]
fn what_comes_after_the_optimizer_belongs_to_its_iteration() {
    let model = [("forward", "model.py", 5), ("_call_impl", "site-packages/torch/nn/modules/module.py", 1), KEEP[0]];
    let mut job = Job::new();
    for iteration in 1..=30 {
        // The graph that is made after the optimizer's step keeps the batch that it came from.
        job.alloc(MIB, BATCH);
        job.work();
        job.trace.mark_start(&format!("step {}", iteration + 1));
        job.alloc(4 * MIB, &model);
    }
    assert_eq!(verdict_on(&job.trace.finish()), ("leak".to_owned(), Some(13)));
}

/// A step of training that keeps the model's result and its loss: with a backward pass in between, or without.
fn keeps_result_and_loss(trains: bool) -> (String, Option<u32>) {
    let module = ("_call_impl", "site-packages/torch/nn/modules/module.py", 1);
    let model = [("forward", "model.py", 5), module, KEEP[0]];
    let engine = [("_engine_run_backward", "site-packages/torch/autograd/graph.py", 1), ("<module>", "train.py", 15)];
    verdict(30, |job, _| {
        let batch = job.alloc(2 * MIB, BATCH);
        job.work();
        let activations = job.alloc(8 * MIB, &model);
        job.alloc(4 * MIB, &model);
        job.alloc(512, SMALL);
        if trains {
            let gradient = job.alloc(MIB, &engine);
            job.free(activations);
            job.free(gradient);
        }
        job.free(batch);
    })
}

#[test]
fn what_is_kept_beside_a_loss_whose_graph_is_gone_is_named_by_its_own_line() {
    assert_eq!(keeps_result_and_loss(true), ("leak".to_owned(), Some(13)));
}

#[test]
fn a_loss_whose_graph_is_kept_alive_holds_the_rest() {
    assert_eq!(keeps_result_and_loss(false), ("leak".to_owned(), Some(14)));
}

//! `stream-created-in-loop`: every stream has a cache of its own.

use crate::facts::Facts;
use crate::finding::Level;
use crate::report::Report;
use crate::rule::{Example, Group, Rule};

pub(super) static RULE: Rule = Rule {
    name: "stream-created-in-loop",
    group: Group::Allocator,
    level: Level::Warning,
    fix: None,
    summary: "A CUDA stream is made on every batch.",
    why: "The allocator keeps freed blocks for the stream they were used on. PyTorch hands out 32 streams of a priority in \
          turn, so each of 32 batches fills a cache that the next batch may not take from.",
    cost: "Up to 32 times the memory of what runs on the stream, held as cached blocks.",
    instead: "Make the stream once, before the loop.",
    when_not: "A fixed set of streams is made on the first turns and kept.",
    examples: &[
        Example {
            bad: "\
import torch

def run(model, loader):
    for batch in loader:
        with torch.cuda.stream(torch.cuda.Stream()):
            model(batch.cuda(non_blocking=True)).sum().backward()
",
            good: "\
import torch

def run(model, loader):
    side = torch.cuda.Stream()
    for batch in loader:
        with torch.cuda.stream(side):
            model(batch.cuda(non_blocking=True)).sum().backward()
",
        },
        Example {
            bad: "\
import torch
from torch.cuda import Stream, stream

def prefetch(loader):
    for i, batch in enumerate(loader):
        side = Stream(priority=-1)
        with stream(side):
            yield batch.cuda(non_blocking=True)
",
            good: "\
import torch
from torch.cuda import Stream, stream

def prefetch(loader):
    side = Stream(priority=-1)
    for i, batch in enumerate(loader):
        with stream(side):
            yield batch.cuda(non_blocking=True)
",
        },
    ],
    silent_on: &[
        "\
import torch

streams = [torch.cuda.Stream() for _ in range(4)]
",
        "\
import torch

def run(model, loader):
    side = None
    for batch in loader:
        if side is None:
            side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            model(batch.cuda()).sum().backward()
",
        "\
import torch

def run(model, loader):
    for batch in loader:
        torch.cuda.current_stream().synchronize()
        model(batch)
",
    ],
    check,
};

fn check(facts: &Facts<'_>, report: &mut Report) {
    for call in facts.calls_to("torch.cuda.Stream").chain(facts.calls_to("torch.cuda.streams.Stream")) {
        let Some((place, why)) = facts.comes_again(&call.at) else { continue };
        let often = if why.ends_with("batch") { "on every batch" } else { "each time" };
        report
            .add(call, format!("A new stream {often} cannot use the blocks freed on the last one: cached memory grows"))
            .because(&place, why);
    }
}

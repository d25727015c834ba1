//! What the control-flow graph says of a function: order, dominance, loops.

use crate::ir::{BlockId, Function, Term};

/// A natural loop.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    /// Its first block.
    pub(crate) head: BlockId,
    /// The loop around it.
    pub(crate) outer: Option<usize>,
    /// The loops around it and itself, outermost first.
    pub(crate) nest: Vec<usize>,
    /// Its blocks, the head among them, sorted.
    pub(crate) blocks: Vec<BlockId>,
}

/// The graph of one function, read once.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Reachable blocks, each after those that lead to it but for back edges.
    pub(crate) order: Vec<BlockId>,
    /// The place of each block in `order`.
    pub(crate) rank: Vec<Option<u32>>,
    dominator: Vec<Option<BlockId>>,
    /// Its loops, outer before inner.
    pub(crate) loops: Vec<Loop>,
    /// The innermost loop of each block.
    pub(crate) loop_of: Vec<Option<usize>>,
}

/// Where a block leads, exceptions aside.
#[must_use]
pub(crate) fn next_blocks(term: &Term) -> [Option<BlockId>; 2] {
    match *term {
        Term::Goto(next) => [Some(next), None],
        Term::Branch { yes, no, .. } => [Some(yes), Some(no)],
        Term::For { body, exit, .. } => [Some(body), Some(exit)],
        Term::Return(_) | Term::Raise => [None, None],
    }
}

fn all_next(function: &Function, block: BlockId) -> impl Iterator<Item = BlockId> {
    let block = &function.blocks[block as usize];
    next_blocks(&block.term).into_iter().flatten().chain(block.handler)
}

impl Flow {
    /// Reads a function's graph.
    #[must_use]
    pub(crate) fn of(function: &Function) -> Self {
        let (order, rank) = reverse_postorder(function);
        let mut before: Vec<Vec<BlockId>> = vec![Vec::new(); function.blocks.len()];
        for &block in &order {
            for next in all_next(function, block) {
                before[next as usize].push(block);
            }
        }
        let dominator = dominators(&order, &rank, &before);
        let mut flow = Self { order, rank, dominator, loops: Vec::new(), loop_of: vec![None; function.blocks.len()] };
        flow.find_loops(&before);
        flow
    }

    /// Whether every way to `later` passes `earlier`.
    #[must_use]
    pub(crate) fn dominates(&self, earlier: BlockId, later: BlockId) -> bool {
        let mut at = later;
        loop {
            if at == earlier {
                return true;
            }
            match self.dominator[at as usize] {
                Some(next) if next != at => at = next,
                _ => return false,
            }
        }
    }

    /// The loops around a block, outermost first.
    #[must_use]
    pub(crate) fn loops_around(&self, block: BlockId) -> &[usize] {
        self.loop_of[block as usize].map_or(&[], |inner| &self.loops[inner].nest)
    }

    /// Whether an edge goes back to the head of a loop it is in.
    #[must_use]
    pub(crate) fn is_back_edge(&self, from: BlockId, to: BlockId) -> bool {
        let found = self.loop_of[to as usize].map(|number| &self.loops[number]).filter(|found| found.head == to);
        found.is_some_and(|found| found.blocks.binary_search(&from).is_ok())
    }

    fn find_loops(&mut self, before: &[Vec<BlockId>]) {
        let mut found: Vec<Loop> = Vec::new();
        for &head in &self.order {
            let tails: Vec<BlockId> =
                before[head as usize].iter().copied().filter(|&tail| self.dominates(head, tail)).collect();
            if tails.is_empty() {
                continue;
            }
            let mut blocks = vec![head];
            let mut is_inside = vec![false; before.len()];
            is_inside[head as usize] = true;
            let mut waiting = tails;
            while let Some(block) = waiting.pop() {
                if !std::mem::replace(&mut is_inside[block as usize], true) {
                    blocks.push(block);
                    waiting.extend(&before[block as usize]);
                }
            }
            blocks.sort_unstable();
            found.push(Loop { head, outer: None, nest: Vec::new(), blocks });
        }
        // In order of heads an outer loop comes first; the innermost is the last that holds a block.
        for at in 0..found.len() {
            let head = found[at].head;
            found[at].outer = (0..at).rev().find(|&outer| found[outer].blocks.binary_search(&head).is_ok());
            let mut nest = found[at].outer.map_or_else(Vec::new, |outer| found[outer].nest.clone());
            nest.push(at);
            found[at].nest = nest;
            for &block in &found[at].blocks {
                self.loop_of[block as usize] = Some(at);
            }
        }
        self.loops = found;
    }
}

fn reverse_postorder(function: &Function) -> (Vec<BlockId>, Vec<Option<u32>>) {
    let mut seen = vec![false; function.blocks.len()];
    let mut order = Vec::new();
    let mut stack: Vec<(BlockId, Vec<BlockId>)> = vec![(0, all_next(function, 0).collect())];
    seen[0] = true;
    while let Some((block, rest)) = stack.last_mut() {
        // Exits are taken first so that a loop's body comes before what follows the loop.
        if let Some(next) = rest.pop() {
            if !seen[next as usize] {
                seen[next as usize] = true;
                stack.push((next, all_next(function, next).collect()));
            }
        } else {
            order.push(*block);
            stack.pop();
        }
    }
    order.reverse();
    let mut rank = vec![None; function.blocks.len()];
    for (at, &block) in order.iter().enumerate() {
        rank[block as usize] = Some(at as u32);
    }
    (order, rank)
}

/// Immediate dominators, by Cooper, Harvey and Kennedy's iteration.
fn dominators(order: &[BlockId], rank: &[Option<u32>], before: &[Vec<BlockId>]) -> Vec<Option<BlockId>> {
    let mut dominator: Vec<Option<BlockId>> = vec![None; rank.len()];
    dominator[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().skip(1) {
            let mut new: Option<BlockId> = None;
            for &from in before[block as usize].iter().filter(|&&from| dominator[from as usize].is_some()) {
                new = Some(new.map_or(from, |known| common(known, from, &dominator, rank)));
            }
            if dominator[block as usize] != new {
                dominator[block as usize] = new;
                changed = true;
            }
        }
    }
    dominator
}

fn common(mut a: BlockId, mut b: BlockId, dominator: &[Option<BlockId>], rank: &[Option<u32>]) -> BlockId {
    while a != b {
        if rank[a as usize] > rank[b as usize] {
            a = dominator[a as usize].unwrap_or(0);
        } else {
            b = dominator[b as usize].unwrap_or(0);
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::Flow;
    use crate::ir::lower;
    use crate::syntax::Source;

    #[test]
    fn loops_nest_and_dominate() {
        let text = "for a in b:\n    while c:\n        if d:\n            break\n    e()\nf()\n";
        let unit = lower(&Source::read("a.py", text).expect("read"));
        let flow = Flow::of(&unit.functions[0]);
        assert_eq!(flow.loops.len(), 2);
        assert_eq!(flow.loops[1].outer, Some(0));
        assert!(flow.dominates(flow.loops[0].head, flow.loops[1].head));
        assert!(!flow.dominates(flow.loops[1].head, flow.loops[0].head));
    }
}

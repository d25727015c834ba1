//! What a function does whenever it runs, for the summary its callers see.

use super::events::BlockKind;
use super::outline::dotted;
use super::walk::Walker;
use crate::python::Expr;
use crate::python::ast::BoolOp;

impl Walker<'_, '_> {
    /// Notes that the allocator's cache is emptied here.
    pub(super) fn empties_cache(&mut self) {
        self.f.summary.empties_cache |= self.always_runs();
    }

    /// Whether this point runs whenever its function does, given a GPU.
    fn always_runs(&self) -> bool {
        let mut block = self.f.block;
        loop {
            let found = &self.log.blocks[block.0 as usize];
            match found.kind {
                BlockKind::Function(_) => return true,
                BlockKind::With(_) | BlockKind::Try | BlockKind::Finally => {}
                BlockKind::If(Some(test)) if asks_for_gpu(test) => {}
                _ => return false,
            }
            block = found.parent;
        }
    }
}

/// Whether a test only asks for a GPU: `torch.cuda.is_available()`.
fn asks_for_gpu(test: &Expr) -> bool {
    match test {
        Expr::Call(call) => {
            let name = dotted(&call.func).unwrap_or_default();
            ["cuda.is_available", "cuda.is_initialized", "accelerator.is_available"]
                .iter()
                .any(|asked| name.ends_with(asked))
        }
        Expr::BoolOp(node) => node.op == BoolOp::And && node.values.iter().all(asks_for_gpu),
        _ => false,
    }
}

//! Answers that are estimates: a plan lists every one that it rests on.
//!
//! An answer is exact where the user's own library gave it, or where its rule was held against a card (`corpus/`) and the
//! question lies within what was measured. Any other size that a program goes on to allocate, or that is charged to a
//! device, is an estimate and noted here. The same question asked again is the same estimate.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher as _};

use serde::Serialize;

use crate::lock::Guarded;

/// What was estimated, with how it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Estimate {
    /// The workspace of a convolution, since cuDNN cannot be asked.
    ConvolutionByModel,
    /// The part of a convolution's workspace that depends on how many blocks the card runs at a time.
    ConvolutionInParts,
    /// What cuBLASLt adds to the workspace of a convolution that is a product of matrices.
    ConvolutionAsProduct,
    /// Workspace and reserve of a recurrent network outside what was measured.
    RecurrentNetwork,
    BatchNormalization,
    CtcLoss,
    DropoutStates,
    FourierTransform,
    Factorization,
    SparseBuffer,
    SparseProduct,
    StructuredSparsity,
    BlasHandle,
    Communicator,
    CommunicatorAlone,
    Occupancy,
    /// That a product is slow, where a program measures its time.
    SlowProduct,
    /// That cuDNN's first choice of an engine is the fastest, where PyTorch times several.
    TimedConvolution,
    Graph,
    Module,
    /// Kernels that the user's libraries do not have for the card.
    MissingKernels,
}

/// One line of what a plan cannot know.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Line {
    /// A sentence for the user, without its full stop.
    what: String,
    /// How many different answers were estimated so.
    count: usize,
}

/// What was estimated so far: the question is kept as a number that is the same for the same question.
static NOTED: Guarded<BTreeSet<(Estimate, u64)>> = Guarded::new(BTreeSet::new());

/// Notes that the answer to a question is an estimate. The question is whatever the answer depends on.
pub(crate) fn note(estimate: Estimate, question: impl Hash) {
    let mut hasher = DefaultHasher::new();
    question.hash(&mut hasher);
    NOTED.lock().insert((estimate, hasher.finish()));
}

/// The estimates of this process so far.
pub(crate) fn noted() -> Vec<Line> {
    let mut counts = BTreeMap::<Estimate, usize>::new();
    for (estimate, _) in NOTED.lock().iter() {
        *counts.entry(*estimate).or_default() += 1;
    }
    counts.into_iter().map(|(estimate, count)| Line { what: estimate.sentence(count), count }).collect()
}

/// In a child after a fork: the parent's estimates are the parent's to report.
pub(crate) fn forked() {
    NOTED.lock().clear();
}

impl Estimate {
    fn sentence(self, count: usize) -> String {
        let (one, many) = self.sentences();
        if count == 1 { one.to_owned() } else { many.replace("{}", &count.to_string()) }
    }

    /// For one, and for many.
    fn sentences(self) -> (&'static str, &'static str) {
        match self {
            Self::ConvolutionByModel => (
                "the workspace of 1 convolution was estimated: cuDNN before 9.8 cannot be asked without a card",
                "the workspaces of {} convolutions were estimated: cuDNN before 9.8 cannot be asked without a card",
            ),
            Self::ConvolutionInParts => (
                "the workspace of 1 convolution was estimated: it depends on how many blocks this card runs at a time",
                "the workspaces of {} convolutions were estimated: they depend on how many blocks this card runs at a time",
            ),
            Self::ConvolutionAsProduct => (
                "the workspace of 1 convolution that runs as a matrix product was estimated: cuBLASLt decides on the card",
                "the workspaces of {} convolutions that run as matrix products were estimated: cuBLASLt decides on the card",
            ),
            Self::RecurrentNetwork => (
                "the memory of 1 recurrent network was estimated by a rule measured with cuDNN 9.19 on an H200",
                "the memory of {} recurrent networks was estimated by a rule measured with cuDNN 9.19 on an H200",
            ),
            Self::BatchNormalization => (
                "the workspace of 1 batch normalization was estimated from four measured ones",
                "the workspaces of {} batch normalizations were estimated from four measured ones",
            ),
            Self::CtcLoss => (
                "the workspace of 1 CTC loss was estimated from its algorithm",
                "the workspaces of {} CTC losses were estimated from their algorithm",
            ),
            Self::DropoutStates => (
                "the random states of cuDNN's dropout were estimated by a rule measured on an H200",
                "the random states of cuDNN's dropout on {} cards were estimated by a rule measured on an H200",
            ),
            Self::FourierTransform => (
                "the work area of 1 Fourier transform was estimated from its algorithm",
                "the work areas of {} Fourier transforms were estimated from their algorithm",
            ),
            Self::Factorization => (
                "the work area of 1 matrix factorization was estimated from its algorithm",
                "the work areas of {} matrix factorizations were estimated from their algorithms",
            ),
            Self::SparseBuffer => (
                "the buffer of 1 operation on a sparse matrix was estimated from its algorithm",
                "the buffers of {} operations on sparse matrices were estimated from their algorithms",
            ),
            Self::SparseProduct => (
                "1 product of two sparse matrices was taken to be empty: how many entries it has depends on values",
                "{} products of two sparse matrices were taken to be empty: how many entries they have depends on values",
            ),
            Self::StructuredSparsity => (
                "the size of 1 matrix with 2:4 sparsity was estimated from its format",
                "the sizes of {} matrices with 2:4 sparsity were estimated from their format",
            ),
            Self::BlasHandle => (
                "what cuBLAS takes for itself was estimated by a rule measured on an H200",
                "what cuBLAS takes for itself on {} cards was estimated by a rule measured on an H200",
            ),
            Self::Communicator => (
                "what NCCL takes for 1 communicator of several ranks was estimated: its kernels and channels as measured on \
                 an H200, buffers from NCCL's defaults for 16 channels",
                "what NCCL takes for {} communicators of several ranks was estimated: its kernels and channels as measured on \
                 an H200, buffers from NCCL's defaults for 16 channels",
            ),
            Self::CommunicatorAlone => (
                "what NCCL takes for 1 communicator of one rank was taken from NCCL 2.28.9 on an H200",
                "what NCCL takes for {} communicators of one rank was taken from NCCL 2.28.9 on an H200",
            ),
            Self::Occupancy => (
                "the occupancy of 1 kernel was estimated; small temporary buffers may depend on it",
                "the occupancy of {} kernels was estimated; small temporary buffers may depend on it",
            ),
            Self::SlowProduct => (
                "which products of matrices are slow was estimated, for a program that measures times: what it chooses by \
                 them (inductor pads operands) may differ on the card",
                "which products of matrices are slow was estimated, for programs that measure times on {} cards: what they \
                 choose by them (inductor pads operands) may differ there",
            ),
            Self::TimedConvolution => (
                "1 convolution was planned with the engine that cuDNN proposes first: the card times several \
                 (cudnn.benchmark) and takes the fastest, whose workspace may differ",
                "{} convolutions were planned with the engine that cuDNN proposes first: the card times several \
                 (cudnn.benchmark) and takes the fastest, whose workspace may differ",
            ),
            Self::Graph => (
                "what the driver takes for 1 CUDA graph was not counted",
                "what the driver takes for {} CUDA graphs was not counted",
            ),
            Self::Module => (
                "the code of 1 module that was compiled at run time was not counted",
                "the code of {} modules that were compiled at run time was not counted",
            ),
            Self::MissingKernels => (
                "kernels of 1 module were launched that has no code for this card: \
                 there the job stops with 'no kernel image is available for execution on the device'",
                "kernels of {} modules were launched that have no code for this card: \
                 there the job stops with 'no kernel image is available for execution on the device'",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(estimate: Estimate) -> usize {
        let of = |line: &Line| line.what == estimate.sentence(line.count);
        noted().iter().find(|line| of(line)).map_or(0, |line| line.count)
    }

    #[test]
    fn the_same_question_is_one_estimate() {
        let before = count(Estimate::CtcLoss);
        for question in [[4_u64, 1], [4, 2], [4, 1]] {
            note(Estimate::CtcLoss, question);
        }
        assert_eq!(count(Estimate::CtcLoss), before + 2);
    }

    #[test]
    fn sentences_agree_with_their_number() {
        assert!(Estimate::CtcLoss.sentence(1).starts_with("the workspace of 1 CTC loss was"));
        assert!(Estimate::CtcLoss.sentence(12).starts_with("the workspaces of 12 CTC losses were"));
    }
}

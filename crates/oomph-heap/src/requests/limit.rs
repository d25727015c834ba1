//! How much an allocator could take, told from what worked and what did not.

/// What kept an allocator from taking more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitKind {
    /// Nothing that the trace shows.
    #[default]
    None,
    /// The process's own fraction of the card: requests failed although the driver had room.
    Fraction,
    /// The card: the driver had no room.
    Card,
}

/// An interval in which the limit lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// What kept the allocator from taking more.
    pub kind: LimitKind,
    /// Asking to take this much in all worked. Expandable segments may take more than was asked for.
    pub at_least_bytes: u64,
    /// The most that was held.
    pub held_bytes: u64,
    /// Taking this much failed; `None` if nothing failed.
    pub below_bytes: Option<u64>,
    /// The limit itself, where somebody knows it.
    pub known_bytes: Option<u64>,
}

impl Limit {
    /// The limit to replay with: the known one, else the largest amount that is known to have worked, else none.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.known_bytes.or(match self.kind {
            LimitKind::None => None,
            LimitKind::Fraction => Some(self.at_least_bytes),
            LimitKind::Card => Some(self.held_bytes),
        })
    }

    pub(super) fn worked(&mut self, bytes: u64) {
        self.at_least_bytes = self.at_least_bytes.max(bytes);
    }

    pub(super) fn held(&mut self, bytes: u64) {
        self.held_bytes = self.held_bytes.max(bytes);
    }

    pub(super) fn failed(&mut self, bytes: u64, kind: LimitKind) {
        self.below_bytes = Some(self.below_bytes.map_or(bytes, |below| below.min(bytes)));
        // A failure on a full card says more than one that only shows that something was given back.
        if self.kind != LimitKind::Card {
            self.kind = kind;
        }
    }
}

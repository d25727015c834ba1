//! The cards as their driver sees them, asked now and then.

use std::time::{Duration, Instant};

use oomph_device::{Card, Monitor, uuid_matches};

/// The driver is asked no more often than this.
const PAUSE: Duration = Duration::from_secs(2);

/// The cards of this machine; none where no driver answers.
pub(super) struct Cards {
    monitor: Option<Monitor>,
    seen: Vec<Card>,
    asked: Option<Instant>,
}

impl Cards {
    pub(super) fn open() -> Self {
        Self { monitor: Monitor::open().ok(), seen: Vec::new(), asked: None }
    }

    /// Asks the driver if it is time to.
    pub(super) fn look(&mut self, now: Instant) {
        if self.asked.is_none_or(|asked| now.saturating_duration_since(asked) >= PAUSE) {
            self.look_now(now);
        }
    }

    /// Asks the driver.
    pub(super) fn look_now(&mut self, now: Instant) {
        self.asked = Some(now);
        let answer = self.monitor.as_ref().and_then(|monitor| monitor.cards().ok());
        self.seen = answer.unwrap_or_default();
    }

    /// The card with this UUID.
    pub(super) fn card(&self, uuid: &[u8; 16]) -> Option<&Card> {
        self.seen.iter().find(|card| card.uuid.as_deref().is_some_and(|text| uuid_matches(text, uuid)))
    }
}

/// What processes other than `pid` use of a card; none where the driver does not list that one (in a container it knows
/// processes by other numbers).
pub(super) fn others_bytes(card: &Card, pid: u32) -> Option<u64> {
    let processes = card.processes.as_ref()?;
    let (own, others): (Vec<_>, Vec<_>) = processes.iter().partition(|process| process.pid == pid);
    (!own.is_empty()).then(|| others.iter().filter_map(|process| process.used_bytes).sum())
}

#[cfg(test)]
mod tests {
    use oomph_device::{CardProcess, ProcessKind};

    use super::*;

    #[test]
    fn others_are_told_apart_only_where_we_are_listed() {
        let process = |pid, bytes| CardProcess { pid, used_bytes: Some(bytes), kind: ProcessKind::Compute };
        let card = Card { processes: Some(vec![process(7, 100), process(8, 5), process(9, 6)]), ..Card::default() };
        assert_eq!((others_bytes(&card, 7), others_bytes(&card, 1)), (Some(11), None));
        assert_eq!(others_bytes(&Card::default(), 7), None);
    }
}

//! The statistics PyTorch keeps, under its own names.

/// One statistic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Now.
    pub current: u64,
    /// The most there ever was.
    pub peak: u64,
    /// All that was ever added.
    pub allocated: u64,
    /// All that was ever taken away.
    pub freed: u64,
}

impl Stat {
    fn increase(&mut self, amount: u64) {
        self.current += amount;
        self.peak = self.peak.max(self.current);
        self.allocated += amount;
    }

    fn decrease(&mut self, amount: u64) {
        self.current = self.current.saturating_sub(amount);
        self.freed += amount;
    }
}

/// One statistic of the whole allocator and of each half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatByHalf {
    /// Both halves together.
    pub all: Stat,
    /// The small pools.
    pub small_pool: Stat,
    /// The large pools.
    pub large_pool: Stat,
}

impl StatByHalf {
    pub(super) fn increase(&mut self, small: bool, amount: u64) {
        self.all.increase(amount);
        self.half(small).increase(amount);
    }

    pub(super) fn decrease(&mut self, small: bool, amount: u64) {
        self.all.decrease(amount);
        self.half(small).decrease(amount);
    }

    /// Adds `amount`, which may be negative.
    pub(super) fn change(&mut self, small: bool, amount: i64) {
        match amount.signum() {
            1 => self.increase(small, amount.unsigned_abs()),
            -1 => self.decrease(small, amount.unsigned_abs()),
            _ => {}
        }
    }

    fn half(&mut self, small: bool) -> &mut Stat {
        if small { &mut self.small_pool } else { &mut self.large_pool }
    }
}

/// What `torch.cuda.memory_stats()` shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Blocks clients hold.
    pub allocation: StatByHalf,
    /// Bytes of blocks clients hold.
    pub allocated_bytes: StatByHalf,
    /// Blocks held or still used by a stream.
    pub active: StatByHalf,
    /// Bytes of those.
    pub active_bytes: StatByHalf,
    /// Bytes clients asked for, of those.
    pub requested_bytes: StatByHalf,
    /// Ordinary segments; expandable ones are not counted.
    pub segment: StatByHalf,
    /// Bytes taken from the driver.
    pub reserved_bytes: StatByHalf,
    /// Free blocks that share a segment with others; expandable segments are not counted.
    pub inactive_split: StatByHalf,
    /// Bytes of those.
    pub inactive_split_bytes: StatByHalf,
    /// Blocks of at least `max_split_size` clients hold.
    pub oversize_allocations: Stat,
    /// Segments of at least `max_split_size`.
    pub oversize_segments: Stat,
    /// How often everything cached was given back to make room.
    pub num_alloc_retries: u64,
    /// How many requests failed.
    pub num_ooms: u64,
    /// How often all streams were waited for.
    pub num_sync_all_streams: u64,
    /// How often memory was taken from the driver.
    pub num_device_alloc: u64,
    /// How often memory was given back to the driver.
    pub num_device_free: u64,
}

impl Stats {
    pub(super) fn oversize_allocation(&mut self, up: bool) {
        if up { self.oversize_allocations.increase(1) } else { self.oversize_allocations.decrease(1) }
    }

    pub(super) fn oversize_segment(&mut self, up: bool) {
        if up { self.oversize_segments.increase(1) } else { self.oversize_segments.decrease(1) }
    }
}

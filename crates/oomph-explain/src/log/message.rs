//! The figures in PyTorch's out-of-memory message, as every version since 1.0 has written it.

/// What one message says. Every version leaves something out, so every figure is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The device's ordinal.
    pub device: Option<u32>,
    /// The request that failed.
    pub request_bytes: Option<u64>,
    /// The memory of the card.
    pub total_bytes: Option<u64>,
    /// What the driver had free.
    pub free_bytes: Option<u64>,
    /// What the process may take of it (`set_per_process_memory_fraction`).
    pub limit_bytes: Option<u64>,
    /// What this process held of the card, with its CUDA context and other libraries.
    pub process_bytes: Option<u64>,
    /// What other processes held, by process id.
    pub other_processes: Vec<(u32, u64)>,
    /// Bytes that tensors held.
    pub allocated_bytes: Option<u64>,
    /// Bytes reserved by PyTorch, but not allocated.
    pub unallocated_bytes: Option<u64>,
    /// Of the allocated bytes, those in private pools (CUDA graphs).
    pub private_pool_bytes: Option<u64>,
    /// Bytes that others than PyTorch's allocator held, where the message says so itself (MPS).
    pub outside_bytes: Option<u64>,
}

impl Figures {
    /// Reads a message that begins where `text` does; line breaks in it do not matter.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let after = |markers: &[&str]| markers.iter().find_map(|marker| size_after(&text, marker));
        let before = |markers: &[&str]| markers.iter().find_map(|marker| size_before(&text, marker));
        let allocated_bytes = before(&[" already allocated", " is allocated by PyTorch"])
            .or_else(|| after(&["Currently allocated : ", "MPS allocated: "]));
        let reserved = before(&[" reserved in total by PyTorch"]);
        Self {
            device: device(&text),
            request_bytes: after(&["ried to allocate ", "Requested : "]),
            total_bytes: after(&["total capacity of ", "total capacty of ", "Device limit : "])
                .or_else(|| before(&[" total capacity"])),
            free_bytes: before(&[" is free", " free;"]).or_else(|| after(&["Free (according to CUDA): "])),
            limit_bytes: before(&[" allowed;"]).or_else(|| {
                after(&["max allowed: ", "PyTorch limit (set by user-supplied memory fraction) : "])
                    .filter(|&bytes| bytes < NO_LIMIT_BYTES)
            }),
            process_bytes: after(&["this process has "]),
            other_processes: other_processes(&text),
            allocated_bytes,
            // What torch 1.0 to 1.3 called cached did not include what was allocated.
            unallocated_bytes: before(&[" is reserved by PyTorch but unallocated", " cached)"])
                .or_else(|| Some(reserved?.saturating_sub(allocated_bytes?))),
            private_pool_bytes: before(&[" allocated in private pools"]),
            outside_bytes: after(&["other allocations: "]),
        }
    }

    /// Bytes that PyTorch's allocator had taken from the driver.
    #[must_use]
    pub fn reserved_bytes(&self) -> Option<u64> {
        Some(self.allocated_bytes? + self.unallocated_bytes.unwrap_or(0))
    }

    /// The most that PyTorch may take: the limit set for the process, else the card.
    #[must_use]
    pub fn capacity_bytes(&self) -> Option<u64> {
        match (self.limit_bytes, self.total_bytes) {
            (Some(limit), Some(total)) => Some(limit.min(total)),
            (limit, total) => limit.or(total),
        }
    }
}

/// A limit beyond this is how PyTorch writes that there is none.
const NO_LIMIT_BYTES: u64 = 1 << 50;

fn device(text: &str) -> Option<u32> {
    let at = ["(GPU ", " GPU ", "on device "].iter().find_map(|marker| Some(text.find(marker)? + marker.len()))?;
    let digits = text[at..].split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// `Process 1234 has 5.00 GiB memory in use.`, as often as it occurs.
fn other_processes(text: &str) -> Vec<(u32, u64)> {
    let one = |rest: &str| {
        let (pid, rest) = rest.split_once(" has ")?;
        Some((pid.parse().ok()?, size_at(rest)?))
    };
    text.split("Process ").skip(1).filter_map(one).collect()
}

pub(super) fn size_after(text: &str, marker: &str) -> Option<u64> {
    size_at(&text[text.find(marker)? + marker.len()..])
}

fn size_before(text: &str, marker: &str) -> Option<u64> {
    let before = &text[..text.find(marker)?];
    let (rest, unit) = before.rsplit_once(' ')?;
    let number = rest.rsplit([' ', '(']).next()?;
    size_at(&format!("{number} {unit}"))
}

/// The size that text begins with: `22.05 GiB`, `0 bytes`.
fn size_at(text: &str) -> Option<u64> {
    let (number, rest) = text.split_once(' ')?;
    let number: f64 = number.parse().ok()?;
    let unit: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    // MPS writes GB and means the same.
    let unit_bytes = match unit.as_str() {
        "bytes" | "byte" | "B" => 1_u64,
        "KiB" | "KB" => 1 << 10,
        "MiB" | "MB" => 1 << 20,
        "GiB" | "GB" => 1 << 30,
        "TiB" | "TB" => 1 << 40,
        _ => return None,
    };
    let bytes = number * unit_bytes as f64;
    (bytes.is_finite() && bytes >= 0.0).then(|| whole(bytes))
}

#[expect(clippy::cast_sign_loss, reason = "the caller has seen that it is not negative")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

#[cfg(test)]
mod tests {
    use super::Figures;

    const MIB: u64 = 1 << 20;

    fn gib(number: f64) -> u64 {
        super::whole(number * 1024.0 * MIB as f64)
    }

    #[test]
    fn torch_2_with_everything() {
        let figures = Figures::read(
            "Tried to allocate 226.00 MiB. GPU 3 has a total capacity of 15.70 GiB of which 210.25 MiB is free. 8.00 GiB \
             allowed; Process 4711 has 1.50 GiB memory in use. Process 4712 has 512.00 MiB memory in use. Including \
             non-PyTorch memory, this process has 13.48 GiB memory in use. Of the allocated memory 12.75 GiB is \
             allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., CUDA Graphs), and 336.50 MiB is \
             reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting ...",
        );
        assert_eq!(
            figures,
            Figures {
                device: Some(3),
                request_bytes: Some(226 * MIB),
                total_bytes: Some(gib(15.70)),
                free_bytes: Some(gib(210.25 / 1024.0)),
                limit_bytes: Some(gib(8.0)),
                process_bytes: Some(gib(13.48)),
                other_processes: vec![(4711, 1536 * MIB), (4712, 512 * MIB)],
                allocated_bytes: Some(gib(12.75)),
                unallocated_bytes: Some(gib(336.5 / 1024.0)),
                private_pool_bytes: Some(17 * MIB),
                outside_bytes: None,
            }
        );
        assert_eq!(figures.capacity_bytes(), Some(gib(8.0)));
    }

    #[test]
    fn torch_1_in_its_three_spellings() {
        let figures = Figures::read(
            "Tried to allocate 2.25 GiB (GPU 0; 6.00 GiB total capacity; 1.00 GiB already allocated; 3.00 GiB free; \
             1.25 GiB reserved in total by PyTorch)",
        );
        assert_eq!((figures.request_bytes, figures.free_bytes), (Some(gib(2.25)), Some(gib(3.0))));
        assert_eq!((figures.unallocated_bytes, figures.reserved_bytes()), (Some(gib(0.25)), Some(gib(1.25))));
        let cached = Figures::read(
            "Tried to allocate 12.50 MiB (GPU 1; 10.50 GiB total capacity; 8.50 MiB already allocated; 0 bytes free; \
             4.50 MiB cached)",
        );
        assert_eq!((cached.device, cached.free_bytes, cached.reserved_bytes()), (Some(1), Some(0), Some(13 * MIB)));
        let allowed = Figures::read(
            "Tried to allocate 20.00 MiB (GPU 0; 8.00 GiB total capacity; 3.00 GiB already allocated; 4.00 GiB free; \
             3.50 GiB allowed; 3.25 GiB reserved in total by PyTorch)",
        );
        assert_eq!((allowed.limit_bytes, allowed.free_bytes), (Some(gib(3.5)), Some(gib(4.0))));
    }

    #[test]
    fn other_backends() {
        let mps = Figures::read(
            "(MPS allocated: 9.50 GB, other allocations: 17.25 GB, max allowed: 27.00 GB). Tried to allocate 292.50 MB \
             on private pool.",
        );
        assert_eq!(
            (mps.allocated_bytes, mps.outside_bytes, mps.limit_bytes),
            (Some(gib(9.5)), Some(gib(17.25)), Some(gib(27.0)))
        );
        assert_eq!((mps.request_bytes, mps.device), (Some(gib(292.5 / 1024.0)), None));
        let driver_pool = Figures::read(
            "Allocation on device 2 would exceed allowed memory. (out of memory)\nCurrently allocated     : 5.50 GiB\n\
             Requested               : 20.00 MiB\nDevice limit            : 7.75 GiB\n\
             Free (according to CUDA): 12.00 MiB\nPyTorch limit (set by user-supplied memory fraction)\n                        \
             : 17179869184.00 GiB",
        );
        assert_eq!((driver_pool.device, driver_pool.request_bytes), (Some(2), Some(20 * MIB)));
        assert_eq!((driver_pool.total_bytes, driver_pool.limit_bytes), (Some(gib(7.75)), None));
    }

    #[test]
    fn nonsense_has_no_figures() {
        for text in ["", "Tried to allocate much GiB.", "Tried to allocate -3 GiB. GPU x has", "9e999 GiB is free"] {
            assert_eq!(Figures::read(text), Figures::default(), "{text}");
        }
    }
}
